"""Data that hold several tables: MTEB predictions, folders of BEIR, DuckDB files.

``PATH#PART`` names one of them where there are several.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from rankmeter._checks import shown
from rankmeter._ingest._columns import Column, Columns, Side
from rankmeter._ingest._frames import from_duckdb
from rankmeter._ingest._messages import some, unreadable
from rankmeter.errors import DataError, FileFormatError


def expand_home(data: str | PathLike[str]) -> Path:
    """A path, in which ``~`` is the home of a user."""
    # Path.expanduser raises where there is no such user; then the name can be a file.
    path = Path(os.path.expanduser(data))  # noqa: PTH111
    try:
        path.exists()
    except OSError as error:  # such as a name that is too long
        raise unreadable(path, error) from error
    return path


def split_part(data: str | PathLike[str]) -> tuple[Path, str]:
    """A path and the part that it names after ``#``, unless all of it is the path of a file."""
    base, _, part = os.fspath(data).rpartition("#")
    if base and not expand_home(data).exists() and expand_home(base).exists():
        return expand_home(base), part
    return expand_home(data), ""


def _pick_part(names: Sequence[str], part: str, source: str, what: str) -> str:
    """The part that is named, or the only one."""
    if part in names or (not part and len(names) == 1):
        return part or names[0]
    listed = some(sorted(names), 12) if names else "none"
    if part:
        raise DataError(f"{source} has no {what} {shown(part)}. It has: {listed}.")
    example = f" Name one, such as '{source}#{min(names)}'." if names else ""
    raise DataError(f"{source} has {len(names)} {what}s: {listed}.{example}")


def is_bundle(data: object) -> bool:
    """Whether these are predictions that MTEB wrote."""
    return isinstance(data, Mapping) and "mteb_model_meta" in data


def predictions(data: Mapping[str, Any], part: str, source: str) -> Mapping[str, Any]:
    """The rankings of one subset and split of MTEB predictions: query → {document: score}."""
    by_part = {
        f"{subset}/{split}": rankings
        for subset, splits in data.items()
        if subset != "mteb_model_meta" and isinstance(splits, Mapping)
        for split, rankings in splits.items()
    }
    rankings = by_part[_pick_part([*by_part], part, source, "subset and split")]
    if not isinstance(rankings, Mapping):
        raise DataError(f"{source} has {shown(rankings)} where {{query: {{document: score}}}} is.")
    return rankings


def is_beir(path: Path) -> bool:
    """Whether a path is a folder of BEIR: the judgments of each split are in ``qrels``."""
    return path.is_dir() and any((path / "qrels").glob("*.tsv"))


def judged_in(path: Path, split: str, side: Side) -> Path:
    """The judgments of one split of a folder of BEIR."""
    if side == "rankings":
        raise FileFormatError(
            f"{path} is a folder of BEIR, which has judgments but no rankings. Pass it as the "
            f"ground truth."
        )
    files = {file.stem: file for file in (path / "qrels").glob("*.tsv")}
    return files[_pick_part([*files], split, str(path), "split")]


def is_database(path: Path) -> bool:
    """Whether a file is a database of DuckDB."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(12)[8:] == b"DUCK"


def from_database(path: Path, table: str, side: Side) -> Columns:
    """A table or view of a DuckDB file, of which only the needed columns are read."""
    try:
        import duckdb
    except ImportError as error:
        raise DataError(f"{path} is a DuckDB file. To read it, pip install duckdb.") from error
    try:
        connection = duckdb.connect(str(path), read_only=True)
        names = [row[0] for row in connection.execute(_TABLES).fetchall()]
        relation = connection.table(_quoted(_pick_part(names, table, str(path), "table")))
    except duckdb.Error as error:
        reason = str(error).splitlines()[0]
        raise FileFormatError(f"{path} cannot be read by DuckDB: {reason}") from error
    columns = from_duckdb(relation, side, str(path))

    def fetch(names: Sequence[str], _: object = connection) -> Mapping[str, Column]:
        return columns.fetch(names)  # a relation of DuckDB 1 does not keep its connection

    return replace(columns, fetch=fetch)


_TABLES = """
    SELECT CASE schema_name WHEN 'main' THEN name ELSE schema_name || '.' || name END FROM (
        SELECT schema_name, table_name AS name FROM duckdb_tables() WHERE NOT internal
        UNION ALL SELECT schema_name, view_name FROM duckdb_views() WHERE NOT internal)
"""


def _quoted(name: str) -> str:
    return ".".join('"' + part.replace('"', '""') + '"' for part in name.split("."))
