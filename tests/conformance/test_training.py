"""Rankers that were really trained: their metric and ours have the same number in each round."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import rankmeter as rm

KEPT = json.loads(Path(__file__).with_name("training.json").read_text("utf-8"))


@pytest.mark.parametrize("tool", KEPT)
def test_the_tool_printed_the_same_for_its_metric_and_for_ours(tool):
    run = KEPT[tool]
    assert len(set(run["theirs"])) > 1
    np.testing.assert_allclose(run["ours"], run["theirs"], rtol=0, atol=1e-6)


@pytest.mark.parametrize("tool", KEPT)
def test_the_recorded_scores_still_have_the_number_that_the_tool_printed(tool):
    run = KEPT[tool]
    metric = rm.group_metric(run["metric"], like=tool, groups=[run["group"]])
    for scores, printed in zip(run["scores"], run["theirs"], strict=False):
        _, value, better = metric(run["labels"], scores, None, run["group"])
        assert value == pytest.approx(printed, abs=1e-12)
        assert better
        assert metric.evaluate([scores], run["labels"], None) == (value, 1.0)
    ids = np.repeat(np.arange(len(run["group"])), run["group"])
    frames = rm.grouped(scores, run["labels"], qid=ids)
    mean = rm.evaluate(*frames, run["metric"], like=tool)[run["metric"]].mean
    assert mean == pytest.approx(value, abs=1e-15)


def test_what_would_give_another_number_is_refused():
    metric = rm.group_metric("ndcg@5", like="xgboost", groups=[[2, 1], [1, 2]])
    with pytest.raises(rm.errors.UsageError, match="XGBRanker"):
        metric([0, 1, 0], [3.0, 2.0, 1.0])
    with pytest.raises(rm.errors.UsageError, match="no weights"):
        metric([0, 1, 0], [3.0, 2.0, 1.0], [1.0, 2.0], [2, 1])
    with pytest.raises(rm.errors.UsageError, match="2 of the data sets"):
        metric.evaluate([[3.0, 2.0, 1.0]], [0, 1, 0], None)
    with pytest.raises(rm.errors.UsageError, match="one metric"):
        rm.group_metric("ndcg@5,10")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "by their sizes"),
        ({"group": [1], "qid": [0, 0]}, "by their sizes"),
        ({"group": [1, 2]}, "2 together"),
        ({"group": [1.0, 1.0]}, "number of rows"),
        ({"qid": [0]}, "one id"),
    ],
)
def test_groups_that_do_not_fit_are_refused(given, words):
    with pytest.raises(rm.errors.RankmeterError, match=words):
        rm.grouped([2.0, 1.0], [0, 1], **given)
    with pytest.raises(rm.errors.DataError, match="shapes"):
        rm.grouped([2.0, 1.0], [0], group=[2])
