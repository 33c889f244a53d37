"""Pass 1 over rankings in pieces: keep the rows with judged items, and count all others.

A row is kept if the hash of its user and item is that of a judgment, or of another row. So a few
rows too many may be kept, and which of them hold a judged or a repeated item is decided where it is
decided for every other table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from rankmeter._align.counts import holds, search
from rankmeter._align.excluded import is_self, refuse_repeated_self
from rankmeter._align.packing import BITS, Keys, bits
from rankmeter._align.repeats import Repeats
from rankmeter._align.sizes import Sizes
from rankmeter._align.tally import Counted
from rankmeter._align.threads import over
from rankmeter._align.tops import Tops
from rankmeter._hits import IntArray
from rankmeter._ingest import IdSeries, Pieces, Table

__all__ = ["sift"]

_ODD = np.uint64(0x9E3779B97F4A7C15)
_SMALLEST = 3  # ids that the error of two sides without a common one shows


def sift(
    table: Table, truth: Table, *, limit: int, repeats: bool, depth: int = 0, own: bool = False
) -> Table:
    """The same rankings, of which only the rows with judged items are in memory.

    With `repeats` those of repeated items are, too: these are found in about `limit` bytes. The
    rows of each user down to rank `depth` are in memory for themselves, and with `own` the rows of
    the item that has the id of its user.
    """
    pieces = table.pieces
    if pieces is None:
        raise ValueError("the table is in memory")
    types = {role: table.dtype(role) for role in ("user", "item")}
    judged, sizes = _Hashes(_keys(truth.frame)), Sizes(types["user"])
    seen = Repeats(pieces.n_rows, limit) if repeats else None
    tops = Tops(table.order, depth, own=own)

    def look(n: int) -> _Sifted:
        piece = pieces.read(n)
        rows = piece.rows.cast(types)  # type: ignore[arg-type]
        keys = _keys(rows)
        at = judged.find(keys)
        found = rows[np.union1d(at, rows.select(is_self().arg_true()).to_series()) if own else at]
        sizes.add(rows["user"])
        if seen is not None:
            seen.add(keys)
        top = tops.of(rows) if depth else rows.clear()
        return _Sifted(found, top, piece.empty_users.cast(types["user"]), piece.counts)

    counts = Counter(table.counts)
    kept, empty = [], [table.empty_users.series()]
    for part in over(pieces, look, "finding judged items"):
        kept.append(part.rows)
        tops.add(part.top)
        empty.append(part.empty_users)
        counts.update(part.counts)
    rows = pl.concat(kept)
    if seen is not None:
        again = np.setdiff1d(seen.found(), judged.keys, assume_unique=True)
        if again.size:
            rows = pl.concat([rows, _rows_of(pieces, types, _Hashes(again))])
            rows = (rows.unique("number") if own else rows).sort("number")
    if own and depth and table.order == "rank":
        refuse_repeated_self(rows, table.source)
    if not _any_judged(rows, truth.frame):
        rows = pl.concat([rows, _examples(pieces, types, truth)]).unique("number").sort("number")
    pieces.check()
    users, n_rows = sizes.counted()
    rest = Counted(pieces, table.order, rows, users, n_rows, room=limit, tops=tops)
    others = pl.concat(empty)
    named = users if others.is_empty() else pl.concat([users, others]).unique().sort()
    origin = replace(table.origin, counts={"rows": counts["rows"], **+counts})
    return replace(
        table, rows=rows, empty_users=IdSeries(named), origin=origin, pieces=None, rest=rest
    )


def _any_judged(rows: pl.DataFrame, truth: pl.DataFrame) -> bool:
    """Whether any row holds a judged item; nearly always one of the first does."""
    parts = (rows.head(1000), rows[1000:])
    return any(truth.join(some, on=["user", "item"], how="semi").height for some in parts)


class _Sifted(NamedTuple):
    """What remains of a piece."""

    rows: pl.DataFrame
    top: pl.DataFrame
    empty_users: pl.Series
    counts: Mapping[str, int]


class _Hashes:
    """Some hashes of user and item, and where they occur."""

    def __init__(self, keys: Keys) -> None:
        keys.sort()
        self.keys = keys
        # One byte for each value of the first bits: most rows need no search.
        width = min(bits(16 * keys.size) + 1, 28)
        self._shift = np.uint64(BITS - width)
        self._filter = np.zeros(1 << width, dtype=bool)
        self._filter[self._slots(keys)] = True
        # And the first hash with each value of fewer bits: the others have only a few to compare.
        width = bits(keys.size) + 1
        self._coarse = np.uint64(BITS - width)
        n = np.bincount((keys >> self._coarse).view(np.int64), minlength=1 << width)
        self._begin = np.concatenate(([0], np.cumsum(n)))

    def find(self, keys: Keys) -> IntArray:
        """The positions of the hashes that are among these."""
        likely = np.flatnonzero(self._filter.take(self._slots(keys)))
        wanted = keys[likely]
        slot = (wanted >> self._coarse).view(np.int64)
        end = self._begin[slot + 1]
        at = search(self.keys, wanted, self._begin[slot], end, np.less)
        return likely[holds(self.keys, wanted, at, end)]

    def _slots(self, keys: Keys) -> IntArray:
        return (keys >> self._shift).view(np.int64)


def _keys(rows: pl.DataFrame) -> Keys:
    """A hash of user and item; the same in one process, not in every version of Polars."""
    keys: Keys = rows["user"].hash(1).to_numpy() * _ODD
    keys += rows["item"].hash(2).to_numpy()
    keys *= _ODD  # so that the first bits depend on all of them
    return keys


def _rows_of(pieces: Pieces, types: Mapping[str, Any], wanted: _Hashes) -> pl.DataFrame:
    """The rows with some hashes."""

    def look(n: int) -> pl.DataFrame:
        rows = pieces.read(n).rows.cast(types)  # type: ignore[arg-type]
        return rows[wanted.find(_keys(rows))]

    return pl.concat([*over(pieces, look, "reading repeated items")])


def _examples(pieces: Pieces, types: Mapping[str, Any], truth: Table) -> pl.DataFrame:
    """Rows with the smallest users and items, and one with a judged item if any has one."""
    items = truth.frame["item"].unique().implode()

    def look(n: int) -> pl.DataFrame:
        rows = pieces.read(n).rows.cast(types)  # type: ignore[arg-type]
        return _extremes(rows, rows.filter(pl.col("item").is_in(items)).head(1))

    parts = pl.concat([*over(pieces, look, "looking for common ids")])
    common = parts.filter(pl.col("item").is_in(items)).head(1)
    return _extremes(parts, common)


def _extremes(rows: pl.DataFrame, more: pl.DataFrame) -> pl.DataFrame:
    smallest = [
        rows.unique(role, keep="first", maintain_order=True).sort(role).head(_SMALLEST)
        for role in ("user", "item")
    ]
    return pl.concat([*smallest, more]).unique("number", maintain_order=True)
