"""From tables to hits: pairs of user and item → counts → ranks → hits."""

from __future__ import annotations

from rankmeter._align.align import (
    Aligned,
    Facts,
    align,
    relevant_items,
    settle,
)
from rankmeter._align.cluster import gather
from rankmeter._align.codes import Codes, distinct
from rankmeter._align.counts import Candidates, by_item
from rankmeter._align.judged import Judged, perfect, prepare, reached
from rankmeter._align.listing import Listing, listed
from rankmeter._align.packing import bits, sort
from rankmeter._align.pairs import Refused
from rankmeter._align.shares import Share, in_order, shares
from rankmeter._align.sift import sift
from rankmeter._align.threads import THREADS, in_threads

__all__ = [
    "THREADS",
    "Aligned",
    "Candidates",
    "Codes",
    "Facts",
    "Judged",
    "Listing",
    "Refused",
    "Share",
    "align",
    "bits",
    "by_item",
    "distinct",
    "gather",
    "in_order",
    "in_threads",
    "listed",
    "perfect",
    "prepare",
    "reached",
    "relevant_items",
    "settle",
    "shares",
    "sift",
    "sort",
]
