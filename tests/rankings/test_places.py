"""The order of rows and of ids, on plain arrays."""

import itertools

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from test_order import sets, slow, written

from rankmeter._rankings.counts import Candidates, argsort_segments
from rankmeter._rankings.pairs import Groups
from rankmeter._reading.by_user import Objects, id_sort_keys, joint_id_sort_keys


@given(sets)
@example(["-1", "-12", "-15", "-2", "0", "9", "10", "9" * 30, "1" + "0" * 30, "007", "-0", "+7"])
def test_places_order_ids_as_their_definition_does(found):
    by = id_sort_keys(pl.Series(found)).to_list()
    assert joint_id_sort_keys([Objects(found[:1]), Objects(found[1:])]).tolist() == by
    assert [found[at] for at in np.argsort(by)] == sorted(found, key=slow)
    by = id_sort_keys(pl.Series(found), as_text=True).to_list()
    assert joint_id_sort_keys([Objects(found)], as_text=True).tolist() == by
    assert [found[at] for at in np.argsort(by)] == sorted(found, key=written)


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, unique=True))
def test_integers_and_their_text_have_the_same_order(numbers):
    for text in (False, True):
        orders = [
            np.argsort(id_sort_keys(column, as_text=text).to_numpy()).tolist()
            for column in (pl.Series(numbers), pl.Series(list(map(str, numbers))))
        ]
        orders.append(
            np.argsort(joint_id_sort_keys([Objects(numbers, "Int64")], as_text=text)).tolist()
        )
        assert orders[0] == orders[1] == orders[2]


def test_the_order_within_segments_is_stable():
    rng = np.random.default_rng(0)
    for lengths in (rng.integers(0, 20, 50), np.full(30, 7), np.zeros(3, dtype=int)):
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        value = rng.choice([0.0, 1.0, 2.0, np.inf, -np.inf], int(offsets[-1]))
        segment = np.repeat(np.arange(lengths.size), lengths)
        assert np.array_equal(argsort_segments(value, offsets), np.lexsort((value, segment)))


@pytest.mark.parametrize("seed", range(20))
def test_lists_that_are_sorted_are_seen_and_never_changed(seed):
    rng = np.random.default_rng(seed)
    user = rng.integers(0, 6, 30) if seed % 4 else np.repeat([1, 3, 6], 10)  # others have no row
    score = rng.integers(0, 5, 30).astype(float)
    order = {0: np.arange(30), 1: np.argsort(user), 2: np.lexsort((-score, user))}[seed % 3]
    user, score = user[order], score[order]
    if seed % 6 == 5:  # one row is out of order
        score[-1] = 9.0
    frame = pl.DataFrame({"item": np.arange(30), "score": score})
    candidates = Candidates.of(frame, user, Groups.of(user, 8), "score", "float64")
    wanted = [sorted(-score[user == one]) for one in range(8)]
    assert candidates.sorted_values.tolist() == list(itertools.chain.from_iterable(wanted))
    assert candidates.value.tolist() == (-score).tolist()
    assert (candidates.sorted_values is candidates.value) == (seed % 6 == 2)
