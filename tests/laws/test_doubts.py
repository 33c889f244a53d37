"""Data that can be read and are probably a mistake: a warning, which every result repeats."""

import json
import warnings

import numpy as np
import polars as pl
import pytest

import rankmeter as rm
from command_line import rankmeter
from rankmeter.errors import DataError, RankmeterWarning

USERS = [f"u{n}" for n in range(6)]
RNG = np.random.default_rng(5)


def drawn(values, n=12):
    """Per user n items of 40 with a number each, in ascending order of the items."""
    return {
        user: {
            f"d{item}": value
            for item, value in zip(
                sorted(RNG.choice(40, n, replace=False).tolist()),
                RNG.choice(values, n, replace=len(values) < n).tolist(),
                strict=True,
            )
        }
        for user in USERS
    }


def descending(data):
    return {
        user: dict(sorted(items.items(), key=lambda pair: -pair[1])) for user, items in data.items()
    }


def frame(data, number):
    rows = [(user, item, n) for user, items in data.items() for item, n in items.items()]
    return pl.DataFrame(rows, schema=["user", "item", number], orient="row")


CONTINUOUS = np.round(RNG.normal(0, 5, 5_000), 6)
GRADED = drawn([0, 1, 2, 3])
RUN = drawn(CONTINUOUS, 20)
SHORT_RUN = drawn(CONTINUOUS, 12)
HALVES = drawn(np.arange(1, 11) / 2)
RELEVANT = {
    user: [item for item, gain in items.items() if gain > 1] for user, items in GRADED.items()
}
LISTS = {user: list(descending(RUN)[user]) for user in USERS}
TIED_RUN = drawn(np.tile(np.arange(-12, 13) / 10, 3), 40)

SWAPPED = {
    "scores in any order": (GRADED, RUN),
    "as many": (GRADED, descending(SHORT_RUN)),
    "binary": (drawn([0, 1]), RUN),
    "ratings": (HALVES, drawn(np.abs(CONTINUOUS) + 0.1234567)),
    "frames": (frame(HALVES, "rating"), frame(RUN, "rating")),
    "lists": (RELEVANT, LISTS),
    "lists and scores": (RELEVANT, RUN),
    "grades and lists": (GRADED, LISTS),
    "sorted scores": (GRADED, descending(RUN)),
    "scores of two decimals": (
        GRADED,
        {u: {i: round(s, 2) for i, s in items.items()} for u, items in RUN.items()},
    ),
    "scores of one decimal with many ties": (GRADED, TIED_RUN),
}


@pytest.mark.parametrize(("rankings", "truth"), SWAPPED.values(), ids=SWAPPED)
def test_swapped_arguments_are_noticed(rankings, truth):
    with pytest.warns(RankmeterWarning, match="rankings and ground truth look swapped") as caught:
        result = rm.evaluate(rankings, truth, "ndcg@10")
    assert [str(one.message) for one in caught] == list(result.cautions)
    assert caught[0].filename == __file__


def test_swapped_arguments_are_noticed_in_a_comparison():
    with pytest.warns(RankmeterWarning, match="look swapped") as caught:
        result = rm.compare({"a": GRADED, "b": SHORT_RUN}, RUN, "ndcg@10")
    assert len(caught) == 1
    assert len(result.summaries["a"].cautions) == 1
    assert not result.summaries["b"].cautions


RIGHT = {
    "as they are": (RUN, GRADED),
    "lists": (LISTS, RELEVANT),
    "binary run": (drawn([0, 1]), GRADED),
    "popularity as scores": (drawn(range(40)), GRADED),
    "counts as scores": (drawn(range(8)), GRADED),
    "ratings as gains": (drawn(range(6)), drawn(np.arange(0, 11) / 2)),
    "continuous gains": (RUN, RUN),
    "continuous gains of lists": (LISTS, RUN),
    "graded scores and tied gains": (GRADED, drawn([0, 0.3, 0.7])),
    "graded scores of few ties": (drawn(np.arange(21) / 2, 4), RUN),
    "the same number left out": (LISTS, {user: items[:10] for user, items in LISTS.items()}),
    "short lists of one length": ({user: items[:5] for user, items in LISTS.items()}, LISTS),
    "negative judgments": (GRADED, drawn([-2, -1, 0, 1])),
}


@pytest.mark.parametrize(("rankings", "truth"), RIGHT.values(), ids=RIGHT)
def test_arguments_in_their_place_are_no_reason_to_warn(rankings, truth):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert rm.evaluate(rankings, truth, "ndcg@10", no_overlap="allow").cautions == ()


def test_one_item_for_each_user_on_both_sides_is_noted():
    with pytest.warns(RankmeterWarning, match=r"write lists: {10: \[501\]}"):
        rm.evaluate({10: 501, 11: 502}, {10: 501, 11: 777}, "hr@1")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rm.evaluate({10: 501, 11: 502}, {10: 3, 11: 0}, "hr@1")


LABELS = {
    "permutations of 0 and 1": [[1, 0], [0, 1], [1, 0]],
    "0 and 1": [[1, 0], [0, 1], [0, 0], [1, 1]],
    "array": np.array([[1, 0], [0, 1], [0, 0]]),
    "by user": {0: [1, 0], 1: [0, 1], 2: [0, 0]},
    "lists of candidates": [[1, 0, 1], [0, 1], [0, 0, 1, 0]],
    "grades": [[3, 0], [2, 2], [0, 1]],
}
NO_LABELS = {
    "one item each": [[1], [0], [1]],
    "different lengths": [[1, 0], [2], [2, 1]],
    "small ids": [[1, 2], [3, 4], [0, 1]],
    "large ids": [[11, 11], [11, 12]],
    "gains": [{0: 1, 1: 0}, {0: 0, 1: 1}],
    "one user": [[1, 0]],
    "an empty list": [[1, 0], [], [0, 1]],
}


@pytest.mark.parametrize("truth", LABELS.values(), ids=LABELS)
def test_labels_that_can_be_read_as_items_are_noted(truth):
    with pytest.warns(RankmeterWarning, match="are small integers.*pass the ids") as caught:
        result = rm.evaluate([[0, 1]] * len(truth), truth, "rr")
    assert tuple(str(one.message) for one in caught) == result.cautions


@pytest.mark.parametrize("truth", NO_LABELS.values(), ids=NO_LABELS)
def test_items_that_are_small_integers_are_no_reason_to_warn(truth):
    rankings = [[0, 1, 11]] * len(truth)
    assert rm.evaluate(rankings, truth, "rr").cautions == ()


def test_unsigned_items_are_compared_as_such():
    truth = {"a": pl.Series([2**64 - 1, 1], dtype=pl.UInt64)}
    assert not rm.evaluate({"a": [1, 2]}, truth, "rr").cautions


def test_a_set_as_a_ranking_may_be_the_ground_truth():
    with pytest.raises(DataError, match=r"a set has no order.* swapped\?"):
        rm.evaluate({"u": {"a"}}, {"u": ["a", "b"]})


RATINGS = drawn(np.arange(1, 11) / 2)
SYSTEM = {user: list(items) for user, items in RATINGS.items()}
SAID = (
    "all 72 judgments count as relevant, the lowest grade 0.5 included; for ratings from 0.5 to 5 "
    'try relevant=">=4"'
)
CALLS = {
    "evaluate": lambda **options: rm.evaluate(SYSTEM, RATINGS, "ndcg@10", **options),
    "compare": lambda **options: rm.compare(
        {"a": SYSTEM, "b": SYSTEM}, RATINGS, "ndcg@10", **options
    ),
    "explain between": lambda **options: rm.explain(
        SYSTEM, RATINGS, "ndcg@10", between=("rankmeter", "lenskit"), **options
    ),
    "explain target": lambda **options: rm.explain(SYSTEM, RATINGS, "rr", target=0.5, **options),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_ratings_without_a_threshold_are_noted_wherever_the_result_is_shown(call):
    with pytest.warns(RankmeterWarning) as caught:
        result = call()
    assert [str(one.message) for one in caught] == [SAID]
    assert result.cautions == (SAID,)
    assert result.to_dict()["cautions"] == [SAID]
    assert json.loads(result.to_json())["cautions"] == [SAID]
    assert SAID in repr(result)
    assert "all 72 judgments count as relevant" in result.to_markdown()


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_threshold_that_was_asked_for_is_no_reason_to_warn(call):
    for relevant in (">0", 4, "any"):
        assert call(relevant=relevant).cautions == ()


def test_a_curve_warns_too():
    with pytest.warns(RankmeterWarning, match="the lowest grade 0.5 included"):
        rm.curve(SYSTEM, RATINGS, "ndcg", 3)


def test_a_threshold_may_be_named_for_each_metric_or_by_a_convention():
    for metrics, like in (("ndcg(relevant=4)@10", None), ("ndcg@10", "recbole")):
        assert rm.evaluate(SYSTEM, RATINGS, metrics, like=like).cautions == ()
    with pytest.warns(RankmeterWarning):
        rm.evaluate(SYSTEM, RATINGS, ["ndcg(relevant=4)@10", "rr"])


GRADES = {
    "stars": ([1, 2, 3, 4, 5], ">=4"),
    "ten": (range(1, 11), ">=8"),
    "halves": ([0.5, 3.5, 4.5, 5], ">=4.5"),
}
NO_RATINGS = {
    "levels of TREC": [1, 2, 3, 4],
    "ratings above a threshold": [3.5, 4, 4.5, 5],
    "counts": [1, 2, 3, 5, 8],
    "fractions": [0.2, 0.4, 0.6, 1.0],
    "zero": [0, 1, 2, 3, 4],
    "negative": [-1, 1, 2, 3, 4],
    "three grades": [1, 2, 3],
    "many values": np.arange(1, 40),
    "continuous": np.abs(CONTINUOUS) + 0.01,
}


@pytest.mark.parametrize(("grades", "threshold"), GRADES.values(), ids=GRADES)
def test_the_threshold_to_try_is_a_grade_near_the_top(grades, threshold):
    truth = {"u": dict(enumerate(grades))}
    with pytest.warns(RankmeterWarning, match=f'try relevant="{threshold}"'):
        rm.evaluate({"u": [0, 1]}, truth, "rr")


@pytest.mark.parametrize("grades", NO_RATINGS.values(), ids=NO_RATINGS)
def test_other_gains_need_no_threshold(grades):
    assert rm.evaluate({"u": [0, 1]}, {"u": dict(enumerate(grades))}, "rr").cautions == ()


def test_what_warns_does_not_depend_on_the_order_of_the_rows():
    """The first rows alone do not decide."""
    gains = [5.0] * 2_000 + [1.0, 2.0, 3.0]
    for order in (gains, gains[::-1]):
        with pytest.warns(RankmeterWarning, match="all 2,003 judgments"):
            rm.evaluate({"u": [0, 1]}, {"u": dict(enumerate(order))}, "rr")
    others = [5.0] * 2_000 + np.arange(1, 40).tolist()
    assert not rm.evaluate({"u": [0, 1]}, {"u": dict(enumerate(others))}, "rr").cautions


def test_the_command_line_warns_on_stderr_and_notes_it(tmp_path):
    frame(RATINGS, "rating").write_csv(tmp_path / "truth.csv")
    frame(RUN, "score").write_csv(tmp_path / "run.csv")
    frame(GRADED, "rating").write_csv(tmp_path / "graded.csv")
    frame(descending(RUN), "rating").write_csv(tmp_path / "swapped.csv")
    paths = [str(tmp_path / name) for name in ("run.csv", "truth.csv", "graded.csv", "swapped.csv")]
    done = rankmeter("evaluate", *paths[:2], "-m", "ndcg@10")
    assert f"warning: {SAID}" in done.err
    assert "all 72 judgments" in done.out
    done = rankmeter("evaluate", *paths[:2], "-m", "ndcg@10", "--relevant", "4")
    assert done.err == ""
    done = rankmeter("evaluate", *paths[2:], "-m", "ndcg@10")
    assert done.code == 0
    assert "warning: rankings and ground truth look swapped" in done.err
