"""Where statistics and verdicts change their answer: just on either side of each threshold."""

from __future__ import annotations

import numpy as np
import pytest

import rankmeter as rm
from rankmeter._results.verdicts import find_best_system, rank_printed_means
from rankmeter._statistics.intervals import SampleMean, covariance_of_means, is_skewed
from rankmeter._statistics.step_down import Hypotheses, step_down_test

pytestmark = [
    pytest.mark.once,
    pytest.mark.filterwarnings("ignore::rankmeter.errors.RankmeterWarning"),
]


@pytest.mark.parametrize(
    ("n", "hits", "skewed"),
    [(100, 20, False), (100, 16, False), (100, 14, True), (20, 1, True), (19, 1, False)],
)
def test_values_are_skewed_above_a_fifth_and_from_twenty_values(n, hits, skewed):
    """The sum of cubes over the sum of squares to 3/2: (q - p) / √(n p q) for shares p and q."""
    p = hits / n
    ratio = (1 - 2 * p) / np.sqrt(n * p * (1 - p))
    assert (ratio > 0.2 and n >= 20) == skewed
    assert is_skewed((np.arange(n) < hits).astype(float)) == skewed


def test_clusters_of_one_user_have_the_covariance_of_users():
    vectors = [*np.random.default_rng(3).random((3, 9))]
    plain = covariance_of_means(vectors)
    np.testing.assert_allclose(covariance_of_means(vectors, np.arange(9)), plain, rtol=1e-12)


def test_a_mean_has_at_least_one_degree_of_freedom():
    assert SampleMean(0.0, 1.0, 2, 1.2).df == 1.0
    assert SampleMean(0.0, 1.0, 9, 7.5).df == 6.5


def test_a_single_step_is_never_above_bonferroni_for_very_many_users():
    rng = np.random.default_rng(5)
    scores = rng.random((100_001, 3)) + np.array([0.0, 0.02, 0.0])
    pairs = [(1, 0), (2, 0), (2, 1)]
    found = step_down_test([Hypotheses(scores, pairs)], n_resamples=99)
    assert found.p[0] < 1e-6  # far below the smallest share of the flips
    assert np.all(found.single <= 3 * found.p)
    assert np.all(found.adjusted <= found.single)


@pytest.mark.parametrize(
    ("means", "increasing", "ranks"),
    [
        (["0.5", "0.4"], True, [1, 0]),
        (["0.5", "0.4", "0.3"], True, [1, 2, 0]),
        (["0.5", "0.4", "0.3"], False, [0, 2, 1]),
        (["1,000.0", "999.0", "–"], True, [1, 2, 0]),
        (["0.5", "0.5"], True, [0, 0]),
        (["0.5", "0.5", "0.4"], True, [1, 1, 2]),
    ],
)
def test_places_of_printed_means(means, increasing, ranks):
    assert rank_printed_means(means, increasing=increasing) == ranks


def test_a_verdict_rests_on_the_baseline_before_the_second():
    rng = np.random.default_rng(1)
    values = {name: rng.random(50) + shift for name, shift in (("a", 0), ("b", 0.2), ("c", 0.3))}
    found = rm.compare_values(values)
    means = found.means_of("value")
    for baseline, rival in (("", "b"), ("a", "a")):
        verdict = find_best_system("value", means, found["value"], baseline, increasing=True)
        assert (verdict.best, verdict.difference.b) == ("c", rival)


@pytest.mark.parametrize(
    ("factor", "text", "title"),
    [
        (3.5, "3.5 times b", "by a factor of 3.5"),
        (2.9, "+190.0% against b", "by 190.0%"),
    ],
)
def test_a_gain_of_more_than_two_is_a_factor(factor, text, title):
    base = np.linspace(0.1, 0.2, 40)
    found = rm.compare_values({"a": factor * base, "b": base})
    assert found.verdict_on("value").lead_text == text
    assert title in found.headline().title
