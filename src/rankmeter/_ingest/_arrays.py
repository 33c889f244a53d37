"""Arrays of item ids (users × k) and sparse matrices (users × items)."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import polars as pl

from rankmeter._ingest._columns import OF_USERS, Column, Columns, Side
from rankmeter._ingest._containers import from_listing
from rankmeter._ingest._frames import describe_type, numpy_column
from rankmeter._ingest._ids import refuse_rounded
from rankmeter.errors import DataError


def from_array(data: Any, side: Side) -> Columns:
    """Item ids of shape (users, k), or (k,) for one user; an array of lists is a list of lists.

    A structured array has columns. Masked cells are padding: they hold no item and are counted.
    """
    source = describe_type(data)
    array = data if isinstance(data, np.ma.MaskedArray) else _numpy(data, source)
    if array.dtype == object and array.ndim == 1:
        return from_listing(array.tolist(), side, source)
    if array.dtype.names and array.ndim == 1:
        columns = {name: numpy_column(array[name]) for name in array.dtype.names}
        return Columns.of(columns, source)
    if array.dtype.kind == "V" or array.ndim not in (1, 2) or array.shape[0] == 0:
        raise DataError(
            f"The {source} has shape {array.shape} and type {array.dtype}; expected item ids of "
            f"shape (users, k), or (k,) for one user."
        )
    if side in OF_USERS:
        return from_listing(array.tolist(), side, source)
    table = array.reshape(1, -1) if array.ndim == 1 else array
    keep = ~np.ma.getmaskarray(table)
    counts = Counter({"masked_cells": int(keep.size - keep.sum())})
    values = np.ma.getdata(table)[keep]
    if array.dtype == np.float16:  # a column of them may be wider
        refuse_rounded(values.tolist(), array.dtype, source)
    items = numpy_column(values)
    return _array_columns(source, keep.sum(axis=1), {"item": items}, counts, ndim=array.ndim)


def _numpy(data: Any, source: str) -> Any:
    """Anything that NumPy can read, and tensors that must first leave a device or a gradient."""
    if hasattr(data, "detach") and hasattr(data, "cpu"):
        data = data.detach().cpu()
    try:
        return np.asarray(data)
    except (TypeError, ValueError, RuntimeError) as error:
        raise DataError(
            f"The {source} cannot be read as an array: {str(error).splitlines()[0]}. Pass ids as "
            f"integers, in memory of the CPU."
        ) from error


def from_sparse(data: Any, side: Side) -> Columns:
    """A SciPy matrix of shape (users, items), whose stored entries are scores or gains.

    Stored zeros are entries. Entries stored twice are added up, as SciPy itself defines them.
    """
    source = describe_type(data)
    rows = (data.reshape(1, -1) if data.ndim == 1 else data).tocsr()
    if not rows.has_canonical_format:
        rows = rows.copy()  # the input is never changed
        rows.sum_duplicates()
    if rows.shape[0] == 0:
        raise DataError(f"The {source} has no rows: there is nothing to evaluate.")
    columns = {"item": numpy_column(rows.indices), "value": numpy_column(rows.data)}
    return _array_columns(source, np.diff(rows.indptr), columns, Counter(), ndim=data.ndim)


def _array_columns(
    source: str, lengths: Any, columns: dict[str, Column], counts: Counter[str], *, ndim: int
) -> Columns:
    users = np.arange(len(lengths))
    whole: dict[str, Column] = {"user": pl.Series(np.repeat(users, lengths)), **columns}
    return Columns.by_role(
        whole,
        source,
        empty_users=pl.Series(users[lengths == 0]),
        counts=counts,
        shape="flat" if ndim == 1 else "rows" if len(lengths) > 1 else "",
    )
