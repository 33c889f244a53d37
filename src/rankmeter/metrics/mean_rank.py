"""Mean rank: the ranks of the relevant items themselves, averaged in several ways."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import numpy as np

from rankmeter._choices import SHARED_RANKS, Alignment
from rankmeter._evidence.hits import FloatArray, Hits
from rankmeter._evidence.steps import note_column
from rankmeter.metrics._formula import formula
from rankmeter.metrics._ranges import ANY, vary
from rankmeter.metrics._registry import Example, register
from rankmeter.metrics.reciprocal_rank import expected_first_weight
from rankmeter.metrics.states import Defined, Ratio

_RANKS: dict[str, Any] = {"low": 1.0, "high": math.inf, "increasing": False}
"""The range of ranks, and of their means."""


def _absent_bounds(options: Mapping[str, Any], _: Alignment) -> tuple[float, float]:
    absent = options["absent"]
    return (1.0 if isinstance(absent, str) else min(1.0, float(absent))), math.inf


@register("Mean rank", **_RANKS, bounds=_absent_bounds, synonyms=("mr",), shared=SHARED_RANKS)
def mean_rank(
    hits: Hits,
    k: int | None = None,
    *,
    of: Literal["first", "all"] = "first",
    absent: Annotated[Literal["undefined", "next"] | float, Example(100.0)] = "undefined",
) -> FloatArray:
    """Mean rank (MR): rank of the first relevant item, or mean rank of all. Lower is better.

    Parameters
    ----------
    k : int, optional
        Cutoff: an item below it counts as absent.
    of : {"first", "all"}
        The first relevant item of each user, or every relevant item.
    absent : {"undefined", "next"} or float
        The rank of an item that the ranking does not contain: none (a user without any hit is NaN,
        and the mean is over the items that were found); the rank after the last one,
        ``min(k, n_ranked) + 1``; or a number, such as the size of the catalogue.

    Notes
    -----
    ``undefined`` uses only the items that were found, so compare two systems with it only if both
    rank every item; the result counts the undefined users. In an unresolved tie that can put every
    relevant item below the cutoff, it is the mean over the orders that do not. ``next`` favors
    short lists.

    Examples
    --------
    Ranks 1, 3, 3, 5 and 2 have the mean 14/5.

    >>> import rankmeter as rm
    >>> rm.evaluate([list("abcde")] * 5, [{"a"}, {"c"}, {"c"}, {"e"}, {"b"}], "mr")["mr"].mean
    2.8
    """
    worst = hits.depth(k) + 1.0 if absent == "next" else None
    if worst is None and absent != "undefined":
        worst = np.full(hits.n_users, float(absent))
    if of == "all":
        total = hits.sum(hits.weigh(lambda rank: rank, k))
        n_hits = hits.count(k)
        if worst is not None:
            missed = np.maximum(hits.n_relevant - n_hits, 0.0)  # repeated items count each time
            return formula(
                "(sum + missed * absent) / relevant", nothing=np.nan, sum=total,
                missed=missed, absent=worst, relevant=hits.n_relevant,
            )  # fmt: skip
        return formula("sum / hits", nothing=np.nan, sum=total, hits=n_hits)
    if hits.tied:
        rank = expected_first_weight(hits, lambda rank: rank, k)
        chance = expected_first_weight(hits, np.ones_like, k)
    else:
        chance = (hits.first < np.inf if k is None else hits.first <= k).astype(np.float64)
        rank = np.where(chance > 0, hits.first, 0.0)
    if worst is not None:
        text = "first_hit + (1 - found) * absent"
        return formula(text, first_hit=rank, found=chance, absent=worst)
    return formula("first_hit / found", nothing=np.nan, first_hit=rank, found=chance)


Weight = Literal["binary", "linear"]


def _percentile_rank_bounds(options: Mapping[str, Any], choices: Alignment) -> tuple[float, float]:
    negative = None if options["gain"] == "binary" else ANY
    return vary((0.0, 100.0), repeated=ANY, negative=negative)(options, choices)


def _relevance_position_bounds(
    options: Mapping[str, Any], choices: Alignment
) -> tuple[float, float]:
    negative = None if options["gain"] == "binary" else ANY
    return vary((1.0, math.inf), negative=negative)(options, choices)


def _hit_weights(hits: Hits, gain: Weight) -> FloatArray:
    return np.ones_like(hits.gain) if gain == "binary" else hits.gain


@register(
    "Percentile rank",
    high=100.0,
    bounds=_percentile_rank_bounds,
    increasing=False,
    reached=False,
    aggregate="micro",
    synonyms=("percentile_ranking", "expected_percentile_ranking", "mpr"),
    shared=SHARED_RANKS,
)
def percentile_rank(
    hits: Hits, *, n_items: Annotated[int | None, Example(100, 50)] = None, gain: Weight = "binary"
) -> Ratio:
    """Percentile rank: mean position of relevant items in percent of candidates. Lower is better.

    Parameters
    ----------
    n_items : int, optional
        Number of items that could be ranked, the same ones for each user. Without it the
        candidates are the ranked items and the relevant ones.
    gain : {"binary", "linear"}
        The weight of a relevant item: 1, or its gain.

    Notes
    -----
    All relevant items of all users are pooled; ``aggregate="mean"`` averages
    users instead. A relevant item that is not ranked has the mean of the remaining positions. A
    random order has about 50. Source: Hu, Koren and Volinsky, ICDM 2008, as in RecPack.

    Examples
    --------
    One of two relevant items is second of ten; the other is one of seven that are left, on average
    at rank 7: (10 + 60) / 2.

    >>> import rankmeter as rm
    >>> lists, truth = {"u": list("xay")}, {"u": {"a", "b"}}
    >>> rm.evaluate(lists, truth, "percentile_rank", n_items=10)["percentile_rank"].mean
    35.0
    """
    weight, best = _hit_weights(hits, gain), hits.best
    total, of_hits = best.sum(_hit_weights(best, gain)), hits.sum(weight)
    size = hits.n_ranked + hits.n_relevant - hits.count(None) if n_items is None else n_items
    above, missed = hits.sum(weight * (hits.rank - 1.0)), total - of_hits
    positions = formula(
        "ranks_above + missed * (ranked + candidates - 1) / 2", name="positions",
        ranks_above=above, missed=missed, ranked=hits.n_ranked, candidates=size,
    )  # fmt: skip
    text = "100 * (positions / candidates)"
    part = formula(text, name="sum", positions=positions, candidates=size)
    return Defined(part, total, ("sum", "weight"))


@register(
    "Relevance position",
    **_RANKS,
    bounds=_relevance_position_bounds,
    reached=False,
    aggregate="micro",
    synonyms=("average_relevance_position",),
    shared=SHARED_RANKS,
)
def relevance_position(hits: Hits, *, gain: Weight = "linear") -> Ratio:
    """Relevance position: mean rank of the relevant items, weighted by gain. Lower is better.

    Parameters
    ----------
    gain : {"binary", "linear"}
        The weight of an item: 1, or its gain.

    Notes
    -----
    The items of all users are pooled; ``aggregate="mean"`` averages users instead. A user without a
    hit is undefined. Items that are not ranked are left out, so compare two systems with it only
    if both rank every item. Source: ``ARPMetric`` of TF-Ranking.

    Examples
    --------
    Gains 1 and 3 at ranks 1 and 3: (1 · 1 + 3 · 3) / 4.

    >>> import rankmeter as rm
    >>> result = rm.evaluate({"u": list("axb")}, {"u": {"a": 1, "b": 3}}, "relevance_position")
    >>> result["relevance_position"].mean
    2.5
    """
    weight = _hit_weights(hits, gain)
    return Defined(hits.sum(weight * hits.rank), hits.sum(weight), ("ranks", "weights"))


@register(
    "Rank of the last relevant item",
    **_RANKS,
    bounds=_absent_bounds,
    reached=False,
    synonyms=("coverage_error", "coverage_depth"),
)
def last_rank(
    hits: Hits,
    *,
    absent: Annotated[Literal["undefined", "next"] | float, Example(100.0)] = "undefined",
) -> FloatArray:
    """Rank of the last relevant item: how far down a reader must go to see all. Lower is better.

    Parameters
    ----------
    absent : {"undefined", "next"} or float
        The value of a user if a relevant item is not ranked: none, the rank after the last
        one, or a number, such as the size of the catalogue.

    Notes
    -----
    The last of m hits in an unresolved tie of n items is expected at place m(n + 1) / (m + 1) of
    them. Source: Schapire and Singer, Machine Learning 2000, whose coverage is less by 1;
    ``coverage_error`` of scikit-learn.

    Examples
    --------
    >>> import rankmeter as rm
    >>> rm.evaluate({"u": list("axby")}, {"u": {"a", "b"}}, "last_rank")["last_rank"].mean
    3.0
    """
    user, last = hits.user, hits.rank
    if hits.tied:
        groups = hits.groups
        user = groups.user
        last = groups.above + groups.hits * (groups.size + 1.0) / (groups.hits + 1.0)
    result = np.zeros(hits.n_users)
    np.maximum.at(result, user, last)
    worst = np.full(hits.n_users, np.nan if absent == "undefined" else 0.0)
    if absent != "undefined":
        worst += hits.n_ranked + 1.0 if absent == "next" else float(absent)
    note_column(last, "expected last", hits, hits.groups.above + 1) if hits.tied else None
    terms: dict[str, Any] = {"hits": hits.count(None), "relevant": hits.n_relevant}
    text = "last_hit if hits >= relevant else absent"
    return formula(text, last_hit=result, absent=worst, **terms)


@register(
    "Median rank", **_RANKS, aggregate="median", synonyms=("median_of_ranks",), shared=SHARED_RANKS
)
def median_rank(hits: Hits) -> FloatArray:
    """Median rank of the first relevant item, over users. Lower is better.

    Notes
    -----
    A user without any hit is undefined. The interval of the median is that of the order
    statistics, without an assumption about the distribution: Conover, Practical Nonparametric
    Statistics, 3rd ed., ch. 3.2.

    Examples
    --------
    >>> import rankmeter as rm
    >>> rm.evaluate_ranks([1, 2, 3, 5, 50], "median_rank")["median_rank"].mean
    3.0
    """
    return mean_rank(hits)


@register(
    "Geometric mean rank",
    **_RANKS,
    aggregate="geometric",
    synonyms=("geometric_mean_rank",),
    shared=SHARED_RANKS,
)
def gmr(hits: Hits) -> FloatArray:
    """Geometric mean rank (GMR) of the first relevant item, over users. Lower is better.

    Notes
    -----
    A user without any hit is undefined.

    Examples
    --------
    >>> import rankmeter as rm
    >>> round(rm.evaluate_ranks([1, 2, 3, 5, 50], "gmr")["gmr"].mean, 4)
    4.3174
    """
    return mean_rank(hits)


@register(
    "Harmonic mean rank",
    **_RANKS,
    open_ties=False,
    aggregate="micro",
    synonyms=("harmonic_mean_rank",),
    shared=SHARED_RANKS,
)
def hmr(hits: Hits) -> Ratio:
    """Harmonic mean rank (HMR) of the first relevant item, over users. Lower is better.

    Notes
    -----
    One over MRR, as long as every user has a hit; a user without any hit is undefined.

    Examples
    --------
    >>> import rankmeter as rm
    >>> round(rm.evaluate_ranks([1, 2, 3, 5, 50], "hmr")["hmr"].mean, 4)
    2.4351
    """
    rank = mean_rank(hits)
    reciprocal_rank = np.where(np.isnan(rank), 1.0, 1.0 / rank)
    return Ratio(rank / rank, reciprocal_rank, ("one", "reciprocal_rank"))
