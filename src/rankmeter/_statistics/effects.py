"""How large is the difference? Effect sizes of two systems on the same users."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rankmeter._checks import fraction, number
from rankmeter._statistics.intervals import UNKNOWN, Interval
from rankmeter._statistics.spread import covariance, spread
from rankmeter._statistics.student import t_quantile
from rankmeter._statistics.vectors import moments, pair, paired_moments


class WinsTiesLosses(NamedTuple):
    """Users for whom A is better than, equal to, and worse than B."""

    wins: int
    ties: int
    losses: int


class RelativeGain(NamedTuple):
    """Mean of A over mean of B, minus 1, with its interval."""

    gain: float
    interval: Interval


def wins_ties_losses(
    a: npt.ArrayLike, b: npt.ArrayLike, *, min_difference: float = 0.0
) -> WinsTiesLosses:
    """Count the users for whom A is better, equal and worse; below ``min_difference`` is a tie."""
    number("min_difference", min_difference, least=0)
    a, b = pair(a, b)
    differences = a - b
    level = max(min_difference, math.ulp(0.0))  # without a minimum, anything above 0 is a win
    wins = int(np.count_nonzero(differences >= level))
    losses = int(np.count_nonzero(differences <= -level))
    return WinsTiesLosses(wins, differences.size - wins - losses, losses)


def cohens_dz(a: npt.ArrayLike, b: npt.ArrayLike) -> float:
    """Mean difference in standard deviations of the differences: t / √n.

    0 for identical systems, infinite if all users differ by the same amount, NaN for fewer than
    two users.
    """
    _, mean, sd = paired_moments(*pair(a, b))
    if mean == 0.0 and not math.isnan(sd):
        return 0.0  # without a difference the effect is 0, even if nothing varies
    return mean / sd if sd else math.copysign(math.inf, mean)


def hedges_g(a: npt.ArrayLike, b: npt.ArrayLike) -> float:
    """Cohen's d_z without its bias for few users: d_z (1 - 3 / (4 df - 1)) (Hedges, 1981)."""
    a, b = pair(a, b)
    return cohens_dz(a, b) * (1.0 - 3.0 / (4.0 * (a.size - 1) - 1.0))


def probability_of_superiority(a: npt.ArrayLike, b: npt.ArrayLike) -> float:
    """Share of users for whom A is better, ties counting half; NaN without users."""
    wins, ties, losses = wins_ties_losses(a, b)
    n = wins + ties + losses
    return (wins + 0.5 * ties) / n if n else math.nan


def relative_gain(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    *,
    confidence: float = 0.95,
    clusters: npt.ArrayLike | None = None,
    change: float = 0.0,
) -> RelativeGain:
    """By what share the mean of A exceeds the mean of B: 0.1 for ten per cent.

    A ratio of means, not the mean of the users' ratios, which would not exist where B has 0. The
    interval is Fieller's (JRSS B 16, 1954): the ratios r for which the paired t test does not
    reject that ``a - r b`` has the mean 0. Where the interval is finite, it therefore excludes a
    gain of 0 exactly where the paired t test is significant, which the delta method does not
    promise.

    The gain is NaN if the mean of B is 0 or there are no users. The interval is NaN for fewer than
    two users and infinite where the data cannot distinguish the mean of B from 0: the ratios are
    then those outside of an interval. With ``clusters`` the variances are those of clusters. A
    ``change`` is added to the variance of the difference, as `Spread.steadied` does.
    """
    fraction("confidence", confidence)
    a, b = pair(a, b)
    order = np.lexsort((b, a))  # so that the sums below are the same for any order of the users
    a, b = a[order], b[order]
    cluster_ids = None if clusters is None else np.asarray(clusters)[order]
    unit = spread(b, cluster_ids)
    mean_a, mean_b = moments(a).mean, moments(b).mean
    if not mean_b:
        return RelativeGain(math.nan, UNKNOWN)
    gain = mean_a / mean_b - 1.0
    if unit.units < 2:
        return RelativeGain(gain, UNKNOWN)
    t = t_quantile(0.5 + 0.5 * confidence, unit.df)
    # The ratio solves (mean_a - r mean_b)² = t² var(a - r b) / n. With e = a - (1 + gain) b, whose
    # mean is 0, and r = 1 + gain + s: (1 - var_b) s² + 2 cov s - var_e = 0, in units of mean_b.
    residual = (a - (mean_a / mean_b) * b) / mean_b
    (var_e, cov), (_, var_b) = t * t * covariance([residual, b / mean_b], cluster_ids)
    var_e += (t * change / mean_b) ** 2 / (unit.units * (unit.units - 1))
    if var_b >= 1.0:
        return RelativeGain(gain, Interval(-math.inf, math.inf))
    root = math.sqrt(cov * cov + (1.0 - var_b) * var_e)
    low, high = (-cov - root) / (1.0 - var_b), (-cov + root) / (1.0 - var_b)
    return RelativeGain(gain, Interval(gain + float(low), gain + float(high)))
