"""Rankings in pieces: rows are read again in each pass and are never all in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from rankmeter._choices import TieRule
from rankmeter._reading.by_user import Ids, IdSeries, InFrame, to_series


class Piece(NamedTuple):
    """Checked rows of rankings."""

    rows: pl.DataFrame  # as in a `Table`, and `number`: the place of each row among all rows
    empty_users: pl.Series  # users all of whose rows in this piece were dropped
    counts: Mapping[str, int]


class Pieces(Protocol):
    """Rankings that can be read repeatedly, always in the same order.

    `read` may be called from several threads.
    """

    @property
    def n_rows(self) -> int:
        """Number of rows, or an upper bound."""
        ...

    def __len__(self) -> int: ...

    def read(self, n: int, *, items: bool = True) -> Piece:
        """Read a piece; if `items` is false, the items are meaningless."""
        ...

    def refuse_changed_rows(self) -> None:
        """Raise a DataError if the rows may have changed since they were opened."""
        ...


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
class InPieces(InFrame):
    """Rankings in pieces, with a few rows as examples of all types."""

    pieces: Pieces
    in_memory = False


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

    def all_items(self) -> list[Ids]:
        return [*super().all_items(), IdSeries(self.rest.distinct_items())]

    def listed_items(self) -> list[pl.Series]:
        return [*super().listed_items(), self.rest.tops["item"]]

    def rows_per_user(self) -> npt.NDArray[np.int64]:
        held = self.rows["user"].value_counts(name="n").cast({"n": pl.Int64})
        remainder = pl.DataFrame({"user": self.rest.users, "n": self.rest.n_rows})
        sizes = pl.concat([held, remainder]).group_by("user").agg(pl.col("n").sum())
        return sizes["n"].to_numpy()


def _piece(rows: pl.DataFrame, size: int, n: int) -> pl.DataFrame:
    return rows.slice(n * size, size)


@dataclass(frozen=True, eq=False)
class CanonicalPieces:
    """Checked rows, safe from changes by others, as frames of known heights."""

    heights: Sequence[int]
    frame: Callable[[int], pl.DataFrame]

    @classmethod
    def cut_frame(cls, rows: pl.DataFrame, size: int) -> Self:
        """Cut rows in memory into pieces."""
        starts = range(0, max(rows.height, 1), size)  # one piece at least
        heights = [min(size, rows.height - start) for start in starts]
        return cls(heights, partial(_piece, rows, size))

    @property
    def n_rows(self) -> int:
        return sum(self.heights)

    def __len__(self) -> int:
        return len(self.heights)

    def read(self, n: int, *, items: bool = True) -> Piece:  # noqa: ARG002 - they cost nothing
        rows, start = self.frame(n), sum(self.heights[:n])
        number = pl.int_range(start, start + rows.height, eager=True).alias("number")
        return Piece(rows.with_columns(number), rows["user"].clear(), {})

    def refuse_changed_rows(self) -> None:
        """Do nothing: no other process can change the rows."""
