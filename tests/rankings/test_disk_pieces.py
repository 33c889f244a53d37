"""Pieces of tables that are larger than the memory."""

from __future__ import annotations

import gc
import gzip
import random
import re
import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from test_disk import named, outcome, some

import rankmeter as rm
from rankmeter._choices import CHOICES
from rankmeter._engine.memory import Memory
from rankmeter._engine.side import NO_SIDE
from rankmeter._files import report_progress_to, with_progress
from rankmeter._large import parts
from rankmeter._large.chunks import Spool
from rankmeter._large.opened import Pieces, open_rankings
from rankmeter._large.parts import cut_into_parts
from rankmeter._reading import orders
from rankmeter._reading.read import read_rankings, read_truth
from rankmeter._reading.table import unify_all_id_types
from rankmeter.conventions import convention_names
from rankmeter.conventions._plan import resolve_plan
from rankmeter.errors import (
    ColumnError,
    DataError,
    InvalidValueError,
    NotEnoughMemoryError,
)

RULES = ("ties", "duplicates", "judgements", "scope", "pool", "exclude", "retrieved", "score_type")


SCORES = [-np.inf, -1.0, -0.0, 0.0, 0.5, 1.0, 1.0 + 1e-9, 2.0, np.inf]


METRICS = ["ndcg@3", "rr", "recall@2", "precision@5", "ap", "ndcg(relevant=2)@4"]


def data(chance):
    """Small random rankings and ground truth with ties, and repeated items in some of them."""
    rng = np.random.default_rng(chance.getrandbits(32))
    n, n_users, n_items = (int(rng.integers(1, most)) for most in (80, 8, 30))
    order = chance.choice(["score", "score", "rank", "list"])
    pairs = {"user": rng.integers(0, n_users, n), "item": rng.integers(0, n_items, n)}
    rankings = pl.DataFrame(pairs)
    if chance.random() < 0.6:
        rankings = rankings.unique(maintain_order=True)
    if order == "score":
        scores = rng.choice(SCORES, rankings.height)
        rankings = rankings.with_columns(score=pl.Series(scores))
    if order == "rank":
        rankings = rankings.with_columns(rank=pl.Series(rng.integers(1, 9, rankings.height)))
    m = int(rng.integers(1, 30))
    truth = pl.DataFrame(
        {
            "user": rng.integers(0, n_users + 1, m),
            "item": rng.integers(0, n_items, m),
            "gain": rng.integers(-1, 4, m).astype(float),
        }
    )
    if chance.random() < 0.7:
        truth = truth.unique(["user", "item"], maintain_order=True, keep="first")
    return (named(rankings), named(truth)) if chance.random() < 0.4 else (rankings, truth)


def rules(chance):
    found = {rule: chance.choice(CHOICES[rule].words) for rule in RULES if chance.random() < 0.6}
    if found.get("ties", "item") != "expected" and chance.random() < 0.3:
        found["depth"] = chance.randint(1, 5)
    return found


def assert_same(scores, wanted):
    assert scores.users.equals(wanted.users)
    for name in ("in_truth", "in_rankings", "has_truth"):
        np.testing.assert_array_equal(getattr(scores, name), getattr(wanted, name))
    for label in wanted.values.keys() - wanted.errors.keys():  # parts of others can have values
        np.testing.assert_array_equal(scores.values[label], wanted.values[label], label)
    assert scores.counts == wanted.counts
    said = [{k: (type(e), str(e)) for k, e in s.errors.items()} for s in (scores, wanted)]
    assert said[0] == said[1]
    for alignment, facts in wanted.facts.items():
        found = scores.facts[alignment]
        np.testing.assert_array_equal(found.n_relevant, facts.n_relevant)
        np.testing.assert_array_equal(found.n_ranked, facts.n_ranked)
        rest = [replace(one, n_relevant=0, n_ranked=0) for one in (found, facts)]
        assert vars(rest[0]) == vars(rest[1])


def opened(frame, n_rows):
    """Rankings opened in pieces of some rows."""
    frame = frame.to_arrow()
    batches = frame.to_batches(max_chunksize=n_rows)
    return open_rankings(pa.RecordBatchReader.from_batches(frame.schema, batches), rows=n_rows)


@example(47776)
@given(st.integers(0, 2**32))
def test_rankings_in_parts_have_the_scores_of_those_in_memory(seed):
    chance = random.Random(seed)
    rankings, truth = data(chance)
    rankings = rankings.sort("user", maintain_order=True) if chance.random() < 0.3 else rankings
    metrics = [*METRICS, "rr(ties=pessimistic)@9", "hr(score_type=float32,ties=text)@2", "coverage"]
    plan = resolve_plan(metrics, choices=rules(chance))
    side = replace(NO_SIDE, size=40)
    judged, tables = unify_all_id_types(read_truth(truth), {"": read_rankings(rankings)})
    whole = tables[""]
    try:
        wanted = Memory().open(judged, tables, side=side).run(plan)[""]
    except DataError as error:  # ranks without gaps, of which some are left out
        wanted = error
    for n_rows in (1, chance.randint(2, 9), 1000):
        table = opened(rankings, n_rows)
        table = replace(table, origin=replace(table.origin, source=whole.source))
        judged, tables = unify_all_id_types(read_truth(truth), {"": table})
        for size in (1, chance.randint(2, 40)):
            cut = cut_into_parts(tables, 2**24, rows=size)
            assert cut[""].counts == whole.counts
            if isinstance(wanted, DataError):
                with pytest.raises(DataError, match=r"more items are left out above rank"):
                    Memory().open(judged, cut, side=side).run(plan)
            else:
                assert_same(Memory().open(judged, cut, side=side).run(plan)[""], wanted)


def texts(folder, frame, *, words):
    """Rankings as text of every form that is read in chunks."""
    if words:
        frame = named(frame)
    csv, tsv = frame.write_csv(), frame.write_csv(separator="\t")
    quoted = frame.write_csv(quote_style="always").replace("\n", "\r\n")
    run = frame.select("user", pl.lit("Q0").alias("0"), "item", rank=1, score="score", tag=0)
    zstd = partial(pa.compress, codec="zstd", asbytes=True)
    lines = run.write_csv(include_header=False, separator=" ")
    files = {"a.csv": csv, "b.tsv": tsv, "c.csv": quoted, "d.run": lines}
    files |= {"e.jsonl": frame.write_ndjson(), "f.csv": "\n" + csv.replace("\n", "\n\n")}
    files |= {"g.txt": csv.removesuffix("\n")}
    for name, content in files.items():
        (folder / name).write_bytes(content.encode())
        yield folder / name
        for extension, packed in (("gz", gzip.compress), ("zst", zstd)):
            path = folder / f"{name}.{extension}"
            path.write_bytes(packed(content.encode()))
            yield path


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("words", [False, True])
@pytest.mark.parametrize("ordered", [False, True])
def test_text_is_read_in_chunks(words, ordered, tmp_path):
    rankings, truth = some()
    rankings = rankings.sort("user") if ordered else rankings
    judged = named(truth) if words else truth
    for path in texts(tmp_path, rankings, words=words):
        wanted = outcome(path, judged)
        assert not isinstance(wanted[0], type), wanted
        assert outcome(path, judged, engine="disk") == wanted, path


@pytest.mark.usefixtures("small_pieces")
def test_the_type_of_ids_in_text_depends_on_all_of_them(tmp_path):
    rankings, truth = some()
    text = rankings.with_columns(pl.col("user", "item").cast(pl.String))
    last = pl.int_range(pl.len()) >= rankings.height - 3
    for odd in ("007", " 7", "x y", "-1"):
        for role in ("user", "item"):
            column = pl.when(last).then(pl.lit(odd)).otherwise(role).alias(role)
            frame = text.with_columns(column).unique(["user", "item"], maintain_order=True)
            path = tmp_path / "r.csv"
            frame.write_csv(path)
            for judged in (truth, truth.with_columns(pl.col("user", "item").cast(pl.String))):
                wanted = outcome(path, judged)
                assert outcome(path, judged, engine="disk") == wanted, (odd, role)


@pytest.mark.usefixtures("small_pieces")
def test_bad_text_is_named_with_its_lines(tmp_path):
    rankings, truth = some()
    lines = rankings.write_csv().splitlines()
    path = tmp_path / "r.csv"
    for bad, said in (("1,2", "2 fields"), ("1,2,x", "'x'.*is not a number"), ('1,"2,3', "mark")):
        path.write_text("\n".join([*lines[:2000], bad, *lines[2000:]]))
        with pytest.raises(DataError, match=said):
            rm.evaluate(path, truth, engine="disk")
    path.write_text("user,item,score\n")
    assert outcome(path, truth, engine="disk")[0] is outcome(path, truth)[0]


@pytest.fixture
def small_pieces(monkeypatch):
    monkeypatch.setattr("rankmeter._engine.choose._LARGEST_PIECE", 500)
    monkeypatch.setattr("rankmeter._large.parts.cut_into_parts", partial(cut_into_parts, rows=700))


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("convention", convention_names())
def test_conventions_have_the_same_results(convention, tmp_path):
    rankings, truth = some()
    rankings.write_parquet(tmp_path / "r.parquet", row_group_size=300)
    for bugs in (False, True):
        options = {"like": convention, "bugs": bugs, "n_items": 900}
        wanted = outcome(rankings, truth, **options)
        assert outcome(tmp_path / "r.parquet", truth, engine="disk", **options) == wanted


@pytest.mark.usefixtures("small_pieces")
def test_a_bad_value_in_a_later_piece_is_named_with_its_rows(tmp_path):
    rankings, truth = some()
    bad = pl.when(pl.int_range(pl.len()) == 2_100).then(None).otherwise("score").alias("score")
    path = tmp_path / "r.parquet"
    rankings.with_columns(bad).write_parquet(path, row_group_size=250)
    with pytest.raises(InvalidValueError) as caught:
        rm.evaluate(path, truth, engine="disk")
    words = r"\(rows ([\d,]+) to [\d,]+\) .* first at row (\d+)"
    first, row = re.search(words, str(caught.value)).groups()
    assert int(first.replace(",", "")) + int(row) - 1 == 2_101
    for rule in ("drop", "worst"):
        wanted = outcome(path, truth, bad_scores=rule)
        assert outcome(path, truth, bad_scores=rule, engine="disk") == wanted


@pytest.mark.usefixtures("small_pieces")
def test_scores_against_ranks_are_counted(tmp_path):
    rankings, truth = some()
    rank = (-pl.col("score")).rank("ordinal").over("user").cast(pl.Int64)
    later = pl.when(pl.col("item") % 7 == 0).then(0.5).otherwise("score").alias("score")
    frame = rankings.with_columns(rank=rank).with_columns(later)
    frame.write_parquet(tmp_path / "r.parquet", row_group_size=300)
    frame.write_csv(tmp_path / "r.csv")
    for name in ("r.parquet", "r.csv"):
        wanted = outcome(tmp_path / name, truth)
        assert "scores_against_ranks" in wanted[0]
        assert outcome(tmp_path / name, truth, engine="disk") == wanted
    run = frame.select(
        "user", pl.lit("Q0").alias("Q0"), "item", "rank", "score", pl.lit("t").alias("t")
    )
    run.sort("item").write_csv(tmp_path / "r.run", separator=" ", include_header=False)
    wanted = outcome(tmp_path / "r.run", truth)
    assert "ranks_against_scores" in wanted[0]
    assert outcome(tmp_path / "r.run", truth, engine="disk") == wanted


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("mixed", [False, True])
def test_of_very_many_rows_some_users_are_compared_only_if_users_are_mixed(
    tmp_path, monkeypatch, mixed
):
    """What the note says is how many rows these are."""
    monkeypatch.setattr(orders, "_MANY", 1000)
    rankings, truth = some()
    rank = (-pl.col("score")).rank("ordinal").over("user").cast(pl.Int64)
    frame = rankings.with_columns(rank=rank).with_columns(score=pl.col("rank") * 1.0)
    frame = frame.sort("item" if mixed else "user", "rank")
    frame.write_parquet(tmp_path / "r.parquet", row_group_size=300)
    result = rm.evaluate(tmp_path / "r.parquet", truth, "ndcg@10", engine="disk")
    compared = result.counts.get("rows_compared_with_ranks")
    notes = [note for note in result.notes if note.startswith("scores against the ranks")]
    if mixed:
        assert 500 < compared < 2000
        assert f"(in {compared:,} of {frame.height:,} rows)" in notes[0]
    else:
        assert compared is None
        assert notes == [
            f"scores against the ranks, which decide: {frame.height - frame['user'].n_unique():,}"
        ]


@pytest.mark.usefixtures("small_pieces")
def test_comparisons_are_the_same(tmp_path):
    rankings, truth = some()
    other, _ = some(seed=2)
    options = {
        "segments": {user: "ab"[user % 2] for user in range(60)},
        "clusters": {user: user // 3 for user in range(60)},
        "n_resamples": 99,
    }
    systems = {"a": rankings, "b": other}
    wanted = rm.compare(systems, truth, ["ndcg@5", "rr"], **options).to_dict()
    other.write_parquet(tmp_path / "b.parquet", row_group_size=300)
    systems["b"] = tmp_path / "b.parquet"
    found = rm.compare(systems, truth, ["ndcg@5", "rr"], engine="disk", **options).to_dict()
    assert "parts of users" in found["plan"].pop("engine")
    assert found == wanted


@pytest.mark.parametrize("extension", ["csv", "parquet"])
@pytest.mark.parametrize(
    ("metric", "side"),
    [
        ("ndcg@3", {}),
        ("rr", {"scope": "appended"}),
        ("accuracy@3", {"n_items": 9}),
        ("list_length@3", {}),
        ("personalization@3", {}),
        ("novelty@3", {"train": {"007": ["x"]}}),
        ("coverage@3", {"catalogue": ["x", "y"]}),
        ("ild@3", {"items": {"x": ["a"], "y": ["b"]}}),
    ],
)
def test_rankings_whose_scores_are_all_dropped_are_those_in_memory(
    metric, side, extension, tmp_path
):
    path = tmp_path / f"rankings.{extension}"
    rows = pl.DataFrame({"user": ["007", "u"], "item": ["x", "y"], "score": [np.nan] * 2})
    write = {"csv": rows.write_csv, "parquet": rows.write_parquet}[extension]
    write(path)
    truth = {"007": ["x"], "u": ["z"]}
    options = {"bad_scores": "drop", "no_overlap": "allow", **side}
    found = {}
    for engine in ("memory", "disk"):
        result = rm.evaluate(path, truth, metric, engine=engine, **options)
        several = rm.compare({"a": path, "b": path}, truth, metric, engine=engine, **options)
        shown = str(result.show("007"))
        found[engine] = (
            repr(result[metric]), repr(several.estimates[metric, "b"]),
            result.values_by_user.rows(), shown,
        )  # fmt: skip
    assert found["disk"] == found["memory"]


def test_progress_has_speed_and_time_left():
    said = []
    with report_progress_to(said.append):
        assert [*with_progress(iter("abc"), "counting", 3, 900)] == ["a", "b", "c"]
    assert [line.partition(",")[0] for line in said] == [
        "counting: 33%", "counting: 67%", "counting: 100%",
    ]  # fmt: skip
    assert said[0].endswith(" left")
    assert said[-1].endswith("rows/s")  # and nothing of a time: other work follows


def test_nothing_is_done_before_it_was_used():
    said, part = [], iter(())
    with report_progress_to(said.append):
        part = with_progress(iter("ab"), "measuring", 2, 10)
        next(part)
        assert said == []
        next(part)
        assert [line.partition(",")[0] for line in said] == ["measuring: 50%"]


@pytest.mark.usefixtures("small_pieces")
def test_a_part_of_a_file_that_cannot_be_read_is_an_error(tmp_path):
    rankings, truth = some()
    path = tmp_path / "r.parquet"
    rankings.write_parquet(path, row_group_size=300, compression="zstd")
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 400] = bytes(400)
    path.write_bytes(content)
    with pytest.raises(DataError, match=re.escape(str(path))):
        rm.evaluate(path, truth, engine="disk")


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("is_sorted", [False, True])
def test_a_file_that_changes_while_it_is_read_is_refused(is_sorted, tmp_path, monkeypatch):
    """While it is cut, or while sorted rows are read again to be measured."""
    rankings, truth = some()
    rankings = rankings.sort("user") if is_sorted else rankings
    path = tmp_path / "r.parquet"
    rankings.write_parquet(path, row_group_size=300)
    name = "_read_rows" if is_sorted else "_divide"
    original, called = getattr(parts, name), []

    def change(*args):
        called.append(name)
        if len(called) == 3:
            # Not in place: a thread may be reading the file through a memory map.
            other = tmp_path / "other"
            rankings.with_columns(pl.col("score") + 1).write_parquet(other, row_group_size=300)
            other.replace(path)
        return original(*args)

    monkeypatch.setattr(parts, name, change)
    with pytest.raises(DataError, match="changed while"):
        rm.evaluate(path, truth, engine="disk")


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("is_sorted", [False, True])
def test_a_source_is_read_once_and_twice_only_if_nothing_is_written(
    is_sorted, tmp_path, monkeypatch
):
    rankings, truth = some()
    rankings = rankings.sort("user") if is_sorted else rankings
    rankings.write_parquet(tmp_path / "r.parquet", row_group_size=300)
    called, original = [], Pieces.read

    def read(self, n):
        called.append(n)
        return original(self, n)

    monkeypatch.setattr(Pieces, "read", read)
    spools, original_append = [], Spool.append

    def append(self, packed):
        spools.append(packed.height)
        return original_append(self, packed)

    monkeypatch.setattr(Spool, "append", append)
    metrics = ["ndcg@5", "ndcg(ties=expected)@5", "rr(pool=judged)", "rr(score_type=float32)"]
    rm.evaluate(tmp_path / "r.parquet", truth, metrics, engine="disk")
    n_pieces = len({*called})
    if is_sorted:
        assert sum(spools) < 60 * n_pieces  # the first rows of a piece, of one user
        assert len(called) <= 2 * n_pieces + 5  # and a look at the types, and at the first part
    else:
        assert sum(spools) == rankings.height
        assert len(called) <= n_pieces + 8  # and a look whether they are sorted


def test_users_with_many_rows_are_divided_again_and_one_above_the_memory_is_named():
    rng = np.random.default_rng(1)
    users = np.concatenate([rng.integers(0, 50, 500), np.repeat([60, 61, 62], 400)])
    frame = pl.DataFrame({"user": rng.permutation(users), "item": np.arange(users.size)})
    frame = frame.with_columns(score=pl.Series(rng.random(users.size)))
    truth = read_truth(frame.head(200).select("user", "item"))
    plan = resolve_plan(METRICS)
    judged, tables = unify_all_id_types(truth, {"": opened(frame, 100)})
    cut = cut_into_parts(tables, 250 * 401, rows=50)
    heights = cut[""].rows.cut.heights
    assert sorted(heights.tolist())[-3:] == [400, 400, 400]  # each alone
    wanted = Memory().open(judged, {"": read_rankings(frame)}).run(plan)[""]
    assert_same(Memory().open(judged, cut).run(plan)[""], wanted)
    with pytest.raises(NotEnoughMemoryError, match=r"user 6\d has 400 rows, .* such as a filler"):
        cut_into_parts(tables, 250 * 399, rows=50)


def test_sorted_users_that_fit_one_by_one_are_not_refused_together():
    """A part of pieces next to each other can be larger than the memory; its users are not."""
    users = np.repeat([1, 2, 3], [20, 390, 390])
    frame = pl.DataFrame({"user": users, "item": np.arange(800), "score": np.arange(800.0)})
    judged, tables = unify_all_id_types(read_truth({1: [3], 2: [400]}), {"": opened(frame, 100)})
    cut = cut_into_parts(tables, 250 * 400, rows=200)
    wanted = Memory().open(judged, {"": read_rankings(frame)}).run(resolve_plan(METRICS))[""]
    assert_same(Memory().open(judged, cut).run(resolve_plan(METRICS))[""], wanted)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="no list of open files")
@pytest.mark.usefixtures("small_pieces")
def test_temporary_files_end_with_what_needs_them(tmp_path):
    """Those of an evaluation with it, also where all items were asked for."""
    rankings, truth = some()
    rankings.write_parquet(tmp_path / "r.parquet", row_group_size=300)
    gc.collect()  # what other tests have left
    before = len([*Path("/proc/self/fd").iterdir()])
    for _ in range(3):
        result = rm.evaluate(
            tmp_path / "r.parquet",
            truth,
            ["rr", "coverage"],
            engine="disk",
            n_items=900,
            catalogue=900,
        )
        result.show(7, "rr")
    gc.collect()
    assert len([*Path("/proc/self/fd").iterdir()]) <= before


def test_a_disk_without_room_is_said_before_the_work(monkeypatch):
    usage = shutil.disk_usage("/")
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage._replace(free=1000))
    rankings, _ = some()
    with pytest.raises(DataError, match=r"into parts of users needs about .*1 kB are free"):
        cut_into_parts({"": opened(rankings, 100)}, 2**24, rows=50)


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_several_lists_of_a_user_are_refused_as_in_memory(form, tmp_path):
    path = tmp_path / f"runs.{form}"
    rows = {"user": [1, 1, 2], "item": [3, 4, 3], "score": [0.5, 0.25, 1.0]}
    frame = pl.DataFrame({**rows, "model": ["b", "a", "a"]})
    frame.write_csv(path) if form == "csv" else frame.write_parquet(path, row_group_size=1)
    said = []
    for engine in ("memory", "disk"):
        with pytest.raises(ColumnError, match="which the column 'model' tells apart") as caught:
            rm.evaluate(path, {1: [3]}, "rr", engine=engine)
        said.append(str(caught.value).replace("user '1'", "user 1"))
    assert said[0] == said[1]
