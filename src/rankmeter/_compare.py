"""Is A better than B? Paired differences of systems over one truth, with honest statistics."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
import typing
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import polars as pl

from rankmeter import _statistics as st
from rankmeter._checks import choice, fraction
from rankmeter._comparison import Comparison, Difference
from rankmeter._engine import ENGINE, Averaged, Scores
from rankmeter._hits import FloatArray, IntArray
from rankmeter._ingest import Table as Ingested
from rankmeter._plan import MetricPlan, Plan
from rankmeter._segments import EVERYONE, clusters_of, segments_of
from rankmeter._summary import Estimate, estimate, mean_interval, summarise
from rankmeter.errors import RankmeterWarning, UsageError

__all__ = ["Common", "Correction", "Family", "Test", "compare_tables"]

Test = Literal[
    "auto", "t", "randomization", "bootstrap", "wilcoxon", "sign", "tukey", "randomized-tukey"
]
Correction = Literal["holm", "bonferroni", "benjamini-hochberg", "none"]
Family = Literal["metric", "all"]
Common = Literal["all", "pair"]

MAX_SYSTEMS = 100
FEW_USERS = 10


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
    data = ENGINE.open(truth, systems)
    scores = data.run(plan)
    users = scores[names[0]].users
    drawn = clusters_of(clusters, users)
    summaries = {name: summarise(plan, scores[name], counts[name], drawn) for name in names}
    pairs = _pairs(names, baseline)
    bench = _Bench(plan, names, scores, pairs, drawn, common, test, alpha, n_resamples)
    parts = segments_of(segments, users)
    found: list[Difference] = bench.differences(EVERYONE, None)
    segment_estimates = {}
    for segment, mask in parts.items():
        found += bench.differences(segment, mask)
        for (metric, name), e in bench.estimates(mask).items():
            segment_estimates[segment, metric, name] = e
    return Comparison(
        names,
        baseline or "",
        plan,
        summaries,
        bench.estimates(None),
        tuple(_adjusted(found, test, correction, family, alpha)),
        bench.dropped(),
        _labels(users, parts),
        segment_estimates,
        {
            "test": test,
            "correction": "none" if "tukey" in test else correction,
            "family": "each metric" if family == "metric" else "everything",
            "alpha": alpha,
            "common": common,
            "n_resamples": n_resamples,
            "seed": plan.seed,
            "users_without_segment": len(users) - _labelled(parts) if parts else 0,
            "clusters": None if drawn is None else int(np.unique(drawn).size),
        },
        data.run,
        clusters,
    )


def _labels(users: pl.Series, parts: Mapping[str, Any]) -> pl.DataFrame | None:
    """The segment of each user, null where there is none."""
    if not parts:
        return None
    label = pl.lit(None, dtype=pl.String)
    for segment, mask in parts.items():
        label = pl.when(pl.Series(mask)).then(pl.lit(segment)).otherwise(label)
    return pl.DataFrame({"user": users}).with_columns(segment=label)


def _labelled(parts: Mapping[str, Any]) -> int:
    return sum(int(mask.sum()) for mask in parts.values())


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


def _pairs(names: Sequence[str], baseline: str | None) -> list[tuple[str, str]]:
    """Differences are the other minus the baseline, or the earlier minus the later."""
    if baseline is not None:
        return [(name, baseline) for name in names if name != baseline]
    return list(itertools.combinations(names, 2))


class _Bench:
    """The per-user values of all systems, and the tests on any part of the users."""

    def __init__(
        self,
        plan: Plan,
        names: Sequence[str],
        scores: Mapping[str, Scores],
        pairs: Sequence[tuple[str, str]],
        clusters: IntArray | None,
        common: str,
        test: str,
        alpha: float,
        n_resamples: int,
    ) -> None:
        self.plan, self.names, self.scores, self.pairs = plan, names, scores, pairs
        self.clusters, self.common, self.test, self.alpha = clusters, common, test, alpha
        self.n_resamples = n_resamples

    @functools.cache  # noqa: B019 - lives as long as one comparison
    def averaged(self, label: str, name: str) -> Averaged:
        return self.scores[name].averaged(self.plan[label])

    def _sets(self, label: str, names: Sequence[str]) -> Any:
        """Who is averaged: a row of truth values for each system."""
        sets = [np.zeros(len(self.scores[name].users), dtype=bool) for name in names]
        for members, name in zip(sets, names, strict=True):
            members[self.averaged(label, name).users] = True
        return np.stack(sets)

    def users(self, label: str, names: Sequence[str]) -> IntArray:
        """Users that all of the named systems are averaged for."""
        return np.flatnonzero(self._sets(label, names).all(axis=0))

    def values(self, label: str, name: str, users: IntArray) -> FloatArray:
        averaged = self.averaged(label, name)
        return averaged.values[np.searchsorted(averaged.users, users)]

    def dropped(self) -> dict[str, int]:
        """Users that some system is averaged for but not all."""
        found = {}
        for entry in self.plan.metrics:
            sets = self._sets(entry.label, self.names)
            found[entry.label] = int((sets.any(axis=0) & ~sets.all(axis=0)).sum())
        return found

    def estimates(self, mask: Any) -> dict[tuple[str, str], Estimate]:
        """Means of every system: over the common users, or over its own."""
        found = {}
        for entry in self.plan.metrics:
            shared = self.users(entry.label, self.names)
            for name in self.names:
                averaged = self.averaged(entry.label, name)
                users = shared if self.common == "all" else averaged.users
                users = users if mask is None else users[mask[users]]
                chosen = dataclasses.replace(
                    averaged, values=self.values(entry.label, name, users), users=users
                )
                found[entry.label, name] = estimate(self.plan, entry, chosen, self.clusters)
        return found

    def differences(self, segment: str, mask: Any) -> list[Difference]:
        """All comparisons on all metrics, not yet corrected."""
        found = []
        for entry in self.plan.metrics:
            shared = self.users(entry.label, self.names)
            if self.common == "all" or "tukey" in self.test:
                users = shared if mask is None else shared[mask[shared]]
                table = np.column_stack([self.values(entry.label, n, users) for n in self.names])
                found += self._compare(entry, segment, self.names, users, table, self.pairs)
                continue
            for a, b in self.pairs:
                users = self.users(entry.label, (a, b))
                users = users if mask is None else users[mask[users]]
                table = np.column_stack([self.values(entry.label, n, users) for n in (a, b)])
                found += self._compare(entry, segment, (a, b), users, table, [(a, b)])
        return found

    def _compare(
        self,
        entry: MetricPlan,
        segment: str,
        names: Sequence[str],
        users: IntArray,
        table: FloatArray,
        pairs: Sequence[tuple[str, str]],
    ) -> list[Difference]:
        column = {name: i for i, name in enumerate(names)}
        indices = [(column[a], column[b]) for a, b in pairs]
        own = None if self.clusters is None else self.clusters[users]
        results = self._test(table if own is None else _by_cluster(table, own), indices)
        return [
            self._difference(entry, segment, a, b, table[:, i], table[:, j], result, own)
            for (a, b), (i, j), result in zip(pairs, indices, results, strict=True)
        ]

    def _test(self, table: FloatArray, pairs: list[tuple[int, int]]) -> list[st.TestResult]:
        n, confidence = table.shape[0], self.plan.confidence
        seeded: dict[str, Any] = {"n_resamples": self.n_resamples, "seed": self.plan.seed}
        test = self.test
        if n < 2:
            return [st.paired_t_test(table[:, i], table[:, j]) for i, j in pairs]
        if test == "tukey":
            return st.tukey_hsd(table, confidence=confidence)
        if test == "randomized-tukey":
            return st.randomized_tukey_hsd(table, confidence=confidence, **seeded)
        if test == "auto":
            test = "randomization" if n <= st.AUTO_LIMIT else "t"
        if test == "randomization":
            return st.randomization_tests(table, pairs, **seeded)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RankmeterWarning)  # the caution was given once
            results = [
                st.paired_test(
                    table[:, i],
                    table[:, j],
                    typing.cast("Any", test),
                    confidence=confidence,
                    **seeded,
                )
                for i, j in pairs
            ]
        # Where all users differ by the same amount t has no answer, and randomization has.
        without = [at for at, result in enumerate(results) if math.isnan(result.p)]
        again = st.randomization_tests(table, [pairs[at] for at in without], **seeded)
        for at, result in zip(without, again, strict=True):
            results[at] = dataclasses.replace(result, interval=results[at].interval)
        return results

    def _difference(
        self,
        entry: MetricPlan,
        segment: str,
        a: str,
        b: str,
        x: FloatArray,
        y: FloatArray,
        result: st.TestResult,
        clusters: IntArray | None,
    ) -> Difference:
        n, confidence = x.size, self.plan.confidence
        better, worse = (x, y) if entry.spec.increasing else (y, x)
        counts = st.wins_ties_losses(better, worse)
        low, high = result.interval
        if math.isnan(low) or self.plan.interval != "t":
            low, high = mean_interval(x - y, self.plan, clusters)
        gain = st.relative_gain(x, y, confidence=confidence) if n else None
        difference = float((x - y).mean()) if n else math.nan
        independent = x - y if clusters is None else _by_cluster((x - y)[:, None], clusters)[:, 0]
        size = independent.size
        sd = float(independent.std(ddof=1)) if size > 1 else math.nan
        note = result.note
        if not note and size < FEW_USERS:
            what = "users" if clusters is None else "clusters"
            note = f"only {size} {what}: read differences with care"
        return Difference(
            metric=entry.label,
            segment=segment,
            a=a,
            b=b,
            mean_a=float(x.mean()) if n else math.nan,
            mean_b=float(y.mean()) if n else math.nan,
            difference=difference,
            low=low,
            high=high,
            p=result.p,
            p_adjusted=result.p,
            statistic=result.statistic,
            method=result.method,
            d_z=st.cohens_dz(x, y) if n > 1 else math.nan,
            hedges_g=st.hedges_g(x, y) if n > 2 else math.nan,
            superiority=st.probability_of_superiority(better, worse) if n else math.nan,
            gain=gain.gain if gain else math.nan,
            gain_low=gain.interval.low if gain else math.nan,
            gain_high=gain.interval.high if gain else math.nan,
            wins=counts.wins,
            ties=counts.ties,
            losses=counts.losses,
            detectable=_detectable(size, sd, self.alpha),
            n=n,
            significant=False,
            increasing=entry.spec.increasing,
            note=note,
        )


def _by_cluster(table: FloatArray, clusters: IntArray) -> FloatArray:
    """One row per cluster, whose mean over clusters is the mean over users.

    Rows of a cluster resemble each other; their sums do not, and a test of sums is a test of the
    same mean difference.
    """
    _, code = np.unique(clusters, return_inverse=True)
    n = int(code.max(initial=-1)) + 1
    sums = np.zeros((n, table.shape[1]))
    np.add.at(sums, code, table)
    result: FloatArray = sums * (n / table.shape[0])
    return result


def _detectable(n: int, sd: float, alpha: float) -> float:
    if n < 2 or math.isnan(sd):
        return math.nan
    return sd * _detectable_units(n, alpha)


@functools.cache
def _detectable_units(n: int, alpha: float) -> float:
    return st.minimum_detectable_effect(n, alpha=alpha)


def _adjusted(
    found: Sequence[Difference], test: str, correction: str, family: str, alpha: float
) -> list[Difference]:
    """Correct the p-values of each family, segments included."""
    groups: dict[str, list[int]] = {}
    for index, d in enumerate(found):
        groups.setdefault(d.metric if family == "metric" else "", []).append(index)
    p = np.array([d.p for d in found])
    if correction != "none" and "tukey" not in test:
        for members in groups.values():
            p[members] = st.adjust(p[members], typing.cast("Any", correction))
    return [
        dataclasses.replace(d, p_adjusted=float(q), significant=bool(q <= alpha))
        for d, q in zip(found, p, strict=True)
    ]
