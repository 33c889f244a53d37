"""Whether results answer the same question: equal metrics and options, equal users in the truth."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from rankmeter._checks import counted, shown
from rankmeter._choices import CHOICES, acting, show
from rankmeter._plan import MetricPlan, Plan
from rankmeter._results.result import Result
from rankmeter._results.summary import Summary
from rankmeter.conventions import translate_all
from rankmeter.errors import IdTypeError, UsageError
from rankmeter.metrics import Metric

REMEDY = "evaluate both with the same options, or compare the rankings: rm.compare({…}, truth)"


def named_results(systems: Mapping[str, object]) -> dict[str, Summary]:
    """The results of evaluations among systems; each run of a system has a name of its own."""
    results = {}
    for system, data in systems.items():
        several = isinstance(data, list | tuple) and bool(data) and isinstance(data[0], Result)
        runs = list(data) if several else [data]  # type: ignore[call-overload]
        for number, run in enumerate(runs, 1):
            name = f"{system}, run {number}" if len(runs) > 1 else str(system)
            if isinstance(run, Summary):
                results[name] = run
            elif several or isinstance(run, Result):
                raise UsageError(
                    f"the values of {name} are a {type(run).__name__}, which is not the result of "
                    "one evaluation: pass that of rm.evaluate, rm.evaluate_scores or "
                    "rm.evaluate_ranks"
                )
    return results


def question_of(
    results: Mapping[str, Summary], metrics: str | Metric | Iterable[str | Metric] | None = None
) -> Plan:
    """The plan of results that answer the same question; `metrics` are those to compare.

    Raises
    ------
    UsageError
        If a metric, an option or a user of the ground truth is not the same in all of them; or a
        result has no values of users.
    IdTypeError
        If the users of one are integers and those of another are text.
    """
    for name, run in results.items():
        if not run.scores.n_users:
            raise UsageError(f"{name} has no values of users: accumulate with keep='values'")
    (first, result), *others = results.items()
    entries = [*result.plan.metrics]
    if metrics is not None:
        asked = translate_all(metrics, result.plan.convention.partition(" ")[0])
        entries = [result.plan[str(metric)] for metric in asked]
    for name, other in others:
        labels = [e.label for e in (other.plan.metrics if metrics is None else entries)]
        there = {label: other.plan[label] for label in labels if label in other}
        for differs in _differences(first, result, name, other, entries, there):
            raise UsageError(f"{first} and {name} do not answer the same question: {differs}")
    return replace(result.plan, metrics=tuple(entries))


def check_options(results: Mapping[str, Summary]) -> None:
    """Refuse results in which a metric of one name has different options."""
    for (first, result), (name, other) in itertools.combinations(results.items(), 2):
        shared = {e.label: e for e in other.plan.metrics if e.label in result.estimates}
        entries = [result.plan[label] for label in shared]
        for differs in _options(first, result.plan, name, other.plan, entries, shared):
            raise UsageError(f"{first} and {name} do not answer the same question: {differs}")


def _differences(
    a: str,
    result: Summary,
    b: str,
    other: Summary,
    entries: Sequence[MetricPlan],
    others: Mapping[str, MetricPlan],
) -> Iterator[str]:
    """The differences between the questions of two results, whose names are a and b."""
    labels = [entry.label for entry in entries]
    for has, lacks, there, here in ((a, b, labels, [*others]), (b, a, [*others], labels)):
        for label in there:
            if label not in here:
                yield (
                    f"{has} has {label}, and {lacks} has not; name the metrics to compare, "
                    "metrics=[…]"
                )
    yield from _options(a, result.plan, b, other.plan, entries, others)
    first, second = (each.scores.users.filter(each.scores.in_truth) for each in (result, other))
    if first.dtype != second.dtype:
        raise IdTypeError("some systems have integers as users and others have text: convert them")
    for has, lacks, users, judged in ((a, b, first, second), (b, a, second, first)):
        alone = users.filter(~users.is_in(judged.implode()))
        if len(alone):
            yield (
                f"user {shown(alone[0])} is in the ground truth of {has}, and not in that of "
                f"{lacks} ({counted(len(alone), 'such user')} in all); {REMEDY}"
            )
    for entry in entries:
        if entry.alignment.scope == "all" and entry.alignment.exclude == "none":
            judged_by_a = _n_relevant(result, entry)
            judged_by_b = _n_relevant(other, others[entry.label])
            for at in (judged_by_a["n"] != judged_by_b["n"]).arg_true().head(1):
                yield (
                    f"user {shown(judged_by_a['user'][at])} has {judged_by_a['n'][at]} relevant "
                    f"items in the ground truth of {a} and {judged_by_b['n'][at]} in that of {b}; "
                    f"{REMEDY}"
                )


def _n_relevant(result: Summary, entry: MetricPlan) -> pl.DataFrame:
    """The number of relevant items of each user in the ground truth, by user."""
    scores = result.scores
    n = pl.Series("n", scores.facts[entry.alignment].n_relevant)
    return pl.DataFrame([scores.users, n]).filter(scores.in_truth).sort("user")


def _options(
    a: str,
    plan: Plan,
    b: str,
    other: Plan,
    entries: Sequence[MetricPlan],
    others: Mapping[str, MetricPlan],
) -> Iterator[str]:
    """The options that have two values in plans, for the metrics of one and of the other."""
    acts = acting(acting(CHOICES, plan.data), other.data)

    def options(entry: MetricPlan) -> dict[str, Any]:
        every = {"metric": entry.metric.name, "k": entry.metric.k, **entry.switches()}
        return {name: v for name, v in every.items() if name in acts or name not in CHOICES}

    pairs = [(f" of {e.label}", options(e), options(others[e.label])) for e in entries]
    for where, first, second in (*pairs, ("", plan.settings(), other.settings())):
        for name, value in first.items():
            if name in second and second[name] != value:
                yield (
                    f"{name}{where} is {show(value)} in {a} and {show(second[name])} in {b}; "
                    f"{REMEDY}"
                )
