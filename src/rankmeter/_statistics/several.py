"""Which of several systems differ? Tests of all systems, or all pairs, at once.

The users are blocks: each meets every system, so what makes one user harder than another is taken
out before anything is compared. ``scipy.stats.tukey_hsd`` and the like take the systems for
separate samples of users, and find next to nothing in rankings, where users differ far more than
systems do.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import combinations

import numpy as np
import numpy.typing as npt

from rankmeter._statistics.intervals import Interval
from rankmeter._statistics.randomness import generators
from rankmeter._statistics.results import TestResult, positive_p, too_few_users
from rankmeter._statistics.student import t_tail
from rankmeter._statistics.vectors import Floats, at_least_one, fraction, table

__all__ = ["block_anova", "friedman_test", "randomized_tukey_hsd", "tukey_hsd"]


def block_anova(scores: npt.ArrayLike) -> TestResult:
    """Two-way analysis of variance of systems and users: any difference at all.

    Parameters
    ----------
    scores : array-like of float, shape (n_users, n_systems)
        Values of each user under each of at least two systems.

    Returns
    -------
    TestResult
        ``statistic`` is F; ``detail`` holds ``df_systems``, ``df_residual`` and ``mse``, the mean
        square of what neither system nor user explains.

    Raises
    ------
    UsageError, InvalidValueError
        If ``scores`` is no such table, or a value is not finite.

    Notes
    -----
    The linear model of Carterette (TOIS 30, 2012): system plus user. p is 1 if the systems agree
    on every user, NaN if they differ by the same amounts for every user.

    Examples
    --------
    >>> result = block_anova([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]])  # two systems: F is t²
    >>> round(result.statistic, 6)
    12.0
    """
    from scipy.special import fdtrc

    values = table(scores, columns=2)
    n, m = values.shape
    method = "two-way ANOVA (systems + users)"
    if n < 2:
        return too_few_users(method, n)
    means, mse, df = _residual(values)
    detail = {"df_systems": m - 1, "df_residual": df, "mse": mse}
    between = n * float(np.var(means)) * m / (m - 1)
    if mse == 0.0:
        p = math.nan if np.ptp(means) else 1.0
        note = _CONSTANT if np.ptp(means) else ""
        return TestResult(method, n, math.nan, math.nan, p, note=note, detail=detail)
    p = positive_p(fdtrc(m - 1, df, between / mse))
    return TestResult(method, n, math.nan, between / mse, p, detail=detail)


def tukey_hsd(scores: npt.ArrayLike, *, confidence: float = 0.95) -> list[TestResult]:
    """Tukey's honestly significant differences of all pairs, with users as blocks.

    Parameters
    ----------
    scores : array-like of float, shape (n_users, n_systems)
        Values of each user under each of at least two systems.
    confidence : float, default 0.95
        Probability with which all the intervals cover their differences at once.

    Returns
    -------
    list of TestResult
        One per pair, in the order of ``itertools.combinations(range(n_systems), 2)``. ``p`` is
        corrected for the family of all pairs and ``interval`` is simultaneous; ``statistic`` is the
        studentized range q; ``detail`` holds ``mse``, ``df`` and ``confidence``.

    Raises
    ------
    UsageError, InvalidValueError
        If ``scores`` is no such table, or a value is not finite.

    Notes
    -----
    ``q = |difference| / √(mse / n)``, with ``mse`` and its degrees of freedom from `block_anova`.
    Where p is so small that SciPy's numerical integration returns its own rounding, p is the sum
    over the pairs of the t tests' p on the same ``mse``, which bounds it from above and, that far
    out, equals it.

    Examples
    --------
    For two systems it is the paired t test:

    >>> result = tukey_hsd([[2.0, 1.0], [4.0, 2.0], [6.0, 3.0]])[0]
    >>> round(result.p, 5)
    0.07418
    """
    from scipy.stats import studentized_range

    fraction(confidence, "confidence")
    values = table(scores, columns=2)
    n, m = values.shape
    method = "blocked Tukey HSD"
    pairs = list(combinations(range(m), 2))
    if n < 2:
        return [too_few_users(method, n) for _ in pairs]
    means, mse, df = _residual(values)
    unit = math.sqrt(mse / n)
    half = unit * _range_quantile(confidence, m, df)
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
            bound = len(pairs) * 2.0 * t_tail(q / math.sqrt(2.0), df)
            p = bound if bound < 1e-9 else float(studentized_range.sf(q, m, df))
        results.append(TestResult(method, n, difference, q, positive_p(p), interval, note, detail))
    return results


def randomized_tukey_hsd(
    scores: npt.ArrayLike,
    *,
    confidence: float = 0.95,
    n_resamples: int = 9_999,
    seed: int = 0,
) -> list[TestResult]:
    """Tukey's honestly significant differences by permuting the systems within each user.

    Parameters
    ----------
    scores : array-like of float, shape (n_users, n_systems)
        Values of each user under each of at least two systems.
    confidence : float, default 0.95
        Probability with which all the intervals cover their differences at once.
    n_resamples, seed : int
        Permutations to draw, and the seed to draw them with.

    Returns
    -------
    list of TestResult
        One per pair, in the order of ``itertools.combinations(range(n_systems), 2)``. ``p`` is
        corrected for the family of all pairs and ``interval`` is simultaneous; ``statistic`` is the
        difference; ``detail`` holds ``confidence``, ``n_resamples`` and ``seed``.

    Raises
    ------
    UsageError, InvalidValueError
        If ``scores`` is no such table, or a value is not finite.

    Notes
    -----
    Carterette (TOIS 30, 2012); Sakai, Laboratory Experiments in Information Retrieval (2018). Every
    difference is compared with the range, largest mean minus smallest, of each permutation. One
    permutation costs as much as shuffling the table: ten thousand of a million values take minutes.

    Examples
    --------
    Identical systems have a range of 0 however they are permuted:

    >>> randomized_tukey_hsd([[1.0, 1.0], [2.0, 2.0]], n_resamples=99)[0].p
    1.0
    """
    fraction(confidence, "confidence")
    values = table(scores, columns=2)
    n, m = values.shape
    method = "randomized Tukey HSD"
    pairs = list(combinations(range(m), 2))
    if n < 2:
        return [too_few_users(method, n) for _ in pairs]
    means = values.mean(axis=0)
    ranges = np.empty(at_least_one(n_resamples, "n_resamples"))
    for rows, size, generator in generators(n_resamples, values.size, seed):
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


def friedman_test(scores: npt.ArrayLike) -> TestResult:
    """Friedman's test on the ranks of the systems: any difference at all.

    Parameters
    ----------
    scores : array-like of float, shape (n_users, n_systems)
        Values of each user under each of at least three systems.

    Returns
    -------
    TestResult
        ``statistic`` is χ², corrected for ties; ``detail`` holds ``df``.

    Raises
    ------
    UsageError, InvalidValueError
        If ``scores`` is no such table, or a value is not finite.

    Notes
    -----
    The systems are ranked within each user and how far apart they are is discarded, so this is, as
    Wilcoxon's, no test of means. p is 1 if the systems agree on every user.

    Examples
    --------
    Two users who rank three systems alike:

    >>> result = friedman_test([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]])
    >>> round(result.statistic, 6), round(result.p, 6)
    (4.0, 0.135335)
    """
    from scipy.stats import friedmanchisquare

    values = table(scores, columns=3)
    n, m = values.shape
    if n < 2:
        return too_few_users("Friedman", n)
    detail = {"df": m - 1}
    if not np.ptp(values, axis=1).any():
        return TestResult("Friedman", n, math.nan, 0.0, 1.0, detail=detail)
    statistic, p = friedmanchisquare(*values.T)
    return TestResult("Friedman", n, math.nan, float(statistic), positive_p(p), detail=detail)


_CONSTANT = "the systems differ by the same amount for every user: no variation to compare it with"


@lru_cache(maxsize=64)
def _range_quantile(confidence: float, m: int, df: int) -> float:
    """Quantile of the studentized range, which SciPy takes a tenth of a second to find."""
    from scipy.stats import studentized_range

    return float(studentized_range.ppf(confidence, m, df))


def _residual(values: Floats) -> tuple[Floats, float, int]:
    """Means of the systems, mean square of the residual of system + user, and its df."""
    n, m = values.shape
    means = values.mean(axis=0)
    residual = values - values.mean(axis=1, keepdims=True)
    residual -= residual.mean(axis=0)
    mse = float(np.square(residual, out=residual).sum()) / ((n - 1) * (m - 1))
    noise = 4 * np.finfo(np.float64).eps * float(np.abs(values).max())
    return means, 0.0 if math.sqrt(mse) <= noise else mse, (n - 1) * (m - 1)
