"""Neighbours of inputs with two readings: what is certain is read, and the rest is not silent."""

from __future__ import annotations

import random
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse

import rankmeter as rm
from door.judge import ask, cautioned, naive, refused, right, silent

BY_POSITION = {
    "lists": lambda ids: ids.tolist(),
    "array": lambda ids: ids,
    "series": lambda ids: pl.Series(ids.tolist()),
    "pair": lambda ids: (ids, -np.tile(np.arange(ids.shape[1], dtype=float), (len(ids), 1))),
    "sparse": lambda ids: scipy.sparse.csr_array(_scores(ids)),
    "Scores": lambda ids: rm.Scores(np.where(_scores(ids) > 0, _scores(ids), -np.inf)),
    "one list": lambda ids: ids[0].tolist(),
    "one mapping": lambda ids: {int(i): 1 / n for n, i in enumerate(ids[0], 1)},
}


def _scores(ids):
    scores = np.zeros((len(ids), 12))
    np.put_along_axis(scores, ids, np.arange(ids.shape[1], 0, -1.0)[None, :], axis=1)
    return scores


@pytest.mark.parametrize("form", BY_POSITION)
@pytest.mark.parametrize("metric", ["coverage@2", "gini@2", "entropy@2"])
def test_lists_by_position_need_no_ground_truth(form, metric):
    ids = np.array([random.Random(n).sample(range(12), 3) for n in range(5)])
    rankings, named = BY_POSITION[form](ids), dict(enumerate(ids.tolist()))
    named = {0: named[0]} if form.startswith("one") else named
    answer = ask(rm.evaluate, rankings, None, metric, catalogue=range(12))
    right(answer, rm.evaluate(named, None, metric, catalogue=range(12))[metric].mean)


CANDIDATES = [(u, i, 1 / (i + 1)) for u in range(10) for i in range(4)]
LABELS = [(u, i, (u + i) % 2) for u in range(10) for i in range(4)]


@pytest.mark.parametrize("make", [pl.DataFrame, pd.DataFrame], ids=["polars", "pandas"])
@pytest.mark.parametrize("n_users", [2, 5, 10])
@pytest.mark.parametrize("shuffled", [False, True])
def test_the_last_candidate_of_all_is_no_filler(make, n_users, shuffled):
    ranked = [{"user": u, "item": i, "score": s} for u, i, s in CANDIDATES if u < n_users]
    judged = [{"user": u, "item": i, "label": g} for u, i, g in LABELS if u < n_users]
    lists = {u: list(range(4)) for u in range(n_users)}
    truth = {u: [i for v, i, g in LABELS if v == u and g] for u in range(n_users)}
    for rows in (ranked, judged) if shuffled else ():
        random.Random(3).shuffle(rows)
    silent(ask(rm.evaluate, make(ranked), make(judged), "rr"), naive(lists, truth))


@pytest.mark.parametrize("item", [0, 999, -7])
@pytest.mark.parametrize("form", ["dict", "frame", "pairs"])
@pytest.mark.parametrize("others", [0, 1, 2])
def test_an_item_that_shares_the_lowest_score_is_no_filler(item, form, others):
    """A filler has no company: candidates with one low score for many are ordinary data."""
    scores = {
        u: {
            u + 1: 0.9,
            u + 20: 0.5,
            **dict.fromkeys(range(60 + u, 60 + u + others), 0.0),
            item: 0.0,
        }
        for u in range(12)
    }
    rankings = scores
    if form == "frame":
        rows = [(u, i, s) for u, at in scores.items() for i, s in at.items()]
        rankings = pl.DataFrame(rows, ["user", "item", "score"], orient="row")
    if form == "pairs":
        rankings = {u: [*at.items()] for u, at in scores.items()}
    truth = {u: [u + 1, u + 2, item] for u in scores}
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        rm.evaluate(rankings, truth, "rr")
    assert bool([one for one in said if "only at the ends" in str(one.message)]) == (not others)


def test_one_list_for_all_ends_in_no_filler():
    lists = [[10, 20, 30]] * 20
    truth = [[10, 30] if u % 2 else [20, 30] for u in range(20)]
    silent(ask(rm.evaluate, lists, truth, "rr"), naive(lists, truth))


def test_a_sorted_ground_truth_ends_in_no_filler():
    lists = {u: random.Random(u).sample(range(50), 9) for u in range(30)}
    truth = {u: sorted({*random.Random(-u).sample(range(50), 4), 49}) for u in range(30)}
    rows = pl.DataFrame({"user": [*truth], "item": [*truth.values()]}).explode("item")
    silent(ask(rm.evaluate, lists, rows, "rr"), naive(lists, truth))


@pytest.mark.parametrize("filler", [-1, "", "<pad>"])
@pytest.mark.parametrize("front", [False, True], ids=["behind", "in front"])
@pytest.mark.parametrize("form", ["lists", "dictionary", "scores"])
def test_fillers_on_any_end_are_refused(filler, front, form):
    spell = int if filler == -1 else str
    lists = {u: [spell(10 * u + n) for n in range(1, 4)] for u in range(1, 6)}
    lists = {u: [filler, *own] if front else [*own, filler] for u, own in lists.items()}
    truth = {u: [spell(99), spell(98)] for u in lists}
    if form == "scores":
        if front:
            return
        given = {u: {i: 1.0 - n / 9 for n, i in enumerate(own)} for u, own in lists.items()}
    else:
        given = lists if form == "dictionary" else [*lists.values()]
    judged = truth if form != "lists" else [*truth.values()]
    refused(ask(rm.evaluate, given, judged, "rr"), "empty places")


SPELLED = {
    "case": str.lower,
    "blank": lambda text: f"{text} ",
    "extension": lambda text: f"{text}.txt",
    "bytes": lambda text: f"b'{text}'",
}


@pytest.mark.parametrize("spelled", SPELLED)
@pytest.mark.parametrize("twins", [(), ("zz", "ZZ"), ("doc0", "DOC0")], ids=str)
@pytest.mark.parametrize("share", [1.0, 0.5], ids=["all but one", "half"])
def test_a_few_twins_do_not_hide_ids_in_another_spelling(spelled, twins, share):
    lists = {f"u{n}": [f"Doc{n}", f"Doc{n + 1}"] for n in range(60)}
    truth = {user: [own[0]] for user, own in lists.items()}
    for n, user in enumerate([*truth][1:]):
        if n % 2 < 2 * share - 0.5:
            truth[user] = [SPELLED[spelled](truth[user][0])]
    truth["u0"] = [*truth["u0"], *twins]
    cautioned(ask(rm.evaluate, lists, truth, "rr"), naive(lists, truth), "another spelling")


def test_ids_that_differ_by_case_are_other_ids_where_many_do():
    names = [f"{a}{b}" for a in "abcABC" for b in "xyzXYZ"]
    lists = {f"u{n}": random.Random(n).sample(names[:20], 6) for n in range(9)}
    truth = {f"u{n}": random.Random(-n).sample(names[9:], 2) for n in range(9)}
    silent(ask(rm.evaluate, lists, truth, "rr"), naive(lists, truth))


RUNS = ["model", "Algorithm", "seed", "fold", "day", "run_id", "retriever"]


@pytest.mark.parametrize("name", [*RUNS, "date", "tag", "version"])
@pytest.mark.parametrize("engine", ["memory", "disk"])
def test_ranks_of_one_list_are_one_list_whatever_a_column_says(name, engine, tmp_path):
    if engine == "disk" and name in RUNS:
        return  # where ranks are not looked at before
    rows = [(u, 10 * u + r, r, "ab"[r % 2]) for u in range(4) for r in range(1, 5)]
    path = tmp_path / "rows.parquet"
    frame = pl.DataFrame(rows, schema=["user", "item", "rank", name], orient="row")
    frame.with_columns(pl.col("item") % 10).write_parquet(path)
    truth = {u: [2] for u in range(4)}
    right(ask(rm.evaluate, path, truth, "rr", engine=engine), 0.5)


@pytest.mark.parametrize("name", ["date", "week", "tag", "version", "variant"])
@pytest.mark.parametrize("engine", ["memory", "disk"])
def test_a_fact_about_items_tells_no_lists_apart(name, engine, tmp_path):
    lists = {u: random.Random(u).sample(range(12), 5) for u in range(8)}
    rows = [(u, i, -float(n), f"{i % 3}") for u, own in lists.items() for n, i in enumerate(own)]
    path = tmp_path / "rows.parquet"
    pl.DataFrame(rows, schema=["user", "item", "score", name], orient="row").write_parquet(path)
    truth = {u: [own[2]] for u, own in lists.items()}
    silent(ask(rm.evaluate, path, truth, "rr", engine=engine), naive(lists, truth))


def test_tied_ranks_beside_scores_are_no_two_lists():
    frame = pd.DataFrame({"user": [1, 1], "item": [5, 7], "rank": [1, 1], "score": [0.9, 0.8]})
    right(ask(rm.evaluate, frame, {1: [7]}, "rr"), 0.5)


def test_one_rank_for_each_user_has_no_gap():
    frame = pd.DataFrame({"user": [1, 2], "item": [2, 5], "rank": [3, 1]})
    silent(ask(rm.evaluate, frame, {1: [2], 2: [5]}, "rr"), 2 / 3)


ONE = {"source": 3, "target": 17}
OTHER = {"source": 9, "target": 4}


@pytest.mark.parametrize("make", [lambda row: [row], lambda row: {0: row}], ids=["list", "index"])
def test_a_single_record_of_each_side_has_two_readings(make):
    refused(ask(rm.evaluate, make(ONE), make(OTHER), "rr"), "read in two ways")
    columns = {"user": "source", "item": "target"}
    right(ask(rm.evaluate, make(ONE), make(ONE), "rr", columns=columns), 1.0)
    right(ask(rm.evaluate, make({"a": 0.9, "b": 0.5}), [["b"]], "rr"), 0.5)


@pytest.mark.parametrize("hold", [list, tuple, np.array, pd.Series, pl.Series], ids=str)
def test_columns_with_fractions_are_a_table_where_they_are_named(hold):
    table = {"who": ["a", "a"], "what": ["x", "y"], "val": [0.1, 0.9]}
    columns = {"user": "who", "item": "what", "score": "val"}
    given = {name: hold(values) for name, values in table.items()}
    right(ask(rm.evaluate, given, {"a": ["y"]}, "rr", columns=columns), 1.0)


@pytest.mark.parametrize("words", [("exact", "irrelevant"), ("S", "E"), ("hit", "wrong")], ids=str)
def test_no_hint_names_a_word_as_the_relevant_one(words):
    rows = pd.DataFrame({"user": [1, 1, 2, 2], "item": [1, 2, 1, 2], "verdict": [*words * 2]})
    answer = ask(rm.evaluate, {1: [1, 2], 2: [2, 1]}, rows, "rr")
    refused(answer, "relevant=…")
    assert not any(f"relevant='{word}'" in answer.error for word in words)


@pytest.mark.parametrize(
    ("rankings", "options"),
    [
        ({"columns": ["user", "item"], "data": [1, 2]}, {}),
        ([{"user": 1, "item": 2}], {"columns": {"user": ["u"]}}),
        (pl.DataFrame({"user": [1], "item": [2]}), {"columns": {"user": {"a": 1}}}),
    ],
)
def test_what_is_no_table_is_refused_with_an_error_of_rankmeter(rankings, options):
    refused(ask(rm.evaluate, rankings, {1: [2]}, "rr", **options))


LISTS = [["a", "b", "c"], ["b", "a", "c"], ["a", "c", "b"]]
MATRIX = np.array([[0.9, 0.5, 0.1], [0.5, 0.9, 0.1], [0.9, 0.1, 0.5]])


@pytest.mark.parametrize("users", [[0, 2], [0, 1, 2, 3], ["x", "y", "z"], [1, 2, 3]], ids=str)
def test_users_of_lists_by_position_are_named_as_the_message_says(users):
    ids = users if len(users) == len(LISTS) else range(len(LISTS))
    truth = {user: ["b"] for user in users}
    numbers = {user: [1] for user in users}
    for given, judged, names in (
        (LISTS, truth, {"lists": LISTS, "users": ids}),
        (rm.Scores(MATRIX), numbers, {"matrix": MATRIX, "rm": rm, "ids": ids}),
    ):
        answer = ask(rm.evaluate, given, judged, "rr")
        refused(answer, r"Name the users: ")
        written = answer.error.partition("Name the users: ")[2].removesuffix(".")
        if 3 in users and 0 in users:  # more users than lists: none of these is missing
            continue
        named = eval(written, {"__builtins__": {"dict": dict, "zip": zip, "range": range,
                     "enumerate": enumerate, "True": True}, **names})  # fmt: skip
        right(
            ask(rm.evaluate, named, judged, "rr"), naive(dict(zip(ids, LISTS, strict=True)), truth)
        )
