"""``collapse=``: chunks become documents, each as good as its best chunk."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import cases
import rankmeter as rm
from rankmeter.errors import ColumnError, DataError, DuplicateError, UsageError

METRICS = ["rr", "ndcg@3", "ap", "n_ranked"]


def chunks(order):
    rng = np.random.default_rng(3)
    rows = []
    for user in range(25):
        picked = rng.permutation(24)[: rng.integers(0, 20)]
        for n, chunk in enumerate(picked, 1):
            rows.append((f"q{user}", f"d{chunk // 3}#{chunk % 3}", n))
    frame = pl.DataFrame(rows, ["user", "item", "rank"], orient="row")
    if order == "score":
        return frame.select("user", "item", score=-(pl.col("rank") // 2).cast(pl.Float64))
    return frame if order == "rank" else frame.drop("rank")


def by_hand(frame, order):
    """Documents in order of their best chunk, as a person would write them."""
    wanted = {}
    for user, rows in frame.group_by("user", maintain_order=True):
        found = {}
        for n, row in enumerate(rows.iter_rows(named=True)):
            value = row["score"] if order == "score" else -row["rank"] if order == "rank" else -n
            document = row["item"].partition("#")[0]
            found[document] = max(found.get(document, value), value)
        wanted[user[0]] = found
    return wanted


TRUTH = {f"q{n}": {f"d{n % 8}": 1, f"d{(n + 3) % 8}": 2} for n in range(25)}
NAMES = {f"d{n // 3}#{n % 3}": f"d{n // 3}" for n in range(24)}
RULES = {
    "before": "before:#",
    "pattern": "regex:^(d[0-9]+)",
    "mapping": NAMES,
    "frame": pl.DataFrame({"chunk_id": NAMES.keys(), "doc_id": NAMES.values()}),
}


@pytest.mark.parametrize("engine", ["memory", "disk"])
@pytest.mark.parametrize("order", ["score", "rank", "list"])
@pytest.mark.parametrize("rule", RULES)
def test_a_document_is_at_the_place_of_its_best_chunk(rule, order, engine):
    frame = chunks(order)
    plain = by_hand(frame, order)
    wanted = rm.evaluate(plain, TRUTH, METRICS)
    shown = cases.held(frame, engine)
    found = rm.evaluate(shown, TRUTH, METRICS, collapse=RULES[rule], engine=engine)
    assert found.per_user.equals(wanted.per_user)
    documents = sum(map(len, plain.values()))
    assert found.counts["collapsed_items"] == frame.height - documents
    assert found.counts["rows"] == frame.height
    assert any("the best chunk counts" in note for note in found.plan.notes)
    assert "collapsed items" in found.facts()


def test_rankings_in_many_pieces_are_those_in_memory(tmp_path):
    frame = chunks("score")
    frame.write_csv(tmp_path / "run.csv")
    options = {"collapse": "before:#", "ties": "input"}
    wanted = rm.evaluate(frame, TRUTH, METRICS, **options)
    found = rm.evaluate(
        tmp_path / "run.csv", TRUTH, METRICS, engine="disk", memory="64MiB", **options
    )
    assert found.per_user.equals(wanted.per_user)
    assert found.counts["collapsed_items"] == wanted.counts["collapsed_items"]


def test_items_without_the_sign_of_a_part_are_whole():
    for rule in ("before:#", "regex:^(.*)#"):
        result = rm.evaluate({"q": ["a", "b#1"]}, {"q": {"a"}}, "rr", collapse=rule)
        assert result["rr"].mean == 1.0
        assert "collapsed_items" not in result.counts


def test_the_document_of_the_query_is_left_out_after_collapsing():
    run = {"d1": ["d1#1", "d1#2", "d2#1"]}
    result = rm.evaluate(run, {"d1": {"d2"}}, "rr", collapse="before:#", exclude="self")
    assert result["rr"].mean == 1.0
    assert (result.counts["collapsed_items"], result.counts["excluded_items"]) == (1, 1)


def test_the_notes_of_a_curve_have_the_rule():
    found = rm.curve({"q": {"d#1": 1.0}}, {"q": {"d"}}, "rr", max_k=1, collapse="before:#")
    assert any("grouped by the text before '#'" in note for note in found.notes)


def test_compare_curve_and_explain_collapse():
    systems = {"one": {"q": ["a#1", "a#2", "b#1"]}, "two": {"q": ["b#1", "a#1"]}}
    judged = {"q": {"b"}}
    compared = rm.compare(systems, judged, "rr", collapse="before:#")
    assert [one.difference for one in compared["rr"]] == [-0.5]
    curve = rm.curve(systems["one"], judged, "recall", 2, collapse="before:#")
    assert curve.frame["mean"].to_list() == [0, 1]
    found = rm.explain(systems["one"], judged, "rr", target=0.5, collapse="before:#")
    assert found.matches[0].convention == "rankmeter"


@pytest.mark.parametrize("engine", ["memory", "disk"])
def test_a_chunk_that_is_repeated_is_an_error(engine):
    rows = cases.held(pl.DataFrame({"user": ["q", "q"], "item": ["a#1", "a#1"]}), engine)
    with pytest.raises(DuplicateError, match=r"repeats parts of items, .* item 'a#1'"):
        rm.evaluate(
            cases.held(rows, engine), {"q": {"a"}}, "rr", collapse="before:#", engine=engine
        )


@pytest.mark.parametrize(
    ("collapse", "error", "words"),
    [
        ({"a#1": "a"}, DataError, "lacks 1 item of dict in 1 row: 'b#1'"),
        ({1: "a"}, DataError, "integer parts, and dict has text items"),
        (pl.DataFrame({"chunk": ["a#1"], "x": ["a"]}), ColumnError, "0 columns for the whole"),
        (
            pl.DataFrame({"chunk": ["a#1", "a#1"], "doc": ["a", "b"]}),
            DataError,
            "'a#1' .* is part of two items",
        ),
        ("regex:#", UsageError, "one group"),
        ("regex:(", UsageError, "a regular expression"),
        (["a"], UsageError, "`collapse` must be 'before:TEXT'"),
        ("missing.csv", DataError, "does not exist"),
    ],
)
def test_what_cannot_collapse_items_is_refused(collapse, error, words):
    with pytest.raises(error, match=words):
        rm.evaluate({"q": ["a#1", "b#1"]}, {"q": {"a"}}, "rr", collapse=collapse)


def test_a_rule_for_text_has_no_meaning_for_integers():
    with pytest.raises(DataError, match="a rule for text"):
        rm.evaluate({"q": [1]}, {"q": {1}}, "rr", collapse="before:#")


def test_repeated_documents_of_a_query_hint_at_chunks():
    rows = pl.DataFrame({"qid": ["q", "q"], "docno": ["d", "d"], "score": [2.0, 1.0]})
    with pytest.raises(DuplicateError, match="name its document with collapse="):
        rm.evaluate(rows, {"q": {"d"}}, "rr")
    with pytest.raises(DuplicateError) as caught:
        rm.evaluate({"ann": ["d", "d"]}, {"ann": {"d"}}, "rr")
    assert "collapse" not in str(caught.value)


def test_signs_alone_are_the_rule_before_them():
    rankings, truth = {"q": ["a#2", "b#1", "a#1"]}, {"q": {"b"}}
    means = [
        [e.mean for e in rm.evaluate(rankings, truth, METRICS, collapse=rule).values()]
        for rule in ("#", "before:#")
    ]
    assert means[0] == means[1]


@pytest.mark.parametrize("mark", ["#", "::", "/", "_", "-"])
def test_ids_of_chunks_without_collapse_name_the_option(mark):
    with pytest.raises(rm.errors.NoOverlapError, match=f"pass collapse='before:{mark}'"):
        rm.evaluate({"q": [f"a{mark}0", f"b{mark}12"]}, {"q": {"b"}}, "rr")


@pytest.mark.parametrize("engine", ["memory", "disk"])
@pytest.mark.parametrize("rule", RULES)
def test_collapse_is_a_step_before_the_evaluation(rule, engine):
    """The same values, counts and notes as with the option."""
    shown = cases.held(chunks("score"), engine)
    wanted = rm.evaluate(shown, TRUTH, METRICS, collapse=RULES[rule], engine=engine)
    found = rm.evaluate(rm.collapse(shown, RULES[rule]), TRUTH, METRICS, engine=engine)
    assert found.per_user.equals(wanted.per_user)
    assert found.counts == wanted.counts
    assert found.plan.notes == wanted.plan.notes


def test_what_is_lazy_stays_lazy_until_it_is_evaluated(tmp_path):
    missing = rm.collapse(tmp_path / "later.csv", "#")
    query = rm.collapse(chunks("score").lazy(), "#")
    assert isinstance(query.rankings, pl.LazyFrame)
    chunks("score").write_csv(tmp_path / "later.csv")
    one, other = (rm.evaluate(rankings, TRUTH, METRICS) for rankings in (missing, query))
    assert one.per_user.equals(other.per_user)


def test_systems_are_collapsed_one_by_one():
    judged = {"q": {"b"}}
    systems = {"chunks": rm.collapse({"q": ["a#1", "a#2", "b#1"]}, "#"), "whole": {"q": ["b", "a"]}}
    assert rm.compare(systems, judged, "rr")["rr"][0].difference == -0.5


@pytest.mark.parametrize("engine", ["memory", "disk"])
def test_what_is_collapsed_is_not_collapsed_again(engine):
    rows = pl.DataFrame({"user": ["q", "q"], "item": ["a/x#1", "b/x#1"]})
    once = rm.collapse(cases.held(rows, engine), "#")
    with pytest.raises(UsageError, match=r"collapsed already: .* before '#'; .* Write one rule"):
        rm.evaluate(rm.collapse(once, "before:/"), {"q": {"b"}}, "rr", engine=engine)
    with pytest.raises(UsageError, match="is collapsed already"):
        rm.evaluate(once, {"q": {"b"}}, "rr", collapse="before:/", engine=engine)


def test_options_of_the_evaluation_act_on_what_is_collapsed():
    rows = pl.DataFrame({"who": [1, 1], "what": ["a#1", "b#1"], "how": [1.0, float("nan")]})
    columns = {"rankings": {"user": "who", "item": "what", "score": "how"}}
    result = rm.evaluate(
        rm.collapse(rows, "#"), {1: {"b"}}, "rr", columns=columns, bad_scores="worst"
    )
    assert result["rr"].mean == 0.5
    scores = rm.Scores([[0.9, 0.8, 0.1]], users=["q"], items=["a#1", "a#2", "b#1"])
    assert rm.evaluate(rm.collapse(scores, "#"), {"q": {"b"}}, "rr")["rr"].mean == 0.5


def test_whole_items_are_seen_in_the_kind_of_frame_that_came():
    rows = chunks("rank").to_pandas().rename(columns={"user": "qid", "item": "docno"})
    found = rm.collapse(rows, "#").frame
    assert [*found.columns] == ["qid", "docno", "rank"]
    assert len(found) == sum(map(len, by_hand(chunks("rank"), "rank").values()))
    assert repr(rm.collapse(rows, "#")).startswith("Collapsed of DataFrame: chunks are grouped by")


def test_what_has_no_items_cannot_be_collapsed():
    with pytest.raises(UsageError, match="Ranks, which has no items"):
        rm.collapse(rm.Ranks([1, 2]), "#")
    with pytest.raises(UsageError, match="`collapse` must be 'before:TEXT'"):
        rm.collapse({"q": ["a"]}, ["a"])
    with pytest.raises(UsageError, match="Summary is a result: pass its rankings"):
        rm.collapse(rm.evaluate({"q": ["a"]}, {"q": ["a"]}), "#")


@pytest.mark.parametrize("word", ["x", "before", "document", "regex", "# "])
@pytest.mark.parametrize(
    "call",
    [
        lambda word: rm.collapse({1: ["a#1"]}, word),
        lambda word: rm.evaluate({1: ["a#1"]}, {1: ["a"]}, "rr", collapse=word),
    ],
)
def test_a_word_that_is_no_rule_and_no_file_is_an_error_that_names_the_rules(word, call):
    with pytest.raises(UsageError, match=r"`collapse` must be 'before:TEXT', 'regex:PATTERN'"):
        call(word)
