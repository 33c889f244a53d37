"""What is said of users: a label each, or who is asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Literal, NamedTuple

import polars as pl

from rankmeter._ingest._columns import Side, resolve
from rankmeter._ingest._forms import find, is_accepted
from rankmeter._ingest._ids import ids
from rankmeter._ingest._messages import short, some
from rankmeter._ingest._numbers import typed
from rankmeter.errors import DataError, IdTypeError, UsageError

__all__ = ["Labels", "read_labels", "read_users"]


class Labels(NamedTuple):
    """The label of each user.

    Attributes
    ----------
    values : polars.Series of shape (n_users,)
        String; null where a user has none.
    counts : dict of str to int
        ``users_without_segment`` (or ``cluster``), and ``segments_of_other_users``: users that
        have a label and are not asked for. Only what is not zero.
    """

    values: pl.Series
    counts: dict[str, int]


def read_labels(
    data: object,
    column: Literal["segment", "cluster"],
    users: pl.Series,
    *,
    textual: bool = False,
) -> Labels:
    """Read a label per user.

    Parameters
    ----------
    data : object
        A mapping from user to label, a frame or file with the columns ``user`` and `column`, or
        pairs of a user and a label.
    column : {"segment", "cluster"}
    users : polars.Series of shape (n_users,)
        The users to label, each once.
    textual : bool
        Whether their ids were read from text.

    Returns
    -------
    Labels

    Raises
    ------
    UsageError
        If the data is of no form that is accepted.
    DataError
        If no user has a label or one has two, or the data cannot be read without guessing.
    IdTypeError
        If the ids of one side are integers, those of the other strings, and neither side is text.

    Examples
    --------
    >>> read_labels({"ann": "new", "eve": "old"}, "segment", pl.Series(["ann", "bob"]))
    Labels(values=shape: (2,)
    Series: 'segment' [str]
    [
        "new"
        null
    ], counts={'users_without_segment': 1, 'segments_of_other_users': 1})
    """
    side: Side = "segments" if column == "segment" else "clusters"
    if not is_accepted(data):
        raise UsageError(
            f"`{side}` must be a mapping from user to label, or a frame or file with the columns "
            f"user and {column}, got {short(data)}"
        )
    found = find(data, side)
    roles = resolve(found, side, None)
    columns = found.fetch(list(roles.values()))
    named = ids(columns[roles["user"]], "user", found.source, Counter(), untyped=found.untyped)
    labels = typed(columns[roles[column]], column)
    if labels.dtype.is_nested() or labels.dtype == pl.Object:
        raise DataError(
            f"The {side} of {found.source} are of type {labels.dtype}, for example "
            f"{short(labels[0])}. A label is a text or a number."
        )
    labels = labels.fill_nan(None) if labels.dtype.is_float() else labels
    table = pl.DataFrame([named, labels.cast(pl.String)]).drop_nulls(column).unique()
    if twice := table.filter(pl.col("user").is_duplicated()).sort("user", column).head(2).rows():
        (user, one), (_, other) = twice
        raise DataError(
            f"User {short(user)} of {found.source} has two {side}, {one!r} and {other!r}. Give "
            f"each user one."
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
    counts = Counter(
        {
            f"users_without_{column}": values.null_count(),
            f"{side}_of_other_users": len(fitting) - len(values) + values.null_count(),
        }
    )
    return Labels(values, dict(+counts))


def read_users(
    data: object,
    known: pl.Series,
    *,
    columns: Mapping[str, str] | None = None,
    source: str | None = None,
) -> pl.Series:
    """Read who is asked for.

    Parameters
    ----------
    data : object
        Ids, a frame or file with a column for the user (others are not looked at), or a text with
        one user per line.
    known : polars.Series
        The users of train, whose type the result has.
    columns : mapping of str to str, optional
        The name of the column at ``user``, where the data has it; other roles are allowed.
    source : str, optional
        What messages call the data.

    Returns
    -------
    polars.Series
        In the order of the data; a user may occur several times.

    Raises
    ------
    IdTypeError
        If an id cannot be of the type that those of train have.
    DataError
        Or one of its subclasses, if the data cannot be read without guessing.

    Examples
    --------
    >>> read_users({"user": [2, 1]}, pl.Series([1, 2, 3])).to_list()
    [2, 1]
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


def _fitted(ids: pl.Series, others: pl.Series, *, textual: bool) -> pl.Series | None:
    """Ids in the type of others, as in `meet`; None if an integer would have to be a string.

    Null where the others can have no such id: beside integers a name, or a number that is not
    written in its shortest form.
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
        f"{source} has {ids.dtype} ids such as {ids.first()!r}, {whose} has {others.dtype} ids "
        f"such as {others.first()!r}: convert one of them"
    )
