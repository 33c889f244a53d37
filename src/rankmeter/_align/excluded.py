"""Items that are left out of rankings: the one whose id is that of the user."""

from __future__ import annotations

import polars as pl

__all__ = ["SELF", "without_self"]

SELF = pl.col("user").cast(pl.String) == pl.col("item").cast(pl.String)
"""Whether the item of a row has the id of the user."""


def without_self(frame: pl.DataFrame, order: str, counts: dict[str, int]) -> pl.DataFrame:
    """The rows of all other items; given ranks below the one that is left out move up."""
    gone = frame.filter(SELF)
    if gone.is_empty():
        return frame
    counts["excluded_items"] = gone.height
    kept = frame.filter(~SELF)
    if order != "rank":
        return kept
    kept = kept.with_row_index("place")
    below = kept.join(gone.select("user", gone="rank"), on="user").filter(
        pl.col("gone") < pl.col("rank")
    )
    above = below.group_by("place").len("above")
    kept = kept.join(above, on="place", how="left", maintain_order="left")
    fewer = pl.col("rank") - pl.col("above").fill_null(0)
    return kept.with_columns(rank=fewer).drop("place", "above")
