"""The page of one evaluation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rankmeter._engine.memory import Source
from rankmeter._engine.scores import Scores
from rankmeter._engine.walk import Place
from rankmeter._results import charts
from rankmeter._results.curves import curves_of, distinct_curves, usual_k
from rankmeter._results.estimates import Estimate
from rankmeter._results.evaluated import Evaluated
from rankmeter._results.result import Name, written_call
from rankmeter._results.segments import labels_of, part_means
from rankmeter._results.shares import Shares, first_hits, popularity_shown
from rankmeter._results.tables import MeanCell, Table
from rankmeter._results.verdicts import (
    Spread,
    drawn_of,
    headline_of,
    histogram_of,
    spread_of,
    worst_and_best_users,
)
from rankmeter._results.walkthrough import top_of_list
from rankmeter._results.wording import number
from rankmeter.conventions._plan import MetricPlan, Plan
from rankmeter.errors import RankmeterError
from rankmeter.errors._checks import in_words

OWN = "rankings"
"""What the rankings of one evaluation are called."""


def reopen_source(result: Evaluated) -> Source | None:
    """The data of a result opened once more; None if they are gone, or give other values."""
    if result.source is None:
        return None
    try:
        data = result.source.open()
        values = data.run(result.plan)[result.source.system].values
    except (RankmeterError, OSError):
        return None
    labels = [entry.label for entry in result.plan.metrics]
    before = result.scores.values
    same = all(np.array_equal(before[x], values[x], equal_nan=True) for x in labels)
    return replace(result.source, open=lambda: data) if same else None


def page_of(result: Evaluated, segments: object = None) -> dict[str, Any]:
    """The content of the page of an evaluation, by name in its template."""
    plan, scores = result.plan, result.scores
    spreads = {
        e.label: spread_of(scores.averaged(e).values, increasing=e.spec.increasing)
        for e in plan.metrics
        if not e.spec.whole
    }
    charted, left_out = drawn_of([*result.estimates])
    by_user = [plan[label] for label in charted if label in spreads]
    bins = {e.label: histogram_of(scores.averaged(e).values) for e in by_user}
    extremes = {entry.label: _worst_and_best(scores, entry) for entry in by_user}
    source, tables = reopen_source(result), _means_by_part(result, segments)
    first = plan.metrics[0].label
    random = result.random.get(first)
    by_part = {
        f"by {name}": {
            label: charts.segments(label, {(part, OWN): row[label] for part, row in rows.items()},
                                   [OWN])
            for label in charted
        }
        for name, rows in tables.items()
    }  # fmt: skip
    hits, popular, again = _read_rankings_again(result, source, charted)
    return {
        "headline": headline_of(
            result.estimates[first], spreads.get(first), result.confidence, random
        ),
        "estimates": result.estimates,
        "notes": [*result.notes, *left_out],
        "spread": _spread_table(spreads),
        "hits": hits,
        "popularity": popular,
        "parts": {name: _part_rows(rows) for name, rows in tables.items()},
        "extremes": extremes,
        "lists": {e.label: _lists(result, e, extremes[e.label], source) for e in by_user},
        "figures": {
            "distribution": {
                label: [charts.distribution(label, *shape)] if sum(shape[0]) else []
                for label, shape in bins.items()
            },
            **again,
            **by_part,
        },
        "plan": plan.describe(),
        "call": _python_call(result),
        "n_users": max(e.n for e in result.estimates.values()),
        "counts": {OWN: result.counts},
    }


def _part_rows(means: Mapping[str, Mapping[str, Estimate]]) -> list[tuple[Any, ...]]:
    """The rows of a table of means: the part, its number of users, the mean of each metric."""
    return [
        (part, f"{max(e.n for e in row.values()):,}", *map(MeanCell, row.values()))
        for part, row in means.items()
    ]


def _python_call(result: Evaluated) -> str:
    """The call in Python that gives this result from the same rankings, or nothing."""
    if result.source is None or not result.source.system:
        return ""  # of scores, ranks or batches
    clusters = None if result.clusters is None else Name("clusters")
    return written_call(result.plan, "evaluate", "rankings, truth", clusters=clusters)


def _read_rankings_again(
    result: Evaluated, source: Source | None, charted: Sequence[str]
) -> tuple[Shares | None, tuple[int, Shares] | None, dict[str, Any]]:
    """The ranks of first hits, the popularity of what is shown, and charts with curves."""
    if source is None:
        return None, None, {"curve": {}}

    def scored(plan: Plan) -> Mapping[str, Scores]:
        return {OWN: source.open().run(plan)[source.system]}

    plan = result.plan
    hits, popular = first_hits(plan, scored), popularity_shown(plan, scored)
    first_of = distinct_curves(plan)
    firsts = [plan[label] for label in dict.fromkeys(first_of[x] for x in charted if x in first_of)]
    read = {OWN: result.read}
    curves = curves_of(plan, firsts, scored, usual_k(plan), None, read) if firsts else {}
    figures: dict[str, Any] = {
        "curve": {
            label: charts.curve(label, curve.frame, [OWN]) for label, curve in curves.items()
        },
        "hits": {"": charts.first_hits(hits, [OWN])} if hits else {},
        "popularity": {"": charts.popularity(*popular, [OWN])} if popular else {},
    }
    return hits, popular, figures


def _means_by_part(result: Evaluated, segments: object) -> dict[str, dict[str, Any]]:
    """Means by way to divide the users, part and metric."""
    groups = () if result.groups is None else result.groups.iter_columns()
    ways = {column.name: column for column in groups}
    given = labels_of(segments, "segment", result.scores)
    if given is not None:
        ways["segment"] = given
    means = {
        name: part_means(result.plan, result.scores, labels, result.clusters)
        for name, labels in ways.items()
    }
    return {
        name: {part: row for part, row in rows.items() if part is not None}
        for name, rows in means.items()
    }


def _worst_and_best(scores: Scores, entry: MetricPlan) -> dict[str, list[tuple[str, float]]]:
    """The users with the worst values and with the best ones."""
    averaged = scores.averaged(entry)
    users = scores.users.gather(averaged.users)
    sides = worst_and_best_users(users, averaged.values, increasing=entry.spec.increasing)
    return {name: side for name, side in zip(("worst", "best"), sides, strict=True) if side}


def _lists(
    result: Evaluated,
    entry: MetricPlan,
    sides: Mapping[str, list[tuple[str, float]]],
    source: Source | None,
) -> dict[str, dict[str, list[Place]]]:
    """By user of some extremes, the top of the list, of a system without a name."""
    if source is None or not source.lists:
        return {}
    users = [user for side in sides.values() for user, _ in side]
    try:
        return {user: {"": top_of_list(source, result.scores, user, entry)} for user in users}
    except RankmeterError:  # read in pieces
        return {}


def _spread_table(spreads: Mapping[str, Spread]) -> Table:
    rows = [
        (
            label,
            *map(number, (spread.worst, *spread.quartiles)),
            f"{spread.at_worst:,}",
            f"{spread.n:,}",
        )
        for label, spread in spreads.items()
    ]
    at = ("worst", "a quarter up to", "median", "three quarters up to")
    return Table(("metric", *at, in_words("users at the worst"), in_words("users")), rows)
