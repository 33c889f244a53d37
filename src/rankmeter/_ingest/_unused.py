"""Numbers in unrecognised columns, which may be the scores or the gains."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

import polars as pl

from rankmeter._checks import shown
from rankmeter._ingest._columns import SYNONYMS, VALUE, Column, Columns, Side, plain
from rankmeter._ingest._ids import kinds
from rankmeter._ingest._messages import some
from rankmeter.errors import ColumnError

# The names of a written row index in front of the frame, as pandas writes and reads it.
_INDEX = frozenset({"", "unnamed:0"})
# A number as people write it: with a decimal comma, separators of thousands, a unit, a fraction.
_SPACE = r"\s\u00a0\u2009\u202f"
_NUMBER = (
    rf"^[$€£]?[+\-\u2212]?[\d.,'_{_SPACE}]*\d[\d.,'_{_SPACE}]*(?:[eE][+\-]?\d+)?[{_SPACE}]?[%$€£]?$"
    r"|^\d+(?:[.,]\d+)?/\d+$"
)
_FRACTION = r"^[$€£]?[+\-\u2212]?\d*[.,]\d+(?:[eE][+\-]?\d+)?\s?[%$€£]?$"
_MISSING = frozenset({"", "-", "?", "n/a", "na", "nan", "null", "none"})
_NUMBERS = frozenset({"integer", "float", "boolean"})
_LARGEST_FRACTION = 1000  # a time in seconds since 1970 is larger
_BOOLEAN = r"(?i)^\s*(true|false)\s*$"


def refuse_unused_numbers(found: Columns, side: Side, used: Collection[str]) -> None:
    """Refuse data without a score, rank or gain whose columns that have no role hold numbers.

    Or true and false. It is enough if most values are such; the others may be written differently.
    Text that a program made is asked about if most values are numbers with decimals. Columns with
    the name of an id or a time are allowed unless they hold fractions, and so is an index of the
    rows in front; `used` are the columns that have a role.
    """
    others = [name for name in found.names if name not in used and plain(name) not in _KNOWN]
    if found.roles is not None or not others:
        return
    if twice := [name for name, n in Counter(others).items() if n > 1]:
        raise ColumnError(
            f"{found.source} has two columns called {shown(twice[0])}, and either may hold the "
            f"{VALUE[side]}s. Rename or drop them."
        )
    columns = dict(found.fetch(others))
    first = found.names[0]
    if plain(first) in _INDEX and first in columns and _counts_rows(columns[first]):
        del columns[first]
    numeric = [
        name
        for name, column in columns.items()
        if _is_numeric(column, untyped=found.untyped)
        and not (_KNOWN_END.search(name.lower()) and not _has_fractions(column))
    ]
    if found.nested.intersection(used):
        lists = [name for name in columns if name in found.nested]
        lists = [name for name in lists if plain(name).removesuffix("s") not in SYNONYMS["time"]]
        numeric += [name for name in lists if _has_numbers(columns[name])]
    if numeric:
        raise _unused(found.source, side, numeric)


def refuse_unused_lists(
    row: Mapping[Any, Any], items: object, side: Side, where: str, names: Collection[str]
) -> None:
    """Refuse a row of a user with a list of numbers, one per item, next to the list of items.

    `names` are the names of the side for numbers of items; `row` has none of these. A list with the
    name of a time is allowed.
    """
    unused = [
        name
        for name, value in row.items()
        if value is not items
        and plain(name).removesuffix("s") not in SYNONYMS["time"]
        and isinstance(value, list)
        and isinstance(items, list)
        and len(value) == len(items) > 0
        and kinds(value) <= _NUMBERS
    ]
    if unused:
        raise ColumnError(
            f"{where} has a number for each item in {some(unused)}, but as {side} they are read "
            f"only from {some(sorted(names))}. Rename it, or drop it."
        )


_KNOWN = SYNONYMS["user"] | SYNONYMS["item"] | SYNONYMS["time"]
_KNOWN_END = re.compile(r"(_id|timestamp|datetime|_time|_date|_ts|_at)$")


def _has_numbers(column: Column) -> bool:
    """Whether the lists of a column hold numbers."""
    if isinstance(column, pl.Series):
        return bool(column.dtype.inner.is_numeric())  # type: ignore[attr-defined]
    return any(kinds([*value]) <= _NUMBERS for value in column if value is not None and len(value))


def _has_fractions(column: Column) -> bool:
    """Whether some numbers have decimals and all are small, unlike ids and times since 1970."""
    values = pl.Series(column, strict=False) if isinstance(column, list) else column
    values = values.cast(pl.Float64, strict=False).drop_nulls()
    return bool((values % 1 != 0).any() and (values.abs() < _LARGEST_FRACTION).all())


def _counts_rows(column: Column) -> bool:
    """Whether a column holds the numbers of the rows: 0, 1, 2 and so on."""
    values = pl.Series(column, strict=False) if isinstance(column, list) else column
    values = values.cast(pl.Float64, strict=False)
    return values.equals(pl.int_range(len(values), eager=True).cast(pl.Float64))


def _is_numeric(column: Column, *, untyped: bool) -> bool:
    if isinstance(column, list):
        filled = [value for value in column if value is not None]
        texts = pl.Series([value for value in filled if isinstance(value, str)], dtype=pl.String)
        numbers = sum(kinds([value]) <= _NUMBERS for value in filled)
        return 2 * numbers > len(filled) - _missing(texts) or _is_numeric(texts, untyped=False)
    present = column.drop_nulls()
    if present.dtype in (pl.String, pl.Categorical, pl.Enum):
        trimmed = present.cast(pl.String).str.strip_chars()
        if untyped:
            found = trimmed.cast(pl.Float64, strict=False).is_not_null()
            found |= trimmed.str.contains(_NUMBER) | trimmed.str.contains(_BOOLEAN)
        else:  # integers are ids
            found = trimmed.str.contains(_FRACTION)
        return 2 * int(found.sum()) > len(trimmed) - _missing(trimmed)
    return len(present) > 0 and (column.dtype.is_numeric() or column.dtype == pl.Boolean)


def _missing(texts: pl.Series) -> int:
    return int(texts.str.strip_chars().str.to_lowercase().is_in([*_MISSING]).sum())


def _unused(source: str, side: Side, numeric: list[str]) -> ColumnError:
    named, them = shown(numeric[0]), "it" if len(numeric) == 1 else "them"
    what = f"but numbers in {some(numeric, 9)}"
    swapped = [name for name in numeric if plain(name) in _OF_THE_OTHER[side]]
    if side == "rankings":
        hint = " Or is this the truth, and the two arguments are swapped?" if swapped else ""
        return ColumnError(
            f"{source} has no score and no rank, {what}. If they order the items, write "
            f"columns={{'score': {named}}} (the highest comes first) or "
            f"columns={{'rank': {named}}} (1 comes first). If the order of the rows is the "
            f"ranking, drop {them}.{hint}"
        )
    look = "looks" if len(swapped) == 1 else "look"
    hint = f" {some(swapped)} {look} like rankings: are the two arguments swapped?"
    return ColumnError(
        f"{source} has no gain, {what}.{hint if swapped else ''} If they say how relevant an item "
        f"is, write columns={{'gain': {named}}}. If every row is a relevant item, drop {them}."
    )


_OF_THE_OTHER = {"rankings": SYNONYMS["gain"], "truth": SYNONYMS["score"] | SYNONYMS["rank"]}
