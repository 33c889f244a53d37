"""What `plot` draws: the charts of an evaluation, of a comparison and of a curve."""

from __future__ import annotations

from typing import Any, get_args

from rankmeter._report import charts
from rankmeter._report.excerpts import (
    MAX_SYSTEMS,
    bin_differences,
    bin_values,
    differences_in_chart,
)
from rankmeter._results.compared import require_plan
from rankmeter._results.comparison import ChartKind, Comparison
from rankmeter._results.curves import Curve, first_metric_with_same_curve
from rankmeter._results.summary import Summary
from rankmeter.conventions._plan import Plan
from rankmeter.errors import UsageError
from rankmeter.errors._checks import check_choice


def plot_evaluation(result: Summary, kind: str) -> Any:
    """Draw the means of an evaluation, or the distribution of the users' values."""
    if check_choice("kind", kind, ("means", "distribution")) == "means":
        return charts.place_side_by_side(
            [charts.means_chart(list(result.values()), result.confidence)]
        )
    shares = [
        charts.value_histogram(entry.label, *bin_values(result.scores.averaged(entry).values))
        for entry in result.plan.metrics
    ]
    return charts.place_side_by_side(shares)


def plot_curve(curve: Curve) -> Any:
    """Draw a metric against k."""
    charts.require_altair()
    systems = curve.frame["system"].unique(maintain_order=True).to_list()
    panes = charts.curve_chart(curve.metric, curve.frame, systems)
    if not panes:
        raise UsageError("nothing to draw: no system has a mean")
    return charts.place_side_by_side(panes)


def plot_comparison(result: Comparison, kind: str, metric: str | None) -> Any:
    """Draw one kind of chart of a comparison, for one metric or all of them."""
    charts.require_altair()
    check_choice("kind", kind, get_args(ChartKind))
    if kind in ("curve", "tradeoff") and not isinstance(result.plan, Plan):
        raise UsageError(f"plot({kind!r}) needs the rankings: rm.compare draws it")
    if kind == "segments" and result.segments_by_user is None:
        raise UsageError("there are no segments: pass segments=")
    labels = result.labels if metric is None else [result._label(metric)]
    if kind == "curve":
        first_of = first_metric_with_same_curve(result.plan)
        labels = list(dict.fromkeys(first_of[label] for label in labels if label in first_of))
    panes = [panel for label in labels for panel in charts_of_kind(result, kind, label)]
    if not panes:
        raise UsageError(f"nothing to draw as {kind!r}: no metric has the values for it")
    return charts.place_side_by_side(panes)


def charts_of_kind(result: Comparison, kind: str, metric: str) -> list[Any]:
    """Charts of one kind for one metric, without width and theme."""
    values, systems, differences = (
        result.by_metric[metric],
        systems_in_charts(result),
        result.differences_on(metric),
    )
    if kind == "curve":
        if not require_plan(result)[metric].spec.cutoff:
            return []
        return charts.curve_chart(metric, result.curve(metric).frame, systems)
    if kind == "segments":
        estimates = result.segment_estimates.items()
        means = {(s, n): e for (s, m, n), e in estimates if m == metric}
        return charts.segments_chart(metric, means, systems)
    if kind == "tradeoff":
        entries = require_plan(result).metrics
        accuracy = [entry.label for entry in entries if not entry.spec.of_lists]
        if not accuracy or not require_plan(result)[metric].spec.of_lists:
            return []
        first, second = result._means_of(accuracy[0]), result._means_of(metric)
        return charts.tradeoff_chart(
            accuracy[0], metric, {name: (first[name], second[name]) for name in systems}
        )
    best = result._verdict_on(metric).best
    if kind == "forest":
        return charts.forest_plot(metric, differences_in_chart(differences, best), result.baseline)
    if values.whole:
        return []  # no user has a value
    pairs = differences_in_chart(differences, best, limit=9)
    return charts.difference_histograms(
        metric, [(d, bin_differences(*result._paired(d.metric, d.a, d.b)[1:])) for d in pairs]
    )


def systems_in_charts(result: Comparison) -> list[str]:
    """Systems shown in charts: the baseline, and the best systems on the first metric."""
    ranked = result._verdict_on(result.labels[0]).ranked
    systems = sorted(ranked, key=lambda name: name != result.baseline)[:MAX_SYSTEMS]
    return sorted(systems, key=result.systems.index)
