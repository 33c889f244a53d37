"""The vectors that statistics take, checked once on entry.

Every function of this package takes per-user values as NumPy arrays in which each user counts once
and every value is finite: the caller leaves out, and counts, users without a value or with a value
for one system only.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rankmeter.errors import InvalidValueError, UsageError

Floats = npt.NDArray[np.float64]
"""An array of float64."""


class Moments(NamedTuple):
    """Count, mean and sample standard deviation; NaN where there are too few values."""

    n: int
    mean: float
    sd: float


def vector(x: npt.ArrayLike, name: str = "x") -> Floats:
    """``x`` as a finite vector of float64."""
    return _finite(x, name, 1, "(n_users,)")


def pair(a: npt.ArrayLike, b: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Two finite vectors whose entries belong to the same users."""
    a, b = vector(a, "a"), vector(b, "b")
    if a.size != b.size:
        raise UsageError(
            f"`a` and `b` must have one value for each user, got {a.size} and {b.size} values; "
            "align them on the users they share"
        )
    return a, b


def table(scores: npt.ArrayLike, columns: int = 1) -> Floats:
    """``scores`` as a finite table with a row per user and at least ``columns`` columns."""
    values = _finite(scores, "scores", 2, "(n_users, n_columns)")
    if values.shape[1] < columns:
        raise UsageError(f"`scores` must have at least {columns} columns, got {values.shape[1]}")
    return values


def moments(x: Floats) -> Moments:
    """Moments of one vector: the same to the last bit for any order of its values."""
    if x.size == 0:
        return Moments(0, math.nan, math.nan)
    x, sign = np.sort(x), 1.0
    if x[0] < 0.0:  # the mean of -x is to be minus that of x, to the last bit
        mirrored = -x[::-1]
        unlike = np.flatnonzero(x != mirrored)
        if unlike.size == 0:
            sign = 0.0
        elif x[unlike[0]] < mirrored[unlike[0]]:
            x, sign = mirrored, -1.0
    middle = x.mean()
    gap = x - middle
    sd = math.sqrt(np.square(gap, out=gap).sum() / (x.size - 1)) if x.size > 1 else math.nan
    return Moments(x.size, sign * float(middle) + 0.0, sd)  # not -0.0


def paired_moments(a: Floats, b: Floats) -> Moments:
    """Moments of ``a - b``.

    Differences that vary by no more than the rounding of ``a`` and ``b`` do not vary: 0.3 - 0.2 and
    0.2 - 0.1 are the same step, though not the same float.
    """
    n, mean, sd = moments(a - b)
    if n:
        noise = 4 * np.finfo(np.float64).eps * max(np.abs(a).max(), np.abs(b).max())
        sd = 0.0 if sd <= noise else sd
        mean = 0.0 if sd == 0.0 and abs(mean) <= noise else mean
    return Moments(n, mean, sd)


def _finite(x: npt.ArrayLike, name: str, dimensions: int, shape: str) -> Floats:
    values = np.asarray(x, dtype=np.float64)
    if values.ndim != dimensions:
        raise UsageError(f"`{name}` must have the shape {shape}, got {values.shape}")
    bad = values.size - np.count_nonzero(np.isfinite(values))
    if bad:
        raise InvalidValueError(
            f"`{name}` has {bad} values that are NaN or infinite, of {values.size}; "
            "leave out the users without a value, in both systems, and count them"
        )
    return values
