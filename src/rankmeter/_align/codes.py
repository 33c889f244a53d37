"""Users as small integers: their places among all users of a block."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from rankmeter._hits import IntArray
from rankmeter._ingest import Ids, IdSeries, Objects, Table, as_ids, series

FEW = 4000
"""So many ids are looked up one by one in less time than a query of Polars takes."""


class Codes:
    """Users as their place in the sorted universe; `codes` are those of some columns."""

    def __init__(self, users: Ids | pl.Series, codes: Sequence[tuple[Ids, IntArray]] = ()) -> None:
        self.users, self._known = as_ids(users), codes
        self.n = len(users)
        self.low: int | None = None
        if (ends := _dense_ends([self.users])) is not None:
            self.low = ends[0]
            self.table = np.full(ends[1] - ends[0] + 1, -1, dtype=np.int64)
            self.table[_offsets(self.users, ends[0])] = np.arange(self.n)

    @classmethod
    def of_tables(cls, *tables: Table) -> Codes:
        """All users named in any of the tables, ascending."""
        columns = [part for table in tables for part in (table.users, table.empty_users)]
        named = [ids for ids in columns if len(ids)]
        if _are_few(named) or _dense_ends(named) is not None:
            return cls(distinct(columns))
        folded = [_collapse_runs(ids.series()) for ids in named]
        codes = cls(_unique([values for values, _ in folded]))
        codes._known = [
            (ids, codes._repeat_codes(*fold)) for ids, fold in zip(named, folded, strict=True)
        ]
        return codes

    def encode(self, ids: Ids | pl.Series) -> IntArray:
        """Codes of ids that all belong to the universe."""
        ids = as_ids(ids)
        for column, code in self._known:
            if column is ids:
                return code
        if self.low is not None:
            dense: IntArray = self.table[_offsets(ids, self.low)]
            return dense
        if self._are_few(ids):
            return self._one_by_one(ids)
        return self._repeat_codes(*_collapse_runs(ids.series()))

    def _repeat_codes(self, values: pl.Series, lengths: IntArray | None) -> IntArray:
        """Codes of runs of ids, each repeated."""
        code = self._look_up(values)
        return code if lengths is None else np.repeat(code, lengths)

    def find(self, ids: Ids | pl.Series) -> IntArray:
        """Codes of any ids; -1 for those outside the universe."""
        ids = as_ids(ids)
        if self.low is None:
            few = self._are_few(ids)
            return self._one_by_one(ids) if few else self._look_up(ids.series())
        place = _offsets(ids, self.low)
        code = self.table.take(place, mode="clip")
        code[(place < 0) | (place >= self.table.size)] = -1
        return code

    def _are_few(self, ids: Ids) -> bool:
        return not self.n or not len(ids) or _are_few([self.users, ids])

    def _one_by_one(self, ids: Ids) -> IntArray:
        """Codes of a few ids; -1 for those outside the universe."""
        return np.array([self._by_id.get(user, -1) for user in ids.to_list()], dtype=np.int64)

    @cached_property
    def _by_id(self) -> dict[object, int]:
        return {user: code for code, user in enumerate(self.users.to_list())}

    def _look_up(self, ids: pl.Series) -> IntArray:
        """Codes of any ids; -1 for those outside the universe."""
        if ids.dtype == pl.String:
            place = ids.cast(self._names, strict=False).to_physical().cast(pl.Int64)
        else:
            places = self.users.series().to_frame("id").with_columns(place=pl.int_range(self.n))
            joined = ids.to_frame("id").join(places, on="id", how="left", maintain_order="left")
            place = joined["place"]
        return place.fill_null(-1).to_numpy()

    @cached_property
    def _names(self) -> pl.Enum:
        return pl.Enum(self.users.series())

    def mark(self, *columns: Ids | pl.Series) -> npt.NDArray[np.bool_]:
        """Return a mask of the users that occur in any of the columns."""
        present = np.zeros(self.n, dtype=bool)
        for part in columns:
            present[self.encode(part)] = True
        return present


def distinct(columns: Sequence[Ids]) -> Ids:
    """All ids of some columns of one type, each once, ascending."""
    filled = [ids for ids in columns if len(ids)]
    if not filled:
        return columns[0]
    if _are_few(filled):
        return Objects(sorted({user for ids in filled for user in ids.to_list()}), filled[0].type)
    all_series = [ids.series() for ids in filled]
    dtype = all_series[0].dtype
    if (ends := _dense_ends(filled)) is not None:
        present = np.zeros(ends[1] - ends[0] + 1, dtype=bool)
        for ids in filled:
            present[_offsets(ids, ends[0])] = True
        return IdSeries(series(np.flatnonzero(present) + ends[0]).cast(dtype))
    return _unique([_collapse_runs(ids)[0].cast(dtype) for ids in all_series])


def _unique(columns: Sequence[pl.Series]) -> IdSeries:
    """The different ids of some columns, ascending."""
    # In order, which takes one thread, and a fraction of the work.
    different = [ids.unique(maintain_order=True) for ids in columns]
    return IdSeries(pl.concat(different).unique(maintain_order=True).sort())


def _are_few(columns: Sequence[Ids]) -> bool:
    """Whether some ids are looked up in less time than a query of Polars takes."""
    return sum(map(len, columns)) <= FEW or all(isinstance(part, Objects) for part in columns)


def _dense_ends(columns: Sequence[Ids]) -> tuple[int, int] | None:
    """The lowest and the highest of some ids, if they are integers and dense."""
    if not columns or not all(map(len, columns)) or columns[0].type == "String":
        return None
    lows, highs = zip(*(part.ends() for part in columns), strict=True)
    low, high = min(lows), max(highs)
    return (low, high) if are_dense(low, high, sum(map(len, columns))) else None


def id_runs(ids: pl.Series) -> pl.DataFrame | None:
    """The value and the length of each run of equal ids; None if the first runs are short."""
    first = ids.slice(0, 1000)
    return ids.rle().struct.unnest() if 4 * len(first.rle()) <= len(first) else None


def _collapse_runs(ids: pl.Series) -> tuple[pl.Series, IntArray | None]:
    """Equal ids that follow each other as one, and how many these are, if most do."""
    alike = id_runs(ids)
    return (ids, None) if alike is None else (alike["value"], alike["len"].to_numpy())


def are_dense(low: int, high: int, n: int) -> bool:
    """Whether integer ids are dense enough for a lookup table, so that no hashing is needed."""
    return low > -(2**62) and high < 2**62 and high - low < 4 * n + 1_000_000


def _offsets(ids: Ids, low: int) -> IntArray:
    """The ids minus the lowest one."""
    numbers: IntArray = ids.integers().astype(np.int64, copy=False)
    return numbers - low if low else numbers
