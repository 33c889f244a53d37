"""The step-down test on shared flips, and what it makes of many comparisons, on plain arrays."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from test_statistics_stepdown import compared

import rankmeter as rm
from rankmeter._results.differences import Heterogeneity, segment_notes
from rankmeter._statistics.intervals import spread_of_mean
from rankmeter._statistics.paired_tests import heterogeneity_test, randomization_tests
from rankmeter._statistics.power import minimum_detectable_share
from rankmeter._statistics.step_down import Hypotheses, step_down_test

pytestmark = pytest.mark.once


RNG = np.random.default_rng(3)


SCORES = RNG.random((60, 4))


PAIRS = list(itertools.combinations(range(4), 2))


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
    found = step_down_test([Hypotheses(scores, pairs)])
    assert found.n_resamples == 0
    assert found.adjusted == pytest.approx([expected[at] for at in range(3)])
    assert found.p == pytest.approx([r.p for r in randomization_tests(scores, pairs)])


def test_a_single_step_compares_each_with_the_largest_of_all():
    """Over every choice of signs; the pairs outside of the family count in the single step."""
    scores, pairs = SCORES[:9, :3] + [0, 0, 0.6], list(itertools.combinations(range(3), 2))
    p = p_by_signs(scores, pairs)
    smallest = p.min(axis=1)
    expected = pytest.approx([np.mean(smallest <= one + 1e-9) for one in p[0]])
    found = step_down_test([Hypotheses(scores, pairs)])
    assert found.single == expected
    assert np.all(found.single >= found.adjusted)
    part = step_down_test([Hypotheses(scores, pairs, 2)])
    alone = step_down_test([Hypotheses(scores, pairs[:2])])
    assert part.single == expected
    assert part.adjusted[:2].tolist() == alone.adjusted.tolist()
    assert math.isnan(part.adjusted[2])
    assert part.level == alone.level


def test_the_flips_are_those_of_the_randomization_test():
    found = step_down_test([Hypotheses(SCORES, PAIRS)], seed=5)
    assert found.p.tolist() == [r.p for r in randomization_tests(SCORES, PAIRS, seed=5)]
    assert np.all(found.adjusted >= found.p)
    order = np.argsort(found.p)
    assert np.all(np.diff(found.adjusted[order]) >= 0)


def test_one_hypothesis_is_not_corrected():
    found = step_down_test([Hypotheses(SCORES, [(0, 1)])])
    assert found.adjusted.tolist() == found.p.tolist()


def test_copies_count_once():
    copies = np.column_stack([SCORES[:, :2], *[SCORES[:, 1]] * 5])
    pairs = [(0, j) for j in range(1, 7)]
    found = step_down_test([Hypotheses(copies, pairs)])
    assert found.adjusted == pytest.approx(found.p)


def test_tables_of_other_users_have_their_own_coins():
    once = step_down_test([Hypotheses(SCORES, [(0, 1)])])
    twice = step_down_test([Hypotheses(SCORES, [(0, 1)])] * 2)
    assert twice.p[0] == once.p[0] != twice.p[1]
    assert twice.level < once.level == 0.05


def test_few_users_with_a_large_difference_are_not_drowned_by_many():
    """Fourteen users of one sign: p is 2 of 16,384 signs, and no other difference comes close."""
    values = np.random.default_rng(0).normal(0.0, 1.0, (100, 8))
    values[:, :2] = 0.0
    values[:14, 1] = [1.0, *[0.1] * 13]
    found = step_down_test([Hypotheses(values, [(i, 0) for i in range(1, 8)])], n_resamples=99_999)
    assert found.p[0] < 0.0004
    assert found.adjusted[0] < 7.5 * found.p[0]


def test_many_users_have_the_normal_limit_of_flips():
    """At the same values: repeated 700 times they are too many to flip, and have the same p."""
    rng = np.random.default_rng(2)
    values = rng.normal(0.0, 1.0, (150, 4))
    values -= values.mean(axis=0) * (1 - 1 / math.sqrt(700))  # the same t at 700 times the users
    many = step_down_test([Hypotheses(np.tile(values, (700, 1)), PAIRS)])
    few = step_down_test([Hypotheses(np.tile(values, (70, 1)), PAIRS)])
    d = np.tile(values[:, 0] - values[:, 1], 700)
    assert many.p[0] == pytest.approx(2 * stats.norm.sf(abs(d.sum()) / np.linalg.norm(d)))
    assert many.level == pytest.approx(few.level, rel=0.15)
    copies = step_down_test([Hypotheses(np.tile(values, (700, 1)), [(0, 1)] * 6)])
    assert copies.adjusted == pytest.approx(copies.p, abs=0.02)


def test_a_p_close_to_the_level_is_drawn_with_more_flips():
    d = np.concatenate([np.full(31, 1.0), np.full(50, -1.0)])
    scores = np.column_stack([d, np.zeros(81)])
    found = [step_down_test([Hypotheses(scores, [(0, 1)])], seed=seed) for seed in range(6)]
    assert all(one.n_resamples == 99_999 for one in found)
    assert np.ptp([one.p[0] for one in found]) < 0.004


@pytest.mark.parametrize("level", [0.5, 0.2, 0.05, 0.01])
def test_the_level_of_a_comparison_agrees_with_the_single_step(level):
    found = step_down_test([Hypotheses(SCORES, PAIRS)], level=level)
    assert level / 6 <= found.level <= level
    assert np.all((found.single <= level) == (found.p < found.level))


class TestFamilies:
    def test_equal_systems_are_seldom_told_apart(self):
        rng, claims = np.random.default_rng(0), 0
        for seed in range(150):
            easy = rng.beta(0.6, 2.5, (60, 1))
            scores = (rng.random((60, 5)) < easy).astype(float)
            pairs = list(itertools.combinations(range(5), 2))
            found = step_down_test([Hypotheses(scores, pairs)], n_resamples=499, seed=seed)
            claims += found.adjusted.min() <= 0.05
        assert claims <= 0.05 * 150 + 3 * math.sqrt(0.05 * 0.95 * 150)


class TestSegments:
    rng = np.random.default_rng(4)
    values = np.column_stack([rng.random(200), rng.random(200) + 0.12])

    labels = {u: f"part {u % 10}" for u in range(200)}

    def test_heterogeneity_without_variation_is_nan(self):
        assert math.isnan(
            heterogeneity_test([spread_of_mean(np.ones(3)), spread_of_mean(np.arange(3.0))])[1]
        )

    def test_a_segment_without_variation_varies_as_in_its_interval(self):
        rng = np.random.default_rng(6)
        cold = np.repeat([True, False], [50, 300])
        gained = (~cold & (rng.random(350) < 0.2)).astype(float)
        labels = {n: "cold" if one else "warm" for n, one in enumerate(cold)}
        values = {"new": gained, "old": np.zeros(350)}
        found = rm.compare_values(values, segments=labels, baseline="old", scale=(0, 1))
        (one,) = found.heterogeneity
        steadied = [
            spread_of_mean(np.zeros(50)).with_pseudo_unit(1.0),
            spread_of_mean(gained[~cold]),
        ]
        assert (one.statistic, one.p) == heterogeneity_test(steadied)
        assert "not the same for all segments: better in warm" in repr(found).splitlines()
        shops = {n: "sold in all shops" if one == "warm" else one for n, one in labels.items()}
        told = rm.compare_values(values, segments=shops, baseline="old", scale=(0, 1))
        assert "not the same for all segments: better in sold in all shops" in repr(told)
        unknown = rm.compare_values(values, segments=labels, baseline="old").heterogeneity[0]
        assert unknown.p == pytest.approx(one.p)  # the span is that of the values
        alike = {"new": np.where(cold, 0.3, gained), "old": np.zeros(350)}
        assert rm.compare_values(alike, segments=labels).heterogeneity[0].p < 0.2

    def test_better_everywhere_by_different_amounts_says_so(self):
        labels = {n: "cold" if n < 200 else "warm" for n in range(400)}
        new = [float(n % 10 < (3 if n < 200 else 8)) for n in range(400)]
        found = rm.compare_values(
            {"new": new, "old": [0.0] * 400}, segments=labels, baseline="old", scale=(0, 1)
        )
        clause = "not the same for all segments: better in all 2, by different amounts"
        assert clause in repr(found).splitlines()
        assert "but not" not in found.headline().title

    def test_it_is_in_the_notes_and_in_json(self):
        found = compared(self.values, segments=self.labels)
        (one,) = found.heterogeneity
        assert (one.a, one.b, one.n) == ("s00", "s01", 10)
        assert any("the same in all 10 segments? Q = " in note for note in found.table().notes)
        assert found.to_dict()["heterogeneity"][0]["p"] == one.p

    def test_a_note_names_at_most_ten_differences(self):
        one = Heterogeneity("rr", "a", "b", 9.0, 0.001, 3)
        clause = "not the same for all segments"
        many = {replace(one, statistic=float(i)): clause for i in range(12)}
        note = segment_notes(many | {replace(one, p=0.5): ""}, 0.05)[1]
        assert note.count("a − b on rr (p = 0.0010)") == 10
        assert note.endswith("; 2 more in `heterogeneity`; not shown for 1 other")

        note = segment_notes({one: clause, replace(one, p=math.nan): ""}, 0.05)[1]
        assert note.endswith("; not testable for 1, as a segment has no variation")
        equal = {replace(one, p=p): "" for p in (0.5, 0.6)}
        assert segment_notes(equal, 0.05)[1] == (
            "do differences vary between the 3 segments? not shown for 2"
        )


class TestDetectable:
    @pytest.mark.parametrize(("n", "changed"), [(30, 8), (100, 32), (400, 100), (40, 40)])
    @pytest.mark.parametrize("alpha", [0.05, 0.003])
    def test_the_exact_test_of_hits_finds_its_difference_in_4_of_5_cases(self, n, changed, alpha):
        """By SciPy: the sum over the differing users, and the hits of the better system."""
        least = minimum_detectable_share(n, changed, alpha=alpha)
        apart, m = max(changed / n, least), np.arange(n + 1)
        critical = stats.binom.isf(alpha / 2, m, 0.5)
        half = 0.5 * stats.binom.pmf(critical, m, 0.5)
        critical += stats.binom.sf(critical, m, 0.5) + half > alpha / 2
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
            assert least == pytest.approx(exact if changed <= 100 else by_t)
            assert least == pytest.approx(exact, rel=0.05)
