"""Randomization tests of all pairs of systems, compared with scipy.stats.permutation_test.

Both test the same vectors with the same number of flips. SciPy tests one pair; rankmeter tests
every pair of the systems on every metric, and its time is divided by their number. Each run is a
process of its own, so that the peaks of memory do not mix, and the two take turns.

    python benchmarks/permutation.py --users 100000 --flips 10000 --rounds 3
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import platform
import resource
import shlex
import statistics
import sys
import time

import numpy as np
import scipy

from rankmeter._statistics.paired_tests import randomization_tests


def scores(users, columns):
    """Reciprocal ranks of systems that find easy users easy, float64 of shape (users, columns)."""
    rng = np.random.default_rng(0)
    easy = rng.beta(1, 3, users)
    table = np.empty((users, columns))
    for column in range(columns):
        found = rng.random(users) < easy * (1 + 0.002 * column)
        table[:, column] = found / rng.integers(1, 11, users)
    return table


def rankmeter_all_pairs(options):
    """Every metric of every pair of systems, as `compare` tests them."""
    table = scores(options.users, options.systems * options.metrics)
    pairs = [
        (i * options.metrics + metric, j * options.metrics + metric)
        for i, j in itertools.combinations(range(options.systems), 2)
        for metric in range(options.metrics)
    ]
    start = time.perf_counter()
    results = randomization_tests(table, pairs, n_resamples=options.flips)
    return (time.perf_counter() - start) / len(pairs), results[0].p


def rankmeter_one_pair(options):
    table = scores(options.users, options.metrics + 1)
    start = time.perf_counter()
    (result,) = randomization_tests(table, [(0, options.metrics)], n_resamples=options.flips)
    return time.perf_counter() - start, result.p


def scipy_one_pair(options):
    from scipy.stats import permutation_test

    a, b = scores(options.users, options.metrics + 1)[:, [0, options.metrics]].T
    start = time.perf_counter()
    p = permutation_test(
        (a, b),
        lambda x, y, axis: np.mean(x - y, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=options.flips,
        batch=max(1, 10_000_000 // options.users),
    ).pvalue
    return time.perf_counter() - start, p


def measured(run, options, results):
    """Seconds per pair, p of the first pair and peak memory in MiB, from inside the child."""
    seconds, p = run(options)
    results.put((seconds, p, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024))


def in_a_process(run, options):
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    child = context.Process(target=measured, args=(run, options, results))
    child.start()
    answer = results.get()
    child.join()
    return answer


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--users", type=int, default=100_000)
    parser.add_argument("--systems", type=int, default=10)
    parser.add_argument("--metrics", type=int, default=5)
    parser.add_argument("--flips", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    runs = [rankmeter_all_pairs, rankmeter_one_pair, scipy_one_pair]
    rounds = [[in_a_process(run, options) for run in runs] for _ in range(options.rounds)]

    n_pairs = options.systems * (options.systems - 1) // 2 * options.metrics
    print(f"`{shlex.join(['python', *sys.argv])}`\n")
    print(
        f"{options.users:,} users, {options.flips:,} flips, {options.rounds} rounds; Python "
        f"{platform.python_version()}, NumPy {np.__version__}, SciPy {scipy.__version__}.\n"
    )
    print("| run | pairs | seconds per pair (least to most) | times faster | peak MiB | p |")
    print("|---|---:|---:|---:|---:|---:|")
    for number, run in enumerate(runs):
        seconds = [row[number][0] for row in rounds]
        ratios = [row[-1][0] / row[number][0] for row in rounds]
        peak = max(row[number][2] for row in rounds)
        print(
            f"| {run.__name__.replace('_', ' ')} | {n_pairs if number == 0 else 1} "
            f"| {statistics.median(seconds):.4f} ({min(seconds):.4f} to {max(seconds):.4f}) "
            f"| {statistics.median(ratios):.0f} ({min(ratios):.0f} to {max(ratios):.0f}) "
            f"| {peak:.0f} | {rounds[0][number][1]:.4f} |"
        )


if __name__ == "__main__":
    main()
