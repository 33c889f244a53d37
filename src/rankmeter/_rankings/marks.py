"""Rows of rankings at which candidates are counted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from rankmeter._evidence.hits import BoolArray, FloatArray, IntArray
from rankmeter._rankings.parallel import Parallel, concatenate_fields
from rankmeter._reading.by_user import Ids


@dataclass(frozen=True, eq=False)
class Marks(Parallel):
    """Rows of rankings at which candidates are counted, or rows used as candidates themselves."""

    arrays = ("user", "gain", "row", "value", "position", "raw")
    user: IntArray  # (n,) code of the user
    gain: FloatArray  # as judged
    row: IntArray  # the place of each among all rows of the rankings
    value: FloatArray  # its sort key, as that of the candidates
    items: Ids  # where the items are
    position: IntArray | None = None  # and the place of each in them; None if these are all
    raw: FloatArray | None = None  # the score or rank as it came, where it decides

    @cached_property
    def item(self) -> Ids:
        """Item of each mark, read only to resolve ties."""
        return self.items if self.position is None else self.items.take(self.position)

    def only(self, rows: BoolArray | IntArray | slice) -> Marks:
        """Select marks by mask, position or slice."""
        positions = np.arange(self.user.size) if self.position is None else self.position
        return super(Marks, replace(self, position=positions)).only(rows)

    def followed_by(self, other: Marks) -> Marks:
        """Append other marks, whose positions refer to the same ids."""
        return replace(self, **concatenate_fields([self, other], self.arrays))
