"""Where statistics and verdicts change their answer: just on either side of each threshold."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

import rankmeter as rm
from rankmeter._reading.numbers import _are_few
from rankmeter._results.counts import uneven_weight_cautions
from rankmeter._results.segments import users_by_segment
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
    means = found._means_of("value")
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
    assert found._verdict_on("value").lead_text == text
    assert title in found.headline().title


@pytest.mark.parametrize(
    ("share", "said"),
    [
        (0.4, "60% of the variance is between users: for a narrower interval, add users, not more"),
        (0.6, "60% of the variance is between runs: for a narrower interval, add runs, not more"),
    ],
)
def test_the_larger_source_of_variance_is_named(share, said):
    (d,) = rm.compare_values({"a": [1.0, 2.0, 3.0], "b": [1.0, 1.0, 3.0]}).differences
    assert said in replace(d, share_of_runs=share).sources()


def test_numbers_in_names_of_segments_are_sorted_as_numbers():
    labels = pl.Series(["part 10", "part 2", None, "part 10", "a"])
    rows = {name: found.tolist() for name, found in users_by_segment(labels).items()}
    assert [*rows.items()] == [("a", [4]), ("part 2", [1]), ("part 10", [0, 3])]


@pytest.mark.parametrize(("effective", "said"), [(10.0, False), (9.9, True)])
def test_few_weights_are_less_than_a_tenth(effective, said):
    plan = SimpleNamespace(metrics=[SimpleNamespace(label="snips")])
    scores = SimpleNamespace(effective_size=lambda _: (effective, 100))
    cautions = uneven_weight_cautions(plan, scores)
    assert bool(cautions) == said
    assert all("100 relevant items with these weights" in caution for caution in cautions)


def test_few_words_are_six_and_one_of_them_repeats():
    assert _are_few(dict.fromkeys("abcdef", 2))
    assert not _are_few(dict.fromkeys("abcdefg", 2))
    assert not _are_few(dict.fromkeys("abcdef", 1))
