"""Read the side data that were given."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields, replace
from functools import cached_property

import numpy as np
import polars as pl

from rankmeter._reading.by_user import IdSeries
from rankmeter._reading.collapse import Collapse, read_collapse
from rankmeter._reading.items import Items, read_item_ids, read_item_numbers, read_items
from rankmeter._reading.keyed import Keyed, fit_ids
from rankmeter._reading.read import Interactions, read_rankings
from rankmeter._reading.table import Table
from rankmeter.errors import DataError, InvalidValueError
from rankmeter.errors._checks import brief, check_integer, counted


@dataclass(frozen=True, eq=False)
class Given:
    """Arguments as passed, None if not passed; each argument is read once."""

    train: object = None
    items: object = None
    catalogue: object = None
    baseline_lists: object = None
    propensity: object = None
    collapse: object = None

    def arguments(self) -> dict[str, object]:
        """The arguments by name."""
        return {argument.name: getattr(self, argument.name) for argument in fields(self)}

    def read_all(self) -> None:
        """Read all arguments now, before rankings are available."""
        for name, value in vars(type(self)).items():
            if isinstance(value, cached_property):
                getattr(self, name)

    @cached_property
    def interactions(self) -> Interactions | None:
        """The training data."""
        read = None if self.train is None else Interactions.read(self.train)
        if read is not None and read.frame.is_empty():
            raise DataError("train= has no interactions")
        return read

    @cached_property
    def features(self) -> Items | None:
        """Categories or features of the items."""
        read = None if self.items is None else read_items(self.items)
        if read is not None and not len(read.ids):
            raise DataError("items= has no items")
        return read

    @cached_property
    def n_items(self) -> int | None:
        """The size of the catalogue, if `catalogue` is a number."""
        number = self.catalogue
        if isinstance(number, str) and re.fullmatch(r"\d{1,40}", number):  # from the command line
            number = int(number)
        return check_integer("catalogue", number, least=1) if isinstance(number, int) else None

    @cached_property
    def catalogue_items(self) -> Keyed | None:
        """The items of the catalogue, if `catalogue` is not a number."""
        if self.catalogue is None or self.n_items is not None:
            return None
        read = read_item_ids(self.catalogue, "catalogue")
        if not len(read.keys):
            raise DataError("catalogue= has no items")
        return read

    @cached_property
    def baseline(self) -> Table | None:
        """Rankings of the baseline system."""
        return None if self.baseline_lists is None else read_rankings(self.baseline_lists)

    @cached_property
    def propensities(self) -> Items | None:
        """Propensities of the items."""
        return None if self.propensity is None else read_item_numbers(self.propensity, "propensity")

    @cached_property
    def collapse_rule(self) -> Collapse | None:
        """The rule for mapping ranked parts, such as chunks, to whole items."""
        return read_collapse(self.collapse)


@dataclass(frozen=True, eq=False)
class Side:
    """Side data, with ids of the same types as in rankings and ground truth.

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


def read_side(
    inputs: Given, table: Table, size: int | None = None, *, needs_catalogue: bool = False
) -> Side:
    """Read all passed side data, and convert ids to the id types of a table.

    Where a catalogue is needed and neither it nor its size was passed, it is the items of the
    training data.

    Raises
    ------
    DataError
        If data cannot be read with certainty, or their ids cannot match the known ones.
    """
    train, items, catalogue, baseline, propensity = None, None, None, None, None
    if inputs.interactions is not None:
        train = _fit_ids(inputs.interactions.frame, inputs.interactions, table)
    if inputs.features is not None:
        items = _fit_items(inputs.features, table)
    if inputs.catalogue_items is not None:
        catalogue = inputs.catalogue_items.fit_keys("item", table)
    if inputs.baseline is not None:
        rows = _fit_ids(inputs.baseline.frame, inputs.baseline, table)
        no_users = IdSeries(rows["user"].clear())
        baseline = replace(inputs.baseline.with_rows(rows), empty_users=no_users)
    if inputs.propensities is not None:
        propensity = _fit_propensity(inputs.propensities, table)
    notes = () if items is None else items.notes
    notes += () if inputs.collapse_rule is None else (inputs.collapse_rule.note,)
    size = size if inputs.n_items is None else inputs.n_items
    if needs_catalogue and train is not None and catalogue is None and size is None:
        catalogue = train["item"].unique()
        notes += (f"catalogue: the {counted(len(catalogue), 'item')} of the training data",)
    return Side(train, items, catalogue, size, baseline, propensity, notes)


def _fit_ids(rows: pl.DataFrame, read: Interactions | Table | Items, table: Table) -> pl.DataFrame:
    """Convert the ids in rows to the id types of a table; `read` is the source of the rows."""
    return rows.with_columns(
        fit_ids(rows[role], role, table, read.source, textual=read.textual)
        for role in ("user", "item")
        if role in rows.columns
    )


def _fit_propensity(items: Items, table: Table) -> pl.DataFrame:
    value = items.features[:, 0]
    wrong = np.flatnonzero(~((value > 0) & (value <= 1)))
    if wrong.size:
        raise InvalidValueError(
            f"{counted(wrong.size, 'propensity', 'propensities')} of {items.source} "
            f"{'is' if wrong.size == 1 else 'are'} not above 0 and at most 1, for example "
            f"{value[wrong[0]]:g} of {brief(items.ids[int(wrong[0])])}: it is the probability that "
            "an item was seen"
        )
    return _fit_ids(pl.DataFrame({"item": items.ids, "value": value}), items, table)


def _fit_items(items: Items, table: Table) -> Items:
    frames = (items.ids.to_frame("item"), items.categories, items.titles)
    ids, categories, titles = (
        None if frame is None else _fit_ids(frame, items, table) for frame in frames
    )
    assert ids is not None
    return replace(items, ids=ids["item"], categories=categories, titles=titles)
