"""The result of a comparison: every system, every paired difference, and what they mean."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import polars as pl

from rankmeter._checks import choice
from rankmeter._engine import Walk
from rankmeter._estimates.notes import (
    alike,
    chance_notes,
    notes_of,
)
from rankmeter._ingest import Frame
from rankmeter._plan import Plan
from rankmeter._results.comparison_page import ComparisonPage
from rankmeter._results.walkthrough import (
    Walkthrough,
    choices_of,
    entries_of,
    walk_user,
)
from rankmeter._words import in_its_words


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Comparison(ComparisonPage):
    """Several systems over one truth.

    Attributes
    ----------
    plan : Plan
        Every choice behind the values.
    """

    plan: Plan

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

    def _plan_text(self) -> str:
        return self.plan.describe()

    def _more_notes(self) -> tuple[list[str], list[str]]:
        facts = {
            name: {
                **summary.facts(),
                **alike(self.estimates[label, name] for label in self._labels),
            }
            for name, summary in self.summaries.items()
        }
        return notes_of(self.plan, facts), chance_notes(self.random, self.plan)
