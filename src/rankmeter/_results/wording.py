"""Numbers, and what is said of several names, as tables, sentences and JSON show them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any, TypeVar

K = TypeVar("K")
V = TypeVar("V")


def group_by_key(pairs: Iterable[tuple[K, V]]) -> dict[K, list[V]]:
    """Group values by key, with keys in the order of first occurrence."""
    groups: dict[K, list[V]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


def number_text(value: float | None, digits: int = 4) -> str:
    """Format a value for tables, a dash for NaN.

    With the usual four decimals, values of 1,000 or more have one decimal.
    """
    if value is None or math.isnan(value):
        return "–"
    return f"{value:z,.1f}" if digits == 4 and abs(value) >= 1000 else f"{value:z.{digits}f}"


def interval_text(low: float, high: float, digits: int = 4) -> str:
    """Format an interval for tables."""
    return f"[{number_text(low, digits)}, {number_text(high, digits)}]"


def level_text(confidence: float) -> str:
    """Format the level of an interval in percent, never as 100: ``95 %``, ``99.99999 %``."""
    percent = f"{100 * confidence:g}"
    if percent == "100":
        percent = str((100 * Decimal(repr(confidence))).normalize())
    return f"{percent} %"


def change_text(value: float, *, digits: int = 4) -> str:
    """Format a difference for tables: with its sign, a dash for NaN."""
    return "–" if math.isnan(value) else f"{value:+z.{digits}f}"


def signed_text(value: float) -> str:
    """Format a difference with its sign, with a true minus below 0."""
    return f"{value:+.4f}".replace("-", "−")


def p_value_text(p: float) -> str:
    """Format a p-value with four decimals, or as ``<0.0001``, or a dash for NaN."""
    if math.isnan(p):
        return "–"
    return "<0.0001" if p < 0.0001 else f"{p:.4f}"


def p_equation(p: float) -> str:
    """Format a p-value for a sentence: ``p = 0.0123``, ``p < 0.0001``."""
    text = p_value_text(p)
    return f"p {text[0]} {text[1:]}" if text.startswith("<") else f"p = {text}"


def to_json_value(value: Any) -> Any:
    """Convert values for JSON, with None in place of infinite and NaN numbers."""
    if isinstance(value, Mapping):
        return {name: to_json_value(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_json_value(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
