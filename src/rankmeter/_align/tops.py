"""The first rows of every user of rankings in pieces, which metrics of what was shown need."""

from __future__ import annotations

import polars as pl

from rankmeter._align.excluded import is_self

__all__ = ["Tops"]

_MANY = 2**22  # rows that are kept before those of one user are compared


class Tops:
    """Rows that may have a rank up to `depth`, of pieces in any order.

    With `own` that is also the rank without the item that has the id of its user.
    """

    def __init__(self, order: str, depth: int, *, own: bool = False) -> None:
        self.order, self.depth, self.own = order, depth, own
        self._kept: list[pl.DataFrame] = []
        self._n = 0

    def of(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Those of some rows. Scores that are equal as float32 count as tied, so none is lost."""
        if self.order == "rank":
            return rows.filter(pl.col("rank") <= self.depth + self.own)
        value = -pl.col("score").cast(pl.Float32) if self.order == "score" else pl.col("number")
        if self.own:
            own = is_self()
            return rows.filter(own | (value.rank("min").over("user", own) <= self.depth))
        return rows.filter(value.rank("min").over("user") <= self.depth)

    def add(self, rows: pl.DataFrame) -> None:
        """Keep the rows that `of` gave."""
        self._kept.append(rows)
        self._n += rows.height
        if self._n > _MANY:
            self._kept = [self.of(pl.concat(self._kept))]
            self._n = min(self._kept[0].height, _MANY // 2)

    def found(self) -> pl.DataFrame:
        """The rows of all pieces, in their order."""
        return self.of(pl.concat(self._kept)).sort("number")
