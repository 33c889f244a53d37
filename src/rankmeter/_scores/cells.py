"""Read matrix cells (queries × items) in any form: targets, exclusions, candidates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rankmeter._evidence.hits import FloatArray, IntArray
from rankmeter._rankings.parallel import Parallel, concatenate_fields
from rankmeter._reading.frames import is_sparse
from rankmeter._scores.arrays import (
    asarray,
    is_numeric,
    nonzero,
    shape_and_type,
    take_cells,
    to_numpy,
)
from rankmeter.errors import DataError, DuplicateError
from rankmeter.errors._checks import counted

MINUS_INFINITY = "scores_of_minus_infinity"
"""The name of the count of cells that are not candidates, because their score is -inf."""


@dataclass(frozen=True, eq=False)
class Cells(Parallel):
    """Distinct cells of a matrix, ordered by row and column.

    Attributes
    ----------
    row, column : int64 arrays of shape (n_cells,)
    gain : float64 array of shape (n_cells,)
        The value of each cell; 1 where only the cells are given.
    unjudged : int
        Number of cells with the label -1, which are not among these.
    """

    arrays = ("row", "column", "gain")
    row: IntArray
    column: IntArray
    gain: FloatArray
    unjudged: int = 0

    @classmethod
    def of(cls, row: Any, column: Any, gain: Any = None) -> Cells:
        """Create cells from rows and columns in any order."""
        row, column = np.asarray(row, dtype=np.int64), np.asarray(column, dtype=np.int64)
        gain = np.ones(row.size) if gain is None else np.asarray(gain, dtype=np.float64)
        in_order = (row[1:] > row[:-1]) | ((row[1:] == row[:-1]) & (column[1:] >= column[:-1]))
        if in_order.all():
            return cls(row, column, gain)
        width = int(column.max()) + 2
        order = np.argsort(row * width + column, kind="stable")
        return cls(row[order], column[order], gain[order])

    @property
    def n(self) -> int:
        """Number of cells."""
        return self.row.size

    def plus(self, other: Cells) -> Cells:
        """Merge two disjoint sets of cells."""
        if not (self.n and other.n):
            return other if other.n else self
        return Cells.of(**concatenate_fields([self, other], self.arrays))

    def rows_with(self, n_rows: int) -> tuple[int, int]:
        """Count the rows without any cell, and the rows with several cells of a gain above 0."""
        judged = np.bincount(self.row, minlength=n_rows)
        true = np.bincount(self.row[self.gain > 0], minlength=n_rows)
        return int(np.count_nonzero(judged == 0)), int(np.count_nonzero(true > 1))

    def repeated(self) -> Any:
        """Mask of the cells equal to the previous cell."""
        mask = np.zeros(self.n, dtype=bool)
        mask[1:] = (self.row[1:] == self.row[:-1]) & (self.column[1:] == self.column[:-1])
        return mask

    def keys(self, n_columns: int) -> IntArray:
        """Key of each cell, ascending: row × n_columns + column."""
        return self.row * n_columns + self.column

    def holds(self, other: Cells, n_columns: int) -> Any:
        """Mask of the cells of `other` that are among these cells."""
        if not self.n:
            return np.zeros(other.n, dtype=bool)
        keys, other_keys = self.keys(n_columns), other.keys(n_columns)
        position = np.searchsorted(keys, other_keys)
        is_there = position < keys.size
        is_there[is_there] = keys[position[is_there]] == other_keys[is_there]
        return is_there

    def per_row(self, n_rows: int) -> IntArray:
        """Number of cells in each row."""
        return np.bincount(self.row, minlength=n_rows)

    def of_rows(self, start: int, stop: int) -> tuple[slice, Cells]:
        """Select the cells of some rows; return their slice, and the cells with rows from 0."""
        rows = slice(*np.searchsorted(self.row, [start, stop]))
        unjudged = 0 if start else self.unjudged
        return rows, Cells(self.row[rows] - start, self.column[rows], self.gain[rows], unjudged)


NO_CELLS = Cells.of([], [])
"""Nothing excluded, nothing odd."""


UNJUDGED = -1
"""The label of a cell that was not judged: it is a candidate, and has no gain."""
LARGEST = 2**31 - 1
"""An id of an item without scores is below this number, so that rows of ids can be numbered."""


def read_cells(
    data: Any, name: str, n_rows: int, n_columns: int, *, only_ids: bool = False
) -> Cells:
    """Read cells in any accepted form.

    The data are a boolean mask or a matrix of labels of shape (n_rows, n_columns), a SciPy matrix
    whose entries other than 0 are the cells, a pair (rows, columns) of index arrays, a list of ids
    for each row, an array of ids of shape (n_rows, n) padded with -1, or one id for each row.
    An array of the shape of the scores holds labels, whatever its values, or ids if `only_ids`.
    Without scores, `n_columns` is `LARGEST`.

    Raises
    ------
    DataError
        If the shape is another, or an id is outside the columns; the message names the row.
    """
    cells = _parse_cells(data, name, n_rows, n_columns, only_ids=only_ids)
    wrong = _outside(cells.column, n_columns)
    if wrong.size:
        first = wrong[0]
        raise DataError(
            f"`{name}` {cells.column[first]} of row {cells.row[first]} is {_beyond(n_columns)}; "
            f"{counted(wrong.size, 'such id')} in all"
        )
    wrong = _outside(cells.row, n_rows)
    if wrong.size:
        raise DataError(
            f"`{name}` has row {cells.row[wrong[0]]}, but the scores have {counted(n_rows, 'row')}"
        )
    equal = cells.repeated()
    if equal.any() and name == "target":
        first = np.flatnonzero(equal)[0]
        raise DuplicateError(
            f"duplicate target {cells.column[first]} in row {cells.row[first]}; "
            f"{counted(int(equal.sum()), 'such id')} in all. Remove the repetitions, padding is -1"
        )
    return cells.only(~equal)


def can_hold_several(target: Any) -> bool:
    """Whether a row can have several true items in this form, whatever the items are."""
    is_pair = isinstance(target, tuple) and len(target) == 2 and not np.isscalar(target[0])
    if is_sparse(target) or is_pair or is_ragged(target):
        return True
    shape = () if target is None else tuple(asarray(target, "target").shape)
    return len(shape) == 2 and shape[1] > 1


def _beyond(n_columns: int) -> str:
    if n_columns == LARGEST:
        return f"not from 0 to {LARGEST - 1:,}: number the items from 0"
    return f"outside the {counted(n_columns, 'column')} of the scores"


def _outside(ids: IntArray, n: int) -> IntArray:
    """Positions of the ids that are not from 0 to n - 1."""
    return np.flatnonzero(ids.view(np.uint64) >= n)  # in which negative ids are the largest


def _parse_cells(data: Any, name: str, n_rows: int, n_columns: int, *, only_ids: bool) -> Cells:
    if is_sparse(data) and only_ids:
        raise DataError(f"`{name}` is a sparse matrix, which holds labels: leave out target_ids")
    if is_sparse(data):
        matrix = data.tocoo() if data.ndim == 2 else data.reshape(1, -1).tocoo()
        if tuple(matrix.shape) != (n_rows, n_columns):
            raise DataError(
                f"`{name}` must have the shape of the scores, {(n_rows, n_columns)}, got "
                f"{tuple(matrix.shape)}"
            )
        stored = matrix.data != 0
        row, column = matrix.coords if hasattr(matrix, "coords") else (matrix.row, matrix.col)
        row, column, labels = row[stored], column[stored], matrix.data[stored].astype(np.float64)
        if name == "target":
            return _cells_of_labels(row, column, labels, name)
        return Cells.of(row, column, labels)
    if isinstance(data, tuple) and len(data) == 2 and not np.isscalar(data[0]):
        if n_rows == 2 and (name == "target" or all(isinstance(part, list) for part in data)):
            raise DataError(
                f"`{name}` as a tuple of two {'lists' if isinstance(data[0], list) else 'arrays'} "
                "for two rows can mean two things: pass a list with the ids of each row, or a "
                "SciPy matrix of the cells"
            )
        row, column = (_as_int64(to_numpy(asarray(part, name)), name) for part in data)
        if row.shape != column.shape or row.ndim != 1:
            raise DataError(
                f"`{name}` as a pair must be the rows and the columns of the cells, two arrays of "
                f"one length, got shapes {row.shape} and {column.shape}"
            )
        return Cells.of(row, column)
    if is_ragged(data):
        if name == "target" and not only_ids and _has_all_columns(data, n_columns):
            raise DataError(
                f"`target` has lists with one value for each of the {n_columns} columns of the "
                "scores: pass np.array(target) if these are labels, or target_ids=True if they are "
                "ids of columns"
            )
        return _cells_of_lists(data, name, n_rows)
    array = asarray(data, name)
    if tuple(array.shape) == (n_rows, n_columns) and not only_ids:
        if not is_numeric(array):
            raise _not_ids(name, array, None)
        row, column = nonzero(array)
        labels = None if "bool" in str(array.dtype) else to_numpy(take_cells(array, row, column))
        return _cells_of_labels(row, column, labels, name)
    return _cells_of_ids(to_numpy(array), name, n_rows)


def is_ragged(data: Any) -> bool:
    """Whether the data are a list of lists, sets or arrays, with an entry for each row."""
    kinds = (list, tuple, set, frozenset, range)
    return isinstance(data, list) and any(isinstance(o, kinds) or np.ndim(o) for o in data)


def _has_all_columns(data: list[Any], n_columns: int) -> bool:
    """Whether all entries are lists with as many values as there are columns, two or more."""
    return n_columns > 1 and all(
        isinstance(row, list | tuple) and len(row) == n_columns for row in data
    )


def _cells_of_lists(data: list[Any], name: str, n_rows: int) -> Cells:
    if len(data) != n_rows:
        raise DataError(
            f"`{name}` must have one list for each of the {counted(n_rows, 'row')} of the scores, "
            f"got {counted(len(data), 'list')}"
        )
    lists = [ids if isinstance(ids, np.ndarray) else _ids(ids, name) for ids in data]
    for number, part in enumerate(lists):
        if part.ndim != 1:
            raise _not_ids(name, part, number)
    column = np.concatenate([_as_int64(part, name, number) for number, part in enumerate(lists)])
    return _unpadded(np.repeat(np.arange(n_rows), [part.size for part in lists]), column)


def _ids(data: Any, name: str) -> npt.NDArray[Any]:
    ids = list(data) if isinstance(data, (list, tuple, set, frozenset, range)) else data
    array = np.atleast_1d(to_numpy(asarray(ids, name)))
    return array if array.size else array.astype(np.int64)


def _cells_of_ids(array: Any, name: str, n_rows: int) -> Cells:
    """Read cells from an array with one id for each row, or rows of ids padded with -1."""
    if array.shape[:1] != (n_rows,) or array.ndim > 2:
        if name == "exclude" and array.ndim == 2 and array.shape[0] == 2:
            return Cells.of(*_as_int64(array, name))  # rows and columns
        raise DataError(
            f"`{name}` must have one row for each of the {counted(n_rows, 'row')} of the scores, "
            f"got {shape_and_type(array)}"
        )
    table = _as_int64(array[:, None] if array.ndim == 1 else array, name)
    if name == "exclude" and n_rows == len(table) == 2 and np.isin(table[0], (0, 1)).all():
        raise DataError(
            f"`{name}` as an array of shape {tuple(array.shape)} for two rows can mean two things: "
            "pass a list with the ids of each row, or a tuple with the rows and the columns"
        )
    return _unpadded(np.repeat(np.arange(n_rows), table.shape[1]), table.ravel())


def _as_int64(array: Any, name: str, row: int | None = None) -> IntArray:
    """Convert ids to int64; refuse other types and unsigned integers of 2**63 or more."""
    if array.size and array.dtype.kind not in "iu":
        raise _not_ids(name, array, row)
    if array.size and array.dtype.kind == "u" and (largest := array.max()) >= 2**63:
        of_row = "" if row is None else f" of row {row}"
        raise DataError(
            f"`{name}` {largest}{of_row} is not the number of an item: items are numbered from 0, "
            "and padding is -1 in a signed type"
        )
    ids: IntArray = array.astype(np.int64, copy=False)
    return ids


def _unpadded(row: IntArray, column: IntArray) -> Cells:
    """Create cells without the padding, whose column is -1."""
    is_filled = column != -1
    return Cells.of(row, column) if is_filled.all() else Cells.of(row[is_filled], column[is_filled])


def _cells_of_labels(row: IntArray, column: IntArray, labels: Any, name: str) -> Cells:
    """Create cells with their labels as gains, or the gain 1 if there are no labels.

    The label -1 of a target means that the cell was not judged, and it has no gain.
    """
    if labels is None:
        return Cells.of(row, column)
    labels = labels.astype(np.float64)
    wrong = np.flatnonzero(~np.isfinite(labels) if name == "target" else labels != 1)
    if wrong.size:
        first = wrong[0]
        remedy = f"0 or 1. Pass a mask, such as `{name} > 0`, or `list({name})` if these are ids"
        remedy = "a finite number" if name == "target" else remedy
        raise DataError(
            f"`{name}` has the label {labels[first]:g} in row {row[first]} and column "
            f"{column[first]}: it must be {remedy}"
        )
    judged = labels != UNJUDGED
    if judged.all():
        return Cells.of(row, column, labels)
    if (odd := np.flatnonzero((labels < 0) & judged)).size:
        first = odd[0]
        raise DataError(
            f"`{name}` has the label -1, which means 'not judged', and {labels[first]:g} in row "
            f"{row[first]} and column {column[first]}: set what is not judged to 0, or pass "
            "rm.Scores and the gains by id to rm.evaluate if -1 is a gain"
        )
    cells = Cells.of(row[judged], column[judged], labels[judged])
    return replace(cells, unjudged=int(np.count_nonzero(~judged)))


def _not_ids(name: str, array: Any, row: int | None = None) -> DataError:
    location = "" if row is None else f" in row {row}"
    location = f" of shape {tuple(array.shape)}" if array.ndim == 2 else location
    return DataError(
        f"`{name}` must have ids of columns (integers), a boolean mask or a matrix of labels of "
        f"the shape of the scores, got {array.dtype}{location}"
    )
