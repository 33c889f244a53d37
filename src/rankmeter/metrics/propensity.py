"""Debiased accuracy: relevant items that are rarely seen count more."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import numpy as np

from rankmeter._evidence.hits import FloatArray, Hits, IntArray
from rankmeter._evidence.lists import Popularity, Propensity
from rankmeter.errors import UsageError
from rankmeter.errors._checks import check_fraction, check_number, option_error
from rankmeter.metrics._ranges import COUNTS_REPEATS
from rankmeter.metrics._registry import Example, register, require
from rankmeter.metrics.long_tail import Border, mask_long_tail
from rankmeter.metrics.states import Defined, Weighted
from rankmeter.metrics.weights import RankDiscount, discount_function

Cold = Literal["skip", "rarest"]


@register("Self-normalized inverse propensity score", bounds=COUNTS_REPEATS, reached=False)
def snips(
    hits: Hits,
    propensity: Propensity | None,
    popularity: Popularity | None,
    k: int | None = None,
    *,
    gamma: Annotated[float | None, Example(1.5)] = None,
    clip: Annotated[float | None, Example(3.0)] = None,
    cold: Cold = "skip",
    discount: RankDiscount = "none",
    p: Annotated[float, Example(0.5)] = 0.85,
) -> Weighted:
    """Self-normalized inverse propensity score (SNIPS): recall weighted by 1 / propensity.

    Parameters
    ----------
    gamma : float, optional
        Estimates the propensities from the training data: ``(n / most) ** ((gamma + 1) / 2)``,
        where the item occurs n times, and the most popular one `most` times. With -1 all are
        alike. Without it they are those of ``propensity=``.
    clip : float, optional
        The largest weight of an item, 1 or more.
    cold : {"skip", "rarest"}
        A relevant item without propensity, or without training data: it is left out, found or not,
        or is as rare as the ``rarest`` one that has it.
    discount : {"none", "log2", "reciprocal", "geometric"}
        What an item counts at rank r: 1, so that it is recall; 1 / log2(r + 1); 1 / r; or
        p^(r - 1).
    p : float
        Of the geometric discount, between 0 and 1.

    Notes
    -----
    A user whose relevant items are all left out is undefined (NaN). With ``clip`` it is also called
    NCIS. ``snips(gamma=2β-1, aggregate=micro)`` is Steck's popularity-stratified recall with the
    exponent β. Source: Yang et al., Unbiased offline recommender evaluation for
    missing-not-at-random implicit feedback, RecSys 2018; Swaminathan and Joachims, The
    self-normalized estimator for counterfactual learning, NIPS 2015; Steck, Item popularity and
    recommendation accuracy, RecSys 2011.

    Examples
    --------
    Ann's list has a, which everybody sees, and not b, which one of four sees: 1 / (1 + 4).

    >>> import rankmeter as rm
    >>> lists, truth = {"ann": ["a", "x"]}, {"ann": {"a", "b"}}
    >>> rm.evaluate(lists, truth, "snips@2", propensity={"a": 1, "b": 0.25})["snips@2"].mean
    0.2
    """
    hit_weights, all_weights = _inverse_propensities(
        hits, propensity, popularity, gamma, clip, cold
    )
    total_weight = hits.best.sum(all_weights, name="weight")
    part = hits.sum(_discounts_in_top(hits, k, discount, p) * hit_weights)
    squares = hits.best.sum(all_weights**2, name="squared weight")
    return Weighted(part, total_weight, ("found", "all"), total=total_weight, squares=squares)


@register("Inverse propensity score", high=math.inf)
def ips(
    hits: Hits,
    propensity: Propensity | None,
    popularity: Popularity | None,
    k: int | None = None,
    *,
    gamma: Annotated[float | None, Example(1.5)] = None,
    clip: Annotated[float | None, Example(3.0)] = None,
    cold: Cold = "skip",
    discount: RankDiscount = "none",
    p: Annotated[float, Example(0.5)] = 0.85,
    denominator: Literal["one", "k", "relevant"] = "one",
) -> Weighted:
    """Inverse propensity score (IPS): unbiased estimate of the hits if all items had been seen.

    Parameters
    ----------
    gamma, clip, cold, discount, p
        As in `snips`.
    denominator : {"one", "k", "relevant"}
        What the sum of the weights of the hits is divided by: 1; k, or the length of the list
        without a cutoff, for a precision; or the number of relevant items with a propensity.

    Notes
    -----
    It is unbiased if the propensities are right, and varies more than `snips`. Clipped weights vary
    less, and make it too small. With ``discount=log2`` it estimates the DCG of binary gains. A user
    whose relevant items are all left out is undefined (NaN). Source: Schnabel et al.,
    Recommendations as treatments, ICML 2016; Yang et al., RecSys 2018.

    Examples
    --------
    One of four sees b, so this hit is worth four.

    >>> import rankmeter as rm
    >>> lists, truth = {"ann": ["b", "x"]}, {"ann": {"a", "b"}}
    >>> rm.evaluate(lists, truth, "ips@2", propensity={"a": 1, "b": 0.25})["ips@2"].mean
    4.0
    """
    hit_weights, all_weights = _inverse_propensities(
        hits, propensity, popularity, gamma, clip, cold
    )
    n_weighted = hits.best.sum((all_weights > 0).astype(np.float64), name="known")
    divisor = np.ones_like(n_weighted)
    if denominator == "k":
        divisor = np.maximum(hits.length(k), 1.0)  # 1 for an empty list
    elif denominator == "relevant":
        divisor = n_weighted
    part = hits.sum(_discounts_in_top(hits, k, discount, p) * hit_weights)
    squares = hits.best.sum(all_weights**2, name="squared weight")
    divisor = np.where(n_weighted > 0, divisor, 0.0)
    total = hits.best.sum(all_weights, name="weight")
    return Weighted(part, divisor, ("sum", denominator), total=total, squares=squares)


def _discounts_in_top(hits: Hits, k: int | None, discount: RankDiscount, p: float) -> FloatArray:
    """The discount of each hit at its rank; 0 below k."""
    weight = discount_function(discount, p)
    return hits.within(k) if discount == "none" else hits.weigh(weight, k)


def _inverse_propensities(
    hits: Hits,
    propensity: Propensity | None,
    popularity: Popularity | None,
    gamma: float | None,
    clip: float | None,
    cold: Cold,
) -> tuple[FloatArray, FloatArray]:
    """The weights of the hits, and of all relevant items; 0 for items left out."""
    hit_items, all_items = _hit_and_relevant_items(hits)
    if gamma is not None:
        power = (check_number("gamma", gamma, least=-1, most=20) + 1) / 2
        n = require(popularity, "popularity").interactions
        value = np.where(n > 0, n / max(int(n.max(initial=0)), 1), np.nan) ** power
    elif propensity is not None:
        value = propensity.value
    else:
        raise UsageError(
            "needs propensities of the items: pass propensity=, or estimate them from train= with "
            "gamma, as in snips(gamma=1.5)",
            option="propensity",
        )
    unknown = np.isnan(value)
    least = float(value[~unknown].min(initial=1.0)) if cold == "rarest" else math.inf
    weight = 1.0 / np.where(unknown, least, value)
    if clip is not None:
        weight = np.minimum(weight, check_number("clip", clip, least=1))
    return weight[hit_items], weight[all_items]


def _hit_and_relevant_items(hits: Hits) -> tuple[IntArray, IntArray]:
    """The items of the hits, and of all relevant items."""
    if hits.item is None or hits.best.item is None:
        raise UsageError("needs the items of the hits, which scores and ranks do not have")
    return hits.item, hits.best.item


def _stratum_borders(options: Mapping[str, Any]) -> list[Border]:
    ends = {"head": ["head"], "middle": ["head", "tail"], "tail": ["tail"]}[options["stratum"]]
    return [("interactions", options[end]) for end in ends]


@register(
    "Recall of a popularity stratum",
    bounds=COUNTS_REPEATS,
    reached=False,
    borders=_stratum_borders,
)
def stratum_recall(
    hits: Hits,
    popularity: Popularity,
    k: int | None = None,
    *,
    stratum: Literal["head", "middle", "tail"],
    head: Annotated[float, Example(0.6)] = 0.2,
    tail: Annotated[float, Example(0.7)] = 0.8,
) -> Defined:
    """Recall of a popularity stratum, such as the long tail: share of its items in the top k.

    Parameters
    ----------
    stratum : {"head", "middle", "tail"}
        The relevant items that count: those in the ``head``, the most popular items; in the
        ``tail``, with all items that have no training data; or in the ``middle``, between both.
    head : float
        The head are the fewest items with at least this share of all training interactions.
    tail : float
        The tail are the items outside the fewest ones with at least this share.

    Notes
    -----
    A user without relevant items in the stratum is undefined (NaN). Pooled over users
    (``aggregate="micro"``) the recall of all items is the mean of those of the strata, weighted by
    their relevant items. Of items that occur equally often, the first in the order of items
    are the more popular ones. Source: the strata of Abdollahpouri et al., User-centered evaluation
    of popularity bias in recommender systems, UMAP 2021.

    Examples
    --------
    a has 3 of 6 training interactions, so it is the head; d has none, so it is in the tail.

    >>> import rankmeter as rm
    >>> train = {"ann": ["a", "b"], "bob": ["a", "b"], "cat": ["a", "c"]}
    >>> lists, truth = {"ann": ["a", "c"]}, {"ann": {"a", "c", "d"}}
    >>> metrics = ["stratum_recall(stratum=head)@2", "stratum_recall(stratum=tail)@2"]
    >>> [one.mean for one in rm.evaluate(lists, truth, metrics, train=train).values()]
    [1.0, 0.5]
    """
    hit_items, all_items = _hit_and_relevant_items(hits)
    if check_fraction("tail", tail) < check_fraction("head", head):
        raise option_error("tail", f"at least head, {head:g}", tail)
    below = mask_long_tail(popularity, "interactions", head, "tail")
    last = mask_long_tail(popularity, "interactions", tail, "tail")
    in_stratum = {"head": ~below, "middle": below & ~last, "tail": last}[stratum]
    part = hits.sum(hits.within(k) * in_stratum[hit_items])
    return Defined(part, hits.best.sum(in_stratum[all_items].astype(np.float64)))
