"""Compare an order that is said twice: by ranks, and by scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from rankmeter._evidence.hits import BoolArray, FloatArray, IntArray
from rankmeter._reading.by_user import Ids, IdSeries, as_ids, fold_values, has_runs


class Orders(NamedTuple):
    """Two orders of the same rows: pairs of rows of a user whose ranks follow each other.

    Pairs of one rank are not counted.
    """

    against: int = 0  # the worse rank has the higher score
    tied: int = 0  # both have the same score
    whole: bool = False  # whether the ranks of each user are known to be 1, 2, 3 …

    def plus(self, more: Orders) -> Orders:
        return Orders(self.against + more.against, self.tied + more.tied)


NO_PAIRS = Orders()


def count_by_score(orders: Orders) -> Counter[str]:
    """Counts of ranks that do not follow the scores, which decide."""
    return Counter(ranks_against_scores=orders.against, ranks_of_tied_scores=orders.tied)


def count_by_rank(orders: Orders, n_rows: int) -> Counter[str]:
    """Counts of scores that are not read, because ranks decide."""
    return Counter(
        scores_beside_ranks=n_rows,
        scores_against_ranks=orders.against,
        tied_scores_beside_ranks=orders.tied,
    )


def compare_orders(users: Ids | pl.Series, ranks: pl.Series, scores: pl.Series) -> Orders:
    """Compare ranks and scores of all rows, in whatever order these are.

    Missing ranks and scores are not compared, nor are columns of other things than numbers.
    """
    if len(users) < 2 or not (ranks.dtype.is_numeric() and scores.dtype.is_numeric()):
        return NO_PAIRS
    rank, score = (column.cast(pl.Float64).to_numpy() for column in (ranks, scores))
    return _compare(_Groups.of(as_ids(users)), rank, score)


def compare_with_sizes(users: Ids, ranks: pl.Series) -> tuple[bool, bool]:
    """Whether the highest rank of a user is below the number of its rows, and of one above."""
    groups, rank = _Groups.of(users), ranks.to_numpy()
    if groups.user is None:
        n, highest = groups.n_rows, np.maximum.reduceat(rank, groups.starts)
        return bool((highest < n).any()), bool((highest > n).any())
    n = groups.spread(groups.n_rows)
    has_last = np.bincount(groups.user[rank >= n], minlength=groups.n_rows.size) > 0
    return bool((groups.n_rows[~has_last] > 0).any()), bool((rank > n).any())


def compare_in_pieces(
    pieces: Callable[[], Iterable[pl.DataFrame]], n_rows: int
) -> tuple[Orders, int]:
    """Compare the columns ``rank`` and ``score`` of pieces; return also how many rows that were.

    It is all rows, or, of very many rows in which the users are mixed, those of some users, who are
    the same for the same rows.
    """
    if n_rows > _MANY:
        if (orders := _compare_grouped_pieces(pieces())) is not None:
            return orders, n_rows
        most = int(_MANY / n_rows * 2**64)
        rows = pl.concat(
            piece.filter(pl.col("user").cast(pl.String).hash(1) < most) for piece in pieces()
        )
    else:
        rows = pl.concat(pieces())
    return compare_orders(*rows.select("user", "rank", "score")), rows.height


_MANY = 2**22


def _compare_grouped_pieces(pieces: Iterable[pl.DataFrame]) -> Orders | None:
    """Compare rows that are by user and by rank; None if they are not."""
    orders, users, last = Orders(), [], pl.DataFrame()
    for piece in pieces:
        rows = pl.concat([last, piece]) if last.height else piece
        starts = rows["user"].ne_missing(rows["user"].shift())
        ordered = (rows["rank"] >= rows["rank"].shift()) | starts
        if not ordered.fill_null(value=False).all():
            return None
        users.append(rows["user"].filter(starts)[1 if last.height else 0 :])
        more = compare_orders(*rows.select("user", "rank", "score"))
        orders = orders.plus(more)
        last = rows.tail(1)
    everyone = pl.concat(users)
    return orders if everyone.n_unique() == len(everyone) else None


def compare_lines(
    n_lines: Sequence[int] | IntArray, ranks: npt.NDArray[np.int32], scores: FloatArray
) -> Orders:
    """Compare ranks and scores of lists of `n_lines` rows each; a rank below 0 is missing."""
    rank: Any = np.where(ranks < 0, np.nan, ranks) if ranks.min(initial=0) < 0 else ranks
    n_rows = np.asarray(n_lines, dtype=np.int64)
    return _compare(_Groups(n_rows[n_rows > 0]), rank, scores)


class _Groups(NamedTuple):
    """The rows of each user, one user after the other or in any order."""

    n_rows: IntArray  # of each user
    user: IntArray | None = None  # of each row, as an index of `n_rows`; None if rows are by user

    @classmethod
    def of(cls, users: Ids) -> _Groups:
        ids = users.to_series()
        if ids.null_count():  # which are refused later
            users = IdSeries(ids.cast(pl.String).fill_null(""))
        elif ids.dtype.is_integer() and ids.dtype != pl.UInt64 and not has_runs(ids):
            low, high = users.min_and_max()
            if high - low <= 4 * len(ids):
                user = users.to_integers().astype(np.int64, copy=False) - low
                return cls(np.bincount(user), user)
        fold = users.fold
        if fold.in_runs and fold.values.n_unique() == len(fold.values):
            return cls(fold.rows)
        user = fold.spread(fold_values(fold.values).rows) if fold.in_runs else fold.rows
        return cls(np.bincount(user), user)

    @property
    def starts(self) -> IntArray:
        """Where each user begins, in rows by user."""
        return np.cumsum(self.n_rows) - self.n_rows

    def mark_starts(self) -> BoolArray:
        """Mask of the rows where a user begins, if rows are by user."""
        starts = np.zeros(int(self.n_rows.sum()) + 1, dtype=bool)
        starts[self.starts] = True
        return starts[:-1]

    def spread(self, numbers: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Expand numbers of the users to a number for each row."""
        return np.repeat(numbers, self.n_rows) if self.user is None else numbers[self.user]

    def select(self, mask: BoolArray) -> _Groups:
        """Select rows by mask."""
        user = self.spread(np.arange(self.n_rows.size))[mask]
        return _Groups(np.bincount(user, minlength=self.n_rows.size), user)


def _compare(groups: _Groups, rank: npt.NDArray[Any], score: FloatArray) -> Orders:
    """Compare ranks and scores of rows: as these are if they are in order, by place, or sorted."""
    there = ~np.isnan(score)
    if groups.user is None and there.all() and rank.size:
        starts = groups.mark_starts()
        if (starts[1:] | (rank[1:] >= rank[:-1])).all():  # not where a rank is missing
            return _count_pairs(starts, score, rank)
    there &= ~np.isnan(rank)
    if not (is_whole := bool(there.all())):
        groups, rank, score = groups.select(there), rank[there], score[there]
    if rank.size and (orders := _compare_whole_ranks(groups, rank, score)):
        return orders._replace(whole=is_whole and orders.whole)
    return _compare_ranks_with_gaps(groups, rank, score)


def _compare_whole_ranks(
    groups: _Groups, rank: npt.NDArray[Any], score: FloatArray
) -> Orders | None:
    """Put each score at the place of its rank; None unless each user fills its places."""
    low, high = rank.min(), rank.max()
    if not -_FAR < low <= high < low + rank.size:
        return None
    # A rank too high leaves a place empty, whosever place it takes.
    scores = np.full(rank.size + int(high - low) + 1, np.nan)
    starts, user = groups.starts - int(low), groups.user
    start = groups.spread(starts) if user is None else starts
    for first in range(0, rank.size, _PIECE):  # less memory at once takes less time
        rows = slice(first, first + _PIECE)
        place = start[rows] if user is None else start[user[rows]]
        scores[place + rank[rows].astype(np.int64)] = score[rows]
    scores = scores[: rank.size]
    if np.isnan(scores).any():
        return None
    return _count_pairs(groups.mark_starts(), scores)._replace(whole=bool(low == 1))


def _compare_ranks_with_gaps(groups: _Groups, rank: npt.NDArray[Any], score: FloatArray) -> Orders:
    """Compare the scores of users with gaps by place, too, and sort those with repeated ranks."""
    user = groups.spread(np.arange(groups.n_rows.size))
    with np.errstate(invalid="ignore"):  # an infinite rank has no place
        place = rank - rank.min(initial=0)
        highest = np.zeros(groups.n_rows.size)
        np.maximum.at(highest, user, np.floor(place) + 1)
        has_room = highest <= _CELLS_PER_ROW * groups.n_rows
        width = np.where(has_room, highest, 0).astype(np.int64)
        has_place = place < width[user]
        place = (np.cumsum(width) - width)[user[has_place]] + place[has_place].astype(np.int64)
    scores = np.full(int(width.sum()), np.nan)
    scores[place] = score[has_place]
    owner, is_taken = np.repeat(np.arange(width.size), width), ~np.isnan(scores)
    placed = np.bincount(owner[is_taken], minlength=width.size) == groups.n_rows
    is_taken &= placed[owner]
    orders = _count_pairs(_mark_changes(owner[is_taken]), scores[is_taken])
    left = ~placed[user]
    rows = np.flatnonzero(left)[np.lexsort((rank[left], user[left]))]
    return orders.plus(_count_pairs(_mark_changes(user[rows]), score[rows], rank[rows]))


_PIECE = 2**16  # rows
_CELLS_PER_ROW = 8
_FAR = 2**53


def _mark_changes(user: IntArray) -> BoolArray:
    """Mask of the rows whose user is not that of the row before."""
    return np.append(True, user[1:] != user[:-1])


def _count_pairs(
    starts: BoolArray, score: FloatArray, rank: npt.NDArray[Any] | None = None
) -> Orders:
    """Count pairs of rows of a user, in the order of their ranks; without `rank` these differ."""
    rises = np.flatnonzero(~(score[1:] < score[:-1]))
    rises = rises[~starts[rises + 1]]
    if rank is not None:
        rises = rises[rank[rises + 1] > rank[rises]]
    higher, equal = score[rises + 1] > score[rises], score[rises + 1] == score[rises]
    return Orders(int(np.count_nonzero(higher)), int(np.count_nonzero(equal)))
