"""Rankings of any number of rows, shuffled, without repeated items, written in files of some rows.

Row r of n is number (a r + b) mod n of a list of all pairs, so that no pair is written twice and
nothing has to be remembered. Rows are shuffled again within each file.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import polars as pl

USERS, ITEMS = 2_000_000, 1_000_003
JUDGED, FOUND = 2_000_000, 1_000_000
PER_FILE, PER_GROUP = 2**24, 2**20


def pairs(number: np.ndarray, n_users: int) -> dict[str, np.ndarray]:
    """The user and the item of some numbers; an item is there once for each user."""
    user = number % n_users
    item = (number // n_users * 7_919 + user * 104_729) % ITEMS
    return {"user": user.astype(np.int32), "item": item.astype(np.int32)}


def generate(folder: Path, n: int, *, per_user: int = 5) -> tuple[Path, Path]:
    """Write rankings and ground truth of `n` rows, and return their paths.

    A user has at least `per_user` rows.
    """
    rankings, truth = folder / f"rankings-{n}", folder / f"truth-{n}.parquet"
    n_users = min(USERS, max(n // per_user, 1))
    factor = next(a for a in range(int(0.618 * n) | 1, 2 * n, 2) if math.gcd(a, n) == 1)
    rankings.mkdir(parents=True, exist_ok=True)
    for part, start in enumerate(range(0, n, PER_FILE)):
        rng = np.random.default_rng(part)
        row = rng.permutation(np.arange(start, min(start + PER_FILE, n), dtype=np.uint64))
        number = (row * np.uint64(factor) + np.uint64(12_345)) % np.uint64(n)
        score = rng.random(row.size, dtype=np.float32)
        frame = pl.DataFrame(pairs(number.astype(np.int64), n_users) | {"score": score})
        frame.write_parquet(
            rankings / f"part-{part:04}.parquet",
            compression="uncompressed",
            row_group_size=PER_GROUP,
        )
    rng = np.random.default_rng(1_000_000)
    found = np.unique(rng.integers(0, n, min(FOUND, n // 10)))
    missed = np.unique(rng.integers(n, n + 2 * JUDGED, min(JUDGED - FOUND, n // 10)))
    frame = pl.DataFrame(pairs(np.concatenate([found, missed]), n_users))
    frame.unique().with_columns(gain=pl.lit(1.0)).write_parquet(truth)
    return rankings, truth
