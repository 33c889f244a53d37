"""Tests against a margin on plain arrays."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from rankmeter._statistics.runs import margin_tests

pytestmark = pytest.mark.once


RNG = np.random.default_rng(5)


B = RNG.random(80)


A = B + RNG.normal(0.002, 0.02, 80)


def test_a_relative_margin_is_a_share_of_the_other_mean():
    """The t test, with two more users in the variance, who differ by the largest change."""
    found = margin_tests(A, B, 0.02, relative=True)
    kept = A - 0.98 * B
    variance = kept.var(ddof=1) / 80 + 2 * np.abs(A - B).max() ** 2 / (80 * 79)
    assert found.not_lower == pytest.approx(stats.t.sf(kept.mean() / math.sqrt(variance), 79))
    assert found.margin == pytest.approx(0.02 * B.mean())


def test_clusters_count():
    labels = np.arange(80) // 8
    assert margin_tests(A, B, 0.01, clusters=labels).not_lower != margin_tests(A, B, 0.01).not_lower
    assert math.isnan(margin_tests(A, B, 0.01, clusters=np.zeros(80)).not_lower)


def test_equal_users_show_equivalence_only_if_they_are_many():
    """Of n users who do not differ, 1 - m of all may: (1 - m)^n is the chance to meet none."""
    few, many = (margin_tests(np.ones(n), np.ones(n), 0.01, span=1.0) for n in (30, 600))
    assert few.not_lower == pytest.approx(0.99**30)
    assert many.not_lower < 0.05
    assert math.isnan(margin_tests(np.ones(30), np.ones(30), 0.01).not_lower)


@pytest.mark.parametrize(("n", "margin", "losers"), [(100, 0.05, 2), (30, 0.1, 1), (500, 0.01, 1)])
def test_few_losers_exclude_what_their_exact_probability_does(n, margin, losers):
    b = np.zeros(n)
    b[:losers] = 1.0
    p = margin_tests(np.zeros(n), b, margin, span=1.0).not_lower
    assert p >= stats.binom.cdf(losers, n, margin) - 1e-12


@pytest.mark.parametrize("ratio", [0.0, 1 / 9, 1 / 3, 1 / 2])
@pytest.mark.parametrize(
    ("n", "margin"), [(30, 0.1), (50, 0.1), (100, 0.05), (200, 0.02), (500, 0.01), (1000, 0.005)]
)
def test_a_loss_of_the_margin_passes_in_at_most_6_percent(n, margin, ratio):
    """Hits at the boundary, with so many winners for each loser: summed over all counts."""
    losing, winning = margin / (1 - ratio), margin * ratio / (1 - ratio)
    wrong = 0.0
    for losers in range(int(stats.binom.isf(1e-5, n, losing)) + 1):
        most = int(stats.binom.isf(1e-5, n, winning)) if ratio else 0
        for winners in range(most + 1):
            rest = n - losers - winners
            chance = stats.multinomial.pmf(
                [losers, winners, rest], n, [losing, winning, 1 - losing - winning]
            )
            if chance < 1e-5:
                continue
            changes = np.repeat([-1.0, 1.0, 0.0], [losers, winners, rest])
            if margin_tests(changes, np.zeros(n), margin, span=1.0).not_lower <= 0.05:
                wrong += chance
    assert 0 < wrong <= 0.06
