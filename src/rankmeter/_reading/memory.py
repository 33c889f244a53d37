"""Memory that the process can still use, and lower bounds for reading and measuring data.

The needs are measured lower bounds: data that exceed them would not fit.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path

import numpy as np

from rankmeter.errors import NotEnoughMemoryError

PER_TEXT_BYTE = 4
"""Bytes for each byte of a text file, decompressed."""
PER_LINE = 28
"""Bytes for each line of a TREC file that is read in pieces."""
PER_PARQUET_ROW = 100
"""Bytes for each row of a Parquet file until it is measured."""
PER_MEASURED_ROW = 20
"""Bytes for each row of a table that has been read until it is measured."""

PER_ROW = 130
"""Bytes that each row of rankings takes in memory until it is measured."""
PER_ROW_OF_NUMBERS = 90
"""The same where users, items and scores are numbers, and there are no other columns."""
PER_ROW_WITHOUT_TEXT = 110
"""The same where ids are text, whose bytes come to that."""
PER_BYTE = 8
"""The same for each byte of text whose rows are of usual length."""

_OF_SHORT = {b"\n": PER_ROW, b",": 70, b"[{": 600}
"""The same for what short rows of text have: a line, a value, a list or an object within a line."""
_MOST_PER_BYTE = 300  # of text that consists of empty lists
_allowed: ContextVar[float | None] = ContextVar("allowed", default=None)

_LITTLE = 2**25  # smaller needs are not checked


def check_memory(needed: int, subject: str, free: int | None = None) -> None:
    """Refuse work that needs more than `free` (default: now) bytes; `subject` names the work."""
    if needed < _LITTLE:
        return
    free = available_memory() if free is None else free
    if free is not None and needed > free:
        raise NotEnoughMemoryError(
            f"{subject} needs at least {format_bytes(needed)} of memory, and {format_bytes(free)} "
            f"are available. Evaluate fewer users at a time (a mean over all users is the mean of "
            f"the parts, weighted by their users), keep only the top of each ranking, or use a "
            f"machine or a limit with more memory."
        )


@contextmanager
def limit_text_memory(allowed: float | None) -> Iterator[None]:
    """Refuse, inside the context, decompressed text that needs more memory than `allowed`."""
    token = _allowed.set(allowed)
    try:
        yield
    finally:
        _allowed.reset(token)


class TextNeeds:
    """Estimate of the memory for measuring a text, from the part of the text seen so far."""

    def __init__(self) -> None:
        self.seen = 0
        self._signs = dict.fromkeys(_OF_SHORT, 0)

    def estimate_bytes(self, text: bytes | bytearray, n: int) -> int:
        """Estimate the bytes of memory for `n` bytes of text that begin with `text`."""
        with memoryview(text)[self.seen :] as unseen:
            letters = np.frombuffer(unseen, dtype=np.uint8)
            for signs in self._signs:
                self._signs[signs] += sum(int(np.count_nonzero(letters == s)) for s in signs)
            del letters
        self.seen = len(text)
        lines, values, lists = self._signs.values()
        of_lines, of_values, of_lists = _OF_SHORT.values()
        short = max(of_lines * lines, of_values * values, of_lists * (lists - lines))
        return max(PER_BYTE * n, short * n // max(self.seen, 1))

    def refuse_large_text(self, text: bytearray, subject: str) -> None:
        """Refuse text, decompressed so far, that needs more memory than allowed."""
        allowed = _allowed.get()
        if allowed is None or len(text) * _MOST_PER_BYTE <= allowed:
            return
        if (needed := self.estimate_bytes(text, len(text))) > allowed:
            raise NotEnoughMemoryError(
                f"{subject} takes about {format_bytes(needed)} of memory or more, and "
                f"{format_bytes(allowed)} are allowed."
            )


def estimate_text_memory(path: Path, limit: float) -> int:
    """Estimate the bytes of memory for measuring a text file, given the file on disk.

    Where that could exceed `limit`, the first 16 MB show how short its rows are.
    """
    n = path.stat().st_size
    if n * PER_BYTE > limit or n * _MOST_PER_BYTE <= limit:
        return n * PER_BYTE
    with path.open("rb") as file:
        return TextNeeds().estimate_bytes(file.read(_LOOKED_AT), n)


_LOOKED_AT = 2**24


def available_memory() -> int | None:
    """Bytes that the process can still use, by the machine, control groups and process limits.

    None where the system does not report it.
    """
    return min(
        (
            free
            for free in (
                *_free_memory_of_machine(),
                *_free_memory_of_groups(),
                *_free_address_space(),
            )
            if free is not None
        ),
        default=None,
    )


def format_bytes(n: float) -> str:
    """Format a number of bytes for messages: ``1.5 GB``."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if n < 1000:
            return f"{n:.3g} {unit}"
        n /= 1000
    return f"{n:.4g} TB"


def _free_memory_of_machine() -> Iterator[int]:
    with suppress(OSError, ValueError, KeyError):
        lines = Path("/proc/meminfo").read_text("ascii").splitlines()
        values = {name: value.split() for name, _, value in (line.partition(":") for line in lines)}
        yield 1024 * (int(values["MemAvailable"][0]) + int(values["SwapFree"][0]))
        return
    with suppress(AttributeError, OSError, ValueError):  # no such call on Windows
        yield os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _free_memory_of_groups() -> Iterator[int]:
    """Yield the bytes left in each control group above the process, for both versions."""
    lines: list[str] = []
    with suppress(OSError):
        lines = Path("/proc/self/cgroup").read_text("utf-8").splitlines()
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        name, limit, usage, cache = _LAYOUTS[1 if controllers else 0]
        group = Path("/sys/fs/cgroup") / name / path.lstrip("/")
        for folder in (group, *group.parents):
            with suppress(OSError, ValueError):  # without a limit it says "max"
                maximum = int((folder / limit).read_text("ascii"))
                rows = (folder / "memory.stat").read_text("ascii").splitlines()
                free = int(dict(row.split() for row in rows).get(cache, 0))
                yield maximum - int((folder / usage).read_text("ascii")) + free


_LAYOUTS = (
    ("", "memory.max", "memory.current", "inactive_file"),
    ("memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)
"""Folder, limit, usage and what could be freed of it: control groups of version 2, of version 1."""


def _free_address_space() -> Iterator[int]:
    """Yield the bytes left under the limit of the address space (``ulimit -v``)."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit != resource.RLIM_INFINITY:
            pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
            yield limit - pages * resource.getpagesize()
