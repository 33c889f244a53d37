"""Ranks of all relevant items of a user, and gains in order: without any ids."""

from __future__ import annotations

import re

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


BINARY = [[0, 0, 1], [1, 1, 0], [1, 1, 1]]
GRADED = [[2, 3, 1], [3, 0, 2]]
WITHOUT_IDS = [
    ([0, 0, 1, 0, 1], "rr", 1 / 3),
    ((0, 0, 1, 0, 1), "rr", 1 / 3),
    (np.array([0, 0, 1, 0, 1]), "rr", 1 / 3),
    (np.array([False, False, True]), "rr", 1 / 3),
    (pd.Series([0, 0, 1]), "rr", 1 / 3),
    ([False, False, True], "rr", 1 / 3),
    (BINARY, "ap(denominator=all)@3", (1 / 9 + 8 / 9 + 1) / 3),
    (np.array(BINARY), "ap(denominator=all)@3", (1 / 9 + 8 / 9 + 1) / 3),
    ([np.array(row) for row in BINARY], "ap(denominator=all)@3", (1 / 9 + 8 / 9 + 1) / 3),
    ([[bool(gain) for gain in row] for row in BINARY], "ap(denominator=all)@3", 2 / 3),
    (dict(zip("abc", BINARY, strict=True)), "ap(denominator=all)@3", 2 / 3),
    (GRADED, "cg", 5.5),
    (GRADED[0], "cg", 6.0),
    ([0.5, 1.0, 0.5], "cg", 2.0),
    ([2, 5, 8], "precision@5", 0.4),
    ([[2, 5, 8]], "precision@5", 0.4),
    ({2, 5, 8}, "precision@5", 0.4),
    ([{2, 5, 8}], "precision@5", 0.4),
]


def _are_0_and_1_that_repeat(rankings):
    if isinstance(rankings, pd.Series | set):  # labels may name items
        return False
    rows = [*rankings.values()] if isinstance(rankings, dict) else [*rankings]
    flat = np.concatenate([list(row) if np.iterable(row) else [row] for row in rows])
    return set(flat.tolist()) == {0, 1}


@pytest.mark.filterwarnings("ignore:relevant items outside")
@pytest.mark.parametrize("door", ["metrics=", "None", "truth", "list"])
@pytest.mark.parametrize(("rankings", "metric", "mean"), WITHOUT_IDS, ids=repr)
def test_the_remedy_for_lists_without_ids_gives_the_number(rankings, metric, mean, door):
    arguments = {
        "metrics=": ((), {"metrics": metric}),
        "None": ((None, metric), {}),
        "truth": ((metric if "@" in metric else rm.metric(metric),), {}),
        "list": (([metric, "err"],), {}),
    }
    args, options = arguments[door]
    if _are_0_and_1_that_repeat(rankings):
        if door != "list":  # err needs an option
            result = rm.evaluate(rankings, *args, **options)
            assert result[metric].mean == pytest.approx(mean)
        return
    with pytest.raises(UsageError) as raised:
        rm.evaluate(rankings, *args, **options)
    wanted = "Positions" if metric == "precision@5" else "Grades"
    call = re.search(rf"pass (rm\.{wanted}\(.*?\))(,|\.|$)", str(raised.value))[1]
    remedied = eval(call, {"rm": rm, "rankings": rankings})
    assert rm.evaluate(remedied, metrics=metric)[metric].mean == pytest.approx(mean)


@pytest.mark.filterwarnings("ignore:relevant items outside")
@pytest.mark.parametrize("side", ["rankings", "truth"])
@pytest.mark.parametrize("labels", [BINARY, np.array(BINARY), [[True, False], [False, True]]])
def test_labels_beside_ids_lead_to_grades(labels, side):
    ids = [[5, 6, 7][: len(labels[0])] for _ in labels]
    data = {"rankings": ids, "truth": ids, side: labels}
    with pytest.raises(DataError, match=rf"pass rm.Grades\({side}\), and no truth"):
        rm.evaluate(data["rankings"], data["truth"], "rr")
    assert 0 < rm.evaluate(rm.Grades(labels), metrics="rr")["rr"].mean < 1


@pytest.mark.parametrize(
    "call",
    [
        lambda: rm.compare({"a": GRADED, "b": GRADED}, None, "rr"),
        lambda: rm.curve(GRADED, None, "recall", 3),
        lambda: rm.Evaluator(metrics="rr").evaluate(GRADED),
        lambda: rm.explain(GRADED, None, "rr", target=0.5),
    ],
)
def test_every_function_leads_to_grades(call):
    with pytest.raises(UsageError, match=r"pass rm.Grades\(\[\[2, 3, 1"):
        call()


@pytest.mark.parametrize(
    ("rankings", "truth"),
    [({"u": ["a"]}, ["ndcg@5"]), ({"u": ["a"]}, rm.NDCG @ 5), ({"u": ["a"]}, "ndcg@5")],
    ids=repr,
)
def test_metrics_in_the_place_of_the_truth(rankings, truth):
    with pytest.raises(UsageError, match="names metrics: these are the third argument"):
        rm.evaluate(rankings, truth)
    with pytest.raises(UsageError, match="names metrics: these are the third argument"):
        rm.Evaluator(truth)


def test_items_may_be_called_like_metrics():
    assert rm.evaluate(["map", "recall"], ["recall"], "rr")["rr"].mean == 0.5
    assert rm.evaluate({"u": ["map", "mrr"]}, {"u": ["mrr"]}, "rr")["rr"].mean == 0.5
    with pytest.raises(UsageError, match=r"truth is missing[^.]*$"):
        rm.evaluate([["a", "b"]], None, "rr")


def test_a_rank_is_a_query():
    said = "each rank is a query with one relevant item (several of a user: Positions)"
    assert said in repr(rm.evaluate_ranks([2, 5, 8]))
    assert said not in repr(rm.evaluate_ranks([2, 8, 5]))
    result = rm.evaluate_ranks([2, 5, 8], FIVE)
    assert round(result["precision@5"].mean, 4) == 0.1333
    assert said in str(result)
    for silent in ("mrr", "mean_rank", ["hits@1", "hits@10"], "gmr"):
        assert said not in str(rm.evaluate_ranks([5, 2, 8], silent))
        assert said in str(rm.evaluate_ranks([2, 5, 8], silent)), "may be the positions of one user"
    assert said not in str(rm.evaluate(rm.Positions([2, 5, 8]), metrics=FIVE))
