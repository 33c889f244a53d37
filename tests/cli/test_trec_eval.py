"""``rankmeter trec_eval`` prints what trec_eval 10 prints, byte for byte."""

from __future__ import annotations

import gzip
import shlex
from pathlib import Path

import pytest

import rankmeter as rm
from command_line import rankmeter

pytestmark = pytest.mark.once

DATA = Path(__file__).parents[1] / "data"
OFFICIAL = {
    "out.test": "qrels.test results.test",
    "out.test.a": "-m all_trec qrels.test results.test",
    "out.test.aq": "-m all_trec -q qrels.test results.test",
    "out.test.aqc": "-m all_trec -q -c qrels.test results.trunc",
    "out.test.aql": "-m all_trec -mrelstring.20 -q -l2 qrels.rel_level results.test",
    "out.test.aqZ": "-q -m all_trec -Z zscores_file qrels.test results.test",
    "out.test.meas_params": (
        "-q -miprec_at_recall..10,.20,.25,.75,.50 -m P.5,7,3 -m recall.20,2000 "
        "-m Rprec_mult.5.0,0.2,0.35 -mutility.2,-1,0,0 -m 11pt_avg..25,.5,.75 "
        "-mndcg.1=3,2=9,4=4.5 -mndcg_cut.10,20,23.4 -msuccess.2,5,20 qrels.test results.test"
    ),
    "out.test.prefs": "-m all_prefs -q -R prefs prefs.test prefs.results.test",
    "out.test.qrels_prefs": "-m all_prefs -q -R qrels_prefs qrels.test results.test",
    "out.test.qrels_jg": "-m qrels_jg -q -R qrels_jg qrels.123 results.test",
}
RANDOM = dict(
    line.split(maxsplit=1)
    for line in (DATA / "trec_eval_random" / "cases.txt").read_text("utf-8").splitlines()
)


def run(arguments, **options):
    return rankmeter("trec_eval", *shlex.split(arguments), **options)


@pytest.mark.parametrize("output", OFFICIAL)
def test_its_own_test_outputs(output, monkeypatch):
    monkeypatch.chdir(DATA / "trec_eval")
    assert run(OFFICIAL[output]).raw == Path(output).read_bytes()


@pytest.mark.parametrize("output", RANDOM)
def test_random_runs(output, monkeypatch):
    monkeypatch.chdir(DATA / "trec_eval_random")
    assert run(RANDOM[output]).raw == Path(output).read_bytes()


def test_long_names_of_the_options_and_the_only_formats(monkeypatch):
    monkeypatch.chdir(DATA / "trec_eval")
    arguments = "--query_eval_wanted --measure all_trec -R qrels -T trec_results -D 0"
    result = run(f"{arguments} qrels.test results.test")
    assert result.raw == Path("out.test.aq").read_bytes()


@pytest.mark.parametrize("level", ["1", "2.301"])
def test_debugging_is_refused_because_it_prints_between_the_results(level, monkeypatch):
    monkeypatch.chdir(DATA / "trec_eval")
    assert run(f"-D {level} qrels.test results.test").code == 2


# ---------------------------------------------------------------------------------------------
# Small files

QRELS = "1 0 a 1\n1 0 b 0\n2 0 a 1\n"
RUN = "1 Q0 a 1 2.0 mine\n1 Q0 b 2 1.0 mine\n2 Q0 b 1 1.0 mine\n2 Q0 a 2 0.5 mine\n"


def lines(tmp_path, qrels=QRELS, run=RUN, measures=("map",), options=()):
    """What is printed, without the names of the measures."""
    paths = []
    for name, content in (("qrels", qrels), ("run", run)):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        paths.append(path)
    asked = [word for measure in measures for word in ("-m", measure)]
    done = rankmeter("trec_eval", *options, *asked, *paths)
    assert done.code == 0, done.err
    return [line.split("\t", 1)[1].strip() for line in done.out.splitlines()]


def test_topics_come_in_the_order_of_their_bytes(tmp_path):
    qrels = QRELS.replace("1 0", "b 0").replace("2 0", "B 0")
    ranked = RUN.replace("1 Q0", "b Q0").replace("2 Q0", "B Q0")
    found = lines(tmp_path, qrels, ranked, options=["-q"])
    assert found == ["B\t0.5000", "b\t1.0000", "all\t0.7500"]


def test_without_summary_and_without_topics_nothing_is_printed(tmp_path):
    assert lines(tmp_path, options=["-n"]) == []


def test_ids_are_texts(tmp_path):
    found = lines(
        tmp_path, "007 0 1 1\n7 0 1 1\n", "007 Q0 01 1 1 r\n7 Q0 1 1 1 r\n", options=["-q"]
    )
    assert found == ["007\t0.0000", "7\t1.0000", "all\t0.5000"]


def test_comments_blank_lines_and_gzip(tmp_path):
    qrels = gzip.compress(("# judgments\n" + QRELS).encode())
    ranked = "# tag\n\n" + RUN.replace("2 Q0 b", "  # more\n2 Q0 b") + "# the end\n"
    assert lines(tmp_path, qrels, ranked, ["runid", "map"]) == ["all\tmine", "all\t0.7500"]


def test_the_run_comes_from_standard_input(tmp_path):
    path = tmp_path / "qrels"
    path.write_text(QRELS)
    assert run(f"-m map {path} -", stdin=RUN).out == "map                   \tall\t0.7500\n"


def test_results_of_other_topics_are_ignored_whatever_they_are(tmp_path):
    more = "9 Q0 a 1 1 r\n9 Q0 a 2 1 r\n"
    assert lines(tmp_path, run=RUN + more, measures=["num_q", "num_ret"]) == ["all\t2", "all\t4"]


def test_close_gains_are_ordered_by_their_values(tmp_path):
    """Where trec_eval, which orders integers, prints 0 for half of it."""
    qrels, ranked = "1 0 a 3\n1 0 b 2\n1 0 c 1\n", "1 Q0 b 1 3 r\n1 Q0 a 2 2 r\n1 Q0 c 3 1 r\n"
    small = lines(tmp_path, qrels, ranked, ["ndcg.1=0.5,2=0.7,3=0.9"])
    large = lines(tmp_path, qrels, ranked, ["ndcg.1=5,2=7,3=9"])
    assert small == large != ["all\t0.0000"]
    promise = " ".join(rankmeter("trec_eval", "--help").out.split())
    assert "less than 1 apart" in promise


def test_recall_levels_may_come_in_any_order(tmp_path):
    levels = [lines(tmp_path, measures=[f"11pt_avg.{text}"]) for text in ("0,.5,1", "1,0,.5")]
    assert levels[0] == levels[1]


def test_dcg_and_ndcg_have_gains_of_their_own(tmp_path):
    found = lines(tmp_path, measures=["dcg.1=4", "ideal_dcg", "ndcg.0=1"])
    assert found[:2] == ["all\t3.2619", "all\t1.0000"]


def test_a_topic_that_was_never_judged_counts_0(tmp_path):
    found = lines(
        tmp_path,
        QRELS.replace("2 0 a 1", "2 0 a -1"),
        measures=["map", "relstring"],
        options=["-q"],
    )
    assert found == ["1\t1.0000", "1\t'10'", "2\t0.0000", "2\t'-.'", "all\t0.5000"]


@pytest.mark.parametrize("arguments", ["-M 0", "-l -1", "-R pairs", "-Z", "-l two"])
def test_options_without_meaning_are_refused(arguments):
    result = run(f"{arguments} qrels run")
    assert result.code == 2
    assert result.err.startswith("error: ")


# ---------------------------------------------------------------------------------------------
# The convention and the drop-in are two ways to the same numbers


def test_the_level_decides_who_has_anything_relevant_for_rndcg():
    run, qrels = {"q": {"a": 2.0, "b": 1.0}}, {"q": {"a": 1, "b": 2}}
    for like in ("trec_eval", "trec_eval_9", "pytrec_eval"):
        assert rm.evaluate(run, qrels, "rndcg", like=like, relevant=3)["rndcg"].mean == 0
        assert rm.evaluate(run, qrels, "rndcg", like=like, relevant=2)["rndcg"].mean > 0
        assert rm.evaluate(run, qrels, "ndcg", like=like, relevant=3)["ndcg"].mean > 0


def test_values_without_a_reference_are_far_below_all_others(tmp_path):
    """Also where the reference runs do not differ from each other and this run does from them."""
    (tmp_path / "z").write_text("1 map 0.5 0.25\n2 map 0.5 0\n1 recip_rank 0.25 0\n", "utf-8")
    found = lines(tmp_path, measures=["map", "recip_rank"], options=["-q", "-Z", tmp_path / "z"])
    assert found == [
        "1\t2.0000",
        "1\t-1000000.0000",
        "2\t0.0000",
        "2\t-1000000.0000",
        "all\t1.0000",
        "all\t-1000000.0000",
    ]


@pytest.mark.parametrize("option", ["-v", "--version"])
def test_the_version_is_that_of_the_output(option):
    done = rankmeter("trec_eval", option)
    assert (done.code, done.out, done.err) == (0, "", "trec_eval version 10.0\n")


# ---------------------------------------------------------------------------------------------
# Several judges, and preferences


PREFS = "1 g s a 2\n1 g s b 1\n2 g s a 1\n2 g s b 0\n"


def test_contradictions_between_groups_count_and_are_no_error(tmp_path):
    other = "1 h s a 1\n1 h s b 2\n"
    measures = ["prefs_simp", "prefs_pair", "prefs_num_prefs_poss", "prefs_num_prefs_ful"]
    found = lines(tmp_path, PREFS + other, measures=measures, options=["-q", "-R", "prefs"])
    assert found[:4] == ["1\t2", "1\t1", "1\t0.5000", "1\t0.5000"]
