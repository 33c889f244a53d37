"""Cumulative gain: gains added up and discounted by rank, as in DCG and NDCG."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np

from rankmeter._choices import SHARED_RANKS, Alignment
from rankmeter._evidence.hits import FloatArray, Hits, IntArray, count_hits_above, ratio
from rankmeter._evidence.steps import note_column, note_formula
from rankmeter.errors import UsageError
from rankmeter.metrics._formula import formula
from rankmeter.metrics._ranges import (
    ANY,
    COUNTS_REPEATS,
    SHARE,
    SIGNED,
    SIGNED_SHARE_OF_IDEAL,
    UP,
    vary,
)
from rankmeter.metrics._registry import ANY_SHARED, register
from rankmeter.metrics.weights import DISCOUNTS, Discount, cumulative_discount


@register("Cumulative gain", high=math.inf, bounds=SIGNED, shared=SHARED_RANKS)
def cg(hits: Hits, k: int | None = None) -> FloatArray:
    """Cumulative gain (CG): sum of the gains in the top k.

    Notes
    -----
    Order does not matter: see `dcg` for the sum that discounts by rank.

    Examples
    --------
    >>> import rankmeter as rm
    >>> truth = {"u": {"a": 2, "b": 3, "c": 3, "d": 1, "e": 2}}
    >>> rm.evaluate({"u": list("abcde")}, truth, "cg")["cg"].mean
    11.0
    """
    return hits.sum(hits.within(k) * hits.gain)


Gain = Literal["linear", "exp2", "binary"]


def _exponential_gain(gain: FloatArray) -> FloatArray:
    """Return 2^g - 1 for grades g; refuse gains that overflow, such as play counts."""
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
    "exp2": _exponential_gain,
    "binary": np.ones_like,
}


def _dcg_bounds(options: Mapping[str, Any], choices: Alignment) -> tuple[float, float]:
    return UP if options["gain"] == "binary" else SIGNED(options, choices)


@register("Discounted cumulative gain", high=math.inf, bounds=_dcg_bounds)
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

    def gain_terms(weights: FloatArray) -> FloatArray:
        gains = GAINS[gain](hits.gain)
        if gain != "linear":
            note_column(gains, f"gain ({gain})", hits)
        return note_column(weights, "discount", hits) * gains

    if hits.tied:
        return hits.sum(gain_terms(hits.settle(GAINS[gain](hits.gain)).weigh(weight, k)))
    return hits.sum_top(k, (dcg, gain, discount), lambda: gain_terms(weight(hits.rank)))


def _ndcg_bounds(options: Mapping[str, Any], choices: Alignment) -> tuple[float, float]:
    binary, ones = options["gain"] == "binary", options["ideal"] == "ones"
    if binary:
        return SHARE if ones else COUNTS_REPEATS(options, choices)
    if options["ideal"] == "complete":
        return vary(repeated=UP, negative=ANY)(options, choices)
    return (SIGNED if ones else SIGNED_SHARE_OF_IDEAL)(options, choices)


@register(
    "Normalized discounted cumulative gain",
    bounds=_ndcg_bounds,
    synonyms=("ndcg_cut", "normalized_dcg"),
)
def ndcg(
    hits: Hits,
    k: int | None = None,
    *,
    gain: Gain = "linear",
    discount: Discount = "log2",
    ideal: Literal["truth", "uncut", "ranked", "retrieved", "ones", "complete"] = "truth",
) -> FloatArray:
    """Normalized discounted cumulative gain (NDCG): DCG over that of the ideal ranking.

    Parameters
    ----------
    gain : {"linear", "exp2", "binary"}
        As in `dcg`.
    discount : {"log2", "ln", "log10", "jarvelin", "reciprocal"}
        As in `dcg`; the base of the logarithm cancels. With ``reciprocal`` it is the normalized
        cumulative reciprocal rank.
    ideal : {"truth", "uncut", "ranked", "retrieved", "ones", "complete"}
        The best ranking of the truth, cut at k; the same, not cut, or cut at min(k, n_ranked); the
        best order of the items that the ranking contains; or k items of gain 1, whether or not so
        many are relevant, which larger gains exceed: values have no limit then. Items of negative
        gain are left out of the best ranking, as they only lower its sum; but not of the
        ``complete`` one, as in LensKit, which is otherwise that of the truth, and which a ranking
        without them exceeds.

    Notes
    -----
    Edge cases: no hit is 0; an ideal without gain is 0 with ``ranked`` and ``retrieved``, and
    undefined otherwise. Without a cutoff ``ones`` has one item per ranked item. Sources: as `dcg`.

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
        best = cumulative_discount(discount, hits.length(k))
    elif ideal == "retrieved":
        retrieved = Hits.perfect(hits.offsets, hits.gain)
        best = dcg(_without_losses(retrieved, gain), k, gain=gain, discount=discount)
        best = np.where(np.isnan(best), 0.0, best)
    else:
        perfect, cutoff = hits.best, None if ideal == "uncut" else k
        if ideal == "ranked":
            perfect = perfect.where(perfect.rank <= hits.depth(k)[perfect.user])
        if ideal != "complete":
            perfect = _without_losses(perfect, gain)
        best = dcg(perfect, cutoff, gain=gain, discount=discount)
    fallback = 0.0 if ideal in ("ranked", "retrieved", "ones") else np.nan
    result: FloatArray = np.full(hits.n_users, fallback)
    np.divide(value, best, out=result, where=best != 0)  # negative only if complete
    return note_formula(result, "dcg / ideal", dcg=value, ideal=best)


# ---------------------------------------------------------------------------------------------
# Cumulated gain next to that of the ideal ranking


def _running_sums(values: FloatArray, offsets: IntArray) -> FloatArray:
    """Running sums of each user's values, each including the value itself.

    Segments of like length are the rows of one padded matrix, so that a sum never depends on the
    other users of the block.
    """
    length = np.diff(offsets)
    result = np.empty_like(values)
    width = np.zeros(length.size, dtype=np.int64)
    not_empty = length > 0
    width[not_empty] = 1 << np.ceil(np.log2(length[not_empty])).astype(np.int64)
    for size in np.unique(width[not_empty]).tolist():
        segments = np.flatnonzero(width == size)
        is_value = np.arange(size) < length[segments][:, None]
        positions = (offsets[segments][:, None] + np.arange(size))[is_value]
        padded = np.zeros(is_value.shape)
        padded[is_value] = values[positions]
        result[positions] = padded.cumsum(axis=1)[is_value]
    return result


def _running_sum_at(
    running: FloatArray, offsets: IntArray, user: IntArray, number: IntArray
) -> FloatArray:
    """Running sum of the first `number` values of a user."""
    table = np.concatenate(([0.0], running))
    sums: FloatArray = table[np.where(number > 0, offsets[user] + number, 0)]
    return sums


class _Ideal:
    """The ideal ranking up to its last positive gain, and sums along it."""

    def __init__(self, hits: Hits) -> None:
        self.ranking = hits.best
        self.positive = self.ranking.gain > 0
        self.n: IntArray = self.ranking.sum(self.positive.astype(np.float64)).astype(np.int64)

    def sum_to(self, values: FloatArray, user: IntArray, rank: FloatArray) -> FloatArray:
        """Σ of the values of the ideal ranking's items down to a rank."""
        running = _running_sums(values, self.ranking.offsets)
        number = np.minimum(np.floor(rank), self.n[user]).astype(np.int64)
        return _running_sum_at(running, self.ranking.offsets, user, number)

    def dcg_to(self, user: IntArray, rank: FloatArray) -> FloatArray:
        """DCG of the ideal ranking at a rank."""
        discount = DISCOUNTS["log2"](self.ranking.rank)
        gain = np.where(self.positive, self.ranking.gain, 0.0)
        return self.sum_to(gain * discount, user, rank)


@register("Ideal discounted cumulative gain", high=math.inf, shared=ANY_SHARED)
def ideal_dcg(
    hits: Hits, k: int | None = None, *, gain: Gain = "linear", discount: Discount = "log2"
) -> FloatArray:
    """Ideal discounted cumulative gain (IDCG): DCG of the perfect ranking, denominator of `ndcg`.

    Parameters
    ----------
    gain, discount : str
        As in `dcg`.

    Notes
    -----
    Shows how much can be gained, not how good the ranking is. Items of negative gain are left out.

    Examples
    --------
    Gains 3 and 1 are at best at ranks 1 and 2: 3 + 1/log2 3.

    >>> import rankmeter as rm
    >>> result = rm.evaluate({"u": ["b"]}, {"u": {"a": 1, "b": 3}}, "ideal_dcg")
    >>> round(result["ideal_dcg"].mean, 4)
    3.6309
    """
    return dcg(_without_losses(hits.best, gain), k, gain=gain, discount=discount)


def _without_losses(perfect: Hits, gain: Gain) -> Hits:
    """The perfect ranking without items of negative gain, unless all gains are 1."""
    return perfect if gain == "binary" else perfect.without_losses


@register("NDCG over hits", bounds=COUNTS_REPEATS, open_ties=False)
def ndcg_rel(hits: Hits) -> FloatArray:
    """NDCG over hits: NDCG at the rank of each relevant item, averaged.

    Notes
    -----
    It is to NDCG what average precision is to precision. At the rank of each hit the DCG so far is
    divided by the ideal DCG so far; for a relevant item that was not found, the DCG of the whole
    ranking is divided by that of the whole ideal one. Only positive gains count as relevant. A hit
    that moves up past one of larger gain can lower the value: there the ideal DCG is another.
    Source: ``ndcg_rel`` of trec_eval.

    Examples
    --------
    Both relevant items found, at ranks 1 and 3: NDCG@1 = 1 and NDCG@3 = 1.5 / 1.6309.

    >>> import rankmeter as rm
    >>> result = rm.evaluate({"u": ["a", "x", "b"]}, {"u": set("ab")}, "ndcg_rel")
    >>> round(result["ndcg_rel"].mean, 4)
    0.9599
    """
    ideal, everyone = _Ideal(hits), np.arange(hits.n_users)
    gained = hits.gain * DISCOUNTS["log2"](hits.rank)
    running, counts = _running_sums(gained, hits.offsets), hits.gain > 0
    reached = note_column(ideal.dcg_to(hits.user, hits.rank), "ideal dcg here", hits)
    ndcg_at_hits = ratio(note_column(running, "dcg here", hits), reached)
    at_hits = hits.sum(np.where(counts, ndcg_at_hits, 0.0))
    missed = ideal.n - np.bincount(hits.user, counts, hits.n_users)
    best = ideal.dcg_to(everyone, ideal.n.astype(np.float64))
    final_dcg = hits.sum(gained)
    text = "max(sum + missed * dcg / ideal, 0) / relevant"
    return formula(text, sum=at_hits, missed=missed, dcg=final_dcg, ideal=best, relevant=ideal.n)


@register("NDCG over gain levels", bounds=SIGNED_SHARE_OF_IDEAL, open_ties=False)
def rndcg(hits: Hits) -> FloatArray:
    """NDCG over gain levels: NDCG at the last rank of each level in the ideal ranking, averaged.

    Notes
    -----
    With 5 items of gain 3 and 8 of gain 1 these ranks are 5 and 13; the end of the ranking is one
    more if it lies at least two ranks below the last of them. Source: ``Rndcg`` of trec_eval.

    Examples
    --------
    One item of gain 2, one of gain 1, found the wrong way round: NDCG@1 = 1/2 and NDCG@2 = 0.8597.

    >>> import rankmeter as rm
    >>> result = rm.evaluate({"u": ["b", "a"]}, {"u": {"a": 2, "b": 1}}, "rndcg")
    >>> round(result["rndcg"].mean, 4)
    0.6799
    """
    ideal = _Ideal(hits)
    best, offsets = ideal.ranking, ideal.ranking.offsets
    last = np.ones(best.gain.size, dtype=bool)
    last[:-1] = best.gain[1:] != best.gain[:-1]
    last[offsets[1:][np.diff(offsets) > 0] - 1] = True
    turn = np.flatnonzero(last & ideal.positive)
    user, rank = best.user[turn], best.rank[turn]
    gained = hits.gain * DISCOUNTS["log2"](hits.rank)
    number = count_hits_above(hits, user, rank + 0.5)
    reached = _running_sum_at(_running_sums(gained, hits.offsets), hits.offsets, user, number)
    note_column(reached, "dcg", hits, rank)
    reached_ideal = note_column(ideal.dcg_to(user, rank), "ideal dcg", hits, rank)
    total = hits.sum(ratio(reached, reached_ideal), user, rank)
    points = np.bincount(user, minlength=hits.n_users)
    full_ideal = ideal.dcg_to(np.arange(hits.n_users), ideal.n.astype(np.float64))
    longer = (hits.n_ranked > ideal.n + 1) & (points > 0)
    gains: FloatArray = np.bincount(hits.user, gained, hits.n_users).astype(np.float64)
    end = ratio(gains, full_ideal)
    text = "(sum + longer * at_the_end) / (turns + longer)"
    return formula(text, sum=total, longer=longer, at_the_end=end, turns=points)


def _g_bounds(options: Mapping[str, Any], choices: Alignment) -> tuple[float, float]:
    binary = options["gain"] == "binary"
    return (COUNTS_REPEATS if binary else SIGNED_SHARE_OF_IDEAL)(options, choices)


@register("G", bounds=_g_bounds, open_ties=False)
def g(hits: Hits, *, gain: Literal["linear", "binary"] = "linear") -> FloatArray:
    """Gain discounted by what better rankings would have gained above, instead of by rank.

    Parameters
    ----------
    gain : {"linear", "binary"}
        The gains as they are, or 1 for each hit.

    Notes
    -----
    Each hit counts gain / log2(2 + C - S), where S is the gain down to it, and C what an ideal
    ranking has gained there, with at least 1 per item; the sum is divided by all that can be
    gained. With ``binary`` gains C - S is the number of items above that are not relevant. It
    combines qualities of `ap` and `ndcg`. With different gains the loss of a hit can raise the
    value, as it changes C - S of the others. Source: ``G`` and ``binG`` of trec_eval.

    Examples
    --------
    No item that is not relevant is above the first hit, one is above the second:
    (1/log2 2 + 1/log2 3) / 2.

    >>> import rankmeter as rm
    >>> round(rm.evaluate({"u": ["a", "x", "b"]}, {"u": set("ab")}, "g")["g"].mean, 4)
    0.8155
    """
    ideal = _Ideal(hits)
    gains, best = hits.gain, np.where(ideal.positive, ideal.ranking.gain, 0.0)
    if gain == "binary":
        gains, best = np.ones_like(gains), np.ones_like(best)
    above_one = np.maximum(best, 1.0) - 1.0
    cost = hits.rank + ideal.sum_to(above_one, hits.user, hits.rank)
    # Repeated items that count each time gain more than the ideal: nothing is lost then.
    lost = np.maximum(cost - _running_sums(gains, hits.offsets), 0.0)
    note_column(lost, "lost above", hits)
    total, ideal_gain = hits.sum(gains / np.log2(2.0 + lost)), ideal.ranking.sum(best)
    return formula("sum / all_gain", sum=total, all_gain=ideal_gain)
