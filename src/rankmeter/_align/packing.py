"""Rows grouped by small integers, and pairs of such integers packed into one number each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rankmeter import _compiled
from rankmeter._hits import IntArray

Keys = npt.NDArray[np.uint64]

BITS = 64


def bit_width(n: int) -> int:
    """Number of bits that integers below `n` need."""
    return max(n - 1, 0).bit_length()


def sort_keys(keys: Keys, width: int) -> tuple[Keys, IntArray]:
    """Keys of at most `width` bits, ascending, and the position of each; equal ones by position.

    The array is overwritten.
    """
    shift = bit_width(keys.size)
    if width + shift > BITS:
        order = np.argsort(keys, kind="stable")
        return keys[order], order
    keys <<= np.uint64(shift)
    keys |= np.arange(keys.size, dtype=np.uint64)
    keys.sort()
    order = (keys & np.uint64((1 << shift) - 1)).view(np.int64)
    keys >>= np.uint64(shift)
    return keys, order


@dataclass(frozen=True, eq=False)
class Groups:
    """Rows by user, without being moved; those of a user are in their order."""

    order: IntArray | None  # (n_rows,) positions of the rows by user; None if they are
    offsets: IntArray  # (n_users + 1,) where the rows of each user begin in this order

    @classmethod
    def of(cls, user: IntArray, n_users: int) -> Groups:
        """Group rows by user, given the user of each, below `n_users`."""
        offsets = np.empty(n_users + 1, dtype=np.int64)
        if _compiled.native is not None:
            order = np.empty_like(user)
            grouped = _compiled.native.group(np.ascontiguousarray(user), order, offsets)
            return cls(None if grouped else order, offsets)
        offsets[0] = 0
        np.cumsum(np.bincount(user, minlength=n_users), out=offsets[1:])
        if np.all(user[1:] >= user[:-1]):
            return cls(None, offsets)
        return cls(np.argsort(user, kind="stable"), offsets)
