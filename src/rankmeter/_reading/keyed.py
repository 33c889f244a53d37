"""Read data about some users or items by key, in any form, with ids that fit a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple, TypeAlias

import polars as pl

from rankmeter._reading.columns import (
    SYNONYMS,
    Column,
    Columns,
    Side,
    names_for_role,
    normalize_name,
    resolve_roles,
)
from rankmeter._reading.forms import has_accepted_form, read_columns
from rankmeter._reading.frames import class_test
from rankmeter._reading.ids import (
    as_integer,
    convert_values,
    example_of_each_type,
    is_null,
    to_ids,
    to_strings,
    type_names,
)
from rankmeter._reading.numbers import to_typed_series
from rankmeter._reading.table import Table, format_few
from rankmeter.errors import ColumnError, DataError, IdTypeError, UsageError
from rankmeter.errors._checks import brief, counted

_is_series, _is_frame = class_test("pandas", "Series"), class_test("pandas", "DataFrame")


LabelKind: TypeAlias = Literal["segment", "cluster"]


class Keyed(NamedTuple):
    """Ids in the key column of some data, and the other columns by role or by name."""

    keys: pl.Series
    columns: dict[str, Column]
    source: str
    textual: bool = False  # the ids were read from text
    untyped: bool = False  # every column is text

    def fit_keys(self, role: str, table: Table) -> pl.Series:
        """Cast the keys to the type that a table has for the ids of a role."""
        return fit_ids(self.keys, role, table, self.source, textual=self.textual)


def read_keyed(read: Columns, roles: Mapping[str, str]) -> Keyed:
    """Read the columns of `roles` (role or name → column); the first role is the key.

    If the key is the only role, users without a row of their own follow.
    """
    key, *other_roles = roles
    columns = read.fetch([*roles.values()])
    column = columns[roles[key]] if other_roles else read.append_empty_users(columns[roles[key]])
    keys = to_ids(column, key, read.source, untyped=read.untyped)
    other_columns = {role: columns[roles[role]] for role in other_roles}
    return Keyed(keys, other_columns, read.source, read.textual, read.untyped)


def find_column(read: Columns, role: str, names: Sequence[str], *, first: bool = False) -> str:
    """Name of the only column with one of `names`, or ""; `first` prefers earlier names."""
    candidates = [name for name in read.names if normalize_name(name) in names]
    if first and candidates:
        best = min(names.index(normalize_name(name)) for name in candidates)
        candidates = [name for name in candidates if normalize_name(name) == names[best]]
    if len(candidates) > 1:
        raise ColumnError(
            f"{read.source} has {len(candidates)} columns for the {role}: "
            f"{format_few(candidates)}. Rename or remove all but one."
        )
    return candidates[0] if candidates else ""


def refuse_repeated_items(keys: pl.Series, source: str) -> None:
    """Refuse item ids that occur several times."""
    repeated = keys.filter(keys.is_duplicated()).unique()
    if len(repeated):
        raise DataError(
            f"{counted(len(repeated), 'item')} of {source} occur several times, for example "
            f"{format_few(repeated)}: an item has one row"
        )


# ---------------------------------------------------------------------------------------------
# Users: a label for each, or a selection of them


class Labels(NamedTuple):
    """Label of each user, as String or, if the labels have an order, Enum; null without a label.

    `counts` has ``users_without_segment`` (or ``cluster``) and ``segments_of_other_users``: users
    that have a label but are not evaluated. Zeros are left out.
    """

    values: pl.Series
    counts: dict[str, int]


def read_labels(
    data: object, column: LabelKind, users: pl.Series, *, textual: bool = False
) -> Labels:
    """Read the label of each of `users` (all distinct): a segment or a cluster.

    The data is a mapping from user to label, a frame or file with the columns ``user`` and
    `column`, or pairs of a user and a label. Of two columns, one may have any name that is not the
    name of something else. `textual` says whether the ids of `users` were read
    from text. It is an error if no user has a label, if one has two, if labels are of several
    types, or if the ids of one side are integers, those of the other strings, and neither side is
    text.
    """
    side: Side = "segments" if column == "segment" else "clusters"
    if not has_accepted_form(data):
        raise UsageError(
            f"`{side}` must be a mapping from user to label, or a frame or file with the columns "
            f"user and {column}, got {brief(data)}"
        )
    read = read_columns(data, side)
    roles = _match_two_columns(read, column) or resolve_roles(read, side, None)
    rows = read_keyed(read, {role: roles[role] for role in ("user", column)})
    labels = labels_to_text(rows.columns[column], column, rows.source).alias(column)
    if column == "segment" and (empty := rows.keys.filter(labels.cast(pl.String) == "")).len():
        raise DataError(
            f"{counted(len(empty), 'user')} of {rows.source} have the empty text as their segment, "
            f"for example {format_few(empty)}, and that is how a comparison writes all users. Name "
            f"this segment, or write null for users without one."
        )
    table = pl.DataFrame([rows.keys, labels]).drop_nulls(column).unique()
    if repeated := table.filter(pl.col("user").is_duplicated()).sort("user", column).head(2).rows():
        (user, label), (_, other) = repeated
        raise DataError(
            f"User {brief(user)} of {rows.source} has two {side}, {brief(label)} and "
            f"{brief(other)}. Give each user one."
        )
    fitting = _cast_ids_safely(table["user"], users, textual=textual or rows.textual)
    if fitting is None:
        raise _incompatible_ids_error(rows.source, rows.keys, "the result", users)
    table = table.with_columns(fitting).drop_nulls("user")
    frame = users.to_frame("user")
    values = frame.join(table, on="user", how="left", maintain_order="left")[column]
    without = values.null_count()
    if without == len(values):
        raise DataError(
            f"No user of the result is in any {column}: {rows.source} has the users "
            f"{format_few(rows.keys)}, the result has {format_few(users)}."
        )
    n_others = len(fitting) - (len(values) - without)
    counts = {f"users_without_{column}": without, f"{side}_of_other_users": n_others}
    order = _label_order(rows.columns[column], data, roles[column])
    if set(values.drop_nulls()) <= set(order):
        values = values.cast(pl.Enum(order))
    return Labels(values, {name: n for name, n in counts.items() if n})


def _match_two_columns(read: Columns, column: str) -> dict[str, str] | None:
    """Match user and label to two columns if only one has a known name; None otherwise."""
    clear = [(role, name) for role in ("user", column) for name in names_for_role(role, read.names)]
    unnamed = [
        name for name in read.names if not any(names_for_role(role, [name]) for role in SYNONYMS)
    ]
    unnamed = [name for name in unnamed if not names_for_role(column, [name])]
    if read.roles is not None or len(read.names) != 2 or len(clear) != 1 or len(unnamed) != 1:
        return None
    ((role, name),) = clear
    return {role: name, column if role == "user" else "user": unnamed[0]}


def _label_order(column: Column, data: Any, name: str) -> list[str]:
    """Labels in the order of an Enum or an ordered pandas Categorical; [] for unordered types."""
    if isinstance(column, pl.Series) and isinstance(column.dtype, pl.Enum):
        return column.dtype.categories.to_list()
    if _is_series(data) or _is_frame(data):
        dtype = data[name].dtype if hasattr(data, "columns") else data.dtype
        if getattr(dtype, "ordered", False):
            return labels_to_text(list(dtype.categories), "segment", "the categories").to_list()
    return []


def labels_to_text(column: Column, kind: str, source: str) -> pl.Series:
    """Convert labels to text, null if missing: 1 and 1.0 are one label; 1 and "1" are refused.

    Intervals of ``pandas.cut``, and periods, are written as pandas writes them.
    """
    if isinstance(column, list):
        types = type_names(column)
        present = types - {"null"}
        if present <= {"integer", "float"}:
            return _convert_to_text(column, _number_to_text)
        if len(present) > 1:
            raise IdTypeError(
                f"The {kind}s of {source} mix types: {'; '.join(example_of_each_type(column))}. 7 "
                f"and '7' would be two different {kind}s: convert all of them to numbers or all to "
                f"strings."
            )
        if present == {"string"}:
            return to_strings(convert_values(column, types, str.__str__), kind, source)
        if present in ({"Interval"}, {"Period"}):
            return _convert_to_text(column, str)
    labels = to_typed_series(column, kind)
    if labels.dtype.is_nested() or labels.dtype in (pl.Object, pl.Binary):
        raise DataError(
            f"The {kind}s of {source} are of type {labels.dtype}, for example "
            f"{brief(labels.to_list()[0])}. A label is a text or a number: {{user: {kind}}}."
        )
    if labels.dtype.is_float():
        labels = labels.fill_nan(None) + 0.0  # -0.0 is 0.0
    text = labels.cast(pl.String)
    return text.str.replace(r"\.0+$", "") if labels.dtype.is_numeric() else text


def _convert_to_text(values: Sequence[Any], text_of: Callable[[Any], str]) -> pl.Series:
    return pl.Series([None if is_null(x) else text_of(x) for x in values], dtype=pl.String)


def _number_to_text(value: Any) -> str:
    integer = as_integer(value)
    return repr(float(value)) if integer is None else str(integer)


def read_users(
    data: object,
    train: pl.Series,
    *,
    columns: Mapping[str, str] | None = None,
    source: str | None = None,
) -> pl.Series:
    """Read user ids, in the type of the ids of `train` and the order of the data.

    The data is ids, a frame or file with a column for the user (others are not looked at; `columns`
    may name it), or a text with one user per line. A user may occur several times. `source` names
    the data in messages. An id that cannot be of that type raises `IdTypeError`.
    """
    read = read_columns(data, "users")
    read = replace(read, source=source or read.source)
    name = (columns or {}).get("user")
    roles = resolve_roles(read, "users", {"user": name} if name and name in read.names else None)
    rows = read_keyed(read, roles)
    fitting = _cast_ids_safely(rows.keys, train, textual=read.textual)
    if fitting is None or fitting.null_count():
        raise _incompatible_ids_error(
            read.source, _unconvertible_ids(rows.keys, fitting), "train", train
        )
    return fitting


# ---------------------------------------------------------------------------------------------
# Ids in the type of others


def fit_ids(ids: pl.Series, role: str, table: Table, source: str, *, textual: bool) -> pl.Series:
    """Cast ids of items or users to the type that a table has for the ids.

    Raises
    ------
    IdTypeError
        If some cannot have that type.
    """
    if not table.height:
        return ids
    target = pl.Series(role, [], table.id_dtype(role))
    fitting = _cast_ids_safely(ids, target, textual=textual or table.textual)
    if fitting is None or fitting.null_count():
        side, misfits = f"The {role} column of {source}", _unconvertible_ids(ids, fitting)
        raise _incompatible_ids_error(side, misfits, table.source, table.frame[role])
    return fitting.alias(role)


def to_common_id_type(
    ids: pl.Series, other_ids: pl.Series, source: str, whose: str, *, textual: bool
) -> tuple[pl.Series, pl.Series]:
    """Cast two columns of ids to a common type; text that is not from a file is refused."""
    if ids.dtype == other_ids.dtype:
        return ids, other_ids
    if pl.String in (ids.dtype, other_ids.dtype) and not textual:
        raise _incompatible_ids_error(source, ids, whose, other_ids)
    return ids.cast(pl.String), other_ids.cast(pl.String)


def _cast_ids_safely(ids: pl.Series, target: pl.Series, *, textual: bool) -> pl.Series | None:
    """Cast ids to the type of `target`, as in `unify_id_types`; None if no cast is safe.

    Null where `target` has integers and the id is a name, or a number that is not written in the
    shortest form.
    """
    if pl.String not in (ids.dtype, target.dtype):
        return ids.cast(target.dtype, strict=False)
    if ids.dtype == target.dtype:
        return ids
    if not textual:
        return None
    fitting = ids.cast(target.dtype, strict=False)
    return fitting.set(fitting.cast(pl.String).ne_missing(ids.cast(pl.String)), None)


def _unconvertible_ids(ids: pl.Series, fitting: pl.Series | None) -> pl.Series:
    """Ids that are null in `fitting`, or all ids if `fitting` is None."""
    return ids if fitting is None else ids.filter(fitting.is_null())


def _incompatible_ids_error(
    source: str, ids: pl.Series, whose: str, other_ids: pl.Series
) -> IdTypeError:
    return IdTypeError(
        f"{source} has {ids.dtype} ids such as {brief(ids.first())}, {whose} has {other_ids.dtype} "
        f"ids such as {brief(other_ids.first())}: convert one of them"
    )
