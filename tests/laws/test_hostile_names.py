"""Names with control characters, markup and formulas steer no terminal, page or spreadsheet."""

from __future__ import annotations

import csv
import io
import json
import re
import unicodedata
from html.parser import HTMLParser

import polars as pl
import pytest

import rankmeter as rm
from command_line import rankmeter, running
from rankmeter.errors import DataError, RankmeterWarning

pytestmark = pytest.mark.once

Table = type(rm.evaluate([["a"]], [{"a"}], "rr").table())

NAMES = {
    "escape": "a\x1b[2Jb",
    "bell and delete": "a\x07\x7fb",
    "C1 control": "a\x9b31mb",
    "newline": "a\nerror: forged",
    "carriage return": "a\rb",
    "direction": "a\u202eb\u2066c",
    "separator": "a\u2028b\u2029c",
    "markup": "<script>alert(1)</script>&amp;",
    "pipe": "a|b\\|c",
    "backtick": "`a``b`",
    "link": "![x](http://example.org/x.png) [y](javascript:alert(1))",
    "formula": "=1+1",
    "plus": "+1",
    "minus": "-1",
    "at": "@SUM(A1)",
    "tab": "\tx",
    "apostrophe": "'=1",
}
CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def compared(name):
    lists = {"u": ["a", "b"], "v": ["b", "a"], name: ["a", "b"]}
    truth = {"u": {"a"}, "v": {"a"}, name: {"b"}}
    systems = {name: lists, "other": {user: items[::-1] for user, items in lists.items()}}
    return rm.compare(systems, truth, "rr", segments={"u": name, "v": "s", name: name})


@pytest.mark.parametrize("name", NAMES)
def test_text_markdown_latex_and_json(name):
    found = compared(NAMES[name])
    for text in (repr(found), found.to_markdown(), found.to_latex(), found.to_json()):
        assert not CONTROL.search(text)
        assert "error: forged" not in [line.strip() for line in text.splitlines()]
    assert json.loads(found.to_json())["systems"][0] == NAMES[name]
    notes = Table(["x"], [["y"]], [NAMES[name]])
    assert not CONTROL.search(notes.to_markdown() + notes.to_text())


@pytest.mark.parametrize("name", NAMES)
def test_markdown_has_no_markup(name):
    text = Table([NAMES[name], "value"], [[NAMES[name], "1"]], [NAMES[name]]).to_markdown()
    lines = text.splitlines()
    for line in (lines[0], lines[2]):
        assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) == 3
    assert "<" not in text
    assert "](" not in text
    assert not re.search(r"&(?!(?:amp|lt|gt);)", text)
    assert not re.search(r"(?<!\\)`", text)


def test_markdown_of_ordinary_tables_is_readable():
    table = Table(["metric", "interval"], [["ndcg@10", "[0.1, 0.2]"]], ["convention x (y)"])
    assert table.to_markdown().splitlines()[2:] == [
        "| ndcg@10 | [0.1, 0.2] |",
        "",
        "- convention x (y)",
    ]


@pytest.mark.parametrize("name", NAMES)
def test_cells_of_a_comparison_are_no_formulas(name):
    found = compared(NAMES[name])
    text = found.to_csv()
    numbers = found.to_polars().select(pl.selectors.numeric()).columns
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    for row in rows:
        for column, cell in row.items():
            assert column in numbers or not cell.startswith(("=", "+", "-", "@", "\t", "\r"))
    written = {row[side].removeprefix("'") for row in rows for side in "ab"}
    assert written == {NAMES[name].removeprefix("'"), "other"}
    differences = [float(row["difference"]) for row in rows]
    assert differences == [d.difference for d in found.differences]
    assert min(differences) < 0 or max(differences) > 0


@pytest.mark.parametrize("name", NAMES)
def test_ids_by_user_come_back_as_they_are(name, tmp_path):
    pl.DataFrame({"user": [NAMES[name], "v"], "item": ["a", "b"]}).write_csv(tmp_path / "r.csv")
    pl.DataFrame({"user": [NAMES[name], "v"], "item": ["a", "a"]}).write_csv(tmp_path / "t.csv")
    out = tmp_path / "users.csv"
    done = rankmeter(
        "evaluate", tmp_path / "r.csv", tmp_path / "t.csv", "-m", "rr", "--per-user", out
    )
    assert done.code == 0
    assert sorted(pl.read_csv(out)["user"]) == sorted([NAMES[name], "v"])


class Texts(HTMLParser):
    """All text and attributes of a page but for scripts and styles."""

    def __init__(self, text):
        super().__init__()
        self.inside, self.found = "", []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.inside = tag if tag in ("script", "style") else self.inside
        self.found += [value for _, value in attrs if value]

    def handle_endtag(self, tag):
        self.inside = "" if tag == self.inside else self.inside

    def handle_data(self, data):
        if not self.inside:
            self.found.append(data)


@pytest.mark.parametrize("name", ["escape", "C1 control", "direction", "separator"])
def test_pages_show_what_is_hidden(name, tmp_path):
    found, path = compared(NAMES[name]), tmp_path / "report.html"
    found.report(path)
    page = path.read_text("utf-8")
    shown = "".join(Texts(page).found)
    hidden = next(c for c in NAMES[name] if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp"))
    charts = "".join(re.findall(r"<svg.*?</svg>", page, re.DOTALL))
    for text in (shown, charts, found._repr_html_()):
        assert not CONTROL.search(text)
        assert f"⟨U+{ord(hidden):04X}⟩" in text
    assert rankmeter("report", "--read", path, "--json").json["systems"][0] == NAMES[name]


@pytest.mark.parametrize("name", NAMES)
def test_errors_and_warnings_on_a_terminal(name):
    def fail():
        import warnings

        warnings.warn(f"{NAMES[name]} is odd", RankmeterWarning, stacklevel=2)
        raise DataError(f"no {NAMES[name]}file.csv")

    done = running(fail)
    assert done.code == 3
    told = done.err
    assert not CONTROL.search(told)
    assert len(told.splitlines()) == 2


@pytest.mark.parametrize("name", ["escape", "C1 control", "newline", "direction"])
def test_files_that_do_not_exist(name):
    done = rankmeter("evaluate", f"{NAMES[name]}.csv", "t.csv")
    assert done.code in (2, 3)
    assert not CONTROL.search(done.err)
    assert len(done.err.splitlines()) == 1
