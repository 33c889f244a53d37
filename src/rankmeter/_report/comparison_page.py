"""The page of a comparison."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np

from rankmeter._report import charts
from rankmeter._report.desk import Desk, Interactive
from rankmeter._report.excerpts import (
    MAX_SYSTEMS,
    count_users_per_point,
    extreme_user_rows,
    grid_of_points,
    metrics_with_charts,
    segment_sentence,
)
from rankmeter._report.from_ranks import curves_and_shares, tops_of_lists
from rankmeter._report.page import write_page
from rankmeter._report.plots import charts_of_kind, systems_in_charts
from rankmeter._results.compared import heterogeneity_p_value, require_plan
from rankmeter._results.comparison import ChartKind, Comparison
from rankmeter._results.curves import Curve, first_metric_with_same_curve
from rankmeter._results.result import Name, python_call
from rankmeter._results.tables import MeanCell, TextTable
from rankmeter._results.verdicts import Headline, Verdict, leading_systems
from rankmeter._results.wording import group_by_key, number_text, p_value_text

MAX_CARDS = 6
"""Cards in one row."""


def write(result: Comparison, path: str | Path, ask: Interactive) -> None:
    """Write the page of a comparison."""

    def content() -> dict[str, Any]:
        return {**page_content(result), "desk": desk_of_comparison(result, ask)}

    write_page(path, "comparison", content, result.to_dict)


def desk_of_comparison(result: Comparison, ask: Interactive) -> Desk | None:
    """The values of all users; None for a page without a script, or without values of users."""
    plan, charted = require_plan(result), metrics_with_charts(result.labels)[0]
    entries = [plan[label] for label in charted if not result.by_metric[label].whole]
    if not (ask.wanted and entries):
        return None
    values = {}
    for entry in entries:
        of_metric = result.by_metric[entry.label]
        is_compared = of_metric.compared_mask[:, np.newaxis]
        values[entry.label] = np.where(is_compared, of_metric.table, math.nan)
    d = result._verdict_on(entries[0].label).difference
    texts, segments = ask.read_texts(result.users), result.segments_by_user
    return Desk(
        entries,
        result.users,
        values,
        {name: summary.source for name, summary in result.summaries.items()},
        result.baseline,
        (result.systems[0], result.systems[-1]) if d is None else (d.a, d.b),
        {} if segments is None else {"segment": segments["segment"]},
        *texts,
    )


def page_content(result: Comparison) -> dict[str, Any]:
    """Content of the comparison page, by variable name of the template."""
    plan, labels, systems = require_plan(result), result.labels, systems_in_charts(result)
    verdicts = {label: result._verdict_on(label) for label in labels}
    charted, left_out = metrics_with_charts(labels)
    sources = {name: (summary.source, summary.scores) for name, summary in result.summaries.items()}
    extreme = {
        label: _extreme_users(result, verdicts[label])
        for label in charted
        if not result.by_metric[label].whole
    }
    read = {name: summary.read for name, summary in result.summaries.items()}
    by_k, reread = curves_and_shares(plan, result._scored, charted, systems, result.clusters, read)
    figures: dict[str, dict[str, list[Any]]] = {
        kind: {label: charts_of_kind(result, kind, label) for label in charted}
        for kind in get_args(ChartKind)
        if kind != "curve"
    }
    figures["scatter"] = {label: _scatter_charts(result, verdicts[label]) for label in charted}
    first = result.leads.get(labels[0])
    rivals = result.systems if first is None else first.contenders
    cards = [verdicts[labels[0]], *(result._verdict_on(label, rivals) for label in labels[1:])]
    return {
        "headline": _headline_with_segments(result, verdicts[labels[0]]),
        "bars": result._bars(),
        "cards": cards,
        "columns": math.ceil(len(cards) / math.ceil(len(cards) / MAX_CARDS)),
        "rivals": rivals if len(cards) > 1 and len(rivals) < len(result.systems) else [],
        **_means_and_notes(result, left_out),
        "judge": getattr(result, "judge_table", lambda: None)(),
        "bounds": result.bounds_table() if result.plan.has_bounds else None,
        "differences": result.difference_table(),
        "shown": systems,
        "good_k": _good_k_table(result, by_k),
        **reread,
        "segments": _segment_rows(result),
        "heterogeneity": _heterogeneity_table(result),
        "extremes": extreme,
        "lists": {
            label: tops_of_lists({name: sources[name] for name in names}, plan[label], groups)
            for label, (names, groups) in extreme.items()
        },
        "figures": reread["figures"] | figures,
        "plan": plan.describe(),
        "call": _python_call(result),
        "n_users": max(e.n for e in result.estimates.values()),
        "counts": {name: summary.counts for name, summary in result.summaries.items()},
    }


def _means_and_notes(result: Comparison, last_notes: Sequence[str]) -> dict[str, Any]:
    """Table of means with marks, and the notes of the result, for people and in detail."""
    crowded = not result.baseline and len(result.systems) > MAX_SYSTEMS  # too many letters to read
    answer, cells = result._answer(), result._mean_cells()
    apart = {*result._segment_notes()[1:], *result._legend()}  # those of segments have a table
    notes = [note for note in answer.notes if note not in apart]
    details = [note for note in answer.details if note not in apart]
    legend = result._legend()
    if crowded:
        legend = result._legend("beats: how many")
        beats = {
            label: Counter(d.better for d in result.differences_on(label) if d.significant)
            for label in result.labels
        }
        cells = {
            name: [replace(cell, mark="", beats=beats[cell.estimate.label][name]) for cell in row]
            for name, row in zip(result.systems, cells.values(), strict=True)
        }
    ranks = map(str, result.rank_sets(result.labels[0]).values())
    rows = zip(cells.items(), ranks, strict=True)
    return {
        "means": [(title, rank, *row) for (title, row), rank in rows],
        "legend": legend,
        "notes": [*notes, *last_notes],
        "details": details,
    }


def _python_call(result: Comparison) -> str:
    """Python call that reproduces this result from the same data, or an empty string."""
    s = result.settings
    usual = {
        "test": "auto", "correction": "maxt", "n_resamples": 9_999,
    }  # fmt: skip
    return python_call(
        require_plan(result),
        "compare",
        "systems, truth",
        baseline=result.baseline or None,
        segments=None if result.segments_by_user is None else Name("segments"),
        clusters=Name("clusters") if s["clusters"] else None,
        margin=s["margin"],
        family=None if s["family"] == "each metric" else "all",
        **{name: s[name] for name, value in usual.items() if s[name] != value},
    )


def _headline_with_segments(result: Comparison, verdict: Verdict) -> Headline:
    """Headline of the result, with a sentence on the segments if there are two or more."""
    headline, label, d = result.headline(), verdict.metric, verdict.difference
    segments = dict.fromkeys(key[0] for key in result.segment_estimates)
    if len(segments) < 2 or d is None:
        return headline
    best = {
        part: leading_systems(
            {name: result.segment_estimates[part, label, name] for name in result.systems},
            increasing=result.by_metric[label].increasing,
        )
        for part in segments
    }
    p = heterogeneity_p_value(result, d)
    sentence = segment_sentence(label, best, f"{d.a} − {d.b}", p, result.plan.alpha)
    return replace(headline, sentences=(*headline.sentences, sentence))


def _good_k_table(result: Comparison, by_k: Mapping[str, Curve]) -> TextTable:
    """Table of the smallest good k of each system in charts, for metrics with a cutoff."""
    plan = require_plan(result)
    first_of = first_metric_with_same_curve(plan)
    cut = dict.fromkeys(first for label, first in first_of.items() if plan[label].metric.k)
    good = {by_k[label].metric: by_k[label].smallest_good_k() for label in cut if label in by_k}
    rows = [(name, *(f"{k[name]}" for k in good.values())) for name in systems_in_charts(result)]
    return TextTable(("system", *good), rows if good else ())


def _segment_rows(result: Comparison) -> dict[str, list[tuple[str | MeanCell, ...]]]:
    """Table rows by metric, a row per segment: the number of users, and each system's mean."""

    def segment_row(segment: str, label: str) -> tuple[str | MeanCell, ...]:
        means = {name: result.segment_estimates[segment, label, name] for name in result.systems}
        ranks = result._places(means, label)
        cells = (MeanCell(e, ranks[name]) for name, e in means.items())
        return segment, f"{max(e.n for e in means.values()):,}", *cells

    keys = dict.fromkeys(key[:2] for key in result.segment_estimates)
    return group_by_key((label, segment_row(segment, label)) for segment, label in keys)


def _heterogeneity_table(result: Comparison) -> TextTable:
    """Table of the tests of equal differences in all segments, a row per comparison."""
    rows = [
        (f"{h.a} − {h.b}", h.metric, f"{h.n}", number_text(h.statistic, 1), p_value_text(h.p))
        for h in result.heterogeneity
    ]
    return TextTable(("difference", "metric", "segments", "Q", "p"), rows)


def _scatter_charts(result: Comparison, verdict: Verdict) -> list[Any]:
    """Scatter plot of all users' values in the two systems of a verdict; [] without user values."""
    d = verdict.difference
    if d is None or not d.per_user or result.by_metric[d.metric].whole:
        return []
    values = result._paired(d.metric, d.a, d.b)[1:]
    return charts.scatter_plot(d, count_users_per_point(*values), grid_of_points(*values))


def _extreme_users(
    result: Comparison, verdict: Verdict
) -> tuple[Sequence[str], dict[str, list[tuple[str, ...]]]]:
    """The two systems of a verdict, and rows of the users that gain most from each system."""
    d = verdict.difference
    if d is None:
        return (), {}
    return (d.a, d.b), extreme_user_rows(*result._paired(d.metric, d.a, d.b), d)
