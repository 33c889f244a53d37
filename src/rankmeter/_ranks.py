"""At which ranks the judged items stand, by counting instead of ordering.

A rank is a count: one plus the number of items scored higher. So lists are never ordered as
wholes: the scores of each user are sorted as bare numbers, and each hit is looked up among them.
Items of equal score leave a span of ranks; the tie rule turns spans into ranks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from rankmeter._hits import FloatArray, Hits, IntArray, Span
from rankmeter._plan import Alignment
from rankmeter.errors import InvalidValueError

__all__ = ["Ranked", "find", "group"]


@dataclass(frozen=True, eq=False)
class Ranked:
    """The ranking rows, grouped by user without being moved."""

    user: IntArray  # code of the user of each row
    value: FloatArray | None  # what orders: smaller is better; None for the order of the rows
    given: bool  # whether `value` is itself the rank
    order: IntArray  # rows, grouped by user, in their original order within a user
    offsets: IntArray  # where each user's rows begin in `order`


def group(frame: pl.DataFrame, user: IntArray, n_users: int, by: str, choices: Alignment) -> Ranked:
    value: FloatArray | None = None
    if by == "score":
        value = -frame["score"].to_numpy()
        if choices.score_type == "float32":
            value = value.astype(np.float32).astype(np.float64)
    elif by == "rank":
        value = frame["rank"].to_numpy().astype(np.float64)
        whole = np.floor(value) == value
        if not whole.all():
            raise InvalidValueError(
                f"ranks are whole numbers from 1 up, found {value[~whole][0]}; if more is better, "
                "pass the column as score: columns={'score': …}"
            )
    offsets = np.concatenate(([0], np.cumsum(np.bincount(user, minlength=n_users))))
    return Ranked(user, value, by == "rank", _by_user(user), offsets)


def _by_user(user: IntArray) -> IntArray:
    """Row numbers grouped by user, in their original order within a user."""
    rows = np.arange(user.size)
    if np.all(user[1:] >= user[:-1]):
        return rows
    if user.size >= 2**32:
        return np.argsort(user, kind="stable")
    # Sorting packed numbers by value is several times faster than a stable argsort.
    packed = (user.astype(np.uint64) << np.uint64(32)) | rows.astype(np.uint64)
    packed.sort()
    return (packed & np.uint64(0xFFFFFFFF)).astype(np.int64)


def find(
    frame: pl.DataFrame,
    pairs: pl.DataFrame,
    ranked: Ranked,
    choices: Alignment,
    counts: dict[str, int],
) -> Hits:
    """All judged items that the rankings contain, ordered by user and rank."""
    row = pairs["row"].to_numpy().astype(np.int64)
    user, gain = pairs["code"].to_numpy(), pairs["gain"].to_numpy()
    low, high = _spans(row, user, ranked)
    tied = high > low
    counts["tied_hits"] = int(tied.sum())
    counts["users_with_tied_hits"] = int(np.unique(user[tied]).size)
    rank = low.astype(np.float64)
    if tied.any():
        rule = choices.ties
        if rule in ("item", "item-descending", "input"):
            rank[tied] += _places(frame, row[tied], ranked, rule)
            low = high = rank.astype(np.int64)
        elif rule in ("optimistic", "pessimistic"):
            rank, low, high = _bounds(user, gain, low, high, best=rule == "optimistic")
        elif rule == "together":
            rank = high.astype(np.float64)
            low = high
        elif rule == "rounded":
            rank = low + (high - low + 1) // 2.0
            low = high = rank.astype(np.int64)
        else:
            rank = (low + high) / 2.0
            if rule == "realistic":
                low = high = low + (high - low) // 2
    order = np.lexsort((-gain, rank, user))
    if choices.depth is not None:
        order = order[rank[order] <= choices.depth]
    n = ranked.offsets.size - 1
    return Hits(
        np.concatenate(([0], np.cumsum(np.bincount(user[order], minlength=n)))),
        rank[order],
        gain[order],
        np.zeros(n, dtype=np.int64),
        np.zeros(n, dtype=np.int64),
        Span(low, high)[order],
        together=choices.ties == "together",
    )


def _spans(row: IntArray, user: IntArray, ranked: Ranked) -> tuple[IntArray, IntArray]:
    """First and last rank that each hit could have, given its score and those of its user."""
    if ranked.value is None:
        place = np.empty(ranked.order.size, dtype=np.int64)
        place[ranked.order] = np.arange(ranked.order.size)
        rank = place[row] - ranked.offsets[user] + 1
        return rank, rank
    # Only the lists of users with hits need sorting.
    length = np.diff(ranked.offsets)
    has = np.zeros(length.size, dtype=bool)
    has[user] = True
    kept = ranked.order if has.all() else ranked.order[np.repeat(has, length)]
    offsets = np.concatenate(([0], np.cumsum(np.where(has, length, 0))))
    value = _sort_within(ranked.value[kept], offsets)
    wanted = ranked.value[row]
    begin, end = offsets[user], offsets[user + 1]
    above = _search(value, wanted, begin, end, after=False) - begin
    upto = _search(value, wanted, begin, end, after=True) - begin
    if ranked.given:
        first = wanted.astype(np.int64)
        return first, first + (upto - above) - 1
    return above + 1, upto


def _sort_within(value: FloatArray, offsets: IntArray) -> FloatArray:
    """Sort each segment. Segments of like length are the rows of one padded matrix."""
    length = np.diff(offsets)
    if length.size and length.min() == length.max():
        return np.sort(value.reshape(length.size, -1), axis=1).ravel()
    result = np.empty_like(value)
    width = np.zeros(length.size, dtype=np.int64)
    some = length > 0
    width[some] = 1 << np.ceil(np.log2(length[some])).astype(np.int64)
    for size in np.unique(width[some]).tolist():
        segments = np.flatnonzero(width == size)
        inside = np.arange(size) < length[segments][:, None]
        place = (offsets[segments][:, None] + np.arange(size))[inside]
        padded = np.full(inside.shape, np.inf)
        padded[inside] = value[place]
        padded.sort(axis=1)
        result[place] = padded[inside]
    return result


def _search(
    value: FloatArray, wanted: FloatArray, begin: IntArray, end: IntArray, *, after: bool
) -> IntArray:
    """Binary search of each wanted number in its own sorted segment, all at once."""
    low, high = begin.copy(), end.copy()
    for _ in range(int((end - begin).max(initial=0)).bit_length()):
        open_ = low < high
        middle = (low + high) // 2
        probe = value[np.minimum(middle, value.size - 1)]
        right = open_ & ((probe <= wanted) if after else (probe < wanted))
        low = np.where(right, middle + 1, low)
        high = np.where(open_ & ~right, middle, high)
    return low


def _places(frame: pl.DataFrame, row: IntArray, ranked: Ranked, rule: str) -> IntArray:
    """How many of its tied items stand before each tied hit, by item or by order of the rows."""
    assert ranked.value is not None
    # −0.0 and 0.0 are equal scores with different bits: adding 0.0 makes them one.
    bits = (ranked.value + 0.0).view(np.int64)
    table = pl.DataFrame(
        {"user": ranked.user, "bits": bits, "item": frame["item"]}
    ).with_row_index()
    runs = table[row].select("user", "bits").unique()
    members = table.join(runs, on=["user", "bits"], how="semi")
    by = "index" if rule == "input" else "item"
    members = members.sort(
        ["user", "bits", by, "index"], descending=[False, False, rule == "item-descending", False]
    )
    start = np.ones(members.height, dtype=bool)
    run_user, run_bits = members["user"].to_numpy(), members["bits"].to_numpy()
    start[1:] = (run_user[1:] != run_user[:-1]) | (run_bits[1:] != run_bits[:-1])
    first = np.maximum.accumulate(np.where(start, np.arange(start.size), 0))
    place = np.zeros(frame.height, dtype=np.int64)
    place[members["index"].to_numpy()] = np.arange(start.size) - first
    return place[row]


def _bounds(
    user: IntArray, gain: FloatArray, low: IntArray, high: IntArray, *, best: bool
) -> tuple[FloatArray, IntArray, IntArray]:
    """The best order of each tied run (large gains, small gains, misses), or the worst."""
    order = np.lexsort((-gain if best else gain, low, user))
    new = np.ones(order.size, dtype=bool)
    new[1:] = (user[order][1:] != user[order][:-1]) | (low[order][1:] != low[order][:-1])
    head = np.maximum.accumulate(np.where(new, np.arange(order.size), 0))
    nth = np.arange(order.size) - head
    run = np.cumsum(new) - 1
    hits = np.bincount(run)[run]
    rank = np.empty_like(low)
    rank[order] = low[order] + nth if best else high[order] - hits + 1 + nth
    return rank.astype(np.float64), rank, rank
