"""Diversity: how different the items of one list are from each other."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import numpy as np

from rankmeter._choices import Alignment
from rankmeter._evidence.hits import FloatArray, ratio
from rankmeter._evidence.lists import Likeness, Lists
from rankmeter._evidence.steps import is_noting, note_column, note_sum
from rankmeter.metrics._formula import formula
from rankmeter.metrics._ranges import UP, UP_TO_ONE, weighted_by_relevance
from rankmeter.metrics._registry import Example, register
from rankmeter.metrics.distances import CELLS, Distance, Space
from rankmeter.metrics.weights import RankDiscount, Relevance, discount_function, relevance_weights


def _ild_bounds(options: Mapping[str, Any], _: Alignment) -> tuple[float, float]:
    return UP_TO_ONE if options["inverse"] else UP


@register(
    "Intra-list diversity",
    high=math.inf,
    bounds=_ild_bounds,
    synonyms=("intra_list_diversity",),
)
def ild(
    lists: Lists,
    likeness: Likeness,
    k: int | None = None,
    *,
    distance: Distance = "cosine",
    over: Literal["pairs", "items"] = "pairs",
    unknown: Literal["skip", "zero"] = "skip",
    single: Literal["undefined", "zero"] = "undefined",
    inverse: bool = False,
) -> FloatArray:
    """Intra-list diversity (ILD): mean pairwise distance of the items in the top k.

    Parameters
    ----------
    distance : {"cosine", "jaccard", "hamming", "hamming_share", "euclidean", "users", "given"}
        Of two items. Of their features: one minus the cosine, which is 0 with a vector of zeros;
        one minus the share of the common features among those of either; the number of features
        that differ, or their share; the Euclidean distance. One minus the cosine of the users who
        have them in the training data (``users``). Or one minus a similarity that is
        ``given``: a square matrix of the items, ``items=(ids, matrix)``.
    over : {"pairs", "items"}
        What the sum over all pairs is divided by: their number, or the number of items.
    unknown : {"skip", "zero"}
        An item without features or similarities: ``skip`` it, or take zeros.
    single : {"undefined", "zero"}
        The value of a list with fewer than two items.
    inverse : bool
        One minus the mean: with most distances the mean similarity.

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
    space = Space.of(likeness, distance)
    top = space.without_unknown(lists.top(k), unknown)
    total, n = space.pair_distance_sums(top), top.lengths
    n_terms = n * (n - 1) / 2 if over == "pairs" else np.where(n > 1, n, 0)
    fallback = 0.0 if single == "zero" else np.nan
    if is_noting():
        for _, item, positions in top.blocks(CELLS):
            distances = space.pairwise_distances(item).sum(axis=(0, 2))
            note_column(distances, "to the others", top, top.rank[positions[0]])
    terms: dict[str, Any] = {"distances": total, over: n_terms}
    mean = formula(f"distances / {over}", name="mean", nothing=fallback, **terms)
    return formula("1 - mean", mean=mean) if inverse else mean


@register(
    "Rank- and relevance-aware intra-list diversity",
    high=math.inf,
    bounds=weighted_by_relevance,
)
def eild(
    lists: Lists,
    likeness: Likeness,
    k: int | None = None,
    *,
    distance: Distance = "cosine",
    discount: RankDiscount = "log2",
    p: Annotated[float, Example(0.5)] = 0.85,
    relevance: Relevance = "none",
    unknown: Literal["skip", "zero"] = "skip",
    single: Literal["undefined", "zero"] = "undefined",
) -> FloatArray:
    """Rank- and relevance-aware intra-list diversity (EILD): that of a reader who may stop early.

    Parameters
    ----------
    distance : {"cosine", "jaccard", "hamming", "hamming_share", "euclidean", "users", "given"}
        As in `ild`.
    discount : {"none", "log2", "reciprocal", "geometric"}
        Of a rank r: 1; 1 / log2(r + 1); 1 / r; or p^(r - 1). The distance of an item to a later one
        is discounted by how far below it that one is.
    p : float
        Of the geometric discount, between 0 and 1.
    relevance : {"none", "binary", "graded", "exp2"}
        The weight of an item: 1 for all, 1 if it is relevant, its gain, or 2^gain - 1.
    unknown : {"skip", "zero"}
        An item without features or similarities: ``skip`` it, or take zeros.
    single : {"undefined", "zero"}
        The value of a list with fewer than two items.

    Notes
    -----
    An item without others of any weight has the distance 0. Source: Vargas and Castells, Rank and
    relevance in novelty and diversity metrics, RecSys 2011.

    Examples
    --------
    Seen from a, c is one rank below b: (0 + 0.63) / (1 + 0.63) = 0.387. From b it is 1/2, and from
    c, where both others are before it, 1. Ranks count as 1, 0.63 and 0.5.

    >>> import rankmeter as rm
    >>> genres = {"a": ["action"], "b": ["action"], "c": ["drama"]}
    >>> result = rm.evaluate({"ann": ["a", "b", "c"]}, {"ann": {"a"}}, "eild@3", items=genres)
    >>> round(result["eild@3"].mean, 4)
    0.5642
    """
    space, weight = Space.of(likeness, distance), discount_function(discount, p)
    top = space.without_unknown(lists.top(k), unknown)
    weights = relevance_weights(top, relevance)
    values = np.zeros(lists.n_users)
    for users, item, positions in space.list_blocks(top):
        rank = top.rank[positions].astype(np.float64)
        below = rank[:, None, :] - rank[:, :, None]
        pair_weights = weight(np.maximum(below, 1.0)) * weights[positions][:, None, :]
        n = np.arange(item.shape[1])
        pair_weights[:, n, n] = 0.0
        sums = (pair_weights * space.pairwise_distances(item)).sum(axis=2)
        distances = ratio(sums, pair_weights.sum(axis=2)) * weights[positions]
        discounts = weight(rank)
        terms = discounts * distances
        total, total_weight = terms.sum(axis=1), discounts.sum(axis=1)
        note_column(distances[0], "to the others", top, top.rank[positions[0]])
        note_column(discounts[0], "weight", top, top.rank[positions[0]])
        note_sum(total, terms[0], top, top.rank[positions[0]])
        values[users] = formula("sum / weights", sum=total, weights=total_weight)
    return np.where(top.lengths > 1, values, 0.0 if single == "zero" else np.nan)


@register("Vendi score", low=1.0, high=math.inf, reached=False, synonyms=("vendi_score",))
def vendi(
    lists: Lists,
    likeness: Likeness,
    k: int | None = None,
    *,
    similarity: Literal["cosine", "jaccard", "users", "given"] = "cosine",
    unknown: Literal["skip", "zero"] = "skip",
) -> FloatArray:
    """Vendi score: number of items with nothing in common that are as diverse as the top k.

    Parameters
    ----------
    similarity : {"cosine", "jaccard", "users", "given"}
        One minus the distance of `ild`.
    unknown : {"skip", "zero"}
        An item without features or similarities: ``skip`` it, or take zeros.

    Notes
    -----
    It is the exponential of the entropy of the eigenvalues of the matrix of similarities over the
    length of the list; negative eigenvalues, which only a given matrix has, count as zeros.
    Source: Friedman and Dieng, The Vendi score, TMLR 2023.

    Examples
    --------
    Two items are alike, and one is not: shares of 2/3 and 1/3.

    >>> import rankmeter as rm
    >>> genres = {"a": ["action"], "b": ["action"], "c": ["drama"]}
    >>> result = rm.evaluate({"ann": ["a", "b", "c"]}, {"ann": {"a"}}, "vendi@3", items=genres)
    >>> round(result["vendi@3"].mean, 4)
    1.8899
    """
    space = Space.of(likeness, similarity)
    top = space.without_unknown(lists.top(k), unknown)
    values = np.full(lists.n_users, np.nan)
    for users, item, _ in space.list_blocks(top):
        share = np.linalg.eigvalsh(1.0 - space.pairwise_distances(item)) / item.shape[1]
        share = np.maximum(share, 0.0)
        share /= share.sum(axis=1, keepdims=True)
        log = np.log(share, out=np.zeros_like(share), where=share > 0)
        note_column(share[0], "share", share)
        entropy = -(share * log).sum(axis=1)
        values[users] = formula("exp(entropy)", entropy=entropy)
    return values
