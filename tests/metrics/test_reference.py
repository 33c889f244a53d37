"""Ties, bounds and half ranks, beyond the contract of every metric."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import cases
import rankmeter as rm
import reference
from rankmeter.metrics import METRICS, Metric

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


@pytest.mark.parametrize("whole", ["min", "hits"])
def test_items_of_equal_score_may_come_together(whole):
    """Σ over the thresholds of (recall gained · precision there), as in scikit-learn."""
    rankings, truth = cases.batch(21, ties=True)
    one = rm.AP(denominator=whole)
    rows, values = compute(rankings, truth, one, ties="together")
    (got,) = values.values()
    for user, scored in rankings.items():
        good = reference.relevant(truth[user])
        total, before = 0.0, 0
        for score in sorted(set(scored.values()), reverse=True):
            above = [item for item, s in scored.items() if s >= score]
            found = sum(item in good for item in above)
            total += (found - before) * found / len(above)
            before = found
        divisor = before if whole == "hits" else len(good)
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


SEVERAL = {"u": dict.fromkeys("abcde", 1.0)}


def test_a_mean_rank_of_several_tied_items_is_no_order_of_them():
    """Five relevant items tied with nothing else are a perfect list, and not all in the top 3."""
    metrics = ["recall", "mean_rank(of=all)", "auc(n_items=7)"]
    result = rm.evaluate(SEVERAL, {"u": set("abcde")}, metrics, ties="realistic")
    assert [result[m].mean for m in metrics] == pytest.approx([1, 3, 1])
    expected = rm.evaluate(SEVERAL, {"u": set("abcde")}, ["ndcg@3", "ap@3"], ties="expected")
    assert [one.mean for one in expected.values()] == [1, 1]


@pytest.mark.parametrize("ties", cases.SHARED)
@pytest.mark.parametrize(
    "name", [name for name, spec in METRICS.items() if not (spec.of_lists or spec.needs_hit_items)]
)
def test_several_tied_items_are_refused_or_have_the_value_of_every_order(name, ties):
    spec = METRICS[name]
    one = Metric(name)(**spec.example)
    for k in (None, 3) if spec.cutoff else (None,):
        metric = one if k is None else one @ k
        truth = {"u": {"a": 1, "b": 1, "c": 1, "d": 0, "e": 0}}
        if k or ties not in spec.shared:
            if "@k" in spec.shared:
                continue
            with pytest.raises(rm.errors.UsageError, match="needs an order of tied items") as told:
                rm.evaluate(SEVERAL, truth, metric, ties=ties, n_items=9)
            remedy = str(told.value).split("choose ties=")[1].strip("'")
            rm.evaluate(SEVERAL, truth, metric, ties=remedy, n_items=9)
            continue
        found = rm.evaluate(SEVERAL, truth, metric, ties=ties, n_items=9)[str(metric)]
        values = [
            rm.evaluate({"u": order}, truth, metric, n_items=9)[str(metric)].mean
            for order in itertools.permutations("abcde")
        ]
        chance = np.mean(values)
        assert spec.low <= found.mean <= spec.high, metric
        better = found.mean - chance if spec.increasing else chance - found.mean
        assert better <= 1e-12, (metric, found.mean, chance)


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
