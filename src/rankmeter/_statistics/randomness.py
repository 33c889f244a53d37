"""Random numbers that depend only on the seed.

A resample is a function of the seed and of its number: each block of work opens its own Philox
generator, keyed by the seed and the number of the block. The size of a block follows from the data
alone, so neither memory nor the order of the blocks nor the number of threads can change a result.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from rankmeter._checks import seed_of

_CELLS = 2**16
"""Numbers in one block of resamples: few enough for the caches, enough to keep NumPy busy."""


def key(seed: int, number: int = 0) -> int:
    """A seed, spread over 64 bits; every number has a stream of its own."""
    spawn_key = (number,) if number else ()
    sequence = np.random.SeedSequence(seed_of(seed), spawn_key=spawn_key)
    return int(sequence.generate_state(1, np.uint64)[0])


def generators(
    n_resamples: int, cells: int, seed: int
) -> Iterator[tuple[slice, int, np.random.Generator]]:
    """Cut the resamples, of ``cells`` numbers each, into blocks, each with its own generator."""
    word = key(seed)
    size = max(1, _CELLS // max(1, cells))
    for start in range(0, n_resamples, size):
        stop = min(start + size, n_resamples)
        yield slice(start, stop), stop - start, np.random.Generator(_philox(word, start))


def generator(seed: int, number: int = 0) -> np.random.Generator:
    """One generator; every number has a stream of its own."""
    return np.random.Generator(_philox(key(seed, number), 0))


def coins(word: int, block: int, rows: slice, n_bytes: int) -> npt.NDArray[np.uint8]:
    """Fair coins, eight to a byte, of shape (rows, n_bytes).

    Row ``r`` of block ``b`` is always the same, whichever rows are requested together: Philox is a
    counter put through a cipher, so a generator can begin at any row. ``n_bytes`` is a multiple of
    32, the bytes of one count.
    """
    philox = _philox(word, block, rows.start * (n_bytes // 32))
    words = philox.random_raw((rows.stop - rows.start) * (n_bytes // 8))
    # The order of the bytes is the same on every machine, whatever its byte order.
    octets: npt.NDArray[np.uint8] = words.astype("<u8", copy=False).view(np.uint8)
    return octets.reshape(-1, n_bytes)


def _philox(word: int, block: int, counter: int = 0) -> np.random.Philox:
    return np.random.Philox(key=np.array([word, block], dtype=np.uint64), counter=counter)
