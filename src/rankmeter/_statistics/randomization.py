"""Fisher's randomization test, by flipping the signs of the users' differences.

If two systems are exchangeable, each user's difference is as likely to have one sign as the other,
and the 2ⁿ ways to choose the signs are equally probable. Here they are counted: all of them where
that is feasible, a sample of them otherwise.

Sums are compared with the observed sum, so rounding must not decide a tie. The values are therefore
moved to a grid of integers that float64 adds without rounding, in any order and on any number of
threads; what moving them to the grid can have changed in a sum is the tolerance of the comparison.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rankmeter._checks import integer
from rankmeter._statistics.randomness import coins, key
from rankmeter._statistics.results import TestResult, too_few_users
from rankmeter._statistics.vectors import Floats, pair, paired_moments, table
from rankmeter.errors import UsageError

EXACT_LIMIT = 30
"""Largest number of differences other than zero whose signs are enumerated."""

FLIPS, _USERS = 2048, 1024
"""Flips and users taken at once, for the caches. ``_USERS`` is part of the stream of coins."""


def randomization_test(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    *,
    n_resamples: int = 9_999,
    seed: int = 0,
    mid: bool = False,
) -> TestResult:
    """Fisher's randomization test of one pair: `randomization_tests` for two vectors."""
    scores = np.column_stack(pair(a, b))
    return randomization_tests(scores, [(0, 1)], n_resamples=n_resamples, seed=seed, mid=mid)[0]


def randomization_tests(
    scores: npt.ArrayLike,
    pairs: Sequence[tuple[int, int]],
    *,
    n_resamples: int = 9_999,
    seed: int = 0,
    mid: bool = False,
) -> list[TestResult]:
    """Fisher's randomization test of many pairs of columns, on the same flips.

    ``scores`` has a row per user and a column per system (and metric). The p of a pair does not
    depend on the other pairs and columns, the machine or the number of threads.

    1. Two-sided on the absolute mean. With up to 30 differences other than zero, all choices of
       signs are counted; with more, p is (1 + flips that reach the observed difference) /
       (1 + n_resamples), as in Phipson and Smyth, SAGMB 9 (2010).
    2. A flip that misses the observed difference by rounding alone reaches it.
    3. Identical systems give p = 1, and fewer than two users NaN.
    4. Beyond one copy of ``scores``, memory stays below 100 MB at any number of users and flips.
    5. User number i meets the i-th coin, so reordering the users moves a drawn p within its Monte
       Carlo error.
    6. ``mid`` counts half of the signs that equal the observed difference (Lancaster, JASA 56,
       1961). Hits and misses have few possible sums, so that p is larger than it needs to be: of
       hits, this is McNemar's mid-p (Fagerland, Lydersen and Laake, BMC Medical Research
       Methodology 13, 2013). It can reject a little too often.
    """
    values = table(scores)
    n, columns = values.shape
    n_resamples = integer("n_resamples", n_resamples, least=1)
    for i, j in pairs:
        if not (0 <= i < columns and 0 <= j < columns):
            raise UsageError(f"`pairs` must name two of the {columns} columns each, got {(i, j)}")
    if n < 2:
        return [too_few_users("randomization", n) for _ in pairs]
    changes = [int(np.count_nonzero(values[:, i] != values[:, j])) for i, j in pairs]
    many_changes = [pair for pair, n in zip(pairs, changes, strict=True) if n > EXACT_LIMIT]
    options: dict[str, Any] = {"n_resamples": n_resamples, "seed": seed, "mid": mid}
    sampled = iter(_sampled_p(values, many_changes, **options) if many_changes else ())
    kind = "mid-p randomization" if mid else "randomization"
    results = []
    for (i, j), changed in zip(pairs, changes, strict=True):
        difference = paired_moments(values[:, i], values[:, j]).mean
        if changed > EXACT_LIMIT:
            method, p = f"{kind} (Monte Carlo)", float(next(sampled))
            detail = {"exact": 0.0, "n_resamples": n_resamples, "seed": seed}
        else:
            method, p = f"{kind} (exact)", exact_p(values[:, i], values[:, j], mid=mid)
            detail = {"exact": 1.0}
        results.append(TestResult(method, n, difference, difference, p, detail=detail))
    return results


def exact_p(a: Floats, b: Floats, *, mid: bool = False) -> float:
    """Share of all choices of signs whose sum is at least as far from 0 as that of ``a - b``.

    With ``mid`` those that are as far count half.

    The two halves of the users are enumerated separately and met in the middle (Horowitz and Sahni,
    J. ACM 21, 1974), which takes 2^(n/2) sums instead of 2^n.
    """
    changed = a != b
    n = int(np.count_nonzero(changed))
    assert n <= EXACT_LIMIT
    grid, _ = _grid(np.concatenate([a[changed], b[changed]])[:, None])
    differences = grid[:n, 0] - grid[n:, 0]
    left = np.sort(_signed_sums(differences[: n // 2]))  # searching for sorted values is faster
    right = np.sort(_signed_sums(differences[n // 2 :]))

    def beyond(threshold: float) -> float:
        if threshold <= 0.0:
            return 1.0
        missing = int(np.searchsorted(right, threshold - left).sum())
        return float(2 * (left.size * right.size - missing) / 2**n)

    reach, tolerance = abs(float(differences.sum())), _tolerance(n, 1.0, 1.0)
    p = beyond(reach - tolerance)
    return 0.5 * (p + beyond(reach + tolerance)) if mid else p


def _sampled_p(
    scores: Floats,
    pairs: Sequence[tuple[int, int]],
    *,
    n_resamples: int,
    seed: int,
    mid: bool = False,
) -> Floats:
    """Monte Carlo p of the sign flips for many pairs of columns, on the same flips.

    Two ideas make it fast. A flip of a difference is the difference of two flips, so forty-five
    pairs of ten systems cost ten columns. And eight coins are a byte: each group of eight users has
    a table of the 256 sums that a byte can choose (Arlazarov and others, 1970), and a flip looks
    one number up per group instead of adding eight.
    """
    flips = Flipped(scores, seed)
    total, unit, n = flips.total * flips.unit, flips.unit, len(scores)
    tolerance = [_tolerance(n, unit[i], unit[j]) for i, j in pairs]
    reach = [abs(total[i] - total[j]) for i, j in pairs]
    counts = np.full(len(pairs), 0.5 if mid else 1.0)
    for start in range(0, n_resamples, FLIPS):
        flipped = flips.sums(slice(start, min(start + FLIPS, n_resamples)))
        for number, (i, j) in enumerate(pairs):
            sums = np.abs(flipped[i] - flipped[j]) - reach[number]
            reached = np.count_nonzero(sums >= -tolerance[number])
            beyond = np.count_nonzero(sums > tolerance[number]) if mid else reached
            counts[number] += 0.5 * (reached + beyond)
    return counts / (n_resamples + 1)


class Flipped:
    """The sums of the columns of a table under flipped signs.

    Tables whose users are not the same have coins of their own, by their number.
    """

    def __init__(self, scores: Floats, seed: int, number: int = 0) -> None:
        self.grid, self.unit = _grid(scores)
        self.total = self.grid.sum(axis=0)
        self.word = key(seed, number)

    def sums(self, flips: slice) -> Floats:
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
        places = coins(word, block, flips, groups) + np.arange(0, groups * 256, 256)
        for column, values in enumerate(tile.reshape(columns, groups, 8)):
            heads[column] += _sums_of_subsets(values).take(places).sum(axis=1)
    return heads


def _sums_of_subsets(groups: Floats) -> Floats:
    """The 256 sums that the bits of a byte choose from each group of eight, lowest bit first."""
    choices = np.arange(16)[:, None] >> np.arange(4) & 1
    low, high = groups[:, :4] @ choices.T, groups[:, 4:] @ choices.T
    return high[:, :, None] + low[:, None, :]


def _grid(values: Floats) -> tuple[Floats, Floats]:
    """Round each column to integers whose absolute values sum to less than 2^52, and their unit."""
    _, exponent = np.frexp(np.abs(values).sum(axis=0))
    shift = 51 - exponent
    grid = np.ldexp(values, shift)
    return np.rint(grid, out=grid), np.ldexp(1.0, -shift)


def _tolerance(n: int, *units: float) -> float:
    """Largest error of a sum of n differences, and of the observed one, by rounding to the grid."""
    return n * float(sum(units))


def _signed_sums(values: Floats) -> Floats:
    """Sums of all choices of signs."""
    sums = np.zeros(1)
    for value in values:
        sums = np.concatenate([sums + value, sums - value])
    return sums
