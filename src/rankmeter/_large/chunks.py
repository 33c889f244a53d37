"""Read files in chunks, and store rows in a temporary file."""

from __future__ import annotations

import shutil
import tempfile
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
import polars as pl

from rankmeter._files import open_temporary_file, translate_temporary_file_errors
from rankmeter._formats.files import (
    choose_reader,
    detect_compression,
    open_decompressed,
    read_first_bytes,
    refuse_misnamed_compression,
    to_utf8_text,
)
from rankmeter._formats.json import read_json
from rankmeter._formats.text import read_delimited
from rankmeter._formats.trec import read_run, refuse_mixed_runs
from rankmeter._reading.columns import Columns, names_of_runs, resolve_roles
from rankmeter._reading.memory import format_bytes
from rankmeter._reading.numbers import refuse_unused_numbers
from rankmeter._reading.table import integers_from_text, translate_file_errors
from rankmeter.errors import DataError, NotEnoughMemoryError


class Packed(NamedTuple):
    """Rows of a frame, packed to be written."""

    content: memoryview
    height: int


class Spool:
    """Frames in one temporary file, removed with this object or at the end of the process."""

    def __init__(self) -> None:
        stack = ExitStack()
        self.file, self.path = stack.enter_context(open_temporary_file())
        weakref.finalize(self, stack.close)
        self._places: list[tuple[int, int]] = []
        self.heights: list[int] = []
        self._lock = threading.Lock()

    @staticmethod
    def pack(frame: pl.DataFrame) -> Packed:
        """Pack a frame, in any thread."""
        content = BytesIO()
        frame.write_ipc_stream(content, compression="lz4")  # little work for a short frame
        return Packed(content.getbuffer(), frame.height)

    def append(self, packed: Packed) -> Callable[[], pl.DataFrame]:
        """Append a packed frame, and return a function that reads it."""
        self._places.append((self.file.tell(), len(packed.content)))
        self.heights.append(packed.height)
        with translate_temporary_file_errors():
            self.file.write(packed.content)
            self.file.flush()
        return partial(self.read, len(self) - 1)

    def write(self, frame: pl.DataFrame) -> Callable[[], pl.DataFrame]:
        """Append a frame, and return a function that reads it."""
        return self.append(self.pack(frame))

    def __len__(self) -> int:
        return len(self.heights)

    def read(self, n: int, names: Sequence[str] | None = None) -> pl.DataFrame:
        """Read all columns or the named columns of one frame."""
        start, length = self._places[n]
        with self._lock, open(self.path, "rb") as file:  # noqa: PTH123 - may have no name
            file.seek(start)
            content = file.read(length)
        if names is None:
            return pl.read_ipc_stream(content)
        return pl.read_ipc_stream(content, columns=list(names)).select(names)

    def refuse_changed_rows(self) -> None:
        """Do nothing: no other process can change the file."""


def check_disk_space(needed: int, task: str) -> None:
    """Refuse work that needs more temporary disk space than is free."""
    folder = tempfile.gettempdir()
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise DataError(
            f"{task} needs about {format_bytes(needed)} in the folder for temporary files, "
            f"{folder}, where {format_bytes(free)} are free. Set TMPDIR to a folder with more "
            f"space, or free some."
        )


_ZIPPED = 8  # usually text is at most so many times larger than when it is compressed
_LONGEST = 4  # chunks that one line may fill
_SHOWN = 4  # ids that an error shows, and one more


@dataclass(frozen=True)
class Chunks:
    """Rankings of a text file; only columns with a role are kept."""

    frames: Spool
    found: Columns  # what is known of the columns
    examples: pl.DataFrame  # users and items that have all that the types of ids depend on
    counts: Counter[str]  # numbers that were rounded


def read_chunks(path: Path, columns: Mapping[str, str] | None, n_bytes: int) -> Chunks | None:
    """Read rankings from a text file in chunks; None if the file must be read as a whole.

    The number of a line in an error is that in its chunk, which the error names.
    """
    with translate_file_errors(path):
        start = read_first_bytes(path, 4)
        refuse_misnamed_compression(path, start)
        n_unpacked = path.stat().st_size * (_ZIPPED if detect_compression(start) else 1)
        check_disk_space(n_unpacked // 2, f"Reading {path} ({format_bytes(n_unpacked)}) in pieces")
        with path.open("rb") as file, open_decompressed(file, path) as content:
            return _read_file_in_chunks(path, content, columns, n_bytes)


def _read_file_in_chunks(
    path: Path, file: IO[bytes], columns: Mapping[str, str] | None, n_bytes: int
) -> Chunks | None:
    start = file.read(n_bytes)
    blocks = chain((start,), iter(partial(file.read, n_bytes), b""))
    if b"\n" not in start:
        if file.read(1) and not start.lstrip().startswith((b"{", b"[")):
            raise _endless_line_error(path, 1, n_bytes)
        return None
    start = start[: start.rindex(b"\n") + 1]
    read = choose_reader(to_utf8_text(start, path), path, "rankings")
    if read is read_json:
        return None
    is_run = read is read_run
    if is_run:
        read = partial(read_run, in_rows=True)
    table = isinstance(read, partial) and read.func is read_delimited
    header = _first_nonblank_line(start) if table else b""
    runs = pl.DataFrame(schema={"user": pl.String, "tag": pl.String}) if is_run else None
    spool, ids, counts = Spool(), _IdSample(), Counter[str]()
    first: Columns | None = None
    for line, content in _blocks_of_whole_lines(path, blocks, n_bytes, quoted=table):
        name = path if line == 1 else Path(f"{path} (from line {line:,})")
        chunk = read(to_utf8_text(content if line == 1 else header + content, name), "rankings")
        if first is None:
            if chunk.lists is not None or chunk.nested or chunk.shape or len(chunk.empty_users):
                return None
            roles = resolve_roles(chunk, "rankings", columns)
            if not roles.keys() & {"score", "rank"}:
                refuse_unused_numbers(chunk, "rankings", roles.values())
            first = replace(chunk, source=str(path), counts=Counter())
        extra = names_of_runs(chunk, roles) if runs is None else ["rank"]
        kept = [*roles.values(), *extra]
        frame = _chunk_to_frame(chunk, list(dict.fromkeys(kept)), name)
        if runs is not None:
            fields = chunk.fetch(["user", "tag"])
            runs = pl.concat([runs, pl.DataFrame(fields).unique()]).unique(maintain_order=True)
            refuse_mixed_runs(str(path), *runs)
        ids.add_chunk({role: frame[roles[role]] for role in ("user", "item")}, first, name)
        first = replace(first, trimmed=first.trimmed and chunk.trimmed)
        counts.update(chunk.counts)
        spool.write(frame)
    if first is None:  # a header and nothing else, or one value without an end of line
        return None
    return Chunks(spool, first, ids.to_frame(first), counts)


def _blocks_of_whole_lines(
    path: Path, blocks: Iterable[bytes], n_bytes: int, *, quoted: bool
) -> Iterator[tuple[int, bytes]]:
    """Yield blocks of whole lines with the number of the first; `quoted` fields may span lines."""
    unfinished, line = b"", 1
    for block in blocks:
        content = unfinished + block
        cut = _end_of_last_line(content) if quoted and b'"' in content else content.rfind(b"\n") + 1
        if not cut and len(content) > _LONGEST * n_bytes:
            raise _endless_line_error(path, line, len(content))
        unfinished = content[cut:]
        if content[:cut].strip():
            yield line, content[:cut]
        line += content.count(b"\n", 0, cut)
    if unfinished.strip():
        yield line, unfinished


def _endless_line_error(path: Path, line: int, n: int) -> NotEnoughMemoryError:
    return NotEnoughMemoryError(
        f"Line {line:,} of {path} does not end within {format_bytes(n)}, and no more of it can be "
        f"held in memory. Is it a text file with a row on each line, and is a quotation mark left "
        f"open?"
    )


def _first_nonblank_line(content: bytes) -> bytes:
    """First line that is not blank."""
    content = content.lstrip(b"\r\n")
    end = content.find(b"\n") + 1
    while end and content.count(b'"', 0, end) % 2:  # a name with an end of line
        end = content.find(b"\n", end) + 1
    return content[:end]


def _end_of_last_line(content: bytes) -> int:
    """Position after the last line break outside quotation marks."""
    letters = np.frombuffer(content, dtype=np.uint8)
    ends, marks = np.flatnonzero(letters == ord("\n")), np.flatnonzero(letters == ord('"'))
    outside = ends[np.searchsorted(marks, ends) % 2 == 0]
    return int(outside[-1]) + 1 if outside.size else 0


def _chunk_to_frame(chunk: Columns, names: list[str], name: Path) -> pl.DataFrame:
    try:
        columns = chunk.fetch(names)
        return pl.DataFrame([pl.Series(column, columns[column]) for column in names])
    except (KeyError, TypeError, pl.exceptions.PolarsError) as error:
        raise _inconsistent_lines_error(name) from error


def _inconsistent_lines_error(name: Path) -> DataError:
    return DataError(
        f"{name}: the lines differ in their fields, or in the types of these, from those before. "
        f"Such a file cannot be read in pieces: write it as Parquet or CSV, or choose "
        f"engine='memory'."
    )


class _IdSample:
    """Sample of ids that decides the type of all ids of a column, and the match with the truth.

    The sample has the first ids, the first non-integers, and all with white space at an end.
    """

    def __init__(self) -> None:
        self.kept: dict[str, pl.Series] = {}
        self.whole = {"user": True, "item": True}

    def add_chunk(self, columns: Mapping[str, pl.Series], first: Columns, name: Path) -> None:
        """Add the relevant users and items of a chunk."""
        for role, column in columns.items():
            ids = column.alias(role)
            if role not in self.kept:
                self.kept[role] = ids.head(_SHOWN)
            if ids.dtype != self.kept[role].dtype:
                raise _inconsistent_lines_error(name)
            if ids.dtype != pl.String:
                continue
            examples = [self.kept[role]]
            if integers_from_text(ids) is None:
                if self.whole[role]:
                    names = ids.cast(pl.Int64, strict=False).cast(pl.String).ne_missing(ids)
                    examples.append(ids.filter(names).unique(maintain_order=True).head(_SHOWN))
                self.whole[role] = False
            if not first.trimmed:
                examples.append(ids.filter(ids.str.contains(r"^\s|\s$")))
            if len(examples) > 1:
                self.kept[role] = pl.concat(examples).unique(maintain_order=True)

    def to_frame(self, first: Columns) -> pl.DataFrame:
        """Frame of the sampled ids; the last id of the shorter column is repeated."""
        typed = {
            role: ids.cast(pl.Int64)
            if first.untyped and self.whole[role] and ids.dtype == pl.String
            else ids
            for role, ids in self.kept.items()
        }
        longest = max(map(len, typed.values()))
        return pl.DataFrame(
            [ids.gather(np.minimum(np.arange(longest), len(ids) - 1)) for ids in typed.values()]
        )
