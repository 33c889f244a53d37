"""Rankings in pieces: the same values, counts and errors as in memory, for every rule and cut."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

import rankmeter as rm
from command_line import rankmeter
from rankmeter.errors import (
    NotEnoughMemoryError,
    RankmeterError,
    UsageError,
)


def named(frame):
    text = [pl.format("u{}", "user").alias("user"), pl.format("i{}", "item").alias("item")]
    return frame.with_columns(text)


# ---------------------------------------------------------------------------------------------
# The public functions


def some(n=3000, *, seed=1):
    """Rankings whose scores are often tied, and ground truth, with ids as files have them."""
    rng = np.random.default_rng(seed)
    rankings = pl.DataFrame(
        {
            "user": rng.integers(0, 60, n, dtype=np.int32),
            "item": rng.integers(0, 900, n, dtype=np.int32),
            "score": np.round(rng.random(n, dtype=np.float32), 1),
        }
    ).unique(["user", "item"], maintain_order=True)
    truth = rankings.sample(300, seed=seed).select("user", "item")
    gain = pl.Series("gain", rng.integers(0, 4, 300).astype(float))
    return rankings, truth.with_columns(gain)


def outcome(rankings, truth, metrics=("ndcg@5", "rr", "recall@9"), **options):
    """What an evaluation gives a reader: values, counts, warnings, or an error."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            result = rm.evaluate(rankings, truth, metrics, **options)
        except RankmeterError as error:
            return type(error), str(error)
    found = result.to_dict()
    found["plan"].pop("engine", None)
    return json.dumps(found), result.values_by_user.rows(), sorted(str(one.message) for one in said)


def forms(folder, frame):
    """Rankings in every form that is read in pieces."""
    whole = folder / "all.parquet"
    frame.write_parquet(whole, row_group_size=700)
    parts = folder / "parts"
    parts.mkdir()
    for n, part in enumerate(frame.iter_slices(1000)):
        part.write_parquet(parts / f"{n}.parquet")
    by_user = folder / "by_user"
    for user in range(60):
        (by_user / f"user={user}").mkdir(parents=True)
        mine = frame.filter(pl.col("user") == user).drop("user")
        mine.write_parquet(by_user / f"user={user}" / "0.parquet")
    yield from (whole, parts, parts / "*.parquet", by_user, by_user / "*" / "0.parquet")
    yield from (pl.scan_parquet(whole), frame.lazy().filter(pl.col("user") >= 0), frame)
    yield ds.dataset(parts)
    yield pa.RecordBatchReader.from_batches(
        frame.to_arrow().schema, frame.to_arrow().to_batches(max_chunksize=333)
    )


def test_every_form_has_the_result_of_the_frame(tmp_path):
    rankings, truth = some()
    wanted = outcome(rankings, truth)
    for form in forms(tmp_path, rankings):
        assert outcome(form, truth, engine="disk", memory="64MiB") == wanted, form


def test_globs_and_datasets_are_read_in_memory_too(tmp_path):
    rankings, truth = some()
    wanted = outcome(rankings, truth)
    for form in forms(tmp_path, rankings):
        assert outcome(form, truth) == wanted, form


def test_users_of_text_are_looked_up_in_large_pieces():
    rankings = named(
        pl.DataFrame({"user": np.arange(30_000) // 10, "item": np.arange(30_000) % 10})
    )
    rankings = rankings.with_columns(score=pl.lit(1.0))
    truth = rankings.filter(pl.col("item") == "i3").drop("score")
    assert outcome(rankings, truth, engine="disk") == outcome(rankings, truth)


LISTS = '{"user": 0, "items": [2]}\n{"user": 1, "items": [3]}'


@pytest.mark.parametrize("content", ['{"1": [2, 3]}', "[1, 2]\n[3, 4]", "[[1, 2], [3]]", LISTS])
def test_text_that_is_one_value_is_not_read_in_pieces(content, tmp_path, monkeypatch):
    path = tmp_path / "r.json"
    path.write_text(content + "\n" * 2**16)  # a small file is read whole without a question
    with pytest.raises(UsageError, match=r"cannot read .* in pieces"):
        rm.evaluate(path, {0: [2], 1: [2]}, engine="disk")
    monkeypatch.setattr("rankmeter._reading.memory.PER_BYTE", 2**40)
    with pytest.raises(
        NotEnoughMemoryError, match=r"more than memory=67\.1 MB, and cannot be read"
    ):
        rm.evaluate(path, {0: [2], 1: [2]}, memory="64MiB")
    plan = rm.evaluate(path, {0: [2], 1: [2]}, no_overlap="allow").plan
    assert plan.engine == f"memory: {path} cannot be read in pieces"


BAD = {
    "missing score": pl.col("score").replace(0.5, None),
    "score that is not a number": pl.col("score").replace(0.5, float("nan")),
    "missing user": pl.col("user").replace(7, None),
    "other items": pl.col("item") + 10_000,
    "other users": pl.col("user") + 10_000,
    "text": pl.col("user").cast(pl.String),
    "wide": pl.col("user").cast(pl.UInt64) + 2**63,
    "fractions": pl.col("item") / 2,
    "floats": pl.col("item").cast(pl.Float64),
}


@pytest.mark.parametrize("what", BAD)
@pytest.mark.parametrize("bad_scores", ["error", "drop", "worst"])
def test_bad_values_are_found_as_in_memory(what, bad_scores, tmp_path):
    rankings, truth = some()
    path = tmp_path / "r.parquet"
    rankings.with_columns(BAD[what]).write_parquet(path)
    options = {"bad_scores": bad_scores}
    assert outcome(path, truth, engine="disk", **options) == outcome(path, truth, **options)


def test_repeated_items_are_found(tmp_path):
    rankings, truth = some()
    judged = truth.with_columns(hit=pl.lit(value=True)).select("user", "item", "hit")
    marked = rankings.join(judged, on=["user", "item"], how="left", maintain_order="left")
    path = tmp_path / "r.parquet"
    for judged_ones in (True, False):
        again = marked.filter(pl.col("hit").is_not_null() == judged_ones).drop("hit").head(5)
        twice = pl.concat([rankings, again])
        twice.write_parquet(path)
        for rule in ("error", "best", "first", "each"):
            wanted = outcome(path, truth, duplicates=rule)
            assert outcome(path, truth, duplicates=rule, engine="disk") == wanted
        unchecked = outcome(path, truth, duplicates="unchecked", engine="disk")
        assert unchecked[0] is rm.errors.DuplicateError
    rankings.write_parquet(path)
    plan = rm.evaluate(path, truth, duplicates="unchecked", engine="disk").plan
    assert "duplicates  unchecked" in str(plan)


# ---------------------------------------------------------------------------------------------
# Which engine


def test_auto_reads_in_pieces_what_does_not_fit(tmp_path, monkeypatch):
    rankings, truth = some()
    path = tmp_path / "r.parquet"
    rankings.write_parquet(path)
    assert rm.evaluate(path, truth).plan.engine == ""
    for name in ("PER_ROW", "PER_ROW_OF_NUMBERS", "PER_ROW_WITHOUT_TEXT"):
        monkeypatch.setattr(f"rankmeter._large.opened.{name}", 2**20)
    for form in (path, str(tmp_path), pl.scan_parquet(path), ds.dataset(path)):
        plan = rm.evaluate(form, truth, memory="64MiB").plan
        assert plan.engine == "disk: rankings are measured in parts of users, 67.1 MB of memory"
        assert plan.engine in str(plan)
        assert plan.to_dict()["engine"] == plan.engine
    assert rm.evaluate(path, truth, engine="memory").plan.engine == ""
    assert rm.evaluate(rankings, truth, memory="64MiB").plan.engine == ""
    note = rm.evaluate(rankings, truth, engine="disk").plan.engine
    assert note == "memory: polars DataFrame is in memory already"


def test_rows_of_numbers_need_less_memory_and_so_fit_sooner(tmp_path, monkeypatch):
    rankings, truth = some()
    text = pl.col("user", "item").cast(pl.String)
    rows = rankings.with_row_index("place")
    rows = rows.select(user="place", item=pl.col("place") % 7, score="score")
    truth = rows.select("user", "item")
    monkeypatch.setattr("rankmeter._large.opened.PER_ROW_WITHOUT_TEXT", 2**40)
    found = []
    for frame in (rows, rows.with_columns(text), rows.with_columns(other=pl.lit(1))):
        frame.write_parquet(tmp_path / "r.parquet")
        cast = truth.cast(dict(frame.select("user", "item").schema))
        found.append(rm.evaluate(tmp_path / "r.parquet", cast, memory="64MiB").plan.engine)
    assert found[0] == ""
    assert all(engine.startswith("disk: ") for engine in found[1:])


@pytest.mark.parametrize(
    ("memory", "said"),
    [
        ("2 apples", "a number of bytes such as '2GiB' or '500MB', got '2 apples'"),
        (True, "a number of bytes"),
        (-1, "a number of bytes"),
        ("2i", "a number of bytes"),
        ("1kB", "at least 67.1 MB"),
    ],
)
def test_a_wrong_limit_is_refused(memory, said):
    with pytest.raises(UsageError, match=said):
        rm.evaluate({"u": ["a"]}, {"u": ["a"]}, memory=memory)
    with pytest.raises(UsageError, match="`memory` has no effect with engine='memory'"):
        rm.evaluate({"u": ["a"]}, {"u": ["a"]}, engine="memory", memory="1GiB")
    with pytest.raises(UsageError, match="engine"):
        rm.compare({"a": {"u": ["a"]}, "b": {"u": ["a"]}}, {"u": ["a"]}, engine="disc")


def test_the_command_line_has_both_options(tmp_path):
    rankings, truth = some()
    rankings.write_parquet(tmp_path / "r.parquet")
    truth.write_parquet(tmp_path / "t.parquet")
    files = [str(tmp_path / "r.parquet"), str(tmp_path / "t.parquet")]
    one = rankmeter("evaluate", *files, "--engine", "disk", "--memory", "100MB", "--json")
    assert "100 MB" in json.loads(one.out)["plan"]["engine"]
    systems = [f"a={files[0]}", f"b={files[0]}"]
    two = rankmeter("compare", files[1], *systems, "--engine", "disk", "--json")
    assert "disk" in json.loads(two.out)["plan"]["engine"]


# ---------------------------------------------------------------------------------------------
# What can go wrong


@pytest.mark.once
def test_two_runs_at_once_have_the_same_results(tmp_path):
    rankings, truth = some()
    rankings.write_csv(tmp_path / "r.csv")
    truth.write_csv(tmp_path / "t.csv")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    words = ["evaluate", "r.csv", "t.csv", "-m", "ndcg@5", "--engine", "disk"]
    command = [sys.executable, "-m", "rankmeter", *words, "--per-user", "u.parquet", "--json"]
    environment = {**os.environ, "TMPDIR": str(temporary)}
    runs = [
        subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    said = [run.communicate()[0] for run in runs]
    assert [run.returncode for run in runs] == [0, 0]
    assert said[0] == said[1]
    wanted = rm.evaluate(tmp_path / "r.csv", tmp_path / "t.csv", "ndcg@5")
    assert json.loads(said[0])["metrics"]["ndcg@5"]["mean"] == wanted["ndcg@5"].mean
    assert pl.read_parquet(tmp_path / "u.parquet").equals(wanted.per_user)
    assert [*temporary.iterdir()] == []
    assert sorted(one.name for one in tmp_path.iterdir()) == [
        "r.csv", "t.csv", "temporary", "u.parquet",
    ]  # fmt: skip
