"""Sums of an accumulator are exact."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rankmeter._statistics.vectors import ExactSums


@given(st.lists(st.floats(-1e30, 1e30) | st.sampled_from([5e-324, -1e-310, 0.1])))
def test_sums_are_exact(values):
    from fractions import Fraction

    half = len(values) // 2
    sums = ExactSums.of(values[half:]) + ExactSums.of(values[:half])
    exact = [Fraction(value) for value in values]
    assert Fraction(sums.total, 2**1074) == sum(exact)
    assert Fraction(sums.squares, 2**2148) == sum(one**2 for one in exact)
    if len(values) > 1 and len(set(values)) == 1:
        assert sums.moments.sd == 0.0
        assert sums.moments.mean == values[0]
