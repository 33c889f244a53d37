"""Tests of hits and of constant differences: exact sums, and no result."""

from __future__ import annotations

import numpy as np
import pytest

from rankmeter._statistics.paired_tests import paired_test

pytestmark = pytest.mark.once


@pytest.mark.parametrize(("wins", "losses"), [(8, 2), (7, 1), (20, 5), (3, 3), (60, 40)])
def test_mid_p_of_hits_is_that_of_mcnemar(wins, losses):
    from scipy.stats import binom

    n = wins + losses
    a, b = np.repeat([1.0, 0.0], [wins, losses]), np.repeat([0.0, 1.0], [wins, losses])
    tail = binom.sf(max(wins, losses), n, 0.5)
    expected = min(2 * tail + binom.pmf(max(wins, losses), n, 0.5), 1.0)
    if wins == losses:
        expected = 1 - 0.5 * binom.pmf(wins, n, 0.5)
    result = paired_test(a, b, "mid-p", n_resamples=99_999)
    assert result.p == pytest.approx(expected, rel=1e-12 if n <= 30 else 0.1)
    assert result.p < paired_test(a, b, "randomization", n_resamples=99_999).p
