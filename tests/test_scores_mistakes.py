"""Natural mistakes with scores: an error or a caution that says what was expected, or the value."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

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
        ({"target": [[2, 0, 0]] * 6}, "target 0 of row 0 is there twice.*padding is -1"),
        ({"target": 2 * HOT - 1}, "may have ids or labels: pass `target > 0` for labels"),
        ({"target": np.where(HOT, 1.0, np.nan)}, "label nan in row 0 and column 0"),
        ({"exclude": 0.5 * OTHER}, "label 0.5 in row 0 .*must be 0 or 1; pass `exclude != 0`"),
        ({"exclude": HOT}, "target 2 of row 0 is excluded"),
        ({"exclude": 2 * OTHER - 1}, "may have ids or labels"),
        ({"exclude": [7, 8]}, "`exclude` must have one row for each of the 6 rows"),
        ({"exclude": {0: [1]}}, "`exclude` must have one row for each of the 6 rows"),
        ({"exclude": [[1], None, [], [], [], []]}, "got object in row 1"),
        ({"candidates": 9}, "`candidates` must have one row for each of the 6 rows"),
        ({"candidates": range(1, 6)}, "target 0 of row 5 is not among the candidates"),
        ({"users": np.zeros((6, 2))}, "`users` must have one label for each of 6 rows, got 12"),
        ({"target": None, "negatives": SCORES[:, :0]}, "`negatives` has no scores"),
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


def test_two_lists_in_a_tuple_for_two_rows_can_mean_two_things():
    with pytest.raises(DataError, match="can mean two things"):
        rm.evaluate_scores(SCORES[:2], TARGET[:2], exclude=([0], [5]))
    pair = np.array([0]), np.array([5])
    assert rm.evaluate_scores(SCORES[:2], TARGET[:2], exclude=pair).counts["excluded_cells"] == 1


@pytest.mark.parametrize(
    "target",
    [TARGET[:, None], HOT == 1, HOT.astype(float), HOT, 3 * HOT, tuple(TARGET), pl.Series(TARGET),
     np.column_stack([TARGET, *[np.full(6, -1)] * 8]), (np.arange(6), TARGET)],
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
