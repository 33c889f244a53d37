"""Rankings in Spark: the same values, counts, warnings and errors as in memory.

Spark needs Java 17 and PySpark; without them these tests are skipped.
"""

from __future__ import annotations

import importlib.util
import itertools
import json
import os
import random
import re
import shutil
import subprocess
import sys
import threading
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from test_disk import named, some
from test_disk import outcome as outcome_with_sockets
from test_disk_pieces import SCORES, assert_same

import rankmeter as rm
from command_line import rankmeter
from door.test_doubts_on_disk import DATA
from door.test_doubts_on_disk import said as what_is_said
from rankmeter._choices import CHOICES
from rankmeter._engine import open_data
from rankmeter._large.opened_spark import open_spark, open_truth_in_spark
from rankmeter._rankings.ties import BY_ROW, ORDERED
from rankmeter._reading.read import read_rankings, read_truth
from rankmeter._reading.spark import TruthInSpark, _translate_query_errors, send_frame
from rankmeter._reading.table import unify_all_id_types
from rankmeter.conventions._plan import resolve_plan
from rankmeter.errors import (
    ColumnError,
    DataError,
    DuplicateError,
    IdTypeError,
    InvalidValueError,
    MissingDependencyError,
    NotEnoughMemoryError,
    RankmeterWarning,
    UsageError,
)
from rankmeter.metrics import register, unregister

MISSING = [name for name in ("java",) if shutil.which(name) is None]
MISSING += [name for name in ("pyspark",) if importlib.util.find_spec(name) is None]

pytestmark = [
    pytest.mark.skipif(
        bool(MISSING),
        reason=f"no {' and no '.join(MISSING)}: apt install openjdk-17-jre-headless; "
        f"pip install --group spark",
    ),
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # not the first python3 of PATH

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.memory": "1g",
    "spark.log.level": "ERROR",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


@pytest.fixture(scope="session")
def spark():
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    yield session
    session.stop()


def in_spark(session, frame, partitions=3):
    """A frame of Polars as a Spark DataFrame of the same types, in some partitions."""
    kinds = {
        pl.Int64: "bigint", pl.Int32: "int", pl.Float64: "double", pl.Float32: "float",
        pl.String: "string", pl.Boolean: "boolean", pl.Date: "date",
    }  # fmt: skip
    schema = ", ".join(f"`{name}` {kinds[kind]}" for name, kind in frame.schema.items())
    return session.createDataFrame(frame.rows(), schema).repartition(partitions)


# ---------------------------------------------------------------------------------------------
# Every rule

RULES = ("ties", "duplicates", "judgements", "scope", "pool", "exclude", "retrieved", "score_type")


def many(seed, order, *, words):
    """Rankings and ground truth with ties and repeated items, of users of very different kinds."""
    rng = np.random.default_rng(seed)
    n = 1500
    pairs = {"user": rng.integers(0, 80, n), "item": rng.integers(-12, 12, n)}
    rankings = pl.DataFrame(pairs)
    if order == "score":
        rankings = rankings.with_columns(score=pl.Series(rng.choice(SCORES, n)))
    else:
        rankings = rankings.with_columns(rank=pl.Series(rng.integers(1, 9, n)))
        rankings = rankings.with_columns(pl.col("rank").rank("min").cast(pl.Int64).over("user"))
    few = pl.col("user") < 30  # the others have no repeated items
    rankings = pl.concat(
        [rankings.filter(few), rankings.filter(~few).unique(["user", "item"], maintain_order=True)]
    )
    truth = pl.DataFrame(
        {
            "user": rng.integers(10, 90, 500),
            "item": rng.integers(-13, 13, 500),
            "gain": rng.integers(-1, 4, 500).astype(float),
        }
    )
    truth = truth.unique(["user", "item"], keep="first", maintain_order=True)
    return (named(rankings), named(truth)) if words else (rankings, truth)


def metrics(case):
    """Metrics with choices of their own: a case has some rules, and all cases have all."""
    chance = random.Random(case)
    ordering = [rule for rule in ORDERED if rule not in BY_ROW]
    words = {rule: CHOICES[rule].words for rule in RULES}
    words["ties"] = [*(set(words["ties"]) - {*ORDERED}), ordering[case], ordering[-1 - case]]
    if case % 2:
        words["scope"] = ("all", "ranked")
    found = []
    for name in ("ndcg", "rr", "recall", "ap") * 8:
        given = {rule: chance.choice(words[rule]) for rule in RULES if chance.random() < 0.4}
        if given.get("ties", "item") != "expected" and chance.random() < 0.2:
            given["depth"] = chance.randint(1, 5)
        inside = ",".join(f"{rule}={value}" for rule, value in given.items())
        found.append(f"{name}({inside})@{chance.randint(1, 9)}" if inside else "ap@2")
    return [*dict.fromkeys(found)]


CASES = [*itertools.product(["score", "rank"], [False, True])]


@pytest.mark.once
@pytest.mark.parametrize(("order", "words"), CASES)
def test_every_rule_has_the_scores_of_rankings_in_memory(order, words, spark):
    seed = CASES.index((order, words))
    rankings, truth = many(seed, order, words=words)
    plan = resolve_plan(metrics(seed))
    judged, tables = unify_all_id_types(read_truth(truth), {"": read_rankings(rankings)})
    wanted = open_data(judged, tables).run(plan)[""]
    memory = 2**16 if words else 2**30  # several parts for each task, or one
    table = open_spark(in_spark(spark, rankings, 1 + 3 * seed), memory)
    table = replace(table, origin=replace(table.origin, source="polars DataFrame"))
    if words:
        judged = open_truth_in_spark(in_spark(spark, truth))
        judged = replace(judged, origin=replace(judged.origin, source="polars DataFrame"))
        assert not judged.rows.in_memory
    judged, tables = unify_all_id_types(judged, {"": table})
    assert_same(open_data(judged, tables).run(plan)[""], wanted)


# ---------------------------------------------------------------------------------------------
# The public functions


def outcome(*args, **options):
    """What a reader gets, without the sockets that PySpark 3.5 forgets to close."""
    *found, said = outcome_with_sockets(*args, **options)
    if isinstance(said, list):
        said = [one for one in said if "unclosed" not in one]
    return (*found, said)


def same(session, rankings, truth, **options):
    """Whether the outcome in Spark is that in memory, but for the kind of the frame."""
    wanted = repr(outcome(rankings, truth, **options))
    found = repr(outcome(in_spark(session, rankings), truth, **options))
    assert found.replace("pyspark", "polars") == wanted, options


def test_an_evaluation_is_the_same(spark):
    rankings, truth = some(1000)
    same(spark, rankings, truth)
    same(spark, named(rankings), named(truth), ties="item-descending", duplicates="unchecked")
    side = {"train": {user: [user % 7, user % 9] for user in range(40)}, "propensity": {1: 0.5}}
    asked = ["snips(gamma=1,cold=rarest)@3", "ips@3", "stratum_recall(stratum=tail)@3"]
    same(spark, rankings, truth, metrics=asked, **side)


@pytest.mark.once
def test_curves_explanations_and_comparisons_are_the_same(spark):
    rankings, truth = some(1000)
    other, _ = some(1000, seed=2)
    here, there = ({"a": one(rankings), "b": one(other)} for one in (lambda f: f, by(spark)))
    curves = [rm.curve(systems["a"], truth, "recall", 5).frame for systems in (here, there)]
    assert curves[0].equals(curves[1])
    options = {
        "segments": {user: "ab"[user % 2] for user in range(60)},
        "clusters": {user: user // 3 for user in range(60)},
        "n_resamples": 99,
    }
    found = [rm.compare(systems, truth, "ndcg@5 rr", **options) for systems in (here, there)]
    found = [one.to_dict() for one in found]
    assert found[1]["plan"].pop("engine").startswith("spark:")
    assert found[0] == found[1]


def by(session):
    return lambda frame: in_spark(session, frame)


BAD = {
    "missing user": pl.col("user").replace(7, None),
    "missing item": pl.col("item").replace(7, None),
    "other users": pl.col("user") + 10_000,
    "other items": pl.col("item") + 10_000,
    "text": pl.col("user").cast(pl.String),
    "dates": pl.col("user").cast(pl.Int32).cast(pl.Date),
    "floats": pl.col("item").cast(pl.Float64),
    "text as scores": pl.col("score").cast(pl.String),
}


@pytest.mark.once
@pytest.mark.parametrize("what", BAD)
def test_bad_values_are_found_as_in_memory(what, spark):
    rankings, truth = some(300)
    frame = rankings.with_columns(BAD[what])
    wanted = outcome(frame, truth)
    kind, said, *_ = outcome(in_spark(spark, frame, 1), truth)
    if not isinstance(wanted[0], type):
        assert (kind, said) == wanted[:2]
        return
    assert kind is wanted[0]
    said = said.replace("pyspark", "polars")
    assert said == wanted[1] or said.split(". ")[0] == wanted[1].split(", first at")[0]


@pytest.mark.once
@pytest.mark.parametrize("bad_scores", ["error", "drop", "worst"])
def test_missing_scores_are_treated_as_in_memory(bad_scores, spark):
    rankings, truth = some(300)
    for bad in (None, float("nan")):
        score = pl.col("score").replace(0.5, bad)
        bad_users = pl.when(pl.col("user") < 3).then(pl.lit(bad, pl.Float32))
        frame = rankings.with_columns(score=bad_users.otherwise(score))
        wanted = outcome(frame, truth, bad_scores=bad_scores)
        found = outcome(in_spark(spark, frame), truth, bad_scores=bad_scores)
        if bad_scores == "error":
            assert found[0] is wanted[0]
            assert found[1].split(":")[0].replace("pyspark", "polars") == wanted[1].split(":")[0]
        else:
            assert found == wanted


def test_a_number_of_items_below_those_of_the_rankings_is_an_error(spark):
    rankings, truth = many(5, "score", words=False)
    rankings = rankings.unique(["user", "item"], keep="first", maintain_order=True)
    n = pl.concat([rankings["item"], truth["item"]]).n_unique()
    data = in_spark(spark, rankings)
    with pytest.raises(InvalidValueError, match=f"^{n} different items .* n_items is {n - 1}:"):
        rm.evaluate(data, truth, "accuracy@2", n_items=n - 1)
    assert rm.evaluate(data, truth, "accuracy@2", n_items=n)


def test_ground_truth_and_segments_can_be_in_spark(spark):
    rankings, truth = some(300)
    there = in_spark(spark, rankings), in_spark(spark, truth)
    wanted = rm.evaluate(rankings, truth)
    assert rm.evaluate(*there).to_dict()["metrics"] == wanted.to_dict()["metrics"]
    found = rm.evaluate(there[0], truth, engine="memory")
    assert found.plan.engine == ""
    assert found.values_by_user.equals(wanted.per_user)


@pytest.mark.once
def test_what_is_said_in_memory_is_said_in_spark(spark):
    rankings, truth = DATA["nothing wrong with text"]
    other = truth.with_columns(pl.col("item").replace("i5", "I5 "))
    doubtful = {name: pair for name, pair in DATA.items() if pair[0].width == 3}
    for name, (rows, judged) in {**doubtful, "another spelling": (rankings, other)}.items():
        found = what_is_said(in_spark(spark, rows), judged)
        wanted = what_is_said(rows, judged)
        assert [text.replace("pyspark", "polars") for text in found] == wanted, name
    assert "only in another spelling" in wanted[0]


def test_what_is_doubtful_is_asked_once_and_stays_with_the_result(spark):
    rankings, truth = DATA["swapped"]
    frame = in_spark(spark, rankings)
    with pytest.warns(RankmeterWarning, match="look swapped") as warned:
        found = rm.compare({"a": frame, "b": frame}, truth, "ndcg@5")
    own = [one for one in warned if one.category is RankmeterWarning]  # PySpark has others
    assert len(own) == 2  # of each system, as in memory
    assert found.curve("ndcg@5", 3).frame.columns
    assert [text.partition(":")[0] for text in found.cautions] == [
        "rankings and ground truth look swapped"
    ]


def no_rows_on_the_driver(monkeypatch):
    """Refuse to bring ground truth to the driver."""

    def refuse(rows):
        raise AssertionError(f"{rows.height} judgments on the driver")

    monkeypatch.setattr(TruthInSpark, "whole", property(refuse))


def same_with_truth(session, rankings, truth, **options):
    """Whether the outcome of both sides in Spark is that in memory."""
    found = repr(outcome(in_spark(session, rankings), in_spark(session, truth), **options))
    assert found.replace("pyspark", "polars") == repr(outcome(rankings, truth, **options)), options


@pytest.mark.once
def test_ground_truth_in_spark_stays_there(spark, monkeypatch):
    no_rows_on_the_driver(monkeypatch)
    rankings, truth = some(1000)
    ratings = truth.with_columns(gain=pl.col("item") % 5 + 1.0)
    for judged, options in (
        (truth, {}),
        (truth.select("user", "item"), {}),
        (truth.with_columns(when=pl.int_range(pl.len())), {}),
        (truth.with_columns(split=pl.lit("test")), {"metrics": "ndcg@5 coverage@3"}),
        (truth.with_columns(gain=pl.col("gain") * 0.3), {"metrics": "ndcg@5"}),
        (ratings, {}),
        (ratings, {"metrics": "recall@5", "relevant": ">=4"}),
        (truth, {"metrics": "ndcg@5 map rr", "like": "trec_eval"}),
        (truth.with_columns(user=pl.col("user") + 0.0), {}),
    ):
        same_with_truth(spark, rankings, judged, **options)
    same_with_truth(spark, *map(named, (rankings, truth)))
    frames = {"a": in_spark(spark, rankings), "b": in_spark(spark, rankings)}
    found = rm.compare(frames, in_spark(spark, truth), "ndcg@5")
    assert found["ndcg@5"][0].difference == 0


@pytest.mark.once
def test_ground_truth_in_spark_that_is_doubtful_is_read_whole(spark):
    rankings, truth = some(300)
    item = pl.col("item")
    for judged in (
        truth.with_columns(item=item.replace(truth["item"][0], -1)),
        truth.select("user", item=item % 3),
        truth.with_columns(
            split=pl.when(item > 500).then(pl.lit("train")).otherwise(pl.lit("test"))
        ),
        truth.select("user", "item", event=pl.when(item > 9).then(pl.lit("buy"))),
    ):
        same_with_truth(spark, rankings, judged)
    options = {"metrics": "snips@3", "train": {u: [u % 7] for u in range(40)}, "n_items": 1200}
    same_with_truth(spark, rankings, truth, **options)
    for metrics in ("alpha_ndcg@5", "rr"):
        same_with_truth(
            spark, rankings, truth.with_columns(subtopic=item.cast(pl.String)), metrics=metrics
        )


@pytest.mark.once
def test_judgments_in_spark_keep_the_order_in_which_they_are_read(spark):
    rankings, truth = some(300)
    again = pl.concat([truth, truth.with_columns(gain=pl.col("gain") + 1), truth])
    there = in_spark(spark, again)
    here = pl.DataFrame([tuple(row) for row in there.collect()], again.schema, orient="row")
    asked = [f"ndcg(judgements={which})@5" for which in ("last", "sum")]
    found = rm.evaluate(in_spark(spark, rankings), there, asked)
    assert found.values_by_user.equals(rm.evaluate(rankings, here, asked).per_user)
    both = {"a": in_spark(spark, rankings), "b": rankings}
    assert rm.compare(both, there, asked[:1])[asked[0]][0].difference == 0


def test_scores_next_to_ranks_are_counted(spark):
    rankings, truth = some(300)
    rank = (-pl.col("score")).rank("ordinal").over("user").cast(pl.Int64)
    later = pl.when(pl.col("item") % 7 == 0).then(0.5).otherwise("score").alias("score")
    same(spark, rankings.with_columns(rank=rank).with_columns(later), truth)


@pytest.mark.once
def test_the_item_of_the_user_can_be_left_out(spark):
    """Of lists, too; the users of `some` are among the items."""
    rankings, truth = some(300)
    own = pl.DataFrame({"user": range(20), "item": range(20), "score": [1.0] * 20})
    rankings = pl.concat([rankings, own.cast(rankings.schema)]).unique(["user", "item"])
    rank = (-pl.col("score")).rank("min").over("user").cast(pl.Int64)
    for frame in (rankings, rankings.select("user", "item", rank=rank)):
        asked = ["ndcg@5", "rr(scope=appended)", "coverage@3"]
        same(spark, frame, truth, metrics=asked, exclude="self", catalogue=900)


def parts(rankings):
    """The same with items such as i12#3, of which three are parts of i12."""
    item = pl.format("i{}#{}", pl.col("item") // 3, pl.col("item") % 3)
    return rankings.with_columns(user=pl.format("u{}", "user"), item=item)


@pytest.mark.once
@pytest.mark.parametrize(
    ("order", "rule", "bad_scores"),
    [
        ("score", "before:#", "drop"),
        ("score", "regex:^(i[0-9]+)", "worst"),
        ("rank", "table", None),
    ],
)
def test_chunks_become_documents(order, rule, bad_scores, spark):
    rankings, truth = some(400)
    truth = named(truth.with_columns(pl.col("item") // 3)).unique(["user", "item"])
    frame = parts(rankings)
    if rule == "table":
        n = rankings["item"].unique()
        chunks = parts(pl.DataFrame({"user": n, "item": n}))["item"]
        rule = pl.DataFrame({"chunk": chunks, "document": [f"i{one // 3}" for one in n]})
    if order == "rank":
        rank = (-pl.col("score")).rank("min").over("user").cast(pl.Int64)
        same(spark, frame.select("user", "item", rank=rank), truth, collapse=rule)
        return
    bad = pl.when(pl.col("user") != "u7").then(pl.col("score").replace(0.5, None)).alias("score")
    same(spark, frame.with_columns(bad), truth, collapse=rule, bad_scores=bad_scores)


def test_chunks_that_are_no_parts_or_repeated_are_refused(spark):
    rankings, truth = some(300)
    frame, judged = parts(rankings), named(truth)
    again = pl.concat([frame, frame.filter(pl.col("user") == "u7").head(1)])
    with pytest.raises(DuplicateError, match="repeats parts of items, for example user 'u7' item"):
        rm.evaluate(in_spark(spark, again), judged, collapse="before:#")
    n = frame["item"].n_unique() - 1
    item, lost = frame["item"][0], frame.filter(pl.col("item") != frame["item"][0]).height
    said = f"collapse= lacks {n} items of pyspark DataFrame in {lost} rows"
    with pytest.raises(DataError, match=f"^{said}"):
        rm.evaluate(in_spark(spark, frame), judged, "ndcg@5 coverage@3", collapse={item: "i1"})
    both = {"a": in_spark(spark, frame), "b": in_spark(spark, frame)}
    with pytest.raises(DataError, match=f"^System 'a': {said}"):
        rm.compare(both, judged, "rr", collapse={item: "i1"})
    with pytest.raises(DataError, match="a rule for text"):
        rm.evaluate(in_spark(spark, rankings), truth, collapse="before:#")


@pytest.mark.once
def test_parts_and_documents_can_have_other_types(spark):
    rankings, truth = some(300)
    n, largest = rankings["item"].to_list(), 2**63
    for documents in ([f"d{one // 3}" for one in n], [largest + one // 3 for one in n]):
        wholes = dict(zip(n, documents, strict=True))
        judged = {}
        for user, item in truth.filter(pl.col("item").is_in(n)).select("user", "item").rows():
            judged.setdefault(user, {})[wholes[item]] = 1
        same(spark, rankings, judged, collapse=wholes, metrics="ndcg@5 coverage@3")
    named_parts = rankings.with_columns(pl.format("p{}", "item"))
    wholes = {f"p{one}": one // 3 for one in n}
    judged = truth.with_columns(pl.col("item") // 3).unique(["user", "item"], keep="first")
    same(spark, named_parts, judged, collapse=wholes)
    same_with_truth(spark, named_parts, judged, collapse=wholes)


def test_the_order_of_the_rows_is_not_known(spark):
    rankings, truth = some(300)
    with pytest.raises(ColumnError, match="no score and no rank, and the rows of Spark have no"):
        rm.evaluate(in_spark(spark, rankings.drop("score")), truth)
    with pytest.raises(UsageError, match="ties='input' needs the order of tied items"):
        rm.evaluate(in_spark(spark, rankings), truth, ties="input")
    distinct = rankings.with_columns(score=pl.int_range(pl.len()).shuffle(1).cast(pl.Float64))
    same(spark, distinct, truth, ties="input")
    with pytest.raises(UsageError, match="engine='spark' cannot read"):
        rm.evaluate(rankings, truth, engine="spark")


@pytest.mark.once
def test_rankings_that_change_after_they_were_counted_are_refused(spark, monkeypatch):
    rankings, truth = some(300)
    frame = in_spark(spark, rankings)
    kind, read = type(open_spark(frame, 2**30).rows.query), []
    usual = kind.all_rows.fget

    def rows(query):
        read.append(query)
        more = query.data.selectExpr("*", "explode(sequence(int(item > 500), 1)) AS copy")
        return usual(replace(query, data=more if len(read) > 1 else query.data))

    monkeypatch.setattr(kind, "all_rows", property(rows))
    with pytest.raises(DataError, match="changed while they were read"):
        rm.evaluate(frame, truth, "rr", duplicates="unchecked")
    assert len(read) == 2


def test_small_tables_arrive_whole(spark, monkeypatch):
    monkeypatch.setattr("rankmeter._reading.spark._PER_ARRAY", 2)
    rows = open_spark(in_spark(spark, some(300)[0]), 2**30).rows.query
    table = pl.DataFrame({"user": ["a", "Ä", "c"], "n": [1, None, 2**62], "x": [0.1, -0.0, None]})
    for height in range(4):
        assert rows.collect(send_frame(table[:height], spark, "a table")).equals(table[:height])


@pytest.mark.once
def test_decimals_are_ids_if_all_of_them_are_integers(spark):
    rankings, truth = some(300)
    frame, wanted = in_spark(spark, rankings), rm.evaluate(rankings, truth)["ndcg@10"].mean
    kinds = {"user": "decimal(10,2)", "item": "decimal(38,18)"}
    ids = frame.selectExpr(*(f"CAST({name} AS {kinds[name]}) AS {name}" for name in kinds), "score")
    assert rm.evaluate(ids, truth)["ndcg@10"].mean == wanted
    for sql, error, said in (
        ("CAST(user + if(user = 7, 0.5, 0) AS decimal(10,2))", IdTypeError, "for example 7.50"),
        ("if(user = 7, 1e30BD, CAST(user AS decimal(38,0)))", IdTypeError, "for example 1000000"),
        ("nullif(CAST(user AS decimal(10,2)), 7)", InvalidValueError, "user ids .* are missing"),
    ):
        with pytest.raises(error, match=said):
            rm.evaluate(frame.selectExpr(f"{sql} AS user", "item", "score"), truth)


@pytest.mark.once
@pytest.mark.parametrize("partitions", [1, 50])
def test_a_frame_without_rows_is_refused(partitions, spark):
    rankings, truth = some(300)
    with pytest.raises(DataError, match="has no rows"):
        rm.evaluate(in_spark(spark, rankings.clear(), partitions), truth)


@pytest.mark.once
def test_judgments_beyond_the_type_of_the_ids_match_nothing(spark):
    rankings, truth = some(300)
    wide = truth.with_columns(pl.col("item").cast(pl.Int64))
    beyond = wide.with_columns(pl.col("item") + 2**32)  # the same in the lower 32 bits
    judged = pl.concat([wide[:5], beyond])
    same(spark, rankings.with_columns(pl.col("item").cast(pl.Int32)), judged)
    same(spark, rankings.with_columns(pl.col("item").cast(pl.Int64) - 600), wide)


def test_a_query_that_fails_is_an_error_with_the_root_of_its_causes(spark):
    rankings, truth = some(300)
    for error, begin, text, end in (
        (DataError, "pyspark DataFrame cannot be computed: ", "far too small", ". Run the query"),
        (
            NotEnoughMemoryError,
            "Spark has not enough memory for a query of pyspark DataFrame: ",
            "[UNABLE_TO_ACQUIRE_MEMORY] Unable to acquire 119074000 bytes of memory",
            "give a smaller `memory` (67.1 MB at least) for smaller parts, or give more to",
        ),
    ):
        score = f"if(user < 0, 1.0, double(raise_error('{text}'))) AS score"
        with pytest.raises(error, match=re.escape(begin)) as caught:
            rm.evaluate(in_spark(spark, rankings).selectExpr("user", "item", score), truth)
        assert text in str(caught.value)
        assert end in str(caught.value)
        assert "An error occurred while calling" not in str(caught.value)


class Java:
    """An exception of Java, as Py4J hands it over."""

    def __init__(self, text, cause=None):
        self.toString, self.getCause = (lambda: text), (lambda: cause)


@pytest.mark.parametrize(
    ("root", "said"),
    [
        (
            "org.apache.spark.memory.SparkOutOfMemoryError: [UNABLE_TO_ACQUIRE_MEMORY] 9",
            ": org.apa",
        ),
        (
            "SparkException: Could not allocate memory to grow BytesToBytesMap",
            ": SparkException: C",
        ),
        ("SparkException: Can't acquire 1048576 bytes memory to build a relation", ": SparkExc"),
        ("SparkException: [CANNOT_ACQUIRE_MEMORY_TO_BUILD_LONG_HASHED_RELATION] 9", ": SparkE"),
        ("java.lang.OutOfMemoryError: Java heap space", ": java.lang.OutOfMemoryError: Java heap"),
        (
            (
                "SparkException: Job aborted: Task 0 failed, most recent failure: Lost task 0.3 "
                "(TID 4) (10.0.0.1 executor 2): ExecutorLostFailure (executor 2 exited) Reason: "
                "Command exited with code 52\nDriver:"
            ),
            ": ExecutorLostFailure (executor 2 exited) Reason: Command exited with code 52. Each",
        ),
    ],
)
def test_missing_memory_is_found_at_the_root_of_the_causes(root, said):
    error = RuntimeError("An error occurred while calling o103.getResult.\n")
    error.java_exception = Java("Exception thrown in awaitResult", Java("Job aborted", Java(root)))
    missing = pytest.raises(NotEnoughMemoryError, match="Spark has not enough memory")
    with missing as caught, _translate_query_errors("rows"):
        raise error
    assert said in str(caught.value)


@pytest.mark.usefixtures("spark")
def test_the_command_line_reads_parquet_files_in_spark(tmp_path):
    rankings, truth = some(300)
    rankings.write_parquet(tmp_path / "r.parquet")
    truth.write_parquet(tmp_path / "t.parquet")
    files = [str(tmp_path / "r.parquet"), str(tmp_path / "t.parquet")]
    cluster = ["--engine", "spark", "--master", "local[2]"]
    one, wanted = (
        json.loads(rankmeter("evaluate", *files, "--json", *more).out) for more in (cluster, [])
    )
    assert one["plan"].pop("engine").startswith("spark")
    assert one == wanted | {"plan": {k: v for k, v in wanted["plan"].items() if k != "engine"}}
    systems = [f"a={files[0]}", f"b={files[0]}"]
    two = rankmeter("compare", files[1], *systems, *cluster, "--json")
    assert "spark" in json.loads(two.out)["plan"]["engine"]
    assert "no effect" in rankmeter("evaluate", *files, *cluster[2:]).err
    rankings.write_csv(tmp_path / "r.csv")
    said = rankmeter("evaluate", str(tmp_path / "r.csv"), files[1], *cluster).err
    assert "cannot read" in said
    assert "Parquet" in said


# ---------------------------------------------------------------------------------------------
# Frames that are returned


def polars_of(frame):
    """A Spark DataFrame with its types, as one of Polars in order of the first columns."""
    kinds = {"int": pl.Int32, "bigint": pl.Int64, "string": pl.String, "double": pl.Float64}
    assert "pyspark" in type(frame).__module__
    schema = {name: kinds[kind] for name, kind in frame.dtypes}
    rows = [tuple(row) for row in frame.collect()]
    return pl.DataFrame(rows, schema, orient="row").sort(pl.nth(0, 1))


@pytest.mark.parametrize("kind", ["int", "bigint", "string"])
def test_spark_in_is_spark_out_with_the_names_and_types_of_the_input(kind, spark):
    rankings, truth = some(300)
    if kind == "string":
        rankings, truth = named(rankings), named(truth)
    frame = in_spark(spark, rankings).selectExpr(f"cast(user AS {kind}) AS userId", "item", "score")
    asked = ["ndcg@5", "recall(relevant=2,ties=expected)@2"]
    for engine in ("auto", "memory"):
        found = rm.evaluate(frame, truth, asked, engine=engine)
        per_user = polars_of(found.per_user)
        wanted = found.values_by_user.rename({"user": "userId"})
        assert found.per_user.dtypes[0] == ("userId", kind)
        assert per_user.equals(wanted.cast({"userId": per_user.schema["userId"]}))
        assert per_user.null_count().row(0)[2] > 0  # users without a value
        assert not any(per_user[name].is_nan().any() for name in asked)


@pytest.mark.once
def test_every_frame_of_a_result_is_one_of_spark(spark):
    rankings, truth = some(300)
    other, _ = some(300, seed=2)
    here, there = ({"a": one(rankings), "b": one(other)} for one in (lambda f: f, by(spark)))
    parts = {user: "xy"[user % 2] for user in range(50)}
    both = [rm.compare(systems, truth, "ndcg@5 rr", segments=parts) for systems in (here, there)]
    one = [rm.evaluate(systems["a"], truth, "ndcg@5 rr") for systems in (here, there)]
    frames = [
        (lambda r: r.per_user, both), (lambda r: r.segments, both), (lambda r: r.means(), both),
        (lambda r: r.worst(5, "rr"), both), (lambda r: r.best(), both),
        (lambda r: r.per_user, one), (lambda r: r.by_segment(parts), one),
        (lambda r: r.gap(parts), one),
    ]  # fmt: skip
    for frame, (ours, theirs) in frames:
        assert polars_of(frame(theirs)).rows() == frame(ours).sort(pl.nth(0, 1)).rows()
    values = rm.compare_values(both[1].per_user)
    wanted = rm.compare_values(both[0].per_user)
    assert polars_of(values.per_user).rows() == wanted.per_user.sort(pl.nth(0, 1)).rows()


@pytest.mark.usefixtures("spark")
def test_frames_of_spark_are_made_when_they_are_asked_for(spark, tmp_path, monkeypatch):
    rankings, truth = some(300)
    rankings.write_parquet(tmp_path / "r.parquet")
    truth.write_parquet(tmp_path / "t.parquet")
    files = [str(tmp_path / "r.parquet"), str(tmp_path / "t.parquet")]
    by_path = rm.evaluate(*files, "rr", engine="spark")
    assert polars_of(by_path.per_user).rows() == by_path.values_by_user.rows()

    def made(kind, frame):
        raise AssertionError(f"a frame of {type(kind)} with {frame.columns}")

    monkeypatch.setattr("rankmeter._reading.spark._SparkKind.convert_frame", made)
    frame, segments = in_spark(spark, rankings), {user: "xy"[user % 2] for user in range(60)}
    found = rm.evaluate(frame, truth)
    found.report(tmp_path / "one.html", segments=segments)
    both = rm.compare({"a": frame, "b": frame}, truth, "rr", segments=segments, baseline="a")
    both.report(tmp_path / "two.html")
    for one in (found, both):
        assert one.to_json()
        assert repr(one)
    rows = ["--per-user", str(tmp_path / "u.csv"), "--engine", "spark"]
    rankmeter("evaluate", *files, *rows)
    assert "user,ndcg@10" in (tmp_path / "u.csv").read_text("utf-8")
    worst = ["--worst", str(tmp_path / "w.csv")]
    rankmeter("compare", files[1], f"a={files[0]}", f"b={files[0]}", *rows, *worst)
    assert "difference" in (tmp_path / "w.csv").read_text("utf-8")


def test_frames_of_several_arrays_arrive_whole(spark, monkeypatch):
    kind = rm.evaluate(in_spark(spark, some(300)[0]), some(300)[1], "rr").kind
    monkeypatch.setattr("rankmeter._reading.spark._PER_ARRAY", 8)
    users = pl.Series("user", [1, 2, None, 2**40, 5], pl.Int64)
    frame = pl.DataFrame([users, pl.Series("a`b", ["x", None, "z", "", "Ä"])])
    frame = frame.with_columns(pl.Series("1/2 @x", [0.1, None, -0.0, float("nan"), 2.0]))
    found = kind.convert_frame(frame)
    assert [name for name, _ in found.dtypes] == frame.columns
    assert repr([tuple(row) for row in found.collect()]) == repr(frame.rows())
    wide = kind.convert_frame(pl.DataFrame({"user": pl.Series([1, 2**63], dtype=pl.UInt64)}))
    assert wide.dtypes == [("user", "decimal(20,0)")]
    assert [int(row[0]) for row in wide.collect()] == [1, 2**63]


def test_a_name_that_spark_cannot_tell_apart_changes_nothing(spark):
    frame = in_spark(spark, some(300)[0]).withColumnRenamed("user", "RR")
    found = rm.evaluate(frame, {3: [10]}, "rr", columns={"user": "RR"}).per_user
    assert found.columns == ["user", "rr"]


# ---------------------------------------------------------------------------------------------
# Metrics of the user


@contextmanager
def own_metric(function):
    register(function.__name__)(function)
    try:
        yield function.__name__
    finally:
        unregister(function.__name__)


@pytest.mark.once
def test_metrics_of_the_user_are_sent_to_the_tasks(spark):
    rankings, truth = some(1000)

    def first(hits, k=None):
        """Fall with the number of relevant items."""
        return 1.0 / (1.0 + hits.n_relevant)

    with own_metric(first) as name:
        found = rm.evaluate(in_spark(spark, rankings), truth, name)
        assert found.values_by_user.equals(rm.evaluate(rankings, truth, name).per_user)
    lock = threading.Lock()

    def locked(hits, k=None):
        """Hold what cannot be sent."""
        with lock:
            return 1.0 / (1.0 + hits.n_relevant)

    with own_metric(locked) as name, pytest.raises(UsageError, match="`locked` cannot be sent"):
        rm.evaluate(in_spark(spark, rankings), truth, name)

    def divides(hits, k=None):
        """Fail where a user has many relevant items."""
        if (hits.n_relevant > 6).any():
            raise ZeroDivisionError("7 relevant items")
        return hits.n_relevant * 1.0

    with own_metric(divides) as name, pytest.raises(ZeroDivisionError, match=r"^7 relevant items$"):
        rm.evaluate(in_spark(spark, rankings), truth, name)


@pytest.mark.once
def test_tasks_on_this_machine_run_in_this_python(spark, monkeypatch, tmp_path):
    rankings, truth = some(300)
    rankings.write_parquet(tmp_path / "rankings.parquet")
    there = spark.read.parquet(str(tmp_path / "rankings.parquet"))
    monkeypatch.delenv("PYSPARK_PYTHON")
    monkeypatch.setattr(spark.sparkContext, "pythonExec", "no-such-python")
    assert rm.evaluate(there, truth)["ndcg@10"].mean == rm.evaluate(rankings, truth)["ndcg@10"].mean
    assert spark.sparkContext.pythonExec == "no-such-python"


@pytest.mark.once
def test_another_version_on_the_executors_is_an_error(spark, monkeypatch):
    monkeypatch.setattr("rankmeter._large.spark._Work.__init__.__defaults__", ("0.8",))
    rankings, truth = some(300)
    with pytest.raises(MissingDependencyError, match=r"have rankmeter .*, and the driver has 0\.8"):
        rm.evaluate(in_spark(spark, rankings), truth)


# ---------------------------------------------------------------------------------------------
# What is moved


def test_rankings_and_truth_move_once_by_their_users_and_nothing_is_broadcast(
    spark, capsys, monkeypatch
):
    rankings, truth = some(3000)
    kind, asked = type(open_spark(in_spark(spark, rankings), 2**30).rows.query), []
    collect = kind.collect

    def watched(query, one):
        asked.append(one)
        return collect(query, one)

    monkeypatch.setattr(kind, "collect", watched)
    frames = {name: in_spark(spark, frame) for name, frame in (("a", rankings), ("b", rankings))}
    rm.compare(frames, truth, ["ndcg@5,10", "rr(ties=expected)", "recall@1,2,3", "rr(pool=judged)"])
    counted, measured = asked[:-1], asked[-1]
    assert len(counted) == 2
    capsys.readouterr()
    measured.explain()
    text = capsys.readouterr().out.partition("Initial Plan")[0]
    # in_spark makes the partitions of the two frames, and the work of the engine makes one more.
    assert text.count("Exchange hashpartitioning(user") == 1
    assert text.count("MapInArrow") == 1
    assert "Broadcast" not in text
    assert "Sort " not in text


@pytest.mark.once
def test_a_user_with_most_rows_is_one_of_many(spark):
    rng = np.random.default_rng(1)
    n = 20_000
    user = np.where(rng.random(n) < 0.95, 7, rng.integers(0, 50, n))
    score = rng.integers(0, 99, n) / 8
    rankings = pl.DataFrame({"user": user, "item": np.arange(n), "score": score})
    truth = rankings.sample(300, seed=1).select("user", "item")
    for adaptive in ("true", "false"):
        spark.conf.set("spark.sql.adaptive.enabled", adaptive)
        same(spark, rankings, truth)
    spark.conf.set("spark.sql.adaptive.enabled", "true")


# ---------------------------------------------------------------------------------------------
# Spark Connect

CONNECT = """
import sys, warnings
warnings.simplefilter("ignore")
sys.path[:0] = {tests!r}
from pyspark.sql import SparkSession
from test_disk import outcome, some
builder = SparkSession.builder.remote("local[2]")
for setting in {settings!r}.items():
    builder = builder.config(*setting)
session = builder.getOrCreate()
rankings, truth = some(300)
there = session.createDataFrame(rankings.to_arrow()), session.createDataFrame(truth.to_arrow())
assert "connect" in type(there[0]).__module__
wanted = outcome(rankings, truth)
for judged in (truth, there[1]):
    found = outcome(there[0], judged)
    assert found[:2] == wanted[:2], (found, wanted)
import rankmeter as rm
result = rm.evaluate(there[0], truth)
assert "connect" in type(result.per_user).__module__
assert [tuple(row) for row in result.per_user.collect()] == result.values_by_user.rows()
session.stop()
"""


@pytest.mark.once  # the server of PySpark 3.5 is a package of its own
def test_a_client_of_spark_connect_has_the_same_results():
    pytest.importorskip("pyspark", minversion="4")
    code = CONNECT.format(tests=[*map(str, Path(__file__).parents[:2])], settings=SETTINGS)
    command = [sys.executable, "-c", code]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr[-3000:]


# ---------------------------------------------------------------------------------------------
# Arrays of items, a row for each user

OF_ALS = [(1, [(10, 0.5), (11, 0.9)]), (2, [(11, 0.7), (12, 0.2)]), (3, [])]
LIKED = pl.DataFrame({"user_id": [1, 2, 3, 4], "movie_id": [10, 11, 10, 12]})
ARRAYS = {
    "structs of ALS": (
        "user_id int, recommendations array<struct<movie_id:int,rating:float>>", OF_ALS, None,
    ),
    "structs, named by the caller": (
        "u int, other array<struct<movie_id:int,rating:float>>", OF_ALS,
        {"user": "u", "item": "other"},
    ),
    "structs without numbers": (
        "user_id int, items array<struct<movie_id:int>>",
        [(1, [(11,), (10,)]), (2, [(11,), (12,)]), (3, [])], None,
    ),
    "ids": ("user_id int, items array<int>", [(1, [11, 10]), (2, [11, 12]), (3, [])], None),
    "ids and scores": (
        "user_id int, item array<int>, score array<double>",
        [(1, [10, 11], [0.5, 0.9]), (2, [11, 12], [0.7, 0.2]), (3, [], [])], None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("form", ARRAYS)
def test_arrays_of_items_are_read_as_in_polars(spark, form):
    schema, rows, columns = ARRAYS[form]
    data = spark.createDataFrame(rows, schema)
    columns = None if columns is None else {"rankings": columns}
    options = {"metrics": ["rr", "recall@1", "ndcg@2"], "columns": columns, "missing": "skip"}
    found = rm.evaluate(data, LIKED, **options)
    lists = {1: [11, 10], 2: [11, 12], 3: []}
    want = rm.evaluate(lists, {1: {10}, 2: {11}, 3: {10}, 4: {12}}, options["metrics"],
                       missing="skip")  # fmt: skip
    assert {name: found[name].mean for name in found} == {name: want[name].mean for name in want}
    assert found["rr"].n == want["rr"].n == 3


def test_arrays_of_judged_items_are_read(spark):
    data = spark.createDataFrame(OF_ALS, ARRAYS["structs of ALS"][0])
    liked = spark.createDataFrame(
        [(1, [10]), (2, [11]), (3, [10]), (4, [12])], "user_id int, items array<int>"
    )
    found, want = (rm.evaluate(data, truth, "rr") for truth in (liked, LIKED))
    assert found["rr"].mean == want["rr"].mean == 0.375


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([(1, [11]), (1, [10])], "2 lists of 1 user"),
        ([(1, [11]), (2, None)], "without a list of items"),
    ],
)
def test_lists_that_are_not_certain_are_refused(spark, rows, said):
    data = spark.createDataFrame(rows, "user_id int, items array<int>")
    with pytest.raises(DataError, match=said):
        rm.evaluate(data, LIKED, "rr")


@pytest.mark.parametrize("metric", ["rr", "rr(truth=seen)"])
def test_new_and_seen_items_are_refused_with_another_way(spark, metric):
    lists, judged = {"u1": {"a": 2.0, "b": 1.0}}, {"u1": {"a": 1, "b": 1}}
    rows = [(user, item, score) for user, items in lists.items() for item, score in items.items()]
    frame = spark.createDataFrame(rows, ["user", "item", "score"])
    options = {"history": "new"} if metric == "rr" else {}
    with pytest.raises(UsageError, match=r"not possible in Spark\. Write .* to Parquet"):
        rm.evaluate(frame, judged, metric, train={"u1": ["a"]}, **options)
    assert rm.evaluate(frame, judged, "rr", train={"u1": ["a"]})["rr"].mean == 1.0


def test_labels_of_a_judge_correct_rankings_in_spark_as_in_memory(spark):
    draw = random.Random(0)
    items = [f"i{n}" for n in range(8)]
    judge = {f"u{n}": {item: int(draw.random() < 0.4) for item in items} for n in range(60)}
    labels = {user: gains | {items[0]: 1} for user, gains in judge.items()}
    people = {user: labels[user] for user in [*labels][::3]}
    rows = [(user, item, draw.random()) for user in labels for item in items]
    frame = pl.DataFrame(rows, ["user", "item", "score"], orient="row")
    options = {"judge": labels, "judged": "random"}
    wanted = rm.evaluate(frame, people, "rr", **options)["rr"]
    found = rm.evaluate(in_spark(spark, frame), people, "rr", **options)["rr"]
    assert (found.mean, found.interval) == (wanted.mean, wanted.interval)
