"""Average precision: the precision at the rank of each hit."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from rankmeter._choices import SHARED_RANKS, Alignment
from rankmeter._evidence.hits import FloatArray, Hits, IntArray, ratio
from rankmeter._evidence.steps import note_column, note_expectation
from rankmeter.metrics._formula import formula
from rankmeter.metrics._ranges import COUNTS_REPEATS, SHARE
from rankmeter.metrics._registry import register
from rankmeter.metrics.weights import cumulative_discount, sum_shares_of_depths


def _ap_bounds(options: Mapping[str, Any], choices: Alignment) -> tuple[float, float]:
    divides_by_ranks = options["denominator"] in ("k", "hits", "all")
    return SHARE if divides_by_ranks else COUNTS_REPEATS(options, choices)


@register(
    "Average precision",
    bounds=_ap_bounds,
    synonyms=("map", "average_precision", "mean_average_precision"),
    shared=("together",),
)
def ap(
    hits: Hits,
    k: int | None = None,
    *,
    denominator: Literal["min", "relevant", "k", "hits", "ranked", "all"] = "min",
) -> FloatArray:
    """Average precision: the precision at the rank of each hit, summed and normalized.

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
        return _mean_precision(hits.even, k)
    if denominator == "hits":
        return _precision_per_found_hit(hits, k)
    relevant = hits.n_relevant
    denominators = {
        "min": relevant if k is None else np.minimum(relevant, k),
        "relevant": relevant,
        "k": hits.length(k),
        "ranked": np.minimum(relevant, hits.depth(k)),
    }
    total, n = _precision_at_hits(hits, k), denominators[denominator]
    return formula("sum / denominator", sum=total, denominator=n)


def _precision_at_hits(hits: Hits, k: int | None) -> FloatArray:
    """Σ of the precision at each hit in the top k."""
    hits = hits.even
    if not hits.tied:
        return hits.sum_top(k, ap, lambda: note_column(hits.nth, "hits so far", hits) / hits.rank)
    groups = hits.groups
    in_top = groups.count_in_top(k)
    expected = _expected_precision(groups.above, groups.before, groups.size, groups.hits, in_top)
    return hits.sum(expected, groups.user, groups.above + 1)


def _expected_precision(
    above: IntArray, before: IntArray, size: IntArray, relevant: IntArray, in_top: IntArray
) -> FloatArray:
    """Expected Σ of the precision at hits in the first ranks of tied groups (see `TiedGroups`).

    With m = `relevant` hits among n = `size` tied ranks, rank i of the first `in_top` holds a hit
    with probability m/n, and then the i - 1 ranks before it hold (i - 1)(m - 1)/(n - 1) other hits
    on average; Σ over i is a difference of harmonic numbers.
    """
    m, n = relevant.astype(np.float64), size.astype(np.float64)
    begin, end = (cumulative_discount("reciprocal", depth) for depth in (above, above + in_top))
    reciprocal = np.where(in_top == 1, 1.0 / (above + 1.0), end - begin)
    other_hits = ratio(m - 1.0, n - 1.0)
    later = in_top - (above + 1.0) * reciprocal  # Σ (i - 1) / (above + i)
    later = np.where(in_top <= 1, 0.0, later)
    chance = np.where(in_top > 0, ratio(m, n), 0.0)
    precision: FloatArray = chance * ((before + 1.0) * reciprocal + other_hits * later)
    return precision


def _precision_per_found_hit(hits: Hits, k: int | None) -> FloatArray:
    """Σ of the precision at hits in the top k, divided by the number of these hits."""
    if not hits.tied:
        total, n_hits = _precision_at_hits(hits, k), hits.count(k)
        return formula("sum / hits", sum=total, hits=n_hits)
    # How many hits are found is itself random, but only in the one group that straddles k:
    # sum over their number j, which is hypergeometric.
    groups = hits.groups
    in_top = groups.count_in_top(k)
    is_whole = in_top == groups.size
    above, before = groups.above, groups.before
    certain = _expected_precision(above, before, groups.size, groups.hits, in_top)
    certain = np.where(is_whole, certain, 0.0)
    total = hits.sum(certain, groups.user, groups.above + 1)
    certain_hits = np.where(is_whole, groups.hits, 0.0)
    n_hits = np.bincount(groups.user, certain_hits, hits.n_users).astype(np.float64)
    result = formula("sum / hits", sum=total, hits=n_hits)
    for index in np.flatnonzero(~is_whole & (in_top > 0)):
        n, m, t = int(groups.size[index]), int(groups.hits[index]), int(in_top[index])
        user = groups.user[index]
        j, chance = _hits_in_first_ranks(n, m, t)
        ranks = np.full(j.size, t)
        extra = _expected_precision(above[index], before[index], ranks, j, ranks)
        value = ratio(total[user] + extra, n_hits[user] + j)
        result[user] = note_expectation(chance @ value, chance, value)
    return result


def _hits_in_first_ranks(n: int, m: int, t: int) -> tuple[IntArray, FloatArray]:
    """The possible numbers of hits in the first t of n tied ranks with m hits; their chances."""
    j = np.arange(max(0, m - (n - t)), min(m, t) + 1)
    i = j[:-1].astype(np.float64)
    ratios = (m - i) * (t - i) / ((i + 1.0) * (n - m - t + i + 1.0))  # of neighbours; they fall
    mode = int(np.count_nonzero(ratios >= 1.0))
    below, above = np.cumprod(1.0 / ratios[:mode][::-1])[::-1], np.cumprod(ratios[mode:])
    chance = np.concatenate((below, [1.0], above))
    return j, chance / chance.sum()


def _mean_precision(hits: Hits, k: int | None) -> FloatArray:
    """Mean of the precision at every rank 1..k: a hit at rank r adds to ranks r, r + 1, …, k."""
    last = hits.length(k)
    if hits.unresolved_span is None:
        rank = np.ceil(hits.rank).astype(np.int64)
        sums = functools.partial(cumulative_discount, "reciprocal")
        share = sum_shares_of_depths(hits, rank, last, np.ones_like, sums)
    else:
        depth = last[hits.user]
        top = cumulative_discount("reciprocal", last)[hits.user]
        ranks = np.arange(1.0, hits.unresolved_span.high.max(initial=0) + 1.0)
        harmonic = np.concatenate(([0.0], np.cumsum(1.0 / ranks)))  # H(0), H(1), …
        # Σ over the span of H(k) - H(r - 1), by the partial sums of H.
        total = np.concatenate(([0.0], np.cumsum(harmonic)))
        low, high = hits.unresolved_span.low, np.minimum(hits.unresolved_span.high, depth)
        n_ranks = np.maximum(high - low + 1, 0)
        spread = n_ranks * top - (total[np.maximum(high, low - 1)] - total[low - 1])
        share = spread / (hits.unresolved_span.high - low + 1)
    total = hits.sum(share)
    return formula("sum / depth", sum=total, depth=last)


@register(
    "Set average precision", bounds=COUNTS_REPEATS, synonyms=("set_map",), shared=SHARED_RANKS
)
def set_ap(hits: Hits) -> FloatArray:
    """Set average precision: precision times recall; every hit has the precision of the whole list.

    Notes
    -----
    n_hits² / (n_ranked · n_relevant): what average precision would be if the ranking had no order.
    An empty ranking has 0. Source: ``set_map`` of trec_eval.

    Examples
    --------
    Two hits among four ranked and three relevant items: 2/4 · 2/3.

    >>> import rankmeter as rm
    >>> result = rm.evaluate({"u": list("abcd")}, {"u": set("bdz")}, "set_ap")
    >>> round(result["set_ap"].mean, 4)
    0.3333
    """
    n_hits, ranked, relevant = hits.count(None), hits.n_ranked, hits.n_relevant
    return formula("hits**2 / (ranked * relevant)", hits=n_hits, ranked=ranked, relevant=relevant)


@register(
    "Smoothed average precision",
    low=-math.inf,
    high=math.inf,
    needs_relevant=False,
    open_ties=False,
    shared=("together",),
)
def yaap(hits: Hits) -> FloatArray:
    """Smoothed average precision (yaAP): log odds of AP, which treat bad and good rankings alike.

    Notes
    -----
    log((1 + S) / (1 + n_relevant - S)), where S is the sum of the precisions at the hits: 0 where
    nothing is relevant. For one
    user it rises with `ap`; its mean depends less on easy users. Source: Robertson,
    ECIR 2012.

    Examples
    --------
    The only relevant item at rank 1: log 2.

    >>> import rankmeter as rm
    >>> round(rm.evaluate({"u": ["a"]}, {"u": {"a"}}, "yaap")["yaap"].mean, 4)
    0.6931
    """
    relevant = hits.n_relevant
    total = np.where(relevant > 0, ap(hits, denominator="relevant") * relevant, 0.0)
    # Repeated items that count each time can add up to more than the relevant ones.
    text = "log((1 + sum) / (1 + max(relevant - sum, 0)))"
    return formula(text, sum=total, relevant=relevant)
