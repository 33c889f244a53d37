"""Inputs that look odd and are not: the right number, and no caution."""

from __future__ import annotations

import random

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse

import rankmeter as rm
from door.containers import FRAMES, RECORDS
from door.judge import ask, by_score, naive, silent

pytestmark = pytest.mark.once

RNG = random.Random(17)
USERS = [f"u{n}" for n in range(24)]
ITEMS = [f"i{n}" for n in range(40)]


def scored(users, items, draw):
    return {u: {i: draw(n, k) for k, i in enumerate(items)} for n, u in enumerate(users)}


def lists_of(scores):
    return {u: by_score(found) for u, found in scores.items()}


def some(items, n=2, users=USERS):
    return {u: RNG.sample(items, n) for u in users}


def distinct(*_):
    return round(RNG.gauss(0, 3), 6)


FIVE = ITEMS[:5]
SHORT = {u: RNG.sample(ITEMS, 6) for u in USERS}


def pair(rankings, truth, lists=None, relevant=None):
    """Rankings and truth as they are given, and as plain lists for the naive number."""
    lists = rankings if lists is None else lists
    return rankings, truth, naive(lists, truth if relevant is None else relevant)


def dense_candidates():
    scores = scored(USERS, FIVE, distinct)
    return pair(scores, some(FIVE, 1), lists_of(scores))


def dense_integers():
    users = range(1, 25)  # of 0, 1, 2, … the same could be rows
    scores = scored(users, range(5), distinct)
    return pair(scores, some(list(range(5)), 1, users), lists_of(scores))


def dense_integer_scores():
    """Integer scores and labels of users 0, 1, 2, … for the same items by name."""
    scores = {u: dict(zip(FIVE, RNG.sample(range(100), 5), strict=True)) for u in USERS}
    labels = scored(USERS, FIVE, lambda n, k: int(k in (n % 5, n % 3)))
    wanted = {u: [i for i, gain in found.items() if gain] for u, found in labels.items()}
    return pair(scores, labels, lists_of(scores), wanted)


def two_queries():
    qrels = {"q1": {"d1": 1, "d2": 0}, "q2": {"d1": 0, "d2": 1}}
    run = {"q1": {"d1": 0.4, "d2": 0.6}, "q2": {"d1": 0.3, "d2": 0.9}}
    return pair(run, qrels, lists_of(run), {"q1": ["d1"], "q2": ["d2"]})


def one_and_a_half():
    run = {u: dict(zip(items, (1, 0.5), strict=False)) for u, items in SHORT.items()}
    return pair(run, some(ITEMS), lists_of(run))


def equal_lengths():
    lists = [RNG.sample(range(100, 140), 5) for _ in range(24)]
    return pair(lists, [RNG.sample(range(100, 140), 3) for _ in range(24)])


def equal_lengths_on_both_sides():
    lists = [RNG.sample(range(100, 140), 5) for _ in range(24)]
    return pair(
        np.array(lists), np.array([RNG.sample(range(100, 140), 5) for _ in range(24)]), lists
    )


def series_in_order():
    lists = [RNG.sample(ITEMS, 5) for _ in range(24)]
    truth = [RNG.sample(ITEMS, 2) for _ in range(24)]
    return pair(lists, pd.Series(truth), lists, truth)


def keys_in_any_order():
    lists = [RNG.sample(ITEMS, 5) for _ in range(24)]
    truth = dict(RNG.sample([(u, RNG.sample(ITEMS, 2)) for u in range(24)], 24))
    return pair(lists, truth)


def user_column_in_any_order():
    lists = [RNG.sample(ITEMS, 5) for _ in range(24)]
    truth = {u: RNG.sample(ITEMS, 1) for u in RNG.sample(range(24), 24)}
    frame = pd.DataFrame({"user": list(truth), "item": [items[0] for items in truth.values()]})
    return pair(lists, frame, lists, truth)


def in_the_middle(item):
    def make():
        lists, truth = {}, {}
        for n, u in enumerate(USERS):
            lists[u] = RNG.sample(range(1, 40), 6)
            truth[u] = RNG.sample(range(1, 40), 3)
            lists[u].insert(n % 6, item)
            if n % 2:
                truth[u].insert(n % 3, item)
        return pair(lists, truth)

    return make


def log_probabilities():
    """Negative, ascending by item, in no order by number."""
    scores = {u: {i: -RNG.random() * 9 for i in RNG.sample(ITEMS, 6)} for u in USERS}
    return pair(scores, some(ITEMS), lists_of(scores))


def log_probabilities_of_two_items():
    """A few users whose numbers happen to ascend, among others."""
    scores = {u: {i: -RNG.random() * 9 for i in RNG.sample(ITEMS, 2)} for u in USERS}
    return pair(scores, some(ITEMS), lists_of(scores))


def rank_and_score():
    rows = [(u, i, n, -float(n)) for u, items in SHORT.items() for n, i in enumerate(items, 1)]
    frame = pl.DataFrame(rows, schema=["user", "item", "rank", "score"], orient="row")
    return pair(frame.sample(fraction=1, shuffle=True, seed=1), some(ITEMS), SHORT)


def item_facts():
    truth = some(ITEMS)
    rows = [
        {"user_id": u, "item_id": i, "title": f"The {i}", "category": f"c{int(i[1:]) % 4}"}
        for u, items in truth.items()
        for i in items
    ]
    return pair(SHORT, pl.DataFrame(rows), SHORT, truth)


def unsorted_pairs():
    scores = {u: {i: distinct() for i in RNG.sample(ITEMS, 6)} for u in USERS}
    rankings = {u: list(found.items()) for u, found in scores.items()}
    return pair(rankings, some(ITEMS), lists_of(scores))


def fewer_users_by_key():
    return pair(SHORT, some(ITEMS, 2, USERS[::3]))


def leave_one_out():
    return pair(SHORT, {u: [RNG.choice(ITEMS)] for u in USERS})


def leave_one_out_by_row():
    lists = [RNG.sample(range(10, 40), 6) for _ in range(24)]
    truth = [[RNG.randrange(10, 40)] for _ in range(24)]
    return pair(lists, truth)


def one_popular_first_item():
    """The two best of each user, of which the first is the same for all."""
    lists = [[7, n] for n in RNG.sample(range(10, 60), 24)]
    return pair(np.array(lists), [[RNG.choice([7, *range(10, 60)])] for _ in lists], lists)


def a_popular_first_item_by_key():
    lists = {u: ["i0", RNG.choice(ITEMS[1:])] for u in USERS}
    return pair(lists, some(ITEMS))


def constant_tag():
    rows = [
        {"user": u, "item": i, "rank": n, "model": "bpr", "fold": 3, "run": "a"}
        for u, items in SHORT.items()
        for n, i in enumerate(items, 1)
    ]
    return pair(pl.DataFrame(rows), some(ITEMS), SHORT)


def a_tag_of_each_user():
    """A model of each user: it tells users apart, not lists."""
    rows = [
        {"user": u, "item": i, "rank": n, "model": ("a", "b")[int(u[1:]) % 2]}
        for u, items in SHORT.items()
        for n, i in enumerate(items, 1)
    ]
    return pair(pl.DataFrame(rows), some(ITEMS), SHORT)


def a_source_of_each_item():
    """Where each item was found, in one list."""
    rows = [
        {"user": u, "item": i, "rank": n, "source": ("text", "vector")[n % 2]}
        for u, items in SHORT.items()
        for n, i in enumerate(items, 1)
    ]
    return pair(pl.DataFrame(rows), some(ITEMS), SHORT)


def constant_split():
    truth = some(ITEMS)
    rows = [
        {"user": u, "item": i, "rating": 1.0, "split": "test"}
        for u, items in truth.items()
        for i in items
    ]
    return pair(SHORT, pl.DataFrame(rows), SHORT, truth)


def constant_split_index():
    truth = some(ITEMS)
    rows = [
        {"user": u, "item": i, "rating": 1.0, "split_index": 1}
        for u, items in truth.items()
        for i in items
    ]
    return pair(SHORT, pl.DataFrame(rows), SHORT, truth)


def ids_of_one_letter():
    """Ids that differ in one letter, in case, or in an ending, all of them shown."""
    items = ["ab", "ac", "AB", "Ab", "ab.txt", "ac.txt", "07", "7", "7.0"]
    lists = {u: RNG.sample(items, 9) for u in USERS}
    return pair(lists, {u: RNG.sample(items, 2) for u in USERS})


def ids_that_nobody_was_shown():
    lists = {u: [f"d{n}" for n in RNG.sample(range(100, 140), 6)] for u in USERS}
    return pair(lists, {u: [f"d{n}" for n in RNG.sample(range(130, 190), 2)] for u in USERS})


def numbers_without_zeros():
    lists = {u: [str(n) for n in RNG.sample(range(1, 60), 6)] for u in USERS}
    return pair(lists, {u: [str(n) for n in RNG.sample(range(1, 90), 2)] for u in USERS})


def users_that_differ_in_case():
    lists = {v: RNG.sample(ITEMS, 6) for u in USERS for v in (u, u.upper())}
    return pair(lists, {u: RNG.sample(ITEMS, 2) for u in lists})


def popularity_as_scores():
    count = {i: RNG.randrange(1, 500) for i in ITEMS}
    scores = {u: {i: count[i] + k / 100 for k, i in enumerate(RNG.sample(ITEMS, 6))} for u in USERS}
    return pair(scores, some(ITEMS), lists_of(scores))


def ranks_counted_backwards():
    """Scores n…1: the best has the largest."""
    scores = {u: {i: 6 - n for n, i in enumerate(items)} for u, items in SHORT.items()}
    return pair(scores, some(ITEMS), SHORT)


def short_lists_with_integer_scores():
    scores = {
        u: dict(zip(items, RNG.sample(range(1, 40), 6), strict=True)) for u, items in SHORT.items()
    }
    return pair(scores, some(ITEMS), lists_of(scores))


def shuffled_rows_with_scores():
    rows = [(u, i, distinct()) for u, items in SHORT.items() for i in items]
    RNG.shuffle(rows)
    frame = pd.DataFrame(rows, columns=["user", "item", "score"])
    lists = {u: by_score({i: s for v, i, s in rows if v == u}) for u in USERS}
    return pair(frame, some(ITEMS), lists)


def filtered_index():
    """A frame whose row numbers have gaps: rows know their users."""
    rows = [(u, i, distinct()) for u, items in SHORT.items() for i in items]
    frame = pd.DataFrame(rows, columns=["user", "item", "score"]).iloc[::-1].iloc[::2]
    lists = {u: by_score(dict(g[["item", "score"]].to_numpy())) for u, g in frame.groupby("user")}
    return pair(frame, some(ITEMS), lists)


def one_item_at_the_end_of_some_lists():
    """An item that is last for two users, and elsewhere for others."""
    lists = {u: RNG.sample(range(1, 40), 6) for u in USERS}
    lists["u1"][-1] = lists["u2"][-1] = lists["u3"][2] = 0
    return pair(lists, {u: RNG.sample(range(1, 40), 2) for u in USERS})


def a_list_that_is_empty():
    lists = {**SHORT, "u5": []}
    return pair(lists, some(ITEMS))


def sparse_with_labels():
    scores = np.round(np.random.default_rng(1).random((9, 7)) + 0.1, 6)
    lists = [by_score(dict(enumerate(row))) for row in scores]
    truth = [[row[n % 7]] for n, row in enumerate(lists)]
    labels = np.zeros(scores.shape)
    for row, items in enumerate(truth):
        labels[row, items] = 1
    return pair(scipy.sparse.csr_matrix(scores), scipy.sparse.csr_matrix(labels), lists, truth)


def scores_with_names():
    values = np.random.default_rng(1).permutation(24 * 7).reshape(24, 7) / 10
    lists = {
        u: by_score(dict(zip(ITEMS, row, strict=False)))
        for u, row in zip(USERS, values, strict=True)
    }
    return pair(rm.Scores(values, users=USERS, items=ITEMS[:7]), some(ITEMS[:7], 1), lists)


def ids_with_blanks_inside():
    lists = {u: [f"item {n}" for n in RNG.sample(range(40), 6)] for u in USERS}
    return pair(lists, {u: [f"item {n}" for n in RNG.sample(range(40), 2)] for u in USERS})


def graded_truth_by_row():
    lists = [RNG.sample(range(50, 80), 6) for _ in range(24)]
    truth = [{i: RNG.randrange(4) for i in RNG.sample(range(50, 80), 5)} for _ in range(24)]
    wanted = [[i for i, gain in found.items() if gain] for found in truth]
    return pair(lists, truth, lists, wanted)


SILENT = {
    make.__name__: make
    for make in (
        dense_candidates,
        dense_integers,
        dense_integer_scores,
        two_queries,
        one_and_a_half,
        equal_lengths,
        equal_lengths_on_both_sides,
        series_in_order,
        keys_in_any_order,
        user_column_in_any_order,
        log_probabilities,
        log_probabilities_of_two_items,
        rank_and_score,
        item_facts,
        unsorted_pairs,
        fewer_users_by_key,
        leave_one_out,
        leave_one_out_by_row,
        one_popular_first_item,
        a_popular_first_item_by_key,
        constant_tag,
        a_tag_of_each_user,
        a_source_of_each_item,
        constant_split,
        constant_split_index,
        ids_of_one_letter,
        ids_that_nobody_was_shown,
        numbers_without_zeros,
        users_that_differ_in_case,
        popularity_as_scores,
        ranks_counted_backwards,
        short_lists_with_integer_scores,
        shuffled_rows_with_scores,
        filtered_index,
        one_item_at_the_end_of_some_lists,
        a_list_that_is_empty,
        sparse_with_labels,
        scores_with_names,
        ids_with_blanks_inside,
        graded_truth_by_row,
    )
} | {
    "zero_in_the_middle": in_the_middle(0),
    "minus_one_in_the_middle": in_the_middle(-1),
    "n_items_in_the_middle": in_the_middle(40),
}


@pytest.mark.parametrize("make", SILENT.values(), ids=SILENT)
def test_what_is_certain_is_read_without_a_word(make):
    RNG.seed(17)
    rankings, truth, expected = make()
    silent(ask(rm.evaluate, rankings, truth, "rr"), expected)


FLAT = ["rank_and_score", "constant_tag", "a_tag_of_each_user", "a_source_of_each_item"]


@pytest.mark.parametrize("form", {**RECORDS, **FRAMES})
@pytest.mark.parametrize("name", FLAT)
def test_frames_in_other_containers_are_read_without_a_word(name, form, tmp_path):
    RNG.seed(17)
    frame, truth, expected = SILENT[name]()
    rankings = {**RECORDS, **FRAMES}[form](frame.to_dicts(), tmp_path / "rankings")
    silent(ask(rm.evaluate, rankings, truth, "rr"), expected)


TRUTHS = ["item_facts", "constant_split", "constant_split_index"]


@pytest.mark.parametrize("form", {**RECORDS, **FRAMES})
@pytest.mark.parametrize("name", TRUTHS)
def test_truths_in_other_containers_are_read_without_a_word(name, form, tmp_path):
    RNG.seed(17)
    rankings, frame, expected = SILENT[name]()
    truth = {**RECORDS, **FRAMES}[form](frame.to_dicts(), tmp_path / "truth")
    silent(ask(rm.evaluate, rankings, truth, "rr"), expected)


def test_a_comparison_of_two_certain_systems_is_silent():
    RNG.seed(17)
    scores, truth, expected = dense_candidates()
    silent(ask(rm.compare, {"a": scores, "b": scores}, truth, "rr"), expected)


def test_ties_of_ranks_are_no_second_list():
    """Ranks 1, 1, 3: two items that tie, with nothing that tells them apart."""
    rows = [
        (u, i, rank)
        for u, items in SHORT.items()
        for i, rank in zip(items, (1, 1, 3, 4, 5, 6), strict=True)
    ]
    frame = pl.DataFrame(rows, schema=["user", "item", "rank"], orient="row")
    truth = {u: [items[2]] for u, items in SHORT.items()}
    silent(ask(rm.evaluate, frame, truth, "rr"), 1 / 3)


def test_a_run_with_one_tag_is_silent(tmp_path):
    run, qrels = tmp_path / "bm25.run", tmp_path / "qrels.txt"
    lines = [
        f"{u} Q0 {i} {n} {20 - n} bm25\n"
        for u, items in SHORT.items()
        for n, i in enumerate(items, 1)
    ]
    run.write_text("".join(lines))
    truth = {u: [items[n % 6]] for n, (u, items) in enumerate(SHORT.items())}
    qrels.write_text("".join(f"{u} 0 {items[0]} 1\n" for u, items in truth.items()))
    silent(ask(rm.evaluate, run, qrels, "rr"), naive(SHORT, truth))


def test_labels_as_floats_and_ids_of_another_shape_are_silent():
    scores = np.array([[0.3, 0.2, 0.1], [0.1, 0.3, 0.2]])
    silent(ask(rm.evaluate_scores, scores, np.array([[0.0, 1, 0], [0, 0, 1]]), "rr"), 0.5)
    silent(ask(rm.evaluate_scores, scores, np.array([1, 2]), "rr"), 0.5)
    silent(ask(rm.evaluate_scores, scores, np.array([[1, 0], [2, -1]]), "rr"), 0.75)
    silent(ask(rm.evaluate_scores, scores, [[1], [2, 1]], "rr"), 0.75)


def test_two_frames_with_the_same_labels_are_silent():
    scores = pd.DataFrame([[0.3, 0.2], [0.1, 0.3]], index=["u", "v"], columns=["a", "b"])
    labels = pd.DataFrame([[0, 1], [0, 1]], index=["u", "v"], columns=["a", "b"])
    silent(ask(rm.evaluate_scores, scores, labels, "rr"), 0.75)
