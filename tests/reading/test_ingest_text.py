"""Text files read rightly or refused: keys twice, blanks, returns, depth, TREC or a table."""

import bz2
import gzip
import json
import lzma
import pickle

import numpy as np
import polars as pl
import pytest

import rankmeter as rm
from rankmeter._formats.files import ENCODING
from rankmeter._formats.json import _read_flat_rows
from rankmeter._formats.text import Text
from rankmeter._formats.trec import detect_trec_format
from rankmeter._large.opened import open_rankings
from rankmeter._reading.keyed import read_users
from rankmeter._reading.read import read_interactions, read_rankings, read_truth
from rankmeter._reading.records import is_records
from rankmeter._reading.table import unify_id_types
from rankmeter.errors import (
    ColumnError,
    DataError,
    FileFormatError,
    IdTypeError,
    InvalidValueError,
    RankmeterError,
    UsageError,
)


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


# ---------------------------------------------------------------------------------------------
# Quotation marks


def test_an_empty_field_next_to_a_quotation_mark_is_a_missing_value(tmp_path):
    path = write(tmp_path / "a.csv", 'user,item,score\na,5" nail,1\nb,,2\n')
    with pytest.raises(InvalidValueError, match=r"1 of 2 item ids .* are missing"):
        read_rankings(path)


@pytest.mark.parametrize(
    ("rows", "items"),
    [
        ('a,5" nail,1\nb,6" x,2\n', ['5" nail', '6" x']),
        ('a,"5"" nail",1\nb,"x,"" y",2\n', ['5" nail', 'x," y']),
        ('a,x""y,1\nb,z,2\n', ['x""y', "z"]),
        ('a,x"\ny",1\nb,z,2\n', "line 2: 2 fields"),
        ('a,""x"",1\n', "line 2: text follows a closing quotation mark"),
        ('a,"x"y,1\n', "line 2: text follows a closing quotation mark"),
        ('a,"x"",1\n', "line 2: a quotation mark is opened and never closed"),
        ('a,"x",1\nb,y,"2""\n', "line 3: a quotation mark is opened and never closed"),
    ],
)
def test_quotation_marks_join_and_drop_no_rows(rows, items, tmp_path):
    """In a field without quotation they are text."""
    for name, separator in (("a.csv", ","), ("a.tsv", "\t")):
        text = f"user,item,score\n{rows}".replace(",", separator)
        path = write(tmp_path / name, text)
        if isinstance(items, list):
            found = read_rankings(path).frame["item"].to_list()
            assert found == [item.replace(",", separator) for item in items]
        else:
            with pytest.raises(FileFormatError, match=items):
                read_rankings(path)


# ---------------------------------------------------------------------------------------------
# JSON

ROW = '{"user": 1, "item": "a:b", "score": 2}'
TWICE = [
    '{"user":1,"item":7,"item":1,"score":2}',
    '{"user":1,"item":7,"score":1,"score":2}',
    '{"user":1,"item":7,"score":1,"score":1}',
    '{"user":1,"item":7,"score":null,"score":1}',
    '{"user":1,"item":7,"score":1,"score":null}',
    '{"user":1,"item":7,"item" :7}',
    '{"user":1,"item":"a:b","item":"a\\":b"}',
    '{"user":1,"item":7,"us\\u0065r":1}',
    '{"user":1,"item":7,"time":"12:30","time":null,"score":3}',
    '{"user":1,"item":"a\\u003ab","item":"x"}',
    '{"user":1,"item":"a","n:m":1,"n:m":2}',
]


@pytest.mark.parametrize("line", TWICE)
@pytest.mark.parametrize("before", ["", ROW, ROW + "\n\n" + '{"item": "x", "user": 2}'])
def test_a_key_twice_in_one_row_is_refused_in_every_json_file(line, before, tmp_path):
    lines = f"{before}\n{line}\n{ROW}"
    rows = ",".join(filter(None, lines.split("\n")))
    for name, text in {"a.jsonl": lines, "a.json": f"[{rows}]", "b.json": line}.items():
        with pytest.raises(FileFormatError, match=r"key '[\w:]+' twice"):
            read_rankings(write(tmp_path / name, text))


@pytest.mark.parametrize(
    "rows",
    [
        [{"user": 1, "item": "a"}, {"user": 1, "item": "b:c", "note": '"x": "y"'}],
        [{"user": 1, "item": "a", "score": 1}, {"user": 1, "item": "b", "score": None}],
        [{"user": 1, "item": '\\":"', "score": 1}, {"item": ":", "user": 2, "score": 2}],
        [{"user": 1, "item": 5}, {"user": 1, "item": 6, "time": "at 12:00"}],
    ],
)
def test_rows_of_different_keys_take_the_quick_way(rows):
    text = "\n\n".join(map(json.dumps, rows)) + "\n"
    found = _read_flat_rows(Text("a.jsonl", text.encode()))
    assert found is not None
    columns = found.fetch(["user", "item"])
    assert [list(columns[name]) for name in columns] == [
        [row[name] for row in rows] for name in ("user", "item")
    ]


@pytest.mark.parametrize("text", ["7\n1", "7 1", '"a"\n"b"'])
def test_numbers_or_strings_alone_are_no_json_lines_in_a_json_file(text, tmp_path):
    with pytest.raises(FileFormatError, match="not valid JSON: Extra data in line"):
        read_rankings(write(tmp_path / "a.json", text))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[" * 200_000, "nested too deep"),
        ('{"user":' * 200_000, "nested too deep"),
        ('{"u": ["a"], "v": ' + "[" * 100_000 + "]" * 100_000 + "}", "nested too deep"),
        (f'{{"user": 1, "item": {"9" * 5000}}}', "integer with too many digits"),
        (f'{{"u": {{"a": {"9" * 5000}}}}}', "integer with too many digits"),
    ],
    ids=["lists", "objects", "value", "item", "score"],
)
@pytest.mark.parametrize("name", ["a.json", "a.jsonl", "a"])
def test_json_beyond_all_bounds_is_an_error_that_names_the_file(text, words, name, tmp_path):
    path = write(tmp_path / name, text)
    with pytest.raises(FileFormatError, match=words) as caught:
        read_rankings(path)
    assert str(path) in str(caught.value)
    assert not is_records(path)


# ---------------------------------------------------------------------------------------------
# CSV and TSV


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("item", ["a{0}{0}b", "{0}{0}", "a{0} {0}{0}b{0}", '""{0}{0}""', "a{0}b"])
def test_blank_lines_inside_quotation_marks_are_part_of_the_id(item, end, tmp_path):
    item = item.format(end)
    text = end.join(["", "user,item", "", "1,x", "", f'2,"{item}"', "", "", '3,"y"', "", ""])
    frame = read_rankings(write(tmp_path / "a.csv", text)).frame
    assert frame.rows() == [(1, "x"), (2, item.replace('""', '"')), (3, "y")]


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("a.csv", "user,item\n\r001,a\n", 2),
        ("a.csv", "user,item\r\n1,a\r\r\n", 2),
        ("a.csv", "user,item\n1,a\r2,b\n", 2),
        ("a.tsv", 'user\titem\n1\t"x\ry"\n2\tb\rc\n', 3),
        ("a.csv", "user\ritem\n1,2\n", 1),
        ("a.run", "1 Q0 a 1 0.5 t\n1 Q0 b 2 0.4 t\r1 Q0 c 3 0.3 t\n", 2),
        ("a.qrels", "1 0 a 1\r1 0 b 1\n", 1),
    ],
)
def test_a_return_that_ends_no_line_is_refused(name, text, line, tmp_path):
    read = read_truth if name.endswith("qrels") else read_rankings
    with pytest.raises(FileFormatError, match=f"line {line}: a carriage return"):
        read(write(tmp_path / name, text))


def test_a_return_inside_quotation_marks_is_part_of_the_id(tmp_path):
    path = write(tmp_path / "a.csv", 'user,item\r\n1,"a\rb"\r\n')
    assert read_rankings(path).frame.rows() == [(1, "a\rb")]


def test_a_return_in_a_list_of_users_is_refused(tmp_path):
    with pytest.raises(FileFormatError, match="line 2: a carriage return"):
        read_users(write(tmp_path / "users.txt", "user\nann\rbob\n"), pl.Series(["ann", "bob"]))


@pytest.mark.parametrize("row", ['"",a', '1,""', ",a", "1,"])
@pytest.mark.parametrize("separator", [",", "\t"])
def test_an_empty_id_is_missing_with_quotation_marks_and_without(row, separator, tmp_path):
    text = f"user,item\n1,x\n{row}\n".replace(",", separator)
    with pytest.raises(InvalidValueError, match="missing"):
        read_rankings(write(tmp_path / "a.txt", text))


def test_two_quotation_marks_inside_a_value_are_one(tmp_path):
    path = write(tmp_path / "a.csv", 'user,item,note\n1,"a""b",""\n2,c,d\n')
    assert read_interactions(path).rows() == [(1, 'a"b', None), (2, "c", "d")]


@pytest.mark.parametrize(
    ("items", "truth", "stray"),
    [
        (["a ", "b"], ["a"], "'a '"),
        (["a"], ["b", "\ta"], "'\\\\ta'"),
        (["7", " 8"], ["8", "9"], "' 8'"),
        (["a ", "b"], ["a ", "b"], None),  # the same on both sides
        (["a ", "a"], ["a"], "'a '"),
        (["a b"], ["ab"], None),
        (["a "], ["c"], None),
        (["a "], ["b", "\ta"], "'a '"),
    ],
)
def test_an_id_that_matches_only_without_its_white_space_is_refused(items, truth, stray, tmp_path):
    sides = [
        read(write(tmp_path / f"{n}.csv", "user,item\n" + "".join(f"1,{i}\n" for i in ids)))
        for n, (read, ids) in enumerate([(read_rankings, items), (read_truth, truth)])
    ]
    if stray is None:
        assert unify_id_types(*sides)[0].frame["item"].to_list() == items
    else:
        with pytest.raises(InvalidValueError, match=f"white space at their ends.*{stray}"):
            unify_id_types(*sides)


def test_a_field_of_20_million_characters_is_an_id(tmp_path):
    item = "x" * 20_000_000
    path = write(tmp_path / "a.csv", f"user,item\n1,{item}\n1,y\n")
    assert read_rankings(path).frame["item"].to_list() == [item, "y"]


# ---------------------------------------------------------------------------------------------
# TREC files under every name, and tables that resemble them

RATINGS = "".join(f"{user}\t{item}\t{1 + item % 5}\t{964982703 + user}\n"
                  for item in range(3) for user in range(60))  # fmt: skip
LOOKS = {
    # name: (text, what it is)
    "qrels": ("1 0 FT911-3 0\n1 0 FT911-4 1\n", "qrels"),
    "tabs": ("1\t0\tFT911-3\t0\n", "qrels"),
    "numbers": ("1\t0\t7187158\t1\n1\t0\t7187159\t-2\n" * 40, "qrels"),
    "subtopics": ("1 1 clueweb-1 0\n1 0 clueweb-2 1\n", "qrels"),
    "marked": ("1 Q0 12 3\n", "qrels"),
    "run": ("1 Q0 12 1 0.5 tag\n1 Q0 13 2 0.4 tag\n", "run"),
    "zero run": ("1 0 12 1 0.5 tag\n1 0 13 2 0.4 tag\n", "run"),
    "cut run": ("1 Q0 12 1 0.5 tag\n1 Q0\n", "run"),
    "header": ("user\titem\trating\ttimestamp\n0\t0\t5\t964982703\n", None),
    "header, small": ("user\titem\trating\tn\n0\t0\t5\t3\n", None),
    "spaces": ("userId itemId rating time\n0 0 5 964982703\n", None),
    "other items": ("0\t0\t5\t3\n0\t1\t4\t3\n", None),
    "one item first": ("".join(f"{n}\t0\t5\t3\n" for n in range(99)) + "0\t1\t4\t3\n", None),
    "times": ("0\t0\t5\t964982703\n1\t0\t4\t964982704\n", None),
    "ratings by item": (RATINGS, None),
    "six columns": ("0\t0\t5\t9\t3\tx\n0\t4\t5\t9\t3\tx\n", None),
    "prose": ("one 0 two three\n", None),
    "nothing": ("\n\n", None),
}  # fmt: skip


@pytest.mark.parametrize("name", LOOKS)
def test_trec_files_are_told_from_tables_of_ratings(name):
    text, kind = LOOKS[name]
    assert detect_trec_format(Text("a", text.encode()), "truth") == kind


@pytest.mark.parametrize("name", ["a.tsv", "a.txt", "a"])
def test_ratings_of_items_from_0_are_read_as_a_table(name, tmp_path):
    path = write(tmp_path / name, "user\titem\trating\ttimestamp\n" + RATINGS)
    assert read_interactions(path).row(0) == (0, 0, 1.0, 964982703)
    assert read_truth(path).frame.height == read_rankings(path).frame.height == 180


LATIN = (
    "1 0 Jos\xe9 1\n1 0 Zo\xeb 0\nsuj\xe9t 0 \xa0x 2\n",
    "1 Q0 Zo\xeb 1 2.0 ma\xee\n1 Q0 Jos\xe9 2 2.0 ma\xee\nsuj\xe9t Q0 \xa0x 1 1.0 ma\xee\n",
)


@pytest.mark.parametrize("encoding", ["latin-1", "utf-8"])
def test_the_drop_in_matches_orders_and_writes_bytes(encoding, tmp_path):
    from click.testing import CliRunner

    from rankmeter._cli import main

    paths = [
        str(write(tmp_path / name, text.encode(encoding)))
        for name, text in zip(("qrels", "run"), LATIN, strict=True)
    ]
    done = CliRunner().invoke(main, ["trec_eval", "-q", "-m", "recip_rank", "-m", "runid", *paths])
    lines = done.stdout_bytes.decode(encoding).splitlines()

    assert [line.split("\t")[1:] for line in lines] == [
        ["1", "0.5000"], ["suj\xe9t", "1.0000"], ["all", "ma\xee"], ["all", "0.7500"],
    ]  # fmt: skip


def test_outside_of_the_drop_in_text_is_utf_8(tmp_path):
    path = write(tmp_path / "a.qrels", LATIN[0].encode("latin-1"))
    with pytest.raises(
        FileFormatError, match=r"byte 7 \(line 1\) is 0xe9\. Save it again as UTF-8"
    ):
        read_truth(path)


def test_names_of_other_encodings_do_not_match_in_the_drop_in(tmp_path):
    from rankmeter._cli._trec_eval._report import report_lines

    qrels = write(tmp_path / "qrels", LATIN[0].encode("latin-1"))
    run = write(tmp_path / "run", "1 Q0 Jos\xe9 1 2.0 t\n")
    assert list(report_lines(str(qrels), str(run), ["recip_rank"], complete=True)) == [
        "recip_rank            \tall\t0.0000\n"
    ]


# ---------------------------------------------------------------------------------------------
# Messages

LONG = "n" * 100_000
MESSAGES = {
    "item": f"user,{LONG}\n1,2\n",
    "unused": f"user,item,{LONG}\n1,2,3\n",
    "header": f'user,item,"{LONG}\n1,2,3\n',
    "twice": f"user,item,{LONG},{LONG}\n1,2,3,4\n",
    "value": f"user,item,score\n1,2,{LONG}\n",
    "fields": f"user,item\n1,2,{LONG}\n",
    "missing score": f"user,item,score\n{LONG},{LONG},\n",
    "repeated item": f"user,item\n{LONG},{LONG}\n{LONG},{LONG}\n",
    "no user": f"user,item\n{LONG},2\n",
}


@pytest.mark.parametrize("name", MESSAGES)
def test_a_message_shortens_long_names(name, tmp_path):
    path = write(tmp_path / "a.csv", MESSAGES[name])
    for columns in (None, {"score": LONG}, {LONG: "score"}, {"user": LONG, "item": LONG}):
        with pytest.raises(RankmeterError) as caught:
            rm.evaluate(path, {"u": ["a"]}, "recall", columns=columns)
        assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("columns", ["user=x", 1, [], {"rankings": 1, "truth": {}}])
def test_columns_that_are_no_mapping_are_refused(columns):
    with pytest.raises(UsageError, match="columns"):
        rm.evaluate({"u": ["a"]}, {"u": ["a"]}, columns=columns)


def test_a_query_that_fails_is_named():
    frame = pl.LazyFrame({"user": ["x"], "item": [1]})
    for query in (
        frame.with_columns(pl.col("user").cast(pl.Int64)),
        frame.with_columns(pl.col("nothing")),
        frame.map_batches(lambda _: 1 / 0, schema={"user": pl.Int64, "item": pl.Int64}),
        pl.scan_parquet("no/such/file.parquet"),
    ):
        with pytest.raises(DataError, match="The polars LazyFrame cannot be computed: ") as caught:
            read_rankings(query)
        assert caught.value.__cause__ is not None


def test_a_duckdb_relation_that_fails_is_named():
    duckdb = pytest.importorskip("duckdb")
    relation = duckdb.sql("SELECT CAST(s AS INTEGER) AS user, 1 AS item FROM (VALUES ('x')) t(s)")
    with pytest.raises(DataError, match="The DuckDB relation cannot be computed: "):
        read_rankings(relation)


def test_an_error_about_the_columns_of_a_query_keeps_its_kind():
    with pytest.raises(IdTypeError):
        read_rankings(pl.LazyFrame({"user": [0.5], "item": [1]}))


# ---------------------------------------------------------------------------------------------
# Runs of MS MARCO, atomic files, encodings, other formats, lists in cells


def written(tmp_path, name, text, encoding="utf-8"):
    path = tmp_path / name
    path.write_bytes(text.encode(encoding))
    return path


@pytest.mark.parametrize("name", ["a.run", "a.tsv", "a.txt", "a", "a.run.gz"])
@pytest.mark.parametrize("between", [" ", "\t"])
@pytest.mark.parametrize("scores", [(), ("-1", "-2", "-3")])
def test_a_run_of_ms_marco_is_read_by_its_ranks(tmp_path, name, between, scores):
    lines = [["q7", "d1", "1"], ["q7", "d2", "2"], ["q8", "d1", "1"]]
    rows = [[*line, *scores[i : i + 1]] for i, line in enumerate(lines)]
    path = written(tmp_path, name, "".join(between.join(row) + "\n" for row in rows))
    if name.endswith("gz"):
        path.write_bytes(gzip.compress(path.read_bytes()))
    for table in (
        read_rankings(path),
        open_rankings(path, rows=10),
    ):
        assert table.order == "rank"
        assert table.counts.get("scores_against_ranks", 0) == 0
    assert read_rankings(path).frame.select("user", "item", "rank").rows() == [
        ("q7", "d1", 1),
        ("q7", "d2", 2),
        ("q8", "d1", 1),
    ]


@pytest.mark.parametrize(
    "text",
    ["1 10 5\n1 11 2\n", "1 10 1\n2 11 1\n", "1 10 1\n1 11 2\n1 12 2\n", "1 10 1\n1 11 3\n"],
)
def test_three_fields_that_are_not_certainly_ranks_are_refused(tmp_path, text):
    with pytest.raises(FileFormatError, match=r"If the file is a run of MS MARCO, qid docid rank"):
        read_rankings(written(tmp_path, "a.run", text))
    with pytest.raises(ColumnError, match="looks like data: put a header line"):
        read_rankings(written(tmp_path, "a.tsv", text.replace(" ", "\t")))


def test_judgments_of_three_fields_are_no_run(tmp_path):
    with pytest.raises(ColumnError, match="looks like data"):
        read_truth(written(tmp_path, "a.tsv", "1\t10\t1\n1\t11\t2\n"))


def test_a_trec_run_may_be_called_csv(tmp_path):
    text = "1 Q0 d1 1 0.5 t\n1 Q0 d2 2 0.4 t\n"
    assert read_rankings(written(tmp_path, "a.csv", text)).order == "score"


def test_names_of_atomic_files_are_read_without_their_types(tmp_path):
    text = "user_id:token\titem_id:token\trating:float\n7\t1\t3\n"
    assert read_truth(written(tmp_path, "a.inter", text)).frame.rows() == [(7, 1, 3)]
    mixed = text.replace("rating:float", "rating")
    with pytest.raises(ColumnError, match="'user_id:token'"):
        read_truth(written(tmp_path, "a.inter", mixed))


@pytest.mark.parametrize(
    ("word", "encoding"), [("가방 회원", "cp949"), ("café", "latin-1"), ("가", "utf-16")]
)
def test_the_message_names_the_encoding_which_then_reads_the_file(tmp_path, word, encoding):
    path = written(tmp_path, "a.csv", f"user,item\n1,{word}\n", encoding)
    with pytest.raises(FileFormatError, match=f"--encoding {encoding} on the command line"):
        read_truth(path)
    token = ENCODING.set(encoding)
    try:
        assert read_truth(path).frame.rows() == [(1, word, 1)]
    finally:
        ENCODING.reset(token)


def test_text_that_is_not_in_the_named_encoding_is_refused(tmp_path):
    token = ENCODING.set("ascii")
    try:
        with pytest.raises(FileFormatError, match="is not text in ascii"):
            read_truth(written(tmp_path, "a.csv", "user,item\n1,가\n"))
    finally:
        ENCODING.reset(token)


def of_numpy(path):
    np.save(path, np.arange(3))


@pytest.mark.parametrize(
    ("name", "write", "message"),
    [
        ("a.npy", of_numpy, r"an array of NumPy .*np\.load\('.*a\.npy'\)"),
        ("a.npz", lambda path: np.savez(path, x=np.arange(3)), r"np\.load\('.*'\)\['NAME'\]"),
        ("a.arrow", pl.DataFrame({"user": [1]}).write_ipc, r"polars\.read_ipc"),
        ("a.pkl", lambda path: path.write_bytes(pickle.dumps([1])), "a pickle of Python"),
        ("a.csv.bz2", lambda path: path.write_bytes(bz2.compress(b"a,b\n")), "bunzip2 -k"),
        ("a.csv.xz", lambda path: path.write_bytes(lzma.compress(b"a,b\n")), "unxz -k"),
        ("a.zip", lambda path: path.write_bytes(b"PK\x03\x04"), "unzip"),
    ],
)
def test_a_file_of_another_format_is_called_by_its_name(tmp_path, name, write, message):
    write(tmp_path / name)
    with pytest.raises(FileFormatError, match=message) as caught:
        read_rankings(tmp_path / name)
    assert "UTF-8" not in str(caught.value)


@pytest.mark.parametrize(
    "cells",
    [
        ["\"['x', 'y']\"", "\"['y']\""],
        ["[x y]", "[y]"],
        ['"[""x"", ""y""]"', '"[""y""]"'],
        ["x|y", "y|x|x2"],
        ["07x 07y", "07y 07x 1"],
    ],
    ids=str,
)
@pytest.mark.parametrize("item", ["item", "prediction"])
def test_lists_in_a_cell_are_split_by_the_line_in_the_message(tmp_path, cells, item):
    path = written(tmp_path, "a.csv", f"user,{item}\n1,{cells[0]}\n2,{cells[1]}\n")
    with pytest.raises(ColumnError, match="hold lists, such as") as caught:
        read_rankings(path)
    line = str(caught.value).partition("are split: ")[2]
    frame = eval(line, {"pl": pl, "path": path})
    table = read_rankings(frame.rename({item: "item"}))
    assert [item.removeprefix("07") for item in table.frame["item"]][:2] in (["x", "y"], ["y", "x"])


@pytest.mark.parametrize(
    "rows",
    [
        ["1,The Matrix", "2,Alien 3"],
        ["1,a|1", "2,b|2"],
        ["1,a|b|c", "1,a|b"],
        ["1,[REC]", "2,Up"],
        ["1,12 34", "2,56 78"],
        ["1,", "2,x"],
    ],
    ids=str,
)
def test_ids_of_several_words_are_not_taken_for_lists(tmp_path, rows):
    text = "\n".join(["user,item", *rows])
    if rows == ["1,", "2,x"]:
        with pytest.raises(DataError, match="missing"):
            read_truth(written(tmp_path, "a.csv", text))
    else:
        assert read_truth(written(tmp_path, "a.csv", text)).height == 2
