"""From an order of the items to the list of each user, without the items that the user has seen.

A user gets the first `k` unseen items of the order. `_unseen` turns the places of the seen items
into those of the unseen ones, so nothing of the size users × items is ever made.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sized
from typing import Any, TypeVar, cast

import numpy as np
import polars as pl

from rankmeter._reading.by_user import places
from rankmeter._reading.forms import is_accepted
from rankmeter._reading.keyed import read_users
from rankmeter._reading.read import Interactions
from rankmeter._reading.table import Frame
from rankmeter.errors import UsageError
from rankmeter.errors._checks import brief, flag, integer
from rankmeter.splits._chance import Numbers, Shuffle, draws

Baseline = TypeVar("Baseline", bound=Callable[..., Frame])


def in_frame_kind(baseline: Baseline) -> Baseline:
    """A baseline whose lists are in the kind of frame that `train` is in, with its names."""

    @functools.wraps(baseline)
    def recommended(train: Any, *, columns: dict[str, str] | None = None, **options: Any) -> Frame:
        read = Interactions.read(train, columns=columns)
        return read.kind.frame(baseline(read, **options))

    return cast("Baseline", recommended)


def recommend(
    frame: pl.DataFrame,
    scores: pl.DataFrame,
    *,
    k: int,
    users: Any,
    exclude_seen: bool,
    seed: int | None = None,
) -> pl.DataFrame:
    """List the first `k` unseen items of each user; with a seed, each user has another order."""
    k = integer("k", k, least=1)
    flag("exclude_seen", exclude_seen)
    best = scores.sort("score", places(scores["item"]), descending=[True, False])
    items, score = best["item"], best["score"].cast(pl.Float64)
    audience = audience_of(frame["user"], users)
    shuffle = None if seed is None else Shuffle(len(items), draws(seed, audience))
    user, position = _seen(frame if exclude_seen else frame.clear(), audience, items)
    if shuffle:
        position = shuffle.place_of(position, user)
    by_user = np.lexsort((position, user))
    user, position = user[by_user], position[by_user]
    k = min(k, len(items))
    lists = []
    for start in range(0, len(audience), step := max(_BLOCK // k, 1)):
        stop = min(start + step, len(audience))
        block = slice(*np.searchsorted(user, (start, stop)))
        unseen = _unseen(user[block] - start, position[block], shape=(stop - start, k))
        row, column = np.nonzero(unseen < len(items))
        positions = unseen[row, column]
        item = shuffle.item_at(positions, row + start) if shuffle else positions
        pairs = {"user": audience.gather(row + start), "item": items.gather(item)}
        lists.append(pl.DataFrame({**pairs, "score": score.gather(positions), "rank": column + 1}))
    return pl.concat(lists)


_BLOCK = 4_000_000  # list cells processed at a time: a few hundred megabytes


def audience_of(train: pl.Series, users: Any) -> pl.Series:
    """The users to recommend to: each once, ascending, of the type in train."""
    if users is None:
        return train.unique().sort()
    # An array of two dimensions has no users, and a string could be one user or a path.
    table = getattr(users, "ndim", 1) != 1 and not hasattr(type(users), "columns")
    if isinstance(users, str | bytes) or table or not is_accepted(users):
        raise UsageError(
            "`users` must be ids, or a frame or a Path with a column user, got "
            f"{type(users).__name__} {brief(users)}"
        )
    if isinstance(users, Sized) and len(users) == 0:
        raise UsageError("`users` is empty: leave it out to recommend to all users in train")
    return read_users(users, train, source="users=").unique().sort()


def _seen(frame: pl.DataFrame, audience: pl.Series, items: pl.Series) -> tuple[Numbers, Numbers]:
    """Number the pairs of user and item in train by their places in `audience` and `items`."""
    pairs = frame.select("user", "item").unique()
    for name, column in (("user", audience), ("item", items)):
        numbered = column.alias(name).to_frame().with_row_index(f"{name}_number")
        pairs = pairs.join(numbered, on=name)
    user, item = (pairs[f"{name}_number"].to_numpy().astype(np.int64) for name in ("user", "item"))
    return user, item


def _unseen(user: Numbers, position: Numbers, *, shape: tuple[int, int]) -> Numbers:
    """The first k places that each user has not seen, ascending, in the `shape` (n_users, k).

    ``user`` and ``position``, of shape (n_seen,), are sorted by user and position. If b unseen
    places come before a seen one, it moves up by one all unseen places but the first b.
    """
    n_users, k = shape
    nth = np.arange(len(user)) - np.searchsorted(user, user)
    before = position - nth
    matters = before < k
    cell = user[matters] * k + before[matters]
    moved = np.bincount(cell, minlength=n_users * k).reshape(shape)
    places: Numbers = np.arange(k) + moved.cumsum(axis=1)
    return places
