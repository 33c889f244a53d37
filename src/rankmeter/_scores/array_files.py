"""Read files of arrays and of ranks, and labels of rows."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rankmeter._formats.files import (
    choose_reader,
    is_text_file,
    name_without_compression,
    read_text,
)
from rankmeter._formats.json import read_json, read_json_lines, read_json_rows
from rankmeter._formats.paths import expand_home
from rankmeter._formats.text import read_user_lines
from rankmeter._formats.trec import is_number
from rankmeter._reading.columns import Column, Columns, frame_kind
from rankmeter._reading.forms import read_columns
from rankmeter._reading.frames import class_test
from rankmeter._reading.ids import to_ids
from rankmeter._reading.keyed import find_column, labels_to_text
from rankmeter._reading.numbers import to_typed_series
from rankmeter._reading.other_frames import column_from_numpy
from rankmeter._reading.table import Kind
from rankmeter._scores.arrays import asarray, to_numpy
from rankmeter.errors import ColumnError, DataError, FileFormatError
from rankmeter.errors._checks import counted, suggest_words

SUFFIXES = (".npy", ".npz", ".json")

PAIRS = (("row", "col"), ("row", "column"), ("rows", "columns"))
"""The names of two arrays that are the cells of a matrix."""


def is_array_file(data: object) -> bool:
    """Whether the data are the path of an array file, judged by the file name."""
    return isinstance(data, str | PathLike) and str(data).endswith(SUFFIXES)


def read_array_file(path: str | PathLike[str]) -> Any:
    """Read the array, sparse matrix, pair of arrays or nested list in a file.

    Raises
    ------
    FileFormatError
        If the file has another form.
    """
    file = Path(path)
    try:
        if file.suffix == ".npy":
            return np.load(file, mmap_mode="r", allow_pickle=False)
        if file.suffix == ".npz":
            return _read_archive(file)
        if file.suffix == ".json":
            return json.loads(file.read_text("utf-8"))
    except FileFormatError:
        raise
    except (OSError, ValueError, KeyError) as error:
        raise FileFormatError(
            f"{file} cannot be read as an array: {read_error_reason(error)}"
        ) from error
    raise FileFormatError(f"{file} cannot be read as an array: expected a .npy, .npz or .json file")


def read_error_reason(error: Exception) -> str:
    """Why NumPy cannot read a file, without NumPy's advice to allow pickle."""
    return "it is damaged or holds Python objects" if "pickle" in str(error) else str(error)


def _read_archive(file: Path) -> Any:
    with np.load(file, allow_pickle=False) as archive:
        names = archive.files
        if "format" in names and "shape" in names:
            from scipy.sparse import load_npz

            return load_npz(file)
        for pair in PAIRS:
            if set(pair) == set(names):
                return tuple(archive[name] for name in pair)
        if len(names) == 1:
            return archive[names[0]]
    raise FileFormatError(
        f"{file} has the arrays {', '.join(names)}: expected one array, row and column of cells, "
        "or a matrix written by scipy.sparse.save_npz"
    )


ROLES = {
    "ranks": ("rank", "ranks"),
    "upper": ("upper", "rankupper", "worstrank"),
    "candidates": ("candidates", "ncandidates", "numcandidates"),
    "users": ("user", "query", "userid", "queryid", "id"),
}
"""The plain names of the columns of a table of ranks, the first of which wins."""


def is_path(data: Any) -> bool:
    """Whether the data are a path."""
    return isinstance(data, str | PathLike)


def is_frame_or_path(data: Any) -> bool:
    """Whether the data are a frame or a path."""
    return is_path(data) or class_test("polars", "LazyFrame")(data) or hasattr(data, "columns")


def read_rank_table(data: Any) -> tuple[dict[str, Any], Kind]:
    """Read a table of ranks: columns by role, other text columns as ``groups``; and the frame kind.

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
            raise FileFormatError(
                f"{data} cannot be read as ranks: {read_error_reason(error)}"
            ) from error
    read = _find_columns(data)
    by_role = {role: find_column(read, role, names, first=True) for role, names in ROLES.items()}
    roles = {role: name for role, name in by_role.items() if name}
    if "ranks" not in roles:
        hint = suggest_words("rank", read.names) or f".{read.hint}"
        raise ColumnError(f"{read.source} has no column rank, only {', '.join(read.names)}{hint}")
    table = _read_columns(read)
    groups = {
        name: column
        for name, column in table.items()
        if name not in roles.values() and _is_text_column(column)
    }
    kind = frame_kind(read, {"user": roles["users"]} if "users" in roles else {})
    columns: dict[str, Any] = {role: table[name] for role, name in roles.items()}
    return columns | ({"groups": groups} if groups else {}), kind


def _find_columns(data: Any) -> Columns:
    """Find the columns of a table; a text file without a header has the column ``rank``."""
    if not is_path(data) or not is_text_file(path := expand_home(data)):
        return read_columns(data, "users")
    text = read_text(path)
    first = text.head.strip().partition("\n")[0].strip()
    reader = choose_reader(text, path, "users")
    if (
        name_without_compression(path).suffix == ".txt"
        or reader is read_user_lines
        or is_number(first)
    ):
        lines = read_user_lines(text, "users").fetch(["user"])["user"]
        titled = first.lower() in ROLES["ranks"]
        return Columns.of({"rank": lines[1:] if titled else lines}, str(path), untyped=True)
    return read_json_rows(text) if reader in (read_json, read_json_lines) else reader(text, "users")


def _read_columns(read: Columns) -> dict[str, Column]:
    """Read all columns; convert untyped text to the type that fits all values of a column."""
    columns = read.fetch(read.names)
    if not read.untyped:
        return dict(columns)
    return {name: to_typed_series(column, name, untyped=True) for name, column in columns.items()}


def _is_text_column(column: Column) -> bool:
    if isinstance(column, pl.Series):
        return column.dtype == pl.String
    return {type(value) for value in column if value is not None} == {str}


def row_ids(data: Any, n_rows: int, counts: Counter[str]) -> pl.Series:
    """Return the user id of each row, checked as in rankings; `counts` gets ``float_user_ids``.

    Raises
    ------
    DataError
        If the number of ids is another, or one is missing.
    IdTypeError
        If they are neither all integers nor all strings.
    """
    return to_ids(row_values(data, "users", n_rows), "user", "users=", counts)


def row_labels(data: Any, name: str, n_rows: int) -> pl.Series:
    """Return the label of each row, from an array, a list or a series.

    Raises
    ------
    DataError
        If the number of labels is another, or a label is missing.
    IdTypeError
        If they are neither all text nor all numbers, all booleans or all times.
    """
    labels = labels_to_text(row_values(data, name, n_rows), "label", f"{name}=")
    if labels.null_count():
        missing = np.flatnonzero([label is None for label in labels])
        raise DataError(
            f"`{name}` has no label for {counted(len(missing), 'row')}, the first is row "
            f"{missing[0]}: give every row a label"
        )
    return labels.alias(name)


def row_values(data: Any, name: str, n_rows: int) -> Column:
    """Return the value of each row as a column, from a series, an array or a list."""
    column: Column
    if isinstance(data, pl.Series):
        column = data.to_list() if data.dtype == pl.Object else data
    elif isinstance(data, list | tuple | range):
        column = list(data)
    elif hasattr(data, "to_list") and not hasattr(data, "ndim"):
        column = data.to_list()
    else:
        column = column_from_numpy(np.ravel(to_numpy(asarray(data, name))))
    if len(column) != n_rows:
        raise DataError(
            f"`{name}` must have one label for each of {counted(n_rows, 'row')}, got {len(column)}"
        )
    return column


def row_label_frame(data: Any, name: str, n_rows: int) -> pl.DataFrame:
    """Return a frame of labels from a mapping, a frame, a path or one column called `name`."""
    if is_path(data):
        data = _read_columns(_find_columns(data))
    if hasattr(data, "columns") and not isinstance(data, pl.DataFrame):
        data = {str(column): list(data[column]) for column in data.columns}
    if isinstance(data, pl.DataFrame):
        data = {column: data[column] for column in data.columns}
    if not isinstance(data, Mapping):
        data = {name: data}
    if not data:
        raise DataError(f"`{name}` has no labels: pass one for each of the {n_rows:,} rows")
    return pl.DataFrame([row_labels(labels, str(key), n_rows) for key, labels in data.items()])
