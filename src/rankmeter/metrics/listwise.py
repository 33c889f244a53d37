"""Metrics of the items of one list: how different they are, how new and how popular."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from rankmeter._hits import BoolArray, FloatArray, IntArray, ratio
from rankmeter._lists import Features, Lists, Popularity, Profiles
from rankmeter.metrics._registry import register

Distance = Literal["cosine", "jaccard", "hamming", "hamming_share", "euclidean"]

_CELLS = 2**21  # numbers of the matrices that are worked on at a time


@register("Intra-list diversity", high=math.inf, synonyms=("intra_list_diversity",))
def ild(
    lists: Lists,
    features: Features,
    k: int | None = None,
    *,
    distance: Distance = "cosine",
    over: Literal["pairs", "items"] = "pairs",
    unknown: Literal["skip", "zero"] = "skip",
    single: Literal["undefined", "zero"] = "undefined",
) -> FloatArray:
    """Mean distance of the pairs of items in the top k.

    Parameters
    ----------
    distance : {"cosine", "jaccard", "hamming", "hamming_share", "euclidean"}
        Of the features of two items: one minus the cosine; one minus the share of the common
        features among those of either; the number of features that differ, or their share; or the
        Euclidean distance. The cosine with a vector of zeros is 0.
    over : {"pairs", "items"}
        What the sum over all pairs is divided by: their number, or the number of items.
    unknown : {"skip", "zero"}
        An item without features: ``skip`` it, or take a vector of zeros.
    single : {"undefined", "zero"}
        The value of a list with fewer than two items.

    Notes
    -----
    Source: Smyth and McClave, Similarity vs. diversity, ICCBR 2001; Ziegler et al., Improving
    recommendation lists through topic diversification, WWW 2005.

    Examples
    --------
    Two of the three pairs have nothing in common.

    >>> import rankmeter as rm
    >>> genres = {"a": ["action"], "b": ["action"], "c": ["drama"]}
    >>> result = rm.evaluate({"ann": ["a", "b", "c"]}, {"ann": {"a"}}, "ild@3", items=genres)
    >>> round(result["ild@3"].mean, 4)
    0.6667
    """
    top = lists.top(k)
    if unknown == "skip":
        top = top.only(features.known[top.item])
    vectors = features.unit if distance == "cosine" else features
    total = np.zeros(lists.n_users)
    width = vectors.n_features
    for users, item, _ in top.blocks(max(1, _CELLS // max(width, 1))):
        rows = vectors.rows(item.ravel()).reshape(*item.shape, width)
        total[users] = _total_distance(rows, distance)
    n = top.lengths
    whole = n * (n - 1) / 2 if over == "pairs" else n
    nothing = 0.0 if single == "zero" else np.nan
    return np.where(n > 1, ratio(total, whole), nothing)


def _total_distance(rows: FloatArray, distance: Distance) -> FloatArray:
    """The sum of the distances of all pairs of vectors, given (n_users, n_items, n_features)."""
    n = rows.shape[1]
    pairs = n * (n - 1) / 2
    if distance == "cosine":
        both = rows.sum(axis=1)
        own, whole = np.einsum("uif,uif->u", rows, rows), np.einsum("uf,uf->u", both, both)
        return np.asarray(pairs - (whole - own) / 2)
    upper = np.triu_indices(n, 1)
    if distance in ("hamming", "hamming_share"):
        differ = np.zeros(rows.shape[0])
        for i, j in zip(*upper, strict=True):
            differ += np.count_nonzero(rows[:, i] != rows[:, j], axis=1)
        return np.asarray(differ / (rows.shape[2] if distance == "hamming_share" else 1))
    if distance == "jaccard":
        rows = (rows != 0).astype(np.float64)
    common = rows @ rows.transpose(0, 2, 1)
    size = np.einsum("uii->ui", common)
    both, either = common[:, *upper], size[:, upper[0]] + size[:, upper[1]]
    if distance == "jaccard":
        either = either - both
        similar = ratio(both, either)
        return np.asarray(pairs - similar.sum(axis=1))
    return np.asarray(np.sqrt(np.maximum(either - 2 * both, 0.0)).sum(axis=1))


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
) -> FloatArray:
    """Mean self-information of the top k: how rare its items are in the training data.

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
    top = lists.top(k)
    n, whole = popularity.users, popularity.n_users
    if of == "interactions":
        n, whole = popularity.interactions, popularity.n_interactions
    known = popularity.known
    log = np.log(whole) - np.log(np.maximum(n, 1))
    unit = {"2": math.log(2), "e": 1.0, "users": math.log(max(popularity.n_users, 2))}[base]
    each = log / unit
    if cold == "zero":
        each = np.where(known, each, 0.0)
    if cold == "skip":
        top = top.only(known[top.item])
    return _mean(top, each[top.item], k if denominator == "k" else None)


@register("Popularity", high=math.inf, increasing=False, synonyms=("arp", "average_popularity"))
def popularity(
    lists: Lists,
    popularity: Popularity,
    k: int | None = None,
    *,
    of: Literal["users", "interactions"] = "interactions",
    scale: Literal["count", "share", "most", "rank"] = "count",
    cold: Literal["zero", "skip", "one"] = "zero",
    denominator: Literal["ranked", "k"] = "ranked",
) -> FloatArray:
    """Mean popularity of the top k in the training data.

    Parameters
    ----------
    of : {"users", "interactions"}
        What is counted for an item: training users, or training interactions.
    scale : {"count", "share", "most", "rank"}
        The ``count`` itself; its ``share`` of all users or interactions; divided by the count of
        the ``most`` popular item; or the item's ``rank`` by count over the number of training
        items, where the most popular item has 1 and tied items have their mean rank.
    cold : {"zero", "skip", "one"}
        An item that is not in the training data counts ``zero``, is left out, or counts as if it
        occurred ``one`` time.
    denominator : {"ranked", "k"}
        What the sum is divided by: the items in the list, or k.

    Notes
    -----
    Lower means that less popular items are shown, which is not better for its own sake. Source:
    Yin et al., Challenging the long tail recommendation, VLDB 2012.

    Examples
    --------
    >>> import rankmeter as rm
    >>> train = {"ann": ["a", "b"], "bob": ["a"], "cat": ["a"], "dan": ["a"]}
    >>> result = rm.evaluate({"bob": ["b", "a"]}, {"bob": {"b"}}, "popularity@2", train=train)
    >>> result["popularity@2"].mean
    2.5
    """
    top = lists.top(k)
    n, whole = popularity.interactions, popularity.n_interactions
    if of == "users":
        n, whole = popularity.users, popularity.n_users
    known = popularity.known
    if cold == "one":
        n = np.maximum(n, 1)
    each = n.astype(np.float64)
    if scale == "share":
        each = each / whole
    elif scale == "most":
        each = each / max(int(n.max(initial=0)), 1)
    elif scale == "rank":
        each = _rank_share(n, known)
    if cold == "skip":
        top = top.only(known[top.item])
    return _mean(top, each[top.item], k if denominator == "k" else None)


def _rank_share(n: IntArray, known: BoolArray) -> FloatArray:
    """Mean ascending rank by count over the number of known items; 0 for the others."""
    _, at, size = np.unique(n[known], return_inverse=True, return_counts=True)
    last = np.cumsum(size)
    result = np.zeros(n.size)
    result[known] = (last - (size - 1) / 2)[at] / max(int(known.sum()), 1)
    return result


@register("Unseen share", synonyms=("unseen_share",))
def unseen(
    lists: Lists,
    profiles: Profiles,
    k: int | None = None,
    *,
    denominator: Literal["ranked", "k"] = "ranked",
) -> FloatArray:
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
    return _mean(top, (~seen).astype(np.float64), k if denominator == "k" else None)


def _mean(top: Lists, values: FloatArray, k: int | None) -> FloatArray:
    """The mean over the items of each list, or their sum over k."""
    return top.mean(values) if k is None else top.sum(values) / k
