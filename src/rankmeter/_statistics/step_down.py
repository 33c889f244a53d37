"""Which of many differences are there? The step-down test on the shared flips of the users.

Westfall and Young (Resampling-Based Multiple Testing, 1993) compare each difference with the
largest of all that are left. Every flip gives every difference the sign that it could have had, so
the comparison knows which differences go together: near-copies of one system count almost as one.
The smallest adjusted p is 1 / (1 + flips) for any number of differences.

The statistic is ``|Σ d| / √(Σ d²)``, of which the t statistic is an increasing function with the
same users. The sum of squares does not change with signs, so a flip costs no variance.

Differences of few users have a shorter tail than those of many, so equal statistics are not equally
surprising. Each statistic is therefore measured on the scale of its own flips: as the value of a
standard normal variable that is exceeded as often (minP). Every difference then has the same share
of the error. A scale that depends on all flips alike, the observed signs among them, keeps the test
exact. Hits and misses have few possible sums: flips that equal the observed one count half, as in
the mid-p of a single difference.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rankmeter._statistics.paired_tests import FLIPS, FlippedColumns, takes_mid_p
from rankmeter._statistics.vectors import Floats, all_signs, finite_table, random_generator
from rankmeter.errors import InvalidValueError
from rankmeter.errors._checks import check_fraction, check_integer

MOST_FLIPPED = 100_000
"""Users with differing values whose signs are flipped; beyond, flips have their normal limit."""
_Scores = npt.NDArray[np.float32]
_EXACT_ROWS = 13
"""Users whose 2ⁿ signs are all counted."""
_CELLS = 2**26
"""Statistics under flips that are kept in memory; others are computed twice."""
_BORDERLINE_CELLS = 200_000
"""Users × columns up to which a p close to the level is drawn again with ten times the flips."""
_ROUNDING = 1e-6
"""Normal scores that differ by less are equal."""
_TAIL, _LUCK = 0.01, 0.05
"""The tail that is compared with that of the normal distribution, and how far it can differ."""
_FAR = 0.002
"""The tail of the flips in which scores also grow in proportion to the statistic."""


class Hypotheses(NamedTuple):
    """Pairs of columns of a table with a row per user; 0 in both where a user does not count.

    The users of two tables are not the same. The first `n_family` pairs are those of the family,
    all of them without a number; the others count only in the single step.
    """

    scores: Floats
    pairs: Sequence[tuple[int, int]]
    n_family: int | None = None


class StepDown(NamedTuple):
    """P-values in the order of the hypotheses, and the level for a single comparison."""

    p: Floats
    adjusted: Floats
    """Step by step, within the family; NaN for the other pairs."""
    single: Floats
    """In a single step: compared with the largest of all pairs."""
    least: Floats
    """The smallest `single` that any signs of the same differences would give; 0 if not known."""
    level: float
    """The level of a single comparison if the family is tested in a single step."""
    n_resamples: int
    """Flips that were drawn; 0 if all choices of signs were counted."""


def step_down_test(
    tables: Sequence[Hypotheses],
    *,
    level: float = 0.05,
    n_resamples: int = 9_999,
    seed: int = 0,
) -> StepDown:
    """Test all hypotheses of all tables as one family.

    With up to 13 users whose values differ, all choices of signs are counted. Otherwise flips are
    drawn; if a p of the family is so close to the level that another seed could decide otherwise,
    ten times as many, unless the tables are large. For more than 100,000 differing users of a table
    the sums under flips are drawn from their normal limit, which has the same correlations.
    """
    check_fraction("level", level)
    n_resamples = check_integer("n_resamples", n_resamples, least=1)
    blocks = [_ScoreTable(h) for h in tables if h.pairs]
    if not blocks:
        return StepDown(none := np.empty(0), none, none, none, level, 0)
    if sum(part.active.size for part in blocks) <= _EXACT_ROWS:
        return _Hypotheses(blocks, _sums_of_all_signs(blocks)).compute_p_values(level)
    error = 3.0 * math.sqrt(level * (1.0 - level) / n_resamples)
    cells = sum(part.scores.size for part in blocks)
    for draws in (n_resamples, 10 * (n_resamples + 1) - 1):
        family = _Hypotheses(blocks, _sums_of_random_signs(blocks, draws, seed), draws)
        result = family.compute_p_values(level)
        decisions = np.append(result.adjusted, result.single)
        if cells > _BORDERLINE_CELLS or not np.any(np.abs(decisions - level) < error):
            break
    return result


class _ScoreTable:
    """One table of scores, with the norms of its differences."""

    def __init__(self, hypotheses: Hypotheses) -> None:
        self.scores, self.pairs = finite_table(hypotheses.scores), hypotheses.pairs
        scores, pairs, n_family = self.scores, self.pairs, hypotheses.n_family
        self.n_family = len(pairs) if n_family is None else n_family
        columns, changed = scores.T.copy(), np.zeros(len(scores), dtype=bool)
        sums, self.takes_mid_p = [], list[bool]()
        for i, j in pairs:
            d = columns[i] - columns[j]
            changed |= d != 0.0
            sums.append((np.square(d).sum(), np.abs(d).sum()))
            self.takes_mid_p.append(takes_mid_p(d))
        squares, sizes = np.array(sums).T
        noise = 4 * np.finfo(np.float64).eps * float(np.abs(scores).max(initial=0.0))
        squares[squares <= noise * noise * len(scores)] = 0.0
        self.scale = 1.0 / np.sqrt(np.where(squares > 0.0, squares, np.inf))
        # How far rounding can move a sum, which must not decide a tie.
        size = np.abs(scores).sum(axis=0)
        first, second = np.array(pairs).T
        rounding = max(len(scores) * 2.0**-51, 1e-13) * (size[first] + size[second])
        self.rounding = rounding * self.scale
        self.farthest = sizes * self.scale - self.rounding  # if all signs agree
        self.active = np.flatnonzero(changed)
        # Beyond, sums are drawn from their normal limit.
        self.has_flipped_signs = self.active.size <= MOST_FLIPPED


class _Hypotheses:
    """All hypotheses, each under common signs; the observed signs come first.

    `n_resamples` is 0 if these are all choices of signs.
    """

    def __init__(
        self, blocks: Sequence[_ScoreTable], sums: Sequence[Floats], n_resamples: int = 0
    ) -> None:
        self.n_resamples, self.n_signs = n_resamples, sums[0].shape[1]
        self.hypotheses = [
            (part, block_sums, pair)
            for part, block_sums in zip(blocks, sums, strict=True)
            for pair in range(len(part.pairs))
        ]
        self.kept: dict[int, tuple[float, _Scores]] = {}

    def p_value_and_scores(self, number: int) -> tuple[float, _Scores]:
        """P-value of a hypothesis, and its statistics under all signs as normal scores.

        The observed statistic is first. Results are kept while memory allows.
        """
        if number in self.kept:
            return self.kept[number]
        part, sums, pair = self.hypotheses[number]
        i, j = part.pairs[pair]
        statistics: Floats = np.abs(sums[i] - sums[j]) * part.scale[pair]
        if part.has_flipped_signs:
            how = {"random": bool(self.n_resamples), "mid": part.takes_mid_p[pair]}
            result = _normal_scores(statistics, float(part.rounding[pair]), **how)
        else:
            result = math.erfc(statistics[0] * math.sqrt(0.5)), statistics.astype(np.float32)
        if len(self.kept) < _CELLS // self.n_signs:
            self.kept[number] = result
        return result

    def compute_p_values(self, level: float) -> StepDown:
        """Raw and adjusted p-values from the counts of signs that reach each statistic."""
        m = len(self.hypotheses)
        p = np.array([self.p_value_and_scores(number)[0] for number in range(m)])
        observed = np.array([self.p_value_and_scores(number)[1][0] for number in range(m)])
        is_of_family = np.array([pair < part.n_family for part, _, pair in self.hypotheses])
        family = np.flatnonzero(is_of_family)
        largest, adjusted = np.zeros(self.n_signs), np.full(m, np.nan)
        order = family[np.argsort(observed[family], kind="stable")]
        for number in order:
            scores = self.p_value_and_scores(int(number))[1]
            np.maximum(largest, scores, out=largest)
            adjusted[number] = self._share_of_signs(largest, int(number), scores[0])
        adjusted[order[::-1]] = np.maximum.accumulate(adjusted[order[::-1]])
        critical = self._critical_score(largest, level)
        for number in np.flatnonzero(~is_of_family):
            np.maximum(largest, self.p_value_and_scores(int(number))[1], out=largest)
        single, least = np.array([self._single_step(largest, n) for n in range(m)]).T
        if not any(part.has_flipped_signs for part, *_ in self.hypotheses):
            adjusted[family] = np.minimum(adjusted[family], adjust_p_values(p[family]))
            single, least = np.minimum(single, m * p), np.zeros(m)
        limit = min(max(math.erfc(critical * math.sqrt(0.5)), level / family.size), level)
        adjusted, single = np.maximum(adjusted, p), np.maximum(single, p)
        return StepDown(p, adjusted, single, least, limit, self.n_resamples)

    def _single_step(self, largest: Floats, number: int) -> tuple[float, float]:
        """P of a hypothesis in a single step, and the smallest p of any signs; 0 if not drawn."""
        part, sums, pair = self.hypotheses[number]
        i, j = part.pairs[pair]
        scores, least = self.p_value_and_scores(number)[1], 0.0
        if np.abs(sums[i] - sums[j]).max() * part.scale[pair] >= part.farthest[pair]:
            least = self._share_of_signs(largest, number, scores.max())
        return self._share_of_signs(largest, number, scores[0]), least

    def _share_of_signs(self, largest: Floats, number: int, score: np.float32) -> float:
        """Share of the signs whose largest score reaches one of a hypothesis."""
        part, _, pair = self.hypotheses[number]
        reached = float(np.mean(largest >= score * (1.0 - _ROUNDING)))
        if not part.takes_mid_p[pair]:
            return reached
        return 0.5 * (reached + float(np.mean(largest > score * (1.0 + _ROUNDING))))

    def _critical_score(self, largest: Floats, level: float) -> float:
        """Critical normal score: larger scores are significant at the level in the family."""
        n_observed = int(self.n_resamples > 0)  # then the observed signs are one more choice
        allowed = math.floor(level * largest.size + 1e-9) - n_observed
        top = -np.sort(-largest[n_observed:])
        return float(top[allowed]) if 0 <= allowed < top.size else math.inf


def _normal_scores(
    statistics: Floats, rounding: float, *, random: bool, mid: bool
) -> tuple[float, _Scores]:
    """P-value of the first statistic, and normal scores of all statistics, equal for ties.

    With `mid` ties count half.
    If signs are `random`, statistics whose far tail is normal are their own scores, without the
    luck of the draw; those of others also grow in proportion where the ranks end.
    """
    n, ranked = statistics.size, np.sort(statistics)
    starts = np.append(0, np.flatnonzero(ranked[1:] - ranked[:-1] > rounding) + 1)  # of ties
    scale, tail = _normal_scores_of_counts(2 * n), n - math.ceil(_TAIL * n)
    ends = np.append(starts[1:], n) if mid else starts
    places = np.array([np.searchsorted(ranked, statistics[0]), tail])
    own, of_tail = np.searchsorted(starts, places, side="right") - 1  # their groups
    p = float(2 * n - starts[own] - ends[own]) / (2 * n)
    above = n - np.searchsorted(ranked, ranked[tail] + rounding, side="right")
    middle = (n - starts[of_tail] + above) // 2  # of ties
    if random and abs(ranked[tail] / scale[2 * middle] - 1.0) < _LUCK:
        return p, statistics.astype(np.float32)
    group = np.repeat(np.arange(starts.size), np.diff(starts, append=n))
    reached, twice = n - starts[group], np.empty(n, dtype=np.int64)
    twice[np.argsort(statistics)] = reached + n - ends[group]
    scores = scale[twice]
    if random and ranked[far_rank := n - math.ceil(_FAR * n)] > 0.0:
        extreme = statistics > ranked[far_rank] + rounding
        longer = statistics[extreme] * (scale[2 * reached[far_rank]] / ranked[far_rank])
        scores[extreme] = np.maximum(scores[extreme], longer)
    return p, scores


@functools.lru_cache(maxsize=4)
def _normal_scores_of_counts(n: int) -> _Scores:
    """Absolute normal scores that are exceeded as often as 0 to n of n signs."""
    from statistics import NormalDist  # costs more to import than a t interval to compute

    quantile = NormalDist().inv_cdf
    scores = [math.inf, *(quantile(1.0 - 0.5 * count / n) for count in range(1, n + 1))]
    return np.array(scores, dtype=np.float32)


def _sums_of_all_signs(blocks: Sequence[_ScoreTable]) -> list[Floats]:
    """The sums of the columns of each table under every choice of signs."""
    ends = np.cumsum([part.active.size for part in blocks])
    by_block = np.split(all_signs(ends[-1]), ends[:-1], axis=1)
    return [(s @ part.scores[part.active]).T for s, part in zip(by_block, blocks, strict=True)]


def _sums_of_random_signs(
    tables: Sequence[_ScoreTable], n_resamples: int, seed: int
) -> list[Floats]:
    """Column sums of each table, observed and under signs drawn for this table."""
    table_sums = []
    for number, part in enumerate(tables):
        if part.has_flipped_signs:
            flipped = FlippedColumns(part.scores, seed, number)
            blocks = [
                flipped.sums_under_flips(slice(start, min(start + FLIPS, n_resamples)))
                for start in range(0, n_resamples, FLIPS)
            ]
        else:
            blocks = [_draw_normal_limit_sums(part.scores, n_resamples, seed, number)]
        table_sums.append(np.concatenate([part.scores.sum(axis=0)[:, None], *blocks], axis=1))
    return table_sums


def _draw_normal_limit_sums(scores: Floats, n_resamples: int, seed: int, number: int) -> Floats:
    """Draw sums under many flips: normal, with the products of the columns as covariances."""
    values, vectors = np.linalg.eigh(scores.T @ scores)
    normal = random_generator(seed, number).standard_normal((len(values), n_resamples))
    result: Floats = (vectors * np.sqrt(np.maximum(values, 0.0))) @ normal
    return result


def adjust_p_values(p: npt.ArrayLike) -> Floats:
    """P-values adjusted by Holm's method, in the shape and order of ``p``.

    Compared with the family's level, they bound the probability of any false claim in the family
    (Scand. J. Stat. 6, 1979). A NaN is a test without a result: it stays NaN and does not count
    towards the size of the family. The running maximum keeps the order of ``p``.
    """
    values = np.array(p, dtype=np.float64)
    defined = ~np.isnan(values)
    family = values[defined]
    if np.any((family < 0.0) | (family > 1.0)):
        raise InvalidValueError(
            f"`p` must have values between 0 and 1, got {family.min()} to {family.max()}"
        )
    order = np.argsort(family, kind="stable")
    ranked = np.maximum.accumulate(family[order] * np.arange(family.size, 0, -1))
    family[order] = np.minimum(ranked, 1.0)
    values[defined] = family
    return values
