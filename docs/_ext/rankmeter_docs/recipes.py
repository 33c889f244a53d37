"""The cookbook: what a reader has and wants, and the line for it; and what data can look like."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from rankmeter_docs.rst import code, paragraphs, table
from rankmeter_docs.shapes import named

COOKBOOK = Path(__file__).parents[2] / "cookbook.toml"
WORDS = {
    "en": ("I have", "I want", "the line", "more", "looks like"),
    "ko": ("가진 것", "원하는 것", "코드", "자세히", "모양"),
}


@cache
def book() -> dict[str, Any]:
    """The recipes by section, and the data that they run on."""
    return tomllib.loads(COOKBOOK.read_text("utf-8"))


def english() -> str:
    """All recipes."""
    return _recipes("en")


def korean() -> str:
    """All recipes in Korean."""
    return _recipes("ko")


def data() -> str:
    """The names that the lines use."""
    body = "\n".join(f"   {line}".rstrip() for line in book()["data"].strip().splitlines())
    return f".. code-block:: python\n\n{body}\n"


def english_shapes() -> str:
    """What dictionaries and lists can look like, each with its example."""
    return _shapes("en")


def korean_shapes() -> str:
    """What dictionaries and lists can look like, in Korean."""
    return _shapes("ko")


def _recipes(language: str) -> str:
    have, want, line, more, _ = WORDS[language]
    end = "" if language == "en" else "_ko"
    parts = []
    for section in book()["section"]:
        parts.append(f".. rubric:: {section[language]}")
        rows = [
            (
                one[f"have{end}"].replace("`", "``"),
                one[f"want{end}"].replace("`", "``"),
                code(one["line"]) + (f" (:doc:`{more} </{one['page']}>`)" if "page" in one else ""),
            )
            for one in section["recipe"]
        ]
        parts.append(table([have, want, line], rows, widths=[27, 23, 50], style="rm-recipes"))
    return paragraphs(*parts)


def _shapes(language: str) -> str:
    have, looks = WORDS[language][0], WORDS[language][-1]
    rows = [(name, code(example)) for name, example in named(korean=language == "ko")]
    return table([have, looks], rows, widths=[40, 60], style="rm-recipes")
