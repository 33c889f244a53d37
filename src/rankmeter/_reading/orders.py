"""Compare an order that is said twice: by ranks, and by scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from rankmeter._evidence.hits import BoolArray, FloatArray, IntArray


class Orders(NamedTuple):
    """Two orders of the same rows: pairs of rows of a user whose ranks follow each other.

    Pairs of one rank are not counted.
    """

    against: int = 0  # the worse rank has the higher score
    tied: int = 0  # both have the same score


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


def compare_orders(users: pl.Series, ranks: pl.Series, scores: pl.Series) -> Orders:
    """Compare ranks and scores of all rows, in whatever order these are.

    Missing ranks and scores are not compared, nor are columns of other things than numbers.
    """
    if len(users) < 2 or not (ranks.dtype.is_numeric() and scores.dtype.is_numeric()):
        return NO_PAIRS
    rank, score = (column.cast(pl.Float64).to_numpy() for column in (ranks, scores))
    starts = users.ne_missing(users.shift()).to_numpy().copy()
    starts[0] = True
    n = int(np.count_nonzero(starts))
    # Where users are mixed, as many short groups say, counting the users would be in vain.
    grouped = _FEW_STARTS * n <= len(users) and n == users.filter(starts).n_unique()
    return _compare(starts, rank, score, lambda: _codes(users), grouped=grouped)


_FEW_STARTS = 4


def have_no_gaps(users: pl.Series, ranks: pl.Series) -> bool:
    """Whether the ranks of each user are certainly not above the number of its rows.

    Ranks that differ and have no gap add up to the least number; ties may be more.
    """
    rank = ranks.to_numpy()
    starts = users.ne_missing(users.shift()).to_numpy().copy()
    starts[:1] = True
    first = np.flatnonzero(starts)
    if _FEW_STARTS * first.size <= rank.size and users.filter(starts).n_unique() == first.size:
        n = np.diff(np.append(first, rank.size))
        return bool((np.maximum.reduceat(rank, first) <= n).all())
    code = _codes(users)
    n, total = np.bincount(code), np.bincount(code, weights=rank)
    return bool((total <= n * (n + 1) / 2).all())


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
        orders = Orders(orders.against + more.against, orders.tied + more.tied)
        last = rows.tail(1)
    everyone = pl.concat(users)
    return orders if everyone.n_unique() == len(everyone) else None


def compare_lines(
    n_lines: Sequence[int] | IntArray, ranks: npt.NDArray[np.int32], scores: FloatArray
) -> Orders:
    """Compare ranks and scores of lists of `n_lines` rows each; a rank below 0 is missing."""
    rank: Any = np.where(ranks < 0, np.nan, ranks) if ranks.min(initial=0) < 0 else ranks
    starts = np.zeros(rank.size, dtype=bool)
    starts[np.cumsum(n_lines) - n_lines] = True
    return _compare(starts, rank, scores, lambda: np.repeat(np.arange(len(n_lines)), n_lines))


def _compare(
    starts: BoolArray,
    rank: npt.NDArray[Any],
    score: FloatArray,
    codes: Callable[[], IntArray],
    *,
    grouped: bool = True,
) -> Orders:
    """Compare ranks and scores of rows; `codes` gives the users as integers from 0.

    `starts` says where a user follows another one, and `grouped` whether each does so once.
    """
    # Few rows do not follow the one before, so that only these need a look at their users.
    falls = np.flatnonzero(~(rank[1:] >= rank[:-1]))  # missing ranks, too
    if not grouped or not starts[falls + 1].all():
        code, rank, score = _by_rank(codes(), rank, score)
        starts = np.append(True, code[1:] != code[:-1])
    rises = np.flatnonzero(~(score[1:] < score[:-1]))
    rises = rises[~starts[rises + 1] & (rank[rises + 1] > rank[rises])]
    pairs = score[rises + 1] > score[rises], score[rises + 1] == score[rises]
    return Orders(*(int(np.count_nonzero(pair)) for pair in pairs))


def _codes(users: pl.Series) -> IntArray:
    """Users as integers from 0, of which few are left out."""
    quick = users if users.dtype.is_integer() else users.cast(pl.Categorical).to_physical()
    low, high = int(quick.min()), int(quick.max())  # type: ignore[arg-type]
    if high - low > 4 * len(users):  # Polars numbers categories for the whole process
        names = users.cast(pl.String)
        quick, low = names.cast(pl.Enum(names.unique())).to_physical(), 0
    return quick.to_numpy().astype(np.int64) - low


def _by_rank(
    code: IntArray, rank: npt.NDArray[Any], score: FloatArray
) -> tuple[IntArray, npt.NDArray[Any], FloatArray]:
    """Sort rows that have a rank and a score by user and rank."""
    there = ~(np.isnan(rank) | np.isnan(score))
    if not there.all():
        code, rank, score = code[there], rank[there], score[there]
    if not rank.size:
        return code, rank, score
    low = rank.min()
    width, n_codes = float(rank.max() - low) + 1, int(code.max()) + 1
    if width * n_codes <= _CELLS_PER_ROW * rank.size:
        # A table with a cell for each rank is faster than sorting; a repeated rank has no place.
        cells = np.full(int(width) * n_codes, np.nan)
        cells[code * int(width) + (rank - low).astype(np.int64)] = score
        cell = np.flatnonzero(~np.isnan(cells))
        if cell.size == rank.size:
            return cell // int(width), cell % int(width), cells[cell]
    rows = np.lexsort((rank, code))
    return code[rows], rank[rows], score[rows]


_CELLS_PER_ROW = 8
