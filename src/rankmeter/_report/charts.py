"""Charts of results, in Altair: each is self-contained and saves as PNG, SVG, PDF or HTML.

A chart holds only what it shows: means, intervals, bins, never a value per user. Names of systems
and metrics are data; they are never part of an expression or of a field's name.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any
from xml.etree import ElementTree as ET

import polars as pl

from rankmeter._report.excerpts import Histogram
from rankmeter._report.shares import Shares
from rankmeter._results.differences import Difference
from rankmeter._results.estimates import Estimate
from rankmeter._results.wording import level_text, to_json_value
from rankmeter.errors import MissingDependencyError, spell_out_hidden_characters
from rankmeter.errors._checks import count_users, words_in_use

# Observable 10: light enough for a dark page, dark enough for a light one, and distinct for
# color-blind readers; shapes repeat the distinction.
COLORS = (
    "#4269d0", "#efb118", "#ff725c", "#3ca951", "#a463f2",
    "#6cc5b0", "#ff8ab7", "#9c6b4e", "#97bbf5", "#9498a0",
)  # fmt: skip
SHAPES = (
    "circle", "square", "triangle-up", "diamond", "cross",
    "triangle-down", "triangle-right", "triangle-left", "circle", "square",
)  # fmt: skip
# From popular items to rare ones, and those that are new.
BLUES = ("#1d3b8b", "#3a62c4", "#6d8fe0", "#a3bbf0", "#d3def8", "#c9ccd1")
INK, SOFT, FAINT = "#1f2328", "#57606a", "#d8dbe0"
BETTER, WORSE, NEITHER = "#4269d0", "#e8702a", "#8b929c"
VERDICTS = ("better", "worse", "neither")
SVG = "{http://www.w3.org/2000/svg}"
WIDTH, HEIGHT, ROW = 300, 220, 26
BOUNDS = {"low": "from|.4f", "high": "to|.4f"}
SIGNED = "datum.value ? format(datum.value, '+~g') : '0'"


def require_altair() -> Any:
    """Import Altair, or raise a `MissingDependencyError` with the command that installs Altair."""
    try:
        import altair as alt
    except ImportError:
        raise MissingDependencyError(
            "charts need altair: pip install 'rankmeter[report]'"
        ) from None
    return alt


class _Altair:
    """The package Altair, imported when one of its names is used."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # asked by tools that look at all objects of a module
            raise AttributeError(name)
        return getattr(require_altair(), name)


alt: Any = _Altair()


def place_side_by_side(charts: Sequence[Any]) -> Any:
    """Put charts without width or theme side by side, dark on white for a paper."""
    ink, faint = INK, FAINT
    panes = [panel.properties(width=WIDTH) for panel in charts]
    for pane in panes:
        pane["usermeta"] = alt.Undefined  # what a page needs to know of it
    return (
        _offline_chart_class()(concat=panes, columns=3, spacing=28)
        .configure(background="white", font="sans-serif", aria=False)  # it would evaluate titles
        .configure_view(stroke=None)
        .configure_axis(labelColor=ink, titleColor=ink, gridColor=faint, domainColor=faint,
                        tickColor=faint, titleFontWeight="normal", labelLimit=170)
        .configure_title(anchor="start", color=ink, fontSize=13, subtitleColor=SOFT)
        .configure_legend(labelColor=ink, titleColor=ink, labelLimit=170, symbolOpacity=1)
    )  # fmt: skip


@cache
def _offline_chart_class() -> Any:
    """Build a chart class that notebooks show as SVG, because Altair's default loads scripts."""

    class ConcatChart(alt.ConcatChart):  # type: ignore[misc]
        def to_inline_svg(self) -> str:
            """The chart as SVG without a ground, in the color of the text around it.

            A mark under the pointer says its numbers.
            """
            try:
                spec = {**clean_spec_texts(self.to_dict()), "background": None}
                shared = spec.get("data", {}).get("values", [])
                for pane in spec["concat"]:
                    describe_marks(pane, shared)
                svg = _titled_marks(render_svg(spec))
            except ImportError:  # vl_convert is in the extra, too
                raise MissingDependencyError(
                    "charts need vl_convert: pip install 'rankmeter[report]'"
                ) from None
            svg = svg.replace(f'stroke="{FAINT}"', 'stroke="currentColor" stroke-opacity="0.2"')
            return re.sub(f"{INK}|{SOFT}", "currentColor", svg)

        def _repr_mimebundle_(self, *args: Any, **options: Any) -> Any:
            if alt.renderers.active == "default":
                with suppress(MissingDependencyError):
                    inline = self.to_inline_svg()
                    svg = render_svg(clean_spec_texts(self.to_dict()))
                    return {"text/html": inline, "image/svg+xml": svg, "text/plain": "a chart"}
            return super()._repr_mimebundle_(*args, **options)

    return ConcatChart


def render_svg(spec: dict[str, Any]) -> str:
    """Render a Vega-Lite specification as SVG."""
    import vl_convert

    version = ".".join(alt.SCHEMA_VERSION.lstrip("v").split(".")[:2])
    return str(vl_convert.vegalite_to_svg(spec, vl_version=version))


def clean_spec_texts(value: Any) -> Any:
    """Spell out hidden characters in all texts of a chart specification."""
    if isinstance(value, dict):
        return {clean_spec_texts(name): clean_spec_texts(part) for name, part in value.items()}
    if isinstance(value, list):
        return [clean_spec_texts(part) for part in value]
    return spell_out_hidden_characters(value) if isinstance(value, str) else value


MARK = "\u2063"
"""Between the description of a mark and its numbers; names have no hidden characters."""


def describe_marks(
    spec: dict[str, Any], rows: list[dict[str, Any]], fields: Sequence[str] = ()
) -> None:
    """Turn tooltips into descriptions of marks, as data: no name is read as an expression.

    A description ends with the values of some `fields`, as JSON.
    """
    rows = spec.get("data", {}).get("values", rows)
    for layer in spec.get("layer", ()):
        describe_marks(layer, rows, fields)
    if "mark" not in spec:
        return
    tips = spec["encoding"].pop("tooltip", [])
    spec["mark"]["aria"] = bool(tips)
    if tips:
        field = f"said by {spec['mark']['type']}"
        for row in rows:
            row[field] = ", ".join(_tooltip_text(row[tip["field"]], tip) for tip in tips)
            if fields:
                at = [row[name] for name in fields]
                row[field] += MARK + json.dumps(at, ensure_ascii=False)
        spec["encoding"]["description"] = {"field": field, "type": "nominal"}


def _tooltip_text(value: Any, tip: Mapping[str, Any]) -> str:
    """Format a value of a tooltip, after the title."""
    form = tip.get("format", "").replace("d", ",")
    text = str(value) if value is None or not form else format(value, form)
    return f"{tip['title']} {text}"


def _titled_marks(svg: str) -> str:
    """Give the marks of an SVG that have a description a title, which browsers show."""
    root = ET.fromstring(svg)  # noqa: S314 - of our own making
    for element in root.iter():
        kind, label = element.get("aria-roledescription", ""), element.get("aria-label")
        if label and kind not in ("", "axis", "legend", "title", "subtitle"):
            ET.SubElement(element, f"{SVG}title").text = label
    ET.register_namespace("", SVG.strip("{}"))
    return ET.tostring(root, encoding="unicode")


def _chart_data(rows: Iterable[Mapping[str, Any]]) -> Any:
    """Wrap rows as Altair data; numbers that are NaN or infinite are not drawn."""
    return alt.Data(values=to_json_value([*rows]))


def _tooltips(**fields: str) -> list[Any]:
    """Build tooltips from ``field="title"``, or ``field="title|.4f"`` for a numeric format."""
    tooltips = []
    for field, text in fields.items():
        title, bar, form = text.partition("|")
        kind = {"type": "quantitative", "format": form} if bar else {"type": "nominal"}
        tooltips.append(alt.Tooltip(field=field, title=title, **kind))
    return tooltips


def _layered_chart(
    title: Any, height: int, description: str, *layers: Any, **options: Any
) -> list[Any]:
    """Layer marks into one chart, in a list; `description` is the text for screen readers."""
    chart = alt.layer(*layers, **options)
    return [chart.properties(title=title, height=height, description=description)]


def _name_axis(field: str, order: Sequence[str], **options: Any) -> Any:
    """Vertical axis of names, in the given order."""
    axis = alt.Axis(domain=False, ticks=False, labelPadding=8, **options)
    return alt.Y(field=field, type="nominal", sort=list(order), title=None, axis=axis)


def _system_encodings(names: Sequence[str]) -> dict[str, Any]:
    """Color and shape encodings of the systems, identical in every chart."""
    names = list(names)
    return {
        "color": alt.Color("system:N", title=None, scale=alt.Scale(domain=names, range=COLORS)),
        "shape": alt.Shape("system:N", title=None, scale=alt.Scale(domain=names, range=SHAPES)),
    }


def forest_plot(metric: str, pairs: Sequence[Difference], baseline: str) -> list[Any]:
    """Forest plot of differences with intervals, from top to bottom, and a line at 0.

    Without differences there is no chart; `baseline` is empty if all pairs are compared.
    """
    if not pairs:
        return []
    rows = [{"pair": d.a if baseline else f"{d.a} − {d.b}", **_difference_row(d)} for d in pairs]
    title = f"difference from {baseline}" if baseline else "difference"
    legend = {"title": "significantly"}
    color = alt.Scale(domain=VERDICTS, range=[BETTER, WORSE, NEITHER])
    shape = alt.Scale(domain=VERDICTS, range=["circle", "diamond", "square"])
    base = alt.Chart().encode(
        y=_name_axis("pair", [str(row["pair"]) for row in rows]),
        color=alt.Color("verdict:N", scale=color, **legend),
        tooltip=_tooltips(
            pair="system" if baseline else "pair",
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
    words = "; ".join(
        f"{row['pair']} {d.size_with_interval()}" for row, d in zip(rows, pairs, strict=True)
    )
    description = f"Mean differences on {metric}: {words}"
    return _layered_chart(
        metric, ROW * len(rows), description, zero, span, point, data=_chart_data(rows)
    )


def _difference_row(d: Difference) -> dict[str, Any]:
    better, worse, neither = VERDICTS
    verdict = better if d.better == d.a else worse
    return {
        "difference": d.difference,
        "low": d.low,
        "high": d.high,
        "p": d.p_texts()[1],
        "users": f"{d.wins:,} / {d.ties:,} / {d.losses:,}" if d.per_user else "–",
        "verdict": verdict if d.significant and d.better else neither,
    }


def curve_chart(metric: str, points: pl.DataFrame, systems: Sequence[str]) -> list[Any]:
    """Chart of a metric at every k, with a pointwise band per system shown; [] without any mean."""
    rows = [row for row in points.drop("se").iter_rows(named=True) if row["system"] in systems]
    if all(math.isnan(row["mean"]) for row in rows):
        return []
    largest = max(row["k"] for row in rows)
    k = alt.X(
        "k:Q",
        title="k",
        scale=alt.Scale(domain=[1, largest], nice=False, padding=8),
        axis=alt.Axis(grid=False, tickMinStep=1, format="d"),
    )
    look = _system_encodings(systems)
    base = alt.Chart(_chart_data(rows)).encode(x=k, color=look["color"])
    scale = alt.Scale(zero=False)
    value = alt.Y("mean:Q", title=None, scale=scale, axis=alt.Axis(tickCount=5))
    band = base.mark_area(opacity=0.14).encode(
        y=alt.Y("low:Q", title=None, scale=scale), y2="high:Q"
    )
    line = base.mark_line(strokeWidth=2).encode(y=value)
    # Only some points are drawn; all have a tooltip.
    has_point = f"datum.k == 1 || datum.k % {max(1, largest // 10)} == 0"
    point = base.mark_point(filled=True, size=50).encode(
        y=value,
        shape=look["shape"],
        opacity=alt.condition(has_point, alt.value(1), alt.value(0)),
        tooltip=_tooltips(system="system", k="k|d", mean="mean|.4f", **BOUNDS),
    )
    name = f"{metric.partition('@')[0]}@k"
    last = {row["system"]: row for row in rows}
    words = "; ".join(f"{s} {r['mean']:.4f} at k = {r['k']}" for s, r in last.items())
    description = f"{name} for k from 1 to {largest} with pointwise intervals: {words}"
    return _layered_chart(name, HEIGHT, description, band, line, point)


def difference_histograms(metric: str, pairs: Iterable[tuple[Difference, Histogram]]) -> list[Any]:
    """Histogram of the users' differences for each pair; equal users appear only as a count.

    A pair of which all users are equal has no chart.
    """
    charts = []
    for d, histogram in pairs:
        if d.wins + d.losses == 0:
            continue
        pair = f"{d.a} − {d.b}"
        subtitle = f"better for {d.wins:,}, equal for {histogram.equal:,}, worse for {d.losses:,}"
        bars = _difference_bars(metric, histogram, increasing=d.increasing)
        charts.append(
            bars.properties(
                title=alt.TitleParams(pair, subtitle=subtitle),
                height=130,
                usermeta={
                    "kind": "difference",
                    "metric": metric,
                    "a": d.a,
                    "b": d.b,
                    "fields": ["low", "high"],
                    "edges": histogram.edges[len(histogram.edges) // 2 :],
                },
                description=f"Per-{words_in_use().user} differences {pair} on {metric}: {subtitle}",
            )
        )
    return charts


def _difference_bars(metric: str, histogram: Histogram, *, increasing: bool) -> Any:
    """Bars with the number of users by difference, colored by the better system."""
    signs = ("worse", "better") if increasing else ("better", "worse")
    rows = [
        {"low": low, "high": high, "users": n, "side": signs[low >= 0]}
        for low, high, n in zip(
            histogram.edges, histogram.edges[1:], histogram.counts, strict=False
        )
        if n
    ]
    color = alt.Scale(domain=VERDICTS[:2], range=[BETTER, WORSE])
    reach = [histogram.edges[0], histogram.edges[-1]]
    return (
        alt.Chart(_chart_data(rows))
        .mark_bar(binSpacing=1)
        .encode(
            x=alt.X(
                "low:Q",
                bin="binned",
                title=f"difference on {metric}",
                scale=alt.Scale(domain=reach, nice=False),
                axis=alt.Axis(labelExpr=SIGNED, tickCount=5, grid=False, labelOverlap=True),
            ),
            x2="high:Q",
            y=alt.Y(
                "users:Q", title=words_in_use().users, axis=alt.Axis(tickCount=4, tickMinStep=1)
            ),
            color=alt.Color("side:N", scale=color, title=None),
            tooltip=_tooltips(
                low="from|+.4f", high="to|+.4f", users=words_in_use().users + "|,", side="for these"
            ),
        )
    )


def scatter_plot(
    d: Difference, points: Sequence[tuple[float, float, int]], grid: tuple[float, float]
) -> list[Any]:
    """Scatter plot of all users' values in two systems; a circle's area is the number of users.

    A point has the value of the first system, that of the second, and the number of users; the
    `grid` of the points begins at a value and has a step.
    """
    if not points:
        return []
    rows = [
        {"x": b, "y": a, "users": n, "side": _better_or_worse(a - b, increasing=d.increasing)}
        for a, b, n in points
    ]
    ends = [min(min(a, b) for a, b, _ in points), max(max(a, b) for a, b, _ in points)]
    scale = alt.Scale(domain=ends, nice=False, padding=10)
    axis = alt.Axis(tickCount=5, grid=False)
    color = alt.Scale(domain=VERDICTS, range=[BETTER, WORSE, NEITHER])
    x = alt.X("x:Q", title=f"{d.metric} of {d.b}", scale=scale, axis=axis)
    y = alt.Y("y:Q", title=None, scale=scale, axis=axis)
    line = alt.Chart(_chart_data([{"x": end, "y": end} for end in ends]))
    line = line.mark_line(color=NEITHER, strokeDash=[4, 3]).encode(x=x, y=y)
    circles = alt.Chart(_chart_data(rows)).mark_circle(opacity=0.75)
    circles = circles.encode(
        x=x,
        y=y,
        size=alt.Size("users:Q", legend=None, scale=alt.Scale(range=[8, 420])),
        color=alt.Color("side:N", scale=color, title=None),
        tooltip=_tooltips(x="to the right|.3f", y="above|.3f", users=words_in_use().users + "|,"),
    )
    subtitle = f"{d.a} above, {d.b} to the right"
    description = (
        f"Values of all {words_in_use().users} on {d.metric}, {subtitle}: above the line "
        f"{d.a} has the larger value"
    )
    title = alt.TitleParams(f"{d.a} against {d.b}", subtitle=subtitle)
    pick = {
        "kind": "cell", "metric": d.metric, "a": d.a, "b": d.b, "fields": ["x", "y"],
        "low": grid[0], "step": grid[1],
    }  # fmt: skip
    charts = _layered_chart(title, 260, description, line, circles)
    return [chart.properties(usermeta=pick) for chart in charts]


def _better_or_worse(difference: float, *, increasing: bool) -> str:
    if not difference:
        return VERDICTS[2]
    return VERDICTS[0] if (difference > 0) == increasing else VERDICTS[1]


def first_hits_chart(hits: Shares, systems: Sequence[str]) -> list[Any]:
    """Chart of the cumulative share of users with a first hit up to each rank, by system."""
    ranks = [span.rpartition("–")[2] for span in hits.classes[:-1]]
    rows = [
        {"system": name, "rank": rank, "share": share}
        for name, shares in hits.cumulative_shares().items()
        if name in systems
        for rank, share in zip(ranks, shares, strict=False)
    ]
    look = _system_encodings(systems)
    axis = alt.Axis(grid=False, labelAngle=0)
    scale = alt.Scale(domain=[0, 1])
    base = alt.Chart(_chart_data(rows)).encode(
        x=alt.X("rank:O", sort=ranks, title="rank", axis=axis),
        y=alt.Y("share:Q", title=None, scale=scale, axis=alt.Axis(tickCount=5, format="%")),
        color=look["color"],
    )
    point = base.mark_point(filled=True, size=50, opacity=1).encode(
        shape=look["shape"], tooltip=_tooltips(system="system", rank="rank", share="share|.1%")
    )
    first = {row["system"]: row["share"] for row in reversed(rows)}
    words = "; ".join(f"{name} {first[name]:.1%} at rank 1" for name in systems if name in first)
    title = f"{words_in_use().users.capitalize()} with a hit up to this rank"
    return _layered_chart(title, HEIGHT, f"{title}: {words}", base.mark_line(strokeWidth=2), point)


def popularity_chart(k: int, shares: Shares, systems: Sequence[str]) -> list[Any]:
    """Bar chart of the popularity of the items in the top k, with a bar for each system."""
    rows = [
        {"system": name, "items": kind, "share": max(share, 0.0), "order": i}
        for name in systems
        for i, (kind, share) in enumerate(zip(shares.classes, shares.parts[name], strict=True))
    ]
    scale = alt.Scale(domain=list(shares.classes), range=list(BLUES))
    bars = alt.Chart(_chart_data(rows)).mark_bar(stroke="white", strokeWidth=0.5)
    title = f"Popularity of the {words_in_use().items} in the top {k}"
    words = "; ".join(f"{name} {shares.parts[name][0]:.1%} of the most popular" for name in systems)
    return [
        bars.encode(
            y=_name_axis("system", systems),
            x=alt.X("share:Q", title=None, stack="zero", scale=alt.Scale(domain=[0, 1]),
                    axis=alt.Axis(format="%", tickCount=5, grid=False)),
            color=alt.Color("items:N", scale=scale, title=None, sort=list(shares.classes)),
            order="order:Q",
            tooltip=_tooltips(system="system", items=words_in_use().items, share="share|.1%"),
        ).properties(title=title, height=ROW * len(systems), description=f"{title}: {words}")
    ]  # fmt: skip


def segments_chart(
    metric: str, estimates: Mapping[tuple[str, str], Estimate], systems: Sequence[str]
) -> list[Any]:
    """Chart of means with intervals by segment and system shown; [] without any mean."""
    rows = [
        {"segment": segment, "system": name, "mean": e.mean, "low": e.low, "high": e.high, "n": e.n}
        for (segment, name), e in estimates.items()
        if name in systems
    ]
    if not rows:
        return []
    labels = list(dict.fromkeys(str(row["segment"]) for row in rows))
    base = alt.Chart(_chart_data(rows)).encode(
        y=_name_axis("segment", labels, labelExpr="split(datum.label, ': ')"),  # in two lines
        yOffset=alt.YOffset("system:N", sort=list(systems), scale=alt.Scale(paddingOuter=0.6)),
        tooltip=_tooltips(
            segment="segment",
            system="system",
            mean="mean|.4f",
            **BOUNDS,
            n=words_in_use().users + "|,",
        ),
    )
    look = _system_encodings(systems)
    scale = alt.Scale(zero=False)
    span = base.mark_rule(strokeWidth=2).encode(
        x=alt.X("low:Q", title=metric, scale=scale, axis=alt.Axis(tickCount=5)),
        x2="high:Q",
        color=look["color"],
    )
    point = base.mark_point(filled=True, size=55, opacity=1).encode(x="mean:Q", **look)
    words = "; ".join(f"{row['segment']}, {row['system']} {row['mean']:.4f}" for row in rows)
    height = len(labels) * max(44, 13 * len(systems) + 14)
    charts = _layered_chart(metric, height, f"Means of {metric} by segment: {words}", span, point)
    pick = {"kind": "segment", "metric": metric, "fields": ["segment", "system"]}
    return [chart.properties(usermeta=pick) for chart in charts]


def tradeoff_chart(
    accuracy: str, metric: str, estimates: Mapping[str, tuple[Estimate, Estimate]]
) -> list[Any]:
    """Chart of two metrics: a point with both intervals for each system that has both means."""
    rows = [
        {"system": name, "x": x.mean, "x_low": x.low, "x_high": x.high,
         "y": y.mean, "low": y.low, "high": y.high}
        for name, (x, y) in estimates.items()
        if not (math.isnan(x.mean) or math.isnan(y.mean))
    ]  # fmt: skip
    if not rows:
        return []
    look = _system_encodings([str(row["system"]) for row in rows])
    scale = alt.Scale(zero=False, padding=14)
    axis = alt.Axis(tickCount=5, grid=True)
    x = alt.X("x:Q", title=accuracy, scale=scale, axis=axis)
    y = alt.Y("y:Q", title=None, scale=scale, axis=axis)
    base = alt.Chart(_chart_data(rows)).encode(
        color=look["color"],
        tooltip=_tooltips(system="system", x=f"{accuracy}|.4f", y=f"{metric}|.4f"),
    )
    across = base.mark_rule(strokeWidth=1.5).encode(
        x=alt.X("x_low:Q", title=accuracy, scale=scale, axis=axis), x2="x_high:Q", y=y
    )
    down = base.mark_rule(strokeWidth=1.5).encode(
        x=x, y=alt.Y("low:Q", title=None, scale=scale, axis=axis), y2="high:Q"
    )
    point = base.mark_point(filled=True, size=75, opacity=1).encode(x=x, y=y, shape=look["shape"])
    words = "; ".join(f"{row['system']} {row['x']:.4f} and {row['y']:.4f}" for row in rows)
    description = f"{accuracy} and {metric} of each system: {words}"
    return _layered_chart(f"{metric} against {accuracy}", HEIGHT, description, across, down, point)


def means_chart(estimates: Sequence[Estimate], confidence: float) -> Any:
    """Chart of every mean of a result with its interval."""
    rows = [
        {"metric": e.label, "mean": e.mean, "low": e.low, "high": e.high, "n": e.n}
        for e in estimates
    ]
    base = alt.Chart(_chart_data(rows), height=ROW * len(rows)).encode(
        y=_name_axis("metric", [e.label for e in estimates]),
        tooltip=_tooltips(
            metric="metric", mean="mean|.4f", **BOUNDS, n=words_in_use().users + "|,"
        ),
    )
    title = f"mean and {level_text(confidence)} interval"
    span = base.mark_rule(strokeWidth=2.5, color=BETTER).encode(
        x=alt.X("low:Q", title=title, scale=alt.Scale(zero=False)), x2="high:Q"
    )
    point = base.mark_point(filled=True, size=75, opacity=1, color=BETTER).encode(x="mean:Q")
    words = "; ".join(map(str, estimates))
    return alt.layer(span, point).properties(description=f"Means with intervals: {words}")


def value_histogram(metric: str, counts: Sequence[int], edges: Sequence[float]) -> Any:
    """Histogram of the users' values of a metric; there is one more edge than counts."""
    rows = [
        {"low": low, "high": high, "users": n}
        for low, high, n in zip(edges, edges[1:], counts, strict=False)
    ]
    return (
        alt.Chart(_chart_data(rows), title=f"{metric}, {count_users(sum(counts))}", height=150)
        .mark_bar(binSpacing=1, color=BETTER)
        .encode(
            x=alt.X("low:Q", bin="binned", title=metric, axis=alt.Axis(tickCount=5, grid=False)),
            x2="high:Q",
            y=alt.Y("users:Q", title=words_in_use().users),
            tooltip=_tooltips(**BOUNDS, users=words_in_use().users + "|,"),
        )
        .properties(
            usermeta={
                "kind": "value",
                "metric": metric,
                "fields": ["low", "high"],
                "last": edges[-1],
            },
            description=f"Distribution of {metric} over {count_users(sum(counts))}",
        )
    )


def counts_chart(
    title: str,
    counts: Mapping[str, float],
    one: str,
    count: str,
    form: str,
    *,
    in_time: bool = False,
) -> Any:
    """Bars of numbers, each of which is about `one`: in rows, or as columns along time."""
    rows = [{"name": name, "n": n, "text": form.format(n)} for name, n in counts.items()]
    number = {"field": "n", "type": "quantitative", "title": count}
    percent = {"format": "%"} if "%" in form else {}
    axis = alt.Axis(tickCount=4, **percent)
    base = alt.Chart(_chart_data(rows)).mark_bar(color=BETTER)
    tooltip = _tooltips(name=one, text=count)
    words = "; ".join(f"{row['name']} {row['text']}" for row in rows[:MOST_SAID])
    if in_time:
        bars = base.encode(
            x=alt.X("name:O", title=None, axis=alt.Axis(labelOverlap=True, labelAngle=0)),
            y=alt.Y(**number, axis=axis),
            tooltip=tooltip,
        )
        height = 150
    else:
        names = _name_axis("name", [str(row["name"]) for row in rows])
        bars = base.encode(
            x=alt.X(**number, axis=alt.Axis(tickCount=4, grid=False, **percent)),
            y=names,
            tooltip=tooltip,
        )
        height = max(ROW * len(rows), 2 * ROW)
    return bars.properties(title=title, height=height, description=f"{title}, {count}: {words}")


MOST_SAID = 40
"""Numbers of a chart that its description reads out."""
