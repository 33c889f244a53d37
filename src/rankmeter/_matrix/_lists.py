"""Lists of items that are cut already, best first → counted queries."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from rankmeter._checks import counted
from rankmeter._matrix._arrays import asarray, host
from rankmeter._matrix._cells import LARGEST, NO_CELLS, Cells, read_cells
from rankmeter._matrix._counting import Counts
from rankmeter._matrix._queries import Queries
from rankmeter._matrix._scores import Asked, Problem, without_targets
from rankmeter.errors import DataError, DuplicateError


def count_lists(items: Any, target: Any, *, each: bool) -> Queries:
    """Count in lists of ids of shape (n, k), best first; -1 is padding.

    Parameters
    ----------
    items : array of shape (n, k)
    target : ids in any form of `read_cells`
    each : bool
        Whether every target is a query of its own; the other targets of its row leave its list.
    """
    table = host(asarray(items, "items"))
    if table.ndim != 2 or table.dtype.kind not in "iu":
        raise DataError(
            f"`items` must be ids of shape (n, k), best first, got an array of shape {table.shape} "
            f"and type {table.dtype}"
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
    row, place = np.nonzero(table >= 0)
    listed = table[row, place].astype(np.int64)
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
    at = np.searchsorted(cells.keys(n_items), targets.keys(n_items))
    above = np.zeros(targets.n, dtype=np.int64)
    above[is_listed] = rank[order][at[is_listed]]
    counts = Counts(above, is_listed.astype(np.int64), np.zeros_like(above))
    problem = Problem(n_rows, n_items, targets, NO_CELLS)
    value = np.where(is_listed, float(row.size) - above, 1.0)  # higher ranks have higher scores
    asked = Asked(each=each, ordered=True)
    queries = without_targets(
        problem, counts, is_listed, value, cells.per_row(n_rows), NO_CELLS, asked
    )
    facts = {name: n for name, n in queries.facts.items() if name != "columns"}
    return replace(queries, facts=facts)
