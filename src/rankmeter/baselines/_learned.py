"""Two models that learn from who has what: scores of all items for some users at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankmeter._reading.by_user import places, series
from rankmeter.baselines._recommend import audience_of
from rankmeter.errors._checks import flag, integer

_CELLS = 2**22  # users × items that are scored at a time
_DENSE = 2**17  # cells of a matrix that is decomposed as a whole
_DIGITS = 10  # of scores: rounding errors must not order items

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Scores = Callable[[Ints], Floats]
"""From numbers of users to their scores of all items."""


def rank_unseen(
    frame: pl.DataFrame,
    learn: Callable[[Any], Scores],
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

    k = integer("k", k, least=1)
    flag("exclude_seen", exclude_seen)
    learned = frame["user"].unique().sort()
    items = frame["item"].unique()
    items = items.gather(places(items).arg_sort())
    pairs = frame.select("user", "item").unique()
    numbers = pl.DataFrame([items, pl.int_range(len(items), eager=True).alias("at")])
    row = learned.search_sorted(pairs["user"]).to_numpy()
    column = pairs.join(numbers, on="item", how="left", maintain_order="left")["at"].to_numpy()
    interactions = csr_matrix((np.ones(len(row)), (row, column)), shape=(len(learned), len(items)))
    audience = audience_of(frame["user"], users)
    audience = audience.filter(audience.is_in(learned.implode()))
    rows = np.asarray(learned.search_sorted(audience).to_numpy(), dtype=np.int64)
    score = learn(interactions)
    lists, size = [], max(1, _CELLS // len(items))
    for start in range(0, max(rows.size, 1), size):
        block = rows[start : start + size]
        scores = np.round(score(block), _DIGITS) + 0.0  # not -0.0
        if exclude_seen:
            scores[interactions[block].nonzero()] = -np.inf
        user, item, best, rank = _best(scores, min(k, len(items)))
        pair = {"user": learned.gather(series(block[user])), "item": items.gather(series(item))}
        lists.append(pl.DataFrame({**pair, "score": best, "rank": rank}))
    return pl.concat(lists)


def _best(scores: Floats, k: int) -> tuple[Ints, Ints, Floats, Ints]:
    """The row, column, score and rank of the k largest finite scores of each row, in order."""
    bound = np.partition(scores, scores.shape[1] - k, axis=1)[:, scores.shape[1] - k, None]
    row, column = np.nonzero((scores >= bound) & (scores > -np.inf))
    score = scores[row, column]
    order = np.lexsort((column, -score, row))
    row, column, score = row[order], column[order], score[order]
    rank = np.arange(row.size) - np.searchsorted(row, row) + 1
    in_top = rank <= k
    return row[in_top], column[in_top], score[in_top], rank[in_top]


def svd_scores(interactions: Any, factors: int) -> Scores:
    """Scores by a truncated singular value decomposition."""
    size = min(factors, *interactions.shape)
    if interactions.shape[0] * interactions.shape[1] <= _DENSE or size >= min(interactions.shape):
        _, _, right_vectors = np.linalg.svd(interactions.toarray(), full_matrices=False)
        right = right_vectors[:size]
    else:
        from scipy.sparse.linalg import svds

        _, _, right = svds(interactions, k=size, v0=np.ones(min(interactions.shape)))
    return lambda rows: np.asarray((interactions[rows] @ right.T) @ right)


def knn_scores(interactions: Any, n_neighbours: int) -> Scores:
    """Scores by the cosine similarity of items, of each only to its nearest ones."""
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
