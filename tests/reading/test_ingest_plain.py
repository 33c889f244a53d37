"""Plain text files are read a quicker way, which gives what the careful way gives, or nothing."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from rankmeter._formats.text import Text, _read_any_rows, _read_plain_rows
from rankmeter._formats.trec import _read_any_lines, _read_plain_lines

RUN = (["qid", "Q0", "docid", "rank", "score", "tag"], ["qid", "docid", "score"])
QRELS = (["qid", "0", "docid", "rel"], ["qid", "docid", "rel"])

NUMBERS = [
    "0.5",
    "7",
    "-3",
    "1e5",
    "1E-3",
    "inf",
    "-Infinity",
    "nan",
    "NaN",
    "+7",
    "007",
    ".5",
    "5.",
    "1e400",
    "-0.0",
    "123456.123456789012",
]
ODD_NUMBERS = ["0x10", "1_000", "1,5", "null", "true", "1e", "9007199254740993", "--1", "½"]
NAMES = [
    "a",
    "01",
    "-",
    '"',
    '"a',
    "é",
    "\u2003x",
    "\x85",
    "\x00",
    "\x1c",
    "d" * 20,
    "#c",
    "0",
    "nan",
]
DAMAGE = [
    "",
    " ",
    "  ",
    "\t",
    "\n",
    "\r",
    "\r\n",
    "\x0b",
    "\x0c",
    "\x1f",
    '"',
    "x",
    " x",
    "\ufeff",
    ",",
]


@st.composite
def files(draw, separators, widths, header=False):
    """Lines with equally many fields, and some of them damaged at any place."""
    separator = draw(st.sampled_from(separators))
    width = draw(st.sampled_from(widths))
    field = st.sampled_from(NAMES + NUMBERS) if draw(st.booleans()) else st.sampled_from(NUMBERS)
    rows = draw(st.lists(st.lists(field, min_size=width, max_size=width), max_size=6))
    if header:
        rows.insert(0, [f"c{place}" for place in range(width)])
    text = "\n".join(separator.join(row) for row in rows) + draw(
        st.sampled_from(["\n", "", "\n\n"])
    )
    for _ in range(draw(st.sampled_from([0, 0, 1, 1, 2]))):
        at = draw(st.integers(0, len(text)))
        insert = draw(st.sampled_from([*DAMAGE, *ODD_NUMBERS, separator]))
        text = text[:at] + insert + text[at + draw(st.integers(0, 2)) :]
    return text


def without_mark(text):
    """Reading a file removes byte order marks at its start."""
    return text.lstrip("\ufeff")


@pytest.mark.parametrize("form", [RUN, QRELS])
@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
@given(text=files([" ", " ", "\t"], [4, 4, 6, 6, 5]).map(without_mark).filter(str.strip))
def test_plain_lines_of_trec_files_are_read_as_any_others(form, exact, encoding, text):
    file = Text("a", text.encode(), encoding)
    found = _read_plain_lines(file, *form)
    if found is not None:
        rows, n_rounded = _read_any_lines(file, *form, exact=exact)
        assert_frame_equal(found, rows, check_exact=True)
        assert n_rounded == 0


@given(
    number=st.one_of(st.floats().map(repr), st.from_regex(r"[-+]?[0-9.eE]{1,30}", fullmatch=True))
)
def test_the_numbers_of_plain_lines_are_those_of_any_others(number):
    file = Text("a", f"q 0 d {number}\n".encode())
    found = _read_plain_lines(file, *QRELS)
    if found is not None:
        assert_frame_equal(found, _read_any_lines(file, *QRELS, exact=True)[0], check_exact=True)


@pytest.mark.parametrize("separator", [",", "\t"])
@given(data=st.data())
def test_plain_rows_of_tables_are_read_as_any_others(separator, data):
    file = Text(
        "a",
        data.draw(
            files([separator], [1, 2, 3], header=True).map(without_mark).filter(str.strip)
        ).encode(),
    )
    width = file.head.partition("\n")[0].count(separator) + 1
    found = _read_plain_rows(file, separator, width)
    if found is not None:
        assert_frame_equal(found, _read_any_rows(file, separator, width))


def test_plain_files_do_take_the_quicker_way():
    for separator in " \t":
        text = "q Q0 d 1 0.5 t\nr Q0 é 2 -inf t\n".replace(" ", separator)
        found = _read_plain_lines(Text("a", text.encode()), *RUN)
        assert found is not None
        assert found.rows() == [("q", "d", 0.5), ("r", "é", float("-inf"))]
    assert _read_plain_lines(Text("a", b"q 0 d 1\nq 0 e 0"), *QRELS).height == 2
    assert _read_plain_rows(Text("a", b"user,item\na,b\n"), ",", 2).equals(
        pl.DataFrame({"user": ["a"], "item": ["b"]})
    )


@pytest.mark.parametrize(
    "text",
    [
        "q Q0 d 1 0.5 t\nq Q0 e 1 0.5\n",
        "q Q0 d 1 0.5 t\nq Q0  e 1 0.5\n",
        "q Q0 d 1 0.5 t\nq Q0 e 1 0.5 t u\n",
        "q Q0 d 1 0.5 t\n\nq Q0 e 1 0.5 t\n",
        "q Q0 d 1 0.5 t\n q Q0 e 1 0.5 t\n",
        "q Q0 d 1 0.5 t\nq Q0 e\v 1 0.5 t\n",
        "q Q0 d 1 0.5 t\nq Q0 e 1 9007199254740993 t\n",
        "q Q0 d 1 0.5 t\nq Q0 e 1 x t\n",
    ],
)
def test_other_files_do_not(text):
    assert _read_plain_lines(Text("a", text.encode()), *RUN) is None


def test_bytes_beyond_ascii_are_characters_only_in_utf_8():
    content = "q Q0 é 1 0.5 t\n".encode()
    assert _read_plain_lines(Text("a", content), *RUN) is not None
    assert _read_plain_lines(Text("a", content, "latin-1"), *RUN) is None


@pytest.mark.parametrize("odd", ["q 0 d", "q 0 d 1 x", "q 0 d 1 x\nq 0 d", "q 0 d 1 x\nq 0"])
def test_a_line_with_other_fields_is_found_wherever_it_is(odd):
    """Polars compares only the first lines with the fields that are expected."""
    content = "q 0 d 1\n" * 1000 + odd + "\n" + "q 0 d 1\n" * 1000
    assert _read_plain_lines(Text("a", content.encode()), *QRELS) is None


@pytest.mark.parametrize("at", [2**18 - 1, 2**18, 2**18 + 1])
@pytest.mark.parametrize("ending", ["\n", ""])
def test_white_space_is_found_between_the_parts_that_are_checked_at_once(at, ending):
    line = f"q 0 {'d' * at} 1"
    assert _read_plain_lines(Text("a", (line + ending).encode()), *QRELS).height == 1
    for odd in (f"{line[:at]} {line[at:]}", f"{line[:at]}\n\n{line}", f"{line[:at]}  1"):
        assert _read_plain_lines(Text("a", (odd + ending).encode()), *QRELS) is None
