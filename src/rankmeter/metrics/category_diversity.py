"""Diversity of categories: how many genres or topics a list has, and how evenly."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Annotated, Literal

import numpy as np

from rankmeter._evidence.hits import FloatArray, ratio
from rankmeter._evidence.lists import Features, Lists, Popularity, Profiles
from rankmeter._evidence.steps import note_column, note_sum
from rankmeter.errors._checks import check_number
from rankmeter.metrics._formula import formula
from rankmeter.metrics._registry import Example, register
from rankmeter.metrics.weights import RankDiscount, discount_function


def category_counts(
    entries: Lists | Profiles, categories: Features, weights: FloatArray | None = None
) -> FloatArray:
    """Sum of the category vectors of each user's items, shape (n_users, n_categories)."""
    from scipy.sparse import csr_array

    weights = np.ones(entries.item.size) if weights is None else weights
    shape = (entries.offsets.size - 1, categories.matrix.shape[0])
    sums = csr_array((weights, entries.item, entries.offsets), shape=shape) @ categories.matrix
    return np.asarray(sums.toarray() if hasattr(sums, "toarray") else sums)


def normalize_sums(sums: FloatArray, *, fallback: float = np.nan) -> FloatArray:
    """Divide the sums of each user, or of all users, by their total; `fallback` if all are 0."""
    return ratio(sums, sums.sum(axis=-1, keepdims=True), nothing=fallback)


def split_item_weights(categories: Features) -> Features:
    """Split the weight of each item equally among its categories."""
    n = np.maximum(np.asarray(categories.matrix.sum(axis=1)), 1.0)
    return replace(categories, matrix=categories.matrix / n[:, None])


@register("Categorical diversity", high=math.inf)
def categorical_diversity(
    lists: Lists,
    categories: Features,
    k: int | None = None,
    *,
    denominator: Literal["k", "ranked", "categories"] = "k",
) -> FloatArray:
    """Categorical diversity: number of different categories in the top k, per item.

    Parameters
    ----------
    denominator : {"k", "ranked", "categories"}
        What the number is divided by: k, or without a cutoff the items in the list; the items in
        the list; or the number of all categories.

    Notes
    -----
    It exceeds 1 if items have several categories. For items of one category each,
    ``ild(distance=jaccard)`` is the share of pairs with different categories.

    Examples
    --------
    >>> import rankmeter as rm
    >>> genres = {"a": ["action"], "b": ["action"], "c": ["drama"]}
    >>> result = rm.evaluate(
    ...     {"ann": ["a", "b", "c"]}, {"ann": {"a"}}, "categorical_diversity@2,3", items=genres
    ... )
    >>> [round(value.mean, 4) for value in result.values()]
    [0.5, 0.6667]
    """
    top = lists.top(k)
    counts = category_counts(top, categories)
    note_column(counts, "items", categories)
    n_distinct = np.count_nonzero(counts, axis=1).astype(np.float64)
    n = top.length(k) if denominator == "k" else top.lengths
    if denominator == "categories":
        n = np.full(top.n_users, categories.n_features)
    return formula("shown / whole", shown=n_distinct, whole=n)


@register("Entropy of categories", high=math.inf, synonyms=("rank_biased_entropy",))
def category_entropy(
    lists: Lists,
    categories: Features,
    k: int | None = None,
    *,
    discount: RankDiscount = "none",
    p: Annotated[float, Example(0.5)] = 0.85,
    smoothing: Annotated[float, Example(1e-6, 0.1)] = 0.0,
    base: Literal["2", "e"] = "2",
) -> FloatArray:
    """Entropy of categories: how evenly the top k covers its categories; larger is more even.

    Parameters
    ----------
    discount : {"none", "log2", "reciprocal", "geometric"}
        The weight of rank r: 1; 1 / log2(r + 1); 1 / r; or p^(r - 1), which gives the rank-biased
        entropy.
    p : float
        Of the geometric discount, between 0 and 1.
    smoothing : float
        Added to the sum of each category.
    base : {"2", "e"}
        Of the logarithm: bits or nats.

    Notes
    -----
    An item with several categories is shared by them. A list without any categories is undefined
    (NaN).

    Examples
    --------
    Two items of one category and one of another: shares of 2/3 and 1/3.

    >>> import rankmeter as rm
    >>> genres = {"a": ["action"], "b": ["action"], "c": ["drama"]}
    >>> lists, truth = {"ann": ["a", "b", "c"]}, {"ann": {"a"}}
    >>> result = rm.evaluate(lists, truth, "category_entropy@3", items=genres)
    >>> round(result["category_entropy@3"].mean, 4)
    0.9183
    """
    top, weight = lists.top(k), discount_function(discount, p)
    sums = category_counts(top, split_item_weights(categories), weight(top.rank.astype(np.float64)))
    has_category = sums.sum(axis=1) > 0
    sums = sums + check_number("smoothing", smoothing, least=0)
    share = normalize_sums(sums, fallback=0.0)
    log = np.log(share, out=np.zeros_like(share), where=share > 0)
    note_column(share, "share", categories)
    terms = -share * log / (math.log(2) if base == "2" else 1.0)
    entropy = -(share * log).sum(axis=1) / (math.log(2) if base == "2" else 1.0)
    note_sum(entropy, terms, categories)
    return np.where(has_category, np.maximum(entropy, 0.0), np.nan)


@register("Binomial diversity")
def binomial_diversity(
    lists: Lists,
    categories: Features,
    popularity: Popularity,
    profiles: Profiles,
    k: int | None = None,
    *,
    alpha: Annotated[float, Example(0.8)] = 0.5,
    part: Literal["both", "coverage", "non_redundancy"] = "both",
) -> FloatArray:
    """Binomial diversity: how well the categories fit a random list, none missing, none too often.

    Parameters
    ----------
    alpha : float
        The weight of the user's own training items in the chance of a category; the rest is that
        of all training interactions.
    part : {"both", "coverage", "non_redundancy"}
        The product; the chance that a random list lacks the missing categories, its geometric mean
        over all categories; or the chance that a random list with a category has it as often,
        its geometric mean over the categories in the list.

    Notes
    -----
    The number of items of a category in a random list of the same length is binomial. For a user
    without training items the chance is that of all interactions. Source: Vargas et al., Coverage,
    redundancy and size-awareness in genre diversity for recommender systems, RecSys 2014.

    Examples
    --------
    Half of all interactions are with each of two categories. Of random lists of two, a quarter has
    no drama: its root, 1/2, is the coverage. Of those with any action, a third has two.

    >>> import rankmeter as rm
    >>> genres, train = {"a": ["action"], "b": ["action"], "c": ["drama"]}, {"bob": ["a", "c"]}
    >>> lists, truth = {"ann": ["a", "b"]}, {"ann": {"a"}}
    >>> result = rm.evaluate(lists, truth, "binomial_diversity@2", train=train, items=genres)
    >>> round(result["binomial_diversity@2"].mean, 4)
    0.1667
    """
    from scipy.special import betainc

    top, weight = lists.top(k), check_number("alpha", alpha, least=0, most=1)
    all_of = popularity.interactions @ categories.rows(np.arange(lists.n_items))
    general = all_of / max(popularity.n_interactions, 1)
    counts = category_counts(top, categories)
    size = profiles.lengths[:, None].astype(np.float64)
    of_user = category_counts(profiles, categories) / np.maximum(size, 1.0)
    chance = np.where(size > 0, (1.0 - weight) * general + weight * of_user, general)
    n = np.broadcast_to(top.lengths[:, None], counts.shape).astype(np.float64)
    with np.errstate(divide="ignore"):
        without = n * np.log1p(-chance)
    least = np.maximum(counts, 1.0)
    often = betainc(least, np.maximum(n - least, 0.0) + 1.0, chance)  # P[X >= least]
    any_of = -np.expm1(without)
    usual = np.log(ratio(often, any_of, nothing=1.0), where=counts > 0, out=np.zeros_like(counts))
    lacking = np.where((counts == 0) & (chance > 0), without, 0.0).sum(axis=1)
    note_column(counts, "items", categories)
    note_column(chance, "chance of an item", categories)
    width, text = max(categories.n_features, 1), "exp(log_chance / categories)"
    coverage = formula(text, name="coverage", log_chance=lacking, categories=width)
    kinds, logs = np.count_nonzero(counts, axis=1), usual.sum(axis=1)
    text, name = "exp(log_usual / shown)", "non_redundancy"
    redundancy = formula(text, name=name, log_usual=logs, shown=kinds)
    text = part if part != "both" else "coverage * non_redundancy"
    return formula(text, coverage=coverage, non_redundancy=redundancy)
