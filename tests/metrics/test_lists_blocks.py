"""Evidence of lists: blocks of users, users left out, training rows."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import cases
import rankmeter as rm
from rankmeter._engine.memory import Memory
from rankmeter._engine.side import Side
from rankmeter._engine.side_tables import SideTables
from rankmeter._reading.read import read_truth
from rankmeter.metrics import METRICS
from rankmeter.testing._made_up import evidence_of_lists

EVERY = ["ild@3", "novelty@3", "popularity@2", "unseen", "coverage@3", "gini@3", "entropy@3",
         "effective_items@2", "personalization@3", "user_coverage(least=3)@3",
         "rsp@3", "bias_disparity(groups=popularity)@3"]  # fmt: skip


@pytest.mark.once
@pytest.mark.parametrize("blocks", [2, 7, 10_000])
def test_any_division_into_blocks_gives_the_same_result(blocks, monkeypatch):
    rankings, truth, side = cases.with_side(3, ties=True)
    other, _, _ = cases.with_side(4)
    given = {"train": side.train, "items": side.categories, "catalogue": side.catalogue}

    def answers():
        one = rm.evaluate(rankings, truth, ["ndcg@3", *EVERY], **given)
        both = rm.compare({"a": rankings, "b": other}, truth, ["rr", *EVERY], **given)
        curve = rm.curve(rankings, truth, "coverage", 3, **given)
        return one.to_json(), one.per_user.rows(), both.to_json(), curve.frame.rows()

    whole = answers()
    monkeypatch.setattr("rankmeter._engine.ENGINE", Memory(blocks))
    assert answers() == whole


@pytest.mark.parametrize("name", [name for name, spec in METRICS.items() if spec.whole])
def test_a_number_of_all_lists_knows_itself_without_each_user(name):
    spec, n = METRICS[name], 25
    evidence = evidence_of_lists(np.random.default_rng(5), n)
    for option in [{}, *({o.name: v} for o in spec.options.values() for v in o.values)]:
        state = spec.state(*(evidence[need] for need in spec.needs), 4, **option)
        slow = [state.take(np.delete(np.arange(n), user)).value() for user in range(n)]
        np.testing.assert_allclose(
            state.statistic.value_without_each_user(state), slow, rtol=1e-12, err_msg=name
        )


def test_ratings_of_repeated_training_rows_are_averaged():
    rows = [("u", "b", 5.0), ("u", "a", 1.0), ("v", "c", 2.0), ("u", "a", 3.0), ("u", "b", None)]
    train = pl.DataFrame(rows, schema=["user", "item", "rating"], orient="row")
    _, profiles = SideTables(Side(train), {}, read_truth({"u": {"a"}})).training_profiles
    assert profiles.offsets.tolist() == [0, 2, 3]
    assert (profiles.item.tolist(), profiles.weight.tolist()) == ([0, 1, 2], [2.0, 5.0, 2.0])
