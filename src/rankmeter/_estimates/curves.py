"""A metric against k, to choose how many items to show."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from rankmeter._checks import integer
from rankmeter._engine import Scores
from rankmeter._estimates.estimates import estimate
from rankmeter._estimates.notes import Facts, facts_of, notes_of
from rankmeter._estimates.segments import clusters_of
from rankmeter._plan import MetricPlan, Plan
from rankmeter._statistics import spread
from rankmeter.errors import UsageError

__all__ = ["Curve", "curves_of", "distinct_curves"]


@dataclass(frozen=True, eq=False)
class Curve:
    """``metric@1``, ``metric@2``, … of one or more systems.

    Attributes
    ----------
    metric : str
        Its name, without a cutoff.
    frame : polars.DataFrame
        Columns ``system``, ``k``, ``mean``, ``low``, ``high``, ``se`` (standard error of the mean).
    increasing : bool
        Whether larger is better.
    notes : tuple of str
        What a reader must know, as below the table of an evaluation.
    """

    metric: str
    frame: pl.DataFrame
    increasing: bool = True
    notes: tuple[str, ...] = ()

    def best_k(self) -> dict[str, int]:
        """For each system the k of the best mean; the smallest of equals."""
        return {name: self._best(part)[0] for name, part in self._systems()}

    def smallest_good_k(self) -> dict[str, int]:
        """For each system the smallest k whose mean is within one standard error of the best.

        The rule of one standard error: a shorter list that is not distinguishably worse is
        preferred. For a metric that only grows with k it shows where growth becomes noise.
        """
        found = {}
        for name, part in self._systems():
            k, best, se = self._best(part)
            near = pl.col("mean") >= best - se if self.increasing else pl.col("mean") <= best + se
            good = part.filter(near)["k"]
            found[name] = k if good.is_empty() else int(good.min())  # type: ignore[arg-type]
        return found

    def _systems(self) -> list[tuple[str, pl.DataFrame]]:
        names = self.frame["system"].unique(maintain_order=True).to_list()
        return [(name, self.frame.filter(pl.col("system") == name)) for name in names]

    def _best(self, part: pl.DataFrame) -> tuple[int, float, float]:
        order = part.sort(["mean", "k"], descending=[self.increasing, False], nulls_last=True)
        row = order.row(0, named=True)
        return row["k"], row["mean"], 0.0 if math.isnan(row["se"]) else row["se"]


def distinct_curves(plan: Plan) -> dict[str, str]:
    """For each metric that can be drawn against k, the first one with the same curve.

    ``ndcg@5`` and ``ndcg@10`` are two points of one curve.
    """
    firsts: dict[Any, str] = {}
    found = {}
    for entry in plan.metrics:
        if entry.spec.cutoff:
            what = (entry.metric.name, entry.metric.options, entry.alignment, entry.averaging)
            found[entry.label] = firsts.setdefault(what, entry.label)
    return found


def curves_of(
    plan: Plan,
    entries: Sequence[MetricPlan],
    scored: Callable[[Plan], Mapping[str, Scores]],
    max_k: int,
    clusters: object = None,
    counts: Mapping[str, Mapping[str, int]] | None = None,
) -> dict[str, Curve]:
    """Curves by label, computed all at once: a curve is a plan with more cutoffs.

    The cutoffs of `entries` are replaced; intervals are made as the plan says. `scored` gives the
    scores of every system for a plan; `clusters` are as in `evaluate`; `counts` are the counts of
    the data, by system.
    """
    for entry in entries:
        if not entry.spec.cutoff:
            raise UsageError(f"{entry.metric.name} has no cutoff, so it has no curve")
    integer("max_k", max_k, least=1)
    points = {
        (entry.label, k): replace(entry, label=f"{entry.label} at k = {k}", metric=entry.metric @ k)
        for entry in entries
        for k in range(1, max_k + 1)
    }
    plan = replace(plan, metrics=tuple(points.values()))
    rows: dict[str, list[tuple[Any, ...]]] = {entry.label: [] for entry in entries}
    facts: dict[str, dict[str, Facts]] = {entry.label: {} for entry in entries}
    for name, scores in scored(plan).items():
        read = (counts or {}).get(name, {})
        for label, found in facts.items():
            ends = replace(plan, metrics=(points[label, 1], points[label, max_k]))
            found[name] = facts_of(ends, scores, read)
        drawn = clusters_of(clusters, scores)
        for (label, k), point in points.items():
            averaged = scores.averaged(point)
            e = estimate(plan, point, averaged, drawn)
            se = spread(averaged.values, None if drawn is None else drawn[averaged.users]).se
            rows[label].append((name, k, e.mean, e.low, e.high, se))
    columns = ["system", "k", "mean", "low", "high", "se"]
    return {
        entry.label: Curve(
            entry.metric.name,
            pl.DataFrame(rows[entry.label], schema=columns, orient="row"),
            entry.spec.increasing,
            tuple(notes_of(plan, facts[entry.label])),
        )
        for entry in entries
    }
