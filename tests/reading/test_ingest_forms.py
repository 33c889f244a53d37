"""Every accepted form of the same data becomes the same table."""

import gzip
import json
from collections import deque

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
from scipy import sparse

import rankmeter as rm
from rankmeter._reading.forms import FORMS, read_columns
from rankmeter._reading.read import read_interactions, read_rankings, read_truth
from rankmeter._reading.records import is_records
from rankmeter.errors import ColumnError, DataError, DuplicateError, IdTypeError

USERS = [0, 0, 0, 1, 1]
ITEMS = [3, 1, 2, 2, 0]
SCORES = [0.875, 0.5, 0.25, 0.75, 0.5]
FRAME = pl.DataFrame({"user_id": USERS, "item_id": ITEMS, "score": SCORES})
LISTS = {0: [3, 1, 2], 1: [2, 0]}
NESTED = {0: {3: 0.875, 1: 0.5, 2: 0.25}, 1: {2: 0.75, 0: 0.5}}
MATRIX = np.array([[0, 0.5, 0.25, 0.875], [0.5, 0, 0.75, 0]])


class Capsule:
    """An object with the Arrow stream interface and nothing else."""

    def __init__(self, frame):
        self._frame = frame

    def __arrow_c_stream__(self, requested_schema=None):
        return self._frame.__arrow_c_stream__(requested_schema)


class Broken:
    def __arrow_c_stream__(self, requested_schema=None):
        raise ValueError("no connection")


def pandas_frame(user="int64", item="int64", score="float64"):
    return pd.DataFrame(
        {
            "user_id": pd.Series(USERS).astype(user),
            "item_id": pd.Series(ITEMS).astype(item),
            "score": pd.Series(SCORES).astype(score),
        }
    )


def relation():
    frame = FRAME.to_arrow()  # noqa: F841  (DuckDB finds it by its name)
    return duckdb.sql("SELECT user_id, item_id, score, 'x' AS other FROM frame")


SCORED_FORMS = {
    "polars": lambda: FRAME,
    "polars lazy": FRAME.lazy,
    "polars small integers": lambda: FRAME.cast({"user_id": pl.UInt8, "item_id": pl.Int16}),
    "polars unsigned": lambda: FRAME.cast({"user_id": pl.UInt64, "item_id": pl.UInt32}),
    "polars decimals": lambda: FRAME.cast({"user_id": pl.Decimal(38, 0)}),
    "polars float32 scores": lambda: FRAME.cast({"score": pl.Float32}),
    "polars objects": lambda: FRAME.with_columns(pl.Series("item_id", ITEMS, dtype=pl.Object)),
    "pandas": pandas_frame,
    "pandas nullable": lambda: pandas_frame("Int64", "Int32", "Float64"),
    "pandas objects": lambda: pandas_frame("object", "object", "object"),
    "pandas arrow": lambda: pandas_frame("int64[pyarrow]", "int32[pyarrow]", "double[pyarrow]"),
    "pandas category": lambda: pandas_frame("category", "category"),
    "pandas strided": lambda: pd.DataFrame(
        np.array([USERS, ITEMS]).T, columns=["user_id", "item_id"]
    ).assign(score=SCORES),
    "pyarrow": FRAME.to_arrow,
    "pyarrow batch": lambda: FRAME.to_arrow().to_batches()[0],
    "pyarrow reader": lambda: FRAME.to_arrow().to_reader(),
    "arrow capsule": lambda: Capsule(FRAME.to_arrow()),
    "duckdb": relation,
    "duckdb executed": lambda: duckdb.connect().execute(
        "SELECT unnest($1) AS user_id, unnest($2) AS item_id, unnest($3) AS score",
        [list(USERS), list(ITEMS), list(SCORES)],
    ),
    "dict of dicts": lambda: NESTED,
    "list of dicts": lambda: list(NESTED.values()),
    "dict of columns": lambda: {"user": USERS, "item": ITEMS, "score": SCORES},
    "dict of array columns": lambda: {"user": np.array(USERS), "item": ITEMS, "score": SCORES},
    "structured array": lambda: np.rec.fromarrays(
        [USERS, ITEMS, SCORES], names=["user", "item", "score"]
    ),
    "rows": FRAME.to_dicts,
    "rows of lists": lambda: [
        {"user": 0, "items": [3, 1, 2], "scores": [0.875, 0.5, 0.25]},
        {"user": 1, "items": [2, 0], "scores": [0.75, 0.5]},
    ],
    "records": lambda: [{"predict_list": value} for value in NESTED.values()],
}


@pytest.mark.parametrize("form", SCORED_FORMS)
def test_every_form_with_scores_is_the_same_ranking(form):
    table = read_rankings(SCORED_FORMS[form]())

    assert table.frame.rows() == list(zip(USERS, ITEMS, SCORES, strict=True))
    assert table.frame.schema == {"user": pl.Int64, "item": pl.Int64, "score": pl.Float64}
    assert table.order == "score"
    assert table.counts["rows"] == 5
    assert not table.textual


@pytest.mark.parametrize("form", SCORED_FORMS)
def test_every_form_is_also_a_truth(form):
    """A column called score is not a gain; the numbers of dicts and records are gains."""
    if form == "records":
        data = [{"ground_truth": value} for value in NESTED.values()]
    elif form == "rows of lists":
        data = [
            {"user": 0, "items": [3, 1, 2], "gains": [0.875, 0.5, 0.25]},
            {"user": 1, "items": [2, 0], "gains": [0.75, 0.5]},
        ]
    else:
        data = SCORED_FORMS[form]()
    named = "gains" if form == "rows of lists" else "score"
    has_columns = read_columns(SCORED_FORMS[form](), "truth").roles is None and form != "records"
    table = read_truth(data, columns={"gain": named} if has_columns else None)

    assert table.frame.rows() == list(zip(USERS, ITEMS, SCORES, strict=True))
    assert table.frame.schema == {"user": pl.Int64, "item": pl.Int64, "gain": pl.Float64}


LISTED_FORMS = {
    "dict of lists": lambda: LISTS,
    "dict of tuples": lambda: {user: tuple(items) for user, items in LISTS.items()},
    "dict of arrays": lambda: {user: np.array(items) for user, items in LISTS.items()},
    "dict of pandas series": lambda: {user: pd.Series(items) for user, items in LISTS.items()},
    "dict of polars series": lambda: {user: pl.Series(items) for user, items in LISTS.items()},
    "dict of arrow arrays": lambda: {user: pa.array(items) for user, items in LISTS.items()},
    "dict of deques": lambda: {user: deque(items) for user, items in LISTS.items()},
    "numpy users": lambda: {np.int64(user): items for user, items in LISTS.items()},
    "pandas series of lists": lambda: pd.Series(LISTS),
    "lists": lambda: list(LISTS.values()),
    "tuples": lambda: tuple(map(tuple, LISTS.values())),
    "generator": lambda: (items for items in LISTS.values()),
    "generators in a list": lambda: [(item for item in items) for items in LISTS.values()],
    "array of lists": lambda: np.array([*LISTS.values(), None], dtype=object)[:2],
    "masked array": lambda: np.ma.masked_equal([[3, 1, 2], [2, 0, -1]], -1),
    "rows of lists": lambda: [{"uid": user, "items": items} for user, items in LISTS.items()],
    "one list row and another": lambda: [{"query_id": u, "doc_ids": i} for u, i in LISTS.items()],
    "records": lambda: [{"predict_list": i, "ground_truth": {}} for i in LISTS.values()],
    "frame without scores": lambda: FRAME.drop("score"),
}


@pytest.mark.parametrize("form", LISTED_FORMS)
def test_every_form_without_scores_keeps_the_order_of_the_list(form):
    table = read_rankings(LISTED_FORMS[form]())

    assert table.frame.rows() == list(zip(USERS, ITEMS, strict=True))
    assert table.frame.schema == {"user": pl.Int64, "item": pl.Int64}
    assert table.order == "list"


def test_masked_cells_are_padding_and_counted():
    table = read_rankings(np.ma.masked_equal([[3, -1], [-1, -1]], -1))

    assert table.frame.rows() == [(0, 3)]
    assert table.empty_users.to_list() == [1]
    assert table.counts == {"rows": 1, "masked_cells": 3}


@pytest.mark.parametrize(
    "make",
    [
        sparse.csr_matrix,
        sparse.csc_matrix,
        sparse.coo_matrix,
        sparse.lil_matrix,
        sparse.dok_matrix,
        sparse.csr_array,
        sparse.coo_array,
    ],
)
def test_stored_entries_of_a_sparse_matrix_are_scores_or_gains(make):
    expected = [(0, 1, 0.5), (0, 2, 0.25), (0, 3, 0.875), (1, 0, 0.5), (1, 2, 0.75)]
    assert read_rankings(make(MATRIX)).frame.rows() == expected
    assert read_truth(make(MATRIX)).frame.rows() == expected


def test_sparse_rows_without_entries_are_empty_users():
    table = read_rankings(sparse.csr_matrix(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 0.0]])))

    assert table.empty_users.to_list() == [0, 2]
    assert table.empty_users.to_series().dtype == table.frame["user"].dtype


def test_sparse_entries_stored_twice_are_added_and_the_matrix_is_left_alone():
    matrix = sparse.csr_matrix(
        (np.array([1.0, 2.0, 4.0]), np.array([1, 1, 0]), np.array([0, 3])), shape=(1, 2)
    )
    assert read_truth(matrix).frame.rows() == [(0, 0, 4.0), (0, 1, 3.0)]
    assert matrix.nnz == 3


def test_stored_zeros_of_a_sparse_matrix_are_entries():
    matrix = sparse.csr_matrix((np.array([0.0, 1.0]), np.array([0, 1]), np.array([0, 2])))

    assert read_truth(matrix).frame.rows() == [(0, 0, 0.0), (0, 1, 1.0)]


def test_a_dense_array_of_ids_is_users_by_k():
    table = read_rankings(np.array([[7, 8], [9, 7]]))

    assert table.frame.rows() == [(0, 7), (0, 8), (1, 9), (1, 7)]
    assert table.order == "list"


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "uint64", "float16", "float64", "O"])
def test_arrays_of_any_integral_type_hold_integer_ids(dtype):
    table = read_rankings(np.array([[7, 8], [9, 7]], dtype=dtype))

    assert table.frame["item"].to_list() == [7, 8, 9, 7]
    assert table.frame["item"].dtype == pl.Int64


def test_arrow_extension_types_are_read_as_what_they_store():
    class Tagged(pa.ExtensionType):
        def __init__(self):
            super().__init__(pa.int64(), "rankmeter.tagged")

        def __arrow_ext_serialize__(self):
            return b""

        @classmethod
        def __arrow_ext_deserialize__(cls, storage_type, serialized):
            return cls()

    ids = pa.ExtensionArray.from_storage(Tagged(), pa.array([7, 8]))
    table = pa.table({"user": pa.array([1, 1]), "item": ids})

    if hasattr(pl.Series, "ext"):
        assert read_rankings(table).frame.rows() == [(1, 7), (1, 8)]
    else:  # Polars 1 refuses unknown Arrow types
        with pytest.raises(DataError, match="pyarrow"):
            read_rankings(table)


HALVES = {
    "table": lambda table: table,
    "batch": lambda table: table.to_batches()[0],
    "reader": lambda table: pa.RecordBatchReader.from_batches(table.schema, table.to_batches()),
}


@pytest.mark.parametrize("form", HALVES.values(), ids=HALVES)
def test_half_floats_of_arrow_are_read_exactly_and_checked_as_such(form):
    def table(**columns):
        halves = {name: pa.array(np.array(x, np.float16)) for name, x in columns.items()}
        return form(pa.table({"user": ["u", "u", "v"], **halves}))

    with pytest.raises(IdTypeError, match=r"2048\.0, where .*16 cannot hold every integer"):
        read_rankings(table(item=[2049, 3000, 1]))
    found = read_rankings(table(item=[7, 8, 9], score=[0.25, 0.5, np.nan]), bad_scores="worst")
    assert found.frame.rows() == [("u", 7, 0.25), ("u", 8, 0.5), ("v", 9, -np.inf)]


def test_scores_of_a_sparse_matrix_may_be_wider_than_a_double():
    matrix = sparse.csr_matrix(np.array([[0.5, 0.25]], dtype=np.longdouble))
    assert read_rankings(matrix).frame["score"].to_list() == [0.5, 0.25]


@pytest.mark.parametrize("dtype", ["U3", "O"])
def test_arrays_of_strings_hold_string_ids(dtype):
    array = np.array([["a", "b"], ["c", "a"]], dtype=dtype)

    assert read_rankings(array).frame["item"].to_list() == ["a", "b", "c", "a"]


@pytest.mark.parametrize(
    "data",
    [
        ["a", "b"],
        ("a", "b"),
        np.array(["a", "b"]),
        [["a", "b"]],
        deque(["a", "b"]),
        iter(["a", "b"]),
        pl.Series(["a", "b"]),
        pa.array(["a", "b"]),
    ],
)
def test_one_flat_list_is_the_ranking_of_user_0(data):
    assert read_rankings(data).frame.rows() == [(0, "a"), (0, "b")]


@pytest.mark.parametrize(
    "data",
    [
        ["a", "b"],
        {"a", "b"},
        frozenset("ab"),
        {"a": 1, "b": 1.0},
        {"a": True, "b": np.int64(1)},
        np.array(["a", "b"]),
    ],
)
def test_one_flat_collection_is_the_truth_of_user_0(data):
    assert sorted(read_truth(data).frame.rows()) == [(0, "a", 1.0), (0, "b", 1.0)]


def test_truth_without_gains_counts_what_it_assumed():
    assert read_truth({"u": ["a"], "v": {"b", "c"}}).counts == {"rows": 3, "assumed_gains": 3}
    assert read_truth({"u": {"a": 2}}).counts == {"rows": 1}


@pytest.mark.parametrize(("read", "number"), [(read_rankings, "score"), (read_truth, "gain")])
@pytest.mark.parametrize(
    "data",
    [
        {"w": {}, "u": ["b", "a"], "v": {"a": 1, "b": 2}},
        {"v": [{"id": "a", "NUMBER": 1}], "u": [{"id": "a", "mistyped": 1}]},
        [{"user": "v", "items": {"a": 1}}, {"user": "u", "items": ["a"]}],
        [{"user": "v", "items": ["a"], "NUMBERs": [1]}, {"user": "u", "items": ["a"]}],
        [{"user": "u", "items": ["a"]}, {"user": "v", "items": ["a"], "NUMBERs": [1]}],
        [{"user": "v", "items": ["a"], "NUMBERs": [1]}, {"user": "u", "items": ["a"], "s": [1, 2]}],
        [{"user": "u", "items": ["a"], "mistyped": [1]}, {"user": "v", "items": ["a"]}],
        [{"user": "u", "items": ["a"]}, {"user": "v", "items": ["a"], "mistyped": [1]}],
        [{"user": "v", "item": "a", "NUMBER": 1}, {"user": "u", "item": "a", "mistyped": 1}],
        [{"user": "v", "item": "a"}, {"user": "u", "item": "a", "mistyped": 1}],
    ],
)
def test_numbers_of_some_items_alone_are_refused(read, number, data, tmp_path):
    """The place in the list, or a gain of 1, would be compared with numbers of other users."""
    text = json.dumps(data).replace("NUMBER", number)
    path = tmp_path / "a.json"
    path.write_text(text)
    for given in (json.loads(text), path):
        with pytest.raises(DataError, match=r"'u'|[Rr]ow [12] |'mistyped'"):
            read(given)


def test_a_user_without_items_needs_no_numbers():
    lists = [{"user": "u", "items": []}, {"user": "v", "items": ["a"], "scores": [0.5]}]
    for data in ({"u": [], "v": {"a": 0.5}}, lists, lists[::-1]):
        table = read_rankings(data)
        assert table.frame.rows() == [("v", "a", 0.5)]
        assert table.empty_users.to_list() == ["u"]


@pytest.mark.parametrize(
    "data",
    [
        {"u": [], "v": ["a"]},
        {"u": {}, "v": {"a": 1.0}},
        {"u": (), "v": ["a"]},
        [{"user": "u", "items": []}, {"user": "v", "items": ["a"]}],
    ],
)
def test_users_with_empty_lists_do_not_vanish(data):
    for read in (read_rankings, read_truth):
        table = read(data)
        assert table.frame["user"].to_list() == ["v"]
        assert table.empty_users.to_list() == ["u"]
        assert table.empty_users.type == "String"


def test_only_empty_lists_are_still_users():
    table = read_rankings({"u": [], "v": []})

    assert table.frame.height == 0
    assert table.empty_users.to_list() == ["u", "v"]
    assert read_rankings([[], [5]]).empty_users.to_list() == [0]


RECORDS = [
    {"predict_list": list("ABCLYUFZ"), "ground_truth": {"A": 1.0, "K": 1.0, "B": 1.0, "Z": 1.0}},
    {"predict_list": list("NXYBM"), "ground_truth": {"E": 1, "B": 1}},
]


def test_records_hold_rankings_and_truth():
    assert read_rankings(RECORDS).frame.group_by("user", maintain_order=True).len().rows() == [
        (0, 8),
        (1, 5),
    ]
    assert read_truth(RECORDS).frame.rows()[-2:] == [(1, "E", 1.0), (1, "B", 1.0)]
    assert read_rankings(RECORDS[0]).frame["item"].to_list() == list("ABCLYUFZ")


def test_records_are_recognized_in_memory_and_in_files(tmp_path):
    whole, lines, zipped = (tmp_path / name for name in ("a.json", "b.jsonl", "c.jsonl.gz"))
    text = "\n".join(map(json.dumps, RECORDS))
    whole.write_text(json.dumps(RECORDS, indent=1))
    lines.write_text(text)
    zipped.write_bytes(gzip.compress(text.encode()))

    for data in (RECORDS, tuple(RECORDS), RECORDS[0], whole, str(lines), zipped):
        assert is_records(data)
    for path in (whole, lines, zipped):
        assert read_rankings(path).frame.equals(read_rankings(RECORDS).frame)
        assert read_truth(path).frame.equals(read_truth(RECORDS).frame)


@pytest.mark.parametrize(
    "data",
    [
        None,
        3,
        [],
        {},
        {"u": ["a"]},
        [["a"]],
        FRAME,
        "no such file",
        "tests",
        "a\0b",
    ],
)
def test_other_data_are_no_records(data):
    assert not is_records(data)


def test_files_of_other_things_are_no_records(tmp_path):
    for name, content in {
        "a.csv": "user,item\n",
        "b.json": "[",
        "c.json": '{"u": ["a"]}',
        "d.json": "[1, 2]",
    }.items():
        (tmp_path / name).write_text(content)
        assert not is_records(tmp_path / name)
    (tmp_path / "e.json.gz").write_bytes(gzip.compress(b'{"a": 1}')[:-9])
    assert not is_records(tmp_path / "e.json.gz")


def test_the_users_of_records_are_those_that_they_name():
    data = [
        {"user_id": "v", "predict_list": ["A"], "ground_truth": {"B": 2}},
        {"user_id": "u", "predict_list": ["B"], "ground_truth": []},
    ]

    assert read_rankings(data).frame.rows() == [("v", "A"), ("u", "B")]
    assert read_truth(data).frame.rows() == [("v", "B", 2.0)]
    assert read_truth(data).empty_users.to_list() == ["u"]
    assert read_rankings(data[0]).frame.rows() == [("v", "A")]


@pytest.mark.parametrize("first", [0, 1])
def test_all_records_name_their_user_or_none_does(first):
    data = [{**RECORDS[0], "user": "u"}, RECORDS[1]]
    with pytest.raises(DataError, match=f"Row {2 - first} of list has no user"):
        read_rankings(data[first:] + data[:first])
    with pytest.raises(ColumnError, match="list has 2 columns that could be the user: 'user', 'u"):
        read_rankings([{**data[0], "uid": "u"}])


def test_two_records_of_one_user_are_an_error():
    data = [{**record, "user": "u"} for record in RECORDS]
    for read in (read_rankings, read_truth):
        with pytest.raises(DuplicateError, match=r"User 'u' of list .* number 1 and number 2"):
            read(data)


def test_two_lists_of_one_user_are_an_error():
    data = pd.Series([["a"], ["b"], ["c"]], index=["u", "v", "u"])
    with pytest.raises(DuplicateError, match=r"User 'u' of pandas Series .* number 1 and number 3"):
        read_rankings(data)


@pytest.mark.parametrize(("read", "wanted"), [(read_rankings, "score"), (read_truth, "gain")])
@pytest.mark.parametrize("values", [[0.5, 0.7], [1, 0], [True, False]])
def test_lists_of_numbers_of_an_unknown_name_are_never_passed_over(read, wanted, values):
    with pytest.raises(ColumnError, match=f"list has no {wanted}.* in 'points'.*columns="):
        read([{"user": "u", "items": ["a", "b"], "points": values}])


def test_lists_that_are_no_number_for_each_item_are_not_looked_at():
    row = {"user": "u", "items": ["a", "b"], "timestamps": [1, 2], "tags": ["x", "y"], "age": [7]}
    for read in (read_rankings, read_truth):
        assert read([row]).frame["item"].to_list() == ["a", "b"]


def test_a_record_without_its_part_is_named():
    assert is_records([{"predict_list": ["A"]}])
    assert not is_records({"predict_list": ["A"]})
    with pytest.raises(ColumnError, match=r"no column for the .*item. Its columns are 'predict_li"):
        read_truth([{"predict_list": ["A"]}])
    with pytest.raises(DataError, match=r"Row 2 of list has no list of items"):
        read_rankings([RECORDS[0], {"ground_truth": {}}])


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (None, ["None", "Accepted", "Polars DataFrame", "dict"]),
        (3.5, ["3.5 (float)", "Accepted"]),
        (object(), ["(object)", "Accepted"]),
        (b"ABC", ["bytes", "Accepted"]),
        ({}, ["dict is empty"]),
        ([], ["list is empty"]),
        (iter([]), ["is empty"]),
        ({"u": {"a", "b"}}, ["'u'", "set has no order", "{item: score}"]),
        ({"a", "b"}, ["set has no order"]),
        ({"u": "ABC"}, ["'u'", "the text 'ABC'", "['ABC']"]),
        ({"u": b"ABC"}, ["the text b'ABC'"]),
        ({"u": 7, "v": ["a"]}, ["'u'", "7 (int)", "list of items"]),
        ({"u": None}, ["'u'", "None (NoneType)"]),
        ([["a"], 7], ["User 1", "7 (int)"]),
        ([["a"], "bc"], ["User 1", "the text 'bc'"]),
        ([{"user": 1, "item": 2}, 3], ["Row 2", "is 3", "same form"]),
        ([{"user": 1, "item": 2}, [3]], ["Row 2", "is [3]"]),
        (
            [{"user": 1, "items": [2], "scores": [1, 2]}],
            ["Row 1", "has 1 item but [1, 2] in 'scores'"],
        ),
        ([{"user": 1, "items": "ab", "scores": [1, 2]}], ["User 1", "the text 'ab' where a list"]),
        ([{"user": 1, "items": [2]}, {"user": 2}], ["Row 2", "has no list of items"]),
        ({"user": [1, 2], "item": [1]}, ["different lengths", "user: 2, item: 1"]),
        (pd.Series([1, 2]), ["pandas Series", ".tolist()"]),
        (np.zeros((2, 2, 2)), ["(2, 2, 2)", "(users, k)"]),
        (np.zeros((0, 3)), ["(0, 3)"]),
        (np.array(5), ["()"]),
        (np.zeros((2, 2), dtype=[("user", int), ("item", int)]), ["(users, k)"]),
        (sparse.csr_matrix((0, 3)), ["no rows"]),
        (pl.DataFrame({"user": [], "item": []}), ["no rows"]),
        (Broken(), ["Broken", "cannot be read as a table: no connection"]),
    ],
)
def test_what_is_no_ranking_is_refused_with_the_reason(data, words):
    with pytest.raises(DataError) as caught:
        read_rankings(data)
    for word in words:
        assert word in str(caught.value)


def test_each_form_has_one_name_and_one_reader():
    assert len({form.name for form in FORMS}) == len(FORMS)


def test_only_the_needed_columns_of_a_query_are_computed():
    def fail(_):
        raise AssertionError("this column is not needed")

    lazy = FRAME.lazy().with_columns(
        pl.col("score").map_elements(fail, return_dtype=pl.Float64).alias("title")
    )
    assert read_rankings(lazy).frame.height == 5


def test_the_input_is_never_changed():
    frame, pandas = FRAME.clone(), pandas_frame()
    nested, rows = json.dumps(NESTED), FRAME.to_dicts()
    for data in (FRAME, pandas, NESTED, rows):
        read_rankings(data)
        read_truth(data, columns={"gain": "score"})
        read_interactions(data)

    assert FRAME.equals(frame)
    pd.testing.assert_frame_equal(pandas, pandas_frame())
    assert json.dumps(NESTED) == nested
    assert rows == frame.to_dicts()


def test_integer_frames_are_not_copied():
    """The address of the values is that of the input."""
    for data in (FRAME, FRAME.lazy(), FRAME.to_arrow(), pandas_frame()):
        item = read_rankings(data).frame["item"]
        original = data["item_id"] if not isinstance(data, pl.LazyFrame) else FRAME["item_id"]
        address = (
            original.to_numpy()
            if isinstance(original, pl.Series | pd.Series)
            else np.asarray(original.chunk(0))
        ).__array_interface__["data"][0]
        assert item.to_numpy().__array_interface__["data"][0] == address


def test_interactions_keep_rows_columns_and_order():
    frame = pd.DataFrame(
        {
            "ts": [30, 10],
            "movieId": ["b", "a"],
            "shop": ["x", None],
            "userId": [2, 1],
            "rating": [4, 5],
        }
    )
    found = read_interactions(frame)

    assert found.columns == ["user", "item", "rating", "time", "shop"]
    assert found.rows() == [(2, "b", 4.0, 30, "x"), (1, "a", 5.0, 10, None)]


@pytest.mark.parametrize("unit", ["D", "s", "ms", "us", "ns"])
def test_pandas_times_of_every_resolution_are_times(unit):
    times = np.array(["2024-01-02"], dtype=f"M8[{unit}]")
    found = read_interactions(pd.DataFrame({"user": [1], "item": [2], "ts": times}))

    assert list(map(str, found["time"])) == ["2024-01-02 00:00:00"]


def test_interactions_need_neither_rating_nor_time():
    assert read_interactions({"u": ["a", "b"]}).rows() == [("u", "a"), ("u", "b")]
    assert read_interactions({"u": {"a": 3}}).rows(named=True) == [
        {"user": "u", "item": "a", "rating": 3.0}
    ]


def test_interactions_from_text_have_types(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(
        "user,item,rating,date,price,code,empty\n1,a,5,2024-01-02,1.5,007,\n2,b,,2024-01-03,2,008,\n"
    )
    found = read_interactions(path)

    assert found.schema == {
        "user": pl.Int64,
        "item": pl.String,
        "rating": pl.Float64,
        "time": pl.Datetime("us"),
        "price": pl.Float64,
        "code": pl.String,
        "empty": pl.String,
    }
    assert found["rating"].to_list() == [5.0, None]


def test_a_relation_is_computed_once_for_all_columns():
    found = read_interactions(relation())

    assert found.columns == ["user", "item", "rating", "other"]


def test_the_folder_form_reads_what_spark_writes(tmp_path):
    folder = tmp_path / "run.parquet"
    folder.mkdir()
    pyarrow.parquet.write_table(FRAME[:2].to_arrow(), folder / "part-0.parquet")
    pyarrow.parquet.write_table(FRAME[2:].to_arrow(), folder / "part-1.parquet")
    (folder / "_SUCCESS").write_text("")
    (folder / "_temporary").mkdir()
    (folder / "_temporary" / "part-9.parquet").write_text("broken")

    assert read_rankings(folder).frame.rows() == list(zip(USERS, ITEMS, SCORES, strict=True))


def test_a_pair_of_ids_and_scores_is_what_implicit_recommends():
    ids = np.array([[3, 1, 2], [2, 0, 0]], dtype=np.int32)
    scores = np.array([[0.875, 0.5, 0.25], [0.75, 0.5, 0]], dtype=np.float32)
    scores[1, 2] = np.finfo(np.float32).min  # a list without a third item
    truth = {0: [1], 1: [0]}
    result = rm.evaluate((ids, scores), truth, "rr recall@3")
    lists = rm.evaluate({0: [3, 1, 2], 1: [2, 0]}, truth, "rr recall@3")
    assert {n: e.mean for n, e in result.items()} == {n: e.mean for n, e in lists.items()}
    assert "masked cells: 1" in str(result)
    with pytest.raises(
        DataError, match="pair of ids and scores holds rankings, so it has no truth"
    ):
        rm.evaluate({0: [1]}, (ids, scores), "rr")


def test_a_connection_without_rows_is_refused():
    read = duckdb.connect().execute("SELECT 1 AS user, 2 AS item")
    read.fetchall()
    for connection in (duckdb.connect(), read):
        with pytest.raises(DataError, match=r"DuckDB connection has no result.*con\.sql"):
            rm.evaluate(connection, {1: [2]}, "rr")
