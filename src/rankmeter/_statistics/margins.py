"""Is A at least not worse than B by a margin? Tests against a difference that would matter."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rankmeter._checks import number
from rankmeter._statistics.results import positive_p
from rankmeter._statistics.spread import (
    FEW_CHANGES,
    cluster_sums,
    largest_change,
    share_of_ties,
    spread,
)
from rankmeter._statistics.student import t_tail
from rankmeter._statistics.vectors import Floats, pair

PSEUDO_CHANGES = 2.0
"""Units that are added to the variance; an interval, which has two sides, needs one."""


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

    Rare differences say little about their variance. So it is the largest of two, where c is the
    largest difference of a user, or the ``span`` of the metric while fewer than six users differ
    (if it is infinite, the range of all values), and r the share of users with the most frequent
    difference, 0 if all are distinct:

    * that of the differences, with 2 r more users, who differ by c;
    * r times that of a loss of exactly the margin, all of it by users who lose c.

    If few users differ and none of them gains, p is at least the binomial probability of so few
    losers. With ``clusters`` all of this is about the sums of clusters, not about users. NaN for
    fewer than two users, and where all values are equal and the span is infinite.
    """
    number("margin", margin, above=0)
    a, b = pair(a, b)
    if a.size < 2:
        return Margins(margin, math.nan, math.nan)
    size = margin * abs(float(b.mean())) if relative else margin
    if math.isinf(span):
        span = float(max(a.max(), b.max()) - min(a.min(), b.min()))
    changes = a - b
    if clusters is not None:
        sums, _ = cluster_sums(changes, clusters)
        changes = sums * (sums.size / a.size)
    most, ties = largest_change(changes, span), share_of_ties(changes)
    low, high = (margin * b, margin * b) if relative else (np.full(b.size, margin),) * 2
    return Margins(
        size,
        _not_lower(a - b + low, size, changes, most, ties, clusters),
        _not_lower(b - a + high, size, -changes, most, ties, clusters),
    )


def _not_lower(
    values: Floats,
    size: float,
    changes: Floats,
    most: float,
    ties: float,
    clusters: npt.ArrayLike | None,
) -> float:
    """The one-sided p of a mean above 0, where a loss of ``size`` has the mean 0."""
    error = spread(values, clusters)
    n = error.units
    if n < 2 or most == 0.0:
        return math.nan
    losing = ties * size * (most - size) / (n - 1)
    se = math.sqrt(max(error.steadied(most, PSEUDO_CHANGES * ties).se ** 2, losing))
    noise = 4 * np.finfo(np.float64).eps * float(np.abs(values).max())
    p = t_tail(error.mean / se, error.df) if se > noise else float(error.mean <= 0.0)
    losers = int(np.count_nonzero(changes < 0))
    if losers < FEW_CHANGES and not np.any(changes > 0):
        p = max(p, _binomial_tail(losers, n, min(size / most, 1.0)))
    return positive_p(p)


def _binomial_tail(count: int, n: int, share: float) -> float:
    """The binomial probability of at most so many of n."""
    return math.fsum(
        math.comb(n, i) * share**i * (1.0 - share) ** (n - i) for i in range(min(count, n) + 1)
    )
