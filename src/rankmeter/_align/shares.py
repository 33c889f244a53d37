"""Users divided into parts with about as many rows each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from rankmeter._align.codes import Codes, id_runs
from rankmeter._hits import IntArray
from rankmeter._ingest import Ids, Table

Share = tuple[Codes, list[Table]]
"""Some users, and their rows in each table."""

_SAMPLE = 1000
"""Rows of each table that are looked at first."""


def is_grouped(table: Table) -> bool:
    """Whether users have text as ids, and the rows of a user seem to follow each other."""
    users = table.users
    return users.type == "String" and id_runs(users.series().head(_SAMPLE)) is not None


def partitions(n: int, tables: Sequence[Table]) -> list[Callable[[], Share]]:
    """Return up to `n` functions, each of which builds the tables of one part of the users.

    If the longest table `is_grouped`, users next to each other in it share a part, and their rows
    are only viewed. Otherwise parts are ranges of ids if these are integers, and made by hash if
    not: then no user is looked up before the rows are divided.
    """
    longest = max(tables, key=lambda table: table.height)
    return _split_neighbours(n, tables, longest) if is_grouped(longest) else _split_by_id(n, tables)


def _split_neighbours(n: int, tables: Sequence[Table], longest: Table) -> list[Callable[[], Share]]:
    codes = Codes.of_tables(*tables)
    user = codes.encode(longest.users)
    first = np.flatnonzero(np.diff(user, prepend=-1))
    of_user = np.arange(codes.n) * n // codes.n  # of those who are not in the longest table
    of_user[user[first[::-1]]] = first[::-1] * n // user.size  # of several places, the first one
    of_user = of_user.astype(np.min_scalar_type(n))
    divisions = [_Parts(of_user[codes.encode(ids)]) for table in tables for ids in _users_of(table)]

    def build(number: int) -> Share:
        chosen = of_user == number
        place_in_part = np.cumsum(chosen) - 1
        known_codes, divided = list[tuple[Ids, IntArray]](), list[Table]()
        for table, rows, empty in zip(tables, divisions[::2], divisions[1::2], strict=True):
            places = rows.at(number), empty.at(number)
            divided.append(table.only(*places))
            for all_ids, ids, at in zip(
                _users_of(table), _users_of(divided[-1]), places, strict=True
            ):
                known_codes.append((ids, place_in_part[codes.encode(all_ids)[at]]))
        return Codes(codes.users.where(chosen), known_codes), divided

    return [partial(build, number) for number in np.unique(of_user).tolist()]


def _split_by_id(n: int, tables: Sequence[Table]) -> list[Callable[[], Share]]:
    part_of = _number_by_range(n, tables) or partial(_number_by_hash, n)
    divisions = [_Parts(part_of(ids)) for table in tables for ids in _users_of(table)]

    def build(number: int) -> Share:
        divided = [
            table.only(rows.at(number), empty.at(number))
            for table, rows, empty in zip(tables, divisions[::2], divisions[1::2], strict=True)
        ]
        return Codes.of_tables(*divided), divided

    filled = np.zeros(n, dtype=bool)
    for part in divisions:
        filled[part.numbers] = True
    return [partial(build, number) for number in np.flatnonzero(filled).tolist() or [0]]


def _users_of(table: Table) -> tuple[Ids, Ids]:
    """The users of the rows, and those without rows."""
    return table.users, table.empty_users


class _Parts:
    """The number of the part of each of some ids."""

    def __init__(self, numbers: npt.NDArray[Any]) -> None:
        self.numbers = numbers
        self._ascending = bool(np.all(numbers[1:] >= numbers[:-1]))

    def at(self, number: int) -> IntArray:
        """The places of one part."""
        if self._ascending:
            return np.arange(*np.searchsorted(self.numbers, [number, number + 1]))
        return np.flatnonzero(self.numbers == number)


def _number_by_range(n: int, tables: Sequence[Table]) -> Callable[[Ids], npt.NDArray[Any]] | None:
    """Return a function from ids to the number of their range; None unless ids are integers."""
    users = [table.users for table in tables if table.height]
    if not users or users[0].type == "String":
        return None
    samples = [ids.integers()[:: len(ids) // _SAMPLE + 1] for ids in users]
    starts = np.quantile(np.concatenate(samples), np.arange(1, n) / n, method="nearest")
    small = np.min_scalar_type(n)
    return lambda users: np.searchsorted(starts, users.integers(), side="right").astype(small)


def _number_by_hash(n: int, users: Ids) -> npt.NDArray[Any]:
    half = np.uint64(32)
    part: npt.NDArray[Any] = (users.series().hash(3).to_numpy() >> half) * np.uint64(n) >> half
    return part.astype(np.min_scalar_type(n))
