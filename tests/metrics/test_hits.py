"""Sums over the hits in the top k: as defined, to the bit, for any cutoff."""

from __future__ import annotations

import numpy as np
import pytest

from rankmeter._evidence.hits import DEEP, Hits

pytestmark = pytest.mark.once


def hits_at(*ranks):
    """Hits of one user per list of ranks, with gains that no float sums exactly."""
    offsets = np.cumsum([0, *map(len, ranks)])
    rank = np.concatenate([np.asarray(one, dtype=np.float64) for one in ranks])
    gain = np.random.default_rng(1).random(rank.size)
    relevant = np.diff(offsets)
    return Hits(offsets, rank, gain, relevant, relevant)


FEW = hits_at([1, 2, 2.5, 2.5, 9], [], [3], range(1, 40), [])
DEEPLY = hits_at([1, DEEP - 1, DEEP], [DEEP - 0.5, DEEP + 0.5, DEEP + 1], [10**12])


@pytest.mark.parametrize(
    ("hits", "k"),
    [(FEW, k) for k in (1, 2, 3, 8, 9, 38, 39, 40, None)]
    + [(DEEPLY, k) for k in (1, DEEP - 1, DEEP, DEEP + 1, 10**12 - 1, 10**12, 2**62, None)],
)
def test_sums_over_the_top_k_have_the_bits_of_sums_over_all_hits(hits, k):
    worth = hits.gain / hits.rank
    inside = hits.within(k)
    assert np.array_equal(hits.sum_top(k, "worth", lambda: worth), hits.sum(inside * worth))
    assert np.array_equal(hits.count(k), hits.sum(inside))
    assert hits.count(k).dtype == np.float64


def test_values_are_made_once_for_all_cutoffs():
    made = []
    hits = hits_at([1, 2, 5], [4])

    def gains():
        made.append(1)
        return hits.gain

    for k in (1, 2, 5, 10):
        hits.sum_top(k, "gain", gains)
    assert len(made) == 1
