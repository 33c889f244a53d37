"""``truth=new`` and ``truth=seen``: the truth that the training data lack, or have."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import cases
import rankmeter as rm
from rankmeter.errors import NoOverlapError, UsageError

METRICS = ("recall@3", "ndcg@5", "ap", "rr", "n_relevant")


def in_metric(name, word):
    plain, _, cutoff = name.partition("@")
    return f"{plain}(truth={word}){cutoff and '@' + cutoff}"


def world(name):
    """Rankings, judgments and training data of users that repeat and users that explore."""
    rng = np.random.default_rng(3)
    rows = {"rankings": [], "truth": [], "train": []}
    for user in range(40):
        for part, n in (("rankings", 9), ("truth", 4), ("train", user % 5 * 2)):
            for place, item in enumerate(rng.permutation(14)[:n]):
                rows[part].append((name(user), name(int(item)), float(10 - place)))
    names = {"rankings": "score", "truth": "gain", "train": "rating"}
    return [
        pl.DataFrame(rows[part], ["user", "item", number], orient="row")
        for part, number in names.items()
    ]


@pytest.mark.parametrize("engine", ["memory", "disk"])
@pytest.mark.parametrize("name", [int, "x{}".format], ids=["integers", "text"])
def test_it_is_the_truth_that_a_person_would_filter(name, engine):
    rankings, truth, train = world(name)
    for word, how in (("new", "anti"), ("seen", "semi")):
        kept = truth.join(train, on=["user", "item"], how=how, maintain_order="left")
        wanted = rm.evaluate(rankings, kept, METRICS).per_user
        asked = [in_metric(metric, word) for metric in METRICS]
        held = cases.held(rankings, engine)
        found = rm.evaluate(held, truth, asked, train=train, engine=engine)
        both = wanted.join(found.per_user, on="user", maintain_order="left")
        assert both.height == wanted.height > 20
        for metric, ours in zip(METRICS, asked, strict=True):
            assert both[ours].to_list() == both[metric].to_list()
        everywhere = rm.evaluate(rankings, truth, METRICS, train=train, history=word)
        assert [everywhere[m].mean for m in METRICS] == [found[m].mean for m in asked]
        without = set(truth["user"]) - set(kept["user"])
        assert found.per_user[asked[0]].null_count() == len(without)
        assert without


def test_what_is_left_out_stays_ranked_and_the_result_says_so():
    asked = ["rr(truth=new)", "rr(truth=seen)", "rr(history=new)", rm.RR(truth="new")]
    result = rm.evaluate({"u": ["a", "b"]}, {"u": {"a", "b"}}, asked[:3], train={"u": ["a"]})
    assert [result[m].mean for m in asked] == [0.5, 1.0, 0.5, 0.5]
    assert "relevant items that train has for the user: 1 of 2; those left out" in str(result)
    assert "stay ranked" in str(result)


def test_two_systems_are_compared_on_new_items():
    systems = {"repeats": {"u": ["a", "b"], "v": ["c", "d"]},
               "explores": {"u": ["b", "a"], "v": ["d", "c"]}}  # fmt: skip
    truth, train = {"u": {"a", "b"}, "v": {"c", "d"}}, {"u": ["a"], "v": ["c"]}
    asked = ["rr(truth=new)", "rr(truth=seen)"]
    found = rm.compare(systems, truth, asked, train=train)
    means = {name: [found[m].means[name].mean for m in asked] for name in systems}
    assert means == {"repeats": [0.5, 1.0], "explores": [1.0, 0.5]}


def test_subtopics_are_those_of_the_items_that_count():
    truth = pl.DataFrame(
        {"user": [*"uuu"], "item": [*"abb"], "subtopic": [*"123"], "gain": [1.0, 1.0, 1.0]}
    )
    asked = ["subtopic_recall@1", "subtopic_recall(truth=new)@1", "subtopic_recall(truth=seen)@1"]
    found = rm.evaluate({"u": ["b", "a"]}, truth, asked, train={"u": ["a"]})
    assert [found[m].mean for m in asked] == [pytest.approx(2 / 3), 1.0, 0.0]


def test_mistakes_are_named():
    ask = {"u": ["a"]}, {"u": {"a"}}
    with pytest.raises(UsageError, match="pass train=") as caught:
        rm.evaluate(*ask, "rr(truth=new)")
    assert caught.value.option == "train"
    with pytest.raises(UsageError, match="must be one of 'all', 'new', 'seen'"):
        rm.evaluate(*ask, "rr(truth=old)")
    with pytest.raises(UsageError, match="are the same option"):
        rm.metric("rr")(truth="new", history="new")
    strangers = {f"x{n}": ["a"] for n in range(10)}
    with pytest.raises(NoOverlapError, match="no user in common"):
        rm.evaluate(*ask, "rr(truth=new)", train=strangers)
    with pytest.raises(UsageError, match="cannot act on ranks"):
        rm.evaluate_ranks([1, 2], "rr(truth=new)")
    with pytest.raises(UsageError, match="history='new' treats judged and unjudged"):
        rm.evaluate(*ask, "rr(truth=new)", train=ask[0], unjudged="bounds")
