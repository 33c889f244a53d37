"""Do the tests and intervals keep their promises? Simulation with sparse, skewed per-user metrics.

Three promises: where two systems do not differ, a test at the level 0.05 rejects in 5 % of the
comparisons; an interval of confidence 0.95 covers the true mean in 95 % of the samples; over many
systems that do not differ, a corrected family of tests makes any claim in at most 5 % of the
experiments. Prints the shares as Markdown, with the standard error that the repetitions leave: all
of them for the default and for t, a tenth for the other tests, two fifths for the intervals and
clusters, a twenty-fifth for the bootstrap of intervals, a fifth for pooled shares, a quarter for
families, a twentieth for groups and segments that differ, a tenth for ranks, judges, cutoffs and
training runs, and a fiftieth for pilots.

The tests of families flip signs that 25 experiments share, in a formulation of their own. It is
compared with rankmeter's in one of 200 experiments.

    python benchmarks/calibration.py --repetitions 25000
"""

from __future__ import annotations

import argparse
import functools
import itertools
import math
import platform
import shlex
import sys
import warnings
from collections import Counter
from types import SimpleNamespace

import numpy as np
import polars as pl
import scipy.stats

import rankmeter as rm
from rankmeter import metric as metric_of
from rankmeter import sample_size
from rankmeter._across.random_effects import random_effects
from rankmeter._engine.scores import Averaged
from rankmeter._judge.corrected import Sample, best_weight, correct
from rankmeter._judge.judged import Study
from rankmeter._results import curves
from rankmeter._statistics import intervals
from rankmeter._statistics.intervals import (
    Interval,
    bootstrap_interval,
    pseudo_unit_change,
    spread_of_mean,
    stratified_spread,
    student_interval,
    t_quantile,
)
from rankmeter._statistics.paired_tests import (
    binomial_p_value,
    count_changes_of_one_size,
    paired_t_test,
    randomization_tests,
    takes_mid_p,
    wilcoxon_test,
)
from rankmeter._statistics.runs import crossed_test, margin_tests
from rankmeter._statistics.step_down import Hypotheses, adjust_p_values, step_down_test
from rankmeter.errors import RankmeterWarning
from rankmeter.metrics import Ratio

LEVEL = 0.05
RESAMPLES = 999
USERS = (25, 50, 100, 1000)
DISCOUNTS = 1 / np.log2(np.arange(2, 12))


def reciprocal_rank(rng, n, systems):
    """RR@10 of systems that find the item of a user equally well; some users are easier."""
    easy = 0.005 + 0.99 * rng.beta(0.6, 2.5, (n, 1))
    rank = rng.geometric(np.broadcast_to(easy, (n, systems)))
    return np.where(rank <= 10, 1 / rank, 0.0)


def ndcg(rng, n, systems):
    """NDCG@10 with one to a dozen relevant items, of which easy users find more."""
    easy = rng.beta(0.8, 4.0, (n, 1, 1))
    relevant = 1 + rng.poisson(2.5, n)
    hits = rng.random((n, systems, 10)) < easy
    hits &= np.cumsum(hits, axis=2) <= relevant[:, None, None]
    ideal = np.cumsum(DISCOUNTS)[np.minimum(relevant, 10) - 1]
    return hits @ DISCOUNTS / ideal[:, None]


def first_or_second(rng, n, systems):
    """RR of two systems with the mean 0.2: rank 1 for 20 % of the users, rank 2 for 40 %."""
    return np.column_stack([rng.random(n) < 0.2, 0.5 * (rng.random(n) < 0.4)]).astype(float)


def few_lose(rng, n, systems):
    """5 % of the users lose 0.38 and all others gain 0.02, apart from the first system."""
    change = np.where(rng.random((n, systems)) < 0.05, -0.38, 0.02)
    return change * (np.arange(systems) > 0)


def few_gain(rng, n, systems):
    """10 % of the users lose 0.09 and 1 % gain 0.9, apart from the first system."""
    place = rng.random((n, systems))
    change = np.where(place < 0.1, -0.09, 0.9 * (place > 0.99))
    return change * (np.arange(systems) > 0)


def exponential(rng, n, systems):
    """Exponential changes of the mean 0, apart from the first system."""
    return (rng.exponential(0.1, (n, systems)) - 0.1) * (np.arange(systems) > 0)


def t_interval(x, clusters=None):
    """Student's t interval of the mean."""
    return student_interval(spread_of_mean(np.asarray(x), clusters), 0.95)


def wilson_interval(x, clusters=None):
    """Wilson's interval of the mean of values between 0 and 1."""
    spread = spread_of_mean(x, clusters)
    return intervals.wilson_interval(spread, (0, 1), 0.95, x.size, spread.effective)


def randomization_test(a, b, **drawn):
    """The randomization test of one pair."""
    return randomization_tests(np.column_stack([a, b]), [(0, 1)], **drawn)[0]


METRICS = {"RR@10": reciprocal_rank, "NDCG@10": ndcg}
SKEWED = {
    "RR@10 of other ranks": first_or_second,
    "5 % lose 0.38, others gain 0.02": few_lose,
    "10 % lose 0.09, 1 % gain 0.9": few_gain,
    "exponential": exponential,
}
"""Systems with equal means whose users do not differ symmetrically."""

# Every repetition has flips and resamples of its own: one set of them has luck of its own.
PAIRED = {
    "**randomization (default)**": lambda a, b, drawn: randomization_test(a, b, **drawn),
    "paired t": lambda a, b, _: paired_t_test(a, b),
    "Wilcoxon": lambda a, b, _: wilcoxon_test(a, b),
}
OFTEN = {"**randomization (default)**", "paired t"}
"""Repeated as often as asked for; the other tests a tenth as often."""

INTERVALS = {
    "**Wilson, effective n (default)**": lambda x, _: wilson_interval(x),
    "t": lambda x, _: t_interval(x),
    "bootstrap, BCa": lambda x, drawn: bootstrap_interval(x, **drawn),
}
DEFAULT, SELDOM = "**Wilson, effective n (default)**", {"bootstrap, BCa"}


def sparse(zeros, relevant=1):
    """RR@10 (or NDCG@10) with a share of zeros among users that are easier and harder."""

    def simulate(rng, n, systems):
        easy = rng.beta(0.5, 0.5 * zeros / (1 - zeros), (n, 1))
        found = rng.random((n, systems)) < easy
        if relevant == 1:
            return np.where(found, 1 / np.minimum(rng.geometric(0.35, (n, systems)), 10), 0.0)
        hits = rng.random((n, systems, 10)) < 0.25
        hits[:, :, 0] |= ~hits.any(axis=2)
        ideal = np.cumsum(DISCOUNTS)[relevant - 1]
        return np.where(found, np.minimum(hits @ DISCOUNTS / ideal, 1.0), 0.0)

    return simulate


def hits(rate):
    """Hit rates of users that are easier and harder."""

    def simulate(rng, n, systems):
        easy = rng.beta(2 * rate, 2 * (1 - rate), (n, 1))
        return (rng.random((n, systems)) < easy).astype(float)

    return simulate


POPULATIONS = {
    "RR, 35 % zeros": sparse(0.35),
    "RR, 60 %": sparse(0.60),
    "NDCG, 60 %": sparse(0.60, 4),
    "NDCG, 85 %": sparse(0.85, 4),
    "RR, 88 %": sparse(0.88),
    "RR, 96 %": sparse(0.96),
    "hit rate 5 %": hits(0.05),
    "hit rate 20 %": hits(0.20),
    "hit rate 50 %": hits(0.50),
}


def rejections(simulate, n, repetitions, rng):
    """Share of rejections of each paired test at the level, with its number of repetitions."""
    rejected, done = Counter(), Counter()
    for repetition in range(repetitions):
        a, b = simulate(rng, n, 2).T
        for name, test in PAIRED.items():
            if name in OFTEN or repetition % 10 == 0:
                p = test(a, b, {"n_resamples": RESAMPLES, "seed": repetition}).p
                rejected[name] += p <= LEVEL
                done[name] += 1
    return {name: (rejected[name] / done[name], done[name]) for name in PAIRED}


def coverage(simulate, n, repetitions, rng, truth):
    """Share of the intervals that cover the true mean, and the mean widths of the first two."""
    covered, done, width, odd = Counter(), Counter(), Counter(), 0
    for repetition in range(repetitions):
        x = simulate(rng, n, 1)[:, 0]
        for name, interval in INTERVALS.items():
            if name in SELDOM and repetition % 10:
                continue
            low, high = interval(x, {"n_resamples": RESAMPLES, "seed": repetition})
            covered[name] += low <= truth <= high
            width[name] += high - low
            odd += name == DEFAULT and (low == high or low < 0 or high > 1)
            done[name] += 1
    shares = {name: (covered[name] / done[name], done[name]) for name in INTERVALS}
    shares["a default that is a point or leaves the scale"] = (odd / repetitions, repetitions)
    for name in (DEFAULT, "t"):
        shares[f"mean width, {name.strip('*')}"] = (width[name] / repetitions, 0)
    return shares


def cluster_coverage(groups, repetitions, rng, *, unequal=False):
    """Means and differences of users that resemble each other within clusters."""
    covered, size = Counter(), 10
    for _ in range(repetitions):
        sizes = np.full(groups, size)
        if unequal:
            sizes = np.maximum(np.rint(np.exp(rng.normal(1.8, 1.0, groups))), 1).astype(int)
        labels = np.repeat(np.arange(groups), sizes)
        easy = rng.beta(0.6, 1.4, groups)[labels]  # the mean is 0.3 whatever the sizes are
        x = (rng.random(labels.size) < easy).astype(float)
        y = (rng.random(labels.size) < easy).astype(float)
        moved = rng.normal(0, 0.3, groups)[labels]
        d = x - y + moved
        for name, (low, high), truth in (
            ("**mean: Wilson, jackknife (default)**", wilson_interval(x, clusters=labels), 0.3),
            ("mean: Wilson, as if rows were users", wilson_interval(x), 0.3),
            ("**difference: t, jackknife (default)**", t_interval(d, clusters=labels), 0.0),
            ("difference: t, as if rows were users", t_interval(d), 0.0),
        ):
            covered[name] += low <= truth <= high
    return {name: (count / repetitions, repetitions) for name, count in covered.items()}


def group_coverage(simulate, sizes, repetitions, rng):
    """Intervals of the mean of the means of groups, of which each has an easiness of its own."""
    levels = np.clip(np.exp(np.random.default_rng(7).normal(0, 0.7, sizes.size)), 0.1, 4)
    truth = np.mean([simulate(level)[1] for level in levels])
    covered, width = Counter(), Counter()
    for _ in range(repetitions):
        groups = [
            simulate(level)[0](rng, n, 1)[:, 0] for level, n in zip(levels, sizes, strict=True)
        ]
        found, means = stratified_spread(groups), [x.mean() for x in groups]
        for name, (low, high) in {
            "**users within groups (default)**": intervals.wilson_interval(
                found, (0, 1), 0.95, found.units, found.units
            ),
            "groups as units": t_interval(means),
        }.items():
            covered[name] += low <= truth <= high
            width[name] += high - low
    shares = {name: (count / repetitions, repetitions) for name, count in covered.items()}
    widths = {f"mean width, {name.strip('*')}": (width[name] / repetitions, 0) for name in covered}
    return shares | widths


def print_groups(repetitions, rng):
    """Means of the means of groups."""
    print("## Means of groups\n")
    few, uneven = repetitions // 20, np.random.default_rng(5)
    sizes = {
        "3 of 50": np.full(3, 50),
        "10 of 5": np.full(10, 5),
        "9 of 300, one of 8": np.array([8] + [300] * 9),
        "100, uneven": np.maximum(np.rint(np.exp(uneven.normal(2.5, 1.5, 100))), 1).astype(int),
    }

    @functools.cache
    def rare(level):
        easy = sparse(1 - 0.1 * level)
        return easy, np.mean(easy(np.random.default_rng(1), 1_000_000, 1))

    @functools.cache
    def often(level):
        return hits(0.2 * level), 0.2 * level

    columns = {
        f"{words}: {name}": group_coverage(simulate, of, few, rng)
        for name, simulate in (("hit rate 20 %", often), ("RR, 90 % zeros", rare))
        for words, of in sizes.items()
    }
    print_table("groups of users: share that covers the mean of means", columns, digits=3)


def pooled_recall(rng, n):
    """Hits and relevant items, of which few users have many, of two equal systems."""
    relevant, easy = 1 + rng.negative_binomial(0.7, 0.1, n), rng.beta(0.8, 2.4, n)
    return [(rng.binomial(relevant, easy).astype(float), relevant) for _ in range(2)]


def pooled_precision(rng, n):
    """Hits and shown items, in lists of other lengths for each of two equal systems."""
    easy = rng.beta(0.8, 2.4, n)
    lengths = [1 + rng.binomial(9, rng.beta(1, 1, n)) for _ in range(2)]
    return [(rng.binomial(length, easy).astype(float), length) for length in lengths]


def pooled_snips(rng, n):
    """The same as recall, with weights of the items by propensity."""
    relevant = 1 + rng.negative_binomial(0.7, 0.1, n)
    user = np.repeat(np.arange(n), relevant)
    weight, easy = rng.integers(1, 401, user.size) ** 0.6, rng.beta(0.8, 2.4, n)[user]
    found = [weight * (rng.random(user.size) < easy) for _ in range(2)]
    return [(np.bincount(user, one), np.bincount(user, weight)) for one in found]


def pooled_otherwise(rng, n):
    """Equal pooled recall: one system finds the items of few heavy users, one those of others."""
    heavy = rng.random(n) < 0.2
    relevant = np.where(heavy, 16, 4)
    shares = (np.where(heavy, 0.15, 0.35), np.where(heavy, 0.35, 0.15))
    return [(rng.binomial(relevant, share).astype(float), relevant) for share in shares]


POOLED = {
    "recall": pooled_recall,
    "precision, lists of other lengths": pooled_precision,
    "SNIPS": pooled_snips,
    "recall, of other users": pooled_otherwise,
}
"""The pooled share of each is 0.25."""


def pooled(simulate, n, repetitions, rng):
    """Share of the differences of pooled shares that are found, and of intervals that cover."""
    found = Counter()
    for repetition in range(repetitions):
        a, b = (Ratio(*one).influence() for one in simulate(rng, n))
        drawn = {"n_resamples": RESAMPLES, "seed": repetition}
        found["**randomization (default)**: p ≤ 0.05"] += (
            randomization_test(a, b, **drawn).p <= LEVEL
        )
        found["paired t: p ≤ 0.05"] += paired_t_test(a, b).p <= LEVEL
        low, high = wilson_interval(a)
        found["**Wilson, effective n (default)**: covers"] += low <= 0.25 <= high
    return {name: (count / repetitions, repetitions) for name, count in found.items()}


def equal_systems(simulate, n, systems, rng):
    """Systems that do not differ."""
    return simulate(rng, n, systems)


def near_copies(simulate, n, systems, rng):
    """Near-copies of one model and two unrelated models, all with equal means."""
    one, *others = simulate(rng, n, 3).T
    copies = []
    for _ in range(systems - 2):
        copy, moved = one.copy(), rng.random(n) < 0.03
        copy[moved] = rng.permutation(copy[moved])
        copies.append(copy)
    return np.column_stack([*copies, *others])


def better_half(simulate, n, systems, rng):
    """Systems of which the second half finds a little more than the first."""
    scores = simulate(rng, n, systems)
    more = simulate(rng, n, systems) * (rng.random((n, systems)) < 0.35)
    scores[:, systems // 2 :] = np.maximum(scores, more)[:, systems // 2 :]
    return scores


class MinP:
    """The step-down test on given signs, written apart from that of rankmeter.

    Many experiments can share their signs, which makes them cheap.
    """

    def __init__(self, tables, signs):
        rows, hits = [], []
        for (scores, pairs), own in zip(tables, signs, strict=True):
            first, second = np.array(pairs).T
            norm = np.sqrt(np.square(scores[:, first] - scores[:, second]).sum(axis=0))
            norm[norm == 0] = np.inf
            sums = np.vstack([scores.sum(axis=0), own @ scores])
            rows.append(np.abs(sums[:, first] - sums[:, second]) / norm)
            hits += [takes_mid_p(scores[:, i] - scores[:, j]) for i, j in pairs]
        statistics, self.mid = np.concatenate(rows, axis=1), np.array(hits)
        columns = [self._scores(*column) for column in zip(statistics.T, hits, strict=True)]
        self.p = np.array([p for p, _ in columns])
        self.scores = np.stack([scores for _, scores in columns], axis=1)
        self.largest = self.scores.max(axis=1)

    @staticmethod
    def _scores(x, mid):
        """The p of the first statistic, and all as normal scores: by rank, if not normal."""
        n, ranked = x.size, np.sort(x)
        reached = n - np.searchsorted(ranked, x * (1 - 1e-9))
        if mid:
            reached = 0.5 * (reached + n - np.searchsorted(ranked, x * (1 + 1e-9), "right"))
        p, tail = reached[0] / n, ranked[n - math.ceil(0.01 * n)]
        share = (np.mean(x >= tail * (1 - 1e-9)) + np.mean(x > tail * (1 + 1e-9))) / 2
        if abs(tail / scipy.stats.norm.isf(max(share, 1 / n) / 2) - 1) < 0.05:
            return p, x
        scores = scipy.stats.norm.isf(reached / n / 2)
        far = ranked[n - math.ceil(0.002 * n)]
        if far > 0:
            share = np.mean(x >= far * (1 - 1e-9))
            longer = scipy.stats.norm.isf(share / 2) * x / far
            scores = np.where(x > far * (1 + 1e-9), np.fmax(scores, longer), scores)
        return p, scores

    @functools.cached_property
    def single(self):
        """p adjusted in a single step; the smallest is that of the step-down test, too."""
        top = np.sort(self.largest)
        reached = 1 - np.searchsorted(top, self.scores[0] * (1 - 1e-6)) / top.size
        more = 1 - np.searchsorted(top, self.scores[0] * (1 + 1e-6), "right") / top.size
        return np.maximum(np.where(self.mid, 0.5 * (reached + more), reached), self.p)

    @functools.cached_property
    def adjusted(self):
        """p adjusted step by step."""
        order, adjusted = np.argsort(-self.scores[0]), np.empty(self.p.size)
        left = np.maximum.accumulate(self.scores[:, order[::-1]], axis=1)[:, ::-1]
        steps = (left >= self.scores[0, order] * (1 - 1e-6)).mean(axis=0)
        more = (left > self.scores[0, order] * (1 + 1e-6)).mean(axis=0)
        steps = np.where(self.mid[order], 0.5 * (steps + more), steps)
        adjusted[order] = np.maximum.accumulate(steps)
        return np.maximum(adjusted, self.p)


def shared_signs(rng, n, repetitions):
    """Signs of n users for every repetition: 25 in a row have the same."""
    for repetition in range(repetitions):
        if repetition % 25 == 0:
            signs = 1.0 - 2.0 * rng.integers(0, 2, (RESAMPLES, n))
        yield repetition, signs


def check(quick, tables, seed):
    """Whether rankmeter finds the same, but for the luck of its flips."""
    flips = {"n_resamples": RESAMPLES, "seed": seed}
    tables = [Hypotheses(*one) for one in tables]
    found = step_down_test(tables, **flips)
    for theirs, own in ((found.adjusted, quick.adjusted), (found.single, quick.single)):
        error = np.sqrt(2 * quick.p * (1 - quick.p) / RESAMPLES) * min(quick.p.size, 10)
        assert np.all(np.abs(theirs - own) <= 6 * error + 0.05), (theirs, own)


def family(make, simulate, n, systems, repetitions, rng):
    """Share of the experiments with any claim."""
    pairs = list(itertools.combinations(range(systems), 2))
    claimed = Counter()
    for repetition, signs in shared_signs(rng, n, repetitions):
        scores = make(simulate, n, systems, rng)
        tables = [(scores, pairs)]
        stepped = MinP(tables, [signs])
        if repetition % 200 == 0 and len(pairs) < 100:  # far tails of few flips have much luck
            check(stepped, tables, repetition)
        for name, found in (
            ("**step-down (default)**", stepped.single.min() <= LEVEL),
            ("Holm over t tests", paired_t(scores, pairs).min() * len(pairs) <= LEVEL),
            ("no correction", stepped.p.min() <= LEVEL),
        ):
            claimed[name] += found
    return {name: (count / repetitions, repetitions) for name, count in claimed.items()}


def power(simulate, n, systems, repetitions, rng):
    """Share of the true differences that are found."""
    pairs = list(itertools.combinations(range(systems), 2))
    true = np.array([(i < systems // 2) != (j < systems // 2) for i, j in pairs])
    found = Counter()
    for _, signs in shared_signs(rng, n, repetitions):
        scores = better_half(simulate, n, systems, rng)
        stepped = MinP([(scores, pairs)], [signs])
        for name, p in (
            ("**step-down (default)**", stepped.adjusted),
            ("in a single step (of leaders)", stepped.single),
            ("Holm over t tests", adjust_p_values(paired_t(scores, pairs))),
        ):
            found[name] += (p <= LEVEL)[true].mean()
    return {name: (count / repetitions, repetitions) for name, count in found.items()}


def segment_claims(simulate, n, systems, shifts, repetitions, rng):
    """Wrong claims about the second half of the systems in segments, and the true ones found.

    Segments have equal sizes. In each a share of the users of the second half of the systems is
    moved up, or down if it is negative.
    """
    pairs = list(itertools.combinations(range(systems), 2))
    part, half = np.arange(n) % len(shifts), systems // 2
    apart = np.array([(i < half) != (j < half) for i, j in pairs])
    true = np.concatenate([apart & (shift != 0) for shift in shifts])
    wrong, found = Counter(), Counter()
    for repetition, signs in shared_signs(rng, n, repetitions):
        scores = simulate(rng, n, systems)
        share = np.asarray(shifts)[part]
        moved = rng.random((n, systems - half)) < np.abs(share)[:, None]
        scores[:, half:] = np.where(moved, (share > 0)[:, None], scores[:, half:])
        places = [part == one for one in range(len(shifts))]
        tables = [(scores[own], pairs) for own in places]
        within = MinP(tables, [signs[:, own] for own in places])
        if repetition % 200 == 0:
            check(within, tables, repetition)
        t = np.concatenate([paired_t(scores[own], pairs) for own in places])
        for name, p in (
            ("**a family of their own (default)**", within.adjusted),
            ("Bonferroni over t tests", np.minimum(t * t.size, 1)),
            ("no correction", within.p),
        ):
            wrong[name] += np.any(p[~true] <= LEVEL)
            found[name] += (p[true] <= LEVEL).mean() if true.any() else 0.0
    shares = {f"{name}: wrong": (wrong[name] / repetitions, repetitions) for name in wrong}
    return shares | {f"{name}: found": (found[name] / repetitions, 0) for name in wrong}


def paired_t(scores, pairs):
    """p of the paired t tests of all pairs, 1 where two systems are the same."""
    first, second = np.array(pairs).T
    d = scores[:, first] - scores[:, second]
    se = d.std(axis=0, ddof=1) / math.sqrt(len(d))
    t = np.divide(np.abs(d.mean(axis=0)), se, out=np.zeros(len(pairs)), where=se > 0)
    return 2 * scipy.stats.t.sf(t, len(d) - 1)


def print_table(title, columns, digits=4):
    """A row per method, a column per setting; a share has its standard error, a width none.

    A median has None in the place of its number of repetitions.
    """
    rows = list(next(iter(columns.values())))
    print(f"| {title} | {' | '.join(columns)} |")
    print(f"|---|{'---:|' * len(columns)}")
    for row in rows:
        cells = []
        for column in columns.values():
            share, n = column[row]
            error = n and math.sqrt(max(share * (1 - share), 0.5 / n) / n)
            shown = f"{share:g}" if n is None else f"{share:.{digits}f}"
            cells.append(shown + (f" ± {error:.{digits}f}" if n else ""))
        print(f"| {row} | {' | '.join(cells)} |")
    print()


def print_tests(repetitions, rng):
    """Tests of pairs that do not differ."""
    print("## Systems that do not differ\n")
    for name, simulate in METRICS.items():
        columns = {f"{n} users": rejections(simulate, n, repetitions, rng) for n in USERS}
        print_table(f"{name}: share of p ≤ 0.05", columns)

    print("## Systems with equal means that differ otherwise\n")
    for name, simulate in SKEWED.items():
        columns = {f"{n} users": rejections(simulate, n, repetitions // 5, rng) for n in USERS}
        print_table(f"{name}: share of p ≤ 0.05", columns)


def print_intervals(repetitions, rng):
    """Intervals of means, of users and of clusters."""
    often = 2 * repetitions // 5
    print("## Intervals of means\n")
    truths = {
        name: np.mean([simulate(rng, 100_000, 1).mean() for _ in range(40)])
        for name, simulate in POPULATIONS.items()
    }
    for n in (10, 30, 100, 610):
        columns = {
            name: coverage(simulate, n, often, rng, truths[name])
            for name, simulate in POPULATIONS.items()
        }
        print_table(f"{n} users: share that covers the mean", columns, digits=3)

    print("## Clusters\n")
    for words, unequal in (("of ten rows", False), ("of unequal sizes", True)):
        columns = {
            f"{groups} clusters": cluster_coverage(groups, often, rng, unequal=unequal)
            for groups in (5, 10, 20, 50)
        }
        print_table(f"clusters {words}: share that covers", columns)


def print_pooled(repetitions, rng):
    """Pooled shares of two systems with equal shares."""
    print("## Pooled shares\n")
    for name, simulate in POOLED.items():
        columns = {f"{n} users": pooled(simulate, n, repetitions // 5, rng) for n in USERS}
        print_table(f"pooled {name}", columns, digits=3)


def print_families(repetitions, rng):
    """Families of comparisons."""
    print("## Families of comparisons\n")
    few = repetitions // 4
    chosen = chosen_populations()
    for make, words in ((equal_systems, "equal systems"), (near_copies, "near-copies and others")):
        columns = {}
        for systems in (5, 10) if make is equal_systems else (10,):
            for name, simulate in chosen.items():
                columns[f"{systems}: {name}"] = family(make, simulate, 200, systems, few, rng)
        print_table(f"200 users, {words}: any claim", columns, digits=3)
    columns = {
        name: family(equal_systems, simulate, n, 7, few, rng)
        for n in (100, 300)
        for name, simulate in ((f"{n} users: {name}", SKEWED[name]) for name in list(SKEWED)[1:])
    }
    print_table("7 systems with equal means, skewed differences: any claim", columns, digits=3)


def chosen_populations():
    """Three populations of families."""
    return {name: POPULATIONS[name] for name in ("RR, 60 %", "NDCG, 85 %", "hit rate 20 %")}


def print_many(repetitions, rng):
    """Families of 780 comparisons."""
    few, chosen = repetitions // 4, chosen_populations()
    columns = {
        name: family(equal_systems, chosen[name], 200, 40, few, rng)
        for name in ("RR, 60 %", "hit rate 20 %")
    }
    print_table("200 users, 40 equal systems: any claim", columns, digits=3)


def print_power(repetitions, rng):
    """True differences that are found."""
    few, chosen = repetitions // 4, chosen_populations()
    columns = {name: power(simulate, 200, 10, few, rng) for name, simulate in chosen.items()}
    print_table("200 users, 10 systems: share of 25 true differences found", columns, digits=3)


def print_segments(repetitions, rng):
    """Segments of systems that do not differ, or of which some do, also against each other."""
    few, chosen = repetitions // 4, chosen_populations()
    columns = {
        f"equal: {name}": segment_claims(simulate, 600, 3, [0] * 10, few, rng)
        for name, simulate in chosen.items()
    }
    columns["equal means, exponential"] = segment_claims(exponential, 600, 2, [0] * 10, few, rng)
    designs = {
        "one of three harmed, others gain": (2, [-0.2, 0.1, 0.1]),
        "one of six gains": (2, [0.25, 0, 0, 0, 0, 0]),
        "half of six gain": (4, [0.25, 0.25, 0.25, 0, 0, 0]),
        "half gain, half lose": (2, [0.2, 0.2, -0.2, -0.2]),
        "all gain alike": (2, [0.15] * 4),
    }
    for words, (systems, shifts) in designs.items():
        columns[words] = segment_claims(POPULATIONS["NDCG, 60 %"], 600, systems, shifts, few, rng)
    print_table("600 users: any wrong claim; share of true ones found", columns, digits=3)


def print_unequal(repetitions, rng):
    """The test whether a difference is the same in all segments, of which one is without any."""
    print("## Segments that differ\n")
    few = repetitions // 20
    same = {
        name: [DIFFERENCES[name]] * 3
        for name in ("hit rate 5 %, 10 % move", "hit rate 20 %, 10 % move", "3 % gain")
    }
    same |= {name: [DIFFERENCES[name]] * 3 for name in ("RR, 88 %", "NDCG, 60 %", "dense")}
    same["equal; cold users have 0"] = [DIFFERENCES["NDCG, 60 %"]] * 2 + [lambda _, n: np.zeros(n)]
    other = {
        "gain; cold users have 0": [changes(0.12, 0.02)] * 2 + [lambda _, n: np.zeros(n)],
        "one of three harmed": [changes(0.05, 0.02)] * 2 + [changes(0.02, 0.12)],
    }
    for words, designs in (("the same in all", same), ("not the same", other)):
        columns = {}
        for name, simulate in designs.items():
            columns[name] = {}
            for sizes in ((100, 100, 100), (300, 300, 300), (400, 200, 60)):
                labels, found = dict(enumerate(np.repeat(["a", "b", "c"], sizes))), 0
                for _ in range(few):
                    x = np.concatenate([of(rng, n) for of, n in zip(simulate, sizes, strict=True)])
                    values = {"new": dict(enumerate(x)), "old": dict.fromkeys(range(x.size), 0)}
                    made = rm.compare_values(values, segments=labels, scale=(-1, 1), test="t")
                    found += made.heterogeneity[0].p <= LEVEL
                columns[name][", ".join(map(str, sizes))] = (found / few, few)
        print_table(f"{words}, users of three segments: share of p ≤ 0.05", columns, digits=3)


def correlated(base, kept):
    """Two systems of a population: the second has the value of the first for a share of users."""

    def simulate(rng, n):
        both = base(rng, n, 2)
        return np.where(rng.random(n) < kept, 0.0, both[:, 0] - both[:, 1])

    return simulate


def changes(better, worse, sizes=(1.0,)):
    """Shares of users that gain and that lose, by one of some sizes."""

    def simulate(rng, n):
        place = rng.random(n)
        sign = (place < better).astype(float) - (place > 1 - worse)
        return sign * rng.choice(sizes, n)

    return simulate


def jitter_and_losers(rng, n, share, jitter=0.01, gain=0.0):
    """A share of the users loses 0.6, all others have a jitter around a gain."""
    return np.where(rng.random(n) < share, -0.6, rng.normal(gain, jitter, n))


DIFFERENCES = {
    "hit rate 1 %, 10 % of hits move": changes(0.002, 0.001),
    "hit rate 5 %, 10 % move": changes(0.008, 0.004),
    "hit rate 20 %, 10 % move": changes(0.03, 0.02),
    "3 % gain": changes(0.03, 0.0),
    "RR, 96 % zeros": correlated(sparse(0.96), 0.5),
    "RR, 88 %": correlated(sparse(0.88), 0.3),
    "NDCG, 60 %": correlated(sparse(0.60, 4), 0.3),
    "RR steps, 4 % gain": changes(0.04, 0.01, (1.0, 0.5, 1 / 3, 0.25, 0.2)),
    "dense": lambda rng, n: rng.normal(0.01, 0.1, n),
    "exponential": lambda rng, n: exponential(rng, n, 2)[:, 1],
    "jitter, 5 % lose": lambda rng, n: jitter_and_losers(rng, n, 0.05),
    "more jitter, 5 % lose": lambda rng, n: jitter_and_losers(rng, n, 0.05, 0.03),
}


def tango(x, confidence=0.95):
    """Tango's score interval of the difference of two hit rates (Statistics in Medicine 17, 1998).

    Other differences count as hits of the size that has their first two moments.
    """
    n, up, down = x.size, x[x > 0].sum(), -x[x < 0].sum()
    size = float(np.square(x).sum() / (up + down)) if np.any(x) else 1.0
    gained, lost, mean = up / size, down / size, x.mean() / size
    z = t_quantile(0.5 + 0.5 * confidence, n - 1)

    def beyond(delta):
        linear = -gained - lost + (2 * n - gained + lost) * delta
        constant = -lost * delta * (1 - delta)
        losing = (math.sqrt(max(linear**2 - 8 * n * constant, 0.0)) - linear) / (4 * n)
        variance = max(2 * losing + delta * (1 - delta), 1e-300) / n
        return abs(mean - delta) > z * math.sqrt(variance)

    ends = []
    for end in (-1.0, 1.0):
        inside, outside = mean, end
        for _ in range(40):
            middle = 0.5 * (inside + outside)
            inside, outside = (inside, middle) if beyond(middle) else (middle, outside)
        ends.append(size * inside)
    return Interval(*ends)


def steadied(x, level=LEVEL):
    """The default interval of a difference on a scale from 0 to 1."""
    known = spread_of_mean(x).with_pseudo_unit(pseudo_unit_change(x, 1.0))
    half = -t_quantile(level / 2, known.df) * known.se
    return Interval(known.mean - half, known.mean + half)


DIFFERENCE_INTERVALS = {
    "**t with one more user (default)**": steadied,
    "t": t_interval,
    "Tango's score": tango,
}


def difference_coverage(simulate, n, repetitions, rng, truth):
    """Share of the intervals of a difference that cover it, their width, and points."""
    covered, width, points = Counter(), Counter(), Counter()
    for _ in range(repetitions):
        x = simulate(rng, n)
        for name, interval in DIFFERENCE_INTERVALS.items():
            low, high = interval(x)
            covered[name] += low <= truth <= high
            width[name] += high - low
            points[name] += low == high
    shares = {name: (covered[name] / repetitions, repetitions) for name in DIFFERENCE_INTERVALS}
    for name in DIFFERENCE_INTERVALS:
        shares[f"mean width, {name.strip('*')}"] = (width[name] / repetitions, 0)
    shares["t is a point"] = (points["t"] / repetitions, 0)
    return shares


def print_differences(repetitions, rng):
    """Intervals of the difference of two sparse metrics."""
    print("## Intervals of differences\n")
    few = repetitions // 5
    truths = {
        name: np.mean([simulate(rng, 100_000).mean() for _ in range(40)])
        for name, simulate in DIFFERENCES.items()
    }
    for n in (30, 100, 300, 1000):
        columns = {
            name: difference_coverage(simulate, n, few, rng, truths[name])
            for name, simulate in DIFFERENCES.items()
        }
        print_table(f"{n} users: share that covers the difference", columns, digits=3)


def print_agreement(repetitions, rng):
    """What it would cost to take the interval and the test of a difference from one method."""
    print("## One method for interval and test\n")
    few = repetitions // 5
    sparse_ndcg = np.random.default_rng(0).beta(1, 3, 10_000)
    designs = {
        "hits, 6 % differ": (0.03, 0.03, {100: (0.07, 0.01), 300: (0.05, 0.02)}, (1.0,)),
        "RR steps, 10 %": (0.05, 0.05, {100: (0.1, 0.02), 300: (0.07, 0.03)}, STEPS),
        "NDCG, 40 %": (0.2, 0.2, {100: (0.35, 0.2), 300: (0.28, 0.2)}, sparse_ndcg),
    }
    for n in (100, 300):
        columns = {}
        for name, (better, worse, unequal, sizes) in designs.items():
            for words, shares in (("equal", (better, worse)), ("not equal", unequal[n])):
                truth = (shares[0] - shares[1]) * np.mean(sizes)
                simulate = changes(*shares, sizes)
                columns[f"{words}: {name}"] = agreement(simulate, n, few, rng, truth)
        print_table(f"{n} users: share of the samples", columns, digits=3)


def agreement(simulate, n, repetitions, rng, truth):
    """Differences found, and intervals that cover, by three pairs of a test and an interval."""
    counts = Counter()
    for start in range(0, repetitions, 50):
        signs = 1.0 - 2.0 * rng.integers(0, 2, (n, RESAMPLES))
        for _ in range(min(50, repetitions - start)):
            x = simulate(rng, n)
            (low, high), total, flipped = steadied(x), x.sum(), x @ signs
            p = np.mean(np.append(np.abs(flipped) >= abs(total) * (1 - 1e-9), True))
            if changes := count_changes_of_one_size(x):
                p = binomial_p_value(*changes, mid=takes_mid_p(x))
            # The means of the flipped and of all other users are where a flip equals the data.
            number = signs.sum(axis=0)
            ends = np.sort([(total - flipped) / (n - number), (total + flipped) / (n + number)], 0)
            allowed = math.floor(LEVEL * (RESAMPLES + 1)) - 1
            least, most = np.sort(ends[0])[allowed], np.sort(ends[1])[-1 - allowed]
            counts["**test by flips (default)**: found"] += p <= LEVEL
            counts["**t with one more user (default)**: covers"] += low <= truth <= high
            counts["t with one more user as the test: found"] += not low <= 0 <= high
            counts["inverted flips as the interval: covers"] += least <= truth <= most
            counts["defaults that disagree"] += (p <= LEVEL) == (low <= 0 <= high)
    return {name: (count / repetitions, repetitions) for name, count in counts.items()}


MARGINS = (
    (30, 0.1),
    (50, 0.1),
    (100, 0.05),
    (200, 0.02),
    (500, 0.01),
    (1000, 0.005),
    (5000, 0.005),
)
STEPS = (1.0, 0.5, 1 / 3, 0.25, 0.2)


def margin_claims(simulate, n, margin, repetitions, rng):
    """Share of "not worse by the margin"."""
    claims = Counter()
    for _ in range(repetitions):
        x = simulate(rng, n)
        p = margin_tests(x, np.zeros(n), margin, span=1.0).not_lower
        claims["**rankmeter (default)**"] += p <= LEVEL
        se = spread_of_mean(x).se
        p = scipy.stats.t.sf((x.mean() + margin) / se, n - 1) if se else 0.0
        claims["one-sided t"] += p <= LEVEL
    return {name: (count / repetitions, repetitions) for name, count in claims.items()}


def print_margins(repetitions, rng):
    """Wrong claims at the boundary, where the true loss is the margin, and power."""
    print("## Not worse by the margin\n")
    few, step = repetitions // 5, np.mean(STEPS)
    boundary = {
        "only losers": lambda m: changes(0.0, m),
        "3 losers to 1 winner": lambda m: changes(m / 2, 1.5 * m),
        "30 % of users differ": lambda m: changes(0.15 - m / 2, 0.15 + m / 2),
        "only losers, steps of RR": lambda m: changes(0.0, m / step, STEPS),
        "3 losers to 1 winner, RR": lambda m: changes(m / 2 / step, 1.5 * m / step, STEPS),
        "jitter of 0.01, losers of 0.6": lambda m: (
            lambda rng, n: jitter_and_losers(rng, n, m / 0.6)
        ),
        "jitter of 0.03, losers of 0.6": lambda m: (
            lambda rng, n: jitter_and_losers(rng, n, m / 0.6, 0.03)
        ),
        "all gain 0.01, losers of 0.6": lambda m: (
            lambda rng, n: jitter_and_losers(rng, n, (m + 0.01) / 0.61, 0.0, 0.01)
        ),
    }
    for words, make in boundary.items():
        columns = {f"n {n}, margin {m}": margin_claims(make(m), n, m, few, rng) for n, m in MARGINS}
        print_table(f"{words}, the loss is the margin: wrong claims", columns, digits=3)
    equal = {
        "6 % of users differ": (
            changes(0.03, 0.03),
            ((100, 0.05), (300, 0.05), (1000, 0.02), (1000, 0.01), (5000, 0.005)),
        ),
        "dense, standard deviation 0.1": (
            lambda rng, n: rng.normal(0.0, 0.1, n),
            ((30, 0.05), (100, 0.02), (100, 0.03), (1000, 0.01), (5000, 0.005)),
        ),
    }
    for words, (simulate, sizes) in equal.items():
        columns = {f"n {n}, margin {m}": margin_claims(simulate, n, m, few, rng) for n, m in sizes}
        print_table(f"equal systems, {words}: true claims", columns, digits=3)
    print_equivalence(repetitions, rng)


def print_equivalence(repetitions, rng):
    """Any wrong claim of equivalence among systems that differ from a baseline by the margin."""
    few, columns = repetitions // 5, {}
    for n, margin in ((600, 0.05), (2000, 0.03)):
        claims = Counter()
        for _ in range(few):
            p = []
            for side in (1, -1) * 10:
                x = side * changes(0.05, 0.05 + margin)(rng, n)
                p.append(margin_tests(x, np.zeros(n), margin, span=1.0)[1:])
            p = np.array(p)
            claims["**the larger p, in one family (default)**"] += np.any(
                adjust_p_values(p.max(axis=1)) <= LEVEL
            )
            sides = np.column_stack([adjust_p_values(side) for side in p.T])
            claims["each side in a family of its own"] += np.any(sides.max(axis=1) <= LEVEL)
        columns[f"n {n}, margin {margin}"] = {name: (c / few, few) for name, c in claims.items()}
    print_table("20 systems, half at each margin: any is equivalent", columns, digits=3)


def print_few(repetitions, rng):
    """Wilson's interval of a share with few expected hits."""
    print("## Few hits\n")
    columns = {}
    for rate in (0.005, 0.01, 0.02):
        columns[f"hit rate {rate:.1%}"] = {}
        for n in (30, 100, 300, 1000):
            found = rng.binomial(n, rate, repetitions)
            counts, times = np.unique(found, return_counts=True)
            ends = [wilson_interval(np.repeat([1.0, 0.0], [hit, n - hit])) for hit in counts]
            covers = np.array([low <= rate <= high for low, high in ends])
            columns[f"hit rate {rate:.1%}"][f"{n} users"] = (
                times @ covers / repetitions,
                repetitions,
            )
    print_table("share that covers the mean", columns, digits=3)


def print_levels(repetitions, rng):
    """Intervals of a family at other levels: whether all of them cover."""
    print("## Levels of families\n")
    few, n, systems = repetitions // 50, 200, 10
    pairs = list(itertools.combinations(range(systems), 2))
    columns = {}
    for confidence in (0.9, 0.95, 0.99):
        for name, simulate in chosen_populations().items():
            missed = 0
            for repetition in range(few):
                scores = simulate(rng, n, systems)
                flips = {"n_resamples": RESAMPLES, "seed": repetition, "level": 1 - confidence}
                alone = step_down_test([Hypotheses(scores, pairs)], **flips).level
                ends = [steadied(scores[:, i] - scores[:, j], alone) for i, j in pairs]
                missed += any(low > 0 or high < 0 for low, high in ends)
            columns[f"{confidence:g}: {name}"] = {"all 45 intervals cover": (1 - missed / few, few)}
    print_table("200 users, 10 equal systems", columns, digits=3)


def one_against_many(rng, n, systems, better):
    """One system that is better than others, of which one differs for few users only."""
    scores = sparse(0.60, 4)(rng, n, systems)
    moved = rng.random((n, systems)) < 0.3
    scores = np.where(moved, scores, scores[:, :1])
    few = rng.random(n) < better
    scores[:, 1] = np.where(few, np.minimum(scores[:, 0] + 0.15, 1), scores[:, 0])
    return scores


def print_balance(repetitions, rng):
    """Power of the default against Holm over the same p, where differences are unlike."""
    print("## Balance\n")
    few, n = repetitions // 12, 200
    designs = {
        "all pairs of 6, half better": (
            lambda: better_half(POPULATIONS["NDCG, 60 %"], n, 6, rng),
            list(itertools.combinations(range(6), 2)),
            lambda i, j: (i < 3) != (j < 3),
        ),
        "hits of 10, half better": (
            lambda: better_half(POPULATIONS["hit rate 20 %"], n, 10, rng),
            list(itertools.combinations(range(10), 2)),
            lambda i, j: (i < 5) != (j < 5),
        ),
        "one better for 4 % of users, against 7": (
            lambda: one_against_many(rng, n, 8, 0.04),
            [(j, 0) for j in range(1, 8)],
            lambda i, _: i == 1,
        ),
        "one better for 8 % of users, against 20": (
            lambda: one_against_many(rng, n, 21, 0.08),
            [(j, 0) for j in range(1, 21)],
            lambda i, _: i == 1,
        ),
        "near-copies and others": (
            lambda: better_half(
                lambda r, m, k: near_copies(POPULATIONS["RR, 60 %"], m, k, r), n, 10, rng
            ),
            list(itertools.combinations(range(10), 2)),
            lambda i, j: (i < 5) != (j < 5),
        ),
    }
    columns = {}
    for words, (make, pairs, differs) in designs.items():
        true = np.array([differs(i, j) for i, j in pairs])
        found = Counter()
        for _, signs in shared_signs(rng, n, few):
            stepped = MinP([(make(), pairs)], [signs])
            found["**step-down (default)**"] += (stepped.adjusted <= LEVEL)[true].mean()
            holm = adjust_p_values(stepped.p)
            found["Holm over the same p"] += (holm <= LEVEL)[true].mean()
        columns[words] = {name: (count / few, few) for name, count in found.items()}
    print_table("200 users: share of true differences found", columns, digits=3)


TIED = np.array([0, 0, 0, 1, 2, 3, 3, 4])
"""Eight systems from the best to the worst; equal numbers are equal means."""


def rank_near_copies(rng, n):
    """Copies of a model whose values move for 3 % of the users, and of one that is worse."""
    model, worse = sparse(0.60, 4)(rng, n, 2).T
    worse = np.where(rng.random(n) < 0.7, worse, 0.0)
    of = (model, worse)
    copies = [of[j > 3].copy() for j in range(8)]
    for copy in copies:
        moved = rng.random(n) < 0.03
        copy[moved] = rng.permutation(copy[moved])
    return np.column_stack(copies), np.repeat([0, 1], 4), None


def rank_unequal_variances(rng, n):
    """Equal means; the values of the last system vary forty times as much as those of the first."""
    scale = 40.0 ** np.linspace(0, 1, 8)
    return rng.normal(size=(n, 1)) + scale * rng.normal(size=(n, 8)), np.zeros(8), None


def rank_hits(rng, n):
    """Hits of 2 to 10 % of the users, more often of those that are easy."""
    easy = rng.beta(0.5, 1.5, (n, 1)) / 0.25
    rates = np.minimum(0.1 - 0.02 * TIED, 0.1) * easy
    return (rng.random((n, 8)) < rates).astype(float), TIED, None


def rank_clusters(rng, n):
    """One to nine users in each cluster, who agree in part about each system."""
    cluster = np.repeat(np.arange(n), rng.integers(1, 10, n))[:n]
    taste = rng.normal(0, 0.1, (n, 8))[cluster]
    return taste - 0.04 * TIED + rng.normal(0, 0.2, (n, 8)), TIED, cluster


def rank_half_tied(rng, n):
    """Four equal systems, and four that find fewer and fewer items."""
    worse = np.maximum(np.arange(8) - 3, 0)
    found = rng.random((n, 8)) < 0.8**worse
    return reciprocal_rank(rng, n, 8) * found, worse, None


RANKED = {
    "near-copies": (200, rank_near_copies),
    "unequal variances": (50, rank_unequal_variances),
    "hits, 2 to 10 %": (200, rank_hits),
    "clusters": (200, rank_clusters),
    "half tied": (100, rank_half_tied),
}


def print_ranks(repetitions, rng):
    """Sets of ranks that hold together: no system is said to be better that is not."""
    print("## Ranks\n")
    few, columns = max(repetitions // 10, 1), {}
    for name, (n, simulate) in RANKED.items():
        held, width = Counter(), Counter()
        for repetition in range(few):
            table, worse, clusters = simulate(rng, n)
            low = 1 + (worse[:, None] > worse).sum(axis=1)
            high = 8 - (worse[:, None] < worse).sum(axis=1)
            values = {f"s{j}": column for j, column in enumerate(table.T)}
            options = {} if clusters is None else {"clusters": dict(enumerate(clusters.tolist()))}
            drawn = {"n_permutations": RESAMPLES, "seed": repetition, **options}
            found = [*rm.compare_values(values, **drawn).leads["value"].ranks.values()]
            method = "**all sets hold (default)**"
            held[method] += all(
                of.low <= a and b <= of.high for of, a, b in zip(found, low, high, strict=True)
            )
            width[method] += np.mean([of.high - of.low + 1 for of in found])
            method = "percentiles of resampled ranks"
            drawn = table[rng.integers(n, size=(RESAMPLES, n))].mean(axis=1)
            ranks = 1 + (drawn[:, :, None] < drawn[:, None]).sum(axis=2)
            ends = np.quantile(ranks, [LEVEL / 2, 1 - LEVEL / 2], axis=0)
            held[method] += np.all((ends[0] <= low) & (high <= ends[1]))
            width[method] += np.mean(ends[1] - ends[0] + 1)
        columns[f"{name}, n = {n}"] = {key: (count / few, few) for key, count in held.items()} | {
            f"mean width: {key.strip('*')}": (total / few, 0) for key, total in width.items()
        }
    print_table("8 systems", columns, digits=3)


def print_datasets(repetitions, rng):
    """Systems on several data sets: intervals of these, of such ones, and of the next one."""
    print("## Data sets\n")
    few, columns = repetitions // 2, {}
    for k, between in itertools.product((3, 5, 10), (0.0, 0.02, 0.1)):
        sizes = rng.integers(40, 400, k)
        held = Counter()
        for _ in range(few):
            true = 0.05 + between * rng.normal(size=k + 1)
            groups = [rng.normal(m, 0.3, n) for m, n in zip(true, sizes, strict=False)]
            these = student_interval(stratified_spread(groups), 0.95)
            held["these data sets"] += these.low <= true[:k].mean() <= these.high
            spreads = [spread_of_mean(group) for group in groups]
            values, errors = np.array([(s.mean, s.se**2) for s in spreads]).T
            new = random_effects(values, errors, 0.95)
            held["mean of such data sets"] += new.interval.low <= 0.05 <= new.interval.high
            shown = rng.normal(true[k], 0.3 / math.sqrt(rng.integers(40, 400)))
            held["what another data set shows"] += (
                new.prediction.low <= shown <= new.prediction.high
            )
            usual = math.sqrt(errors.mean()) * t_quantile(0.975, k - 1.0)
            reach = math.sqrt(max((new.prediction.high - new.mean) ** 2 - usual**2, 0.0))
            held["the usual prediction, of its true value"] += abs(true[k] - new.mean) <= reach
        columns[f"{k}, sd {between:g}"] = {name: (n / few, few) for name, n in held.items()}
    print_table("data sets, sd between them: share of intervals that cover", columns, digits=3)


def first_hits(rate, slope=1.1, longest=20):
    """Hit rates at the cutoffs up to the longest, of users with one item at a power-law rank."""
    chance = np.arange(1, longest + 1) ** -slope
    chance *= rate / chance.sum()

    def simulate(rng, n):
        rank = rng.choice(longest + 1, size=n, p=np.append(chance, 1 - rate))
        return (rank[:, None] <= np.arange(longest)).astype(float)

    return simulate, chance.cumsum()


def graded(kind, scale, longest=20):
    """Precision, recall or NDCG at the cutoffs, of users who are easier and harder."""
    chance = scale * np.arange(1, longest + 1) ** -0.7
    gains, k = 1 / np.log2(np.arange(2, longest + 2)), np.arange(1, longest + 1)

    def simulate(rng, n):
        relevant = 1 + rng.poisson(2.0, (n, 1))
        hits = rng.random((n, longest)) < np.minimum(chance * rng.gamma(0.8, 1.25, (n, 1)), 0.95)
        hits &= np.cumsum(hits, axis=1) <= relevant
        if kind == "NDCG":
            return np.cumsum(hits * gains, axis=1) / gains.cumsum()[np.minimum(relevant, k) - 1]
        return np.cumsum(hits, axis=1) / (k if kind == "precision" else relevant)

    return simulate, simulate(np.random.default_rng(0), 400_000).mean(axis=0)


def at_the_limit(rate=0.5, longest=20):
    """The longest list is best; all others lose exactly 5 %, each those of other users."""

    def simulate(rng, n):
        best = rng.random((n, 1)) < rate
        found = best & (rng.random((n, longest)) >= 0.05)
        found[:, -1:] = best
        return found.astype(float)

    return simulate, np.append(np.full(longest - 1, rate * 0.95), rate)


CURVES = {
    "hit rate 5 %": first_hits(0.05),
    "hit rate 20 %": first_hits(0.20),
    "hit rate 8 %, 12 ranks alike": first_hits(0.08, 0.0, 12),
    "recall": graded("recall", 0.15),
    "NDCG": graded("NDCG", 0.15),
    "precision": graded("precision", 0.3),
    "19 cutoffs at the limit": at_the_limit(),
}
"""How to draw values at the cutoffs, and their true means."""


def curve_of(table):
    """The curve of users × cutoffs, by rankmeter."""
    spec = metric_of("hr@1").spec
    points = {k: SimpleNamespace(k=k, spec=spec) for k in range(1, table.shape[1] + 1)}
    users = np.arange(len(table))
    scores = SimpleNamespace(
        n_users=len(table), averaged=lambda point: Averaged(table[:, point.k - 1], users, 0, 0)
    )
    rows = curves._loss_rows("", points, scores, None)
    frame = pl.DataFrame({"system": [""] * len(points), "k": [*points], "mean": table.mean(axis=0)})
    return curves.Curve("", frame, losses=pl.DataFrame(rows, schema=curves.LOSSES, orient="row"))


def each_by_t(curve, tolerance):
    """The smallest k that a t test of its own calls good enough, whatever the longer ones are."""
    ((_, means),), pairs = curve._means_by_system(), curve._losses_by_k("")
    first = curves.best_cutoffs(means, increasing=True)[0]
    good = [
        k
        for k, mean in means.items()
        if curve._gap_to_tolerated_mean(mean, means[first], tolerance)
        >= t_quantile(1 - LEVEL, pairs[k]["df"])
        * curves._se_of_scaled_difference(pairs[k], 1 - tolerance)
    ]
    return min(good, default=first)


def print_cutoffs(repetitions, rng):
    """Cutoffs that are called good enough and are not, and how long the lists are."""
    print("## Cutoffs\n")
    tolerance, often = 0.05, repetitions // 10
    for n in (50, 200, 1000):
        columns = {}
        for name, (simulate, truth) in CURVES.items():
            needed = (1 - tolerance - 1e-9) * truth.max()
            enough = truth > needed * (1 + 1e-6) if name.startswith("19") else truth >= needed
            drawn = [curve_of(simulate(rng, n)) for _ in range(often)]
            found = [curve.smallest_good_k(tolerance=tolerance)[""] for curve in drawn]
            without = [each_by_t(curve, tolerance) for curve in drawn]
            shown = [k for k in found if k is not None]
            columns[name] = {
                "loses more than 5 %": (sum(not enough[k - 1] for k in shown) / often, often),
                "no k is shown": (1 - len(shown) / often, often),
                "median k (none: longest)": (np.median([k or truth.size for k in found]), None),
                "smallest k that loses at most 5 %": (1 + int(np.argmax(enough)), None),
                "a t test of each k: loses more": (
                    sum(not enough[k - 1] for k in without) / often,
                    often,
                ),
                "a t test of each k: median k": (np.median(without), None),
            }
        print_table(f"{n} users: smallest good k", columns, digits=3)


def print_sizes(repetitions, rng):
    """The power of the number of users that `sample_size` gives, and of plans from pilots."""
    print("## Sample sizes\n")
    columns = {}
    for share, difference in ((0.02, 0.01), (0.05, 0.02), (0.1, 0.03), (0.2, 0.05), (0.3, 0.02)):
        found = {}
        for name, n in (
            ("**`differing=`**", sample_size(differing=share, difference=difference).n),
            ("by t: `sd=`", sample_size(sd=math.sqrt(share), difference=difference).n),
        ):
            changed = rng.binomial(n, share, repetitions)
            wins = rng.binomial(changed, 0.5 + 0.5 * difference / share)
            fewer, tried = np.minimum(wins, changed - wins), np.maximum(changed, 1)
            p = 2 * scipy.stats.binom.cdf(fewer, tried, 0.5)
            p -= scipy.stats.binom.pmf(fewer, tried, 0.5)
            found[name] = (np.mean(p <= LEVEL), repetitions)
        columns[f"{share:.0%} differ, by {difference:g}"] = found
    print_table("hits and misses: power, promised 0.8", columns, digits=3)
    columns, often = {}, repetitions // 50
    needed = sample_size(sd=1, difference=0.2).n
    for n in (10, 20, 50):
        enough = Counter()
        for _ in range(often):
            pilot = {"A": rng.normal(size=n), "B": np.zeros(n)}
            for assurance in (None, 0.8):
                found = sample_size(pilot, difference=0.2, assurance=assurance)
                enough[assurance] += found.n >= needed
        columns[f"pilot of {n} users"] = {
            "without an assurance": (enough[None] / often, often),
            "assurance 0.8": (enough[0.8] / often, often),
        }
    print_table("plans with a power of at least 0.8", columns, digits=3)


def print_runs(repetitions, rng):
    """Several training runs of equal systems, against as many, and against one."""
    print("## Training runs\n")
    often = repetitions // 10
    for words, other in (("as many", None), ("one, which varies, too (a note says so)", 1)):
        columns = {}
        for runs in (2, 3, 5):
            rejected = 0
            for _ in range(often):
                user = rng.normal(0, 1, (200, 1))
                a, b = (
                    user + rng.normal(0, 0.05, r) + rng.normal(0, 0.5, (200, r))
                    for r in (runs, other or runs)
                )
                rejected += crossed_test(a, b).p <= LEVEL
            columns[f"{runs} runs"] = {"t over users × runs": (rejected / often, often)}
        print_table(f"200 users, against {words}: share of p ≤ 0.05", columns, digits=3)


OTHERS = 800
"""Queries that only the judge judges."""


def judge_of(right, *, kind=0.0, favours=0.0):
    """A judge that has the values of people for a share of the queries, else those of others.

    It is too kind to a share of the queries, and favours the last system in a share of them.
    """

    def simulate(rng, values, others):
        found = np.where(rng.random((len(values), 1)) < right, values, others)
        found = np.where(rng.random((len(values), 1)) < kind, np.maximum(found, others), found)
        found[:, -1] = np.where(rng.random(len(values)) < favours, 1.0, found[:, -1])
        return found

    return simulate


JUDGES = {
    "right for 98 %": judge_of(0.98),
    "right for 85 %": judge_of(0.85),
    "right for 50 %": judge_of(0.5),
    "too kind to 20 %": judge_of(1.0, kind=0.2),
    "favours the system in 10 %": judge_of(1.0, favours=0.1),
    "useless": judge_of(0.0),
}
JUDGED = {
    name: POPULATIONS[name]
    for name in ("NDCG, 60 %", "RR, 60 %", "RR, 88 %", "hit rate 5 %", "hit rate 20 %")
} | {"dense": lambda rng, n, systems: rng.beta(2, 3, (n, systems))}


def by_t(people, judge, others):
    """PPI++ as published: λ of the same queries, and Student's t for the normal quantile."""
    sample = Sample(people.size, people.size + others.size)
    every = np.concatenate([judge, others])
    whole = np.ones(people.size, dtype=bool)
    weight = best_weight(people[:, None], judge[:, None], every[:, None], sample, whole)
    weights = np.full(people.size, weight)
    return student_interval(correct(people, judge, others, sample, weights).spread, 0.95)


@functools.cache
def true_mean(simulate):
    """The mean of a population."""
    return simulate(np.random.default_rng(0), 1_000_000, 1).mean()


def judged_intervals(simulate, judge, n, systems, repetitions, rng):
    """Intervals of the mean of a system, or of the difference of two, that cover the truth."""
    covered, widths, extra, probability = Counter(), Counter(), Counter(), 0.7
    truth = true_mean(simulate) if systems == 1 else 0.0
    for _ in range(repetitions):
        people, others = (simulate(rng, n + OTHERS, systems) for _ in range(2))
        if systems == 2:  # the systems have many values in common
            for table in (people, others):
                same = rng.random(len(table)) < probability
                table[same] = table[same, :1]
        labels = judge(rng, people, others)
        parts = people[:n], labels[:n], labels[n:]
        study = Study(*parts, np.arange(n), Sample(n, n + OTHERS), (0.0, 1.0))
        if systems == 1:
            found = study.system(0, study.fit([0], None))
            spread = found.steady_spread(1.0)
            spread = spread._replace(mean=min(max(spread.mean, 0.0), 1.0))
            ends = {
                "people alone": wilson_interval(people[:n, 0]),
                "**corrected by the judge (default)**": intervals.wilson_interval(
                    spread, (0.0, 1.0), 0.95, n, float(n)
                ),
            }
        else:
            rows = study.rows(study.fit([1], [0]), 0)
            ends = {
                "people alone": steadied(people[:n, 1] - people[:n, 0]),
                "**corrected by the judge (default)**": steadied(rows[:, 1] - rows[:, 0]),
            }
            p = randomization_test(rows[:, 1], rows[:, 0], n_resamples=RESAMPLES).p
            extra["p ≤ 0.05"] += p <= LEVEL
            signs = 1 if rng.random() < 0.5 else -1
            p = margin_tests(signs * (rows[:, 1] - rows[:, 0]) - 0.1, np.zeros(n), 0.1, span=1.0)
            extra["not worse by 0.1, which it is"] += p.not_lower <= LEVEL
        singles = [part[:, -1] - (part[:, 0] if systems == 2 else 0.0) for part in parts]
        ends["PPI++ with Student's t"] = by_t(*singles)
        for name, (low, high) in ends.items():
            covered[name] += low - 1e-12 <= truth <= high + 1e-12
            widths[name] += high - low
    shares = {name: (covered[name] / repetitions, repetitions) for name in ends}
    shares |= {name: (count / repetitions, repetitions) for name, count in extra.items()}
    first, second = [*ends][:2]
    return shares | {"width / people alone": (round(widths[second] / widths[first], 2), None)}


def print_judges(repetitions, rng):
    """Means and differences of people's labels that a judge of all queries corrects."""
    print("## Labels of a judge\n")
    often = repetitions // 10
    for systems, what in ((1, "mean"), (2, "difference of equal systems")):
        for judge, labels in JUDGES.items():
            columns = {name: {} for name in JUDGED}
            for n in (25, 50, 100):
                for name, simulate in JUDGED.items():
                    found = judged_intervals(simulate, labels, n, systems, often, rng)
                    columns[name] |= {f"{n}: {row}": cell for row, cell in found.items()}
            print_table(f"{what}, judge {judge}", columns, digits=3)


PARTS = {
    "tests": print_tests,
    "intervals": print_intervals,
    "groups": print_groups,
    "pooled": print_pooled,
    "families": print_families,
    "many": print_many,
    "power": print_power,
    "segments": print_segments,
    "unequal": print_unequal,
    "differences": print_differences,
    "agreement": print_agreement,
    "margins": print_margins,
    "few": print_few,
    "levels": print_levels,
    "balance": print_balance,
    "ranks": print_ranks,
    "datasets": print_datasets,
    "judges": print_judges,
    "cutoffs": print_cutoffs,
    "sizes": print_sizes,
    "runs": print_runs,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=25_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    options = parser.parse_args()
    repetitions = options.repetitions
    warnings.simplefilter("ignore", RankmeterWarning)

    print(
        f"`{shlex.join(['python', *sys.argv])}`, with Python {platform.python_version()}, ", end=""
    )
    print(f"NumPy {np.__version__} and SciPy {scipy.__version__}.\n")
    for part in options.parts:
        PARTS[part](repetitions, np.random.default_rng(options.seed))


if __name__ == "__main__":
    main()
