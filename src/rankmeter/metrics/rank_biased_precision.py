"""Rank-biased metrics: a reader who may stop after each item sees top ranks more often."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import numpy as np

from rankmeter._choices import Alignment
from rankmeter._evidence.hits import FloatArray, Hits, IntArray
from rankmeter._evidence.steps import note_column
from rankmeter.errors._checks import check_fraction, exact_text, option_error
from rankmeter.metrics._formula import formula
from rankmeter.metrics._ranges import COUNTS_REPEATS, SHARE, SIGNED, SIGNED_SHARE
from rankmeter.metrics._registry import Example, register
from rankmeter.metrics.weights import geometric_weight, sum_shares_of_depths


def scale_gains(hits: Hits, max_gain: float | None) -> FloatArray:
    """Divide the gains by the largest possible gain; 1 for each hit if `max_gain` is None."""
    if max_gain is None:
        return np.ones_like(hits.gain)
    largest = max(hits.gain.max(initial=0.0), hits.best.gain.max(initial=0.0))
    if max_gain <= 0 or largest > max_gain:
        expected = f"positive and no less than any gain ({exact_text(largest)})"
        raise option_error("max_gain", expected, max_gain, extent=float(largest))
    return hits.gain / max_gain


def _rbp_bounds(options: Mapping[str, Any], choices: Alignment) -> tuple[float, float]:
    if options["gain"] == "linear" and options["max_gain"] is None:
        return SIGNED(options, choices)
    signed = SHARE if options["max_gain"] is None else SIGNED_SHARE(options, choices)
    repeated = COUNTS_REPEATS(options, choices) if options["normalize"] else SHARE
    return min(signed[0], repeated[0]), max(signed[1], repeated[1])


@register(
    "Rank-biased precision", bounds=_rbp_bounds, reached=False, synonyms=("rank_biased_precision",)
)
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
        ``min(n_relevant, n_ranked, k)`` ranks. A shorter ranking is divided by the weights of
        fewer ranks, and can so exceed the ideal one if gains differ.

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
    gains = hits.gain if plain else scale_gains(hits, max_gain)
    weight = geometric_weight(p)
    note_column(gains, "worth", hits)
    if hits.tied:
        weights = hits.settle(gains).weigh(weight, k)
        value = hits.sum(note_column(weights, "weight", hits) * gains)
    else:
        key = (rbp, p, plain, max_gain)
        value = hits.sum_top(k, key, lambda: note_column(weight(hits.rank), "weight", hits) * gains)
    if not normalize:
        return value
    depth = np.minimum(hits.n_relevant, hits.depth(k))
    best = hits.best
    largest = np.where(best.rank <= depth[best.user], weight(best.rank), 0.0)
    return formula("sum / largest", sum=value, largest=best.sum(largest, name="largest"))


@register("Residual of rank-biased precision", increasing=False, reached=False)
def rbp_residual(
    hits: Hits,
    nonrelevant: Hits,
    k: int | None = None,
    *,
    p: Annotated[float, Example(0.5)] = 0.8,
    unjudged: Literal["nonrelevant", "unknown"] = "nonrelevant",
) -> FloatArray:
    """Residual of rank-biased precision: how much it could still gain from unseen items.

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
    weight = geometric_weight(p)
    if unjudged == "nonrelevant":
        return formula("p**depth", p=p, depth=hits.depth(k).astype(np.float64))
    first, second = (ranked.sum(ranked.even.weigh(weight, k)) for ranked in (hits, nonrelevant))
    return formula("1 - (relevant + nonrelevant)", relevant=first, nonrelevant=second)


@register("Compatibility", bounds=COUNTS_REPEATS, open_ties=False, synonyms=("compat",))
def compatibility(
    hits: Hits, *, p: Annotated[float, Example(0.8)] = 0.95, normalize: bool = True
) -> FloatArray:
    """Compatibility: rank-biased overlap of the ranking with the most similar ideal ranking.

    Parameters
    ----------
    p : float
        Persistence, between 0 and 1: the smaller it is, the more the top ranks matter.
    normalize : bool
        Whether to divide by the overlap of the ideal ranking with itself, which ends where the
        relevant items do; if False, by the sum of the weights.

    Notes
    -----
    The ideal ranking has the relevant items, those of larger gain first and those of equal gain in
    the order of the ranking. The overlap at depth d is the number of items that the first d of both
    share, over d; its weight is p^(d - 1), down to the end of the longer of the two. Source:
    Clarke, Vtyurina and Smucker, Assessing top-k preferences, TOIS 2021.

    Examples
    --------
    Depths 1 and 2 have weights 1 and 1/2. The ranking shares 0 of 1 and 1 of 2 items with the ideal
    ranking, which shares 1 of 1 and 1 of 2 with itself: (1/2 · 1/2) / (1 + 1/2 · 1/2).

    >>> import rankmeter as rm
    >>> result = rm.evaluate({"u": ["x", "a"]}, {"u": {"a"}}, "compatibility(p=0.5)")
    >>> result["compatibility(p=0.5)"].mean
    0.2
    """
    check_fraction("p", p)
    deepest = np.maximum(hits.n_ranked, hits.n_relevant)

    def weight_of(depth: FloatArray) -> FloatArray:
        return p ** (depth - 1.0)

    depth = np.arange(1.0, deepest.max(initial=0) + 1.0)
    weight = weight_of(depth)
    shares = np.concatenate(([0.0], np.cumsum(weight / depth)))
    shared_depth = np.ceil(np.maximum(hits.rank, _ideal_rank(hits))).astype(np.int64)
    common = note_column(
        sum_shares_of_depths(hits, shared_depth, deepest, weight_of, shares.__getitem__),
        "shared to next hit",
        hits,
    )
    if not normalize:
        total = np.concatenate(([0.0], np.cumsum(weight)))[deepest]
        return formula("overlap / weights", nothing=0.0, overlap=hits.sum(common), weights=total)
    best = hits.best
    rank = best.rank.astype(np.int64)
    alone = sum_shares_of_depths(best, rank, deepest, weight_of, shares.__getitem__)
    return formula("overlap / ideal", overlap=hits.sum(common), ideal=best.sum(alone))


def _ideal_rank(hits: Hits) -> IntArray:
    """The rank of each hit in the most similar ideal ranking."""
    best = hits.best
    gains = np.unique(np.concatenate((best.gain, hits.gain)))
    of_best, of_hits = (
        ranked.user * gains.size + gains.size - 1 - np.searchsorted(gains, ranked.gain)
        for ranked in (best, hits)
    )
    order = np.argsort(of_hits, kind="stable")
    key = of_hits[order]
    nth = np.empty_like(order)
    nth[order] = np.arange(order.size) - np.searchsorted(key, key)  # among hits of equal gain
    above: IntArray = np.searchsorted(of_best, of_hits) - best.offsets[hits.user]
    return above + nth + 1
