"""Weights that metrics give to ranks and to the items of a list."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Literal, TypeAlias

import numpy as np

from rankmeter._evidence.hits import FloatArray, Hits, IntArray
from rankmeter._evidence.lists import Lists, Popularity
from rankmeter._evidence.steps import note_column
from rankmeter.errors._checks import check_fraction
from rankmeter.metrics._formula import formula
from rankmeter.metrics.states import Defined, Ratio

Weight: TypeAlias = Callable[[FloatArray], FloatArray]
"""Weights of 1-based ranks."""

Discount = Literal["log2", "ln", "log10", "jarvelin", "reciprocal"]

DISCOUNTS: dict[Discount, Weight] = {
    "log2": lambda rank: 1.0 / np.log2(rank + 1.0),
    "ln": lambda rank: 1.0 / np.log(rank + 1.0),
    "log10": lambda rank: 1.0 / np.log10(rank + 1.0),
    # Järvelin and Kekäläinen 2002 with b = 2: ranks below b are not discounted, which makes it
    # the clipped logarithm log2(max(rank, 2)) of other tools.
    "jarvelin": lambda rank: 1.0 / np.log2(np.maximum(rank, 2.0)),
    "reciprocal": lambda rank: 1.0 / rank,
}


DIRECT = 10_000_000
"""Ranks down to which weights are added up one by one."""
_CHUNK = 1 << 20


def cumulative_discount(discount: Discount, depth: IntArray) -> FloatArray:
    """Sums of the weights of ranks 1 … depth, for an array of depths of any size.

    Down to rank `DIRECT` it is the plain sum, one rank after the other. Below that it is the sum
    down to `DIRECT`, with less rounding, and the integral of the weight from half a rank below
    `DIRECT` to half a rank below the depth. The integral is off by less than the slope of the
    weight at `DIRECT`, which is less than the last digit of the sum.
    """
    near = np.where(depth <= DIRECT, depth, 0)
    sums: FloatArray = _tabulate_sums(discount, int(near.max(initial=0)))[near]
    for deep in np.unique(depth[depth > DIRECT]).tolist():
        sums[depth == deep] = _sum_by_integral(discount, deep)
    return sums


@functools.lru_cache(maxsize=1000)
def _sum_by_integral(discount: Discount, depth: int) -> float:
    return _sum_rank_by_rank(discount) + _integrate(DISCOUNTS[discount], DIRECT + 0.5, depth + 0.5)


@functools.cache
def _sum_rank_by_rank(discount: Discount) -> float:
    starts = np.arange(1.0, DIRECT, _CHUNK)
    ranks = (np.arange(start, min(start + _CHUNK, DIRECT + 1.0)) for start in starts)
    return math.fsum(DISCOUNTS[discount](rank).sum() for rank in ranks)


def _tabulate_sums(discount: Discount, n: int) -> FloatArray:
    """The sums of the first 0, 1, …, n weights."""
    sums = np.zeros(n + 1)
    for start in range(0, n, _CHUNK):
        part = sums[start : min(start + _CHUNK, n) + 1]
        part[1:] = DISCOUNTS[discount](np.arange(start + 1.0, start + part.size))
        np.cumsum(part, out=part)  # goes on from the sum before
    return sums


def _integrate(weight: Weight, low: float, high: float) -> float:
    """Integrate by Gauss–Legendre over steps of the logarithm, where discounts are smooth."""
    start, end = math.log(low), math.log(high)
    edges = np.linspace(start, end, math.ceil(end - start) + 1)
    middle, half = (edges[1:] + edges[:-1])[:, None] / 2, np.diff(edges)[:, None] / 2
    nodes, weights = np.polynomial.legendre.leggauss(20)
    rank = np.exp(middle + half * nodes)
    return math.fsum((half * weights * weight(rank) * rank).ravel().tolist())


def sum_shares_of_depths(
    hits: Hits,
    rank: IntArray,
    last: IntArray,
    weight: Weight,
    sums: Callable[[IntArray], FloatArray],
) -> FloatArray:
    """Σ weight · (hits down to a depth) / depth, from the rank of each hit to before the next one.

    A list of hits alone has exactly the sum of the weights, added up one after the other.

    Parameters
    ----------
    rank : int64 array of shape (n_hits,)
        Of the hits, in any order within a user.
    last : int64 array of shape (n_users,)
        The last depth.
    weight, sums : callable
        From depths to their weights, and to Σ weight / depth down to them.
    """
    order = np.lexsort((rank, hits.user))
    limit = last[hits.user]
    first = np.minimum(rank[order], limit + 1)
    end = np.where(np.diff(hits.user, append=-1) == 0, np.append(first[1:], 0) - 1, limit)
    number = np.arange(rank.size) - hits.offsets[hits.user] + 1.0
    later = np.where(end > first, number * (sums(end) - sums(np.minimum(first, end))), 0.0)
    shares = np.empty(rank.size)
    shares[order] = np.where(end >= first, number / first * weight(first) + later, 0.0)
    return shares


def geometric_weight(p: float) -> Weight:
    """Geometric rank weights (1 - p) p^(rank - 1): a reader goes on with probability p."""
    check_fraction("p", p)
    return lambda rank: (1.0 - p) * p ** (rank - 1.0)


RankDiscount = Literal["none", "log2", "reciprocal", "geometric"]
"""Discounts of items that need not be relevant."""


def discount_function(discount: RankDiscount, p: float) -> Weight:
    """Return a discount with weight 1 at rank 1; `p` is the geometric continuation probability."""
    check_fraction("p", p)
    if discount == "none":
        return np.ones_like
    if discount == "geometric":
        return lambda rank: p ** (rank - 1.0)
    return DISCOUNTS[discount]


# ---------------------------------------------------------------------------------------------
# What an item of a list counts: its relevance, and the part of the list it makes up


Relevance = Literal["none", "binary", "graded", "exp2"]


def relevance_weights(lists: Lists, relevance: Relevance) -> FloatArray:
    """The weight of each item in a list by its relevance."""
    if relevance == "none":
        return np.ones(lists.item.size)
    if relevance == "graded":
        return lists.gain
    if relevance == "exp2":
        return np.where(lists.relevant, np.exp2(lists.gain) - 1.0, 0.0)
    return lists.relevant.astype(np.float64)


def skip_cold_items(top: Lists, popularity: Popularity, cold: str) -> Lists:
    """Remove items without training data from the lists, if `cold` is "skip"."""
    return top.only(popularity.known[top.item]) if cold == "skip" else top


def mean_over_items(top: Lists, values: FloatArray, k: int | None) -> Ratio:
    """The mean over the items of each list, or their sum over k."""
    n = top.length(k).astype(np.float64)
    return Defined(top.sum(values), n, ("sum", "items" if k is None else "k"))


def weighted_mean(
    top: Lists, values: FloatArray, discount: RankDiscount, p: float, k: int | None
) -> FloatArray:
    """Mean of values weighted by rank discounts, for each list.

    With k, the divisor is the sum of the weights of all ranks up to k.
    """
    weights = discount_function(discount, p)(top.rank.astype(np.float64))
    note_column(values, "value", top)
    note_column(weights, "weight", top)
    total, total_weight = top.sum(weights * values), np.bincount(top.user, weights, top.n_users)
    if k is not None:
        total_weight = np.full(top.n_users, _sum_rank_weights(k, discount, p))
    return formula("sum / weights", nothing=np.nan, sum=total, weights=total_weight)


def _sum_rank_weights(k: int, discount: RankDiscount, p: float) -> float:
    """Sum of the weights of all ranks up to k."""
    if discount == "none" or (discount == "geometric" and p == 1.0):
        return float(k)
    if discount == "geometric":
        return float((1.0 - p**k) / (1.0 - p))
    return float(cumulative_discount(discount, np.array([k]))[0])


def deduplicate(lists: Lists) -> Lists:
    """Remove repeated items from the list of each user."""
    if lists.distinct:
        return lists
    keys = lists.user * max(lists.n_items, 1) + lists.item
    ascending = np.sort(keys)
    if not (ascending[1:] == ascending[:-1]).any():
        return lists
    _, first = np.unique(keys, return_index=True)
    is_first = np.zeros(keys.size, dtype=bool)
    is_first[first] = True
    return lists.only(is_first)
