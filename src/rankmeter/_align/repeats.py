"""Numbers that occur more than once among very many, in bounded memory.

They are kept in memory, or in temporary files by their first bits: each file is sorted by itself.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
from typing import IO

import numpy as np

from rankmeter._align.packing import BITS, Keys
from rankmeter._align.threads import THREADS, in_threads
from rankmeter._files import writing_temporary
from rankmeter._ingest import size as shown
from rankmeter.errors import DataError

_WIDTH = 8  # bytes of a number


class Repeats:
    """Collects numbers, and finds those that were added more than once.

    Parameters
    ----------
    n : int
        How many will be added at most.
    limit : int
        Bytes of memory that may be used.

    Raises
    ------
    DataError
        If the folder for temporary files cannot hold what does not fit into memory.
    """

    def __init__(self, n: int, limit: int) -> None:
        self._lock = threading.Lock()
        self._held: list[Keys] = []
        self.files: list[IO[bytes]] = []
        size, part = n * _WIDTH, max(limit // (2 * THREADS), 2**20)
        self._bits = max(-(-size // part) - 1, 0).bit_length() if 2 * size > limit else 0
        if not self._bits:
            return
        folder = tempfile.gettempdir()
        free = shutil.disk_usage(folder).free
        if size > free:
            raise DataError(
                f"Finding repeated items among {n:,} rows needs {shown(size)} in {folder}, "
                f"and {shown(free)} are free. Name another folder in TMPDIR, allow more "
                f"memory, or choose duplicates='unchecked' if no item is repeated."
            )
        # Without names where the system has such files, so that they end with the process.
        self.files = [tempfile.TemporaryFile() for _ in range(1 << self._bits)]  # noqa: SIM115

    def add(self, keys: Keys) -> None:
        """Add some numbers; the array is overwritten."""
        keys.sort()
        if not self.files:
            with self._lock:
                self._held.append(keys)
            return
        first = np.arange(1, len(self.files), dtype=np.uint64) << np.uint64(BITS - self._bits)
        slices = np.split(keys, np.searchsorted(keys, first))
        with self._lock, writing_temporary():
            for file, part in zip(self.files, slices, strict=True):
                file.write(part.data)

    def repeated(self) -> Keys:
        """The numbers that occur more than once, ascending. Nothing is kept."""
        if not self.files:
            held, self._held = self._held, []
            return _repeated(np.concatenate(held)) if held else np.zeros(0, dtype=np.uint64)

        def scan(n: int) -> Keys:
            with self.files[n] as file:
                with writing_temporary():
                    size = file.seek(0, 2)  # which writes what is in its buffer
                keys = np.empty(size // _WIDTH, dtype=np.uint64)
                file.seek(0)
                file.readinto(keys)  # type: ignore[attr-defined]
                return _repeated(keys)

        return np.concatenate([*in_threads(scan, len(self.files))])

    def close(self) -> None:
        """Remove what is on disk."""
        for file in self.files:
            file.close()


def _repeated(keys: Keys) -> Keys:
    keys.sort()
    return np.unique(keys[1:][keys[1:] == keys[:-1]])
