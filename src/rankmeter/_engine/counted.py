"""Queries that are counted already: from counts to the values of every metric."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from rankmeter._align import Aligned, Facts, perfect_hits, reached_gains, to_hits
from rankmeter._align.pairs import Refused
from rankmeter._choices import Alignment
from rankmeter._engine.block import scores_of
from rankmeter._engine.scores import Scores
from rankmeter._ingest import Ids
from rankmeter._matrix._kind import Kind
from rankmeter._plan import Plan
from rankmeter.errors import UsageError

if TYPE_CHECKING:  # many modules, which lists do not need
    from rankmeter._matrix._queries import Queries


@dataclass(frozen=True, eq=False)
class Counted:
    """Queries that are counted already, as data that can run plans; see `Data`.

    Attributes
    ----------
    queries : Queries
    ids : Ids or None
        The id of each query; numbers without.
    """

    queries: Queries
    ids: Ids | None = None

    def opened(self) -> Counted:
        """Itself: nothing has to be read again."""
        return self

    def of_user(self, user: object) -> Counted:
        number = user if self.ids is None else (self.ids.series() == user).arg_true()[0]
        row = np.array([number], dtype=np.int64)
        return replace(self, queries=self.queries.take(row), ids=None)

    def run(self, plan: Plan) -> dict[str, Scores]:
        """See `Data.run`; the system has no name."""
        return {"": score_queries(plan, self.queries, self.ids)}


def score_queries(plan: Plan, queries: Queries, ids: Ids | None = None) -> Scores:
    """The values of every metric for queries that are counted, in their order.

    Raises
    ------
    UsageError
        If a choice needs the items that were ranked, which counts do not have.
    """
    every = np.ones(queries.n, dtype=bool)
    judged = np.zeros(queries.n, dtype=bool)
    judged[queries.counts.user] = True
    aligned = functools.cache(functools.partial(aligned_queries, queries))
    return replace(scores_of(plan, aligned, every, judged), ids=ids)


def aligned_queries(queries: Queries, choices: Alignment) -> Aligned:
    """The hits of counted queries in one alignment.

    Raises
    ------
    UsageError
        If the alignment needs the items that were ranked.
    """
    every = np.ones(queries.n, dtype=bool)
    if choices.scope == "appended" and not queries.found.all():
        raise UsageError(
            "scope='appended' needs lists of items, which scores are not", option="scope"
        )
    counts = queries.counts
    if queries.target is not None and not choices.is_relevant(counts.gain).all():
        raise UsageError(
            f"true items that relevant={choices.relevant!r} leaves out would not be candidates in "
            "their row: mark only relevant items in `target`, or pass each=False",
            option="relevant",
        )
    gain = reached_gains(counts.user, counts.gain, queries.n, choices)
    if choices.ties.endswith("descending") and counts.before is not None:
        counts = replace(counts, before=counts.equal - counts.before)
    if choices.ties.startswith("text"):
        counts = replace(counts, before=None)
    ranked = replace(counts, gain=gain).only(queries.found)
    ideals = perfect_hits(counts.user, gain, queries.n, choices)
    hits, others, tied = to_hits(ranked, ideals, choices, queries.positive[queries.found])
    n_found, n_hits = ranked.user.size, hits.rank.size
    facts = Facts(hits.n_relevant, hits.n_ranked, tied, n_found, Refused(), Refused(), n_hits)
    return Aligned(hits, others, every, facts)


def refuse_unknown_candidates(plan: Plan, queries: Queries) -> None:
    """An error if a metric depends on the number of candidates, which was not given."""
    counts = queries.counts
    more = replace(queries, counts=replace(counts, n_ranked=2 * counts.n_ranked + 1))
    scores, other = score_queries(plan, queries), score_queries(plan, more)
    for entry in plan.metrics:
        if entry.spec.of_lists or entry.spec.named:
            raise scores.errors[entry.label]
        values, others = scores.values[entry.label], other.values[entry.label]
        if entry.label in scores.errors or not np.array_equal(values, others, equal_nan=True):
            raise UsageError(
                f"{entry.label} depends on the number of candidates: pass candidates=",
                option="candidates",
            )


def check_candidates(plan: Plan, systems: Iterable[object]) -> None:
    """An error if a metric needs the number of candidates, which one of the rankings lacks."""
    for rankings in systems:
        queries = rankings.counted() if isinstance(rankings, Kind) else None
        if queries is not None and not queries.sized:
            refuse_unknown_candidates(plan, queries)
