"""Rankings in pieces: rows that are read again for every pass, and are never all in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import polars as pl

from rankmeter._choices import TieRule
from rankmeter._reading.by_user import InFrame, series


class Piece(NamedTuple):
    """Some rows of rankings, checked."""

    rows: pl.DataFrame  # as in a `Table`, and `number`: the place of each row among all rows
    empty_users: pl.Series  # users all of whose rows in this piece were dropped
    counts: Mapping[str, int]


class Pieces(Protocol):
    """Rankings that can be read any number of times, always in the same order.

    `read` may be called from several threads.
    """

    @property
    def n_rows(self) -> int:
        """The number of rows, or an upper bound of it."""
        ...

    def __len__(self) -> int: ...

    def read(self, n: int, *, items: bool = True) -> Piece:
        """One piece; with `items` false its items mean nothing."""
        ...

    def check(self) -> None:
        """Raise a DataError if the rows may have changed since they were opened."""
        ...


class Query(Protocol):
    """Rankings in another machine, which answers queries; a query is a Spark DataFrame.

    Ids are of the type int, bigint or string, numbers double. Bad values are null in `all`.
    """

    @property
    def ids(self) -> pl.Schema:
        """The types of user and item, of Polars."""
        ...

    @property
    def order(self) -> str:
        """``score`` or ``rank``."""
        ...

    @property
    def bad_scores(self) -> str:
        """What happens to rows without a score."""
        ...

    @property
    def all(self) -> Any:
        """All rows: user, item, score or rank, and ``rounded``, which is 1 or 0."""
        ...

    @property
    def candidates(self) -> Any:
        """The rows that are ranked: user, item, score or rank."""
        ...

    @property
    def usable(self) -> str:
        """The score or rank of a row of `all` as a candidate, in SQL; null if it is dropped."""
        ...

    def grouped(self, query: Any, by: Sequence[str], *sql: str) -> Any:
        """A query for aggregates of each group."""
        ...

    def condition(self, sql: str) -> Any:
        """A condition of a join."""
        ...

    def collect(self, query: Any) -> pl.DataFrame:
        """The result of a query."""
        ...

    def send(self, rows: pl.DataFrame) -> Any:
        """A small table as a query; it is copied to wherever it is joined."""
        ...

    def checked(self, counts: Mapping[str, int]) -> dict[str, int]:
        """What an `Origin` counts, given the numbers of bad values; or a DataError."""
        ...

    def within(self, sql: str) -> Query:
        """Only the rows for which a condition on the columns of `all` holds; empty for no one."""
        ...

    def instead(self, rows: Any, counts: Callable[[int], dict[str, int]]) -> Query:
        """Rows that were made of these, and what an `Origin` counts given their number."""
        ...


class Rest(Protocol):
    """The candidates of a ranking that are not in its table: they can only be counted."""

    users: pl.Series  # ascending
    n_rows: Any  # how many candidates each of these users has
    end: int  # above the number of every row
    room: int  # bytes of memory for measuring what is in the table
    tops: pl.DataFrame  # the rows of each user down to rank `depth`, and those tied with these
    depth: int

    def count(
        self, rows: pl.DataFrame, value: Any, ties: TieRule | None, score_type: str
    ) -> tuple[Any, Any, Any]:
        """How many candidates are above, equal to and, by the order `ties`, before each row.

        `rows` have a user, an item and a number; a lower `value` is better.
        """
        ...

    def last_ranks(self) -> pl.DataFrame:
        """The largest ``rank`` of each ``user`` that has any."""
        ...

    def tied(self) -> Any:
        """Which of the rows in memory have the score of another candidate."""
        ...


@dataclass(frozen=True, eq=False)
class InPieces(InFrame):
    """Rankings in pieces: a few rows are examples with the types of all."""

    pieces: Pieces
    in_memory = False


@dataclass(frozen=True, eq=False)
class InSpark(InFrame):
    """Rankings in Spark: a few rows are examples with the types of all."""

    query: Query
    in_memory = False


@dataclass(frozen=True, eq=False)
class KeptRows(InFrame):
    """The rows that matter, each with a ``number``: its place among all. Others are the rest."""

    rest: Rest
    in_memory = False

    @property
    def room(self) -> int:
        """See `Rest`."""
        return self.rest.room

    @property
    def n_rows(self) -> int:
        """See `Stored.n_rows`."""
        return len(self) + int(self.rest.n_rows.sum())

    def tied(self, numbers: npt.NDArray[np.float64]) -> int:
        """See `InFrame`."""
        rows = self.rows.select("user", number=series(numbers))
        return int(np.count_nonzero(rows.is_duplicated().to_numpy() | self.rest.tied()))

    def listed(self) -> list[pl.Series]:
        """See `Stored.listed`."""
        return [*super().listed(), self.rest.tops["item"]]

    def sizes(self) -> pl.Series:
        """See `InFrame`."""
        counted = self.rows["user"].value_counts(name="n").cast({"n": pl.Int64})
        others = pl.DataFrame({"user": self.rest.users, "n": self.rest.n_rows})
        sizes: pl.Series = pl.concat([counted, others]).group_by("user").agg(pl.col("n").sum())["n"]
        return sizes


@dataclass(frozen=True, eq=False)
class Cut:
    """Rows in memory, cut into pieces."""

    rows: pl.DataFrame
    size: int

    @property
    def n_rows(self) -> int:
        """See `Pieces`."""
        return self.rows.height

    def __len__(self) -> int:
        return (self.rows.height + self.size - 1) // self.size

    def read(self, n: int, *, items: bool = True) -> Piece:  # noqa: ARG002 - they cost nothing
        """See `Pieces`."""
        start = n * self.size
        rows = self.rows.slice(start, self.size)
        number = pl.int_range(start, start + rows.height, eager=True).alias("number")
        return Piece(rows.with_columns(number), rows["user"].clear(), {})

    def check(self) -> None:
        """Rows in memory do not change."""
