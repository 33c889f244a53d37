"""Write what was measured: tables in Markdown, all figures in JSON, a chart in SVG."""

from __future__ import annotations

import json
import math
import statistics
import sys
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

NO_PREPARATION = 1e-3  # seconds
CHARTED = ("frames-20000-integer-shuffled-20", "dicts-long", "files", "start")


def write(figures: dict, folder: Path) -> None:
    """Write ``tables.md``, ``figures.json`` and ``chart.svg``."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(_rounded(figures), indent=1, ensure_ascii=False)
    (folder / "figures.json").write_text(text + "\n", encoding="utf-8")
    (folder / "tables.md").write_text(tables(figures), encoding="utf-8")
    (folder / "chart.svg").write_text(chart(figures), encoding="utf-8")


def _rounded(value: object) -> object:
    """Numbers with four digits: the others are noise."""
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, dict):
        return {key: _rounded(one) for key, one in value.items()}
    return [_rounded(one) for one in value] if isinstance(value, list | tuple) else value


# Tables


def tables(figures: dict) -> str:
    """All figures as Markdown."""
    workloads = figures["workloads"]
    facts = ", ".join(figures["machine"])
    parts = [
        f"`{figures['command']}`: {figures['rounds']} rounds, {facts}.",
        *_floor(workloads),
        *_checks(workloads),
        *_counts(workloads),
        *(_tools(workload) for workload in workloads if _others(workload)),
        *_notes(workloads),
    ]
    return "\n\n".join(parts) + "\n"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; all columns but the first are numbers."""
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _floor(workloads: list[dict]) -> Iterable[str]:
    """rankmeter and the floor, on all frames."""
    rows = []
    for workload in workloads:
        pairs = workload["peers"].get("floor", {}).get("pairs")
        if pairs:
            ratios = [ours / bare for ours, bare in pairs]
            rows.append(
                (
                    workload["title"],
                    spread(workload["rankmeter"]["seconds"], seconds),
                    f"{_speed(workload) / 1e6:.1f}",
                    spread(ratios, times),
                    memory(workload["rankmeter"]["peak"]),
                )
            )
    if rows:
        yield "## rankmeter and its floor"
        yield (
            "The floor is the Polars expression that ranks the rows within users and joins the "
            "ground truth, without metrics and without checks."
        )
        head = ("data", "rankmeter", "million rows per second", "times the floor", "memory")
        yield table(head, rows)


def _checks(workloads: list[dict]) -> Iterable[str]:
    """The share of the checks in the time of rankmeter."""
    shares = {one["title"]: one["rankmeter"]["checks"] for one in workloads}
    shares = {title: found for title, found in shares.items() if found}
    if shares:
        groups = list(next(iter(shares.values())))
        yield "## The share of the checks"
        yield (
            "The share of its time that rankmeter spends in functions that check. Types are "
            "checked while ids and numbers are converted, and one table shows repeated pairs and "
            "hits. All of it counts, so the shares are upper bounds."
        )
        rows = (
            (title, *(f"{share:.0%}" for share in (sum(found.values()), *found.values())))
            for title, found in shares.items()
        )
        yield table(("data", "all checks", *groups), rows)


def _counts(workloads: list[dict]) -> Iterable[str]:
    """More metrics on the same data."""
    found = [one for one in workloads if one["name"].startswith("metrics-")]
    if len(found) > 1:
        one = statistics.median(found[0]["rankmeter"]["seconds"])
        rows = (
            (
                str(workload["metrics"]),
                spread(workload["rankmeter"]["seconds"], seconds),
                times(statistics.median(workload["rankmeter"]["seconds"]) / one),
            )
            for workload in found
        )
        yield "## More metrics"
        yield table(("metrics", "rankmeter", "times one metric"), rows)


def _others(workload: dict) -> bool:
    return bool(workload["peers"].keys() - {"floor"})


def _tools(workload: dict) -> str:
    """One workload, with all tools, the fastest first."""
    ours = workload["rankmeter"]
    peers = sorted(workload["peers"].values(), key=_slowness)
    rows = [
        (
            "**rankmeter**",
            ours["version"],
            spread(ours["seconds"], seconds),
            "1",
            "–",
            "–",
            seconds(ours["first"]),
            memory(ours["peak"]),
        ),
        *(_row(peer) for peer in peers if "error" not in peer),
    ]
    head = ("tool", "version", "time", "times rankmeter", "preparation", "times with it",
            "first call", "memory")  # fmt: skip
    failed = [f"* {peer['title']}: {peer['error']}." for peer in peers if "error" in peer]
    parts = [f"## {workload['title']}", table(head, rows), "\n".join(failed)]
    return "\n\n".join(part for part in parts if part)


def _row(peer: dict) -> tuple[str, ...]:
    lacks = sorted({metric.split("@")[0] for metric in peer["lacks"]})
    prepared = peer["prepare"] > NO_PREPARATION
    return (
        peer["title"] + (f", without {', '.join(lacks)}" if lacks else ""),
        peer["version"],
        spread([theirs for _, theirs in peer["pairs"]], seconds),
        spread(_ratios(peer), times),
        seconds(peer["prepare"]) if prepared else "–",
        times(_prepared(peer)) if prepared else "–",
        seconds(peer["first"]),
        memory(peer["peak"]),
    )


def _notes(workloads: list[dict]) -> Iterable[str]:
    peers = [peer for one in workloads for peer in one["peers"].values() if peer["note"]]
    if peers:
        notes = {peer["title"]: peer["note"] for peer in peers}
        yield "## Notes"
        yield "\n".join(f"* {title}: {note}." for title, note in notes.items())


def _ratios(peer: dict) -> list[float]:
    """How many times as long as rankmeter the tool takes, by round."""
    return [theirs / ours for ours, theirs in peer["pairs"]]


def _slowness(peer: dict) -> float:
    return math.inf if "error" in peer else statistics.median(_ratios(peer))


def _speed(workload: dict) -> float:
    return workload["rows"] / statistics.median(workload["rankmeter"]["seconds"])


def command(name: str) -> str:
    """The command line of a benchmark, without its folders."""
    words = sys.argv[1:]
    for option in {"--output", "--folder"} & {*words}:
        at = words.index(option)
        del words[at : at + 2]
    return " ".join([name, *words])


# Numbers


def spread(values: Sequence[float], written) -> str:
    """The median, and from the least to the most."""
    text = str(written(statistics.median(values)))
    return text + (f" ({written(min(values))}–{written(max(values))})" if len(values) > 1 else "")


def seconds(value: float) -> str:
    if value < 0.1:
        return f"{value * 1e3:.3g} ms"
    return f"{value:.0f} s" if value >= 100 else f"{value:.3g} s"


def times(value: float) -> str:
    return f"{value:.0f}" if value >= 10 else f"{value:.1f}" if value >= 1 else f"{value:.2g}"


def memory(value: int | None) -> str:
    return "not measured" if value is None else f"{max(value, 0) / 2**20:,.0f} MiB"


# The chart

WIDTH, NAME, RIGHT, BAR, ROW, HEAD = 760, 190, 70, 12, 24, 52
LIGHT = "--ink: #1f2937; --muted: #5b6472; --line: #d5dae2; --bar: #a9b4c2; --accent: #14745d;"
DARK = "--ink: #e6eaf0; --muted: #a3adba; --line: #3b434f; --bar: #566273; --accent: #46c6a4;"
# Alone it follows the system, in a page the theme of the page.
COLOURS = f"""
.rm-speed {{ {LIGHT} }}
@media (prefers-color-scheme: dark) {{ .rm-speed {{ {DARK} }} }}
html[data-theme="light"] .rm-speed {{ {LIGHT} }}
html[data-theme="dark"] .rm-speed {{ {DARK} }}
"""
STYLE = """
.rm-speed { width: 100%; height: auto; font: 13px system-ui, "Segoe UI", Roboto, sans-serif; }
.rm-speed text { fill: var(--ink); }
.rm-speed .muted { fill: var(--muted); font-size: 12px; }
.rm-speed .title { font-weight: 600; font-size: 14px; }
.rm-speed .grid { stroke: var(--line); }
.rm-speed .one { stroke: var(--accent); stroke-width: 2; }
.rm-speed .bar { fill: var(--bar); }
.rm-speed .pale { opacity: 0.4; }
.rm-speed .ours { fill: var(--accent); }
.rm-speed .spread { stroke: var(--ink); stroke-opacity: 0.55; stroke-width: 1.5; }
"""


class Scale:
    """A logarithmic axis of ratios."""

    def __init__(self, ratios: Sequence[float]) -> None:
        low, high = min([*ratios, 0.5]), max([*ratios, 10.0])
        self.low, self.high = math.log10(low / 1.15), math.log10(high * 1.15)
        decades = range(math.floor(self.low), math.ceil(self.high) + 1)
        between = (1, 2, 5) if self.high - self.low < 2 else (1, 3)
        ticks = [step * 10.0**decade for decade in decades for step in between]
        self.ticks = [tick for tick in ticks if low / 1.15 <= tick <= high * 1.15]

    def at(self, ratio: float) -> float:
        share = (math.log10(ratio) - self.low) / (self.high - self.low)
        return round(NAME + share * (WIDTH - NAME - RIGHT), 1)


def chart(figures: dict) -> str:
    """A panel for each workload: how many times as long as rankmeter each tool takes."""
    found = [one for one in figures["workloads"] if one["name"] in CHARTED] or figures["workloads"]
    measured = {
        one["name"]: sorted((p for p in one["peers"].values() if p["pairs"]), key=_slowness)
        for one in found
    }
    shown = [peer for peers in measured.values() for peer in peers]
    scale = Scale([ratio for peer in shown for ratio in (*_ratios(peer), _prepared(peer))])
    parts, top = [], 0.0
    for workload in found:
        panel, height = _panel(workload, measured[workload["name"]], scale, top)
        parts += panel
        top += height
    title = "Time of each tool, divided by that of rankmeter"
    note = "times rankmeter, logarithmic; lines: least to most; pale: with its preparation"
    parts.append(svg_text(NAME, top + 14, note, "muted"))
    return drawing(title, top + 24, parts)


def drawing(title: str, height: float, parts: list[str], style: str = "") -> str:
    """A picture of the width of a page that follows light and dark."""
    size = f'viewBox="0 0 {WIDTH} {height:g}" role="img" aria-label="{title}"'
    return "\n".join(
        [
            f'<svg class="rm-speed" xmlns="http://www.w3.org/2000/svg" {size}>',
            f"<title>{title}</title>",
            f"<style>{COLOURS}{STYLE}{style}</style>",
            *parts,
            "</svg>\n",
        ]
    )


def _panel(workload: dict, peers: list[dict], scale: Scale, top: float) -> tuple[list[str], float]:
    """The lines of one panel, and its height."""
    ours = statistics.median(workload["rankmeter"]["seconds"])
    rows = [(_label(peer["title"]), _ratios(peer), _prepared(peer)) for peer in peers]
    faster = sum(statistics.median(ratios) < 1 for _, ratios, _ in rows)
    rows.insert(faster, ("rankmeter", [1.0], 1.0))
    bottom = top + HEAD + ROW * len(rows)
    parts = [svg_text(0, top + 18, workload["title"], "title")]
    parts.append(svg_text(WIDTH, top + 18, f"rankmeter: {seconds(ours)}", "muted", "end"))
    for tick in scale.ticks:
        x = scale.at(tick)
        line = f'x1="{x}" x2="{x}" y1="{top + HEAD - 6}" y2="{bottom}"'
        parts.append(f'<line class="{"one" if tick == 1 else "grid"}" {line}/>')
        parts.append(svg_text(x, top + HEAD - 12, f"{tick:g}×", "muted", "middle"))
    for row, (name, ratios, prepared) in enumerate(rows):
        parts += _bar(name, ratios, prepared, scale, top + HEAD + ROW * row)
    return parts, bottom - top + 22


def _label(title: str) -> str:
    return title.replace("Polars: rank and join", "floor (bare Polars)")


def _bar(name: str, ratios: list[float], prepared: float, scale: Scale, y: float) -> list[str]:
    """One tool: a bar from 1 to the median, a pale one to that with the preparation, the spread."""
    middle = y + ROW / 2
    ours = name == "rankmeter"
    label = svg_text(NAME - 12, middle + 4, name, "title" if ours else "", "end")
    if ours:
        return [label, f'<circle class="ours" cx="{scale.at(1)}" cy="{middle}" r="5"/>']
    ratio = statistics.median(ratios)
    ends = [scale.at(end) for end in (1, ratio, prepared, min(ratios), max(ratios))]
    one, x, end, low, high = ends
    size = f'y="{middle - BAR / 2}" height="{BAR}" rx="2"'
    parts = [label]
    if prepared > ratio:
        parts.append(f'<rect class="bar pale" x="{x}" width="{round(end - x, 1)}" {size}/>')
    left, width = min(one, x), round(abs(x - one), 1)
    parts.append(f'<rect class="bar" x="{left}" width="{width}" {size}/>')
    parts.append(f'<line class="spread" x1="{low}" x2="{high}" y1="{middle}" y2="{middle}"/>')
    return [*parts, svg_text(max(one, high, end) + 7, middle + 4, f"{times(ratio)}×", "muted")]


def _prepared(peer: dict) -> float:
    """The ratio if the preparation counts, too."""
    ours, theirs = (statistics.median(column) for column in zip(*peer["pairs"], strict=True))
    slow = peer["prepare"] > NO_PREPARATION
    return (theirs + peer["prepare"]) / ours if slow else statistics.median(_ratios(peer))


def svg_text(x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> str:
    return f'<text class="{kind}" x="{x}" y="{y:g}" text-anchor="{anchor}">{escape(text)}</text>'
