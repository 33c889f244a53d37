"""The categories of the items of each user, added up."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rankmeter._hits import FloatArray
from rankmeter._lists import Features, Lists, Profiles

__all__ = ["counts", "per_item"]


def counts(
    own: Lists | Profiles, categories: Features, weights: FloatArray | None = None
) -> FloatArray:
    """The sum of the rows of each user's items, of shape (n_users, n_categories)."""
    from scipy.sparse import csr_array

    weights = np.ones(own.item.size) if weights is None else weights
    shape = (own.offsets.size - 1, categories.matrix.shape[0])
    found = csr_array((weights, own.item, own.offsets), shape=shape) @ categories.matrix
    return np.asarray(found.toarray() if hasattr(found, "toarray") else found)


def per_item(categories: Features) -> Features:
    """The same categories, where an item with several is shared by them."""
    n = np.maximum(np.asarray(categories.matrix.sum(axis=1)), 1.0)
    return replace(categories, matrix=categories.matrix / n[:, None])
