"""Metrics that tell items judged as not relevant from items that nobody has judged.

Elsewhere an item without a judgement is as good as not relevant, which is unfair to a ranking that
finds what nobody has looked at. A negative gain says, as in TREC, that the item was in the pool to
be judged but was not; where it means dislike, ``negative="nonrelevant"`` says so.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Literal

import numpy as np

from rankmeter._hits import FloatArray, Hits, IntArray, ratio
from rankmeter.errors import UsageError
from rankmeter.metrics._registry import register

__all__ = ["bpref", "infap", "judged", "n_nonrelevant", "unjudged"]

Negative = Literal["unjudged", "nonrelevant"]


def check_certain(hits: Hits, name: str) -> None:
    """Refuse open ties, for a metric whose expectation over them has no closed form.

    Raises
    ------
    UsageError
    """
    if hits.tied or (hits.judged is not None and hits.judged.tied):
        raise UsageError(
            f"{name} has no closed form under open ties (ties='expected'): choose a rule that "
            "orders tied items, such as ties='item'"
        )


def number_above(hits: Hits, user: IntArray, rank: FloatArray) -> IntArray:
    """How many of each user's hits stand above a rank.

    Parameters
    ----------
    hits : Hits
    user : int64 array of shape (n,)
        Index of the user.
    rank : float64 array of shape (n,)

    Returns
    -------
    int64 array of shape (n,)
    """
    # Hits are in order of user and rank, which one number can say: a whole part for the user.
    width = max(hits.rank.max(initial=0.0), rank.max(initial=0.0)) + 1.0
    place = np.searchsorted(hits.user * width + hits.rank, user * width + rank)
    number: IntArray = place - hits.offsets[user]
    return number


def _nonrelevant(hits: Hits, negative: Negative) -> Hits:
    """Ranked items judged as not relevant; `ideal` holds all that there are."""
    found = hits.judged
    if found is None:
        found = Hits.perfect(np.zeros(hits.n_users + 1, dtype=np.int64), np.zeros(0))
    every = found if found.ideal is None else found.ideal
    if negative == "unjudged":
        found, every = _unnegative(found), _unnegative(every)
    return replace(found, ideal=every)


def _unnegative(hits: Hits) -> Hits:
    """The hits whose gain is not negative."""
    keep = hits.gain >= 0
    if keep.all():
        return hits
    offsets = np.concatenate(([0], np.cumsum(keep)))[hits.offsets]
    low, high = hits.rank_low, hits.rank_high
    return replace(
        hits,
        offsets=offsets,
        rank=hits.rank[keep],
        gain=hits.gain[keep],
        rank_low=None if low is None else low[keep],
        rank_high=None if high is None else high[keep],
    )


@register(
    "Nonrelevant items",
    high=math.inf,
    increasing=False,
    synonyms=("num_nonrel_judged_ret",),
    needs_relevant=False,
    needs_judged=True,
)
def n_nonrelevant(
    hits: Hits, k: int | None = None, *, negative: Negative = "unjudged"
) -> FloatArray:
    """Number of items in the top k that are judged as not relevant.

    Parameters
    ----------
    hits : Hits
        Hits of n_users users, with ``hits.judged``.
    k : int, optional
        Cutoff; without it the whole ranking counts.
    negative : {"unjudged", "nonrelevant"}
        What a negative gain says about an item that is not relevant.

    Returns
    -------
    float64 array of shape (n_users,)
        Whole numbers; in an open tie the expected number.

    Notes
    -----
    The other items of the top k are relevant (`n_hits`) or have not been judged (`unjudged`).

    Examples
    --------
    Of three ranked items one is relevant, one is not, and one has not been judged.

    >>> import rankmeter as rm
    >>> result = rm.evaluate({"u": list("abc")}, {"u": {"a": 1, "b": 0}}, "n_nonrelevant")
    >>> result["n_nonrelevant"].mean
    1.0
    """
    found = _nonrelevant(hits, negative)
    return found.sum(found.within(k))


@register("Judged", needs_relevant=False, needs_judged=True)
def judged(
    hits: Hits,
    k: int | None = None,
    *,
    denominator: Literal["ranked", "k"] = "ranked",
    negative: Negative = "unjudged",
) -> FloatArray:
    """Share of the top k that has a judgement, good or bad.

    Parameters
    ----------
    hits : Hits
        Hits of n_users users, with ``hits.judged``.
    k : int, optional
        Cutoff; without it the whole ranking counts.
    denominator : {"ranked", "k"}
        The items that there are, ``min(k, n_ranked)``, or k.
    negative : {"unjudged", "nonrelevant"}
        What a negative gain says about an item that is not relevant.

    Returns
    -------
    float64 array of shape (n_users,)
        In [0, 1]; 0 for an empty ranking.

    Notes
    -----
    Says how far the other metrics can be trusted, not how good the ranking is. In open ties the
    expectation is exact. Source: ``Judged`` of ir_measures.

    Examples
    --------
    >>> import rankmeter as rm
    >>> result = rm.evaluate({"u": list("abcd")}, {"u": {"a": 1, "b": 0}}, "judged@2,4,8")
    >>> [estimate.mean for estimate in result.values()]
    [1.0, 0.5, 0.5]
    """
    known = hits.sum(hits.within(k)) + n_nonrelevant(hits, k, negative=negative)
    return ratio(known, _length(hits, k) if denominator == "ranked" or k is None else float(k))


@register(
    "Unjudged",
    increasing=False,
    synonyms=("unj",),
    needs_relevant=False,
    needs_judged=True,
)
def unjudged(
    hits: Hits,
    k: int | None = None,
    *,
    denominator: Literal["ranked", "k"] = "k",
    negative: Negative = "unjudged",
) -> FloatArray:
    """Share of the top k that nobody has judged.

    Parameters
    ----------
    hits : Hits
        Hits of n_users users, with ``hits.judged``.
    k : int, optional
        Cutoff; without it the whole ranking counts.
    denominator : {"ranked", "k"}
        The items that there are, ``min(k, n_ranked)``, or k.
    negative : {"unjudged", "nonrelevant"}
        What a negative gain says about an item that is not relevant.

    Returns
    -------
    float64 array of shape (n_users,)
        In [0, 1]; 0 for an empty ranking.

    Notes
    -----
    A warning sign: where it is high at a low cutoff, the judgements do not cover the ranking. In
    open ties the expectation is exact. Source: ``unj`` of trec_eval 10.

    Examples
    --------
    >>> import rankmeter as rm
    >>> result = rm.evaluate({"u": list("abcd")}, {"u": {"a": 1, "b": 0}}, "unjudged@2,4,8")
    >>> [estimate.mean for estimate in result.values()]
    [0.0, 0.5, 0.25]
    """
    known = hits.sum(hits.within(k)) + n_nonrelevant(hits, k, negative=negative)
    length = _length(hits, k)
    return ratio(length - known, length if denominator == "ranked" or k is None else float(k))


def _length(hits: Hits, k: int | None) -> FloatArray:
    """Items in each user's top k."""
    length = hits.n_ranked if k is None else np.minimum(hits.n_ranked, k)
    return length.astype(np.float64)


@register("Binary preference", synonyms=("binary_preference",), needs_judged=True)
def bpref(hits: Hits, *, negative: Negative = "unjudged") -> FloatArray:
    """How often a relevant item stands above the items judged as not relevant.

    Parameters
    ----------
    hits : Hits
        Hits of n_users users, with ``hits.judged``.
    negative : {"unjudged", "nonrelevant"}
        What a negative gain says about an item that is not relevant.

    Returns
    -------
    float64 array of shape (n_users,)
        In [0, 1].

    Raises
    ------
    UsageError
        If ties are open.

    Notes
    -----
    With R relevant and N nonrelevant judged items, each hit counts 1 - min(n, R) / min(N, R),
    where n of the N stand above it; their sum is divided by R. Items without judgement are as if
    they were not there. Edge cases: a hit below no nonrelevant item counts 1, also if N = 0; a
    user with nothing relevant is undefined (NaN). Source: Buckley and Voorhees, SIGIR 2004, as
    corrected in trec_eval 8.

    Examples
    --------
    Of two relevant items the second stands below one of the two that are not: (1 + 1/2) / 2. The
    item that has not been judged does not matter.

    >>> import rankmeter as rm
    >>> truth = {"u": {"a": 1, "b": 1, "x": 0, "y": 0}}
    >>> rm.evaluate({"u": ["a", "new", "x", "b"]}, truth, "bpref")["bpref"].mean
    0.75
    """
    check_certain(hits, "bpref")
    others = _nonrelevant(hits, negative)
    above = number_above(others, hits.user, hits.rank)
    relevant = hits.n_relevant[hits.user]
    assert others.ideal is not None
    most = np.minimum(np.diff(others.ideal.offsets)[hits.user], relevant)
    kept = 1.0 - ratio(np.minimum(above, relevant).astype(np.float64), most)
    return ratio(hits.sum(kept), hits.n_relevant)


@register("Inferred average precision", synonyms=("inferred_ap",), needs_judged=True)
def infap(hits: Hits, *, epsilon: float = 1e-5) -> FloatArray:
    """Average precision inferred from a pool of which only a random part was judged.

    Parameters
    ----------
    hits : Hits
        Hits of n_users users, with ``hits.judged``; among these, a negative gain says that an item
        is in the pool but was not judged.
    epsilon : float
        Smooths the share of relevant items among few judged ones.

    Returns
    -------
    float64 array of shape (n_users,)
        In [0, 1].

    Raises
    ------
    UsageError
        If ties are open, or `epsilon` is not positive.

    Notes
    -----
    The precision expected at a hit of rank r is
    (1 + p · (relevant + ε) / (relevant + nonrelevant + 2ε)) / r, where p counts the items above it
    that are in the pool, and the ratio is over those of them that are judged. If the whole pool
    was judged it is `ap` but for ε. A user with nothing relevant is undefined (NaN). Source:
    Yilmaz and Aslam, CIKM 2006, as in trec_eval.

    Examples
    --------
    The second hit has three items above it: a hit, one that is not relevant, and one that is in the
    pool, but not judged. Of the three in the pool half are expected to be relevant:
    (1 + (1 + 3/2) / 4) / 2.

    >>> import rankmeter as rm
    >>> truth = {"u": {"a": 1, "b": 1, "x": 0, "y": -1}}
    >>> round(rm.evaluate({"u": ["a", "x", "y", "b"]}, truth, "infap")["infap"].mean, 4)
    0.8125
    """
    check_certain(hits, "infap")
    if epsilon <= 0:
        raise UsageError(f"epsilon of infap must be positive, for example 0.00001, got {epsilon}")
    relevant = hits.nth - 1.0
    judged_above = relevant + number_above(_nonrelevant(hits, "unjudged"), hits.user, hits.rank)
    pooled = relevant + number_above(_nonrelevant(hits, "nonrelevant"), hits.user, hits.rank)
    share = (relevant + epsilon) / (judged_above + 2.0 * epsilon)
    above = hits.rank - 1.0
    expected = 1.0 / hits.rank + above / hits.rank * ratio(pooled, above) * share
    return ratio(hits.sum(expected), hits.n_relevant)
