"""``rankmeter compare`` and ``rankmeter explain``: their output, and the input they refuse."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

import rankmeter as rm
from command_line import rankmeter, write_examples

pytestmark = pytest.mark.once

COMPARE = ("compare", "truth.csv", "old=old.csv", "new=new.csv", "-m", "rr")
EXPLAIN = ("explain", "recs.csv", "truth.csv", "-m", "ap@3")


@pytest.fixture(autouse=True)
def workspace(tmp_path, monkeypatch):
    write_examples(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def found():
    return rm.compare({"old": "old.csv", "new": "new.csv"}, "truth.csv", "rr")


def test_compare_writes_the_answer_and_on_request_all_of_it(found):
    assert rankmeter(*COMPARE).out == found._answer().to_text("--details") + "\n"
    assert rankmeter(*COMPARE, "--details").out == found.details().to_text() + "\n"


@pytest.mark.parametrize(
    "form, method", [("json", "to_json"), ("csv", "to_csv"), ("md", "to_markdown")]
)
def test_compare_writes_what_the_function_gives(found, form, method):
    assert rankmeter(*COMPARE, "--format", form).out.rstrip() == getattr(found, method)().rstrip()


def test_files_without_a_name_have_the_name_of_the_file(workspace):
    (workspace / "old.csv.gz").write_bytes(gzip.compress(Path("old.csv").read_bytes()))
    plain = rankmeter("compare", "truth.csv", "old.csv.gz", "new.csv", "-m", "rr")
    named = rankmeter("compare", "truth.csv", "old=old.csv", "new=new.csv", "-m", "rr")
    assert (plain.code, plain.out) == (0, named.out)
    twice = rankmeter("compare", "truth.csv", "old.csv.gz", "old.csv")
    assert (twice.code, twice.out) == (2, "")
    assert "the name 'old' is given to two files" in twice.err


@pytest.mark.parametrize("name", ["r.html", "r.HTM", "folder.txt/r.html"])
def test_a_report_is_a_page(workspace, name):
    (workspace / "folder.txt").mkdir()
    assert rankmeter(*COMPARE, "--report", name).code == 0
    assert (workspace / name).read_text("utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize("name", ["r.txt", "report", "r.html.gz", "r.pdf", "-"])
def test_a_report_under_another_ending_is_refused_before_any_work(workspace, name):
    before = sorted(workspace.iterdir())
    done = rankmeter(*COMPARE[:2], "gone=gone.csv", "--report", name)
    assert (done.code, done.out) == (2, "")
    assert f"--report {name}" in done.err
    assert ".html" in done.err
    assert sorted(workspace.iterdir()) == before


def test_explain_refuses_a_second_metric_instead_of_dropping_the_first():
    done = rankmeter(*EXPLAIN, "-m", "ndcg@3", "--between", "rankmeter", "lenskit")
    assert (done.code, done.out) == (2, "")
    assert "ap@3 and ndcg@3" in done.err


def test_explain_needs_a_metric():
    done = rankmeter(*EXPLAIN[:3], "--between", "rankmeter", "lenskit")
    assert (done.code, done.out) == (2, "")
    assert "--metric" in done.err


def test_explain_writes_what_the_function_gives():
    done = rankmeter(*EXPLAIN, "--between", "rankmeter", "lenskit", "--json")
    found = rm.explain("recs.csv", "truth.csv", "ap@3", between=("rankmeter", "lenskit"))
    assert done.out.rstrip() == found.to_json().rstrip()


@pytest.mark.parametrize(
    "line",
    [
        ("evaluate", "recs.csv", "truth.csv"),
        COMPARE,
        (*EXPLAIN, "--between", "rankmeter", "lenskit"),
    ],
)
def test_two_formats_at_once_are_refused_and_a_dash_is_standard_output(workspace, line):
    done = rankmeter(*line, "--json", "--format", "md")
    assert (done.code, done.out) == (2, "")
    assert "--json and --format md contradict each other" in done.err
    files = sorted(workspace.iterdir())
    assert rankmeter(*line, "-o", "-").out == rankmeter(*line).out
    assert rankmeter(*line, "-o", "-", "--json").out == rankmeter(*line, "--json").out
    assert sorted(workspace.iterdir()) == files


def test_explain_refuses_a_convention_that_the_two_make_void():
    done = rankmeter(*EXPLAIN, "--between", "rankmeter", "lenskit", "--like", "recbole")
    assert (done.code, done.out) == (2, "")
    assert "like" in done.err


@pytest.mark.parametrize("command", ["evaluate", "compare", "explain"])
def test_help_says_how_columns_of_one_file_are_named(command):
    assert "rankings.user=member" in " ".join(rankmeter(command, "--help-all").out.split())


def test_columns_of_one_file_can_be_named(workspace):
    text = (workspace / "old.csv").read_text()
    (workspace / "old.csv").write_text(text.replace("user,", "member,", 1))
    (workspace / "new.csv").write_text(text.replace("user,", "member,", 1))
    done = rankmeter(*COMPARE, "--columns", "rankings.user=member", "--json")
    assert done.code == 0
    assert (
        done.json["metrics"]["rr"]["old"]["mean"]
        == rm.evaluate("recs.csv", "truth.csv", "rr")["rr"].mean
    )


def test_only_commands_with_two_files_speak_of_sides():
    assert "rankings.user" not in " ".join(rankmeter("describe", "--help").out.split())


@pytest.mark.parametrize(("target", "code"), [("0.123456789", 1), ("0.5", 0)])
def test_explain_exits_with_1_if_nothing_gives_the_number(target, code):
    done = rankmeter("explain", "recs.csv", "truth.csv", "-m", "rr", "--target", target)
    assert done.code == code, done
    assert ("nearest setting" in done.out) == (code == 1)
