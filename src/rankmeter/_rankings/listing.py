"""List the first items of each ranking, in order."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl

from rankmeter._choices import Alignment
from rankmeter._evidence.hits import BoolArray, FloatArray, IntArray
from rankmeter._evidence.lists import Lists
from rankmeter._rankings.codes import Codes
from rankmeter._rankings.counts import Candidates, argsort_segments, item_sort_key
from rankmeter._rankings.pairs import Groups, user_offsets
from rankmeter._rankings.ties import BY_ROW, ORDERED
from rankmeter._reading.by_user import to_series


@dataclass(frozen=True, eq=False)
class Listing:
    """Part of the rankings to list, up to a rank or all, with the codes of the items."""

    items: Codes
    depth: int | None = None


def list_first_candidates(
    candidates: Candidates,
    judged: IntArray,
    gain: FloatArray,
    choices: Alignment,
    listing: Listing,
    end: int | None = None,
    below: IntArray | None = None,
) -> Lists:
    """List each user's first candidates; `judged` are positions of candidates with a `gain`.

    Rows from number `end` on were appended to rankings, which were cut before. `below` are
    positions of judged candidates that were cut.
    """
    c = candidates
    depths = [depth for depth in (listing.depth, choices.depth) if depth is not None]
    depth = min(depths, default=None) if end is None else None
    rows, begin = _rows_within_depth(c, depth)
    user = c.user[rows]
    rows, value, equals_next = _in_order(c, rows, begin, judged, choices, below)
    has_ties = bool(equals_next.any())
    first = np.append(True, ~equals_next) if has_ties else None
    if c.order != "rank":
        rank = np.arange(1, user.size + 1) - np.repeat(begin[:-1], np.diff(begin))
    else:  # as given; tied ranks follow each other
        rank = value.astype(np.int64)
        if first is not None:
            nth = np.arange(rank.size)
            rank += nth - np.maximum.accumulate(np.where(first, nth, 0))
    group, best = None, rank
    if first is not None and choices.ties == "expected":
        group = np.cumsum(first) - 1
        best = rank[first][group]
    in_depth = None if depth is None else best <= depth
    if end is not None:
        is_appended = c.row_numbers[rows] >= end
        in_depth = is_appended | (best <= (choices.depth or np.inf))
        if c.order != "rank":
            rank = rank - is_appended * np.bincount(user[~in_depth], minlength=begin.size)[user]
        in_depth &= rank <= (listing.depth or np.inf)
    if in_depth is not None and not in_depth.all():
        rows, user, rank = _to_positions(rows, c)[in_depth], user[in_depth], rank[in_depth]
        group = None if group is None else group[in_depth]
        begin = user_offsets(user, begin.size - 1)
    gained = np.full(c.user.size, np.nan)  # where no judgment is
    gained[judged] = gain
    gained = gained[rows]
    relevant = choices.is_relevant(gained)
    return Lists(
        begin,
        listing.items.encode(c.item if isinstance(rows, slice) else c.item.take(rows)),
        rank,
        np.where(relevant, gained, 0.0),
        relevant,
        listing.items.n,
        has_ties and choices.ties not in ORDERED,
        choices.duplicates not in ("each", "unchecked"),
        group,
    )


def _in_order(
    c: Candidates,
    rows: IntArray | slice,
    begin: IntArray,
    judged: IntArray,
    choices: Alignment,
    below: IntArray | None,
) -> tuple[IntArray | slice, FloatArray, BoolArray]:
    """The rows by value, tied ones as the tie rule says; their values; which equal the next one."""
    user, value = c.user[rows], c.value[rows]
    same_user = user[1:] == user[:-1]
    if (same_user & (value[1:] < value[:-1])).any():
        order = argsort_segments(value, begin)  # tied items are in the order of the rows
        rows, value = _to_positions(rows, c)[order], value[order]
    equals_next = same_user & (value[1:] == value[:-1])
    if not equals_next.any():
        return rows, value, equals_next
    if choices.ties in ORDERED and choices.ties not in BY_ROW:
        by_item = functools.partial(_item_keys, c, choices)
        descending = "descending" in choices.ties
        rows = _sort_tied_rows(_to_positions(rows, c), equals_next, by_item, descending=descending)
    elif choices.ties not in ORDERED and choices.depth is not None:
        place = np.ones(c.user.size, dtype=np.int64)  # those that are not judged fill the places
        place[judged], place[below if below is not None else []] = 0, 2
        rows = _sort_tied_rows(
            _to_positions(rows, c), equals_next, lambda tied: to_series(place[tied])
        )
    return rows, value, equals_next


_ALL = slice(None)


def _to_positions(rows: IntArray | slice, c: Candidates) -> IntArray:
    return np.arange(c.user.size) if isinstance(rows, slice) else rows


def _rows_within_depth(c: Candidates, depth: int | None) -> tuple[IntArray | slice, IntArray]:
    """Positions of the candidates that may have a rank up to `depth`, and the offsets of users.

    Positions are grouped by user, in the order of the rows.
    """
    length, n_users = np.diff(c.offsets), c.offsets.size - 1
    if depth is None or not (length > depth).any():
        order = Groups.of(c.user, n_users).order
        return _ALL if order is None else order, c.offsets
    last = np.minimum(length, depth) - 1
    has_rows = length > 0
    bound = np.full(length.size, np.inf)
    bound[has_rows] = c.sorted_values[(c.offsets[:-1] + last)[has_rows]]
    first = np.flatnonzero(c.value <= bound[c.user])
    groups = Groups.of(c.user[first], n_users)
    return first if groups.order is None else first[groups.order], groups.offsets


def _item_keys(c: Candidates, choices: Alignment, tied: IntArray) -> pl.Series:
    return item_sort_key(c.item.take(tied).to_series(), choices.ties)


def _sort_tied_rows(
    rows: IntArray,
    equals_next: BoolArray,
    key_of: Callable[[IntArray], pl.Series],
    *,
    descending: bool = False,
) -> IntArray:
    """Sort tied candidates by a key of their positions."""
    index = np.flatnonzero(np.append(equals_next, False) | np.append(False, equals_next))
    run = np.cumsum(np.append(True, ~equals_next))[index]
    key = key_of(rows[index])
    frame = pl.DataFrame({"run": to_series(run), "key": key, "position": to_series(rows[index])})
    ordered = frame.sort("run", "key", "position", descending=[False, descending, False])
    result = rows.copy()
    result[index] = ordered["position"].to_numpy()
    return result
