"""What random rankings reach: closed forms, published values, enumeration."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import rankmeter as rm
from rankmeter.errors import UsageError


def random_means(n, relevant, metrics):
    truth = {"u": {f"i{j}" for j in range(relevant)}}
    found = rm.evaluate({"u": ["i0"]}, truth, metrics, n_items=n, relevant=">0")
    return found.random


@pytest.mark.parametrize(
    ("n", "m", "k", "expected"),
    [(8, 2, 8, 3403 / 7840), (10, 3, 4, 271 / 1080), (12, 5, 3, 745 / 2376), (9, 1, 5, 137 / 540)],
)
def test_average_precision_is_that_of_manzhos_and_others(n, m, k, expected):
    """arXiv 2511.02571, with the denominator min(n_relevant, k)."""
    assert random_means(n, m, f"ap@{k}")[f"ap@{k}"] == pytest.approx(expected)


def test_closed_forms_of_other_metrics():
    found = random_means(12, 4, ["precision@5", "recall@5", "hr@5", "rr@5", "dcg@5"])
    assert found["precision@5"] == pytest.approx(1 / 3)
    assert found["recall@5"] == pytest.approx(5 / 12)
    assert found["hr@5"] == pytest.approx(1 - math.comb(8, 5) / math.comb(12, 5))
    rr = sum(math.comb(12 - i, 3) / math.comb(12, 4) / i for i in range(1, 6))
    assert found["rr@5"] == pytest.approx(rr)
    assert found["dcg@5"] == pytest.approx(sum(1 / np.log2(i + 1) for i in range(1, 6)) / 3)


def test_graded_gains_by_enumeration():
    truth = {"u": {"a": 3, "b": 1}}
    values = [
        rm.evaluate({"u": list(order)}, truth, "ndcg@3", relevant=">0")["ndcg@3"].mean
        for order in itertools.permutations("abcd")
    ]
    found = rm.evaluate({"u": ["a"]}, truth, "ndcg@3", n_items=4, relevant=">0")
    assert found.random["ndcg@3"] == pytest.approx(np.mean(values))
    assert found.best["ndcg@3"] == 1.0


def test_the_mean_is_over_the_users_of_the_result():
    truth = {"u": {"a"}, "v": {"a", "b"}, "w": {"c"}}
    lists = {"u": ["a"], "v": ["b"]}
    every = rm.evaluate(lists, truth, "recall@1", n_items=4, relevant=">0")
    some = rm.evaluate(lists, truth, "recall@1", n_items=4, relevant=">0", missing="skip")
    assert every.random["recall@1"] == pytest.approx(1 / 4)
    assert every.best["recall@1"] == pytest.approx((1 + 0.5 + 1) / 3)
    assert some.best["recall@1"] == pytest.approx((1 + 0.5) / 2)


def test_it_is_in_the_notes_and_in_json():
    truth = {f"u{i}": {"a"} for i in range(5)}
    found = rm.evaluate({u: ["a"] for u in truth}, truth, "hr@10", n_items=1000, relevant=">0")
    assert "random: hr@10 0.0100 (1,000 candidates)" in found.table().notes
    assert found.to_dict()["metrics"]["hr@10"]["random"] == pytest.approx(0.01)
    plain = rm.evaluate({u: ["a"] for u in truth}, truth, "hr@10", relevant=">0")
    assert plain.random == {}
    assert "random" not in plain.to_dict()["metrics"]["hr@10"]


def test_adjusted_means():
    truth = {f"u{i}": {"a"} for i in range(4)}
    lists = {"u0": ["a"], "u1": ["a"], "u2": ["b"], "u3": ["b"]}
    found = rm.evaluate(lists, truth, ["hr@1", "mean_rank"], n_items=5, relevant=">0")
    e = found.adjusted("hr@1")
    assert e.mean == pytest.approx((0.5 - 0.2) / 0.8)
    assert e.low == pytest.approx((found["hr@1"].low - 0.2) / 0.8)
    with pytest.raises(UsageError, match="n_items"):
        rm.evaluate(lists, truth, "hr@1", relevant=">0").adjusted("hr@1")
