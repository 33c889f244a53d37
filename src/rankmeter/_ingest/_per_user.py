"""Per-user values that were computed elsewhere, → one row per system, user, metric, run.

What ``--per-user`` writes is such a form.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from rankmeter._checks import refused, shown
from rankmeter._ingest._columns import Columns, kind_of, named, plain
from rankmeter._ingest._forms import find
from rankmeter._ingest._frames import made_by
from rankmeter._ingest._ids import ids
from rankmeter._ingest._kind import POLARS, Kind
from rankmeter._ingest._labels import as_text
from rankmeter._ingest._messages import some
from rankmeter._ingest._numbers import typed
from rankmeter._ingest._spark import is_spark, kind_in_spark
from rankmeter.errors import ColumnError, DataError, IdTypeError, InvalidValueError, UsageError

_ROLES = {
    "system": frozenset({"system", "model", "method", "algorithm"}),
    "metric": frozenset({"metric", "measure"}),
    "value": frozenset({"value", "score"}),
    "cluster": frozenset({"cluster"}),
    "seed": frozenset({"seed", "run"}),
}
VALUE = "value"
"""The metric of values without a name."""


class PerUser(NamedTuple):
    """Rows of ``system``, ``user``, ``metric``, ``seed`` and ``value``, each combination once.

    `clusters` has a label for each user, if the data have any; `counts` has rows without a value,
    and `kind` that of the frame that came in, or of the first one.
    """

    frame: pl.DataFrame
    clusters: pl.DataFrame | None
    counts: dict[str, int]
    kind: Kind = POLARS


def read_per_user(data: object, *, columns: Mapping[str, str] | None = None) -> PerUser:
    """Read a frame or file, or a mapping from system to the values of its users."""
    if isinstance(columns, Mapping) and (odd := sorted(set(columns) - {"user", *_ROLES})):
        known = ", ".join(["user", *_ROLES])
        raise UsageError(f"unknown role {shown(odd[0])} in columns=; the roles are {known}")
    if columns is not None and not isinstance(columns, Mapping):
        raise refused("columns", "a mapping from role to column name", columns)
    counts: Counter[str] = Counter()
    if isinstance(data, Mapping):
        parts = [part for name, one in data.items() for part in _of_system(str(name), one, columns)]
        if not parts:
            raise DataError("there are no values: expected a mapping from system to values")
    else:
        parts = [_from_columns(find(data, "users"), columns, None, 1)]
    kinds = {part["user"].dtype for part in parts}
    if len(kinds) > 1:
        raise IdTypeError("some systems have integers as users and others have text: convert them")
    frame = pl.concat(parts, how="diagonal")
    clusters = None
    if "cluster" in frame.columns:
        clusters = frame.select("user", "cluster").drop_nulls().unique()
        frame = frame.drop("cluster")
    if missing := frame["value"].null_count():
        counts["missing_values"] = missing
        frame = frame.drop_nulls("value")
    if frame.is_empty():
        raise DataError("there are no values")
    if infinite := int(frame["value"].is_infinite().sum()):
        raise InvalidValueError(f"{infinite} of {frame.height} values are infinite")
    keys = ["system", "metric", "seed", "user"]
    part = frame.group_by(keys[:3]).agg(pl.col("user").n_unique(), n=pl.len())
    if (part["user"] < part["n"]).any():
        twice = frame.filter(frame.select(keys).is_duplicated())
        row = twice.sort(keys).row(0, named=True)
        raise DataError(
            f"{twice.height} rows repeat a user: user {shown(row['user'])} of system "
            f"{row['system']} has two values of {row['metric']}"
        )
    first = next(iter(data.values())) if isinstance(data, Mapping) else data
    return PerUser(frame.select(*keys, "value"), clusters, dict(counts), _kind(first, columns))


def _kind(data: object, columns: Mapping[str, str] | None) -> Kind:
    """The kind of the values of all systems, or of one."""
    if made_by("pandas", "Series")(data):
        return Kind(is_pandas=True)
    if not made_by("pandas", "DataFrame")(data) and not is_spark(data):
        return POLARS
    found = find(data, "users")
    roles = _roles(found, columns)
    return kind_in_spark(data, roles) if is_spark(data) else kind_of(found, roles)


def _of_system(name: str, data: Any, columns: Mapping[str, str] | None) -> list[pl.DataFrame]:
    """The values of one system; a list of arrays, mappings or frames is a list of its runs."""
    runs = [data]
    number = int | float | np.number | str | None
    if isinstance(data, list | tuple) and data and not isinstance(data[0], number):
        runs = list(data)
    elif isinstance(data, np.ndarray) and data.ndim == 2:
        runs = [*data]
    return [_one_run(name, one, columns, seed) for seed, one in enumerate(runs, 1)]


def _one_run(name: str, data: Any, columns: Mapping[str, str] | None, seed: int) -> pl.DataFrame:
    by_user: tuple[list[Any], list[Any]] | None = None
    if isinstance(data, Mapping):
        by_user = list(data), list(data.values())
    elif made_by("pandas", "Series")(data):
        by_user = data.index.tolist(), data.tolist()
    if by_user is not None:
        users = ids(by_user[0], "user", f"the values of {name}", Counter())
        return _frame(name, users, seed, {VALUE: _numbers(by_user[1], name)})
    if hasattr(type(data), "columns") or isinstance(data, str) or hasattr(data, "__fspath__"):
        return _from_columns(find(data, "users"), columns, name, seed)
    values = _numbers(data, name)
    users = pl.Series("user", np.arange(len(values)))
    return _frame(name, users, seed, {VALUE: values})


def _numbers(values: Any, name: str) -> pl.Series:
    """Values as Float64; None and NaN are missing."""
    try:
        found = np.array([math.nan if v is None else v for v in values], dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidValueError(
            f"the values of {name} must be numbers, one for each user, got {shown(values)}"
        ) from None
    if found.ndim != 1:
        raise InvalidValueError(f"the values of {name} must be one number for each user")
    return pl.Series(VALUE, found).fill_nan(None)


def _frame(
    name: str, users: pl.Series, seed: int, metrics: Mapping[str, pl.Series]
) -> pl.DataFrame:
    parts = [
        pl.DataFrame({"user": users, "value": values}).with_columns(
            pl.lit(name).alias("system"),
            pl.lit(metric).alias("metric"),
            pl.lit(str(seed)).alias("seed"),
        )
        for metric, values in metrics.items()
    ]
    return pl.concat(parts)


def _from_columns(
    found: Columns, columns: Mapping[str, str] | None, system: str | None, seed: int
) -> pl.DataFrame:
    """Rows of a table: a column for the value, or a column for each metric."""
    roles = _roles(found, columns)
    if system is None and "system" not in roles:
        raise ColumnError(
            f"{found.source} has no column for the system: it has {some(found.names)}. Name the "
            "systems, {'A': …, 'B': …}, or name the column, columns={'system': …}"
        )
    others = [name for name in found.names if name not in roles.values()]
    wide = [] if "value" in roles else [*others]
    if "value" not in roles and not wide:
        raise ColumnError(f"{found.source} has no column of values: it has {some(found.names)}")
    fetched = found.fetch([*roles.values(), *wide])
    users = ids(fetched[roles["user"]], "user", found.source, Counter(), untyped=found.untyped)
    table = {"user": users}
    if "cluster" in roles:
        labels = as_text(fetched[roles["cluster"]], "cluster", found.source)
        table["cluster"] = labels.alias("cluster")
    for role in ("system", "metric", "seed"):
        if role in roles:
            text = typed(fetched[roles[role]], role).cast(pl.String)
            table[role] = text.alias(role)
    values = {name: _column(fetched[name], name, found) for name in (wide or [roles["value"]])}
    rows = []
    for name, column in values.items():
        part = pl.DataFrame({**table, "value": column})
        if "metric" not in roles:
            part = part.with_columns(pl.lit(name if wide else VALUE).alias("metric"))
        if system is not None:
            part = part.with_columns(pl.lit(system).alias("system"))
        if "seed" not in roles:
            part = part.with_columns(pl.lit(str(seed)).alias("seed"))
        rows.append(part)
    frame = pl.concat(rows)
    for role in ("system", "metric", "seed"):
        if frame[role].null_count():
            raise DataError(f"the {role} is missing in some rows of {found.source}")
    return frame


def _roles(found: Columns, columns: Mapping[str, str] | None) -> dict[str, str]:
    chosen = dict(columns or {})
    for role, name in chosen.items():
        if name not in found.names:
            raise ColumnError(
                f"columns= names {shown(name)} as the {role}, and {found.source} has "
                f"{some(found.names)}"
            )
    for role in ("user", *_ROLES):
        if role in chosen:
            continue
        names = (
            named("user", found.names)
            if role == "user"
            else [name for name in found.names if plain(name) in _ROLES[role]]
        )
        if len(names) > 1:
            raise ColumnError(f"{found.source} has several columns for the {role}: {some(names)}")
        if names:
            chosen[role] = names[0]
    if "user" not in chosen:
        raise ColumnError(f"{found.source} has no column user: it has {some(found.names)}")
    return chosen


def _column(values: pl.Series | list[Any], name: str, found: Columns) -> pl.Series:
    """A column of numbers as Float64 with nulls."""
    series = typed(values, name, untyped=found.untyped)
    if not (series.dtype.is_numeric() or series.dtype == pl.Null):
        raise InvalidValueError(
            f"column {shown(name)} of {found.source} must hold numbers, got {series.dtype} such as "
            f"{shown(series.drop_nulls().first())}"
        )
    return series.cast(pl.Float64).fill_nan(None)
