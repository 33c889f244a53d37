"""Read dictionaries, lists and arrays as columns or as items by user."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, KeysView, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from itertools import chain, repeat
from typing import Any, Literal

import numpy as np
import polars as pl

from rankmeter._reading.columns import (
    LIST_NAMES,
    OF_USERS,
    ROLES,
    SYNONYMS,
    VALUE,
    Column,
    Columns,
    Side,
    holds_lists,
    names_for_role,
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
from rankmeter._reading.search_engines import read_search_engine_data
from rankmeter._reading.table import format_few
from rankmeter._reading.values import (
    are_items_with_numbers,
    is_hit_without_user,
    is_pair,
    read_items_of_users,
    refuse_repeated_users,
)
from rankmeter.errors import ColumnError, DataError
from rankmeter.errors._checks import brief

RECORDS: Sequence[Mapping[Side, str]] = [
    {"rankings": ranked, "truth": judged, "interactions": judged, "users": judged}
    for ranked, judged in (
        ("predict_list", "ground_truth"),
        ("retrieved_context_ids", "reference_context_ids"),  # ragas
        ("retrieved_ids", "expected_ids"),  # LlamaIndex
    )
]
"""The keys of records that hold both sides."""
_RECORD_KEYS = frozenset().union(*(keys.values() for keys in RECORDS))
_LISTS = frozenset[str]().union(*(names["item"] for names in LIST_NAMES.values()))
_OF_LISTS = _LISTS.union(*(of_role for names in LIST_NAMES.values() for of_role in names.values()))


def from_mapping(data: Mapping[Any, Any], side: Side, source: str = "dict") -> Columns:
    """Read user → list, user → {item: number}, or the {item: number} of one user, user 0.

    ``{"user": [...], "item": [...]}`` is read as columns, and a single row or record as a list of
    one.
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
    row = _row_shape(data)
    if row == "item" and not any(map(_is_scalar, data.values())):
        return _from_columns(data, source)
    if row:
        return _READERS[row]([data], side, source)
    if data and all(isinstance(value, int | float | np.number) for value in data.values()):
        return replace(_flatten_lists(range(1), [data], side, source), shape="pairs")
    return _flatten_lists(data.keys(), list(data.values()), side, source)


def from_listing(data: Iterable[Any], side: Side, source: str | None = None) -> Columns:
    """Read lists (user = row number), rows, records, or the items of one user, user 0.

    Items of one user may be pairs of a text and a float: an item and its number.
    """
    source = source or type(data).__name__
    values = list(data)
    if not values:
        raise DataError(f"{source} is empty: there is nothing to evaluate.")
    if side in OF_USERS and (users := _from_user_listing(values, side, source)):
        return users
    if row := _row_shape(values[0]):
        return _READERS[row](list(map(_row_as_mapping, values)), side, source)
    if all(map(_is_scalar, values)):
        items = data if isinstance(data, AbstractSet) else values
        return replace(_flatten_lists(range(1), [items], side, source), shape="flat")
    if is_hit_without_user(values[0], side) or (
        is_pair(values[0]) and are_items_with_numbers(values, has_user=False)
    ):
        read = _flatten_lists(range(1), [values], side, source)
        return replace(read, shape="pairs" if "value" in (read.roles or ()) else "flat")
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
    return replace(_flatten_lists(data.index.tolist(), values, side, "pandas Series"), pandas=data)


def starts_with_record(data: object) -> bool:
    """Whether the data, or the first element of a list, is a record of rankings and truth."""
    if class_test("ragas", "EvaluationDataset")(data):
        return True
    names = set(map(str, getattr(data, "columns", ())))
    if any({keys["rankings"], keys["truth"]} <= names for keys in RECORDS):
        return True
    return _row_shape(data[0] if isinstance(data, list | tuple) and data else data) == "record"


def from_record_columns(read: Columns, side: Side) -> Columns | None:
    """Read the records of a frame with columns for both sides; None for other frames."""
    for keys in RECORDS:
        if read.roles is None and side in keys and {*keys.values()} <= {*read.names}:
            columns = read.fetch([keys[side], *names_for_role("user", read.names)])
            rows = (
                column if isinstance(column, list) else column.to_list()
                for column in columns.values()
            )
            records = [dict(zip(columns, row, strict=True)) for row in zip(*rows, strict=True)]
            result = _from_records(records, side, read.source)
            return replace(result, textual=read.textual, pandas=read.pandas)
    return None


def _is_scalar(value: object) -> bool:
    if isinstance(value, str | bytes):
        return True
    return not (hasattr(value, "__len__") or isinstance(value, Iterator))


def _from_columns(data: Mapping[Any, Any], source: str) -> Columns:
    columns: dict[str, Column] = {str(key): list(value) for key, value in data.items()}
    if len({len(column) for column in columns.values()}) > 1:
        lengths = ", ".join(f"{name}: {len(column)}" for name, column in columns.items())
        raise DataError(f"The columns of {source} have different lengths ({lengths}).")
    return Columns.of(columns, source)


# ---------------------------------------------------------------------------------------------
# Rows that name their fields


def _row_shape(value: object) -> Literal["record", "item", ""]:
    """Kind of a row, by the keys or, for a named tuple, by the fields.

    A record has the prediction, the truth or both of one user, and a row of an item, as in
    ``{"user": 1, "item": 7}``, one of each, or one user with a list of items. Single values under
    the name of a user, but no item, are refused: they are no {item: number}.
    """
    value = _row_as_mapping(value)
    if not isinstance(value, Mapping):
        return ""
    if any(key in value for key in _RECORD_KEYS):
        return "record"
    texts = {*map(type, value)} == {str}  # the keys may be the ids of many users
    keys = [*value] if texts else [key for key in value if isinstance(key, str)]
    if not names_for_role("user", keys):
        return ""
    if names_for_role("item", keys) or _names_of_list_fields({key: value[key] for key in keys}):
        return "item"
    if all(map(_is_scalar, value.values())):
        raise ColumnError(
            f"{brief(value)} names a user but no item. Name the item as one of "
            f"{format_few(sorted(SYNONYMS['item']), 4)}; if these are items with their numbers, "
            f"name their user: {{user: {{item: number}}}}."
        )
    return ""


def _row_as_mapping(row: object) -> object:
    """Convert a named tuple or an object with record fields to a mapping; else return the row."""
    if isinstance(row, tuple):
        return row._asdict() if hasattr(row, "_asdict") else row
    if isinstance(row, Mapping | str):
        return row
    for keys in RECORDS:
        if all(hasattr(row, key) for key in keys.values()):
            return {key: getattr(row, key) for key in keys.values()}
    return row


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
    """Names of the fields that are named like a list of items and hold no number."""
    numbers = int | float
    return frozenset(
        str(key)
        for key in row
        if normalize_name(key) in _LISTS and not isinstance(row[key], numbers)
    )


def _field_value(name: str, row: Mapping[Any, Any]) -> Any:
    """Value of a field; a tuple becomes a list if the field holds lists, else stays an id."""
    value = row.get(name)
    return list(value) if isinstance(value, tuple) and normalize_name(name) in _OF_LISTS else value


def _from_records(records: Sequence[Any], side: Side, source: str) -> Columns:
    """Read each record's data of the side; users without names are numbered."""
    first = _row_as_mapping(records[0])
    keys_of = next(keys for keys in RECORDS if any(key in first for key in keys.values()))  # type: ignore[operator]
    key = keys_of[side]
    for number, record in enumerate(records, start=1):
        if not isinstance(record, Mapping) or key not in record:
            raise DataError(
                f"Record {number} of {source} has no {key!r}: {brief(record)}. Expected "
                f"{{{keys_of['rankings']!r}: [...], {keys_of['truth']!r}: {{...}}}}."
            )
    values = [record[key] for record in records]
    keys = [names_for_role("user", list(record)) for record in records]
    if not any(keys):
        return _flatten_lists(range(len(records)), values, side, source)
    for number, (record, names) in enumerate(zip(records, keys, strict=True), start=1):
        if len(names) != 1:
            problem = f"has {len(names)} users, {format_few(names)}" if names else "has no user"
            raise DataError(
                f"Record {number} of {source} {problem}: {brief(record)}, while other records name "
                f"theirs. Name one user in each record, or in none."
            )
    users = [record[name] for record, (name,) in zip(records, keys, strict=True)]
    return _flatten_lists(users, values, side, source)


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


_READERS = {"record": _from_records, "item": from_item_rows}


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
    return _columns_with_numbered_users(
        source, np.diff(rows.indptr), columns, Counter(), ndim=data.ndim
    )


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
