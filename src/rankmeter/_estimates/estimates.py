"""The mean of a metric over users, with its uncertainty."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rankmeter._choices import GEOMETRIC_FLOOR
from rankmeter._engine import Averaged
from rankmeter._estimates.wording import number
from rankmeter._hits import FloatArray, IntArray
from rankmeter._plan import MetricPlan, Plan
from rankmeter._statistics import (
    Moments,
    bootstrap_interval,
    median_interval,
    moments,
    t_interval_of,
)

__all__ = ["Estimate", "estimate", "mean_interval"]


@dataclass(frozen=True)
class Estimate:
    """The mean of one metric over users, with its uncertainty.

    Attributes
    ----------
    label : str
        The metric as it was given.
    mean : float
        Or the geometric mean, the median or the sum, if the plan says so; NaN if there is no user
        to average.
    low, high : float
        Bounds of the interval of the mean; NaN with fewer than two users.
    std : float
        Standard deviation over users, with n - 1; NaN with fewer than two users.
    n : int
        Users averaged.
    undefined : int
        Users for whom the metric is undefined; the plan says what they count as.
    missing : int
        Users with truth but without a ranking; the plan says what they count as.
    """

    label: str
    mean: float
    low: float
    high: float
    std: float
    n: int
    undefined: int
    missing: int

    @property
    def interval(self) -> tuple[float, float]:
        """Bounds of the interval, at the confidence of the result."""
        return self.low, self.high

    def numbers(self) -> dict[str, float]:
        """The numbers for an experiment tracker, by kind."""
        return {"mean": self.mean, "low": self.low, "high": self.high, "n": self.n}

    def __float__(self) -> float:
        return self.mean

    def __str__(self) -> str:
        bounds = f"[{number(self.low)}, {number(self.high)}]"
        return f"{self.label} {number(self.mean)} {bounds} n={self.n}"


def estimate(
    plan: Plan, entry: MetricPlan, averaged: Averaged, clusters: IntArray | None = None
) -> Estimate:
    """The mean of one metric over the users that it averages.

    `clusters` has the cluster of each user of the result, averaged or not.
    """
    values = averaged.values
    if averaged.state is not None:
        values = averaged.state.influence(values)
    own = None if clusters is None else clusters[averaged.users]
    found = moments(values)
    how = entry.averaging.aggregate
    mean, low, high = _aggregate(values, found, how, plan, own)
    return Estimate(
        entry.label, mean, low, high, found.sd, found.n, averaged.undefined, averaged.missing
    )


_NAN = math.nan


def _aggregate(
    values: FloatArray, found: Moments, how: str, plan: Plan, clusters: IntArray | None
) -> tuple[float, float, float]:
    """The mean (geometric mean, sum) of the values, and the bounds of its interval."""
    if how == "geometric":
        logs = np.log(np.maximum(values, GEOMETRIC_FLOOR))
        mean, low, high = map(math.exp, _aggregate(logs, moments(logs), "mean", plan, clusters))
        return mean, low, high
    if how == "median":
        low, high = median_interval(values, plan.confidence) if clusters is None else (_NAN, _NAN)
        return float(np.median(values)) if values.size else _NAN, low, high
    low, high = mean_interval(values, found, plan, clusters)
    times = found.n if how == "sum" else 1
    return times * found.mean, times * low, times * high


def mean_interval(
    values: FloatArray, found: Moments, plan: Plan, clusters: IntArray | None = None
) -> tuple[float, float]:
    """Interval of the mean, made as the plan says; clusters of values are drawn whole.

    `found` are the moments of the values.
    """
    if values.size < 2 or np.isnan(values).any():
        return math.nan, math.nan
    if plan.interval == "t":
        return t_interval_of(found, plan.confidence)
    return bootstrap_interval(
        values,
        clusters=clusters,
        confidence=plan.confidence,
        method=plan.interval,
        n_resamples=plan.resamples,
        seed=plan.seed,
    )
