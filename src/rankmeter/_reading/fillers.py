"""Check ids that fill the empty places at the ends of lists."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from rankmeter._reading.by_user import InFrame
from rankmeter._reading.table import Table
from rankmeter.errors import DataError
from rankmeter.errors._checks import brief, counted

FILLERS: Mapping[str, tuple[Any, ...]] = {
    "Int64": (-1,),
    "String": ("", "<pad>", "<PAD>", "[PAD]"),
}
"""What marks a place without an item at the end of a list."""


def refuse_fillers(table: Table, side: str) -> None:
    """Refuse −1, the empty text or ``<pad>`` at the ends of lists, or with the lowest scores."""
    if text := filler_error(table, side=side):
        raise DataError(text)


def filler_error(table: Table, _: Table | None = None, *, side: str = "rankings") -> str:
    """The text of the error of `refuse_fillers`; empty if there are no fillers."""
    for filler in _possible_fillers(table):
        if n := _count_filled_lists(filler, table):
            return (
                f"{counted(n, 'list')} of the {side} ({table.source}) "
                f"{'end' if n > 1 else 'ends'} in {brief(filler)}, which fills empty places: on "
                f"both sides it would be a hit. Leave it out: [item for item in items "
                f"if item != {filler!r}], or, in an array, np.ma.masked_equal(ids, {filler!r})."
            )
    return ""


def filler_caution(rankings: Table, truth: Table) -> str:
    """Warn of an integer that is only at the ends of lists, as fillers do: 0 or an extreme.

    It is at the ends of lists of both sides; or at those of the ground truth and in no ranking, if
    it is 0, or if the lists have one length and are not in the order of their ids.
    """
    if truth.id_type("item") == "String" or not len(truth.rows) or not truth.origin.is_ordered:
        return ""
    if "assumed_gains" not in truth.counts or not truth.rows.has_ends:
        return ""
    for filler in {0, *_extremes(truth)}:
        if not (judged := _count_filled_lists(filler, truth)):
            continue
        ranked = _count_filled_lists(filler, rankings, alone=True)
        alone = judged > 1 and (filler == 0 or _are_like_rows_of_an_array(truth))
        is_filler = ranked > 1 or (alone and not rankings.rows.has_item(filler))
        if is_filler and not _all_rank_the_same(rankings):
            rankings_too = f" and of {counted(ranked, 'ranking')}" if ranked else ""
            return (
                f"the item {filler} is only at the ends of lists, of {counted(judged, 'list')} of "
                f"the ground truth ({truth.source}){rankings_too}, as if it filled empty places; "
                f"it counts as an item. If it is not, mask it: np.ma.masked_equal(ids, {filler})"
            )
    return ""


def _possible_fillers(table: Table) -> list[Any]:
    """The fillers at the ends of plain lists, or among the items of rows."""
    rows, fillers = table.rows, FILLERS.get(table.id_type("item"), ())
    if table.order == "rank" or not (len(rows) and rows.has_end({*fillers})):
        return []
    found: Any = None
    if isinstance(rows, InFrame) and rows.in_memory:
        items = rows.items().to_series()
        if len(items) <= _SHORT:
            found = {*items.to_list()}
        elif items.dtype.is_integer():
            found = [filler for filler in fillers if (items == filler).any()]
        else:
            is_filler = items.is_in(fillers)
            found = {*items.filter(is_filler).to_list()} if is_filler.any() else ()
    return [filler for filler in fillers if found is None or filler in found]


_SHORT = 1000


def _count_filled_lists(filler: Any, table: Table, *, alone: bool = False) -> int:
    """Number of lists that end in the filler after an item, as the rows or their frame say."""
    rows = table.rows
    if not len(rows):
        return 0
    if (known := rows.count_filled_lists(filler, alone=alone)) is not None:
        return known
    if rows.is_index or not rows.has_lists or table.order == "rank":
        return 0
    frame = table.frame
    is_filler = (frame["item"] == filler).alias("f")
    if not is_filler.any():
        return 0
    if table.order == "score":
        lowest = pl.col("score") == pl.col("score").min().over("user")
        frame, end = frame.with_columns(lowest=lowest), pl.col("lowest") & pl.col("f")
        if alone:
            end &= pl.col("lowest").sum().over("user") == 1
    else:
        end = pl.col("f").cast(pl.Int8).reverse().cum_min().reverse().over("user") == 1
    users = frame.with_columns(is_filler).with_columns(end=end)
    if not (users["end"] == users["f"]).all():
        return 0
    filled = users.group_by("user").agg(pl.col("f").any(), (~pl.col("f")).any().alias("item"))
    n = int((filled["f"] & filled["item"]).sum())
    are_lists = table.order == "list" and (
        "gain" not in frame.columns or "assumed_gains" in table.counts
    )
    return n if n > 1 or are_lists else 0


def _extremes(table: Table) -> tuple[int, int]:
    return table.rows.items().min_and_max()


def _all_rank_the_same(rankings: Table) -> bool:
    """Whether there are no more items than in a single list: then one of them may be the last."""
    rows = rankings.rows
    if not rows.has_lists or not len(rows):
        return False
    longest, items = int(rows.rows_per_user().max()), rows.items().to_integers()
    return np.unique(items[: longest * 100]).size <= longest and np.unique(items).size <= longest


def _are_like_rows_of_an_array(table: Table) -> bool:
    """Whether all lists have the same length, and not all are sorted."""
    sizes = table.rows.rows_per_user()
    if sizes.min() != sizes.max():
        return False
    items = np.asarray(table.rows.items().to_integers()).reshape(-1, sizes[0])
    return bool((np.diff(items, axis=1) < 0).any(axis=1).any())
