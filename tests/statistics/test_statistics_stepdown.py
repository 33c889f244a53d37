"""The step-down test on shared flips, and what comparisons of many systems make of it."""

from __future__ import annotations

import itertools
import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.oneway import anova_oneway

import rankmeter as rm
from rankmeter._results.differences import Heterogeneity, segment_notes
from rankmeter._statistics import (
    Hypotheses,
    adjust,
    heterogeneity,
    minimum_detectable_share,
    randomization_tests,
    spread,
    step_down,
)
from rankmeter.errors import RankmeterWarning

pytestmark = pytest.mark.once

RNG = np.random.default_rng(3)
SCORES = RNG.random((60, 4))
PAIRS = list(itertools.combinations(range(4), 2))


def compared(values, metric="cg", **options):
    """A comparison of systems with these values: rows are users, columns are systems."""
    names = [f"s{j:02d}" for j in range(values.shape[1])]
    truth = {
        u: {n: float(v) for n, v in zip(names, row, strict=True)} for u, row in enumerate(values)
    }
    systems = {n: {u: [n] for u in truth} for n in names}
    return rm.compare(systems, truth, metric, relevant="any", gains="all", **options)


def p_by_signs(scores, pairs):
    """The p of each pair, a column, under every choice of signs, of which the first is observed."""
    d = np.column_stack([scores[:, i] - scores[:, j] for i, j in pairs])
    signs = np.array(list(itertools.product([1, -1], repeat=len(d))))
    reached = np.abs(signs @ d)
    return np.mean(reached[:, None, :] <= reached[None, :, :] + 1e-12, axis=1)


def test_all_signs_of_a_few_users_are_counted():
    """Step by step as Westfall and Young define minP, over every choice of signs."""
    scores, pairs = SCORES[:9, :3] + [0, 0, 0.3], list(itertools.combinations(range(3), 2))
    scores[2:, 1] = scores[2:, 0]  # two users differ: the smallest p is 1/2
    p = p_by_signs(scores, pairs)
    expected, left, least = {}, set(range(3)), 0.0
    for number in np.argsort(p[0]):
        smallest = p[:, sorted(left)].min(axis=1)
        least = max(least, np.mean(smallest <= p[0, number] + 1e-9))
        expected[number] = least
        left.remove(number)
    found = step_down([Hypotheses(scores, pairs)])
    assert found.n_resamples == 0
    assert found.adjusted == pytest.approx([expected[at] for at in range(3)])
    assert found.p == pytest.approx([r.p for r in randomization_tests(scores, pairs)])


def test_a_single_step_leaves_what_the_others_cannot_claim():
    """Over every choice of signs: the error of the differences that are not significant."""
    scores, pairs = SCORES[:9, :3] + [0, 0, 0.6], list(itertools.combinations(range(3), 2))
    p = p_by_signs(scores, pairs)
    smallest = p.min(axis=1)
    found = step_down([Hypotheses(scores, pairs)], single=True)
    assert found.adjusted == pytest.approx([np.mean(smallest <= one + 1e-9) for one in p[0]])
    unknown = found.adjusted > 0.05
    assert unknown.tolist() == [True, False, False]
    critical = np.sort(smallest)[math.floor(0.05 * 512)]
    error = np.mean(p[:, unknown].min(axis=1) < critical - 1e-9)
    assert found.left == pytest.approx(1 - error / 0.05)
    assert step_down([Hypotheses(scores, pairs[1:])], single=True).left == 1.0
    assert step_down([Hypotheses(scores, pairs[:1])], single=True).left == 0.0


def test_the_flips_are_those_of_the_randomization_test():
    found = step_down([Hypotheses(SCORES, PAIRS)], seed=5)
    assert found.p.tolist() == [r.p for r in randomization_tests(SCORES, PAIRS, seed=5)]
    assert np.all(found.adjusted >= found.p)
    order = np.argsort(found.p)
    assert np.all(np.diff(found.adjusted[order]) >= 0)


def test_one_hypothesis_is_not_corrected():
    found = step_down([Hypotheses(SCORES, [(0, 1)])])
    assert found.adjusted.tolist() == found.p.tolist()


def test_copies_count_once():
    copies = np.column_stack([SCORES[:, :2], *[SCORES[:, 1]] * 5])
    pairs = [(0, j) for j in range(1, 7)]
    found = step_down([Hypotheses(copies, pairs)])
    assert found.adjusted == pytest.approx(found.p)


def test_tables_of_other_users_have_their_own_coins():
    once = step_down([Hypotheses(SCORES, [(0, 1)])])
    twice = step_down([Hypotheses(SCORES, [(0, 1)])] * 2)
    assert twice.p[0] == once.p[0] != twice.p[1]
    assert twice.levels[0] < once.levels[0] == 0.05


def test_few_users_with_a_large_difference_are_not_drowned_by_many():
    """Fourteen users of one sign: p is 2 of 16,384 signs, and no other difference comes close."""
    values = np.random.default_rng(0).normal(0.0, 1.0, (100, 8))
    values[:, :2] = 0.0
    values[:14, 1] = [1.0, *[0.1] * 13]
    found = step_down([Hypotheses(values, [(i, 0) for i in range(1, 8)])], n_resamples=99_999)
    assert found.p[0] < 0.0004
    assert found.adjusted[0] < 7.5 * found.p[0]


def test_many_users_have_the_normal_limit_of_flips():
    """At the same values: repeated 700 times they are too many to flip, and have the same p."""
    rng = np.random.default_rng(2)
    values = rng.normal(0.0, 1.0, (150, 4))
    values -= values.mean(axis=0) * (1 - 1 / math.sqrt(700))  # the same t at 700 times the users
    many = step_down([Hypotheses(np.tile(values, (700, 1)), PAIRS)], levels=(0.05, 0.01))
    few = step_down([Hypotheses(np.tile(values, (70, 1)), PAIRS)], levels=(0.05, 0.01))
    d = np.tile(values[:, 0] - values[:, 1], 700)
    assert many.p[0] == pytest.approx(2 * stats.norm.sf(abs(d.sum()) / np.linalg.norm(d)))
    assert many.levels == pytest.approx(few.levels, rel=0.15)
    copies = step_down([Hypotheses(np.tile(values, (700, 1)), [(0, 1)] * 6)])
    assert copies.adjusted == pytest.approx(copies.p, abs=0.02)


def test_a_p_close_to_the_level_is_drawn_with_more_flips():
    d = np.concatenate([np.full(31, 1.0), np.full(50, -1.0)])
    scores = np.column_stack([d, np.zeros(81)])
    found = [step_down([Hypotheses(scores, [(0, 1)])], seed=seed) for seed in range(6)]
    assert all(one.n_resamples == 99_999 for one in found)
    assert np.ptp([one.p[0] for one in found]) < 0.004


@pytest.mark.parametrize("level", [0.5, 0.2, 0.05, 0.01])
def test_the_level_of_a_comparison_agrees_with_the_single_step(level):
    found = step_down([Hypotheses(SCORES, PAIRS)], levels=(level,), single=True)
    assert level / 6 <= found.levels[0] <= level
    assert np.all((found.adjusted <= level) == (found.p < found.levels[0]))


class TestFamilies:
    def test_any_number_of_comparisons_finds_what_is_there(self):
        rng = np.random.default_rng(1)
        values = (rng.random((200, 40)) < 0.02 + 0.02 * np.arange(40)).astype(float)
        found = compared(values)
        assert len(found.differences) == 780
        last = next(d for d in found.differences if (d.a, d.b) == ("s00", "s39"))
        assert last.significant
        assert sum(d.significant for d in found.differences) > 300

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

    def test_intervals_of_another_level_are_wider_and_detectable_stays(self):
        values = np.random.default_rng(2).random((200, 10))
        usual, wide = compared(values), compared(values, confidence=0.99)
        single = compared(values, confidence=0.99, correction="none")
        for a, b, c in zip(usual.differences, wide.differences, single.differences, strict=True):
            assert b.high - b.low > 1.1 * (a.high - a.low)
            assert b.high - b.low > 1.1 * (c.high - c.low)
            assert b.detectable == a.detectable
            assert b.p_adjusted == a.p_adjusted

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

    def test_equal_systems_are_seldom_told_apart(self):
        rng, claims = np.random.default_rng(0), 0
        for seed in range(150):
            easy = rng.beta(0.6, 2.5, (60, 1))
            scores = (rng.random((60, 5)) < easy).astype(float)
            pairs = list(itertools.combinations(range(5), 2))
            found = step_down([Hypotheses(scores, pairs)], n_resamples=499, seed=seed)
            claims += found.adjusted.min() <= 0.05
        assert claims <= 0.05 * 150 + 3 * math.sqrt(0.05 * 0.95 * 150)


class TestSegments:
    rng = np.random.default_rng(4)
    values = np.column_stack([rng.random(200), rng.random(200) + 0.12])
    labels = {u: f"part {u % 10}" for u in range(200)}

    def test_segments_take_nothing_from_the_overall_comparison(self):
        alone = compared(self.values)
        found = compared(self.values, segments=self.labels)
        assert found.differences[0] == alone.differences[0]

    @pytest.mark.parametrize(
        ("options", "left"),
        [({}, None), ({"test": "t"}, 2 / 3), ({"test": "tukey"}, 0.0), ({"correction": "none"}, 1)],
    )
    def test_segments_have_what_undecided_comparisons_leave_of_alpha(self, options, left):
        """Two of three comparisons are significant; the third could still be claimed wrongly."""
        values = np.random.default_rng(1).random((200, 3)) + [0, 0, 0.3]
        found = compared(values, segments=self.labels, gatekeeping=True, **options)
        overall, within = found.differences[:3], found.differences[3:]
        assert [d.significant for d in overall] == [False, True, True]
        if left is None:
            tables = [Hypotheses(values, list(itertools.combinations(range(3), 2)))]
            left = step_down(tables, single=True).left
            assert 0.3 < left < 0.9
        alone = [values[u % 10 :: 10] for u in range(10)]
        pairs = list(itertools.combinations(range(3), 2))
        if options.get("test") == "t":
            p = [stats.ttest_rel(own[:, i], own[:, j]).pvalue for own in alone for i, j in pairs]
            expected = np.minimum(adjust(p, "holm") / left, 1.0)
        elif options.get("test") == "tukey":
            expected = np.ones(30)
        elif options:
            expected = [d.p for d in within]
        else:
            family = [Hypotheses(own, pairs) for own in alone]
            expected = np.minimum(step_down(family).adjusted / left, 1.0)
        gates = np.tile([d.p_adjusted for d in overall], 10)
        found = np.array([d.p_adjusted for d in within])
        open_ = gates <= 0.05
        assert found[open_] == pytest.approx(np.maximum(expected, gates)[open_])
        assert np.all(found[~open_] >= gates[~open_])

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
        assert found.headline().title == f"No system beats prod on value; {clause}"
        assert any(clause in note for note in found.table().notes)
        gated = rm.compare_values(values, gatekeeping=True, **options)
        assert not any(d.significant for d in gated.differences)
        assert "over all users, which gatekeeping tests first" in gated.sentences()[2]
        plain = rm.compare_values(values, test="t", correction="none", **options)
        harmed = next(d for d in plain.differences if d.segment == "KR")
        assert harmed.p == harmed.p_adjusted < 1e-6
        assert "p < 0.0001;" in harmed.sentence()

    def test_segments_are_one_family_over_metrics(self):
        found = compared(self.values, ["cg", "cg@1"], segments=self.labels)
        assert {d.family for d in found.differences if d.segment} == {20}
        assert {d.family for d in found.differences if not d.segment} == {1}

    def test_with_gatekeeping_a_segment_is_significant_only_if_everyone_is(self):
        rng = np.random.default_rng(5)
        values = rng.random((200, 2))
        values[::10, 1] += 2 * (values[::10, 0] - values[::10, 1]) + 0.5
        values[1::10, 1] -= 2.0
        values[2::10, 1] += 2.0
        found = compared(values, segments=self.labels, gatekeeping=True)
        overall, *within = found.differences
        assert not overall.significant
        assert not any(d.significant for d in within)
        assert min(d.p_adjusted for d in within) == overall.p_adjusted
        assert found.heterogeneity[0].p < 0.001

    def test_heterogeneity_is_that_of_welch(self):
        parts = [np.random.default_rng(n).normal(n / 9, n + 1, 8 + 5 * n) for n in range(4)]
        q, p = heterogeneity([spread(part) for part in parts])
        expected = anova_oneway(parts, use_var="unequal")
        assert p == pytest.approx(expected.pvalue)
        weights = np.array([part.size / part.var(ddof=1) for part in parts])
        means = np.array([part.mean() for part in parts])
        assert q == pytest.approx(weights @ (means - np.average(means, weights=weights)) ** 2)

    def test_heterogeneity_without_variation_is_nan(self):
        assert math.isnan(heterogeneity([spread(np.ones(3)), spread(np.arange(3.0))])[1])

    def test_a_segment_without_variation_varies_as_in_its_interval(self):
        rng = np.random.default_rng(6)
        cold = np.repeat([True, False], [50, 300])
        gained = (~cold & (rng.random(350) < 0.2)).astype(float)
        labels = {n: "cold" if one else "warm" for n, one in enumerate(cold)}
        values = {"new": gained, "old": np.zeros(350)}
        found = rm.compare_values(values, segments=labels, baseline="old", scale=(0, 1))
        (one,) = found.heterogeneity
        steadied = [spread(np.zeros(50)).steadied(1.0), spread(gained[~cold])]
        assert (one.statistic, one.p) == heterogeneity(steadied)
        assert "not the same for all segments: better in warm" in str(found.headline())
        unknown = rm.compare_values(values, segments=labels, baseline="old").heterogeneity[0]
        assert unknown.p == pytest.approx(one.p)  # the span is that of the values
        alike = {"new": np.where(cold, 0.3, gained), "old": np.zeros(350)}
        assert rm.compare_values(alike, segments=labels).heterogeneity[0].p < 0.2

    def test_it_is_in_the_notes_and_in_json(self):
        found = compared(self.values, segments=self.labels)
        (one,) = found.heterogeneity
        assert (one.a, one.b, one.n) == ("s00", "s01", 10)
        assert any("the same in all 10 segments? Q = " in note for note in found.table().notes)
        assert found.to_dict()["heterogeneity"][0]["p"] == one.p

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

    def test_a_note_names_at_most_ten_differences(self):
        one = Heterogeneity("rr", "a", "b", 9.0, 0.001, 3)
        clauses = {("rr", "a", "b"): "not the same for all segments"}
        note = segment_notes([one] * 12 + [replace(one, p=0.5)], 0.05, clauses, gated=False)[1]
        assert note.count("a − b on rr (p = 0.0010)") == 10
        assert note.endswith("; 2 more in `heterogeneity`; not shown for 1 other")

        note = segment_notes([one, replace(one, p=math.nan)], 0.05, clauses, gated=False)[1]
        assert note.endswith("; not testable for 1, as a segment has no variation")
        assert segment_notes([replace(one, p=0.5)] * 2, 0.05, clauses, gated=False)[1] == (
            "do differences vary between the 3 segments? not shown for 2"
        )

    def test_tukey_corrects_over_segments(self):
        rng = np.random.default_rng(6)
        values = rng.random((200, 3)) + [0, 0.2, 0.3]
        found = compared(values, test="tukey", segments=self.labels)
        within = [d for d in found.differences if d.segment]
        for d in within:
            assert d.p_adjusted >= min(1, 10 * d.p) - 1e-15


class TestTukey:
    rng = np.random.default_rng(2)
    model = rng.random((100, 1))
    near = model + 0.001 * rng.random((100, 8))
    values = np.column_stack([near, rng.random((100, 2))])

    @pytest.mark.parametrize("test", ["tukey", "randomized-tukey"])
    def test_pairs_that_vary_more_than_assumed_have_their_own_variance(self, test):
        found = compared(self.values, test=test, n_resamples=499)
        last = found.differences[-1]
        x, y = self.values[:, 8], self.values[:, 9]
        assert last.p >= min(1, 45 * stats.ttest_rel(x, y).pvalue) - 1e-12
        assert any("vary alike" in note for note in found.table().notes)

    def test_its_p_is_said_to_be_adjusted(self):
        found = compared(np.random.default_rng(0).random((60, 3)) + [0, 0, 1], test="tukey")
        assert "adjusted p < 0.0001 (3 comparisons)" in found.differences[1].sentence()

    def test_its_interval_stays_simultaneous(self):
        labels = {u: u for u in range(100)}
        alike = np.random.default_rng(0).random((100, 3))
        plain = compared(alike, test="tukey").differences
        for options in ({"clusters": labels}, {"interval": "bca"}):
            other = compared(alike, test="tukey", **options).differences
            assert [d.low for d in other] == pytest.approx([d.low for d in plain])


class TestSentences:
    def test_the_direction_is_that_of_the_test(self):
        values = np.array([[0.50, 0.45]] * 90 + [[0.0, 1.0]] * 10)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RankmeterWarning)
            for test in ("sign", "wilcoxon"):
                (d,) = compared(values, test=test).differences
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
        assert "adjusted p = " in torn[0].sentence()

    def test_few_differing_users_can_show_a_difference_that_makes_more_differ(self):
        """Of 50 users 6 have to differ: in 4 of 5 studies, if 15.5 % do."""
        values = np.zeros((50, 2))
        values[:4, 0] = 1.0
        (d,) = compared(values).differences
        assert stats.binom.sf(5, 50, d.detectable) == pytest.approx(0.8, abs=1e-3)
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

    @pytest.mark.parametrize("alpha", [0.9, 1e-17])
    def test_at_any_level(self, alpha):
        values = np.random.default_rng(0).random((100, 2))
        for test in ("randomization", "t"):
            assert compared(values, test=test, alpha=alpha).differences[0].sentence()

    @pytest.mark.parametrize(("n", "changed"), [(30, 8), (100, 32), (400, 100), (40, 40)])
    @pytest.mark.parametrize("alpha", [0.05, 0.003])
    def test_the_exact_test_of_hits_finds_its_difference_in_4_of_5_cases(self, n, changed, alpha):
        """By SciPy: the sum over the differing users, and the hits of the better system."""
        least = minimum_detectable_share(n, changed, alpha=alpha)
        apart, m = max(changed / n, least), np.arange(n + 1)
        critical = stats.binom.isf(alpha / 2, m, 0.5) + 1
        better = 0.5 + least / apart / 2
        found = stats.binom.sf(critical - 1, m, better) + stats.binom.cdf(m - critical, m, better)
        assert stats.binom.pmf(m, n, apart) @ found == pytest.approx(0.8, abs=1e-3)

    def test_hit_rates_have_that_of_the_exact_test(self):
        rng = np.random.default_rng(0)
        values = (rng.random((500, 2)) < 0.2).astype(float)
        for n in (100, 500):
            some = values[:n]
            changed = int((some[:, 0] != some[:, 1]).sum())
            least = compared(some).differences[0].detectable
            by_t = compared(some, test="t").differences[0].detectable
            exact = minimum_detectable_share(n, changed)
            assert least == pytest.approx(exact if changed <= 100 else by_t + 1 / n)
            assert least == pytest.approx(exact, rel=0.05)
