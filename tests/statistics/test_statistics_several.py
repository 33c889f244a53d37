"""Tests of several systems at once: the worked example, SciPy and statsmodels, error rates."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from rankmeter._statistics.all_pairs import randomized_tukey_hsd, tukey_hsd
from rankmeter._statistics.paired_tests import paired_t_test, randomization_test
from rankmeter.errors import UsageError

pytestmark = pytest.mark.once

FIXTURE = np.array(
    [
        [0.30, 0.42, 0.11, 0.55, 0.63, 0.20, 0.48, 0.37, 0.72, 0.15, 0.44, 0.58],
        [0.27, 0.35, 0.14, 0.50, 0.55, 0.20, 0.40, 0.39, 0.60, 0.12, 0.35, 0.49],
        [0.25, 0.36, 0.10, 0.47, 0.50, 0.22, 0.41, 0.30, 0.61, 0.10, 0.36, 0.45],
    ]
).T
PAIRWISE = [tukey_hsd, randomized_tukey_hsd]


def test_blocked_tukey_of_the_fixture():
    ab, ac, bc = tukey_hsd(FIXTURE)
    q = [5.728131, 7.961131, 2.233000]
    assert [r.statistic for r in (ab, ac, bc)] == pytest.approx(q, abs=5e-7)
    assert ab.p == pytest.approx(0.00148744, abs=5e-9)
    assert ac.p == pytest.approx(3.35684e-05, abs=5e-11)
    assert bc.p == pytest.approx(0.27550098, abs=5e-9)


def test_randomized_tukey_of_the_fixture():
    ab, ac, bc = (r.p for r in randomized_tukey_hsd(FIXTURE, n_resamples=20_000))
    assert ab == pytest.approx(0.0164, abs=0.003)
    assert ac == pytest.approx(0.00015, abs=0.00015)
    assert bc == pytest.approx(0.590, abs=0.015)


def test_tukey_of_blocks_without_a_block_effect_is_scipys_with_fewer_degrees_of_freedom():
    """If all users have equal means, removing their effect only costs degrees of freedom."""
    scores = np.random.default_rng(1).normal(size=(30, 4))
    scores -= scores.mean(axis=1, keepdims=True)
    ours = tukey_hsd(scores)
    residual = scores - scores.mean(axis=0)
    mse = (residual**2).sum() / 87
    for result, (i, j) in zip(ours, itertools.combinations(range(4), 2), strict=True):
        q = abs(scores[:, i].mean() - scores[:, j].mean()) / math.sqrt(mse / 30)
        assert result.statistic == pytest.approx(q, rel=1e-12)
        assert result.p == pytest.approx(stats.studentized_range.sf(q, 4, 87), rel=1e-9)


def test_taking_the_users_out_finds_what_separate_samples_miss():
    unpaired = stats.tukey_hsd(*FIXTURE.T).pvalue[0, 1]
    assert unpaired == pytest.approx(0.7614, abs=5e-5)
    assert tukey_hsd(FIXTURE)[0].p < 0.01 < unpaired


def test_two_systems_are_the_paired_t_test():
    a, b = FIXTURE[:, 0], FIXTURE[:, 1]
    t, (tukey,) = paired_t_test(a, b), tukey_hsd(FIXTURE[:, :2])
    assert tukey.p == pytest.approx(t.p, rel=1e-7)
    assert tukey.interval == pytest.approx(t.interval, rel=1e-6)


def test_two_systems_are_the_randomization_test():
    (tukey,) = randomized_tukey_hsd(FIXTURE[:, :2], n_resamples=50_000)
    exact = randomization_test(FIXTURE[:, 0], FIXTURE[:, 1]).p
    assert tukey.p == pytest.approx(exact, abs=4 * math.sqrt(exact / 50_000))


@pytest.mark.parametrize("test", PAIRWISE)
def test_p_falls_below_the_level_exactly_where_the_interval_leaves_0(test):
    rng = np.random.default_rng(4)
    for effect in (0.0, 0.3, 0.6):
        scores = rng.normal(size=(25, 4)) + effect * np.arange(4)
        for result in test(scores, confidence=0.9):
            assert (result.p < 0.1) == (not result.interval.low <= 0 <= result.interval.high)


def test_far_tails_stay_above_0_and_keep_their_order():
    """Where SciPy's integral is all rounding: p goes on falling as the difference grows."""
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(200, 3))
    p = [tukey_hsd(noise + effect * np.array([0.0, 1.0, 1.0]))[0].p for effect in range(1, 60, 4)]
    assert all(0 < later <= earlier for earlier, later in itertools.pairwise(p))
    assert p[1] < 1e-50


def test_the_far_tail_meets_scipys_where_both_are_right():
    from rankmeter._statistics.intervals import t_tail_probability

    for m, df, q in [(3, 60, 9.5), (10, 1000, 9.0), (4, 100_000, 8.8)]:
        pairs = m * (m - 1) / 2
        bound = 2 * pairs * t_tail_probability(q / math.sqrt(2), df)
        assert bound == pytest.approx(stats.studentized_range.sf(q, m, df), rel=0.02)


@pytest.mark.parametrize("test", PAIRWISE)
def test_identical_systems_have_p_1(test):
    column = np.random.default_rng(0).random((20, 1))
    for result in test(np.repeat(column, 3, axis=1)):
        assert result.p == 1.0


@pytest.mark.parametrize("test", PAIRWISE)
@pytest.mark.parametrize("n", [0, 1])
def test_fewer_than_two_users_have_no_p_and_a_reason(test, n):
    for result in test(np.ones((n, 3))):
        assert math.isnan(result.p)
        assert result.note == f"a paired test needs at least 2 users, got {n}"


def test_constant_differences_leave_nothing_to_compare_with():
    scores = np.array([[0.1], [0.2], [0.3]]) + [0.0, 0.1, 0.1]
    first, _, last = tukey_hsd(scores)
    assert math.isnan(first.p)
    assert "same amount" in first.note
    assert last.p == 1.0  # the second and the third system are the same


@pytest.mark.parametrize("test", PAIRWISE)
def test_reordering_the_systems_reorders_the_answers(test):
    plain = [r.p for r in test(FIXTURE)]  # ab, ac, bc
    moved = [r.p for r in test(FIXTURE[:, [2, 0, 1]])]  # ca, cb, ab
    tolerance = 0.02 if test is randomized_tukey_hsd else 1e-9
    assert moved[-1:] + moved[:-1] == pytest.approx(plain, abs=tolerance)


def test_a_permutation_depends_on_its_number_and_not_on_how_many_there_are():
    scores = np.random.default_rng(0).random((700, 10))
    few = [r.p * 41 for r in randomized_tukey_hsd(scores, n_resamples=40, seed=3)]
    many = [r.p * 201 for r in randomized_tukey_hsd(scores, n_resamples=200, seed=3)]
    assert all(later >= earlier - 1e-9 for earlier, later in zip(few, many, strict=True))
    again = [r.p * 41 for r in randomized_tukey_hsd(scores, n_resamples=40, seed=3)]
    assert few == again


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tukey_hsd(FIXTURE[:, :1]), "at least 2 columns, got 1"),
        (lambda: tukey_hsd(FIXTURE, confidence=1.5), "got 1.5"),
        (lambda: randomized_tukey_hsd(FIXTURE, n_resamples=0), "≥ 1, got 0"),
        (lambda: tukey_hsd(FIXTURE[:, 0]), r"got \(12,\)"),
    ],
)
def test_wrong_input_is_refused(call, message):
    with pytest.raises(UsageError, match=message):
        call()
