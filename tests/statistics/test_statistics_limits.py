"""Tests of hits and of constant differences: exact sums, and no result."""

from __future__ import annotations

import numpy as np
import pytest

from rankmeter._statistics.paired_tests import exact_test, mid_p_of_hits

pytestmark = pytest.mark.once


@pytest.mark.parametrize(
    ("wins", "losses"), [(8, 2), (7, 1), (20, 5), (3, 3), (60, 40), (700, 610)]
)
def test_mid_p_of_hits_is_that_of_mcnemar(wins, losses):
    from scipy.stats import binom

    n = wins + losses
    a = np.repeat([1.0, 0.0, 0.3], [wins, losses, 9])
    b = np.repeat([0.0, 1.0, 0.3], [wins, losses, 9])
    tail = binom.sf(max(wins, losses), n, 0.5)
    expected = min(2 * tail + binom.pmf(max(wins, losses), n, 0.5), 1.0)
    if wins == losses:
        expected = 1 - 0.5 * binom.pmf(wins, n, 0.5)
    result = exact_test(a, b)
    assert result.p == pytest.approx(expected, rel=1e-9)
    assert result.method == "mid-p randomization (exact)"
    jitter = a + np.linspace(-1e-14, 1e-14, a.size)
    assert exact_test(jitter, b).p == result.p


@pytest.mark.parametrize("n", [30, 50, 100, 300, 1000])
@pytest.mark.parametrize("share", [0.02, 0.05, 0.1, 0.2, 0.4])
def test_mid_p_of_hits_keeps_its_level(n, share):
    """Summed over the numbers of users that differ, and of wins."""
    from scipy.stats import binom

    level = 0.0
    for changed in range(int(binom.isf(1e-6, n, share)) + 1):
        losses = -1
        while losses + 1 < changed / 2 and mid_p_of_hits(changed - losses - 1, losses + 1) <= 0.05:
            losses += 1
        level += 2 * binom.cdf(losses, changed, 0.5) * binom.pmf(changed, n, share)
    assert 0 < level <= 0.05


def test_mid_p_is_free_for_any_number_of_users():
    assert mid_p_of_hits(5_003_000, 4_997_000) == pytest.approx(0.0577795, rel=1e-4)
    assert mid_p_of_hits(34, 0) == pytest.approx(2.0**-34, rel=1e-12)
    assert 0 < mid_p_of_hits(5_000, 0) < 1e-300
