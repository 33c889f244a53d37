"""Users as small integers: their places among all users of a block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from rankmeter._align.packing import bits
from rankmeter._hits import IntArray
from rankmeter._ingest import Table, series

__all__ = ["FEW", "Codes", "distinct", "universe"]

FEW = 4000
"""So many ids are looked up one by one in less time than a query of Polars takes."""


class Codes:
    """Users as their place in the sorted universe."""

    def __init__(self, users: pl.Series) -> None:
        self.users = users
        self.n = len(users)
        self.low: int | None = None
        if users.dtype.is_integer() and self.n:
            low, high = int(users[0]), int(users[-1])
            if _compact(low, high, self.n):
                self.low = low
                self.table = np.full(high - low + 1, -1, dtype=np.int64)
                self.table[_places(users, low)] = np.arange(self.n)

    def of(self, ids: pl.Series) -> IntArray:
        """Codes of ids that all belong to the universe."""
        if self.low is not None:
            code: IntArray = self.table[_places(ids, self.low)]
            return code
        if self._are_few(ids):
            return self._one_by_one(ids)
        runs = _runs(ids)
        different = ids if runs is None else runs["value"]
        found = np.concatenate([self._hashed.of(part) for part in _parts(different)])
        return found if runs is None else np.repeat(found, runs["len"].to_numpy())

    def find(self, ids: pl.Series) -> IntArray:
        """Codes of any ids; -1 for those outside the universe."""
        if self.low is None:
            return self._one_by_one(ids) if self._are_few(ids) else self._hashed.of(ids)
        place = _places(ids, self.low)
        code = self.table.take(place, mode="clip")
        code[(place < 0) | (place >= self.table.size)] = -1
        return code

    def _are_few(self, ids: pl.Series) -> bool:
        return not self.n or not len(ids) or self.n + len(ids) <= FEW

    def _one_by_one(self, ids: pl.Series) -> IntArray:
        """Codes of a few ids; -1 for those outside the universe."""
        return np.array([self._by_id.get(one, -1) for one in ids.to_list()], dtype=np.int64)

    @cached_property
    def _by_id(self) -> dict[object, int]:
        return {user: code for code, user in enumerate(self.users.to_list())}

    @cached_property
    def _hashed(self) -> _Hashed:
        return _Hashed(self.users)

    def mark(self, *parts: pl.Series) -> npt.NDArray[np.bool_]:
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


def universe(truth: Table, *rankings: Table) -> pl.Series:
    """All users named in the truth or in any of the rankings, ascending."""
    return distinct(
        [part for table in (truth, *rankings) for part in (table.users, table.empty_users)]
    )


def distinct(parts: Sequence[pl.Series]) -> pl.Series:
    """All ids of some columns of one type, each once, ascending."""
    named = [part for part in parts if len(part)]
    if not named:
        return parts[0]
    dtype = named[0].dtype
    if dtype.is_integer():
        low, high = min(int(p.min()) for p in named), max(int(p.max()) for p in named)  # type: ignore[arg-type]
        if _compact(low, high, sum(map(len, named))):
            present = np.zeros(high - low + 1, dtype=bool)
            for part in named:
                present[_places(part, low)] = True
            return series(np.flatnonzero(present) + low, named[0].name).cast(dtype)
    if sum(map(len, named)) <= FEW:
        few = {one for part in named for one in part.to_list()}
        return pl.Series(named[0].name, sorted(few), dtype)
    firsts = [part if (runs := _runs(part)) is None else runs["value"] for part in named]
    different = [_distinct(some) for part in firsts for some in _parts(part.cast(dtype))]
    return pl.concat(different).unique().sort()


def _runs(ids: pl.Series) -> pl.DataFrame | None:
    """The value and the length of each run of equal ids; None if the first runs are short."""
    first = ids.slice(0, 1000)
    return ids.rle().struct.unnest() if 4 * len(first.rle()) <= len(first) else None


def _parts(ids: pl.Series) -> Iterator[pl.Series]:
    """At most eight parts of the ids, so that work on one of them needs little memory."""
    size = max(-(-len(ids) // 8), 2**16)
    return (ids.slice(start, size) for start in range(0, len(ids), size))


def _distinct(ids: pl.Series) -> pl.Series:
    """The different ids, in any order: one for each slot, and the few others."""
    width = max(bits(len(ids)) - 3, 1)
    slots = _slots(ids, width)
    owner = np.full(1 << width, -1, dtype=np.int64)
    owner[slots] = np.arange(slots.size)
    others = ids.filter(ids != ids.gather(series(owner[slots])))
    return pl.concat([ids.gather(series(owner[owner >= 0])), others.unique()])


def _compact(low: int, high: int, n: int) -> bool:
    """Whether integer ids are dense enough for a lookup table, so that no hashing is needed."""
    return low > -(2**62) and high < 2**62 and high - low < 4 * n + 1_000_000


def _places(ids: pl.Series, low: int) -> IntArray:
    """The ids minus the lowest one."""
    numbers: IntArray = ids.to_numpy().astype(np.int64, copy=False)
    return numbers - low if low else numbers


def _slots(ids: pl.Series, width: int) -> IntArray:
    """So many bits for each id; the same in one process, not in every version of Polars."""
    return (ids.hash(1).to_numpy() >> np.uint64(64 - width)).view(np.int64)
