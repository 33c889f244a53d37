"""How far would a mean vary with other users? Its standard error, of users or of clusters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rankmeter._statistics.vectors import Floats, moments
from rankmeter.errors import UsageError

FEW_CHANGES = 6
"""Differing units below which their differences say little about how large rare ones are."""
FEW_UNITS = 30
"""Units of a group below which its variance can be too small by luck."""


class Spread(NamedTuple):
    """A mean and its standard error.

    ``units`` are the independent observations, users or clusters, and ``effective`` is how many
    units of equal size vary as much. NaN where there are fewer than two units.
    """

    mean: float
    se: float
    units: int
    effective: float

    @property
    def df(self) -> float:
        """Degrees of freedom of a t interval: clusters of unequal size count as fewer."""
        return max(self.effective - 1.0, 1.0)

    def steadied(self, change: float, weight: float = 1.0) -> Spread:
        """Add one unit to the variance, half at +change and half at -change; the mean stays.

        Units that differ rarely may just not have been met, so that the variance of differences
        is too small, or 0. Agresti and Min (Statistics in Medicine 24, 2005) add such
        observations to paired shares.
        """
        if self.units < 2:
            return self
        extra = weight * change * change / (self.units * (self.units - 1))
        return self._replace(se=math.sqrt(self.se * self.se + extra))


def largest_change(differences: Floats, span: float) -> float:
    """The largest difference of a unit; at least the span if fewer than six units differ."""
    seen = float(np.abs(differences).max(initial=0.0))
    return max(seen, span) if np.count_nonzero(differences) < FEW_CHANGES else seen


def share_of_ties(differences: Floats) -> float:
    """The share of units that have the most frequent difference; 0 if all are distinct."""
    x = np.sort(differences.round(12))  # takes less memory than to count each value
    starts = np.flatnonzero(np.diff(x, prepend=np.nan, append=np.nan) != 0.0)
    most = int(np.diff(starts).max(initial=0))
    return most / differences.size if most > 1 else 0.0


def pseudo_change(differences: Floats, span: float) -> float:
    """The change that steadies the variance of differences: the largest one, as far as they tie.

    Units with equal differences, most often 0, say little about how others differ; where all are
    distinct, their variance says all. The square of the largest change is therefore multiplied by
    the share of ties.
    """
    return largest_change(differences, span) * math.sqrt(share_of_ties(differences))


def spread(x: Floats, clusters: npt.ArrayLike | None = None) -> Spread:
    """Mean and standard error of x.

    With clusters the variance is that of the jackknife, which leaves out one cluster at a time
    (CR3: MacKinnon, Nielsen and Webb, J. Econometrics 232, 2023). It needs no model of the
    resemblance within a cluster and no equal sizes. Clusters of one user give ``sd / √n``.
    """
    n, mean, sd = moments(x)
    if clusters is None:
        return Spread(mean, sd / math.sqrt(n) if n else math.nan, n, float(n))
    _, sizes = cluster_sums(x, clusters)
    units, equal = sizes.size, effective_clusters(sizes)
    if units < 2:
        return Spread(mean, math.nan, units, equal)
    return Spread(mean, math.sqrt(covariance([x], clusters)[0, 0]), units, equal)


def stratified(groups: Sequence[Floats], clusters: Sequence[npt.ArrayLike] | None = None) -> Spread:
    """The mean of the means of groups, where these are all the groups there are.

    Only users vary, so the variance is the sum of those of the groups' means over the squared
    number of groups. A group of one unit has the pooled variance of units, and the sum is at least
    that with the pooled variance in all groups below 30 units, which can be alike by luck. Clusters
    can be in several groups: the variance is then at least that of all groups together.

    Degrees of freedom are Satterthwaite's (Biometrics Bulletin 2, 1946), and ``units`` is how many
    units of equal weight vary as much as these if the variance is the same in all groups.
    """
    labels = [None] * len(groups) if clusters is None else clusters
    spreads = [spread(x, ids) for x, ids in zip(groups, labels, strict=True)]
    n, size = len(spreads), np.array([group.units for group in spreads], dtype=np.float64)
    mean, units = float(np.mean([group.mean for group in spreads])), int(n * n / (1.0 / size).sum())
    if size.max() < 2:
        return Spread(mean, math.nan, units, 1.0)
    variances = np.array([group.se**2 if group.units > 1 else 0.0 for group in spreads])
    pooled = ((size - 1.0) * size * variances).sum() / (size - 1.0).sum() / size
    variances = np.where(size < 2, pooled, variances)
    variance = max(variances.sum(), np.where(size < FEW_UNITS, pooled, variances).sum()) / n**2
    df = np.where(size < 2, (size - 1.0).sum(), [group.df for group in spreads])
    squares = (variances**2 / df).sum()
    free = variances.sum() ** 2 / squares if squares > 0.0 else df.sum()
    if clusters is not None:
        scaled = sum(x.size for x in groups) / n
        moved = [(x - g.mean) * (scaled / x.size) for x, g in zip(groups, spreads, strict=True)]
        variance = max(variance, spread(np.concatenate(moved), np.concatenate(clusters)).se ** 2)
    return Spread(mean, math.sqrt(variance), units, float(free) + 1.0)


def covariance(vectors: Sequence[Floats], clusters: npt.ArrayLike | None = None) -> Floats:
    """Covariance matrix of the means of vectors over the same users, at least two units."""
    if clusters is None:
        return np.atleast_2d(np.cov(np.stack(vectors))) / vectors[0].size
    moved = []
    for x in vectors:
        sums, sizes = cluster_sums(x, clusters)
        # How the mean moves without a cluster, without subtracting nearly equal numbers.
        change = (sums - moments(x).mean * sizes) / (x.size - sizes)
        change[np.abs(change) <= 8 * np.finfo(np.float64).eps * np.abs(x).max()] = 0.0
        moved.append(change)
    table = np.stack(moved)
    matrix: Floats = (1.0 - 1.0 / table.shape[1]) * (table @ table.T)
    return matrix


def cluster_sums(x: Floats, clusters: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Sum and number of the rows of each cluster, the same for any order of the rows."""
    labels = np.asarray(clusters)
    if labels.shape != x.shape:
        raise UsageError(
            f"`clusters` must have one label for each value, got {labels.shape} for {x.shape}"
        )
    _, number = np.unique(labels, return_inverse=True)
    order = np.lexsort((x, number))
    sums = np.bincount(number[order], weights=x[order]).astype(np.float64, copy=False)
    return sums, np.bincount(number).astype(np.float64)


def effective_clusters(sizes: npt.ArrayLike) -> float:
    """Number of clusters of equal size that are worth these: (Σ n)² / Σ n²; 0 without any."""
    rows = np.asarray(sizes, dtype=np.float64)
    return float(rows.sum() ** 2 / np.square(rows).sum()) if rows.size else 0.0
