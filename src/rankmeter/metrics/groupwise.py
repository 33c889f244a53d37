"""Metrics of the lists of all users together: whether groups of items are shown alike."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

import numpy as np

from rankmeter._hits import FloatArray
from rankmeter._lists import Features, Lists, Popularity, Profiles
from rankmeter._steps import worked
from rankmeter.errors import UsageError
from rankmeter.metrics._registry import register
from rankmeter.metrics.exposures import Grouped, of_groups
from rankmeter.metrics.places import once
from rankmeter.metrics.tailwise import Border, tail_of
from rankmeter.metrics.topics import counts

Groups: TypeAlias = Literal["categories", "popularity"]


def _border(options: Mapping[str, Any]) -> list[Border]:
    return [("interactions", None)] if options["groups"] == "popularity" else []


@register(
    "Ranking-based statistical parity",
    high=math.inf,
    aggregate="micro",
    increasing=False,
    needs_items=False,
    synonyms=("ranking_based_statistical_parity",),
    borders=_border,
)
def rsp(
    lists: Lists,
    profiles: Profiles,
    popularity: Popularity,
    categories: Features | None,
    k: int | None = None,
    *,
    groups: Groups = "categories",
) -> Grouped:
    """How differently likely items of each group are in the top k: 0 is parity.

    Parameters
    ----------
    groups : {"categories", "popularity"}
        What the items are grouped by: their categories, where an item with several is in several
        groups; or the short head and the long tail of the training items, as in `tail_share`.

    Notes
    -----
    The standard deviation over the groups, divided by their mean, of the share of the candidates
    that are shown: those of a user are the items of the group without the user's training items.
    Groups without candidates are left out, and so are items in no group. A user with an empty list
    has candidates, too. The interval is that of
    the jackknife over users. Source: Zhu, Wang and Caverlee, Measuring and mitigating item
    under-recommendation bias in personalized ranking systems, SIGIR 2020.

    Examples
    --------
    One of two actions is shown and none of two dramas: shares of 1/2 and 0.

    >>> import rankmeter as rm
    >>> genres = {"a": "action", "b": "action", "c": "drama", "d": "drama"}
    >>> given = {"train": {"bob": ["a"]}, "items": genres}
    >>> rm.evaluate({"ann": ["a"]}, None, "rsp@1", **given)["rsp@1"].mean
    1.0
    """
    top, members = once(lists.top(k)), _members(groups, categories, popularity)
    candidates = members.matrix.sum(axis=0) - counts(profiles, members)
    return _grouped(top, members, candidates, _spread)


@register(
    "Ranking-based equal opportunity",
    high=math.inf,
    aggregate="micro",
    increasing=False,
    needs_items=False,
    synonyms=("ranking_based_equal_opportunity",),
    borders=_border,
)
def reo(
    lists: Lists,
    relevant: Lists,
    profiles: Profiles,
    popularity: Popularity,
    categories: Features | None,
    k: int | None = None,
    *,
    groups: Groups = "categories",
) -> Grouped:
    """How differently likely relevant items of each group are in the top k: 0 is parity.

    Parameters
    ----------
    groups : {"categories", "popularity"}
        As in `rsp`.

    Notes
    -----
    As `rsp`, of the relevant items alone: the recall of each group, over all users together.
    Source: Zhu, Wang and Caverlee, Measuring and mitigating item under-recommendation bias in
    personalized ranking systems, SIGIR 2020.

    Examples
    --------
    The relevant action is shown, and one of two relevant dramas: recalls of 1 and 1/2.

    >>> import rankmeter as rm
    >>> genres = {"a": "action", "b": "drama", "c": "drama"}
    >>> given = {"train": {"bob": ["a"]}, "items": genres}
    >>> lists, truth = {"ann": ["a", "b"]}, {"ann": {"a", "b", "c"}}
    >>> round(rm.evaluate(lists, truth, "reo@2", **given)["reo@2"].mean, 4)
    0.3333
    """
    top, members = once(lists.top(k)), _members(groups, categories, popularity)
    new = relevant.only(~profiles.holds(relevant.user, relevant.item))
    return _grouped(top.only(top.relevant), members, counts(new, members), _spread)


@register("Bias disparity", high=math.inf, aggregate="micro", increasing=False, borders=_border)
def bias_disparity(
    lists: Lists,
    profiles: Profiles,
    popularity: Popularity,
    categories: Features | None,
    k: int | None = None,
    *,
    groups: Groups = "categories",
) -> Grouped:
    """How much the lists change the share that each group of items has in the training data.

    Parameters
    ----------
    groups : {"categories", "popularity"}
        As in `rsp`.

    Notes
    -----
    The mean over the groups of the distance of R / S from 1: S is the share of a group in the
    training items of the users in the rankings, R its share in their lists. An item with several
    categories counts in each, and groups without training items are left out. The article has
    R / S - 1 of a group of items and a group of users; for the latter, see ``result.by_segment``.
    The interval is that of the jackknife over users. Source: Tsintzou, Pitoura and Tsaparas, Bias
    disparity in recommendation systems, RMSE workshop 2019.

    Examples
    --------
    Ann has three actions and a drama, and is shown one of each: 1/2 of 3/4, and 1/2 of 1/4.

    >>> import rankmeter as rm
    >>> genres = {"a": "action", "b": "action", "c": "action", "d": "drama"}
    >>> given = {"train": {"ann": ["a", "b", "c", "d"]}, "items": genres}
    >>> result = rm.evaluate({"ann": ["a", "d"]}, None, "bias_disparity@2", **given)
    >>> round(result["bias_disparity@2"].mean, 4)
    0.6667
    """
    top, members = once(lists.top(k)), _members(groups, categories, popularity)
    return _grouped(top, members, counts(profiles, members), _change)


def _members(groups: Groups, categories: Features | None, popularity: Popularity) -> Features:
    """Which items belong to which group."""
    if groups == "popularity":
        tail = tail_of(popularity, "interactions", None, "other")
        matrix = np.column_stack([popularity.known & ~tail, tail]).astype(np.float64)
        return Features(matrix, popularity.known)
    if categories is None:
        raise UsageError("needs categories of the items: pass items=", option="items")
    return categories


def _grouped(
    shown: Lists,
    members: Features,
    whole: FloatArray,
    number: Callable[[FloatArray, FloatArray], FloatArray],
) -> Grouped:
    ones, part = np.ones(shown.item.size), counts(shown, members)
    return Grouped(shown, ones, of_groups(number), part, whole)


def _spread(part: FloatArray, whole: FloatArray) -> FloatArray:
    """The standard deviation of the shares of the groups over their mean."""
    known = whole > 0
    n = np.maximum(known.sum(axis=-1, keepdims=True), 1)
    share = np.divide(part, whole, out=np.zeros_like(part), where=known)
    mean = share.sum(axis=-1, keepdims=True) / n
    variance = (known * (share - mean) ** 2).sum(axis=-1, keepdims=True) / n
    found = np.divide(np.sqrt(variance), mean, out=np.full_like(mean, np.nan), where=mean > 0)
    return np.asarray(worked(found[..., 0], "spread / mean", spread=np.sqrt(variance), mean=mean))


def _change(part: FloatArray, whole: FloatArray) -> FloatArray:
    """The mean relative change of the shares that the groups have."""
    known = whole > 0
    n = np.maximum(known.sum(axis=-1), 1)
    shown, had = (each.sum(axis=-1, keepdims=True) for each in (part, whole))
    ratio = np.divide(part * had, whole * shown, out=np.ones_like(part), where=known & (shown > 0))
    changes = np.abs(ratio - 1.0).sum(axis=-1)
    found = np.where((shown[..., 0] > 0) & known.any(axis=-1), changes / n, np.nan)
    return worked(found, "changes / groups", changes=changes, groups=n)
