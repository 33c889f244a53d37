"""A cutoff of any size costs nothing, and gives the value that its definition gives."""

from __future__ import annotations

import math
import time
import tracemalloc
from decimal import Decimal, localcontext

import numpy as np
import polars as pl
import pytest

import cases
import rankmeter as rm
from rankmeter.errors import RankmeterWarning, UsageError
from rankmeter.metrics import METRICS
from rankmeter.metrics.weights import DIRECT, DISCOUNTS, cumulative_discount

pytestmark = pytest.mark.once

HUGE = (10**10, 10**15, 2**62)
TIES = ("item", "expected", "realistic", "together")
RANKINGS = {"u": {"a": 3.0, "b": 2.0, "c": 2.0, "d": 1.0}, "v": {"x": 2.0, "a": 1.0}}
TRUTH = {"u": {"b": 1, "c": 2, "z": 1, "a": 0}, "v": {"a": 3}}
ONE_TIED = {"u": {"b": 1, "z": 1, "a": 0}, "v": {"a": 3}}
SIDE = {
    "train": {"u": ["a", "b"], "v": ["b", "c"], "w": ["b"]},
    "items": {"a": ["x"], "b": ["y"], "c": ["x", "y"], "d": ["y"], "x": ["x"], "z": ["y"]},
    "catalogue": 9,
    "baseline_lists": {"u": ["b", "x"], "v": ["a"]},
    "propensity": {"a": 0.5, "b": 0.25, "c": 1.0},
}
BY_PLACES = {"mcc", "mar", "lauc", "pauc", "sufficiency", "precision_ia"}
"""Metrics of all places down to k, empty or not: their values go on changing."""
CASES = [
    (name, option.name, value)
    for name, spec in METRICS.items()
    if spec.cutoff
    for option in spec.options.values()
    for value in option.values
]
CASES += [(name, "", None) for name, spec in METRICS.items() if spec.cutoff]


@pytest.mark.parametrize("discount", DISCOUNTS)
def test_sums_of_weights_are_those_of_numpy(discount):
    depth = np.array([0, 1, 2, 1000, 2**20 - 1, 2**20, 2**20 + 1, 3_000_000])
    plain = np.concatenate(([0.0], np.cumsum(DISCOUNTS[discount](np.arange(1.0, 3_000_001.0)))))
    assert np.array_equal(cumulative_discount(discount, depth), plain[depth])


@pytest.mark.parametrize("discount", DISCOUNTS)
def test_sums_below_the_direct_ones_go_on_exactly(discount):
    ends = [DIRECT + 1, DIRECT + 1000, DIRECT + DIRECT // 5]
    found = cumulative_discount(discount, np.array([DIRECT, *ends]))
    assert found[0] == pytest.approx(found[1], rel=1e-6)
    assert found[0] < found[1]
    chunks = np.split(np.arange(1.0, ends[-1] + 1.0), [DIRECT, *ends[:-1]])
    sums = [math.fsum(DISCOUNTS[discount](chunk).tolist()) for chunk in chunks]
    for place, end in enumerate(found[1:].tolist(), 2):
        assert end == pytest.approx(math.fsum(sums[:place]), rel=1e-14, abs=0)


def test_a_harmonic_number_with_thirty_digits():
    """H(n) = log n + γ + 1 / 2n - 1 / 12n² + …"""
    with localcontext() as context:
        context.prec = 30
        gamma = Decimal("0.577215664901532860606512090082")
        for k in HUGE:
            n = Decimal(k)
            wanted = n.ln() + gamma + 1 / (2 * n) - 1 / (12 * n * n)
            found = cumulative_discount("reciprocal", np.array([k]))[0]
            assert abs(Decimal(found) / wanted - 1) < Decimal("1e-15")


@pytest.mark.parametrize("k", HUGE)
def test_the_ideal_of_ones_is_the_sum_of_all_weights(k):
    found = rm.evaluate(RANKINGS, TRUTH, f"ndcg(ideal=ones)@{k} dcg@{k}")
    whole = cumulative_discount("log2", np.array([k]))[0]
    ratio = found["dcg@" + str(k)].mean / found[f"ndcg(ideal=ones)@{k}"].mean
    assert ratio == pytest.approx(whole, rel=1e-14)
    assert rm.evaluate(RANKINGS, TRUTH, f"ndcg@{k}", like="rectools")[f"ndcg@{k}"].mean > 0


@pytest.mark.parametrize(("name", "option", "value"), CASES)
def test_every_metric_at_every_large_k(name, option, value):
    spec = METRICS[name]
    options = {**spec.example, **({option: value} if option else {})}
    if name == "utility" and options.get("spared"):
        options["n_items"] = 30
    metric = rm.metrics.Metric(name)(**options)
    for ties in TIES[: 2 if option else None]:  # all rules with the defaults
        if (ties == "expected" and not spec.open_ties) or (spec.of_lists and ties != "item"):
            continue
        start = time.process_time()
        tracemalloc.start()
        side = SIDE if spec.of_lists or spec.needs_hit_items else {}
        asked = [metric @ k for k in (1000, *HUGE)]
        truth = ONE_TIED if ties in cases.SHARED else TRUTH
        if value == "given" or spec.refuses_together(options):
            tracemalloc.stop()
            with pytest.raises(UsageError):
                rm.evaluate(RANKINGS, truth, asked, ties=ties, **side)
            return
        found = rm.evaluate(RANKINGS, truth, asked, ties=ties, **side)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        means = [e.mean for e in found.values()]
        beyond = name == "mcc" and value == "k"  # of more places than there are items
        assert beyond or all(map(math.isfinite, means)), means
        assert time.process_time() - start < 10
        assert peak < 500e6
        # Whatever divides by k, or by what grows with k, becomes small, and else nothing changes.
        shrinks = {("denominator", "k"), ("denominator", "all"), ("ideal", "ones"), ("chosen", "k")}
        shrinks |= {("similarity", "overlap")}
        default = {o.name: o.default for o in spec.options.values()} | options
        if name in BY_PLACES:
            continue
        if not shrinks & default.items():
            assert means[1:] == [means[0]] * 3
        elif name != "accuracy":
            distance = [abs(mean - round(mean)) for mean in means]
            assert distance == sorted(distance, reverse=True)


@pytest.mark.parametrize("k", [2**62 + 1, 10**19, 10**40, 10**400])
def test_what_is_larger_is_refused(k):
    with pytest.raises(UsageError, match="`k` of ndcg"):
        rm.NDCG @ k


OPEN = [name for name, spec in METRICS.items() if spec.open_ties]


@pytest.mark.filterwarnings("ignore:.*outside its range")  # ranks of items that are not there
@pytest.mark.parametrize("name", OPEN)
def test_tied_ranks_of_any_size_need_little_memory(name):
    metric = rm.metrics.Metric(name)(**METRICS[name].example)
    top = 2**53 - 3
    ranks = {"user": ["u"] * 14, "item": [*"abcdefghijklmn"], "rank": [1] + [top] * 13}
    tracemalloc.start()
    with pytest.warns(RankmeterWarning, match="1 user .* have gaps"):
        found = rm.evaluate(pl.DataFrame(ranks), {"u": ["a", "b"]}, metric, ties="expected", **SIDE)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert all(math.isfinite(e.mean) for e in found.values())
    assert peak < 500e6


def test_tied_ranks_beyond_the_table_of_weights_have_the_mean_of_their_span():
    top = 2**30
    ranks = {"user": ["u"] * 4, "item": [*"abcd"], "rank": [1, top, top, top]}

    def dcg(metric):
        with pytest.warns(RankmeterWarning, match="1 user .* have gaps"):
            return rm.evaluate(pl.DataFrame(ranks), {"u": ["a", "b"]}, metric, ties="expected")

    span = [1 / math.log2(rank + 1) for rank in range(top, top + 3)]
    assert dcg("dcg")["dcg"].mean == pytest.approx(1 + sum(span) / 3, rel=1e-14)
    label = f"dcg@{top + 1}"
    assert dcg(label)[label].mean == pytest.approx(1 + sum(span[:2]) / 3, rel=1e-14)


def test_a_long_ranking_does_not_change_the_values_of_other_users():
    near = {"user": ["u"] * 3, "item": [*"abc"], "rank": [3, 3, 3]}
    far = {"user": ["v"] * 3, "item": [*"abc"], "rank": [2**50, 2**40, 2**40]}
    truth = {"u": ["a", "b"], "v": ["a"]}
    frames = [pl.DataFrame(near), pl.concat([pl.DataFrame(near), pl.DataFrame(far)])]
    alone = rm.evaluate(frames[0], truth, "dcg", ties="expected")
    with pytest.warns(RankmeterWarning, match="1 user .* have gaps: user 'v'"):
        both = rm.evaluate(frames[1], truth, "dcg", ties="expected")
    assert alone.per_user["dcg"][0] == both.per_user["dcg"][0]


def test_an_expectation_over_too_many_ranks_is_left_out_of_chance():
    found = rm.evaluate(RANKINGS, TRUTH, ["rr", "dcg", "precision@1"], n_items=10**12)
    assert found.random == {"precision@1": pytest.approx(2e-12)}  # of 3 and 1 relevant items
