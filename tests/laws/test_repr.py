"""Every public object says in a few lines what it is, whatever the size of the data."""

import re

import numpy as np
import pytest

import rankmeter as rm

pytestmark = pytest.mark.once

N = 2_000
TRUTH = {f"u{n}": {"a": 2, "b": 1} for n in range(N)}
LISTS = {user: ["c", "a", "b"] for user in TRUTH}
OTHERS = {user: ["a", "c"] if n % 2 else ["c", "x"] for n, user in enumerate(TRUTH)}
SEGMENTS = {user: "xy"[n % 2] for n, user in enumerate(TRUTH)}
FOUND = rm.evaluate(LISTS, TRUTH, "ndcg@2 rr")
BOTH = rm.compare({"one": LISTS, "two": OTHERS}, TRUTH, "ndcg@2", segments=SEGMENTS)
PUBLIC = {
    "Accumulator": lambda: rm.accumulator("mrr"),
    "Across": lambda: rm.across({"x": BOTH, "y": BOTH}),
    "Audit": lambda: rm.audit(LISTS, TRUTH, {"one": LISTS, "two": OTHERS}),
    "Comparison": lambda: BOTH,
    "Curve": lambda: BOTH.curve("ndcg@2"),
    "Description": lambda: rm.describe(TRUTH),
    "Diff": lambda: rm.diff(LISTS, OTHERS),
    "Estimate": lambda: FOUND["rr"],
    "Evaluator": lambda: rm.Evaluator(TRUTH, "mrr"),
    "Grades": lambda: rm.Grades([[0, 0, 1], [2, 3, 0]], n_relevant=[1, 2]),
    "Positions": lambda: rm.Positions([[2, 5, 8], [1]]),
    "Ranks": lambda: rm.Ranks([1, 4]),
    "Sampled": lambda: rm.Sampled([0.5], [[0.1, 0.7]]),
    "Collapsed": lambda: rm.collapse({f"u{n}": ["d#1"] for n in range(N)}, "#"),
    "Scores": lambda: rm.Scores(np.eye(3)),
    "Explanation": lambda: rm.explain(LISTS, TRUTH, "ndcg@2", between=("recbole", "trec_eval")),
    "LinkQueries": lambda: rm.link_queries(np.array([[0, 0, 1], [1, 0, 2]])),
    "Metric": lambda: rm.NDCG(gain="exp2") @ 10,
    "Plan": lambda: FOUND.plan,
    "MeanCheck": lambda: rm.check_mean(0.35, n=300, against=0.34),
    "SampleSize": lambda: rm.sample_size(sd=1, difference=0.5),
    "Split": lambda: rm.splits.holdout(LISTS, ratio=0.4),
    "Summary": lambda: FOUND,
    "ValueComparison": lambda: rm.compare_values({"a": np.arange(N), "b": np.ones(N)}),
    "Walkthrough": lambda: FOUND.show("u1"),
}
PARTS = {
    "scores": lambda: FOUND.scores,
    "source": lambda: FOUND.source,
    "kind": lambda: FOUND.kind,
    "table": FOUND.table,
    "metric of a plan": lambda: FOUND.plan.metrics[0],
    "spec": lambda: rm.NDCG.spec,
    "differences": lambda: BOTH.differences,
    "headline": BOTH.headline,
    "scorer": lambda: rm.scorer("ndcg@10"),
    "compute_metrics": lambda: rm.compute_metrics("ndcg@10"),
}


def test_every_public_class_is_tried():
    everything = (name for name in rm.__all__ if isinstance(getattr(rm, name), type))
    assert set(everything) <= PUBLIC.keys()


@pytest.mark.parametrize("name", [*PUBLIC, *PARTS])
def test_a_repr_is_short_and_says_something(name):
    made = (PUBLIC | PARTS)[name]()
    text = repr(made)
    assert len(text.splitlines()) <= 40
    assert len(text) < 4_000
    assert max(map(len, text.splitlines())) < 800
    assert " object at 0x" not in text
    assert not re.search(r"<function [^ ]*<locals>", text)
    assert "u999" not in text  # no dump of the data
    if name in PUBLIC:
        assert isinstance(made, getattr(rm, name))


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_object_has_a_form_for_notebooks(name):
    shown = PUBLIC[name]()._repr_html_()
    assert re.search(r"<(table|p|pre|code|svg)\b", shown)
    assert " object at 0x" not in shown


def test_the_form_for_notebooks_is_escaped_text():
    assert rm.Evaluator({"u": ["a"]}, "mrr")._repr_html_().startswith("<pre>")
    assert "<b>" not in rm.accumulator(rm.NDCG)._repr_html_()
    assert (
        "&lt;"
        in type("Odd", (rm.errors.ShownAsText,), {"__repr__": lambda _: "<b>"})()._repr_html_()
    )


@pytest.mark.parametrize("name", [n for n in PUBLIC if n in {
    "Across", "Comparison", "Curve", "Description", "Explanation", "Split", "Summary",
    "ValueComparison", "Walkthrough",
}])  # fmt: skip
def test_tables_have_a_look_for_notebooks(name):
    shown = PUBLIC[name]()._repr_html_()
    assert "<table" in shown or (name == "Curve" and "<svg" in shown)


def test_differences_fit_on_a_line():
    found = BOTH["ndcg@2"][0]
    assert repr(found).startswith("Difference('one' − 'two', 'ndcg@2': +0.")
    assert repr(FOUND.table()) == FOUND.table().to_text()
