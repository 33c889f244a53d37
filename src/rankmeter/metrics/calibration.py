"""Calibration: the categories of a list compared with those of the user's history."""

from __future__ import annotations

import math
from typing import Annotated, Literal

import numpy as np

from rankmeter._evidence.hits import FloatArray
from rankmeter._evidence.lists import Features, Lists, Popularity, Profiles
from rankmeter._evidence.steps import note_column
from rankmeter.errors._checks import check_number
from rankmeter.metrics._formula import formula
from rankmeter.metrics._registry import Example, register, require
from rankmeter.metrics.category_diversity import category_counts, normalize_sums, split_item_weights
from rankmeter.metrics.long_tail import Border, mask_long_tail
from rankmeter.metrics.weights import RankDiscount, discount_function

_HEAD: Border = ("interactions", 0.2)


_TAIL: Border = ("interactions", 0.8)


@register(
    "Miscalibration",
    high=math.inf,
    increasing=False,
    reached=False,
    synonyms=("miscalibration",),
    borders=lambda options: [_HEAD, _TAIL] if options["of"] == "popularity" else [],
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
    """Miscalibration: divergence of the top k's categories from those of the user; 0 is calibrated.

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
    grouping = categories if of == "categories" else _popularity_categories(popularity)
    groups = require(grouping, "categories")
    top, shared, weight = lists.top(k), split_item_weights(groups), discount_function(discount, p)
    alpha = check_number("alpha", alpha, least=0, most=1)
    ratings = profiles.weight if weights == "rating" else None
    profile = normalize_sums(category_counts(profiles, shared, ratings))
    listed = normalize_sums(category_counts(top, shared, weight(top.rank.astype(np.float64))))
    note_column(profile, "of the user", groups)
    note_column(listed, "in the list", groups)
    unit = math.log(2) if base == "2" else 1.0
    if divergence == "hellinger":
        total = ((np.sqrt(profile) - np.sqrt(listed)) ** 2).sum(axis=1)
        return formula("sqrt(squares / 2)", squares=total)
    if divergence == "js":
        middle = (profile + listed) / 2.0
        first, second = _kl_divergence(profile, middle), _kl_divergence(listed, middle)
        text = "(of_the_user + of_the_list) / (2 * unit)"
        return formula(text, of_the_user=first, of_the_list=second, unit=unit)
    mixed = note_column((1.0 - alpha) * listed + alpha * profile, "mixed", groups)
    nats = _kl_divergence(profile, mixed)
    return formula("divergence / unit", divergence=nats, unit=unit)


def _popularity_categories(popularity: Popularity) -> Features:
    """Head, middle and tail as categories; items without users are in the tail."""
    head, tail = (
        ~mask_long_tail(popularity, *_HEAD, "tail"),
        mask_long_tail(popularity, *_TAIL, "tail"),
    )
    matrix = np.column_stack([head, ~head & ~tail, tail]).astype(np.float64)
    return Features(matrix, np.ones(len(matrix), dtype=bool))


def _kl_divergence(p: FloatArray, q: FloatArray) -> FloatArray:
    """Kullback-Leibler divergence of each row, in nats."""
    with np.errstate(divide="ignore"):
        ratios = np.divide(p, q, out=np.ones_like(p), where=p > 0)
    nats: FloatArray = np.maximum((p * np.log(ratios)).sum(axis=1), 0.0)
    return nats
