"""Intervals of the mean of values, by the two formulas."""

from __future__ import annotations

import numpy as np

from rankmeter._statistics.intervals import spread_of_mean, student_interval
from rankmeter._statistics.intervals import wilson_interval as wilson_of_spread


def t_interval(x, confidence=0.95, *, clusters=None):
    """Student's t interval."""
    return student_interval(spread_of_mean(np.asarray(x), clusters), confidence)


def wilson_interval(x, confidence=0.95, *, scale=(0.0, 1.0), clusters=None):
    """Wilson's interval of values on a scale."""
    spread = spread_of_mean(np.asarray(x), clusters)
    return wilson_of_spread(spread, scale, confidence, len(x), spread.effective)
