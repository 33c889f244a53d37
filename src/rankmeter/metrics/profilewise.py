"""Metrics of one list against what its user already has, and against the list of a baseline."""

from __future__ import annotations

import math
from typing import Annotated, Literal

import numpy as np

from rankmeter._hits import FloatArray
from rankmeter._lists import Likeness, Lists, Profiles
from rankmeter.metrics._registry import Example, register
from rankmeter.metrics.discounts import RankDiscount, weight_of
from rankmeter.metrics.distances import Distance, Space
from rankmeter.metrics.places import Relevance, mean_of, weighted, worth
from rankmeter.metrics.states import Ratio


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
    discount : {"none", "log2", "reciprocal", "geometric"}
        Of a rank r: 1; 1 / log2(r + 1); 1 / r; or p^(r - 1).
    p : float
        Of the geometric discount, between 0 and 1.
    relevance : {"none", "binary", "graded", "exp2"}
        The weight of an item: 1 for all, 1 if it is relevant, its gain, or 2^gain - 1.
    denominator : {"ranked", "k"}
        The sum of the discounts of the items in the list, or of all ranks up to k. Relevance is
        not a part of it.
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
    return weighted(top, values, weight_of(discount, p), k if denominator == "k" else None)
