"""Discounts: the weights that metrics give to ranks."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from rankmeter._evidence.hits import FloatArray, IntArray
from rankmeter.errors._checks import fraction

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


DIRECT = 10_000_000
"""Ranks down to which weights are added up one by one."""
_CHUNK = 1 << 20


def cumulative_discount(discount: Discount, depth: IntArray) -> FloatArray:
    """Σ of the weights of ranks 1 … depth, for each of many depths, whatever their size.

    Down to rank `DIRECT` it is the plain sum, one rank after the other. Below that it is the sum
    down to `DIRECT`, with less rounding, and the integral of the weight from half a rank below
    `DIRECT` to half a rank below the depth. The integral is off by less than the slope of the
    weight at `DIRECT`, which is less than the last digit of the sum.
    """
    near = np.where(depth <= DIRECT, depth, 0)
    sums: FloatArray = _table(discount, int(near.max(initial=0)))[near]
    for far in np.unique(depth[depth > DIRECT]).tolist():
        sums[depth == far] = _sum_far(discount, far)
    return sums


@functools.lru_cache(maxsize=1000)
def _sum_far(discount: Discount, depth: int) -> float:
    return _sum_direct(discount) + _integral(DISCOUNTS[discount], DIRECT + 0.5, depth + 0.5)


@functools.cache
def _sum_direct(discount: Discount) -> float:
    starts = np.arange(1.0, DIRECT, _CHUNK)
    ranks = (np.arange(start, min(start + _CHUNK, DIRECT + 1.0)) for start in starts)
    return math.fsum(DISCOUNTS[discount](rank).sum() for rank in ranks)


def _table(discount: Discount, n: int) -> FloatArray:
    """The sums of the first 0, 1, …, n weights."""
    sums = np.zeros(n + 1)
    for start in range(0, n, _CHUNK):
        part = sums[start : min(start + _CHUNK, n) + 1]
        part[1:] = DISCOUNTS[discount](np.arange(start + 1.0, start + part.size))
        np.cumsum(part, out=part)  # goes on from the sum before
    return sums


def _integral(weight: Weight, low: float, high: float) -> float:
    """Gauss–Legendre over steps of the logarithm, on which every discount is smooth."""
    start, end = math.log(low), math.log(high)
    edges = np.linspace(start, end, math.ceil(end - start) + 1)
    middle, half = (edges[1:] + edges[:-1])[:, None] / 2, np.diff(edges)[:, None] / 2
    nodes, weights = np.polynomial.legendre.leggauss(20)
    rank = np.exp(middle + half * nodes)
    return math.fsum((half * weights * weight(rank) * rank).ravel().tolist())


@dataclass(frozen=True)
class Geometric:
    """A reader who continues to the next item with probability p: (1 - p) p^(rank - 1)."""

    p: float

    def __post_init__(self) -> None:
        fraction("p", self.p)

    def __call__(self, rank: FloatArray) -> FloatArray:
        """Weights of ranks."""
        weight: FloatArray = (1.0 - self.p) * self.p ** (rank - 1.0)
        return weight

    def below(self, depth: IntArray) -> FloatArray:
        """Weight of all ranks below a depth together: p^depth."""
        weight: FloatArray = self.p ** depth.astype(np.float64)
        return weight


RankDiscount = Literal["none", "log2", "reciprocal", "geometric"]
"""Discounts of items that need not be relevant."""


def discount_function(discount: RankDiscount, p: float) -> Weight:
    """Weights that are 1 at rank 1; `p` is the share that goes on, of the geometric ones."""
    fraction("p", p)
    if discount == "none":
        return np.ones_like
    if discount == "geometric":
        return lambda rank: p ** (rank - 1.0)
    return DISCOUNTS[discount]
