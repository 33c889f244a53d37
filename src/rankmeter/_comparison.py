"""The result of a comparison: every paired difference, what it means, and its renderings."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from rankmeter._curves import Curve, curves_of
from rankmeter._engine import Scores
from rankmeter._plan import MetricPlan, Plan
from rankmeter._report.table import Table, number, to_frame
from rankmeter._summary import Estimate, Summary
from rankmeter._track import flat, numbers_of, send

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

__all__ = ["Comparison", "Difference"]


@dataclass(frozen=True)
class Difference:
    """One system against another on one metric, over the users that both are averaged for.

    Attributes
    ----------
    metric, segment : str
        ``segment`` is empty for all users.
    a, b : str
        Names of the systems; differences are a minus b.
    mean_a, mean_b : float
    difference, low, high : float
        Mean of the paired differences and its interval.
    p, p_adjusted : float
        Two-sided, before and after the correction; NaN where the test has no answer.
    statistic : float
        Statistic of the test.
    method : str
        The test as it was carried out.
    d_z, hedges_g : float
        Mean difference in standard deviations of the differences; and corrected for small n.
    superiority : float
        Probability that a random user is better off with a than with b, ties counting half.
    gain, gain_low, gain_high : float
        Relative gain of the mean with its interval: 0.1 is 10 %.
    wins, ties, losses : int
        Users for whom a is better than, equal to, worse than b.
    detectable : float
        Smallest difference that as many users would show in 80 % of studies, at the level used.
    n : int
        Users compared.
    significant : bool
        Whether ``p_adjusted`` is at most alpha.
    increasing : bool
        Whether larger values of the metric are better.
    note : str
        Why there is no answer, or what to be careful about.
    """

    metric: str
    segment: str
    a: str
    b: str
    mean_a: float
    mean_b: float
    difference: float
    low: float
    high: float
    p: float
    p_adjusted: float
    statistic: float
    method: str
    d_z: float
    hedges_g: float
    superiority: float
    gain: float
    gain_low: float
    gain_high: float
    wins: int
    ties: int
    losses: int
    detectable: float
    n: int
    significant: bool
    increasing: bool
    note: str = ""

    @property
    def better(self) -> str:
        """Name of the system with the better mean; empty if they are equal."""
        if self.difference == 0 or math.isnan(self.difference):
            return ""
        return self.a if (self.difference > 0) == self.increasing else self.b

    def sentence(self) -> str:
        """The difference in plain words."""
        where = f" among {self.segment}" if self.segment else ""
        if math.isnan(self.p):
            return f"{self.a} and {self.b} cannot be compared on {self.metric}{where}: {self.note}."
        if self.wins + self.losses == 0:
            return (
                f"{self.a} and {self.b} have the same {self.metric}{where} "
                f"for every one of {self.n:,} users."
            )
        if not self.significant:
            return (
                f"No difference between {self.a} and {self.b} on {self.metric}{where} is shown: "
                f"{self.difference:+.4f} [{self.low:+.4f}, {self.high:+.4f}], "
                f"{_p_text(self.p_adjusted)}; with {self.n:,} users a difference of "
                f"{self.detectable:.4f} would be seen in 80 % of studies."
            )
        # Told from the side of the winner: the difference, its interval and the users turn round.
        won = self.better == self.a
        loser, low, high = (self.b, self.low, self.high) if won else (self.a, -self.high, -self.low)
        mean, other = (self.mean_a, self.mean_b) if won else (self.mean_b, self.mean_a)
        gain = f" ({mean / other - 1:+.1%})" if other else ""
        better, worse = (self.wins, self.losses) if won else (self.losses, self.wins)
        lower = "" if self.increasing else ", where lower is better,"
        return (
            f"{self.better} beats {loser} on {self.metric}{lower}{where} by "
            f"{abs(self.difference):.4f}{gain}, interval of the difference [{low:+.4f}, "
            f"{high:+.4f}], {_p_text(self.p_adjusted)}; better for {better:,}, worse for "
            f"{worse:,} of {self.n:,} users, |d_z| = {abs(self.d_z):.2f}."
        )


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Several systems over one truth.

    Attributes
    ----------
    systems : tuple of str
        Names, in the order given.
    baseline : str
        The system that all others are compared with; empty if all pairs are.
    plan : Plan
        Every choice behind the values.
    summaries : mapping of str to Summary
        The result of each system by itself.
    estimates : mapping of (str, str) to Estimate
        By metric and system: the mean over the users that the comparison uses.
    differences : tuple of Difference
        All comparisons over all users, then those within segments.
    dropped : mapping of str to int
        By metric: users that some system is averaged for but not all (they are left out of the
        means and differences of ``common="all"``).
    segments : polars.DataFrame or None
        Columns ``user`` and ``segment``.
    run : callable
        Gives the scores of every system for another plan.
    clusters : object
        The clusters of the users, as they were given.
    settings : mapping
        Test, correction, family, alpha, seed, resamples, the rule for common users.
    """

    systems: tuple[str, ...]
    baseline: str
    plan: Plan
    summaries: Mapping[str, Summary]
    estimates: Mapping[tuple[str, str], Estimate]
    differences: tuple[Difference, ...]
    dropped: Mapping[str, int]
    segments: pl.DataFrame | None
    segment_estimates: Mapping[tuple[str, str, str], Estimate]
    settings: Mapping[str, Any]
    run: Callable[[Plan], Mapping[str, Scores]]
    clusters: object

    def __getitem__(self, metric: str) -> tuple[Difference, ...]:
        """The comparisons on one metric over all users."""
        label = self.plan[metric].label
        return tuple(d for d in self.differences if d.metric == label and not d.segment)

    @property
    def confidence(self) -> float:
        """Level of the intervals."""
        return self.plan.confidence

    @property
    def per_user(self) -> pl.DataFrame:
        """Columns ``system``, ``user`` and one per metric."""
        return pl.concat(
            [
                summary.per_user.select(pl.lit(name).alias("system"), pl.all())
                for name, summary in self.summaries.items()
            ]
        )

    def curve(self, metric: str, max_k: int | None = None) -> Curve:
        """``metric@1`` to ``metric@max_k`` of every system, with bands.

        Parameters
        ----------
        metric : str
            A metric of the comparison; its cutoff does not matter.
        max_k : int, optional
            Default: the largest cutoff of the plan, at least 20.

        Returns
        -------
        Curve

        Raises
        ------
        UsageError
            If the metric has no cutoff.
        """
        entry = self.plan[metric]
        return self.curves([entry], max_k)[entry.label]

    def curves(self, entries: Sequence[MetricPlan], max_k: int | None = None) -> dict[str, Curve]:
        """Curves of several metrics of the plan, computed together."""
        largest = max([e.metric.k or 0 for e in self.plan.metrics] + [20])
        return curves_of(self.plan, entries, self.run, max_k or largest, self.clusters)

    def sentences(self) -> tuple[str, ...]:
        """One sentence in plain words per comparison."""
        return tuple(difference.sentence() for difference in self.differences)

    def to_polars(self) -> pl.DataFrame:
        """One row per comparison, a column per attribute of `Difference`."""
        return pl.DataFrame([dataclasses.asdict(d) for d in self.differences])

    def to_pandas(self) -> pd.DataFrame:
        """`to_polars` as a pandas frame; needs pandas."""
        return to_frame(self.to_polars())

    def to_dict(self) -> dict[str, Any]:
        """The whole comparison as plain values: what ``rankmeter compare --json`` prints."""

        def means(items: Iterable[tuple[str, Estimate]]) -> dict[str, Any]:
            return {
                name: {
                    "mean": _finite(e.mean),
                    "low": _finite(e.low),
                    "high": _finite(e.high),
                    "n_users": e.n,
                }
                for name, e in items
            }

        segments: dict[str, dict[str, Any]] = {}
        for (segment, metric, name), e in self.segment_estimates.items():
            segments.setdefault(segment, {}).setdefault(metric, {}).update(means([(name, e)]))
        return {
            "schema": 1,
            "systems": list(self.systems),
            "baseline": self.baseline or None,
            "metrics": {
                entry.label: means((s, self.estimates[entry.label, s]) for s in self.systems)
                for entry in self.plan.metrics
            },
            "segments": segments,
            "differences": [
                {name: _finite(value) for name, value in dataclasses.asdict(d).items()}
                | {"sentence": d.sentence()}
                for d in self.differences
            ],
            "dropped_users": dict(self.dropped),
            "users": {name: dict(summary.counts) for name, summary in self.summaries.items()},
            "settings": dict(self.settings),
            "plan": self.plan.to_dict(),
        }

    def to_json(self, *, indent: int | None = 2) -> str:
        """`to_dict` as JSON text; a number that does not exist is null."""
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False, allow_nan=False)

    def table(self) -> Table:
        """Systems × metrics: means, with marks of significance against the baseline.

        Without a baseline, a mark is the letter of every system that is significantly worse.
        """
        letters = dict(zip(self.systems, _letters(len(self.systems)), strict=True))
        rows = []
        for name in self.systems:
            cells = []
            for entry in self.plan.metrics:
                e = self.estimates[entry.label, name]
                cells.append(f"{number(e.mean)}{self._mark(entry, name, letters)}")
            shown = name if self.baseline else f"{letters[name]} {name}"
            rows.append((shown, *cells))
        labels = tuple(entry.label for entry in self.plan.metrics)
        return Table(("system", *labels), tuple(rows), self._notes())

    def _mark(self, entry: MetricPlan, name: str, letters: Mapping[str, str]) -> str:
        found = [
            d
            for d in self.differences
            if d.metric == entry.label and not d.segment and d.significant and name in (d.a, d.b)
        ]
        if self.baseline:
            return "".join(" ▲" if d.better == name else " ▼" for d in found if name == d.a)
        beaten = [d.b if d.a == name else d.a for d in found if d.better == name]
        return f" {''.join(letters[s] for s in beaten)}" if beaten else ""

    def _notes(self) -> tuple[str, ...]:
        s = self.settings
        correction = "" if s["correction"] == "none" else f", {s['correction']} over {s['family']}"
        marks = (
            f"▲ ▼ significantly better, worse than {self.baseline}"
            if self.baseline
            else "letters: the systems that are significantly worse"
        )
        if not any(d.significant for d in self.differences):
            marks = "no significant difference"
        methods = sorted({d.method.split(" (")[0] for d in self.differences if not math.isnan(d.p)})
        notes = [
            f"{marks} ({', '.join(methods) or 'no test'}{correction}, alpha {s['alpha']:g})",
            f"convention {self.plan.convention}",
        ]
        notes += [
            f"{m}: {n:,} users not common to all systems" for m, n in self.dropped.items() if n
        ]
        if s["users_without_segment"]:
            notes.append(f"users without a segment: {s['users_without_segment']:,}")
        if s["clusters"]:
            notes.append(f"tests and intervals by {s['clusters']:,} clusters")
        notes += sorted({d.note for d in self.differences if d.note})
        return tuple(notes)

    def difference_table(self) -> Table:
        """Every comparison: difference, interval, p, effect size, wins and losses."""
        rows = tuple(
            (
                f"{d.a} − {d.b}" + (f", {d.segment}" if d.segment else ""),
                d.metric,
                f"{d.difference:+z.4f}",
                f"[{d.low:+z.4f}, {d.high:+z.4f}]",
                _p(d.p),
                _p(d.p_adjusted),
                f"{d.d_z:+.2f}",
                f"{d.wins:,}/{d.ties:,}/{d.losses:,}",
                f"{d.detectable:.4f}",
            )
            for d in self.differences
        )
        level = f"{100 * self.confidence:g} % interval"
        columns = ("difference", "metric", "mean", level, "p", "adjusted p", "d_z")
        return Table((*columns, "win/tie/loss", "detectable"), rows)

    def to_markdown(self) -> str:
        """Both tables in Markdown."""
        return f"{self.table().to_markdown()}\n\n{self.difference_table().to_markdown()}"

    def to_csv(self) -> str:
        """`to_polars` as CSV text, at full precision."""
        return self.to_polars().write_csv()

    def to_latex(self) -> str:
        """The table of means in LaTeX, with booktabs rules and marks of significance."""
        return self.table().to_latex()

    def plot(
        self,
        kind: Literal["forest", "curve", "differences", "segments"] = "forest",
        *,
        metric: str | None = None,
    ) -> Any:
        """An Altair chart, which saves itself as PNG, SVG, PDF or HTML.

        Parameters
        ----------
        kind : {"forest", "curve", "differences", "segments"}
            Differences with intervals, metric against k, the distribution of per-user differences,
            or means by segment.
        metric : str, optional
            Only this one; all of them, side by side, if not given.

        Raises
        ------
        MissingDependencyError
            If Altair is not installed.
        UsageError
            If there is nothing of this kind to draw.
        """
        from rankmeter._report.charts import chart

        return chart(self, kind, metric)

    def report(self, path: str | Path) -> None:
        """Write a self-contained page that opens offline and can be read back.

        Parameters
        ----------
        path : str or Path
            An ``.html`` file.

        Raises
        ------
        MissingDependencyError
            If the packages of the extra ``report`` are not installed.
        """
        from rankmeter._report.page import write_page

        write_page(self, path)

    def log(
        self, to: Any, *, prefix: str = "", step: int | None = None, run_id: str | None = None
    ) -> None:
        """Write all means and differences to an experiment tracker.

        The mean of the system BPR is ``BPR_ndcg_at_10``, the difference to it
        ``ALS_vs_BPR_ndcg_at_10_difference``, with ``…_low``, ``…_high``, ``…_p`` (corrected) and
        ``…_n``.

        Parameters
        ----------
        to, prefix, step, run_id
            As in `Summary.log`.

        Raises
        ------
        UsageError
            If `to` is no tracker, or two names differ only in characters that trackers refuse.
        """
        groups: list[tuple[tuple[str, ...], dict[str, float]]] = [
            ((prefix, name, label), numbers_of(e)) for (label, name), e in self.estimates.items()
        ]
        for d in self.differences:
            found = {"difference": d.difference, "low": d.low, "high": d.high}
            parts = (prefix, d.a, "vs", d.b, d.segment, d.metric)
            groups.append((parts, {**found, "p": d.p_adjusted, "n": d.n}))
        send(flat(groups), to, step=step, run_id=run_id)

    def __repr__(self) -> str:
        return f"{self.table().to_text()}\n\n{self.difference_table().to_text()}"

    def _repr_html_(self) -> str:
        return self.table().to_html() + self.difference_table().to_html()


def _letters(n: int) -> list[str]:
    """The marks a, b, …, z, aa, ab, … of systems."""
    alphabet = "abcdefghijklmnopqrstuvwxyz"
    pairs = ("".join(two) for two in itertools.product(alphabet, repeat=2))
    return list(itertools.islice(itertools.chain(alphabet, pairs), n))


def _p(p: float) -> str:
    if math.isnan(p):
        return "–"
    return "<0.0001" if p < 0.0001 else f"{p:.4f}"


def _p_text(p: float) -> str:
    shown = _p(p)
    return f"p {shown[0]} {shown[1:]}" if shown.startswith("<") else f"p = {shown}"


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
