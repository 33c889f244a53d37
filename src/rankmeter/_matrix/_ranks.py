"""Ranks that another tool has computed → counted queries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rankmeter._checks import LARGEST as MOST
from rankmeter._checks import counted, integer, shown
from rankmeter._counts import RankCounts
from rankmeter._matrix._arrays import asarray, host
from rankmeter._matrix._queries import Queries
from rankmeter.errors import DataError, InvalidValueError

LARGEST_RANK = 2**53
"""Up to this float64 has every integer."""


def read_ranks(ranks: Any, upper: Any = None, candidates: Any = None) -> Queries:
    """Queries with one true item each, whose rank is known.

    Parameters
    ----------
    ranks : array of shape (n,)
        1-based. A rank that ends in .5 is the mean of two.
    upper : array of shape (n,), optional
        The last possible rank of a tie, of which `ranks` are the first.
    candidates : int or array of shape (n,), optional
        Number of candidates of each query; without it as many as the largest rank.
    """
    low = _numbers(ranks, "ranks")
    high = np.ceil(low)
    half = low != np.floor(low)
    if np.any(half & (2 * low != np.floor(2 * low))):
        place = int(np.flatnonzero(half & (2 * low != np.floor(2 * low)))[0])
        raise InvalidValueError(
            f"rank {low[place]:g} of row {place} is neither an integer nor the mean of two ranks"
        )
    if upper is not None:
        high = _numbers(upper, "upper")
        if high.shape != low.shape or np.any(high < low) or np.any(half | (high != np.floor(high))):
            raise DataError(
                "`upper` must have an integer for each of the ranks, not below it: the last rank "
                "of the tie whose first one is in `ranks`"
            )
    first, last = np.floor(low).astype(np.int64), high.astype(np.int64)
    n_ranked = _candidates(candidates, last)
    facts = {"rows": low.size, "mean_ranks": int(half.sum())}
    return Queries(
        RankCounts(np.arange(low.size), np.ones(low.size), first - 1, last - first, None, n_ranked),
        np.ones(low.size, dtype=bool),
        np.ones(low.size, dtype=bool),
        np.arange(low.size),
        None,
        {name: n for name, n in facts.items() if n or name == "rows"},
        sized=candidates is not None,
    )


def _numbers(data: Any, name: str) -> npt.NDArray[np.float64]:
    for row in data if isinstance(data, list | tuple) else ():
        if isinstance(row, list | tuple) and len(row) > 1:
            raise _several(row, name)
    array = host(asarray(data, name))
    if array.ndim == 2 and array.shape[1] != 1 and array.size:
        raise _several(array[0].tolist(), name)
    if array.ndim == 2:
        array = array.ravel()
    if array.size == 0:
        return np.zeros(0)
    if array.ndim == 1 and array.dtype.kind in "OSU":
        values = array.tolist()
        row = next((at for at, value in enumerate(values) if not _is_number(value)), 0)
        raise DataError(
            f"{shown(values[row])} of row {row} of `{name}` is not a number: write ranks such as 3 "
            "or 2.5, one for each query"
        )
    if array.ndim != 1 or array.dtype.kind not in "iuf":
        raise DataError(
            f"`{name}` must be one rank for each query, got an array of shape {array.shape} and "
            f"type {array.dtype}"
        )
    numbers: npt.NDArray[np.float64] = array.astype(np.float64)
    wrong = np.flatnonzero(~((numbers >= 1) & np.isfinite(numbers)))
    if wrong.size:
        raise InvalidValueError(
            f"rank {shown(numbers[wrong[0]].item())} of row {wrong[0]} is not a rank: ranks are 1 "
            f"or more; {counted(wrong.size, 'such value')} in all"
        )
    exact = numbers if array.dtype.kind == "f" else array
    if (beyond := np.flatnonzero(exact > LARGEST_RANK)).size:
        raise InvalidValueError(
            f"{counted(beyond.size, 'rank is', 'ranks are')} above 2^53 in `{name}`, for example "
            f"{shown(exact[beyond[0]].item())} of row {beyond[0]}. If they mark items that were "
            "not ranked, drop these rows; if higher is better, they are scores: pass them to "
            "evaluate_scores"
        )
    return numbers


def _several(row: Sequence[Any], name: str) -> DataError:
    """The error for several ranks in one row."""
    written = shown([*row])
    return DataError(
        f"`{name}` must be one rank for each query, got {counted(len(row), 'rank')} in one row: "
        f"{written}. If each is of another query, pass one list, {written}. If they are the "
        "relevant items of one user, name each item by its rank: "
        f"rm.evaluate([[*range(1, n + 1)]], [{written}], metrics), where n is the length of the "
        "ranking; add a larger number to the relevant items for each that was not ranked"
    )


def _is_number(value: object) -> bool:
    """Whether this is a number, also as text without spaces."""
    try:
        float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False
    return str(value) == str(value).strip()


def _candidates(data: Any, last: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    if data is None:
        return np.full(last.size, last.max(initial=0))
    array = host(asarray(data, "candidates"))
    if array.ndim == 0:
        n_ranked = np.full(last.size, integer("candidates", data, least=1))
    else:
        if array.shape != last.shape or array.dtype.kind not in "iu":
            raise DataError(
                f"`candidates` must be an integer, or one for each of {counted(last.size, 'rank')},"
                f" got an array of shape {array.shape} and type {array.dtype}"
            )
        if (wide := np.flatnonzero(array > MOST)).size:
            raise DataError(
                f"`candidates` of row {wide[0]} is {array[wide[0]]}: pass the number of candidates "
                "of each rank, of at most 2^62"
            )
        n_ranked = array.astype(np.int64)
    beyond = np.flatnonzero(last > n_ranked)
    if beyond.size:
        raise DataError(
            f"rank {last[beyond[0]]} of row {beyond[0]} is beyond its {n_ranked[beyond[0]]} "
            f"candidates; {counted(beyond.size, 'such rank')} in all"
        )
    return n_ranked
