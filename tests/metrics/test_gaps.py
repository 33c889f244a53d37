"""How far apart the means of groups of users are."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import cases
import rankmeter as rm
from rankmeter._results.segments import gap_values
from rankmeter.errors import UsageError


def slow(values, group):
    means = [np.mean(values[group == one]) for one in np.unique(group)]
    return float(np.mean([abs(a - b) for a, b in itertools.combinations(means, 2)]))


@pytest.mark.parametrize("n_groups", [2, 3, 5])
def test_the_gap_knows_itself_without_each_user(n_groups):
    rng = np.random.default_rng(n_groups)
    values, n = rng.random(30), 30
    group = np.append(rng.integers(0, n_groups, n - n_groups), np.arange(n_groups))
    found = gap_values(values, group)
    whole = slow(values, group)
    assert found.mean() == pytest.approx(whole, rel=1e-12)
    alone = np.bincount(group)[group] == 1
    without = np.array(
        [slow(np.delete(values, u), np.delete(group, u)) for u in range(n) if not alone[u]]
    )
    spread = (found - found.mean())[~alone] / (n - 1)
    assert np.ptp(spread + without) < 1e-12  # both are without - mean, up to one constant


def test_it_is_that_of_the_means_by_segment():
    rankings, truth = cases.batch(3, n_users=60)
    segments = {user: "abc"[n % 3] for n, user in enumerate(rankings) if n % 7}
    result = rm.evaluate(rankings, truth, ["ndcg@3", "rr"])
    found, parts = result.gap(segments), result.by_segment(segments)
    for metric, gap, low, high, n, n_segments in found.rows():
        means = parts.filter(metric=metric).drop_nulls("segment")
        pairs = itertools.combinations(means["mean"], 2)
        assert gap == pytest.approx(np.mean([abs(a - b) for a, b in pairs]))
        assert (n, n_segments) == (means["n_users"].sum(), 3)
        assert 0 <= low <= gap <= high


def test_one_segment_has_no_gap_and_a_pooled_number_is_refused():
    rankings, truth = cases.batch(3, n_users=20)
    found = rm.evaluate(rankings, truth, "rr").gap(dict.fromkeys(rankings, "a"))
    assert np.isnan(found["gap"].item())
    with pytest.raises(UsageError, match="not a mean over users"):
        rm.evaluate(rankings, truth, "recall(aggregate=micro)@3").gap(dict.fromkeys(rankings, "a"))
