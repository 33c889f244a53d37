"""A value for every item (labels, gains, scores) where the ids of some items belong."""

from __future__ import annotations

import polars as pl

from rankmeter._ingest._columns import Side
from rankmeter._ingest._messages import some
from rankmeter.errors import DataError

_OF_ONE_USER = (
    "For the items of one user, pass {item: score} as rankings and {item: gain} as ground truth."
)
GRADES = range(-10, 11)
"""Integers that may be grades of items where they are repeated."""


def instead_of_values(side: Side) -> str:
    """What to pass instead of scores or labels of all items."""
    if side == "rankings":
        return (
            "If these are scores of all items (users × items), pass the ids of the top k, "
            "np.argsort(-scores, axis=1)[:, :k], or a SciPy sparse matrix, which is read as "
            f"scores. {_OF_ONE_USER}"
        )
    return (
        "If these are labels or gains of all items (users × items), pass the ids of the relevant "
        "ones, [np.flatnonzero(row) for row in labels], or a SciPy sparse matrix, which is read "
        f"as gains. {_OF_ONE_USER}"
    )


def refuse_labels(users: pl.Series, items: pl.Series, side: Side, source: str) -> None:
    """Refuse lists of integers, one per user, which repeat values, unlike lists of ids.

    All lists have one length k and repeat a value, and there are fewer than k values, or one that
    every list repeats (the label 0, or padding). The list of one user is refused only if it holds
    small integers; rankings, whose repeated ids are refused or resolved later, only if they hold
    only 0 and 1.
    """
    first = int((users == users[0]).sum()) if len(users) else 0
    if items.dtype == pl.String or items.head(first).n_unique() == first:
        return
    counted = pl.DataFrame([users, items]).group_by("user", "item").len("times")
    repeated = counted.filter(pl.col("times") > 1)
    n, n_values = users.n_unique(), items.n_unique()
    same_length = counted.group_by("user").agg(pl.col("times").sum())["times"].n_unique() == 1
    if not same_length or repeated["user"].n_unique() < n:
        return
    if side == "rankings":
        labels = n > 1 and bool(items.is_in([0, 1]).all())
    elif n == 1:
        labels = all(item in GRADES for item in items.unique())
    else:
        labels = n_values < first or repeated["item"].value_counts()["count"].max() == n
    if labels:
        raise DataError(
            f"{'Every' if n > 1 else 'The'} list of {first} values of {source} repeats some of "
            f"them: {some(items, 6)}; ids of items would not. "
            f"{instead_of_values(side) if n > 1 else _OF_ONE_USER} If a value fills empty places, "
            f"mask it: np.ma.masked_equal(ids, filler)."
        )
