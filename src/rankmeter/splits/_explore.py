"""What a person looks at first in interactions: activity, popularity, time, events, what is new."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankmeter.splits._clock import Clock

MOST_KINDS = 20
"""The most kinds of events that a column of kinds has."""
MOST_MONTHS = 120
"""With more months, interactions are counted by year."""
TOP = 10
SHARES = (1, 5, 10, 20, 50)
EVENT_NAMES = (
    "event", "event_type", "eventtype", "event_name", "action", "action_type", "behavior",
    "behavior_type", "interaction", "interaction_type",
)  # fmt: skip
"""Names of a column with the kind of an interaction, in American spelling."""


@dataclass(frozen=True)
class Cold:
    """How much of the last tenth of the interactions, by time, is of users and items unseen before.

    A model that learns from the interactions before knows nothing of them.
    """

    interactions: int
    users: float
    items: float


def activity(n_by_user: NDArray[np.int64]) -> dict[str, int]:
    """How many users have 1 interaction, 2 to 3, 4 to 7, 8 to 15 …, from the first with any."""
    doubled = np.frexp(n_by_user)[1] - 1
    classes = np.bincount(doubled)
    return {
        f"{2**n}–{2 ** (n + 1) - 1}" if n else "1": int(classes[n])
        for n in range(int(doubled.min()), len(classes))
    }


def popularity(n_by_item: NDArray[np.int64]) -> dict[str, float]:
    """Share of the interactions that the most popular 1 %, 5 %, 10 %, 20 % and 50 % have."""
    counts = np.sort(n_by_item)[::-1]
    reached = counts.cumsum() / counts.sum()
    return {f"{p} %": float(reached[math.ceil(len(counts) * p / 100) - 1]) for p in SHARES}


def most_popular(frame: pl.DataFrame) -> dict[str, int]:
    """The items with the most interactions, with their number; of equal ones the first by id."""
    counts = frame.group_by("item").len().sort(["len", "item"], descending=[True, False]).head(TOP)
    return {str(item): n for item, n in counts.iter_rows()}


def events(frame: pl.DataFrame) -> dict[str, int] | None:
    """How often each kind of event occurs; None if no column of text has kinds."""
    by_name = {name.lower().replace("iou", "io"): name for name in frame.columns}
    for name in (by_name[name] for name in EVENT_NAMES if name in by_name):
        column = frame[name].drop_nulls()
        is_text = column.dtype.base_type() in (pl.String, pl.Categorical, pl.Enum)
        if not is_text or column.is_empty():
            continue
        counts = column.cast(pl.String).value_counts(name="n")
        counts = counts.sort(["n", name], descending=[True, False])
        if counts.height <= MOST_KINDS:
            return {str(kind): n for kind, n in counts.iter_rows()}
    return None


def over_time(timed: pl.DataFrame, clock: Clock) -> dict[str, Any]:
    """Interactions by month, or by year, and how much of the last tenth is new."""
    ticks = clock.ticks
    found: dict[str, Any] = {"cold": _cold(timed, ticks, clock.start_of_last_share(0.1))}
    if clock.is_date(ticks.min()) and clock.is_date(ticks.max()):
        seconds = np.floor(ticks / clock.per_second).astype("int64").astype("datetime64[s]")
        months = seconds.astype("datetime64[M]")
        by_year = int((months.max() - months.min()).astype(int)) >= MOST_MONTHS
        periods = months.astype("datetime64[Y]") if by_year else months
        counts = np.bincount((periods - periods.min()).astype(int))
        names = np.arange(periods.min(), periods.max() + 1).astype(str)
        found["by_month"] = dict(zip(names.tolist(), counts.tolist(), strict=True))
    return found


def _cold(timed: pl.DataFrame, ticks: NDArray[Any], start: float) -> Cold | None:
    late = pl.Series(ticks >= start)
    before, after = timed.filter(~late), timed.filter(late)
    if before.is_empty():
        return None
    users, items = (
        float((~after[role].is_in(before[role].unique().implode())).mean())  # type: ignore[arg-type]
        for role in ("user", "item")
    )
    return Cold(after.height, users, items)
