"""Numbers, and what is said of several names, as tables, sentences and JSON show them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any, TypeVar

K = TypeVar("K")
V = TypeVar("V")


def by_key(pairs: Iterable[tuple[K, V]]) -> dict[K, list[V]]:
    """The values of each key; keys are in the order of their first occurrence."""
    groups: dict[K, list[V]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


def number(value: float | None, digits: int = 4) -> str:
    """A value as tables show it, a dash for NaN; with the usual four decimals one for thousands."""
    if value is None or math.isnan(value):
        return "–"
    return f"{value:z,.1f}" if digits == 4 and abs(value) >= 1000 else f"{value:z.{digits}f}"


def interval_text(low: float, high: float, digits: int = 4) -> str:
    """An interval as tables show it."""
    return f"[{number(low, digits)}, {number(high, digits)}]"


def level(confidence: float) -> str:
    """The level of an interval in percent, which is never 100: ``95 %``, ``99.99999 %``."""
    percent = f"{100 * confidence:g}"
    if percent == "100":
        percent = str((100 * Decimal(repr(confidence))).normalize())
    return f"{percent} %"


def change(value: float, *, digits: int = 4) -> str:
    """A difference as tables show it: with its sign, a dash if it does not exist."""
    return "–" if math.isnan(value) else f"{value:+z.{digits}f}"


def signed(value: float) -> str:
    """A difference with its sign, which is a true minus below 0."""
    return f"{value:+.4f}".replace("-", "−")


def p_value(p: float) -> str:
    """A p-value with four decimals, or ``<0.0001``, or a dash for NaN."""
    if math.isnan(p):
        return "–"
    return "<0.0001" if p < 0.0001 else f"{p:.4f}"


def p_text(p: float) -> str:
    """A p-value in a sentence: ``p = 0.0123``, ``p < 0.0001``."""
    text = p_value(p)
    return f"p {text[0]} {text[1:]}" if text.startswith("<") else f"p = {text}"


def json_value(value: Any) -> Any:
    """Values for JSON, which has null where a number is infinite or does not exist."""
    if isinstance(value, Mapping):
        return {name: json_value(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
