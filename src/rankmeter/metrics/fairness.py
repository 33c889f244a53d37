"""Fairness: how evenly groups of items are shown and found."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np

from rankmeter._evidence.hits import FloatArray, ratio
from rankmeter._evidence.lists import Features, Lists, Popularity, Profiles
from rankmeter._evidence.steps import note_column
from rankmeter.errors._checks import check_integer
from rankmeter.metrics._formula import formula
from rankmeter.metrics._registry import Example, register, require
from rankmeter.metrics.category_diversity import category_counts, normalize_sums
from rankmeter.metrics.long_tail import Border, mask_long_tail
from rankmeter.metrics.states import Exposure, Grouped, Statistic, made_again, statistic_of_groups
from rankmeter.metrics.weights import deduplicate, relevance_weights

Grouping: TypeAlias = Literal["categories", "popularity"]


def _popularity_borders(options: Mapping[str, Any]) -> list[Border]:
    return [("interactions", None)] if options["groups"] == "popularity" else []


_OF_GROUPS: dict[str, Any] = {
    "high": math.inf,
    "aggregate": "micro",
    "increasing": False,
    "borders": _popularity_borders,
}
"""What these metrics share: they are computed over all lists at once, and less is fairer."""


@register(
    "Ranking-based statistical parity",
    **_OF_GROUPS,
    needs_items=False,
    synonyms=("ranking_based_statistical_parity",),
)
def rsp(
    lists: Lists,
    profiles: Profiles,
    popularity: Popularity,
    categories: Features | None,
    k: int | None = None,
    *,
    groups: Grouping = "categories",
) -> Grouped:
    """Ranking-based statistical parity (RSP): relative spread of the groups' share; 0 is parity.

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
    top, members = deduplicate(lists.top(k)), _group_memberships(groups, categories, popularity)
    candidates = members.matrix.sum(axis=0) - category_counts(profiles, members)
    return _grouped_exposure(top, members, candidates, _variation_of_shares)


@register(
    "Ranking-based equal opportunity",
    **_OF_GROUPS,
    needs_items=False,
    synonyms=("ranking_based_equal_opportunity",),
)
def reo(
    lists: Lists,
    relevant: Lists,
    profiles: Profiles,
    popularity: Popularity,
    categories: Features | None,
    k: int | None = None,
    *,
    groups: Grouping = "categories",
) -> Grouped:
    """Ranking-based equal opportunity (REO): relative spread of the groups' recall; 0 is parity.

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
    top, members = deduplicate(lists.top(k)), _group_memberships(groups, categories, popularity)
    new = relevant.only(~profiles.holds(relevant.user, relevant.item))
    return _grouped_exposure(
        top.only(top.relevant), members, category_counts(new, members), _variation_of_shares
    )


@register("Bias disparity", **_OF_GROUPS)
def bias_disparity(
    lists: Lists,
    profiles: Profiles,
    popularity: Popularity,
    categories: Features | None,
    k: int | None = None,
    *,
    groups: Grouping = "categories",
) -> Grouped:
    """Bias disparity: relative change of each item group's share, from training data to lists.

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
    top, members = deduplicate(lists.top(k)), _group_memberships(groups, categories, popularity)
    return _grouped_exposure(
        top, members, category_counts(profiles, members), _mean_relative_change
    )


@register("Bias towards a group", low=-1.0, **_OF_GROUPS, reached=False)
def group_bias(
    lists: Lists,
    profiles: Profiles,
    popularity: Popularity,
    categories: Features | None,
    k: int | None = None,
    *,
    groups: Grouping = "categories",
    group: Annotated[int, Example(2)] = 1,
) -> Grouped:
    """Bias towards a group of items: relative change of its share, from training data to lists.

    Parameters
    ----------
    groups : {"categories", "popularity"}
        As in `rsp`.
    group : int
        Which group: 1 is the first category by name, or the short head; 2 the second category, or
        the long tail.

    Notes
    -----
    R / S - 1, of whose distances from 0 `bias_disparity` is the mean over the groups: 0.5 is half
    as much again as in the training data, -1 never shown. The number is undefined (NaN) for a group
    without training items. Comparisons call lower values better, which fits a group that is shown
    too much; for both directions use `bias_disparity`. Source: Tsintzou, Pitoura and Tsaparas, Bias
    disparity in recommendation systems, RMSE workshop 2019; its groups of users are those of
    ``result.by_segment``.

    Examples
    --------
    Ann has three actions and a drama, and is shown one of each: 1/2 of 3/4, and 1/2 of 1/4.

    >>> import rankmeter as rm
    >>> genres = {"a": "action", "b": "action", "c": "action", "d": "drama"}
    >>> given = {"train": {"ann": ["a", "b", "c", "d"]}, "items": genres}
    >>> bias = ["group_bias(group=1)@2", "group_bias(group=2)@2"]
    >>> result = rm.evaluate({"ann": ["a", "d"]}, None, bias, **given)
    >>> [round(one.mean, 4) for one in result.values()]
    [-0.3333, 1.0]
    """
    top, members = deduplicate(lists.top(k)), _group_memberships(groups, categories, popularity)
    index = check_integer("group", group, least=1, most=members.matrix.shape[1]) - 1
    number = functools.partial(_relative_change_of_group, group=index)
    return _grouped_exposure(top, members, category_counts(profiles, members), number)


@register("Gap between groups of items", **_OF_GROUPS, reached=False, synonyms=("item_mad",))
def item_gap(
    lists: Lists,
    popularity: Popularity | None,
    categories: Features | None,
    k: int | None = None,
    *,
    groups: Grouping = "categories",
    relevance: Literal["binary", "graded", "exp2"] = "binary",
) -> Exposure:
    """Gap between groups of items: mean absolute difference in mean relevance when recommended.

    Parameters
    ----------
    groups : {"categories", "popularity"}
        As in `rsp`.
    relevance : {"binary", "graded", "exp2"}
        What an item counts for a user: 1 if it is relevant, its gain, or 2^gain - 1.

    Notes
    -----
    An item has its mean over the users who are shown it, a group the mean of its items that are
    shown. The number is the mean absolute difference (MAD) of two groups; it is undefined (NaN) if
    items of fewer than two groups are shown. The interval is that of the jackknife over users.
    The same of groups of users is ``result.gap(segments)``. Source: Deldjoo et al., A flexible
    framework for evaluating user and item fairness in recommender systems, UMUAI 2021.

    Examples
    --------
    Both users who are shown a find it relevant; the one who is shown b does not.

    >>> import rankmeter as rm
    >>> lists, truth = {"ann": ["a", "b"], "bob": ["a"]}, {"ann": {"a"}, "bob": {"a"}}
    >>> genres = {"a": "action", "b": "drama"}
    >>> rm.evaluate(lists, truth, "item_gap@2", items=genres)["item_gap@2"].mean
    1.0
    """
    top, members = deduplicate(lists.top(k)), _group_memberships(groups, categories, popularity)
    return Exposure(top, relevance_weights(top, relevance), _gap_statistic(members))


@made_again
def _gap_statistic(members: Features) -> Statistic:
    """Statistic: mean distance between groups, each the mean over its shown items."""

    def group_sums(totals: FloatArray, n: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Sum the means of the shown items, and the number of shown items, over each group."""
        is_exposed = np.asarray(n > 0, dtype=np.float64)
        return ratio(totals, n) @ members.matrix, is_exposed @ members.matrix

    def value(exposure: Exposure) -> float:
        total, n = group_sums(exposure.counts(), exposure.shown())
        return float(_mean_group_distance(total, n, members))

    def value_without_each_user(exposure: Exposure) -> FloatArray:
        totals, n, item = exposure.counts(), exposure.shown(), exposure.lists.item
        total, size = group_sums(totals, n)
        change = ratio(totals, n)[item] - ratio(totals[item] - exposure.weight, n[item] - 1)
        is_removed = np.asarray(n[item] == 1, dtype=np.float64)
        size = size - category_counts(exposure.lists, members, is_removed)
        total = total - category_counts(exposure.lists, members, change)
        return _mean_group_distance(total, size, members)

    return Statistic(value, value_without_each_user)


def _mean_group_distance(total: FloatArray, n: FloatArray, members: Features) -> FloatArray:
    """The mean distance of pairs of groups with items, given sums of shape (…, n_groups)."""
    means = note_column(ratio(total, n, nothing=np.nan), "mean", members)
    ascending = np.sort(means, axis=-1)  # groups without items come last
    groups = np.count_nonzero(n, axis=-1)
    factor = 2.0 * np.arange(1, ascending.shape[-1] + 1) - groups[..., None] - 1.0
    distances = np.nansum(factor * ascending, axis=-1)
    pairs = groups * (groups - 1) / 2
    return formula("distances / pairs", nothing=np.nan, distances=distances, pairs=pairs)


def _group_memberships(
    groups: Grouping, categories: Features | None, popularity: Popularity | None
) -> Features:
    """Memberships of the items in the groups."""
    if groups == "categories":
        return require(categories, "categories")
    popularity = require(popularity, "popularity")
    tail = mask_long_tail(popularity, "interactions", None, "other")
    matrix = np.column_stack([popularity.known & ~tail, tail]).astype(np.float64)
    return Features(matrix, popularity.known)


def _grouped_exposure(
    top: Lists,
    members: Features,
    reference: FloatArray,
    number: Callable[[FloatArray, FloatArray, Features], FloatArray],
) -> Grouped:
    ones, part = np.ones(top.item.size), category_counts(top, members)
    return Grouped(top, ones, _statistic_of_members(number, members), part, reference)


@made_again
def _statistic_of_members(
    number: Callable[[FloatArray, FloatArray, Features], FloatArray], members: Features
) -> Statistic:
    return statistic_of_groups(lambda part, whole: number(part, whole, members))


def _variation_of_shares(part: FloatArray, reference: FloatArray, members: Features) -> FloatArray:
    """Coefficient of variation of the groups' shares: standard deviation over mean."""
    share = note_column(ratio(part, reference, nothing=np.nan), "share", members)
    mean = _mean_over_groups(share)
    spread = np.sqrt(_mean_over_groups((share - mean[..., None]) ** 2))
    return formula("spread / mean", nothing=np.nan, spread=spread, mean=mean)


def _mean_relative_change(part: FloatArray, reference: FloatArray, members: Features) -> FloatArray:
    """The mean relative change of the groups' shares."""
    bias = _relative_changes(part, reference, members)
    changes, groups = np.nansum(np.abs(bias), axis=-1), np.count_nonzero(~np.isnan(bias), axis=-1)
    return formula("changes / groups", nothing=np.nan, changes=changes, groups=groups)


def _relative_change_of_group(
    part: FloatArray, reference: FloatArray, members: Features, group: int
) -> FloatArray:
    _relative_changes(part, reference, members)
    list_share, reference_share = (
        normalize_sums(part)[..., group],
        normalize_sums(reference)[..., group],
    )
    return formula("shown / had - 1", nothing=np.nan, shown=list_share, had=reference_share)


def _relative_changes(part: FloatArray, reference: FloatArray, members: Features) -> FloatArray:
    """The relative change of each group's share; NaN for groups without training items."""
    return note_column(
        ratio(normalize_sums(part), normalize_sums(reference), nothing=np.nan) - 1.0,
        "bias",
        members,
    )


def _mean_over_groups(values: FloatArray) -> FloatArray:
    """The mean over the groups with a value; NaN if no group has a value."""
    has_value = ~np.isnan(values)
    return ratio(values.sum(axis=-1, where=has_value), has_value.sum(axis=-1), nothing=np.nan)
