"""What a random and a perfect ranking of all candidates would reach, without drawing any."""

from __future__ import annotations

import numpy as np

from rankmeter._align import Codes, Facts, Refused, prepare
from rankmeter._choices import Alignment
from rankmeter._engine.called import chance_values
from rankmeter._engine.scores import Scores
from rankmeter._ingest import Table
from rankmeter._plan import Plan
from rankmeter.errors import NotEnoughMemoryError, UsageError


def chance_scores(truth: Table, plan: Plan, n_items: int) -> tuple[Scores, Scores]:
    """The values of a random and of a perfect ranking of `n_items` candidates, for all users.

    NaN for metrics that need more than hits, or that have no expectation over ties or over so many.
    """
    codes = Codes.of_tables(truth)
    has_truth = codes.mark(truth.users)
    in_truth = has_truth | codes.mark(truth.empty_users)
    tables = [np.full((codes.n, len(plan.metrics)), np.nan, order="F") for _ in range(2)]
    facts: dict[Alignment, Facts] = {}
    for column, entry in enumerate(plan.metrics):
        judged = prepare(truth, codes, entry.alignment)
        perfect, others = judged.relevant, judged.others.n_relevant
        n_ranked = np.maximum(perfect.n_relevant + others, n_items)
        counts = Facts(perfect.n_relevant, n_ranked, {}, 0, Refused(), Refused())
        facts[entry.alignment] = counts
        if entry.spec.needs != ("hits",) or entry.candidates is not None:
            continue
        try:
            both = chance_values(entry, perfect, others, n_items)
        except (UsageError, NotEnoughMemoryError):
            continue
        for table, values in zip(tables, both, strict=True):
            table[:, column] = values
    labels = tuple(entry.label for entry in plan.metrics)
    random, best = (
        Scores(codes.users, labels, table, in_truth, in_truth, has_truth, facts, {}, {})
        for table in tables
    )
    return random, best
