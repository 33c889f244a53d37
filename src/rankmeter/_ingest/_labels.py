"""Data about users: a label for each, or a selection of users."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import polars as pl

from rankmeter._checks import shown
from rankmeter._ingest._columns import SYNONYMS, Column, Columns, Side, named, resolve
from rankmeter._ingest._forms import find, is_accepted
from rankmeter._ingest._frames import made_by
from rankmeter._ingest._ids import as_integer, converted, examples, ids, is_null, kinds, strings
from rankmeter._ingest._messages import some
from rankmeter._ingest._numbers import typed
from rankmeter._ingest._table import Table
from rankmeter.errors import DataError, IdTypeError, UsageError

_is_series, _is_frame = made_by("pandas", "Series"), made_by("pandas", "DataFrame")


Kind: TypeAlias = Literal["segment", "cluster"]


class Labels(NamedTuple):
    """The label of each user, as String or, if the labels have an order, Enum; null without one.

    `counts` has ``users_without_segment`` (or ``cluster``) and ``segments_of_other_users``: users
    that have a label but are not evaluated. Zeros are left out.
    """

    values: pl.Series
    counts: dict[str, int]


def read_labels(data: object, column: Kind, users: pl.Series, *, textual: bool = False) -> Labels:
    """Read a label for each of `users` (each once): a segment or a cluster.

    The data is a mapping from user to label, a frame or file with the columns ``user`` and
    `column`, or pairs of a user and a label. Of two columns, one may have any name that is not the
    name of something else. `textual` says whether the ids of `users` were read
    from text. It is an error if no user has a label, if one has two, if labels are of several
    types, or if the ids of one side are integers, those of the other strings, and neither side is
    text.
    """
    side: Side = "segments" if column == "segment" else "clusters"
    if not is_accepted(data):
        raise UsageError(
            f"`{side}` must be a mapping from user to label, or a frame or file with the columns "
            f"user and {column}, got {shown(data)}"
        )
    found = find(data, side)
    roles = _two_columns(found, column) or resolve(found, side, None)
    columns = found.fetch(list(roles.values()))
    named = ids(columns[roles["user"]], "user", found.source, Counter(), untyped=found.untyped)
    labels = as_text(columns[roles[column]], column, found.source).alias(column)
    table = pl.DataFrame([named, labels]).drop_nulls(column).unique()
    if twice := table.filter(pl.col("user").is_duplicated()).sort("user", column).head(2).rows():
        (user, one), (_, other) = twice
        raise DataError(
            f"User {shown(user)} of {found.source} has two {side}, {shown(one)} and "
            f"{shown(other)}. Give each user one."
        )
    fitting = _fitted(table["user"], users, textual=textual or found.textual)
    if fitting is None:
        raise _apart(found.source, named, "the result", users)
    table = table.with_columns(fitting).drop_nulls("user")
    asked = users.to_frame("user")
    values = asked.join(table, on="user", how="left", maintain_order="left")[column]
    if values.null_count() == len(values):
        raise DataError(
            f"No user of the result is in any {column}: {found.source} has the users "
            f"{some(named)}, the result has {some(users)}."
        )
    without = values.null_count()
    others = len(fitting) - (len(values) - without)
    values = _in_order(values, columns[roles[column]], data, roles[column])
    counts = {f"users_without_{column}": without, f"{side}_of_other_users": others}
    return Labels(values, {name: n for name, n in counts.items() if n})


def as_text(column: Column, kind: str, source: str) -> pl.Series:
    """Labels as they are written, null if missing: 1 and 1.0 are one label; 1 and "1" are refused.

    Intervals of ``pandas.cut``, and periods, are written as pandas writes them.
    """
    if isinstance(column, list):
        found = kinds(column)
        present = found - {"null"}
        if present <= {"integer", "float"}:
            return _texts(column, _number)
        if len(present) > 1:
            raise IdTypeError(
                f"The {kind}s of {source} mix types: {'; '.join(examples(column))}. 7 and '7' "
                f"would be two different {kind}s: convert all of them to numbers or all to strings."
            )
        if present == {"string"}:
            return strings(converted(column, found, str.__str__), kind, source)
        if present in ({"Interval"}, {"Period"}):
            return _texts(column, str)
    labels = typed(column, kind)
    if labels.dtype.is_nested() or labels.dtype in (pl.Object, pl.Binary):
        raise DataError(
            f"The {kind}s of {source} are of type {labels.dtype}, for example "
            f"{shown(labels.to_list()[0])}. A label is a text or a number: {{user: {kind}}}."
        )
    if labels.dtype.is_float():
        labels = labels.fill_nan(None) + 0.0  # -0.0 is 0.0
    text = labels.cast(pl.String)
    return text.str.replace(r"\.0+$", "") if labels.dtype.is_numeric() else text


def _texts(values: Sequence[Any], written: Callable[[Any], str]) -> pl.Series:
    return pl.Series([None if is_null(one) else written(one) for one in values], dtype=pl.String)


def _number(value: Any) -> str:
    whole = as_integer(value)
    return repr(float(value)) if whole is None else str(whole)


def _in_order(values: pl.Series, column: Column, data: Any, name: str) -> pl.Series:
    """The labels with the order of their type: Enum, or an ordered Categorical of pandas."""
    order: list[str] = []
    if isinstance(column, pl.Series) and isinstance(column.dtype, pl.Enum):
        order = column.dtype.categories.to_list()
    elif _is_series(data) or _is_frame(data):
        dtype = data[name].dtype if hasattr(data, "columns") else data.dtype
        if getattr(dtype, "ordered", False):
            order = as_text(list(dtype.categories), "segment", "the categories").to_list()
    known = set(values.drop_nulls()) <= set(order)
    return values.cast(pl.Enum(order)) if known else values


def _two_columns(found: Columns, column: str) -> dict[str, str] | None:
    """User and label of two columns, where only one has its name and the other says nothing."""
    known = [(role, name) for role in ("user", column) for name in named(role, found.names)]
    others = [name for name in found.names if not any(named(role, [name]) for role in SYNONYMS)]
    others = [name for name in others if not named(column, [name])]
    if found.roles is not None or len(found.names) != 2 or len(known) != 1 or len(others) != 1:
        return None
    ((role, name),) = known
    return {role: name, column if role == "user" else "user": others[0]}


def read_users(
    data: object,
    known: pl.Series,
    *,
    columns: Mapping[str, str] | None = None,
    source: str | None = None,
) -> pl.Series:
    """Read ids of users, in the type of the `known` users of train and the order of the data.

    The data is ids, a frame or file with a column for the user (others are not looked at; `columns`
    may name it), or a text with one user per line. A user may occur several times. `source` names
    the data in messages. An id that cannot be of that type raises `IdTypeError`.
    """
    found = find(data, "users")
    source = source or found.source
    name = (columns or {}).get("user")
    roles = resolve(found, "users", {"user": name} if name and name in found.names else None)
    column = found.fetch([roles["user"]])[roles["user"]]
    asked = ids(found.everyone(column), "user", source, Counter(), untyped=found.untyped)
    fitting = _fitted(asked, known, textual=found.textual)
    if fitting is None or fitting.null_count():
        odd = asked if fitting is None else asked.filter(fitting.is_null())
        raise _apart(source, odd, "train", known)
    return fitting


def fit_ids(ids: pl.Series, role: str, table: Table, source: str, *, textual: bool) -> pl.Series:
    """Ids of items or users in the type that a table has for them.

    Raises
    ------
    IdTypeError
        If some cannot have that type.
    """
    if not table.height:
        return ids
    known = pl.Series(role, [], table.dtype(role))
    fitting = _fitted(ids, known, textual=textual or table.textual)
    if fitting is None or fitting.null_count():
        odd = ids if fitting is None else ids.filter(fitting.is_null())
        raise _apart(f"The {role} column of {source}", odd, table.source, table.frame[role])
    return fitting.alias(role)


def _fitted(ids: pl.Series, others: pl.Series, *, textual: bool) -> pl.Series | None:
    """Ids in the type of others, as in `meet`; None if an integer would have to be a string.

    Null where the others, which are integers, can have no such id: a name, or a number that is
    not written in its shortest form.
    """
    if pl.String not in (ids.dtype, others.dtype):
        return ids.cast(others.dtype, strict=False)
    if ids.dtype == others.dtype:
        return ids
    if not textual:
        return None
    fitting = ids.cast(others.dtype, strict=False)
    return fitting.set(fitting.cast(pl.String).ne_missing(ids.cast(pl.String)), None)


def _apart(source: str, ids: pl.Series, whose: str, others: pl.Series) -> IdTypeError:
    return IdTypeError(
        f"{source} has {ids.dtype} ids such as {shown(ids.first())}, {whose} has {others.dtype} "
        f"ids such as {shown(others.first())}: convert one of them"
    )
