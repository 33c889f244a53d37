"""The shapes of dictionaries and lists: what each looks like, and what it means."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, KeysView, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import partial
from itertools import chain, repeat
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from rankmeter._reading.columns import (
    OF_USERS,
    ROLES,
    VALUE,
    Column,
    Columns,
    MaybeTableError,
    Side,
    names_for_role,
)
from rankmeter._reading.lists import PythonLists
from rankmeter._reading.named_parts import is_mteb_predictions, pick_mteb_predictions
from rankmeter._reading.objects import (
    are_plurals,
    as_object,
    from_columns,
    from_item_rows,
    has_numbers,
    have_common_fields,
    is_record,
    is_scalar,
    may_be_table,
    names_row,
    refuse_objects,
)
from rankmeter._reading.search_engines import index_of_documents, read_search_engine_data
from rankmeter._reading.table import format_few
from rankmeter._reading.values import (
    are_items_with_numbers,
    is_hit_without_user,
    is_pair,
    read_items_of_users,
    refuse_repeated_users,
)
from rankmeter.errors import DataError
from rankmeter.errors._checks import brief, no_rows_error


class Shape(NamedTuple):
    """What data look like, how they are read, and two users with the lists a b and a b."""

    name: str
    looks: Callable[[Any, Side], bool]
    read: Callable[[Any, Side, str], Columns]
    example: str


def from_mapping(data: Mapping[Any, Any], side: Side, source: str = "dict") -> Columns:
    """Read a mapping by the first of the `MAPPINGS` that it looks like."""
    if type(data) is dict:
        data = data.copy()  # at once, whatever another thread does meanwhile
    if side in OF_USERS:
        if not data:
            raise no_rows_error(source, "is empty")
        if not _names_all_roles(data, side):  # then users are the keys
            return _user_columns((data.keys(), data.values()), side, source)
        is_row = any(map(is_scalar, data.values()))
        return from_item_rows([data], side, source) if is_row else from_columns(data, source)
    if is_mteb_predictions(data):
        data = pick_mteb_predictions(data, "", source)
    index = index_of_documents(data)
    read = _read_shape(MAPPINGS, read_search_engine_data(data, side, source), side, source)
    return replace(read, index=index) if index else read


def from_listing(data: Iterable[Any], side: Side, source: str | None = None) -> Columns:
    """Read a list, a set or an iterator by the first of the `LISTINGS` that it looks like."""
    source = source or type(data).__name__
    values = list(data)
    if not values:
        raise no_rows_error(source, "is empty")
    if side in OF_USERS and (users := _from_user_listing(values, side, source)):
        return users
    if isinstance(data, AbstractSet):
        return flatten_lists(range(1), [data], side, source, shape="flat")
    if isinstance(as_object(values[0]), Mapping):
        values = [*map(as_object, values)]
    return _read_shape(LISTINGS, values, side, source)


def _read_shape(shapes: Sequence[Shape], data: Any, side: Side, source: str) -> Columns:
    return next(shape for shape in shapes if shape.looks(data, side)).read(data, side, source)


# ---------------------------------------------------------------------------------------------
# Mappings


def _is_split(data: Mapping[Any, Any], side: Side) -> bool:
    if not {"columns", "data"} <= data.keys() <= _SPLIT or not isinstance(data["data"], list):
        return False
    return all(isinstance(row, list | tuple) for row in data["data"])


_SPLIT = frozenset({"index", "columns", "data", "index_names", "column_names"})


def _from_split(data: Mapping[Any, Any], side: Side, source: str) -> Columns:
    rows = [dict(zip(data["columns"], row, strict=True)) for row in data["data"]]
    return from_item_rows(rows, side, source)


def _is_row(data: Mapping[Any, Any], side: Side) -> bool:
    if names_row(data):
        return any(map(is_scalar, data.values())) or not names_for_role("user", [*data])
    return is_record(data)


def _are_columns(data: Mapping[Any, Any], side: Side) -> bool:
    return names_row(data) or (are_plurals(data) and not any(map(is_scalar, data.values())))


def _from_named_columns(data: Mapping[Any, Any], side: Side, source: str) -> Columns:
    hint = f" If {format_few(data)} are users, pass {{user: [*items]}} with other names."
    return replace(from_columns(data, source), hint="" if names_row(data) else hint)


def _are_rows_by_key(data: Mapping[Any, Any], side: Side) -> bool:
    values = [*data.values()]
    if not have_common_fields(values):
        return False
    return names_row(values[0], whole=True) or (
        len(values) > 1 and not all(map(has_numbers, values))
    )


def _has_only_numbers(data: Mapping[Any, Any], side: Side) -> bool:
    values = data.values()
    return bool(data) and all(isinstance(value, int | float | np.number) for value in values)


def _from_items_of_one_user(data: Mapping[Any, Any], side: Side, source: str) -> Columns:
    as_table = partial(_table_with_names, data, source)
    return flatten_lists(range(1), [data], side, source, shape="pairs", as_table=as_table)


def _from_items_by_user(data: Mapping[Any, Any], side: Side, source: str) -> Columns:
    as_table = partial(_table_with_names, data, source)
    facts = {"as_table": as_table, "may_be_table": may_be_table(data)}
    try:
        refuse_objects(data, source)
        return flatten_lists(data.keys(), list(data.values()), side, source, **facts)
    except DataError as error:
        if type(error) is not DataError:
            raise
        raise MaybeTableError(error, as_table) from None


def _any(data: Any, side: Side) -> bool:
    return True


MAPPINGS = (
    Shape(
        "a table that `to_dict('split')` of pandas has written",
        _is_split,
        _from_split,
        "{'columns': ['user', 'item'], 'data': [[1, 'a'], [1, 'b'], [2, 'a'], [2, 'b']]}",
    ),
    Shape(
        "one row, or one record of rankings and ground truth",
        _is_row,
        lambda data, side, source: from_item_rows([data], side, source),
        "{'user': 1, 'items': ['a', 'b']}",
    ),
    Shape(
        "columns",
        _are_columns,
        _from_named_columns,
        "{'user': [1, 1, 2, 2], 'item': ['a', 'b', 'a', 'b']}",
    ),
    Shape(
        "rows by any key, such as `to_dict('index')` of pandas",
        _are_rows_by_key,
        lambda data, side, source: from_item_rows([*data.values()], side, source),
        "{0: {'user': 1, 'items': ['a', 'b']}, 1: {'user': 2, 'items': ['a', 'b']}}",
    ),
    Shape(
        "the items of one user, each with its number",
        _has_only_numbers,
        _from_items_of_one_user,
        "{'a': 0.9, 'b': 0.5}",
    ),
    Shape(
        "users with their items: in order, as a set, or with numbers",
        _any,
        _from_items_by_user,
        "{1: ['a', 'b'], 2: ['a', 'b']}",
    ),
)
"""The first that looks like the data reads them."""


# ---------------------------------------------------------------------------------------------
# Lists


def _are_hits(values: list[Any], side: Side) -> bool:
    return is_hit_without_user(values[0], side) or (
        is_pair(values[0]) and are_items_with_numbers(values, has_user=False)
    )


def _are_rows(values: list[Any], side: Side) -> bool:
    if not isinstance(values[0], Mapping):
        return False
    common = len(values) > 1 and have_common_fields(values)
    return (
        common or names_row(values[0]) or is_record(values[0]) or not all(map(has_numbers, values))
    )


def _from_rows(values: list[Any], side: Side, source: str) -> Columns:
    items = f"{{user: {{item: {VALUE.get(side, 'number')}}}}}"
    hint = f" If these are items with their numbers, name the user of each: {items}."
    only_numbers = all(map(has_numbers, values))
    return replace(from_item_rows(values, side, source), hint=hint if only_numbers else "")


def _are_scalars(values: list[Any], side: Side) -> bool:
    return all(map(is_scalar, values))


def _from_hits(values: list[Any], side: Side, source: str) -> Columns:
    read = flatten_lists(range(1), [values], side, source)
    return replace(read, shape="pairs" if "value" in (read.roles or ()) else "flat")


def _from_lists(values: list[Any], side: Side, source: str) -> Columns:
    _refuse_ambiguous_tuples(values, side, source)
    facts: dict[str, Any] = {
        "shape": "rows" if len(values) > 1 else "",
        "as_table": partial(_table_with_names, values, source),
        "may_be_table": frozenset(values[0]) if have_common_fields(values) else frozenset(),
    }
    return flatten_lists(range(len(values)), values, side, source, **facts)


LISTINGS = (
    Shape(
        "the hits of one query, or pairs of an item and a score",
        _are_hits,
        _from_hits,
        "[{'id': 'a', 'score': 0.9}, {'id': 'b', 'score': 0.5}]",
    ),
    Shape(
        "rows: objects with the same keys, named tuples, data classes",
        _are_rows,
        _from_rows,
        "[{'user': 1, 'items': ['a', 'b']}, {'user': 2, 'items': ['a', 'b']}]",
    ),
    Shape("the items of one user, in order", _are_scalars, _from_hits, "['a', 'b']"),
    Shape(
        "a list for each user, by position: of items, or items with numbers",
        _any,
        _from_lists,
        "[['a', 'b'], ['a', 'b']]",
    ),
)
"""The first that looks like the data reads them."""


def _table_with_names(data: Any, source: str, names: AbstractSet[str]) -> Columns | None:
    """Read a mapping or a list of objects as a table if some of the `names` are its fields."""
    objects = [*data.values()] if isinstance(data, Mapping) else data
    if isinstance(data, Mapping) and not names.isdisjoint(map(str, data)):
        is_row = any(map(is_scalar, objects))
        return from_item_rows([data], "truth", source) if is_row else from_columns(data, source)
    first = objects[0] if objects else None
    if not isinstance(first, Mapping) or names.isdisjoint(map(str, first)):
        return None
    return from_item_rows(objects, "truth", source)


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
        return _user_columns([values], side, source) if all(map(is_scalar, values)) else None
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


def flatten_lists(
    keys: Collection[Any], values: Sequence[Any], side: Side, source: str, **facts: Any
) -> Columns:
    """Flatten to long columns ``user``, ``item`` and, if any value has numbers, ``value``.

    Users that are a range are numbers of rows, and those that are keys differ. Values are lists of
    items, or mappings item → number. A user must not occur twice, except in interactions. Rankings
    and truth whose values need no closer look stay where they are. `facts` are further fields.
    """
    users = keys if isinstance(keys, range) else [*keys]
    if not users:
        raise no_rows_error(source, "is empty")
    if side != "interactions" and not isinstance(keys, range | KeysView):
        refuse_repeated_users(users, source)
    unordered = side == "rankings" and {set, frozenset} & set(map(type, values))
    if side in ("rankings", "truth") and not unordered:
        lists = PythonLists.of(users, values)  # which become columns only if these are fetched
        if lists is not None:
            return Columns.from_lists(lists, source, **facts)
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
    return Columns.from_role_columns(columns, source, empty_users=empty, **facts)
