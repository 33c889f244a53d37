"""Sums without rounding, which add up over any parts."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rankmeter._statistics.vectors import Floats, Moments

Parts = tuple[float, float, float]
"""A sum as three floats, from the large one to what is left: 159 bits, if none of them is 0."""


@dataclass(frozen=True)
class Sums:
    """Count, sum and sum of squares of floats, compensated: two parts are added without a loss.

    Means and standard deviations are those of the exact sums to 1e-12 for any order and any parts.
    """

    n: int = 0
    total: Parts = (0.0, 0.0, 0.0)
    squares: Parts = (0.0, 0.0, 0.0)

    @classmethod
    def of(cls, values: npt.ArrayLike) -> Sums:
        """Compute the sums of finite values."""
        x = np.asarray(values, dtype=np.float64)
        high = (x.view(np.int64) & ~((1 << 27) - 1)).view(np.float64)  # 26 bits
        low = x - high
        products = np.concatenate([high * high, 2.0 * high * low, low * low])  # without rounding
        return cls(x.size, _sum_of_array(x), _sum_of_array(products))

    def __add__(self, other: Sums) -> Sums:
        return Sums(
            self.n + other.n,
            _sum_of_floats([*self.total, *other.total]),
            _sum_of_floats([*self.squares, *other.squares]),
        )

    @property
    def moments(self) -> Moments:
        """Mean and standard deviation, each rounded once."""
        from fractions import Fraction

        n = self.n
        if n == 0:
            return Moments(0, math.nan, math.nan)
        total, squares = (sum(map(Fraction, parts)) for parts in (self.total, self.squares))
        if n == 1:
            return Moments(1, float(total), math.nan)
        variance = (n * squares - total**2) / (n * (n - 1))
        return Moments(n, float(total / n), math.sqrt(max(variance, 0)))


def _sum_of_array(values: Floats) -> Parts:
    """Sum an array: four times the leading bits of all values, which add up without rounding.

    This is the extraction of Rump, Ogita and Oishi (SIAM J. Sci. Comput. 31, 2008).
    """
    sums = []
    for _ in range(4):
        _, exponent = np.frexp(np.abs(values).max(initial=0.0))
        border = math.ldexp(1.0, int(exponent) + (values.size + 2).bit_length())
        leading = (values + border) - border
        sums.append(float(leading.sum()))
        values = values - leading
    return _sum_of_floats(sums)


def _sum_of_floats(values: list[float]) -> Parts:
    """Sum floats: each part is what the parts before it leave, rounded once."""
    high = math.fsum(values)
    middle = math.fsum([*values, -high])
    return high, middle, math.fsum([*values, -high, -middle])
