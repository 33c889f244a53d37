"""The result whose report the tests of the page read."""

from __future__ import annotations

import pytest

import rankmeter as rm


@pytest.fixture(scope="module")
def result():
    from report_data import RANKINGS, TRAIN, TRUTH

    return rm.evaluate(RANKINGS, TRUTH, "ndcg@5 rr coverage@5", train=TRAIN, catalogue=500)


@pytest.fixture(scope="module")
def single(result, tmp_path_factory):
    from report_data import SEGMENTS

    path = tmp_path_factory.mktemp("page") / "report.html"
    result.report(path, segments=SEGMENTS)
    return path
