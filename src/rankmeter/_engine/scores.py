"""Values by user and metric: their merge, and the checks over all of them."""

from __future__ import annotations

import functools
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from rankmeter._choices import Alignment
from rankmeter._evidence.hits import FloatArray
from rankmeter._rankings.align import Facts
from rankmeter._rankings.codes import distinct_ids
from rankmeter._rankings.parallel import Join, concatenate
from rankmeter._reading.by_user import Ids, IdSeries, ordered_in_python
from rankmeter._reading.table import Table
from rankmeter.conventions._plan import MetricPlan, Plan
from rankmeter.errors import (
    DataError,
    DuplicateError,
    InvalidValueError,
    NoOverlapError,
    RankmeterError,
    UsageError,
)
from rankmeter.errors._checks import (
    RETRIEVAL,
    brief,
    count_items,
    count_users,
    counted,
    words_in_use,
)
from rankmeter.metrics import State, Weighted

BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Averaged:
    """Values of one metric after its averaging choices."""

    values: FloatArray  # (n,) the values that are averaged, in order of the users
    users: npt.NDArray[np.int64]  # (n,) the users of these values: rows of `UserValues.users`
    undefined: int  # users for whom the metric was undefined, whatever they then counted as
    missing: int  # users with ground truth but no ranking, whatever they counted as
    state: State | None = None  # of a metric that is pooled
    ends: tuple[float, float] | None = None  # the range of values, where it depends on the data

    def scale(self, entry: MetricPlan) -> tuple[float, float]:
        """The lowest and the highest possible value of the metric."""
        return entry.range if self.ends is None else self.ends

    @property
    def has_user_values(self) -> bool:
        """Whether each user has a value; else `values` are parts of a number over all users."""
        return self.state is None or self.state.alone

    @property
    def parts(self) -> FloatArray:
        """Per-user values with the metric's number as their plain mean."""
        if self.state is None or not self.state.alone:
            return self.values
        return self.state.influence(self.values)

    def only(self, rows: npt.NDArray[np.int64]) -> Averaged:
        """Select users, given as ascending rows of `UserValues.users`."""
        if not self.users.size:
            return self
        positions: npt.NDArray[np.int64] = np.searchsorted(self.users, rows)
        selected = positions[self.users.take(positions, mode="clip") == rows]
        state = None if self.state is None else self.state.take(selected)
        values = _values(self.values[selected], state)
        return replace(self, values=values, users=self.users[selected], state=state)


def _values(values: FloatArray, state: State | None) -> FloatArray:
    """Values of the users, or their parts of a number computed over all lists."""
    return values if state is None or state.alone else state.influence()


@dataclass(frozen=True, eq=False, repr=False)
class UserValues:
    """One value per user and metric, before any averaging. Those of disjoint users merge."""

    ids: Ids | None  # of the users, ascending; None where the rows have no names
    labels: tuple[str, ...]  # of the metrics, one for each column
    matrix: FloatArray  # (n_users, n_metrics), NaN where a metric is undefined
    in_truth: BoolArray  # (n_users,) whether the ground truth names the user
    in_rankings: BoolArray  # whether the rankings do
    has_truth: BoolArray  # whether the ground truth judges any item of the user
    facts: Mapping[Alignment, Facts]  # once for all metrics of an alignment
    states: Mapping[str, State]  # by label, of the metrics that are pooled, or have weights
    errors: Mapping[str, RankmeterError]  # by label, why a metric has no values on these data
    textual: bool = False  # whether the ids were read from text, so that "7" and 7 may be the same
    ends: Mapping[str, tuple[float, float]] = field(default_factory=dict)  # of adjusted metrics
    cautions: tuple[str, ...] = ()  # of rankings that are read where they are measured

    def __repr__(self) -> str:
        return f"Values of {', '.join(self.labels)} for {counted(self.n_users, 'user')}"

    @property
    def n_users(self) -> int:
        """Number of users (queries, triples)."""
        return len(self.matrix)

    @cached_property
    def users(self) -> pl.Series:
        """Ids of the users, or row numbers from 0 if users have no ids."""
        if self.ids is None:
            return pl.Series("user", np.arange(self.n_users))
        return self.ids.to_series().alias("user")

    @cached_property
    def values(self) -> dict[str, FloatArray]:
        """The values of all users by label of the metric."""
        return {label: self.matrix[:, i] for i, label in enumerate(self.labels)}

    @cached_property
    def counts(self) -> dict[str, int]:
        """Counts of merged, resolved or missing rows; the largest count over alignments."""
        counts: dict[str, int] = {}
        for facts in self.facts.values():
            without = int(np.count_nonzero(self.in_truth & (facts.n_relevant == 0)))
            for name, count in {**facts.counts, "users_without_relevant": without}.items():
                counts[name] = max(counts.get(name, 0), count)
        counts["users_in_truth"] = int(np.count_nonzero(self.in_truth))
        counts["users_in_rankings"] = int(np.count_nonzero(self.in_rankings))
        counts["users_in_both"] = int(np.count_nonzero(self.in_truth & self.in_rankings))
        return counts

    @classmethod
    def merge(cls, blocks: Iterable[UserValues], join: Join = concatenate) -> UserValues:
        """Merge the scores of blocks with disjoint users under one plan.

        Users without names are put one block after the other.

        Raises
        ------
        DataError
            If a user is in two blocks.
        UsageError
            If there is no block, or the blocks are of different metrics.
        """
        scores = list(blocks)
        if not scores:
            raise UsageError("no scores to merge: pass at least one block")
        if len(scores) == 1:
            return scores[0]
        first = scores[0]
        if any(p.labels != first.labels or p.facts.keys() != first.facts.keys() for p in scores):
            raise UsageError("only scores of one plan can be merged")
        ids: Ids | None = None
        order: npt.NDArray[np.int64] | None = None
        ids_of_blocks = [part.ids for part in scores if part.ids is not None]
        if len(ids_of_blocks) == len(scores):
            users = pl.concat([users.to_series() for users in ids_of_blocks])
            order = users.arg_sort().to_numpy().astype(np.int64)
            ids = IdSeries(users.sort())
            if users.n_unique() != len(users):
                raise DataError("a user is in two blocks: cut the data by user, not by row")
        elif ids_of_blocks:
            raise UsageError("blocks with and without names of users cannot be merged")

        def join_arrays(name: str) -> npt.NDArray[Any]:
            joined = join(name, [getattr(part, name) for part in scores])
            return joined if order is None else joined[order]

        def join_states(label: str) -> State:
            joined: State = functools.reduce(operator.add, (p.states[label] for p in scores))
            return joined if order is None else joined.take(order)

        errors = _worst_errors(scores)  # of these some blocks have a state
        return cls(
            ids,
            first.labels,
            join_arrays("matrix"),
            join_arrays("in_truth"),
            join_arrays("in_rankings"),
            join_arrays("has_truth"),
            {a: Facts.merge([p.facts[a] for p in scores], order, join, a) for a in first.facts},
            {label: join_states(label) for label in first.states.keys() - errors.keys()},
            errors,
            all(part.textual for part in scores),
            {
                label: (
                    min(part.ends[label][0] for part in scores),
                    max(part.ends[label][1] for part in scores),
                )
                for label in first.ends.keys() - errors.keys()
            },
        )

    def reordered(self, order: npt.NDArray[np.int64]) -> UserValues:
        """Bring the users, who have no ids yet, into another order."""
        return replace(
            self,
            matrix=self.matrix[order],
            in_truth=self.in_truth[order],
            in_rankings=self.in_rankings[order],
            has_truth=self.has_truth[order],
            facts={alignment: Facts.merge([f], order) for alignment, f in self.facts.items()},
            states={label: state.take(order) for label, state in self.states.items()},
        )

    def in_any_mean(self, plan: Plan) -> BoolArray:
        """A mask of the users averaged by at least one metric of the plan."""
        is_averaged = np.zeros(self.n_users, dtype=bool)
        for entry in plan.metrics:
            is_averaged[self.averaged(entry).users] = True
        return is_averaged

    def averaged(self, entry: MetricPlan) -> Averaged:
        """Apply the averaging choices of one metric of the plan.

        Raises
        ------
        DataError
            If a choice is ``raise`` and there is such a user.
        RankmeterError
            Any error of the metric on these data.
        """
        if entry.label in self.errors:
            raise self.errors[entry.label]
        choices = entry.averaging
        facts = self.facts[entry.alignment]
        values = self.values[entry.label]
        missing = self.in_truth & ~self.in_rankings
        extra = self.in_rankings & ~self.in_truth
        for name, mask, choice, reason in (
            ("missing", missing, choices.missing, "in the ground truth without a ranking"),
            ("extra", extra, choices.extra, "in the rankings without ground truth"),
        ):
            if choice == "raise" and mask.any():
                raise DataError(self._refusal(entry, name, mask, reason))
        averaged = self.in_rankings.copy() if choices.users == "ranked" else self.in_truth.copy()
        if choices.missing == "skip":
            averaged &= self.in_rankings
        if choices.empty_truth == "skip":
            averaged &= self.has_truth
        if choices.empty == "skip":
            averaged &= ~(self.in_rankings & (facts.n_ranked == 0))
        if choices.extra == "zero":
            averaged |= extra
            values = np.where(extra, 0.0, values)
        if choices.users == "relevant":
            averaged &= facts.n_relevant > 0
        if choices.users == "hit":
            averaged &= values > 0
        undefined = averaged & np.isnan(values)
        if choices.undefined == "raise" and undefined.any():
            reason = (
                "without a defined value (nothing relevant in their ground truth, or nothing found)"
            )
            raise DataError(self._refusal(entry, "undefined", undefined, reason))
        if choices.undefined == "skip":
            averaged &= ~undefined
        elif undefined.any():
            replacement = {"zero": 0.0, "one": 1.0, "nan": np.nan}[choices.undefined]
            values = np.where(undefined, replacement, values)
        rows = np.flatnonzero(averaged)
        state = self.states.get(entry.label) if entry.is_pooled else None
        if state is not None:
            state = state.take(rows)
        counts = int(np.count_nonzero(undefined)), int(np.count_nonzero(missing))
        ends = self.ends.get(entry.label)
        return Averaged(_values(values[rows], state), rows, *counts, state, ends)

    def effective_size(self, entry: MetricPlan) -> tuple[float, int] | None:
        """The effective and the actual number of weighted relevant items.

        None for a metric without weights.
        """
        state = self.states.get(entry.label)
        if not isinstance(state, Weighted):
            return None
        users = self.averaged(entry).users
        n = int(self.facts[entry.alignment].n_relevant[users].sum())
        return state.take(users).effective(pooled=entry.is_pooled), n

    def _refusal(self, entry: MetricPlan, name: str, mask: BoolArray, reason: str) -> str:
        examples = ", ".join(brief(user) for user in self.users.filter(mask).head(3))
        n = int(mask.sum())
        return f"{entry.label}: {count_users(n)} {reason}, for example {examples} ({name}='raise')"


def _worst_errors(blocks: Sequence[UserValues]) -> dict[str, RankmeterError]:
    """Errors by metric, each with the largest extent, for any division into blocks."""
    labels = dict.fromkeys(label for part in blocks for label in part.errors)
    return {
        label: max((part.errors[label] for part in blocks if label in part.errors), key=_extent)
        for label in labels
    }


def _extent(error: RankmeterError) -> float:
    extent = getattr(error, "extent", None)
    return -np.inf if extent is None else float(extent)


def check_whole(
    plan: Plan, scores: UserValues, truth: Table, rankings: Table, catalogue: int | None = None
) -> UserValues:
    """Add the errors that concern all users to `scores`.

    The messages name the tables, which are read again only if nothing matches at all, or to compare
    their items with a number of items that was passed. `catalogue` is that of the catalogue.
    """
    errors: dict[str, RankmeterError] = {}
    n_items = functools.cache(lambda: _count_different_items(truth, rankings))
    for entry in plan.metrics:
        facts = scores.facts[entry.alignment]
        error = _refusal(facts, truth, rankings)
        overlaps = entry.averaging.users != "ranked" or bool(scores.has_truth.any())
        if error is None and plan.no_overlap == "error" and overlaps:
            error = _no_overlap(scores, facts, entry.alignment, truth, rankings)
        error = error or size_error(plan, entry, catalogue, n_items)
        error = error or scores.errors.get(entry.label)
        if error is not None:
            errors[entry.label] = error
    return replace(scores, errors=errors) if errors or scores.errors else scores


def _count_different_items(truth: Table, rankings: Table) -> int:
    return len(distinct_ids([*truth.rows.all_ids("item"), *rankings.rows.all_ids("item")]))


def passed_size(plan: Plan, entry: MetricPlan) -> int | None:
    """The smallest number of items that was passed for a metric, if any."""
    option = dict(entry.metric.options).get("n_items")
    sizes = (plan.n_items, option, entry.candidates)
    return min((size for size in sizes if size), default=None)


def size_error(
    plan: Plan, entry: MetricPlan, catalogue: int | None, n_items: Callable[[], int]
) -> RankmeterError | None:
    """The error if a number of items was passed, and more are ranked or judged over all users."""
    size = passed_size(plan, entry)
    if size is not None and n_items() > size:
        what, more = f"n_items is {size:,}", ""
    elif catalogue is not None and "catalogue" in entry.spec.needs and n_items() > catalogue:
        what, more = f"the catalogue has {catalogue:,}", ", or the items themselves"
    else:
        return None
    return InvalidValueError(
        f"{n_items():,} different items are ranked or judged, but {what}: pass the number of all "
        f"items that could be ranked{more}"
    )


def _refusal(facts: Facts, truth: Table, rankings: Table) -> RankmeterError | None:
    if facts.contradictions.n:
        n, words = facts.contradictions.n, words_in_use()
        return DuplicateError(
            f"{counted(n, f'{words.item} has', f'{words.items} have')} contradicting "
            f"judgments ({truth.source}), for example {facts.contradictions}. Keep one of "
            "each, or choose judgements='max', 'last' or 'sum'"
        )
    if facts.repeated_items.n:
        chunks_hint = (
            ". If the rankings are of chunks, write the id of each chunk, and name its document "
            "with collapse="
            if rankings.origin.words == RETRIEVAL
            else ""
        )
        return DuplicateError(
            f"{count_items(facts.repeated_items.n, 'repeated')} in the rankings "
            f"({rankings.source}), for example {facts.repeated_items}. Remove them, or choose "
            "duplicates='best' (keep the best rank) or 'each' (count every occurrence). If a "
            f"filler id marks empty places, drop those rows{chunks_hint}"
        )
    return None


def _no_overlap(
    scores: UserValues, facts: Facts, choices: Alignment, truth: Table, rankings: Table
) -> RankmeterError | None:
    if not (scores.in_truth & scores.in_rankings).any():
        if not rankings.height and not len(rankings.empty_users):
            return None
        return NoOverlapError(_no_common_ids("user", rankings, truth))
    if facts.n_found or choices.pool == "judged" or not rankings.height or not truth.height:
        return None
    if not _have_common_items(rankings, truth):
        return NoOverlapError(_no_common_ids("item", rankings, truth))
    return None


def _have_common_items(rankings: Table, truth: Table) -> bool:
    ranked = rankings.rows.all_ids("item")
    if ordered_in_python(sum(map(len, ranked)) + truth.height):
        return not all({*truth.rows.items()}.isdisjoint(ids) for ids in ranked)
    judged = truth.frame["item"].unique().implode()
    return any(ids.to_series().is_in(judged).any() for ids in ranked)


def _no_common_ids(column: str, rankings: Table, truth: Table) -> str:
    def show(table: Table) -> str:
        ids = distinct_ids(table.rows.all_ids(column))
        first = ids.take(np.arange(min(3, len(ids)))).to_list()
        return f"{', '.join(map(brief, first))} ({ids.type})"

    mark = _chunk_mark(rankings, truth) if column == "item" else ""
    chunks = f" If these are chunks of documents, pass collapse='before:{mark}'." if mark else ""
    return (
        f"rankings and truth have no {column} in common: the rankings ({rankings.source}) have "
        f"{show(rankings)}, the truth ({truth.source}) has {show(truth)}.{chunks} "
        f"Check that both use the same ids and that the {column} columns are the right ones "
        "(columns=), or choose no_overlap='allow'"
    )


_FLOAT = re.compile(r"\d+\.0")  # an integer id that was a float, such as 7.0


def _chunk_mark(rankings: Table, truth: Table) -> str:
    """The separator of document and chunk number in ids such as ``doc#3``, else empty."""
    items = distinct_ids(rankings.rows.all_ids("item"))
    documents = {*truth.frame["item"].cast(pl.String).to_list()}
    if items.type != "String":
        return ""
    shown = items.take(np.arange(min(1000, len(items)))).to_list()
    first = [item for item in shown if not _FLOAT.fullmatch(item)]
    for mark in ("#", "::", ":", "/", "__", "_", "-", "."):
        if not documents.isdisjoint(item.rpartition(mark)[0] for item in first):
            return mark
    return ""
