"""The report of trec_eval in Python: its errors, its measures and slow definitions."""

from __future__ import annotations

import shlex

import numpy as np
import pytest
from click.testing import CliRunner

import rankmeter as rm
from rankmeter._cli._exits import exit_code_of_error
from rankmeter._cli._trec_eval._measures import MEASURES, NICKNAMES
from rankmeter._cli._trec_eval._report import report_lines
from rankmeter._cli.trec_eval import command
from rankmeter.errors import (
    DataError,
    DuplicateError,
    FileFormatError,
    InvalidValueError,
    RankmeterWarning,
    UsageError,
)

pytestmark = pytest.mark.once


def run(arguments, **options):
    return CliRunner().invoke(command, shlex.split(arguments), **options)


QRELS = "1 0 a 1\n1 0 b 0\n2 0 a 1\n"


RUN = "1 Q0 a 1 2.0 mine\n1 Q0 b 2 1.0 mine\n2 Q0 b 1 1.0 mine\n2 Q0 a 2 0.5 mine\n"


def lines(tmp_path, qrels=QRELS, run=RUN, measures=("map",), **choices):
    """What is printed, without the names of the measures."""
    paths = []
    for name, content in (("qrels", qrels), ("run", run)):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        paths.append(str(path))
    return [line.split("\t", 1)[1].strip() for line in report_lines(*paths, measures, **choices)]


def test_a_topic_without_results_stops_after_those_before_it(tmp_path):
    path = tmp_path / "run"
    path.write_text(RUN.replace("2 Q0", "3 Q0"))
    (tmp_path / "qrels").write_text(QRELS)
    result = run(f"-q -m map {tmp_path / 'qrels'} {path}")
    assert result.stdout == "map                   \t1\t1.0000\n"
    assert isinstance(result.exception, DataError)
    assert exit_code_of_error(result.exception) == 3
    assert "topic 2 is judged" in str(result.exception)
    assert "-c" in str(result.exception)


def test_only_the_first_parameters_of_a_measure_count_and_that_is_said(tmp_path):
    with pytest.warns(RankmeterWarning, match=r"only the first parameters of P count: 1, not 2"):
        assert lines(tmp_path, measures=["P.1", "P.2"]) == ["all\t0.5000"]


@pytest.mark.parametrize(
    ("measure", "message"),
    [
        ("mapp", "unknown measure of trec_eval 'mapp'; did you mean 'map'"),
        ("prefs_simp", "another format \\(-R prefs or -R qrels_prefs\\); -R qrels has official"),
        ("all_prefs", "another format"),
        ("map_avgjg", "another format \\(-R qrels_jg\\)"),
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
        ({"run": RUN + "1 Q0 a 3 0 mine\n"}, DuplicateError, "1 repeated item in"),
        ({"qrels": "1 0 a 0.5\n"}, InvalidValueError, "is not an integer"),
        ({"run": "1 Q0 a 1 nan mine\n"}, InvalidValueError, "is NaN"),
        ({"run": "1 Q0 a 1 high mine\n"}, FileFormatError, "line 1: the score 'high'"),
        ({"run": "1 Q0 a 1 2.0\n"}, FileFormatError, "5 fields where a line needs 6"),
        ({"run": "# only this\n"}, FileFormatError, "is empty"),
        ({"qrels": b"\x1f\x8b broken"}, FileFormatError, "not a complete gzip file"),
        ({"qrels": RUN, "run": QRELS}, FileFormatError, "swapped"),
        ({"qrels": "1 0 0 7 1\n"}, FileFormatError, "5 fields where a line needs 4"),
        ({"qrels": "1 0 a nan\n"}, InvalidValueError, "the grade nan of topic 1 document a is not"),
    ],
)
def test_bad_input_is_refused(tmp_path, files, error, message):
    with pytest.raises(error, match=message):
        lines(tmp_path, **files)


def test_every_measure_has_a_place_in_the_help_and_every_nickname_names_measures():
    text = run("--help").stdout.replace("\n", " ")
    for name in [*MEASURES, *NICKNAMES, *(name for own in MEASURES.values() for name in own)]:
        assert name in text
    for names in NICKNAMES.values():
        assert any(set(names) <= set(own) for own in MEASURES.values())


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
    names = [name for name in MEASURES["qrels"] if name not in CHANCE | LOST]
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
    for line in report_lines(*paths, asked.values(), level=level, per_topic=True):
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


def drawn(rng, topics, documents):
    """A run with ties, as lines and as the documents of each topic."""
    lines, ranked = [], {}
    for topic in topics:
        names = [*documents, "x1", "x2", "x3"]
        found = rng.permutation(names)[: int(rng.integers(1, len(names)))].tolist()
        ranked[topic] = {name: int(rng.integers(0, 6)) for name in found}
        lines += [f"{topic} Q0 {name} 1 {score} me\n" for name, score in ranked[topic].items()]
    return "".join(lines), ranked


def table(printed):
    """Values by topic and name of the measure."""
    found = {}
    for line in printed:
        label, topic, value = line.split()
        if label != "runid":
            found.setdefault(topic, {})[label] = float(value)
    return found


@pytest.mark.parametrize("choices", [{}, {"level": 2}, {"depth": 4}, {"judged_only": True}])
@pytest.mark.parametrize("seed", range(5))
def test_several_judges_are_averaged(tmp_path, seed, choices):
    rng = np.random.default_rng(seed)
    documents = [f"d{i}" for i in range(12)]
    ranked, _ = drawn(rng, "123", documents)
    groups = {"1": ["b", "A"], "2": ["one"], "3": ["b", "A", "10"]}
    rows = [
        (topic, group, document, int(rng.integers(-1, 4)))
        for topic, names in groups.items()
        for group in names
        for document in rng.permutation(documents)[: int(rng.integers(1, 12))].tolist()
    ]
    (tmp_path / "run").write_text(ranked)

    def printed(rows, measures, form):
        text = "".join(" ".join(map(str, rows[i])) + "\n" for i in rng.permutation(len(rows)))
        (tmp_path / "qrels").write_text(text)
        paths = str(tmp_path / "qrels"), str(tmp_path / "run")
        return table(report_lines(*paths, measures, form=form, per_topic=True, **choices))

    averaged = printed(rows, ["map_avgjg", "P_avgjg.1,5", "Rprec_mult_avgjg"], "qrels_jg")
    for topic, names in groups.items():
        of = [[row for row in rows if row[:2] == (topic, group)] for group in names]
        every = [printed(own, ["map", "P.1,5", "Rprec_mult"], "qrels")[topic] for own in of]
        for label, value in averaged[topic].items():
            alone = [one[label.replace("_avgjg", "")] for one in every]
            assert value == pytest.approx(np.mean(alone), abs=1.1e-4), label


def slow_preferences(rows, scores, depth):
    """The measures of one topic, from lines of group, subgroup, document and level."""
    ranking = sorted(scores, key=lambda document: (-scores[document], document))[:depth]
    documents = sorted({document for _, _, document, _ in rows})
    order = [d for d in ranking if d in documents] + [d for d in documents if d not in ranking]

    def good(a, b):
        return a in ranking and order.index(a) < order.index(b)

    def share(pairs):
        return sum(good(*pair) for pair in pairs) / len(pairs) if pairs else 0.0

    every, balanced = [], {"": [], "_ret": []}
    for group in sorted({row[0] for row in rows}):
        own = [row[1:] for row in rows if row[0] == group]
        pairs = {(a, b) for s, a, x in own for t, b, y in own if s == t and x > y}
        while more := {(a, d) for a, b in pairs for c, d in pairs if b == c} - pairs:
            pairs |= more
        every.append(sorted(pairs))
        level = {document: x for _, document, x in own}
        members = [d for d in order if d in level]
        partial = len({subgroup for subgroup, _, _ in own}) > 1
        for scope, counted in balanced.items():
            seen = [d for d in members if not scope or d in ranking]
            some = [d for d in seen if level[d] > 0]
            none = [d for d in seen if level[d] == 0]
            inside = [(a, b) for a, b in pairs if a in seen and b in seen]
            if len(some) >= len(none):
                # (fulfilled, possible); what is added is a pair of one relevant document each.
                lacking = len(some) - len(none)
                right = sum(good(*pair) for pair in inside)
                right += lacking * len([d for d in some if d in ranking])
                whole = len(inside) + lacking * len([d for d in members if level[d] > 0])
            elif partial:
                every_some = [d for d in members if level[d] > 0]
                first = [d for d in members if level[d] == 0][: len(every_some)]
                kept = [(a, b) for a, b in inside if {a, b} <= {*every_some, *first}]
                right, whole = sum(good(*pair) for pair in kept), len(kept)
            else:
                kept = [(a, b) for a, b in inside if level[b] > 0]
                kept += [(a, b) for a in seen for b in none[: len(some)]]
                right, whole = sum(good(*pair) for pair in kept), len(kept)
            counted.append((right, whole))

    values = {}
    for scope, least in {"": 0, "_imp": 1, "_ret": 2}.items():
        groups = [[p for p in pairs if len({*p} & {*ranking}) >= least] for pairs in every]
        flat = [pair for pairs in groups for pair in pairs]
        values["simp" + scope] = share(flat)
        values["avgjg" + scope] = float(np.mean([share(pairs) for pairs in groups]))
        either = {frozenset(pair) for pair in flat}
        shares = [share([pair for pair in flat if set(pair) == two]) for two in either]
        values["pair" + scope] = float(np.mean(shares)) if shares else 0.0
        if scope in balanced:
            values["num_prefs_ful" + scope] = sum(good(*pair) for pair in flat)
            sums = balanced[scope]
            known = all(whole for _, whole in sums)
            values["avgjg_Rnonrel" + scope] = (
                float(np.mean([right / whole for right, whole in sums])) if known else 0.0
            )
    values["num_prefs_poss"] = sum(map(len, every))
    return {f"prefs_{name}": value for name, value in values.items()}


@pytest.mark.parametrize("depth", [None, 4])
@pytest.mark.parametrize("form", ["prefs", "qrels_prefs"])
@pytest.mark.parametrize("seed", range(8))
def test_preferences_are_those_of_the_slow_definition(tmp_path, seed, form, depth):
    rng = np.random.default_rng(seed)
    documents = [f"d{i}" for i in range(14)]
    topics = ["1", "2", "3", "4", "5", "6"]
    ranked, scores = drawn(rng, topics, documents)
    rows = {topic: [] for topic in topics}
    for topic in topics:
        for group in ["b", "A", "10"][: int(rng.integers(1, 4))]:
            level = rng.integers(0, 4, len(documents)) * (rng.random(len(documents)) < rng.random())
            for subgroup in range(int(rng.integers(1, 4)) if form == "prefs" else 1):
                some = rng.permutation(len(documents))[: int(rng.integers(1, 10))].tolist()
                rows[topic] += [(group, subgroup, documents[i], level[i]) for i in some]
    lines = [
        f"{topic} {group} {f'{subgroup} ' * (form == 'prefs')}{document} {level}\n"
        for topic, of in rows.items()
        for group, subgroup, document, level in of
    ]
    (tmp_path / "run").write_text(ranked)
    (tmp_path / "qrels").write_text("".join(rng.permutation(lines)))
    paths = str(tmp_path / "qrels"), str(tmp_path / "run")
    found = table(report_lines(*paths, ["all_prefs"], form=form, per_topic=True, depth=depth))
    wanted = {topic: slow_preferences(rows[topic], scores[topic], depth) for topic in topics}
    for topic in topics:
        assert found[topic] == pytest.approx(wanted[topic], abs=6e-5)
    for name, value in found["all"].items():
        if name.startswith("prefs_"):
            total = np.mean([of[name] for of in wanted.values()])
            many = len(topics) if "_num_" in name else 1
            assert value == pytest.approx(total * many, abs=6e-5), name


PREFS = "1 g s a 2\n1 g s b 1\n2 g s a 1\n2 g s b 0\n"


@pytest.mark.parametrize(
    ("judgments", "error", "message"),
    [
        (PREFS + "1 g s b -1\n", InvalidValueError, "the level -1 of topic 1 group g subgroup s"),
        (PREFS + "1 g s b nan\n", InvalidValueError, "is not a finite number ≥ 0"),
        (PREFS + "1 g s b 5\n", DuplicateError, "group g subgroup s document b is judged twice"),
        (PREFS + "2 g t b 2\n", DataError, "topic 2 group g: document b has level 0"),
        (PREFS + "1 g t a 1\n1 g t b 2\n", DataError, "document [ab] is preferred to [ab], and"),
        (
            PREFS + "1 g t b 4\n1 g t c 3\n1 g u c 4\n1 g u a 3\n",
            DataError,
            "topic 1 group g: document . is preferred to",
        ),
        (QRELS, FileFormatError, "4 fields where a line needs 5"),
        (PREFS + "1 g s b five\n", FileFormatError, "line 5: the level 'five' is not a number"),
        (PREFS + "1 g s d 1 more\n", FileFormatError, "6 fields where a line needs 5"),
        (RUN, FileFormatError, "swapped"),
    ],
)
def test_preferences_without_meaning_are_refused_before_anything_is_printed(
    tmp_path, judgments, error, message
):
    for name, text in {"prefs": judgments, "run": RUN}.items():
        (tmp_path / name).write_text(text)
    result = run(f"-q -R prefs -m all_prefs {tmp_path / 'prefs'} {tmp_path / 'run'}")
    assert isinstance(result.exception, error)
    assert exit_code_of_error(result.exception) == 3
    assert result.stdout == ""
    with pytest.raises(error, match=message):
        raise result.exception


@pytest.mark.parametrize(
    ("form", "judgments"),
    [
        ("prefs", PREFS),
        ("qrels_prefs", PREFS.replace(" s", "")),
        ("qrels_jg", PREFS.replace(" s", "")),
    ],
)
def test_judgments_of_all_formats_need_results_and_their_own_measures(tmp_path, form, judgments):
    measure = "map_avgjg" if form == "qrels_jg" else "prefs_simp"
    run = RUN.replace("1 Q0", "3 Q0")
    with pytest.raises(DataError, match="topic 1 is judged"):
        lines(tmp_path, judgments, run, [measure], form=form)
    found = lines(tmp_path, judgments, run, [measure], form=form, per_topic=True, complete=True)
    assert found[0] == "1\t0.0000"
    with pytest.raises(DuplicateError, match=r"twice|repeated"):
        lines(tmp_path, judgments, RUN + "1 Q0 a 3 0 mine\n", [measure], form=form)
    with pytest.raises(UsageError, match=f"map needs judgments of another format .*-R {form} has"):
        lines(tmp_path, judgments, measures=["map"], form=form)
    with pytest.raises(UsageError, match="official needs judgments of another format"):
        lines(tmp_path, judgments, measures=["official"], form=form)
