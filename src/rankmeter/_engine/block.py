"""Some users: their ground truth and their rankings, one or several."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from rankmeter._align import Aligned, Codes, Facts, Judged, align, prepare, relevant_items, universe
from rankmeter._choices import Alignment
from rankmeter._engine.called import Evidence, adjusted, call, no_lists
from rankmeter._engine.scores import Scores
from rankmeter._ingest import Table
from rankmeter._plan import Plan
from rankmeter._side import SideTables
from rankmeter.errors import RankmeterError, UsageError
from rankmeter.metrics import State

__all__ = ["Block", "scores_of"]


class Block:
    """The data of some users; every other user is in another block.

    With `keep`, the hits of every alignment are kept for the next plan.
    """

    def __init__(
        self,
        truth: Table,
        systems: Mapping[str, Table],
        *,
        tables: SideTables | None = None,
        keep: bool = False,
    ) -> None:
        self.truth, self.systems, self.tables, self.keep = truth, systems, tables, keep
        self.users: pl.Series = universe(truth, *systems.values())
        self._codes = Codes(self.users)
        self._prepared: dict[Alignment, Judged] = {}
        self._aligned: dict[tuple[Alignment, str, int | None], Aligned] = {}

    def judged(self, choices: Alignment) -> Judged:
        """The ground truth in one alignment."""
        if choices not in self._prepared:
            self._prepared[choices] = prepare(self.truth, self._codes, choices)
        return self._prepared[choices]

    def aligned(self, name: str, choices: Alignment, depth: int | None = 0) -> Aligned:
        """The hits of one system, and its items down to a rank; None is all of them."""
        known = choices, name, depth
        if known not in self._aligned:
            listing = self.tables.listing(depth) if self.tables and depth != 0 else None
            self._aligned[known] = align(self.systems[name], self.judged(choices), listing)
        return self._aligned[known]

    def score(self, plan: Plan) -> dict[str, Scores]:
        """The values of every metric for each system."""
        scores = {name: self._score(name, plan) for name in self.systems}
        if not self.keep:
            self._prepared.clear()
            self._aligned.clear()
        return scores

    @functools.cached_property
    def _has_truth(self) -> npt.NDArray[np.bool_]:
        """Which users have judgments."""
        return self._codes.mark(self.truth.users)

    @functools.cached_property
    def _in_truth(self) -> npt.NDArray[np.bool_]:
        """Which users the truth names, with judgments or without."""
        return self._has_truth | self._codes.mark(self.truth.empty_users)

    def _score(self, name: str, plan: Plan) -> Scores:
        textual = self.truth.textual and all(table.textual for table in self.systems.values())
        depths = plan.depths()

        def aligned(choices: Alignment) -> Aligned:
            return self.aligned(name, choices, depths.get(choices, 0))

        found = scores_of(plan, aligned, self._in_truth, self._has_truth, self.evidence)
        facts = {one: self._with_lists(aligned(one), known) for one, known in found.facts.items()}
        return replace(found, ids=self.users, textual=textual, facts=facts)

    def _with_lists(self, aligned: Aligned, facts: Facts) -> Facts:
        """Facts that include what is known of the items in the lists."""
        if aligned.lists is None or self.tables is None:
            return facts
        counts = self.tables.counts(aligned.lists, self._codes)
        return replace(facts, counts=dict(sorted({**facts.counts, **counts}.items())))

    @functools.cached_property
    def evidence(self) -> Evidence:
        """Evidence of the side data, by name; each is made once."""
        tables = self.tables

        @functools.cache
        def known(name: str, choices: Alignment) -> Any:
            if tables is None:
                return no_lists(name, choices)
            if name == "relevant":
                return relevant_items(self._prepared[choices], tables.items)
            return tables.evidence(name, self._codes, choices)

        return known


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
                state, lowest[entry.label] = adjusted(entry, aligned)
                values[:, column] = state.per_user(nothing=np.nan)
                if entry.averaging.aggregate == "micro":
                    states[entry.label] = state
                continue
            values[:, column] = call(entry, aligned, entry.spec.function, evidence)
            if entry.averaging.aggregate == "micro" and entry.spec.state is not None:
                states[entry.label] = call(entry, aligned, entry.spec.state, evidence)
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
