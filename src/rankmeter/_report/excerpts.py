"""What a chart or a page shows of the values of many users: bins, extreme users, headlines."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from rankmeter._evidence.hits import FloatArray
from rankmeter._results.differences import Difference
from rankmeter._results.wording import (
    group_by_key,
    number_text,
    p_equation,
    signed_text,
)

MAX_SYSTEMS = 10
"""Systems in one chart: the number of distinct colors."""


MAX_METRICS = 30
"""Metrics with charts and lists on a page; its tables have all."""


MAX_PAIRS = 20
"""Differences in one forest plot."""


MAX_USERS = 5
"""Users with the largest or smallest values, in each list of them."""


BINS = 20  # on each side of 0


def differences_in_chart(
    differences: Sequence[Difference], best: str, limit: int = MAX_PAIRS
) -> list[Difference]:
    """The differences that a chart shows, from the largest to the smallest.

    Beyond `limit`, those of the best system come first, then the largest.
    """
    pairs = [d for d in differences if not math.isnan(d.difference)]
    pairs.sort(key=lambda d: (best not in (d.a, d.b), -abs(d.difference)))
    return sorted(pairs[:limit], key=lambda d: -d.difference)


@dataclass(frozen=True)
class Histogram:
    """Numbers of users by size of their difference; equal users are counted separately.

    There is one more edge than counts; 0 is among the edges.
    """

    edges: list[float]
    counts: list[int]
    equal: int


def bin_differences(x: FloatArray, y: FloatArray) -> Histogram:
    """Bin the per-user differences x - y behind a mean difference."""
    differences = (x - y)[x != y]
    reach = float(np.abs(differences).max(initial=0.0)) or 1.0
    edges = np.linspace(-reach, reach, 2 * BINS + 1)
    edges[BINS] = 0.0
    # A value on an edge belongs to the bin that is farther from 0.
    counts = [
        np.histogram(np.abs(differences[side]), edges[BINS:])[0]
        for side in (differences < 0, differences > 0)
    ]
    sides = np.concatenate([counts[0][::-1], counts[1]])
    return Histogram(edges.tolist(), sides.tolist(), int(x.size - differences.size))


def grid_of_points(x: FloatArray, y: FloatArray) -> tuple[float, float]:
    """The smallest value, and the step of a grid from there to the largest value."""
    low = float(min(x.min(initial=np.inf), y.min(initial=np.inf)))
    return low, (float(max(x.max(initial=low), y.max(initial=low))) - low) / BINS or 1.0


def count_users_per_point(x: FloatArray, y: FloatArray) -> list[tuple[float, float, int]]:
    """Round both values of each user to a grid of 21 × 21 points, and count users per point.

    Equal values stay equal, and the smallest and the largest value are exact.
    """
    low, step = grid_of_points(x, y)
    cells = np.rint((np.stack([x, y]) - low) / step).astype(np.int64)
    points, n = np.unique(cells, axis=1, return_counts=True)
    first, second = (low + points * step).tolist()
    return list(zip(first, second, n.tolist(), strict=True))


def metrics_with_charts(labels: Sequence[str]) -> tuple[Sequence[str], list[str]]:
    """Metrics that get charts and lists, and a note if other metrics are left out."""
    note = (
        f"{len(labels)} metrics: the charts and the lists show the first {MAX_METRICS}, the tables "
        "and the machine-readable result all; pass the metrics to look at first"
    )
    return labels[:MAX_METRICS], [note] if len(labels) > MAX_METRICS else []


def bin_values(values: FloatArray) -> tuple[list[int], list[float]]:
    """Bin values; return the counts and the edges of the bins."""
    counts, edges = np.histogram(values, BINS)
    return counts.tolist(), edges.tolist()


def extreme_user_rows(
    users: pl.Series, x: FloatArray, y: FloatArray, d: Difference
) -> dict[str, list[tuple[str, ...]]]:
    """Rows of the users with the largest differences in favor of each system.

    Each user has both values. The largest difference is first; equal differences are in user order.
    Only users whose values differ, at most `MAX_USERS` for each system.
    """
    gains = (x - y) if d.increasing else (y - x)
    rows: dict[str, list[tuple[str, ...]]] = {}
    for name, gain in ((d.a, gains), (d.b, -gains)):
        order = np.argsort(-gain, kind="stable")[:MAX_USERS]
        for i in order[gain[order] > 0].tolist():
            row = (str(users[i]), number_text(x[i]), number_text(y[i]), signed_text(x[i] - y[i]))
            rows.setdefault(f"{name} is better for them", []).append(row)
    return rows


def segment_sentence(
    metric: str, best: Mapping[str, Sequence[str]], difference: str, p: float, alpha: float
) -> str:
    """Name the best systems of each segment, and say whether `difference` varies.

    `best` is by segment; `p` is that of equal differences, NaN if they were not tested.
    """
    by_leaders = group_by_key((", ".join(names), segment) for segment, names in best.items())
    if len(by_leaders) == 1:
        (name,) = by_leaders
        has = "has" if all(len(names) == 1 for names in best.values()) else "have"
        extent = "both" if len(best) == 2 else f"all {len(best)}"
        best_in = f"{name} {has} the best {metric} in {extent} segments."
    else:
        clauses = [
            f"{name} in {len(part)} ({', '.join(part)})" for name, part in by_leaders.items()
        ]
        best_in = f"The best {metric} of {len(best)} segments: {'; '.join(clauses)}."
    if math.isnan(p):
        return best_in
    verb = "differs" if p <= alpha else "is not shown to differ"
    return f"{best_in} The difference {difference} {verb} between segments ({p_equation(p)})."


def worst_and_best_users(
    users: pl.Series, values: FloatArray, *, increasing: bool
) -> dict[str, list[tuple[str, str]]]:
    """Rows of the users with the worst values, and with the best values if different.

    Equal values are in the order of the users; at most `MAX_USERS` of each.
    """
    good = values if increasing else -values
    worst = np.argsort(good, kind="stable")[:MAX_USERS]
    best = np.argsort(-good, kind="stable")[:MAX_USERS]
    best = best[good[best] > good.min(initial=np.inf)]
    worst = worst[~np.isin(worst, best)]
    return {
        side: [(str(users[i]), number_text(values[i])) for i in rows.tolist()]
        for side, rows in (("worst", worst), ("best", best))
        if rows.size
    }
