"""Files in and out: ``-`` for standard input, tables in the format of their extension."""

from __future__ import annotations

import gzip
import itertools
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from tempfile import gettempdir
from typing import IO, TypeAlias, cast

import polars as pl

from rankmeter._cli._command import copy_with_message
from rankmeter._files import create_folder, is_special_file, open_replacement, open_temporary_file
from rankmeter.errors import DataError, RankmeterError, UsageError

STDIN = "-"
"""The name of standard input or output on the command line."""

Write: TypeAlias = "Callable[[pl.DataFrame, bool], str]"
"""Rows as text, with the header or without."""

InPieces: TypeAlias = "Callable[[int], Iterator[pl.DataFrame]]"
"""At least one table, of about so many rows each, which are parts of one."""


def _format_trec_run(frame: pl.DataFrame, _: bool) -> str:
    """Format a TREC run: ``user Q0 item rank score rankmeter``, the scores in full precision."""
    for role in ("user", "item"):
        text = frame[role].cast(pl.String)
        invalid = text.filter(text.str.contains(r"\s|^$"))
        if len(invalid):
            raise DataError(
                f"a TREC run separates its fields by white space, and the {role} {invalid[0]!r} "
                "cannot be one of them: choose .csv, .jsonl or .parquet"
            )
    q0, tag = pl.lit("Q0").alias("q0"), pl.lit("rankmeter").alias("tag")
    lines = frame.select("user", q0, "item", "rank", "score", tag)
    return lines.write_csv(include_header=False, separator=" ", quote_style="never")


# Parquet is not text; it is here for its extension.
TABLES: dict[str, Write | None] = {
    "csv": lambda frame, header: frame.write_csv(include_header=header),
    "tsv": lambda frame, header: frame.write_csv(include_header=header, separator="\t"),
    "jsonl": lambda frame, _: frame.write_ndjson(),
    "parquet": None,
}
"""The forms of a table, by extension."""

RANKINGS: dict[str, Write | None] = {**TABLES, "run": _format_trec_run}
"""The forms of rankings: those of a table, and the TREC run."""

_ALIASES = {"ndjson": "jsonl", "pq": "parquet"}
_ROWS = 100_000  # written at a time


@contextmanager
def standard_input_as_file(*paths: str | None) -> Iterator[list[str | None]]:
    """Yield the paths, with a temporary copy of standard input in place of ``-``."""
    if STDIN not in paths:
        yield list(paths)
        return
    if paths.count(STDIN) > 1:
        raise UsageError("only one input can be standard input (-): name a file for the other")
    if sys.stdin is None:
        raise DataError("standard input is closed: name a file instead of -")
    with open_temporary_file() as (file, copy):
        try:
            shutil.copyfileobj(sys.stdin.buffer, file)
            file.flush()
        except OSError as error:
            error.filename = error.filename or f"the copy of standard input in {gettempdir()}"
            raise
        try:
            yield [copy if path == STDIN else path for path in paths]
        except RankmeterError as error:
            message = str(error).replace(copy, "standard input")
            raise copy_with_message(error, message) from error


def output_format(path: str, formats: Mapping[str, Write | None]) -> tuple[str, bool]:
    """The format of an output by its name, and whether to gzip it."""
    if path == STDIN:
        return "csv", False
    name = Path(path).name.lower()
    extension = Path(name.removesuffix(".gz")).suffix.removeprefix(".")
    extension = _ALIASES.get(extension, extension)
    zipped = name.endswith(".gz")
    if extension not in formats or (zipped and formats[extension] is None):
        extensions = ", ".join(f".{name}" for name in formats)
        raise UsageError(
            f"the extension of {path} must say how to write it: {extensions}; text also with .gz"
        )
    return extension, zipped


def refuse_overwriting(outputs: Sequence[str | None], inputs: Sequence[str | None] = ()) -> None:
    """Refuse outputs that would replace an input, or each other."""
    used_paths = [
        (Path(os.path.realpath(path)), "an input") for path in inputs if path and path != STDIN
    ]
    for output in outputs:
        if not output or output == STDIN or is_special_file(output):
            continue
        real = Path(os.path.realpath(output))
        for other, role in used_paths:
            # A folder of Parquet files is one input, and a file in it would become part of it.
            in_folder = role == "an input" and other in real.parents
            if real == other or in_folder or _is_hard_link(real, other):
                raise UsageError(f"{output} is {role} already: choose another file to write to")
        used_paths.append((real, "an output"))


def _is_hard_link(path: Path, other: Path) -> bool:
    """Whether a path is a hard link to a file, or to a file in a folder."""
    if not path.is_file() or path.stat().st_nlink == 1:
        return False
    files = other.rglob("*") if other.is_dir() else [other]
    return any(file.is_file() and path.samefile(file) for file in files)


def write_frames(
    frames: Mapping[str, pl.DataFrame | InPieces],
    formats: Mapping[str, Write | None] = TABLES,
    *,
    folders: bool = False,
) -> None:
    """Write all tables or none, by path, in the format of the extension; ``-`` is CSV on stdout.

    Frames in pieces are written piece by piece. With `folders`, missing folders are created.
    """
    with ExitStack() as all_or_none:
        for path, frame in frames.items():
            extension, zipped = output_format(path, formats)
            if path == STDIN:
                _write_frame(frame, sys.stdout.buffer, formats[extension], path)
                continue
            if folders:
                all_or_none.enter_context(create_folder(Path(path).parent))
            file = all_or_none.enter_context(open_replacement(path))
            # No name and no time inside, so that equal tables make equal files.
            packed = gzip.GzipFile("", "wb", fileobj=file, mtime=0) if zipped else nullcontext(file)
            with packed as sink:
                _write_frame(frame, cast("IO[bytes]", sink), formats[extension], path)
            file.flush()  # a disk that is full is noticed before any file is replaced


def _write_frame(
    frame: pl.DataFrame | InPieces, file: IO[bytes], write: Write | None, path: str
) -> None:
    try:
        if write is None and isinstance(frame, pl.DataFrame):
            frame.write_parquet(file)
            return
        pieces = _slice_frame(frame) if isinstance(frame, pl.DataFrame) else frame(_ROWS)
        if write is None:
            _stream_parquet(pieces, file)
            return
        for n, piece in enumerate(pieces):
            file.write(write(piece, n == 0).encode())
    except pl.exceptions.PolarsError as error:
        raise DataError(f"{path} cannot be written: {error}. Is .parquet possible?") from error


def _slice_frame(frame: pl.DataFrame) -> Iterator[pl.DataFrame]:
    for start in range(0, max(frame.height, 1), _ROWS):
        yield frame.slice(start, _ROWS)


def _stream_parquet(pieces: Iterator[pl.DataFrame], file: IO[bytes]) -> None:
    """Write Parquet from pieces that are not all in memory at once."""
    from polars.io.plugins import register_io_source

    first = next(pieces)

    def read_pieces(*_: object) -> Iterator[pl.DataFrame]:
        yield from itertools.chain([first], pieces)

    register_io_source(read_pieces, schema=first.schema).sink_parquet(file)
