"""How far apart the means of groups of users are."""

from __future__ import annotations

import numpy as np

from rankmeter._hits import FloatArray, IntArray


def gap_values(values: FloatArray, group: IntArray) -> FloatArray:
    """Jackknife values of the mean absolute difference between the means of each two groups.

    Their mean is the number, and their spread its uncertainty; NaN with fewer than two groups.
    """
    n = values.size
    _, own, size = np.unique(group, return_inverse=True, return_counts=True)
    total = np.bincount(own, values)
    if size.size < 2:
        return np.full(n, np.nan)
    means = total / size
    ascending = np.sort(means)
    below = np.concatenate(([0.0], np.cumsum(ascending)))

    def to_all(mean: FloatArray) -> FloatArray:
        """The sum of the distances of a mean from those of all groups."""
        n_below = np.searchsorted(ascending, mean)
        sums: FloatArray = (2 * n_below - size.size) * mean + below[-1] - 2 * below[n_below]
        return sums

    pairs = size.size * (size.size - 1) / 2
    whole = float(to_all(means).sum() / (2 * pairs))
    mean = (total[own] - values) / np.maximum(size[own] - 1, 1)
    change = to_all(mean) - np.abs(means[own] - mean) - to_all(means)[own]
    without = whole + change / pairs
    without = np.where(size[own] > 1, without, whole)  # a group of one user stays as it is
    found: FloatArray = whole + (n - 1) * (without.mean() - without)
    return found
