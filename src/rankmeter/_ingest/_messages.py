"""The small phrases that every message of the ingest layer needs."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice

__all__ = ["near", "rows", "short", "some"]


def short(value: object, width: int = 60) -> str:
    """The repr of a value, cut to a readable length."""
    text = repr(value)
    return text if len(text) <= width else text[: width - 1] + "…"


def some(values: Iterable[object], n: int = 3) -> str:
    """The first values, as a person would list them."""
    first = [short(value) for value in islice(iter(values), n + 1)]
    return ", ".join(first[:n]) + (", …" if len(first) > n else "")


def rows(indices: Iterable[int], n: int = 3) -> str:
    """Row numbers for people: the first few, counted from 1."""
    first = [str(index + 1) for index in islice(iter(indices), n + 1)]
    word = "row" if len(first) == 1 else "rows"
    return f"{word} {', '.join(first[:n])}{', …' if len(first) > n else ''} (the first row is 1)"


def near(word: str, options: Iterable[str]) -> str:
    """The sentence ``Did you mean …?`` with its leading space, or nothing."""
    lower = {option.lower(): option for option in options}
    found = get_close_matches(word.lower(), lower, n=3, cutoff=0.6)
    return f" Did you mean {' or '.join(repr(lower[key]) for key in found)}?" if found else ""
