"""Confidence intervals of a mean: t, and the bootstrap, of users or of clusters of users."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from rankmeter._checks import choice, fraction, integer
from rankmeter._statistics.randomness import generators
from rankmeter._statistics.student import t_quantile
from rankmeter._statistics.vectors import Floats, Moments, moments, vector
from rankmeter.errors import UsageError

__all__ = [
    "Interval",
    "bootstrap_interval",
    "median_interval",
    "resampled_means",
    "t_interval",
    "t_interval_of",
]


class Interval(NamedTuple):
    """Lower and upper end of a confidence interval."""

    low: float
    high: float


UNKNOWN = Interval(math.nan, math.nan)
"""The interval of a value with too few users."""


def t_interval(x: npt.ArrayLike, confidence: float = 0.95) -> Interval:
    """Student's t interval of a mean; NaN for fewer than two values."""
    fraction("confidence", confidence)
    return t_interval_of(moments(vector(x)), confidence)


def t_interval_of(found: Moments, confidence: float) -> Interval:
    """Student's t interval of a mean, from the moments of the values."""
    n, mean, sd = found
    if n < 2:
        return UNKNOWN
    half = t_quantile(0.5 + 0.5 * confidence, n - 1) * sd / math.sqrt(n)
    return Interval(mean - half, mean + half)


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
    resemble each other (sessions of one user, head and tail of one triple, repeated seeds) do not
    count as independent. NaN for fewer than two values or clusters. The same seed
    gives the same interval on any machine; memory is bounded by a few vectors of the length of x.

    Bias correction and acceleration follow Efron and Tibshirani, An Introduction to the Bootstrap
    (1993), chapter 14, the acceleration from the jackknife in closed form.
    """
    fraction("confidence", confidence)
    choice("method", method, ("bca", "percentile"))
    x = vector(x)
    sums, sizes = (x, None) if clusters is None else _cluster_sums(x, clusters)
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
            drawn = generator.multinomial(n, counts / n, size=size)
            means[rows] = (drawn * values).sum(axis=1) / n
        return means
    for rows, size, generator in generators(n_resamples, n, seed):
        drawn = generator.integers(n, size=(size, n))
        total = n if sizes is None else sizes.take(drawn).sum(axis=1)
        means[rows] = sums.take(drawn).sum(axis=1) / total
    return means


def _cluster_sums(x: Floats, clusters: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Sum and number of the rows of each cluster."""
    labels = np.asarray(clusters)
    if labels.shape != x.shape:
        raise UsageError(
            f"`clusters` must have one label for each value, got {labels.shape} for {x.shape}"
        )
    _, number = np.unique(labels, return_inverse=True)
    sums = np.bincount(number, weights=x).astype(np.float64, copy=False)
    return sums, np.bincount(number).astype(np.float64)


def _bca_tails(tails: Floats, means: Floats, sums: Floats, sizes: Floats) -> Floats:
    """The probabilities at which to take quantiles of the resampled means."""
    from statistics import NormalDist  # costs more to import than a t interval to compute

    mean, total = sums.sum() / sizes.sum(), sizes.sum()
    # The effect of leaving out one draw, without subtracting nearly equal numbers.
    influence = (sums - mean * sizes) / (total - sizes)
    influence -= influence.mean()
    squares = float((influence**2).sum())
    if np.ptp(means) == 0.0 or squares == 0.0:
        return tails
    acceleration = float((influence**3).sum()) / (6.0 * squares**1.5)
    normal = NormalDist()
    # Half of the ties count as below, and means that differ by rounding alone are ties.
    tie = 1e-12 * np.abs(means).max()
    below = 0.5 * np.mean(means < mean - tie) + 0.5 * np.mean(means <= mean + tie)
    bias = normal.inv_cdf(min(max(below, 0.5 / means.size), 1.0 - 0.5 / means.size))
    shifted = [bias + normal.inv_cdf(float(p)) for p in tails]
    return np.array([normal.cdf(bias + z / (1.0 - acceleration * z)) for z in shifted])
