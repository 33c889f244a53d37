"""Labels of rows in any form: users, clusters, groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any

import numpy as np
import polars as pl

from rankmeter._checks import counted
from rankmeter._hits import IntArray
from rankmeter._ingest._columns import Column
from rankmeter._ingest._frames import numpy_column
from rankmeter._ingest._ids import floats, ids, is_null, kinds
from rankmeter._matrix._arrays import asarray, host
from rankmeter._matrix._rank_files import is_path, read_table
from rankmeter.errors import DataError

__all__ = ["row_frame", "row_ids", "row_labels"]


def row_ids(data: Any, n_rows: int, counts: Counter[str]) -> pl.Series:
    """An id of a user for each row, checked as in rankings; `counts` gets ``float_user_ids``.

    Raises
    ------
    DataError
        If the number of ids is another, or one is missing.
    IdTypeError
        If they are neither all integers nor all strings.
    """
    return ids(_column(data, "users", n_rows), "user", "users=", counts)


def row_labels(data: Any, name: str, n_rows: int) -> pl.Series:
    """One label for each row: an array, a list, a series.

    Raises
    ------
    DataError
        If the number of labels is another, or a label is missing.
    IdTypeError
        If they are neither all text nor all numbers, all booleans or all times.
    """
    column = _column(data, name, n_rows)
    missing = _missing(column)
    if missing.size:
        raise DataError(
            f"`{name}` has no label for {counted(missing.size, 'row')}, the first is row "
            f"{missing[0]}: give every row a label"
        )
    column = _numbers_or_times(column)
    if isinstance(column, pl.Series) and (
        column.dtype.is_numeric() or column.dtype.is_temporal() or column.dtype == pl.Boolean
    ):
        return column.alias(name)
    return ids(column, "label", f"{name}=", Counter()).alias(name)


def _missing(column: Column) -> IntArray:
    """The rows without a value."""
    if isinstance(column, list):
        return np.flatnonzero(np.fromiter(map(is_null, column), dtype=bool, count=len(column)))
    missing = column.is_null()
    if column.dtype.is_float():
        missing |= column.is_nan().fill_null(value=False)
    return missing.to_numpy().nonzero()[0]


def _numbers_or_times(column: Column) -> Column:
    """Objects of Python as a series where they are floats, booleans or times, and all of them."""
    if isinstance(column, pl.Series) or not column:
        return column
    found = kinds(column)
    if "float" in found and found <= {"integer", "float"}:
        return floats(column, found)
    if found == {"boolean"}:
        return pl.Series([bool(one) for one in column])
    if len(set(map(type, column))) == 1 and isinstance(column[0], date | timedelta):
        return pl.Series(column)
    return column


def _column(data: Any, name: str, n_rows: int) -> Column:
    """One value for each row, of a series, an array or a list."""
    column: Column
    if isinstance(data, pl.Series):
        column = data.to_list() if data.dtype == pl.Object else data
    elif isinstance(data, list | tuple | range):
        column = list(data)
    elif hasattr(data, "to_list") and not hasattr(data, "ndim"):
        column = data.to_list()
    else:
        column = numpy_column(np.ravel(host(asarray(data, name))))
    if len(column) != n_rows:
        raise DataError(
            f"`{name}` must have one label for each of {counted(n_rows, 'row')}, got {len(column)}"
        )
    return column


def row_frame(data: Any, name: str, n_rows: int) -> pl.DataFrame:
    """One or several columns of labels: a mapping or frame of them, or one column of this name."""
    if is_path(data):
        data = read_table(data)
    if hasattr(data, "columns") and not isinstance(data, pl.DataFrame):
        data = {str(column): list(data[column]) for column in data.columns}
    if isinstance(data, pl.DataFrame):
        data = {column: data[column] for column in data.columns}
    if not isinstance(data, Mapping):
        data = {name: data}
    columns = [row_labels(one, str(key), n_rows) for key, one in data.items()]
    return pl.DataFrame([column.cast(pl.String) for column in columns])
