"""Files: every format of the same data, and every kind of invalid file."""

import contextlib
import gzip
import json
import os
import sys
import tempfile
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankmeter as rm
from rankmeter._formats import files as _files
from rankmeter._formats import parquet
from rankmeter._reading.read import read_interactions, read_rankings, read_truth
from rankmeter._reading.records import is_records
from rankmeter.errors import (
    ColumnError,
    DataError,
    DuplicateError,
    FileFormatError,
    InvalidValueError,
    RankmeterError,
)

HERE = Path(__file__).parents[1]
ROWS = [("u1", "a", 0.5), ("u1", "b", 0.25), ("u2", "a", 1.5)]
CSV = "user,item,score\nu1,a,0.5\nu1,b,0.25\nu2,a,1.5\n"
RUN = "u1 Q0 a 1 0.5 tag\nu1 Q0 b 2 0.25 tag\nu2 Q0 a 1 1.5 tag\n"
JSONL = "\n".join(json.dumps({"user": u, "item": i, "score": s}) for u, i, s in ROWS)
LISTS = {"u1": {"a": 0.5, "b": 0.25}, "u2": {"a": 1.5}}

TEXTS = {
    "a.csv": CSV,
    "A.CSV": CSV,
    "crlf.csv": CSV.replace("\n", "\r\n"),
    "cr.csv": CSV.replace("\n", "\r"),
    "bom.csv": "\ufeff" + CSV,
    "no-final-newline.csv": CSV.rstrip("\n"),
    "blank-lines.csv": "\n" + CSV.replace("\n", "\n\n") + "\n\n",
    "blank-crlf-lines.csv": CSV.replace("\n", "\r\n\r\n"),
    "quoted.csv": '"user","item",score,title\n"u1","a",0.5,"x, ""y""\n\nz"\n'
    'u1,b,"0.25",\nu2,a,1.5,"q"\n',
    "spaces.csv": CSV.replace(",", ", ").replace(", a", ",a").replace(", b", ",b"),
    "tabs.tsv": CSV.replace(",", "\t"),
    "tabs.txt": CSV.replace(",", "\t"),
    "commas.txt": CSV,
    "no-extension": CSV,
    "a.run": RUN,
    "a.trec": RUN,
    "a.txt": RUN,
    "a.test": RUN,
    "run": RUN,
    "zeros.txt": RUN.replace("Q0", "0"),
    "run.tsv": RUN.replace(" ", "\t"),
    "wide.run": RUN.replace(" ", " \t  "),
    "margins.run": "  " + RUN.replace("\n", " \r\n\n \n  "),
    "extra.run": RUN.replace("tag", "tag more fields"),
    "bom.run": "\ufeff" + RUN,
    "a.jsonl": JSONL,
    "a.ndjson": JSONL + "\n\n",
    "lines.json": JSONL,
    "lines": JSONL,
    "rows.json": json.dumps([json.loads(line) for line in JSONL.split("\n")], indent=1),
    "a.json": json.dumps(LISTS),
    "json.txt": json.dumps(LISTS, indent=2),
    "lists.jsonl": '{"user": "u1", "items": ["a", "b"], "scores": [0.5, 0.25]}\n'
    '{"user": "u2", "items": ["a"], "scores": [1.5]}',
}  # fmt: skip


def write(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def text_of(read, *args, **options):
    with pytest.raises(RankmeterError) as caught:
        read(*args, **options)
    return caught.value


def zstd(content):
    return pa.compress(content, codec="zstd", asbytes=True)


PACKED = {"": bytes, ".gz": gzip.compress, ".zst": zstd}


@pytest.mark.parametrize("extension", PACKED)
@pytest.mark.parametrize("name", TEXTS)
def test_every_text_format_is_the_same_ranking(name, extension, tmp_path):
    content = PACKED[extension](TEXTS[name].encode())
    path = write(tmp_path, name + extension, content)
    table = read_rankings(path)

    assert table.frame.rows() == ROWS
    assert table.frame.columns == ["user", "item", "score"]
    assert table.order == "score"
    assert table.textual
    assert table.source == str(path)
    assert read_rankings(str(path)).frame.equals(table.frame)


@pytest.mark.parametrize("packed", [gzip.compress, zstd])
def test_a_compressed_file_needs_no_extension_and_may_have_several_parts(packed, tmp_path):
    content = b"".join(map(packed, RUN.encode().splitlines(keepends=True)))
    assert read_rankings(write(tmp_path, "run", content)).frame.rows() == ROWS


def test_zstd_without_pyarrow_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    path = write(tmp_path, "a.csv.zst", zstd(CSV.encode()))
    assert "pip install pyarrow" in str(text_of(read_rankings, path))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("q.qrels", "u1 0 a 2\nu2 0 b 0\n"),
        ("q.qrel", "u1 0 a 2\nu2 0 b 0"),
        ("q.txt", "u1 0 a 2\nu2\t0  b 0\r\n"),
        ("qrels", "u1 Q0 a 2\nu2 Q0 b 0\n"),
        ("subtopics.qrels", "u1 1 a 2\nu2 2 b 0.0\n"),
        ("msmarco.tsv", "u1\t0\ta\t2\nu2\t0\tb\t0\n"),
        ("q.csv", "qid,docid,rel\nu1,a,2\nu2,b,0\n"),
        (
            "q.jsonl",
            json.dumps({"qid": "u1", "docs": ["a"], "gains": [2]}) + "\n"
            + json.dumps({"qid": "u2", "docs": ["b"], "gains": [0]}),
        ),
        ("q.json", '{"u1": {"a": 2}, "u2": {"b": 0}}'),
    ],
)  # fmt: skip
def test_every_text_format_is_the_same_truth(name, content, tmp_path):
    table = read_truth(write(tmp_path, name, content))

    assert table.frame.select("user", "item", "gain").rows() == [("u1", "a", 2.0), ("u2", "b", 0.0)]
    assert table.textual


@pytest.mark.parametrize("name", ["a.parquet", "a.pq", "A.PARQUET", "a.data", "run-[1]*?.parquet"])
def test_parquet_is_read_by_extension_or_content(name, tmp_path):
    pl.DataFrame(ROWS, schema=["user", "item", "score"], orient="row").write_parquet(tmp_path / "x")
    (tmp_path / "x").rename(tmp_path / name)
    table = read_rankings(tmp_path / name)

    assert table.frame.rows() == ROWS
    assert not table.textual


def test_the_files_of_trec_eval_are_read_whole():
    run, truth = HERE / "data/trec_eval/results.test", HERE / "data/trec_eval/qrels.test"

    assert read_rankings(run).frame.height == len(run.read_text().splitlines())
    assert read_truth(truth).frame.height == len(truth.read_text().splitlines())


def test_movielens_ratings_are_interactions():
    found = read_interactions(HERE.parent / "examples/ml-latest-small/ratings.csv")

    assert found.height == 100836
    assert found.schema == {
        "user": pl.Int64, "item": pl.Int64, "rating": pl.Float64, "time": pl.Int64,
    }  # fmt: skip
    assert found.row(0) == (1, 1, 4.0, 964982703)


@pytest.mark.parametrize(
    ("ids", "dtype"),
    [
        (["7", "-8", "0"], pl.Int64),
        (["9223372036854775807"], pl.Int64),
        (["9223372036854775808"], pl.String),
        (["7", "007"], pl.String),
        (["7", "+8"], pl.String),
        (["7", "-0"], pl.String),
        (["7", "7.0"], pl.String),
        (["7", " 8"], pl.String),
        (["7", "a"], pl.String),
        (["true", "null"], pl.String),
    ],
)
def test_ids_of_a_csv_file_are_integers_only_if_all_of_them_are(ids, dtype, tmp_path):
    path = write(tmp_path, "a.csv", "user,item\n" + "".join(f"{one},x\n" for one in ids))
    users = read_rankings(path).frame["user"]

    assert users.dtype == dtype
    assert users.cast(pl.String).to_list() == ids


def test_ids_of_a_trec_file_are_strings(tmp_path):
    path = write(tmp_path, "a.run", "301 Q0 7 1 0.5 tag\n")

    assert read_rankings(path).frame.rows() == [("301", "7", 0.5)]


def test_a_trec_run_is_ordered_by_its_scores():
    table = read_rankings(HERE / "data/trec_eval/results.test")

    assert table.order == "score"
    assert table.counts == {"rows": 1500, "ranks_of_tied_scores": 10}


@pytest.mark.parametrize("layout", ["lines", "array", "late", "object"])
@pytest.mark.parametrize(
    ("items", "dtype"),
    [([1, 2], pl.Int64), (["1", "2"], pl.String), (["a", "b"], pl.String), ([1.0, 2.0], pl.Int64)],
)
def test_ids_of_a_json_file_keep_their_types(layout, items, dtype, tmp_path):
    rows = [{"user": "u", "item": item} for item in items]
    text = {
        "lines": "\n".join(map(json.dumps, rows)),
        "array": json.dumps(rows),
        "late": "\n".join(json.dumps({"user": "u", "item": item}) for item in items * 200),
        "object": json.dumps({"u": items}),
    }[layout]
    table = read_rankings(
        write(tmp_path, "a.jsonl" if layout != "object" else "a.json", text)
        if layout != "array"
        else write(tmp_path, "a.json", text)
    )

    assert table.frame["item"].dtype == dtype
    assert set(table.frame["item"]) == set(items)


@pytest.mark.parametrize("first", [1, 200])
def test_a_json_file_that_mixes_7_and_the_string_7_is_refused(first, tmp_path):
    rows = [{"user": "u", "item": "7"}] * first + [{"user": "u", "item": 7}]
    path = write(tmp_path, "a.jsonl", "\n".join(map(json.dumps, rows)))
    message = str(text_of(read_rankings, path))

    assert "mix types" in message
    assert f"integer 7 in row {first + 1}" in message


def test_a_json_id_that_is_true_is_refused(tmp_path):
    path = write(tmp_path, "a.jsonl", '{"user": true, "item": 2}')
    assert "boolean True in row 1" in str(text_of(read_rankings, path))


def test_times_of_a_csv_file_that_are_no_times_stay_text(tmp_path):
    path = write(tmp_path, "a.csv", "user,item,time\n1,2,yesterday\n1,3,today\n")
    assert read_interactions(path)["time"].to_list() == ["yesterday", "today"]


def test_json_values_may_be_nan_and_missing(tmp_path):
    path = write(
        tmp_path, "a.jsonl", '{"user": 1, "item": 2, "score": NaN}\n{"user": 1, "item": 3}'
    )

    assert read_rankings(path, bad_scores="drop").counts == {"rows": 2, "dropped_scores": 2}


def test_json_scores_may_appear_late(tmp_path):
    lines = [json.dumps({"user": 1, "item": n}) for n in range(300)]
    path = write(tmp_path, "a.jsonl", "\n".join([*lines, '{"user": 1, "item": 300, "score": 1}']))
    with pytest.raises(InvalidValueError, match="300 of 301 scores"):
        read_rankings(path)


def test_a_json_lines_file_may_hold_lists_of_row_number_users(tmp_path):
    path = write(tmp_path, "a.jsonl", '["a", "b"]\n[]\n["c"]\n')
    table = read_rankings(path)

    assert table.frame.rows() == [(0, "a"), (0, "b"), (2, "c")]
    assert table.empty_users.to_list() == [1]


def test_one_line_of_json_lines_is_one_row(tmp_path):
    for line in ('{"user": "u", "items": ["a"]}', '{"user": "u", "item": "a"}'):
        for name in ("a.jsonl", "a.json"):
            assert read_rankings(write(tmp_path, name, line)).frame.rows() == [("u", "a")]


def test_a_csv_value_of_nan_is_a_missing_score(tmp_path):
    path = write(tmp_path, "a.csv", "user,item,score\n1,2,nan\n1,3,\n1,4,inf\n")

    assert read_rankings(path, bad_scores="worst").counts == {
        "rows": 3, "worst_scores": 2, "infinite_scores": 1,
    }  # fmt: skip


def test_a_trec_score_of_nan_is_a_missing_score(tmp_path):
    path = write(tmp_path, "a.run", "1 Q0 a 1 nan t\n1 Q0 b 2 -inf t\n")

    assert read_rankings(path, bad_scores="drop").frame.rows() == [("1", "b", float("-inf"))]


UTF16 = CSV.encode("utf-16")
BAD_FILES = {
    # name: content, words of the message
    "empty.csv": ("", ["is empty"]),
    "empty.run": ("", ["is empty"]),
    "empty.parquet": ("", ["is empty"]),
    "empty.jsonl": ("\n \n", ["is empty"]),
    "empty.csv.gz": (gzip.compress(b""), ["is empty"]),
    "semicolons.csv": (CSV.replace(",", ";"), ["one column", "separated by ';', not by ','"]),
    "tabs.csv": (CSV.replace(",", "\t"), ["separated by '\\t', not by ','", ".tsv"]),
    "bars.csv": (CSV.replace(",", "|"), ["separated by '|', not by ','"]),
    "commas.tsv": (CSV, ["separated by ',', not by '\\t'", ".csv"]),
    "long.csv": ("user,item\n1,2\n3,4,5\n", ["line 3", "3 fields where the header has 2", "3,4,5"]),
    "trailing.csv": ("user,item\n1,2,\n", ["line 2", "3 fields where the header has 2"]),
    "short.csv": ("user,item,score\n1,2,3\n\n1,2\n", ["line 4", "2 fields where the header has 3"]),
    "quote.csv": ('user,item\n1,"2\n3,4\n', ["line 2", "never closed"]),
    "after.csv": ('user,item\n1,"2"3\n', ["line 2", "closing quotation mark"]),
    "header.csv": ('""user",item,\n1,2,3', ["line 1", "closing quotation mark"]),
    "return.csv": ("user\ritem\n1,2", ["line 1", "carriage return"]),
    "latin.csv": ("user,item\nJos\xe9,1\n".encode("latin-1"), ["byte 13", "line 2", "0xe9"]),
    "utf16.csv": (UTF16, ["UTF-16", "UTF-8"]),
    "split.run": ("u1 Q0 War Peace 1 0.9 tag\n", ["line 1", "rank 'Peace' is not an integer"]),
    "split.trec": (RUN + "u2 Q0 7 - 1 0.5 tag\n", ["line 4", "rank '-' is not an integer"]),
    "field.run": (RUN + "u2 Q0 b 2 0.5\n", ["line 4", "5 fields where a line needs 6", "tag",
                                           "u2 Q0 b 2 0.5"]),
    "field.txt": ("\n" + RUN + "u2 Q0\n", ["line 5", "2 fields"]),
    "score.run": (RUN + "u2 Q0 b 2 high tag\n", ["line 4", "the score 'high' is not a number"]),
    "control.run": (RUN + "u2 Q0 b 2 0.5 a\x1fb\n", ["line 4", "control character"]),
    "field.trec": ("u1 Q0 a 1 0.5\n", ["line 1", "5 fields where a line needs 6"]),
    "nbsp.run": (RUN + "u2\xa0Q0 b 2 0.5 tag\n", ["line 4", "5 fields"]),
    "number.run": (RUN + "u2 Q0 b 2 1_0 tag\n", ["line 4", "'1_0' is not a number"]),
    "qrels.run": ("u1 0 a 1\n", ["TREC qrels", "rankings are expected", "swapped"]),
    "swapped.qrels": ("u1 0 a 1\n", ["rankings are expected: qid Q0 docid rank score tag"]),
    "fake.parquet": (CSV, ["cannot be read as Parquet", "truncated"]),
    "fake.gz": (CSV, ["not compressed with gzip"]),
    "fake.csv.gz": (CSV, ["not compressed with gzip"]),
    "cut.csv.gz": (gzip.compress(CSV.encode() * 99)[:-20], ["complete gzip", "truncated"]),
    "fake.zst": (CSV, ["not compressed with zstd"]),
    "cut.csv.zst": (zstd(CSV.encode() * 99)[:-5], ["complete zstd", "truncated"]),
    "broken.csv.zst": (zstd(CSV.encode()) + b"12345678", ["complete zstd"]),
    "broken.csv.gz": (gzip.compress(CSV.encode())[:-8] + b"12345678", ["complete gzip"]),
    "cut.json": ('{"u1": ["a", ', ["not valid JSON", "line 1, column"]),
    "number.json": ("7", ["holds 7", "expected an object"]),
    "null.json": ("null", ["holds None"]),
    "twice.json": ('{"u1": ["a"], "u1": ["b"]}', ["key 'u1' twice"]),
    "twice.jsonl": ('["a"]\n{"x": 1, "x": 2}', ["line 2", "key 'x' twice"]),
    "cut.jsonl": (JSONL[:-1], ["line 3", "not valid JSON"]),
    "words.jsonl": ("hello\n", ["line 1", "not valid JSON", "hello"]),
    "prose.txt": ("Once upon a time\nthere was\n", ["not known", "Once upon a time", "TREC"]),
    "image.png": (b"\x89PNG\r\n\x1a\n\0\0", ["not UTF-8", "Accepted".lower(), "Parquet"]),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_file_that_cannot_be_read_says_why(name, tmp_path):
    content, words = BAD_FILES[name]
    error = text_of(read_rankings, write(tmp_path, name, content))

    assert isinstance(error, FileFormatError)
    for word in [str(tmp_path / name), *words]:
        assert word in str(error)


def test_a_truncated_parquet_file_says_so(tmp_path):
    path = tmp_path / "a.parquet"
    pl.DataFrame({"user": range(999), "item": range(999)}).write_parquet(path)
    path.write_bytes(path.read_bytes()[:-30])
    assert "cannot be read as Parquet" in str(text_of(read_rankings, path))


def test_parquet_that_breaks_in_the_middle_says_so(tmp_path):
    path = tmp_path / "a.parquet"
    pl.DataFrame({"user": range(999), "item": range(999)}).write_parquet(path)
    content = bytearray(path.read_bytes())
    content[4:400] = bytes(396)
    path.write_bytes(content)
    assert "cannot be read as Parquet" in str(text_of(read_rankings, path))


@pytest.mark.parametrize("bit", [1, 2])
def test_no_byte_of_a_parquet_footer_loses_rows_or_makes_polars_panic(bit, tmp_path, capfd):
    """A panic becomes an error, too, but writes its trace to standard error before."""
    path = tmp_path / "a.parquet"
    pl.DataFrame({"user": range(99), "item": range(99)}).write_parquet(path)
    good = path.read_bytes()
    length = int.from_bytes(good[-8:-4], "little")
    for at in range(len(good) - 8 - length, len(good)):
        path.write_bytes(good[:at] + bytes([good[at] ^ bit]) + good[at + 1 :])
        with contextlib.suppress(DataError):
            assert read_rankings(path).frame.height == 99
    assert capfd.readouterr().err == ""


def test_a_run_given_as_the_truth_may_be_swapped(tmp_path):
    error = text_of(read_truth, write(tmp_path, "a.txt", RUN))

    assert isinstance(error, FileFormatError)
    assert "TREC run" in str(error)
    assert "swapped" in str(error)


@pytest.mark.parametrize("line", ["u1 0 a\n", "u1 0 a one\n"])
def test_a_bad_line_of_qrels_is_named(line, tmp_path):
    error = text_of(read_truth, write(tmp_path, "q.qrels", "u1 0 b 1\n" + line))

    assert "line 2" in str(error)
    assert line.strip() in str(error)


def test_a_header_without_rows_is_no_data(tmp_path):
    for name, content in {
        "a.csv": "user,item,score\n",
        "b.csv": "user,item",
        "c.json": "[]",
        "d.json": "{}",
    }.items():
        error = text_of(read_rankings, write(tmp_path, name, content))
        assert isinstance(error, DataError)
        assert "nothing to evaluate" in str(error)


def test_a_file_without_a_header_shows_its_first_line(tmp_path):
    error = text_of(read_rankings, write(tmp_path, "a.csv", "1,31,2.5\n1,32,3.0\n"))

    assert isinstance(error, ColumnError)
    for word in ("'1', '31', '2.5'", "'1,31,2.5'", "looks like data", "user,item,score"):
        assert word in str(error)


def test_four_columns_of_ratings_are_no_qrels(tmp_path):
    """The data of MovieLens 100k: user, item, rating, time, without a header."""
    path = write(tmp_path, "u.data", "196\t242\t3\t881250949\n186\t302\t3\t891717742\n")
    assert "looks like data" in str(text_of(read_truth, path))


def test_a_missing_id_of_a_csv_file_is_found_by_its_row(tmp_path):
    error = text_of(read_rankings, write(tmp_path, "a.csv", "user,item\n1,a\n,b\n2,\n"))

    assert isinstance(error, InvalidValueError)
    assert "row 3" in str(error)


def test_a_word_among_the_scores_of_a_csv_file_is_found_by_its_row(tmp_path):
    error = text_of(read_rankings, write(tmp_path, "a.csv", 'user,item,score\n1,a,1\n1,b,"0,5"\n'))

    assert isinstance(error, InvalidValueError)
    assert "The score '0,5'" in str(error)
    assert "row 2" in str(error)


def test_columns_of_a_file_can_be_named(tmp_path):
    path = write(tmp_path, "a.csv", "who,what,how much\n1,a,2\n")
    columns = {"user": "who", "item": "what", "score": "how much"}

    assert read_rankings(path, columns=columns).frame.rows() == [(1, "a", 2.0)]


def test_columns_of_the_same_name_in_a_file_are_ambiguous(tmp_path):
    path = write(tmp_path, "a.csv", "user,user,item\n1,2,a\n")
    assert "'user', 'user'" in str(text_of(read_rankings, path))


def test_a_missing_file_brings_near_matches(tmp_path):
    write(tmp_path, "ratings.csv", CSV)
    error = text_of(read_rankings, tmp_path / "rating.csv")

    assert isinstance(error, FileFormatError)
    assert "does not exist; did you mean 'ratings.csv'?" in str(error)
    assert "nor does its folder" in str(text_of(read_rankings, tmp_path / "no" / "a.csv"))
    assert "does not exist" in str(text_of(read_rankings, "a\0b"))
    assert "cannot be read" in str(text_of(read_rankings, "x" * 5000))


def test_an_address_on_the_network_is_not_a_path():
    assert "network" in str(text_of(read_rankings, "https://example.org/a.csv"))


def test_a_folder_without_parquet_files_says_so(tmp_path):
    write(tmp_path, "a.csv", CSV)
    write(tmp_path, "_hidden.parquet", CSV)
    error = text_of(read_rankings, tmp_path)

    assert isinstance(error, FileFormatError)
    assert "folder without Parquet files" in str(error)


def test_parquet_files_of_different_columns_do_not_mix(tmp_path):
    pl.DataFrame({"user": [1], "item": [1]}).write_parquet(tmp_path / "a.parquet")
    pl.DataFrame({"user": [1], "thing": [1]}).write_parquet(tmp_path / "b.parquet")
    error = str(text_of(read_rankings, tmp_path))

    assert "column 'item' is of type Int64 in a.parquet and missing in b.parquet" in error


def test_parquet_files_of_different_types_say_which(tmp_path):
    for name, items in {"a": [1], "b": [1], "c": ["x"]}.items():
        pl.DataFrame({"user": [1], "item": items}).write_parquet(tmp_path / f"{name}.parquet")
    error = str(text_of(read_rankings, tmp_path))

    assert "column 'item' is of type Int64 in a.parquet and of type String in c.parquet" in error
    assert "truncated" not in error


def test_an_empty_path_is_not_the_current_folder(tmp_path, monkeypatch):
    pl.DataFrame({"user": [1], "item": [1]}).write_parquet(tmp_path / "a.parquet")
    monkeypatch.chdir(tmp_path)

    assert "path is empty" in str(text_of(read_rankings, ""))
    assert read_rankings(".").frame.rows() == [(1, 1)]


def test_two_lines_of_lists_of_one_user_are_not_joined(tmp_path):
    text = '{"user": "a", "items": [1]}\n{"user": "b", "items": [1]}\n{"user": "a", "items": [2]}'
    path = write(tmp_path, "lists.jsonl", text)

    for read in (read_rankings, read_truth):
        with pytest.raises(DuplicateError, match=r"User 'a' of .* number 1 and number 3"):
            read(path)
    assert read_interactions(path).rows() == [("a", 1), ("b", 1), ("a", 2)]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("rows.jsonl", '{"user": "a", "item": "x"}\n{"user": "b", "item": "y\\ud800"}'),
        ("lists.json", '{"a": ["x", "y\\uD800"]}'),
    ],
)
def test_half_a_surrogate_pair_in_json_is_no_character(tmp_path, name, text):
    with pytest.raises(InvalidValueError, match=r"item id 'y\\ud800' of .* in row 2"):
        read_rankings(write(tmp_path, name, text))


def test_a_whole_surrogate_pair_in_json_is_one_character(tmp_path):
    path = write(tmp_path, "rows.jsonl", json.dumps({"user": "a", "item": "\U0001f600"}))
    assert read_rankings(path).frame.rows() == [("a", "\U0001f600")]


def test_a_file_that_may_not_be_read_says_so(tmp_path, monkeypatch):
    path = write(tmp_path, "a.csv", CSV)

    def refuse(self):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(_files.Path, "read_bytes", refuse)
    error = text_of(read_rankings, path)

    assert isinstance(error, FileFormatError)
    assert f"{path} cannot be read: Permission denied" in str(error)


def test_a_pipe_is_read_once():
    """What a shell makes of ``rankmeter evaluate <(zcat run.gz) …``."""
    reader, writer = os.pipe()
    os.write(writer, RUN.encode())
    os.close(writer)
    try:
        assert read_rankings(f"/dev/fd/{reader}").frame.rows() == ROWS
    finally:
        os.close(reader)


def test_the_home_folder_may_be_written_as_a_tilde(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    write(tmp_path, "a.csv", CSV)

    assert read_rankings("~/a.csv").frame.rows() == ROWS


PIECES = st.sampled_from(
    ["user", "item", "score", ",", "\t", " ", "\n", "\r\n", "\r", '"', "1", "-2.5", "a", "{", "}",
     "[", "]", ":", '"user"', '"item"', '"items"', "Q0", "0", "null", "NaN", "\\", "\ufeff"]
    + ["\x1f", "\0"]
)  # fmt: skip
EXTENSIONS = [".csv", ".tsv", ".txt", ".run", ".qrels", ".json", ".jsonl", ".parquet", ".gz", ""]


@settings(max_examples=300)
@given(
    st.lists(PIECES, max_size=40).map("".join).map(str.encode) | st.binary(max_size=40),
    st.sampled_from(EXTENSIONS),
    st.sampled_from([read_rankings, read_truth, read_interactions, is_records]),
)
def test_whatever_a_file_holds_no_other_error_comes_out(content, extension, read):
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder), "a" + extension, content)
        with contextlib.suppress(DataError):
            read(path)


def test_a_pattern_of_text_files_is_refused_with_what_to_do(tmp_path):
    (tmp_path / "a.csv").write_text("user,item\n1,2\n", "utf-8")
    with pytest.raises(FileFormatError, match=r"matches a\.csv, which is not a Parquet file"):
        read_rankings(tmp_path / "*.csv")


def test_subtopics_of_judgments_are_read_and_the_largest_gain_counts(tmp_path):
    path = tmp_path / "diversity.qrels"
    path.write_text("1 1 a 1\n1 2 a 3\n1 2 b 1\n2 1 a 1\n", "utf-8")
    result = rm.evaluate({"1": ["a"], "2": []}, path, ["cg", "subtopic_recall"])
    assert [result["cg"].mean, result["subtopic_recall"].mean] == [1.5, 1]
    assert "judgments of further subtopics: 1" in str(result)
    path.write_text("1 0 a 1\n1 Q0 b 1\n1 run7 c 0\n", "utf-8")
    assert rm.evaluate({"1": ["b"]}, path, "recall")["recall"].mean == 0.5


@pytest.mark.parametrize("depth", [0, 1, 40])
def test_a_large_folder_without_parquet_files_is_left_early(depth, tmp_path, monkeypatch):
    folder = tmp_path.joinpath(*"d" * depth)
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(300):
        (folder / f"f{number}").mkdir()
        (folder / f"f{number}" / "notes.txt").touch()
    monkeypatch.setattr(parquet, "_MOST_OTHERS", 100)
    looked_at, walk = [], parquet.os.walk

    def watched(path):
        for found in walk(path):
            looked_at.append(found)
            yield found

    monkeypatch.setattr(parquet.os, "walk", watched)
    with pytest.raises(FileFormatError, match="among the first 100 files and folders"):
        rm.evaluate(tmp_path, {1: [1]}, "rr")
    assert len(looked_at) <= 2 * (depth + 2)  # its size is estimated first
    pl.DataFrame({"user": [1], "item": [1]}).write_parquet(tmp_path / "r.parquet")
    assert rm.evaluate(tmp_path, {1: [1]}, "rr")["rr"].mean == 1.0


@pytest.mark.parametrize("name", ["loop", "loop.csv", "gone.parquet"])
def test_a_link_that_leads_nowhere_is_no_misspelling(name, tmp_path):
    link = tmp_path / name
    link.symlink_to(link if "loop" in name else tmp_path / "other")
    with pytest.raises(FileFormatError, match="is a link to") as caught:
        rm.evaluate(link, {1: [1]}, "rr")
    assert "did you mean" not in str(caught.value)


@pytest.mark.once  # old versions of pyarrow lack the type
def test_a_type_that_polars_does_not_read_is_no_damage(tmp_path):
    lists = pa.array([[1, 2], [3]], type=pa.list_view(pa.int64()))
    pq.write_table(pa.table({"user": [1, 2], "items": lists}), tmp_path / "a.parquet")
    with pytest.raises(FileFormatError, match="does not read, such as list_view") as caught:
        read_rankings(tmp_path / "a.parquet")
    assert "damaged" not in str(caught.value)
