"""Read the side data that were given."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from rankmeter._checks import counted, integer, shown
from rankmeter._ingest import (
    IdSeries,
    Interactions,
    Items,
    Table,
    fit_ids,
    read_collapse,
    read_item_ids,
    read_item_numbers,
    read_items,
    read_rankings,
)
from rankmeter.errors import DataError, InvalidValueError


@dataclass(frozen=True, eq=False)
class Given:
    """The arguments as they were given; None if not."""

    train: object = None
    items: object = None
    catalogue: object = None
    baseline_lists: object = None
    propensity: object = None
    collapse: object = None


@dataclass(frozen=True, eq=False)
class Side:
    """Side data, with ids of the same types as those of rankings and ground truth.

    Attributes
    ----------
    train : polars.DataFrame or None
        Columns user, item and, if there are ratings, rating.
    items : Items or None
    catalogue : polars.Series or None
        Each item once.
    size : int or None
        The size of the catalogue, if only that is known.
    baseline : Table or None
        Rankings of the same users by another system.
    propensity : polars.DataFrame or None
        Columns item and value.
    notes : tuple of str
        How the data were read, where a reader should know.
    """

    train: pl.DataFrame | None = None
    items: Items | None = None
    catalogue: pl.Series | None = None
    size: int | None = None
    baseline: Table | None = None
    propensity: pl.DataFrame | None = None
    notes: tuple[str, ...] = field(default=())


NO_SIDE = Side()
"""No side data."""


def read_side(given: Given, table: Table, size: int | None = None) -> Side:
    """Read all that was given; ids get the types of those of a table.

    Raises
    ------
    DataError
        If data cannot be read with certainty, or their ids cannot match the known ones.
    """
    train, items, catalogue, baseline, propensity = None, None, None, None, None
    if given.train is not None:
        interactions = Interactions.read(given.train)
        train = _fitted(interactions.frame, interactions, table)
    if given.items is not None:
        items = _items(read_items(given.items), table)
    number = given.catalogue
    if isinstance(number, str) and re.fullmatch(r"\d{1,40}", number):  # from the command line
        number = int(number)
    if isinstance(number, int):
        size = integer("catalogue", number, least=1)
    elif given.catalogue is not None:
        listed = read_item_ids(given.catalogue, "catalogue")
        if not len(listed.keys):
            raise DataError("catalogue= has no items")
        catalogue = listed.fit("item", table)
    if given.baseline_lists is not None:
        lists = read_rankings(given.baseline_lists)
        rows = _fitted(lists.frame, lists, table)
        baseline = replace(lists, rows=rows, empty_users=IdSeries(rows["user"].clear()))
    if given.propensity is not None:
        propensity = _propensity(read_item_numbers(given.propensity, "propensity"), table)
    collapsing = read_collapse(given.collapse)
    notes = () if items is None else items.notes
    notes += () if collapsing is None else (collapsing.note,)
    return Side(train, items, catalogue, size, baseline, propensity, notes)


def _fitted(rows: pl.DataFrame, read: Interactions | Table | Items, table: Table) -> pl.DataFrame:
    """Rows with ids in the types of those of a table; `read` is what they are from."""
    return rows.with_columns(
        fit_ids(rows[role], role, table, read.source, textual=read.textual)
        for role in ("user", "item")
        if role in rows.columns
    )


def _propensity(items: Items, table: Table) -> pl.DataFrame:
    value = items.features[:, 0]
    wrong = np.flatnonzero(~((value > 0) & (value <= 1)))
    if wrong.size:
        raise InvalidValueError(
            f"{counted(wrong.size, 'propensity', 'propensities')} of {items.source} "
            f"{'is' if wrong.size == 1 else 'are'} not above 0 and at most 1, for example "
            f"{value[wrong[0]]:g} of {shown(items.ids[int(wrong[0])])}: it is the probability that "
            "an item was seen"
        )
    return _fitted(pl.DataFrame({"item": items.ids, "value": value}), items, table)


def _items(items: Items, table: Table) -> Items:
    frames = (items.ids.to_frame("item"), items.categories, items.titles)
    ids, categories, titles = (
        None if frame is None else _fitted(frame, items, table) for frame in frames
    )
    assert ids is not None
    return replace(items, ids=ids["item"], categories=categories, titles=titles)
