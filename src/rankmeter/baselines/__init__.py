"""Recommendations from simple statistics and models: baselines that a real recommender has to beat.

A baseline is an order of the items; each user gets the first `k` unseen ones. Most baselines order
the items by a score, the same for everyone; `random` gives each user a different order. `item_knn`
and `svd` learn from who has what, as simple recommenders do.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankmeter._reading.table import Frame
from rankmeter.baselines._recommend import (
    knn_scorer,
    rank_unseen_items,
    recommend,
    svd_scorer,
    takes_any_frame,
)
from rankmeter.errors import InvalidValueError, UsageError, _checks
from rankmeter.errors._checks import check_integer, counted
from rankmeter.splits._clock import Clock, Unit, require_column

__all__ = [
    "BASELINES",
    "damped_mean_rating",
    "decayed_popularity",
    "item_knn",
    "mean_rating",
    "popularity",
    "random",
    "recent_popularity",
    "svd",
]

_DAY = 86_400


@takes_any_frame
def popularity(
    train: Any,
    *,
    k: int = 100,
    users: Any = None,
    exclude_seen: bool = True,
    columns: dict[str, str] | None = None,
) -> Frame:
    """Recommend the items with the most interactions.

    Parameters
    ----------
    train : table or path
        Interactions: user, item.
    k : int
        Items to recommend to each user.
    users : sequence of ids, optional
        Users to recommend to; default: all users in `train`. Duplicates are ignored; cold users
        are treated as having no history.
    exclude_seen : bool
        Leave out items that the user already has in `train`.
    columns : dict of str to str, optional
        Names of the columns: ``{"user": "uid", "item": "iid"}``.

    Returns
    -------
    polars.DataFrame or pandas.DataFrame
        ``user``, ``item``, ``score`` (Float64) and ``rank`` (1, 2, …), by user and rank. The
        score is the number of interactions. If `train` is a pandas frame, so is this, with its
        names and types of user and item.

    Raises
    ------
    UsageError
        `k` is not an integer ≥ 1.
    IdTypeError
        The type of `users` does not match that of the users in `train`.

    Notes
    -----
    1. Items of the same score are ordered by item, ascending, as with ``ties="item"``.
    2. Repeated interactions of a user with an item all count. To count users instead, pass each
       pair once: ``train.unique(["user", "item"])``.
    3. Only items in `train` are recommended. A user who has seen all but n of them gets n; a user
       who has seen all of them is not in the result.

    Examples
    --------
    >>> train = pl.DataFrame({"user": [1, 1, 2, 3], "item": [10, 20, 20, 30]})
    >>> popularity(train, k=2, users=[1, 9]).rows()
    [(1, 30, 1.0, 1), (9, 20, 2.0, 1), (9, 10, 1.0, 2)]
    """
    scores = train.group_by("item").agg(score=pl.len())
    return recommend(train, scores, k=k, users=users, exclude_seen=exclude_seen)


@takes_any_frame
def recent_popularity(
    train: Any,
    *,
    days: float | None = None,
    fraction: float | None = None,
    unit: Unit | None = None,
    k: int = 100,
    users: Any = None,
    exclude_seen: bool = True,
    columns: dict[str, str] | None = None,
) -> Frame:
    """Recommend the items with the most interactions in the time before the last interaction.

    Parameters
    ----------
    train : table or path
        Interactions: user, item, time.
    days : float, optional
        Length of the window: interactions less than this many days before the last one count.
    fraction : float, optional
        Instead of `days`: length of the window as a share of the time from the first to the last
        interaction; 0.1 if neither is given.
    unit : {"s", "ms", "us", "ns"}, optional
        Unit of times that are numbers. Default: seconds or, if a time would be after the year 9999,
        the first of the others for which none is.
    k, users, exclude_seen, columns
        As in `popularity`.

    Returns
    -------
    polars.DataFrame or pandas.DataFrame
        As from `popularity`; the score is the number of interactions in the window.

    Raises
    ------
    UsageError, ColumnError
        `days` and `fraction` are both given, or one is out of range; there is no time.

    Notes
    -----
    Only items with an interaction in the window are recommended, so lists may be shorter than
    `k`. Interactions exactly at the start of the window do not count, those at its end do; if all
    have the same time, all count.

    Examples
    --------
    >>> train = pl.DataFrame({"user": [1, 1, 2], "item": [10, 20, 30], "time": [0, 8, 10]})
    >>> recent_popularity(train, fraction=0.5, k=2, users=[4]).rows()  # 5 < time <= 10
    [(4, 20, 1.0, 1), (4, 30, 1.0, 2)]
    """
    if days is not None and fraction is not None:
        raise UsageError(
            "pass either `days` or `fraction`, not both: got "
            f"{_checks.brief(days)} and {_checks.brief(fraction)}"
        )
    age = _ages_in_days(train, needed_by="recent_popularity", unit=unit)
    if days is None:
        share = _checks.check_fraction("fraction", 0.1 if fraction is None else fraction)
        window = share * age.max(initial=0)
    else:
        window = _checks.check_number("days", days, above=0)
    is_recent = (age < window) | (age == 0)
    scores = train.filter(pl.Series(is_recent)).group_by("item").agg(score=pl.len())
    return recommend(train, scores, k=k, users=users, exclude_seen=exclude_seen)


@takes_any_frame
def decayed_popularity(
    train: Any,
    *,
    half_life: float | None = None,
    unit: Unit | None = None,
    k: int = 100,
    users: Any = None,
    exclude_seen: bool = True,
    columns: dict[str, str] | None = None,
) -> Frame:
    """Recommend the items with the most interactions, where old ones count less.

    Parameters
    ----------
    train : table or path
        Interactions: user, item, time.
    half_life : float, optional
        Days after which an interaction counts half; a tenth of the time from the first to the
        last interaction if not given.
    unit, k, users, exclude_seen, columns
        As in `recent_popularity`.

    Returns
    -------
    polars.DataFrame or pandas.DataFrame
        As from `popularity`; the score is Σ 2^(−age / `half_life`), the age of an interaction
        counted back from the last one.

    Raises
    ------
    UsageError, ColumnError
        `half_life` is not positive; there is no time.

    Examples
    --------
    >>> from datetime import date
    >>> days = [date(2024, 1, 1), date(2024, 1, 2), date(2024, 1, 3)]
    >>> train = pl.DataFrame({"user": [1, 2, 3], "item": [10, 10, 20], "time": days})
    >>> decayed_popularity(train, half_life=1, k=2, users=[4]).rows()  # 1, and 1/4 + 1/2
    [(4, 20, 1.0, 1), (4, 10, 0.75, 2)]
    """
    age = _ages_in_days(train, needed_by="decayed_popularity", unit=unit)
    if half_life is None:
        half_life = age.max(initial=0) / 10
    else:
        half_life = _checks.check_number("half_life", half_life, above=0)
    weight = np.exp2(-age / half_life) if half_life else np.ones_like(age)
    scores = _sum_by_item(train["item"], weight)
    return recommend(train, scores, k=k, users=users, exclude_seen=exclude_seen)


@takes_any_frame
def mean_rating(
    train: Any,
    *,
    k: int = 100,
    users: Any = None,
    exclude_seen: bool = True,
    columns: dict[str, str] | None = None,
) -> Frame:
    """Recommend the items with the best mean rating.

    Parameters
    ----------
    train : table or path
        Interactions: user, item, rating.
    k, users, exclude_seen, columns
        As in `popularity`.

    Returns
    -------
    polars.DataFrame or pandas.DataFrame
        As from `popularity`; the score is the mean rating.

    Raises
    ------
    ColumnError, InvalidValueError
        There is no rating column; a rating is missing or infinite.

    Notes
    -----
    An item with a single best rating is first; `damped_mean_rating` avoids this.

    Examples
    --------
    >>> train = pl.DataFrame({"user": [1, 2, 3], "item": [10, 10, 20], "rating": [5, 2, 4]})
    >>> mean_rating(train, k=2, users=[4]).rows()
    [(4, 20, 4.0, 1), (4, 10, 3.5, 2)]
    """
    scores = _damped_mean_ratings(train, 0, needed_by="mean_rating")
    return recommend(train, scores, k=k, users=users, exclude_seen=exclude_seen)


@takes_any_frame
def damped_mean_rating(
    train: Any,
    *,
    damping: float = 10,
    k: int = 100,
    users: Any = None,
    exclude_seen: bool = True,
    columns: dict[str, str] | None = None,
) -> Frame:
    """Recommend the items with the best mean rating, pulled towards the overall mean.

    Parameters
    ----------
    train : table or path
        Interactions: user, item, rating.
    damping : float
        How many ratings of the overall mean are added to those of each item.
    k, users, exclude_seen, columns
        As in `popularity`.

    Returns
    -------
    polars.DataFrame or pandas.DataFrame
        As from `popularity`; the score is (Σ ratings + `damping` · μ) / (n + `damping`), where μ
        is the mean of all ratings.

    Raises
    ------
    UsageError
        `damping` is negative.
    ColumnError, InvalidValueError
        As from `mean_rating`.

    Notes
    -----
    The posterior mean of an item's rating if a normal prior around μ is worth `damping` ratings;
    Simon Funk (2006), "Netflix update: try this at home", where it is called the better mean.

    Examples
    --------
    >>> train = pl.DataFrame({"user": [1, 2, 3], "item": [10, 10, 20], "rating": [4, 4, 1]})
    >>> damped_mean_rating(train, damping=1, k=2, users=[4]).rows()  # (8 + 3) / 3, (1 + 3) / 2
    [(4, 10, 3.6666666666666665, 1), (4, 20, 2.0, 2)]
    """
    damping = _checks.check_number("damping", damping, least=0)
    scores = _damped_mean_ratings(train, damping, needed_by="damped_mean_rating")
    return recommend(train, scores, k=k, users=users, exclude_seen=exclude_seen)


@takes_any_frame
def random(
    train: Any,
    *,
    seed: int = 0,
    k: int = 100,
    users: Any = None,
    exclude_seen: bool = True,
    columns: dict[str, str] | None = None,
) -> Frame:
    """Recommend random items, different ones to each user.

    Parameters
    ----------
    train : table or path
        Interactions: user, item.
    seed : int
        Seed of the random order. A user's order depends only on the seed, the user's id and the
        items in `train`, not on the other users.
    k, users, exclude_seen, columns
        As in `popularity`.

    Returns
    -------
    polars.DataFrame or pandas.DataFrame
        As from `popularity`; the score falls in equal steps from 1 along the user's random order
        of all n items: (n − place) / n, the first place being 0.

    Raises
    ------
    UsageError
        `seed` is not an integer.

    Notes
    -----
    The orders are pseudo-random permutations: a cipher on the item numbers with a key for each
    user, after Black and Rogaway (2002), "Ciphers with arbitrary finite domains".

    Examples
    --------
    >>> train = pl.DataFrame({"user": [1, 2, 2], "item": [10, 20, 30]})
    >>> sorted(random(train, users=[1])["item"]), random(train, users=[9])["score"].to_list()
    ([20, 30], [1.0, 0.6666666666666666, 0.3333333333333333])
    """
    items = train["item"].unique().sort()
    places = pl.DataFrame({"item": items, "score": np.arange(len(items), 0, -1) / len(items)})
    return recommend(train, places, k=k, users=users, exclude_seen=exclude_seen, seed=seed)


@takes_any_frame
def svd(
    train: Any,
    *,
    factors: int = 50,
    k: int = 100,
    users: Any = None,
    exclude_seen: bool = True,
    columns: dict[str, str] | None = None,
) -> Frame:
    """Recommend by a truncated singular value decomposition: a simple model that learns.

    Parameters
    ----------
    train : table or path
        As for `popularity`.
    factors : int
        The number of singular values that are kept.
    k, users, exclude_seen, columns
        As in `popularity`.

    Returns
    -------
    polars.DataFrame or pandas.DataFrame
        As from `popularity`; the score is that of the user's row in the approximation of the
        matrix of users × items, rounded to ten decimals.

    Raises
    ------
    UsageError
        `factors` is not an integer ≥ 1.

    Notes
    -----
    The matrix is 1 where a user has an item and 0 elsewhere; ratings are not used. Users without
    training data get no items. Source: Cremonesi, Koren and Turrin, Performance of recommender
    algorithms on top-N recommendation tasks, RecSys 2010 (PureSVD).

    Examples
    --------
    Users 1 and 2 agree, and 1 does not have item 30 yet.

    >>> train = pl.DataFrame({"user": [1, 1, 2, 2, 2, 3], "item": [10, 20, 10, 20, 30, 40]})
    >>> svd(train, factors=1, k=1, users=[1]).rows()[0][:2]
    (1, 30)
    """
    factors = check_integer("factors", factors, least=1)
    learn = functools.partial(svd_scorer, factors=factors)
    return rank_unseen_items(train, learn, k=k, users=users, exclude_seen=exclude_seen)


@takes_any_frame
def item_knn(
    train: Any,
    *,
    neighbours: int = 100,
    k: int = 100,
    users: Any = None,
    exclude_seen: bool = True,
    columns: dict[str, str] | None = None,
) -> Frame:
    """Recommend items that share many users with the items of a user.

    Parameters
    ----------
    train : table or path
        As for `popularity`.
    neighbours : int
        How many similar items speak for each item; more if several are equally similar.
    k, users, exclude_seen, columns
        As in `popularity`.

    Returns
    -------
    polars.DataFrame or pandas.DataFrame
        As from `popularity`; the score is the sum of the cosine similarities of the item to those
        that the user has, rounded to ten decimals.

    Raises
    ------
    UsageError
        `neighbours` is not an integer ≥ 1.

    Notes
    -----
    Ratings are not used. Users without training data get no items. Source: Deshpande and Karypis,
    Item-based top-N recommendation algorithms, TOIS 2004.

    Examples
    --------
    Items 10 and 30 have one user in common, of two and of one: 1 / √2.

    >>> train = pl.DataFrame({"user": [1, 2, 2], "item": [10, 10, 30]})
    >>> item_knn(train, k=1, users=[1]).rows()
    [(1, 30, 0.7071067812, 1)]
    """
    neighbours = check_integer("neighbours", neighbours, least=1)
    learn = functools.partial(knn_scorer, n_neighbours=neighbours)
    return rank_unseen_items(train, learn, k=k, users=users, exclude_seen=exclude_seen)


BASELINES: dict[str, Callable[..., Frame]] = {
    "popularity": popularity,
    "recent-popularity": recent_popularity,
    "decayed-popularity": decayed_popularity,
    "mean-rating": mean_rating,
    "damped-mean-rating": damped_mean_rating,
    "random": random,
    "item-knn": item_knn,
    "svd": svd,
}
"""The baselines by the names that the command line uses."""


# -- scores -----------------------------------------------------------------------------------


def _ages_in_days(frame: pl.DataFrame, *, needed_by: str, unit: Unit | None) -> NDArray[np.float64]:
    """Days from each interaction to the last interaction."""
    clock = Clock.of(frame, needed_by=needed_by, unit=unit)
    ticks = clock.ticks.max() - clock.ticks
    return np.asarray(ticks / (clock.per_second * _DAY), dtype=np.float64)


def _sum_by_item(items: pl.Series, weights: NDArray[np.float64]) -> pl.DataFrame:
    """Sum weights by item in ascending order, so that the row order does not matter."""
    rows = pl.DataFrame({"item": items, "weight": weights}).sort("item", "weight")
    total = np.bincount(rows["item"].rle_id().to_numpy(), weights=rows["weight"].to_numpy())
    return pl.DataFrame({"item": rows["item"].unique(maintain_order=True), "score": total})


def _damped_mean_ratings(frame: pl.DataFrame, damping: float, *, needed_by: str) -> pl.DataFrame:
    """Damped means by item: (Σ ratings + damping · overall mean) / (n ratings + damping)."""
    require_column(frame, "rating", needed_by=needed_by)
    if bad := frame.height - int(frame["rating"].is_finite().sum()):
        raise InvalidValueError(
            f"{needed_by} needs a rating for each of {counted(frame.height, 'interaction')}; "
            f"{counted(bad, 'is', 'are')} missing or infinite: drop or fill these first"
        )
    ratings = frame["rating"].to_numpy()
    mean = math.fsum(ratings) / len(ratings)
    total = _sum_by_item(frame["item"], ratings)
    n = frame.group_by("item").agg(n=pl.len())
    score = (pl.col("score") + damping * mean) / (pl.col("n") + damping)
    return total.join(n, on="item").select("item", score=score)
