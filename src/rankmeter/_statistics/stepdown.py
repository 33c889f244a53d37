"""Which of many differences are there? The step-down maxT test on the shared flips of the users.

Westfall and Young (Resampling-Based Multiple Testing, 1993) compare each difference with the
largest of all that are left. Every flip gives every difference the sign that it could have had, so
the comparison knows which differences go together: near-copies of one system count almost as one.
The smallest adjusted p is 1 / (1 + flips) for any number of differences.

The statistic is ``|Σ d| / √(Σ d²)``, of which the t statistic is an increasing function with the
same users. The sum of squares does not change with signs, so a flip costs no variance.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from rankmeter._checks import fraction, integer
from rankmeter._statistics.randomization import FLIPS, Flipped
from rankmeter._statistics.vectors import Floats, table

__all__ = ["Hypotheses", "StepDown", "step_down"]

_EXACT_ROWS = 13
"""Users whose 2ⁿ signs are all counted."""
_CELLS = 2**20
"""Numbers in one block of flipped statistics."""
_BORDERLINE_CELLS = 200_000
"""Users × columns up to which a p close to the level is drawn again with ten times the flips."""


class Hypotheses(NamedTuple):
    """Pairs of columns of a table with a row per user; 0 in both where a user does not count.

    The users of two tables are not the same.
    """

    scores: Floats
    pairs: Sequence[tuple[int, int]]


class StepDown(NamedTuple):
    """Results in the order of the hypotheses, and what the largest statistic has to exceed."""

    p: Floats
    adjusted: Floats
    critical: float
    """A statistic above it is significant at the level in the whole family, in a single step."""
    n_resamples: int
    """Flips that were drawn; 0 if all choices of signs were counted."""
    left: float = 0.0
    """The share of the level that a single step leaves to another family."""


def step_down(
    tables: Sequence[Hypotheses],
    *,
    level: float = 0.05,
    n_resamples: int = 9_999,
    seed: int = 0,
    single: bool = False,
) -> StepDown:
    """Test all hypotheses of all tables as one family.

    In a `single` step every difference is compared with the largest of all. The error of those that
    are not significant is then smaller than the level, and what is left of it can be spent on
    another family: with both, any claim is wrong with at most the probability of the level
    (Dmitrienko, Tamhane and Wiens, Biometrical Journal 50, 2008).

    With up to 13 users whose values differ, all choices of signs are counted. Otherwise flips are
    drawn; if an adjusted p is so close to the level that another seed could decide otherwise, ten
    times as many, unless the tables are large.
    """
    fraction("level", level)
    integer("n_resamples", n_resamples, least=1)
    parts = [_Part(table(one.scores), one.pairs) for one in tables if one.pairs]
    if not parts:
        return StepDown(np.empty(0), np.empty(0), math.inf, 0)
    reach = np.concatenate([part.reach for part in parts])
    if sum(part.active.size for part in parts) <= _EXACT_ROWS:
        found = _counted(reach, _all_signs(parts), level, exact=True, single=single)
        return found._replace(left=_left(found, _all_signs(parts), level)) if single else found
    found = _counted(reach, _drawn(parts, n_resamples, seed), level, single=single)
    error = 3.0 * math.sqrt(level * (1.0 - level) / n_resamples)
    cells = sum(part.scores.size for part in parts)
    if cells <= _BORDERLINE_CELLS and np.any(np.abs(found.adjusted - level) < error):
        n_resamples = 10 * (n_resamples + 1) - 1
        found = _counted(reach, _drawn(parts, n_resamples, seed), level, single=single)
    if single:
        found = found._replace(left=_left(found, _drawn(parts, n_resamples, seed), level))
    return found


def _left(found: StepDown, blocks: Iterator[Floats], level: float) -> float:
    """The share of the level that is not the error of the differences that are not significant."""
    unknown = found.adjusted > level
    if unknown.all() or not unknown.any():
        return float(not unknown.any())
    tops = np.concatenate([block[unknown].max(axis=0) for block in blocks])
    own = int(found.n_resamples > 0)
    error = (np.count_nonzero(tops > found.critical) + own) / (tops.size + own)
    return max(0.0, 1.0 - error / level)


class _Part:
    """One table: its differences, their norms and their observed statistics."""

    def __init__(self, scores: Floats, pairs: Sequence[tuple[int, int]]) -> None:
        self.scores = scores
        self.first, self.second = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        squares = np.empty(len(pairs))
        sums = np.empty(len(pairs))
        for at, (i, j) in enumerate(pairs):
            d = scores[:, i] - scores[:, j]
            squares[at], sums[at] = d @ d, d.sum()
        noise = 4 * np.finfo(np.float64).eps * float(np.abs(scores).max(initial=0.0))
        squares[squares <= noise * noise * len(scores)] = 0.0
        self.scale = 1.0 / np.sqrt(np.where(squares > 0.0, squares, np.inf))
        self.statistic = np.abs(sums) * self.scale
        # How far rounding can move a sum, which must not decide a tie.
        size = np.abs(scores).sum(axis=0)
        rounding = max(len(scores) * 2.0**-51, 1e-13) * (size[self.first] + size[self.second])
        self.reach = self.statistic - rounding * self.scale
        changed = np.zeros(len(scores), dtype=bool)
        for i, j in pairs:
            changed |= scores[:, i] != scores[:, j]
        self.active = np.flatnonzero(changed)

    def of(self, sums: Floats) -> Floats:
        """Statistics, of shape (n_pairs, n_flips), from the flipped sums of the columns."""
        result: Floats = np.abs(sums[self.first] - sums[self.second]) * self.scale[:, None]
        return result


def _counted(
    reach: Floats,
    blocks: Iterator[Floats],
    level: float,
    *,
    exact: bool = False,
    single: bool = False,
) -> StepDown:
    """Count the flips that reach each statistic: alone, and the largest of those not larger."""
    order = np.argsort(-reach, kind="stable")
    alone, joint = np.zeros(reach.size), np.zeros(reach.size)
    largest = []
    for block in blocks:
        alone += np.count_nonzero(block >= reach[:, None], axis=1)
        left = np.maximum.accumulate(block[order[::-1]], axis=0)[::-1]
        left = left[:1] if single else left
        joint += np.count_nonzero(left >= reach[order][:, None], axis=1)
        largest.append(left[0])
    top = -np.sort(-np.concatenate(largest))
    own = 0 if exact else 1  # the signs as they were observed are among all choices of signs
    total = top.size + own
    p, adjusted = (alone + own) / total, np.empty(reach.size)
    adjusted[order] = np.maximum.accumulate((joint + own) / total)
    allowed = math.floor(level * total + 1e-9) - own
    critical = float(top[allowed]) * (1.0 + 1e-11) if 0 <= allowed < top.size else math.inf
    return StepDown(p, np.maximum(adjusted, p), critical, 0 if exact else top.size)


def _all_signs(parts: Sequence[_Part]) -> Iterator[Floats]:
    """The statistics under every choice of signs, in one block."""
    n = sum(part.active.size for part in parts)
    signs = 1.0 - 2.0 * (np.arange(2**n)[:, None] >> np.arange(n) & 1)
    found, start = [], 0
    for part in parts:
        own = signs[:, start : (start := start + part.active.size)]
        found.append(part.of((own @ part.scores[part.active]).T))
    yield np.concatenate(found)


def _drawn(parts: Sequence[_Part], n_resamples: int, seed: int) -> Iterator[Floats]:
    """The statistics under drawn signs, block by block; every table has coins of its own."""
    flipped = [Flipped(part.scores, seed, number) for number, part in enumerate(parts)]
    width = max(1, _CELLS // sum(part.statistic.size for part in parts))
    for start in range(0, n_resamples, FLIPS):
        flips = slice(start, min(start + FLIPS, n_resamples))
        sums = [one.sums(flips) for one in flipped]
        for at in range(0, flips.stop - flips.start, width):
            yield np.concatenate(
                [part.of(s[:, at : at + width]) for part, s in zip(parts, sums, strict=True)]
            )
