"""Compressed files: gzip and Zstandard, known by their first bytes."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from rankmeter.errors import FileFormatError, MissingDependencyError

_MAGIC = {"gzip": b"\x1f\x8b", "zstd": b"\x28\xb5\x2f\xfd"}
_SUFFIXES = {".gz": "gzip", ".zst": "zstd"}


def packing(start: bytes) -> str:
    """How content with these first four bytes is compressed: gzip, zstd or, if not at all, ""."""
    return next((name for name, magic in _MAGIC.items() if start.startswith(magic)), "")


def refuse_misnamed(path: Path, start: bytes) -> None:
    """An error if the extension of a file names a compression that the file does not have."""
    named = _SUFFIXES.get(path.suffix.lower(), "")
    if named and named != packing(start):
        raise FileFormatError(
            f"{path} ends in {path.suffix} but is not compressed with {named}. Compress or rename "
            f"it."
        )


def unpacked_name(path: Path) -> Path:
    """The name in lower case, without the extension of the compression."""
    name = Path(path.name.lower())
    return Path(name.stem) if name.suffix in _SUFFIXES else name


@contextmanager
def unpacked(file: IO[bytes], path: Path) -> Iterator[IO[bytes]]:
    """The content of an open file, decompressed as it is read."""
    how = packing(file.read(4))
    file.seek(0)
    try:
        yield _stream(file, how, path)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise _incomplete(path, how, error) from error
    except OSError as error:
        if how != "zstd" or error.errno is not None:  # pyarrow's have no number
            raise
        raise _incomplete(path, how, error) from error


def _stream(file: IO[bytes], how: str, path: Path) -> Any:
    if how == "zstd":
        try:
            import pyarrow as pa
        except ImportError as error:
            raise MissingDependencyError(
                f"{path} is compressed with zstd. To read it, pip install pyarrow."
            ) from error
        return pa.CompressedInputStream(pa.PythonFile(file, "r"), "zstd")
    return gzip.GzipFile(fileobj=file) if how else file


def _incomplete(path: Path, how: str, error: Exception) -> FileFormatError:
    return FileFormatError(
        f"{path} is not a complete {how} file: {error}. It may be truncated; copy or compress it "
        f"again."
    )
