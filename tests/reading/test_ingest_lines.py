"""TREC files whose documents stay in the text: compiled code finds what Polars finds."""

from __future__ import annotations

import gzip
import itertools
import os
import shutil
import subprocess
import sys
import sysconfig
import warnings
from pathlib import Path
from random import Random

import numpy as np
import polars as pl
import pytest

from rankmeter import _native, compare, evaluate
from rankmeter._formats import files as _files
from rankmeter._formats import lines as _lines
from rankmeter._formats import text as _text
from rankmeter._formats.lines import SPAN, Lines, Spans
from rankmeter._formats.text import Text, file_state
from rankmeter._reading import memory as _memory
from rankmeter._reading.read import read_rankings, read_truth
from rankmeter.errors import FileFormatError, NotEnoughMemoryError, RankmeterError

COMPILES = shutil.which("cc") and Path(sysconfig.get_path("include"), "Python.h").exists()
pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(
        not COMPILES and _native.native is None, reason="no compiler with the headers of Python"
    ),
]

RUN = ["qid", "Q0", "docid", "rank", "score", "tag"]
QRELS = ["qid", "0", "docid", "rel"]


def lines_of(content, fields=RUN, encoding="utf-8"):
    value = "score" if fields is RUN else "rel"
    return Lines.of(Text("run", content, encoding), fields, ["qid", "docid", value])


# ---------------------------------------------------------------------------------------------
# Numbers

PLAIN = [
    "0",
    "-0",
    "-0.0",
    "+1",
    "007",
    "1e3",
    "1E-3",
    "1.e3",
    ".5",
    "-.5",
    "5.",
    "0.1",
    "19.123456789012345",
    "0.30000000000000004",
    "1e-27",
    "9007199254740991",
    "-9007199254740991.0",
    "8.999999999999999999",
    "1.2345678901234567e-30",
    "5e-324",
    "1e-400",
    "123456789.123456789012345",
    "0.00000000000000000000000000000001",
    "4.35",
    "2.2250738585072014e-308",
]
UNUSUAL = [
    "9007199254740992",
    "9007199254740993",
    "1e400",
    "-1e400",
    "1e16",
    "inf",
    "-inf",
    "nan",
    "NaN",
    "infinity",
    "0x10",
    "1_000",
    "1e",
    "e3",
    "1e+",
    "-",
    "+",
    ".",
    ".e3",
    "--1",
    "1.2.3",
    "1,5",
    "1d3",
    "1f",
    "١",
    "1e99999999999999999999",
]


@pytest.mark.parametrize("number", PLAIN)
def test_plain_numbers_are_read_as_python_reads_them(number):
    found = lines_of(f"q 0 d {number}\n".encode(), QRELS)
    assert repr(found.numbers.tolist()) == repr([float(number)])


@pytest.mark.parametrize("number", UNUSUAL)
def test_other_numbers_need_a_closer_look(number):
    assert lines_of(f"q 0 d {number}\n".encode(), QRELS) is None


def test_numbers_of_any_length_are_correctly_rounded():
    draw, texts = Random(7), []
    for _ in range(40_000):
        digits = draw.randint(1, 21)
        text = str(draw.randrange(10**digits)).zfill(draw.choice([1, digits]))
        at = draw.randint(0, len(text))
        texts.append(f"{text[:at][-15:]}.{text[at:]}" if draw.random() < 0.9 else text[:15])
        if draw.random() < 0.3:
            texts[-1] += f"e{draw.choice('-+')}{draw.choice([0, 1, 5, 15, 22, 28])}"
        texts.append(repr(draw.gauss(0, 1)))
        # Halfway between two floats, or just next to it.
        half = (2**53 + 2 * draw.randrange(2**52) + 1) * 5 ** draw.randint(0, 3)
        texts.append(f"{half // 10**3}.{half % 10**3:03d}")
    texts = [text for text in texts if text != "." and abs(float(text)) < 2**53]
    content = "".join(f"q 0 {i} {text}\n" for i, text in enumerate(texts)).encode()
    assert lines_of(content, QRELS).numbers.tolist() == [float(text) for text in texts]


# ---------------------------------------------------------------------------------------------
# Files

NUMBERS = [["1.5", "0.25", "3"], ["1", "2", "2"], PLAIN, [*PLAIN, *UNUSUAL]]
TOPICS = [["1", "2", "3"], ["q1", "q10", "q2"], ["ü", "q", "é"], ["#1", "2"]]
DOCUMENTS = [
    [*"abcdefghij"],
    [*map(str, range(12))],
    ["007", "7", "-7", "+7", "a"],
    ["é", "Z", "a\u00a0", "\u3000b", "\u200bc", "a\U0001f600", '"a', "a,b", "x" * 30],
]
ENDS = [["\n"], ["\n"], ["\r\n"], ["\n", " \n", "\t\n"], ["\n", "\n\n"], ["\n", "\r"]]
GAPS = [[" "], ["\t"], [" ", "\t"], [" ", "  ", " \t "], [" ", "\x0b"], [" ", "\x01"]]


def written(draw, fields, topics, documents):
    """A file that has what real ones have, and now and then what none should have."""
    usual = draw.random() < 0.6
    numbers, ends, gaps = (
        draw.choice(some[:3] if usual else some) for some in (NUMBERS, ENDS, GAPS)
    )
    rows = []
    for topic in draw.sample(topics, draw.randint(1, len(topics))):
        listed = draw.sample(documents, draw.randint(1, len(documents)))
        if draw.random() < 0.05:
            listed.append(draw.choice(listed))
        for rank, item in enumerate(listed, start=1):
            number = draw.choice(numbers)
            if fields is RUN:
                rows.append([topic, "Q0", item, str(rank), number, "tag"])
            else:
                rows.append([topic, "0", item, number if draw.random() < 0.5 else "1"])
    if draw.random() < 0.1:
        draw.shuffle(rows)
    if draw.random() < 0.08:
        draw.choice(rows).append("more")
    if draw.random() < 0.08:
        draw.choice(rows).pop()
    lines = []
    for row in rows:
        gap = draw.choice(gaps)
        indent = draw.choice(["", "", " "]) if not usual else ""
        lines += [indent + gap.join(row), draw.choice(ends)]
    if not usual and draw.random() < 0.2:
        lines.insert(0, "# a comment\n")
    if draw.random() < 0.3:
        lines.pop()
    content = "".join(lines).encode()
    if draw.random() < 0.03:
        content = content.replace(b"a", b"\xe9")
    return content


def outcome(run):
    """What comes of a call: its result, its error and its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = run()
        except RankmeterError as error:
            result = f"{type(error)} {error}"
    return result, [str(one.message) for one in caught]


OPTIONS = [{}, {"ties": "item"}, {"ties": "text-descending"}, {"duplicates": "best"}]
OPTIONS += [{"ties": "input"}, {"pool": "judged"}, {"judgements": "max"}, {"ties": "expected"}]


def evaluated(rankings, truth, **options):
    found = evaluate(rankings, truth, ["ndcg@5", "map", "rr", "precision@3"], **options)
    per_user = found.per_user
    return found.to_json(), per_user.to_dicts(), per_user.schema


def reported(rankings, truth, *more, **options):
    """What the command trec_eval prints."""
    from rankmeter._cli._trec_eval._report import report_lines

    return [*report_lines(str(truth), str(rankings), *more, **options)]


def tables(*files):
    """The rows of both sides as they are read."""
    for read, file in zip((read_rankings, read_truth), files, strict=False):
        table = read(file)
        yield table.frame.rows(), table.frame.schema, table.empty_users.to_list()
        yield table.order, table.origin, table.id_dtype("user"), table.id_dtype("item")
        yield [*map(repr, table.frame.to_series(2))]


@pytest.mark.parametrize("seed", range(100))
def test_compiled_code_finds_what_polars_finds(seed, tmp_path, monkeypatch):
    draw = Random(seed)
    topics, documents = draw.choice(TOPICS), draw.choice(DOCUMENTS)
    run, qrels = tmp_path / "a.run", tmp_path / "a.qrels"
    run.write_bytes(written(draw, RUN, topics, documents))
    qrels.write_bytes(written(draw, QRELS, topics, documents))
    whole = draw.random() < 0.5
    judged = {int(t) if whole and t.isdigit() else t: {"a": 1, "b": 2} for t in topics}
    numbered = {t: {7: 1.0, 1: 0.5} for t in topics}
    options = draw.choice(OPTIONS)
    calls = [
        lambda: [*tables(run, qrels)],
        lambda: evaluated(run, qrels, **options),
        lambda: evaluated(run, judged, **options),
        lambda: evaluated(run, numbered, **options),
        lambda: evaluated({t: {"a": 1.0, "b": 2.0} for t in topics}, qrels, **options),
        lambda: evaluated(run, pl.DataFrame({"user": topics, "item": ["a"] * len(topics)})),
        lambda: evaluated(run, qrels, relevant=">=2", depth=3),
        lambda: evaluate(run, qrels, "coverage@2").to_json(),
    ]
    calls += [
        lambda more=more: reported(run, qrels, ["all_trec", "relstring"], per_topic=True, **more)
        for more in ({}, {"complete": True}, {"judged_only": True}, {"depth": 2}, {"level": 2})
    ]
    monkeypatch.setattr(_lines, "_PER_THREAD", draw.choice([8, 40, 2**20]))
    monkeypatch.setattr(_lines, "_PIECE", draw.choice([4, 50, 2**20]))
    monkeypatch.setattr(_files, "_LARGE", draw.choice([1, 2**20]))
    compiled = [outcome(call) for call in calls]
    monkeypatch.setattr(_native, "native", None)
    for number, (call, found) in enumerate(zip(calls, compiled, strict=True)):
        assert repr(outcome(call)) == repr(found), number


PLAIN_FILES = {
    "spaces": b"q Q0 a 1 2.5 t\nq Q0 b 2 1.5 t\nr Q0 a 1 1 t\n",
    "tabs": b"q\tQ0\ta\t1\t2.5\tt\nq\tQ0\tb\t2\t1.5\tt\nr\tQ0\ta\t1\t1\tt\n",
    "columns": b"  q   Q0  a 1  2.5 t \nq Q0 b 2 1.5 t\t\nr Q0 a 1 1 t\n",
    "Windows": b"q Q0 a 1 2.5 t\r\nq Q0 b 2 1.5 t\r\nr Q0 a 1 1 t\r\n",
    "blank lines": b"\nq Q0 a 1 2.5 t\n\nq Q0 b 2 1.5 t\nr Q0 a 1 1 t\n\n",
    "no end": b"q Q0 a 1 2.5 t\nq Q0 b 2 1.5 t\nr Q0 a 1 1 t",
}


@pytest.mark.parametrize("content", PLAIN_FILES.values(), ids=PLAIN_FILES)
@pytest.mark.parametrize("part", [1, 20, 2**20])
def test_documents_stay_in_the_text(content, part, monkeypatch):
    monkeypatch.setattr(_lines, "_PER_THREAD", part)
    found = lines_of(content)
    assert found.frame().rows() == [("q", "a", 2.5), ("q", "b", 1.5), ("r", "a", 1.0)]
    assert found.offsets.tolist() == [0, 2, 3]
    assert found.take_items(np.array([1, 2])).to_list() == ["b", "a"]
    part = found.select_by_index(np.array([1]))
    assert part.frame().rows() == [("r", "a", 1.0)]
    assert found.select_by_index(np.array([], dtype=np.int64)).frame().height == 0
    sought = Spans.of(["b", "x", "", "a"], "utf-8")
    scores = found.look_up_scores(np.array([0, 0, 1, 1]), sought)
    assert repr(scores.tolist()) == "[1.5, nan, nan, 1.0]"


def large(path, content, encoding="utf-8", read=None, size=None):
    """A file that is not in memory, and what asks for its content."""
    path.write_bytes(content)
    state = file_state(path) if size is None else (size, 0, 0)
    text = Text(str(path), content[:4], encoding, read or (lambda: content), state)
    return Lines.of(text, RUN, ["qid", "docid", "score"])


@pytest.mark.parametrize("content", PLAIN_FILES.values(), ids=PLAIN_FILES)
@pytest.mark.parametrize("piece", [1, 20, 2**20])
def test_a_large_file_is_read_in_pieces(content, piece, tmp_path, monkeypatch):
    monkeypatch.setattr(_lines, "_PIECE", piece)
    for part in (1, 2**20):
        monkeypatch.setattr(_lines, "_PER_THREAD", part)
        found, wanted = large(tmp_path / "a.run", content), lines_of(content)
        assert found.frame().equals(wanted.frame())
        assert found.offsets.tolist() == wanted.offsets.tolist()
        assert found.trimmed


def test_what_a_large_file_has_elsewhere_is_looked_at(tmp_path):
    """Content in memory may differ from that of the file: without comments, for example."""
    plain = PLAIN_FILES["spaces"]
    for content in CLOSER_LOOK.values():
        assert large(tmp_path / "a.run", content, read=lambda: content) is None  # noqa: B023
        assert large(tmp_path / "a.run", content, read=lambda: plain) is not None
    accented = plain.replace(b"a", "é".encode())
    found = large(tmp_path / "a.run", accented, read=lambda: accented)
    assert found.frame().equals(lines_of(accented).frame())
    assert not found.trimmed
    assert large(tmp_path / "a.run", accented, "latin-1") is not None


def test_a_file_that_becomes_shorter_is_read_again(tmp_path, monkeypatch):
    monkeypatch.setattr(_lines, "_PIECE", 30)
    content = PLAIN_FILES["spaces"]
    for size in (len(content) + 1, len(content) + 100):
        found = large(tmp_path / "a.run", content, read=lambda: content, size=size)
        assert found.frame().equals(lines_of(content).frame())


@pytest.mark.parametrize("when", ["_count_lines", "_read_part"])
@pytest.mark.parametrize("more", [b"s Q0 a 1 2 t\n", b""])
def test_a_file_that_changes_is_read_again(when, more, tmp_path, monkeypatch):
    """All lines are of one state of the file, whenever it is replaced."""
    monkeypatch.setattr(_files, "_LARGE", 1)
    path, old = tmp_path / "a.run", PLAIN_FILES["spaces"]
    new, look = more + old.replace(b"a", b"n"), getattr(_lines._Scan, when)

    def change(*arguments):
        path.write_bytes(new)
        return look(*arguments)

    path.write_bytes(old)
    os.utime(path, (0, 0))  # clocks may have steps of milliseconds
    with monkeypatch.context() as patch:
        patch.setattr(_lines._Scan, when, change)
        found = [*tables(path)]
    path.write_bytes(new)
    assert found == [*tables(path)]


@pytest.mark.parametrize("name", ["evaluate", "trec_eval"])
@pytest.mark.parametrize("when", ["at once", "later", "last"])
def test_a_large_file_that_cannot_be_read_is_named(name, when, tmp_path, monkeypatch):
    monkeypatch.setattr(_files, "_LARGE", 1)
    run, qrels = tmp_path / "a.run", tmp_path / "a.qrels"
    run.write_bytes(PLAIN_FILES["spaces"])
    qrels.write_bytes(b"q 0 b 1\n")
    large = _files.open_large_text

    def gone(path, *more):
        given = large(path, *more)
        if Path(path) == run:
            run.unlink()
        return given

    if when == "at once":
        monkeypatch.setattr(_text, "file_state", lambda _: Path("/no/such").stat())
        monkeypatch.setattr(_files, "file_state", lambda _: Path("/no/such").stat())
    elif when == "last":
        lines_of_scan = _lines._Scan.read_lines

        def lines_before(scan):
            lines = lines_of_scan(scan)
            Path(scan.file.name).unlink()
            return lines

        monkeypatch.setattr(_lines._Scan, "read_lines", lines_before)
    else:
        monkeypatch.setattr(_files, "open_large_text", gone)
        if name == "trec_eval":
            monkeypatch.setattr("rankmeter._cli._trec_eval._files.open_large_text", gone)
    call = evaluated if name == "evaluate" else reported
    with pytest.raises(FileFormatError, match=r"a\.(run|qrels) cannot be read: No such file"):
        call(run, qrels)


@pytest.mark.parametrize("name", ["evaluate", "trec_eval"])
def test_a_large_file_that_becomes_empty_is_said_to_be(name, tmp_path, monkeypatch):
    monkeypatch.setattr(_files, "_LARGE", 1)
    run, qrels = tmp_path / "a.run", tmp_path / "a.qrels"
    qrels.write_bytes(b"q 0 b 1\n")
    large = _files.open_large_text

    def emptied(path, *more):
        given = large(path, *more)
        if Path(path) == run:
            run.write_bytes(b" \n")
        return given

    monkeypatch.setattr(_files, "open_large_text", emptied)
    if name == "trec_eval":
        monkeypatch.setattr("rankmeter._cli._trec_eval._files.open_large_text", emptied)
    run.write_bytes(PLAIN_FILES["spaces"])
    with pytest.raises(FileFormatError, match=r"a\.run is empty"):
        (evaluated if name == "evaluate" else reported)(run, qrels)


def test_only_large_plain_files_stay_on_disk(tmp_path, monkeypatch):
    monkeypatch.setattr(_files, "_LARGE", 40)
    plain = PLAIN_FILES["spaces"]
    cases = {
        "a.run": (plain, True),
        "b.run": (plain[:30], False),
        "c.run": (b"\xef\xbb\xbf" + plain, False),
        "d.run": (plain.replace(b"\n", b"\r"), False),
        "e.run": (b" \n" * 30 + plain, True),
        "f.run.gz": (gzip.compress(plain * 9, mtime=0), False),
    }
    for name, (content, on_disk) in cases.items():
        path = tmp_path / name
        path.write_bytes(content)
        assert _files.read_text(path).is_unread == on_disk, name


def test_comments_of_a_large_file_are_no_lines(tmp_path, monkeypatch):
    run, qrels = tmp_path / "a.run", tmp_path / "a.qrels"
    run.write_bytes(PLAIN_FILES["spaces"] + b"# the end\n")
    qrels.write_bytes(b"# the start\nq 0 b 1\n")
    wanted = reported(run, qrels, per_topic=True)
    assert ["runid", "all", "t"] in [line.split() for line in wanted]
    monkeypatch.setattr(_files, "_LARGE", 1)
    assert reported(run, qrels, per_topic=True) == wanted
    run.write_bytes(b"# nothing\n" * 9)
    with pytest.raises(FileFormatError, match="is empty"):
        reported(run, qrels)


def test_a_large_file_is_refused_if_its_lines_do_not_fit(tmp_path, monkeypatch):
    monkeypatch.setattr(_files, "_LARGE", 1)
    monkeypatch.setattr(_memory, "_LITTLE", 0)
    path = tmp_path / "a.run"
    path.write_bytes(PLAIN_FILES["spaces"] * 9)
    monkeypatch.setattr(_memory, "available_memory", lambda: 9 * 3 * 28 - 1)
    with pytest.raises(NotEnoughMemoryError, match=r"a\.run \(27 lines\) needs at least 756 bytes"):
        read_rankings(path)


@pytest.mark.parametrize("name", ["a.run", "a.csv", "a.txt"])
def test_a_large_file_has_the_errors_of_others(name, tmp_path, monkeypatch):
    path = tmp_path / name
    start = b"user,item,score\n" if name == "a.csv" else b""
    for content in (b"q Q0 a 1 2.5 t\nq Q0 \xe9 1 2 t\n", b"\n\n\n", b"1 Q0 a 1 x t\n", b"a\nb"):
        path.write_bytes(start + content)
        monkeypatch.setattr(_files, "_LARGE", 2**20)
        wanted = outcome(lambda: [*tables(path)])
        monkeypatch.setattr(_files, "_LARGE", 1)
        assert outcome(lambda: [*tables(path)]) == wanted


CLOSER_LOOK = {
    "nothing": b"\n\n",
    "a document twice": b"q Q0 a 1 2 t\nq Q0 a 2 1 t\n",
    "a topic twice": b"q Q0 a 1 2 t\nr Q0 a 1 1 t\nq Q0 b 2 1 t\n",
    "a field too few": b"q Q0 a 1 2\n",
    "a field too many": b"q Q0 a 1 2 t t\n",
    "a comment": b"# Q0 a 1 2 t\n",
    "a control character": b"q Q0 a\x00 1 2 t\n",
    "a carriage return in a line": b"q Q0 a\r 1 2 t\n",
    "a carriage return at the end": b"q Q0 a 1 2 t\r",
    "a vertical tab": b"q Q0 a\x0b1 2 t\n",
    "white space alone": b"q Q0 a 1 2 t\n \n",
}


@pytest.mark.parametrize("content", CLOSER_LOOK.values(), ids=CLOSER_LOOK)
def test_other_lines_need_a_closer_look(content):
    assert lines_of(content) is None


def test_many_topics_in_turn_need_a_closer_look():
    rows = [f"q{i % 1500} Q0 d{i} 1 1 t\n" for i in range(3000)]
    assert lines_of("".join(rows).encode()) is None
    assert len(lines_of("".join(rows[:1500]).encode()).users) == 1500


def test_names_in_another_encoding():
    content = b"\xe9 0 \xff\xfe 1\n\xe9 0 \xef\xbb\xbf 2\n"
    found = lines_of(content, QRELS, "latin-1")
    assert found.frame().rows() == [("é", "ÿþ", 1.0), ("é", "ï»¿", 2.0)]
    assert lines_of("q 0 \ufeffa 1\n".encode(), QRELS).frame()["item"].to_list() == ["\ufeffa"]


# ---------------------------------------------------------------------------------------------
# Many lines


def both_ways(call):
    """The outcome of compiled code, with several threads, and that of the reader of columns.

    That of compiled code is the same if the files are not in memory.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_lines, "_PER_THREAD", 16)
        patch.setattr(_lines, "_PIECE", 1000)
        compiled = outcome(call)
        patch.setattr(_files, "_LARGE", 1)
        assert outcome(call) == compiled
        patch.setattr(_native, "native", None)
        return compiled, outcome(call)


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
    compiled, columns = both_ways(lambda: ([*tables(*paths)], evaluated(*paths)))
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
    compiled, columns = both_ways(lambda: evaluate(*paths, **asked).to_json())
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
    both = compare({"file": run, "frame": ranked, "dict": listed}, qrels, ["ndcg@10"])
    assert [one.difference for one in both["ndcg@10"]] == [0, 0, 0]


# ---------------------------------------------------------------------------------------------
# Compiled code


def spans(*places):
    return np.array([(start, size, 0) for start, size in places], SPAN)


@pytest.mark.parametrize(
    "call",
    [
        lambda native: native.gather(b"abc", spans((2, 2))),
        lambda native: native.gather(b"abc", spans((-1, 1))),
        lambda native: find(native, at=[1]),
        lambda native: find(native, at=[-1]),
        lambda native: find(native, offsets=[0, 2]),
        lambda native: find(native, at=[0, 0]),
        lambda native: find(native, sought=(1, 1)),
        lambda native: find(native, item=(1, 1)),
        lambda native: native.scan(LINE, *arrays(1), room(8), progress(number=4)),
        lambda native: native.scan(LINE, *arrays(1), room(8), progress(number=2)),
        lambda native: native.scan(LINE, *arrays(1), room(8), progress(n_fields=9)),
        lambda native: native.scan(LINE, *arrays(1), room(8), progress()[:5]),
        lambda native: native.scan(LINE, *arrays(1)[:4], *arrays(2)[4:], room(8), progress()),
        lambda native: native.scan(LINE, *arrays(1), room(7), progress()),
        lambda native: native.scan(LINE, *arrays(1), room(8), progress(used=1)),
        lambda native: native.scan(LINE, *arrays(1), room(8), progress(used=-1)),
        lambda native: native.scan(LINE, *arrays(1), room(8), progress(used=9)),
        lambda native: native.scan(LINE, *arrays(1), room(8), progress(n=2)),
        lambda native: native.scan(LINE, *arrays(1), room(8), progress(n_topics=1)),
    ],
)
def test_compiled_code_refuses_what_is_out_of_bounds(call):
    with pytest.raises(ValueError, match="do not fit"):
        call(_native.native)


LINE = b"q 0 d 1\n"


def arrays(n):
    return [np.empty(n, dtype) for dtype in (SPAN, np.float64, np.int32, SPAN, np.int64)]


def room(n):
    return np.empty(n, np.uint8)


def progress(*, n_fields=4, number=3, last=1, n=0, n_topics=0, used=0):
    return np.array([n_fields, number, last, n, n_topics, used, 0])


def scanned(content):
    """The ids of a content of so many lines as `scan` writes them."""
    written, kept = arrays(content.count(b"\n")), room(len(content))
    assert _native.native.scan(content, *written, kept, progress()) == len(content)
    return kept, written[0]


def find(native, at=(0,), offsets=(0, 1), item=None, sought=(0, 1)):
    kept, items = scanned(b"q 0 a 1\n")
    items = items if item is None else spans(item)
    at, offsets, found = np.array(at), np.array(offsets), np.empty(1)
    native.find_in_lines(kept, items, np.ones(1), offsets, at, b"a", spans(sought), found)
    return found.tolist()


def test_compiled_code_needs_room_for_all_lines():
    native = _native.native
    content, at = b"q 0 d 1\nq 0 e 1\n", progress(used=4)
    assert native.scan(content, *arrays(1), room(16), progress()) == -1
    written, kept = arrays(2), room(20)
    assert native.scan(content, *written, kept, at) == 16
    assert at[3:6].tolist() == [2, 1, 7]
    assert kept[4:7].tobytes() == b"qde"
    assert written[0]["start"].tolist() == [5, 6]
    assert native.scan(b"", *arrays(0), room(0), progress()) == 0
    assert native.gather(b"", arrays(0)[0]) == b""
    assert find(native) == [1.0]


def test_lines_and_topics_go_on_in_the_next_piece():
    content = b"q 0 a 1\nq 0 b 2\nr 0 a 3\nr 0 c 4"
    for cut in range(len(content)):
        written, kept, at = arrays(4), room(len(content)), progress(last=0)
        start = _native.native.scan(content[:cut], *written, kept, at)
        assert start == content.rfind(b"\n", 0, cut) + 1
        at[2] = 1
        assert _native.native.scan(content[start:], *written, kept, at) == len(content) - start
        assert at[3:6].tolist() == [4, 2, 6]
        assert written[1].tolist() == [1, 2, 3, 4]
        assert written[4][:2].tolist() == [0, 2]
        again = progress(last=0)
        _native.native.scan(content[:cut], *written, kept, again)
        again[2] = 1
        repeated = content[start:].replace(b"b 2", b"a 2").replace(b"c 4", b"a 4")
        assert _native.native.scan(repeated, *written, kept, again) == -1


def test_ids_are_compared_themselves():
    kept, items = scanned(b"q 0 a 1\nq 0 b 2\n")
    found = np.empty(3)
    items["hash"][1] = items["hash"][0]
    arguments = np.array([1.0, 2.0]), np.array([0, 2]), np.zeros(3, dtype=np.int64)
    sought = spans((0, 1), (1, 1), (1, 1))  # the last one is repeated
    _native.native.find_in_lines(kept, items, *arguments, b"ca", sought, found)
    assert repr(found.tolist()) == "[nan, 1.0, 1.0]"


def test_hashes_of_another_process_are_refused():
    """As after pickling: they are random, so that ids cannot be chosen to collide."""
    code = "import sys, test_ingest_lines as t; print(t.scanned(b'q 0 abc 1\\n')[1]['hash'][0])"
    paths = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    hashes = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            check=True,
            env={**os.environ, "PYTHONPATH": paths},
        ).stdout
        for _ in range(2)
    }
    assert len(hashes) == 2
    kept, items = scanned(b"q 0 a 1\n")
    items["hash"] ^= 1
    with pytest.raises(ValueError, match="do not fit"):
        _native.native.find_in_lines(
            kept, items, np.ones(1), np.array([0, 1]), np.array([0]), b"a", spans((0, 1)), room(8)
        )


@pytest.mark.parametrize("size", range(1, 20))
def test_a_hash_depends_on_the_bytes_alone(size):
    name = b"x" * size
    content = b"q 0 " + name + b" 1\nrr 0 " + name + b" 22\n"
    _, items = scanned(content)
    _, last = scanned(b"q 0 " + name + b" 1\nq " + b"0 " * 1 + b"y" + name + b" 1\n")
    assert len({*items["hash"].tolist(), last["hash"][0].item()}) == 1
    assert last["hash"][0] != last["hash"][1]


def test_compiled_code_keeps_no_reference():
    content = b"q 0 d 1\nq 0 e 1e-30\n"
    written, at = [*arrays(2), room(30)], progress()
    watched = [content, *written, at, None]
    before = [*map(sys.getrefcount, watched)][:-1]
    for _ in range(100):
        for piece in (content, content[:-1] + b"x"):
            at[3:] = 0
            _native.native.scan(piece, *written, at)
        _native.native.gather(written[4], written[0])
    assert [*map(sys.getrefcount, watched)][:-1] == before


def test_topics_are_not_cut():
    content = b"".join(b"%d 0 d%d 1\n" % (topic, i) for topic in range(5) for i in range(topic + 1))
    starts = [content.index(b"%d 0 d0" % topic) for topic in range(5)]
    with Text("run", content).open_pieces() as piece:
        cuts = [_lines._next_topic_start(piece, at, len(content)) for at in range(1, len(content))]
    assert cuts == sorted(cuts)
    assert {*cuts} <= {*starts, len(content)}
    assert all(cut >= at for at, cut in enumerate(cuts, start=1))


TOPICS_IN_PIECES = [  # a content, and where its second whole topic begins
    (b"a 1\n", -1),
    (b"a 1\na 2\n", -1),
    (b"a 1\nb 2\n", -1),  # the first line may not be whole
    (b"1\na 1\nb 2\n", 6),
    (b"1\n\na 1\n \na 2\n\n  b 2\nb 3\n", 14),
    (b"1\na 1\nb", -1),  # perhaps bb
    (b"1\na 1\nb\n", 6),
    (b"1\na 1\nb 2", -1),
    (b"a 1\nb 1\nc 1\nc 2\nd 1", 8),
    (b"no end", -1),
    (b"\n\n\n", -1),
]


@pytest.mark.parametrize(("content", "second"), TOPICS_IN_PIECES)
def test_where_topics_begin_in_a_piece(content, second):
    with Text("run", content).open_pieces() as piece:
        assert _lines._next_topic_start(piece, 1, len(content)) == (
            len(content) if second < 0 else second
        )


@pytest.mark.parametrize("size", [1, 15, 16, 17, 4096])
def test_the_last_line_is_found_from_the_end(size):
    from rankmeter._cli._trec_eval._files import _last_nonblank_line

    lines = b"q Q0 a 1 2 t\nq Q0 b 2 1 " + b"x" * size
    for end in (b"", b"\n", b"\n\n \n", b" \t\n" * 50):
        assert _last_nonblank_line(Text("run", lines + end)) == lines.split(b"\n")[1]
    assert _last_nonblank_line(Text("run", b"x" * size)) == b"x" * size


# ---------------------------------------------------------------------------------------------
# Ranks and scores, and tags of runs


def run_lines(rows, tag="t"):
    return "".join(f"{query} Q0 {doc} {rank} {score} {tag}\n" for query, doc, rank, score in rows)


def counts_both_ways(path):
    return [counts for counts, _ in both_ways(lambda: read_rankings(path).counts)]


REVERSED = [("q", "a", 1, 0.1), ("q", "b", 2, 0.2), ("q", "c", 3, 0.2), ("r", "a", 1, 9)]


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 2, 1, 0], [1, 0, 2, 3]], ids=str)
@pytest.mark.parametrize("ending", ["", "s 0 x 1 1 t one more\n"])
def test_ranks_of_a_run_are_compared_with_its_scores_in_any_order(tmp_path, order, ending):
    path = tmp_path / "a.run"
    path.write_text(run_lines([REVERSED[i] for i in order]) + ending)
    for counts in counts_both_ways(path):
        assert counts["ranks_against_scores"] == 1
        assert counts["ranks_of_tied_scores"] == 1


def test_contradictions_are_notes_of_the_result_and_the_score_decides(tmp_path):
    path = tmp_path / "a.run"
    path.write_text(run_lines([(f"q{i}", f"d{k}", k, k) for i in range(300) for k in range(1, 21)]))
    truth = {f"q{i}": ["d20"] for i in range(300)}
    result = evaluate(str(path), truth, "rr")
    assert result["rr"].mean == 1
    assert "ranks against the scores, which decide: 5,700" in result.notes
    path.write_text(run_lines([(f"q{i}", f"d{k}", k, 1) for i in range(300) for k in (1, 2)]))
    noted = evaluate(str(path), {f"q{i}": ["d2"] for i in range(300)}, "rr").notes
    assert any(note.endswith("; rows tied in score whose ranks differ: 300") for note in noted)


@pytest.mark.parametrize("ranks", [[1, 2, 3], [0, 1, 2], ["-", "-", "-"], [1, 1, 1], [1, 5, 9]])
def test_ranks_that_agree_with_the_scores_or_are_no_numbers_are_silent(tmp_path, ranks):
    path = tmp_path / "a.run"
    path.write_text(
        run_lines([("q", d, r, s) for d, r, s in zip("abc", ranks, (3, 2, 1), strict=True)])
    )
    assert counts_both_ways(path) == [{"rows": 3}] * 2


def test_missing_ranks_are_not_compared(tmp_path):
    path = tmp_path / "a.run"
    path.write_text(run_lines([("q", "a", 1, 1), ("q", "b", "x", 5), ("q", "c", 2, 3)]))
    assert counts_both_ways(path) == [{"rows": 3, "ranks_against_scores": 1}] * 2


def test_runs_that_were_put_together_are_refused(tmp_path):
    path = tmp_path / "a.run"
    rows = [(query, doc, rank, -rank) for query in "qr" for rank, doc in enumerate("ab", 1)]
    other = [(query, doc.upper(), rank, score) for query, doc, rank, score in rows]
    path.write_text(run_lines(rows, "bm25") + run_lines(other, "dense"))
    found = both_ways(lambda: read_rankings(path))
    assert found[0] == found[1]
    assert "2 runs for query 'q'" in str(found)
    assert "'bm25' (first in line 1) and 'dense' (first in line 5)" in str(found)
    interleaved = sorted((run_lines(rows, "bm25") + run_lines(other, "dense")).splitlines())
    path.write_text("\n".join(interleaved))
    assert str(both_ways(lambda: read_rankings(path))).count("2 runs for query 'q'") == 2


def test_each_query_may_have_a_tag_of_its_own(tmp_path):
    path = tmp_path / "a.run"
    path.write_text(run_lines(REVERSED[:3], "a") + run_lines(REVERSED[3:], "b"))
    assert [counts["rows"] for counts in counts_both_ways(path)] == [4, 4]


def test_the_tag_goes_on_in_the_next_piece():
    content = (run_lines(REVERSED[:3]) + run_lines(REVERSED[:1], "u")).encode()
    for cut in range(len(content)):
        written, kept = arrays(4), room(len(content))
        at = progress(n_fields=6, number=4, last=0)
        start = _native.native.scan(content[:cut], *written, kept, at)
        at[2] = 1
        assert _native.native.scan(content[start:], *written, kept, at) == -1
