"""Is A better than B? Tests of two systems on the same users."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from rankmeter._statistics.effects import wins_ties_losses
from rankmeter._statistics.flips import EXACT_LIMIT, exact_p, sampled_p
from rankmeter._statistics.intervals import Interval, resampled_means
from rankmeter._statistics.results import TestResult, positive_p, too_few_users
from rankmeter._statistics.student import t_quantile, t_tail
from rankmeter._statistics.vectors import fraction, pair, paired_moments, table
from rankmeter.errors import RankmeterWarning, UsageError

__all__ = [
    "AUTO_LIMIT",
    "CAUTIONS",
    "bootstrap_test",
    "paired_t_test",
    "paired_test",
    "randomization_test",
    "randomization_tests",
    "sign_test",
    "wilcoxon_test",
]

AUTO_LIMIT = 100_000
"""Users up to which ``method="auto"`` flips signs; beyond, t gives the same p for less work."""

_SOURCES = (
    "(Urbano, Lima and Hanjalic, SIGIR 2019). Smucker, Allan and Carterette (CIKM 2007) advise "
    "against it; use 'randomization' or 't'"
)
CAUTIONS: Mapping[str, str] = {
    "wilcoxon": (
        "the Wilcoxon test does not test the difference of means: where the means are equal it "
        "rejects too often, and more often the more users there are, 9.7 % instead of 5 % for "
        f"average precision over 100 topics {_SOURCES}"
    ),
    "sign": (
        "the sign test does not test the difference of means: where the means are equal it "
        "rejects too often, and more often the more users there are, 12.5 % instead of 5 % for "
        f"average precision over 100 topics {_SOURCES}"
    ),
}
"""What to know before trusting a method. Methods that need no caution are not listed."""


def paired_test(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    method: Literal["auto", "t", "randomization", "bootstrap", "wilcoxon", "sign"] = "auto",
    *,
    confidence: float = 0.95,
    n_resamples: int = 9_999,
    seed: int = 0,
) -> TestResult:
    """Test whether two systems differ in the mean, by a method chosen by name.

    Parameters
    ----------
    a, b : array-like of float, shape (n_users,)
        Values of the same users under the two systems.
    method : {"auto", "t", "randomization", "bootstrap", "wilcoxon", "sign"}
        "auto" flips signs ("randomization") up to 100,000 users and uses t beyond.
    confidence : float, default 0.95
        Confidence of the interval, for the methods that have one ("t", "bootstrap").
    n_resamples, seed : int
        For the methods that draw ("randomization", "bootstrap").

    Returns
    -------
    TestResult
        As the function of the method describes it.

    Raises
    ------
    UsageError
        If the vectors are not paired, or the method has no such name.
    InvalidValueError
        If a value is not finite.

    Examples
    --------
    Of the 8 ways to sign the differences 1, 2 and 3, two reach a sum of 6:

    >>> paired_test([2.0, 4.0, 6.0], [1.0, 2.0, 3.0]).p
    0.25
    """
    if method == "auto":
        method = "randomization" if np.size(a) <= AUTO_LIMIT else "t"
    match method:
        case "t":
            return paired_t_test(a, b, confidence=confidence)
        case "randomization":
            return randomization_test(a, b, n_resamples=n_resamples, seed=seed)
        case "bootstrap":
            return bootstrap_test(a, b, confidence=confidence, n_resamples=n_resamples, seed=seed)
        case "wilcoxon":
            return wilcoxon_test(a, b)
        case "sign":
            return sign_test(a, b)
    raise UsageError(
        f"no paired test is called {method!r}; there are 'auto', 't', 'randomization', "
        "'bootstrap', 'wilcoxon' and 'sign'"
    )


def paired_t_test(a: npt.ArrayLike, b: npt.ArrayLike, *, confidence: float = 0.95) -> TestResult:
    """Student's paired t test.

    Parameters
    ----------
    a, b : array-like of float, shape (n_users,)
        Values of the same users under the two systems.
    confidence : float, default 0.95
        Confidence of the interval of the difference.

    Returns
    -------
    TestResult
        ``statistic`` is t; ``detail`` holds ``df`` and ``confidence``.

    Raises
    ------
    UsageError, InvalidValueError
        If the vectors are not paired, or a value is not finite.

    Notes
    -----
    1. Identical systems give t = 0 and p = 1.
    2. If all users differ by the same amount, there is no variation to compare it with: p is NaN.

    Examples
    --------
    Differences 1, 2, 3: t = 2 / (1 / √3)

    >>> result = paired_t_test([2.0, 4.0, 6.0], [1.0, 2.0, 3.0])
    >>> round(result.statistic, 6), round(result.p, 6)
    (3.464102, 0.07418)
    """
    fraction(confidence, "confidence")
    method = "paired t"
    n, mean, sd = values = paired_moments(*pair(a, b))
    if n < 2:
        return too_few_users(method, n)
    detail = {"df": n - 1, "confidence": confidence}
    same = Interval(mean, mean)
    if sd == 0.0 and mean == 0.0:
        return TestResult(method, n, 0.0, 0.0, 1.0, same, detail=detail)
    if sd == 0.0:
        note = "all users differ by the same amount: t has no variation to compare it with"
        return TestResult(method, n, mean, math.nan, math.nan, same, note, detail)
    t = mean / values.standard_error
    half = t_quantile(0.5 + 0.5 * confidence, n - 1) * values.standard_error
    p = positive_p(2.0 * t_tail(abs(t), n - 1))
    return TestResult(method, n, mean, t, p, Interval(mean - half, mean + half), detail=detail)


def randomization_test(
    a: npt.ArrayLike, b: npt.ArrayLike, *, n_resamples: int = 9_999, seed: int = 0
) -> TestResult:
    """Fisher's randomization test: flip the sign of each user's difference.

    Parameters
    ----------
    a, b : array-like of float, shape (n_users,)
        Values of the same users under the two systems.
    n_resamples : int, default 9999
        Flips to draw if there are too many to enumerate.
    seed : int, default 0
        Seed; the same one gives the same p on any machine and any number of threads.

    Returns
    -------
    TestResult
        ``statistic`` is the mean difference; ``detail`` holds ``exact`` (1.0 or 0.0) and, for a
        drawn p, ``n_resamples`` and ``seed``.

    Raises
    ------
    UsageError, InvalidValueError
        If the vectors are not paired, or a value is not finite.

    Notes
    -----
    See `randomization_tests`, which this calls for one pair.

    Examples
    --------
    >>> randomization_test([2.0, 4.0, 6.0], [1.0, 2.0, 3.0]).p
    0.25
    """
    scores = np.column_stack(pair(a, b))
    return randomization_tests(scores, [(0, 1)], n_resamples=n_resamples, seed=seed)[0]


def randomization_tests(
    scores: npt.ArrayLike,
    pairs: Sequence[tuple[int, int]],
    *,
    n_resamples: int = 9_999,
    seed: int = 0,
) -> list[TestResult]:
    """Fisher's randomization test of many pairs of columns, on the same flips.

    Parameters
    ----------
    scores : array-like of float, shape (n_users, n_columns)
        Values of each user: a column per system, or per system and metric.
    pairs : sequence of (int, int)
        Columns to compare, A and B.
    n_resamples, seed : int
        As for `randomization_test`.

    Returns
    -------
    list of TestResult
        One per pair, as `randomization_test` describes them. The p of a pair does not depend on the
        other pairs and columns.

    Raises
    ------
    UsageError
        If ``scores`` is no table, or a pair names no two columns of it.
    InvalidValueError
        If a value is not finite.

    Notes
    -----
    1. Two-sided on the absolute mean. With up to 30 differences other than zero, all choices of
       signs are counted; with more, p is (1 + flips that reach the observed difference) /
       (1 + n_resamples), as in Phipson and Smyth, SAGMB 9 (2010).
    2. A flip that misses the observed difference by rounding alone reaches it.
    3. Identical systems give p = 1, and fewer than two users NaN.
    4. Beyond one copy of ``scores``, memory stays below 100 MB at any number of users and flips.
    5. User number i meets the i-th coin, so reordering the users moves a drawn p within its Monte
       Carlo error.

    Examples
    --------
    >>> [r.p for r in randomization_tests([[2, 1, 1], [4, 2, 2], [6, 3, 3]], [(0, 1), (1, 2)])]
    [0.25, 1.0]
    """
    values = table(scores)
    n, columns = values.shape
    for i, j in pairs:
        if not (0 <= i < columns and 0 <= j < columns):
            raise UsageError(f"pair {(i, j)} names no two of the {columns} columns")
    if n < 2:
        return [too_few_users("randomization", n) for _ in pairs]
    changes = [int(np.count_nonzero(values[:, i] != values[:, j])) for i, j in pairs]
    drawn = [pair for pair, changed in zip(pairs, changes, strict=True) if changed > EXACT_LIMIT]
    sampled = iter(sampled_p(values, drawn, n_resamples=n_resamples, seed=seed) if drawn else ())
    results = []
    for (i, j), changed in zip(pairs, changes, strict=True):
        difference = paired_moments(values[:, i], values[:, j]).mean
        if changed > EXACT_LIMIT:
            method, p = "randomization (Monte Carlo)", float(next(sampled))
            detail = {"exact": 0.0, "n_resamples": n_resamples, "seed": seed}
        else:
            method, p = "randomization (exact)", exact_p(values[:, i], values[:, j])
            detail = {"exact": 1.0}
        results.append(TestResult(method, n, difference, difference, p, detail=detail))
    return results


def bootstrap_test(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    *,
    confidence: float = 0.95,
    n_resamples: int = 9_999,
    seed: int = 0,
) -> TestResult:
    """Paired bootstrap test by the shift method.

    Parameters
    ----------
    a, b : array-like of float, shape (n_users,)
        Values of the same users under the two systems.
    confidence : float, default 0.95
        Confidence of the percentile interval of the difference.
    n_resamples, seed : int
        Resamples to draw, and the seed to draw them with.

    Returns
    -------
    TestResult
        ``statistic`` is the mean difference; ``detail`` holds ``confidence``, ``n_resamples`` and
        ``seed``.

    Raises
    ------
    UsageError, InvalidValueError
        If the vectors are not paired, or a value is not finite.

    Notes
    -----
    The resampled means are shifted to have the observed mean at 0, as if the systems were equal
    (Noreen, 1989; Sakai, SIGIR 2006), and compared with it. Rejects too often for few users: 6 % to
    7 % instead of 5 % at 25 topics (Urbano, Lima and Hanjalic, SIGIR 2019).

    Examples
    --------
    Identical systems differ in no resample:

    >>> bootstrap_test([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]).p
    1.0
    """
    fraction(confidence, "confidence")
    method = "paired bootstrap (shift)"
    a, b = pair(a, b)
    n, mean, _ = paired_moments(a, b)
    if n < 2:
        return too_few_users(method, n)
    means = resampled_means(a - b, n_resamples=n_resamples, seed=seed)
    reach = abs(mean) - 1e-12 * float(np.abs(means).max())  # rounding must not decide a tie
    reached = int(np.count_nonzero(np.abs(means - mean) >= reach))
    low, high = np.quantile(means, [0.5 - 0.5 * confidence, 0.5 + 0.5 * confidence])
    detail = {"confidence": confidence, "n_resamples": n_resamples, "seed": seed}
    p = (1 + reached) / (1 + n_resamples)
    return TestResult(method, n, mean, mean, p, Interval(float(low), float(high)), detail=detail)


def wilcoxon_test(
    a: npt.ArrayLike, b: npt.ArrayLike, *, zero_method: Literal["wilcox", "pratt"] = "wilcox"
) -> TestResult:
    """Wilcoxon's signed-rank test, with a warning.

    Parameters
    ----------
    a, b : array-like of float, shape (n_users,)
        Values of the same users under the two systems.
    zero_method : {"wilcox", "pratt"}
        Differences of zero leave before the others are ranked, or after.

    Returns
    -------
    TestResult
        ``statistic`` is the smaller sum of ranks; ``detail`` holds ``exact`` (1.0 or 0.0).

    Raises
    ------
    UsageError, InvalidValueError
        If the vectors are not paired, or a value is not finite.

    Warns
    -----
    RankmeterWarning
        Always: the test is offered for comparison with published results, and `CAUTIONS` says why
        it should not decide anything.

    Notes
    -----
    Up to 30 differences other than zero, all choices of signs are counted, ties or not; beyond, p
    is SciPy's normal approximation.

    Examples
    --------
    Ranks 1, 2, 3 on one side, which 2 of 8 choices of signs bring about:

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     wilcoxon_test([2.0, 4.0, 6.0], [1.0, 2.0, 3.0]).p
    0.25
    """
    from scipy import stats

    if zero_method not in ("wilcox", "pratt"):
        raise UsageError(f"zero_method is 'wilcox' or 'pratt', found {zero_method!r}")
    warnings.warn(CAUTIONS["wilcoxon"], RankmeterWarning, stacklevel=2)
    a, b = pair(a, b)
    n, mean, _ = paired_moments(a, b)
    if n < 2:
        return too_few_users("Wilcoxon", n)
    differences = a - b
    if zero_method == "wilcox":
        differences = differences[differences != 0.0]
    ranks = np.sign(differences) * stats.rankdata(np.abs(differences))
    statistic = min(float(ranks[ranks > 0].sum()), -float(ranks[ranks < 0].sum()))
    exact = np.count_nonzero(ranks) <= EXACT_LIMIT
    if exact:
        p = exact_p(ranks, np.zeros_like(ranks))
    else:
        p = stats.wilcoxon(differences, zero_method=zero_method, method="approx").pvalue
    detail = {"exact": float(exact)}
    return TestResult(f"Wilcoxon ({zero_method})", n, mean, statistic, positive_p(p), detail=detail)


def sign_test(a: npt.ArrayLike, b: npt.ArrayLike, *, min_difference: float = 0.0) -> TestResult:
    """Sign test, with a warning.

    Parameters
    ----------
    a, b : array-like of float, shape (n_users,)
        Values of the same users under the two systems.
    min_difference : float, default 0.0
        Smaller differences than this one count as ties. Ties count for neither side.

    Returns
    -------
    TestResult
        ``statistic`` is the number of users for whom A is better; ``detail`` holds ``wins``,
        ``ties`` and ``losses``.

    Raises
    ------
    UsageError, InvalidValueError
        If the vectors are not paired, or a value is not finite.

    Warns
    -----
    RankmeterWarning
        Always: the test is offered for comparison with published results, and `CAUTIONS` says why
        it should not decide anything.

    Examples
    --------
    Three heads in three tosses, or three tails: 2 of 8

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     sign_test([2.0, 4.0, 6.0], [1.0, 2.0, 3.0]).p
    0.25
    """
    from scipy import stats

    warnings.warn(CAUTIONS["sign"], RankmeterWarning, stacklevel=2)
    a, b = pair(a, b)
    n, mean, _ = paired_moments(a, b)
    if n < 2:
        return too_few_users("sign", n)
    wins, ties, losses = wins_ties_losses(a, b, min_difference=min_difference)
    p = float(stats.binomtest(wins, wins + losses).pvalue) if wins + losses else 1.0
    detail = {"wins": wins, "ties": ties, "losses": losses}
    return TestResult("sign", n, mean, wins, positive_p(p), detail=detail)
