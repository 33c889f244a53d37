"""Laws that every registered metric obeys, as properties."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import cases
import rankmeter as rm
from rankmeter.metrics import METRICS, Metric

pytestmark = pytest.mark.once

ITEMS = [f"i{n}" for n in range(8)]

scored_lists = st.dictionaries(st.sampled_from(ITEMS), st.integers(0, 5).map(float), max_size=8)
truths = st.dictionaries(st.sampled_from(ITEMS), st.sampled_from([0.0, 1.0, 1.0, 2.0, 3.0]))
worlds = st.lists(st.tuples(scored_lists, truths), min_size=1, max_size=5)
tie_rules = st.sampled_from(cases.RULES)
cutoffs = st.sampled_from([None, 1, 2, 3, 5, 20])


def wanted(k=None, names=tuple(METRICS), ties="item"):
    """Metrics at one cutoff, with their required options, that have a value under the rule."""
    found = []
    for name in names:
        spec = METRICS[name]
        if spec.of_lists or spec.needs_hit_items or (ties == "expected" and not spec.open_ties):
            continue
        if ties in cases.SHARED and not spec.allows_shared_ranks(ties, cut=k is not None):
            continue
        one = Metric(name)(**spec.example)
        found.append(one @ k if k is not None and spec.cutoff else one)
    return found


def split(world):
    rankings = {f"u{n}": scores for n, (scores, _) in enumerate(world)}
    truth = {f"u{n}": gains for n, (_, gains) in enumerate(world)}
    return rankings, truth


def values(rankings, truth, metrics, **choices):
    return rm.evaluate(rankings, truth, metrics, no_overlap="allow", **choices).scores


def same(a, b):
    assert a.values.keys() == b.values.keys()
    assert a.errors.keys() == b.errors.keys()
    for label in a.values:
        np.testing.assert_allclose(a.values[label], b.values[label], rtol=1e-12, atol=1e-15)


def long(rankings):
    rows = [(u, i, s) for u, items in rankings.items() for i, s in items.items()]
    return pl.DataFrame(
        rows, schema={"user": pl.String, "item": pl.String, "score": pl.Float64}, orient="row"
    )


def long_truth(truth):
    rows = [(u, i, g) for u, items in truth.items() for i, g in items.items()]
    return pl.DataFrame(
        rows, schema={"user": pl.String, "item": pl.String, "gain": pl.Float64}, orient="row"
    )


@given(worlds, cutoffs, tie_rules)
def test_values_lie_in_the_range_that_the_registry_states(world, k, ties):
    rankings, truth = split(world)
    metrics = wanted(k, ties=ties)
    scores = values(rankings, truth, metrics, ties=ties)
    for one in metrics:
        found = scores.values[str(one)]
        found = found[~np.isnan(found)]
        assert (found >= one.spec.low - 1e-12).all(), one
        assert (found <= one.spec.high + 1e-12).all(), one


@given(truths, cutoffs)
def test_the_ideal_ranking_is_the_best(truth, k):
    assume(any(truth.values()))
    ideal = {"u": {item: gain for item, gain in truth.items() if gain > 0}}
    full = rm.evaluate(ideal, {"u": truth}, ["ndcg", "nerr(max_gain=3)", "ap", "rr", "recall"])
    assert [e.mean for e in full.values()] == pytest.approx([1.0] * 5)
    best = {str(one): one.spec.best for one in wanted() if one.spec.best is not None}
    found = rm.evaluate(ideal, {"u": truth}, list(best))
    assert {label: found[label].mean for label in best} == pytest.approx(best)
    if k is not None:
        names = ["ndcg", "ndcg(gain=exp2)", "ap", "rr", "hit_rate", "nerr(max_gain=3)"]
        cut = rm.evaluate(ideal, {"u": truth}, [f"{name}@{k}" for name in names])
        assert [e.mean for e in cut.values()] == pytest.approx([1.0] * 6)


@given(worlds, cutoffs)
def test_a_ranking_without_hits_is_the_worst(world, k):
    _, truth = split(world)
    rankings = {user: {"x": 2.0, "y": 1.0} for user in truth}
    names = ["precision", "recall", "hit_rate", "ap", "rr", "dcg", "ndcg", "rbp", "cg", "f_beta"]
    scores = values(rankings, truth, wanted(k, names))
    for found in scores.values.values():
        assert (np.nan_to_num(found) == 0).all()


@given(worlds, cutoffs, st.randoms(use_true_random=False), tie_rules)
def test_the_order_of_the_rows_does_not_matter(world, k, random, ties):
    if ties in cases.BY_ROW:
        ties = "item"  # the meaning of the others is the order of the rows
    rankings, truth = split(world)
    a, b = long(rankings), long_truth(truth)
    assume(not a.is_empty() and not b.is_empty())
    shuffled = [frame[random.sample(range(frame.height), frame.height)] for frame in (a, b)]
    metrics = wanted(k, ties=ties)
    same(values(a, b, metrics, ties=ties), values(*shuffled, metrics, ties=ties))


@given(worlds, cutoffs)
def test_renamed_users_and_items_change_nothing(world, k):
    rankings, truth = split(world)
    rename = {item: f"z{item}" for item in ITEMS}  # keeps the order, on which the tie rule depends
    metrics = wanted(k)
    other = values(
        {int(u[1:]) + 9: {rename[i]: s for i, s in items.items()} for u, items in rankings.items()},
        {int(u[1:]) + 9: {rename[i]: g for i, g in items.items()} for u, items in truth.items()},
        metrics,
    )
    same(values(rankings, truth, metrics), other)


@given(worlds, st.integers(1, 6))
def test_misses_below_the_cutoff_change_nothing(world, k):
    rankings, truth = split(world)
    longer = {
        user: {**scores, **{f"x{n:02d}": -1.0 - n for n in range(k + 8 - len(scores))}}
        for user, scores in rankings.items()
    }
    longest = {user: {**scores, "y": -1000.0, "z": -1001.0} for user, scores in longer.items()}
    metrics = [one for one in wanted(k) if one.spec.cutoff]
    same(values(longer, truth, metrics), values(longest, truth, metrics))


@given(worlds, tie_rules)
def test_what_must_not_fall_with_k_does_not(world, ties):
    assume(ties not in cases.SHARED)
    rankings, truth = split(world)
    for name in ("recall", "hit_rate", "rr", "dcg", "cg", "rbp"):
        metrics = [Metric(name) @ k for k in (1, 2, 3, 5, 8)] + [Metric(name)]
        found = list(values(rankings, truth, metrics, ties=ties).values.values())
        for shorter, longer in zip(found, found[1:], strict=False):
            assert (np.nan_to_num(longer) >= np.nan_to_num(shorter) - 1e-12).all(), name


@given(st.integers(1, 30), st.integers(1, 30))
def test_leave_one_out_forms_equal_the_general_forms(rank, k):
    """One true item at rank r: HR = [r <= k], AP = RR = HR/r, NDCG = HR/log2(r + 1)."""
    ranking = [f"x{n}" for n in range(30)]
    ranking[rank - 1] = "true"
    names = ["precision", "recall", "hr", "ap", "rr", "ndcg"]
    result = rm.evaluate([ranking], [{"true"}], [f"{name}@{k}" for name in names])
    hit = float(rank <= k)
    expected = [hit / k, hit, hit, hit / rank, hit / rank, hit / math.log2(rank + 1)]
    assert [e.mean for e in result.values()] == pytest.approx(expected)


@given(
    st.lists(st.tuples(scored_lists, st.sampled_from(ITEMS)), min_size=1, max_size=6),
    cutoffs,
    tie_rules,
)
def test_map_equals_mrr_on_one_item_truths(world, k, ties):
    rankings = {n: scores for n, (scores, _) in enumerate(world)}
    truth = {n: {item} for n, (_, item) in enumerate(world)}
    scores = values(rankings, truth, wanted(k, ["ap", "rr"]), ties=ties)
    a, b = scores.values.values()
    np.testing.assert_allclose(a, b, rtol=1e-12)


@given(worlds, cutoffs)
def test_expected_values_lie_between_the_bounds(world, k):
    rankings, truth = split(world)
    metrics = wanted(k, ["precision", "recall", "hit_rate", "rr", "ap", "dcg", "ndcg", "rbp"])
    low, mid, high = (
        values(rankings, truth, metrics, ties=rule)
        for rule in ("pessimistic", "expected", "optimistic")
    )
    for label in mid.values:
        a, b, c = (np.nan_to_num(s.values[label]) for s in (low, mid, high))
        assert (a <= b + 1e-12).all(), label
        assert (b <= c + 1e-12).all(), label


def test_integer_and_string_ids_agree():
    rankings, truth = cases.batch(3)
    metrics = ["ndcg@5", "map@5", "rr", "recall@5"]
    numbered = {u: {int(i[1:]): s for i, s in items.items()} for u, items in rankings.items()}
    judged = {u: {int(i[1:]): g for i, g in items.items()} for u, items in truth.items()}
    same(values(rankings, truth, metrics), values(numbered, judged, metrics))
