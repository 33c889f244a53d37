"""Count the ranking rows above, equal to and before each judged item.

Compiled code compares the scores of each user with those of the judged items. Where it is missing,
the scores of each user are sorted as plain numbers, without their rows, and each judged item is
looked up among them. Items are compared only inside tied groups.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from rankmeter import _compiled
from rankmeter._align.packing import Groups
from rankmeter._align.placing import ORDERED
from rankmeter._choices import TieRule
from rankmeter._counts import RankCounts
from rankmeter._hits import FloatArray, IntArray
from rankmeter._ingest import Ids, IdSeries, places, series

_LOOKED_AT = 2**16  # values that are compared at once
_AT_ONCE = 2**15  # targets, so that the steps of a search stay in the cache


@dataclass(frozen=True, eq=False)
class Marks:
    """Rows of rankings at which counting is asked for, or which are candidates of their own."""

    user: IntArray  # (n,) row of evaluation
    gain: FloatArray  # as judged
    row: IntArray  # the place of each among all rows of the rankings
    value: FloatArray  # its sort key, as that of the candidates
    items: Ids  # where the items are
    at: IntArray | None = None  # and the place of each in them; None if these are all
    score: FloatArray | None = None  # as given, for rankings that are ordered by scores

    @cached_property
    def item(self) -> Ids:
        """The items themselves, which only ties need."""
        return self.items if self.at is None else self.items.take(self.at)

    def only(self, chosen: npt.NDArray[np.bool_] | IntArray) -> Marks:
        """Some of the marks, by mask or place."""
        if chosen.dtype == bool and chosen.all():
            return self
        at = np.arange(self.user.size) if self.at is None else self.at
        score = None if self.score is None else self.score[chosen]
        rows = self.user[chosen], self.gain[chosen], self.row[chosen], self.value[chosen]
        return Marks(*rows, self.items, at[chosen], score)

    def followed_by(self, more: Marks) -> Marks:
        """These and more, whose items are at places of the same ids."""
        both: dict[str, Any] = {
            name: np.concatenate([getattr(self, name), getattr(more, name)])
            for name in ("user", "gain", "row", "value", "at", "score")
            if getattr(self, name) is not None
        }
        return replace(self, **both)


@dataclass(frozen=True, eq=False)
class Candidates:
    """Ranking rows, or some of them, grouped by user without being moved."""

    user: IntArray  # (n_rows,) row of evaluation of each ranking row
    row: IntArray | None  # its number among all ranking rows, ascending; None if these are all
    value: FloatArray  # sort key of the rows of a user; smaller is better unless `falling`
    order: str  # "score": value is a negated score; "rank": a given rank; "list": the row number
    item: Ids
    grouped: IntArray | None  # positions of the rows by user, in a list in order; None if they are
    offsets: IntArray  # (n_users + 1,) where each user's rows begin in `grouped`
    falling: bool = False  # whether larger values are better: scores that are not negated

    @classmethod
    def of(
        cls,
        frame: pl.DataFrame,
        user: IntArray,
        n_users: int,
        order: str,
        score_type: str,
        *,
        groups: Groups | None = None,
        falling: bool = False,
    ) -> Candidates:
        """Group all rows of a ranking by `user`, the row of evaluation of each ranking row.

        Rows that are only some have a ``number``. If `falling`, scores are left as they are.
        """
        value: FloatArray
        falling = falling and order == "score"
        number = frame["number"].to_numpy() if "number" in frame.columns else None
        if order == "list":
            value = (np.arange(user.size) if number is None else number).astype(np.float64)
        else:
            value = frame[order].to_numpy()
            value = compared(value, score_type) if falling else sort_key(value, order, score_type)
        if groups is None:
            groups = Groups.of(user, n_users)
        items, where = IdSeries(frame["item"]), (groups.order, groups.offsets)
        return cls(user, number, value, order, items, *where, falling)

    @cached_property
    def ascending(self) -> FloatArray:
        """The sort keys of each user's rows, ascending; `value` itself if they are."""
        if self.grouped is None or _is_sorted(self.user, self.offsets[[0, -1]]):
            value = self.value
        else:
            value = self.value[self.grouped]
        if _is_sorted(value, self.offsets):
            return value
        return sort_within(value.copy() if value is self.value else value, self.offsets)

    def numbers(self, at: IntArray) -> IntArray:
        """The numbers of the rows at some positions."""
        return at if self.row is None else self.row[at]

    def only(self, chosen: IntArray) -> Candidates:
        """Some of the rows, by ascending position."""
        user = self.user[chosen]
        row, value = self.numbers(chosen), self.value[chosen]
        item = self.item.take(chosen)
        groups = Groups.of(user, self.offsets.size - 1)
        where = groups.order, groups.offsets
        return Candidates(user, row, value, self.order, item, *where, self.falling)

    def marks(self, row: IntArray, gain: FloatArray | None = None) -> Marks:
        """The rows at some positions as marks."""
        gain = np.zeros(row.size) if gain is None else gain
        return Marks(self.user[row], gain, self.numbers(row), self.value[row], self.item, row)

    def followed_by(self, marks: Marks) -> Candidates:
        """With more rows, whose numbers are higher."""
        row = np.concatenate([self.numbers(np.arange(self.user.size)), marks.row])
        user = np.concatenate([self.user, marks.user])
        value = np.concatenate([self.value, marks.value])
        item = IdSeries(pl.concat([self.item.series(), marks.item.series()]))
        groups = Groups.of(user, self.offsets.size - 1)
        where = groups.order, groups.offsets
        return Candidates(user, row, value, self.order, item, *where, self.falling)

    @classmethod
    def few(cls, marks: Marks, n_users: int, order: str, *, falling: bool = False) -> Candidates:
        """Some rows as candidates."""
        groups = Groups.of(marks.user, n_users)
        where = groups.order, groups.offsets
        return cls(marks.user, marks.row, marks.value, order, marks.item, *where, falling)


def sort_key(number: FloatArray, order: str, score_type: str = "float64") -> FloatArray:
    """Scores or ranks as numbers of which the smaller is better."""
    return -compared(number, score_type) if order == "score" else number


def compared(score: FloatArray, score_type: str) -> FloatArray:
    """Scores in the precision in which they are compared."""
    return score.astype(np.float32).astype(np.float64) if score_type == "float32" else score


def count(candidates: Candidates, marks: Marks, ties: TieRule) -> RankCounts:
    """Count the candidates above, equal to and before each mark, which is not equal to itself.

    The counts of disjoint candidates add up to those of all of them. The order within tied groups
    is counted only for a rule that needs it.
    """
    c, t = candidates, marks
    n_ranked = np.diff(c.offsets)
    ordered = ties in ORDERED
    if c.row is None and c.order == "list":  # marks beyond all rows are at the end
        place = t.row
        if c.grouped is not None:
            places = np.empty(c.user.size + 1, dtype=np.int64)
            places[c.grouped], places[-1] = np.arange(c.user.size), c.user.size
            place = places[np.minimum(t.row, c.user.size)]
        above = np.minimum(place, c.offsets[t.user + 1]) - c.offsets[t.user]
        equal = np.zeros_like(above)
        return RankCounts(t.user, t.gain, above, equal, equal if ordered else None, n_ranked)
    above, upto = _spans(c, t)
    equal = upto - above
    equal -= t.row < c.offsets[-1] if c.row is None else np.isin(t.row, c.row)
    before: IntArray | None = None
    if ordered:
        before = np.zeros_like(equal)
        tied = equal > 0
        if tied.any():
            before[tied] = before_in(c, t, tied, ties)
    return RankCounts(t.user, t.gain, above, equal, before, n_ranked)


def _spans(c: Candidates, t: Marks) -> tuple[IntArray, IntArray]:
    """For each target, how many candidates of its user are better, and how many are not worse."""
    if _compiled.native is not None:
        above, upto = np.empty((2, t.user.size), dtype=np.int64)
        value, user = np.ascontiguousarray(c.value), np.ascontiguousarray(t.user)
        wanted, order = np.ascontiguousarray(t.value), None
        if np.any(user[1:] < user[:-1]):
            order = np.argsort(user, kind="stable")
            user, wanted = user[order], wanted[order]
        _compiled.native.count(value, c.grouped, c.offsets, user, wanted, above, upto)
        if order is not None:
            above[order], upto[order] = above.copy(), upto.copy()
        if c.falling:
            n = np.diff(c.offsets)[t.user]
            above, upto = np.subtract(n, upto, out=upto), np.subtract(n, above, out=above)
        return above, upto
    if c.falling:
        c, t = replace(c, value=-c.value, falling=False), replace(t, value=-t.value)
    if not c.value.size:
        return np.zeros_like(t.user), np.zeros_like(t.user)
    begin, end = c.offsets[t.user], c.offsets[t.user + 1]
    above, upto = (
        search(c.ascending, t.value, begin, end, before) for before in (np.less, np.less_equal)
    )
    return above - begin, upto - begin


def sort_within(value: FloatArray, offsets: IntArray) -> FloatArray:
    """Sort each segment, in place if all have one length.

    Otherwise segments of like length are the rows of one padded matrix.
    """
    length = np.diff(offsets)
    some = length > 0
    longest, n = int(length.max(initial=0)), int(np.count_nonzero(some))
    if value.size == n * longest:
        value.reshape(n, longest).sort(axis=1)
        return value
    result = np.empty_like(value)
    power = np.full(length.size, -1, dtype=np.int64)
    power[some] = np.ceil(np.log2(length[some]))
    for one in np.flatnonzero(np.bincount(power[some])).tolist():
        segments, size = np.flatnonzero(power == one), 1 << one
        inside = np.arange(size) < length[segments][:, None]
        place = (offsets[segments][:, None] + np.arange(size))[inside]
        padded = np.full(inside.shape, np.inf)
        padded[inside] = value[place]
        padded.sort(axis=1)
        result[place] = padded[inside]
    return result


def _is_sorted(value: npt.NDArray[Any], offsets: IntArray) -> bool:
    """Whether each segment is sorted, as lists often are; if not, that is soon known."""
    starts = offsets[1:-1]
    for begin in range(1, value.size, _LOOKED_AT):
        end = min(begin + _LOOKED_AT, value.size)
        rising = value[begin:end] >= value[begin - 1 : end - 1]
        low, high = np.searchsorted(starts, [begin, end])
        rising[starts[low:high] - begin] = True
        if not rising.all():
            return False
    return True


def order_within(value: FloatArray, offsets: IntArray) -> IntArray:
    """The positions of the numbers of each segment, ascending by value; equal ones by position."""
    length = np.diff(offsets)
    result = np.empty(value.size, dtype=np.int64)
    size = np.where(length > 0, 1 << np.ceil(np.log2(np.maximum(length, 1))).astype(np.int64), 0)
    longest = int(length.max(initial=0))
    if value.size == np.count_nonzero(length) * longest:
        size = length
    for width in np.flatnonzero(np.bincount(size[size > 0])).tolist():
        segments = np.flatnonzero(size == width)
        inside = np.arange(width) < length[segments][:, None]
        place = offsets[segments][:, None] + np.arange(width)
        padded = np.full(inside.shape, np.inf)
        padded[inside] = value[place[inside]]
        order = np.argsort(padded, axis=1, kind="stable")
        result[place[inside]] = (offsets[segments][:, None] + order)[inside]
    return result


def search(
    value: npt.NDArray[Any],
    wanted: npt.NDArray[Any],
    begin: IntArray,
    end: IntArray,
    before: np.ufunc,
) -> IntArray:
    """Where the numbers before each wanted one end in its own sorted segment, all at once."""
    found, longest = begin.copy(), int((end - begin).max(initial=0))
    for start in range(0, found.size, _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        for power in reversed(range(longest.bit_length())):
            further = found[part] + (1 << power)
            right = before(value.take(further - 1, mode="clip"), wanted[part])
            right &= further <= end[part]
            found[part] += right.astype(np.int64) << power  # without branches
    return found


def holds(
    value: npt.NDArray[Any], wanted: npt.NDArray[Any], at: IntArray, end: IntArray
) -> npt.NDArray[np.bool_]:
    """Whether each wanted number is at this position of its segment."""
    held: npt.NDArray[np.bool_] = value.take(at, mode="clip") == wanted
    return held & (at < end)


def before_in(c: Candidates, t: Marks, tied: npt.NDArray[np.bool_], ties: TieRule) -> IntArray:
    """How many candidates of its tied group precede each tied target, by item or by row."""
    mine = _rows(t.user, t.value, t.item, t.row).filter(series(tied))
    runs = mine.select("user", "bits").unique()
    # Few users have ties, as a rule.
    n_users = 1 + max(int(c.user.max(initial=0)), int(t.user.max(initial=0)))
    has = np.zeros(n_users, dtype=bool)
    has[t.user[tied]] = True
    at = np.flatnonzero(has[c.user])
    members = _rows(c.user[at], c.value[at], c.item.take(at), c.numbers(at)).join(
        runs, on=["user", "bits"], how="semi"
    )
    # Marks are put just before their own rows; the rows in front of them are counted.
    both = pl.concat(
        [
            mine.with_row_index("target").with_columns(rows=pl.lit(0, pl.Int64)),
            members.select(pl.lit(None, pl.UInt32).alias("target"), pl.all()).with_columns(
                rows=pl.lit(1, pl.Int64)
            ),
        ]
    )
    keys = ["user", "bits", "row", "rows"]
    if ties != "input":
        both = both.with_columns(item=by_item(both["item"], ties))
        keys.insert(2, "item")
    both = both.sort(keys, descending=[key == "item" and "descending" in ties for key in keys])
    seen = both["rows"].cum_sum().to_numpy()
    user, bits = both["user"].to_numpy(), both["bits"].to_numpy()
    start = np.ones(seen.size, dtype=bool)
    start[1:] = (user[1:] != user[:-1]) | (bits[1:] != bits[:-1])
    first = np.maximum.accumulate(np.where(start, np.arange(seen.size), 0))
    before = seen - (seen - both["rows"].to_numpy())[first]
    at = np.flatnonzero(both["target"].is_not_null().to_numpy())
    result = np.empty(at.size, dtype=np.int64)
    result[both["target"].drop_nulls().to_numpy()] = before[at]
    return result


def _rows(user: IntArray, value: FloatArray, item: Ids, row: IntArray) -> pl.DataFrame:
    numbers = {"user": series(user), "bits": series(_bits(value))}
    return pl.DataFrame({**numbers, "item": item.series(), "row": series(row)})


def by_item(item: pl.Series, ties: TieRule) -> pl.Series:
    """Ascending sort key of tied items, for a rule that compares items."""
    return places(item, text=by_text(ties, str(item.dtype)))


def by_text(ties: TieRule, item_type: str) -> bool:
    """Whether a rule compares all items of a type as text."""
    return ties.startswith("text") or (ties.startswith("native") and item_type == "String")


def _bits(value: FloatArray) -> IntArray:
    # −0.0 and 0.0 are equal scores with different bits: adding 0.0 makes them one.
    return (value + 0.0).view(np.int64)
