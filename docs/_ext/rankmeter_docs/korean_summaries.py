"""What each metric is, in Korean: on its page, and on a page of all metrics."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

from rankmeter_docs.rst import paragraphs

KOREAN = Path(__file__).parents[2] / "korean.toml"


@cache
def sections() -> dict[str, dict[str, str]]:
    """The summaries by metric, by section."""
    return tomllib.loads(KOREAN.read_text("utf-8"))


def summary(name: str) -> str:
    """The summary of a metric, empty without one; Korean words follow code without a space."""
    text = "".join(texts.get(name, "") for texts in sections().values())
    opening, *rest = text.split("`")
    return opening + "".join(f"`{part}`\\ " if n % 2 == 0 else part for n, part in enumerate(rest))


def overview() -> str:
    """All summaries, by section."""
    parts = []
    for title, texts in sections().items():
        parts.append(f".. rubric:: {title}")  # Korean headings would have no ids of their own
        parts += [f":doc:`{name} </metrics/{name}>`\n   {summary(name)}" for name in texts]
    return paragraphs(*parts)
