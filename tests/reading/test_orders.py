"""Ranks next to scores: orders compared by place, against a comparison user by user."""

from __future__ import annotations

import math
from collections import defaultdict
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankmeter._reading import orders
from rankmeter._reading.by_user import IdSeries, as_ids, fold_values
from rankmeter._reading.read import read_rankings

NUMBERS = st.sampled_from([0.0, 0.25, 0.5, 1.0, 2.0, 3.0, 4.0, 7.0, 40.0, math.inf, -math.inf])
RANKS = NUMBERS | st.integers(1, 6).map(float) | st.just(1e15) | st.floats(-3, 9)
KINDS = {
    "dense": lambda users: pl.Series(users, dtype=pl.Int64),
    "far": lambda users: pl.Series([user * 10**12 - 3 for user in users], dtype=pl.Int64),
    "unsigned": lambda users: pl.Series([user + 2**63 for user in users], dtype=pl.UInt64),
    "text": lambda users: pl.Series([f"u{user}" for user in users], dtype=pl.String),
}


def pairs_by_user(users, ranks, scores):
    """Count pairs that contradict or tie: sort the rows of each user, and look at neighbours."""
    lists = defaultdict(list)
    for user, rank, score in zip(users, ranks, scores, strict=True):
        if rank is not None and score is not None:
            lists[user].append((rank, score))
    against = tied = 0
    for rows in lists.values():
        for (rank, score), (next_rank, next_score) in pairwise(
            sorted(rows, key=lambda row: row[0])
        ):
            against += next_rank > rank and next_score > score
            tied += next_rank > rank and next_score == score
    return against, tied


@st.composite
def tables(draw):
    """Users, ranks and scores in any order; ranks that are often 1, 2, 3 … for each user."""
    users = draw(st.lists(st.integers(0, 4), min_size=2, max_size=24))
    if draw(st.booleans()):
        users = sorted(users)
    n = len(users)
    ranks = draw(st.lists(RANKS, min_size=n, max_size=n))
    if draw(st.booleans()):
        seen = defaultdict(int)
        for row in draw(st.permutations(range(n))):
            seen[users[row]] += 1
            ranks[row] = float(seen[users[row]])
    scores = draw(st.lists(NUMBERS, min_size=n, max_size=n))
    if draw(st.booleans()):
        for column in (ranks, scores):
            column[draw(st.integers(0, n - 1))] = None
    return users, ranks, scores


@given(tables(), st.sampled_from([*KINDS]), st.integers(1, 30))
def test_orders_are_compared_as_user_by_user(table, kind, piece):
    users, ranks, scores = table
    columns = [pl.Series(column, dtype=pl.Float64) for column in (ranks, scores)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(orders, "_PIECE", piece)
        found = orders.compare_orders(as_ids(KINDS[kind](users)), *columns)
    assert (found.against, found.tied) == pairs_by_user(users, ranks, scores)
    if found.whole:
        lists = defaultdict(list)
        for user, rank in zip(users, ranks, strict=True):
            lists[user].append(rank)
        assert all(sorted(given) == [*range(1, len(given) + 1)] for given in lists.values())


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(1, 9)), min_size=1, max_size=24))
def test_highest_ranks_are_compared_with_the_number_of_rows(rows):
    for kind, ordered in ((kind, ordered) for kind in KINDS for ordered in (False, True)):
        users, ranks = zip(*(sorted(rows) if ordered else rows), strict=True)
        below, above = orders.compare_with_sizes(
            as_ids(KINDS[kind](users)), pl.Series(ranks, dtype=pl.Float64)
        )
        highest = {user: max(rank for other, rank in rows if other == user) for user in users}
        assert below == any(highest[user] < users.count(user) for user in users)
        assert above == any(highest[user] > users.count(user) for user in users)


def test_lines_are_compared_as_rows():
    ranks, scores = np.array([2, 1, -1, 1, 2], dtype=np.int32), np.array([3.0, 1, 9, 5, 5])
    assert orders.compare_lines([3, 0, 2], ranks, scores)[:2] == (1, 1)
    assert orders.compare_lines([], ranks[:0], scores[:0])[:2] == (0, 0)


@pytest.mark.parametrize("ids", [["b", "a", "b", "c"], [9, -(10**15), 9, 4], ["", "x"] * 600, []])
def test_folded_ids_are_the_ids(ids):
    column = pl.Series(ids, dtype=pl.String if not ids or isinstance(ids[0], str) else pl.Int64)
    for fold in (fold_values(column), IdSeries(column).fold):
        assert fold.spread(fold.values.to_numpy()).tolist() == ids
    assert fold_values(column).values.n_unique() == len({*ids})


def test_missing_scores_do_not_depend_on_the_order_of_rows():
    rows = pl.DataFrame(
        {
            "user": [1, 1, 1],
            "item": ["a", "b", "c"],
            "rank": [1, 2, 3],
            "score": [0.1, None, 0.9],
        }
    )
    for frame in (rows, rows.reverse()):
        assert read_rankings(frame).counts["scores_against_ranks"] == 1
