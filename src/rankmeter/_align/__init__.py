"""From tables to hits: pairs of user and item → counts → ranks → hits."""

from __future__ import annotations

from rankmeter._align.align import Aligned, Codes, Facts, Judged, align, prepare, universe
from rankmeter._align.counts import by_item

__all__ = ["Aligned", "Codes", "Facts", "Judged", "align", "by_item", "prepare", "universe"]
