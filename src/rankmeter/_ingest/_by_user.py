"""Items by user of which rows are made only where they are needed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from rankmeter._ingest._id_columns import Ids, IdType, series


@dataclass(frozen=True, eq=False, kw_only=True)
class ByUser(ABC):
    """The items of each user, none without any; no item occurs twice for a user.

    They are in order for rankings without numbers.
    """

    users: Ids  # (n_users,) without duplicates, Int64 or String
    empty_users: Ids  # users without items, and not among these
    offsets: npt.NDArray[np.int64]  # (n_users + 1,) where the items of each user begin
    numbers: npt.NDArray[np.float64] | None  # (n_items,) scores, or gains
    item_type: IdType  # Int64 or String
    column: str = "score"  # the name of the numbers

    is_counted = False  # whether only counts at judged items are known, and no other item

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

    def ranking(self, code: npt.NDArray[np.int64], n_users: int, score_type: str) -> Any:  # noqa: ARG002
        """A `Ranking` of users with a `code`; None if judged items are looked up."""
        return None

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

    def judged(self) -> Self:
        """The same as judgments, which have gains: 1 each where there are no numbers."""
        gains = np.ones(len(self)) if self.numbers is None else self.numbers
        return replace(self, numbers=gains, column="gain")

    def frame(self) -> pl.DataFrame:
        """The same as rows of ``user``, ``item`` and, if there are any, the numbers."""
        users = self.users.series()[np.repeat(np.arange(len(self.users)), self.lengths)]
        numbers = [] if self.numbers is None else [series(self.numbers, self.column)]
        return pl.DataFrame([users.alias("user"), self.items().series().alias("item"), *numbers])
