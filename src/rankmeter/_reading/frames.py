"""Read frames of other libraries, and mappings of columns."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import lru_cache
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rankmeter._reading.columns import Column, Columns, Side, holds_lists, names_for_role
from rankmeter._reading.table import (
    format_few,
    polars_errors,
    short_message,
    translate_file_errors,
)
from rankmeter.errors import DataError, FileFormatError, RankmeterError, UsageError
from rankmeter.errors._checks import brief


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
        lambda names: {name: _to_storage_type(data.get_column(name)) for name in names},
        source,
        nested=names_of_list_columns(data.schema) | lists,
        hint=_hint_of_matrix(data.columns, [kind.is_numeric() for kind in data.dtypes], side),
    )


def _hint_of_matrix(names: Sequence[str], is_number: Sequence[bool], side: Side) -> str:
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
            query = data.project(", ".join(map(_quote_identifier, names)))
            if hasattr(query, "__arrow_c_stream__"):
                return from_polars(pl.DataFrame(query), side).fetch(names)
            return {name: column_from_numpy(values) for name, values in query.fetchnumpy().items()}

    types = zip(data.columns, map(str, data.types), strict=True)
    nested = frozenset(name for name, kind in types if kind.endswith("]"))
    return Columns(data.columns, fetch, source, nested=nested)


def is_duckdb_connection(data: object) -> bool:
    """Whether the data are a DuckDB connection; DuckDB before version 2 has another module name."""
    return any(class_test(package, "DuckDBPyConnection")(data) for package in ("duckdb", "_duckdb"))


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
    hint = _hint_of_matrix(names, [dtype.kind in "iuf" for dtype in data.dtypes], side)
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


def _to_storage_type(column: pl.Series) -> Column:
    """Convert an extension type to its storage type, and Python objects to a list."""
    if column.dtype == pl.Object:
        return column.to_list()
    if hasattr(pl, "BaseExtension") and isinstance(column.dtype, pl.BaseExtension):  # Polars 2
        return column.ext.storage()
    return column


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

        return _to_storage_type(pl.Series(pl.from_arrow(pa.array(series, from_pandas=True))))
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


def expand_home(data: str | PathLike[str]) -> Path:
    """Expand ``~`` in a path to the home folder."""
    # Path.expanduser raises where there is no such user; then the name can be a file.
    path = Path(os.path.expanduser(data))  # noqa: PTH111
    with translate_file_errors(path):
        path.exists()  # an error if the name is too long, for example
    return path


def split_path_from_part(data: str | PathLike[str]) -> tuple[Path, str]:
    """Split a path from the part named after ``#``, unless the whole text is the path of a file."""
    base, _, part = os.fspath(data).rpartition("#")
    if base and not expand_home(data).exists() and expand_home(base).exists():
        return expand_home(base), part
    return expand_home(data), ""


def _pick_part(names: Sequence[str], part: str, source: str, noun: str) -> str:
    """Return the named part, or the only part if no part is named."""
    if part in names or (not part and len(names) == 1):
        return part or names[0]
    listed = format_few(sorted(names), 12) if names else "none"
    if part:
        raise DataError(f"{source} has no {noun} {brief(part)}. It has: {listed}.")
    example = f" Name one, such as '{source}#{min(names)}'." if names else ""
    raise DataError(f"{source} has {len(names)} {noun}s: {listed}.{example}")


def is_mteb_predictions(data: object) -> bool:
    """Whether the data are predictions written by MTEB."""
    return isinstance(data, Mapping) and "mteb_model_meta" in data


def pick_mteb_predictions(data: Mapping[str, Any], part: str, source: str) -> Mapping[str, Any]:
    """Rankings of one subset and split of MTEB predictions: query → {document: score}."""
    by_part = {
        f"{subset}/{split}": rankings
        for subset, splits in data.items()
        if subset != "mteb_model_meta" and isinstance(splits, Mapping)
        for split, rankings in splits.items()
    }
    rankings = by_part[_pick_part([*by_part], part, source, "subset and split")]
    if not isinstance(rankings, Mapping):
        raise DataError(f"{source} has {brief(rankings)} where {{query: {{document: score}}}} is.")
    return rankings


def is_beir_folder(path: Path) -> bool:
    """Whether a path is a BEIR folder, with the judgments of each split in ``qrels``."""
    return path.is_dir() and any((path / "qrels").glob("*.tsv"))


def beir_judgments_path(path: Path, split: str, side: Side) -> Path:
    """Path of the judgments of one split in a BEIR folder."""
    if side == "rankings":
        raise FileFormatError(
            f"{path} is a folder of BEIR, which has judgments but no rankings. Pass it as the "
            f"ground truth."
        )
    files = {file.stem: file for file in (path / "qrels").glob("*.tsv")}
    return files[_pick_part([*files], split, str(path), "split")]


def is_duckdb_file(path: Path) -> bool:
    """Whether a file is a DuckDB database."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(12)[8:] == b"DUCK"


def from_database(path: Path, table: str, side: Side) -> Columns:
    """Read a table or view of a DuckDB file; only the needed columns are read."""
    try:
        import duckdb
    except ImportError as error:
        raise DataError(f"{path} is a DuckDB file. To read it, pip install duckdb.") from error
    try:
        connection = duckdb.connect(str(path), read_only=True, config=_CLOSED)
        rows = connection.execute(_TABLES).fetchall()
    except duckdb.Error as error:
        raise FileFormatError(f"{path} cannot be read by DuckDB: {_first_line(error)}") from error
    is_view = dict(rows)
    name = _pick_part([*is_view], table, str(path), "table")
    try:
        relation = connection.table(".".join(map(_quote_identifier, name.split("."))))
    except duckdb.Error as error:
        raise _database_error(path, name, error, is_view=is_view[name]) from error
    columns = from_duckdb(relation, side, str(path))

    def fetch(names: Sequence[str], _: object = connection) -> Mapping[str, Column]:
        try:
            return columns.fetch(names)  # a relation of DuckDB 1 does not keep its connection
        except DataError as error:
            if not isinstance(error.__cause__, duckdb.Error):
                raise
            raise _database_error(path, name, error.__cause__, is_view=is_view[name]) from error

    return replace(columns, fetch=fetch)


_CLOSED: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "lock_configuration": "true",
}
"""A view is a query of whoever wrote the file: it gets the tables of the file and nothing else."""


def _database_error(path: Path, name: str, error: Exception, *, is_view: bool) -> FileFormatError:
    kind, hint = "table", ""
    if is_view:
        kind = "view"
        hint = (
            ". A view may use the tables of its file only, since no file may make rankmeter read "
            "another one. If you trust the view, open the file with duckdb and pass the relation "
            f"connection.table({name!r})"
        )
    return FileFormatError(f"{path}: cannot read the {kind} {name!r}: {_first_line(error)}{hint}")


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0].rstrip(".!")


_TABLES = """
    SELECT CASE schema_name WHEN 'main' THEN name ELSE schema_name || '.' || name END, is_view
    FROM (
        SELECT schema_name, table_name AS name, false AS is_view FROM duckdb_tables()
        WHERE NOT internal
        UNION ALL SELECT schema_name, view_name, true FROM duckdb_views() WHERE NOT internal)
"""


def _quote_identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
