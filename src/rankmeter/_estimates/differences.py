"""Paired differences of systems: their tests, their sizes, their intervals."""

from __future__ import annotations

import functools
import itertools
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from rankmeter import _statistics as st
from rankmeter._checks import counted
from rankmeter._engine import Scores
from rankmeter._estimates.estimates import Estimate, estimate, mean_interval
from rankmeter._estimates.settings import Settings
from rankmeter._estimates.wording import p_value
from rankmeter._hits import BoolArray, FloatArray, IntArray
from rankmeter._plan import MetricPlan, Plan
from rankmeter.errors import RankmeterWarning

__all__ = ["Difference", "PairedTests", "paired_values", "turned"]

FEW_USERS = 10


@dataclass(frozen=True)
class Difference:
    """One system against another on one metric, over the users that both are averaged for.

    Attributes
    ----------
    metric, segment : str
        ``segment`` is empty for all users.
    a, b : str
        Names of the systems; differences are a minus b.
    mean_a, mean_b : float
    difference, low, high : float
        Mean of the paired differences and its interval.
    p, p_adjusted : float
        Two-sided, before and after the correction; NaN where the test has no result.
    statistic : float
        Statistic of the test.
    method : str
        The test as it was carried out.
    d_z, hedges_g : float
        Mean difference in standard deviations of the differences; and corrected for small n.
    superiority : float
        Probability that a random user is better off with a than with b, ties counting half.
    gain, gain_low, gain_high : float
        Relative gain of the mean with its interval: 0.1 is 10 %.
    wins, ties, losses : int
        Numbers of users with a better than, equal to, worse than b.
    detectable : float
        Minimum detectable effect: the smallest difference that the same number of users would
        show in 80 % of studies, at the level used.
    n : int
        Users compared.
    significant : bool
        Whether ``p_adjusted`` is at most alpha.
    increasing : bool
        Whether larger values of the metric are better.
    note : str
        Why there is no result, or a caution.
    """

    metric: str
    segment: str
    a: str
    b: str
    mean_a: float
    mean_b: float
    difference: float
    low: float
    high: float
    p: float
    p_adjusted: float
    statistic: float
    method: str
    d_z: float
    hedges_g: float
    superiority: float
    gain: float
    gain_low: float
    gain_high: float
    wins: int
    ties: int
    losses: int
    detectable: float
    n: int
    significant: bool
    increasing: bool
    note: str = ""

    @property
    def better(self) -> str:
        """Name of the system with the better mean; empty if they are equal."""
        if self.difference == 0 or math.isnan(self.difference):
            return ""
        return self.a if (self.difference > 0) == self.increasing else self.b

    def sentence(self) -> str:
        """The difference in plain words."""
        where = f" among {self.segment}" if self.segment else ""
        if math.isnan(self.p):
            return f"{self.a} and {self.b} cannot be compared on {self.metric}{where}: {self.note}."
        if self.wins + self.losses == 0:
            return (
                f"{self.a} and {self.b} have the same {self.metric}{where} "
                f"for every one of {counted(self.n, 'user')}."
            )
        if not self.significant or not self.better:
            return (
                f"No difference between {self.a} and {self.b} on {self.metric}{where} is shown: "
                f"{self.difference:+.4f} [{self.low:+.4f}, {self.high:+.4f}], "
                f"{_p_text(self.p_adjusted)}; with {counted(self.n, 'user')} a difference of "
                f"{self.detectable:.4f} would be seen in 80 % of studies."
            )
        d = turned(self, self.better)
        gain = f" ({d.mean_a / d.mean_b - 1:+.1%})" if d.mean_b else ""
        lower = "" if self.increasing else ", where lower is better,"
        return (
            f"{d.a} beats {d.b} on {self.metric}{lower}{where} by {abs(d.difference):.4f}{gain}, "
            f"interval of the difference [{d.low:+.4f}, {d.high:+.4f}], "
            f"{_p_text(d.p_adjusted)}; better for {d.wins:,}, worse for {d.losses:,} of "
            f"{counted(self.n, 'user')}, |d_z| = {abs(d.d_z):.2f}."
        )


def turned(d: Difference, system: str) -> Difference:
    """The same difference with `system` as a; if that was b, the relative gain has no bounds."""
    if d.a == system:
        return d
    return replace(
        d,
        a=d.b,
        b=d.a,
        mean_a=d.mean_b,
        mean_b=d.mean_a,
        difference=-d.difference,
        low=-d.high,
        high=-d.low,
        statistic=-d.statistic,
        d_z=-d.d_z,
        hedges_g=-d.hedges_g,
        superiority=1 - d.superiority,
        gain=d.mean_b / d.mean_a - 1 if d.mean_a else math.nan,
        gain_low=math.nan,
        gain_high=math.nan,
        wins=d.losses,
        losses=d.wins,
    )


def _p_text(p: float) -> str:
    shown = p_value(p)
    return f"p {shown[0]} {shown[1:]}" if shown.startswith("<") else f"p = {shown}"


@dataclass(frozen=True, eq=False)
class PairedTests:
    """The tests of all pairs of systems, on any part of the users.

    All scores are over the same users; `clusters` holds the cluster of each of them.
    """

    plan: Plan
    scores: Mapping[str, Scores]
    clusters: IntArray | None
    settings: Settings

    @functools.cached_property
    def names(self) -> list[str]:
        """The systems."""
        return list(self.scores)

    @functools.cached_property
    def _pairs(self) -> list[tuple[int, int]]:
        """The other minus the baseline, or the earlier minus the later."""
        if self.settings.baseline is None:
            return list(itertools.combinations(range(len(self.names)), 2))
        at = self.names.index(self.settings.baseline)
        return [(i, at) for i in range(len(self.names)) if i != at]

    @functools.cached_property
    def _values(self) -> dict[str, tuple[FloatArray, BoolArray]]:
        """By metric, users × systems: the values, and which of them are averaged."""
        found = {}
        for entry in self.plan.metrics:
            averaged = [scores.averaged(entry) for scores in self.scores.values()]
            shape = len(next(iter(self.scores.values())).users), len(averaged)
            values, members = np.zeros(shape), np.zeros(shape, dtype=bool)
            for column, one in enumerate(averaged):
                values[one.users, column] = one.values
                members[one.users, column] = True
            found[entry.label] = values, members
        return found

    def dropped(self) -> dict[str, int]:
        """Users that are averaged for some systems but not for all."""
        return {
            label: int((members.any(axis=1) & ~members.all(axis=1)).sum())
            for label, (_, members) in self._values.items()
        }

    def estimates(self, mask: BoolArray) -> dict[tuple[str, str], Estimate]:
        """By metric and system, the mean over the common users, or over its own."""
        found = {}
        for entry in self.plan.metrics:
            _, members = self._values[entry.label]
            for name, own in zip(self.names, members.T, strict=True):
                users = members.all(axis=1) if self.settings.common == "all" else own
                part = self.scores[name].averaged(entry).only(users & mask)
                found[entry.label, name] = estimate(self.plan, entry, part, self.clusters)
        return found

    def differences(self, segment: str, mask: BoolArray) -> list[Difference]:
        """All comparisons on all metrics, not yet corrected."""
        together = self.settings.common == "all" or "tukey" in self.settings.test
        everything = ([*range(len(self.names))], self._pairs)
        groups = [everything] if together else [([i, j], [(0, 1)]) for i, j in self._pairs]
        found = []
        for entry in self.plan.metrics:
            values, members = self._values[entry.label]
            for columns, pairs in groups:
                users = np.flatnonzero(members[:, columns].all(axis=1) & mask)
                table = values[users].take(columns, axis=1)
                own = None if self.clusters is None else self.clusters[users]
                results = self._test(table if own is None else _by_cluster(table, own), pairs)
                for (i, j), result in zip(pairs, results, strict=True):
                    names = self.names[columns[i]], self.names[columns[j]]
                    x, y = table[:, i], table[:, j]
                    found.append(self._difference(entry, segment, names, x, y, result, own))
        return found

    def _test(self, table: FloatArray, pairs: list[tuple[int, int]]) -> list[st.TestResult]:
        n, confidence = table.shape[0], self.plan.confidence
        seeded: dict[str, Any] = {"n_resamples": self.settings.n_resamples, "seed": self.plan.seed}
        test = self.settings.test
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
                st.paired_test(table[:, i], table[:, j], test, confidence=confidence, **seeded)
                for i, j in pairs
            ]
        # Where all users differ by the same amount, t has no result, but randomization has one.
        without = [at for at, result in enumerate(results) if math.isnan(result.p)]
        again = st.randomization_tests(table, [pairs[at] for at in without], **seeded)
        for at, result in zip(without, again, strict=True):
            results[at] = replace(result, interval=results[at].interval)
        return results

    def _difference(
        self,
        entry: MetricPlan,
        segment: str,
        names: tuple[str, str],
        x: FloatArray,
        y: FloatArray,
        result: st.TestResult,
        clusters: IntArray | None,
    ) -> Difference:
        better, worse = (x, y) if entry.spec.increasing else (y, x)
        wins, ties, losses = st.wins_ties_losses(better, worse)
        difference = st.moments(x - y)
        low, high = result.interval
        if "tukey" not in self.settings.test or math.isnan(low):
            low, high = mean_interval(x - y, difference, self.plan, clusters)
        gain = st.relative_gain(x, y, confidence=self.plan.confidence, clusters=clusters)
        units = np.column_stack([x, y])
        if clusters is not None:
            units = _by_cluster(units, clusters)
        size, _, sd = st.moments(units[:, 0] - units[:, 1])
        note = result.note
        if not note and size < FEW_USERS:
            what = "users" if clusters is None else "clusters"
            note = f"only {size} {what}: read differences with care"
        return Difference(
            metric=entry.label,
            segment=segment,
            a=names[0],
            b=names[1],
            mean_a=st.moments(x).mean,
            mean_b=st.moments(y).mean,
            difference=difference.mean,
            low=low,
            high=high,
            p=result.p,
            p_adjusted=result.p,
            statistic=result.statistic,
            method=result.method,
            d_z=st.cohens_dz(*units.T),
            hedges_g=st.hedges_g(*units.T) if size > 2 else math.nan,
            superiority=st.probability_of_superiority(better, worse),
            gain=gain.gain,
            gain_low=gain.interval.low,
            gain_high=gain.interval.high,
            wins=wins,
            ties=ties,
            losses=losses,
            detectable=sd * _detectable_units(size, self.settings.alpha),
            n=x.size,
            significant=False,
            increasing=entry.spec.increasing,
            note=note,
        )

    def adjusted(self, found: Sequence[Difference]) -> tuple[Difference, ...]:
        """The differences with the p-values of each family corrected, segments included.

        Tests of all pairs at once need no correction.
        """
        how, alpha = self.settings.correction, self.settings.alpha
        p = np.array([d.p for d in found])
        if how != "none" and "tukey" not in self.settings.test:
            family = np.array([d.metric if self.settings.family == "metric" else "" for d in found])
            for one in np.unique(family):
                p[family == one] = st.adjust(p[family == one], how)
        return tuple(
            replace(d, p_adjusted=float(q), significant=bool(q <= alpha))
            for d, q in zip(found, p, strict=True)
        )


def paired_values(
    a: Scores, b: Scores, entry: MetricPlan
) -> tuple[pl.Series, FloatArray, FloatArray]:
    """The users that both systems are averaged for, with their values under a and under b."""
    x, y = a.averaged(entry), b.averaged(entry)
    users, i, j = np.intersect1d(x.users, y.users, assume_unique=True, return_indices=True)
    return a.users[users], x.values[i], y.values[j]


def _by_cluster(table: FloatArray, clusters: IntArray) -> FloatArray:
    """One row per cluster, whose mean over clusters is the mean over users.

    Rows of a cluster resemble each other; their sums do not, and a test of sums is a test of the
    same mean difference.
    """
    _, code = np.unique(clusters, return_inverse=True)
    n = int(code.max(initial=-1)) + 1
    sums = np.zeros((n, table.shape[1]))
    np.add.at(sums, code, table)
    result: FloatArray = sums * (n / max(table.shape[0], 1))
    return result


@functools.cache
def _detectable_units(n: int, alpha: float) -> float:
    """The smallest difference that n users show, in standard deviations."""
    return st.minimum_detectable_effect(n, alpha=alpha)
