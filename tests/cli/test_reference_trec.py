"""The measures of trec_eval: refusals, names, and ways to average them."""

from __future__ import annotations

import numpy as np
import pytest

import rankmeter as rm
from rankmeter.errors import UsageError
from rankmeter.metrics import METRICS, Metric

pytestmark = pytest.mark.once


@pytest.mark.parametrize(
    "name", [n for n, spec in METRICS.items() if not spec.open_ties and not spec.of_lists]
)
def test_what_has_no_closed_form_under_open_ties_says_so(name):
    asked = Metric(name)(**METRICS[name].example)
    tied, certain = {"u": {"a": 1.0, "b": 1.0}}, {"u": {"a": 2.0, "b": 1.0}}
    with pytest.raises(UsageError, match=rf"{name}.*: has no closed form under unresolved ties"):
        rm.evaluate(tied, {"u": {"a": 1, "b": 0}}, asked, ties="expected")
    result = rm.evaluate(certain, {"u": {"a"}}, asked, ties="expected")
    assert np.isfinite(next(iter(result.values())).mean)


def test_bpref_refuses_ties_of_items_that_are_not_relevant():
    scores = {"u": {"a": 3.0, "x": 1.0, "y": 1.0}}
    with pytest.raises(UsageError, match="no closed form"):
        rm.evaluate(scores, {"u": {"a": 1, "x": 0}}, "bpref", ties="expected")


@pytest.mark.parametrize(
    ("spelling", "message"),
    [
        ("iprec@1.5", "`recall` must be a number between 0 and 1"),
        ("iprec", "iprec needs recall"),
        ("rprec_mult(multiple=-1)", "must be a number ≥ 0"),
        ("infap(epsilon=0)", "`epsilon` must be a number > 0"),
        ("utility(spared=1)", "needs the size of the catalogue"),
    ],
)
def test_options_without_meaning_are_refused(spelling, message):
    with pytest.raises(UsageError, match=message):
        rm.evaluate({"u": ["a"]}, {"u": {"a"}}, spelling)


@pytest.mark.parametrize(
    ("spelling", "canonical"),
    [
        ("iprec_at_recall_0.10", "iprec@0.1"),
        ("11pt_avg", "eleven_point"),
        ("binG", "g(gain=binary)"),
        ("relative_P_5", "precision(denominator=relevant)@5"),
        ("set_map", "set_ap"),
        ("num_rel_ret", "n_hits"),
        ("unj_10", "unjudged@10"),
        ("Rprec_mult_1.20", "rprec_mult@1.2"),
    ],
)
def test_the_names_of_trec_eval_are_understood(spelling, canonical):
    found = rm.metric(spelling)
    assert str(found) == canonical
    assert rm.metric(canonical) == found


@pytest.mark.parametrize(
    ("aggregate", "mean"), [("mean", 0.5), ("geometric", (1 * 0.5 * 1e-5) ** (1 / 3)), ("sum", 1.5)]
)
def test_values_are_averaged_or_added(aggregate, mean):
    lists, truth = [["a", "x"], ["x", "a"], ["x", "y"]], [{"a"}, {"a"}, {"a"}]
    estimate = rm.evaluate(lists, truth, "map", aggregate=aggregate)["map"]
    assert estimate.mean == pytest.approx(mean)
    assert estimate.low < estimate.mean < estimate.high
