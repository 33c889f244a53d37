"""Read the side data that were given."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any

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


def read_side(given: Given, known: Table, size: int | None = None) -> Side:
    """Read all that was given; ids get the types of a `known` table.

    Raises
    ------
    DataError
        If data cannot be read with certainty, or their ids cannot match the known ones.
    """
    train, items, catalogue, baseline, propensity = None, None, None, None, None
    if given.train is not None:
        train = _train(Interactions.read(given.train), known)
    if given.items is not None:
        items = _items(read_items(given.items), known)
    number = given.catalogue
    if isinstance(number, str) and re.fullmatch(r"\d{1,40}", number):  # from the command line
        number = int(number)
    if isinstance(number, int):
        size = integer("catalogue", number, least=1)
    elif given.catalogue is not None:
        ids, source, textual = read_item_ids(given.catalogue, "catalogue")
        if not len(ids):
            raise DataError("catalogue= has no items")
        catalogue = fit_ids(ids, "item", known, source, textual=textual)
    if given.baseline_lists is not None:
        baseline = _baseline(read_rankings(given.baseline_lists), known)
    if given.propensity is not None:
        propensity = _propensity(read_item_numbers(given.propensity, "propensity"), known)
    collapsing = read_collapse(given.collapse)
    notes = () if items is None else items.notes
    notes += () if collapsing is None else (collapsing.note,)
    return Side(train, items, catalogue, size, baseline, propensity, notes)


def _train(read: Interactions, known: Table) -> pl.DataFrame:
    return read.frame.with_columns(
        fit_ids(read.frame[role], role, known, read.source, textual=read.textual)
        for role in ("user", "item")
    )


def _baseline(table: Table, known: Table) -> Table:
    rows = table.frame.with_columns(
        fit_ids(table.frame[role], role, known, table.source, textual=table.textual)
        for role in ("user", "item")
    )
    return replace(table.with_rows(rows), empty_users=IdSeries(rows["user"].clear()))


def _propensity(items: Items, known: Table) -> pl.DataFrame:
    value = items.features[:, 0]
    wrong = np.flatnonzero(~((value > 0) & (value <= 1)))
    if wrong.size:
        raise InvalidValueError(
            f"{counted(wrong.size, 'propensity', 'propensities')} of {items.source} "
            f"{'is' if wrong.size == 1 else 'are'} not above 0 and at most 1, for example "
            f"{value[wrong[0]]:g} of {shown(items.ids[int(wrong[0])])}: it is the probability that "
            "an item was seen"
        )
    ids = fit_ids(items.ids, "item", known, items.source, textual=items.textual)
    return pl.DataFrame({"item": ids, "value": value})


def _items(items: Items, known: Table) -> Items:
    def fit(ids: pl.Series) -> pl.Series:
        return fit_ids(ids, "item", known, items.source, textual=items.textual)

    categories: Any = items.categories
    if categories is not None:
        categories = categories.with_columns(fit(categories["item"]))
    titles = items.titles
    if titles is not None:
        titles = titles.with_columns(fit(titles["item"]))
    ids = fit(items.ids)
    return replace(items, ids=ids, categories=categories, titles=titles)
