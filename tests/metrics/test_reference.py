"""Ties, bounds and half ranks, beyond the contract of every metric."""

from __future__ import annotations

import numpy as np
import pytest

import cases
import rankmeter as rm
import reference

pytestmark = pytest.mark.once


def compute(rankings, truth, metrics, **choices):
    """Per-user values of all metrics, users without a value included."""
    result = rm.evaluate(rankings, truth, metrics, **choices)
    scores = result.scores
    return {user: row for row, user in enumerate(scores.users)}, scores.values


def compare(values, rows, expected):
    """Assert one metric's values, NaN where it is undefined."""
    got = {user: values[row] for user, row in rows.items()}
    for user, want in expected.items():
        assert got[user] == pytest.approx(want, rel=1e-12, abs=1e-14, nan_ok=True), user


@pytest.mark.parametrize("of", ["first", "all"])
def test_expected_mean_rank_of_what_is_always_found(of):
    """Without a cutoff every order has the same hits, so the order decides nothing."""
    rankings, truth = cases.batch(77, n_users=60, max_length=6, n_items=8, ties=True)
    one = rm.MeanRank(of=of)
    rows, values = compute(rankings, truth, one, ties="expected")
    expected = {
        u: reference.expected("mean_rank", list(rankings[u].items()), truth[u], None, of=of)
        for u in rankings
    }
    compare(values[str(one)], rows, expected)


@pytest.mark.parametrize(("k", "whole"), [(None, "min"), (None, "hits"), (3, "min"), (3, "hits")])
def test_items_of_equal_score_may_come_together(k, whole):
    """Σ over the thresholds of (recall gained · precision there), as in scikit-learn."""
    rankings, truth = cases.batch(21, ties=True)
    one = rm.AP(denominator=whole)
    rows, values = compute(rankings, truth, one if k is None else one @ k, ties="together")
    (got,) = values.values()
    for user, scored in rankings.items():
        good = reference.relevant(truth[user])
        total, before = 0.0, 0
        for score in sorted(set(scored.values()), reverse=True):
            above = [item for item, s in scored.items() if s >= score]
            if k is None or len(above) <= k:
                found = sum(item in good for item in above)
                total += (found - before) * found / len(above)
                before = found
        limit = len(good) if k is None else min(len(good), k)
        divisor = before if whole == "hits" else limit
        want = (total / divisor if divisor else 0.0) if good else np.nan
        assert got[rows[user]] == pytest.approx(want, rel=1e-12, nan_ok=True), user


@pytest.mark.parametrize("rule", ["optimistic", "pessimistic"])
def test_bounds_are_reached_by_some_order_and_passed_by_none(rule):
    rankings, truth = cases.batch(5, n_users=80, max_length=6, n_items=8, ties=True)
    wanted = ["precision@3", "ap@3", "rr", "ndcg@3", "hit_rate@1", "err(max_gain=3)@2"]
    rows, values = compute(rankings, truth, wanted, ties=rule)
    best = max if rule == "optimistic" else min
    for label, (name, k, options) in zip(
        wanted,
        [("precision", 3, {}), ("ap", 3, {}), ("rr", None, {}), ("ndcg", 3, {}),
         ("hit_rate", 1, {}), ("err", 2, {"max_gain": 3})],
        strict=True,
    ):  # fmt: skip
        expected = {
            u: best(
                reference.value(name, order, truth[u], k, **options)
                for order in reference.orders(list(rankings[u].items()))
            )
            for u in rankings
        }
        compare(values[label], rows, expected)


def test_realistic_ranks_are_the_mean_of_the_bounds():
    """(o + p) / 2 for a single relevant item: reference page a.1, rows (1, 20), (2, 4), (9, 12)."""
    ranks = {}
    for low, high in [(1, 20), (2, 4), (9, 12)]:
        scores = {f"a{i:02d}": 9.0 for i in range(low - 1)}
        scores |= {f"t{i:02d}": 5.0 for i in range(high - low + 1)}
        for rule in ("realistic", "expected", "rounded", "optimistic", "pessimistic"):
            result = rm.evaluate({"u": scores}, {"u": {"t00"}}, ["mr", "rr", "hits@10"], ties=rule)
            ranks[low, high, rule] = [result[m].mean for m in ("mr", "rr", "hits@10")]
    assert ranks[1, 20, "realistic"] == pytest.approx([10.5, 0.0952381, 0], abs=1e-7)
    assert ranks[1, 20, "expected"] == pytest.approx([10.5, 0.1798870, 0.5], abs=1e-7)
    assert ranks[1, 20, "rounded"] == pytest.approx([11, 1 / 11, 0])
    assert ranks[2, 4, "realistic"] == pytest.approx([3, 0.3333333, 1], abs=1e-7)
    assert ranks[2, 4, "expected"] == pytest.approx([3, 0.3611111, 1], abs=1e-7)
    assert ranks[9, 12, "realistic"] == pytest.approx([10.5, 0.0952381, 0], abs=1e-7)
    assert ranks[9, 12, "expected"] == pytest.approx([10.5, 0.0963384, 0.5], abs=1e-7)
    assert ranks[9, 12, "rounded"][0] == 11
    assert ranks[9, 12, "optimistic"][0] == 9
    assert ranks[9, 12, "pessimistic"][0] == 12


def test_realistic_ranks_of_several_tied_items_keep_every_metric_in_its_range():
    """Three relevant items tied with nothing else are a perfect list."""
    metrics = ["ap", "precision@3", "recall", "mean_rank(of=all)"]
    scores = {"u": {"a": 1.0, "b": 1.0, "c": 1.0}}
    result = rm.evaluate(scores, {"u": set("abc")}, metrics, ties="realistic")
    assert [result[m].mean for m in metrics] == pytest.approx([1, 1, 1, 2])


def test_large_tied_groups_keep_full_precision():
    """A constant scorer over 20,000 items: the expected reciprocal rank has a closed form."""
    n = 20_000
    harmonic = float(np.sum(1.0 / np.arange(1, n + 1)))
    result = rm.evaluate(
        {"u": dict.fromkeys(range(n), 0.0)}, {"u": {7}}, ["rr", "ndcg", "hits@10"], ties="expected"
    )
    assert result["rr"].mean == pytest.approx(harmonic / n, rel=1e-12)
    assert result["hits@10"].mean == pytest.approx(10 / n, rel=1e-12)
    discounts = float(np.sum(1.0 / np.log2(np.arange(2.0, n + 2))))
    assert result["ndcg"].mean == pytest.approx(discounts / n, rel=1e-12)
