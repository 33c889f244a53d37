"""What came in goes out: frames of pandas, with their names, types and rows; Polars otherwise."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import rankmeter as rm

ROWS = {
    "userId": [1, 1, 1, 2, 2, 2, 3, 3, 3, 4],
    "movieId": list("abcabdbcaa"),
    "rating": [5, 4, 3, 5, 4, 3, 1, 2, 3, 5],
    "timestamp": range(10),
    "note": [*"pqrstuvwx", None],
}
RATINGS = pd.DataFrame(ROWS, index=range(100, 110))
SPLIT = rm.splits.leave_one_out(RATINGS)
LISTS = rm.baselines.popularity(SPLIT.train, k=5)
FOUND = rm.evaluate(LISTS, SPLIT.test, "rr ndcg@2")
BOTH = rm.compare(
    {"new": LISTS, "old": rm.baselines.random(SPLIT.train, k=5)}, SPLIT.test, "rr",
    segments=rm.by_activity(SPLIT.train, bins=2), baseline="old",
)  # fmt: skip
HANDED_OUT = {
    "per user": (lambda: FOUND.per_user, ["userId", "rr", "ndcg@2"]),
    "by segment": (
        lambda: FOUND.by_segment({1: "x", 2: "y", 3: "x"}),
        ["segment", "metric", "mean", "low", "high", "std", "n_users"],
    ),
    "gap": (
        lambda: FOUND.gap({1: "x", 2: "y", 3: "x"}),
        ["metric", "gap", "low", "high", "n_users", "n_segments"],
    ),
    "per system and user": (lambda: BOTH.per_user, ["system", "userId", "rr"]),
    "means": (BOTH.means, ["system", "rr"]),
    "worst": (BOTH.worst, ["userId", "old rr", "new rr", "difference"]),
    "best": (BOTH.best, ["userId", "old rr", "new rr", "difference"]),
    "segments of a comparison": (lambda: BOTH.segments, ["userId", "segment"]),
    "baseline": (lambda: LISTS, ["userId", "movieId", "score", "rank"]),
    "learned baseline": (
        lambda: rm.baselines.item_knn(RATINGS, k=2),
        ["userId", "movieId", "score", "rank"],
    ),
    "activity": (lambda: rm.by_activity(RATINGS, bins=2), ["userId", "segment"]),
    "popularity": (
        lambda: rm.by_popularity(SPLIT.train, SPLIT.test, bins=2),
        ["userId", "segment"],
    ),
    "values": (
        lambda: rm.compare_values(BOTH.per_user).per_user,
        ["system", "userId", "metric", "seed", "value"],
    ),
}


@pytest.mark.parametrize("what", HANDED_OUT)
def test_pandas_in_is_pandas_out_with_the_names_of_the_input(what):
    make, columns = HANDED_OUT[what]
    found = make()

    assert type(found) is pd.DataFrame
    assert [*found.columns] == columns
    assert "userId" not in found or found["userId"].dtype == RATINGS["userId"].dtype


SPLITS = {
    "leave_one_out": {},
    "holdout": {"ratio": 0.5},
    "temporal": {"cold_items": "keep"},
    "k_fold": {"k": 3},
}


@pytest.mark.parametrize("what", SPLITS)
def test_the_parts_of_a_split_are_rows_of_the_frame(what):
    found = getattr(rm.splits, what)(RATINGS, **SPLITS[what])
    for split in found if isinstance(found, tuple) else [found]:
        rows = pd.concat([split.train, split.test]).sort_index()
        pd.testing.assert_frame_equal(rows, RATINGS)
        assert split.counts["test_interactions"] == len(split.test)


def test_rows_that_are_dropped_are_in_neither_part():
    found = rm.splits.leave_one_out(RATINGS, cold_items="drop")
    assert found.counts["dropped_interactions"] == 1
    assert len(found.train) + len(found.test) == len(RATINGS) - 1
    assert "d" not in found.test["movieId"].tolist()


IDS = {
    "int32": [1, 2, 3],
    "uint8": [1, 2, 3],
    "float64": [1.0, 2.0, 3.0],
    "Int64": [1, 2, 3],
    "int64[pyarrow]": [1, 2, 3],
    "object": ["x", "y", "z"],
    "string[python]": ["x", "y", "z"],
    "string[pyarrow]": ["x", "y", "z"],
    "category": ["x", "y", "z"],
}


@pytest.mark.parametrize("dtype", IDS)
def test_ids_keep_their_types(dtype):
    users = pd.Series(IDS[dtype], dtype=dtype)
    data = pd.DataFrame({"user": users, "item": users})
    found = rm.evaluate(data, data, "rr").per_user

    assert found["user"].dtype == users.dtype
    assert found["user"].tolist() == users.tolist()
    lists = rm.baselines.popularity(data, exclude_seen=False)
    assert (lists["user"].dtype, lists["item"].dtype) == (users.dtype, users.dtype)


def test_ids_that_the_type_cannot_hold_are_not_changed():
    lists = pd.DataFrame({"user": pd.Series([1, 2], dtype="int8"), "item": ["a", "b"]})
    found = rm.evaluate(lists, {1: {"a"}, 300: {"a"}}, "rr").per_user
    assert found["user"].tolist() == [1, 300]
    lists = pd.DataFrame({"user": pd.Categorical(["x", "y"]), "item": ["a", "b"]})
    found = rm.evaluate(lists, {"x": {"a"}, "z": {"a"}}, "rr").per_user
    assert found["user"].tolist() == ["x", "z"]


def test_a_name_that_is_taken_changes_nothing():
    data = pd.DataFrame({"rr": [1, 2], "item": ["a", "b"]})
    found = rm.evaluate(data, {1: {"a"}}, "rr", columns={"user": "rr"})
    assert [*found.per_user.columns] == ["user", "rr"]


def test_labels_of_columns_need_not_be_text():
    data = pd.DataFrame({0: [1, 1, 2], 1: ["a", "b", "a"]})
    columns = {"user": "0", "item": "1"}
    assert [*rm.baselines.popularity(data, columns=columns).columns] == [0, 1, "score", "rank"]
    assert [*rm.splits.holdout(data, ratio=0.5, columns=columns).train.columns] == [0, 1]


def test_lists_and_records_of_pandas_count_too():
    series = pd.Series({"ann": ["a"], "bob": ["b"]}).rename_axis("member")
    assert [*rm.evaluate(series, {"ann": {"a"}}, "rr").per_user.columns] == ["member", "rr"]
    nested = pd.DataFrame({"user": ["ann", "bob"], "items": [["a"], ["b", "c"]]})
    assert [*rm.splits.holdout(nested, ratio=0.5).test.columns] == ["user", "items"]
    records = pd.DataFrame({"predict_list": [["a"]], "ground_truth": [["a"]]})
    assert rm.evaluate(records, None, "rr").per_user["rr"].tolist() == [1.0]


def test_cold_users_have_their_segment_and_a_frame_derived_from_it_does_not_give_it():
    segments = rm.by_activity(SPLIT.train.query("userId != 1"), bins=2)
    assert FOUND.by_segment(segments)["segment"].tolist()[-1] == "cold: 0 interactions"
    assert FOUND.by_segment(segments.copy())["segment"].isna().any()


def test_all_other_input_gives_polars():
    truth, frame = {1: {"a"}}, pl.DataFrame({"userId": [1], "movieId": ["a"]})
    for lists in (frame, {1: ["a"]}, frame.to_arrow(), frame.lazy()):
        found = rm.evaluate(lists, truth, "rr").per_user
        assert isinstance(found, pl.DataFrame)
        assert found.columns == ["user", "rr"]
    assert isinstance(rm.evaluate({1: ["a"]}, frame.to_pandas(), "rr").per_user, pl.DataFrame)
    assert rm.baselines.popularity(frame).columns == ["user", "item", "score", "rank"]


def test_a_series_of_values_belongs_to_the_users_of_its_index():
    old, new = pd.Series({"ann": 1.0, "bob": 2.0}), pd.Series({"bob": 3.0, "ann": 4.0})
    (found,) = rm.compare_values({"old": old, "new": new}, baseline="old").differences
    assert (found.wins, found.difference) == (2, 2.0)
    with pytest.raises(rm.errors.DataError, match="repeat a user"):
        rm.compare_values({"old": old, "new": pd.concat([new, new])})
    arrays = rm.compare_values({"old": np.arange(2.0), "new": np.arange(2.0) + 1})
    assert isinstance(arrays.per_user, pl.DataFrame)
