"""Is A at least not worse than B by a margin? Tests against a difference that would matter."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rankmeter._checks import number
from rankmeter._statistics.results import positive_p
from rankmeter._statistics.spread import spread
from rankmeter._statistics.student import t_tail
from rankmeter._statistics.vectors import Floats, pair

__all__ = ["Margins", "margin_tests"]

FEW_CHANGES = 6
"""Differing users below which their variance says little about rare differences."""


class Margins(NamedTuple):
    """One-sided p-values: that A is lower, and that it is higher, by the margin or more."""

    margin: float
    """The margin as a difference."""
    not_lower: float
    not_higher: float


def margin_tests(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    margin: float,
    *,
    relative: bool = False,
    span: float = math.inf,
    clusters: npt.ArrayLike | None = None,
) -> Margins:
    """Two one-sided t tests (Schuirmann, J. Pharmacokin. Biopharm. 15, 1987).

    Small ``not_lower``: A is not lower than B by ``margin`` or more; both small: they are
    equivalent. A ``relative`` margin is a share of the mean of B, which is as uncertain as that of
    A: the tests are those of ``a - (1 - margin) b`` and ``(1 + margin) b - a``.

    Where fewer than six users differ, users that differ by the whole ``span`` of the metric may
    just not have been met: p is then at least ``(1 - margin / span)ⁿ``, the probability of n users
    without any. NaN for fewer than two users, and for an infinite span without any difference.
    """
    number("margin", margin, above=0)
    a, b = pair(a, b)
    size = margin * abs(float(b.mean())) if relative and b.size else margin
    low, high = (margin * b, margin * b) if relative else (np.full(b.size, margin),) * 2
    few = np.count_nonzero(a != b) < FEW_CHANGES
    least = max(1.0 - size / span, 0.0) ** a.size if few else 0.0
    if few and math.isinf(span):
        least = 0.0 if np.any(a != b) else math.nan
    found = (_above_zero(values, clusters) for values in (a - b + low, b - a + high))
    return Margins(size, *(float(np.maximum(p, least)) for p in found))


def _above_zero(x: Floats, clusters: npt.ArrayLike | None) -> float:
    """The one-sided p of a mean above 0."""
    found = spread(x, clusters)
    if found.units < 2:
        return math.nan
    if found.se <= 4 * np.finfo(np.float64).eps * float(np.abs(x).max()):
        return positive_p(0.0) if found.mean > 0.0 else 1.0
    return positive_p(t_tail(found.mean / found.se, found.df))
