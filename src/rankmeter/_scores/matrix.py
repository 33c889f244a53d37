"""Read score matrices as items by user."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from rankmeter._evidence.hits import BoolArray, FloatArray, IntArray
from rankmeter._reading.by_user import ByUser, Ids
from rankmeter._reading.frames import is_sparse
from rankmeter._scores.array_files import is_path, read_array_file
from rankmeter._scores.arrays import is_numeric, shape_and_type, to_numpy
from rankmeter._scores.cells import MINUS_INFINITY, Cells, read_cells
from rankmeter._scores.scores import (
    read_blocks,
    read_factors,
    remedy_of_shape,
    shared_columns,
    stored_cells,
)
from rankmeter.errors import DataError, InvalidValueError
from rankmeter.errors._checks import counted


def read_matrix(scores: Any) -> Any:
    """Read scores in any form as one matrix of NumPy or SciPy.

    Raises
    ------
    DataError
        If they have another shape, or are not numbers.
    """
    scores = read_array_file(scores) if is_path(scores) else scores
    if isinstance(scores, tuple):
        users, items = map(to_numpy, read_factors(scores))
        scores = users @ items.T
    if not is_sparse(scores):
        blocks = [to_numpy(block) for block in read_blocks(scores, set())()]
        scores = blocks[0] if len(blocks) == 1 else np.hstack(blocks)
    if len(scores.shape) != 2 or not is_numeric(scores):
        raise DataError(
            "Scores must be numbers with a row for each user and a column for each item, got "
            f"{shape_and_type(scores)}{remedy_of_shape(tuple(scores.shape))}"
        )
    return scores


@dataclass(frozen=True, eq=False)
class CandidateCells:
    """Cells of a matrix that are candidates, ordered by row and column."""

    value: FloatArray
    lengths: IntArray  # (n_rows,) the number of them in each row
    column: IntArray | None  # the column of each; None if every row has all
    n_columns: int

    @classmethod
    def of(cls, matrix: Any, exclude: Any, candidates: Any, counts: Counter[str]) -> CandidateCells:
        """Select the stored cells of a sparse matrix, or all cells, without excluded cells."""
        n_rows, n_columns = matrix.shape
        if is_sparse(matrix):
            cells, stored = stored_cells(matrix)
            value, lengths = stored.astype(np.float64), cells.per_row(n_rows)
            all_cells = cls(value, lengths, cells.column.astype(np.int64), n_columns)
        else:
            value = np.ascontiguousarray(matrix, dtype=np.float64).ravel()
            all_cells = cls(value, np.full(n_rows, n_columns), None, n_columns)
        is_candidate = np.ones(value.size, dtype=bool)
        if exclude is not None:
            excluded = read_cells(exclude, "exclude", n_rows, n_columns)
            is_candidate &= ~all_cells.are_in(excluded)
            counts["excluded_cells"] = excluded.n
        if candidates is not None:
            shared = shared_columns(candidates, n_columns)
            if shared is None:
                listed = read_cells(candidates, "candidates", n_rows, n_columns)
            else:
                row = np.repeat(np.arange(n_rows), shared.size)
                listed = Cells.of(row, np.tile(shared, n_rows))
            is_candidate &= all_cells.are_in(listed)
        return all_cells.only(is_candidate)

    def are_in(self, cells: Cells) -> BoolArray:
        """Mask of these cells that are among `cells`."""
        if self.column is not None:
            return cells.holds(Cells(*self.places(), self.value), self.n_columns)  # type: ignore[no-any-return]
        mask = np.zeros((self.lengths.size, self.n_columns), dtype=bool)
        mask[cells.row, cells.column] = True
        return mask.ravel()

    def places(self) -> tuple[IntArray, IntArray]:
        """Row and column of each cell."""
        row = np.repeat(np.arange(self.lengths.size), self.lengths)
        column = self.column
        return row, np.arange(row.size) % max(self.n_columns, 1) if column is None else column

    def only(self, mask: BoolArray) -> CandidateCells:
        """Select cells by mask."""
        if mask.all():
            return self
        row, column = self.places()
        lengths = np.bincount(row[mask], minlength=self.lengths.size)
        return CandidateCells(self.value[mask], lengths, column[mask], self.n_columns)

    def settled(self, bad_scores: str, counts: Counter[str]) -> CandidateCells:
        """Leave out cells of -inf; refuse or drop NaN, or give it the lowest score."""
        absent = np.isneginf(self.value)
        if n := int(np.count_nonzero(absent)):
            counts[MINUS_INFINITY] = n
            return self.only(~absent).settled(bad_scores, counts)
        bad = np.isnan(self.value)
        n = int(np.count_nonzero(bad))
        if not n:
            return self
        if bad_scores == "error":
            row, column = (indices[bad][0] for indices in self.places())
            raise InvalidValueError(
                f"the score of row {row} and column {column} is NaN; {counted(n, 'score')} in all. "
                "Name cells that are not candidates in `exclude`, or choose bad_scores='drop' (not "
                "a candidate) or 'worst' (ranked last)"
            )
        counts["dropped_scores" if bad_scores == "drop" else "worst_scores"] = n
        if bad_scores == "drop":
            return self.only(~bad)
        return replace(self, value=np.where(bad, -np.inf, self.value))


@dataclass(frozen=True, eq=False, kw_only=True)
class MatrixRows(ByUser):
    """Cells of a score matrix as items by user, ordered by row and column."""

    column_ids: Ids  # (n_columns,) without duplicates
    of_column: IntArray | None  # (n_items,) the column of each cell; None if every row has all

    def known_items(self) -> Ids:
        return self.column_ids

    def items(self) -> Ids:
        columns = np.tile(np.arange(len(self.column_ids)), len(self.users))
        return self.column_ids.take(columns if self.of_column is None else self.of_column)

    def all_ids(self, role: str) -> list[Ids]:
        if role == "user":
            return super().all_ids(role)
        columns = self.of_column
        return [self.column_ids if columns is None else self.column_ids.take(np.unique(columns))]

    def take_items(self, indices: IntArray) -> Ids:
        columns = indices % max(len(self.column_ids), 1)
        return self.column_ids.take(columns if self.of_column is None else self.of_column[indices])

    def look_up_positions(self, list_index: IntArray, items: Ids) -> FloatArray:
        column_of = self._column_of
        column = np.fromiter((column_of.get(item, -1) for item in items), np.int64, len(items))
        if self.of_column is None:
            return np.where(column < 0, np.nan, column)
        if not self.of_column.size:
            return np.full(list_index.size, np.nan)
        key = list_index * len(self.column_ids) + column
        cell = np.searchsorted(self._keys, key)
        is_there = (column >= 0) & (self._keys.take(cell, mode="clip") == key)
        return np.where(is_there, cell - self.offsets[list_index], np.nan)

    def _filter_subclass_fields(self, mask: BoolArray) -> dict[str, Any]:
        return {"of_column": None if self.of_column is None else self.of_column[mask]}

    @cached_property
    def _keys(self) -> IntArray:
        """Key of each cell, ascending: row × n_columns + column."""
        assert self.of_column is not None
        row = np.repeat(np.arange(len(self.users)), self.lengths)
        return row * len(self.column_ids) + self.of_column

    @cached_property
    def _column_of(self) -> dict[Any, int]:
        return {item: column for column, item in enumerate(self.column_ids)}
