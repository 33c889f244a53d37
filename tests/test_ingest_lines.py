"""TREC files as lines: compiled code and the reader of columns agree on every file."""

import itertools
import shutil
import sys
import sysconfig
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import rankmeter as rm
from rankmeter import _trec_eval
from rankmeter._ingest import Lines, _lines, _spans, read_rankings, read_truth
from rankmeter.errors import RankmeterError

COMPILES = shutil.which("cc") and Path(sysconfig.get_path("include"), "Python.h").exists()
pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(
        not COMPILES and _lines._scan is None, reason="no compiler with the headers of Python"
    ),
]

RUN = "q1 Q0 a 1 3.5 t\nq1 Q0 b 2 2 t\nq2 Q0 c 1 1e1 t\nq2 Q0 a 2 .5 t\n"
QRELS = "q1 0 b 1\nq1 0 z 0\nq2 0 a 2\nq2 0 c -1\n"
NUMBERS = [
    *("1", "2", "0", "-1", "+1", "0.5", ".5", "5.", "1e3", "1E-3", "1e+2", "-0.0", "-0", "00.10"),
    *(
        "0.1",
        "0.3",
        "1e22",
        "1e23",
        "1e400",
        "-1e400",
        "5e-324",
        "2e-324",
        "1.7976931348623157e308",
    ),
    *("9007199254740991", "9007199254740992", "9007199254740993", "18446744073709551616"),
    *(
        "0.30000000000000004",
        "123456789012345678901234567890",
        "1.00000000000000005551115123125783",
    ),
    *("inf", "-inf", "nan", "NaN", "0x10", "1_0", "1,5", "e5", ".", "-", "+", "1e", "1.5.2", "٣"),
]
TOPICS = ["q1", "q2", "7", "007", "é", "#x", "q 3"]
ITEMS = ["a", "b", "ab", "docid-123456789", "docid-123456780", "7", "07", "é", "日本", "'\"", "Q0"]
PLAIN = TOPICS[:3], ITEMS[:6], NUMBERS[:12]
ANY = TOPICS, ITEMS, NUMBERS
BREAKS = ["\n"] * 6 + ["\r\n", "\n\n", " \n", "\t\n", "\r", "\x0b", "\x1f\n"]
BLANKS = [" "] * 6 + ["\t", "  ", " \t ", "\x0c", "\xa0"]


@st.composite
def files(draw, form):
    """The text of a file: plain lines in order, or lines of any kind in any order."""
    topics, items, numbers = draw(st.sampled_from([PLAIN, ANY]))
    odd = topics is TOPICS
    pairs = st.tuples(st.sampled_from(topics), st.sampled_from(items), st.sampled_from(numbers))
    unique = (lambda one: one[:2]) if draw(st.booleans()) else None
    rows = draw(st.lists(pairs, min_size=1, max_size=12, unique_by=unique))
    if draw(st.booleans()):
        rows.sort(key=lambda one: topics.index(one[0]))
    lines = []
    for topic, item, number in rows:
        if form == "run":
            rank = draw(st.sampled_from(["1", "2", "x"]))
            fields = [topic, "Q0", item, rank, number, "t"]
        else:
            fields = [topic, "0", item, number]
        if odd and draw(st.integers(0, 9)) == 0:
            fields = fields[:-1] if draw(st.booleans()) else [*fields, "more"]
        blank = draw(st.sampled_from(BLANKS)) if odd else " "
        lines.append(blank.join(fields) + (draw(st.sampled_from(BREAKS)) if odd else "\n"))
    text = "".join(lines)
    return text.rstrip("\n") if draw(st.booleans()) else text


def outcome(call):
    """What a call gives, as values that can be compared."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            found = call()
        except RankmeterError as error:
            found = type(error), str(error)
    return found, sorted(str(one.message) for one in seen)


def evaluated(run, qrels):
    result = rm.evaluate(run, qrels, ["ndcg@3", "rr", "recall@2"], no_overlap="allow")
    frame = result.per_user
    return result.to_json(), frame.rows(), frame.schema, repr(result)


def read(reader, path):
    table = reader(path)
    users = {*table.users.to_list()}, table.users.dtype, table.empty_users.to_list()
    frame = table.frame
    bits = frame.to_series(2).to_numpy().view(np.int64).tolist()
    return frame.rows(), frame.schema, bits, users, table.origin, table.height


def both_ways(call):
    """The outcome of compiled code, with several threads, and that of the reader of columns."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_lines, "_PER_THREAD", 16)
        compiled = outcome(call)
        patch.setattr(_lines, "_scan", None)
        return compiled, outcome(call)


@given(files("run"), files("qrels"), st.sampled_from(["utf-8", "latin-1", "utf-16"]))
@example(RUN, QRELS, "utf-8")
def test_files_mean_the_same_with_and_without_compiled_code(tmp_path_factory, run, qrels, encoding):
    folder = tmp_path_factory.mktemp("files")
    paths = folder / "a.run", folder / "a.qrels"
    for path, text in zip(paths, (run, qrels), strict=True):
        path.write_bytes(text.encode(encoding, "ignore"))
    for call in (
        lambda: read(read_rankings, paths[0]),
        lambda: read(read_truth, paths[1]),
        lambda: evaluated(*paths),
        lambda: [*_trec_eval.report(str(paths[1]), str(paths[0]), ["all_trec"], per_topic=True)],
        lambda: [*_trec_eval.report(str(paths[1]), str(paths[0]), complete=True, level=2)],
        lambda: [
            *_trec_eval.report(
                str(paths[1]), str(paths[0]), ["map", "ndcg", "rbp"], depth=2, judged_only=True
            )
        ],
    ):
        compiled, columns = both_ways(call)
        assert compiled == columns


@given(st.one_of(
    st.from_regex(r"[+-]?[0-9]{0,22}\.?[0-9]{0,22}(e[+-]?[0-9]{1,3})?", fullmatch=True),
    st.floats(-1e15, 1e15).map(repr),
    st.decimals(-10, 10, places=20).map(str),
))  # fmt: skip
def test_numbers_are_rounded_correctly(tmp_path_factory, number):
    path = tmp_path_factory.mktemp("numbers") / "a.run"
    path.write_text(f"q Q0 a 1 {number} t\n")
    try:
        wanted = float(number)
    except ValueError:
        return
    rows = read_rankings(path).rows
    if isinstance(rows, Lines):
        assert rows.numbers.tolist() == [wanted]
        assert np.signbit(rows.numbers[0]) == np.signbit(wanted)
    else:
        assert abs(wanted) >= 2**53


def many(folder, n_topics, n_lines):
    """Files of many lines, of which a few are relevant, with ties."""
    rng = np.random.default_rng(n_topics)
    scores = rng.integers(0, 40, (n_topics, n_lines)) / 8
    run = "".join(
        f"q{topic} Q0 d{7 * item % 1009} {item} {score} t\n"
        for topic, mine in enumerate(scores.tolist())
        for item, score in enumerate(mine)
    )
    qrels = "".join(
        f"q{topic} 0 d{item} {item % 4}\n" for topic in range(n_topics) for item in range(0, 90, 9)
    )
    paths = folder / "a.run", folder / "a.qrels"
    for path, text in zip(paths, (run, qrels), strict=True):
        path.write_text(text)
    return paths


@pytest.mark.parametrize(("n_topics", "n_lines"), [(1, 900), (40, 90), (2500, 3)])
def test_many_lines_are_read_in_threads(tmp_path, n_topics, n_lines):
    paths = many(tmp_path, n_topics, n_lines)
    compiled, columns = both_ways(lambda: (read(read_rankings, paths[0]), evaluated(*paths)))
    assert compiled == columns
    assert isinstance(read_rankings(paths[0]).rows, Lines)
    for twice in (paths[0].read_text().splitlines(keepends=True)[0], "q0 Q0 new 1 1 t\n"):
        again = tmp_path / "twice.run"
        again.write_text(paths[0].read_text() + twice)
        compiled, columns = both_ways(lambda: evaluated(again, paths[1]))  # noqa: B023
        assert compiled == columns
        if n_topics > 1:  # a topic twice, or an item
            assert not isinstance(read_rankings(again).rows, Lines)


@pytest.mark.parametrize(
    "options",
    [
        *({"ties": one} for one in ("item-descending", "text", "input", "expected", "realistic")),
        {"pool": "judged"},
        {"scope": "appended"},
        {"duplicates": "best"},
        {"relevant": 2, "missing": "zero"},
        {"metrics": ["coverage@5", "ndcg@5"]},
        {"metrics": ["psp@5"]},
    ],
    ids=str,
)
def test_every_choice_sees_the_same_lines(tmp_path, options):
    paths = many(tmp_path, 20, 60)
    asked = {"metrics": ["ndcg@10", "map"], **options}
    compiled, columns = both_ways(lambda: rm.evaluate(*paths, **asked).to_json())
    assert compiled == columns


def test_lines_meet_other_forms(tmp_path):
    run, qrels = many(tmp_path, 5, 30)
    judged, ranked = read_truth(qrels).frame, read_rankings(run).frame
    wanted = evaluated(ranked, judged)[:2]
    listed = {
        user: dict(zip(mine["item"], mine["score"], strict=True))
        for (user,), mine in ranked.group_by("user", maintain_order=True)
    }
    graded = {
        user: dict(zip(mine["item"], mine["gain"], strict=True))
        for (user,), mine in judged.group_by("user", maintain_order=True)
    }
    for one, other in itertools.product((run, ranked, listed), (qrels, judged, graded)):
        assert evaluated(one, other)[1] == wanted[1]
    both = rm.compare({"file": run, "frame": ranked, "dict": listed}, qrels, ["ndcg@10"])
    assert [one.difference for one in both["ndcg@10"]] == [0, 0, 0]


def test_plain_files_become_no_column_of_text(tmp_path, monkeypatch):
    paths = many(tmp_path, 50, 100)

    def frame(self):
        raise AssertionError("rows were made")

    monkeypatch.setattr(Lines, "frame", frame)
    made, series = [], _spans.Spans.series
    monkeypatch.setattr(_spans.Spans, "series", lambda self: made.append(len(self)) or series(self))
    rm.evaluate(*paths, ["ndcg@10", "recall@100"], ties="expected")
    [*_trec_eval.report(str(paths[1]), str(paths[0]), ["map", "recip_rank"])]
    assert max(made) <= 50 * 100  # the items of tied groups
    assert made.count(50) == 4  # the topics of each file


def test_compiled_code_refuses_what_does_not_fit():
    scan, content = _lines._scan, b"q Q0 a 1 2 t\n"
    spans, numbers = np.zeros(1, _spans.SPAN), np.zeros(1)
    first, found = np.zeros(1, np.int64), np.zeros(1)
    outside = spans.copy()
    outside["start"], outside["size"] = 10, 9
    calls = [
        (IndexError, scan.cut, (content, 99)),
        (IndexError, scan.count, (content, 3, 2)),
        (IndexError, scan.scan, (content, 0, 99, 6, 4, spans, numbers, spans, first)),
        (ValueError, scan.scan, (content, 0, 5, 6, 2, spans, numbers, spans, first)),
        (ValueError, scan.scan, (content, 0, 5, 6, 4, spans, numbers[:0], spans, first)),
        (IndexError, scan.gather, (content, outside)),
        (IndexError, scan.write_hashes, (content, outside)),
        (ValueError, scan.look_up,
         (content, spans, numbers, np.arange(2), first, content, spans, found[:0])),
        (IndexError, scan.look_up,
         (content, spans, numbers, np.arange(2), first + 1, content, spans, found)),
        (IndexError, scan.look_up,
         (content, spans, numbers, np.arange(2) * 5, first, content, spans, found)),
    ]  # fmt: skip
    for error, function, arguments in calls:
        with pytest.raises(error):
            function(*arguments)
    assert scan.scan(content * 2, 0, 26, 6, 4, spans, numbers, spans, first) is None  # no room
    assert not scan.different(content, np.repeat(spans, 2))


def test_compiled_code_keeps_no_reference(tmp_path):
    run, _ = many(tmp_path, 3, 50)
    content = run.read_bytes()
    fields = ["qid", "Q0", "docid", "rank", "score", "tag"]
    before = sys.getrefcount(content), sys.getrefcount(None)
    for _ in range(200):
        rows = Lines.of(_lines.Text("a", content), fields, ["qid", "docid", "score"])
        rows.look_up(np.array([0, 1]), rows.spans.take(np.array([0, 50])))
        del rows
    assert sys.getrefcount(content) == before[0]
    assert abs(sys.getrefcount(None) - before[1]) < 50 or sys.version_info >= (3, 12)
