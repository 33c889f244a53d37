"""Rankings larger than memory, cut into parts: each is a table with all rows of its users.

Rows that are sorted by user are read where they are. All others are written to a temporary file, by
a hash of the user.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import TypeVar

import numpy as np
import polars as pl

from rankmeter._evidence.hits import IntArray
from rankmeter._files import with_progress
from rankmeter._large.agreed import Doubt, PartAnswer, agree, answer_of
from rankmeter._large.chunks import Packed, Spool, check_disk_space
from rankmeter._large.opened import InPieces
from rankmeter._rankings.codes import (
    THREADS,
    distinct_ids,
    map_in_threads,
    part_by_hash,
    shares_of_parts,
)
from rankmeter._reading.by_user import Division, Ids, IdSeries, InFrame
from rankmeter._reading.memory import format_bytes
from rankmeter._reading.table import Table
from rankmeter.errors import DataError, NotEnoughMemoryError
from rankmeter.errors._checks import brief

_PER_ROW = 250
"""Bytes for a row of each part that is measured at the same time."""
_HELD = 8
"""This part of the memory holds rows at most until they are written."""
_SHORT = 2**18
"""Bytes of a part that are worth a place of their own in the temporary file."""
_FILLED = 0.8
"""Share of the memory that parts fill if they have one size, which hashes make of nearly all."""

_T = TypeVar("_T")
_ReadRows = Callable[[], "pl.DataFrame"]  # Polars is not used while this is imported


def cut_into_parts(
    tables: Mapping[str, Table], memory: int, rows: int | None = None
) -> dict[str, Table]:
    """Cut the rankings that were opened in pieces, all in the same way.

    Parameters
    ----------
    tables : mapping of str to Table
        Rankings by name of the system, with ids of the same types; those in memory stay there.
    memory : int
        Bytes of memory that may be used.
    rows : int, optional
        About how many rows each part has; by default as many as fit into memory.

    Raises
    ------
    NotEnoughMemoryError
        If one user has more rows than fit into memory.
    DataError
        If the data cannot be read, or the folder for temporary files has no room for them.
    """
    opened = {name: table for name, table in tables.items() if isinstance(table.rows, InPieces)}
    if not opened:
        return dict(tables)
    most = memory // _PER_ROW
    size = rows or max(int(_FILLED * most) // (THREADS + 1), 1)
    cuts: Mapping[str, Cut] = {}
    if len(opened) == 1:
        ((name, table),) = opened.items()
        cut = _keep_sorted(table, size)
        if cut is not None and cut.heights.max() <= most:  # else users are cut one from the other
            cuts = {name: cut}
    cuts = cuts or _cut_by_hash(opened, size, memory // _HELD)
    heights = np.sum([cut.heights for cut in cuts.values()], axis=0)
    if heights.max() > most:
        raise _large_user_error([cut.read(int(heights.argmax())) for cut in cuts.values()], memory)
    ahead = int(max(min(most // max(heights.max(), 1) - 1, THREADS), 1))
    return {
        name: _to_table(table, cuts[name], ahead) if name in cuts else table
        for name, table in tables.items()
    }


def _to_table(table: Table, cut: Cut, ahead: int) -> Table:
    rows = table.rows
    assert isinstance(rows, InPieces)
    counts = Counter(table.counts) + cut.counts
    if rows.collapsing is not None:
        n, cut = int(cut.heights.sum()), cut.rewrite(rows.collapsing.keep_best_parts)
        counts["collapsed_items"] = n - int(cut.heights.sum())
    empty = IdSeries(pl.concat([table.empty_users.to_series(), cut.empty_users]).unique())
    origin = replace(table.origin, counts={"rows": counts["rows"], **+counts})
    return replace(table, rows=InParts(rows.rows, cut, ahead), empty_users=empty, origin=origin)


def _large_user_error(parts: Sequence[pl.DataFrame], memory: int) -> NotEnoughMemoryError:
    sizes = pl.concat([part.select("user") for part in parts])["user"].value_counts(name="n")
    user, n = sizes.sort("n", "user", descending=[True, False]).row(0)
    return NotEnoughMemoryError(
        f"user {brief(user)} has {n:,} rows, which take about {format_bytes(n * _PER_ROW)} of "
        f"memory, and {format_bytes(memory)} are allowed: the rows of a user are measured together."
        f" Is it the id of several users, such as a filler? Leave these rows out, or allow more "
        f"`memory`."
    )


def ask_parts(doubts: Sequence[Doubt], rankings: Table, truth: Table) -> Table:
    """Add what doubts say of all parts; those about rankings in Spark are asked by its tasks."""
    if rankings.rows.in_cluster:
        return replace(rankings, rows=replace(rankings.rows, doubts=doubts))  # type: ignore[call-arg]

    def ask() -> Iterator[PartAnswer]:
        for build_part in shares_of_parts([truth, rankings]):
            _, (judged, part) = build_part()
            if (answer := answer_of(doubts, part, judged, truth.height)) is not None:
                yield answer

    for text in agree(ask(), rankings.rows.n_rows):
        rankings = rankings.with_caution(text)
    return rankings


# ---------------------------------------------------------------------------------------------
# Which part a user is in


@dataclass(frozen=True)
class _ByRange:
    """Users in ascending order: those from `starts[i]` on are in part i, those before in part 0."""

    starts: pl.Series

    def numbers(self, users: Ids) -> IntArray:
        place = self.starts.search_sorted(users.to_series(), side="right").cast(pl.Int64)
        return (place - 1).clip(0).to_numpy()


@dataclass(frozen=True)
class _ByHash:
    """Users divided by a hash into `n` parts from `start` on.

    The users of the parts in `finer`, which were too large, are divided by another hash.
    """

    n: int
    start: int = 0
    seed: int = 0
    finer: Mapping[int, _ByHash] = field(default_factory=dict)

    def numbers(self, users: Ids) -> IntArray:
        number: IntArray = part_by_hash(self.n, users, self.seed).astype(np.int64) + self.start
        for large, division in self.finer.items():
            inside = np.flatnonzero(number == large)
            number[inside] = division.numbers(users.take(inside))
        return number


# ---------------------------------------------------------------------------------------------
# The parts


@dataclass(frozen=True, eq=False)
class Cut:
    """The rows of one system in parts.

    Attributes
    ----------
    division : Division
    chunks : sequence of lists of functions
        What reads the rows of each part, in order, as frames.
    heights : ndarray of int64
        Number of rows of each part.
    nothing : DataFrame
        A frame of the same columns without rows.
    counts : Counter
        Rows read, dropped or converted.
    empty_users : Series
        Users whose rows were all dropped, in a piece of the data.
    """

    division: Division
    chunks: Sequence[Sequence[_ReadRows]]
    heights: IntArray
    nothing: pl.DataFrame
    counts: Counter[str]
    empty_users: pl.Series

    def read(self, number: int) -> pl.DataFrame:
        """Read a part.

        Raises
        ------
        DataError
            If the rows have changed since they were checked.
        """
        rows = pl.concat([self.nothing, *(read() for read in self.chunks[number])])
        if rows.height != self.heights[number]:
            raise DataError(
                f"{self.heights[number]:,} rows of the rankings were read at first and "
                f"{rows.height:,} later: they changed meanwhile, or a temporary file is damaged. "
                f"Repeat the evaluation when nothing writes to them."
            )
        return rows

    def rewrite(self, change: Callable[[pl.DataFrame], pl.DataFrame]) -> Cut:
        """Change the rows of each part, and write them to a temporary file."""
        spool, heights = Spool(), []
        for rows in map_in_threads(lambda n: change(self.read(n)), len(self.chunks)):
            spool.write(rows)
            heights.append(rows.height)
        chunks = [[partial(spool.read, n)] for n in range(len(spool))]
        nothing = change(self.nothing)
        return replace(self, chunks=chunks, heights=np.array(heights), nothing=nothing)


@dataclass(frozen=True, eq=False)
class InParts(InFrame):
    """Rankings in parts of whole users; `rows` are examples of all types."""

    cut: Cut
    ahead: int
    known_ids: dict[str, Ids] = field(default_factory=dict)  # users or items, once asked for
    in_memory = False

    @property
    def division(self) -> Division:
        return self.cut.division

    def read_part(self, number: int) -> InFrame:
        return InFrame(self.cut.read(number))

    def filled_parts(self) -> IntArray:
        return np.flatnonzero(self.cut.heights)

    @property
    def n_rows(self) -> int:
        return int(self.cut.heights.sum())

    def all_ids(self, role: str) -> list[Ids]:
        return [self._distinct_ids(role)]

    def listed_items(self) -> list[pl.Series]:
        return [self._distinct_ids("item").to_series()]

    def rows_per_user(self) -> IntArray:
        sizes = self._map(lambda rows: InFrame(rows).rows_per_user())
        return np.concatenate([np.zeros(0, dtype=np.int64), *sizes])

    def _distinct_ids(self, role: str) -> Ids:
        if role not in self.known_ids:
            ids = self.cut.nothing[role], *self._map(lambda rows: rows[role].unique())
            self.known_ids[role] = distinct_ids([*map(IdSeries, ids)])
        return self.known_ids[role]

    def _map(self, work: Callable[[pl.DataFrame], _T]) -> Iterator[_T]:
        parts = self.filled_parts()
        return map_in_threads(lambda n: work(self.cut.read(parts[n])), parts.size, self.ahead)


# ---------------------------------------------------------------------------------------------
# Sorted rows stay where they are


def _scan(
    table: Table, work: Callable[[pl.DataFrame], _T], task: str
) -> Iterator[tuple[Table, _T]]:
    """Yield the pieces of rankings, and what `work` makes of their rows, in order."""
    pieces = _rows_of(table).pieces

    def scan_piece(n: int) -> tuple[Table, _T]:
        piece = _read_piece(table, n)
        return piece, work(piece.frame)

    scanned = map_in_threads(scan_piece, len(pieces))
    yield from with_progress(scanned, f"1 of 2: {task}", len(pieces), pieces.n_rows)
    pieces.refuse_changed_rows()


def _read_piece(table: Table, n: int) -> Table:
    """Read a piece, with ids of the types of the table."""
    rows = _rows_of(table)
    piece = rows.pieces.read(n)
    frame = piece.frame if rows.collapsing is None else rows.collapsing.rename(piece.frame)
    return piece.with_rows(frame.cast(_id_types(table)))  # type: ignore[arg-type]


def _read_rows(table: Table, n: int, first: int) -> pl.DataFrame:
    """Read the rows of a piece again, without the `first` ones."""
    rows = _read_piece(table, n).frame[first:]
    _rows_of(table).pieces.refuse_changed_rows()
    return rows


def _rows_of(table: Table) -> InPieces:
    assert isinstance(table.rows, InPieces)
    return table.rows


def _id_types(table: Table) -> dict[str, pl.DataType]:
    return {role: table.id_dtype(role) for role in ("user", "item")}


class _Writing:
    """Rows that are written to one temporary file, by the number of their part.

    About `room` bytes are held before, so that what is written of a part is not short.
    """

    def __init__(self, n: int, room: int) -> None:
        self.spool, self.room = Spool(), room
        self.held: dict[int, list[pl.DataFrame]] = {}
        self.n_held = 0
        self.chunks: list[list[_ReadRows]] = [[] for _ in range(n)]
        self.heights = [0] * n
        self.counts, self.empty = Counter[str](), list[pl.Series]()
        self.nothing = pl.DataFrame()

    def note(self, piece: Table) -> None:
        """Remember what is known of a piece besides its rows."""
        self.counts.update(piece.counts)
        self.empty.append(piece.empty_users.to_series().cast(piece.id_dtype("user")))
        self.nothing = piece.frame.clear()

    def add(self, part: int, height: int, read: _ReadRows) -> None:
        self.chunks[part].append(read)
        self.heights[part] += height

    def hold(self, rows: pl.DataFrame, ends: Sequence[int], first: int = 0) -> bool:
        """Hold rows of the parts from `first` on, which end at `ends`; whether there is no room."""
        for part, (start, end) in enumerate(pairwise([0, *ends]), first):
            if start < end:
                self.held.setdefault(part, []).append(rows[start:end])
        self.n_held += int(rows.estimated_size())
        return self.n_held > min(self.room, _SHORT * len(ends))

    def write(self, n_rows: int = 0, source: str = "") -> None:
        """Write the rows that are held; before the first ones, check the room for all `n_rows`."""
        parts = [*self.held]

        def pack(n: int) -> Packed:
            return Spool.pack(pl.concat(self.held[parts[n]]))

        all_packed = [*map_in_threads(pack, len(parts))]
        if n_rows and not len(self.spool):
            n_bytes = sum(len(packed.content) for packed in all_packed)
            height = sum(packed.height for packed in all_packed)
            check_disk_space(
                n_bytes * n_rows // max(height, 1), f"Cutting {source} into parts of users"
            )
        for part, packed in zip(parts, all_packed, strict=True):
            self.add(part, packed.height, self.spool.append(packed))
        self.held.clear()
        self.n_held = 0

    def cut(self, division: Division) -> Cut:
        heights = np.array(self.heights, dtype=np.int64)
        empty = pl.concat(self.empty)
        return Cut(division, self.chunks, heights, self.nothing, self.counts, empty)


def _keep_sorted(table: Table, size: int) -> Cut | None:
    """Make parts of about `size` rows of whole pieces; None if rows are not sorted by user.

    Only the first rows of a piece are written, if their user began before it.
    """
    written, starts, last = _Writing(0, 0), list[pl.Series](), None
    scanned = _scan(table, lambda rows: rows["user"].is_sorted(), "checking the sorted rankings")
    for n, (piece, is_sorted) in enumerate(scanned):
        users, height = piece.frame["user"], piece.height
        written.note(piece)
        if not height:
            continue
        if not is_sorted or (last is not None and users[0] < last):
            return None
        head = 0 if last is None else int(users.search_sorted(last, side="right"))
        last = users[-1]
        if 0 < head < height:
            written.add(-1, head, written.spool.write(piece.frame[:head]))
        elif head:
            written.add(-1, height, partial(_read_rows, table, n, 0))
            continue
        if not starts or written.heights[-1] + height - head > size:
            written.chunks.append([])
            written.heights.append(0)
            starts.append(users[head : head + 1])
        written.add(-1, height - head, partial(_read_rows, table, n, head))
    return written.cut(_ByRange(pl.concat(starts))) if starts else None


# ---------------------------------------------------------------------------------------------
# All others are written


def _cut_by_hash(opened: Mapping[str, Table], size: int, room: int) -> dict[str, Cut]:
    """Cut rankings into parts that together have about `size` rows."""
    n = max(-(-sum(_rows_of(table).pieces.n_rows for table in opened.values()) // size), 1)
    written = {name: _write_by_hash(table, n, room) for name, table in opened.items()}
    finer = _divide_large_parts([*written.values()], range(n), size, seed=1)
    division = _ByHash(n, finer=finer)
    return {name: one.cut(division) for name, one in written.items()}


def _divide(rows: pl.DataFrame, n: int, seed: int) -> tuple[pl.DataFrame, list[int]]:
    """Order rows by their part, of `n`; return also where each part ends."""
    number = part_by_hash(n, IdSeries(rows["user"]), seed)
    ends = np.cumsum(np.bincount(number, minlength=n)).tolist()
    return rows[np.argsort(number, kind="stable")], ends


def _write_by_hash(table: Table, n: int, room: int) -> _Writing:
    written, n_rows = _Writing(n, room), _rows_of(table).pieces.n_rows
    for piece, divided in _scan(table, lambda rows: _divide(rows, n, 0), "cutting by user"):
        written.note(piece)
        if written.hold(*divided):
            written.write(n_rows, table.source)
    written.write(n_rows, table.source)
    return written


def _divide_large_parts(
    systems: Sequence[_Writing], numbers: Iterable[int], size: int, seed: int
) -> dict[int, _ByHash]:
    """Divide those of the parts that have several users and many rows, by another hash."""
    finer = {}
    for number in numbers:
        height = sum(written.heights[number] for written in systems)
        if height <= 2 * size or _has_one_user(systems, number):
            continue
        n, start = -(-height // size), len(systems[0].heights)
        for written in systems:
            chunks, written.chunks[number] = written.chunks[number], []
            written.heights[number] = 0
            written.chunks += [[] for _ in range(n)]
            written.heights += [0] * n
            for read in chunks:
                if written.hold(*_divide(read(), n, seed), start):
                    written.write()
            written.write()
        deeper = _divide_large_parts(systems, range(start, start + n), size, seed + 1)
        finer[number] = _ByHash(n, start, seed, deeper)
    return finer


def _has_one_user(systems: Sequence[_Writing], number: int) -> bool:
    users: set[object] = set()
    for read in (read for written in systems for read in written.chunks[number]):
        users.update(read()["user"].unique().head(2))
        if len(users) > 1:
            return False
    return True
