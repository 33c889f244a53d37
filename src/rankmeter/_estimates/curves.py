"""A metric against k, to choose how many items to show."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from rankmeter._checks import fraction, integer
from rankmeter._engine import Scores
from rankmeter._estimates.estimates import estimate
from rankmeter._estimates.notes import Facts, facts_of, notes_of
from rankmeter._estimates.segments import clusters_of
from rankmeter._hits import IntArray
from rankmeter._plan import MetricPlan, Plan
from rankmeter._statistics import covariance, spread, t_quantile
from rankmeter.errors import UsageError

__all__ = ["Curve", "curves_of", "distinct_curves", "usual_k"]


MOST = 10_000
"""The largest cutoff of a curve: every cutoff is a metric of its own, with an interval."""
LOSSES = {
    "system": str,
    "k": int,
    "variance": float,
    "best_variance": float,
    "covariance": float,
    "df": float,
}


@dataclass(frozen=True, eq=False, repr=False)
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
    losses : polars.DataFrame
        How each cutoff goes together with the best one of its system: variance of its mean, of the
        best mean, their covariance, degrees of freedom.
    confidence : float
        Level of the intervals.
    """

    metric: str
    frame: pl.DataFrame
    increasing: bool = True
    notes: tuple[str, ...] = ()
    losses: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=LOSSES))
    confidence: float = 0.95

    def __repr__(self) -> str:
        return (
            f"Curve of {self.metric}, k from 1 to {max(self.frame['k'], default=0)}\n{self.frame}"
        )

    def _repr_html_(self) -> str:
        import html

        title = f"Curve of {self.metric}, k from 1 to {max(self.frame['k'], default=0)}"
        return f"<p>{html.escape(title)}</p>{self.frame._repr_html_()}"

    def best_k(self) -> dict[str, int]:
        """For each system the k of the best mean; the smallest of equals."""
        return {name: self._best(part)[0] for name, part in self._systems()}

    def smallest_good_k(self, tolerance: float | None = None) -> dict[str, int]:
        """For each system the smallest k that is good enough.

        Parameters
        ----------
        tolerance : float, optional
            The share of the best mean that may be lost: with 0.05, k is the smallest one that is
            shown to lose at most 5 %, by a one-sided t test at the level 1 - confidence of the
            loss of each user. Without a tolerance, the rule of thumb of one standard error: the
            smallest k whose mean is within one standard error, of the paired difference, of the
            best. It prefers a shorter list, and does not say that the longer one is no better.

        Notes
        -----
        Both use the difference between two cutoffs within each user, which varies far less than
        either mean. For hit rate and recall, which only grow with k, any growth is real: only a
        tolerance makes sense for them.

        Raises
        ------
        UsageError
            If the tolerance is not between 0 and 1.
        """
        if tolerance is not None:
            fraction("tolerance", tolerance)
        found = {}
        for name, part in self._systems():
            k, best = self._best(part)
            pairs = {row["k"]: row for row in self.losses.filter(system=name).to_dicts()}
            good = [
                row["k"]
                for row in part.iter_rows(named=True)
                if row["k"] in pairs
                and self._is_good(row["mean"], best, pairs[row["k"]], tolerance)
            ]
            found[name] = min([k, *good])
        return found

    def _is_good(
        self, mean: float, best: float, pair: Mapping[str, float], tolerance: float | None
    ) -> bool:
        """Whether a mean is close enough to the best one."""
        sign = 1.0 if self.increasing else -1.0
        share = 1.0 - sign * (tolerance or 0.0)
        kept = sign * (mean - share * best)
        own, both, top = pair["variance"], pair["covariance"], pair["best_variance"]
        se = math.sqrt(max(own - 2.0 * share * both + share * share * top, 0.0))
        if tolerance is None:
            return kept >= -se
        if not pair["df"] >= 1:
            return False
        return kept >= se * t_quantile(self.confidence, pair["df"])

    def _systems(self) -> list[tuple[str, pl.DataFrame]]:
        names = self.frame["system"].unique(maintain_order=True).to_list()
        return [(name, self.frame.filter(pl.col("system") == name)) for name in names]

    def _best(self, part: pl.DataFrame) -> tuple[int, float]:
        order = part.sort(["mean", "k"], descending=[self.increasing, False], nulls_last=True)
        row = order.row(0, named=True)
        return row["k"], row["mean"]


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


def usual_k(plan: Plan) -> int:
    """Where a curve ends that is not asked for: at the largest cutoff of the plan, at least 20."""
    return min(max([entry.metric.k or 0 for entry in plan.metrics] + [20]), MOST)


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
    integer("max_k", max_k, least=1, most=MOST)
    points = {
        (entry.label, k): replace(entry, label=f"{entry.label} at k = {k}", metric=entry.metric @ k)
        for entry in entries
        for k in range(1, max_k + 1)
    }
    plan = replace(plan, metrics=tuple(points.values()))
    rows: dict[str, list[tuple[Any, ...]]] = {entry.label: [] for entry in entries}
    losses: dict[str, list[tuple[Any, ...]]] = {entry.label: [] for entry in entries}
    facts: dict[str, dict[str, Facts]] = {entry.label: {} for entry in entries}
    for name, scores in scored(plan).items():
        read = (counts or {}).get(name, {})
        for label, found in facts.items():
            ends = replace(plan, metrics=(points[label, 1], points[label, max_k]))
            found[name] = facts_of(ends, scores, read)
        drawn = clusters_of(clusters, scores)
        for entry in entries:
            line = {k: points[entry.label, k] for k in range(1, max_k + 1)}
            losses[entry.label] += _losses(name, line, scores, drawn)
        for (label, k), point in points.items():
            averaged = scores.averaged(point)
            e = estimate(plan, point, averaged, drawn)
            se = spread(averaged.parts, None if drawn is None else drawn[averaged.users]).se
            rows[label].append((name, k, e.mean, e.low, e.high, se))
    columns = ["system", "k", "mean", "low", "high", "se"]
    return {
        entry.label: Curve(
            entry.metric.name,
            pl.DataFrame(rows[entry.label], schema=columns, orient="row"),
            entry.spec.increasing,
            tuple(notes_of(replace(plan, metrics=(entry,)), facts[entry.label])),
            pl.DataFrame(losses[entry.label], schema=LOSSES, orient="row"),
            plan.confidence,
        )
        for entry in entries
    }


def _losses(
    name: str, line: Mapping[int, MetricPlan], scores: Scores, clusters: IntArray | None
) -> list[tuple[Any, ...]]:
    """How the cutoffs of a curve go together with the best one, over their common users."""
    known = {k: scores.averaged(point) for k, point in line.items()}
    users = functools.reduce(np.intersect1d, (one.users for one in known.values()))
    if users.size == 0:
        return []
    common = np.isin(np.arange(scores.n_users), users)
    values = {k: one.only(common).parts for k, one in known.items()}
    up = next(iter(line.values())).spec.increasing
    means = {k: x.mean() if up else -x.mean() for k, x in values.items()}
    best = max(means, key=lambda k: (means[k], -k))
    own = None if clusters is None else clusters[users]
    units = users.size if own is None else np.unique(own).size
    found = []
    for k, x in values.items():
        if units < 2:
            found.append((name, k, math.nan, math.nan, math.nan, math.nan))
            continue
        matrix = covariance([x, values[best]], own)
        found.append((name, k, matrix[0, 0], matrix[1, 1], matrix[0, 1], float(units - 1)))
    return found
