"""Tests of two systems: published values, SciPy, brute force, and impossible results."""

import itertools
import math
import os
import subprocess
import sys
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import rankmeter as rm
from mean_intervals import t_interval
from rankmeter._statistics import paired_tests as randomization
from rankmeter._statistics.intervals import bootstrap_interval
from rankmeter._statistics.paired_tests import (
    WILCOXON_CAUTION,
    paired_t_test,
    randomization_tests,
    wilcoxon_test,
)
from rankmeter._statistics.vectors import flip_coins
from rankmeter.errors import InvalidValueError, RankmeterWarning, UsageError

pytestmark = pytest.mark.once

A = np.array([0.30, 0.42, 0.11, 0.55, 0.63, 0.20, 0.48, 0.37, 0.72, 0.15, 0.44, 0.58])
B = np.array([0.27, 0.35, 0.14, 0.50, 0.55, 0.20, 0.40, 0.39, 0.60, 0.12, 0.35, 0.49])

LISTS = {1: ["x"], 2: ["y", "x"]}


def randomization_test(a, b, **options):
    """The randomization test of one pair."""
    return randomization_tests(np.column_stack([a, b]), [(0, 1)], **options)[0]


TESTS = {"t": paired_t_test, "randomization": randomization_test, "wilcoxon": wilcoxon_test}

COARSE = st.lists(
    st.tuples(st.sampled_from([0.0, 0.1, 0.2, 0.5, 1.0]), st.sampled_from([0.0, 0.1, 0.3, 1.0])),
    min_size=2,
    max_size=9,
).map(lambda rows: np.array(rows).T)


def users(n, seed=0, effect=0.0):
    """Two systems with skewed values and many ties, as reciprocal ranks have."""
    rng = np.random.default_rng(seed)
    found = rng.random((2, n)) < rng.beta(1, 3, n) + effect * np.array([[1.0], [0.0]])
    return found / rng.integers(1, 11, (2, n))


# ---------------------------------------------------------------- published and worked values


def test_t_of_the_fixture():
    result = paired_t_test(A, B)
    assert result.difference == pytest.approx(0.0491666667, abs=5e-11)
    assert result.statistic == pytest.approx(3.5803933590, abs=5e-11)
    assert result.p == pytest.approx(0.0043156822, abs=5e-11)
    assert t_interval(A - B) == pytest.approx((0.0189423050, 0.0793910283), abs=5e-11)


def test_t_of_three_differences():
    """Differences 1, 2, 3: t = 2 / (1 / √3)."""
    result = paired_t_test([2.0, 4.0, 6.0], [1.0, 2.0, 3.0])
    assert (result.statistic, result.p) == pytest.approx((3.464102, 0.07418), abs=5e-7)


@pytest.mark.parametrize("method", ["randomization", "wilcoxon"])
def test_two_of_eight_choices_of_signs(method):
    """The differences 1, 2, 3 have the ranks 1, 2, 3, and the sum 6 with all signs alike."""
    assert TESTS[method]([2.0, 4.0, 6.0], [1.0, 2.0, 3.0]).p == 0.25


def test_tests_of_many_pairs():
    tests = randomization_tests([[2, 1, 1], [4, 2, 2], [6, 3, 3]], [(0, 1), (1, 2)])
    assert [test.p for test in tests] == [0.25, 1.0]


def test_randomization_of_the_fixture_is_exact():
    result = randomization_test(A, B)
    assert result.p == 36 / 4096
    assert (result.method, result.draws) == ("randomization (exact)", 0)


def test_wilcoxon_of_the_fixture():
    result = wilcoxon_test(A, B)
    assert (result.statistic, result.p) == (5.0, 0.009765625)


def test_the_method_that_does_not_test_means_says_so():
    with pytest.warns(RankmeterWarning, match="SIGIR 2019") as caught:
        rm.compare({"a": LISTS, "b": LISTS}, {1: {"x"}, 2: {"x"}}, "rr", test="wilcoxon")
    assert str(caught[0].message) == WILCOXON_CAUTION


# ---------------------------------------------------------------- other implementations


@pytest.mark.parametrize("n", [2, 3, 30, 1000])
def test_t_agrees_with_scipy(n):
    a, b = np.random.default_rng(n).random((2, n))
    theirs = stats.ttest_rel(a, b)
    ours = paired_t_test(a, b)
    assert (ours.statistic, ours.p) == pytest.approx((theirs.statistic, theirs.pvalue), rel=1e-9)
    low, high = theirs.confidence_interval(0.9)
    assert t_interval(a - b, 0.9) == pytest.approx((low, high), rel=1e-9)


@given(COARSE)
def test_exact_randomization_counts_all_signs(pair):
    """Ten tenths make one, though not in floats: ties are ties. Those of few hits count half."""
    a, b = pair
    tenths = np.rint(10 * (a - b)).astype(int)
    signs = itertools.product([-1, 1], repeat=a.size)
    sums, sum_ = np.array([abs(np.dot(s, tenths)) for s in signs]), abs(tenths.sum())
    sizes = set(np.abs(tenths))
    hits = len(sizes - {0}) == 1 and 2 * np.count_nonzero(tenths) <= tenths.size
    expected = np.mean(sums >= sum_) - 0.5 * hits * np.mean(sums == sum_)
    assert randomization_test(a, b).p == pytest.approx(expected, rel=1e-12)


def scipy_version():
    return tuple(map(int, scipy.__version__.split(".")[:2]))


def scipys_randomization(a, b, n_resamples):
    return stats.permutation_test(
        (a, b),
        lambda x, y, axis: np.mean(x - y, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=n_resamples,
        batch=1000,
        **{"rng" if scipy_version() >= (1, 15) else "random_state": 7},
    ).pvalue


@pytest.mark.parametrize("seed", range(4))
def test_exact_randomization_agrees_with_scipy(seed):
    a, b = np.random.default_rng(seed).random((2, 11)).round(1)
    assert randomization_test(a, b).p == scipys_randomization(a, b, n_resamples=np.inf)


@pytest.mark.filterwarnings("ignore:overflow encountered")  # SciPy 1.11 counts all the signs
@pytest.mark.parametrize(("n", "effect"), [(60, 0.1), (300, 0.04), (2500, 0.01)])
def test_drawn_randomization_agrees_with_scipy(n, effect):
    a, b = users(n, seed=n, effect=effect)
    ours, theirs = randomization_test(a, b).p, scipys_randomization(a, b, 9_999)
    error = math.sqrt(2 * theirs * (1 - theirs) / 9_999)
    assert 0.001 < theirs < 0.9
    assert ours == pytest.approx(theirs, abs=4 * error)


def test_a_near_miss_is_a_miss():
    """1 + 1 - 1e-9 does not reach 1 + 1 + 1e-9."""
    assert randomization_test([1.0, 1.0, 1e-9], [0.0, 0.0, 0.0]).p == 2 / 8


def test_every_user_has_a_coin_of_their_own():
    """If blocks of users shared their random flips, four equal blocks would flip together."""
    block = np.random.default_rng(0).normal(size=1024)
    differences = np.tile((block - block.mean()) / block.std() + 1.96 / 64, 4)
    assert randomization_test(differences, np.zeros(4096)).p == pytest.approx(0.05, abs=0.01)


def test_drawing_agrees_with_counting():
    a, b = users(29, seed=3, effect=0.2)
    exact = randomization_test(a, b).p
    drawn = randomization._sampled_p_values(np.column_stack([a, b]), [(0, 1)], 100_000, 0)
    assert 0.01 < exact < 0.9
    assert drawn[0] == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 100_000))


@pytest.mark.parametrize(("n", "method"), [(25, "exact"), (200, "approx")])
def test_wilcoxon_agrees_with_scipy(n, method):
    a, b = np.random.default_rng(n).random((2, n))
    if method == "approx":
        a[:20] = b[:20]
    theirs = stats.wilcoxon(a, b, method=method)
    ours = wilcoxon_test(a, b)
    assert (ours.statistic, ours.p) == pytest.approx((theirs.statistic, theirs.pvalue), rel=1e-9)


# ---------------------------------------------------------------- laws


@pytest.mark.parametrize("method", TESTS)
def test_swapping_the_systems_changes_the_sign_and_not_p(method):
    a, b = users(70, effect=0.1)
    one, other = TESTS[method](a, b), TESTS[method](b, a)
    assert one.p == pytest.approx(other.p, rel=1e-12)
    assert one.difference == -other.difference


@pytest.mark.parametrize("method", TESTS)
@pytest.mark.parametrize("n", [2, 40, 300])
def test_identical_systems_have_p_1(method, n):
    a, _ = users(n)
    result = TESTS[method](a, a.copy())
    assert (result.p, result.difference) == (1.0, 0.0)


@pytest.mark.parametrize("method", TESTS)
@pytest.mark.parametrize("n", [0, 1])
def test_fewer_than_two_users_have_no_p_and_a_reason(method, n):
    result = TESTS[method]([0.5] * n, [0.25] * n)
    assert math.isnan(result.p)
    assert result.note == f"a paired test needs at least 2 users, got {n}"


@pytest.mark.parametrize("method", TESTS)
def test_p_is_never_0(method):
    rng = np.random.default_rng(0)
    b = rng.random(3000)
    p = TESTS[method](b + 1 + 1e-3 * rng.random(3000), b).p
    if method == "randomization":
        assert p == 1 / 10_000
    else:
        assert 0 < p < 1e-300


@given(COARSE)
def test_shifting_both_systems_changes_no_randomization(pair):
    a, b = pair
    assert randomization_test(a + 7.3, b + 7.3).p == randomization_test(a, b).p


def test_users_who_all_differ_alike_leave_t_without_an_answer():
    b = np.array([0.1, 0.2, 0.3, 0.4])
    result = paired_t_test(b + 0.1, b)
    assert math.isnan(result.p)
    assert "same amount" in result.note
    assert t_interval((b + 0.1) - b) == pytest.approx((0.1, 0.1))
    assert randomization_test(b + 0.1, b).p == 2 / 16


def test_auto_without_shared_flips_uses_t_for_many_users(monkeypatch):
    a, b = users(50)
    values, options = {"a": a, "b": b}, {"correction": "holm"}
    (flipped,) = rm.compare_values(values, **options).differences
    assert flipped.p == randomization_test(a, b).p
    monkeypatch.setattr("rankmeter._results.paired.MOST_FLIPPED", 49)
    (by_t,) = rm.compare_values(values, **options).differences
    assert (by_t.p, by_t.method) == (paired_t_test(a, b).p, "paired t")


# ---------------------------------------------------------------- the seed, and nothing else

TABLE = np.column_stack([*users(2500), *users(2500, seed=1, effect=0.02)])
PAIRS = list(itertools.combinations(range(4), 2))


def drawn_p(**options):
    return [r.p for r in randomization_tests(TABLE, PAIRS, **{"n_resamples": 500} | options)]


def test_a_pair_has_the_same_p_alone_and_among_others():
    alone = [randomization_test(TABLE[:, i], TABLE[:, j], n_resamples=500).p for i, j in PAIRS]
    assert drawn_p() == alone


def test_the_seed_decides():
    assert drawn_p(seed=1) == drawn_p(seed=1)
    assert drawn_p(seed=1) != drawn_p(seed=2)


@pytest.mark.parametrize("flips", [1, 7, 499, 10_000])
def test_p_does_not_depend_on_how_many_flips_are_taken_at_once(monkeypatch, flips):
    expected = drawn_p(n_resamples=60)
    monkeypatch.setattr(randomization, "FLIPS", flips)
    assert drawn_p(n_resamples=60) == expected


def test_coins_are_fair_and_the_same_from_any_row():
    every = flip_coins(1, 2, slice(0, 400), 64)
    parts = [flip_coins(1, 2, slice(i, i + 100), 64) for i in range(0, 400, 100)]
    assert np.array_equal(every, np.concatenate(parts))
    bits = np.unpackbits(every, axis=1)
    assert bits.mean() == pytest.approx(0.5, abs=4 * 0.5 / math.sqrt(bits.size))
    assert abs(np.corrcoef(bits[:, :64].T) - np.eye(64)).max() < 0.25


def test_p_does_not_depend_on_threads():
    expected = drawn_p()
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda _: drawn_p(), range(8))) == [expected] * 8
    program = (
        f"import sys; sys.path[:0] = {[*map(str, Path(__file__).parents[:2])]}\n"
        "from test_statistics_paired import every_p\n"
        "print(every_p())"
    )
    alone = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        check=True,
        text=True,
    )
    assert alone.stdout == f"{every_p()}\n"


def every_p():
    """The answers of all that draws or adds up, as text."""
    return str(
        (
            drawn_p(),
            bootstrap_interval(TABLE[:, 0]),
        )
    )


def test_memory_follows_the_table_and_not_the_flips():
    table = np.random.default_rng(0).random((50_000, 4))
    tracemalloc.start()
    randomization_tests(table, PAIRS, n_resamples=3000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 30_000_000  # all flips would take 150 MB as bits, 1.2 GB as floats


def test_input_is_left_alone():
    for array in (A, B, TABLE):
        array.flags.writeable = False
    drawn_p(n_resamples=9)
    for method in ("t", "randomization"):
        TESTS[method](A, B)


# ---------------------------------------------------------------- wrong input


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: paired_t_test(A, B[:5]), "got 12 and 5 values; align them"),
        (lambda: randomization_test(A, B, n_resamples=0), "`n_resamples` must be an integer ≥ 1"),
        (lambda: randomization_tests(TABLE, [(0, 1)], seed=-3), "`seed` .* got -3"),
        (lambda: randomization_tests(A, [(0, 1)]), r"\(n_users, n_columns\), got \(12,\)"),
        (lambda: randomization_tests(TABLE, [(0, 4)]), r"two of the 4 columns each, got \(0, 4\)"),
    ],
)
def test_wrong_options_are_refused(call, message):
    with pytest.raises(UsageError, match=message):
        call()


@pytest.mark.parametrize("method", TESTS)
def test_missing_values_are_refused(method):
    with pytest.raises(InvalidValueError, match="has 1 values that are NaN or infinite"):
        TESTS[method]([1.0, 2.0], [1.0, math.nan])
