"""Facts about each metric besides its formula, for lookup, help, documentation and tests.

The signature is the schema. The positional parameters of a metric function name the evidence that
it needs (`EVIDENCE`), then comes ``k`` if it has a cutoff. The keyword-only parameters are its
options: their annotations are the permitted values, their defaults the convention ``rankmeter``.
"""

from __future__ import annotations

import functools
import inspect
import math
import re
import sys
import textwrap
import types
import typing
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field, fields
from importlib import import_module
from typing import Any, ParamSpec, TypeVar

import numpy as np

from rankmeter._choices import (
    CHOICES,
    SHARED_RANKS,
    STAND_INS,
    WITHOUT_STAND_IN,
    Alignment,
    format_bound,
    permitted_words_and_types,
)
from rankmeter._evidence.hits import BoolArray, FloatArray, Hits
from rankmeter._evidence.lists import Lists
from rankmeter._evidence.steps import note_value
from rankmeter.errors import UsageError
from rankmeter.errors._checks import counted
from rankmeter.metrics.states import Exposure, Ratio, State, Weighted

MetricFunction = Callable[..., FloatArray]
"""``(*evidence, k, **options) -> float64 array of shape (n_users,)``, or without ``k``."""

Bounds = Callable[[Mapping[str, Any], Alignment], tuple[float, float]]
"""From the options of a metric, and the choices that make its hits, to its range."""

P = ParamSpec("P")
T = TypeVar("T")


EVIDENCE = {
    "hits": "Hits\n    Relevant items of n_users users; ``hits.ideal`` holds all of them.",
    "nonrelevant": "Hits\n    Ranked items judged as not relevant; ``nonrelevant.ideal`` holds all "
    "of them.",
    "lists": "Lists\n    Ranked items of n_users users.",
    "popularity": "Popularity\n    How often each item occurs in the training data.",
    "propensity": "Propensity\n    How likely each item was seen, so that it could be judged.",
    "profiles": "Profiles\n    The items of each user in the training data.",
    "features": "Features\n    A vector for each item.",
    "likeness": "Likeness\n    What says how alike two items are.",
    "relevant": "Lists\n    All relevant items of n_users users, in the lists or not.",
    "categories": "Features\n    Whether each item belongs to each category: 1 or 0.",
    "catalogue": "Catalogue\n    The items that could be shown.",
    "baseline": "Lists\n    Ranked items of the same users by another system.",
}
"""The permitted names of a metric's positional parameters, with the type and meaning of each."""

SIDE_DATA = {
    "popularity": ("train", "the training interactions"),
    "propensity": ("propensity", "the propensities of the items"),
    "profiles": ("train", "the training interactions"),
    "features": ("items", "features of the items"),
    "categories": ("items", "categories of the items"),
    "catalogue": ("catalogue", "the items that could be shown, or their number"),
    "baseline": ("baseline_lists", "the lists of another system"),
    "likeness": ("items", "what says how alike items are"),
    "similarity": ("items", "pairwise similarities of the items, as a pair (ids, square matrix)"),
}
"""The argument that gives each kind of evidence about items and users, and what it is."""


def require(evidence: T | None, name: str) -> T:
    """Return the evidence; if it is None, raise a UsageError with the argument to pass."""
    if evidence is None:
        argument, description = SIDE_DATA[name]
        raise UsageError(f"needs {description}: pass {argument}=", option=argument)
    return evidence


ADJUSTED = "adjusted"
"""What any metric of hits can be: ``ndcg(adjusted)@10`` is 0 for a random order of candidates."""

RESERVED = frozenset(CHOICES) - {"n_items", "unjudged"} | {ADJUSTED}
"""Names that options must not have: those of the choices that a metric can have in parentheses.

`n_items` fills options of that name, and `unjudged` is asked of all metrics at once.
"""


class Example:
    """Example values of an option for documentation and tests.

    Written as ``recall: Annotated[float, Example(0.5)]``.

    Parameters
    ----------
    value : object
        Shown in the documentation. It must be valid for lists of up to 20 items and gains of up to
        3.
    *more : object
        Further values for the tests.
    """

    def __init__(self, value: Any, *further_values: Any) -> None:
        self.values: tuple[Any, ...] = (value, *further_values)


ANY_SHARED = (*SHARED_RANKS, "@k")
"""For `register`: the metric does not look at ranks."""


@dataclass(frozen=True)
class Option:
    """One keyword-only parameter of a metric.

    Attributes
    ----------
    name : str
    default : object
        `inspect.Parameter.empty` where the caller must choose.
    choices : tuple of str
        The permitted words; empty for a number.
    type : type or None
        ``int``, ``float`` or ``bool`` where a number (or flag) is permitted.
    optional : bool
        Whether ``none`` is permitted.
    examples : tuple
        Values from `Example`.
    """

    name: str
    default: Any
    choices: tuple[str, ...]
    type: type | None
    optional: bool
    examples: tuple[Any, ...] = ()

    @property
    def required(self) -> bool:
        """Whether the option has no default."""
        return self.default is inspect.Parameter.empty

    @property
    def values(self) -> tuple[Any, ...]:
        """Values to try, each once: the default first, then examples, words, flags and none."""
        default = () if self.required else (self.default,)
        flags = (False, True) if self.type is bool else ()
        none = (None,) if self.optional else ()
        return tuple(dict.fromkeys((*default, *self.examples, *self.choices, *flags, *none)))


@dataclass(frozen=True, repr=False)
class Spec:
    """A metric with its checkable properties.

    Attributes
    ----------
    name : str
        The canonical name, in lower case.
    title : str
        The name for people.
    function : callable
        Called with the evidence that it needs, k if it has a cutoff, and options.
    needs : tuple of str
        Its evidence, in the order of its parameters: keys of `EVIDENCE`.
    spares : frozenset of str
        The evidence that some options do without; it is None if it was not given.
    low, high, bounds, increasing, reached, open_ties, shared, aggregate, synonyms, at, borders
    refuses
        As in `register`; `range` is the range under any options and choices.
    cutoff : bool
        Whether it takes ``@k``.
    state, both : callable, optional
        For a metric that can be pooled over users, called like `function`: they give the state that
        adds up, and the values with this state.
    weighted : bool
        Whether this value says how much the weights of its items differ.
    options : mapping of str to Option
    """

    name: str
    title: str
    function: MetricFunction
    needs: tuple[str, ...] = ("hits",)
    spares: frozenset[str] = frozenset()
    low: float = 0.0
    high: float = 1.0
    increasing: bool = True
    reached: bool = True
    open_ties: bool = True
    shared: tuple[str, ...] = ()
    aggregate: str = "mean"
    synonyms: tuple[str, ...] = ()
    cutoff: bool = True
    at: str = ""
    state: Callable[..., State] | None = None
    both: Callable[..., tuple[FloatArray, State]] | None = None
    weighted: bool = False
    borders: Callable[[Mapping[str, Any]], list[Any]] | None = None
    bounds: Bounds | None = None
    refuses: Callable[[Mapping[str, Any]], bool] | None = None
    options: Mapping[str, Option] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Spec({self.name}: {self.title})"

    def allows_shared_ranks(self, ties: str, *, cut: bool) -> bool:
        """Whether several relevant items may share a rank by a tie rule, in cut rankings or not."""
        return self.of_lists or (ties in self.shared and (not cut or "@k" in self.shared))

    @property
    def default_choices(self) -> dict[str, str]:
        """Default choices of the metric, which all other choices override."""
        users = {"users": "ranked"} if self.of_lists else {}
        return {"aggregate": self.aggregate, **users}

    @property
    def of_lists(self) -> bool:
        """Whether the metric is a list metric, which needs no ground truth."""
        return "lists" in self.needs

    @property
    def intent_aware(self) -> bool:
        """Whether subtopics, where the judgments have some, are the categories of the metric."""
        return self.needs == ("lists", "relevant", "categories")

    @property
    def needs_hit_items(self) -> bool:
        """Whether a metric of hits needs facts about the items of the hits."""
        return not self.of_lists and not {"hits", "nonrelevant"}.issuperset(self.needs)

    @property
    def pools(self) -> bool:
        """Whether the metric can be pooled over users."""
        return self.state is not None

    @property
    def of_hits(self) -> bool:
        """Whether the metric depends on relevance."""
        return not {"hits", "nonrelevant", "relevant"}.isdisjoint(self.needs)

    @property
    def whole(self) -> bool:
        """Whether the metric is computed over all lists at once, so that no user has a value."""
        return self.of_lists and self.pools and self.aggregate == "micro"

    @property
    def family(self) -> str:
        """The module that defines the metric."""
        return self.function.__module__

    @property
    def best(self) -> float | None:
        """Value of the ideal ranking, uncut and with default options; None if not fixed."""
        end = self.high if self.increasing else self.low
        return end if self.reached and math.isfinite(end) else None

    def range(
        self,
        options: Mapping[str, Any] | None = None,
        choices: Mapping[str, Any] | None = None,
    ) -> tuple[float, float]:
        """Lowest and highest value that a user can have under some options and choices.

        Options and choices that are not given have their defaults, required options an example;
        the cutoff is the option ``k``.
        Where a choice counts a user without a value as 0 or 1, that number is a value, too.
        """
        chosen = choices or {}
        names = (field.name for field in fields(Alignment) if field.name in chosen)
        alignment = Alignment(**{name: chosen[name] for name in names})
        return self.range_under(
            options or {}, alignment, [chosen.get(name) for name in WITHOUT_STAND_IN]
        )

    def range_under(
        self, options: Mapping[str, Any], alignment: Alignment, stand_ins: Iterable[Any]
    ) -> tuple[float, float]:
        """`range`, with the words of the choices that count a user without a value."""
        low, high = self.low, self.high
        if self.bounds is not None:
            defaults = {n: o.values[0] for n, o in self.options.items() if o.values}
            low, high = self.bounds({"k": None, **defaults, **options}, alignment)
        words = [] if self.whole else stand_ins
        numbers = [STAND_INS[word] for word in words if word in STAND_INS]
        return min([low, *numbers]), max([high, *numbers])

    def ranges(self) -> dict[tuple[float, float], list[str]]:
        """Each other range than the usual one, with the options and choices that lead to it.

        Each option is tried alone, with the defaults of the others, and so are repeated items that
        count each time (``duplicates=each``) and gains that can be negative (``gains=all``).
        """
        tried: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
            (f"{name}={_option_text(value)}", {name: value}, {})
            for name, option in self.options.items()
            for value in option.values
        ]
        tried += [
            (f"{name}={value}", {}, {name: value})
            for name, value in {"duplicates": "each", "gains": "all"}.items()
        ]
        others: dict[tuple[float, float], list[str]] = {}
        for text, options, choices in tried:
            if (ends := self.range(options, choices)) != (self.low, self.high):
                others.setdefault(ends, []).append(text)
        return others

    def refuses_together(self, options: Mapping[str, Any]) -> bool:
        """Whether the metric refuses options, the others at their defaults."""
        defaults = {name: option.default for name, option in self.options.items()}
        return self.refuses is not None and self.refuses({**defaults, **options})

    @property
    def example(self) -> dict[str, Any]:
        """Example values of the options without a default."""
        required = (option for option in self.options.values() if option.required)
        return {option.name: option.values[0] for option in required if option.values}

    @property
    def summary(self) -> str:
        """The first line of the docstring."""
        return (inspect.getdoc(self.function) or "").split("\n", 1)[0]


def _option_text(value: Any) -> str:
    return "none" if value is None else str(value).lower()


SYNONYMS: dict[str, str] = {}
"""Canonical name by synonym."""


class Registry(MutableMapping[str, Spec]):
    """Every metric by its canonical name; its file is imported when it is first looked up.

    All names and synonyms are known before: they are read from the text of the files, so that a
    metric is written in one place. A file without text, as in some bundles, is imported at once.
    """

    def __init__(self) -> None:
        self._specs: dict[str, Spec] = {}
        self._homes: dict[str, str] = {}

    def announce(self, module: str, text: bytes | None) -> None:
        """Add the metrics that a file registers, by name."""
        if text is None:
            import_module(module)
            return
        for name, synonyms in _names_in_source(text.decode()):  # a test compares them
            self._homes[name] = module
            SYNONYMS.update(dict.fromkeys(synonyms, name))

    def is_announced(self, spec: Spec) -> bool:
        """Whether a metric is the one for which its name is kept free."""
        home = self._homes.get(spec.name)
        return home is not None and home == spec.family and spec.name not in self._specs

    def __getitem__(self, name: str) -> Spec:
        if name not in self._specs and name in self._homes:
            import_module(self._homes[name])
        return self._specs[name]

    def __setitem__(self, name: str, spec: Spec) -> None:
        self._specs[name] = spec

    def __delitem__(self, name: str) -> None:
        del self._specs[self[name].name]
        self._homes.pop(name, None)

    def __contains__(self, name: object) -> bool:
        return name in self._specs or name in self._homes

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys((*self._homes, *self._specs)))

    def __len__(self) -> int:
        return len(self._homes.keys() | self._specs.keys())


def _names_in_source(text: str) -> list[tuple[str, tuple[str, ...]]]:
    """The names that a file of metrics registers, each with its synonyms, sorted."""
    found = []
    for facts, name in re.findall(r"^@register\((.*?)^def (\w+)", text, re.DOTALL | re.MULTILINE):
        synonyms = re.search(r"\bsynonyms=\((.*?)\)", facts, re.DOTALL)
        found.append((name, tuple(re.findall(r'"(.+?)"', synonyms[1] if synonyms else ""))))
    return sorted(found)


METRICS = Registry()
"""Every metric by its canonical name."""

_FORGET: list[Callable[[], None]] = []
"""The functions that clear what depends on the registered names."""


def remembered(function: Callable[P, T]) -> Callable[P, T]:
    """Cache a function of names until a metric is registered or unregistered."""
    cached = functools.lru_cache(maxsize=1000)(function)
    _FORGET.append(cached.cache_clear)
    return typing.cast("Callable[P, T]", cached)


def _clear_caches() -> None:
    for clear in _FORGET:
        clear()


def register(
    title: str,
    *,
    low: float = 0.0,
    high: float = 1.0,
    increasing: bool = True,
    reached: bool = True,
    open_ties: bool | None = None,
    shared: tuple[str, ...] = (),
    needs_relevant: bool = True,
    needs_items: bool = True,
    aggregate: str = "mean",
    synonyms: tuple[str, ...] = (),
    at: str = "",
    borders: Callable[[Mapping[str, Any]], list[Any]] | None = None,
    bounds: Bounds | None = None,
    refuses: Callable[[Mapping[str, Any]], bool] | None = None,
) -> Callable[[Callable[P, FloatArray | State]], Callable[P, FloatArray]]:
    """Register a function from evidence to one number per user as a metric.

    The positional parameters of the function name the evidence that it receives, such as ``hits``,
    ``lists`` or ``popularity``; a parameter ``k`` after them makes ``@k`` legal. Its keyword-only
    parameters are options: each is annotated with ``float``, ``int``, ``bool`` or ``Literal[...]``,
    with ``| None`` if ``none`` is permitted. A function that is annotated to return a state, such
    as `Ratio`, can be pooled over users (``aggregate="micro"``). The parts that all metrics share
    are added to the docstring: the parameters above, the return value, the errors, and which users
    have no value.

    Parameters
    ----------
    title : str
    low, high : float
        Range of the values with default options and choices.
    increasing : bool
        Whether larger is better.
    reached : bool
        Whether the ideal ranking, without a cutoff, reaches the best value of the range.
    open_ties : bool, optional
        Whether the metric has a value under unresolved ties: its expectation over all orders.
        Otherwise unresolved ties are refused. By default metrics of lists refuse them, as those of
        hits do not.
    shared : tuple of str
        The tie rules by which several relevant items of a user may share a rank: ``realistic``,
        ``rounded``, ``together``. With a cutoff none is allowed, unless ``@k`` is one of the words.
        Under all others they are refused, since a mean rank says something about one item.
    needs_relevant : bool
        Whether a metric of hits is undefined (NaN) for a user without relevant items.
    needs_items : bool
        Whether a metric of lists is undefined for a user without ranked items.
    aggregate : str
        How the values of the users are combined if neither a choice nor a tool says so: ``mean``,
        ``geometric``, ``median``, ``micro``.
    synonyms : tuple of str
        Other names of the metric, in lower case, with no separator but ``_``.
    at : str
        The option that a number after ``@`` means, for a metric without cutoff.
    borders : callable, optional
        From the options to pairs of `head` and `size`, as in `tail_share`: where the metric
        separates popular items from others. Items at such a border are counted.
    bounds : callable, optional
        From the options, ``k`` among them, and the choices that make the hits, to the range, for a
        metric whose range depends on them. Without it the range is always from `low` to `high`.
    refuses : callable, optional
        From the options to whether they contradict each other, so that the metric raises a
        UsageError. The tests of all metrics expect this error instead of a value.

    Raises
    ------
    ValueError
        If a name is taken, or the function is not as described above. Nothing is registered then.
    """

    def decorate(function: Callable[P, FloatArray | State]) -> Callable[P, FloatArray]:
        spec = describe(
            function, title, low=low, high=high, increasing=increasing, reached=reached,
            open_ties=open_ties, shared=shared, needs_relevant=needs_relevant,
            needs_items=needs_items, synonyms=synonyms, number_option=at, aggregate=aggregate,
            borders=borders, bounds=bounds, refuses=refuses,
        )  # fmt: skip
        if not METRICS.is_announced(spec):
            _refuse_taken_names(spec.name, spec.synonyms)
        METRICS[spec.name] = spec
        SYNONYMS.update(dict.fromkeys(spec.synonyms, spec.name))
        _clear_caches()
        return spec.function

    return decorate


def unregister(name: str) -> None:
    """Remove a metric and its synonyms from the registry.

    Parameters
    ----------
    name : str
        Canonical name.
    """
    for synonym in METRICS.pop(name).synonyms:
        del SYNONYMS[synonym]
    _clear_caches()


def describe(
    function: Callable[..., FloatArray | State],
    title: str,
    *,
    needs_relevant: bool = True,
    needs_items: bool = True,
    open_ties: bool | None = None,
    number_option: str = "",
    **facts: Any,
) -> Spec:
    """Build the `Spec` of a function without registering the function."""
    name = function.__name__
    parameters = inspect.signature(function).parameters.values()
    needs, cutoff = _read_evidence_names(name, parameters)
    open_ties = "lists" not in needs if open_ties is None else open_ties
    if not inspect.getdoc(function) and sys.flags.optimize < 2:
        raise ValueError(f"{name} has no docstring, which help and documentation need")
    hints = typing.get_type_hints(function, include_extras=True)
    options = _read_options(name, parameters, hints)
    if number_option and number_option not in options:
        raise ValueError(f"{name} has no option {number_option!r} that a number after @ could set")
    spares = frozenset(n for n in needs if types.NoneType in typing.get_args(hints.get(n)))
    needed = {"hits": needs_relevant and "lists" not in needs, "lists": needs_items}
    masked = [need for need, is_needed in needed.items() if is_needed and need in needs]
    annotation = hints.get("return")
    pools = isinstance(annotation, type) and issubclass(annotation, Ratio | Exposure)

    def compute_checked(*args: Any, **options: Any) -> Any:
        if options.get("n_items") is not None:
            k = args[len(needs)] if len(args) > len(needs) else options.get("k")
            for hits in (value for value in args if isinstance(value, Hits)):
                check_n_items(hits, k, options["n_items"])
        _refuse_ties(name, [*args, *options.values()], open_ties=open_ties)
        return function(*args, **options)

    def compute_with_state(*args: Any, **options: Any) -> tuple[FloatArray, Any]:
        computed = compute_checked(*args, **options)
        values: FloatArray = computed.per_user() if pools else computed
        for need in masked:
            position = needs.index(need)
            evidence = args[position] if position < len(args) else options[need]
            if np.shape(values) != (evidence.n_users,):
                raise TypeError(f"{name} must return one value per user, got {values!r}")
            values = np.where(_UNDEFINED[need][1](evidence), np.nan, values)
        return note_value(values, name, args[0] if args else None), computed

    @functools.wraps(function)
    def metric(*args: Any, **options: Any) -> FloatArray:
        return compute_with_state(*args, **options)[0]

    spec = Spec(
        name, title, metric, needs, spares, cutoff=cutoff, open_ties=open_ties, at=number_option,
        state=compute_checked if pools else None, both=compute_with_state if pools else None,
        weighted=annotation is Weighted, options=options, **facts,
    )  # fmt: skip
    metric.__doc__ = _full_docstring(spec, masked)
    return spec


_UNDEFINED: dict[str, tuple[str, Callable[[Any], BoolArray]]] = {
    "hits": ("nothing relevant", lambda hits: np.asarray(hits.n_relevant == 0)),
    "lists": ("no ranked item", lambda lists: np.asarray(lists.lengths == 0)),
}
"""The users without a value, by the evidence that a metric needs of them."""


def check_n_items(hits: Hits, k: int | None, n_items: int) -> None:
    """Refuse a number of items below that of a user's items in the top k or relevant."""
    most = int((hits.depth(k) + hits.n_relevant - hits.count(k)).max(initial=0.0))
    if n_items < most:
        raise UsageError(
            f"a user has {counted(most, 'item')}, ranked or relevant, but n_items is {n_items:,}: "
            "pass the number of all items that could be ranked",
            option="n_items",
            got=n_items,
            extent=most,
        )


def _refuse_ties(name: str, arguments: Iterable[Any], *, open_ties: bool) -> None:
    """Refuse tied lists, and unresolved ties of hits where they have no expectation."""
    tied = [value for value in arguments if isinstance(value, Hits | Lists) and value.tied]
    if any(isinstance(value, Lists) and (value.group is None or not open_ties) for value in tied):
        raise UsageError(
            f"{name} needs lists without tied items: choose a rule that orders them, such as "
            f"ties='item'"
        )
    if tied and not open_ties:
        raise UsageError(
            f"{name} has no closed form under unresolved ties (ties='expected'): choose a rule "
            f"that orders tied items, such as ties='item'"
        )


def _read_evidence_names(
    name: str, parameters: Collection[inspect.Parameter]
) -> tuple[tuple[str, ...], bool]:
    """The names of the required evidence, and whether a cutoff is the last parameter."""
    needs = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    cutoff = needs[-1:] == ["k"]
    needs = needs[:-1] if cutoff else needs
    for unknown in [need for need in needs if need not in EVIDENCE]:
        raise ValueError(
            f"{name} has the parameter {unknown!r}: a positional parameter names evidence "
            f"({', '.join(EVIDENCE)}) or is k, the last; options are keyword-only, after *"
        )
    if not needs or any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters):
        raise ValueError(f"{name} must name the evidence that it needs: {', '.join(EVIDENCE)}")
    return tuple(needs), cutoff


def _read_options(
    name: str, parameters: Iterable[inspect.Parameter], hints: Mapping[str, Any]
) -> dict[str, Option]:
    """The keyword-only parameters of a metric, read from its signature."""
    options = {}
    for parameter in parameters:
        if parameter.kind is not parameter.KEYWORD_ONLY:
            continue
        option = f"option {parameter.name} of {name}"
        if parameter.name == "k":
            raise ValueError(f"k of {name} must be positional, before the *")
        if parameter.name in RESERVED:
            raise ValueError(
                f"{option} has the name of an option of the plan: give it another name"
            )
        if parameter.name not in hints:
            raise ValueError(
                f"{option} has no annotation: write the permitted values, as in "
                f'`{parameter.name}: Literal["a", "b"] = "a"` or `{parameter.name}: float = 1.0`'
            )
        hint, marks = hints[parameter.name], list[Any]()
        if typing.get_origin(hint) is typing.Annotated:
            hint, *marks = typing.get_args(hint)
        examples = tuple(v for mark in marks if isinstance(mark, Example) for v in mark.values)
        words, kinds = permitted_words_and_types(hint)
        for kind in kinds:
            if kind not in (int, float, bool, types.NoneType):
                raise ValueError(f"{option} must be int, float, bool, Literal or None, got {kind}")
        number = next((kind for kind in kinds if kind is not types.NoneType), None)
        optional = types.NoneType in kinds
        default = parameter.default
        described = Option(parameter.name, default, words, number, optional, examples)
        is_permitted = default in words if isinstance(default, str) else number is not None
        if not (described.required or (optional if default is None else is_permitted)):
            raise ValueError(f"{option} has a default that is not permitted: {default!r}")
        options[parameter.name] = described
    return options


def _refuse_taken_names(canonical: str, synonyms: Iterable[str]) -> None:
    """Refuse names that already mean a metric, however they are written."""
    spelling_by_key = {spelled.replace("_", ""): spelled for spelled in (*METRICS, *SYNONYMS)}
    for name in (canonical, *synonyms):
        key = name.replace("_", "")
        if key in spelling_by_key:
            meant = SYNONYMS.get(spelling_by_key[key], spelling_by_key[key])
            raise ValueError(f"{name!r} is taken: it means {meant!r}")
        if not re.fullmatch(r"[a-z0-9][a-z0-9_.]*", name):
            raise ValueError(
                f"names of {canonical} must consist of lower-case letters, digits, _ and ., got "
                f"{name!r}"
            )


def _full_docstring(spec: Spec, masked: Collection[str]) -> str | None:
    """Build the docstring, with the sections and parameters common to all metrics."""
    text = inspect.getdoc(spec.function)
    if text is None:
        return None
    summary, *headings = re.split(r"^(\w+)\n-{3,}\n", text, flags=re.MULTILINE)
    written = dict(zip(headings[::2], (body.strip() for body in headings[1::2]), strict=True))
    evidence = []
    for need in spec.needs:
        kind, meaning = EVIDENCE[need].split("\n", 1)
        evidence.append(f"{need} : {kind}{', optional' * (need in spec.spares)}\n{meaning}")
    if spec.cutoff and not re.search(r"^k\b", written.get("Parameters", ""), re.MULTILINE):
        evidence.append("k : int, optional\n    Cutoff; without it the whole ranking counts.")
    values = f"{spec.low:g} or more" if spec.low > -math.inf else "Any number"
    if math.isfinite(spec.high):
        values = f"In [{spec.low:g}, {spec.high:g}]"
    for (low, high), names in spec.ranges().items():
        ends = f"{format_bound(low)} to {format_bound(high)}"
        values += f"; {ends} with ``{'`` or ``'.join(names)}``"
    values += "; the expectation if ties are unresolved." if spec.open_ties else "."
    mistakes = [] if spec.open_ties else ["ties are unresolved"]
    if any(option.type in (int, float) for option in spec.options.values()):
        mistakes.append("an option is out of its range")
    undefined = [f"A user with {_UNDEFINED[need][0]} is undefined (NaN)." for need in masked]
    sections = {
        "Parameters": "\n".join([*evidence, *filter(None, [written.pop("Parameters", "")])]),
        "Returns": "float64 array of shape (n_users,)\n"
        + textwrap.indent(textwrap.fill(values, 92), "    "),
        "Raises": f"UsageError\n    If {' or '.join(mistakes)}." if mistakes else "",
        "Notes": "\n\n".join([*undefined, *filter(None, [written.pop("Notes", "")])]),
        **written,
    }
    blocks = [f"{title}\n{'-' * len(title)}\n{body}" for title, body in sections.items() if body]
    return "\n\n".join([summary.strip(), *blocks])
