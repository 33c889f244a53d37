"""Is a difference the same in all segments? Cochran's Q, by Welch's test."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rankmeter._statistics.intervals import Spread, clip_p_value


def heterogeneity_test(groups: Sequence[Spread]) -> tuple[float, float]:
    """Cochran's Q of the means of disjoint groups of users, and the p-value by Welch's test.

    Q weights every mean with its own variance (Cochran, JRSS Suppl. 4, 1937). For few users its
    chi-squared distribution rejects too often; Welch (Biometrika 38, 1951) compares Q with an F
    distribution instead. NaN where a group has no variation, whose weight would be infinite.
    """
    from scipy.special import fdtrc

    n = len(groups)
    means, se, df = np.array([(g.mean, g.se, g.df) for g in groups]).reshape(-1, 3).T
    if n < 2 or not np.all(se > 0.0):
        return math.nan, math.nan
    weights = 1.0 / np.square(se)
    share = weights / weights.sum()
    q = float((weights * np.square(means - (share * means).sum())).sum())
    uneven = float((np.square(1.0 - share) / df).sum()) / (n * n - 1.0)
    statistic = q / (n - 1) / (1.0 + 2.0 * (n - 2) * uneven)
    return q, clip_p_value(float(fdtrc(n - 1, 1.0 / (3.0 * uneven), statistic)))
