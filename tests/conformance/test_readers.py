"""Readers of C/W/L metrics against cwl_eval, as recorded by ``record_readers.py``."""

import json
from pathlib import Path

import pytest

import rankmeter as rm
from rankmeter.errors import UsageError
from rankmeter.metrics.user_models import STEADY

RECORDED = json.loads((Path(__file__).parents[1] / "data" / "cwl_eval_readers.json").read_text())
pytestmark = pytest.mark.once


@pytest.mark.parametrize("model", RECORDED["values"]["q0"])
def test_every_query_has_the_values_of_cwl_eval(model):
    largest = RECORDED["largest"]
    depends = model.partition(",")[0].removeprefix("model=") not in STEADY
    named = {
        "utility_rate": f"utility_rate({model},max_gain={largest})",
        "expected_depth": f"expected_depth({model}{f',max_gain={largest}' if depends else ''})",
        "utility_residual": f"utility_residual({model},max_gain={largest},unjudged=unknown)",
    }
    result = rm.evaluate(RECORDED["ranked"], RECORDED["judged"], list(named.values()))
    ours = {short: result.per_user[name].to_numpy() for short, name in named.items()}
    ours["total_utility"] = ours["utility_rate"] * ours["expected_depth"]
    for name, values in ours.items():
        wanted = [RECORDED["values"][query][model][name] for query in result.per_user["user"]]
        # cwl_eval leaves out the total gain of those who read on at rank 1,000.
        reads_on = any(slow in model for slow in ("inst", "insq", "nerr11"))
        tolerance = 1e-3 if name == "total_utility" and reads_on else 1e-11
        assert values == pytest.approx(wanted, rel=tolerance, abs=1e-12), name


@pytest.mark.parametrize("ties", ["together", "realistic", "rounded"])
def test_unknown_ranks_are_refused_where_items_share_a_rank(ties):
    name = "utility_residual(unjudged=unknown)@2"
    truth = {"u": {"a": 1, "b": 0}}
    with pytest.raises(UsageError, match="needs an order of tied items"):
        rm.evaluate({"u": {"a": 1, "b": 1}}, truth, name, ties=ties)
    assert rm.evaluate({"u": {"a": 1, "b": 1}}, truth, name)[name].mean == 0.0


@pytest.mark.parametrize("target", [0.01, 1e-300])
def test_a_reader_of_a_small_target_goes_on_with_a_probability(target):
    name = f"expected_depth(target={target})"
    result = rm.evaluate({"u": ["a", "x"], "v": ["x", "a"]}, {"u": ["a"], "v": ["a"]}, name)
    assert all(1 <= depth <= 1000 for depth in result.scores.values[name])


def test_the_interval_of_a_depth_is_not_that_of_a_share():
    ranked = {user: ["x", "a", "b"] for user in range(30)}
    truth = {user: {"a" if user % 2 else "x": 1} for user in range(30)}
    depth = rm.evaluate(ranked, truth, "expected_depth(model=bpm)@3")["expected_depth(model=bpm)@3"]
    assert 1 <= depth.low < depth.mean < depth.high < 2
