"""How numbers are written in tables."""

from __future__ import annotations

import math

import pytest

from rankmeter._results.wording import number_text

pytestmark = pytest.mark.once


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0000"),
        (-0.00001, "-0.000010"),
        (0.0000999, "0.000100"),
        (0.0001, "0.0001"),
        (0.00014, "0.0001"),
        (999.99, "999.9900"),
        (1000.0, "1,000.0"),
        (-1000.0, "-1,000.0"),
        (1234567.0, "1,234,567.0"),
        (1e-30, "1.0e-30"),
        (math.nan, "–"),
        (None, "–"),
    ],
)
def test_numbers_of_any_size(value, text):
    assert number_text(value) == text


def test_other_digits_have_no_thresholds():
    assert number_text(0.00001, 3) == "0.000"
    assert number_text(1234.5, 2) == "1,234.50"
    assert number_text(-0.0001, 2) == "0.00"
