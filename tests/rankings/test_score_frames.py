"""Labels of score matrices: frame × function × order × names gives the number, or the remedy does.

Each cell is the value of a slow definition, or an error whose remedy is run and gives that value.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import rankmeter as rm
from rankmeter.errors import ColumnError, DataError, IdTypeError

RNG = np.random.default_rng(3)
SCORES = RNG.permutation(20).reshape(4, 5) / 20
LABELS = np.eye(5, dtype=int)[[1, 0, 4, 3]]
ROWS = {
    "text": ["ann", "bob", "cy", "dee"],
    "from 1": [1, 2, 3, 4],
    "integers": [40, 7, 11, 3],
}
COLUMNS = {
    "text": ["v", "w", "x", "y", "z"],
    "from 1": [1, 2, 3, 4, 5],
    "integers": [10, 3, 7, 90, 1],
}
NAMES = [("text", "text"), ("from 1", "integers"), ("integers", "from 1")]
WANTED = [
    1 / (1 + sum(row > row[int(label.argmax())])) for row, label in zip(SCORES, LABELS, strict=True)
]


def frame_of(values, rows, columns):
    return pd.DataFrame(values, index=ROWS[rows], columns=COLUMNS[columns])


def wide(frame, name="user_id"):
    """A Polars frame with the users in a column; its other names are text."""
    users = pl.Series(name, frame.index.tolist())
    items = {str(item): frame[item].to_numpy() for item in frame.columns}
    return pl.DataFrame([users]).with_columns(**items)


FRAMES = {
    "pandas": lambda frame: frame,
    "pandas, named": lambda frame: frame.rename_axis(index="query_id", columns="doc_id"),
    "pandas, float32": lambda frame: frame.astype(np.float32),
    "pandas, nullable": lambda frame: frame.convert_dtypes(),
    "pandas, users in a column": lambda frame: frame.rename_axis("user").reset_index(),
    "polars": wide,
    "polars, last column": lambda frame: wide(frame).select(pl.exclude("user_id"), "user_id"),
    "polars, query": lambda frame: wide(frame, "qid").lazy(),
    "arrow": lambda frame: wide(frame).to_arrow(),
    "arrow, index": lambda frame: pa.Table.from_pandas(frame.rename(columns=str)),
    "arrow, batch": lambda frame: wide(frame).to_arrow().to_batches()[0],
}
ORDERS = {
    "same": lambda frame: frame,
    "rows": lambda frame: frame.iloc[[2, 0, 3, 1]],
    "columns": lambda frame: frame.iloc[:, [4, 2, 0, 1, 3]],
    "both": lambda frame: frame.iloc[::-1, ::-1],
}


def truth_of(rows, columns):
    return {
        user: {COLUMNS[columns][int(label.argmax())]}
        for user, label in zip(ROWS[rows], LABELS, strict=True)
    }


def by_user(result):
    per_user = result.per_user
    return dict(zip(per_user["user"].to_list(), per_user["rr"].to_list(), strict=True))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("rows", "columns"), NAMES)
@pytest.mark.parametrize("form", FRAMES)
def test_labels_of_a_matrix_are_users_and_items(form, rows, columns, order):
    scores = FRAMES[form](ORDERS[order](frame_of(SCORES, rows, columns)))
    wanted = dict(zip(ROWS[rows], WANTED, strict=True))
    assert by_user(rm.evaluate(rm.Scores(scores), truth_of(rows, columns), "rr")) == wanted
    compared = rm.compare({"a": rm.Scores(scores), "b": rm.Scores(scores)},
                          truth_of(rows, columns), "rr")  # fmt: skip
    assert compared["rr"][0].difference == 0


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("rows", "columns"), NAMES)
@pytest.mark.parametrize("of_target", FRAMES)
@pytest.mark.parametrize("of_scores", ["pandas", "polars"])
def test_two_frames_meet_by_label(of_scores, of_target, rows, columns, order):
    scores = FRAMES[of_scores](frame_of(SCORES, rows, columns))
    labels = frame_of(LABELS.astype(float), rows, columns)
    target = FRAMES[of_target](ORDERS[order](labels))
    result = rm.evaluate_scores(scores, target, "rr")
    assert by_user(result) == dict(zip(ROWS[rows], WANTED, strict=True))
    seen = ORDERS[order](frame_of(np.roll(LABELS, 1, axis=1).astype(float), rows, columns))
    without = SCORES.copy()
    without[np.roll(LABELS, 1, axis=1) == 1] = -np.inf
    wanted = rm.evaluate_scores(without, LABELS, "rr")["rr"].mean
    options = {"exclude": FRAMES[of_target](seen)}
    assert rm.evaluate_scores(scores, target, "rr", **options)["rr"].mean == wanted
    ranked = rm.Scores(scores, **options)
    assert rm.evaluate(ranked, truth_of(rows, columns), "rr")["rr"].mean == wanted
    acc = rm.accumulator("rr")
    acc.update(scores=scores, target=target, **options)
    assert acc.compute()["rr"].mean == wanted
    left = {"candidates": FRAMES[of_target](1 - seen)}
    assert rm.evaluate_scores(scores, target, "rr", **left)["rr"].mean == wanted


def test_explicit_ids_meet_the_labels_of_what_is_excluded():
    seen = frame_of(np.roll(LABELS, 1, axis=1), "text", "text")
    by_position = rm.Scores(SCORES, users=ROWS["text"], items=COLUMNS["text"], exclude=seen.values)
    by_label = rm.Scores(SCORES, users=ROWS["text"], items=COLUMNS["text"],
                         exclude=seen.iloc[::-1, ::-1])  # fmt: skip
    found = [rm.evaluate(s, truth_of("text", "text"), "rr")["rr"] for s in (by_position, by_label)]
    assert found[0] == found[1]


# ---------------------------------------------------------------------------------------------
# Positions and labels

POSITIONS = {
    "ids": LABELS.argmax(axis=1),
    "list": LABELS.argmax(axis=1).tolist(),
    "lists": LABELS.argmax(axis=1)[:, None].tolist(),
    "labels": LABELS,
    "mask": LABELS == 1,
    "pair": np.nonzero(LABELS),
    "frame": pd.DataFrame(LABELS),
    "series": pd.Series(LABELS.argmax(axis=1)),
    "frame of ids": pd.DataFrame(LABELS.argmax(axis=1)),
}
COUNTED = {
    "pandas": lambda: pd.DataFrame(SCORES),
    "polars": lambda: pl.DataFrame(SCORES),
    "polars, digits": lambda: pl.DataFrame(SCORES, schema=[str(n) for n in range(5)]),
    "arrow": lambda: pl.DataFrame(SCORES).to_arrow(),
    "array": lambda: SCORES,
}


@pytest.mark.parametrize("target", POSITIONS)
@pytest.mark.parametrize("form", COUNTED)
def test_labels_that_count_are_positions(form, target):
    scores = COUNTED[form]()
    assert rm.evaluate_scores(scores, POSITIONS[target], "rr").per_user["rr"].to_list() == WANTED
    ranked = rm.evaluate(rm.Scores(scores), [[int(r.argmax())] for r in LABELS], "rr")
    assert ranked.per_user["rr"].to_list() == WANTED


@pytest.mark.parametrize("target", POSITIONS)
@pytest.mark.parametrize(("rows", "columns"), [*NAMES, ("text", None), (None, "text")])
@pytest.mark.parametrize("form", ["pandas", "polars"])
def test_positions_do_not_meet_labels_and_both_remedies_work(form, rows, columns, target):
    labels = {"index": ROWS.get(rows), "columns": COLUMNS.get(columns)}
    scores = pd.DataFrame(SCORES, **labels)
    if form == "polars":
        scores = wide(scores) if rows else pl.DataFrame(SCORES, schema=COLUMNS[columns])
    for run in (
        lambda scores: rm.evaluate_scores(scores, POSITIONS[target], "rr"),
        lambda scores: count_batch(scores, POSITIONS[target]),
    ):
        with pytest.raises(DataError) as error:
            run(scores)
        assert ".to_numpy()" in str(error.value)
        if "frame" not in target and "series" not in target:
            assert "rm.Scores(scores)" in str(error.value)
        users_out = scores.drop("user_id") if form == "polars" and rows else scores
        assert run(users_out.to_numpy())["rr"].mean == np.mean(WANTED)
    truth = dict(zip(labels["index"] or range(4), map(list, LABELS), strict=True))
    names = labels["columns"] or [*range(5)]
    truth = {user: {names[row.index(1)]} for user, row in truth.items()}
    assert rm.evaluate(rm.Scores(scores), truth, "rr")["rr"].mean == np.mean(WANTED)


def count_batch(scores, target):
    acc = rm.accumulator("rr")
    acc.update(scores=scores, target=target)
    return acc.compute()


@pytest.mark.parametrize("option", ["target", "exclude", "candidates"])
def test_a_frame_with_labels_does_not_meet_an_array(option):
    sides = {"target": LABELS, option: frame_of(LABELS, "text", "text")}
    with pytest.raises(DataError, match=rf"the rows of `{option}` are called .*\.to_numpy\(\)"):
        rm.evaluate_scores(SCORES, metrics="rr", **sides)
    shuffled = pd.Series([1, 2, 3, 4], index=[3, 0, 1, 2])
    with pytest.raises(DataError, match=r"rows of `target` are called 3, 0, 1, …, and those"):
        rm.evaluate_scores(SCORES, shuffled, "rr")
    for same in (shuffled.to_numpy(), shuffled.reset_index(drop=True)):
        assert rm.evaluate_scores(SCORES, same, "rr")["rr"].mean == pytest.approx(
            rm.evaluate_scores(SCORES, [1, 2, 3, 4], "rr")["rr"].mean
        )


def test_other_labels_are_named_with_a_remedy():
    scores = frame_of(SCORES, "text", "text")
    fewer = frame_of(LABELS, "text", "text").iloc[:3, :4]
    with pytest.raises(DataError, match=r"rows of `target` .* 1 missing, such as 'dee'.*reindex"):
        rm.evaluate_scores(scores, fewer, "rr")
    whole = fewer.reindex(index=scores.index, columns=scores.columns, fill_value=0)
    assert rm.evaluate_scores(scores, whole, "rr").counts["rows_without_target"] == 2
    with pytest.raises(DataError, match=r"columns .* 1 that the scores lack, such as 'q'"):
        rm.evaluate_scores(scores, whole.assign(q=0), "rr")
    twice = [frame.rename(index={"bob": "ann"}) for frame in (scores, whole)]
    with pytest.raises(DataError, match=r"rows of `target` .*some occur twice"):
        rm.evaluate_scores(twice[0], twice[1].iloc[::-1], "rr")


def test_parts_of_scores_lose_no_labels():
    named = frame_of(SCORES, "text", "text")
    for parts in (
        [named, named],
        (named, pd.DataFrame(np.eye(5), index=COLUMNS["text"])),
        lambda: [named, named],
    ):
        for run in (
            lambda scores: rm.evaluate_scores(scores, [0] * 4, "rr"),
            lambda scores: rm.evaluate(rm.Scores(scores), [[0]] * 4, "rr"),
        ):
            with pytest.raises(DataError, match=r"would be lost: pass .to_numpy\(\) of each part"):
                run(parts)
    parts = [pd.DataFrame(SCORES[:, :2]), pl.DataFrame(SCORES[:, 2:])]
    assert rm.evaluate_scores(parts, LABELS, "rr").per_user["rr"].to_list() == WANTED


# ---------------------------------------------------------------------------------------------
# Explicit ids, user columns, digits


@pytest.mark.parametrize("form", ["pandas", "polars"])
def test_ids_that_repeat_the_labels_are_fine_and_others_are_refused(form):
    scores = FRAMES[form](frame_of(SCORES, "integers", "integers"))
    users, items, truth = ROWS["integers"], COLUMNS["integers"], truth_of("integers", "integers")
    for given in (users, np.array(users), pl.Series(users), pd.Index(users)):
        ranked = rm.Scores(scores, users=given, items=items)
        assert rm.evaluate(ranked, truth, "rr")["rr"].mean == np.mean(WANTED)
        result = rm.evaluate_scores(scores, FRAMES[form](frame_of(LABELS, "integers", "integers")),
                                    "rr", users=given)  # fmt: skip
        assert by_user(result) == dict(zip(users, WANTED, strict=True))
    for wrong in ({"users": users[::-1]}, {"items": items[::-1]}, {"users": [1, 2, 3, 4]}):
        with pytest.raises(DataError, match=r"and the labels of the frame are .*\.to_numpy\(\)"):
            rm.evaluate(rm.Scores(scores, **wrong), truth, "rr")
    numbers = scores.drop("user_id").to_numpy() if form == "polars" else scores.to_numpy()
    ranked = rm.Scores(numbers, users=users, items=items)
    assert rm.evaluate(ranked, truth, "rr")["rr"].mean == np.mean(WANTED)


USERS = ["user", "user_id", "userId", "qid", "query_id", "session_id", "customer_id", "visitorid"]


@pytest.mark.parametrize("name", USERS)
@pytest.mark.parametrize("rows", ROWS)
def test_a_column_of_users_is_never_an_item(name, rows):
    for scores in (
        wide(frame_of(SCORES, rows, "text"), name),
        frame_of(SCORES, rows, "text").rename_axis(name).reset_index(),
    ):
        result = rm.evaluate(rm.Scores(scores), truth_of(rows, "text"), ["rr", "n_ranked"])
        assert by_user(result) == dict(zip(ROWS[rows], WANTED, strict=True))
        assert result["n_ranked"].mean == 5


@pytest.mark.parametrize("rows", ROWS)
def test_a_column_of_users_with_an_unknown_name_is_an_error_with_a_remedy(rows):
    named = frame_of(SCORES, rows, "text").rename_axis("kunde")
    for scores in (wide(named, "kunde"), named.reset_index(), pl.DataFrame(named.reset_index())):
        with pytest.raises(DataError, match=r"'kunde', which has .*rename|the users, called"):
            rm.evaluate(rm.Scores(scores), truth_of(rows, "text"), "rr")
        is_pandas = isinstance(scores, pd.DataFrame)
        renamed = (
            scores.rename(columns={"kunde": "user"})
            if is_pandas
            else scores.rename({"kunde": "user"})
        )
        result = rm.evaluate(rm.Scores(renamed), truth_of(rows, "text"), "rr")
        assert result["rr"].mean == np.mean(WANTED)


def test_names_of_words_beside_an_index_are_items():
    scores = pd.DataFrame([[0.1, 0.9]], index=["ann"], columns=["reader", "book"])
    assert rm.evaluate(rm.Scores(scores), {"ann": {"book"}}, "rr")["rr"].mean == 1


@pytest.mark.parametrize("number", [int, str])
@pytest.mark.parametrize("rows", ROWS)
def test_digits_that_are_always_text_meet_the_items_of_the_truth(rows, number):
    scores = wide(frame_of(SCORES, rows, "integers"))
    truth = {u: {number(i) for i in items} for u, items in truth_of(rows, "integers").items()}
    assert rm.evaluate(rm.Scores(scores), truth, "rr")["rr"].mean == np.mean(WANTED)


def test_digits_that_are_not_certain_are_an_error():
    frame = frame_of(SCORES, "integers", "integers")
    texts = wide(frame).with_columns(pl.col("user_id").cast(pl.String))  # users of type text
    with pytest.raises(IdTypeError):
        rm.evaluate(rm.Scores(texts), truth_of("integers", "integers"), "rr")
    zero = wide(frame).rename({"3": "003"})  # a name that is not an integer
    with pytest.raises(IdTypeError, match="'003'"):
        rm.evaluate(rm.Scores(zero), truth_of("integers", "integers"), "rr")
    items = [int(name) for name in zero.columns[1:]]
    with pytest.raises(DataError, match="the labels of the frame are"):
        rm.evaluate(rm.Scores(zero, items=items), truth_of("integers", "integers"), "rr")
    as_text = rm.Scores(frame.rename(columns=str))
    with pytest.raises(IdTypeError):  # pandas has types of its own
        rm.evaluate(as_text, truth_of("integers", "integers"), "rr")


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (pd.DataFrame({"user_id": ["a"], "item_id": ["x"], "score": [0.3]}),
         "row for each pair of 'user_id' and 'item_id'.*rankmeter.evaluate"),
        (pl.DataFrame({"user_id": [1], "item_id": [2], "score": [0.3]}), "row for each pair"),
        (pl.DataFrame({"user": [1], "qid": [2], "a": [0.3]}), "2 columns that could be the users"),
        (pd.DataFrame([[1.0, 2]], index=pd.MultiIndex.from_tuples([("a", 1)])), "of 2 levels"),
        (pd.DataFrame([[1.0, 2]], index=["a"], columns=["x", "x"]), "duplicate item 'x'"),
        (pd.DataFrame([[1.0, "b"]], index=["a"], columns=["x", "y"]), "'y', which has no numbers"),
        (pl.DataFrame({"user": [1], "x": [0.1], "y": ["b"]}), "'y', which has no numbers"),
    ],
)  # fmt: skip
def test_frames_that_are_no_matrix_say_why(scores, message):
    with pytest.raises(DataError, match=message):
        rm.evaluate(rm.Scores(scores), {"a": {"x"}}, "rr")


def test_missing_scores_of_a_frame_are_missing():
    scores = wide(frame_of(SCORES, "text", "text")).with_columns(v=pl.lit(None, pl.Float64))
    with pytest.raises(DataError, match="column 0 is NaN; 4 scores"):
        rm.evaluate(rm.Scores(scores), truth_of("text", "text"), "rr")
    dropped = rm.evaluate(rm.Scores(scores), truth_of("text", "text"), "n_ranked",
                          bad_scores="drop")  # fmt: skip
    assert dropped["n_ranked"].mean == 4


@pytest.mark.parametrize("form", ["pandas", "pandas, named", "pandas, users in a column", "polars",
                                  "arrow"])  # fmt: skip
def test_a_matrix_given_to_evaluate_is_refused_and_the_hint_works(form):
    frame, truth = frame_of(SCORES, "text", "text"), truth_of("text", "text")
    scores, labels = FRAMES[form](frame), FRAMES[form](frame_of(LABELS, "text", "text"))
    with pytest.raises(ColumnError, match=r"pass rm.Scores\(frame\)"):
        rm.evaluate(scores, truth, "rr")
    assert rm.evaluate(rm.Scores(scores), truth, "rr")["rr"].mean == np.mean(WANTED)
    with pytest.raises(ColumnError, match=r"pass it to rm\.evaluate_scores"):
        rm.evaluate(rm.Scores(scores), labels, "rr")
    assert rm.evaluate_scores(scores, labels, "rr")["rr"].mean == np.mean(WANTED)
