"""Serendipity: items that neither the user's history nor a baseline would suggest."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from rankmeter._evidence.hits import FloatArray, IntArray, Span, ratio
from rankmeter._evidence.lists import Catalogue, Likeness, Lists, Popularity, Profiles
from rankmeter._evidence.steps import note_column
from rankmeter.errors._checks import check_fraction, check_integer
from rankmeter.metrics._formula import formula
from rankmeter.metrics._registry import Example, register, require
from rankmeter.metrics.distances import Distance, Space
from rankmeter.metrics.weights import Relevance, deduplicate, relevance_weights


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
        return top.mean(weight * _lead_over_popularity(top, popularity, catalogue))
    distances = note_column(
        Space.of(likeness, distance).mean_distance_to_profile(top, profiles), "distance", top
    )
    if form == "unlike":
        irrelevant = np.where(np.isnan(distances), np.nan, 0.0)
        return top.mean(np.where(weight > 0, weight * distances, irrelevant))
    has_any = top.sum(weight) > 0
    similar = top.sum(np.where(weight > 0, weight * (1.0 - distances), 0.0))
    return formula("1 - sum", sum=np.where(has_any, similar, np.nan))


def _lead_over_popularity(
    top: Lists, popularity: Popularity, catalogue: Catalogue | None
) -> FloatArray:
    """The lead of each item over its rank by popularity, as a share of the catalogue."""
    n_items = require(catalogue, "catalogue").size
    _, index = np.unique(-popularity.interactions[popularity.known], return_inverse=True)
    popularity_rank = np.full(popularity.known.size, n_items + 1)
    popularity_rank[popularity.known] = index + 1
    ahead: FloatArray = np.maximum(popularity_rank[top.item] - top.rank, 0) / n_items
    return ahead


@register("Unexpectedness", reached=False, open_ties=True)
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
    With ``ties="expected"`` the overlap is the mean over all orders of tied items in both lists.

    Source: Murakami, Mori and Orihara, Metrics for evaluating the serendipity of recommendation
    lists, 2008; Webber, Moffat and Zobel, A similarity measure for indefinite rankings, TOIS 2010;
    Corsi and Urbano, The treatment of ties in rank-biased overlap, SIGIR 2024 (RBO^a).

    Examples
    --------
    The baseline shows a, too, but not c.

    >>> import rankmeter as rm
    >>> lists, popular = {"ann": ["c", "a"]}, {"ann": ["a", "b"]}
    >>> result = rm.evaluate(lists, {"ann": {"a"}}, "unexpectedness@2", baseline_lists=popular)
    >>> result["unexpectedness@2"].mean
    0.5
    """
    p = check_fraction("p", p)
    top = deduplicate(lists.top(k))
    deep = k if baseline_k is None else check_integer("baseline_k", baseline_k, least=1)
    expected = deduplicate(baseline.top(deep))
    shared = _CommonItems.of(top, expected, k, deep)
    mean_rank = (shared.second.low + shared.second.high) / 2
    note_column(mean_rank, "rank in the baseline", top, top.rank[shared.at])
    if overlap == "share":
        divisor = shared.n if denominator == "ranked" else top.length(k)
        n_common = shared.expected_overlap(np.maximum(shared.n, shared.m))
        agreement = formula("common / length", name="overlap", common=n_common, length=divisor)
    elif overlap == "rbo":
        depth = np.maximum(shared.n, shared.m) if k is None else np.full(top.n_users, k)
        agreement = _truncated_overlap(shared, depth, p)
    else:
        agreement = _extrapolated_overlap(shared, p)
    fallbacks = {"undefined": np.nan, "unexpected": float(not inverse), "expected": float(inverse)}
    text = ("overlap" if inverse else "1 - overlap") + " if baseline_items > 0 else absent"
    n = expected.lengths
    return formula(text, overlap=agreement, baseline_items=n, absent=fallbacks[absent])


@dataclass(frozen=True, eq=False)
class _CommonItems:
    """The items in both lists of a user, among their first `n` and `m` ranks."""

    at: IntArray  # where each item is in the first lists
    user: IntArray
    first: Span  # the places that it can have in the first list of its user, from 1
    second: Span  # and in the second one
    n: IntArray  # (n_users,)
    m: IntArray

    @classmethod
    def of(
        cls, lists: Lists, other_lists: Lists, k: int | None, other_k: int | None
    ) -> _CommonItems:
        """The common items of two lists of each user, down to a cutoff."""
        keys = other_lists.user * max(other_lists.n_items, 1) + other_lists.item
        order = np.argsort(keys)
        pairs = lists.user * max(lists.n_items, 1) + lists.item
        places = np.searchsorted(keys, pairs, sorter=order)
        places = order.take(places, mode="clip") if order.size else places
        rows = np.flatnonzero(keys[places] == pairs) if order.size else places[:0]
        n, m = (
            ranked.lengths if cut is None else np.minimum(ranked.lengths, cut)
            for ranked, cut in ((lists, k), (other_lists, other_k))
        )
        first, second = lists.span[rows], other_lists.span[places[rows]]
        return cls(rows, lists.user[rows], first, second, n, m)

    def sum(self, values: FloatArray) -> FloatArray:
        """The sum over each user's common items."""
        return np.bincount(self.user, values, minlength=self.n.size).astype(np.float64)

    def top_probabilities(self, depth: IntArray) -> tuple[FloatArray, FloatArray]:
        """Probabilities of each item to be in the top of the first list, and of the second list."""
        ends = [np.minimum(depth, n)[self.user] for n in (self.n, self.m)]
        first, second = (
            np.clip((end - span.low + 1) / (span.high - span.low + 1), 0.0, 1.0)
            for span, end in zip((self.first, self.second), ends, strict=True)
        )
        return first, second

    def expected_overlap(self, depth: IntArray) -> FloatArray:
        """The expected number of items in the tops of both lists, by user."""
        first, second = self.top_probabilities(depth)
        return self.sum(first * second)

    def expected_agreement(self, depth: IntArray, sums: FloatArray) -> FloatArray:
        """The expected Σ p^d / d over the depths d at which both lists have an item, by user.

        The chance that the top of a list has an item is 0 above its span, rises by equal steps
        within it, and stays what it is below the span or the end of the list. So the product of two
        is a polynomial of d, which differs in three intervals.
        """
        spans = self.first, self.second
        ends = [
            np.minimum(span.high, n[self.user])
            for span, n in zip(spans, (self.n, self.m), strict=True)
        ]
        sizes = [span.high - span.low + 1 for span in spans]
        rising = [(1.0 / n, (1.0 - span.low) / n) for span, n in zip(spans, sizes, strict=True)]
        stays = self.top_probabilities(depth)
        begin, total = np.maximum(spans[0].low, spans[1].low) - 1, np.zeros(self.user.size)
        for last in (np.minimum(*ends), np.maximum(*ends), depth[self.user]):
            (a, b), (c, d) = (
                (np.where(end >= last, rise[0], 0.0), np.where(end >= last, rise[1], stay))
                for end, rise, stay in zip(ends, rising, stays, strict=True)
            )
            end = np.maximum(begin, np.minimum(last, depth[self.user]))
            share, weight, deep = _sums_at_depth(sums, end) - _sums_at_depth(sums, begin)
            total += b * d * share + (a * d + b * c) * weight + a * c * deep
            begin = end
        return self.sum(total)


def _geometric_sums(depth: int, p: float) -> FloatArray:
    """Σ p^d / d, Σ p^d and Σ d p^d of the depths 1, ..., n, for each n up to a depth.

    Deeper than that p^d is 0, so the last sums hold for all greater depths.
    """
    last = math.ceil(-750.0 / math.log(p)) if 0.0 < p < 1.0 else depth
    d = np.arange(1.0, min(depth, last) + 1.0)
    return np.cumsum(np.pad([p**d / d, p**d, d * p**d], [(0, 0), (1, 0)]), axis=1)


def _sums_at_depth(sums: FloatArray, depth: IntArray) -> FloatArray:
    return sums[:, np.minimum(depth, sums.shape[1] - 1)]


def _truncated_overlap(shared: _CommonItems, depth: IntArray, p: float) -> FloatArray:
    """Truncated rank-biased overlap, relative to the largest possible overlap."""
    sums = _geometric_sums(int(depth.max(initial=0)), p)
    total, weights = shared.expected_agreement(depth, sums), _sums_at_depth(sums, depth)[1]
    return formula("sum / weights", name="overlap", sum=total, weights=weights)


def _extrapolated_overlap(shared: _CommonItems, p: float) -> FloatArray:
    """Extrapolated rank-biased overlap (equation 32 of Webber et al.) for unequal lengths."""
    short, long = np.minimum(shared.n, shared.m), np.maximum(shared.n, shared.m)
    sums = _geometric_sums(int(long.max(initial=0)), p)
    agreement = shared.expected_agreement(long, sums)
    n_common, early = shared.expected_overlap(long), shared.expected_overlap(short)
    rate = ratio(early, short)
    share, weight, _ = _sums_at_depth(sums, long) - _sums_at_depth(sums, short)
    going_on = rate * (weight - short * share)
    end = ratio(n_common - early, long) + rate
    text = "(1 - p) / p * (seen + extrapolated) + end * p**longer"
    return formula(
        text, name="overlap", seen=agreement, extrapolated=going_on, end=end, longer=long, p=p
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
    shared = _CommonItems.of(deduplicate(lists.top(k)), deduplicate(baseline), k, None)
    n = lists.length(k)
    deepest = n.copy()
    np.maximum.at(deepest, shared.user, shared.second.low - 1)
    return np.where(baseline.lengths > 0, formula("lowest - k", lowest=deepest, k=n), np.nan)
