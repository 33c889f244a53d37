"""Users as small integers: their places among all users of a block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from rankmeter._align.packing import bits
from rankmeter._hits import IntArray
from rankmeter._ingest import Ids, IdSeries, Objects, Table, as_ids, series

FEW = 4000
"""So many ids are looked up one by one in less time than a query of Polars takes."""


class Codes:
    """Users as their place in the sorted universe; `known` are columns with their codes."""

    def __init__(self, users: Ids | pl.Series, known: Sequence[tuple[Ids, IntArray]] = ()) -> None:
        self.users, self._known = as_ids(users), known
        self.n = len(users)
        self.low: int | None = None
        if (ends := _range([self.users])) is not None:
            self.low = ends[0]
            self.table = np.full(ends[1] - ends[0] + 1, -1, dtype=np.int64)
            self.table[_places(self.users, ends[0])] = np.arange(self.n)

    @classmethod
    def of_tables(cls, *tables: Table) -> Codes:
        """All users named in any of the tables, ascending."""
        columns = [part for table in tables for part in (table.users, table.empty_users)]
        named = [one for one in columns if len(one)]
        if _are_few(named) or _range(named) is not None:
            return cls(distinct(columns))
        found = _Slots([one.series() for one in named])
        return cls(IdSeries(found.different), [*zip(named, found.codes(), strict=True)])

    def of(self, ids: Ids | pl.Series) -> IntArray:
        """Codes of ids that all belong to the universe."""
        ids = as_ids(ids)
        for known, code in self._known:
            if known is ids:
                return code
        if self.low is not None:
            dense: IntArray = self.table[_places(ids, self.low)]
            return dense
        if self._are_few(ids):
            return self._one_by_one(ids)
        column = ids.series()
        alike = runs(column)
        different = column if alike is None else alike["value"]
        found = np.concatenate([self._hashed.of(part) for part in _parts(different)])
        return found if alike is None else np.repeat(found, alike["len"].to_numpy())

    def find(self, ids: Ids | pl.Series) -> IntArray:
        """Codes of any ids; -1 for those outside the universe."""
        ids = as_ids(ids)
        if self.low is None:
            few = self._are_few(ids)
            return self._one_by_one(ids) if few else self._hashed.of(ids.series())
        place = _places(ids, self.low)
        code = self.table.take(place, mode="clip")
        code[(place < 0) | (place >= self.table.size)] = -1
        return code

    def _are_few(self, ids: Ids) -> bool:
        return not self.n or not len(ids) or _are_few([self.users, ids])

    def _one_by_one(self, ids: Ids) -> IntArray:
        """Codes of a few ids; -1 for those outside the universe."""
        return np.array([self._by_id.get(one, -1) for one in ids.to_list()], dtype=np.int64)

    @cached_property
    def _by_id(self) -> dict[object, int]:
        return {user: code for code, user in enumerate(self.users.to_list())}

    @cached_property
    def _hashed(self) -> _Hashed:
        return _Hashed(self.users.series())

    def mark(self, *parts: Ids | pl.Series) -> npt.NDArray[np.bool_]:
        """Which users occur in any of the parts."""
        present = np.zeros(self.n, dtype=bool)
        for part in parts:
            present[self.of(part)] = True
        return present


class _Hashed:
    """Users by hash: a slot holds one of the users with it, and the others are few."""

    def __init__(self, users: pl.Series) -> None:
        self.users = users
        self.width = max(bits(8 * len(users)), 1)
        self.table = np.full(1 << self.width, -1, dtype=np.int64)
        slots, code = _slots(users, self.width), np.arange(len(users))
        self.table[slots] = code
        others = series(np.flatnonzero(self.table[slots] != code), "code")
        self.without_slot = pl.DataFrame([users.gather(others).alias("user"), others])

    def of(self, ids: pl.Series) -> IntArray:
        """Codes of any ids; -1 for those outside the universe."""
        code: IntArray = self.table[_slots(ids, self.width)]
        wrong = (self.users.gather(series(np.maximum(code, 0))) != ids).to_numpy()
        others = np.flatnonzero(wrong & (code >= 0))  # an empty slot has no user
        if others.size:
            rest = ids.gather(series(others)).to_frame("user")
            found = rest.join(self.without_slot, on="user", how="left", maintain_order="left")
            code[others] = found["code"].fill_null(-1).to_numpy()
        return code


class _Slots:
    """The different ids of some columns: the last one of each slot, and the few others."""

    def __init__(self, columns: Sequence[pl.Series]) -> None:
        self._runs = [runs(one) for one in columns]
        pairs = zip(columns, self._runs, strict=True)
        firsts = [one if alike is None else alike["value"] for one, alike in pairs]
        self._ends = np.cumsum([len(one) for one in firsts])
        ids = pl.concat(firsts)
        self._slot = _slots(ids, max(bits(len(ids)) - 2, 1))
        last = np.full(int(self._slot.max()) + 1, -1, dtype=np.int64)
        last[self._slot] = np.arange(len(ids))
        same = zip(_parts(ids), _parts(series(last[self._slot])), strict=True)
        other = pl.concat([some != ids.gather(at) for some, at in same]).arg_true()
        self._other, self._others = other.to_numpy(), ids.gather(other)
        self._filled = np.flatnonzero(last >= 0)
        different = pl.concat([ids.gather(series(last[self._filled])), self._others.unique()])
        self._order = different.arg_sort()
        self.different = different.gather(self._order)

    def codes(self) -> list[IntArray]:
        """The place of each id among the different ones, ascending, by column."""
        place = np.empty(len(self._order), dtype=np.int64)
        place[self._order.to_numpy()] = np.arange(place.size)
        of_slot = np.zeros(int(self._filled[-1]) + 1, dtype=np.int64)
        of_slot[self._filled] = place[: self._filled.size]
        code = of_slot[self._slot]
        if self._other.size:
            code[self._other] = _Hashed(self.different).of(self._others)
        pairs = zip(np.split(code, self._ends[:-1]), self._runs, strict=True)
        return [one if alike is None else np.repeat(one, alike["len"]) for one, alike in pairs]


def distinct(parts: Sequence[Ids]) -> Ids:
    """All ids of some columns of one type, each once, ascending."""
    named = [part for part in parts if len(part)]
    if not named:
        return parts[0]
    if _are_few(named):
        return Objects(sorted({one for part in named for one in part.to_list()}), named[0].type)
    columns = [part.series() for part in named]
    dtype = columns[0].dtype
    if (ends := _range(named)) is not None:
        present = np.zeros(ends[1] - ends[0] + 1, dtype=bool)
        for part in named:
            present[_places(part, ends[0])] = True
        return IdSeries(series(np.flatnonzero(present) + ends[0]).cast(dtype))
    pieces = (some for part in columns for some in _parts(part.cast(dtype)))
    return IdSeries(pl.concat([_Slots([some]).different for some in pieces]).unique().sort())


def _are_few(parts: Sequence[Ids]) -> bool:
    """Whether some ids are looked up in less time than a query of Polars takes."""
    return sum(map(len, parts)) <= FEW or all(isinstance(part, Objects) for part in parts)


def _range(parts: Sequence[Ids]) -> tuple[int, int] | None:
    """The lowest and the highest of some ids, if they are integers and dense."""
    if not parts or not all(map(len, parts)) or parts[0].type == "String":
        return None
    lows, highs = zip(*(part.ends() for part in parts), strict=True)
    low, high = min(lows), max(highs)
    return (low, high) if are_dense(low, high, sum(map(len, parts))) else None


def runs(ids: pl.Series) -> pl.DataFrame | None:
    """The value and the length of each run of equal ids; None if the first runs are short."""
    first = ids.slice(0, 1000)
    return ids.rle().struct.unnest() if 4 * len(first.rle()) <= len(first) else None


def _parts(ids: pl.Series) -> Iterator[pl.Series]:
    """At most eight parts of the ids, so that work on one of them needs little memory."""
    size = max(-(-len(ids) // 8), 2**16)
    return (ids.slice(start, size) for start in range(0, len(ids), size))


def are_dense(low: int, high: int, n: int) -> bool:
    """Whether integer ids are dense enough for a lookup table, so that no hashing is needed."""
    return low > -(2**62) and high < 2**62 and high - low < 4 * n + 1_000_000


def _places(ids: Ids, low: int) -> IntArray:
    """The ids minus the lowest one."""
    numbers: IntArray = ids.integers().astype(np.int64, copy=False)
    return numbers - low if low else numbers


def _slots(ids: pl.Series, width: int) -> IntArray:
    """So many bits for each id; the same in one process, not in every version of Polars."""
    return (ids.hash(1).to_numpy() >> np.uint64(64 - width)).view(np.int64)
