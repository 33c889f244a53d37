"""The notes below a table of means: every rule names the metrics it applies to."""

from __future__ import annotations

import pytest

import rankmeter as rm
from rankmeter.errors import UsageError

pytestmark = pytest.mark.once

RANKINGS = {"u": ["a", "b"], "w": ["b", "a"], "y": ["a"]}
TRUTH = {"u": {"a": 1}, "v": {"a": 1}, "w": {"a": 0}}


EMPTY = "1 user has no ranking and counts as an empty ranking"
LEFT = "1 user has no ranking and is left out"


def notes(metrics, rankings=RANKINGS, truth=TRUTH, **choices):
    return rm.evaluate(rankings, truth, metrics, **choices).table().notes


def test_a_rule_of_all_metrics_is_said_once():
    assert notes("ndcg@2 precision@2") == (
        "convention rankmeter: items with a gain above 0 are relevant",
        "1 user has no ranking and counts as an empty ranking",
        "1 user has no ground truth and is left out",
        "1 user has nothing relevant and is left out",
    )


@pytest.mark.parametrize(
    ("metrics", "rule"),
    [
        ("ndcg@2 precision@2", f"{EMPTY} on ndcg@2; {LEFT} on precision@2"),
        ("precision@2 ndcg@2", f"{LEFT} on precision@2; {EMPTY} on ndcg@2"),
        ("precision@2 ndcg@2 rr", f"{LEFT} on precision@2, rr; {EMPTY} on ndcg@2"),
        ("precision@2 rr", LEFT),
    ],
)
def test_missing_users(metrics, rule):
    assert rule in notes(metrics, like="recommenders")


def test_undefined_users():
    found = notes("rr precision@2", like="rexmex")
    has = "1 user has nothing relevant and"
    assert f"{has} is left out on rr; {has} counts as 0 on precision@2" in found


def test_ties():
    tied = {"u": {"a": 1.0, "b": 1.0}}
    found = notes("ndcg@2 map@2", tied, {"u": {"a": 1}}, like="torchmetrics")
    tied = "1 hit is tied in score:"
    mean = "the mean over all orders counts on ndcg@2"
    assert f"{tied} {mean}; {tied} they keep the order of the rows on map@2" in found


def test_relevance_and_who_has_nothing_relevant():
    """In trec_eval a threshold applies to hits, but all gains above 0 count."""
    found = notes("ndcg@2 rr", like="trec_eval", relevant=">=2")
    rules = (
        "items with a gain above 0 are relevant on ndcg@2; items with a gain of at least 2 are "
        "relevant on rr"
    )
    assert found[0] == f"convention trec_eval 10.0: {rules}"
    one = "1 user has nothing relevant and counts as"
    three = "3 users have nothing relevant and count as"
    assert f"{one} 0 on ndcg@2; {three} 0 on rr" in found


def test_how_bootstrap_intervals_were_drawn():
    drawn = "bootstrap, 2,000 samples, seed 0"
    assert f"intervals by bca {drawn}" in notes("rr", interval="bca")
    clusters = {"u": 1, "v": 2}
    said = notes("rr", clusters=clusters, interval="bca")
    assert f"intervals by bca {drawn}" in said
    assert "intervals by 2 clusters" in said
    systems = {"x": RANKINGS, "y": RANKINGS}
    found = rm.compare(systems, TRUTH, "rr", interval="bca")
    assert f"intervals by bca {drawn}" in found.table().notes


def test_a_number_of_samples_without_a_bootstrap_is_noted():
    note = "resamples=500 has no effect on interval=wilson: choose bca"
    assert note in notes("rr", resamples=500)
    found = rm.compare({"x": RANKINGS, "y": RANKINGS}, TRUTH, "rr", n_bootstrap=500)
    assert note in found.table().notes
    assert not any("has no effect" in other for other in notes("rr"))


@pytest.mark.parametrize(
    ("confidence", "shown"),
    [
        (0.95, "95 %"),
        (0.57, "57 %"),
        (0.999, "99.9 %"),
        (0.9999999, "99.99999 %"),
        (1e-9, "1e-07 %"),
    ],
)
def test_an_interval_is_never_at_100_percent(confidence, shown):
    found = rm.evaluate([["a"], ["b"]], [{"a"}, {"a"}], "rr", confidence=confidence)
    assert found.table().columns[2] == f"{shown} interval"


@pytest.mark.parametrize("method", ["by_segment", "gap"])
def test_segments_must_be_given(method):
    found = rm.evaluate([["a"]], [{"a"}], "rr")
    with pytest.raises(UsageError, match=r"`segments` must be a label for each user.*, got None"):
        getattr(found, method)(None)
