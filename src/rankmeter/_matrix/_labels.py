"""Labels of rows in any form: users, clusters, groups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from rankmeter._checks import counted
from rankmeter._matrix._arrays import asarray, host
from rankmeter._matrix._rank_files import is_path, read_table
from rankmeter.errors import DataError

__all__ = ["row_frame", "row_labels"]


def row_labels(data: Any, name: str, n_rows: int) -> pl.Series:
    """One label for each row: an array, a list, a series.

    Raises
    ------
    DataError
        If the number of labels is another, or a label is null.
    """
    if isinstance(data, pl.Series):
        series = data
    elif isinstance(data, list | tuple | range):
        series = pl.Series(name, list(data), strict=False)
    elif hasattr(data, "to_list") and not hasattr(data, "ndim"):
        series = pl.Series(name, data.to_list())
    else:
        series = pl.Series(name, np.ravel(host(asarray(data, name))))
    if len(series) != n_rows:
        raise DataError(
            f"`{name}` must have one label for each of {counted(n_rows, 'row')}, got {len(series)}"
        )
    if series.null_count():
        raise DataError(f"`{name}` has no label for row {int(series.is_null().arg_true()[0])}")
    return series.alias(name)


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
