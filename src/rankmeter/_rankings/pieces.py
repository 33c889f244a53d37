"""Pass 1 over rankings in pieces: collect the rows with judged items, and count all others."""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import IO, Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt
import polars as pl

from rankmeter._choices import Alignment
from rankmeter._evidence.hits import IntArray
from rankmeter._files import translate_temporary_file_errors
from rankmeter._rankings.codes import THREADS, map_in_threads, map_pieces
from rankmeter._rankings.pairs import BITS, Keys, are_self_items, bit_width
from rankmeter._rankings.remainder import RereadCandidates, needs_self_and_repeats
from rankmeter._rankings.tally import search_segments
from rankmeter._reading.by_user import IdSeries
from rankmeter._reading.memory import format_bytes as shown
from rankmeter._reading.pieces import InPieces, KeptRows, Pieces
from rankmeter._reading.table import Table
from rankmeter.errors import DataError

_WIDTH = 8  # bytes of a number


class Repeats:
    """Find repeated integers among many, on disk if memory is too small.

    Parameters
    ----------
    n : int
        How many will be added at most.
    limit : int
        Bytes of memory that may be used.

    Raises
    ------
    DataError
        If the folder for temporary files cannot hold what does not fit into memory.
    """

    def __init__(self, n: int, limit: int) -> None:
        self._lock = threading.Lock()
        self._held: list[Keys] = []
        self.files: list[IO[bytes]] = []
        size, part = n * _WIDTH, max(limit // (2 * THREADS), 2**20)
        self._bits = max(-(-size // part) - 1, 0).bit_length() if 2 * size > limit else 0
        if not self._bits:
            return
        folder = tempfile.gettempdir()
        free = shutil.disk_usage(folder).free
        if size > free:
            raise DataError(
                f"Finding repeated items among {n:,} rows needs {shown(size)} in {folder}, "
                f"and {shown(free)} are free. Set TMPDIR to a folder with more space, allow more "
                f"memory, or choose duplicates='unchecked' if no item is repeated."
            )
        # Without names where the system has such files, so that they end with the process.
        self.files = [tempfile.TemporaryFile() for _ in range(1 << self._bits)]  # noqa: SIM115

    def add(self, keys: Keys) -> None:
        """Add integers; the array is overwritten."""
        keys.sort()
        if not self.files:
            with self._lock:
                self._held.append(keys)
            return
        first = np.arange(1, len(self.files), dtype=np.uint64) << np.uint64(BITS - self._bits)
        slices = np.split(keys, np.searchsorted(keys, first))
        with self._lock, translate_temporary_file_errors():
            for file, part in zip(self.files, slices, strict=True):
                file.write(part.data)

    def take_repeated(self) -> Keys:
        """Return the integers that occur more than once, ascending, and empty the collection."""
        if not self.files:
            held, self._held = self._held, []
            return _repeated_keys(np.concatenate(held)) if held else np.zeros(0, dtype=np.uint64)

        def read_file(n: int) -> Keys:
            with self.files[n] as file:
                with translate_temporary_file_errors():
                    size = file.seek(0, 2)  # which writes what is in its buffer
                keys = np.empty(size // _WIDTH, dtype=np.uint64)
                file.seek(0)
                file.readinto(keys)  # type: ignore[attr-defined]
                return _repeated_keys(keys)

        return np.concatenate([*map_in_threads(read_file, len(self.files))])

    def close(self) -> None:
        """Remove the temporary files."""
        for file in self.files:
            file.close()


def _repeated_keys(keys: Keys) -> Keys:
    keys.sort()
    return np.unique(keys[1:][keys[1:] == keys[:-1]])


_ODD = np.uint64(0x9E3779B97F4A7C15)
_MANY = 2**22  # rows or counts that are kept before those of one user are put together
_SMALLEST = 3  # ids that the error of two sides without a common one shows


def collect_judged_rows(
    table: Table,
    truth: Table,
    alignments: Sequence[Alignment],
    *,
    memory_limit: int,
    depth: int = 0,
) -> Table:
    """Read rankings in pieces, and keep only some rows, such as those with judged items, in memory.

    Where an alignment needs them, rows of repeated items and of items with the id of their user
    are kept, too; the search for repeated items takes about half of `memory_limit` bytes. The rows
    of each user down to rank `depth` are kept apart from these.
    """
    with_self, repeats = needs_self_and_repeats(alignments)
    pieces, limit = cast("InPieces", table.rows).pieces, memory_limit // 2
    types = {role: table.id_dtype(role) for role in ("user", "item")}
    judged, sizes = _Hashes(_hash_pairs(truth.frame)), RowCounts(types["user"])
    collector = Repeats(pieces.n_rows, limit) if repeats else None
    tops = _Tops(table.order, depth, with_self=with_self)

    def scan_piece(n: int) -> _Sifted:
        piece = pieces.read(n)
        rows = piece.rows.cast(types)  # type: ignore[arg-type]
        keys = _hash_pairs(rows)
        indices = judged.positions_of_known(keys)
        if with_self:
            self_rows = np.flatnonzero(are_self_items(rows["user"], rows["item"]))
            indices = np.union1d(indices, self_rows)
        sizes.count_rows(rows["user"])
        if collector is not None:
            collector.add(keys)
        top = tops.select_within_depth(rows) if depth else rows.clear()
        return _Sifted(rows[indices], top, piece.empty_users.cast(types["user"]), piece.counts)

    counts = Counter(table.counts)
    kept_rows, empty = [], [table.empty_users.to_series()]
    for part in map_pieces(pieces, scan_piece, "finding judged items"):
        kept_rows.append(part.rows)
        tops.add(part.top)
        empty.append(part.empty_users)
        counts.update(part.counts)
    rows = pl.concat(kept_rows)
    if collector is not None:
        repeated_keys = np.setdiff1d(collector.take_repeated(), judged.keys, assume_unique=True)
        if repeated_keys.size:
            rows = _merge_rows(rows, _read_rows_by_hash(pieces, types, _Hashes(repeated_keys)))
    if not _has_judged_item(rows, truth.frame):
        rows = _merge_rows(rows, _read_example_rows(pieces, types, truth))
    pieces.refuse_changed_rows()
    users, n_rows = sizes.counts_by_user()
    remainder = RereadCandidates(
        pieces, rows, users, n_rows, alignments=alignments, order=table.order,
        memory_limit=limit, tops=(tops.selected_rows(), tops.depth),
    )  # fmt: skip
    all_users = IdSeries(_add_empty_users(users, pl.concat(empty)))
    origin = replace(table.origin, counts={"rows": counts["rows"], **+counts})
    return Table(KeptRows(rows, remainder), table.order, all_users, origin)


def _merge_rows(rows: pl.DataFrame, other: pl.DataFrame) -> pl.DataFrame:
    """Merge numbered rows of one ranking, in order."""
    return pl.concat([rows, other]).unique("number").sort("number")


def _has_judged_item(rows: pl.DataFrame, truth: pl.DataFrame) -> bool:
    """Whether any row has a judged item; nearly always one of the first rows does."""
    slices = (rows.head(1000), rows[1000:])
    return any(truth.join(part, on=["user", "item"], how="semi").height for part in slices)


def _add_empty_users(users: pl.Series, empty_users: pl.Series) -> pl.Series:
    """All users, also users without rows, ascending; `users` are ascending."""
    return users if empty_users.is_empty() else pl.concat([users, empty_users]).unique().sort()


class _Sifted(NamedTuple):
    """Selected rows of a piece, its users without rows, and its counts."""

    rows: pl.DataFrame
    top: pl.DataFrame
    empty_users: pl.Series
    counts: Mapping[str, int]


class _Hashes:
    """Hashes of user and item, for lookup among the hashes of other rows."""

    def __init__(self, keys: Keys) -> None:
        keys.sort()
        self.keys = keys
        # One byte for each value of the first bits: most rows need no search.
        width = min(bit_width(16 * keys.size) + 1, 28)
        self._shift = np.uint64(BITS - width)
        self._filter = np.zeros(1 << width, dtype=bool)
        self._filter[self._first_bits(keys)] = True
        # And the first hash with each value of fewer bits: the others have only a few to compare.
        width = bit_width(keys.size) + 1
        self._coarse = np.uint64(BITS - width)
        n = np.bincount((keys >> self._coarse).view(np.int64), minlength=1 << width)
        self._begin = np.concatenate(([0], np.cumsum(n)))

    def positions_of_known(self, keys: Keys) -> IntArray:
        """Positions of the `keys` that are among these hashes."""
        likely = np.flatnonzero(self._filter.take(self._first_bits(keys)))
        likely_keys = keys[likely]
        slot = (likely_keys >> self._coarse).view(np.int64)
        position = search_segments(
            self.keys, likely_keys, self._begin[slot], self._begin[slot + 1], np.less
        )
        is_there: npt.NDArray[np.bool_] = self.keys.take(position, mode="clip") == likely_keys
        return likely[is_there]

    def _first_bits(self, keys: Keys) -> IntArray:
        return (keys >> self._shift).view(np.int64)


def _hash_pairs(rows: pl.DataFrame) -> Keys:
    """Hash of each row's user and item; equal within one process, not across versions of Polars."""
    keys: Keys = rows["user"].hash(1).to_numpy() * _ODD
    keys += rows["item"].hash(2).to_numpy()
    keys *= _ODD  # so that the first bits depend on all of them
    return keys


def _read_rows_by_hash(pieces: Pieces, types: Mapping[str, Any], hashes: _Hashes) -> pl.DataFrame:
    """Read all rows whose hash of user and item is in `hashes`."""

    def scan_piece(n: int) -> pl.DataFrame:
        rows = pieces.read(n).rows.cast(types)  # type: ignore[arg-type]
        return rows[hashes.positions_of_known(_hash_pairs(rows))]

    return pl.concat([*map_pieces(pieces, scan_piece, "reading repeated items")])


def _read_example_rows(pieces: Pieces, types: Mapping[str, Any], truth: Table) -> pl.DataFrame:
    """Read rows with the smallest user and item ids, and a row with a judged item if one exists."""
    items = truth.frame["item"].unique().implode()

    def scan_piece(n: int) -> pl.DataFrame:
        rows = pieces.read(n).rows.cast(types)  # type: ignore[arg-type]
        return _add_smallest_ids(rows, rows.filter(pl.col("item").is_in(items)).head(1))

    examples = pl.concat([*map_pieces(pieces, scan_piece, "looking for common ids")])
    common = examples.filter(pl.col("item").is_in(items)).head(1)
    return _add_smallest_ids(examples, common)


def _add_smallest_ids(rows: pl.DataFrame, extra: pl.DataFrame) -> pl.DataFrame:
    smallest = [
        rows.unique(role, keep="first", maintain_order=True).sort(role).head(_SMALLEST)
        for role in ("user", "item")
    ]
    return pl.concat([*smallest, extra]).unique("number", maintain_order=True)


class _Tops:
    """Rows that may have a rank up to `depth`, collected from pieces in any order.

    If `with_self`, that is also the rank without the item that has the id of its user.
    """

    def __init__(self, order: str, depth: int, *, with_self: bool = False) -> None:
        self.order, self.depth, self.with_self = order, depth, with_self
        self._kept: list[pl.DataFrame] = []
        self._n = 0

    def select_within_depth(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Select the rows that may have a rank up to `depth`; scores equal as float32 are tied."""
        if self.order == "rank":
            return rows.filter(pl.col("rank") <= self.depth + self.with_self)
        value = -pl.col("score").cast(pl.Float32) if self.order == "score" else pl.col("number")
        if self.with_self:
            rows = rows.with_columns(own=are_self_items(rows["user"], rows["item"]))
            in_depth = pl.col("own") | (value.rank("min").over("user", "own") <= self.depth)
            return rows.filter(in_depth).drop("own")
        return rows.filter(value.rank("min").over("user") <= self.depth)

    def add(self, rows: pl.DataFrame) -> None:
        """Add rows that `select_within_depth` returned."""
        self._kept.append(rows)
        self._n += rows.height
        if self._n > _MANY:
            self._kept = [self.select_within_depth(pl.concat(self._kept))]
            self._n = min(self._kept[0].height, _MANY // 2)

    def selected_rows(self) -> pl.DataFrame:
        """Selected rows of all pieces, ordered by row number."""
        return self.select_within_depth(pl.concat(self._kept)).sort("number")


class RowCounts:
    """Number of rows of each user: in an array for dense integer ids, otherwise in a frame."""

    def __init__(self, dtype: pl.DataType) -> None:
        self.low, self.table = 0, np.zeros(0, dtype=np.int64)
        self.frame = pl.DataFrame(schema={"user": dtype, "n": pl.Int64})
        self.waiting: list[pl.DataFrame] = []
        self.n_rows = 0
        self.dense = dtype == pl.Int64
        self._lock = threading.Lock()

    def count_rows(self, users: pl.Series) -> None:
        """Add the rows of some users to the counts."""
        if len(users) == 0:
            return
        ids: IntArray = users.to_numpy() if self.dense else np.zeros(1, np.int64)
        with self._lock:
            self.n_rows += len(users)
            dense = self._try_extend_array(int(ids.min()), int(ids.max()))
            if dense and self.table.size <= 4 * len(users):
                self.table += np.bincount(ids - self.low, minlength=self.table.size)
                return
        if dense:
            distinct, n = np.unique(ids, return_counts=True)
            with self._lock:
                if self.dense:
                    self.table[distinct - self.low] += n
                    return
                counts = pl.DataFrame({"user": distinct, "n": n})
        else:
            counts = users.to_frame("user").group_by("user").len("n")
        with self._lock:
            self.waiting.append(counts.with_columns(pl.col("n").cast(pl.Int64)))
            if sum(map(len, self.waiting)) > _MANY + self.frame.height:
                self._merge_waiting()

    def counts_by_user(self) -> tuple[pl.Series, IntArray]:
        """Return all users in ascending order and the number of rows of each."""
        self._move_array_to_waiting()
        self._merge_waiting()
        frame = self.frame.sort("user")
        return frame["user"], frame["n"].to_numpy()

    def _try_extend_array(self, low: int, high: int) -> bool:
        """Extend the array to these ids, if they are dense; return whether this was possible."""
        if not self.dense:
            return False
        if self.table.size:
            low, high = min(low, self.low), max(high, self.low + self.table.size - 1)
        if high - low >= 4 * self.n_rows + 1_000_000:
            self._move_array_to_waiting()
            self.dense = False
            return False
        if high - low >= self.table.size:
            n_spare = (high - low + 1) // 4  # the next ids may be a little higher
            table = np.zeros(high - low + 1 + n_spare, dtype=np.int64)
            table[self.low - low :][: self.table.size] = self.table
            self.low, self.table = low, table
        return True

    def _move_array_to_waiting(self) -> None:
        """Move the counts of the array to `waiting`, as rows of a frame."""
        if self.table.size:
            slots = np.flatnonzero(self.table)
            self.waiting.append(pl.DataFrame({"user": slots + self.low, "n": self.table[slots]}))
            self.table = self.table[:0]

    def _merge_waiting(self) -> None:
        self.frame = pl.concat([self.frame, *self.waiting]).group_by("user").agg(pl.col("n").sum())
        self.waiting = []
