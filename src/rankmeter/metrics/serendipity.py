"""Serendipity: items that neither the user's history nor a baseline would suggest."""

from __future__ import annotations

import math
from typing import Annotated, Literal

import numpy as np

from rankmeter._evidence.hits import BoolArray, FloatArray, IntArray, ratio
from rankmeter._evidence.lists import Catalogue, Likeness, Lists, Popularity, Profiles
from rankmeter._evidence.steps import column
from rankmeter.errors import UsageError
from rankmeter.errors._checks import fraction, integer
from rankmeter.metrics._formula import formula
from rankmeter.metrics._item_weights import Relevance, deduplicate, relevance_weights
from rankmeter.metrics._registry import Example, register
from rankmeter.metrics.distances import Distance, Space


@register("Serendipity", low=-math.inf, high=math.inf, reached=False)
def serendipity(
    lists: Lists,
    popularity: Popularity,
    profiles: Profiles,
    likeness: Likeness,
    catalogue: Catalogue | None,
    k: int | None = None,
    *,
    form: Literal["unlike", "rank", "hits"] = "unlike",
    distance: Distance = "cosine",
    relevance: Relevance = "binary",
) -> FloatArray:
    """Serendipity: how many items of the top k are both relevant and unexpected.

    Parameters
    ----------
    form : {"unlike", "rank", "hits"}
        What is summed over the list:

        * ``unlike``: the mean distance to the user's training items, times the relevance, over the
          length of the list;
        * ``rank``: how much better the rank of an item is than that of its popularity, times the
          relevance, over the length of the list. For an item at rank r, with the d-th largest
          count, of a catalogue of n items it is max(0, d - r) / n, and (n + 1 - r) / n for an item
          that is not in the training data;
        * ``hits``: one minus the sum of the mean similarities of the relevant items of the list, or
          with ``relevance=none`` of all of them, to the user's training items; users without such
          an item are undefined (NaN).
    distance : {"cosine", "jaccard", "hamming", "hamming_share", "euclidean", "users", "given"}
        As in `ild`, where an item without features or similarities has zeros; ``rank`` needs none.
    relevance : {"none", "binary", "graded", "exp2"}
        The weight of an item: 1 for all, 1 if it is relevant, its gain, or 2^gain - 1.

    Notes
    -----
    A user without training items is undefined (NaN), except with ``rank``. Source: Zhang et al.,
    Auralist, WSDM 2012 (``unlike``); Ge, Delgado-Battenfeld and Jannach, Beyond accuracy, RecSys
    2010; ``rank`` is the form of RecTools, ``hits`` that of Evidently.

    Examples
    --------
    Ann has action. The drama is relevant and unlike it; it is one of two items.

    >>> import rankmeter as rm
    >>> genres = {"a": ["action"], "b": ["action"], "c": ["drama"]}
    >>> lists, truth, train = {"ann": ["b", "c"]}, {"ann": {"b", "c"}}, {"ann": ["a"]}
    >>> result = rm.evaluate(lists, truth, "serendipity@2", train=train, items=genres)
    >>> result["serendipity@2"].mean
    0.5
    """
    top = lists.top(k)
    weight = relevance_weights(top, relevance)
    if form == "rank":
        return top.mean(weight * _ahead_of_popularity(top, popularity, catalogue))
    far = column(Space.of(likeness, distance).to_profile(top, profiles), "distance", top)
    if form == "unlike":
        return top.mean(np.where(weight > 0, weight * far, np.where(np.isnan(far), np.nan, 0.0)))
    has_any = top.sum(weight) > 0
    near = top.sum(np.where(weight > 0, weight * (1.0 - far), 0.0))
    return formula("1 - sum", sum=np.where(has_any, near, np.nan))


def _ahead_of_popularity(
    top: Lists, popularity: Popularity, catalogue: Catalogue | None
) -> FloatArray:
    """How much better the rank of each item is than that of its popularity."""
    if catalogue is None:
        raise UsageError(
            "needs the items that could be shown, or their number: pass catalogue=",
            option="catalogue",
        )
    _, below = np.unique(-popularity.interactions[popularity.known], return_inverse=True)
    nth = np.full(popularity.known.size, catalogue.size + 1)
    nth[popularity.known] = below + 1
    ahead: FloatArray = np.maximum(nth[top.item] - top.rank, 0) / catalogue.size
    return ahead


@register("Unexpectedness", reached=False)
def unexpectedness(
    lists: Lists,
    baseline: Lists,
    k: int | None = None,
    *,
    overlap: Literal["share", "rbo", "rbo_ext"] = "share",
    baseline_k: Annotated[int | None, Example(2)] = None,
    denominator: Literal["ranked", "k"] = "ranked",
    p: Annotated[float, Example(0.5)] = 0.85,
    absent: Literal["undefined", "unexpected", "expected"] = "undefined",
    inverse: bool = False,
) -> FloatArray:
    """Unexpectedness: how little the top k shares with the list of a baseline, such as popularity.

    Parameters
    ----------
    overlap : {"share", "rbo", "rbo_ext"}
        What is subtracted from 1:

        * ``share``: the share of the items that are in the top of the baseline, too;
        * ``rbo``: the share of common items in the tops of both lists, averaged over the depths
          1, ..., k with weights that fall by `p` (rank-biased overlap, truncated); without a cutoff
          down to the end of the longer list;
        * ``rbo_ext``: rank-biased overlap extrapolated below k.
    baseline_k : int, optional
        How many items of the baseline are its top, if not k.
    denominator : {"ranked", "k"}
        What the number of common items is divided by, for ``share``: the items in the list, or k.
    p : float
        Between 0 and 1: the share of readers who go on to the next rank.
    absent : {"undefined", "unexpected", "expected"}
        A user without a list of the baseline is undefined, or has 1, or 0.
    inverse : bool
        The overlap itself instead of one minus it.

    Notes
    -----
    Source: Murakami, Mori and Orihara, Metrics for evaluating the serendipity of recommendation
    lists, 2008; Webber, Moffat and Zobel, A similarity measure for indefinite rankings, TOIS 2010.

    Examples
    --------
    The baseline shows a, too, but not c.

    >>> import rankmeter as rm
    >>> lists, popular = {"ann": ["c", "a"]}, {"ann": ["a", "b"]}
    >>> result = rm.evaluate(lists, {"ann": {"a"}}, "unexpectedness@2", baseline_lists=popular)
    >>> result["unexpectedness@2"].mean
    0.5
    """
    p = fraction("p", p)
    top = deduplicate(lists.top(k))
    deep = k if baseline_k is None else integer("baseline_k", baseline_k, least=1)
    expected = deduplicate(baseline.top(deep))
    user, first, second = _common(top, expected)
    column(second, "rank in the baseline", top, top.rank[top.offsets[user] + first - 1])
    if overlap == "share":
        whole = top.lengths if k is None or denominator == "ranked" else np.full(top.n_users, k)
        common = _n_by_user(user, top.n_users)
        agreement = formula("common / length", name="overlap", common=common, length=whole)
    elif overlap == "rbo":
        depth = np.maximum(top.lengths, expected.lengths)
        if k is not None:
            depth = np.full(top.n_users, k)
        agreement = _overlap(user, np.maximum(first, second), depth, p)
    else:
        agreement = _extrapolated(user, np.maximum(first, second), top.lengths, expected.lengths, p)
    nothing = {"undefined": np.nan, "unexpected": float(not inverse), "expected": float(inverse)}
    text = ("overlap" if inverse else "1 - overlap") + " if baseline_items > 0 else absent"
    n = expected.lengths
    return formula(text, overlap=agreement, baseline_items=n, absent=nothing[absent])


def _common(lists: Lists, baseline: Lists) -> tuple[IntArray, IntArray, IntArray]:
    """The items in both lists of a user: the user, and the place in each list, from 1."""
    keys = baseline.user * max(baseline.n_items, 1) + baseline.item
    order = np.argsort(keys)
    list_keys = lists.user * max(lists.n_items, 1) + lists.item
    positions = np.searchsorted(keys, list_keys, sorter=order)
    match = order.take(positions, mode="clip") if order.size else positions
    both: BoolArray = (
        keys[match] == list_keys if order.size else np.zeros(list_keys.size, dtype=bool)
    )
    first = np.arange(lists.item.size) - lists.offsets[lists.user] + 1
    second = np.arange(baseline.item.size) - baseline.offsets[baseline.user] + 1
    return lists.user[both], first[both], second[match[both]]


def _n_by_user(user: IntArray, n_users: int) -> FloatArray:
    return np.bincount(user, minlength=n_users).astype(np.float64)


def _sums(depth: int, p: float) -> tuple[FloatArray, FloatArray]:
    """Σ p^d and Σ p^d / d of the depths 1, ..., n, for each n up to a depth.

    Deeper than that p^d is 0, so the last sums hold for all greater depths.
    """
    last = math.ceil(-750.0 / math.log(p)) if 0.0 < p < 1.0 else depth
    d = np.arange(1.0, min(depth, last) + 1.0)
    first = np.concatenate(([0.0], np.cumsum(p**d)))
    return first, np.concatenate(([0.0], np.cumsum(p**d / d)))


def _overlap(user: IntArray, depth_of_both: IntArray, depth: IntArray, p: float) -> FloatArray:
    """`depth_of_both` is the depth from which both lists have an item."""
    weight, share = _sums(int(depth.max(initial=0)), p)
    depth = np.minimum(depth, weight.size - 1)
    last = depth[user]
    gains = np.where(
        depth_of_both <= last, share[last] - share[np.minimum(depth_of_both, last + 1) - 1], 0.0
    )
    total: FloatArray = np.bincount(user, gains, minlength=depth.size).astype(np.float64)
    return formula("sum / weights", name="overlap", sum=total, weights=weight[depth])


def _extrapolated(
    user: IntArray, depth_of_both: IntArray, n: IntArray, m: IntArray, p: float
) -> FloatArray:
    """Equation 32 of Webber et al., for lists of different lengths."""
    short, long = np.minimum(n, m), np.maximum(n, m)
    weight, share = _sums(int(long.max(initial=0)), p)
    gains = share[long[user]] - share[depth_of_both - 1]
    seen = np.bincount(user, gains, minlength=n.size)
    common, early = (
        _n_by_user(user, n.size),
        _n_by_user(user[depth_of_both <= short[user]], n.size),
    )
    rate = ratio(early, short)
    going_on = rate * (weight[long] - weight[short] - short * (share[long] - share[short]))
    end = ratio(common - early, long) + rate
    text = "(1 - p) / p * (seen + extrapolated) + end * p**longer"
    return formula(
        text, name="overlap", seen=seen, extrapolated=going_on, end=end, longer=long, p=p
    )


@register("Least item promoted", high=math.inf, reached=False)
def least_item_promoted(lists: Lists, baseline: Lists, k: int | None = None) -> FloatArray:
    """Least item promoted: ranks between rank k of a baseline and its lowest item in the top k.

    Notes
    -----
    Items that are not in the list of the baseline are left out. A user without a list of the
    baseline is undefined (NaN). Source: the measure of that name in LensKit.

    Examples
    --------
    The fourth item of the baseline is in the top 2; only rank 3 is between.

    >>> import rankmeter as rm
    >>> lists, popular = {"ann": ["a", "d"]}, {"ann": ["a", "b", "c", "d"]}
    >>> result = rm.evaluate(lists, {"ann": {"a"}}, "least_item_promoted@2", baseline_lists=popular)
    >>> result["least_item_promoted@2"].mean
    1.0
    """
    user, _, second = _common(deduplicate(lists.top(k)), deduplicate(baseline))
    n = lists.lengths if k is None else np.full(lists.n_users, k)
    deepest = n.copy()
    np.maximum.at(deepest, user, second - 1)
    return np.where(baseline.lengths > 0, formula("lowest - k", lowest=deepest, k=n), np.nan)
