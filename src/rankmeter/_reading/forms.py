"""Every form of data: which reader takes it."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from os import PathLike, fspath
from typing import Any, NamedTuple

import polars as pl

from rankmeter._reading.columns import Column, Columns, Side
from rankmeter._reading.containers import (
    from_array,
    from_listing,
    from_mapping,
    from_pandas_series,
    from_sparse,
    records_of,
)
from rankmeter._reading.files import from_path, is_parquet
from rankmeter._reading.frames import (
    describe_type,
    expand_home,
    from_arrow,
    from_dataset,
    from_duckdb,
    from_lazy,
    from_pandas,
    from_polars,
    made_by,
)
from rankmeter._reading.table import Kind, polars_errors, reason
from rankmeter.errors import DataError, NotEnoughMemoryError, RankmeterError, UsageError
from rankmeter.errors._checks import shown

_PER_ARRAY = 2**18  # values of a table that is sent


@functools.cache
def _types() -> dict[str, Any]:
    """Types of Polars by the name in Spark."""
    return {
        "tinyint": pl.Int8, "smallint": pl.Int16, "int": pl.Int32, "bigint": pl.Int64,
        "float": pl.Float32, "double": pl.Float64, "string": pl.String, "boolean": pl.Boolean,
    }  # fmt: skip


_NO_MEMORY = re.compile(
    r"OutOfMemory|OUT_OF_MEMORY|(?:UNABLE_TO|CANNOT)_ACQUIRE_MEMORY|(?i:not enough memory)"
    r"|GC overhead|(?i:(?:can ?no|can'|could no)t (?:allocate|acquire) [^\n]{0,30}\bmemory)"
    r"|[Cc]annot broadcast the table|[Ee]xit(?:ed with)? (?:code|status):? (?:52|137)\b"
)
"""What Spark says where memory is missing; executors end with 52, or with 137 if they are ended."""
_IN_TASK = re.compile(r"(?s).*most recent failure: [^\n]*?\): ")


@contextmanager
def _query_errors(source: str) -> Iterator[None]:
    """Turn any error of Spark into one that names the query and the root of its causes."""
    try:
        yield
    except RankmeterError:
        raise
    except (Exception, *polars_errors()) as error:
        causes = [*_causes(error)]
        why = reason(_IN_TASK.sub("", causes[-1])).rstrip(".")
        if any(map(_NO_MEMORY.search, causes)):
            raise NotEnoughMemoryError(
                f"Spark has not enough memory for a query of {source}: {why}. The ground truth and "
                f"the rows with judged items are broadcast, `memory` at a time (2 GiB if it is not "
                f"given): give a smaller `memory` (67.1 MB at least), or give more to "
                f"spark.executor.memory and spark.driver.memory."
            ) from error
        raise DataError(
            f"The {source} cannot be computed: {why}. Run the query by itself to see more."
        ) from error


def _causes(error: Any) -> Iterator[str]:
    """The messages of an error of Spark, from what was called to the root of its causes."""
    yield f"{type(error).__name__}: {error}"
    java = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    while java is not None:
        yield str(java.toString())
        java = java.getCause()


def is_spark(data: object) -> bool:
    """Whether this is a DataFrame of Spark."""
    return any(
        kind.__name__ == "DataFrame" and kind.__module__.startswith("pyspark.sql.")
        for kind in type(data).__mro__
    )


def from_spark(data: Any, side: Side) -> Columns:
    """A Spark DataFrame, of which only the needed columns are brought to the driver."""

    def fetch(names: Sequence[str]) -> Mapping[str, Column]:
        frame = collect_rows(data.select([quoted(name) for name in names]), describe_type(data))
        return from_polars(frame, side).fetch(names)

    return Columns(data.columns, fetch, describe_type(data))


def in_spark(data: object) -> object:
    """The path of a Parquet file, a folder or a URL as a Spark DataFrame; all else unchanged."""
    if not isinstance(data, str | PathLike):
        return data
    path = fspath(data)
    if "://" not in path:
        if not is_parquet(expand_home(path)):
            return data
        path = str(expand_home(path).absolute())
    session = spark_session()
    with _query_errors(path):
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


def collect_rows(query: Any, source: str) -> pl.DataFrame:
    """The rows of a query on the driver."""
    with _query_errors(source):
        if hasattr(query, "toArrow"):
            return pl.DataFrame(pl.from_arrow(query.toArrow()))
        types = {name: _types().get(kind) for name, kind in query.dtypes}
        rows = [tuple(row) for row in query.collect()]
        return pl.DataFrame(rows, types, orient="row", infer_schema_length=None)


def broadcast(rows: pl.DataFrame, data: Any, source: str) -> Any:
    """A small table of integers, strings and floats, broadcast where `data` is joined with it."""
    return _local(rows, data.sparkSession, source).hint("broadcast")


def _local(rows: pl.DataFrame, session: Any, source: str) -> Any:
    """A table of the driver as a Spark DataFrame.

    It is sent as a few rows of arrays: Spark looks at each row of a local table many times while
    it plans a query.
    """
    from pyspark.sql import DataFrame

    plain = pl.DataFrame([column.alias(f"c{n}") for n, column in enumerate(rows)])
    size = max(_PER_ARRAY // rows.width, 1)
    starts = range(0, max(rows.height, 1), size)
    arrays = pl.concat(plain[at : at + size].select(pl.all().implode()) for at in starts)
    with _query_errors(source):
        if hasattr(DataFrame, "toArrow"):  # since PySpark 4.0
            packed = session.createDataFrame(arrays.to_arrow(compat_level=pl.CompatLevel.oldest()))
        else:
            schema = (f"{name} array<{_named(kind)}>" for name, kind in plain.schema.items())
            packed = session.createDataFrame(arrays.rows(), ", ".join(schema))
        return packed.selectExpr(f"inline(arrays_zip({', '.join(plain.columns)}))").toDF(
            *rows.columns
        )


def _named(kind: Any) -> str:
    """A type of Polars in SQL."""
    if isinstance(kind, pl.Decimal):
        return f"decimal({kind.precision},{kind.scale})"
    return next(name for name, dtype in _types().items() if dtype == kind)


@dataclass(frozen=True)
class _InSpark(Kind):
    """Spark, with the names and types that the data had for users and items."""

    session: Any = None

    def frame(self, frame: pl.DataFrame) -> Any:
        """See `Kind`; the rows are sent when Spark needs them. Names differ in more than case."""
        columns = [_typed(column, self.types.get(column.name)) for column in frame]
        names = [str(self.names.get(name, name)) for name in frame.columns]
        if len({name.lower() for name in names}) < len(names):
            names = frame.columns
        return _local(pl.DataFrame(columns), self.session, "frame of the result").toDF(*names)


def kind_in_spark(data: Any, roles: Mapping[str, str]) -> Kind:
    """The kind of a Spark DataFrame whose roles are known."""
    names = {role: roles[role] for role in roles.keys() & {"user", "item"}}
    kinds = dict(data.dtypes)
    types = {role: _types()[kinds[name]] for role, name in names.items() if kinds[name] in _types()}
    return _InSpark(names=names, types=types, session=data.sparkSession)


def _typed(column: pl.Series, dtype: Any) -> pl.Series:
    """A column in a type, if that holds all its values, or else in one that Spark has."""
    if dtype is None:
        dtype = column.dtype
    if dtype not in _types().values():
        dtype = pl.Int64 if column.dtype.is_integer() else pl.String
    typed = column.cast(dtype, strict=False)
    if typed.cast(column.dtype, strict=False).equals(column, null_equal=True):
        return typed
    return column if column.dtype != pl.UInt64 else column.cast(pl.Decimal(20, 0))


class Form(NamedTuple):
    """One accepted input form."""

    name: str
    recognise: Callable[[Any], bool]
    read: Callable[[Any, Side], Columns]


def _is(*kinds: type) -> Callable[[Any], bool]:
    return lambda data: isinstance(data, kinds)


def _has(name: str) -> Callable[[Any], bool]:
    return lambda data: hasattr(data, name)


def _is_sparse(data: object) -> bool:
    return type(data).__module__.startswith("scipy.sparse")


def _is_listing(data: object) -> bool:
    return isinstance(data, Sequence | AbstractSet | Iterator) and not isinstance(
        data, bytes | bytearray | memoryview
    )


def _from_series(data: pl.Series, side: Side) -> Columns:
    """A Series of users is read like a column of a frame, so that it keeps its type."""
    if side == "users":
        return from_polars(data.to_frame("user"), side, "polars Series")
    return from_listing(data.to_list(), side, "polars Series")


# ---------------------------------------------------------------------------------------------
# Objects of retrieval libraries, which are recognised without importing these


def _is_foreign(data: object) -> bool:
    """Whether this is an object of a retrieval library."""
    return any(made_by(*kind)(data) for kind in _FOREIGN)


def _from_foreign(data: Any, side: Side) -> Columns:
    """What the object holds for the side."""
    return next(read for kind, read in _FOREIGN.items() if made_by(*kind)(data))(data, side)


def _from_run(data: Any, side: Side) -> Columns:
    return from_mapping(data.to_dict(), side, describe_type(data))


def _from_qrels(data: Any, side: Side) -> Columns:
    _refuse_rankings(data, side)
    return _from_run(data, side)


def _from_ir_dataset(data: Any, side: Side) -> Columns:
    name = "scoreddocs" if side == "rankings" else "qrels"
    if not getattr(data, f"has_{name}")():
        raise DataError(f"The dataset of ir_datasets has no {name}, so it has no {side}.")
    return from_listing(getattr(data, f"{name}_iter")(), side, describe_type(data))


def _from_evaluator(data: Any, side: Side) -> Columns:
    _refuse_rankings(data, side)
    return from_mapping(data.relevant_docs, side, describe_type(data))


def _from_samples(data: Any, side: Side) -> Columns:
    return from_listing(data.samples, side, describe_type(data))


def _refuse_rankings(data: object, side: Side) -> None:
    if side == "rankings":
        raise DataError(
            f"{describe_type(data)} holds judgments and no rankings. Pass it as the ground truth."
        )


_FOREIGN: Mapping[tuple[str, str], Callable[[Any, Side], Columns]] = {
    ("ranx", "Run"): _from_run,
    ("ranx", "Qrels"): _from_qrels,
    ("ir_datasets", "Dataset"): _from_ir_dataset,
    ("sentence_transformers", "InformationRetrievalEvaluator"): _from_evaluator,
    ("ragas", "EvaluationDataset"): _from_samples,
}


# ---------------------------------------------------------------------------------------------

# The first form that recognises the data reads it. Some data fit two forms: a SciPy matrix may
# be a dict, a reader of Arrow batches is an iterator, a Series is an array. So containers of
# Python come after the named packages, and arrays last.
FORMS = (
    Form("a path", _is(str, PathLike), from_path),
    Form("a Polars DataFrame", made_by("polars", "DataFrame"), from_polars),
    Form("a Polars LazyFrame", made_by("polars", "LazyFrame"), from_lazy),
    Form("a Polars Series", made_by("polars", "Series"), _from_series),
    Form("a pandas DataFrame", made_by("pandas", "DataFrame"), from_pandas),
    Form("a pandas Series of lists", made_by("pandas", "Series"), from_pandas_series),
    Form("a SciPy sparse matrix (users × items)", _is_sparse, from_sparse),
    Form(
        "an object of ranx, ir_datasets, sentence-transformers or ragas", _is_foreign, _from_foreign
    ),
    Form("a dict {user: [items]} or {user: {item: number}}", _is(Mapping), from_mapping),
    Form("a DuckDB relation", made_by("duckdb", "DuckDBPyRelation"), from_duckdb),
    Form("a Spark DataFrame", is_spark, from_spark),
    Form("a pyarrow dataset", made_by("pyarrow", "Dataset"), from_dataset),
    Form(
        "an Arrow table (anything with __arrow_c_stream__)", _has("__arrow_c_stream__"), from_arrow
    ),
    Form("a list of lists", _is_listing, from_listing),
    Form("an array of item ids (users × k)", _has("__array__"), from_array),
)


def is_accepted(data: object) -> bool:
    """Whether any form recognises the data."""
    return any(form.recognise(data) for form in FORMS)


def find(data: object, side: Side) -> Columns:
    """Read data of the first form that recognises it as far as its columns, not yet checked."""
    for form in FORMS:
        if form.recognise(data):
            read = form.read(data, side)
            return records_of(read, side) or read
    what = "None" if data is None else f"{shown(data)} ({type(data).__name__})"
    accepted = "; ".join(form.name for form in FORMS)
    raise DataError(f"{what} cannot be read as {side}. Accepted: {accepted}.")
