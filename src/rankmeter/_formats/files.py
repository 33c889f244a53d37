"""Detect the format of a path, and report the errors of reading."""

from __future__ import annotations

import gzip
import json
import os
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import IO, Any

from rankmeter._formats.json import read_json, read_json_lines
from rankmeter._formats.parquet import PARQUET, matching_files, read_parquet
from rankmeter._formats.paths import (
    beir_judgments_path,
    expand_home,
    from_database,
    is_beir_folder,
    is_duckdb_file,
    split_path_from_part,
)
from rankmeter._formats.text import (
    START,
    UNFINISHED,
    Text,
    file_state,
    read_delimited,
    read_user_lines,
)
from rankmeter._formats.trec import (
    detect_trec_format,
    holds_short_run,
    read_qrels,
    read_run,
    read_short_run,
)
from rankmeter._reading.columns import Columns, Side
from rankmeter._reading.memory import (
    PER_TEXT_BYTE,
    TextNeeds,
    available_memory,
    check_memory,
    format_bytes,
)
from rankmeter._reading.objects import first_object
from rankmeter._reading.table import translate_file_errors
from rankmeter.errors import FileFormatError, MissingDependencyError, RankmeterError
from rankmeter.errors._checks import brief, suggest_words

ACCEPTED = (
    "a Parquet file or a folder of them, CSV or TSV with a header line, JSON, JSON Lines, a TREC "
    "run (qid Q0 docid rank score tag) or TREC qrels (qid 0 docid rel), a folder of BEIR, or a "
    "DuckDB file; the text formats may be compressed with gzip or zstd"
)

TEXT_FORMATS: Mapping[str, Callable[[Text, Side], Columns]] = {
    ".csv": partial(read_delimited, separator=","),
    ".tsv": partial(read_delimited, separator="\t"),
    ".json": read_json,
    ".jsonl": read_json_lines,
    ".ndjson": read_json_lines,
    ".run": read_run,
    ".qrels": read_qrels,
    ".qrel": read_qrels,
}
BOM = b"\xef\xbb\xbf"


def from_path(data: str | PathLike[str], side: Side) -> Columns:
    """Read a file or a folder of Parquet files; extension or content decides the format."""
    if not os.fspath(data):
        raise FileFormatError(
            "The path is empty. Name a file, or a folder of Parquet files; '.' is this folder."
        )
    path, part = split_path_from_part(data)
    if "://" in str(data):
        raise FileFormatError(
            f"{data} is an address on the network; rankmeter reads local files. Pass the "
            f"frame that polars.scan_parquet or polars.read_csv makes of it."
        )
    with translate_file_errors(path):
        if is_beir_folder(path):
            return from_path(beir_judgments_path(path, part, side), side)
        if is_duckdb_file(path):
            return from_database(path, part, side)
        if part:
            return _read_part_of_json(path, part, side)
        if is_parquet(path):
            return read_parquet(path)
        if not path.exists():
            raise _missing_file_error(path)
        if path.is_file():
            refuse_misnamed_compression(path, read_first_bytes(path, 4))
    text = read_text(path)
    return choose_reader(text, path, side)(text, side)


def _read_part_of_json(path: Path, part: str, side: Side) -> Columns:
    text = to_utf8_text(read_content(path), path)
    if choose_reader(text, path, side) is not read_json:
        raise FileFormatError(f"{path} is one table, so there is no part {brief(part)} of it.")
    return read_json(text, side, part)


def is_parquet(path: Path) -> bool:
    """Whether a path names a Parquet file, a folder, or a pattern of Parquet files."""
    if not path.exists():
        files = matching_files(path)
        for file in files:
            if _extension(file) not in PARQUET and read_first_bytes(file, 4) != b"PAR1":
                raise FileFormatError(
                    f"{path} matches {file.name}, which is not a Parquet file; only Parquet "
                    f"files can be read by a pattern. Pass one file, or "
                    f"polars.scan_csv({str(path)!r})."
                )
        return bool(files)
    if _extension(path) in PARQUET and path.is_file() and path.stat().st_size == 0:
        raise FileFormatError(f"{path} is empty. {UNFINISHED}")
    if path.is_dir() or _extension(path) in PARQUET:
        return not is_beir_folder(path)
    # A pipe can be read only once, so it is text.
    return path.is_file() and read_first_bytes(path, 4) == b"PAR1"


def is_text_file(path: Path) -> bool:
    """Whether a path names a text file."""
    return path.is_file() and not is_parquet(path) and not is_duckdb_file(path)


def first_json_object(data: str | PathLike[str]) -> Columns | None:
    """Fields of the first object of a JSON or JSON Lines file; None for other files."""
    path = expand_home(data)
    try:
        if not path.is_file() or _first_decompressed_bytes(path)[:1] not in (b"{", b"["):
            return None
        text = to_utf8_text(read_content(path), path).text
        start = text.index("{")
        first, end = json.JSONDecoder().raw_decode(text, start)
        is_only = not text[:start].strip() and not text[end:].strip()
        return first_object(first if is_only else [first])
    except (OSError, RankmeterError, ValueError, RecursionError):
        # Any mistake in the file is reported when it is read.
        return None


def _first_decompressed_bytes(path: Path) -> bytes:
    """First bytes of the decompressed content, without leading white space."""
    with path.open("rb") as file, open_decompressed(file, path) as content:
        return content.read(4096).lstrip(BOM + b" \t\r\n")


def read_first_bytes(path: Path, n: int) -> bytes:
    """First `n` bytes of a file."""
    with path.open("rb") as file:
        return file.read(n)


def _extension(path: Path) -> str:
    return name_without_compression(path).suffix


def _missing_file_error(path: Path) -> FileFormatError:
    if not path.parent.is_dir():
        return FileFormatError(f"{path} does not exist, nor does its folder {path.parent}.")
    if re.fullmatch(r"[A-Za-z][\w.]*(\(.*\))?@[\d,]+", path.name):
        return FileFormatError(
            f"{path} does not exist. If it is a metric, pass it after the ground truth, or after "
            f"None if the rankings are records with their ground truth: evaluate(records, None, "
            f"'{path}')."
        )
    if path.is_symlink():
        return FileFormatError(f"{path} is a link to {path.readlink()}, where no file can be read.")
    hint = suggest_words(path.name, (neighbour.name for neighbour in path.parent.iterdir()))
    return FileFormatError(f"{path} does not exist{hint or '.'}")


# ---------------------------------------------------------------------------------------------
# Text


def read_content(path: Path) -> bytes | bytearray:
    """Read the content of a text file, decompressed, if the memory suffices.

    The content is decompressed in pieces: a few bytes can hold more text than fits into memory.
    """
    with translate_file_errors(path):
        n = path.stat().st_size
        check_memory(n * PER_TEXT_BYTE, f"{path} ({format_bytes(n)})")
        content = path.read_bytes()
    if not detect_compression(content[:4]):
        return content
    text, free, needs = bytearray(), available_memory(), TextNeeds()
    with open_decompressed(BytesIO(content), path) as file:
        while piece := file.read(_PIECE):
            text += piece
            packed, held = format_bytes(len(content)), format_bytes(len(text))
            subject = f"{path} ({packed} that hold {held} or more of text)"
            check_memory(len(text) * PER_TEXT_BYTE, subject, free)
            needs.refuse_large_text(text, subject)
    return text


_PIECE = 2**22


def start_if_large(path: Path) -> bytes:
    """First bytes of a large uncompressed file; empty for any other file."""
    with translate_file_errors(path):
        if not path.is_file() or path.stat().st_size < _LARGE:
            return b""
        start = read_first_bytes(path, START)
    return b"" if detect_compression(start[:4]) else start


_LARGE = 2**22  # bytes


def open_large_text(
    name: str | Path,
    start: bytes | bytearray,
    read: Callable[[], bytes | bytearray],
    encoding: str = "utf-8",
) -> Text:
    """Text of a large file, read in pieces unless its lines need a closer look."""
    with translate_file_errors(name):
        return Text(str(name), start, encoding, read, file_state(name))


def read_text(path: Path) -> Text:
    """Text of a file; a large file is not read yet if its start is plain ASCII."""
    start = start_if_large(path)
    if b"\n" not in start or not start.isascii() or not start.strip():
        return to_utf8_text(read_content(path), path)
    return open_large_text(path, start, lambda: to_utf8_text(read_content(path), path).content)


ENCODING: ContextVar[str] = ContextVar("encoding", default="")
"""The encoding of text files, if it was named."""


def to_utf8_text(content: bytes | bytearray, path: Path) -> Text:
    """Check that content is UTF-8, or convert it; return the text without byte order marks."""
    _refuse_other_formats(content[:_START_OF_FORMATS], path)
    if encoding := ENCODING.get():
        try:
            content = content.decode(encoding).encode()
        except UnicodeError as error:
            raise FileFormatError(
                f"{path} is not text in {encoding}: {error}. Name another encoding."
            ) from error
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise FileFormatError(f"{path} is UTF-16 text; expected UTF-8. {_how_to_decode('utf-16')}")
    text = Text(str(path), content)
    try:
        if not text.is_ascii:
            content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise FileFormatError(
            f"{path} is not UTF-8 text: byte {error.start} (line {line}) is "
            f"0x{content[error.start]:02x}. {_how_to_decode(_guess_encoding(content))} If it is "
            f"not a text file: accepted are {ACCEPTED}."
        ) from error
    while content.startswith(BOM):
        content = content.removeprefix(BOM)
    if b"\n" not in content and b"\r" in content:
        content = content.replace(b"\r", b"\n")  # the line ends of old spreadsheets
    if content is not text.content:
        text = Text(str(path), content)
    if text.is_blank:
        raise FileFormatError(f"{path} is empty. {UNFINISHED}")
    return text


def _guess_encoding(content: bytes | bytearray) -> str:
    """Encoding that text seems to have: that of Korean spreadsheets if it gives Hangul."""
    try:
        korean = content.decode("cp949")
    except UnicodeDecodeError:
        return "latin-1"
    strange = [letter for letter in korean if not letter.isascii()]
    hangul = sum("가" <= letter <= "힣" for letter in strange)
    return "cp949" if 2 * hangul > len(strange) else "latin-1"


def _how_to_decode(encoding: str) -> str:
    return (
        f"Save it again as UTF-8, or name its encoding, such as {encoding}: --encoding {encoding} "
        f"on the command line, or the frame of pandas.read_csv(path, encoding={encoding!r})."
    )


_PICKLE = ("a pickle of Python", "pickle.load(open({!r}, 'rb'))")  # for files that one trusts
_FORMATS = {
    b"\x93NUMPY": ("an array of NumPy (.npy)", "np.load({!r})"),
    b"PK\x03\x04": ("a zip file", "unzip {}"),
    b"ARROW1": ("an Arrow or Feather file", "polars.read_ipc({!r})"),
    b"FEA1": ("an old Feather file", "pandas.read_feather({!r})"),
    b"\x80\x02": _PICKLE,
    b"\x80\x03": _PICKLE,
    b"\x80\x04": _PICKLE,
    b"\x80\x05": _PICKLE,
    b"BZh": ("compressed with bzip2", "bunzip2 -k {}"),
    b"\xfd7zXZ": ("compressed with xz", "unxz -k {}"),
    b"\x89HDF": ("an HDF5 file", "pandas.read_hdf({!r})"),
    b"SQLite format 3": ("an SQLite file", "polars.read_database_uri('SELECT …', 'sqlite://…')"),
    b"Obj\x01": ("an Avro file", "polars.read_avro({!r})"),
    b"ORC": ("an ORC file", "pandas.read_orc({!r})"),
}
"""First bytes of formats that are not read: what they are, and what reads or unpacks them."""
_ZIPPED = {
    ".npz": ("arrays of NumPy (.npz)", "np.load({!r})['NAME']"),
    ".xlsx": ("an Excel file", "polars.read_excel({!r})"),
    ".pt": ("a file of torch", "torch.load({!r}, weights_only=True)"),
    ".pth": ("a file of torch", "torch.load({!r}, weights_only=True)"),
}
_START_OF_FORMATS = max(map(len, _FORMATS))


def _refuse_other_formats(start: bytes | bytearray, path: Path) -> None:
    """Refuse files of known formats that are not text, and say what reads them."""
    magic = next((magic for magic in _FORMATS if start.startswith(magic)), None)
    if magic is None or (magic == b"ORC" and path.suffix.lower() != ".orc"):
        return
    zipped = _ZIPPED.get(path.suffix.lower()) if magic.startswith(b"PK") else None
    what, reader = zipped or _FORMATS[magic]
    verb = "Pass what this reads" if "(" in reader else "Unpack it first"
    raise FileFormatError(f"{path} is {what}, not text. {verb}: {reader.format(str(path))}.")


def choose_reader(text: Text, path: Path, side: Side) -> Callable[[Text, Side], Columns]:
    """Choose the reader of a text by the file extension and the start of the text."""
    extension = _extension(path)
    header = text.head.lstrip().partition("\n")[0]
    if extension in TEXT_FORMATS and extension not in (".csv", ".tsv", ".run"):
        return TEXT_FORMATS[extension]
    if extension == ".csv" and "," in header:
        return TEXT_FORMATS[".csv"]
    # TREC files have any extension, .tsv among others.
    if kind := detect_trec_format(text, side):
        return read_run if kind == "run" else read_qrels
    if side == "rankings" and extension != ".csv" and holds_short_run(text):
        return read_short_run
    if extension in TEXT_FORMATS:
        return TEXT_FORMATS[extension]
    if extension == ".trec":
        return read_qrels if side == "truth" else read_run
    start = text.head.lstrip()
    if start.startswith(("{", "[")):
        return read_json
    for separator in "\t,":
        if separator in header:
            return partial(read_delimited, separator=separator)
    if side == "users":
        return read_user_lines
    raise FileFormatError(
        f"The format of {path} is not known: its name does not say it, and its first line is "
        f"{brief(header)}. Accepted are {ACCEPTED}."
    )


# ---------------------------------------------------------------------------------------------
# Compressed files: gzip and Zstandard, known by their first bytes

_MAGIC = {"gzip": b"\x1f\x8b", "zstd": b"\x28\xb5\x2f\xfd"}
_SUFFIXES = {".gz": "gzip", ".zst": "zstd"}


def detect_compression(start: bytes) -> str:
    """Compression of content with these first four bytes: "gzip", "zstd", or "" for none."""
    return next((name for name, magic in _MAGIC.items() if start.startswith(magic)), "")


def refuse_misnamed_compression(path: Path, start: bytes) -> None:
    """Refuse a file whose extension names a compression that the file does not have."""
    claimed = _SUFFIXES.get(path.suffix.lower(), "")
    if claimed and claimed != detect_compression(start):
        raise FileFormatError(
            f"{path} ends in {path.suffix} but is not compressed with {claimed}. Compress or "
            f"rename it."
        )


def name_without_compression(path: Path) -> Path:
    """File name in lower case, without the extension of the compression."""
    name = Path(path.name.lower())
    return Path(name.stem) if name.suffix in _SUFFIXES else name


@contextmanager
def open_decompressed(file: IO[bytes], path: Path) -> Iterator[IO[bytes]]:
    """Yield the content of an open file, decompressed while being read."""
    compression = detect_compression(file.read(4))
    file.seek(0)
    try:
        yield _decompressed_stream(file, compression, path)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise _incomplete_file_error(path, compression, error) from error
    except OSError as error:
        if compression != "zstd" or error.errno is not None:  # pyarrow's have no number
            raise
        raise _incomplete_file_error(path, compression, error) from error


def _decompressed_stream(file: IO[bytes], compression: str, path: Path) -> Any:
    if compression == "zstd":
        try:
            import pyarrow as pa
        except ImportError as error:
            raise MissingDependencyError(
                f"{path} is compressed with zstd. To read it, pip install pyarrow."
            ) from error
        return pa.CompressedInputStream(pa.PythonFile(file, "r"), "zstd")
    return gzip.GzipFile(fileobj=file) if compression else file


def _incomplete_file_error(path: Path, compression: str, error: Exception) -> FileFormatError:
    return FileFormatError(
        f"{path} is not a complete {compression} file: {error}. It may be truncated; copy or "
        f"compress it again."
    )
