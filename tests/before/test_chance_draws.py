"""Random numbers of splits: those of the published generator, in every version."""

from __future__ import annotations

import numpy as np
import polars as pl

from rankmeter.splits._chance import draw_random_bits, scramble_bits


def test_mix_is_splitmix64():
    """The first outputs of the published generator for the seed 1234567."""
    step = 0x9E3779B97F4A7C15
    states = np.array([(1234567 + n * step) % 2**64 for n in range(3)], dtype=np.uint64)

    assert scramble_bits(states).tolist() == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
    ]


def test_draws_never_change():
    """Every later version must reproduce splits that were published with a seed."""
    assert draw_random_bits(0, pl.Series([1, 2]), pl.Series([1, 1])).tolist() == [
        5067554077270220563,
        5890467614480005915,
    ]
    assert draw_random_bits(7, pl.Series(["a", "ü"])).tolist() == [
        15394373519623422112,
        2164300096344025457,
    ]
    assert draw_random_bits(7, pl.Series([3], dtype=pl.UInt64)) == draw_random_bits(
        7, pl.Series([3])
    )
    assert draw_random_bits(-1, pl.Series([-3])) == draw_random_bits(2**64 - 1, pl.Series([-3]))
