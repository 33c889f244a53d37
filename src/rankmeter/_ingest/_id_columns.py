"""Ids in the form in which they came; a series of Polars is made only where one is needed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, Self, TypeAlias, cast

import numpy as np
import numpy.typing as npt
import polars as pl

IdType: TypeAlias = Literal["Int64", "UInt64", "String"]
"""The type of ids, by its name in Polars."""
_SHORT = 1000
_TYPES = {"int64": "Int64", "float64": "Float64", "bool": "Boolean"}


def series(values: npt.NDArray[Any], name: str = "") -> pl.Series:
    """An array as a series; a short one by way of a list.

    Polars imports ``numpy.ma`` to read an array, which takes longer than a small evaluation.
    """
    if values.size > _SHORT or values.dtype.name not in _TYPES:
        return pl.Series(name, values)
    return pl.Series(name, values.tolist(), getattr(pl, _TYPES[values.dtype.name]))


class Ids(ABC):
    """Some ids of one type, without nulls."""

    @property
    @abstractmethod
    def type(self) -> IdType:
        """Their type."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def take(self, chosen: npt.NDArray[np.int64]) -> Self:
        """Some of them, by place."""

    @abstractmethod
    def series(self) -> pl.Series:
        """The same as a series."""

    def __iter__(self) -> Iterator[Any]:
        return iter(self.to_list())

    def to_list(self) -> list[Any]:
        """The same as Python objects."""
        return self.series().to_list()

    def integers(self) -> npt.NDArray[Any]:
        """The same as an array, of integers."""
        return self.series().to_numpy()

    def ends(self) -> tuple[int, int]:
        """The lowest and the highest of them, of integers."""
        numbers = self.integers()
        return int(numbers.min()), int(numbers.max())

    def where(self, mask: npt.NDArray[np.bool_]) -> Self:
        """Those at some places."""
        return self if mask.all() else self.take(np.flatnonzero(mask))


@dataclass(frozen=True, eq=False)
class Objects(Ids):
    """Ids as Python strings or integers."""

    values: list[Any]
    type: IdType = "String"

    def __len__(self) -> int:
        return len(self.values)

    def take(self, chosen: npt.NDArray[np.int64]) -> Objects:
        """See `Ids.take`."""
        return Objects([self.values[at] for at in chosen.tolist()], self.type)

    def series(self) -> pl.Series:
        """See `Ids.series`."""
        if self.type == "String":
            return pl.Series(map(str.__str__, self.values), dtype=pl.String)
        return series(self.integers())

    def to_list(self) -> list[Any]:
        """See `Ids.to_list`."""
        return [*map(str.__str__ if self.type == "String" else int, self.values)]

    def integers(self) -> npt.NDArray[Any]:
        """See `Ids.integers`."""
        return np.fromiter(self.values, self.type.lower(), len(self.values))


@dataclass(frozen=True, eq=False)
class IdSeries(Ids):
    """Ids in a series."""

    ids: pl.Series

    @property
    def type(self) -> IdType:
        """See `Ids.type`."""
        return cast("IdType", str(self.ids.dtype))

    def __len__(self) -> int:
        return len(self.ids)

    def ends(self) -> tuple[int, int]:
        """See `Ids.ends`; chunks of the series are not joined."""
        return cast("int", self.ids.min()), cast("int", self.ids.max())

    def take(self, chosen: npt.NDArray[np.int64]) -> IdSeries:
        """See `Ids.take`."""
        return IdSeries(self.ids.gather(series(chosen)))

    def series(self) -> pl.Series:
        """See `Ids.series`."""
        return self.ids


def as_ids(ids: Ids | pl.Series) -> Ids:
    """A series as ids; ids unchanged."""
    return ids if isinstance(ids, Ids) else IdSeries(ids)


def few(ids: Ids) -> Ids:
    """Ids as Python objects if they are few, and in a series if not."""
    return Objects(ids.to_list(), ids.type) if len(ids) <= _FEW else IdSeries(ids.series())


_FEW = 10_000
"""So many objects take less time than to import Polars."""
