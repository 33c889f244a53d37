"""Charts of results, in Altair: each stands by itself and saves as PNG, SVG, PDF or HTML.

A chart holds what it shows and no more: means, intervals, bins, never a value per user. Names of
systems and metrics are data; none is ever part of an expression or of a field's name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rankmeter._report.excerpt import histogram, histogram_of, pairs_shown, systems_shown
from rankmeter.errors import MissingDependencyError, UsageError

if TYPE_CHECKING:
    from rankmeter._comparison import Comparison, Difference
    from rankmeter._curves import Curve
    from rankmeter._plan import MetricPlan
    from rankmeter._summary import Summary

__all__ = [
    "COLOURS",
    "KINDS",
    "SHAPES",
    "chart",
    "curve_panels",
    "distinct_curves",
    "panels",
    "summary_chart",
]

# Observable 10: light enough for a dark page, dark enough for a light one, and told apart by
# colour-blind readers; a shape says the same again.
COLOURS = (
    "#4269d0", "#efb118", "#ff725c", "#3ca951", "#a463f2",
    "#6cc5b0", "#ff8ab7", "#9c6b4e", "#97bbf5", "#9498a0",
)  # fmt: skip
SHAPES = (
    "circle", "square", "triangle-up", "diamond", "cross",
    "triangle-down", "triangle-right", "triangle-left", "circle", "square",
)  # fmt: skip
BETTER, WORSE, NEITHER = "#4269d0", "#e8702a", "#8b929c"
VERDICTS = ("better", "worse", "not shown")
WIDTH, HEIGHT, ROW = 300, 220, 26
SIGNED = "datum.value ? format(datum.value, '+~g') : '0'"


def chart(comparison: Comparison, kind: str, metric: str | None = None) -> Any:
    """A chart of a comparison.

    Parameters
    ----------
    comparison : Comparison
    kind : {"forest", "curve", "differences", "segments"}
    metric : str, optional
        Only this metric; all of them, side by side, if not given.

    Returns
    -------
    altair.ConcatChart

    Raises
    ------
    MissingDependencyError
        If Altair is not installed.
    UsageError
        If there is no such kind, or nothing of this kind to be shown.
    """
    _altair()
    if kind not in KINDS:
        raise UsageError(f"kind must be one of {', '.join(map(repr, KINDS))}, got {kind!r}")
    if kind == "segments" and comparison.segments is None:
        raise UsageError("there are no segments: pass segments= to rm.compare")
    labels = (
        [comparison.plan[metric].label]
        if metric
        else [entry.label for entry in comparison.plan.metrics]
    )
    if kind == "curve":
        first_of = distinct_curves(comparison)
        labels = list(dict.fromkeys(first_of[label] for label in labels if label in first_of))
    drawn = [panel for label in labels for panel in panels(comparison, kind, label)]
    if not drawn:
        raise UsageError(f"nothing can be drawn as {kind!r}: no metric has what it takes")
    return _for_paper(drawn)


def summary_chart(summary: Summary, kind: str) -> Any:
    """A chart of one result: its means with intervals, or how the users' values are spread.

    Parameters
    ----------
    summary : Summary
    kind : {"means", "distribution"}

    Returns
    -------
    altair.ConcatChart

    Raises
    ------
    MissingDependencyError
        If Altair is not installed.
    UsageError
        If there is no such kind.
    """
    _altair()
    if kind == "means":
        return _for_paper([_means(summary)])
    if kind == "distribution":
        return _for_paper([_distribution(summary, label) for label in summary])
    raise UsageError(f"kind must be 'means' or 'distribution', got {kind!r}")


def panels(comparison: Comparison, kind: str, metric: str) -> list[Any]:
    """The charts of one kind for one metric, not yet of any width or theme.

    Parameters
    ----------
    comparison : Comparison
    kind : str
        A key of `KINDS`.
    metric : str
        Label of a metric of the comparison.
    """
    return KINDS[kind](comparison, comparison.plan[metric])


def distinct_curves(comparison: Comparison) -> dict[str, str]:
    """For each metric that can be drawn against k, the first one with the same curve.

    ``ndcg@5`` and ``ndcg@10`` are two points of one curve.
    """
    firsts: dict[Any, str] = {}
    found = {}
    for entry in comparison.plan.metrics:
        if entry.spec.cutoff:
            what = (entry.metric.name, entry.metric.options, entry.alignment, entry.averaging)
            found[entry.label] = firsts.setdefault(what, entry.label)
    return found


def _altair() -> Any:
    try:
        import altair as alt
    except ImportError:
        raise MissingDependencyError(
            "charts need altair: pip install 'rankmeter[report]'"
        ) from None
    return alt


def _for_paper(drawn: Sequence[Any]) -> Any:
    """Charts side by side, dark on white."""
    ink, faint = "#1f2328", "#d8dbe0"
    panes = [one.properties(width=WIDTH) for one in drawn]
    return (
        _altair()
        .concat(*panes, columns=3, spacing=28)
        .configure(background="white", font="sans-serif")
        .configure_view(stroke=None)
        .configure_axis(labelColor=ink, titleColor=ink, gridColor=faint, domainColor=faint,
                        tickColor=faint, titleFontWeight="normal", labelLimit=170)
        .configure_title(anchor="start", color=ink, fontSize=13, subtitleColor="#57606a")
        .configure_legend(labelColor=ink, titleColor=ink, labelLimit=170, symbolOpacity=1)
    )  # fmt: skip


def _data(rows: Iterable[Mapping[str, Any]]) -> Any:
    """Rows as Altair takes them; a number that does not exist is not drawn."""

    def plain(value: Any) -> Any:
        return None if isinstance(value, float) and not math.isfinite(value) else value

    return _altair().Data(values=[{n: plain(v) for n, v in row.items()} for row in rows])


def _tooltip(**fields: str) -> list[Any]:
    """``field="title"``, or with the format of a number behind a bar: ``field="title|.4f"``."""
    alt = _altair()
    found = []
    for field, text in fields.items():
        title, bar, form = text.partition("|")
        kind = {"type": "quantitative", "format": form} if bar else {"type": "nominal"}
        found.append(alt.Tooltip(field=field, title=title, **kind))
    return found


def _names(field: str, order: Sequence[str], title: str | None = None) -> Any:
    """A vertical axis of names."""
    alt = _altair()
    axis = alt.Axis(domain=False, ticks=False, labelPadding=8)
    return alt.Y(field=field, type="nominal", sort=list(order), title=title, axis=axis)


def _by_system(comparison: Comparison) -> dict[str, Any]:
    """Colour and shape of the systems: the same ones in every chart."""
    alt = _altair()
    names = list(systems_shown(comparison))
    return {
        "color": alt.Color("system:N", title=None, scale=alt.Scale(domain=names, range=COLOURS)),
        "shape": alt.Shape("system:N", title=None, scale=alt.Scale(domain=names, range=SHAPES)),
    }


def _forest(comparison: Comparison, entry: MetricPlan) -> list[Any]:
    """Differences with their intervals, and a line where there is none."""
    alt = _altair()
    shown = pairs_shown(comparison, entry.label)
    if not shown:
        return []
    rows = [
        {
            "pair": d.a if comparison.baseline else f"{d.a} − {d.b}",
            "difference": d.difference,
            "low": d.low,
            "high": d.high,
            "p": "–" if math.isnan(d.p) else f"{max(d.p_adjusted, 0.0001):.4f}",
            "users": f"{d.wins:,} / {d.ties:,} / {d.losses:,}",
            "verdict": _verdict(d),
        }
        for d in shown
    ]
    title = f"difference to {comparison.baseline}" if comparison.baseline else "difference"
    legend = {"title": "significantly"}
    colour = alt.Scale(domain=VERDICTS, range=[BETTER, WORSE, NEITHER])
    shape = alt.Scale(domain=VERDICTS, range=["circle", "diamond", "square"])
    base = alt.Chart().encode(
        y=_names("pair", [str(row["pair"]) for row in rows]),
        color=alt.Color("verdict:N", scale=colour, **legend),
        tooltip=_tooltip(
            pair="system" if comparison.baseline else "pair",
            difference="mean difference|+.4f",
            low="from|+.4f",
            high="to|+.4f",
            p="adjusted p",
            users="better / equal / worse",
        ),
    )
    axis = alt.Axis(labelExpr=SIGNED, tickCount=5, labelOverlap=True)
    scale = alt.Scale(padding=12, nice=False)
    span = base.mark_rule(strokeWidth=2.5).encode(
        x=alt.X("low:Q", title=title, axis=axis, scale=scale), x2="high:Q"
    )
    point = base.mark_point(filled=True, size=75, opacity=1).encode(
        x="difference:Q", shape=alt.Shape("verdict:N", scale=shape, **legend)
    )
    zero = alt.Chart().mark_rule(color=NEITHER, strokeDash=[4, 3]).encode(x=alt.datum(0))
    drawn = alt.layer(zero, span, point, data=_data(rows))
    words = "; ".join(
        f"{row['pair']} {row['difference']:+.4f} from {row['low']:+.4f} to {row['high']:+.4f}"
        for row in rows
    )
    return [
        drawn.properties(
            title=entry.label,
            height=ROW * len(rows),
            description=f"Mean differences on {entry.label} with intervals: {words}",
        )
    ]


def _verdict(d: Difference) -> str:
    if not d.significant or not d.better:
        return VERDICTS[2]
    return VERDICTS[0] if d.better == d.a else VERDICTS[1]


def _curve(comparison: Comparison, entry: MetricPlan) -> list[Any]:
    """The metric at every k, with a band per system."""
    if not entry.spec.cutoff:
        return []
    return curve_panels(comparison, entry.label, comparison.curve(entry.label))


def curve_panels(comparison: Comparison, metric: str, found: Curve) -> list[Any]:
    """A curve that has been computed, as a chart; none if no system has a mean."""
    alt = _altair()
    shown = systems_shown(comparison)
    rows = [row for row in found.frame.drop("se").iter_rows(named=True) if row["system"] in shown]
    if all(math.isnan(row["mean"]) for row in rows):
        return []
    largest = max(row["k"] for row in rows)
    k = alt.X(
        "k:Q",
        title="k",
        scale=alt.Scale(domain=[1, largest], nice=False, padding=8),
        axis=alt.Axis(grid=False, tickMinStep=1, format="d"),
    )
    look = _by_system(comparison)
    base = alt.Chart(_data(rows)).encode(x=k, color=look["color"])
    scale = alt.Scale(zero=False)
    value = alt.Y("mean:Q", title=None, scale=scale, axis=alt.Axis(tickCount=5))
    band = base.mark_area(opacity=0.14).encode(
        y=alt.Y("low:Q", title=None, scale=scale), y2="high:Q"
    )
    line = base.mark_line(strokeWidth=2).encode(y=value)
    # Only some points are seen; all are there to be pointed at.
    seen = f"datum.k == 1 || datum.k % {max(1, largest // 10)} == 0"
    point = base.mark_point(filled=True, size=50).encode(
        y=value,
        shape=look["shape"],
        opacity=alt.condition(seen, alt.value(1), alt.value(0)),
        tooltip=_tooltip(system="system", k="k|d", mean="mean|.4f", low="from|.4f", high="to|.4f"),
    )
    name = f"{metric.partition('@')[0]}@k"
    last = {row["system"]: row for row in rows}
    words = "; ".join(f"{s} {r['mean']:.4f} at k = {r['k']}" for s, r in last.items())
    drawn = alt.layer(band, line, point)
    said = f"{name} for k from 1 to {largest} with intervals: {words}"
    return [drawn.properties(title=name, height=HEIGHT, description=said)]


def _differences(comparison: Comparison, entry: MetricPlan) -> list[Any]:
    """For each pair how many users are how much better off; equal ones only as a count."""
    alt = _altair()
    drawn = []
    for d in pairs_shown(comparison, entry.label, limit=9):
        if d.wins + d.losses == 0:
            continue
        bins = histogram(comparison, d)
        signs = ("worse", "better") if d.increasing else ("better", "worse")
        rows = [
            {"low": low, "high": high, "users": n, "side": signs[low >= 0]}
            for low, high, n in zip(bins.edges, bins.edges[1:], bins.counts, strict=False)
            if n
        ]
        said = f"better for {d.wins:,}, equal for {bins.equal:,}, worse for {d.losses:,}"
        colour = alt.Scale(domain=VERDICTS[:2], range=[BETTER, WORSE])
        reach = [bins.edges[0], bins.edges[-1]]
        bars = (
            alt.Chart(_data(rows))
            .mark_bar(binSpacing=1)
            .encode(
                x=alt.X(
                    "low:Q",
                    bin="binned",
                    title=f"difference on {entry.label}",
                    scale=alt.Scale(domain=reach, nice=False),
                    axis=alt.Axis(labelExpr=SIGNED, tickCount=5, grid=False, labelOverlap=True),
                ),
                x2="high:Q",
                y=alt.Y("users:Q", title="users", axis=alt.Axis(tickCount=4, tickMinStep=1)),
                color=alt.Color("side:N", scale=colour, title=None),
                tooltip=_tooltip(
                    low="from|+.4f", high="to|+.4f", users="users|,", side="for these"
                ),
            )
        )
        pair = f"{d.a} − {d.b}"
        drawn.append(
            bars.properties(
                title=alt.TitleParams(pair, subtitle=said),
                height=130,
                description=f"Per-user differences {pair} on {entry.label}: {said}",
            )
        )
    return drawn


def _segments(comparison: Comparison, entry: MetricPlan) -> list[Any]:
    """Means with intervals within each segment."""
    alt = _altair()
    shown = systems_shown(comparison)
    rows = [
        {"segment": segment, "system": name, "mean": e.mean, "low": e.low, "high": e.high, "n": e.n}
        for (segment, metric, name), e in comparison.segment_estimates.items()
        if metric == entry.label and name in shown
    ]
    if not rows:
        return []
    labels = list(dict.fromkeys(str(row["segment"]) for row in rows))
    base = alt.Chart(_data(rows)).encode(
        y=_names("segment", labels),
        yOffset=alt.YOffset("system:N", sort=list(shown), scale=alt.Scale(paddingOuter=0.6)),
        tooltip=_tooltip(
            segment="segment", system="system", mean="mean|.4f", low="from|.4f", high="to|.4f",
            n="users|,",
        ),
    )  # fmt: skip
    look = _by_system(comparison)
    scale = alt.Scale(zero=False)
    span = base.mark_rule(strokeWidth=2).encode(
        x=alt.X("low:Q", title=entry.label, scale=scale, axis=alt.Axis(tickCount=5)),
        x2="high:Q",
        color=look["color"],
    )
    point = base.mark_point(filled=True, size=55, opacity=1).encode(x="mean:Q", **look)
    words = "; ".join(f"{row['segment']}, {row['system']} {row['mean']:.4f}" for row in rows)
    return [
        alt.layer(span, point).properties(
            title=entry.label,
            height=len(labels) * max(44, 13 * len(shown) + 14),
            description=f"Means of {entry.label} by segment: {words}",
        )
    ]


def _means(summary: Summary) -> Any:
    """Every mean of a result with its interval."""
    alt = _altair()
    rows = [
        {"metric": e.label, "mean": e.mean, "low": e.low, "high": e.high, "n": e.n}
        for e in summary.values()
    ]
    base = alt.Chart(_data(rows), height=ROW * len(rows)).encode(
        y=_names("metric", list(summary)),
        tooltip=_tooltip(
            metric="metric", mean="mean|.4f", low="from|.4f", high="to|.4f", n="users|,"
        ),
    )
    level = f"mean and {100 * summary.confidence:g} % interval"
    span = base.mark_rule(strokeWidth=2.5, color=BETTER).encode(
        x=alt.X("low:Q", title=level, scale=alt.Scale(zero=False)), x2="high:Q"
    )
    point = base.mark_point(filled=True, size=75, opacity=1, color=BETTER).encode(x="mean:Q")
    words = "; ".join(map(str, summary.values()))
    return alt.layer(span, point).properties(description=f"Means with intervals: {words}")


def _distribution(summary: Summary, label: str) -> Any:
    """How many users have which value of a metric."""
    alt = _altair()
    values = summary.scores.averaged(summary.plan[label]).values
    counts, edges = histogram_of(values)
    rows = [
        {"low": low, "high": high, "users": n}
        for low, high, n in zip(edges, edges[1:], counts, strict=False)
    ]
    return (
        alt.Chart(_data(rows), title=f"{label}, {np.size(values):,} users", height=150)
        .mark_bar(binSpacing=1, color=BETTER)
        .encode(
            x=alt.X("low:Q", bin="binned", title=label, axis=alt.Axis(tickCount=5, grid=False)),
            x2="high:Q",
            y=alt.Y("users:Q", title="users"),
            tooltip=_tooltip(low="from|.4f", high="to|.4f", users="users|,"),
        )
        .properties(description=f"Distribution of {label} over {np.size(values):,} users")
    )


KINDS: dict[str, Callable[[Comparison, MetricPlan], list[Any]]] = {
    "forest": _forest,
    "curve": _curve,
    "differences": _differences,
    "segments": _segments,
}
"""What draws each kind of chart: one panel per metric, or one per pair."""
