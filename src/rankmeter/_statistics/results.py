"""The result of a test."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from rankmeter._statistics.intervals import UNKNOWN, Interval


@dataclass(frozen=True)
class TestResult:
    """The result of a test for a difference of means."""

    __test__: ClassVar[bool] = False  # pytest would collect it because of its name

    method: str
    """The test as it was carried out, in words."""
    n: int
    """Users compared."""
    difference: float
    """Mean of A minus mean of B."""
    statistic: float
    """Statistic of the test: t, W, wins, q, …"""
    p: float
    """Two-sided p-value: never 0, and NaN where the test has no result."""
    interval: Interval = UNKNOWN
    """Confidence interval of the difference, where the method gives one."""
    note: str = ""
    """Why there is no result, in words; empty if there is one."""
    detail: Mapping[str, float] = field(default_factory=dict)
    """Options and side results by name: seed, n_resamples, df, confidence, …"""


def too_few_users(method: str, n: int) -> TestResult:
    """The result of every test for too few users."""
    note = f"a paired test needs at least 2 users, got {n}"
    return TestResult(method, n, math.nan, math.nan, math.nan, note=note)


def positive_p(p: float) -> float:
    """``p`` from the smallest normal float to 1.

    A p-value of 0 would call a difference impossible; it is only ever a probability that
    float64 cannot hold, or the rounding of one minus another.
    """
    return min(max(float(p), sys.float_info.min), 1.0)
