"""Some users: their ground truth and their rankings, one or several."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
import polars as pl

from rankmeter._align import Aligned, Codes, Facts, Judged, align, prepare, relevant_items, universe
from rankmeter._choices import Alignment
from rankmeter._engine.scores import Scores
from rankmeter._ingest import Table
from rankmeter._plan import MetricPlan, Plan
from rankmeter._side import Tables as Beside
from rankmeter.errors import RankmeterError, UsageError
from rankmeter.metrics import State

__all__ = ["Block", "call", "scores_of"]

Evidence = Callable[[str, Alignment], Any]
"""Makes the evidence of a name that a metric of an alignment asks for."""


def no_lists(name: str, choices: Alignment) -> NoReturn:
    """Evidence beside scores and ranks."""
    raise UsageError("needs lists of items, which scores and ranks are not")


class Block:
    """The data of some users; every other user is in another block.

    With `keep`, the hits of every alignment are kept for the next plan.
    """

    def __init__(
        self,
        truth: Table,
        systems: Mapping[str, Table],
        *,
        beside: Beside | None = None,
        keep: bool = False,
    ) -> None:
        self.truth, self.systems, self.beside, self.keep = truth, systems, beside, keep
        self.users: pl.Series = universe(truth, *systems.values())
        self._codes = Codes(self.users)
        self._prepared: dict[Alignment, Judged] = {}
        self._aligned: dict[tuple[Alignment, str, int | None], Aligned] = {}

    def aligned(self, name: str, choices: Alignment, depth: int | None = 0) -> Aligned:
        """The hits of one system, and its items down to a rank; None is all of them."""
        known = choices, name, depth
        if known not in self._aligned:
            if choices not in self._prepared:
                self._prepared[choices] = prepare(self.truth, self._codes, choices)
            listing = self.beside.listing(depth) if self.beside and depth != 0 else None
            self._aligned[known] = align(self.systems[name], self._prepared[choices], listing)
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

        found = scores_of(plan, aligned, self._in_truth, self._has_truth, self._known)
        return replace(found, ids=self.users, textual=textual)

    @functools.cached_property
    def _known(self) -> Evidence:
        """Evidence beside the rankings, by name; each is made once."""
        beside = self.beside

        @functools.cache
        def known(name: str, choices: Alignment) -> Any:
            if beside is None:
                return no_lists(name, choices)
            if name == "relevant":
                return relevant_items(self._prepared[choices], beside.items)
            return beside.evidence(name, self._codes, choices)

        return known


def scores_of(
    plan: Plan,
    aligned_by: Callable[[Alignment], Aligned],
    in_truth: npt.NDArray[np.bool_],
    has_truth: npt.NDArray[np.bool_],
    beside: Evidence = no_lists,
) -> Scores:
    """The values of every metric for users without names: the only caller of metric functions."""
    values = np.full((in_truth.size, len(plan.metrics)), np.nan, order="F")
    facts: dict[Alignment, Facts] = {}
    states: dict[str, State] = {}
    errors: dict[str, RankmeterError] = {}
    for column, entry in enumerate(plan.metrics):
        aligned = aligned_by(entry.alignment)
        facts[entry.alignment] = aligned.facts
        try:
            values[:, column] = call(entry, aligned, entry.spec.function, beside)
            if entry.averaging.aggregate == "micro" and entry.spec.state is not None:
                states[entry.label] = call(entry, aligned, entry.spec.state, beside)
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
    )


def call(
    entry: MetricPlan,
    aligned: Aligned,
    function: Callable[..., Any],
    beside: Evidence = no_lists,
) -> Any:
    """What a metric function makes of the evidence that it names."""
    metric, spec = entry.metric, entry.spec
    own = {"hits": aligned.hits, "nonrelevant": aligned.nonrelevant, "lists": aligned.lists}

    def known(name: str) -> Any:
        try:
            return own[name] if own.get(name) is not None else beside(name, entry.alignment)
        except UsageError:
            if name in spec.spares:
                return None
            raise

    try:
        evidence = [known(name) for name in spec.needs]
        return function(*evidence, *([metric.k] if spec.cutoff else []), **dict(metric.options))
    except UsageError as error:
        text = str(error).removeprefix(f"{metric.name} ")
        raise UsageError(
            f"{entry.label}: {text}", option=error.option, got=error.got, extent=error.extent
        ) from None
