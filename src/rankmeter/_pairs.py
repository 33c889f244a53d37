"""Pairs of user and item: those that stand twice on one side, and those that are on both.

Equal pairs have equal hashes. So pairs are sorted, and joined, by one 64-bit number each, and only
where two numbers meet are the ids themselves compared.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from rankmeter._choices import Alignment
from rankmeter._ingest import Table
from rankmeter.errors import DuplicateError

__all__ = ["best_of", "common", "unique_items", "unique_judgements"]


def _hashes(frame: pl.DataFrame) -> pl.Series:
    """One number for each row; the same in one process, not in every version of Polars."""
    return frame.select(pl.col("user").hash(1) + pl.col("item").hash(2)).to_series()


def _has_duplicates(frame: pl.DataFrame) -> bool:
    """Whether any (user, item) stands twice."""
    keys = np.sort(_hashes(frame).to_numpy())
    if not np.any(keys[1:] == keys[:-1]):
        return False
    return bool(frame.select(pl.struct("user", "item").is_duplicated().any()).item())


def common(frame: pl.DataFrame, judged: pl.DataFrame) -> pl.DataFrame:
    """The ranking rows whose item is judged for their user.

    Parameters
    ----------
    frame : polars.DataFrame
        Ranking rows.
    judged : polars.DataFrame
        One judgement per user and item: ``user``, ``item`` and more.

    Returns
    -------
    polars.DataFrame
        The columns of both sides, and ``row``, the number of the ranking row.
    """
    left = _hashes(frame).alias("key").to_frame().with_row_index("row")
    right = judged.rename({"user": "judged user", "item": "judged item"})
    met = left.join(right.with_columns(key=_hashes(judged)), on="key", how="inner")
    both = pl.concat([frame[met["row"]], met.drop("key")], how="horizontal")
    same = (pl.col("user") == pl.col("judged user")) & (pl.col("item") == pl.col("judged item"))
    return both.filter(same).drop("judged user", "judged item")


def unique_items(rankings: Table, choices: Alignment, counts: dict[str, int]) -> pl.DataFrame:
    """The ranking rows, each item once per user unless every one is to count."""
    frame = rankings.frame
    if frame.is_empty() or not _has_duplicates(frame):
        return frame
    twice = frame.filter(pl.struct("user", "item").is_duplicated())
    extra = twice.height - twice.select("user", "item").n_unique()
    if choices.duplicates == "error":
        examples = twice.select("user", "item").unique().sort("user", "item").head(3)
        shown = "; ".join(f"user {u!r} item {i!r}" for u, i in examples.iter_rows())
        raise DuplicateError(
            f"{extra} repeated items in the rankings ({rankings.source}), for example {shown}. "
            "Remove them, or choose duplicates='best' (keep the best rank) or 'each' (count every "
            "one). If a filler id marks empty places, drop those rows"
        )
    if choices.duplicates == "each":
        counts["duplicate_items_counted"] = extra
        return frame
    counts["duplicate_items_dropped"] = extra
    if choices.duplicates == "first":
        return frame
    return best_of(frame.with_row_index("row"), rankings.order).drop("row")


def best_of(numbered: pl.DataFrame, by: str) -> pl.DataFrame:
    """Of the rows of one user and item the one that ranks best, in the order of the rows."""
    if by != "list":
        numbered = numbered.sort(by, descending=by == "score", maintain_order=True)
    return numbered.unique(["user", "item"], keep="first", maintain_order=True).sort("row")


def unique_judgements(truth: Table, choices: Alignment, counts: dict[str, int]) -> pl.DataFrame:
    """One judgement per user and item."""
    frame = truth.frame.select("user", "item", "gain")
    if frame.is_empty() or not _has_duplicates(frame):
        return frame
    pairs = frame.group_by("user", "item", maintain_order=True)
    merged = pairs.agg(pl.len(), pl.col("gain").n_unique().alias("values"), _merge(choices))
    clash = merged.filter(pl.col("values") > 1)
    if choices.judgements == "error" and clash.height:
        shown = "; ".join(
            f"user {u!r} item {i!r}" for u, i in clash.select("user", "item").head(3).iter_rows()
        )
        raise DuplicateError(
            f"{clash.height} items have contradicting judgements ({truth.source}), for example "
            f"{shown}. Keep one of each, or choose judgements='max', 'last' or 'sum'"
        )
    counts["duplicate_judgements_merged"] = frame.height - merged.height
    return merged.select("user", "item", "gain")


def _merge(choices: Alignment) -> pl.Expr:
    gain = pl.col("gain")
    return {"max": gain.max(), "sum": gain.sum()}.get(choices.judgements, gain.last())
