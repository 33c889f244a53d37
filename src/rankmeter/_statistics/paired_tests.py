"""Tests and effect sizes of two systems on the same users, and whether segments differ."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from rankmeter._statistics.intervals import (
    UNKNOWN,
    Interval,
    SampleMean,
    TestResult,
    clip_p_value,
    covariance_of_means,
    spread_of_mean,
    spread_of_moments,
    t_quantile,
    t_test_result,
    too_few_users_result,
)
from rankmeter._statistics.vectors import (
    Floats,
    Moments,
    all_signs,
    finite_pair,
    finite_table,
    flip_coins,
    moments,
    paired_moments,
    random_stream_key,
)
from rankmeter.errors import UsageError
from rankmeter.errors._checks import check_fraction, check_integer


def wins_ties_losses(a: npt.ArrayLike, b: npt.ArrayLike) -> tuple[int, int, int]:
    """How many users are better served by A, equally by both, better by B."""
    a, b = finite_pair(a, b)
    wins, losses = int(np.count_nonzero(a > b)), int(np.count_nonzero(a < b))
    return wins, a.size - wins - losses, losses


def cohens_dz(a: npt.ArrayLike, b: npt.ArrayLike) -> float:
    """Mean difference in standard deviations of the differences: t / √n.

    0 for identical systems, infinite if all users differ by the same amount, NaN for fewer than
    two users.
    """
    return effect_of_moments(paired_moments(*finite_pair(a, b)))


def effect_of_moments(differences: Moments) -> float:
    """`cohens_dz` of differences with these moments."""
    _, mean, sd = differences
    if mean == 0.0 and not math.isnan(sd):
        return 0.0  # without a difference the effect is 0, even if nothing varies
    return mean / sd if sd else math.copysign(math.inf, mean)


def relative_gain(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    *,
    confidence: float = 0.95,
    clusters: npt.ArrayLike | None = None,
    change: float = 0.0,
    known: tuple[Moments, Moments] | None = None,
) -> tuple[float, Interval]:
    """Relative gain of the mean of A over the mean of B, with interval: 0.1 for ten percent.

    A ratio of means, not the mean of the users' ratios, which would not exist where B has 0. The
    interval is Fieller's (JRSS B 16, 1954): the ratios r for which the paired t test does not
    reject that ``a - r b`` has the mean 0. Where the interval is finite, it therefore excludes a
    gain of 0 exactly where the paired t test is significant, which the delta method does not
    promise.

    The gain is NaN if the mean of B is 0 or there are no users. The interval is NaN for fewer than
    two users and infinite where the data cannot distinguish the mean of B from 0: the ratios are
    then those outside of an interval. With ``clusters`` the variances are those of clusters. A
    ``change`` is added to the variance of the difference, as `SampleMean.with_pseudo_unit` does.
    The values are checked, and the moments of both systems computed, if these are not ``known``.
    """
    a, b = np.asarray(a), np.asarray(b)
    if known is None:
        check_fraction("confidence", confidence)
        a, b = finite_pair(a, b)
    order = np.lexsort((b, a))  # so that the sums below are the same for any order of the users
    a, b = a[order], b[order]
    cluster_ids = None if clusters is None else np.asarray(clusters)[order]
    of_a, of_b = known or (moments(a), moments(b))
    unit = spread_of_moments(of_b) if clusters is None else spread_of_mean(b, cluster_ids)
    mean_a, mean_b = of_a.mean, of_b.mean
    if not mean_b:
        return math.nan, UNKNOWN
    gain = mean_a / mean_b - 1.0
    if unit.units < 2:
        return gain, UNKNOWN
    t = t_quantile(0.5 + 0.5 * confidence, unit.df)
    # The ratio solves (mean_a - r mean_b)² = t² var(a - r b) / n. With e = a - (1 + gain) b, whose
    # mean is 0, and r = 1 + gain + s: (1 - var_b) s² + 2 cov s - var_e = 0, in units of mean_b.
    residual = (a - (mean_a / mean_b) * b) / mean_b
    (var_e, cov), (_, var_b) = t * t * covariance_of_means([residual, b / mean_b], cluster_ids)
    var_e += (t * change / mean_b) ** 2 / (unit.units * (unit.units - 1))
    if var_b >= 1.0:
        return gain, Interval(-math.inf, math.inf)
    root = math.sqrt(cov * cov + (1.0 - var_b) * var_e)
    low, high = (-cov - root) / (1.0 - var_b), (-cov + root) / (1.0 - var_b)
    return gain, Interval(gain + float(low), gain + float(high))


EXACT_LIMIT = 30
"""Largest number of differences other than zero whose signs are enumerated."""

FLIPS, _USERS = 2048, 1024
"""Flips and users taken at once, for the caches. ``_USERS`` is part of the stream of coins."""


def randomization_tests(
    scores: npt.ArrayLike,
    pairs: Sequence[tuple[int, int]],
    *,
    n_resamples: int = 9_999,
    seed: int = 0,
) -> list[TestResult]:
    """Fisher's randomization test of many pairs of columns, on the same flips.

    ``scores`` has a row per user and a column per system (and metric). The p of a pair does not
    depend on the other pairs and columns, the machine or the number of threads.

    1. Two-sided on the absolute mean. With up to 30 differences other than zero, all choices of
       signs are counted; with more, p is (1 + flips that reach the observed difference) /
       (1 + n_resamples), as in Phipson and Smyth, SAGMB 9 (2010). Of hits and misses, which have
       few possible sums, p is McNemar's mid-p, which is binomial and needs no flips (Fagerland,
       Lydersen and Laake, BMC Medical Research Methodology 13, 2013).
    2. A flip that misses the observed difference by rounding alone reaches it.
    3. Identical systems give p = 1, and fewer than two users NaN.
    4. Beyond one copy of ``scores``, memory stays below 100 MB at any number of users and flips.
    5. User number i meets the i-th coin, so reordering the users moves a drawn p within its Monte
       Carlo error.
    """
    values = finite_table(scores)
    n, columns = values.shape
    n_resamples = check_integer("n_resamples", n_resamples, least=1)
    for i, j in pairs:
        if not (0 <= i < columns and 0 <= j < columns):
            raise UsageError(f"`pairs` must name two of the {columns} columns each, got {(i, j)}")
    if n < 2:
        return [too_few_users_result("randomization", n) for _ in pairs]
    found = [exact_test(values[:, i], values[:, j]) for i, j in pairs]
    left = [pair for pair, exact in zip(pairs, found, strict=True) if exact is None]
    drawn = iter(_sampled_p_values(values, left, n_resamples, seed) if left else ())
    return [
        exact
        or drawn_test(
            paired_moments(values[:, i], values[:, j]).mean, float(next(drawn)), n_resamples
        )
        for (i, j), exact in zip(pairs, found, strict=True)
    ]


def drawn_test(mean: float, p: float, draws: int) -> TestResult:
    """The randomization test of a mean difference and a p-value from random flips."""
    return TestResult("randomization (Monte Carlo)", mean, mean, p, draws=draws)


def exact_test(a: Floats, b: Floats) -> TestResult | None:
    """The randomization test without random flips; None if it needs them."""
    d = a - b
    changes = count_changes_of_one_size(d)
    if changes is None and np.count_nonzero(d) > EXACT_LIMIT:
        return None
    mean = paired_moments(a, b).mean
    if changes:
        mid = takes_mid_p(d)
        return TestResult(
            f"{'mid-p ' if mid else ''}randomization (exact)", mean, mean,
            binomial_p_value(*changes, mid=mid),
        )  # fmt: skip
    return TestResult("randomization (exact)", mean, mean, exact_p_value(a, b))


def count_changes_of_one_size(differences: Floats) -> tuple[int, int] | None:
    """Numbers of gains and of losses if all that are not 0 have one size, as those of hits do."""
    sizes = np.abs(differences)
    largest = float(sizes.max(initial=0.0))
    is_change = sizes > 1e-12 * largest  # rounding makes no size of its own
    if not largest or np.any(is_change & (sizes < largest * (1.0 - 1e-12))):
        return None
    gains = int(np.count_nonzero(differences[is_change] > 0))
    return gains, int(np.count_nonzero(is_change)) - gains


def takes_mid_p(differences: Floats) -> bool:
    """Whether differences are those of hits, most of which are 0: mid-p keeps its level then."""
    changes = count_changes_of_one_size(differences)
    return changes is not None and 2 * sum(changes) <= differences.size


def binomial_p_value(wins: int, losses: int, *, mid: bool) -> float:
    """P(X ≥ k) + P(X ≤ n - k), k the more of both; with `mid` half the probability of the ends.

    The latter is McNemar's mid-p.
    """
    n, k = wins + losses, max(wins, losses)
    ways = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    same = math.comb(n, k) / 2**n if n <= 1000 else math.exp(ways - n * math.log(2.0))
    if wins == losses:
        return clip_p_value(1.0 - 0.5 * same if mid else 1.0)
    more = np.arange(k, min(n, k + 6 * math.isqrt(n) + 60))
    tail = same * float(np.cumprod((n - more) / (more + 1.0)).sum())
    return clip_p_value(2.0 * tail + (same if mid else 2.0 * same))


def exact_p_value(a: Floats, b: Floats) -> float:
    """Share of all choices of signs whose sum is at least as far from 0 as the sum of ``a - b``.

    The two halves of the users are enumerated separately and met in the middle (Horowitz and Sahni,
    J. ACM 21, 1974), which takes 2^(n/2) sums instead of 2^n.
    """
    changed = a != b
    n = int(np.count_nonzero(changed))
    assert n <= EXACT_LIMIT
    grid, _ = _round_to_grid(np.concatenate([a[changed], b[changed]])[:, None])
    differences = grid[:n, 0] - grid[n:, 0]
    # Searching for sorted values is faster.
    sums = np.sort(all_signs(n // 2) @ differences[: n // 2])
    other_sums = np.sort(all_signs(n - n // 2) @ differences[n // 2 :])
    reach = abs(float(differences.sum())) - _rounding_tolerance(n, 1.0, 1.0)
    if reach <= 0.0:
        return 1.0
    missing = int(np.searchsorted(other_sums, reach - sums).sum())
    return float(2 * (sums.size * other_sums.size - missing) / 2**n)


def _sampled_p_values(
    scores: Floats, pairs: Sequence[tuple[int, int]], n_resamples: int, seed: int
) -> Floats:
    """Monte Carlo p-values of many pairs of columns, on the same sign flips.

    Two ideas make it fast. A flip of a difference is the difference of two flips, so forty-five
    pairs of ten systems cost ten columns. And eight coins are a byte: each group of eight users has
    a table of the 256 sums that a byte can choose (Arlazarov and others, 1970), and a flip looks
    one number up per group instead of adding eight.
    """
    flips = FlippedColumns(scores, seed)
    total, unit, n = flips.total * flips.unit, flips.unit, len(scores)
    reach = [abs(total[i] - total[j]) - _rounding_tolerance(n, unit[i], unit[j]) for i, j in pairs]
    counts = np.ones(len(pairs))
    for start in range(0, n_resamples, FLIPS):
        flipped = flips.sums_under_flips(slice(start, min(start + FLIPS, n_resamples)))
        for index, (i, j) in enumerate(pairs):
            counts[index] += np.count_nonzero(np.abs(flipped[i] - flipped[j]) >= reach[index])
    return counts / (n_resamples + 1)


class FlippedColumns:
    """The sums of the columns of a table under flipped signs.

    Tables whose users are not the same have coins of their own, by their number.
    """

    def __init__(self, scores: Floats, seed: int, number: int = 0) -> None:
        self.grid, self.unit = _round_to_grid(scores)
        self.total = self.grid.sum(axis=0)
        self.word = random_stream_key(seed, number)

    def sums_under_flips(self, flips: slice) -> Floats:
        """The sums under some of the flips, of shape (n_columns, n_flips)."""
        heads = _sums_of_heads(self.grid, self.word, flips)
        result: Floats = (2.0 * heads - self.total[:, None]) * self.unit[:, None]
        return result


def _sums_of_heads(grid: Floats, word: int, flips: slice) -> Floats:
    """Sum of each column over the users whose coin shows heads, of shape (n_columns, flips)."""
    n, columns = grid.shape
    heads = np.zeros((columns, flips.stop - flips.start))
    for block, first in enumerate(range(0, n, _USERS)):
        users = min(_USERS, n - first)
        groups = -(-users // 256) * 32
        tile = np.zeros((columns, groups * 8))
        tile[:, :users] = grid[first : first + users].T
        places = flip_coins(word, block, flips, groups) + np.arange(0, groups * 256, 256)
        for column, values in enumerate(tile.reshape(columns, groups, 8)):
            heads[column] += _sums_of_subsets(values).take(places).sum(axis=1)
    return heads


def _sums_of_subsets(groups: Floats) -> Floats:
    """All 256 subset sums of each group of eight values, by byte, lowest bit first."""
    choices = np.arange(16)[:, None] >> np.arange(4) & 1
    low, high = groups[:, :4] @ choices.T, groups[:, 4:] @ choices.T
    return high[:, :, None] + low[:, None, :]


def _round_to_grid(values: Floats) -> tuple[Floats, Floats]:
    """Round each column to integers with an absolute sum below 2^52; return integers and units."""
    _, exponent = np.frexp(np.abs(values).sum(axis=0))
    shift = 51 - exponent
    grid = np.ldexp(values, shift)
    return np.rint(grid, out=grid), np.ldexp(1.0, -shift)


def _rounding_tolerance(n: int, *units: float) -> float:
    """Largest error of a sum of n differences and of the observed sum, by rounding to the grid."""
    return n * float(sum(units))


WILCOXON_CAUTION = (
    "the Wilcoxon test does not test the difference of means: where the means are equal it rejects "
    "too often, and more often the more users there are, 9.7 % instead of 5 % for average "
    "precision over 100 topics (Urbano, Lima and Hanjalic, SIGIR 2019). Smucker, Allan and "
    "Carterette (CIKM 2007) advise against it, others find it good in simulations of its own "
    "question (Parapar et al., 2020); use 'randomization' or 't' for means"
)
"""The warning of the test that does not test means."""


def wilcoxon_test(a: npt.ArrayLike, b: npt.ArrayLike) -> TestResult:
    """Wilcoxon's signed-rank test; the statistic is the smaller sum of ranks.

    Differences of zero are dropped before the others are ranked. Up to 30 differences other than
    zero, all choices of signs are counted, ties or not; beyond, p is SciPy's normal approximation.
    """
    from scipy import stats

    a, b = finite_pair(a, b)
    n, mean, _ = paired_moments(a, b)
    if n < 2:
        return too_few_users_result("Wilcoxon", n)
    differences = (a - b)[a != b]
    ranks = np.sign(differences) * stats.rankdata(np.abs(differences))
    statistic = min(float(ranks[ranks > 0].sum()), -float(ranks[ranks < 0].sum()))
    if ranks.size <= EXACT_LIMIT:
        p = exact_p_value(ranks, np.zeros_like(ranks))
    else:
        p = clip_p_value(stats.wilcoxon(differences, method="approx").pvalue)
    direction = float(np.sign(ranks.sum()))
    return TestResult("Wilcoxon (wilcox)", mean, statistic, p, direction=direction)


def paired_t_test(a: npt.ArrayLike, b: npt.ArrayLike) -> TestResult:
    """Student's paired t test.

    Identical systems give t = 0 and p = 1. If all users differ by the same amount, there is no
    variation to compare it with, and p is NaN.
    """
    n, mean, sd = paired_moments(*finite_pair(a, b))
    if n < 2:
        return too_few_users_result("paired t", n)
    equal = "all users differ by the same amount"
    return t_test_result("paired t", mean, sd / math.sqrt(n), n - 1, equal)


def heterogeneity_test(groups: Sequence[SampleMean]) -> tuple[float, float]:
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
