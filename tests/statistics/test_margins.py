"""Margins: equivalence, non-inferiority, and gates on them."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy.stats import norm
from test_statistics_stepdown import compared

import rankmeter as rm
from command_line import rankmeter
from rankmeter._statistics.step_down import adjust_p_values
from rankmeter.errors import UsageError

pytestmark = pytest.mark.once

RNG = np.random.default_rng(5)
B = RNG.random(80)
A = B + RNG.normal(0.002, 0.02, 80)


class TestAnswers:
    values = np.column_stack([A, B, B + 0.2, B + RNG.normal(0.0, 0.4, 80)]).clip(0)
    found = compared(values, baseline="s01", margin=0.01)

    def test_four_answers(self):
        verdicts = {d.a: d.verdict for d in self.found.differences}
        assert verdicts == {"s00": "equivalent", "s02": "better", "s03": "undecided"}
        (worse,) = compared(self.values[:, 1:3]).differences
        assert worse.verdict == "worse"

    def test_sentences(self):
        equal, _, open_ = self.found.sentences()
        assert "s00 and s01 are equivalent on cg within ±0.0100: " in equal
        assert "That s03 is worse by 0.0100 or more is excluded (p = 0.0" in open_

    def test_identical_systems_are_equivalent_if_they_have_many_users(self):
        verdicts = []
        for n in (30, 600):
            lists = {u: ["a"] for u in range(n)}
            truth = {u: {"a"} for u in range(n)}
            systems = {"x": lists, "y": lists}
            (d,) = rm.compare(systems, truth, "rr", margin=0.01, relevant=">0").differences
            verdicts.append(d.verdict)
            assert "the same rr for every one" in d.sentence()
        assert verdicts == ["", "equivalent"]

    def test_holm_corrects_each_side(self):
        plain = compared(self.values, baseline="s01", margin=0.01, correction="none")
        for d, alone in zip(self.found.differences, plain.differences, strict=True):
            assert d.p_not_worse >= alone.p_not_worse

    def test_equivalence_is_a_family_of_its_own(self):
        """Systems at both margins: no side alone is corrected for the other."""
        rng, noise = np.random.default_rng(3), 0.035 * norm.ppf((np.arange(200) + 0.5) / 200)
        changes = [rng.permutation(noise) + 0.0044 * side for side in (-1, 1) * 3]
        base = 0.2 + 0.6 * rng.random(200)
        values = np.column_stack([base, *(base + change for change in changes)])
        found = compared(values, baseline="s00", margin=0.01).differences
        alone = [max(d.p_not_worse_alone, d.p_not_better_alone) for d in found]
        assert [d.p_equivalent for d in found] == pytest.approx(adjust_p_values(alone).tolist())
        sides = [max(d.p_not_worse, d.p_not_better) for d in found]
        assert all(d.p_equivalent >= p for d, p in zip(found, sides, strict=True))
        assert any(d.p_equivalent > 0.05 >= p for d, p in zip(found, sides, strict=True))
        assert all(d.equivalent == (d.p_equivalent <= 0.05) for d in found)

    def test_the_margin_is_shown(self):
        assert self.found.settings["margin"] == "0.01"
        relative = compared(self.values, margin="2%").differences[0]
        assert relative.margin == pytest.approx(0.02 * B.mean())

    def test_lower_is_better(self):
        lists = {"x": {u: ["b", "a"] for u in range(50)}}
        lists["y"] = {u: ["a", "b"] if u % 10 == 0 else ["b", "a"] for u in range(50)}
        truth = {u: {"a"} for u in range(50)}
        (d,) = rm.compare(lists, truth, "mean_rank", margin=0.5, relevant=">0").differences
        assert d.mean_a > d.mean_b
        assert d.p_not_worse > d.p_not_better
        assert d.not_worse

    @pytest.mark.parametrize("wrong", [0, -1, "x", "0%", "nan", True, float("inf")])
    def test_wrong_margins(self, wrong):
        with pytest.raises(UsageError, match="margin"):
            compared(self.values, margin=wrong)


class TestGates:
    @pytest.fixture
    def files(self, tmp_path):
        users = range(200)
        rng = np.random.default_rng(1)
        (tmp_path / "truth.csv").write_text("user,item\n" + "".join(f"{u},a\n" for u in users))
        for name, share in (("prod", 0.5), ("worse", 0.2), ("same", 0.5)):
            hit = rng.random(200) < share if name == "worse" else np.arange(200) < 100
            if name == "same":
                hit[0] = False
            rows = "".join(f"{u},{'a' if hit[u] else 'b'}\n" for u in users)
            (tmp_path / f"{name}.csv").write_text("user,item\n" + rows)
        systems = [f"{n}={tmp_path / n}.csv" for n in ("prod", "worse", "same")]
        base = ["-m", "hr@1", "--baseline", "prod", "--relevant", ">0"]
        return ["compare", str(tmp_path / "truth.csv"), *systems, *base]

    @pytest.mark.parametrize(
        ("condition", "trips"),
        [
            ("worse shown worse than prod on hr@1", True),
            ("same is shown worse than prod on hr@1", False),
            ("prod shown worse than worse on hr@1", False),
            ("same not shown within 0.05 of prod on hr@1", False),
            ("same is not shown within 10% of prod on hr@1", False),
            ("same not shown within 0.0001 of prod on hr@1", True),
            ("worse not shown within 0.05 of prod on hr@1", True),
            ("same not shown better than prod on hr@1", True),
            ("prod not  shown better than worse on hr@1", False),
        ],
    )
    def test_a_gate_trips_where_its_condition_holds(self, files, condition, trips):
        done = rankmeter(*files, "--fail-if", condition)
        assert done.code == (1 if trips else 0), done.err
        assert (f"gate {condition!r} tripped: " in done.err) == trips

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            (
                "same worse than prod on hr@1",
                "'same shown worse than prod on hr@1' (fails if that is shown), or 'same not",
            ),
            (
                "same worse than prod on hr@1 by 0.05",
                "write 'same not shown within 0.05 of prod on",
            ),
            ("same is worse than prod on hr@1 by 2%", "write 'same not shown within 2% of prod on"),
            (
                "same not better than prod on hr@1",
                "write 'same not shown better than prod on hr@1'",
            ),
        ],
    )
    def test_conditions_that_leave_open_what_is_shown_are_refused(self, files, old, new):
        done = rankmeter(*files, "--fail-if", old)
        assert done.code == 2
        assert new in done.err

    def test_a_margin_for_each_metric(self, files):
        two = [*files, "-m", "rr"]
        within = ("--fail-if", "same not shown within 0.05 of prod on hr@1")
        assert (
            rankmeter(*two, *within, "--fail-if", "same not shown within 10% of prod on rr").code
            == 0
        )
        done = rankmeter(*two, *within, "--fail-if", "same not shown within 0.001% of prod on rr")
        assert done.code == 1
        assert (
            "0.001% of prod on rr' tripped: cannot exclude that same is worse than prod" in done.err
        )
        assert "on hr@1' tripped" not in done.err
        both = '{"hr@1": 0.05, "rr": "1%"}'
        done = rankmeter(*two, "--margin", both, "--json")
        assert json.loads(done.out)["settings"]["margin"] == {"hr@1": "0.05", "rr": "1%"}
        assert "is not a mapping" in rankmeter(*two, "--margin", both[:-1]).err
        done = rankmeter(*two, *within, "--margin", "1%")
        assert done.code == 2
        assert "in --fail-if or with --margin, not in both" in done.err

    @pytest.mark.parametrize(
        ("conditions", "words"),
        [
            (["hr@1<0.2"], "is not a condition"),
            (["new shown worse than prod on hr@1"], "unknown system in --fail-if"),
            (["same shown worse than prod on mrr"], "was not evaluated"),
            (["same not shown within 1% of prod on mrr"], "was not evaluated"),
            (["same shown worse than worse on hr@1"], "are not compared"),
            (["same not shown better than prod on hr@1 by 1"], "unknown metric 'by 1'"),
            ([f"same not shown within {margin} of prod on hr@1" for margin in ("1%", "2%")],
             "one margin"),
            (["same not shown within much of prod on hr@1"], "margin"),
        ],
    )  # fmt: skip
    def test_wrong_conditions(self, files, conditions, words):
        done = rankmeter(*files, *(part for one in conditions for part in ("--fail-if", one)))
        assert done.code == 2
        assert words in done.err


class TestMarginsByMetric:
    @staticmethod
    def compared(margin, systems=("prod", "new", "other")):
        truth = {u: {"a"} for u in range(400)}
        lists = {u: ["a"] if u % 2 else ["b", "a"] for u in truth}
        every = {
            "prod": lists,
            "new": lists | {u: ["b", "a"] for u in range(1, 6, 2)},
            "other": lists | {u: ["b", "a"] for u in range(1, 8, 2)},
        }
        named = {name: every[name] for name in systems}
        return rm.compare(named, truth, ["hr@1", "rr"], baseline="prod", margin=margin)

    def test_each_metric_has_its_own(self):
        found = self.compared({"HR@1": 0.02, "rr": "1%"})
        assert found.settings["margin"] == {"hr@1": "0.02", "rr": "1%"}
        assert found["hr@1"][0].margin == 0.02
        assert found["rr"][0].margin == pytest.approx(0.0075)
        only = self.compared({"rr": "1%"})
        assert math.isnan(only["hr@1"][0].margin)
        assert only["rr"][0].p_not_worse == found["rr"][0].p_not_worse

    def test_the_p_of_a_gate_does_not_depend_on_other_systems(self):
        alone = self.compared(0.02, ("prod", "new"))["hr@1"][0]
        among = self.compared(0.02)["hr@1"][0]
        assert among.p_not_worse > alone.p_not_worse
        assert among.p_not_worse_alone == alone.p_not_worse_alone == alone.p_not_worse

    @pytest.mark.parametrize(
        "wrong", [{"ap": 0.1}, {"hr@1": 0}, {"hr@1": "x"}, {"hr@1": 0.1, "HR@1": 0.2}]
    )
    def test_wrong_margins(self, wrong):
        with pytest.raises(UsageError, match="margin"):
            self.compared(wrong)

    def test_values_of_another_tool(self):
        values = {"A": [1.0, 2.0, 4.0], "B": [1.0, 2.0, 3.0]}
        (d,) = rm.compare_values(values, margin={"value": 3.0}).differences
        assert d.margin == 3.0
        with pytest.raises(UsageError, match="unknown metric in `margin`"):
            rm.compare_values(values, margin={"x": 3.0})
