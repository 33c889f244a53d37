"""Users who differ by almost nothing count as users who do not differ."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import rankmeter as rm
from rankmeter._statistics.intervals import (
    find_majority,
    largest_change,
    pseudo_unit_change,
    spread_of_mean,
    t_quantile,
)
from rankmeter._statistics.runs import margin_tests

pytestmark = pytest.mark.once

JITTER = (0.0, 1e-13, 1e-9, 1e-4, 1e-3, 0.01, 0.02)
"""Sizes of the changes of all users but the losers, who lose 0.6."""


def interval(x, span=1.0):
    """The default interval of a difference."""
    spread = spread_of_mean(x).with_pseudo_unit(pseudo_unit_change(x, span))
    half = -t_quantile(0.025, spread.df) * spread.se
    return spread.mean - half, spread.mean + half


def losers_and_jitter(n, losers, size, loss=0.6, gain=0.0):
    """Changes of n users, spread evenly around a gain; some lose much."""
    x = gain + size * stats.norm.ppf((np.arange(n) + 0.5) / n)
    x[np.arange(losers) * (n // max(losers, 1))] = -loss
    return x


@pytest.mark.parametrize("size", JITTER)
@pytest.mark.parametrize("gain", [0.0, 0.01])
def test_two_of_100_who_lose_much_do_not_show_equivalence(size, gain):
    """The exact probability of at most 2 losers is 0.0104 at a loss of 0.6, with the gain less."""
    x = losers_and_jitter(100, 2, size, gain=gain)
    p = margin_tests(x, np.zeros(100), 0.05, span=1.0).not_lower
    assert p >= stats.binom.cdf(2, 100, (0.05 + gain) / 0.6) * 0.9


@pytest.mark.parametrize("size", JITTER[:3])
@pytest.mark.parametrize("losers", [0, 1, 2, 4])
@pytest.mark.parametrize(("n", "margin"), [(30, 0.1), (100, 0.05), (300, 0.02)])
def test_p_of_a_margin_is_continuous_where_users_tie(n, margin, losers, size):
    x, tied = losers_and_jitter(n, losers, size), losers_and_jitter(n, losers, 0.0)
    both, exact = (margin_tests(y, np.zeros(n), margin, span=1.0) for y in (x, tied))
    assert both.not_lower == pytest.approx(exact.not_lower, rel=0.02)
    assert both.not_higher == pytest.approx(exact.not_higher, rel=0.02)


@pytest.mark.parametrize("losers", [0, 1, 2, 4, 5, 6, 20])
@pytest.mark.parametrize("n", [50, 100, 300])
def test_intervals_are_continuous_where_users_tie(n, losers):
    found = np.array([interval(losers_and_jitter(n, losers, size)) for size in JITTER])
    width = found[:, 1] - found[:, 0]
    assert width[1:3] == pytest.approx(np.full(2, width[0]), rel=0.01)
    t = 2 * t_quantile(0.975, n - 1) * losers_and_jitter(n, losers, 0.01).std(ddof=1) / math.sqrt(n)
    if 0 < losers <= 6:
        assert width[5] > t * math.sqrt(1 + 0.8 / losers)


def test_the_largest_change_falls_from_the_span_without_a_step():
    def change(size):
        return largest_change(np.repeat([0.4, size, 0.0], [5, 1, 94]), 1.0)

    sizes = np.linspace(0.0, 0.02, 201)  # to 5 % of the largest
    found = np.array([change(size) for size in sizes])
    assert (found[0], found[-1]) == (1.0, 0.4)
    assert np.all(np.diff(found) <= 0)
    assert np.abs(np.diff(found)).max() < 0.02


@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e6])
def test_the_majority_is_within_five_percent_of_the_largest_change(scale):
    x = np.array([-0.05, 0.0, 0.0, 0.05, 0.12, 0.3, -1.0]) * scale
    found = find_majority(x, scale)
    assert found == pytest.approx((4 / 7, 0.0), abs=1e-12)
    assert find_majority(-x, scale)[0] == found[0]
    assert find_majority(x[[0, 5, 6]], scale) == (0.0, 0.0)
    assert find_majority(x + 0.4 * scale, scale)[1] == pytest.approx(4 / 7 * 0.4 * scale)


@pytest.mark.parametrize("n", [5, 30, 100])
def test_margins_of_swapped_systems_are_swapped(n):
    rng = np.random.default_rng(n)
    for x in (rng.normal(0, 0.1, n), np.round(rng.normal(0, 0.1, n), 1), rng.exponential(0.05, n)):
        one, other = (margin_tests(y, np.zeros(n), 0.05, span=1.0) for y in (x, -x))
        assert one.not_lower == pytest.approx(other.not_higher)
        assert one.not_higher == pytest.approx(other.not_lower)


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng, n: rng.normal(0, 0.1, n),
        lambda rng, n: rng.uniform(-0.3, 0.3, n),
        lambda rng, n: rng.beta(2, 3, n) - rng.beta(2, 3, n),
        lambda rng, n: rng.normal(0, 0.0005, n),
    ],
)
def test_dense_differences_have_almost_the_interval_of_t(draw):
    rng, ratio = np.random.default_rng(3), []
    for _ in range(50):
        x = draw(rng, 100)
        low, high = interval(x)
        t = 2 * t_quantile(0.975, 99) * x.std(ddof=1) / 10
        ratio.append((high - low) / t)
    assert 1.0 <= np.mean(ratio) <= 1.02


@pytest.mark.parametrize("size", [1e-13, 0.001, 0.01, 0.025])
@pytest.mark.parametrize(("n", "margin"), [(40, 0.1), (120, 0.05), (300, 0.02)])
def test_a_loss_of_the_margin_by_few_passes_in_at_most_6_percent(n, margin, size):
    """All others have a jitter: summed over the number of losers."""
    wrong = 0.0
    for losers in range(int(stats.binom.isf(1e-5, n, margin / 0.6)) + 1):
        x = losers_and_jitter(n, losers, size)
        x[x > -0.3] -= x[x > -0.3].mean()  # the luck of the jitter is symmetric
        if margin_tests(x, np.zeros(n), margin, span=1.0).not_lower <= 0.05:
            wrong += stats.binom.pmf(losers, n, margin / 0.6)
    assert wrong <= 0.06


def test_clusters_relative_margins_and_runs_see_the_same():
    x, b = losers_and_jitter(100, 2, 1e-4), np.full(100, 0.7)
    plain = margin_tests(b + x, b, 0.05, span=1.0).not_lower
    alone = margin_tests(b + x, b, 0.05, span=1.0, clusters=np.arange(100)).not_lower
    relative = margin_tests(b + x, b, 0.05 / 0.7, relative=True, span=1.0).not_lower
    runs = margin_tests((b + x)[:, None], b[:, None], 0.05, span=1.0).not_lower
    assert plain == pytest.approx(alone)
    assert plain == pytest.approx(relative)
    assert plain == pytest.approx(runs)
    wide = margin_tests(100 * (b + x), 100 * b, 5.0).not_lower  # the span is that of the values
    assert wide == pytest.approx(margin_tests(b + x, b, 0.05).not_lower)


def test_cold_users_with_rounding_do_not_make_segments_differ():
    rng = np.random.default_rng(6)
    cold = np.repeat([True, False], [50, 300])
    gained = (~cold & (rng.random(350) < 0.2)).astype(float)
    noise = np.where(cold, rng.normal(0, 1e-13, 350), 0.0)
    labels = {n: "cold" if one else "warm" for n, one in enumerate(cold)}
    p = [
        rm.compare_values(
            {"new": gained + x, "old": np.zeros(350)}, segments=labels, scale=(0, 1)
        ).heterogeneity[0].p
        for x in (np.zeros(350), np.abs(noise))
    ]  # fmt: skip
    assert p[0] == pytest.approx(p[1], rel=1e-3)


def test_the_gate_of_a_deep_metric_waits_for_more_users():
    """Of 100 queries two lose all, 44 move by 0.0005 and 54 tie: exactly, p is 0.118."""
    x = np.concatenate([[-1.0, -1.0], np.full(44, 0.0005), np.zeros(54)])
    prod = 0.98 + 0.001 * np.arange(100) % 0.01
    values = {"new": prod + x.clip(-0.9), "prod": prod}
    (d,) = rm.compare_values(values, baseline="prod", margin=0.05, scale=(0, 1)).differences
    assert d.verdict == "undecided"
    assert d.p_not_worse_alone > 0.05


@pytest.mark.parametrize("scale", [(0, 1), None])
@pytest.mark.parametrize(
    ("changes", "noted"),
    [
        (np.repeat([0.02, -0.38], [98, 2]), True),
        (np.repeat([0.02, -0.02], [60, 40]), False),
        (np.random.default_rng(0).normal(0.02, 0.1, 100), False),
    ],
)
def test_skewed_differences_are_noted_for_bounded_metrics_too(changes, noted, scale):
    values = {"n": 0.5 + changes, "p": np.full(changes.size, 0.5)}
    (d,) = rm.compare_values(values, scale=scale).differences
    assert ("so skewed that" in d.note) == noted
    if scale and noted:
        assert d.note == (
            "differences so skewed that p can be too small: a few users weigh as much as all others"
        )


def test_hits_that_only_gain_are_not_noted():
    """Where hit rates are equal, either sign is as likely: p holds, however skewed they look."""
    values = {"n": np.repeat([1.0, 0.0], [9, 91]), "p": np.zeros(100)}
    (d,) = rm.compare_values(values, scale=(0, 1)).differences
    assert d.note == ""
    assert d.p == pytest.approx(2.0**-9)
