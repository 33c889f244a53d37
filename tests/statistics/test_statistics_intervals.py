"""Intervals of a mean: worked values, comparison with SciPy, and dependence only on the seed."""

import math
import tracemalloc

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from mean_intervals import t_interval
from rankmeter._statistics import intervals
from rankmeter._statistics.intervals import (
    Interval,
    bootstrap_interval,
    resampled_means,
)
from rankmeter.errors import InvalidValueError, UsageError

pytestmark = pytest.mark.once

FINITE = st.floats(-100, 100).map(lambda x: round(x, 6))
RECIPROCAL_RANKS = 1 / np.random.default_rng(1).integers(1, 11, 400)  # ten distinct values
CONTINUOUS = np.random.default_rng(2).exponential(size=80)


def scipy_version():
    return tuple(map(int, scipy.__version__.split(".")[:2]))


def differences_of_the_fixture():
    a = [0.30, 0.42, 0.11, 0.55, 0.63, 0.20, 0.48, 0.37, 0.72, 0.15, 0.44, 0.58]
    b = [0.27, 0.35, 0.14, 0.50, 0.55, 0.20, 0.40, 0.39, 0.60, 0.12, 0.35, 0.49]
    return np.array(a) - np.array(b)


def test_t_interval_of_the_fixture():
    low, high = t_interval(differences_of_the_fixture())
    assert (low, high) == pytest.approx((0.0189423050, 0.0793910283), abs=5e-11)


def test_intervals_worked_by_hand():
    # The mean is 2, its standard error 1/√3, and the quantile of t with 2 degrees 4.3027.
    assert t_interval([1.0, 2.0, 3.0]) == pytest.approx((-0.4841, 4.4841), abs=5e-5)
    # Resamples of two users can only have the means 0, 1/2 and 1.
    assert bootstrap_interval([0.0, 1.0]) == (0.0, 1.0)


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.999])
def test_t_interval_agrees_with_scipy(confidence):
    own = stats.t.interval(
        confidence, CONTINUOUS.size - 1, CONTINUOUS.mean(), stats.sem(CONTINUOUS)
    )
    assert t_interval(CONTINUOUS, confidence) == pytest.approx(own, rel=1e-9)


@given(st.lists(FINITE, min_size=2, max_size=30), st.floats(0.01, 0.98))
def test_t_interval_surrounds_the_mean_and_widens_with_confidence(x, confidence):
    low, high = t_interval(x, confidence)
    wider = t_interval(x, confidence + 0.01)
    assert wider.low <= low <= np.mean(x) <= high <= wider.high


@pytest.mark.parametrize("x", [[], [3.0]])
def test_fewer_than_two_users_have_no_interval(x):
    for interval in (t_interval(x), bootstrap_interval(x), bootstrap_interval(x, clusters=x)):
        assert all(map(math.isnan, interval))


@pytest.mark.parametrize("n", [2, 7, 1000])
def test_equal_values_have_an_interval_of_no_width(n):
    x = np.full(n, 0.1)
    assert t_interval(x) == pytest.approx((0.1, 0.1), rel=1e-15)
    assert bootstrap_interval(x) == pytest.approx((0.1, 0.1), rel=1e-15)


@pytest.mark.parametrize("x", [RECIPROCAL_RANKS, CONTINUOUS, CONTINUOUS[:12]])
def test_bootstrap_agrees_with_scipy(x):
    def mean(sample, axis):
        return np.mean(sample, axis=axis)

    seed = {"rng" if scipy_version() >= (1, 15) else "random_state": 3}
    drawn = {"n_resamples": 20_000, "batch": 500, "vectorized": True} | seed
    theirs = stats.bootstrap((x,), mean, method="BCa", **drawn)
    ours = bootstrap_interval(x, n_resamples=20_000, seed=4)
    width = theirs.confidence_interval.high - theirs.confidence_interval.low
    assert ours == pytest.approx(tuple(theirs.confidence_interval), abs=0.03 * width)


def test_bca_reads_the_quantiles_that_efron_and_tibshirani_say():
    """Their equations 14.10, 14.14 and 14.15, the jackknife one cluster at a time."""
    rng = np.random.default_rng(6)
    sizes = rng.integers(1, 9, 15).astype(float)
    sums = rng.exponential(size=15) * sizes
    means = resampled_means(sums, sizes, n_resamples=2000, seed=0)

    left_out = (sums.sum() - sums) / (sizes.sum() - sizes)
    pull = left_out.mean() - left_out
    acceleration = (pull**3).sum() / (6 * (pull**2).sum() ** 1.5)
    bias = stats.norm.ppf(np.mean(means < sums.sum() / sizes.sum()))
    z = bias + stats.norm.ppf([0.025, 0.975])
    expected = stats.norm.cdf(bias + z / (1 - acceleration * z))

    tails = intervals._bca_tail_probabilities(np.array([0.025, 0.975]), means, sums, sizes)
    assert tails == pytest.approx(expected, rel=1e-9)
    assert abs(bias) > 0.02
    assert abs(acceleration) > 0.02


def test_bca_moves_the_interval_towards_the_long_tail():
    plain = np.quantile(resampled_means(CONTINUOUS, n_resamples=10_000, seed=0), [0.025, 0.975])
    corrected = bootstrap_interval(CONTINUOUS, n_resamples=10_000)
    assert corrected.low > plain[0]
    assert corrected.high > plain[1]


def test_clusters_of_one_row_are_plain_rows():
    rows = np.arange(CONTINUOUS.size)
    plain = bootstrap_interval(CONTINUOUS)
    assert bootstrap_interval(CONTINUOUS, clusters=rows) == pytest.approx(plain)


def test_repeating_every_row_changes_nothing_if_the_copies_share_a_cluster():
    users = np.repeat(np.arange(CONTINUOUS.size), 9)
    repeated = np.repeat(CONTINUOUS, 9)
    plain = bootstrap_interval(CONTINUOUS)
    assert bootstrap_interval(repeated, clusters=users) == pytest.approx(plain, rel=1e-9)
    assert np.diff(bootstrap_interval(repeated)) < 0.5 * np.diff(plain)  # without clusters


def test_labels_of_clusters_may_be_anything_sortable():
    numbers = np.arange(CONTINUOUS.size) // 4
    names = np.array([f"user {number:03}" for number in numbers])
    assert bootstrap_interval(CONTINUOUS, clusters=names) == bootstrap_interval(
        CONTINUOUS, clusters=numbers
    )


def test_cluster_means_are_ratios_of_sums():
    """Two clusters, 3 rows of 0 and 1 row of 1: a resample has the mean 0, 1/4 or 1."""
    means = resampled_means(np.array([0.0, 1.0]), np.array([3.0, 1.0]), n_resamples=4000, seed=0)
    values, counts = np.unique(means, return_counts=True)
    assert values.tolist() == [0.0, 0.25, 1.0]
    assert counts / 4000 == pytest.approx([0.25, 0.5, 0.25], abs=0.04)


@pytest.mark.parametrize("x", [RECIPROCAL_RANKS, CONTINUOUS, np.tile(CONTINUOUS, 1000)])
def test_a_resample_depends_on_its_number_and_not_on_how_many_there_are(x):
    few = resampled_means(x, n_resamples=7, seed=5)
    many = resampled_means(x, n_resamples=300, seed=5)
    assert many[:7].tolist() == few.tolist()
    assert resampled_means(x, n_resamples=7, seed=6).tolist() != few.tolist()


def test_drawing_equal_values_together_has_the_same_distribution():
    grouped = resampled_means(RECIPROCAL_RANKS, n_resamples=20_000, seed=0)
    jitter = RECIPROCAL_RANKS + 1e-9 * np.arange(RECIPROCAL_RANKS.size)  # all distinct
    single = resampled_means(jitter, n_resamples=20_000, seed=1)
    assert stats.ks_2samp(grouped, single).pvalue > 0.01
    assert grouped.std() == pytest.approx(RECIPROCAL_RANKS.std() / 20, rel=0.03)


def test_a_million_users_need_a_few_copies_of_their_vector():
    x = np.random.default_rng(0).random(1_000_000)
    tracemalloc.start()
    low, high = bootstrap_interval(x, n_resamples=20)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert low < x.mean() < high
    assert peak < 8 * x.nbytes


def test_input_is_left_alone():
    x = CONTINUOUS.copy()
    x.flags.writeable = False
    t_interval(x)
    bootstrap_interval(x)
    bootstrap_interval(x, clusters=np.arange(x.size) // 2)


@pytest.mark.parametrize("bad", [[1.0, math.nan], [math.inf, 1.0]])
def test_values_that_are_not_finite_are_refused(bad):
    with pytest.raises(InvalidValueError, match="1 values that are NaN or infinite, of 2"):
        bootstrap_interval(bad)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bootstrap_interval([[1.0, 2.0]]), r"shape \(n_users,\), got \(1, 2\)"),
        (
            lambda: bootstrap_interval([1.0, 2.0], confidence=1.0),
            "`confidence` must be .* between 0 and 1",
        ),
        (lambda: bootstrap_interval([1.0, 2.0], confidence=0.0), "between 0 and 1"),
        (lambda: bootstrap_interval([1.0, 2.0], clusters=[1]), "one label for each value"),
        (lambda: bootstrap_interval([1.0, 2.0], n_resamples=-1), "≥ 1, got -1"),
        (lambda: bootstrap_interval([1.0, 2.0], seed=-1), "`seed` .* got -1"),
        (lambda: bootstrap_interval([1.0, 2.0], seed=1.5), "`seed` .* got 1.5"),
    ],
)
def test_wrong_options_are_refused(call, message):
    with pytest.raises(UsageError, match=message):
        call()


def test_an_interval_is_a_pair():
    low, high = Interval(1.0, 2.0)
    assert (low, high) == Interval(low=1.0, high=2.0)
