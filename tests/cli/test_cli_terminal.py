"""Terminal output: tables that fit the width, complete numbers, escaped names."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

import rankmeter as rm
from command_line import write_examples
from rankmeter._cli._terminal import print_table
from rankmeter._results.tables import TextTable

pytestmark = pytest.mark.once

STYLES = r"\x1b\[(?:[0-4]|3[12]|[14];3[12])m"
"""Bold, dim, underlined, green, red."""
OPTIONAL = ("d_z", "win/tie/loss")
HOSTILE = "new\nline\r\x1b[31m\x00\u2028\u202etab\t|"


def compared(*names, metrics="ndcg@10 mrr map@5 recall@10 precision@10 ap"):
    truth = {user: ["a"] for user in range(30)}
    systems = {
        name: {user: ["a"] if (7 * i + user) % (i + 2) else ["b", "a"] for user in truth}
        for i, name in enumerate(names)
    }
    return rm.compare(systems, truth, metrics, test="t")


@pytest.fixture
def drawn(monkeypatch, capsys):
    """The lines of a table on a terminal of the given width."""

    def draw(table, width):
        monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
        monkeypatch.setenv("COLUMNS", str(width))
        print_table(table)
        # The table's own styles take no room; other escapes are not allowed.
        return re.sub(STYLES, "", capsys.readouterr().out).splitlines()

    return draw


def numbers(table, leaving=()):
    kept = [i for i, name in enumerate(table.columns) if i and name not in leaving]
    return sorted(row[i] for row in table.rows for i in kept)


def found_numbers(lines, wanted):
    text = "\n".join(lines)
    return all(text.count(one) >= wanted.count(one) for one in set(wanted))


@pytest.mark.parametrize("width", [10, 20, 40, 60, 80, 200])
def test_every_number_is_whole_at_any_width(drawn, width):
    table = compared("BPR", "ItemKNN with a long name").table()
    lines = drawn(table, width)
    assert found_numbers(lines, numbers(table))
    assert "…" not in "".join(lines)
    if width >= 40:
        assert max(map(len, lines)) <= width


def test_what_matters_least_is_left_out_first_and_named(drawn):
    table = compared("BPR", "ItemKNN", metrics="ndcg@10").difference_table()
    assert table.spare == ("d_z", "adjusted p")
    table = replace(table, spare=OPTIONAL)
    last = "win/tie/loss"
    for width, left_out in [
        (200, []),
        (87, ["d_z"]),
        (80, [last, "d_z"]),
    ]:
        lines = drawn(table, width)
        assert max(map(len, lines)) <= width
        assert found_numbers(lines, numbers(table, left_out))
        assert (f"no room for {', '.join(left_out)}" in lines[-1]) == bool(left_out)
        header = lines[0]
        assert all((name in header) == (name not in left_out) for name in OPTIONAL)


def test_what_does_not_fit_continues_below_with_the_names(drawn):
    table = TextTable(("system", "first", "second"), [("one", "1" * 20, "2" * 20)], ["a note"])
    lines = drawn(table, 30)
    assert [line.split() for line in lines if set(line) - set("─ ")] == [
        ["system", "first"],
        ["one", "1" * 20],
        ["system", "second"],
        ["one", "2" * 20],
        ["a", "note"],
    ]


def test_names_are_folded_before_anything_is_left_out(drawn):
    table = TextTable(
        ("system", "value"), [("one two three four five six", "0.1234")], spare=["value"]
    )
    lines = drawn(table, 30)
    assert lines[0].split() == ["system", "value"]
    assert " ".join(" ".join(lines[2:]).replace("0.1234", "").split()) == table.rows[0][0]


def test_a_name_cannot_break_a_table_or_steer_the_terminal(drawn):
    found = compared("one", HOSTILE, metrics="mrr")
    for table, n_rows in ((found.table(), 2), (found.difference_table(), 1)):
        notes = len(table.notes)
        text, markdown = table.to_text(), table.to_markdown()
        assert len(text.splitlines()) == 2 + n_rows + notes
        assert len(markdown.splitlines()) == 2 + n_rows + (1 + notes if notes else 0)
        bare = "\n".join([text, markdown, table.to_latex(), *drawn(table, 200)])
        assert not re.search(r"[\x00-\x09\x0b-\x1f\u2028\u202e]", bare)
        assert "new line [31m tab |" in text
        assert "new line [31m tab \\|" in markdown
    assert found.to_dict()["systems"] == ["one", HOSTILE]


def test_long_names_are_shortened_in_text_alone(drawn):
    long = "x" * 150 + "y" * 150
    found = compared("one", long, metrics="mrr")
    for table in (found.table(), found.difference_table()):
        assert max(map(len, table.to_text().splitlines()[:-1])) < 200
        assert max(map(len, drawn(table, 160)[:-1])) <= 160
        assert long in table.to_html()
        assert long in table.to_markdown()
    assert long in found.to_csv()
    assert long in found.to_json()


def test_a_shortened_name_keeps_both_ends_and_a_value_is_whole(drawn):
    just, long, value = "n" * 80, "a" * 150 + "z" * 150, "1, 2, 3, " * 30
    table = TextTable(("system", long), [(just, "1"), (long, value)])
    short = "a" * 40 + "…" + "z" * 39
    assert table.safe_text_cells() == [["system", short], [just, "1"], [short, value]]
    assert any(value.rstrip() in line for line in drawn(table, 80))


def three():
    truth = {user: ["a"] for user in range(30)}
    ranks = {"good": ["a"], "fair": ["b", "a"], "poor": ["b", "c", "d", "a"]}
    systems = {name: dict.fromkeys(truth, list_) for name, list_ in ranks.items()}
    return rm.compare(systems, truth, "ndcg@10 mean_rank", baseline="fair", test="t")


@pytest.fixture
def shown(monkeypatch, capsys):
    """A table as it is written, with some variables of the environment."""

    def show(table, *, terminal=True, **variables):
        for name in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE"):
            monkeypatch.delenv(name, raising=False)
        for name, value in {"COLUMNS": "100", "TERM": "xterm", **variables}.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr("sys.stdout.isatty", lambda: terminal, raising=False)
        print_table(table)
        return capsys.readouterr().out

    return show


def test_the_best_is_bold_and_the_second_underlined_and_differences_have_colors(shown):
    lines = shown(three().table()).splitlines()
    found = {
        name: next(line for line in lines if name in line) for name in ("good", "fair", "poor")
    }
    assert found["good"].count("\x1b[1;32m1.0000\x1b[0m\x1b[32m ▲") == 2
    assert "\x1b[4m0.6309\x1b[0m" in found["fair"]
    assert "\x1b[4m2.0000\x1b[0m" in found["fair"]
    assert "\x1b[31m0.4307 ▼" in found["poor"]
    differences = shown(three().difference_table())
    assert "\x1b[32m+0.3691\x1b[0m" in differences
    assert "\x1b[32m-1.0000\x1b[0m" in differences  # less is better


def test_the_environment_decides_about_color(shown):
    table = three().table()
    plain = table.to_text() + "\n"
    assert shown(table, terminal=False) == plain
    assert shown(table, terminal=False, CLICOLOR_FORCE="0") == plain
    assert shown(table, terminal=False, FORCE_COLOR="1", NO_COLOR="1") == plain
    for name in ("FORCE_COLOR", "CLICOLOR_FORCE"):
        forced = shown(table, terminal=False, **{name: "1"})
        assert "\x1b[1;32m1.0000" in forced
        assert len(forced.splitlines()) == 5 + len(table.notes)  # a file has no width
    quiet = shown(table, NO_COLOR="1")
    assert "\x1b[1m1.0000\x1b[0m ▲" in quiet
    assert not re.search(r"3[12]m", quiet)
    assert "\x1b" not in shown(table, TERM="dumb")


def test_on_a_terminal_the_table_is_drawn_and_has_every_number(tmp_path, monkeypatch, capsys):
    write_examples(tmp_path)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    table = rm.evaluate(tmp_path / "recs.csv", tmp_path / "truth.csv").table()
    print_table(table, "Title")
    out = capsys.readouterr().out
    cells = [cell for row in [table.columns, *table.rows] for cell in row]
    assert all(cell in out for cell in ["Title", *cells, *table.notes])
