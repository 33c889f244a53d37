"""Parts of the users: by a column of their own, or by what is known of their history."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import polars as pl

from rankmeter._checks import integer
from rankmeter._hits import BoolArray, FloatArray, IntArray
from rankmeter._ingest import read_interactions, read_labels

__all__ = ["by_activity", "by_popularity", "clusters_of", "labels_of", "masks_of"]


def labels_of(
    data: object,
    column: Literal["segment", "cluster"],
    users: pl.Series,
    counts: dict[str, int] | None = None,
) -> pl.Series | None:
    """The label of each user of a result, null where there is none; None without any data.

    What `read_labels` counts is added to `counts`.
    """
    if data is None:
        return None
    labels = read_labels(data, column, users)
    if counts is not None:
        counts.update(labels.counts)
    return labels.values


def masks_of(labels: pl.Series | None) -> dict[str, BoolArray]:
    """By segment, in order of the labels, which users are in it."""
    if labels is None:
        return {}
    return {
        label: (labels == label).fill_null(value=False).to_numpy()
        for label in labels.drop_nulls().unique().sort()
    }


def clusters_of(
    clusters: object, users: pl.Series, counts: dict[str, int] | None = None
) -> IntArray | None:
    """The cluster of each user of a result, as a number; those without a label have their own."""
    labels = labels_of(clusters, "cluster", users, counts)
    if labels is None:
        return None
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
    integer("bins", bins, least=2)
    value = frame["value"].to_numpy().astype(np.float64)
    # Equal values belong where the first of them falls.
    share = np.searchsorted(np.sort(value), value) / max(value.size, 1)
    number = np.floor(share * bins).astype(np.int64)
    bins_used = np.unique(number).tolist()
    labels = {
        bin_: f"{place} of {len(bins_used)}: {_span(value[number == bin_])} {what}"
        for place, bin_ in enumerate(bins_used, 1)
    }
    return frame.select("user", segment=pl.Series([labels[i] for i in number.tolist()]))


def _span(values: FloatArray) -> str:
    low, high = values.min(), values.max()
    return f"{low:g}" if low == high else f"{low:.4g}–{high:.4g}"
