"""What results say: counts of both sides, and the same facts everywhere."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import rankmeter as rm

pytestmark = pytest.mark.once

TRUTH = {"u": {"a": 1, "b": 3}, "v": {"a": 4}, "w": {"a": 0}}
FULL = {"u": ["a", "b"], "v": ["x", "a"], "w": ["b", "a"]}
SHORT = {"u": {"a": 1.0, "b": 1.0}, "v": {"x": 1.0}}
TWO = {"pop": FULL, "svd": SHORT}


def test_counts_by_side_in_every_result():
    ranked = pl.DataFrame({"user": [1.0, 1.0, 2.0], "item": [1, 2, 1], "score": [3.0, 2.0, 1.0]})
    truth = pl.DataFrame({"user": [1, 2], "item": [1.0, 2.0], "gain": [1.0, 2.0]})
    wanted = {"rows": 3, "float_user_ids": 3, "truth_rows": 2, "truth_float_item_ids": 2}
    one = rm.evaluate(ranked, truth, "rr").counts
    two = rm.compare({"x": ranked, "y": ranked}, truth, "rr").summaries["y"].counts
    for counts in (one, two):
        assert {name: counts[name] for name in wanted} == wanted
        assert "truth_float_user_ids" not in counts


@pytest.mark.parametrize(
    "choices",
    [
        {},
        {"relevant": 3},
        {"missing": "skip"},
        {"like": "recommenders"},
        {"undefined": "zero"},
        {"ties": "expected"},
    ],
)
def test_a_comparison_says_all_that_evaluations_say(choices):
    metrics = "ndcg@2 precision@2"
    found = rm.compare(TWO, TRUTH, metrics, **choices)
    said = found.table().notes
    for name, rankings in TWO.items():
        for note in rm.evaluate(rankings, TRUTH, metrics, **choices).table().notes:
            assert note in said or f"{name}: {note}" in said, note


def test_users_without_a_ranking_are_said_of_their_system():
    found = rm.compare(TWO, TRUTH, "ndcg@2", missing="skip", relevant=3)
    notes = found.table().notes
    assert "convention rankmeter: items with a gain of at least 3 are relevant" in notes
    assert "svd: 1 user has no ranking and is left out" in notes
    assert "1 user has nothing relevant and is left out" in notes
    both = rm.compare({"x": SHORT, "y": SHORT}, TRUTH, "ndcg@2").notes
    assert "1 user has no ranking and counts as an empty ranking" in both


def test_every_rendering_has_the_notes(tmp_path):
    found = rm.compare(TWO, TRUTH, "ndcg@2")
    page = tmp_path / "report.html"
    found.report(page)
    text = page.read_text("utf-8")
    note = "svd: 1 user has no ranking and counts as an empty ranking"
    for shown in (repr(found), found.to_markdown(), found.to_latex(), found._repr_html_(), text):
        assert note in shown
    assert text.index(note) < text.index("For the statistician")
    assert note in json.loads(found.to_json())["notes"]
    assert note.removeprefix("svd: ") in rm.evaluate(SHORT, TRUTH, "rr").to_dict()["notes"]
    assert "score_type" in found._repr_html_()  # the whole plan, as for one evaluation


def test_users_without_a_common_value_are_counted():
    """Mean rank has no value for a user without a hit."""
    poor = {"u": ["x", "y"], "v": ["a"], "w": ["a"]}
    assert "1 user has relevant items but no value and is left out" in (
        rm.evaluate(poor, TRUTH, "mean_rank").table().notes
    )
    both = rm.compare({"x": FULL, "y": poor}, TRUTH, "mean_rank").table().notes
    assert "y: 1 user has relevant items but no value and is left out" in both
    assert "mean_rank: 1 user not common to all systems" in both


def test_what_was_dropped_or_merged_is_said_by_side():
    ranked = pl.DataFrame({"user": ["u", "u"], "item": ["a", "b"], "score": [1.0, None]})
    judged = pl.DataFrame({"user": ["u", "u"], "item": ["a", "a"], "gain": [2**60 + 1, 2**60 + 1]})
    notes = rm.evaluate(ranked, judged, "rr", bad_scores="drop").table().notes
    assert {"dropped scores: 1", "rounded gains: 2", "duplicate judgements merged: 1"} <= {*notes}


def test_scores_in_another_order_than_the_ranks_are_noted():
    ranked = pl.DataFrame(
        {"user": ["u", "u", "v"], "item": ["a", "b", "a"], "score": [1, 2, 9], "rank": [1, 2, 1]}
    )
    note = "scores against the ranks, which decide: 1"
    between = ("rankmeter", "recommenders")
    for result in (
        rm.evaluate(ranked, TRUTH, "rr"),
        rm.compare({"x": ranked, "y": ranked}, TRUTH, "rr"),
        rm.explain(ranked, TRUTH, "precision@2", between=between),
    ):
        assert note in result.table().notes
    assert note in rm.curve(ranked, TRUTH, "rr", 2).notes
    agree = ranked.with_columns(score=-pl.col("rank"))
    for other in (agree, ranked.drop("score")):
        assert not any("order" in note for note in rm.evaluate(other, TRUTH, "rr").table().notes)


def test_curves_and_explanations_say_what_they_average():
    notes = rm.curve(SHORT, TRUTH, "ndcg", 2).notes
    empty = "1 user has no ranking and counts as an empty ranking"
    assert notes[:2] == ("convention rankmeter: items with a gain above 0 are relevant", empty)
    ranks = rm.curve(FULL, TRUTH, "mean_rank", 2).notes
    said = "1 user has relevant items but no value and is left out on mean_rank at k = 1"
    assert said in ranks
    found = rm.compare(TWO, TRUTH, "ndcg@2").curve("ndcg@2")
    assert f"svd: {empty}" in found.notes
    between = ("rankmeter", "recommenders")
    walked = rm.explain(SHORT, TRUTH, "precision@2", between=between).table().notes
    assert "recommenders: 1 user has no ranking and is left out" in walked
    searched = rm.explain(SHORT, TRUTH, "precision@2", target=0.5).table().notes
    assert empty in searched


def test_users_without_a_cluster_are_noted():
    lists = {user: ["a"] for user in range(6)}
    result = rm.evaluate(lists, lists, "mrr", clusters={0: "x", 1: "x"})
    assert result.counts["users_without_cluster"] == 4
    assert "users without a cluster, each counted as one cluster: 4" in result.notes


class TestClustersOfTheUsersThatAreAveraged:
    """x has nothing relevant, y no label: whether they count depends on the metric."""

    lists = {user: ["a", "b"] for user in "uvwxy"}
    truth = {"u": {"a": 1}, "v": {"b": 1}, "w": {"a": 1}, "x": {"a": 0}, "y": {"a": 0}}
    clusters = {"u": 1, "v": 1, "w": 2, "x": 3}

    def notes_of(self, metrics):
        one = rm.evaluate(self.lists, self.truth, metrics, clusters=self.clusters)
        two = rm.compare(
            {"p": self.lists, "q": self.lists}, self.truth, metrics, clusters=self.clusters
        )
        assert one.counts["clusters"] == two.settings["clusters"]
        return " · ".join(one.table().notes), " · ".join(two.table().notes)

    def test_others_are_left_out(self):
        for said in self.notes_of("rr"):
            assert "intervals by 2 clusters" in said
            assert "without a cluster" not in said

    def test_metrics_that_differ_are_named(self):
        for said in self.notes_of("rr rr(undefined=zero)"):
            assert "rr: " in said
            assert "intervals by 2 clusters" in said.partition("rr: ")[2].partition(" · ")[0]
            own = said.partition("rr(undefined=zero): ")[2].partition(" · ")[0]
            assert own.endswith("intervals by 4 clusters")
            assert "users without a cluster, each counted as one cluster: 1" in said

    def test_values(self):
        values = {"A": {"u": 1, "v": 2, "w": 3, "x": None}, "B": {"u": 2, "v": 2, "w": 1, "y": 5}}
        found = rm.compare_values(values, clusters=self.clusters, segments=self.clusters)
        notes = " · ".join(found.table().notes)
        assert "intervals by 2 clusters" in notes
        assert "without a" not in notes


def test_users_with_nothing_relevant_are_another_matter():
    found = rm.evaluate({"w": ["a"]}, {"w": {"a": 0}}, "rr", undefined="zero")
    assert "relevant items that were ranked" not in repr(found)


def test_values_that_are_too_skewed_for_their_interval_are_named():
    rng = np.random.default_rng(0)
    ranks = np.rint(1 + np.exp(rng.normal(2, 1.5, 400))).astype(int)
    said = "so skewed that the interval is too short (use interval=bca, gmr or a median): "
    found = rm.evaluate_ranks(ranks, ["mean_rank", "mrr", "gmr"])
    assert f"{said}mean_rank" in found.notes
    mild = rm.evaluate_ranks(rng.integers(1, 100, 400), "mean_rank")
    for other in (
        mild,
        rm.evaluate_ranks(ranks, "mean_rank", interval="bca"),
        rm.evaluate_ranks(ranks, "mean_rank", aggregate="median"),
        rm.evaluate_ranks(ranks[:19], "mean_rank"),
        rm.evaluate_ranks([3] * 40, "mean_rank"),
    ):
        assert "skewed" not in repr(other)


def test_differences_that_are_too_skewed_for_their_interval_are_named():
    rng = np.random.default_rng(0)
    one = rng.normal(0, 1, 400)
    values = {"A": one + np.exp(rng.normal(0, 1.5, 400)), "B": one}
    said = (
        "differences so skewed that the interval is too short (use interval=bca, gmr or a median)"
    )
    assert said in repr(rm.compare_values(values))
    runs = {
        name: {f"u{n}": [*"xyzvw"[:rank], "t"] for n, rank in enumerate(ranks)}
        for name, ranks in {"A": [5] * 3 + [0] * 97, "B": [0] * 100}.items()
    }
    truth = {f"u{n}": {"t"} for n in range(100)}
    assert f"mean_rank: {said}" in repr(rm.compare(runs, truth, "mean_rank, mrr"))
    for other in (
        rm.compare_values({"A": one, "B": rng.normal(0, 1, 400)}),
        rm.compare_values({"A": one + 0.1, "B": one}),
        rm.compare_values({name: 1e99 * np.tanh(x) for name, x in values.items()}),
        rm.compare_values(values, interval="bca"),
        rm.compare_values({"A": (one > 2) * 1.0, "B": one * 0}, scale=(0, 1)),
    ):
        assert "skewed" not in repr(other)
