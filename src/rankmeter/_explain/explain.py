"""Why two tools differ on the same data: walk from one plan to the other, one option at a time."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Unpack

import numpy as np
import polars as pl

from rankmeter._choices import Choices, takes_choices
from rankmeter._engine import open_data
from rankmeter._engine.side import Given, Side
from rankmeter._evaluation.evaluate import ONE
from rankmeter._evaluation.question import Question
from rankmeter._explain.search import change_options, search_settings
from rankmeter._rankings.counts import item_sort_key
from rankmeter._rankings.ground_truth import gains_by_choice
from rankmeter._rankings.kind import resolve_plan_of_systems
from rankmeter._rankings.ties import BY_ROW
from rankmeter._reading.table import Table
from rankmeter._results.explanation import Explanation, Step, UserChange
from rankmeter._results.notes import fact_notes
from rankmeter._results.summary import Summary, summarize
from rankmeter._typed import Like
from rankmeter.conventions import convention_names, translate_metrics
from rankmeter.conventions._plan import MetricPlan, Plan
from rankmeter.errors import RankmeterError, UnknownMetricError, UsageError
from rankmeter.errors._checks import exact_text, option_error
from rankmeter.metrics import Metric

SHOWN_USERS = 5
SHOWN_ITEMS = 10


class _SettingRunner:
    """Evaluator of one metric under many settings, on data read once."""

    def __init__(self, truth: Table, systems: Mapping[str, Table], plan: Plan, side: Side) -> None:
        self.rankings, self.truth, self.plan = systems[ONE], truth, plan
        self.data = open_data(truth, systems, side=side)

    def run(self, entry: MetricPlan, convention: str = "") -> Summary:
        """Evaluate the metric under one setting."""
        plan = dataclasses.replace(self.plan, convention=convention, metrics=(entry,))
        return summarize(plan, self.data.run(plan)[ONE], self.truth, self.rankings)


@takes_choices
def explain(
    rankings: object,
    truth: object,
    metric: str | Metric,
    *,
    between: tuple[str, str] | None = None,
    target: float | str | None = None,
    like: Like | None = None,
    columns: Mapping[str, Any] | None = None,
    train: object = None,
    items: object = None,
    catalogue: object = None,
    baseline_lists: object = None,
    propensity: object = None,
    collapse: object = None,
    **choices: Unpack[Choices],
) -> Explanation:
    """Find the options that make two tools differ, or that give a number.

    Parameters
    ----------
    rankings, truth : object
        As in `evaluate`.
    metric : str or Metric
        One metric.
    between : pair of str, optional
        Two conventions. Every option in which they differ is changed from the first to the second,
        one after the other: options of the metric, then of how hits are found, then of which users
        are averaged. An option that would leave the mean undefined on the way comes later.
    target : float or str, optional
        A published number. Settings are searched for values that equal it in its printed digits:
        every convention whose tool has the metric, alone and with each threshold that occurs in
        the data, and `like` with any one option changed. If none matches, every convention with
        one option changed, and `like` with any two; then every convention with a threshold and one
        option changed. A change without effect is not a match. Pass a string to keep trailing
        zeros (``"0.140"``).
    like : str, optional
        The convention that is also searched with two options changed; default ``rankmeter``.
    columns, train, items, catalogue, baseline_lists, propensity, collapse
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
    The change of a step depends on the steps before it. The order is always the same, so that
    explanations can be compared, but other orders would give other changes.

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
    side_data = Given(train, items, catalogue, baseline_lists, propensity, collapse)
    question = Question(truth, metric, like, choices, side_data, columns)
    return explain_question(question, rankings, metric, between, target)


def explain_question(
    question: Question,
    rankings: object,
    metric: str | Metric,
    between: tuple[str, str] | None,
    target: float | str | None,
) -> Explanation:
    """Explain a metric of rankings, between two conventions or for a target value."""
    like, choices = question.like, question.choices
    if (between is None) == (target is None):
        raise UsageError("pass either `between` (two conventions) or `target` (a number)")
    if between is not None and like is not None:
        raise UsageError("`between` names both conventions: leave out `like`")
    if between is not None:
        pair = isinstance(between, tuple | list) and len(between) == 2
        if not (pair and all(isinstance(name, str) for name in between)):
            raise option_error("between", "two conventions", between)
    names = between or ("rankmeter" if like is None else like,)
    metrics = _metric_by_convention(metric, names)
    if target is not None:
        metrics |= _metrics_meant_by_others(metric, metrics[names[0]])

    def metric_under(convention: str) -> MetricPlan:
        requested = metrics.get(convention, metrics[names[0]])
        (plan,) = resolve_plan_of_systems(requested, convention, choices, [rankings]).metrics
        return dataclasses.replace(plan, label=metrics[names[0]].label or plan.label)

    first = dataclasses.replace(question, metrics=metrics[names[0]], like=names[0])
    plan, judged, systems, side = first.read({ONE: rankings})
    plan.refuse_bounds("an explanation")
    runner = _SettingRunner(judged, systems, plan, side)
    if between is not None:
        return _explain_in_steps(
            runner, metric_under(between[0]), metric_under(between[1]), between
        )
    assert target is not None
    requested = metrics[names[0]]
    held = {name for name, value in choices.items() if value is not None}
    held |= {*dict(requested.options), *dict(requested.choices)}
    start = runner.run(metric_under(names[0]), names[0])
    return search_settings(runner.data, runner.truth, plan, metric_under, start, target, held)


def _metric_by_convention(metric: str | Metric, names: Iterable[str]) -> dict[str, Metric]:
    """Translate the metric under each convention, with the first translation as fallback.

    A convention that lacks the name, or has another metric of this name, gets the metric of the
    first convention with the name.
    """
    by_name: dict[str, Metric] = {}
    unknown: list[UnknownMetricError] = []
    for name in names:
        try:
            read = translate_metrics(metric, name)
        except UnknownMetricError as error:
            unknown.append(error)
            continue
        if len(read) != 1:
            raise UsageError(f"expected one metric, got {len(read)}: {', '.join(map(str, read))}")
        by_name[name] = read[0]
    if not by_name:
        raise unknown[0]
    first = next(iter(by_name.values()))
    equal = {name: m for name, m in by_name.items() if (m.name, m.k) == (first.name, first.k)}
    return {name: equal.get(name, first) for name in names}


def _metrics_meant_by_others(metric: str | Metric, first: Metric) -> dict[str, Metric]:
    """Map conventions to their version of `first`, if they read the name as this metric."""
    by_name: dict[str, Metric] = {}
    for name in convention_names():
        try:
            read = translate_metrics(metric, name)
        except UsageError:
            continue
        if [(m.name, m.k) for m in read] == [(first.name, first.k)]:
            by_name[name] = read[0]
    return by_name


def _explain_in_steps(
    runner: _SettingRunner, first: MetricPlan, second: MetricPlan, names: tuple[str, str]
) -> Explanation:
    start, end = runner.run(first, names[0]), runner.run(second, names[1])
    a, b = first.choices_by_name(), second.choices_by_name()
    remaining = [name for name in a if a[name] != b[name]]
    # One undefined user makes a mean NaN: options that allow it come last, options that end it
    # first.
    remaining.sort(key=lambda name: (b[name] == "nan") - (a[name] == "nan"))
    total = end[first.label].mean - start[first.label].mean
    current, value = first, start[first.label].mean
    steps = []
    while remaining:
        name, current, now = _choose_next_option(runner, current, b, remaining)
        remaining.remove(name)
        change = now - value
        share = change / total if total else math.nan
        steps.append(Step(name, a[name], b[name], now, change, share))
        value = now
    notes = dict.fromkeys((*start.plan.notes, *end.plan.notes))
    return Explanation(
        first.label,
        *names,
        start[first.label],
        end[second.label],
        steps=tuple(steps),
        users=_most_changed_users(runner, start, end, first),
        cautions=start.cautions,
        notes=(*notes, *fact_notes({names[0]: start.facts(), names[1]: end.facts()})),
    )


def _choose_next_option(
    runner: _SettingRunner, current: MetricPlan, after: Mapping[str, Any], remaining: Sequence[str]
) -> tuple[str, MetricPlan, float]:
    """First option with a defined mean after its change, else the first: (name, plan, mean)."""
    refused: RankmeterError | None = None
    undefined = None
    for name in remaining:
        try:
            turned = change_options(current, {name: after[name]})
            value = runner.run(turned)[turned.label].mean
        except RankmeterError as error:  # such as users without a ranking under missing="raise"
            refused = refused or error
            continue
        if not math.isnan(value):
            return name, turned, value
        undefined = undefined or (name, turned, value)
    if undefined is None:
        assert refused is not None
        raise refused
    return undefined


def _most_changed_users(
    runner: _SettingRunner, start: Summary, end: Summary, entry: MetricPlan
) -> tuple[UserChange, ...]:
    """The users with the largest changes in value, with the top of their rankings."""
    label = entry.label
    joined = start.values_by_user.join(
        end.values_by_user, on="user", how="full", coalesce=True, suffix=" after"
    )
    after = f"{label} after"
    change = (pl.col(after).fill_null(0) - pl.col(label).fill_null(0)).abs()
    has_moved = (pl.col("change") > 0) | (pl.col(label).is_null() != pl.col(after).is_null())
    moved = joined.with_columns(change=change).filter(has_moved)
    moved = moved.sort(["change", "user"], descending=[True, False]).head(SHOWN_USERS)
    users = []
    for row in moved.iter_rows(named=True):
        of_user = pl.col("user") == row["user"]
        judged = runner.truth.frame.filter(of_user)
        user = np.zeros(judged.height, dtype=np.int64)  # the only one
        gain = gains_by_choice(user, judged["gain"].to_numpy(), 1, entry.alignment)
        relevant = judged.with_columns(gain=gain).filter(entry.alignment.is_relevant(gain))
        gains = dict(relevant.select("item", "gain").iter_rows())
        ranked = _sort_ranking(
            runner.rankings.frame.filter(of_user), runner.rankings.order, gains, entry
        )
        items = tuple(
            f"{item} ({exact_text(gains[item])})" if item in gains else str(item)
            for item in ranked["item"].head(SHOWN_ITEMS)
        )
        users.append(UserChange(row["user"], row[label], row[after], items, len(gains)))
    return tuple(users)


def _sort_ranking(
    frame: pl.DataFrame, order: str, gains: Mapping[Any, float], entry: MetricPlan
) -> pl.DataFrame:
    """Sort the ranking of one user in the evaluated order, ties included."""
    if order == "list":
        return frame
    ties = entry.alignment.ties
    if order == "score" and entry.alignment.score_type == "float32":
        frame = frame.with_columns(pl.col("score").cast(pl.Float32))
    gain = pl.Series("gain", [gains.get(item, -np.inf) for item in frame["item"]], pl.Float64)
    order_by, descending = [order], [order == "score"]
    if ties in ("optimistic", "pessimistic"):
        order_by, descending = [*order_by, "gain"], [*descending, ties == "optimistic"]
    place = pl.int_range(pl.len()) if ties in BY_ROW else item_sort_key(frame["item"], ties)
    order_by, descending = [*order_by, "place"], [*descending, "descending" in ties]
    frame = frame.with_columns(gain, place=place)
    return frame.sort(order_by, descending=descending, maintain_order=True)
