"""Arrays and texts as series."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy.typing as npt
import polars as pl

from rankmeter._ingest._messages import short
from rankmeter.errors import InvalidValueError

__all__ = ["series", "strings"]

_FEW = 1000
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_TYPES = {"int64": pl.Int64, "float64": pl.Float64, "bool": pl.Boolean}


def series(values: npt.NDArray[Any], name: str = "") -> pl.Series:
    """An array as a series; a short one by way of a list.

    Polars imports ``numpy.ma`` to read an array, which takes longer than a small evaluation.
    """
    if values.size > _FEW or values.dtype.name not in _TYPES:
        return pl.Series(name, values)
    return pl.Series(name, values.tolist(), _TYPES[values.dtype.name])


def strings(
    values: Sequence[str | None], role: str, source: str, *, in_rows: bool = True
) -> pl.Series:
    """Texts as a series; half of a surrogate pair is refused."""
    try:
        return pl.Series(values, dtype=pl.String)
    except UnicodeEncodeError as error:
        at = next(at for at, text in enumerate(values) if text and _LONE_SURROGATE.search(text))
        where = f" in row {at + 1}" if in_rows else ""
        raise InvalidValueError(
            f"The {role} id {short(values[at])} of {source}{where} holds half of a surrogate pair, "
            f"which is not a character: it was cut or decoded wrongly. Correct the id."
        ) from error
