"""Is A better than B? Paired differences of systems over one truth, with honest statistics."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from rankmeter import _statistics as st
from rankmeter._checks import choice, fraction
from rankmeter._engine import open_data
from rankmeter._estimates.differences import PairedTests, adjusted, pairs_of
from rankmeter._estimates.segments import EVERYONE, clusters_of, segment_frame, segments_of
from rankmeter._ingest import Table as Ingested
from rankmeter._plan import Plan
from rankmeter._results.comparison import Comparison
from rankmeter._results.summary import summarise
from rankmeter.errors import RankmeterWarning, UsageError

__all__ = ["Common", "Correction", "Family", "Test", "compare_tables"]

Test = Literal[
    "auto", "t", "randomization", "bootstrap", "wilcoxon", "sign", "tukey", "randomized-tukey"
]
Correction = Literal["holm", "bonferroni", "benjamini-hochberg", "none"]
Family = Literal["metric", "all"]
Common = Literal["all", "pair"]

MAX_SYSTEMS = 100


def compare_tables(
    systems: Mapping[str, Ingested],
    truth: Ingested,
    plan: Plan,
    *,
    baseline: str | None,
    test: Test,
    correction: Correction,
    family: Family,
    common: Common,
    alpha: float,
    segments: object,
    clusters: object,
    n_resamples: int,
    counts: Mapping[str, Mapping[str, int]],
) -> Comparison:
    """Compare systems that have been read; see `rankmeter.compare` for the parameters."""
    names = tuple(systems)
    _check(names, baseline, test, correction, family, common, alpha, plan)
    scored = open_data(truth, systems).run
    scores = scored(plan)
    users = scores[names[0]].users
    drawn = clusters_of(clusters, users)
    summaries = {name: summarise(plan, scores[name], counts[name], drawn) for name in names}
    pairs = pairs_of(names, baseline)
    tests = PairedTests(plan, names, scores, pairs, drawn, common, test, alpha, n_resamples)
    parts = segments_of(segments, users)
    labels = segment_frame(users, parts)
    found = tests.differences(EVERYONE, None)
    segment_estimates = {}
    for segment, mask in parts.items():
        found += tests.differences(segment, mask)
        for (metric, name), e in tests.estimates(mask).items():
            segment_estimates[segment, metric, name] = e
    return Comparison(
        names,
        baseline or "",
        plan,
        summaries,
        tests.estimates(None),
        tuple(adjusted(found, test, correction, family, alpha)),
        tests.dropped(),
        labels,
        segment_estimates,
        {
            "test": test,
            "correction": "none" if "tukey" in test else correction,
            "family": "each metric" if family == "metric" else "everything",
            "alpha": alpha,
            "common": common,
            "n_resamples": n_resamples,
            "seed": plan.seed,
            "users_without_segment": 0 if labels is None else labels["segment"].null_count(),
            "clusters": None if drawn is None else int(np.unique(drawn).size),
        },
        scored,
        clusters,
    )


def _check(
    names: Sequence[str],
    baseline: str | None,
    test: str,
    correction: str,
    family: str,
    common: str,
    alpha: float,
    plan: Plan,
) -> None:
    if not 2 <= len(names) <= MAX_SYSTEMS:
        raise UsageError(f"compare 2 to {MAX_SYSTEMS} systems, got {len(names)}")
    if baseline is not None:
        choice("baseline", baseline, names)
    for name, value, choices in (
        ("test", test, Test),
        ("correction", correction, Correction),
        ("family", family, Family),
        ("common", common, Common),
    ):
        choice(name, value, choices)
    fraction("alpha", alpha)
    if "tukey" in test and baseline is not None:
        raise UsageError("Tukey's test is for all pairs: leave out the baseline")
    for entry in plan.metrics:
        if entry.averaging.undefined == "nan":
            raise UsageError("undefined='nan' leaves nothing to compare: choose skip or zero")
        if entry.averaging.aggregate != "mean":
            raise UsageError(
                f"{entry.label} is no mean over users: its difference has no test here"
            )
    if test in st.CAUTIONS:
        warnings.warn(st.CAUTIONS[test], RankmeterWarning, stacklevel=4)
