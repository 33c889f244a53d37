"""Which items are popular, and which are in the long tail."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

import numpy as np

from rankmeter._evidence.hits import BoolArray
from rankmeter._evidence.lists import Popularity
from rankmeter.errors._checks import check_fraction, check_number, option_error

Head = Literal["interactions", "over", "items", "least", "count"]


Border: TypeAlias = tuple[Head, float | None]
"""A rule for the head of popular items, and its size."""


_SIZES = {"interactions": 0.8, "over": 0.8, "items": 0.2, "least": 0.1}


def mask_long_tail(popularity: Popularity, head: Head, size: float | None, cold: str) -> BoolArray:
    """A mask of the items in the long tail."""
    n, in_training = popularity.interactions, popularity.known
    if size is None and head == "count":
        raise option_error("size", "a number > 0 with head='count'", size)
    share = _SIZES[head] if size is None else size
    if head == "count":
        return (n <= check_number("size", share, above=0)) & (in_training | (cold == "tail"))
    check_fraction("size", share)
    order = np.flatnonzero(in_training)
    order = order[np.argsort(n[order] if head == "least" else -n[order], kind="stable")]
    if head in ("items", "least"):
        first = max(int(order.size * share), 1)
    else:
        reached = np.cumsum(n[order])
        side: Literal["left", "right"] = "left" if head == "interactions" else "right"
        first = int(np.searchsorted(reached, share * popularity.n_interactions, side)) + 1
    tail = ~in_training if cold == "tail" else np.zeros(n.size, dtype=bool)
    tail[order[:first] if head == "least" else order[first:]] = True
    return tail


def mask_border_items(popularity: Popularity, borders: Iterable[Border]) -> BoolArray:
    """A mask of items at a border of head and tail, put on one side by item order alone.

    They occur as often as items on the other side of one of the borders.
    """
    n, in_training = popularity.interactions, popularity.known
    is_at_border = np.zeros(n.size, dtype=bool)
    for head, size in borders:
        tail = mask_long_tail(popularity, head, size, "other")
        is_at_border |= in_training & np.isin(n, np.intersect1d(n[tail], n[in_training & ~tail]))
    return is_at_border
