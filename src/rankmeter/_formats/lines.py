"""Index TREC lines in place."""

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

from rankmeter import _native
from rankmeter._formats.text import Piece, Text
from rankmeter._reading.by_user import ByUser, Ids, IdType, Objects, to_objects_if_few
from rankmeter._reading.memory import PER_LINE, check_memory
from rankmeter._reading.orders import NO_PAIRS, Orders, compare_lines

SPAN = np.dtype([("start", "<i8"), ("size", "<u4"), ("hash", "<u4")])
"""Where an id is in the content, and its hash, as compiled code makes it."""


@dataclass(frozen=True, eq=False)
class Spans(Ids):
    """Ids in a text, by start and size."""

    content: bytes | npt.NDArray[np.uint8]
    places: npt.NDArray[Any]  # of `SPAN`
    encoding: str = "utf-8"

    @classmethod
    def of(cls, ids: Sequence[str], encoding: str) -> Spans:
        """Encode string ids into a new text."""
        written = [text.encode(encoding) for text in ids]
        places = np.zeros(len(written), SPAN)
        places["size"] = [*map(len, written)]
        places["start"] = np.cumsum(places["size"], dtype=np.int64) - places["size"]
        return cls(b"".join(written), places, encoding)

    def __len__(self) -> int:
        return self.places.size

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles hold the ids alone: another process has other hashes."""
        return _scan_ids, (_native.native.gather(self.content, self.places), self.encoding)

    @property
    def type(self) -> IdType:
        return "String"

    def take(self, indices: npt.NDArray[np.int64]) -> Spans:
        return replace(self, places=self.places[indices])

    def to_list(self) -> list[str]:
        return self._join_lines().decode().split("\n")[:-1]

    def to_series(self) -> pl.Series:
        lines = self._join_lines()
        # No id has a control character.
        rows = pl.read_csv(b"id\n" + lines, separator="\x1f", quote_char=None, infer_schema=False)
        return rows["id"]

    def _join_lines(self) -> bytes:
        """Concatenate the ids, each with a line break, in UTF-8."""
        lines: bytes = _native.native.gather(self.content, self.places)
        return lines if self.encoding == "utf-8" else lines.decode(self.encoding).encode()


def _scan_ids(lines: bytes, encoding: str) -> Spans:
    """Hash ids, each followed by a line break, as those of a file."""
    n, content = lines.count(b"\n"), b"".join(b"0 0 %b 0\n" % x for x in lines.split(b"\n")[:-1])
    items, topics = np.zeros(n, SPAN), np.zeros(n, SPAN)
    numbers, first = np.zeros(n), np.zeros(n, dtype=np.int64)
    id_bytes, progress = np.zeros(len(content), dtype=np.uint8), np.array([4, 3, 1, 0, 0, 0, 0])
    if n:
        _native.native.scan(content, items, numbers, None, topics, first, id_bytes, progress)
    return Spans(id_bytes, items, encoding)


_T = TypeVar("_T")
_PER_THREAD = 2**20  # bytes for which another thread is worth starting
_PIECE = 2**20  # bytes that are read at a time, so that they stay in the cache of a core
_THREADS = min(4, os.cpu_count() or 1)
_RUN = 6  # fields of a run, which has ranks


@dataclass(frozen=True, eq=False, kw_only=True)
class Lines(ByUser):
    """Items of a TREC file in the order of the lines; each line has a number."""

    numbers: npt.NDArray[np.float64]
    spans: Spans
    trimmed: bool = False  # whether no id has white space at its ends, as in `Columns`
    orders: Orders = NO_PAIRS  # of a run: its ranks compared with its scores

    @staticmethod
    def of(file: Text, fields: Sequence[str], roles: Sequence[str]) -> Lines | None:
        """Read the lines of a file; None if a line needs a closer look.

        The `fields` are the names of all fields of a line. The `roles` are the fields of the user,
        which is first in the line, of the item, which is third, and of the number.
        """
        user, item, number = (fields.index(role) for role in roles)
        if _native.native is None or (user, item) != (0, 2):
            return None
        form, is_unread = (len(fields), number), file.is_unread
        lines = _Scan.of(file, form).read_lines() if is_unread else None
        if is_unread and file.has_changed:  # while it was read in pieces
            lines = None
        if lines is None and file.content:  # which may have no comments, for example
            lines = _Scan.of(file, form).read_lines()
        return lines

    def items(self) -> Spans:
        """All items, grouped by user."""
        return self.spans

    def take_items(self, indices: npt.NDArray[np.int64]) -> Spans:
        return self.spans.take(indices)

    def to_lookup_keys(self, items: Ids) -> Spans:
        return items if isinstance(items, Spans) else Spans.of([*items], self.spans.encoding)

    def look_up_scores(
        self, list_index: npt.NDArray[np.int64], items: Spans
    ) -> npt.NDArray[np.float64]:
        numbers = np.empty(list_index.size)
        lists = self.spans.content, self.spans.places, self.numbers, self.offsets
        _native.native.find_in_lines(*lists, list_index, items.content, items.places, numbers)
        return numbers

    def look_up_positions(
        self, list_index: npt.NDArray[np.int64], items: Spans
    ) -> npt.NDArray[np.float64]:
        rows = np.arange(len(self), dtype=np.float64)
        return (
            replace(self, numbers=rows).look_up_scores(list_index, items) - self.offsets[list_index]
        )

    def _filter_subclass_fields(self, mask: npt.NDArray[np.bool_]) -> dict[str, Any]:
        return {"spans": self.spans.take(np.flatnonzero(mask))}

    def filter_items(self, mask: npt.NDArray[np.bool_]) -> Lines:
        """Select items by mask; users without a selected item are dropped."""
        if mask.all():
            return self
        lengths = np.diff(np.concatenate(([0], np.cumsum(mask)))[self.offsets])
        has_items = lengths > 0
        return replace(
            self,
            users=self.users.filter(has_items),
            offsets=np.concatenate(([0], np.cumsum(lengths[has_items]))),
            numbers=self.numbers[mask],
            spans=self.spans.take(np.flatnonzero(mask)),
        )


@dataclass(frozen=True, eq=False)
class _Scan:
    """File in parts that threads read piece by piece into arrays large enough for all lines."""

    file: Text
    form: tuple[int, int]  # how many fields a line has, and which of them is the number
    parts: Sequence[tuple[int, int]]  # begin and end of each in the content, between topics

    @classmethod
    def of(cls, file: Text, form: tuple[int, int]) -> _Scan:
        """Divide the file into one part for each thread; a small file is one part."""
        n = max(1, min(_THREADS, file.size // _PER_THREAD))
        with file.open_pieces() as piece:
            cuts = [_next_topic_start(piece, file.size * i // n, file.size) for i in range(1, n)]
        return cls(file, form, [*pairwise([*sorted({0, *cuts, file.size})])])

    def read_lines(self) -> Lines | None:
        """Read all lines; None if a line needs a closer look."""
        counts = self._map_parts(self._count_lines)
        is_ascii = all(ascii_only for _, ascii_only in counts)
        if self.file.is_unread and self.file.encoding == "utf-8" and not is_ascii:
            return None  # only reading the whole file shows whether it is UTF-8
        room = [0, *accumulate(n for n, _ in counts)]
        check_memory(PER_LINE * room[-1], f"{self.file.name} ({room[-1]:,} lines)")
        types = (SPAN, np.float64, np.int32, SPAN, np.int64)
        arrays = [np.empty(room[-1], dtype) for dtype in types]
        id_bytes = np.empty(self.file.size, dtype=np.uint8)  # of which few pages are used

        def read(i: int) -> tuple[int, int] | None:
            return self._read_part(i, [array[room[i] : room[i + 1]] for array in arrays], id_bytes)

        n = [size for size in self._map_parts(read) if size is not None]
        if len(n) < len(self.parts):
            return None
        lines, of_topics = zip(*n, strict=True)
        items, numbers, ranks = (_join_filled_parts(array, room, lines) for array in arrays[:3])
        topics, first = (_join_filled_parts(array, room, of_topics) for array in arrays[3:])
        before = np.repeat(np.cumsum([0, *lines[:-1]]), of_topics)
        spans = Spans(id_bytes, items, self.file.encoding)
        users = to_objects_if_few(replace(spans, places=topics))
        if not items.size:
            return None
        if isinstance(users, Objects):
            n_different = len({*users.values})
        else:
            n_different = users.to_series().n_unique()
        if n_different < len(users):
            return None
        offsets = np.append(first + before, items.size)
        is_run = self.form[0] == _RUN
        return Lines(
            users=users,
            empty_users=users.take(first[:0]),
            offsets=offsets,
            numbers=numbers,
            item_type="String",
            spans=spans,
            trimmed=is_ascii,
            orders=compare_lines(np.diff(offsets), ranks, numbers) if is_run else NO_PAIRS,
        )

    def _count_lines(self, i: int) -> tuple[int, bool]:
        """Number of lines of a part, and whether all bytes are ASCII."""
        start, stop = self.parts[i]
        n, is_ascii, last = 0, True, ord("\n")
        with self.file.open_pieces() as piece:
            for position in range(start, stop, _PIECE):
                part = np.frombuffer(piece(position, min(position + _PIECE, stop)), dtype=np.uint8)
                if part.size:
                    n += int(np.count_nonzero(part == ord("\n")))
                    is_ascii, last = is_ascii and bool(part.max() < 128), part[-1]
        return n + (last != ord("\n")), is_ascii

    def _read_part(
        self, i: int, arrays: Sequence[npt.NDArray[Any]], id_bytes: npt.NDArray[np.uint8]
    ) -> tuple[int, int] | None:
        """Read a part into the arrays; return (lines, topics), None for an unusual line."""
        position, stop = self.parts[i]
        size, last, scan = _PIECE, 2, _native.native.scan
        progress = np.array([*self.form, 0, 0, 0, position, 0])  # as `scan` has it
        with self.file.open_pieces() as piece:
            while position < stop:
                content = piece(position, min(position + size, stop))
                progress[last] = position + len(content) == stop
                n_bytes = scan(content, *arrays, id_bytes, progress)  # type: ignore[call-arg]
                if n_bytes < 0 or len(content) < min(size, stop - position):
                    return None  # the latter if the file has become shorter
                size = _PIECE if n_bytes else 4 * size
                position += n_bytes
        return int(progress[3]), int(progress[4])

    def _map_parts(self, work: Callable[[int], _T]) -> list[_T]:
        """Results of `work` for all parts, computed in threads."""
        if len(self.parts) == 1:
            return [work(0)]
        with ThreadPoolExecutor(len(self.parts)) as pool:
            return [*pool.map(work, range(len(self.parts)))]


def _next_topic_start(piece: Piece, start: int, end: int) -> int:
    """Position after `start` where a topic begins, or the end."""
    size = 2**16
    while True:
        first, *lines = bytes(piece(start - 1, min(start + size, end))).split(b"\n")
        begin, topic = start + len(first), b""
        for line in lines[:-1]:  # the last one may not be whole
            words = line.split(None, 1)
            if words and topic not in (b"", words[0]):
                return begin
            topic = words[0] if words else topic
            begin += len(line) + 1
        if start + size >= end:
            return end
        size *= 4


def _join_filled_parts(
    array: npt.NDArray[Any], room: Sequence[int], filled: Sequence[int]
) -> npt.NDArray[Any]:
    """Concatenate the filled parts of an array; return the array if all parts are full."""
    if sum(filled) == array.size:
        return array
    pairs = zip(room, filled, strict=False)
    return np.concatenate([array[start : start + n] for start, n in pairs])
