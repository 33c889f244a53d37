"""Segments and clusters of users, and means within them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import polars as pl

from rankmeter._engine.scores import Averaged, UserValues
from rankmeter._evidence.hits import BoolArray, FloatArray, IntArray
from rankmeter._reading.read import Interactions
from rankmeter._reading.table import Frame
from rankmeter._results.estimates import Estimate, estimate, macro_estimate, mean_interval
from rankmeter._results.wording import group_by_key
from rankmeter._statistics.vectors import moments
from rankmeter.conventions._plan import Plan
from rankmeter.errors import UsageError
from rankmeter.errors._calls import answers_calls
from rankmeter.errors._checks import (
    check_integer,
    check_number,
    check_text,
    exact_text,
    option_error,
)

Bins: TypeAlias = "int | Sequence[float] | Mapping[str, float]"

COLD = "cold: 0 interactions"
"""The segment of cold users."""


_OTHERS = "_rankmeter_others"
"""The attribute of a frame of labels that names the segment of all users that it lacks."""


class Population(NamedTuple):
    """Users, and whether the user ids were read from text, as in `UserValues`."""

    users: pl.Series
    textual: bool


def read_user_labels(
    data: object,
    column: Literal["segment", "cluster"],
    scores: UserValues | Population,
    counts: dict[str, int] | None = None,
    averaged: BoolArray | None = None,
) -> pl.Series | None:
    """Label of each user of the scores, null for users without a label; None without data.

    The counts of `read_labels` are added to `counts`; users without a label are those of `averaged`
    if it is given.
    """
    if data is None:
        return None
    from rankmeter._reading.keyed import read_labels

    values, label_counts = read_labels(data, column, scores.users, textual=scores.textual)
    unlabeled = f"users_without_{column}"
    if (default := vars(data).get(_OTHERS) if hasattr(data, "__dict__") else None) is not None:
        values = values.fill_null(default)
        label_counts.pop(unlabeled, None)
    elif averaged is not None:
        label_counts.pop(unlabeled, None)
        if n := int((values.is_null().to_numpy() & averaged).sum()):
            label_counts = {unlabeled: n, **label_counts}
    if counts is not None:
        counts.update(label_counts)
    return values


def read_segments(segments: object, scores: UserValues) -> pl.Series:
    """Segment of each user of the scores, null for users without a segment."""
    labels = read_user_labels(segments, "segment", scores)
    if labels is None:
        raise option_error("segments", "a label for each user, such as {user: segment}", segments)
    return labels


def users_by_segment(labels: pl.Series | None) -> dict[str, IntArray]:
    """Row indices of users by segment, in the order of the Enum, else in natural order."""
    if labels is None:
        return {}
    rows: dict[str, list[int]] = group_by_key(
        (label, row) for row, label in enumerate(labels.to_list()) if label is not None
    )
    if isinstance(labels.dtype, pl.Enum):
        ordered = [label for label in labels.dtype.categories.to_list() if label in rows]
    else:
        ordered = sorted(rows, key=_natural_sort_key)
    return {label: np.array(rows[label], dtype=np.int64) for label in ordered}


_NUMBER = r"(\d+(?:\.\d+)?(?:e[+-]\d+)?)(?:–\S+)?"
_OWN = re.compile(rf"(?:{_NUMBER} interactions?|popularity {_NUMBER})(?: \(.*\))?$")
"""A label of `by_activity` or `by_popularity`, whose number may have decimals."""


def _natural_sort_key(label: str) -> tuple[list[str | float], str]:
    """Natural sort key: 10 comes after 2, also inside a text."""
    if own := _OWN.match(label):
        return ["", float(own[1] or own[2])], label
    pieces = re.split("([0-9]+)", label)
    return [int(piece) if index % 2 else piece for index, piece in enumerate(pieces)], label


def read_cluster_numbers(
    clusters: object,
    scores: UserValues | Population,
    counts: dict[str, int] | None = None,
    averaged: BoolArray | None = None,
) -> IntArray | None:
    """Cluster number of each user, a new one per user without a label; None without data.

    `counts` and `averaged` are as in `read_user_labels`.
    """
    labels = read_user_labels(clusters, "cluster", scores, counts, averaged)
    if labels is None:
        return None
    code = labels.cast(pl.String).rank("dense").fill_null(0).to_numpy().astype(np.int64)
    alone = np.flatnonzero(code == 0)
    code[alone] = code.max(initial=0) + 1 + np.arange(alone.size)
    return code - 1


@answers_calls
def by_activity(
    train: object,
    *,
    bins: Bins = 4,
    columns: Mapping[str, str] | None = None,
    users: object = None,
) -> Frame:
    """Segments of users by their number of interactions.

    Evaluated users that `train` does not have are a segment too: ``"cold: 0 interactions"``.

    Parameters
    ----------
    train : object
        Interactions, in any form that `rankmeter.describe` takes.
    bins : int, list or mapping
        Number of segments of about equal size; or the least number of interactions of the second
        segment, the third and so on; or the least number of every segment, by its name.
    columns : mapping, optional
        Which column has which role.
    users : object, optional
        Users, such as the ground truth or a list of ids. Those that `train` does not have become
        rows of the segment ``"cold: 0 interactions"``.

    Returns
    -------
    polars.DataFrame or pandas.DataFrame
        Columns ``user`` and ``segment``, in pandas if `train` is, with its name of the user; labels
        like ``"1–20 interactions"``. As `segments` of `rankmeter.compare` it puts users
        that it lacks into ``"cold: 0 interactions"``. A frame derived from it, or a file, does not:
        pass `users` if it is filtered or saved.

    Raises
    ------
    UsageError
        If `bins` is neither an integer ≥ 2 nor numbers in ascending order.

    Examples
    --------
    >>> train = {"ann": ["a"], "bob": ["a", "b", "c"]}
    >>> by_activity(train, bins=2)["segment"].to_list()
    ['1 interaction', '3 interactions']
    >>> by_activity(train, bins={"new": 1, "regular": 2})["segment"].to_list()
    ['1 interaction (new)', '3 interactions (regular)']
    >>> by_activity(train, bins=2, users=["ann", "cem"]).filter(user="cem").rows()
    [('cem', 'cold: 0 interactions')]
    """
    read = Interactions.read(train, columns=columns)
    counts = read.frame.group_by("user").len("value").sort("user")
    segments = _bin_users(counts, bins, "interactions")
    if users is not None:
        from rankmeter._reading.keyed import read_users

        requested = read_users(users, segments["user"], columns=columns).unique(maintain_order=True)
        cold = requested.filter(~requested.is_in(segments["user"].implode())).to_frame("user")
        segments = pl.concat([segments, cold.with_columns(segment=pl.lit(COLD))])
    frame = read.kind.convert_frame(segments)
    object.__setattr__(frame, _OTHERS, COLD)
    return frame


@answers_calls
def by_popularity(
    train: object, truth: object, *, bins: Bins = 4, columns: Mapping[str, str] | None = None
) -> Frame:
    """Segments of users by the popularity of their items in the truth.

    Parameters
    ----------
    train, truth : object
        Interactions: the popularity of an item is its number of interactions in `train`, that of a
        user the mean over the user's items in `truth`.
    bins : int, list or mapping
        Number of segments of about equal size; or the least popularity of the second segment, the
        third and so on; or the least popularity of every segment, by its name.
    columns : mapping, optional
        Which column has which role.

    Returns
    -------
    polars.DataFrame or pandas.DataFrame
        Columns ``user`` and ``segment``, in pandas if `train` is, with its name of the user.

    Examples
    --------
    >>> train = {"ann": ["a"], "bob": ["a", "b"]}
    >>> by_popularity(train, {"ann": ["b"], "bob": ["a"]}, bins=2)["segment"].to_list()
    ['popularity 1', 'popularity 2']
    """
    read = Interactions.read(train, columns=columns)
    popularity = read.frame.group_by("item").len("value")
    judged = Interactions.read(truth, columns=columns)
    from rankmeter._reading.keyed import to_common_id_type

    judged_items, items = to_common_id_type(
        judged.frame["item"],
        popularity["item"],
        f"truth ({judged.source})",
        "train",
        textual=judged.textual or read.textual,
    )
    popularity = popularity.with_columns(items)
    rows = judged.frame.with_columns(judged_items).join(popularity, on="item", how="left")
    mean = pl.col("value").fill_null(0).mean()
    users = rows.group_by("user").agg(mean).sort("user")
    return read.kind.convert_frame(_bin_users(users, bins, "popularity"))


def _bin_users(frame: pl.DataFrame, bins: Bins, unit: str) -> pl.DataFrame:
    """Divide users into segments of about equal size, or by edges; ties stay together."""
    value = frame["value"].to_numpy().astype(np.float64)
    names: Sequence[str] = ()
    if isinstance(bins, Mapping | Sequence) and not isinstance(bins, str):
        by_name = bins if isinstance(bins, Mapping) else {}
        names = [f" ({check_text('bins', str(name))})" for name in by_name]
        part = np.searchsorted(_bin_edges(bins, value), value, side="right")
    else:
        bins = check_integer("bins", bins, least=2)
        # Equal values belong where the first of them falls.
        share = np.searchsorted(np.sort(value), value) / max(value.size, 1)
        part = np.floor(share * bins).astype(np.int64)
    bins_used = np.unique(part).tolist()
    spans = {bin_: value[part == bin_] for bin_ in bins_used}
    texts = {bin_: _span_text(values, 4) for bin_, values in spans.items()}
    if len({*texts.values()}) < len(texts):
        texts = {bin_: _span_text(values) for bin_, values in spans.items()}
    labels = {
        bin_: f"{_with_unit(text, unit)}{names[bin_] if names else ''}"
        for bin_, text in texts.items()
    }
    return frame.select("user", segment=pl.Series([labels[i] for i in part.tolist()]))


def _bin_edges(bins: Sequence[float] | Mapping[str, float], value: FloatArray) -> list[float]:
    """Lower edges of the second and all later segments."""
    lower_edges = bins.values() if isinstance(bins, Mapping) else bins
    edges = [check_number("bins", edge) for edge in lower_edges]
    if not edges or any(low >= high for low, high in pairwise(edges)):
        raise option_error("bins", "an integer ≥ 2, or numbers in ascending order", bins)
    if not isinstance(bins, Mapping):
        return edges
    if (least := value.min(initial=np.inf)) < edges[0]:
        raise option_error(
            "bins", f"≤ {exact_text(least)} at first, the least value of a user", edges[0]
        )
    return edges[1:]


def _span_text(values: FloatArray, digits: int | None = None) -> str:
    """The least and the largest value; fractions with some digits, or all."""
    ends = (float(values.min()), float(values.max()))
    texts = (exact_text(x) if digits is None or x.is_integer() else f"{x:.{digits}g}" for x in ends)
    return "–".join(dict.fromkeys(texts))


def _with_unit(span: str, unit: str) -> str:
    if unit != "interactions":
        return f"{unit} {span}"
    return f"{span} {unit.removesuffix('s') if span == '1' else unit}"


MeansByPart = Mapping[str | None, Mapping[str, Estimate]]
"""By part of the users and metric, the mean; None are users without a label."""


def means_by_segment(
    plan: Plan,
    scores: UserValues,
    labels: pl.Series,
    clusters: IntArray | None,
    *,
    macro: bool = False,
) -> MeansByPart:
    """Means by part of the users; users without a label, under None, follow the labels.

    With `macro`, the means of the means of the parts follow.
    """
    segments: list[tuple[str | None, IntArray]] = [*users_by_segment(labels).items()]
    segments.append((None, np.flatnonzero(labels.is_null().to_numpy())))
    metrics = [(entry, scores.averaged(entry)) for entry in plan.metrics]
    means: dict[str | None, dict[str, Estimate]] = {}
    by_metric: dict[str, list[tuple[Estimate, Averaged]]] = {e.label: [] for e in plan.metrics}
    for part, users in segments:
        for entry, everyone in metrics:
            averaged = everyone.only(users)
            if part is not None or averaged.users.size:
                e = estimate(plan, entry, averaged, clusters)
                means.setdefault(part, {})[entry.label] = e
                by_metric[entry.label].append((e, averaged))
    if macro:
        means["macro"] = {
            entry.label: macro_estimate(plan, entry, by_metric[entry.label], clusters)
            for entry in plan.metrics
        }
    return means


def segment_means_frame(means_by_part: MeansByPart) -> pl.DataFrame:
    """Convert means by part to a frame with a row per part and metric."""
    rows = [
        (part, e.label, e.mean, e.low, e.high, e.std, e.n)
        for part, means in means_by_part.items()
        for e in means.values()
    ]
    names = ["segment", "metric", "mean", "low", "high", "std", "n_users"]
    return pl.DataFrame(rows, schema=names, orient="row")


def segment_gap_frame(
    plan: Plan, scores: UserValues, labels: pl.Series, clusters: IntArray | None
) -> pl.DataFrame:
    """Frame of the gap between the means of parts for each metric, as in `Summary.gap`."""
    rows = []
    for entry in plan.metrics:
        if entry.averaging.aggregate != "mean":
            raise UsageError(f"{entry.label} is not a mean over users, so it has no gap")
        averaged = scores.averaged(entry)
        part = labels.gather(averaged.users)
        labeled = part.is_not_null().to_numpy()
        group = part.drop_nulls().rank("dense").to_numpy()
        values = gap_jackknife_values(averaged.values[labeled], group)
        m = moments(values)
        cluster = None if clusters is None else clusters[averaged.users[labeled]]
        low, high = mean_interval(values, m, plan, cluster)
        rows.append((entry.label, m.mean, max(low, 0.0), high, m.n, len(np.unique(group))))
    names = ["metric", "gap", "low", "high", "n_users", "n_segments"]
    return pl.DataFrame(rows, schema=names, orient="row")


def gap_jackknife_values(values: FloatArray, group: IntArray) -> FloatArray:
    """Jackknife values of the mean absolute pairwise difference between the means of the groups.

    Their mean is the number, and their spread its uncertainty; NaN with fewer than two groups.
    """
    n = values.size
    _, code, size = np.unique(group, return_inverse=True, return_counts=True)
    total = np.bincount(code, values)
    if size.size < 2:
        return np.full(n, np.nan)
    means = total / size
    ascending = np.sort(means)
    below = np.concatenate(([0.0], np.cumsum(ascending)))

    def distance_to_all_means(mean: FloatArray) -> FloatArray:
        """The sum of the distances of a mean from the means of all groups."""
        n_below = np.searchsorted(ascending, mean)
        sums: FloatArray = (2 * n_below - size.size) * mean + below[-1] - 2 * below[n_below]
        return sums

    pairs = size.size * (size.size - 1) / 2
    gap = float(distance_to_all_means(means).sum() / (2 * pairs))
    mean = (total[code] - values) / np.maximum(size[code] - 1, 1)
    change = (
        distance_to_all_means(mean)
        - np.abs(means[code] - mean)
        - distance_to_all_means(means)[code]
    )
    without = gap + change / pairs
    without = np.where(size[code] > 1, without, gap)  # a group of one user stays as it is
    jackknifed: FloatArray = gap + (n - 1) * (without.mean() - without)
    return jackknifed
