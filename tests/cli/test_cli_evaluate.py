"""``rankmeter evaluate`` gives the results of `rankmeter.evaluate` in every format."""

from __future__ import annotations

import gzip
import inspect
import json
import re
import shutil

import polars as pl
import pytest

import rankmeter as rm
from command_line import RECS, TRUTH, means, rankmeter, write_examples
from rankmeter.conventions import load_convention

FILES = {
    "renamed.csv": RECS.replace("user,item,score", "member,sku,points"),
    "renamed_truth.csv": TRUTH.replace("user,item,gain", "member,sku,stars"),
    "twice.csv": RECS + "ann,x,1\n",
    "judged_twice.csv": TRUTH + "ann,a,3\n",
    "chunks.csv": "user,item,score\nann,x#1,3\nann,x#2,2\nann,a#1,1\nbob,a,1\n",
    "own.csv": RECS + "ann,ann,99\n",
    "nan.csv": RECS.replace("bob,y,8", "bob,y,"),
    "strangers.csv": "user,item,score\nzed,q,1\n",
    "close.csv": "user,item,score\nann,0x,1.0\nann,a,1.00000000001\n",
    "negative.csv": "user,item,score\nann,x,1\nann,a,-1\n",
    "empty_list.jsonl": '{"user": "ann", "items": ["a"]}\n{"user": "bob", "items": []}\n',
    "empty_truth.jsonl": ('{"user": "ann", "items": ["a"]}\n{"user": "bob", "items": []}\n'),
    "clusters.csv": "user,cluster\nann,x\nbob,x\n",
    "judge.csv": TRUTH + "pat,a,1\nsam,b,1\n",
    "items.csv": "item,genres\na,war|noir\nb,war\nx,noir\ny,war\n",
    "propensity.csv": "item,p\na,0.5\nb,0.25\nx,1\n",
    "records.jsonl": '{"predict_list": ["x", "a"], "ground_truth": {"a": 1.0}}\n',
}


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    write_examples(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


# -- the options of evaluate() ----------------------------------------------------------------

BOTH = ("recs.csv", "truth.csv")
# keyword → files, metrics, what is typed, and the value that Python would be given
OPTIONS = {
    "like": (BOTH, "ndcg@3", ["--like", "lenskit"], "lenskit"),
    "bugs": (BOTH, "recall@2", ["--bugs"], True),
    "columns": (
        ("renamed.csv", "renamed_truth.csv"),
        "ndcg@3",
        ["--columns", "user=member,item=sku", "--columns", "score=points,gain=stars"],
        {"user": "member", "item": "sku", "score": "points", "gain": "stars"},
    ),
    "relevant": (BOTH, "recall@3", ["--relevant", ">=3"], ">=3"),
    "gains": (BOTH, "ndcg@3", ["--gains", "positive"], "positive"),
    "ties": (BOTH, "ndcg@3", ["--ties", "pessimistic"], "pessimistic"),
    "duplicates": (("twice.csv", "truth.csv"), "ndcg@3", ["--duplicates", "best"], "best"),
    "judgements": (("recs.csv", "judged_twice.csv"), "ndcg@3", ["--judgements", "max"], "max"),
    "scope": (BOTH, "recall@3", ["--scope", "ranked"], "ranked"),
    "pool": (BOTH, "rr", ["--pool", "judged"], "judged"),
    "exclude": (("own.csv", "truth.csv"), "rr", ["--exclude", "self"], "self"),
    "history": (BOTH, "rr", ["--history", "new"], "new"),
    "retrieved": (("negative.csv", "truth.csv"), "rr", ["--retrieved", "positive"], "positive"),
    "score_type": (("close.csv", "truth.csv"), "rr", ["--score-type", "float32"], "float32"),
    "depth": (BOTH, "recall", ["--depth", "2"], 2),
    "bad_scores": (("nan.csv", "truth.csv"), "rr", ["--bad-scores", "drop"], "drop"),
    "missing": (BOTH, "rr", ["--missing", "skip"], "skip"),
    "extra": (BOTH, "rr", ["--extra", "zero"], "zero"),
    "undefined": (BOTH, "rr", ["--undefined", "one"], "one"),
    "users": (BOTH, "rr", ["--users", "hit"], "hit"),
    "empty": (("empty_list.jsonl", "truth.csv"), "rr", ["--empty", "skip"], "skip"),
    "empty_truth": (
        ("recs.csv", "empty_truth.jsonl"),
        "rr",
        ["--empty-truth", "skip", "--undefined", "zero"],
        "skip",
    ),
    "aggregate": (BOTH, "rr", ["--aggregate", "sum"], "sum"),
    "no_overlap": (("strangers.csv", "truth.csv"), "rr", ["--no-overlap", "allow"], "allow"),
    "n_items": (BOTH, "accuracy@2", ["--n-items", "9"], 9),
    "unjudged": (BOTH, "rr", ["--unjudged", "bounds"], "bounds"),
    "confidence": (BOTH, "rr", ["--confidence", "0.5"], 0.5),
    "interval": (BOTH, "rr", ["--interval", "bca"], "bca"),
    "resamples": (BOTH, "rr", ["--resamples", "50"], 50),
    "seed": (BOTH, "rr", ["--seed", "3"], 3),
    "collapse": (("chunks.csv", "truth.csv"), "rr", ["--collapse", "before:#"], "before:#"),
    "clusters": (BOTH, "rr", ["--clusters", "clusters.csv"], "clusters.csv"),
    "train": (BOTH, "novelty@2", ["--train", "train.csv"], "train.csv"),
    "items": (BOTH, "ild@3", ["--items", "items.csv"], "items.csv"),
    "catalogue": (BOTH, "coverage@2", ["--catalogue", "9"], "9"),
    "baseline_lists": (BOTH, "unexpectedness@2", ["--baseline-lists", "recs.csv"], "recs.csv"),
    "judge": (BOTH, "hr@1", ["--judge", "judge.csv"], "judge.csv"),
    "judged": (BOTH, "hr@1", ["--judged", "random"], "random"),
    "propensity": (BOTH, "snips@2", ["--propensity", "propensity.csv"], "propensity.csv"),
}
# Other options that two options need to show their effect, on both sides of the comparison.
BESIDE = {
    "bugs": (["--like", "lenskit"], {"like": "lenskit"}),
    "history": (["--train", "train.csv"], {"train": "train.csv"}),
    "gains": (["--relevant", ">=3"], {"relevant": ">=3"}),
    "empty_truth": (["--undefined", "zero"], {"undefined": "zero"}),
    "judge": (
        ["--judged", "random", "--undefined", "zero"],
        {"judged": "random", "undefined": "zero"},
    ),
    "judged": (
        ["--judge", "judge.csv", "--undefined", "zero"],
        {"judge": "judge.csv", "undefined": "zero"},
    ),
    "resamples": (["--interval", "bca"], {"interval": "bca"}),
    "seed": (
        ["--interval", "bca", "--resamples", "50"],
        {"interval": "bca", "resamples": 50},
    ),
}


@pytest.fixture
def buggy_lenskit(monkeypatch):
    """A convention with a bug, since real ones may have none."""
    data = load_convention("lenskit").__dict__
    bug = {"why": "none", "metrics": ["recall"], "choices": {"denominator": "relevant"}}
    convention = type(load_convention("lenskit"))(**{**data, "bugs": (bug,)})
    monkeypatch.setattr("rankmeter.conventions._plan.load_convention", lambda _: convention)


def test_every_option_of_the_function_is_in_the_table_above():
    parameters = inspect.signature(rm.evaluate).parameters.values()
    expected = {one.name for one in parameters if one.kind is one.KEYWORD_ONLY}
    expected -= {"engine", "memory"}  # which change no number
    assert expected == OPTIONS.keys(), "give each option a row: files and a metric that it changes"


@pytest.mark.parametrize("name", OPTIONS)
def test_an_option_has_the_effect_that_it_has_in_python(name, workspace, request):
    if name == "bugs":
        request.getfixturevalue("buggy_lenskit")
    (recs, truth), metric, typed, value = OPTIONS[name]
    beside, keywords = BESIDE.get(name, ([], {}))
    files = [recs, truth, "-m", metric, "--json"]
    with_it = rankmeter("evaluate", *files, *beside, *typed)
    expected = rm.evaluate(recs, truth, metric, **keywords, **{name: value})
    assert with_it.json == json.loads(expected.to_json())
    without = rankmeter("evaluate", *files, *beside)
    changed = without.code != 0 or without.json["metrics"] != with_it.json["metrics"]
    assert changed, without.out


def test_no_option_is_given_to_python_that_was_not_typed(workspace, monkeypatch):
    given = {}

    def spy(rankings, truth, **keywords):
        given.update(keywords)
        return rm.evaluate(rankings, truth, **keywords)

    monkeypatch.setattr("rankmeter._cli.evaluate.evaluate", spy)
    assert rankmeter("evaluate", *BOTH).code == 0
    assert given == {}
    assert rankmeter("evaluate", *BOTH, "-m", "rr", "-m", "map@1,2", "--depth", "3").code == 0
    assert given == {"metrics": ("rr", "map@1,2"), "depth": 3}


def test_columns_of_one_side_do_not_concern_the_other(workspace):
    expected = means("evaluate", *BOTH)
    (workspace / "half.csv").write_text(RECS.replace("user,item", "member,sku"))
    typed = ["--columns", "rankings.user=member,rankings.item=sku,truth.gain=gain"]
    assert means("evaluate", "half.csv", "truth.csv", *typed) == expected
    mixed = ["--columns", "user=member,item=sku,rankings.score=points,truth.gain=stars"]
    assert means("evaluate", "renamed.csv", "renamed_truth.csv", *mixed) == expected


def test_a_column_may_have_a_comma_in_its_name(workspace):
    (workspace / "comma.csv").write_text(RECS.replace("item,", '"item, or so",'))
    typed = ["--columns", "rankings.item=item, or so,rankings.user=user"]
    assert means("evaluate", "comma.csv", "truth.csv", *typed) == means("evaluate", *BOTH)


def test_one_file_of_records_needs_no_truth(workspace):
    assert means("evaluate", "records.jsonl", "-m", "rr") == {"rr": 0.5}


# -- standard input ---------------------------------------------------------------------------


def test_either_side_may_come_from_standard_input(workspace):
    expected = means("evaluate", *BOTH)
    assert means("evaluate", "-", "truth.csv", stdin=RECS) == expected
    assert means("evaluate", "recs.csv", "-", stdin=TRUTH) == expected


@pytest.mark.parametrize("form", ["csv", "tsv", "run", "jsonl", "json", "gz", "parquet"])
def test_standard_input_may_have_any_form(workspace, form):
    frame = pl.read_csv(workspace / "recs.csv")
    lines = [json.dumps(row) for row in frame.to_dicts()]
    if form == "parquet":
        frame.write_parquet("recs.parquet")
        stdin = (workspace / "recs.parquet").read_bytes()
    else:
        stdin = {
            "csv": RECS,
            "tsv": RECS.replace(",", "\t"),
            "run": "".join(f"{u} Q0 {i} 1 {s} tag\n" for u, i, s in frame.rows()),
            "jsonl": "\n".join(lines),
            "json": f"[{','.join(lines)}]",
            "gz": gzip.compress(RECS.encode()),
        }[form]
    assert means("evaluate", "-", "truth.csv", "-m", "ndcg@1", stdin=stdin) == means(
        "evaluate", *BOTH, "-m", "ndcg@1"
    )


def test_records_may_come_from_standard_input(workspace):
    assert means("evaluate", "-", "-m", "rr", stdin=FILES["records.jsonl"]) == {"rr": 0.5}


# -- what comes out ---------------------------------------------------------------------------


def test_the_table_is_that_of_the_result(workspace):
    done = rankmeter("evaluate", *BOTH)
    assert done.out == rm.evaluate(*BOTH)._answer().to_text("--details") + "\n"
    assert done.err == ""


@pytest.mark.parametrize(
    "form, method",
    [("csv", "to_csv"), ("md", "to_markdown"), ("latex", "to_latex"), ("json", "to_json")],
)
def test_a_format_is_that_of_the_result(workspace, form, method):
    expected = getattr(rm.evaluate(*BOTH), method)().rstrip("\n")
    assert rankmeter("evaluate", *BOTH, "--format", form).out == expected + "\n"
    done = rankmeter("evaluate", *BOTH, "--format", form, "--output", "result.txt")
    assert (done.code, done.out) == (0, "")
    assert (workspace / "result.txt").read_text() == expected + "\n"


def test_json_is_one_object_with_the_promised_keys(workspace):
    found = rankmeter("evaluate", *BOTH, "-m", "ndcg@3", "--json").json
    assert found["schema"] == 1
    assert {"metrics", "users", "plan"} <= found.keys()
    assert {"mean", "low", "high", "n_users", "undefined"} <= found["metrics"]["ndcg@3"].keys()
    assert rankmeter("evaluate", *BOTH, "-m", "ndcg@3", "--format", "json").json == found


def test_trec_lines_have_the_widths_of_trec_eval(workspace):
    done = rankmeter("evaluate", *BOTH, "-m", "rr", "-m", "precision@2", "--format", "trec")
    result = rm.evaluate(*BOTH, ["rr", "precision@2"])
    assert done.out.splitlines() == [
        f"{'rr':<22}\tall\t{result['rr'].mean:6.4f}",
        f"{'precision@2':<22}\tall\t{result['precision@2'].mean:6.4f}",
    ]


def test_trec_lines_of_the_users_come_before_those_of_all(workspace):
    done = rankmeter("evaluate", *BOTH, "-m", "rr,hr@1", *["--format", "trec", "--per-user", "-"])
    rows = [line.split("\t") for line in done.out.splitlines()]
    per_user = rm.evaluate(*BOTH, "rr,hr@1").per_user
    expected = [
        [metric.ljust(22), user, f"{value:6.4f}"]
        for user, *values in per_user.rows()
        for metric, value in zip(["rr", "hr@1"], values, strict=True)
    ]
    assert rows[:-2] == expected
    assert [(metric.strip(), user) for metric, user, _ in rows[-2:]] == [
        ("rr", "all"),
        ("hr@1", "all"),
    ]


def test_a_user_whom_a_metric_does_not_average_has_no_trec_line(workspace):
    (workspace / "found.csv").write_text("user,item,score\nann,a,1\nbob,x,1\n")
    done = rankmeter(
        "evaluate",
        "found.csv",
        "truth.csv",
        "-m",
        "mean_rank,rr",
        *["--format", "trec", "--per-user", "-"],
    )
    users = [line.split("\t")[1] for line in done.out.splitlines() if "mean_rank" in line]
    assert users == ["ann", "all"]


READERS = {
    "csv": pl.read_csv,
    "tsv": lambda path: pl.read_csv(path, separator="\t"),
    "jsonl": pl.read_ndjson,
    "ndjson": pl.read_ndjson,
    "parquet": pl.read_parquet,
    "pq": pl.read_parquet,
    "csv.gz": pl.read_csv,
}


@pytest.mark.parametrize("extension", READERS)
def test_per_user_values_are_written_as_the_extension_says(workspace, extension):
    path = workspace / f"users.{extension}"
    assert rankmeter("evaluate", *BOTH, "--per-user", path).code == 0
    assert READERS[extension](path).equals(rm.evaluate(*BOTH).per_user)


@pytest.mark.parametrize("engine", ["memory", "disk"])
@pytest.mark.parametrize("extension", READERS)
def test_per_user_values_are_never_in_one_frame(extension, engine, workspace, monkeypatch):
    many = pl.DataFrame({"user": range(50), "item": [1, 2] * 25, "score": [0.5] * 50})
    many.write_parquet("many.parquet")
    truth = many.with_columns(item=1).drop("score")
    truth.write_parquet("truth.parquet")
    systems = {"a": many, "b": many.with_columns(item=1)}
    systems["b"].write_parquet("b.parquet")
    one = rm.evaluate(many, truth, "rr,hr@1").per_user
    two = rm.compare(systems, truth, "rr,hr@1").per_user
    monkeypatch.setattr("rankmeter._cli._files._ROWS", 7)
    monkeypatch.setattr(rm.Summary, "values_by_user", None)
    path, options = f"users.{extension}", ["-m", "rr,hr@1", "--engine", engine]
    files = ["many.parquet", "truth.parquet"]
    done = rankmeter("evaluate", *files, *options, "--per-user", path)
    assert done.code == 0, done.err
    assert READERS[extension](path).equals(one)
    both = ["truth.parquet", "a=many.parquet", "b=b.parquet"]
    assert rankmeter("compare", *both, *options, "--per-user", path).code == 0
    assert READERS[extension](path).equals(two)


@pytest.mark.parametrize(
    ("options", "keeps"),
    [
        ([], True),
        (["--engine", "memory"], True),
        (["--engine", "disk"], False),
        (["--memory", "1GiB"], False),
    ],
)
def test_freed_memory_is_kept_unless_there_is_a_limit(options, keeps, workspace, monkeypatch):
    called = []
    monkeypatch.setattr("rankmeter._cli._command.keep_freed_memory", lambda: called.append(1))
    assert rankmeter("evaluate", *BOTH, *options).code == 0
    assert bool(called) == keeps


def test_gzipped_output_depends_on_the_values_alone(workspace):
    for name in ("one.csv.gz", "two.csv.gz"):
        rankmeter("evaluate", *BOTH, "--per-user", name)
    assert (workspace / "one.csv.gz").read_bytes() == (workspace / "two.csv.gz").read_bytes()


# -- gates ------------------------------------------------------------------------------------


@pytest.fixture
def half(workspace):
    """Two users with reciprocal ranks 1 and 0: the mean is 1/2."""
    (workspace / "half.csv").write_text("user,item,score\nann,a,1\nbob,x,1\n")
    (workspace / "half_truth.csv").write_text("user,item\nann,a\nbob,b\n")
    return ("half.csv", "half_truth.csv", "-m", "rr")


@pytest.mark.parametrize(
    "condition, trips",
    [
        ("rr<0.5", False),
        ("rr<0.51", True),
        ("rr<=0.5", True),
        ("rr<=.4", False),
        ("rr>0.5", False),
        ("rr>0.4", True),
        ("rr>=0.5", True),
        ("rr>=5e-1", True),
        ("rr>=0.6", False),
        ("rr==0.5", True),
        ("rr==0.4", False),
        ("rr.mean<0.6", True),
        ("rr.low<0.002", True),
        ("rr.high<0", False),
        ("rr.high>0.998", True),
        (" MRR < 0.6 ", True),
        ("recip_rank<0.6", True),
    ],
)
def test_a_gate_trips_where_its_condition_holds(half, condition, trips):
    without = rankmeter("evaluate", *half)
    done = rankmeter("evaluate", *half, "--fail-if", condition)
    assert done.code == (1 if trips else 0)
    assert done.out == without.out
    if trips:
        assert f"gate {condition!r} tripped" in done.err
    else:
        assert done.err == ""


def test_a_tripped_gate_tells_its_value_and_leaves_the_json_whole(half):
    done = rankmeter("evaluate", *half, "--json", "--fail-if", "rr<0.6", "--fail-if", "rr>0.7")
    assert done.code == 1
    assert done.err == "gate 'rr<0.6' tripped: the mean is 0.5\n"
    assert done.json["metrics"]["rr"]["mean"] == 0.5
    for figure, words in (("low", "lower"), ("high", "upper")):
        done = rankmeter("evaluate", *half, "--fail-if", f"rr.{figure}>-1")
        said = rf"gate 'rr.{figure}>-1' tripped: the {words} end of the interval is 0\.\d+\n"
        assert re.fullmatch(said, done.err)


def test_each_of_several_gates_is_told(half):
    done = rankmeter("evaluate", *half, "--fail-if", "rr<0.6", "--fail-if", "rr>0.1")
    assert (done.code, len(done.err.splitlines())) == (1, 2)


def test_a_mean_that_does_not_exist_trips_any_gate(workspace):
    (workspace / "nothing.csv").write_text("user,item,gain\nann,a,0\n")
    files = ("recs.csv", "nothing.csv", "-m", "rr")
    for condition in ("rr<0", "rr>1", "rr.low==7"):
        done = rankmeter("evaluate", *files, "--fail-if", condition)
        assert done.code == 1
        assert "does not exist" in done.err


def test_a_tripped_gate_still_writes_the_files(half, workspace):
    outputs = ["--json", "--output", "r.json", "--per-user", "u.csv"]
    done = rankmeter("evaluate", *half, "--fail-if", "rr<1", *outputs)
    assert done.code == 1
    assert json.loads((workspace / "r.json").read_text())["metrics"]["rr"]["mean"] == 0.5
    assert len((workspace / "u.csv").read_text().splitlines()) == 3


@pytest.mark.parametrize("label", ["rr(relevant=>=1)@10", "rr(relevant=>0)@10", "rr(relevant=1)"])
def test_a_gate_may_name_a_metric_with_a_threshold(label, workspace):
    for sign, code in (("<", 1), (">=", 0)):
        limit = 2 if sign == "<" else 3
        done = rankmeter("evaluate", *BOTH, "-m", label, "--fail-if", f"{label}{sign}{limit}")
        assert done.code == code, done.err


def test_a_gate_may_name_a_metric_with_options(half):
    metric = "ndcg(gain=exp2)@3"
    files = (*half[:2], "-m", metric, "--fail-if", f"{metric}<=1")
    assert "gate 'ndcg(gain=exp2)@3<=1' tripped" in rankmeter("evaluate", *files).err


def test_a_folder_of_parquet_files_is_read(workspace):
    folder = workspace / "recs"
    folder.mkdir()
    frame = pl.read_csv(workspace / "recs.csv")
    frame.head(4).write_parquet(folder / "1.parquet")
    frame.tail(5).write_parquet(folder / "2.parquet")
    assert means("evaluate", "recs", "truth.csv") == means("evaluate", *BOTH)
    shutil.rmtree(folder)


def test_text_in_another_encoding_is_read_if_it_is_named(tmp_path):
    text = "회원,상품,평점\n1,가방,3\n"
    (tmp_path / "k.csv").write_bytes(text.encode("cp949"))
    files = ["evaluate", str(tmp_path / "k.csv"), str(tmp_path / "k.csv"), "-m", "rr"]
    for _ in range(2):
        failed = rankmeter(*files)
        assert "--encoding cp949" in failed.err
        assert "1.0000" in rankmeter(*files, "--encoding", "cp949").out


def test_a_log_is_settled_on_the_command_line_as_the_message_says(tmp_path):
    (tmp_path / "recs.csv").write_text("user,item,score\n1,a,2\n1,b,1\n")
    (tmp_path / "log.csv").write_text("user,item,event\n1,a,view\n1,b,purchase\n")
    files = ["evaluate", str(tmp_path / "recs.csv"), str(tmp_path / "log.csv"), "-m", "rr"]
    failed = rankmeter(*files)
    assert "--relevant purchase" in failed.err
    assert "--columns gain=." in failed.err
    assert "0.5000" in rankmeter(*files, "--relevant", "purchase").out
    assert "1.0000" in rankmeter(*files, "--columns", "gain=").out


def test_segments_are_printed_in_every_format_without_a_page(tmp_path):
    files = {
        "lists.csv": "user,item,score\nu1,a,3\nu1,b,2\nu2,a,3\nu2,c,2\n",
        "truth.csv": "user,item\nu1,a\nu2,c\n",
        "parts.csv": "user,segment\nu1,web\nu2,store\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    lists, truth, parts = (str(tmp_path / name) for name in files)
    command = ("evaluate", lists, truth, "-m", "rr", "--segments", parts)
    assert re.search(r"store +rr +0\.5000", rankmeter(*command).out)
    rows = rankmeter(*command, "--json").json["groups"]["segment"]
    assert [(row["segment"], row["mean"]) for row in rows][:2] == [("store", 0.5), ("web", 1.0)]
    assert "segment,web,rr,1.0" in rankmeter(*command, "--format", "csv").out
    assert "| store | rr | 0.5000 |" in rankmeter(*command, "--format", "md").out
    assert "store & rr & 0.5000 &" in rankmeter(*command, "--format", "latex").out
    assert "store" in rankmeter(*command, "--report", str(tmp_path / "page.html")).out
    assert (tmp_path / "page.html").read_text("utf-8").count("Means by segment") >= 1
    (tmp_path / "none.csv").write_text("user,segment\nnobody,web\n")
    refused = rankmeter(*command[:-1], str(tmp_path / "none.csv"))
    assert refused.code != 0
