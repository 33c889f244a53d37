"""Every choice behind a number, explicit: metric names + convention + overrides → `Plan`.

This is the only place where choices are resolved. A choice lives where it bites: *alignment*
choices make the hits, *metric options* are arguments of the metric, *averaging* choices act on the
per-user values. A known tool may make any of them differently per metric, so a plan is a list of
metrics, each with all three.
"""

from __future__ import annotations

import dataclasses
import difflib
import re
import typing
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal

from rankmeter.conventions import Convention, load_convention
from rankmeter.errors import UsageError
from rankmeter.metrics import METRICS, Metric, Spec, parse_metrics

__all__ = ["Alignment", "Averaging", "MetricPlan", "Plan", "resolve"]

TieRule = Literal[
    "item",
    "item-descending",
    "input",
    "expected",
    "optimistic",
    "pessimistic",
    "realistic",
    "rounded",
    "together",
]
"""What decides among items of equal score."""


@dataclass(frozen=True)
class Alignment:
    """How hits are found.

    Attributes
    ----------
    relevant : str
        Which judged items are relevant: ``>0``, ``>=4``, ``>3.5``, or ``any`` (all judged ones).
    gains : str
        Which judged items have a gain: the ``relevant`` ones, or, whatever `relevant` says, the
        ``positive`` ones or ``all``, negative ones too (of metrics that weigh and do not count); or
        ``above``: the relevant ones, by how much they surpass the threshold, where one that just
        reaches it gains 1.
    ties : str
        Among equal scores: ``item`` (ascending), ``item-descending``, ``input`` (order of the
        rows), ``expected`` (exact expectation over all orders), ``optimistic``, ``pessimistic``
        (hits first, hits last), ``realistic`` (the mean of both), ``rounded`` (that, rounded up).
    duplicates : str
        The same item twice in a ranking: ``error``, ``best`` (keep its best rank only, the others
        move up), ``first`` (the best one counts, its repetitions take up ranks), ``each`` (count
        every one).
    judgements : str
        Contradicting judgements of one item: ``error``, ``max``, ``last``, ``sum``. Equal ones
        are one judgement.
    scope : str
        ``all`` judged items count as to be found, or only those ``ranked``, or all as
        ``appended``: those that a ranking lacks stand behind it, tied with each other.
    pool : str
        ``all`` ranked items take up ranks, or only the ``judged`` ones. Following TREC, a negative
        gain says that an item was to be judged and was not.
    retrieved : str
        Which ranked items can be hits: ``all``, or only those of ``positive`` score; the others
        keep their ranks.
    score_type : str
        ``float64``, or ``float32`` for tools that compare scores in single precision.
    depth : int or None
        Rank below which rankings are cut before anything else.
    """

    relevant: str = ">0"
    gains: Literal["relevant", "positive", "all", "above"] = "relevant"
    ties: TieRule = "item"
    duplicates: Literal["error", "best", "first", "each"] = "error"
    judgements: Literal["error", "max", "last", "sum"] = "error"
    scope: Literal["all", "ranked", "appended"] = "all"
    pool: Literal["all", "judged"] = "all"
    retrieved: Literal["all", "positive"] = "all"
    score_type: Literal["float64", "float32"] = "float64"
    depth: int | None = None

    @property
    def threshold(self) -> tuple[str, float]:
        """What makes a hit, as an operator and a number."""
        if self.gains == "positive":
            return ">", 0.0
        if self.gains == "all" or self.relevant == "any":
            return ">=", float("-inf")
        operator = ">=" if self.relevant.startswith(">=") else ">"
        return operator, float(self.relevant.removeprefix(operator))


@dataclass(frozen=True)
class Averaging:
    """Which users are averaged, and what counts for those without a value.

    Attributes
    ----------
    missing : str
        A user with truth but without a ranking: ``zero`` (an empty ranking), ``skip``, ``raise``.
    extra : str
        A user with a ranking but without truth: ``ignore``, ``zero``, ``raise``.
    undefined : str
        A user for whom the metric is undefined, above all one with nothing relevant:
        ``skip``, ``zero``, ``one``, ``nan`` (which makes the mean NaN too), ``raise``.
    users : str
        ``all`` of those; only those with anything ``relevant`` in the truth, also for metrics that
        are defined without; only those with a ``hit``, whose value is above 0.
    empty : str
        A user whose ranking is empty: ``score`` it or ``skip`` the user.
    empty_truth : str
        A user whose truth judges no item at all: ``score`` it, which is undefined, or ``skip``
        the user, whom files of rows cannot even name.
    aggregate : str
        What becomes of their values: the ``mean``, the ``geometric`` mean (of values raised to
        at least 0.00001, as trec_eval does, so that one 0 is not all), the ``sum``, or, for
        shares, ``micro``: the hits of all users over the sum of what they are divided by.
    """

    missing: Literal["zero", "skip", "raise"] = "zero"
    extra: Literal["ignore", "zero", "raise"] = "ignore"
    undefined: Literal["skip", "zero", "one", "nan", "raise"] = "skip"
    users: Literal["all", "relevant", "hit"] = "all"
    empty: Literal["score", "skip"] = "score"
    empty_truth: Literal["score", "skip"] = "score"
    aggregate: Literal["mean", "geometric", "sum", "micro"] = "mean"


@dataclass(frozen=True)
class MetricPlan:
    """One metric with every choice made.

    Attributes
    ----------
    label : str
        The name under which results are shown.
    metric : Metric
        With all its options explicit.
    alignment : Alignment
    averaging : Averaging
    """

    label: str
    metric: Metric
    alignment: Alignment
    averaging: Averaging

    @property
    def spec(self) -> Spec:
        """What the registry knows about the metric."""
        return self.metric.spec

    def switches(self) -> dict[str, Any]:
        """Every choice by name, metric options first."""
        return {
            **dict(self.metric.options),
            **dataclasses.asdict(self.alignment),
            **dataclasses.asdict(self.averaging),
        }


@dataclass(frozen=True)
class Plan:
    """Everything that was chosen, explicitly or by convention, before a number was computed.

    Attributes
    ----------
    convention : str
    metrics : tuple of MetricPlan
    bad_scores : str
        A NaN or null score: ``error``, ``drop`` the row, or rank it ``worst``.
    no_overlap : str
        Rankings and truth that share no user, or no item: ``error`` or ``allow``.
    confidence : float
        Level of the intervals.
    interval : str
        How intervals are made: ``t``, or by bootstrap ``bca`` or ``percentile``.
    """

    convention: str
    metrics: tuple[MetricPlan, ...]
    bad_scores: Literal["error", "drop", "worst"] = "error"
    no_overlap: Literal["error", "allow"] = "error"
    confidence: float = 0.95
    interval: Literal["t", "bca", "percentile"] = "t"

    def __getitem__(self, label: str) -> MetricPlan:
        """The plan of one metric, by any of its spellings."""
        for entry in self.metrics:
            if label == entry.label:
                return entry
        (wanted,) = parse_metrics(label)
        matches = [e for e in self.metrics if _matches(wanted, e)]
        if not matches:
            shown = ", ".join(entry.label for entry in self.metrics)
            raise KeyError(f"{label!r} was not evaluated; there are {shown}")
        return matches[0]

    def alignments(self) -> dict[Alignment, list[MetricPlan]]:
        """The metrics by alignment: each distinct one is computed once."""
        groups: dict[Alignment, list[MetricPlan]] = {}
        for entry in self.metrics:
            groups.setdefault(entry.alignment, []).append(entry)
        return groups

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain values, for JSON."""
        return {
            "convention": self.convention,
            "bad_scores": self.bad_scores,
            "no_overlap": self.no_overlap,
            "confidence": self.confidence,
            "interval": self.interval,
            "metrics": {
                entry.label: {"metric": entry.metric.name, "k": entry.metric.k, **entry.switches()}
                for entry in self.metrics
            },
        }

    def describe(self) -> str:
        """The plan in words: what all metrics share first, then each metric's own choices."""
        every = [entry.switches() for entry in self.metrics]
        common = {
            name: value
            for name, value in every[0].items()
            if len(every) > 1 and all(name in s and s[name] == value for s in every)
        }
        if len(every) == 1:
            own = dict(self.metrics[0].metric.options)
            common = {name: value for name, value in every[0].items() if name not in own}
        lines = [f"convention  {self.convention}"]
        lines += [f"{name:<11} {_show(value)}" for name, value in common.items()]
        lines += [f"bad_scores  {self.bad_scores}", f"no_overlap  {self.no_overlap}"]
        lines += [f"confidence  {self.confidence:g}", f"interval    {self.interval}"]
        for entry, switches in zip(self.metrics, every, strict=True):
            own = {name: value for name, value in switches.items() if name not in common}
            chosen = ", ".join(f"{name}={_show(value)}" for name, value in own.items())
            lines.append(f"{entry.label}: {entry.spec.title}" + (f", {chosen}" if chosen else ""))
        return "\n".join(lines)

    __str__ = describe


def _matches(wanted: Metric, entry: MetricPlan) -> bool:
    resolved = dict(entry.metric.options)
    return (wanted.name, wanted.k) == (entry.metric.name, entry.metric.k) and all(
        resolved.get(name) == value for name, value in wanted.options
    )


def _show(value: Any) -> str:
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def resolve(
    metrics: str | Metric | Iterable[str | Metric],
    *,
    like: str | None = None,
    overrides: Mapping[str, Any] | None = None,
    n_items: int | None = None,
    confidence: float = 0.95,
    bugs: bool = False,
) -> Plan:
    """Decide everything.

    Parameters
    ----------
    metrics : str, Metric or iterable of them
    like : str, optional
        The convention to start from; default ``rankmeter``.
    overrides : mapping of str to value
        Choices of alignment and averaging, ``bad_scores``, ``no_overlap`` and ``interval``, that
        win over the convention; None values are as if absent.
    n_items : int, optional
        Size of the catalogue, for the metrics that need it.
    confidence : float
        Level of the intervals, between 0 and 1.
    bugs : bool
        Reproduce the outright bugs of the tool too, to trace published numbers.

    Returns
    -------
    Plan

    Raises
    ------
    UsageError
        If a choice does not exist, contradicts another, or one that a metric needs is missing.
    """
    if isinstance(confidence, str) or not 0 < confidence < 1:
        raise UsageError(f"confidence must lie between 0 and 1, for example 0.95, got {confidence}")
    convention = load_convention(like or "rankmeter")
    chosen = {name: value for name, value in (overrides or {}).items() if value is not None}
    top = {
        name: chosen.pop(name)
        for name in ("bad_scores", "no_overlap", "interval")
        if name in chosen
    }
    for choice, value in top.items():
        _check_choice(Plan, choice, value)
    entries = [
        _resolve_metric(one, convention, chosen, n_items, bugs=bugs)
        for one in parse_metrics(metrics)
    ]
    followed = bugs and convention.bugs
    name = f"{convention.name} with its bugs" if followed else convention.name
    return Plan(name, tuple(entries), confidence=confidence, **top)


def _resolve_metric(
    wanted: Metric,
    convention: Convention,
    overrides: Mapping[str, Any],
    n_items: int | None,
    *,
    bugs: bool,
) -> MetricPlan:
    spec = wanted.spec
    switches = {**convention.choices(wanted.name, wanted.k, bugs=bugs), **overrides}
    options: dict[str, Any] = {}
    given = dict(wanted.options)
    for name, option in spec.options.items():
        if name in given:
            options[name] = given[name]
        elif name == "n_items" and n_items is not None:
            options[name] = n_items
        elif name in switches:
            options[name] = switches[name]
        elif option.required:
            flag = " or pass n_items=" if name == "n_items" else ""
            raise UsageError(
                f"{wanted} needs {name}: write {wanted.name}({name}=…)"
                f"{'' if wanted.k is None else f'@{wanted.k}'}{flag}"
            )
        else:
            options[name] = option.default
    known = {f.name for part in (Alignment, Averaging) for f in dataclasses.fields(part)}
    for name in overrides:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            raise UsageError(f"no choice is called {name!r}" + (f": {near[0]}?" if near else ""))
    alignment = _build(Alignment, switches)
    if alignment.gains == "above" and alignment.relevant == "any":
        raise UsageError("gains='above' counts from a threshold: relevant must not be 'any'")
    if alignment.depth is not None and alignment.ties == "expected":
        raise UsageError("depth cuts rankings at one rank, which open ties (ties='expected') lack")
    averaging = _build(Averaging, switches)
    if averaging.aggregate == "micro" and not spec.pools:
        shares = ", ".join(name for name, known in METRICS.items() if known.pools)
        raise UsageError(f"{wanted} cannot be pooled (aggregate='micro'): only {shares} can")
    resolved = Metric(wanted.name, wanted.k)(**options)
    return MetricPlan(wanted.label or str(wanted), resolved, alignment, averaging)


def _build(kind: type[Any], switches: Mapping[str, Any]) -> Any:
    """An `Alignment` or `Averaging` from the switches that are its own, checked."""
    values = {}
    for field in dataclasses.fields(kind):
        if field.name in switches:
            value = switches[field.name]
            if field.name == "relevant":
                value = _threshold(value)
            elif field.name == "depth":
                if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
                    raise UsageError(f"depth must be a whole number from 1 up, got {value!r}")
                value = int(value)
            else:
                _check_choice(kind, field.name, value)
            values[field.name] = value
    return kind(**values)


def _check_choice(kind: type[Any], name: str, value: Any) -> None:
    choices = typing.get_args(typing.get_type_hints(kind)[name])
    if value not in choices:
        shown = ", ".join(map(repr, choices))
        raise UsageError(f"{name} must be one of {shown}, got {value!r}")


def _threshold(value: Any) -> str:
    """``relevant`` in canonical spelling: ``">= 4.0"`` → ``">=4"``, a bare number t → ``">=t"``."""
    text = str(value).strip().lower().replace("≥", ">=")
    if text == "any":
        return text
    match = re.fullmatch(r"(>=|>)?\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)", text)
    if match is None:
        raise UsageError(
            f"relevant must be like '>0', '>=4' or 'any' (every judged item), got {value!r}"
        )
    return f"{match[1] or '>='}{_show(float(match[2]))}"
