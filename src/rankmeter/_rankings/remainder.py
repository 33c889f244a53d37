"""Count all candidates except the rows in memory, in pieces."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import TypeAlias

import numpy as np
import polars as pl

from rankmeter._choices import Alignment, TieRule
from rankmeter._evidence.hits import BoolArray, FloatArray, IntArray
from rankmeter._rankings.codes import Codes
from rankmeter._rankings.counts import sort_key
from rankmeter._rankings.ties import definite_tie_rule
from rankmeter.errors import DataError

Order: TypeAlias = "tuple[str, TieRule | None]"
"""The precision of scores, and the rule that puts tied items into one order if it is one."""
Counts: TypeAlias = "tuple[IntArray, IntArray, IntArray | None]"
"""Candidates above, equal and before."""


class Remainder:
    """The `Rest` of rankings: all candidates but the kept rows, which are sorted by number.

    `users` are all users of the rankings, and `n_rows` says how many rows each has.
    """

    def __init__(
        self,
        kept_rows: pl.DataFrame,
        users: pl.Series,
        n_rows: IntArray,
        *,
        alignments: Iterable[Alignment],
        order: str,
        end: int,
        memory_limit: int,
        tops: tuple[pl.DataFrame, int],
    ) -> None:
        n_rows = n_rows.copy()
        n_kept = kept_rows["user"].value_counts(name="n")
        n_rows[Codes(users).encode(n_kept["user"])] -= n_kept["n"].to_numpy()
        self.users, self.n_rows, self.end, self.memory_limit = users, n_rows, end, memory_limit
        self.tops, self.depth = tops
        self.kept_rows, self.order = kept_rows, order
        self._number = kept_rows["number"].to_numpy()
        # Rows with other values than their own are counted apart.
        usual = [a for a in alignments if a.pool == "all"]
        if order == "rank":
            usual = [a for a in usual if a.exclude != "self"]
        self._orders = [(a.score_type, definite_tie_rule(a.ties)) for a in usual]
        self._counts: dict[Order, Counts] = {}

    def count_candidates(
        self, rows: pl.DataFrame, value: FloatArray, ties: TieRule | None, score_type: str
    ) -> Counts:
        """Count as in `Rest`; counts at all rows in memory are cached."""
        order = (score_type, ties)
        number = rows["number"].to_numpy()
        if not number.size:
            return number, number, number
        positions = np.searchsorted(self._number, number)
        if positions.max() == self._number.size or not (
            np.array_equal(self._number[positions], number)
            and np.array_equal(self._sort_keys(self.kept_rows, score_type)[positions], value)
        ):
            return self._count_in_orders(rows, value, [order])[order]
        if order not in self._counts:
            orders = dict.fromkeys([order, *self._orders])
            missing = [key for key in orders if key not in self._counts]
            self._counts |= self._count_in_orders(self.kept_rows, None, missing)
        above, equal, before = self._counts[order]
        return above[positions], equal[positions], None if before is None else before[positions]

    def tied_rows(self) -> BoolArray:
        value = self._sort_keys(self.kept_rows, "float64")
        return self.count_candidates(self.kept_rows, value, None, "float64")[1] > 0

    def _sort_keys(self, rows: pl.DataFrame, score_type: str) -> FloatArray:
        """Sort keys of some rows."""
        if self.order == "list":
            return rows["number"].to_numpy().astype(np.float64)
        return sort_key(rows[self.order].to_numpy(), self.order, score_type)

    @abstractmethod
    def _count_in_orders(
        self, rows: pl.DataFrame, value: FloatArray | None, orders: list[Order]
    ) -> dict[Order, Counts]:
        """Count for each row in every order, at `value`, or at the value of the row if None."""


def needs_self_and_repeats(alignments: Iterable[Alignment]) -> tuple[bool, bool]:
    """Return whether rules need the rows of items equal to their user, and of repeated items."""
    choices = [*alignments]
    self_items = any(a.exclude == "self" for a in choices)
    return self_items, any(a.duplicates != "unchecked" for a in choices)


def changed_rankings_error() -> DataError:
    """Build the error for rankings that differ between two passes."""
    return DataError(
        "The rankings changed while they were read. Repeat the evaluation when nothing writes to "
        "them."
    )
