"""What a random and a perfect ranking of all candidates would reach, without drawing any.

In a random ranking every relevant item is equally likely at each rank: it is one tie of all
candidates, whose exact expectation the metrics know.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rankmeter._align import Aligned, Codes, Facts, Refused, prepare, universe
from rankmeter._choices import Alignment
from rankmeter._engine.block import call
from rankmeter._engine.scores import Scores
from rankmeter._hits import FloatArray, Hits, Span
from rankmeter._ingest import Table
from rankmeter._plan import Plan
from rankmeter.errors import UsageError

__all__ = ["chance"]


def chance(truth: Table, plan: Plan, n_items: int) -> tuple[Scores, Scores]:
    """The values of a random and of a perfect ranking of `n_items` candidates, for all users.

    NaN for metrics that need more than hits, or that have no expectation over ties.
    """
    users = universe(truth)
    codes = Codes(users)
    has_truth = codes.mark(truth.users)
    in_truth = has_truth | codes.mark(truth.empty_users)
    tables = [np.full((codes.n, len(plan.metrics)), np.nan, order="F") for _ in range(2)]
    facts: dict[Alignment, Facts] = {}
    for column, entry in enumerate(plan.metrics):
        judged = prepare(truth, codes, entry.alignment)
        n_ranked = np.maximum(judged.relevant.n_relevant + judged.others.n_relevant, n_items)
        own = Facts(judged.relevant.n_relevant, n_ranked, {}, 0, Refused(), Refused())
        facts[entry.alignment] = own
        if entry.spec.needs != ("hits",):
            continue
        perfect = judged.relevant
        ideal = replace(perfect, n_ranked=n_ranked, ideal=perfect)
        for table, hits in zip(tables, (_random(ideal), ideal), strict=True):
            try:
                aligned = Aligned(hits, hits, in_truth, own)
                table[:, column] = call(entry, aligned, entry.spec.function)
            except UsageError:
                pass
    labels = tuple(entry.label for entry in plan.metrics)
    random, best = (
        Scores(users, labels, table, in_truth, in_truth, has_truth, facts, {}, {})
        for table in tables
    )
    return random, best


def _random(ideal: Hits) -> Hits:
    """The relevant items, each equally likely at every rank."""
    high = ideal.n_ranked[ideal.user]
    rank: FloatArray = 0.5 * (1.0 + high.astype(np.float64))
    return replace(ideal, rank=rank, span=Span(np.ones_like(high), high))
