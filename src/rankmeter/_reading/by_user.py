"""Ids in their original form, and items by user."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, Protocol, Self, TypeAlias, cast

import numpy as np
import numpy.typing as npt
import polars as pl

from rankmeter.errors._forked import can_compute

IdType: TypeAlias = Literal["Int64", "UInt64", "String"]
"""The type of ids, by its name in Polars."""
_SHORT = 1000
_TYPES = {"int64": "Int64", "float64": "Float64", "bool": "Boolean"}


def to_series(values: npt.NDArray[Any], name: str = "") -> pl.Series:
    """Convert an array to a series; a short array via a list.

    Polars imports ``numpy.ma`` to read an array, which takes longer than a small evaluation.
    """
    if values.size > _SHORT or values.dtype.name not in _TYPES:
        return pl.Series(name, values)
    return pl.Series(name, values.tolist(), getattr(pl, _TYPES[values.dtype.name]))


def count_distinct(ids: pl.Series) -> int:
    """Number of distinct ids; `pl.Series.n_unique` needs threads, which a forked child lacks."""
    return len(ids.value_counts())


CHANGED = (
    "a list or dictionary of the rankings or the ground truth has changed since it was read, "
    "perhaps by another thread: pass a copy of it"
)


class Fold(NamedTuple):
    """A column of ids as fewer values: those of runs of equal ids, or the distinct ones."""

    values: pl.Series
    rows: npt.NDArray[np.int64]  # how many rows each value has, or which value each row has
    in_runs: bool

    def spread(self, numbers: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Expand numbers of the values to a number for each row."""
        return np.repeat(numbers, self.rows) if self.in_runs else numbers[self.rows]


class Ids(ABC):
    """Ids of one type, without nulls."""

    @property
    @abstractmethod
    def type(self) -> IdType:
        """Type of the ids."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def take(self, indices: npt.NDArray[np.int64]) -> Self:
        """Select ids by index."""

    @abstractmethod
    def to_series(self) -> pl.Series:
        """Convert the ids to a series."""

    def __iter__(self) -> Iterator[Any]:
        return iter(self.to_list())

    def to_list(self) -> list[Any]:
        """Convert the ids to a list of Python objects."""
        return self.to_series().to_list()

    def to_integers(self) -> npt.NDArray[Any]:
        """Convert integer ids to an array."""
        return self.to_series().to_numpy()

    def min_and_max(self) -> tuple[int, int]:
        """Lowest and highest of integer ids."""
        numbers = self.to_integers()
        return int(numbers.min()), int(numbers.max())

    def filter(self, mask: npt.NDArray[np.bool_]) -> Self:
        """Select ids by mask."""
        return self if mask.all() else self.take(np.flatnonzero(mask))

    @property
    def fold(self) -> Fold:
        """The ids as fewer values: of each run if the first runs are long, or the distinct ones."""
        return IdSeries(self.to_series()).fold


@dataclass(frozen=True, eq=False)
class Objects(Ids):
    """Ids as Python strings or integers."""

    values: list[Any]
    type: IdType = "String"

    def __len__(self) -> int:
        return len(self.values)

    def take(self, indices: npt.NDArray[np.int64]) -> Objects:
        return Objects([self.values[index] for index in indices.tolist()], self.type)

    def to_series(self) -> pl.Series:
        if self.type == "String":
            return pl.Series(map(str.__str__, self.values), dtype=pl.String)
        return to_series(self.to_integers())

    def to_list(self) -> list[Any]:
        return [*map(str.__str__ if self.type == "String" else int, self.values)]

    def to_integers(self) -> npt.NDArray[Any]:
        return self._integers

    @cached_property
    def _integers(self) -> npt.NDArray[Any]:
        return np.fromiter(self.values, self.type.lower(), len(self.values))


@dataclass(frozen=True, eq=False)
class IdSeries(Ids):
    """Ids in a series."""

    ids: pl.Series

    @property
    def type(self) -> IdType:
        return cast("IdType", str(self.ids.dtype))

    def __len__(self) -> int:
        return len(self.ids)

    def min_and_max(self) -> tuple[int, int]:
        """Lowest and highest id, without joining the chunks of the series."""
        return cast("int", self.ids.min()), cast("int", self.ids.max())

    def take(self, indices: npt.NDArray[np.int64]) -> IdSeries:
        return IdSeries(self.ids.gather(to_series(indices)))

    def to_series(self) -> pl.Series:
        return self.ids

    @cached_property
    def fold(self) -> Fold:
        return fold_runs(self.ids) or fold_values(self.ids)

    def __getstate__(self) -> dict[str, Any]:
        return {"ids": self.ids}  # a pickle needs nothing else


def has_runs(ids: pl.Series) -> bool:
    """Whether the first ids are in long runs of equal ones."""
    first = ids.head(_SHORT)
    return 4 * len(first.rle()) <= len(first)


def fold_runs(ids: pl.Series) -> Fold | None:
    """Fold ids that `has_runs`; None for others."""
    if not has_runs(ids):
        return None
    starts = ids.ne_missing(ids.shift())
    if len(ids):
        starts[0] = True
    first = starts.arg_true()
    return Fold(ids.gather(first), np.diff(np.append(first.to_numpy(), len(ids))), in_runs=True)


def fold_values(ids: pl.Series) -> Fold:
    """Fold ids in any order to distinct values."""
    if ids.dtype.is_integer():
        values = ids.unique(maintain_order=True)
        places = values.to_frame("id").with_columns(place=pl.int_range(len(values)))
        found = ids.to_frame("id").join(places, on="id", how="left", maintain_order="left")
        return Fold(values, found["place"].to_numpy(), in_runs=False)
    number = ids.cast(pl.String).cast(pl.Categorical).to_physical()
    low, high = (int(end or 0) for end in (number.min(), number.max()))  # type: ignore[arg-type]
    if high - low > 4 * len(ids):  # Polars numbers categories for the whole process
        names, low, high = ids.cast(pl.String), 0, len(ids)
        number = names.cast(pl.Enum(names.unique(maintain_order=True))).to_physical()
    place = number.to_numpy().astype(np.int64)
    place -= low
    row = np.full(high - low + 1, -1)
    row[place] = np.arange(len(ids))
    if (is_there := row >= 0).all():
        return Fold(ids.gather(row), place, in_runs=False)
    return Fold(ids.gather(row[is_there]), (np.cumsum(is_there) - 1)[place], in_runs=False)


def as_ids(ids: Ids | pl.Series) -> Ids:
    """Wrap a series as `Ids`; return `Ids` unchanged."""
    return ids if isinstance(ids, Ids) else IdSeries(ids)


def to_objects_if_few(ids: Ids) -> Ids:
    """Convert ids to Python objects if few, otherwise to a series."""
    return Objects(ids.to_list(), ids.type) if len(ids) <= _FEW else IdSeries(ids.to_series())


_FEW = 10_000
"""So many objects take less time than to import Polars."""


class Division(Protocol):
    """Which part each user is in, of rankings that are cut into parts."""

    def numbers(self, users: Ids) -> npt.NDArray[np.int64]:
        """Number of the part of each user; users without rankings can be in any."""
        ...


class Stored(ABC):
    """Interface of all kinds of stored rows."""

    ahead = 2**10  # how many parts may be worked on at the same time

    is_index = False  # whether items are looked up in these, so that no rows are made
    in_memory = True  # whether these are all rows
    in_cluster = False  # whether these are in Spark
    has_order = True  # whether the order of the rows means something

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def frame(self) -> pl.DataFrame:
        """Frame of the rows with ``user``, ``item`` and, if present, the column of numbers."""

    @abstractmethod
    def items(self) -> Ids:
        """Item of each row in this table."""

    @abstractmethod
    def all_ids(self, role: str) -> list[Ids]:
        """Users or items of all rows, including rows outside this table; each at least once."""

    @property
    def n_rows(self) -> int:
        """Number of all rows, including rows outside this table."""
        return len(self)

    @property
    def division(self) -> Division | None:
        """How rows that are not in memory are divided into parts of whole users."""
        return None

    def filled_parts(self) -> npt.NDArray[np.int64]:
        """Numbers of the parts that have rows."""
        return np.zeros(0, dtype=np.int64)

    def read_part(self, number: int) -> InFrame:
        """Read the rows of a part."""
        raise IndexError(number)

    @property
    def has_changed(self) -> bool:
        """Whether the data have been changed from outside since they were read."""
        return False

    @property
    def has_lists(self) -> bool:
        """Whether all items are in memory."""
        return self.in_memory

    @property
    def has_ends(self) -> bool:
        """Whether there is a first and a last item of each user; a set has none."""
        return True

    def has_end(self, items: set[Any]) -> bool:  # noqa: ARG002
        """Whether one of some items may be at an end of a list."""
        return True

    def count_filled_lists(self, filler: Any, *, alone: bool) -> int | None:  # noqa: ARG002
        """Number of lists that end in a filler; None if these rows are not lists themselves.

        It is 0 if the filler is elsewhere, too. The end of a list with scores is the lowest one, if
        `alone` only where no other item has it.
        """
        return None

    def has_item(self, item: Any) -> bool:
        """Whether any user has an item, an integer."""
        return bool(np.any(self.items().to_integers() == item))

    def known_items(self) -> Ids:
        """Items that these rows can name: those of the rows, or of the columns of a matrix."""
        return self.items()

    def some_items(self, most: int) -> Iterable[Any]:
        """The items of rows, or of users, at equal steps: about `most`."""
        ids = self.known_items()
        step = 1 + len(ids) // most
        return ids if step == 1 else ids.take(np.arange(0, len(ids), step))

    def counts_at(self, code: npt.NDArray[np.int64], judged: Any) -> Any:  # noqa: ARG002
        """Counts at the judged items where these alone are known; None if the rows are known."""
        return None

    def each_number(self, column: str) -> npt.NDArray[np.float64]:
        """The numbers of a column, each at least once, in any order."""
        return cast("AnyRows", self).column_numbers(column)

    def listed_items(self) -> list[pl.Series]:
        """List of series with all items that list metrics may read."""
        return [self.frame()["item"]]

    def cast_ids(self, role: str, dtype: pl.DataType) -> InFrame:
        """Cast the ids of a role to another type, in a frame."""
        return InFrame(self.frame().with_columns(pl.col(role).cast(dtype)))


@dataclass(frozen=True, eq=False)
class InFrame(Stored):
    """Rows in a frame."""

    rows: pl.DataFrame

    def __len__(self) -> int:
        return self.rows.height

    def frame(self) -> pl.DataFrame:
        return self.rows

    @cached_property
    def users(self) -> Ids:
        """User of each row."""
        return IdSeries(self.rows["user"])

    @property
    def item_type(self) -> IdType:
        """Type of the items."""
        return self.items().type

    def items(self) -> Ids:
        return IdSeries(self.rows["item"])

    def all_ids(self, role: str) -> list[Ids]:
        return [self.users if role == "user" else self.items()]

    def column_numbers(self, column: str) -> npt.NDArray[np.float64]:
        """Number of each row in a column."""
        return self.rows[column].to_numpy()

    def expand_to_rows(self, user_values: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Expand numbers of the `users` to a number for each row."""
        return user_values

    def select_by_index(self, indices: npt.NDArray[np.int64]) -> Self:
        """Select rows by ascending index; consecutive rows are not copied."""
        if indices.size and indices[-1] - indices[0] < indices.size:
            return replace(self, rows=self.rows.slice(int(indices[0]), indices.size))
        return replace(self, rows=self.rows[indices])

    def rows_per_user(self) -> npt.NDArray[np.int64]:
        """Number of rows of each user that has any."""
        return self.rows["user"].value_counts(name="n")["n"].to_numpy().astype(np.int64)

    def has_repeated_pairs(self) -> bool:
        """Whether an item occurs repeatedly for a user."""
        return bool(self.rows.select("user", "item").is_duplicated().any())

    def count_tied_rows(self, numbers: npt.NDArray[np.float64]) -> int:
        """Number of rows with the same user and number as another row."""
        return int(self.rows.select("user", number=to_series(numbers)).is_duplicated().sum())

    def cast_ids(self, role: str, dtype: pl.DataType) -> Self:
        return replace(self, rows=self.rows.with_columns(pl.col(role).cast(dtype)))


@dataclass(frozen=True, eq=False, kw_only=True)
class ByUser(Stored):
    """Items by user, for users that have any; no item occurs twice for a user.

    Items are in order for rankings without numbers. Rows are made only where they are needed.
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
        """All items, grouped by user."""

    @abstractmethod
    def take_items(self, indices: npt.NDArray[np.int64]) -> Ids:
        """Select items by index; the indices of each user are contiguous."""

    def to_lookup_keys(self, items: Ids) -> Any:
        """Convert items of the same type to the form that lookups take."""
        return items

    def look_up_scores(
        self, list_index: npt.NDArray[np.int64], items: Any
    ) -> npt.NDArray[np.float64]:
        """Score of each item in the list `list_index`, or position without scores; NaN if absent.

        All items of a list follow one another.
        """
        position = self.look_up_positions(list_index, items)
        if self.numbers is not None:
            is_there = ~np.isnan(position)
            row = self.offsets[list_index[is_there]] + position[is_there].astype(np.int64)
            position[is_there] = self.numbers[row]
        return position

    @abstractmethod
    def look_up_positions(
        self, list_index: npt.NDArray[np.int64], items: Any
    ) -> npt.NDArray[np.float64]:
        """Look up positions of items in the lists, with or without scores; NaN for absent items."""

    def select_by_index(self, indices: npt.NDArray[np.int64]) -> Self:
        """Select users with their items by ascending index."""
        has_user = np.zeros(len(self.users), dtype=bool)
        has_user[indices] = True
        if has_user.all():
            return replace(self, empty_users=self.users.take(indices[:0]))
        mask = np.repeat(has_user, self.lengths)
        return replace(
            self,
            users=self.users.take(indices),
            empty_users=self.users.take(indices[:0]),
            offsets=np.append(0, np.cumsum(self.lengths[indices])),
            numbers=None if self.numbers is None else self.numbers[mask],
            **self._filter_subclass_fields(mask),
        )

    @abstractmethod
    def _filter_subclass_fields(self, mask: npt.NDArray[np.bool_]) -> dict[str, Any]:
        """Fields specific to the subclass, for the items in the mask, which are full lists."""

    @property
    def order(self) -> Literal["score", "list"]:
        """Kind of order of the items: by "score", or as in the "list"."""
        return "list" if self.numbers is None else "score"

    def __len__(self) -> int:
        """Number of items of all users."""
        return int(self.offsets[-1])

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Number of items of each user."""
        return np.diff(self.offsets)

    def all_ids(self, role: str) -> list[Ids]:
        return [self.users if role == "user" else self.items()]

    def column_numbers(self, column: str) -> npt.NDArray[np.float64]:
        return self.frame()[column].to_numpy() if self.numbers is None else self.numbers

    def expand_to_rows(self, user_values: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        return np.repeat(user_values, self.lengths)

    def rows_per_user(self) -> npt.NDArray[np.int64]:
        return self.lengths

    def has_repeated_pairs(self) -> bool:
        return False

    def count_tied_rows(self, numbers: npt.NDArray[np.float64]) -> int:
        user = self.expand_to_rows(np.arange(len(self.users)))
        order = np.lexsort((numbers, user))
        equal = (np.diff(user[order]) == 0) & (np.diff(numbers[order]) == 0)
        return int(np.count_nonzero(np.append(equal, False) | np.append(False, equal)))

    def as_judgments(self) -> Self:
        """Turn the rows into judgments; the gain is the number, or 1 without numbers."""
        gains = np.ones(len(self)) if self.numbers is None else self.numbers
        return replace(self, numbers=gains, column="gain")

    def frame(self) -> pl.DataFrame:
        users = self.users.to_series()[np.repeat(np.arange(len(self.users)), self.lengths)]
        numbers = [] if self.numbers is None else [to_series(self.numbers, self.column)]
        return pl.DataFrame([users.alias("user"), self.items().to_series().alias("item"), *numbers])


AnyRows: TypeAlias = InFrame | ByUser
"""Rows of any kind."""


_WHOLE = r"^(0|-?[1-9][0-9]*)$"
_FEW_TO_ORDER = 10_000
_NAME = 2**40  # longer than any text


def ordered_in_python(n: int) -> bool:
    """Whether so many ids are compared in less time than Polars is imported, or it waits."""
    return n <= _FEW_TO_ORDER or not can_compute()


def id_sort_keys(ids: pl.Series, *, as_text: bool = False) -> pl.Series:
    """Integers with the order and the equalities of the ids.

    Integers in their shortest form come first and are ordered by value, whether they are numbers
    or text: 7 and ``"7"`` have the same place. All other ids follow, ordered by the bytes
    of their UTF-8 text; ``"007"``, ``"+7"`` and ``"-0"`` are among them. With `as_text` every id is
    ordered by the bytes of its text.
    """
    if ids.dtype.is_integer() and not as_text:
        return ids
    written = ids.cast(pl.String).alias("id")
    distinct = written.unique().to_frame()
    keys = [pl.col("id")] if as_text else [_signed_length_expression(), _sortable_text_expression()]
    ordered = distinct.sort(keys).with_row_index("place")
    return written.to_frame().join(ordered, on="id", how="left", maintain_order="left")["place"]


def joint_id_sort_keys(columns: Sequence[Ids], *, as_text: bool = False) -> npt.NDArray[np.int64]:
    """Sort keys of the ids of all columns, concatenated, as in `id_sort_keys`."""
    if columns[0].type != "String" and not as_text:
        return np.concatenate([ids.to_integers() for ids in columns])
    if not ordered_in_python(sum(map(len, columns))):
        together = pl.concat([ids.to_series() for ids in columns])
        return id_sort_keys(together, as_text=as_text).to_numpy().astype(np.int64)
    written = [str(one_id) for part in columns for one_id in part]
    ordered = sorted({*written}, key=None if as_text else _id_sort_key)
    rank = {one_id: n for n, one_id in enumerate(ordered)}
    return np.array([rank[one_id] for one_id in written], dtype=np.int64)


def _id_sort_key(text: str) -> tuple[int, str]:
    """Sort key of one id, equal to those from the two expressions below."""
    if not re.fullmatch(_WHOLE, text):
        return _NAME, text
    return (-len(text), text.translate(_TURNED)) if text[0] == "-" else (len(text), text)


_TURNED = str.maketrans("0123456789", "9876543210")


def _signed_length_expression() -> pl.Expr:
    """Length of an integer, negated if negative; for other text a constant above all lengths."""
    length = pl.col("id").str.len_bytes().cast(pl.Int64)
    signed = pl.when(pl.col("id").str.starts_with("-")).then(-length).otherwise(length)
    return pl.when(pl.col("id").str.contains(_WHOLE)).then(signed).otherwise(_NAME)


def _sortable_text_expression() -> pl.Expr:
    """Text of the id; digits of negative numbers are complemented: -15 sorts before -12."""
    negative = pl.col("id").str.contains(_WHOLE) & pl.col("id").str.starts_with("-")
    digits = [str(digit) for digit in range(10)]
    turned = pl.col("id").str.replace_many(digits, digits[::-1])
    return pl.when(negative).then(turned).otherwise(pl.col("id"))
