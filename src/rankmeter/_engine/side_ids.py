"""Convert the ids of side data to the types of ids in rankings and ground truth."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from rankmeter._reading.items import Items
from rankmeter._reading.keyed import fit_ids
from rankmeter._reading.read import Interactions
from rankmeter._reading.table import Table
from rankmeter.errors import InvalidValueError
from rankmeter.errors._checks import brief, counted


def fit_frame(rows: pl.DataFrame, read: Interactions | Table | Items, table: Table) -> pl.DataFrame:
    """Convert the ids in rows to the id types of a table; `read` is the source of the rows."""
    return rows.with_columns(
        fit_ids(rows[role], role, table, read.source, textual=read.textual)
        for role in ("user", "item")
        if role in rows.columns
    )


def fit_propensity(items: Items, table: Table) -> pl.DataFrame:
    value = items.features[:, 0]
    wrong = np.flatnonzero(~((value > 0) & (value <= 1)))
    if wrong.size:
        raise InvalidValueError(
            f"{counted(wrong.size, 'propensity', 'propensities')} of {items.source} "
            f"{'is' if wrong.size == 1 else 'are'} not above 0 and at most 1, for example "
            f"{value[wrong[0]]:g} of {brief(items.ids[int(wrong[0])])}: it is the probability that "
            "an item was seen"
        )
    return fit_frame(pl.DataFrame({"item": items.ids, "value": value}), items, table)


def fit_items(items: Items, table: Table) -> Items:
    frames = {name: rows for name, rows in vars(items).items() if isinstance(rows, pl.DataFrame)}
    fitted: dict[str, Any] = {n: fit_frame(rows, items, table) for n, rows in frames.items()}
    ids = fit_frame(items.ids.to_frame("item"), items, table)["item"]
    return replace(items, ids=ids, **fitted)
