"""Records that hold rankings and ground truth, and rows of one table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import Any

from rankmeter._annexes import annex
from rankmeter._reading.columns import Side, names_for_role, names_list
from rankmeter._reading.forms import read_columns
from rankmeter._reading.objects import first_object


def is_records(data: object) -> bool:
    """Whether an object or a JSON (Lines) file holds both rankings and truth, as records.

    Such as ``[{"predict_list": [...], "ground_truth": {...}}, ...]``. The first record may lack one
    of the two: reading that side reports it.
    """
    return _are_of_both_sides(lists_of_records(data))


def lists_of_records(data: object) -> list[str]:
    """Names of the fields with lists, of an object, a frame or a JSON (Lines) file."""
    if isinstance(data, str | PathLike):
        first = annex("_formats.files").first_json_object(data)
    else:
        first = read_columns(data, "truth") if hasattr(data, "columns") else first_object(data)
    return [] if first is None else [name for name in first.names if name in first.nested]


def _are_of_both_sides(names: Iterable[str]) -> bool:
    """Whether lists are named for both sides, or one of them so that it can be of one side only."""
    sides: tuple[Side, Side] = ("rankings", "truth")
    lists = [name for name in names if any(names_list(name, side) for side in sides)]
    certain = any(names_list(name, side, strict=True) for name in lists for side in sides)
    return certain or len(lists) > 1


def is_table(objects: Sequence[Any], columns: Mapping[str, Any] | None) -> bool:
    """Whether objects in a list are the rows of one table: by their names, or by `columns`."""
    first = first_object(objects)
    if first is None:
        return not objects
    given = [*(columns or {}).values()]
    named = [
        name
        for one in given
        for name in (one.values() if isinstance(one, Mapping) else [one])
        if isinstance(name, str)  # others are refused where the roles are found
    ]
    is_row = bool(names_for_role("user", first.names)) or not {*named}.isdisjoint(first.names)
    return is_row or any(
        names_list(name, "rankings") or names_list(name, "truth", strict=True)
        for name in first.nested
    )
