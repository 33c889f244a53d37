"""Approximate nearest neighbours against exact search in NumPy, and against ann-benchmarks."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

import rankmeter as rm
from rankmeter.errors import DataError, UsageError

pytestmark = pytest.mark.once

RECORDED = json.loads((Path(__file__).parents[1] / "data" / "ann_benchmarks.json").read_text())


def recalls(found, k):
    """The recall of each query."""
    return rm.evaluate(found, None, f"recall@{k}").per_user[f"recall@{k}"].to_list()


@pytest.mark.parametrize("k", [1, 5, 20])
def test_by_id_it_is_the_share_of_the_exact_neighbours(k):
    rng = np.random.default_rng(k)
    points, queries = rng.normal(size=(300, 8)), rng.normal(size=(50, 8))
    distances = ((queries[:, None] - points[None]) ** 2).sum(axis=2)
    exact = np.argsort(distances, axis=1)[:, :k]
    sample = rng.permutation(300)[:240]  # the index has lost a fifth of the points
    found = sample[np.argsort(distances[:, sample], axis=1)[:, : k + 5]]
    wanted = [len({*a[:k]} & {*b}) / k for a, b in zip(found.tolist(), exact.tolist(), strict=True)]
    by_id = rm.neighbours(found, exact, k=k)
    assert recalls(by_id, k) == pytest.approx(wanted)
    far = np.take_along_axis(distances, found, axis=1), np.take_along_axis(distances, exact, axis=1)
    by_distance = rm.neighbours(*far, k=k, by="distance", ids=found)
    assert recalls(by_distance, k) == pytest.approx(wanted)
    assert recalls(rm.neighbours(found.tolist(), exact.tolist(), k=k), k) == recalls(by_id, k)


@pytest.mark.parametrize("k", [1, 3, 10])
@pytest.mark.parametrize(
    ("name", "options"),
    [("knn", {"like": "ann-benchmarks"}), ("epsilon", {"tolerance": 0.01, "relative": True})],
)
def test_without_ids_it_is_the_recall_of_ann_benchmarks(k, name, options):
    found = rm.neighbours(RECORDED["found"], RECORDED["exact"], k=k, by="distance", **options)
    wanted = [count / k for count in RECORDED["found_within"][name][str(k)]]
    assert recalls(found, k) == pytest.approx(wanted)
    means = rm.evaluate(found, None, f"k-nn@{k}", like="ann-benchmarks")
    assert means[f"k-nn@{k}"].mean == pytest.approx(np.mean(wanted))
    if name == "knn":
        by_hand = rm.neighbours(
            RECORDED["found"], RECORDED["exact"], k=k, by="distance", tolerance=1e-3
        )
        assert recalls(by_hand, k) == recalls(found, k)


def test_only_ann_benchmarks_is_followed():
    assert recalls(rm.neighbours([[7]], [[7]], k=1, by="id", like="ann_benchmarks"), 1) == [1.0]
    with pytest.raises(UsageError, match="'ann-benchmarks' or None"):
        rm.neighbours([[7]], [[7]], k=1, like="ranx")


def test_a_neighbour_that_is_found_again_counts_once():
    assert recalls(rm.neighbours([[7, 7, 7]], [[7, 4, 5]], k=3), 3) == [pytest.approx(1 / 3)]
    same, exact = [[0.1, 0.1, 0.1]], [[0.1, 0.2, 0.3]]
    assert recalls(rm.neighbours(same, exact, k=3, by="distance"), 3) == [1.0]
    once = rm.neighbours(same, exact, k=3, by="distance", ids=[[7, 7, 7]])
    assert recalls(once, 3) == [pytest.approx(1 / 3)]


def test_an_equally_near_neighbour_is_right_by_distance():
    exact_ids, exact = [["a", "b"]], [[0.1, 0.5]]
    assert recalls(rm.neighbours([["a", "c"]], exact_ids, k=2), 2) == [0.5]
    assert recalls(rm.neighbours([[0.1, 0.5]], exact, k=2, by="distance", ids=[["a", "c"]]), 2) == [
        1
    ]


def test_nothing_found_is_a_miss():
    assert recalls(rm.neighbours([[4, -1], []], [[4, -1], [1, 2]], k=2), 2) == [0.5, 0.0]
    far = [[0.1, math.inf], [math.nan, 0.1]]
    assert recalls(rm.neighbours(far, [[0.1, 0.2]] * 2, k=2, by="distance"), 2) == [0.5, 0.5]
    padded = rm.neighbours([[0.1, 0.0]], [[0.1, 0.2]], k=2, by="distance", ids=[[3, -1]])
    assert recalls(padded, 2) == [0.5]


def test_two_indexes_are_compared():
    exact = [[1, 2], [3, 4], [5, 6]]
    indexes = {"flat": rm.neighbours(exact, exact, k=2),
               "hnsw": rm.neighbours([[1, 9], [3, 4], [9, 5]], exact, k=2)}  # fmt: skip
    found = rm.compare(indexes, None, "recall@2")
    assert found["recall@2"].means["hnsw"].mean == pytest.approx(2 / 3)
    assert found["recall@2"][0].n == 3
    named = rm.neighbours([[1], [2]], [[1], [3]], k=1, users=["x", "y"])
    assert rm.evaluate(named, None, "recall@1").per_user["user"].to_list() == ["x", "y"]


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda: rm.neighbours([[1]], [[1]], k=2), DataError, "1 neighbours for query 0, fewer"),
        (lambda: rm.neighbours([[1]], [[1], [2]], k=1), DataError, "found has 1 query, exact 2"),
        (lambda: rm.neighbours([1, 2], [[1], [2]], k=1), UsageError, "a list for each query"),
        (lambda: rm.neighbours(["ab"], [["a"]], k=1), UsageError, "a list for each query"),
        (
            lambda: rm.neighbours([[1]], [[1]], k=1, tolerance=0.1),
            UsageError,
            "are about distances",
        ),
        (
            lambda: rm.neighbours([["a"]], [[0.1]], k=1, by="distance"),
            DataError,
            "distances must be numbers",
        ),
        (
            lambda: rm.neighbours([[0.1]], [[math.inf]], k=1, by="distance"),
            DataError,
            "must be finite",
        ),
        (
            lambda: rm.neighbours([[0.1]], [[0.1]], k=1, by="distance", ids=[[]]),
            DataError,
            "fewer neighbours than found",
        ),
    ],
)
def test_what_cannot_be_compared_is_refused(call, error, said):
    with pytest.raises(error, match=said):
        call()
