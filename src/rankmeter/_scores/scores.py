"""Count the candidates in scores: dense matrices, blocks of columns, factors, sparse matrices."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rankmeter._evidence.hits import BoolArray, IntArray
from rankmeter._rankings.queries import Queries
from rankmeter._rankings.rank_counts import RankCounts
from rankmeter._reading.frames import is_sparse
from rankmeter._scores.arrays import (
    array_namespace,
    asarray,
    concatenate_vectors,
    half_precision_type,
    is_numeric,
    nonzero,
    refuse_different_devices,
    take_positions,
    to_device_of,
    to_floating,
    to_numpy,
)
from rankmeter._scores.cells import MINUS_INFINITY, NO_CELLS, Cells, is_ragged, read_cells
from rankmeter._scores.labels import without_labels
from rankmeter._scores.score_counts import (
    ScoreBlock,
    Targets,
    are_minus_infinity,
    comparable_scores,
    compare_cells,
    compare_rows,
    count_true,
)
from rankmeter.errors import DataError, InvalidValueError, UsageError
from rankmeter.errors._checks import brief, counted

AT_ONCE = 1 << 25
"""Cells of a product of factors that are computed at once."""

Blocks = Callable[[], Iterable[Any]]


@dataclass(frozen=True)
class CountRequest:
    """Options of a count: one query per target, order of ties, bad scores, precision, tolerance.

    Attributes
    ----------
    each : bool
        Whether every target is a query of its own, without the other targets of its row.
    ordered : bool
        Whether the order of tied items is needed.
    bad_scores : str
        As in the choices.
    single : bool
        Whether scores are compared as float32.
    tolerance : tuple of two floats
        Absolute and relative; scores this close to that of the target are tied with it.
    target_ids : bool
        Whether targets of the shape of the scores are ids of columns, and not labels.
    """

    each: bool = False
    ordered: bool = False
    bad_scores: str = "error"
    single: bool = False
    tolerance: tuple[float, float] = (0.0, 0.0)
    target_ids: bool = False


@dataclass(frozen=True, eq=False)
class Problem:
    """Targets, excluded cells and candidates of some rows, with the request to count."""

    n_rows: int
    n_columns: int
    target: Cells
    excluded: Cells
    request: CountRequest
    candidates: Cells | None = None  # the candidates of each row, if they are not all columns
    names: IntArray | None = None  # the column of each candidate, if all rows have the same ones
    first: int = 0  # the number of the first row, for messages

    def targets(self, value: Any) -> Targets:
        """Create the targets, given their scores."""
        tolerance = self.request.tolerance
        return Targets.of(self.target, value, self.n_rows, tolerance, ordered=self.request.ordered)

    def rows(self, start: int, stop: int) -> Problem:
        """Restrict the problem to some rows."""
        return replace(
            self,
            n_rows=stop - start,
            target=self.target.of_rows(start, stop)[1],
            excluded=self.excluded.of_rows(start, stop)[1],
            candidates=None if self.candidates is None else self.candidates.of_rows(start, stop)[1],
            first=self.first + start,
        )

    def name(self, column: int) -> int:
        """Column of the scores, given a column of the problem."""
        return column if self.names is None else int(self.names[column])


def count_scores(
    scores: Any, target: Any, request: CountRequest, *, exclude: Any = None, candidates: Any = None
) -> Queries:
    """Count in scores of any form; see `rankmeter.evaluate_scores`."""
    if target is None:
        raise UsageError("target is missing: pass the true items of each row", option="target")
    kinds = {
        half_precision_type(block)
        for block in (scores if isinstance(scores, list | tuple) else [scores])
    }
    queries = _count_blocks(scores, target, exclude, candidates, request, kinds)
    return replace(queries, half=max(kinds, default=""))


def _count_blocks(
    scores: Any, target: Any, exclude: Any, candidates: Any, request: CountRequest, kinds: set[str]
) -> Queries:
    """Count in scores of any form; `kinds` collects the half types of a function's blocks."""
    if is_sparse(scores):
        if len(scores.shape) != 2:
            raise DataError(
                "`scores` must have a row for each query and a column for each item, got a sparse "
                f"array of shape {tuple(scores.shape)}"
            )
        if not is_numeric(scores):
            raise DataError(f"`scores` must be numbers, got a matrix of type {scores.dtype}")
        n_rows, n_columns = scores.shape
        problem = _problem(target, exclude, candidates, n_rows, n_columns, request)
        return _count_stored(*stored_cells(scores), problem)
    if isinstance(scores, tuple):
        return _count_in_factor_product(scores, target, exclude, candidates, request)
    blocks = read_blocks(scores, kinds)
    if any(request.tolerance):
        blocks = functools.partial(_floating, blocks)
    shapes = [tuple(block.shape) for block in blocks()]
    if not shapes or any(len(shape) != 2 or shape[0] != shapes[0][0] for shape in shapes):
        raise DataError(
            "`scores` must have a row for each query and a column for each item, or be a list of "
            f"such blocks of columns, got {', '.join(map(str, shapes[:3])) or 'no block'}"
            f"{remedy_of_shape(shapes[0] if len(shapes) == 1 else ())}"
        )
    n_columns = sum(shape[1] for shape in shapes)
    problem = _problem(target, exclude, candidates, shapes[0][0], n_columns, request)
    return _two_passes(blocks, problem, verify=_is_function(scores))


def remedy_of_shape(shape: tuple[int, ...]) -> str:
    """What to do with scores of one or of three dimensions."""
    remedies = {
        1: ". If these are the candidates of one query after the other, pass rm.evaluate("
        "*rm.grouped(scores, labels, group=sizes), metrics); if they are those of true items, "
        "pass negatives=",
        3: ". Select the positions that count in scores and target, such as logits[mask] and "
        "ids[mask] with a boolean mask of the first two dimensions",
    }
    return remedies.get(len(shape), "")


# ---------------------------------------------------------------------------------------------
# Targets, exclusions and candidates


def _problem(
    target: Any, exclude: Any, candidates: Any, n_rows: int, n_columns: int, request: CountRequest
) -> Problem:
    targets = read_cells(target, "target", n_rows, n_columns, only_ids=request.target_ids)
    targets = targets.only(targets.gain > 0) if request.each else targets
    excluded = NO_CELLS
    if exclude is not None:
        excluded = read_cells(exclude, "exclude", n_rows, n_columns)
        wrong = excluded.holds(targets, n_columns)
        _refuse(targets, wrong, "is excluded, so it cannot be ranked", "Remove it from `exclude`")
    problem = Problem(n_rows, n_columns, targets, excluded, request)
    if candidates is None:
        return problem
    names = shared_columns(candidates, n_columns)
    if names is None:
        listed = read_cells(candidates, "candidates", n_rows, n_columns)
        _refuse(targets, ~listed.holds(targets, n_columns), *_MISSING)
        return replace(problem, candidates=listed.only(~excluded.holds(listed, n_columns)))
    new_column = np.full(n_columns, -1)
    new_column[names] = np.arange(names.size)
    _refuse(targets, new_column[targets.column] < 0, *_MISSING)
    excluded_candidates = excluded.only(new_column[excluded.column] >= 0)
    return replace(
        problem,
        n_columns=names.size,
        target=replace(targets, column=new_column[targets.column]),
        excluded=replace(excluded_candidates, column=new_column[excluded_candidates.column]),
        names=names,
    )


_MISSING = ("is not among the candidates", "Add it to `candidates`")


def _refuse(targets: Cells, wrong: BoolArray, problem: str, remedy: str) -> None:
    if wrong.any():
        first = int(np.flatnonzero(wrong)[0])
        raise DataError(
            f"target {targets.column[first]} of row {targets.row[first]} {problem}; "
            f"{counted(int(wrong.sum()), 'such target')} in all. {remedy}"
        )


def shared_columns(data: Any, n_columns: int) -> IntArray | None:
    """Columns that are candidates for all rows, ascending; None if each row has its own."""
    if is_sparse(data) or isinstance(data, tuple) or is_ragged(data):
        return None
    array = asarray(data, "candidates")
    if array.ndim != 1:
        return None
    ids = to_numpy(array)
    if ids.dtype == bool and ids.size == n_columns:
        return np.flatnonzero(ids)
    return read_cells([ids], "candidates", 1, n_columns).column


# ---------------------------------------------------------------------------------------------
# Dense scores


def read_blocks(scores: Any, kinds: set[str]) -> Blocks:
    """Return a function that yields the blocks of columns, for several passes."""
    if _is_function(scores):

        def read(block: Any) -> Any:
            kinds.add(half_precision_type(block))
            return asarray(without_labels(block, "scores"), "scores")

        def read_all() -> Iterator[Any]:
            blocks = scores()
            if not isinstance(blocks, Iterable):
                raise DataError(
                    "the function `scores` must return blocks of columns, a list of arrays with a "
                    f"row for each query, got {brief(blocks)}"
                )
            return map(read, blocks)

        return read_all
    if isinstance(scores, Iterator):
        raise UsageError(
            "`scores` are read twice, which a generator cannot be: pass the function that makes it",
            option="scores",
        )
    if isinstance(scores, list) and scores and np.ndim(scores[0]) == 2:
        arrays = [asarray(without_labels(block, "scores"), "scores") for block in scores]
        refuse_different_devices(arrays, "blocks")
        return lambda: arrays
    matrix = asarray(scores, "scores")
    return lambda: [matrix]


def _floating(blocks: Blocks) -> Iterator[Any]:
    """Convert integers in blocks to floats, so that small types do not overflow."""
    return map(to_floating, blocks())


def _is_function(scores: Any) -> bool:
    return callable(scores) and not hasattr(scores, "shape")


def _candidate_blocks(blocks: Blocks, problem: Problem) -> Iterator[ScoreBlock]:
    """Yield the blocks of columns, restricted to candidates."""
    start = total = 0
    for block in blocks():
        if not is_numeric(block):
            raise DataError(f"`scores` must be numbers, got an array of type {block.dtype}")
        if block.ndim != 2 or block.shape[0] != problem.n_rows:
            raise DataError(
                f"`scores` had {counted(problem.n_rows, 'row')} at first and a block of shape "
                f"{tuple(block.shape)} later: the function must return the same blocks each time"
            )
        ranked, width = block, block.shape[1]
        if problem.names is not None:
            low, high = np.searchsorted(problem.names, [total, total + width])
            if high - low < width:
                ranked = take_positions(block, problem.names[low:high] - total, axis=1)
        yield ScoreBlock(ranked, start, problem.request.single)
        start += ranked.shape[1]
        total += width
    if start != problem.n_columns:
        raise DataError(
            f"`scores` had {counted(problem.n_columns, 'column')} at first and {start:,} later: "
            "the function must return the same blocks each time"
        )


def _two_passes(blocks: Blocks, problem: Problem, *, verify: bool = False) -> Queries:
    """Count in two passes over the columns: read the scores of the targets, then count.

    With `verify`, the second pass checks that the scores of the targets are those of the first.
    """
    if problem.candidates is not None:
        (value, absent), listed = _gathered(blocks, problem, problem.target, problem.candidates)
        return _count_listed(problem, problem.candidates, *listed, value, ~to_numpy(absent))
    ((value, absent),) = _gathered(blocks, problem, problem.target)
    targets, bad, n_absent, all_finite = problem.targets(value), NO_CELLS, 0, True
    counts: RankCounts | None = None
    for block in _candidate_blocks(blocks, problem):
        if verify:
            _refuse_changed(block, problem, value)
        block_counts, is_finite = compare_rows(block, targets)
        bad_here, all_finite = NO_CELLS, all_finite and is_finite
        if not is_finite:
            bad_here, absent_here = _bad_candidates(block, problem), _count_absent(block, problem)
            block_counts = replace(block_counts, n_ranked=block_counts.n_ranked - absent_here)
            n_absent += int(absent_here.sum())
        _, outside = block.inside(problem.excluded)
        if problem.request.bad_scores == "drop":
            outside = outside.plus(bad_here)
        if outside.n:
            block_counts -= compare_cells(outside, block.at(outside), targets)
        counts, bad = block_counts if counts is None else counts + block_counts, bad.plus(bad_here)
    assert counts is not None
    is_ranked = np.ones(problem.target.n, dtype=bool) if all_finite else ~to_numpy(absent)
    return to_queries(problem, counts, is_ranked, value, bad, n_absent)


def _refuse_changed(block: ScoreBlock, problem: Problem, value: Any) -> None:
    """Refuse scores of targets that differ from the first pass."""
    positions, cells = block.inside(problem.target)
    first, later = to_numpy(value)[positions], to_numpy(block.at(cells))
    wrong = np.flatnonzero((first != later) & ((first == first) | (later == later)))  # noqa: PLR0124
    if wrong.size:
        index = int(wrong[0])
        row, column = int(cells.row[index]), problem.name(int(cells.column[index]))
        raise DataError(
            f"the function `scores` gave target {column} of row {row} the score "
            f"{float(first[index])} at first and {float(later[index])} later; "
            f"{counted(wrong.size, 'such target')} in this block. It is called more than once and "
            "must return the same scores each time: turn off dropout, or pass a list of blocks"
        )


def _gathered(blocks: Blocks, problem: Problem, *each_cells: Cells) -> list[tuple[Any, Any]]:
    """Read the scores of each set of cells, in the order of the cells, and whether each is -inf."""
    gathered: list[list[tuple[IntArray, Any, Any]]] = [[] for _ in each_cells]
    for block in _candidate_blocks(blocks, problem):
        for cells, pieces in zip(each_cells, gathered, strict=True):
            positions, block_cells = block.inside(cells)
            absent = are_minus_infinity(block.as_given(block_cells))
            pieces.append((positions, block.at(block_cells), absent))
    return [
        (
            _in_order([(positions, values) for positions, values, _ in pieces]),
            _in_order([(positions, absent) for positions, _, absent in pieces]),
        )
        for pieces in gathered
    ]


def _in_order(placed: list[tuple[IntArray, Any]]) -> Any:
    """Concatenate the values of all parts, in the order of their positions."""
    if len(placed) == 1:
        return placed[0][1]
    values = concatenate_vectors([part for _, part in placed])
    order = np.argsort(np.concatenate([positions for positions, _ in placed]))
    return values[to_device_of(values, order)]


def _are_bad(scores: Any, problem: Problem) -> Any:
    """Mask of the scores that are NaN, or infinite unless `bad_scores` is ``worst``.

    What is not a candidate is not among these scores.
    """
    library = array_namespace(scores)
    is_worst = problem.request.bad_scores == "worst"
    return library.isnan(scores) if is_worst else ~library.isfinite(scores)


def _bad_candidates(block: ScoreBlock, problem: Problem) -> Cells:
    """Find the candidates with bad scores; raise an error if `bad_scores` is ``error``."""
    scores = comparable_scores(block.scores, single=block.single)
    row, column = nonzero(_are_bad(scores, problem) & ~are_minus_infinity(block.scores))
    cells = Cells.of(row, column + block.start)
    cells = cells.only(~problem.excluded.holds(cells, problem.n_columns))
    if cells.n and problem.request.bad_scores == "error":
        _refuse_bad(cells, problem, to_numpy(block.at(cells.only(slice(1))))[0])
    return cells


def _count_absent(block: ScoreBlock, problem: Problem) -> IntArray:
    """Number of cells of each row that are -inf, and so no candidates; excluded ones are not."""
    _, excluded = block.inside(problem.excluded)
    twice = excluded.only(to_numpy(are_minus_infinity(block.as_given(excluded))))
    return count_true(are_minus_infinity(block.scores)) - twice.per_row(problem.n_rows)


def _refuse_bad(cells: Cells, problem: Problem, value: Any) -> None:
    row, column = int(cells.row[0]) + problem.first, problem.name(int(cells.column[0]))
    raise InvalidValueError(
        f"the score of row {row} and column {column} is {float(value)}; "
        f"{counted(cells.n, 'score')} of this block {'is' if cells.n == 1 else 'are'} NaN or "
        "+inf. Name cells that are not candidates in `exclude`, or choose bad_scores='drop' "
        "(not a candidate) or 'worst' (NaN is ranked last)"
    )


# ---------------------------------------------------------------------------------------------
# Some cells of each row


def stored_cells(scores: Any) -> tuple[Cells, Any]:
    """Stored cells of a sparse matrix, ordered by row and column, and their values."""
    rows = scores.tocsr()
    if not rows.has_canonical_format:
        rows = rows.copy()  # the input is never changed
        rows.sum_duplicates()
    row = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    return Cells.of(row, rows.indices), rows.data


def _count_stored(cells: Cells, value: Any, problem: Problem) -> Queries:
    """Count with only the stored cells as candidates."""
    is_candidate = ~problem.excluded.holds(cells, problem.n_columns)
    if problem.names is not None:
        raise UsageError(
            "`candidates` that all rows share need dense scores: remove the other columns",
            option="candidates",
        )
    if problem.candidates is not None:
        is_candidate &= problem.candidates.holds(cells, problem.n_columns)
    cells, value = cells.only(is_candidate), value[is_candidate]
    absent = are_minus_infinity(value)
    value = comparable_scores(value, single=problem.request.single)
    is_stored = cells.holds(problem.target, problem.n_columns)
    index = np.searchsorted(cells.keys(problem.n_columns), problem.target.keys(problem.n_columns))
    target_value = np.zeros(problem.target.n, dtype=value.dtype)
    target_value[is_stored] = value[index[is_stored]]
    is_stored[is_stored] = ~absent[index[is_stored]]
    return _count_listed(problem, cells, value, absent, target_value, is_stored)


def _count_listed(
    problem: Problem,
    cells: Cells,
    cell_value: Any,
    absent: Any,
    value: Any,
    is_ranked: BoolArray,
) -> Queries:
    """Count with only the given cells of each row as candidates, without those `absent`."""
    absent = to_numpy(absent)
    if n_absent := int(np.count_nonzero(absent)):
        cells = cells.only(~absent)
        cell_value = cell_value[to_device_of(cell_value, np.flatnonzero(~absent))]
    is_bad = to_numpy(_are_bad(cell_value, problem))
    bad = cells.only(is_bad)
    if bad.n and problem.request.bad_scores == "error":
        _refuse_bad(bad, problem, to_numpy(cell_value)[is_bad][0])
    if bad.n and problem.request.bad_scores == "drop":
        cells = cells.only(~is_bad)
        cell_value = cell_value[to_device_of(cell_value, np.flatnonzero(~is_bad))]
    counts = compare_cells(cells, cell_value, problem.targets(value))
    return to_queries(problem, counts, is_ranked, value, bad, n_absent)


# ---------------------------------------------------------------------------------------------
# Results


def to_queries(
    problem: Problem,
    counts: RankCounts,
    is_ranked: BoolArray,
    value: Any,
    bad: Cells,
    n_absent: int = 0,
) -> Queries:
    """Create queries from the counts at all targets; targets with `is_ranked` count themselves.

    `n_absent` cells are not candidates because they are -inf.
    """
    targets, request = problem.target, problem.request
    without, several = targets.rows_with(problem.n_rows)
    if several and any(request.tolerance) and not request.each:
        raise UsageError(
            f"close scores cannot be tied where a row is one query with several true items, as "
            f"{counted(several, 'row')} here: pass each=True or tolerance=(0, 0)",
            option="tolerance",
        )
    is_bad = bad.holds(targets, problem.n_columns)
    if request.bad_scores == "drop":
        is_ranked = is_ranked & ~is_bad
    elif bad.n:
        _rank_last(problem, counts, np.flatnonzero(is_bad), bad)
    counts = _without_themselves(problem, counts, is_ranked, value, is_bad)
    column = targets.column if problem.names is None else problem.names[targets.column]
    facts = {
        "rows": problem.n_rows,
        "columns": problem.n_columns,
        "excluded_cells": problem.excluded.n,
        "labels_not_judged": targets.unjudged,
        MINUS_INFINITY: n_absent,
        "rows_without_target": without,
        "rows_with_several_targets": several,
        f"bad_scores_{'dropped' if request.bad_scores == 'drop' else 'ranked_last'}": bad.n,
        "targets_with_bad_scores": int(np.count_nonzero(is_bad)),
    }
    return Queries(
        counts,
        is_ranked,
        np.asarray(to_numpy(value > 0), dtype=bool),
        targets.row if request.each else np.arange(problem.n_rows),
        column if request.each else None,
        {name: n for name, n in facts.items() if n or name in ("rows", "columns")},
        column=column,
    )


def _rank_last(problem: Problem, counts: RankCounts, last: IntArray, bad: Cells) -> None:
    """Set the counts of targets with bad scores: tied with all bad scores, below all others."""
    targets = replace(problem, target=problem.target.only(last)).targets(np.zeros(last.size))
    lowest = compare_cells(bad, np.zeros(bad.n), targets)
    counts.above[last] = counts.n_ranked[targets.cells.row] - lowest.equal
    counts.equal[last] = lowest.equal
    if counts.before is not None and lowest.before is not None:
        counts.before[last] = lowest.before


def _without_themselves(
    problem: Problem, counts: RankCounts, is_ranked: BoolArray, value: Any, is_bad: BoolArray
) -> RankCounts:
    """Subtract each target from its counts; if `each`, subtract the row's other targets, too."""
    targets, itself = problem.target, is_ranked.astype(np.int64)
    n_ranked = counts.n_ranked[targets.row]
    if problem.request.each and targets.rows_with(problem.n_rows)[1]:
        value = _value_ranks(value, is_bad)
        value_of_ranked = value[to_device_of(value, np.flatnonzero(is_ranked))]
        counts -= compare_cells(targets.only(is_ranked), value_of_ranked, problem.targets(value))
        n_ranked = counts.n_ranked[targets.row] + itself
    else:
        counts = replace(counts, equal=counts.equal - itself)
    if problem.request.each:
        counts = replace(counts, user=np.arange(targets.n), n_ranked=n_ranked)
    if is_ranked.all():
        return counts
    return replace(
        counts,
        above=counts.above * itself,
        equal=counts.equal * itself,
        before=None if counts.before is None else counts.before * itself,
    )


def _value_ranks(value: Any, bad: BoolArray) -> Any:
    """Ranks of the values as integers if some are bad: bad values are equal and lowest."""
    if not bad.any():
        return value
    level = np.unique(to_numpy(value), return_inverse=True)[1].reshape(-1)
    level[bad] = -1
    return level


def read_factors(scores: tuple[Any, ...]) -> list[Any]:
    """Read the factors of users and of items, of shapes (queries, d) and (items, d)."""
    factors = [asarray(without_labels(factor, "scores"), "scores") for factor in scores]
    if (
        len(factors) != 2
        or any(factor.ndim != 2 for factor in factors)
        or (factors[0].shape[1] != factors[1].shape[1])
    ):
        shapes = ", ".join(str(tuple(factor.shape)) for factor in factors)
        raise DataError(
            "`scores` as a pair must be factors of shapes (queries, d) and (items, d), got "
            f"{shapes or 'no factor'}; blocks of columns are a list"
        )
    refuse_different_devices(factors, "factors")
    return factors


def _count_in_factor_product(
    scores: tuple[Any, ...], target: Any, exclude: Any, candidates: Any, request: CountRequest
) -> Queries:
    """Count in the product of two factors, computed for some rows at a time."""
    users, items = read_factors(scores)
    n_rows, n_columns = users.shape[0], items.shape[0]
    problem = _problem(target, exclude, candidates, n_rows, n_columns, request)
    step = max(1, AT_ONCE // max(n_columns, 1))
    transposed = items.T  # once: some libraries copy
    queries = []
    for start in range(0, max(n_rows, 1), step):
        stop = min(start + step, n_rows)
        product = [users[start:stop, :] @ transposed]
        queries.append(_two_passes(product.copy, problem.rows(start, stop)))
    return Queries.concat(queries)
