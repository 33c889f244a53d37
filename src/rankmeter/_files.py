"""Outputs that are written completely or not at all."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

__all__ = ["is_special", "replacing"]


@contextmanager
def replacing(path: str | Path) -> Iterator[IO[bytes]]:
    """A file that replaces `path` once it is written without an error.

    Until then it is in the same folder under another name; on any failure it is removed, and `path`
    is unchanged. Pipes and devices are written directly.
    """
    if is_special(path):
        with Path(path).open("wb") as file:
            yield file
        return
    real = Path(os.path.realpath(path))
    if real.is_dir():
        raise IsADirectoryError(errno.EISDIR, "is a folder; name a file", str(path))
    if not real.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "this folder does not exist", str(Path(path).parent))
    temporary = real.with_name(f".{real.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("xb") as file:
            yield file
        with suppress(FileNotFoundError):
            shutil.copymode(real, temporary)
        temporary.replace(real)
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            error.filename, error.filename2 = str(path), None  # not the temporary name
        raise


def is_special(path: str | Path) -> bool:
    """Whether there is something at a path that is neither a file nor a folder."""
    there = Path(path)
    return there.exists() and not there.is_file() and not there.is_dir()
