"""Judgments by subtopic: what they change, and what they must not change."""

import polars as pl
import pytest

import rankmeter as rm
from rankmeter.errors import ColumnError, DataError, InvalidValueError, UsageError

ROWS = [
    ("q1", "a", "1", 1), ("q1", "a", "2", 2), ("q1", "b", "2", 1), ("q1", "c", "3", 0),
    ("q2", "x", "1", 1), ("q2", "y", "4", 3), ("q3", "z", "1", 0),
]  # fmt: skip
RUN = {"q1": ["b", "zz", "a", "c"], "q2": ["y", "x", "a"], "q3": ["z", "b"]}
DIVERSE = ["alpha_ndcg@2", "err_ia@2", "nrbp", "d_sharp_ndcg@2", "subtopic_recall@1",
           "precision_ia@2", "ap_ia"]  # fmt: skip


def judged(rows=ROWS, names=("user", "item", "subtopic", "relevance")):
    return pl.DataFrame(rows, schema=names, orient="row")


def test_values_by_hand():
    """q1 wants 1 and 2: b covers one of them. q2 wants 1 and 4. q3 wants nothing."""
    result = rm.evaluate(RUN, judged(), ["subtopic_recall@1", "precision_ia@2", "cg"])
    assert result.per_user["subtopic_recall@1"].to_list()[:2] == [0.5, 0.5]
    assert result.per_user["precision_ia@2"].to_list()[:2] == [0.25, 0.5]
    assert result.per_user["cg"].to_list()[:2] == [3, 4]  # the largest gain of each item
    assert "intent-aware metrics use the subtopics of polars DataFrame" in str(result)
    assert "judgments of further subtopics: 1" in str(result)


@pytest.mark.parametrize("metric", DIVERSE)
def test_a_value_of_one_user_is_that_among_all(metric):
    everyone = rm.evaluate(RUN, judged(), metric)
    for user, value in everyone.values_by_user.select("user", metric).iter_rows():
        rows = [row for row in ROWS if row[0] == user]
        if len({row[2] for row in rows}) > 1:
            alone = rm.evaluate({user: RUN[user]}, judged(rows), metric)
            assert alone[metric].mean == pytest.approx(value, nan_ok=True)
        ((_, walk),) = everyone.show(user).walks
        assert walk.value == pytest.approx(value, nan_ok=True)


def test_all_functions_take_them():
    truth = judged()
    compared = rm.compare(
        {"A": RUN, "B": {q: list(r)[::-1] for q, r in RUN.items()}}, truth, DIVERSE
    )
    for metric in DIVERSE:
        assert compared.summaries["A"][metric].mean == rm.evaluate(RUN, truth, metric)[metric].mean
    curve = rm.curve(RUN, truth, "alpha_ndcg", max_k=3)
    at_two = rm.evaluate(RUN, truth, "alpha_ndcg@2")["alpha_ndcg@2"].mean
    assert curve.to_polars()["mean"].to_list()[1] == at_two
    bound = rm.Evaluator(truth, "alpha_ndcg@2")
    assert bound.evaluate(RUN)["alpha_ndcg@2"].mean == at_two


def test_a_column_that_is_always_the_same_changes_nothing():
    rows = [("q1", "0", "a", 1), ("q1", "0", "b", 1), ("q2", "0", "x", 1)]
    frame = judged(rows, ("query_id", "iteration", "doc_id", "relevance"))
    genres = {"a": ["g"], "b": ["g", "k"], "x": ["g"], "z": ["k"]}
    run = {"q1": ["a", "b"], "q2": ["z", "x"]}
    result = rm.evaluate(run, frame, "alpha_ndcg@1", items=genres)
    assert result["alpha_ndcg@1"].mean == 0.25
    with pytest.raises(UsageError, match="or judgments with a column `subtopic`"):
        rm.evaluate(run, frame, "alpha_ndcg@1")
    varied = frame.with_columns(iteration=pl.Series(["0", "1", "0"]))
    result = rm.evaluate(run, varied, "alpha_ndcg@1", items=genres)
    assert result["alpha_ndcg@1"].mean == 0.5
    assert "not the categories of items=" in str(result)


@pytest.mark.parametrize(("judgements", "gain"), [("max", 3), ("last", 1), ("sum", 4)])
def test_repeated_judgments_are_merged_within_a_subtopic(judgements, gain):
    rows = [("q1", "a", "1", 3), ("q1", "a", "1", 1), ("q1", "a", "2", 1), ("q1", "b", "2", 1)]
    result = rm.evaluate({"q1": ["a"]}, judged(rows), "cg d_sharp_ndcg", judgements=judgements)
    assert result["cg"].mean == gain
    assert result["d_sharp_ndcg"].mean > 0
    assert result.counts["duplicate_judgements_merged"] == 1
    with pytest.raises(DataError, match="contradict"):
        rm.evaluate({"q1": ["a"]}, judged(rows), "cg")


@pytest.mark.parametrize("relevant", [">0", ">=2"])
def test_gains_above_a_threshold_are_those_of_equal_categories(relevant):
    rows = [("q", "a", "1", 2), ("q", "b", "2", 4), ("q", "c", "2", 1)]
    metric = "d_sharp_ndcg(recall_weight=0.25)@1"
    options = {"relevant": relevant, "gains": "above"}
    by_subtopic = rm.evaluate({"q": ["a", "b"]}, judged(rows), metric, **options)
    items = {item: [topic] for _, item, topic, _ in rows}
    truth = {"q": {item: gain for _, item, _, gain in rows}}
    by_item = rm.evaluate({"q": ["a", "b"]}, truth, metric, items=items, **options)
    assert by_subtopic[metric].mean == by_item[metric].mean


class TestColumns:
    """A column with the name of a subtopic which is not that of a subtopic."""

    def test_a_missing_subtopic_matters_to_intent_aware_metrics_alone(self):
        frame = judged([*ROWS, ("q3", "b", None, 1)])
        assert rm.evaluate(RUN, frame, "recall")["recall"].n == 3
        with pytest.raises(InvalidValueError, match=r"1 of 8 subtopics .* missing"):
            rm.evaluate(RUN, frame, "alpha_ndcg")

    @pytest.mark.parametrize(
        "values", [[["x"], ["y"]], [b"\xff", b"\xfe"], [0.5, 1.5], [None, None]]
    )
    def test_other_values_are_not_subtopics(self, values):
        frame = pl.DataFrame({"user": "u", "item": ["a", "b"], "gain": 1.0, "intent": values})
        assert rm.evaluate({"u": ["a"]}, frame, "recall")["recall"].mean == 0.5
        with pytest.raises(UsageError, match="column `subtopic`"):
            rm.evaluate({"u": ["a"]}, frame, "alpha_ndcg")

    def test_two_columns_are_not_guessed_from(self):
        frame = judged().with_columns(intent=pl.col("item"))
        assert rm.evaluate(RUN, frame, "recall", judgements="max")["recall"].n == 2
        named = rm.evaluate(RUN, frame, "alpha_ndcg", columns={"subtopic": "subtopic"})
        assert (
            named["alpha_ndcg"].mean == rm.evaluate(RUN, judged(), "alpha_ndcg")["alpha_ndcg"].mean
        )

    def test_numbers_without_a_gain_are_asked_about(self):
        frame = pl.DataFrame({"user": "u", "item": ["a", "b"], "intent": [0.1, 0.2]})
        with pytest.raises(ColumnError, match="numbers in 'intent'"):
            rm.evaluate({"u": ["a"]}, frame, "ndcg")

    def test_lists_of_items_have_none(self):
        frame = pl.DataFrame({"user": ["u"], "items": [["a", "b"]], "intent": ["buy"]})
        assert rm.evaluate({"u": ["a"]}, frame, "recall")["recall"].mean == 0.5


class TestFiles:
    def test_subtopics_that_vary_late_are_read(self, tmp_path):
        path = tmp_path / "diversity.qrels"
        lines = [f"1 1 d{n} 1\n" for n in range(20_000)] + ["2 1 a 1\n", "2 2 b 1\n"]
        path.write_text("".join(lines))
        metric = "subtopic_recall@1"
        assert rm.evaluate({"1": ["d7"], "2": ["b"]}, path, metric)[metric].mean == 0.75

    def test_a_table_without_a_header_is_not_taken_for_judgments(self, tmp_path):
        path = tmp_path / "inter.txt"
        path.write_text("ann 12 comedy 5\nbob 14 war 2\n")
        with pytest.raises(DataError):
            rm.evaluate({"ann": ["12"]}, {"ann": {"12"}}, "novelty@2", train=path)
        with pytest.raises(DataError):
            rm.describe(path)


def test_subtopics_with_names_of_their_own_for_each_query_need_little_memory():
    n = 3000
    rows = [(q, d, f"{q}-{t}", 1) for q in range(n) for d in range(4) for t in range(d, d + 2)]
    metric = "subtopic_recall@1"
    result = rm.evaluate({q: [0] for q in range(n)}, judged(rows), metric)
    assert result[metric].mean == pytest.approx(0.4)


def test_all_categories_are_not_known_without_items():
    with pytest.raises(UsageError, match="denominator='all' needs items="):
        rm.evaluate(RUN, judged(), "subtopic_recall(denominator=all)@2")


@pytest.mark.once
def test_the_provider_of_ir_measures_takes_the_last_judgment_for_other_measures():
    ir_measures = pytest.importorskip("ir_measures")
    judgments = [("q1", "a", 2, "1"), ("q1", "a", 0, "2"), ("q1", "b", 1, None)]
    qrels = [ir_measures.Qrel(*judgment) for judgment in judgments]
    run = [ir_measures.ScoredDoc("q1", "a", 2.0), ir_measures.ScoredDoc("q1", "b", 1.0)]
    asked = [ir_measures.AP, ir_measures.nDCG @ 2, ir_measures.StRecall @ 1]
    found = rm.ir_measures.provider().calc_aggregate(asked, qrels, run)
    assert [found[m] for m in asked] == pytest.approx([0.5, 0.6309297535714575, 0.5])
