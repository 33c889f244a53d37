"""Is A better than B? Paired differences of systems over one truth, with their statistics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from rankmeter._caution import warn
from rankmeter._engine import Reading, Scores, Source, open_data
from rankmeter._estimates.notes import clustered_by
from rankmeter._estimates.paired import PairedTests
from rankmeter._estimates.segments import clusters_of, labels_of, masks_of
from rankmeter._estimates.settings import Settings
from rankmeter._estimates.values import mean_of_runs, values_of, with_runs
from rankmeter._ingest import Table as Ingested
from rankmeter._plan import Plan
from rankmeter._results.comparison import Comparison
from rankmeter._results.summary import summarise
from rankmeter._side import NO_SIDE, Side
from rankmeter._statistics import CAUTIONS
from rankmeter.errors import UsageError


def compare_tables(
    systems: Mapping[str, Ingested],
    truth: Ingested,
    plan: Plan,
    settings: Settings,
    *,
    segments: object,
    clusters: object,
    runs: Mapping[str, Sequence[str]] | None = None,
    side: Side = NO_SIDE,
) -> Comparison:
    """Compare systems that have been read; see `rankmeter.compare` for the parameters.

    `runs` has the tables of each system that has several training runs.
    """
    groups = {name: [name] for name in systems} if runs is None else runs
    names = tuple(groups)
    settings.check(names, runs=runs is not None, clusters=clusters is not None)
    _check(plan)
    if settings.test in CAUTIONS:
        warn(CAUTIONS[settings.test])
    # The hits are kept for the curves, which may be asked for after the input has changed.
    data = open_data(truth, systems, side=side, keep=True)
    run = data.run

    def scored(plan: Plan) -> dict[str, Scores]:
        found = run(plan)
        return {name: mean_of_runs([found[one] for one in own]) for name, own in groups.items()}

    each = run(plan)
    plan = replace(plan, engine=Reading.said(systems.values()))
    scores = {name: mean_of_runs([each[one] for one in own]) for name, own in groups.items()}
    whole = all(table.rows.in_memory for table in systems.values())
    first = scores[names[0]]
    users = first.users
    unused = {"users_without_segment": 0}
    values = values_of(plan, scores)
    if runs is not None:
        values = with_runs(values, plan, [[each[one] for one in own] for own in groups.values()])
    tested = {one.label: one.tested(settings.common) for one in values}
    averaged = np.any([*tested.values()], axis=0)
    labels = labels_of(segments, "segment", first, unused, averaged)
    drawn = clusters_of(clusters, first, unused, averaged)
    tests = PairedTests(plan, settings, names, values, drawn)
    everyone = np.ones(len(users), dtype=bool)
    parts = masks_of(labels)
    differences, heterogeneity = tests.differences(parts)
    return Comparison(
        names,
        settings.baseline or "",
        plan,
        {
            name: replace(
                summarise(plan, scores[name], truth, systems[own[0]], drawn),
                source=Source(lambda: data, own[0], lists=whole) if len(own) == 1 else None,
            )
            for name, own in groups.items()
        },
        tests.estimates(everyone),
        differences,
        {values.label: values.dropped for values in tests.values},
        None if labels is None else pl.DataFrame([users.alias("user"), labels]),
        {
            (segment, metric, name): e
            for segment, mask in parts.items()
            for (metric, name), e in tests.estimates(mask).items()
        },
        {
            **tests.facts(),
            "runs": {name: len(own) for name, own in runs.items()} if runs else None,
            **unused,
            **({"clusters": None} if drawn is None else clustered_by(drawn, tested)),
        },
        scored,
        clusters,
        heterogeneity,
    )


def _check(plan: Plan) -> None:
    """Refuse metrics that cannot be compared."""
    for entry in plan.metrics:
        if entry.averaging.undefined == "nan":
            raise UsageError("undefined='nan' leaves nothing to compare: choose 'skip' or 'zero'")
        if entry.averaging.aggregate not in ("mean", "micro"):
            raise UsageError(
                f"{entry.label} is not averaged over users, so paired tests do not apply"
            )
