"""How far apart the means of groups of users are."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import cases
import rankmeter as rm
from rankmeter.errors import UsageError


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
