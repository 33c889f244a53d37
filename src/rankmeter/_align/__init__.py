"""From tables to hits: pairs of user and item → counts → ranks → hits."""

from __future__ import annotations

from rankmeter._align.align import Aligned, Facts, Judged, align, prepare
from rankmeter._align.codes import Codes, universe
from rankmeter._align.counts import by_item
from rankmeter._align.pairs import Refused

__all__ = [
    "Aligned",
    "Codes",
    "Facts",
    "Judged",
    "Refused",
    "align",
    "by_item",
    "prepare",
    "universe",
]
