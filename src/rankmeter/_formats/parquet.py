"""Read Parquet files, and folders whose subfolders may have names ``key=value``."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from glob import glob, has_magic
from pathlib import Path
from urllib.parse import unquote

import polars as pl

from rankmeter._formats.parquet_guard import (
    Footer,
    check_page_headers,
    read_footer,
    translate_structure_errors,
    unreadable_file_error,
)
from rankmeter._reading.columns import Column, Columns, names_for_role
from rankmeter._reading.frames import from_polars, names_of_list_columns
from rankmeter._reading.memory import PER_PARQUET_ROW, check_memory
from rankmeter._reading.numbers import to_typed_series
from rankmeter._reading.table import format_few, polars_errors
from rankmeter.errors import FileFormatError
from rankmeter.errors._checks import brief

PARQUET = (".parquet", ".pq")
"""The extensions of Parquet files."""

_NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"


def read_parquet(path: Path) -> Columns:
    """Read the columns of a Parquet file, or of all files of a folder or pattern.

    A folder ``user=7`` gives its files a column ``user``, unless they have one. Where several
    values of a key are below the folder, it is an error not to use that column: the parts of a
    data set, such as its splits, are not one table.
    """
    files = ParquetFiles.of(path)

    def fetch(requested: Sequence[str]) -> Mapping[str, Column]:
        files.refuse_damaged_columns(requested)
        check_memory(files.n_rows * PER_PARQUET_ROW, f"{path} ({files.n_rows:,} rows)")
        return from_polars(files.read(requested), "rankings").fetch(requested)

    return Columns(
        files.names, fetch, str(path), nested=names_of_list_columns(files.scan.collect_schema())
    )


@dataclass(frozen=True, eq=False)
class ParquetFiles:
    """Parquet files read as one table."""

    path: Path  # of the file, the folder or the pattern, for messages
    files: Sequence[Path]
    names: Sequence[str]  # of all columns
    stored: frozenset[str]  # those that are in the files, not in the names of their folders
    footers: Mapping[Path, Footer]
    keys: Mapping[str, list[str | None]]  # of folders: the value for each file
    scan: pl.LazyFrame

    @classmethod
    def of(cls, path: Path) -> ParquetFiles:
        """Open a file, or all files of a folder or a pattern."""
        pattern = not path.exists()
        files = (
            matching_files(path)
            if pattern
            else _parquet_files_in_folder(path)
            if path.is_dir()
            else [path]
        )
        top = next(p for p in path.parents if not has_magic(str(p))) if pattern else path
        keys = _partition_keys(files, top)
        footers = {file: read_footer(file) for file in files}
        try:
            scan = pl.scan_parquet(files, glob=False, include_file_paths=_PATH if keys else None)
            names = [name for name in scan.collect_schema().names() if name != _PATH]
        except polars_errors() as error:
            raise _schema_mismatch_error(files, path) or unreadable_file_error(
                path, error
            ) from error
        of_folders = [key for key in keys if key not in names]
        return cls(path, files, [*names, *of_folders], frozenset(names), footers, keys, scan)

    @property
    def n_rows(self) -> int:
        """Number of rows of all files."""
        return sum(footer.n_rows for footer in self.footers.values())

    def text_size(self) -> int | None:
        """Bytes of the text of ids, each once where a dictionary has it; None if all are numbers.

        These are the columns named like users or items, or all if none is.
        """
        types = self.scan.collect_schema()  # with that of paths, if it is needed
        if len(types) <= 3 and all(dtype.is_numeric() for dtype in types.dtypes()):
            return None
        text = [name for name, dtype in types.items() if dtype == pl.String]
        ids = [name for name in text for role in ("user", "item") if names_for_role(role, [name])]
        encoded = {name.encode() for name in ids or text}
        chunks = (chunk for footer in self.footers.values() for chunk in footer.chunks)
        return sum(max(chunk.decompressed, 0) for chunk in chunks if chunk.name in encoded)

    def divide_rows(self, size: int) -> list[tuple[Path, int, int]]:
        """Divide the rows into parts: (file, first row in the file, number of rows).

        A part is whole groups of rows, about `size` rows together, or some rows of a larger group.
        """
        pieces = []
        for file, footer in self.footers.items():
            start = 0
            for n in _merge_small_groups(footer.groups, size):
                pieces += [
                    (file, row, min(size, start + n - row)) for row in range(start, start + n, size)
                ]
                start += n
        return pieces

    def refuse_damaged_columns(self, requested: Sequence[str]) -> None:
        """Check the pages of some columns, and refuse to pool the parts of a data set."""
        _refuse_pooled_partitions(self.path, self.keys, requested)
        encoded = {name.encode() for name in requested}
        for file, footer in self.footers.items():
            with translate_structure_errors(file), file.open("rb") as opened:
                for chunk in footer.chunks:
                    if chunk.name in encoded:
                        check_page_headers(opened, chunk)

    def read(
        self, requested: Sequence[str], part: tuple[Path, int, int] | None = None
    ) -> pl.DataFrame:
        """Read columns of all rows, or of a part: (file, first row, number of rows)."""
        columns = [
            pl.col(name)
            if name in self.stored
            else _partition_column(name, self.keys[name], self.files)
            for name in requested
        ]
        scan = self.scan
        try:
            if part is not None:
                paths = _PATH if self.keys else None
                scan = pl.scan_parquet(part[0], glob=False, include_file_paths=paths)
                scan = scan.slice(*part[1:])
            # The in-memory engine keeps the row order that a ranking without scores relies on.
            frame = scan.select(columns).collect(engine="in-memory")
        except polars_errors() as error:
            raise _schema_mismatch_error(self.files, self.path) or unreadable_file_error(
                self.path, error
            ) from error
        # Row groups are parts of a column, and numbers in parts would be copied at each use.
        joined = (ids.rechunk() if ids.dtype.is_numeric() else ids for ids in frame)
        return pl.DataFrame({ids.name: ids for ids in joined})


def _merge_small_groups(groups: Sequence[int], size: int) -> Iterator[int]:
    """Sum the row counts of neighboring groups while the sum is at most `size`."""
    total = 0
    for n in groups:
        if total and total + n > size:
            yield total
            total = 0
        total += n
    if total:
        yield total


def matching_files(path: Path) -> list[Path]:
    """Files that match a path with wildcards, sorted by name."""
    files = (Path(name) for name in sorted(glob(str(path), recursive=True)))  # noqa: PTH207 - the root varies
    return [file for file in files if file.is_file()]


_HIDDEN = ("_", ".")  # how the names of files of Spark and other tools begin
_MOST_OTHERS = 5_000
"""A folder with more files and folders before the first Parquet file is a mistake."""
_PATH = "\x00path"  # the column of file names


def _parquet_files_in_folder(path: Path) -> list[Path]:
    """Find the Parquet files below a folder, without the hidden files of Spark and other tools."""
    files, searched = list[Path](), 0
    for folder, folders, names in os.walk(path):
        shown = [name for name in names if not name.startswith(_HIDDEN)]
        files += [Path(folder, x) for x in shown if Path(x).suffix.lower() in PARQUET]
        folders[:] = sorted(name for name in folders if not name.startswith(_HIDDEN))
        searched += len(folders) + len(names)
        if searched > _MOST_OTHERS and not files:
            raise FileFormatError(
                f"{path} is a folder without Parquet files (*.parquet) among the first "
                f"{_MOST_OTHERS:,} files and folders in it; the others were not searched. Name a "
                f"file, or the folder of Parquet files."
            )
    files.sort()
    if not files:
        raise FileFormatError(
            f"{path} is a folder without Parquet files (*.parquet). Name a file, or a folder of "
            f"Parquet files."
        )
    return files


def _partition_keys(files: Sequence[Path], path: Path) -> dict[str, list[str | None]]:
    """Values of each key of ``key=value`` folders, a value for each file."""
    by_file: list[dict[str, str | None]] = []
    for file in files:
        folders = file.relative_to(path).parts[:-1]
        pairs = (part.partition("=") for part in folders if "=" in part)
        by_file.append({key: None if v == _NULL_PARTITION else unquote(v) for key, _, v in pairs})
    keys = {key: [pairs.get(key) for pairs in by_file] for key in by_file[0]}
    unlike = next((n for n, pairs in enumerate(by_file) if pairs.keys() != keys.keys()), None)
    if unlike is not None:
        raise FileFormatError(
            f"The files of {path} are not in folders of the same keys: {brief(str(files[0]))} and "
            f"{brief(str(files[unlike]))}. Pass the folder or the file that is meant."
        )
    return keys


def _partition_column(name: str, values: list[str | None], files: Sequence[Path]) -> pl.Expr:
    """Expression for a column of folder values: numbers or times if all values are."""
    series = pl.Series(values, dtype=pl.String)
    read = to_typed_series(series, "time" if names_for_role("time", [name]) else name, untyped=True)
    return pl.col(_PATH).replace_strict(pl.Series(list(map(str, files))), read).alias(name)


def _refuse_pooled_partitions(
    path: Path, keys: Mapping[str, Sequence[str | None]], requested: Sequence[str]
) -> None:
    for key, values in keys.items():
        several = list(dict.fromkeys(values))
        if len(several) > 1 and key not in requested:
            folders = [f"{key}={value}" for value in several]
            raise FileFormatError(
                f"{path} has {len(several)} partitions, {format_few(folders)}, and {key!r} is not "
                f"read, so they would be pooled. Pass one of the folders, or a filtered "
                f"polars.scan_parquet(…)."
            )


def _schema_mismatch_error(files: Sequence[Path], path: Path) -> FileFormatError | None:
    """Build the error for the first file with different columns; None if all files agree."""
    try:
        schemas = [pl.scan_parquet(file, glob=False).collect_schema() for file in files]
    except polars_errors():
        return None
    for file, schema in zip(files, schemas, strict=True):
        for name in [*schemas[0], *schema]:
            kinds = [str(types[name]) if name in types else None for types in (schemas[0], schema)]
            if kinds[0] != kinds[1]:
                states = [f"of type {kind}" if kind else "missing" for kind in kinds]
                return FileFormatError(
                    f"The files of {path} differ: the column {brief(name)} is {states[0]} in "
                    f"{files[0].name} and {states[1]} in {file.name}. Write all of them with the "
                    f"same columns."
                )
    return None
