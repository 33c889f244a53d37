"""Rows of rankings or judgments, as they came: in a frame, or as items by user."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, Literal, Self, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from rankmeter._ingest._id_columns import Ids, IdSeries, IdType, series


class Stored(ABC):
    """What rows of all kinds have in common."""

    is_index = False  # whether items are looked up in these, so that no rows are made
    in_memory = True  # whether these are all rows
    is_counted = False  # whether only counts at judged items are known, and no other item

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def frame(self) -> pl.DataFrame:
        """The same as rows of ``user``, ``item`` and, if there are any, a number."""

    @property
    def n_rows(self) -> int:
        """The number of all rows, also of those that are not here."""
        return len(self)

    @property
    def changed(self) -> bool:
        """Whether somebody else has changed these since they were read."""
        return False

    @property
    def room(self) -> int | None:
        """Bytes of memory for measuring these, if they are not all rows."""
        return None

    @property
    def has_lists(self) -> bool:
        """Whether all items are in memory."""
        return self.in_memory and not self.is_counted

    def ranking(self, code: npt.NDArray[np.int64], n_users: int, score_type: str) -> Any:  # noqa: ARG002
        """A `Ranking` of users with a `code`; None if judged items are looked up."""
        return None

    def listed(self) -> list[pl.Series]:
        """All items that metrics of what was shown may see."""
        return [self.frame()["item"]]

    def cast(self, role: str, dtype: pl.DataType) -> InFrame:
        """The rows with the ids of a role in another type."""
        return InFrame(self.frame().with_columns(pl.col(role).cast(dtype)))


@dataclass(frozen=True, eq=False)
class InFrame(Stored):
    """Rows in a frame."""

    rows: pl.DataFrame

    def __len__(self) -> int:
        return self.rows.height

    def frame(self) -> pl.DataFrame:
        """See `Stored.frame`."""
        return self.rows

    @property
    def users(self) -> Ids:
        """The user of each row."""
        return IdSeries(self.rows["user"])

    @property
    def item_type(self) -> IdType:
        """The type of the items."""
        return self.items().type

    def items(self) -> Ids:
        """The item of each row."""
        return IdSeries(self.rows["item"])

    def numbers_of(self, column: str) -> npt.NDArray[np.float64]:
        """The number of each row."""
        return self.rows[column].to_numpy()

    def by_row(self, of_users: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Numbers of the `users`, for each of their rows."""
        return of_users

    def only(self, chosen: npt.NDArray[np.int64]) -> Self:
        """Some of the rows, by places, which ascend; neighbours are not copied."""
        if chosen.size and chosen[-1] - chosen[0] < chosen.size:
            return replace(self, rows=self.rows.slice(int(chosen[0]), chosen.size))
        return replace(self, rows=self.rows[chosen])

    def sizes(self) -> pl.Series:
        """The number of rows of each user that has any."""
        return self.rows["user"].value_counts(name="n")["n"].cast(pl.Int64)

    def tied(self, numbers: npt.NDArray[np.float64]) -> int:
        """How many rows have the number of another row of their user."""
        return int(self.rows.select("user", number=series(numbers)).is_duplicated().sum())

    def cast(self, role: str, dtype: pl.DataType) -> Self:
        """See `Stored.cast`."""
        return replace(self, rows=self.rows.with_columns(pl.col(role).cast(dtype)))


@dataclass(frozen=True, eq=False, kw_only=True)
class ByUser(Stored):
    """The items of each user, none without any; no item occurs twice for a user.

    They are in order for rankings without numbers. Rows are made only where they are needed.
    """

    is_index = True
    users: Ids  # (n_users,) without duplicates, Int64 or String
    empty_users: Ids  # users without items, and not among these
    offsets: npt.NDArray[np.int64]  # (n_users + 1,) where the items of each user begin
    numbers: npt.NDArray[np.float64] | None  # (n_items,) scores, or gains
    item_type: IdType  # Int64 or String
    column: str = "score"  # the name of the numbers

    @abstractmethod
    def items(self) -> Ids:
        """All items, by user."""

    @abstractmethod
    def take(self, places: npt.NDArray[np.int64]) -> Ids:
        """Some of these; the places of a user follow one another."""

    @abstractmethod
    def sought(self, items: Ids) -> Any:
        """Items of the type of these, in the form in which `look_up` takes them."""

    @abstractmethod
    def look_up(self, at: npt.NDArray[np.int64], items: Any) -> npt.NDArray[np.float64]:
        """The score of each item of the list `at`, or its place in it; NaN where it is not there.

        All items of a list follow one another.
        """

    @abstractmethod
    def places(self, at: npt.NDArray[np.int64], items: Any) -> npt.NDArray[np.float64]:
        """The same, but always the place."""

    @abstractmethod
    def only(self, chosen: npt.NDArray[np.int64]) -> Self:
        """The items of some users, by their places, which ascend."""

    @property
    def order(self) -> Literal["score", "list"]:
        """How the items are ordered: by "score", or as in the "list"."""
        return "list" if self.numbers is None else "score"

    def __len__(self) -> int:
        """The number of items of all users."""
        return int(self.offsets[-1])

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """The number of items of each user."""
        return np.diff(self.offsets)

    def numbers_of(self, column: str) -> npt.NDArray[np.float64]:
        """See `InFrame`."""
        return self.frame()[column].to_numpy() if self.numbers is None else self.numbers

    def by_row(self, of_users: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """See `InFrame`."""
        return np.repeat(of_users, self.lengths)

    def sizes(self) -> pl.Series:
        """See `InFrame`."""
        return series(self.lengths)

    def tied(self, numbers: npt.NDArray[np.float64]) -> int:
        """See `InFrame`."""
        user = self.by_row(np.arange(len(self.users)))
        order = np.lexsort((numbers, user))
        same = (np.diff(user[order]) == 0) & (np.diff(numbers[order]) == 0)
        return int(np.count_nonzero(np.append(same, False) | np.append(False, same)))

    def as_judgments(self) -> Self:
        """The same as judgments, which have gains: 1 each where there are no numbers."""
        gains = np.ones(len(self)) if self.numbers is None else self.numbers
        return replace(self, numbers=gains, column="gain")

    def frame(self) -> pl.DataFrame:
        """See `Stored.frame`."""
        users = self.users.series()[np.repeat(np.arange(len(self.users)), self.lengths)]
        numbers = [] if self.numbers is None else [series(self.numbers, self.column)]
        return pl.DataFrame([users.alias("user"), self.items().series().alias("item"), *numbers])


AnyRows: TypeAlias = InFrame | ByUser
"""Rows of any kind."""
