"""Tables of ranks: frames, files, or one rank per line."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rankmeter._checks import near
from rankmeter._ingest import Kind
from rankmeter._ingest._bundles import expand_home
from rankmeter._ingest._columns import Column, Columns, frame_kind
from rankmeter._ingest._files import is_text, read_text, reader_of, unpacked_name
from rankmeter._ingest._forms import find
from rankmeter._ingest._frames import made_by
from rankmeter._ingest._json import read_json, read_json_lines, read_rows
from rankmeter._ingest._keyed import column_of
from rankmeter._ingest._numbers import typed
from rankmeter._ingest._text import read_lines
from rankmeter._matrix._array_files import reason
from rankmeter.errors import ColumnError, FileFormatError

ROLES = {
    "ranks": ("rank", "ranks"),
    "upper": ("upper", "rankupper", "worstrank"),
    "candidates": ("candidates", "ncandidates", "numcandidates"),
    "users": ("user", "query", "userid", "queryid", "id"),
}
"""The plain names of the columns of a table of ranks, the first of which wins."""


def is_path(data: Any) -> bool:
    """Whether the data are the path of a file."""
    return isinstance(data, str | PathLike)


def is_table(data: Any) -> bool:
    """Whether the data are a frame, or the path of a file."""
    return is_path(data) or made_by("polars", "LazyFrame")(data) or hasattr(data, "columns")


def read_rank_table(data: Any) -> tuple[dict[str, Any], Kind]:
    """The columns of a table of ranks by role, all other ones of text as ``groups``; its kind.

    Raises
    ------
    FileFormatError
        If a file cannot be read.
    ColumnError
        If no column has the ranks, or several have the name of one role.
    """
    if is_path(data) and Path(data).suffix == ".npy":
        try:
            return {"ranks": np.load(data, allow_pickle=False)}, Kind()
        except (OSError, ValueError) as error:
            raise FileFormatError(f"{data} cannot be read as ranks: {reason(error)}") from error
    read = _columns(data)
    named = {role: column_of(read, role, names, first=True) for role, names in ROLES.items()}
    roles = {role: name for role, name in named.items() if name}
    if "ranks" not in roles:
        hint = near("rank", read.names) or f".{read.hint}"
        raise ColumnError(f"{read.source} has no column rank, only {', '.join(read.names)}{hint}")
    table = _fetched(read)
    groups = {
        name: column
        for name, column in table.items()
        if name not in roles.values() and _is_text(column)
    }
    kind = frame_kind(read, {"user": roles["users"]} if "users" in roles else {})
    columns: dict[str, Any] = {role: table[name] for role, name in roles.items()}
    return columns | ({"groups": groups} if groups else {}), kind


def read_table(path: str | PathLike[str]) -> dict[str, Column]:
    """The columns of a file by name; a text file without a header has the column ``rank``."""
    return _fetched(_columns(path))


def _columns(data: Any) -> Columns:
    if not is_path(data) or not is_text(path := expand_home(data)):
        return find(data, "users")
    text = read_text(path)
    first = text.head.strip().partition("\n")[0].strip()
    reader = reader_of(text, path, "users")
    if unpacked_name(path).suffix == ".txt" or reader is read_lines or _is_number(first):
        lines = read_lines(text, "users").fetch(["user"])["user"]
        titled = first.lower() in ROLES["ranks"]
        return Columns.of({"rank": lines[1:] if titled else lines}, str(path), untyped=True)
    return read_rows(text) if reader in (read_json, read_json_lines) else reader(text, "users")


def _fetched(read: Columns) -> dict[str, Column]:
    """All columns; those of text without types get the type that all of their values have."""
    columns = read.fetch(read.names)
    if not read.untyped:
        return dict(columns)
    return {name: typed(column, name, untyped=True) for name, column in columns.items()}


def _is_text(column: Column) -> bool:
    if isinstance(column, pl.Series):
        return column.dtype == pl.String
    return {type(value) for value in column if value is not None} == {str}


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
