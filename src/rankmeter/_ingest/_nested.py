"""Columns of lists: a row for each user becomes one for each item."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
import polars as pl

from rankmeter._checks import shown
from rankmeter._ingest._columns import VALUE, Column, Columns, Side, holds_lists
from rankmeter._ingest._messages import some
from rankmeter._ingest._values import implied, items_of, refuse_twice
from rankmeter.errors import DataError


def unnested(
    found: Columns, columns: Mapping[str, Column], roles: Mapping[str, str], side: Side
) -> tuple[Columns, dict[str, Column], dict[str, str]]:
    """Rows of items; other lists of the same lengths are flattened, single values repeated.

    Users with an empty list become `empty_users`, and items with a number each give a column.
    """
    users = columns[roles["user"]]
    if side != "interactions":
        refuse_twice(users if isinstance(users, list) else users.to_list(), found.source)
    _refuse_single(columns, roles, found.source)
    lengths, items, numbers = _parts(columns[roles["item"]], users, side, found.source)
    at = np.repeat(np.arange(len(lengths)), lengths)
    rows = {
        name: items if name == roles["item"] else _along(column, lengths, at, name, found.source)
        for name, column in columns.items()
    }
    value = VALUE[side]
    if numbers is not None:
        rows[value], roles = numbers, {**roles, value: value}
    empty = np.flatnonzero(lengths == 0)
    return replace(found, empty_users=_taken(users, empty)), rows, dict(roles)


def _refuse_single(columns: Mapping[str, Column], roles: Mapping[str, str], source: str) -> None:
    numbers = [name for role, name in roles.items() if role not in ("user", "item", "time")]
    if single := [name for name in numbers if not holds_lists(columns[name])]:
        raise DataError(
            f"{source} has a list of items in each row, but one value in {some(single)}: each item "
            f"needs its number. Drop the column, or write a row for each item."
        )


def _parts(
    column: Column, users: Column, side: Side, source: str
) -> tuple[np.ndarray[Any, Any], Column, Column | None]:
    """How many items each row has, the items, and their numbers if they have some."""
    if isinstance(column, pl.Series) and column.dtype == pl.Array:
        column = column.arr.to_list()
    if isinstance(column, pl.Series) and not column.dtype.inner.is_nested():  # type: ignore[attr-defined]
        if column.null_count():
            raise _no_list(source, int(column.is_null().arg_true()[0]))
        return column.list.len().to_numpy(), _exploded(column), None
    lists = column.to_list() if isinstance(column, pl.Series) else column
    for number, value in enumerate(lists):
        if value is None:
            raise _no_list(source, number)
    parts = [items_of(user, one, side, source) for user, one in zip(users, lists, strict=True)]
    lengths = np.array([len(items) for items, _ in parts], dtype=np.int64)
    items = [*chain.from_iterable(items for items, _ in parts)]
    if all(numbers is None for _, numbers in parts):
        return lengths, items, None
    numbered = (implied(len(i), side) if n is None else n for i, n in parts)
    return lengths, items, [*chain.from_iterable(numbered)]


def _no_list(source: str, number: int) -> DataError:
    return DataError(
        f"Row {number + 1} of {source} has no list of items (null), where other rows have one. "
        f"Write an empty list for a user without items."
    )


def _along(
    column: Column, lengths: np.ndarray[Any, Any], at: np.ndarray[Any, Any], name: str, source: str
) -> Column:
    """A column next to the items: a value for each of them, or one for all items of a row."""
    if not holds_lists(column):
        return _taken(column, at)
    lists = column.to_list() if isinstance(column, pl.Series) else column
    for number, (one, n) in enumerate(zip(lists, lengths.tolist(), strict=True), start=1):
        if one is None or isinstance(one, Mapping | AbstractSet) or len(one) != n:
            raise DataError(
                f"Row {number} of {source} has {n} items but {shown(one)} in {shown(name)}. Each "
                f"item needs one value."
            )
    if isinstance(column, pl.Series):
        return _exploded(column.arr.to_list() if column.dtype == pl.Array else column)
    return [*chain.from_iterable(map(_plain, lists))]


def _plain(values: Any) -> Any:
    return values.tolist() if hasattr(values, "tolist") else values


def _exploded(column: pl.Series) -> pl.Series:
    return column.filter(column.list.len() > 0).explode()


def _taken(column: Column, at: np.ndarray[Any, Any]) -> Column:
    return column[at] if isinstance(column, pl.Series) else [column[one] for one in at.tolist()]
