"""All candidates except the rows that were kept: what every way to count them has in common.

Each order of the candidates is counted once, for all kept rows together.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import TypeAlias

import numpy as np
import polars as pl

from rankmeter._align.codes import Codes
from rankmeter._align.counts import sort_key
from rankmeter._align.placing import tie_order
from rankmeter._choices import Alignment, TieRule
from rankmeter._hits import BoolArray, FloatArray, IntArray
from rankmeter.errors import DataError

Order: TypeAlias = "tuple[str, TieRule | None]"
"""The precision of scores, and the rule that puts tied items into one order if it is one."""
Counts: TypeAlias = "tuple[IntArray, IntArray, IntArray | None]"
"""Candidates above, equal and before."""


class Remainder:
    """A `Rest`: all candidates of rankings without the kept rows, which are sorted by number.

    `users` are all users of the rankings, and `n_rows` says how many rows each has.
    """

    def __init__(
        self,
        kept: pl.DataFrame,
        users: pl.Series,
        n_rows: IntArray,
        *,
        alignments: Iterable[Alignment],
        order: str,
        end: int,
        room: int,
        tops: tuple[pl.DataFrame, int],
    ) -> None:
        n_rows = n_rows.copy()
        kept_rows = kept["user"].value_counts(name="n")
        n_rows[Codes(users).encode(kept_rows["user"])] -= kept_rows["n"].to_numpy()
        self.users, self.n_rows, self.end, self.room = users, n_rows, end, room
        self.tops, self.depth = tops
        self.kept, self.order = kept, order
        self._number = kept["number"].to_numpy()
        # Rows with other values than their own are counted apart.
        usual = [a for a in alignments if a.pool == "all" and a.scope != "appended"]
        if order == "rank":
            usual = [a for a in usual if a.exclude != "self"]
        self._orders = [(a.score_type, tie_order(a.ties)) for a in usual]
        self._counts: dict[Order, Counts] = {}

    def count(
        self, rows: pl.DataFrame, value: FloatArray, ties: TieRule | None, score_type: str
    ) -> Counts:
        """See `Rest`; what is counted at all kept rows is kept."""
        order = (score_type, ties)
        number = rows["number"].to_numpy()
        if not number.size:
            return number, number, number
        at = np.searchsorted(self._number, number)
        if at.max() == self._number.size or not (
            np.array_equal(self._number[at], number)
            and np.array_equal(self._values(self.kept, score_type)[at], value)
        ):
            return self._count(rows, value, [order])[order]
        if order not in self._counts:
            orders = dict.fromkeys([order, *self._orders])
            missing = [key for key in orders if key not in self._counts]
            self._counts |= self._count(self.kept, None, missing)
        above, equal, before = self._counts[order]
        return above[at], equal[at], None if before is None else before[at]

    def tied(self) -> BoolArray:
        value = self._values(self.kept, "float64")
        return self.count(self.kept, value, None, "float64")[1] > 0

    def _values(self, rows: pl.DataFrame, score_type: str) -> FloatArray:
        """The sort keys of some rows."""
        if self.order == "list":
            return rows["number"].to_numpy().astype(np.float64)
        return sort_key(rows[self.order].to_numpy(), self.order, score_type)

    @abstractmethod
    def _count(
        self, rows: pl.DataFrame, value: FloatArray | None, orders: list[Order]
    ) -> dict[Order, Counts]:
        """Count for each of the rows in every order; without a value it is that of each row."""


def needs(alignments: Iterable[Alignment]) -> tuple[bool, bool]:
    """Whether rows of the item that has the id of its user matter, and rows of repeated items."""
    choices = [*alignments]
    self_items = any(a.exclude == "self" for a in choices)
    return self_items, any(a.duplicates != "unchecked" for a in choices)


def changed_error() -> DataError:
    """The error of rankings that are not the same in two passes."""
    return DataError(
        "The rankings changed while they were read. Repeat the evaluation when nothing writes to "
        "them."
    )
