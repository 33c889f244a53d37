"""Means within parts of the users, and how far apart they are."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from rankmeter._engine import Scores
from rankmeter._estimates.estimates import Estimate, estimate, inside, mean_interval
from rankmeter._estimates.segments import masks_of
from rankmeter._hits import BoolArray, FloatArray, IntArray
from rankmeter._plan import Plan
from rankmeter._statistics import moments, t_interval_of
from rankmeter.errors import UsageError

Parts = Mapping[str | None, Mapping[str, Estimate]]
"""By part of the users and metric, the mean; None are users without a label."""


def part_means(plan: Plan, scores: Scores, labels: pl.Series, clusters: IntArray | None) -> Parts:
    """The means within parts of the users; those without a label come last, if there are any."""
    masks: list[tuple[str | None, BoolArray]] = [*masks_of(labels).items()]
    masks.append((None, labels.is_null().to_numpy()))
    means: dict[str | None, dict[str, Estimate]] = {}
    for part, mask in masks:
        for entry in plan.metrics:
            averaged = scores.averaged(entry).only(mask)
            if part is not None or averaged.users.size:
                e = estimate(plan, entry, averaged, clusters)
                means.setdefault(part, {})[entry.label] = e
    return means


def part_frame(parts: Parts) -> pl.DataFrame:
    """Means within parts as rows."""
    rows = [
        (part, e.label, e.mean, e.low, e.high, e.std, e.n)
        for part, means in parts.items()
        for e in means.values()
    ]
    names = ["segment", "metric", "mean", "low", "high", "std", "n_users"]
    return pl.DataFrame(rows, schema=names, orient="row")


def with_macro(plan: Plan, parts: pl.DataFrame) -> pl.DataFrame:
    """Rows of parts, and for each metric the mean of their means, with the parts as units."""
    macro = []
    for entry in plan.metrics:
        m = moments(parts.filter(metric=entry.label)["mean"].drop_nans().to_numpy())
        low, high = t_interval_of(m, plan.confidence) if m.n > 1 else (np.nan, np.nan)
        low, high = inside((entry.spec.low, entry.spec.high), m.mean, low, high)
        macro.append(("macro", entry.label, m.mean, low, high, m.sd, m.n))
    return pl.concat([parts, pl.DataFrame(macro, schema=parts.schema, orient="row")])


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
    whole = _gap(total / size)
    left = np.maximum(size[code] - 1, 1)
    mean = (total[code] - values) / left
    far = np.abs(total / size - (total / size)[code][:, None])
    moved = np.abs(total / size - mean[:, None])
    moved[np.arange(n), code] = 0.0
    pairs = size.size * (size.size - 1) / 2
    without = whole + (moved - far).sum(axis=1) / pairs
    without = np.where(size[code] > 1, without, whole)  # a group of one user stays as it is
    jackknifed: FloatArray = whole + (n - 1) * (without.mean() - without)
    return jackknifed


def _gap(means: FloatArray) -> float:
    at = np.triu_indices(means.size, 1)
    return float(np.abs(means[at[0]] - means[at[1]]).mean())
