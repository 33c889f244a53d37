"""Effect sizes, corrections and power: worked values, brute force and laws."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankmeter._statistics.paired_tests import (
    cohens_dz,
    paired_t_test,
    relative_gain,
    wins_ties_losses,
)
from rankmeter._statistics.power import minimum_detectable_effect
from rankmeter._statistics.step_down import adjust_p_values
from rankmeter.errors import InvalidValueError, UsageError

pytestmark = pytest.mark.once

A = np.array([0.30, 0.42, 0.11, 0.55, 0.63, 0.20, 0.48, 0.37, 0.72, 0.15, 0.44, 0.58])
B = np.array([0.27, 0.35, 0.14, 0.50, 0.55, 0.20, 0.40, 0.39, 0.60, 0.12, 0.35, 0.49])

VALUES = st.lists(st.integers(0, 10).map(lambda tenths: tenths / 10), min_size=1, max_size=20)
PROBABILITIES = st.lists(st.floats(0, 1), max_size=20)

# ---------------------------------------------------------------- effect sizes


def test_effect_sizes_of_the_fixture():
    assert cohens_dz(A, B) == pytest.approx(1.0335705348, abs=5e-11)
    assert wins_ties_losses(A, B) == (9, 1, 2)
    assert relative_gain(A, B)[0] == pytest.approx(4.95 / 4.36 - 1, rel=1e-12)


def test_effect_sizes_worked_by_hand():
    assert wins_ties_losses([1.0, 2.0, 3.0], [0.0, 2.0, 1.0]) == (2, 1, 0)
    # The differences are 1, 2, 3, with the mean 2 and the standard deviation 1.
    assert cohens_dz([2.0, 4.0, 6.0], [1.0, 2.0, 3.0]) == 2.0
    assert relative_gain([4.0, 6.0, 8.0], [2.0, 3.0, 4.0]) == (1.0, (1.0, 1.0))


def test_standardized_effects_at_their_edges():
    assert cohens_dz(A, A) == 0.0
    assert math.isnan(cohens_dz([1.0], [0.0]))
    assert math.isnan(cohens_dz([], []))


def test_a_constant_difference_is_infinitely_many_of_its_deviations():
    assert cohens_dz(B - 0.1, B) == -math.inf
    assert cohens_dz(B + 0.1, B) == math.inf
    assert cohens_dz([0.1, 0.1], [0.1, 0.1]) == 0.0


def test_d_z_is_t_by_the_root_of_the_users():
    assert cohens_dz(A, B) == pytest.approx(
        paired_t_test(A, B).statistic / math.sqrt(12), rel=1e-12
    )


def test_the_smallest_difference_is_a_win_and_nobody_wins_among_nobody():
    assert wins_ties_losses([1e-300, 0.0], [0.0, 1e-300]) == (1, 0, 1)
    assert wins_ties_losses([], []) == (0, 0, 0)


@given(VALUES)
def test_wins_of_one_are_losses_of_the_other(a):
    b = a[::-1]
    assert wins_ties_losses(a, b) == wins_ties_losses(b, a)[::-1]


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
def test_the_gain_excludes_0_exactly_where_t_is_significant(confidence):
    rng = np.random.default_rng(0)
    decided = 0
    for _ in range(200):
        b = rng.exponential(size=40)
        a = b + 0.25 * rng.normal(size=40) + 0.08
        _, (low, high) = relative_gain(a, b, confidence=confidence)
        significant = paired_t_test(a, b).p < 1 - confidence
        assert significant == (not low <= 0 <= high)
        decided += significant
    assert 20 < decided < 200


def test_the_gain_of_many_users_has_the_interval_of_the_delta_method():
    rng = np.random.default_rng(1)
    b = rng.exponential(size=50_000)
    a = 1.1 * b + rng.normal(size=50_000)
    gain, interval = relative_gain(a, b)
    residual = a - (1 + gain) * b
    half = 1.96 * residual.std() / b.mean() / math.sqrt(50_000)
    assert interval == pytest.approx((gain - half, gain + half), rel=1e-3)


def test_the_interval_of_the_gain_covers_it():
    rng = np.random.default_rng(2)
    covered = 0
    for _ in range(1000):
        b = rng.beta(1, 3, 100)
        a = np.clip(b + rng.normal(0.05, 0.2, 100), 0, None)
        _, (low, high) = relative_gain(a, b)
        covered += low <= TRUE_GAIN <= high
    assert 0.93 <= covered / 1000 <= 0.97


def _true_gain():
    rng = np.random.default_rng(3)
    b = rng.beta(1, 3, 4_000_000)
    return np.clip(b + rng.normal(0.05, 0.2, b.size), 0, None).mean() / b.mean() - 1


TRUE_GAIN = _true_gain()


def test_a_gain_over_almost_nothing_has_no_bounds():
    gain, interval = relative_gain([1.0, 2.0, 3.0], [0.0, 0.0, 0.1])
    assert gain == pytest.approx(59)
    assert interval == (-math.inf, math.inf)


@pytest.mark.parametrize("b", [[], [0.0, 0.0]])
def test_a_gain_over_nothing_is_undefined(b):
    gain, interval = relative_gain([1.0] * len(b), b)
    assert math.isnan(gain)
    assert all(map(math.isnan, interval))


def test_the_gain_of_one_user_has_no_interval():
    gain, interval = relative_gain([3.0], [2.0])
    assert gain == 0.5
    assert all(map(math.isnan, interval))


@pytest.mark.parametrize(
    "effect",
    [cohens_dz, wins_ties_losses, relative_gain],
)
def test_unpaired_vectors_are_refused(effect):
    with pytest.raises(UsageError, match="got 2 and 1 values"):
        effect([1.0, 2.0], [1.0])


# ---------------------------------------------------------------- corrections


def test_holm_of_the_fixture():
    c = [0.25, 0.36, 0.10, 0.47, 0.50, 0.22, 0.41, 0.30, 0.61, 0.10, 0.36, 0.45]
    p = [paired_t_test(A, B).p, paired_t_test(A, c).p, paired_t_test(B, c).p]
    assert p == pytest.approx([0.00431568, 0.000235249, 0.0684923], rel=3e-6)
    expected = [0.00863136, 0.00070575, 0.06849233]
    assert adjust_p_values(p) == pytest.approx(expected, abs=5e-9)


def test_holm_multiplies_the_smallest_of_three_by_3_and_the_next_by_2():
    assert adjust_p_values([0.04, 0.01, 0.03]) == pytest.approx([0.06, 0.03, 0.06], rel=1e-15)


@given(p=PROBABILITIES)
def test_holm_raises_p_and_keeps_its_order(p):
    adjusted = adjust_p_values(p)
    assert np.all(adjusted >= p)
    assert np.all(adjusted <= 1.0)
    assert np.all(np.diff(adjusted[np.argsort(p)]) >= 0)


@given(PROBABILITIES)
def test_holm_never_claims_less_than_bonferroni(p):
    assert np.all(adjust_p_values(p) <= np.minimum(np.array(p) * len(p), 1.0) + 1e-15)


def test_tests_without_an_answer_are_not_in_the_family():
    p = np.array([[0.01, math.nan], [0.02, 0.03]])
    expected = adjust_p_values([0.01, 0.02, 0.03])
    adjusted = adjust_p_values(p)
    assert adjusted[0, 0] == expected[0]
    assert math.isnan(adjusted[0, 1])
    assert adjusted[1].tolist() == expected[1:].tolist()
    assert np.isnan(adjust_p_values([math.nan])).all()


def test_corrections_refuse_what_is_no_probability():
    with pytest.raises(InvalidValueError, match=r"between 0 and 1, got 0\.5 to 1\.5"):
        adjust_p_values([0.5, 1.5])


# ---------------------------------------------------------------- power


@pytest.mark.parametrize(
    ("n", "effect"),
    [(25, 0.58403), (50, 0.40418), (100, 0.28291), (1000, 0.08868), (10_000, 0.02802)],
)
def test_minimum_detectable_effects_of_the_reference(n, effect):
    assert minimum_detectable_effect(n) == pytest.approx(effect, abs=5e-6)


@pytest.mark.parametrize("n", [2, 3, 100, 10**6, 10**9])
@pytest.mark.parametrize("alpha", [0.05, 1e-5, 1e-9])
def test_no_minimum_detectable_effect_is_nan(n, alpha):
    assert 0 < minimum_detectable_effect(n, alpha=alpha) < math.inf


def test_simulated_power_is_the_power_asked_for():
    rng = np.random.default_rng(0)
    effect = minimum_detectable_effect(30, sd=2.0, power=0.7)
    x = rng.normal(effect, 2.0, (20_000, 30))
    t = x.mean(axis=1) / (x.std(axis=1, ddof=1) / math.sqrt(30))
    assert np.mean(np.abs(t) > 2.0452296) == pytest.approx(0.7, abs=0.013)


def test_the_effect_scales_with_the_deviation():
    assert minimum_detectable_effect(50, sd=3.0) == 3.0 * minimum_detectable_effect(50)
    assert minimum_detectable_effect(50, sd=0.0) == 0.0


@pytest.mark.parametrize("n", [0, 1])
def test_fewer_than_two_users_detect_nothing(n):
    assert math.isnan(minimum_detectable_effect(n))


@pytest.mark.parametrize(
    "options", [{"power": 1.0}, {"alpha": 0.0}, {"power": 0.04}, {"sd": -1.0}, {"sd": math.nan}]
)
def test_power_refuses_what_is_out_of_range(options):
    with pytest.raises(UsageError, match="got"):
        minimum_detectable_effect(100, **options)
