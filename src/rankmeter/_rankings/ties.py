"""Turn counts into ranks by the tie rules; no other module has such rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from rankmeter import _native
from rankmeter._choices import TieRule
from rankmeter._evidence.hits import BoolArray, FloatArray, Hits, IntArray
from rankmeter._rankings.pairs import Groups
from rankmeter._rankings.parallel import Parallel
from rankmeter._rankings.rank_counts import RankCounts
from rankmeter.errors import UsageError

TIE_RULES: dict[TieRule, str] = {
    "item": "the item that sorts first comes first",
    "item-descending": "the item that sorts last comes first",
    "text": "the item that sorts first as text comes first",
    "text-descending": "the item that sorts last as text comes first",
    "native-descending": "the item that sorts last comes first",
    "input": "they keep the order of the rows",
    "expected": "the mean over all orders counts",
    "optimistic": "relevant ones come first",
    "pessimistic": "relevant ones come last",
    "realistic": "the middle of their ranks counts",
    "rounded": "the middle of their ranks, rounded up, counts",
    "together": "the last of their ranks counts",
}
"""How each rule finds the ranks of tied items, as notes say it."""
BY_ROW: tuple[TieRule, ...] = ("input",)
"""The rules that compare the places of tied items in the input."""
ORDERED = ("item", "item-descending", "text", "text-descending", "native-descending", *BY_ROW)
"""The rules that put tied items into one order; those named "descending" turn it round."""


@dataclass(frozen=True, eq=False)
class Placed(Parallel):
    """Judged items with their ranks, ordered by user and rank."""

    arrays = ("user", "gain", "rank", "low", "high", "item")
    user: IntArray  # (n_found,)
    gain: FloatArray  # as judged
    rank: FloatArray  # 1-based
    low: IntArray  # first and last possible rank in an unresolved tie;
    high: IntArray  # equal where the rank is certain
    item: IntArray | None = None  # codes


def assign_ranks(counts: RankCounts, ties: TieRule) -> Placed:
    """Turn counts into ranks.

    Raises
    ------
    UsageError
        If the rule needs an order of the tied items, and the counts have no such order.
    """
    placed = Placed(counts.user, counts.gain, *_ranks_and_spans(counts, ties), counts.item)
    if np.any(placed.user[1:] <= placed.user[:-1]):
        placed = placed.only(_rank_order(placed))
    return placed


def cut_counts(
    counts: RankCounts, ties: TieRule, depth: int, n_left: IntArray | None = None
) -> tuple[RankCounts, BoolArray]:
    """Leave out the items ranked below `depth`; return also which ones are left.

    `n_left` are the candidates of each user that are left, by default the first `depth` ones.
    """
    is_left = _ranks_and_spans(counts, ties)[0] <= depth
    if ties in ("optimistic", "pessimistic"):  # a tied group ends where the ranking is cut
        counts = replace(counts, equal=np.minimum(counts.equal, depth - 1 - counts.above))
    n_ranked = np.minimum(counts.n_ranked, depth) if n_left is None else n_left
    return replace(counts.only(is_left), n_ranked=n_ranked), is_left


def _ranks_and_spans(counts: RankCounts, ties: TieRule) -> tuple[FloatArray, IntArray, IntArray]:
    """The rank of each item, and the first and last rank of its unresolved tie."""
    low = counts.above + 1
    high = low + counts.equal
    middle = (low + high) / 2.0
    if not np.any(high > low):
        return middle, low, high
    if ties in ORDERED:
        if counts.before is None:
            needed = "order" if ties in BY_ROW else "ids"
            raise UsageError(
                f"ties={ties!r} needs the {needed} of tied items, which this input does not "
                "have: choose 'realistic' or 'expected'",
                option="ties",
            )
        low = high = low + counts.before
    elif ties in ("optimistic", "pessimistic"):
        low = high = _extreme_ranks(counts, low, high, best=ties == "optimistic")
    elif ties == "together":
        low = high
    elif ties == "rounded":
        low = high = low + (high - low + 1) // 2
    elif ties == "realistic":
        low = high = low + (high - low) // 2
        return middle, low, high
    return (low + high) / 2.0, low, high


def share_ranks(ranked: Sequence[Hits]) -> bool:
    """Whether two judged items of a user, of one kind or of several kinds, have the same rank."""
    if len(ranked) == 1:
        user, rank = ranked[0].user, ranked[0].rank  # in order
    else:
        user, rank = (np.concatenate([getattr(one, n) for one in ranked]) for n in ("user", "rank"))
        order = np.lexsort((rank, user))
        user, rank = user[order], rank[order]
    return bool(np.any((user[1:] == user[:-1]) & (rank[1:] == rank[:-1])))


def _rank_order(placed: Placed) -> IntArray:
    """Positions that sort by user and rank, large gains first within a rank.

    Unresolved ties are ordered by their first rank: given ranks such as 2, 2, 2, 3 have spans that
    overlap, and the mean of the first can be beyond that of the second.
    """
    key = placed.low.astype(np.float64) if np.any(placed.low < placed.high) else placed.rank
    user, rank = np.ascontiguousarray(placed.user), np.ascontiguousarray(key)
    if _native.native is not None:
        grouped, order = Groups.of(user, int(user.max()) + 1).order, np.empty_like(user)
        rows = slice(None) if grouped is None else grouped.astype(np.int64)
        if _native.native.sort(user[rows], rank[rows], order):
            return order if isinstance(rows, slice) else rows[order]
    return np.lexsort((*_item_sort_key(placed.item), -placed.gain, rank, user))


def _item_sort_key(item: IntArray | None) -> tuple[IntArray, ...]:
    """Item codes as last sort key, for an order independent of the rows; () without codes."""
    return () if item is None else (item,)


def _extreme_ranks(counts: RankCounts, low: IntArray, high: IntArray, *, best: bool) -> IntArray:
    """Ranks in the best order of each tied group (large gains first, misses last), or the worst."""
    user, gain = counts.user, counts.gain
    order = np.lexsort((*_item_sort_key(counts.item), -gain if best else gain, low, user))
    new = np.ones(order.size, dtype=bool)
    new[1:] = (user[order][1:] != user[order][:-1]) | (low[order][1:] != low[order][:-1])
    head = np.maximum.accumulate(np.where(new, np.arange(order.size), 0))
    nth = np.arange(order.size) - head
    run = np.cumsum(new) - 1
    hits = np.bincount(run)[run]
    rank = np.empty_like(low)
    rank[order] = low[order] + nth if best else high[order] - hits + 1 + nth
    return rank


def compares_as_text(ties: TieRule, item_type: str) -> bool:
    """Whether a tie rule compares all items of the type as text."""
    return ties.startswith("text") or (ties.startswith("native") and item_type == "String")
