"""How different two items are: of all pairs of a list, or of a list and a profile."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rankmeter._hits import BoolArray, FloatArray, IntArray, ratio
from rankmeter._lists import Features, Likeness, Lists, Profiles, Similarity
from rankmeter.errors import UsageError

__all__ = ["CELLS", "Distance", "Space"]

Distance = Literal["cosine", "jaccard", "hamming", "hamming_share", "euclidean", "users", "given"]

CELLS = 2**21
"""Numbers of the matrices that are worked on at a time."""


@dataclass(frozen=True, eq=False)
class Space:
    """A distance, with the features or similarities that it needs."""

    source: Features | Similarity
    distance: Distance

    @classmethod
    def of(cls, likeness: Likeness, distance: Distance) -> Space:
        """The space of a distance.

        Raises
        ------
        UsageError
            If what it needs was not given.
        """
        source: Features | Similarity | None = likeness.features
        argument, what = "items", "features of the items"
        if distance == "users":
            source, argument = likeness.together, "train"
            what = "the training interactions"
        elif distance == "given":
            source = likeness.given
            what = "a similarity of each two items, as a pair (ids, square matrix)"
        if source is None:
            raise UsageError(f"needs {what}: pass {argument}=", option=argument)
        if isinstance(source, Features) and distance in ("cosine", "jaccard"):
            source = source.unit if distance == "cosine" else source.flags
        return cls(source, distance)

    @property
    def known(self) -> BoolArray:
        """Which items have features or similarities."""
        return self.source.known

    @property
    def width(self) -> int:
        """Numbers of each item."""
        return max(self.source.n_features, 1) if isinstance(self.source, Features) else 1

    def rows(self, item: IntArray) -> FloatArray:
        """The vectors of items in an array of any shape, as its last axis."""
        vectors = self._vectors
        return vectors.rows(item.ravel()).reshape(*item.shape, vectors.n_features)

    @property
    def _vectors(self) -> Features:
        assert isinstance(self.source, Features)
        return self.source

    def blocks(self, lists: Lists) -> Iterator[tuple[IntArray, IntArray, IntArray]]:
        """Equally long lists, so many at a time that all their distances fit."""
        return lists.blocks(max(1, CELLS // (self.width + int(lists.lengths.max(initial=0)))))

    def total(self, lists: Lists) -> FloatArray:
        """The sum of the distances of all pairs of each list."""
        found, n = np.zeros(lists.n_users), lists.lengths
        hamming = self.distance in ("hamming", "hamming_share")
        if self.distance == "cosine" or (hamming and self._vectors.binary):
            own = np.bincount(lists.user, self._vectors.squares[lists.item], n.size)
            for users, sums in self._sums(lists.offsets, lists.item, np.ones(lists.item.size)):
                found[users] = np.einsum("uf,uf->u", sums, sums)
            # The squared distances of all pairs of vectors add up to n * own - found.
            return self._share(n * own - found) if hamming else (own - found + n * (n - 1)) / 2
        for some, item, _ in self.blocks(lists):
            found[some] = self._of_pairs(item)
        return found

    def _of_pairs(self, item: IntArray) -> FloatArray:
        """The sum of the distances of all pairs of lists of one length."""
        if self.distance not in ("hamming", "hamming_share"):
            return np.asarray(self.within(item).sum(axis=(1, 2)) / 2)
        rows, found = self.rows(item), np.zeros(item.shape[0])
        for i in range(1, item.shape[1]):
            found += self._differ(rows[:, :i], rows[:, [i]]).sum(axis=1)
        return found

    def _sums(
        self, offsets: IntArray, item: IntArray, weight: FloatArray
    ) -> Iterator[tuple[slice, FloatArray]]:
        """The weighted sums of the vectors of each user's items, for some users at a time."""
        from scipy.sparse import csr_array

        n, matrix = offsets.size - 1, self._vectors.matrix
        own = csr_array((weight, item, offsets), shape=(n, matrix.shape[0]))
        step = max(1, CELLS // self.width)
        for start in range(0, n, step):
            users = slice(start, min(start + step, n))
            sums = own[users] @ matrix
            yield users, sums.toarray() if hasattr(sums, "toarray") else sums

    def within(self, item: IntArray) -> FloatArray:
        """All distances within lists: (n_users, n) items give (n_users, n, n), 0 to itself."""
        n = item.shape[1]
        if isinstance(self.source, Similarity):
            one, other = np.triu_indices(n, 1)
            found = np.zeros((item.shape[0], n, n))
            found[:, one, other] = self.between(item[:, one], item[:, other])
            return found + found.transpose(0, 2, 1)
        rows = self.rows(item)
        if self.distance in ("hamming", "hamming_share"):
            found = np.stack([self._differ(rows[:, [i]], rows) for i in range(n)], axis=1)
        else:
            size = self._vectors.squares[item]
            common = rows @ rows.transpose(0, 2, 1)
            found = self._of_common(common, size[:, :, None] + size[:, None, :])
        found[:, np.arange(n), np.arange(n)] = 0.0
        return found

    def between(self, one: IntArray, other: IntArray) -> FloatArray:
        """The distances of pairs of items, given two arrays of one shape."""
        if isinstance(self.source, Similarity):
            return 1.0 - self.source.between(one, other)
        if self.distance in ("hamming", "hamming_share"):
            return self._differ(self.rows(one), self.rows(other))
        size = self._vectors.squares
        common: FloatArray = np.einsum("...f,...f->...", self.rows(one), self.rows(other))
        return self._of_common(common, size[one] + size[other])

    def to_profile(self, lists: Lists, profiles: Profiles) -> FloatArray:
        """The mean distance of each item in a list to the profile of its user; NaN without one.

        Items of the profile without features or similarities are left out.
        """
        inside = self.known[profiles.item]
        user, item = profiles.user[inside], profiles.item[inside]
        size = np.bincount(user, minlength=lists.n_users)
        if self.distance == "cosine":
            far = self._to_means(lists, user, item, size)
        else:
            far = self._to_each(lists, item, size)
        return np.where(size[lists.user] > 0, far, np.nan)

    def _to_means(self, lists: Lists, user: IntArray, item: IntArray, size: IntArray) -> FloatArray:
        """One minus the product with the mean of the vectors of the profile."""
        offsets = np.concatenate(([0], np.cumsum(size)))
        far = np.ones(lists.item.size)
        step = max(1, CELLS // self.width)
        for users, mean in self._sums(offsets, item, 1.0 / np.maximum(size, 1)[user]):
            first, last = int(lists.offsets[users.start]), int(lists.offsets[users.stop])
            for low in range(first, last, step):
                some = slice(low, min(low + step, last))
                rows = self.rows(lists.item[some])
                far[some] -= np.einsum("if,if->i", rows, mean[lists.user[some] - users.start])
        return far

    def _to_each(self, lists: Lists, item: IntArray, size: IntArray) -> FloatArray:
        """The mean over pairs, with about the same number of pairs at a time."""
        n = size[lists.user]
        ends, begin = np.cumsum(n), (np.cumsum(size) - size)[lists.user]
        far, done = np.zeros(n.size), 0
        step = max(1, CELLS // self.width)
        while done < n.size:
            pairs = int(ends[done] - n[done])
            end = max(done + 1, int(np.searchsorted(ends, pairs + step, side="right")))
            some = np.arange(done, end)
            at = np.repeat(some, n[some])
            nth = np.arange(at.size) - np.repeat(ends[some] - n[some] - pairs, n[some])
            found = self.between(lists.item[at], item[begin[at] + nth])
            far[done:end] = np.bincount(at - done, found, minlength=end - done)
            done = end
        return ratio(far, n)

    def _of_common(self, common: FloatArray, both: FloatArray) -> FloatArray:
        """From products of two vectors, and the sums of their products with themselves."""
        if self.distance == "cosine":
            return np.asarray(1.0 - common)
        if self.distance == "jaccard":
            return 1.0 - ratio(common, both - common)
        return np.asarray(np.sqrt(np.maximum(both - 2.0 * common, 0.0)))

    def _differ(self, one: FloatArray, other: FloatArray) -> FloatArray:
        """How many features differ, or their share."""
        return self._share(np.asarray(np.count_nonzero(one != other, axis=-1), dtype=np.float64))

    def _share(self, differ: FloatArray) -> FloatArray:
        return differ / (self.width if self.distance == "hamming_share" else 1.0)
