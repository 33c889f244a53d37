"""The tests of all pairs of systems, over all users and within segments, family by family."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from rankmeter._choices import Setting
from rankmeter._evidence.hits import FloatArray, IntArray
from rankmeter._results.counts import SKEWED, SKEWED_DIFFERENCES
from rankmeter._results.differences import (
    Difference,
    Heterogeneity,
    Lead,
    difference_seen_from,
    rank_sets,
)
from rankmeter._results.estimates import Estimate, clip_interval, mean_interval
from rankmeter._results.settings import Settings, Values
from rankmeter._results.wording import group_by_key
from rankmeter._statistics.intervals import (
    ROUNDING,
    SampleMean,
    TestResult,
    is_skewed,
    pseudo_unit_change,
    spread_of_mean,
    student_interval,
    values_of_units,
)
from rankmeter._statistics.paired_tests import (
    count_changes_of_one_size,
    drawn_test,
    effect_of_moments,
    exact_test,
    heterogeneity_test,
    paired_t_test,
    randomization_tests,
    relative_gain,
    takes_mid_p,
    wilcoxon_test,
    wins_ties_losses,
)
from rankmeter._statistics.power import (
    MOST_SUMMED,
    minimum_detectable_effect,
    minimum_detectable_share,
)
from rankmeter._statistics.runs import (
    Crossed,
    Margins,
    crossed_test,
    crossed_variance,
    margin_tests,
)
from rankmeter._statistics.step_down import (
    MOST_FLIPPED,
    Hypotheses,
    adjust_p_values,
    step_down_test,
)
from rankmeter._statistics.vectors import Moments, moments, moments_of_differences
from rankmeter.errors import InvalidValueError
from rankmeter.errors._checks import count_users, words_in_use

LARGEST_VALUE = 1e100
"""Sums of the third powers of larger values would overflow, and so would all that is tested."""
FEW_USERS = 10
POWER = 0.8


@dataclass(frozen=True, eq=False)
class _Group:
    """Values of systems on one metric over common users, and the pairs of columns to compare.

    The `others` are all other pairs, which count only for the ranks of systems.
    `rows` are the independent units, users or clusters, and `units` their values.
    """

    values: Values
    segment: str
    pairs: list[tuple[int, int]]
    others: list[tuple[int, int]]
    table: FloatArray
    clusters: IntArray | None
    rows: IntArray
    units: FloatArray
    runs: Sequence[FloatArray]

    @functools.cached_property
    def moments(self) -> list[Moments]:
        """Moments of each system over the users."""
        return [*map(moments, self.table.T)]

    @functools.cached_property
    def largest(self) -> list[float]:
        """The largest size of a value of each system, of units."""
        return [*np.abs(self.units).max(axis=0, initial=0.0)]


class _Tested(NamedTuple):
    """P of a pair, and its p among all pairs in a single step; its test unless flips are shared.

    `least` is the smallest p in a single step that any signs of the differences would give.
    """

    p: float
    single: float
    result: TestResult | None = None
    least: float = 0.0


class _Family(NamedTuple):
    """Tests of all pairs by group, p of the family in its order, and levels of one comparison."""

    groups: list[dict[tuple[int, int], _Tested]]
    adjusted: Sequence[float]
    test_level: float
    interval_level: float
    draws: int = 0
    """Flips that were drawn and that all pairs share."""


@dataclass(frozen=True, eq=False)
class _Pair:
    """Two systems of a group, with their values, and the settings of their comparison."""

    group: _Group
    system_names: tuple[str, str]
    user_values: tuple[FloatArray, FloatArray]
    user_moments: tuple[Moments, Moments]
    largest: float  # size of a value of units
    unit_values: tuple[FloatArray, FloatArray]
    run_values: Sequence[FloatArray]
    setting: Setting
    settings: Settings

    @functools.cached_property
    def user_differences(self) -> FloatArray:
        """The differences of users."""
        return self.user_values[0] - self.user_values[1]

    @functools.cached_property
    def unit_differences(self) -> FloatArray:
        """The differences of users or clusters."""
        return self.unit_values[0] - self.unit_values[1]

    @property
    def value_span(self) -> float:
        """Largest possible difference of two values: by the metric, else the observed range."""
        if math.isfinite(self.group.values.span):
            return self.group.values.span
        return float(np.ptp(self.user_values)) if self.user_differences.size else 0.0

    @functools.cached_property
    def unit_moments(self) -> Moments:
        """Moments of the differences of units."""
        return moments_of_differences(self.unit_differences, self.largest)

    @functools.cached_property
    def user_spread(self) -> SampleMean:
        """Spread of the differences of users."""
        return spread_of_mean(self.user_differences, self.group.clusters)

    @functools.cached_property
    def widening_change(self) -> float:
        """The change by which rare differences widen an interval; 0 for plain Student's t."""
        if self.setting.uses_bootstrap or self.settings.test == "t":
            return 0.0
        return pseudo_unit_change(self.unit_differences, self.value_span)

    @functools.cached_property
    def crossed(self) -> Crossed:
        """Variance of the difference over users × runs."""
        return crossed_variance(*self.run_values)

    def crossed_test(self) -> TestResult:
        """Test two systems over users × runs; at least one system has several training runs."""
        result = crossed_test(*self.run_values)
        runs = {n: x.shape[1] for n, x in zip(self.system_names, self.run_values, strict=True)}
        single, notes = [name for name, number in runs.items() if number == 1], []
        if single:
            has = "has one training run" if len(single) == 1 else "have one training run each"
            notes.append(f"{' and '.join(single)} {has}, whose training variance is not included")
        if 2 in runs.values():
            notes.append("fewer than 3 training runs: interval and test are rough")
        return result if result.note else replace(result, note="; ".join(notes))

    def randomization_test(self, p: float, draws: int) -> TestResult:
        """The randomization test, exact where that is possible; `p` is from random flips.

        For very many users t has the same p as the flips.
        """
        x, y = self.unit_values
        exact = exact_test(x, y)
        if exact is None and np.count_nonzero(x != y) > MOST_FLIPPED:
            return paired_t_test(x, y)
        return exact or drawn_test(self.unit_moments.mean, p, draws)

    def least_p_value(self, result: TestResult) -> float:
        """The smallest p that any signs of these differences would give; 0 for t and many users."""
        if not ("randomization" in result.method or result.method.startswith("Wilcoxon")):
            return 0.0
        d = self.unit_differences
        least = math.ldexp(1.0 if takes_mid_p(d) else 2.0, -int(np.count_nonzero(d)))
        return max(least, 1.0 / (1.0 + result.draws) if result.draws else 0.0)

    def untested(self) -> TestResult:
        """The result without a test, of fewer than two users or clusters."""
        n, clustered = len(self.group.rows), self.group.clusters is not None
        units = "clusters" if clustered else words_in_use().users
        users = f" of {count_users(len(self.group.table))}" if clustered and n else ""
        note = f"a paired test needs at least 2 {units}, got {n}{users}"
        return replace(paired_t_test(*self.unit_values), note=note)

    def spread_of_differences(self, span: float) -> SampleMean:
        """Spread of the differences; without variation, with a pseudo-unit as in an interval."""
        d = self.unit_differences
        variation = float(np.abs(d - d.mean()).max()) / ROUNDING
        change = max(pseudo_unit_change(d, span) - variation, 0.0)
        return self.user_spread.with_pseudo_unit(change)

    def make_difference(
        self, tested: _Tested, adjusted: float, family: _Family, size: int
    ) -> Difference:
        """Difference of the two systems with its test; `size` is the number of tests."""
        values, draws = self.group.values, family.draws
        result = tested.result or self.randomization_test(tested.p, draws)
        p, least = max(adjusted, result.p), (1.0 + 1e-9) / (1.0 + result.draws)
        is_bound = result.draws > 0 and result.p <= least  # none of the flips reaches it
        shared = bool(draws) and size > 1 and tested.result is None
        a, b = self.system_names
        low, high = self.difference_interval(result.method, family.interval_level)
        margins = self.test_against_margin()
        mean = self.user_spread.mean
        alone = self.group.clusters is None
        largest = self.largest if alone else np.abs(self.user_values).max(initial=0.0)
        if abs(mean) <= 4 * np.finfo(np.float64).eps * largest:
            mean = 0.0  # the means are equal but for rounding
        direction = mean if result.direction is None else result.direction
        favored = direction * (values.increasing or -1)
        return Difference(
            metric=values.label,
            segment=self.group.segment,
            a=a,
            b=b,
            mean_a=self.user_moments[0].mean,
            mean_b=self.user_moments[1].mean,
            difference=mean,
            low=low,
            high=high,
            p=result.p,
            p_adjusted=p,
            statistic=result.statistic,
            method=result.method,
            **self.effect_sizes(),
            detectable=self.detectable_difference(result.method, family.test_level),
            n=self.user_differences.size,
            significant=bool(p <= self.setting.alpha),
            increasing=values.increasing,
            note=result.note or self.caution_note(),
            share_of_runs=self.crossed.share_of_runs if self.group.runs else math.nan,
            margin=margins.margin,
            p_not_worse=margins.not_lower,
            p_not_better=margins.not_higher,
            p_equivalent=max(margins.not_lower, margins.not_higher),
            p_not_worse_alone=margins.not_lower,
            p_not_better_alone=margins.not_higher,
            better=a if favored > 0 else b if favored < 0 else "",
            family=size,
            alone=bool(result.p <= self.setting.alpha),
            confidence=self.setting.confidence,
            p_is_bound=is_bound,
            p_adjusted_is_bound=p <= 1.0 / (1.0 + draws) if shared else is_bound,
            clusters=0 if self.group.clusters is None else len(self.group.rows),
        )

    def effect_sizes(self) -> dict[str, Any]:
        """Effect sizes, wins, ties and losses; per-user effects are NaN or 0 for pooled values."""
        group, (x, y) = self.group, self.user_values
        better, worse = (x, y) if group.values.increasing else (y, x)
        by_user = not group.values.pooled
        wins, ties, losses = wins_ties_losses(better, worse) if by_user else (0, 0, 0)
        options: dict[str, Any] = {"clusters": group.clusters, "known": self.user_moments}
        options |= {"confidence": self.setting.confidence, "change": self.widening_change}
        gain, ends = relative_gain(x, y, **options)
        sign = math.copysign(1.0, self.user_moments[1].mean)
        return {
            "d_z": effect_of_moments(self.unit_moments) if by_user else math.nan,
            "gain": sign * gain,
            "gain_low": min(sign * end for end in ends),
            "gain_high": max(sign * end for end in ends),
            "per_user": by_user,
            "wins": wins,
            "ties": ties,
            "losses": losses,
        }

    def caution_note(self) -> str:
        """Note on few or skewed differences; empty otherwise."""
        if self.unit_differences.size < FEW_USERS:
            units = words_in_use().users if self.group.clusters is None else "clusters"
            return f"only {self.unit_differences.size} {units}: treat differences with caution"
        d, bounded = self.unit_differences, math.isfinite(self.group.values.span)
        # Those of hits are as likely of either sign where the means are equal.
        known = count_changes_of_one_size(d) if bounded else self.setting.uses_bootstrap
        if self.group.values.pooled or known or not is_skewed(d):
            return ""
        skewed = SKEWED_DIFFERENCES.format(users=words_in_use().users) if bounded else SKEWED
        return f"differences {skewed}"

    def test_against_margin(self) -> Margins:
        """Test whether x is worse, and whether x is better, by the margin; NaN without a margin."""
        group = self.group
        margin = self.settings.margin_for_metric(group.values.label)
        if margin is None:
            return Margins(math.nan, math.nan, math.nan)
        size, relative = margin
        x, y = self.run_values if group.runs else self.user_values
        options: dict[str, Any] = {"span": group.values.span, "clusters": group.clusters}
        tests = margin_tests(x, y, size, relative=relative, **options)
        if group.values.increasing:
            return tests
        return Margins(tests.margin, tests.not_higher, tests.not_lower)

    def difference_interval(self, method: str, level: float) -> tuple[float, float]:
        """The interval of a difference: from the bootstrap, or Student's t.

        Rare differences count (`pseudo_unit_change`), unless Student's t is the interval or the
        test.
        """
        group, change = self.group, self.widening_change
        if self.setting.uses_bootstrap and not group.runs:
            summary = moments(self.user_differences)
            return mean_interval(self.user_differences, summary, self.setting, group.clusters)
        if self.settings.test == "t" and "randomization" in method:  # t has no result
            change = pseudo_unit_change(self.unit_differences, self.value_span)
        error = self.crossed.spread if group.runs else self.user_spread
        error = error.with_pseudo_unit(change)
        ends = student_interval(error, 1.0 - level)
        if self.settings.test == "t" or group.runs:
            return ends
        if error.se == 0.0:  # equal values, on an unknown scale
            return math.nan, math.nan
        span = group.values.span
        return clip_interval((-span, span), error.mean, *ends)

    def detectable_difference(self, method: str, level: float) -> float:
        """Smallest difference detectable with these users at the level of the family, or NaN."""
        n, _, sd = self.unit_moments
        if n < 2 or level >= POWER:
            return math.nan
        flips = "randomization" in method or method.startswith("Wilcoxon")
        sizes, hits = np.abs(self.unit_differences), takes_mid_p(self.unit_differences)
        changed = int(np.count_nonzero(sizes))
        if self.group.runs:
            n = int(self.crossed.df) + 1
            sd = self.crossed.se * math.sqrt(n)
        least = minimum_detectable_effect(n, power=POWER, alpha=level) * sd
        if flips and (2.0 ** (1 - changed) > level or (hits and changed <= MOST_SUMMED)):
            # An exact test counts the users that differ. More would, if the difference were larger.
            share = minimum_detectable_share(n, changed, power=POWER, alpha=level)
            least = share * (float(sizes.max()) if hits else self.value_span)
        return least if 0.0 < least <= self.group.values.span else math.nan


@dataclass(frozen=True, eq=False)
class PairedTests:
    """The tests of all pairs of systems, on any part of the users.

    All values are over the same users; `clusters` holds the cluster of each of them.
    """

    setting: Setting
    settings: Settings
    names: Sequence[str]
    values: Sequence[Values]
    clusters: IntArray | None

    def __post_init__(self) -> None:
        for values in self.values:
            for name, averaged in zip(self.names, values.averaged, strict=True):
                largest = np.abs(averaged.values).max(initial=0.0)
                if largest > LARGEST_VALUE:
                    raise InvalidValueError(
                        f"The values of {name} in {values.label} reach {largest:g}, but a "
                        f"comparison takes values up to {LARGEST_VALUE:g}, so that differences and "
                        "their squares do not overflow. Scale the values, or the gains behind them."
                    )

    @functools.cached_property
    def _column_pairs(self) -> list[tuple[int, int]]:
        """Pairs of columns to compare: each system and the baseline, or all, the earlier first."""
        if self.settings.baseline is None:
            return list(itertools.combinations(range(len(self.names)), 2))
        baseline = self.names.index(self.settings.baseline)
        return [(i, baseline) for i in range(len(self.names)) if i != baseline]

    @functools.cached_property
    def overall_estimates(self) -> dict[tuple[str, str], Estimate]:
        """Means by metric and system, over all common users."""
        return self.estimates(np.arange(self.values[0].n_users))

    def estimates(self, users: IntArray) -> dict[tuple[str, str], Estimate]:
        """Means by metric and system, over the common users among some users."""
        estimates: dict[tuple[str, str], Estimate] = {}
        for values in self.values:
            means = values.estimates(self.setting, users, self.clusters)
            estimates |= zip([(values.label, name) for name in self.names], means, strict=True)
        return estimates

    @functools.cached_property
    def correction(self) -> str:
        """Correction in effect: Holm instead of maxT without sign flips."""
        if self.settings.correction == "maxt" and self._test_name != "randomization":
            return "holm"
        return self.settings.correction

    def settings_facts(self) -> dict[str, Any]:
        """The settings of the comparison, for a result."""
        settings = self.settings
        return {
            "test": settings.test,
            "correction": self.correction,
            "family": "each metric" if settings.family == "metric" else "everything",
            "confidence": self.setting.confidence,
            "n_resamples": settings.n_resamples,
            "seed": self.setting.seed,
            "margin": settings.margin_text,
        }

    @functools.cached_property
    def _test_name(self) -> str:
        """Name of the test in effect; ``auto`` depends on correction and number of users."""
        if any(values.runs for values in self.values):
            return "crossed"
        if self.settings.test != "auto":
            return self.settings.test
        if self.settings.correction == "maxt":  # the flips of many users have a normal limit
            return "randomization"
        n_users = max(int(values.averaged_mask.any(axis=1).sum()) for values in self.values)
        return "randomization" if n_users <= MOST_FLIPPED else "t"

    def differences(
        self, segments: Mapping[str, IntArray]
    ) -> tuple[tuple[Difference, ...], tuple[Heterogeneity, ...], dict[str, Lead]]:
        """Compare systems over all users, then within segments; test heterogeneity and leads.

        The comparisons over all users come first. Those within segments are one family of their
        own.
        """
        everyone = self._make_groups("", np.arange(self.values[0].n_users))
        leads: dict[str, Lead] = {}
        overall = self._compare_groups(everyone, leads)
        groups = [
            group for name, users in segments.items() for group in self._make_groups(name, users)
        ]
        within = self._compare_groups(groups)
        return (*overall, *within), (*self._test_heterogeneity(overall, groups),), leads

    def _make_groups(self, segment: str, among: IntArray) -> list[_Group]:
        """The values of each metric over the common users among some users."""
        columns, pairs = range(len(self.names)), self._column_pairs
        compared = {*pairs, *(pair[::-1] for pair in pairs)}
        others = [
            p for p in itertools.combinations(columns, 2) if not segment and p not in compared
        ]
        groups = []
        for values in self.values:
            users = among[values.compared_mask[among]]
            table = np.asfortranarray(values.values_of_users(users))
            if values.pooled and np.isnan(table).any():  # a number that these users do not have
                users, table = users[:0], table[:0]
            cluster_ids, rows, units = None, users, table
            if self.clusters is not None:
                cluster_ids = self.clusters[users]
                rows = np.unique(cluster_ids)
                units = np.stack([values_of_units(x, cluster_ids) for x in table.T], axis=1)
            runs = [values.values_in_runs(users, i) for i in columns] if values.runs else []
            data = (table, cluster_ids, rows, units, runs)
            groups.append(_Group(values, segment, pairs, others, *data))
        return groups

    def _pair(self, group: _Group, columns: tuple[int, int]) -> _Pair:
        (i, j), table, units, runs = columns, group.table, group.units, group.runs
        of_users = (table[:, i], table[:, j]), (group.moments[i], group.moments[j])
        of_runs = (runs[i], runs[j]) if runs else ()
        names = self.names[i], self.names[j]
        largest = max(group.largest[i], group.largest[j])
        values = (*of_users, largest, (units[:, i], units[:, j]), of_runs)
        return _Pair(group, names, *values, self.setting, self.settings)

    def _compare_groups(
        self, groups: Sequence[_Group], leads: dict[str, Lead] | None = None
    ) -> list[Difference]:
        """Compare the systems of groups, in order, with p-values corrected within each family.

        `leads` by metric are added to; without them all groups are one family.
        """
        by_metric = leads is not None and self.settings.family == "metric"
        differences: list[Difference] = []
        for family in [[group] for group in groups] if by_metric else [groups]:
            tested = self._test_family(family)
            adjusted = iter(tested.adjusted)
            if leads is not None:
                leads |= self._find_leads(family, tested)
            size = 1 if self.correction == "none" else max(_count_tests(family), 1)
            found = [
                self._pair(group, pair).make_difference(own[pair], next(adjusted), tested, size)
                for group, own in zip(family, tested.groups, strict=True)
                for pair in group.pairs
            ]
            if self.settings.margin is not None and self.settings.correction != "none":
                found = _correct_margin_p_values(found)
            differences += found
        return differences

    def _test_family(self, family: Sequence[_Group]) -> _Family:
        """Test one family, in order."""
        if self._test_name == "randomization" and self.correction == "maxt":
            return self._test_step_down(family)
        level, is_corrected = self.setting.alpha, self.correction != "none"
        n_all = sum(len(group.pairs) + len(group.others) for group in family)
        times = n_all if is_corrected else 1
        tested = [
            {
                pair: _Tested(
                    r.p,
                    min(1.0, times * r.p) if _favors_mean(r) else 1.0,
                    r,
                    times * self._pair(group, pair).least_p_value(r),
                )
                for pair, r in self._test_pairs(group, n_all).items()
            }
            for group in family
        ]
        p = [own[pair].p for group, own in zip(family, tested, strict=True) for pair in group.pairs]
        if not is_corrected:
            return _Family(tested, p, level, level)
        single_level = level / max(_count_tests(family), 1)
        return _Family(tested, adjust_p_values(p).tolist(), single_level, level)

    def _find_leads(self, family: Sequence[_Group], tested: _Family) -> Iterable[tuple[str, Lead]]:
        """For each metric, which ranks all pairs in a single step leave for the systems."""
        n_pairs = sum(len(g.pairs) + len(g.others) for g in family if len(g.rows) > 1)
        n_pairs = 1 if self.correction == "none" else n_pairs
        alone = tested._replace(test_level=self.setting.alpha, interval_level=self.setting.alpha)
        for group, own in zip(family, tested.groups, strict=True):
            means = self._signed_means(group)
            if np.isnan(means).any():
                continue
            best, second = np.argsort(-means, kind="stable")[:2].tolist()
            pair, difference = (min(best, second), max(best, second)), None
            if pair in group.others and len(group.rows) > 1:
                step = own[pair]
                difference = self._pair(group, pair).make_difference(
                    step, step.single, alone, n_pairs
                )
                difference = difference_seen_from(difference, self.names[best])
            undecidable = tuple(
                (self.names[i], self.names[j])
                for (i, j), step in own.items()
                if step.least > self.setting.alpha
                and np.any(group.units[:, i] != group.units[:, j])
            )
            shown = [pair for pair, step in own.items() if step.single <= self.setting.alpha]
            ranks = rank_sets(self.names, means, shown)
            yield group.values.label, Lead(self.names[best], ranks, undecidable, difference)

    def _signed_means(self, group: _Group) -> FloatArray:
        """The mean of each system over all users, of which larger ones are better."""
        label, sign = group.values.label, 1.0 if group.values.increasing else -1.0
        return sign * np.array([self.overall_estimates[label, name].mean for name in self.names])

    def _test_pairs(self, group: _Group, size: int) -> dict[tuple[int, int], TestResult]:
        """Test each pair of one group, before any correction by `adjust_p_values`."""
        columns = [*group.pairs, *group.others]
        pairs = {pair: self._pair(group, pair) for pair in columns}
        if len(group.rows) < 2:
            return {columns: pair.untested() for columns, pair in pairs.items()}
        if group.runs:
            return {columns: pair.crossed_test() for columns, pair in pairs.items()}
        results: dict[tuple[int, int], TestResult] = {}
        if self._test_name != "randomization":
            run_test = paired_t_test if self._test_name == "t" else wilcoxon_test
            results = {columns: run_test(*pair.unit_values) for columns, pair in pairs.items()}
        # Where all users differ by the same amount, t has no result, but randomization has one.
        flipped = [pair for pair in columns if pair not in results or math.isnan(results[pair].p)]
        # A drawn p is at least 1 / (1 + draws), which a correction multiplies.
        needed = 0 if self.correction == "none" else math.ceil(10 * size / self.setting.alpha)
        draws = max(self.settings.n_resamples, min(needed, 10**7))
        seeded = {"n_resamples": draws, "seed": self.setting.seed}
        by_flips = randomization_tests(group.units, flipped, **seeded)
        return results | dict(zip(flipped, by_flips, strict=True))

    def _test_step_down(self, family: Sequence[_Group]) -> _Family:
        """Run randomization tests, corrected by the largest statistic of each flip."""
        size, level = _count_tests(family), self.setting.alpha
        testable = [group for group in family if len(group.rows) > 1]
        seeded = {"n_resamples": self.settings.n_resamples, "seed": self.setting.seed}
        tested = step_down_test(_stack_groups(testable), level=level, **seeded)
        numbers, others = itertools.count(), itertools.count(size)
        groups, adjusted = [], []
        for group in family:
            pairs = [*group.pairs, *group.others]
            if len(group.rows) < 2:
                own = [_Tested(math.nan, math.nan, self._pair(group, p).untested()) for p in pairs]
                adjusted += [math.nan] * len(group.pairs)
            else:
                of_family = [next(numbers) for _ in group.pairs]
                places = [*of_family, *(next(others) for _ in group.others)]
                columns = (tested.p, tested.single, tested.least)
                rows = np.stack(columns, axis=1)[places].tolist()
                own = [_Tested(p, single, least=least) for p, single, least in rows]
                adjusted += [float(tested.adjusted[n]) if size > 1 else 0.0 for n in of_family]
            groups.append(dict(zip(pairs, own, strict=True)))
        return _Family(groups, adjusted, tested.level, tested.level, tested.n_resamples)

    def _test_heterogeneity(
        self, overall: Iterable[Difference], groups: Sequence[_Group]
    ) -> Iterable[Heterogeneity]:
        """Test each difference over all users for heterogeneity between segments."""
        for d in overall:
            columns = self.names.index(d.a), self.names.index(d.b)
            pairs = [
                self._pair(group, columns)
                for group in groups
                if group.values.label == d.metric and len(group.rows) > 1
            ]
            if len(pairs) > 1:
                span = max(pair.value_span for pair in pairs)
                q, p = heterogeneity_test([pair.spread_of_differences(span) for pair in pairs])
                yield Heterogeneity(d.metric, d.a, d.b, q, p, len(pairs))


def _favors_mean(result: TestResult) -> bool:
    """Whether the test favors the system with the better mean, as all tests of means do."""
    return result.direction is None or result.direction * result.difference >= 0.0


def _stack_groups(groups: Sequence[_Group]) -> list[Hypotheses]:
    """Stack groups into tables of disjoint rows: a table per segment, or a table of clusters."""
    tables = group_by_key(
        (group.segment if group.clusters is None else "", group) for group in groups
    )
    hypotheses = []
    for members in tables.values():
        rows = np.unique(np.concatenate([group.rows for group in members]))
        width = sum(group.units.shape[1] for group in members)
        scores, start, pairs, others = np.zeros((rows.size, width)), 0, [], []
        for group in members:
            end = start + group.units.shape[1]
            scores[np.searchsorted(rows, group.rows), start:end] = group.units
            pairs += [(start + i, start + j) for i, j in group.pairs]
            others += [(start + i, start + j) for i, j in group.others]
            start = end
        hypotheses.append(Hypotheses(scores, [*pairs, *others], len(pairs)))
    return hypotheses


def _count_tests(family: Sequence[_Group]) -> int:
    """Number of comparisons with at least two units, which a test needs."""
    return sum(len(group.pairs) for group in family if len(group.rows) > 1)


def _correct_margin_p_values(family: Sequence[Difference]) -> list[Difference]:
    """Apply Holm's correction to the tests against a margin: each claim is a family."""
    names = ("p_not_worse", "p_not_better", "p_equivalent")
    columns = [adjust_p_values([getattr(d, name) for d in family]).tolist() for name in names]
    rows = zip(*columns, strict=True)
    return [
        replace(d, **dict(zip(names, row, strict=True)))
        for d, row in zip(family, rows, strict=True)
    ]
