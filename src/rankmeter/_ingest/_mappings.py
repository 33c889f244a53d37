"""Python's own containers: dictionaries, lists of lists, rows and records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, repeat
from typing import Any

import numpy as np
import polars as pl

from rankmeter._ingest._columns import Column, Columns, Side, named, plain
from rankmeter._ingest._messages import short
from rankmeter.errors import DataError

__all__ = ["from_iterator", "from_listing", "from_mapping", "is_record", "is_records_list"]

RECORD_KEYS = {"rankings": "predict_list", "truth": "ground_truth"}
LIST_KEYS = frozenset({"items", "itemids", "docs", "docids", "documents"})
VALUE_KEYS = {
    "rankings": frozenset({"scores"}),
    "truth": frozenset({"gains", "ratings", "relevances"}),
    "interactions": frozenset({"ratings", "scores", "gains"}),
}


def from_mapping(data: Mapping[Any, Any], side: Side, source: str = "dict") -> Columns:
    """User → list, user → {item: number}, or the {item: number} of one user.

    Notes
    -----
    1. ``{"user": [...], "item": [...]}`` is read as columns.
    2. One record is a list of one record.
    """
    if is_record(data):
        return from_records([data], side, source)
    if _is_row(data):
        if all(isinstance(value, list | tuple | np.ndarray) for value in data.values()):
            return _from_columns(data, source)
        return _from_rows([data], side, source)
    if data and all(_is_number(value) for value in data.values()):
        return _flatten([0], [data], side, source)
    return _flatten(list(data.keys()), list(data.values()), side, source)


def from_listing(data: Iterable[Any], side: Side, source: str = "list") -> Columns:
    """A list of lists (user = row number), of rows, of records, or the items of one user."""
    values = list(data)
    if not values:
        raise DataError(f"{source} is empty: there is nothing to evaluate.")
    if all(_is_scalar(value) for value in values):
        return _flatten([0], [data if isinstance(data, set | frozenset) else values], side, source)
    if all(isinstance(value, Mapping) for value in values):
        if is_record(values[0]):
            return from_records(values, side, source)
        if any(_is_row(value) for value in values):
            return _from_rows(values, side, source)
        if any(_is_list_row(value) for value in values):
            return _from_list_rows(values, side, source)
    return _flatten(range(len(values)), values, side, source)


def from_iterator(data: Iterable[Any], side: Side) -> Columns:
    """A generator or another thing that can be walked once."""
    return from_listing(list(data), side, type(data).__name__)


# ---------------------------------------------------------------------------------------------
# Records: [{"predict_list": [...], "ground_truth": {...}}]


def is_record(data: object) -> bool:
    """Whether a value is one record with a prediction, a truth or both."""
    return isinstance(data, Mapping) and any(key in data for key in RECORD_KEYS.values())


def is_records_list(data: object) -> bool:
    """Whether rankings and truth stand in the same object, as records."""
    both = RECORD_KEYS.values()
    if isinstance(data, Mapping):
        return all(key in data for key in both)
    if isinstance(data, list | tuple) and data:
        return all(isinstance(one, Mapping) and all(key in one for key in both) for one in data[:1])
    return False


def from_records(records: Sequence[Any], side: Side, source: str) -> Columns:
    """The part of each record that the side asks for; user = record number."""
    key = RECORD_KEYS.get(side, "ground_truth")
    values = []
    for number, record in enumerate(records):
        if not isinstance(record, Mapping) or key not in record:
            raise DataError(
                f"Record {number} (counted from 0) of {source} has no {key!r}: {short(record)}. "
                f"Each record is {{'predict_list': [...], 'ground_truth': {{...}}}}."
            )
        values.append(record[key])
    return _flatten(range(len(values)), values, side, source)


# ---------------------------------------------------------------------------------------------
# Rows: {"user": 1, "item": 7, "score": 0.5} and {"user": 1, "items": [7, 8], "scores": [...]}


def _is_row(value: Mapping[Any, Any]) -> bool:
    names = [key for key in value if isinstance(key, str)]
    return bool(named("user", names)) and bool(named("item", names))


def _is_list_row(value: Mapping[Any, Any]) -> bool:
    names = [key for key in value if isinstance(key, str)]
    return bool(named("user", names)) and any(plain(name) in LIST_KEYS for name in names)


def _from_columns(data: Mapping[Any, Any], source: str) -> Columns:
    lengths = {key: len(value) for key, value in data.items()}
    if len(set(lengths.values())) > 1:
        raise DataError(f"The columns of {source} have different lengths: {lengths}.")
    names = {str(key): list(value) for key, value in data.items()}
    return Columns(list(names), lambda chosen: {name: names[name] for name in chosen}, source)


def _from_rows(rows: Sequence[Mapping[Any, Any]], side: Side, source: str) -> Columns:
    names = list(dict.fromkeys(str(key) for row in rows for key in row))

    def fetch(chosen: Sequence[str]) -> Mapping[str, Column]:
        return {name: [row.get(name) for row in rows] for name in chosen}

    return Columns(names, fetch, source)


def _from_list_rows(rows: Sequence[Mapping[Any, Any]], side: Side, source: str) -> Columns:
    users: list[Any] = []
    values: list[Any] = []
    for number, row in enumerate(rows):
        user = [row[name] for name in named("user", list(row))]
        items = [row[name] for name in row if plain(name) in LIST_KEYS]
        numbers = [row[name] for name in row if plain(name) in VALUE_KEYS[side]]
        if len(user) != 1 or len(items) != 1 or len(numbers) > 1:
            raise DataError(
                f"Row {number + 1} of {source} is not one user with one list of items: "
                f"{short(row)}. Expected {{'user': ..., 'items': [...]}} with, if wanted, one list "
                f"of {' or '.join(sorted(VALUE_KEYS[side]))}."
            )
        users += user
        values.append(_paired(items[0], numbers[0], number, source) if numbers else items[0])
    return _flatten(users, values, side, source)


class _Paired(list[tuple[Any, Any]]):
    """Items with a number each, where an item may stand twice (a dict would merge them)."""


def _paired(items: Any, numbers: Any, number: int, source: str) -> _Paired:
    if len(items) != len(numbers):
        raise DataError(
            f"Row {number + 1} of {source} has {len(items)} items and {len(numbers)} numbers for "
            f"them; each item needs one."
        )
    return _Paired(zip(items, numbers, strict=True))


# ---------------------------------------------------------------------------------------------
# One value per user → long columns


def _flatten(users: Sequence[Any], values: Sequence[Any], side: Side, source: str) -> Columns:
    """Long columns of one value per user: a list of items, or items with numbers."""
    if len(users) == 0:
        raise DataError(f"{source} is empty: there is nothing to evaluate.")
    items: list[list[Any]] = []
    numbers: list[Iterable[Any]] = []
    weighted = False
    for user, value in zip(users, values, strict=True):
        if isinstance(value, Mapping | _Paired):
            pairs = list(value.items()) if isinstance(value, Mapping) else value
            items.append([item for item, _ in pairs])
            numbers.append([number for _, number in pairs])
            weighted = True
        else:
            items.append(_listed(user, value, side, source))
            # In an ordered list the order is the score; a judgement without a gain is worth 1.
            plain_list = range(0, -len(items[-1]), -1) if side == "rankings" else None
            numbers.append(plain_list or repeat(1.0, len(items[-1])))
    lengths = [len(one) for one in items]
    columns: dict[str, Column] = {
        "user": _repeated(users, lengths),
        "item": list(chain.from_iterable(items)),
    }
    if weighted:
        columns["value"] = list(chain.from_iterable(numbers))
    return Columns(
        list(columns),
        lambda names: {name: columns[name] for name in names},
        source,
        roles={name: name for name in columns},
        empty_users=[user for user, n in zip(users, lengths, strict=True) if n == 0],
    )


def _repeated(users: Sequence[Any], lengths: list[int]) -> Column:
    if isinstance(users, range):
        return pl.Series(np.repeat(np.arange(len(users)), lengths))
    return list(chain.from_iterable(map(repeat, users, lengths)))


def _listed(user: object, value: Any, side: Side, source: str) -> list[Any]:
    if isinstance(value, list | tuple):
        return list(value)
    if isinstance(value, str | bytes):
        raise DataError(
            f"User {short(user)} of {source} has the text {short(value)} where a list of items "
            f"belongs. Write [{short(value)}] for one item"
            f"{f', {short(list(value))} for its letters' if isinstance(value, str) else ''}."
        )
    if isinstance(value, set | frozenset):
        if side == "rankings":
            raise DataError(
                f"User {short(user)} of {source} has a set of items, and a set has no order. Pass a "
                f"list in the order of the ranking, or {{item: score}}."
            )
        return list(value)
    to_list: Callable[[], Any] | None = getattr(value, "tolist", None) or getattr(
        value, "to_list", None
    )
    if to_list is not None and isinstance(listed := to_list(), list):
        return listed
    raise DataError(
        f"User {short(user)} of {source} has {short(value)} ({type(value).__name__}) where a list "
        f"of items or {{item: {'score' if side == 'rankings' else 'gain'}}} belongs."
    )


def _is_scalar(value: object) -> bool:
    return value is None or isinstance(value, str | bytes) or not hasattr(value, "__len__")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.number | np.bool_)
