"""Check ids: integers stay integers, names stay strings, other values are refused."""

from __future__ import annotations

import numbers
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from enum import Enum
from typing import Any, TypeVar
from uuid import UUID

import numpy as np
import polars as pl

from rankmeter._reading.columns import Column
from rankmeter._reading.table import integers_from_text, refuse_values
from rankmeter.errors import IdTypeError, InvalidValueError
from rankmeter.errors._checks import brief

_T = TypeVar("_T")

_EXACT = {"bfloat16": 2**8, "float16": 2**11, "float32": 2**24, "float64": 2**53}
"""The largest integer up to which a float type has every integer."""
_NARROW = _EXACT.keys() - {"float64"}  # types whose values arrive as wider floats
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_NULLS = frozenset({"NoneType", "NAType", "NaTType"})
# The first kind that fits: a bool is an integer to Python, and a timedelta64 to NumPy.
_KINDS: dict[str, tuple[type, ...]] = {
    "timedelta": (np.timedelta64,),
    "boolean": (bool, np.bool_),
    "string": (str,),
    "integer": (numbers.Integral,),
    "float": (numbers.Real, Decimal),
    "UUID": (UUID,),
}


def to_ids(
    column: Column,
    role: str,
    source: str,
    counts: Counter[str] | None = None,
    *,
    untyped: bool = False,
    otherwise: str = "",
) -> pl.Series:
    """Convert a column to ids: Int64, UInt64 or String without nulls, named after the role.

    `untyped` text may mean integers; `counts` gets ``float_user_ids`` or ``float_item_ids`` where
    integers came as floats. Values that cannot be ids, mixed types and missing values are refused;
    `otherwise` is the advice for booleans and numbers that are not integers.
    """
    counts = Counter() if counts is None else counts
    if isinstance(column, list):
        series = _ids_from_python(column, role, source, counts, otherwise)
    else:
        series = column
    if series.dtype.is_float() and series.is_nan().any():
        series = series.fill_nan(None)
    if series.null_count():
        needed = "an item" if role == "item" else "a user"
        remedy = f"Every row needs {needed}: fill or drop these rows."
        refuse_values(
            series.is_null(), f"{role} ids", source, "missing (null, None or NaN)", remedy
        )
    if series.dtype.is_float() or series.dtype.is_decimal():
        counts[f"float_{role}_ids"] += len(series)
        series = _floats_to_integer_ids(
            series, role, source, otherwise or "Is this the right column?"
        )
    return _to_canonical_ids(series, role, source, untyped=untyped, otherwise=otherwise).alias(role)


def _to_canonical_ids(
    series: pl.Series, role: str, source: str, *, untyped: bool, otherwise: str
) -> pl.Series:
    dtype = series.dtype
    if dtype == pl.String:
        read = integers_from_text(series) if untyped else None
        return series if read is None else read
    if dtype == pl.Int64:
        return series
    if dtype.is_integer():
        return _to_integer_ids(series, role, source)
    if dtype in (pl.Categorical, pl.Enum):
        return series.cast(pl.String)
    if len(series) == 0 and dtype == pl.Null:
        return series.cast(pl.Int64)
    todo = "Explode the lists into rows first." if dtype == pl.List else "Cast them to strings."
    if dtype == pl.Boolean and otherwise:
        todo = otherwise
    raise IdTypeError(
        f"The {role} ids of {source} are of type {dtype}, for example {brief(series.first())}; ids "
        f"are integers or strings. {todo}"
    )


def _to_integer_ids(series: pl.Series, role: str, source: str) -> pl.Series:
    for dtype in (pl.Int64, pl.UInt64):
        fitting = series.cast(dtype, strict=False)
        if fitting.null_count() == 0:
            return fitting
    outside = series.filter(series.cast(pl.Int64, strict=False).is_null())
    raise _too_large_ids_error(role, source, outside[0])


def _floats_to_integer_ids(series: pl.Series, role: str, source: str, otherwise: str) -> pl.Series:
    """Convert floats or decimals to integers; refuse values that are not integers."""
    is_float = series.dtype.is_float()
    exact = series.cast(pl.Float64) if is_float else series
    broken = exact != exact.floor()  # Polars 2 leaves a Float16 as it is
    if is_float:
        broken |= series.is_infinite()
    wrong, remedy = "not integers", f"Ids are integers or strings. {otherwise}"
    refuse_values(broken, f"{role} ids", source, wrong, remedy, values=series, error=IdTypeError)
    if series.dtype.is_decimal():
        return series.cast(pl.Int128)
    _refuse_inexact_floats(series, str(series.dtype), role, source)
    return series.cast(pl.Int64)


def _refuse_inexact_floats(series: pl.Series, kind: str, role: str, source: str) -> None:
    wide = series.filter(series.is_finite() & (series.abs() >= _EXACT[kind.lower()]))
    if len(wide):
        raise _rounded_ids_error(role, source, wide[0], kind)


def refuse_rounded_ids(items: list[Any], dtype: object, source: str) -> None:
    """Refuse items of a narrow float type that are too large for exact integers."""
    kind = str(dtype).rpartition(".")[2].lower()  # torch.float16, Float32
    if kind in _NARROW:
        for item in items:
            if isinstance(item, float) and abs(item) >= _EXACT[kind]:
                raise _rounded_ids_error("item", source, item, kind)


def _rounded_ids_error(role: str, source: str, value: object, kind: str) -> IdTypeError:
    return IdTypeError(
        f"The {role} ids of {source} are floats of {_EXACT[kind.lower()]} or more, for example "
        f"{brief(value)}, where {kind} cannot hold every integer: some ids may already be wrong. "
        f"Keep them as integers or strings from the start."
    )


def _too_large_ids_error(role: str, source: str, value: object) -> IdTypeError:
    return IdTypeError(
        f"The {role} ids of {source} hold {brief(value)}, which no 64-bit integer can hold "
        f"together with the others. Cast the ids to strings."
    )


# ---------------------------------------------------------------------------------------------
# Python objects


def is_null(value: object) -> bool:
    """Whether a Python object is a missing value: None, NaN, NA or NaT of pandas."""
    if isinstance(value, Decimal):
        return value.is_nan()  # a signaling NaN cannot be compared
    missing = isinstance(value, float | np.floating) and value != value  # noqa: PLR0124
    return missing or type(value).__name__ in _NULLS


def type_names(values: Sequence[object]) -> set[str]:
    """Kinds of the values, in words; NaN among other values is null."""
    types = {_type_name(kind) for kind in set(map(type, values))}
    floats = (value for value in values if _type_name(type(value)) == "float")
    if "float" in types and len(types) > 1 and all(map(is_null, floats)):
        types = types - {"float"} | {"null"}
    return types


def _type_name(kind: type) -> str:
    if kind.__name__ in _NULLS:
        return "null"
    return next((word for word, types in _KINDS.items() if issubclass(kind, types)), kind.__name__)


def convert_values(
    values: Sequence[Any], types: set[str], convert: Callable[[Any], _T]
) -> list[_T | None]:
    """Convert the values; None where a value is missing."""
    if "null" in types:
        return [None if is_null(value) else convert(value) for value in values]
    return list(map(convert, values))


def to_floats(values: Sequence[Any], types: set[str]) -> pl.Series:
    """Convert numbers to Float64; integers beyond the range become infinite, as in text."""
    try:
        return pl.Series(convert_values(values, types, float), dtype=pl.Float64)
    except (OverflowError, ValueError):
        return pl.Series(convert_values(values, types, _to_float), dtype=pl.Float64)


def _to_float(number: Any) -> float:
    if is_null(number):
        return float("nan")
    try:
        return float(number)
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")


def _ids_from_python(
    values: list[Any], role: str, source: str, counts: Counter[str], otherwise: str
) -> pl.Series:
    types = type_names(values)
    present = types - {"null"}
    if present == {"integer"}:
        return _ids_from_integers(convert_values(values, types, int), role, source)
    if present == {"string"}:  # a member of an enumeration of strings is its value
        return to_strings(convert_values(values, types, str.__str__), role, source)
    if present == {"UUID"}:
        return to_strings(convert_values(values, types, str), role, source)
    if present in ({"float"}, {"integer", "float"}):
        return _ids_from_floats(values, types, role, source, counts)
    if not present:
        return pl.Series([None] * len(values), dtype=pl.Null)
    raise _refused_ids_error(values, present, role, source, otherwise)


def _ids_from_integers(integers: list[int | None], role: str, source: str) -> pl.Series:
    for dtype in (pl.Int64, pl.UInt64):
        try:
            return pl.Series(integers, dtype=dtype)
        except (OverflowError, TypeError, pl.exceptions.PolarsError):
            continue
    raise _too_large_ids_error(role, source, max(integers, key=lambda value: abs(value or 0)))


def _ids_from_floats(
    values: list[Any], kinds_of: set[str], role: str, source: str, counts: Counter[str]
) -> pl.Series:
    """Convert floats to ids: decimals exactly, others as exactly as the narrowest float type."""
    types = set(map(type, values))
    if Decimal in types and not any(issubclass(kind, float | np.floating) for kind in types):
        integers = [None if is_null(value) else as_integer(value) for value in values]
        if integers.count(None) == sum(map(is_null, values)):
            counts[f"float_{role}_ids"] += len(values)
            return _ids_from_integers(integers, role, source)
    series = to_floats(values, kinds_of)
    for kind in {type_.__name__ for type_ in types} & _NARROW:
        _refuse_inexact_floats(series, kind, role, source)
    return series


def as_integer(value: Any) -> int | None:
    """Convert a number to the equal integer; None if no integer is equal."""
    try:
        integer = int(value)
    except (OverflowError, ValueError):  # infinite
        return None
    return integer if integer == value else None


def to_strings(values: list[str | None], role: str, source: str) -> pl.Series:
    """Convert texts to a series; half of a surrogate pair is refused."""
    try:
        return pl.Series(values, dtype=pl.String)
    except UnicodeEncodeError as error:
        row = next(row for row, text in enumerate(values) if text and _LONE_SURROGATE.search(text))
        raise InvalidValueError(
            f"The {role} id {brief(values[row])} of {source} in row {row + 1} holds half of a "
            f"surrogate pair, which is not a character: it was cut or decoded wrongly. Correct the "
            f"id."
        ) from error


def example_of_each_type(values: Sequence[object]) -> list[str]:
    """First value of each kind in words, missing values skipped: ``integer 1 in row 1``."""
    first: dict[str, tuple[int, object]] = {}
    for row, value in enumerate(values, start=1):
        if not is_null(value):
            first.setdefault(_type_name(type(value)), (row, value))
    return [f"{kind} {brief(first[kind][1])} in row {first[kind][0]}" for kind in sorted(first)]


def _refused_ids_error(
    values: list[object], present: set[str], role: str, source: str, otherwise: str
) -> IdTypeError:
    first = example_of_each_type(values)
    if len(present) > 1:
        return IdTypeError(
            f"The {role} ids of {source} mix types: {'; '.join(first)}. 7 and '7' would be two "
            f"different ids: convert all of them to integers or all to strings."
        )
    value = next(value for value in values if not is_null(value))
    if role == "item" and isinstance(value, Sequence | Mapping):
        todo = "If these are items with their scores or gains, pass {item: number} for each user."
    elif isinstance(value, Enum):
        todo = f"Use their values, such as {brief(value.value)}, if these are integers or strings."
    elif present == {"boolean"} and otherwise:
        todo = otherwise
    elif isinstance(value, tuple):
        todo = f"Join the parts to one string, such as {'|'.join(map(str, value))!r}."
    else:
        todo = "Convert them to strings."
    return IdTypeError(
        f"The {role} ids of {source} are of type {first[0]}; ids are integers or strings. {todo}"
    )
