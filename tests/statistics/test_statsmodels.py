"""Statistics that statsmodels computes, too."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.oneway import anova_oneway
from statsmodels.stats.power import TTestPower
from statsmodels.stats.proportion import proportion_confint
from statsmodels.stats.weightstats import ttost_paired

import rankmeter as rm
from mean_intervals import wilson_interval
from rankmeter._statistics.intervals import spread_of_mean
from rankmeter._statistics.paired_tests import heterogeneity_test
from rankmeter._statistics.power import minimum_detectable_effect
from rankmeter._statistics.runs import margin_tests
from rankmeter._statistics.step_down import adjust_p_values

pytestmark = pytest.mark.once

RNG = np.random.default_rng(5)
B = RNG.random(80)
A = B + RNG.normal(0.002, 0.02, 80)
PROBABILITIES = st.lists(st.floats(0, 1), max_size=20)


@pytest.mark.parametrize(("effect", "power"), [(0.2, 0.8), (0.5, 0.9), (1.0, 0.8), (0.05, 0.8)])
def test_the_number_of_users_is_that_of_its_power(effect, power):
    expected = TTestPower().solve_power(effect, power=power, alpha=0.05)
    assert rm.sample_size(sd=2.0, difference=2.0 * effect, power=power).n == np.ceil(expected)


def test_two_one_sided_tests():
    """As those of statsmodels, with two more users in the variance."""
    _, (above, _, df), (below, _, _) = ttost_paired(A, B, -0.01, 0.01)
    found, d = margin_tests(A, B, 0.01), A - B
    less = 1 / np.sqrt(1 + 2 * np.abs(d).max() ** 2 / (d.size - 1) / d.var(ddof=1))
    assert found.not_lower == pytest.approx(stats.t.sf(above * less, df))
    assert found.not_higher == pytest.approx(stats.t.cdf(below * less, df))


def test_many_hits_and_misses_have_the_interval_of_a_share():
    x = np.repeat([0.0, 1.0], [70_000, 30_000])
    expected = proportion_confint(30_000, 100_000, method="wilson")
    assert wilson_interval(x) == pytest.approx(expected, rel=1e-5)


@settings(max_examples=25)
@given(p=PROBABILITIES.filter(len))
def test_holm(p):
    assert adjust_p_values(p) == pytest.approx(multipletests(p, method="holm")[1], abs=1e-12)


@pytest.mark.parametrize("n", [3, 10, 25, 400, 20_000])
@pytest.mark.parametrize("power", [0.3, 0.8, 0.95])
@pytest.mark.parametrize("alpha", [0.2, 0.05, 0.001])
def test_minimum_detectable_effects(n, power, alpha):
    theirs = TTestPower()
    effect = minimum_detectable_effect(n, power=power, alpha=alpha)
    # scipy's distribution is NaN in the far lower tail, so look at the upper one and add the lower.
    reached = theirs.power(effect, n, alpha / 2, alternative="larger")
    lower = theirs.power(-effect, n, alpha / 2, alternative="larger")
    assert reached + (0.0 if math.isnan(lower) else lower) == pytest.approx(power, abs=1e-6)


def test_heterogeneity_is_that_of_welch():
    parts = [np.random.default_rng(n).normal(n / 9, n + 1, 8 + 5 * n) for n in range(4)]
    q, p = heterogeneity_test([spread_of_mean(part) for part in parts])
    expected = anova_oneway(parts, use_var="unequal")
    assert p == pytest.approx(expected.pvalue)
    weights = np.array([part.size / part.var(ddof=1) for part in parts])
    means = np.array([part.mean() for part in parts])
    assert q == pytest.approx(weights @ (means - np.average(means, weights=weights)) ** 2)
