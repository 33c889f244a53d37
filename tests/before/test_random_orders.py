"""Orders of the random baseline never change, and neither does a list in blocks of users."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_baselines import LOG

from rankmeter.baselines import (
    BASELINES,
    random,
)
from rankmeter.baselines import _recommend as recommend
from rankmeter.datasets import movielens
from rankmeter.splits._chance import Shuffle, scramble_bits

DAY = 86_400


NAMES = list(BASELINES)


@pytest.mark.parametrize("name", NAMES)
def test_blocks_of_users_change_nothing(name, monkeypatch):
    ratings = movielens().filter(pl.col("user") <= 40)
    whole = BASELINES[name](ratings, k=20)
    monkeypatch.setattr(recommend, "_BLOCK", 60)

    assert BASELINES[name](ratings, k=20).equals(whole)


@given(n=st.integers(1, 300), keys=st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=5))
def test_a_shuffle_is_a_permutation_and_knows_its_inverse(n, keys):
    shuffle = Shuffle(n, np.array(keys, dtype=np.uint64))
    key = np.repeat(np.arange(len(keys)), n)
    place = np.tile(np.arange(n), len(keys))
    item = shuffle.item_at(place, key)

    assert np.array_equal(np.sort(item.reshape(-1, n), axis=1), place.reshape(-1, n))
    assert np.array_equal(shuffle.position_of(item, key), place)


def test_random_orders_never_change():
    """Every later version must reproduce results that were published with a seed."""
    shuffle = Shuffle(10, scramble_bits(np.arange(2, dtype=np.uint64)))

    order = shuffle.item_at(np.arange(10), np.zeros(10, int))
    assert order.tolist() == [4, 9, 0, 6, 2, 8, 7, 5, 3, 1]
    assert random(LOG, users=[9, 10])["item"].to_list() == list("abcdadbc")
