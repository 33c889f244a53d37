"""Metrics of the ranks of the hits, whatever their gains."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Literal

import numpy as np

from rankmeter._hits import FloatArray, Hits, IntArray, ratio
from rankmeter._steps import column, expected, is_noting, worked
from rankmeter.errors import NotEnoughMemoryError
from rankmeter.metrics._registry import Example, register
from rankmeter.metrics.discounts import sum_to


def _harmonic(n: int) -> FloatArray:
    """H(0), H(1), …, H(n)."""
    return np.concatenate(([0.0], np.cumsum(1.0 / np.arange(1.0, n + 1.0))))


@register("Average precision", synonyms=("map", "average_precision", "mean_average_precision"))
def ap(
    hits: Hits,
    k: int | None = None,
    *,
    denominator: Literal["min", "relevant", "k", "hits", "ranked", "all"] = "min",
) -> FloatArray:
    """Average precision: the precision at the rank of each hit, summed and normalised.

    Parameters
    ----------
    denominator : {"min", "relevant", "k", "hits", "ranked", "all"}
        What the sum over the hits in the top k is divided by:

        * ``min``: min(n_relevant, k), so that a perfect top k has 1;
        * ``relevant``: n_relevant, as in trec_eval also under a cutoff;
        * ``k``: the cutoff;
        * ``hits``: the hits found in the top k;
        * ``ranked``: min(n_relevant, n_ranked, k);
        * ``all``: more than a denominator: the mean of the precision at *every* rank 1..k, hit or
          miss, without the relevance factor.

    Notes
    -----
    Its mean over users is MAP. Edge cases: no hit is 0; without a cutoff ``min`` equals
    ``relevant`` and ``k`` is the length of the ranking. Under unresolved ties the expectation over
    all orders is exact: McSherry and Najork, ECIR 2008. With ``ties="together"`` it is the average
    precision of scikit-learn.

    Examples
    --------
    Hits at ranks 2 and 4 of five, three relevant items: (1/2 + 2/4) / 3.

    >>> import rankmeter as rm
    >>> result = rm.evaluate({"u": list("ABCDE")}, {"u": set("BDZ")}, "ap@5")
    >>> round(result["ap@5"].mean, 4)
    0.3333
    """
    if denominator == "all":
        return _mean_precision(hits, k)
    if denominator == "hits":
        return _ap_per_hit(hits, k)
    relevant = hits.n_relevant
    whole = {
        "min": relevant if k is None else np.minimum(relevant, k),
        "relevant": relevant,
        "k": hits.n_ranked if k is None else np.full(hits.n_users, k),
        "ranked": np.minimum(relevant, hits.depth(k)),
    }
    total, n = _precision_at_hits(hits, k), whole[denominator]
    return worked(ratio(total, n), "sum / denominator", sum=total, denominator=n)


def _precision_at_hits(hits: Hits, k: int | None) -> FloatArray:
    """Σ of the precision at each hit in the top k."""
    if not hits.tied:
        return hits.sum_top(k, ap, lambda: column(hits.nth, "hits so far", hits) / hits.rank)
    groups = hits.groups
    inside = groups.size if k is None else np.clip(k - groups.above, 0, groups.size)
    found = _expected_precision(groups.above, groups.before, groups.size, groups.hits, inside)
    return hits.sum(found, groups.user, groups.above + 1)


def _expected_precision(
    above: IntArray, before: IntArray, size: IntArray, relevant: IntArray, inside: IntArray
) -> FloatArray:
    """Expected Σ of the precision at hits in the first places of tied groups (see `Groups`).

    With `relevant` hits among `size` equally likely places, place i (of the first `inside`)
    holds a hit with probability m/n, and then i - 1 places before it hold (i - 1)(m - 1)/(n - 1)
    others on average; Σ over i is a difference of harmonic numbers.
    """
    m, n = relevant.astype(np.float64), size.astype(np.float64)
    reciprocal = sum_to("reciprocal", above + inside) - sum_to("reciprocal", above)
    reciprocal = np.where(inside == 1, 1.0 / (above + 1.0), reciprocal)
    others = ratio(m - 1.0, n - 1.0)
    later = inside - (above + 1.0) * reciprocal  # Σ (i - 1) / (above + i)
    later = np.where(inside <= 1, 0.0, later)
    chance = np.where(inside > 0, ratio(m, n), 0.0)
    precision: FloatArray = chance * ((before + 1.0) * reciprocal + others * later)
    return precision


def _ap_per_hit(hits: Hits, k: int | None) -> FloatArray:
    """Σ of the precision at hits in the top k, divided by the number of these hits."""
    if not hits.tied:
        total, found = _precision_at_hits(hits, k), hits.count(k)
        return worked(ratio(total, found), "sum / hits", sum=total, hits=found)
    # How many hits are found is itself random, but only in the one group that straddles k:
    # sum over their number j, which is hypergeometric.
    groups = hits.groups
    inside = groups.size if k is None else np.clip(k - groups.above, 0, groups.size)
    whole = inside == groups.size
    above, before = groups.above, groups.before
    sure = _expected_precision(above, before, groups.size, groups.hits, inside)
    sure = np.where(whole, sure, 0.0)
    total = hits.sum(sure, groups.user, groups.above + 1)
    sure_hits = np.where(whole, groups.hits, 0.0)
    found = np.bincount(groups.user, sure_hits, hits.n_users).astype(np.float64)
    result = worked(ratio(total, found), "sum / hits", sum=total, hits=found)
    for index in np.flatnonzero(~whole & (inside > 0)):
        n, m, t = int(groups.size[index]), int(groups.hits[index]), int(inside[index])
        user = groups.user[index]
        j = np.arange(max(0, m - (n - t)), min(m, t) + 1)
        chance = np.array(
            [math.comb(t, i) * math.comb(n - t, m - i) / math.comb(n, m) for i in j.tolist()]
        )
        places = np.full(j.size, t)
        extra = _expected_precision(above[index], before[index], places, j, places)
        each = ratio(total[user] + extra, found[user] + j)
        result[user] = expected(chance @ each, chance, each)
    return result


def _mean_precision(hits: Hits, k: int | None) -> FloatArray:
    """Mean of the precision at every rank 1..k: a hit at rank r adds to ranks r, r + 1, …, k."""
    last = hits.n_ranked if k is None else np.full(hits.n_users, k)
    depth = last[hits.user]
    top = sum_to("reciprocal", last)[hits.user]
    if hits.open is None:
        rank = np.ceil(hits.rank).astype(np.int64)
        share = np.where(rank <= depth, top - sum_to("reciprocal", rank - 1), 0.0)
    else:
        harmonic = _harmonic(int(hits.open.high.max(initial=0)))
        # Σ over the span of H(k) - H(r - 1), by the partial sums of H.
        total = np.concatenate(([0.0], np.cumsum(harmonic)))
        low, high = hits.open.low, np.minimum(hits.open.high, depth)
        places = np.maximum(high - low + 1, 0)
        spread = places * top - (total[np.maximum(high, low - 1)] - total[low - 1])
        share = spread / (hits.open.high - low + 1)
    total = hits.sum(share)
    return worked(ratio(total, last), "sum / depth", sum=total, depth=last)


@register(
    "Reciprocal rank", synonyms=("mrr", "recip_rank", "reciprocal_rank", "mean_reciprocal_rank")
)
def rr(hits: Hits, k: int | None = None) -> FloatArray:
    """One over the rank of the first hit; 0 without a hit in the top k.

    Notes
    -----
    Its mean over users is MRR. Only the first hit matters. In an unresolved tie it is the
    expectation of 1/rank, not 1/expected rank.

    Examples
    --------
    First hits at ranks 3, 2 and 1: (1/3 + 1/2 + 1) / 3.

    >>> import rankmeter as rm
    >>> lists, truth = ["xyA", "xBy", "Cxy"], [{"A"}, {"B"}, {"C"}]
    >>> round(rm.evaluate([list(items) for items in lists], truth, "rr")["rr"].mean, 4)
    0.6111
    """
    if hits.tied:
        return _expected_first(hits, lambda rank: 1.0 / rank, k)
    value = 1.0 / hits.first if k is None else np.where(hits.first <= k, 1.0 / hits.first, 0.0)
    text = "1 / first_hit" if k is None else "(first_hit <= k) / first_hit"
    return worked(value, text, first_hit=hits.first, k=k)


def _expected_first(
    hits: Hits, weight: Callable[[FloatArray], FloatArray], k: int | None
) -> FloatArray:
    """Expected ``weight(rank)`` of each user's first hit, 0 below the cutoff.

    The first of m hits among n tied places is at place i with probability
    C(n - i, m - 1) / C(n, m) = m/n · Π_{j < m-1} (n - i - j) / (n - 1 - j). Beyond place 45 n/m
    it is below 1e-19 together, so the work stays proportional to n however many are relevant.
    Users with the same numbers, such as those without a hit, share the work.
    """
    groups = hits.groups
    lead = np.flatnonzero(groups.before == 0)
    ties = np.stack([groups.above[lead], groups.size[lead], groups.hits[lead]])
    order = np.lexsort(ties)
    first = np.flatnonzero(np.any(np.diff(ties[:, order], prepend=-1), axis=0))
    above, size, m = ties[:, order[first]]
    places = np.minimum(size - m + 1, 45 * size // m + 1)
    if places.max(initial=0) > _MOST_PLACES:
        raise NotEnoughMemoryError(
            f"the expected rank of the first of {size.max():,} tied items needs too much memory: "
            "choose ties='realistic', or a smaller n_items"
        )
    found = np.empty(places.size)
    part = np.cumsum(places) // _PLACES_AT_ONCE
    for some in filter(len, np.split(np.arange(places.size), np.flatnonzero(np.diff(part)) + 1)):
        start = np.concatenate(([0], np.cumsum(places[some])))
        row = np.repeat(some, places[some])
        i = np.arange(row.size) - np.repeat(start[:-1], places[some]) + 1
        chance = (m / size)[row]
        for j in range(int(m[some].max(initial=1)) - 1):
            more = np.flatnonzero(m[row] - 1 > j)
            n = size[row[more]]
            chance[more] *= (n - i[more] - j) / (n - 1 - j)
        rank = (above[row] + i).astype(np.float64)
        value = chance * weight(rank)
        if k is not None:
            value = np.where(rank <= k, value, 0.0)
        found[some] = np.bincount(row - some[0], value)
        if is_noting():  # of one user, who has one such tie
            column(chance, "first hit here", hits, rank)
            return hits.sum(value, groups.user[lead][row], rank)
    each = np.empty(lead.size)
    each[order] = np.repeat(found, np.diff(first, append=lead.size))
    return hits.sum(each, groups.user[lead])


_MOST_PLACES = 2**28
_PLACES_AT_ONCE = 2**22


@register("Mean rank", low=1.0, high=math.inf, increasing=False, synonyms=("mr",))
def mean_rank(
    hits: Hits,
    k: int | None = None,
    *,
    of: Literal["first", "all"] = "first",
    absent: Annotated[Literal["undefined", "next"] | float, Example(100.0)] = "undefined",
) -> FloatArray:
    """Rank of the first relevant item, or the mean rank of all of them. Lower is better.

    Parameters
    ----------
    k : int, optional
        Cutoff: an item below it counts as absent.
    of : {"first", "all"}
        The first relevant item of each user, or every relevant item.
    absent : {"undefined", "next"} or float
        The rank of an item that the ranking does not contain: none (a user without any hit is NaN,
        and the mean is over the items that were found); the rank after the last one,
        ``min(k, n_ranked) + 1``; or a number, such as the size of the catalogue.

    Notes
    -----
    ``undefined`` uses only the items that were found, so compare two systems with it only if both
    rank every item; the result counts the undefined users. In an unresolved tie that can put every
    relevant item below the cutoff, it is the mean over the orders that do not. ``next`` favours
    short lists.

    Examples
    --------
    Ranks 1, 3, 3, 5 and 2 have the mean 14/5.

    >>> import rankmeter as rm
    >>> rm.evaluate([list("abcde")] * 5, [{"a"}, {"c"}, {"c"}, {"e"}, {"b"}], "mr")["mr"].mean
    2.8
    """
    worst = hits.depth(k) + 1.0 if absent == "next" else None
    if worst is None and absent != "undefined":
        worst = np.full(hits.n_users, float(absent))
    if of == "all":
        total = hits.sum(hits.weigh(lambda rank: rank, k))
        found = hits.count(k)
        if worst is not None:
            missed = hits.n_relevant - found
            value = ratio(total + missed * worst, hits.n_relevant, nothing=np.nan)
            return worked(
                value, "(sum + missed * absent) / relevant", sum=total, missed=missed,
                absent=worst, relevant=hits.n_relevant,
            )  # fmt: skip
        value = ratio(total, found, nothing=np.nan)
        return worked(value, "sum / hits", sum=total, hits=found)
    if hits.tied:
        rank = _expected_first(hits, lambda rank: rank, k)
        chance = _expected_first(hits, np.ones_like, k)
    else:
        chance = (hits.first < np.inf if k is None else hits.first <= k).astype(np.float64)
        rank = np.where(chance > 0, hits.first, 0.0)
    if worst is not None:
        value = rank + (1.0 - chance) * worst
        text = "first_hit + (1 - found) * absent"
        return worked(value, text, first_hit=rank, found=chance, absent=worst)
    value = ratio(rank, chance, nothing=np.nan)
    return worked(value, "first_hit / found", first_hit=rank, found=chance)
