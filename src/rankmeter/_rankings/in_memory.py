"""Two kinds of rankings in memory: rows, and items by user for lookup."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from rankmeter._choices import TieRule
from rankmeter._evidence.hits import BoolArray, FloatArray, IntArray
from rankmeter._rankings.counts import Candidates, count_at_marks, round_scores
from rankmeter._rankings.ground_truth import Judged
from rankmeter._rankings.marks import Marks
from rankmeter._rankings.pairs import Groups, Pairs, are_self_items, best_ranked_rows
from rankmeter._rankings.rank_counts import RankCounts
from rankmeter._rankings.ties import BY_ROW
from rankmeter._reading.by_user import ByUser, Ids, IdSeries, Objects
from rankmeter._reading.table import Table


class Rows:
    """Ranking rows, encoded by user; see `Ranking`."""

    def __init__(
        self, rankings: Table, user: IntArray, judged: Judged, score_type: str, *, falling: bool
    ) -> None:
        self.frame, self.order = rankings.frame, rankings.order
        self.has_order = rankings.rows.has_order
        self.codes, self.score_type = judged.codes, score_type
        self._pairs = Pairs.of(user, self.frame["item"], self.codes.n, judged.frame)
        self.n_users = self.codes.n
        self.falling = falling and self.order == "score"
        self.candidates = Candidates.of(
            self.frame, user, self._pairs.groups, self.order, score_type, falling=self.falling
        )
        self.end = self.frame.height

    def find(self, judged: Judged) -> Marks:
        row, judgment = self._pairs.row, self._pairs.judgment
        c, raw = self.candidates, None
        # Of the judgments, which are near each other, as the rows of a user are not.
        user, gain, value = judged.code[judgment], judged.gain[judgment], c.value[row]
        if self.order == "rank" or (self.falling and self.score_type == "float64"):
            raw = value
        elif self.order == "score":
            raw = self.frame[self.order].to_numpy()[row]
        return Marks(user, gain, c.row_numbers_at(row), value, judged.items, judgment, raw)

    def self_items(self) -> Marks:
        return self.candidates.marks_at(
            np.flatnonzero(are_self_items(self.frame["user"], self.frame["item"]))
        )

    def repeats(self) -> Marks | None:
        if not self._pairs.repeated:
            return None
        repeated = self.frame.with_row_index("row")
        repeated = repeated.filter(pl.struct("user", "item").is_duplicated())
        best = best_ranked_rows(repeated, self.order)["row"].to_numpy()
        worse = np.setdiff1d(repeated["row"].to_numpy(), best, assume_unique=True)
        return self.candidates.marks_at(worse.astype(np.int64))

    def with_row_numbers(self, marks: Marks) -> Marks:
        return marks

    def tally(self, marks: Marks, ties: TieRule) -> RankCounts:
        counts = count_at_marks(self.candidates, marks, ties)
        return counts if self.has_order or ties not in BY_ROW else replace(counts, before=None)

    def top(self, depth: int | None, removed: Sequence[Marks]) -> Candidates:  # noqa: ARG002
        """Candidates without `removed` rows: at least all with a rank up to `depth` then."""
        return leave_out(self.candidates, removed)

    def last_ranks(self, removed: Sequence[Marks]) -> FloatArray:
        """Last given rank of each user without the `removed` rows; 0 for users without rows."""
        remaining, last = leave_out(self.candidates, removed), np.zeros(self.n_users)
        np.maximum.at(last, remaining.user, remaining.value)
        return last


def leave_out(candidates: Candidates, removed: Sequence[Marks]) -> Candidates:
    """Remove rows from the candidates by row number."""
    if not removed:
        return candidates
    rows = np.concatenate([rows_of_rule.row for rows_of_rule in removed])
    return candidates.only(np.flatnonzero(~np.isin(candidates.row_numbers, rows)))


class Lookup:
    """Items by user, for users whose `code` is below `n_users`; see `Ranking`.

    The rows of marks have no numbers but those of lists without scores.
    """

    def __init__(self, lists: ByUser, code: IntArray, n_users: int, score_type: str) -> None:
        self.lists, self.code, self.score_type = lists, code, score_type
        self.order, self.n_users, self.end = lists.order, n_users, len(lists)
        self.falling = lists.order == "score"
        self._place = np.full(n_users, code.size)  # of the list of each user; of an empty one
        self._place[code] = np.arange(code.size)
        value = np.zeros(0) if lists.numbers is None else round_scores(lists.numbers, score_type)
        nobody, no_items = np.empty(0, dtype=np.int64), Objects([], lists.item_type)
        groups = Groups(None, np.append(lists.offsets, lists.offsets[-1]))
        self._all = _ListedItems(
            nobody, None, value, lists.order, no_items, groups, falling=True, lists=lists
        )

    def find(self, judged: Judged) -> Marks:
        list_index = self._place[judged.code]
        order = np.argsort(list_index, kind="stable")
        order = order[: np.searchsorted(list_index, self.code.size, sorter=order)]
        sought = judged.items_for_lookup(self.lists)
        if not np.array_equal(order, np.arange(list_index.size)):
            sought = sought.take(order)
        return self._find_marks(list_index[order], sought, judged.gain, judged.items, order)

    def self_items(self) -> Marks:
        users, item_type = self.lists.users, self.lists.item_type
        list_index = np.arange(len(users))
        if users.type != item_type:
            text = users.to_series().cast(pl.String)
            ids = text.cast(getattr(pl, item_type), strict=False)
            list_index = np.flatnonzero(ids.cast(pl.String).eq_missing(text).to_numpy())
            users = IdSeries(ids)
        items, n = users.take(list_index), list_index.size
        sought = self.lists.to_lookup_keys(items)
        marks = self._find_marks(list_index, sought, np.zeros(n), items, np.arange(n))
        return marks if self.order == "list" else replace(marks, row=marks.row - 1)

    def repeats(self) -> None:
        """Return None, as no item is repeated for a user; see `Ranking`."""

    def tally(self, marks: Marks, ties: TieRule) -> RankCounts:
        counts = count_at_marks(self._all, replace(marks, user=self._place[marks.user]), ties)
        n_ranked = np.zeros(self.n_users, dtype=np.int64)
        n_ranked[self.code] = self.lists.lengths
        return replace(counts, user=marks.user, n_ranked=n_ranked)

    def with_row_numbers(self, marks: Marks) -> Marks:
        numbered = self._all.with_row_numbers(replace(marks, user=self._place[marks.user]))
        return replace(marks, row=numbered.row)

    def _find_marks(
        self, list_index: IntArray, lookup_items: Any, gain: FloatArray, items: Ids, index: IntArray
    ) -> Marks:
        """Find items in the lists `list_index`, as marks; `index` is of their gains and names."""
        number = self.lists.look_up_scores(list_index, lookup_items)
        held = np.flatnonzero(~np.isnan(number))
        list_index, index, number = list_index[held], index[held], number[held]
        user, gain = self.code[list_index], gain[index]
        if self.order == "list":
            row = self.lists.offsets[list_index] + number.astype(np.int64)
            return Marks(user, gain, row, row.astype(np.float64), items, index)
        value = round_scores(number, self.score_type)
        return Marks(user, gain, np.full(list_index.size, -1), value, items, index, number)


@dataclass(frozen=True, eq=False, kw_only=True)
class _ListedItems(Candidates):
    """All items of lists; items and row numbers are looked up only when used."""

    lists: ByUser

    def items_at(self, rows: IntArray) -> Ids:
        return self.lists.take_items(rows)

    def holds(self, marks: Marks) -> BoolArray:
        """Mask of the marks among these rows; rows without a number count as present."""
        is_there: BoolArray = marks.row < len(self.lists)
        return is_there

    def with_row_numbers(self, marks: Marks) -> Marks:
        row = marks.row.copy()
        unnumbered = np.flatnonzero(row < 0)
        unnumbered = unnumbered[np.argsort(marks.user[unnumbered], kind="stable")]
        list_index = marks.user[unnumbered]
        position = self.lists.look_up_positions(
            list_index, self.lists.to_lookup_keys(marks.only(unnumbered).item)
        )
        row[unnumbered] = self.lists.offsets[list_index] + position.astype(np.int64)
        return replace(marks, row=row)
