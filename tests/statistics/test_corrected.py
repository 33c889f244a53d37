"""Labels of people corrected by a judge: against ppi-python and formulas, in plain arrays."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from rankmeter._judge.corrected import (
    Sample,
    best_weight,
    contrast,
    correct,
    cross_fitted_weights,
)
from rankmeter._statistics.intervals import wilson_interval

RECORDED = json.loads((Path(__file__).parents[1] / "data" / "ppi_python.json").read_text("utf-8"))
CASES = range(len(RECORDED["cases"]))


def read(number):
    case = RECORDED["cases"][number]
    people, judge, others = (np.array(case[key]) for key in ("people", "model", "others"))
    return people, judge, others, Sample(people.size, people.size + others.size)


def fixed(weight, people, judge, others, sample):
    """The correction with one λ, as the literature counts it."""
    weights = np.full(people.size, weight * sample.most)
    return correct(people, judge, others, sample, weights)


def normal_interval(found, others):
    """The interval with the normal quantile and variances with n, as ppi-python has it."""
    n = found.rows.size
    variance = found.own.var() / n + found.others * (others.size - 1) / others.size
    half = stats.norm.ppf(0.975) * math.sqrt(variance)
    return [found.spread.mean, found.spread.mean - half, found.spread.mean + half]


@pytest.mark.parametrize("number", CASES)
@pytest.mark.parametrize("weight", ["0", "0.4", "1"])
def test_estimates_and_variances_are_those_of_ppi_python(number, weight):
    people, judge, others, sample = read(number)
    found = fixed(float(weight), people, judge, others, sample)
    expected = RECORDED["cases"][number]["by weight"][weight]
    assert normal_interval(found, others) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("number", [0, 2])
def test_the_weight_is_that_of_ppi_python_but_for_its_covariance_with_n(number):
    people, judge, others, sample = read(number)
    every = np.concatenate([judge, others])[:, None]
    whole = np.ones(people.size, dtype=bool)
    weight = best_weight(people[:, None], judge[:, None], every, sample, whole) / sample.most
    n = people.size
    found = fixed(weight * (n - 1) / n, people, judge, others, sample)
    expected = RECORDED["cases"][number]["by weight"]["tuned"]
    assert normal_interval(found, others) == pytest.approx(expected, abs=1e-12)


def test_an_opposite_judge_has_no_weight():
    people, judge, others, sample = read(3)
    weights = cross_fitted_weights(
        people[:, None], judge[:, None], np.concatenate([judge, others])[:, None], sample
    )
    assert not weights.any()
    found = correct(people, judge, others, sample, weights)
    assert found.rows is people
    assert found.steady_spread(1.0) == found.spread


def test_each_half_has_the_weight_of_the_other_half():
    people, judge, others, sample = read(2)
    every = np.concatenate([judge, others])[:, None]
    weights = cross_fitted_weights(people[:, None], judge[:, None], every, sample)
    assert len({*weights}) == 2
    changed = people.copy()
    changed[::2] = 1.0 - changed[::2]  # what the first half says matters for the second one only
    again = cross_fitted_weights(changed[:, None], judge[:, None], every, sample)
    assert (again[::2] == weights[::2]).all()
    assert (again[1::2] != weights[1::2]).all()


def test_too_few_queries_that_differ_leave_the_judge_out():
    rng = np.random.default_rng(2)
    people = np.zeros(40)
    people[[0, 1, 2, 3, 4]] = 1.0  # two in the second half
    judge, others = people.copy(), (rng.random(300) < 0.1) * 1.0
    every = np.concatenate([judge, others])[:, None]
    sample = Sample(40, 340)
    assert not cross_fitted_weights(people[:, None], judge[:, None], every, sample).any()
    people[5] = judge[5] = every[5] = 1.0
    assert cross_fitted_weights(people[:, None], judge[:, None], every, sample).all()


def test_rows_have_the_estimate_as_their_mean_and_vary_as_it_does():
    rng = np.random.default_rng(1)
    ratios = []
    for _ in range(400):
        truth = rng.beta(1, 2, 240)
        judge = np.where(rng.random(240) < 0.8, truth, rng.beta(1, 2, 240))
        found = fixed(0.7, truth[:40], judge[:40], judge[40:], Sample(40, 240))
        assert found.rows.mean() == pytest.approx(
            0.7 * judge[40:].mean() + (truth[:40] - 0.7 * judge[:40]).mean(), abs=1e-14
        )
        ratios.append(found.rows.var(ddof=1) / 40 / found.spread.se**2)
    assert np.mean(ratios) == pytest.approx(1.0, abs=0.02)


def test_a_sample_with_unequal_probabilities_is_weighted():
    rng = np.random.default_rng(4)
    found, alone, covered = [], [], 0
    for _ in range(1500):
        hard = rng.random(600)
        truth = np.clip(hard + rng.normal(0, 0.1, 600), 0, 1)
        judge = np.clip(truth - 0.2 + rng.normal(0, 0.1, 600), 0, 1)
        probability = 0.03 + 0.12 * hard  # high values are chosen more often
        chosen = rng.random(600) < probability
        inverse = 1.0 / probability[chosen]
        sample = Sample(int(chosen.sum()), 600, inverse / inverse.mean())
        people, own, others = truth[chosen], judge[chosen], judge[~chosen]
        every = np.concatenate([own, others])[:, None]
        weights = cross_fitted_weights(people[:, None], own[:, None], every, sample)
        spread = correct(people, own, others, sample, weights).steady_spread(1.0)
        found.append(spread.mean)
        alone.append(people.mean())
        low, high = wilson_interval(spread, (0.0, 1.0), 0.95, sample.n, sample.effective)
        covered += low <= 0.5 <= high
    assert np.mean(found) == pytest.approx(0.5, abs=0.003)
    assert np.mean(alone) > 0.58
    assert covered / 1500 >= 0.94


def test_an_error_that_the_sample_may_have_missed_widens_the_interval():
    people = np.tile([0.0, 1.0, 0.0, 0.0], 10)
    others = np.tile([0.0, 1.0, 0.0, 0.0], 50)
    sample = Sample(40, 240)
    perfect = fixed(1.0, people, people, others, sample)
    assert perfect.missed_error(1.0) == pytest.approx(1.0)
    assert perfect.steady_spread(1.0).se > 1 / 40
    noisy = fixed(1.0, people, people + np.linspace(-0.2, 0.2, 40), others, sample)
    assert noisy.missed_error(1.0) < 0.2  # errors are seen, and are not that large


def test_contrasts_change_no_mean_and_add_up():
    vectors = np.array([contrast(12, number) for number in range(11)])
    assert vectors @ np.ones(12) == pytest.approx(np.zeros(11), abs=1e-14)
    assert vectors @ vectors.T == pytest.approx(np.eye(11), abs=1e-14)
