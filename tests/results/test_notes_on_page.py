"""Notes on a page."""

from __future__ import annotations

import pytest

import rankmeter as rm
from rankmeter._report.comparison_page import page_content

pytestmark = pytest.mark.once


TRUTH = {"u": {"a": 1, "b": 3}, "v": {"a": 4}, "w": {"a": 0}}


FULL = {"u": ["a", "b"], "v": ["x", "a"], "w": ["b", "a"]}


NOBODY = {"u": ["x"], "v": ["b", "x"], "w": ["a"]}


def test_rankings_without_any_relevant_item_are_reported_by_all_results():
    judged = {**TRUTH, "u": {"a": 1, "x": 0}}
    said = "no relevant item was ranked"
    assert said in rm.evaluate(NOBODY, judged, "rr").to_dict()["notes"]
    assert said not in repr(rm.evaluate(FULL, judged, "rr"))
    one = rm.compare({"pop": FULL, "bad": NOBODY}, judged, "rr")
    assert f"bad: {said}" in one.to_dict()["notes"]
    assert f"bad: {said}" in page_content(one)["notes"]
    all_bad = rm.compare({"bad": NOBODY, "worse": {"w": ["a"]}}, judged, ["rr", "rr(relevant=0)"])
    assert f"{said} for rr" in all_bad.to_dict()["notes"]
