"""User errors on the command line: exit code, message, no traceback."""

from __future__ import annotations

import gzip

import polars as pl
import pytest

from command_line import RATINGS, RECS, TRUTH, rankmeter, write_examples

pytestmark = pytest.mark.once

FILES = {
    "empty.csv": "",
    "header.csv": "user,item,score\n",
    "semicolons.csv": RECS.replace(",", ";"),
    "headless.csv": RECS.partition("\n")[2],
    "ragged.csv": RECS + "bob,d\n",
    "nan.csv": RECS.replace("bob,y,8", "bob,y,"),
    "words.csv": RECS.replace("bob,y,8", "bob,y,high"),
    "no_user.csv": RECS.replace("user", "who"),
    "null_id.csv": RECS.replace("bob,y", ",y"),
    "two_users.csv": "uid,qid,item,score\n1,1,a,1\n",
    "twice.csv": RECS + "ann,x,1\n",
    "judged_twice.csv": TRUTH + "ann,a,3\n",
    "numbers.csv": "user,item,score\n1,2,3\n",
    "other_items.csv": "user,item,score\nann,q,1\n",
    "ranks.csv": "user,item,rank\nann,a,0\n",
    "short.run": "ann Q0 a 1 2.0 t\nbob Q0 a 1\n",
    "bad.run": "ann Q0 a 1 good t\n",
    "bad.jsonl": '{"user": "ann", "item": "a"}\n{"user": "ann", \n',
    "latin1.csv": RECS.replace("ann", "änn").encode("latin-1"),
    "utf16.csv": RECS.encode("utf-16"),
    "fake.parquet": "not parquet",
    "empty.parquet": "",
    "fake.csv.gz": RECS,
    "cut.csv.gz": gzip.compress(RECS.encode())[:-9],
    "mystery.dat": "what is this\n",
    "no_time.csv": "user,item\nann,a\nann,b\n",
    "no_rating.csv": "user,item\nann,a\nbob,b\n",
    "spaces.csv": "user,item\nann,war and peace\nbob,b\n",
    "bad_time.csv": "user,item,time\nann,a,yesterday\nann,b,today\n",
    "nothing_relevant.csv": "user,item,gain\nann,a,0\n",
}
# command line → exit code and what the message says
CASES = {
    # usage
    "evalute": (2, ["unknown command 'evalute'", "did you mean 'evaluate'"]),
    "frobnicate": (2, ["unknown command", "known: 'evaluate', "]),
    "evaluate": (2, ["RANKINGS", "try 'rankmeter evaluate --help'"]),
    "evaluate recs.csv": (2, ["truth is missing"]),
    "evaluate recs.csv truth.csv -k 10": (2, ["-m ndcg@10"]),
    "evaluate recs.csv truth.csv more.csv": (2, ["more.csv"]),
    "evaluate recs.csv truth.csv --output=": (2, ["'--output' / '-o': expected a name, got ''"]),
    "evaluate recs.csv truth.csv --report=": (2, ["'--report': expected a name, got ''"]),
    "--nope": (2, ["--nope", "try 'rankmeter --help'"]),
    "evaluate recs.csv truth.csv --nope": (2, ["--nope", "try 'rankmeter evaluate --help'"]),
    "evaluate recs.csv truth.csv -m": (2, ["-m"]),
    "evaluate - -": (2, ["only one input can be standard input"]),
    # metrics
    "evaluate recs.csv truth.csv -m ndgc@10": (2, ["unknown metric 'ndgc'", "did you mean 'ndcg'"]),
    "evaluate recs.csv truth.csv -m ndcg@0": (2, ["`k` of ndcg must be an integer ≥ 1, got 0"]),
    "evaluate recs.csv truth.csv -m ndcg@-3": (2, ["ndcg", "-3"]),
    "evaluate recs.csv truth.csv -m ndcg@ten": (
        2,
        ["`k` of ndcg must be an integer ≥ 1, got 'ten'"],
    ),
    "evaluate recs.csv truth.csv -m ndcg(gain=log)@3": (2, ["gain", "'linear'", "'log'"]),
    "evaluate recs.csv truth.csv -m rr(gain=exp2)": (2, ["no option 'gain'"]),
    "evaluate recs.csv truth.csv -m accuracy@2": (2, ["n_items", "pass --n-items"]),
    "metrics ngdc": (2, ["unknown metric", "did you mean 'ndcg'"]),
    "conventions trec_evil": (2, ["unknown convention", "trec_evil"]),
    # choices
    "evaluate recs.csv truth.csv --like lenkit": (2, ["lenkit", "did you mean 'lenskit'"]),
    "evaluate recs.csv truth.csv --ties random": (2, ["--ties", "'item-descending'"]),
    "evaluate recs.csv truth.csv --depth many": (2, ["--depth", "many"]),
    "evaluate recs.csv truth.csv --depth 0": (2, ["--depth must be an integer ≥ 1, got 0"]),
    "evaluate recs.csv truth.csv --confidence 95": (2, ["between 0 and 1"]),
    "evaluate recs.csv truth.csv --relevant 4+": (2, ["relevant must be like '>0'", "4+"]),
    "evaluate recs.csv truth.csv --columns user": (2, ["ROLE=NAME", "user=member"]),
    "evaluate recs.csv truth.csv --columns user=a,user=b": (2, ["user twice"]),
    "evaluate recs.csv truth.csv --encoding nosuch": (2, ["--encoding 'nosuch'", "cp949"]),
    "evaluate recs.csv truth.csv --columns usr=a": (2, ["usr"]),
    "evaluate recs.csv truth.csv --columns ranking.user=a": (
        2,
        ["unknown side of --columns 'ranking'", "did you mean 'rankings'?"],
    ),
    "evaluate recs.csv truth.csv --columns user=nobody": (3, ["--columns user=nobody", "recs.csv"]),
    "evaluate recs.csv truth.csv --json --format csv": (2, ["contradict"]),
    "evaluate recs.csv truth.csv --format xml": (2, ["xml"]),
    # gates
    "evaluate recs.csv truth.csv --fail-if ndcg@10": (2, ["is not a condition", "'ndcg@10<0.2'"]),
    "evaluate recs.csv truth.csv --fail-if ndcg@10!=1": (2, ["is not a condition"]),
    "evaluate recs.csv truth.csv --fail-if ndcg@10<x": (2, ["is not a condition"]),
    "evaluate recs.csv truth.csv --fail-if ndcg@10<nan": (2, ["is not a condition"]),
    "evaluate recs.csv truth.csv --fail-if ngdc@10<1": (2, ["--fail-if", "unknown metric"]),
    "evaluate recs.csv truth.csv --fail-if ndcg@3,5<1": (2, ["expected one metric"]),
    "evaluate recs.csv truth.csv --fail-if ndcg@7<1": (2, ["was not evaluated", "ndcg@10"]),
    "evaluate recs.csv truth.csv -m rr --fail-if rr@3<1": (2, ["was not evaluated"]),
    # invalid files
    "evaluate res.csv truth.csv": (3, ["res.csv does not exist", "'recs.csv'"]),
    "evaluate nowhere/recs.csv truth.csv": (3, ["nowhere"]),
    "evaluate folder truth.csv": (3, ["folder", "Parquet"]),
    "evaluate https://example.org/recs.csv truth.csv": (3, ["local files"]),
    "evaluate empty.csv truth.csv": (3, ["empty.csv is empty"]),
    "evaluate header.csv truth.csv": (3, ["header.csv has no rows"]),
    "evaluate semicolons.csv truth.csv": (3, ["';'"]),
    "evaluate headless.csv truth.csv": (3, ["headless.csv"]),
    "evaluate ragged.csv truth.csv": (3, ["ragged.csv, line 11"]),
    "evaluate nan.csv truth.csv": (3, ["'bob'", "--bad-scores drop"]),
    "evaluate words.csv truth.csv": (3, ["high"]),
    "evaluate no_user.csv truth.csv": (3, ["no column for the user", "--columns user=NAME"]),
    "evaluate null_id.csv truth.csv": (3, ["user ids", "missing"]),
    "evaluate two_users.csv truth.csv": (3, ["could be the user", "--columns user=uid"]),
    "evaluate twice.csv truth.csv": (3, ["'x'", "--duplicates best"]),
    "evaluate recs.csv judged_twice.csv": (3, ["--judgements"]),
    "evaluate numbers.csv truth.csv": (3, ["no user in common", "ann"]),
    "evaluate other_items.csv truth.csv": (3, ["no item in common", "--no-overlap allow"]),
    "evaluate ranks.csv truth.csv": (3, ["rank"]),
    "evaluate short.run truth.csv": (3, ["short.run, line 2"]),
    "evaluate bad.run truth.csv": (3, ["'good'"]),
    "evaluate bad.jsonl truth.csv": (3, ["bad.jsonl, line 2"]),
    "evaluate latin1.csv truth.csv": (3, ["UTF-8"]),
    "evaluate utf16.csv truth.csv": (3, ["UTF-16"]),
    "evaluate fake.parquet truth.csv": (3, ["fake.parquet", "Parquet"]),
    "evaluate empty.parquet truth.csv": (3, ["empty.parquet is empty"]),
    "evaluate cut.parquet truth.csv": (3, ["cut.parquet", "truncated"]),
    "evaluate fake.csv.gz truth.csv": (3, ["not compressed with gzip"]),
    "evaluate cut.csv.gz truth.csv": (3, ["gzip", "truncated"]),
    "evaluate mystery.dat truth.csv": (3, ["format of mystery.dat is not known"]),
    "evaluate recs.csv recs.run": (3, ["recs.run", "rankmeter evaluate recs.run recs.csv\n"]),
    "evaluate truth.csv recs.csv -m rr": (3, ["rankmeter evaluate recs.csv truth.csv -m rr\n"]),
    "compare recs.csv truth.csv recs.run": (3, ["rankmeter compare truth.csv recs.csv recs.run\n"]),
    "evaluate recs.csv truth.csv --missing raise": (3, ["without a ranking", "--missing raise"]),
    "evaluate recs.csv nothing_relevant.csv --undefined raise": (3, ["--undefined raise"]),
    # outputs
    "evaluate recs.csv truth.csv --output recs.csv": (2, ["recs.csv is an input"]),
    "evaluate recs.csv truth.csv --output link.csv": (2, ["link.csv is an input"]),
    "evaluate recs.csv truth.csv --output ./folder/../truth.csv": (2, ["is an input"]),
    "evaluate recs.csv truth.csv --per-user truth.csv": (2, ["truth.csv is an input"]),
    "evaluate recs.csv truth.csv --per-user a.csv --output a.csv": (2, ["is an output"]),
    "evaluate recs.csv truth.csv --per-user users.xls": (2, ["users.xls", ".parquet"]),
    "evaluate recs.csv truth.csv --per-user a.parquet.gz": (2, ["a.parquet.gz"]),
    "evaluate recs.csv truth.csv --per-user a.run": (2, ["a.run"]),
    "evaluate recs.csv truth.csv --per-user -": (2, ["--format trec"]),
    "evaluate recs.csv truth.csv --output nowhere/a.txt": (3, ["nowhere: this folder does not"]),
    "evaluate recs.csv truth.csv --output folder": (3, ["folder: is a folder"]),
    "evaluate parquets truth.csv --per-user parquets/a.parquet": (2, ["is an input"]),
    # split
    "split ratings.csv --train a.csv --test b.csv": (2, ["--method"]),
    "split ratings.csv --method halves --output out": (2, ["halves", "'leave-one-out'"]),
    "split ratings.csv --method holdout": (2, ["--train FILE and --test FILE, or --output FOLDER"]),
    "split ratings.csv --method holdout --train a.csv": (2, ["--test FILE"]),
    "split ratings.csv --method holdout --train a.csv --output out": (2, ["leave out --train"]),
    "split ratings.csv --method holdout --train a.csv --test b.doc": (2, ["b.doc"]),
    "split ratings.csv --method holdout --train a.csv --test a.csv": (2, ["is an output"]),
    "split ratings.csv --method holdout --train - --test a.csv": (2, ["files"]),
    "split ratings.csv --method holdout --train ratings.csv --test a.csv": (2, ["is an input"]),
    "split ratings.csv --method holdout --train a.csv --test b.csv --format csv": (2, ["--format"]),
    "split ratings.csv --method k-fold --train a.csv --test b.csv --k 2": (2, ["--output"]),
    "split ratings.csv --method k-fold --ratio 0.2 --output out": (
        2,
        ["--ratio is not an option of k-fold, but of holdout, temporal"],
    ),
    "split ratings.csv --method leave-one-out --k 2 --output out": (2, ["leave-k-out, k-fold"]),
    "split ratings.csv --method holdout --ratio 2 --output out": (
        2,
        ["--ratio", "between 0 and 1"],
    ),
    "split ratings.csv --method temporal --at noon --output out": (2, ["--at", "noon"]),
    "split ratings.csv --method k-fold --k 99 --output out": (3, ["99 folds", "smaller --k"]),
    "split no_time.csv --method leave-one-out --output out": (3, ["time", "--columns time=NAME"]),
    "split bad_time.csv --method temporal --output out": (3, ["yesterday"]),
    "split ratings.csv --method leave-one-out --min-history 99 --output out": (3, ["test"]),
    "split ratings.csv --method holdout --output ratings.csv": (2, ["ratings.csv is an input"]),
    "split ratings.csv --method holdout --output truth.csv": (3, ["truth.csv"]),
    # baseline, describe, demo
    "baseline train.csv --method popularity": (2, ["--output"]),
    "baseline train.csv --method best --output a.csv": (2, ["best"]),
    "baseline train.csv --method popularity --output a.xls": (2, ["a.xls", ".run"]),
    "baseline train.csv --method popularity --output train.csv": (2, ["is an input"]),
    "baseline train.csv --method popularity --users few.csv --output few.csv": (2, ["an input"]),
    "baseline train.csv --method popularity --k 0 --output a.csv": (2, ["--k must be"]),
    "baseline train.csv --method popularity --damping 3 --output a.csv": (
        2,
        ["--damping is not an option of popularity, but of damped-mean-rating"],
    ),
    "baseline no_rating.csv --method mean-rating --output a.csv": (3, ["--columns rating=NAME"]),
    "baseline spaces.csv --method popularity --output a.run": (3, ["'war and peace'", ".jsonl"]),
    "describe missing.csv": (3, ["missing.csv does not exist"]),
    "describe header.csv": (3, ["header.csv has no rows"]),
    "demo --ratings missing.csv": (3, ["missing.csv"]),
    "demo --output truth.csv": (3, ["truth.csv"]),
    "completion tcsh": (2, ["tcsh", "'bash'"]),
}


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    write_examples(tmp_path)
    for name, content in FILES.items():
        data = content if isinstance(content, bytes) else content.encode()
        (tmp_path / name).write_bytes(data)
    (tmp_path / "few.csv").write_text(RATINGS)
    (tmp_path / "recs.run").write_text("ann Q0 a 1 2.0 t\n")
    frame = pl.read_csv(tmp_path / "recs.csv")
    frame.write_parquet(tmp_path / "cut.parquet")
    content = (tmp_path / "cut.parquet").read_bytes()
    (tmp_path / "cut.parquet").write_bytes(content[: len(content) // 2])
    (tmp_path / "folder").mkdir()
    (tmp_path / "parquets").mkdir()
    frame.write_parquet(tmp_path / "parquets" / "1.parquet")
    (tmp_path / "link.csv").symlink_to("recs.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def contents(folder):
    return {
        path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


@pytest.mark.parametrize("line", CASES)
def test_a_mistake_is_told_and_nothing_is_written(workspace, line):
    code, says = CASES[line]
    before = contents(workspace)
    done = rankmeter(*line.split(), stdin="")
    assert done.code == code, done.err
    assert done.out == ""
    assert done.err.startswith("error: ")
    assert "Traceback" not in done.err
    for text in says:
        assert text in done.err
    assert contents(workspace) == before


@pytest.mark.parametrize(
    "text, says",
    [
        ("", "standard input is empty"),
        ("what is this", "format of standard input is not known"),
        ("who,item\na,b\n", "standard input has no column for the user"),
        ("user,item,score\nann,a\n", "standard input, line 2"),
    ],
)
def test_a_mistake_in_standard_input_is_told_as_such(workspace, text, says):
    done = rankmeter("evaluate", "-", "truth.csv", stdin=text)
    assert (done.code, done.out) == (3, "")
    assert says in done.err


def test_files_that_may_not_be_read_or_written_are_told(workspace, request):
    (workspace / "folder").chmod(0o555)
    (workspace / "locked.csv").write_bytes((workspace / "recs.csv").read_bytes())
    (workspace / "locked.csv").chmod(0)
    request.getfixturevalue("unprivileged")
    done = rankmeter("evaluate", "recs.csv", "truth.csv", "--output", "folder/a.txt")
    assert (done.code, done.out) == (3, "")
    assert done.err == "error: folder/a.txt: Permission denied\n"
    done = rankmeter("evaluate", "locked.csv", "truth.csv")
    assert (done.code, done.out) == (3, "")
    assert "locked.csv cannot be read: Permission denied" in done.err


LONG = "x" * 5000


@pytest.mark.parametrize(
    "line",
    [
        ("evaluate", LONG, "truth.csv"),
        ("evaluate", "recs.csv", LONG),
        ("evaluate", "recs.csv", "truth.csv", "--collapse", LONG),
        ("compare", "truth.csv", LONG),
        ("compare", LONG, "a=recs.csv", "b=recs.csv"),
        ("compare", "a=recs.csv", LONG, "b=recs.csv"),
        ("compare", "truth.csv", "a=recs.csv", f"b={LONG}"),
        ("compare", "truth.csv", "a=recs.csv", f"b={LONG},{LONG}"),
        ("compare", "truth.csv", "a=recs.csv", "b=recs.csv", "--collapse", LONG),
        ("explain", LONG, "truth.csv"),
        ("explore", "recs.csv", "--truth", LONG),
    ],
    ids=lambda line: " ".join("LONG" if part == LONG else part[:12] for part in line),
)
def test_a_text_too_long_for_a_file_name_gives_a_message(line):
    done = rankmeter(*line)
    assert done.code in (2, 3)
    assert done.err.startswith("error: ")
