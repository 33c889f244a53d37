"""Confidence intervals of a mean: Wilson, t and the bootstrap, of users or of their clusters."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from rankmeter._checks import choice, fraction, integer
from rankmeter._statistics.randomness import generators
from rankmeter._statistics.spread import cluster_sums, spread
from rankmeter._statistics.student import t_quantile
from rankmeter._statistics.vectors import Floats, Moments, moments, vector

SKEWED = 0.2
"""Skewness / √n above which a t interval of 95 % covers the mean in less than 93 % of samples."""
FEWEST_SKEWED = 20
"""Values below which their skewness says little."""
PRIOR_HITS = 0.5
"""Hits that support the largest possible variance: a half, as in Jeffreys' prior of a share."""


class Interval(NamedTuple):
    """Lower and upper end of a confidence interval."""

    low: float
    high: float


UNKNOWN = Interval(math.nan, math.nan)
"""The interval of a value with too few users."""


def t_interval(
    x: npt.ArrayLike, confidence: float = 0.95, *, clusters: npt.ArrayLike | None = None
) -> Interval:
    """Student's t interval of a mean; NaN for fewer than two values.

    With ``clusters``, a label for each value, the variance is that of the jackknife over clusters,
    and the degrees of freedom are one less than the effective number of clusters.
    """
    fraction("confidence", confidence)
    if clusters is None:
        return t_interval_of(moments(vector(x)), confidence)
    error = spread(vector(x), clusters)
    if error.units < 2:
        return UNKNOWN
    half = t_quantile(0.5 + 0.5 * confidence, error.df) * error.se
    return Interval(error.mean - half, error.mean + half)


def t_interval_of(values: Moments, confidence: float) -> Interval:
    """Student's t interval of a mean, from the moments of the values."""
    n, mean, sd = values
    if n < 2:
        return UNKNOWN
    half = t_quantile(0.5 + 0.5 * confidence, n - 1) * sd / math.sqrt(n)
    return Interval(mean - half, mean + half)


def skewed(x: Floats) -> bool:
    """Whether values are too skewed for a t interval of their mean."""
    gap = x - x.mean() if x.size >= FEWEST_SKEWED else x[:0]
    largest = np.abs(gap).max(initial=0.0)
    if largest <= 1e-12 * np.abs(x).max(initial=0.0):  # all are equal but for rounding
        return False
    gap = gap / largest
    return bool(abs((gap**3).sum()) > SKEWED * np.square(gap).sum() ** 1.5)


def wilson_interval(
    x: npt.ArrayLike,
    confidence: float = 0.95,
    *,
    scale: tuple[float, float] = (0.0, 1.0),
    clusters: npt.ArrayLike | None = None,
) -> Interval:
    """Wilson's score interval of a mean on a bounded ``scale``; NaN for fewer than two values.

    Wilson (JASA 22, 1927) gives the interval of a share. A mean m of values between 0 and 1 has a
    variance of at most ``m (1 - m) / n``; the effective number of users is the n for which the
    variance that was found is that of a share. Few values other than 0 can be alike by luck, so
    half a hit is added to both: the squares ``n s² + 1/2`` are compared with ``n m (1 - m) + 1/2``
    where that leaves fewer users. The interval is never a point, never leaves the scale, and is
    that of Student's t for many users. Where all values are equal, every user counts.

    With ``clusters`` the variance is that of `t_interval`, and the degrees of freedom are one less
    than the effective number of clusters, which count where all values are equal.
    """
    fraction("confidence", confidence)
    values = vector(x)
    error = spread(values, clusters)
    if error.units < 2:
        return UNKNOWN
    return score_interval(
        error.mean, error.se, error.df, values.size, scale, confidence, error.effective
    )


def score_interval(
    mean: float,
    se: float,
    df: float,
    n: int,
    scale: tuple[float, float],
    confidence: float,
    units: float | None = None,
) -> Interval:
    """Wilson's interval of the mean of n values, of which `units` count if there is no error."""
    units = n if units is None else units
    low, high = scale
    m = min(max((mean - low) / (high - low), 0.0), 1.0)
    variance = (se / (high - low)) ** 2
    tiny = (8 * np.finfo(np.float64).eps) ** 2 / units  # all values are equal but for rounding
    users = _effective_users(m * (1.0 - m), variance, n) if variance > tiny and 0 < m < 1 else units
    c = t_quantile(0.5 + 0.5 * confidence, df)
    c2 = c * c / users
    centre, half = m + 0.5 * c2, c * math.sqrt(m * (1.0 - m) / users + 0.25 * c2 / users)
    ends = max((centre - half) / (1.0 + c2), 0.0), min((centre + half) / (1.0 + c2), 1.0)
    return Interval(
        min(low + ends[0] * (high - low), mean), max(low + ends[1] * (high - low), mean)
    )


def _effective_users(most: float, variance: float, n: int) -> float:
    """Number of users with hits and misses, of the variance `most`, that give this variance."""
    steadied = n * (n * most + PRIOR_HITS) / (n * n * variance + PRIOR_HITS)
    return min(most / variance, steadied)


def median_interval(x: npt.ArrayLike, confidence: float) -> Interval:
    """Interval of a median between two order statistics; NaN if there are too few values, or NaN.

    The number of values below the median is binomial, whatever their distribution. The interval
    covers the median with at least this confidence.
    """
    values = np.sort(np.asarray(x, dtype=np.float64))
    n = values.size
    if not n or np.isnan(values[-1]):
        return UNKNOWN
    j = np.arange(1, n + 1)
    below = np.cumsum(np.exp(np.cumsum(np.log((n - j + 1) / j)) - n * math.log(2.0)))
    below += 2.0**-n  # P(at most j values are below)
    place = int(np.searchsorted(below, (1.0 - confidence) / 2.0, "right"))
    place += 2.0**-n <= (1.0 - confidence) / 2.0
    if place == 0:
        return UNKNOWN
    return Interval(float(values[place - 1]), float(values[n - place]))


def bootstrap_interval(
    x: npt.ArrayLike,
    *,
    clusters: npt.ArrayLike | None = None,
    confidence: float = 0.95,
    method: Literal["bca", "percentile"] = "bca",
    n_resamples: int = 2_000,
    seed: int = 0,
) -> Interval:
    """Bootstrap interval of a mean: quantiles of the resampled means, corrected by "bca".

    With ``clusters``, a label for each value, whole clusters are drawn, so that values which
    resemble each other (sessions of one user, head and tail of one triple) do not
    count as independent. NaN for fewer than two values or clusters. The same seed
    gives the same interval on any machine; memory is bounded by a few vectors of the length of x.

    Bias correction and acceleration follow Efron and Tibshirani, An Introduction to the Bootstrap
    (1993), chapter 14, the acceleration from the jackknife in closed form.
    """
    fraction("confidence", confidence)
    choice("method", method, ("bca", "percentile"))
    x = vector(x)
    sums, sizes = (x, None) if clusters is None else cluster_sums(x, clusters)
    if sums.size < 2:
        return UNKNOWN
    means = resampled_means(sums, sizes, n_resamples=n_resamples, seed=seed)
    tails = np.array([0.5 - 0.5 * confidence, 0.5 + 0.5 * confidence])
    if method == "bca":
        tails = _bca_tails(tails, means, sums, np.ones(sums.size) if sizes is None else sizes)
    low, high = np.quantile(means, tails)
    return Interval(float(low), float(high))


def resampled_means(
    sums: Floats, sizes: Floats | None = None, *, n_resamples: int, seed: int
) -> Floats:
    """Means ``Σ sums / Σ sizes`` of resamples of n draws with replacement.

    Each draw adds an entry of ``sums`` to the sum and the same entry of ``sizes`` (1 if not given)
    to the count; both have the shape (n,).
    """
    n = sums.size
    means = np.empty(integer("n_resamples", n_resamples, least=1))
    values, counts = np.unique(sums, return_counts=True) if sizes is None else (sums, sums)
    if 8 * values.size <= n:
        # Users with equal values are drawn together, because the count of each value is
        # multinomial: a hundred thousand users often share a dozen values of a metric.
        for rows, size, generator in generators(n_resamples, values.size, seed):
            draws = generator.multinomial(n, counts / n, size=size)
            means[rows] = (draws * values).sum(axis=1) / n
        return means
    for rows, size, generator in generators(n_resamples, n, seed):
        draws = generator.integers(n, size=(size, n))
        total = n if sizes is None else sizes.take(draws).sum(axis=1)
        means[rows] = sums.take(draws).sum(axis=1) / total
    return means


def _bca_tails(tails: Floats, means: Floats, sums: Floats, sizes: Floats) -> Floats:
    """The probabilities at which to take quantiles of the resampled means."""
    from statistics import NormalDist  # costs more to import than a t interval to compute

    mean, total = sums.sum() / sizes.sum(), sizes.sum()
    # The effect of leaving out one draw, without subtracting nearly equal numbers.
    influence = (sums - mean * sizes) / (total - sizes)
    influence -= influence.mean()
    cube = float((influence**2).sum()) ** 1.5
    if np.ptp(means) == 0.0 or cube == 0.0:
        return tails
    acceleration = float((influence**3).sum()) / (6.0 * cube)
    normal = NormalDist()
    # Half of the ties count as below, and means that differ by rounding alone are ties.
    tie = 1e-12 * np.abs(means).max()
    below = 0.5 * np.mean(means < mean - tie) + 0.5 * np.mean(means <= mean + tie)
    bias = normal.inv_cdf(min(max(below, 0.5 / means.size), 1.0 - 0.5 / means.size))
    shifted = [bias + normal.inv_cdf(float(p)) for p in tails]
    return np.array([normal.cdf(bias + z / (1.0 - acceleration * z)) for z in shifted])
