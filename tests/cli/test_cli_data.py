"""``rankmeter split``, ``baseline``, ``describe``, ``demo``: from files to files."""

from __future__ import annotations

import inspect
import json
import os
import re
import sys
from functools import partial
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rankmeter as rm
from command_line import RATINGS, means, rankmeter, write_examples
from json_schema import kind_of
from rankmeter.baselines import BASELINES
from rankmeter.splits import SPLITS

pytestmark = pytest.mark.once

RENAMED = RATINGS.replace("user,item,rating,time", "who,what,stars,at")
COLUMNS = {"user": "who", "item": "what", "rating": "stars", "time": "at"}
TYPED_COLUMNS = ["--columns", "user=who,item=what,rating=stars,time=at"]


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    write_examples(tmp_path)
    (tmp_path / "renamed.csv").write_text(RENAMED)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def keywords_of(function):
    parameters = inspect.signature(function).parameters.values()
    return {one.name for one in parameters if one.kind is one.KEYWORD_ONLY}


# -- split ------------------------------------------------------------------------------------

# (method, keyword) → what is typed, what Python is given; then what both have in addition
SPLIT_OPTIONS = {
    ("leave-one-out", "by"): (["--by", "random"], "random"),
    ("leave-one-out", "ties"): (["--ties", "random"], "random", ["--seed", "1"], {"seed": 1}),
    ("leave-one-out", "seed"): (["--seed", "5"], 5, ["--by", "random"], {"by": "random"}),
    ("leave-one-out", "min_history"): (["--min-history", "3"], 3),
    ("leave-one-out", "cold_items"): (["--cold-items", "drop"], "drop"),
    ("leave-one-out", "columns"): (TYPED_COLUMNS, COLUMNS),
    ("leave-k-out", "k"): (["--k", "2"], 2),
    ("holdout", "ratio"): (["--ratio", "0.5"], 0.5),
    ("holdout", "per_user"): (["--no-per-user"], False),
    ("temporal", "at"): (["--at", "330"], "330"),
    ("temporal", "ratio"): (["--ratio", "0.5"], 0.5),
    ("temporal", "unit"): (["--unit", "ms"], "ms", ["--at", "1970-01-01T00:00:00.300"],
                           {"at": "1970-01-01T00:00:00.300"}),
    ("temporal", "targets"): (["--targets", "first"], "first"),
    ("temporal", "validation"): (["--validation", "0.4"], 0.4),
    ("temporal", "cold_users"): (["--cold-users", "drop"], "drop"),
    ("k-fold", "k"): (["--k", "2"], 2),
    ("k-fold", "over"): (["--over", "interactions"], "interactions", ["--k", "2"], {"k": 2}),
}  # fmt: skip


def test_a_third_part_has_a_file_in_the_folder(workspace):
    words = ["split", "ratings.csv", "--method", "temporal", "--validation", "0.4"]
    done = rankmeter(*words, "--output", "parts", "--json")
    (split,) = done.json["splits"]
    expected = rm.splits.temporal("ratings.csv", validation=0.4)
    written = pl.read_csv(split["validation"])
    assert written.height == expected.validation.height > 0
    assert split["counts"] == expected.counts
    refused = rankmeter(*words, "--train", "a.csv", "--test", "b.csv")
    assert refused.code == 2
    assert "three parts: name a folder with --output" in refused.err
    again = rankmeter("split", "ratings.csv", "--method", "temporal", "--output", "parts")
    assert "holds another split, of which parts/validation.csv" in again.err


def test_the_table_above_has_every_option_of_every_method():
    assert {name for _, name in SPLIT_OPTIONS} == set().union(*map(keywords_of, SPLITS.values()))


def split_into(folder, *args):
    """The (train, test) of each fold that the command line writes, or None if it refuses."""
    done = rankmeter("split", *args, "--output", folder, "--format", "parquet")
    if done.code:
        return None
    homes = sorted(folder.glob("fold-*")) or [folder]
    return [
        [pl.read_parquet(home / f"{part}.parquet") for part in ("train", "test")] for home in homes
    ]


@pytest.mark.parametrize("method, name", SPLIT_OPTIONS)
def test_an_option_of_split_has_the_effect_that_it_has_in_python(workspace, method, name):
    typed, value, *beside = SPLIT_OPTIONS[method, name]
    options, keywords = beside or ([], {})
    file = "renamed.csv" if name == "columns" else "ratings.csv"
    args = [file, "--method", method, *options]
    found = split_into(workspace / "with", *args, *typed)
    expected = SPLITS[method](file, **keywords, **{name: value})
    folds = expected if isinstance(expected, tuple) else (expected,)
    assert len(found) == len(folds)
    names = value if name == "columns" else {}
    for (train, test), fold in zip(found, folds, strict=True):
        assert_frame_equal(train, fold.train.rename(names))
        assert_frame_equal(test, fold.test.rename(names))
    without = split_into(workspace / "without", *args)
    assert without is None or [[part.rows() for part in fold] for fold in without] != [
        [part.rows() for part in fold] for fold in found
    ]


@pytest.mark.parametrize("method", SPLITS)
def test_split_writes_what_the_method_makes(workspace, method):
    found = split_into(workspace / "out", "ratings.csv", "--method", method)
    expected = SPLITS[method]("ratings.csv")
    folds = expected if isinstance(expected, tuple) else (expected,)
    assert [test.rows() for _, test in found] == [fold.test.rows() for fold in folds]


@pytest.mark.parametrize("extension", ["csv", "jsonl", "parquet"])
def test_the_parts_have_the_columns_of_the_input_under_their_names_in_their_order(
    workspace, extension
):
    log = pl.DataFrame(
        {
            "timestamp": [3, 1, 2, 5, 4],
            "shop": ["x", "y", "x", "y", "x"],
            "movieId": [7, 8, 9, 7, 8],
            "rating": [1.1, 2.0, 3.0, 4.0, 5.0],
            "userId": [1, 1, 1, 2, 2],
        }
    )
    write = {"csv": log.write_csv, "jsonl": log.write_ndjson, "parquet": log.write_parquet}
    write[extension](f"log.{extension}")
    args = ["split", f"log.{extension}", "--method", "leave-one-out", "--output", "out"]
    assert rankmeter(*args, "--format", "parquet").code == 0
    assert_frame_equal(pl.read_parquet("out/test.parquet"), log[[0, 3]])
    assert_frame_equal(pl.read_parquet("out/train.parquet"), log[[1, 2, 4]])


def test_columns_whose_names_are_roles_of_others_get_their_names_back(workspace):
    (workspace / "swapped.csv").write_text("item,user,date,time\n1,a,5,1\n1,b,4,2\n1,c,3,3\n")
    columns = "user=item,item=user,time=date,rating=time"
    args = ["split", "swapped.csv", "--method", "leave-one-out", "--columns", columns]
    assert rankmeter(*args, "--output", "out").code == 0
    assert (workspace / "out" / "test.csv").read_text() == "item,user,date,time\n1,a,5,1.0\n"


def test_an_input_without_column_names_is_written_under_those_of_the_roles(workspace):
    (workspace / "likes.json").write_text('{"ann": {"a": 3, "b": 4}, "bob": {"a": 5}}')
    args = ["split", "likes.json", "--method", "leave-one-out", "--by", "random"]
    assert rankmeter(*args, "--train", "a.csv", "--test", "b.csv").code == 0
    assert (workspace / "b.csv").read_text().startswith("user,item,rating\nann,")


@pytest.mark.skipif(not Path("/dev/fd").is_dir(), reason="pipes have no names here")
def test_a_named_pipe_is_read_once(workspace):
    reader, writer = os.pipe()
    os.write(writer, RATINGS.encode())
    os.close(writer)
    file = f"/dev/fd/{reader}"
    done = rankmeter("split", file, "--method", "leave-one-out", "--output", "out")
    os.close(reader)
    assert done.code == 0
    assert pl.read_csv("out/test.csv").columns == ["user", "item", "rating", "time"]


READERS = {
    "csv": pl.read_csv,
    "tsv": partial(pl.read_csv, separator="\t"),
    "jsonl": pl.read_ndjson,
    "parquet": pl.read_parquet,
    "csv.gz": pl.read_csv,
}


@pytest.mark.parametrize("extension", READERS)
def test_the_names_of_train_and_test_say_how_to_write_them(workspace, extension):
    train, test = f"a.{extension}", f"b.{extension}"
    done = rankmeter(
        "split", "ratings.csv", "--method", "leave-one-out", "--train", train, "--test", test
    )
    assert done.code == 0
    expected = rm.splits.leave_one_out("ratings.csv")
    assert done.out == f"{expected!r}\n"
    for name, part in ((train, expected.train), (test, expected.test)):
        assert_frame_equal(READERS[extension](name), part)
        assert rm.describe(name) == rm.describe(part)


def test_a_folder_is_written_like_the_input(workspace):
    pl.read_csv("ratings.csv").write_parquet("ratings.parquet")
    for file, extension in (("ratings.parquet", "parquet"), ("ratings.csv", "csv")):
        rankmeter("split", file, "--method", "leave-one-out", "--output", f"like-{extension}")
        written = sorted(path.name for path in (workspace / f"like-{extension}").iterdir())
        assert written == [f"test.{extension}", f"train.{extension}"]


def test_split_reads_standard_input_and_writes_csv(workspace):
    done = rankmeter("split", "-", "--method", "leave-one-out", "--output", "out", stdin=RATINGS)
    assert done.code == 0
    assert (workspace / "out" / "test.csv").exists()


TEN_FOLDS = ["--method", "k-fold", "--over", "interactions", "--k", "10"]


def test_ten_folds_are_in_order_by_name(workspace):
    done = rankmeter("split", "ratings.csv", *TEN_FOLDS, "--output", "out", "--json")
    homes = sorted(path.name for path in (workspace / "out").iterdir())
    assert homes == [f"fold-{i:02}" for i in range(1, 11)]
    assert [fold["test"].split("/")[1] for fold in done.json["splits"]] == homes


FOLDS = ["--method", "k-fold", "--k", "2"]
LAST = ["--method", "leave-one-out"]
BESIDE = {
    "folds next to parts": (LAST, FOLDS, "out/test.csv and 1 more"),
    "parts next to folds": (FOLDS, LAST, "out/fold-1/test.csv and 3 more"),
    "fewer folds": ([*FOLDS[:3], "3"], FOLDS, "out/fold-3/test.csv and 1 more"),
    "another format": ([*LAST, "--format", "tsv"], LAST, "out/test.tsv and 1 more"),
}


@pytest.mark.parametrize("before, after, stays", BESIDE.values(), ids=BESIDE)
def test_no_split_is_written_beside_another(workspace, before, after, stays):
    assert rankmeter("split", "ratings.csv", *before, "-o", "out").code == 0
    old = sorted((workspace / "out").rglob("*"))
    done = rankmeter("split", "ratings.csv", *after, "-o", "out")
    assert done.code == 2
    assert f"out holds another split, of which {stays} would remain" in done.err
    assert sorted((workspace / "out").rglob("*")) == old


@pytest.mark.parametrize("method", [FOLDS, LAST])
def test_a_split_may_be_written_again_beside_what_is_no_split(workspace, method):
    (workspace / "out").mkdir()
    (workspace / "out" / "train.py").touch()
    for _ in range(2):
        assert rankmeter("split", "ratings.csv", *method, "-o", "out").code == 0


def test_a_folder_of_parts_does_not_take_the_input(workspace):
    done = rankmeter("split", "train.csv", *LAST, "-o", ".")
    assert done.code == 2
    assert "train.csv is an input already" in done.err
    assert (workspace / "train.csv").read_text() == RATINGS


def test_split_as_json_tells_the_method_the_files_and_the_counts(workspace):
    args = ["--method", "holdout", "--train", "a.csv", "--test", "b.csv", "--json"]
    done = rankmeter("split", "ratings.csv", *args)
    expected = rm.splits.holdout("ratings.csv")
    assert done.json == {
        "schema": 1,
        "splits": [
            {
                "method": expected.method,
                "train": "a.csv",
                "test": "b.csv",
                "counts": expected.counts,
            }
        ],
    }


# -- baseline ---------------------------------------------------------------------------------

BASELINE_OPTIONS = {
    ("popularity", "k"): (["--k", "1"], 1),
    ("popularity", "exclude_seen"): (["--no-exclude-seen"], False),
    ("popularity", "columns"): (TYPED_COLUMNS, COLUMNS),
    ("popularity", "users"): (["--users", "few.csv"], ["ann", "new"]),
    ("recent-popularity", "days"): (["--days", "0.002"], 0.002),
    ("recent-popularity", "fraction"): (["--fraction", "0.9"], 0.9),
    ("recent-popularity", "unit"): (["--unit", "ms"], "ms", ["--days", "0.002"], {"days": 0.002}),
    ("decayed-popularity", "half_life"): (["--half-life", "0.5"], 0.5),
    ("damped-mean-rating", "damping"): (["--damping", "1"], 1.0),
    ("random", "seed"): (["--seed", "5"], 5),
    ("item-knn", "neighbours"): (["--neighbours", "1"], 1),
    ("svd", "factors"): (["--factors", "1"], 1),
}


def test_the_table_of_baselines_has_every_option_of_every_method():
    every = set().union(*map(keywords_of, BASELINES.values()))
    assert {name for _, name in BASELINE_OPTIONS} == every


def recommend(*args):
    done = rankmeter("baseline", *args, "--output", "out.parquet")
    return None if done.code else pl.read_parquet("out.parquet")


@pytest.mark.parametrize("method, name", BASELINE_OPTIONS)
def test_an_option_of_baseline_has_the_effect_that_it_has_in_python(workspace, method, name):
    (workspace / "few.csv").write_text("user,item\nann,a\nann,b\nnew,a\n")
    typed, value, *beside = BASELINE_OPTIONS[method, name]
    options, keywords = beside or ([], {})
    file = "renamed.csv" if name == "columns" else "train.csv"
    args = [file, "--method", method, *options]
    found = recommend(*args, *typed)
    assert_frame_equal(found, BASELINES[method](file, **keywords, **{name: value}))
    without = recommend(*args)
    assert without is None or not without.equals(found)


@pytest.mark.parametrize("method", BASELINES)
@pytest.mark.parametrize("extension", ["csv", "tsv", "jsonl", "parquet", "run", "csv.gz", "run.gz"])
def test_rankings_can_be_evaluated_whatever_their_form(workspace, method, extension):
    path = f"recs.{extension}"
    done = rankmeter("baseline", "train.csv", "--method", method, "--k", "3", "--output", path)
    assert (done.code, done.out) == (0, "")
    expected = rm.evaluate(BASELINES[method]("train.csv", k=3), "truth.csv", "ndcg@3")
    assert means("evaluate", path, "truth.csv", "-m", "ndcg@3") == {
        "ndcg@3": pytest.approx(expected["ndcg@3"].mean, rel=1e-15)
    }


def test_a_run_has_the_six_fields_of_trec(workspace):
    rankmeter("baseline", "train.csv", "--method", "popularity", "--k", "1", "-o", "out.run")
    first, *_ = (workspace / "out.run").read_text().splitlines()
    assert first == "ann Q0 e 1 2.0 rankmeter"


def test_a_baseline_may_go_from_pipe_to_pipe(workspace):
    done = rankmeter("baseline", "-", *["--method", "popularity", "-o", "-"], stdin=RATINGS)
    assert done.out == rm.baselines.popularity("ratings.csv").write_csv()


def test_the_users_of_a_text_are_those_of_train_even_if_they_look_like_numbers(workspace):
    (workspace / "mixed.csv").write_text("user,item\n1,a\nx,b\n")
    (workspace / "numbers.csv").write_text("user,item\n1,a\n")
    found = recommend("mixed.csv", "--method", "popularity", "--users", "numbers.csv")
    assert found.rows() == [("1", "b", 1.0, 1)]


def test_columns_hold_for_the_file_of_users_too(workspace):
    args = ["renamed.csv", "--method", "popularity", "--users", "renamed.csv", *TYPED_COLUMNS]
    assert recommend(*args).equals(rm.baselines.popularity("ratings.csv"))


USERS = pl.DataFrame({"userId": ["ann", "new"]})
USER_FILES = {
    "users.csv": USERS.write_csv,
    "users.tsv": lambda path: USERS.with_columns(n=1).write_csv(path, separator="\t"),
    "users.jsonl": USERS.write_ndjson,
    "users.parquet": USERS.write_parquet,
    "users.json": lambda path: Path(path).write_text('{"ann": ["a"], "new": ["b"]}'),
    "users.txt": lambda path: Path(path).write_text("ann\n\nnew\n"),
    "titled.txt": lambda path: Path(path).write_text("user\nann\nnew"),
    "qrels.txt": lambda path: Path(path).write_text("ann 0 a 1\nnew 0 b 1\n"),
}


@pytest.mark.parametrize("file", USER_FILES)
def test_a_file_of_users_needs_nothing_but_users(workspace, file):
    USER_FILES[file](file)
    found = recommend("train.csv", "--method", "popularity", "--users", file)
    assert_frame_equal(found, rm.baselines.popularity("train.csv", users=["ann", "new"]))


def test_users_may_come_one_per_line_from_standard_input(workspace):
    (workspace / "numbers.csv").write_text("user,item\n1,5\n2,6\n")
    args = ["numbers.csv", "--method", "popularity", "--users", "-", "--output", "-"]
    assert rankmeter("baseline", *args, stdin="2\n").out == "user,item,score,rank\n2,5,1.0,1\n"


@pytest.mark.parametrize("names, found", [("name,age", "no column"), ("user,uid", "2 columns")])
def test_a_file_without_one_column_for_the_user_is_refused(workspace, names, found):
    (workspace / "people.csv").write_text(f"{names}\nann,3\n")
    args = ["train.csv", "--method", "popularity", "--output", "out.csv"]
    done = rankmeter("baseline", *args, "--users", "people.csv")
    assert done.code == 3
    assert f"people.csv has {found}" in done.err
    assert "--columns user=" in done.err


LISTS = {  # everyone has seen 3 of the 3 items, but eve 1
    "full lists": (["--k", "2", "--users", "eve.txt"], 2, None),
    "short ones": (["--k", "3", "--users", "eve.txt"], 2, "of 1 user 1 fewer than 3: "),
    "none": (["--k", "2"], 2, "of 3 users 2 get no items: "),
    "both, and the k of the method": ([], 2, "of 3 users 2 get no items and 1 fewer than 100: "),
    "nothing at all": (["--users", "ann.txt"], 0, "of 1 user 1 gets no items: "),
    "the seen ones, too": (["--k", "3", "--no-exclude-seen"], 9, None),
}


@pytest.mark.parametrize("options, height, warned", LISTS.values(), ids=LISTS)
def test_users_with_no_or_shorter_lists_are_counted_on_stderr(workspace, options, height, warned):
    rows = ["user,item", *(f"{user},{item}" for user in ("ann", "bob") for item in "abc"), "eve,a"]
    (workspace / "seen.csv").write_text("\n".join(rows))
    for user in ("ann", "eve"):
        (workspace / f"{user}.txt").write_text(user)
    done = rankmeter("baseline", "seen.csv", "--method", "popularity", *options, "-o", "out.csv")
    assert done.code == 0
    assert pl.read_csv("out.csv").height == height
    assert done.err.count("\n") == (warned is not None)
    assert done.err.startswith(f"warning: {warned}" if warned else "")


def test_a_column_beside_the_named_one_is_not_taken_for_it(workspace):
    text = RATINGS.replace("rating,time", "time,date")
    (workspace / "dates.csv").write_text(text)
    args = ["dates.csv", "--method", "decayed-popularity", "--columns", "time=date,rating=time"]
    assert recommend(*args).equals(rm.baselines.decayed_popularity("ratings.csv"))


# -- describe ---------------------------------------------------------------------------------


def test_describe_tells_what_the_function_tells(workspace):
    expected = rm.describe("ratings.csv")
    assert rankmeter("describe", "ratings.csv").out == f"{expected!r}\n"
    assert rankmeter("describe", "-", stdin=RATINGS).out == f"{expected!r}\n"
    found = rankmeter("describe", "ratings.csv", "--json").json
    assert found == json.loads(json.dumps({"schema": 1, **expected.to_dict()}))


def test_describe_takes_the_columns_that_it_is_told(workspace):
    assert rankmeter("describe", "renamed.csv").code == 3
    done = rankmeter("describe", "renamed.csv", *TYPED_COLUMNS)
    assert done.out == f"{rm.describe('ratings.csv')!r}\n"


# -- demo -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo") / "out"
    return folder, rankmeter("demo", "--output", folder)


def test_demo_writes_its_data_rankings_and_results(demo):
    folder, done = demo
    assert (done.code, done.err) == (0, "")
    names = {f"{name}.csv" for name in ("train", "test", *BASELINES)}
    names |= {"results.json", "report.html"}
    assert {path.name for path in folder.iterdir()} == names
    split = rm.splits.holdout(rm.datasets.movielens(), ratio=0.2)
    assert_frame_equal(pl.read_csv(folder / "test.csv"), split.test)


def test_demo_tells_what_evaluate_tells(demo):
    folder, done = demo
    written = json.loads((folder / "results.json").read_text())
    assert kind_of(written) == "demo"
    results = written["baselines"]
    assert results.keys() == BASELINES.keys()
    files = [str(folder / "popularity.csv"), str(folder / "test.csv")]
    asked = ["-m", "ndcg@1,5,10,20,50,100", "--relevant", "4", "--json"]
    again = rankmeter("evaluate", *files, *asked).json["metrics"]
    for metric, found in again.items():
        assert results["popularity"]["metrics"][metric]["mean"] == pytest.approx(found["mean"])
    best = again["ndcg@10"]
    cell = f"{best['mean']:.4f} [{best['low']:.4f}, {best['high']:.4f}]"
    row = " +".join(f"{again[f'ndcg@{k}']['mean']:.4f}" for k in (1, 5, 10, 20, 50, 100))
    assert f"popularity          {cell}" in done.out
    assert any(
        pl.Series([line]).str.contains(f"^popularity +{row}$")[0] for line in done.out.splitlines()
    )


def test_demo_shows_every_baseline_once_in_every_table(demo):
    _, done = demo
    lines = done.out[done.out.index("Who wins: means with their 95 % intervals") :].splitlines()
    for name in BASELINES:
        tables = 3 if name in ("popularity", "random", "item-knn", "svd") else 2
        assert sum(bool(re.match(rf"{name} +\d", line)) for line in lines) == tables
    # Everything except file names fits into a terminal of the usual width.
    assert max(map(len, lines[:-2])) <= 100


def test_demo_shows_for_whom_at_what_price_and_under_which_convention(demo):
    _, done = demo
    for title in (
        "By activity of the users",
        "The trade-off:",
        "four conventions",
        "A typical user",
    ):
        assert title in done.out
    assert re.search(r"^svd +0\.2\d+ +0\.06\d+ ", done.out, re.MULTILINE)
    assert re.search(r"^1 +American History X \(1998\) +hit$", done.out, re.MULTILINE)


def test_demo_has_cold_users_who_get_popular_items_from_models_that_learn(demo):
    folder, done = demo
    train, test = (pl.read_csv(folder / f"{name}.csv") for name in ("train", "test"))
    cold = test.join(train, on="user", how="anti")["user"].unique()
    assert len(cold) == 61
    others = rm.datasets.movielens().height - train.height - test.height
    told = " ".join(done.out.split())
    assert f"the other {others:,} ratings of 61 users are not in train" in told
    n_cold = test["user"].is_in(cold.implode()).sum()
    assert f"which leaves {train.height:,}, and test has {n_cold:,} of their" in told
    lists = {
        name: pl.read_csv(folder / f"{name}.csv").filter(pl.col("user").is_in(cold.implode()))
        for name in ("popularity", "svd", "item-knn")
    }
    assert lists["popularity"].height == 6_100
    assert_frame_equal(lists["svd"], lists["popularity"])
    assert_frame_equal(lists["item-knn"], lists["popularity"])
    row = re.search(r"^cold: 0 interactions +(.*)$", done.out, re.MULTILINE)[1].split()
    n, popularity, _, knn, svd = row
    assert popularity == knn == svd != "0.0000"
    assert 0 < int(n) <= 61  # those who like a held-out film


def test_demo_makes_ratings_up_where_none_are_installed(workspace, monkeypatch):
    monkeypatch.setattr("rankmeter.datasets._CHECKOUT", workspace)
    done = rankmeter("demo")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("The MovieLens ratings are not installed: these ratings are made up")


def test_demo_ends_with_a_comparison_and_its_report(demo):
    folder, done = demo
    winner = "item-knn beats popularity on ndcg@10 by 54.4%. item-knn reaches 0.2203"
    told = " ".join(done.out.split())
    assert winner in told
    assert done.out.endswith(f"the report is {folder / 'report.html'}: open it in a browser\n")
    assert "Pulp Fiction (1994)" in (folder / "report.html").read_text("utf-8")
    told = rankmeter("report", "--read", folder / "report.html", "--json").json
    assert kind_of(told) == "comparison"
    assert told["systems"] == list(BASELINES)
    assert told["baseline"] == "popularity"


def test_demo_goes_on_without_the_packages_of_the_report(workspace, monkeypatch):
    monkeypatch.setitem(sys.modules, "altair", None)
    done = rankmeter("demo", "--ratings", "ratings.csv")
    assert (done.code, done.err) == (0, "")
    last = done.out.splitlines()[-1]
    assert last == "there is no report: the report needs altair: pip install 'rankmeter[report]'"
    assert not (workspace / "demo" / "report.html").exists()


def test_demo_takes_other_ratings_and_its_folder_has_a_name(workspace):
    done = rankmeter("demo", "--ratings", "ratings.csv")
    assert (done.code, done.err) == (0, "")
    assert "15 interactions of 5 users" in done.out
    assert (workspace / "demo" / "results.json").exists()


def test_demo_leaves_out_the_baselines_that_need_ratings_if_there_are_none(workspace):
    pl.read_csv("ratings.csv").drop("rating").write_csv("clicks.csv")
    done = rankmeter("demo", "--ratings", "clicks.csv")
    assert done.code == 0
    assert done.err.count("warning: ") == 2
    assert "warning: mean-rating is left out: mean_rating needs a rating column" in done.err
    results = json.loads((workspace / "demo" / "results.json").read_text())["baselines"]
    assert results.keys() == BASELINES.keys() - {"mean-rating", "damped-mean-rating"}


def test_demo_does_not_write_over_its_ratings(workspace):
    (workspace / "demo").mkdir()
    (workspace / "demo" / "train.csv").write_text(RATINGS)
    done = rankmeter("demo", "--ratings", "demo/train.csv")
    assert done.code == 2
    assert (workspace / "demo" / "train.csv").read_text() == RATINGS
