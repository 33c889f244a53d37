"""Objects with named fields: rows or columns, and not items with numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from math import isnan
from typing import Any

import numpy as np

from rankmeter._reading.columns import (
    LISTS,
    NUMBER_LISTS,
    Column,
    Columns,
    Side,
    holds_lists,
    names_for_role,
    names_list,
    normalize_name,
)
from rankmeter._reading.frames import class_test
from rankmeter._reading.numbers import BINARY
from rankmeter._reading.table import format_few
from rankmeter.errors import DataError
from rankmeter.errors._checks import brief

_FEW_FIELDS = 64
"""Objects with more keys hold items."""
_MOST_FIELDS = 1000
"""Objects with more keys hold items, even if one is called like a field."""


_SIDES: tuple[Side, Side] = ("rankings", "truth")


_ATTRIBUTES = (
    ("retrieved_context_ids", "reference_context_ids"),  # ragas
    ("retrieved_ids", "expected_ids"),  # LlamaIndex
)
"""The attributes of objects that hold both sides."""


def is_scalar(value: object) -> bool:
    if isinstance(value, str | bytes):
        return True
    return not (hasattr(value, "__len__") or isinstance(value, Iterator))


def as_object(value: object) -> object:
    """Convert named tuples, data classes and objects of both sides to mappings; return others."""
    if isinstance(value, tuple):
        return value._asdict() if hasattr(value, "_asdict") else value
    if isinstance(value, Mapping | str | list):
        return value
    names = [*getattr(value, "__dataclass_fields__", ())]
    for both in () if names else _ATTRIBUTES:
        names = names or [name for name in both if all(hasattr(value, other) for other in both)]
    return {name: getattr(value, name) for name in names} if names else value


def first_object(data: object) -> Columns | None:
    """Fields of an object, or of the first one of a list; None for other data."""
    if class_test("ragas", "EvaluationDataset")(data):
        data = data.samples  # type: ignore[attr-defined]
    first = as_object(data[0] if isinstance(data, list | tuple) and data else data)
    if not isinstance(first, Mapping) or (first is data and not is_record(first)):
        return None
    return from_item_rows([first], "truth", "") if len(first) <= _FEW_FIELDS else None


def from_item_rows(rows: Sequence[Any], side: Side, source: str) -> Columns:
    """Read mappings as rows: keys are columns, and an absent key is a missing value.

    A row is one item, or one user with a list of items and perhaps one of their numbers.
    """
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, Mapping):
            raise DataError(
                f"Row {number} of {source} is {brief(row)}, where the rows before it name their "
                f"columns: {brief(rows[0])}. Give all rows the same form."
            )
    names = list(dict.fromkeys(str(key) for row in rows for key in row))

    def fetch(requested: Sequence[str]) -> Mapping[str, Column]:
        return {name: [_field_value(name, row) for row in rows] for name in requested}

    first = {name: _field_value(name, rows[0]) for name in names}
    lists = fetch([name for name in names if first[name] is None or holds_lists([first[name]])])
    nested = frozenset(name for name, column in lists.items() if holds_lists(column))
    return Columns(names, fetch, source, nested=nested | _names_of_list_fields(rows[0]))


def from_columns(data: Mapping[Any, Any], source: str) -> Columns:
    """Read a mapping of columns; those of ``to_dict()`` of pandas are mappings of rows."""
    by_row = [column for column in data.values() if isinstance(column, Mapping)]
    if by_row and (len(by_row) < len(data) or any(by_row[0].keys() != c.keys() for c in by_row)):
        raise DataError(
            f"The columns of {source} are mappings from row to value, and their rows are not the "
            f"same: {brief(data)}. Give all columns the same rows."
        )
    columns: dict[str, Column] = {
        str(key): [column[row] for row in by_row[0]] if by_row else list(column)
        for key, column in data.items()
    }
    if len({len(column) for column in columns.values()}) > 1:
        lengths = ", ".join(f"{name}: {len(column)}" for name, column in columns.items())
        raise DataError(f"The columns of {source} have different lengths ({lengths}).")
    return Columns.of(columns, source)


def _names_of_list_fields(row: Mapping[Any, Any]) -> frozenset[str]:
    """Names of the fields that are named like a list of items and hold one, or a text instead."""
    return frozenset(
        str(key)
        for key, value in row.items()
        if (isinstance(value, str) and normalize_name(key) in LISTS)
        or (not is_scalar(value) and any(names_list(key, side) for side in _SIDES))
    )


def _field_value(name: str, row: Mapping[Any, Any]) -> Any:
    """Value of a field; a tuple becomes a list if the field holds lists, else stays an id."""
    value = row.get(name)
    if not isinstance(value, tuple):
        return value
    is_list = any(names_list(name, side) for side in _SIDES)
    return list(value) if is_list or normalize_name(name) in NUMBER_LISTS else value


def names_row(value: Mapping[Any, Any], *, whole: bool = False) -> bool:
    """Whether keys name a user and an item, or, unless a `whole` row is meant, a user alone."""
    if len(value) > _MOST_FIELDS:
        return False
    keys = [key for key in value if isinstance(key, str)]  # others are ids
    if not (users := keys and names_for_role("user", keys)):
        return False
    if names_for_role("item", keys) or _names_of_list_fields({key: value[key] for key in keys}):
        return True
    single = [key for key in value if is_scalar(value[key])]
    is_row = users[0] in single and len(value) <= _FEW_FIELDS
    return not whole and (len(single) == len(value) or is_row)


def is_record(value: Mapping[Any, Any]) -> bool:
    """Whether lists of a mapping are named like rankings and like ground truth."""
    if len(value) > _FEW_FIELDS:
        return False
    lists = [key for key in value if isinstance(key, str) and not is_scalar(value[key])]
    return all(any(names_list(key, side) for key in lists) for side in _SIDES)


def are_plurals(data: Mapping[Any, Any]) -> bool:
    """Whether few keys are plurals or initials of names for a user and an item."""
    names = [key.lower() for key in islice(data, _FEW_FIELDS + 1) if isinstance(key, str)]
    if not 2 <= len(names) <= _FEW_FIELDS:
        return False
    singular = [f"{name[:-3]}y" if name.endswith("ies") else name.rstrip("s") for name in names]
    return all(
        bool(names_for_role(role, singular)) or initials in names
        for role, initials in (("user", "u"), ("item", "i"))
    ) or {"q", "d"} <= {*names}


def have_common_fields(values: Sequence[Any]) -> bool:
    """Whether all values are mappings with the same text keys."""
    first = values[0] if values else None
    if not isinstance(first, Mapping) or not first or {*map(type, first)} != {str}:
        return False
    keys = first.keys()
    return all(isinstance(value, Mapping) and value.keys() == keys for value in values)


def has_numbers(value: object) -> bool:
    """Whether a value is a list, or a mapping to numbers and words of gains."""
    if not isinstance(value, Mapping) or not {str} & {*map(type, value)}:
        return True  # then they are ids
    return all(
        normalize_name(number) in BINARY if isinstance(number, str) else is_scalar(number)
        for number in value.values()
    )


def may_be_table(data: Mapping[Any, Any]) -> frozenset[str]:
    """The columns, if `{user: {item: number}}` looks like a table whose keys number the rows."""
    values = [*data.values()]
    if have_common_fields(values) and _are_row_numbers(data):
        return frozenset(values[0])
    return frozenset(data) if _are_columns_by_row(data) else frozenset()


def _are_columns_by_row(data: Mapping[Any, Any]) -> bool:
    """Whether few text keys have mappings whose keys are the same row numbers, in order."""
    if not 2 <= len(data) <= _FEW_FIELDS or {*map(type, data)} != {str}:
        return False
    first, *others = data.values()
    if not isinstance(first, Mapping) or len(first) < 2 or not _are_row_numbers(first):
        return False
    return all(isinstance(other, Mapping) and [*other] == [*first] for other in others)


def _are_row_numbers(keys: Iterable[Any]) -> bool:
    """Whether keys are 0, 1, 2 …, as integers or as the text that JSON makes of them."""
    return all(
        type(key) in (int, str, np.int64) and str(key) == str(row) for row, key in enumerate(keys)
    )


def _are_fractions(values: list[Any]) -> bool:
    """Whether all values are floats, with fractions among them."""
    return all(type(x) is float and not isnan(x) for x in values) and any(x % 1 for x in values)


def refuse_objects(data: Mapping[Any, Any], source: str) -> None:
    """Refuse an object of another program, whose keys would be users and whose fields items."""
    for key, value in data.items():
        fields = value if isinstance(value, Mapping) else {}
        if len(data) > _FEW_FIELDS or not isinstance(key, str):
            return
        scores = isinstance(value, list) and _are_fractions(value)
        if scores or any(isinstance(field, list | tuple | Mapping) for field in fields.values()):
            hint = " For scores of true and false items: rm.Sampled(true, false)." if scores else ""
            raise DataError(
                f"{source} is an object with the keys {format_few(data, 6)}, and which of them are "
                f"users and items is not known: {brief(key)} has {brief(value)}. Pass the part "
                f"with the results, as {{user: [items]}}, {{user: {{item: score}}}}, or rows with "
                f"the columns user, item and score.{hint}"
            )
