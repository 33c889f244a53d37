"""Reasons to doubt larger data are those in memory, from all parts or from none."""

from __future__ import annotations

import re
import warnings

import numpy as np
import polars as pl
import pytest

import rankmeter as rm
from rankmeter.errors import DataError

USERS = np.repeat(np.arange(60), 10)
ROWS = pl.DataFrame(
    {
        "user": USERS,
        "item": np.tile(np.arange(10), 60) + USERS % 7,
        "score": np.random.default_rng(0).random(600),
    }
)
JUDGED = ROWS.filter(pl.col("item") % 5 == 0).select("user", "item").with_columns(gain=1.0)
LAST = pl.DataFrame({"user": np.arange(60), "item": np.full(60, -1), "score": np.zeros(60)})
AT_THE_END = pl.concat([ROWS, LAST]).sort("user", maintain_order=True)


def text(frame, *, capital=False):
    item = pl.format("I{}" if capital else "i{}", "item")
    return frame.with_columns(user=pl.format("u{}", "user"), item=item)


DATA = {
    "nothing wrong": (ROWS, JUDGED),
    "nothing wrong with text": (text(ROWS), text(JUDGED)),
    "swapped": (JUDGED.rename({"gain": "score"}), ROWS.rename({"score": "gain"})),
    "ranks over all users": (
        ROWS.drop("score").with_columns(rank=pl.int_range(1, pl.len() + 1)), JUDGED,
    ),
    "ranks of their users": (
        ROWS.drop("score").with_columns(rank=pl.int_range(1, pl.len() + 1).over("user")), JUDGED,
    ),
    "fillers of lists": (AT_THE_END.drop("score"), JUDGED),
    "fillers with the lowest score": (AT_THE_END, JUDGED),
    "fillers of some users": (
        AT_THE_END.filter((pl.col("item") >= 0) | (pl.col("user") < 6)), JUDGED,
    ),
    "an item that looks like a filler": (
        pl.concat([AT_THE_END, LAST.with_columns(score=2.0).head(30)]).unique(
            ["user", "item"], keep="last", maintain_order=True
        ),
        JUDGED,
    ),
    "fillers of text": (
        text(AT_THE_END).with_columns(pl.col("item").replace("i-1", "<pad>")), text(JUDGED),
    ),
    "other items": (text(ROWS, capital=True), text(JUDGED)),
    "one user each": (ROWS.with_columns(user=pl.int_range(pl.len())), JUDGED),
}  # fmt: skip


def said(rankings, truth, **options):
    """Warnings, or the error, up to the numbers in them."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            rm.evaluate(rankings, truth, "rr", **options)
        except DataError as error:
            return [type(error).__name__, without_numbers(str(error))]
    return sorted(without_numbers(str(one.message)) for one in caught)


def without_numbers(message):
    """The message without the numbers that count users or lists, or name the first."""
    message = message.split(" (numbers of ")[0]
    return re.sub(r"\d[\d.,]*", "#", message)


@pytest.mark.parametrize("form", ["parquet", "csv"])
@pytest.mark.parametrize("is_sorted", [True, False])
@pytest.mark.parametrize("name", DATA)
def test_what_is_said_in_memory_is_said_on_disk(name, is_sorted, form, tmp_path):
    rankings, truth = DATA[name]
    if not is_sorted:  # users in pieces, each in its order
        nth = pl.int_range(pl.len()).over("user")
        rankings = rankings.sort(nth, pl.col("user").hash(1), maintain_order=True)
    path = tmp_path / f"r.{form}"
    getattr(rankings, f"write_{form}")(path)
    wanted = said(path, truth, engine="memory")
    found = said(path, truth, engine="disk")
    if name == "fillers of some users":  # not in all parts, so it is not certain
        assert found in (wanted, [])
    else:
        assert found == wanted
    assert bool(wanted) == (not name.startswith(("nothing", "ranks of", "an item", "one user")))
