"""Check ids that fill the empty places at the ends of lists."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from rankmeter._reading.lists import Lists
from rankmeter._reading.table import Table
from rankmeter.errors import DataError
from rankmeter.errors._checks import brief, counted

_FILLERS = (-1, "", "<pad>", "[PAD]", "<PAD>")
"""What is no item at the end of a list, but a place without one."""


def refuse_fillers(table: Table, side: str) -> None:
    """Refuse −1, the empty text or ``<pad>`` at the ends of lists, or with the lowest scores."""
    is_text = table.id_type("item") == "String"
    for filler in _FILLERS:
        if isinstance(filler, str) == is_text and (n := _count_filled_lists(filler, table)):
            raise DataError(
                f"{counted(n, 'list')} of the {side} ({table.source}) "
                f"{'end' if n > 1 else 'ends'} in {brief(filler)}, which fills empty places and is "
                f"no item: on both sides it would be a hit. Leave it out: [item for item in items "
                f"if item != {filler!r}], or, in an array, np.ma.masked_equal(ids, {filler!r})."
            )


def filler_caution(rankings: Table, truth: Table) -> str:
    """Warn of an integer that only stands at the ends of lists, as fillers do: 0 or an extreme.

    It is at the ends of lists of both sides or, if it is 0, at those of the ground truth and in no
    ranking.
    """
    if truth.id_type("item") == "String" or not len(truth.rows) or truth.order != "list":
        return ""
    for filler in {0, *_extremes(truth)}:
        judged = _count_filled_lists(filler, truth)
        ranked = _count_filled_lists(filler, rankings) if judged else 0
        if ranked > 1 or (judged and filler == 0 and not _has_item(filler, rankings)):
            rankings_too = f" and of {counted(ranked, 'ranking')}" if ranked else ""
            return (
                f"the item {filler} is only at the ends of lists, of {counted(judged, 'list')} of "
                f"the ground truth ({truth.source}){rankings_too}, as if it filled empty places; "
                f"it counts as an item. If it is none, mask it: np.ma.masked_equal(ids, {filler})"
            )
    return ""


def _count_filled_lists(filler: Any, table: Table) -> int:
    """Number of lists that end in the filler after an item; 0 if it is not only at their ends."""
    rows = table.rows
    if not len(rows):
        return 0
    if isinstance(rows, Lists):
        if isinstance(rows.containers[0], dict):
            full = [c for c in rows.containers if filler in c]
            at_end = all(c[filler] == min(c.values()) for c in full)
        else:
            full = [c for c in rows.containers if type(c) is list and c[-1] == filler]
            at_end = not full or not any(
                type(c) is list and filler in c[:-1] for c in rows.containers
            )
        return sum(len(c) > 1 for c in full) if at_end else 0
    if rows.is_index or not rows.in_memory or rows.is_counted or table.order == "rank":
        return 0
    frame = table.frame
    is_filler = (frame["item"] == filler).alias("f")
    if not is_filler.any():
        return 0
    if table.order == "score":
        end = (pl.col("score") == pl.col("score").min().over("user")) & pl.col("f")
    else:
        end = pl.col("f").cast(pl.Int8).reverse().cum_min().reverse().over("user") == 1
    users = frame.with_columns(is_filler).with_columns(end=end)
    if not (users["end"] == users["f"]).all():
        return 0
    filled = users.group_by("user").agg(pl.col("f").any(), (~pl.col("f")).any().alias("item"))
    return int((filled["f"] & filled["item"]).sum())


def _extremes(table: Table) -> tuple[int, int]:
    return table.rows.items().min_and_max()


def _has_item(item: int, table: Table) -> bool:
    rows = table.rows
    if isinstance(rows, Lists):
        return any(item in container for container in rows.containers)
    return bool(np.any(rows.items().to_integers() == item))
