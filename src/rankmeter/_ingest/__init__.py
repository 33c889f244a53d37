"""Anything a person may hold rankings or truth in → one canonical Polars frame.

An input form is one row of `FORMS`: how to recognise it and the function that reads it. A reader
hands over named columns; what they mean, and whether their values can be used, is decided here,
once, for all forms.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl

from rankmeter._ingest._arrays import from_array, from_sparse
from rankmeter._ingest._columns import Columns, Side, resolve
from rankmeter._ingest._files import from_path, holds_records
from rankmeter._ingest._frames import (
    from_arrow,
    from_duckdb,
    from_lazy,
    from_pandas,
    from_polars,
    made_by,
)
from rankmeter._ingest._ids import ids
from rankmeter._ingest._mappings import from_iterator, from_listing, from_mapping, is_records_list
from rankmeter._ingest._messages import rows, short
from rankmeter._ingest._numbers import gains, numbers, ranks
from rankmeter._ingest._table import Table, meet
from rankmeter.errors import ColumnError, DataError, InvalidValueError, UsageError

__all__ = ["Table", "is_records", "meet", "read_interactions", "read_rankings", "read_truth"]

BadScores = Literal["error", "drop", "worst"]


class Form(NamedTuple):
    """One accepted input form."""

    name: str
    recognise: Callable[[Any], bool]
    read: Callable[[Any, Side], Columns]


# The first form that recognises the data reads it.
FORMS = (
    Form("a path", lambda data: isinstance(data, str | Path), from_path),
    Form("a Polars DataFrame", lambda data: isinstance(data, pl.DataFrame), from_polars),
    Form("a Polars LazyFrame", lambda data: isinstance(data, pl.LazyFrame), from_lazy),
    Form("a pandas DataFrame", lambda data: made_by(data, "pandas", "DataFrame"), from_pandas),
    Form(
        "a dict {user: [items]} or {user: {item: number}}",
        lambda data: isinstance(data, Mapping),
        from_mapping,
    ),
    Form(
        "a list of lists",
        lambda data: isinstance(data, list | tuple | set | frozenset),
        from_listing,
    ),
    Form(
        "a DuckDB relation",
        lambda data: (
            made_by(data, "duckdb", "DuckDBPyRelation")
            or made_by(data, "_duckdb", "DuckDBPyRelation")
        ),
        from_duckdb,
    ),
    Form(
        "a SciPy sparse matrix",
        lambda data: type(data).__module__.startswith("scipy.sparse"),
        from_sparse,
    ),
    Form(
        "an Arrow table (__arrow_c_stream__)",
        lambda data: hasattr(data, "__arrow_c_stream__"),
        from_arrow,
    ),
    Form(
        "an array of item ids of shape (users, k)",
        lambda data: isinstance(data, np.ndarray) or hasattr(data, "__array__"),
        from_array,
    ),
    Form("an iterator of lists", lambda data: isinstance(data, Iterator), from_iterator),
)


def read_rankings(
    data: object,
    *,
    columns: Mapping[str, str] | None = None,
    bad_scores: BadScores = "error",
) -> Table:
    """Read rankings of any accepted form.

    Parameters
    ----------
    data : object
        A frame, a dictionary, lists, an array, a sparse matrix or a path; see `FORMS`.
    columns : mapping of str to str, optional
        Role (``user``, ``item``, ``score``, ``rank``) → column name, where the usual synonyms do
        not find it. Roles of the truth are allowed and not used here.
    bad_scores : {"error", "drop", "worst"}
        What a missing or NaN score means: an error, a row to drop, or a place behind all others
        of the user (score -inf).

    Returns
    -------
    Table
        Columns ``user``, ``item`` and ``score`` or ``rank``; neither if the rows are in order.

    Raises
    ------
    DataError
        Or one of its subclasses, if the data cannot be read without guessing.
    UsageError
        If `columns` has an unknown key or `bad_scores` an unknown value.

    Notes
    -----
    1. If there are both ranks and scores, the ranks decide: they are the final order of the tool
       that wrote them. ``columns={"score": ...}`` decides otherwise. In TREC runs the score
       decides and the rank is not read, as in trec_eval.
    2. Infinite scores are allowed and counted.
    3. A user all of whose rows were dropped keeps an empty ranking.

    Examples
    --------
    >>> table = read_rankings({"u1": ["a", "b"], "u2": []})
    >>> table.frame.rows(), table.order, table.empty_users.to_list()
    ([('u1', 'a'), ('u1', 'b')], 'list', ['u2'])
    """
    if bad_scores not in ("error", "drop", "worst"):
        raise UsageError(f"bad_scores is {bad_scores!r}; expected 'error', 'drop' or 'worst'.")
    found = _find(data, "rankings")
    roles = resolve(found, "rankings", columns)
    order: Literal["score", "rank", "list"] = "list"
    if "rank" in roles:
        order = "rank"
        unused = roles.pop("score", None)
    elif "score" in roles:
        order = "score"
    frame, empty, counts, values = _canonical(found, roles)
    if order == "rank":
        frame = frame.with_columns(ranks(values["rank"], found.source))
        if unused is not None:
            counts["scores_beside_ranks"] = frame.height
    elif order == "score":
        frame = frame.with_columns(values["score"])
        frame, empty = _settle_scores(frame, empty, bad_scores, found.source, counts)
    return Table(frame, order, empty, found.source, found.textual, dict(counts))


def read_truth(data: object, *, columns: Mapping[str, str] | None = None) -> Table:
    """Read judgements of any accepted form.

    Parameters
    ----------
    data : object
        A frame, a dictionary, lists, an array, a sparse matrix or a path; see `FORMS`.
    columns : mapping of str to str, optional
        Role (``user``, ``item``, ``gain``) → column name, where the usual synonyms do not find
        it. Roles of the rankings are allowed and not used here.

    Returns
    -------
    Table
        Columns ``user``, ``item``, ``gain``.

    Raises
    ------
    DataError
        Or one of its subclasses, if the data cannot be read without guessing.
    UsageError
        If `columns` has an unknown key.

    Notes
    -----
    A judgement without a gain has the gain 1; these are counted as ``assumed_gains``.

    Examples
    --------
    >>> read_truth({"u1": {"a": 2, "b": 0}, "u2": {"c"}}).frame.rows()
    [('u1', 'a', 2.0), ('u1', 'b', 0.0), ('u2', 'c', 1.0)]
    """
    found = _find(data, "truth")
    frame, empty, counts, values = _canonical(found, resolve(found, "truth", columns))
    if "gain" in values:
        frame = frame.with_columns(gains(values["gain"], found.source))
    else:
        frame = frame.with_columns(pl.lit(1.0).alias("gain"))
        counts["assumed_gains"] = frame.height
    return Table(frame, "list", empty, found.source, found.textual, dict(+counts))


def read_interactions(data: object, *, columns: Mapping[str, str] | None = None) -> pl.DataFrame:
    """Read what users did, for splits, baselines and descriptions.

    Parameters
    ----------
    data : object
        Any form that `read_truth` takes.
    columns : mapping of str to str, optional
        Role (``user``, ``item``, ``rating``, ``time``) → column name.

    Returns
    -------
    polars.DataFrame
        ``user``, ``item``, ``rating`` (Float64) and ``time`` if there are any, then every other
        column as it is, in the order of the input. Rows keep their order.

    Raises
    ------
    DataError
        Or one of its subclasses, if the data cannot be read without guessing.

    Examples
    --------
    >>> frame = pl.DataFrame({"ts": [3, 4], "uid": [1, 2], "iid": ["a", "b"], "shop": ["x", "y"]})
    >>> read_interactions(frame).rows(named=True)[0]
    {'user': 1, 'item': 'a', 'time': 3, 'shop': 'x'}
    """
    found = _find(data, "interactions")
    roles = resolve(found, "interactions", columns)
    frame, _, _, values = _canonical(found, roles)
    new = [values[role] for role in ("rating", "time") if role in values]
    others = [name for name in found.names if name not in roles.values()]
    if taken := {"user", "item", *roles} & set(others):
        raise ColumnError(
            f"{found.source} has another column called {sorted(taken)[0]!r} beside the one that "
            f"columns= names for it. Rename one of them."
        )
    rest = found.fetch(others)
    return frame.with_columns(*new, *(_other(rest[name], name) for name in others))


def is_records(data: object) -> bool:
    """Whether rankings and truth stand together in one object or file, as records.

    Parameters
    ----------
    data : object
        Anything.

    Returns
    -------
    bool
        True for ``[{"predict_list": [...], "ground_truth": {...}}, ...]`` and for a JSON or JSON
        Lines file of such records.

    Examples
    --------
    >>> is_records([{"predict_list": ["A", "B"], "ground_truth": {"A": 1.0}}])
    True
    >>> is_records({"u1": ["A"]})
    False
    """
    if isinstance(data, str | Path):
        return holds_records(data)
    return is_records_list(data)


def _find(data: object, side: Side) -> Columns:
    for form in FORMS:
        if form.recognise(data):
            return form.read(data, side)
    raise DataError(
        f"{'None' if data is None else f'{short(data)} ({type(data).__name__})'} cannot be read as "
        f"{side}. Accepted: {'; '.join(form.name for form in FORMS)}."
    )


def _canonical(
    found: Columns, roles: Mapping[str, str]
) -> tuple[pl.DataFrame, pl.Series, Counter[str], dict[str, pl.Series]]:
    """Checked ids, the users without items, the counts, and the values of the other roles."""
    columns = found.fetch(list(roles.values()))
    counts = Counter(found.counts)
    items = ids(columns[roles["item"]], "item", found.source, counts, untyped=found.untyped)
    users = columns[roles["user"]]
    if found.empty_users:
        # Typed together, so that an empty list cannot hide a user of another type.
        users = [*users, *found.empty_users]
    users = ids(users, "user", found.source, counts, untyped=found.untyped)
    frame = pl.DataFrame([users.slice(0, len(items)), items])
    empty = users.slice(len(items)).alias("user")
    if frame.height == 0 and len(empty) == 0:
        raise DataError(f"{found.source} has no rows: there is nothing to evaluate.")
    counts["rows"] = frame.height
    values = {
        role: _value(columns[name], role, found, counts)
        for role, name in roles.items()
        if role not in ("user", "item")
    }
    return frame, empty, counts, values


def _value(column: Any, role: str, found: Columns, counts: Counter[str]) -> pl.Series:
    if role == "time":
        return _other(column, role)
    return numbers(column, role, found.source, untyped=found.untyped, counts=counts)


def _other(column: Any, name: str) -> pl.Series:
    """A column that is only carried along."""
    return (column if isinstance(column, pl.Series) else pl.Series(column, strict=False)).alias(
        name
    )


def _settle_scores(
    frame: pl.DataFrame,
    empty: pl.Series,
    bad_scores: BadScores,
    source: str,
    counts: Counter[str],
) -> tuple[pl.DataFrame, pl.Series]:
    """Decide about missing scores and count the infinite ones."""
    scores = frame["score"]
    if infinite := int(scores.is_infinite().sum()):
        counts["infinite_scores"] = infinite
    missing = scores.null_count()
    if missing == 0:
        return frame, empty
    bad = frame.filter(pl.col("score").is_null())
    if bad_scores == "error":
        pairs = ", ".join(f"user {user!r} item {item!r}" for user, item, _ in bad.head(3).rows())
        raise InvalidValueError(
            f"{missing} of {frame.height} scores of {source} are missing or NaN: {pairs}; first at "
            f"{rows(scores.is_null().arg_true())}. Where NaN sorts differs between tools, so it is "
            f"refused; bad_scores='drop' leaves these rows out, bad_scores='worst' ranks them last."
        )
    if bad_scores == "worst":
        counts["worst_scores"] = missing
        return frame.with_columns(pl.col("score").fill_null(float("-inf"))), empty
    counts["dropped_scores"] = missing
    kept = frame.filter(pl.col("score").is_not_null())
    gone = bad["user"].unique(maintain_order=True)
    gone = gone.filter(~gone.is_in(kept["user"].unique().implode()))
    return kept, pl.concat([empty, gone])
