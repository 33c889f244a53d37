"""Why two tools differ on the same data: walk from one plan to the other, one switch at a time."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any, Unpack

import numpy as np
import polars as pl

from rankmeter._api import ONE, read_all
from rankmeter._checks import refused
from rankmeter._choices import CHOICES, Alignment, Averaging, Choices, takes_choices
from rankmeter._engine import open_data
from rankmeter._estimates.notes import compared, counts_of, notes_of
from rankmeter._ingest import Table
from rankmeter._plan import MetricPlan, Plan, resolve
from rankmeter._results.explanation import Explanation, Match, Step, UserChange
from rankmeter._results.summary import Summary, summarise
from rankmeter.conventions import convention_names, translate_all
from rankmeter.errors import RankmeterError, UnknownMetricError, UsageError
from rankmeter.metrics import Metric
from rankmeter.metrics import metric as metric_of

__all__ = ["explain"]

SHOWN_USERS = 5
SHOWN_ITEMS = 10


_PROBES = ("n_relevant", "n_ranked", "n_hits", "dcg", "dcg(gain=binary)", "ideal_dcg")
"""Metrics whose values differ if the hits do."""


class _Settings:
    """Results of one metric under many settings, on data that are read once."""

    def __init__(self, truth: Table, systems: Mapping[str, Table], plan: Plan) -> None:
        self.rankings, self.truth, self.plan = systems[ONE], truth, plan
        self.data = open_data(truth, systems, keep=True)
        self.tried = 0
        self.fingerprint = functools.cache(self._fingerprint)

    def run(self, entry: MetricPlan, convention: str = "") -> Summary:
        """The result under one setting."""
        self.tried += 1
        plan = dataclasses.replace(self.plan, convention=convention, metrics=(entry,))
        return summarise(plan, self.data.run(plan)[ONE], counts_of(self.rankings, self.truth))

    def _fingerprint(self, alignment: Alignment) -> list[bytes]:
        """What tells two alignments apart that find other hits."""
        entries = tuple(
            MetricPlan(str(probe), probe, alignment, Averaging())
            for probe in map(metric_of, _PROBES)
        )
        plan = dataclasses.replace(self.plan, metrics=entries)
        scores = self.data.run(plan)[ONE]
        for error in scores.errors.values():
            raise error
        return [values.tobytes() for values in scores.values.values()]


@takes_choices
def explain(
    rankings: object,
    truth: object,
    metric: str | Metric,
    *,
    between: tuple[str, str] | None = None,
    target: float | str | None = None,
    like: str | None = None,
    columns: Mapping[str, Any] | None = None,
    **choices: Unpack[Choices],
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
    columns : mapping, optional
        As in `evaluate`.
    {choices}

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
        raise UsageError("pass `between` (two conventions) or `target` (a number), one of them")
    if between is not None and like is not None:
        raise UsageError("`between` names both conventions: leave out `like`")
    if between is not None:
        pair = isinstance(between, tuple | list) and len(between) == 2
        if not (pair and all(isinstance(name, str) for name in between)):
            raise refused("between", "two conventions", between)
    names = between or ("rankmeter" if like is None else like,)
    wanted = _understood(metric, names)

    def entry(convention: str) -> MetricPlan:
        asked = wanted.get(convention, wanted[names[0]])
        (plan,) = resolve(asked, like=convention, choices=choices).metrics
        return dataclasses.replace(plan, label=wanted[names[0]].label or plan.label)

    plan = resolve(wanted[names[0]], like=names[0], choices=choices)
    judged, systems = read_all({ONE: rankings}, truth, plan, columns=columns)
    bench = _Settings(judged, systems, plan)
    if between is not None:
        return _walk(bench, entry(between[0]), entry(between[1]), between)
    assert target is not None
    held = {*choices, *dict(wanted[names[0]].choices)}
    return _search(bench, entry, target, names[0], held)


def _understood(metric: str | Metric, names: Iterable[str]) -> dict[str, Metric]:
    """The metric as each convention understands its name.

    A convention that lacks the name, or means another metric by it, is asked for the metric of the
    first one that has it.
    """
    found: dict[str, Metric] = {}
    unknown: list[UnknownMetricError] = []
    for name in names:
        try:
            read = translate_all(metric, name)
        except UnknownMetricError as error:
            unknown.append(error)
            continue
        if len(read) != 1:
            raise UsageError(f"one metric at a time, got {len(read)}: {', '.join(map(str, read))}")
        found[name] = read[0]
    if not found:
        raise unknown[0]
    first = next(iter(found.values()))
    same = {name: one for name, one in found.items() if (one.name, one.k) == (first.name, first.k)}
    return {name: same.get(name, first) for name in names}


def _walk(
    bench: _Settings, first: MetricPlan, second: MetricPlan, names: tuple[str, str]
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
        notes=tuple(compared({names[0]: start.facts(), names[1]: end.facts()})),
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
    bench: _Settings, start: Summary, end: Summary, entry: MetricPlan
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
    users = []
    for row in moved.iter_rows(named=True):
        mine = pl.col("user") == row["user"]
        judged = bench.truth.frame.filter(mine)
        wanted = judged.filter(pl.Series(entry.alignment.is_relevant(judged["gain"].to_numpy())))
        gains = dict(wanted.select("item", "gain").iter_rows())
        ranked = _in_order(bench.rankings.frame.filter(mine), bench.rankings.order, gains, entry)
        items = tuple(
            f"{item} ({gains[item]:g})" if item in gains else str(item)
            for item in ranked["item"].head(SHOWN_ITEMS)
        )
        users.append(UserChange(row["user"], row[label], row[after], items, len(gains)))
    return tuple(users)


def _in_order(
    frame: pl.DataFrame, order: str, gains: Mapping[Any, float], entry: MetricPlan
) -> pl.DataFrame:
    """The ranking of one user, its ties in the order that was measured."""
    if order == "list":
        return frame
    ties = entry.alignment.ties
    gain = pl.Series("gain", [gains.get(item, -np.inf) for item in frame["item"]], pl.Float64)
    by, descending = [order], [order == "score"]
    if ties in ("optimistic", "pessimistic"):
        by, descending = [*by, "gain"], [*descending, ties == "optimistic"]
    if ties != "input":
        by, descending = [*by, "item"], [*descending, ties == "item-descending"]
    return frame.with_columns(gain).sort(by, descending=descending, maintain_order=True)


def _search(
    bench: _Settings,
    entry: Callable[[str], MetricPlan],
    target: float | str,
    like: str,
    fixed: set[str],
) -> Explanation:
    text, digits = _printed(target)
    wanted, tolerance = float(text), 0.5 * 10.0**-digits * (1 + 1e-9)
    matches: list[Match] = []
    base = entry(like)
    start = bench.run(base, like)

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
        (switches, check(like, switches, [start[base.label].mean]))
        for switches in _settings(bench, base, fixed)
    ]
    useful = [(s, value) for s, value in single if _matters(bench, base, s)]
    for (one, first), (other, second) in itertools.combinations(useful, 2):
        if one.keys() != other.keys():
            check(like, {**one, **other}, [start[base.label].mean, first, second])
    return Explanation(
        base.label,
        like,
        "",
        start[base.label],
        start[base.label],
        target=text,
        matches=tuple(matches),
        tried=bench.tried,
        notes=tuple(notes_of(like, {like: start.facts()})),
    )


def _settings(bench: _Settings, base: MetricPlan, fixed: set[str]) -> Iterator[dict[str, Any]]:
    """Every other setting of every switch that has a list of choices."""
    now = base.switches()
    for name, option in base.spec.options.items():
        for choice in option.choices:
            if choice != now[name]:
                yield {name: choice}
    if "relevant" not in fixed:
        grades = np.unique(bench.truth.frame["gain"].to_numpy())[:10]
        for grade in grades.tolist():
            for rule in (f">{grade:g}", f">={grade:g}"):
                if rule != now["relevant"]:
                    yield {"relevant": rule}
    for known in CHOICES.values():
        if known.name in now and known.name not in fixed:
            for word in known.words:
                if word not in (now[known.name], "raise", "error"):
                    yield {known.name: word}


def _matters(bench: _Settings, base: MetricPlan, switches: Mapping[str, Any]) -> bool:
    """Whether a setting can matter in a pair: another way to find hits must find other hits."""
    turned = _turned(base, switches)
    if turned.alignment == base.alignment:
        return True
    try:
        return bench.fingerprint(base.alignment) != bench.fingerprint(turned.alignment)
    except RankmeterError:
        return False


def _printed(target: float | str) -> tuple[str, int]:
    """A number as printed, and how many decimals it shows."""
    try:
        text = str(target).strip()
        exponent = Decimal(text).as_tuple().exponent
        finite = math.isfinite(float(text))
    except Exception:  # noqa: BLE001 - no number, or whatever a foreign class raises
        raise refused("target", "a number such as 0.1405", target) from None
    if not (finite and isinstance(exponent, int)):
        raise refused("target", "a finite number", target)
    return text, max(-exponent, 0)
