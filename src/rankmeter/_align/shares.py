"""Users divided into parts with about as many rows each."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from rankmeter._ingest import Table

__all__ = ["Shares"]

_SAMPLE = 1000
"""Rows of each table from which the ranges are taken."""


class Shares:
    """The parts of all users of some tables: ranges of ids if these are integers, else by hash."""

    def __init__(self, n: int, *tables: Table) -> None:
        self.n = n
        users = [table.users for table in tables if table.height]
        self.starts: npt.NDArray[Any] | None = None
        if users and users[0].dtype.is_integer():
            some = [one.gather_every(len(one) // _SAMPLE + 1).to_numpy() for one in users]
            inner = np.arange(1, n) / n
            self.starts = np.quantile(np.concatenate(some), inner, method="nearest")

    def of(self, users: pl.Series) -> npt.NDArray[Any]:
        """The number of the part of each user."""
        part: npt.NDArray[Any]
        if self.starts is None:
            half = np.uint64(32)
            part = (users.hash(3).to_numpy() >> half) * np.uint64(self.n) >> half
        else:
            part = np.searchsorted(self.starts, users.to_numpy(), side="right")
        return part.astype(np.min_scalar_type(self.n))
