"""The distribution of a mean difference when each user's difference may change its sign.

If two systems are exchangeable, each user's difference is as likely to have one sign as the other,
and the 2ⁿ ways to choose the signs are equally probable. Here they are counted: all of them where
that is feasible, a sample of them otherwise.

Sums are compared with the observed sum, so rounding must not decide a tie. The values are therefore
moved to a grid of integers that float64 adds without rounding, in any order and on any number of
threads; what moving them to the grid can have changed in a sum is the tolerance of the comparison.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rankmeter._statistics.randomness import coins, key
from rankmeter._statistics.vectors import Floats
from rankmeter.errors import UsageError

__all__ = ["EXACT_LIMIT", "exact_p", "sampled_p"]

EXACT_LIMIT = 30
"""Largest number of differences other than zero whose signs are enumerated."""

_FLIPS, _USERS = 2048, 1024
"""Flips and users taken at once, for the caches. ``_USERS`` is part of the stream of coins."""


def exact_p(a: Floats, b: Floats) -> float:
    """Share of all choices of signs whose sum is at least as far from 0 as that of ``a - b``.

    The two halves of the users are enumerated separately and met in the middle (Horowitz and Sahni,
    J. ACM 21, 1974), which takes 2^(n/2) sums instead of 2^n.
    """
    changed = a != b
    n = int(np.count_nonzero(changed))
    assert n <= EXACT_LIMIT
    grid, _ = _grid(np.concatenate([a[changed], b[changed]])[:, None])
    differences = grid[:n, 0] - grid[n:, 0]
    threshold = abs(float(differences.sum())) - _tolerance(n, 1.0, 1.0)
    if threshold <= 0.0:
        return 1.0
    left = _signed_sums(differences[: n // 2])
    right = np.sort(_signed_sums(differences[n // 2 :]))
    missing = int(np.searchsorted(right, threshold - left).sum())
    return float(2 * (left.size * right.size - missing) / 2**n)


def sampled_p(
    scores: Floats, pairs: Sequence[tuple[int, int]], *, n_resamples: int, seed: int
) -> Floats:
    """Monte Carlo p of the sign flips, for many pairs of columns on the same flips.

    Two ideas make it fast. A flip of a difference is the difference of two flips, so forty-five
    pairs of ten systems cost ten columns. And eight coins are a byte: each group of eight users has
    a table of the 256 sums that a byte can choose (Arlazarov and others, 1970), and a flip looks
    one number up per group instead of adding eight.

    Parameters
    ----------
    scores : ndarray of float64, shape (n_users, n_columns)
        Values of each user, a column per system (and metric).
    pairs : sequence of (int, int)
        Columns to compare.
    n_resamples : int
        Flips to draw.
    seed : int
        Seed.

    Returns
    -------
    ndarray of float64, shape (n_pairs,)
        ``(1 + flips that reach the observed difference) / (1 + n_resamples)``.
    """
    if n_resamples < 1:
        raise UsageError(f"n_resamples is at least 1, found {n_resamples}")
    n = len(scores)
    grid, unit = _grid(scores)
    total = grid.sum(axis=0)
    mean = total * unit
    reach = [abs(mean[i] - mean[j]) - _tolerance(n, unit[i], unit[j]) for i, j in pairs]
    counts = np.ones(len(pairs))
    word = key(seed)
    for start in range(0, n_resamples, _FLIPS):
        flips = slice(start, min(start + _FLIPS, n_resamples))
        heads = _sums_of_heads(grid, word, flips)
        flipped = (2.0 * heads - total[:, None]) * unit[:, None]
        for number, (i, j) in enumerate(pairs):
            counts[number] += np.count_nonzero(np.abs(flipped[i] - flipped[j]) >= reach[number])
    return counts / (n_resamples + 1)


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
    """How far rounding to the grid can have moved a sum of n differences and the observed one."""
    return n * float(sum(units))


def _signed_sums(values: Floats) -> Floats:
    """Sums of all choices of signs."""
    sums = np.zeros(1)
    for value in values:
        sums = np.concatenate([sums + value, sums - value])
    return sums
