"""Files of ranks: tables, ``.npy``, or one rank per line."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rankmeter._checks import near
from rankmeter._ingest._packed import unpacked_name
from rankmeter._matrix._array_files import reason
from rankmeter.errors import ColumnError, FileFormatError

__all__ = ["is_path", "read_rank_file", "read_table"]

ROLES = {
    "ranks": ("rank", "ranks"),
    "upper": ("upper", "rank_upper", "worst_rank"),
    "candidates": ("candidates", "n_candidates", "num_candidates"),
    "users": ("user", "query", "user_id", "query_id", "id"),
}
"""The names of the columns of a table of ranks."""


def is_path(data: Any) -> bool:
    """Whether the data are the path of a file."""
    return isinstance(data, str | PathLike)


def read_rank_file(path: str | PathLike[str]) -> dict[str, Any]:
    """The columns of a file of ranks by role: ``ranks``, ``upper``, ``candidates``, ``users``.

    All other columns of text are ``groups``.

    Raises
    ------
    FileFormatError
        If the file cannot be read.
    ColumnError
        If no column has the ranks.
    """
    file = Path(path)
    try:
        if file.suffix == ".npy":
            return {"ranks": np.load(file, allow_pickle=False)}
    except (OSError, ValueError) as error:
        raise FileFormatError(f"{file} cannot be read as ranks: {reason(error)}") from error
    frame = read_table(file)
    named = {column.strip().lower(): column for column in frame.columns}
    read: dict[str, Any] = {}
    for role, names in ROLES.items():
        found = [named[name] for name in names if name in named]
        if found:
            read[role] = frame[found[0]]
    if "ranks" not in read:
        hint = near("rank", frame.columns)
        raise ColumnError(f"{file} has no column rank, only {', '.join(frame.columns)}{hint}")
    used = {column.name for column in read.values()}
    groups = [c for c in frame.columns if c not in used and frame[c].dtype == pl.String]
    return read | ({"groups": frame.select(groups)} if groups else {})


def read_table(path: str | PathLike[str]) -> pl.DataFrame:
    """A table; a text file without a header has the column ``rank``."""
    try:
        return _table(Path(path))
    except (OSError, ValueError, pl.exceptions.PolarsError) as error:
        raise FileFormatError(f"{path} cannot be read as a table: {error}") from error


def _table(file: Path) -> pl.DataFrame:
    name = unpacked_name(file).name
    if name.endswith(".parquet"):
        return pl.read_parquet(file)
    if name.endswith((".jsonl", ".ndjson")):
        return pl.read_ndjson(file)
    with file.open("rb") as start:
        alone = name.endswith(".txt") or start.readline().strip().replace(b".", b"").isdigit()
    separator = "\t" if name.endswith((".tsv", ".tab")) else ","
    read = pl.read_csv(file, separator=separator, has_header=not alone)
    return read.rename({read.columns[0]: "rank"}) if alone else read
