"""Read arrays, sparse matrices and series as columns or as items by user."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from rankmeter._reading.columns import OF_USERS, Column, Columns, Side
from rankmeter._reading.frames import describe_type, from_polars
from rankmeter._reading.ids import refuse_rounded_ids
from rankmeter._reading.objects import is_scalar
from rankmeter._reading.other_frames import column_from_numpy
from rankmeter._reading.shapes import flatten_lists, from_listing
from rankmeter.errors import DataError
from rankmeter.errors._checks import no_rows_error


def from_pandas_series(data: Any, side: Side) -> Columns:
    """Read lists by user from a Series, such as ``groupby("user")["item"].agg(list)``."""
    values = data.tolist()
    if side in OF_USERS:
        pairs = list(zip(data.index.tolist(), values, strict=True))
        return from_listing(values if side == "users" else pairs, side, "pandas Series")
    if any(map(is_scalar, values)):
        raise DataError(
            "The pandas Series holds single values; expected one list of items per user, with the "
            "users in the index. Pass .tolist() if these are the items of one user, or "
            ".reset_index() if the index holds more."
        )
    read = flatten_lists(data.index.tolist(), values, side, "pandas Series")
    return replace(read, shape="index", pandas=data)


def from_array(data: Any, side: Side) -> Columns:
    """Read item ids of shape (users, k), or (k,) for one user; an object array as a list of lists.

    A structured array has columns. Masked cells are padding: they hold no item and are counted.
    """
    source = describe_type(data)
    array = data if isinstance(data, np.ma.MaskedArray) else _to_numpy(data, source)
    if array.dtype == object and array.ndim == 1:
        return from_listing(array.tolist(), side, source)
    if array.dtype.names and array.ndim == 1:
        columns = {name: column_from_numpy(array[name]) for name in array.dtype.names}
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
        refuse_rounded_ids(values.tolist(), array.dtype, source)
    items = column_from_numpy(values)
    return _columns_with_numbered_users(
        source, keep.sum(axis=1), {"item": items}, counts, ndim=array.ndim
    )


def from_ids_and_scores(data: Any, side: Side) -> Columns:
    """Read item ids and scores, both of shape (users, k), as returned by implicit.

    implicit fills a list that has no more items with the lowest number of the type of the scores;
    such cells are padding, like masked ones.
    """
    source = "pair of ids and scores"
    if side != "rankings":
        raise DataError(f"A {source} holds rankings, so it has no {side}.")
    ids, scores = (_to_numpy(array, source) for array in data)
    padding = np.ma.getmaskarray(data[0]) | (scores == np.finfo(scores.dtype).min)
    columns = {
        "item": column_from_numpy(ids[~padding]),
        "value": column_from_numpy(scores[~padding]),
    }
    counts = Counter({"masked_cells": int(padding.sum())})
    return _columns_with_numbered_users(source, (~padding).sum(axis=1), columns, counts, ndim=2)


def _to_numpy(data: Any, source: str) -> Any:
    """Convert data to a NumPy array; detach tensors and copy them to the CPU first."""
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
    """Read a SciPy matrix of shape (users, items), whose stored entries are scores or gains.

    Stored zeros are entries. Entries stored twice are added up, as SciPy itself defines them.
    """
    source = describe_type(data)
    rows = (data.reshape(1, -1) if data.ndim == 1 else data).tocsr()
    if not rows.has_canonical_format:
        rows = rows.copy()  # the input is never changed
        rows.sum_duplicates()
    if rows.shape[0] == 0:
        raise no_rows_error(f"The {source}")
    columns = {"item": column_from_numpy(rows.indices), "value": column_from_numpy(rows.data)}
    n_items = np.diff(rows.indptr)
    read = _columns_with_numbered_users(source, n_items, columns, Counter(), ndim=data.ndim)
    return replace(read, is_ordered=False)


def _columns_with_numbered_users(
    source: str, lengths: Any, columns: dict[str, Column], counts: Counter[str], *, ndim: int
) -> Columns:
    users = np.arange(len(lengths))
    all_columns: dict[str, Column] = {"user": pl.Series(np.repeat(users, lengths)), **columns}
    return Columns.from_role_columns(
        all_columns,
        source,
        empty_users=pl.Series(users[lengths == 0]),
        counts=counts,
        shape="flat" if ndim == 1 else "rows" if len(lengths) > 1 else "",
    )


def from_series(data: pl.Series, side: Side) -> Columns:
    """Read a Series: users as a column of a frame, which keeps its type, other sides as a list."""
    if side == "users":
        return from_polars(data.to_frame("user"), side, "polars Series")
    return from_listing(data.to_list(), side, "polars Series")
