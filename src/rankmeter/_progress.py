"""Progress of long work: the work says how far it is, and whoever shows it listens."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

_T = TypeVar("_T")
_LISTENER: ContextVar[Callable[[str], None] | None] = ContextVar("listener", default=None)


@contextmanager
def listening(show: Callable[[str], None]) -> Iterator[None]:
    """Have `show` called with a line about the work that is in progress."""
    token = _LISTENER.set(show)
    try:
        yield
    finally:
        _LISTENER.reset(token)


def with_progress(pieces: Iterable[_T], what: str, n_parts: int, n_rows: int) -> Iterator[_T]:
    """The parts, with a line after each: what is done, rows per second, time left."""
    show, start = _LISTENER.get(), time.monotonic()
    for done, part in enumerate(pieces, start=1):
        if show is not None:
            passed = max(time.monotonic() - start, 1e-9)
            share = done / n_parts
            left = passed / share - passed
            show(f"{what}: {share:.0%}, {n_rows * share / passed:,.0f} rows/s, {_span(left)} left")
        yield part


def _span(seconds: float) -> str:
    """A time in minutes and seconds."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
