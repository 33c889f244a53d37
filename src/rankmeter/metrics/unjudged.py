"""Unjudged items: metrics for incomplete relevance judgments, and how incomplete they are."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Annotated, Literal

import numpy as np

from rankmeter._choices import SHARED_RANKS
from rankmeter._evidence.hits import FloatArray, Hits, count_hits_above, ratio
from rankmeter._evidence.steps import note_column
from rankmeter.errors._checks import check_number
from rankmeter.metrics._formula import formula
from rankmeter.metrics._ranges import ANY, COUNTS_REPEATS, vary
from rankmeter.metrics._registry import Example, register

Negative = Literal["unjudged", "nonrelevant"]


def _select_judged(nonrelevant: Hits, negative: Negative) -> Hits:
    """Select the items judged not relevant; `negative` says what a negative gain means."""
    if negative == "nonrelevant":
        return nonrelevant
    judged = nonrelevant.best
    ranked = nonrelevant.where(nonrelevant.gain >= 0)
    return replace(ranked, ideal=judged.where(judged.gain >= 0))


@register(
    "Nonrelevant items",
    high=math.inf,
    increasing=False,
    synonyms=("num_nonrel_judged_ret",),
    needs_relevant=False,
    shared=SHARED_RANKS,
)
def n_nonrelevant(
    nonrelevant: Hits, k: int | None = None, *, negative: Negative = "unjudged"
) -> FloatArray:
    """Nonrelevant items: number of items in the top k that are judged as not relevant.

    Parameters
    ----------
    negative : {"unjudged", "nonrelevant"}
        What a negative gain means for an item that is not relevant.

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
    return _select_judged(nonrelevant, negative).count(k)


@register("Judged", needs_relevant=False, shared=SHARED_RANKS)
def judged(
    hits: Hits,
    nonrelevant: Hits,
    k: int | None = None,
    *,
    denominator: Literal["ranked", "k"] = "ranked",
    negative: Negative = "unjudged",
) -> FloatArray:
    """Judged: share of the top k that has a judgment, good or bad.

    Parameters
    ----------
    denominator : {"ranked", "k"}
        The items of the list, ``min(k, n_ranked)``, or k.
    negative : {"unjudged", "nonrelevant"}
        What a negative gain means for an item that is not relevant.

    Notes
    -----
    Shows how far the other metrics can be trusted, not how good the ranking is; 0 for an empty
    ranking. Source: ``Judged``
    of ir_measures.

    Examples
    --------
    >>> import rankmeter as rm
    >>> result = rm.evaluate({"u": list("abcd")}, {"u": {"a": 1, "b": 0}}, "judged@2,4,8")
    >>> [estimate.mean for estimate in result.values()]
    [1.0, 0.5, 0.5]
    """
    n_judged = hits.count(k) + n_nonrelevant(nonrelevant, k, negative=negative)
    length = hits.depth(k) if denominator == "ranked" or k is None else float(k)
    return formula("judged / length", judged=n_judged, length=length)


@register(
    "Unjudged",
    increasing=False,
    synonyms=("unj", "hole"),
    needs_relevant=False,
    shared=SHARED_RANKS,
)
def unjudged(
    hits: Hits,
    nonrelevant: Hits,
    k: int | None = None,
    *,
    denominator: Literal["ranked", "k"] = "k",
    negative: Negative = "unjudged",
) -> FloatArray:
    """Unjudged: share of the top k that is unjudged.

    Parameters
    ----------
    denominator, negative
        As in `judged`.

    Notes
    -----
    A warning sign: where it is high at a low cutoff, the judgments do not cover the ranking.
    Source: ``unj`` of trec_eval 10.

    Examples
    --------
    >>> import rankmeter as rm
    >>> result = rm.evaluate({"u": list("abcd")}, {"u": {"a": 1, "b": 0}}, "unjudged@2,4,8")
    >>> [estimate.mean for estimate in result.values()]
    [0.0, 0.5, 0.25]
    """
    n_judged = hits.count(k) + n_nonrelevant(nonrelevant, k, negative=negative)
    depth = hits.depth(k)
    length = depth if denominator == "ranked" or k is None else float(k)
    return formula("(shown - judged) / length", shown=depth, judged=n_judged, length=length)


@register(
    "Binary preference", bounds=vary(repeated=ANY), open_ties=False, synonyms=("binary_preference",)
)
def bpref(hits: Hits, nonrelevant: Hits, *, negative: Negative = "unjudged") -> FloatArray:
    """Binary preference (bpref): how often relevant items rank above judged nonrelevant ones.

    Parameters
    ----------
    negative : {"unjudged", "nonrelevant"}
        What a negative gain means for an item that is not relevant.

    Notes
    -----
    With R relevant and N nonrelevant judged items, each hit has the value
    1 - min(n, R) / min(N, R), where n of the N are above it; the sum is divided by R. Items without
    a judgment are ignored. Edge cases: a hit below no nonrelevant item has the value 1, also if
    N = 0. Source:
    Buckley and Voorhees, SIGIR 2004, as corrected in trec_eval 8.

    Examples
    --------
    Of two relevant items the second is below one of the two that are not: (1 + 1/2) / 2. The
    item that has not been judged does not matter.

    >>> import rankmeter as rm
    >>> truth = {"u": {"a": 1, "b": 1, "x": 0, "y": 0}}
    >>> rm.evaluate({"u": ["a", "new", "x", "b"]}, truth, "bpref")["bpref"].mean
    0.75
    """
    judged = _select_judged(nonrelevant, negative)
    above = count_hits_above(judged, hits.user, hits.rank)
    relevant = hits.n_relevant[hits.user]
    max_above = np.minimum(np.diff(judged.best.offsets)[hits.user], relevant)
    note_column(above, "nonrelevant above", hits)
    total = hits.sum(1.0 - ratio(np.minimum(above, relevant).astype(np.float64), max_above))
    return formula("sum / relevant", sum=total, relevant=hits.n_relevant)


@register(
    "Inferred average precision",
    bounds=COUNTS_REPEATS,
    reached=False,
    open_ties=False,
    synonyms=("inferred_ap",),
)
def infap(
    hits: Hits, nonrelevant: Hits, *, epsilon: Annotated[float, Example(0.1)] = 1e-5
) -> FloatArray:
    """Inferred average precision (infAP): AP estimated from a pool that was judged only in part.

    Parameters
    ----------
    epsilon : float
        Smooths the share of relevant items among few judged ones.

    Notes
    -----
    The precision expected at a hit of rank r is (1 + p · (relevant + ε) / (relevant + nonrelevant +
    2ε)) / r, where p counts the items above it that are in the pool, and the ratio is over those of
    them that are judged. If the whole pool was judged it is `ap` but for ε. Otherwise a hit that
    moves up can lower the value, as the unjudged items below it then lose by the new ratio. Source:
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
    check_number("epsilon", epsilon, above=0)
    relevant = hits.nth - 1.0
    judged_nonrelevant = _select_judged(nonrelevant, "unjudged")
    judged_above = relevant + count_hits_above(judged_nonrelevant, hits.user, hits.rank)
    pooled = relevant + count_hits_above(nonrelevant, hits.user, hits.rank)
    share = (relevant + epsilon) / (judged_above + 2.0 * epsilon)
    above = hits.rank - 1.0
    note_column(pooled, "in the pool above", hits)
    note_column(share, "relevant share", hits)
    total = hits.sum(1.0 / hits.rank + above / hits.rank * ratio(pooled, above) * share)
    return formula("sum / relevant", sum=total, relevant=hits.n_relevant)
