"""Inputs with two readings: the right number, a caution or an error, and never another number."""

from __future__ import annotations

import json
import random
import re
import unicodedata

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse

import rankmeter as rm
from command_line import rankmeter
from door.containers import FILES, FRAMES, MAPPINGS, RECORDS
from door.judge import (
    Answer,
    as_matrix,
    ask,
    ask_command,
    by_score,
    cautioned,
    naive,
    not_silent,
    refused,
    right,
    right_or_refused,
    told,
)

pytestmark = pytest.mark.once

# --- Links: rows whose names are unknown ----------------------------------------------------------

NAMES = (
    "sid aid,profile_id job_id,cust prod,q d,head tail,src dst,source target,usr itm,topic doc,"
    "person movie,question_id chunk_id,from to,playlist_id track_uri,order_id product,patient drug,"
    "job candidate,author paper,imp nid,prompt response_id,left right,a b,Käufer Ware,보낸이 받는이"
)
PAIRS = {pair.replace(" ", "-"): tuple(pair.split()) for pair in NAMES.split(",")}
COLUMNS = {"user": "source", "item": "target"}


def drawn(names=("source", "target"), *, text=False, seed=3, users=40):
    """Random links as rows, predicted and true, and the naive reciprocal rank."""
    rng = random.Random(seed)
    lists = {u: rng.sample(range(100, 400), 8) for u in range(users)}
    truth = {u: rng.sample(range(100, 400), 3) for u in range(users)}
    for u in range(0, users, 9):
        truth[u][0] = lists[u][3]  # a few true links
    spell = (lambda kind, n: f"{kind}{n}") if text else (lambda _, n: n)

    def rows(side):
        return [
            dict(zip(names, (spell("u", u), spell("i", i)), strict=True))
            for u, items in side.items()
            for i in items
        ]

    return rows(lists), rows(truth), naive(lists, truth)


def pair_of(make, names, tmp_path, **options):
    predicted, true, expected = drawn(names, **options)
    return make(predicted, tmp_path / "predicted"), make(true, tmp_path / "true"), expected


UNKNOWN = {**RECORDS, **FRAMES}


@pytest.mark.parametrize("text", [False, True], ids=["integers", "text"])
@pytest.mark.parametrize("form", UNKNOWN)
@pytest.mark.parametrize("names", PAIRS.values(), ids=PAIRS)
def test_rows_with_unknown_names_are_no_lists_of_items(names, form, text, tmp_path):
    predicted, true, expected = pair_of(UNKNOWN[form], names, tmp_path, text=text)
    right_or_refused(ask(rm.evaluate, predicted, true, "rr"), expected)


@pytest.mark.parametrize("form", MAPPINGS)
@pytest.mark.parametrize("names", [*PAIRS.values()][:7], ids=[*PAIRS][:7])
def test_rows_as_dictionaries_are_never_read_without_a_word(names, form, tmp_path):
    for text in (False, True):
        predicted, true, expected = pair_of(MAPPINGS[form], names, tmp_path, text=text)
        not_silent(ask(rm.evaluate, predicted, true, "rr"), expected)


CALLS = {
    "evaluate": lambda p, t, **o: rm.evaluate(p, t, "rr", **o),
    "compare": lambda p, t, **o: rm.compare({"a": p, "b": p}, t, "rr", **o),
    "Evaluator": lambda p, t, **o: rm.Evaluator(t, "rr", **o).evaluate(p),
    "curve": lambda p, t, **o: float(rm.curve(p, t, "rr", 8, **o).frame["mean"].to_list()[-1]),
}


@pytest.mark.parametrize("form", [*RECORDS, "to_dict", "to_dict-index"])
@pytest.mark.parametrize("function", CALLS)
def test_every_function_refuses_links_without_names(function, form, tmp_path):
    make = {**RECORDS, **MAPPINGS}[form]
    predicted, true, expected = pair_of(make, ("source", "target"), tmp_path)
    answer = ask(CALLS[function], predicted, true)
    (right_or_refused if form in RECORDS else not_silent)(answer, expected)


@pytest.mark.parametrize("form", UNKNOWN)
@pytest.mark.parametrize("function", CALLS)
def test_columns_name_the_links(function, form, tmp_path):
    predicted, true, expected = pair_of(UNKNOWN[form], ("source", "target"), tmp_path)
    right(ask(CALLS[function], predicted, true, columns=COLUMNS), expected)


@pytest.mark.parametrize("names", PAIRS.values(), ids=PAIRS)
def test_columns_name_the_links_whatever_they_are_called(names, tmp_path):
    predicted, true, expected = drawn(names, text=True)
    columns = dict(zip(("user", "item"), names, strict=True))
    right(ask(rm.evaluate, predicted, true, "rr", columns=columns), expected)


def test_columns_name_the_links_of_each_side():
    predicted, _, expected = drawn(("from", "to"))
    _, true, _ = drawn(("src", "dst"))
    columns = {
        "rankings": {"user": "from", "item": "to"},
        "truth": {"user": "src", "item": "dst"},
    }
    right(ask(rm.evaluate, predicted, true, "rr", columns=columns), expected)


@pytest.mark.parametrize("form", MAPPINGS)
def test_columns_act_on_dictionaries_or_are_refused(form, tmp_path):
    predicted, true, expected = pair_of(MAPPINGS[form], ("source", "target"), tmp_path)
    right_or_refused(ask(rm.evaluate, predicted, true, "rr", columns=COLUMNS), expected)


WRONG = {
    "no such user": {"user": "nosuch"},
    "no such item": {"user": "source", "item": "nosuch"},
    "neither": {"user": "nosuch", "item": "nor this"},
    "no such score": {"user": "source", "item": "target", "score": "nosuch"},
}


@pytest.mark.parametrize("columns", WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("form", [*UNKNOWN, *MAPPINGS])
def test_a_column_that_no_table_has_is_an_error(form, columns, tmp_path):
    make = {**UNKNOWN, **MAPPINGS}[form]
    predicted, true, _ = pair_of(make, ("source", "target"), tmp_path)
    refused(ask(rm.evaluate, predicted, true, "rr", columns=columns))


@pytest.mark.parametrize("form", FILES)
def test_a_gate_never_passes_on_the_names_of_fields(form, tmp_path):
    predicted, true, expected = pair_of(FILES[form], ("source", "target"), tmp_path)
    gate = ["--fail-if", f"rr<{expected + 0.1}"]
    assert rankmeter("evaluate", predicted, true, "-m", "rr", *gate).code != 0
    right_or_refused(ask_command("evaluate", predicted, true, "-m", "rr"), expected)
    columns = ["--columns", "user=source,item=target"]
    right(ask_command("evaluate", predicted, true, "-m", "rr", *columns), expected)
    assert rankmeter("evaluate", predicted, true, "-m", "rr", *gate, *columns).code == 1
    wrong = ["--columns", "user=nosuch"]
    refused(ask_command("evaluate", predicted, true, "-m", "rr", *wrong))


@pytest.mark.parametrize("form", FILES)
def test_the_command_compare_reads_links_by_name_only(form, tmp_path):
    predicted, true, expected = pair_of(FILES[form], ("source", "target"), tmp_path)
    systems = [f"a={predicted}", f"b={predicted}"]
    right_or_refused(ask_command("compare", true, *systems, "-m", "rr"), expected)
    columns = ["--columns", "user=source,item=target"]
    right(ask_command("compare", true, *systems, "-m", "rr", *columns), expected)


KNOWN_ROWS = {"integers": False, "text": True}


@pytest.mark.parametrize("text", KNOWN_ROWS.values(), ids=KNOWN_ROWS)
@pytest.mark.parametrize("form", MAPPINGS)
def test_dictionaries_of_known_columns_are_rows(form, text, tmp_path):
    predicted, true, expected = pair_of(MAPPINGS[form], ("user_id", "item_id"), tmp_path, text=text)
    right_or_refused(ask(rm.evaluate, predicted, true, "rr"), expected)


@pytest.mark.parametrize("form", ["to_dict", "to_dict-index", "to_dict-list", "to_dict-split"])
def test_dictionaries_with_scores_are_rows(form, tmp_path):
    predicted, true, expected = drawn(("user_id", "item_id"))
    scored = [row | {"score": 1 - n / 1000} for n, row in enumerate(predicted)]
    make = MAPPINGS[form]
    sides = make(scored, tmp_path / "predicted"), make(true, tmp_path / "true")
    right_or_refused(ask(rm.evaluate, *sides, "rr"), expected)


def test_numbers_by_row_number_are_an_error():
    """Rows of unknown names, or the scores of users 0, 1, 2 for the items "source" and "target"."""
    predicted, true, _ = drawn()
    sides = dict(enumerate(predicted)), dict(enumerate(true))
    refused(ask(rm.evaluate, *sides, "rr"))


def test_numbers_by_other_keys_that_hold_ids_get_a_caution():
    predicted, true, expected = drawn()
    sides = ({3 * n + 7: row for n, row in enumerate(side)} for side in (predicted, true))
    sides = tuple(sides)
    not_silent(ask(rm.evaluate, *sides, "rr", missing="skip"), expected)


def test_columns_by_name_are_no_users():
    predicted, true, _ = drawn(("queries", "docs"), users=12)
    once = [predicted[n] for n in range(0, len(predicted), 9)]  # each id once
    sides = [{k: [row[k] for row in rows] for k in rows[0]} for rows in (once, true)]
    answer = ask(rm.evaluate, *sides, "rr")
    not_silent(answer, naive(lists_of(once), lists_of(true)))


def lists_of(rows):
    lists = {}
    for row in rows:
        user, item = row.values()
        lists.setdefault(user, []).append(item)
    return lists


def test_pairs_of_user_and_item_are_no_lists_of_two_items():
    predicted, true, expected = drawn()
    sides = [[tuple(row.values()) for row in rows] for rows in (predicted, true)]
    right_or_refused(ask(rm.evaluate, *sides, "rr"), expected)
    small = [(0, 10), (0, 11), (1, 12), (1, 10)], [(0, 11), (1, 12)]
    right_or_refused(ask(rm.evaluate, *small, "rr"), 0.75)


# --- Labels of a matrix ---------------------------------------------------------------------------

RNG = np.random.default_rng(11)


def pivot(users, items):
    scores = RNG.permutation(len(users) * len(items)).reshape(len(users), len(items)) / 100
    frame = pd.DataFrame(scores, index=users, columns=items)
    lists = {u: by_score(frame.loc[u].to_dict()) for u in users}
    truth = {u: [lists[u][n % len(items)]] for n, u in enumerate(users)}
    return frame, truth, naive(lists, truth)


PIVOTS = {
    "text": ([f"u{n}" for n in range(9)], list("abcdefg")),
    "from one": (list(range(1, 10)), list(range(1, 8))),
    "shuffled": ([4, 2, 0, 1, 3, 5], [3, 1, 0, 2, 4]),
    "text users": ([f"u{n}" for n in range(9)], list(range(7))),
    "text items": (list(range(9)), list("abcdefg")),
    "large ids": (list(range(501, 509)), list(range(9001, 9008))),
}


@pytest.mark.parametrize(("users", "items"), PIVOTS.values(), ids=PIVOTS)
def test_labels_of_a_pivot_are_used_or_refused(users, items):
    frame, truth, expected = pivot(users, items)
    right_or_refused(ask(rm.evaluate, rm.Scores(frame), truth, "rr"), expected)
    named = frame.rename_axis(index="user_id", columns="item_id")
    right_or_refused(ask(rm.evaluate, rm.Scores(named), truth, "rr"), expected)


@pytest.mark.parametrize(("users", "items"), PIVOTS.values(), ids=PIVOTS)
def test_a_pivot_as_rankings_is_read_or_sent_to_scores(users, items):
    frame, truth, expected = pivot(users, items)
    frame = frame.rename_axis(index="user_id", columns="item_id")
    right_or_refused(ask(rm.evaluate, frame, truth, "rr"), expected)


def test_the_user_column_of_a_wide_frame_is_no_item():
    frame, truth, expected = pivot(list(range(1, 9)), list("abcdefg"))
    wide = pl.from_pandas(frame.reset_index(names="user"))
    right_or_refused(ask(rm.evaluate, rm.Scores(wide), truth, "rr"), expected)
    labels = np.array([[item in truth[u] for item in frame.columns] for u in frame.index])
    right_or_refused(ask(rm.evaluate_scores, wide, labels, "rr"), expected)
    places = labels.argmax(axis=1)
    right_or_refused(ask(rm.evaluate_scores, wide, places, "rr"), expected)


TWO_FRAMES = {
    "columns in another order": lambda f: f[f.columns[::-1]],
    "rows in another order": lambda f: f.iloc[::-1],
    "both in another order": lambda f: f.sample(frac=1, random_state=1).sample(
        frac=1, axis=1, random_state=1
    ),
}


@pytest.mark.parametrize("change", TWO_FRAMES.values(), ids=TWO_FRAMES)
@pytest.mark.parametrize(("users", "items"), PIVOTS.values(), ids=PIVOTS)
def test_two_frames_meet_by_their_labels(users, items, change):
    scores, truth, expected = pivot(users, items)
    labels = pd.DataFrame(0, index=users, columns=items)
    for user, relevant in truth.items():
        labels.loc[user, relevant] = 1
    labels = change(labels)
    right_or_refused(ask(rm.evaluate_scores, scores, labels, "rr"), expected)

    def collected():
        accumulator = rm.accumulator("rr")
        accumulator.update(scores=scores, target=labels)
        return accumulator.compute()

    right_or_refused(ask(collected), expected)


# --- Fillers --------------------------------------------------------------------------------------

SPELL = {"integers": lambda n: n, "text": lambda n: f"i{n}"}


def padded(filler, sides, spell, *, width=6, users=30, once=False):
    """Lists of one length, filled at the ends; no true item is found."""
    rng = random.Random(7)
    lists = [[spell(i) for i in rng.sample(range(10, 90), width)] for _ in range(users)]
    truth = [[spell(i) for i in rng.sample(range(90, 150), 3)] for _ in range(users)]
    for n in range(1, users, 2):
        if "rankings" in sides:
            lists[n][-1] = filler
            if not once and n % 4 == 1:
                lists[n][-2] = filler
        if "truth" in sides:
            truth[n][-1] = filler
    truth[0][0] = lists[0][1]
    return lists, truth, naive(lists, truth)


def row_frame(lists):
    rows = [(u, i, float(-n)) for u, items in enumerate(lists) for n, i in enumerate(items)]
    return pl.DataFrame(rows, schema=["user", "item", "score"], orient="row")


HOLDS_LISTS = {
    "lists": lambda lists: lists,
    "dictionary": lambda lists: dict(enumerate(lists)),
    "array": np.array,
    "list column": lambda lists: pl.DataFrame({"user": range(len(lists)), "items": lists}),
    "pandas": lambda lists: pd.DataFrame({"user": range(len(lists)), "items": lists}),
}
SIDES = {
    "both": ("rankings", "truth"),
    "truth alone": ("truth",),
    "rankings alone": ("rankings",),
}
FILLERS = {"-1": (-1, "integers"), "empty": ("", "text"), "pad": ("<pad>", "text")}


@pytest.mark.parametrize("sides", SIDES.values(), ids=SIDES)
@pytest.mark.parametrize("form", HOLDS_LISTS)
@pytest.mark.parametrize(("filler", "spelling"), FILLERS.values(), ids=FILLERS)
def test_fillers_at_the_ends_of_lists_are_refused(filler, spelling, form, sides):
    lists, truth, _ = padded(filler, sides, SPELL[spelling], once=True)
    make = HOLDS_LISTS[form]
    answer = ask(rm.evaluate, make(lists), make(truth), "rr")
    refused(answer, "mask|pad|fill|empty|no item")


@pytest.mark.parametrize(("filler", "spelling"), FILLERS.values(), ids=FILLERS)
def test_fillers_with_the_lowest_scores_are_refused(filler, spelling):
    lists, truth, _ = padded(filler, ("rankings", "truth"), SPELL[spelling], once=True)
    frame = row_frame(lists).with_columns(
        score=pl.when(pl.col("item") == filler).then(-3e38).otherwise("score")
    )
    answer = ask(rm.evaluate, frame, row_frame(truth).drop("score"), "rr")
    refused(answer, "mask|pad|fill|empty|no item")


@pytest.mark.parametrize("sides", [SIDES["both"], SIDES["truth alone"]], ids=["both", "truth"])
@pytest.mark.parametrize("form", HOLDS_LISTS)
@pytest.mark.parametrize("filler", [0, 500], ids=["zero", "n_items"])
def test_another_id_that_only_fills_ends_gets_a_caution(filler, form, sides):
    lists, truth, as_read = padded(filler, sides, SPELL["integers"], once=True)
    make = HOLDS_LISTS[form]
    answer = ask(rm.evaluate, make(lists), make(truth), "rr")
    cautioned(answer, as_read, rf"\b{filler}\b")


# --- Labels of the scores' shape ------------------------------------------------------------------


def ranked_labels(labels):
    """Scores under which cells that are not judged come last, and the naive reciprocal rank."""
    labels = np.array(labels)
    scores = np.random.default_rng(2).permutation(labels.size).reshape(labels.shape) / labels.size
    scores = scores - 2.0 * (labels < 0)
    lists = [by_score(dict(enumerate(row))) for row in scores]
    truth = [np.flatnonzero(row > 0) for row in labels]
    return scores, labels, naive(lists, truth)


LABELS = {
    "1, 0, -1": [[1, 0, -1], [0, 1, -1], [1, 0, -1]],
    "-1 in the middle": [[1, -1, 0], [0, -1, 1], [-1, 0, 1]],
    "2, 0, -1": [[2, 0, -1], [0, 2, -1], [2, 0, -1]],
    "2, 1, 0, -1, -1": [[2, 1, 0, -1, -1], [0, 1, 2, -1, -1], [1, 2, 0, -1, -1]],
    "with a row without -1": [[1, 0, -1], [0, 1, 0], [1, 0, -1]],
    "distinct": [[0, 1, 2], [2, 1, 0], [1, 0, 2]],
    "four": [[1, 0, 2, -1], [3, 1, 0, -1], [0, 2, 1, -1]],
}
TYPES = {"int64": np.int64, "int8": np.int8, "list": None, "float64": np.float64}


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_numbers_of_the_shape_of_the_scores_are_labels(labels, kind):
    scores, labels, expected = ranked_labels(labels)
    target = labels.tolist() if kind == "list" else labels.astype(TYPES[kind])
    judge = right_or_refused if kind == "list" else right  # or lists of ids
    judge(ask(rm.evaluate_scores, scores, target, "rr"), expected)


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_batches_are_read_alike(labels):
    scores, labels, _ = ranked_labels([*labels, [0] * (len(labels[0]) - 1) + [1]])
    lists = [by_score(dict(enumerate(row))) for row in scores]
    expected = naive(lists, [np.flatnonzero(row > 0) for row in labels])

    def collected():
        accumulator = rm.accumulator("rr")
        for place in range(len(labels)):
            rows = slice(place, place + 1)
            accumulator.update(scores=scores[rows], target=labels[rows])
        return accumulator.compute()

    right(ask(collected), expected)


def test_only_unjudged_and_relevant_cells_are_labels_or_refused():
    scores, labels, expected = ranked_labels([[1, -1, -1], [-1, 1, -1], [-1, 1, 1]])
    right_or_refused(ask(rm.evaluate_scores, scores, labels, "rr"), expected)
    scores, labels, expected = ranked_labels([[-1, 0, 1], [-1, 1, 0], [-1, 1, 0]])
    right_or_refused(ask(rm.evaluate_scores, scores, labels, "rr"), expected)


def test_ids_of_the_shape_of_the_scores_are_asked_for():
    scores, ids = np.array([[0.3, 0.2, 0.1], [0.1, 0.3, 0.2]]), np.array([[1, 0, -1], [2, -1, -1]])
    expected = naive([[0, 1, 2], [1, 2, 0]], [[1, 0], [2]])
    right(ask(rm.evaluate_scores, scores, ids, "rr", target_ids=True), expected)


@pytest.mark.parametrize("kind", [bool, np.int64, np.uint8], ids=["bool", "int64", "uint8"])
def test_a_mask_of_the_shape_of_the_scores_is_a_mask(kind):
    scores = np.array([[0.3, 0.2, 0.1], [0.1, 0.3, 0.2]])
    mask = np.array([[1, 0, 0], [0, 1, 0]]).astype(kind)
    expected = naive([[1, 2], [2, 0]], [[2], [0]])
    target = np.array([2, 0])
    answer = ask(rm.evaluate_scores, scores, target, "rr", exclude=mask)
    right_or_refused(answer, expected)


# --- A position against a key ---------------------------------------------------------------------

LISTS = [[f"i{(5 * u + n) % 17}" for n in range(4)] for u in range(6)]
WANTED = [[LISTS[u][u % 4]] for u in range(6)]
POSITION = naive(LISTS, WANTED)
WITHOUT_NAMES = {
    "lists": LISTS,
    "array": np.array(LISTS),
    "tuple": tuple(map(tuple, LISTS)),
}
NAMED = {
    "Series with a shuffled index": pd.Series(WANTED, index=[3, 1, 2, 0, 5, 4]),
    "Series with a gap": pd.Series(WANTED, index=[0, 1, 2, 3, 4, 6]),
    "Series from one": pd.Series(WANTED, index=range(1, 7)),
    "dictionary from one": dict(enumerate(WANTED, 1)),
    "dictionary with a gap": {0: WANTED[0], 1: WANTED[1], 3: WANTED[2], 4: WANTED[3], 9: ["i3"]},
    "dictionary that lacks one": dict(enumerate(WANTED[:5])),
    "frame from one": pl.DataFrame({"user": range(1, 7), "item": [w[0] for w in WANTED]}),
    "records from one": [{"user": u, "item": w[0]} for u, w in enumerate(WANTED, 1)],
    "list that is shorter": WANTED[:5],
    "list that is longer": [*WANTED, ["i3"]],
}


@pytest.mark.parametrize("truth", NAMED.values(), ids=NAMED)
@pytest.mark.parametrize("rankings", WITHOUT_NAMES.values(), ids=WITHOUT_NAMES)
def test_a_side_without_names_meets_only_row_numbers(rankings, truth):
    refused(ask(rm.evaluate, rankings, truth, "rr"))


def test_rankings_by_key_meet_a_truth_by_position_only_in_row_numbers():
    for truth in ([w[0] for w in WANTED], np.array(WANTED)):
        refused(ask(rm.evaluate, dict(enumerate(LISTS, 1)), truth, "rr"))


def matrix():
    scores = np.random.default_rng(4).random((6, 5))
    lists = [by_score(dict(enumerate(row))) for row in scores]
    return scores, lists


def test_scores_without_names_meet_only_row_numbers():
    scores, lists = matrix()
    truth = {u: [lists[u][u % 5]] for u in range(6)}
    right(ask(rm.evaluate, rm.Scores(scores), truth, "rr"), naive(lists, truth))
    later = {u + 1: items for u, items in truth.items()}
    refused(ask(rm.evaluate, rm.Scores(scores), later, "rr"))


def test_scores_with_names_meet_no_list_by_position():
    scores, lists = matrix()
    truth = [[lists[u][u % 5]] for u in range(6)]
    named = rm.Scores(scores, users=[5, 3, 1, 0, 2, 4])
    by_key = {user: lists[row] for row, user in enumerate([5, 3, 1, 0, 2, 4])}
    right_or_refused(ask(rm.evaluate, named, truth, "rr"), naive(by_key, truth))
    named = rm.Scores(scores, users=[1, 2, 3, 4, 5, 6])
    refused(ask(rm.evaluate, named, truth, "rr"))


def test_a_matrix_of_another_number_of_rows_is_refused():
    stored = scipy.sparse.csr_matrix(matrix()[0])
    for rows in (5, 7):
        truth = [[0]] * rows
        refused(ask(rm.evaluate, stored, truth, "rr"))
    other = scipy.sparse.csr_matrix(np.eye(7, 5))
    refused(ask(rm.evaluate, stored, other, "rr"))


# --- An order that is said twice ------------------------------------------------------------------


def ordered(users=30, n=6, seed=1):
    """Lists and truth, and the lists backwards."""
    rng = random.Random(seed)
    lists = {f"q{u}": [f"d{i}" for i in rng.sample(range(40), n)] for u in range(users)}
    truth = {u: [items[k % n]] for k, (u, items) in enumerate(lists.items())}
    return lists, truth, {u: items[::-1] for u, items in lists.items()}


LISTED, TRUE, BACKWARDS = ordered()


def run(path, lists, score):
    path.write_text(
        "".join(
            f"{u} Q0 {i} {rank} {score(rank)} tag\n"
            for u, items in lists.items()
            for rank, i in enumerate(items, 1)
        )
    )
    return path


def qrels(path, truth):
    path.write_text("".join(f"{u} 0 {i} 1\n" for u, items in truth.items() for i in items))
    return path


PLACES = r"\b(ranks?|ranked|places?|positions?)\b"


def about_rank(answer: Answer, consistent: Answer) -> None:
    """A word about the contradiction, which data without one do not get."""
    new = set(answer.said.splitlines()) - set(consistent.said.splitlines())
    parts = [part for line in new for part in line.split(" · ")]  # the notes
    said = [part for part in parts if re.search(r"\branks?\b", part) and re.search(r"\d", part)]
    assert said, f"no word about ranks: {answer.said}"


def test_ranks_of_a_run_that_contradict_its_scores_are_counted(tmp_path):
    truth = qrels(tmp_path / "qrels.txt", TRUE)
    good = run(tmp_path / "good.run", LISTED, lambda rank: -rank)
    bad = run(tmp_path / "bad.run", LISTED, lambda rank: rank)
    consistent = ask(rm.evaluate, good, truth, "rr")
    right(consistent, naive(LISTED, TRUE))
    answer = ask(rm.evaluate, bad, truth, "rr")
    right(answer, naive(BACKWARDS, TRUE))  # by the scores, as in trec_eval
    about_rank(answer, consistent)


def ranked_rows(users, backwards):
    lists, truth, _ = ordered(users)
    rows = [
        (u, i, rank, float(rank if k in backwards else -rank))
        for k, (u, items) in enumerate(lists.items())
        for rank, i in enumerate(items, 1)
    ]
    frame = pl.DataFrame(rows, schema=["user", "item", "rank", "score"], orient="row")
    return frame, truth, naive(lists, truth)


ODD = (501, 777)
"""Two users of 1,000 whose scores contradict their ranks: a sample would miss them."""

ROW_ORDERS = {
    "as it is": lambda f: f,
    "backwards": lambda f: f.reverse(),
    "shuffled": lambda f: f.sample(fraction=1, shuffle=True, seed=3),
}
WRITTEN = {name: {**RECORDS, **FRAMES}[name] for name in ("records", "pandas", "csv", "parquet")}


@pytest.mark.parametrize("order", ROW_ORDERS.values(), ids=ROW_ORDERS)
@pytest.mark.parametrize("form", WRITTEN)
def test_contradictions_are_counted_in_all_rows(form, order, tmp_path):
    said = []
    for name, backwards in (("good", ()), ("bad", ODD)):
        frame, truth, expected = ranked_rows(1000, backwards)
        rankings = WRITTEN[form](order(frame).to_dicts(), tmp_path / name)
        answer = ask(rm.evaluate, rankings, truth, "rr")
        right(answer, expected)
        said.append(answer)
    about_rank(said[1], said[0])


def test_contradictions_are_counted_on_disk_too(tmp_path):
    said = []
    for name, backwards in (("good", ()), ("bad", ODD)):
        frame, truth, expected = ranked_rows(1000, backwards)
        frame.write_parquet(tmp_path / f"{name}.parquet")
        answer = ask(rm.evaluate, tmp_path / f"{name}.parquet", truth, "rr", engine="disk")
        right(answer, expected)
        said.append(answer)
    about_rank(said[1], said[0])


def test_words_about_contradictions_do_not_depend_on_the_order_of_rows():
    frame, truth, _ = ranked_rows(1000, ODD)
    answers = [ask(rm.evaluate, change(frame), truth, "rr") for change in ROW_ORDERS.values()]
    assert len({answer.said for answer in answers}) == 1


def test_scores_that_tie_where_ranks_differ_are_counted():
    frame, truth, expected = ranked_rows(30, ())
    answer = ask(rm.evaluate, frame.with_columns(score=1.0), truth, "rr")
    told(answer, expected, "tie")


FAR = {
    "dictionary": lambda lists: {
        u: {i: 0.25 * n for n, i in enumerate(items, 1)} for u, items in lists.items()
    },
    "pairs": lambda lists: {
        u: [(i, 0.25 * n) for n, i in enumerate(items, 1)] for u, items in lists.items()
    },
    "list columns": lambda lists: pl.DataFrame(
        {
            "user": list(lists),
            "items": list(lists.values()),
            "scores": [[0.25 * n for n in range(1, 1 + len(i))] for i in lists.values()],
        }
    ),
    "records of lists": lambda lists: [
        {"user": u, "items": items, "scores": [0.25 * n for n in range(1, 1 + len(items))]}
        for u, items in lists.items()
    ],
    "hits": lambda lists: {
        "responses": [
            {"hits": {"hits": [{"_id": i, "_score": 0.25 * n} for n, i in enumerate(items, 1)]}}
            for items in lists.values()
        ]
    },
}
"""Best first, with distances in place of scores: by the scores, all is backwards."""


@pytest.mark.parametrize("form", [form for form in FAR if form != "hits"])
def test_distances_get_a_caution(form):
    answer = ask(rm.evaluate, FAR[form](LISTED), TRUE, "rr")
    cautioned(answer, naive(BACKWARDS, TRUE), "distance|ascending|order|backward|lowest|small")


def test_distances_of_hits_are_not_read_without_a_word():
    answer = ask(rm.evaluate, FAR["hits"](LISTED), [*TRUE.values()], "rr")
    not_silent(answer, naive(LISTED, TRUE))


@pytest.mark.parametrize("kind", [np.float32, np.float64], ids=["float32", "float64"])
def test_distances_of_nearest_neighbours_get_a_caution(kind):
    ids = np.array([random.Random(u).sample(range(90), 7) for u in range(25)])
    truth = [[int(row[k % 7])] for k, row in enumerate(ids)]
    distances = np.sort(np.random.default_rng(1).random(ids.shape), axis=1).astype(kind)
    answer = ask(rm.evaluate, (ids, distances), truth, "rr")
    backwards = naive([row[::-1].tolist() for row in ids], truth)
    cautioned(answer, backwards, "distance|ascending|order|backward|lowest|small")


RANKS_AS_SCORES = {
    "dictionary": lambda lists: {
        u: {i: n for n, i in enumerate(items, 1)} for u, items in lists.items()
    },
    "floats": lambda lists: {
        u: {i: float(n) for n, i in enumerate(items, 1)} for u, items in lists.items()
    },
    "unordered": lambda lists: {
        u: dict(sorted((i, n) for n, i in enumerate(items, 1))) for u, items in lists.items()
    },
    "json": lambda lists: {u: {i: n for n, i in enumerate(items, 1)} for u, items in lists.items()},
}


@pytest.mark.parametrize("form", RANKS_AS_SCORES)
def test_ranks_in_place_of_scores_get_a_caution(form, tmp_path):
    rankings = RANKS_AS_SCORES[form](LISTED)
    if form == "json":
        (tmp_path / "run.json").write_text(json.dumps(rankings))
        rankings = tmp_path / "run.json"
    answer = ask(rm.evaluate, rankings, TRUE, "rr")
    cautioned(answer, naive(BACKWARDS, TRUE), PLACES)


def ranks_frame(rank):
    rows = [
        (u, i, rank(k, n))
        for k, (u, items) in enumerate(LISTED.items())
        for n, i in items_of(items)
    ]
    return pl.DataFrame(rows, schema=["user", "item", "rank"], orient="row")


def items_of(items):
    return list(enumerate(items, 1))


ODD_RANKS = {
    "over the whole table": lambda k, n: 6 * k + n,
    "with gaps": lambda _, n: n * n + 2,
}


@pytest.mark.parametrize("rank", ODD_RANKS.values(), ids=ODD_RANKS)
@pytest.mark.parametrize("form", WRITTEN)
def test_ranks_that_are_no_places_get_a_caution(form, rank, tmp_path):
    places = {u: {i: rank(k, n) for n, i in items_of(items)} for k, (u, items) in numbered(LISTED)}
    literal = sum(1 / places[u][TRUE[u][0]] for u in TRUE) / len(TRUE)
    rankings = WRITTEN[form](ranks_frame(rank).to_dicts(), tmp_path / "ranks")
    answer = ask(rm.evaluate, rankings, TRUE, "rr")
    cautioned(answer, (literal, naive(LISTED, TRUE)), PLACES)


def numbered(lists):
    return enumerate(lists.items())


# --- Several lists of a user in one table ---------------------------------------------------------

TELLERS = ["model", "Algorithm", "seed", "i_split", "fold", "day", "run", "run_tag", "system"]


def two_lists(column, *, rank=True):
    """Two lists of each user, with other items, which only one column tells apart."""
    words = column in ("model", "Algorithm", "run", "run_tag", "system")
    values = ("one", "two") if words else (1, 2)
    lists, truth, _ = ordered(12)
    rows = []
    for value in values:
        for u, items in lists.items():
            named = items if value == values[0] else [f"x{i}" for i in items]
            rows += [
                {column: value, "user_id": u, "item_id": i, "rank": n} for n, i in items_of(named)
            ]
    return rows, truth


@pytest.mark.parametrize("form", WRITTEN)
@pytest.mark.parametrize("column", TELLERS)
def test_several_lists_of_a_user_are_refused_with_the_column(column, form, tmp_path):
    rows, truth = two_lists(column)
    rankings = WRITTEN[form](rows, tmp_path / "two")
    refused(ask(rm.evaluate, rankings, truth, "rr"), column)


@pytest.mark.parametrize("column", TELLERS)
def test_several_lists_of_a_user_with_shared_items_are_refused_with_the_column(column):
    rows, truth = two_lists(column)
    rows = [row | {"item_id": row["item_id"].removeprefix("x")} for row in rows]
    refused(ask(rm.evaluate, pl.DataFrame(rows), truth, "rr"), column)


def test_a_run_of_two_tags_is_refused(tmp_path):
    truth = qrels(tmp_path / "qrels.txt", TRUE)
    one = run(tmp_path / "one", LISTED, lambda rank: -rank).read_text()
    other = {u: [f"x{i}" for i in items] for u, items in LISTED.items()}
    two = run(tmp_path / "two", other, lambda rank: -rank).read_text().replace(" tag", " bm25")
    both = tmp_path / "both.run"
    both.write_text(one + two)
    refused(ask(rm.evaluate, both, truth, "rr"), r"\btags?\b|bm25")


SPLITS = {
    "split_index": (0, 1),
    "split": ("train", "test"),
    "fold": (0, 1),
}


@pytest.mark.parametrize("form", WRITTEN)
@pytest.mark.parametrize("column", SPLITS)
def test_a_truth_with_a_split_column_is_asked_about(column, form, tmp_path):
    values = SPLITS[column]
    rows = [
        {"user_id": u, "item_id": i, "rating": 1 + n % 3, column: values[n % 2]}
        for u, items in LISTED.items()
        for n, i in enumerate(items)
    ]
    truth = WRITTEN[form](rows, tmp_path / "truth")
    refused(ask(rm.evaluate, LISTED, truth, "rr"), column)


# --- Ids that nearly match ------------------------------------------------------------------------

SPELLINGS = {
    "blank": lambda i: f"{i} ",
    "blank before": lambda i: f" {i}",
    "upper case": str.upper,
    "quoted": lambda i: f'"{i}"',
    "single quotes": lambda i: f"'{i}'",
    "bytes": lambda i: f"b'{i}'",
    "extension": lambda i: f"{i}.txt",
    "decomposed": lambda i: unicodedata.normalize("NFD", i),
    "cut": lambda i: i[:20],
}
NUMERIC = {
    "float": lambda i: f"{i}.0",
    "leading zeros": lambda i: f"{i:0>8}",
}


def nearly(change, name):
    """Some true items are spelt otherwise than they were shown."""
    rng = random.Random(5)
    spell = (lambda n: f"{10000 + n}") if change in NUMERIC.values() else None
    spell = spell or (lambda n: f"{1000 + n}-café-document-number")
    lists = {f"q{u}": [spell(i) for i in rng.sample(range(900), 5)] for u in range(20)}
    truth = {u: [items[n % 3]] for n, (u, items) in enumerate(lists.items())}
    for n, u in enumerate(truth):
        if n % 2:
            truth[u] = [change(truth[u][0])]
    return lists, truth, naive(lists, truth)


NEAR = {**SPELLINGS, **NUMERIC}
OF_ITEMS = {
    "dictionary": lambda truth: truth,
    "frame": lambda truth: pl.DataFrame(
        {"user": list(truth), "item": [items[0] for items in truth.values()]}
    ),
    "records": lambda truth: [{"user": u, "item": items[0]} for u, items in truth.items()],
}


@pytest.mark.parametrize("form", OF_ITEMS)
@pytest.mark.parametrize("name", NEAR)
def test_ids_that_nearly_match_get_a_caution(name, form):
    lists, truth, as_read = nearly(NEAR[name], name)
    answer = ask(rm.evaluate, lists, OF_ITEMS[form](truth), "rr")
    cautioned(answer, as_read, r"\b10\b(.|\n)*(1\d\d\d)|(1\d\d\d)(.|\n)*\b10\b")


@pytest.mark.parametrize("name", ["blank", "upper case", "quoted", "extension"])
def test_users_that_nearly_match_get_a_caution(name):
    lists, truth, _ = ordered(20)
    change = NEAR[name]
    truth = {(change(u) if n % 2 else u): items for n, (u, items) in enumerate(truth.items())}
    as_read = naive(lists, truth)
    cautioned(ask(rm.evaluate, lists, truth, "rr"), as_read, r"\b10\b")


# --- np.matrix ------------------------------------------------------------------------------------


MATRICES = {
    "scores": lambda s, y: (as_matrix(s), y),
    "labels": lambda s, y: (s, as_matrix(y)),
    "both": lambda s, y: (as_matrix(s), as_matrix(y)),
}


@pytest.mark.parametrize("change", MATRICES.values(), ids=MATRICES)
def test_a_matrix_of_numpy_is_an_array(change):
    scores, labels, expected = ranked_labels([[1, 0, 0, 0], [0, 1, 0, 0], [0, 1, 1, 0]])
    sides = change(scores, labels)
    right(ask(rm.evaluate_scores, *sides, "rr"), expected)

    def collected():
        accumulator = rm.accumulator("rr")
        accumulator.update(scores=sides[0], target=sides[1])
        return accumulator.compute()

    right(ask(collected), expected)


def test_a_matrix_of_numpy_can_be_ranked_and_excluded():
    scores, lists = matrix()
    truth = {u: [lists[u][2]] for u in range(6)}
    right(ask(rm.evaluate, rm.Scores(as_matrix(scores)), truth, "rr"), naive(lists, truth))
    first = np.zeros(scores.shape, bool)
    first[range(6), [items[0] for items in lists]] = True
    target = np.array([items[2] for items in lists])
    exclude = as_matrix(first)
    answer = ask(rm.evaluate_scores, scores, target, "rr", exclude=exclude)
    right(answer, 0.5)


# --- Two indexes ----------------------------------------------------------------------------------


def search(index, found, truth_index):
    details = {
        q: {
            "hits": [{"hit": {"_index": index, "_id": i, "_score": -n}} for n, i in items_of(items)]
        }
        for q, items in found.items()
    }
    requests = [
        {
            "id": q,
            "request": {},
            "ratings": [{"_index": truth_index, "_id": i, "rating": 1} for i in items],
        }
        for q, items in TRUE.items()
    ]
    return {"metric_score": 0.5, "details": details}, {"requests": requests}


def test_hits_of_another_index_are_not_hits_without_a_word():
    right(ask(rm.evaluate, *search("films", LISTED, "films"), "rr"), naive(LISTED, TRUE))
    not_silent(ask(rm.evaluate, *search("films", LISTED, "books"), "rr"), 0.0, "index|books")


# --- Hints and causes -----------------------------------------------------------------------------

ONE_FRAME = {
    "target_binary and predictions": ("target_binary", "predictions"),
    "y_true and y_pred": ("y_true", "y_pred"),
    "rating and prediction": ("rating", "prediction"),
    "label and proba": ("label", "proba"),
}


def labelled(label, score):
    rng = random.Random(6)
    rows = [
        {"user_id": f"u{u}", "item_id": f"i{i}", label: int(i == u % 6), score: rng.random()}
        for u in range(12)
        for i in range(6)
    ]
    lists = {
        f"u{u}": by_score({r["item_id"]: r[score] for r in rows if r["user_id"] == f"u{u}"})
        for u in range(12)
    }
    truth = {f"u{u}": [f"i{u % 6}"] for u in range(12)}
    return pd.DataFrame(rows), naive(lists, truth)


@pytest.mark.parametrize(("label", "score"), ONE_FRAME.values(), ids=ONE_FRAME)
def test_no_hint_names_the_label_as_the_score(label, score):
    frame, expected = labelled(label, score)
    answer = ask(rm.evaluate, frame, frame, "rr")
    right_or_refused(answer, expected)
    said = (answer.error or "").replace('"', "'")
    assert f"'score': '{label}'" not in said
    columns = {"score": score, "gain": label}
    right(ask(rm.evaluate, frame, frame, "rr", columns=columns), expected)


TRUTH = {"q1": ["a"], "q2": ["b"]}
OBJECTS = {
    "retrieved_docs": [{"qid": "q1", "retrieved_docs": ["a"]}, {"qid": "q2", "retrieved_docs": []}],
    "pids": [{"qid": "q1", "pids": ["a", "b"]}, {"qid": "q2", "pids": ["a", "b"]}],
    "ranking": [{"query_id": q, "ranking": ["a", "b"]} for q in ("q1", "q2")],
    "labels": [{"session": q, "labels": "a b"} for q in ("q1", "q2")],
    "positive_ctxs": [{"question": q, "ctxs": [{"id": "a", "score": "9"}]} for q in ("q1", "q2")],
    "provenance": [
        {"id": q, "output": [{"provenance": [{"wikipedia_id": "a"}]}]} for q in ("q1", "q2")
    ],
    "candidates": [{"query": {"qid": q}, "candidates": [{"docid": "a"}]} for q in ("q1", "q2")],
    "matches": {"matches": [{"id": "a", "score": 0.9}], "namespace": "x"},
    "chroma": {"ids": [["a", "b"]], "distances": [[0.1, 0.2]], "documents": None},
    "cohere": {"results": [{"index": 0, "relevance_score": 0.9}], "id": "x"},
    "solr": {"response": {"numFound": 1, "docs": [{"id": "a", "score": 1.0}]}},
    "ogb": {"y_pred_pos": [0.9, 0.8], "y_pred_neg": [[0.1, 0.2], [0.3, 0.4]]},
}


@pytest.mark.parametrize("name", OBJECTS)
def test_objects_with_unknown_keys_are_read_or_shown(name, tmp_path):
    """Whoever refuses them shows a key, and does not call another thing a number."""
    path = tmp_path / "found.json"
    path.write_text(json.dumps(OBJECTS[name]))
    first = OBJECTS[name][0] if isinstance(OBJECTS[name], list) else OBJECTS[name]
    for rankings in (OBJECTS[name], path):
        answer = ask(rm.evaluate, rankings, TRUTH, "rr")
        if answer.error is None:
            assert answer.value in (0.5, 0.75, 1.0)
            continue
        assert any(key in answer.error for key in first), answer.error
        assert "is not a number" not in answer.error, answer.error
        refused(answer)


@pytest.mark.parametrize("key", ["relevant", "relevant_docs", "positives", "answers"])
def test_no_message_calls_a_query_id_a_gain(key, tmp_path):
    rows = [{"query_id": q, key: items} for q, items in TRUTH.items()]
    path = tmp_path / "truth.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    rankings = {"q1": ["b", "a"], "q2": ["b", "a"]}
    for truth in (rows, path, pl.DataFrame(rows)):
        answer = ask(rm.evaluate, rankings, truth, "rr")
        right_or_refused(answer, 0.75)
        assert not answer.error or "gain 'q" not in answer.error.lower(), answer.error


BINARY = {
    "npy": lambda path: np.save(path, np.array([[1, 2], [2, 1]])),
    "npz": lambda path: np.savez(path, a=np.array([[1, 2], [2, 1]])),
    "feather": lambda path: pl.DataFrame({"user": [0], "item": [1]}).write_ipc(path),
    "pkl": lambda path: pd.DataFrame({"user": [0], "item": [1]}).to_pickle(path),
    "zip": lambda path: path.write_bytes(b"PK\x03\x04\xff\xfe\x00\x00" * 20),
    "bz2": lambda path: path.write_bytes(b"BZh91AY&SY\xff\xfe\x00\x00" * 20),
}


@pytest.mark.parametrize("suffix", BINARY)
def test_a_binary_file_is_not_said_to_be_bad_text(suffix, tmp_path):
    path = tmp_path / f"recs.{suffix}"
    BINARY[suffix](path)
    answer = ask(rm.evaluate, path, {0: [1]}, "rr")
    assert not re.search("save it again as UTF-8", answer.error or "", re.IGNORECASE), answer.error


CELLS = {
    "Python": str,
    "JSON": lambda items: str(items).replace("'", '"'),
    "NumPy": lambda items: "[" + " ".join(f"'{i}'" for i in items) + "]",
    "spaces": " ".join,
    "pipes": "|".join,
    "commas": ",".join,
}


@pytest.mark.parametrize("column", ["items", "item_id", "recommendations"])
@pytest.mark.parametrize("cell", CELLS.values(), ids=CELLS)
def test_lists_in_a_cell_are_split_or_the_cell_is_shown(cell, column, tmp_path):
    frame = pl.DataFrame({"user_id": list(LISTED), column: [cell(i) for i in LISTED.values()]})
    frame.write_csv(tmp_path / "recs.csv")
    expected = naive(LISTED, TRUE)
    for rankings in (frame, tmp_path / "recs.csv"):
        for columns in (None, {"item": column}):
            answer = ask(rm.evaluate, rankings, TRUE, "rr", columns=columns)
            right_or_refused(answer, expected, r"lists?\b|split|cell")


def test_values_and_indices_are_read_or_turned_round():
    values = np.array([[0.9, 0.5], [0.8, 0.7]])
    indices = np.array([[3, 4], [4, 3]])
    answer = ask(rm.evaluate, (values, indices), [[3], [3]], "rr")
    right_or_refused(answer, 0.75, "order|round|first|swap|ids")


# --- Roles that are words, and further numbers ----------------------------------------------------


def events(words, **more):
    rows = [
        {"user_id": u, "item_id": i, "event": words[n % len(words)]}
        | {name: value(n) for name, value in more.items()}
        for u, items in LISTED.items()
        for n, i in enumerate(items[2:])
    ]
    return pl.DataFrame(rows)


ANY = naive(LISTED, {u: items[2:] for u, items in LISTED.items()})
WORDS = {2: ["view", "purchase"], 3: ["view", "cart", "purchase"], 4: ["a", "b", "c", "purchase"]}


@pytest.mark.parametrize("n", WORDS)
def test_labels_in_words_are_asked_about(n):
    refused(ask(rm.evaluate, LISTED, events(WORDS[n]), "rr"), "event")


@pytest.mark.parametrize("n", WORDS)
def test_words_can_be_chosen(n):
    bought = {
        u: [i for k, i in enumerate(items[2:]) if WORDS[n][k % n] == "purchase"]
        for u, items in LISTED.items()
    }
    answer = ask(rm.evaluate, LISTED, events(WORDS[n]), "rr", relevant="purchase")
    right(answer, naive(LISTED, bought))


@pytest.mark.parametrize("n", WORDS)
def test_no_gain_can_be_said(n, tmp_path):
    frame = events(WORDS[n])
    right(ask(rm.evaluate, LISTED, frame, "rr", relevant="any"), ANY)
    right(ask(rm.evaluate, LISTED, frame, "rr", columns={"gain": None}), ANY)
    frame.write_csv(tmp_path / "truth.csv")
    rows = [{"user_id": u, "item_id": i} for u, items in LISTED.items() for i in items]
    pl.DataFrame(rows).write_csv(tmp_path / "recs.csv")
    files = tmp_path / "recs.csv", tmp_path / "truth.csv"
    right(ask_command("evaluate", *files, "-m", "rr", "--columns", "gain="), ANY)
    right(ask_command("evaluate", *files, "-m", "rr", "--relevant", "any"), ANY)


NUMBERS = {"quantity": int, "qty": int, "price": lambda n: n / 2, "index": int, "dwell": int}


@pytest.mark.parametrize("name", NUMBERS)
def test_a_further_number_is_no_gain(name):
    """A first number 0 would make an item irrelevant."""
    frame = events(["view"], **{name: NUMBERS[name]}).drop("event")
    right_or_refused(ask(rm.evaluate, LISTED, frame, "rr"), ANY, name)
    right(ask(rm.evaluate, LISTED, frame, "rr", relevant="any"), ANY)
    right(ask(rm.evaluate, LISTED, frame, "rr", columns={"gain": None}), ANY)


def test_a_session_beside_a_user_is_no_second_user():
    frame = events(["view"], session_id=lambda n: n + 7).drop("event")
    right(ask(rm.evaluate, LISTED, frame, "rr"), ANY)


def test_a_split_is_evaluated_as_it_was_written():
    rng = random.Random(9)
    rows = [
        {
            "customer_id": f"c{u}",
            "sku": f"s{i}",
            "purchased_at": f"2026-01-{d:02}",
            "qty": 1 + d % 3,
        }
        | {"price": 2.5 * d}
        for u in range(12)
        for d, i in enumerate(rng.sample(range(30), 10), 1)
    ]
    frame = pl.DataFrame(rows).with_columns(pl.col("purchased_at").str.to_datetime())
    split = rm.splits.leave_one_out(frame)
    last = {r["customer_id"]: r["sku"] for r in rows}  # the last of each
    test = pl.DataFrame(split.test)
    assert dict(zip(test[:, 0], test[:, 1], strict=True)) == last
    lists = {u: [last[u] if n == k % 5 else f"x{n}" for n in range(5)] for k, u in enumerate(last)}
    expected = naive(lists, {u: [i] for u, i in last.items()})
    right(ask(rm.evaluate, lists, split.test, "rr"), expected)


def test_coverage_takes_its_catalogue_from_train():
    train = {"u": ["a", "b"], "v": ["c", "d"]}
    lists = {"u": ["c", "a"], "v": ["a", "c"]}
    answer = ask(rm.evaluate, lists, None, "coverage@1", train=train)
    right(answer, 0.5)


def test_names_that_mean_the_same_give_two_rows():
    result = rm.evaluate(LISTED, TRUE, ["ap@5", "map@5", "rr@5", "mrr@5"])
    assert list(result) == ["ap@5", "map@5", "rr@5", "mrr@5"]


def test_messages_speak_of_rankings_and_truth():
    answer = ask(rm.evaluate, {"u": ["doc0#0"]}, {"u": ["doc0"]}, "rr")
    refused(answer, "rankings(.|\n)*truth|truth(.|\n)*rankings")
    assert answer.error.count("dict has") < 2, answer.error
