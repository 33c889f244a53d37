"""Novelty: how new the items of a list are, given the training data."""

from __future__ import annotations

import math
from typing import Annotated, Literal

import numpy as np

from rankmeter._evidence.hits import FloatArray
from rankmeter._evidence.lists import Likeness, Lists, Popularity, Profiles
from rankmeter.metrics._ranges import weighted_by_relevance
from rankmeter.metrics._registry import Example, register
from rankmeter.metrics.distances import Distance, Space
from rankmeter.metrics.states import Ratio
from rankmeter.metrics.weights import (
    RankDiscount,
    Relevance,
    mean_over_items,
    relevance_weights,
    skip_cold_items,
    weighted_mean,
)


@register("Novelty", high=math.inf, synonyms=("self_information", "surprisal", "miuf"))
def novelty(
    lists: Lists,
    popularity: Popularity,
    k: int | None = None,
    *,
    of: Literal["users", "interactions"] = "users",
    base: Literal["2", "e", "users"] = "2",
    cold: Literal["one", "skip", "zero"] = "one",
    denominator: Literal["ranked", "k"] = "ranked",
) -> Ratio:
    """Novelty: mean self-information of the top k, or how rare its items are in the training data.

    Parameters
    ----------
    of : {"users", "interactions"}
        An item's share p: of the training users, or of the training interactions.
    base : {"2", "e", "users"}
        Of the logarithm; ``users`` is the number of training users, so that an item of one user
        has 1.
    cold : {"one", "skip", "zero"}
        An item that is not in the training data counts as if it occurred ``one`` time, is left
        out, or has a novelty of ``zero``.
    denominator : {"ranked", "k"}
        What the sum is divided by: the items in the list, or k.

    Notes
    -----
    Source: Zhou et al., Solving the apparent diversity-accuracy dilemma of recommender systems,
    PNAS 2010; Vargas and Castells, Rank and relevance in novelty and diversity metrics, RecSys
    2011.

    Examples
    --------
    Of four users one has b, which says 2 bits; all have a, which says nothing.

    >>> import rankmeter as rm
    >>> train = {"ann": ["a", "b"], "bob": ["a"], "cat": ["a"], "dan": ["a"]}
    >>> result = rm.evaluate({"bob": ["b", "a"]}, {"bob": {"b"}}, "novelty@1,2", train=train)
    >>> result["novelty@1"].mean, result["novelty@2"].mean
    (2.0, 1.0)
    """
    top = skip_cold_items(lists.top(k), popularity, cold)
    n, n_total = popularity.counts(of)
    log = np.log(n_total) - np.log(np.maximum(n, 1))
    unit = {"2": math.log(2), "e": 1.0, "users": math.log(max(popularity.n_users, 2))}[base]
    information = log / unit
    if cold == "zero":
        information = np.where(popularity.known, information, 0.0)
    return mean_over_items(top, information[top.item], k if denominator == "k" else None)


@register("Expected popularity complement", high=math.inf, bounds=weighted_by_relevance)
def epc(
    lists: Lists,
    popularity: Popularity,
    k: int | None = None,
    *,
    discount: RankDiscount = "log2",
    p: Annotated[float, Example(0.5)] = 0.85,
    relevance: Relevance = "binary",
    denominator: Literal["ranked", "k"] = "ranked",
    cold: Literal["zero", "skip", "one"] = "zero",
) -> FloatArray:
    """Expected popularity complement (EPC): share of users without the relevant items shown.

    Parameters
    ----------
    discount : {"none", "log2", "reciprocal", "geometric"}
        Of a rank r: 1; 1 / log2(r + 1); 1 / r; or p^(r - 1).
    p : float
        Of the geometric discount, between 0 and 1.
    relevance : {"none", "binary", "graded", "exp2"}
        The weight of an item: 1 for all, 1 if it is relevant, its gain, or 2^gain - 1.
    denominator : {"ranked", "k"}
        The sum of the discounts of the items in the list, or of all ranks up to k. Relevance is
        not a part of it.
    cold : {"zero", "skip", "one"}
        An item that is not in the training data has ``zero`` users, is left out, or has ``one``.

    Notes
    -----
    Source: Vargas and Castells, Rank and relevance in novelty and diversity metrics, RecSys 2011.

    Examples
    --------
    Half of the users lack b, and three quarters c; the ranks count as 1 and 0.63.

    >>> import rankmeter as rm
    >>> train = {"ann": ["a", "b"], "bob": ["a", "b"], "cat": ["a", "c"], "dan": ["a"]}
    >>> result = rm.evaluate({"dan": ["b", "c"]}, {"dan": {"b", "c"}}, "epc@2", train=train)
    >>> round(result["epc@2"].mean, 4)
    0.5967
    """
    users = np.maximum(popularity.users, 1) if cold == "one" else popularity.users
    complement = 1.0 - users / max(popularity.n_users, 1)
    top = skip_cold_items(lists.top(k), popularity, cold)
    values = relevance_weights(top, relevance) * complement[top.item]
    return weighted_mean(top, values, discount, p, k if denominator == "k" else None)


@register("Expected free discovery", high=math.inf, bounds=weighted_by_relevance)
def efd(
    lists: Lists,
    popularity: Popularity,
    k: int | None = None,
    *,
    discount: RankDiscount = "log2",
    p: Annotated[float, Example(0.5)] = 0.85,
    relevance: Relevance = "binary",
    denominator: Literal["ranked", "k"] = "ranked",
    cold: Literal["rarest", "skip", "one", "zero"] = "rarest",
) -> FloatArray:
    """Expected free discovery (EFD): mean self-information of the relevant items in the top k.

    Parameters
    ----------
    discount, p, relevance, denominator
        As in `epc`.
    cold : {"rarest", "skip", "one", "zero"}
        An item that is not in the training data is as rare as the ``rarest`` one that is, is left
        out, counts as if it occurred ``one`` time, or has an information of ``zero``.

    Notes
    -----
    An item's share is that of the training interactions; `novelty` is the plain mean. Source:
    Vargas and Castells, Rank and relevance in novelty and diversity metrics, RecSys 2011.

    Examples
    --------
    Of eight interactions two are with b, and one with c: 2 and 3 bits; the ranks count as 1 and
    0.63.

    >>> import rankmeter as rm
    >>> train = {"ann": ["a", "b"], "bob": ["a", "b"], "cat": ["a", "c"], "dan": ["a", "d"]}
    >>> result = rm.evaluate({"dan": ["b", "c"]}, {"dan": {"b", "c"}}, "efd@2", train=train)
    >>> round(result["efd@2"].mean, 4)
    2.3869
    """
    in_training, n = popularity.known, popularity.interactions
    rarest = int(n[in_training].min(initial=popularity.n_interactions)) if cold == "rarest" else 1
    bits = np.log2(max(popularity.n_interactions, 1)) - np.log2(np.where(in_training, n, rarest))
    if cold == "zero":
        bits = np.where(in_training, bits, 0.0)
    top = skip_cold_items(lists.top(k), popularity, cold)
    values = relevance_weights(top, relevance) * bits[top.item]
    return weighted_mean(top, values, discount, p, k if denominator == "k" else None)


@register("Unseen share", synonyms=("unseen_share",))
def unseen(
    lists: Lists,
    profiles: Profiles,
    k: int | None = None,
    *,
    denominator: Literal["ranked", "k"] = "ranked",
) -> Ratio:
    """Unseen share: share of the top k that is not in the user's training data.

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
    is_seen = profiles.holds(top.user, top.item)
    return mean_over_items(top, (~is_seen).astype(np.float64), k if denominator == "k" else None)


@register("Expected profile distance", high=math.inf, bounds=weighted_by_relevance)
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
    """Expected profile distance (EPD): of the relevant items in the top k to the user's history.

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
    space = Space.of(likeness, distance)
    top = space.without_unknown(lists.top(k), unknown)
    values = relevance_weights(top, relevance) * space.mean_distance_to_profile(top, profiles)
    return weighted_mean(top, values, discount, p, k if denominator == "k" else None)
