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
    whole = _gap(total / size)
    left = np.maximum(size[own] - 1, 1)
    mean = (total[own] - values) / left
    far = np.abs(total / size - (total / size)[own][:, None])
    moved = np.abs(total / size - mean[:, None])
    moved[np.arange(n), own] = 0.0
    pairs = size.size * (size.size - 1) / 2
    without = whole + (moved - far).sum(axis=1) / pairs
    without = np.where(size[own] > 1, without, whole)  # a group of one user stays as it is
    found: FloatArray = whole + (n - 1) * (without.mean() - without)
    return found


def _gap(means: FloatArray) -> float:
    at = np.triu_indices(means.size, 1)
    return float(np.abs(means[at[0]] - means[at[1]]).mean())
