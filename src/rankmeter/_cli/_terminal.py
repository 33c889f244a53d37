"""What a person sees on a terminal: tables on stdout, and on stderr that work goes on."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rankmeter._report.table import Table

__all__ = ["note", "page", "print_table", "working"]

_PATIENCE = 1.0  # seconds after which a person wonders whether anything happens


def print_table(table: Table, title: str = "") -> None:
    """Write a table on stdout: drawn on a terminal, else as plain text."""
    if not sys.stdout.isatty():
        click.echo("\n".join(filter(None, [title, table.to_text()])))
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table as Drawn
    from rich.text import Text

    drawn = Drawn(box=box.SIMPLE_HEAD, title=title or None, title_justify="left", pad_edge=False)
    for number, name in enumerate(table.columns):
        first = number == 0
        drawn.add_column(
            Text(name), justify="left" if first else "right", style="bold" if first else ""
        )
    for row in table.rows:
        drawn.add_row(*map(Text, row))
    console = Console(highlight=False)
    console.print(drawn)
    if table.notes:
        console.print(Text(" · ".join(table.notes), style="dim"))


def page() -> click.HelpFormatter:
    """An empty page of the width of the terminal, for texts and lists of terms."""
    return click.HelpFormatter(max_width=100)


def note(message: str) -> None:
    """Tell a person on a terminal, and nobody else, how far things are."""
    if sys.stderr.isatty():
        click.secho(message, err=True, dim=True, color=not os.environ.get("NO_COLOR"))


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show on a terminal that long work goes on; what is over at once shows nothing."""
    if not sys.stderr.isatty():
        yield
        return
    done = threading.Event()
    thread = threading.Thread(target=_spin, args=(what, done), daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _spin(what: str, done: threading.Event) -> None:
    if done.wait(_PATIENCE):
        return
    from rich.console import Console

    with Console(stderr=True).status(what):
        done.wait()
