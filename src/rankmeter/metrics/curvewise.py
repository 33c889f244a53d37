"""Metrics read off a curve along the ranking, at points that depend on each user's truth.

The curves are precision over recall, and the cumulated gain of the ranking next to that of the
ideal one. The points are levels of recall, multiples of the number of relevant items, the ranks
of the hits, or the ranks at which the gains of the ideal ranking change.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt

from rankmeter._checks import number
from rankmeter._hits import FloatArray, Hits, IntArray, ratio
from rankmeter._steps import column, worked
from rankmeter.metrics._registry import Example, register
from rankmeter.metrics.discounts import DISCOUNTS, Discount
from rankmeter.metrics.gainwise import Gain, dcg
from rankmeter.metrics.judgedwise import number_above
from rankmeter.metrics.rankwise import ap

Rounding = Literal["trec9", "up", "nearest"]


def _rounded(number: npt.NDArray[Any], rounding: Rounding = "trec9") -> FloatArray:
    """A number of items as an integer."""
    if rounding == "up":
        whole = np.ceil(number * (1.0 - 1e-12))  # 0.1 · 30 is a little more than 3
    else:
        whole = np.floor(number + (0.9 if rounding == "trec9" else 0.5))
    return whole.astype(np.float64)


@register(
    "Interpolated precision",
    synonyms=("interpolated_precision", "iprec_at_recall"),
    at="recall",
    open_ties=False,
)
def iprec(
    hits: Hits,
    *,
    recall: Annotated[float, Example(0.5, 0.0, 0.25, 0.3, 1.0)],
    rounding: Rounding = "trec9",
) -> FloatArray:
    """Highest precision at any rank at which the level of recall is reached.

    Parameters
    ----------
    recall : float
        Level of recall, from 0 to 1.
    rounding : {"trec9", "up", "nearest"}
        How many hits the level needs if ``recall * n_relevant`` is not an integer:
        ``⌊recall * n_relevant + 0.9⌋``, the next larger integer, or the nearest.

    Notes
    -----
    A point of the classical precision-recall graph; 0 where the recall is never reached. ``up`` is
    the definition. ``trec9`` is the rule of trec_eval up to version 9, pytrec_eval and ranx; it
    differs from ``up`` where the fraction is below 0.1. ``nearest`` is trec_eval 10.

    Examples
    --------
    Hits at ranks 1 and 3, and one not found: recall 0.5 needs two hits, after which precision is
    2/3.

    >>> import rankmeter as rm
    >>> result = rm.evaluate({"u": ["a", "x", "b"]}, {"u": set("abc")}, "iprec@0.5")
    >>> round(result["iprec@0.5"].mean, 4)
    0.6667
    """
    number("recall", recall, least=0, most=1)
    needed = _rounded(recall * hits.n_relevant, rounding)
    precision = np.where(hits.nth >= needed[hits.user], hits.nth / hits.rank, 0.0)
    column(hits.nth, "hits so far", hits)
    column(precision, f"precision at recall {recall:g}", hits)
    best = np.zeros(hits.n_users)
    np.maximum.at(best, hits.user, precision)
    return worked(best, "highest", highest=best, needed_hits=needed)


@register("Eleven-point average", open_ties=False, synonyms=("11pt", "11pt_avg", "11_point"))
def eleven_point(hits: Hits, *, rounding: Rounding = "trec9") -> FloatArray:
    """Interpolated precision averaged over the recall levels 0, 0.1, …, 1.

    Parameters
    ----------
    rounding : {"trec9", "up", "nearest"}
        As in `iprec`.

    Notes
    -----
    An estimate of the area under the precision-recall graph, superseded by `ap`. Source: Salton and
    McGill 1983; ``11pt_avg`` of trec_eval.

    Examples
    --------
    One relevant item at rank 2: its precision holds for every level.

    >>> import rankmeter as rm
    >>> rm.evaluate({"u": ["x", "a"]}, {"u": {"a"}}, "eleven_point")["eleven_point"].mean
    0.5
    """
    levels = [iprec(hits, recall=i / 10, rounding=rounding) for i in range(10, -1, -1)]
    total = sum(levels[1:], levels[0])
    return worked(total / 11, "sum / 11", sum=total)


@register("Precision at a multiple of R", synonyms=("r_precision_multiple",), at="multiple")
def rprec_mult(
    hits: Hits, *, multiple: Annotated[float, Example(0.5, 0.0, 0.2, 1.0, 2.5)]
) -> FloatArray:
    """Precision at a multiple of the user's number of relevant items.

    Parameters
    ----------
    multiple : float
        How many times n_relevant the cutoff is; 1 is `r_precision`.

    Notes
    -----
    The cutoff is ⌊multiple · n_relevant + 0.9⌋, which rounds up for the usual multiples; at cutoff
    0 it is 0. A shorter ranking is not excused. Source: ``Rprec_mult`` of trec_eval.

    Examples
    --------
    Two relevant items: one of them in the top 2, both in the top 4.

    >>> import rankmeter as rm
    >>> result = rm.evaluate({"u": list("axby")}, {"u": set("ab")}, "rprec_mult@1,2")
    >>> [estimate.mean for estimate in result.values()]
    [0.5, 0.5]
    """
    number("multiple", multiple, least=0)
    cutoff = _rounded(multiple * hits.n_relevant).astype(np.int64)
    found = hits.sum(hits.within(cutoff))
    return worked(ratio(found, cutoff), "hits / cutoff", hits=found, cutoff=cutoff)


@register(
    "Smoothed average precision",
    low=-math.inf,
    high=math.inf,
    needs_relevant=False,
    open_ties=False,
)
def yaap(hits: Hits) -> FloatArray:
    """Average precision on a scale that treats bad and good rankings alike: smoothed log odds.

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
    with np.errstate(invalid="ignore"):  # repeated items that all count may exceed the relevant
        value = np.log((1.0 + total) / (1.0 + relevant - total))
    return worked(value, "log((1 + sum) / (1 + relevant - sum))", sum=total, relevant=relevant)


# ---------------------------------------------------------------------------------------------
# Cumulated gain next to that of the ideal ranking


def _running(values: FloatArray, offsets: IntArray) -> FloatArray:
    """Σ of each user's values up to and including each of them.

    Segments of like length are the rows of one padded matrix, so that a sum never depends on the
    other users of the block.
    """
    length = np.diff(offsets)
    result = np.empty_like(values)
    width = np.zeros(length.size, dtype=np.int64)
    some = length > 0
    width[some] = 1 << np.ceil(np.log2(length[some])).astype(np.int64)
    for size in np.unique(width[some]).tolist():
        segments = np.flatnonzero(width == size)
        inside = np.arange(size) < length[segments][:, None]
        place = (offsets[segments][:, None] + np.arange(size))[inside]
        padded = np.zeros(inside.shape)
        padded[inside] = values[place]
        result[place] = padded.cumsum(axis=1)[inside]
    return result


def _up_to(running: FloatArray, offsets: IntArray, user: IntArray, number: IntArray) -> FloatArray:
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
        running = _running(values, self.ranking.offsets)
        number = np.minimum(np.floor(rank), self.n[user]).astype(np.int64)
        return _up_to(running, self.ranking.offsets, user, number)

    def dcg_to(self, user: IntArray, rank: FloatArray) -> FloatArray:
        """DCG of the ideal ranking at a rank."""
        discount = DISCOUNTS["log2"](self.ranking.rank)
        gain = np.where(self.positive, self.ranking.gain, 0.0)
        return self.sum_to(gain * discount, user, rank)


@register("Ideal discounted cumulative gain", high=math.inf)
def ideal_dcg(
    hits: Hits, k: int | None = None, *, gain: Gain = "linear", discount: Discount = "log2"
) -> FloatArray:
    """DCG of the perfect ranking of the user's truth: the denominator of `ndcg`.

    Parameters
    ----------
    gain, discount : str
        As in `dcg`.

    Notes
    -----
    Shows how much can be gained, not how good the ranking is.

    Examples
    --------
    Gains 3 and 1 are at best at ranks 1 and 2: 3 + 1/log2 3.

    >>> import rankmeter as rm
    >>> result = rm.evaluate({"u": ["b"]}, {"u": {"a": 1, "b": 3}}, "ideal_dcg")
    >>> round(result["ideal_dcg"].mean, 4)
    3.6309
    """
    return dcg(hits.best, k, gain=gain, discount=discount)


@register("NDCG over hits", open_ties=False)
def ndcg_rel(hits: Hits) -> FloatArray:
    """NDCG at the rank of each relevant item, averaged over these.

    Notes
    -----
    It is to NDCG what average precision is to precision. At the rank of each hit the DCG so far is
    divided by the ideal DCG so far; for a relevant item that was not found, the DCG of the whole
    ranking is divided by that of the whole ideal one. Only positive gains count as relevant.
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
    running, counts = _running(gained, hits.offsets), hits.gain > 0
    reached = column(ideal.dcg_to(hits.user, hits.rank), "ideal dcg here", hits)
    here = ratio(column(running, "dcg here", hits), reached)
    found = hits.sum(np.where(counts, here, 0.0))
    missed = ideal.n - np.bincount(hits.user, counts, hits.n_users)
    best = ideal.dcg_to(everyone, ideal.n.astype(np.float64))
    whole = hits.sum(gained)
    total = np.maximum(found + ratio(missed * whole, best), 0.0)
    known = {"sum": found, "missed": missed, "dcg": whole, "ideal": best, "relevant": ideal.n}
    return worked(ratio(total, ideal.n), "(sum + missed * dcg / ideal) / relevant", **known)


@register("NDCG over gain levels", open_ties=False)
def rndcg(hits: Hits) -> FloatArray:
    """NDCG at the ranks at which the ideal ranking goes from one gain to the next, averaged.

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
    number = number_above(hits, user, rank + 0.5)
    reached = _up_to(_running(gained, hits.offsets), hits.offsets, user, number)
    column(reached, "dcg", hits, rank)
    at = column(ideal.dcg_to(user, rank), "ideal dcg", hits, rank)
    total = hits.sum(ratio(reached, at), user, rank)
    points = np.bincount(user, minlength=hits.n_users)
    whole = ideal.dcg_to(np.arange(hits.n_users), ideal.n.astype(np.float64))
    longer = (hits.n_ranked > ideal.n + 1) & (points > 0)
    gains: FloatArray = np.bincount(hits.user, gained, hits.n_users).astype(np.float64)
    end = ratio(gains, whole)
    value = ratio(total + np.where(longer, end, 0.0), points + longer)
    text = "(sum + longer * at_the_end) / (turns + longer)"
    return worked(value, text, sum=total, longer=longer, at_the_end=end, turns=points)


@register("G", open_ties=False)
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
    combines qualities of `ap` and `ndcg`. Source: ``G`` and ``binG`` of trec_eval.

    Examples
    --------
    No item that is not relevant is above the first hit, one is above the second:
    (1/log2 2 + 1/log2 3) / 2.

    >>> import rankmeter as rm
    >>> round(rm.evaluate({"u": ["a", "x", "b"]}, {"u": set("ab")}, "g")["g"].mean, 4)
    0.8155
    """
    ideal = _Ideal(hits)
    worth, best = hits.gain, np.where(ideal.positive, ideal.ranking.gain, 0.0)
    if gain == "binary":
        worth, best = np.ones_like(worth), np.ones_like(best)
    above_one = np.maximum(best, 1.0) - 1.0
    cost = hits.rank + ideal.sum_to(above_one, hits.user, hits.rank)
    lost = column(cost - _running(worth, hits.offsets), "lost above", hits)
    total, whole = hits.sum(worth / np.log2(2.0 + lost)), ideal.ranking.sum(best)
    return worked(ratio(total, whole), "sum / all_gain", sum=total, all_gain=whole)
