"""The page of one evaluation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rankmeter._engine.memory import Source
from rankmeter._engine.scores import UserValues
from rankmeter._report import charts
from rankmeter._report.desk import Desk, Interactive
from rankmeter._report.excerpts import (
    bin_values,
    metrics_with_charts,
    worst_and_best_users,
)
from rankmeter._report.from_ranks import curves_and_shares, tops_of_lists
from rankmeter._report.page import write_page
from rankmeter._results.estimates import Estimate
from rankmeter._results.evaluated import Evaluated, bound_cells, labels_by_group
from rankmeter._results.reread import refuse_without_ranks, reopen_source
from rankmeter._results.result import Name, python_call
from rankmeter._results.segments import means_by_segment, read_user_labels
from rankmeter._results.tables import MeanCell, TextTable
from rankmeter._results.verdicts import Quantiles, compute_quantiles
from rankmeter._results.wording import number_text
from rankmeter.conventions._plan import MetricPlan, Plan
from rankmeter.errors._checks import words_in_use

OWN = "rankings"
"""What the rankings of one evaluation are called."""


def write(result: Evaluated, path: str | Path, segments: object, ask: Interactive) -> None:
    """Write the page of an evaluation."""

    def content() -> dict[str, Any]:
        known = page_content(result, segments)
        return {**known, "desk": desk_of_evaluation(result, segments, known["source"], ask)}

    write_page(path, "summary", content, result.to_dict)


def desk_of_evaluation(
    result: Evaluated, segments: object, source: Source | None, ask: Interactive
) -> Desk | None:
    """The values of all users; None for a page without a script, or without values of users."""
    plan, scores = result.plan, result.scores
    charted = metrics_with_charts([*result.estimates])[0]
    entries = [plan[label] for label in charted if not plan[label].spec.whole]
    if not (ask.wanted and entries):
        return None
    values = {}
    for entry in entries:
        averaged = scores.averaged(entry)
        column = np.full((scores.n_users, 1), np.nan)
        column[averaged.users, 0] = averaged.values
        values[entry.label] = column
    groups = _labels_by_grouping(result, segments)
    texts = ask.read_texts(scores.users)
    return Desk(entries, scores.users, values, {OWN: source}, "", (OWN, OWN), groups, *texts)


def page_content(result: Evaluated, segments: object = None) -> dict[str, Any]:
    """Content of the evaluation page, by variable name of the template."""
    plan, scores = result.plan, result.scores
    spreads = {
        e.label: compute_quantiles(scores.averaged(e).values, increasing=e.spec.increasing)
        for e in plan.metrics
        if not e.spec.whole
    }
    charted, left_out = metrics_with_charts([*result.estimates])
    by_user = [plan[label] for label in charted if label in spreads]
    bins = {e.label: bin_values(scores.averaged(e).values) for e in by_user}
    extremes = {entry.label: _worst_and_best_rows(scores, entry) for entry in by_user}
    source, tables = reopen_source(result), _means_by_grouping(result, segments)

    def run_plan(plan: Plan) -> Mapping[str, UserValues]:
        return (
            {OWN: source.open().run(plan)[source.system]} if source else refuse_without_ranks(plan)
        )

    nameless = {"": (source, scores)}
    _, reread = curves_and_shares(plan, run_plan, charted, [OWN], None, {OWN: result.read})
    return {
        "source": source,
        "headline": result.headline(),
        "estimates": result.estimates,
        "means": [
            (label, MeanCell(e), f"{e.n:,}", f"{e.undefined:,}")
            for label, e in result.estimates.items()
        ],
        "bars": None,
        "legend": [],
        "notes": [*result._answer().notes, *left_out],
        "details": result._answer().details,
        "judge": getattr(result, "judge_table", lambda: None)(),
        "bounds": _bounds_table(result),
        "spread": _spread_table(spreads),
        **reread,
        "segments": {name: _segment_rows(rows) for name, rows in tables.items()},
        "extremes": extremes,
        "lists": {e.label: tops_of_lists(nameless, e, extremes[e.label]) for e in by_user},
        "figures": {
            "distribution": {
                label: [charts.value_histogram(label, *shape)] if sum(shape[0]) else []
                for label, shape in bins.items()
            },
            **reread["figures"],
            **{f"by {name}": _segment_charts(rows, charted) for name, rows in tables.items()},
        },
        "plan": plan.describe(),
        "call": _python_call(result),
        "n_users": max(e.n for e in result.estimates.values()),
        "counts": {OWN: result.counts},
    }


def _segment_rows(means: Mapping[str, Mapping[str, Estimate]]) -> list[tuple[Any, ...]]:
    """The rows of a table of means: the part, its number of users, the mean of each metric."""
    return [
        (part, f"{max(e.n for e in row.values()):,}", *map(MeanCell, row.values()))
        for part, row in means.items()
    ]


def _segment_charts(
    means: Mapping[str, Mapping[str, Estimate]], labels: Sequence[str]
) -> dict[str, list[Any]]:
    """Charts of the means by part of the users, for each metric."""
    by_part = {label: {(part, OWN): row[label] for part, row in means.items()} for label in labels}
    return {label: charts.segments_chart(label, by_part[label], [OWN]) for label in labels}


def _python_call(result: Evaluated) -> str:
    """Python call that reproduces this result from the same rankings, or an empty string."""
    if result.source is None or not result.source.system:
        return ""  # of scores, ranks or batches
    clusters = None if result.clusters is None else Name("clusters")
    return python_call(result.plan, "evaluate", "rankings, truth", clusters=clusters)


def _labels_by_grouping(result: Evaluated, segments: object) -> dict[str, pl.Series]:
    """Labels of the users by grouping: that of the result, and the segments of the page."""
    ways = labels_by_group(result)
    segment_labels = read_user_labels(segments, "segment", result.scores)
    return ways if segment_labels is None else {**ways, "segment": segment_labels}


def _means_by_grouping(result: Evaluated, segments: object) -> dict[str, dict[str, Any]]:
    """Means by grouping of the users, part and metric."""
    means = {
        name: means_by_segment(result.plan, result.scores, labels, result.clusters)
        for name, labels in _labels_by_grouping(result, segments).items()
    }
    return {
        name: {part: row for part, row in rows.items() if part is not None}
        for name, rows in means.items()
    }


def _worst_and_best_rows(scores: UserValues, entry: MetricPlan) -> dict[str, list[tuple[str, str]]]:
    """Table rows of the users with the worst values and with the best values."""
    averaged = scores.averaged(entry)
    users = scores.users.gather(averaged.users)
    return worst_and_best_users(users, averaged.values, increasing=entry.spec.increasing)


def _bounds_table(result: Evaluated) -> TextTable | None:
    """The bounds of each mean, if they were asked for."""
    if not result.plan.has_bounds:
        return None
    means = [(label, number_text(e.mean), *bound_cells(e)) for label, e in result.estimates.items()]
    return TextTable(("metric", "mean", "lowest", "highest", "unjudged"), means)


def _spread_table(spreads: Mapping[str, Quantiles]) -> TextTable:
    rows = [
        (
            label,
            *map(number_text, (spread.worst, *spread.quartiles)),
            f"{spread.at_worst:,}",
            f"{spread.n:,}",
        )
        for label, spread in spreads.items()
    ]
    headings = ("worst", "a quarter up to", "median", "three quarters up to")
    users = words_in_use().users
    return TextTable(("metric", *headings, f"{users} at the worst", users), rows)
