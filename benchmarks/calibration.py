"""Do the tests and intervals keep their promises? Simulation with skewed per-user metrics.

Three promises: where two systems do not differ, a test at the level 0.05 rejects in 5 % of the
comparisons; an interval of confidence 0.95 covers the true mean in 95 % of the samples; over ten
systems that do not differ, a corrected family of tests makes any claim in at most 5 % of the
experiments. Prints the shares as Markdown, with the standard error that the repetitions leave: all
of them for the default and for t, a tenth for the other tests, a fifth for the intervals, a
twentieth for clusters and families.

    python benchmarks/calibration.py --repetitions 25000
"""

from __future__ import annotations

import argparse
import itertools
import math
import platform
import shlex
import sys
import warnings
from collections import Counter

import numpy as np
import scipy.stats

from rankmeter import _statistics as st
from rankmeter._statistics import several
from rankmeter.errors import RankmeterWarning

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


METRICS = {"RR@10": reciprocal_rank, "NDCG@10": ndcg}

# Every repetition has flips and resamples of its own: one set of them has luck of its own.
PAIRED = {
    "**randomization (default)**": lambda a, b, drawn: st.randomization_test(a, b, **drawn),
    "paired t": lambda a, b, _: st.paired_t_test(a, b),
    "paired bootstrap (shift)": lambda a, b, drawn: st.bootstrap_test(a, b, **drawn),
    "Wilcoxon": lambda a, b, _: st.wilcoxon_test(a, b),
    "sign": lambda a, b, _: st.sign_test(a, b),
}
OFTEN = {"**randomization (default)**", "paired t"}
"""Repeated as often as asked for; the other tests a tenth as often."""

INTERVALS = {
    "t": lambda x, _: st.t_interval(x),
    "bootstrap, percentile": lambda x, drawn: st.bootstrap_interval(
        x, method="percentile", **drawn
    ),
    "bootstrap, BCa": lambda x, drawn: st.bootstrap_interval(x, **drawn),
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
    """Share of the intervals that cover the true mean."""
    covered = Counter()
    for repetition in range(repetitions):
        x = simulate(rng, n, 1)[:, 0]
        for name, interval in INTERVALS.items():
            low, high = interval(x, {"n_resamples": RESAMPLES, "seed": repetition})
            covered[name] += low <= truth <= high
    return {name: (covered[name] / repetitions, repetitions) for name in INTERVALS}


def cluster_coverage(n, repetitions, rng, truth):
    """The same for users with five sessions each, whose users are drawn or ignored."""
    covered = Counter()
    users = np.repeat(np.arange(n), 5)
    for repetition in range(repetitions):
        x = reciprocal_rank(rng, n, 5).ravel()
        drawn = {"n_resamples": RESAMPLES, "seed": repetition}
        clustered = st.bootstrap_interval(x, clusters=users, **drawn)
        for name, (low, high) in (
            ("bootstrap of the users (BCa)", clustered),
            ("t, as if sessions were users", st.t_interval(x)),
        ):
            covered[name] += low <= truth <= high
    return {name: (count / repetitions, repetitions) for name, count in covered.items()}


def families(simulate, n, repetitions, rng, systems=10):
    """Share of the experiments with any claim among equal systems."""
    pairs = list(itertools.combinations(range(systems), 2))
    claimed = Counter()
    for repetition in range(repetitions):
        scores = simulate(rng, n, systems)
        flips = {"n_resamples": 4_999, "seed": repetition}
        drawn = [r.p for r in st.randomization_tests(scores, pairs, **flips)]
        t = [st.paired_t_test(scores[:, i], scores[:, j]).p for i, j in pairs]
        permuted = st.randomized_tukey_hsd(scores, n_resamples=RESAMPLES, seed=repetition)
        smallest = {
            "**Holm over randomization tests (default)**": min(st.adjust(drawn, "holm")),
            "Holm over t tests": min(st.adjust(t, "holm")),
            "Benjamini-Hochberg over randomization tests": min(
                st.adjust(drawn, "benjamini-hochberg")
            ),
            "randomized Tukey HSD": min(r.p for r in permuted),
            "blocked Tukey HSD": blocked_tukey_smallest_p(scores),
            "randomization tests without correction": min(drawn),
        }
        for name, p in smallest.items():
            claimed[name] += p <= LEVEL
    return {name: (count / repetitions, repetitions) for name, count in claimed.items()}


def blocked_tukey_smallest_p(scores):
    """The smallest p of `tukey_hsd` is that of the best and the worst system: find only that."""
    n, m = scores.shape
    means, mse, df = several._residual(scores)
    return scipy.stats.studentized_range.sf(np.ptp(means) / math.sqrt(mse / n), m, df)


def print_table(title, columns):
    """A row per method, a column per setting, a share and its standard error per cell."""
    rows = list(next(iter(columns.values())))
    print(f"| {title} | {' | '.join(columns)} |")
    print(f"|---|{'---:|' * len(columns)}")
    for row in rows:
        cells = []
        for column in columns.values():
            share, n = column[row]
            error = math.sqrt(max(share * (1 - share), 0.5 / n) / n)
            cells.append(f"{share:.4f} ± {error:.4f}")
        print(f"| {row} | {' | '.join(cells)} |")
    print()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=25_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    repetitions = options.repetitions
    rng = np.random.default_rng(options.seed)
    warnings.simplefilter("ignore", RankmeterWarning)

    print(
        f"`{shlex.join(['python', *sys.argv])}`, with Python {platform.python_version()}, ", end=""
    )
    print(f"NumPy {np.__version__} and SciPy {scipy.__version__}.\n")

    print("## Systems that do not differ\n")
    for name, simulate in METRICS.items():
        columns = {f"{n} users": rejections(simulate, n, repetitions, rng) for n in USERS}
        print_table(f"{name}: share of p ≤ 0.05", columns)

    print("## Systems with equal means that differ otherwise\n")
    columns = {f"{n} users": rejections(first_or_second, n, repetitions // 5, rng) for n in USERS}
    print_table("share of p ≤ 0.05", columns)

    print("## Intervals\n")
    for name, simulate in METRICS.items():
        truth = np.mean([simulate(rng, 50_000, 10).mean() for _ in range(40)])
        columns = {f"{n} users": coverage(simulate, n, repetitions // 5, rng, truth) for n in USERS}
        print_table(f"{name}: share that covers the mean", columns)
    truth = np.mean([reciprocal_rank(rng, 50_000, 10).mean() for _ in range(40)])
    columns = {
        f"{n} users × 5 sessions": cluster_coverage(n, repetitions // 20, rng, truth)
        for n in (100, 1000)
    }
    print_table("RR@10: share that covers the mean", columns)

    print("## Ten systems that do not differ\n")
    columns = {
        f"{name}, 50 users": families(simulate, 50, repetitions // 20, rng)
        for name, simulate in METRICS.items()
    }
    print_table("share of experiments with any claim", columns)


if __name__ == "__main__":
    main()
