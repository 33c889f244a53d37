"""Any cut of the users into blocks gives the same values."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_laws import cutoffs, split, tie_rules, values, wanted, worlds

from rankmeter._engine.scores import UserValues
from rankmeter.conventions._plan import resolve_plan

pytestmark = pytest.mark.once


@given(worlds, cutoffs, tie_rules, st.integers(1, 4))
def test_any_cut_of_the_users_into_blocks_gives_the_same_values(world, k, ties, blocks):
    rankings, truth = split(world)
    metrics = wanted(k, ties=ties)
    whole = values(rankings, truth, metrics, ties=ties)
    parts = []
    for block in range(blocks):
        mine = [user for n, user in enumerate(rankings) if n % blocks == block]
        if mine:
            parts.append(
                values(
                    {u: rankings[u] for u in mine}, {u: truth[u] for u in mine}, metrics, ties=ties
                )
            )
    merged = UserValues.merge(parts)
    assert merged.users.to_list() == whole.users.to_list()
    for label in whole.values:
        # The same bits: a user's value never depends on other users.
        np.testing.assert_array_equal(merged.values[label], whole.values[label])
    plan = resolve_plan(metrics, choices={"ties": ties})
    for entry in plan.metrics:
        np.testing.assert_array_equal(whole.averaged(entry).values, merged.averaged(entry).values)
