"""Which of several systems differ, and do segments? Tests of all pairs at once.

The users are blocks: each is measured under every system, so differences in difficulty between
users are removed before systems are compared. ``scipy.stats.tukey_hsd`` and similar functions
treat the systems as separate samples of users, and find almost nothing in rankings, where users
differ far more than systems do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations

import numpy as np
import numpy.typing as npt

from rankmeter._statistics.intervals import (
    Interval,
    Spread,
    TestResult,
    clip_p_value,
    t_tail_probability,
    too_few_users_result,
)
from rankmeter._statistics.vectors import Floats, finite_table, generators_of_blocks
from rankmeter.errors._checks import check_fraction, check_integer


def tukey_hsd(scores: npt.ArrayLike, *, confidence: float = 0.95) -> list[TestResult]:
    """Test all pairs of systems by Tukey's honestly significant differences, users as blocks.

    ``scores`` has the shape (n_users, n_systems). One result per pair, in the order of
    ``combinations(range(n_systems), 2)``: p is corrected for the family of all pairs, the interval
    is simultaneous, the statistic is the studentized range ``q = |difference| / √(mse / n)``. Here
    ``mse`` is the mean square of the residual of system and user, with its degrees of freedom
    from the two-way analysis of variance (Carterette, TOIS 30, 2012).

    Where p is so small that SciPy's numerical integration returns its own rounding, p is the sum
    over the pairs of the t tests' p on the same ``mse``, which bounds it from above and, that far
    out, equals it.
    """
    from scipy.stats import studentized_range

    check_fraction("confidence", confidence)
    values = finite_table(scores, columns=2)
    n, m = values.shape
    method = "blocked Tukey HSD"
    pairs = list(combinations(range(m), 2))
    if n < 2:
        return [too_few_users_result(method, n) for _ in pairs]
    means, mse, df = _residual_variance(values)
    unit = math.sqrt(mse / n)
    half = unit * _studentized_range_quantile(confidence, m, df)
    detail = {"mse": mse, "df": df, "confidence": confidence}
    results = []
    for i, j in pairs:
        difference = float(means[i] - means[j])
        interval = Interval(difference - half, difference + half)
        if difference == 0.0:
            q, p, note = 0.0, 1.0, ""
        elif unit == 0.0:
            q, p, note = math.nan, math.nan, _CONSTANT
        else:
            q, note = abs(difference) / unit, ""
            bound = len(pairs) * 2.0 * t_tail_probability(q / math.sqrt(2.0), df)
            p = bound if bound < 1e-9 else float(studentized_range.sf(q, m, df))
        results.append(
            TestResult(method, n, difference, q, clip_p_value(p), interval, note, detail)
        )
    return results


def randomized_tukey_hsd(
    scores: npt.ArrayLike,
    *,
    confidence: float = 0.95,
    n_resamples: int = 9_999,
    seed: int = 0,
) -> list[TestResult]:
    """Test all pairs by Tukey's HSD, permuting the systems within each user.

    Input and results as for `tukey_hsd`, but the statistic is the difference. Every difference is
    compared with the range, largest mean minus smallest, of each permutation (Carterette, TOIS 30,
    2012; Sakai, Laboratory Experiments in Information Retrieval, 2018). One permutation costs as
    much as shuffling the table: ten thousand of a million values take minutes.
    """
    check_fraction("confidence", confidence)
    values = finite_table(scores, columns=2)
    n, m = values.shape
    method = "randomized Tukey HSD"
    pairs = list(combinations(range(m), 2))
    if n < 2:
        return [too_few_users_result(method, n) for _ in pairs]
    means = values.mean(axis=0)
    ranges = np.empty(check_integer("n_resamples", n_resamples, least=1))
    for rows, size, generator in generators_of_blocks(n_resamples, values.size, seed):
        permuted = generator.permuted(np.tile(values, (size, 1)), axis=1)
        ranges[rows] = np.ptp(permuted.reshape(size, n, m).mean(axis=1), axis=1)
    ranges.sort()
    half = float(np.quantile(ranges, confidence))
    rounding = 1e-12 * float(np.abs(means).max())  # must not decide a tie
    detail = {"confidence": confidence, "n_resamples": n_resamples, "seed": seed}
    results = []
    for i, j in pairs:
        difference = float(means[i] - means[j])
        reached = n_resamples - int(np.searchsorted(ranges, abs(difference) - rounding))
        p = (1 + reached) / (1 + n_resamples)
        interval = Interval(difference - half, difference + half)
        results.append(TestResult(method, n, difference, difference, p, interval, detail=detail))
    return results


_CONSTANT = "the systems differ by the same amount for every user: no variation to compare it with"


@lru_cache(maxsize=64)
def _studentized_range_quantile(confidence: float, m: int, df: int) -> float:
    """Quantile of the studentized range, cached: SciPy needs a tenth of a second."""
    from scipy.stats import studentized_range

    return float(studentized_range.ppf(confidence, m, df))


def _residual_variance(values: Floats) -> tuple[Floats, float, int]:
    """Means of the systems, mean square of the residual of system + user, and its df."""
    n, m = values.shape
    means = values.mean(axis=0)
    residual = values - values.mean(axis=1, keepdims=True)
    residual -= residual.mean(axis=0)
    mse = float(np.square(residual, out=residual).sum()) / ((n - 1) * (m - 1))
    noise = 4 * np.finfo(np.float64).eps * float(np.abs(values).max())
    return means, 0.0 if math.sqrt(mse) <= noise else mse, (n - 1) * (m - 1)


def heterogeneity_test(groups: Sequence[Spread]) -> tuple[float, float]:
    """Cochran's Q of the means of disjoint groups of users, and the p-value by Welch's test.

    Q weights every mean with its own variance (Cochran, JRSS Suppl. 4, 1937). For few users its
    chi-squared distribution rejects too often; Welch (Biometrika 38, 1951) compares Q with an F
    distribution instead. NaN where a group has no variation, whose weight would be infinite.
    """
    from scipy.stats import f

    n = len(groups)
    means, se, df = np.array([(g.mean, g.se, g.df) for g in groups]).reshape(-1, 3).T
    if n < 2 or not np.all(se > 0.0):
        return math.nan, math.nan
    weights = 1.0 / np.square(se)
    share = weights / weights.sum()
    q = float((weights * np.square(means - (share * means).sum())).sum())
    uneven = float((np.square(1.0 - share) / df).sum()) / (n * n - 1.0)
    statistic = q / (n - 1) / (1.0 + 2.0 * (n - 2) * uneven)
    return q, clip_p_value(float(f.sf(statistic, n - 1, 1.0 / (3.0 * uneven))))
