"""All results have the same verbs, and the gaps are in one table."""

import json
import re

import polars as pl
import pytest

import rankmeter as rm

pytestmark = pytest.mark.once

TRUTH = {f"u{n}": {"a", "b"} for n in range(12)}
SYSTEMS = {
    "one": {user: ["c", "a", "b"] for user in TRUTH},
    "two": {user: ["a", "c"] if n % 3 else ["c", "b"] for n, user in enumerate(TRUTH)},
}
RESULT = rm.evaluate(SYSTEMS["two"], TRUTH, "ndcg@2 rr", relevant=">0")
BOTH = rm.compare(SYSTEMS, TRUTH, "ndcg@2 rr", relevant=">0")
RESULTS = {
    "Summary": lambda: RESULT,
    "Comparison": lambda: BOTH,
    "ValueComparison": lambda: rm.compare_values(BOTH.per_user),
    "Curve": lambda: BOTH.curve("ndcg@2", 3),
    "Explanation": lambda: rm.explain(
        SYSTEMS["two"], TRUTH, "ndcg@2", between=("recbole", "trec_eval")
    ),
    "Explanation of a number": lambda: rm.explain(SYSTEMS["two"], TRUTH, "rr", target=0.5),
    "Walkthrough": lambda: BOTH.show("u1"),
    "Description": lambda: rm.describe(TRUTH),
    "Across": lambda: rm.across({"x": BOTH, "y": BOTH}),
    "Audit": lambda: rm.audit(TRUTH, TRUTH),
    "Diff": lambda: rm.diff(SYSTEMS["one"], SYSTEMS["two"]),
}
GAPS = {
    "ValueComparison": {"show", "report"},
    "Curve": {"show", "report", "log"},
    "Explanation": {"plot", "show", "report", "log"},
    "Explanation of a number": {"plot", "show", "report", "log"},
    "Walkthrough": {"plot", "show", "report", "log"},
    "Description": {"show", "log"},
    "Across": {"plot", "show", "report", "log"},
    "Audit": {"plot", "show", "report", "log"},
    "Diff": {"plot", "show", "report"},
}


def report(result, path):
    result.report(path / "page.html")
    return (path / "page.html").read_text("utf-8")


VERBS = {
    "to_dict": (lambda result, _: result.to_dict(), json.dumps),
    "to_json": (lambda result, _: result.to_json(), json.loads),
    "to_polars": (lambda result, _: result.to_polars(), pl.DataFrame.is_empty),
    "to_pandas": (lambda result, _: result.to_pandas(), lambda made: made.columns),
    "to_csv": (lambda result, _: result.to_csv(), lambda made: made.index(",")),
    "to_latex": (lambda result, _: result.to_latex(), lambda made: made.index("\\begin{tabular}")),
    "to_markdown": (lambda result, _: result.to_markdown(), lambda made: made.index("|")),
    "table": (lambda result, _: result.table(), lambda made: made.to_text()),
    "plot": (lambda result, _: result.plot(), lambda made: made.to_dict()),
    "show": (lambda result, _: result.show("u1"), repr),
    "report": (report, lambda made: made.index("<!doctype html>")),
    "log": (lambda result, _: result.log(print), bool),
    "_repr_html_": (
        lambda result, _: result._repr_html_(),
        lambda made: re.search("<table|<svg", made)[0],
    ),
}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("name", RESULTS)
def test_a_result_has_a_verb_or_says_why_not(name, verb, tmp_path):
    result, (call, check) = RESULTS[name](), VERBS[verb]
    if verb in GAPS.get(name, ()):
        kind = type(result).__name__
        with pytest.raises(AttributeError, match=f"^{kind} has no {verb}: .+"):
            call(result, tmp_path)
    else:
        check(call(result, tmp_path))


def test_every_kind_of_result_is_tried():
    kinds = {type(make()).__name__ for make in RESULTS.values()}
    public = {name for name in rm.__all__ if hasattr(getattr(rm, name), "to_markdown")}
    assert public == kinds


@pytest.mark.parametrize("name", RESULTS)
def test_frames_of_both_kinds_have_the_same_rows(name):
    result = RESULTS[name]()
    frame, in_pandas = result.to_polars(), result.to_pandas()
    assert frame.shape == in_pandas.shape > (0, 0)
    assert frame.columns == list(in_pandas.columns)
