"""Metrics that look at the ranks of the hits: higher is better than lower."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import numpy as np

from rankmeter._hits import FloatArray, Groups, Hits, IntArray, ratio
from rankmeter.errors import UsageError
from rankmeter.metrics._registry import register

__all__ = ["ap", "dcg", "err", "mean_rank", "ndcg", "nerr", "rbp", "rbp_residual", "rr"]

Gain = Literal["linear", "exp2", "binary"]
Discount = Literal["log2", "ln", "log10", "jarvelin", "reciprocal"]

GAINS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "linear": lambda gain: gain,
    "exp2": lambda gain: np.exp2(gain) - 1.0,
    "binary": np.ones_like,
}

DISCOUNTS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "log2": lambda rank: 1.0 / np.log2(rank + 1.0),
    "ln": lambda rank: 1.0 / np.log(rank + 1.0),
    "log10": lambda rank: 1.0 / np.log10(rank + 1.0),
    # Järvelin and Kekäläinen 2002 with b = 2: ranks below b are not discounted, which makes it
    # the clipped logarithm log2(max(rank, 2)) of other tools.
    "jarvelin": lambda rank: 1.0 / np.log2(np.maximum(rank, 2.0)),
    "reciprocal": lambda rank: 1.0 / rank,
}


def _harmonic(n: int) -> FloatArray:
    """H(0), H(1), …, H(n)."""
    return np.concatenate(([0.0], np.cumsum(1.0 / np.arange(1.0, n + 1.0))))


@register("Average precision", synonyms=("map", "average_precision", "mean_average_precision"))
def ap(
    hits: Hits,
    k: int | None = None,
    *,
    denominator: Literal["min", "relevant", "k", "hits", "ranked", "all"] = "min",
    tied: Literal["expected", "threshold"] = "expected",
) -> FloatArray:
    """Average precision: the precision at the rank of each hit, summed and normalised.

    Parameters
    ----------
    hits : Hits
        Hits of n_users users.
    k : int, optional
        Cutoff; without it the whole ranking counts.
    denominator : {"min", "relevant", "k", "hits", "ranked", "all"}
        What the sum over the hits in the top k is divided by:

        * ``min``: min(n_relevant, k), so that a perfect top k has 1;
        * ``relevant``: n_relevant, as trec_eval does also under a cutoff;
        * ``k``: the cutoff;
        * ``hits``: the hits found in the top k;
        * ``ranked``: min(n_relevant, n_ranked, k);
        * ``all``: not a denominator alone: the mean of the precision at *every* rank 1..k, hit
          or miss, without the relevance factor.

    Returns
    -------
    float64 array of shape (n_users,)
        In [0, 1].

    Notes
    -----
    Its mean over users is MAP. Edge cases: no hit is 0; a user with nothing relevant is undefined
    (NaN); without a cutoff ``min`` equals ``relevant`` and ``k`` is the length of the ranking.
    In open ties the expectation over all orders is exact: McSherry and Najork, ECIR 2008.
    ``threshold`` is the average precision of scikit-learn, also for the ranking of labels.

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
    together = tied == "threshold" and hits.tied
    if denominator == "hits" and not together:
        return _ap_per_hit(hits, k)
    whole = hits.n_relevant.astype(np.float64)
    if denominator == "k":
        whole = (hits.n_ranked if k is None else np.full(hits.n_users, k)).astype(np.float64)
    elif denominator in ("min", "ranked"):
        if denominator == "ranked":
            whole = np.minimum(whole, hits.n_ranked)
        if k is not None:
            whole = np.minimum(whole, k)
    if together:
        total, found = _precision_at_thresholds(hits, k)
        return ratio(total, found if denominator == "hits" else whole)
    return ratio(_precision_at_hits(hits, k), whole)


def _precision_at_thresholds(hits: Hits, k: int | None) -> tuple[FloatArray, FloatArray]:
    """Σ of the precision behind each tied group that ends in the top k, and the hits of these."""
    groups = hits.groups
    end = groups.above + groups.size
    counted = np.where(end <= (np.inf if k is None else k), groups.hits, 0).astype(np.float64)
    behind = counted * (groups.before + groups.hits) / end
    return hits.sum(behind, groups.user), hits.sum(counted, groups.user)


def _precision_at_hits(hits: Hits, k: int | None) -> FloatArray:
    """Σ of the precision at each hit in the top k."""
    if not hits.tied:
        precision = hits.nth / hits.rank
        return hits.sum(precision if k is None else np.where(hits.rank <= k, precision, 0.0))
    groups = hits.groups
    inside = groups.size if k is None else np.clip(k - groups.above, 0, groups.size)
    return hits.sum(_expected_precision(groups, groups.size, groups.hits, inside), groups.user)


def _expected_precision(
    groups: Groups, size: IntArray, relevant: IntArray, inside: IntArray
) -> FloatArray:
    """Expected Σ of the precision at hits in the first places of tied groups.

    With `relevant` hits among `size` equally likely places, place i (of the first `inside`)
    holds a hit with probability m/n, and then i - 1 places before it hold (i - 1)(m - 1)/(n - 1)
    others on average; Σ over i is a difference of harmonic numbers.
    """
    above, m, n = groups.above, relevant.astype(np.float64), size.astype(np.float64)
    harmonic = _harmonic(int((above + inside).max(initial=0)))
    reciprocal = harmonic[above + inside] - harmonic[above]
    reciprocal = np.where(inside == 1, 1.0 / (above + 1.0), reciprocal)
    others = ratio(m - 1.0, n - 1.0)
    later = inside - (above + 1.0) * reciprocal  # Σ (i - 1) / (above + i)
    later = np.where(inside <= 1, 0.0, later)
    chance = np.where(inside > 0, ratio(m, n), 0.0)
    expected: FloatArray = chance * ((groups.before + 1.0) * reciprocal + others * later)
    return expected


def _ap_per_hit(hits: Hits, k: int | None) -> FloatArray:
    """Σ of the precision at hits in the top k, divided by the number of these hits."""
    if not hits.tied:
        total, found = _precision_at_hits(hits, k), hits.sum(hits.within(k))
        return ratio(total, found)
    # How many hits are found is itself random, but only in the one group that straddles k:
    # sum over their number j, which is hypergeometric.
    groups = hits.groups
    inside = groups.size if k is None else np.clip(k - groups.above, 0, groups.size)
    whole = inside == groups.size
    sure = np.where(whole, _expected_precision(groups, groups.size, groups.hits, inside), 0.0)
    total = hits.sum(sure, groups.user)
    found = hits.sum(np.where(whole, groups.hits, 0).astype(np.float64), groups.user)
    result = ratio(total, found)
    split = np.flatnonzero(~whole & (inside > 0))
    for index in split:
        n, m, t = int(groups.size[index]), int(groups.hits[index]), int(inside[index])
        user = groups.user[index]
        j = np.arange(max(0, m - (n - t)), min(m, t) + 1)
        chance = np.array(
            [math.comb(t, i) * math.comb(n - t, m - i) / math.comb(n, m) for i in j.tolist()]
        )
        one = Groups(*(np.repeat(part, j.size) for part in _row(groups, index)))
        places = np.full(j.size, t)
        extra = _expected_precision(one, places, j, places)
        count = found[user] + j
        value = ratio(total[user] + extra, count)
        result[user] = chance @ value
    return result


def _row(groups: Groups, index: np.intp) -> list[IntArray]:
    """One group, as arrays of length 1 in the order of the fields."""
    fields = (groups.user, groups.above, groups.size, groups.hits, groups.before, groups.start)
    return [part[index : index + 1] for part in fields]


def _mean_precision(hits: Hits, k: int | None) -> FloatArray:
    """Mean of the precision at every rank 1..k: a hit at rank r adds to ranks r, r + 1, …, k."""
    last = hits.n_ranked if k is None else np.full(hits.n_users, k)
    harmonic = _harmonic(int(max(last.max(initial=0), hits.rank.max(initial=0.0) + 1)))
    depth = last[hits.user]
    top = harmonic[depth]
    if not hits.tied or hits.rank_low is None or hits.rank_high is None:
        rank = np.ceil(hits.rank).astype(np.int64)
        share = np.where(rank <= depth, top - harmonic[rank - 1], 0.0)
    else:
        # Σ over the span of H(k) - H(r - 1), by the partial sums of H.
        total = np.concatenate(([0.0], np.cumsum(harmonic)))
        low, high = hits.rank_low, np.minimum(hits.rank_high, depth)
        places = np.maximum(high - low + 1, 0)
        spread = places * top - (total[np.maximum(high, low - 1)] - total[low - 1])
        share = spread / (hits.rank_high - low + 1)
    value = hits.sum(share)
    return ratio(value, last)


@register(
    "Reciprocal rank", synonyms=("mrr", "recip_rank", "reciprocal_rank", "mean_reciprocal_rank")
)
def rr(hits: Hits, k: int | None = None) -> FloatArray:
    """One over the rank of the first hit; 0 if there is none in the top k.

    Parameters
    ----------
    hits : Hits
        Hits of n_users users.
    k : int, optional
        Cutoff; without it the whole ranking counts.

    Returns
    -------
    float64 array of shape (n_users,)
        In [0, 1].

    Notes
    -----
    Its mean over users is MRR. It looks at the first hit only. A user with nothing relevant is
    undefined (NaN). In an open tie it is the expectation of 1/rank, not 1/expected rank.

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
    value = 1.0 / hits.first
    return value if k is None else np.where(hits.first <= k, value, 0.0)


def _expected_first(
    hits: Hits, weight: Callable[[FloatArray], FloatArray], k: int | None
) -> FloatArray:
    """Expected ``weight(rank)`` of each user's first hit, 0 below the cutoff.

    The first of m hits among n tied places stands at place i with probability
    C(n - i, m - 1) / C(n, m) = m/n · Π_{j < m-1} (n - i - j) / (n - 1 - j). Beyond place 45 n/m
    it is below 1e-19 together, so the work stays proportional to n however many are relevant.
    """
    groups = hits.groups
    lead = np.flatnonzero(groups.before == 0)
    size, m = groups.size[lead], groups.hits[lead]
    places = np.minimum(size - m + 1, 45 * size // m + 1)
    start = np.concatenate(([0], np.cumsum(places)))
    row = np.repeat(np.arange(lead.size), places)
    i = np.arange(start[-1]) - start[row] + 1
    chance = (m / size)[row]
    for j in range(int(m.max(initial=1)) - 1):
        more = np.flatnonzero(m[row] - 1 > j)
        n = size[row[more]]
        chance[more] *= (n - i[more] - j) / (n - 1 - j)
    rank = (groups.above[lead][row] + i).astype(np.float64)
    value = chance * weight(rank)
    if k is not None:
        value = np.where(rank <= k, value, 0.0)
    return hits.sum(value, groups.user[lead][row])


@register("Mean rank", low=1.0, high=math.inf, increasing=False, synonyms=("mr",))
def mean_rank(
    hits: Hits,
    k: int | None = None,
    *,
    of: Literal["first", "all"] = "first",
    absent: Literal["undefined", "next"] | float = "undefined",
) -> FloatArray:
    """Rank of the first relevant item, or the mean rank of all of them. Lower is better.

    Parameters
    ----------
    hits : Hits
        Hits of n_users users.
    k : int, optional
        Cutoff: an item below it counts as absent.
    of : {"first", "all"}
        The first relevant item of each user, or every relevant item.
    absent : {"undefined", "next"} or float
        What an item that the ranking does not contain counts as: nothing (a user without any hit
        is NaN, and the mean is over what was found); the rank after the last one,
        ``min(k, n_ranked) + 1``; or a number, such as the size of the catalogue.

    Returns
    -------
    float64 array of shape (n_users,)
        1 or more.

    Notes
    -----
    ``undefined`` looks only at what was found, so compare two systems by it only if both rank
    every item; the result counts the undefined users. ``next`` favours short lists.
    A user with nothing relevant is undefined (NaN).

    Examples
    --------
    Ranks 1, 3, 3, 5 and 2 have the mean 14/5.

    >>> import rankmeter as rm
    >>> rm.evaluate([list("abcde")] * 5, [{"a"}, {"c"}, {"c"}, {"e"}, {"b"}], "mr")["mr"].mean
    2.8
    """
    length = hits.n_ranked if k is None else np.minimum(hits.n_ranked, k)
    worst = length + 1.0 if absent == "next" else None
    if worst is None and absent != "undefined":
        worst = np.full(hits.n_users, float(absent))
    if of == "all":
        total = hits.sum(hits.weigh(lambda rank: rank, k))
        found = hits.sum(hits.within(k))
        if worst is not None:
            missed = hits.n_relevant - found
            return ratio(total + missed * worst, hits.n_relevant, nothing=np.nan)
        return ratio(total, found, nothing=np.nan)
    if hits.tied:
        rank = _expected_first(hits, lambda rank: rank, k)
        chance = _expected_first(hits, np.ones_like, k)
    else:
        chance = (hits.first < np.inf if k is None else hits.first <= k).astype(np.float64)
        rank = np.where(chance > 0, hits.first, 0.0)
    if worst is not None:
        return rank + (1.0 - chance) * worst
    return ratio(rank, chance, nothing=np.nan)


@register("Discounted cumulative gain", high=math.inf)
def dcg(
    hits: Hits, k: int | None = None, *, gain: Gain = "linear", discount: Discount = "log2"
) -> FloatArray:
    """Discounted cumulative gain: the gains in the top k, each divided by a logarithm of its rank.

    Parameters
    ----------
    hits : Hits
        Hits of n_users users.
    k : int, optional
        Cutoff; without it the whole ranking counts.
    gain : {"linear", "exp2", "binary"}
        The relevance g as it is, 2^g - 1, or 1.
    discount : {"log2", "ln", "log10", "jarvelin", "reciprocal"}
        log2(rank + 1), ln(rank + 1), log10(rank + 1); that of Järvelin and Kekäläinen 2002 with
        b = 2: log2(max(rank, 2)), which leaves ranks 1 and 2 alike; or the rank itself.

    Returns
    -------
    float64 array of shape (n_users,)
        Zero or more for nonnegative gains.

    Notes
    -----
    A user with nothing relevant is undefined (NaN). Sources: Järvelin and Kekäläinen, TOIS 2002
    (linear); Burges et al., ICML 2005 (exp2).

    Examples
    --------
    Gains 2, 3, 3, 1, 2 in this order: 2/1 + 3/1.585 + 3/2 + 1/2.322 + 2/2.585.

    >>> import rankmeter as rm
    >>> truth = {"u": {"a": 2, "b": 3, "c": 3, "d": 1, "e": 2}}
    >>> round(rm.evaluate({"u": list("abcde")}, truth, "dcg")["dcg"].mean, 4)
    6.5972
    """
    return hits.sum(hits.weigh(DISCOUNTS[discount], k) * GAINS[gain](hits.gain))


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
    hits : Hits
        Hits of n_users users.
    k : int, optional
        Cutoff; without it the whole ranking counts.
    gain : {"linear", "exp2", "binary"}
        The relevance g as it is, 2^g - 1, or 1.
    discount : {"log2", "ln", "log10", "jarvelin", "reciprocal"}
        As in `dcg`; the base of the logarithm cancels. With ``reciprocal`` it is the normalised
        cumulative reciprocal rank.
    ideal : {"truth", "uncut", "retrieved", "ones"}
        The best ranking of the truth, cut at k; the same, not cut; the best order of the items
        that the ranking contains; or k items of gain 1, whether or not so many are relevant.

    Returns
    -------
    float64 array of shape (n_users,)
        In [0, 1] for nonnegative gains.

    Notes
    -----
    Edge cases: no hit is 0; a user with nothing relevant is undefined (NaN); an ideal without
    gain is 0 with ``retrieved`` and undefined otherwise. Without a cutoff ``ones`` takes as many
    as were ranked. Sources: as `dcg`.

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
        table = DISCOUNTS[discount](np.arange(1.0, depth.max(initial=0) + 1.0))
        best = np.concatenate(([0.0], np.cumsum(table)))[depth]
    elif ideal == "retrieved":
        best = dcg(Hits.perfect(hits.offsets, hits.gain), k, gain=gain, discount=discount)
        best = np.where(np.isnan(best), 0.0, best)
    else:
        perfect = hits if hits.ideal is None else hits.ideal
        best = dcg(perfect, None if ideal == "uncut" else k, gain=gain, discount=discount)
    nothing = 0.0 if ideal in ("retrieved", "ones") else np.nan
    # Negative gains can make an ideal negative: only an ideal of nothing is undefined.
    result: FloatArray = np.full(hits.n_users, nothing)
    np.divide(value, best, out=result, where=best != 0)
    return result


def _share(gain: FloatArray, max_gain: float | None) -> FloatArray:
    """Gains in units of the largest possible one; 1 each where it is None."""
    if max_gain is None:
        return np.ones_like(gain)
    if max_gain <= 0 or gain.max(initial=0.0) > max_gain:
        found = gain.max(initial=0.0)
        raise UsageError(
            f"max_gain must be positive and the largest gain; {max_gain}, found {found}"
        )
    return gain / max_gain


def _check_persistence(p: float) -> None:
    if not 0 < p < 1:
        raise UsageError(f"the persistence p must lie between 0 and 1, got {p}")


@register("Rank-biased precision", synonyms=("rank_biased_precision",))
def rbp(
    hits: Hits,
    k: int | None = None,
    *,
    p: float = 0.8,
    gain: Literal["binary", "linear"] = "binary",
    max_gain: float | None = None,
) -> FloatArray:
    """Rank-biased precision: the gain per item of a reader who goes on with probability p.

    Parameters
    ----------
    hits : Hits
        Hits of n_users users.
    k : int, optional
        Cutoff; without it the whole ranking counts.
    p : float
        Persistence, between 0 and 1: the chance of going from one item to the next.
    gain : {"binary", "linear"}
        Where `max_gain` does not say it: every hit counts 1, or its gain as it is.
    max_gain : float, optional
        Largest possible gain: a gain g counts g / max_gain.

    Returns
    -------
    float64 array of shape (n_users,)
        In [0, 1); with ``linear`` up to the largest gain.

    Raises
    ------
    UsageError
        If `p` is not in (0, 1) or a gain exceeds `max_gain`.

    Notes
    -----
    (1 - p) Σ g p^(rank - 1). What lies below the ranking can add up to `rbp_residual`: the true
    value lies between rbp and their sum. A user with nothing relevant is undefined (NaN).
    Source: Moffat and Zobel, TOIS 2008.

    Examples
    --------
    Hits at ranks 1 and 3, p = 0.5: 0.5 · (1 + 0.25).

    >>> import rankmeter as rm
    >>> result = rm.evaluate({"u": ["a", "x", "b"]}, {"u": {"a", "b"}}, "rbp(p=0.5)")
    >>> result["rbp(p=0.5)"].mean
    0.625
    """
    _check_persistence(p)
    weight = hits.weigh(lambda rank: (1.0 - p) * p ** (rank - 1.0), k)
    plain = gain == "linear" and max_gain is None
    return hits.sum(weight * (hits.gain if plain else _share(hits.gain, max_gain)))


@register("Residual of rank-biased precision", increasing=False, needs_judged=True)
def rbp_residual(
    hits: Hits,
    k: int | None = None,
    *,
    p: float = 0.8,
    unjudged: Literal["nonrelevant", "unknown"] = "nonrelevant",
) -> FloatArray:
    """How much rank-biased precision could still grow through what has not been seen.

    Parameters
    ----------
    hits : Hits
        Hits of n_users users, with ``hits.judged`` if `unjudged` is ``unknown``.
    k : int, optional
        Cutoff; without it the whole ranking counts.
    p : float
        Persistence, between 0 and 1.
    unjudged : {"nonrelevant", "unknown"}
        Whether ranked items without a judgement are known to be worthless, or may be worth
        everything.

    Returns
    -------
    float64 array of shape (n_users,)
        In [0, 1].

    Raises
    ------
    UsageError
        If `p` is not in (0, 1).

    Notes
    -----
    p^d after d ranked items, plus (1 - p) p^(rank - 1) for each unknown item.
    Source: Moffat and Zobel, TOIS 2008.

    Examples
    --------
    Three items ranked: 0.5³.

    >>> import rankmeter as rm
    >>> result = rm.evaluate({"u": ["a", "x", "b"]}, {"u": {"a", "b"}}, "rbp_residual(p=0.5)")
    >>> result["rbp_residual(p=0.5)"].mean
    0.125
    """
    _check_persistence(p)
    if unjudged == "nonrelevant":
        depth = hits.n_ranked if k is None else np.minimum(hits.n_ranked, k)
        return p ** depth.astype(np.float64)

    def mass(found: Hits) -> FloatArray:
        return found.sum(found.weigh(lambda rank: (1.0 - p) * p ** (rank - 1.0), k))

    known = mass(hits)
    if hits.judged is not None:
        known = known + mass(hits.judged)
    return 1.0 - known


@register("Expected reciprocal rank", synonyms=("expected_reciprocal_rank",))
def err(
    hits: Hits,
    k: int | None = None,
    *,
    max_gain: float,
    gain: Literal["linear", "binary"] = "linear",
) -> FloatArray:
    """Expected reciprocal rank at which a reader who stops when satisfied will stop.

    Parameters
    ----------
    hits : Hits
        Hits of n_users users.
    k : int, optional
        Cutoff; without it the whole ranking counts.
    max_gain : float
        Largest grade of the judgements' scale (a constant of the collection: without it two
        collections, or two runs, cannot be compared).
    gain : {"linear", "binary"}
        The grades as they are, or 1 for each hit.

    Returns
    -------
    float64 array of shape (n_users,)
        In [0, 1).

    Raises
    ------
    UsageError
        If a gain exceeds `max_gain`.

    Notes
    -----
    Σ (1 / rank) R Π (1 - R above), with R = (2^g - 1) / 2^max_gain. A user with nothing
    relevant is undefined (NaN). Source: Chapelle et al., CIKM 2009.

    Examples
    --------
    Grades 1 and 1 at ranks 1 and 2 of a scale up to 1: 1/2 + 1/2 · 1/2 · 1/2.

    >>> import rankmeter as rm
    >>> result = rm.evaluate({"u": ["a", "b"]}, {"u": {"a", "b"}}, "err(max_gain=1)")
    >>> result["err(max_gain=1)"].mean
    0.625
    """
    grade = np.ones_like(hits.gain) if gain == "binary" else hits.gain
    _share(grade, max_gain)
    stop = (np.exp2(grade) - 1.0) / 2.0**max_gain
    if hits.tied:
        return _expected_err(hits, stop, k)
    value = hits.within(k) * stop / hits.rank
    # One hit of every user at a time, from the top: what is left of each reader's patience.
    order = np.arange(hits.rank.size) - hits.offsets[hits.user]
    total, left = np.zeros(hits.n_users), np.ones(hits.n_users)
    for i in range(int(order.max(initial=-1)) + 1):
        here = np.flatnonzero(order == i) if i else hits.offsets[:-1][np.diff(hits.offsets) > 0]
        user = hits.user[here]
        total[user] += left[user] * value[here]
        left[user] *= 1.0 - stop[here]
    return total


def _expected_err(hits: Hits, stop: FloatArray, k: int | None) -> FloatArray:
    """ERR averaged over all orders of the tied groups.

    Within a group of n places and m hits, place t follows j of the hits with hypergeometric
    probability, and which j is again uniform: the mean of R·Π(1 - R) over the choices is a
    ratio of elementary symmetric polynomials e_j of the values 1 - R.
    """
    groups = hits.groups
    total, left = np.zeros(hits.n_users), np.ones(hits.n_users)
    for index, user in enumerate(groups.user.tolist()):
        n, m, above = int(groups.size[index]), int(groups.hits[index]), int(groups.above[index])
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
        total[user] += left[user] * value
        left[user] *= symmetric[m]
    return total


@register("Normalised expected reciprocal rank")
def nerr(
    hits: Hits,
    k: int | None = None,
    *,
    max_gain: float,
    gain: Literal["linear", "binary"] = "linear",
) -> FloatArray:
    """ERR divided by the ERR of the ideal ranking, cut at the same k.

    Parameters
    ----------
    hits : Hits
        Hits of n_users users.
    k : int, optional
        Cutoff; without it the whole ranking counts.
    max_gain : float
        Largest grade of the judgements' scale.
    gain : {"linear", "binary"}
        The grades as they are, or 1 for each hit.

    Returns
    -------
    float64 array of shape (n_users,)
        In [0, 1].

    Raises
    ------
    UsageError
        If a gain exceeds `max_gain`.

    Notes
    -----
    A user with nothing relevant is undefined (NaN). Source: as `err`.

    Examples
    --------
    The only relevant item at rank 2 instead of 1.

    >>> import rankmeter as rm
    >>> rm.evaluate({"u": ["x", "a"]}, {"u": {"a"}}, "nerr(max_gain=1)")["nerr(max_gain=1)"].mean
    0.5
    """
    perfect = hits if hits.ideal is None else hits.ideal
    value = err(hits, k, max_gain=max_gain, gain=gain)
    best = err(perfect, k, max_gain=max_gain, gain=gain)
    return ratio(value, best, nothing=np.nan)
