"""All candidates except the rows that were kept: what every way to count them has in common.

Each order of the candidates is counted once, for all kept rows together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

import numpy as np
import polars as pl

from rankmeter._align.codes import Codes
from rankmeter._align.placing import ordered
from rankmeter._choices import Alignment, TieRule
from rankmeter._hits import FloatArray, IntArray
from rankmeter._ingest import Query
from rankmeter.errors import DataError

Order: TypeAlias = "tuple[str, TieRule | None]"
"""The precision of scores, and the rule that puts tied items into one order if it is one."""
Counts: TypeAlias = "tuple[IntArray, IntArray, IntArray | None]"
"""Candidates above, equal and before."""


class Known:
    """A `Rest` of which every count is known: those of the rows with some numbers, by order."""

    query: Query | None = None

    def __init__(
        self,
        users: pl.Series,
        n_rows: IntArray,
        number: IntArray,
        known: dict[Order, Counts],
        *,
        end: int,
        room: int,
        tops: tuple[pl.DataFrame, int],
    ) -> None:
        self.users, self.n_rows, self.end, self.room = users, n_rows, end, room
        self.tops, self.depth = tops
        self._number, self._known = number, known

    def prepare(self, alignments: Iterable[Alignment]) -> None:
        """See `Rest`."""

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
        return taken(self._known[order], np.searchsorted(self._number, number))

    def parts(self, first: pl.Series, last: pl.Series) -> list[Known]:  # noqa: ARG002
        """See `Rest`."""
        raise _unknown()

    def last_ranks(self, cuts: pl.DataFrame) -> pl.DataFrame:  # noqa: ARG002
        """See `Rest`."""
        raise _unknown()

    def grades(self, allowed: Callable[[FloatArray], bool]) -> pl.DataFrame | None:  # noqa: ARG002
        """See `Rest`."""
        raise _unknown()

    def _prepare(self, orders: Iterable[Order]) -> None:
        """Have the counts of some orders ready."""

    def _count(
        self,
        rows: pl.DataFrame,  # noqa: ARG002
        value: FloatArray | None,  # noqa: ARG002
        orders: list[Order],  # noqa: ARG002
    ) -> dict[Order, Counts]:
        """Count for each of the rows in every order; without a value it is that of each row."""
        raise _unknown()


def _unknown() -> RuntimeError:
    return RuntimeError("the rankings are elsewhere, and this was not counted before")


def taken(counts: Counts, at: slice | IntArray) -> Counts:
    """The counts of some rows."""
    above, equal, before = counts
    return above[at], equal[at], None if before is None else before[at]


class Remainder(Known):
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
        number = kept["number"].to_numpy()
        super().__init__(users, n_rows, number, {}, end=end, room=room, tops=tops)
        self.kept, self.order = kept, order

    def prepare(self, alignments: Iterable[Alignment]) -> None:
        """See `Rest`."""
        usual = [one for one in alignments if one.pool == "all" and one.scope != "appended"]
        if self.order == "rank":  # those that move up are counted apart
            usual = [one for one in usual if one.exclude != "self"]
        self._prepare((one.score_type, ordered(one.ties)) for one in usual)

    def _prepare(self, orders: Iterable[Order]) -> None:
        missing = [order for order in dict.fromkeys(orders) if order not in self._known]
        if missing and self.kept.height:
            self._known |= self._count(self.kept, None, missing)


def changed() -> DataError:
    """The error of rankings that are not the same in two passes."""
    return DataError(
        "The rankings changed while they were read. Repeat the evaluation when nothing writes to "
        "them."
    )
