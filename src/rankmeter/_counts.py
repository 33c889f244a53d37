"""A ranking is anything that can count.

The rank of an item is one plus the number of candidates scored higher, so a metric of hits needs
only counts from a ranking. `RankCounts` names them. They add up over disjoint sets of
candidates, so they can be collected from parts of the rows, blocks of score columns or a cluster,
and no list is ever sorted as a whole.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from rankmeter._hits import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class RankCounts:
    """Numbers of candidates above, tied with and before the judged items of some users.

    Attributes
    ----------
    user : int64 array of shape (n_found,)
        Row of evaluation of each judged item that the ranking holds, from 0 to n_users - 1.
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

    user: IntArray
    gain: FloatArray
    above: IntArray
    equal: IntArray
    before: IntArray | None
    n_ranked: IntArray
    item: IntArray | None = None

    def only(self, chosen: npt.NDArray[np.bool_] | IntArray) -> RankCounts:
        """Counts of some of the judged items, by mask or place; all candidates still count."""
        if chosen.dtype == bool and chosen.all():
            return self
        return replace(
            self,
            user=self.user[chosen],
            gain=self.gain[chosen],
            above=self.above[chosen],
            equal=self.equal[chosen],
            before=None if self.before is None else self.before[chosen],
            item=None if self.item is None else self.item[chosen],
        )

    def __add__(self, other: RankCounts) -> RankCounts:
        """Counts over both sets of candidates, which must be disjoint."""
        return self._combined(other, np.add)

    def __sub__(self, other: RankCounts) -> RankCounts:
        """Counts without some of the candidates."""
        return self._combined(other, np.subtract)

    def _combined(self, other: RankCounts, combine: np.ufunc) -> RankCounts:
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
