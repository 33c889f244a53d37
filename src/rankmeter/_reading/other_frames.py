"""Read frames of pandas, Arrow and DuckDB, and columns of NumPy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import polars as pl

from rankmeter._reading.columns import Column, Columns, Side, holds_lists, names_for_role
from rankmeter._reading.frames import (
    describe_type,
    from_polars,
    hint_of_matrix,
    to_storage_type,
    translate_query_errors,
)
from rankmeter._reading.table import polars_errors, short_message
from rankmeter.errors import DataError, UsageError


def from_arrow(data: Any, side: Side) -> Columns:
    """Read any object that exports an Arrow stream: pyarrow, Spark 4.3 or later, and many more."""
    source = describe_type(data)
    halves = _names_of_half_floats(data)
    try:
        # Not pl.from_arrow: Polars 2 makes it a Series for objects that only have the capsule.
        if halves:
            import pyarrow as pa

            data = pa.table(data)
        frame = pl.DataFrame(data)
    except UsageError:  # in a forked child
        raise
    except (TypeError, ValueError, *polars_errors()) as error:
        raise DataError(
            f"The Arrow data of {source} cannot be read as a table: {short_message(error)}. Pass "
            f"an object that exports a table with a column for the user and one for the item."
        ) from error
    if not halves:
        return from_polars(frame, side, source)
    columns = dict(from_polars(frame, side).fetch(frame.columns))
    for name in halves:
        columns[name] = column_from_numpy(frame.get_column(name).to_numpy().astype(np.float16))
    return Columns.of(columns, source)


def from_pyarrow_dataset(data: Any, side: Side) -> Columns:
    """Read a pyarrow dataset; only the needed columns are read."""

    def fetch(names: Sequence[str]) -> Mapping[str, Column]:
        with translate_query_errors("pyarrow Dataset"):
            table = data.to_table(columns=list(names))
        return from_arrow(table, side).fetch(names)

    nested = frozenset(field.name for field in data.schema if "list<" in str(field.type))
    return Columns(data.schema.names, fetch, "pyarrow Dataset", nested=nested)


def _names_of_half_floats(data: Any) -> list[str]:
    """Names of half-precision pyarrow columns, which Polars 1 would widen or misread."""
    if hasattr(pl, "Float16") or not describe_type(data).startswith("pyarrow "):
        return []
    return [field.name for field in data.schema if str(field.type) == "halffloat"]


def from_duckdb(data: Any, side: Side, source: str = "DuckDB relation") -> Columns:
    """Read a DuckDB relation; only the needed columns are computed."""

    def fetch(names: Sequence[str]) -> Mapping[str, Column]:
        with translate_query_errors(source):
            query = data.project(", ".join(map(quote_identifier, names)))
            if hasattr(query, "__arrow_c_stream__"):
                return from_polars(pl.DataFrame(query), side).fetch(names)
            return {name: column_from_numpy(values) for name, values in query.fetchnumpy().items()}

    types = zip(data.columns, map(str, data.types), strict=True)
    nested = frozenset(name for name, kind in types if kind.endswith("]"))
    return Columns(data.columns, fetch, source, nested=nested)


def from_duckdb_result(data: Any, side: Side) -> Columns:
    """Read the rows that a DuckDB connection has ready after `execute`."""
    source = "result of DuckDB"
    try:
        rows = None if data.description is None else data.fetchnumpy()
    except Exception:  # noqa: BLE001 - before version 2, what has no rows left raises
        rows = None
    if rows is None:
        raise DataError(
            f"The DuckDB connection has no result that can be read as {side}. Pass a relation, "
            f"con.sql('SELECT …'), or con.execute('SELECT …') before its rows are fetched."
        )
    return Columns.of({name: column_from_numpy(values) for name, values in rows.items()}, source)


def from_pandas(data: Any, side: Side) -> Columns:
    """Read a pandas frame, column by column, so that pyarrow is not needed."""
    if side in ("segments", "clusters") and _has_users_in_index(data):
        data = data.rename_axis("user").reset_index()
    # Names need not be strings (0, 1, … without a header), and positions are unique where they
    # are not.
    names = [str(name) for name in data.columns]

    def fetch(requested: Sequence[str]) -> Mapping[str, Column]:
        return {name: _column_from_pandas(data.iloc[:, names.index(name)]) for name in requested}

    levels = [str(name) for name in data.index.names if name is not None]
    in_index = [name for role in ("user", "item") for name in names_for_role(role, levels)]
    hint = hint_of_matrix(names, [dtype.kind in "iuf" for dtype in data.dtypes], side)
    if in_index and not hint:
        hint = f" {in_index[0]!r} is in the index: call .reset_index() first."
    lists = [_holds_lists(data.iloc[:, n]) for n in range(len(names))]
    nested = frozenset(name for name, held in zip(names, lists, strict=True) if held)
    return Columns(names, fetch, "pandas DataFrame", hint=hint, nested=nested, pandas=data)


def _has_users_in_index(data: Any) -> bool:
    """Whether only the index can hold the users: by its name, or as text next to one column."""
    index = data.index
    if index.nlevels > 1 or names_for_role("user", [str(name) for name in data.columns]):
        return False
    if index.name is not None:
        return bool(names_for_role("user", [str(index.name)]))
    return len(data.columns) == 1 and all(isinstance(label, str) for label in index)


def _holds_lists(series: Any) -> bool:
    if series.dtype == object:
        return holds_lists(series.to_numpy())
    return str(series.dtype).startswith(("list<", "large_list<", "fixed_size_list<"))


def _column_from_pandas(series: Any) -> Column:
    dtype = series.dtype
    if isinstance(dtype, np.dtype):
        return column_from_numpy(series.to_numpy())
    if dtype.name == "category":
        return _column_from_category(series)
    if str(dtype).startswith(("period[", "interval[")):  # Arrow has its number, or a struct
        return list(series)
    if _holds_lists(series):  # Polars 1.30 crashes where it hashes text out of such lists
        return list(series)
    try:
        import pyarrow as pa

        return to_storage_type(pl.Series(pl.from_arrow(pa.array(series, from_pandas=True))))
    except (ImportError, TypeError, ValueError, NotImplementedError):
        return list(series)


def _column_from_category(series: Any) -> Column:
    categories = _column_from_pandas(series.cat.categories.to_series())
    codes = series.cat.codes.to_numpy()
    if isinstance(categories, pl.Series):
        positions = pl.Series(codes.astype(np.int64))
        return categories.gather(positions.set(positions < 0, None))
    return [categories[code] if code >= 0 else None for code in codes]


def column_from_numpy(values: Any) -> Column:
    """Convert a 1-D array; types unknown to Polars become the next wider type or Python objects."""
    if isinstance(values, np.ma.MaskedArray):
        return values.tolist() if values.mask.any() else column_from_numpy(values.data)
    if values.dtype == np.float16 and not hasattr(pl, "Float16"):
        return list(values)  # scalars, which keep their precision
    if values.dtype.kind == "f" and values.dtype.itemsize > 8:
        return pl.Series(values.astype(np.float64))
    if values.dtype.kind in "mM" and np.datetime_data(values.dtype)[0] not in ("ms", "us", "ns"):
        return pl.Series(values.astype(f"{values.dtype.kind}8[us]"))
    if values.dtype.kind in "biufmM":
        return pl.Series(values)
    if values.dtype.kind == "U":
        with suppress(UnicodeEncodeError):  # the check of ids reports invalid text
            return pl.Series(values)
    return values.tolist()  # type: ignore[no-any-return]


def quote_identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
