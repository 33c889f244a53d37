"""The mean over data sets that are a sample of others: random effects."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rankmeter._statistics.intervals import Interval, clip_p_value, t_quantile, t_tail_probability
from rankmeter._statistics.vectors import Floats

FEWEST = 3
"""Data sets below which nothing is said about other ones."""


class RandomEffects(NamedTuple):
    """The mean of such data sets, its interval and p, and what another data set would show."""

    mean: float
    interval: Interval
    p: float
    prediction: Interval
    between: float
    """Standard deviation of the true values between data sets."""


def random_effects(values: Floats, variances: Floats, confidence: float) -> RandomEffects:
    """Combine the values of at least three data sets, with the variances of their means.

    The variance between data sets is that of Paule and Mandel (Journal of Research of the National
    Bureau of Standards 87, 1982), the interval that of Hartung and Knapp (Statistics in Medicine
    20, 2001), not narrower than without variance between data sets (Röver, Knapp and Friede, BMC
    Medical Research Methodology 15, 2015). Without variances, the interval is that of Student's t
    over data sets.

    The prediction is of the value that another data set shows: its variance is that of the mean,
    plus that between data sets, plus the mean of the variances, as of a data set with as many
    users. The usual interval (Higgins, Thompson and Spiegelhalter, JRSS A 172, 2009) is of the true
    value, without the last one. It is too narrow where the variance between data sets is about that
    within them, which is then often estimated as 0.
    """
    k, between = len(values), _variance_between(values, variances)
    total = variances + between
    if not np.all(total > 0.0):  # equal values, of which some are exact
        return RandomEffects(float(values[0]), *_nothing_varies(), 0.0)
    weights = 1.0 / total
    mean = float((weights * values).sum() / weights.sum())
    spread = float((weights * np.square(values - mean)).sum()) / (k - 1)
    se = math.sqrt(max(spread, 1.0) / float(weights.sum()))
    t = t_quantile(0.5 + 0.5 * confidence, k - 1.0)
    reach = t * math.sqrt(se * se + between + float(variances.mean()))
    return RandomEffects(
        mean,
        Interval(mean - t * se, mean + t * se),
        clip_p_value(2.0 * t_tail_probability(abs(mean) / se, k - 1.0)),
        Interval(mean - reach, mean + reach),
        math.sqrt(between),
    )


def _nothing_varies() -> tuple[Interval, float, Interval]:
    nothing = Interval(math.nan, math.nan)
    return nothing, math.nan, nothing


def _variance_between(values: Floats, variances: Floats) -> float:
    """The variance that makes the weighted squares of the values k - 1; 0 if they are below."""
    k, squares = len(values), float(np.square(values - values.mean()).sum())

    def weighted_squares(between: float) -> float:
        weights = 1.0 / (variances + between)
        mean = (weights * values).sum() / weights.sum()
        return float((weights * np.square(values - mean)).sum())

    low, high = 0.0, squares / (k - 1)
    if high == 0.0 or (np.all(variances > 0.0) and weighted_squares(0.0) <= k - 1):
        return 0.0
    while low < (middle := 0.5 * (low + high)) < high:
        if weighted_squares(middle) > k - 1:
            low = middle
        else:
            high = middle
    return high
