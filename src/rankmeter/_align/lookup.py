"""Rankings without rows: judged items are looked up, and counted among the scores of the user."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from rankmeter._align.counts import Candidates, Marks, by_text, compared, count, holds, search
from rankmeter._align.judged import Judged
from rankmeter._align.placing import ORDERED
from rankmeter._choices import TieRule
from rankmeter._counts import RankCounts
from rankmeter._hits import FloatArray, IntArray
from rankmeter._ingest import ByUser, Ids, IdSeries, Objects, places_of


class Lookup:
    """Items by user, of users with a `code` below `n_users`; see `Ranking`.

    The rows of marks have no numbers but those of lists without scores.
    """

    def __init__(self, lists: ByUser, code: IntArray, n_users: int, score_type: str) -> None:
        self.lists, self.code, self.score_type = lists, code, score_type
        self.order, self.n_users, self.end, self.falling = (
            lists.order,
            n_users,
            len(lists),
            lists.order == "score",
        )
        self._place = np.full(n_users, code.size)  # of the list of each user; of an empty one
        self._place[code] = np.arange(code.size)
        value = np.zeros(0) if lists.numbers is None else compared(lists.numbers, score_type)
        user, items = np.empty(0, dtype=np.int64), Objects([], lists.item_type)
        offsets = np.append(lists.offsets, lists.offsets[-1])
        # All places, list after list; users and items are not fetched.
        self._all = Candidates(user, None, value, self.order, items, None, offsets, falling=True)

    def find(self, judged: Judged) -> Marks:
        """See `Ranking`."""
        at = self._place[judged.code]
        order = np.argsort(at, kind="stable")
        order = order[: np.searchsorted(at, self.code.size, sorter=order)]
        sought = judged.sought(self.lists)
        if not np.array_equal(order, np.arange(at.size)):
            sought = sought.take(order)
        return self._look_up(at[order], sought, judged.gain, judged.items, order)

    def selves(self) -> Marks:
        """See `Ranking`."""
        users, item_type = self.lists.users, self.lists.item_type
        at = np.arange(len(users))
        if users.type != item_type:
            text = users.series().cast(pl.String)
            ids = text.cast(getattr(pl, item_type), strict=False)
            at = np.flatnonzero(ids.cast(pl.String).eq_missing(text).to_numpy())
            users = IdSeries(ids)
        items, n = users.take(at), at.size
        sought = self.lists.sought(items)
        marks = self._look_up(at, sought, np.zeros(n), items, np.arange(n))
        return marks if self.order == "list" else replace(marks, row=marks.row - 1)

    def twice(self) -> None:
        """See `Ranking`."""

    def tally(self, marks: Marks, ties: TieRule) -> RankCounts:
        """See `Ranking`."""
        at = self._place[marks.user]
        counts = count(self._all, replace(marks, user=at), "optimistic")
        before = np.zeros_like(counts.equal) if ties in ORDERED else None
        tied = counts.equal > 0
        if before is not None and tied.any():
            some = marks.only(tied)
            before[tied] = _before(self.lists, self._all.value, at[tied], some, ties)
        n_ranked = np.zeros(self.n_users, dtype=np.int64)
        n_ranked[self.code] = self.lists.lengths
        return replace(counts, user=marks.user, before=before, n_ranked=n_ranked)

    def numbered(self, marks: Marks) -> Marks:
        """See `Ranking`."""
        at, row = self._place[marks.user], marks.row.copy()
        some = np.flatnonzero(row < 0)
        some = some[np.argsort(at[some], kind="stable")]
        place = self.lists.places(at[some], self.lists.sought(marks.only(some).item))
        row[some] = self.lists.offsets[at[some]] + place.astype(np.int64)
        return replace(marks, row=row)

    def _look_up(
        self, at: IntArray, sought: Any, gain: FloatArray, items: Ids, which: IntArray
    ) -> Marks:
        """The marks of items that are in the lists `at`; `which` are their gains and names."""
        number = self.lists.look_up(at, sought)
        found = np.flatnonzero(~np.isnan(number))
        at, which, number = at[found], which[found], number[found]
        where = self.code[at], gain[which]
        if self.order == "list":
            row = self.lists.offsets[at] + number.astype(np.int64)
            return Marks(*where, row, row.astype(np.float64), items, which)
        value = compared(number, self.score_type)
        return Marks(*where, np.full(at.size, -1), value, items, which, number)


def _before(
    lists: ByUser, values: FloatArray, at: IntArray, marks: Marks, ties: TieRule
) -> IntArray:
    """How many items of the lists `at` with the value of each mark precede it."""
    value, items = marks.value, marks.item
    order = np.lexsort((value, at))
    at_, value_ = at[order], value[order]
    new = np.append(True, (at_[1:] != at_[:-1]) | (value_[1:] != value_[:-1]))
    group = np.empty(at.size, dtype=np.int64)
    group[order] = np.cumsum(new) - 1
    at_, value_ = at_[new], value_[new]  # of the groups
    # All items of the groups.
    list_ = at_[np.append(True, at_[1:] != at_[:-1])]
    length = lists.lengths[list_]
    list_, place = np.repeat(list_, length), _ranges(length)
    found = values[lists.offsets[list_] + place]
    begin, end = np.searchsorted(at_, list_), np.searchsorted(at_, list_, side="right")
    mine = search(value_, found, begin, end, np.less)
    inside = holds(value_, found, mine, end)
    list_, place, mine = list_[inside], place[inside], mine[inside]
    # Their order, in which each item is looked up.
    text = by_text(ties, lists.item_type)
    key = places_of([items, lists.items_at(list_, place)], text=text)
    wanted, key = key[: at.size], key[at.size :]
    order = np.lexsort((key, mine))
    key = key[order]
    ends = np.append(0, np.cumsum(np.bincount(mine, minlength=value_.size)))
    begin, end = ends[group], ends[group + 1]
    nth = search(key, wanted, begin, end, np.less)
    if not (ties == "input" or "descending" in ties):
        return nth - begin
    is_there = holds(key, wanted, nth, end)
    if ties != "input":
        return end - is_there - nth
    wanted, order = place[order].take(nth, mode="clip"), np.lexsort((place, mine))
    nth = search(place[order], wanted, begin, end, np.less)
    return np.where(is_there, nth, end) - begin  # items that are not in the list follow it


def _ranges(length: IntArray) -> IntArray:
    """0, 1, … below each of some lengths."""
    total = np.cumsum(length)
    return np.arange(length.sum()) - np.repeat(total - length, length)
