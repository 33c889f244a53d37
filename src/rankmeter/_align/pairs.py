"""Pairs of user and item: those repeated on one side, and those on both sides.

Equal pairs have equal hashes. So pairs are sorted and joined by one 64-bit number each, and the ids
themselves are compared only where two numbers are equal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from rankmeter._checks import shown
from rankmeter._choices import Alignment
from rankmeter._ingest import Table

__all__ = ["Refused", "best_of", "common", "unique_items", "unique_judgements"]

SHOWN = 3


@dataclass(frozen=True)
class Refused:
    """Pairs that the choices refuse. They add up over disjoint users; the total decides."""

    n: int = 0
    examples: tuple[tuple[Any, Any], ...] = ()  # the smallest three

    def __add__(self, other: Refused) -> Refused:
        return Refused(self.n + other.n, tuple(sorted(self.examples + other.examples)[:SHOWN]))

    def __str__(self) -> str:
        return "; ".join(f"user {shown(user)} item {shown(item)}" for user, item in self.examples)


def _refused(n: int, pairs: pl.DataFrame) -> Refused:
    smallest = pairs.select("user", "item").unique().sort("user", "item").head(SHOWN)
    return Refused(n, tuple(smallest.iter_rows()))


def _hashes(frame: pl.DataFrame) -> pl.Series:
    """One number for each row; the same in one process, not in every version of Polars."""
    return frame.select(pl.col("user").hash(1) + pl.col("item").hash(2)).to_series()


def _has_duplicates(frame: pl.DataFrame) -> bool:
    """Whether any (user, item) is repeated."""
    keys = np.sort(_hashes(frame).to_numpy())
    if not np.any(keys[1:] == keys[:-1]):
        return False
    return bool(frame.select(pl.struct("user", "item").is_duplicated().any()).item())


def common(frame: pl.DataFrame, judged: pl.DataFrame) -> pl.DataFrame:
    """The ranking rows whose item is judged for their user: the columns of both sides, and ``row``.

    Each pair of user and item is judged at most once.
    """
    left = _hashes(frame).alias("key").to_frame().with_row_index("row")
    right = judged.rename({"user": "judged user", "item": "judged item"})
    met = left.join(right.with_columns(key=_hashes(judged)), on="key", how="inner")
    both = pl.concat([frame[met["row"]], met.drop("key")], how="horizontal")
    same = (pl.col("user") == pl.col("judged user")) & (pl.col("item") == pl.col("judged item"))
    return both.filter(same).drop("judged user", "judged item")


def unique_items(
    rankings: Table, choices: Alignment, counts: dict[str, int]
) -> tuple[pl.DataFrame, Refused]:
    """The ranking rows, each item once per user unless every occurrence counts."""
    frame = rankings.frame
    if frame.is_empty() or not _has_duplicates(frame):
        return frame, Refused()
    repeated = frame.filter(pl.struct("user", "item").is_duplicated())
    extra = repeated.height - repeated.select("user", "item").n_unique()
    if choices.duplicates == "error":
        return frame, _refused(extra, repeated)
    if choices.duplicates == "each":
        counts["duplicate_items_counted"] = extra
        return frame, Refused()
    counts["duplicate_items_dropped"] = extra
    if choices.duplicates == "best":
        frame = best_of(frame.with_row_index("row"), rankings.order).drop("row")
    return frame, Refused()


def best_of(numbered: pl.DataFrame, by: str) -> pl.DataFrame:
    """The best-ranked row of each user and item, in the order of the rows."""
    if by != "list":
        numbered = numbered.sort(by, descending=by == "score", maintain_order=True)
    return numbered.unique(["user", "item"], keep="first", maintain_order=True).sort("row")


def unique_judgements(
    truth: Table, choices: Alignment, counts: dict[str, int]
) -> tuple[pl.DataFrame, Refused]:
    """One judgment per user and item."""
    frame = truth.frame.select("user", "item", "gain")
    if frame.is_empty() or not _has_duplicates(frame):
        return frame, Refused()
    gain = pl.col("gain")
    kept = {"max": gain.max(), "sum": gain.sum()}.get(choices.judgements, gain.last())
    pairs = frame.group_by("user", "item", maintain_order=True)
    merged = pairs.agg(gain.n_unique().alias("values"), kept)
    counts["duplicate_judgements_merged"] = frame.height - merged.height
    clash = merged.filter(pl.col("values") > 1) if choices.judgements == "error" else merged.clear()
    return merged.select("user", "item", "gain"), _refused(clash.height, clash)
