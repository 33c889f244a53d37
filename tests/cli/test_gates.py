"""Conditions of --fail-if, as they are read."""

from __future__ import annotations

import math

import pytest

from rankmeter._cli._gates import read_comparison_gate, read_gate
from rankmeter.errors import UsageError


def test_a_number_that_does_not_exist_is_no_reason_to_pass():
    assert all(read_gate(f"rr{sign}0").trips(math.nan) for sign in ("<", "<=", ">", ">=", "=="))


@pytest.mark.parametrize(
    "parts",
    [
        ("mrr", " ", "x"),
        ("mrr<", "1", "x"),
        ("mrr", "==1", ""),
        ("a", " ", "x"),
        ("", "a shown worse than ", ""),
        ("a worse than b on c", " by", ""),
        ("a worse than b on c", " ", "x"),
    ],
    ids=repr,
)
def test_a_condition_of_any_length_is_read_in_linear_time(parts):
    start, many, end = parts
    text = start + many * 200_000 + end  # in quadratic time each takes more than a minute
    for read in (read_gate, lambda text: read_comparison_gate(text, ["a", "b"])):
        with pytest.raises(UsageError, match="--fail-if"):
            read(text)
