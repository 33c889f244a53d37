"""The result of an evaluation: every mean with its interval, and everything needed to trust it."""

from __future__ import annotations

import html
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl

from rankmeter._choices import GEOMETRIC_FLOOR
from rankmeter._hits import FloatArray, IntArray
from rankmeter._plan import MetricPlan, Plan
from rankmeter._report.table import Table, number, to_frame
from rankmeter._scores import Averaged, Scores
from rankmeter._segments import segments_of
from rankmeter._statistics import bootstrap_interval, t_quantile
from rankmeter._track import flat, numbers_of, send

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Estimate", "Summary", "estimate", "mean_interval", "summarise"]

MERGED = (
    "dropped_scores",
    "duplicate_items_dropped",
    "duplicate_items_counted",
    "duplicate_judgements_merged",
)
"""What was dropped or merged on the way, as the notes below a table say it."""


@dataclass(frozen=True)
class Estimate:
    """The mean of one metric over users, with its uncertainty.

    Attributes
    ----------
    label : str
        The metric, as it was asked for.
    mean : float
        Or the geometric mean, or the sum, if the plan says so; NaN if there is no user to average.
    low, high : float
        Bounds of the interval of the mean; NaN with fewer than two users.
    std : float
        Standard deviation over users, with n - 1; NaN with fewer than two users.
    n : int
        Users averaged.
    undefined : int
        Users for whom the metric is undefined; the plan says what they count as.
    missing : int
        Users with truth but without a ranking; the plan says what they count as.
    """

    label: str
    mean: float
    low: float
    high: float
    std: float
    n: int
    undefined: int
    missing: int

    @property
    def interval(self) -> tuple[float, float]:
        """Bounds of the interval, at the confidence of the result."""
        return self.low, self.high

    def __float__(self) -> float:
        return self.mean

    def __str__(self) -> str:
        bounds = f"[{number(self.low)}, {number(self.high)}]"
        return f"{self.label} {number(self.mean)} {bounds} n={self.n}"


@dataclass(frozen=True, eq=False, repr=False)
class Summary(Mapping[str, Estimate]):
    """Means of all metrics of a plan; a mapping from metric to `Estimate`.

    Any spelling of a metric finds it: ``result["nDCG@10"]`` is ``result["ndcg@10"]``.

    Attributes
    ----------
    plan : Plan
        Every choice that was made.
    scores : Scores
        The values behind the means.
    counts : mapping of str to int
        What was read, dropped, merged, missing.
    estimates : mapping of str to Estimate
        By label of the metric.
    clusters : int64 array of shape (n_users,) or None
        The cluster of each user of the scores, if users share clusters.
    """

    plan: Plan
    scores: Scores
    counts: Mapping[str, int]
    estimates: Mapping[str, Estimate]
    clusters: IntArray | None = None

    def __getitem__(self, metric: str) -> Estimate:
        if metric in self.estimates:
            return self.estimates[metric]
        return self.estimates[self.plan[str(metric)].label]

    def __iter__(self) -> Iterator[str]:
        return iter(self.estimates)

    def __len__(self) -> int:
        return len(self.estimates)

    @property
    def confidence(self) -> float:
        """Level of the intervals."""
        return self.plan.confidence

    @property
    def per_user(self) -> pl.DataFrame:
        """One row per user that any metric averages: ``user`` and a column per metric.

        A value that counts by rule (a missing user's 0) is shown as it counts; a user that a
        metric does not average is null there. The frame is yours: changing it changes nothing here.
        """
        return self._per_user.clone()

    @cached_property
    def _per_user(self) -> pl.DataFrame:
        n = len(self.scores.users)
        columns = {}
        used = np.zeros(n, dtype=bool)
        for entry in self.plan.metrics:
            averaged = self.scores.averaged(entry)
            column = np.full(n, np.nan)
            column[averaged.users] = averaged.values  # noqa: PD011 - not a frame
            used[averaged.users] = True
            columns[entry.label] = column
        frame = pl.DataFrame({"user": self.scores.users, **columns})
        return frame.filter(pl.Series(used)).fill_nan(None)

    def by_segment(self, segments: object) -> pl.DataFrame:
        """Means within segments of the users.

        Parameters
        ----------
        segments : mapping or frame
            A label per user, or a frame with the columns ``user`` and ``segment``.

        Returns
        -------
        polars.DataFrame
            Columns segment, metric, mean, low, high, std, n_users.
        """
        rows = []
        for segment, mask in segments_of(segments, self.scores.users).items():
            for entry in self.plan.metrics:
                part = self.scores.averaged(entry).only(mask)
                e = estimate(self.plan, entry, part, self.clusters)
                rows.append((segment, e.label, e.mean, e.low, e.high, e.std, e.n))
        names = ["segment", "metric", "mean", "low", "high", "std", "n_users"]
        return pl.DataFrame(rows, schema=names, orient="row")

    def to_dict(self) -> dict[str, Any]:
        """The whole result as plain values: what ``rankmeter evaluate --json`` prints."""
        return {
            "schema": 1,
            "metrics": {
                label: {
                    "mean": _finite(e.mean),
                    "low": _finite(e.low),
                    "high": _finite(e.high),
                    "n_users": e.n,
                    "undefined": e.undefined,
                }
                for label, e in self.estimates.items()
            },
            "users": dict(self.counts),
            "plan": self.plan.to_dict(),
        }

    def to_json(self, *, indent: int | None = 2) -> str:
        """`to_dict` as JSON text; a mean that does not exist is null."""
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False, allow_nan=False)

    def to_polars(self) -> pl.DataFrame:
        """One row per metric: metric, mean, low, high, std, n_users, undefined, missing."""
        rows = [
            (e.label, e.mean, e.low, e.high, e.std, e.n, e.undefined, e.missing)
            for e in self.estimates.values()
        ]
        names = ["metric", "mean", "low", "high", "std", "n_users", "undefined", "missing"]
        return pl.DataFrame(rows, schema=names, orient="row")

    def to_pandas(self) -> pd.DataFrame:
        """`to_polars` as a pandas frame.

        Raises
        ------
        MissingDependencyError
            If pandas is not installed.
        """
        return to_frame(self.to_polars())

    def table(self) -> Table:
        """The result as a table that can be rendered: text, Markdown, CSV, LaTeX, HTML."""
        level = f"{self.confidence:.4g}".removeprefix("0.").ljust(2, "0")
        title = f"{level[:2]}{'.' + level[2:] if level[2:] else ''} % interval"
        rows = [
            (e.label, number(e.mean), f"[{number(e.low)}, {number(e.high)}]", f"{e.n:,}")
            for e in self.estimates.values()
        ]
        columns: tuple[str, ...] = ("metric", "mean", title, "users")
        if any(e.undefined for e in self.estimates.values()):
            columns = (*columns, "undefined")
            values = self.estimates.values()
            rows = [(*r, f"{e.undefined:,}") for r, e in zip(rows, values, strict=True)]  # type: ignore[misc]
        return Table(columns, tuple(rows), self._notes())

    def _notes(self) -> tuple[str, ...]:
        """What a reader must know to read the means rightly."""
        first = self.plan.metrics[0]
        counts = self.counts
        notes = [f"convention {self.plan.convention}, relevant {first.alignment.relevant}"]
        missing = counts["users_in_truth"] - counts["users_in_both"]
        extra = counts["users_in_rankings"] - counts["users_in_both"]
        for count, what, rule in (
            (missing, "users without a ranking", first.averaging.missing),
            (extra, "users without truth", first.averaging.extra),
            (
                counts["users_without_relevant"],
                "users with nothing relevant",
                first.averaging.undefined,
            ),
            (counts.get("tied_hits", 0), "hits tied in score", first.alignment.ties),
        ):
            if count:
                notes.append(f"{what}: {count:,} ({rule})")
        for name in MERGED:
            if counts.get(name):
                notes.append(f"{name.replace('_', ' ')}: {counts[name]:,}")  # noqa: PERF401
        if "clusters" in counts:
            drawn = f"bootstrap of {counts['clusters']:,} clusters"
            notes.append(f"intervals by {self.plan.interval} {drawn}")
        elif self.plan.interval != "t":
            notes.append(f"intervals by {self.plan.interval} bootstrap")
        alike = [e.label for e in self.estimates.values() if e.n > 1 and e.std == 0]
        if alike:
            notes.append(
                f"the same for all users, so that the interval says nothing: {', '.join(alike)}"
            )
        named = {"geometric": "geometric mean", "sum": "sum", "micro": "pooled share"}
        notes.extend(
            f"{entry.label}: {named[entry.averaging.aggregate]} in place of mean"
            for entry in self.plan.metrics
            if entry.averaging.aggregate in named
        )
        return tuple(notes)

    def to_markdown(self) -> str:
        """The table in Markdown."""
        return self.table().to_markdown()

    def to_csv(self) -> str:
        """`to_polars` as CSV text, at full precision."""
        return self.to_polars().write_csv()

    def to_latex(self) -> str:
        """The table in LaTeX, with the rules of the booktabs package."""
        return self.table().to_latex()

    def plot(self, kind: Literal["means", "distribution"] = "means") -> Any:
        """An Altair chart, which saves itself as PNG, SVG, PDF or HTML.

        Parameters
        ----------
        kind : {"means", "distribution"}
            The means with their intervals, or how the values of the users are spread.

        Raises
        ------
        MissingDependencyError
            If Altair is not installed.
        """
        from rankmeter._report.charts import summary_chart

        return summary_chart(self, kind)

    def log(
        self, to: Any, *, prefix: str = "", step: int | None = None, run_id: str | None = None
    ) -> None:
        """Write every mean, its interval and its number of users to an experiment tracker.

        ``ndcg@10`` becomes ``ndcg_at_10``, ``ndcg_at_10_low``, ``ndcg_at_10_high`` and
        ``ndcg_at_10_n``: names that every tracker accepts.

        Parameters
        ----------
        to : object
            The module ``mlflow``, an ``MlflowClient`` together with `run_id`, a run of Weights &
            Biases, a ``SummaryWriter`` of TensorBoard, or any ``callable(name, value)``.
        prefix : str
            What all names start with: ``test`` gives ``test_ndcg_at_10``.
        step : int, optional
            The place on the time axis; a callable gets it as ``step=``.
        run_id : str, optional
            The run that an ``MlflowClient`` is to write to.

        Raises
        ------
        UsageError
            If `to` is none of these.

        Examples
        --------
        >>> import rankmeter as rm
        >>> rm.evaluate([["b", "a"]], [{"a"}], "rr").log(print)
        rr 0.5
        rr_n 1.0
        """
        values = flat(((prefix, label), numbers_of(e)) for label, e in self.items())
        send(values, to, step=step, run_id=run_id)

    def __repr__(self) -> str:
        return self.table().to_text()

    def _repr_html_(self) -> str:
        plan = html.escape(self.plan.describe())
        details = f"<details><summary>plan</summary><pre>{plan}</pre></details>"
        return self.table().to_html() + details


def summarise(
    plan: Plan, scores: Scores, counts: Mapping[str, int], clusters: IntArray | None = None
) -> Summary:
    """Average the scores as the plan says.

    Parameters
    ----------
    plan : Plan
    scores : Scores
    counts : mapping of str to int
        What was read and dropped before the scores.
    clusters : int64 array of shape (n_users,), optional
        The cluster of each user.

    Returns
    -------
    Summary
    """
    estimates = {
        entry.label: estimate(plan, entry, scores.averaged(entry), clusters)
        for entry in plan.metrics
    }
    told = {**scores.counts, **counts}
    if clusters is not None:
        told["clusters"] = int(np.unique(clusters).size)
    return Summary(plan, scores, told, estimates, clusters)


def estimate(
    plan: Plan, entry: MetricPlan, averaged: Averaged, clusters: IntArray | None = None
) -> Estimate:
    """The mean of one metric over the users that it averages.

    Parameters
    ----------
    plan : Plan
    entry : MetricPlan
    averaged : Averaged
    clusters : int64 array of shape (n_users,), optional
        The cluster of each user of the result.

    Returns
    -------
    Estimate
    """
    values = averaged.values  # noqa: PD011 - not a frame
    if averaged.weights is not None:
        values = _linearised(values, averaged.weights)
    own = None if clusters is None else clusters[averaged.users]
    mean, low, high = _aggregate(values, entry.averaging.aggregate, plan, own)
    std = float(values.std(ddof=1)) if values.size > 1 else math.nan
    return Estimate(
        entry.label, mean, low, high, std, values.size, averaged.undefined, averaged.missing
    )


def _linearised(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Values whose plain mean is the weighted mean, and whose spread is its own to first order.

    The usual linearisation of a ratio of two means: Cochran, Sampling Techniques, 3rd ed., ch. 6.
    """
    whole = float(weights.sum())
    if whole == 0:
        return np.full(values.size, np.nan)
    mean = float(weights @ values) / whole
    return mean + weights * (values - mean) * (values.size / whole)


def _aggregate(
    values: FloatArray, how: str, plan: Plan, clusters: IntArray | None
) -> tuple[float, float, float]:
    """The mean (geometric mean, sum) of the values, and the bounds of its interval."""
    if how == "geometric":
        logs = np.log(np.maximum(values, GEOMETRIC_FLOOR))
        mean, low, high = map(math.exp, _aggregate(logs, "mean", plan, clusters))
        return mean, low, high
    n = values.size
    mean = float(values.mean()) if n else math.nan
    low, high = mean_interval(values, plan, clusters)
    times = n if how == "sum" else 1
    return times * mean, times * low, times * high


def mean_interval(
    values: FloatArray, plan: Plan, clusters: IntArray | None = None
) -> tuple[float, float]:
    """Interval of the mean of values, made as the plan says.

    Parameters
    ----------
    values : float64 array of shape (n,)
    plan : Plan
    clusters : int64 array of shape (n,), optional
        Values of one cluster are drawn together.
    """
    if values.size < 2 or np.isnan(values).any():
        return math.nan, math.nan
    if plan.interval == "t":
        half = t_quantile((1 + plan.confidence) / 2, values.size - 1) * float(values.std(ddof=1))
        half /= math.sqrt(values.size)
        mean = float(values.mean())
        return mean - half, mean + half
    return bootstrap_interval(
        values,
        clusters=clusters,
        confidence=plan.confidence,
        method=plan.interval,
        n_resamples=plan.resamples,
        seed=plan.seed,
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
