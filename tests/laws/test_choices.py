"""The choices: one declaration for signatures, docs, commands and checks."""

from __future__ import annotations

import pytest

import rankmeter as rm
from rankmeter.errors import UsageError

pytestmark = pytest.mark.once

FUNCTIONS = (rm.evaluate, rm.compare, rm.curve, rm.explain)
RANKINGS = {"u": {"a": 3.0, "b": 2.0, "c": 2.0}}
TRUTH = {"u": {"a": 1, "c": 3}}


def call(function, **choices):
    if function is rm.compare:
        return function({"x": RANKINGS, "y": RANKINGS}, TRUTH, "ndcg@2", **choices)
    if function is rm.curve:
        return function(RANKINGS, TRUTH, "ndcg", 2, **choices)
    if function.__name__ == "explain":
        return function(RANKINGS, TRUTH, "ndcg@2", target="0.5", **choices)
    return function(RANKINGS, TRUTH, "ndcg@2", **choices)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_misspelled_choice_is_refused_in_one_way(function):
    with pytest.raises(UsageError, match="unknown option 'tie'; did you mean 'ties'"):
        call(function, tie="item")


def test_one_call_measures_each_metric_at_its_own_threshold():
    metrics = ["ndcg@10", "rr(relevant=2)@10", "ap(relevant=2)"]
    result = rm.evaluate({"q": ["x", "a", "b"]}, {"q": {"a": 1, "b": 3, "x": 0}}, metrics)
    assert list(result) == metrics
    assert result["rr(relevant=2)@10"].mean == pytest.approx(1 / 3)
    assert result["ap(relevant=>=2)"].mean == pytest.approx(1 / 3)
    assert result["ndcg@10"].mean == pytest.approx(0.5869, abs=1e-4)


@pytest.mark.parametrize(
    "low, high", [(1700000000, 1700000600), (4.33333332, 4.33333334), (5e-324, 1e-323)]
)
@pytest.mark.parametrize("written", [str, float, ">={}".format])
def test_a_threshold_keeps_all_its_digits(low, high, written):
    result = rm.evaluate(
        {"u": ["a", "b"]}, {"u": {"a": low, "b": high}}, "rr", relevant=written(high)
    )
    assert result["rr"].mean == 0.5
    shown = result.plan["rr"].alignment.relevant
    assert float(shown.removeprefix(">=")) == high
    assert f"items with a gain of at least {shown.removeprefix('>=')} are relevant" in str(result)
    one, other = (rm.metric(f"rr(relevant={level!r})") for level in (low, high))
    assert one != other
    assert rm.metric(str(other)) == other


def test_a_choice_inside_a_metric_wins_over_the_call_and_the_convention():
    result = rm.evaluate(
        RANKINGS, TRUTH, ["rr(ties=pessimistic)", "rr"], like="trec_eval", ties="optimistic"
    )
    assert [e.alignment.ties for e in result.plan.metrics] == ["pessimistic", "optimistic"]


def test_metrics_with_choices_are_values_that_round_trip():
    one = rm.metric("nDCG( ties = expected , relevant = 2 )@10")
    assert str(one) == "ndcg(relevant=2,ties=expected)@10"
    assert rm.metric(str(one)) == one == rm.NDCG(ties="expected", relevant=2) @ 10
    assert one != rm.metric("ndcg@10")


def test_what_holds_for_all_metrics_is_no_option_of_one():
    with pytest.raises(UsageError, match="confidence holds for all metrics"):
        rm.metric("ndcg(confidence=0.9)@10")
    with pytest.raises(UsageError, match="ndcg has no option 'color'"):
        rm.metric("ndcg(color=red)@10")


def test_the_plan_shows_every_choice_that_a_number_depends_on():
    plain = rm.evaluate(RANKINGS, TRUTH, "ndcg@2").plan.to_dict()
    assert not {"resamples", "seed"} & plain.keys()
    drawn = rm.evaluate(RANKINGS, TRUTH, "ndcg@2", interval="bca", resamples=99, seed=4).plan
    assert drawn.to_dict()["resamples"] == 99
    assert "seed        4" in str(drawn)


def test_a_name_finds_the_metric_that_it_means_and_no_other():
    metrics = ["rr(relevant=2)@10", "rr@10", "ndcg(gain=exp2)@10", "ndcg@10"]
    result = rm.evaluate(RANKINGS, TRUTH, metrics)
    for name in ("mrr@10", "RR@10", "rr_10"):
        assert result[name] is result["rr@10"]
    assert result["MRR(relevant=2)@10"] is result["rr(relevant=2)@10"]
    assert result["nDCG@10"] is result["ndcg@10"]
    assert result["nDCG(gain=exp2)@10"] is result["ndcg(gain=exp2)@10"]
    with pytest.raises(KeyError, match="'recall@2,5' was not evaluated"):
        _ = result["recall@2,5"]
    only = rm.evaluate(RANKINGS, TRUTH, ["rr(relevant=2)@10", "ndcg(gain=exp2)@10"])
    assert only["ndcg@10"] is only["ndcg(gain=exp2)@10"]  # the only one of its kind
    with pytest.raises(KeyError, match="'rr@10' was not evaluated"):
        _ = only["rr@10"]
    two = rm.evaluate(RANKINGS, TRUTH, ["ndcg(gain=exp2)@10", "ndcg(gain=binary)@10"])
    with pytest.raises(KeyError, match="'ndcg@10' names several metrics"):
        _ = two["ndcg@10"]


def test_explain_holds_the_choices_inside_the_metric():
    value = rm.evaluate(RANKINGS, TRUTH, "ndcg@10")["ndcg@10"].mean
    found = rm.explain(RANKINGS, TRUTH, "ndcg(ties=expected)@10", target=f"{value:.12f}")
    assert not any("ties" in match.switches for match in found.matches)


@pytest.mark.parametrize(
    ("call", "remedy"),
    [
        (lambda: rm.evaluate({1: [2]}, {1: [2]}, "nDCG10"), "did you mean 'ndcg@10'"),
        (lambda: rm.evaluate({1: [2]}, {1: [2]}, "rr", topn=5), "part of the metric string"),
        (lambda: rm.evaluate({1: [2]}, {1: [2]}, "rr", segments={1: "a"}), r"by_segment\("),
        (lambda: rm.evaluate({1: [2]}, {1: [2]}, "rr", threshold=4), "relevant='>=4'"),
        (lambda: rm.evaluate({1: [2]}, "recall@3"), r"evaluate\(records, None, 'recall@3'\)"),
    ],
)
def test_what_people_write_first_names_what_to_write(call, remedy):
    with pytest.raises(rm.errors.RankmeterError, match=remedy):
        call()
