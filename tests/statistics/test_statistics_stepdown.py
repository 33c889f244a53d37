"""The step-down test on shared flips, and what comparisons of many systems make of it."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from scipy import stats

import rankmeter as rm
from rankmeter._statistics.step_down import Hypotheses, step_down_test
from rankmeter.errors import RankmeterWarning

pytestmark = pytest.mark.once


def compared(values, metric="cg", **options):
    """A comparison of systems with these values: rows are users, columns are systems."""
    names = [f"s{j:02d}" for j in range(values.shape[1])]
    truth = {
        u: [(n, float(v)) for n, v in zip(names, row, strict=True)] for u, row in enumerate(values)
    }
    systems = {n: {u: [n] for u in truth} for n in names}
    return rm.compare(systems, truth, metric, relevant="any", gains="all", **options)


class TestFamilies:
    def test_any_number_of_comparisons_finds_what_is_there(self):
        rng = np.random.default_rng(1)
        values = (rng.random((200, 24)) < 0.02 + 0.035 * np.arange(24)).astype(float)
        found = compared(values)
        assert len(found.differences) == 276
        last = next(d for d in found.differences if (d.a, d.b) == ("s00", "s23"))
        assert last.significant
        assert sum(d.significant for d in found.differences) > 110

    def test_holm_draws_enough_flips_to_find_it(self):
        rng = np.random.default_rng(1)
        values = (rng.random((100, 34)) < 0.02 + 0.02 * np.arange(34)).astype(float)
        found = compared(values, correction="holm", n_resamples=999)
        assert found.differences[32].significant

    @pytest.mark.parametrize("seed", range(3))
    def test_where_interval_and_test_disagree_the_sentence_says_so(self, seed):
        rng = np.random.default_rng(seed)
        values = rng.random((50, 6)) + 0.06 * np.arange(6)
        disagreeing = 0
        for d in compared(values).differences:
            disagrees = (d.low > 0 or d.high < 0) != d.significant
            disagreeing += disagrees
            assert d.disagrees == disagrees == ("by another method" in d.sentence())
            assert d.low <= d.difference <= d.high
        assert disagreeing <= 2

    def test_another_level_is_that_of_intervals_and_tests(self):
        values = np.random.default_rng(2).random((200, 10))
        usual, wide = compared(values), compared(values, confidence=0.99)
        single = compared(values, confidence=0.99, correction="none")
        for a, b, c in zip(usual.differences, wide.differences, single.differences, strict=True):
            assert b.high - b.low > 1.1 * (a.high - a.low)
            assert b.high - b.low > 1.1 * (c.high - c.low)
            assert b.detectable > a.detectable
            assert b.p_adjusted == pytest.approx(a.p_adjusted, abs=0.02)
            assert (a.alpha, b.alpha) == (0.05, 0.01)

    def test_intervals_of_a_family_are_wider_than_one_and_narrower_than_bonferroni(self):
        rng = np.random.default_rng(7)
        values = rng.random((80, 5))
        widths = {}
        for how in ("maxt", "none"):
            found = compared(values, correction=how).differences
            widths[how] = np.array([d.high - d.low for d in found])
        ratio = stats.t.ppf(1 - 0.025 / 10, 79) / stats.t.ppf(0.975, 79)
        assert np.all(widths["maxt"] > 1.1 * widths["none"])
        assert np.all(widths["maxt"] < ratio * widths["none"])

    def test_tests_without_flips_are_corrected_by_holm(self):
        values = np.random.default_rng(7).random((30, 3))
        assert compared(values, test="t").settings["correction"] == "holm"
        assert compared(values).settings["correction"] == "maxt"


class TestSegments:
    rng = np.random.default_rng(4)
    values = np.column_stack([rng.random(200), rng.random(200) + 0.12])
    labels = {u: f"part {u % 10}" for u in range(200)}

    def test_segments_take_nothing_from_the_overall_comparison(self):
        alone = compared(self.values)
        found = compared(self.values, segments=self.labels)
        assert found.differences[0] == alone.differences[0]

    def test_harm_in_one_market_is_found_and_in_the_headline(self):
        """Markets cancel each other: nothing over all users, and one of three is harmed."""
        rng = np.random.default_rng(0)
        market = np.repeat(["KR", "JP", "US"], 200)
        prod = rng.beta(2, 3, 600)
        new = prod + np.where(market == "KR", -0.08, 0.04) + rng.normal(0, 0.15, 600)
        options = {"baseline": "prod", "segments": dict(enumerate(market.tolist()))}
        values = {"new": dict(enumerate(new)), "prod": dict(enumerate(prod))}
        found = rm.compare_values(values, **options)
        overall, *within = found.differences
        assert not overall.significant
        assert {d.segment: d.verdict for d in within} == {
            "JP": "better", "KR": "worse", "US": "better",
        }  # fmt: skip
        clause = "not the same for all segments: worse in KR, better in JP, US"
        assert found.headline().title == "No system beats prod on value"
        assert clause in repr(found).splitlines()
        plain = rm.compare_values(values, test="t", correction="none", **options)
        harmed = next(d for d in plain.differences if d.segment == "KR")
        assert harmed.p == harmed.p_adjusted < 1e-6
        assert "p < 0.0001;" in harmed.sentence()

    def test_segments_are_one_family_over_metrics(self):
        found = compared(self.values, ["cg", "cg@1"], segments=self.labels)
        assert {d.family for d in found.differences if d.segment} == {20}
        assert {d.family for d in found.differences if not d.segment} == {1}

    def test_many_systems_have_one_note(self):
        values = np.random.default_rng(5).random((200, 2))
        values[::10, 1] += 3.0
        found = compared(np.column_stack([values, values[:, ::-1]]), segments=self.labels)
        (note,) = [one for one in found.table().notes if "between the 10 segments?" in one]
        unequal = [one for one in found.heterogeneity if one.p < 0.05]
        assert len(found.heterogeneity) == 6
        assert len(unequal) == 4
        assert note.count(" on ") == 4
        assert f"{unequal[0].a} − {unequal[0].b} on {unequal[0].metric} (p < 0.0001: " in note
        assert "better in part 0" in note or "worse in part 0" in note
        assert note.endswith("; not shown for 2 others")


class TestSentences:
    def test_the_direction_is_that_of_the_test(self):
        values = np.array([[0.50, 0.45]] * 90 + [[0.0, 1.0]] * 10)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RankmeterWarning)
            (d,) = compared(values, test="wilcoxon").differences
            assert d.difference < 0
            assert d.better == "s00"
            assert "contradict each other" in d.sentence()
            assert "beats" not in d.sentence()

    def test_what_is_significant_alone_but_not_among_many(self):
        rng = np.random.default_rng(11)
        values = rng.random((300, 6))
        values[:, 5] += 0.055
        found = compared(values).differences
        torn = [d for d in found if d.alone and not d.significant]
        assert torn
        assert "on its own the comparison would count as shown, among 15 it" in torn[0].sentence()
        assert "(adjusted for 15 comparisons: 0." in torn[0].sentence()

    def test_few_differing_users_can_show_a_difference_that_makes_more_differ(self):
        """Of 50 users 5 have to differ: in 4 of 5 studies, if 13.1 % do."""
        values = np.zeros((50, 2))
        values[:4, 0] = 1.0
        (d,) = compared(values).differences
        assert stats.binom.sf(4, 50, d.detectable) == pytest.approx(0.8, abs=1e-3)
        for n in (2, 3, 4, 5):
            (d,) = compared(np.array([[1.0, 0.0]] * n)).differences
            assert f"With {n} users no difference can be shown." in d.sentence()

    def test_lower_is_better(self):
        lists = {u: ["b", "a"] if u % 9 else ["a", "b"] for u in range(40)}
        systems = {"x": {u: ["a", "b"] for u in lists}, "y": lists}
        (d,) = rm.compare(
            systems, {u: {"a"} for u in lists}, "mean_rank", relevant=">0"
        ).differences
        assert d.verdict == "better"
        said = d.sentence()
        assert "x beats y on mean_rank, where lower is better, by 0.8750 (46.7% lower)" in said
        assert "interval [+0." in said

    def test_an_infinite_effect_size_is_left_out(self):
        systems = {"x": {u: ["a"] for u in range(30)}, "y": {u: ["b", "a"] for u in range(30)}}
        (d,) = rm.compare(systems, {u: {"a"} for u in range(30)}, "rr", relevant=">0").differences
        assert d.significant
        assert "inf" not in d.sentence()


class TestDetectable:
    def test_it_is_smaller_than_the_scale(self):
        lists = {"x": {1: ["a"], 2: ["b", "a"]}, "y": {1: ["b", "a"], 2: ["a"]}}
        (d,) = rm.compare(lists, {1: {"a"}, 2: {"a"}}, "rr", test="t", relevant=">0").differences
        assert math.isnan(d.detectable)

    def test_more_comparisons_can_detect_less(self):
        values = np.random.default_rng(0).random((100, 6))
        few, many = compared(values[:, :2]), compared(values)
        assert many.differences[0].detectable > 1.1 * few.differences[0].detectable

    @pytest.mark.parametrize("confidence", [0.1, 1 - 1e-12])
    def test_at_any_level(self, confidence):
        values = np.random.default_rng(0).random((100, 2))
        for test in ("randomization", "t"):
            assert compared(values, test=test, confidence=confidence).differences[0].sentence()


@pytest.mark.parametrize("seed", range(20))
def test_a_smaller_p_never_has_a_larger_adjusted_p(seed):
    """The running maximum of the steps; each is at least the p of its own."""
    values = np.random.default_rng(seed).normal(0.4, size=(10, 3)).round(2)
    scores = np.column_stack([np.zeros(10), values])
    found = step_down_test([Hypotheses(scores, [(1, 0), (2, 0), (3, 0)])])
    assert np.all(np.diff(found.adjusted[np.argsort(found.p)]) >= 0)
    assert np.all(found.adjusted >= found.p)
    assert np.all(found.adjusted <= found.single)
