"""Means within parts of the users, and how far apart they are."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from rankmeter._engine import Averaged, Scores
from rankmeter._estimates.estimates import Estimate, estimate, macro_estimate, mean_interval
from rankmeter._estimates.segments import users_by_segment
from rankmeter._hits import FloatArray, IntArray
from rankmeter._plan import Plan
from rankmeter._statistics import moments
from rankmeter.errors import UsageError

Parts = Mapping[str | None, Mapping[str, Estimate]]
"""By part of the users and metric, the mean; None are users without a label."""


def part_means(
    plan: Plan,
    scores: Scores,
    labels: pl.Series,
    clusters: IntArray | None,
    *,
    macro: bool = False,
) -> Parts:
    """The means within parts of the users; those without a label come last, if there are any.

    With `macro`, the means of the means of the parts follow.
    """
    segments: list[tuple[str | None, IntArray]] = [*users_by_segment(labels).items()]
    segments.append((None, labels.is_null().arg_true().to_numpy().astype(np.int64)))
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


def part_frame(means_by_part: Parts) -> pl.DataFrame:
    """Means within parts as rows."""
    rows = [
        (part, e.label, e.mean, e.low, e.high, e.std, e.n)
        for part, means in means_by_part.items()
        for e in means.values()
    ]
    names = ["segment", "metric", "mean", "low", "high", "std", "n_users"]
    return pl.DataFrame(rows, schema=names, orient="row")


def gap_frame(
    plan: Plan, scores: Scores, labels: pl.Series, clusters: IntArray | None
) -> pl.DataFrame:
    """For each metric, how far apart the means of parts are, as `Summary.gap` says."""
    rows = []
    for entry in plan.metrics:
        if entry.averaging.aggregate != "mean":
            raise UsageError(f"{entry.label} is not a mean over users, so it has no gap")
        averaged = scores.averaged(entry)
        part = labels.gather(averaged.users)
        labelled = part.is_not_null().to_numpy()
        group = part.drop_nulls().rank("dense").to_numpy()
        values = gap_values(averaged.values[labelled], group)
        m = moments(values)
        cluster = None if clusters is None else clusters[averaged.users[labelled]]
        low, high = mean_interval(values, m, plan, cluster)
        rows.append((entry.label, m.mean, max(low, 0.0), high, m.n, len(np.unique(group))))
    names = ["metric", "gap", "low", "high", "n_users", "n_segments"]
    return pl.DataFrame(rows, schema=names, orient="row")


def gap_values(values: FloatArray, group: IntArray) -> FloatArray:
    """Jackknife values of the mean absolute difference between the means of each two groups.

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

    def to_all(mean: FloatArray) -> FloatArray:
        """The sum of the distances of a mean from those of all groups."""
        n_below = np.searchsorted(ascending, mean)
        sums: FloatArray = (2 * n_below - size.size) * mean + below[-1] - 2 * below[n_below]
        return sums

    pairs = size.size * (size.size - 1) / 2
    whole = float(to_all(means).sum() / (2 * pairs))
    mean = (total[code] - values) / np.maximum(size[code] - 1, 1)
    change = to_all(mean) - np.abs(means[code] - mean) - to_all(means)[code]
    without = whole + change / pairs
    without = np.where(size[code] > 1, without, whole)  # a group of one user stays as it is
    jackknifed: FloatArray = whole + (n - 1) * (without.mean() - without)
    return jackknifed
