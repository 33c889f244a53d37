"""Convert samples, known ranks and finished lists to counted queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rankmeter._rankings.queries import Queries
from rankmeter._rankings.rank_counts import RankCounts
from rankmeter._scores.arrays import (
    array_namespace,
    asarray,
    half_precision_type,
    insertion_positions,
    is_numeric,
    refuse_different_devices,
    shape_and_type,
    sort_ascending,
    to_floating,
    to_numpy,
)
from rankmeter._scores.cells import LARGEST, NO_CELLS, Cells, read_cells
from rankmeter._scores.score_counts import ScoreBlock, Targets, comparable_scores, compare_rows
from rankmeter._scores.scores import CountRequest, Problem, to_queries
from rankmeter.errors import DataError, DuplicateError, InvalidValueError
from rankmeter.errors._checks import LARGEST as MOST
from rankmeter.errors._checks import brief, check_integer, counted


def count_samples(positive: Any, negatives: Any, request: CountRequest) -> Queries:
    """Count the negatives above and equal to each positive.

    Parameters
    ----------
    positive : array of shape (n,)
    negatives : array of shape (n, m), or of shape (m,) if all positives share them
    request : CountRequest
    """
    half = half_precision_type(positive) or half_precision_type(negatives)
    arrays = asarray(positive, "positive"), asarray(negatives, "negatives")
    refuse_different_devices([*arrays], "`positive` and `negatives`")
    for name, array in zip(("positive", "negatives"), arrays, strict=True):
        if not is_numeric(array):
            raise DataError(f"`{name}` must be numbers, got an array of type {array.dtype}")
    read = map(to_floating, arrays) if any(request.tolerance) else arrays
    positives, negative_scores = (comparable_scores(array, single=request.single) for array in read)
    if positives.ndim == 2 and positives.shape[1] == 1:
        positives = positives[:, 0]
    if positives.ndim != 1:
        raise DataError(
            "with `negatives`, the scores of the positives must be one for each query, of shape "
            f"(n,), got shape {tuple(positives.shape)}"
        )
    n = positives.shape[0]
    if negative_scores.ndim not in (1, 2) or (
        negative_scores.ndim == 2 and negative_scores.shape[0] != n
    ):
        raise DataError(
            "`negatives` must have a row for each positive, (n, m), or be shared by all, (m,); got "
            f"{tuple(negative_scores.shape)} for positives of shape {tuple(positives.shape)}"
        )
    if n and not negative_scores.shape[-1]:
        raise DataError("`negatives` has no scores: every positive would be first")
    for name, array in (("positive", positives), ("negatives", negative_scores)):
        _refuse_nan_or_infinite(name, array)
    cells = Cells(np.arange(n), np.zeros(n, dtype=np.int64), np.ones(n))
    targets = Targets.of(cells, positives, n, request.tolerance)
    if negative_scores.ndim == 1:
        counts = _count_shared_negatives(targets, negative_scores)
    else:
        counts, _ = compare_rows(ScoreBlock(negative_scores), targets)
    return Queries(
        replace(counts, n_ranked=counts.n_ranked + 1),  # and the positive itself
        np.ones(n, dtype=bool),
        np.asarray(to_numpy(positives > 0), dtype=bool),
        np.arange(n),
        None,
        {"rows": n, "columns": int(negative_scores.shape[-1]) + 1},
        half,
    )


def _count_shared_negatives(targets: Targets, negatives: Any) -> RankCounts:
    """Count in negatives shared by all positives, which are sorted once."""
    pool, n = sort_ascending(negatives), negatives.shape[0]
    high = insertion_positions(pool, targets.high, "right")
    low = insertion_positions(pool, targets.low, "left")
    return targets.counts(n - high, high - low, high, np.full(high.size, n))


def _refuse_nan_or_infinite(name: str, array: Any) -> None:
    if "int" in str(array.dtype) or "bool" in str(array.dtype):
        return
    bad = ~to_numpy(array_namespace(array).isfinite(array))
    if bad.any():
        first = int(np.flatnonzero(bad.reshape(bad.shape[0], -1).any(axis=1))[0])
        n = int(bad.sum())
        noun = "score that is" if n == 1 else "scores that are"
        location = "at position" if array.ndim == 1 and name == "negatives" else "in row"
        raise InvalidValueError(
            f"`{name}` has {n:,} {noun} NaN or infinite, the first {location} {first}. Remove "
            f"{'it' if n == 1 else 'them'}, or pass a matrix of scores with bad_scores='drop'"
        )


LARGEST_RANK = 2**53
"""Up to this float64 has every integer."""


def read_ranks(ranks: Any, upper: Any = None, candidates: Any = None) -> Queries:
    """Create queries with one true item each from known ranks.

    Parameters
    ----------
    ranks : array of shape (n,)
        1-based. A rank that ends in .5 is the mean of two.
    upper : array of shape (n,), optional
        The last possible rank of a tie, of which `ranks` are the first.
    candidates : int or array of shape (n,), optional
        Number of candidates of each query; without it as many as the largest rank.
    """
    low = _read_rank_numbers(ranks, "ranks")
    high = np.ceil(low)
    half = low != np.floor(low)
    if (wrong := np.flatnonzero(2 * low != np.floor(2 * low))).size:
        row = int(wrong[0])
        raise InvalidValueError(
            f"rank {low[row]:g} of row {row} is neither an integer nor the mean of two ranks"
        )
    if upper is not None:
        high = _read_rank_numbers(upper, "upper")
        if high.shape != low.shape or np.any(high < low) or np.any(half | (high != np.floor(high))):
            raise DataError(
                "`upper` must give the last rank of each tie: integers, one for each of the ranks, "
                "and not below the first rank, which is in `ranks`"
            )
    first, last = np.floor(low).astype(np.int64), high.astype(np.int64)
    n_ranked = _read_candidate_counts(candidates, last)
    facts = {"rows": low.size, "mean_ranks": int(half.sum())}
    return Queries(
        RankCounts(np.arange(low.size), np.ones(low.size), first - 1, last - first, None, n_ranked),
        np.ones(low.size, dtype=bool),
        np.ones(low.size, dtype=bool),
        np.arange(low.size),
        None,
        {name: n for name, n in facts.items() if n or name == "rows"},
        sized=candidates is not None,
    )


def _read_rank_numbers(data: Any, name: str) -> npt.NDArray[np.float64]:
    for row in data if isinstance(data, list | tuple) else ():
        if isinstance(row, list | tuple) and len(row) > 1:
            raise _several_ranks_error(row, name)
    array = to_numpy(asarray(data, name))
    if array.ndim == 2 and array.shape[1] != 1 and array.size:
        raise _several_ranks_error(array[0].tolist(), name)
    if array.ndim == 2:
        array = array.ravel()
    if array.size == 0:
        return np.zeros(0)
    if array.ndim == 1 and array.dtype.kind in "OSU":
        values = array.tolist()
        row = next((index for index, value in enumerate(values) if not _is_number(value)), 0)
        raise DataError(
            f"{brief(values[row])} of row {row} of `{name}` is not a number: write ranks such as 3 "
            "or 2.5, one for each query"
        )
    if array.ndim != 1 or array.dtype.kind not in "iuf":
        raise DataError(f"`{name}` must be one rank for each query, got {shape_and_type(array)}")
    numbers: npt.NDArray[np.float64] = array.astype(np.float64)
    wrong = np.flatnonzero(~((numbers >= 1) & np.isfinite(numbers)))
    if wrong.size:
        raise InvalidValueError(
            f"rank {brief(numbers[wrong[0]].item())} of row {wrong[0]} is not a rank: ranks are 1 "
            f"or more; {counted(wrong.size, 'such value')} in all"
        )
    exact = numbers if array.dtype.kind == "f" else array
    if (large := np.flatnonzero(exact > LARGEST_RANK)).size:
        raise InvalidValueError(
            f"{counted(large.size, 'rank is', 'ranks are')} above 2^53 in `{name}`, for example "
            f"{brief(exact[large[0]].item())} of row {large[0]}. If they mark items that were "
            "not ranked, drop these rows; if higher is better, they are scores: pass them to "
            "evaluate_scores"
        )
    return numbers


def _several_ranks_error(row: Sequence[Any], name: str) -> DataError:
    """Build the error for several ranks in one row."""
    written = brief([*row])
    return DataError(
        f"`{name}` must be one rank for each query, got {counted(len(row), 'rank')} in one row: "
        f"{written}. If each is of another query, pass one list, {written}. If they are the ranks "
        f"of the relevant items of one user: rm.evaluate(rm.Positions([{written}]), "
        "metrics=metrics), with n_relevant= if some were not ranked"
    )


def _is_number(value: object) -> bool:
    """Whether the value is a number, or text of a number without surrounding spaces."""
    try:
        float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False
    return str(value) == str(value).strip()


def _read_candidate_counts(data: Any, last: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    if data is None:
        return np.full(last.size, last.max(initial=0))
    array = to_numpy(asarray(data, "candidates"))
    if array.ndim == 0:
        n_ranked = np.full(last.size, check_integer("candidates", data, least=1))
    else:
        if array.shape != last.shape or array.dtype.kind not in "iu":
            raise DataError(
                f"`candidates` must be an integer, or one for each of {counted(last.size, 'rank')},"
                f" got {shape_and_type(array)}"
            )
        if (wide := np.flatnonzero(array > MOST)).size:
            raise DataError(
                f"`candidates` of row {wide[0]} is {array[wide[0]]}: pass the number of candidates "
                "of each rank, of at most 2^62"
            )
        n_ranked = array.astype(np.int64)
    large = np.flatnonzero(last > n_ranked)
    if large.size:
        raise DataError(
            f"rank {last[large[0]]} of row {large[0]} is beyond its {n_ranked[large[0]]} "
            f"candidates; {counted(large.size, 'such rank')} in all"
        )
    return n_ranked


def count_lists(items: Any, target: Any, *, each: bool) -> Queries:
    """Count in lists of ids of shape (n, k), best first; -1 is padding.

    Parameters
    ----------
    items : array of shape (n, k)
    target : ids in any form of `read_cells`
    each : bool
        Whether every target is a query of its own; the other targets of its row leave its list.
    """
    table = to_numpy(asarray(items, "items"))
    if table.ndim != 2 or table.dtype.kind not in "iu":
        raise DataError(
            f"`items` must be ids of shape (n, k), best first, got {shape_and_type(table)}"
        )
    if (table < -1).any():
        first = int(np.flatnonzero((table < -1).any(axis=1))[0])
        raise DataError(
            f"item {table[first].min()} of row {first} of `items` is negative: number the items "
            "from 0; padding is -1"
        )
    n_rows = table.shape[0]
    n_items = int(table.max(initial=0)) + 1
    if n_items > LARGEST:
        first = int(np.flatnonzero((table >= LARGEST).any(axis=1))[0])
        raise DataError(
            f"item {table[first].max()} of row {first} of `items` is not from 0 to "
            f"{LARGEST - 1:,}: number the items from 0; padding is -1"
        )
    targets = read_cells(target, "target", n_rows, LARGEST)
    n_items = max(n_items, int(targets.column.max(initial=0)) + 1)
    row, column = np.nonzero(table >= 0)
    listed = table[row, column].astype(np.int64)
    rank = np.arange(row.size) - np.searchsorted(row, row)  # padding holds no place
    order = np.lexsort((listed, row))
    cells = Cells.of(row[order], listed[order])
    if cells.repeated().any():
        first = int(np.flatnonzero(cells.repeated())[0])
        raise DuplicateError(
            f"item {cells.column[first]} is twice in row {cells.row[first]} of `items`; "
            f"{counted(int(cells.repeated().sum()), 'such item')} in all. If a filler id marks "
            "empty places, replace it by -1"
        )
    is_listed = cells.holds(targets, n_items)
    cell_index = np.searchsorted(cells.keys(n_items), targets.keys(n_items))
    above = np.zeros(targets.n, dtype=np.int64)
    above[is_listed] = rank[order][cell_index[is_listed]]
    problem = Problem(n_rows, n_items, targets, NO_CELLS, CountRequest(each=each, ordered=True))
    value = np.where(is_listed, float(row.size) - above, 1.0)  # higher ranks have higher scores
    equal, n_ranked = is_listed.astype(np.int64), cells.per_row(n_rows)
    counts = problem.targets(value).counts(above, equal, np.zeros_like(above), n_ranked)
    queries = to_queries(problem, counts, is_listed, value, NO_CELLS)
    facts = {name: n for name, n in queries.facts.items() if name != "columns"}
    return replace(queries, facts=facts)
