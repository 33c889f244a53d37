"""Building blocks of reStructuredText for the generated pages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from textwrap import indent


def heading(text: str, mark: str) -> str:
    """A heading; marks from the top: ``=``, ``-``, ``~``, ``^``."""
    width = sum(2 if "가" <= letter <= "힣" else 1 for letter in text)
    return f"{text}\n{mark * width}\n"


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    widths: Sequence[int] | None = None,
    style: str = "rm-table",
) -> str:
    """A table whose cells are reStructuredText; it scrolls if it is too wide."""
    options = ["   :header-rows: 1", f"   :class: {style}"]
    if widths:
        options.append(f"   :widths: {' '.join(map(str, widths))}")
    body = []
    for row in (columns, *rows):
        for number, cell in enumerate(row):
            lead = "   * - " if number == 0 else "     - "
            body.append(lead + indent(cell, " " * 7).lstrip())
    lines = [".. list-table::", *options, "", *body]
    return "\n".join(lines) + "\n"


def raw_html(markup: str) -> str:
    """Raw HTML."""
    return f".. raw:: html\n\n{indent(markup, '   ')}\n"


def facts(rows: Iterable[tuple[str, str]]) -> str:
    """Names and their descriptions, side by side."""
    body = "\n".join(f":{name}: {text}" for name, text in rows)
    return f".. container:: rm-facts\n\n{indent(body, '   ')}\n"


def code(text: object) -> str:
    """Text as code."""
    return f"``{text}``"


def plain(text: str) -> str:
    """Text on one line without markup; URLs are still links."""
    return re.sub(r"[\\*`|@]|_(?!\w)", r"\\\g<0>", " ".join(text.split()))


def paragraphs(*parts: str) -> str:
    """Parts with blank lines between them; empty ones are left out."""
    return "\n\n".join(part.strip("\n") for part in parts if part.strip()) + "\n"


__all__ = ["code", "escape", "facts", "heading", "paragraphs", "plain", "raw_html", "table"]
