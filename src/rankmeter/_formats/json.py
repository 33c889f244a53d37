"""Read JSON and JSON Lines."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from io import BytesIO
from typing import Any

import polars as pl

from rankmeter._formats.text import UNFINISHED, Text
from rankmeter._reading.columns import Columns, Side, names_for_role
from rankmeter._reading.named_parts import is_mteb_predictions, pick_mteb_predictions
from rankmeter._reading.objects import from_item_rows
from rankmeter._reading.table import polars_errors
from rankmeter.errors import FileFormatError
from rankmeter.errors._checks import brief


def read_json(file: Text, side: Side, part: str = "") -> Columns:
    """Read a JSON value: an object user → list or {item: number}, or an array of rows or lists."""
    try:
        data = _parse_json(file.text, file.name)
    except json.JSONDecodeError as error:
        if error.msg == "Extra data" and file.text.lstrip()[0] in "{[":
            return read_json_lines(file, side)
        raise FileFormatError(
            f"{file.name} is not valid JSON: {error.msg} in line {error.lineno}, column "
            f"{error.colno}. {UNFINISHED}"
        ) from error
    if part and not is_mteb_predictions(data):
        raise FileFormatError(f"{file.name} has no parts, so {brief(part)} cannot be read of it.")
    if is_mteb_predictions(data):
        data = pick_mteb_predictions(data, part, file.name)
    from rankmeter._reading.shapes import from_listing, from_mapping

    if isinstance(data, Mapping):
        read = from_mapping(data, side, file.name)
    elif isinstance(data, list):
        read = from_listing(data, side, file.name)
    else:
        raise FileFormatError(
            f"{file.name} holds {brief(data)}; expected an object user → items or an array of rows."
        )
    return replace(read, textual=True)


def read_json_lines(file: Text, side: Side) -> Columns:
    """Read one JSON value per line: a row, a user with a list of items, a record, or a list."""
    from rankmeter._reading.shapes import from_listing

    read = _read_flat_rows(file) or from_listing(_parse_json_lines(file), side, file.name)
    return replace(read, textual=True)


def read_json_rows(file: Text) -> Columns:
    """Read objects whose keys are columns of any meaning, one per line or in an array."""
    if file.head.lstrip().startswith("["):
        values = _parse_json(file.text, file.name)
    else:
        values = _parse_json_lines(file)
    if not values:
        raise FileFormatError(f"{file.name} has no rows. {UNFINISHED}")
    return from_item_rows(values, "users", file.name)


_CHANGED = re.compile(r"\\u[dD][89a-fA-F]|:\s*(?:true|false)\b")


def _parse_json(text: str, location: str) -> Any:
    """Parse a JSON value and refuse repeated keys; `location` begins the error message."""

    def as_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        mapping = dict(pairs)
        if len(mapping) < len(pairs):
            repeated = next(key for key, n in Counter(key for key, _ in pairs).items() if n > 1)
            raise FileFormatError(
                f"{location} has the key {brief(repeated)} twice in one object, and only one of "
                f"them could be read. Merge the two."
            )
        return mapping

    try:
        return json.loads(text, object_pairs_hook=as_object)
    except RecursionError:
        raise FileFormatError(
            f"{location} is nested too deep to be rankings or relevance judgments."
        ) from None
    except (json.JSONDecodeError, FileFormatError):
        raise
    except ValueError as error:  # Python reads no integer of more than 4300 digits
        raise FileFormatError(
            f"{location} has an integer with too many digits. Write the number as a float, or an "
            f"identifier as a string."
        ) from error


def _parse_json_lines(file: Text) -> list[Any]:
    values = []
    for number, line in enumerate(file.text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            values.append(_parse_json(line, f"{file.name}, line {number}"))
        except json.JSONDecodeError as error:
            raise FileFormatError(
                f"{file.name}, line {number} is not valid JSON ({error.msg}, column "
                f"{error.colno}): {brief(line)}. Complete or remove the line."
            ) from error
    return values


def _read_flat_rows(file: Text) -> Columns | None:
    """Read rows of plain values fast; None where this could change a value.

    Polars reads the integer 7 in a column with strings as ``"7"``. So a column of strings that
    look like something else is left to the slow and exact path. So are escaped surrogates, because
    Polars reads half a pair as the character 0, booleans, because it reads true among numbers as 1,
    and floats beyond 2^53, which may be integers.
    """
    # A search for words is many times faster than one for the pattern.
    if file.contains_any(b"\\u", b"true", b"false") and _CHANGED.search(file.text):
        return None
    first = file.head.lstrip().partition("\n")[0]
    try:
        row = json.loads(first)
        if not isinstance(row, dict) or not (
            names_for_role("user", list(row)) and names_for_role("item", list(row))
        ):
            return None
        # Not read_ndjson: Polars 1.30 takes its columns from the first 100 rows alone.
        lazy = pl.scan_ndjson(BytesIO(file.content), infer_schema_length=None)
        frame = lazy.collect(engine="in-memory")
    except (ValueError, RecursionError, *polars_errors()):
        return None
    for column in frame.iter_columns():
        if column.dtype == pl.String:
            if column.str.contains(r"^\s*([-+.0-9\[{]|true|false|null|nan|inf)").any():
                return None
        elif column.dtype == pl.Float64:
            if (column.is_finite() & (column.abs() >= 2**53)).any():
                return None
        elif column.dtype not in (pl.Int64, pl.Null):
            return None
    _refuse_repeated_keys(file, frame)
    return Columns.of(frame.to_dict(), file.name)


_COLON = re.compile(r"\\u003[aA]")
_TEXT = r'"(?:[^"\\]|\\.)*"'


def _refuse_repeated_keys(file: Text, frame: pl.DataFrame) -> None:
    """Refuse an object with a repeated key, where Polars would read only the first.

    Outside strings every colon belongs to a key, so a row with more colons than values has an
    explicit null or a key twice. Rows are checked only if the file has more colons than values.
    """
    n_values = frame.width * frame.height - sum(column.null_count() for column in frame)
    texts = frame.select(pl.col(pl.String).str.count_matches(":", literal=True).sum())
    in_text = sum(texts.row(0)) if texts.height else 0
    plain = not any(":" in name for name in frame.columns) and not _COLON.search(file.text)
    if plain and file.text.count(":") == n_values + in_text:
        return
    lines = pl.Series("line", [file.text]).str.split("\n").explode().to_frame()
    lines = lines.with_row_index("n", offset=1).filter(pl.col("line").str.contains(r"\S"))
    if lines.height == frame.height:
        keys = lines["line"].str.replace_all(_TEXT, "").str.count_matches(":", literal=True)
        values = frame.select(pl.sum_horizontal(pl.all().is_not_null())).to_series()
        lines = lines.filter(keys != values)
    for n, line in lines.iter_rows():
        _parse_json(line, f"{file.name}, line {n}")
