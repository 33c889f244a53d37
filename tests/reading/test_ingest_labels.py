"""Labels of users: segments, clusters, and the users to recommend to."""

import json
from datetime import date, datetime
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

import rankmeter as rm
from rankmeter._reading.keyed import read_labels, read_users
from rankmeter._reading.read import Interactions, read_interactions
from rankmeter.errors import ColumnError, DataError, IdTypeError, InvalidValueError, UsageError

LABELS = {"ann": "new", "bob": "old", "eve": "new"}
USERS = pl.Series("user", ["bob", "ann", "eve", "kim"])
FRAME = pl.DataFrame({"user": list(LABELS), "segment": list(LABELS.values())})


def relation(frame):
    labels = frame.to_arrow()  # noqa: F841  (DuckDB finds it by its name)
    return duckdb.sql('SELECT * EXCLUDE ("user"), "user", 7 AS other FROM labels')


def forms_of(frame):
    return {
        "mapping": lambda: LABELS,
        "polars": lambda: frame,
        "polars lazy": frame.lazy,
        "polars, another name of the user": lambda: frame.rename({"user": "userId"}),
        "polars categories": lambda: frame.cast({frame.columns[1]: pl.Categorical}),
        "pandas": frame.to_pandas,
        "pandas series": lambda: pd.Series(LABELS),
        "pandas, users in the index": lambda: pd.Series(LABELS).to_frame(frame.columns[1]),
        "pandas, the index has a name": lambda: frame.to_pandas().set_index("user").assign(age=7),
        "arrow": frame.to_arrow,
        "duckdb": lambda: relation(frame),
        "pairs": lambda: list(LABELS.items()),
        "lists": lambda: [list(pair) for pair in LABELS.items()],
        "array": lambda: np.array(list(LABELS.items())),
        "structured array": lambda: np.rec.fromrecords([*LABELS.items()], names=frame.columns),
        "named tuples": lambda: list(frame.to_pandas().itertuples(index=False)),
        "pandas categories": lambda: frame.to_pandas().astype("category"),
        "pandas, any name of the user": lambda: frame.to_pandas().rename(
            columns={"user": "member"}
        ),
        "series of structs": frame.to_struct,
        "rows": frame.to_dicts,
        "columns": lambda: frame.to_dict(as_series=False),
    }


FORMS = forms_of(FRAME)
FILES = {
    "a.csv": FRAME.write_csv,
    "a.tsv": lambda path: FRAME.write_csv(path, separator="\t"),
    "a.parquet": FRAME.write_parquet,
    "a.jsonl": FRAME.write_ndjson,
    "rows.json": lambda path: path.write_text(json.dumps(FRAME.to_dicts())),
    "a.json": lambda path: path.write_text(json.dumps(LABELS)),
    "pairs.json": lambda path: path.write_text(json.dumps(list(LABELS.items()))),
}


@pytest.mark.parametrize("form", FORMS)
def test_labels_come_in_every_form(form):
    found = read_labels(FORMS[form](), "segment", USERS)

    assert found.values.to_list() == ["old", "new", "new", None]
    assert found.counts == {"users_without_segment": 1}


@pytest.mark.parametrize("name", FILES)
def test_labels_come_from_every_kind_of_file(name, tmp_path):
    FILES[name](tmp_path / name)

    found = read_labels(tmp_path / name, "segment", USERS)
    assert found.values.to_list() == ["old", "new", "new", None]


def test_every_user_with_and_without_a_label_is_counted():
    found = read_labels({**LABELS, "x": "old", "y": None, "kim": None}, "cluster", USERS)

    assert found.values.name == "cluster"
    assert found.counts == {"users_without_cluster": 1, "clusters_of_other_users": 1}


@pytest.mark.parametrize(
    ("label", "text"),
    [
        (1, "1"),
        (1.5, "1.5"),
        (2.0, "2"),
        (-0.0, "0"),
        (2**70, str(2**70)),
        (Decimal("1.50"), "1.5"),
        (True, "true"),
        ("01", "01"),
        (date(2024, 1, 31), "2024-01-31"),
        (float("nan"), None),
    ],
)
def test_a_label_is_a_text(label, text):
    others = {"bob": label, "eve": None} if text else {"bob": 2.5}
    assert read_labels({"ann": label, **others}, "segment", USERS).values.to_list()[1] == text


def test_equal_numbers_are_one_label_and_others_are_not():
    labels = [1, 1.0, np.float32(1), Decimal(1), 2**53 + 1, 2.0**53, 0.0, -0.0]
    users = pl.Series("user", [f"u{i}" for i in range(len(labels))])
    found = read_labels(dict(zip(users, labels, strict=True)), "cluster", users)
    assert found.values.to_list() == ["1"] * 4 + [str(2**53 + 1), str(2**53), "0", "0"]


@pytest.mark.parametrize("dtype", [pl.Float64, pl.Float32, pl.Decimal(9, 2)])
def test_whole_numbers_of_a_frame_are_labels_without_a_point(dtype):
    labels = pl.Series("segment", [10.0, 2.0, None, 0.5]).cast(dtype)
    found = read_labels(pl.DataFrame([USERS, labels]), "segment", USERS)
    assert found.values.to_list()[:3] == ["10", "2", None]
    assert float(found.values[3]) == 0.5


def test_categories_that_are_numbers_keep_their_order():
    labels = pd.Series(
        pd.Categorical([1.0, 2.0], [2.0, 1.0, 0.5], ordered=True), index=["ann", "bob"]
    )
    found = read_labels(labels, "segment", USERS).values
    assert found.to_list()[:2] == ["2", "1"]
    assert found.dtype == pl.Enum(["2", "1", "0.5"])


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ({"ann": 1, "bob": "1"}, "mix types: integer 1 in row 1; string '1' in row 2. .* convert"),
        ({"ann": 1.5, "bob": "x"}, "mix types: float 1.5 in row 1; string 'x' in row 2"),
        ({"ann": True, "bob": 1}, "mix types: boolean True in row 1; integer 1 in row 2"),
        ({"ann": b"x", "bob": "x"}, "mix types: bytes b'x' in row 1; string 'x' in row 2"),
        ({"ann": "\ud800", "bob": "x"}, r"id '\\ud800' of dict in row 1 holds half of a surrogate"),
        ({"ann": b"x", "bob": b"y"}, "of type Binary, for example b'x'. A label is a text or a"),
        (pd.DataFrame({"user": ["ann", "bob"], "cluster": [1, "1"]}), "mix types: integer 1"),
    ],
)
def test_labels_of_several_types_are_refused(labels, message):
    with pytest.raises(DataError, match=f"The clusters? .*{message}"):
        read_labels(labels, "cluster", USERS)


def test_bins_of_pandas_are_labels():
    pd = pytest.importorskip("pandas")
    ages = pd.Series({"ann": 17, "bob": 41})

    for bins in (pd.cut(ages, [0, 18, 65]), pd.cut(ages, [0, 18, 65]).astype(object)):
        frame = bins.rename("segment").rename_axis("user").reset_index()
        for data in (bins, frame):
            found = read_labels(data, "segment", USERS)
            assert found.values.drop_nulls().to_list() == ["(18, 65]", "(0, 18]"]


def test_an_index_of_numbers_without_a_name_may_be_rows_and_not_users():
    users = pl.Series("user", [3, 4])
    frame = pd.DataFrame({"segment": ["new", "old"]}, index=[3, 4])
    with pytest.raises(ColumnError, match="no column for the user"):
        read_labels(frame, "segment", users)
    named = frame.rename_axis("userId")
    assert read_labels(named, "segment", users).values.to_list() == ["new", "old"]


def test_periods_are_labels_as_they_are_written_and_no_ids():
    months = pd.period_range("2024-01", periods=2, freq="M")
    frame = pd.DataFrame({"user": ["ann", "bob"], "segment": months})
    for data in (frame, dict(zip(frame["user"], months, strict=True))):
        assert read_labels(data, "segment", USERS).values.to_list()[:2] == ["2024-02", "2024-01"]
    with pytest.raises(IdTypeError, match=r"of type Period .*Convert them to strings"):
        read_labels(frame.rename(columns={"user": "segment", "segment": "user"}), "segment", USERS)


def test_ids_of_a_program_never_change_their_type():
    for labels, users in (({1: "x"}, ["1"]), ({"1": "x"}, [1])):
        with pytest.raises(IdTypeError, match=r"dict has .* ids such as .*, the result has"):
            read_labels(labels, "segment", pl.Series(users))
    found = rm.evaluate({"1": ["a"]}, {"1": ["a"]}, "rr")
    with pytest.raises(IdTypeError):
        found.by_segment({1: "x"})


def test_ids_of_a_text_follow_those_of_the_result(tmp_path):
    (tmp_path / "a.csv").write_text("user,segment\n1,x\n2,y\n")
    (tmp_path / "b.csv").write_text("user,segment\n1,x\n007,y\nann,z\n")
    for users in ([1, 2], ["1", "2"]):
        found = read_labels(tmp_path / "a.csv", "segment", pl.Series(users))
        assert found.values.to_list() == ["x", "y"]
    found = read_labels(tmp_path / "b.csv", "segment", pl.Series([1, 7]))
    assert found.values.to_list() == ["x", None]
    assert found.counts == {"users_without_segment": 1, "segments_of_other_users": 2}


def test_users_that_were_read_from_text_follow_the_labels():
    found = read_labels({1: "x", 3: "y"}, "segment", pl.Series(["1", "2"]), textual=True)

    assert found.values.to_list() == ["x", None]
    assert found.counts == {"users_without_segment": 1, "segments_of_other_users": 1}


LABELLED = {
    "numbers": {1: "x", 2: "y"},
    "strings": {"1": "x", "2": "y"},
    "frame of numbers": pl.DataFrame({"userId": [1, 2], "segment": ["x", "y"]}),
    "pandas Series of strings": pd.Series({"1": "x", "2": "y"}),
    "pairs of strings": [("1", "x"), ("2", "y")],
    "CSV": None,
}
EVALUATED = {
    "CSV of numbers": ("user,item\n1,a\n2,a\n", {"numbers", "strings"}),
    "CSV with names": ("user,item\n1,a\n2,a\nann,a\n", {"numbers", "strings"}),
    "TREC": ("1 Q0 a 1 .5 t\n2 Q0 a 1 .5 t\n", {"numbers", "strings"}),
    "dict of numbers": ({1: ["a"], 2: ["a"]}, {"numbers"}),
    "dict of strings": ({"1": ["a"], "2": ["a"]}, {"strings"}),
}


@pytest.mark.parametrize("form", LABELLED)
@pytest.mark.parametrize("data", EVALUATED)
def test_labels_meet_the_evaluated_users_as_the_ground_truth_meets_the_rankings(
    data, form, tmp_path
):
    rankings, kinds = EVALUATED[data]
    truth = tmp_path / "truth.csv"
    truth.write_text("user,item\n1,a\n2,a\n")
    if isinstance(rankings, str):
        (tmp_path / "run").write_text(rankings)
        rankings = tmp_path / "run"
    (tmp_path / "labels.csv").write_text("user,segment,cluster\n1,x,x\n2,y,y\n")
    kind = "numbers" if "numbers" in form else "strings" if "strings" in form else "text"
    labels = tmp_path / "labels.csv" if form == "CSV" else LABELLED[form]
    found = rm.evaluate(rankings, truth, "rr")
    systems = {"a": rankings, "b": rankings}
    if kind not in {"text", *kinds}:
        for call in (
            lambda: found.by_segment(labels),
            lambda: rm.compare(systems, truth, "rr", segments=labels),
        ):
            with pytest.raises(IdTypeError, match="convert one of them"):
                call()
        return
    assert found.by_segment(labels)["n_users"].to_list() == [1, 1]
    compared = rm.compare(systems, truth, "rr", segments=labels)
    assert [d.n for d in compared.differences] == [2, 1, 1]
    if "frame" not in form:
        drawn = rm.evaluate(rankings, truth, "rr", clusters=labels)
        assert drawn.counts["clusters"] >= 2


def test_a_user_may_have_the_same_label_twice_but_not_two():
    pairs = [("ann", "new"), ("ann", "new")]
    assert read_labels(pairs, "segment", USERS).values.to_list() == [None, "new", None, None]
    with pytest.raises(DataError, match=r"User 'ann' of list has two clusters, 'new' and 'old'"):
        read_labels([*pairs, ("ann", "old")], "cluster", USERS)


@pytest.mark.parametrize(
    ("data", "error", "words"),
    [
        (7, UsageError, "`segments` must be a mapping from user to label"),
        (None, UsageError, "got None"),
        ({}, DataError, "dict is empty"),
        ([], DataError, "list is empty"),
        ({"zoe": "x"}, DataError, "No user of the result is in any segment.*'zoe'.*'bob'"),
        (FRAME.drop("segment"), ColumnError, "no column for the segment.* Rename the column"),
        (FRAME.drop("user"), ColumnError, "no column for the user"),
        (
            FRAME.with_columns(uid="user"),
            ColumnError,
            r"2 columns that could be the user: .* Rename the others",
        ),
        ([("ann", "x"), "bob"], DataError, "Row 2 of list is 'bob' where a user and a segment"),
        ([{"user": "ann", "segment": "x"}, 3], DataError, "Row 2 of list is 3"),
        ({None: "x"}, InvalidValueError, "user ids of dict are missing"),
        ({"ann": ["x"]}, DataError, "A label is a text or a number"),
        ("no such file.csv", DataError, "does not exist"),
    ],
)
def test_what_are_no_labels_is_refused_with_the_reason(data, error, words):
    with pytest.raises(error, match=words):
        read_labels(data, "segment", USERS)


@pytest.mark.parametrize(
    "data",
    [
        ["ann", "new"],
        ("ann", "new"),
        np.array(["ann", "new"]),
        pl.Series(["ann", "new"]),
        pd.Series(["ann", "new"]),
        pl.DataFrame({"userId": ["ann", "new"], "n": [1, 2]}),
        pl.LazyFrame({"userId": ["ann", "new"]}),
        pd.DataFrame({"user": ["ann", "new"]}),
        {"ann": ["a"], "new": []},
        {"user": ["ann", "new"]},
        [{"user": "ann", "items": ["a"]}, {"user": "new", "items": []}],
        [{"user": "ann", "predict_list": []}, {"user": "new"}],
    ],
    ids=lambda data: type(data).__name__,
)
def test_users_come_in_every_form(data):
    assert read_users(data, USERS).to_list() == ["ann", "new"]


def test_users_of_a_text_have_the_type_of_the_known_ones(tmp_path):
    path = tmp_path / "users.txt"
    path.write_text("user\n 2\r\n\n1\n")
    assert read_users(path, pl.Series([5])).to_list() == [2, 1]
    assert read_users(path, pl.Series(["x"])).to_list() == ["2", "1"]
    path.write_text("2\nann\n")
    with pytest.raises(IdTypeError, match="String ids such as 'ann', train has Int64 ids"):
        read_users(path, pl.Series([5]))


def test_an_array_in_json_is_a_list_of_users(tmp_path):
    (tmp_path / "users.json").write_text('["ann", "new"]')
    assert read_users(tmp_path / "users.json", USERS).to_list() == ["ann", "new"]


def test_interactions_know_how_the_input_calls_its_columns():
    frame = pl.DataFrame({"ts": [3], "uid": ["u"], "shop": ["x"], "docno": ["a"]})
    read = Interactions.read(frame)

    assert read.frame.columns == ["user", "item", "time", "shop"]
    assert read.restore_input_columns(read.frame).equals(frame)
    assert read_interactions(read) is read.frame
    assert Interactions.read({"u": ["a"]}).restore_input_columns(
        read_interactions({"u": ["a"]})
    ).columns == [
        "user",
        "item",
    ]


@pytest.mark.parametrize("missing", [None, float("nan"), np.float32("nan"), pd.NA])
def test_a_missing_label_among_texts_is_no_label(missing):
    users = pl.Series("user", [1, 2])
    labels = read_labels(pd.Series(["x", missing], index=[1, 2], dtype=object), "segment", users)
    assert labels.values.to_list() == ["x", None]
    assert labels.counts == {"users_without_segment": 1}


RANKINGS = {user: ["a", "b"] for user in [*LABELS, "kim"]}
TRUTH = {user: {"b" if user == "bob" else "a"} for user in RANKINGS}
SYSTEMS = {"one": RANKINGS, "two": {**RANKINGS, "ann": ["b", "a"]}}


def used(side, labels):
    """What `evaluate` and `compare` make of labels: values to compare."""
    found = rm.evaluate(RANKINGS, TRUTH, "rr", **({side: labels()} if side == "clusters" else {}))
    both = rm.compare(SYSTEMS, TRUTH, "rr", **{side: labels()})
    if side == "clusters":
        return found["rr"].interval, both["rr"][0].p, both.settings["clusters"]
    rows = found.by_segment(labels()).fill_nan(None).rows()
    return rows, both.segments.rows(), both.to_dict()["segments"]


@pytest.mark.parametrize("side", ["segments", "clusters"])
@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_segments_and_clusters(form, side):
    forms = FORMS if side == "segments" else forms_of(FRAME.rename({"segment": "cluster"}))
    assert used(side, forms[form]) == used(side, lambda: LABELS)


NO_LABELS = {
    "a function": (lambda user: user, "must be a mapping from user to label"),
    "a number": (3, "must be a mapping from user to label"),
    "labels alone": (["x", "y"], "where a user and a .* belong"),
    "a Series of labels": (pl.Series(["x", "y"]), "where a user and a .* belong"),
    "users of each label": ({"new": ["ann", "eve"]}, "A label is a text or a number: {user:"),
    "no label": (
        pl.DataFrame({"user": ["ann"], "age": [3], "city": "x"}),
        "has no column for the ",
    ),
    "items": (pl.DataFrame({"item": ["a"], "segment": ["x"], "cluster": ["x"]}), "for the user"),
    "two labels": ([("ann", "x"), ("ann", "y")], "Give each user one"),
}


@pytest.mark.parametrize("side", ["segments", "clusters"])
@pytest.mark.parametrize("what", NO_LABELS)
def test_what_is_no_label_is_refused(what, side):
    data, message = NO_LABELS[what]
    calls = [lambda: rm.compare(SYSTEMS, TRUTH, "rr", **{side: data})]
    if side == "segments":
        calls.append(lambda: rm.evaluate(RANKINGS, TRUTH, "rr").by_segment(data))
    else:
        calls.append(lambda: rm.evaluate(RANKINGS, TRUTH, "rr", clusters=data))
    for call in calls:
        with pytest.raises((DataError, UsageError), match=message):
            call()


WORDS = ["low", "mid", "high"]
ENUM = pl.Series("segment", WORDS, pl.Enum(WORDS))
CATEGORIES = pd.Categorical(WORDS, WORDS, ordered=True)
ORDERED = {
    "integers": (lambda users: dict(zip(users, [10, 2, 1], strict=True)), ["1", "2", "10"]),
    "numbers in text": (
        lambda users: dict(zip(users, ["k 10", "k 9", "a"], strict=True)),
        ["a", "k 9", "k 10"],
    ),
    "enumeration": (
        lambda users: pl.DataFrame({"user": users, "segment": ENUM}),
        WORDS,
    ),
    "categories": (
        lambda users: pd.Series(CATEGORIES, users),
        WORDS,
    ),
    "a column of categories under any name": (
        lambda users: pd.DataFrame({"u": users, "segment": CATEGORIES}),
        WORDS,
    ),
    "a label under any name": (
        lambda users: pl.DataFrame({"user_id": users, "age": [10, 2, 1]}),
        ["1", "2", "10"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("form", ORDERED)
def test_segments_are_in_the_order_of_their_type_or_of_the_numbers_in_them(form):
    users = ["u", "v", "w"]
    made, wanted = ORDERED[form]
    result = rm.evaluate({user: ["a"] for user in users}, {user: ["a"] for user in users}, "rr")
    assert [*result.by_segment(made(users))["segment"]] == wanted


@pytest.mark.parametrize("form", ["polars", "pandas", "csv", "rows"])
def test_the_only_column_of_dates_is_the_time_in_every_split(form, tmp_path):
    days = [datetime.fromisoformat(f"2024-01-0{day}") for day in (3, 1, 2, 6, 5, 4)]
    data = pl.DataFrame(
        {
            "customer_id": [1, 1, 1, 2, 2, 2],
            "sku": [*"abcabc"],
            "purchased_at": days,
            "released": [datetime.fromisoformat("2020-01-01")] * 6,
            "qty": range(6),
        }
    )
    given = data
    if form == "pandas":
        given = data.to_pandas()
    elif form == "csv":
        given = tmp_path / "log.csv"
        data.write_csv(given)
    elif form == "rows":
        given = data.to_dicts()
    for split in (
        rm.splits.leave_one_out(given),
        rm.splits.leave_k_out(given, k=1),
        rm.splits.holdout(given, ratio=1 / 3, by="time"),
    ):
        assert [*split.test[split.test.columns[1]]] == ["a", "a"]
        assert len(split.train) == 4
    assert len(rm.splits.temporal(given, at="2024-01-05").test) == 2
    twice = data.with_columns(seen=pl.col("purchased_at"))
    with pytest.raises(ColumnError, match="needs a time column"):
        rm.splits.temporal(twice, at="2024-01-05")
