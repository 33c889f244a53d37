"""Work on numbered parts in several threads; NumPy and Polars let them run at the same time."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from rankmeter._ingest import Pieces
from rankmeter._progress import with_progress

_T = TypeVar("_T")

THREADS = min(4, os.cpu_count() or 1)
"""How many parts are worked on at the same time."""


def in_threads(work: Callable[[int], _T], n: int, most: int = THREADS + 1) -> Iterator[_T]:
    """The results of `work` on the numbers below `n`, in order; at most `most` are not taken."""
    if n == 1:
        yield work(0)
        return
    waiting: deque[Future[_T]] = deque()
    with ThreadPoolExecutor(THREADS) as pool:
        try:
            for part in range(n):
                waiting.append(pool.submit(work, part))
                if len(waiting) == most:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def map_pieces(pieces: Pieces, work: Callable[[int], _T], what: str) -> Iterator[_T]:
    """A pass over all pieces, as `in_threads`; `what` names it where progress is shown."""
    return with_progress(in_threads(work, len(pieces)), what, len(pieces), pieces.n_rows)
