"""From an order of the items to the list of each user, without the items that the user has seen.

A user gets the first `k` unseen items of the order. `_first_unseen_positions` turns the positions
of the seen items into positions of unseen items, so nothing of the size users × items is ever made.
Two models learn from who has what: they score all items for some users at a time.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sized
from typing import Any, TypeVar, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankmeter._reading.by_user import id_sort_keys, to_series
from rankmeter._reading.forms import has_accepted_form
from rankmeter._reading.keyed import read_users
from rankmeter._reading.read import Interactions
from rankmeter._reading.table import Frame
from rankmeter.errors import DataError, UsageError
from rankmeter.errors._checks import brief, check_flag, check_integer
from rankmeter.splits._chance import Numbers, Shuffle, draw_random_bits

Baseline = TypeVar("Baseline", bound=Callable[..., Frame])


def takes_any_frame(baseline: Baseline) -> Baseline:
    """Pass `train` to a baseline as a Polars frame; return lists in the caller's kind of frame."""

    @functools.wraps(baseline)
    def recommended(train: Any, *, columns: dict[str, str] | None = None, **options: Any) -> Frame:
        read = Interactions.read(train, columns=columns)
        if read.frame.is_empty():
            raise DataError("train has users but no interactions: nothing can be recommended")
        return read.kind.convert_frame(baseline(read.frame, **options))

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
    """List the first `k` unseen items of each user; with a seed, in a random order per user."""
    k = check_integer("k", k, least=1)
    check_flag("exclude_seen", exclude_seen)
    best = scores.sort("score", id_sort_keys(scores["item"]), descending=[True, False])
    items, score = best["item"], best["score"].cast(pl.Float64)
    audience = target_users(frame["user"], users)
    shuffle = None if seed is None else Shuffle(len(items), draw_random_bits(seed, audience))
    user, position = _seen_pairs(frame if exclude_seen else frame.clear(), audience, items)
    if shuffle:
        position = shuffle.position_of(position, user)
    by_user = np.lexsort((position, user))
    user, position = user[by_user], position[by_user]
    k = min(k, len(items))
    lists = []
    for start in range(0, len(audience), step := max(_BLOCK // k, 1)):
        stop = min(start + step, len(audience))
        block = slice(*np.searchsorted(user, (start, stop)))
        unseen = _first_unseen_positions(
            user[block] - start, position[block], shape=(stop - start, k)
        )
        row, column = np.nonzero(unseen < len(items))
        positions = unseen[row, column]
        item = shuffle.item_at(positions, row + start) if shuffle else positions
        pairs = {"user": audience.gather(row + start), "item": items.gather(item)}
        lists.append(pl.DataFrame({**pairs, "score": score.gather(positions), "rank": column + 1}))
    return pl.concat(lists)


_BLOCK = 4_000_000  # list cells processed at a time: a few hundred megabytes


def target_users(train: pl.Series, users: Any) -> pl.Series:
    """The users to recommend to: unique, ascending, of the type in train."""
    if users is None:
        return train.unique().sort()
    # An array of two dimensions has no users, and a string could be one user or a path.
    table = getattr(users, "ndim", 1) != 1 and not hasattr(type(users), "columns")
    if isinstance(users, str | bytes) or table or not has_accepted_form(users):
        raise UsageError(
            "`users` must be ids, or a frame or a Path with a column user, got "
            f"{type(users).__name__} {brief(users)}"
        )
    if isinstance(users, Sized) and len(users) == 0:
        raise UsageError("`users` is empty: leave it out to recommend to all users in train")
    return read_users(users, train, source="users=").unique().sort()


def _seen_pairs(
    frame: pl.DataFrame, audience: pl.Series, items: pl.Series
) -> tuple[Numbers, Numbers]:
    """Convert the pairs of user and item in train to indices in `audience` and `items`."""
    pairs = frame.select("user", "item").unique()
    for name, column in (("user", audience), ("item", items)):
        numbered = column.alias(name).to_frame().with_row_index(f"{name}_number")
        pairs = pairs.join(numbered, on=name)
    user, item = (pairs[f"{name}_number"].to_numpy().astype(np.int64) for name in ("user", "item"))
    return user, item


def _first_unseen_positions(user: Numbers, position: Numbers, *, shape: tuple[int, int]) -> Numbers:
    """The first k unseen positions of each user, ascending, in the `shape` (n_users, k).

    ``user`` and ``position``, of shape (n_seen,), are sorted by user and position. If b unseen
    positions come before a seen one, it moves up by one all unseen positions but the first b.
    """
    n_users, k = shape
    nth = np.arange(len(user)) - np.searchsorted(user, user)
    before = position - nth
    matters = before < k
    cell = user[matters] * k + before[matters]
    moved = np.bincount(cell, minlength=n_users * k).reshape(shape)
    positions: Numbers = np.arange(k) + moved.cumsum(axis=1)
    return positions


# -- two models that learn --------------------------------------------------------------------

_CELLS = 2**22  # users × items that are scored at a time
_DENSE = 2**17  # cells of a matrix that is decomposed as a whole
_DIGITS = 10  # of scores: rounding errors must not order items

Floats = NDArray[np.float64]
Scorer = Callable[[Numbers], Floats]
"""From numbers of users to their scores of all items."""


def rank_unseen_items(
    frame: pl.DataFrame,
    learn: Callable[[Any], Scorer],
    *,
    k: int,
    users: Any,
    exclude_seen: bool,
) -> pl.DataFrame:
    """The `k` best items of each user by a model that learns from a sparse matrix of users × items.

    The matrix has 1 where a user has an item. The model knows nothing of other users, who get
    nothing. Items of equal scores are in the order of their ids.
    """
    from scipy.sparse import csr_matrix

    k = check_integer("k", k, least=1)
    check_flag("exclude_seen", exclude_seen)
    learned = frame["user"].unique().sort()
    items = frame["item"].unique()
    items = items.gather(id_sort_keys(items).arg_sort())
    pairs = frame.select("user", "item").unique()
    numbers = pl.DataFrame([items, pl.int_range(len(items), eager=True).alias("at")])
    row = learned.search_sorted(pairs["user"]).to_numpy()
    column = pairs.join(numbers, on="item", how="left", maintain_order="left")["at"].to_numpy()
    interactions = csr_matrix((np.ones(len(row)), (row, column)), shape=(len(learned), len(items)))
    audience = target_users(frame["user"], users)
    audience = audience.filter(audience.is_in(learned.implode()))
    rows = np.asarray(learned.search_sorted(audience).to_numpy(), dtype=np.int64)
    score = learn(interactions)
    lists, size = [], max(1, _CELLS // len(items))
    for start in range(0, max(rows.size, 1), size):
        block = rows[start : start + size]
        scores = np.round(score(block), _DIGITS) + 0.0  # not -0.0
        if exclude_seen:
            scores[interactions[block].nonzero()] = -np.inf
        user, item, best, rank = _top_k(scores, min(k, len(items)))
        pair = {
            "user": learned.gather(to_series(block[user])),
            "item": items.gather(to_series(item)),
        }
        lists.append(pl.DataFrame({**pair, "score": best, "rank": rank}))
    return pl.concat(lists)


def _top_k(scores: Floats, k: int) -> tuple[Numbers, Numbers, Floats, Numbers]:
    """The row, column, score and rank of the k largest finite scores of each row, in order."""
    bound = np.partition(scores, scores.shape[1] - k, axis=1)[:, scores.shape[1] - k, None]
    row, column = np.nonzero((scores >= bound) & (scores > -np.inf))
    score = scores[row, column]
    order = np.lexsort((column, -score, row))
    row, column, score = row[order], column[order], score[order]
    rank = np.arange(row.size) - np.searchsorted(row, row) + 1
    in_top = rank <= k
    return row[in_top], column[in_top], score[in_top], rank[in_top]


def svd_scorer(interactions: Any, factors: int) -> Scorer:
    """Return a function that scores rows by a truncated singular value decomposition."""
    size = min(factors, *interactions.shape)
    if interactions.shape[0] * interactions.shape[1] <= _DENSE or size >= min(interactions.shape):
        _, _, right_vectors = np.linalg.svd(interactions.toarray(), full_matrices=False)
        right = right_vectors[:size]
    else:
        from scipy.sparse.linalg import svds

        _, _, right = svds(interactions, k=size, v0=np.ones(min(interactions.shape)))
    return lambda rows: np.asarray((interactions[rows] @ right.T) @ right)


def knn_scorer(interactions: Any, n_neighbours: int) -> Scorer:
    """Return a function that scores rows by cosine similarity to each item's nearest items."""
    size = np.sqrt(np.asarray(interactions.sum(axis=0)).ravel())
    unit = interactions.multiply(1.0 / size).tocsc()
    similar = (unit.T @ unit).tocsr()
    similar.setdiag(0.0)
    similar.data = np.round(similar.data, _DIGITS)
    for row in range(similar.shape[0]):
        likeness = similar.data[similar.indptr[row] : similar.indptr[row + 1]]
        if likeness.size > n_neighbours:
            likeness[likeness < np.partition(likeness, -n_neighbours)[-n_neighbours]] = 0.0
    similar.eliminate_zeros()
    similar = similar.T.tocsr()
    return lambda rows: (interactions[rows] @ similar).toarray()
