"""Spark DataFrames, classic and Connect, from PySpark 3.5 on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from os import PathLike, fspath
from typing import Any

import polars as pl

from rankmeter._ingest._columns import Column, Columns, Side
from rankmeter._ingest._files import is_parquet, local
from rankmeter._ingest._frames import from_polars, origin, query_errors
from rankmeter._ingest._messages import reason
from rankmeter.errors import UsageError

__all__ = [
    "collected",
    "expression",
    "from_spark",
    "in_spark",
    "is_spark",
    "quoted",
    "sent",
    "spark_session",
]

_PER_ARRAY = 2**16  # rows of a table that is sent
_TYPES: dict[str, Any] = {
    "tinyint": pl.Int8, "smallint": pl.Int16, "int": pl.Int32, "bigint": pl.Int64,
    "float": pl.Float32, "double": pl.Float64, "string": pl.String, "boolean": pl.Boolean,
}  # fmt: skip


def is_spark(data: object) -> bool:
    """Whether this is a DataFrame of Spark."""
    return any(
        kind.__name__ == "DataFrame" and kind.__module__.startswith("pyspark.sql.")
        for kind in type(data).__mro__
    )


def from_spark(data: Any, side: Side) -> Columns:
    """A Spark DataFrame, of which only the needed columns are brought to the driver."""

    def fetch(names: Sequence[str]) -> Mapping[str, Column]:
        frame = collected(data.select([quoted(name) for name in names]), origin(data))
        return from_polars(frame, side).fetch(names)

    return Columns(data.columns, fetch, origin(data))


def in_spark(data: object) -> object:
    """The path of a Parquet file, a folder or a URL as a Spark DataFrame; all else unchanged."""
    if not isinstance(data, str | PathLike):
        return data
    path = fspath(data)
    if "://" not in path:
        if not is_parquet(local(path)):
            return data
        path = str(local(path).absolute())
    session = spark_session()
    with query_errors(path):
        return session.read.parquet(path)


def spark_session(master: str | None = None) -> Any:
    """The session of Spark that is running, or a new one."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise UsageError("engine='spark' needs PySpark: pip install 'rankmeter[spark]'") from None
    builder = SparkSession.builder.appName("rankmeter")
    if master is not None:
        builder = builder.remote(master) if master.startswith("sc://") else builder.master(master)
    try:
        return builder.getOrCreate()
    except Exception as error:
        raise UsageError(
            f"Spark does not start: {reason(error)}. It needs Java 17 and, as `master`, a cluster "
            f"that answers."
        ) from error


def quoted(name: str) -> str:
    """The name of a column in SQL."""
    return "`" + name.replace("`", "``") + "`"


def expression(data: Any, sql: str) -> Any:
    """An expression of the client that a Spark DataFrame belongs to."""
    connect = ".connect." in type(data).__module__
    return import_module(f"pyspark.sql{'.connect' if connect else ''}.functions").expr(sql)


def collected(query: Any, source: str) -> pl.DataFrame:
    """The rows of a query on the driver."""
    with query_errors(source):
        if hasattr(query, "toArrow"):
            return pl.DataFrame(pl.from_arrow(query.toArrow()))
        types = {name: _TYPES.get(kind) for name, kind in query.dtypes}
        rows = [tuple(row) for row in query.collect()]
        return pl.DataFrame(rows, types, orient="row", infer_schema_length=None)


def sent(rows: pl.DataFrame, data: Any, source: str) -> Any:
    """A small table of integers, strings and floats, broadcast where `data` is joined with it.

    It is sent as a few rows of arrays: Spark looks at each row of a local table many times while
    it plans a query.
    """
    session, starts = data.sparkSession, range(0, max(rows.height, 1), _PER_ARRAY)
    arrays = pl.concat(rows[at : at + _PER_ARRAY].select(pl.all().implode()) for at in starts)
    with query_errors(source):
        if hasattr(data, "toArrow"):  # since PySpark 4.0
            packed = session.createDataFrame(arrays.to_arrow(compat_level=pl.CompatLevel.oldest()))
        else:
            kinds = {kind: name for name, kind in _TYPES.items()}
            schema = (f"{name} array<{kinds[kind]}>" for name, kind in rows.schema.items())
            packed = session.createDataFrame(arrays.rows(), ", ".join(schema))
        small = packed.selectExpr(f"inline(arrays_zip({', '.join(rows.columns)}))")
        return small.hint("broadcast")
