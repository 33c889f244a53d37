"""How different two items are: of all pairs of a list, or of a list and a profile."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rankmeter._evidence.hits import BoolArray, FloatArray, IntArray, ratio
from rankmeter._evidence.lists import Features, Likeness, Lists, Profiles, Similarity
from rankmeter.metrics._registry import require

Distance = Literal["cosine", "jaccard", "hamming", "hamming_share", "euclidean", "users", "given"]

CELLS = 2**21
"""Numbers of the matrices that are worked on at a time."""


@dataclass(frozen=True, eq=False)
class Space:
    """A distance with its features or similarities."""

    source: Features | Similarity
    distance: Distance

    @classmethod
    def of(cls, likeness: Likeness, distance: Distance) -> Space:
        """Build the space of a distance from features, profiles or similarities.

        Raises
        ------
        UsageError
            If the data for the distance were not passed.
        """
        if distance == "users":
            return cls(require(likeness.shared_user_similarity, "profiles"), distance)
        if distance == "given":
            return cls(require(likeness.given, "similarity"), distance)
        features = require(likeness.features, "features")
        source = {"cosine": "unit", "jaccard": "flags"}.get(distance)
        return cls(features if source is None else getattr(features, source), distance)

    @property
    def known(self) -> BoolArray:
        """A mask of the items that have features or similarities."""
        return self.source.known

    def without_unknown(self, top: Lists, unknown: str) -> Lists:
        """Remove items without features from the lists, if `unknown` is "skip"."""
        return top.only(self.known[top.item]) if unknown == "skip" else top

    @property
    def n_features(self) -> int:
        """Number of features of each item, at least 1."""
        return max(self.source.n_features, 1) if isinstance(self.source, Features) else 1

    @property
    def _vectors(self) -> Features:
        assert isinstance(self.source, Features)
        return self.source

    def list_blocks(self, lists: Lists) -> Iterator[tuple[IntArray, IntArray, IntArray]]:
        """Chunks of equally long lists with distances that fit in memory."""
        return lists.blocks(max(1, CELLS // (self.n_features + int(lists.lengths.max(initial=0)))))

    def pair_distance_sums(self, lists: Lists) -> FloatArray:
        """The sum of the distances of all pairs of items in each list."""
        totals, n = np.zeros(lists.n_users), lists.lengths
        hamming = self.distance in ("hamming", "hamming_share")
        if self.distance == "cosine" or (hamming and self._vectors.binary):
            squares = np.bincount(lists.user, self._vectors.squares[lists.item], n.size)
            for users, sums in self._weighted_vector_sums(
                lists.offsets, lists.item, np.ones(lists.item.size)
            ):
                totals[users] = np.einsum("uf,uf->u", sums, sums)
            # The squared distances of all pairs of vectors add up to n * squares - totals.
            if hamming:
                return self._scale_hamming(n * squares - totals)
            return np.asarray((squares - totals + n * (n - 1)) / 2)
        for rows, item, _ in self.list_blocks(lists):
            totals[rows] = self._sum_pair_distances(item)
        return totals

    def _sum_pair_distances(self, item: IntArray) -> FloatArray:
        """The sum of the distances of all pairs of items, for lists of one length."""
        if self.distance not in ("hamming", "hamming_share"):
            return np.asarray(self.pairwise_distances(item).sum(axis=(1, 2)) / 2)
        rows, sums = self._vectors.rows(item), np.zeros(item.shape[0])
        for i in range(1, item.shape[1]):
            sums += self._hamming_distances(rows[:, :i], rows[:, [i]]).sum(axis=1)
        return sums

    def _weighted_vector_sums(
        self, offsets: IntArray, item: IntArray, weight: FloatArray
    ) -> Iterator[tuple[slice, FloatArray]]:
        """Yield the weighted sums of the vectors of each user's items, in chunks of users."""
        from scipy.sparse import csr_array

        n, matrix = offsets.size - 1, self._vectors.matrix
        items = csr_array((weight, item, offsets), shape=(n, matrix.shape[0]))
        step = max(1, CELLS // self.n_features)
        for start in range(0, n, step):
            users = slice(start, min(start + step, n))
            sums = items[users] @ matrix
            yield users, sums.toarray() if hasattr(sums, "toarray") else sums

    def pairwise_distances(self, item: IntArray) -> FloatArray:
        """All distances within lists: (n_users, n) items give (n_users, n, n), with 0 diagonals."""
        n = item.shape[1]
        if isinstance(self.source, Similarity):
            first, second = np.triu_indices(n, 1)
            distances = np.zeros((item.shape[0], n, n))
            distances[:, first, second] = self.distances_between(item[:, first], item[:, second])
            return distances + distances.transpose(0, 2, 1)
        rows = self._vectors.rows(item)
        if self.distance in ("hamming", "hamming_share"):
            distances = np.stack(
                [self._hamming_distances(rows[:, [i]], rows) for i in range(n)], axis=1
            )
        else:
            size = self._vectors.squares[item]
            common = rows @ rows.transpose(0, 2, 1)
            distances = self._distances_from_products(common, size[:, :, None] + size[:, None, :])
        distances[:, np.arange(n), np.arange(n)] = 0.0
        return distances

    def distances_between(self, first: IntArray, second: IntArray) -> FloatArray:
        """The distances of pairs of items, given two arrays of one shape."""
        if isinstance(self.source, Similarity):
            return 1.0 - self.source.between(first, second)
        rows, other_rows = self._vectors.rows(first), self._vectors.rows(second)
        if self.distance in ("hamming", "hamming_share"):
            return self._hamming_distances(rows, other_rows)
        size = self._vectors.squares
        common: FloatArray = np.einsum("...f,...f->...", rows, other_rows)
        return self._distances_from_products(common, size[first] + size[second])

    def mean_distance_to_profile(self, lists: Lists, profiles: Profiles) -> FloatArray:
        """The mean distance of each listed item to the user's profile; NaN without a profile.

        Items of the profile without features or similarities are left out.
        """
        has_features = self.known[profiles.item]
        user, item = profiles.user[has_features], profiles.item[has_features]
        size = np.bincount(user, minlength=lists.n_users)
        if self.distance == "cosine":
            distance = self._distance_to_mean_vector(lists, user, item, size)
        else:
            distance = self._mean_distance_to_items(lists, item, size)
        return np.where(size[lists.user] > 0, distance, np.nan)

    def _distance_to_mean_vector(
        self, lists: Lists, user: IntArray, item: IntArray, size: IntArray
    ) -> FloatArray:
        """One minus the dot product of each listed item and the mean vector of the profile."""
        offsets = np.concatenate(([0], np.cumsum(size)))
        distance = np.ones(lists.item.size)
        step = max(1, CELLS // self.n_features)
        for users, mean in self._weighted_vector_sums(
            offsets, item, 1.0 / np.maximum(size, 1)[user]
        ):
            first, last = int(lists.offsets[users.start]), int(lists.offsets[users.stop])
            for low in range(first, last, step):
                chunk = slice(low, min(low + step, last))
                rows = self._vectors.rows(lists.item[chunk])
                means = mean[lists.user[chunk] - users.start]
                distance[chunk] -= np.einsum("if,if->i", rows, means)
        return distance

    def _mean_distance_to_items(self, lists: Lists, item: IntArray, size: IntArray) -> FloatArray:
        """The mean distance of each listed item to the items of the profile, in chunks of pairs."""
        n = size[lists.user]
        ends, begin = np.cumsum(n), (np.cumsum(size) - size)[lists.user]
        totals, done = np.zeros(n.size), 0
        step = max(1, CELLS // self.n_features)
        while done < n.size:
            pairs = int(ends[done] - n[done])
            end = max(done + 1, int(np.searchsorted(ends, pairs + step, side="right")))
            entries = np.arange(done, end)
            pair = np.repeat(entries, n[entries])
            nth = np.arange(pair.size) - np.repeat(ends[entries] - n[entries] - pairs, n[entries])
            distances = self.distances_between(lists.item[pair], item[begin[pair] + nth])
            totals[done:end] = np.bincount(pair - done, distances, minlength=end - done)
            done = end
        return ratio(totals, n)

    def _distances_from_products(self, common: FloatArray, squares: FloatArray) -> FloatArray:
        """Compute distances from dot products and sums of squared norms."""
        if self.distance == "cosine":
            return np.asarray(1.0 - common)
        if self.distance == "jaccard":
            return 1.0 - ratio(common, squares - common)
        return np.asarray(np.sqrt(np.maximum(squares - 2.0 * common, 0.0)))

    def _hamming_distances(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """The number of features that differ, or their share."""
        return self._scale_hamming(
            np.asarray(np.count_nonzero(first != second, axis=-1), dtype=np.float64)
        )

    def _scale_hamming(self, differ: FloatArray) -> FloatArray:
        return differ / (self.n_features if self.distance == "hamming_share" else 1.0)
