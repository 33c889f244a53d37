"""Labels of rows in any form: users, clusters, groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from rankmeter._checks import counted
from rankmeter._ingest._columns import Column
from rankmeter._ingest._frames import numpy_column
from rankmeter._ingest._ids import ids
from rankmeter._ingest._keyed import as_text
from rankmeter._matrix._arrays import asarray, host
from rankmeter._matrix._rank_files import is_path, read_table
from rankmeter.errors import DataError


def row_ids(data: Any, n_rows: int, counts: Counter[str]) -> pl.Series:
    """An id of a user for each row, checked as in rankings; `counts` gets ``float_user_ids``.

    Raises
    ------
    DataError
        If the number of ids is another, or one is missing.
    IdTypeError
        If they are neither all integers nor all strings.
    """
    return ids(row_column(data, "users", n_rows), "user", "users=", counts)


def row_labels(data: Any, name: str, n_rows: int) -> pl.Series:
    """One label for each row: an array, a list, a series.

    Raises
    ------
    DataError
        If the number of labels is another, or a label is missing.
    IdTypeError
        If they are neither all text nor all numbers, all booleans or all times.
    """
    labels = as_text(row_column(data, name, n_rows), "label", f"{name}=")
    missing = labels.is_null().arg_true()
    if len(missing):
        raise DataError(
            f"`{name}` has no label for {counted(len(missing), 'row')}, the first is row "
            f"{missing[0]}: give every row a label"
        )
    return labels.alias(name)


def row_column(data: Any, name: str, n_rows: int) -> Column:
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
    columns = [row_labels(labels, str(key), n_rows) for key, labels in data.items()]
    return pl.DataFrame(columns)
