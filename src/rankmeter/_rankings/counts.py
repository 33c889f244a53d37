"""Count the ranking rows above, equal to and before each judged item.

Compiled code compares the scores of each user with those of the judged items; it gives what `Tally`
does. Items are compared only inside tied groups.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from rankmeter import _native
from rankmeter._choices import TieRule
from rankmeter._evidence.hits import BoolArray, FloatArray, IntArray
from rankmeter._rankings.codes import map_in_threads
from rankmeter._rankings.marks import Marks
from rankmeter._rankings.pairs import Groups
from rankmeter._rankings.rank_counts import RankCounts
from rankmeter._rankings.ties import BY_ROW, ORDERED, compares_as_text
from rankmeter._reading.by_user import Ids, IdSeries, id_sort_keys

if TYPE_CHECKING:
    from rankmeter._rankings.tally import Tally


@dataclass(frozen=True, eq=False)
class Candidates:
    """Ranking rows, or some of them, grouped by user without moving rows."""

    user: IntArray  # (n_rows,) code of the user of each ranking row
    row: IntArray | None  # its number among all ranking rows, ascending; None if these are all
    value: FloatArray  # sort key of the rows of a user; smaller is better unless `falling`
    order: str  # "score": value is a negated score; "rank": a given rank; "list": the row number
    item: Ids
    groups: Groups  # the rows of each user, in a list in order
    falling: bool = False  # whether larger values are better: scores that are not negated

    @classmethod
    def of(
        cls,
        frame: pl.DataFrame,
        user: IntArray,
        groups: Groups,
        order: str,
        score_type: str,
        *,
        falling: bool = False,
    ) -> Candidates:
        """Create candidates from all rows, with their user codes and the `groups` of these codes.

        If some rows are left out, the frame has a ``number``. If `falling`, scores are not negated.
        """
        value: FloatArray
        falling = falling and order == "score"
        number = frame["number"].to_numpy() if "number" in frame.columns else None
        if order == "list":
            value = (np.arange(user.size) if number is None else number).astype(np.float64)
        else:
            value = frame[order].to_numpy()
            value = (
                round_scores(value, score_type) if falling else sort_key(value, order, score_type)
            )
        return cls(user, number, value, order, IdSeries(frame["item"]), groups, falling)

    @classmethod
    def of_marks(
        cls, marks: Marks, n_users: int, order: str, *, falling: bool = False
    ) -> Candidates:
        """Create candidates from marks, grouped by user."""
        groups = Groups.of(marks.user, n_users)
        return cls(marks.user, marks.row, marks.value, order, marks.item, groups, falling)

    @property
    def offsets(self) -> IntArray:
        """Offsets of each user's rows in the grouped order, shape (n_users + 1,)."""
        return self.groups.offsets

    @cached_property
    def sorted_values(self) -> FloatArray:
        """Sort keys of each user's rows, ascending; `value` itself if already sorted."""
        value, order = self.value, self.groups.order
        if order is not None and not _are_segments_sorted(self.user, self.offsets[[0, -1]]):
            value = value[order]
        if _are_segments_sorted(value, self.offsets):
            return value
        return sort_segments(value.copy() if value is self.value else value, self.offsets)

    def rows_of_users(self, users: IntArray) -> tuple[IntArray, IntArray]:
        """User and position of each row of some users."""
        begin, n = self.offsets[users], self.offsets[users + 1] - self.offsets[users]
        rows = np.repeat(begin + n - np.cumsum(n), n) + np.arange(n.sum())
        order = self.groups.order
        return np.repeat(users, n), rows if order is None else order[rows].astype(np.int64)

    def holds(self, marks: Marks) -> BoolArray:
        """Mask of the marks that are among these rows with the same value."""
        if not self.value.size:
            return np.zeros(marks.row.size, dtype=bool)
        position = marks.row
        is_there: BoolArray = position < self.value.size
        if self.row is not None:
            order = np.argsort(self.row, kind="stable")
            position = order.take(np.searchsorted(self.row, position, sorter=order), mode="clip")
            is_there = np.isin(marks.row, self.row)
        # Rows without a number cannot be compared, and none of them has moved.
        is_there &= (marks.row < 0) | (self.value.take(position, mode="clip") == marks.value)
        return is_there

    def with_row_numbers(self, marks: Marks) -> Marks:
        """Fill in the row number of each mark where the number was left out."""
        return marks

    @property
    def row_numbers(self) -> IntArray:
        """Number of each row among all rows."""
        return np.arange(self.user.size) if self.row is None else self.row

    def row_numbers_at(self, rows: IntArray) -> IntArray:
        """Row numbers of the rows at some positions."""
        return rows if self.row is None else self.row[rows]

    def items_at(self, rows: IntArray) -> Ids:
        """Items of the rows at some positions."""
        return self.item.take(rows)

    def marks_at(self, rows: IntArray) -> Marks:
        """Turn the rows at some positions into marks without a gain."""
        user, value = self.user[rows], self.value[rows]
        return Marks(user, np.zeros(rows.size), self.row_numbers_at(rows), value, self.item, rows)

    def only(self, rows: IntArray) -> Candidates:
        """Select rows by ascending positions."""
        return self._from_marks(self.marks_at(rows))

    def followed_by(self, marks: Marks) -> Candidates:
        """Append rows with higher numbers."""
        rows = self.marks_at(np.arange(self.user.size))
        items = IdSeries(pl.concat([rows.item.to_series(), marks.item.to_series()]))
        positions = rows.user.size + np.arange(marks.user.size)
        appended = replace(marks, items=items, position=positions)
        return self._from_marks(replace(rows, items=items).followed_by(appended))

    def _from_marks(self, marks: Marks) -> Candidates:
        return Candidates.of_marks(marks, self.offsets.size - 1, self.order, falling=self.falling)


def sort_key(number: FloatArray, order: str, score_type: str = "float64") -> FloatArray:
    """Sort keys of scores or ranks; smaller is better."""
    return -round_scores(number, score_type) if order == "score" else number


def round_scores(score: FloatArray, score_type: str) -> FloatArray:
    """Round scores to the precision of their comparison."""
    return score.astype(np.float32).astype(np.float64) if score_type == "float32" else score


def count_at_marks(candidates: Candidates, marks: Marks, ties: TieRule) -> RankCounts:
    """Count the candidates above, equal to and before each mark; a mark does not equal itself.

    The counts of disjoint candidates add up to those of all of them. The order within tied groups
    is counted only for a rule that needs it.
    """
    c, t = candidates, marks
    n_ranked = np.diff(c.offsets)
    ordered = ties in ORDERED
    if c.row is None and c.order == "list":  # marks beyond all rows are at the end
        position = t.row
        if c.groups.order is not None:
            places = np.empty(c.user.size + 1, dtype=np.int64)
            places[c.groups.order], places[-1] = np.arange(c.user.size), c.user.size
            position = places[np.minimum(t.row, c.user.size)]
        above = np.minimum(position, c.offsets[t.user + 1]) - c.offsets[t.user]
        equal = np.zeros_like(above)
        return RankCounts(t.user, t.gain, above, equal, equal if ordered else None, n_ranked)
    above, equal = _count_above_and_equal(c, t)
    equal -= c.holds(t)
    before: IntArray | None = None
    if ordered:
        before = np.zeros_like(equal)
        if (tied := equal > 0).any():
            marks = t.only(tied)
            marks = c.with_row_numbers(marks) if ties in BY_ROW else marks
            before[tied] = _tally_by_definition(c, marks, [ties]).count_before(ties)
    return RankCounts(t.user, t.gain, above, equal, before, n_ranked)


def _count_above_and_equal(c: Candidates, t: Marks) -> tuple[IntArray, IntArray]:
    """Count, for each mark, the better candidates of its user and the candidates of equal value."""
    if _native.native is None or (c.groups.order is not None and c.groups.order.itemsize > 4):
        tally = _tally_by_definition(c, t)
        return tally.count_above(), tally.count_equal()
    above, upto = np.empty((2, t.user.size), dtype=np.int64)
    value, user = np.ascontiguousarray(c.value), np.ascontiguousarray(t.user)
    mark_value, order = np.ascontiguousarray(t.value), None
    if np.any(user[1:] < user[:-1]):
        order = np.argsort(user, kind="stable")
        user, mark_value = user[order], mark_value[order]
    count_compiled(value, c.groups, user, mark_value, above, upto)
    if order is not None:
        above[order], upto[order] = above.copy(), upto.copy()
    if c.falling:
        n = np.diff(c.offsets)[t.user]
        return n - upto, np.subtract(upto, above, out=above)
    return above, np.subtract(upto, above, out=upto)


def count_compiled(
    value: npt.NDArray[Any],
    groups: Groups,
    user: IntArray,
    wanted: FloatArray,
    above: IntArray,
    upto: IntArray,
) -> bool:
    """Count the values below, and at most, each wanted number of a user, in threads.

    Users ascend. Return whether all values of these users are finite.
    """
    native, ends = _native.native, np.searchsorted(user, groups.ranges_of_users())
    assert native is not None

    def count(part: int) -> bool:
        marks = slice(ends[part], ends[part + 1])
        sought = user[marks], wanted[marks], above[marks], upto[marks]
        return bool(native.count(value, groups.order, groups.offsets, *sought))

    return all([*map_in_threads(count, ends.size - 1)])


def _tally_by_definition(c: Candidates, t: Marks, rules: Sequence[TieRule] = ()) -> Tally:
    """Count the candidates of the marks' users by the definition, in Python."""
    from rankmeter._rankings.tally import Tally

    user, rows = c.rows_of_users(np.flatnonzero(np.bincount(t.user)))
    value = c.value[rows]
    if c.falling:
        value, t = -value, replace(t, value=-t.value)
    tally = Tally(t, c.offsets.size - 1, rules)
    tally.add(user, value, c.row_numbers_at(rows), lambda places: c.items_at(rows[places]))
    return tally


def sort_segments(value: FloatArray, offsets: IntArray) -> FloatArray:
    """Sort each segment; in place if all nonempty segments have one length."""
    longest, n = _longest_and_nonempty_segments(offsets)
    if value.size == n * longest:
        value.reshape(n, longest).sort(axis=1)
        return value
    result = np.empty_like(value)
    for positions, is_filled, padded in _segments_as_matrices(value, offsets):
        padded.sort(axis=1)
        result[positions[is_filled]] = padded[is_filled]
    return result


def argsort_segments(value: FloatArray, offsets: IntArray) -> IntArray:
    """Positions that sort each segment by ascending value, equal values by position."""
    result = np.empty(value.size, dtype=np.int64)
    for positions, is_filled, padded in _segments_as_matrices(value, offsets):
        order = np.argsort(padded, axis=1, kind="stable")
        result[positions[is_filled]] = (positions[:, :1] + order)[is_filled]
    return result


def _longest_and_nonempty_segments(offsets: IntArray) -> tuple[int, int]:
    """Length of the longest segment, and number of nonempty segments."""
    length = np.diff(offsets)
    return int(length.max(initial=0)), int(np.count_nonzero(length))


def _segments_as_matrices(
    value: FloatArray, offsets: IntArray
) -> Iterator[tuple[IntArray, BoolArray, FloatArray]]:
    """Yield segments of similar length as matrix rows: positions, mask of filled cells, values.

    Rows are filled up with infinity.
    """
    length, (longest, n) = np.diff(offsets), _longest_and_nonempty_segments(offsets)
    width = np.where(length > 0, 1 << np.ceil(np.log2(np.maximum(length, 1))).astype(np.int64), 0)
    if value.size == n * longest:
        width = length
    for size in np.flatnonzero(np.bincount(width[width > 0])).tolist():
        segments = np.flatnonzero(width == size)
        is_filled = np.arange(size) < length[segments][:, None]
        positions = offsets[segments][:, None] + np.arange(size)
        padded = np.full(is_filled.shape, np.inf)
        padded[is_filled] = value[positions[is_filled]]
        yield positions, is_filled, padded


def _are_segments_sorted(value: npt.NDArray[Any], offsets: IntArray) -> bool:
    """Whether each segment is in ascending order."""
    rising = np.append(True, value[1:] >= value[:-1])
    starts = offsets[:-1]
    rising[starts[starts < value.size]] = True
    return bool(rising.all())


def item_sort_key(item: pl.Series, ties: TieRule) -> pl.Series:
    """Ascending sort key of tied items, for a tie rule that compares items."""
    return id_sort_keys(item, as_text=compares_as_text(ties, str(item.dtype)))
