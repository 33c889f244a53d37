"""Numbers in unrecognised columns, which may be the scores or the gains."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection

import polars as pl

from rankmeter._checks import shown
from rankmeter._ingest._columns import SYNONYMS, VALUE, Column, Columns, Side, plain
from rankmeter._ingest._ids import is_null, kinds
from rankmeter._ingest._messages import some
from rankmeter.errors import ColumnError

_INDEX = frozenset({"", "unnamed:0"})  # the row index in front of a frame that pandas wrote
# Digits without letters, unlike a date or a time: 1,000.5 and 10% and 3/5.
_NUMBER = r"^-?[^\pL:/-]*\d(?:[eE]-?\d+|/\d+)?[^\pL:/-]*$|^(?i:true|false)$"
_FRACTION = r"[.,]\d"
_MISSING = ["", "-", "?", "n/a", "na", "nan", "null", "none"]
_NUMBERS = frozenset({"integer", "float", "boolean"})
_LARGEST_FRACTION = 1000  # a time in seconds since 1970 is larger
_HAVE_ROLES = SYNONYMS["user"] | SYNONYMS["item"] | SYNONYMS["time"]
_ID_OR_TIME = re.compile(r"(_id|timestamp|datetime|_time|_date|_ts|_at)$")
_OF_THE_OTHER = {"rankings": SYNONYMS["gain"], "truth": SYNONYMS["score"] | SYNONYMS["rank"]}


def refuse_unused_numbers(read: Columns, side: Side, used: Collection[str]) -> None:
    """Refuse data without a score, rank or gain whose columns that have no role hold numbers.

    Or true and false. It is enough if most values are such; the others may be written differently.
    Text that a program made is asked about if most values are numbers with decimals. Columns with
    the name of an id or a time are allowed unless they hold fractions, and so is an index of the
    rows in front; `used` are the columns that have a role.
    """
    others = [name for name in read.names if name not in used and plain(name) not in _HAVE_ROLES]
    if read.roles is not None or not others:
        return
    if twice := [name for name, n in Counter(others).items() if n > 1]:
        raise ColumnError(
            f"{read.source} has two columns called {shown(twice[0])}, and either may hold the "
            f"{VALUE[side]}s. Rename or drop them."
        )
    items = [name for name in used if name in read.nested]
    columns = read.fetch([*others, *items])
    numeric = [
        name
        for name in others
        if (
            _lists_hold_numbers(name, columns[name], columns[items[0]])
            if items and name in read.nested
            else _holds_numbers(name, columns[name], read, first=name == read.names[0])
        )
    ]
    if numeric:
        raise _unused(read.source, side, numeric)


def _lists_hold_numbers(name: str, column: Column, items: Column) -> bool:
    """Whether the lists of a column hold a number for each item, and not times."""
    if plain(name).removesuffix("s") in SYNONYMS["time"] or _lengths(column) != _lengths(items):
        return False
    if isinstance(column, pl.Series):
        return bool(column.dtype.inner.is_numeric())  # type: ignore[attr-defined]
    return any(kinds([*value]) <= _NUMBERS for value in column if value is not None and len(value))


def _lengths(lists: Column) -> list[int]:
    if isinstance(lists, pl.Series):
        values = lists.arr.to_list() if lists.dtype == pl.Array else lists
        return values.list.len().fill_null(0).to_list()
    return [len(value) if hasattr(value, "__len__") else 0 for value in lists]


def _holds_numbers(name: str, column: Column, read: Columns, *, first: bool) -> bool:
    """Whether most values of a column are numbers, and not ids, times or places of rows."""
    mixed = read.untyped
    if isinstance(column, list):
        mixed = bool(kinds(column) & _NUMBERS)
        column = pl.Series([None if is_null(x) else str(x) for x in column], dtype=pl.String)
    present = column.drop_nulls()
    if present.dtype in (pl.String, pl.Categorical, pl.Enum):
        column = column.cast(pl.String)
        text = column.drop_nulls().str.strip_chars()
        are_numbers = text.str.contains(_NUMBER)
        if not mixed:  # integers are ids
            are_numbers &= text.str.contains(_FRACTION)
        filled = len(text) - int(text.str.to_lowercase().is_in(_MISSING).sum())
        numeric = 2 * int(are_numbers.sum()) > filled
    else:
        numeric = len(present) > 0 and (present.dtype.is_numeric() or present.dtype == pl.Boolean)
    if not numeric:
        return False
    values = column.cast(pl.Float64, strict=False)
    if first and plain(name) in _INDEX:
        return not values.equals(pl.int_range(len(values), eager=True).cast(pl.Float64))
    fractions = (values % 1 != 0).any() and (values.abs() < _LARGEST_FRACTION).all()
    return bool(fractions) or not _ID_OR_TIME.search(name.lower())


def _unused(source: str, side: Side, numeric: list[str]) -> ColumnError:
    column, them = shown(numeric[0]), "it" if len(numeric) == 1 else "them"
    what = f"but numbers in {some(numeric, 9)}"
    swapped = [name for name in numeric if plain(name) in _OF_THE_OTHER[side]]
    if side == "rankings":
        hint = " Or is this the truth, and the two arguments are swapped?" if swapped else ""
        return ColumnError(
            f"{source} has no score and no rank, {what}. If they order the items, write "
            f"columns={{'score': {column}}} (the highest comes first) or "
            f"columns={{'rank': {column}}} (1 comes first). If the order of the rows is the "
            f"ranking, drop {them}.{hint}"
        )
    look = "looks" if len(swapped) == 1 else "look"
    hint = f" {some(swapped)} {look} like rankings: are the two arguments swapped?"
    return ColumnError(
        f"{source} has no gain, {what}.{hint if swapped else ''} If they say how relevant an item "
        f"is, write columns={{'gain': {column}}}. If every row is a relevant item, drop {them}."
    )
