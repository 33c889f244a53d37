"""Every choice on which tools differ, declared once: its type, default, meaning and rarity.

The signatures and docstrings of the public functions, the options of the command line, the tables
of the documentation, the search of `explain` and the tests of wrong values are made from the fields
below. A choice belongs where it takes effect: `Alignment` makes the hits, `Averaging` turns
per-user values into a mean, `Setting` holds for all metrics of a plan. Each choice says on which
kinds of input it can act; on all others it is refused. The options of a metric are declared in its
signature.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import itertools
import math
import re
import textwrap
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypedDict, TypeVar

from rankmeter.errors import UsageError
from rankmeter.errors._calls import answer_calls_of, answers_calls
from rankmeter.errors._checks import (
    LARGEST,
    brief,
    check_flag,
    check_fraction,
    check_integer,
    check_seed,
    exact_text,
    option_error,
    suggest_words,
)
from rankmeter.errors._checks import check_choice as one_of

TieRule = Literal[
    "item", "item-descending", "text", "text-descending", "native-descending", "input",
    "expected", "optimistic", "pessimistic", "realistic", "rounded", "together",
]  # fmt: skip
"""What decides the order of items with equal scores."""

SHARED_RANKS: tuple[TieRule, ...] = ("realistic", "rounded", "together")
"""The rules by which tied items share a rank."""


Input = Literal["rankings", "scores", "samples", "ranks", "grades", "batches"]
"""What is measured: by `evaluate`, `compare`, `curve` and `explain`; by `evaluate_scores` without
and with negatives, or as `Sampled`; by `evaluate_ranks`, or as `Ranks`; as `Grades`; by an
accumulator."""

INPUTS: Mapping[str, str] = {
    "rankings": "each user is one query with all relevant items",
    "scores": "each row has one score for each column, and its true items",
    "samples": "each positive, which has its negatives, is the only relevant item of its query",
    "ranks": "each is that of the only relevant item of its query",
    "grades": "they are in order, and have no scores and no items",
    "batches": "they have scores, lists or ranks, and update() takes `exclude` and `candidates`",
}
"""Why an option cannot act on an input."""

EVERY: tuple[Input, ...] = typing.get_args(Input)
RANKINGS: tuple[Input, ...] = ("rankings",)
TIED: tuple[Input, ...] = ("rankings", "scores", "samples", "ranks", "batches")
SCORED: tuple[Input, ...] = ("rankings", "scores", "samples", "batches")
JUDGED: tuple[Input, ...] = ("rankings", "scores", "grades", "batches")
MATRICES: tuple[Input, ...] = ("rankings", "scores", "batches")
ROWS: tuple[Input, ...] = ("scores", "batches")


def declare_choice(
    default: Any, meaning: str, *, rare: bool = False, inputs: tuple[Input, ...] = EVERY
) -> Any:
    """Declare a choice: its default, its meaning, whether it is rare, and where it can act."""
    metadata = {"meaning": meaning, "rare": rare, "inputs": inputs}
    return dataclasses.field(default=default, metadata=metadata)


@dataclass(frozen=True)
class Alignment:
    """Choices that decide how hits are found."""

    relevant: str = declare_choice(
        ">0",
        "Which judged items are relevant: ``>0``, ``>=4``, ``>3.5``, or ``any`` (every judged "
        "item). A number t means ``>=t``. A word, such as ``purchase``, means those with this word "
        "in a column of the ground truth. ``rel`` is the same option.",
        inputs=JUDGED,
    )
    gains: Literal["relevant", "positive", "all", "above", "reached"] = declare_choice(
        "relevant",
        "Which judged items have a gain: the ``relevant`` ones; or, regardless of ``relevant``, "
        "the ``positive`` ones or ``all``, negative ones included (for metrics that sum gains "
        "instead of counting hits); or ``above``: the relevant ones, by how far they exceed the "
        "threshold, where an item exactly at the threshold gains 1; or ``reached``: the positive "
        "ones, but only for users with at least one relevant item. Or what each grade gains, where "
        "the item is relevant: ``{1: 0.01, 2: 0.1, 3: 1}``, as text ``1:0.01 2:0.1 3:1``. Other "
        "grades gain their own value, and an item that gains 0 is not relevant.",
        rare=True,
        inputs=JUDGED,
    )
    ties: TieRule = declare_choice(  # noqa: RUF009 - a declaration, as its neighbours
        "item",
        "Order of items with equal scores: by ``item`` (ascending: integers by value, then "
        "all other ids by the bytes of their text), ``item-descending``, ``text`` and "
        "``text-descending`` (every id by the bytes of its text), ``native-descending`` (integers "
        "by value, strings by their bytes), "
        "``input`` (row order), ``expected`` (exact expectation over all orders), ``optimistic`` "
        "and ``pessimistic`` (hits first, hits last), ``realistic`` (the mean of these two ranks), "
        "``rounded`` (that mean, rounded up), ``together`` (tied items are found together, at the "
        "last of their ranks, as above a threshold on scores).",
        inputs=TIED,
    )
    duplicates: Literal["error", "best", "first", "each", "unchecked"] = declare_choice(
        "error",
        "An item repeated in one ranking: ``error``, ``best`` (keep its best rank; items below "
        "move up), ``first`` (the best one counts, its repetitions occupy ranks), ``each`` (count "
        "every occurrence: shares of the relevant items can exceed 1), ``unchecked`` (another "
        "name of ``error``).",
        inputs=RANKINGS,
    )
    judgements: Literal["error", "max", "last", "sum"] = declare_choice(
        "error",
        "Contradicting judgments of one item: ``error``, or keep the ``max``, the ``last``, or the "
        "``sum``. Equal judgments are one judgment. ``judgments`` is the same option.",
        inputs=RANKINGS,
    )
    scope: Literal["all", "ranked", "appended"] = declare_choice(
        "all",
        "Which judged items can be found: ``all``; only those ``ranked``; or all, where those "
        "missing from a ranking are ``appended`` to it, tied with each other. With the last two, "
        'items that count each time (``duplicates="each"``) do so in the ideal ranking, too.',
        rare=True,
        inputs=MATRICES,
    )
    pool: Literal["all", "judged"] = declare_choice(
        "all",
        "Which ranked items occupy ranks: ``all``, or only ``judged`` ones. As in TREC, a negative "
        "gain means that an item was pooled but not judged.",
        rare=True,
        inputs=RANKINGS,
    )
    exclude: Literal["none", "self"] = declare_choice(
        "none",
        "Which ranked items are left out, and those below them move up: ``none``, or ``self``, the "
        "item whose id is that of the user, such as the document that a query was made from. If it "
        "is judged as relevant it stays so, and cannot be found.",
        rare=True,
        inputs=RANKINGS,
    )
    history: Literal["all", "new", "seen"] = declare_choice(
        "all",
        "Which judged items count, by the training data of their user (``train``): ``all``, those "
        "``new`` to the user, or those ``seen``; the others stay ranked, as if nobody had judged "
        "them. In a metric ``truth`` is the same option: ``ndcg(truth=new)@10``.",
        rare=True,
        inputs=RANKINGS,
    )
    retrieved: Literal["all", "positive"] = declare_choice(
        "all",
        "Which ranked items can be hits: ``all``, or only those with a ``positive`` score; the "
        "others keep their ranks.",
        rare=True,
        inputs=SCORED,
    )
    score_type: Literal["float64", "float32"] = declare_choice(
        "float64",
        "Precision of scores that are compared: ``float64``, or ``float32``, which can make ties.",
        rare=True,
        inputs=SCORED,
    )
    depth: int | None = declare_choice(
        None,
        "Cut every ranking at this rank: after `pool`, `exclude` and `duplicates` have left out "
        'items, and before ``scope="appended"`` appends some. The ideal ranking is not cut.',
        rare=True,
    )

    @property
    def threshold(self) -> tuple[str, float]:
        """Operator and number of the condition for a hit, for gains from `gains_by_choice`."""
        if self.gains in ("positive", "reached") or self.gain_table:
            return ">", 0.0
        if self.gains == "all" or self.relevant == "any":
            return ">=", float("-inf")
        operator = ">=" if self.relevant.startswith(">=") else ">"
        return operator, float(self.relevant.removeprefix(operator))

    @property
    def permits_negative_gains(self) -> bool:
        """Whether an item of negative gain can be relevant."""
        return self.gains != "above" and self.threshold[1] < 0

    def is_relevant(self, gain: Any) -> Any:
        """Whether a judged item of this gain, or of each gain in an array, is relevant."""
        operator, threshold = self.threshold
        return gain >= threshold if operator == ">=" else gain > threshold

    def is_relevant_grade(self, grade: Any) -> Any:
        """Whether a grade, or each grade in an array, is relevant by `relevant` alone."""
        return dataclasses.replace(self, gains="relevant").is_relevant(grade)

    @functools.cached_property
    def gain_table(self) -> dict[float, float]:
        """The gain of each grade in ``gains={grade: gain}``; keys are from `round_grade`."""
        pairs = (pair.split(":") for pair in self.gains.split() if ":" in pair)
        return {round_grade(float(grade)): float(gain) for grade, gain in pairs}


def round_grade(grade: float) -> float:
    """Round a grade to seven digits, unless it is an integer: 0.1 in single precision is 0.1."""
    return grade if grade.is_integer() else float(f"{grade:.7g}")


STAND_INS = {"zero": 0.0, "one": 1.0}
"""What a user without a value counts as, by the word of a choice in `WITHOUT_STAND_IN`."""

WITHOUT_STAND_IN = {"undefined": "skip", "extra": "ignore"}
"""The choices that can count a user as a number of `STAND_INS`, and the word that does not."""

MOST_RESAMPLES = 10**8
"""The most random samples that an interval or a test draws: one number of each is kept."""

_MOST_GRADES = 1_000
_NUMBER = r"([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?)"
_PAIR = re.compile(f"{_NUMBER}:{_NUMBER}", re.ASCII | re.IGNORECASE)

GEOMETRIC_FLOOR = 1e-5
"""Lower bound of the values in a geometric mean (``aggregate="geometric"``), as in trec_eval."""


@dataclass(frozen=True)
class Averaging:
    """Choices of the users to average, and of the number for users without a value."""

    missing: Literal["zero", "skip", "raise"] = declare_choice(
        "zero",
        "A user with ground truth but no ranking: ``zero`` (an empty ranking), ``skip``, "
        "``raise``.",
        inputs=RANKINGS,
    )
    extra: Literal["ignore", "zero", "raise"] = declare_choice(
        "ignore",
        "A user with a ranking but no ground truth: ``ignore``, ``zero`` (refused as in "
        "``undefined``), ``raise``.",
        rare=True,
        inputs=RANKINGS,
    )
    undefined: Literal["skip", "zero", "one", "nan", "raise"] = declare_choice(
        "skip",
        "How a user without a value counts, usually a user without relevant items: ``skip`` "
        "(not at all), ``zero``, ``one``, ``nan`` (the mean becomes NaN too), ``raise``. A number "
        "is refused where the metric has no such value, or where it would reward a user without a "
        "hit, as 0 would in mean_rank; a tool in ``like`` keeps its own numbers for its own "
        "metrics.",
    )
    users: Literal["all", "relevant", "hit", "ranked"] = declare_choice(
        "all",
        "Users to average: ``all`` in the ground truth; of these only those with something "
        "``relevant``, also for metrics that are defined without; only those with a ``hit`` (a "
        "value above 0); or those with a ranking (``ranked``), which is the default of list "
        "metrics.",
        rare=True,
    )
    empty: Literal["score", "skip"] = declare_choice(
        "score",
        "A user whose ranking is an empty list: ``score`` it or ``skip`` it.",
        rare=True,
        inputs=JUDGED,
    )
    empty_truth: Literal["score", "skip"] = declare_choice(
        "score",
        "A user whose ground truth is an empty list: ``score`` it (the metric is then undefined) "
        "or ``skip`` it.",
        rare=True,
        inputs=JUDGED,
    )
    aggregate: Literal["mean", "geometric", "median", "sum", "micro"] = declare_choice(
        "mean",
        "How the values of the users are combined: their ``mean``, ``geometric`` mean (of values "
        "raised to at least 0.00001, as in trec_eval), ``median``, ``sum``, or, for shares, "
        "``micro``: the hits of all users over the sum of the denominators. Some metrics, such as "
        "``median_rank`` and ``amri``, have another default.",
    )


def level_of_tests(confidence: float) -> float:
    """The level of tests that belongs to intervals: 1 - confidence, without the rounding."""
    return float(f"{1.0 - confidence:.12g}")


@dataclass(frozen=True)
class Setting:
    """The options that hold for all metrics of a plan."""

    bad_scores: Literal["error", "drop", "worst"] = declare_choice(
        "error",
        "A NaN or null score: ``error``, ``drop`` the row, or rank it ``worst``.",
        inputs=MATRICES,
    )
    no_overlap: Literal["error", "allow"] = declare_choice(
        "error",
        "Rankings and ground truth that share no user, or no item: ``error``, ``allow``.",
        inputs=RANKINGS,
    )
    n_items: int | None = declare_choice(
        None, "Size of the catalogue, for the metrics that need it, such as accuracy."
    )
    bugs: bool = declare_choice(
        False,  # noqa: FBT003 - a declaration
        "Also reproduce the outright bugs of the tool in ``like``, to trace published numbers.",
        rare=True,
    )
    unjudged: Literal["nonrelevant", "bounds"] = declare_choice(
        "nonrelevant",
        "A ranked item without a judgment: ``nonrelevant``; or, with ``bounds``, show also the "
        "least and the largest mean over all labels that such items can get: not relevant, or the "
        "usual gain, which is the most frequent one.",
        inputs=RANKINGS,
    )
    confidence: float = declare_choice(
        0.95,
        "Level of the intervals, between 0 and 1; a p of at most 1 - ``confidence`` is called "
        "significant.",
    )
    interval: Literal["wilson", "bca"] = declare_choice(
        "wilson",
        "How intervals are made: ``wilson`` (for means of metrics with a bounded scale, with an "
        "effective number of users; for all others, and for differences, Student's t, cut where "
        "the scale ends), or by bootstrap ``bca`` (corrected for bias and skew). With clusters, "
        "``wilson`` uses the variance between clusters, and the bootstrap draws whole clusters.",
    )
    resamples: int = declare_choice(
        2_000,
        "Bootstrap samples drawn for an interval. ``n_bootstrap`` is the same option.",
        rare=True,
    )
    seed: int = declare_choice(0, "Seed of all random draws: the same seed gives the same result.")
    each: bool = declare_choice(
        False,  # noqa: FBT003 - a declaration
        "What is one query where a row has several true items: the row, or if True, each of them, "
        "ranked without the others of its row (filtered, as in link prediction). Tools of link "
        "prediction in ``like`` make it True.",
        inputs=ROWS,
    )

    @property
    def uses_bootstrap(self) -> bool:
        """Whether intervals are made by bootstrap."""
        return self.interval == "bca"

    @property
    def has_bounds(self) -> bool:
        """Whether means have bounds over all labels of the unjudged items."""
        return self.unjudged == "bounds"

    @property
    def alpha(self) -> float:
        """Level of the tests: 1 - confidence."""
        return level_of_tests(self.confidence)


class Choices(TypedDict, total=False):
    """The choices for rankings as keyword arguments, for type checkers; None is the default."""

    relevant: str | float | None
    rel: str | float | None
    gains: Literal["relevant", "positive", "all", "above", "reached"] | Mapping[float, float] | None
    ties: TieRule | None
    duplicates: Literal["error", "best", "first", "each", "unchecked"] | None
    judgements: Literal["error", "max", "last", "sum"] | None
    judgments: Literal["error", "max", "last", "sum"] | None
    scope: Literal["all", "ranked", "appended"] | None
    pool: Literal["all", "judged"] | None
    exclude: Literal["none", "self"] | None
    history: Literal["all", "new", "seen"] | None
    retrieved: Literal["all", "positive"] | None
    score_type: Literal["float64", "float32"] | None
    depth: int | None
    missing: Literal["zero", "skip", "raise"] | None
    extra: Literal["ignore", "zero", "raise"] | None
    undefined: Literal["skip", "zero", "one", "nan", "raise"] | None
    users: Literal["all", "relevant", "hit", "ranked"] | None
    empty: Literal["score", "skip"] | None
    empty_truth: Literal["score", "skip"] | None
    aggregate: Literal["mean", "geometric", "median", "sum", "micro"] | None
    bad_scores: Literal["error", "drop", "worst"] | None
    no_overlap: Literal["error", "allow"] | None
    n_items: int | None
    bugs: bool | None
    unjudged: Literal["nonrelevant", "bounds"] | None
    confidence: float | None
    interval: Literal["wilson", "bca"] | None
    resamples: int | None
    n_bootstrap: int | None
    seed: int | None


class EveryChoice(Choices, total=False):
    """The choices for rankings, and the choices for other data alone."""

    each: bool | None


@dataclass(frozen=True)
class Choice:
    """A declared choice."""

    name: str
    default: Any
    meaning: str  # one or two sentences, in reStructuredText
    rare: bool
    words: tuple[str, ...]  # the permitted words; empty for a number, a flag or a threshold
    hint: Any  # its type
    part: type[Any]  # Alignment, Averaging or Setting
    inputs: tuple[Input, ...]  # on what it can act


def _declared_choices(part: type[Any]) -> dict[str, Choice]:
    hints = typing.get_type_hints(part)
    choices = {}
    for field in dataclasses.fields(part):
        name, hint = field.name, hints[field.name]
        words, _ = permitted_words_and_types(hint)
        meaning, rare, inputs = field.metadata.values()
        choices[name] = Choice(name, field.default, meaning, rare, words, hint, part, inputs)
    return choices


def permitted_words_and_types(hint: Any) -> tuple[tuple[Any, ...], list[Any]]:
    """The words that an annotation permits, and the other types of its union."""
    union = typing.get_origin(hint) in (typing.Union, types.UnionType)
    members = typing.get_args(hint) if union else (hint,)
    words = tuple(w for m in members if typing.get_origin(m) is Literal for w in m.__args__)
    return words, [m for m in members if typing.get_origin(m) is not Literal]


SETTINGS: Mapping[str, Choice] = _declared_choices(Setting)
"""The choices that hold for all metrics of a plan."""

CHOICES: Mapping[str, Choice] = (
    _declared_choices(Alignment) | _declared_choices(Averaging) | dict(SETTINGS)
)
"""Every choice by name. Those outside `SETTINGS` are legal inside a metric's parentheses, too."""

ALIASES = {
    "judgments": "judgements", "n_bootstrap": "resamples", "n_resamples": "n_permutations",
    "rel": "relevant",
}  # fmt: skip
"""Other names of options."""

IN_METRICS = {**ALIASES, "truth": "history"}
"""`ALIASES` in the parentheses of a metric, where `truth` is not the ground truth."""

RELEVANCE = ("relevant", "gains")
"""The choices that decide which judged items are relevant."""


def check_choice(name: str, value: Any) -> Any:
    """Convert the value of a choice to canonical form; a UsageError if it is not permitted."""
    declared = CHOICES[name]
    if name == "relevant":
        return _canonical_threshold(value)
    if name == "gains" and not (isinstance(value, str) and value in declared.words):
        return _canonical_gain_table(value)
    if declared.words:
        return one_of(name, value, declared.words)
    if declared.hint is float:
        return check_fraction(name, value)
    if declared.hint is bool:
        return check_flag(name, value)
    optional = types.NoneType in permitted_words_and_types(declared.hint)[1]
    if optional and (value is None or (isinstance(value, str) and value == "none")):
        return None
    if isinstance(value, str) and re.fullmatch(r"\s*-?\d{1,40}\s*", value):
        value = int(value)
    if name == "seed":
        return check_seed(value)
    return check_integer(
        name, value, least=1, most=MOST_RESAMPLES if name == "resamples" else LARGEST
    )


RELEVANT_FORMS = "`relevant` must be like '>0', '>=4' or 'any' (every judged item)"


def _canonical_threshold(value: Any) -> str:
    """Convert ``relevant`` to canonical form: ``">= 4.0"`` → ``">=4"``, a number t → ``">=t"``."""
    try:
        text = str(value).strip().lower().replace("≥", ">=")
    except Exception:  # noqa: BLE001 - an int of 5,000 digits, or whatever a foreign class raises
        text = ""
    if text == "any":
        return text
    match = re.fullmatch(rf"(>=|>)?\s*{_NUMBER}", text)
    if match is None or not math.isfinite(float(match[2])):
        raise UsageError(f"{RELEVANT_FORMS}, got {brief(value)}")
    return f"{match[1] or '>='}{format_value(float(match[2]))}"


def _canonical_gain_table(value: Any) -> str:
    """Convert gains to canonical form: ``{2: 1.0, 1: 0.1}`` and ``2:1,1:.1`` → ``1:0.1 2:1``."""
    try:
        if isinstance(value, Mapping):
            items = [*itertools.islice(value.items(), _MOST_GRADES + 1)]
            pairs = [(float(grade), float(gain)) for grade, gain in items]
            usable = all(isinstance(grade, str) or float(grade) == grade for grade, _ in items)
        else:
            text = re.sub(r"\s*:\s*", ":", re.sub(r"^\{(.*)\}$", r"\1", value.strip()))
            read = [_PAIR.fullmatch(pair) for pair in text.replace(",", " ").split()]
            pairs = [(float(pair[1]), float(pair[2])) for pair in read if pair is not None]
            usable = len(pairs) == len(read)
        usable &= all(math.isfinite(grade) and 0 <= gain < math.inf for grade, gain in pairs)
        usable &= len({round_grade(grade) for grade, _ in pairs}) == len(pairs)
        usable &= 0 < len(pairs) <= _MOST_GRADES
    except Exception:  # noqa: BLE001 - not pairs of numbers, or whatever a foreign class raises
        usable = False
    if not usable:
        words = CHOICES["gains"].words
        table = "or, for each grade, a gain of 0 or more, such as {1: 0.1, 2: 1}"
        hint = suggest_words(value, words) if isinstance(value, str) else ""
        raise option_error("gains", f"{', '.join(map(repr, words))}, {table}", value, words, hint)
    return " ".join(f"{exact_text(grade)}:{exact_text(gain)}" for grade, gain in sorted(pairs))


def active_choices(choices: Mapping[str, Any], data: Input) -> dict[str, Any]:
    """The options that are choices and can act on the data."""
    return {n: value for n, value in choices.items() if n in CHOICES and data in CHOICES[n].inputs}


def refuse_inert_choices(names: Iterable[str], data: Input) -> None:
    """Raise an error if one of the choices cannot act on the data."""
    for name in names:
        if data not in (inputs := CHOICES[name].inputs):
            words = re.split(r"[:;.]", CHOICES[name].meaning)[0]
            raise UsageError(
                f"`{name}` ({words[0].lower()}{words[1:]}) cannot act on {data}: {INPUTS[data]}. "
                f"Leave it out; it acts on {' and '.join(inputs)}",
                option=name,
            )


def format_value(value: Any) -> str:
    """Format a value as in the text of a plan."""
    text = exact_text(value) if isinstance(value, float) else str(value)
    return "none" if value is None else text


def format_bound(end: float) -> str:
    """Format an end of a range."""
    return f"{end:g}" if math.isfinite(end) else "∞" if end > 0 else "−∞"


def replace_aliases(
    options: Mapping[str, Any], real: Mapping[str, str] = ALIASES
) -> dict[str, Any]:
    """Replace other names of options by real ones; a UsageError if an option has both."""
    for alias in real.keys() & options.keys():
        if real[alias] in options:
            raise UsageError(f"`{alias}` and `{real[alias]}` are the same option: pass only one")
    return {real.get(name, name): value for name, value in options.items()}


def name_and_aliases(name: str, aliases: Mapping[str, str] = IN_METRICS) -> list[str]:
    """An option's name and its other names."""
    return [name, *(alias for alias, real in aliases.items() if real == name)]


F = TypeVar("F", bound=Callable[..., Any])


def takes_aliases(function: F) -> F:
    """Let a function take its parameters by `ALIASES`, too, and refuse options that are gone."""
    parameters = inspect.signature(function).parameters
    names = {name for name, real in ALIASES.items() if real in parameters}

    @functools.wraps(function)
    def renamed(*args: Any, **options: Any) -> Any:
        if not options.keys() <= parameters.keys():
            from rankmeter.errors._removed import refuse_removed_options

            refuse_removed_options(options, parameters)
        options = replace_aliases(options) if names & options.keys() else options
        return function(*args, **options)

    return typing.cast("F", answers_calls(renamed, names))


def takes_choices_of(data: Input) -> Callable[[F], F]:
    """Give a function with ``**choices`` the full signature and documentation for its data.

    The choices that can act on these replace ``**choices`` in its signature, and the line
    ``{choices}`` in its docstring. A parameter of its own that is called like a choice takes its
    place.
    """

    def described(function: F) -> F:
        signature = inspect.signature(function)
        parameters = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        names = active_choices(CHOICES, data).keys() - {p.name for p in parameters}
        parameters += [p for p in _choice_parameters() if p.name in names]
        function.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        if function.__doc__:  # absent under python -OO
            # Python 3.13 removes the indentation of docstrings.
            text, mark = _document_choices(frozenset(names)), re.compile(r"(?m)^( *)\{choices\}\n")
            function.__doc__ = mark.sub(lambda m: textwrap.indent(text, m[1]), function.__doc__)
        if isinstance(function, type):
            answer_calls_of(function)
            return function
        return answers_calls(function, {*CHOICES, *ALIASES})

    return described


takes_choices = takes_choices_of("rankings")


@functools.cache
def _choice_parameters() -> list[inspect.Parameter]:
    keyword = inspect.Parameter.KEYWORD_ONLY
    hints = typing.get_type_hints(EveryChoice).items()
    return [inspect.Parameter(n, keyword, default=None, annotation=hint) for n, hint in hints]


@functools.cache
def _document_choices(names: frozenset[str]) -> str:
    """Format the choices with some names as entries of a numpydoc section."""
    lines = []
    for declared in sorted(CHOICES.values(), key=lambda c: c.rare):
        if declared.name not in names:
            continue
        kind = "str" if declared.words or declared.name == "relevant" else _type_word(declared.hint)
        usual = declared.default
        default = "" if usual is None else f" Default: ``{format_value(usual)}``."
        text = textwrap.fill(declared.meaning + default, 92)
        lines += [f"{declared.name} : {kind}, optional", textwrap.indent(text, "    ")]
    return "\n".join(lines) + "\n"


def _type_word(hint: Any) -> str:
    return "int" if int in typing.get_args(hint) else str(hint.__name__)
