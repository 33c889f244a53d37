"""Rankings without rows: judged items are looked up, and counted among the scores of the user."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from rankmeter._align.counts import Candidates, compared, count
from rankmeter._align.judged import Judged
from rankmeter._align.packing import Groups
from rankmeter._align.tally import Marks
from rankmeter._choices import TieRule
from rankmeter._counts import RankCounts
from rankmeter._hits import BoolArray, FloatArray, IntArray
from rankmeter._ingest import ByUser, Ids, IdSeries, Objects


class Lookup:
    """Items by user, of users with a `code` below `n_users`; see `Ranking`.

    The rows of marks have no numbers but those of lists without scores.
    """

    def __init__(self, lists: ByUser, code: IntArray, n_users: int, score_type: str) -> None:
        self.lists, self.code, self.score_type = lists, code, score_type
        self.order, self.n_users, self.end = lists.order, n_users, len(lists)
        self.falling = lists.order == "score"
        self._place = np.full(n_users, code.size)  # of the list of each user; of an empty one
        self._place[code] = np.arange(code.size)
        value = np.zeros(0) if lists.numbers is None else compared(lists.numbers, score_type)
        nobody, nothing = np.empty(0, dtype=np.int64), Objects([], lists.item_type)
        groups = Groups(None, np.append(lists.offsets, lists.offsets[-1]))
        self._all = _Places(
            nobody, None, value, lists.order, nothing, groups, falling=True, lists=lists
        )

    def find(self, judged: Judged) -> Marks:
        at = self._place[judged.code]
        order = np.argsort(at, kind="stable")
        order = order[: np.searchsorted(at, self.code.size, sorter=order)]
        sought = judged.lookup_form(self.lists)
        if not np.array_equal(order, np.arange(at.size)):
            sought = sought.take(order)
        return self._marks_of(at[order], sought, judged.gain, judged.items, order)

    def self_items(self) -> Marks:
        users, item_type = self.lists.users, self.lists.item_type
        at = np.arange(len(users))
        if users.type != item_type:
            text = users.series().cast(pl.String)
            ids = text.cast(getattr(pl, item_type), strict=False)
            at = np.flatnonzero(ids.cast(pl.String).eq_missing(text).to_numpy())
            users = IdSeries(ids)
        items, n = users.take(at), at.size
        sought = self.lists.sought(items)
        marks = self._marks_of(at, sought, np.zeros(n), items, np.arange(n))
        return marks if self.order == "list" else replace(marks, row=marks.row - 1)

    def repeats(self) -> None:
        """See `Ranking`."""

    def tally(self, marks: Marks, ties: TieRule) -> RankCounts:
        at = self._place[marks.user]
        counts = count(self._all, replace(marks, user=at), ties)
        n_ranked = np.zeros(self.n_users, dtype=np.int64)
        n_ranked[self.code] = self.lists.lengths
        return replace(counts, user=marks.user, n_ranked=n_ranked)

    def numbered(self, marks: Marks) -> Marks:
        numbered = self._all.numbered(replace(marks, user=self._place[marks.user]))
        return replace(marks, row=numbered.row)

    def _marks_of(
        self, at: IntArray, sought: Any, gain: FloatArray, items: Ids, which: IntArray
    ) -> Marks:
        """The marks of items that are in the lists `at`; `which` are their gains and names."""
        number = self.lists.look_up(at, sought)
        held = np.flatnonzero(~np.isnan(number))
        at, which, number = at[held], which[held], number[held]
        where = self.code[at], gain[which]
        if self.order == "list":
            row = self.lists.offsets[at] + number.astype(np.int64)
            return Marks(*where, row, row.astype(np.float64), items, which)
        value = compared(number, self.score_type)
        return Marks(*where, np.full(at.size, -1), value, items, which, number)


@dataclass(frozen=True, eq=False, kw_only=True)
class _Places(Candidates):
    """All items of lists; they, and their numbers, are found where they are asked for."""

    lists: ByUser

    def items_at(self, at: IntArray) -> Ids:
        return self.lists.take(at)

    def holds(self, marks: Marks) -> BoolArray:
        """See `Candidates.holds`; rows without a number are there."""
        is_there: BoolArray = marks.row < len(self.lists)
        return is_there

    def numbered(self, marks: Marks) -> Marks:
        row = marks.row.copy()
        unnumbered = np.flatnonzero(row < 0)
        unnumbered = unnumbered[np.argsort(marks.user[unnumbered], kind="stable")]
        at = marks.user[unnumbered]
        place = self.lists.places(at, self.lists.sought(marks.only(unnumbered).item))
        row[unnumbered] = self.lists.offsets[at] + place.astype(np.int64)
        return replace(marks, row=row)
