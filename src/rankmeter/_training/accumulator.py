"""Evaluate batch by batch: in a training loop, in several processes, in constant memory."""

from __future__ import annotations

import copy
import io
import json
import operator
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt
import polars as pl

from rankmeter._choices import takes_choices_of
from rankmeter._engine.counted import CountedQueries, refuse_unknown_candidates, score_queries
from rankmeter._engine.scores import Scores, passed_size, size_error
from rankmeter._evaluation.batches import Keep
from rankmeter._evidence.hits import BoolArray, IntArray
from rankmeter._rankings.align import Facts
from rankmeter._rankings.kind import resolve_plan_of_data
from rankmeter._rankings.pairs import Refused
from rankmeter._rankings.queries import Queries
from rankmeter._rankings.rank_counts import RankCounts
from rankmeter._reading.by_user import Ids, IdSeries, ordered_in_python, to_series
from rankmeter._reading.frames import is_sparse
from rankmeter._reading.ids import to_ids as read_ids
from rankmeter._results.estimates import Estimate, interval_of_spread
from rankmeter._results.summary import Summary
from rankmeter._scores.array_files import row_ids
from rankmeter._scores.arrays import asarray, to_numpy, type_name
from rankmeter._scores.cells import can_hold_several
from rankmeter._scores.known_ranks import count_lists, count_samples, read_ranks
from rankmeter._scores.labels import align_all, read_labels
from rankmeter._scores.scored import (
    count_request,
    half_caution,
    query_ids,
    query_remark,
    summary_of,
    users_from_option,
)
from rankmeter._scores.scores import CountRequest, count_scores
from rankmeter._statistics.intervals import spread_of_moments
from rankmeter._statistics.vectors import Sums
from rankmeter.conventions._plan import Plan
from rankmeter.errors import (
    DataError,
    DuplicateError,
    IdTypeError,
    MissingDependencyError,
    RankmeterError,
    UsageError,
)
from rankmeter.errors._caution import warn
from rankmeter.errors._checks import brief, check_choice, check_flag, counted
from rankmeter.metrics import Metric

T = TypeVar("T")
AT_ONCE = 4096
"""Queries that are counted before ``moments`` makes values of them."""
FEW = 16
"""Ids are sorted anew where this many times the new ones are not fewer than those known."""
SIZES = 2 ** np.arange(17)
"""Numbers of candidates with which a metric is tried: one of them is just below every cutoff."""
SINGLE = ("mean", "sum")
"""The aggregates that need no more than sums."""
REPEATED = "repeated rows cannot be recognized without users=: each is counted"
NOTHING = "nothing was counted: call update() with a batch first"
NO_VALUES = "keep='moments': values by user are unknown, and a repeated user is counted each time"


def _join(parts: list[T], concat: Callable[[list[T]], T]) -> T:
    """Concatenate parts, which the result replaces: those of earlier calls are joined already."""
    known = parts.copy()
    whole = concat(known)
    if len(known) > 1 and all(map(operator.is_, parts, known)):  # another thread may have done it
        parts[: len(known)] = [whole]
    return whole


class _Growing:
    """Concatenates arrays as `concatenate`, but leaves space behind each result.

    Where the first array is the last result of the same name, only the others are copied. Earlier
    results stay as they are: nothing writes into an array that was returned.
    """

    def __init__(self) -> None:
        self._spaces: dict[object, tuple[npt.NDArray[Any], int]] = {}

    def __reduce__(self) -> tuple[type[_Growing], tuple[()]]:
        return _Growing, ()  # a copy leaves space of its own

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

    def run(self, plan: Plan) -> dict[str, Scores]:
        is_known = self.scored is not None and self.scored[0] is plan
        return super().run(plan) if is_known else self._in_order().run(plan)

    def select_user(self, user: object, system: str) -> CountedQueries:
        return self._in_order().select_user(user, system)

    def _in_order(self) -> CountedQueries:
        return CountedQueries(self.queries.take(self.order), self.ids)


class _KeptQueries:
    """Counts of all queries, and the ids of their users: ``keep="values"``."""

    def __init__(self, plan: Plan, tolerance: tuple[float, float]) -> None:
        self.plan, self.tolerance = plan, tolerance
        self.queries: list[Queries] = []
        self.ids: list[pl.Series] = []
        self._join = _Growing()
        self._sorted: _Sorted | None = None  # the first ids
        self._scored: tuple[Plan, Any, Scores] | None = None  # of the first queries

    def add(self, queries: Queries, ids: list[pl.Series]) -> None:
        self._check_ids(ids)
        self.queries.append(queries)
        self.ids += ids

    def merge(self, other: _KeptQueries) -> None:
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

    def _score(self, queries: Queries) -> Scores:
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
            scores = Scores.merge([known[2], new], self._join)
        self._scored = self.plan, kind, scores
        return scores

    def summary(self, *, reduced: bool) -> Summary:
        if not self.queries:
            raise DataError(NOTHING)
        queries = _join(self.queries, lambda parts: Queries.concat(parts, self._join))
        scores = self._score(queries)
        if not self.ids:
            counted_queries = CountedQueries(queries, None, (self.plan, scores))
            summary = summary_of(self.plan, counted_queries, tolerance=self.tolerance)
            return replace(summary, remarks=(*summary.remarks, REPEATED)) if reduced else summary
        users = _join(self.ids, _concat_ids)
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
            queries = _join(self.queries, Queries.concat)
            facts = {name: getattr(queries, name) for name in _FACTS}
            columns = {name: getattr(queries.counts, name) for name in _COUNTS}
            columns |= {name: getattr(queries, name) for name in _OWN}
            arrays = {name: array for name, array in columns.items() if array is not None}
        if self.ids:
            ids = _join(self.ids, _concat_ids)
            arrays["ids"] = ids.to_numpy() if ids.dtype != pl.String else np.array([*ids], str)
        return facts, arrays

    def restore(self, facts: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        if "above" in arrays:
            columns: dict[str, Any] = {name: arrays.get(name) for name in (*_COUNTS, *_OWN)}
            counts = RankCounts(**{name: columns.pop(name) for name in _COUNTS})
            self.queries = [Queries(counts, **columns, **{name: facts[name] for name in _FACTS})]
        if "ids" in arrays:
            self.ids = [row_ids(arrays["ids"], facts["arrays"]["ids"], Counter())]


class _KeptSums:
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

    def merge(self, other: _KeptSums) -> None:
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


class Accumulator:
    """An evaluation in parts; `accumulator` makes one.

    Counts of ranks are kept (``keep="values"``), or compensated sums of the values
    (``keep="moments"``); never scores.
    """

    def __init__(
        self,
        metrics: str | Metric | Iterable[str | Metric],
        *,
        keep: Keep,
        like: str | None,
        choices: Mapping[str, Any],
        tolerance: tuple[float, float] | None = None,
    ) -> None:
        self.keep = cast("Keep", check_choice("keep", keep, Keep))
        self._plan = resolve_plan_of_data(metrics, like, choices, "batches")
        self._several: bool | None = None
        self._asked = count_request(self._plan, tolerance=tolerance, like=like)
        named_choices = {name: value for name, value in choices.items() if value is not None}
        names = [entry.label for entry in self._plan.metrics]
        self._settings = {
            "metrics": names, "keep": keep, "like": like, "choices": named_choices,
            "tolerance": None if tolerance is None else list(tolerance),
        }  # fmt: skip
        self._sizes_unused = False  # no metric needs the number of candidates: known once asked
        for entry in self._plan.metrics:
            if entry.spec.of_lists:
                raise UsageError(
                    f"{entry.label} needs the items that were shown, which an accumulator does not "
                    "keep: pass all lists to evaluate"
                )
        self.reset()

    def __repr__(self) -> str:
        names = ", ".join(entry.label for entry in self.plan.metrics)
        return f"Accumulator of {names} (keep={self.keep!r})"

    def reset(self) -> None:
        """Forget everything that was counted."""
        self._reduced = False
        self._several = None  # whether rows can have several true items: known with the first batch
        self._different: list[IntArray] = []  # the items in lists, if their number was passed
        plan, close = self._plan, self._asked.tolerance
        self._counted: Any = _KeptQueries(plan, close) if self.keep == "values" else _KeptSums(plan)

    @property
    def plan(self) -> Plan:
        """Every choice that was made; the first batch decides the tie rule if no option does."""
        plan: Plan = self._counted.plan
        return plan

    def _settle_tie_rule(self, *, several: bool) -> None:
        """Choose the tie rule of rows with one or several true items; refuse to mix them."""
        if self._several is None:
            self._several, self._counted.plan = several, self._plan_of_rows(several=several)
        elif several != self._several and self.plan != self._plan_of_rows(several=several):
            raise UsageError(
                "some batches have one true item for each row and others have lists of them, for "
                "which tied items are ranked in another way: pass the same form in every update, "
                "or ties= to accumulator",
                option="ties",
            )

    def _plan_of_rows(self, *, several: bool) -> Plan:
        if not several or self._plan.each:
            return self._plan
        given: dict[str, Any] = dict(self._settings)
        metrics, like, choices = given["metrics"], given["like"], given["choices"]
        return resolve_plan_of_data(metrics, like, choices, "batches", several=True)

    def update(
        self,
        *batch: Any,
        scores: Any = None,
        items: Any = None,
        positive: Any = None,
        negatives: Any = None,
        ranks: Any = None,
        target: Any = None,
        exclude: Any = None,
        candidates: Any = None,
        target_ids: bool = False,
        users: Any = None,
    ) -> None:
        """Count a batch of queries, in one of four forms.

        Parameters
        ----------
        *batch
            `scores` and `target` without their names, unless `scores` are integers, which could
            be `items`.
        scores : array of shape (n, n_items), optional
            With `target`, and optionally `exclude` and `candidates`: see
            `rankmeter.evaluate_scores`.
        items : array of shape (n, k), optional
            Ids of items, best first, padded with -1; with `target`.
        positive, negatives : arrays of shapes (n,) and (n, m) or (m,), optional
            Scores of positives and of their negatives.
        ranks : array of shape (n,), optional
            1-based ranks; with `candidates`, their number, if a metric depends on it.
        target, exclude, candidates, target_ids : optional
            As in `rankmeter.evaluate_scores`.
        users : array or list, optional
            An id for each row. A user that comes again, as a distributed sampler repeats rows to
            fill its last batch, is counted once.

        Raises
        ------
        UsageError
            If not exactly one form is given, or an argument does not belong to it.
        DataError
            As `rankmeter.evaluate_scores`.
        """
        if batch:
            scores, target = _scores_and_target(batch, scores, target)
        forms = {"scores": scores, "items": items, "positive": positive, "ranks": ranks}
        named_forms = [name for name, value in forms.items() if value is not None]
        if len(named_forms) != 1:
            names = " and ".join(named_forms) or "none of them"
            raise UsageError(f"update takes one of scores, items, positive, ranks; got {names}")
        allowed = {
            "scores": ("target", "exclude", "candidates", "target_ids"),
            "items": ("target", "target_ids"),
            "positive": ("negatives",),
            "ranks": ("candidates",),
        }[named_forms[0]]
        side_args = {
            "target": target, "exclude": exclude, "candidates": candidates, "negatives": negatives,
            "target_ids": target_ids or None,
        }  # fmt: skip
        for name, value in side_args.items():
            if value is not None and name not in allowed:
                raise UsageError(f"`{name}` does not belong to `{named_forms[0]}`", option=name)
        request = replace(self._asked, target_ids=check_flag("target_ids", target_ids))
        queries = self._count_batch(named_forms[0], forms[named_forms[0]], side_args, request)
        if items is None:  # lists have no ties
            self._settle_tie_rule(several=can_hold_several(side_args["target"]))
        ids: list[pl.Series] = []
        if users is not None:
            counts: Counter[str] = Counter()
            ids = [row_ids(users, queries.facts["rows"], counts).gather(queries.row)]
            queries = replace(queries, facts={**queries.facts, **counts})
        self._counted.add(queries, ids)
        if items is not None and any(passed_size(self.plan, e) for e in self.plan.metrics):
            listed = to_numpy(asarray(items, "items"))
            self._different += [listed[listed >= 0], cast("IntArray", queries.column)]
            if sum(part.size for part in self._different[1:]) > self._different[0].size + AT_ONCE:
                self._different_items()

    def _count_batch(
        self, form: str, data: Any, side_args: Mapping[str, Any], request: CountRequest
    ) -> Queries:
        if form in ("scores", "items"):
            sides = {name: side_args[name] for name in ("target", "exclude", "candidates")}
            labelled, sides = align_all(data, sides)
            data, target = labelled.values, sides.pop("target")
        if form == "scores":
            return count_scores(data, target, request, **sides)
        if form == "items":
            if target is None:
                raise UsageError("target is missing: pass the true items of each row")
            if labels := [entry.label for entry in self.plan.metrics if entry.candidates == 0]:
                raise UsageError(
                    f"{labels[0]} needs the number of candidates, which lists do not have: pass "
                    "n_items= to accumulator",
                    option="n_items",
                )
            return count_lists(data, target, each=self.plan.each)
        if form == "positive":
            if side_args["negatives"] is None:
                raise UsageError("negatives is missing: pass the scores of the negatives")
            return count_samples(data, side_args["negatives"], request)
        if side_args["candidates"] is None and not self._sizes_unused:
            tried = [read_ranks(np.full(SIZES.size, rank), None, rank * SIZES) for rank in (1, 2)]
            refuse_unknown_candidates(self.plan, Queries.concat(tried))
            self._sizes_unused = True
        return read_ranks(data, None, side_args["candidates"])

    def compute(self) -> Summary:
        """The result of all batches so far; it can be followed by further updates.

        Raises
        ------
        DuplicateError
            If a user came twice with different values.
        DataError
            If nothing was counted.
        """
        n_items = self._different_items()
        for entry in self.plan.metrics:
            if error := size_error(self.plan, entry, None, lambda: n_items):
                raise error
        summary: Summary = self._counted.summary(reduced=self._reduced)
        return summary

    def _different_items(self) -> int:
        """Number of different items in all lists; each of them is kept once."""
        if not self._different:
            return 0
        return _join(self._different, lambda parts: np.unique(np.concatenate(parts))).size

    # -- parts of one evaluation --------------------------------------------------------------

    def merge(self, other: Accumulator) -> Accumulator:
        """Add what another accumulator of the same settings has counted; returns itself.

        Raises
        ------
        UsageError
            If its metrics or options are different ones.
        """
        if not isinstance(other, Accumulator):
            raise UsageError(f"expected an accumulator to merge, got {brief(other)}")
        if self._settings != other._settings:
            raise UsageError("only accumulators with the same metrics and options can be merged")
        if other._several is not None:
            self._settle_tie_rule(several=other._several)
        self._counted.merge(other._counted)
        self._different += other._different
        return self

    def __add__(self, other: Accumulator) -> Accumulator:
        if not isinstance(other, Accumulator):
            return NotImplemented
        total = copy.copy(self)
        total.reset()
        return total.merge(self).merge(other)

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Everything counted so far as arrays, for `from_state`: no objects, no scores."""
        facts, arrays = self._counted.state()
        if self._different:
            arrays["items"] = np.unique(np.concatenate(self._different))
        facts |= {
            "settings": self._settings, "reduced": self._reduced, "several": self._several,
        }  # fmt: skip
        facts["arrays"] = {name: array.size for name, array in arrays.items()}
        text = json.dumps(facts).encode()
        return {"about": np.frombuffer(text, dtype=np.uint8).copy(), **arrays}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Accumulator:
        """An accumulator with what `state` gave.

        Parameters
        ----------
        state : mapping of str to array

        Raises
        ------
        UsageError
            If this is not such a state.
        DataError
            If it is damaged.
        """
        if not isinstance(state, Mapping) or "about" not in state:
            raise UsageError(
                "expected a state of an accumulator, a mapping with 'about' that state() made, got "
                f"{brief(state)}"
            )
        try:
            return cls._restore_state(state)
        except RankmeterError:
            raise
        except Exception as error:
            raise _damaged_state_error(error) from error

    @classmethod
    def _restore_state(cls, state: Mapping[str, Any]) -> Accumulator:
        facts = json.loads(bytes(np.asarray(state["about"], dtype=np.uint8)))
        arrays = {name: np.asarray(state[name]) for name in facts["arrays"]}
        for name, size in facts["arrays"].items():
            if arrays[name].shape != (size,):
                raise ValueError(f"{name} has shape {arrays[name].shape}, not ({size},)")
        settings = facts["settings"]
        restored = cls(**settings)
        restored._settings = settings
        restored._reduced = facts["reduced"]
        if facts["several"] is not None:
            restored._settle_tie_rule(several=facts["several"])
        restored._counted.restore(facts, arrays)
        restored._different = [arrays["items"]] if "items" in arrays else []
        return restored

    def to_bytes(self) -> bytes:
        """The state as the bytes of an ``.npz`` file."""
        file = io.BytesIO()
        np.savez(file, **cast("dict[str, Any]", self.state()))
        return file.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes) -> Accumulator:
        """An accumulator from `to_bytes`."""
        try:
            with np.load(io.BytesIO(data), allow_pickle=False) as file:
                state = dict(file)
        except Exception as error:
            raise _damaged_state_error(error) from error
        return cls.from_state(state)

    def all_reduce(self, group: Any = None) -> Accumulator:
        """Add what the other processes of ``torch.distributed`` have counted; returns itself.

        Every process must call it, also one that counted nothing. Outside of a process group it
        does nothing.

        Parameters
        ----------
        group : process group, optional

        Raises
        ------
        UsageError
            If it was called already since the last `reset`.
        """
        try:
            import torch.distributed as dist
        except ImportError:
            raise MissingDependencyError("all_reduce() needs PyTorch: pip install torch") from None
        if not (dist.is_available() and dist.is_initialized()):
            return self
        if self._reduced:
            raise UsageError("all_reduce() was called already: reset() comes before another round")
        states: list[Any] = [None] * dist.get_world_size(group)
        dist.all_gather_object(states, self.to_bytes(), group=group)
        self.reset()
        for part in states:
            self.merge(Accumulator.from_bytes(part))
        self._reduced = True
        return self


@takes_choices_of("batches")
def accumulator(
    metrics: str | Metric | Iterable[str | Metric],
    *,
    keep: Keep = "values",
    tolerance: tuple[float, float] | None = None,
    like: str | None = None,
    users: str | None = None,
    **choices: Any,
) -> Accumulator:
    """Start an evaluation that gets its data batch by batch.

    Parameters
    ----------
    metrics : str, Metric or iterable of them
        As in `rankmeter.evaluate`.
    keep : {"values", "moments"}
        ``values`` keeps a few integers for each query, so that the result has values by user and
        everything that `rankmeter.evaluate_scores` gives. ``moments`` keeps compensated sums in
        constant memory: means and their t intervals, equal to those of the values to 1e-12.
    tolerance : tuple of two floats, optional
        How close scores are tied, as in `rankmeter.evaluate_scores`.
    like : str, optional
        The tool whose conventions to follow.
    users : str, optional
        Users to average, an option of `rankmeter.evaluate`; ids of users belong to
        `Accumulator.update`.
    {choices}

    Returns
    -------
    Accumulator
        Call its ``update`` for each batch and ``compute`` at the end.

    Raises
    ------
    UsageError
        If a metric, an option or a value of an option does not exist, or an option cannot act on
        what `Accumulator.update` takes; with ``moments`` also if an aggregate or an interval needs
        the values.

    Notes
    -----
    Ties are ``expected`` by default where the targets of a row can be several, and ``realistic``
    where they are one, as in `rankmeter.evaluate_scores`; all batches must have one form. The
    result does not depend on the order of the batches. With ``moments`` means and
    standard deviations are those of the exact sums to 1e-12, whatever the order and the cut.

    Examples
    --------
    >>> import rankmeter as rm
    >>> acc = rm.accumulator(["mrr", "recall@1"])
    >>> acc.update(scores=[[0.9, 0.1, 0.5]], target=[2], users=["ann"])
    >>> acc.update(items=[[4, 7]], target=[[4, 6]], users=["bob"])
    >>> result = acc.compute()
    >>> result["mrr"].mean, result["recall@1"].mean
    (0.75, 0.25)
    """
    _, options = users_from_option(users, choices)
    return Accumulator(metrics, keep=keep, like=like, choices=options, tolerance=tolerance)


accumulator.from_state = Accumulator.from_state  # type: ignore[attr-defined]


def _scores_and_target(batch: tuple[Any, ...], scores: Any, target: Any) -> tuple[Any, Any]:
    """The arguments of `update` that were passed without names."""
    if len(batch) != 2 or scores is not None or target is not None:
        raise UsageError(
            "update takes scores and target without names, and nothing else: update(scores, "
            f"target); got {counted(len(batch), 'such argument')}"
        )
    values = read_labels(batch[0], "scores").values
    is_array = not (is_sparse(values) or callable(values) or isinstance(values, tuple))
    if is_array and "int" in type_name(asarray(values, "scores")):
        raise UsageError(
            "integers without a name may be scores or the ids of items: pass "
            "update(scores=..., target=...) or update(items=..., target=...)",
            option="items",
        )
    return batch


def _scores_without_users(plan: Plan, counts: Mapping[str, int]) -> Scores:
    """Scores without users, with the counts of all queries."""
    none, nobody = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=bool)
    ties = {name: counts.get(name, 0) for name in ("tied_hits", "users_with_tied_hits")}
    facts = Facts(none, none, ties, 0, Refused(), Refused())
    labels = tuple(entry.label for entry in plan.metrics)
    by_alignment: dict[Any, Facts] = {entry.alignment: facts for entry in plan.metrics}
    values = np.zeros((0, len(labels)))
    return Scores(None, labels, values, nobody, nobody, nobody, by_alignment, {}, {})


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


def _damaged_state_error(error: Exception) -> DataError:
    return DataError(
        f"the state of the accumulator is damaged ({type(error).__name__}: {error}): load an "
        "earlier one, or count the batches again"
    )
