"""Metrics of the gains of the hits, discounted by rank; their ranges are for nonnegative gains."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Literal

import numpy as np

from rankmeter._checks import exact, number, refused
from rankmeter._hits import FloatArray, Hits, ratio
from rankmeter._steps import column, summed, worked
from rankmeter.errors import UsageError
from rankmeter.metrics._registry import Example, register
from rankmeter.metrics.discounts import DISCOUNTS, Discount, Geometric, sum_to

Gain = Literal["linear", "exp2", "binary"]


def _exponential(gain: FloatArray) -> FloatArray:
    """2^g - 1, for grades: a play count would overflow."""
    if gain.max(initial=0.0) > LARGEST_GRADE:
        raise UsageError(
            f"gain='exp2' is for grades on a small scale, and overflows above {LARGEST_GRADE}: "
            "choose gain='linear', or grade the gains first"
        )
    return np.exp2(gain) - 1.0


LARGEST_GRADE = 1000
"""Grades up to this can be summed as powers of 2."""

GAINS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "linear": lambda gain: gain,
    "exp2": _exponential,
    "binary": np.ones_like,
}


@register("Discounted cumulative gain", high=math.inf)
def dcg(
    hits: Hits, k: int | None = None, *, gain: Gain = "linear", discount: Discount = "log2"
) -> FloatArray:
    """Discounted cumulative gain: the gains in the top k, each divided by a logarithm of its rank.

    Parameters
    ----------
    gain : {"linear", "exp2", "binary"}
        The relevance g as it is, 2^g - 1, or 1.
    discount : {"log2", "ln", "log10", "jarvelin", "reciprocal"}
        log2(rank + 1), ln(rank + 1), log10(rank + 1); that of Järvelin and Kekäläinen 2002 with
        b = 2: log2(max(rank, 2)), which gives ranks 1 and 2 the same weight; or the rank itself.

    Notes
    -----
    Sources: Järvelin and Kekäläinen, TOIS 2002 (linear); Burges et al., ICML 2005 (exp2).

    Examples
    --------
    Gains 2, 3, 3, 1, 2 in this order: 2/1 + 3/1.585 + 3/2 + 1/2.322 + 2/2.585.

    >>> import rankmeter as rm
    >>> truth = {"u": {"a": 2, "b": 3, "c": 3, "d": 1, "e": 2}}
    >>> round(rm.evaluate({"u": list("abcde")}, truth, "dcg")["dcg"].mean, 4)
    6.5972
    """
    weight = DISCOUNTS[discount]

    def terms(weights: FloatArray) -> FloatArray:
        worth = GAINS[gain](hits.gain)
        if gain != "linear":
            column(worth, f"gain ({gain})", hits)
        return column(weights, "discount", hits) * worth

    if hits.tied:
        return hits.sum(terms(hits.weigh(weight, k)))
    return hits.sum_top(k, (dcg, gain, discount), lambda: terms(weight(hits.rank)))


@register("Normalised discounted cumulative gain", synonyms=("ndcg_cut", "normalized_dcg"))
def ndcg(
    hits: Hits,
    k: int | None = None,
    *,
    gain: Gain = "linear",
    discount: Discount = "log2",
    ideal: Literal["truth", "uncut", "retrieved", "ones"] = "truth",
) -> FloatArray:
    """DCG divided by the DCG of the ideal ranking.

    Parameters
    ----------
    gain : {"linear", "exp2", "binary"}
        As in `dcg`.
    discount : {"log2", "ln", "log10", "jarvelin", "reciprocal"}
        As in `dcg`; the base of the logarithm cancels. With ``reciprocal`` it is the normalised
        cumulative reciprocal rank.
    ideal : {"truth", "uncut", "retrieved", "ones"}
        The best ranking of the truth, cut at k; the same, not cut; the best order of the items
        that the ranking contains; or k items of gain 1, whether or not so many are relevant.

    Notes
    -----
    Edge cases: no hit is 0; an ideal without gain is 0 with ``retrieved`` and undefined otherwise.
    Without a cutoff ``ones`` takes as many as were ranked. Sources: as `dcg`.

    Examples
    --------
    Binary hits at ranks 2 and 5, three relevant: (1/log2 3 + 1/log2 6) / (1 + 1/log2 3 + 1/log2 4).

    >>> import rankmeter as rm
    >>> ranking = {"u": [4, 6, 2, 3, 1, 8, 10, 9, 5, 7]}
    >>> rm.evaluate(ranking, {"u": {1, 6, 9}}, "ndcg@5")["ndcg@5"].mean
    0.4776237035032179
    """
    value = dcg(hits, k, gain=gain, discount=discount)
    if ideal == "ones":
        depth = hits.n_ranked if k is None else np.full(hits.n_users, k)
        best = sum_to(discount, depth)
    elif ideal == "retrieved":
        best = dcg(Hits.perfect(hits.offsets, hits.gain), k, gain=gain, discount=discount)
        best = np.where(np.isnan(best), 0.0, best)
    else:
        best = dcg(hits.best, None if ideal == "uncut" else k, gain=gain, discount=discount)
    nothing = 0.0 if ideal in ("retrieved", "ones") else np.nan
    # Negative gains can make an ideal negative: only an ideal of nothing is undefined.
    result: FloatArray = np.full(hits.n_users, nothing)
    np.divide(value, best, out=result, where=best != 0)
    return worked(result, "dcg / ideal", dcg=value, ideal=best)


def _share(hits: Hits, max_gain: float | None) -> FloatArray:
    """Gains in units of the largest possible one; 1 each where it is None."""
    if max_gain is None:
        return np.ones_like(hits.gain)
    largest = max(hits.gain.max(initial=0.0), hits.best.gain.max(initial=0.0))
    if max_gain <= 0 or largest > max_gain:
        wanted = f"positive and no less than any gain ({exact(largest)})"
        raise refused("max_gain", wanted, max_gain, extent=float(largest))
    return hits.gain / max_gain


@register("Rank-biased precision", reached=False, synonyms=("rank_biased_precision",))
def rbp(
    hits: Hits,
    k: int | None = None,
    *,
    p: Annotated[float, Example(0.5, 0.95)] = 0.8,
    gain: Literal["binary", "linear"] = "binary",
    max_gain: Annotated[float | None, Example(3.0)] = None,
    normalize: bool = False,
) -> FloatArray:
    """Rank-biased precision: the gain per item of a reader who continues with probability p.

    Parameters
    ----------
    p : float
        Persistence, between 0 and 1: the chance of going from one item to the next.
    gain : {"binary", "linear"}
        Without `max_gain`: every hit counts as 1, or as its gain, and values can exceed 1.
    max_gain : float, optional
        Largest possible gain, which no gain may exceed: a gain g counts as g / max_gain.
    normalize : bool
        Whether to divide by the largest possible sum of weights: that of the first
        ``min(n_relevant, n_ranked, k)`` ranks.

    Notes
    -----
    (1 - p) Σ g p^(rank - 1). Items below the ranking can add up to `rbp_residual`: the true
    value is between rbp and their sum. Source: Moffat and Zobel, TOIS 2008.

    Examples
    --------
    Hits at ranks 1 and 3, p = 0.5: 0.5 · (1 + 0.25).

    >>> import rankmeter as rm
    >>> result = rm.evaluate({"u": ["a", "x", "b"]}, {"u": {"a", "b"}}, "rbp(p=0.5)")
    >>> result["rbp(p=0.5)"].mean
    0.625
    """
    plain = gain == "linear" and max_gain is None
    worth = hits.gain if plain else _share(hits, max_gain)
    weight = Geometric(p)
    column(worth, "worth", hits)
    if hits.tied:
        value = hits.sum(column(hits.weigh(weight, k), "weight", hits) * worth)
    else:
        kept = (rbp, weight, plain, max_gain)
        value = hits.sum_top(k, kept, lambda: column(weight(hits.rank), "weight", hits) * worth)
    if not normalize:
        return value
    depth = np.minimum(hits.n_relevant, hits.depth(k))
    found = ratio(value, 1.0 - weight.below(depth))
    return worked(found, "sum / (1 - p**depth)", sum=value, p=p, depth=depth)


@register("Residual of rank-biased precision", increasing=False, reached=False)
def rbp_residual(
    hits: Hits,
    nonrelevant: Hits,
    k: int | None = None,
    *,
    p: Annotated[float, Example(0.5)] = 0.8,
    unjudged: Literal["nonrelevant", "unknown"] = "nonrelevant",
) -> FloatArray:
    """How much rank-biased precision could still gain from unseen items.

    Parameters
    ----------
    p : float
        Persistence, as in `rbp`.
    unjudged : {"nonrelevant", "unknown"}
        Whether ranked items without a judgment have no gain, or may have the full gain.

    Notes
    -----
    p^d after d ranked items, plus (1 - p) p^(rank - 1) for each unknown item. Source: Moffat and
    Zobel, TOIS 2008.

    Examples
    --------
    Three items ranked: 0.5³.

    >>> import rankmeter as rm
    >>> result = rm.evaluate({"u": ["a", "x", "b"]}, {"u": {"a", "b"}}, "rbp_residual(p=0.5)")
    >>> result["rbp_residual(p=0.5)"].mean
    0.125
    """
    weight = Geometric(p)
    if unjudged == "nonrelevant":
        return worked(weight.below(hits.depth(k)), "p**depth", p=p, depth=hits.depth(k))
    first, second = (found.sum(found.weigh(weight, k)) for found in (hits, nonrelevant))
    value = 1.0 - (first + second)
    return worked(value, "1 - (relevant + nonrelevant)", relevant=first, nonrelevant=second)


@register("Expected reciprocal rank", reached=False, synonyms=("expected_reciprocal_rank",))
def err(
    hits: Hits,
    k: int | None = None,
    *,
    max_gain: Annotated[float, Example(3.0, 4.0)],
    gain: Literal["linear", "binary"] = "linear",
) -> FloatArray:
    """Expected reciprocal of the rank at which a satisfied reader stops.

    Parameters
    ----------
    max_gain : float
        Largest grade of the scale, up to 1000, which no gain may exceed. It is a constant of the
        collection: without it two collections, or two runs, cannot be compared.
    gain : {"linear", "binary"}
        The grades as they are, or 1 for each hit.

    Notes
    -----
    Σ (1 / rank) R Π (1 - R above), with R = (2^g - 1) / 2^max_gain. Source: Chapelle et al., CIKM
    2009.

    Examples
    --------
    Grades 1 and 1 at ranks 1 and 2 of a scale up to 1: 1/2 + 1/2 · 1/2 · 1/2.

    >>> import rankmeter as rm
    >>> result = rm.evaluate({"u": ["a", "b"]}, {"u": {"a", "b"}}, "err(max_gain=1)")
    >>> result["err(max_gain=1)"].mean
    0.625
    """
    grade = np.ones_like(hits.gain) if gain == "binary" else hits.gain
    if gain == "linear":
        _share(hits, max_gain)
    else:
        number("max_gain", max_gain, least=1)
    if max_gain > LARGEST_GRADE:
        hint = ": err is for grades on a small scale, so grade the gains first"
        raise refused("max_gain", f"≤ {LARGEST_GRADE}", max_gain, hint=hint)
    stop = (np.exp2(grade) - 1.0) / 2.0**max_gain
    if hits.tied:
        return _expected_err(hits, stop, k)
    column(stop, "stops", hits)
    value = hits.within(k) * stop / hits.rank
    # One hit of every user at a time, from the top: the probability that the reader continues.
    order = np.arange(hits.rank.size) - hits.offsets[hits.user]
    read, left = np.empty_like(value), np.ones(hits.n_users)
    for i in range(int(order.max(initial=-1)) + 1):
        here = np.flatnonzero(order == i) if i else hits.offsets[:-1][np.diff(hits.offsets) > 0]
        user = hits.user[here]
        read[here] = left[user]
        left[user] *= 1.0 - stop[here]
    return hits.sum(column(read, "reads", hits) * value)


def _expected_err(hits: Hits, stop: FloatArray, k: int | None) -> FloatArray:
    """ERR averaged over all orders of the tied groups.

    Within a group of n places and m hits, place t follows j of the hits with hypergeometric
    probability, and which j is again uniform: the mean of R·Π(1 - R) over the choices is a
    ratio of elementary symmetric polynomials e_j of the values 1 - R.
    """
    groups = hits.groups
    total, left = np.zeros(hits.n_users), np.ones(hits.n_users)
    terms = np.zeros(groups.user.size)
    for index, user in enumerate(groups.user.tolist()):
        n, m, above = int(groups.size[index]), int(groups.hits[index]), int(groups.above[index])
        if n == 1:  # the same bits as without unresolved ties in the block
            one = float(stop[groups.start[index]])
            terms[index] = left[user] * (one / (above + 1.0) if k is None or above < k else 0.0)
            total[user] += terms[index]
            left[user] *= 1.0 - one
            continue
        stay = 1.0 - stop[groups.start[index] : groups.start[index + 1]]
        symmetric = np.zeros(m + 2)
        symmetric[0] = 1.0
        for x in stay.tolist():
            symmetric[1:] += x * symmetric[:-1].copy()
        places = n if k is None else min(max(k - above, 0), n)
        value = 0.0
        for j in range(m):
            chosen = (m - j) * symmetric[j] - (j + 1) * symmetric[j + 1]
            # P(j hits in the first t - 1 places and one at place t), over the (m choose j) (m - j)
            # ways in which they can be chosen.
            ways = [
                math.comb(t - 1, j) * math.comb(n - t, m - j - 1) / math.comb(n, m) / (above + t)
                for t in range(1, places + 1)
            ]
            value += chosen * math.fsum(ways) / (math.comb(m, j) * (m - j))
        terms[index] = left[user] * value
        total[user] += terms[index]
        left[user] *= symmetric[m]
    return summed(total, terms, hits, groups.above + 1)


@register("Normalised expected reciprocal rank")
def nerr(
    hits: Hits,
    k: int | None = None,
    *,
    max_gain: Annotated[float, Example(3.0, 4.0)],
    gain: Literal["linear", "binary"] = "linear",
) -> FloatArray:
    """ERR divided by the ERR of the ideal ranking, cut at the same k.

    Parameters
    ----------
    max_gain, gain
        As in `err`.

    Notes
    -----
    Source: as `err`.

    Examples
    --------
    The only relevant item at rank 2 instead of 1.

    >>> import rankmeter as rm
    >>> rm.evaluate({"u": ["x", "a"]}, {"u": {"a"}}, "nerr(max_gain=1)")["nerr(max_gain=1)"].mean
    0.5
    """
    value = err(hits, k, max_gain=max_gain, gain=gain)
    best = err(hits.best, k, max_gain=max_gain, gain=gain)
    found = ratio(value, best, nothing=np.nan)
    return worked(found, "err / ideal", err=value, ideal=best)
