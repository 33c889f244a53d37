"""Ids as places in the bytes of a text: none of them becomes a Python string."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from rankmeter import _compiled
from rankmeter._ingest._id_columns import Ids, IdType

SPAN = np.dtype([("start", "<i8"), ("size", "<u4"), ("hash", "<u4")])
"""Where an id is in the content, and its hash, as in `_native.c`; compiled code knows the hash."""


@dataclass(frozen=True, eq=False)
class Spans(Ids):
    """Some ids of a text, by place."""

    content: bytes | npt.NDArray[np.uint8]
    places: npt.NDArray[Any]  # of `SPAN`
    encoding: str = "utf-8"

    @classmethod
    def of(cls, ids: Sequence[str], encoding: str) -> Spans:
        """Ids that are strings."""
        written = [text.encode(encoding) for text in ids]
        places = np.zeros(len(written), SPAN)
        places["size"] = [*map(len, written)]
        places["start"] = np.cumsum(places["size"], dtype=np.int64) - places["size"]
        return cls(b"".join(written), places, encoding)

    def __len__(self) -> int:
        return self.places.size

    @property
    def type(self) -> IdType:
        """See `Ids.type`."""
        return "String"

    def take(self, chosen: npt.NDArray[np.int64]) -> Spans:
        """See `Ids.take`."""
        return replace(self, places=self.places[chosen])

    def to_list(self) -> list[str]:
        """See `Ids.to_list`."""
        return self._lines().decode().split("\n")[:-1]

    def series(self) -> pl.Series:
        """See `Ids.series`."""
        lines = self._lines()
        # No id has a control character.
        rows = pl.read_csv(b"id\n" + lines, separator="\x1f", quote_char=None, infer_schema=False)
        return rows["id"]

    def _lines(self) -> bytes:
        """Each id and the end of its line, in UTF-8."""
        lines: bytes = _compiled.native.gather(self.content, self.places)
        return lines if self.encoding == "utf-8" else lines.decode(self.encoding).encode()
