"""Matching the ids of rankings and truth, and laws of reading as a whole."""

import contextlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import sparse

from rankmeter._reading.by_user import IdSeries, InFrame
from rankmeter._reading.read import read_interactions, read_rankings, read_truth
from rankmeter._reading.records import is_records
from rankmeter._reading.table import (
    Origin,
    Table,
    integers_from_text,
    unify_all_id_types,
    unify_id_types,
)
from rankmeter.errors import DataError, IdTypeError

FLAT_TRUTHS = {
    "list": [5, 7, 9],
    "tuple": (5, 7, 9),
    "array": np.array([5, 7, 9]),
    "masked array": np.ma.masked_array([5, 7, 9]),
    "series": pl.Series([5, 7, 9]),
}
ONE_TO_ONE = {5: 1, 7: 1, 9: 2}
MANY_RANKINGS = {
    "lists": [[5, 7], [7, 5], []],
    "scores": [{5: 0.2, 7: 0.1}, {7: 1.0}, {9: 1.0}],
    "array": np.array([[5, 7], [7, 5], [9, 5]]),
    "series": pl.Series([[5, 7], [7, 5], [9, 5]]),
    "matrix": sparse.csr_matrix(np.eye(3)),
}


@pytest.mark.parametrize("truth", FLAT_TRUTHS.values(), ids=FLAT_TRUTHS)
@pytest.mark.parametrize("rankings", MANY_RANKINGS.values(), ids=MANY_RANKINGS)
def test_one_item_per_user_written_flat_is_not_taken_for_one_user(rankings, truth):
    with pytest.raises(DataError) as caught:
        unify_id_types(read_rankings(rankings), read_truth(truth))
    for word in ("collection of 3 items", "rankings side", "3 users", "[[5], [7], [9]]"):
        assert word in str(caught.value)


NAMED_RANKINGS = {
    "dict": {5: [1, 2], 7: [2, 1], 9: [1, 2]},
    "text": {"5": [1, 2], "7": [2, 1], "9": [1, 2]},
    "frame": pl.DataFrame({"user": [5, 7, 9], "item": [1, 1, 2]}),
    "one user": {5: [1, 2]},
    "empty user": {0: [1], 5: []},
}


@pytest.mark.parametrize("many", [*MANY_RANKINGS.values(), *NAMED_RANKINGS.values()])
@pytest.mark.parametrize("swap", [False, True])
def test_one_item_for_each_user_is_not_taken_for_the_numbers_of_one_user(many, swap):
    """Both readings are written out."""
    rankings, truth = (ONE_TO_ONE, many) if swap else (many, ONE_TO_ONE)
    sides = read_rankings(rankings), read_truth(truth)
    with pytest.raises(DataError) as caught:
        unify_id_types(*sides)
    assert "write {5: [1], 7: [1], 9: [2]}. If" in str(caught.value)
    assert ": {5: 1, 7: 1, 9: 2}}." in str(caught.value)


def test_numbers_that_are_no_ids_have_one_reading():
    with pytest.raises(DataError) as caught:
        unify_id_types(
            read_rankings(NAMED_RANKINGS["dict"]), read_truth({5: 0.5, 7: 1, 8: 1, 9: 2})
        )
    assert "each user" not in str(caught.value)
    assert "name their user: {5: {5: 0.5, 7: 1, 8: 1, …}}." in str(caught.value)


@pytest.mark.parametrize("many", NAMED_RANKINGS.values(), ids=NAMED_RANKINGS)
def test_a_flat_list_is_not_taken_for_the_items_of_a_named_user(many):
    with pytest.raises(DataError, match=r"flat collection of 2 items, .* \[1, 2\]\}"):
        unify_id_types(read_rankings(many), read_truth([1, 2]))


def test_the_only_user_may_be_an_item_too():
    with pytest.raises(DataError, match=r"write \{0: \[5\]\}\. If these .* \{0: \{0: 5\}\}"):
        unify_id_types(read_rankings({0: [0, 5]}), read_truth({0: 5}))
    left, right = unify_id_types(read_rankings({0: 2, 5: 1}), read_truth({0: 5}))
    assert left.frame.rows() == [(0, 0, 2.0), (0, 5, 1.0)]
    assert right.frame.rows() == [(0, 0, 5.0)]


def test_a_flat_ranking_beside_many_truths_is_refused_too():
    with pytest.raises(
        DataError, match=r"The rankings side \(list\) is a flat collection.* \[\[5\]\]"
    ):
        unify_id_types(read_rankings([5]), read_truth([[5], [7]]))


def test_a_flat_list_in_a_file_is_one_user_too(tmp_path):
    (tmp_path / "truth.json").write_text("[5, 7]")
    with pytest.raises(DataError, match="flat"):
        unify_id_types(read_rankings([[5, 7], [7, 5]]), read_truth(tmp_path / "truth.json"))


@pytest.mark.parametrize("rankings", [[5, 7], [[5, 7]], np.array([[5, 7]]), {0: [5, 7]}])
@pytest.mark.parametrize("truth", [[5], {5}, [[5]], np.array([5]), {0: [5]}, {5: 1}])
def test_one_user_may_be_written_flat_or_not(rankings, truth):
    left, right = unify_id_types(read_rankings(rankings), read_truth(truth))

    assert left.frame.rows() == [(0, 5), (0, 7)]
    assert right.frame.rows() == [(0, 5, 1.0)]


INT, TEXT_INT = [1, 2], [7, 8]


def table(users, items, *, textual=False, empty=()):
    frame = pl.DataFrame({"user": users, "item": items})
    empty_users = IdSeries(pl.Series(empty, dtype=frame["user"].dtype))
    return Table(InFrame(frame), "list", empty_users, Origin(f"side {users}", textual))


@pytest.mark.parametrize(
    ("left", "left_textual", "right", "right_textual", "expected"),
    [
        # Same types: left alone, whatever they came from.
        ([1, 7], False, [1, 8], False, ([1, 7], [1, 8])),
        (["1", "7"], True, ["1", "8"], False, (["1", "7"], ["1", "8"])),
        # Both from text: integers become strings.
        ([1, 7], True, ["1", "x"], True, (["1", "7"], ["1", "x"])),
        (["1", "x"], True, [1, 7], True, (["1", "x"], ["1", "7"])),
        # Strings from text, integers from a program: read as integers if all of them are.
        (["1", "7"], True, [1, 8], False, ([1, 7], [1, 8])),
        ([1, 8], False, ["1", "-7"], True, ([1, 8], [1, -7])),
        # Integers from text, strings from a program: strings.
        ([1, 7], True, ["1", "x"], False, (["1", "7"], ["1", "x"])),
        (["1", "x"], False, [1, 7], True, (["1", "x"], ["1", "7"])),
    ],
)
@pytest.mark.parametrize("role", ["user", "item"])
def test_ids_meet_where_no_id_changes_its_meaning(
    role, left, left_textual, right, right_textual, expected
):
    def side(ids, textual):
        columns = {"user": ["u", "v"], "item": ["a", "b"], role: ids}
        return table(columns["user"], columns["item"], textual=textual)

    rankings, truth = unify_id_types(side(left, left_textual), side(right, right_textual))

    assert (rankings.frame[role].to_list(), truth.frame[role].to_list()) == expected
    assert rankings.frame[role].dtype == truth.frame[role].dtype
    assert rankings.empty_users.to_series().dtype == rankings.frame["user"].dtype


@pytest.mark.parametrize(
    ("left", "left_textual", "right", "right_textual", "words"),
    [
        ([1, 2, 3, 4], False, ["1", "2", "3", "4"], False, ["integer item ids: 1, 2, 3, …",
                                                           "string item ids: '1', '2', '3', …"]),
        (["1", "2"], False, [1, 2], False, ["string item ids: '1', '2'."]),
        (["1", "007", "x"], True, [1, 2, 3], False, ["not written as integers: '007', 'x'."]),
        ([1], False, ["1", "+1"], True, ["not written as integers: '+1'."]),
    ],
)  # fmt: skip
def test_ids_that_cannot_meet_are_shown(left, left_textual, right, right_textual, words):
    rankings = table(["u"] * len(left), left, textual=left_textual)
    truth = table(["u"] * len(right), right, textual=right_textual)
    with pytest.raises(IdTypeError) as caught:
        unify_id_types(rankings, truth)
    for word in ["The item ids", rankings.source, truth.source, "cast(pl.String)", *words]:
        assert word in str(caught.value)


def test_users_without_items_meet_too():
    rankings = table(["1"], ["a"], textual=True, empty=["2"])
    truth = table([1], ["a"], empty=[3])
    met = unify_id_types(rankings, truth)

    assert met[0].empty_users.to_list() == [2]
    assert met[0].frame["user"].to_list() == [1]
    assert met[1].empty_users.to_list() == [3]
    assert rankings.empty_users.to_list() == ["2"]
    with pytest.raises(IdTypeError, match="user ids"):
        unify_id_types(table(["1"], ["a"], textual=True, empty=["x"]), truth)


def test_a_side_without_any_id_takes_the_type_of_the_other():
    only_empty = read_rankings({"u": [], "v": []})
    met = unify_id_types(only_empty, read_truth({"u": ["a"]}))
    assert met[0].frame.schema == {"user": pl.String, "item": pl.String}
    assert met[0].empty_users.to_list() == ["u", "v"]

    met = unify_id_types(read_rankings({"u": ["a"]}), read_truth({"u": []}))
    assert met[1].frame.schema["item"] == pl.String


def test_no_rows_at_all_take_the_types_of_the_other_side():
    nothing = Table(InFrame(pl.DataFrame(schema={"user": pl.Int64, "item": pl.Int64})))
    met = unify_id_types(nothing, table(["u"], ["a"]))

    assert met[0].frame.schema == {"user": pl.String, "item": pl.String}
    assert met[0].empty_users.type == "String"


def test_a_table_made_by_hand_gets_empty_users_of_the_right_type():
    by_hand = Table(InFrame(pl.DataFrame({"user": ["u"], "item": ["a"]})))
    assert unify_id_types(by_hand, table(["u"], ["a"]))[0].empty_users.type == "String"


def test_wide_unsigned_ids_meet_the_others():
    wide, narrow = table([1], [2**64 - 1]), table([1], [5])
    for met in (unify_id_types(wide, narrow), unify_id_types(narrow, wide)):
        assert {side.frame["item"].dtype for side in met} == {pl.UInt64}
    assert wide.frame["item"].dtype == pl.UInt64


def test_wide_unsigned_ids_do_not_meet_negative_ones():
    with pytest.raises(IdTypeError, match=r"side \[2\] has negative ones \(-5\)"):
        unify_id_types(table([1], [2**64 - 1]), table([2], [-5]))


def test_text_meets_wide_unsigned_ids_only_where_it_fits():
    wide = table(["u"], [2**64 - 1])
    assert unify_id_types(table(["u"], ["7"], textual=True), wide)[0].frame["item"].to_list() == [7]
    assert (
        unify_id_types(table(["u"], [str(2**64 - 1)], textual=True), wide)[0]
        .frame["item"]
        .equals(wide.frame["item"])
    )
    with pytest.raises(IdTypeError, match="not written as integers: '-7'"):
        unify_id_types(table(["u"], ["-7"], textual=True), wide)


def test_tables_that_agree_are_passed_on_as_they_are():
    rankings, truth = table([1], ["a"]), table([1], ["b"])
    met = unify_id_types(rankings, truth)

    assert met[0] is rankings
    assert met[1] is truth


@pytest.mark.parametrize("names", ["ABC", "CBA"])
def test_the_ids_of_all_systems_meet_those_of_one_truth_in_any_order(names):
    tables = {"A": table([1], [7], textual=True), "B": table([1], [8]), "C": table([1], [9])}
    run = table(["1"], ["7"], textual=True)
    truth, systems = unify_all_id_types(run, {name: tables[name] for name in names})

    assert truth.frame.rows() == [(1, 7)]
    assert {name: systems[name].frame.rows() for name in "ABC"} == {
        "A": [(1, 7)],
        "B": [(1, 8)],
        "C": [(1, 9)],
    }


def test_one_system_and_its_truth_meet_as_any_two_tables():
    left, right = table(["1", "x"], [7, 8], textual=True), table([1, 2], [7, 8], textual=True)
    rankings, judged = unify_id_types(left, right)
    truth, systems = unify_all_id_types(right, {"A": left})

    assert truth.frame.equals(judged.frame)
    assert systems["A"].frame.equals(rankings.frame)


@pytest.mark.parametrize("names", ["AB", "BA"])
def test_a_system_that_cannot_have_the_types_of_the_others_is_named(names):
    tables = {"A": table(["u"], [7]), "B": table(["u"], ["x"])}
    systems = {name: tables[name] for name in names}
    with pytest.raises(IdTypeError, match=r"item ids"):
        unify_all_id_types(table(["u"], ["7"]), systems)
    with pytest.raises(IdTypeError, match=r"The item ids of A .* are String .* Int64") as caught:
        unify_all_id_types(
            table(["u"], ["7"], textual=True), {"A": table(["u"], ["x"]), "B": table(["u"], [7])}
        )
    assert tables["A"].source in str(caught.value)


def test_a_csv_file_meets_a_frame_and_a_run_meets_a_dict(tmp_path):
    (tmp_path / "a.csv").write_text("user,item\n7,1\n")
    (tmp_path / "a.run").write_text("7 Q0 1 1 0.5 tag\n")
    strings, integers = read_truth({"7": ["1"]}), read_truth({7: [1]})
    for name in ("a.csv", "a.run"):
        for truth in (strings, integers):
            met = unify_id_types(read_rankings(tmp_path / name), truth)
            assert met[0].frame.select("user", "item").rows() == truth.frame.drop("gain").rows()


@given(st.lists(st.one_of(st.integers(-(2**63), 2**63 - 1).map(str), st.text(max_size=3))))
def test_text_is_whole_numbers_only_if_writing_them_back_gives_the_text(values):
    read = integers_from_text(pl.Series(values, dtype=pl.String))

    def canonical(value):
        try:
            return str(int(value)) == value and -(2**63) <= int(value) < 2**63
        except ValueError:
            return False

    assert (read is not None) == all(map(canonical, values))
    if read is not None:
        assert [str(value) for value in read] == values


NAMES = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cc", "Zs", "Zl", "Zp")), min_size=1
)
IDS = st.one_of(st.integers(-99, 99), st.integers(0, 2**63 - 1))
SCORES = st.floats(allow_nan=False)


def nested(ids):
    return st.dictionaries(ids, st.dictionaries(ids, SCORES, max_size=4), min_size=1, max_size=4)


def forms(data):
    """The same data in every form that can hold it, written where needed."""
    rows = [(user, item, score) for user, items in data.items() for item, score in items.items()]
    frame = pl.DataFrame(rows, schema=["user", "item", "score"], orient="row")
    frame = frame.cast({"score": pl.Float64})
    yield data
    yield {user: pd.Series(items).to_dict() for user, items in data.items()}
    yield frame
    yield frame.lazy()
    yield frame.to_pandas()
    yield frame.to_arrow()
    yield frame.to_dicts()
    yield frame.to_dict(as_series=False)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        frame.write_csv(path / "a.csv")
        frame.write_csv(path / "a.tsv", separator="\t")
        frame.write_parquet(path / "a.parquet")
        frame.write_ndjson(path / "a.jsonl")
        (path / "a.json").write_text(json.dumps(frame.to_dicts()))
        for name in ("a.csv", "a.tsv", "a.parquet", "a.jsonl", "a.json"):
            if name in ("a.csv", "a.tsv", "a.parquet") or frame["score"].is_finite().all():
                yield path / name


@given(nested(IDS) | nested(NAMES))
def test_every_form_reads_as_the_same_rows(data):
    assume(any(data.values()))
    expected = [(user, item, score) for user in data for item, score in data[user].items()]
    for form in forms(data):
        table = read_rankings(form)
        assert [tuple(map(str, row[:2])) + row[2:] for row in table.frame.rows()] == [
            tuple(map(str, row[:2])) + row[2:] for row in expected
        ]


@given(nested(NAMES), st.sampled_from([" ", "\t", "  ", " \t "]), st.sampled_from(["\n", "\r\n"]))
def test_a_trec_run_reads_as_it_was_written(data, space, newline):
    rows = [(user, item, score) for user in data for item, score in data[user].items()]
    assume(rows)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.run")
        lines = [
            space.join([user, "Q0", item, "1", repr(score), "t"]) for user, item, score in rows
        ]
        path.write_bytes((newline.join(lines) + newline).encode())

        assert read_rankings(path).frame.rows() == rows


@given(st.lists(st.lists(st.integers(0, 9), max_size=4), min_size=1, max_size=5))
def test_no_user_and_no_item_of_lists_is_lost(lists):
    assume(not {item for items in lists for item in items} <= {0, 1})  # may be labels
    table = read_rankings(lists)
    found = {user: [] for user in table.empty_users.to_list()}
    for user, item in table.frame.rows():
        found.setdefault(user, []).append(item)

    assert found == dict(enumerate(lists))


@given(st.lists(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=3, max_size=3), min_size=1))
def test_a_sparse_matrix_reads_as_its_entries(cells):
    matrix = sparse.csr_array(np.array(cells))
    table = read_truth(matrix)
    users, items = matrix.nonzero()

    assert set(table.frame.rows()) == {
        (user, item, cells[user][item])
        for user, item in zip(users.tolist(), items.tolist(), strict=True)
    }
    assert set(table.empty_users) == set(range(len(cells))) - set(users.tolist())


def test_reading_plain_data_imports_none_of_the_optional_packages():
    code = """
import sys
from rankmeter._reading.read import read_rankings, read_truth
from rankmeter._reading.records import is_records
from rankmeter._reading.table import unify_id_types
data = {"u": ["a"]}
unify_id_types(read_rankings(data), read_truth([{"user": "u", "item": "a"}]))
is_records(data)
print(sorted({"pandas", "pyarrow", "duckdb", "scipy"} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=2)
    | st.binary(max_size=2)
    | st.dates()
    | st.uuids()
    | st.decimals(allow_nan=False)
)
KEYS = (
    st.sampled_from(["user", "item", "items", "score", "scores", "predict_list", "ground_truth"])
    | st.integers()
    | st.text(max_size=2)
    | st.none()
)
OBJECTS = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(KEYS, inner, max_size=4)
        | st.lists(inner, max_size=3).map(pd.Series)
    ),
    max_leaves=12,
)


@given(OBJECTS, st.sampled_from([read_rankings, read_truth, read_interactions, is_records]))
def test_whatever_an_object_is_no_other_error_comes_out(data, read):
    with contextlib.suppress(DataError):
        read(data)
