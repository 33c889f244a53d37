"""Read dictionaries, lists and arrays as columns or as items by user."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, KeysView, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import partial
from itertools import chain, repeat
from typing import Any

import numpy as np
import polars as pl

from rankmeter._reading.columns import (
    LISTS,
    NUMBER_LISTS,
    OF_USERS,
    ROLES,
    VALUE,
    Column,
    Columns,
    Side,
    holds_lists,
    names_for_role,
    names_list,
    normalize_name,
)
from rankmeter._reading.frames import (
    class_test,
    column_from_numpy,
    describe_type,
    is_mteb_predictions,
    pick_mteb_predictions,
)
from rankmeter._reading.ids import refuse_rounded_ids
from rankmeter._reading.lists import Lists
from rankmeter._reading.numbers import BINARY
from rankmeter._reading.search_engines import read_search_engine_data
from rankmeter._reading.table import Shape, format_few
from rankmeter._reading.values import (
    are_items_with_numbers,
    is_hit_without_user,
    is_pair,
    read_items_of_users,
    refuse_repeated_users,
)
from rankmeter.errors import DataError
from rankmeter.errors._checks import brief

_ATTRIBUTES = (
    ("retrieved_context_ids", "reference_context_ids"),  # ragas
    ("retrieved_ids", "expected_ids"),  # LlamaIndex
)
"""The attributes of objects that hold both sides."""


def from_mapping(data: Mapping[Any, Any], side: Side, source: str = "dict") -> Columns:
    """Read user → list, user → {item: number}, or the {item: number} of one user, user 0.

    ``{"user": [...], "item": [...]}`` is read as columns, and a single row as a list of one.
    """
    if type(data) is dict:
        data = data.copy()  # at once, whatever another thread does meanwhile
    if side in OF_USERS:
        if not data:
            raise DataError(f"{source} is empty: there is nothing to evaluate.")
        if not _names_all_roles(data, side):  # then users are the keys
            return _user_columns((data.keys(), data.values()), side, source)
        is_row = any(map(_is_scalar, data.values()))
        return from_item_rows([data], side, source) if is_row else _from_columns(data, source)
    if is_mteb_predictions(data):
        data = pick_mteb_predictions(data, "", source)
    data = read_search_engine_data(data, side, source)
    if table := _table_of_mapping(data, side, source):
        return table
    as_table = partial(_table_with_names, data, source)
    if data and all(isinstance(value, int | float | np.number) for value in data.values()):
        flat = _flatten_lists(range(1), [data], side, source)
        return replace(flat, shape="pairs", as_table=as_table)
    read = _flatten_lists(data.keys(), list(data.values()), side, source)
    return replace(read, as_table=as_table, may_be_table=_may_be_table(data))


def from_listing(data: Iterable[Any], side: Side, source: str | None = None) -> Columns:
    """Read lists (user = row number), rows, or the items of one user, user 0.

    Items of one user may be pairs of a text and a float: an item and its number.
    """
    source = source or type(data).__name__
    values = list(data)
    if not values:
        raise DataError(f"{source} is empty: there is nothing to evaluate.")
    if side in OF_USERS and (users := _from_user_listing(values, side, source)):
        return users
    if isinstance(as_object(values[0]), Mapping):
        return _from_objects([*map(as_object, values)], side, source)
    if all(map(_is_scalar, values)):
        items = data if isinstance(data, AbstractSet) else values
        return replace(_flatten_lists(range(1), [items], side, source), shape="flat")
    if is_pair(values[0]) and are_items_with_numbers(values, has_user=False):
        return _items_of_one_user(values, side, source)
    _refuse_ambiguous_tuples(values, side, source)
    read = _flatten_lists(range(len(values)), values, side, source)
    return replace(read, shape="rows" if len(values) > 1 else "")


def from_pandas_series(data: Any, side: Side) -> Columns:
    """Read lists by user from a Series, such as ``groupby("user")["item"].agg(list)``."""
    values = data.tolist()
    if side in OF_USERS:
        pairs = list(zip(data.index.tolist(), values, strict=True))
        return from_listing(values if side == "users" else pairs, side, "pandas Series")
    if any(map(_is_scalar, values)):
        raise DataError(
            "The pandas Series holds single values; expected one list of items per user, with the "
            "users in the index. Pass .tolist() if these are the items of one user, or "
            ".reset_index() if the index holds more."
        )
    read = _flatten_lists(data.index.tolist(), values, side, "pandas Series")
    return replace(read, shape="index", pandas=data)


def _items_of_one_user(values: list[Any], side: Side, source: str) -> Columns:
    read = _flatten_lists(range(1), [values], side, source)
    return replace(read, shape="pairs" if "value" in (read.roles or ()) else "flat")


def _is_scalar(value: object) -> bool:
    if isinstance(value, str | bytes):
        return True
    return not (hasattr(value, "__len__") or isinstance(value, Iterator))


# ---------------------------------------------------------------------------------------------
# Objects with named fields: rows or columns, unless the names are items with their numbers


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
    if not isinstance(first, Mapping) or (first is data and not _is_record(first)):
        return None
    return from_item_rows([first], "truth", "") if len(first) <= _FEW_FIELDS else None


_FEW_FIELDS = 64
"""Objects with more keys hold items."""


def _table_of_mapping(data: Mapping[Any, Any], side: Side, source: str) -> Columns | None:
    """Read a mapping whose keys name fields, or whose values are rows; None for any other.

    Objects with the same keys are rows if these name a user and an item, or if a value is no
    number.
    """
    if {"columns", "data"} <= data.keys() <= _SPLIT and not isinstance(data["data"], Mapping):
        rows = [dict(zip(data["columns"], row, strict=True)) for row in data["data"]]
        return from_item_rows(rows, side, source)  # to_dict("split") and ("tight") of pandas
    if _names_row(data) or _is_record(data):
        is_row = any(map(_is_scalar, data.values())) or not names_for_role("user", [*data])
        return from_item_rows([data], side, source) if is_row else _from_columns(data, source)
    values = [*data.values()]
    if _are_plurals(data) and not any(map(_is_scalar, values)):
        hint = f" If {format_few(data)} are users, pass {{user: [*items]}} with other names."
        return replace(_from_columns(data, source), hint=hint)
    if not _have_common_fields(values):
        return None
    if _names_row(values[0], whole=True) or (
        len(values) > 1 and not all(map(_has_numbers, values))
    ):
        return from_item_rows(values, side, source)
    return None


_SPLIT = frozenset({"index", "columns", "data", "index_names", "column_names"})


def _table_with_names(data: Any, source: str, names: AbstractSet[str]) -> Columns | None:
    """Read a mapping or a list of objects as a table if some of the `names` are its fields."""
    objects = [*data.values()] if isinstance(data, Mapping) else data
    if isinstance(data, Mapping) and not names.isdisjoint(map(str, data)):
        is_row = any(map(_is_scalar, objects))
        return from_item_rows([data], "truth", source) if is_row else _from_columns(data, source)
    first = objects[0] if objects else None
    if not isinstance(first, Mapping) or names.isdisjoint(map(str, first)):
        return None
    return from_item_rows(objects, "truth", source)


def _from_objects(objects: list[Any], side: Side, source: str) -> Columns:
    """Read the hits of one user, rows, or {item: number} of users without names."""
    first = objects[0]
    if is_hit_without_user(first, side):
        return _items_of_one_user(objects, side, source)
    common = len(objects) > 1 and _have_common_fields(objects)
    if common or _names_row(first) or _is_record(first) or not all(map(_has_numbers, objects)):
        hint = (
            f" If these are items with their numbers, name the user of each: {{user: {{item: "
            f"{VALUE.get(side, 'number')}}}}}."
        )
        return replace(from_item_rows(objects, side, source), hint=hint if common else "")
    read = _flatten_lists(range(len(objects)), objects, side, source)
    shape: Shape = "rows" if len(objects) > 1 else ""
    return replace(read, shape=shape, as_table=partial(_table_with_names, objects, source))


def _names_row(value: Mapping[Any, Any], *, whole: bool = False) -> bool:
    """Whether keys name a user and an item, or, unless a `whole` row is meant, a user alone."""
    keys = [key for key in value if isinstance(key, str)]  # others are ids, perhaps of many users
    users = names_for_role("user", keys)
    if not users:
        return False
    if names_for_role("item", keys) or _names_of_list_fields({key: value[key] for key in keys}):
        return True
    single = [key for key in value if _is_scalar(value[key])]
    is_row = users[0] in single and len(value) <= _FEW_FIELDS
    return not whole and (len(single) == len(value) or is_row)


def _is_record(value: Mapping[Any, Any]) -> bool:
    """Whether lists of a mapping are named like rankings and like ground truth."""
    if len(value) > _FEW_FIELDS:
        return False
    lists = [key for key in value if isinstance(key, str) and not _is_scalar(value[key])]
    return all(any(names_list(key, side) for key in lists) for side in _SIDES)


def _are_plurals(data: Mapping[Any, Any]) -> bool:
    """Whether few keys are plurals or initials of names for a user and an item."""
    names = [str(key).lower() for key in data]
    if not 2 <= len(names) <= _FEW_FIELDS:
        return False
    singular = [f"{name[:-3]}y" if name.endswith("ies") else name.rstrip("s") for name in names]
    return all(
        bool(names_for_role(role, singular)) or initials in names
        for role, initials in (("user", "u"), ("item", "i"))
    ) or {"q", "d"} <= {*names}


def _have_common_fields(values: Sequence[Any]) -> bool:
    """Whether all values are mappings with the same text keys."""
    first = values[0] if values else None
    if not isinstance(first, Mapping) or not first or {*map(type, first)} != {str}:
        return False
    keys = first.keys()
    return all(isinstance(value, Mapping) and value.keys() == keys for value in values)


def _may_be_table(data: Mapping[Any, Any]) -> bool:
    """Whether `{user: {item: number}}` looks like rows, or columns, whose keys number the rows."""
    by_row = len(data) > 1 and _are_row_numbers(data) and _have_common_fields([*data.values()])
    return by_row or _are_columns_by_row(data)


def _are_columns_by_row(data: Mapping[Any, Any]) -> bool:
    """Whether few text keys have mappings whose keys are the same row numbers, in order."""
    if not 2 <= len(data) <= _FEW_FIELDS or {*map(type, data)} != {str}:
        return False
    first, *others = data.values()
    if not isinstance(first, Mapping) or len(first) < 2 or not _are_row_numbers(first):
        return False
    return all(isinstance(other, Mapping) and [*other] == [*first] for other in others)


def _has_numbers(value: object) -> bool:
    """Whether a value is a list, or a mapping to numbers and words of gains."""
    if not isinstance(value, Mapping) or not {str} & {*map(type, value)}:
        return True  # then they are ids
    return all(
        normalize_name(number) in BINARY if isinstance(number, str) else _is_scalar(number)
        for number in value.values()
    )


def _are_row_numbers(keys: Iterable[Any]) -> bool:
    """Whether keys are 0, 1, 2 …, as integers or as the text that JSON makes of them."""
    return all(
        type(key) in (int, str, np.int64) and str(key) == str(row) for row, key in enumerate(keys)
    )


def _from_columns(data: Mapping[Any, Any], source: str) -> Columns:
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


def _names_of_list_fields(row: Mapping[Any, Any]) -> frozenset[str]:
    """Names of the fields that are named like a list of items and hold one, or a text instead."""
    return frozenset(
        str(key)
        for key, value in row.items()
        if (isinstance(value, str) and normalize_name(key) in LISTS)
        or (not _is_scalar(value) and any(names_list(key, side) for side in _SIDES))
    )


_SIDES: tuple[Side, Side] = ("rankings", "truth")


def _field_value(name: str, row: Mapping[Any, Any]) -> Any:
    """Value of a field; a tuple becomes a list if the field holds lists, else stays an id."""
    value = row.get(name)
    if not isinstance(value, tuple):
        return value
    is_list = any(names_list(name, side) for side in _SIDES)
    return list(value) if is_list or normalize_name(name) in NUMBER_LISTS else value


def _refuse_ambiguous_tuples(rows: Sequence[Any], side: Side, source: str) -> None:
    """Refuse tuples of two to four fields each, which may be table rows or lists of items."""
    first = rows[0]
    if not isinstance(first, tuple) or len(first) not in (2, 3, 4):
        return
    if any(not isinstance(row, tuple) or len(row) != len(first) for row in rows):
        return
    names = ["user", "item", VALUE.get(side, "value"), "time"][: len(first)]
    raise DataError(
        f"Row 1 of {source} is the tuple {brief(first)}, and whether its fields are "
        f"{', '.join(names)} or all of them items is not certain. For rows, pass "
        f"pl.DataFrame(rows, schema={names}, orient='row'); for items of users, {{user: [items]}} "
        f"or a list of lists; for items of one user, {{item: {VALUE.get(side, 'value')}}}."
    )


# ---------------------------------------------------------------------------------------------
# Users, or users with a label each


def _from_user_listing(values: list[Any], side: Side, source: str) -> Columns | None:
    """Read rows, pairs, or users alone; None if the users are the row numbers."""
    if _names_all_roles(values[0], side):
        return from_item_rows(values, side, source)
    if side == "users":
        return _user_columns([values], side, source) if all(map(_is_scalar, values)) else None
    for number, value in enumerate(values, start=1):
        if not isinstance(value, Sequence) or isinstance(value, str | bytes) or len(value) != 2:
            raise DataError(
                f"Row {number} of {source} is {brief(value)} where a user and a {ROLES[side][1]} "
                f"belong. Pass pairs, or {{user: {ROLES[side][1]}}}."
            )
    return _user_columns(zip(*values, strict=True), side, source)


def _names_all_roles(row: object, side: Side) -> bool:
    return isinstance(row, Mapping) and all(names_for_role(role, list(row)) for role in ROLES[side])


def _user_columns(values: Iterable[Iterable[Any]], side: Side, source: str) -> Columns:
    """Columns of users and, for a side with labels, the labels."""
    return Columns.from_role_columns(
        dict(zip(ROLES[side], map(list, values), strict=False)), source
    )


# ---------------------------------------------------------------------------------------------
# One value per user


def _flatten_lists(
    keys: Collection[Any], values: Sequence[Any], side: Side, source: str
) -> Columns:
    """Flatten to long columns ``user``, ``item`` and, if any value has numbers, ``value``.

    Users that are a range are numbers of rows, and those that are keys differ. Values are lists of
    items, or mappings item → number. A user must not occur twice, except in interactions. Rankings
    and truth whose values need no closer look stay where they are.
    """
    users = keys if isinstance(keys, range) else [*keys]
    if not users:
        raise DataError(f"{source} is empty: there is nothing to evaluate.")
    if side != "interactions" and not isinstance(keys, range | KeysView):
        refuse_repeated_users(users, source)
    unordered = side == "rankings" and {set, frozenset} & set(map(type, values))
    if side in ("rankings", "truth") and not unordered:
        lists = Lists.of(users, values)  # which become columns only if these are fetched
        if lists is not None:
            return Columns.from_lists(lists, source)
    lengths, items, numbers = read_items_of_users(users, values, side, source)
    columns: dict[str, Column] = {
        "user": pl.Series(np.repeat(np.arange(len(users)), lengths))
        if isinstance(users, range)
        else list(chain.from_iterable(map(repeat, users, lengths.tolist()))),
        "item": items,
    }
    if numbers is not None:
        columns["value"] = numbers
    empty = [user for user, n in zip(users, lengths, strict=True) if n == 0]
    return Columns.from_role_columns(columns, source, empty_users=empty)


def from_array(data: Any, side: Side) -> Columns:
    """Read item ids of shape (users, k), or (k,) for one user; an object array as a list of lists.

    A structured array has columns. Masked cells are padding: they hold no item and are counted.
    """
    source = describe_type(data)
    array = data if isinstance(data, np.ma.MaskedArray) else _to_numpy(data, source)
    if array.dtype == object and array.ndim == 1:
        return from_listing(array.tolist(), side, source)
    if array.dtype.names and array.ndim == 1:
        columns = {name: column_from_numpy(array[name]) for name in array.dtype.names}
        return Columns.of(columns, source)
    if array.dtype.kind == "V" or array.ndim not in (1, 2) or array.shape[0] == 0:
        raise DataError(
            f"The {source} has shape {array.shape} and type {array.dtype}; expected item ids of "
            f"shape (users, k), or (k,) for one user."
        )
    if side in OF_USERS:
        return from_listing(array.tolist(), side, source)
    table = array.reshape(1, -1) if array.ndim == 1 else array
    keep = ~np.ma.getmaskarray(table)
    counts = Counter({"masked_cells": int(keep.size - keep.sum())})
    values = np.ma.getdata(table)[keep]
    if array.dtype == np.float16:  # a column of them may be wider
        refuse_rounded_ids(values.tolist(), array.dtype, source)
    items = column_from_numpy(values)
    return _columns_with_numbered_users(
        source, keep.sum(axis=1), {"item": items}, counts, ndim=array.ndim
    )


def is_ids_and_scores(data: object) -> bool:
    """Whether data are a pair of 2-D arrays of one shape, ids and floats, as from implicit."""
    if not (isinstance(data, tuple) and len(data) == 2):
        return False
    if {getattr(table, "ndim", 0) for table in data} != {2} or data[0].shape != data[1].shape:
        return False
    return ["float" in str(table.dtype) for table in data] == [False, True]


def from_ids_and_scores(data: Any, side: Side) -> Columns:
    """Read item ids and scores, both of shape (users, k), as returned by implicit.

    implicit fills a list that has no more items with the lowest number of the type of the scores;
    such cells are padding, like masked ones.
    """
    source = "pair of ids and scores"
    if side != "rankings":
        raise DataError(f"A {source} holds rankings, so it has no {side}.")
    ids, scores = (_to_numpy(array, source) for array in data)
    padding = np.ma.getmaskarray(data[0]) | (scores == np.finfo(scores.dtype).min)
    columns = {
        "item": column_from_numpy(ids[~padding]),
        "value": column_from_numpy(scores[~padding]),
    }
    counts = Counter({"masked_cells": int(padding.sum())})
    return _columns_with_numbered_users(source, (~padding).sum(axis=1), columns, counts, ndim=2)


def _to_numpy(data: Any, source: str) -> Any:
    """Convert data to a NumPy array; detach tensors and copy them to the CPU first."""
    if hasattr(data, "detach") and hasattr(data, "cpu"):
        data = data.detach().cpu()
    try:
        return np.asarray(data)
    except (TypeError, ValueError, RuntimeError) as error:
        raise DataError(
            f"The {source} cannot be read as an array: {str(error).splitlines()[0]}. Pass ids as "
            f"integers, in memory of the CPU."
        ) from error


def from_sparse(data: Any, side: Side) -> Columns:
    """Read a SciPy matrix of shape (users, items), whose stored entries are scores or gains.

    Stored zeros are entries. Entries stored twice are added up, as SciPy itself defines them.
    """
    source = describe_type(data)
    rows = (data.reshape(1, -1) if data.ndim == 1 else data).tocsr()
    if not rows.has_canonical_format:
        rows = rows.copy()  # the input is never changed
        rows.sum_duplicates()
    if rows.shape[0] == 0:
        raise DataError(f"The {source} has no rows: there is nothing to evaluate.")
    columns = {"item": column_from_numpy(rows.indices), "value": column_from_numpy(rows.data)}
    n_items = np.diff(rows.indptr)
    read = _columns_with_numbered_users(source, n_items, columns, Counter(), ndim=data.ndim)
    return replace(read, is_ordered=False)


def _columns_with_numbered_users(
    source: str, lengths: Any, columns: dict[str, Column], counts: Counter[str], *, ndim: int
) -> Columns:
    users = np.arange(len(lengths))
    all_columns: dict[str, Column] = {"user": pl.Series(np.repeat(users, lengths)), **columns}
    return Columns.from_role_columns(
        all_columns,
        source,
        empty_users=pl.Series(users[lengths == 0]),
        counts=counts,
        shape="flat" if ndim == 1 else "rows" if len(lengths) > 1 else "",
    )
