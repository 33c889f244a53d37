"""``exclude="self"``: the item with the id of its user is left out, and those below it move up."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import cases
import rankmeter as rm
from rankmeter.errors import DuplicateError, UsageError

METRICS = ["rr", "ndcg@3", "ap", "n_ranked", "judged@3"]
ORDERS = ["score", "rank", "list"]


def rankings(order, *, names="{}"):
    rng = np.random.default_rng(7)
    rows = []
    for user in range(30):
        items = rng.permutation(12)[: rng.integers(0, 12)] + user - 6
        rows += [(names.format(user), names.format(item), n) for n, item in enumerate(items, 1)]
    frame = pl.DataFrame(rows, ["user", "item", "rank"], orient="row")
    if order == "score":
        return frame.select("user", "item", score=-(pl.col("rank") // 2).cast(pl.Float64))
    return frame if order == "rank" else frame.drop("rank")


def without(frame):
    """The frame as a person would prepare it."""
    kept = frame.filter(pl.col("user") != pl.col("item"))
    if "rank" in kept.columns:
        kept = kept.with_columns(pl.col("rank").rank("ordinal").over("user"))
    return kept


def truth(names="{}"):
    rng = np.random.default_rng(8)
    pairs = {
        (user, int(item)) for user in range(30) for item in rng.integers(user - 5, user + 5, 4)
    }
    rows = [(names.format(u), names.format(i), (u + i) % 3) for u, i in sorted(pairs)]
    return pl.DataFrame(rows, ["user", "item", "gain"], orient="row")


@pytest.mark.parametrize("engine", ["memory", "disk"])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("names", ["{}", "x{}"])
def test_excluding_is_leaving_the_rows_out(order, names, engine):
    frame, judged = rankings(order, names=names), truth(names)
    wanted = rm.evaluate(without(frame), judged, METRICS)
    found = rm.evaluate(cases.held(frame, engine), judged, METRICS, exclude="self", engine=engine)
    assert found.per_user.equals(wanted.per_user)
    assert found.counts["excluded_items"] == frame.height - without(frame).height > 0
    assert "excluded items" in found.facts()


def test_plain_dictionaries_are_excluded_from_as_well():
    run = {"a": {"a": 0.9, "b": 0.5}, "b": {"a": 0.9}}
    result = rm.evaluate(run, {"a": {"b"}, "b": {"a"}}, "rr", exclude="self")
    assert result["rr"].mean == 1.0
    assert result.counts["excluded_items"] == 1


def test_one_metric_of_several_can_exclude():
    result = rm.evaluate({"a": ["a", "b"]}, {"a": {"b"}}, ["rr", "rr(exclude=self)"])
    assert [result[m].mean for m in ("rr", "rr(exclude=self)")] == [0.5, 1.0]


@pytest.mark.parametrize("engine", ["memory", "disk"])
@pytest.mark.parametrize("order", ORDERS)
def test_metrics_of_what_was_shown_see_the_rest(order, engine):
    frame, judged = rankings(order), truth()
    metrics = ["coverage@3", "novelty@3"]
    side = {"catalogue": 100, "train": frame}
    wanted = rm.evaluate(without(frame), judged, metrics, **side)
    shown = cases.held(frame, engine)
    found = rm.evaluate(shown, judged, metrics, exclude="self", engine=engine, **side)
    assert [found[m].mean for m in metrics] == [wanted[m].mean for m in metrics]


@pytest.mark.parametrize("engine", ["memory", "disk"])
def test_any_number_of_repetitions_is_left_out_of_what_was_shown(engine):
    frame = pl.DataFrame({"user": ["a"] * 5, "item": ["a", "a", "a", "b", "c"]})
    asked = {"duplicates": "each", "exclude": "self", "catalogue": 4, "engine": engine}
    for rows in (frame, frame.with_columns(score=-pl.int_range(pl.len()).cast(pl.Float64))):
        found = rm.evaluate(cases.held(rows, engine), {"a": {"c"}}, ["coverage@2", "rr"], **asked)
        assert [found["coverage@2"].mean, found["rr"].mean] == [0.5, 0.5]
    ranks = frame.with_columns(rank=pl.int_range(1, pl.len() + 1))
    result = rm.evaluate(cases.held(ranks, engine), {"a": {"c"}}, "coverage@2", **asked)
    assert result["coverage@2"].mean == 0.5


@pytest.mark.parametrize("engine", ["memory", "disk"])
def test_a_given_rank_that_moves_up_has_no_tie_with_the_item_that_is_left_out(engine):
    rows = pl.DataFrame({"user": ["a"] * 4, "item": [*"abcd"], "rank": [1, 2, 3, 3]})
    asked = {"exclude": "self", "engine": engine}
    rows = cases.held(rows, engine)
    result = rm.evaluate(rows, {"a": {"b", "c", "d"}}, ["rr", "ap", "recall@3"], **asked)
    assert [result[m].mean for m in ("rr", "ap", "recall@3")] == [1, 1, 1]
    later = rm.evaluate(rows, {"a": {"c"}}, ["rr(ties=item)", "rr(ties=item-descending)"], **asked)
    assert [later[m].mean for m in later] == [1 / 2, 1 / 3]


def test_a_repeated_item_is_an_error_all_the_same():
    rows = pl.DataFrame({"user": ["a", "a", "a"], "item": ["a", "a", "b"]})
    with pytest.raises(DuplicateError):
        rm.evaluate(rows, {"a": {"b"}}, "rr", exclude="self")


def test_compare_curve_and_explain_exclude():
    systems = {"one": {"a": ["a", "b"]}, "two": {"a": ["b", "a"]}}
    judged = {"a": {"b"}}
    (difference,) = rm.compare(systems, judged, "rr", exclude="self")["rr"]
    assert difference.difference == 0
    assert rm.curve(systems["one"], judged, "rr", 2, exclude="self").frame["mean"].to_list() == [
        1,
        1,
    ]
    found = rm.explain(systems["one"], judged, "rr", target=1.0)
    assert "exclude" in str(found)


def test_scores_and_ranks_have_no_items_to_exclude():
    with pytest.raises(UsageError, match=r"`exclude` .* cannot act on ranks"):
        rm.evaluate_ranks([1, 2], "rr(exclude=self)")


def test_like_beir_gives_the_means_of_beir_where_queries_are_documents():
    """Recorded from BEIR 2.2.0: `EvaluateRetrieval.evaluate(qrels, run, [1, 10])`."""
    run = {"q1": {"q1": 1.0, "d1": 0.8, "d4": 0.8}, "q2": {"d3": 0.9}}
    qrels = {"q1": {"d1": 1}, "q2": {"d3": 1}, "q3": {"d5": 1}}
    recorded = {"NDCG@10": 0.81546, "MAP@10": 0.75, "Recall@1": 0.5, "P@10": 0.1, "MRR@10": 0.66667}
    found = rm.evaluate(run, qrels, [*recorded], like="beir")
    for name, mean in recorded.items():
        assert found[name].mean == pytest.approx(mean, abs=5.1e-6)
