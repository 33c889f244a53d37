"""Random draws that depend on the seed and the ids alone: the same for any order of the rows.

Integer arithmetic, the same in every version of NumPy and Polars. What is drawn for one user does
not change when other users come or go.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from typing import ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankmeter.errors._checks import check_seed

Bits = NDArray[np.uint64]
Numbers = NDArray[np.int64]
_Step = Callable[[Bits, Bits], Bits]


def scramble_bits(words: Bits) -> Bits:
    """Scramble 64-bit words one to one: a step of SplitMix64.

    Steele, Lea and Flood (2014), "Fast splittable pseudorandom number generators", OOPSLA.
    """
    words = words + np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def draw_random_bits(seed: int, *columns: pl.Series) -> Bits:
    """Draw one 64-bit number per row, made from the seed and the ids in that row alone."""
    state = scramble_bits(
        np.full(len(columns[0]), check_seed(seed, least=None) % 2**64, dtype=np.uint64)
    )
    for column in columns:
        state = scramble_bits(state ^ _bits_from_ids(column))
    return state


def _bits_from_ids(ids: pl.Series) -> Bits:
    """Convert ids to 64-bit words: keep integers, hash the text of other ids with BLAKE2b."""
    if ids.dtype.is_integer():
        return ids.to_numpy().astype(np.uint64)
    distinct = ids.unique().to_frame("id")
    hashed = (
        int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")
        for text in distinct["id"].cast(pl.String)
    )
    distinct = distinct.with_columns(word=pl.Series(hashed, dtype=pl.UInt64))
    words = ids.to_frame("id").join(distinct, on="id", how="left", maintain_order="left")["word"]
    return words.to_numpy()


@dataclass(frozen=True)
class Shuffle:
    """A pseudo-random order of the numbers below `n` for each key.

    A Feistel network over two digits of base ⌈√n⌉; a number that it moves to n or beyond is moved
    again until it is back (Black and Rogaway 2002, methods 2 and 3).
    """

    n: int
    keys: Bits
    rounds: ClassVar[int] = 8

    def item_at(self, position: Numbers, key: Numbers) -> Numbers:
        """The number of the item at a position in the order of a key."""
        return self._cycle_walk(self._permute, position, key)

    def position_of(self, item: Numbers, key: Numbers) -> Numbers:
        """The position of an item in the order of a key: the inverse of `item_at`."""
        return self._cycle_walk(self._invert_permutation, item, key)

    def _cycle_walk(self, step: _Step, numbers: Numbers, key: Numbers) -> Numbers:
        keys = self.keys[key]
        value = step(numbers.astype(np.uint64), keys)
        while len(outside := np.flatnonzero(value >= self.n)):
            value[outside] = step(value[outside], keys[outside])
        return value.astype(np.int64)

    @property
    def _digit_base(self) -> np.uint64:
        return np.uint64(math.isqrt(self.n - 1) + 1)

    def _permute(self, value: Bits, keys: Bits) -> Bits:
        high, low = np.divmod(value, self._digit_base)
        for number in range(self.rounds):
            high, low = low, (high + self._round_function(low, keys, number)) % self._digit_base
        return high * self._digit_base + low

    def _invert_permutation(self, value: Bits, keys: Bits) -> Bits:
        high, low = np.divmod(value, self._digit_base)
        for number in reversed(range(self.rounds)):
            high, low = (
                (low + self._digit_base - self._round_function(high, keys, number))
                % self._digit_base,
                high,
            )
        return high * self._digit_base + low

    def _round_function(self, digit: Bits, keys: Bits, number: int) -> Bits:
        return (
            scramble_bits(keys + digit * np.uint64(self.rounds) + np.uint64(number))
            % self._digit_base
        )
