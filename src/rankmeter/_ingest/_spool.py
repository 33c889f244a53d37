"""Frames that are kept on disk, so that rows which can be read once are read again in pieces."""

from __future__ import annotations

import shutil
import tempfile
import threading
import weakref
from collections.abc import Sequence
from contextlib import ExitStack
from io import BytesIO

import polars as pl

from rankmeter._files import temporary, writing_temporary
from rankmeter._ingest._memory import size
from rankmeter.errors import DataError


class Spool:
    """Frames in one temporary file, which ends with this object, or with the process."""

    def __init__(self) -> None:
        stack = ExitStack()
        self.file, self.path = stack.enter_context(temporary())
        weakref.finalize(self, stack.close)
        self._places: list[tuple[int, int]] = []
        self.heights: list[int] = []
        self._lock = threading.Lock()

    def write(self, frame: pl.DataFrame) -> None:
        """Add a frame."""
        content = BytesIO()
        frame.write_parquet(content, compression="lz4", statistics=False)
        self._places.append((self.file.tell(), content.tell()))
        self.heights.append(frame.height)
        with writing_temporary():
            self.file.write(content.getbuffer())
            self.file.flush()

    def __len__(self) -> int:
        return len(self.heights)

    def read(self, n: int, names: Sequence[str] | None = None) -> pl.DataFrame:
        """Some columns of one of the frames, or all."""
        start, length = self._places[n]
        with self._lock, open(self.path, "rb") as file:  # noqa: PTH123 - may have no name
            file.seek(start)
            content = file.read(length)
        if names is None:
            return pl.read_parquet(content)
        return pl.read_parquet(content, columns=list(names)).select(names)

    def check(self) -> None:
        """Nobody else can change the file."""


def check_space(needed: int, what: str) -> None:
    """Refuse work that needs more temporary space on disk than is free."""
    folder = tempfile.gettempdir()
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise DataError(
            f"{what} needs about {size(needed)} in the folder for temporary files, {folder}, where "
            f"{size(free)} are free. Name another folder in TMPDIR, or make room."
        )
