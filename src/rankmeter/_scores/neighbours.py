"""Approximate nearest neighbours against exact ones, as lists of hits."""

from __future__ import annotations

import math
from typing import Any, Literal

from rankmeter._choices import takes_aliases
from rankmeter._scores.kinds import Grades
from rankmeter.conventions import load_convention
from rankmeter.errors import DataError, UsageError
from rankmeter.errors._checks import (
    check_choice,
    check_flag,
    check_integer,
    check_number,
    counted,
    option_error,
)

_TOLERANCE = 1e-3
"""That of ann-benchmarks."""

_NOTHING = -1
"""The id by which FAISS and others say that they found nothing more."""


@takes_aliases
def neighbours(
    found: Any,
    exact: Any,
    *,
    k: int,
    by: Literal["id", "distance"] | None = None,
    tolerance: float | None = None,
    relative: bool = False,
    ids: Any = None,
    users: Any = None,
    like: str | None = None,
) -> Grades:
    """Compare approximate nearest neighbours with exact ones.

    Parameters
    ----------
    found : array or list of lists
        For each query what the index found, best first: ids, or distances.
    exact : array or list of lists
        For each query at least k exact neighbours in the same form, best first.
    k : int
        How many neighbours are asked for.
    by : {"id", "distance"}, optional
        What is compared, ids without. By distance, all that is found within the distance of the
        exact neighbour k is right, whichever of equally near neighbours it is.
    tolerance : float, optional
        How much farther than that it may be, because distances are rounded: only by distance.
        0 without.
    relative : bool
        Whether the tolerance is a share of the distance.
    ids : array or list of lists, optional
        By distance: the ids of what was found, so that an id that is found again counts once.
    users : array or list, optional
        The id of each query; 0, 1, 2 … without.
    like : str, optional
        ``ann-benchmarks`` compares as this tool does: by distance, with a tolerance of 0.001.

    Returns
    -------
    Grades
        For each query 1 for a right neighbour and 0 for others, with k relevant items:
        ``recall@k`` is the recall of the index, and all functions take it.

    Raises
    ------
    DataError
        If queries or neighbours are missing, or a distance is not a number.
    UsageError
        If an option is wrong.

    Notes
    -----
    An id that is found again counts once, and -1 is nothing, as FAISS writes it. A list that is
    shorter than k lacks the rest. ann-benchmarks counts distances alone, so that one neighbour ten
    times is ten neighbours; with `like` and without `ids` the numbers are its own: those of its
    ``knn``, or with ``tolerance=0.01, relative=True`` those of its ``epsilon``.

    Examples
    --------
    Of two neighbours the first query has both, and the second finds one twice.

    >>> import rankmeter as rm
    >>> found = rm.neighbours([[7, 4], [5, 5]], [[4, 7], [5, 6]], k=2)
    >>> rm.evaluate(found, None, "recall@2")["recall@2"].mean
    0.75
    """
    k = check_integer("k", k, least=1)
    if like is not None and load_convention(like).name != "ann_benchmarks":
        raise option_error("like", "'ann-benchmarks' or None", like)
    by = "id" if by is None and like is None else "distance" if by is None else by
    check_choice("by", by, ("id", "distance"))
    usual = 0.0 if like is None or by == "id" else _TOLERANCE
    tolerance = check_number("tolerance", usual if tolerance is None else tolerance, least=0)
    relative = check_flag("relative", relative)
    if by == "id" and (tolerance or relative or ids is not None):
        raise UsageError('tolerance=, relative= and ids= are about distances: pass by="distance"')
    rows = _rows("found", found)
    right = _rows("exact", exact, least=k)
    names = rows if by == "id" else rows if ids is None else _rows("ids", ids)
    if not len(rows) == len(right) == len(names):
        raise DataError(
            f"found has {counted(len(rows), 'query', 'queries')}, exact {len(right):,} and ids "
            f"{len(names):,}: pass a list for each query"
        )
    if by == "id":
        grades = [_hits_by_id(row[:k], own[:k]) for row, own in zip(rows, right, strict=True)]
    else:
        once = ids is not None
        limits = [_limit(q, own[k - 1], tolerance, relative) for q, own in enumerate(right)]
        grades = [
            _hits_by_distance(q, row[:k], limits[q], names[q][:k] if once else None)
            for q, row in enumerate(rows)
        ]
    return Grades(grades, n_relevant=k, users=users)


def _rows(name: str, value: Any, least: int = 0) -> list[list[Any]]:
    """A list for each query."""
    wanted = "a list for each query, such as [[4, 7], [5, 6]]"
    try:
        rows = [[*_plain(row)] for row in _plain(value)]
        hash(tuple(map(tuple, rows)))
    except Exception:  # noqa: BLE001 - no lists, or some that fail
        raise option_error(name, wanted, value) from None
    short = [query for query, row in enumerate(rows) if len(row) < least]
    if short:
        raise DataError(
            f"{name} has {len(rows[short[0]]):,} neighbours for query {short[0]}, fewer than "
            f"k={least:,}: search for more, or lower k"
        )
    return rows


def _plain(values: Any) -> Any:
    """Python values of an array; a text is not a list."""
    if isinstance(values, str | bytes | dict | set | frozenset):
        raise TypeError
    return values.tolist() if hasattr(values, "tolist") else values


def _hits_by_id(found: list[Any], exact: list[Any]) -> list[int]:
    """1 for each id that is one of the exact ones, where it is found first."""
    left = set(exact) - {_NOTHING}
    grades = []
    for item in found:
        grades.append(int(item in left))
        left.discard(item)
    return grades


def _limit(query: int, distance: Any, tolerance: float, relative: bool) -> float:
    """The largest distance of a right neighbour."""
    plain = _distance("exact", query, distance)
    if not math.isfinite(plain):
        raise DataError(f"exact has the distance {plain} for query {query}: it must be finite")
    return plain * (1.0 + tolerance) if relative else plain + tolerance


def _hits_by_distance(
    query: int, found: list[Any], limit: float, ids: list[Any] | None
) -> list[int]:
    """1 for each neighbour within the limit; with ids, where it is found first."""
    seen: set[Any] = {_NOTHING}
    grades = []
    for place, distance in enumerate(found):
        item = None if ids is None else ids[place : place + 1]
        if item == []:
            raise DataError(f"ids has fewer neighbours than found for query {query}")
        near = _distance("found", query, distance) <= limit  # NaN is not
        grades.append(int(near and not (item and item[0] in seen)))
        seen.update(item or ())
    return grades


def _distance(name: str, query: int, value: Any) -> float:
    """A distance as a number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise DataError(f"{name} has {value!r:.60} for query {query}: distances must be numbers")
    return float(value)
