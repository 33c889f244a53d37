"""The charts and the page of a comparison of rankings."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rankmeter._checks import choice
from rankmeter._engine import Place
from rankmeter._estimates.curves import curves_of, distinct_curves, usual_k
from rankmeter._estimates.shares import first_hits, popularity_shown
from rankmeter._estimates.verdicts import (
    MAX_SYSTEMS,
    Headline,
    Verdict,
    by_segment,
    extremes,
    leaders,
    scattered,
)
from rankmeter._estimates.wording import p_value
from rankmeter._plan import Plan
from rankmeter._report import charts
from rankmeter._report.table import Table
from rankmeter._results.compared import Compared
from rankmeter._results.curve import Curve
from rankmeter._results.result import Name, written_call
from rankmeter._results.walkthrough import top_of
from rankmeter._words import in_its_words
from rankmeter.errors import UsageError

if TYPE_CHECKING:
    from rankmeter._report.page import Digest, MeanCell

KINDS = ("forest", "curve", "differences", "segments", "tradeoff")
"""The kinds of charts."""


class ComparisonPage(Compared):
    """A comparison of rankings that draws its charts and writes its page."""

    plan: Plan

    def curve(self, metric: str, max_k: int | None = None) -> Curve:
        """``metric@1`` to ``metric@max_k`` of every system, with bands.

        Parameters
        ----------
        metric : str
            A metric of the comparison; its cutoff does not matter.
        max_k : int, optional
            Up to 10,000. Default: the largest cutoff of the plan, at least 20.

        Returns
        -------
        Curve

        Raises
        ------
        UsageError
            If the metric has no cutoff, or `max_k` is out of its range.
        """
        label = self._label(metric)
        return self._curves([label], max_k)[label]

    def _curves(self, labels: Sequence[str], max_k: int | None = None) -> dict[str, Curve]:
        """The curves of several metrics, computed together."""
        entries = [self.plan[label] for label in labels]
        largest = usual_k(self.plan) if max_k is None else max_k
        read = {name: summary.read for name, summary in self.summaries.items()}
        return curves_of(Curve, self.plan, entries, self.scored, largest, self.clusters, read)

    @in_its_words
    def plot(
        self,
        kind: Literal["forest", "curve", "differences", "segments", "tradeoff"] = "forest",
        *,
        metric: str | None = None,
    ) -> Any:
        """An Altair chart, which saves itself as PNG, SVG, PDF or HTML.

        Parameters
        ----------
        kind : {"forest", "curve", "differences", "segments", "tradeoff"}
            Differences with intervals, metric against k, the distribution of per-user differences,
            means by segment, or metrics of what was shown against the first metric of accuracy.
            Curves and trade-offs need rankings or results of evaluations.
        metric : str, optional
            Only this metric; default: all of them, side by side.

        Raises
        ------
        MissingDependencyError
            If Altair is not installed.
        UsageError
            If there is nothing of this kind to draw.
        """
        charts.require_altair()
        choice("kind", kind, KINDS)
        if kind in ("curve", "tradeoff") and not isinstance(self.plan, Plan):
            raise UsageError(f"plot({kind!r}) needs the rankings: rm.compare draws it")
        if kind == "segments" and self.segments_by_user is None:
            raise UsageError("there are no segments: pass segments=")
        labels = [self._label(metric)] if metric else self._labels
        if kind == "curve":
            first_of = distinct_curves(self.plan)
            labels = list(dict.fromkeys(first_of[label] for label in labels if label in first_of))
        drawn = [panel for label in labels for panel in self._panels(kind, label)]
        if not drawn:
            raise UsageError(f"nothing to draw as {kind!r}: no metric has the values for it")
        return charts.side_by_side(drawn)

    def _panels(self, kind: str, metric: str) -> list[Any]:
        """The charts of one kind for one metric, of no width or theme yet."""
        if kind == "curve":
            entry, shown = self.plan[metric], self._shown()
            return (
                charts.curve(metric, self.curve(metric).frame, shown) if entry.spec.cutoff else []
            )
        if kind == "segments":
            means = {(s, n): e for (s, m, n), e in self.segment_estimates.items() if m == metric}
            return charts.segments(metric, means, self._shown())
        if kind == "tradeoff":
            return self._tradeoff(metric)
        if kind == "differences" and self.by_metric[metric].whole:
            return []  # no user has a value
        return self._difference_panels(kind, metric)

    def _tradeoff(self, metric: str) -> list[Any]:
        """The chart of a metric of what was shown against the first metric of accuracy."""
        accuracy = [e.label for e in self.plan.metrics if not e.spec.of_lists]
        if not accuracy or not self.plan[metric].spec.of_lists:
            return []
        first, second = self._means(accuracy[0]), self._means(metric)
        both = {name: (first[name], second[name]) for name in self._shown()}
        return charts.tradeoff(accuracy[0], metric, both)

    def _shown(self) -> list[str]:
        """The systems that charts show: the baseline, and the best ones on the first metric."""
        ranked = self._verdict(self._labels[0]).ranked
        shown = sorted(ranked, key=lambda name: name != self.baseline)[:MAX_SYSTEMS]
        return sorted(shown, key=self.systems.index)

    @in_its_words
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
        from rankmeter._report.page import render, write

        write(path, lambda: render(self._digest()))

    def _digest(self) -> Digest:
        """The content of the page."""
        from rankmeter._report.page import Digest, MeanCell

        labels, shown = self._labels, self._shown()
        apart = {*self._segment_notes()[1:]}  # has a table
        notes = sorted((one for one in self._notes() if one not in apart), key=self._order)
        crowded = not self.baseline and len(self.systems) > MAX_SYSTEMS
        if crowded:  # too many letters to read
            notes[0] = notes[0].replace("letters: the", "beats: how many")
        titles = self.systems if crowded else [row[0] for row in self.table().rows]
        verdicts = {label: self._verdict(label) for label in labels}
        cells: dict[str, list[MeanCell]] = {name: [] for name in self.systems}
        for label in labels:
            means, marks = self._means(label), self._marks(label)
            place = self._places(means, label)
            beats = Counter(d.better for d in self[label] if d.significant)
            for name, e in means.items():
                said = {"beats": beats[name]} if crowded else {"mark": marks[name]}
                cells[name].append(MeanCell(e, place[name], **said))
        extreme = {
            label: self._extremes(found)
            for label, found in verdicts.items()
            if not self.plan[label].spec.whole
        }
        first_of = distinct_curves(self.plan)
        firsts = list(dict.fromkeys(first_of.values()))
        try:
            curves = self._curves(firsts) if firsts else {}
        except UsageError:  # results without ranks
            curves = {}
        panels = {label: charts.curve(label, curve.frame, shown) for label, curve in curves.items()}
        figures: dict[str, dict[str, list[Any]]] = {
            kind: {label: self._panels(kind, label) for label in labels}
            for kind in KINDS
            if kind != "curve"
        }
        figures["curve"] = {label: panels.get(first, []) for label, first in first_of.items()}
        hits = first_hits(self.plan, self.scored)
        popular = popularity_shown(self.plan, self.scored)
        figures["hits"] = {"": charts.first_hits(hits, shown)} if hits else {}
        figures["popularity"] = {"": charts.popularity(*popular, shown)} if popular else {}
        figures["scatter"] = {label: self._scatter(found) for label, found in verdicts.items()}
        return Digest(
            headline=self._headline(verdicts[labels[0]]),
            verdicts=[*verdicts.values()],
            means=[(title, *row) for title, row in zip(titles, cells.values(), strict=True)],
            notes=notes,
            differences=self.difference_table(),
            shown=shown,
            good_k=self._good_k(curves),
            hits=hits,
            popularity=popular,
            segments=self._segment_cells(),
            heterogeneity=self._heterogeneity_table(),
            extremes=extreme,
            lists={label: self._lists(label, sides) for label, sides in extreme.items()},
            figures=figures,
            plan=self.plan.describe(),
            call=self._written(),
            result=self.to_dict(),
        )

    def _written(self) -> str:
        """The call in Python that gives this result from the same data, or nothing."""
        s = self.settings
        usual = {
            "test": "auto", "correction": "maxt", "common": "all", "alpha": 0.05,
            "n_resamples": 9_999, "gatekeeping": False,
        }  # fmt: skip
        return written_call(
            self.plan,
            "compare",
            "systems, truth",
            baseline=self.baseline or None,
            segments=None if self.segments_by_user is None else Name("segments"),
            clusters=Name("clusters") if s["clusters"] else None,
            margin=s["margin"],
            family=None if s["family"] == "each metric" else "all",
            **{name: s[name] for name, value in usual.items() if s[name] != value},
        )

    def _headline(self, found: Verdict) -> Headline:
        """The headline, with what the segments say."""
        said, label, d = self.headline(), found.metric, found.difference
        parts = dict.fromkeys(key[0] for key in self.segment_estimates)
        if len(parts) < 2 or d is None:
            return said
        best = {
            part: leaders(
                {name: self.segment_estimates[part, label, name] for name in self.systems},
                increasing=self._increasing(label),
            )
            for part in parts
        }
        tested = [h for h in self.heterogeneity if h.metric == label and {h.a, h.b} == {d.a, d.b}]
        p = tested[0].p if tested else math.nan
        alpha = self.settings["alpha"]
        sentence = by_segment(label, best, f"{d.a} − {d.b}", p, alpha)
        return replace(said, sentences=(*said.sentences, sentence))

    def _good_k(self, curves: Mapping[str, Curve]) -> Table:
        """The smallest good k of each system in charts; metrics without a cutoff have none."""
        first_of = distinct_curves(self.plan)
        cut = {first: label for label, first in first_of.items() if self.plan[label].metric.k}
        good = {
            curves[first].metric: curves[first].smallest_good_k()
            for first in cut
            if first in curves
        }
        rows = [(name, *(f"{found[name]}" for found in good.values())) for name in self._shown()]
        return Table(("system", *good), rows if good else ())

    def _order(self, note: str) -> bool:
        """How the differences were tested comes first, then reasons to doubt, then the others."""
        return note != self._tested()

    def _segment_cells(self) -> dict[str, list[tuple[str | MeanCell, ...]]]:
        """By metric, a row for each segment: its users, and the mean of each system."""
        from rankmeter._report.page import MeanCell

        found: dict[str, list[tuple[str | MeanCell, ...]]] = {}
        for segment, label in dict.fromkeys(key[:2] for key in self.segment_estimates):
            means = {name: self.segment_estimates[segment, label, name] for name in self.systems}
            place = self._places(means, label)
            cells = [MeanCell(e, place[name]) for name, e in means.items()]
            n = max(e.n for e in means.values())
            found.setdefault(label, []).append((segment, f"{n:,}", *cells))
        return found

    def _heterogeneity_table(self) -> Table:
        """For each comparison over all users, whether the segments have the same difference."""
        rows = [
            (f"{one.a} − {one.b}", one.metric, f"{one.n}", f"{one.statistic:.1f}", p_value(one.p))
            for one in self.heterogeneity
        ]
        return Table(("difference", "metric", "segments", "Q", "p"), rows)

    def _scatter(self, found: Verdict) -> list[Any]:
        """The values of all users in the two systems of a verdict."""
        d = found.difference
        if d is None or not d.per_user or self.plan[d.metric].spec.whole:
            return []
        return charts.scatter(d, scattered(*self.paired(d)[1:]))

    def _extremes(self, found: Verdict) -> dict[str, list[tuple[str, float, float]]]:
        """For each system of a verdict, the users that gain most from it."""
        d = found.difference
        if d is None:
            return {}
        sides = extremes(*self.paired(d), increasing=d.increasing)
        return dict(zip((d.a, d.b), sides, strict=True)) if any(sides) else {}

    def _lists(
        self, label: str, sides: Mapping[str, Sequence[tuple[str, float, float]]]
    ) -> dict[str, dict[str, Sequence[Place]]]:
        """By user of some extremes, the tops of the lists of both systems."""
        entry = self.plan[label]
        sources = {
            name: (self.summaries[name].source, self.summaries[name].scores) for name in sides
        }
        users = [user for side in sides.values() for user, *_ in side]
        if any(source is None or not source.lists for source, _ in sources.values()):
            return {}
        try:
            return {
                user: {
                    name: top_of(source, scores, user, entry)
                    for name, (source, scores) in sources.items()
                    if source is not None
                }
                for user in users
            }
        except UsageError:  # the rankings of a result have changed
            return {}
