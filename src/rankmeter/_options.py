"""Checks and meanings of options that several functions have."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from rankmeter.errors import UsageError

__all__ = ["choice", "share", "share_of", "shown", "whole", "yes_or_no"]


def shown(value: object) -> str:
    """What a message says was found: the repr on one line, of at most 60 characters."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:59]}…"


def whole(name: str, value: int, *, least: int) -> int:
    """Check that an option is a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise UsageError(
            f"`{name}` must be a whole number of at least {least}; found {shown(value)}"
        )
    return int(value)


def share(name: str, value: float) -> float:
    """Check that an option lies strictly between 0 and 1."""
    if not isinstance(value, float | np.floating) or not 0 < value < 1:
        raise UsageError(f"`{name}` must lie between 0 and 1, both excluded; found {shown(value)}")
    return float(value)


def choice(name: str, value: str, options: Any) -> None:
    """Check that an option is one of the values of the literal type `options`."""
    if not isinstance(value, str) or value not in get_args(options):
        raise UsageError(f"`{name}` must be one of {get_args(options)}; found {shown(value)}")


def yes_or_no(name: str, value: bool) -> None:
    """Check that an option is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise UsageError(f"`{name}` must be True or False; found {shown(value)}")


def share_of(ratio: float, n: NDArray[np.int64] | int) -> NDArray[np.int64]:
    """⌊ratio · n + 1/2⌋."""
    return np.asarray(np.floor(np.multiply(ratio, n) + 0.5), dtype=np.int64)
