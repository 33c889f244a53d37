"""Items by user that stay in the bytes of a TREC file: its lines are an index of places."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from rankmeter._ingest._by_user import ByUser
from rankmeter._ingest._id_columns import few
from rankmeter._ingest._spans import SPAN, Spans
from rankmeter._ingest._text import Text

try:
    from rankmeter._ingest import _scan
except ImportError:  # not compiled; `_trec` does the same
    _scan = None  # type: ignore[assignment]

__all__ = ["Lines"]

_T = TypeVar("_T")
_PER_THREAD = 2**20  # bytes for which another thread is worth starting
_THREADS = min(4, os.cpu_count() or 1)


@dataclass(frozen=True, eq=False, kw_only=True)
class Lines(ByUser):
    """The items of a TREC file in the order of its lines, which all have a number."""

    numbers: npt.NDArray[np.float64]
    spans: Spans

    @classmethod
    def of(cls, file: Text, fields: Sequence[str], wanted: Sequence[str]) -> Lines | None:
        """The lines of a file, or None where any needs a closer look.

        The `fields` are those of a line. Of those `wanted` the first is the user, which begins the
        line, the second the item, which is the third field, and the last the number.
        """
        user, item, number = (fields.index(one) for one in wanted)
        if _scan is None or (user, item) != (0, 2):
            return None
        found = _Scan.of(file.content, (len(fields), number)).found()
        if found is None:
            return None
        items, numbers, topics, offsets = found
        users = few(Spans(file.content, topics, file.encoding))
        spans = Spans(file.content, items, file.encoding)
        return cls(
            users=users,
            empty_users=users.take(offsets[:0]),
            offsets=offsets,
            numbers=numbers,
            item_type="String",
            spans=spans,
        )

    def items(self) -> Spans:
        """All items, by user."""
        return self.spans

    def items_at(self, at: npt.NDArray[np.int64], place: npt.NDArray[np.int64]) -> pl.Series:
        """See `ByUser.items_at`."""
        return self.spans.take(self.offsets[at] + place).series()

    def sought(self, judged: pl.DataFrame | ByUser) -> Spans:
        """See `ByUser.sought`."""
        if isinstance(judged, Lines):
            return judged.spans
        ids = judged["item"] if isinstance(judged, pl.DataFrame) else judged.items().series()
        return Spans.of(ids.to_list(), self.spans.encoding)

    def look_up(self, at: npt.NDArray[np.int64], items: Spans) -> npt.NDArray[np.float64]:
        """See `ByUser.look_up`."""
        found = np.empty(at.size)
        lists = self.spans.content, self.spans.places, self.numbers, self.offsets
        _scan.look_up(*lists, at, items.content, items.places, found)
        return found

    def only(self, chosen: npt.NDArray[np.int64]) -> Lines:
        """See `ByUser.only`."""
        kept = np.zeros(len(self.users), dtype=bool)
        kept[chosen] = True
        if kept.all():
            return self
        return self.where(np.repeat(kept, self.lengths))

    def where(self, kept: npt.NDArray[np.bool_]) -> Lines:
        """Some of the items, without users that keep no item."""
        if kept.all():
            return self
        lengths = np.diff(np.concatenate(([0], np.cumsum(kept)))[self.offsets])
        some = lengths > 0
        return replace(
            self,
            users=self.users.where(some),
            offsets=np.concatenate(([0], np.cumsum(lengths[some]))),
            numbers=self.numbers[kept],
            spans=self.spans.take(np.flatnonzero(kept)),
        )


@dataclass(frozen=True, eq=False)
class _Scan:
    """A content and arrays with room for all of its lines; threads write into parts of them."""

    content: bytes | bytearray
    form: tuple[int, int]  # how many fields a line has, and which of them is the number
    parts: Sequence[tuple[int, int]]  # begin and end of each in the content, between topics

    @classmethod
    def of(cls, content: bytes | bytearray, form: tuple[int, int]) -> _Scan:
        """The content in as many parts as there are threads, unless it is small."""
        size = len(content)
        n = max(1, min(_THREADS, size // _PER_THREAD))
        cuts = (_scan.cut(content, size * i // n) for i in range(n))
        return cls(content, form, [*pairwise([*sorted({*cuts, size})])])

    def found(self) -> tuple[Any, ...] | None:
        """Items, numbers, users and offsets; None where any line needs a closer look."""
        room = [0, *accumulate(self._each(lambda i: _scan.count(self.content, *self.parts[i])))]
        arrays = [np.empty(room[-1], dtype) for dtype in (SPAN, np.float64, SPAN, np.int64)]

        def scan(i: int) -> tuple[int, int] | None:
            own = (one[room[i] : room[i + 1]] for one in arrays)
            return _scan.scan(self.content, *self.parts[i], *self.form, *own)

        n = [one for one in self._each(scan) if one is not None]
        if len(n) < len(self.parts):
            return None
        lines, topics = zip(*n, strict=True)
        items, numbers = (_joined(one, room, lines) for one in arrays[:2])
        users, first = (_joined(one, room, topics) for one in arrays[2:])
        before = np.repeat(np.cumsum([0, *lines[:-1]]), topics)
        if not items.size or not _scan.different(self.content, users):
            return None
        return items, numbers, users, np.append(first + before, items.size)

    def _each(self, work: Callable[[int], _T]) -> list[_T]:
        """The results for all parts."""
        if len(self.parts) == 1:
            return [work(0)]
        with ThreadPoolExecutor(len(self.parts)) as pool:
            return [*pool.map(work, range(len(self.parts)))]


def _joined(
    array: npt.NDArray[Any], room: Sequence[int], filled: Sequence[int]
) -> npt.NDArray[Any]:
    """What was written into the parts of an array, a view if they are full."""
    if sum(filled) == array.size:
        return array
    pairs = zip(room, filled, strict=False)
    return np.concatenate([array[start : start + n] for start, n in pairs])
