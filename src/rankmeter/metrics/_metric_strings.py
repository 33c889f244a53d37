"""A metric is a value: ``rm.NDCG(gain="exp2") @ 10`` in Python, ``ndcg(gain=exp2)@10`` in text."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from rankmeter._choices import CHOICES, IN_METRICS, SETTINGS, check_choice, replace_aliases
from rankmeter.errors import UnknownMetricError, UsageError
from rankmeter.errors._checks import LARGEST, brief, check_integer, option_error, suggest_words
from rankmeter.metrics._registry import ADJUSTED, METRICS, SYNONYMS, Option, Spec

PRESETS: dict[str, tuple[str, dict[str, Any]]] = {
    "f2": ("f_beta", {"beta": 2.0}),
    "f0.5": ("f_beta", {"beta": 0.5}),
    "bing": ("g", {"gain": "binary"}),
    "pap": ("pauc", {"positives": "top"}),
    "relativep": ("precision", {"denominator": "relevant"}),
}
"""Names of a metric with options."""

ELSEWHERE = frozenset(
    "aucroc compat diversity exposuregini insq inst kendall logloss mae mse nrbp "  # noqa: SIM905
    "popularitybias predictioncoverage r2 rbo rmse roc rsquared sdcg spearman".split()
)
"""Names of other measures in the field, without separators: not misspellings of metrics."""

_SWITCH = Option(ADJUSTED, default=False, choices=(), type=bool, optional=False)

_NUMBER = re.compile(r"-?(?:\d{1,19}(?:\.\d{1,40})?|\.\d{1,40})(?:e[-+]?\d{1,3})?", re.ASCII)
"""A cutoff, or a point such as a level of recall."""

_TABLE = re.compile(r"(?<==)\s*\{([^{}=]*)\}")


@dataclass(frozen=True)
class Metric:
    """One metric with its options and cutoff.

    Parameters
    ----------
    name : str
        Canonical name, a key of the registry.
    k : int, optional
        Cutoff; without it the whole ranking counts.
    options : tuple of (str, value)
        The options that were chosen, sorted by name; the others follow the convention.
    choices : tuple of (str, value)
        The choices of alignment and averaging that hold for this metric alone, sorted by name:
        ``ndcg(ties=expected)@10``; and whether it is adjusted for chance: ``ndcg(adjusted)@10``.
    label : str
        The name that was given, if it is a synonym; it does not affect equality.

    Examples
    --------
    >>> import rankmeter as rm
    >>> rm.NDCG(gain="exp2") @ 10
    ndcg(gain=exp2)@10
    >>> rm.NDCG(gain="exp2") @ 10 == rm.metric("nDCG(gain=exp2)@10")
    True
    """

    name: str
    k: int | None = None
    options: tuple[tuple[str, Any], ...] = ()
    choices: tuple[tuple[str, Any], ...] = ()
    label: str = field(default="", compare=False)

    @property
    def spec(self) -> Spec:
        """The registry entry of the metric."""
        return METRICS[self.name]

    def __call__(self, **options: Any) -> Metric:
        """Return the same metric with other options or choices."""
        spec = self.spec
        new_options, choices = dict(self.options), dict(self.choices)
        for name, value in replace_aliases(options, IN_METRICS).items():
            if name in spec.options:
                new_options[name] = _check_option_value(self.name, spec.options[name], value)
            elif name in SETTINGS:
                raise UsageError(
                    f"{name} holds for all metrics: pass it as an argument, not inside "
                    f"{self.name}(…)"
                )
            elif name in CHOICES:
                choices[name] = check_choice(name, value)
            elif name == ADJUSTED:
                choices.pop(name, None)
                choices |= {name: True} if _check_option_value(self.name, _SWITCH, value) else {}
            else:
                valid = ", ".join(spec.options) or "none"
                similar = [n for n in (*spec.options, *CHOICES) if n.startswith(name)]
                hint = (
                    f"; did you mean {similar[0]}={_spell_value(value)}?"
                    if name and similar
                    else ""
                )
                raise UsageError(f"{self.name} has no option {name!r}; its options: {valid}{hint}")
        sorted_options = tuple(sorted(new_options.items()))
        sorted_choices = tuple(sorted(choices.items()))
        return replace(self, options=sorted_options, choices=sorted_choices, label="")

    def _repr_html_(self) -> str:
        from html import escape

        return f"<code>{escape(str(self))}</code>"

    def __matmul__(self, k: Any) -> Metric:
        """Return the same metric with a cutoff, or at another point: ``iprec@0.3``."""
        if self.spec.at:
            return self(**{self.spec.at: k})
        if not self.spec.cutoff:
            raise UsageError(f"{self.name} has no cutoff: write it without @{k}")
        k = int(k) if isinstance(k, float) and k.is_integer() else k
        return replace(self, k=check_integer(f"k of {self.name}", k, least=1), label="")

    def __str__(self) -> str:
        options = {**dict(self.options), **dict(self.choices)}
        k = options.pop(self.spec.at, self.k)
        if options.get("relevant", "").startswith(">="):
            options["relevant"] = options["relevant"].removeprefix(">=")
        words = [ADJUSTED] if options.pop(ADJUSTED, False) else []
        text = ",".join(
            words + [f"{name}={_spell_value(value)}" for name, value in options.items()]
        )
        cutoff = "" if k is None else f"@{_spell_value(k)}"
        return self.name + (f"({text})" if text else "") + cutoff

    __repr__ = __str__


def metric(text: str) -> Metric:
    """Read one metric.

    Parameters
    ----------
    text : str
        A name or synonym in any case, options in parentheses, a cutoff after ``@``: ``ndcg@10``,
        ``nDCG@10``, ``ndcg_cut_10``, ``ndcg_at_10``, ``P_5``, ``HR@10``, ``ndcg(gain=exp2)@10``.

    Returns
    -------
    Metric

    Raises
    ------
    UnknownMetricError
        If no metric has that name; the message offers the nearest ones.
    UsageError
        If an option or the cutoff is wrong, or the text names several cutoffs.

    Examples
    --------
    >>> import rankmeter as rm
    >>> rm.metric("nDCG_cut_10"), rm.metric("MAP"), rm.metric("Hits@3")
    (ndcg@10, ap, hit_rate@3)
    """
    metrics = parse_metrics(text)
    if len(metrics) != 1:
        raise UsageError(f"expected one metric, got {len(metrics)} in {text!r}")
    return metrics[0]


def parse_metrics(
    metrics: str | Metric | Iterable[str | Metric],
    read: Callable[[str], Iterable[Metric]] | None = None,
    read_measure: Callable[[str], Iterable[Metric]] | None = None,
) -> tuple[Metric, ...]:
    """Read metrics in any form; problems are collected and reported together.

    Parameters
    ----------
    metrics : str, Metric or iterable of them
        A text may name several: ``"ndcg@5,10 map@10"``.
    read : callable, optional
        The function that reads one name with its cutoffs; default `read_metric`.
    read_measure : callable, optional
        The function that reads what a measure of ir_measures is printed as.

    Returns
    -------
    tuple of Metric
        In the order given, each once; two names of one metric, ``ap`` and ``map``, are two.

    Raises
    ------
    UnknownMetricError, UsageError
    """
    try:
        if isinstance(metrics, str | Metric) or _is_ir_measures_object(metrics):
            metrics = [metrics]  # type: ignore[list-item]
        metrics = list(metrics)
    except Exception:  # noqa: BLE001 - not an iterable, or one that fails
        raise option_error("metrics", "metric strings such as 'ndcg@10'", metrics) from None
    named: list[Metric] = []
    problems: list[UsageError] = []
    for entry in metrics:
        if isinstance(entry, Metric):
            named.append(entry)
        elif isinstance(entry, str):
            named += _read_names(entry, read or read_metric, problems)
        elif read_measure is not None and _is_ir_measures_object(entry):
            named += _read_names(str(entry), read_measure, problems)
        else:
            problems.append(option_error("metrics", "metric strings such as 'ndcg@10'", entry))
    if problems:
        kind = type(problems[0]) if len({type(p) for p in problems}) == 1 else UsageError
        raise kind("; ".join(str(problem) for problem in problems))
    if not named:
        raise UsageError("no metric given: name at least one, for example 'ndcg@10'")
    unique: dict[tuple[Metric, str], Metric] = {}
    for metric in named:
        unique.setdefault((metric, metric.label or str(metric)), metric)
    return tuple(unique.values())


def _is_ir_measures_object(metric: object) -> bool:
    """Whether a metric is a measure of ir_measures, without importing ir_measures."""
    return any(kind.__module__.startswith("ir_measures.") for kind in type(metric).__mro__)


def _read_names(
    text: str, read: Callable[[str], Iterable[Metric]], problems: list[UsageError]
) -> list[Metric]:
    """Read the metrics of a name, or of several names in one text."""
    try:
        return [*read(text)]
    except UsageError as error:
        names = _split_names(text)
        if len(names) < 2:
            problems.append(error)
            return []
        return [
            metric for name in dict.fromkeys(names) for metric in _read_names(name, read, problems)
        ]


def _split_names(text: str) -> list[str]:
    """Split ``ndcg@5,10, map(denominator=k)@3`` where a new name begins outside brackets."""
    names: list[list[str]] = [[]]
    depth, apart = 0, False
    for piece in filter(None, re.split(r"([\s,;]+|[()\[\]{}])", text)):
        if apart and not depth and piece[0].isalnum() and not _NUMBER.fullmatch(piece):
            names.append([])
        depth += (piece in "([{") - (piece in ")]}")
        apart = piece[0] in ",;" or piece[0].isspace()
        names[-1].append(piece)
    joined = ("".join(part).strip(" \t\n,;") for part in names)
    return [part for part in joined if part]


def read_metric(text: str) -> list[Metric]:
    """Read one name with its options and cutoffs, ``ndcg(gain=exp2)@5,10``."""
    head, separator, cutoffs = take_cutoffs(without_braces(text.strip()))
    name = head.removesuffix("_at").removesuffix("_cut") if separator == "_" else head
    match = re.fullmatch(r"([\w.\- ]+)(?:\((.*)\))?", name, re.DOTALL)
    if match is None:
        expected = "expected name, name@k or name(option=value)@k"
        raise UnknownMetricError(f"cannot read the metric {brief(text)}: {expected}")
    base = _look_up_metric(match[1].strip())
    options: dict[str, str] = {}
    for pair in filter(None, map(str.strip, (match[2] or "").split(","))):
        key, equals, value = (part.strip() for part in pair.partition("="))
        if not equals and ":" in key and "gains" in options:
            options["gains"] += f" {key}"
            continue
        if not equals and key == ADJUSTED:
            value = "true"
        elif not equals:
            raise UsageError(
                f"cannot read the option {brief(pair)} of {brief(text)}: write name=value"
            )
        if key in options:
            raise UsageError(f"{brief(text)} has the option {brief(key)} twice: use it once")
        options[key] = value
    if cutoffs and base.spec.at in options:
        raise UsageError(
            f"{brief(text)} has the option {base.spec.at!r} twice, in parentheses and after @: "
            "use it once"
        )
    base = base(**options)
    # Shown as it was asked for.
    head = re.sub(r"\s*([=,()])\s*", r"\1", " ".join(head.split()))
    labels = [f"{head}{separator}{_spell_value(k)}" for k in cutoffs] or [head]
    metrics = [base @ k for k in cutoffs] or [base]
    return [replace(metric, label=label) for metric, label in zip(metrics, labels, strict=True)]


def without_braces(text: str) -> str:
    """Remove the braces from each table of gains in text: ``{1: 2, 2: 5}`` → ``1:2 2:5``."""

    def written(table: re.Match[str]) -> str:
        return " ".join(re.sub(r"\s*:\s*", ":", table[1]).replace(",", " ").split())

    return _TABLE.sub(written, text)


def take_cutoffs(text: str, marks: str = "@_") -> tuple[str, str, list[Any]]:
    """Split the cutoffs from a name: ``P@5,10`` → ``("P", "@", [5, 10])``.

    `marks` may be between them. Text after ``@`` that is not a number is returned unchanged.
    """
    name, separator, tail = text.rpartition("@")
    if not separator:
        name = text.rstrip("0123456789.,- ")
        tail = text[len(name) :]
        if "." in marks and tail.startswith("."):
            separator, tail = ".", tail[1:]
        elif tail and name.endswith("_"):
            separator, name = "_", name[:-1]
        else:
            return text, "", []
    numbers = [part.strip() for part in tail.split(",")]
    if all(map(_NUMBER.fullmatch, numbers)):
        cutoffs = [int(part) if part.lstrip("-").isdigit() else float(part) for part in numbers]
        if all(map(math.isfinite, cutoffs)):
            return name.rstrip(), separator, cutoffs
    return (name, separator, [tail]) if separator == "@" else (text, "", [])


def is_elsewhere(name: str) -> bool:
    """Whether a name is a known measure that rankmeter does not have."""
    return re.sub(r"[\s_\-]", "", name.lower()) in ELSEWHERE


def _look_up_metric(name: str) -> Metric:
    """Look up the metric with a name or synonym; raise an error if unknown."""
    key = re.sub(r"[\s_\-]", "", name.lower())
    names = {name.replace("_", ""): name for name in (*SYNONYMS, *METRICS)}
    match = names.get(key, "")
    if match in METRICS:
        return Metric(match)
    if key in PRESETS:
        target, options = PRESETS[key]
        return Metric(target)(**options)
    if match:
        return Metric(SYNONYMS[match])
    if is_elsewhere(name):
        raise UnknownMetricError(
            f"unknown metric {brief(name)}: rankmeter has no {name.lower()}; "
            "`rankmeter metrics` lists what it has"
        )
    cut = re.fullmatch(r"(.*?\D)(\d+)", key)
    if cut and cut[1] in names:
        hint = f"; did you mean '{names[cut[1]]}@{cut[2]}'?"
    else:
        hint = suggest_words(name, [*METRICS, *SYNONYMS, *PRESETS], likeness=0.7)
    hint = hint or f"; known: {', '.join(sorted(METRICS))}"
    raise UnknownMetricError(f"unknown metric {brief(name)}{hint}")


def _check_option_value(name: str, option: Option, value: Any) -> Any:
    """Check the value of an option, and convert it to the option's type."""
    word = value.strip().lower() if isinstance(value, str) else value
    if isinstance(word, str) and word in option.choices:
        return word
    if option.optional and (word is None or (isinstance(word, str) and word == "none")):
        return None
    if option.type is bool and isinstance(word, str) and word in ("true", "false"):
        return word == "true"
    if option.type is bool and type(word).__name__ in ("bool", "bool_"):
        return bool(word)
    if option.type in (int, float) and not isinstance(word, bool):
        try:
            number = option.type(word if str(word).isascii() and "_" not in str(word) else "")
        except Exception:  # noqa: BLE001 - not a number, one too large, or what a class raises
            number = math.nan
        fits = abs(number) <= LARGEST if option.type is int else math.isfinite(number)
        if fits and (isinstance(word, str) or number == word):
            return number
    kinds: dict[Any, str] = {None: "", int: "an integer", float: "a number", bool: "true or false"}
    allowed = [*map(repr, option.choices), kinds[option.type], "none" if option.optional else ""]
    expected = " or ".join(filter(None, allowed))
    raise option_error(f"{option.name} of {name}", expected, value, option.choices)


def _spell_value(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e16:
        return str(int(value))
    return str(value)
