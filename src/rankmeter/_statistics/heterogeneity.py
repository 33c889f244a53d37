"""Is a difference the same in all groups of users? Cochran's Q with Welch's test."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rankmeter._statistics.results import positive_p
from rankmeter._statistics.spread import Spread

__all__ = ["heterogeneity"]


def heterogeneity(groups: Sequence[Spread]) -> tuple[float, float]:
    """Cochran's Q of the means of disjoint groups of users, and its p by Welch's test.

    Q weights every mean with its own variance (Cochran, JRSS Suppl. 4, 1937). For few users its
    chi-squared distribution rejects too often; Welch (Biometrika 38, 1951) compares Q with an F
    distribution instead. NaN where a group has no variation, whose weight would be infinite.
    """
    from scipy.stats import f

    n = len(groups)
    means, se, df = np.array([(one.mean, one.se, one.df) for one in groups]).reshape(-1, 3).T
    if n < 2 or not np.all(se > 0.0):
        return math.nan, math.nan
    weights = 1.0 / np.square(se)
    share = weights / weights.sum()
    q = float((weights * np.square(means - (share * means).sum())).sum())
    uneven = float((np.square(1.0 - share) / df).sum()) / (n * n - 1.0)
    statistic = q / (n - 1) / (1.0 + 2.0 * (n - 2) * uneven)
    return q, positive_p(float(f.sf(statistic, n - 1, 1.0 / (3.0 * uneven))))
