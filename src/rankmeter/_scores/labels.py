"""Labels of the rows and columns of a frame: they are ids that are used, or the frame is refused.

A frame whose labels are 0, 1, 2 … in order is an array.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from rankmeter._reading.columns import names_for_role
from rankmeter._reading.frames import class_test, describe_type, translate_query_errors
from rankmeter._reading.table import format_few
from rankmeter._scores.array_files import row_values
from rankmeter.errors import DataError
from rankmeter.errors._checks import brief

IN_ARROW = "__index_level_0__"
"""The column of Arrow and Parquet with an index of pandas that has no name."""

_is_series = class_test("pandas", "Series")
_is_pandas = class_test("pandas", "DataFrame")


@dataclass(frozen=True, eq=False)
class Labelled:
    """An array of a frame, or other data as they are, with the labels of rows and columns.

    Attributes
    ----------
    values : any
        The array, or the data themselves if they are not a frame.
    rows, columns : list, optional
        The labels; None where they are 0, 1, 2 … or missing.
    framed : bool
        Whether the data are a frame or a series.
    textual : bool
        Whether the names of columns are always text, so that "7" may mean 7.
    """

    values: Any
    rows: list[Any] | None = None
    columns: list[Any] | None = None
    framed: bool = False
    textual: bool = False

    def ids(self, role: str, given: Any) -> Any:
        """The ids of rows (``user``) or columns (``item``): the labels, which `given` may repeat.

        Raises
        ------
        DataError
            If both are there and differ.
        """
        labels = self.rows if role == "user" else self.columns
        if labels is None or given is None:
            return labels if given is None else given
        ids = list(row_values(given, f"{role}s", len(labels)))
        same = [*map(str, ids)] == labels if role == "item" and self.textual else ids == labels
        if not same:
            raise DataError(
                f"`{role}s` has {format_few(ids)}, and the labels of the frame are "
                f"{format_few(labels)}: leave out `{role}s`, or pass .to_numpy() of the frame"
            )
        return given


def read_labels(data: Any, name: str) -> Labelled:
    """Separate the numbers of a frame from its labels; other data are returned as they are.

    In a frame of pandas they are the index and the columns. In other frames, and where the index
    counts the rows, a column with a name that is known for users has the labels of the rows.

    Raises
    ------
    DataError
        If a label has several levels, or a column has no numbers.
    """
    if _is_series(data):
        rows = _read_index(data.index, name)
        values = data.to_list() if data.dtype == object else data.to_numpy()
        return Labelled(values, rows, framed=True)
    if class_test("polars", "LazyFrame")(data):
        return _of_polars(data, name)
    if not hasattr(data, "columns"):
        return Labelled(data)
    if not _is_pandas(data) and hasattr(data, "index") and hasattr(data, "to_pandas"):
        data = data.to_pandas()
    if not _is_pandas(data):
        return _of_polars(data, name)
    rows, columns = _read_index(data.index, name), _read_index(data.columns, name)
    if rows is None and columns is not None:
        is_float = [dtype.kind == "f" for dtype in data.dtypes]
        position = _find_users(columns, is_float, name)
        if position is not None:
            rows = data.iloc[:, position].tolist()
            data = data.iloc[:, [n for n in range(len(columns)) if n != position]]
            columns = _read_index(data.columns, name)
    _refuse_text([dtype.kind in "iufb" for dtype in data.dtypes], data.columns, name)
    values = data.to_numpy()
    if values.dtype == object:  # of booleans and numbers, or of types with missing values
        values = data.to_numpy(dtype=np.float64, na_value=np.nan)
    return Labelled(values, rows, columns, framed=True)


def _of_polars(data: Any, name: str) -> Labelled:
    """Read a frame whose columns have names of text, and whose rows have none."""
    with translate_query_errors(describe_type(data)):
        frame = data.collect() if isinstance(data, pl.LazyFrame) else pl.DataFrame(data)
    rows, columns = None, frame.columns
    position = _find_users(columns, [kind.is_float() for kind in frame.dtypes], name)
    if position is not None:
        rows = frame.to_series(position).to_list()
        frame = frame.drop(columns[position])
    _refuse_text([t.is_numeric() or t == pl.Boolean for t in frame.dtypes], frame.columns, name)
    if {*frame.dtypes} != {pl.Boolean}:
        exact = [c for c, t in frame.schema.items() if t == pl.Boolean or t.is_decimal()]
        frame = frame.with_columns(pl.col(exact).cast(pl.Float64))
    names: list[Any] | None = frame.columns
    if names == [f"column_{number}" for number in range(frame.width)]:  # nobody named them
        names = None
    return Labelled(frame.to_numpy(), rows, names, framed=True, textual=True)


def _find_users(columns: Sequence[Any], is_float: Sequence[bool], name: str) -> int | None:
    """Position of the column with the users, which is not an item; None without such a column."""
    names = [*map(str, columns)]
    known = [IN_ARROW] if IN_ARROW in names else names_for_role("user", names)
    if len(known) > 1:
        raise DataError(
            f"`{name}` has {len(known)} columns that could be the users: {format_few(known)}. "
            "Drop or rename the others: each other column is an item"
        )
    items = [n for n in names_for_role("item", names) if not is_float[names.index(n)]]
    if known and items:
        raise DataError(
            f"`{name}` has a row for each pair of {known[0]!r} and {items[0]!r}, not for each "
            "user: pass the table itself to rankmeter.evaluate, without rm.Scores"
        )
    if known:
        return names.index(known[0])
    if len(names) > 1 and not is_float[0] and all(is_float[1:]):
        raise DataError(
            f"`{name}` has the column {names[0]!r}, which has another type than all others: rename "
            f"it to 'user' if it has the users, or cast it to floats if {names[0]!r} is an item"
        )
    return None


def _refuse_text(is_number: Sequence[bool], columns: Sequence[Any], name: str) -> None:
    if not all(is_number):
        wrong = [c for c, number in zip(columns, is_number, strict=True) if not number]
        raise DataError(
            f"`{name}` has the column {wrong[0]!r}, which has no numbers: each column but that of "
            "the users, called 'user' for example, is an item. Rename or drop it"
        )


def _read_index(index: Any, name: str) -> list[Any] | None:
    """The labels of an index of pandas; None if they are 0, 1, 2 … in order."""
    if index.nlevels > 1:
        raise DataError(
            f"`{name}` has labels of {index.nlevels} levels, such as {brief(index[0])}: keep one "
            "level, the ids of users or items"
        )
    return unless_positions(index.tolist())


def unless_positions(labels: list[Any] | None, *, textual: bool = False) -> list[Any] | None:
    """The labels, as text if `textual`; None if they are 0, 1, 2 … in order."""
    if labels is None:
        return None
    labels = [*map(str, labels)] if textual else labels
    positions: list[Any] = [*range(len(labels))]
    return None if labels == ([*map(str, positions)] if textual else positions) else labels


def align(data: Any, name: str, scores: Labelled) -> Any:
    """Bring the rows and columns of a frame into the order of the scores, by label.

    Data without labels are returned as they are.

    Raises
    ------
    DataError
        If the labels differ, or only one side has labels that are not 0, 1, 2 … in order.
    """
    other = read_labels(data, name)
    textual = scores.textual or other.textual
    rows, columns = scores.rows, unless_positions(scores.columns, textual=textual)
    if not other.framed:
        if scores.framed and (rows or columns):
            which, labels = ("rows", rows) if rows else ("columns", columns)
            raise DataError(
                f"`{name}` has positions, and the {which} of the scores are called "
                f"{format_few(labels or [])}: {BOTH_WAYS}"
            )
        return data
    values = other.values
    if (order := _order(rows, other.rows, "rows", name)) is not None:
        values = values[order] if isinstance(values, np.ndarray) else [values[n] for n in order]
    if np.ndim(values) == 1 or isinstance(values, list):  # ids of columns
        if columns:
            raise DataError(
                f"`{name}` has positions of columns, and these are called {format_few(columns)}: "
                f"{BOTH_WAYS}"
            )
        return values
    of_other = unless_positions(other.columns, textual=textual)
    order = _order(columns, of_other, "columns", name)
    return values if order is None else values[:, order]


BOTH_WAYS = (
    "pass .to_numpy() of the scores if positions are meant, or rm.Scores(scores) and a ground "
    "truth by id to rankmeter.evaluate"
)


def _order(
    wanted: list[Any] | None, given: list[Any] | None, what: str, name: str
) -> list[int] | None:
    """Positions of the wanted labels among those given; None if they are in this order."""
    if wanted == given:
        return None
    if wanted is None or given is None:
        here, there = (f"`{name}`", "the scores") if wanted is None else ("the scores", f"`{name}`")
        raise DataError(
            f"the {what} of {here} are called {format_few(given or wanted or [])}, and those of "
            f"{there} are 0, 1, 2 … by position: give both the same labels, or pass .to_numpy() of "
            "both if they have one order"
        )
    place = {label: position for position, label in enumerate(given)}
    if len({*wanted}) == len(wanted) == len(given) and place.keys() == {*wanted}:
        return [place[label] for label in wanted]
    missing = [label for label in wanted if label not in place]
    other = [label for label in given if label not in {*wanted}]
    found = [f"{len(missing):,} missing, such as {brief(missing[0])}"] if missing else []
    found += [f"{len(other):,} that the scores lack, such as {brief(other[0])}"] if other else []
    raise DataError(
        f"the {what} of `{name}` are not those of the scores: "
        f"{' and '.join(found) or 'some occur twice'}. Give both the same labels, for example with "
        "reindex(), or pass .to_numpy() of both if they have one order"
    )


def align_all(scores: Any, sides: Mapping[str, Any]) -> tuple[Labelled, dict[str, Any]]:
    """Read the labels of scores, and bring what belongs to them into the same order."""
    labelled = read_labels(scores, "scores")
    return labelled, {
        name: None if data is None else align(data, name, labelled) for name, data in sides.items()
    }


def without_labels(data: Any, name: str) -> Any:
    """The array of a frame whose labels are 0, 1, 2 … in order; other data as they are.

    Raises
    ------
    DataError
        If it has other labels.
    """
    read = read_labels(data, name)
    labels = read.rows or unless_positions(read.columns, textual=read.textual)
    if labels:
        raise DataError(
            f"a part of `{name}` is a frame with the labels {format_few(labels)}, which would be "
            "lost: pass .to_numpy() of each part, or one frame with all columns"
        )
    return read.values
