"""Read the side data that were given."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING

import polars as pl

from rankmeter._reading.by_user import IdSeries
from rankmeter._reading.read import Interactions, read_rankings
from rankmeter._reading.table import Table
from rankmeter.errors import DataError
from rankmeter.errors._checks import check_integer, counted

if TYPE_CHECKING:
    from rankmeter._reading.collapse import Collapse
    from rankmeter._reading.items import Items
    from rankmeter._reading.keyed import Keyed


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
        if self.items is None:
            return None
        from rankmeter._reading.items import read_items

        read = read_items(self.items)
        if not len(read.ids):
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
        from rankmeter._reading.items import read_item_ids

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
        if self.propensity is None:
            return None
        from rankmeter._reading.items import read_item_numbers

        return read_item_numbers(self.propensity, "propensity")

    @cached_property
    def collapse_rule(self) -> Collapse | None:
        """The rule for mapping ranked parts, such as chunks, to whole items."""
        if self.collapse is None:
            return None
        from rankmeter._reading.collapse import read_collapse

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
    size = size if inputs.n_items is None else inputs.n_items
    if all(value is None for value in inputs.arguments().values()):
        return Side(size=size)
    from rankmeter._engine.side_ids import fit_frame, fit_items, fit_propensity

    train, items, catalogue, baseline, propensity = None, None, None, None, None
    if inputs.interactions is not None:
        train = fit_frame(inputs.interactions.frame, inputs.interactions, table)
    if inputs.features is not None:
        items = fit_items(inputs.features, table)
    if inputs.catalogue_items is not None:
        catalogue = inputs.catalogue_items.fit_keys("item", table)
    if inputs.baseline is not None:
        rows = fit_frame(inputs.baseline.frame, inputs.baseline, table)
        no_users = IdSeries(rows["user"].clear())
        baseline = replace(inputs.baseline.with_rows(rows), empty_users=no_users)
    if inputs.propensities is not None:
        propensity = fit_propensity(inputs.propensities, table)
    notes = () if items is None else items.notes
    if needs_catalogue and train is not None and catalogue is None and size is None:
        catalogue = train["item"].unique()
        notes += (f"catalogue: the {counted(len(catalogue), 'item')} of the training data",)
    return Side(train, items, catalogue, size, baseline, propensity, notes)
