"""The result of a comparison: every paired difference, its meaning, and its renderings."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from rankmeter._checks import choice, counted
from rankmeter._engine import Place, Scores, Walk
from rankmeter._estimates.curves import Curve, curves_of, distinct_curves
from rankmeter._estimates.differences import Difference, paired_values
from rankmeter._estimates.estimates import Estimate
from rankmeter._estimates.notes import (
    Facts,
    alike,
    chance_notes,
    cluster_notes,
    missing_users,
    notes_of,
    unused_labels,
)
from rankmeter._estimates.paired import Heterogeneity, segment_notes
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
from rankmeter._hits import FloatArray
from rankmeter._ingest import Frame, Kind
from rankmeter._plan import Plan
from rankmeter._report import charts
from rankmeter._report.table import Table
from rankmeter._results.compared import Compared
from rankmeter._results.result import Name
from rankmeter._results.summary import Summary
from rankmeter._results.walkthrough import (
    Walkthrough,
    choices_of,
    entries_of,
    top_of,
    walk_user,
)
from rankmeter._words import in_its_words, in_words
from rankmeter.errors import UsageError

if TYPE_CHECKING:
    from rankmeter._report.page import Digest, MeanCell

__all__ = ["KINDS", "Comparison"]

KINDS = ("forest", "curve", "differences", "segments", "tradeoff")
"""The kinds of charts."""


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Compared):
    """Several systems over one truth.

    Attributes
    ----------
    systems : tuple of str
        Names, in the order given.
    baseline : str
        The system that all others are compared with; empty if all pairs are compared.
    plan : Plan
        Every choice behind the values.
    summaries : mapping of str to Summary
        The result of each system alone.
    estimates : mapping of (str, str) to Estimate
        By metric and system: the mean over the users that the comparison uses.
    differences : tuple of Difference
        All comparisons over all users, then those within segments.
    dropped : mapping of str to int
        By metric: users averaged for some systems but not for all (they are left out of the means
        and differences of ``common="all"``).
    segments : polars.DataFrame, pandas.DataFrame or None
        Columns ``user`` and ``segment``, as in `per_user`.
    segment_estimates : mapping of (str, str, str) to Estimate
        By segment, metric and system.
    settings : mapping
        Test, correction, family, alpha, seed, resamples, the rule for common users, clusters; the
        numbers of users without a label and of labels without a user.
    scored : callable
        Gives the scores of every system under another plan: the values behind curves.
    clusters : object
        The clusters of the users as given.
    heterogeneity : tuple of Heterogeneity
        For each comparison over all users, whether the segments have different differences.
    """

    systems: tuple[str, ...]
    baseline: str
    plan: Plan
    summaries: Mapping[str, Summary]
    estimates: Mapping[tuple[str, str], Estimate]
    differences: tuple[Difference, ...]
    dropped: Mapping[str, int]
    segments: Frame | None
    segment_estimates: Mapping[tuple[str, str, str], Estimate]
    settings: Mapping[str, Any]
    scored: Callable[[Plan], Mapping[str, Scores]]
    clusters: object = None
    heterogeneity: tuple[Heterogeneity, ...] = ()

    @property
    def random(self) -> dict[str, float]:
        """By metric, the expected mean of random rankings of all candidates.

        Empty unless their number is known (``n_items``); without metrics for which the systems are
        averaged over different users.
        """
        first, *others = (one.random for one in self.summaries.values())
        return {m: x for m, x in first.items() if all(x == one.get(m) for one in others)}

    @property
    def per_user(self) -> Frame:
        """Columns ``system``, ``user`` and one per metric; in pandas as that of `Summary`."""
        each = [
            summary.values_by_user.select(pl.lit(name).alias("system"), pl.all())
            for name, summary in self.summaries.items()
        ]
        return self.kind.frame(pl.concat(each))

    def pieces_by_user(self, size: int) -> Iterator[pl.DataFrame]:
        """The rows of `per_user` in Polars, those of so many users at a time."""
        for name, summary in self.summaries.items():
            for piece in summary.pieces_by_user(size):
                yield piece.select(pl.lit(name).alias("system"), pl.all())

    @property
    def kind(self) -> Kind:
        """That of the rankings of the first system, and of the frames that are handed out."""
        return next(iter(self.summaries.values())).kind

    def _refuse_whole(self, label: str) -> None:
        if self.plan[label].spec.whole:
            raise UsageError(f"{label} is one number for the lists of all users: no user has one")

    @in_its_words
    def show(
        self,
        user: object,
        metrics: str | Iterable[str] | None = None,
        *,
        systems: str | Iterable[str] | None = None,
    ) -> Walkthrough:
        """How the values of one user come about in each system, rank by rank.

        Parameters
        ----------
        user : object
            The id, also as text.
        metrics : str or iterable of str, optional
            Only these; default: all of the comparison.
        systems : str or iterable of str, optional
            Only these; default: all of them.

        Returns
        -------
        Walkthrough

        Raises
        ------
        UsageError
            If there is no such user or system, or a system has several runs.
        """
        entries = entries_of(self.plan, metrics)
        names = [systems] if isinstance(systems, str) else list(systems or self.systems)
        walks: dict[str, list[Walk]] = {}
        for name in names:
            one = self.summaries[choice("systems", name, self.systems)]
            walks[name] = walk_user(one.source, one.scores, user, entries)
        turns = zip(*walks.values(), strict=True)
        pairs = tuple(pair for turn in turns for pair in zip(names, turn, strict=True))
        facts = self.summaries[names[0]].facts()
        return Walkthrough(user, pairs, choices_of(self.plan, facts), self.words)

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
        label = self._label(metric)
        return self._curves([label], max_k)[label]

    def _curves(self, labels: Sequence[str], max_k: int | None = None) -> dict[str, Curve]:
        """The curves of several metrics, computed together."""
        entries = [self.plan[label] for label in labels]
        largest = max([e.metric.k or 0 for e in self.plan.metrics] + [20])
        read = {name: summary.read for name, summary in self.summaries.items()}
        return curves_of(self.plan, entries, self.scored, max_k or largest, self.clusters, read)

    @property
    def cautions(self) -> tuple[str, ...]:
        """Reasons to doubt that the data are what was meant."""
        summaries = self.summaries.values()
        return tuple(dict.fromkeys(said for one in summaries for said in one.cautions))

    def _content(self) -> dict[str, Any]:
        segments: dict[str, dict[str, Any]] = {}
        for (segment, metric, name), e in self.segment_estimates.items():
            segments.setdefault(segment, {}).setdefault(metric, {})[name] = self._plain_mean(e)
        return {
            "systems": list(self.systems),
            "baseline": self.baseline or None,
            "metrics": {
                label: {name: self._plain_mean(e) for name, e in self._means(label).items()}
                for label in self._labels
            },
            "segments": segments,
            "differences": [vars(d) | {"sentence": d.sentence()} for d in self.differences],
            "heterogeneity": [vars(one) for one in self.heterogeneity],
            **({"random": self.random} if self.random else {}),
            "dropped_users": self.dropped,
            "users": {name: summary.counts for name, summary in self.summaries.items()},
            "cautions": list(self.cautions),
            "notes": list(self._notes()),
            "settings": self.settings,
            "plan": self.plan.to_dict(),
        }

    @property
    def _labels(self) -> list[str]:
        return [entry.label for entry in self.plan.metrics]

    def _label(self, metric: str) -> str:
        return self.plan[metric].label

    def _increasing(self, label: str) -> bool:
        return self.plan[label].spec.increasing

    def _notes(self) -> tuple[str, ...]:
        s = self.settings
        notes = [
            self._tested(),
            *notes_of(self.plan, self._facts()),
        ]
        some = "" if s["common"] == "all" else in_words(", so that means are over different users")
        notes += [
            f"{m}: {counted(n, 'user')} not common to all systems{some}"
            for m, n in self.dropped.items()
            if n
        ]
        notes += [*chance_notes(self.random, self.plan), *unused_labels(s)]
        notes += [*cluster_notes(s, "tests and intervals"), *self._drawn()]
        if s["runs"]:
            runs = (f"{counted(n, 'training run')} of {name}" for name, n in s["runs"].items())
            notes.append(f"{in_words('users')} × runs: {', '.join(runs)}")
        notes += segment_notes(self.heterogeneity, s["alpha"])
        notes += self._noted()
        return (*self.cautions, *notes)

    def _facts(self) -> dict[str, Facts]:
        means = {
            name: [self.estimates[label, name] for label in self._labels] for name in self.systems
        }
        return {name: {**s.facts(), **alike(means[name])} for name, s in self.summaries.items()}

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
        if kind == "segments" and self.segments is None:
            raise UsageError("there are no segments: pass segments= to rm.compare")
        labels = [self.plan[metric].label] if metric else self._labels
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
            return charts.curve(metric, self.curve(metric), shown) if entry.spec.cutoff else []
        if kind == "segments":
            means = {(s, n): e for (s, m, n), e in self.segment_estimates.items() if m == metric}
            return charts.segments(metric, means, self._shown())
        if kind == "tradeoff":
            return self._tradeoff(metric)
        if kind == "differences" and self.plan[metric].spec.whole:
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

    def _paired_by(self, label: str, a: str, b: str) -> tuple[pl.Series, FloatArray, FloatArray]:
        one, other = (self.summaries[name].scores for name in (a, b))
        return paired_values(one, other, self.plan[label])

    @in_its_words
    def headline(self, metric: str | None = None) -> Headline:
        """The answer in a line, and the sentences that give its size and certainty.

        Parameters
        ----------
        metric : str, optional
            Default: the first one.
        """
        label = self.plan[metric or self._labels[0]].label
        said = super().headline(label)
        counts = {name: summary.counts for name, summary in self.summaries.items()}
        missing = {name: n["users_in_truth"] - n["users_in_both"] for name, n in counts.items()}
        rule = self.plan[label].averaging.missing
        return replace(said, sentences=(*said.sentences, *missing_users(missing, rule)))

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
        apart = {*segment_notes(self.heterogeneity, self.settings["alpha"])[1:]}  # has a table
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
        curves = self._curves(firsts) if firsts else {}
        panels = {label: charts.curve(label, curve, shown) for label, curve in curves.items()}
        figures: dict[str, dict[str, list[Any]]] = {
            kind: {label: self._panels(kind, label) for label in labels}
            for kind in KINDS
            if kind != "curve"
        }
        figures["curve"] = {label: panels[first] for label, first in first_of.items()}
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
            "n_resamples": 9_999,
        }  # fmt: skip
        return self._call(
            "compare",
            "systems, truth",
            baseline=self.baseline or None,
            segments=None if self.segments is None else Name("segments"),
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
        good = {curves[first].metric: curves[first].smallest_good_k() for first in cut}
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
        return charts.scatter(d, scattered(*self._paired(d)[1:]))

    def _extremes(self, found: Verdict) -> dict[str, list[tuple[str, float, float]]]:
        """For each system of a verdict, the users that gain most from it."""
        d = found.difference
        if d is None:
            return {}
        sides = extremes(*self._paired(d), increasing=d.increasing)
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
        return {
            user: {
                name: top_of(source, scores, user, entry)
                for name, (source, scores) in sources.items()
                if source is not None
            }
            for user in users
        }
