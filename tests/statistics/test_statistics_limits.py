"""Tests of hits and of constant differences: exact sums, and no result."""

from __future__ import annotations

import numpy as np
import pytest

from rankmeter._statistics.paired_tests import binomial_p_value, exact_test

pytestmark = pytest.mark.once


@pytest.mark.parametrize(
    ("wins", "losses"), [(8, 2), (7, 1), (20, 5), (3, 3), (60, 40), (700, 610)]
)
def test_mid_p_of_hits_is_that_of_mcnemar(wins, losses):
    from scipy.stats import binom

    n = wins + losses
    a = np.repeat([1.0, 0.0, 0.3], [wins, losses, n])
    b = np.repeat([0.0, 1.0, 0.3], [wins, losses, n])
    tail = binom.sf(max(wins, losses), n, 0.5)
    expected = min(2 * tail + binom.pmf(max(wins, losses), n, 0.5), 1.0)
    if wins == losses:
        expected = 1 - 0.5 * binom.pmf(wins, n, 0.5)
    result = exact_test(a, b)
    assert result.p == pytest.approx(expected, rel=1e-9)
    assert result.method == "mid-p randomization (exact)"
    jitter = a + np.linspace(-1e-14, 1e-14, a.size)
    assert exact_test(jitter, b).p == result.p
    most_change = exact_test(a[:-1], b[:-1])  # more than half of the users
    assert most_change.method == "randomization (exact)"
    assert most_change.p == pytest.approx(min(2 * binom.sf(max(wins, losses) - 1, n, 0.5), 1.0))


@pytest.mark.parametrize("n", [5, 8, 12, 30, 50, 100, 300, 1000])
@pytest.mark.parametrize("share", [0.02, 0.05, 0.1, 0.2, 0.4, 0.5, 0.6, 0.9, 1.0])
def test_p_of_hits_keeps_its_level(n, share):
    """Summed over the numbers of users that differ, and of wins."""
    from scipy.stats import binom

    level = 0.0
    least = int(binom.ppf(1e-7, n, share)) if share < 1 else n
    for changed in range(max(least, 1), int(binom.isf(1e-6, n, share)) + 1):
        losses, mid = -1, 2 * changed <= n
        while losses + 1 < changed / 2 and (
            binomial_p_value(changed - losses - 1, losses + 1, mid=mid) <= 0.05
        ):
            losses += 1
        level += 2 * binom.cdf(losses, changed, 0.5) * binom.pmf(changed, n, share)
    assert level <= 0.05


def test_p_of_hits_is_free_for_any_number_of_users():
    assert binomial_p_value(5_003_000, 4_997_000, mid=True) == pytest.approx(0.0577795, rel=1e-4)
    assert binomial_p_value(34, 0, mid=True) == pytest.approx(2.0**-34, rel=1e-12)
    assert binomial_p_value(34, 0, mid=False) == pytest.approx(2.0**-33, rel=1e-12)
    assert 0 < binomial_p_value(5_000, 0, mid=True) < 1e-300
    assert binomial_p_value(3, 3, mid=False) == 1.0
