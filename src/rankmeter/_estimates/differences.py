"""Paired differences of systems: their tests, their sizes, their intervals."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
import typing
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from rankmeter import _statistics as st
from rankmeter._engine import Averaged, Scores
from rankmeter._estimates.estimates import Estimate, estimate, mean_interval
from rankmeter._estimates.wording import p_value
from rankmeter._hits import FloatArray, IntArray
from rankmeter._plan import MetricPlan, Plan
from rankmeter.errors import RankmeterWarning

__all__ = ["Difference", "PairedTests", "adjusted", "paired_values", "pairs_of"]

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
        Two-sided, before and after the correction; NaN where the test has no answer.
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
        Users for whom a is better than, equal to, worse than b.
    detectable : float
        Smallest difference that as many users would show in 80 % of studies, at the level used.
    n : int
        Users compared.
    significant : bool
        Whether ``p_adjusted`` is at most alpha.
    increasing : bool
        Whether larger values of the metric are better.
    note : str
        Why there is no answer, or what to be careful about.
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
                f"for every one of {self.n:,} users."
            )
        if not self.significant:
            return (
                f"No difference between {self.a} and {self.b} on {self.metric}{where} is shown: "
                f"{self.difference:+.4f} [{self.low:+.4f}, {self.high:+.4f}], "
                f"{_p_text(self.p_adjusted)}; with {self.n:,} users a difference of "
                f"{self.detectable:.4f} would be seen in 80 % of studies."
            )
        # Told from the side of the winner: the difference, its interval and the users turn round.
        won = self.better == self.a
        loser, low, high = (self.b, self.low, self.high) if won else (self.a, -self.high, -self.low)
        mean, other = (self.mean_a, self.mean_b) if won else (self.mean_b, self.mean_a)
        gain = f" ({mean / other - 1:+.1%})" if other else ""
        better, worse = (self.wins, self.losses) if won else (self.losses, self.wins)
        lower = "" if self.increasing else ", where lower is better,"
        return (
            f"{self.better} beats {loser} on {self.metric}{lower}{where} by "
            f"{abs(self.difference):.4f}{gain}, interval of the difference [{low:+.4f}, "
            f"{high:+.4f}], {_p_text(self.p_adjusted)}; better for {better:,}, worse for "
            f"{worse:,} of {self.n:,} users, |d_z| = {abs(self.d_z):.2f}."
        )


def _p_text(p: float) -> str:
    shown = p_value(p)
    return f"p {shown[0]} {shown[1:]}" if shown.startswith("<") else f"p = {shown}"


def pairs_of(names: Sequence[str], baseline: str | None) -> list[tuple[str, str]]:
    """Differences are the other minus the baseline, or the earlier minus the later."""
    if baseline is not None:
        return [(name, baseline) for name in names if name != baseline]
    return list(itertools.combinations(names, 2))


@dataclass(frozen=True, eq=False)
class PairedTests:
    """The tests of all pairs of systems, on any part of the users.

    Attributes
    ----------
    plan : Plan
    names, scores : sequence of str, mapping of str to Scores
        The systems, all over the same users.
    pairs : sequence of (str, str)
        What is compared with what.
    clusters : int64 array of shape (n_users,) or None
        The cluster of each user.
    common, test, alpha, n_resamples
        As in `rankmeter.compare`.
    """

    plan: Plan
    names: Sequence[str]
    scores: Mapping[str, Scores]
    pairs: Sequence[tuple[str, str]]
    clusters: IntArray | None
    common: str
    test: str
    alpha: float
    n_resamples: int

    @functools.cached_property
    def _averaged(self) -> dict[tuple[str, str], Averaged]:
        return {
            (entry.label, name): self.scores[name].averaged(entry)
            for entry in self.plan.metrics
            for name in self.names
        }

    def _sets(self, label: str, names: Sequence[str]) -> Any:
        """Who is averaged: a row of truth values for each system."""
        sets = [np.zeros(len(self.scores[name].users), dtype=bool) for name in names]
        for members, name in zip(sets, names, strict=True):
            members[self._averaged[label, name].users] = True
        return np.stack(sets)

    def _users(self, label: str, names: Sequence[str]) -> IntArray:
        """Users that all of the named systems are averaged for."""
        return np.flatnonzero(self._sets(label, names).all(axis=0))

    def _values(self, label: str, name: str, users: IntArray) -> FloatArray:
        averaged = self._averaged[label, name]
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
            shared = self._users(entry.label, self.names)
            for name in self.names:
                averaged = self._averaged[entry.label, name]
                users = shared if self.common == "all" else averaged.users
                users = users if mask is None else users[mask[users]]
                chosen = dataclasses.replace(
                    averaged, values=self._values(entry.label, name, users), users=users
                )
                found[entry.label, name] = estimate(self.plan, entry, chosen, self.clusters)
        return found

    def differences(self, segment: str, mask: Any) -> list[Difference]:
        """All comparisons on all metrics, not yet corrected."""
        found = []
        for entry in self.plan.metrics:
            shared = self._users(entry.label, self.names)
            if self.common == "all" or "tukey" in self.test:
                users = shared if mask is None else shared[mask[shared]]
                table = np.column_stack([self._values(entry.label, n, users) for n in self.names])
                found += self._compare(entry, segment, self.names, users, table, self.pairs)
                continue
            for a, b in self.pairs:
                users = self._users(entry.label, (a, b))
                users = users if mask is None else users[mask[users]]
                table = np.column_stack([self._values(entry.label, n, users) for n in (a, b)])
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


def paired_values(
    a: Scores, b: Scores, entry: MetricPlan
) -> tuple[pl.Series, FloatArray, FloatArray]:
    """The users that both systems are averaged for, and their values.

    Parameters
    ----------
    a, b : Scores
        Of the same users.
    entry : MetricPlan

    Returns
    -------
    polars.Series and two float64 arrays, each of shape (n,)
        Ids, values of a, values of b.
    """
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
    result: FloatArray = sums * (n / table.shape[0])
    return result


def _detectable(n: int, sd: float, alpha: float) -> float:
    if n < 2 or math.isnan(sd):
        return math.nan
    return sd * _detectable_units(n, alpha)


@functools.cache
def _detectable_units(n: int, alpha: float) -> float:
    return st.minimum_detectable_effect(n, alpha=alpha)


def adjusted(
    found: Sequence[Difference], test: str, correction: str, family: str, alpha: float
) -> list[Difference]:
    """Correct the p-values of each family, segments included.

    Parameters
    ----------
    found : sequence of Difference
    test, correction : str
        Tests for all pairs at once need no correction.
    family : str
        What is corrected together: the differences on each ``metric``, or ``all`` of them.
    alpha : float
        The largest corrected p that is significant.
    """
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
