"""The result of a comparison of values that were computed elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NoReturn

import polars as pl

from rankmeter._checks import choice, counted, unknown
from rankmeter._choices import Setting, show
from rankmeter._estimates.differences import Difference, Heterogeneity
from rankmeter._estimates.estimates import Estimate
from rankmeter._estimates.notes import cluster_notes, unused_labels
from rankmeter._hits import FloatArray
from rankmeter._ingest import POLARS, Frame, Kind
from rankmeter._report import charts
from rankmeter._results.compared import Compared
from rankmeter._words import in_its_words
from rankmeter.errors import UsageError

NEED_RANKINGS = ("curve", "segments", "tradeoff")
"""Kinds of charts that values cannot give."""


@dataclass(frozen=True, eq=False, repr=False)
class ValueComparison(Compared):
    """Several systems on the same users, by values of any origin.

    Attributes
    ----------
    systems, baseline, estimates, differences, heterogeneity
        As in `Comparison`.
    plan : Setting
        Confidence, kind and seed of the intervals.
    increasing : mapping of str to bool
        By metric, whether larger is better.
    dropped : mapping of str to int
        By metric: users with a value for some systems but not for all.
    settings : mapping
        Test, correction and everything else that the differences depend on.
    values : polars.DataFrame
        Columns system, user, metric, seed, value.
    kind : Kind
        That of the frames that are handed out, as that of the values that came in.
    """

    systems: tuple[str, ...]
    baseline: str
    plan: Setting  # type: ignore[assignment]
    increasing: Mapping[str, bool]
    estimates: Mapping[tuple[str, str], Estimate]
    differences: tuple[Difference, ...]
    heterogeneity: tuple[Heterogeneity, ...]
    dropped: Mapping[str, int]
    settings: Mapping[str, Any]
    values: pl.DataFrame
    kind: Kind = POLARS

    @property
    def per_user(self) -> Frame:
        """Columns system, user, metric, seed, value; a frame as those of the values."""
        return self.kind.frame(self.values)

    @in_its_words
    def plot(
        self, kind: Literal["forest", "differences"] = "forest", *, metric: str | None = None
    ) -> Any:
        """An Altair chart, which saves itself as PNG, SVG, PDF or HTML.

        Parameters
        ----------
        kind : {"forest", "differences"}
            Differences with intervals, or the distribution of per-user differences.
        metric : str, optional
            Only this metric; default: all of them, side by side.

        Raises
        ------
        MissingDependencyError
            If Altair is not installed.
        UsageError
            If the kind is another one, which needs rankings.
        """
        if kind in NEED_RANKINGS:
            raise UsageError(f"plot({kind!r}) needs the rankings: rm.compare draws it")
        choice("kind", kind, ("forest", "differences"))
        charts.require_altair()
        labels = [self._label(metric)] if metric else self._labels
        drawn = [panel for label in labels for panel in self._difference_panels(kind, label)]
        return charts.side_by_side(drawn)

    def __getattr__(self, name: str) -> NoReturn:
        if name in ("curve", "report", "show"):
            raise AttributeError(
                f"{name}() needs the rankings: pass these to rm.compare. Values of users have "
                "plot(), worst(), to_markdown() and to_latex()"
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _paired_by(self, label: str, a: str, b: str) -> tuple[pl.Series, FloatArray, FloatArray]:
        own = self.values.filter(pl.col("metric") == label)
        one, other = (
            own.filter(pl.col("system") == name)
            .group_by("user")
            .agg(pl.col("value").mean(), n=pl.len())
            .filter(pl.col("n") == pl.col("n").max())  # a value of each run
            for name in (a, b)
        )
        both = one.join(other, on="user", suffix=" b").sort("user")
        return both["user"], both["value"].to_numpy(), both["value b"].to_numpy()

    @property
    def _labels(self) -> list[str]:
        return list(self.increasing)

    def _label(self, metric: str) -> str:
        if metric not in self.increasing:
            raise unknown("metric", metric, self.increasing)
        return metric

    def _increasing(self, label: str) -> bool:
        return self.increasing[label]

    def _notes(self) -> tuple[str, ...]:
        s = self.settings
        notes = [self._tested()]
        notes += [
            f"{metric}: {counted(n, 'user')} not common to all systems"
            for metric, n in self.dropped.items()
            if n
        ]
        notes += [f"{name}: lower is better" for name, up in self.increasing.items() if not up]
        notes += [f"missing values: {s['missing_values']:,}"] if s.get("missing_values") else []
        groups = s.get("clusters_by_metric", {})
        notes += [*unused_labels(s), *cluster_notes(groups, "tests and intervals"), *self._drawn()]
        notes += self._segment_notes()
        notes += self._noted()
        return tuple(notes)

    def _content(self) -> dict[str, Any]:
        return {
            "systems": list(self.systems),
            "baseline": self.baseline or None,
            "metrics": {
                label: {name: self._plain_mean(e) for name, e in self._means(label).items()}
                for label in self._labels
            },
            "differences": [vars(d) | {"sentence": d.sentence()} for d in self.differences],
            "heterogeneity": [vars(one) for one in self.heterogeneity],
            "dropped_users": self.dropped,
            "notes": list(self._notes()),
            "settings": self.settings,
        }

    def _plan_text(self) -> str:
        return "\n".join(f"{name:<11} {show(value)}" for name, value in self.settings.items())
