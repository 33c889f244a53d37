"""Overlap of lists with tied items: the mean over all orders of both."""

import itertools
import random

import pytest

import rankmeter as rm
from rankmeter.errors import UsageError

pytestmark = pytest.mark.once
OVERLAPS = [
    "overlap=share",
    "overlap=share, baseline_k=2",
    "overlap=share, denominator=k",
    "overlap=rbo, p=0.7",
    "overlap=rbo, p=0.7, baseline_k=3",
    "overlap=rbo_ext, p=0.9",
    "overlap=rbo_ext, p=0.9, baseline_k=2",
]
METRICS = [f"unexpectedness({options}){k}" for options in OVERLAPS for k in ("", "@1", "@2", "@4")]
METRICS.remove("unexpectedness(overlap=share, denominator=k)")


def overlap(rankings, baseline, metrics, **options):
    items = {item for ranking in rankings.values() for item in ranking}
    truth = dict.fromkeys(rankings, items)
    return rm.evaluate(rankings, truth, metrics, baseline_lists=baseline, **options)


def test_the_published_value_of_two_lists_with_ties():
    """Corsi and Urbano, SIGIR 2024: red (blue green) yellow pink, and RBO^a with p = 0.95."""
    first = {"red": 4, "blue": 3, "green": 3, "yellow": 2, "pink": 1}
    second = {"blue": 4, "red": 4, "white": 3, "yellow": 2, "black": 2, "purple": 2, "green": 1}
    metric = "unexpectedness(overlap=rbo_ext, p=0.95, inverse=true)"
    result = overlap({"q": first}, {"q": second}, metric, ties="expected")
    assert result[metric].mean == pytest.approx(0.6922853319692461, abs=1e-15)


def orders(scores):
    """Every order of the items of some scores."""
    levels = sorted({*scores.values()}, reverse=True)
    groups = [[item for item in scores if scores[item] == level] for level in levels]
    every = itertools.product(*map(itertools.permutations, groups))
    return [[item for group in order for item in group] for order in every]


@pytest.mark.parametrize("seed", range(12))
def test_the_value_of_tied_lists_is_the_mean_over_all_orders(seed):
    draw = random.Random(seed)
    first, second = (
        {item: draw.randrange(3) for item in draw.sample("abcdefg", draw.randrange(1, 6))}
        for _ in range(2)
    )
    pairs = [*itertools.product(orders(first), orders(second))]
    every = overlap(
        dict(enumerate(a for a, _ in pairs)), dict(enumerate(b for _, b in pairs)), METRICS
    )
    expected = overlap({0: first}, {0: second}, METRICS, ties="expected")
    for metric in METRICS:
        assert expected[metric].mean == pytest.approx(every[metric].mean, abs=1e-12), metric


def test_lists_longer_than_the_weights_reach():
    """0.85 to the power of 5000 is 0."""
    items = [f"i{n}" for n in range(6000)]
    for kind in ("rbo", "rbo_ext"):
        metric = f"unexpectedness(overlap={kind}, inverse=true)"
        assert overlap({"q": items}, {"q": items}, metric)[metric].mean == pytest.approx(1)
        assert overlap({"q": items}, {"q": items[::-1]}, metric)[metric].mean < 1e-9


def test_other_rules_of_unresolved_ties_are_refused():
    scores = {"a": 2, "b": 1, "c": 1}
    with pytest.raises(UsageError, match="without tied items"):
        overlap({"q": scores}, {"q": scores}, "unexpectedness", ties="realistic")
