"""Pictures of what the Python examples of a page make, next to the code that makes it.

``{shown} NAME`` inserts a chart or table that the examples assigned to a name, ``{framed} FILE`` a
page that they wrote, ``{wall}`` all of these small, each with a link to its section. The
examples of a page run once for each build, in a folder of their own.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import re
import shutil
import tempfile
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

WIDE = 700
"""A chart that is wider scrolls on a narrow screen; others shrink."""


@cache
def results(page: Path) -> tuple[dict[str, Any], tempfile.TemporaryDirectory[str]]:
    """The names that the examples of a page define, and the folder with the files they write."""
    folder = tempfile.TemporaryDirectory()
    blocks = re.findall(r"(?ms)^```python\n(.*?)^```", page.read_text("utf-8"))
    names: dict[str, Any] = {}
    with contextlib.chdir(folder.name), contextlib.redirect_stdout(io.StringIO()):
        for example in doctest.DocTestParser().get_examples("\n".join(blocks)):
            exec(compile(example.source, str(page), "single"), names)
    return names, folder


def drawing(chart: Any, name: str, *, first: bool = False) -> str:
    """An Altair chart, or only the first of several, as SVG in the inks of the page.

    To a screen reader it is one image with the title of the chart.
    """
    import vl_convert

    spec = chart.to_dict()
    if first and (panes := spec.pop("concat", spec.pop("hconcat", None))):
        spec.pop("resolve", None)
        spec |= panes[0]
    svg: str = vl_convert.vegalite_to_svg(spec)
    config = spec["config"]
    inks = {
        config["background"]: "none",
        config["axis"]["labelColor"]: "currentColor",
        config["axis"]["gridColor"]: "var(--rm-line)",
        config["title"]["subtitleColor"]: "var(--rm-muted)",
    }
    for ink, themed in inks.items():
        svg = svg.replace(f'"{ink}"', f'"{themed}"')
    svg = re.sub(
        r'(\bid="|url\(#)', rf"\g<1>{name}-", svg
    )  # ids are those of a page, not of a chart
    title = spec.get("title", name)
    texts = [title.get("text"), title.get("subtitle")] if isinstance(title, dict) else [title]
    label = escape(", ".join(str(text) for text in texts if text), quote=True)
    svg = re.sub(r' (?:role|aria-[a-z]+)="[^"]*"', "", svg)
    svg = svg.replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1)
    width = float(re.search(r'\bwidth="([\d.]+)"', svg)[1])
    wide = f' rm-wide" {scrollable(label)}' if width > WIDE else '"'
    return f'<div class="rm-drawing{wide}>{svg}</div>'


def scrollable(label: str) -> str:
    """The attributes of a part that a keyboard can scroll."""
    return f'tabindex="0" role="region" aria-label="{label}, scrollable"'


class Shown(SphinxDirective):
    """The picture of a value of the examples."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Draw the value, or use the HTML that a notebook would show."""
        name = self.arguments[0]
        value = results(Path(self.env.doc2path(self.env.docname)))[0][name]
        self.env.note_reread()  # the library can change without the page
        if hasattr(value, "_repr_html_"):
            body = f'<div class="rm-output" {scrollable(name)}>{value._repr_html_()}</div>'
        else:
            body = drawing(value, name)
        return [nodes.raw("", body, format="html")]


class Framed(SphinxDirective):
    """A page that the examples wrote, in a frame and under a link; the content is its title."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Copy the page next to the others."""
        page = Path(self.env.doc2path(self.env.docname))
        static = Path(self.env.app.outdir, "_static")
        static.mkdir(parents=True, exist_ok=True)
        shutil.copy(Path(results(page)[1].name, self.arguments[0]), static)
        self.env.note_reread()
        address, title = f"_static/{self.arguments[0]}", escape(" ".join(self.content))
        body = (
            '<div class="rm-frame"><div>'
            f'<iframe src="{address}" title="{title}" loading="lazy"></iframe></div>'
            f'<p><a href="{address}">{title}, on a page of its own</a></p></div>'
        )
        return [nodes.raw("", body, format="html")]


PLACE = re.compile(r"^## (.*)$|\{(shown|framed)\} (\S+)", re.MULTILINE)


class Wall(SphinxDirective):
    """Every picture of the page small; the arguments are the framed page, light and dark."""

    required_arguments = 2

    def run(self) -> list[nodes.Node]:
        """Link each section that has a picture."""
        self.env.note_reread()
        page = Path(self.env.doc2path(self.env.docname))
        section, entries = "", []
        for title, kind, name in PLACE.findall(page.read_text("utf-8")):
            section = title or section
            if kind:
                small = (
                    self.small(results(page)[0][name], f"small-{name}")
                    if kind == "shown"
                    else "".join(
                        f'<img class="only-{theme}" src="{picture}" alt="">'
                        for theme, picture in zip(("light", "dark"), self.arguments, strict=True)
                    )
                )
                entries.append(
                    f'<li><a href="#{nodes.make_id(section)}"><div aria-hidden="true">{small}</div>'
                    f"<span>{escape(section)}</span></a></li>"
                )
        return [nodes.raw("", f'<ul class="rm-wall">{"".join(entries)}</ul>', format="html")]

    @staticmethod
    def small(value: Any, name: str) -> str:
        """A chart that fills its place, or the beginning of a table."""
        if not hasattr(value, "_repr_html_"):
            drawn = drawing(value, name, first=True)
            return drawn[drawn.index("<svg") : drawn.rindex("</div>")]
        body: str = value._repr_html_()
        wide = re.compile(r'<svg[^>]*\bwidth="\d{3,}.*?</svg>', re.DOTALL)
        return f"<div>{wide.sub('', body)}</div>"


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives."""
    app.add_directive("shown", Shown)
    app.add_directive("framed", Framed)
    app.add_directive("wall", Wall)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
