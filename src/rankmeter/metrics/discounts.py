"""How much attention each rank gets: the weights that metrics give to ranks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from rankmeter._checks import fraction
from rankmeter._hits import FloatArray, IntArray

__all__ = ["DISCOUNTS", "Discount", "Geometric", "Weight"]

Weight: TypeAlias = Callable[[FloatArray], FloatArray]
"""Weights of 1-based ranks."""

Discount = Literal["log2", "ln", "log10", "jarvelin", "reciprocal"]

DISCOUNTS: dict[Discount, Weight] = {
    "log2": lambda rank: 1.0 / np.log2(rank + 1.0),
    "ln": lambda rank: 1.0 / np.log(rank + 1.0),
    "log10": lambda rank: 1.0 / np.log10(rank + 1.0),
    # Järvelin and Kekäläinen 2002 with b = 2: ranks below b are not discounted, which makes it
    # the clipped logarithm log2(max(rank, 2)) of other tools.
    "jarvelin": lambda rank: 1.0 / np.log2(np.maximum(rank, 2.0)),
    "reciprocal": lambda rank: 1.0 / rank,
}


@dataclass(frozen=True)
class Geometric:
    """A reader who goes on to the next item with probability p: (1 - p) p^(rank - 1)."""

    p: float

    def __post_init__(self) -> None:
        fraction("p", self.p)

    def __call__(self, rank: FloatArray) -> FloatArray:
        """Weights of ranks."""
        weight: FloatArray = (1.0 - self.p) * self.p ** (rank - 1.0)
        return weight

    def below(self, depth: IntArray) -> FloatArray:
        """Weight of all ranks below a depth together: p^depth."""
        rest: FloatArray = self.p ** depth.astype(np.float64)
        return rest
