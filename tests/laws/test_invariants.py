"""An interval, a test, a margin and a sentence never contradict each other."""

from __future__ import annotations

import itertools
import math
import re
import warnings
from typing import get_args, get_type_hints

import numpy as np
import pytest

import rankmeter as rm
from rankmeter.errors import RankmeterWarning

pytestmark = pytest.mark.once

TESTS, CORRECTIONS = (get_args(get_type_hints(rm.compare)[n]) for n in ("test", "correction"))
OPTIONS = [
    {},
    {"confidence": 0.99},
    {"confidence": 0.8},
    {"margin": 0.05, "family": "all"},
    {"margin": "5%", "baseline": "s1"},
    {"interval": "bca", "resamples": 200},
]


def values_of(rng, kind, n, m):
    """Values of n users under m systems."""
    easy = rng.random((n, 1))
    match kind:
        case "rare hits":
            return (rng.random((n, m)) < 0.02).astype(float)
        case "hits":
            return (rng.random((n, m)) < easy).astype(float)
        case "reciprocal ranks":
            return np.where(rng.random((n, m)) < 0.3, 1 / rng.integers(1, 9, (n, m)), 0.0)
        case "constant differences":
            return np.full((n, 1), 0.2) + 0.1 * np.arange(m)
        case "one loser":
            values = np.ones((n, m))
            values[0, 0] = 0.0
            return values
        case "negative":
            return -easy + rng.normal(0, 0.2, (n, m))
    return np.clip(easy + rng.normal(0.02 * np.arange(m), 0.2, (n, m)), 0, 1)


KINDS = (
    "rare hits", "hits", "reciprocal ranks", "constant differences", "one loser", "negative",
    "dense",
)  # fmt: skip


def p_of(text):
    """The p that a sentence prints."""
    known = re.search(r"p (<|=) (\d\.\d+)", text)
    return None if known is None else (known[1], float(known[2]))


def matches(said, p):
    sign, number = said
    return p < number if sign == "<" else abs(p - number) <= 5.1e-5


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("kind", KINDS)
def test_sentences_intervals_and_tests_agree(test, kind):
    rng = np.random.default_rng(len(kind) * 100 + len(test))
    for options, correction, n in zip(
        OPTIONS,
        itertools.cycle(CORRECTIONS),
        (2, 7, 30, 100, 300, 40),
        strict=False,
    ):
        values = values_of(rng, kind, n, 3)
        systems = {f"s{j}": dict(enumerate(column.tolist())) for j, column in enumerate(values.T)}
        segments = {u: f"part {u % 3}" for u in range(n)}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RankmeterWarning)
            result = rm.compare_values(
                systems, test=test, correction=correction, segments=segments, n_resamples=199,
                **options,
            )  # fmt: skip
        for d in result.differences:
            check(d)


def check(d):
    text = d.sentence()
    if math.isnan(d.p):
        assert not d.significant
        return
    assert d.significant == (d.p_adjusted <= d.alpha)
    assert d.p_adjusted >= d.p * (1 - 1e-9)
    assert "0.0000 in 4 of 5" not in text
    assert not d.low > d.difference + 1e-12
    assert not d.high < d.difference - 1e-12
    holds_0 = d.low <= 0.0 <= d.high
    if " beats " in text:
        assert d.significant
        assert ("includes 0" in text) == holds_0
        assert matches(p_of(text), d.p_adjusted)
    if "do not decide" in text:
        assert not d.significant
        assert ("excludes 0" in text) == (not holds_0 and not math.isnan(d.low))
        assert matches(p_of(text), d.p_adjusted)
    if "on its own" in text:
        assert d.p <= d.alpha < d.p_adjusted
    if "equivalent" in text:
        assert not math.isnan(d.detectable)
        assert matches(p_of(text), max(d.p_not_worse, d.p_not_better))


def test_intervals_that_collapsed_have_a_width():
    """Ten percent of users differ, few of them were met."""
    for differing in (0, 1, 3):
        a, b = np.zeros(100), np.zeros(100)
        a[:differing] = 1.0
        (d,) = rm.compare_values({"a": a, "b": b}, scale=(0, 1)).differences
        assert d.low < 0 < d.high or differing == 3
        assert d.high - d.low > 0.03


def test_the_scale_of_differences_is_not_left():
    a, b = np.array([1.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0])
    (d,) = rm.compare_values({"a": a, "b": b}, scale=(0, 1)).differences
    assert -1.0 <= d.low < d.high <= 1.0


def test_all_values_equal_on_an_unknown_scale_have_no_interval():
    (d,) = rm.compare_values({"a": [2.0] * 9, "b": [2.0] * 9}).differences
    assert math.isnan(d.low)
    assert d.sentence() == "a and b have the same value for every one of 9 users."
