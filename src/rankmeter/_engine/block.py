"""Some users: their ground truth and their rankings, one or several."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rankmeter._choices import Alignment
from rankmeter._engine.called import Evidence, adjusted_for_chance, call_metric, no_lists
from rankmeter._engine.scores import Scores
from rankmeter._engine.side_tables import SideTables
from rankmeter._rankings.align import Aligned, Facts, align, relevant_items
from rankmeter._rankings.codes import Codes
from rankmeter._rankings.ground_truth import Judged, prepare
from rankmeter._reading.lists import CHANGED
from rankmeter._reading.table import Table
from rankmeter.conventions._plan import Plan
from rankmeter.errors import DataError, RankmeterError, UsageError
from rankmeter.metrics import State
from rankmeter.metrics.popularity import Border


class Block:
    """The data of some users; every other user is in another block.

    `codes` are these users, if they are known. With `keep`, the hits of every alignment are kept
    for the next plan.
    """

    def __init__(
        self,
        truth: Table,
        systems: Mapping[str, Table],
        *,
        codes: Codes | None = None,
        tables: SideTables | None = None,
        keep: bool = False,
    ) -> None:
        self.truth, self.systems, self.tables, self.keep = truth, systems, tables, keep
        self._codes = codes or Codes.of_tables(truth, *systems.values())
        self.users = self._codes.users
        self._prepared: dict[tuple[Alignment, bool], Judged] = {}
        self._aligned: dict[tuple[Alignment, str, int | None, bool], Aligned] = {}
        self._evidence: dict[tuple[str, Alignment], Any] = {}

    def aligned(
        self, name: str, choices: Alignment, depth: int | None = 0, *, with_names: bool = False
    ) -> Aligned:
        """The hits of one system, and its items down to a rank; None is all of them.

        If `with_names`, each hit has its item.
        """
        key = choices, name, depth, with_names
        if key not in self._aligned:
            listing = self.tables.listing(depth) if self.tables and depth != 0 else None
            truth = self.judged(choices, with_names=with_names)
            try:
                self._aligned[key] = align(self.systems[name], truth, listing)
            finally:
                if self.truth.rows.changed or self.systems[name].rows.changed:
                    raise DataError(CHANGED)
        return self._aligned[key]

    def judged(self, choices: Alignment, *, with_names: bool = False) -> Judged:
        """The ground truth in one alignment, prepared once."""
        key = choices, with_names
        if key not in self._prepared:
            names = self.tables.items if self.tables and with_names else None
            self._prepared[key] = prepare(self.truth, self._codes, choices, names)
        return self._prepared[key]

    def align(self, plan: Plan) -> None:
        """Have the hits of a plan ready."""
        for name in self.systems:
            for choices in plan.alignments():
                self._aligned_by(name, plan)(choices)

    def score(self, plan: Plan) -> dict[str, Scores]:
        """The values of every metric for each system."""
        scores = {name: self._score(name, plan) for name in self.systems}
        if not self.keep:
            self._prepared.clear()
            self._aligned.clear()
        return scores

    @functools.cached_property
    def _has_truth(self) -> npt.NDArray[np.bool_]:
        """A mask of the users that have judgments."""
        return self._codes.mark(self.truth.users)

    @functools.cached_property
    def _in_truth(self) -> npt.NDArray[np.bool_]:
        """A mask of the users that the truth names, with judgments or without."""
        return self._has_truth | self._codes.mark(self.truth.empty_users)

    def _aligned_by(self, name: str, plan: Plan) -> Callable[[Alignment], Aligned]:
        """Return a function from alignments of a plan to the hits of one system."""
        depths, with_names = plan.depths(), plan.named()
        return lambda choices: self.aligned(
            name, choices, depths.get(choices, 0), with_names=choices in with_names
        )

    def _score(self, name: str, plan: Plan) -> Scores:
        textual = self.truth.textual and all(table.textual for table in self.systems.values())
        aligned = self._aligned_by(name, plan)
        scores = scores_of(plan, aligned, self._in_truth, self._has_truth, self.evidence)
        borders: dict[Alignment, set[Border]] = {alignment: set() for alignment in scores.facts}
        for entry in plan.metrics:
            if entry.label not in scores.errors:
                borders[entry.alignment] |= entry.borders
        facts = {
            alignment: self._with_items(aligned(alignment), facts_of_hits, borders[alignment])
            for alignment, facts_of_hits in scores.facts.items()
        }
        return replace(scores, ids=self.users, textual=textual, facts=facts)

    def _with_items(self, aligned: Aligned, facts: Facts, borders: set[Border]) -> Facts:
        """Facts that include what is known of the items in the lists, and of the relevant ones."""
        counts = dict(facts.counts)
        if self.tables is not None and aligned.lists is not None:
            counts |= self.tables.counts(aligned.lists, self._codes, borders)
        if self.tables is not None and (item := aligned.hits.best.item) is not None:
            counts |= self.tables.counts_of_relevant(item, borders)
        return replace(facts, counts=dict(sorted(counts.items())))

    def evidence(self, name: str, choices: Alignment) -> Any:
        """Evidence of the side data, by name; each is made once."""
        if self.tables is None or name == "lists":  # which hits alone do not have
            return no_lists(name, choices)
        key = name, choices
        if key not in self._evidence:
            if name == "relevant":
                evidence: Any = relevant_items(self.judged(choices), self.tables.items)
            elif name == "intents":
                evidence = self.tables.intents(self._codes, choices)
            else:
                evidence = self.tables.evidence(name, self._codes, choices)
            self._evidence[key] = evidence
        return self._evidence[key]


def scores_of(
    plan: Plan,
    aligned_by: Callable[[Alignment], Aligned],
    in_truth: npt.NDArray[np.bool_],
    has_truth: npt.NDArray[np.bool_],
    evidence: Evidence = no_lists,
) -> Scores:
    """The values of every metric for users without names: the only caller of metric functions."""
    values = np.full((in_truth.size, len(plan.metrics)), np.nan, order="F")
    facts: dict[Alignment, Facts] = {}
    states: dict[str, State] = {}
    errors: dict[str, RankmeterError] = {}
    lowest: dict[str, float] = {}
    for column, entry in enumerate(plan.metrics):
        aligned = aligned_by(entry.alignment)
        facts[entry.alignment] = aligned.facts
        try:
            if entry.candidates is not None:
                state, lowest[entry.label] = adjusted_for_chance(entry, aligned)
                values[:, column] = state.per_user(nothing=np.nan)
                if entry.averaging.aggregate == "micro":
                    states[entry.label] = state
                continue
            if entry.keeps_state and entry.spec.both is not None:
                values_and_state = call_metric(entry, aligned, entry.spec.both, evidence)
                values[:, column], states[entry.label] = values_and_state
            else:
                values[:, column] = call_metric(entry, aligned, entry.spec.function, evidence)
        except UsageError as error:
            errors[entry.label] = error
    return Scores(
        None,
        tuple(entry.label for entry in plan.metrics),
        values,
        in_truth,
        aligned.in_rankings,
        has_truth,
        facts,
        states,
        errors,
        lowest=lowest,
    )
