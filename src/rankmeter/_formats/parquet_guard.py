"""What Polars must not meet: checks of a Parquet file before Polars reads it.

A page with a negative number of values makes Polars allocate 2^61 bytes, and that ends the process.
Pages beyond the end of the file, or with fewer values than rows, make it panic, and write that to
standard error. Other damage leads to errors, which are caught.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

from rankmeter._reading.table import short_message
from rankmeter.errors import FileFormatError


def unreadable_file_error(path: Path, error: object) -> FileFormatError:
    if "not yet implemented" in str(error):
        return FileFormatError(
            f"{path} has a column of an Arrow type that Polars does not read, such as list_view or "
            f"run-end encoded. Write it again with plain types, such as list."
        )
    return FileFormatError(
        f"{path} cannot be read as Parquet: {short_message(error)}. It may be damaged or "
        f"truncated, or another format under this name, or its files may have different columns; "
        f"write it again."
    )


@contextmanager
def translate_structure_errors(file: Path) -> Iterator[None]:
    """Turn the errors of reading a structure into an error that names the file."""
    try:
        yield
    except OSError as error:
        raise unreadable_file_error(file, error) from error
    except (LookupError, TypeError, ValueError, OverflowError, AttributeError) as error:
        raise unreadable_file_error(
            file, f"its structure is damaged ({short_message(error)})"
        ) from error


class Chunk(NamedTuple):
    """Column in a row group, as described in the footer."""

    name: bytes
    n_rows: int
    n_values: int
    start: int  # where its pages begin
    data: int  # where those with data begin, after that of the dictionary
    length: int
    decompressed: int


class Footer(NamedTuple):
    """Row counts and column chunks from the footer of a file."""

    n_rows: int
    chunks: list[Chunk]
    groups: list[int]  # the number of rows of each


def read_footer(file: Path) -> Footer:
    """Read the footer; refuse a column chunk at an impossible offset, even if unused."""
    with translate_structure_errors(file), file.open("rb") as opened:
        footer = _Thrift(_read_footer_bytes(opened)).read_struct()
        if 8 in footer:
            raise ValueError("encrypted")
        chunks = []
        for group in footer[4]:
            for column in (chunk[3] for chunk in group[1]):
                begin, data = column.get(11) or column[9], column[9]
                length, decompressed = column[7], column.get(6, 0)
                rows = column[3][0], group[3], column[5]
                chunks.append(Chunk(*rows, begin, data, length, decompressed))
                if not 0 <= begin <= data or length < 0:
                    raise ValueError("a column outside of the file")
        groups = [group[3] for group in footer[4]]
        if min(groups, default=0) < 0 or sum(groups) != footer[3]:
            raise ValueError(f"{footer[3]} rows in all, and {sum(groups)} in its row groups")
        return Footer(footer[3], chunks, groups)


def _read_footer_bytes(opened: IO[bytes]) -> bytes:
    opened.seek(0, 2)
    end = opened.tell()
    opened.seek(max(0, end - 8))
    tail = opened.read(8)
    length = int.from_bytes(tail[:4], "little")
    if end < 12 or tail[4:] != b"PAR1" or length > end - 12:
        raise ValueError("it does not end as a Parquet file does")
    opened.seek(end - 8 - length)
    return opened.read(length)


def check_page_headers(opened: IO[bytes], chunk: Chunk) -> None:
    """Check the page headers of one column in one row group."""
    position, n_left, end = chunk.start, chunk.n_values, chunk.start + chunk.length
    if end > opened.seek(0, 2):
        raise ValueError("pages beyond the end of the file")
    while n_left > 0 and position < end:
        page, size = _read_page_header(opened, position)
        n = (page.get(5) or page.get(8) or {1: 0})[1]
        if not 0 <= n <= n_left or page[3] < 0 or page[2] < 0:
            raise ValueError(f"a page of {n} values, where {n_left} of {chunk.n_values} are left")
        n_left -= n
        position += size + page[3]
    if n_left > 0 or chunk.n_values < chunk.n_rows:
        raise ValueError(f"{chunk.n_values - n_left} values in the pages of {chunk.n_rows} rows")


_USUAL_HEADER = 2**8
_LARGEST_HEADER = 2**24


def _read_page_header(opened: IO[bytes], position: int) -> tuple[dict[int, Any], int]:
    """Read the header at a position, and its size; of a large one, more is read."""
    size = _USUAL_HEADER
    while True:
        opened.seek(position)
        header = _Thrift(opened.read(size))
        try:
            return header.read_struct(), header.at
        except _CutOffError:
            if len(header.data) < size or size >= _LARGEST_HEADER:
                raise
        size *= 2**8


class _CutOffError(ValueError):
    """The bytes end within a value."""

    def __init__(self) -> None:
        super().__init__("cut off")


class _Thrift:
    """Reads the compact protocol of Thrift: a struct is ``{field: value}``."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def read_struct(self, depth: int = 0) -> dict[int, Any]:
        """Read a struct as a mapping from field number to value."""
        if depth > 30:
            raise ValueError("nested too deep")
        fields: dict[int, Any] = {}
        field = 0
        while head := self._read_byte():
            field = field + (head >> 4) if head >> 4 else self._read_integer()
            fields[field] = self._read_value(head & 15, depth)
        return fields

    def _read_value(self, kind: int, depth: int) -> Any:
        if kind in (4, 5, 6):
            return self._read_integer()
        if kind in (1, 2):
            return kind == 1
        if kind == 3:
            return self._read_byte()
        if kind in (7, 8):
            return self._read_bytes(8 if kind == 7 else self._read_varint())
        if kind in (9, 10):
            head = self._read_byte()
            n = head >> 4 if head >> 4 < 15 else self._read_varint()
            if (head & 15) in (1, 2):  # in a list each truth value is a byte
                return list(self._read_bytes(n))
            return [self._read_value(head & 15, depth + 1) for _ in range(n)]
        if kind == 12:
            return self.read_struct(depth + 1)
        raise ValueError(f"type {kind} of a field")

    def _read_bytes(self, n: int) -> bytes:
        read = self.data[self.at : self.at + n]
        if len(read) < n:
            raise _CutOffError
        self.at += n
        return read

    def _read_byte(self) -> int:
        if self.at >= len(self.data):
            raise _CutOffError
        self.at += 1
        return self.data[self.at - 1]

    def _read_varint(self) -> int:
        value, shift = 0, 0
        while (byte := self._read_byte()) >= 128:
            value |= (byte & 127) << shift
            shift += 7
            if shift > 63:
                raise ValueError("a number of more than 64 bits")
        return value | byte << shift

    def _read_integer(self) -> int:
        value = self._read_varint()
        return value >> 1 ^ -(value & 1)
