"""From tables to hits: pairs of user and item → counts → ranks → hits."""

from __future__ import annotations

from rankmeter._align.align import (
    Aligned,
    Facts,
    align,
    relevant_items,
    to_hits,
)
from rankmeter._align.cluster import gather
from rankmeter._align.codes import Codes, distinct
from rankmeter._align.counts import Candidates, item_sort_key
from rankmeter._align.judged import Judged, perfect_hits, prepare, reached_gains
from rankmeter._align.listing import Listing, list_first
from rankmeter._align.packing import bit_width, sort_keys
from rankmeter._align.pairs import Refused
from rankmeter._align.shares import Share, is_grouped, partitions
from rankmeter._align.sift import collect_judged
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
    "bit_width",
    "collect_judged",
    "distinct",
    "gather",
    "in_threads",
    "is_grouped",
    "item_sort_key",
    "list_first",
    "partitions",
    "perfect_hits",
    "prepare",
    "reached_gains",
    "relevant_items",
    "sort_keys",
    "to_hits",
]
