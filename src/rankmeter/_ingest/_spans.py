"""Ids as places in the bytes of a text: none of them becomes a Python string."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

try:
    from rankmeter._ingest import _scan
except ImportError:  # not compiled, and never used
    _scan = None  # type: ignore[assignment]

__all__ = ["SPAN", "Spans"]

SPAN = np.dtype([("start", "<i8"), ("size", "<u4"), ("hash", "<u4")])
"""Where an id is in the content, and its hash, as in `_scan.c`."""


@dataclass(frozen=True, eq=False)
class Spans:
    """Some ids of a text, by place."""

    content: bytes | bytearray
    places: npt.NDArray[Any]  # of `SPAN`
    encoding: str = "utf-8"

    @classmethod
    def of(cls, ids: Sequence[str], encoding: str) -> Spans:
        """Ids that are strings."""
        written = [one.encode(encoding) for one in ids]
        places = np.zeros(len(written), SPAN)
        places["size"] = [*map(len, written)]
        places["start"] = np.cumsum(places["size"], dtype=np.int64) - places["size"]
        content = b"".join(written)
        _scan.write_hashes(content, places)
        return cls(content, places, encoding)

    def __len__(self) -> int:
        return self.places.size

    def take(self, chosen: npt.NDArray[np.int64]) -> Spans:
        """Some of them, by place."""
        return replace(self, places=self.places[chosen])

    def series(self) -> pl.Series:
        """The same as a series of strings."""
        lines = _scan.gather(self.content, self.places)
        if self.encoding != "utf-8":
            lines = lines.decode(self.encoding).encode()
        # No id has a control character.
        rows = pl.read_csv(b"id\n" + lines, separator="\x1f", quote_char=None, infer_schema=False)
        return rows["id"]
