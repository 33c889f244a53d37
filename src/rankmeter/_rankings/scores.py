"""Scores of queries × items → counted queries: matrices, blocks of columns, factors, sparse."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rankmeter._evidence.hits import IntArray
from rankmeter._rankings.arrays import (
    asarray,
    floating,
    half_type,
    host,
    is_number,
    is_sparse,
    joined,
    namespace,
    nonzero,
    on_device_of,
    pick,
    refuse_places,
    take,
)
from rankmeter._rankings.cells import NO_CELLS, Cells, is_ragged, read_cells
from rankmeter._rankings.rank_counts import Queries, RankCounts
from rankmeter._rankings.score_counts import (
    Counts,
    Level,
    comparable_scores,
    compare_cells,
    compare_rows,
    count_before,
)
from rankmeter.errors import DataError, InvalidValueError, UsageError
from rankmeter.errors._checks import counted, shown

AT_ONCE = 1 << 25
"""Cells of a product of factors that are computed at once."""

Blocks = Callable[[], Iterable[Any]]


@dataclass(frozen=True)
class Asked:
    """The request to count: each target alone or not, ties in order or not, precision, tolerance.

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
    """

    each: bool = False
    ordered: bool = False
    bad_scores: str = "error"
    single: bool = False
    tolerance: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True, eq=False)
class Problem:
    """The targets of some rows, and which cells are candidates."""

    n_rows: int
    n_columns: int
    target: Cells
    excluded: Cells
    own: Cells | None = None  # the candidates of each row, if they are not all columns
    names: IntArray | None = None  # the column of each candidate, if all rows have the same ones
    first: int = 0  # the number of the first row, for messages

    def rows(self, start: int, stop: int) -> Problem:
        """The problem of some rows."""

        def part(cells: Cells) -> Cells:
            low, high = np.searchsorted(cells.row, [start, stop])
            kept = cells.only(slice(low, high))
            return replace(kept, row=kept.row - start)

        return replace(
            self,
            n_rows=stop - start,
            target=part(self.target),
            excluded=part(self.excluded),
            own=None if self.own is None else part(self.own),
            first=self.first + start,
        )

    def name(self, column: int) -> int:
        """The column of the scores that a column of the problem is."""
        return column if self.names is None else int(self.names[column])


def count_scores(
    scores: Any, target: Any, asked: Asked, *, exclude: Any = None, candidates: Any = None
) -> Queries:
    """Count in scores of any form; see `rankmeter.evaluate_scores`."""
    if target is None:
        raise UsageError("target is missing: pass the true items of each row", option="target")
    kinds = {
        half_type(block) for block in (scores if isinstance(scores, list | tuple) else [scores])
    }
    queries = _count_blocks(scores, target, exclude, candidates, asked, kinds)
    return replace(queries, half=max(kinds, default=""))


def _count_blocks(
    scores: Any, target: Any, exclude: Any, candidates: Any, asked: Asked, kinds: set[str]
) -> Queries:
    """The counts; `kinds` gets the types of half precision of the blocks of a function."""
    if is_sparse(scores):
        if len(scores.shape) != 2:
            raise DataError(
                "`scores` must have a row for each query and a column for each item, got a sparse "
                f"array of shape {tuple(scores.shape)}"
            )
        if not is_number(scores):
            raise DataError(f"`scores` must be numbers, got a matrix of type {scores.dtype}")
        problem = _problem(target, exclude, candidates, *scores.shape, each=asked.each)
        return _count_stored(stored_cells(scores), problem, asked)
    if isinstance(scores, tuple):
        return _count_factors(scores, target, exclude, candidates, asked)
    blocks = read_blocks(scores, kinds)
    if any(asked.tolerance):
        blocks = functools.partial(_floating, blocks)
    shapes = [tuple(block.shape) for block in blocks()]
    if not shapes or any(len(shape) != 2 or shape[0] != shapes[0][0] for shape in shapes):
        raise DataError(
            "`scores` must have a row for each query and a column for each item, or be a list of "
            f"such blocks of columns, got {', '.join(map(str, shapes[:3])) or 'no block'}"
        )
    n_columns = sum(shape[1] for shape in shapes)
    problem = _problem(target, exclude, candidates, shapes[0][0], n_columns, each=asked.each)
    return _two_passes(blocks, problem, asked, again=_is_function(scores))


# ---------------------------------------------------------------------------------------------
# Targets, exclusions and candidates


def _problem(
    target: Any, exclude: Any, candidates: Any, n_rows: int, n_columns: int, *, each: bool
) -> Problem:
    targets = read_cells(target, "target", n_rows, n_columns)
    targets = targets.only(targets.gain > 0) if each else targets
    excluded = NO_CELLS
    if exclude is not None:
        excluded = read_cells(exclude, "exclude", n_rows, n_columns)
        wrong = excluded.holds(targets, n_columns)
        _refuse(targets, wrong, "is excluded, so it cannot be ranked", "Remove it from `exclude`")
    problem = Problem(n_rows, n_columns, targets, excluded)
    if candidates is None:
        return problem
    names = shared_columns(candidates, n_columns)
    if names is None:
        listed = read_cells(candidates, "candidates", n_rows, n_columns)
        _refuse(targets, ~listed.holds(targets, n_columns), *_MISSING)
        return replace(problem, own=listed.only(~excluded.holds(listed, n_columns)))
    place = np.full(n_columns, -1)
    place[names] = np.arange(names.size)
    _refuse(targets, place[targets.column] < 0, *_MISSING)
    kept = excluded.only(place[excluded.column] >= 0)
    return replace(
        problem,
        n_columns=names.size,
        target=replace(targets, column=place[targets.column]),
        excluded=replace(kept, column=place[kept.column]),
        names=names,
    )


_MISSING = ("is not among the candidates", "Add it to `candidates`")


def _refuse(targets: Cells, wrong: npt.NDArray[np.bool_], what: str, remedy: str) -> None:
    if wrong.any():
        first = int(np.flatnonzero(wrong)[0])
        raise DataError(
            f"target {targets.column[first]} of row {targets.row[first]} {what}; "
            f"{counted(int(wrong.sum()), 'such target')} in all. {remedy}"
        )


def shared_columns(data: Any, n_columns: int) -> IntArray | None:
    """The columns, ascending, that are candidates for all rows; None if each row has its own."""
    if is_sparse(data) or isinstance(data, tuple):
        return None
    if is_ragged(data):
        return None
    array = asarray(data, "candidates")
    if array.ndim != 1:
        return None
    ids = host(array)
    if ids.dtype == bool and ids.size == n_columns:
        return np.flatnonzero(ids)
    return read_cells([ids], "candidates", 1, n_columns).column


# ---------------------------------------------------------------------------------------------
# Dense scores


def read_blocks(scores: Any, kinds: set[str]) -> Blocks:
    """The blocks of columns, which are read twice."""
    if _is_function(scores):

        def read(block: Any) -> Any:
            kinds.add(half_type(block))
            return asarray(block, "scores")

        return lambda: map(read, _returned(scores()))
    if isinstance(scores, Iterator):
        raise UsageError(
            "`scores` are read twice, which a generator cannot be: pass the function that makes it",
            option="scores",
        )
    if isinstance(scores, list) and scores and np.ndim(scores[0]) == 2:
        arrays = [asarray(block, "scores") for block in scores]
        refuse_places(arrays, "blocks")
        return lambda: arrays
    whole = asarray(scores, "scores")
    return lambda: [whole]


def _floating(blocks: Blocks) -> Iterator[Any]:
    """Convert integers of blocks to floats, so that small types do not overflow."""
    return map(floating, blocks())


def _is_function(scores: Any) -> bool:
    return callable(scores) and not hasattr(scores, "shape")


def _returned(blocks: Any) -> Iterable[Any]:
    if isinstance(blocks, Iterable):
        return blocks
    raise DataError(
        "the function `scores` must return blocks of columns, a list of arrays with a row for each "
        f"query, got {shown(blocks)}"
    )


def _with_offsets(blocks: Blocks, problem: Problem) -> Iterator[tuple[int, Any]]:
    """Blocks of candidates with the number of their first column."""
    start = total = 0
    for block in blocks():
        if not is_number(block):
            raise DataError(f"`scores` must be numbers, got an array of type {block.dtype}")
        if block.ndim != 2 or block.shape[0] != problem.n_rows:
            raise DataError(
                f"`scores` had {counted(problem.n_rows, 'row')} at first and a block of shape "
                f"{tuple(block.shape)} later: the function must return the same blocks each time"
            )
        width = block.shape[1]
        if problem.names is not None:
            low, high = np.searchsorted(problem.names, [total, total + width])
            chosen = problem.names[low:high] - total
            yield start, block if high - low == width else pick(block, chosen, axis=1)
            start += int(high - low)
        else:
            yield start, block
            start += width
        total += width
    if start != problem.n_columns:
        raise DataError(
            f"`scores` had {counted(problem.n_columns, 'column')} at first and {start:,} later: "
            "the function must return the same blocks each time"
        )


def _two_passes(blocks: Blocks, problem: Problem, asked: Asked, *, again: bool = False) -> Queries:
    """Two passes over the columns: for the scores of the targets, then for the counts.

    With `again`, the second pass checks that the scores of the targets are those of the first.
    """
    pairs, single = problem.target, asked.single
    if problem.own is not None:
        value, listed_value = _gathered(blocks, problem, [pairs, problem.own], single=single)
        is_ranked = np.ones(pairs.n, dtype=bool)
        return _count_listed(problem, problem.own, listed_value, is_ranked, value, asked)
    (value,) = _gathered(blocks, problem, [pairs], single=single)
    level = Level.of(value, asked.tolerance)
    counts, odd = Counts.zero(pairs.n), NO_CELLS
    for start, block in _with_offsets(blocks, problem):
        if again:
            _refuse_changed(block, start, problem, value, asked)
        here, finite = _compare_block(block, start, level, pairs, asked)
        bad = NO_CELLS if finite else _bad_candidates(block, start, problem, asked)
        _, out = problem.excluded.in_columns(start, start + block.shape[1])
        if out.n:
            shifted = replace(out, column=out.column + start)
            outside = comparable_scores(take(block, out.row, out.column), single=single)
            outside_counts = compare_cells(shifted, outside, pairs.row, level, pairs.column)
            here = here.plus(outside_counts, -1)
        if asked.bad_scores == "drop" and bad.n:
            dropped = take(block, bad.row, bad.column - start)
            here = here.plus(compare_cells(bad, dropped, pairs.row, level, pairs.column), -1)
        counts = counts.plus(here) if start else here
        odd = odd.plus(bad)
    n_candidates = problem.n_columns - problem.excluded.per_row(problem.n_rows)
    is_ranked = np.ones(pairs.n, dtype=bool)
    return without_targets(problem, counts, is_ranked, value, n_candidates, odd, asked)


def _refuse_changed(block: Any, start: int, problem: Problem, value: Any, asked: Asked) -> None:
    """Refuse scores of targets that are not those of the first pass."""
    place, inside = problem.target.in_columns(start, start + block.shape[1])
    first = host(value)[place]
    later = host(comparable_scores(take(block, inside.row, inside.column), single=asked.single))
    wrong = np.flatnonzero((first != later) & ((first == first) | (later == later)))  # noqa: PLR0124
    if wrong.size:
        at = int(wrong[0])
        row, column = int(inside.row[at]), problem.name(int(inside.column[at]) + start)
        raise DataError(
            f"the function `scores` gave target {column} of row {row} the score "
            f"{float(first[at])} at first and {float(later[at])} later; "
            f"{counted(wrong.size, 'such target')} in this block. It is called more than once and "
            "must return the same scores each time: turn off dropout, or pass a list of blocks"
        )


def _gathered(
    blocks: Blocks, problem: Problem, each_cells: list[Cells], *, single: bool
) -> list[Any]:
    """The values of some cells, once for each of `wanted`."""
    gathered: list[list[tuple[IntArray, Any]]] = [[] for _ in each_cells]
    for start, block in _with_offsets(blocks, problem):
        for cells, pieces in zip(each_cells, gathered, strict=True):
            place, inside = cells.in_columns(start, start + block.shape[1])
            values = comparable_scores(take(block, inside.row, inside.column), single=single)
            pieces.append((place, values))
    return [_in_order(pieces) for pieces in gathered]


def _in_order(placed: list[tuple[IntArray, Any]]) -> Any:
    """The values of all parts in the order of their places."""
    if len(placed) == 1:
        return placed[0][1]
    whole = joined([values for _, values in placed])
    return whole[on_device_of(whole, np.argsort(np.concatenate([place for place, _ in placed])))]


def _compare_block(
    block: Any, start: int, level: Level, pairs: Cells, asked: Asked
) -> tuple[Counts, bool]:
    counts, finite = compare_rows(block, pairs.row, level, single=asked.single)
    if asked.ordered:
        tied = np.flatnonzero(counts.equal)
        before = count_before(
            block, pairs.row[tied], level.take(tied), pairs.column[tied] - start,
            single=asked.single,
        )  # fmt: skip
        counts.before[tied] = before
    return counts, finite


def _bad_candidates(block: Any, start: int, problem: Problem, asked: Asked) -> Cells:
    """The candidates that are NaN, or infinite unless the choice is ``worst``; an error or not."""
    block = comparable_scores(block, single=asked.single)
    library = namespace(block)
    bad = library.isnan(block) if asked.bad_scores == "worst" else ~library.isfinite(block)
    row, column = nonzero(bad)
    cells = Cells.of(row, column + start)
    cells = cells.only(~problem.excluded.holds(cells, problem.n_columns))
    if cells.n and asked.bad_scores == "error":
        _refuse_bad(cells, problem, host(take(block, cells.row[:1], cells.column[:1] - start))[0])
    return cells


def _refuse_bad(cells: Cells, problem: Problem, value: Any) -> None:
    row, column = int(cells.row[0]) + problem.first, problem.name(int(cells.column[0]))
    raise InvalidValueError(
        f"the score of row {row} and column {column} is {float(value)}; "
        f"{counted(cells.n, 'score')} of this block {'is' if cells.n == 1 else 'are'} NaN or "
        "infinite. Name cells that are not candidates in `exclude`, or choose bad_scores='drop' "
        "(not a candidate) or 'worst' (NaN is ranked last)"
    )


# ---------------------------------------------------------------------------------------------
# Some cells of each row


def stored_cells(scores: Any) -> tuple[Cells, Any]:
    """The stored cells of a sparse matrix, ordered, and their values."""
    rows = scores.tocsr()
    if not rows.has_canonical_format:
        rows = rows.copy()  # the input is never changed
        rows.sum_duplicates()
    row = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    return Cells.of(row, rows.indices), rows.data


def _count_stored(stored: tuple[Cells, Any], problem: Problem, asked: Asked) -> Queries:
    """Only stored cells are candidates."""
    cells, value = stored
    inside = ~problem.excluded.holds(cells, problem.n_columns)
    if problem.names is not None:
        raise UsageError(
            "`candidates` that all rows share need dense scores: remove the other columns",
            option="candidates",
        )
    if problem.own is not None:
        inside &= problem.own.holds(cells, problem.n_columns)
    cells, value = cells.only(inside), comparable_scores(value[inside], single=asked.single)
    is_stored = cells.holds(problem.target, problem.n_columns)
    place = np.searchsorted(cells.keys(problem.n_columns), problem.target.keys(problem.n_columns))
    target_value = np.zeros(problem.target.n, dtype=value.dtype)
    target_value[is_stored] = value[place[is_stored]]
    return _count_listed(problem, cells, value, is_stored, target_value, asked)


def _count_listed(
    problem: Problem, cells: Cells, cell_value: Any, is_ranked: Any, value: Any, asked: Asked
) -> Queries:
    """Counts among the given cells of each row, which are the candidates."""
    pairs = problem.target
    finite = namespace(cell_value).isnan if asked.bad_scores == "worst" else None
    bad = host(finite(cell_value)) if finite else ~host(namespace(cell_value).isfinite(cell_value))
    odd = cells.only(bad)
    if odd.n and asked.bad_scores == "error":
        _refuse_bad(odd, problem, host(cell_value)[bad][0])
    n_candidates = cells.per_row(problem.n_rows)
    if asked.bad_scores == "drop" and odd.n:
        cells, cell_value = (
            cells.only(~bad),
            cell_value[on_device_of(cell_value, np.flatnonzero(~bad))],
        )
    level = Level.of(value, asked.tolerance)
    counts = compare_cells(cells, cell_value, pairs.row, level, pairs.column)
    return without_targets(problem, counts, is_ranked, value, n_candidates, odd, asked)


# ---------------------------------------------------------------------------------------------
# Results


def without_targets(
    problem: Problem,
    counts: Counts,
    is_ranked: npt.NDArray[np.bool_],
    value: Any,
    n_candidates: IntArray,
    odd: Cells,
    asked: Asked,
) -> Queries:
    """Take the targets themselves out of their counts, and NaN where it is ranked last."""
    pairs, n_rows = problem.target, problem.n_rows
    bad = odd.holds(pairs, problem.n_columns)
    if asked.bad_scores == "drop":
        n_candidates = n_candidates - odd.per_row(n_rows)
        is_ranked = is_ranked & ~bad
    elif odd.n:
        _rank_last(counts, np.flatnonzero(bad), pairs, odd, n_candidates)
    if asked.each:
        user, row, n_users = np.arange(pairs.n), pairs.row, pairs.n
        n_ranked = n_candidates[row]
    else:
        user, row, n_users = pairs.row, np.arange(n_rows), n_rows
        n_ranked = n_candidates
    without, several = pairs.rows_with(n_rows)
    if several and any(asked.tolerance) and not asked.each:
        raise UsageError(
            f"close scores cannot be tied where a row is one query with several true items, as "
            f"{counted(several, 'row')} here: pass each=True or tolerance=(0, 0)",
            option="tolerance",
        )
    if asked.each and several:
        counts = counts.plus(_other_targets(pairs, is_ranked, _value_ranks(value, bad), asked), -1)
        in_row = np.bincount(pairs.row[is_ranked], minlength=n_rows)
        n_ranked = n_ranked - in_row[row] + is_ranked
    else:
        counts = counts._replace(equal=counts.equal - is_ranked)
    if not is_ranked.all():
        counts = Counts(*(np.where(is_ranked, counted_cells, 0) for counted_cells in counts))
    column = pairs.column if problem.names is None else problem.names[pairs.column]
    facts = {
        "rows": n_rows,
        "columns": problem.n_columns,
        "excluded_cells": problem.excluded.n,
        "rows_without_target": without,
        "rows_with_several_targets": several,
        f"bad_scores_{'dropped' if asked.bad_scores == 'drop' else 'ranked_last'}": odd.n,
    }
    assert n_ranked.size == n_users
    before = counts.before if asked.ordered else None
    return Queries(
        RankCounts(user, pairs.gain, counts.above, counts.equal, before, n_ranked),
        is_ranked,
        np.asarray(host(value > 0), dtype=bool),
        row,
        column if asked.each else None,
        {name: n for name, n in facts.items() if n or name in ("rows", "columns")},
        column=column,
    )


def _rank_last(
    counts: Counts, last: IntArray, pairs: Cells, odd: Cells, n_candidates: IntArray
) -> None:
    """Set the counts of some targets without a score: equal to each other, and below all others."""
    level = Level.of(np.zeros(last.size))
    lowest = compare_cells(odd, np.zeros(odd.n), pairs.row[last], level, pairs.column[last])
    counts.above[last] = n_candidates[pairs.row[last]] - lowest.equal
    counts.equal[last], counts.before[last] = lowest.equal, lowest.before


def _other_targets(
    pairs: Cells, is_ranked: npt.NDArray[np.bool_], value: Any, asked: Asked
) -> Counts:
    """The counts of the targets of a row among themselves."""
    ranked = value[on_device_of(value, np.flatnonzero(is_ranked))]
    level = Level.of(value, asked.tolerance)
    return compare_cells(pairs.only(is_ranked), ranked, pairs.row, level, pairs.column)


def _value_ranks(value: Any, bad: npt.NDArray[np.bool_]) -> Any:
    """Numbers in the order of the values, with NaN, which equals itself here, below all others."""
    if not bad.any():
        return value
    level = np.unique(host(value), return_inverse=True)[1].reshape(-1)
    level[bad] = -1
    return level


def _count_factors(
    scores: tuple[Any, ...], target: Any, exclude: Any, candidates: Any, asked: Asked
) -> Queries:
    """Scores as the product of factors, some rows at a time."""
    factors = [asarray(factor, "scores") for factor in scores]
    if (
        len(factors) != 2
        or any(factor.ndim != 2 for factor in factors)
        or (factors[0].shape[1] != factors[1].shape[1])
    ):
        shapes = ", ".join(str(tuple(factor.shape)) for factor in factors)
        raise DataError(
            "`scores` as a pair must be factors of shapes (queries, d) and (items, d), got "
            f"{shapes}; blocks of columns are a list"
        )
    refuse_places(factors, "factors")
    users, items = factors
    n_rows, n_columns = users.shape[0], items.shape[0]
    problem = _problem(target, exclude, candidates, n_rows, n_columns, each=asked.each)
    step = max(1, AT_ONCE // max(n_columns, 1))
    turned = items.T
    queries = []
    for start in range(0, max(n_rows, 1), step):
        stop = min(start + step, n_rows)
        product = [users[start:stop, :] @ turned]
        queries.append(_two_passes(product.copy, problem.rows(start, stop), asked))
    return Queries.concat(queries)
