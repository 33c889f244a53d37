"""The result of an evaluation: every mean with its interval, and everything needed to trust it."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl

from rankmeter._engine import Scores
from rankmeter._estimates.estimates import Estimate, estimate
from rankmeter._estimates.segments import labels_of, masks_of
from rankmeter._estimates.verdicts import histogram_of
from rankmeter._estimates.wording import number, plain
from rankmeter._hits import IntArray
from rankmeter._plan import MetricPlan, Plan
from rankmeter._report import charts
from rankmeter._report.table import Table, to_frame
from rankmeter._report.trackers import flat, send
from rankmeter.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Summary", "drawn_by", "summarise"]

MERGED = (
    "dropped_scores",
    "duplicate_items_dropped",
    "duplicate_items_counted",
    "duplicate_judgements_merged",
)
"""What was dropped or merged on the way, as the notes below a table say it."""


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
        labels = labels_of(segments, "segment", self.scores.users)
        for segment, mask in masks_of(labels).items():
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
                    "mean": plain(e.mean),
                    "low": plain(e.low),
                    "high": plain(e.high),
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
        counts, metrics = self.counts, self.plan.metrics
        relevant = _by_metric({entry.label: _relevant(entry) for entry in metrics})
        notes = [f"convention {self.plan.convention}, relevant {relevant}"]
        facts = {entry.label: self._facts(entry) for entry in metrics}
        for what in facts[metrics[0].label]:
            found = {label: of[what] for label, of in facts.items()}
            numbers = {count for count, _ in found.values()}
            if len(numbers) > 1:
                each = {label: f"{count:,} ({rule})" for label, (count, rule) in found.items()}
                notes.append(f"{what}: {_by_metric(each)}")
            elif any(numbers):
                rule = _by_metric({label: rule for label, (_, rule) in found.items()})
                notes.append(f"{what}: {numbers.pop():,} ({rule})")
        for name in MERGED:
            if counts.get(name):
                notes.append(f"{name.replace('_', ' ')}: {counts[name]:,}")  # noqa: PERF401
        if "clusters" in counts:
            notes.append(drawn_by(self.plan, f" of {counts['clusters']:,} clusters"))
        elif self.plan.interval != "t":
            notes.append(drawn_by(self.plan))
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

    def _facts(self, entry: MetricPlan) -> dict[str, tuple[int, str]]:
        """Of one metric: how many users or hits are special, and by which rule they count."""
        counts, averaging = self.counts, entry.averaging
        found = self.scores.facts[entry.alignment]
        nothing = self.scores.in_truth & (found.n_relevant == 0)
        return {
            "users without a ranking": (
                counts["users_in_truth"] - counts["users_in_both"],
                averaging.missing,
            ),
            "users without truth": (
                counts["users_in_rankings"] - counts["users_in_both"],
                averaging.extra,
            ),
            "users with nothing relevant": (int(nothing.sum()), averaging.undefined),
            "hits tied in score": (found.counts["tied_hits"], entry.alignment.ties),
        }

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
        UsageError
            If there is no such kind.
        """
        if kind == "means":
            return charts.side_by_side([charts.means(list(self.values()), self.confidence)])
        if kind != "distribution":
            raise UsageError(f"kind must be 'means' or 'distribution', got {kind!r}")
        averaged = {entry.label: self.scores.averaged(entry) for entry in self.plan.metrics}
        return charts.side_by_side(
            [
                charts.distribution(label, *histogram_of(found.values))
                for label, found in averaged.items()
            ]
        )

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
        values = flat(((prefix, label), e.numbers()) for label, e in self.items())
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


def drawn_by(plan: Plan, what: str = "") -> str:
    """How bootstrap intervals of means were made, for the notes below a table."""
    drawn = f"{plan.resamples:,} samples, seed {plan.seed}"
    return f"intervals by {plan.interval} bootstrap{what}, {drawn}"


def _by_metric(facts: Mapping[str, str]) -> str:
    """A fact alone if it holds for all metrics, else each fact behind the metrics of which it does.

    ``ndcg@2 zero; precision@2, recall@2 skip``
    """
    metrics: dict[str, list[str]] = {}
    for label, fact in facts.items():
        metrics.setdefault(fact, []).append(label)
    if len(metrics) == 1:
        return next(iter(metrics))
    return "; ".join(f"{', '.join(labels)} {fact}" for fact, labels in metrics.items())


def _relevant(entry: MetricPlan) -> str:
    """Which judged items are hits of a metric."""
    alignment = entry.alignment
    return {"positive": ">0", "all": "any"}.get(alignment.gains, alignment.relevant)
