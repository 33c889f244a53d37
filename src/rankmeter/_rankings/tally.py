"""Counts at rows of rankings, by the definition.

Each candidate is looked up among the few rows of its user at which counting is asked for, which are
sorted. So candidates need no order, and the counts of several parts add up.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

import numpy as np

from rankmeter._choices import TieRule
from rankmeter._evidence.hits import FloatArray, IntArray
from rankmeter._rankings.marks import Marks
from rankmeter._rankings.pairs import search_segments, user_offsets
from rankmeter._rankings.ties import BY_ROW, compares_as_text
from rankmeter._reading.by_user import Ids, joint_id_sort_keys


class Tally:
    """Accumulated counts of candidates above, equal to and before marks.

    Lower values are better. Marks are of users below `n_users`.
    """

    def __init__(self, marks: Marks, n_users: int, rules: Iterable[TieRule] = ()) -> None:
        self._place = np.lexsort((marks.value, marks.user))
        self.marks = marks.only(self._place)
        self.value = self.marks.value
        user = self.marks.user
        self.begin = user_offsets(user, n_users)
        last = np.ones(user.size, dtype=bool)
        last[:-1] = (user[1:] != user[:-1]) | (self.value[1:] != self.value[:-1])
        ends = np.flatnonzero(last)
        self._group = np.repeat(ends, np.diff(ends, prepend=-1))  # the last of those as good
        self._first, self._tied = np.zeros((2, user.size), dtype=np.int64)
        self._before = {ties: np.zeros(user.size, dtype=np.int64) for ties in rules}
        self._lock = threading.Lock()

    def add(
        self, user: IntArray, value: FloatArray, row: IntArray, items: Callable[[IntArray], Ids]
    ) -> None:
        """Add candidates to the counts; `items` returns the items at some positions."""
        begin, end = self.begin[user], self.begin[user + 1]
        worse = search_segments(self.value, value, begin, end, np.less_equal)
        tied = np.flatnonzero(worse > begin)
        tied = tied[self.value[worse[tied] - 1] == value[tied]]
        first = np.bincount(worse[worse < end], minlength=self._first.size)
        group = worse[tied] - 1
        before = (
            self._count_preceding_by_rule(group, row[tied], lambda: items(tied))
            if tied.size
            else {}
        )
        with self._lock:
            self._first += first
            np.add.at(self._tied, group, 1)
            for ties, (marks, n) in before.items():
                self._before[ties][marks] += n

    def _count_preceding_by_rule(
        self, group: IntArray, row: IntArray, items: Callable[[], Ids]
    ) -> dict[TieRule, tuple[IntArray, IntArray]]:
        """For each tie rule: marks of some groups, and the number of candidates before each."""
        last = np.flatnonzero(np.bincount(group))
        n = last + 1 - np.searchsorted(self._group, last)
        indices = np.repeat(last + 1 - np.cumsum(n), n) + np.arange(n.sum())
        marks, before = self.marks.only(indices), {}
        groups, rows = (self._group[indices], group), (marks.row, row)
        ids = [marks.item, items()] if {*self._before} - {*BY_ROW} else []
        for ties in self._before:
            key = rows if ties in BY_ROW else _item_sort_numbers(ids, ties)
            if "descending" in ties:
                key = ~key[0], ~key[1]
            before[ties] = indices, _count_preceding_ties(groups, key, rows)
        return before

    def count_above(self) -> IntArray:
        """Number of candidates above each mark."""
        total = np.concatenate(([0], np.cumsum(self._first)))
        return self._restore_mark_order(total[1:] - total[self.begin[self.marks.user]])

    def count_equal(self) -> IntArray:
        """Number of candidates equal to each mark."""
        return self._restore_mark_order(self._tied[self._group])

    def count_before(self, ties: TieRule) -> IntArray:
        """Number of candidates equal to each mark that the rule `ties` puts before the mark."""
        return self._restore_mark_order(self._before[ties])

    def _restore_mark_order(self, count: IntArray) -> IntArray:
        """Reorder counts from sorted marks to the marks as passed."""
        result = np.empty_like(count)
        result[self._place] = count
        return result


_Pair: TypeAlias = "tuple[IntArray, IntArray]"
"""Something of marks and of candidates that are tied with them."""


def _count_preceding_ties(group: _Pair, key: _Pair, row: _Pair) -> IntArray:
    """Count the tied candidates of a mark's group that precede the mark by key and by row."""
    low = int(min(map(np.min, key)))
    width = int(max(map(np.max, key))) - low + 1
    if width * (int(group[0].max()) + 1) >= 2**63:
        distinct, places = np.unique(np.concatenate(key), return_inverse=True)
        low, width, key = 0, distinct.size, (places[: key[0].size], places[key[0].size :])
    marks, tied = (
        user * width + (places - places.dtype.type(low)).astype(np.int64)
        for user, places in zip(group, key, strict=True)
    )
    ordered = np.sort(tied)
    start = np.searchsorted(ordered, group[0] * width)
    begin, end = (np.searchsorted(ordered, marks, side) for side in ("left", "right"))
    repeated = end - begin > np.isin(*row)
    if (repeated & (row[0] >= 0)).any():  # items that are repeated are in the order of their rows
        begin = search_segments(row[1][np.lexsort((row[1], tied))], row[0], begin, end, np.less)
    return begin - start


def _item_sort_numbers(ids: Sequence[Ids], ties: TieRule) -> _Pair:
    """Integers in the order of the items, for both lists of ids."""
    key = joint_id_sort_keys(ids, as_text=compares_as_text(ties, ids[0].type))
    return key[: len(ids[0])], key[len(ids[0]) :]
