"""A chart in SVG of the time for each row against the number of rows, both logarithmic."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Mapping, Sequence

from speed.page import WIDTH, drawing, svg_text

__all__ = ["growth", "nanoseconds"]

HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 380, 64, 230, 56, 28
LABEL = 18  # the least distance between the names of two lines
LINES = """
.rm-speed .line { fill: none; stroke: var(--muted); stroke-width: 1.5; }
.rm-speed .line.floor { stroke-dasharray: 5 4; }
.rm-speed .line.first { stroke: var(--accent); stroke-width: 3; }
.rm-speed .line.second { stroke: var(--accent); }
.rm-speed .leader { fill: none; stroke: var(--muted); stroke-dasharray: 1 3; }
.rm-speed .point { fill: var(--muted); }
.rm-speed .point.first, .rm-speed .point.second { fill: var(--accent); }
"""

Seconds = Mapping[int, Sequence[float]]
"""Seconds of each round, by the number of rows."""


def growth(title: str, tools: Mapping[str, Seconds], kinds: Mapping[str, str]) -> str:
    """Draw a line for each tool.

    Their kinds are ``first`` for what is compared with all others, ``second`` for variants of it,
    ``floor``, or nothing.
    """
    each = {
        name: {rows: [took / rows * 1e9 for took in times] for rows, times in measured.items()}
        for name, measured in tools.items()
    }
    spreads = [one for measured in each.values() for one in measured.values()]
    rows = sorted({n for measured in each.values() for n in measured})
    across = _Axis(rows[0] / 1.15, rows[-1] * 1.15, LEFT, WIDTH - RIGHT)
    least, most = min(map(min, spreads)) / 1.3, max(map(max, spreads)) * 1.3
    up = _Axis(least, most, HEIGHT - BOTTOM, TOP)
    parts = [svg_text(0, 18, title, "title")]
    note = "time for each row, and its spread; both axes logarithmic"
    parts.append(svg_text(0, 38, note, "muted"))
    parts += _ticks(up)
    for n in rows:
        text = f"{n / 1e6:,g} million rows"
        parts.append(svg_text(across.at(n), HEIGHT - BOTTOM + 20, text, "muted", "middle"))
    for name, measured in each.items():
        parts += _line(measured, kinds.get(name, ""), across, up)
    parts += _names(each, kinds, across, up)
    return drawing(title, HEIGHT, parts, LINES)


def nanoseconds(value: float) -> str:
    """A time in words, from nanoseconds."""
    for unit, factor in (("ms", 1e6), ("µs", 1e3)):
        if value >= factor:
            return f"{value / factor:.3g} {unit}"
    return f"{value:.3g} ns"


class _Axis:
    """A logarithmic axis from `low` at `start` to `high` at `end`."""

    def __init__(self, low: float, high: float, start: float, end: float) -> None:
        self.low, self.high = math.log(low), math.log(high)
        self.start, self.end = start, end

    def at(self, value: float) -> float:
        share = (math.log(value) - self.low) / (self.high - self.low)
        return round(self.start + share * (self.end - self.start), 1)

    def ticks(self) -> list[float]:
        """1 and 3 times powers of ten."""
        decades = range(math.floor(self.low / math.log(10)), math.ceil(self.high / math.log(10)))
        found = [step * 10.0**decade for decade in decades for step in (1, 3)]
        return [one for one in found if self.low <= math.log(one) <= self.high]


def _ticks(up: _Axis) -> list[str]:
    parts = []
    for tick in up.ticks():
        y = up.at(tick)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}"/>')
        parts.append(svg_text(LEFT - 8, y + 4, nanoseconds(tick), "muted", "end"))
    return parts


def _line(measured: Seconds, kind: str, across: _Axis, up: _Axis) -> list[str]:
    ordered = sorted(measured.items())
    points = [(across.at(rows), up.at(statistics.median(took))) for rows, took in ordered]
    path = " ".join(f"{x},{y}" for x, y in points)
    parts = [f'<polyline class="line {kind}" points="{path}"/>']
    for (x, y), (_, took) in zip(points, ordered, strict=True):
        ends = f'y1="{up.at(min(took))}" y2="{up.at(max(took))}"'
        parts.append(f'<line class="spread" x1="{x}" x2="{x}" {ends}/>')
        parts.append(f'<circle class="point {kind}" cx="{x}" cy="{y}" r="3.5"/>')
    return parts


def _names(
    each: Mapping[str, Seconds], kinds: Mapping[str, str], across: _Axis, up: _Axis
) -> list[str]:
    """The name of each line on the right, with the last value; none covers another."""
    ends = {name: max(measured.items()) for name, measured in each.items()}
    values = {name: statistics.median(took) for name, (_, took) in ends.items()}
    upwards = sorted(values, key=values.__getitem__)
    heights = [up.at(values[name]) for name in upwards]
    for below, above in itertools.pairwise(range(len(heights))):
        heights[above] = min(heights[above], heights[below] - LABEL)
    parts = []
    for name, height in zip(upwards, heights, strict=True):
        x, y = across.at(ends[name][0]), up.at(values[name])
        right = WIDTH - RIGHT
        path = f"{x + 6},{y} {right},{y} {right + 8},{height}"
        parts.append(f'<polyline class="leader" points="{path}"/>')
        ours = "title" if kinds.get(name) == "first" else ""
        text = f"{name}, {nanoseconds(values[name])}"
        parts.append(svg_text(right + 12, height + 4, text, ours))
    return parts
