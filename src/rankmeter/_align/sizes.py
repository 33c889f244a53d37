"""How many rows each user has, counted piece by piece."""

from __future__ import annotations

import threading

import numpy as np
import polars as pl

from rankmeter._hits import IntArray

__all__ = ["Sizes"]

_MANY = 2**22  # counts that are kept before those of one user are added up


class Sizes:
    """Rows by user: in a table where integer ids are dense, and otherwise in a frame."""

    def __init__(self, dtype: pl.DataType) -> None:
        self.low, self.table = 0, np.zeros(0, dtype=np.int64)
        self.frame = pl.DataFrame(schema={"user": dtype, "n": pl.Int64})
        self.waiting: list[pl.DataFrame] = []
        self.n_rows = 0
        self.dense = dtype == pl.Int64
        self._lock = threading.Lock()

    def add(self, users: pl.Series) -> None:
        """Count the users of some rows."""
        if len(users) == 0:
            return
        ids: IntArray = users.to_numpy() if self.dense else np.zeros(1, np.int64)
        with self._lock:
            self.n_rows += len(users)
            dense = self._reaches(int(ids.min()), int(ids.max()))
            if dense and self.table.size <= 4 * len(users):
                self.table += np.bincount(ids - self.low, minlength=self.table.size)
                return
        if dense:
            each, n = _runs(np.sort(ids))
            with self._lock:
                if self.dense:
                    self.table[each - self.low] += n
                    return
                counted = pl.DataFrame({"user": each, "n": n})
        else:
            counted = users.to_frame("user").group_by("user").len("n")
        with self._lock:
            self.waiting.append(counted.with_columns(pl.col("n").cast(pl.Int64)))
            if sum(map(len, self.waiting)) > _MANY + self.frame.height:
                self._merge()

    def counted(self) -> tuple[pl.Series, IntArray]:
        """All users, ascending, and the number of rows of each."""
        self._spread()
        self._merge()
        frame = self.frame.sort("user")
        return frame["user"], frame["n"].to_numpy()

    def _reaches(self, low: int, high: int) -> bool:
        """Make the table reach these ids, if it does not become too large for the rows seen."""
        if not self.dense:
            return False
        if self.table.size:
            low, high = min(low, self.low), max(high, self.low + self.table.size - 1)
        if high - low >= 4 * self.n_rows + 1_000_000:
            self._spread()
            self.dense = False
            return False
        if high - low >= self.table.size:
            room = (high - low + 1) // 4  # the next ids may be a little higher
            table = np.zeros(high - low + 1 + room, dtype=np.int64)
            table[self.low - low :][: self.table.size] = self.table
            self.low, self.table = low, table
        return True

    def _spread(self) -> None:
        """The counts of the table as rows."""
        if self.table.size:
            at = np.flatnonzero(self.table)
            self.waiting.append(pl.DataFrame({"user": at + self.low, "n": self.table[at]}))
            self.table = self.table[:0]

    def _merge(self) -> None:
        frame = pl.concat([self.frame, *self.waiting])
        self.frame = frame.group_by("user").agg(pl.col("n").sum())
        self.waiting = []


def _runs(ids: IntArray) -> tuple[IntArray, IntArray]:
    """The different values of sorted numbers, and how often each occurs."""
    start = np.flatnonzero(np.diff(ids, prepend=ids[0] - 1))
    return ids[start], np.diff(start, append=ids.size)
