"""Tests of several runs on plain arrays."""

from __future__ import annotations

import numpy as np
import pytest

from mean_intervals import t_interval
from rankmeter._statistics.intervals import student_interval
from rankmeter._statistics.paired_tests import paired_t_test
from rankmeter._statistics.runs import crossed_test, crossed_variance

pytestmark = pytest.mark.once


def table(rng, runs, *, seeds=0.0, users=100, mean=0.3):
    easy = rng.normal(mean, 0.2, (users, 1))
    return easy + rng.normal(0, seeds, runs) + rng.normal(0, 0.1, (users, runs))


def test_the_variance_is_that_of_users_and_of_runs_without_their_interaction():
    a = table(np.random.default_rng(0), 4, seeds=0.1)
    n, r = a.shape
    rows, columns = a.mean(axis=1), a.mean(axis=0)
    residual = a - rows[:, None] - columns + a.mean()
    both = (residual**2).sum() / ((n - 1) * (r - 1)) / (n * r)
    found = crossed_variance(a)
    assert found.users == pytest.approx(rows.var(ddof=1) / n)
    assert found.runs == pytest.approx(columns.var(ddof=1) / r - both)
    assert found.share_of_runs > 0.5
    assert found.df < 10


def test_single_runs_are_the_paired_t_test():
    rng = np.random.default_rng(1)
    a, b = table(rng, 1), table(rng, 1)
    one, other = crossed_test(a, b), paired_t_test(a[:, 0], b[:, 0])
    assert one.p == pytest.approx(other.p)
    interval = student_interval(crossed_variance(a, b).spread, 0.95)
    assert interval == pytest.approx(t_interval((a - b)[:, 0]))


@pytest.mark.parametrize("seeds", [0.0, 0.02])
def test_it_covers_where_one_kind_of_cluster_does_not(seeds):
    rng, covered, by_user = np.random.default_rng(2), 0, 0
    for _ in range(300):
        easy = rng.normal(0.3, 0.2, (60, 1))
        a, b = (
            easy + rng.normal(0, seeds, 5) + rng.normal(0, 0.08, (60, 1))
            + rng.normal(0, 0.1, (60, 5))
            for _ in range(2)
        )  # fmt: skip
        low, high = student_interval(crossed_variance(a, b).spread, 0.95)
        covered += low <= 0 <= high
        low, high = t_interval(a.mean(axis=1) - b.mean(axis=1))
        by_user += low <= 0 <= high
    assert covered / 300 >= 0.92
    if seeds:
        assert by_user < covered
