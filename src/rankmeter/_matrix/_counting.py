"""Count the candidates above and equal to each target, in the memory that holds the scores.

A *pair* is a target in the row that it is compared in; `level` has the scores that are tied with
each pair. Rows of pairs ascend. Only counts leave the device of the scores.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rankmeter._hits import IntArray
from rankmeter._matrix._arrays import (
    host,
    is_torch,
    namespace,
    on_device_of,
    pick_rows,
    type_name,
)
from rankmeter._matrix._cells import Cells

WIDE = 4096
"""The number of columns from which NumPy counts row by row."""
WIDE_TOGETHER = 512
"""The same where a row has several targets, for each of which it would be copied."""
MANY = 64
"""The number of targets from which a row is sorted once instead of read for each of them."""
AT_ONCE = 1 << 20
"""Cells that NumPy compares at once: their masks stay in the cache."""
AT_ONCE_ELSEWHERE = 1 << 28
"""Cells that are compared at once on another device."""


class Counts(NamedTuple):
    """Cells above and equal to each pair, and how many of the equal ones have a lower column."""

    above: IntArray
    equal: IntArray
    before: IntArray

    @classmethod
    def zero(cls, n: int) -> Counts:
        """No cells."""
        return cls(*(np.zeros(n, dtype=np.int64) for _ in range(3)))

    def plus(self, other: Counts, sign: int = 1) -> Counts:
        """With the cells of the other, or with `sign` -1 without them."""
        return Counts(*(a + sign * b for a, b in zip(self, other, strict=True)))


@dataclass(frozen=True, eq=False)
class Level:
    """Scores from `low` to `high`, which are the same unless close scores are tied."""

    low: Any
    high: Any

    @classmethod
    def of(cls, value: Any, tolerance: tuple[float, float] = (0.0, 0.0)) -> Level:
        """The scores that are as close to each value as absolute and relative tolerance allow."""
        if not any(tolerance):
            return cls(value, value)
        width = tolerance[0] + tolerance[1] * abs(value)
        return cls(value - width, value + width)

    def __getitem__(self, chosen: Any) -> Level:
        return Level(self.low[chosen], self.high[chosen])

    def take(self, place: IntArray) -> Level:
        """The levels at some places, which are integers of NumPy."""
        return self[on_device_of(self.low, place)]


def compare_rows(scores: Any, row: IntArray, level: Level, *, single: bool = False) -> Counts:
    """Compare each pair with all cells of its row; nothing is counted as before.

    With `single`, scores are compared as float32.
    """
    if isinstance(scores, np.ndarray) and _is_wide(scores.shape[1], row):
        return _row_by_row(scores, row, level, single=single)
    counts = Counts.zero(row.size)
    for part in _parts(scores, row.size):
        cells, against = exact(pick_rows(scores, row[part]), single=single), level[part, None]
        counts.above[part] = _count(cells > against.high)
        counts.equal[part] = _count(cells >= against.low) - counts.above[part]
    return counts


def _is_wide(width: int, row: IntArray) -> bool:
    return width >= WIDE or (width >= WIDE_TOGETHER and bool(np.any(row[1:] == row[:-1])))


def exact(scores: Any, *, single: bool = False) -> Any:
    """The scores in a type that can be compared fast, and as float32 if they must be."""
    if not isinstance(scores, np.ndarray):
        if "bool" in type_name(scores) and not is_torch(scores):
            return namespace(scores).astype(scores, namespace(scores).uint8)
        return scores if not single or "float64" not in str(scores.dtype) else _single(scores)
    narrow = scores.dtype == np.float64 if single else scores.dtype.itemsize < 4
    narrow &= scores.dtype.kind not in "iub"
    with np.errstate(over="ignore"):  # infinite scores are found later
        return scores.astype(np.float32) if narrow else scores


def _single(scores: Any) -> Any:
    library = namespace(scores)
    return scores.float() if is_torch(scores) else library.astype(scores, library.float32)


def _parts(scores: Any, n: int) -> list[slice]:
    """The pairs in parts whose cells are compared at once."""
    limit = AT_ONCE if isinstance(scores, np.ndarray) else AT_ONCE_ELSEWHERE
    step = max(1, limit // max(scores.shape[1], 1))
    return [slice(start, min(start + step, n)) for start in range(0, n, step)]


def _count(mask: Any) -> IntArray:
    """Number of true cells in each row."""
    library = namespace(mask)
    if library is np:
        ones = mask.view(np.uint8)  # bytes add up fast, and 255 of them do not overflow
        total = np.zeros(mask.shape[0], dtype=np.int64)
        for at in range(0, mask.shape[1], 255):
            total += np.einsum("ij->i", ones[:, at : at + 255])
        return total
    if is_torch(mask):
        counted = mask.sum(dim=1)
    else:
        counted = library.sum(library.astype(mask, library.int32), axis=1)
    return host(counted).astype(np.int64)  # type: ignore[no-any-return]


def _row_by_row(scores: npt.NDArray[Any], row: IntArray, level: Level, *, single: bool) -> Counts:
    """`compare_rows` for wide rows of NumPy, which are in the cache after the first look."""
    counts, width = Counts.zero(row.size), scores.shape[1]
    above, equal, mask = counts.above, counts.equal, np.empty(width, dtype=bool)
    starts = np.append(np.flatnonzero(np.diff(row, prepend=-1)), row.size).tolist()
    for first, last in itertools.pairwise(starts):
        cells = exact(scores[row[first]], single=single)
        if last - first > MANY:
            cells, some = np.sort(cells), level[first:last]
            width = int(np.searchsorted(cells, np.inf, "right"))  # NaN is last
            high = np.searchsorted(cells, some.high, "right")
            above[first:last] = width - high
            equal[first:last] = high - np.searchsorted(cells, some.low, "left")
            continue
        for pair in range(first, last):
            np.greater(cells, level.high[pair], out=mask)
            above[pair] = np.count_nonzero(mask)
            np.greater_equal(cells, level.low[pair], out=mask)
            equal[pair] = np.count_nonzero(mask) - above[pair]
    return counts


def compare_cells(
    cells: Cells, cell_value: Any, row: IntArray, level: Level, column: IntArray
) -> Counts:
    """Compare each pair with some cells of its row, which have the values given."""
    if not cells.n or not row.size:
        return Counts.zero(row.size)
    per_row = np.bincount(row, minlength=int(cells.row.max()) + 1)
    first = np.concatenate(([0], np.cumsum(per_row)))[cells.row]
    times = per_row[cells.row]
    cell = np.repeat(np.arange(cells.n), times)  # each cell meets every pair of its row
    pair = np.arange(cell.size) - np.repeat(np.cumsum(times) - times, times) + first[cell]
    own, against = cell_value[on_device_of(cell_value, cell)], level.take(pair)
    higher = host(own > against.high)
    same = host(own >= against.low) & ~higher
    lower = same & (cells.column[cell] < column[pair])
    return Counts(*(np.bincount(pair[mask], minlength=row.size) for mask in (higher, same, lower)))


def count_before(
    scores: Any, row: IntArray, level: Level, column: IntArray, *, single: bool = False
) -> IntArray:
    """How many cells of its row equal each pair and have a lower column."""
    found = np.zeros(row.size, dtype=np.int64)
    columns = on_device_of(scores, np.arange(scores.shape[1]))
    for part in _parts(scores, row.size):
        cells = exact(pick_rows(scores, row[part]), single=single)
        lower = columns[None, :] < on_device_of(scores, column[part])[:, None]
        some = level[part, None]
        found[part] = _count((cells >= some.low) & (cells <= some.high) & lower)
    return found
