"""Sums of an accumulator are those of exact arithmetic to 1e-12, for any order and any cut."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankmeter._statistics.sums import Sums

pytestmark = pytest.mark.once

NUMBERS = st.floats(0, 1) | st.sampled_from([0.1, 1 / 3, 1e-9]) | st.floats(0.7, 0.7 + 1e-9)


def exact_moments(values):
    exact = [Fraction(value) for value in values]
    mean = sum(exact) / len(exact)
    variance = sum((one - mean) ** 2 for one in exact) / max(len(exact) - 1, 1)
    return float(mean), math.sqrt(variance)


def in_parts(parts):
    return reduce(Sums.__add__, map(Sums.of, parts), Sums())


@given(st.data())
def test_moments_are_those_of_exact_sums_for_any_order_and_cut(data):
    values = data.draw(st.lists(NUMBERS | st.floats(-1e30, 1e30), min_size=2))
    shift = data.draw(st.sampled_from([0.0, 1e6, -1e9]))
    values = [value + shift for value in values]
    mean, sd = exact_moments(values)
    mixed = data.draw(st.permutations(values))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(values)), max_size=5)))
    parts = [mixed[a:b] for a, b in zip([0, *cuts], [*cuts, len(mixed)], strict=True)]
    for sums in (Sums.of(values), in_parts(parts), in_parts([[value] for value in mixed])):
        found = sums.moments
        assert found.n == len(values)
        assert found.mean == pytest.approx(mean, rel=1e-12, abs=1e-30)
        rounding = 1e-16 * max(map(abs, values))  # of values that differ in their last digits
        assert found.sd == pytest.approx(sd, rel=1e-12, abs=rounding + 1e-30)


@given(st.floats(-1e30, 1e30), st.integers(2, 99))
def test_equal_values_do_not_vary(value, n):
    found = in_parts([[value]] * n).moments
    assert found == (n, value, 0.0)


def test_plain_sums_would_not_do():
    values = [1e9 + one / 7 for one in range(1000)]
    assert Sums.of(values).moments.sd == pytest.approx(exact_moments(values)[1], rel=1e-12)
    assert math.isnan(Sums.of([0.5]).moments.sd)
    assert math.isnan(Sums().moments.mean)
