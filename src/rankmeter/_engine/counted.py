"""Values of queries whose counts are known already."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace

import numpy as np

from rankmeter._choices import Alignment
from rankmeter._engine.block import compute_scores
from rankmeter._engine.scores import UserValues, passed_size
from rankmeter._rankings.align import Aligned, Facts, to_hits
from rankmeter._rankings.ground_truth import (
    count_grades_without_gain,
    gains_by_choice,
    perfect_hits,
)
from rankmeter._rankings.pairs import Refused
from rankmeter._rankings.queries import Queries
from rankmeter._rankings.rules import count_known_candidates
from rankmeter._reading.by_user import Ids
from rankmeter.conventions._plan import Plan
from rankmeter.errors import UsageError
from rankmeter.metrics._registry import check_n_items


@dataclass(frozen=True, eq=False)
class CountedQueries:
    """Queries with known counts that implement `Data`.

    Attributes
    ----------
    queries : Queries
    ids : Ids or None
        The id of each query; numbers without.
    scored : pair of Plan and UserValues, optional
        Values that are known already, without ids.
    """

    queries: Queries
    ids: Ids | None = None
    scored: tuple[Plan, UserValues] | None = None

    def reopen(self) -> CountedQueries:
        """Return ``self``: no data have to be read again."""
        return self

    def select_user(self, user: object, system: str) -> CountedQueries:  # noqa: ARG002 - it has one
        number = user if self.ids is None else (self.ids.to_series() == user).arg_true()[0]
        row = np.array([number], dtype=np.int64)
        return replace(self, queries=self.queries.take(row), ids=None, scored=None)

    def run(self, plan: Plan) -> dict[str, UserValues]:
        """Compute the values under an empty system name; see `Data.run`."""
        if self.scored is not None and self.scored[0] is plan:
            return {"": replace(self.scored[1], ids=self.ids)}
        return {"": score_queries(plan, self.queries, self.ids)}


def score_queries(plan: Plan, queries: Queries, ids: Ids | None = None) -> UserValues:
    """Compute the values of every metric for counted queries, in the order of the queries.

    Raises
    ------
    UsageError
        If a choice needs the items that were ranked, which counts do not have.
    """
    in_truth = np.ones(queries.n, dtype=bool)
    judged = np.zeros(queries.n, dtype=bool)
    judged[queries.counts.user] = True
    aligned = functools.cache(functools.partial(align_queries, queries))
    scores = compute_scores(plan, aligned, in_truth, judged)
    errors = dict(scores.errors)
    for entry in plan.metrics:
        size = passed_size(plan, entry)
        if size is not None and entry.label not in errors:
            try:
                check_n_items(aligned(entry.alignment).hits, None, size)
            except UsageError as error:
                errors[entry.label] = error
    return replace(scores, ids=ids, errors=errors)


def align_queries(queries: Queries, choices: Alignment) -> Aligned:
    """The hits of counted queries in one alignment.

    Raises
    ------
    UsageError
        If the alignment needs the items that were ranked.
    """
    in_rankings = np.ones(queries.n, dtype=bool)
    if choices.scope == "appended" and not (queries.found.all() and choices.depth is None):
        raise UsageError(
            "scope='appended' needs lists of items, which scores are not", option="scope"
        )
    counts = queries.counts
    gain = gains_by_choice(counts.user, counts.gain, queries.n, choices)
    # What "reached" makes of a row depends on all its true items, and here each is a query.
    by_rule = counts.gain if choices.gains == "reached" else gain
    if queries.target is not None and not choices.is_relevant(by_rule).all():
        raise UsageError(
            f"true items that relevant={choices.relevant!r} leaves out would not be candidates in "
            "their row: mark only relevant items in `target`, or pass each=False",
            option="relevant",
        )
    if choices.ties.endswith("descending") and counts.before is not None:
        counts = replace(counts, before=counts.equal - counts.before)
    if choices.ties.startswith("text"):
        counts = replace(counts, before=None)
    ranked = replace(counts, gain=gain).only(queries.found)
    ideals = perfect_hits(counts.user, gain, queries.n, choices)
    ranked, positive, ideals, n_found, _, _ = count_known_candidates(
        ranked, queries.positive[queries.found], choices, ideals
    )
    hits, nonrelevant, tied = to_hits(ranked, ideals, choices, positive)
    n_hits = hits.rank.size
    tied |= count_grades_without_gain(counts.gain, choices)
    facts = Facts(hits.n_relevant, hits.n_ranked, tied, n_found, Refused(), Refused(), n_hits)
    return Aligned(hits, nonrelevant, in_rankings, facts)


def refuse_unknown_candidates(plan: Plan, queries: Queries) -> None:
    """Raise an error if a metric needs the number of candidates, which was not given."""
    counts = queries.counts
    enlarged = replace(queries, counts=replace(counts, n_ranked=2 * counts.n_ranked + 1))
    scores, other = score_queries(plan, queries), score_queries(plan, enlarged)
    for entry in plan.metrics:
        if entry.spec.of_lists or entry.spec.needs_hit_items:
            raise scores.errors[entry.label]
        error = scores.errors.get(entry.label)
        if isinstance(error, UsageError) and error.option == "n_items":
            raise error
        values, other_values = scores.values[entry.label], other.values[entry.label]
        if entry.label in scores.errors or not np.array_equal(values, other_values, equal_nan=True):
            raise UsageError(f"{entry.label} depends on {queries.remedy}", option="candidates")
