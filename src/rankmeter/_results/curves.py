"""A metric as a function of k."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, overload

import numpy as np
import polars as pl

from rankmeter._annexes import annex
from rankmeter._engine.scores import Averaged, UserValues
from rankmeter._evidence.hits import FloatArray, IntArray
from rankmeter._results.estimates import estimate
from rankmeter._results.notes import Facts, evaluation_facts, notes_on_means
from rankmeter._results.result import Result
from rankmeter._results.segments import read_cluster_numbers
from rankmeter._results.tables import TextTable
from rankmeter._results.wording import group_by_key, interval_text, level_text, number_text
from rankmeter._statistics.intervals import (
    covariance_of_means,
    largest_change,
    spread_of_mean,
    t_quantile,
    values_of_units,
)
from rankmeter._statistics.runs import PSEUDO_CHANGES
from rankmeter.conventions._plan import MetricPlan, Plan
from rankmeter.errors import UsageError, spell_out_hidden_characters
from rankmeter.errors._checks import check_fraction, check_integer

MOST = 10_000
"""The largest cutoff of a curve: every cutoff is a metric of its own, with an interval."""
_MEASURES = ("variance", "best_variance", "covariance", "df", "unseen")
LOSSES: dict[str, type] = {"system": str, "k": int, **dict.fromkeys(_MEASURES, float)}


@dataclass(frozen=True, eq=False, repr=False)
class Curve(Result):
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
        How each cutoff goes together with the best one of its system (the longest of equals):
        variance of its mean, of the best mean, their covariance, degrees of freedom; and
        ``unseen``, by how much one more user with the largest change would raise the variance of
        their difference.
    confidence : float
        Level of the intervals.
    """

    metric: str
    frame: pl.DataFrame
    increasing: bool = True
    notes: tuple[str, ...] = ()
    losses: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=LOSSES))
    confidence: float = 0.95

    def best_k(self) -> dict[str, int]:
        """For each system the k of the best mean; the smallest of equals."""
        return {
            name: best_cutoffs(means, increasing=self.increasing)[0]
            for name, means in self._means_by_system()
        }

    @overload
    def smallest_good_k(self, tolerance: None = None) -> dict[str, int]: ...

    @overload
    def smallest_good_k(self, tolerance: float) -> dict[str, int | None]: ...

    def smallest_good_k(
        self, tolerance: float | None = None
    ) -> dict[str, int] | dict[str, int | None]:
        """For each system the smallest k that is good enough.

        Parameters
        ----------
        tolerance : float, optional
            The share of the best mean that may be lost: with 0.05, k is the smallest one that is
            shown to lose at most 5 %. From the longest list with the best mean down, each cutoff
            is tested by a one-sided t test at the level 1 - confidence of the loss of each user,
            until one is not shown. If none is, k is that of the whole curve, if that is best, or
            None: the data do not show any k. Without a tolerance, the rule of thumb of one
            standard error: the smallest k whose mean is within one standard error, of the paired
            difference, of the best. It prefers a shorter list, and does not say that the longer
            one is no better.

        Notes
        -----
        Both use the difference between two cutoffs within each user, which varies far less than
        either mean. For hit rate and recall, which only grow with k, any growth is real: only a
        tolerance makes sense for them.

        Tests in an order that is fixed before need no correction: Maurer, Hothorn and Lehmacher
        (1995). The sample may have missed users who lose most, so the variance of the loss counts
        two more of them, half of them as gains, with the largest change seen. Where fewer than six
        users differ, that is the one of the next shorter list, or else the span of the metric. The
        variance is at least that of a loss of exactly the tolerance by users who lose so much. If
        several lists are equally good, the longest one is the best.

        Raises
        ------
        UsageError
            If the tolerance is not between 0 and 1.
        """
        curves = self._means_by_system()
        if tolerance is None:
            return {name: self._smallest_k_within_one_se(name, means) for name, means in curves}
        loss = check_fraction("tolerance", tolerance)
        return {name: self._smallest_k_within_tolerance(name, one, loss) for name, one in curves}

    def _smallest_k_within_one_se(self, name: str, means: Mapping[int, float]) -> int:
        """The smallest k whose mean is within one standard error of the best."""
        first, gap = best_cutoffs(means, increasing=self.increasing)[0], self._gap_to_tolerated_mean
        near = (
            k
            for k, pair in self._losses_by_k(name).items()
            if gap(means[k], means[first]) >= -_se_of_scaled_difference(pair)
        )
        return min(near, default=first)

    def _smallest_k_within_tolerance(
        self, name: str, means: Mapping[int, float], tolerance: float
    ) -> int | None:
        """Smallest k, down from the longest best list, shown to keep enough of the best mean.

        A best list that is not the longest one must be shown, too, to keep enough of every other.
        """
        pairs = self._losses_by_k(name)
        start = best_cutoffs(means, increasing=self.increasing)[-1]
        best = means[start]

        def keeps_enough(k: int, level: float = self.confidence, *, reverse: bool = False) -> bool:
            pair = pairs.get(k)
            if pair is None or not pair["df"] >= 1:
                return False
            mean, other = (best, means[k]) if reverse else (means[k], best)
            share, gap = self._required_share(tolerance), self._gap_to_tolerated_mean
            se = _se_of_scaled_difference(pair, share, PSEUDO_CHANGES, reverse=reverse)
            se = max(se, _se_of_unseen_losses(pair, tolerance * abs(other)))
            return gap(mean, other, tolerance) >= t_quantile(level, pair["df"]) * se

        if start < max(means):  # chosen among all, so at the level of all
            level = 1.0 - (1.0 - self.confidence) / len(means)
            if not all(keeps_enough(k, level, reverse=True) for k in means if k != start):
                return None
        return start - sum(1 for _ in itertools.takewhile(keeps_enough, range(start - 1, 0, -1)))

    def _required_share(self, tolerance: float) -> float:
        """The share of the best mean that must remain."""
        return 1.0 - tolerance if self.increasing else 1.0 + tolerance

    def _gap_to_tolerated_mean(self, mean: float, best: float, tolerance: float = 0.0) -> float:
        """Distance of a mean from the worst mean that is good enough; above 0 for a better mean."""
        gap = mean - self._required_share(tolerance) * best
        return gap if self.increasing else -gap

    def _losses_by_k(self, name: str) -> dict[int, dict[str, float]]:
        """Rows of `losses` of one system, by k."""
        return {row["k"]: row for row in self.losses.filter(system=name).to_dicts()}

    def _means_by_system(self) -> list[tuple[str, dict[int, float]]]:
        """The mean of each k, by system."""
        points = ((name, (k, mean)) for name, k, mean, *_ in self.frame.rows())
        return [(name, dict(curve)) for name, curve in group_by_key(points).items()]

    def __repr__(self) -> str:
        return spell_out_hidden_characters(f"{self._title()}\n{self.frame}")

    def _repr_html_(self) -> str:
        import html

        from rankmeter.errors import RankmeterError

        try:
            drawn = annex("_report.plots").plot_curve(self).to_inline_svg()
        except RankmeterError:  # without the extra, or without any mean
            drawn = spell_out_hidden_characters(self.frame._repr_html_())
        return f"<p>{html.escape(self._title())}</p>{drawn}"

    def _title(self) -> str:
        level = f"{level_text(self.confidence)} intervals"
        return f"Curve of {self.metric}, k from 1 to {max(self.frame['k'], default=0)}, {level}"

    def to_polars(self) -> pl.DataFrame:
        """One row per system and k: system, k, mean, low, high, se."""
        return self.frame

    def table(self) -> TextTable:
        """The mean of each system at each k, with its interval."""
        rows = [
            (system, f"{k}", number_text(mean), interval_text(low, high))
            for system, k, mean, low, high, _ in self.frame.rows()
        ]
        interval = f"{level_text(self.confidence)} interval"
        return TextTable(("system", "k", self.metric, interval), rows, self.notes)

    def plot(self) -> Any:
        """An Altair chart, which saves itself as PNG, SVG, PDF or HTML.

        Raises
        ------
        MissingDependencyError
            If Altair is not installed.
        UsageError
            If no system has a mean.
        """
        return annex("_report.plots").plot_curve(self)

    def _dict_content(self) -> dict[str, Any]:
        return {
            "metric": self.metric,
            "increasing": self.increasing,
            "confidence": self.confidence,
            "points": self.frame.to_dicts(),
            "best_k": self.best_k(),
            "smallest_good_k": self.smallest_good_k(),
            "notes": list(self.notes),
        }


def first_metric_with_same_curve(plan: Plan) -> dict[str, str]:
    """First metric with an identical curve, for each metric that can be drawn against k.

    ``ndcg@5`` and ``ndcg@10`` are two points of one curve.
    """
    firsts: dict[Any, str] = {}
    curves = {}
    for entry in plan.metrics:
        if entry.spec.cutoff:
            key = (entry.metric.name, entry.metric.options, entry.alignment, entry.averaging)
            curves[entry.label] = firsts.setdefault(key, entry.label)
    return curves


def default_max_k(plan: Plan) -> int:
    """Default largest k of a curve: the largest cutoff of the plan, from 20 to `MOST`."""
    return min(max([entry.metric.k or 0 for entry in plan.metrics] + [20]), MOST)


def compute_curves(
    plan: Plan,
    entries: Sequence[MetricPlan],
    scored: Callable[[Plan], Mapping[str, UserValues]],
    max_k: int,
    clusters: object = None,
    counts: Mapping[str, Mapping[str, int]] | None = None,
) -> dict[str, Curve]:
    """Compute curves by metric label, all at once, by a plan with every cutoff up to `max_k`.

    The cutoffs of `entries` are replaced; intervals are made as the plan says. `scored` gives the
    scores of every system for a plan; `clusters` are as in `evaluate`; `counts` are the counts of
    the data, by system.
    """
    for entry in entries:
        if not entry.spec.cutoff:
            raise UsageError(f"{entry.metric.name} has no cutoff, so it has no curve")
    max_k = check_integer("max_k", max_k, least=1, most=MOST)
    lines = {
        entry.label: {
            k: replace(entry, label=f"{entry.label} at k = {k}", metric=entry.metric @ k)
            for k in range(1, max_k + 1)
        }
        for entry in entries
    }
    plan = replace(plan, metrics=tuple(point for line in lines.values() for point in line.values()))
    rows: dict[str, list[tuple[Any, ...]]] = {label: [] for label in lines}
    losses: dict[str, list[tuple[Any, ...]]] = {label: [] for label in lines}
    facts: dict[str, dict[str, Facts]] = {label: {} for label in lines}
    for name, scores in scored(plan).items():
        read = (counts or {}).get(name, {})
        cluster_ids = read_cluster_numbers(clusters, scores)
        for label, line in lines.items():
            ends = replace(plan, metrics=(line[1], line[max_k]))
            facts[label][name] = evaluation_facts(ends, scores, read)
            points = {k: scores.averaged(point) for k, point in line.items()}
            losses[label] += _loss_rows(name, line, points, cluster_ids)
            for k, point in line.items():
                averaged = points[k]
                e = estimate(plan, point, averaged, cluster_ids)
                of_users = None if cluster_ids is None else cluster_ids[averaged.users]
                se = spread_of_mean(averaged.parts, of_users).se
                rows[label].append((name, k, e.mean, e.low, e.high, se))
    columns = ["system", "k", "mean", "low", "high", "se"]
    return {
        entry.label: Curve(
            entry.metric.name,
            pl.DataFrame(rows[entry.label], schema=columns, orient="row"),
            entry.spec.increasing,
            tuple(notes_on_means(replace(plan, metrics=(entry,)), facts[entry.label])),
            pl.DataFrame(losses[entry.label], schema=LOSSES, orient="row"),
            plan.confidence,
        )
        for entry in entries
    }


def _loss_rows(
    name: str,
    line: Mapping[int, MetricPlan],
    points: Mapping[int, Averaged],
    clusters: IntArray | None,
) -> list[tuple[Any, ...]]:
    """Rows for `Curve.losses`: (co)variances of each k and the best k, over common users."""
    users = functools.reduce(_common_users, (point.users for point in points.values()))
    if users.size == 0:
        return []
    values = {k: point.only(users).parts for k, point in points.items()}
    means = {k: float(x.mean()) for k, x in values.items()}
    best = best_cutoffs(means, increasing=next(iter(line.values())).spec.increasing)[-1]
    cluster_ids = None if clusters is None else clusters[users]
    unit = spread_of_mean(values[best], cluster_ids)
    low, high = points[best].scale(line[best])
    unseen = _unseen_variances(values, best, cluster_ids, high - low)
    if unit.units < 2:
        return [(name, k, *(math.nan,) * len(_MEASURES)) for k in values]
    rows = []
    for k, x in values.items():
        (variance, covariance), (_, of_best) = covariance_of_means([x, values[best]], cluster_ids)
        rows.append((name, k, variance, of_best, covariance, unit.df, unseen[k]))
    return rows


def _common_users(one: IntArray, other: IntArray) -> IntArray:
    """Users of both, ascending, as they are in each."""
    return one if np.array_equal(one, other) else np.intersect1d(one, other)


def best_cutoffs(means: Mapping[int, float], *, increasing: bool) -> list[int]:
    """All k with the best mean, ascending: means that differ by rounding alone are equal.

    All k without any mean.
    """
    defined = [mean for mean in means.values() if not math.isnan(mean)]
    best = (max if increasing else min)(defined, default=math.nan)
    return sorted(k for k, mean in means.items() if math.isclose(mean, best)) or sorted(means)


def _unseen_variances(
    values: Mapping[int, FloatArray], best: int, clusters: IntArray | None, span: float
) -> dict[int, float]:
    """Variance added by one more unit with the largest change, half up and half down, by cutoff.

    Where too few units change between a cutoff and the best cutoff, the largest change is that of
    the next cutoff, further away from the best cutoff, with enough changes.
    """
    below, above = ([k for k in values if k < best], [k for k in values if k > best])
    variances = {best: 0.0}
    for far_to_near in (below, above[::-1]):
        largest = span
        for k in far_to_near:
            change = values_of_units(values[k] - values[best], clusters)
            largest = largest_change(change, largest)
            variances[k] = largest * largest / max(change.size * (change.size - 1), 1)
    return variances


def _se_of_unseen_losses(pair: Mapping[str, float], loss: float) -> float:
    """Standard error of a loss of this size, caused only by units that lose the largest change."""
    largest = math.sqrt(pair["unseen"] * pair["df"] * (pair["df"] + 1))
    return math.sqrt(max(loss * (largest - loss), 0.0) / pair["df"])


def _se_of_scaled_difference(
    pair: Mapping[str, float], share: float = 1.0, unseen: float = 0.0, *, reverse: bool = False
) -> float:
    """Standard error of ``mean - share * best_mean``, with the variance of unseen changes.

    In `reverse`, of the best mean less a share of the other.
    """
    variances = pair["variance"], pair["best_variance"]
    of_mean, of_share = reversed(variances) if reverse else variances
    variance = of_mean - 2.0 * share * pair["covariance"] + share * share * of_share
    return math.sqrt(max(variance, 0.0) + unseen * pair["unseen"])
