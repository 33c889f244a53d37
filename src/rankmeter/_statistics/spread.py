"""How far would a mean vary with other users? Its standard error, of users or of clusters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rankmeter._statistics.vectors import Floats, moments
from rankmeter.errors import UsageError

__all__ = ["Spread", "cluster_sums", "covariance", "effective", "spread"]


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
    units, equal = sizes.size, effective(sizes)
    if units < 2:
        return Spread(mean, math.nan, units, equal)
    return Spread(mean, math.sqrt(covariance([x], clusters)[0, 0]), units, equal)


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


def effective(sizes: npt.ArrayLike) -> float:
    """How many clusters of equal size are worth these: (Σ n)² / Σ n²; 0 without any."""
    rows = np.asarray(sizes, dtype=np.float64)
    return float(rows.sum() ** 2 / np.square(rows).sum()) if rows.size else 0.0
