"""``rankmeter trec_eval`` prints what trec_eval 10 prints, byte for byte."""

from __future__ import annotations

import gzip
import shlex
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import rankmeter as rm
from rankmeter._cli._exits import code_of
from rankmeter._cli.trec_eval import command
from rankmeter._trec_eval import MEASURES, NICKNAMES, report
from rankmeter.errors import (
    DataError,
    DuplicateError,
    FileFormatError,
    InvalidValueError,
    RankmeterWarning,
    UsageError,
)

DATA = Path(__file__).parent / "data"
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
}
RANDOM = dict(
    line.split(maxsplit=1)
    for line in (DATA / "trec_eval_random" / "cases.txt").read_text("utf-8").splitlines()
)


def run(arguments, **options):
    return CliRunner().invoke(command, shlex.split(arguments), **options)


@pytest.mark.parametrize("output", OFFICIAL)
def test_its_own_test_outputs(output, monkeypatch):
    monkeypatch.chdir(DATA / "trec_eval")
    assert run(OFFICIAL[output]).stdout_bytes == Path(output).read_bytes()


@pytest.mark.parametrize("output", RANDOM)
def test_random_runs(output, monkeypatch):
    monkeypatch.chdir(DATA / "trec_eval_random")
    assert run(RANDOM[output]).stdout_bytes == Path(output).read_bytes()


def test_long_names_of_the_options_and_the_only_formats(monkeypatch):
    monkeypatch.chdir(DATA / "trec_eval")
    arguments = "--query_eval_wanted --measure all_trec -R qrels -T trec_results"
    result = run(f"{arguments} qrels.test results.test")
    assert result.stdout_bytes == Path("out.test.aq").read_bytes()


# ---------------------------------------------------------------------------------------------
# Small files

QRELS = "1 0 a 1\n1 0 b 0\n2 0 a 1\n"
RUN = "1 Q0 a 1 2.0 mine\n1 Q0 b 2 1.0 mine\n2 Q0 b 1 1.0 mine\n2 Q0 a 2 0.5 mine\n"


def lines(tmp_path, qrels=QRELS, run=RUN, measures=("map",), **choices):
    """What is printed, without the names of the measures."""
    paths = []
    for name, content in (("qrels", qrels), ("run", run)):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        paths.append(str(path))
    return [line.split("\t", 1)[1].strip() for line in report(*paths, measures, **choices)]


def test_topics_come_in_the_order_of_their_bytes(tmp_path):
    qrels = QRELS.replace("1 0", "b 0").replace("2 0", "B 0")
    ranked = RUN.replace("1 Q0", "b Q0").replace("2 Q0", "B Q0")
    found = lines(tmp_path, qrels, ranked, per_topic=True)
    assert found == ["B\t0.5000", "b\t1.0000", "all\t0.7500"]


def test_without_summary_and_without_topics_nothing_is_printed(tmp_path):
    assert lines(tmp_path, summary=False) == []


def test_ids_are_texts(tmp_path):
    found = lines(
        tmp_path, "007 0 1 1\n7 0 1 1\n", "007 Q0 01 1 1 r\n7 Q0 1 1 1 r\n", per_topic=True
    )
    assert found == ["007\t0.0000", "7\t1.0000", "all\t0.5000"]


def test_comments_blank_lines_and_gzip(tmp_path):
    qrels = gzip.compress(("# judgments\n" + QRELS).encode())
    ranked = "# tag\n\n" + RUN.replace("2 Q0 b", "  # more\n2 Q0 b") + "# the end\n"
    assert lines(tmp_path, qrels, ranked, ["runid", "map"]) == ["all\tmine", "all\t0.7500"]


def test_the_run_comes_from_standard_input(tmp_path):
    path = tmp_path / "qrels"
    path.write_text(QRELS)
    assert run(f"-m map {path} -", input=RUN).stdout == "map                   \tall\t0.7500\n"


def test_results_of_other_topics_are_ignored_whatever_they_are(tmp_path):
    more = "9 Q0 a 1 1 r\n9 Q0 a 2 1 r\n"
    assert lines(tmp_path, run=RUN + more, measures=["num_q", "num_ret"]) == ["all\t2", "all\t4"]


def test_a_topic_without_results_stops_after_those_before_it(tmp_path):
    path = tmp_path / "run"
    path.write_text(RUN.replace("2 Q0", "3 Q0"))
    (tmp_path / "qrels").write_text(QRELS)
    result = run(f"-q -m map {tmp_path / 'qrels'} {path}")
    assert result.stdout == "map                   \t1\t1.0000\n"
    assert isinstance(result.exception, DataError)
    assert code_of(result.exception) == 3
    assert "topic 2 is judged" in str(result.exception)
    assert "-c" in str(result.exception)


def test_only_the_first_parameters_of_a_measure_count_and_that_is_said(tmp_path):
    with pytest.warns(RankmeterWarning, match=r"only the first parameters of P count: 1, not 2"):
        assert lines(tmp_path, measures=["P.1", "P.2"]) == ["all\t0.5000"]


def test_close_gains_are_ordered_by_their_values(tmp_path):
    """Where trec_eval, which orders integers, prints 0 for half of it."""
    qrels, ranked = "1 0 a 3\n1 0 b 2\n1 0 c 1\n", "1 Q0 b 1 3 r\n1 Q0 a 2 2 r\n1 Q0 c 3 1 r\n"
    small = lines(tmp_path, qrels, ranked, ["ndcg.1=0.5,2=0.7,3=0.9"])
    large = lines(tmp_path, qrels, ranked, ["ndcg.1=5,2=7,3=9"])
    assert small == large != ["all\t0.0000"]


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
        per_topic=True,
    )
    assert found == ["1\t1.0000", "1\t'10'", "2\t0.0000", "2\t'-.'", "all\t0.5000"]


@pytest.mark.parametrize(
    ("measure", "message"),
    [
        ("mapp", "unknown measure of trec_eval 'mapp'; did you mean 'map'"),
        ("prefs_simp", "judgments of other formats"),
        ("map_avgjg", "judgments of other formats"),
        ("map.3", "map takes no parameters"),
        ("all_trec.3", "all_trec takes no parameters"),
        ("P.", "ends before its parameters"),
        ("P.0,5", "integers ≥ 1"),
        ("P.5,5", "each once"),
        ("P.five", "expected an integer, got 'five'"),
        ("iprec_at_recall..5,.5", "differ from each other"),
        ("iprec_at_recall.2", "between 0 and 1"),
        ("set_F.x", "expected a number, got 'x'"),
        ("utility.1,2", "utility needs four numbers"),
        ("ndcg.3", "expected grade=gain"),
        ("ndcg.1=2,1=3", "each once"),
        ("ndcg.p=2", "'p' is not a grade"),
        ("ndcg.-1=2", "'-1' is not a grade"),
        ("rbp.q=0.5", "'q' is not a grade"),
    ],
)
def test_measures_without_meaning_are_refused(tmp_path, measure, message):
    with pytest.raises(UsageError, match=message):
        lines(tmp_path, measures=[measure])


@pytest.mark.parametrize(
    ("files", "error", "message"),
    [
        ({"qrels": QRELS + "1 0 a 1\n"}, DuplicateError, "topic 1 document a is judged twice"),
        ({"run": RUN + "1 Q0 a 3 0 mine\n"}, DuplicateError, "repeated items"),
        ({"qrels": "1 0 a 0.5\n"}, InvalidValueError, "not an integer"),
        ({"run": "1 Q0 a 1 nan mine\n"}, InvalidValueError, "is NaN"),
        ({"run": "1 Q0 a 1 high mine\n"}, FileFormatError, "line 1: the score 'high'"),
        ({"run": "1 Q0 a 1 2.0\n"}, FileFormatError, "5 fields where a line needs 6"),
        ({"run": "# only this\n"}, FileFormatError, "is empty"),
        ({"qrels": b"\x1f\x8b broken"}, FileFormatError, "not a complete gzip file"),
        ({"qrels": RUN, "run": QRELS}, FileFormatError, "swapped"),
    ],
)
def test_bad_input_is_refused(tmp_path, files, error, message):
    with pytest.raises(error, match=message):
        lines(tmp_path, **files)


@pytest.mark.parametrize("arguments", ["-M 0", "-l -1", "-R prefs", "-Z", "-l two"])
def test_options_without_meaning_are_refused(arguments):
    result = run(f"{arguments} qrels run")
    assert result.exit_code == 2
    assert "Error" in result.output


def test_every_measure_has_a_place_in_the_help_and_every_nickname_names_measures():
    text = run("--help").stdout.replace("\n", " ")
    for name in [*MEASURES, *NICKNAMES]:
        assert name in text
    for names in NICKNAMES.values():
        assert set(names) <= set(MEASURES)


# ---------------------------------------------------------------------------------------------
# The convention and the drop-in are two ways to the same numbers

CUT = {"P", "recall", "ndcg_cut", "map_cut", "relative_P", "success", "unj"}
AT = {"iprec_at_recall": 0.2, "Rprec_mult": 0.6}
CHANCE = {"rbp", "rbp_resid"}  # named in the deviations of the profile
LOST = {"relstring", "runid", "num_q"}  # texts and facts of the run


@pytest.mark.parametrize("level", [1, 2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_every_measure_of_the_convention_is_that_of_the_drop_in(tmp_path, seed, level):
    """Whichever way a measure looks at the level: for its hits, for its gains, or for neither."""
    rng = np.random.default_rng([seed, level])
    run, qrels = {}, {}
    for topic in map(str, range(25)):
        documents = [f"d{i}" for i in rng.permutation(30)]
        n = int(rng.integers(1, 25))
        run[topic] = dict(zip(documents[:n], rng.integers(0, 9, n).astype(float), strict=True))
        judged = rng.permutation(documents)[: int(rng.integers(2, 20))]
        grades = rng.integers(0, rng.integers(1, 5), judged.size)
        qrels[topic] = dict(zip(judged.tolist(), grades.tolist(), strict=True))
    assert any(max(of.values()) < level for of in qrels.values())
    names = [name for name in MEASURES if name not in CHANCE | LOST]
    points = {**dict.fromkeys(CUT, 5), **AT}
    asked = {name: f"{name}.{points[name]}" if name in points else name for name in names}
    texts = {
        "qrels": "".join(f"{t} 0 {d} {g}\n" for t, of in qrels.items() for d, g in of.items()),
        "run": "".join(f"{t} Q0 {d} 1 {s} me\n" for t, of in run.items() for d, s in of.items()),
    }
    for file, text in texts.items():
        (tmp_path / file).write_text(text)
    printed: dict[str, dict[str, float]] = {}
    paths = str(tmp_path / "qrels"), str(tmp_path / "run")
    for line in report(*paths, asked.values(), level=level, per_topic=True):
        label, topic, value = line.split()
        printed.setdefault(label, {})[topic] = float(value)
    for name in names:
        shown = f"{name}_{points[name]:.2f}" if name in AT else asked[name].replace(".", "_")
        wanted = dict(printed[shown])
        total = wanted.pop("all")
        result = rm.evaluate(run, qrels, [asked[name]], like="trec_eval", relevant=level)
        (label,) = result
        assert result[label].mean == pytest.approx(total, abs=6e-5), name
        if wanted:
            found = dict(result.per_user.iter_rows())
            assert found == pytest.approx(wanted, abs=6e-5), name


def test_the_level_decides_who_has_anything_relevant_for_rndcg():
    run, qrels = {"q": {"a": 2.0, "b": 1.0}}, {"q": {"a": 1, "b": 2}}
    for like in ("trec_eval", "trec_eval_9", "pytrec_eval"):
        assert rm.evaluate(run, qrels, "rndcg", like=like, relevant=3)["rndcg"].mean == 0
        assert rm.evaluate(run, qrels, "rndcg", like=like, relevant=2)["rndcg"].mean > 0
        assert rm.evaluate(run, qrels, "ndcg", like=like, relevant=3)["ndcg"].mean > 0


def test_values_without_a_reference_are_far_below_all_others(tmp_path):
    """Also where the reference runs do not differ from each other and this run does from them."""
    (tmp_path / "z").write_text("1 map 0.5 0.25\n2 map 0.5 0\n1 recip_rank 0.25 0\n", "utf-8")
    found = lines(
        tmp_path, measures=["map", "recip_rank"], per_topic=True, zscores=str(tmp_path / "z")
    )
    assert found == [
        "1\t2.0000",
        "1\t-1000000.0000",
        "2\t0.0000",
        "2\t-1000000.0000",
        "all\t1.0000",
        "all\t-1000000.0000",
    ]


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("1 map 0.5\n", FileFormatError, "line 1: expected topic, measure, mean and standard"),
        ("1 map 0.5 1\n1 map x 1\n", FileFormatError, "line 2: expected"),
        ("1 map 0.5 1\n1 map 0.5 1\n", DuplicateError, "line 2: map of topic 1 occurs twice"),
    ],
)
def test_references_that_cannot_be_read_are_refused(tmp_path, text, error, message):
    (tmp_path / "z").write_text(text, "utf-8")
    with pytest.raises(error, match=message):
        lines(tmp_path, zscores=str(tmp_path / "z"))


@pytest.mark.parametrize("option", ["-v", "--version"])
def test_the_version_is_that_of_the_output(option):
    result = run(option)
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "trec_eval version 10.0\n"
