"""Metrics of three counts: how many items were ranked, how many are relevant, how many are both."""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np

from rankmeter._hits import FloatArray, Hits, ratio
from rankmeter._steps import worked
from rankmeter.errors import UsageError
from rankmeter.metrics._registry import Example, register


@register("Items ranked", high=math.inf, synonyms=("num_ret", "num_ranked"), needs_relevant=False)
def n_ranked(hits: Hits, k: int | None = None) -> FloatArray:
    """Number of items in the ranking, or in its top k.

    Notes
    -----
    Not a measure of quality, but a denominator of others; averaged, the mean length. An empty
    ranking has 0.

    Examples
    --------
    >>> import rankmeter as rm
    >>> result = rm.evaluate({"u": ["a", "b", "c"]}, {"u": {"b"}}, "n_ranked@1,2,5")
    >>> [estimate.mean for estimate in result.values()]
    [1.0, 2.0, 3.0]
    """
    depth = hits.depth(k).astype(np.float64)
    text = "ranked" if k is None else "min(ranked, k)"
    return worked(depth, text, ranked=hits.n_ranked, k=k)


@register(
    "Items relevant",
    high=math.inf,
    synonyms=("num_rel", "num_relevant"),
    needs_relevant=False,
)
def n_relevant(hits: Hits) -> FloatArray:
    """Number of relevant items in the truth, found or not.

    Notes
    -----
    Shows how hard a user's task is, not how good the ranking is; 0 where nothing is relevant.

    Examples
    --------
    >>> import rankmeter as rm
    >>> rm.evaluate({"u": ["a"]}, {"u": {"b": 2, "c": 1, "d": 0}}, "n_relevant",
    ...             no_overlap="allow")["n_relevant"].mean
    2.0
    """
    n = hits.n_relevant.astype(np.float64)
    return worked(n, "relevant", relevant=n)


@register("Hits", high=math.inf, synonyms=("num_rel_ret", "num_hits"), needs_relevant=False)
def n_hits(hits: Hits, k: int | None = None) -> FloatArray:
    """Number of relevant items in the top k.

    Notes
    -----
    A count, 0 where nothing is relevant. Some tools call it hits@k, which elsewhere is `hit_rate`.

    Examples
    --------
    >>> import rankmeter as rm
    >>> result = rm.evaluate({"u": ["a", "b", "c"]}, {"u": {"b", "c", "d"}}, "n_hits@2,3")
    >>> [estimate.mean for estimate in result.values()]
    [1.0, 2.0]
    """
    return hits.count(k)


@register("Set average precision", synonyms=("set_map",))
def set_ap(hits: Hits) -> FloatArray:
    """Precision times recall of the ranking as a set: every hit has the precision of the whole.

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
    found = n_hits(hits)
    value = ratio(found * found, n_ranked(hits) * n_relevant(hits))
    known = {"hits": found, "ranked": hits.n_ranked, "relevant": hits.n_relevant}
    return worked(value, "hits**2 / (ranked * relevant)", **known)


@register("Utility", low=-math.inf, high=math.inf, needs_relevant=False)
def utility(
    hits: Hits,
    k: int | None = None,
    *,
    found: Annotated[float, Example(2.0)] = 1.0,
    wrong: Annotated[float, Example(-0.5)] = -1.0,
    missed: Annotated[float, Example(-1.0)] = 0.0,
    spared: Annotated[float, Example(0.1)] = 0.0,
    n_items: Annotated[int | None, Example(30)] = None,
) -> FloatArray:
    """Utility of the contingency table: a price for each item in its four cells.

    Parameters
    ----------
    k : int, optional
        Cutoff: the top k are "ranked"; without it the whole ranking is.
    found : float
        Worth of a relevant item that is ranked.
    wrong : float
        Worth of an item that is ranked and not relevant.
    missed : float
        Worth of a relevant item that is not ranked.
    spared : float
        Worth of an item that is neither.
    n_items : int, optional
        Size of the catalogue; needed if `spared` is not 0.

    Notes
    -----
    Defined for every user, also where nothing is relevant. Source: ``utility`` of trec_eval; Lewis,
    TREC 1995.

    Examples
    --------
    Two hits and one miss: 2 · 1 - 1.

    >>> import rankmeter as rm
    >>> rm.evaluate({"u": list("abc")}, {"u": set("acz")}, "utility")["utility"].mean
    1.0
    """
    if spared and n_items is None:
        raise UsageError("utility(spared=…) needs the size of the catalogue: pass n_items=")
    right, ranked, relevant = n_hits(hits, k), n_ranked(hits, k), n_relevant(hits)
    rest = (n_items or 0) + right - ranked - relevant
    value = found * right + wrong * (ranked - right) + missed * (relevant - right) + spared * rest
    text = "found * hits + wrong * others + missed * not_ranked + spared * rest"
    cells = {"hits": right, "others": ranked - right, "not_ranked": relevant - right, "rest": rest}
    prices = {"found": found, "wrong": wrong, "missed": missed, "spared": spared}
    return worked(value, text, **cells, **prices)
