"""Ranks of all relevant items of a user, and gains in order: without any ids."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankmeter as rm
from rankmeter.errors import DataError, DuplicateError, InvalidValueError, UsageError

FIVE = ["precision@5", "recall@5", "ndcg@5", "ap@5", "rr@5"]
ARTICLE = {"precision@5": 0.4, "recall@5": 0.6667, "ndcg@5": 0.4776, "ap@5": 0.3, "rr@5": 0.5}


def means(result):
    return {name: round(estimate.mean, 4) for name, estimate in result.items()}


@pytest.mark.parametrize(
    "positions",
    [
        [2, 5, 8],
        (8, 2, 5),
        {2, 5, 8},
        [[2, 5, 8]],
        [{2, 5, 8}],
        {"ann": [2, 5, 8]},
        np.array([2, 5, 8]),
        np.array([[2, 5, 8]]),
        [2.0, 5.0, 8.0],
        pd.Series([2, 5, 8]),
        pd.Series([[2, 5, 8]], index=["ann"]),
    ],
    ids=repr,
)
def test_the_article_in_any_form(positions):
    assert means(rm.evaluate(rm.Positions(positions), metrics=FIVE)) == ARTICLE


@given(
    st.lists(
        st.tuples(st.sets(st.integers(1, 12), max_size=6), st.integers(0, 3)),
        min_size=1,
        max_size=5,
    ).filter(lambda users: any(ranks for ranks, _ in users))
)
def test_positions_are_lists_with_sets_of_relevant_items(users):
    metrics = [*FIVE, "ndcg", "ap", "rr", "r_precision", "bpref", "dcg@3"]
    lists = [[*range(1, 40)] for _ in users]
    truth = [{*ranks, *range(100, 100 + absent)} for ranks, absent in users]
    positions = rm.Positions(
        [[*ranks] for ranks, _ in users], n_relevant=[len(judged) for judged in truth]
    )
    found = rm.evaluate(positions, None, metrics)
    want = rm.evaluate(lists, truth, metrics)
    np.testing.assert_allclose(found.scores.matrix, want.scores.matrix, equal_nan=True)


def test_every_function_takes_them_with_users():
    old = rm.Positions([[2], [1, 3]], users=["x", "y"])
    new = rm.Positions({"y": [1, 2], "x": [1]})
    assert rm.evaluate(old, None, "rr").per_user["user"].to_list() == ["x", "y"]
    compared = rm.compare({"old": old, "new": new}, None, "rr", baseline="old")
    assert compared["rr"][0].difference == 0.25
    assert rm.curve(old, None, "recall", 3).frame["mean"].to_list() == [0.25, 0.75, 1.0]
    assert rm.explain(old, None, "rr", target=0.75).matches[0].value == 0.75
    assert rm.Evaluator(metrics="rr").evaluate(new)["rr"].mean == 1.0
    assert rm.evaluate(new, None, "rr").show("x").walks[0][1].value == 1.0


def test_relevant_items_outside_the_list_are_said():
    positions = rm.Positions([[1], [], [2]], n_relevant=[2, 1, 1])
    assert means(rm.evaluate(positions, None, "recall@5")) == {"recall@5": 0.5}


@pytest.mark.parametrize("metric", ["precision", "auc", "utility@10", "f_beta", "amr", "n_ranked"])
def test_what_depends_on_the_length_of_the_list_is_refused(metric):
    with pytest.raises(UsageError, match="length of the list, which Positions do not say"):
        rm.evaluate(rm.Positions([2, 5, 8]), None, metric)


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda: rm.Positions([0, 2]), InvalidValueError, "If they count from 0, add 1"),
        (lambda: rm.Positions([-1, 2]), InvalidValueError, "integers of 1 or more"),
        (lambda: rm.Positions([[1.5]]), InvalidValueError, "integers of 1 or more"),
        (lambda: rm.Positions([np.nan]), InvalidValueError, "integers of 1 or more"),
        (lambda: rm.Positions([True, False]), InvalidValueError, "rm.Grades"),
        (lambda: rm.Positions("abc"), InvalidValueError, "integers of 1 or more"),
        (lambda: rm.Positions([[3], [2, 2]]), DuplicateError, "position 2 is twice in list 1"),
        (lambda: rm.Positions([2, 5], n_relevant=1), DataError, "n_relevant.*has 2 relevant"),
        (lambda: rm.Positions([10**12]), DataError, "pass the number of all relevant items"),
        (lambda: rm.Positions(pd.DataFrame({0: [1]})), UsageError, r"frame.to_numpy\(\)"),
        (lambda: rm.Positions({"a": [1]}, users=["b"]), UsageError, "leave `users` out"),
        (lambda: rm.Grades(pd.DataFrame({0: [1]})), UsageError, r"frame.to_numpy\(\)"),
        (lambda: rm.Grades({0, 1}), InvalidValueError, "in their order"),
        (lambda: rm.Grades([1, [2]]), InvalidValueError, "list 0 of Grades"),
    ],
)
def test_what_is_no_position_is_said(call, error, said):
    with pytest.raises(error, match=said):
        call()


def test_ranks_of_one_user_lead_to_positions():
    with pytest.raises(DataError, match=r"rm.Positions\(\[\[2, 5, 8\]\]\)"):
        rm.evaluate_ranks([[2, 5, 8]], FIVE)


@pytest.mark.filterwarnings("ignore:relevant items outside")
@pytest.mark.parametrize(
    "gains",
    [
        [2, 3, 3, 1, 2],
        [[2, 3, 3, 1, 2]],
        np.array([2, 3, 3, 1, 2]),
        {"ann": [2, 3, 3, 1, 2]},
        {0: [2, 3, 3, 1, 2]},
    ],
    ids=repr,
)
def test_grades_of_one_user(gains):
    result = rm.evaluate(rm.Grades(gains), metrics=["cg", "dcg", "ndcg"])
    assert means(result) == {"cg": 11.0, "dcg": 6.5972, "ndcg": 0.9238}
