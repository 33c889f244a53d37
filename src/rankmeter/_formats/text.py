"""Read the content of a text file, delimited text and lines."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from rankmeter._reading.columns import Columns, Side, names_for_role
from rankmeter._reading.table import polars_errors, short_message, translate_file_errors
from rankmeter.errors import FileFormatError
from rankmeter.errors._checks import brief

Piece: TypeAlias = Callable[[int, int], Any]
"""From two places to the bytes of the content between them, which are valid until the next call."""


def file_state(path: str | Path) -> tuple[int, ...]:
    """Size, modification time and inode of a file, which change with the content."""
    status = Path(path).stat()
    return status.st_size, status.st_mtime_ns, status.st_ino


@dataclass(frozen=True)
class Text:
    """Content of a text file, decoded only when needed.

    Of a large file only the start was read, and `read` reads all of it once something needs that.
    """

    name: str
    start: bytes | bytearray
    encoding: str = "utf-8"
    read: Callable[[], bytes | bytearray] | None = None
    state: tuple[int, ...] = ()  # of a large file, as `file_state` gives it

    @cached_property
    def content(self) -> bytes | bytearray:
        """All bytes of the file."""
        return self.start if self.read is None else self.read()

    @property
    def is_unread(self) -> bool:
        """Whether only the start was read."""
        return self.read is not None and "content" not in vars(self)

    @property
    def has_changed(self) -> bool:
        """Whether a large file may have been changed, replaced or removed."""
        with suppress(OSError):
            return file_state(self.name) != self.state
        return True

    @property
    def size(self) -> int:
        """Number of bytes."""
        return self.state[0] if self.is_unread else len(self.content)

    @contextmanager
    def open_pieces(self) -> Iterator[Piece]:
        """Yield a function that returns pieces of the content, without reading all of it."""
        if not self.is_unread:
            view = memoryview(self.content)
            yield lambda start, stop: view[start:stop]
            return
        # The name is as it came.
        with translate_file_errors(self.name), open(self.name, "rb", buffering=0) as file:  # noqa: PTH123
            yield _piece_reader(file)

    @cached_property
    def text(self) -> str:
        """All characters of the file."""
        return self.content.decode(self.encoding)

    @cached_property
    def head(self) -> str:
        """Up to 65536 characters from the start."""
        return self.start[:START].decode(self.encoding, "ignore")[:_HEAD]

    @cached_property
    def is_ascii(self) -> bool:
        """Whether all bytes are ASCII."""
        return self.content.isascii()

    @property
    def is_blank(self) -> bool:
        """Whether all characters are white space."""
        return not self.head.strip() and not self.text.strip()

    def contains_any(self, *words: bytes) -> bool:
        """Whether any of the words occurs."""
        return any(word in self.content for word in words)


def _piece_reader(file: Any) -> Piece:
    """Return a function that reads pieces of a file into one buffer."""
    buffer = np.empty(0, dtype=np.uint8)

    def piece(start: int, stop: int) -> Any:
        nonlocal buffer
        if buffer.size < stop - start:
            buffer = np.empty(stop - start, dtype=np.uint8)
        file.seek(start)
        filled = 0
        while n := file.readinto(buffer.data[filled : stop - start]):
            filled += n
        return buffer[:filled]

    return piece


UNFINISHED = "Was it written completely?"
"""The question of errors about a file that ends too early."""
_HEAD = 2**16
START = 4 * _HEAD


# ---------------------------------------------------------------------------------------------
# CSV and TSV


def read_delimited(file: Text, side: Side, separator: str = ",") -> Columns:
    """Read a table with a header line; every value stays text until its role is known."""
    refuse_bare_carriage_returns(file, quoted=True)
    header = _read_header(file, separator)
    if len(header) == 1 and (other := next((c for c in "\t;|," if c in header[0]), None)):
        name = {"\t": ", or name it .tsv", ",": ", or name it .csv"}.get(other, "")
        raise FileFormatError(
            f"{file.name} has one column, {brief(header[0])}: its fields seem to be separated by "
            f"{other!r}, not by {separator!r}. Write it with {separator!r}{name}, or pass the "
            f"frame that polars.read_csv(path, separator={other!r}) makes of it."
        )
    header = _without_types(header)
    frame = _read_plain_rows(file, separator, len(header))
    if frame is None:
        frame = _read_any_rows(file, separator, len(header))
    hint = ""
    if any(re.fullmatch(r"\s*-?\d+(\.\d+)?\s*", name) for name in header):
        hint = (
            f" The first line, {brief(separator.join(header))}, looks like data: put a header line "
            f"such as {separator.join(['user', 'item', 'score'])!r} above it."
        )
    # By position: Polars renames a column whose name occurs twice.
    columns = dict(zip(header, frame.get_columns(), strict=True))
    blank = {b'"', b" ", b"\t", b"\r", b"\x0b", b"\x0c"} - {separator.encode()}
    read = Columns.of(
        columns,
        file.name,
        textual=True,
        trimmed=file.is_ascii and not file.contains_any(*blank),
        untyped=True,
        hint=hint,
    )
    return replace(read, names=header)


def _without_types(header: list[str]) -> list[str]:
    """Names of the columns without their types, where all have one, as in atomic files of RecBole.

    Such as ``user_id:token``.
    """
    types = [re.fullmatch(r"(.+):(?:token|float)(?:_seq)?", name) for name in header]
    return [match[1] for match in types if match] if all(types) else header


def _read_plain_rows(file: Text, separator: str, width: int) -> pl.DataFrame | None:
    """Read rows of a file without quotation marks and without missing last values; else None.

    Every row has `width` fields: none has fewer, and together they have as many as that makes.
    """
    if file.contains_any(b'"', b"\r"):
        return None
    try:
        frame = pl.read_csv(bytes(file.content), separator=separator, infer_schema=False)
    except polars_errors():
        return None
    if frame.width != width or frame.to_series(-1).null_count():
        return None
    separators = (width - 1) * (frame.height + 1)
    return frame if file.content.count(separator.encode()) == separators else None


def _read_any_rows(file: Text, separator: str, width: int) -> pl.DataFrame:
    """Read rows of any file; raise the error of the first bad row."""
    text = file.text.lstrip("\r\n")
    if "\n\n" in text or "\n\r\n" in text:  # Polars would read a blank line as a row of nulls
        # Text between quotation marks is kept.
        text = re.sub(r'("[^"]*(?:"|$))|(?:\r?\n)+(?=\r?\n|$)', r"\1", text)
    if _has_quotes_inside_fields(text, separator):
        frame = _read_row_by_row(file, separator, width)
    else:
        try:
            frame = pl.read_csv(text.encode(), separator=separator, infer_schema=False)
        except polars_errors() as error:
            raise _ragged_row_error(file, separator, width) or FileFormatError(
                f"{file.name} cannot be read as a table: {short_message(error)}. Write it again as "
                f"plain CSV."
            ) from error
    if '""' in text:  # quoted or not, nothing is a missing value
        frame = frame.with_columns(pl.all().replace("", None))
    if frame.width != width:
        raise _bad_header_error(file, "its quotation marks do not pair")
    # A short row leaves its last column empty, and a long one can end in a separator; only then is
    # it worth walking over the rows.
    ends = (f"{separator}\n" in text, f"{separator}\r" in text, text.endswith(separator))
    doubtful = frame.to_series(-1).null_count() or any(ends)
    if doubtful and (ragged := _ragged_row_error(file, separator, width)):
        raise ragged
    return frame


def refuse_bare_carriage_returns(file: Text, *, quoted: bool = False) -> None:
    r"""Refuse a ``\r`` that does not end a line and would become part of a value.

    If `quoted`, a ``\r`` is allowed between quotation marks.
    """
    if not file.contains_any(b"\r") or file.content.count(b"\r") == file.content.count(b"\r\n"):
        return
    for match in re.finditer(r'"[^"]*(?:"|$)|\r(?!\n)' if quoted else r"\r(?!\n)", file.text):
        if match[0] == "\r":
            line = file.text.count("\n", 0, match.start()) + 1
            raise FileFormatError(
                f"{file.name}, line {line}: a carriage return (\\r) that does not end a line, "
                f"while other lines end in \\n. Write the file again with one kind of line end."
            )


def _iterate_lines(text: str) -> Iterator[str]:
    """Yield the lines with their line breaks, which avoids a second copy of a large text."""
    start = 0
    while start < len(text):
        end = text.find("\n", start) + 1 or len(text)
        yield text[start:end]
        start = end


def _read_header(file: Text, separator: str) -> list[str]:
    start = file.head.lstrip("\r\n")
    if '"' in start or "\n" not in start:
        start = file.text.lstrip("\r\n")
    try:
        return next(csv.reader(_iterate_lines(start), delimiter=separator))
    except csv.Error as error:
        raise _bad_header_error(file, str(error)) from error


def _bad_header_error(file: Text, reason: str) -> FileFormatError:
    header = file.text[:4096].lstrip().partition("\n")[0]
    return FileFormatError(
        f"{file.name} has a header line that cannot be read: {brief(header)} ({reason}). Write "
        f"the names of the columns plainly."
    )


def _has_quotes_inside_fields(text: str, separator: str) -> bool:
    """Whether a quotation mark seems to be where Polars can join or drop rows.

    Such marks are inside a field, follow a quoted field, or have no second mark.
    """
    if '"' not in text:
        return False
    if text.count('"') % 2:
        return True
    after = f'"(?:[^"]|"")*"[^"{separator}\\r\\n]'
    within = f'[^"{separator}\\r\\n]+"'
    # The search by Polars is linear in time, unlike that of re.
    return bool(pl.Series([text]).str.contains(f"(?m)(?:^|{separator})(?:{after}|{within})")[0])


def _read_row_by_row(file: Text, separator: str, width: int) -> pl.DataFrame:
    """Read the table row by row; a quotation mark inside an unquoted field is text."""
    if ragged := _ragged_row_error(file, separator, width):
        raise ragged
    rows = (
        row
        for row in csv.reader(_iterate_lines(file.text), delimiter=separator, strict=True)
        if row
    )
    next(rows)
    schema = {str(number): pl.String for number in range(width)}
    frame = pl.DataFrame([*rows], schema=schema, orient="row")
    return frame.with_columns(pl.all().replace("", None))


def _ragged_row_error(file: Text, separator: str, width: int) -> FileFormatError | None:
    """Build the error for the first row with a wrong number of fields or bad quotes; else None."""
    reader = csv.reader(_iterate_lines(file.text), delimiter=separator, strict=True)
    line = 0
    try:
        for row in reader:
            if row and len(row) != width:
                return FileFormatError(
                    f"{file.name}, line {reader.line_num}: {len(row)} fields where the header has "
                    f"{width}: {brief(separator.join(row))}. Complete or remove the line, or put "
                    f"quotation marks around fields that contain {separator!r}."
                )
            line = reader.line_num
    except csv.Error as error:
        if "end of data" in str(error):
            return FileFormatError(
                f"{file.name}, line {line + 1}: a quotation mark is opened and never closed. "
                f"Close it, or double it if it belongs to the value."
            )
        fault = "text follows a closing quotation mark" if "expected" in str(error) else str(error)
        return FileFormatError(
            f"{file.name}, line {reader.line_num}: {fault}. Put quotation marks around the field, "
            f"and double those that belong to the value."
        )
    return None


def read_user_lines(file: Text, side: Side) -> Columns:
    """Read one user per line, perhaps below a title; blank lines are ignored."""
    refuse_bare_carriage_returns(file)
    lines = [line for line in map(str.strip, file.text.split("\n")) if line]
    users = pl.Series(lines[1:] if names_for_role("user", lines[:1]) else lines, dtype=pl.String)
    return Columns.from_role_columns({"user": users}, file.name, textual=True, untyped=True)
