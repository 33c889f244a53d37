"""Intervals of bounded means, and the variance of clusters."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, stats

import rankmeter as rm
from mean_intervals import t_interval, wilson_interval
from rankmeter._statistics.intervals import (
    effective_clusters,
    spread_of_mean,
)

pytestmark = pytest.mark.once

RNG = np.random.default_rng(8)
SPARSE = np.where(RNG.random(60) < 0.15, 1 / RNG.integers(1, 11, 60), 0.0)


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_the_bounds_solve_the_score_equation(confidence):
    """|mean - m| = t · √(m (1 - m) / n_eff), with n_eff as if the values were hits."""
    n, mean = SPARSE.size, SPARSE.mean()
    users = n * (n * mean * (1 - mean) + 0.5) / (n * SPARSE.var(ddof=1) + 0.5)
    t = stats.t.ppf(0.5 + confidence / 2, n - 1)

    def score(m):
        return abs(mean - m) - t * np.sqrt(m * (1 - m) / users)

    found = wilson_interval(SPARSE, confidence)
    assert found.low == pytest.approx(optimize.brentq(score, 1e-12, mean), rel=1e-9)
    assert found.high == pytest.approx(optimize.brentq(score, mean, 1 - 1e-12), rel=1e-9)


@pytest.mark.parametrize("value", [0.0, 0.1, 0.7, 1.0])
@pytest.mark.parametrize("n", [2, 7, 1000])
def test_it_is_never_a_point_and_never_outside_of_the_scale(value, n):
    low, high = wilson_interval(np.full(n, value))
    assert 0 <= low <= value <= high <= 1
    assert high - low > 1 / n


def test_another_scale_moves_and_stretches_it():
    plain = wilson_interval(SPARSE)
    moved = wilson_interval(4 * SPARSE - 1, scale=(-1.0, 3.0))
    assert moved == pytest.approx([4 * end - 1 for end in plain])


def test_it_is_as_wide_as_t_with_many_users():
    x = np.tile(SPARSE, 200)
    assert np.diff(wilson_interval(x)) == pytest.approx(np.diff(t_interval(x)), rel=0.01)


def test_hits_count_as_such_and_few_equal_values_are_not_taken_for_certain():
    """Hits vary as much as a share can; 3 of 100 users with 0.2 each could as well differ."""
    hits, alike = np.repeat([0.0, 1.0], [80, 20]), np.repeat([0.0, 0.2], [97, 3])
    few = 100 * (100 * 0.006 * 0.994 + 0.5) / (100 * alike.var(ddof=1) + 0.5)
    for x, users in ((hits, 99), (alike, few)):
        m, c2 = x.mean(), stats.t.ppf(0.975, 99) ** 2 / users
        half = np.sqrt(c2 * m * (1 - m) + c2 * c2 / 4)
        expected = (m + c2 / 2 + np.array([-half, half])) / (1 + c2)
        assert wilson_interval(x) == pytest.approx(tuple(expected), rel=1e-9)


@pytest.mark.parametrize(("zeros", "n"), [(0.6, 30), (0.88, 30), (0.96, 100)])
def test_it_covers_the_mean_of_sparse_metrics_where_t_does_not(zeros, n):
    rng, covered = np.random.default_rng(1), np.zeros(2)
    values = 1 / np.arange(1, 11)
    mean = (1 - zeros) * values.mean()
    for _ in range(800):
        x = np.where(rng.random(n) < zeros, 0.0, rng.choice(values, n))
        for at, (low, high) in enumerate((wilson_interval(x), t_interval(x))):
            covered[at] += low <= mean <= high
    wilson, t = covered / 800
    assert wilson >= 0.92
    assert t < wilson


class TestClusters:
    labels = np.repeat(np.arange(9), [1, 2, 3, 4, 5, 6, 7, 8, 24])

    def test_the_variance_is_that_of_leaving_out_each_cluster(self):
        means = np.array([SPARSE[self.labels != one].mean() for one in range(9)])
        expected = np.sqrt(8 / 9 * np.square(means - SPARSE.mean()).sum())
        found = spread_of_mean(SPARSE, self.labels)
        assert found.se == pytest.approx(expected)
        assert (found.units, found.df) == (9, pytest.approx(3600 / 780 - 1))

    def test_clusters_of_one_user_are_users(self):
        alone = spread_of_mean(SPARSE, np.arange(SPARSE.size))
        assert alone == pytest.approx(spread_of_mean(SPARSE))
        assert t_interval(SPARSE, clusters=np.arange(60)) == pytest.approx(t_interval(SPARSE))

    def test_unequal_clusters_count_less(self):
        assert effective_clusters([5, 5, 5]) == 3
        assert effective_clusters([1, 1, 10]) == pytest.approx(144 / 102)

    def test_differences_of_unequal_clusters_are_covered(self):
        rng, covered = np.random.default_rng(3), 0
        for _ in range(600):
            sizes = np.maximum(np.rint(np.exp(rng.normal(1.8, 1.5, 10))), 1).astype(int)
            labels = np.repeat(np.arange(10), sizes)
            low, high = t_interval(rng.normal(0, 1, 10)[labels], clusters=labels)
            covered += low <= 0 <= high
        assert covered / 600 >= 0.94

    def test_one_cluster_has_no_interval(self):
        for interval in (t_interval, wilson_interval):
            assert np.isnan(interval(SPARSE, clusters=np.zeros(60))).all()

    def test_all_clusters_alike_have_a_wide_interval(self):
        low, high = wilson_interval(np.zeros(60), clusters=self.labels)
        assert low == 0 < wilson_interval(np.zeros(60)).high < high < 1


class TestPublic:
    truth = {f"u{i}": {"a"} for i in range(6)}
    lists = {f"u{i}": ["a"] for i in range(6)}

    def test_bounded_metrics_have_wilson_and_others_t(self):
        half = {**self.lists, "u0": ["x", "a"]}
        found = rm.evaluate(half, self.truth, ["rr", "dcg"])
        rr, dcg = (found.per_user[name].to_numpy() for name in found)
        assert found["rr"].interval == pytest.approx(wilson_interval(rr))
        assert found["dcg"].interval == pytest.approx(t_interval(dcg))

    def test_values_without_a_lower_end_have_t_cut_at_the_upper_one(self):
        truth = {"u": {"a": 1, "b": -3}, "v": {"a": 1, "b": -3}, "w": {"a": 1, "b": -3}}
        lists = {"u": ["b", "a"], "v": ["a", "b"], "w": ["a"]}
        found = rm.evaluate(lists, truth, "ndcg", gains="all")
        values = found.per_user["ndcg"].to_numpy()
        assert values.min() < 0
        low, high = t_interval(values)
        assert found["ndcg"].interval == pytest.approx((low, min(high, 1.0)))

    def test_few_clusters_are_said(self):
        clusters = {"u0": 1, "u1": 1, "u2": 1, "u3": 2, "u4": 3}
        found = rm.evaluate(self.lists, self.truth, "dcg", clusters=clusters)
        assert "intervals by 4 clusters, which count as 3 of equal size" in found.table().notes
        assert any("fewer than 30 clusters" in note for note in found.table().notes)
        assert found.counts["effective_clusters"] == 3
