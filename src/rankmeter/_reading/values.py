"""Read the items of users: in order, as a set or with numbers; and columns of lists."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from rankmeter._reading.columns import (
    ROLES,
    VALUE,
    Column,
    Columns,
    Side,
    holds_lists,
    names_for_role,
    normalize_name,
)
from rankmeter._reading.frames import class_test
from rankmeter._reading.ids import is_null, refuse_rounded_ids, type_names
from rankmeter._reading.table import format_few
from rankmeter.errors import DataError, DuplicateError
from rankmeter.errors._checks import brief, counted

_is_pandas_series = class_test("pandas", "Series")


def read_items_of_users(
    users: Iterable[Any], values: Iterable[Any], side: Side, source: str
) -> tuple[npt.NDArray[np.int64], list[Any], list[Any] | None]:
    """Return the number of items of each user, all items and, if present, all numbers.

    Some users without numbers are refused; a user without items needs none.
    """
    pairs = [
        read_items_of_user(user, value, side, source)
        for user, value in zip(users, values, strict=True)
    ]
    lengths = np.array([len(items) for items, _ in pairs], dtype=np.int64)
    all_items = [*chain.from_iterable(items for items, _ in pairs)]
    full = [(user, numbers) for user, (items, numbers) in zip(users, pairs, strict=True) if items]
    bare = [user for user, numbers in full if numbers is None]
    if len(bare) == len(full):
        return lengths, all_items, None
    if bare:
        raise DataError(
            f"{source} has {_number_word(side)}s for the items of some users, and none for those "
            f"of {counted(len(bare), 'other user')}: {format_few(bare)}. Give every item its "
            f"{_number_word(side)}, or no item."
        )
    numbers = chain.from_iterable(numbers for _, numbers in full if numbers is not None)
    return lengths, all_items, [*numbers]


def read_items_of_user(
    user: object, value: Any, side: Side, source: str
) -> tuple[list[Any], list[Any] | None]:
    """Items of one user and, if present, the numbers of the items."""
    if isinstance(value, Mapping):
        pairs = list(value.items())
        return [item for item, _ in pairs], [number for _, number in pairs]
    if hasattr(value, "iloc") and _is_pandas_series(value):
        return _items_from_series(user, value, side, source)
    items = _items_from_listing(user, value, side, source)
    if items and is_hit(items[0]):
        return _items_from_hits(user, items, side, source)
    if items and (name := _id_attribute(items[0][0] if is_pair(items[0]) else items[0])):
        return _ids_of_documents(user, items, name, source), None
    if items and is_pair(items[0]) and are_items_with_numbers(items, has_user=True):
        return [item for item, _ in items], [number for _, number in items]
    return items, None


def is_hit(value: object) -> bool:
    """Whether a value is a mapping that names an item, like the hits of search engines."""
    return isinstance(value, Mapping) and len(_item_keys(value)) == 1


def is_hit_without_user(value: object, side: Side) -> bool:
    """Whether a mapping is a hit without a field that could name the user."""
    if not isinstance(value, Mapping) or not is_hit(value):
        return False
    expected = {*_item_keys(value), *names_for_role(VALUE.get(side, ""), [*value])}
    return all(key in expected or normalize_name(str(key)) in _OF_HITS for key in value)


_OF_HITS = {"text", "title", "content", "metadata", "document", "snippet", "url", "embedding"}
"""Fields that searches return besides the item and its score."""


def _item_keys(hit: Mapping[Any, Any]) -> list[str]:
    keys = [key for key in hit if isinstance(key, str)]
    return names_for_role("item", keys) or [key for key in keys if normalize_name(key) == "id"]


def _items_from_hits(
    user: object, hits: Sequence[Any], side: Side, source: str
) -> tuple[list[Any], list[Any] | None]:
    """Items of hits and, if the hits have numbers, the numbers."""
    (item,) = _item_keys(hits[0])
    fields = {key: value for hit in hits if isinstance(hit, Mapping) for key, value in hit.items()}
    keys = names_for_role(VALUE.get(side, ""), [*fields])
    intro = f"User {brief(user)} of {source} has hits"
    if len(keys) > 1:
        raise DataError(
            f"{intro} with {len(keys)} fields that could be the {VALUE[side]}: {format_few(keys)}. "
            f"Drop or rename the others."
        )
    for rank, hit in enumerate(hits, start=1):
        if not isinstance(hit, Mapping) or item not in hit or any(n not in hit for n in keys):
            raise DataError(
                f"Hit {rank} of user {brief(user)} of {source} is {brief(hit)}, where others have "
                f"{format_few([item, *keys])}."
            )
    items = [hit[item] for hit in hits]
    if keys:
        return items, [hit[keys[0]] for hit in hits]
    if side == "rankings":
        floats = {
            key for hit in hits for key, value in hit.items() if type_names([value]) == {"float"}
        }
        if unused := [key for key in fields if key in floats or names_for_role("rank", [key])]:
            raise DataError(
                f"{intro} without a score but with numbers, {format_few(unused)}: "
                f"{brief(hits[0])}. Call the one that orders them 'score' (the highest comes "
                f"first), or drop them if the order of the list is the ranking."
            )
    return items, None


_IDS = {
    "haystack.Document": "id",
    "langchain_core.Document": "id",
    "llama_index.NodeWithScore": "node_id",
}
"""The attribute with the id of a retrieved document; its list is in the order of the ranking."""


def _id_attribute(value: object) -> str:
    """Name of the id attribute if the value is a retrieved document, else "".

    A document is of a known library, or has content and metadata as those of LangChain have.
    """
    kinds = type(value).__mro__
    names = (f"{kind.__module__.partition('.')[0]}.{kind.__name__}" for kind in kinds)
    other = "id" if hasattr(value, "page_content") and hasattr(value, "metadata") else ""
    return next((_IDS[name] for name in names if name in _IDS), other)


def _ids_of_documents(user: object, items: Sequence[Any], name: str, source: str) -> list[Any]:
    """Ids of documents in ranked order, also from pairs of a document and a score.

    Whether a higher score of a pair is better depends on the vector store, so it is not read.
    """
    documents = [item[0] if is_pair(item) else item for item in items]
    ids = [getattr(document, name, None) for document in documents]
    missing = next((n for n, item in enumerate(ids) if item is None), None)
    if missing is not None:
        keys = [*(getattr(documents[missing], "metadata", None) or {})]
        remedy = "Give each document its id."
        if keys:
            remedy = (
                f"Its metadata have {format_few(keys, 9)}: pass the key that names it, for example "
                f"[document.metadata[{brief(keys[0])}] for document in documents]. If "
                "several chunks have the same id, duplicates='best' counts the best of them."
            )
        raise DataError(
            f"Document {missing + 1} of user {brief(user)} of {source} has no {name}. {remedy}"
        )
    return ids


def is_pair(value: object) -> bool:
    """Whether a value is a tuple or list of length two."""
    return isinstance(value, tuple | list) and len(value) == 2


def are_items_with_numbers(pairs: Sequence[Any], *, has_user: bool) -> bool:
    """Whether pairs can only mean items with a number each.

    A text comes first and a float second; where the pairs are those of a user with a name, which
    cannot come first, the number may be an integer, or the item if the number is a float.
    """
    if not all(map(is_pair, pairs)):
        return False
    items, numbers = (type_names(part) - {"null"} for part in zip(*pairs, strict=True))
    if items == {"integer"}:
        return has_user and numbers == {"float"}
    allowed = {"integer", "float"} if has_user else {"float"}
    return items == {"string"} and bool(numbers) and numbers <= allowed


def _items_from_series(
    user: object, series: Any, side: Side, source: str
) -> tuple[list[Any], list[Any] | None]:
    """Read a Series of items, or a Series of numbers with the items in the index.

    A name of the values or of the index decides; then the types: text cannot be a number, floats
    and booleans cannot be items, and an index that numbers the rows is ignored.
    """
    values, index = series.tolist(), series.index.tolist()
    kind, keys = type_names(values) - {"null"}, type_names(index)
    counts_rows = index == list(range(len(index)))
    numbered = any(names_for_role(role, [series.name]) for role in ROLES[side][2:])
    if names_for_role("item", [series.index.name]):
        return index, values
    if names_for_role("item", [series.name]) or kind <= {"string"}:
        return values, None
    if counts_rows and not numbered and not kind & {"float", "boolean"}:
        return values, None
    numeric = kind <= {"integer", "float", "boolean"}
    if numeric and not counts_rows and ("integer" not in kind or keys == {"string"}):
        return index, values
    raise DataError(
        f"User {brief(user)} of {source} has a pandas Series, and whether its values "
        f"({brief(values[0])}, …) or its index ({brief(index[0])}, …) are the items is not "
        f"certain. Pass .tolist() if the values are the items in order, .to_dict() if they are the "
        f"{_number_word(side)}s of the items in the index."
    )


def _items_from_listing(user: object, value: Any, side: Side, source: str) -> list[Any]:
    if isinstance(value, list):
        return value
    if isinstance(value, str | bytes):
        raise DataError(
            f"User {brief(user)} of {source} has the text {brief(value)} where a list of items "
            f"belongs. For one item, write [{brief(value)}]."
        )
    if isinstance(value, AbstractSet):
        if side == "rankings":
            raise DataError(
                f"User {brief(user)} of {source} has a set of items, and a set has no order. Pass "
                f"a list in the order of the ranking, or {{item: score}}. If it is the ground "
                f"truth, are the two arguments swapped?"
            )
        return list(value)
    if isinstance(value, Sequence | Iterator):
        return list(value)
    # The arrays and Series of NumPy, Polars, pyarrow and torch.
    for name in ("tolist", "to_list"):
        if hasattr(value, name) and isinstance(items := getattr(value, name)(), list):
            refuse_rounded_ids(items, getattr(value, "dtype", ""), source)
            return items
    raise DataError(
        f"User {brief(user)} of {source} has {brief(value)} ({type(value).__name__}) where a list "
        f"of items, or {{item: {_number_word(side)}}}, belongs."
    )


def _number_word(side: Side) -> str:
    return VALUE[side] if side == "rankings" else "gain"


def refuse_repeated_users(users: Sequence[Any], source: str) -> None:
    """Refuse repeated users, as several lists of one user have no order."""
    try:
        if len(set(users)) == len(users):
            return
    except TypeError:
        return  # values that cannot be ids are refused later
    first: dict[Any, int] = {}
    for number, user in enumerate(users, start=1):
        if not is_null(user) and (before := first.setdefault(user, number)) != number:
            raise DuplicateError(
                f"User {brief(user)} of {source} has two lists, number {before} and number "
                f"{number}. Which comes first is not known: merge them, or leave one out."
            )


# ---------------------------------------------------------------------------------------------
# Columns of lists: a row for each user becomes one for each item


def flatten_list_columns(
    read: Columns, columns: Mapping[str, Column], roles: Mapping[str, str], side: Side
) -> tuple[Columns, dict[str, Column], dict[str, str]]:
    """Flatten to rows of items, with other lists of the same lengths; single values are repeated.

    Users with an empty list become `empty_users`, and items with a number each give a column.
    """
    users = columns[roles["user"]]
    for number, user in enumerate(users if isinstance(users, list) else (), start=1):
        if is_null(user):
            raise DataError(
                f"Row {number} of {read.source} has no user, while other rows name theirs. Name "
                f"one user in each row, or in none."
            )
    if side != "interactions":
        refuse_repeated_users(users if isinstance(users, list) else users.to_list(), read.source)
    of_items = [name for role, name in roles.items() if role not in ("user", "item", "time")]
    if single := [name for name in of_items if not holds_lists(columns[name])]:
        raise DataError(
            f"{read.source} has a list of items in each row, but one value in "
            f"{format_few(single)}: each item needs its number. Drop the column, or write a row "
            f"for each item."
        )
    lengths, items, numbers = _flatten_items(columns[roles["item"]], users, side, read.source)
    row = np.repeat(np.arange(len(lengths)), lengths)
    rows = {
        name: items
        if name == roles["item"]
        else _expand_column(column, lengths, row, name, read.source)
        for name, column in columns.items()
    }
    value = VALUE[side]
    if numbers is not None:
        rows[value], roles = numbers, {**roles, value: value}
    return (
        replace(read, empty_users=_take_rows(users, np.flatnonzero(lengths == 0))),
        rows,
        dict(roles),
    )


def _flatten_items(
    column: Column, users: Column, side: Side, source: str
) -> tuple[np.ndarray[Any, Any], Column, Column | None]:
    """Return the number of items of each row, all items and, if present, all numbers."""
    if isinstance(column, pl.Series) and column.dtype == pl.Array:
        column = column.arr.to_list()
    if isinstance(column, pl.Series) and not column.dtype.inner.is_nested():  # type: ignore[attr-defined]
        if column.null_count():
            raise _missing_list_error(source, int(column.is_null().arg_true()[0]))
        return column.list.len().to_numpy(), _explode_lists(column), None
    lists = column.to_list() if isinstance(column, pl.Series) else column
    for number, value in enumerate(lists):
        if value is None:
            raise _missing_list_error(source, number)
    return read_items_of_users(users, lists, side, source)


def _missing_list_error(source: str, number: int) -> DataError:
    return DataError(
        f"Row {number + 1} of {source} has no list of items (null), where other rows have one. "
        f"Write an empty list for a user without items."
    )


def _expand_column(
    column: Column, lengths: np.ndarray[Any, Any], row: np.ndarray[Any, Any], name: str, source: str
) -> Column:
    """Expand a column next to the items: flatten lists, or repeat single values for each item."""
    if not holds_lists(column):
        return _take_rows(column, row)
    lists = column.to_list() if isinstance(column, pl.Series) else column
    for number, (value, n) in enumerate(zip(lists, lengths.tolist(), strict=True), start=1):
        if value is None and n == 0:
            continue
        if value is None or isinstance(value, Mapping | AbstractSet) or len(value) != n:
            raise DataError(
                f"Row {number} of {source} has {counted(n, 'item')} but {brief(value)} in "
                f"{brief(name)}. Each item needs one value."
            )
    if isinstance(column, pl.Series):
        return _explode_lists(column.arr.to_list() if column.dtype == pl.Array else column)
    return [*chain.from_iterable(_array_to_list(value) for value in lists if value is not None)]


def _array_to_list(values: Any) -> Any:
    return values.tolist() if hasattr(values, "tolist") else values


def _explode_lists(column: pl.Series) -> pl.Series:
    return column.filter(column.list.len() > 0).explode()


def _take_rows(column: Column, rows: np.ndarray[Any, Any]) -> Column:
    return column[rows] if isinstance(column, pl.Series) else [column[row] for row in rows.tolist()]
