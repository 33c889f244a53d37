"""Standard errors and confidence intervals of a mean: t, Wilson, bootstrap, clusters."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rankmeter._statistics.vectors import (
    Floats,
    Moments,
    finite_vector,
    generators_of_blocks,
    moments,
)
from rankmeter.errors import UsageError
from rankmeter.errors._checks import check_fraction, check_integer, check_number


def t_tail_probability(t: float, df: float) -> float:
    """P(T > t) for ``df`` ≥ 1, with a relative error near 1e-14 however far out ``t`` lies.

    0.0 where the probability is below the smallest float.
    """
    if t == 0.0:
        return 0.5
    tail, _, _ = _split_probability(abs(t), df)
    return tail if t > 0.0 else 1.0 - tail


@lru_cache(maxsize=256)
def t_quantile(p: float, df: float) -> float:
    """Value below which Student's t lies with probability ``p``, from 1e-100 to below 1.

    The relative error is below 1e-12 for ``p`` from 1e-10 to 1 - 1e-10 and ``df`` from 1 to 1e9.
    """
    check_number("p", p, least=1e-100, below=1)
    check_number("df", df, least=1)
    if p < 0.5:
        return -_solve_quantile(p, 0.5 - p, df)
    return _solve_quantile(1.0 - p, p - 0.5, df)


def _solve_quantile(tail: float, center: float, df: float) -> float:
    """Find the t > 0 that splits the upper half into ``center`` and ``tail``."""
    if center == 0.0:
        return 0.0
    # Start almost right for the normal distribution, near 0 and far out.
    t = center * math.sqrt(2.0 * math.pi)
    if center >= tail:
        t = math.sqrt(-2.0 * math.log(2.0 * tail))
    step = 1.0
    while abs(step) > 1e-9:  # convergence is quadratic: the next step would be below 1e-16
        tail_now, center_now, weight = _split_probability(t, df)
        if center < tail:  # solve for the smaller side, which keeps its digits
            step = math.log(center / center_now) * center_now / weight
        else:
            step = math.log(tail_now / tail) * tail_now / weight
        t *= math.exp(step)
    return t


def _split_probability(t: float, df: float) -> tuple[float, float, float]:
    """P(T > t), P(0 < T < t) and t · density(t) for t > 0."""
    a = 0.5 * df
    square = t * t
    weight = t * math.exp(_log_density_at_zero(a) - (a + 0.5) * math.log1p(square / df))
    x, y = df / (df + square), square / (df + square)
    if square * (a + 1.0) < 1.5 * df:  # where the fraction of the center converges faster
        center = 0.5 * weight / _beta_continued_fraction(0.5, a, y, x)
        return 0.5 - center, center, weight
    tail = 0.5 * weight / _beta_continued_fraction(a, 0.5, x, y)
    return tail, 0.5 - tail, weight


def _log_density_at_zero(a: float) -> float:
    """Log of the density of t at 0 for df = 2a, Γ(a + 1/2) / (Γ(a) √(2πa))."""
    if a < 50.0:
        return math.log(math.gamma(a + 0.5) / math.gamma(a)) - 0.5 * math.log(2.0 * math.pi * a)
    # The difference of two log-gammas would lose the digits that Stirling's series keeps.
    r = 1.0 / (a * a)
    series = (-1 / 8 + r * (1 / 192 - r / 640)) / a
    return series - 0.5 * math.log(2.0 * math.pi)


def _beta_continued_fraction(a: float, b: float, x: float, y: float) -> float:
    """Continued fraction F in I_x(a, b) = x^a y^b / (B(a, b) F), with a precise y = 1 - x.

    The form of Didonato and Morris (ACM TOMS 18, 1992), summed by Lentz's method: for large
    ``df`` the more common fraction (DLMF 8.17.22) subtracts numbers that agree in most digits.
    """
    value = c = (a * y - b * x + 1.0) * a / (a + 1.0)
    d = 0.0
    for n in range(1, 1000):
        e = a + 2 * n
        alpha = (a + n - 1) * (a + b + n - 1) * n * (b - n) * x * x / ((e - 1) * (e - 1))
        beta = n + n * (b - n) * x / (e - 1) + (a + n) * (a * y - b * x + 1 + n * (1 + y)) / (e + 1)
        d = 1.0 / (beta + alpha * d)
        c = beta + alpha / c
        value *= c * d
        if abs(c * d - 1.0) < 2e-16:
            break
    return value


FEW_CHANGES = 6
"""Differing units below which their differences say little about how large rare ones are."""
NEAR = 0.05
"""Differences are nearly equal within this share of the largest change on either side."""
ROUNDING = 1e-5
"""Share of the span below which differences can be rounding, as in single precision."""
FEW_UNITS = 30
"""Units of a group below which its variance can be too small by luck."""


class SampleMean(NamedTuple):
    """A mean and its standard error.

    ``units`` are the independent observations, users or clusters, and ``effective`` is how many
    units of equal size vary as much. NaN where there are fewer than two units.
    """

    mean: float
    se: float
    units: int
    effective: float

    @property
    def df(self) -> float:
        """Degrees of freedom of a t interval: clusters of unequal size count as fewer."""
        return max(self.effective - 1.0, 1.0)

    def with_pseudo_unit(self, change: float, weight: float = 1.0) -> SampleMean:
        """Add one unit to the variance, half at +change and half at -change; the mean stays.

        If units rarely differ, the sample may have missed those that do, so that the variance of
        differences is too small, or 0. Agresti and Min (Statistics in Medicine 24, 2005) add such
        observations to paired shares.
        """
        if self.units < 2:
            return self
        extra = weight * change * change / (self.units * (self.units - 1))
        return self._replace(se=math.sqrt(self.se * self.se + extra))


def largest_change(differences: Floats, span: float) -> float:
    """The largest difference of a unit; at least the span if fewer than six units differ.

    Units differ by more than 5 % of the largest difference, and by more than rounding. Between a
    sixth difference of 0 and of that size it falls without a step.
    """
    sizes = np.sort(np.abs(differences))
    largest = float(sizes.max(initial=0.0))
    sixth = float(sizes[-FEW_CHANGES]) if sizes.size >= FEW_CHANGES else 0.0
    least = max(NEAR * largest, ROUNDING * span)
    return max(largest, span - sixth * span / least if least else 0.0)


def find_majority(differences: Floats, change: float) -> tuple[float, float]:
    """Find the largest group of units within 5 % of the largest `change` of a common value.

    Most often these are differences near 0. Its share of all units, 0 if all differ, and what it
    adds to the mean difference of all units.
    """
    x = np.sort(differences)
    width = 2.0 * NEAR * change * (1.0 + 1e-9)  # rounding must not decide
    ends = np.searchsorted(x, x + width, side="right")
    sizes = ends - np.arange(x.size)
    size = int(sizes.max(initial=0))
    if size < 2:
        return 0.0, 0.0
    starts = np.flatnonzero(sizes == size)[[0, -1]]  # both, so that signs can be swapped
    return size / x.size, float(sum(x[i : i + size].sum() for i in starts)) / 2 / x.size


def pseudo_unit_change(differences: Floats, span: float) -> float:
    """Change of the pseudo-unit: the largest change times the root of the share of the majority.

    Units with nearly equal differences say little about how others differ; where differences are
    spread out, their variance says all. The square of the largest change is therefore multiplied by
    the share of the largest group of nearly equal differences.
    """
    change = largest_change(differences, span)
    return change * math.sqrt(find_majority(differences, change)[0])


def spread_of_mean(x: Floats, clusters: npt.ArrayLike | None = None) -> SampleMean:
    """Mean and standard error of x.

    With clusters the variance is that of the jackknife, which leaves out one cluster at a time
    (CR3: MacKinnon, Nielsen and Webb, J. Econometrics 232, 2023). It needs no model of the
    resemblance within a cluster and no equal sizes. Clusters of one user give ``sd / √n``.
    """
    if clusters is None:
        return spread_of_moments(moments(x))
    _, sizes = cluster_sums(x, clusters)
    units, equal = sizes.size, effective_clusters(sizes)
    se = math.sqrt(covariance_of_means([x], clusters)[0, 0]) if units > 1 else math.nan
    return SampleMean(moments(x).mean, se, units, equal)


def spread_of_moments(values: Moments) -> SampleMean:
    """Mean and standard error of independent values, from their moments."""
    n, mean, sd = values
    return SampleMean(mean, sd / math.sqrt(n) if n else math.nan, n, float(n))


def stratified_spread(
    groups: Sequence[Floats], clusters: Sequence[npt.ArrayLike] | None = None
) -> SampleMean:
    """Spread of the mean of group means, with the groups as fixed strata.

    Only users vary, so the variance is the sum of those of the groups' means over the squared
    number of groups. A group of one unit has the pooled variance of units, and the sum is at least
    that with the pooled variance in all groups below 30 units, which can be alike by luck. Clusters
    can be in several groups: the variance is then at least that of all groups together.

    Degrees of freedom are Satterthwaite's (Biometrics Bulletin 2, 1946), and ``units`` is how many
    units of equal weight vary as much as these if the variance is the same in all groups.
    """
    labels = [None] * len(groups) if clusters is None else clusters
    spreads = [spread_of_mean(x, ids) for x, ids in zip(groups, labels, strict=True)]
    n, size = len(spreads), np.array([group.units for group in spreads], dtype=np.float64)
    mean, units = float(np.mean([group.mean for group in spreads])), int(n * n / (1.0 / size).sum())
    if size.max() < 2:
        return SampleMean(mean, math.nan, units, 1.0)
    variances = np.array([group.se**2 if group.units > 1 else 0.0 for group in spreads])
    pooled = ((size - 1.0) * size * variances).sum() / (size - 1.0).sum() / size
    variances = np.where(size < 2, pooled, variances)
    variance = max(variances.sum(), np.where(size < FEW_UNITS, pooled, variances).sum()) / n**2
    df = np.where(size < 2, (size - 1.0).sum(), [group.df for group in spreads])
    squares = (variances**2 / df).sum()
    free = variances.sum() ** 2 / squares if squares > 0.0 else df.sum()
    if clusters is not None:
        scaled = sum(x.size for x in groups) / n
        moved = [(x - g.mean) * (scaled / x.size) for x, g in zip(groups, spreads, strict=True)]
        variance = max(
            variance, spread_of_mean(np.concatenate(moved), np.concatenate(clusters)).se ** 2
        )
    return SampleMean(mean, math.sqrt(variance), units, float(free) + 1.0)


def covariance_of_means(vectors: Sequence[Floats], clusters: npt.ArrayLike | None = None) -> Floats:
    """Covariance matrix of the means of vectors over the same users, at least two units."""
    if clusters is None:
        gaps = np.stack([x - x.mean() for x in vectors])
        products: Floats = gaps @ gaps.T * (1.0 / (gaps.shape[1] - 1)) / gaps.shape[1]
        return products
    moved = []
    for x in vectors:
        sums, sizes = cluster_sums(x, clusters)
        # How the mean moves without a cluster, without subtracting nearly equal numbers.
        change = (sums - moments(x).mean * sizes) / (x.size - sizes)
        change[np.abs(change) <= 8 * np.finfo(np.float64).eps * np.abs(x).max()] = 0.0
        moved.append(change)
    table = np.stack(moved)
    matrix: Floats = (1.0 - 1.0 / table.shape[1]) * (table @ table.T)
    return matrix


def values_of_units(x: Floats, clusters: npt.ArrayLike | None) -> Floats:
    """X itself, or the sums of clusters, scaled so that their mean is that of x.

    Rows of a cluster resemble each other; their sums do not, and a test of sums is a test of the
    same mean.
    """
    if clusters is None:
        return x
    sums, _ = cluster_sums(x, clusters)
    return sums * (sums.size / max(x.size, 1))


def cluster_sums(x: Floats, clusters: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Sum and number of the rows of each cluster, independent of the order of the rows."""
    labels = np.asarray(clusters)
    if labels.shape != x.shape:
        raise UsageError(
            f"`clusters` must have one label for each value, got {labels.shape} for {x.shape}"
        )
    _, number = np.unique(labels, return_inverse=True)
    order = np.lexsort((x, number))
    sums = np.bincount(number[order], weights=x[order]).astype(np.float64, copy=False)
    return sums, np.bincount(number).astype(np.float64)


def effective_clusters(sizes: npt.ArrayLike) -> float:
    """Effective number of clusters of equal size, (Σ n)² / Σ n²; 0 without clusters."""
    rows = np.asarray(sizes, dtype=np.float64)
    return float(rows.sum() ** 2 / np.square(rows).sum()) if rows.size else 0.0


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


def student_interval(spread: SampleMean, confidence: float) -> Interval:
    """Student's t interval of a mean; NaN for fewer than two units.

    Of clusters, the degrees of freedom are one less than their effective number.
    """
    if math.isnan(spread.se):
        return UNKNOWN
    half = t_quantile(0.5 + 0.5 * confidence, spread.df) * spread.se
    return Interval(spread.mean - half, spread.mean + half)


def is_skewed(x: Floats) -> bool:
    """Whether values are too skewed for a t interval of their mean."""
    gap = x - x.mean() if x.size >= FEWEST_SKEWED else x[:0]
    largest = np.abs(gap).max(initial=0.0)
    if largest <= 1e-12 * np.abs(x).max(initial=0.0):  # all are equal but for rounding
        return False
    gap = gap / largest
    square = np.square(gap)
    return bool(abs((square * gap).sum()) > SKEWED * square.sum() ** 1.5)


def wilson_interval(
    spread: SampleMean, scale: tuple[float, float], confidence: float, n: int, units: float
) -> Interval:
    """Wilson's score interval of a mean of n values on a bounded ``scale``.

    Wilson (JASA 22, 1927) gives the interval of a share. A mean m of values between 0 and 1 has a
    variance of at most ``m (1 - m) / n``; the effective number of users is the n for which the
    variance that was found is that of a share. Few values other than 0 can be alike by luck, so
    half a hit is added to both: the squares ``n s² + 1/2`` are compared with ``n m (1 - m) + 1/2``
    where that leaves fewer users. The interval is never a point, never leaves the scale, and is
    that of Student's t for many users. Where all values are equal, it is that of `units` users.
    NaN for fewer than two units.
    """
    if math.isnan(spread.se):
        return UNKNOWN
    mean, se = spread.mean, spread.se
    low, high = scale
    m = min(max((mean - low) / (high - low), 0.0), 1.0)
    variance = (se / (high - low)) ** 2
    tiny = (8 * np.finfo(np.float64).eps) ** 2 / units  # all values are equal but for rounding
    largest, users = m * (1.0 - m), units
    if variance > tiny and largest > 0.0:  # as many as vary as much with hits and misses
        steadied = n * (n * largest + PRIOR_HITS) / (n * n * variance + PRIOR_HITS)
        users = min(largest / variance, steadied)
    c = t_quantile(0.5 + 0.5 * confidence, spread.df)
    c2 = c * c / users
    center, half = m + 0.5 * c2, c * math.sqrt(largest / users + 0.25 * c2 / users)
    ends = max((center - half) / (1.0 + c2), 0.0), min((center + half) / (1.0 + c2), 1.0)
    return Interval(
        min(low + ends[0] * (high - low), mean), max(low + ends[1] * (high - low), mean)
    )


def median_interval(x: npt.ArrayLike, confidence: float) -> Interval:
    """Interval of a median between two order statistics; NaN for too few values, or for NaN.

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
    rank = int(np.searchsorted(below, (1.0 - confidence) / 2.0, "right"))
    rank += 2.0**-n <= (1.0 - confidence) / 2.0
    if rank == 0:
        return UNKNOWN
    return Interval(float(values[rank - 1]), float(values[n - rank]))


def bootstrap_interval(
    x: npt.ArrayLike,
    *,
    clusters: npt.ArrayLike | None = None,
    confidence: float = 0.95,
    n_resamples: int = 2_000,
    seed: int = 0,
) -> Interval:
    """BCa interval of a mean: quantiles of the resampled means, corrected for bias and skew.

    With ``clusters``, a label for each value, whole clusters are drawn, so that values which
    resemble each other (sessions of one user, head and tail of one triple) do not
    count as independent. NaN for fewer than two values or clusters. The same seed
    gives the same interval on any machine; memory is bounded by a few vectors of the length of x.

    Bias correction and acceleration follow Efron and Tibshirani, An Introduction to the Bootstrap
    (1993), chapter 14, the acceleration from the jackknife in closed form.
    """
    check_fraction("confidence", confidence)
    x = finite_vector(x)
    sums, sizes = (x, None) if clusters is None else cluster_sums(x, clusters)
    if sums.size < 2:
        return UNKNOWN
    means = resampled_means(sums, sizes, n_resamples=n_resamples, seed=seed)
    tails = np.array([0.5 - 0.5 * confidence, 0.5 + 0.5 * confidence])
    draws = np.ones(sums.size) if sizes is None else sizes
    low, high = np.quantile(means, _bca_tail_probabilities(tails, means, sums, draws))
    return Interval(float(low), float(high))


def resampled_means(
    sums: Floats, sizes: Floats | None = None, *, n_resamples: int, seed: int
) -> Floats:
    """Means ``Σ sums / Σ sizes`` of resamples of n draws with replacement.

    Each draw adds an entry of ``sums`` to the sum and the same entry of ``sizes`` (1 if not given)
    to the count; both have the shape (n,).
    """
    n = sums.size
    means = np.empty(check_integer("n_resamples", n_resamples, least=1))
    values, counts = np.unique(sums, return_counts=True) if sizes is None else (sums, sums)
    if 8 * values.size <= n:
        # Users with equal values are drawn together, because the count of each value is
        # multinomial: a hundred thousand users often share a dozen values of a metric.
        for rows, size, generator in generators_of_blocks(n_resamples, values.size, seed):
            draws = generator.multinomial(n, counts / n, size=size)
            means[rows] = (draws * values).sum(axis=1) / n
        return means
    for rows, size, generator in generators_of_blocks(n_resamples, n, seed):
        draws = generator.integers(n, size=(size, n))
        total = n if sizes is None else sizes.take(draws).sum(axis=1)
        means[rows] = sums.take(draws).sum(axis=1) / total
    return means


def _bca_tail_probabilities(tails: Floats, means: Floats, sums: Floats, sizes: Floats) -> Floats:
    """Probabilities of the quantiles of the resampled means, corrected by BCa."""
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


@dataclass(frozen=True)
class TestResult:
    """The result of a test for a difference of means."""

    method: str
    """The test as it was carried out, in words."""
    difference: float
    """Mean of A minus mean of B."""
    statistic: float
    """Statistic of the test: t, W or the difference."""
    p: float
    """Two-sided p-value: never 0, and NaN where the test has no result."""
    note: str = ""
    """Why there is no result, in words; empty if there is one."""
    draws: int = 0
    """Flips that were drawn; 0 if p does not come from random flips."""
    direction: float | None = None
    """Above 0 if the test favors A; None for tests of means, which favor the better mean."""


def too_few_users_result(method: str, n: int) -> TestResult:
    """Build the result of a test for too few users: NaN, with a note."""
    note = f"a paired test needs at least 2 users, got {n}"
    return TestResult(method, math.nan, math.nan, math.nan, note)


def t_test_result(method: str, mean: float, se: float, df: float, equal: str) -> TestResult:
    """Two-sided t test of a mean difference; `equal` says what it means that the error is 0."""
    if se == 0.0 and mean == 0.0:
        return TestResult(method, 0.0, 0.0, 1.0)
    if se == 0.0:
        note = f"{equal}: t has no variation to compare it with"
        return TestResult(method, mean, math.nan, math.nan, note)
    t = mean / se
    return TestResult(method, mean, t, clip_p_value(2.0 * t_tail_probability(abs(t), df)))


def clip_p_value(p: float) -> float:
    """Clip ``p`` to the range from the smallest normal float to 1.

    A p-value of 0 would call a difference impossible; it is only ever a probability that
    float64 cannot hold, or the rounding of one minus another.
    """
    return min(max(float(p), sys.float_info.min), 1.0)
