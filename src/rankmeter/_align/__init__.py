"""From tables to hits: pairs of user and item → counts → ranks → hits."""

from __future__ import annotations

from rankmeter._align.align import (
    Aligned,
    Facts,
    Judged,
    align,
    perfect,
    prepare,
    reached,
    settle,
)
from rankmeter._align.cluster import gather
from rankmeter._align.codes import Codes, universe
from rankmeter._align.counts import by_item
from rankmeter._align.pairs import Refused
from rankmeter._align.sift import sift
from rankmeter._align.threads import THREADS

__all__ = [
    "THREADS",
    "Aligned",
    "Codes",
    "Facts",
    "Judged",
    "Refused",
    "align",
    "by_item",
    "gather",
    "perfect",
    "prepare",
    "reached",
    "settle",
    "sift",
    "universe",
]
