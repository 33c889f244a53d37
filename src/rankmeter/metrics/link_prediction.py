"""Link prediction: ranks compared with those of a random order of the candidates."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any, NamedTuple

import numpy as np

from rankmeter._choices import SHARED_RANKS
from rankmeter._evidence.hits import FloatArray, Hits, IntArray
from rankmeter.errors._checks import check_integer
from rankmeter.metrics._formula import formula
from rankmeter.metrics._registry import Example, register
from rankmeter.metrics.mean_rank import mean_rank
from rankmeter.metrics.precision_recall import hit_rate
from rankmeter.metrics.reciprocal_rank import rr
from rankmeter.metrics.states import Ratio, Standardized, scale_above_chance
from rankmeter.metrics.weights import cumulative_discount

_POOLED: dict[str, Any] = {"reached": False, "aggregate": "micro"}
_STANDARDIZED: dict[str, Any] = {"low": -math.inf, "high": math.inf, **_POOLED}


class Chance(NamedTuple):
    """Mean and variance of each user's value under a random order of the same candidates."""

    mean: FloatArray
    variance: FloatArray


@register(
    "Adjusted mean rank",
    high=math.inf,
    increasing=False,
    **_POOLED,
    synonyms=("aamr", "adjusted_mean_rank", "adjusted_arithmetic_mean_rank"),
    shared=SHARED_RANKS,
)
def amr(hits: Hits) -> Ratio:
    """Adjusted mean rank (AMR) of the first relevant item, over a random order's. Lower is better.

    Notes
    -----
    The mean rank of a random order is (C + 1) / (m + 1) for C ranked items, m of them relevant. The
    sums run over all users, so that the value is a ratio of means, not a mean of ratios: 1 for a
    random order. Source: Berrendorf, Faerman, Vermue and Tresp, 2020 (arXiv 2002.06914).

    Examples
    --------
    The mean rank is 12.2, that of a random order of 100 candidates 50.5.

    >>> import rankmeter as rm
    >>> round(rm.evaluate_ranks([1, 2, 3, 5, 50], "amr", candidates=100)["amr"].mean, 4)
    0.2416
    """
    names = "first_hit", "by_chance"
    return _undefine_without_hit(hits, Ratio(mean_rank(hits), chance_of_rank(hits).mean, names))


@register(
    "Adjusted mean rank index",
    low=-math.inf,
    **_POOLED,
    synonyms=("aamri", "adjusted_mean_rank_index", "adjusted_arithmetic_mean_rank_index"),
    shared=SHARED_RANKS,
)
def amri(hits: Hits) -> Ratio:
    """Adjusted mean rank index (AMRI) of the first hit: 0 in a random order, 1 if always first.

    Notes
    -----
    A user whose candidates are all relevant has 0. With one relevant item for each user the lowest
    value is -1. Source: Berrendorf, Faerman, Vermue and Tresp, 2020 (arXiv 2002.06914).

    Examples
    --------
    >>> import rankmeter as rm
    >>> round(rm.evaluate_ranks([1, 2, 3, 5, 50], "amri", candidates=100)["amri"].mean, 4)
    0.7737
    """
    return _scale_to_chance(hits, chance_of_rank(hits), mean_rank(hits), increasing=False)


@register(
    "Adjusted reciprocal rank",
    low=-math.inf,
    **_POOLED,
    synonyms=("adjusted_mrr", "adjusted_inverse_harmonic_mean_rank"),
    shared=SHARED_RANKS,
)
def amrr(hits: Hits) -> Ratio:
    """Adjusted reciprocal rank: from 0 (a random order) to 1 (always first).

    Notes
    -----
    With one relevant item among C candidates, E[1/r] is (1 + 1/2 + … + 1/C) / C. A user whose
    candidates are all relevant has 0; one without any hit is undefined. Source: Hoyt et al., 2022
    (arXiv 2203.07544).

    Examples
    --------
    MRR is 0.4107, that of a random order of 100 candidates 0.0519.

    >>> import rankmeter as rm
    >>> round(rm.evaluate_ranks([1, 2, 3, 5, 50], "amrr", candidates=100)["amrr"].mean, 4)
    0.3784
    """
    return _scale_to_chance(hits, chance_of_reciprocal(hits), rr(hits, None))


@register(
    "Adjusted hit rate", low=-math.inf, **_POOLED, at="top", synonyms=("ah", "adjusted_hits_at_k")
)
def adjusted_hits(hits: Hits, *, top: Annotated[int, Example(3, 1)] = 10) -> Ratio:
    """Adjusted hit rate: from 0 (a random order) to 1 (always a hit).

    Parameters
    ----------
    top : int
        The cutoff, which is also written after ``@``. The value depends on all candidates, so this
        is not a cutoff of the ranking.

    Notes
    -----
    With one relevant item among C candidates, a random order has a hit with probability
    min(top / C, 1). Users for whom every order has a hit in the top add nothing; if all users are
    like that, the value is undefined. A user without any hit in the whole ranking is left out.
    Source: Hoyt et al., 2022 (arXiv 2203.07544).

    Examples
    --------
    Hits@3 is 0.6, that of a random order of 100 candidates 0.03.

    >>> import rankmeter as rm
    >>> result = rm.evaluate_ranks([1, 2, 3, 5, 50], "adjusted_hits@3", candidates=100)
    >>> round(result["adjusted_hits@3"].mean, 4)
    0.5876
    """
    chance = chance_of_hit(hits, check_integer("top of adjusted_hits", top, least=1))
    return _scale_to_chance(hits, chance, hit_rate(hits, top))


@register(
    "Standardized mean rank",
    **_STANDARDIZED,
    synonyms=("z_arithmetic_mean_rank", "z_mean_rank"),
    shared=SHARED_RANKS,
)
def zmr(hits: Hits) -> Ratio:
    """Standardized mean rank: number of standard deviations better than a random order.

    Notes
    -----
    It grows with the number of users: it is a test statistic, not an effect. Source: Hoyt et al.,
    2022 (arXiv 2203.07544).

    Examples
    --------
    >>> import rankmeter as rm
    >>> round(rm.evaluate_ranks([1, 2, 3, 5, 50], "zmr", candidates=100)["zmr"].mean, 4)
    2.9669
    """
    return _standardize_by_chance(hits, chance_of_rank(hits), mean_rank(hits), increasing=False)


@register(
    "Standardized reciprocal rank",
    **_STANDARDIZED,
    synonyms=("z_inverse_harmonic_mean_rank", "z_mrr"),
    shared=SHARED_RANKS,
)
def zmrr(hits: Hits) -> Ratio:
    """Standardized reciprocal rank: number of standard deviations above a random order.

    Notes
    -----
    It grows with the number of users: it is a test statistic, not an effect. Source: Hoyt et al.,
    2022 (arXiv 2203.07544).

    Examples
    --------
    >>> import rankmeter as rm
    >>> round(rm.evaluate_ranks([1, 2, 3, 5, 50], "zmrr", candidates=100)["zmrr"].mean, 4)
    6.8647
    """
    return _standardize_by_chance(hits, chance_of_reciprocal(hits), rr(hits, None))


@register("Standardized hit rate", **_STANDARDIZED, at="top", synonyms=("z_hits", "z_hits_at_k"))
def zhits(hits: Hits, *, top: Annotated[int, Example(3, 1)] = 10) -> Ratio:
    """Standardized hit rate: number of standard deviations above a random order.

    Parameters
    ----------
    top : int
        The cutoff, as in `adjusted_hits`.

    Notes
    -----
    It grows with the number of users: it is a test statistic, not an effect. Source: Hoyt et al.,
    2022 (arXiv 2203.07544).

    Examples
    --------
    >>> import rankmeter as rm
    >>> round(rm.evaluate_ranks([1, 2, 3, 5, 50], "zhits@3", candidates=100)["zhits@3"].mean, 4)
    7.4716
    """
    chance = chance_of_hit(hits, check_integer("top of zhits", top, least=1))
    return _standardize_by_chance(hits, chance, hit_rate(hits, top))


# ---------------------------------------------------------------------------------------------
# The one derivation: a number compared with that of a random order


def _scale_to_chance(
    hits: Hits, chance: Chance, value: FloatArray, *, increasing: bool = True
) -> Ratio:
    """Scale values from 0, a random order, to 1, the best rank, reciprocal rank or hit rate."""
    return _undefine_without_hit(
        hits, scale_above_chance(value, chance.mean, 1.0, increasing=increasing)
    )


def _standardize_by_chance(
    hits: Hits, chance: Chance, value: FloatArray, *, increasing: bool = True
) -> Ratio:
    """Express values in standard deviations of a random order."""
    better = scale_above_chance(value, chance.mean, 1.0, increasing=increasing).part
    names = "better_than_chance", "variance"
    return _undefine_without_hit(
        hits, Standardized(better, np.maximum(chance.variance, 0.0), names)
    )


def _undefine_without_hit(hits: Hits, share: Ratio) -> Ratio:
    """The shares of the users with a hit; undefined for users without a hit."""
    has_hit = hits.offsets[:-1] < hits.offsets[1:]
    part, divisor = np.where(has_hit, share.part, np.nan), np.where(has_hit, share.whole, 1.0)
    return replace(share, part=part, whole=divisor)


def _count_items_and_hits(hits: Hits) -> tuple[IntArray, IntArray]:
    """Numbers of items, and of relevant items, in each ranking, cut or not."""
    return hits.n_ranked, np.diff(hits.offsets)


def chance_of_rank(hits: Hits) -> Chance:
    """The rank of the first of m items in a random order of n: Var = m(n+1)(n-m)/((m+1)²(m+2))."""
    n, m = (size.astype(np.float64) for size in _count_items_and_hits(hits))
    mean = formula("(ranked + 1) / (hits + 1)", name="by_chance", ranked=n, hits=m)
    return Chance(mean, m * (n + 1.0) * (n - m) / ((m + 1.0) ** 2 * (m + 2.0)))


def chance_of_reciprocal(hits: Hits) -> Chance:
    """The reciprocal rank of the first hit in a random order."""
    n, m = _count_items_and_hits(hits)
    size = np.maximum(n, 1).astype(np.float64)
    mean = cumulative_discount("reciprocal", n) / size
    square = _sum_reciprocal_squares(n) / size
    several = m > 1
    mean[several], square[several] = _mean_weight_of_first(
        n[several], m[several], lambda r: 1.0 / r
    )
    return Chance(formula("by_chance", by_chance=mean), square - mean**2)


def chance_of_hit(hits: Hits, k: int) -> Chance:
    """Probability that a random order has a hit in its top k, and its variance."""
    n, m = _count_items_and_hits(hits)
    mean = np.minimum(k / np.maximum(n, 1), 1.0)
    several = m > 1
    within = _mean_weight_of_first(n[several], m[several], lambda r: (r <= k).astype(np.float64))
    mean[several] = np.where(n[several] - m[several] < k, 1.0, within[0])
    return Chance(formula("by_chance", by_chance=mean), mean * (1.0 - mean))


def _sum_reciprocal_squares(n: IntArray) -> FloatArray:
    """Σ 1/r² for r = 1 … n; beyond a table by the Euler–Maclaurin formula."""
    limit = 1 << 20
    tabulated = np.minimum(n, limit)
    table = np.cumsum(1.0 / np.arange(1.0, tabulated.max(initial=0) + 1.0) ** 2)
    total: FloatArray = np.concatenate(([0.0], table))[tabulated]
    is_large = n > limit
    x = n[is_large].astype(np.float64)
    total[is_large] = math.pi**2 / 6 - 1 / x + 1 / (2 * x**2) - 1 / (6 * x**3)
    return total


def _mean_weight_of_first(
    n: IntArray, m: IntArray, weight: Callable[[FloatArray], FloatArray]
) -> tuple[FloatArray, FloatArray]:
    """Means of the weight, and of the squared weight, of the rank of the first of m among n."""
    pairs, rows = np.unique(np.stack([n, m]), axis=1, return_inverse=True)
    means = []
    for size, hits in pairs.T.tolist():
        rank = np.arange(1.0, size - hits + 2.0)
        # P(first at r + 1) = P(first at r) (n - m - r + 1) / (n - r)
        steps = (size - hits - rank[:-1] + 1.0) / (size - rank[:-1])
        chance = hits / size * np.concatenate(([1.0], np.cumprod(steps)))
        value = weight(rank)
        means.append((float(chance @ value), float(chance @ value**2)))
    by_user = np.array(means).reshape(-1, 2)[rows.reshape(-1)]
    return by_user[:, 0], by_user[:, 1]
