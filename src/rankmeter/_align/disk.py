"""Pass 2 over rankings in pieces: how many candidates are above, equal to and before some rows.

Every row of a piece is looked up among the few rows of its user that were kept, which are sorted.
So the candidates need no order, and counts of pieces add up.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from rankmeter._align.codes import Codes
from rankmeter._align.remainder import Counts, Order, Remainder, changed_error
from rankmeter._align.tally import Marks, Tally
from rankmeter._align.threads import map_pieces
from rankmeter._hits import FloatArray, IntArray
from rankmeter._ingest import IdSeries, Pieces


class Counted(Remainder):
    """The candidates outside of a table, counted by reading the pieces again."""

    def __init__(
        self, pieces: Pieces, kept: pl.DataFrame, users: pl.Series, n_rows: IntArray, **how: Any
    ) -> None:
        self.pieces, self._n_all = pieces, int(n_rows.sum())
        super().__init__(kept, users, n_rows, end=max(pieces.n_rows, self._n_all), **how)

    def last_ranks(self) -> pl.DataFrame:
        def scan(n: int) -> pl.DataFrame:
            rows = self.pieces.read(n, items=False).rows.join(self.kept, on="number", how="anti")
            return rows.group_by(pl.col("user").cast(self.users.dtype)).agg(pl.col("rank").max())

        ranks = pl.concat([*map_pieces(self.pieces, scan, "finding the last ranks")])
        return ranks.group_by("user").agg(pl.col("rank").max())

    def _count(
        self,
        rows: pl.DataFrame,
        value: FloatArray | None,
        orders: list[Order],
    ) -> dict[Order, Counts]:
        """See `Remainder`; all orders take one pass."""
        codes = Codes(rows["user"].unique().sort())
        code = codes.encode(rows["user"])
        tallies, item = {}, IdSeries(rows["item"])
        for score_type in dict.fromkeys(kind for kind, _ in orders):
            rules = [ties for kind, ties in orders if kind == score_type and ties is not None]
            key = self._values(rows, score_type) if value is None else value
            marks = Marks(code, np.zeros(code.size), rows["number"].to_numpy(), key, item)
            tallies[score_type] = Tally(marks, codes.n, rules)
        by_item = any(ties not in (None, "input") for _, ties in orders) and self.order != "list"
        columns = ["user", "item", "number"] if by_item else ["user", "number"]
        columns += [] if self.order == "list" else [self.order]
        types = {role: rows.schema[role] for role in columns if role in ("user", "item")}

        def scan(n: int) -> tuple[int, int]:
            piece = self.pieces.read(n, items=by_item).rows.select(columns).cast(types)  # type: ignore[arg-type]
            user = codes.find(piece["user"])
            kept = self._kept_in(piece)
            others = user >= 0
            others[kept] = False
            at = np.flatnonzero(others)
            user, row = user[at], piece["number"].to_numpy()[at]
            for score_type, tally in tallies.items():
                value = self._values(piece, score_type)[at]
                tally.add(user, value, row, lambda places: IdSeries(piece["item"][at[places]]))
            return piece.height, kept.size

        seen = list(map_pieces(self.pieces, scan, "counting"))
        self.pieces.check()
        if sum(n for n, _ in seen) != self._n_all or sum(n for _, n in seen) != self.kept.height:
            raise changed_error()
        counts = {}
        for kind, ties in orders:
            tally = tallies[kind]
            before = None if ties is None else tally.before(ties)
            counts[kind, ties] = tally.above(), tally.equal(), before
        return counts

    def _kept_in(self, piece: pl.DataFrame) -> IntArray:
        """The rows of a piece that were kept, if they are as before."""
        if not piece.height:
            return np.empty(0, dtype=np.int64)
        first = int(piece["number"][0])
        span = np.searchsorted(self._number, [first, first + piece.height])
        at = self._number[slice(*span)] - first
        columns = [name for name in ("user", self.order) if name in piece.columns]
        if not piece.select(columns)[at].equals(self.kept.select(columns)[slice(*span)]):
            raise changed_error()
        return at
