"""Rows as dictionaries: one item each, one user with a list of items each, or records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rankmeter._ingest._columns import SYNONYMS, Column, Columns, Side, named, plain
from rankmeter._ingest._ids import kinds
from rankmeter._ingest._lists import Pairs, flatten
from rankmeter._ingest._messages import short, some
from rankmeter.errors import ColumnError, DataError

__all__ = [
    "from_list_rows",
    "from_records",
    "from_rows",
    "is_list_row",
    "is_record",
    "is_row",
    "starts_with_record",
]

RECORD_KEYS: Mapping[Side, str] = {
    "rankings": "predict_list",
    "truth": "ground_truth",
    "interactions": "ground_truth",
}
LIST_KEYS = frozenset({"items", "itemids", "docs", "docids", "documents"})
VALUE_KEYS: Mapping[Side, frozenset[str]] = {
    "rankings": frozenset({"scores"}),
    "truth": frozenset({"gains", "ratings", "relevances"}),
    "interactions": frozenset({"gains", "ratings", "scores"}),
}


def is_row(value: Mapping[Any, Any]) -> bool:
    """Whether the keys name a user and an item, as in ``{"user": 1, "item": 7}``."""
    keys = [key for key in value if isinstance(key, str)]
    return bool(named("user", keys)) and bool(named("item", keys))


def is_list_row(value: Mapping[Any, Any]) -> bool:
    """Whether the keys name a user and a list, as in ``{"user": 1, "items": [7, 8]}``."""
    keys = [key for key in value if isinstance(key, str)]
    return bool(named("user", keys)) and any(plain(key) in LIST_KEYS for key in keys)


def is_record(value: object) -> bool:
    """Whether a value has the prediction, the truth or both of one user."""
    return isinstance(value, Mapping) and any(key in value for key in RECORD_KEYS.values())


def starts_with_record(data: object) -> bool:
    """Whether a list starts with a record, or a single mapping is one."""
    return is_record(data[0] if isinstance(data, list | tuple) and data else data)


def from_rows(rows: Sequence[Any], side: Side, source: str) -> Columns:
    """One row per item: keys are columns, and a key that a row lacks is a missing value."""
    _only_mappings(rows, source)
    names = list(dict.fromkeys(str(key) for row in rows for key in row))

    def fetch(chosen: Sequence[str]) -> Mapping[str, Column]:
        return {name: [row.get(name) for row in rows] for name in chosen}

    return Columns(names, fetch, source)


def from_list_rows(rows: Sequence[Any], side: Side, source: str) -> Columns:
    """One row per user: ``{"user": ..., "items": [...], "scores": [...]}``."""
    _only_mappings(rows, source)
    users: list[Any] = []
    values: list[Any] = []
    for number, row in enumerate(rows, start=1):
        user = [row[name] for name in named("user", list(row))]
        items = [row[name] for name in row if plain(name) in LIST_KEYS]
        numbers = [row[name] for name in row if plain(name) in VALUE_KEYS[side]]
        if len(user) != 1 or len(items) != 1 or len(numbers) > 1:
            raise DataError(
                f"Row {number} of {source} is not one user with one list of items: {short(row)}. "
                f"Expected {{'user': ..., 'items': [...]}}, with at most one list of "
                f"{some(sorted(VALUE_KEYS[side]))} beside the items."
            )
        if not numbers and side != "interactions":
            _refuse_unused_numbers(row, items[0], number, side, source)
        users += user
        values.append(_paired(items[0], numbers[0], number, source) if numbers else items[0])
    return flatten(users, values, side, source)


def from_records(records: Sequence[Any], side: Side, source: str) -> Columns:
    """The part of each record that the side asks for.

    Notes
    -----
    The user is what the record says, or the number of the record if no record says it.
    """
    key = RECORD_KEYS[side]
    for number, record in enumerate(records, start=1):
        if not isinstance(record, Mapping) or key not in record:
            raise DataError(
                f"Record {number} of {source} has no {key!r}: {short(record)}. Expected "
                f"{{'predict_list': [...], 'ground_truth': {{...}}}}."
            )
    users = _users_of_records(records, source)
    return flatten(users, [record[key] for record in records], side, source)


def _users_of_records(records: Sequence[Any], source: str) -> Sequence[Any]:
    keys = [named("user", list(record)) for record in records]
    if not any(keys):
        return range(len(records))
    for number, (record, key) in enumerate(zip(records, keys, strict=True), start=1):
        if len(key) != 1:
            what = f"has {len(key)} users, {some(key)}" if key else "has no user"
            raise DataError(
                f"Record {number} of {source} {what}: {short(record)}, while other records name "
                f"theirs. Name one user in each record, or in none."
            )
    return [record[key] for record, (key,) in zip(records, keys, strict=True)]


def _only_mappings(rows: Sequence[Any], source: str) -> None:
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, Mapping):
            raise DataError(
                f"Row {number} of {source} is {short(row)}, where the rows before it name their "
                f"columns: {short(rows[0])}. Give all rows the same form."
            )


def _refuse_unused_numbers(
    row: Mapping[Any, Any], items: object, number: int, side: Side, source: str
) -> None:
    """A number for each item, under a name that says nothing, may be the scores or the gains."""
    unused = [
        name
        for name, value in row.items()
        if value is not items
        and plain(name).removesuffix("s") not in SYNONYMS["time"]
        and isinstance(value, list)
        and isinstance(items, list)
        and len(value) == len(items) > 0
        and kinds(value) <= {"integer", "float", "boolean"}
    ]
    if unused:
        wanted = some(sorted(VALUE_KEYS[side]))
        raise ColumnError(
            f"Row {number} of {source} has a number for each item in {some(unused)}, which is "
            f"none of the names that {side} may have for them: {wanted}. Rename it, or drop it."
        )


def _paired(items: Any, numbers: Any, number: int, source: str) -> Pairs:
    for part in (items, numbers):
        if not isinstance(part, Sequence) or isinstance(part, str):
            raise DataError(f"Row {number} of {source} has {short(part)} where a list belongs.")
    if len(items) != len(numbers):
        raise DataError(
            f"Row {number} of {source} has {len(items)} items but {len(numbers)} numbers for them. "
            f"Each item needs one."
        )
    return Pairs(zip(items, numbers, strict=True))
