"""The gap between groups of users, without each user."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from rankmeter._results.segments import gap_jackknife_values


def slow(values, group):
    means = [np.mean(values[group == one]) for one in np.unique(group)]
    return float(np.mean([abs(a - b) for a, b in itertools.combinations(means, 2)]))


@pytest.mark.parametrize("n_groups", [2, 3, 5])
def test_the_gap_knows_itself_without_each_user(n_groups):
    rng = np.random.default_rng(n_groups)
    values, n = rng.random(30), 30
    group = np.append(rng.integers(0, n_groups, n - n_groups), np.arange(n_groups))
    found = gap_jackknife_values(values, group)
    whole = slow(values, group)
    assert found.mean() == pytest.approx(whole, rel=1e-12)
    alone = np.bincount(group)[group] == 1
    without = np.array(
        [slow(np.delete(values, u), np.delete(group, u)) for u in range(n) if not alone[u]]
    )
    spread = (found - found.mean())[~alone] / (n - 1)
    assert np.ptp(spread + without) < 1e-12  # both are without - mean, up to one constant
