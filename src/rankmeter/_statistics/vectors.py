"""The vectors that statistics take, and random numbers of a seed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rankmeter.errors import InvalidValueError, UsageError
from rankmeter.errors._checks import check_seed

Floats = npt.NDArray[np.float64]
"""An array of float64."""


class Moments(NamedTuple):
    """Count, mean and sample standard deviation; NaN where there are too few values."""

    n: int
    mean: float
    sd: float


def finite_vector(x: npt.ArrayLike, name: str = "x") -> Floats:
    """Convert ``x`` to a finite vector of float64."""
    return _finite_array(x, name, 1, "(n_users,)")


def finite_pair(a: npt.ArrayLike, b: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Convert a and b to finite vectors whose entries belong to the same users."""
    a, b = finite_vector(a, "a"), finite_vector(b, "b")
    if a.size != b.size:
        raise UsageError(
            f"`a` and `b` must have one value for each user, got {a.size} and {b.size} values; "
            "align them on the users they share"
        )
    return a, b


def finite_table(scores: npt.ArrayLike) -> Floats:
    """Convert ``scores`` to a finite table with a row per user."""
    return _finite_array(scores, "scores", 2, "(n_users, n_columns)")


def moments(x: Floats) -> Moments:
    """Moments of one vector, identical to the last bit for any order of the values."""
    if x.size == 0:
        return Moments(0, math.nan, math.nan)
    x, sign = np.sort(x), 1.0
    if x[0] < 0.0:  # the mean of -x is to be minus that of x, to the last bit
        mirrored = -x[::-1]
        first = int((x != mirrored).argmax())
        if x[first] == mirrored[first]:
            sign = 0.0
        elif x[first] < mirrored[first]:
            x, sign = mirrored, -1.0
    middle = np.add.reduce(x) / x.size
    gap = x - middle
    total = np.add.reduce(np.square(gap, out=gap))
    sd = math.sqrt(total / (x.size - 1)) if x.size > 1 else math.nan
    return Moments(x.size, sign * float(middle) + 0.0, sd)  # not -0.0


def paired_moments(a: Floats, b: Floats) -> Moments:
    """Moments of ``a - b``.

    Differences that vary by no more than the rounding of ``a`` and ``b`` do not vary: 0.3 - 0.2 and
    0.2 - 0.1 are the same step, though not the same float.
    """
    largest = max(np.abs(x).max(initial=0.0) for x in (a, b))
    return moments_of_differences(a - b, largest)


def moments_of_differences(differences: Floats, largest: float) -> Moments:
    """`paired_moments` of differences of values up to the `largest`."""
    n, mean, sd = moments(differences)
    noise = 4 * np.finfo(np.float64).eps * largest
    sd = 0.0 if sd <= noise else sd
    return Moments(n, 0.0 if sd == 0.0 and abs(mean) <= noise else mean, sd)


def _finite_array(x: npt.ArrayLike, name: str, dimensions: int, shape: str) -> Floats:
    values = np.asarray(x, dtype=np.float64)
    if values.ndim != dimensions:
        raise UsageError(f"`{name}` must have the shape {shape}, got {values.shape}")
    bad = values.size - np.count_nonzero(np.isfinite(values))
    if bad:
        raise InvalidValueError(
            f"`{name}` has {bad} values that are NaN or infinite, of {values.size}; "
            "leave out the users without a value, in both systems, and count them"
        )
    return values


_CELLS = 2**16
"""Numbers in one block of resamples: few enough for the caches, enough to keep NumPy busy."""


def random_stream_key(seed: int, number: int = 0) -> int:
    """Spread a seed over 64 bits; every ``number`` has a separate stream."""
    spawn_key = (number,) if number else ()
    sequence = np.random.SeedSequence(check_seed(seed), spawn_key=spawn_key)
    return int(sequence.generate_state(1, np.uint64)[0])


def generators_of_blocks(
    n_resamples: int, cells: int, seed: int
) -> Iterator[tuple[slice, int, np.random.Generator]]:
    """Cut the resamples, of ``cells`` numbers each, into blocks, each with its own generator."""
    word = random_stream_key(seed)
    size = max(1, _CELLS // max(1, cells))
    for start in range(0, n_resamples, size):
        stop = min(start + size, n_resamples)
        yield slice(start, stop), stop - start, np.random.Generator(_philox_generator(word, start))


def random_generator(seed: int, number: int = 0) -> np.random.Generator:
    """Random generator of a seed; every ``number`` has a separate stream."""
    return np.random.Generator(_philox_generator(random_stream_key(seed, number), 0))


def all_signs(n: int) -> Floats:
    """Every choice of n signs: a row of 1 and -1 for each."""
    minus = np.arange(2**n)[:, None] >> np.arange(n) & 1
    return 1.0 - 2.0 * minus.astype(np.float64)


def flip_coins(word: int, block: int, rows: slice, n_bytes: int) -> npt.NDArray[np.uint8]:
    """Fair coins, eight to a byte, of shape (rows, n_bytes).

    Row ``r`` of block ``b`` is always the same, whichever rows are requested together: Philox is a
    counter put through a cipher, so a generator can begin at any row. ``n_bytes`` is a multiple of
    32, the bytes of one count.
    """
    philox = _philox_generator(word, block, rows.start * (n_bytes // 32))
    words = philox.random_raw((rows.stop - rows.start) * (n_bytes // 8))
    # The order of the bytes is the same on every machine, whatever its byte order.
    octets: npt.NDArray[np.uint8] = words.astype("<u8", copy=False).view(np.uint8)
    return octets.reshape(-1, n_bytes)


def _philox_generator(word: int, block: int, counter: int = 0) -> np.random.Philox:
    return np.random.Philox(key=np.array([word, block], dtype=np.uint64), counter=counter)
