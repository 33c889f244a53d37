"""Read frames of other libraries, and mappings of columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import polars as pl

from rankmeter._reading.columns import Column, Columns, Side, holds_lists, names_for_role
from rankmeter._reading.table import polars_errors, short_message
from rankmeter.errors import DataError, RankmeterError


def describe_type(data: object) -> str:
    """Package and class of an object, for messages: ``"pyarrow Table"``."""
    return f"{type(data).__module__.partition('.')[0]} {type(data).__name__}"


def class_test(package: str, name: str) -> Callable[[Any], bool]:
    """Return a test for objects of a package's class or subclass, without importing the package."""
    return lambda data: (package, name) in class_names(type(data).__mro__)


@lru_cache
def class_names(mro: tuple[type, ...]) -> frozenset[tuple[str, str]]:
    """Package and name of a class and its bases."""
    return frozenset((base.__module__.partition(".")[0], base.__name__) for base in mro)


def is_sparse(data: object) -> bool:
    """Whether the data are a SciPy sparse matrix."""
    return type(data).__module__.startswith("scipy.sparse")


def from_polars(data: pl.DataFrame, side: Side, source: str = "polars DataFrame") -> Columns:
    """Read a Polars frame."""
    objects = [name for name, dtype in data.schema.items() if dtype == pl.Object]
    lists = {name for name in objects if holds_lists(data.get_column(name).to_list())}
    return Columns(
        data.columns,
        lambda names: {name: to_storage_type(data.get_column(name)) for name in names},
        source,
        nested=names_of_list_columns(data.schema) | lists,
        hint=hint_of_matrix(data.columns, [kind.is_numeric() for kind in data.dtypes], side),
    )


def hint_of_matrix(names: Sequence[str], is_number: Sequence[bool], side: Side) -> str:
    """What to do with a frame that has a column for each item; empty for other frames."""
    users = {*names_for_role("user", names)}
    of_items = [number for name, number in zip(names, is_number, strict=True) if name not in users]
    is_known = any(names_for_role(role, names) for role in ("item", "score", "rank", "gain"))
    if is_known or len(of_items) < 3 or not all(of_items):
        return ""
    remedies: dict[Side, str] = {
        "rankings": " If it is a matrix of scores, users × items, pass rm.Scores(frame).",
        "truth": " If it is a matrix of labels, users × items, pass it to rm.evaluate_scores, with "
        "the matrix of scores.",
    }
    return remedies.get(side, "")


def names_of_list_columns(schema: Mapping[str, Any]) -> frozenset[str]:
    """Names of the columns of a Polars frame that hold lists."""
    return frozenset(name for name, dtype in schema.items() if dtype in (pl.List, pl.Array))


def from_lazy_frame(data: pl.LazyFrame, side: Side, source: str = "polars LazyFrame") -> Columns:
    """Read a Polars query; only the needed columns are computed."""

    def fetch(names: Sequence[str]) -> Mapping[str, Column]:
        # The in-memory engine keeps the row order that a ranking without scores relies on.
        with translate_query_errors(source):
            frame = data.select(names).collect(engine="in-memory")
        return from_polars(frame, side).fetch(names)

    with translate_query_errors(source):
        schema = data.collect_schema()
    return Columns(schema.names(), fetch, source, nested=names_of_list_columns(schema))


@contextmanager
def translate_query_errors(source: str) -> Iterator[None]:
    """Turn any error in a query of another package into an error that names the query."""
    try:
        yield
    except RankmeterError:
        raise
    except (Exception, *polars_errors()) as error:
        raise DataError(
            f"The {source} cannot be computed: {type(error).__name__}: {short_message(error)}. Run "
            f"the query by itself to see more."
        ) from error


def is_duckdb_connection(data: object) -> bool:
    """Whether the data are a DuckDB connection; DuckDB before version 2 has another module name."""
    return any(class_test(package, "DuckDBPyConnection")(data) for package in ("duckdb", "_duckdb"))


def to_storage_type(column: pl.Series) -> Column:
    """Convert an extension type to its storage type, and Python objects to a list."""
    if column.dtype == pl.Object:
        return column.to_list()
    if hasattr(pl, "BaseExtension") and isinstance(column.dtype, pl.BaseExtension):  # Polars 2
        return column.ext.storage()
    return column


def is_ids_and_scores(data: object) -> bool:
    """Whether data are a pair of 2-D arrays of one shape, ids and floats, as from implicit."""
    if not (isinstance(data, tuple) and len(data) == 2):
        return False
    if {getattr(table, "ndim", 0) for table in data} != {2} or data[0].shape != data[1].shape:
        return False
    return ["float" in str(table.dtype) for table in data] == [False, True]


def is_spark(data: object) -> bool:
    """Whether the data are a Spark DataFrame."""
    return any(
        kind.__name__ == "DataFrame" and kind.__module__.startswith("pyspark.sql.")
        for kind in type(data).__mro__
    )
