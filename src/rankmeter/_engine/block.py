"""Some users: their ground truth and rankings, and what metrics make of them, also by chance."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import numpy.typing as npt

from rankmeter._choices import SHARED_RANKS, Alignment
from rankmeter._engine.scores import UserValues
from rankmeter._evidence.hits import FloatArray, Hits, IntArray, Span
from rankmeter._evidence.steps import note_formula, without_notes
from rankmeter._rankings.align import Aligned, Facts, align, relevant_items
from rankmeter._rankings.codes import Codes
from rankmeter._rankings.ground_truth import Judged, prepare_truth
from rankmeter._rankings.pairs import Refused
from rankmeter._rankings.ties import share_ranks
from rankmeter._reading.by_user import CHANGED
from rankmeter._reading.table import Table
from rankmeter.conventions._plan import MetricPlan, Plan
from rankmeter.errors import DataError, NotEnoughMemoryError, RankmeterError, UsageError
from rankmeter.metrics import Ratio, State
from rankmeter.metrics.long_tail import Border
from rankmeter.metrics.states import scale_above_chance

if TYPE_CHECKING:
    from rankmeter._engine.side_tables import SideTables
    from rankmeter._rankings.listing import Listing

ROUNDING = 1e-12
"""A smaller share of a value than this is nothing to gain."""


Evidence = Callable[[str, Alignment], Any]
"""Makes the evidence of a name that a metric of an alignment asks for."""


def refuse_list_evidence(name: str, choices: Alignment) -> NoReturn:
    """Raise the error for a list metric on scores or ranks, which have no lists."""
    raise UsageError("needs lists of items, which scores and ranks are not")


class Block:
    """Data of a subset of the users; the blocks of an evaluation are disjoint.

    `codes` are these users, if they are known. With `keep`, the hits of every alignment are kept
    for the next plan.
    """

    def __init__(
        self,
        truth: Table,
        systems: Mapping[str, Table],
        *,
        codes: Codes | None = None,
        side_tables: Callable[[], SideTables] | None = None,
        keep: bool = False,
    ) -> None:
        self.truth, self.systems, self.keep = truth, systems, keep
        self._side_tables = side_tables
        self._codes = codes or Codes.of_tables(truth, *systems.values())
        self.users = self._codes.users
        self._prepared: dict[tuple[Alignment, bool], Judged] = {}
        self._aligned: dict[tuple[Alignment, str, int | None, bool], Aligned] = {}
        self._evidence: dict[tuple[str, Alignment], Any] = {}

    @property
    def tables(self) -> SideTables | None:
        """Evidence about the items, made when it is asked for."""
        return None if self._side_tables is None else self._side_tables()

    def align_system(
        self, name: str, choices: Alignment, depth: int | None = 0, *, with_names: bool = False
    ) -> Aligned:
        """The hits of one system, and its items down to a rank; all items if `depth` is None.

        If `with_names`, each hit has its item.
        """
        key = choices, name, depth, with_names
        if key not in self._aligned:
            listing = self._listing(depth)
            truth = self.prepare_truth(choices, with_names=with_names)
            try:
                self._aligned[key] = align(self.systems[name], truth, listing)
            finally:
                if self.truth.rows.has_changed or self.systems[name].rows.has_changed:
                    raise DataError(CHANGED)
        return self._aligned[key]

    def _listing(self, depth: int | None) -> Listing | None:
        if depth == 0 or (tables := self.tables) is None:
            return None
        from rankmeter._rankings.listing import Listing

        return Listing(tables.items, depth)

    def prepare_truth(self, choices: Alignment, *, with_names: bool = False) -> Judged:
        """Return the ground truth prepared for one alignment, cached."""
        key = choices, with_names
        if key not in self._prepared:
            names = self.tables.items if with_names and self.tables else None
            self._prepared[key] = prepare_truth(self.truth, self._codes, choices, names)
        return self._prepared[key]

    def align(self, plan: Plan) -> None:
        """Compute and cache the hits that a plan needs."""
        for name in self.systems:
            for choices in plan.metrics_by_alignment():
                self._system_aligner(name, plan)(choices)

    def score(self, plan: Plan) -> dict[str, UserValues]:
        """Compute the values of every metric of a plan for each system."""
        scores = {name: self._score_system(name, plan) for name in self.systems}
        if not self.keep:
            self._prepared.clear()
            self._aligned.clear()
        return scores

    @functools.cached_property
    def _has_truth(self) -> npt.NDArray[np.bool_]:
        """A mask of the users that have judgments."""
        return self._codes.mask_users_in(self.truth.users)

    @functools.cached_property
    def _in_truth(self) -> npt.NDArray[np.bool_]:
        """A mask of the users named in the ground truth, with or without judgments."""
        return self._has_truth | self._codes.mask_users_in(self.truth.empty_users)

    def _system_aligner(self, name: str, plan: Plan) -> Callable[[Alignment], Aligned]:
        """Return a function from alignments of a plan to the hits of one system."""
        depths, with_names = plan.list_depths(), plan.alignments_with_hit_items()
        return lambda choices: self.align_system(
            name, choices, depths.get(choices, 0), with_names=choices in with_names
        )

    def _score_system(self, name: str, plan: Plan) -> UserValues:
        textual = self.truth.textual and all(table.textual for table in self.systems.values())
        aligned = self._system_aligner(name, plan)
        scores = compute_scores(plan, aligned, self._in_truth, self._has_truth, self.evidence)
        borders: dict[Alignment, set[Border]] = {alignment: set() for alignment in scores.facts}
        for entry in plan.metrics:
            if entry.label not in scores.errors:
                borders[entry.alignment] |= entry.borders
        facts = {
            alignment: self._add_item_counts(alignment, aligned, facts_of_hits, borders[alignment])
            for alignment, facts_of_hits in scores.facts.items()
        }
        return replace(scores, ids=self.users, textual=textual, facts=facts)

    def _add_item_counts(
        self,
        alignment: Alignment,
        aligned_by: Callable[[Alignment], Aligned],
        facts: Facts,
        borders: set[Border],
    ) -> Facts:
        """Add counts of special items, in the lists and among the judged items, to facts."""
        counts, aligned = dict(facts.counts), aligned_by(alignment)
        if aligned.lists is not None and self.tables is not None:
            counts |= self.tables.count_listed_items(aligned.lists, self._codes, borders)
            counts |= self.tables.count_judged_items(self.prepare_truth(alignment).items)
        if (item := aligned.hits.best.item) is not None and self.tables is not None:
            counts |= self.tables.count_relevant_items(item, borders)
        return replace(facts, counts=dict(sorted(counts.items())))

    def evidence(self, name: str, choices: Alignment) -> Any:
        """Return evidence from the side data by name, cached."""
        if self.tables is None or name == "lists":  # which hits alone do not have
            return refuse_list_evidence(name, choices)
        key = name, choices
        if key not in self._evidence:
            if name == "relevant":
                evidence: Any = relevant_items(self.prepare_truth(choices), self.tables.items)
            elif name == "intents":
                evidence = self.tables.intents(self._codes, choices)
            else:
                evidence = self.tables.evidence(name, self._codes, choices)
            self._evidence[key] = evidence
        return self._evidence[key]


def compute_scores(
    plan: Plan,
    aligned_by: Callable[[Alignment], Aligned],
    in_truth: npt.NDArray[np.bool_],
    has_truth: npt.NDArray[np.bool_],
    evidence: Evidence = refuse_list_evidence,
) -> UserValues:
    """Compute the values of every metric of a plan for users without ids."""
    values = np.full((in_truth.size, len(plan.metrics)), np.nan, order="F")
    facts: dict[Alignment, Facts] = {}
    states: dict[str, State] = {}
    errors: dict[str, RankmeterError] = {}
    ends: dict[str, tuple[float, float]] = {}
    for column, entry in enumerate(plan.metrics):
        aligned = aligned_by(entry.alignment)
        facts[entry.alignment] = aligned.facts
        try:
            if entry.candidates is not None:
                state, ends[entry.label] = adjust_for_chance(entry, aligned)
                values[:, column] = state.per_user(nothing=np.nan)
                if entry.averaging.aggregate == "micro":
                    states[entry.label] = state
                continue
            if entry.keeps_state and entry.spec.both is not None:
                values_and_state = call_metric(entry, aligned, entry.spec.both, evidence)
                values[:, column], states[entry.label] = values_and_state
            else:
                values[:, column] = call_metric(entry, aligned, entry.spec.function, evidence)
        except UsageError as error:
            errors[entry.label] = error
    labels = tuple(entry.label for entry in plan.metrics)
    in_rankings = aligned.in_rankings
    return UserValues(
        None, labels, values, in_truth, in_rankings, has_truth, facts, states, errors, ends=ends
    )


def call_metric(
    entry: MetricPlan,
    aligned: Aligned,
    function: Callable[..., Any],
    evidence: Evidence = refuse_list_evidence,
) -> Any:
    """Call a metric function with the evidence named by its parameters."""
    metric, spec = entry.metric, entry.spec
    if entry.needs_order:
        refuse_shared_ranks(entry, aligned)
    ranked = {"hits": aligned.hits, "nonrelevant": aligned.nonrelevant, "lists": aligned.lists}

    def find_argument(name: str) -> Any:
        try:
            return evidence(name, entry.alignment) if ranked.get(name) is None else ranked[name]
        except UsageError:
            if name in spec.spares:
                return None
            raise

    try:
        intents = evidence("intents", entry.alignment) if spec.intent_aware else None
        if intents is None:
            arguments = [find_argument(name) for name in spec.needs]
        else:
            lists_and_relevant = (find_argument("lists"), find_argument("relevant"))
            arguments = [*map(intents.of, lists_and_relevant), intents.categories]
        return function(*arguments, *([metric.k] if spec.cutoff else []), **dict(metric.options))
    except UsageError as error:
        text = str(error).removeprefix(f"{metric.name} ")
        if spec.intent_aware and error.option == "items":
            text += ", or judgments with a column `subtopic`"
        raise UsageError(
            f"{entry.label}: {text}", option=error.option, got=error.got, extent=error.extent
        ) from None


def refuse_shared_ranks(entry: MetricPlan, aligned: Aligned) -> None:
    """Refuse several judged items of a user at one rank, by the rules that let items share ranks.

    These are the relevant items, and the others where the metric compares both.
    """
    ranked = [aligned.hits]
    if "nonrelevant" in entry.spec.needs:
        ranked.append(aligned.nonrelevant)
    ties = entry.alignment.ties
    if ties in SHARED_RANKS and share_ranks(ranked):
        remedy = "expected" if entry.spec.open_ties else "item"
        kind = "relevant" if len(ranked) == 1 else "judged"
        raise UsageError(
            f"{entry.label} needs an order of tied items, and ties={ties!r} gives several {kind} "
            f"items of a user the same rank: choose ties={remedy!r}",
            option="ties",
        )


def random_and_perfect_values(
    entry: MetricPlan, perfect: Hits, n_nonrelevant: IntArray, n_items: int | IntArray
) -> tuple[FloatArray, FloatArray]:
    """Values of a random and of a perfect ranking of `n_items` candidates.

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


def _best_of_shorter_rankings(entry: MetricPlan, perfect: Hits, n_items: IntArray) -> FloatArray:
    """Best values of rankings of some of the candidates, which can exceed those of all.

    They leave out items of negative gain, those that are not relevant, all but the first, or all.
    """
    gaining, first = perfect.without_losses, perfect.where(perfect.rank == 1.0)
    empty = perfect.where(perfect.rank < 1.0)
    rankings = [
        replace(gaining, n_ranked=n_items),
        *(replace(r, n_ranked=np.diff(r.offsets)) for r in (perfect, gaining, first, empty)),
    ]
    metric, k = entry.metric, [entry.metric.k] if entry.spec.cutoff else []
    values = [
        entry.spec.function(replace(ranking, ideal=perfect), *k, **dict(metric.options))
        for ranking in rankings
    ]
    best = np.fmax if metric.spec.increasing else np.fmin
    result: FloatArray = best.reduce(values)
    return result


def adjust_for_chance(entry: MetricPlan, aligned: Aligned) -> tuple[Ratio, tuple[float, float]]:
    """Scale values from 0 (chance) to 1 (a perfect ranking of all candidates); and their range.

    If all rankings of a user have the same value, the range from chance to perfect is 0. A ranking
    of some candidates can be better than 1 by metrics that depend on the length of a ranking.
    """
    values = call_metric(entry, aligned, entry.spec.function)
    perfect, n_nonrelevant = aligned.hits.best, aligned.nonrelevant.n_relevant
    n_items = entry.candidates or aligned.hits.n_ranked
    n_ranked = np.maximum(perfect.n_relevant + n_nonrelevant, n_items)
    try:
        with without_notes():
            random, best = random_and_perfect_values(entry, perfect, n_nonrelevant, n_items)
            shorter = _best_of_shorter_rankings(entry, perfect, n_ranked)
    except UsageError as error:
        raise UsageError(f"{entry.label} has no value by chance: {error}") from None
    plain = entry.metric.spec
    low, high = entry.range_of(plain)
    worst = np.full(best.shape, low if plain.increasing else high)
    note_formula(random, "by_chance", by_chance=random)
    note_formula(best, "perfect", perfect=best)
    share, lowest, highest = (
        scale_above_chance(value, random, best, increasing=plain.increasing)
        for value in (values, worst, shorter)
    )
    differs = share.whole > ROUNDING * np.abs(best)  # not for NaN
    part, divisor = (np.where(differs, terms, 0.0) for terms in (share.part, share.whole))
    least = float((lowest.part[differs] / share.whole[differs]).min(initial=0.0))
    most = float(np.nanmax(highest.part[differs] / share.whole[differs], initial=1.0))
    open_end = not plain.reached and math.isinf(high if plain.increasing else low)
    if open_end or entry.alignment.duplicates == "each":
        most = math.inf
    return replace(share, part=part, whole=divisor), (least, most)


def random_and_perfect_scores(
    truth: Table, plan: Plan, n_items: int
) -> tuple[UserValues, UserValues]:
    """Values of a random and of a perfect ranking of `n_items` candidates, for all users.

    NaN for metrics that need more than hits, or that have no expectation over ties or over so many.
    """
    codes = Codes.of_tables(truth)
    has_truth = codes.mask_users_in(truth.users)
    in_truth = has_truth | codes.mask_users_in(truth.empty_users)
    tables = [np.full((codes.n, len(plan.metrics)), np.nan, order="F") for _ in range(2)]
    facts: dict[Alignment, Facts] = {}
    judged = {
        alignment: prepare_truth(truth, codes, alignment)
        for alignment in plan.metrics_by_alignment()
    }
    for column, entry in enumerate(plan.metrics):
        perfect = judged[entry.alignment].relevant
        n_nonrelevant = judged[entry.alignment].others.n_relevant
        n_ranked = np.maximum(perfect.n_relevant + n_nonrelevant, n_items)
        counts = Facts(perfect.n_relevant, n_ranked, {}, 0, Refused(), Refused())
        facts[entry.alignment] = counts
        if entry.spec.needs != ("hits",) or entry.candidates is not None:
            continue
        try:
            values_by_ranking = random_and_perfect_values(entry, perfect, n_nonrelevant, n_items)
        except (UsageError, NotEnoughMemoryError):
            continue
        for table, values in zip(tables, values_by_ranking, strict=True):
            table[:, column] = values
    labels = tuple(entry.label for entry in plan.metrics)
    random, best = (
        UserValues(codes.users, labels, table, in_truth, in_truth, has_truth, facts, {}, {})
        for table in tables
    )
    return random, best
