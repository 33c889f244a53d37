"""Numbers and labels in unrecognised columns, which may be the scores or the gains."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

import polars as pl

from rankmeter._checks import shown
from rankmeter._ingest._columns import SYNONYMS, VALUE, Column, Columns, Side, holds_lists, plain
from rankmeter._ingest._ids import is_null, kinds
from rankmeter._ingest._messages import some
from rankmeter._ingest._numbers import BINARY, letters_of
from rankmeter.errors import ColumnError

_INDEX = frozenset({"", "unnamed:0"})  # the row index in front of a frame that pandas wrote
# Digits without letters, unlike a date or a time: 1,000.5 and 10% and 3/5.
_NUMBER = r"^-?[^\pL:/-]*\d(?:[eE]-?\d+|/\d+)?[^\pL:/-]*$|^(?i:true|false)$"
_FRACTION = r"[.,]\d"
_MISSING = ["", "-", "?", "n/a", "na", "nan", "null", "none"]
_NUMBERS = frozenset({"integer", "float", "boolean"})
_LARGEST_FRACTION = 1000  # a time in seconds since 1970 is larger
_GRADES = "high medium low good fair bad poor excellent perfect strong weak maybe neutral"
_DEGREES = "highly partially somewhat marginally very slightly"
_LABELS = [*BINARY, *_GRADES.split(), *(f"{degree}relevant" for degree in _DEGREES.split())]
_STARS = r"^\d*[★☆⭐]+$|^\d+stars?$"
_LOOKED_AT = 1000  # rows in which labels are looked for
_HAVE_ROLES = SYNONYMS["user"] | SYNONYMS["item"] | SYNONYMS["time"]
_ID_OR_TIME = re.compile(r"(_id|timestamp|datetime|_time|_date|_ts|_at)$")
_OF_THE_OTHER = {"rankings": SYNONYMS["gain"], "truth": SYNONYMS["score"] | SYNONYMS["rank"]}


def refuse_unused_numbers(read: Columns, side: Side, used: Collection[str]) -> None:
    """Refuse data without a score, rank or gain whose columns that have no role hold numbers.

    Or true and false, or in the truth words such as yes and no, or two words in the only such
    column. It is enough if most values are such; the others may be written differently. Text that
    a program made is asked about if most values are numbers with decimals. Columns with the name of
    an id or a time are allowed unless they hold fractions, and so is an index of the rows in front;
    `used` are the columns that have a role.
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
        raise _unused(read.source, side, numeric, "numbers")
    if side == "truth":
        labels = [name for name in others if _holds_labels(columns[name], alone=len(others) == 1)]
        if labels:
            raise _unused(read.source, side, labels, "labels")


def _holds_labels(column: Column, *, alone: bool) -> bool:
    """Whether most values of a column are words that say how relevant an item is."""
    if isinstance(column, list):
        lists = [value for value in column if holds_lists([value])]
        values = [word for value in lists for word in value] or column
        column = _as_text([x if isinstance(x, str) else None for x in values])
    elif column.dtype == pl.List:
        column = column.explode()
    if column.dtype not in (pl.String, pl.Categorical, pl.Enum):
        return False
    text = column.drop_nulls().cast(pl.String)
    words = letters_of(text.head(_LOOKED_AT))
    labels = words.is_in(_LABELS) | words.str.contains(_STARS)
    two = alone and len(text) > 2 == words.n_unique() == text.n_unique()
    return two or 2 * int(labels.sum()) > len(words)


def _lists_hold_numbers(name: str, column: Column, items: Column) -> bool:
    """Whether the lists of a column hold a number for each item wherever they are; no times."""
    if plain(name).removesuffix("s") in SYNONYMS["time"]:
        return False
    if any(n not in (m, None) for n, m in zip(_lengths(column), _lengths(items), strict=True)):
        return False
    if isinstance(column, pl.Series):
        return bool(column.dtype.inner.is_numeric())  # type: ignore[attr-defined]
    return any(kinds([*value]) <= _NUMBERS for value in column if value is not None and len(value))


def _lengths(lists: Column) -> list[int | None]:
    if isinstance(lists, pl.Series):
        return (lists.arr.to_list() if lists.dtype == pl.Array else lists).list.len().to_list()
    return [len(value) if hasattr(value, "__len__") else None for value in lists]


def _holds_numbers(name: str, column: Column, read: Columns, *, first: bool) -> bool:
    """Whether most values of a column are numbers, and not ids, times or places of rows."""
    mixed = read.untyped
    if isinstance(column, list):
        mixed = bool(kinds(column) & _NUMBERS)
        column = _as_text(column)
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


def _as_text(values: Sequence[Any]) -> pl.Series:
    """Values as text, in which half of a surrogate pair is a question mark."""
    texts = [None if is_null(x) else str(x).encode(errors="replace").decode() for x in values]
    return pl.Series(texts, dtype=pl.String)


def _unused(source: str, side: Side, numeric: list[str], what: str) -> ColumnError:
    column, them = shown(numeric[0]), "it" if len(numeric) == 1 else "them"
    what = f"but {what} in {some(numeric, 9)}"
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
