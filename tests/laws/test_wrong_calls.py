"""Arguments that a function does not have are answered with the call that is right."""

from __future__ import annotations

import inspect
import re

import numpy as np
import pytest

import rankmeter as rm
from rankmeter._annexes import is_missing
from rankmeter.errors import UsageError

pytestmark = pytest.mark.once

LISTS = {"ann": ["b", "a"], "bob": ["b", "c"]}
TRUTH = {"ann": {"a"}, "bob": {"b"}}
RESULT = rm.evaluate(LISTS, TRUTH, "ndcg@5")
BOTH = rm.compare({"x": LISTS, "y": {"ann": ["a"], "bob": ["c"]}}, TRUTH, "ndcg@5")
TRIPLES, TRAIN = [(0, 0, 1)], [(0, 0, 2)]
SHOWN = [] if is_missing("_show") else [RESULT.show("ann")]
FUNCTIONS = [
    *("evaluate", "compare", "curve", "explain", "evaluate_scores", "evaluate_ranks"),
    *(
        "accumulator",
        "Evaluator",
        "compare_values",
        "sample_size",
        "check_mean",
        "link_queries",
        "adjust",
    ),
    *("grouped", "group_metric", "compute_metrics", "by_activity", "by_popularity", "describe"),
    *("neighbours", "Grades", "Positions", "Ranks", "Sampled", "Scores"),
]
CALLS = {
    **{name: getattr(rm, name) for name in FUNCTIONS if name in rm.__all__},
    **{f"splits.{name}": getattr(rm.splits, name) for name in rm.splits.__all__ if name.islower()},
    **{
        f"{type(result).__name__}.{name}": getattr(result, name)
        for result in (RESULT, BOTH, rm.curve(LISTS, TRUTH, "recall", 2), *SHOWN)
        for name in dir(type(result))
        if not name.startswith("_")
        and name not in {"get", "items", "keys", "values", "scored"}  # of every mapping; a field
        and inspect.isfunction(getattr(type(result), name, None))
    },
    "Evaluator.evaluate": rm.Evaluator(TRUTH, "rr").evaluate,
    "Evaluator.compare": rm.Evaluator(TRUTH, "rr").compare,
}


@pytest.mark.parametrize("name", CALLS)
def test_a_wrong_call_gets_an_answer(name):
    with pytest.raises(UsageError, match="unknown option 'never_heard_of'; known: "):
        CALLS[name](never_heard_of=1)
    with pytest.raises(UsageError, match=r"by position.*, got 40: write \w+\.?\w*\("):
        CALLS[name](*range(40))


@pytest.mark.parametrize(
    ("call", "written", "value"),
    [
        (lambda: rm.evaluate(recs=LISTS, gt=TRUTH, topn=5), "rm.evaluate(recs, gt, 'ndcg@5')", 1),
        (
            lambda: rm.evaluate(predictions=LISTS, y_true=TRUTH, metrics="map", k=5),
            "rm.evaluate(predictions, y_true, 'map@5')", 1,
        ),
        (lambda: rm.evaluate(LISTS, gt=TRUTH), "rm.evaluate(rankings, gt)", 1),
        (lambda: rm.evaluate(LISTS, TRUTH, k=5), "rm.evaluate(rankings, truth, 'ndcg@5')", 1),
        (lambda: rm.evaluate(LISTS, TRUTH, metric="rr"), "rm.evaluate(rankings, truth, metric)", 1),
        (
            lambda: rm.compare(models={"x": LISTS, "y": LISTS}, ground_truth=TRUTH),
            "rm.compare(models, ground_truth)", 1,
        ),
        (lambda: rm.curve(LISTS, TRUTH, "ndcg", k=2), "rm.curve(rankings, truth, metric, k)", 1),
        (
            lambda: rm.link_queries(TRIPLES, known=TRAIN),
            "rm.link_queries(triples, known)", 2,
        ),
        (
            lambda: rm.link_queries(TRIPLES, train=TRAIN),
            "rm.link_queries(triples, train)", 2,
        ),
        (
            lambda: rm.link_queries(test=TRIPLES, train=TRAIN),
            "rm.link_queries(test, train)", 2,
        ),
        (
            lambda: rm.evaluate_scores([[0.1, 0.2]], labels=np.array([[0, 1]])),
            "rm.evaluate_scores(scores, labels)", 3,
        ),
    ],
)  # fmt: skip
def test_the_call_that_is_written_works(call, written, value):
    with pytest.raises(UsageError, match=re.escape(f"write {written}") + "$"):
        call()
    lists = dict.fromkeys(("rankings", "recs", "predictions"), LISTS)
    judged = dict.fromkeys(("truth", "gt", "y_true", "ground_truth"), TRUTH)
    if value == 3:
        judged = {"scores": [[0.1, 0.2]], "labels": np.array([[0, 1]])}
    others = {"models": {"x": LISTS, "y": LISTS}, "metric": "ndcg", "k": 2, "rm": rm}
    links = {"triples": TRIPLES, "test": TRIPLES, "known": TRAIN, "train": TRAIN}
    made = eval(written, {**lists, **judged, **others, **links})
    if value == 2:
        assert made.known[1].tolist() == [2]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (rm.evaluate, r"evaluate lacks rankings: write rm.evaluate\(rankings\)"),
        (lambda: rm.curve(LISTS, TRUTH, "ndcg"), "curve lacks max_k"),
        (
            lambda: rm.link_queries(TRIPLES, TRAIN, "head"),
            r"write rm.link_queries\(triples, filters, sides=…",
        ),
        (lambda: rm.link_queries(TRIPLES, known=TRAIN), r"rm.link_queries\(triples, known"),
        (lambda: rm.link_queries(TRIPLES, train=TRAIN), r"rm.link_queries\(triples, train"),
        (lambda: rm.evaluate(LISTS, TRUTH, segments={"ann": "x"}), r"call result.by_segment\("),
        (lambda: BOTH.report("x.html", segments={"ann": "x"}), "pass segments= to rm.compare"),
        (lambda: rm.evaluate(LISTS, TRUTH, tie="item"), "did you mean 'ties'"),
        (lambda: rm.evaluate(LISTS, TRUTH, alpha=0.1), "`alpha` is no longer an option"),
        (lambda: rm.evaluate_ranks([1], ties="item", gains="all"), "cannot act on ranks"),
    ],
)
def test_what_to_do_instead(call, said):
    with pytest.raises(UsageError, match=said):
        call()


def test_an_attribute_of_another_result():
    found = rm.curve(LISTS, TRUTH, "ndcg", 2)
    with pytest.raises(AttributeError, match="this kind of result is about no user"):
        found.show("ann")
    assert not hasattr(found, "show")


def test_an_error_of_the_data_stays_what_it_is():
    class Odd:
        def __iter__(self):
            raise TypeError("of the caller")

    def scores():
        raise TypeError("of the caller")

    with pytest.raises(TypeError, match="of the caller"):
        rm.evaluate_scores(scores, [0])


def test_a_report_returns_its_path(tmp_path):
    for result in (RESULT, BOTH):
        assert result.report(tmp_path / "page.html") == tmp_path / "page.html"
        assert result.report(str(tmp_path / "page.html")).read_text("utf-8")
