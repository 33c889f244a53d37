"""The mean of a metric over users, with its uncertainty."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rankmeter._choices import GEOMETRIC_FLOOR, Setting, format_bound
from rankmeter._engine.scores import Averaged
from rankmeter._evidence.hits import FloatArray, IntArray
from rankmeter._results.wording import interval_text, number_text
from rankmeter._statistics.intervals import (
    UNKNOWN,
    SampleMean,
    bootstrap_interval,
    median_interval,
    spread_of_mean,
    spread_of_moments,
    stratified_spread,
    student_interval,
    wilson_interval,
)
from rankmeter._statistics.vectors import Moments, moments
from rankmeter.conventions._plan import MetricPlan, Plan
from rankmeter.errors._caution import warn

if TYPE_CHECKING:
    from rankmeter._statistics.runs import Crossed

UNBOUNDED = (-math.inf, math.inf)


class EqualFields:
    """Dataclass that compares all fields together, so that NaN in the same field is equal.

    Since Python 3.13 dataclasses compare them one by one.
    """

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and _field_values(self) == _field_values(other)

    def __hash__(self) -> int:
        return hash(_field_values(self))


def _field_values(instance: Any) -> tuple[Any, ...]:
    return tuple(getattr(instance, field.name) for field in fields(instance))


@dataclass(frozen=True, eq=False)
class Estimate(EqualFields):
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
    lowest, highest : float
        The least and the largest mean over all labels that unjudged ranked items can get; NaN
        unless ``unjudged="bounds"``.
    unjudged : float
        Share of unjudged items among those in the top k; NaN unless ``unjudged="bounds"``.
    """

    label: str
    mean: float
    low: float
    high: float
    std: float
    n: int
    undefined: int
    missing: int
    lowest: float = math.nan
    highest: float = math.nan
    unjudged: float = math.nan

    @property
    def interval(self) -> tuple[float, float]:
        """Bounds of the interval, at the confidence of the result."""
        return self.low, self.high

    def numbers(self) -> dict[str, float]:
        """The numbers for an experiment tracker, by kind."""
        return {"mean": self.mean, "low": self.low, "high": self.high, "n": self.n} | self.bounds()

    def bounds(self) -> dict[str, float]:
        """The bounds and the share of unjudged items by name; empty if they were not asked for."""
        if math.isnan(self.unjudged):
            return {}
        return {"lowest": self.lowest, "highest": self.highest, "unjudged": self.unjudged}

    def _repr_html_(self) -> str:
        from html import escape

        return f"<p>{escape(str(self))}</p>"

    def __float__(self) -> float:
        return self.mean

    def __str__(self) -> str:
        return f"{self.label} {number_text(self.mean)} {interval_text(*self.interval)} n={self.n}"

    __repr__ = __str__


def estimate(
    plan: Plan, entry: MetricPlan, averaged: Averaged, clusters: IntArray | None = None
) -> Estimate:
    """Estimate the mean of one metric over the averaged users.

    `clusters` has the cluster of each user of the result, averaged or not.
    """
    scale, aggregate = averaged.scale(entry), entry.averaging.aggregate
    return estimate_on_scale(plan, entry.label, scale, averaged, clusters, aggregate)


def estimate_on_scale(
    setting: Setting,
    label: str,
    scale: tuple[float, float],
    averaged: Averaged,
    clusters: IntArray | None = None,
    aggregate: str = "mean",
) -> Estimate:
    """Estimate the mean, or another `aggregate`, of values on a scale."""
    values = averaged.parts
    cluster_ids = None if clusters is None else clusters[averaged.users]
    summary = moments(values)
    if averaged.state is None and not _are_on_scale(scale, values):
        declared = " to ".join(map(format_bound, scale))
        warn(f"{label} has values outside its range, {declared}: its interval ignores the range")
        scale = UNBOUNDED
    if averaged.has_user_values:
        mean, low, high = _aggregate_with_interval(
            values, summary, aggregate, setting, cluster_ids, scale
        )
    else:  # no user has a value on the scale
        _, *ends = _aggregate_with_interval(
            values, summary, aggregate, setting, cluster_ids, UNBOUNDED
        )
        mean = averaged.state.value() if averaged.state else math.nan  # without rounding
        low, high = clip_interval(scale, mean, *ends)
    n, _, sd = summary
    return Estimate(label, mean, low, high, sd, n, averaged.undefined, averaged.missing)


def macro_estimate(
    plan: Plan,
    entry: MetricPlan,
    groups: Sequence[tuple[Estimate, Averaged]],
    clusters: IntArray | None = None,
) -> Estimate:
    """Estimate the mean of group means; the groups are fixed, so only users vary.

    Means and shares have the interval of `stratified_spread`. Of others, such as medians, the
    interval is made of those of the groups: Zou and Donner, Statistics in Medicine 27, 2008.
    """
    defined = [(e, part) for e, part in groups if not math.isnan(e.mean)]
    means = np.array([e.mean for e, _ in defined])
    n, mean, sd = moments(means)
    low = high = math.nan
    if defined and entry.averaging.aggregate in ("mean", "micro"):
        cluster_ids = None if clusters is None else [clusters[part.users] for _, part in defined]
        spread = stratified_spread([part.parts for _, part in defined], cluster_ids)
        scale = defined[0][1].scale(entry)
        bounded = all(
            part.has_user_values and _are_on_scale(scale, part.values) for _, part in defined
        )
        if bounded and _has_wilson_interval(plan, mean, scale):
            n_units = spread.units
            low, high = wilson_interval(spread, scale, plan.confidence, n_units, n_units)
        else:
            low, high = clip_interval(scale, mean, *student_interval(spread, plan.confidence))
    elif defined:
        ends = np.array([e.interval for e, _ in defined])
        reach = np.sqrt(np.square(ends - means[:, None]).sum(axis=0)) / n
        low, high = mean - float(reach[0]), mean + float(reach[1])
    return Estimate(entry.label, mean, low, high, sd, n, 0, 0)


def clip_interval(
    scale: tuple[float, float], mean: float, low: float, high: float
) -> tuple[float, float]:
    """Clip an interval to the scale; unchanged if the mean is off the scale."""
    if scale[0] <= mean <= scale[1]:
        return max(low, scale[0]), min(high, scale[1])
    return low, high


def _are_on_scale(scale: tuple[float, float], values: FloatArray) -> bool:
    """Whether all values are on the scale: not if a metric declares another, or in other units."""
    below = values.min(initial=np.inf) < scale[0] - 1e-9
    above = values.max(initial=-np.inf) > scale[1] + 1e-9
    return not (below or above)


def _aggregate_with_interval(
    values: FloatArray,
    summary: Moments,
    aggregate: str,
    setting: Setting,
    clusters: IntArray | None,
    scale: tuple[float, float],
) -> tuple[float, float, float]:
    """Mean, sum, median or geometric mean of the values, and the bounds of the interval."""
    if aggregate == "geometric":
        logs = np.log(np.maximum(values, GEOMETRIC_FLOOR))
        least, most = (math.log(max(end, GEOMETRIC_FLOOR)) for end in scale)
        summary = moments(logs)
        mean, low, high = map(
            math.exp,
            _aggregate_with_interval(logs, summary, "mean", setting, clusters, (least, most)),
        )
        return mean, low, high
    if aggregate == "median":
        confidence = setting.confidence
        low, high = median_interval(values, confidence) if clusters is None else UNKNOWN
        return float(np.median(values)) if values.size else math.nan, low, high
    low, high = mean_interval(values, summary, setting, clusters, scale)
    times = summary.n if aggregate == "sum" else 1
    return times * summary.mean, times * low, times * high


def mean_interval(
    values: FloatArray,
    summary: Moments,
    setting: Setting,
    clusters: IntArray | None = None,
    scale: tuple[float, float] = UNBOUNDED,
) -> tuple[float, float]:
    """Interval of the mean on a scale by the method of the setting, over clusters if given.

    `summary` has the moments of the values.
    """
    if values.size < 2 or np.isnan(values).any():
        return math.nan, math.nan
    if setting.uses_bootstrap:
        return bootstrap_interval(
            values,
            clusters=clusters,
            confidence=setting.confidence,
            n_resamples=setting.resamples,
            seed=setting.seed,
        )
    spread = spread_of_moments(summary) if clusters is None else spread_of_mean(values, clusters)
    return interval_of_spread(spread, values.size, setting, scale)


def interval_of_spread(
    spread: SampleMean, n: int, setting: Setting, scale: tuple[float, float]
) -> tuple[float, float]:
    """Interval of the mean of n values on a scale by a formula, from its spread."""
    if _has_wilson_interval(setting, spread.mean, scale):
        return wilson_interval(spread, scale, setting.confidence, n, spread.effective)
    ends = student_interval(spread, setting.confidence)
    return clip_interval(scale, spread.mean, *ends) if setting.interval == "wilson" else ends


def _has_wilson_interval(setting: Setting, mean: float, scale: tuple[float, float]) -> bool:
    """Whether the setting is Wilson's interval and the mean is on a bounded scale."""
    on = scale[0] <= mean <= scale[1] and math.isfinite(scale[0]) and math.isfinite(scale[1])
    return on and setting.interval == "wilson"


def crossed_estimate(
    setting: Setting, scale: tuple[float, float], mean: Estimate, crossed: Crossed, *, alone: bool
) -> Estimate:
    """Replace the interval of a mean over users by the interval of crossed users and runs.

    `alone` says whether each user has a value on the scale.
    """
    spread = crossed.spread
    if alone:
        low, high = interval_of_spread(spread, mean.n, setting, scale)
    else:
        low, high = clip_interval(scale, spread.mean, *student_interval(spread, setting.confidence))
    return replace(mean, low=low, high=high)
