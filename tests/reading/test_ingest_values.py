"""Ids, scores, ranks and gains: which values are kept, converted or refused."""

import datetime as dt
import uuid
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest

from rankmeter._reading.read import read_interactions, read_rankings, read_truth
from rankmeter.errors import DataError, IdTypeError, InvalidValueError, UsageError

UUIDS = [uuid.UUID(int=n) for n in (1, 2)]
INF, NAN = float("inf"), float("nan")


def of_users(ids):
    return read_rankings(pl.DataFrame({"user": ids, "item": ["a"] * len(ids)}))


def scored(values, **options):
    n = len(values)
    data = {"user": list(range(n)), "item": ["a"] * n, "score": values}
    return read_rankings(pd.DataFrame(data), **options)


# Ids


@pytest.mark.parametrize(
    ("ids", "dtype", "expected"),
    [
        (pl.Series([1, 2], dtype=pl.Int8), pl.Int64, [1, 2]),
        (pl.Series([1, 2**32 - 1], dtype=pl.UInt32), pl.Int64, [1, 2**32 - 1]),
        (pl.Series([1, 2**63 - 1], dtype=pl.UInt64), pl.Int64, [1, 2**63 - 1]),
        (pl.Series([1, 2**63], dtype=pl.UInt64), pl.UInt64, [1, 2**63]),
        (pl.Series([-(2**63), 2**63 - 1], dtype=pl.Int128), pl.Int64, [-(2**63), 2**63 - 1]),
        (pl.Series([0, 2**64 - 1], dtype=pl.Int128), pl.UInt64, [0, 2**64 - 1]),
        (pl.Series(["a", ""], dtype=pl.String), pl.String, ["a", ""]),
        (pl.Series(["a", "b"], dtype=pl.Categorical), pl.String, ["a", "b"]),
        (pl.Series(["a", "b"], dtype=pl.Enum(["b", "a"])), pl.String, ["a", "b"]),
    ],
)
def test_ids_are_int64_uint64_or_string(ids, dtype, expected):
    assert of_users(ids).frame["user"].dtype == dtype
    assert of_users(ids).frame["user"].to_list() == expected


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        ([1, 2], [1, 2]),
        ([np.int32(1), np.uint8(2)], [1, 2]),
        ([1, 2**63], [1, 2**63]),
        (["a", np.str_("b")], ["a", "b"]),
        (UUIDS, [str(one) for one in UUIDS]),
        ([1.0, 2], [1, 2]),
        ([Decimal(1), Decimal("2.0")], [1, 2]),
        ([Decimal(1), Fraction(10**30, 10**29), np.int64(7)], [1, 10, 7]),
    ],
)
@pytest.mark.parametrize("form", ["dict", "pandas", "list"])
def test_python_ids_become_the_same_types(ids, expected, form):
    data = {
        "dict": lambda: {"u": ids},
        "list": lambda: [ids],
        "pandas": lambda: pd.DataFrame({"user": "u", "item": pd.Series(ids, dtype=object)}),
    }[form]()
    assert read_rankings(data).frame["item"].to_list() == expected


def test_whole_floats_are_integers_and_counted():
    table = read_rankings(pl.DataFrame({"user": [1.0, 2.0], "item": [3, 4]}))

    assert table.frame.rows() == [(1, 3), (2, 4)]
    assert table.counts == {"rows": 2, "float_user_ids": 2}


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "longdouble"])
def test_floats_of_every_width_must_be_whole(dtype):
    frame = pd.DataFrame({"user": np.array([1.5, 2], dtype=dtype), "item": [3, 4]})
    with pytest.raises(IdTypeError, match=r"1 of 2 user ids .* not integers, for example 1\.5"):
        read_rankings(frame)


PANDAS_STRINGS = ["object", "string[python]", "string[pyarrow]", "category", None]


@pytest.mark.parametrize("dtype", PANDAS_STRINGS)
def test_pandas_strings_of_every_kind_are_strings(dtype):
    frame = pd.DataFrame({"user": pd.Series(["u", "v"], dtype=dtype), "item": [1, 2]})

    assert read_rankings(frame).frame["user"].to_list() == ["u", "v"]
    assert read_rankings(frame).frame["user"].dtype == pl.String


@pytest.mark.parametrize("dtype", ["object", "string[python]", "category", "Int64", "float64"])
def test_pandas_frames_need_no_pyarrow(dtype, monkeypatch):
    values = [1, 2, 1] if dtype in ("Int64", "float64") else ["b", "a", "b"]
    frame = pd.DataFrame({"user": pd.Series(values, dtype=dtype), "item": [1, 2, 3]})
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)

    assert read_rankings(frame).frame["user"].to_list() == values


@pytest.mark.parametrize("dtype", ["object", "string[python]", "category", "Int64", "float64"])
def test_missing_pandas_ids_are_found_with_and_without_pyarrow(dtype, monkeypatch):
    values = [1, None] if dtype in ("Int64", "float64") else ["b", None]
    frame = pd.DataFrame({"user": pd.Series(values, dtype=dtype), "item": [1, 2]})
    for _ in range(2):
        with pytest.raises(InvalidValueError, match=r"1 of 2 user ids .* first at row 2"):
            read_rankings(frame)
        monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)


@pytest.mark.parametrize(
    "values",
    [
        [None, "a", None],
        [NAN, "a", None],
        [pd.NA, 1, pd.NaT],
        [None, UUIDS[0], NAN],
        [NAN, 1.0, NAN],
        [np.float32("nan"), 7, None],
    ],
)
def test_missing_ids_are_an_error_with_count_and_rows(values):
    for data in (
        [values],
        {"u": values},
        pd.DataFrame({"user": 1, "item": pd.Series(values, dtype=object)}),
    ):
        with pytest.raises(InvalidValueError) as caught:
            read_rankings(data)
        for word in ("2 of 3 item ids", "rows 1, 3", "the first row is 1"):
            assert word in str(caught.value)


def test_a_missing_user_of_an_empty_list_is_found():
    with pytest.raises(InvalidValueError, match="user ids"):
        read_rankings({"u": ["a"], None: []})


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        (pl.Series([1.5, 2.0]), ["1 of 2 user ids", "not integers", "1.5"]),
        (pl.Series([INF, 2.0]), ["not integers", "inf"]),
        (pl.Series([2.0**53, 2.0**53 + 2]), ["floats of 9007199254740992 or more", "Float64"]),
        (pl.Series([2.0**25, 1.0], dtype=pl.Float32), ["floats of 16777216 or more", "Float32"]),
        (pl.Series([2.0**53]), ["floats of 9007199254740992 or more", "Float64"]),
        (pl.Series([-(2.0**24)], dtype=pl.Float32), ["floats of 16777216 or more", "Float32"]),
        (pl.Series([Decimal("1.5")]), ["not integers", "1.5"]),
        (pl.Series([-1, 2**63], dtype=pl.Int128), ["9223372036854775808", "64-bit", "strings"]),
        (pl.Series([0, 2**64], dtype=pl.Int128), ["18446744073709551616", "64-bit"]),
        (pl.Series([-(2**63) - 1], dtype=pl.Int128), ["-9223372036854775809", "64-bit"]),
        (pl.Series([True, False]), ["Boolean", "True", "integers or strings"]),
        (pl.Series([[1], [2]]), ["List(Int64)", "Explode"]),
        (pl.Series([{"a": 1}]), ["Struct"]),
        (pl.Series([b"a"]), ["Binary", "b'a'"]),
        (pl.Series([dt.date(2024, 1, 2)]), ["Date", "Cast them to strings"]),
        (pl.Series([dt.timedelta(1)]), ["Duration"]),
    ],
)
def test_ids_of_other_types_are_refused(ids, words):
    with pytest.raises(IdTypeError) as caught:
        of_users(ids)
    for word in ["user ids of polars DataFrame", *words]:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([1, 2, "a"], ["mix types", "integer 1 in row 1", "string 'a' in row 3"]),
        (["1", 2.5], ["mix types", "string '1' in row 1", "float 2.5 in row 2"]),
        ([True, "a"], ["mix types", "boolean True in row 1"]),
        ([True, False], ["boolean True in row 1"]),
        ([b"a", b"b"], ["bytes b'a' in row 1"]),
        ([(1, 2), (3, 4)], ["tuple (1, 2) in row 1"]),
        ([dt.date(2024, 1, 2)], ["date datetime.date(2024, 1, 2)"]),
        ([1, 2**64], ["18446744073709551616", "64-bit"]),
        ([-1, 2**63], ["9223372036854775808", "64-bit"]),
        ([1, 10**30], ["64-bit"]),
        ([None, [1], NAN], ["list [1] in row 2"]),
        ([1, 2.5], ["1 of 2 item ids", "2.5"]),
    ],
)
def test_python_ids_of_other_types_are_refused(values, words):
    objects = np.empty(len(values), dtype=object)
    objects[:] = values
    for data in ({"u": values}, pd.DataFrame({"user": 1, "item": objects}), [values, []]):
        with pytest.raises(IdTypeError) as caught:
            read_rankings(data)
        for word in words:
            assert word in str(caught.value)


def test_users_of_empty_lists_are_typed_with_the_others():
    with pytest.raises(IdTypeError, match="user ids of dict mix types"):
        read_rankings({"u": ["a"], 7: []})


# Scores


def test_scores_of_any_number_type_are_float64():
    for values in ([1, 2], [1.5, 2], [Decimal("1.5"), 2], [np.float32(1.5), np.int8(2)]):
        table = read_rankings({"u": dict(zip("ab", values, strict=True))})
        assert table.frame["score"].to_list() == [float(value) for value in values]
    for dtype in (pl.Int16, pl.UInt64, pl.Float32, pl.Decimal(10, 1)):
        frame = pl.DataFrame({"user": [1], "item": [1], "score": pl.Series([2], dtype=dtype)})
        assert read_rankings(frame).frame["score"].dtype == pl.Float64


MISSING = [0.5, NAN, 0.25, None]


@pytest.mark.parametrize("form", ["pandas", "polars", "dict", "objects"])
@pytest.mark.parametrize("bad_scores", ["error", "drop", "worst"])
def test_missing_scores_have_one_of_three_meanings(form, bad_scores):
    columns = {"user": ["u", "u", "v", "w"], "item": [1, 2, 3, 4], "score": MISSING}
    data = {
        "pandas": lambda: pd.DataFrame(columns),
        "polars": lambda: pl.DataFrame(columns, strict=False),
        "dict": lambda: {"u": {1: 0.5, 2: NAN}, "v": {3: 0.25}, "w": {4: None}},
        "objects": lambda: pd.DataFrame({**columns, "score": pd.Series(MISSING, dtype=object)}),
    }[form]()
    if bad_scores == "error":
        with pytest.raises(InvalidValueError) as caught:
            read_rankings(data)
        for word in ("2 of 4 scores", "user 'u' item 2", "user 'w' item 4", "bad_scores='drop'"):
            assert word in str(caught.value)
        return
    table = read_rankings(data, bad_scores=bad_scores)
    if bad_scores == "drop":
        assert table.frame.rows() == [("u", 1, 0.5), ("v", 3, 0.25)]
        assert table.empty_users.to_list() == ["w"]
        assert table.counts == {"rows": 4, "dropped_scores": 2}
    else:
        assert table.frame["score"].to_list() == [0.5, -INF, 0.25, -INF]
        assert table.counts == {"rows": 4, "worst_scores": 2}


@pytest.mark.parametrize("missing", [NAN, Decimal("NaN"), Decimal("sNaN"), np.float32("nan")])
def test_every_kind_of_nan_is_a_missing_value(missing):
    with pytest.raises(InvalidValueError, match="1 of 2 scores"):
        read_rankings({"u": {1: Decimal("0.5"), 2: missing}})
    with pytest.raises(InvalidValueError, match="1 of 2 item ids"):
        read_rankings({"u": [1, missing]})


def test_all_scores_may_be_dropped():
    table = scored([NAN, NAN], bad_scores="drop")

    assert table.frame.height == 0
    assert table.empty_users.to_list() == [0, 1]


def test_a_column_of_nulls_is_missing_scores():
    frame = pl.DataFrame({"user": [1], "item": [2], "score": [None]})
    with pytest.raises(InvalidValueError, match="1 of 1 scores"):
        read_rankings(frame)


def test_bad_scores_has_three_values():
    with pytest.raises(
        UsageError, match=r"`bad_scores` must be one of 'error', 'drop', 'worst', got 'best'"
    ):
        scored([1.0], bad_scores="best")


def test_infinite_scores_are_kept_and_counted():
    table = scored([INF, 1.0, -INF])

    assert table.frame["score"].to_list() == [INF, 1.0, -INF]
    assert table.counts == {"rows": 3, "infinite_scores": 2}


def test_integers_that_no_float_holds_are_counted():
    assert scored([2**53, 2**53 + 1, 5]).counts == {"rows": 3, "rounded_scores": 1}
    assert scored([2**53, 5]).counts == {"rows": 2}


@pytest.mark.parametrize(
    ("values", "bad", "where"),
    [
        ([1.0, "2", "x"], "2", "rows 2, 3"),
        (["1", "2", "3"], "1", "rows 1, 2, 3"),
        ([1.0, 2.0, True], True, "row 3"),
    ],
)
def test_scores_that_are_no_numbers_are_named(values, bad, where):
    for data in (
        pd.DataFrame({"user": 1, "item": [1, 2, 3], "score": pd.Series(values, dtype=object)}),
        {"u": dict(zip("abc", values, strict=True))},
    ):
        with pytest.raises(InvalidValueError) as caught:
            read_rankings(data)
        assert f"The score {bad!r} " in str(caught.value)
        assert f"first at {where} (" in str(caught.value)


@pytest.mark.parametrize(
    "values",
    [
        pl.Series(["1", "2"]),
        pl.Series([None, "2"]),
        pl.Series([[1.0], [2.0]]),
        pl.Series([True, False]),
    ],
)
def test_score_columns_of_other_types_are_refused(values):
    frame = pl.DataFrame({"user": [1, 2], "item": [1, 2], "score": values})
    with pytest.raises(InvalidValueError, match="is not a number"):
        read_rankings(frame)


# Ranks


def test_ranks_are_kept_as_they_are():
    frame = pl.DataFrame({"user": [1, 1, 1], "item": [1, 2, 3], "rank": [2.0, 2.0, 7]})

    assert read_rankings(frame).frame["rank"].to_list() == [2.0, 2.0, 7.0]


@pytest.mark.parametrize(
    ("ranks", "words"),
    [
        ([0, 1, 2], ["1 of 3 ranks", "row 1", "Ranks start at 1: add 1"]),
        ([1, -3, 2], ["-3", "row 2"]),
        ([1.0, NAN, None], ["2 of 3 ranks", "None", "rows 2, 3"]),
        ([1.0, INF, 2.0], ["inf", "row 2"]),
        ([1.0, 1.5, 2.0], ["1 of 3 ranks", "not integers", "1.5"]),
        ([1.0, 1e19, 2.0], ["1 of 3 ranks", "above 2^53", "not ranked"]),
        (pl.Series([1, 2, 2**63], dtype=pl.UInt64), ["above 2^53", "drop these rows"]),
    ],
)
def test_ranks_below_1_or_that_are_no_whole_numbers_are_refused(ranks, words):
    frame = pl.DataFrame({"user": [1] * 3, "item": [1, 2, 3], "rank": ranks}, strict=False)
    with pytest.raises(InvalidValueError) as caught:
        read_rankings(frame)
    for word in [*words, "columns={'score'"]:
        assert word in str(caught.value)


# Gains


def test_gains_may_be_graded_zero_negative_or_yes_and_no():
    for gains in ([2, 0, -1], [0.5, 1.5, 0.0], [True, False, True]):
        frame = pl.DataFrame({"user": [1] * 3, "item": [1, 2, 3], "relevance": gains})
        assert read_truth(frame).frame["gain"].to_list() == [float(gain) for gain in gains]
        assert read_truth({"u": dict(zip("abc", gains, strict=True))}).frame["gain"].to_list() == [
            float(gain) for gain in gains
        ]


@pytest.mark.parametrize("bad", [NAN, None, INF, -INF])
def test_gains_must_be_finite(bad):
    frame = pl.DataFrame({"user": [1, 2], "item": [1, 2], "gain": [1.0, bad]}, strict=False)
    for data in (frame, {"u": {"a": 1.0, "b": bad}, "v": []}):
        with pytest.raises(InvalidValueError, match=r"1 of 2 gains .* first at row 2"):
            read_truth(data)


def test_gains_that_are_no_numbers_are_named():
    with pytest.raises(InvalidValueError, match="The gain 'high' of dict is not a number"):
        read_truth({"u": {"a": "high"}})


# Interactions


def test_interactions_refuse_missing_ids_and_keep_missing_ratings():
    frame = pl.DataFrame({"user": [1, 2], "item": [1, None], "rating": [None, 2.0]})
    with pytest.raises(InvalidValueError, match="1 of 2 item ids"):
        read_interactions(frame)
    assert read_interactions(frame.with_columns(item=1))["rating"].to_list() == [None, 2.0]


def test_empty_interactions_are_an_error():
    with pytest.raises(DataError, match="no rows"):
        read_interactions(pl.DataFrame({"user": [], "item": []}))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"u": [(0.5, "x"), (0.7, "y")]}, ["tuple (0.5, 'x')", "{item: number}"]),
        ({"u": [(5, 2), (7, 1)]}, ["tuple (5, 2)", "{item: number}"]),
        ([[["x", 0.5, 1]]], ["list ['x', 0.5, 1]", "{item: number}"]),
        ({"u": [{"name": "x", "score": 0.5}]}, ["dict {'name'", "{item: number}"]),
        ({("h", "r"): ["x"]}, ["tuple ('h', 'r')", "such as 'h|r'"]),
        ({("h", 7): ["x"]}, ["such as 'h|7'"]),
    ],
)
def test_containers_in_the_place_of_ids_bring_the_form_to_write(data, words):
    with pytest.raises(IdTypeError) as caught:
        read_rankings(data)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    "data",
    [
        {"u": ["x", "y\ud800"]},
        [["x", "y\ud800"]],
        np.array([["x", "y\ud800"]]),
        pd.DataFrame({"user": ["u", "u"], "item": pd.Series(["x", "y\ud800"], dtype=object)}),
    ],
)
def test_half_a_surrogate_pair_is_no_character(data):
    with pytest.raises(InvalidValueError, match=r"item id 'y\\ud800' of .* in row 2"):
        read_rankings(data)


def test_messages_about_missing_ids_are_grammatical():
    with pytest.raises(InvalidValueError, match="Every row needs an item"):
        read_rankings({"u": [None]})
    with pytest.raises(InvalidValueError, match="Every row needs a user"):
        read_rankings({None: ["x"]})
