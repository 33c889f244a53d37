"""Every copy of side data has every kind of evidence, and says so where one is missing."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from product_worlds import make

import cases
import rankmeter as rm
from fuzz.api import WORDS
from rankmeter.metrics import EVIDENCE, METRICS, SIDE_DATA, Metric

pytestmark = pytest.mark.once

DOCS = Path(__file__).parents[2] / "docs" / "_ext"
ASKING = {
    kind: Metric(spec.name)(**spec.example)
    for spec in sorted(METRICS.values(), key=lambda spec: len(spec.spares), reverse=True)
    for kind in SIDE_DATA.keys() & {*spec.needs}
}
"""For each kind of evidence a metric that asks for it, if possible one that cannot spare it."""
COPIES = ["tests/cases.py", "tests/laws/product_worlds.py", "docs/_ext/rankmeter_docs/example.py"]


@pytest.fixture
def example(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(DOCS), *sys.path])
    from rankmeter_docs import example

    return example


def test_every_kind_is_asked_for():
    assert {*ASKING} == EVIDENCE.keys() & SIDE_DATA.keys() - {"features"}  # part of likeness


@pytest.mark.parametrize("kind", sorted(ASKING))
@pytest.mark.parametrize("file", COPIES)
def test_a_copy_of_side_data_has_every_kind_of_evidence(file, kind, example):
    if file == "tests/cases.py":
        rankings, truth, side = cases.with_side(1)
        side = side.given()
    elif file == "tests/laws/product_worlds.py":
        world = make(np.random.default_rng(1), 20, "graded")
        rankings, truth, side = *world.dicts(), world.side()
    else:
        rankings, truth, side = {"u": list(example.RANKING)}, {"u": example.TRUTH}, example.SIDE
    try:
        rm.evaluate(rankings, truth, ASKING[kind], **side)
    except rm.errors.UsageError as error:
        pytest.fail(f"the side data of {file} lack {kind}: {error}")


def test_made_up_evidence_has_every_kind():
    from rankmeter.testing import _made_up

    rng = np.random.default_rng(1)
    ranked = _made_up.random_rankings(rng, 5)
    found = {*_made_up.evidence_of_hits(ranked), *_made_up.evidence_of_lists(rng, 5)}
    assert not EVIDENCE.keys() - found, "src/rankmeter/testing/_made_up.py lacks these"


def test_fuzzers_pass_every_argument_that_gives_evidence():
    assert not {argument for argument, _ in SIDE_DATA.values()} - WORDS.keys(), "tests/fuzz/api.py"


def test_the_page_of_a_metric_names_the_file_that_lacks_its_evidence(example, monkeypatch):
    monkeypatch.delitem(example.SIDE, "propensity")
    with pytest.raises(LookupError, match=r"add it to SIDE of docs/_ext/\S+/example\.py"):
        example.values(Metric("snips"))
