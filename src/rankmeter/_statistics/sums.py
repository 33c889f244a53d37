"""What are the mean and the spread of values that are not kept? Sums without rounding."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rankmeter._statistics.vectors import Moments

UNIT = 1_074
"""The smallest float is 2 to the power of minus this."""
HALF = 27
"""Bits of the lower part of a product of integers."""


@dataclass(frozen=True)
class ExactSums:
    """Count, sum and sum of squares of floats as integers: the same for any order and any parts.

    Attributes
    ----------
    n : int
    total : int
        The sum in units of the smallest float.
    squares : int
        The sum of squares in units of the square of the smallest float.
    """

    n: int = 0
    total: int = 0
    squares: int = 0

    @classmethod
    def of(cls, values: npt.ArrayLike) -> ExactSums:
        """The sums of some finite values."""
        x = np.asarray(values, dtype=np.float64)
        fraction, exponent = np.frexp(x[x != 0])
        digits = np.ldexp(fraction, 53).astype(np.int64)
        shift = exponent.astype(np.int64) - 53 + UNIT
        digits >>= np.maximum(-shift, 0)  # these digits of subnormal numbers are 0
        shift = np.maximum(shift, 0)
        high, low = digits >> HALF, digits & ((1 << HALF) - 1)
        return cls(
            x.size,
            _sum([(high, HALF), (low, 0)], shift),
            _sum([(high * high, 2 * HALF), (2 * high * low, HALF), (low * low, 0)], 2 * shift),
        )

    def __add__(self, other: ExactSums) -> ExactSums:
        return ExactSums(self.n + other.n, self.total + other.total, self.squares + other.squares)

    @property
    def moments(self) -> Moments:
        """Mean and standard deviation, each rounded once."""
        from fractions import Fraction

        n = self.n
        if n == 0:
            return Moments(0, math.nan, math.nan)
        mean = float(Fraction(self.total, n << UNIT))
        if n == 1:
            return Moments(1, mean, math.nan)
        spread = Fraction(n * self.squares - self.total**2, n * (n - 1) << 2 * UNIT)
        return Moments(n, mean, math.sqrt(spread))


def _sum(words: list[tuple[npt.NDArray[np.int64], int]], shift: npt.NDArray[np.int64]) -> int:
    """Σ of integers that are shifted: each part by its bits, each element by its own."""
    total = 0
    shifts, place = np.unique(shift, return_inverse=True)
    order = np.argsort(place.reshape(-1), kind="stable")
    starts = np.searchsorted(place.reshape(-1)[order], np.arange(shifts.size))
    for values, bits in words:
        for part, more in ((values >> HALF, HALF), (values & ((1 << HALF) - 1), 0)):
            sums = np.add.reduceat(part[order], starts) if shifts.size else shifts
            for subtotal, by in zip(sums, shifts.tolist(), strict=True):
                total += int(subtotal) << (bits + more + by)
    return total
