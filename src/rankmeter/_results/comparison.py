"""The result of a comparison: every system, every paired difference, and what they mean."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from rankmeter._checks import choice, counted
from rankmeter._engine import Scores, Walk
from rankmeter._estimates.differences import Difference, Heterogeneity, paired_values
from rankmeter._estimates.estimates import Estimate
from rankmeter._estimates.notes import (
    Facts,
    alike,
    chance_notes,
    cluster_notes,
    notes_of,
    unused_labels,
)
from rankmeter._hits import FloatArray
from rankmeter._ingest import Frame, Kind
from rankmeter._plan import Plan
from rankmeter._results.comparison_page import ComparisonPage
from rankmeter._results.summary import Summary
from rankmeter._results.walkthrough import (
    Walkthrough,
    choices_of,
    entries_of,
    walk_user,
)
from rankmeter._words import in_its_words, in_words
from rankmeter.errors import UsageError


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(ComparisonPage):
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
    segments_by_user : polars.DataFrame or None
        `segments` in Polars.
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
    segments_by_user: pl.DataFrame | None
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
    def segments(self) -> Frame | None:
        """Columns ``user`` and ``segment``, as in `per_user`; None without segments."""
        return None if self.segments_by_user is None else self.kind.frame(self.segments_by_user)

    @property
    def per_user(self) -> Frame:
        """Columns ``system``, ``user`` and one per metric; a frame as that of `Summary`."""
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
        groups = s.get("clusters_by_metric", {})
        notes += [*cluster_notes(groups, "tests and intervals"), *self._drawn()]
        if s["runs"]:
            runs = (f"{counted(n, 'training run')} of {name}" for name, n in s["runs"].items())
            notes.append(f"{in_words('users')} × runs: {', '.join(runs)}")
        notes += self._segment_notes()
        notes += self._noted()
        return (*self.cautions, *notes)

    def _facts(self) -> dict[str, Facts]:
        means = {
            name: [self.estimates[label, name] for label in self._labels] for name in self.systems
        }
        return {name: {**s.facts(), **alike(means[name])} for name, s in self.summaries.items()}

    def _paired_by(self, label: str, a: str, b: str) -> tuple[pl.Series, FloatArray, FloatArray]:
        one, other = (self.summaries[name].scores for name in (a, b))
        return paired_values(one, other, self.plan[label])
