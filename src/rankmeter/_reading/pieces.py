"""Rankings in pieces: rows are read again in each pass and are never all in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import polars as pl

from rankmeter._choices import TieRule
from rankmeter._reading.by_user import Ids, IdSeries, InFrame, to_series


class Rest(Protocol):
    """Candidates of a ranking outside of its table; they can only be counted."""

    users: pl.Series  # ascending
    n_rows: Any  # how many candidates each of these users has
    end: int  # above the number of every row
    memory_limit: int  # bytes of memory for measuring what is in the table
    tops: pl.DataFrame  # the rows of each user down to rank `depth`, and those tied with these
    depth: int

    def count_candidates(
        self, rows: pl.DataFrame, value: Any, ties: TieRule | None, score_type: str
    ) -> tuple[Any, Any, Any]:
        """Count the candidates above, equal to and, by the order `ties`, before each row.

        `rows` have a user, an item and a number; a lower `value` is better.
        """
        ...

    def distinct_items(self) -> pl.Series:
        """The different items of these candidates; those of the table may be among them."""
        ...

    def last_ranks(self) -> pl.DataFrame:
        """Largest ``rank`` of each ``user`` with ranks."""
        ...

    def tied_rows(self) -> Any:
        """Mask of the rows in memory whose score is shared by another candidate."""
        ...


@dataclass(frozen=True, eq=False)
class KeptRows(InFrame):
    """Selected rows in memory, with ``number`` among all rows; `rest` counts the other rows."""

    rest: Rest
    in_memory = False

    @property
    def memory_limit(self) -> int:
        return self.rest.memory_limit

    @property
    def n_rows(self) -> int:
        return len(self) + int(self.rest.n_rows.sum())

    def count_tied_rows(self, numbers: npt.NDArray[np.float64]) -> int:
        rows = self.rows.select("user", number=to_series(numbers))
        return int(np.count_nonzero(rows.is_duplicated().to_numpy() | self.rest.tied_rows()))

    def all_ids(self, role: str) -> list[Ids]:
        ids = super().all_ids(role)
        return ids if role == "user" else [*ids, IdSeries(self.rest.distinct_items())]

    def listed_items(self) -> list[pl.Series]:
        return [*super().listed_items(), self.rest.tops["item"]]

    def rows_per_user(self) -> npt.NDArray[np.int64]:
        held = self.rows["user"].value_counts(name="n").cast({"n": pl.Int64})
        remainder = pl.DataFrame({"user": self.rest.users, "n": self.rest.n_rows})
        sizes = pl.concat([held, remainder]).group_by("user").agg(pl.col("n").sum())
        return sizes["n"].to_numpy()
