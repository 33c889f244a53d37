"""Parts of interactions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from html import escape

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankmeter._reading.read import Interactions
from rankmeter._reading.table import Frame
from rankmeter.errors import DataError, InvalidValueError
from rankmeter.errors._checks import counted
from rankmeter.splits._clock import Clock


def html_title(text: str) -> str:
    """Format a title line above the tables as HTML."""
    return f"<p><strong>{escape(text)}</strong></p>"


def html_table(rows: Iterable[Sequence[str]], head: Sequence[str] = ()) -> str:
    """Format rows of cells as an HTML table, with an optional head; empty without rows."""
    lines = [_html_row(cells, "td") for cells in rows]
    titles = _html_row(head, "th") if head else ""
    return f"<table>{titles}{''.join(lines)}</table>" if lines else ""


def _html_row(cells: Sequence[str], tag: str) -> str:
    tagged = [(cell, tag if cell else "td") for cell in cells]  # an empty cell heads nothing
    return "<tr>" + "".join(f"<{name}>{escape(cell)}</{name}>" for cell, name in tagged) + "</tr>"


@dataclass(frozen=True, repr=False, eq=False)
class Split:
    """Interactions to learn from and interactions to test on.

    Attributes
    ----------
    train, test : polars.DataFrame or pandas.DataFrame
        Rows in the order of the input. Of a pandas frame they are its own rows: names, types and
        index are those of the input. Of all other input they are in a Polars frame: ``user``,
        ``item``, ``rating`` (Float64) and ``time``, if the input has them under any name, then its
        other columns. Values as they are read: text that looks like a number or a time becomes one
        (``"1.10"`` is 1.1).
    method : str
        The method with all its options.
    counts : dict of str to int
        ``interactions`` and ``users`` of the input; ``interactions``, ``users`` and ``items`` of
        each part (``train_users``, ``test_items``, …); of the interactions chosen for the test,
        those with an item or a user that train does not contain (``cold_item_interactions``,
        ``cold_user_interactions``) and those that were left out of both parts because of it
        (``dropped_interactions``); those of a pair (user, item) that is also in train
        (``seen_in_train``); with times, those with a later interaction in train
        (``older_than_train``). Some methods add ``short_users``, ``tied_users`` and
        ``other_interactions``.
    validation : polars.DataFrame or pandas.DataFrame, optional
        Interactions between train and test, to choose options on, from `temporal`.

    Notes
    -----
    Repeats (plays, purchases) are interactions like others, so a pair (user, item) may be in both
    parts. A system that recommends only items that are new to the user, like the baselines unless
    ``exclude_seen=False``, can never find such pairs in the test part: ``seen_in_train`` counts
    them.

    Examples
    --------
    >>> from rankmeter.splits import leave_one_out
    >>> ratings = pl.DataFrame(
    ...     {"user": [1, 1, 1, 2], "item": [10, 20, 30, 10], "time": [1, 2, 3, 1]}
    ... )
    >>> leave_one_out(ratings)
    Split by leave_k_out(k=1, by='time', ties='item', seed=0, min_history=1, cold_items='keep')
             interactions    users    items
    train               3        2        2
    test                1        1        1
    users with too few interactions, entirely in train: 1
    test interactions with an item that train does not contain: 1
    """

    train: Frame
    test: Frame
    method: str
    counts: dict[str, int]
    validation: Frame | None = None

    def __repr__(self) -> str:
        lead = "{:8}" if self.validation is None else "{:11}"
        table = [f"{lead}{{:>13}}{{:>9}}{{:>9}}".format(*row) for row in self._size_rows()]
        remarks = [f"{text}: {n}" for text, n in self._remark_rows()]
        return "\n".join([f"Split by {self.method}", *table, *remarks])

    def _repr_html_(self) -> str:
        head, *sizes = self._size_rows()
        title = html_title(f"Split by {self.method}")
        return title + html_table(sizes, head) + html_table(self._remark_rows())

    def _size_rows(self) -> list[tuple[str, ...]]:
        kinds = ("interactions", "users", "items")
        sizes = (
            (part, *(f"{self.counts[f'{part}_{kind}']:,}" for kind in kinds))
            for part in ("train", "validation", "test")
            if f"{part}_interactions" in self.counts
        )
        return [("", *kinds), *sizes]

    def _remark_rows(self) -> list[tuple[str, ...]]:
        return [(text, f"{n:,}") for key, text in _REMARKS.items() if (n := self.counts.get(key))]


_REMARKS = {
    "short_users": "users with too few interactions, entirely in train",
    "tied_users": "users with the same time on both sides of the cut",
    "cold_item_interactions": "test interactions with an item that train does not contain",
    "cold_user_interactions": "test interactions with a user that train does not contain",
    "dropped_interactions": "test interactions left out because of that",
    "dropped_validation_interactions": "the same of validation",
    "seen_in_train": "test interactions that the user also has in train",
    "older_than_train": "test interactions older than some in train (see rankmeter.audit)",
    "other_interactions": "interactions after a cut that are in no part (targets)",
}


def split_rows(
    read: Interactions,
    in_test: NDArray[np.bool_],
    *,
    method: str,
    cold_items: str = "keep",
    cold_users: str = "keep",
    counts: dict[str, int] | None = None,
    in_validation: NDArray[np.bool_] | None = None,
    in_train: NDArray[np.bool_] | None = None,
) -> Split:
    """Split the rows, drop cold users and items if requested, and count rows, users and items.

    Without `in_train`, all rows that are not in the test part are in train.
    """
    frame = read.frame
    in_train = ~in_test if in_train is None else in_train
    train, held = frame.filter(pl.Series(in_train)), frame.filter(pl.Series(in_test))
    if not train.height or not held.height:
        longest = frame["user"].value_counts()["count"].to_numpy().max(initial=0)
        raise DataError(
            f"{method} leaves nothing in {'test' if train.height else 'train'}: the data have "
            f"{counted(frame.height, 'interaction')} of "
            f"{counted(frame['user'].n_unique(), 'user')}, at most {longest} per user; "
            f"change how much is held out"
        )
    known = {name: train[name].unique().implode() for name in ("item", "user")}

    def cold_and_dropped(part: pl.DataFrame) -> tuple[pl.Series, pl.Series, pl.Series]:
        item, user = (~part[name].is_in(ids) for name, ids in known.items())
        return item, user, (item & (cold_items == "drop")) | (user & (cold_users == "drop"))

    cold_item, cold_user, dropped = cold_and_dropped(held)
    test = held.filter(~dropped)
    if not test.height:
        raise DataError(
            f"{method} holds out {counted(held.height, 'interaction')}, all with an item or "
            "a user that train does not contain: keep cold ones, or hold out fewer"
        )
    sizes = {"interactions": frame.height, "users": frame["user"].n_unique()}
    parts, validation = {"train": train, "test": test}, None
    if in_validation is not None:
        chosen = np.flatnonzero(in_validation)
        between = frame.filter(pl.Series(in_validation))
        left_out = cold_and_dropped(between)[2]
        parts["validation"] = between.filter(~left_out)
        kept = chosen[(~left_out).to_numpy()]
        validation = read.to_input_kind(parts["validation"], kept)
        sizes["dropped_validation_interactions"] = int(left_out.sum())
    for name, part in parts.items():
        sizes[f"{name}_interactions"] = part.height
        sizes[f"{name}_users"] = part["user"].n_unique()
        sizes[f"{name}_items"] = part["item"].n_unique()
    cold = {
        "cold_item_interactions": int(cold_item.sum()),
        "cold_user_interactions": int(cold_user.sum()),
        "dropped_interactions": int(dropped.sum()),
        "seen_in_train": held.join(train, on=["user", "item"], how="semi").height,
        **_count_older(frame, in_test, in_train),
    }
    rows = np.flatnonzero(in_test)[(~dropped).to_numpy()]
    handed_out = read.to_input_kind(train, np.flatnonzero(in_train)), read.to_input_kind(test, rows)
    return Split(*handed_out, method, {**sizes, **(counts or {}), **cold}, validation)


def _count_older(
    frame: pl.DataFrame, in_test: NDArray[np.bool_], in_train: NDArray[np.bool_]
) -> dict[str, int]:
    """Count the test rows that are older than some row of train; nothing without all times."""
    if "time" in frame.columns:
        with suppress(InvalidValueError):
            ticks = Clock.of(frame, needed_by="split").ticks
            return {"older_than_train": int((ticks[in_test] < ticks[in_train].max()).sum())}
    return {}
