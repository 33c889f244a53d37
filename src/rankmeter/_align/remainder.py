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
from rankmeter._align.placing import ordered
from rankmeter._choices import Alignment, TieRule
from rankmeter._hits import FloatArray, IntArray
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
        order: str,
        end: int,
        room: int,
        tops: tuple[pl.DataFrame, int],
    ) -> None:
        n_rows = n_rows.copy()
        mine = kept["user"].value_counts(name="n")
        n_rows[Codes(users).of(mine["user"])] -= mine["n"].to_numpy()
        self.users, self.n_rows, self.end, self.room = users, n_rows, end, room
        self.tops, self.depth = tops
        self.kept, self.order = kept, order
        self._number = kept["number"].to_numpy()
        self._counts: dict[Order, Counts] = {}

    def prepare(self, alignments: Iterable[Alignment]) -> None:
        """See `Rest`."""
        usual = [one for one in alignments if one.pool == "all" and one.scope != "appended"]
        if self.order == "rank":  # those that move up are counted apart
            usual = [one for one in usual if one.exclude != "self"]
        self._prepare((one.score_type, ordered(one.ties)) for one in usual)

    def count(
        self,
        rows: pl.DataFrame,
        value: FloatArray,
        ties: TieRule | None,
        score_type: str,
        *,
        own: bool = True,
    ) -> Counts:
        """See `Rest`."""
        order = (score_type, ties)
        number = rows["number"].to_numpy()
        if not own or (number >= self.end).any():
            return self._count(rows, value, [order])[order]
        if not number.size:
            return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64)
        self._prepare([order])
        above, equal, before = self._counts[order]
        at = np.searchsorted(self._number, number)
        return above[at], equal[at], None if before is None else before[at]

    def _prepare(self, orders: Iterable[Order]) -> None:
        missing = [order for order in dict.fromkeys(orders) if order not in self._counts]
        if missing and self.kept.height:
            self._counts |= self._count(self.kept, None, missing)

    @abstractmethod
    def _count(
        self, rows: pl.DataFrame, value: FloatArray | None, orders: list[Order]
    ) -> dict[Order, Counts]:
        """Count for each of the rows in every order; without a value it is that of each row."""


def changed() -> DataError:
    """The error of rankings that are not the same in two passes."""
    return DataError(
        "The rankings changed while they were read. Repeat the evaluation when nothing writes to "
        "them."
    )
