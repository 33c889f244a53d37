"""Tables as text, Markdown, LaTeX and HTML."""

from __future__ import annotations

import itertools
import math
import re
import textwrap
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from rankmeter._results.estimates import Estimate
from rankmeter._results.wording import interval_text, level_text, number_text
from rankmeter.errors import (
    LONGEST_NAME,
    replace_control_characters,
    shorten_middle,
    spell_out_hidden_characters,
    to_one_line,
)

_LATEX = {c: f"\\{c}" for c in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "|": r"\textbar{}",
    ">": r"\textgreater{}",
    "<": r"\textless{}",
    "–": "--",
    "−": "$-$",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "±": r"$\pm$",
    " ▲": "$^{+}$",
    " ▼": "$^{-}$",
    "▲": "$^{+}$",
    "▼": "$^{-}$",
}


def escape_json(text: str) -> str:
    """Escape the control characters of a terminal in JSON text, without changing values.

    JSON escapes the first 32 characters itself; those that are left are between its values.
    """
    return replace_control_characters(text, lambda c: c if c < " " else f"\\u{ord(c):04x}")


def escape_markdown(text: str) -> str:
    """Escape text for Markdown: no markup, no link, no end of a cell, no quotation."""
    import html

    escaped = re.sub("(?<!^)&gt;", ">", html.escape(to_one_line(text), quote=False))
    return re.sub(r"[\\`|]|(?<=\])\(", r"\\\g<0>", escaped)


BAR = 24
"""Characters of a bar in a table of text."""


@dataclass(frozen=True)
class Bars:
    """Intervals of means on one scale, a bar for each row of a table.

    Attributes
    ----------
    title : str
    rows : sequence of (float, float, float)
        Low, mean and high; NaN for what is not known.
    """

    title: str
    rows: Sequence[tuple[float, float, float]]

    def places(self) -> list[list[float] | None]:
        """Where low, mean and high are, from 0 to 1; None without a mean."""
        known = [x for row in self.rows for x in row if math.isfinite(x)]
        least, size = min(known, default=0.0), max(known, default=0.0) - min(known, default=0.0)
        places: list[list[float] | None] = []
        for low, mean, high in self.rows:
            ends = (mean if math.isnan(low) else low, mean, mean if math.isnan(high) else high)
            row = [(x - least) / size if size else 0.5 for x in ends]
            places.append(row if math.isfinite(mean) else None)
        return places

    def texts(self, width: int = BAR, space: str = " ") -> list[str]:
        """The bars in characters: ``├──●──┤``."""
        bars = []
        for places in self.places():
            cells = [space] * width
            if places:
                low, mean, high = (round(place * (width - 1)) for place in places)
                cells[low : high + 1] = "─" * (high + 1 - low)
                cells[low], cells[high], cells[mean] = "├", "┤", "●"
            bars.append("".join(cells))
        return bars

    def drawings(self) -> list[str]:
        """The bars as SVG in the color of the text."""
        bars = []
        for row, places in zip(self.rows, self.places(), strict=True):
            low, mean, high = (4 + 112 * place for place in places or (0.0,) * 3)
            label = f"{number_text(row[1])} {interval_text(row[0], row[2])}"
            marks = (
                f'<path d="M{low:.1f} 7H{high:.1f}M{low:.1f} 3V11M{high:.1f} 3V11" '
                f'stroke="currentColor"/><circle cx="{mean:.1f}" cy="7" r="3" fill="currentColor"/>'
            )
            bars.append(
                f'<svg width="120" height="14" viewBox="0 0 120 14" role="img" '
                f'aria-label="{label}">{marks if places else ""}</svg>'
            )
        return bars


Style: TypeAlias = Literal["best", "second", "better", "worse"]
"""The place of a number in its column, or whether a difference is significant."""


@dataclass(frozen=True, repr=False)
class TextTable:
    """Cells of text under named columns, with notes below.

    Attributes
    ----------
    columns : sequence of str
        The first `left` are left-aligned, the others right-aligned.
    rows : sequence of sequences of str
    notes : sequence of str
    left : int
    styles : mapping of (int, int) to collection of str
        By row and column, what is special about a cell. Terminals and notebooks show it; text
        does not.
    bars : Bars or None
        A last column with intervals.
    spare : sequence of str
        Columns that a narrow terminal leaves out, in this order.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()
    left: int = 1
    styles: Mapping[tuple[int, int], Collection[Style]] = field(default_factory=dict)
    bars: Bars | None = None
    spare: Sequence[str] = ()

    def __repr__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        return self.to_html()

    def to_text(self) -> str:
        """Render for a terminal or a log: aligned columns, a rule, notes.

        A line of the table is one line of text, as `safe_text_cells` says.
        """
        grid = self.safe_text_cells()
        if self.bars is not None:
            title = shorten_middle(to_one_line(self.bars.title), BAR).ljust(BAR)
            bars = zip(grid, [title, *self.bars.texts()], strict=True)
            grid = [[*row, bar] for row, bar in bars]
        widths = [max(len(row[i]) for row in grid) for i in range(len(grid[0]))]

        def line(row: Sequence[str]) -> str:
            cells = [
                cell.ljust(width) if i < self.left else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(row, widths, strict=True))
            ]
            return "  ".join(cells).rstrip()

        rule = "─" * (sum(widths) + 2 * (len(widths) - 1))
        notes = map(to_one_line, self.notes)
        return "\n".join([line(grid[0]), rule, *map(line, grid[1:]), *notes])

    def safe_text_cells(self) -> list[list[str]]:
        """Cells of the header and of the rows for tables of text, safe for any names.

        Control characters become spaces; names of more than 80 characters, in the first column or
        above the others, get an … in their middle. Values are not shortened.
        """
        titles, *rows = ([*map(to_one_line, row)] for row in (self.columns, *self.rows))
        brief = [[shorten_middle(row[0], LONGEST_NAME), *row[1:]] for row in rows]
        return [[shorten_middle(title, LONGEST_NAME) for title in titles], *brief]

    def to_markdown(self) -> str:
        """Render as a pipe table, with the notes as a list below; no name is read as markup."""

        def line(row: Sequence[str]) -> str:
            return "| " + " | ".join(map(escape_markdown, row)) + " |"

        columns, rows = [*self.columns], [[*row] for row in self.rows]
        align = "|" + ":--|" * self.left + "--:|" * (len(columns) - self.left)
        if self.bars is not None:
            columns, align = [*columns, self.bars.title], f"{align}:--|"
        lines = [*map(line, rows)]
        if self.bars is not None:
            bars = zip(lines, self.bars.texts(space="·"), strict=True)
            lines = [f"{text} `{bar}` |" for text, bar in bars]
        return "\n".join([line(columns), align, *lines, *self.markdown_notes()])

    def markdown_notes(self) -> list[str]:
        """The lines of the notes in Markdown, after an empty one."""
        notes = [f"- {escape_markdown(note)}" for note in self.notes]
        return ["", *notes] if notes else []

    def to_latex(self, caption: str = "", label: str = "", below: Sequence[str] = ()) -> str:
        """Render as a ``tabular`` with booktabs rules; the notes are comments.

        With a caption or a label it is in a ``table``; texts `below` the last rule are printed. The
        significance markers ▲ ▼ become a raised plus and minus. pdfLaTeX compiles it unless a name
        has letters outside Latin script: these need XeLaTeX or LuaLaTeX.
        """
        lines = [
            rf"\begin{{tabular}}{{{'l' * self.left}{'r' * (len(self.columns) - self.left)}}}",
            r"\toprule",
            _latex_row(self.columns),
            r"\midrule",
            *map(_latex_row, self.rows),
            r"\bottomrule",
            *latex_footnotes(below, [self.columns, *self.rows]),
            r"\end{tabular}",
        ]
        return latex_with_notes(lines, self.notes, caption, label)

    def to_html(self) -> str:
        """Render as an HTML table in the reader's own colors; all text is escaped.

        The best mean of a column is bold and the second underlined.
        """
        # Cells inherit the alignment of the table, but browsers center headings.
        left, right = (f' style="text-align:{side}"' for side in ("left", "right"))

        drawings = self.bars.drawings() if self.bars else [""] * len(self.rows)
        titled = f"<th{left}>{_html_text(self.bars.title)}</th>" if self.bars else ""

        def line(row: Sequence[str], tag: str, index: int = -1) -> str:
            bar = f"<td{left}>{drawings[index]}</td>" if self.bars and index >= 0 else ""
            texts = [*map(_html_text, row)]
            cells = [
                f"<{tag}{left if i < self.left else right if tag == 'th' else ''}>"
                f"{_emphasize_number(text, self.styles.get((index, i), ()))}"
                f"</{tag}>"
                for i, text in enumerate(texts)
            ]
            return f"<tr>{''.join(cells)}{bar if index >= 0 else titled}</tr>"

        lines = "<br>".join(map(_html_text, self.notes))
        notes = f"<small>{lines}</small>" if lines else ""
        return (
            '<table cellpadding="6" style="border-collapse:collapse;text-align:right;'
            'font-variant-numeric:tabular-nums">'
            '<thead style="border-bottom:1px solid">'
            f"{line(self.columns, 'th')}</thead><tbody>"
            f"{''.join(line(row, 'td', n) for n, row in enumerate(self.rows))}</tbody></table>"
            f"{notes}"
        )


def _html_text(text: str) -> str:
    import html

    return html.escape(spell_out_hidden_characters(text))


@dataclass(frozen=True)
class MeanCell:
    """A mean in the table of means.

    `rank` is 1 if no system has a better one, 2 if it is the second, else 0. `mark` is the
    significance marker, ▲ or ▼ or letters of systems; with too many letters, `beats` counts the
    systems that are worse. `spread` is the standard deviation over training runs.
    """

    estimate: Estimate
    rank: int = 0
    mark: str = ""
    beats: int | None = None
    spread: float = math.nan

    def __str__(self) -> str:
        return f"{number_text(self.estimate.mean)} {self.mark}".rstrip()

    @property
    def styles(self) -> tuple[Style, ...]:
        """The styles in a table; letters have no color, as a mean may win and lose."""
        return _OF_RANK.get(self.rank, ()) + _OF_MARK.get(self.mark, ())


_OF_RANK: dict[int, tuple[Style, ...]] = {1: ("best",), 2: ("second",)}
_OF_MARK: dict[str, tuple[Style, ...]] = {"▲": ("better",), "▼": ("worse",)}


def _emphasize_number(cell: str, styles: Collection[Style]) -> str:
    """Emphasize the number of a cell in HTML, without the marker after the number."""
    tag = "b" if "best" in styles else "u" if "second" in styles else ""
    value, space, mark = cell.partition(" ")
    return f"<{tag}>{value}</{tag}>{space}{mark}" if tag else cell


def latex_with_notes(tabular: Sequence[str], notes: Sequence[str], caption: str, label: str) -> str:
    """Put notes as comments above a ``tabular``, in a ``table`` given a caption or a label."""
    lines = (" ".join(to_one_line(note).split()) for note in notes)
    comments = [f"% {line}".replace("▲", "+").replace("▼", "-") for line in lines]
    if not (caption or label):
        return "\n".join([*comments, *tabular])
    head = [r"\begin{table}", r"\centering"]
    head += [rf"\caption{{{caption}}}"] * bool(caption) + [rf"\label{{{label}}}"] * bool(label)
    return "\n".join([*comments, *head, *tabular, r"\end{table}"])


def latex_footnotes(texts: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """LaTeX rows below the last rule, wrapped to about the width of a table with these `rows`."""
    width = sum(max(map(len, column)) + 2 for column in zip(*rows, strict=True))
    lines = itertools.chain(*(textwrap.wrap(text, max(40, width)) for text in texts))
    escaped = (" ".join(map(escape_latex, line.split())) for line in lines)
    all_columns = rf"\multicolumn{{{len(rows[0])}}}{{@{{}}l@{{}}}}"
    return [rf"{all_columns}{{\footnotesize {line}}} \\" for line in escaped]


def escape_latex(text: str) -> str:
    """Escape the text of a cell for LaTeX."""
    cell = re.sub(r"(?<!\S)-(?=\d)|(?<=\[)-(?=\d)", "−", " ".join(to_one_line(text).split()))
    cell = re.sub("|".join(map(re.escape, _LATEX)), lambda sign: _LATEX[sign[0]], cell)
    # A bracket or a star at the start would be read as an argument of the preceding \\\\.
    return f"{{{cell}}}" if cell.startswith(("[", "*")) else cell


def _latex_row(row: Sequence[str]) -> str:
    return " & ".join(map(escape_latex, row)) + r" \\"


_SIGNS = {"▲": "+", "▼": "-"}


@dataclass(frozen=True)
class Means:
    """Table of means, systems × metrics.

    Attributes
    ----------
    metrics : sequence of str
    rows : mapping of str to sequence of MeanCell
        By what a system is called, the mean of each metric.
    ranks : sequence of str
        The ranks that the data allow for each system.
    meaning : str
        What the marks mean.
    places : str
        What the ranks mean.
    notes : sequence of str
    digits : int
    level : float or None
        Level of the interval that follows each mean; None without intervals.
    bars : Bars or None
        A last column with intervals, in Markdown.
    conventions : sequence of str
        What is printed of the convention.
    runs : str
        How often the systems were trained; empty if each was once.
    """

    metrics: Sequence[str]
    rows: Mapping[str, Sequence[MeanCell]]
    ranks: Sequence[str]
    meaning: str
    places: str
    notes: Sequence[str]
    digits: int = 4
    level: float | None = None
    bars: Bars | None = None
    conventions: Sequence[str] = ()
    runs: str = ""

    def to_latex(self, caption: str = "", label: str = "") -> str:
        """Render as a ``tabular`` with booktabs rules, in a ``table`` given a caption or a label.

        Cutoffs of one metric are under one head. What the marks mean, and the convention, are below
        the last rule.
        """
        aligned = f"l{'r' * (1 + len(self.metrics))}"
        lines = [rf"\begin{{tabular}}{{{aligned}}}", r"\toprule", *self._header_rows(), r"\midrule"]
        lines += [
            " & ".join([*map(escape_latex, head), *self._format_cells(row, _latex_cell)]) + r" \\"
            for head, row in self._titled_rows()
        ]
        lines += [r"\bottomrule", *self._footnote_rows(), r"\end{tabular}"]
        return latex_with_notes(lines, self.notes, caption, label)

    def _footnote_rows(self) -> list[str]:
        """LaTeX rows that explain the marks, wrapped to about the width of the table."""
        marked = any(cell.mark for row in self.rows.values() for cell in row)
        unbroken = [text.replace(" ", "\xa0") for text in self._meaning_of_numbers()]
        meanings = [*[self.meaning] * marked, self.places, *unbroken]
        rows = [[*head, *self._format_cells(row, _plain_cell)] for head, row in self._titled_rows()]
        texts = ["; ".join(meanings), *self.conventions]
        return latex_footnotes(texts, [["", "rank", *self.metrics], *rows])

    def _header_rows(self) -> list[str]:
        """LaTeX header of metric names, in two lines if cutoffs of one metric follow each other."""
        runs = [
            (base, [*labels])
            for base, labels in itertools.groupby(self.metrics, _name_without_cutoff)
        ]
        if all(len(labels) == 1 for _, labels in runs):
            return [" & ".join(["system", "rank", *map(escape_latex, self.metrics)]) + r" \\"]
        upper, rules, lower, column = ["", ""], "", ["system", "rank"], 3
        for base, labels in runs:
            n = len(labels)
            if n == 1:
                upper.append("")
                lower.append(escape_latex(labels[0]))
            else:
                upper.append(rf"\multicolumn{{{n}}}{{c}}{{{escape_latex(base)}}}")
                rules += rf"\cmidrule(lr){{{column}-{column + n - 1}}}"
                lower += [label.removeprefix(base) for label in labels]
            column += n
        return [" & ".join(upper) + r" \\", rules, " & ".join(lower) + r" \\"]

    def to_markdown(self) -> str:
        """Render as a pipe table."""
        lines = [
            " | ".join(["| system", "rank", *map(escape_markdown, self.metrics)]) + " |",
            "|:--|" + "--:|" * (1 + len(self.metrics)),
        ]
        lines += [
            " | ".join(
                [f"| {escape_markdown(title)}", rank, *self._format_cells(row, _markdown_cell)]
            )
            + " |"
            for (title, rank), row in self._titled_rows()
        ]
        if self.bars is not None:
            bars = [f"`{bar}`" for bar in self.bars.texts(space="·")]
            cells = [escape_markdown(self.bars.title), ":--", *bars]
            lines = [
                f"{line} {cell} |" if cell != ":--" else f"{line}:--|"
                for line, cell in zip(lines, cells, strict=True)
            ]
        notes = map(escape_markdown, self._meaning_of_numbers())
        return "\n".join([*lines, *(f"\n- {note}" for note in notes)])

    def _titled_rows(self) -> list[tuple[tuple[str, str], Sequence[MeanCell]]]:
        """The title, ranks and means of each system."""
        return [*zip(zip(self.rows, self.ranks, strict=True), self.rows.values(), strict=True)]

    def _meaning_of_numbers(self) -> list[str]:
        spread = [f"±: standard deviation over runs ({self.runs})"] * bool(self.runs)
        if self.level is None:
            return spread
        return [*spread, f"in brackets: {level_text(self.level)} intervals"]

    def _format_cells(
        self, row: Sequence[MeanCell], write: Callable[[str, str, str, int], str]
    ) -> list[str]:
        """Format the cells of a system with `write`: mean, what follows it, mark and rank."""
        return [
            write(
                number_text(cell.estimate.mean, self.digits),
                self._after_mean(cell),
                cell.mark,
                cell.rank,
            )
            for cell in row
        ]

    def _after_mean(self, cell: MeanCell) -> str:
        """The spread over training runs, and the interval."""
        spread = "" if math.isnan(cell.spread) else f"± {number_text(cell.spread, self.digits)}"
        interval = interval_text(*cell.estimate.interval, self.digits) if self.level else ""
        return f"{spread} {interval}".strip()


def _name_without_cutoff(label: str) -> str:
    """Name of the metric in a label, without the cutoff."""
    name, separator, k = label.rpartition("@")
    return name if separator and k.isdigit() else label


def _latex_cell(mean: str, after: str, mark: str, rank: int) -> str:
    text = {1: rf"\textbf{{{mean}}}", 2: rf"\underline{{{mean}}}"}.get(rank, escape_latex(mean))
    letters = rf"\mathrm{{{mark}}}"
    raised = f"$^{{{_SIGNS.get(mark, letters)}}}$" if mark else ""
    return f"{text}{raised}" + (rf" {{\scriptsize {escape_latex(after)}}}" if after else "")


def _plain_cell(mean: str, after: str, mark: str, rank: int) -> str:
    return f"{mean} {mark} {after}"


def _markdown_cell(mean: str, after: str, mark: str, rank: int) -> str:
    text = {1: f"**{mean}**", 2: f"<ins>{mean}</ins>"}.get(rank, mean)
    return " ".join(filter(None, [text, mark, after]))
