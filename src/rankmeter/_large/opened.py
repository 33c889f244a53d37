"""Open rankings in pieces or in Spark as a `Table` without reading all rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias, cast

import polars as pl

from rankmeter._formats.files import is_parquet, is_text_file
from rankmeter._formats.parquet import ParquetFiles
from rankmeter._formats.paths import expand_home
from rankmeter._formats.text import file_state
from rankmeter._large.chunks import Spool, read_chunks
from rankmeter._reading.by_user import InFrame, Objects
from rankmeter._reading.collapse import Collapsing
from rankmeter._reading.columns import Columns, names_of_runs, resolve_roles
from rankmeter._reading.forms import read_columns
from rankmeter._reading.frames import class_test, describe_type, from_polars, translate_query_errors
from rankmeter._reading.memory import (
    PER_ROW,
    PER_ROW_OF_NUMBERS,
    PER_ROW_WITHOUT_TEXT,
    estimate_text_memory,
)
from rankmeter._reading.numbers import refuse_unused_numbers, to_numbers
from rankmeter._reading.orders import (
    compare_in_pieces,
    count_by_rank,
    count_by_score,
)
from rankmeter._reading.read import (
    BadScores,
    find_second_order,
    rankings_from_columns,
    read_rankings,
    refuse_lists_apart,
)
from rankmeter._reading.table import Table
from rankmeter.errors import DataError
from rankmeter.errors._checks import no_rows_error

_EXAMPLES = 1000  # rows
_PER_LINE = 16  # bytes of text that are read for a row; most lines are longer


@dataclass(frozen=True, eq=False)
class Pieces:
    """Rows of a source in pieces, which are checked on each read, always in the same order.

    `read` may be called from several threads.
    """

    frames: _Frames
    found: Columns  # what is known of the source
    roles: Mapping[str, str]
    bad_scores: BadScores

    @cached_property
    def frame_starts(self) -> list[int]:
        """Number of the first row of each frame, followed by the number of all rows."""
        return list(accumulate(self.frames.heights, initial=0))

    @property
    def n_rows(self) -> int:
        """Number of rows, also of those without a score."""
        return self.frame_starts[-1]

    def __len__(self) -> int:
        return len(self.frames)

    def read(self, n: int) -> Table:
        """Read a piece as a table of rankings."""
        try:
            return self._read_table(n)
        except DataError:
            self.refuse_changed_rows()  # rows that somebody writes meanwhile are not damaged
            raise

    def _read_table(self, n: int) -> Table:
        frame = self.frames.read(n, list(dict.fromkeys(self.roles.values())))
        source = self.found.source
        if len(self) > 1:
            source += f" (rows {self.frame_starts[n] + 1:,} to {self.frame_starts[n + 1]:,})"
        columns = from_polars(frame, "rankings", source)
        read = replace(self.found, names=columns.names, fetch=columns.fetch, source=source)
        return rankings_from_columns(read, self.roles, self.bad_scores)

    def refuse_changed_rows(self) -> None:
        """Raise a DataError if the rows may have changed since they were opened."""
        self.frames.refuse_changed_rows()


@dataclass(frozen=True, eq=False)
class _ParquetParts:
    """Parts of Parquet files."""

    files: ParquetFiles
    parts: Sequence[tuple[Path, int, int]]
    states: Mapping[Path, tuple[int, ...]]
    owner: object  # of the files, if they are to end with it

    @classmethod
    def of(cls, files: ParquetFiles, rows: int, owner: object = None) -> _ParquetParts:
        states = {file: _file_state(file) for file in files.files}
        return cls(files, files.divide_rows(rows), states, owner)

    @cached_property
    def heights(self) -> Sequence[int]:
        return [n for _, _, n in self.parts]

    def __len__(self) -> int:
        return len(self.parts)

    def read(self, n: int, names: Sequence[str]) -> pl.DataFrame:
        return self.files.read(names, self.parts[n])

    def refuse_changed_rows(self) -> None:
        for file, state in self.states.items():
            if _file_state(file) != state:
                raise DataError(
                    f"{file} changed while it was read. Repeat the evaluation when nothing writes "
                    f"to it."
                )


@dataclass(frozen=True, eq=False)
class InPieces(InFrame):
    """Rankings in pieces; `rows` are a few of them, as examples of all types.

    Attributes
    ----------
    pieces : Pieces
    collapsing : Collapsing, optional
        What is done with the rows of each piece, and then with all rows of some users.
    """

    pieces: Pieces
    collapsing: Collapsing | None = None
    in_memory = False


_Frames: TypeAlias = Spool | _ParquetParts
"""Rows as frames of all or some columns, with the types of the source."""


def _file_state(file: Path) -> tuple[int, ...]:
    """State of a file; empty if the file no longer exists."""
    with suppress(OSError):
        return file_state(file)
    return ()


def open_rankings(
    data: object,
    *,
    rows: int,
    columns: Mapping[str, str] | None = None,
    bad_scores: BadScores = "error",
) -> Table | None:
    """Open rankings in pieces of about `rows` rows; None if the form cannot be read in pieces.

    Parquet files are read where they are. Text, queries and batches are written to a temporary file
    first. What is in memory already stays there. The parameters are those of
    `read_rankings`.
    """
    if isinstance(data, str | PathLike) and is_text_file(expand_home(data)):
        chunks = read_chunks(expand_home(data), columns, rows * _PER_LINE)
        if chunks is None:
            return None
        table = _open_pieces(chunks.frames, chunks.found, columns, bad_scores)
        counts = dict(Counter(table.counts) + chunks.counts)
        examples = InPieces(chunks.examples, cast("InPieces", table.rows).pieces)
        return replace(table, rows=examples, origin=replace(table.origin, counts=counts))
    if _has_lists_of_items(data, columns):
        return None
    opened = _open_frames(data, rows)
    if opened is None:
        return read_rankings(data, columns=columns, bad_scores=bad_scores)
    return _open_pieces(*opened, columns, bad_scores)


def _has_lists_of_items(data: object, columns: Mapping[str, str] | None) -> bool:
    """Whether the data can be read in pieces and have lists of items."""
    dataset = class_test("polars", "LazyFrame")(data) or class_test("pyarrow", "Dataset")(data)
    if not dataset and not (isinstance(data, str | PathLike) and is_parquet(expand_home(data))):
        return False
    read = read_columns(data, "rankings")
    return resolve_roles(read, "rankings", columns)["item"] in read.nested


def _open_pieces(
    frames: _Frames, read: Columns, columns: Mapping[str, str] | None, bad_scores: BadScores
) -> Table:
    """Open rankings in pieces, and read only a few rows."""
    roles = resolve_roles(read, "rankings", columns)
    if not sum(frames.heights):
        raise no_rows_error(read.source)
    first = next(n for n, height in enumerate(frames.heights) if height)
    if isinstance(frames, _ParquetParts):
        frames.files.refuse_damaged_columns(list(roles.values()))
    if not isinstance(frames, Spool) and not roles.keys() & {"score", "rank"}:
        start = from_polars(frames.read(first, read.names), "rankings", read.source)
        refuse_unused_numbers(start, "rankings", roles.values())
    for name in names_of_runs(read, roles):
        names = {roles["user"]: "user", name: "part", roles["item"]: "item"}
        parts = (frames.read(n, [*names]).rename(names) for n in range(len(frames)))
        refuse_lists_apart(parts, name, read.source)
    counts = _compare_orders(frames, read, roles)
    roles = {role: name for role, name in roles.items() if role != "score" or "rank" not in roles}
    pieces = Pieces(frames, read, roles, bad_scores)
    table = pieces.read(first)
    examples = table.frame.head(_EXAMPLES)
    for role in ("user", "item"):
        if _exceeds_int64(frames, roles[role]):
            examples = examples.with_columns(pl.col(role).cast(pl.UInt64))
    origin = replace(table.origin, source=read.source, counts=dict(+counts))
    empty = Objects([], table.id_type("user"))
    return replace(table, rows=InPieces(examples, pieces), empty_users=empty, origin=origin)


def _compare_orders(frames: _Frames, read: Columns, roles: Mapping[str, str]) -> Counter[str]:
    """Counts of an order that is said twice."""
    unused = find_second_order(read, roles)
    if unused is None:
        return Counter()
    by_rank = "rank" in roles
    names = {"rank": unused, "score": unused, **roles}
    names = {role: names[role] for role in ("user", "rank", "score")}
    n_rows = sum(frames.heights)

    def piece(i: int) -> pl.DataFrame:
        rows = frames.read(i, [*names.values()])
        numbers = [
            to_numbers(rows[name], role, read.source, untyped=read.untyped and by_rank)
            for role, name in names.items()
            if role != "user"
        ]
        return pl.DataFrame([rows[names["user"]].alias("user"), *numbers])

    orders, compared = compare_in_pieces(lambda: map(piece, range(len(frames))), n_rows)
    if not by_rank:
        return count_by_score(orders)
    counts = count_by_rank(orders, n_rows)
    if compared < n_rows:
        counts["rows_compared_with_ranks"] = compared
    return counts


def _exceeds_int64(frames: _Frames, name: str) -> bool:
    """Whether a column has integers of 2^63 or more, which need UInt64."""
    dtype = frames.read(0, [name]).schema[name]
    if not (dtype.is_decimal() or dtype in (pl.UInt64, pl.Int128)):
        return False
    ids = (frames.read(n, [name])[name] for n in range(len(frames)))
    return any((column >= 2**63).any() for column in ids)


def _open_frames(data: Any, rows: int) -> tuple[_Frames, Columns] | None:
    """Open data as frames and columns if they can be read in pieces; None if they cannot."""
    if class_test("polars", "LazyFrame")(data):
        return _open_query(data, rows)
    if class_test("pyarrow", "Dataset")(data) or class_test("pyarrow", "RecordBatchReader")(data):
        return _open_batches(data)
    if isinstance(data, str | PathLike) and is_parquet(expand_home(data)):
        files = ParquetFiles.of(expand_home(data))
        return _ParquetParts.of(files, rows), columns_without_values(files.names, str(files.path))
    return None


def _open_query(query: pl.LazyFrame, rows: int) -> tuple[_Frames, Columns]:
    """Compute a query once, into a temporary Parquet file."""
    source, spool = "polars LazyFrame", Spool()
    with translate_query_errors(source):
        # In order: a ranking without scores relies on it.
        query.sink_parquet(spool.path, compression="lz4", row_group_size=min(rows, 2**18))
    files = replace(ParquetFiles.of(Path(spool.path)), path=Path(source))
    return _ParquetParts.of(files, rows, spool), columns_without_values(files.names, source)


def _open_batches(data: Any) -> tuple[_Frames, Columns]:
    """Write pyarrow record batches to a temporary file."""
    dataset = class_test("pyarrow", "Dataset")(data)
    source, spool = "pyarrow Dataset" if dataset else describe_type(data), Spool()
    batches = data.to_batches() if dataset else data
    with translate_query_errors(source):
        for batch in batches:
            frame = pl.DataFrame(pl.from_arrow(batch))
            if frame.height:
                spool.write(frame)
        names = data.schema.names
    return spool, columns_without_values(names, source)


def columns_without_values(names: Sequence[str], source: str) -> Columns:
    """Describe columns that have types, without their values."""
    return Columns(names, lambda _: {}, source)


def estimate_memory(data: Any, limit: float) -> int:
    """Estimate the bytes of memory for measuring rankings, precise only around `limit`.

    0 for rankings in memory, and for unreadable rankings, which are reported on reading.
    Compressed text takes more, which reading it shows (`at_most`).
    """
    with suppress(DataError, OSError):
        if class_test("polars", "LazyFrame")(data):
            if " SCAN " not in data.explain(optimized=False):
                return 0  # counting the rows of a query that reads no files could be long work
            with translate_query_errors("polars LazyFrame"):
                return PER_ROW * int(data.select(pl.len()).collect().item())
        if class_test("pyarrow", "Dataset")(data):
            return PER_ROW * int(data.count_rows())
        if isinstance(data, str | PathLike) and str(data):
            path = expand_home(data)
            if is_parquet(path):
                files = ParquetFiles.of(path)
                if (text := files.text_size()) is None:
                    return PER_ROW_OF_NUMBERS * files.n_rows
                return PER_ROW_WITHOUT_TEXT * files.n_rows + text
            return estimate_text_memory(path, limit) if path.is_file() else 0
    return 0
