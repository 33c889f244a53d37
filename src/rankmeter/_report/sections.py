"""The sections of a page, in order: the navigation and the page are made from one list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rankmeter.errors._checks import Words


class Section(NamedTuple):
    """A section: its block in the templates, its place in the page, and its name in the links."""

    block: str
    place: str
    link: str
    needs: str = ""
    """The content or the charts without which the page has no such section."""


SECTIONS = (
    Section("means", "means-part", "Means"),
    Section("verdicts", "verdicts-part", "By metric", "cards"),
    Section("forest", "forest-part", "Differences", "differences"),
    Section("tradeoff", "tradeoff-part", "Trade-offs", "tradeoff"),
    Section("spread", "spread-part", "{Users}", "distribution"),
    Section("curve", "curve-part", "Against k", "curve"),
    Section("hits", "hits-part", "First hits", "hits"),
    Section("popularity", "popularity-part", "Popularity", "popularity"),
    Section("segments", "segments-part", "Segments", "segments"),
    Section("users", "users-part", "{Users}", "differences"),
    Section("extremes", "users-part", "Worst and best", "distribution"),
)
"""Of all pages; a page has those that it has the content of."""


def sections_of_page(
    content: Mapping[str, Any], drawings: Mapping[str, Any], words: Words
) -> Sequence[Section]:
    """The sections of a page with this content and these charts, named in the words of a field."""
    return [
        section._replace(link=section.link.format(Users=words.users.capitalize()))
        for section in SECTIONS
        if not section.needs or content.get(section.needs) or drawings.get(section.needs)
    ]
