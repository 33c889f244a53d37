"""One value per user (a list of items, or items with numbers) → long columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain, repeat
from typing import Any

import numpy as np
import polars as pl

from rankmeter._ingest._columns import Column, Columns, Side
from rankmeter._ingest._ids import is_null
from rankmeter._ingest._messages import short
from rankmeter.errors import DataError, DuplicateError

__all__ = ["Pairs", "flatten"]


class Pairs(list[tuple[Any, Any]]):
    """Items with a number each, where an item may stand twice (a dict would merge them)."""


def flatten(users: Sequence[Any], values: Sequence[Any], side: Side, source: str) -> Columns:
    """Long columns of one value per user.

    Parameters
    ----------
    users : sequence of length n_users
        A range where users are numbers of rows.
    values : sequence of length n_users
        Lists of items, `Pairs`, or mappings item → number; they may be mixed.
    side : {"rankings", "truth", "interactions"}
        A set is a truth but no ranking, because it has no order.
    source : str
        For messages.

    Returns
    -------
    Columns
        ``user``, ``item`` and, if any value has numbers, ``value``.

    Raises
    ------
    DataError
        If there are no users, or a value is no list of items.
    DuplicateError
        If a user stands twice; but interactions of one user may come in several lists.

    Examples
    --------
    >>> flatten(["u", "v"], [["a", "b"], []], "truth", "dict").empty_users
    ['v']
    """
    if len(users) == 0:
        raise DataError(f"{source} is empty: there is nothing to evaluate.")
    if side != "interactions" and not isinstance(users, range):
        _refuse_twice(users, source)
    pairs = [_pairs(user, value, side, source) for user, value in zip(users, values, strict=True)]
    lengths = [len(items) for items, _ in pairs]
    columns: dict[str, Column] = {
        "user": _repeated(users, lengths),
        "item": list(chain.from_iterable(items for items, _ in pairs)),
    }
    if any(numbers is not None for _, numbers in pairs):
        columns["value"] = list(
            chain.from_iterable(
                _implied(len(items), side) if n is None else n for items, n in pairs
            )
        )
    return Columns(
        list(columns),
        lambda names: {name: columns[name] for name in names},
        source,
        roles={name: name for name in columns},
        empty_users=[user for user, n in zip(users, lengths, strict=True) if n == 0],
    )


def _refuse_twice(users: Sequence[Any], source: str) -> None:
    """Two lists of one user have no order among each other."""
    try:
        if len(set(users)) == len(users):
            return
    except TypeError:
        return  # what cannot be an id is refused as such later
    first: dict[Any, int] = {}
    for number, user in enumerate(users, start=1):
        if not is_null(user) and (before := first.setdefault(user, number)) != number:
            raise DuplicateError(
                f"User {short(user)} of {source} has two lists, number {before} and number "
                f"{number}. Which comes first is not known: merge them, or leave one out."
            )


def _implied(n: int, side: Side) -> Iterable[float]:
    """The numbers of a list beside others that have some: its order, or a gain of 1 each."""
    return range(0, -n, -1) if side == "rankings" else repeat(1.0, n)


def _repeated(users: Sequence[Any], lengths: list[int]) -> Column:
    if isinstance(users, range):
        return pl.Series(np.repeat(np.arange(len(users)), lengths))
    return list(chain.from_iterable(map(repeat, users, lengths)))


def _pairs(user: object, value: Any, side: Side, source: str) -> tuple[list[Any], list[Any] | None]:
    """The items of one user and, if they have any, their numbers."""
    if isinstance(value, Mapping):
        return list(value.keys()), list(value.values())
    if isinstance(value, Pairs):
        return [item for item, _ in value], [number for _, number in value]
    return _items(user, value, side, source), None


def _items(user: object, value: Any, side: Side, source: str) -> list[Any]:
    if isinstance(value, list):
        return value
    if isinstance(value, str | bytes):
        raise DataError(
            f"User {short(user)} of {source} has the text {short(value)} where a list of items "
            f"belongs. For one item, write [{short(value)}]."
        )
    if isinstance(value, AbstractSet):
        if side == "rankings":
            raise DataError(
                f"User {short(user)} of {source} has a set of items, and a set has no order. Pass "
                f"a list in the order of the ranking, or {{item: score}}."
            )
        return list(value)
    if isinstance(value, Sequence | Iterator):
        return list(value)
    # The Series and arrays of NumPy, pandas, Polars and pyarrow.
    for name in ("tolist", "to_list"):
        if hasattr(value, name) and isinstance(items := getattr(value, name)(), list):
            return items
    raise DataError(
        f"User {short(user)} of {source} has {short(value)} ({type(value).__name__}) where a list "
        f"of items, or {{item: {'score' if side == 'rankings' else 'gain'}}}, belongs."
    )
