"""Means of queries that people judged, corrected by a judge of all queries, as values by query.

Prediction-powered inference (Angelopoulos, Bates, Fannjiang, Jordan and Zrnic, Science 2023) with
the weight λ of the judge that makes the variance smallest (PPI++: Angelopoulos, Duchi and Zrnic,
arXiv 2311.01453): λ · mean of the judge on the other queries + mean of (people - λ · judge). λ is
cross-fitted: each half of the queries has that of the other half. For rankings: Oosterhuis,
Jagerman, Qin, Wang and Bendersky, KDD 2024.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rankmeter._evidence.hits import BoolArray, FloatArray
from rankmeter._statistics.intervals import (
    FEW_CHANGES,
    SampleMean,
    find_majority,
    pseudo_unit_change,
)
from rankmeter._statistics.vectors import moments


@dataclass(frozen=True, eq=False)
class Sample:
    """The queries that people judged, and how likely each was to be chosen.

    `inverse` has 1 / probability of each, scaled to a mean of 1; None if all are equal. `n_all` is
    the number of queries that the judge judged, with these.
    """

    n: int
    n_all: int
    inverse: FloatArray | None = None

    @cached_property
    def weights(self) -> FloatArray:
        """The weight of each query, 1 on average."""
        return np.ones(self.n) if self.inverse is None else self.inverse

    @property
    def effective(self) -> float:
        """How many queries of equal weight vary as much."""
        return float(self.n**2 / np.square(self.weights).sum())

    @property
    def most(self) -> float:
        """The largest weight of deviations of the judge: that with the judge's whole mean."""
        return self.n_all / (self.n_all - self.n) if self.n_all > self.n else 0.0

    def halves(self) -> list[BoolArray]:
        """A mask for each half of the queries, of which every second one is in the first."""
        first: BoolArray = np.arange(self.n) % 2 == 0
        return [first, ~first]


@dataclass(frozen=True, eq=False)
class Corrected:
    """Values of people corrected by the judge, query by query; their mean is the estimate.

    Each of the `n` rows has the value of people, minus λ times the deviation of the judge, and an
    equal share of the `others` that only the judge judged. So rows are as independent as queries,
    and vary as much as the estimate does. `own` is without the others, and `errors` are those of
    the judge; `others` is the variance that the others add, `weight` the mean λ, and `reach` the
    range of all values.
    """

    people: FloatArray
    rows: FloatArray
    own: FloatArray
    errors: FloatArray
    others: float
    weight: float
    reach: float
    sample: Sample

    @cached_property
    def spread(self) -> SampleMean:
        """The estimate with its standard error: of queries and of the others, apart."""
        n, mean, sd = moments(self.rows)
        if self.weight:
            sd = math.sqrt(moments(self.own).sd ** 2 + n * self.others)
        return SampleMean(mean, sd / math.sqrt(n) if n else math.nan, n, self.sample.effective)

    def steady_spread(self, span: float) -> SampleMean:
        """The spread with a pseudo-unit: an error of the judge that the sample may have missed."""
        return self.spread.with_pseudo_unit(self.missed_error(span))

    def missed_error(self, span: float) -> float:
        """The largest error of the judge that is likely, times λ; 0 where errors are spread out.

        Where few errors were seen, it is the range of all values, or the possible span.
        """
        if not self.weight:
            return 0.0
        errors = self.errors - np.median(self.errors)
        return self.weight * pseudo_unit_change(errors, min(span, self.reach))


def correct(
    people: FloatArray, judge: FloatArray, others: FloatArray, sample: Sample, weights: FloatArray
) -> Corrected:
    """Correct the values of people by those of the judge on these and on other queries.

    `weights` has the weight of the deviation of the judge for each query: λ · all / others.
    """  # fmt: skip
    n, n_all, inverse = sample.n, sample.n_all, sample.weights
    if not weights.any() and sample.inverse is None:
        return Corrected(people, people, people, judge - people, 0.0, 0.0, 0.0, sample)
    every = np.concatenate([judge, others])
    center, weight = (float(every.mean()) if every.size else 0.0), float(weights.mean())
    deviations = people - weights * (judge - center)
    mean, share = float((inverse * deviations).mean()), weight / n_all
    own = mean + inverse * (deviations - mean) + n * share * (judge - center)
    groups = np.bincount(np.arange(others.size) % n, others - center, n)
    variance = share**2 * others.size * moments(others).sd ** 2 if others.size > 1 else 0.0
    rows, errors = own + n * share * groups, inverse * (judge - people)
    scaled, reach = weight / (sample.most or 1.0), float(np.ptp(np.concatenate([people, every])))
    return Corrected(people, rows, own, errors, variance, scaled, reach, sample)


def best_weight(
    people: FloatArray, judge: FloatArray, every: FloatArray, sample: Sample, rows: BoolArray
) -> float:
    """The weight with the least variance for tables of (queries, numbers), on some of their rows.

    `every` has the judge on all queries. 0 if it is negative: the judge says the opposite.
    """
    w = (sample.weights * rows)[:, None]
    x, y = (table - (w * table).sum(axis=0) / w.sum() for table in (people, judge))
    free = w.sum() - (w * w).sum() / w.sum()
    variance = float(every.var(axis=0, ddof=1).sum()) if len(every) > 1 else 0.0
    if variance <= 0.0 or free <= 0.0:
        return 0.0
    return min(max(float((w * x * y).sum() / free) / variance, 0.0), sample.most)


def cross_fitted_weights(
    people: FloatArray, judge: FloatArray, every: FloatArray, sample: Sample
) -> FloatArray:
    """The weight of each query, from the other half; 0 where too few queries differ to show it.

    Each half needs three queries with another value than most, as six have to differ where rare
    differences are compared.
    """
    weights = np.zeros(sample.n)
    differ = (people != people[:1]).any(axis=0) | (every != every[:1]).any(axis=0)
    if not differ.any():
        return weights
    people, judge, every = (table[:, differ] for table in (people, judge, every))
    halves = sample.halves()
    if all(_differing(x) >= FEW_CHANGES // 2 for half in halves for x in people[half].T):
        for half in halves:
            weights[half] = best_weight(people, judge, every, sample, ~half)
    return weights


def _differing(values: FloatArray) -> int:
    """How many values are not those of most."""
    largest = float(np.ptp(values)) if values.size else 0.0
    share = find_majority(values, largest)[0] if largest else 1.0
    return values.size - round(share * values.size)


def contrast(n: int, number: int) -> FloatArray:
    """A vector of n rows with the sum 0 and the length 1, orthogonal to those of other numbers."""
    wave = n - 1 - number % (n - 1)
    turns: FloatArray = np.cos(np.pi * (np.arange(n) + 0.5) * wave / n)
    return turns * math.sqrt(2.0 / n)
