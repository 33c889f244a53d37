"""Metrics of one list against what its user already has in the training data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import numpy as np

from rankmeter._checks import number
from rankmeter._hits import FloatArray, ratio
from rankmeter._lists import Catalogue, Features, Likeness, Lists, Popularity, Profiles
from rankmeter._steps import column, worked
from rankmeter.errors import UsageError
from rankmeter.metrics._registry import Example, register
from rankmeter.metrics.discounts import RankDiscount, weight_of
from rankmeter.metrics.distances import Distance, Space
from rankmeter.metrics.places import Relevance, mean_of, weighted, worth
from rankmeter.metrics.states import Ratio
from rankmeter.metrics.tailwise import Border, tail_of
from rankmeter.metrics.topics import counts, per_item


@register("Unseen share", synonyms=("unseen_share",))
def unseen(
    lists: Lists,
    profiles: Profiles,
    k: int | None = None,
    *,
    denominator: Literal["ranked", "k"] = "ranked",
) -> Ratio:
    """Share of the top k that is not in the user's training data.

    Parameters
    ----------
    denominator : {"ranked", "k"}
        What the number of unseen items is divided by: the items in the list, or k.

    Examples
    --------
    >>> import rankmeter as rm
    >>> result = rm.evaluate({"ann": ["a", "b"]}, {"ann": {"b"}}, "unseen@2", train={"ann": ["a"]})
    >>> result["unseen@2"].mean
    0.5
    """
    top = lists.top(k)
    seen = profiles.holds(top.user, top.item)
    return mean_of(top, (~seen).astype(np.float64), k if denominator == "k" else None)


@register("Expected profile distance", high=math.inf)
def epd(
    lists: Lists,
    profiles: Profiles,
    likeness: Likeness,
    k: int | None = None,
    *,
    distance: Distance = "cosine",
    discount: RankDiscount = "log2",
    p: Annotated[float, Example(0.5)] = 0.85,
    relevance: Relevance = "binary",
    denominator: Literal["ranked", "k"] = "ranked",
    unknown: Literal["skip", "zero"] = "skip",
) -> FloatArray:
    """Mean distance of the relevant items of the top k to what the user already has.

    Parameters
    ----------
    distance : {"cosine", "jaccard", "hamming", "hamming_share", "euclidean", "users", "given"}
        As in `ild`. That of an item to a profile is the mean over the items of the profile.
    discount, p, relevance, denominator
        As in `epc`.
    unknown : {"skip", "zero"}
        An item of the list without features or similarities: ``skip`` it, or take zeros. Such
        items of the profile are left out.

    Notes
    -----
    A user without a profile is undefined (NaN). Source: Vargas and Castells, Rank and relevance in
    novelty and diversity metrics, RecSys 2011.

    Examples
    --------
    Ann has action; the drama is at rank 2 of 2, and ranks count as 1 and 0.63: 0.63 / 1.63.

    >>> import rankmeter as rm
    >>> genres = {"a": ["action"], "b": ["action"], "c": ["drama"]}
    >>> lists, truth, train = {"ann": ["b", "c"]}, {"ann": {"b", "c"}}, {"ann": ["a"]}
    >>> result = rm.evaluate(lists, truth, "epd@2", train=train, items=genres)
    >>> round(result["epd@2"].mean, 4)
    0.3869
    """
    space, top = Space.of(likeness, distance), lists.top(k)
    if unknown == "skip":
        top = top.only(space.known[top.item])
    values = worth(top, relevance) * space.to_profile(top, profiles)
    return weighted(top, values, discount, p, k if denominator == "k" else None)


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
    """How many items of the top k are relevant and at the same time not to be expected.

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
    own = worth(top, relevance)
    if form == "rank":
        return top.mean(own * _ahead(top, popularity, catalogue))
    far = column(Space.of(likeness, distance).to_profile(top, profiles), "distance", top)
    if form == "unlike":
        return top.mean(np.where(own > 0, own * far, np.where(np.isnan(far), np.nan, 0.0)))
    found = np.where(top.sum(own) > 0, 1.0, np.nan)
    near = top.sum(np.where(own > 0, own * (1.0 - far), 0.0))
    return np.asarray(worked(found - near, "1 - sum", sum=near))


def _ahead(top: Lists, popularity: Popularity, catalogue: Catalogue | None) -> FloatArray:
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


_HEAD: Border = ("interactions", 0.2)
_TAIL: Border = ("interactions", 0.8)


def _borders(options: Mapping[str, Any]) -> list[Border]:
    return [_HEAD, _TAIL] if options["of"] == "popularity" else []


@register(
    "Miscalibration",
    high=math.inf,
    increasing=False,
    reached=False,
    synonyms=("miscalibration",),
    borders=_borders,
)
def calibration(
    lists: Lists,
    profiles: Profiles,
    popularity: Popularity,
    categories: Features | None,
    k: int | None = None,
    *,
    of: Literal["categories", "popularity"] = "categories",
    divergence: Literal["kl", "js", "hellinger"] = "kl",
    alpha: Annotated[float, Example(0.1)] = 0.01,
    base: Literal["e", "2"] = "e",
    discount: RankDiscount = "none",
    p: Annotated[float, Example(0.5)] = 0.85,
    weights: Literal["none", "rating"] = "none",
) -> FloatArray:
    """How far the categories of the top k are from those that the user has: 0 is calibrated.

    Parameters
    ----------
    of : {"categories", "popularity"}
        What the items are grouped by. The groups of popularity are the most popular items with 20 %
        of the training interactions, the least popular ones with 20 %, and those between.
    divergence : {"kl", "js", "hellinger"}
        Of the two distributions: Kullback-Leibler, Jensen-Shannon, or the Hellinger distance.
    alpha : float
        The share of the user's own distribution that is mixed into that of the list, for ``kl``;
        with 0 a category that the list lacks makes the value infinite.
    base : {"e", "2"}
        Of the logarithm: nats or bits; ``hellinger`` has none.
    discount : {"none", "log2", "reciprocal", "geometric"}
        The weight of rank r: 1; 1 / log2(r + 1); 1 / r; or p^(r - 1).
    p : float
        Of the geometric discount, between 0 and 1.
    weights : {"none", "rating"}
        The weight of a training item: 1, or its rating.

    Notes
    -----
    An item with several categories is shared by them, and items without any are left out. Where
    nothing is left of the list or of the training items, the value is undefined (NaN). Source:
    Steck, Calibrated recommendations, RecSys 2018; Abdollahpouri et al., User-centered evaluation
    of popularity bias, UMAP 2021 (``of="popularity"``, with ``js`` in bits).

    Examples
    --------
    Ann has action and drama, and is shown action: 1 ln (0.5 / 0.995) and ln (0.5 / 0.005), half
    each.

    >>> import rankmeter as rm
    >>> genres = {"a": ["action"], "b": ["action"], "c": ["drama"]}
    >>> lists, truth, train = {"ann": ["b"]}, {"ann": {"b"}}, {"ann": ["a", "c"]}
    >>> result = rm.evaluate(lists, truth, "calibration@1", train=train, items=genres)
    >>> round(result["calibration@1"].mean, 4)
    1.9585
    """
    groups = _by_popularity(popularity) if of == "popularity" else categories
    if groups is None:
        raise UsageError("needs categories of the items: pass items=", option="items")
    top, shared, weight = lists.top(k), per_item(groups), weight_of(discount, p)
    alpha = number("alpha", alpha, least=0, most=1)
    own = _shares(counts(profiles, shared, profiles.weight if weights == "rating" else None))
    shown = _shares(counts(top, shared, weight(top.rank.astype(np.float64))))
    column(own, "of the user", groups)
    column(shown, "in the list", groups)
    unit = math.log(2) if base == "2" else 1.0
    if divergence == "hellinger":
        total = ((np.sqrt(own) - np.sqrt(shown)) ** 2).sum(axis=1)
        return np.asarray(worked(np.sqrt(total / 2.0), "sqrt(squares / 2)", squares=total))
    if divergence == "js":
        middle = (own + shown) / 2.0
        first, second = _divergence(own, middle), _divergence(shown, middle)
        value = (first + second) / (2.0 * unit)
        known = {"of_the_user": first, "of_the_list": second, "unit": unit}
        return worked(value, "(of_the_user + of_the_list) / (2 * unit)", **known)
    mixed = column((1.0 - alpha) * shown + alpha * own, "mixed", groups)
    nats = _divergence(own, mixed)
    return worked(nats / unit, "divergence / unit", divergence=nats, unit=unit)


def _by_popularity(popularity: Popularity) -> Features:
    """Head, middle and tail as categories; items without users are in the tail."""
    head, tail = ~tail_of(popularity, *_HEAD, "tail"), tail_of(popularity, *_TAIL, "tail")
    matrix = np.column_stack([head, ~head & ~tail, tail]).astype(np.float64)
    return Features(matrix, np.ones(len(matrix), dtype=bool))


def _shares(sums: FloatArray) -> FloatArray:
    """The sums of each user over all of them; NaN where they are all 0."""
    whole = np.broadcast_to(sums.sum(axis=1, keepdims=True), sums.shape)
    return ratio(sums, whole, nothing=np.nan)


def _divergence(one: FloatArray, other: FloatArray) -> FloatArray:
    """Kullback-Leibler, in nats."""
    with np.errstate(divide="ignore"):
        more = np.divide(one, other, out=np.ones_like(one), where=one > 0)
    whole: FloatArray = np.maximum((one * np.log(more)).sum(axis=1), 0.0)
    return whole
