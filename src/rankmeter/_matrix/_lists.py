"""Lists of items that are cut already, best first → counted queries."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankmeter._checks import counted
from rankmeter._counts import RankCounts
from rankmeter._matrix._arrays import asarray, host
from rankmeter._matrix._cells import LARGEST, Cells, read_cells
from rankmeter._matrix._queries import Queries
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
    found = cells.holds(targets, n_items)
    at = np.searchsorted(cells.keys(n_items), targets.keys(n_items))
    above = np.zeros(targets.n, dtype=np.int64)
    above[found] = rank[order][at[found]]
    length = np.bincount(row, minlength=n_rows)
    user, n_ranked, source = targets.row, length, np.arange(n_rows)
    if each:
        hits = np.bincount(targets.row[found], minlength=n_rows)
        above = above - _better(targets, above, found)
        user, source = np.arange(targets.n), targets.row
        n_ranked = length[source] - hits[source] + found
    zeros = np.zeros(targets.n, dtype=np.int64)
    without, several = targets.rows_with(n_rows)
    facts = {"rows": n_rows, "rows_without_target": without, "rows_with_several_targets": several}
    return Queries(
        RankCounts(user, targets.gain, above, zeros, zeros, n_ranked),
        found,
        np.ones(targets.n, dtype=bool),
        source,
        targets.column if each else None,
        {name: n for name, n in facts.items() if n or name == "rows"},
        column=targets.column,
    )


def _better(targets: Cells, above: Any, found: Any) -> Any:
    """How many other targets of its row are listed above each target."""
    order = np.lexsort((above, ~found, targets.row))
    first = np.searchsorted(targets.row[order], targets.row[order])
    better = np.zeros(targets.n, dtype=np.int64)
    better[order] = np.arange(targets.n) - first
    return np.where(found, better, 0)
