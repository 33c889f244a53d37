"""Python's own containers: what a dictionary or a list is meant to be."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any

import numpy as np

from rankmeter._ingest._columns import Columns, Side
from rankmeter._ingest._lists import flatten
from rankmeter._ingest._rows import (
    from_list_rows,
    from_records,
    from_rows,
    is_list_row,
    is_record,
    is_row,
    starts_with_record,
)
from rankmeter.errors import DataError

__all__ = ["from_listing", "from_mapping", "from_pandas_series"]


def from_mapping(data: Mapping[Any, Any], side: Side, source: str = "dict") -> Columns:
    """User → list, user → {item: number}, or the {item: number} of one user.

    Notes
    -----
    1. A dictionary whose values are all numbers belongs to one user, user 0.
    2. ``{"user": [...], "item": [...]}`` is read as columns, and a single row or record as a
       list of one.
    """
    if starts_with_record(data):
        return from_records([data], side, source)
    if is_list_row(data):
        return from_list_rows([data], side, source)
    if is_row(data):
        return _columns(data, source) or from_rows([data], side, source)
    if data and all(isinstance(value, int | float | np.number) for value in data.values()):
        return replace(flatten(range(1), [data], side, source), shape="flat")
    return flatten(list(data.keys()), list(data.values()), side, source)


def from_listing(data: Iterable[Any], side: Side, source: str | None = None) -> Columns:
    """Lists (the user is the row's number), rows, records, or the items of one user, user 0."""
    source = source or type(data).__name__
    values = list(data)
    if not values:
        raise DataError(f"{source} is empty: there is nothing to evaluate.")
    if all(_is_scalar(value) for value in values):
        items = data if isinstance(data, AbstractSet) else values
        return replace(flatten(range(1), [items], side, source), shape="flat")
    if is_record(values[0]):
        return from_records(values, side, source)
    if isinstance(values[0], Mapping) and is_list_row(values[0]):
        return from_list_rows(values, side, source)
    if isinstance(values[0], Mapping) and is_row(values[0]):
        return from_rows(values, side, source)
    found = flatten(range(len(values)), values, side, source)
    return replace(found, shape="rows" if len(values) > 1 else "")


def from_pandas_series(data: Any, side: Side) -> Columns:
    """Lists by user, as ``groupby("user")["item"].agg(list)`` makes them."""
    values = data.tolist()
    if any(_is_scalar(value) for value in values):
        raise DataError(
            "The pandas Series holds single values; expected one list of items per user, with the "
            "users in the index. Pass .tolist() if these are the items of one user, or "
            ".reset_index() if the index holds more."
        )
    return flatten(data.index.tolist(), values, side, "pandas Series")


def _columns(data: Mapping[Any, Any], source: str) -> Columns | None:
    """The columns of a dictionary of lists, or None if it is a row."""
    if any(_is_scalar(value) for value in data.values()):
        return None
    columns = {str(key): list(value) for key, value in data.items()}
    if len({len(column) for column in columns.values()}) > 1:
        lengths = ", ".join(f"{name}: {len(column)}" for name, column in columns.items())
        raise DataError(f"The columns of {source} have different lengths ({lengths}).")
    return Columns(list(columns), lambda names: {name: columns[name] for name in names}, source)


def _is_scalar(value: object) -> bool:
    if isinstance(value, str | bytes):
        return True
    return not (hasattr(value, "__len__") or isinstance(value, Iterator))
