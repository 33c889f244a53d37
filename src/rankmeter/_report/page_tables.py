"""The tables of the report, made by Great Tables and dressed by the page's own style sheet."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import polars as pl

from rankmeter._report.excerpt import MAX_SYSTEMS, Verdict, extremes, ranked_systems

if TYPE_CHECKING:
    from markupsafe import Markup

    from rankmeter._comparison import Comparison

__all__ = ["MAX_ROWS", "count_table", "difference_table", "means_table", "user_table"]

Column = tuple[str, Sequence[str]]
"""A title and the cells below it."""
MAX_ROWS = 200
"""Differences in the table of the page; the machine-readable result holds all of them."""


def means_table(comparison: Comparison) -> tuple[Markup, list[str]]:
    """Systems × metrics: each mean with its mark and its interval, the best in bold; and notes.

    Where there would be too many letters to read, it says how many systems are beaten.
    """
    from markupsafe import Markup

    marked, notes = comparison.table(), list(comparison.table().notes)
    crowded = not comparison.baseline and len(comparison.systems) > MAX_SYSTEMS
    names = comparison.systems if crowded else [row[0] for row in marked.rows]
    columns: list[Column] = [("system", names)]
    for place, entry in enumerate(comparison.plan.metrics, 1):
        best = ranked_systems(comparison, entry.label)[0]
        cells: list[str] = []
        columns.append((entry.label, cells))
        for name, row in zip(comparison.systems, marked.rows, strict=True):
            e = comparison.estimates[entry.label, name]
            mean, _, mark = row[place].partition(" ")
            value = Markup("<strong>{}</strong>").format(mean) if name == best else mean
            below = "" if math.isnan(e.low) else f"[{e.low:.4f}, {e.high:.4f}]"
            if crowded:
                beaten = sum(d.significant and d.better == name for d in comparison[entry.label])
                below, mark = f"{below} beats {beaten}", ""
            cell = Markup('{}{}<span class="interval">{}</span>')
            cells.append(cell.format(value, _mark(mark), below))
    if crowded:
        notes[0] = notes[0].replace("letters: the", "beats: how many")
    title = f"Means with {100 * comparison.confidence:g} % intervals"
    return _grid("means", title, columns, markup=True), notes


def _mark(mark: str) -> Markup:
    """A mark that a screen reader can say."""
    from markupsafe import Markup

    if not mark:
        return Markup("")
    said = {"▲": ("better", "significantly better"), "▼": ("worse", "significantly worse")}
    if mark in said:
        cell = Markup(' <span class="mark {}" role="img" aria-label="{}">{}</span>')
        return cell.format(*said[mark], mark)
    return Markup('<sup class="mark">{}</sup>').format(mark)


def difference_table(comparison: Comparison) -> tuple[Markup, int]:
    """Every comparison in numbers, up to a limit; and how many there are in all."""
    whole = comparison.difference_table()
    columns = _turned(whole.columns, whole.rows[:MAX_ROWS])
    return _grid("all-differences", "Paired differences", columns), len(whole.rows)


def user_table(comparison: Comparison, found: Verdict, number: int) -> Markup | None:
    """The users that gain most from either system of a verdict."""
    d = found.difference
    if d is None:
        return None
    sides = extremes(comparison, d)
    rows = [
        (
            f"{name} is better for them",
            user,
            f"{x:.4f}",
            f"{y:.4f}",
            f"{x - y:+.4f}".replace("-", "−"),
        )
        for name, side in zip((d.a, d.b), sides, strict=True)
        for user, x, y in side
    ]
    if not rows:
        return None
    titles = ("side", "user", d.a, d.b, "difference")
    columns = _turned(titles, rows)
    return _grid(f"users-{number}", f"{found.metric}, user by user", columns, grouped=True)


def count_table(counts: Mapping[str, Mapping[str, int]]) -> Markup:
    """What was read, dropped and merged, for each system."""
    names = list(dict.fromkeys(name for one in counts.values() for name in one))
    columns: list[Column] = [("system", list(counts))]
    for name in names:
        cells = [f"{one.get(name, 0):,}" for one in counts.values()]
        columns.append((name.replace("_", " "), cells))
    return _grid("counts", "What was read", columns)


def _turned(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> list[Column]:
    return [(title, [row[i] for row in rows]) for i, title in enumerate(titles)]


def _grid(
    id_: str,
    title: str,
    columns: Sequence[Column],
    *,
    markup: bool = False,
    grouped: bool = False,
) -> Markup:
    """A table whose first column (after that of the groups) names the rows.

    All text is escaped; under `markup` that of the cells of values is escaped already. Titles are
    names of systems, too: anything, even twice. So the columns have names of their own.
    """
    from great_tables import GT
    from great_tables import html as as_html
    from markupsafe import Markup

    frame = pl.DataFrame({f"c{i}": list(cells) for i, (_, cells) in enumerate(columns)})
    labels = {f"c{i}": as_html(_escaped(title)) for i, (title, _) in enumerate(columns)}
    first, *others = list(labels)[grouped:]
    table = (
        GT(frame, rowname_col=first, groupname_col="c0" if grouped else None, id=id_)
        .tab_stubhead(labels[first])
        .cols_label({name: labels[name] for name in others})
        .cols_align("right", columns=others)
    )
    if markup:
        table = table.fmt_passthrough(others, escape=False)
    whole: str = table.as_raw_html()
    # The table alone: its style sheet is for a light page, and inline styles need a looser policy.
    start, end = whole.index("<table"), whole.rindex("</table>") + len("</table>")
    inside = whole.index(">", start) + 1
    caption = Markup("<caption>{}</caption>").format(title)
    return Markup(whole[start:inside]) + caption + Markup(whole[inside:end])  # noqa: S704 - escaped


def _escaped(title: str) -> str:
    """A title as HTML in which Great Tables finds no ``{{units}}``, which it would not escape."""
    return html.escape(title).replace("{", "&#123;")
