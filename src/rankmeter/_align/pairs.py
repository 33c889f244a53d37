"""Pairs of user and item: those repeated on one side, and those on both sides.

Compiled code groups the rows by user and puts the items of one user after the other into a table,
which shows repeated ones, and where judged ones are. Where that is not compiled, or a pair is
repeated, each row is one 64-bit number: its user, its item and its position. One sort of these
numbers puts equal pairs side by side.

An item is its distance from the lowest one if these are dense or fit, and otherwise a hash or part
of one; items of equal hashes are compared themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from rankmeter._align import compiled
from rankmeter._align.codes import FEW, are_dense
from rankmeter._align.packing import BITS, Groups, Keys, bits, sort
from rankmeter._checks import shown
from rankmeter._choices import Alignment
from rankmeter._hits import IntArray
from rankmeter._ingest import Table, series

__all__ = ["Pairs", "Refused", "best_of", "unique_items", "unique_judgements"]

SHOWN = 3
_LARGEST = 2**32 - 1
"""Rows and dense items that compiled code has room for."""


@dataclass(frozen=True)
class Refused:
    """Pairs that the choices refuse. They add up over disjoint users; the total decides."""

    n: int = 0
    examples: tuple[tuple[Any, Any], ...] = ()  # the smallest three

    def __add__(self, other: Refused) -> Refused:
        return Refused(self.n + other.n, tuple(sorted(self.examples + other.examples)[:SHOWN]))

    def __str__(self) -> str:
        return "; ".join(f"user {shown(user)} item {shown(item)}" for user, item in self.examples)


def _refused(n: int, pairs: pl.DataFrame) -> Refused:
    smallest = pairs.select("user", "item").unique().sort("user", "item").head(SHOWN)
    return Refused(n, tuple(smallest.iter_rows()))


@dataclass(frozen=True, eq=False)
class Pairs:
    """The pairs of some rows and, where given, of the judgments."""

    row: IntArray  # (n_found,) the rows whose item is judged for their user, by user
    judgment: IntArray  # and the judgment of each
    groups: Groups  # the rows by user
    repeated: bool  # whether several rows have the same pair

    @classmethod
    def of(
        cls, user: IntArray, item: pl.Series, n_users: int, judged: pl.DataFrame | None = None
    ) -> Pairs:
        """Find equal pairs, of users below `n_users`. Each pair of `judged` is judged once."""
        if judged is None:
            code, wanted = user[:0], item[:0]
        else:
            code, wanted = judged["code"].to_numpy(), judged["item"]
        looked_up = _looked_up(user, item, n_users, code, wanted)
        return looked_up or _sorted(user, item, n_users, code, wanted)


def _looked_up(
    user: IntArray, item: pl.Series, n_users: int, code: IntArray, wanted: pl.Series
) -> Pairs | None:
    """The pairs by a table; None if that cannot be, or two rows seem to have the same pair."""
    if compiled.rows is None or user.size > _LARGEST:
        return None
    groups, judged = Groups.of(user, n_users), Groups.of(code, n_users)
    low, width, (of_rows, of_judged) = _numbers([item, wanted])
    row, judgment = np.empty((2, code.size), dtype=np.int64)
    rows = of_rows, groups.order, groups.offsets
    n = compiled.rows.match(
        *rows, of_judged, judged.order, judged.offsets, row, judgment, low, width
    )
    if n < 0:
        return None
    row, judgment = row[:n], judgment[:n]
    if not width and not item.dtype.is_integer():  # hashes
        same = item.gather(series(row)) == wanted.gather(series(judgment))
        if not same.all():
            return None
    return Pairs(row, judgment, groups, repeated=False)


def _sorted(
    user: IntArray, item: pl.Series, n_users: int, code: IntArray, wanted: pl.Series
) -> Pairs:
    """The pairs by sorting the rows and the judgments."""
    n = user.size
    order, same = _side_by_side([user, code], [item, wanted], n_users)
    at = np.flatnonzero(same)
    # The judgment of a pair is the last of its rows.
    last = np.flatnonzero(np.diff(at, append=-1) != 1)
    end = order[at[np.repeat(last, np.diff(last, prepend=-1))] + 1]
    found = end >= n
    grouped = order if order.size == n else order[order < n]
    offsets = np.concatenate(([0], np.cumsum(np.bincount(user, minlength=n_users))))
    repeated = bool(np.any(order[at + 1] < n))
    return Pairs(order[at[found]], end[found] - n, Groups(grouped, offsets, mixed=True), repeated)


def _numbers(items: list[pl.Series]) -> tuple[int, int, list[Keys]]:
    """Items as numbers: the lowest, how many places these take if they are dense, and all."""
    size = sum(map(len, items))
    named = [item for item in items if len(item)]
    if named and named[0].dtype.is_integer():
        low, high = _ends(named)
        width = high - low + 1
        if width > _LARGEST or not are_dense(low, high, size):
            width = 0
        return low % 2**BITS, width, [item.to_numpy().view(np.uint64) for item in items]
    if size <= FEW:
        n, found = _numbered(items)
        return 0, n, found
    return 0, 0, [_hashes(item, BITS) for item in items]


def _side_by_side(
    users: list[IntArray], items: list[pl.Series], n_users: int
) -> tuple[IntArray, npt.NDArray[np.bool_]]:
    """Rows by user, equal pairs side by side, and whether each row has the pair of the next one."""
    size = sum(map(len, items))
    room = BITS - bits(n_users) - bits(size)
    width, parts = _distances(items)
    if width > room and size <= FEW:
        n, few = _numbered(items)
        width, parts = bits(n), iter(few)
    hashed = width > room
    if hashed:
        width, parts = room, (_hashes(item, room) for item in items)
    keys, start = np.empty(size, dtype=np.uint64), 0
    for user, part in zip(users, parts, strict=True):
        mine = keys[start : start + user.size]
        np.left_shift(user.view(np.uint64), np.uint64(width), out=mine)
        mine |= part
        start += user.size
    keys, order = sort(keys, bits(n_users) + width)
    same = keys[1:] == keys[:-1]
    if hashed:
        _compare(pl.concat(items), keys, order, same)
    return order, same


def _distances(items: list[pl.Series]) -> tuple[int, Iterator[Keys]]:
    """The width of the distances from the lowest item, and the distances if ids are integers."""
    named = [item for item in items if len(item)]
    if not named or not named[0].dtype.is_integer():
        return BITS + 1, iter(())
    low, high = _ends(named)
    base = np.uint64(low % 2**BITS)
    return bits(high - low + 1), (one.to_numpy().view(np.uint64) - base for one in items)


def _ends(items: list[pl.Series]) -> tuple[int, int]:
    """The lowest and the highest item."""
    return min(int(one.min()) for one in items), max(int(one.max()) for one in items)  # type: ignore[arg-type]


def _numbered(items: list[pl.Series]) -> tuple[int, list[Keys]]:
    """How many different ids there are of a few, and the number of each."""
    known: dict[object, int] = {}
    codes = [[known.setdefault(one, len(known)) for one in item.to_list()] for item in items]
    return len(known), [np.array(one, dtype=np.uint64) for one in codes]


def _hashes(item: pl.Series, width: int) -> Keys:
    """So many bits for each id; the same in one process, not in every version of Polars."""
    found: Keys = item.hash(2).to_numpy()
    return found if width == BITS else found >> np.uint64(BITS - width)


def _compare(item: pl.Series, keys: Keys, order: IntArray, same: npt.NDArray[np.bool_]) -> None:
    """Correct rows and comparisons where different items have the same number."""
    at = np.flatnonzero(same)
    wrong = (item.gather(series(order[at])) != item.gather(series(order[at + 1]))).to_numpy()
    if not wrong.any():
        return
    at = at[np.isin(keys[at], keys[at[wrong]])]
    place = np.union1d(at, at + 1)
    code = item.gather(series(order[place])).rank("dense").to_numpy()
    by_item = np.lexsort((code, keys[place]))
    order[place], code = order[place[by_item]], code[by_item]
    same[place[:-1]] &= code[1:] == code[:-1]


def unique_items(
    rankings: Table, choices: Alignment, counts: dict[str, int], *, repeated: bool
) -> tuple[pl.DataFrame, Refused]:
    """The ranking rows, each item once per user unless every occurrence counts."""
    frame = rankings.frame
    if not repeated:
        return frame, Refused()
    again = frame.filter(pl.struct("user", "item").is_duplicated())
    extra = again.height - again.select("user", "item").n_unique()
    if choices.duplicates in ("error", "unchecked"):
        return frame, _refused(extra, again)
    if choices.duplicates == "each":
        counts["duplicate_items_counted"] = extra
        return frame, Refused()
    counts["duplicate_items_dropped"] = extra
    if choices.duplicates == "best":
        frame = best_of(frame.with_row_index("row"), rankings.order).drop("row")
    return frame, Refused()


def best_of(numbered: pl.DataFrame, by: str) -> pl.DataFrame:
    """The best-ranked row of each user and item, in the order of the rows."""
    if by != "list":
        numbered = numbered.sort(by, descending=by == "score", maintain_order=True)
    return numbered.unique(["user", "item"], keep="first", maintain_order=True).sort("row")


def unique_judgements(
    truth: Table, choices: Alignment, counts: dict[str, int]
) -> tuple[pl.DataFrame, Refused]:
    """One judgment per user and item, where some occur more than once."""
    frame = truth.frame
    gain = pl.col("gain")
    kept = {"max": gain.max(), "sum": gain.sum()}.get(choices.judgements, gain.last())
    pairs = frame.group_by("user", "item", maintain_order=True)
    merged = pairs.agg(gain.n_unique().alias("values"), kept)
    counts["duplicate_judgements_merged"] = frame.height - merged.height
    clash = merged.filter(pl.col("values") > 1) if choices.judgements == "error" else merged.clear()
    return merged.select("user", "item", "gain"), _refused(clash.height, clash)
