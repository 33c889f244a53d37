"""Is A better than B? Paired differences of systems over the same users, with their statistics."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn, TypeVar

import numpy as np
import polars as pl

from rankmeter._annexes import annex
from rankmeter._choices import Setting
from rankmeter._engine import open_data
from rankmeter._engine.memory import Data, Opener, Source
from rankmeter._engine.scores import UserValues
from rankmeter._engine.side import NO_SIDE, Side
from rankmeter._evidence.hits import IntArray
from rankmeter._reading.table import Table
from rankmeter._results.compared import Compared
from rankmeter._results.comparison import Comparison
from rankmeter._results.counts import cluster_counts_by_metric
from rankmeter._results.paired import PairedTests
from rankmeter._results.reread import reopen_source
from rankmeter._results.segments import (
    Population,
    read_cluster_numbers,
    read_user_labels,
    users_by_segment,
)
from rankmeter._results.settings import Settings, Values, mean_of_runs, values_by_metric
from rankmeter._results.summary import Summary, average_scores, restrict_to_metrics, summarize
from rankmeter._statistics.paired_tests import WILCOXON_CAUTION
from rankmeter.conventions._plan import Plan
from rankmeter.errors import UsageError
from rankmeter.errors._caution import warn

C = TypeVar("C", bound=Compared)

Summaries = Callable[[IntArray | None], Mapping[str, Summary]]
"""Gives the result of each system alone; the argument is the cluster of each user."""


@dataclass(frozen=True, eq=False)
class Systems:
    """Values of systems over the same users, from any source."""

    names: Sequence[str]
    by_metric: Sequence[Values]
    population: Population | UserValues
    summaries: Summaries = lambda _: {}


def compare_by_user(
    result: type[C],
    setting: Setting,
    settings: Settings,
    systems: Systems,
    *,
    facts: Mapping[str, Any],
    **fields: Any,
) -> C:
    """Compare systems by their per-user values.

    The `facts` become settings of the result, and `fields` are further fields of the `result`.
    """
    unused = {"users_without_segment": 0}
    population, by_metric = systems.population, systems.by_metric
    tested = {values.label: values.compared_mask for values in by_metric}
    averaged = np.any([*tested.values()], axis=0)
    labels = read_user_labels(settings.segments, "segment", population, unused, averaged)
    cluster = read_cluster_numbers(settings.clusters, population, unused, averaged)
    tests = PairedTests(setting, settings, systems.names, by_metric, cluster)
    users_of = users_by_segment(labels)
    differences, heterogeneity, leads = tests.differences(users_of)
    return result(
        systems=tuple(systems.names),
        baseline=settings.baseline or "",
        plan=setting,
        users=population.users,
        by_metric={values.label: replace(values) for values in by_metric},
        summaries=systems.summaries(cluster),
        estimates=tests.overall_estimates,
        leads=leads,
        differences=differences,
        heterogeneity=heterogeneity,
        clusters=settings.clusters,
        segments_by_user=None if labels is None else pl.DataFrame(
            [population.users.alias("user"), labels]
        ),
        segment_estimates={
            (segment, metric, name): e
            for segment, users in users_of.items()
            for (metric, name), e in tests.estimates(users).items()
        },
        settings={
            **tests.settings_facts(),
            **facts,
            **unused,
            **({"clusters": None} if cluster is None
               else cluster_counts_by_metric(cluster, tested)),
        },
        **fields,
    )  # fmt: skip


def compare_tables(
    systems: Mapping[str, Table],
    truth: Table,
    plan: Plan,
    settings: Settings,
    *,
    runs: Mapping[str, Sequence[str]] | None = None,
    side: Side = NO_SIDE,
) -> Comparison:
    """Compare systems that have been read; see `rankmeter.compare` for the parameters.

    `runs` has the tables of each system that has several training runs.
    """
    groups = {name: [name] for name in systems} if runs is None else runs
    _refuse_incomparable_metrics(plan, settings)
    # The hits are kept for the curves, which may be asked for after the input has changed.
    data = open_data(truth, systems, side=side, keep=True)
    by_table = data.run(plan)
    listed = all(table.rows.has_lists for table in systems.values())
    opener = Opener.of(data)

    def summarize_systems(cluster: IntArray | None) -> dict[str, Summary]:
        return {
            name: replace(
                summarize(plan, scores, truth, systems[groups[name][0]], cluster),
                source=Source(opener, name, lists=listed) if [name] == groups[name] else None,
            )
            for name, scores in _average_runs(by_table, groups).items()
        }

    population = by_table[groups[next(iter(groups))][0]]
    by_run = [[by_table[run] for run in group] for group in groups.values()]
    by_metric = values_by_metric(plan, by_run, population.n_users)
    found = compare_by_user(
        Comparison, plan, settings, Systems([*groups], by_metric, population, summarize_systems),
        facts={"runs": {name: len(group) for name, group in runs.items()} if runs else None},
        kind=systems[groups[next(iter(groups))][0]].origin.kind,
        _scored=functools.partial(_score_systems, opener, groups),
    )  # fmt: skip
    return _with_bounds(found, truth, systems) if plan.has_bounds else found


def _with_bounds(found: Comparison, *data: object) -> Comparison:
    bounded: Comparison = annex("_judge.holes").with_bounds_of_systems(found, *data)
    return bounded


def _score_systems(
    opener: Opener, groups: Mapping[str, Sequence[str]], plan: Plan
) -> dict[str, UserValues]:
    """The scores of every system under a plan, as means over its runs."""
    return _average_runs(opener().run(plan), groups)


def _average_runs(
    scores: Mapping[str, UserValues], groups: Mapping[str, Sequence[str]]
) -> dict[str, UserValues]:
    return {name: mean_of_runs([scores[run] for run in group]) for name, group in groups.items()}


def compare_results(
    results: Mapping[str, Sequence[Summary]],
    plan: Plan,
    settings: Settings,
) -> Comparison:
    """Compare results, of one or several runs each, under the plan of their question."""
    labels = [entry.label for entry in plan.metrics]
    by_name = {
        name: [restrict_to_metrics(run, labels) for run in runs] for name, runs in results.items()
    }
    all_runs = [run for runs in by_name.values() for run in runs]
    several = len(all_runs) > len(by_name)
    if settings.clusters is None:
        settings = replace(settings, clusters=_clusters_by_user(all_runs))
    settings.check_systems([*by_name], runs=several)
    _refuse_incomparable_metrics(plan, settings)
    population, places = _find_common_users([run.scores for run in all_runs])
    by_run = [[run.scores for run in runs] for runs in by_name.values()]
    summaries = {
        name: _with_checked_source(name, _mean_result(name, plan, runs))
        for name, runs in by_name.items()
    }
    if any(summary.fingerprints is not None for summary in summaries.values()):
        annex("_stored.systems").warn_of_old_labels(summaries, settings.baseline)
    by_metric = values_by_metric(plan, by_run, len(population.users), places)
    found = compare_by_user(
        Comparison, plan, settings, Systems([*by_name], by_metric, population, lambda _: summaries),
        facts={"runs": {name: len(runs) for name, runs in by_name.items()} if several else None},
        kind=all_runs[0].kind,
        _scored=functools.partial(_score_results, summaries),
    )  # fmt: skip
    return _with_bounds(found) if plan.has_bounds else found


def _score_results(summaries: Mapping[str, Summary], plan: Plan) -> dict[str, UserValues]:
    """The scores of every result under another plan: its rankings are read again."""
    sources = {
        name: summary.source or _refuse_reading_again(name) for name, summary in summaries.items()
    }
    return {name: source.open().run(plan)[source.system] for name, source in sources.items()}


def _refuse_reading_again(name: str) -> NoReturn:
    """Raise the error of a result whose rankings cannot be read again."""
    raise UsageError(
        f"this needs the ranks of {name} once more, which its result does not have, or which have "
        "changed: pass the rankings to rm.compare"
    )


def _with_checked_source(name: str, result: Summary) -> Summary:
    """Make the source of a result refuse changed values when opened."""
    if result.source is None:
        return result
    return replace(result, source=replace(result.source, open=_CheckedOpener(name, result)))


@dataclass(frozen=True, eq=False)
class _CheckedOpener:
    """Opens the data of a result, once, and refuses values that have changed."""

    name: str
    result: Summary

    def __call__(self) -> Data:
        return self._data

    @functools.cached_property
    def _data(self) -> Data:
        return (reopen_source(self.result) or _refuse_reading_again(self.name)).open()

    def __getstate__(self) -> dict[str, Any]:
        """Without the opened data, which the result opens."""
        return {"name": self.name, "result": self.result}


def _mean_result(name: str, plan: Plan, runs: Sequence[Summary]) -> Summary:
    """The result of a system's only run, or the mean result of all its runs."""
    first = runs[0]
    if len(runs) == 1:
        return first
    if not all(run.scores.users.equals(first.scores.users) for run in runs):
        raise UsageError(f"the runs of {name} rank different users: compare their rankings")
    cautions = dict.fromkeys(caution for run in runs for caution in run.cautions)
    scores = mean_of_runs([run.scores for run in runs])
    fields = {"cautions": (*cautions,), "kind": first.kind}
    return average_scores(plan, scores, first.read, clusters=first.clusters, **fields)


def _find_common_users(
    scores: Sequence[UserValues],
) -> tuple[Population, Callable[[UserValues], IntArray] | None]:
    """The users of all scores, and a function from scores to rows; None if all users agree."""
    first = scores[0].users
    textual = all(part.textual for part in scores)
    if all(part.users.equals(first) for part in scores):
        return Population(first, textual), None
    users = pl.concat([part.users for part in scores]).unique().sort()
    row = users.to_frame("user").with_row_index("row")

    @functools.cache
    def shared_rows(part: UserValues) -> IntArray:
        joined = part.users.to_frame("user").join(row, on="user", how="left", maintain_order="left")
        return joined["row"].to_numpy().astype(np.int64)

    return Population(users, textual), shared_rows


def _clusters_by_user(results: Sequence[Summary]) -> pl.DataFrame | None:
    """Table of users in the ground truth with their clusters; None without clusters."""
    tables = [
        pl.DataFrame({"user": result.scores.users, "cluster": result.clusters})
        .filter(result.scores.in_truth)
        .with_columns(pl.col("cluster").rank("dense").cast(pl.String).str.zfill(12))
        for result in results
        if result.clusters is not None
    ]
    return pl.concat(tables).unique(maintain_order=True) if tables else None


def _refuse_incomparable_metrics(plan: Plan, settings: Settings) -> None:
    """Refuse metrics that cannot be compared, and warn of the test that does not compare means."""
    if settings.test == "wilcoxon":
        warn(WILCOXON_CAUTION)
    for entry in plan.metrics:
        if entry.averaging.undefined == "nan":
            raise UsageError("undefined='nan' leaves nothing to compare: choose 'skip' or 'zero'")
        if entry.averaging.aggregate not in ("mean", "micro"):
            raise UsageError(
                f"{entry.label} is not averaged over users, so paired tests do not apply"
            )
