"""Count the candidates above and equal to each target, on the device of the scores.

Scores in memory of the CPU are values by user for the compiled module; without it, and on another
device, their own library compares, and only counts leave it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeGuard

import numpy as np
import numpy.typing as npt

from rankmeter import _native
from rankmeter._evidence.hits import IntArray
from rankmeter._rankings.counts import count_compiled
from rankmeter._rankings.pairs import Groups
from rankmeter._rankings.rank_counts import RankCounts
from rankmeter._scores.arrays import (
    array_namespace,
    is_torch,
    take_cells,
    take_rows,
    to_device_of,
    to_numpy,
    to_type,
    type_name,
)
from rankmeter._scores.cells import Cells

AT_ONCE = 1 << 25
"""Cells that a library compares at once."""
CONVERTED = 1 << 18
"""Cells that become float64 at once, so that they stay in the cache."""


class ScoreBlock(NamedTuple):
    """Consecutive columns of the scores, starting at column `start`."""

    scores: Any
    start: int = 0
    single: bool = False  # whether they are compared as float32

    def inside(self, cells: Cells) -> tuple[IntArray, Cells]:
        """Select the cells in these columns; return their positions in `cells`, and the cells."""
        start, stop = self.start, self.start + self.scores.shape[1]
        if start == 0 and cells.column.max(initial=0) < stop:
            return np.arange(cells.n), cells
        positions = np.flatnonzero((cells.column >= start) & (cells.column < stop))
        return positions, cells.only(positions)

    def at(self, cells: Cells) -> Any:
        """Scores of some cells in these columns."""
        return comparable_scores(self.as_given(cells), single=self.single)

    def as_given(self, cells: Cells) -> Any:
        """Scores of some cells in these columns, in the type of the input."""
        return take_cells(self.scores, cells.row, cells.column - self.start)

    def rows(self, row: IntArray) -> Any:
        """Scores of some rows; the indices ascend."""
        return comparable_scores(take_rows(self.scores, row), single=self.single)


@dataclass(frozen=True, eq=False)
class Targets:
    """Cells at which the candidates of their rows are counted, with the range of tied scores.

    Scores from `low` to `high` are tied; these are the same unless close scores are tied.
    """

    cells: Cells
    low: Any
    high: Any
    n_rows: int
    ordered: bool = False  # whether equal candidates of a lower column are counted as before

    @classmethod
    def of(
        cls,
        cells: Cells,
        value: Any,
        n_rows: int,
        tolerance: tuple[float, float] = (0.0, 0.0),
        *,
        ordered: bool = False,
    ) -> Targets:
        """Create targets from cells, scores, and the absolute and relative tolerance of ties."""
        if not any(tolerance):
            return cls(cells, value, value, n_rows, ordered)
        width = tolerance[0] + tolerance[1] * abs(value)
        with np.errstate(invalid="ignore"):  # a target of -inf is not ranked
            return cls(cells, value - width, value + width, n_rows, ordered)

    def only(self, rows: IntArray | slice) -> Targets:
        """Select targets by index or slice."""
        index = rows if isinstance(rows, slice) else to_device_of(self.low, rows)
        low = self.low[index]
        high = low if self.high is self.low else self.high[index]
        return replace(self, cells=self.cells.only(rows), low=low, high=high)

    def of_rows(self, start: int, stop: int) -> tuple[slice, Targets]:
        """Select the targets of some rows, like `Cells.of_rows`."""
        rows, cells = self.cells.of_rows(start, stop)
        low = self.low[rows]
        high = low if self.high is self.low else self.high[rows]
        return rows, Targets(cells, low, high, stop - start)

    def counts(
        self, above: IntArray, equal: IntArray, before: IntArray, n_ranked: IntArray
    ) -> RankCounts:
        """Create `RankCounts`; `n_ranked` is the number of candidates of each row."""
        row, gain = self.cells.row, self.cells.gain
        return RankCounts(row, gain, above, equal, before if self.ordered else None, n_ranked)


def compare_rows(block: ScoreBlock, targets: Targets) -> tuple[RankCounts, bool]:
    """Compare each target with its row in a block; also return whether all cells are finite."""
    n_rows, width = block.scores.shape
    if _is_for_compiled(block.scores):
        above, equal, finite = _compare_compiled(block, targets)
    else:
        cells = comparable_scores(block.scores, single=block.single)
        (above, equal), finite = _compare_all(cells, targets), is_finite(cells)
    before = np.zeros_like(above)
    if targets.ordered:
        tied = np.flatnonzero(equal)
        before[tied] = _count_before(block, targets.only(tied))
    return targets.counts(above, equal, before, np.full(n_rows, width)), finite


def _compare_compiled(block: ScoreBlock, targets: Targets) -> tuple[IntArray, IntArray, bool]:
    """Count cells above and equal to each target; also return whether all cells are finite."""
    scores, (n_rows, width) = block.scores, block.scores.shape
    above, equal = np.empty((2, targets.cells.n), dtype=np.int64)
    as_is = scores.dtype in (np.float32, np.float64) and scores.flags.c_contiguous
    step = max(1, n_rows if as_is and not block.single else CONVERTED // max(width, 1))
    finite = True
    for start in range(0, n_rows, step):
        positions, part = targets.of_rows(start, min(start + step, n_rows))
        cells = comparable_scores(scores[start : start + step], single=block.single)
        above[positions], equal[positions], part_is_finite = _compare_part(cells, part)
        finite &= part_is_finite
    return above, equal, finite


def _compare_part(cells: npt.NDArray[Any], targets: Targets) -> tuple[IntArray, IntArray, bool]:
    """Count as `_compare_compiled` does, in scores of a comparable type."""
    n_rows, width = cells.shape
    value = np.ascontiguousarray(cells, np.float32 if cells.dtype == np.float32 else np.float64)
    above, equal, finite = _count_compiled(value.ravel(), np.arange(n_rows + 1) * width, targets)
    if not finite and np.isnan(value).any():  # which is neither above nor equal
        above, equal = _compare_all(cells, targets)
    idle = np.ones(n_rows, dtype=bool)
    idle[targets.cells.row] = False
    return above, equal, finite and (not idle.any() or is_finite(value[idle]))


def _is_for_compiled(values: Any) -> TypeGuard[npt.NDArray[Any]]:
    """Whether values are in CPU memory and float64 represents all of them exactly."""
    return (
        _native.native is not None
        and isinstance(values, np.ndarray)
        and np.result_type(values, np.float32) in (np.float32, np.float64)
        and values.dtype not in (np.int64, np.uint64)
    )


def _count_compiled(
    value: npt.NDArray[Any], offsets: IntArray, targets: Targets
) -> tuple[IntArray, IntArray, bool]:
    """Count values above and equal to each target in its row, and check if all are finite."""
    row = np.ascontiguousarray(targets.cells.row)
    below, upto = np.empty((2, row.size), dtype=np.int64)

    def count(bound: Any, lower: IntArray) -> bool:
        bounds = np.ascontiguousarray(bound, dtype=np.float64)
        return count_compiled(value, Groups(None, offsets), row, bounds, lower, upto)

    finite = count(targets.low, below)
    if targets.high is not targets.low:
        count(targets.high, np.empty_like(below))
    length = offsets[1:] - offsets[:-1]
    return length[row] - upto, upto - below, finite


def _compare_all(scores: Any, targets: Targets) -> tuple[IntArray, IntArray]:
    """Count by the definition: compare each target with all cells of its row."""
    above, equal = np.empty((2, targets.cells.n), dtype=np.int64)
    for positions in _parts(scores, targets):
        part = targets.only(positions)
        cells = take_rows(scores, part.cells.row)
        above[positions] = count_true(cells > part.high[:, None])
        equal[positions] = count_true(cells >= part.low[:, None]) - above[positions]
    return above, equal


def _count_before(block: ScoreBlock, targets: Targets) -> IntArray:
    """Count the cells that equal each target in its row and have a lower column."""
    before = np.zeros(targets.cells.n, dtype=np.int64)
    columns = to_device_of(block.scores, np.arange(block.scores.shape[1]))
    for positions in _parts(block.scores, targets):
        part = targets.only(positions)
        cells = block.rows(part.cells.row)
        column = to_device_of(block.scores, part.cells.column - block.start)
        equal = (cells >= part.low[:, None]) & (cells <= part.high[:, None])
        before[positions] = count_true(equal & (columns[None, :] < column[:, None]))
    return before


def _parts(scores: Any, targets: Targets) -> list[slice]:
    """Slices of targets whose rows are compared in one step."""
    step, n = max(1, AT_ONCE // max(scores.shape[1], 1)), targets.cells.n
    return [slice(start, min(start + step, n)) for start in range(0, n, step)]


def count_true(mask: Any) -> IntArray:
    """Number of true cells in each row, as a NumPy array."""
    if isinstance(mask, np.ndarray) or is_torch(mask):
        return to_numpy(mask.sum(1)).astype(np.int64)  # type: ignore[no-any-return]
    sums = array_namespace(mask).sum(to_type(mask, "int32"), axis=1)
    return to_numpy(sums).astype(np.int64)  # type: ignore[no-any-return]


def are_minus_infinity(scores: Any) -> Any:
    """Mask of the scores that are -inf, which are not candidates, on their device."""
    is_float = type_name(scores).startswith(("float", "bfloat"))
    return scores == -np.inf if is_float else scores != scores  # noqa: PLR0124 - all False


def is_finite(scores: Any) -> bool:
    """Whether all scores are finite, tested first by their sum."""
    if type_name(scores).startswith(("int", "uint", "bool")) or 0 in tuple(scores.shape):
        return True
    library = array_namespace(scores)
    with np.errstate(invalid="ignore", over="ignore"):
        if np.isfinite(float(scores.sum() if hasattr(scores, "sum") else library.sum(scores))):
            return True
        return bool(library.all(library.isfinite(scores)))


def comparable_scores(scores: Any, *, single: bool = False) -> Any:
    """Convert scores to a type that compares fast; to float32 if `single`."""
    if not isinstance(scores, np.ndarray):
        if "bool" in type_name(scores) and not is_torch(scores):
            return to_type(scores, "uint8")
        return to_type(scores, "float32") if single and "float64" in type_name(scores) else scores
    narrow = scores.dtype == np.float64 if single else scores.dtype.itemsize < 4
    narrow &= scores.dtype.kind not in "iub"
    with np.errstate(over="ignore"):  # infinite scores are found later
        return scores.astype(np.float32) if narrow else scores


def compare_cells(cells: Cells, value: Any, targets: Targets) -> RankCounts:
    """Count at each target the given cells of its row, whose scores are `value`."""
    n_ranked = cells.per_row(targets.n_rows)
    if not _is_for_compiled(value):
        return targets.counts(*_count_pairwise(cells, value, targets), n_ranked)
    if np.isnan(value).any():  # which is neither above nor equal
        is_number = ~np.isnan(value)
        cells, value = cells.only(is_number), value[is_number]
    ends = np.searchsorted(cells.row, np.arange(targets.n_rows), side="right")
    above, equal, _ = _count_compiled(value.astype(np.float64), np.append(0, ends), targets)
    before = np.zeros_like(equal)
    if targets.ordered:
        tied = np.flatnonzero(equal)
        *_, before[tied] = _count_pairwise(cells, value, targets.only(tied))
    return targets.counts(above, equal, before, n_ranked)


def _count_pairwise(
    cells: Cells, value: Any, targets: Targets
) -> tuple[IntArray, IntArray, IntArray]:
    """Count by the definition: compare each target with each given cell of its row."""
    row, column = targets.cells.row, targets.cells.column
    per_row = np.bincount(row, minlength=int(cells.row.max(initial=0)) + 1)
    first = (np.cumsum(per_row) - per_row)[cells.row]
    times = per_row[cells.row]
    cell = np.repeat(np.arange(cells.n), times)
    target = np.arange(cell.size) - np.repeat(np.cumsum(times) - times, times) + first[cell]
    met, target_index = value[to_device_of(value, cell)], to_device_of(value, target)
    higher = to_numpy(met > targets.high[target_index])
    tied = to_numpy(met >= targets.low[target_index]) & ~higher
    lower = tied & (cells.column[cell] < column[target])
    above, equal, before = (
        np.bincount(target[mask], minlength=row.size) for mask in (higher, tied, lower)
    )
    return above, equal, before
