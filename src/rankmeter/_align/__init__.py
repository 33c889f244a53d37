"""From tables to hits: pairs of user and item → counts → ranks → hits."""

from __future__ import annotations

from rankmeter._align.align import Aligned, Codes, Facts, Judged, align, prepare, universe

__all__ = ["Aligned", "Codes", "Facts", "Judged", "align", "prepare", "universe"]
