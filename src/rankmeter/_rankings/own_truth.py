"""The ground truth that rankings of samples, ranks or gains have themselves, one for all."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from rankmeter._reading.by_user import IdSeries
from rankmeter._reading.table import Table
from rankmeter.errors import DataError, IdTypeError
from rankmeter.errors._checks import counted

NOT_COMPARABLE = "a metric among sampled candidates cannot be compared with one among others"
"""Why samples are compared with samples of the same size alone."""


def merge_same_truth(first: Table, second: Table) -> Table:
    """Merge the judgments of two tables whose relevant items must be the same."""
    frames = [table.frame for table in (first, second)]
    if frames[0].schema != frames[1].schema:
        raise IdTypeError("The user ids of all systems must be of one type: integers or strings.")
    empty = [table.empty_users.to_series() for table in (first, second)]
    if frames[0].equals(frames[1]) and empty[0].equals(empty[1]):
        return first
    relevant = [frame.filter(pl.col("gain") > 0).sort("user", "item") for frame in frames]
    if not relevant[0].equals(relevant[1]):
        sizes = [len(table.users.to_series().unique()) for table in (first, second)]
        different = f"{sizes[0]:,} and {counted(sizes[1], 'user')}" if sizes[0] != sizes[1] else ""
        raise DataError(
            f"the systems have different relevant items{different and f' ({different})'}: compare "
            "the same queries in the same order, or name them by users="
        )
    judgments = pl.concat(frames).unique(maintain_order=True)
    users = pl.concat(empty).unique()
    users = users.filter(~users.is_in(judgments["user"].implode()))
    return replace(first.with_rows(judgments), empty_users=IdSeries(users))
