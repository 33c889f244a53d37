"""Arrays of item ids (users × k) and sparse matrices (users × items)."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import polars as pl

from rankmeter._ingest._columns import Column, Columns, Side
from rankmeter.errors import DataError

__all__ = ["from_array", "from_sparse"]


def from_array(data: Any, side: Side) -> Columns:
    """An array of shape (users, k) of item ids, or (k,) for one user.

    Notes
    -----
    Masked cells are padding: they hold no item and are counted.
    """
    array = data if isinstance(data, np.ma.MaskedArray) else np.asarray(data)
    source = f"{type(data).__module__.partition('.')[0]} {type(data).__name__}"
    if (
        array.dtype == object
        and array.ndim == 1
        and any(hasattr(v, "__len__") and not isinstance(v, str) for v in array)
    ):
        from rankmeter._ingest._mappings import from_listing

        return from_listing(array.tolist(), side, source)
    if array.dtype.names or array.ndim not in (1, 2):
        raise DataError(
            f"{source} has shape {array.shape} and type {array.dtype}; expected item ids of shape "
            f"(users, k), or (k,) for one user."
        )
    table = array.reshape(1, -1) if array.ndim == 1 else array
    keep = ~np.ma.getmaskarray(table)
    if len(table) == 0:
        raise DataError(f"{source} has no rows: there is nothing to evaluate.")
    lengths = keep.sum(axis=1)
    items = np.ma.getdata(table)[keep]
    counts = Counter({"masked_cells": int(keep.size - keep.sum())})
    return _columns(source, lengths, {"item": _items(items)}, +counts)


def from_sparse(data: Any, side: Side) -> Columns:
    """A SciPy matrix of shape (users, items), whose stored entries are scores or gains.

    Notes
    -----
    Stored zeros are entries. Entries stored twice are added up, as SciPy itself defines them.
    """
    matrix = data.reshape(1, -1) if data.ndim == 1 else data
    rows = matrix.tocsr()
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    if rows.shape[0] == 0:
        raise DataError("The sparse matrix has no rows: there is nothing to evaluate.")
    columns: dict[str, Column] = {
        "item": pl.Series(rows.indices.astype(np.int64)),
        "value": pl.Series(rows.data),
    }
    return _columns(f"SciPy {type(data).__name__}", np.diff(rows.indptr), columns, Counter())


def _items(values: Any) -> Column:
    if values.dtype.kind in "iufUb" and values.dtype.itemsize != 2:
        return pl.Series(values)
    return values.tolist()  # type: ignore[no-any-return]


def _columns(
    source: str, lengths: Any, columns: dict[str, Column], counts: Counter[str]
) -> Columns:
    users = np.arange(len(lengths))
    whole: dict[str, Column] = {"user": pl.Series(np.repeat(users, lengths)), **columns}
    return Columns(
        list(whole),
        lambda names: {name: whole[name] for name in names},
        source,
        roles={name: name for name in whole},
        empty_users=users[lengths == 0].tolist(),
        counts=counts,
    )
