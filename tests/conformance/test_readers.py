"""Readers of C/W/L metrics against cwl_eval, as recorded by ``record_readers.py``."""

import json
from pathlib import Path

import pytest

import rankmeter as rm

RECORDED = json.loads((Path(__file__).parents[1] / "data" / "cwl_eval_readers.json").read_text())
pytestmark = pytest.mark.once


@pytest.mark.parametrize("model", RECORDED["values"]["q0"])
def test_every_query_has_the_values_of_cwl_eval(model):
    options = f"{model},max_gain={RECORDED['largest']}"
    named = {
        "utility_rate": f"utility_rate({options})",
        "total_utility": f"total_utility({options})",
        "expected_depth": f"expected_depth({options})",
        "utility_residual": f"utility_residual({options},unjudged=unknown)",
    }
    result = rm.evaluate(RECORDED["ranked"], RECORDED["judged"], list(named.values()))
    ours = result.per_user.to_dict(as_series=False)
    product = result.per_user[named["utility_rate"]] * result.per_user[named["expected_depth"]]
    assert ours[named["total_utility"]] == pytest.approx(product.to_list(), rel=1e-12)
    for short, name in named.items():
        wanted = [RECORDED["values"][query][model][short] for query in ours["user"]]
        # cwl_eval leaves out the gain of those who read on at rank 1,000.
        reads_on = any(slow in model for slow in ("inst", "insq", "nerr11"))
        tolerance = 1e-3 if short == "total_utility" and reads_on else 1e-11
        assert ours[name] == pytest.approx(wanted, rel=tolerance, abs=1e-12), name
