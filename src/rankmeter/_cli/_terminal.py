"""Output for a terminal: tables on stdout, progress on stderr."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from rankmeter._files import report_progress_to

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from rankmeter._results.answer import Answer
    from rankmeter._results.tables import Bars, Style, TextTable
    from rankmeter._results.walkthrough import Walkthrough

_COLORS = {"better": "green", "worse": "red"}
_LINES = {"best": "bold", "second": "underline"}
_ENDLESS = 10_000  # characters in a line of a file
_LEAD = 16  # least width of the first column, in characters
_GAP = 2  # characters between two columns
_WIDEST = 48  # characters of a bar
_PATIENCE = 1.0  # seconds until progress is shown
_REFRESHED = 0.2  # and between two looks at it


def print_table(table: TextTable, title: str = "") -> None:
    """Write a table on stdout: drawn on a terminal, else as plain text.

    No number is ever cut. Where the terminal is too narrow, bars are left out and the first column
    is folded; then the `spare` columns are left out, in their order; then what does not fit
    continues below. The best mean is bold, the second underlined, and what is significant has a
    color besides its marker.
    """
    if not _is_terminal():
        click.echo("\n".join(filter(None, [title, table.to_text()])))
        return
    from rich.text import Text

    console = _console()
    if title:
        console.print(Text(title, style="italic"))
    cells = table.safe_text_cells()
    if table.bars is not None:
        cells = _with_bars(cells, table.bars, console.width)
    lead, blocks = _column_blocks(cells, console.width, table.spare)
    for number, block in enumerate(blocks):
        if number:
            console.print()
        _draw_table(cells, lead, block, table)
    notes = list(table.notes)
    visible = {cells[0][i] for block in blocks for i in block}
    if missing := [name for name in cells[0][1:] if name not in visible]:
        notes.append(f"no room for {', '.join(missing)}")
    print_sentences(notes, style="dim")


def print_answer(answer: Answer) -> None:
    """Write what a result says: on a terminal drawn, and wrapped at words."""
    if not _is_terminal():
        click.echo(answer.to_text("--details"))
        return
    from rankmeter._results.tables import TextTable

    print_sentences([answer.title], style="bold")
    for part in answer.shown():
        click.echo()
        if isinstance(part, TextTable):
            print_table(part)
        else:
            print_sentences(part)
    print_sentences(filter(None, [answer.more("--details")]), style="dim")


def print_walkthrough(walk: Walkthrough) -> None:
    """Write on stdout how the values of a user are computed."""
    if not _is_terminal():
        click.echo(repr(walk))
        return
    from rich.text import Text

    from rankmeter._results.tables import TextTable
    from rankmeter._results.walkthrough import Heading
    from rankmeter.errors import to_one_line

    console = _console()
    for part in walk.parts():
        if isinstance(part, TextTable):
            print_table(part)
        else:
            heading = isinstance(part, Heading)
            console.print("\n" * heading, end="")
            console.print(Text(to_one_line(part), style="bold" if heading else ""))


def print_sentences(sentences: Iterable[str], style: str = "") -> None:
    """Write each sentence on a line of its own; on a terminal, wrapped at words."""
    from rankmeter.errors import to_one_line

    for sentence in map(to_one_line, sentences):
        if not _is_terminal():
            click.echo(sentence)
            continue
        from rich.text import Text

        console = _console()
        for line in Text(sentence, style=style).wrap(console, console.width):
            line.rstrip()
            console.print(line)


def _is_terminal() -> bool:
    """Whether standard output is a terminal, or color is forced for other outputs."""
    return sys.stdout.isatty() or (_is_color_forced() and not os.environ.get("NO_COLOR"))


def _is_color_forced() -> bool:
    """Whether the environment forces color: FORCE_COLOR or CLICOLOR_FORCE."""
    on = os.environ.get("CLICOLOR_FORCE", "0") not in ("", "0")
    return on or bool(os.environ.get("FORCE_COLOR"))


def _console(*, wide: bool = False) -> Console:
    """Rich console on standard output, which respects NO_COLOR and TERM=dumb.

    The width is unlimited for a file, or if `wide`.
    """
    from rich.console import Console

    width = _ENDLESS if wide or not sys.stdout.isatty() else None
    return Console(highlight=False, width=width, force_terminal=_is_color_forced() or None)


def _with_bars(cells: list[list[str]], bars: Bars, room: int) -> list[list[str]]:
    """Cells with a last column of bars, as wide as there is room; as they are without room."""
    from rich.cells import cell_len

    taken = sum(_GAP + max(map(cell_len, column)) for column in zip(*cells, strict=True))
    width = min(room - taken, _WIDEST)
    if width < cell_len(bars.title):
        return cells
    return [
        [*row, bar]
        for row, bar in zip(cells, [bars.title.ljust(width), *bars.texts(width)], strict=True)
    ]


def _column_blocks(
    cells: Sequence[Sequence[str]], room: int, spare_columns: Sequence[str]
) -> tuple[int, list[list[int]]]:
    """Width of the first column, and indices of the other columns of each drawn table."""
    from rich.cells import cell_len

    widths = [max(map(cell_len, column)) for column in zip(*cells, strict=True)]
    lead = min(widths[0], _LEAD)

    def taken_width(columns: Sequence[int]) -> int:
        return sum(_GAP + widths[i] for i in columns)

    indices = list(range(1, len(widths)))
    for name in spare_columns:
        if lead + taken_width(indices) > room:
            indices = [i for i in indices if cells[0][i] != name]
    blocks: list[list[int]] = [[]]
    for i in indices:
        if blocks[-1] and lead + taken_width([*blocks[-1], i]) > room:
            blocks.append([])
        blocks[-1].append(i)
    spare = room - max(map(taken_width, blocks))
    return min(widths[0], max(lead, spare)), blocks


def _draw_table(
    cells: Sequence[Sequence[str]], lead: int, block: Sequence[int], table: TextTable
) -> None:
    from rich import box
    from rich.table import Table as Drawn
    from rich.text import Text

    grid = Drawn(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    grid.add_column(Text(cells[0][0]), style="bold", width=lead, overflow="fold")
    for i in block:
        grid.add_column(
            Text(cells[0][i]),
            justify="right" if table.left <= i < len(table.columns) else "left",
            no_wrap=True,
        )
    for number, row in enumerate(cells[1:]):
        grid.add_row(
            *(_styled_cell(row[i], table.styles.get((number, i), ())) for i in (0, *block))
        )
    # The widths are fixed: a number that is wider than the terminal is not cut either.
    _console(wide=True).print(grid)


def _styled_cell(text: str, styles: Collection[Style]) -> Text:
    """Style a cell: colors for the whole text, bold and underline only for the number."""
    from rich.text import Text

    cell = Text(text, style=" ".join(_COLORS[style] for style in styles if style in _COLORS))
    line = " ".join(_LINES[style] for style in styles if style in _LINES)
    cell.stylize(line, 0, len(text.partition(" ")[0]))
    return cell


def mean_with_interval(mean: float | None, low: float | None, high: float | None) -> str:
    """Format a mean and its interval for one cell."""
    from rankmeter._results.wording import interval_text, number_text

    nan = float("nan")
    ends = interval_text(nan if low is None else low, nan if high is None else high)
    return f"{number_text(mean)} {ends}"


def terminal_help_formatter() -> click.HelpFormatter:
    """Empty help formatter of the width of the terminal, for texts and lists of terms."""
    return click.HelpFormatter(max_width=100)


def print_progress(message: str) -> None:
    """Show progress, on a terminal only."""
    if sys.stderr.isatty():
        from rankmeter.errors import to_one_line

        click.secho(to_one_line(message), err=True, dim=True, color=not os.environ.get("NO_COLOR"))


@contextmanager
def show_spinner(message: str) -> Iterator[None]:
    """Show on a terminal that long work is in progress; quick work shows nothing."""
    if not sys.stderr.isatty():
        yield
        return
    done, lines = threading.Event(), [message]
    thread = threading.Thread(target=_draw_spinner, args=(lines, done), daemon=True)
    thread.start()
    try:
        with report_progress_to(lines.append):
            yield
    finally:
        done.set()
        thread.join()


def _draw_spinner(lines: list[str], done: threading.Event) -> None:
    """Show the last of `lines` next to a spinner until the work is done."""
    if done.wait(_PATIENCE):
        return
    from rich.console import Console

    with Console(stderr=True).status(lines[-1]) as status:
        while not done.wait(_REFRESHED):
            status.update(lines[-1])
            del lines[:-1]
