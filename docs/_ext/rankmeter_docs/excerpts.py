"""The texts of all pages as a script, so that search shows excerpts without a server.

A page that is opened from a disk may not fetch other pages, but it may load scripts.
"""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

SCRIPT = "texts.js"


class Sections(HTMLParser):
    """The text of the article of a page by section, each under the id of its heading."""

    SILENT = frozenset({"script", "style", "svg", "math"})
    BLOCKS = frozenset({"p", "pre", "td", "th", "dt", "dd", "li", "div"})

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: dict[str, list[str]] = {"": []}
        self._current = ""
        self._silent = 0
        self.feed(page[page.find("<article") :].partition("</article>")[0])

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin a section, or something that has no text."""
        if tag == "section":
            self._current = f"#{dict(attrs).get('id')}"
            self.found[self._current] = []
        if tag in self.BLOCKS:
            self.found[self._current].append(" ")
        self._silent += tag in self.SILENT

    def handle_endtag(self, tag: str) -> None:
        """End what has no text."""
        self._silent -= tag in self.SILENT

    def handle_data(self, data: str) -> None:
        """Keep the text."""
        if not self._silent and data != "#":  # the link of a heading
            self.found[self._current].append(data)

    def texts(self) -> list[tuple[str, str]]:
        """Anchors and texts in order."""
        joined = {anchor: " ".join("".join(parts).split()) for anchor, parts in self.found.items()}
        return [(anchor, text) for anchor, text in joined.items() if text]


def _load(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object) -> None:
    if page == "search":
        app.add_js_file(SCRIPT)
        app.add_js_file("excerpts.js")


def _write(app: Sphinx, error: Exception | None) -> None:
    out = Path(app.outdir)
    if error is None and app.builder.name == "html":
        pages = {page: out / f"{page}.html" for page in sorted(app.env.found_docs)}
        texts = {page: Sections(path.read_text("utf-8")).texts() for page, path in pages.items()}
        data = json.dumps(texts, ensure_ascii=False, separators=(",", ":"))
        (out / "_static" / SCRIPT).write_text(f"const TEXTS = {data};\n", "utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Load the texts on the search page, and write them when all pages are written."""
    app.connect("html-page-context", _load)
    app.connect("build-finished", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
