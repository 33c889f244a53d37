"""What a path can name: a file, a folder of BEIR, a table of a DuckDB file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path

from rankmeter._reading.columns import Column, Columns, Side
from rankmeter._reading.named_parts import pick_part
from rankmeter._reading.other_frames import from_duckdb, quote_identifier
from rankmeter._reading.table import translate_file_errors
from rankmeter.errors import DataError, FileFormatError


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
    return files[pick_part([*files], split, str(path), "split")]


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
    name = pick_part([*is_view], table, str(path), "table")
    try:
        relation = connection.table(".".join(map(quote_identifier, name.split("."))))
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
