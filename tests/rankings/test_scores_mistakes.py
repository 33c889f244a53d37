"""Natural mistakes with scores: an error or a caution that says what was expected, or the value."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse

import rankmeter as rm
from rankmeter.errors import DataError, RankmeterWarning, UsageError

RNG = np.random.default_rng(0)
SCORES = RNG.random((6, 9))
TARGET = np.array([2, 1, 3, 5, 4, 0])
HOT = np.eye(9, dtype=int)[TARGET]
OTHER = np.eye(9, dtype=int)[(TARGET + 1) % 9]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"scores": SCORES.T}, "`target` must have one row for each of the 9 rows"),
        ({"scores": SCORES[0]}, "a row for each query and a column for each item"),
        ({"scores": {0: {1: 0.5}}}, "a row for each query and a column for each item"),
        ({"scores": SCORES.astype(str)}, "`scores` must be numbers"),
        ({"scores": SCORES.astype(object)}, "`scores` must be numbers"),
        ({"scores": SCORES[:, :0]}, "outside the 0 columns"),
        ({"target": TARGET + 4}, "`target` 9 of row 3 is outside the 9 columns"),
        ({"target": TARGET.astype(float)}, "must have ids of columns .integers."),
        ({"target": TARGET == TARGET}, "must have ids of columns .integers."),
        ({"target": HOT[:, :8] == 1}, "must have ids of columns .integers."),
        ({"target": [[2, -100]] * 6}, "`target` -100 of row 0 is outside"),
        ({"target": [[2, 0, 0]] * 6}, "duplicate target 0 in row 0.*padding is -1"),
        ({"target": HOT, "target_ids": 1}, "`target_ids` must be True or False"),
        ({"target": HOT.astype(str)}, "must have ids of columns .integers."),
        ({"target": HOT, "target_ids": True}, "duplicate target 0 in row 0"),
        ({"target": HOT.tolist()}, "pass np.array.target. if these are labels"),
        (
            {"target": HOT - OTHER - 3 * np.roll(OTHER, 1, axis=1)},
            "label -1, which means 'not judged', and -3 in row 0 and column 4",
        ),
        ({"target": np.where(HOT, 1.0, np.nan)}, "label nan in row 0 and column 0"),
        (
            {"exclude": 0.5 * OTHER},
            "label 0.5 in row 0 .*must be 0 or 1. Pass a mask, such as `exclude > 0`",
        ),
        ({"exclude": HOT}, "target 2 of row 0 is excluded"),
        (
            {"exclude": 2 * OTHER - 1},
            "label -1 in row 0 and column 0: .* or `list.exclude.` if these are ids",
        ),
        ({"exclude": [7, 8]}, "`exclude` must have one row for each of the 6 rows"),
        ({"exclude": {0: [1]}}, "`exclude` must have one row for each of the 6 rows"),
        ({"exclude": [[1], None, [], [], [], []]}, "got object in row 1"),
        ({"candidates": 9}, "`candidates` must have one row for each of the 6 rows"),
        ({"candidates": range(1, 6)}, "target 0 of row 5 is not among the candidates"),
        ({"users": np.zeros((6, 2))}, "`users` must have one label for each of 6 rows, got 12"),
        (
            {"target": TARGET.astype(np.uint64) + 2**63},
            "`target` 9223372036854775813 is not the number",
        ),
        ({"target": [[np.uint64(2**63)], *[[1]] * 5]}, "`target` 9223372036854775808 of row 0 is"),
        ({"exclude": (np.array([0.9]), np.array([8.7]))}, "must have ids of columns .integers."),
        ({"exclude": np.array([[0.9], [8.7]])}, "must have ids of columns .integers."),
        ({"target": 3 * HOT + OTHER, "relevant": ">=2", "each": True}, "pass each=False"),
        ({"scores": scipy.sparse.csr_array(SCORES * 1j)}, "must be numbers, got .* complex128"),
        (
            {"scores": scipy.sparse.coo_array(SCORES[0])},  # one row until SciPy 1.13
            "sparse array of shape .9,.|each of the 1 row of the scores",
        ),
        ({"target": scipy.sparse.csr_array(np.where(HOT, np.nan, 0))}, "label nan in row 0"),
        ({"scores": SCORES * 1e300, "score_type": "float32"}, "score of row 0 and column 0 is inf"),
        ({"target": None, "negatives": SCORES[:, :0]}, "`negatives` has no scores"),
        (
            {"target": None, "negatives": np.where(HOT, np.nan, SCORES)[:1].repeat(6, 0)},
            "6 scores that are NaN or infinite, the first in row 0. Remove them",
        ),
        (
            {"target": None, "negatives": np.array([0.5, np.nan])},
            "1 score that is NaN or infinite, the first at position 1. Remove it",
        ),
        (
            {"target": None, "negatives": SCORES[:5]},
            "`negatives` must have a row for each positive",
        ),
    ],
)
def test_mistakes_that_are_errors(given, message):
    options = {"scores": SCORES, "target": TARGET, **given}
    if "negatives" in options:
        options["scores"] = SCORES[:, 0]
    with pytest.raises((DataError, UsageError), match=message):
        rm.evaluate_scores(options.pop("scores"), options.pop("target"), **options)


TWO = SCORES[:2]


@pytest.mark.parametrize(
    "given",
    [
        {"exclude": np.array([[0, 0], [1, 2]])},
        {"exclude": ([0, 1], [1, 2])},
        {"target": (np.array([1]), np.array([0])), "each": False},
        {"target": ([1], [0])},
    ],
)
def test_what_can_mean_two_things_for_two_rows_is_an_error(given):
    with pytest.raises(DataError, match="for two rows can mean two things"):
        rm.evaluate_scores(TWO, **{"target": [3, 3], **given})


def test_arrays_of_two_rows_that_mean_one_thing_are_read():
    ids = rm.evaluate_scores(TWO, [3, 3], "mr", exclude=np.array([[0, 5], [1, -1]]))
    assert ids["mr"] == rm.evaluate_scores(TWO, [3, 3], "mr", exclude=[[0, 5], [1]])["mr"]
    pair = rm.evaluate_scores(TWO, [3, 3], "mr", exclude=(np.array([0, 0]), np.array([5, 6])))
    assert pair["mr"] == rm.evaluate_scores(TWO, [3, 3], "mr", exclude=[[5, 6], []])["mr"]
    shared = rm.evaluate_scores([[0.9, 0.1]], [1], "mr", candidates=[0, 1])
    assert shared["mr"].mean == 2


def test_small_integers_within_a_tolerance_do_not_overflow():
    scores = np.array([[-128, 5, 3]], np.int8)
    assert rm.evaluate_scores(scores, [0], "mr", like="libkge")["mr"].mean == 3


def test_hits_without_a_cutoff_give_a_warning():
    with pytest.warns(RankmeterWarning, match="hits has no cutoff, so it is 1"):
        assert rm.evaluate_ranks([50, 3], "hits", candidates=99, like="pykeen")["hits"].mean == 1


@pytest.mark.parametrize(
    ("users", "message"),
    [
        (["1", 1], "user ids of users= mix types: integer 1 in row 2; string '1' in row 1"),
        ([np.nan, np.nan], "2 of 2 user ids of users= are missing"),
        (np.array([1, np.nan]), "1 of 2 user ids of users= are missing .* first at row 2"),
        (pd.Series(["a", None]), "1 of 2 user ids of users= are missing"),
        ([1.5, 2], "1 of 2 user ids of users= are not integers, for example 1.5"),
        ([True, False], "of type boolean True in row 1; ids are integers or strings"),
        ([b"a", b"b"], "of type bytes b'a' in row 1"),
        (np.array(["2020-01-01", "2020-01-02"], dtype="M8[D]"), "of type Datetime"),
        ([(1, 2), (3, 4)], "of type tuple .* Join the parts to one string"),
        (["a\ud800", "b"], "in row 1 holds half of a surrogate pair"),
        ([-1, 2**63], "no 64-bit integer can hold together with the others"),
    ],
)
def test_ids_of_users_follow_the_rules_of_rankings(users, message):
    acc = rm.accumulator("mrr")
    for call in (
        lambda: rm.evaluate_scores(SCORES[:2], TARGET[:2], users=users),
        lambda: rm.evaluate_ranks([1, 2], users=users),
        lambda: acc.update(ranks=[1, 2], users=users),
    ):
        with pytest.raises(DataError, match=message):
            call()
    with pytest.raises(DataError, match="nothing was counted"):
        acc.compute()


@pytest.mark.parametrize(
    "users", [[2.0, 1.0], pd.Series([2.0, 1.0]), pl.Series([2, 1], dtype=pl.Int8)]
)
def test_whole_floats_are_integer_ids(users):
    result = rm.evaluate_scores(SCORES[:2], TARGET[:2], users=users)
    assert result.per_user["user"].to_list() == [2, 1]
    is_float = not isinstance(users, pl.Series)
    assert result.counts.get("float_user_ids", 0) == 2 * is_float
    acc = rm.accumulator("mrr")
    acc.update(ranks=[4, 3], users=[2, 1])
    acc.update(ranks=[3, 4], users=users[::-1])
    assert acc.compute().counts["repeated_users_merged"] == 2
    assert acc.compute().counts.get("float_user_ids", 0) == 2 * is_float


@pytest.mark.parametrize("shape", [(2, 5), (50, 20)])
@pytest.mark.parametrize("options", [{}, {"each": False}, {"candidates": [0, 1, 3]}])
def test_a_function_that_answers_differently_is_an_error(shape, options):
    rng = np.random.default_rng(0)

    def scores():
        whole = rng.integers(0, 3, shape)
        yield whole[:, :2]
        yield whole[:, 2:]

    target = np.arange(shape[0]) % 2
    with pytest.raises(DataError, match=r"of row \d+ the score .* turn off dropout"):
        rm.evaluate_scores(scores, target, "mrr", **options)
    fixed = [*scores()]
    for kept in (fixed, lambda: fixed, lambda: [block.copy() for block in fixed]):
        rm.evaluate_scores(kept, target, "mrr", **options)


def test_a_function_may_give_nan_twice_and_blocks_may_have_no_targets():
    scores = np.array([[np.nan, 2.0, 1.0], [1.0, 2.0, 3.0]])
    found = rm.evaluate_scores(lambda: [scores[:, :1], scores[:, 1:2], scores[:, 2:]], [0, 2], "mr",
                               bad_scores="worst")  # fmt: skip
    assert found["mr"].mean == 2


@pytest.mark.parametrize(
    ("later", "message"),
    [
        (None, "must return blocks of columns, .* got None"),
        (3, "must return blocks of columns, .* got 3"),
        ([SCORES[:5]], r"`scores` had 6 rows at first and a block of shape \(5, 9\) later"),
        ([SCORES[0]], r"`scores` had 6 rows at first and a block of shape \(9,\) later"),
        ([SCORES[:, :8]], "`scores` had 9 columns at first and 8 later"),
    ],
)
def test_a_function_returns_the_same_blocks_at_each_call(later, message):
    answers = iter([[SCORES], later])
    with pytest.raises(DataError, match=message):
        rm.evaluate_scores(lambda: next(answers), TARGET)


@pytest.mark.parametrize("positives", [[[0.7, 0.3]], 0.1, [[[0.7]]]])
def test_positives_of_another_shape_are_an_error(positives):
    with pytest.raises(DataError, match=r"of the positives must be .* shape \(n,\), got shape"):
        rm.evaluate_scores(positives, negatives=[0.5, 0.4, 0.1])


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["1", 1], "labels of {}= mix types: integer 1 in row 2; string '1' in row 1"),
        ([1.5, "1.5"], "labels of {}= mix types: float 1.5 in row 1"),
        ([True, 1], "labels of {}= mix types: boolean True in row 1; integer 1 in row 2"),
        ([True, "true"], "labels of {}= mix types"),
        ([dt.date(2026, 1, 1), "2026-01-01"], "labels of {}= mix types: date"),
        ([(1, 2), (3, 4)], "labels of {}= are of type List"),
        (pl.Series([[1], [2]]), "labels of {}= are of type List"),
        (["a\ud800", "b"], "in row 1 holds half of a surrogate pair"),
        ([np.nan, 2], "`{}` has no label for 1 row, the first is row 0"),
        ([2, None], "`{}` has no label for 1 row, the first is row 1"),
        (["a", np.nan], "`{}` has no label for 1 row, the first is row 1"),
        (np.array([1.5, np.nan]), "`{}` has no label for 1 row, the first is row 1"),
        (pl.Series([None, np.nan]), "`{}` has no label for 2 rows, the first is row 0"),
        (pd.Series([pd.NaT, pd.NaT]), "`{}` has no label for 2 rows, the first is row 0"),
    ],
)
def test_labels_of_rows_are_of_one_kind_and_never_missing(labels, message):
    with pytest.raises(DataError, match=message.format("clusters")):
        rm.evaluate_scores(SCORES[:2], TARGET[:2], clusters=labels)
    with pytest.raises(DataError, match=message.format("g")):
        rm.evaluate_ranks([1, 2], groups={"g": labels})


@pytest.mark.parametrize(
    ("labels", "texts"),
    [
        ([1, 2.5], ["1", "2.5"]),
        ([np.True_, False], ["false", "true"]),
        ([dt.date(2026, 1, 2), dt.date(2026, 1, 1)], ["2026-01-01", "2026-01-02"]),
        (pl.Series(["b", "a"], dtype=pl.Categorical), ["a", "b"]),
        (pd.Series([2, 1], dtype="Int64"), ["1", "2"]),
    ],
)
def test_labels_of_rows_are_text_numbers_booleans_or_times(labels, texts):
    found = rm.evaluate_ranks([1, 2], "mr", groups=labels, clusters=labels)
    segments = found.by_group("groups")["segment"].to_list()
    assert segments == [*texts, "macro"]
    assert found.counts["clusters"] == 2


def test_two_lists_in_a_tuple_for_two_rows_can_mean_two_things():
    with pytest.raises(DataError, match="can mean two things"):
        rm.evaluate_scores(SCORES[:2], TARGET[:2], exclude=([0], [5]))
    pair = np.array([0]), np.array([5])
    assert rm.evaluate_scores(SCORES[:2], TARGET[:2], exclude=pair).counts["excluded_cells"] == 1


@pytest.mark.parametrize(
    "target",
    [TARGET[:, None], HOT == 1, HOT.astype(float), HOT, 3 * HOT, tuple(TARGET), pl.Series(TARGET),
     np.column_stack([TARGET, *[np.full(6, -1)] * 7]), (np.arange(6), TARGET)],
)  # fmt: skip
def test_targets_in_all_forms_are_the_same(target):
    wanted = rm.evaluate_scores(SCORES, TARGET, "mr")
    found = rm.evaluate_scores(pl.DataFrame(SCORES), target, "mr")
    np.testing.assert_array_equal(found.scores.matrix, wanted.scores.matrix)


def test_graded_labels_are_gains_of_the_items_above_0():
    labels = np.where(OTHER, 3, HOT)
    graded = rm.evaluate_scores(SCORES, labels, "ndcg(gain=exp2)", each=False)
    truth = [dict(enumerate(row)) for row in labels.tolist()]
    lists = [dict(enumerate(row)) for row in SCORES.tolist()]
    same = rm.evaluate(lists, truth, "ndcg(gain=exp2)")
    assert graded["ndcg(gain=exp2)"].mean == same["ndcg(gain=exp2)"].mean


def test_results_that_mean_nothing_say_so():
    assert "no row has a target: nothing was evaluated" in repr(rm.evaluate_scores(SCORES, HOT > 1))
    assert rm.evaluate_scores(SCORES[:0], [])["mrr"].n == 0
    scores = RNG.random((40, 9))
    with pytest.warns(RankmeterWarning, match="every target is tied with exactly one other"):
        rm.evaluate_scores(scores[:, 3], negatives=scores)


def test_one_set_of_filters_and_one_side():
    known = np.array([[0, 0, 2], [0, 0, 3]])
    frame = pl.DataFrame(known, schema=["head", "relation", "tail"])
    for filters in (known, known.tolist(), frame, [known], [[(0, 0, 2)], [(0, 0, 3)]]):
        queries = rm.link_queries([(0, 0, 1)], filters=filters, sides="tail")
        assert [one.tolist() for one in queries.known] == [[0, 0], [2, 3]]
