"""Count the candidates above and equal to each target, in the memory that holds the scores.

A *pair* is a target in the row that it is compared in; `level` has the scores that are tied with
each pair. Rows of pairs ascend. Scores in memory of the CPU are values by user for the compiled
module; without it, and on another device, their own library compares, and only counts leave it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, TypeGuard

import numpy as np
import numpy.typing as npt

from rankmeter import _native
from rankmeter._evidence.hits import IntArray
from rankmeter._rankings.arrays import (
    host,
    is_torch,
    namespace,
    on_device_of,
    pick_rows,
    type_name,
)
from rankmeter._rankings.cells import Cells

AT_ONCE = 1 << 25
"""Cells that a library compares at once."""
CONVERTED = 1 << 18
"""Cells that become float64 at once, so that they stay in the cache."""


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
        """Add the counts of other cells, or subtract them with `sign` -1."""
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
        low = self.low[chosen]
        return Level(low, low if self.high is self.low else self.high[chosen])

    def take(self, place: IntArray) -> Level:
        """The levels at some places, which are integers of NumPy."""
        return self[on_device_of(self.low, place)]


def compare_rows(
    scores: Any, row: IntArray, level: Level, *, single: bool = False
) -> tuple[Counts, bool]:
    """Compare each pair with all cells of its row; nothing is counted as before.

    With `single`, scores are compared as float32. Also returns whether all scores are finite.
    """
    if not _is_for_compiled(scores):
        scores = comparable_scores(scores, single=single)
        return _compare_all(scores, row, level), is_finite(scores)
    counts, n_rows = Counts.zero(row.size), scores.shape[0]
    as_is = scores.dtype in (np.float32, np.float64) and scores.flags.c_contiguous and not single
    step = max(1, n_rows if as_is else CONVERTED // max(scores.shape[1], 1))
    finite = True
    for start in range(0, n_rows, step):
        rows = slice(start, min(start + step, n_rows))
        pairs = slice(*np.searchsorted(row, [rows.start, rows.stop]))
        cells = comparable_scores(scores[rows], single=single)
        part_counts = Counts(counts.above[pairs], counts.equal[pairs], counts.before[pairs])
        finite &= _compare_block(cells, row[pairs] - start, level[pairs], part_counts)
    return counts, finite


def _compare_block(cells: npt.NDArray[Any], row: IntArray, level: Level, counts: Counts) -> bool:
    """Write the counts of some rows, and return whether all of their scores are finite."""
    n_rows, width = cells.shape
    kind = np.float32 if cells.dtype == np.float32 else np.float64
    value = np.ascontiguousarray(cells, dtype=kind)
    finite = _count_compiled(value.ravel(), np.arange(n_rows + 1) * width, row, level, counts)
    if not finite and np.isnan(value).any():  # which is neither above nor equal
        for counted, exactly in zip(counts, _compare_all(cells, row, level), strict=True):
            counted[:] = exactly
    idle = np.ones(n_rows, dtype=bool)
    idle[row] = False
    return finite and (not idle.any() or is_finite(value[idle]))


def _is_for_compiled(values: Any) -> TypeGuard[npt.NDArray[Any]]:
    """Whether values are in memory of the CPU, and float64 has them all."""
    return (
        _native.native is not None
        and isinstance(values, np.ndarray)
        and np.result_type(values, np.float32) in (np.float32, np.float64)
        and values.dtype not in (np.int64, np.uint64)
    )


def _count_compiled(
    value: npt.NDArray[Any], offsets: IntArray, row: IntArray, level: Level, counts: Counts
) -> bool:
    """Write how many values of each row are above and equal, and return whether all are finite."""
    assert _native.native is not None
    below, upto = np.empty((2, row.size), dtype=np.int64)
    user = np.ascontiguousarray(row)

    def count(bound: Any, lower: IntArray) -> bool:
        bounds = np.ascontiguousarray(bound, dtype=np.float64)
        return bool(_native.native.count(value, None, offsets, user, bounds, lower, upto))

    finite = count(level.low, below)
    if level.high is not level.low:
        count(level.high, np.empty_like(below))
    np.subtract((offsets[1:] - offsets[:-1])[row], upto, out=counts.above)
    np.subtract(upto, below, out=counts.equal)
    return finite


def _compare_all(scores: Any, row: IntArray, level: Level) -> Counts:
    """The definition: each pair with all cells of its row."""
    counts = Counts.zero(row.size)
    for part in _row_parts(scores, row.size):
        cells, against = pick_rows(scores, row[part]), level[part, None]
        counts.above[part] = _count_true(cells > against.high)
        counts.equal[part] = _count_true(cells >= against.low) - counts.above[part]
    return counts


def is_finite(scores: Any) -> bool:
    """Whether no score is NaN or infinite; a sum is finite only if all its terms are."""
    if type_name(scores).startswith(("int", "uint", "bool")) or 0 in tuple(scores.shape):
        return True
    library = namespace(scores)
    with np.errstate(invalid="ignore", over="ignore"):
        if np.isfinite(float(scores.sum() if hasattr(scores, "sum") else library.sum(scores))):
            return True
        return bool(library.all(library.isfinite(scores)))


def comparable_scores(scores: Any, *, single: bool = False) -> Any:
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


def _row_parts(scores: Any, n: int) -> list[slice]:
    """The pairs in parts whose cells are compared at once."""
    step = max(1, AT_ONCE // max(scores.shape[1], 1))
    return [slice(start, min(start + step, n)) for start in range(0, n, step)]


def _count_true(mask: Any) -> IntArray:
    """Number of true cells in each row."""
    if isinstance(mask, np.ndarray) or is_torch(mask):
        return host(mask.sum(1)).astype(np.int64)  # type: ignore[no-any-return]
    library = namespace(mask)
    counted = library.sum(library.astype(mask, library.int32), axis=1)
    return host(counted).astype(np.int64)  # type: ignore[no-any-return]


def compare_cells(
    cells: Cells, cell_value: Any, row: IntArray, level: Level, column: IntArray
) -> Counts:
    """Compare each pair with some cells of its row, which have the values given."""
    counts = Counts.zero(row.size)
    if not cells.n or not row.size:
        return counts
    if not _is_for_compiled(cell_value):
        return _meet(cells, cell_value, row, level, column)
    if np.isnan(cell_value).any():  # which is neither above nor equal
        cells, cell_value = cells.only(kept := ~np.isnan(cell_value)), cell_value[kept]
    ends = np.searchsorted(cells.row, np.arange(row[-1] + 1), side="right")
    offsets, value = np.append(0, ends), cell_value[: ends[-1]].astype(np.float64)
    _count_compiled(value, offsets, row, level, counts)
    tied = np.flatnonzero(counts.equal)
    met = _meet(cells, cell_value, row[tied], level.take(tied), column[tied])
    counts.before[tied] = met.before
    return counts


def _meet(cells: Cells, cell_value: Any, row: IntArray, level: Level, column: IntArray) -> Counts:
    """The definition: each pair meets each cell of its row."""
    per_row = np.bincount(row, minlength=int(cells.row.max(initial=0)) + 1)
    first = np.concatenate(([0], np.cumsum(per_row)))[cells.row]
    times = per_row[cells.row]
    cell = np.repeat(np.arange(cells.n), times)
    pair = np.arange(cell.size) - np.repeat(np.cumsum(times) - times, times) + first[cell]
    met, against = cell_value[on_device_of(cell_value, cell)], level.take(pair)
    higher = host(met > against.high)
    same = host(met >= against.low) & ~higher
    lower = same & (cells.column[cell] < column[pair])
    return Counts(*(np.bincount(pair[mask], minlength=row.size) for mask in (higher, same, lower)))


def count_before(
    scores: Any, row: IntArray, level: Level, column: IntArray, *, single: bool = False
) -> IntArray:
    """Count the cells of each row that equal the pair and have a lower column."""
    before = np.zeros(row.size, dtype=np.int64)
    columns = on_device_of(scores, np.arange(scores.shape[1]))
    for part in _row_parts(scores, row.size):
        cells = comparable_scores(pick_rows(scores, row[part]), single=single)
        lower = columns[None, :] < on_device_of(scores, column[part])[:, None]
        levels = level[part, None]
        before[part] = _count_true((cells >= levels.low) & (cells <= levels.high) & lower)
    return before
