"""Scores that contradict the ranks of the same rows, in rankings that are read in pieces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import polars as pl

from rankmeter._ingest._numbers import against_ranks, numbers
from rankmeter._ingest._spool import Spool, check_space

_ON_DISK, _IN_MEMORY = 24, 150  # bytes of a row


def count_against(
    frames: Iterable[pl.DataFrame], n_rows: int, source: str, room: int, *, untyped: bool
) -> int:
    """How many scores are higher than that at the next better rank, as `against_ranks` counts.

    The frames have the columns user, rank and score. All rows of a user have to be together, so
    they are put into files by user, of which each fits into about `room` bytes of memory.
    """
    check_space(n_rows * _ON_DISK, "Comparing the scores with the ranks")
    spools = [Spool() for _ in range(n_rows * _IN_MEMORY // room + 1)]
    for frame in frames:
        values = [
            numbers(frame[role], role, source, Counter(), untyped=untyped)
            for role in ("rank", "score")
        ]
        rows = pl.DataFrame([frame["user"], *values])
        part = rows["user"].cast(pl.String).hash(1) % len(spools)
        for n, spool in enumerate(spools):
            spool.write(rows.filter(part == n))
    return sum(map(_count, spools))


def _count(spool: Spool) -> int:
    rows = pl.concat([spool.read(n, ["user", "rank", "score"]) for n in range(len(spool))])
    return against_ranks(rows["user"], rows["rank"], rows["score"])
