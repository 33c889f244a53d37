"""Encode users as small integers, and divide them into parts for threads."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from rankmeter._evidence.hits import IntArray
from rankmeter._reading.by_user import (
    Ids,
    IdSeries,
    Objects,
    as_ids,
    fold_runs,
    has_runs,
    to_series,
)
from rankmeter._reading.table import Table
from rankmeter.errors._forked import can_compute

_T = TypeVar("_T")

THREADS = min(4, os.cpu_count() or 1)
"""How many parts are worked on at the same time."""


def map_in_threads(work: Callable[[int], _T], n: int, limit: int = THREADS + 1) -> Iterator[_T]:
    """Yield `work(i)` for i below `n`, in order; at most `limit` results are computed ahead."""
    if n == 1:
        yield work(0)
        return
    waiting: deque[Future[_T]] = deque()
    with ThreadPoolExecutor(THREADS) as pool:
        try:
            for part in range(n):
                waiting.append(pool.submit(work, part))
                if len(waiting) == limit:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


FEW = 4000
"""So many ids are looked up one by one in less time than a query of Polars takes."""


class Codes:
    """Codes of users: their index among the sorted ids.

    `codes` are known codes of some columns, and `n_rows` is how many ids will be looked up.
    """

    def __init__(
        self,
        users: Ids | pl.Series,
        codes: Sequence[tuple[Ids, IntArray]] = (),
        n_rows: int = 0,
    ) -> None:
        self.users, self._known = as_ids(users), [*codes]
        self.n = len(users)
        self.low: int | None = None
        if (ends := _dense_range([self.users], n_rows)) is not None:
            self.low = ends[0]
            self.table = np.full(ends[1] - ends[0] + 1, -1, dtype=np.int64)
            self.table[_offsets_from_lowest(self.users, ends[0])] = np.arange(self.n)

    @classmethod
    def of_tables(cls, *tables: Table) -> Codes:
        """Create the codes of all users named in any of the tables, in ascending order."""
        columns = _user_columns(tables)
        filled = [ids for ids in columns if len(ids)]
        if _are_few(filled) or _dense_range(filled) is not None:
            return cls(distinct_ids(columns), n_rows=sum(map(len, filled)))
        codes = cls(_unique_ids([ids.fold.values for ids in filled]))
        codes._known = [(ids, codes._spread_codes(ids)) for ids in filled]
        return codes

    def encode(self, ids: Ids | pl.Series) -> IntArray:
        """Codes of ids that all belong to `users`."""
        ids = as_ids(ids)
        for column, code in self._known:
            if column is ids:
                return code
        if not len(ids):
            return np.zeros(0, dtype=np.int64)
        if self.low is not None:
            dense = _offsets_from_lowest(ids, self.low)
            return dense if self.n == self.table.size else self.table[dense]
        if not self._are_few(ids):
            return self._spread_codes(ids)
        code = self._look_up_in_dict(ids)
        self._known.append((ids, code))  # asked for several times
        return code

    def _spread_codes(self, ids: Ids) -> IntArray:
        """Codes of ids, of which fewer are looked up."""
        fold = ids.fold  # once: the order of its values may differ
        return fold.spread(self._look_up_by_polars(fold.values))

    def find(self, ids: Ids | pl.Series) -> IntArray:
        """Codes of any ids; -1 for ids not in `users`."""
        ids = as_ids(ids)
        if self.low is None:
            return (
                self._look_up_in_dict(ids)
                if self._are_few(ids)
                else self._look_up_by_polars(ids.to_series())
            )
        offset = _offsets_from_lowest(ids, self.low)
        code = self.table.take(offset, mode="clip")
        code[(offset < 0) | (offset >= self.table.size)] = -1
        return code

    def _are_few(self, ids: Ids) -> bool:
        return not self.n or not len(ids) or _are_few([self.users, ids])

    def _look_up_in_dict(self, ids: Ids) -> IntArray:
        """Codes of a few ids, looked up in a dict; -1 for ids not in `users`."""
        return np.array([self._code_by_id.get(user, -1) for user in ids.to_list()], dtype=np.int64)

    @cached_property
    def _code_by_id(self) -> dict[object, int]:
        return {user: code for code, user in enumerate(self.users.to_list())}

    def _look_up_by_polars(self, ids: pl.Series) -> IntArray:
        """Codes of any ids, looked up by Polars; -1 for ids not in `users`."""
        if ids.dtype == pl.String:
            code = ids.cast(self._user_enum, strict=False).to_physical().cast(pl.Int64)
        else:
            places = self.users.to_series().to_frame("id").with_columns(place=pl.int_range(self.n))
            joined = ids.to_frame("id").join(places, on="id", how="left", maintain_order="left")
            code = joined["place"]
        return code.fill_null(-1).to_numpy()

    @cached_property
    def _user_enum(self) -> pl.Enum:
        return pl.Enum(self.users.to_series())

    def mask_users_in(self, *columns: Ids | pl.Series) -> npt.NDArray[np.bool_]:
        """Mask of the users that occur in any of the columns."""
        present = np.zeros(self.n, dtype=bool)
        for part in columns:
            present[self.encode(part)] = True
        return present


def distinct_ids(columns: Sequence[Ids]) -> Ids:
    """Distinct ids of columns of one type, ascending."""
    filled = [ids for ids in columns if len(ids)]
    if not filled:
        return columns[0]
    if _are_few(filled):
        return Objects(sorted({user for ids in filled for user in ids.to_list()}), filled[0].type)
    all_series = [ids.to_series() for ids in filled]
    dtype = all_series[0].dtype
    if (ends := _dense_range(filled)) is not None:
        present = np.zeros(ends[1] - ends[0] + 1, dtype=bool)
        for ids in filled:
            present[_offsets_from_lowest(ids, ends[0])] = True
        return IdSeries(to_series(np.flatnonzero(present) + ends[0]).cast(dtype))
    folds = [fold_runs(ids) for ids in all_series]
    values = [fold.values if fold else ids for fold, ids in zip(folds, all_series, strict=True)]
    return _unique_ids([ids.cast(dtype) for ids in values])


def _unique_ids(columns: Sequence[pl.Series]) -> IdSeries:
    """Distinct ids of some columns, ascending."""
    # In order, which takes one thread, and a fraction of the work.
    different = [ids.unique(maintain_order=True) for ids in columns]
    return IdSeries(pl.concat(different).unique(maintain_order=True).sort())


def _are_few(columns: Sequence[Ids]) -> bool:
    """Whether looking up the ids in Python takes less time than a Polars query, or that waits."""
    objects = {*map(type, columns)} <= {Objects}
    return objects or sum(map(len, columns)) <= FEW or not can_compute()


def _dense_range(columns: Sequence[Ids], n_rows: int = 0) -> tuple[int, int] | None:
    """Return (min, max) of integer ids, dense for their number or for `n_rows`; else None."""
    if not columns or not all(map(len, columns)) or columns[0].type == "String":
        return None
    lows, highs = zip(*(part.min_and_max() for part in columns), strict=True)
    low, high = min(lows), max(highs)
    return (low, high) if are_dense(low, high, max(n_rows, sum(map(len, columns)))) else None


def are_dense(low: int, high: int, n: int) -> bool:
    """Whether `n` integer ids are dense enough for a lookup table, so that no hashing is needed."""
    return low > -(2**62) and high < 2**62 and high - low < 4 * n + 1_000_000


def _offsets_from_lowest(ids: Ids, low: int) -> IntArray:
    """Subtract the lowest id from the ids."""
    numbers: IntArray = ids.to_integers().astype(np.int64, copy=False)
    return numbers - low if low else numbers


Share = tuple[Codes, list[Table]]
"""Some users, and their rows in each table."""

_SAMPLE = 1000
"""Rows of each table that are looked at first."""


def is_grouped_by_user(table: Table) -> bool:
    """Whether user ids are text and the rows of each user seem to be contiguous."""
    users = table.users
    return users.type == "String" and has_runs(users.to_series())


def partition_users(n: int, tables: Sequence[Table]) -> list[Callable[[], Share]]:
    """Return up to `n` functions; each builds the tables of one part of the users.

    If the longest table `is_grouped_by_user`, users next to each other in it share a part, and
    their rows are only viewed. Otherwise parts are ranges of ids if these are integers, and made by
    hash if not: then no user is looked up before the rows are divided.
    """
    longest = max(tables, key=lambda table: table.height)
    codes = Codes.of_tables(*tables) if is_grouped_by_user(longest) else None
    if codes is not None:
        part_of_user = _part_by_row(n, codes, longest)
        division = [_Parts(part_of_user[codes.encode(ids)]) for ids in _user_columns(tables)]
    else:
        part_of = _part_by_id_range(n, tables) or partial(part_by_hash, n)
        division = [_Parts(part_of(ids)) for ids in _user_columns(tables)]

    def build_part(number: int) -> Share:
        places = [part.positions_in_part(number) for part in division]
        divided = [
            table.select_rows(rows, empty)
            for table, rows, empty in zip(tables, places[::2], places[1::2], strict=True)
        ]
        if codes is None:
            return Codes.of_tables(*divided), divided
        is_inside = part_of_user == number
        code_in_part = np.cumsum(is_inside) - 1
        known_codes = [
            (part, code_in_part[codes.encode(ids)[rows]])
            for ids, part, rows in zip(
                _user_columns(tables), _user_columns(divided), places, strict=True
            )
        ]
        return Codes(codes.users.filter(is_inside), known_codes), divided

    filled = np.zeros(n, dtype=bool)
    for part in division:
        filled[part.numbers] = True
    return [partial(build_part, number) for number in np.flatnonzero(filled).tolist() or [0]]


def shares_of_parts(tables: Sequence[Table]) -> list[Callable[[], Share]]:
    """The same for tables of which some are cut into parts: the others are divided like these."""
    division = next(t.rows.division for t in tables if t.rows.division is not None)
    of_rows = [None if t.rows.division else _Parts(division.numbers(t.users)) for t in tables]
    of_empty = [_Parts(division.numbers(table.empty_users)) for table in tables]

    def build_part(number: int) -> Share:
        divided = []
        for table, rows, empty in zip(tables, of_rows, of_empty, strict=True):
            users = empty.positions_in_part(number)
            if rows is None:
                part = replace(table, rows=table.rows.read_part(number))
                divided.append(replace(part, empty_users=table.empty_users.take(users)))
            else:
                divided.append(table.select_rows(rows.positions_in_part(number), users))
        return Codes.of_tables(*divided), divided

    numbers = [part.numbers for part in (*of_rows, *of_empty) if part is not None]
    filled = np.unique(np.concatenate([*numbers, *(t.rows.filled_parts() for t in tables)]))
    return [partial(build_part, number) for number in filled.tolist() or [0]]


def _user_columns(tables: Sequence[Table]) -> list[Ids]:
    """User ids of the rows of each table, and of the users without rows."""
    return [ids for table in tables for ids in (table.users, table.empty_users)]


class _Parts:
    """Part number of each id."""

    def __init__(self, numbers: npt.NDArray[Any]) -> None:
        self.numbers = numbers
        self._order = (
            None if (numbers[1:] >= numbers[:-1]).all() else np.argsort(numbers, kind="stable")
        )
        self._ends = np.cumsum(np.bincount(numbers))

    def positions_in_part(self, number: int) -> IntArray:
        """Positions of the ids in one part, ascending."""
        if number >= self._ends.size:
            return np.zeros(0, dtype=np.int64)
        first, end = int(self._ends[number - 1]) if number else 0, int(self._ends[number])
        return np.arange(first, end) if self._order is None else self._order[first:end]


def _part_by_row(n: int, codes: Codes, longest: Table) -> npt.NDArray[Any]:
    """Part number of each user, so that neighbors in the longest table share a part."""
    lengths = longest.users.fold.rows
    first = (np.cumsum(lengths) - lengths)[::-1]
    number = np.arange(codes.n) * n // codes.n  # of those who are not in the longest table
    user = codes.encode(longest.users)[first]
    number[user] = first * n // longest.height  # of several places, the first one
    return number.astype(np.min_scalar_type(n))


def _part_by_id_range(n: int, tables: Sequence[Table]) -> Callable[[Ids], npt.NDArray[Any]] | None:
    """Return a function from ids to the number of their range; None unless ids are integers."""
    users = [table.users for table in tables if table.height]
    if not users or users[0].type == "String":
        return None
    samples = [ids.to_integers()[:: len(ids) // _SAMPLE + 1] for ids in users]
    starts = np.quantile(np.concatenate(samples), np.arange(1, n) / n, method="nearest")
    small = np.min_scalar_type(n)
    return lambda users: np.searchsorted(starts, users.to_integers(), side="right").astype(small)


def part_by_hash(n: int, users: Ids, seed: int = 0) -> npt.NDArray[Any]:
    """Number of the part of each user, of `n` parts; equal within one process."""
    half, hashes = np.uint64(32), users.to_series().hash(3 + seed).to_numpy()
    part: npt.NDArray[Any] = (hashes >> half) * np.uint64(n) >> half
    return part.astype(np.min_scalar_type(n))
