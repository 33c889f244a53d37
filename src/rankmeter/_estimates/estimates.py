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
from rankmeter._statistics import Moments, bootstrap_interval, moments, t_interval_of

__all__ = ["Estimate", "estimate", "mean_interval"]


@dataclass(frozen=True)
class Estimate:
    """The mean of one metric over users, with its uncertainty.

    Attributes
    ----------
    label : str
        The metric as it was given.
    mean : float
        Or the geometric mean, or the sum, if the plan says so; NaN if there is no user to average.
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
    mean, low, high, std = _aggregate(values, entry.averaging.aggregate, plan, own)
    return Estimate(
        entry.label, mean, low, high, std, values.size, averaged.undefined, averaged.missing
    )


def _aggregate(
    values: FloatArray, how: str, plan: Plan, clusters: IntArray | None
) -> tuple[float, float, float, float]:
    """Mean (geometric mean, sum) of the values, bounds of its interval, standard deviation."""
    if how == "geometric":
        logs = np.log(np.maximum(values, GEOMETRIC_FLOOR))
        mean, low, high = map(math.exp, _aggregate(logs, "mean", plan, clusters)[:3])
        return mean, low, high, moments(values).sd
    found = moments(values)
    low, high = mean_interval(values, plan, clusters, found)
    times = values.size if how == "sum" else 1
    return times * found.mean, times * low, times * high, found.sd


def mean_interval(
    values: FloatArray,
    plan: Plan,
    clusters: IntArray | None = None,
    found: Moments | None = None,
) -> tuple[float, float]:
    """Interval of the mean, made as the plan says; clusters of values are drawn whole.

    `found` has the moments of the values, if they are known.
    """
    if plan.interval == "t":
        return t_interval_of(found or moments(values), plan.confidence)
    if values.size < 2 or np.isnan(values).any():
        return math.nan, math.nan
    return bootstrap_interval(
        values,
        clusters=clusters,
        confidence=plan.confidence,
        method=plan.interval,
        n_resamples=plan.resamples,
        seed=plan.seed,
    )
