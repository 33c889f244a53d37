"""Items that are left out of rankings: the one whose id is that of the user."""

from __future__ import annotations

import numpy as np
import polars as pl

from rankmeter._hits import FloatArray, IntArray
from rankmeter.errors import UsageError

__all__ = ["is_self", "moved_up", "ranks_before", "refuse_repeated_self", "without_self"]


def is_self() -> pl.Expr:
    """Whether the item of a row has the id of the user."""
    return pl.col("user").cast(pl.String) == pl.col("item").cast(pl.String)


def without_self(frame: pl.DataFrame, order: str, counts: dict[str, int]) -> pl.DataFrame:
    """The rows of all other items; given ranks below the one that is left out move up."""
    gone = frame.filter(is_self())
    if gone.is_empty():
        return frame
    counts["excluded_items"] = gone.height
    kept = frame.filter(~is_self())
    return moved_up(kept, gone) if order == "rank" else kept


def moved_up(rows: pl.DataFrame, gone: pl.DataFrame) -> pl.DataFrame:
    """The rows, with the ranks that they have without those of their user that are gone."""
    rows = rows.with_row_index("place")
    below = rows.join(gone.select("user", gone="rank"), on="user").filter(
        pl.col("gone") < pl.col("rank")
    )
    above = below.group_by("place").len("above")
    rows = rows.join(above, on="place", how="left", maintain_order="left")
    fewer = pl.col("rank") - pl.col("above").fill_null(0)
    return rows.with_columns(rank=fewer).drop("place", "above")


def ranks_before(
    user: pl.Series, rank: FloatArray, gone: pl.DataFrame
) -> tuple[IntArray, FloatArray]:
    """What each rank was before `moved_up`: positions, and the rank that it was there.

    It may have been two: the rank of the row that is gone, which another row shared, and the next.
    """
    ends = gone.select("user", high="rank")
    last = ends.select("user").unique().with_columns(high=pl.lit(np.inf))
    spans = pl.concat([ends, last]).sort("user", "high")
    spans = spans.with_columns(
        low=pl.col("high").shift().over("user").fill_null(-np.inf),
        fewer=pl.int_range(pl.len()).over("user"),
    )
    asked = pl.DataFrame({"user": user, "rank": rank}).with_row_index("at")
    found = asked.join(spans, on="user", how="left", maintain_order="left").with_columns(
        rank=pl.col("rank") + pl.col("fewer").fill_null(0)
    )
    inside = (pl.col("low") < pl.col("rank")) & (pl.col("rank") <= pl.col("high"))
    found = found.filter(pl.col("fewer").is_null() | inside)
    return found["at"].to_numpy(), found["rank"].to_numpy()


def refuse_repeated_self(rows: pl.DataFrame, source: str) -> None:
    """Refuse rows that move others up by several ranks, where one rank more is listed."""
    gone = rows.filter(is_self())
    if gone["user"].is_duplicated().any():
        raise UsageError(
            f"exclude='self' with given ranks, and metrics of what was shown: {source} repeats the "
            f"item of user {gone.filter(gone['user'].is_duplicated())['user'].min()!r}. Remove "
            f"repeated items, or choose engine='memory'",
            option="exclude",
        )
