"""Ties of thousands of items: expectations are exact, fast, and never above a perfect ranking."""

from __future__ import annotations

import math
import time
from fractions import Fraction

import numpy as np
import pytest

import cases
import rankmeter as rm
import reference
from rankmeter.errors import UsageError
from rankmeter.metrics import METRICS, Metric

pytestmark = [
    pytest.mark.once,
    pytest.mark.filterwarnings("ignore::rankmeter.errors.RankmeterWarning"),
]

CASCADES = ("err", "nerr", "pfound")
OF_HITS = [name for name, spec in METRICS.items() if not spec.of_lists and not spec.needs_hit_items]
OF_FACTS = [name for name, spec in METRICS.items() if not spec.of_lists and spec.needs_hit_items]
UNBOUNDED = {"ndcg(ideal=ones)", "rbp(gain=linear)"}
"""With large gains their values are above 1: the documentation says so."""


def one_option_at_a_time(name):
    """A metric with its example options, and with each value of each option."""
    spec = METRICS[name]
    example = dict(spec.example)
    changed = [
        {**example, option.name: value}
        for option in spec.options.values()
        for value in option.values
    ]
    size = {"n_items": 20_000}
    return [
        Metric(name)(**{**options, **(size if options.get("n_items") else {})})
        for options in [example, *changed]
    ]


@pytest.mark.parametrize("name", CASCADES)
def test_a_cascade_under_ties_is_the_mean_over_all_orders(name):
    rng = np.random.default_rng(17)
    for grades in ((1.0, 2.0, 3.0), (0.25, 1.0, 2.5), (3.0,)):
        rankings, truth = cases.batch(
            int(rng.integers(1000)), n_users=12, max_length=6, n_items=8, ties=True, grades=grades
        )
        for k, options in cases.of(METRICS[name]):
            if options["max_gain"] < max(grades):
                continue
            one = cases.metric(name, k, options)
            result = rm.evaluate(rankings, truth, one, ties="expected", no_overlap="allow")
            users = result.scores.users.to_list()
            for user, value in zip(users, result.scores.values[str(one)], strict=True):
                scored = list(rankings.get(user, {}).items())
                wanted = reference.expected(name, scored, truth.get(user, {}), k, **options)
                assert value == pytest.approx(wanted, rel=1e-12, abs=1e-300, nan_ok=True), one


@pytest.mark.parametrize(
    ("n", "m", "grades", "most"),
    [
        (600, 400, (1, 2, 3), 3),
        (600, 400, (1, 2, 3), 10),  # hits that rarely stop a reader
        (500, 500, (0, 1), 1),
        (700, 300, (1, 12), 12),  # a few hits that stop nearly every reader
        (900, 20, (1, 2, 3), 3),
    ],
)
def test_a_large_cascade_is_exact(n, m, grades, most):
    """The products of t of n factors by integers, and the weights of the ranks by fractions."""
    rng = np.random.default_rng(n + m)
    gains = rng.choice(grades, m, p=None if len(grades) > 2 else (0.98, 0.02)).tolist()
    one = 2**most
    products = [1] + [0] * n  # Σ of the products of t of the n factors
    for stay in [one - 2**gain + 1 for gain in gains] + [one] * (n - m):
        for t in range(n, 0, -1):
            products[t] += stay * products[t - 1]
    passed = [Fraction(total, math.comb(n, t) * one**t) for t, total in enumerate(products)]
    stops = [passed[t - 1] - passed[t] for t in range(1, n + 1)]
    truth = {"u": dict(enumerate(map(float, gains)))}
    rankings = {"u": dict.fromkeys(range(n), 0.0)}
    for k in (None, 1, 7, 200):
        name = f"err(max_gain={most})" + (f"@{k}" if k else "")
        relevant = "any" if 0 in grades else ">0"
        value = rm.evaluate(rankings, truth, name, ties="expected", relevant=relevant)[name].mean
        wanted = sum((stop / t for t, stop in enumerate(stops[:k], 1)), Fraction(0))
        assert value == pytest.approx(float(wanted), rel=1e-12, abs=0)


SIDE = {"propensity": dict.fromkeys(range(10_000), 0.5), "train": {"u": [1, 2], "v": [2]}}
"""Facts about the items."""


@pytest.mark.parametrize("name", [n for n in (*OF_HITS, *OF_FACTS) if METRICS[n].open_ties])
def test_ten_thousand_tied_items_are_no_work(name):
    """Work that grows with the square of the tied items takes many times as long."""
    rng = np.random.default_rng(5)
    rankings = {"u": dict.fromkeys(range(10_000), 0.0)}
    side = SIDE if name in OF_FACTS else {}
    for m in (50, 5_000):
        truth = {"u": dict(enumerate(rng.integers(1, 4, m).astype(float).tolist()))}
        for metric in one_option_at_a_time(name):
            for one in [metric, metric @ 3_000] if METRICS[name].cutoff else [metric]:
                start = time.process_time()
                try:
                    value = rm.evaluate(rankings, truth, one, ties="expected", **side)
                except UsageError:
                    assert set(dict(metric.options)) & {"p", "scale", "target", "spared"}
                    continue
                assert not math.isinf(value[str(one)].mean)
                assert time.process_time() - start < 0.8, one


SIZES = (1, 2, 3, 4, 5, 6, 7, 10, 17, 50, 123, 333, 500, 777, 1234, 2500, 5000)


def perfect(shape):
    """Perfect rankings: the scores of the relevant items, best first, and their gains."""
    rng = np.random.default_rng(3)
    rankings, truth = {}, {}
    for n in SIZES:
        gains = np.ones(n) if shape in ("equal", "followed") else rng.integers(1, 4, n)
        gains = np.sort(gains)[::-1].astype(float)
        scores = np.ones(n) if shape == "all tied" else gains
        truth[n] = dict(enumerate(gains.tolist()))
        misses = dict.fromkeys(range(n, n + 7 * (shape == "followed")), -1.0)
        rankings[n] = {**dict(enumerate(scores.tolist())), **misses}
    return rankings, truth


def is_valid(metric, ties):
    """Whether the options of a metric can act together, and under the rule."""
    try:
        rm.evaluate({1: {2: 1.0, 3: 1.0}}, {1: {2: 1.0}}, metric, ties=ties)
    except UsageError:
        return False
    return True


@pytest.mark.parametrize("shape", ["equal", "followed", "graded", "all tied"])
@pytest.mark.parametrize("ties", ["item", "expected", "optimistic"])
def test_a_perfect_ranking_is_never_above_the_scale(shape, ties):
    rankings, truth = perfect(shape)
    wanted = {
        str(one): METRICS[name]
        for name in OF_HITS
        for metric in one_option_at_a_time(name)
        if str(metric) not in UNBOUNDED and is_valid(metric, ties)
        for one in ([metric, metric @ 100] if METRICS[name].cutoff else [metric])
    }
    assert len(wanted) > 100
    for label, values in rm.evaluate(rankings, truth, [*wanted], ties=ties).scores.values.items():
        good, spec = values[~np.isnan(values)], wanted[label]
        assert (good <= spec.high).all(), (label, good.max())
        assert (good >= spec.low).all(), (label, good.min())


@pytest.mark.parametrize("ties", ["item", "expected"])
def test_a_perfect_ranking_is_never_above_the_adjusted_scale(ties):
    rankings, truth = perfect("followed")
    wanted = ["ndcg(adjusted)", "ndcg(adjusted)@10", "ap(adjusted)", "nerr(adjusted,max_gain=3)"]
    for values in rm.evaluate(
        rankings, truth, wanted, ties=ties, n_items=9_000
    ).scores.values.values():
        good = values[~np.isnan(values)]
        assert good.size
        assert (good <= 1).all()
