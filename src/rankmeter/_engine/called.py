"""What a metric makes of its evidence, also adjusted for chance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np

from rankmeter._choices import Alignment
from rankmeter._engine.scores import Scores
from rankmeter._evidence.hits import FloatArray, Hits, IntArray, Span
from rankmeter._evidence.steps import note_formula, without_notes
from rankmeter._rankings.align import Aligned, Facts
from rankmeter._rankings.codes import Codes
from rankmeter._rankings.ground_truth import prepare
from rankmeter._rankings.pairs import Refused
from rankmeter._reading.table import Table
from rankmeter.conventions._plan import MetricPlan, Plan
from rankmeter.errors import NotEnoughMemoryError, UsageError
from rankmeter.metrics import Ratio
from rankmeter.metrics.link_prediction import above_chance

ROUNDING = 1e-12
"""A smaller share of a value than this is nothing to gain."""


Evidence = Callable[[str, Alignment], Any]
"""Makes the evidence of a name that a metric of an alignment asks for."""


def no_lists(name: str, choices: Alignment) -> NoReturn:
    """Scores and ranks have no lists."""
    raise UsageError("needs lists of items, which scores and ranks are not")


def call_metric(
    entry: MetricPlan,
    aligned: Aligned,
    function: Callable[..., Any],
    evidence: Evidence = no_lists,
) -> Any:
    """Call a metric function with the evidence that it names."""
    metric, spec = entry.metric, entry.spec
    ranked = {"hits": aligned.hits, "nonrelevant": aligned.nonrelevant, "lists": aligned.lists}

    def argument(name: str) -> Any:
        try:
            return evidence(name, entry.alignment) if ranked.get(name) is None else ranked[name]
        except UsageError:
            if name in spec.spares:
                return None
            raise

    try:
        intents = evidence("intents", entry.alignment) if spec.intent_aware else None
        if intents is None:
            arguments = [argument(name) for name in spec.needs]
        else:
            lists_and_relevant = (argument("lists"), argument("relevant"))
            arguments = [*map(intents.of, lists_and_relevant), intents.categories]
        return function(*arguments, *([metric.k] if spec.cutoff else []), **dict(metric.options))
    except UsageError as error:
        text = str(error).removeprefix(f"{metric.name} ")
        if spec.intent_aware and error.option == "items":
            text += ", or judgments with a column `subtopic`"
        raise UsageError(
            f"{entry.label}: {text}", option=error.option, got=error.got, extent=error.extent
        ) from None


def chance_values(
    entry: MetricPlan, perfect: Hits, n_nonrelevant: IntArray, n_items: int | IntArray
) -> tuple[FloatArray, FloatArray]:
    """The values of a random and of a perfect ranking of `n_items` candidates.

    `n_nonrelevant` are the judged items of each user that are not relevant. In a random ranking
    every relevant item is equally likely at each rank: it is one tie of all candidates, whose exact
    expectation the metrics know.
    """
    n_ranked = np.maximum(perfect.n_relevant + n_nonrelevant, n_items)
    ideal = replace(perfect, n_ranked=n_ranked, ideal=perfect)
    high = n_ranked[perfect.user]
    rank = 0.5 * (1.0 + high.astype(np.float64))
    random = replace(ideal, rank=rank, span=Span(np.ones_like(high), high))
    metric = entry.metric
    k = [metric.k] if entry.spec.cutoff else []
    values, best = (
        entry.spec.function(hits, *k, **dict(metric.options)) for hits in (random, ideal)
    )
    return values, best


def adjusted_for_chance(entry: MetricPlan, aligned: Aligned) -> tuple[Ratio, float]:
    """Scale the value of each user from 0 (chance) to 1 (perfect); also the lowest possible value.

    A user for whom all rankings are alike has a way of length 0.
    """
    values = call_metric(entry, aligned, entry.spec.function)
    perfect, n_nonrelevant = aligned.hits.best, aligned.nonrelevant.n_relevant
    try:
        with without_notes():
            random, best = chance_values(
                entry, perfect, n_nonrelevant, entry.candidates or aligned.hits.n_ranked
            )
    except UsageError as error:
        raise UsageError(f"{entry.label} has no value by chance: {error}") from None
    plain = entry.metric.spec
    worst = np.full(best.shape, plain.low if plain.increasing else plain.high)
    note_formula(random, "by_chance", by_chance=random)
    note_formula(best, "perfect", perfect=best)
    share, lowest = (
        above_chance(value, random, best, increasing=plain.increasing) for value in (values, worst)
    )
    differs = share.whole > ROUNDING * np.abs(best)  # not for NaN
    part, divisor = (np.where(differs, terms, 0.0) for terms in (share.part, share.whole))
    least = float((lowest.part[differs] / share.whole[differs]).min(initial=0.0))
    return replace(share, part=part, whole=divisor), least


def chance_scores(truth: Table, plan: Plan, n_items: int) -> tuple[Scores, Scores]:
    """The values of a random and of a perfect ranking of `n_items` candidates, for all users.

    NaN for metrics that need more than hits, or that have no expectation over ties or over so many.
    """
    codes = Codes.of_tables(truth)
    has_truth = codes.mark(truth.users)
    in_truth = has_truth | codes.mark(truth.empty_users)
    tables = [np.full((codes.n, len(plan.metrics)), np.nan, order="F") for _ in range(2)]
    facts: dict[Alignment, Facts] = {}
    judged = {alignment: prepare(truth, codes, alignment) for alignment in plan.alignments()}
    for column, entry in enumerate(plan.metrics):
        perfect = judged[entry.alignment].relevant
        n_nonrelevant = judged[entry.alignment].others.n_relevant
        n_ranked = np.maximum(perfect.n_relevant + n_nonrelevant, n_items)
        counts = Facts(perfect.n_relevant, n_ranked, {}, 0, Refused(), Refused())
        facts[entry.alignment] = counts
        if entry.spec.needs != ("hits",) or entry.candidates is not None:
            continue
        try:
            values_by_ranking = chance_values(entry, perfect, n_nonrelevant, n_items)
        except (UsageError, NotEnoughMemoryError):
            continue
        for table, values in zip(tables, values_by_ranking, strict=True):
            table[:, column] = values
    labels = tuple(entry.label for entry in plan.metrics)
    random, best = (
        Scores(codes.users, labels, table, in_truth, in_truth, has_truth, facts, {}, {})
        for table in tables
    )
    return random, best
