"""Parts of the users: by a column of their own, or by what is known of their history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from rankmeter._hits import IntArray
from rankmeter._ingest import read_interactions, read_labels
from rankmeter.errors import UsageError

__all__ = [
    "EVERYONE",
    "by_activity",
    "by_popularity",
    "clusters_of",
    "segment_frame",
    "segments_of",
]

EVERYONE = ""
"""The segment of all users."""


def segments_of(segments: object, users: pl.Series) -> dict[str, npt.NDArray[np.bool_]]:
    """Which users are in which segment.

    Parameters
    ----------
    segments : object
        None, a mapping from user to label, a frame or the path of a file with the columns ``user``
        and ``segment``, or pairs of a user and a segment.
    users : polars.Series
        The users of the result, in its order.

    Returns
    -------
    dict of str to bool array of shape (n_users,)
        In order of the labels. Users without a label are in none.

    Raises
    ------
    UsageError, DataError
        As `read_labels`.
    """
    if segments is None:
        return {}
    labels = read_labels(segments, "segment", users).values
    return {
        label: (labels == label).fill_null(value=False).to_numpy()
        for label in labels.drop_nulls().unique().sort()
    }


def segment_frame(
    users: pl.Series, segments: Mapping[str, npt.NDArray[np.bool_]]
) -> pl.DataFrame | None:
    """The segment of each user, null where there is none: columns ``user`` and ``segment``."""
    if not segments:
        return None
    label = pl.lit(None, dtype=pl.String)
    for segment, mask in segments.items():
        label = pl.when(pl.Series(mask)).then(pl.lit(segment)).otherwise(label)
    return pl.DataFrame({"user": users}).with_columns(segment=label)


def clusters_of(clusters: object, users: pl.Series) -> IntArray | None:
    """Which cluster each user belongs to, as numbers from 0 on.

    Parameters
    ----------
    clusters : object
        None, a mapping from user to label, a frame or the path of a file with the columns ``user``
        and ``cluster``, or pairs of a user and a cluster.
    users : polars.Series
        The users of the result, in its order.

    Returns
    -------
    int64 array of shape (n_users,) or None
        Users without a label are clusters of their own.

    Raises
    ------
    UsageError, DataError
        As `read_labels`.
    """
    if clusters is None:
        return None
    labels = read_labels(clusters, "cluster", users).values
    code = labels.rank("dense").fill_null(0).to_numpy().astype(np.int64)
    alone = np.flatnonzero(code == 0)
    code[alone] = code.max(initial=0) + 1 + np.arange(alone.size)
    return code - 1


def by_activity(train: object, *, bins: int = 4, columns: Mapping[str, str] | None = None) -> Any:
    """Segments of users by how much is known of them.

    Parameters
    ----------
    train : object
        Interactions, in any form that `rankmeter.describe` takes.
    bins : int
        How many segments of about as many users each.
    columns : mapping, optional
        Which column plays which role.

    Returns
    -------
    polars.DataFrame
        Columns ``user`` and ``segment``; labels like ``"1 of 4: 1–20 interactions"``.

    Examples
    --------
    >>> train = {"ann": ["a"], "bob": ["a", "b", "c"]}
    >>> by_activity(train, bins=2)["segment"].to_list()
    ['1 of 2: 1 interactions', '2 of 2: 3 interactions']
    """
    counts = read_interactions(train, columns=columns).group_by("user").len("value").sort("user")
    return _binned(counts, bins, "interactions")


def by_popularity(
    train: object, truth: object, *, bins: int = 4, columns: Mapping[str, str] | None = None
) -> Any:
    """Segments of users by how popular the items are that they are to be shown.

    Parameters
    ----------
    train, truth : object
        Interactions: the popularity of an item is its number in `train`, that of a user the mean
        over the user's items in `truth`.
    bins : int
        How many segments of about as many users each.
    columns : mapping, optional
        Which column plays which role.

    Returns
    -------
    polars.DataFrame
        Columns ``user`` and ``segment``.

    Examples
    --------
    >>> train = {"ann": ["a"], "bob": ["a", "b"]}
    >>> by_popularity(train, {"ann": ["b"], "bob": ["a"]}, bins=2)["segment"].to_list()
    ['1 of 2: 1 popularity', '2 of 2: 2 popularity']
    """
    popularity = read_interactions(train, columns=columns).group_by("item").len("value")
    seen = read_interactions(truth, columns=columns).join(popularity, on="item", how="left")
    mean = pl.col("value").fill_null(0).mean()
    return _binned(seen.group_by("user").agg(mean).sort("user"), bins, "popularity")


def _binned(frame: pl.DataFrame, bins: int, what: str) -> pl.DataFrame:
    """Users in segments of about equal size; equal values are never parted."""
    if bins < 2:
        raise UsageError(f"bins must be 2 or more, got {bins}")
    value = frame["value"].to_numpy().astype(np.float64)
    share = np.argsort(np.argsort(value, kind="stable"), kind="stable") / max(value.size, 1)
    number = np.floor(share * bins).astype(np.int64)
    # A run of equal values belongs where its first user falls.
    _, first, inverse = np.unique(value, return_index=True, return_inverse=True)
    lowest = np.full(first.size, bins)
    np.minimum.at(lowest, inverse, number)
    number = lowest[inverse]
    labels = {}
    for place, bin_ in enumerate(np.unique(number).tolist(), 1):
        inside = value[number == bin_]
        labels[bin_] = f"{place} of {np.unique(number).size}: {_span(inside)} {what}"
    return frame.select("user", segment=pl.Series([labels[i] for i in number.tolist()]))


def _span(values: Sequence[float] | npt.NDArray[np.float64]) -> str:
    low, high = float(np.min(values)), float(np.max(values))
    return f"{low:g}" if low == high else f"{low:.4g}–{high:.4g}"
