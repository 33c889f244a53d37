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


MOST_DECIMALS = 8
"""Decimals beyond which a number has an exponent."""


def decimals_by_size(*values: float) -> int:
    """Decimals that show two digits of the largest of some numbers: four, unless all are small."""
    largest = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
    return max(4, 1 - math.floor(math.log10(largest))) if largest else 4


def number_text(value: float | None, digits: int = 4) -> str:
    """Format a value for tables, a dash for NaN.

    With the usual four decimals, values of 1,000 or more have one decimal, and values below 0.0001
    as many as show two digits.
    """
    if value is None or math.isnan(value):
        return "–"
    if digits == 4 and abs(value) < 0.0001:
        digits = decimals_by_size(value)
        if digits > MOST_DECIMALS:
            return f"{value:.1e}"
    return f"{value:z,.1f}" if digits == 4 and abs(value) >= 1000 else f"{value:z,.{digits}f}"


def interval_text(low: float, high: float, digits: int = 4) -> str:
    """Format an interval for tables; both ends have the decimals that the larger one needs."""
    if digits == 4 and max(abs(low), abs(high)) < 0.0001:
        return f"[{number_text(low)}, {number_text(high)}]"
    low, high = (0.0 if abs(end) < 0.5 * 10.0**-digits else end for end in (low, high))
    return f"[{number_text(low, digits)}, {number_text(high, digits)}]"


def level_text(confidence: float) -> str:
    """Format the level of an interval in percent, never as 100: ``95 %``, ``99.99999 %``."""
    percent = f"{100 * confidence:g}"
    if percent == "100":
        percent = str((100 * Decimal(repr(confidence))).normalize())
    return f"{percent} %"


def change_text(value: float, *others: float, digits: int | None = None) -> str:
    """Format a difference with its sign, a dash for NaN; with the decimals of all that go with it.

    A difference other than 0 is never written as 0.
    """
    if math.isnan(value):
        return "–"
    decimals = decimals_by_size(value, *others) if digits is None else digits
    if decimals > MOST_DECIMALS or (digits is None and 0.0 < abs(value) < 0.5 * 10**-decimals):
        return f"{value:+.1e}"
    return f"{value:+z.{decimals}f}"


def size_text(value: float, *others: float) -> str:
    """Format the size of a difference, without its sign."""
    return change_text(abs(value), *others).removeprefix("+")


def signed_text(value: float, *others: float) -> str:
    """Format a difference with its sign, with a true minus below 0."""
    return change_text(value, *others).replace("-", "−")


def interval_of_change(value: float, low: float, high: float) -> str:
    """Format the interval of a difference; a dash without an interval."""
    if math.isnan(low):
        return "–"
    return f"[{_end_text(low, value, high)}, {_end_text(high, value, low)}]"


def _end_text(end: float, *others: float) -> str:
    """Format the end of an interval, which may be 0 to its decimals."""
    decimals = decimals_by_size(end, *others)
    return f"{end:+.1e}" if decimals > MOST_DECIMALS else f"{end:+z.{decimals}f}"


def p_value_text(p: float, *, at_most: bool = False, exact: bool = False) -> str:
    """Format a p-value with four decimals, a dash for NaN.

    Below them an `exact` p has two digits, another one is ``<0.0001``. A p that is `at_most` what
    the flips that were drawn can show is ``≤0.0001``.
    """
    if math.isnan(p):
        return "–"
    if at_most:
        decimals = max(4, 1 - math.floor(math.log10(p)))
        bound = math.ceil(p * 10**decimals - 1e-6) / 10**decimals
        whole, _, fraction = f"{bound:.{decimals}f}".partition(".")
        return f"≤{whole}.{fraction[:4]}{fraction[4:].rstrip('0')}"
    if p < 0.0001:
        return f"{p:.1e}" if exact else "<0.0001"
    return f"{p:.4f}"


def p_equation(p: float, *, at_most: bool = False, exact: bool = False) -> str:
    """Format a p-value for a sentence: ``p = 0.0123``, ``p < 0.0001``, ``p ≤ 0.0001``."""
    text = p_value_text(p, at_most=at_most, exact=exact)
    return f"p {text[0]} {text[1:]}" if text[0] in "<≤" else f"p = {text}"


def odds_text(p: float, *, at_most: bool = False) -> str:
    """Express a p-value as a number of samples: ``30 of 100``, ``fewer than 1 of 10,000``."""
    if at_most or p < 0.0001:
        return f"fewer than 1 of {round(1 / p) if at_most else 10_000:,}"
    if p >= 0.01:
        return f"{100 * p:.0f} of 100"
    n = 1 / p
    step = 10 ** max(len(f"{n:.0f}") - 2, 0)
    return f"about 1 of {round(n / step) * step:,}"


def to_json_value(value: Any) -> Any:
    """Convert values for JSON, with None in place of infinite and NaN numbers."""
    if isinstance(value, str | int | float | None):
        return None if isinstance(value, float) and not math.isfinite(value) else value
    if isinstance(value, Mapping):
        return {name: to_json_value(item) for name, item in value.items()}
    return [*map(to_json_value, value)] if isinstance(value, list | tuple) else value
