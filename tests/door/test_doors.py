"""Doors that people knock on: each is open, or names the one that is."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import rankmeter as rm
from door.containers import FRAMES, RECORDS, objects
from door.judge import (
    as_matrix,
    ask,
    ask_command,
    by_score,
    naive,
    refused,
    right,
    right_or_refused,
    told,
)

pytestmark = pytest.mark.once

LISTS = {f"q{u}": [f"d{(7 * u + 3 * n) % 23}" for n in range(5)] for u in range(8)}
TRUE = {u: [items[n % 5]] for n, (u, items) in enumerate(LISTS.items())}
RR = naive(LISTS, TRUE)
ROWS = [(u, i, 9.5 - n) for u, items in LISTS.items() for n, i in enumerate(items)]

# --- Gains and positions --------------------------------------------------------------------------

GAINS = {
    "list": [0, 0, 1, 0, 1],
    "array": np.array([0, 0, 1, 0, 1]),
    "booleans": np.array([0, 0, 1, 0, 1], bool),
    "list of booleans": [False, False, True, False, True],
    "Series": pd.Series([0, 0, 1, 0, 1]),
    "of Polars": pl.Series([0, 0, 1, 0, 1]),
    "graded": [0, 0, 3, 0, 2],
    "floats": [0.0, 0.0, 1.0, 0.0, 1.0],
}


@pytest.mark.parametrize("gains", GAINS.values(), ids=GAINS)
def test_grades_may_be_flat(gains):
    right(ask(rm.evaluate, rm.Grades(gains), None, "rr"), 1 / 3)
    right(ask(rm.evaluate, rm.Grades([gains]), None, "rr"), 1 / 3)


REPEATED = {name: GAINS[name] for name in ("list", "array", "booleans", "list of booleans")}
REPEATED |= {
    "nested": [GAINS["list"]],
    "nested array": np.array([GAINS["list"]]),
    "tuples": (tuple(GAINS["list"]),),
    "by user": {"ann": GAINS["list"]},
    "only True": [[True, True, True]],
}


@pytest.mark.parametrize("gains", REPEATED.values(), ids=REPEATED)
def test_0_and_1_that_repeat_are_gains(gains):
    expected = 1.0 if gains is REPEATED["only True"] else 1 / 3
    for answer in (
        ask(rm.evaluate, gains, metrics="rr"),
        ask(rm.evaluate, gains, None, "rr"),
        ask(rm.evaluate, gains, "rr"),
        ask(rm.evaluate, gains, ["rr"]),
    ):
        told(answer, expected, r"rm\.Grades")
        told(answer, expected, "n_relevant=")


@pytest.mark.filterwarnings("ignore:relevant items outside")
def test_systems_of_0_and_1_are_compared():
    one, two = [[0, 0, 1], [1, 1, 0]], [[0, 1, 0], [0, 1, 1]]
    for arguments in ((None, "rr"), ("rr",), ("rr@3",)):
        told(ask(rm.compare, {"one": one, "two": two}, *arguments), 2 / 3, r"rm\.Grades")
    assert rm.curve(one, None, "recall", 3).frame["mean"].to_list() == [0.25, 0.5, 1.0]
    assert rm.Evaluator(metrics="rr").evaluate(one)["rr"].mean == pytest.approx(2 / 3)


UNSURE = {
    "grades": [0, 0, 3, 0, 2],
    "floats": [0.0, 0.0, 1.0, 0.0, 1.0],
    "ranks": [1, 1, 1],
    "ids": [[0, 1], [1, 0]],
    "nested": [[2, 3, 1], [3, 3, 2]],
    "Series": pd.Series([0, 0, 1], index=["a", "b", "c"]),
    "scores of items": {"a": 0, "b": 1, "c": 0},
}


@pytest.mark.parametrize("gains", UNSURE.values(), ids=UNSURE)
def test_errors_about_gains_without_ids_name_grades(gains):
    for call in (
        lambda: rm.evaluate(gains, metrics="rr"),
        lambda: rm.evaluate(gains, None, "rr"),
        lambda: rm.evaluate(gains, "rr"),
    ):
        refused(ask(call), "Grades")


def test_0_and_1_that_repeat_stay_errors_where_they_are_no_gains():
    lists = [[0, 0, 1], [1, 1, 0]]
    refused(ask(rm.evaluate, lists, None, "coverage@1", catalogue=4))
    assert "names metrics" in ask(rm.evaluate, lists, "rr", ["ndcg"]).error
    refused(ask(rm.evaluate, lists, [[0], [1]], "rr"))


BOTH = [
    {"predict_list": list("ABCLYUFZ"), "ground_truth": dict.fromkeys("AKBZ", 1.0)},
    {"predict_list": list("NXYBM"), "ground_truth": {"E": 1.0, "B": 1.0}},
]


@pytest.mark.parametrize("metrics", ["recall@3", "recall", ["recall@3"], rm.Recall @ 3], ids=str)
def test_metrics_may_follow_records_of_both_sides(metrics):
    expected = ask(rm.evaluate, BOTH, metrics=metrics).value
    right(ask(rm.evaluate, BOTH, metrics), expected)
    rows = pd.DataFrame([{"retrieved": LISTS[u], "relevant": TRUE[u]} for u in LISTS])
    expected = ask(rm.evaluate, rows, metrics=metrics).value
    right(ask(rm.evaluate, rows, metrics), expected)


def test_metrics_after_other_records_are_refused():
    rows = [{"user": u, "items": items} for u, items in LISTS.items()]
    for arguments in (("rr@5",), (None, "rr@5")):
        assert "truth" in ask(rm.evaluate, rows, *arguments).error
    assert "names metrics" in ask(rm.evaluate, BOTH, "recall@3", "rr").error


@pytest.mark.parametrize("make", [list, tuple, np.array])
@pytest.mark.parametrize("item", [2, np.int64(2)], ids=["int", "numpy"])
def test_an_integer_is_the_relevant_item_of_one_user(make, item):
    told(ask(rm.evaluate, make([4, 6, 2, 3]), item, "rr"), 1 / 3, "relevant item, 2")


def test_an_integer_is_no_truth_of_other_rankings():
    for rankings in ([[4, 2], [2, 3]], {"u": [4, 2]}, ["a", "b"], [2, 2, 3]):
        for truth in (2, True):
            assert "cannot be read as truth" in ask(rm.evaluate, rankings, truth, "rr").error


def test_graded_lists_beside_names_of_metrics_name_grades():
    refused(ask(rm.evaluate, [2, 3, 3, 1, 2], ["cg", "dcg", "ndcg"]), "Grades")


FIVE = {"precision@5": 0.4, "recall@5": 2 / 3, "ndcg@5": 0.4776237, "ap@5": 0.3, "rr@5": 0.5}


@pytest.mark.parametrize("name", FIVE)
def test_positions_of_one_user_give_the_numbers_of_the_first_article(name):
    positions = rm.Positions([[2, 5, 8]])
    answer = ask(rm.evaluate, positions, None, name)
    assert answer.value == pytest.approx(FIVE[name], abs=1e-6)


def test_positions_are_of_several_users_and_of_further_relevant_items():
    right(ask(rm.evaluate, rm.Positions([[2, 5, 8], [1]]), None, "rr"), 0.75)
    right(ask(rm.evaluate, rm.Positions([[1, 2]], n_relevant=4), None, "recall@5"), 0.5)
    right(ask(rm.evaluate, rm.Positions([[1, 2], [3]], n_relevant=[4, 1]), None, "recall@5"), 0.75)
    right(ask(rm.evaluate, rm.Positions([[1, 2], [3]]), None, "recall@2"), 0.5)


WRONG = {
    "twice": [[2, 2]],
    "zero": [[0, 1]],
    "negative": [[-1, 2]],
    "fraction": [[1.5, 2]],
    "text": [["a"]],
}


@pytest.mark.parametrize("positions", WRONG.values(), ids=WRONG)
def test_positions_that_cannot_be_are_refused(positions):
    refused(ask(lambda: rm.evaluate(rm.Positions(positions), None, "rr")))


def test_more_positions_than_relevant_items_are_refused():
    answer = ask(lambda: rm.evaluate(rm.Positions([[1, 2, 3]], n_relevant=2), None, "rr"))
    assert answer.error


def test_each_rank_is_said_to_be_a_query():
    told(ask(rm.evaluate_ranks, [2, 5, 8], "precision@5"), 0.4 / 3, "each rank")


PAGES = ["README.md", "docs/first-steps.md", "docs/guide/articles.md", "docs/ko/articles.md"]


@pytest.mark.parametrize("page", PAGES)
def test_the_first_pages_name_grades(page):
    assert "Grades" in (Path(__file__).parents[2] / page).read_text("utf-8")


# --- Lists in structures --------------------------------------------------------------------------

STRUCTS = [[{"movie_id": i, "rating": 9.5 - n} for n, i in enumerate(d)] for d in LISTS.values()]


@pytest.mark.parametrize("form", [name for name in FRAMES if name not in ("csv", "tsv")])
@pytest.mark.parametrize("column", ["recommendations", "found", "items"])
def test_a_list_of_structures_in_a_column_is_a_ranking(column, form, tmp_path):
    rows = [{"user_id": u, column: found} for u, found in zip(LISTS, STRUCTS, strict=True)]
    rankings = FRAMES[form](rows, tmp_path / "als")
    right_or_refused(ask(rm.evaluate, rankings, TRUE, "rr"), RR)
    if column == "recommendations":
        right(ask(rm.evaluate, rankings, TRUE, "rr"), RR)


KEYS = {
    "predict_list": "ground_truth",
    "retrieved_doc_ids": "relevant_doc_ids",
    "recommended": "relevant",
    "predicted": "actual",
    "retrieved": "expected",
}


@pytest.mark.parametrize("form", RECORDS)
@pytest.mark.parametrize(("found", "true"), KEYS.items(), ids=KEYS)
def test_records_with_two_lists_hold_both_sides(found, true, form, tmp_path):
    """A record of any two lists is read, or both keys are named with the columns that settle it."""
    rows = [{"question": f"{u}?", found: LISTS[u], true: TRUE[u]} for u in LISTS]
    answer = ask(rm.evaluate, RECORDS[form](rows, tmp_path / "records"), metrics="rr")
    right_or_refused(answer, RR, found)
    right_or_refused(answer, RR, true)


def test_records_with_two_unknown_lists_are_not_guessed():
    rows = [{"one": LISTS[u], "two": TRUE[u]} for u in LISTS]
    answer = ask(rm.evaluate, rows, metrics="rr")
    right_or_refused(answer, RR, "one(.|\n)*two|two(.|\n)*one")


@pytest.mark.parametrize("key", ["ground_truth", "items", "relevant", "relevant_docs"])
@pytest.mark.parametrize("form", RECORDS)
def test_a_truth_with_a_list_in_each_line_is_read(form, key, tmp_path):
    truth = RECORDS[form]([{"query_id": q, key: d} for q, d in TRUE.items()], tmp_path / "truth")
    right(ask(rm.evaluate, LISTS, truth, "rr"), RR)


def test_rows_of_a_dataclass_are_rows(tmp_path):
    rows = [{"user": u, "item": i, "score": s} for u, i, s in ROWS]
    truth = [{"user": u, "item": i} for u, items in TRUE.items() for i in items]
    right(ask(rm.evaluate, objects(rows, tmp_path), objects(truth, tmp_path), "rr"), RR)


@dataclass
class Found:
    docid: str
    score: float


def test_objects_with_an_id_and_a_score_are_read_or_shown():
    rankings = {u: [Found(i, 9.5 - n) for n, i in enumerate(d)] for u, d in LISTS.items()}
    right_or_refused(ask(rm.evaluate, rankings, TRUE, "rr"), RR, "docid|Found")


# --- Scores ---------------------------------------------------------------------------------------

SCORES = np.random.default_rng(1).random((6, 5))
LABELS = np.eye(6, 5, dtype=int) + np.eye(6, 5, 1, dtype=int)
LABELS[5, 2] = 1
RELEVANT = [np.flatnonzero(row).tolist() for row in LABELS]
RANKED = [by_score(dict(enumerate(row))) for row in SCORES]


@pytest.mark.parametrize("kind", ["array", "matrix", "Scores", "accumulator", "float32"])
def test_minus_infinity_is_no_candidate(kind):
    hidden = SCORES.copy()
    hidden[np.arange(6), [items[0] for items in RANKED]] = -np.inf
    lists = [items[1:] for items in RANKED]
    expected = naive(lists, RELEVANT)  # a judged item stays relevant
    if kind == "Scores":
        answer = ask(rm.evaluate, rm.Scores(hidden), RELEVANT, "rr")
    elif kind == "accumulator":

        def collected():
            accumulator = rm.accumulator("rr")
            accumulator.update(scores=hidden, target=LABELS)
            return accumulator.compute()

        answer = ask(collected)
    else:
        change = {"array": np.asarray, "matrix": as_matrix, "float32": np.float32}[kind]
        answer = ask(rm.evaluate_scores, change(hidden), LABELS, "rr")
    told(answer, expected, r"\b6\b")


def test_other_scores_that_are_no_numbers_stay_errors():
    for wrong in (np.nan, np.inf):
        bad = SCORES.copy()
        bad[2, 1] = wrong
        refused(ask(rm.evaluate_scores, bad, LABELS, "rr"))


def test_flat_scores_with_sizes_are_read_or_sent_to_grouped():
    sizes, expected = [5] * 6, naive(RANKED, RELEVANT)
    flat = SCORES.ravel(), LABELS.ravel()
    right_or_refused(ask(rm.evaluate_scores, *flat, "rr", groups=sizes), expected, "grouped")
    right_or_refused(ask(rm.evaluate_scores, *flat, "rr", group=sizes), expected, "grouped")
    for call in (rm.evaluate, rm.evaluate_scores):
        for name in ("group", "qid"):
            with pytest.raises(rm.errors.UsageError) as raised:
                call(*flat, "rr", **{name: sizes})
            written = re.search(r"rm\.evaluate\(.*?\), metrics\)", str(raised.value))[0]
            names = {"scores": flat[0], "labels": flat[1], "sizes": sizes, "metrics": "rr"}
            assert eval(written, {"rm": rm, **names})["rr"].mean == pytest.approx(expected)


def test_an_accumulator_takes_data_by_position():
    accumulator = rm.accumulator("rr")
    accumulator.update(SCORES, LABELS)
    right(ask(accumulator.compute), naive(RANKED, RELEVANT))


# --- Triples --------------------------------------------------------------------------------------

TRAIN = [("ann", "knows", "bob"), ("ann", "likes", "eve")]
TEST = [("bob", "knows", "eve"), ("ann", "knows", "eve")]
TRIPLES = {
    "tuples": lambda rows: rows,
    "array": np.array,
    "pandas": lambda rows: pd.DataFrame(rows, columns=["head", "relation", "tail"]),
    "polars": lambda rows: pl.DataFrame(rows, ["head", "relation", "tail"], orient="row"),
}


def test_the_known_triples_may_follow():
    test, train = [(0, 0, 3), (3, 0, 2)], [(0, 0, 1), (0, 0, 2), (3, 0, 1)]
    named = rm.link_queries(test, filters=train)
    for filters in (train, [train], np.array(train)):
        found = rm.link_queries(test, filters)
        assert found.frame.equals(named.frame)
        assert [*map(list, found.exclude)] == [*map(list, named.exclude)]


@pytest.mark.parametrize("make", TRIPLES.values(), ids=TRIPLES)
def test_triples_may_have_names(make):
    sides = {"filters": [make(TRAIN)]}
    try:
        queries = rm.link_queries(make(TEST), **sides)
    except rm.errors.RankmeterError as error:  # whose columns are the scores?
        assert "entities=" in str(error)  # noqa: PT017 - or no error at all
        queries = rm.link_queries(make(TEST), **sides, entities=["ann", "bob", "eve"])
    assert len(queries.frame) == 4
    assert queries.frame["side"].to_list() == ["head", "head", "tail", "tail"]


# --- Names of other tools -------------------------------------------------------------------------

OTHER = {
    "recs, gt, topn": {"recs": LISTS, "gt": TRUE, "topn": 5},
    "predictions, y_true, k": {"predictions": LISTS, "y_true": TRUE, "k": 5},
}


@pytest.mark.parametrize("options", OTHER.values(), ids=OTHER)
def test_names_of_other_tools_are_answered_with_the_call(options):
    with pytest.raises((TypeError, rm.errors.RankmeterError)) as caught:
        rm.evaluate(**options)
    said = str(caught.value)
    assert re.search("rankings", said)
    assert re.search("truth", said)
    assert "@" in said


# --- Files ----------------------------------------------------------------------------------------

KOREAN = [("회원", "상품", "평점"), ("사용자", "아이템", "평점")]


@pytest.mark.parametrize("names", KOREAN, ids=["member", "user"])
@pytest.mark.parametrize("form", {**RECORDS, **FRAMES})
def test_korean_headers_are_known(form, names, tmp_path):
    make = {**RECORDS, **FRAMES}[form]
    rows = [dict(zip(names, row, strict=True)) for row in ROWS]
    truth = [{names[0]: u, names[1]: i} for u, items in TRUE.items() for i in items]
    sides = make(rows, tmp_path / "rankings"), make(truth, tmp_path / "truth")
    right(ask(rm.evaluate, *sides, "rr"), RR)


def test_an_encoding_can_be_named(tmp_path):
    recs, truth = tmp_path / "recs.csv", tmp_path / "truth.csv"
    lines = ["회원,상품,평점", *(f"{u},책{i},{s}" for u, i, s in ROWS)]
    recs.write_bytes("\n".join(lines).encode("cp949"))
    lines = ["회원,상품", *(f"{u},책{i}" for u, items in TRUE.items() for i in items)]
    truth.write_bytes("\n".join(lines).encode("cp949"))
    refused(ask_command("evaluate", recs, truth, "-m", "rr"), "encoding|iconv")
    right(ask_command("evaluate", recs, truth, "-m", "rr", "--encoding", "cp949"), RR)


def test_runs_of_ms_marco_are_read(tmp_path):
    qrels = tmp_path / "qrels.txt"
    qrels.write_text("".join(f"{u} 0 {i} 1\n" for u, items in TRUE.items() for i in items))
    for more in ("", "\t{s}"):
        run = tmp_path / "marco.run"
        line = "{u}\t{i}\t{n}" + more + "\n"
        ranked = [(u, i, n, s) for (u, i, s), n in zip(ROWS, [1, 2, 3, 4, 5] * 8, strict=True)]
        run.write_text("".join(line.format(u=u, i=i, n=n, s=s) for u, i, n, s in ranked))
        right(ask(rm.evaluate, run, qrels, "rr"), RR)
        right(ask_command("evaluate", run, qrels, "-m", "rr"), RR)


def test_refusals_of_files_name_the_nearest_form(tmp_path):
    inter = tmp_path / "ml.inter"
    inter.write_text("user_id:token\titem_id:token\n" + "".join(f"{u}\t{i}\n" for u, i, _ in ROWS))
    right_or_refused(ask(rm.evaluate, inter, TRUE, "rr"), RR, "user_id:token|inter")
    found = tmp_path / "search.json"
    hits = [{"_id": i, "_score": 9.5 - n} for n, i in enumerate(LISTS["q0"])]
    found.write_text(json.dumps({"took": 3, "hits": {"total": 5, "hits": hits}}))
    answer = ask(rm.evaluate, found, [TRUE["q0"]], "rr")
    right_or_refused(answer, 1.0, "hits|_rank_eval|responses")


# --- Segments of a comparison ---------------------------------------------------------------------


@pytest.mark.parametrize("make", [dict, pd.DataFrame], ids=["dict", "pandas"])
def test_a_comparison_has_means_by_segment(make):
    labels = {u: "web" if n % 3 else "store" for n, u in enumerate([*LISTS][:-1])}
    systems = {"one": LISTS, "two": {u: items[::-1] for u, items in LISTS.items()}}
    if make is pd.DataFrame:
        systems = {
            name: pd.DataFrame([(u, i) for u in lists for i in lists[u]], columns=["user", "item"])
            for name, lists in systems.items()
        }
    found = rm.compare(systems, TRUE, ["rr", "ndcg@2"]).by_segment(labels)
    assert [*found.columns[:3]] == ["system", "segment", "metric"]
    for name, lists in systems.items():
        expected = rm.evaluate(lists, TRUE, ["rr", "ndcg@2"]).by_segment(labels)
        part = (
            found[found["system"] == name].drop(columns="system").reset_index(drop=True)
            if make is pd.DataFrame
            else found.filter(pl.col("system") == name).drop("system")
        )
        assert part.equals(expected)


def test_segments_of_a_comparison_are_checked():
    found = rm.compare({"one": LISTS, "two": LISTS}, TRUE, "rr")
    with pytest.raises(rm.errors.UsageError, match="label for each user"):
        found.by_segment(None)
    several = rm.compare({"one": [LISTS, LISTS], "two": [LISTS, LISTS]}, TRUE, "rr")
    assert (
        several.by_segment(dict.fromkeys(LISTS, "web"))["mean"].to_list() == [pytest.approx(RR)] * 2
    )


# --- What a tool does otherwise -------------------------------------------------------------------


def test_a_tool_says_where_it_differs_on_these_data():
    tied = {u: dict.fromkeys(items, 1.0) for u, items in LISTS.items()}
    plain, like = (rm.evaluate(tied, TRUE, "rr", like=tool) for tool in (None, "ranx"))
    new = {*like.notes, *like.cautions} - {*plain.notes, *plain.cautions}
    assert any(re.search(r"\bti(e|es|ed)\b", note) for note in new), new
    negative = {u: {items[0]: 1, LISTS[u][1]: -1} for u, items in TRUE.items()}
    answer = ask(rm.evaluate, LISTS, negative, "ndcg@5", like="sklearn")
    assert answer.error or re.search("negative|below 0|under 0|less than 0", answer.said)


LONG = {u: [f"d{n}" for n in range(20)] for u in LISTS}
ONE = {u: {"d3": 1} for u in LISTS}
BELOW = {u: {"d3": 1, "d1": -1} for u in LISTS}


def test_a_tool_says_that_its_long_ties_have_no_order():
    tied = {u: dict.fromkeys(items, 1.0) for u, items in LONG.items()}
    short = {u: dict.fromkeys(items[:15], 1.0) for u, items in LONG.items()}
    found = {
        "long": rm.evaluate(tied, ONE, "rr", like="ranx"),
        "short": rm.evaluate(short, ONE, "rr", like="ranx"),
        "untied": rm.evaluate(LONG, ONE, "rr", like="ranx"),
        "own": rm.evaluate(tied, ONE, "rr"),
    }
    said = {name for name, result in found.items() if "unlike ranx: its sort of" in f"{result}"}
    assert said == {"long"}
    both = rm.compare({"tied": tied, "untied": LONG}, ONE, "rr", like="ranx")
    assert "tied: unlike ranx: its sort of" in f"{both}"


def test_a_tool_says_what_it_does_with_negative_gains():
    said = "unlike scikit-learn: negative gains are refused"
    assert said in f"{rm.evaluate(LONG, BELOW, 'ndcg@5', like='sklearn')}"
    assert said in f"{rm.compare({'a': LONG, 'b': LONG}, BELOW, 'ndcg@5', like='sklearn')}"
    for metric, truth, tool in (
        ("ndcg@5", ONE, "sklearn"),
        ("auc", BELOW, "sklearn"),
        ("ndcg@5", BELOW, "trec_eval"),
        ("ndcg@5", BELOW, None),
    ):
        assert "unlike" not in f"{rm.evaluate(LONG, truth, metric, like=tool)}"


def test_the_option_of_other_tools_for_the_least_grade_is_read():
    truth = {u: {"d0": 1, "d3": 2} for u in LONG}
    right(ask(rm.evaluate, LONG, truth, "RR(rel=2)"), 0.25)
    right(ask(rm.evaluate, LONG, truth, "rr", rel=2), 0.25)
