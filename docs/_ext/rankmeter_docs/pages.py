"""Writes the generated pages before Sphinx looks for pages; removes outdated ones."""

from __future__ import annotations

from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config

from rankmeter_docs import api_pages, conventions, metric_pages
from rankmeter_docs.public import objects


def write(folder: Path, pages: dict[str, str], *, keep: frozenset[str] = frozenset()) -> None:
    """Write the pages that changed, so that Sphinx does not read unchanged pages again.

    Other pages in the folder are removed, except those in `keep`.
    """
    folder.mkdir(exist_ok=True)
    for name, text in pages.items():
        file = folder / f"{name}.rst"
        if not file.is_file() or file.read_text("utf-8") != text:
            file.write_text(text, "utf-8")
    for file in folder.glob("*.rst"):
        if file.stem not in pages.keys() | keep:
            file.unlink()


def _generate(app: Sphinx, config: Config) -> None:
    write(Path(app.srcdir, "metrics"), metric_pages.pages())
    write(Path(app.srcdir, "conventions"), conventions.pages())
    # autosummary writes a page for each public name next to the index.
    write(Path(app.srcdir, "api"), api_pages.pages(), keep=frozenset(objects()))


def setup(app: Sphinx) -> dict[str, bool]:
    """Run as early as possible: autosummary looks for names in existing pages."""
    app.connect("config-inited", _generate)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
