"""The terms of the glossary in Korean order, each with its English term."""

from __future__ import annotations

from pathlib import Path

from rankmeter_docs.rst import table

GLOSSARY = Path(__file__).parents[2] / "glossary.md"


def terms() -> dict[str, str]:
    """English term by Korean term: two consecutive lines without indentation."""
    text = GLOSSARY.read_text("utf-8").partition("```{glossary}")[2].partition("```")[0]
    entries = [entry.splitlines() for entry in text.strip().split("\n\n")]
    return {
        korean: english
        for english, korean, *_ in (entry for entry in entries if len(entry) > 2)
        if not korean.startswith((" ", ":"))
    }


def korean_terms() -> str:
    """All terms, in the order of Hangul."""
    rows = [(f":term:`{korean}`", english) for korean, english in sorted(terms().items())]
    return table(["한국어", "English"], rows, widths=[50, 50])
