"""Bad input gets the right class of error and exit code, and a message that says what to do.

test_cli_bad_input.py has the same through the command line.
"""

from __future__ import annotations

import gzip
import math

import numpy as np
import pandas as pd
import polars as pl
import pytest

import rankmeter as rm
from command_line import code_of
from rankmeter import errors as e

GOOD = {"ann": {"a": 3.0, "b": 2.0}, "bob": {"b": 1.0}}
TRUTH = {"ann": {"b"}, "bob": {"b"}}


def frame(**columns):
    return pl.DataFrame({"user": [1, 1, 2], "item": [1, 2, 1], **columns})


JUDGED = pl.DataFrame({"user": [1, 2], "item": [1, 1]})
RANKED = frame(score=[3.0, 2.0, 1.0])
NOT_A_NUMBER = frame(score=[1.0, math.nan, 2.0])

# name: (rankings, truth, keywords, error, words of the message)
IN_MEMORY = {
    "NaN score": (NOT_A_NUMBER, JUDGED, {}, e.InvalidValueError, "bad_scores="),
    "null score": (frame(score=[1.0, None, 2]), JUDGED, {}, e.InvalidValueError, "bad_scores="),
    "text as score": (frame(score=["x", "y", "z"]), JUDGED, {}, e.DataError, "score"),
    "null user": (
        RANKED.with_columns(user=pl.Series([1, None, 2])), JUDGED, {}, e.InvalidValueError, "user",
    ),
    "null item": (
        RANKED.with_columns(item=pl.Series([1, None, 2])), JUDGED, {}, e.InvalidValueError, "item",
    ),
    "null gain": (
        RANKED, JUDGED.with_columns(gain=pl.Series([1.0, None])), {},
        e.InvalidValueError, "gain",
    ),
    "an infinite gain": (
        RANKED, JUDGED.with_columns(gain=pl.Series([1.0, math.inf])), {},
        e.InvalidValueError, "gain",
    ),
    "no user column": (RANKED.rename({"user": "foo"}), JUDGED, {}, e.ColumnError, "columns="),
    "no item column": (RANKED.rename({"item": "foo"}), JUDGED, {}, e.ColumnError, "columns="),
    "ambiguous user": (
        RANKED.with_columns(user_id=1), JUDGED, {}, e.ColumnError, "user_id",
    ),
    "columns= names what is not there": (
        RANKED, JUDGED, {"columns": {"user": "usr"}}, e.ColumnError, "usr",
    ),
    "unknown role in columns=": (
        RANKED, JUDGED, {"columns": {"usr": "user"}}, e.UsageError, "roles",
    ),
    "k = 0": (GOOD, TRUTH, {"metrics": "ndcg@0"}, e.UsageError, "an integer ≥ 1, got 0"),
    "negative k": (GOOD, TRUTH, {"metrics": "ndcg@-5"}, e.UsageError, "an integer ≥ 1, got -5"),
    "fractional k": (GOOD, TRUTH, {"metrics": "ndcg@1.5"}, e.UsageError, "an integer ≥ 1"),
    "unknown metric": (GOOD, TRUTH, {"metrics": "xyz@5"}, e.UnknownMetricError, "known: accuracy"),
    "misspelt metric": (GOOD, TRUTH, {"metrics": "ndgc@5"}, e.UnknownMetricError, "ndcg"),
    "misspelt option": (GOOD, TRUTH, {"metrics": "ndcg(gian=exp2)"}, e.UsageError, "gain"),
    "wrong option value": (GOOD, TRUTH, {"metrics": "ndcg(gain=3)"}, e.UsageError, "exp2"),
    "no metric": (GOOD, TRUTH, {"metrics": []}, e.UsageError, "at least one"),
    "a number as metric": (GOOD, TRUTH, {"metrics": [10]}, e.UsageError, "ndcg@10"),
    "a maximum whose power overflows": (
        GOOD, TRUTH, {"metrics": "nerr(max_gain=1024)"}, e.UsageError,
        "`max_gain` must be ≤ 1000, got 1024.0: err is for grades",
    ),
    "a missing maximum": (GOOD, TRUTH, {"metrics": "err@5"}, e.UsageError, "max_gain"),
    "gains above the maximum": (
        GOOD, {"ann": {"b": 5}}, {"metrics": "err(max_gain=3)"}, e.UsageError, "max_gain",
    ),
    "a catalogue that is too small": (
        GOOD, TRUTH, {"metrics": "accuracy@2", "n_items": 1}, e.InvalidValueError, "n_items is 1",
    ),
    "persistence of 1": (GOOD, TRUTH, {"metrics": "rbp(p=1)"}, e.UsageError, "between 0 and 1"),
    "unknown convention": (GOOD, TRUTH, {"like": "trec-evil"}, e.UsageError, "trec_eval"),
    "unknown tie rule": (GOOD, TRUTH, {"ties": "coin"}, e.UsageError, "'expected'"),
    "relevance that is not a rule": (GOOD, TRUTH, {"relevant": "good"}, e.UsageError, ">=4"),
    "confidence of 95": (GOOD, TRUTH, {"confidence": 95}, e.UsageError, "between 0 and 1"),
    "depth of 0": (GOOD, TRUTH, {"depth": 0}, e.UsageError, "depth"),
    "unresolved ties cut at a depth": (
        GOOD, TRUTH, {"depth": 2, "ties": "expected"}, e.UsageError, "depth",
    ),
    "no common user": (GOOD, {"cy": {"b"}}, {}, e.NoOverlapError, "no_overlap="),
    "no common item": (GOOD, {"ann": {"z"}}, {}, e.NoOverlapError, "no_overlap="),
    "integers against texts": (GOOD, {1: {"b"}}, {}, e.IdTypeError, "integer"),
    "mixed types of ids": (
        pd.DataFrame({"user": [1, "x"], "item": [1, 2]}), JUDGED, {}, e.IdTypeError, "user",
    ),
    "fractional ids": (
        frame(score=[1.0, 2, 3]).with_columns(item=pl.Series([0.5, 1.0, 2.0])), JUDGED, {},
        e.IdTypeError, "item",
    ),
    "integers beyond 64 bits": ({2**70: [1]}, {1: {1}}, {}, e.DataError, "user"),
    "an item twice in a ranking": ({"ann": ["b", "b"]}, TRUTH, {}, e.DuplicateError, "'best'"),
    "judgments that contradict": (
        RANKED,
        pl.DataFrame({"user": [1, 1], "item": [1, 1], "gain": [1, 2]}), {},
        e.DuplicateError, "'max'",
    ),
    "rank 0": (frame(rank=[0, 1, 1]), JUDGED, {}, e.InvalidValueError, "start at 1"),
    "half a rank": (frame(rank=[1.0, 1.5, 1.0]), JUDGED, {}, e.InvalidValueError, "integers ≥ 1"),
    "a text as ranking": ({"ann": "abc"}, TRUTH, {}, e.DataError, "list"),
    "a set as ranking": ({"ann": {"a", "b"}}, TRUTH, {}, e.DataError, "order"),
    "nothing": (None, TRUTH, {}, e.DataError, "Accepted"),
    "a number": (7, TRUTH, {}, e.DataError, "Accepted"),
    "no rankings": ({}, TRUTH, {}, e.DataError, "empty"),
    "no truth": (GOOD, {}, {}, e.DataError, "empty"),
    "a cutoff as an option": (GOOD, TRUTH, {"k": 10}, e.UsageError, "part of the metric string"),
    "truth forgotten": (GOOD, None, {}, e.UsageError, "truth is missing"),
    "a user without a ranking, refused": (
        GOOD, {**TRUTH, "cy": {"a"}}, {"missing": "raise"}, e.DataError, "'cy'",
    ),
    "a user without truth, refused": (
        {**GOOD, "cy": ["a"]}, TRUTH, {"extra": "raise"}, e.DataError, "'cy'",
    ),
    "a user with nothing relevant, refused": (
        GOOD, {"ann": {"a": 1}, "bob": {"b": 0}}, {"undefined": "raise"}, e.DataError, "'bob'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", IN_MEMORY)
def test_in_memory(name):
    rankings, truth, keywords, error, words = IN_MEMORY[name]
    with pytest.raises(error) as caught:
        rm.evaluate(rankings, truth, **keywords)
    assert words in str(caught.value)
    assert code_of(caught.value) == (2 if isinstance(caught.value, e.UsageError) else 3)
    assert isinstance(caught.value, ValueError)


RUN = "1 Q0 a 1 3.5 tag\n1 Q0 b 2\n"
# file name: (contents, words of the message)
FILES = {
    "empty.csv": (b"", "empty"),
    "header-only.csv": (b"user,item,score\n", "no rows"),
    "semicolons.csv": (b"user;item;score\nann;b;1\n", ";"),
    "ragged.csv": (b"user,item,score\nann,b,1\nann,c\n", "line 3: 2 fields"),
    "latin1.csv": ("user,item,score\nann,\xe9,1\n".encode("latin-1"), "UTF-8"),
    "missing-field.run": (RUN.encode(), "line 2"),
    "broken.jsonl": (b'{"user": 1, "item": 2}\n{"user": 1, \n', "line 2"),
    "fake.parquet": (b"this is no parquet file", "Parquet"),
    "truncated.csv.gz": (gzip.compress(b"user,item,score\n" + b"ann,b,1\n" * 999)[:40], "gzip"),
    "no-header.csv": (b"ann,b,1\nbob,b,2\n", "columns="),
}


@pytest.mark.parametrize("name", FILES)
def test_files(name, tmp_path):
    contents, words = FILES[name]
    path = tmp_path / name
    path.write_bytes(contents)
    with pytest.raises(e.DataError) as caught:
        rm.evaluate(path, TRUTH)
    assert words in str(caught.value)
    assert name in str(caught.value)
    assert code_of(caught.value) == 3


def test_places_that_hold_no_data(tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(e.DataError, match="folder"):
        rm.evaluate(tmp_path / "folder", TRUTH)
    (tmp_path / "rankings.csv").write_text("user,item\nann,b\n")
    with pytest.raises(e.DataError, match=r"rankings\.csv"):
        rm.evaluate(tmp_path / "ranking.csv", TRUTH)


def test_a_file_that_may_not_be_read(tmp_path, request):
    path = tmp_path / "locked.csv"
    path.write_text("user,item\nann,b\n")
    path.chmod(0)
    request.getfixturevalue("unprivileged")
    with pytest.raises(e.DataError, match=r"locked\.csv"):
        rm.evaluate(path, TRUTH)


def test_infinite_scores_are_first_and_last():
    """Infinity has a place in an order, so it is not an error."""
    rankings = {"u": {"a": -math.inf, "b": 0.0, "c": math.inf}}
    assert rm.evaluate(rankings, {"u": {"c"}}, "rr")["rr"].mean == 1.0
    assert rm.evaluate(rankings, {"u": {"a"}}, "mr")["mr"].mean == 3.0


def test_what_is_dropped_is_counted():
    rankings = frame(score=[1.0, math.nan, 2.0])
    dropped = rm.evaluate(rankings, JUDGED, "recall", bad_scores="drop")
    assert dropped.counts["dropped_scores"] == 1
    assert "dropped scores: 1" in repr(dropped)
    best = rm.evaluate({"ann": ["b", "a", "b"]}, TRUTH, "recall", duplicates="best")
    assert best.counts["duplicate_items_dropped"] == 1
    same = pl.DataFrame({"user": [1, 1, 2], "item": [1, 1, 1], "gain": [1, 1, 1]})
    merged = rm.evaluate(RANKED, same, "recall")
    assert merged.counts["duplicate_judgements_merged"] == 1


def test_float_gains_are_gains():
    result = rm.evaluate({"u": ["a", "b"]}, {"u": {"a": 0.5, "b": 0.25}}, "cg")
    assert result["cg"].mean == 0.75


def test_input_is_never_changed():
    rankings = pd.DataFrame({"user": [2, 1, 1], "item": [3, 2, 1], "score": [1.0, 2.0, 3.0]})
    truth = np.array([[1, 2], [3, 4]])
    before = rankings.copy(), truth.copy()
    rm.evaluate(rankings, pd.DataFrame({"user": [1], "item": [2]}), "ndcg@5")
    rm.evaluate(truth, [[1], [4]], "ndcg@5")
    assert rankings.equals(before[0])
    assert (truth == before[1]).all()


def test_a_metric_may_be_asked_for_twice():
    for text in ("ndcg@3 ndcg@3", "ndcg@3, ndcg@3 ndcg(gain=linear)@3"):
        assert next(iter(rm.evaluate(GOOD, TRUTH, text))) == "ndcg@3"


def test_every_problem_of_a_call_is_told_at_once():
    with pytest.raises(e.UsageError) as caught:
        rm.evaluate(GOOD, TRUTH, ["ndgc@5", "recall@0", "ndcg@3"])
    assert "ndgc" in str(caught.value)
    assert "recall" in str(caught.value)
