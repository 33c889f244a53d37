"""Spark frames, and rankings kept in Spark as a query in canonical form.

The queries have built-in expressions only.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from os import PathLike, fspath
from typing import Any, Literal, NamedTuple, TypeAlias, cast

import numpy.typing as npt
import polars as pl

from rankmeter._annexes import annex
from rankmeter._reading.by_user import AnyRows, Ids, IdSeries, IdType, InFrame, Stored
from rankmeter._reading.columns import Column, Columns, Side, resolve_roles
from rankmeter._reading.frames import describe_type, from_polars
from rankmeter._reading.numbers import missing_scores_error
from rankmeter._reading.orders import Orders, count_by_rank
from rankmeter._reading.table import Kind, Table, polars_errors, short_message
from rankmeter.errors import (
    DataError,
    DuplicateError,
    IdTypeError,
    InvalidValueError,
    MissingDependencyError,
    NotEnoughMemoryError,
    RankmeterError,
    UsageError,
)
from rankmeter.errors._checks import counted, no_rows_error

_PER_ARRAY = 2**18  # values of a table that is sent


@functools.cache
def _polars_types() -> dict[str, Any]:
    """Polars types by the name of the Spark type."""
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
_NOT_THERE = re.compile(r"No module named '(?:rankmeter|polars|pyarrow)\b")
"""What Python says in an executor without the package."""
_IN_TASK = re.compile(r"(?s).*most recent failure: [^\n]*?\): ")


@contextmanager
def _translate_query_errors(source: str) -> Iterator[None]:
    """Turn any Spark error into an error that names the query and the root cause."""
    try:
        yield
    except RankmeterError:
        raise
    except (Exception, *polars_errors()) as error:
        causes = [*_error_causes(error)]
        why = short_message(_IN_TASK.sub("", causes[-1])).rstrip(".")
        if any(map(_NO_MEMORY.search, causes)):
            raise NotEnoughMemoryError(
                f"Spark has not enough memory for a query of {source}: {why}. Each task measures "
                f"the rows of some users: give a smaller `memory` (67.1 MB at least) for smaller "
                f"parts, or give more to spark.executor.memory, spark.executor.memoryOverhead and "
                f"spark.driver.memory."
            ) from error
        if any(map(_NOT_THERE.search, causes)):
            raise MissingDependencyError(
                "The executors of Spark cannot import rankmeter, with which they measure their "
                "users: install it in the Python of every node, or pack an environment and pass "
                "it with spark.archives (--archives env.tar.gz#env) and "
                "PYSPARK_PYTHON=env/bin/python, or choose an image of the cluster that has it."
            ) from error
        raise DataError(
            f"The {source} cannot be computed: {why}. Run the query by itself to see more."
        ) from error


def _error_causes(error: Any) -> Iterator[str]:
    """Yield the messages of a Spark error, from the call to the root cause."""
    yield f"{type(error).__name__}: {error}"
    java = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    while java is not None:
        yield str(java.toString())
        java = java.getCause()


def from_spark(data: Any, side: Side) -> Columns:
    """Read a Spark DataFrame; only the needed columns are collected."""

    def fetch(names: Sequence[str]) -> Mapping[str, Column]:
        frame = collect_rows(data.select([quote_name(name) for name in names]), describe_type(data))
        return from_polars(frame, side).fetch(names)

    kind = functools.partial(spark_frame_kind, data)
    nested = _array_columns(data)
    return Columns(data.columns, fetch, describe_type(data), nested=nested, kind=kind)


def _array_columns(data: Any) -> frozenset[str]:
    return frozenset(name for name, kind in data.dtypes if kind.startswith("array<"))


class RowsOfLists(NamedTuple):
    """A Spark DataFrame with a row for each item, and what is known of the lists it came from."""

    data: Any
    columns: Mapping[str, str] | None  # the role of each column, if it is known
    empty_users: pl.Series | None = None  # users with an empty list


def rows_of_lists(data: Any, columns: Mapping[str, str] | None) -> RowsOfLists:
    """Make a row for each item of arrays of ids or structs, such as those of ALS; or no change.

    Raises
    ------
    DataError
        If a user has several lists, or none (null).
    """
    source, nested = describe_type(data), _array_columns(data)
    if not nested:
        return RowsOfLists(data, columns)
    whole = Columns(data.columns, lambda _: {}, source, nested=nested)
    names = resolve_roles(whole, "rankings", columns)
    user, item = names["user"], names["item"]
    if item not in nested:
        return RowsOfLists(data, columns)
    key, lists = quote_name(user), quote_name(item)
    with _translate_query_errors(source):
        (found,) = data.selectExpr(
            f"count_if({lists} IS NULL) AS missing", f"count_if(size({lists}) = 0) AS empty",
            f"count({key}) AS rows", f"count(DISTINCT {key}) AS users",
        ).collect()  # fmt: skip
    if found["missing"]:
        raise DataError(
            f"{source} has {counted(found['missing'], 'row')} without a list of items (null). "
            "Write an empty array for a user without items."
        )
    if found["users"] < found["rows"]:
        raise DuplicateError(
            f"{source} has {counted(found['rows'], 'list')} of {counted(found['users'], 'user')}: "
            "which list of a user comes first is not known. Merge them, or choose one."
        )
    empty = data.where(f"size({lists}) = 0").select(key)
    empty_users = collect_rows(empty, source)[user] if found["empty"] else None
    numbers = {role: name for role, name in names.items() if role in ("score", "rank")}
    if apart := [name for name in numbers.values() if name not in nested]:
        raise DataError(
            f"{source} has a list of items in each row, but one value in {apart[0]!r}: each item "
            "needs its number. Drop the column, or write a row for each item."
        )
    if numbers:
        lists = f"arrays_zip({lists}, {', '.join(map(quote_name, numbers.values()))})"
        fields = {"item": item, **numbers}
    elif hasattr(element := data.schema[item].dataType.elementType, "fields"):
        known = resolve_roles(
            Columns(["user", *element.names], lambda _: {}, f"{item} of {source}"), "rankings", None
        )
        fields = {role: known[role] for role in ("item", "score", "rank") if role in known}
    else:
        fields = {}
    rows = data.selectExpr(f"{key} AS `user`", f"posexplode({lists}) AS (`place`, `element`)")
    parts = {role: f"element.{quote_name(name)}" for role, name in fields.items()}
    parts.setdefault("item", "element")
    if len(parts) == 1:
        parts["rank"] = "place + 1"
    label = {"user": user, **fields} if user not in fields.values() else {}
    label = {role: label.get(role, item if role == "item" else role) for role in ("user", *parts)}
    select = [
        f"{sql} AS {quote_name(label[role])}" for role, sql in {"user": "user", **parts}.items()
    ]
    return RowsOfLists(rows.selectExpr(*select), label, empty_users)


def open_in_spark(data: object) -> object:
    """Read a Parquet file, a folder or a URL as a Spark DataFrame; else return the data."""
    if not isinstance(data, str | PathLike):
        return data
    path = fspath(data)
    if "://" not in path:
        file = annex("_formats.paths").expand_home(path)
        if not annex("_formats.files").is_parquet(file):
            return data
        path = str(file.absolute())
    session = spark_session()
    with _translate_query_errors(path):
        return session.read.parquet(path)


def spark_session(master: str | None = None) -> Any:
    """Return the running Spark session, or start a new session."""
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
            f"Spark does not start: {short_message(error)}. It needs Java 17 and, as `master`, a "
            f"cluster that answers."
        ) from error


def quote_name(name: str) -> str:
    """Quote a column name for SQL."""
    return "`" + name.replace("`", "``") + "`"


def sql_expression(data: Any, sql: str) -> Any:
    """Build a Spark SQL expression with classic PySpark or Spark Connect, as `data` requires."""
    connect = ".connect." in type(data).__module__
    return import_module(f"pyspark.sql{'.connect' if connect else ''}.functions").expr(sql)


def collect_rows(query: Any, source: str) -> pl.DataFrame:
    """Collect the rows of a query on the driver."""
    with _translate_query_errors(source):
        if hasattr(query, "toArrow"):
            return pl.DataFrame(pl.from_arrow(query.toArrow()))
        types = {name: _polars_types().get(kind) for name, kind in query.dtypes}
        rows = [tuple(row) for row in query.collect()]
        return pl.DataFrame(rows, types, orient="row", infer_schema_length=None)


def send_frame(rows: pl.DataFrame, session: Any, source: str) -> Any:
    """Send a Polars frame to Spark as a DataFrame.

    The frame is sent as a few rows of arrays: Spark looks at each row of a local table many times
    while it plans a query.
    """
    from pyspark.sql import DataFrame

    plain = pl.DataFrame([column.alias(f"c{n}") for n, column in enumerate(rows)])
    size = max(_PER_ARRAY // rows.width, 1)
    starts = range(0, max(rows.height, 1), size)
    arrays = pl.concat(plain[start : start + size].select(pl.all().implode()) for start in starts)
    with _translate_query_errors(source):
        if hasattr(DataFrame, "toArrow"):  # since PySpark 4.0
            packed = session.createDataFrame(arrays.to_arrow(compat_level=pl.CompatLevel.oldest()))
        else:
            schema = (
                f"{name} array<{_sql_type_name(kind)}>" for name, kind in plain.schema.items()
            )
            packed = session.createDataFrame(arrays.rows(), ", ".join(schema))
        return packed.selectExpr(f"inline(arrays_zip({', '.join(plain.columns)}))").toDF(
            *rows.columns
        )


def _sql_type_name(kind: Any) -> str:
    """SQL name of a Polars type."""
    if isinstance(kind, pl.Decimal):
        return f"decimal({kind.precision},{kind.scale})"
    return next(name for name, dtype in _polars_types().items() if dtype == kind)


@dataclass(frozen=True)
class _SparkKind(Kind):
    """Kind of Spark frames, with the names and types of users and items in the input."""

    session: Any = None

    def convert_frame(self, frame: pl.DataFrame) -> Any:
        """Create a Spark DataFrame, sent when needed; renamed if names differ in more than case."""
        columns = [_cast_losslessly(column, self.types.get(column.name)) for column in frame]
        names = [str(self.names.get(name, name)) for name in frame.columns]
        if len({name.lower() for name in names}) < len(names):
            names = frame.columns
        return send_frame(pl.DataFrame(columns), self.session, "frame of the result").toDF(*names)


def spark_frame_kind(data: Any, roles: Mapping[str, str]) -> Kind:
    """Determine the kind of a Spark DataFrame, given the columns of the roles."""
    names = {role: roles[role] for role in roles.keys() & {"user", "item"}}
    kinds = dict(data.dtypes)
    types = {
        role: _polars_types()[kinds[name]]
        for role, name in names.items()
        if kinds[name] in _polars_types()
    }
    return _SparkKind(names=names, types=types, session=data.sparkSession)


def _cast_losslessly(column: pl.Series, dtype: Any) -> pl.Series:
    """Cast a column to a type that holds all values, or else to a type that Spark has."""
    if dtype is None:
        dtype = column.dtype
    if dtype not in _polars_types().values():
        dtype = pl.Int64 if column.dtype.is_integer() else pl.String
    typed = column.cast(dtype, strict=False)
    if typed.cast(column.dtype, strict=False).equals(column, null_equal=True):
        return typed
    return column if column.dtype != pl.UInt64 else column.cast(pl.Decimal(20, 0))


# ---------------------------------------------------------------------------------------------
# Rankings that stay in Spark

_SHORT = frozenset({"tinyint", "smallint", "int"})
_WHOLE = _SHORT | {"bigint"}
_EXACT = {"float": 2**24, "double": 2**53}  # up to where a type has every integer


class _Role(NamedTuple):
    """Column in canonical form."""

    sql: str  # null where the column has no id, or no number
    dtype: Any  # of Polars
    inexact: str = ""  # where it is null but the column has a value


_Number: TypeAlias = Literal["score", "rank", "gain"]


@dataclass(frozen=True, eq=False)
class Query:
    """Query of the columns ``user``, ``item`` and ``score`` or ``rank``, or of judgments ``gain``.

    Ids are of the type int, bigint or string, numbers double. Bad values are null; `check_counts`
    finds them.
    """

    data: Any  # the Spark DataFrame
    names: Mapping[str, str]  # role → name of the column
    roles: Mapping[str, _Role]
    order: _Number
    source: str
    bad_scores: str
    # Of the first scores, those against the ranks, which are used instead; and how many these are.
    conflicts: tuple[Orders, int] | None

    @property
    def all_rows(self) -> Any:
        """Query of all rows: user, item, number, and ``rounded``, which is 1 or 0."""
        columns = [f"{column.sql} AS {role}" for role, column in self.roles.items()]
        return self.data.selectExpr(*columns, f"{self._rounded_sql} AS rounded")

    @property
    def candidates(self) -> Any:
        """Query of the ranked rows: user, item, score or rank."""
        rows = self.all_rows.drop("rounded")
        if self.bad_scores == "worst":
            return rows.selectExpr("user", "item", f"{self.usable_value_sql} AS {self.order}")
        return rows.where(f"{self.order} IS NOT NULL") if self.bad_scores == "drop" else rows

    @property
    def users_of_dropped_rows(self) -> Any:
        """Query of the users that lose a row, which may be their only one; None if none is lost."""
        if self.bad_scores != "drop" or self.order == "rank":
            return None
        return self.all_rows.where("score IS NULL").select("user").distinct()

    @property
    def usable_value_sql(self) -> str:
        """SQL of the score or rank of a row as candidate; null if the row is dropped."""
        if self.bad_scores == "worst" and self.order == "score":
            return "coalesce(score, double('-Infinity'))"
        return self.order

    @property
    def _rounded_sql(self) -> str:
        """SQL that is 1 for integers without an exact float64, else 0."""
        name = quote_name(self.names[self.order])
        if dict(self.data.dtypes)[self.names[self.order]] != "bigint":
            return "0"
        return f"int(NOT (try_cast(double({name}) AS bigint) <=> {name}))"

    def aggregate(self, query: Any, keys: Sequence[str], *sql: str) -> Any:
        """Query of aggregates by group."""
        return query.groupBy(*keys).agg(*(sql_expression(query, aggregate) for aggregate in sql))

    @property
    def default_parallelism(self) -> int:
        """How many tasks a shuffle has."""
        return int(self.data.sparkSession.conf.get("spark.sql.shuffle.partitions"))

    def collect(self, query: Any) -> pl.DataFrame:
        """Collect the result of a query."""
        return collect_rows(query, self.source)

    def count(self, *more: str) -> dict[str, Any]:
        """Count all rows and bad values, and compute more aggregates."""
        sums = [
            "count(1) AS rows",
            "count_if(user IS NULL) AS no_user",
            "count_if(item IS NULL) AS no_item",
            f"count_if({self.order} IS NULL) AS missing",
            f"count_if(abs({self.order}) = double('Infinity')) AS infinite",
            "count_if(rounded = 1) AS rounded",
        ]
        counts = self.collect(self.aggregate(self.all_rows, [], *sums, *more))
        return counts.row(0, named=True)

    def check_counts(self, counts: Mapping[str, int]) -> dict[str, int]:
        """Turn numbers of bad values into the counts of an `Origin`, or raise a DataError."""
        n = counts["rows"]
        if not n:
            raise no_rows_error(self.source)
        for role in ("item", "user"):
            if nulls := counts[f"no_{role}"]:
                raise self._bad_ids_error(role, nulls, n)
        checked = {"rows": n, "infinite_scores": counts["infinite"]}
        for role in ("user", "item"):
            checked[f"float_{role}_ids"] = n if self.roles[role].inexact else 0
        if missing := counts["missing"]:
            if self.order == "rank":
                raise self._bad_ranks_error(missing, n)
            if self.bad_scores == "error":
                raise self._bad_scores_error(missing, n)
            checked["worst_scores" if self.bad_scores == "worst" else "dropped_scores"] = missing
        if self.order == "score":
            checked["rounded_scores"] = counts["rounded"]
        if self.conflicts is not None:
            orders, compared = self.conflicts
            checked |= count_by_rank(orders, n)
            checked["rows_compared_with_ranks"] = compared if compared < n else 0
        return {name: n for name, n in checked.items() if n}

    def _bad_ids_error(self, role: str, nulls: int, n: int) -> DataError:
        inexact = self.roles[role].inexact
        name = self.names[role]
        if inexact:
            values = self.data.where(inexact).selectExpr(f"string({quote_name(name)}) AS value")
            of_values = self.aggregate(values, [], "count(1) AS n", "min(value) AS value")
            broken, example = self.collect(of_values).row(0)
            if broken == nulls:
                return IdTypeError(
                    f"{broken} of {n} {role} ids of {self.source} are not integers that "
                    f"{dict(self.data.dtypes)[name]} and bigint hold exactly, for example "
                    f"{example}; ids are integers or strings. Is this the right column?"
                )
            nulls -= broken
        needed = "an item" if role == "item" else "a user"
        return InvalidValueError(
            f"{nulls} of {n} {role} ids of {self.source} are missing (null, None or NaN). Every "
            f"row needs {needed}: fill or drop these rows."
        )

    def _bad_ranks_error(self, bad: int, n: int) -> DataError:
        rank, column = self.roles["rank"].sql, quote_name(self.names["rank"])
        bad_rows = self.data.where(f"{rank} IS NULL").selectExpr(f"string({column})")
        example = self.collect(bad_rows.limit(1)).item()
        hint = " Ranks start at 1: add 1 to ranks that start at 0." if example == "0" else ""
        return InvalidValueError(
            f"{bad} of {n} ranks of {self.source} are not integers from 1 to 2^53, for example "
            f"{example}.{hint} To order by the score instead, pass columns={{'score': ...}}."
        )

    def _bad_scores_error(self, missing: int, n: int) -> DataError:
        bad = self.all_rows.where("score IS NULL").select("user", "item")
        first = self.collect(bad.orderBy("user", "item").limit(3)).rows()
        return missing_scores_error(missing, n, self.source, first)


@dataclass(frozen=True, eq=False)
class Unordered(InFrame):
    """Rows of Spark in a task; they have no order. The rest is as in `InSpark`."""

    collapsing: Any = None
    doubts: Sequence[Callable[[Any, Any], str]] = ()
    has_order = False


class _InCluster(Stored):
    """Rows in Spark; `rows` are a few of them, as examples of all types."""

    rows: pl.DataFrame
    query: Query
    collapsing: Any = None
    in_memory = False
    in_cluster = True

    def all_ids(self, role: str) -> list[Ids]:
        ids = self.query.collect(self.query.candidates.select(role).distinct())[role]
        if role == "item" and self.collapsing is not None:  # the tasks say which parts are missing
            ids = self.collapsing.wholes(ids.cast(self.collapsing.dtype)).drop_nulls().unique()
        return [IdSeries(ids.cast(self.rows.schema[role]))]

    def listed_items(self) -> list[pl.Series]:
        return [ids.to_series() for ids in self.all_ids("item")]


@dataclass(frozen=True, eq=False)
class InSpark(_InCluster, InFrame):
    """Rankings in Spark, with a few rows as examples of all types.

    Attributes
    ----------
    query : Query
    height : int
        Number of rows, once they are counted.
    n_parts : int
        Into how many parts they are cut at least.
    doubts : sequence of functions
        What the tasks ask about their rows and the ground truth.
    collapsing : Collapsing, optional
        What the tasks do with their rows first.
    """

    query: Query
    height: int = 0
    n_parts: int = 1
    doubts: Sequence[Callable[[Any, Any], str]] = ()
    collapsing: Any = None

    @property
    def n_rows(self) -> int:
        return self.height


@dataclass(frozen=True, eq=False)
class TruthInSpark(_InCluster):
    """Judgments in Spark. For what is not known of them, all are brought to the driver.

    Attributes
    ----------
    rows : DataFrame
    query : Query
    height : int
    gains : ndarray
        Each of the gains, at least if they can be grades.
    read : function
        Read all judgments on the driver.
    """

    rows: pl.DataFrame
    query: Query
    height: int
    gains: npt.NDArray[Any]
    read: Callable[[], Table]

    def __len__(self) -> int:
        return self.height

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # which copies and pickles look for
            raise AttributeError(name)
        return getattr(self.whole, name)

    @cached_property
    def whole(self) -> AnyRows:
        """All rows in memory."""
        return self.read().rows

    def frame(self) -> pl.DataFrame:
        return self.whole.frame()

    @property
    def users(self) -> Ids:
        """User of each row."""
        return _IdsInSpark(self, "user")

    def items(self) -> Ids:
        return _IdsInSpark(self, "item")

    @property
    def item_type(self) -> IdType:
        """Type of the items."""
        return self.items().type

    def each_number(self, column: str) -> npt.NDArray[Any]:  # noqa: ARG002 - there is one
        return self.gains


@dataclass(frozen=True, eq=False)
class _IdsInSpark(Ids):
    """Ids of all rows; their type and number are known, and they themselves if need be."""

    rows: TruthInSpark
    role: str

    @property
    def type(self) -> IdType:
        return cast("IdType", str(self.rows.rows.schema[self.role]))

    def __len__(self) -> int:
        return self.rows.height

    def take(self, indices: npt.NDArray[Any]) -> Any:
        return IdSeries(self.to_series()).take(indices)

    def to_series(self) -> pl.Series:
        return self.rows.frame()[self.role]


def canonical_column_by_role(
    data: Any, names: Mapping[str, str], order: _Number
) -> dict[str, _Role | None]:
    """Canonical column of each role; None if the type of its column cannot hold ids or numbers."""
    makers = {"user": _id_column, "item": _id_column, "score": _number_column, "rank": _rank_column}
    makers["gain"] = _number_column
    types = dict(data.dtypes)
    return {role: makers[role](names[role], types[names[role]]) for role in ("user", "item", order)}


def _id_column(name: str, kind: str) -> _Role | None:
    """Canonical column of ids; None if values of this type cannot be ids."""
    column = quote_name(name)
    if kind in _SHORT:
        return _Role(f"int({column})", pl.Int32)
    if kind in ("bigint", "void"):
        return _Role(f"bigint({column})", pl.Int64)
    if kind.startswith("string"):
        plain = column if kind == "string" else f"collate({column}, 'UTF8_BINARY')"
        return _Role(plain, pl.String)
    if kind in _EXACT:
        valid = f"({column} % 1 = 0 AND abs({column}) < {_EXACT[kind]})"
        inexact = f"NOT coalesce({valid}, false) AND NOT coalesce(isnan({column}), true)"
    elif kind.startswith("decimal"):
        # Not `% 1`, which costs more than all else that is done with a row.
        is_integer = f"CAST(try_cast({column} AS bigint) AS {kind}) = {column}"
        valid = f"coalesce({is_integer}, {column} IS NULL)"
        inexact = f"NOT coalesce({valid}, true)"
    else:
        return None
    return _Role(f"CASE WHEN {valid} THEN bigint({column}) END", pl.Int64, inexact)


def _number_column(name: str, kind: str) -> _Role | None:
    """Canonical column of numbers; None for a type without numbers."""
    if kind in _WHOLE or kind in _EXACT or kind.startswith("decimal") or kind == "void":
        return _Role(f"nullif(double({quote_name(name)}), double('NaN'))", pl.Float64)
    return None


def _rank_column(name: str, kind: str) -> _Role | None:
    """Canonical column of ranks; None for a type without numbers."""
    number, column = _number_column(name, kind), quote_name(name)
    if number is None or kind == "void":
        return number
    good = f"{column} >= 1 AND {column} <= {2**53} AND {column} % 1 = 0"
    return _Role(f"CASE WHEN {good} THEN double({column}) END", pl.Float64)
