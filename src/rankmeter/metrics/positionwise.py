"""Metrics of the positions of all relevant items, found or not."""

from __future__ import annotations

import math
from typing import Annotated, Literal

import numpy as np

from rankmeter._hits import FloatArray, Hits, ratio
from rankmeter._steps import column, worked
from rankmeter.metrics._registry import Example, register
from rankmeter.metrics.setwise import check_catalogue
from rankmeter.metrics.states import Defined, Ratio

Weight = Literal["binary", "linear"]


def _weights(hits: Hits, gain: Weight) -> FloatArray:
    return np.ones_like(hits.gain) if gain == "binary" else hits.gain


@register("Mean average recall", reached=False, synonyms=("mean_recall", "mean_average_recall"))
def mar(
    hits: Hits, k: int | None = None, *, over: Literal["ranks", "hits"] = "ranks"
) -> FloatArray:
    """Recall at several ranks of the top k, averaged.

    Parameters
    ----------
    over : {"ranks", "hits"}
        The mean over every rank from 1 to k, hit or miss; or the sum over the ranks of the hits
        alone, divided by the number of relevant items.

    Notes
    -----
    Without a cutoff k is the length of the ranking; an empty one has 0. With one relevant item,
    ``over=hits`` is the recall. Sources: ``MAR`` of Elliot (ranks) and Evidently (hits).

    Examples
    --------
    The recall at ranks 1, 2 and 3 is 0, 1/2 and 1/2.

    >>> import rankmeter as rm
    >>> round(rm.evaluate({"u": list("xay")}, {"u": {"a", "b"}}, "mar@3")["mar@3"].mean, 4)
    0.3333
    """
    if over == "hits":
        pairs, n = _pairs_of_hits(hits, k), hits.n_relevant.astype(np.float64)
        return worked(ratio(pairs, n**2), "pairs / relevant**2", pairs=pairs, relevant=n)
    last = hits.n_ranked if k is None else np.full(hits.n_users, k)
    # A hit at rank r adds to the recall at ranks r, r + 1, …, k.
    late = hits.sum(hits.weigh(lambda rank: rank - 1.0, k))
    found = hits.count(k)
    value = ratio(last * found - late, last * hits.n_relevant)
    text = "(depth * hits - ranks_above) / (depth * relevant)"
    known = {"depth": last, "hits": found, "ranks_above": late, "relevant": hits.n_relevant}
    return worked(value, text, **known)


def _pairs_of_hits(hits: Hits, k: int | None) -> FloatArray:
    """1 + 2 + … + the number of hits in the top k; in unresolved ties, expected."""
    found = hits.count(k)
    if not hits.tied or k is None:
        return worked(found * (found + 1.0) / 2.0, "hits * (hits + 1) / 2", "pairs", hits=found)
    # The number of hits in the first t places of a tied group is hypergeometric.
    groups = hits.groups
    n, m = groups.size.astype(np.float64), groups.hits
    inside = np.clip(k - groups.above, 0, groups.size)
    variance = inside * m * (n - m) * (n - inside) / (n * n * np.maximum(n - 1.0, 1.0))
    more = hits.sum(variance, groups.user, groups.above + 1)
    value = (found * (found + 1.0) + more) / 2.0
    return worked(value, "(hits * (hits + 1) + variance) / 2", "pairs", hits=found, variance=more)


@register(
    "Percentile rank",
    high=100.0,
    increasing=False,
    reached=False,
    aggregate="micro",
    synonyms=("percentile_ranking", "expected_percentile_ranking", "mpr"),
)
def percentile_rank(
    hits: Hits, *, n_items: Annotated[int | None, Example(100, 50)] = None, gain: Weight = "binary"
) -> Ratio:
    """Mean position of the relevant items, in percent of all candidates. Lower is better.

    Parameters
    ----------
    n_items : int, optional
        Number of candidates of each user, at least those ranked or relevant. Without it the
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
    check_catalogue(hits, None, n_items)
    weight, every = _weights(hits, gain), hits.best
    total, found = every.sum(_weights(every, gain)), hits.sum(weight)
    size = hits.n_ranked + hits.n_relevant - hits.count(None) if n_items is None else n_items
    above, missed = hits.sum(weight * (hits.rank - 1.0)), total - found
    behind = worked(
        above + missed * (hits.n_ranked + size - 1) / 2,
        "ranks_above + missed * (ranked + candidates - 1) / 2", "positions",
        ranks_above=above, missed=missed, ranked=hits.n_ranked, candidates=size,
    )  # fmt: skip
    part = 100.0 * ratio(behind, size)
    worked(part, "100 * positions / candidates", "sum", positions=behind, candidates=size)
    return Defined(part, total, ("sum", "weight"))


@register("Reciprocal ranks", reached=False)
def rr_all(hits: Hits, k: int | None = None) -> FloatArray:
    """Mean of one over the rank of all relevant items; 0 for those not in the top k.

    Notes
    -----
    With one relevant item it is `rr`. Source: ``mean_reciprocal_rank`` of rexmex.

    Examples
    --------
    Two of three relevant items are at ranks 1 and 4: (1 + 1/4) / 3.

    >>> import rankmeter as rm
    >>> result = rm.evaluate({"u": list("axyb")}, {"u": {"a", "b", "c"}}, "rr_all")
    >>> round(result["rr_all"].mean, 4)
    0.4167
    """
    total = hits.sum(hits.weigh(lambda rank: 1.0 / rank, k))
    value = ratio(total, hits.n_relevant)
    return worked(value, "sum / relevant", sum=total, relevant=hits.n_relevant)


@register(
    "Relevance position",
    low=1.0,
    high=math.inf,
    increasing=False,
    reached=False,
    aggregate="micro",
    synonyms=("average_relevance_position",),
)
def relevance_position(hits: Hits, *, gain: Weight = "linear") -> Ratio:
    """Mean rank of the ranked relevant items, weighted by their gains. Lower is better.

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
    weight = _weights(hits, gain)
    return Defined(hits.sum(weight * hits.rank), hits.sum(weight), ("ranks", "weights"))


@register(
    "Rank of the last relevant item",
    low=1.0,
    high=math.inf,
    increasing=False,
    reached=False,
    synonyms=("coverage_error", "coverage_depth"),
)
def last_rank(
    hits: Hits,
    *,
    absent: Annotated[Literal["undefined", "next"] | float, Example(100.0)] = "undefined",
) -> FloatArray:
    """How far down a reader must go to see every relevant item. Lower is better.

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
    column(last, "expected last", hits, hits.groups.above + 1) if hits.tied else None
    value = np.where(hits.count(None) < hits.n_relevant, worst, result)
    known = {"hits": hits.count(None), "relevant": hits.n_relevant}
    text = "last_hit if hits >= relevant else absent"
    return worked(value, text, last_hit=result, absent=worst, **known)
