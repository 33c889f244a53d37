"""The page of one evaluation."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankmeter._engine import Place, Scores, Source
from rankmeter._estimates.curves import curves_of, distinct_curves, usual_k
from rankmeter._estimates.estimates import Estimate, estimate
from rankmeter._estimates.segments import labels_of, masks_of
from rankmeter._estimates.shares import first_hits, popularity_shown
from rankmeter._estimates.spreads import Spread, ends, headline_of, spread_of
from rankmeter._estimates.verdicts import histogram_of
from rankmeter._estimates.wording import number
from rankmeter._hits import IntArray
from rankmeter._plan import MetricPlan, Plan
from rankmeter._report import charts
from rankmeter._report.table import Table
from rankmeter._results.curve import Curve
from rankmeter._results.result import Name, Result, written_call
from rankmeter._results.walkthrough import top_of
from rankmeter._words import in_its_words, in_words
from rankmeter.errors import RankmeterError

if TYPE_CHECKING:
    from rankmeter._report.page import Portrait

OWN = "rankings"
"""What the rankings of one evaluation are called."""

Scored = Callable[[Plan], Mapping[str, Scores]]


class Reported(Result):
    """An evaluation that writes its page."""

    plan: Plan
    scores: Scores
    counts: Mapping[str, int]
    estimates: Mapping[str, Estimate]
    clusters: IntArray | None
    random: Mapping[str, float]
    groups: pl.DataFrame | None
    source: Source | None

    @property
    def confidence(self) -> float:
        """Level of the intervals."""
        return self.plan.confidence

    def _plan_text(self) -> str:
        return self.plan.describe()

    @property
    @abstractmethod
    def read(self) -> dict[str, int]:
        """The counts of the data as they were read, before any score."""

    @abstractmethod
    def _notes(self) -> tuple[str, ...]:
        """The notes below the table."""

    @in_its_words
    def report(self, path: str | Path, *, segments: object = None) -> None:
        """Write a self-contained page that opens offline and can be read back.

        It has all means, how the values of the users are spread, the users with the worst and the
        best values, and the plan. Curves against k, the ranks of the first hits, the popularity of
        what is shown and the lists need the rankings once more: they are left out where these
        cannot be read again, or have changed since.

        Parameters
        ----------
        path : str or Path
            An ``.html`` file.
        segments : mapping or frame, optional
            A label per user, or a frame with the columns ``user`` and ``segment``: also show the
            means within segments.

        Raises
        ------
        MissingDependencyError
            If the packages of the extra ``report`` are not installed.

        Examples
        --------
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> import rankmeter as rm
        >>> lists = {"ann": ["b", "a"], "bob": ["b"], "cat": ["a"]}
        >>> result = rm.evaluate(lists, {user: {"a"} for user in lists}, "rr ndcg@2")
        >>> with TemporaryDirectory() as folder:
        ...     page = Path(folder, "report.html")
        ...     result.report(page, segments={"ann": "new", "bob": "new", "cat": "old"})
        ...     page.read_text("utf-8")[:15]
        '<!doctype html>'
        """
        from rankmeter._report.page import render_one, write

        write(path, lambda: render_one(self._digest(segments)))

    def _digest(self, segments: object = None) -> Portrait:
        """The content of the page."""
        from rankmeter._report.page import MeanCell, Portrait

        first = self.plan.metrics[0]
        spreads = {one.label: self._spread(one) for one in self.plan.metrics if not one.spec.whole}
        again = self.reopened()
        hits, popular, figures = self._drawn_again(again)
        parts = self._parts(segments)
        for name, rows in parts.items():
            for entry in self.plan.metrics:
                means = {(segment, OWN): row[entry.label] for segment, row in rows.items()}
                figures.setdefault(f"by {name}", {})[entry.label] = charts.segments(
                    entry.label, means, [OWN]
                )
        found = {label: self._ends(self.plan[label]) for label in spreads}
        return Portrait(
            headline=headline_of(
                self.estimates[first.label], spreads.get(first.label), self.confidence,
                self.random.get(first.label),
            ),
            estimates=self.estimates,
            notes=self._notes(),
            spread=_spread_table(spreads),
            hits=hits,
            popularity=popular,
            parts={
                name: [
                    (segment, f"{max(e.n for e in row.values()):,}",
                     *(MeanCell(e) for e in row.values()))
                    for segment, row in rows.items()
                ]
                for name, rows in parts.items()
            },
            extremes=found,
            lists={label: self._lists(label, sides, again) for label, sides in found.items()},
            figures={
                "distribution": {label: self._distribution(label) for label in spreads}, **figures,
            },
            plan=self.plan.describe(),
            call=self._written(),
            result=self.to_dict(),
        )  # fmt: skip

    def _written(self) -> str:
        """The call in Python that gives this result from the same rankings, or nothing."""
        if self.source is None or not self.source.system:
            return ""  # of scores, ranks or batches
        clusters = None if self.clusters is None else Name("clusters")
        return written_call(self.plan, "evaluate", "rankings, truth", clusters=clusters)

    def reopened(self) -> Source | None:
        """The data opened once more; None if they are gone, or give other values."""
        if self.source is None:
            return None
        try:
            data = self.source.open()
            values = data.run(self.plan)[self.source.system].values
        except (RankmeterError, OSError):
            return None
        same = all(
            np.array_equal(self.scores.values[entry.label], values[entry.label], equal_nan=True)
            for entry in self.plan.metrics
        )
        return replace(self.source, open=lambda: data) if same else None

    def _drawn_again(self, again: Source | None) -> tuple[Any, Any, dict[str, Any]]:
        """The ranks of first hits, the popularity of what is shown, and charts with curves."""
        if again is None:
            return None, None, {"curve": {}}

        def scored(plan: Plan) -> Mapping[str, Scores]:
            return {OWN: again.open().run(plan)[again.system]}

        hits, popular = first_hits(self.plan, scored), popularity_shown(self.plan, scored)
        figures: dict[str, Any] = {"curve": self._curve_charts(scored)}
        figures["hits"] = {"": charts.first_hits(hits, [OWN])} if hits else {}
        figures["popularity"] = {"": charts.popularity(*popular, [OWN])} if popular else {}
        return hits, popular, figures

    def _curve_charts(self, scored: Scored) -> dict[str, list[Any]]:
        firsts = [self.plan[label] for label in dict.fromkeys(distinct_curves(self.plan).values())]
        if not firsts:
            return {}
        found = curves_of(
            Curve, self.plan, firsts, scored, usual_k(self.plan), None, {OWN: self.read}
        )
        return {label: charts.curve(label, curve.frame, [OWN]) for label, curve in found.items()}

    def _spread(self, entry: MetricPlan) -> Spread:
        return spread_of(self.scores.averaged(entry).values, increasing=entry.spec.increasing)

    def _distribution(self, label: str) -> list[Any]:
        counts, edges = histogram_of(self.scores.averaged(self.plan[label]).values)
        return [charts.distribution(label, counts, edges)] if sum(counts) else []

    def _parts(self, segments: object) -> dict[str, dict[str, dict[str, Estimate]]]:
        """Means by way to divide the users, part and metric."""
        ways = {} if self.groups is None else {one.name: one for one in self.groups.iter_columns()}
        given = labels_of(segments, "segment", self.scores)
        if given is not None:
            ways["segment"] = given
        return {
            name: {
                part: {
                    entry.label: estimate(
                        self.plan, entry, self.scores.averaged(entry).only(mask), self.clusters
                    )
                    for entry in self.plan.metrics
                }
                for part, mask in masks_of(labels).items()
            }
            for name, labels in ways.items()
        }

    def _ends(self, entry: MetricPlan) -> dict[str, list[tuple[str, float]]]:
        """The users with the worst values and with the best ones."""
        averaged = self.scores.averaged(entry)
        users = self.scores.users.gather(averaged.users)
        found = ends(users, averaged.values, increasing=entry.spec.increasing)
        return {name: side for name, side in zip(("worst", "best"), found, strict=True) if side}

    def _lists(
        self, label: str, sides: Mapping[str, list[tuple[str, float]]], again: Source | None
    ) -> dict[str, list[Place]]:
        """By user of some extremes, the top of the list."""
        if again is None or not again.lists:
            return {}
        users = [user for side in sides.values() for user, _ in side]
        try:
            return {user: top_of(again, self.scores, user, self.plan[label]) for user in users}
        except RankmeterError:  # read in pieces
            return {}


def _spread_table(spreads: Mapping[str, Spread]) -> Table:
    rows = [
        (label, *map(number, (one.worst, *one.quartiles)), f"{one.at_worst:,}", f"{one.n:,}")
        for label, one in spreads.items()
    ]
    at = ("worst", "a quarter up to", "median", "three quarters up to")
    return Table(("metric", *at, in_words("users at the worst"), in_words("users")), rows)
