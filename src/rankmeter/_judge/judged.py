"""Evaluations and comparisons with the labels of people for some queries, of a judge for all."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from os import PathLike
from typing import Any

import numpy as np
import polars as pl

from rankmeter._engine.scores import Averaged, UserValues
from rankmeter._evaluation.by_user import Systems, compare_by_user
from rankmeter._evaluation.compare import compare_question, split_runs
from rankmeter._evaluation.evaluate import evaluate_question
from rankmeter._evaluation.question import Question
from rankmeter._evidence.hits import FloatArray, IntArray
from rankmeter._judge.corrected import Corrected, Sample, contrast, correct, cross_fitted_weights
from rankmeter._judge.results import JudgedComparison, JudgedSummary, Judgment, PeopleSummary
from rankmeter._rankings.kind import RankingKind
from rankmeter._reading.columns import resolve_roles
from rankmeter._reading.forms import read_columns
from rankmeter._reading.ids import to_ids
from rankmeter._reading.keyed import find_column
from rankmeter._reading.numbers import to_typed_series
from rankmeter._reading.table import format_few
from rankmeter._results.estimates import Estimate, clip_interval, interval_of_spread
from rankmeter._results.segments import Population
from rankmeter._results.settings import Settings, Values
from rankmeter._results.summary import Summary
from rankmeter._statistics.intervals import pseudo_unit_change, spread_of_mean, student_interval
from rankmeter.conventions._plan import MetricPlan, Plan
from rankmeter.errors import DataError, RankmeterWarning, UsageError
from rankmeter.errors._caution import warn
from rankmeter.errors._checks import brief, count_users, use_words, words_in_use

PROBABILITY = "probability"


def evaluate_judged(
    question: Question, rankings: object, judge: object, judged: object
) -> JudgedSummary:
    """Evaluate rankings by the labels of people, corrected by those of a judge.

    Raises
    ------
    UsageError
        If it is not declared how people's queries were chosen, or an option contradicts.
    DataError
        If the judge lacks queries of people, or people's labels leave a query without a value.
    """
    chosen = _chosen(question, {"": rankings}, judge, judged)
    people = evaluate_question(question, rankings)
    _refuse_plan(people.plan)
    with use_words(people.plan.words):
        by_judge, cautions = _of_judge(question, {"": rankings}, judge, people.cautions)
        results, estimates = dict[tuple[str, str], Judgment](), dict[str, Estimate]()
        for entry in people.plan.metrics:
            study = Study.of(entry, [people.scores], [by_judge[""].scores], chosen)
            weights = study.fit([0], None)
            e = people.estimates[entry.label]
            results[entry.label, ""] = found = study.judgment(people.plan, e, 0, weights)
            estimates[entry.label] = found.corrected
    own = _fields(people) | _FORGOTTEN | {"estimates": estimates}
    own["cautions"] = (*people.cautions, *cautions)
    return JudgedSummary(**own, judgments=results, sampling=chosen.text)


_FORGOTTEN: dict[str, Any] = {"source": None, "random": {}, "perfect": {}}
"""What a result does not have: rankings to read again, by people's labels alone, and its bounds."""


def _fields(instance: Any) -> dict[str, Any]:
    return {f.name: getattr(instance, f.name) for f in fields(instance)}


def compare_judged(
    question: Question,
    systems: Mapping[str, object],
    settings: Settings,
    judge: object,
    judged: object,
) -> JudgedComparison:
    """Compare systems by the labels of people, corrected by those of a judge.

    The weight of the judge is the same for all systems, so that differences are those of the means:
    the one with the least variance of the differences.

    Raises
    ------
    UsageError, DataError
        As `evaluate_judged`; if a system has several runs, or with segments.
    """
    chosen = _chosen(question, systems, judge, judged, settings)
    people = compare_question(question, systems, settings)
    _refuse_plan(people.plan)
    names, plan = people.systems, people.plan
    by_name = {str(name): data for name, data in systems.items()}
    with use_words(plan.words):
        by_judge, cautions = _of_judge(question, by_name, judge, people.cautions)
        by_people = [people.summaries[name].scores for name in names]
        reference = names.index(people.baseline) if people.baseline else 0
        pairs = [*itertools.combinations(range(len(names)), 2)]
        if people.baseline:
            pairs = [(i, reference) for i in range(len(names)) if i != reference]
        judgments: dict[tuple[str, str], Judgment] = {}
        worth, values = dict[str, float](), list[Values]()
        for entry in plan.metrics:
            label, own = entry.label, people.by_metric[entry.label]
            study = Study.of(entry, by_people, [by_judge[n].scores for n in names], chosen)
            weights = study.fit([i for i, _ in pairs], [j for _, j in pairs])
            rows = study.rows(weights, reference)
            found = [
                study.judgment(plan, people.estimates[label, name], s, weights)
                for s, name in enumerate(names)
            ]
            judgments |= {(label, n): one for n, one in zip(names, found, strict=True)}
            worth[label] = min(study.worth_of_pair(rows, i, j) for i, j in pairs)
            columns = [Averaged(column, study.users, 0, 0) for column in rows.T]
            changed = {"averaged": columns, "corrected": [one.corrected for one in found]}
            values.append(_JudgedValues(**_fields(own) | changed))
        summaries = {
            name: PeopleSummary(**_fields(s) | _FORGOTTEN) for name, s in people.summaries.items()
        }
        settings = replace(settings, margin=_margins(people.plan, settings))
        population = Population(people.users, by_people[0].textual)
        result = compare_by_user(
            JudgedComparison, plan, settings,
            Systems(names, values, population, lambda _: summaries),
            facts={"runs": None}, kind=people.kind, holes=cautions,
            judgments=judgments, worth=worth, sampling=chosen.text,
        )  # fmt: skip
    differences = tuple(
        replace(d, wins=own.wins, ties=own.ties, losses=own.losses, d_z=own.d_z)
        for d, own in zip(result.differences, people.differences, strict=True)
    )
    return replace(result, by_metric=people.by_metric, differences=differences)


def _margins(plan: Plan, settings: Settings) -> Any:
    """The margins by label of the metric."""
    if not isinstance(settings.margin, Mapping):
        return settings.margin
    return {plan[name].label: size for name, size in settings.margin.items()}


@dataclass(frozen=True, eq=False)
class _JudgedValues(Values):
    """Corrected values of queries, whose means have estimates already."""

    corrected: Sequence[Estimate] = ()

    def estimates(self, *_: object) -> list[Estimate]:
        """The estimates of all queries; there are no segments."""
        return [*self.corrected]


# ---------------------------------------------------------------------------------------------
# How people's queries were chosen, and what is refused


@dataclass(frozen=True, eq=False)
class _Chosen:
    """How people's queries were chosen: the probability of each, or None if all are equal."""

    probability: pl.DataFrame | None
    text: str

    def inverse(self, users: pl.Series) -> FloatArray | None:
        """1 / probability of each of some users, 1 on average."""
        if self.probability is None:
            return None
        own = self.probability.with_columns(pl.col("user").cast(pl.String))
        frame = users.cast(pl.String).to_frame("user")
        found = frame.join(own, on="user", how="left", maintain_order="left")[PROBABILITY]
        if found.null_count():
            raise DataError(
                f"{count_users(found.null_count())} of the truth have no {PROBABILITY}, for "
                f"example {format_few(users.filter(found.is_null()))}: give each the probability "
                "with which it was chosen"
            )
        inverse: FloatArray = 1.0 / found.to_numpy()
        return None if np.ptp(inverse) == 0.0 else inverse / inverse.mean()


def _chosen(
    question: Question,
    systems: Mapping[str, object],
    judge: object,
    judged: object,
    settings: Settings | None = None,
) -> _Chosen:
    """How people's queries were chosen, as declared; refuse all that contradicts a judge."""
    if judge is None:
        raise UsageError(
            "judged= says how the queries were chosen that people judged, next to the labels of a "
            "judge for all queries: pass these as judge=, too, or leave judged= out",
            option="judged",
        )
    if question.truth is None:
        raise UsageError(
            "judge= corrects the labels of people: pass these as truth", option="truth"
        )
    if question.clusters is not None or (settings is not None and settings.clusters is not None):
        raise _refusal("clusters=", "its correction takes queries as independent", "clusters")
    if settings is not None and settings.segments is not None:
        raise _refusal("segments=", "it is corrected over all queries together", "segments")
    if settings is not None and settings.test == "wilcoxon":
        raise _refusal("test='wilcoxon'", "it does not test means", "test")
    for name, data in systems.items():
        if isinstance(data, RankingKind):
            raise _refusal(type(data).__name__, "their labels are in them", "judge")
        columns = question.columns if isinstance(question.columns, Mapping) else None
        if settings is not None and len(split_runs(data, columns)) > 1:
            raise _refusal(f"several runs ({name})", "runs and judge both vary", "judge")
    given = _probabilities(question)
    if judged not in (None, "random", PROBABILITY):
        raise UsageError(
            f"judged must be 'random' or '{PROBABILITY}', got {brief(judged)}", option="judged"
        )
    if judged == "random" and given is not None and given[PROBABILITY].n_unique() > 1:
        raise UsageError(
            f"judged='random' says that all queries were as likely to be chosen, and the column "
            f"{PROBABILITY} of the truth that they were not: leave judged= out, or drop the column",
            option="judged",
        )
    if judged == "random":
        return _Chosen(None, "a random sample")
    if given is not None:
        return _Chosen(given, f"a sample with known probabilities (column {PROBABILITY})")
    if judged == PROBABILITY:
        raise UsageError(
            f"judged='{PROBABILITY}': the truth has no column {PROBABILITY}, how likely each of "
            "its queries was to be chosen",
            option="judged",
        )
    raise UsageError(
        "judge= needs to know how the queries were chosen that people judged: pass "
        "judged='random' if they are a random sample of those that the judge judged, or give the "
        f"truth a column {PROBABILITY}, how likely each query was to be chosen. With queries that "
        "were picked, such as the hard ones, the corrected mean is wrong, and no interval shows it",
        option="judged",
    )


def _refusal(what: str, reason: str, option: str) -> UsageError:
    return UsageError(f"judge= and {what} cannot be combined: {reason}", option=option)


def _probabilities(question: Question) -> pl.DataFrame | None:
    """Users and their probability, of a column of the truth; None without such a column."""
    truth, columns = question.truth, question.columns
    if not (isinstance(truth, str | PathLike) or hasattr(truth, "columns")):
        return None
    if isinstance(columns, Mapping) and isinstance(columns.get("truth"), Mapping):
        columns = columns["truth"]
    read = read_columns(truth, "truth", columns)
    name = find_column(read, PROBABILITY, (PROBABILITY,))
    if not name:
        return None
    user = resolve_roles(read, "truth", columns)["user"]
    found = read.fetch([user, name])
    users = to_ids(found[user], "user", read.source, untyped=read.untyped)
    numbers = to_typed_series(found[name], PROBABILITY).cast(pl.Float64, strict=False)
    frame = pl.DataFrame({"user": users, PROBABILITY: numbers}).unique()
    outside = ~frame[PROBABILITY].is_between(0.0, 1.0, closed="right").fill_null(value=False)
    if outside.any():
        raise DataError(
            f"the column {name} of {read.source} must be above 0 and at most 1, got "
            f"{format_few(frame[PROBABILITY].filter(outside))}"
        )
    if (twice := frame["user"].is_duplicated()).any():
        raise DataError(
            f"{read.source} has several probabilities of one query, for example of "
            f"{format_few(frame['user'].filter(twice).unique())}: a query has one"
        )
    return frame


def _of_judge(
    question: Question, systems: Mapping[str, object], judge: object, known: Sequence[str]
) -> tuple[dict[str, Summary], tuple[str, ...]]:
    """The evaluation of each system by the judge, and what there is to doubt in its labels only."""
    asked = replace(question, truth=judge)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankmeterWarning)
        found = {name: evaluate_question(asked, data) for name, data in systems.items()}
    cautions = dict.fromkeys(c for s in found.values() for c in s.cautions if c not in known)
    warn(*cautions)
    return found, (*cautions,)


def _refuse_plan(plan: Plan) -> None:
    """Refuse bounds and bootstrap intervals."""
    plan.refuse_bounds("a mean that a judge corrects")
    if plan.uses_bootstrap:
        raise _refusal("interval='bca'", "its intervals use the standard error", "interval")


def _refuse_entry(entry: MetricPlan) -> None:
    """Refuse metrics and choices for which the mean is not that of values of all queries."""
    averaging = entry.averaging
    if averaging.aggregate != "mean" or entry.is_pooled or entry.spec.whole:
        reason = f"{entry.label} is not a mean over {words_in_use().users}"
    elif averaging.users in ("relevant", "hit"):
        reason = f"users={averaging.users} leaves out some by their labels"
    elif averaging.extra == "zero":
        reason = "extra=zero counts those that people did not judge as 0"
    else:
        return
    raise UsageError(f"judge= cannot correct {entry.label}: {reason}", option="judge")


# ---------------------------------------------------------------------------------------------
# Values of one metric


@dataclass(frozen=True, eq=False)
class Study:
    """Values of one metric, of shape (queries, systems): of people, and of the judge.

    `others` are the judge's values of the queries that only it judged; `users` are the rows of
    people's queries in their scores.
    """

    people: FloatArray
    judge: FloatArray
    others: FloatArray
    users: IntArray
    sample: Sample
    scale: tuple[float, float]

    @classmethod
    def of(
        cls,
        entry: MetricPlan,
        by_people: Sequence[UserValues],
        by_judge: Sequence[UserValues],
        chosen: _Chosen,
    ) -> Study:
        """Put the values of people and of the judge side by side, query by query."""
        _refuse_entry(entry)
        users, sampled = words_in_use().users, by_people[0].users.filter(by_people[0].in_truth)
        counted = replace(entry.averaging, undefined="zero", empty_truth="score")
        people = _joined(by_people, entry)
        judge = _joined(by_judge, replace(entry, averaging=counted))
        labelled = by_judge[0].users.filter(by_judge[0].in_truth).cast(pl.String)
        lacking = sampled.filter(~sampled.cast(pl.String).is_in(labelled.implode()))
        if len(lacking):
            raise DataError(
                f"{len(lacking):,} of the {len(sampled):,} {users} that people judged have no "
                f"label of the judge, for example {format_few(lacking)}: judge= needs its labels "
                f"for all {users}, also for those of people"
            )
        known = people["key"].implode()
        expected = judge.filter(pl.col("key").is_in(sampled.cast(pl.String).implode()))
        left_out = expected.filter(~pl.col("key").is_in(known))["key"]
        if len(left_out):
            raise DataError(
                f"{entry.label} has no value for {len(left_out):,} of the {len(sampled):,} {users} "
                f"that people judged, for example {format_few(left_out)}, most often because they "
                "found nothing relevant: which of the others have none, the judge cannot say. "
                "Choose undefined='zero', or a metric that is defined without relevant items"
            )
        both = people.join(judge, on="key", how="inner", suffix="_judge", maintain_order="left")
        others = judge.filter(~pl.col("key").is_in(both["key"].implode()))
        if len(both) < 2 or not len(others):
            raise DataError(
                f"judge= needs at least 2 {users} that people judged, and others that only the "
                f"judge judged, got {len(both):,} and {len(others):,}: with labels of people for "
                "all, leave judge= out"
            )
        columns = [f"{n}" for n in range(len(by_people))]
        sample = Sample(len(both), len(both) + len(others), chosen.inverse(both["key"]))
        return cls(
            both.select(columns).to_numpy(),
            both.select([f"{name}_judge" for name in columns]).to_numpy(),
            others.select(columns).to_numpy(),
            both["row"].to_numpy().astype(np.int64),
            sample,
            by_people[0].averaged(entry).scale(entry),
        )

    @property
    def span(self) -> float:
        """Largest possible difference of two values: by the metric, else the observed range."""
        span = self.scale[1] - self.scale[0]
        every = [self.people, self.judge, self.others]
        return span if math.isfinite(span) else float(np.ptp(np.concatenate(every)))

    def fit(self, systems: Sequence[int], others: Sequence[int] | None) -> FloatArray:
        """The weight of the judge for each query, the best for systems or for their differences."""
        people, judge, rest = (
            t[:, systems] if others is None else t[:, systems] - t[:, others]
            for t in (self.people, self.judge, self.others)
        )
        return cross_fitted_weights(people, judge, np.concatenate([judge, rest]), self.sample)

    def system(self, s: int, weights: FloatArray) -> Corrected:
        """The corrected values of one system."""
        columns = self.people[:, s], self.judge[:, s], self.others[:, s]
        return correct(*columns, self.sample, weights)

    def pair(self, a: int, b: int, weights: FloatArray) -> Corrected:
        """The corrected differences of two systems."""
        tables = self.people, self.judge, self.others
        x, y, z = (t[:, a] - t[:, b] for t in tables)
        return correct(x, y, z, self.sample, weights)

    def rows(self, weights: FloatArray, reference: int) -> FloatArray:
        """The corrected values of all systems, with the errors that the sample may have missed.

        An error of each difference from a `reference` is spread over its queries; no mean changes.
        """
        columns = []
        for s in range(self.people.shape[1]):
            values = self.system(s, weights).rows
            missed = self.pair(s, reference, weights).missed_error(self.span)
            columns.append(values + missed * contrast(values.size, s) if missed else values)
        return np.stack(columns, axis=1)

    def without_judge(self, x: FloatArray) -> Corrected:
        """Values of people alone, or errors of the judge, weighted."""
        return correct(x, x, x[:0], self.sample, np.zeros(x.size))

    def worth(self, found: Corrected) -> float:
        """How many queries judged by people alone would give the same standard error."""
        alone, own = self.without_judge(found.people).spread.se, found.steady_spread(self.span).se
        return self.sample.n * (alone / own) ** 2 if own else float(self.sample.n)

    def worth_of_pair(self, rows: FloatArray, a: int, b: int) -> float:
        """The same of a difference, of which rare changes widen the interval."""
        alone, own = (
            spread_of_mean(x).with_pseudo_unit(pseudo_unit_change(x, self.span)).se
            for x in (table[:, a] - table[:, b] for table in (self.people, rows))
        )
        return self.sample.n * (alone / own) ** 2 if own else float(self.sample.n)

    def judgment(self, plan: Plan, e: Estimate, s: int, weights: FloatArray) -> Judgment:
        """The corrected mean of a system, next to those of people and of the judge alone."""
        found, n = self.system(s, weights), self.sample.n
        errors = self.judge[:, s] - self.people[:, s]
        bias = self.without_judge(errors).spread
        shown = bias.with_pseudo_unit(pseudo_unit_change(errors, self.span))
        low, high = student_interval(shown, plan.confidence)
        width = self.scale[1] - self.scale[0]
        every = np.concatenate([self.judge[:, s], self.others[:, s]])
        return Judgment(
            self._estimate(plan, e, found),
            self._estimate(plan, e, self.without_judge(self.people[:, s])),
            float(every.mean()),
            bias.mean,
            *clip_interval((-width, width), bias.mean, low, high),
            found.weight,
            self.worth(found),
            n,
            self.sample.n_all,
        )

    def _estimate(self, plan: Plan, e: Estimate, found: Corrected) -> Estimate:
        """The estimate of people with another mean and interval."""
        spread = found.steady_spread(self.span)
        low, high = self.scale
        spread = spread._replace(mean=min(max(spread.mean, low), high))
        ends = interval_of_spread(spread, self.sample.n, plan, self.scale)
        return replace(e, mean=spread.mean, low=ends[0], high=ends[1])


def _joined(scores: Sequence[UserValues], entry: MetricPlan) -> pl.DataFrame:
    """The averaged values of all systems by query: row, its id as text, 0, 1 and so on."""
    table: pl.DataFrame | None = None
    for n, own in enumerate(scores):
        averaged = own.averaged(entry)
        frame = pl.DataFrame(
            {
                "key": own.users.gather(averaged.users).cast(pl.String),
                f"{n}": averaged.values,
                **({"row": averaged.users} if table is None else {}),
            }
        )
        table = (
            frame
            if table is None
            else table.join(frame, on="key", how="inner", maintain_order="left")
        )
    return pl.DataFrame() if table is None else table
