"""What an accumulator keeps of the queries that were counted: all of them, or sums of values."""

from __future__ import annotations

import operator
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from rankmeter._engine.counted import CountedQueries, score_queries
from rankmeter._engine.scores import UserValues
from rankmeter._evidence.hits import BoolArray, IntArray
from rankmeter._rankings.align import Facts
from rankmeter._rankings.pairs import Refused
from rankmeter._rankings.queries import Queries
from rankmeter._rankings.rank_counts import RankCounts
from rankmeter._reading.by_user import Ids, IdSeries, ordered_in_python, to_series
from rankmeter._reading.ids import to_ids as read_ids
from rankmeter._results.estimates import Estimate, interval_of_spread
from rankmeter._results.summary import Summary
from rankmeter._scores.array_files import row_ids
from rankmeter._scores.scored import (
    half_caution,
    query_ids,
    query_remark,
    summary_of,
)
from rankmeter._statistics.intervals import spread_of_moments
from rankmeter._statistics.sums import Sums
from rankmeter.conventions._plan import Plan
from rankmeter.errors import (
    DataError,
    DuplicateError,
    IdTypeError,
    UsageError,
)
from rankmeter.errors._caution import warn
from rankmeter.errors._checks import brief, counted

T = TypeVar("T")
AT_ONCE = 4096
"""Queries that are counted before ``moments`` makes values of them."""
FEW = 16
"""Ids are sorted anew where this many times the new ones are not fewer than those known."""
SINGLE = ("mean", "sum")
"""The aggregates that need no more than sums."""
REPEATED = "repeated rows cannot be recognized without users=: each is counted"
NOTHING = "nothing was counted: call update() with a batch first"
NO_VALUES = "keep='moments': values by user are unknown, and a repeated user is counted each time"


def join_parts(parts: list[T], concat: Callable[[list[T]], T]) -> T:
    """Concatenate parts, which the result replaces: those of earlier calls are joined already."""
    known = parts.copy()
    whole = concat(known)
    if len(known) > 1 and all(map(operator.is_, parts, known)):  # another thread may have done it
        parts[: len(known)] = [whole]
    return whole


class Growing:
    """Concatenates arrays as `concatenate`, but leaves space behind each result.

    Where the first array is the last result of the same name, only the others are copied. Earlier
    results stay as they are: nothing writes into an array that was returned.
    """

    def __init__(self) -> None:
        self._spaces: dict[object, tuple[npt.NDArray[Any], int]] = {}

    def __reduce__(self) -> tuple[type[Growing], tuple[()]]:
        return Growing, ()  # a copy leaves space of its own

    def __call__(self, name: object, arrays: Iterable[npt.NDArray[Any]]) -> npt.NDArray[Any]:
        first, *others = arrays
        n = len(first) + sum(map(len, others))
        space, last = self._spaces.get(name, (first, 0))
        if first.base is not space or len(first) != last or n > len(space):
            space = np.empty((n + n // 2, *first.shape[1:]), np.result_type(first, *others))
            space[: len(first)] = first
        self._spaces[name] = space, n
        if others:
            np.concatenate(others, out=space[len(first) : n])
        return space[:n]


@dataclass(frozen=True, eq=False)
class _Reordered(CountedQueries):
    """Queries that get the order of their ids only where it matters: no count or mean needs it."""

    order: IntArray = field(kw_only=True)

    def run(self, plan: Plan) -> dict[str, UserValues]:
        is_known = self.scored is not None and self.scored[0] is plan
        return super().run(plan) if is_known else self._in_order().run(plan)

    def select_user(self, user: object, system: str) -> CountedQueries:
        return self._in_order().select_user(user, system)

    def _in_order(self) -> CountedQueries:
        return CountedQueries(self.queries.take(self.order), self.ids)


class KeptQueries:
    """Counts of all queries, and the ids of their users: ``keep="values"``."""

    def __init__(self, plan: Plan, tolerance: tuple[float, float]) -> None:
        self.plan, self.tolerance = plan, tolerance
        self.queries: list[Queries] = []
        self.ids: list[pl.Series] = []
        self._join = Growing()
        self._sorted: _Sorted | None = None  # the first ids
        self._scored: tuple[Plan, Any, UserValues] | None = None  # of the first queries

    def add(self, queries: Queries, ids: list[pl.Series]) -> None:
        self._check_ids(ids)
        self.queries.append(queries)
        self.ids += ids

    def merge(self, other: KeptQueries) -> None:
        if other.queries:
            self._check_ids(other.ids)
        self.queries += other.queries
        self.ids += other.ids

    def _check_ids(self, ids: list[pl.Series]) -> None:
        """Refuse ids whose type cannot be compared with the ids of earlier queries."""
        if self.queries and bool(ids) != bool(self.ids):
            raise UsageError(
                "pass users= in every update or in none: repeated users cannot be recognized",
                option="users",
            )
        firsts = [next((part for part in series if len(part)), None) for series in (self.ids, ids)]
        first = {part.dtype == pl.String: part[0] for part in firsts if part is not None}
        if len(first) > 1:
            raise IdTypeError(
                f"The user ids of users= are integers such as {first[False]} in some updates and "
                f"strings such as {brief(first[True])} in others. 7 and '7' would be two different "
                "ids: convert all of them to integers or all to strings."
            )

    def _score(self, queries: Queries) -> UserValues:
        """The values of all queries: those of the last call, and those of new queries."""
        kind = (*_query_kind(queries), queries.sized)
        known = self._scored
        is_usable = known is not None and known[0] is self.plan and known[1] == kind
        if known is None or not is_usable or known[2].n_users > queries.n:
            scores = score_queries(self.plan, queries)
        elif known[2].n_users == queries.n:
            return known[2]
        else:
            new = score_queries(self.plan, queries.after(known[2].n_users))
            scores = UserValues.merge([known[2], new], self._join)
        self._scored = self.plan, kind, scores
        return scores

    def summary(self, *, reduced: bool) -> Summary:
        if not self.queries:
            raise DataError(NOTHING)
        queries = join_parts(self.queries, lambda parts: Queries.concat(parts, self._join))
        scores = self._score(queries)
        if not self.ids:
            counted_queries = CountedQueries(queries, None, (self.plan, scores))
            summary = summary_of(self.plan, counted_queries, tolerance=self.tolerance)
            return replace(summary, remarks=(*summary.remarks, REPEATED)) if reduced else summary
        users = join_parts(self.ids, _concat_ids)
        ordered = self._sorted = _Sorted.of(users, self._sorted)
        order, is_new = ordered.order, ordered.is_new
        if queries.target is not None:
            places = np.empty(queries.n, dtype=np.int64)
            places[order] = np.cumsum(is_new)
            order = np.lexsort([queries.target, places])
            key = queries.target[order]
            is_new = is_new | (np.diff(key, prepend=key[:1] - 1) != 0)
        first = np.flatnonzero(is_new)
        repeated = queries.n - first.size
        if repeated:
            self._refuse_different_values(scores.matrix[order], users, order, first)
            order = order[first]
        elif not np.array_equal(order, np.arange(queries.n)):
            scores = scores.reordered(order)
        if not repeated and queries.target is None:  # the users are different ones
            ids: Ids = IdSeries(ordered.ids)
            counted_queries = _Reordered(queries, ids, (self.plan, scores), order=order)
        else:
            queries = queries.take(order)
            ids = query_ids(queries, users.gather(to_series(order)))
            scored = None if repeated else (self.plan, scores)
            counted_queries = CountedQueries(queries, ids, scored)
        read = {"repeated_users_merged": repeated} if repeated else {}
        return summary_of(self.plan, counted_queries, read=read, tolerance=self.tolerance)

    def _refuse_different_values(
        self, matrix: npt.NDArray[Any], ids: pl.Series, order: Any, first: Any
    ) -> None:
        """Refuse repeated users with different values; the matrix is in the order of users."""
        leader = first[np.searchsorted(first, np.arange(len(matrix)), "right") - 1]
        is_equal = (matrix == matrix[leader]) | (np.isnan(matrix) & np.isnan(matrix[leader]))
        wrong = np.flatnonzero(~is_equal.all(axis=1))
        if wrong.size:
            raise DuplicateError(
                f"user {brief(ids[int(order[wrong[0]])])} came twice with different values; "
                f"{counted(wrong.size, 'such user')} in all. Give each row its own id, or reset() "
                "between evaluations"
            )

    def state(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        facts: dict[str, Any] = {}
        arrays: dict[str, npt.NDArray[Any]] = {}
        if self.queries:
            queries = join_parts(self.queries, Queries.concat)
            facts = {name: getattr(queries, name) for name in _FACTS}
            columns = {name: getattr(queries.counts, name) for name in _COUNTS}
            columns |= {name: getattr(queries, name) for name in _OWN}
            arrays = {name: array for name, array in columns.items() if array is not None}
        if self.ids:
            ids = join_parts(self.ids, _concat_ids)
            arrays["ids"] = ids.to_numpy() if ids.dtype != pl.String else np.array([*ids], str)
        return facts, arrays

    def restore(self, facts: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        if "above" in arrays:
            columns: dict[str, Any] = {name: arrays.get(name) for name in (*_COUNTS, *_OWN)}
            counts = RankCounts(**{name: columns.pop(name) for name in _COUNTS})
            self.queries = [Queries(counts, **columns, **{name: facts[name] for name in _FACTS})]
        if "ids" in arrays:
            self.ids = [row_ids(arrays["ids"], facts["arrays"]["ids"], Counter())]


class KeptSums:
    """Compensated sums of the values of queries: ``keep="moments"``."""

    def __init__(self, plan: Plan) -> None:
        for entry in plan.metrics:
            if entry.averaging.aggregate not in SINGLE or entry.averaging.undefined == "nan":
                raise UsageError(
                    f"{entry.label} is not a mean or sum of values, and keep='moments' has only "
                    "their sums: choose keep='values'",
                    option="keep",
                )
        if plan.uses_bootstrap:
            raise UsageError(
                f"interval={plan.interval!r} needs the values of all users: choose keep='values'",
                option="interval",
            )
        self.plan = plan
        self.sums = {entry.label: Sums() for entry in plan.metrics}
        self.counts: dict[str, int] = {}
        self.ends: dict[str, tuple[float, float]] = {}  # ranges that depend on the data
        self.half = ""  # the type of scores of few digits
        self.waiting: list[Queries] = []  # counted, but not yet added up

    def add(self, queries: Queries, _: list[pl.Series]) -> None:
        if self.waiting and _query_kind(self.waiting[0]) != _query_kind(queries):
            self._add_waiting_queries()
        self.waiting.append(queries)
        self.half = self.half or queries.half
        first = not self.counts  # so that a metric that cannot be had is known at once
        if first or sum(1 + part.n for part in self.waiting) >= AT_ONCE:
            self._add_waiting_queries()

    def _add_waiting_queries(self) -> None:
        """Add the values of the queries counted since the last call to the sums."""
        if not self.waiting:
            return
        queries = Queries.concat(self.waiting)
        scores = score_queries(self.plan, queries)
        averages = [(entry.label, scores.averaged(entry)) for entry in self.plan.metrics]
        self.waiting = []
        self._widen_ends(scores.ends)
        for label, averaged in averages:
            self.sums[label] += Sums.of(averaged.values)
            self._add_to_count(f"undefined {label}", averaged.undefined)
        counts = {**scores.counts, **queries.facts, "targets": int(queries.found.size)}
        for name, count in counts.items():
            self._add_to_count(name, count)

    def _add_to_count(self, name: str, count: int) -> None:
        before = self.counts.get(name, 0)
        self.counts[name] = max(before, count) if name == "columns" else before + count

    def _widen_ends(self, ends: Mapping[str, tuple[float, float]]) -> None:
        for label, (low, high) in ends.items():
            least, most = self.ends.get(label, (low, high))
            self.ends[label] = min(low, least), max(high, most)

    def merge(self, other: KeptSums) -> None:
        self._add_waiting_queries()
        other._add_waiting_queries()
        self._widen_ends(other.ends)
        self.half = self.half or other.half
        for label, sums in other.sums.items():
            self.sums[label] += sums
        for name, count in other.counts.items():
            self._add_to_count(name, count)

    def summary(self, *, reduced: bool) -> Summary:  # noqa: ARG002 - NO_VALUES says it
        self._add_waiting_queries()
        if not self.counts:
            raise DataError(NOTHING)
        estimates = {}
        for entry in self.plan.metrics:
            moments = self.sums[entry.label].moments
            times = moments.n if entry.averaging.aggregate == "sum" else 1
            scale = self.ends.get(entry.label, entry.range)
            low, high = interval_of_spread(spread_of_moments(moments), moments.n, self.plan, scale)
            undefined = self.counts.get(f"undefined {entry.label}", 0)
            estimates[entry.label] = Estimate(
                entry.label, times * moments.mean, times * low, times * high, moments.sd, moments.n,
                undefined, 0,
            )  # fmt: skip
        counts = {n: c for n, c in self.counts.items() if not n.startswith("undefined ")}
        tied, n = counts.get("tied_hits", 0), counts.pop("targets", 0)
        share = f"tied targets: {tied:,} of {n:,} ({100 * tied / n:.3g} %)" if tied else ""
        remarks = tuple(filter(None, (share, *query_remark(self.plan, counts), NO_VALUES)))
        cautions = tuple(half_caution(self.half, tied, n))
        warn(*cautions)
        return Summary(
            self.plan, _scores_without_users(self.plan, counts), counts, estimates,
            cautions=cautions, remarks=remarks,
        )  # fmt: skip

    def state(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        self._add_waiting_queries()
        moments = {label: [s.n, s.total, s.squares] for label, s in self.sums.items()}
        facts = {"counts": self.counts, "moments": moments, "half": self.half, "ends": self.ends}
        return facts, {}

    def restore(self, facts: Mapping[str, Any], _: Mapping[str, npt.NDArray[Any]]) -> None:
        self.counts, self.half = facts["counts"], facts["half"]
        self.ends = {label: (low, high) for label, (low, high) in facts["ends"].items()}
        for label in self.sums:
            n, total, squares = facts["moments"][label]
            self.sums[label] = Sums(n, tuple(total), tuple(squares))


def _scores_without_users(plan: Plan, counts: Mapping[str, int]) -> UserValues:
    """Values of no users, with the counts of all queries."""
    none, nobody = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=bool)
    ties = {name: counts.get(name, 0) for name in ("tied_hits", "users_with_tied_hits")}
    facts = Facts(none, none, ties, 0, Refused(), Refused())
    labels = tuple(entry.label for entry in plan.metrics)
    by_alignment: dict[Any, Facts] = {entry.alignment: facts for entry in plan.metrics}
    values = np.zeros((0, len(labels)))
    return UserValues(None, labels, values, nobody, nobody, nobody, by_alignment, {}, {})


def _concat_ids(ids: list[pl.Series]) -> pl.Series:
    """Concatenate the ids of all batches in one type."""
    full = [part for part in ids if len(part)] or ids[:1]
    if len({part.dtype for part in full}) > 1:  # Int64 and UInt64
        wide = pl.concat([part.cast(pl.Int128) for part in full])
        return read_ids(wide, "user", "users=", Counter())
    return pl.concat(full, rechunk=True)


def _places_in_order(ids: pl.Series) -> npt.NDArray[Any]:
    """Integers with the order and the equalities of the ids."""
    if ids.dtype != pl.String:
        return ids.to_numpy()
    if not ordered_in_python(len(ids)):
        return ids.rank("dense").to_numpy().astype(np.int64)
    place = {text: n for n, text in enumerate(sorted({*ids}))}
    return np.array([place[text] for text in ids], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class _Sorted:
    """Ids in ascending order, equal ones in the order in which they came."""

    ids: pl.Series
    order: IntArray  # the place of each id among those that came
    is_new: BoolArray  # whether it is another one than that before it

    @classmethod
    def of(cls, ids: pl.Series, known: _Sorted | None = None) -> _Sorted:
        """Sort ids, the first of which may be known; a few others are put among them."""
        n = 0 if known is None else known.order.size
        if known is None or ids.dtype != known.ids.dtype or not 0 <= FEW * (len(ids) - n) < n:
            places = _places_in_order(ids)
            order = np.argsort(places, kind="stable")
            is_new = np.ones(len(ids), dtype=bool)
            is_new[1:] = places[order[1:]] != places[order[:-1]]
            return cls(ids.gather(to_series(order)), order, is_new)
        if n == len(ids):
            return known
        new = cls.of(ids.slice(n))
        if ids.dtype == pl.String:
            after = np.array([bisect_right(known.ids, text) for text in new.ids])
        else:
            after = np.searchsorted(known.ids.to_numpy(), new.ids.to_numpy(), "right")
        before = known.ids.gather(to_series(np.maximum(after - 1, 0)))
        is_new = new.is_new & ((after == 0) | (before != new.ids).to_numpy())
        order = np.insert(known.order, after, new.order + n)
        return cls(ids.gather(to_series(order)), order, np.insert(known.is_new, after, is_new))


def _query_kind(queries: Queries) -> tuple[bool, bool]:
    """Key of the kind of queries; only queries of one kind can be concatenated without a loss."""
    return queries.counts.before is None, queries.target is None


_COUNTS = [field.name for field in fields(RankCounts)]
_OWN = ("found", "positive", "row", "target", "column")
_FACTS = ("facts", "half", "sized")
