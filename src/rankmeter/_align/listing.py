"""The first items of each ranking, in order: what was shown."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from rankmeter._align.codes import Codes
from rankmeter._align.counts import Candidates, by_item, order_within
from rankmeter._align.packing import order_of
from rankmeter._align.placing import ORDERED
from rankmeter._choices import Alignment
from rankmeter._hits import FloatArray, IntArray
from rankmeter._ingest import series
from rankmeter._lists import Lists

__all__ = ["Listing", "listed"]


@dataclass(frozen=True, eq=False)
class Listing:
    """Which part of the rankings to list: so many ranks, or all; and the codes of the items."""

    items: Codes
    depth: int | None = None


def listed(
    candidates: Candidates,
    judged: IntArray,
    gain: FloatArray,
    choices: Alignment,
    listing: Listing,
) -> Lists:
    """The first candidates of each user; `judged` are the positions of those with a `gain`."""
    c, n_users = candidates, candidates.offsets.size - 1
    depths = [depth for depth in (listing.depth, choices.depth) if depth is not None]
    depth = min(depths, default=None)
    at = np.sort(_first(c, depth))
    at = at[order_of(c.user[at], n_users)]
    user = c.user[at]
    begin = np.concatenate(([0], np.cumsum(np.bincount(user, minlength=n_users))))
    value = c.value[at]
    if ((value[1:] < value[:-1]) & (user[1:] == user[:-1])).any():
        order = order_within(value, begin)  # tied items are in the order of the rows
        at, value = at[order], value[order]
    same = (user[1:] == user[:-1]) & (value[1:] == value[:-1])
    tied = bool(same.any())
    if tied and choices.ties in ORDERED and choices.ties != "input":
        at = _by_item(at, same, c.item, choices)
    nth = np.arange(at.size) - begin[user]
    rank = nth + 1
    if c.order == "rank":  # as given; tied ranks follow each other
        start = np.concatenate(([True], ~same))[: at.size]
        first = np.maximum.accumulate(np.where(start, np.arange(at.size), 0))
        rank = value.astype(np.int64) + np.arange(at.size) - first
    if depth is not None:
        kept = rank <= depth
        at, user, rank = at[kept], user[kept], rank[kept]
        begin = np.concatenate(([0], np.cumsum(np.bincount(user, minlength=n_users))))
    own = _looked_up(at, judged, gain, c.user.size)
    relevant = choices.is_relevant(own)
    return Lists(
        begin,
        listing.items.of(c.item.gather(series(at))),
        rank,
        np.where(relevant, own, 0.0),
        relevant,
        listing.items.n,
        tied and choices.ties not in ORDERED,
        choices.duplicates not in ("each", "unchecked"),
    )


def _looked_up(at: IntArray, judged: IntArray, gain: FloatArray, n: int) -> FloatArray:
    """The gain at each of some positions below n, NaN where none is judged."""
    known = np.full(n, np.nan)
    known[judged] = gain
    return known[at]


def _first(c: Candidates, depth: int | None) -> IntArray:
    """The positions of the candidates that may have a rank up to `depth`."""
    length = np.diff(c.offsets)
    if depth is None or not (length > depth).any():
        return c.grouped
    last = np.minimum(length, depth) - 1
    some = length > 0
    bound = np.full(length.size, np.inf)
    bound[some] = c.ascending[(c.offsets[:-1] + last)[some]]
    first: IntArray = np.flatnonzero(c.value <= bound[c.user])
    return first


def _by_item(
    at: IntArray, same: npt.NDArray[np.bool_], item: pl.Series, choices: Alignment
) -> IntArray:
    """Put tied candidates into the order of their items."""
    inside = np.flatnonzero(np.append(same, False) | np.append(False, same))
    run = np.cumsum(np.append(True, ~same))[inside]
    key = by_item(item.gather(series(at[inside])), choices.ties)
    rows = pl.DataFrame({"run": series(run), "key": key, "at": series(at[inside])})
    descending = "descending" in choices.ties
    ordered = rows.sort("run", "key", "at", descending=[False, descending, False])
    result = at.copy()
    result[inside] = ordered["at"].to_numpy()
    return result
