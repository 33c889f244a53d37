"""What an item of a list counts: its relevance, and the part of the list it makes up."""

from __future__ import annotations

from typing import Literal

import numpy as np

from rankmeter._evidence.hits import FloatArray
from rankmeter._evidence.lists import Lists
from rankmeter._evidence.steps import column
from rankmeter.metrics._formula import formula
from rankmeter.metrics.discounts import RankDiscount, cumulative_discount, discount_function
from rankmeter.metrics.states import Defined, Ratio

Relevance = Literal["none", "binary", "graded", "exp2"]


def relevance_weights(lists: Lists, relevance: Relevance) -> FloatArray:
    """The weight of each item in a list by its relevance."""
    if relevance == "none":
        return np.ones(lists.item.size)
    if relevance == "graded":
        return lists.gain
    if relevance == "exp2":
        return np.where(lists.relevant, np.exp2(lists.gain) - 1.0, 0.0)
    return lists.relevant.astype(np.float64)


def mean_of(top: Lists, values: FloatArray, k: int | None) -> Ratio:
    """The mean over the items of each list, or their sum over k."""
    n = top.lengths.astype(np.float64) if k is None else np.full(top.n_users, float(k))
    return Defined(top.sum(values), n, ("sum", "items" if k is None else "k"))


def weighted_mean(
    top: Lists, values: FloatArray, discount: RankDiscount, p: float, k: int | None
) -> FloatArray:
    """The sum of values times the weights of their ranks, over that of the weights.

    With k, the weights of all ranks up to k.
    """
    weights = discount_function(discount, p)(top.rank.astype(np.float64))
    column(values, "value", top)
    column(weights, "weight", top)
    total, whole = top.sum(weights * values), np.bincount(top.user, weights, top.n_users)
    if k is not None:
        whole = np.full(top.n_users, _sum_of_weights(k, discount, p))
    return formula("sum / weights", nothing=np.nan, sum=total, weights=whole)


def _sum_of_weights(k: int, discount: RankDiscount, p: float) -> float:
    """The weights of all ranks up to k together."""
    if discount == "none" or (discount == "geometric" and p == 1.0):
        return float(k)
    if discount == "geometric":
        return float((1.0 - p**k) / (1.0 - p))
    return float(cumulative_discount(discount, np.array([k]))[0])


def deduplicate(lists: Lists) -> Lists:
    """The lists with each item once per user."""
    if lists.distinct:
        return lists
    keys = lists.user * max(lists.n_items, 1) + lists.item
    ascending = np.sort(keys)
    if not (ascending[1:] == ascending[:-1]).any():
        return lists
    _, first = np.unique(keys, return_index=True)
    is_first = np.zeros(keys.size, dtype=bool)
    is_first[first] = True
    return lists.only(is_first)
