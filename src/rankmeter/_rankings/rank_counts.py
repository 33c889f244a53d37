"""Counts at the judged items of rankings or of queries."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from rankmeter._evidence.hits import FloatArray, IntArray
from rankmeter._rankings.parallel import Parallel


@dataclass(frozen=True, eq=False)
class RankCounts(Parallel):
    """Numbers of candidates above, tied with and before the judged items of some users.

    Attributes
    ----------
    user : int64 array of shape (n_found,)
        Code of the user of each judged item that the ranking holds, from 0 to n_users - 1.
    gain : float64 array of shape (n_found,)
        Its gain as judged, before any threshold.
    above : int64 array of shape (n_found,)
        Candidates of the same user scored higher.
    equal : int64 array of shape (n_found,)
        Other candidates scored the same.
    before : int64 array of shape (n_found,) or None
        How many of the `equal` ones the tie order puts first; None where no order is known.
    n_ranked : int64 array of shape (n_users,)
        Candidates of each user.
    item : int64 array of shape (n_found,), optional
        The code of each judged item.
    """

    arrays: ClassVar[tuple[str, ...]] = ("user", "gain", "above", "equal", "before", "item")
    user: IntArray
    gain: FloatArray
    above: IntArray
    equal: IntArray
    before: IntArray | None
    n_ranked: IntArray
    item: IntArray | None = None

    def __add__(self, other: RankCounts) -> RankCounts:
        """Add the counts of disjoint sets of candidates."""
        return self._combine_counts(other, np.add)

    def __sub__(self, other: RankCounts) -> RankCounts:
        """Subtract the counts of some of the candidates."""
        return self._combine_counts(other, np.subtract)

    def _combine_counts(self, other: RankCounts, combine: np.ufunc) -> RankCounts:
        if not (
            np.array_equal(self.user, other.user)
            and np.array_equal(self.gain, other.gain)
            and self.n_ranked.shape == other.n_ranked.shape
        ):
            raise ValueError("counts add up for the same judged items of the same users")
        is_ordered = self.before is not None and other.before is not None
        return replace(
            self,
            above=combine(self.above, other.above),
            equal=combine(self.equal, other.equal),
            before=combine(self.before, other.before) if is_ordered else None,
            n_ranked=combine(self.n_ranked, other.n_ranked),
        )
