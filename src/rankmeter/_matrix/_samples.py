"""Positives with the scores of their negatives, own or shared → counted queries."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankmeter._counts import RankCounts
from rankmeter._hits import IntArray
from rankmeter._matrix._arrays import (
    asarray,
    ascending,
    floating,
    half_type,
    host,
    is_number,
    namespace,
    places_in,
    refuse_places,
)
from rankmeter._matrix._counting import Level, comparable_scores, compare_rows
from rankmeter._matrix._queries import Queries
from rankmeter._matrix._scores import Asked
from rankmeter.errors import DataError, InvalidValueError


def count_samples(positive: Any, negatives: Any, asked: Asked) -> Queries:
    """Count the negatives above and equal to each positive.

    Parameters
    ----------
    positive : array of shape (n,)
    negatives : array of shape (n, m), or of shape (m,) if all positives share them
    asked : Asked
    """
    half = half_type(positive) or half_type(negatives)
    arrays = asarray(positive, "positive"), asarray(negatives, "negatives")
    refuse_places([*arrays], "`positive` and `negatives`")
    for name, array in zip(("positive", "negatives"), arrays, strict=True):
        if not is_number(array):
            raise DataError(f"`{name}` must be numbers, got an array of type {array.dtype}")
    read = map(floating, arrays) if any(asked.tolerance) else arrays
    positives, negative_scores = (comparable_scores(scores, single=asked.single) for scores in read)
    if positives.ndim == 2 and positives.shape[1] == 1:
        positives = positives[:, 0]
    if positives.ndim != 1:
        raise DataError(
            "with `negatives`, the scores of the positives must be one for each query, of shape "
            f"(n,), got shape {tuple(positives.shape)}"
        )
    n = positives.shape[0]
    if negative_scores.ndim not in (1, 2) or (
        negative_scores.ndim == 2 and negative_scores.shape[0] != n
    ):
        raise DataError(
            "`negatives` must have a row for each positive, (n, m), or be shared by all, (m,); got "
            f"{tuple(negative_scores.shape)} for positives of shape {tuple(positives.shape)}"
        )
    if n and not negative_scores.shape[-1]:
        raise DataError("`negatives` has no scores: every positive would be first")
    for name, array in (("positive", positives), ("negatives", negative_scores)):
        _refuse_odd(name, array, asked)
    level = Level.of(positives, asked.tolerance)
    above, equal = (
        _count_shared(level, negative_scores)
        if negative_scores.ndim == 1
        else _count_own(level, negative_scores)
    )
    return Queries(
        RankCounts(
            np.arange(n), np.ones(n), above, equal, None, np.full(n, negative_scores.shape[-1] + 1)
        ),
        np.ones(n, dtype=bool),
        np.asarray(host(positives > 0), dtype=bool),
        np.arange(n),
        None,
        {"rows": n, "columns": int(negative_scores.shape[-1]) + 1},
        half,
    )


def _count_own(level: Level, negatives: Any) -> tuple[IntArray, IntArray]:
    counts, _ = compare_rows(negatives, np.arange(negatives.shape[0]), level)
    return counts.above, counts.equal


def _count_shared(level: Level, negatives: Any) -> tuple[IntArray, IntArray]:
    """The negatives are sorted once."""
    pool = ascending(negatives)
    high = places_in(pool, level.high, "right")
    return negatives.shape[0] - high, high - places_in(pool, level.low, "left")


def _refuse_odd(name: str, array: Any, asked: Asked) -> None:
    if "int" in str(array.dtype) or "bool" in str(array.dtype):
        return
    bad = ~host(namespace(array).isfinite(array))
    if bad.any():
        first = int(np.flatnonzero(bad.reshape(bad.shape[0], -1).any(axis=1))[0])
        n = int(bad.sum())
        what = "score that is" if n == 1 else "scores that are"
        where = "at position" if array.ndim == 1 and name == "negatives" else "in row"
        raise InvalidValueError(
            f"`{name}` has {n:,} {what} NaN or infinite, the first {where} {first}. Remove "
            f"{'it' if n == 1 else 'them'}, or pass a matrix of scores with bad_scores='drop'"
        )
