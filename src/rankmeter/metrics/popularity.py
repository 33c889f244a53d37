"""Popularity: how popular the items of a list are in the training data; the long tail."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import numpy as np

from rankmeter._evidence.hits import BoolArray, FloatArray, IntArray
from rankmeter._evidence.lists import Lists, Popularity, Profiles
from rankmeter.metrics._formula import formula
from rankmeter.metrics._registry import Example, register
from rankmeter.metrics.long_tail import Border, Head, mask_long_tail
from rankmeter.metrics.states import Defined, Ratio
from rankmeter.metrics.weights import mean_over_items, skip_cold_items


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
) -> Ratio:
    """Popularity: mean popularity of the top k in the training data.

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
    top = skip_cold_items(lists.top(k), popularity, cold)
    n, n_total = popularity.counts(of)
    if cold == "one":
        n = np.maximum(n, 1)
    counts = n.astype(np.float64)
    if scale == "share":
        counts = counts / n_total
    elif scale == "most":
        counts = counts / max(int(n.max(initial=0)), 1)
    elif scale == "rank":
        counts = _popularity_rank_shares(n, popularity.known)
    return mean_over_items(top, counts[top.item], k if denominator == "k" else None)


def _popularity_rank_shares(n: IntArray, in_training: BoolArray) -> FloatArray:
    """Mean ascending rank by count over the number of known items; 0 for unknown items."""
    _, group, size = np.unique(n[in_training], return_inverse=True, return_counts=True)
    last = np.cumsum(size)
    result = np.zeros(n.size)
    result[in_training] = (last - (size - 1) / 2)[group] / max(int(in_training.sum()), 1)
    return result


def _tail_borders(options: Mapping[str, Any]) -> list[Border]:
    return [(options["head"], options["size"])]


def _tail_refuses(options: Mapping[str, Any]) -> bool:
    """A share is below 1, and a count has no default."""
    size = options["size"]
    return size is None if options["head"] == "count" else size is not None and size >= 1


@register(
    "Share of the long tail",
    synonyms=("aplt", "tail_percentage"),
    borders=_tail_borders,
    refuses=_tail_refuses,
)
def tail_share(
    lists: Lists,
    popularity: Popularity,
    k: int | None = None,
    *,
    head: Head = "interactions",
    size: Annotated[float | None, Example(0.5, 2.0)] = None,
    cold: Literal["tail", "other"] = "tail",
    denominator: Literal["ranked", "k"] = "ranked",
) -> Ratio:
    """Share of the long tail: share of the items in the top k that are not popular.

    Parameters
    ----------
    head : {"interactions", "over", "items", "least", "count"}
        Which items of the training data are not in the tail:

        * ``interactions``: the fewest items with at least the share `size` of all interactions;
        * ``over``: the fewest items with more than that share;
        * ``items``: the share `size` of the items, the most popular ones;
        * ``least``: all but the share `size` of the items, the least popular ones;
        * ``count``: the items that occur more than `size` times.
    size : float, optional
        See `head`. Without it 0.8 for ``interactions`` and ``over``, 0.2 for ``items``, 0.1 for
        ``least``; ``count`` needs a number.
    cold : {"tail", "other"}
        Whether an item that is not in the training data is in the ``tail``.
    denominator : {"ranked", "k"}
        What the number of items is divided by: the items in the list, or k.

    Notes
    -----
    Of items that occur equally often, those that come first in the order of items are in the head,
    and with ``least`` in the tail; the result counts those in the lists. Shares of items are
    rounded down, to at least one item. Source: Abdollahpouri, Burke and Mobasher, Managing
    popularity bias in recommender systems with personalized re-ranking, FLAIRS 2019.

    Examples
    --------
    a and b have 6 of 7 interactions, so c and d, without any, are in the tail.

    >>> import rankmeter as rm
    >>> train = {"ann": ["a", "b"], "bob": ["a", "b"], "cat": ["a", "c"], "dan": ["a"]}
    >>> result = rm.evaluate({"dan": ["b", "c", "d"]}, {"dan": {"b"}}, "tail_share@3", train=train)
    >>> round(result["tail_share@3"].mean, 4)
    0.6667
    """
    top = lists.top(k)
    in_tail = mask_long_tail(popularity, head, size, cold)[top.item].astype(np.float64)
    return mean_over_items(top, in_tail, k if denominator == "k" else None)


@register(
    "Count of the long tail",
    high=math.inf,
    synonyms=("aclt",),
    borders=_tail_borders,
    refuses=_tail_refuses,
)
def tail_count(
    lists: Lists,
    popularity: Popularity,
    k: int | None = None,
    *,
    head: Head = "interactions",
    size: Annotated[float | None, Example(0.5, 2.0)] = None,
    cold: Literal["tail", "other"] = "tail",
) -> FloatArray:
    """Count of the long tail: number of items in the top k that are not popular.

    Parameters
    ----------
    head : {"interactions", "over", "items", "least", "count"}
        As in `tail_share`.
    size : float, optional
        As in `tail_share`.
    cold : {"tail", "other"}
        Whether an item that is not in the training data is in the ``tail``.

    Notes
    -----
    Source: Abdollahpouri, Burke and Mobasher, FLAIRS 2019.

    Examples
    --------
    >>> import rankmeter as rm
    >>> train = {"ann": ["a", "b"], "bob": ["a", "b"], "cat": ["a", "c"], "dan": ["a"]}
    >>> result = rm.evaluate({"dan": ["b", "c", "d"]}, {"dan": {"b"}}, "tail_count@3", train=train)
    >>> result["tail_count@3"].mean
    2.0
    """
    top = lists.top(k)
    return top.sum(mask_long_tail(popularity, head, size, cold)[top.item])


@register(
    "Popularity lift",
    low=-1.0,
    high=math.inf,
    increasing=False,
    reached=False,
    synonyms=("delta_gap", "pop_lift"),
)
def popularity_lift(
    lists: Lists,
    popularity: Popularity,
    profiles: Profiles,
    k: int | None = None,
    *,
    of: Literal["users", "interactions"] = "users",
    cold: Literal["zero", "skip"] = "zero",
) -> Ratio:
    """Popularity lift of the top k over the user's training items: 0.5 is half as much again.

    Parameters
    ----------
    of : {"users", "interactions"}
        What is counted for an item: training users, or training interactions.
    cold : {"zero", "skip"}
        An item that is not in the training data counts as ``zero``, or is left out.

    Notes
    -----
    Users without training items are undefined (NaN). The mean over users is a mean of ratios;
    ``aggregate="micro"`` gives the published ΔGAP, which is the ratio of the means over users.
    Counts and shares give the same. Source: Abdollahpouri et al., The unfairness of popularity
    bias in recommendation, RMSE workshop 2019; Kowald, Schedl and Lex, ECIR 2020.

    Examples
    --------
    Ann's items have 4 and 2 users, those of her list 2 and 1.

    >>> import rankmeter as rm
    >>> train = {"ann": ["a", "b"], "bob": ["a", "b"], "cat": ["a", "c"], "dan": ["a"]}
    >>> lists, truth = {"ann": ["b", "c"]}, {"ann": {"c"}}
    >>> rm.evaluate(lists, truth, "popularity_lift@2", train=train)["popularity_lift@2"].mean
    -0.5
    """
    n = popularity.counts(of)[0].astype(np.float64)
    top = skip_cold_items(lists.top(k), popularity, cold)
    list_popularity = top.mean(n[top.item])
    profile_counts = np.bincount(profiles.user, n[profiles.item], minlength=lists.n_users)
    usual = profile_counts / np.maximum(profiles.lengths, 1)
    usual = np.where(np.isnan(list_popularity), 0.0, usual)
    text = "shown - usual if usual > 0 else 0"
    excess = formula(text, name="more", shown=list_popularity, usual=usual)
    return Defined(excess, usual, ("more", "usual"))
