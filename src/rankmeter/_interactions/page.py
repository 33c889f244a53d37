"""How interactions and splits look in a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def html_title(text: str) -> str:
    """A line above the tables."""
    return f"<p><strong>{escape(text)}</strong></p>"


def html_table(rows: Iterable[Sequence[str]], head: Sequence[str] = ()) -> str:
    """Rows of cells under a head, if there is one; nothing without rows."""
    lines = [_html_row(cells, "td") for cells in rows]
    titles = _html_row(head, "th") if head else ""
    return f"<table>{titles}{''.join(lines)}</table>" if lines else ""


def _html_row(cells: Sequence[str], tag: str) -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"
