"""Why two tools differ on the same data: walk from one plan to the other, one switch at a time."""

from __future__ import annotations

import dataclasses
import functools
import html
import itertools
import json
import math
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np
import polars as pl

from rankmeter._align import Aligned, align
from rankmeter._api import read_both
from rankmeter._ingest import Table as Ingested
from rankmeter._plan import Alignment, Averaging, MetricPlan, Plan, resolve
from rankmeter._report.table import Table, number
from rankmeter._scores import score
from rankmeter._summary import Estimate, Summary, summarise
from rankmeter.conventions import convention_names
from rankmeter.errors import RankmeterError, UsageError
from rankmeter.metrics import Metric, parse_metrics

__all__ = ["Explanation", "Match", "Step", "UserChange", "explain"]

SHOWN_USERS = 5
SHOWN_ITEMS = 10


@dataclass(frozen=True)
class Step:
    """One switch turned on the way from the first convention to the second.

    Attributes
    ----------
    switch : str
        Name of the choice.
    before, after : object
        Its setting in the first and in the second convention.
    value : float
        The mean with this switch and all earlier ones turned.
    change : float
        By how much this switch moved the mean.
    share : float
        `change` as a share of the whole difference; NaN if there is none.
    """

    switch: str
    before: Any
    after: Any
    value: float
    change: float
    share: float


@dataclass(frozen=True)
class UserChange:
    """A user whose value differs between the two conventions.

    Attributes
    ----------
    user : object
    before, after : float or None
        Values under the first and the second convention; None where the user is not averaged.
    items : tuple of str
        The top of the user's ranking; relevant items carry their gain: ``"b (3)"``.
    n_relevant : int
        Relevant items in the user's truth.
    """

    user: Any
    before: float | None
    after: float | None
    items: tuple[str, ...]
    n_relevant: int


@dataclass(frozen=True)
class Match:
    """Settings that give the number that was looked for.

    Attributes
    ----------
    convention : str
        The convention to start from.
    switches : mapping of str to object
        What to change in it; empty if the convention itself gives the number.
    value : float
        The mean that results.
    """

    convention: str
    switches: Mapping[str, Any]
    value: float

    def __str__(self) -> str:
        settings = ", ".join(f"{name}={value}" for name, value in self.switches.items())
        return f"{self.convention}" + (f" with {settings}" if settings else "")


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """How a number comes about: the steps between two conventions, or what matches a number.

    Attributes
    ----------
    metric : str
    first, second : str
        Names of the conventions; `second` is empty when a number was looked for.
    start, end : Estimate
        The result under each of the two; `end` is `start` when a number was looked for.
    steps : tuple of Step
    users : tuple of UserChange
        Those whose value changes most.
    target : str
        The number looked for, as it was printed; empty otherwise.
    matches : tuple of Match
        What gives that number, simplest first.
    tried : int
        How many settings were computed.
    """

    metric: str
    first: str
    second: str
    start: Estimate
    end: Estimate
    steps: tuple[Step, ...] = ()
    users: tuple[UserChange, ...] = ()
    target: str = ""
    matches: tuple[Match, ...] = ()
    tried: int = 0

    def to_dict(self) -> dict[str, Any]:
        """The explanation as plain values, for JSON."""
        result: dict[str, Any] = {"schema": 1, "metric": self.metric}
        if self.target:
            return result | {
                "target": self.target,
                "tried": self.tried,
                "matches": [
                    {"convention": m.convention, "switches": dict(m.switches), "value": m.value}
                    for m in self.matches
                ],
            }
        return result | {
            "between": [self.first, self.second],
            "values": [_plain(self.start.mean), _plain(self.end.mean)],
            "steps": [{k: _plain(v) for k, v in vars(step).items()} for step in self.steps],
            "users": [{k: _plain(v) for k, v in vars(user).items()} for user in self.users],
        }

    def to_json(self, *, indent: int | None = 2) -> str:
        """`to_dict` as JSON text."""
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False, default=str)

    def table(self) -> Table:
        """The steps, or the matches, as a table."""
        if self.target:
            rows = [(str(m), f"{m.value:.10g}") for m in self.matches]
            return Table(("setting", self.metric), tuple(rows), (self.verdict(),))
        rows4 = [(f"as {self.first}", number(self.start.mean), "", "")]
        still = [step for step in self.steps if step.change == 0]
        for step in self.steps:
            if step in still:
                continue
            share = "" if math.isnan(step.share) else f"{step.share:.0%}"
            what = f"{step.switch}: {step.before} → {step.after}"
            rows4.append((what, number(step.value), f"{step.change:+.4f}", share))
        rows4.append((f"as {self.second}", number(self.end.mean), "", ""))
        columns = ("one switch at a time", self.metric, "change", "of total")
        quiet = ", ".join(f"{step.switch} ({step.before} → {step.after})" for step in still)
        notes = (self.verdict(), f"without effect here: {quiet}") if still else (self.verdict(),)
        return Table(columns, tuple(rows4), notes)

    def user_table(self) -> Table:
        """The users whose value changes most, with the top of their lists."""
        rows = tuple(
            (str(u.user), number(u.before), number(u.after), str(u.n_relevant), " ".join(u.items))
            for u in self.users
        )
        return Table(("user", self.first, self.second, "relevant", "ranking (gain)"), rows)

    def verdict(self) -> str:
        """The explanation in one sentence."""
        if self.target:
            if not self.matches:
                return (
                    f"none of {self.tried} settings gives {self.target}: no known convention, and "
                    "no one or two switches of the default, explain it"
                )
            if len(self.matches) == 1:
                return f"{self.target} is what {self.matches[0]} gives"
            return (
                f"{len(self.matches)} of {self.tried} settings give {self.target}, so the number "
                "alone does not tell which was used; the simplest stand first"
            )
        if not self.steps:
            return f"{self.first} and {self.second} make the same choices for {self.metric}"
        moved = [step for step in self.steps if step.change != 0]
        if not moved:
            return f"{len(self.steps)} choices differ, none of them matters on this data"
        main = max(moved, key=lambda step: abs(step.change))
        return (
            f"{self.first} and {self.second} differ in {len(self.steps)} choices, of which "
            f"{len(moved)} matter here; most of all {main.switch} ({main.before} → {main.after}): "
            f"{main.change:+.4f}"
        )

    def footnote(self) -> str:
        """The explanation as prose that can be pasted below a table of a paper."""
        if self.target:
            found = "; ".join(str(m) for m in self.matches[:3]) or "nothing known"
            return f"{self.metric} = {self.target} is obtained by: {found}."
        steps = "; ".join(
            f"{s.switch} {s.before} → {s.after} ({s.change:+.4f})" for s in self.steps if s.change
        )
        return (
            f"{self.metric} on the same rankings: {number(self.start.mean)} by the convention of "
            f"{self.first}, {number(self.end.mean)} by that of {self.second}. The difference "
            f"comes from: {steps or 'nothing'} (each switch turned after those before it)."
        )

    def __repr__(self) -> str:
        text = self.table().to_text()
        return text + (f"\n\n{self.user_table().to_text()}" if self.users else "")

    def _repr_html_(self) -> str:
        tables = self.table().to_html() + (self.user_table().to_html() if self.users else "")
        return tables + f"<p>{html.escape(self.footnote())}</p>"


class _Bench:
    """The data, read once, and every alignment of it, computed once."""

    def __init__(self, ranked: Ingested, judged: Ingested) -> None:
        self.ranked, self.judged = ranked, judged
        self.aligned = functools.cache(self._align)
        self.tried = 0

    def _align(self, alignment: Alignment) -> Aligned:
        return align(self.ranked, self.judged, alignment)

    def run(self, entry: MetricPlan, convention: str = "") -> Summary:
        """The result of one metric plan."""
        self.tried += 1
        plan = Plan(convention, (entry,))
        return summarise(plan, score(plan, self.aligned), {})


def explain(
    rankings: object,
    truth: object,
    metric: str | Metric,
    *,
    between: tuple[str, str] | None = None,
    target: float | str | None = None,
    like: str | None = None,
    bugs: bool = False,
    columns: Mapping[str, Any] | None = None,
    n_items: int | None = None,
    **choices: Any,
) -> Explanation:
    """Say which choices make the difference between two tools, or which give a number.

    Parameters
    ----------
    rankings, truth : object
        As in `evaluate`.
    metric : str or Metric
        One metric.
    between : pair of str, optional
        Two conventions. Every choice in which they differ is turned from the first to the second,
        one after the other: options of the metric, then how hits are found, then who is averaged.
    target : float or str, optional
        A number that somebody printed. The conventions are searched, then every single switch
        of the convention `like`, then every pair, for values that equal it in its printed digits;
        a switch without effect is no match. Pass a text to keep trailing zeros (``"0.140"``).
    like : str, optional
        Where the search starts; default ``rankmeter``.
    bugs : bool
        Whether the conventions include the bugs of their tools.
    columns : mapping, optional
        As in `evaluate`.
    n_items : int, optional
        Size of the catalogue, for metrics that need it.
    **choices
        Choices as in `evaluate` that hold throughout, such as ``relevant=">=4"``.

    Returns
    -------
    Explanation

    Raises
    ------
    UsageError
        Unless exactly one of `between` and `target` is given.

    Notes
    -----
    The change of a step depends on the steps before it: the order is always the same, so that two
    explanations can be compared, but it is one of many.

    Examples
    --------
    One hit at rank 2 of two relevant items: LensKit gives ranks 1 and 2 the same weight.

    >>> import rankmeter as rm
    >>> rankings, truth = {"u": ["x", "a"]}, {"u": {"a", "b"}}
    >>> e = rm.explain(rankings, truth, "ndcg@2", between=("rankmeter", "lenskit"))
    >>> [(step.switch, round(step.change, 4)) for step in e.steps if step.change]
    [('discount', 0.1131)]
    >>> rm.explain(rankings, truth, "ap@5", target=0.25).matches[0].convention
    'rankmeter'
    """
    if (between is None) == (target is None):
        raise UsageError("pass between=(convention, convention) or target=number, one of them")
    wanted = parse_metrics(metric)
    if len(wanted) != 1:
        raise UsageError(f"one metric at a time, got {len(wanted)}: {', '.join(map(str, wanted))}")
    known = {f.name for part in (Alignment, Averaging) for f in dataclasses.fields(part)}
    unknown = set(choices) - known
    if unknown:
        raise UsageError(f"no choice is called {', '.join(map(repr, sorted(unknown)))}")

    def entry(convention: str | None) -> MetricPlan:
        plan = resolve(wanted, like=convention, overrides=choices, n_items=n_items, bugs=bugs)
        return plan.metrics[0]

    if between is not None and like is not None:
        raise UsageError("between names both conventions: leave out like")
    if between is not None and (isinstance(between, str) or len(between) != 2):
        raise UsageError(f"between takes two conventions, got {between!r}")
    bench = _Bench(*read_both(rankings, truth, columns=columns))
    if between is not None:
        return _walk(bench, entry(between[0]), entry(between[1]), between)
    assert target is not None
    return _search(bench, entry, target, like or "rankmeter", set(choices))


def _walk(
    bench: _Bench, first: MetricPlan, second: MetricPlan, names: tuple[str, str]
) -> Explanation:
    start, end = bench.run(first, names[0]), bench.run(second, names[1])
    a, b = first.switches(), second.switches()
    differing = [name for name in a if a[name] != b[name]]
    total = end[first.label].mean - start[first.label].mean
    current, value = first, start[first.label].mean
    steps = []
    for name in differing:
        current = _turned(current, {name: b[name]})
        now = bench.run(current)[current.label].mean
        change = now - value
        share = change / total if total else math.nan
        steps.append(Step(name, a[name], b[name], now, change, share))
        value = now
    return Explanation(
        first.label,
        *names,
        start[first.label],
        end[second.label],
        steps=tuple(steps),
        users=_changed(bench, start, end, first),
    )


def _turned(entry: MetricPlan, switches: Mapping[str, Any]) -> MetricPlan:
    """The plan of a metric with some switches set otherwise."""

    def own(part: Any) -> dict[str, Any]:
        names = {field.name for field in dataclasses.fields(part)}
        return {name: value for name, value in switches.items() if name in names}

    options = {n: v for n, v in switches.items() if n in dict(entry.metric.options)}
    return MetricPlan(
        entry.label,
        entry.metric(**options),
        dataclasses.replace(entry.alignment, **own(entry.alignment)),
        dataclasses.replace(entry.averaging, **own(entry.averaging)),
    )


def _changed(
    bench: _Bench, start: Summary, end: Summary, entry: MetricPlan
) -> tuple[UserChange, ...]:
    """The users whose value changes most, with the top of their rankings."""
    label = entry.label
    both = start.per_user.join(end.per_user, on="user", how="full", coalesce=True, suffix=" after")
    after = f"{label} after"
    change = (pl.col(after).fill_null(0) - pl.col(label).fill_null(0)).abs()
    moved = both.with_columns(change=change).filter(
        (pl.col("change") > 0) | (pl.col(label).is_null() != pl.col(after).is_null())
    )
    moved = moved.sort(["change", "user"], descending=[True, False]).head(SHOWN_USERS)
    operator, threshold = entry.alignment.threshold
    users = []
    for row in moved.iter_rows(named=True):
        user = row["user"]
        gains = dict(
            bench.judged.frame.filter(pl.col("user") == user).select("item", "gain").iter_rows()
        )
        relevant = {
            i: g
            for i, g in gains.items()
            if (g >= threshold if operator == ">=" else g > threshold)
        }
        mine = bench.ranked.frame.filter(pl.col("user") == user)
        if bench.ranked.order != "list":
            down = bench.ranked.order == "score"
            mine = mine.sort([bench.ranked.order, "item"], descending=[down, False])
        items = tuple(
            f"{item} ({relevant[item]:g})" if item in relevant else str(item)
            for item in mine["item"].head(SHOWN_ITEMS)
        )
        users.append(UserChange(user, row[label], row[after], items, len(relevant)))
    return tuple(users)


def _search(
    bench: _Bench,
    entry: Callable[[str | None], MetricPlan],
    target: float | str,
    like: str,
    fixed: set[str],
) -> Explanation:
    text, digits = _printed(target)
    wanted, tolerance = float(text), 0.5 * 10.0**-digits * (1 + 1e-9)
    matches: list[Match] = []
    base = entry(like)
    start = bench.run(base, like)[base.label]

    def check(name: str, switches: Mapping[str, Any], without: Iterable[float]) -> float:
        """The value of a setting, which matches only if it differs from simpler ones."""
        try:
            plan = _turned(base, switches) if switches else entry(name)
            value = bench.run(plan)[plan.label].mean
        except RankmeterError:  # a combination that the data or the metric does not admit
            return math.nan
        if abs(value - wanted) <= tolerance and not any(
            math.isclose(value, simpler, rel_tol=1e-12) for simpler in without
        ):
            matches.append(Match(name, dict(switches), value))
        return value

    for name in [like, *(n for n in convention_names() if n != like)]:
        check(name, {}, ())
    single = [
        (switches, check(like, switches, [start.mean]))
        for switches in _settings(bench, base, fixed)
    ]
    useful = [(s, value) for s, value in single if _matters(bench, base, s)]
    for (one, first), (other, second) in itertools.combinations(useful, 2):
        if one.keys() != other.keys():
            check(like, {**one, **other}, [start.mean, first, second])
    return Explanation(
        base.label, like, "", start, start, target=text, matches=tuple(matches), tried=bench.tried
    )


def _settings(bench: _Bench, base: MetricPlan, fixed: set[str]) -> Iterator[dict[str, Any]]:
    """Every other setting of every switch that has a list of choices."""
    now = base.switches()
    for name, option in base.spec.options.items():
        for choice in option.choices:
            if choice != now[name]:
                yield {name: choice}
    if "relevant" not in fixed:
        grades = np.unique(bench.judged.frame["gain"].to_numpy())[:10]
        for grade in grades.tolist():
            for rule in (f">{grade:g}", f">={grade:g}"):
                if rule != now["relevant"]:
                    yield {"relevant": rule}
    for part in (Alignment, Averaging):
        hints = typing.get_type_hints(part)
        for field in dataclasses.fields(part):
            if field.name not in fixed and typing.get_origin(hints[field.name]) is typing.Literal:
                for choice in typing.get_args(hints[field.name]):
                    if choice not in (now[field.name], "raise", "error"):
                        yield {field.name: choice}


def _matters(bench: _Bench, base: MetricPlan, switches: Mapping[str, Any]) -> bool:
    """Whether a setting can matter in a pair: another way to find hits must find other hits."""
    turned = _turned(base, switches)
    if turned.alignment == base.alignment:
        return True
    try:
        a, b = bench.aligned(base.alignment), bench.aligned(turned.alignment)
    except RankmeterError:
        return False
    return _facts(a) != _facts(b)


def _facts(aligned: Aligned) -> Iterable[bytes]:
    hits = aligned.hits
    ideal = () if hits.ideal is None else (hits.ideal.gain,)
    arrays = (hits.offsets, hits.rank, hits.gain, hits.n_relevant, hits.n_ranked, *ideal)
    spans = () if hits.rank_low is None else (hits.rank_low, hits.rank_high)
    return [np.asarray(array).tobytes() for array in (*arrays, *spans)]


def _printed(target: float | str) -> tuple[str, int]:
    """A number as printed, and how many decimals it shows."""
    text = str(target).strip()
    try:
        exponent = Decimal(text).as_tuple().exponent
    except InvalidOperation:
        raise UsageError(f"target must be a number such as 0.1405, got {target!r}") from None
    if not isinstance(exponent, int):
        raise UsageError(f"target must be a finite number, got {target!r}")
    return text, max(-exponent, 0)


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
