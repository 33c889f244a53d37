"""Arrays as series."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt
import polars as pl

__all__ = ["series"]

_FEW = 1000
_TYPES = {"int64": "Int64", "float64": "Float64", "bool": "Boolean"}


def series(values: npt.NDArray[Any], name: str = "") -> pl.Series:
    """An array as a series; a short one by way of a list.

    Polars imports ``numpy.ma`` to read an array, which takes longer than a small evaluation.
    """
    if values.size > _FEW or values.dtype.name not in _TYPES:
        return pl.Series(name, values)
    return pl.Series(name, values.tolist(), getattr(pl, _TYPES[values.dtype.name]))
