"""Pass 2 over rankings in pieces: how many candidates are above, equal to and before some rows.

Every row of a piece is looked up among the few rows of its user that were kept, which are sorted.
So the candidates need no order, and counts of pieces add up.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from rankmeter._align.codes import Codes
from rankmeter._align.counts import Candidates, Marks, before_in, search, sort_key
from rankmeter._align.remainder import Counts, Order, Remainder, changed
from rankmeter._align.threads import over
from rankmeter._choices import TieRule
from rankmeter._hits import FloatArray, IntArray
from rankmeter._ingest import IdSeries, Pieces, series


class Counted(Remainder):
    """The candidates outside of a table, counted by reading the pieces again."""

    def __init__(
        self,
        pieces: Pieces,
        order: str,
        kept: pl.DataFrame,
        users: pl.Series,
        n_rows: IntArray,
        *,
        room: int,
        tops: tuple[pl.DataFrame, int],
    ) -> None:
        self.pieces, self._n_all = pieces, int(n_rows.sum())
        end = max(pieces.n_rows, self._n_all)
        super().__init__(kept, users, n_rows, order=order, end=end, room=room, tops=tops)

    def last_ranks(self, cuts: pl.DataFrame) -> pl.DataFrame:
        """See `Rest`."""
        cuts = cuts.select("user", cut="rank")

        def look(n: int) -> pl.DataFrame:
            rows = self.pieces.read(n, items=False).rows.select("user", "rank", "number")
            rows = rows.with_columns(pl.col("user").cast(self.users.dtype))
            rows = rows.join(self.kept, on="number", how="anti")
            above = rows.join(cuts, on="user").filter(pl.col("cut") < pl.col("rank"))
            above = above.group_by("number").len("cuts")
            rows = rows.join(above, on="number", how="left").with_columns(
                pl.col("cuts").fill_null(0)
            )
            return rows.group_by("user", "cuts").agg(pl.col("rank").max())

        parts = pl.concat([*over(self.pieces, look, "finding the last ranks")])
        return parts.group_by("user", "cuts").agg(pl.col("rank").max())

    def grades(self, allowed: Callable[[FloatArray], bool]) -> pl.DataFrame | None:
        """See `Rest`."""

        def look(n: int) -> pl.DataFrame | None:
            rows = self.pieces.read(n, items=False).rows
            each = rows.group_by("user", "score").len("n")
            return each if allowed(rows["score"].to_numpy()) else None

        found = []
        for part in over(self.pieces, look, "looking for ties"):
            if part is None:
                return None
            found.append(part)
        return pl.concat(found).group_by("user", "score").agg(pl.col("n").sum())

    def _count(
        self,
        rows: pl.DataFrame,
        value: FloatArray | None,
        orders: list[Order],
    ) -> dict[Order, Counts]:
        """See `Remainder`; all orders take one pass."""
        codes = Codes(rows["user"].unique().sort())
        code = codes.of(rows["user"])
        tallies = {}
        for score_type in dict.fromkeys(kind for kind, _ in orders):
            rules = [ties for kind, ties in orders if kind == score_type and ties is not None]
            key = self._values(rows, score_type) if value is None else value
            tallies[score_type] = _Tally(_Marks.of(codes.n, code, key, rows), rules)
        by_item = any(ties not in (None, "input") for _, ties in orders) and self.order != "list"
        wanted = ["user", "item", "number"] if by_item else ["user", "number"]
        wanted += [] if self.order == "list" else [self.order]
        types = {role: rows.schema[role] for role in wanted if role in ("user", "item")}

        def look(n: int) -> tuple[int, int]:
            piece = self.pieces.read(n, items=by_item).rows.select(wanted).cast(types)  # type: ignore[arg-type]
            user = codes.find(piece["user"])
            inside = self._skip(piece, user)
            at = np.flatnonzero(user >= 0)
            user = user[at]
            for score_type, tally in tallies.items():
                tally.add(user, self._values(piece, score_type)[at], piece, at)
            return piece.height, inside

        seen = list(over(self.pieces, look, "counting"))
        self.pieces.check()
        if sum(n for n, _ in seen) != self._n_all or sum(n for _, n in seen) != self.kept.height:
            raise changed()
        return {
            (kind, ties): tallies[kind].counts(ties, ranked=self.order == "rank")
            for kind, ties in orders
        }

    def _values(self, rows: pl.DataFrame, score_type: str) -> FloatArray:
        if self.order == "list":
            return rows["number"].to_numpy().astype(np.float64)
        return sort_key(rows[self.order].to_numpy(), self.order, score_type)

    def _skip(self, piece: pl.DataFrame, code: IntArray) -> int:
        """Leave out the rows of a piece that were kept, and make sure that they are as before."""
        if not piece.height:
            return 0
        first = int(piece["number"][0])
        span = np.searchsorted(self._number, [first, first + piece.height])
        at = self._number[slice(*span)] - first
        columns = [name for name in ("user", self.order) if name in piece.columns]
        if not piece.select(columns)[at].equals(self.kept.select(columns)[slice(*span)]):
            raise changed()
        code[at] = -1
        return at.size


@dataclass(frozen=True, eq=False)
class _Marks:
    """Rows at which counting is asked for, sorted by user and value."""

    place: IntArray  # where each row was before it was sorted
    user: IntArray
    value: FloatArray
    item: pl.Series
    number: IntArray
    begin: IntArray  # (n_users + 1,) where the rows of each user begin
    group: IntArray  # the last row with the same user and value

    @classmethod
    def of(cls, n_users: int, user: IntArray, value: FloatArray, rows: pl.DataFrame) -> _Marks:
        place = np.lexsort((value, user))
        begin = np.concatenate(([0], np.cumsum(np.bincount(user, minlength=n_users))))
        user, value, rows = user[place], value[place], rows[place]
        last = np.ones(user.size, dtype=bool)
        last[:-1] = (user[1:] != user[:-1]) | (value[1:] != value[:-1])
        ends = np.flatnonzero(last)
        group = np.repeat(ends, np.diff(ends, prepend=-1))
        return cls(place, user, value, rows["item"], rows["number"].to_numpy(), begin, group)

    def of_groups(self, group: IntArray) -> IntArray:
        """All rows of some groups, which are side by side."""
        last = np.unique(group)
        first = np.searchsorted(self.group, last)
        n = last - first + 1
        return np.repeat(last + 1 - np.cumsum(n), n) + np.arange(n.sum())


class _Tally:
    """The counts at some rows, as candidates are added."""

    def __init__(self, marks: _Marks, rules: Iterable[TieRule]) -> None:
        self.marks = marks
        self.first = np.zeros(marks.user.size, dtype=np.int64)  # candidates just above each row
        self.tied = np.zeros(marks.user.size, dtype=np.int64)  # candidates in its group, at its end
        self.before: Mapping[TieRule, IntArray] = {ties: self.tied.copy() for ties in rules}
        self._lock = threading.Lock()

    def add(self, user: IntArray, value: FloatArray, piece: pl.DataFrame, at: IntArray) -> None:
        """Count candidates, the rows `at` of a piece."""
        marks, n = self.marks, self.tied.size
        end = marks.begin[user + 1]
        worse = search(marks.value, value, marks.begin[user], end, np.less_equal)
        equal = np.flatnonzero((worse > marks.begin[user]) & (marks.value[worse - 1] == value))
        first = np.bincount(worse[worse < end], minlength=n)
        group = worse[equal] - 1
        before = {}
        if self.before and equal.size:
            tied = piece[at[equal]]
            asked = marks.of_groups(group)
            before = {ties: self._before(tied, group, asked, ties) for ties in self.before}
        with self._lock:
            self.first += first
            np.add.at(self.tied, group, 1)
            for ties, found in before.items():
                self.before[ties][asked] += found

    def _before(
        self, tied: pl.DataFrame, group: IntArray, asked: IntArray, ties: TieRule
    ) -> IntArray:
        """How many of the tied candidates precede each row that is asked for."""
        marks = self.marks
        number = tied["number"].to_numpy()
        named = "item" in tied.columns
        item = IdSeries(tied["item" if named else "number"])
        mine = IdSeries(marks.item if named else series(marks.number))
        # All rows of a group have one user and one value.
        candidates = Candidates(group, number, marks.value[group], "score", item, group, group)
        targets = Marks(
            marks.group[asked], marks.value[asked], marks.number[asked], marks.value[asked],
            mine.take(asked),
        )  # fmt: skip
        return before_in(candidates, targets, np.ones(asked.size, dtype=bool), ties)

    def counts(self, ties: TieRule | None, *, ranked: bool) -> Counts:
        """The counts in the order in which the rows were given; those `ranked` are above none."""
        marks = self.marks
        above, equal = np.zeros_like(self.first), np.empty_like(self.tied)
        if not ranked:
            total = np.concatenate(([0], np.cumsum(self.first)))
            above[marks.place] = total[1:] - total[marks.begin[marks.user]]
        equal[marks.place] = self.tied[marks.group]
        if ties is None:
            return above, equal, None
        before = np.empty_like(self.tied)
        before[marks.place] = self.before[ties]
        return above, equal, before
