"""Judgments of items that are new to their user, or that the training data have for the user."""

from __future__ import annotations

import polars as pl

from rankmeter._reading.table import Table
from rankmeter.errors import NoOverlapError, UsageError

_FEW = 10
"""Users of training data that can all be other ones than those of the ground truth."""

_WANTED = (
    "`history` (in a metric also `truth`) asks which judged items the training data have for "
    "their user: "
)


def mark_seen(
    judged: Table, train: pl.DataFrame | None, *, asked: bool, in_cluster: bool = False
) -> tuple[Table, tuple[str, ...]]:
    """Count the relevant items that the training data have for their user, in a note if any.

    If `asked`, a column says which judged items these are.

    Raises
    ------
    UsageError
        If there are no training data, or the rankings are in Spark (`in_cluster`).
    NoOverlapError
        If these have no user in common with the ground truth.
    """
    if train is None:
        raise UsageError(f"{_WANTED}pass train=", option="train")
    if asked and in_cluster:
        raise UsageError(
            f"{_WANTED}that is not possible in Spark. Write the rankings to Parquet, and pass the "
            "path: engine='disk' measures them in parts",
            option="history",
        )
    frame, pairs = judged.frame, train.select("user", "item").unique()
    relevant = frame.filter(pl.col("gain") > 0)
    seen = relevant.join(pairs, on=["user", "item"], how="semi").height
    note = f"relevant items that train has for the user: {seen:,}"
    if not asked:
        return judged, (f"{note} (see rankmeter.audit)",) if seen else ()
    users = pairs["user"].unique()
    if frame.height and len(users) >= _FEW and not frame["user"].is_in(users.implode()).any():
        raise NoOverlapError(
            f"{_WANTED}train= has no user in common with {judged.source}. Check that both use the "
            "same ids"
        )
    marks = pairs.with_columns(seen=pl.lit(1))
    marked = frame.join(marks, on=["user", "item"], how="left", maintain_order="left")
    marked = marked.with_columns(pl.col("seen").is_not_null())
    left = "those left out by `truth` or `history` stay ranked, as if nobody had judged them"
    return judged.with_rows(marked), (f"{note} of {relevant.height:,}; {left}",)


def judgments_of_history(judged: Table, history: str) -> Table:
    """Select the judgments of new items, or of seen ones, after `mark_seen`."""
    if history == "all":
        return judged
    if judged.rows.is_index or "seen" not in judged.frame.columns:
        raise UsageError(f"{_WANTED}only evaluate, compare and curve can, in memory")
    wanted = pl.col("seen") if history == "seen" else ~pl.col("seen")
    return judged.with_rows(judged.frame.filter(wanted))
