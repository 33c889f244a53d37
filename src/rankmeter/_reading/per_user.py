"""Read per-user values computed elsewhere as one row per system, user, metric and run.

What ``--per-user`` writes is such a form.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from rankmeter._reading.columns import SYNONYMS, Columns, result_kind
from rankmeter._reading.forms import read_columns
from rankmeter._reading.frames import class_test
from rankmeter._reading.ids import to_ids
from rankmeter._reading.keyed import Keyed, find_column, labels_to_text, read_keyed
from rankmeter._reading.numbers import to_typed_series
from rankmeter._reading.table import POLARS, Kind, format_few
from rankmeter.errors import ColumnError, DataError, IdTypeError, InvalidValueError, UsageError
from rankmeter.errors._checks import brief, check_text, option_error

_ROLES: dict[str, list[str]] = {
    "user": sorted(SYNONYMS["user"]),
    "system": ["system", "model", "method", "algorithm"],
    "metric": ["metric", "measure"],
    "value": ["value", "score"],
    "cluster": ["cluster"],
    "seed": ["seed", "run"],
}
_TEXTS = ("system", "metric", "seed")
VALUE = "value"
"""The metric of values without a name."""
_is_series = class_test("pandas", "Series")


class PerUser(NamedTuple):
    """Rows of ``system``, ``user``, ``metric``, ``seed`` and ``value``, without duplicate keys.

    `clusters` has a label for each user, if the data have any; `counts` has rows without a value,
    and `kind` that of the frame that came in, or of the first one.
    """

    frame: pl.DataFrame
    clusters: pl.DataFrame | None
    counts: dict[str, int]
    kind: Kind = POLARS


def read_per_user(data: object, *, columns: Mapping[str, str] | None = None) -> PerUser:
    """Read a frame or file, or a mapping from system to the values of its users."""
    columns = {} if columns is None else columns
    if not isinstance(columns, Mapping):
        raise option_error("columns", "a mapping from role to column name", columns)
    if unknown := [role for role in columns if role not in _ROLES]:
        roles = ", ".join(_ROLES)
        raise UsageError(f"unknown role {brief(unknown[0])} in columns=; the roles are {roles}")
    if isinstance(data, Mapping):
        systems = [(check_text("systems", str(name)), values) for name, values in data.items()]
        runs = [
            _read_run(name, *run, columns)
            for name, values in systems
            for run in _number_runs(values)
        ]
        if not runs:
            raise DataError("there are no values: expected a mapping from system to values")
    else:
        runs = [_read_table(data, columns, {"seed": "1"})]
    frames, kinds = zip(*runs, strict=True)
    if len({frame["user"].dtype for frame in frames}) > 1:
        raise IdTypeError("some systems have integers as users and others have text: convert them")
    frame, clusters = pl.concat(frames, how="diagonal"), None
    if "cluster" in frame.columns:
        clusters = frame.select("user", "cluster").drop_nulls().unique()
    filled = frame.select(*_TEXTS, "user", "value").drop_nulls("value")
    missing = frame.height - filled.height
    _refuse_invalid_rows(filled)
    return PerUser(filled, clusters, {"missing_values": missing} if missing else {}, kinds[0])


def _refuse_invalid_rows(frame: pl.DataFrame) -> None:
    """Refuse infinite values and repeated users."""
    if frame.is_empty():
        raise DataError("there are no values")
    if infinite := int(frame["value"].is_infinite().sum()):
        raise InvalidValueError(f"{infinite} of {frame.height} values are infinite")
    part = frame.group_by(_TEXTS).agg(pl.col("user").n_unique(), n=pl.len())
    if (part["user"] < part["n"]).any():
        keys = [*_TEXTS, "user"]
        repeated = frame.filter(frame.select(keys).is_duplicated())
        row = repeated.sort(keys).row(0, named=True)
        raise DataError(
            f"{repeated.height} rows repeat a user: user {brief(row['user'])} of system "
            f"{row['system']} has two values of {row['metric']}"
        )


def _number_runs(data: Any) -> list[tuple[str, Any]]:
    """Number the runs of a system; a list of arrays, mappings or frames has several runs."""
    number = int | float | np.number | str | None
    several = isinstance(data, list | tuple) and data and not isinstance(data[0], number)
    if not several and not (isinstance(data, np.ndarray) and data.ndim == 2):
        return [("1", data)]
    return [(str(seed), run) for seed, run in enumerate(data, 1)]


def _read_run(
    name: str, seed: str, data: Any, columns: Mapping[str, str]
) -> tuple[pl.DataFrame, Kind]:
    """Read the values of one run of a system; return the rows and the kind of frame."""
    texts = {"system": name, "seed": seed}
    is_file = isinstance(data, str) or hasattr(data, "__fspath__")
    if is_file or (hasattr(data, "columns") and not isinstance(data, Mapping)):
        return _read_table(data, columns, texts)
    kind, users = Kind(is_pandas=bool(_is_series(data))), None
    if isinstance(data, Mapping):
        users, data = [*data], [*data.values()]
    elif kind.is_pandas:
        users, data = data.index.tolist(), data.tolist()
    values = _values_from_python(data, name)
    column = pl.Series(np.arange(len(values))) if users is None else users
    keys = to_ids(column, "user", f"the values of {name}")
    return _rows_by_metric([keys], {VALUE: values}, texts), kind


def _values_from_python(values: Any, name: str) -> pl.Series:
    """Convert values to Float64; None and NaN are missing."""
    try:
        if not (isinstance(values, np.ndarray) and values.dtype.kind in "biuf"):
            values = [math.nan if v is None else v for v in values]
        numbers = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.empty((0, 0))
    if numbers.ndim != 1:
        raise InvalidValueError(
            f"the values of {name} must be numbers, one for each user, got {brief(values)}"
        )
    return pl.Series(VALUE, numbers).fill_nan(None)


def _rows_by_metric(
    keys: list[pl.Series], values: Mapping[str, pl.Series], texts: Mapping[str, str]
) -> pl.DataFrame:
    """Create a row for each value of each metric; `texts` are the same in all rows."""
    table = pl.DataFrame(keys)
    frames = []
    for metric, column in values.items():
        constants = {"metric": metric, **texts}.items()
        names = {role: pl.lit(word) for role, word in constants if role not in table.columns}
        frames.append(table.with_columns(column.alias("value"), **names))
    return pl.concat(frames)


def _read_table(
    data: Any, columns: Mapping[str, str], texts: Mapping[str, str]
) -> tuple[pl.DataFrame, Kind]:
    """Read a table with a column of values or one per metric; return rows and frame kind."""
    read = read_columns(data, "users")
    roles = _find_roles(read, columns)
    if "system" not in {*texts, *roles}:
        raise ColumnError(
            f"{read.source} has no column for the system: it has {format_few(read.names)}. Name "
            f"the systems, {{'A': …, 'B': …}}, or name the column, columns={{'system': …}}"
        )
    metrics = {name: name for name in read.names if name not in roles.values()}
    if "value" in roles:
        metrics = {VALUE: roles.pop("value")}
    roles = {role: name for role, name in roles.items() if role != "system" or role not in texts}
    if not metrics:
        raise ColumnError(f"{read.source} has no column of values: it has {format_few(read.names)}")
    rows = read_keyed(read, {**roles, **{f"of {metric}": name for metric, name in metrics.items()}})
    kind = result_kind(read, roles)
    keys = [rows.keys]
    for role in [role for role in rows.columns if role in roles]:
        if role == "cluster":
            keys.append(labels_to_text(rows.columns[role], role, rows.source).alias(role))
            continue
        names = to_typed_series(rows.columns[role], role).cast(pl.String)
        if names.null_count():
            raise DataError(f"the {role} is missing in some rows of {rows.source}")
        keys.append(names.alias(role))
    values = {
        metric: _values_from_column(rows, f"of {metric}", name) for metric, name in metrics.items()
    }
    return _rows_by_metric(keys, values, texts), kind


def _find_roles(read: Columns, columns: Mapping[str, str]) -> dict[str, str]:
    """Find the column of each role; the role ``user`` is first."""
    roles = dict(columns)
    for role, name in roles.items():
        if name not in read.names:
            raise ColumnError(
                f"columns= names {brief(name)} as the {role}, and {read.source} has "
                f"{format_few(read.names)}"
            )
    for role, names in _ROLES.items():
        if role not in roles and (name := find_column(read, role, names)):
            roles[role] = name
    if "user" not in roles:
        raise ColumnError(f"{read.source} has no column user: it has {format_few(read.names)}")
    return {"user": roles.pop("user"), **roles}


def _values_from_column(rows: Keyed, role: str, name: str) -> pl.Series:
    """Convert a column of numbers to Float64 with nulls."""
    series = to_typed_series(rows.columns[role], name, untyped=rows.untyped)
    if not (series.dtype.is_numeric() or series.dtype == pl.Null):
        raise InvalidValueError(
            f"column {brief(name)} of {rows.source} must hold numbers, got {series.dtype} such as "
            f"{brief(series.drop_nulls().first())}"
        )
    return series.cast(pl.Float64).fill_nan(None)
