"""Arguments in the wrong order are noticed, and the message says the right one."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import polars as pl
import pytest

import rankmeter as rm
from command_line import rankmeter
from rankmeter.errors import DataError, UsageError

pytestmark = pytest.mark.once

RUN = pl.DataFrame({"user": [1, 1, 2], "item": [1, 2, 1], "score": [3.0, 2.0, 1.0]})
QRELS = pl.DataFrame({"user": [1, 2], "item": [1, 2], "gain": [1, 2]})
LISTS = {"u": ["a", "b"]}
SYSTEMS = {
    "frames": {"a": RUN, "b": RUN},
    "pandas": {"a": RUN.to_pandas(), "b": pd.DataFrame(RUN.to_dict(as_series=False))},
    "lists by user": {"a": LISTS, "b": LISTS},
    "scores by user": {"a": {"u": {"x": 1.0}}, "b": {"u": {"x": 1.0}}},
    "lists of lists": {"a": [["a"]], "b": [["b"]]},
    "paths": {"a": Path("a.csv"), "b": Path("b.csv")},
}
TRUTHS = {
    "frame": QRELS,
    "pandas": QRELS.to_pandas(),
    "sets": {"u": {"a"}},
    "gains": {"u": {"a": 1}},
    "lists": {"u": ["a"], "v": ["b"]},
    "list of sets": [{"a"}],
    "path": "truth.csv",
}


@pytest.mark.parametrize("truth", TRUTHS)
@pytest.mark.parametrize("systems", SYSTEMS)
def test_systems_come_first(systems, truth):
    with pytest.raises(UsageError, match=r"the systems come first, rm\.compare\(systems, truth\)"):
        rm.compare(TRUTHS[truth], SYSTEMS[systems], "rr")


@pytest.mark.parametrize("truth", ["sets", "gains", "lists", "list of sets"])
def test_no_truth_is_taken_for_systems(truth):
    lists = [["a"]] if truth == "list of sets" else {"u": ["a"]}
    assert rm.compare({"a": lists, "b": lists}, TRUTHS[truth], "rr").systems == ("a", "b")


@pytest.mark.parametrize("systems", [None, 3, [LISTS, LISTS], RUN, "a.csv"])
def test_systems_have_names(systems):
    with pytest.raises(UsageError, match="`systems` must be a mapping from name to rankings"):
        rm.compare(systems, RUN, "rr")


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    RUN.write_csv("pop.csv")
    RUN.write_csv("svd.csv")
    QRELS.write_csv("test set.csv")
    Path("run.trec").write_text("q1 Q0 d1 1 2.5 x\nq1 Q0 d2 2 1.5 x\n")
    Path("qrels.trec").write_text("q1 0 d1 1\nq1 0 d2 0\n")


@pytest.mark.parametrize(
    ("line", "code", "says"),
    [
        (
            ["compare", "pop=pop.csv", "svd=svd.csv", "test set.csv"],
            2,
            "comes first: rankmeter compare 'test set.csv' pop=pop.csv svd=svd.csv",
        ),
        (
            ["compare", "pop=pop.csv", "test set.csv", "svd=svd.csv"],
            2,
            "comes first: rankmeter compare 'test set.csv' pop=pop.csv svd=svd.csv",
        ),
        (["compare", "pop.csv", "test set.csv"], 2, "rankmeter evaluate RANKINGS TRUTH"),
        (["compare", "pop.csv", "a=test set.csv", "b=svd.csv"], 3, "swapped"),
        (["evaluate", "test set.csv", "pop.csv"], 3, "swapped"),
        (["evaluate", "qrels.trec", "run.trec"], 3, "swapped"),
        (["trec_eval", "run.trec", "qrels.trec"], 3, "swapped"),
    ],
)
def test_files_in_the_wrong_order(workspace, line, code, says):
    done = rankmeter(*line)
    assert (done.code, done.out) == (code, "")
    assert says in done.err


def test_frames_in_the_wrong_order():
    with pytest.raises(DataError, match="swapped"):
        rm.evaluate(QRELS, RUN, "rr")


def test_a_comparison_without_ground_truth_is_a_wrong_call():
    with pytest.raises(UsageError, match="truth is missing"):
        rm.compare({"a": {"u": ["x"]}, "b": {"u": ["x"]}}, None)
    with pytest.raises(UsageError, match="2 to 100 systems, got 0"):
        rm.compare({}, None)
