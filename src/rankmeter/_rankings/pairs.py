"""Group rows by user; find pairs of user and item that are repeated or judged."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from rankmeter import _native
from rankmeter._choices import Alignment
from rankmeter._evidence.hits import IntArray
from rankmeter._rankings.codes import THREADS, are_dense, map_in_threads
from rankmeter._reading.by_user import to_series
from rankmeter._reading.table import Table
from rankmeter.errors._checks import brief

_AT_ONCE = 2**15  # numbers, so that the steps of a search stay in the cache

Keys = npt.NDArray[np.uint64]

BITS = 64


def bit_width(n: int) -> int:
    """Number of bits for integers below `n`."""
    return max(n - 1, 0).bit_length()


def sort_keys(keys: Keys, width: int) -> tuple[Keys, IntArray]:
    """Sort keys of at most `width` bits; return keys and positions, equal keys by position.

    The array is overwritten.
    """
    shift = bit_width(keys.size)
    if width + shift > BITS:
        order = np.argsort(keys, kind="stable")
        return keys[order], order
    keys <<= np.uint64(shift)
    keys |= np.arange(keys.size, dtype=np.uint64)
    keys.sort()
    order = (keys & np.uint64((1 << shift) - 1)).view(np.int64)
    keys >>= np.uint64(shift)
    return keys, order


def user_offsets(user: IntArray, n_users: int) -> IntArray:
    """Offsets of each user's items, shape (n_users + 1,), given the user of each item."""
    offsets = np.zeros(n_users + 1, dtype=np.int64)
    np.cumsum(np.bincount(user, minlength=n_users), out=offsets[1:])
    return offsets


@dataclass(frozen=True, eq=False)
class Groups:
    """Rows by user, without moving rows; the rows of a user keep their order."""

    order: npt.NDArray[Any] | None  # (n_rows,) positions of the rows by user; None if they are
    offsets: IntArray  # (n_users + 1,) where the rows of each user begin in this order

    @classmethod
    def of(cls, user: IntArray, n_users: int) -> Groups:
        """Group rows by user, given the user code of each row, below `n_users`."""
        if _native.native is not None and user.size < _MOST:
            order = np.empty(user.size, dtype=np.int32)
            offsets = np.empty(n_users + 1, dtype=np.int64)
            grouped = _native.native.group(np.ascontiguousarray(user), order, offsets)
            return cls(None if grouped else order, offsets)
        ascends = np.all(user[1:] >= user[:-1])
        return cls(
            None if ascends else np.argsort(user, kind="stable"), user_offsets(user, n_users)
        )

    def ranges_of_users(self) -> list[int]:
        """Where ranges of users begin and end that have about the same number of rows.

        There is one for each thread, or one in all if there are few rows.
        """
        n_users = self.offsets.size - 1
        n = THREADS if self.offsets[-1] >= _MANY else 1
        rows = self.offsets[-1] * np.arange(1, n) // n
        return [0, *np.searchsorted(self.offsets[:-1], rows).tolist(), n_users]


_MANY = 2**19
"""Rows that are worth several threads."""
_MOST = 2**31
"""Rows whose order compiled code does not write."""
SHOWN = 3
_LARGEST = 2**32 - 1
"""Dense items that compiled code has room for."""
_SEED = int.from_bytes(os.urandom(7))
"""Of hashes: ids cannot be chosen to collide."""


@dataclass(frozen=True)
class Refused:
    """Pairs that the choices refuse; numbers add up over disjoint users, and the total decides."""

    n: int = 0
    examples: tuple[tuple[Any, Any], ...] = ()  # the smallest three

    @classmethod
    def of(cls, n: int, pairs: pl.DataFrame) -> Refused:
        """Keep the total number `n` and the smallest of some pairs as examples."""
        smallest = pairs.select("user", "item").unique().sort("user", "item").head(SHOWN)
        return cls(n, tuple(smallest.iter_rows()))

    def __add__(self, other: Refused) -> Refused:
        return Refused(self.n + other.n, tuple(sorted(self.examples + other.examples)[:SHOWN]))

    def __str__(self) -> str:
        return "; ".join(f"user {brief(user)} item {brief(item)}" for user, item in self.examples)


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of user and item: rows matched with judgments, and whether pairs repeat."""

    row: IntArray  # (n_found,) the rows whose item is judged for their user, by user
    judgment: IntArray  # and the judgment of each
    groups: Groups  # the rows by user
    repeated: bool  # whether several rows have the same pair

    @classmethod
    def of(
        cls, user: IntArray, item: pl.Series, n_users: int, judged: pl.DataFrame | None = None
    ) -> Pairs:
        """Match rows and judgments by user and item; each pair of `judged` is judged once."""
        if judged is None:
            code, judged_item = user[:0], item[:0]
        else:
            code, judged_item = judged["code"].to_numpy(), judged["item"]
        looked_up = _match_by_table(user, item, n_users, code, judged_item)
        return looked_up or _match_by_join(user, item, n_users, code, judged_item)


def _match_by_table(
    user: IntArray, item: pl.Series, n_users: int, code: IntArray, judged_item: pl.Series
) -> Pairs | None:
    """Find the pairs by a lookup table; None if not possible, or if a pair seems repeated."""
    if _native.native is None or max(user.size, code.size) >= _MOST:
        return None
    groups, judged = Groups.of(user, n_users), Groups.of(code, n_users)
    low, width, (of_rows, of_judged) = _item_keys([item, judged_item])
    native, ranges = _native.native, groups.ranges_of_users()

    def match(part: int) -> tuple[IntArray, IntArray] | None:
        users = slice(ranges[part], ranges[part + 1] + 1)
        rows = of_rows, groups.order, groups.offsets[users]
        offsets = judged.offsets[users]
        row, judgment = np.empty((2, int(offsets[-1] - offsets[0])), dtype=np.int64)
        n = native.match(*rows, of_judged, judged.order, offsets, row, judgment, low, width)
        return None if n < 0 else (row[:n], judgment[:n])

    found = [*map_in_threads(match, len(ranges) - 1)]
    matched = [part for part in found if part is not None]
    if len(matched) < len(found):
        return None
    row, judgment = (np.concatenate(column) for column in zip(*matched, strict=True))
    if not width and not item.dtype.is_integer():  # hashes
        is_equal = item.gather(to_series(row)) == judged_item.gather(to_series(judgment))
        if not is_equal.all():
            return None
    return Pairs(row, judgment, groups, repeated=False)


def _match_by_join(
    user: IntArray, item: pl.Series, n_users: int, code: IntArray, judged_item: pl.Series
) -> Pairs:
    """Find the pairs by a join of the rows and the judgments."""
    rows = pl.DataFrame({"user": to_series(user), "item": item})
    judged = pl.DataFrame({"user": to_series(code), "item": judged_item}).with_row_index("judgment")
    pairs = rows.with_row_index("row").join(judged, on=["user", "item"]).sort("user", "row")
    row, judgment = (pairs[name].cast(pl.Int64).to_numpy() for name in ("row", "judgment"))
    return Pairs(row, judgment, Groups.of(user, n_users), bool(rows.is_duplicated().any()))


def _item_keys(items: list[pl.Series]) -> tuple[int, int, list[Keys]]:
    """Encode items as integers: the lowest, the size of their range if dense, and all integers."""
    size = sum(map(len, items))
    filled = [item for item in items if len(item)]
    if filled and filled[0].dtype.is_integer():
        ends = [(int(column.min()), int(column.max())) for column in filled]  # type: ignore[arg-type]
        low, high = min(ends)[0], max(high for _, high in ends)
        width = high - low + 1
        if width > _LARGEST or not are_dense(low, high, size):
            width = 0
        return low % 2**BITS, width, [item.to_numpy().view(np.uint64) for item in items]
    return 0, 0, [_hash_items(item) for item in items]


def _hash_items(item: pl.Series) -> Keys:
    """Hash of each id; equal within one process, but not across versions of Polars."""
    return item.hash(_SEED).to_numpy()


def are_self_items(user: pl.Series, item: pl.Series) -> npt.NDArray[np.bool_]:
    """Mask of the rows whose item equals the id of the user."""
    if user.dtype != item.dtype:
        user, item = user.cast(pl.String), item.cast(pl.String)
    return (user == item).to_numpy()


def best_ranked_rows(numbered: pl.DataFrame, order: str) -> pl.DataFrame:
    """Select the best-ranked row of each user and item, in the order of the rows."""
    if order != "list":
        numbered = numbered.sort(order, descending=order == "score", maintain_order=True)
    return numbered.unique(["user", "item"], keep="first", maintain_order=True).sort("row")


def unique_judgments(
    truth: Table, choices: Alignment, counts: dict[str, int]
) -> tuple[pl.DataFrame, Refused]:
    """Merge repeated judgments to one per user and item; return the judgments and refused pairs.

    Of the judgments by subtopic, in which each subtopic has one, the largest counts.
    """
    merged = merge_judgments(truth.frame, choices)
    counts["duplicate_judgements_merged"] = truth.height - merged.height
    clash = merged.filter(pl.col("values") > 1) if choices.judgements == "error" else merged.clear()
    refused = Refused.of(clash.height, clash)
    if "subtopic" in merged.columns:
        pairs = merged.group_by("user", "item", maintain_order=True).agg(pl.col("gain").max())
        counts["judgments_of_further_subtopics"] = merged.height - pairs.height
        merged = pairs
    return merged.select("user", "item", "gain"), refused


def merge_judgments(judged: pl.DataFrame, choices: Alignment) -> pl.DataFrame:
    """Merge judgments by user, item and subtopic; `values` is the number of different gains."""
    gain = pl.col("gain")
    kept_gain = {"max": gain.max(), "sum": gain.sum()}.get(choices.judgements, gain.last())
    keys = [name for name in judged.columns if name != "gain"]
    groups = judged.group_by(keys, maintain_order=True)
    return groups.agg(gain.n_unique().alias("values"), kept_gain)


def search_segments(
    value: npt.NDArray[Any],
    limit: npt.NDArray[Any],
    begin: IntArray,
    end: IntArray,
    before: np.ufunc,
) -> IntArray:
    """Search sorted segments in one pass: the end of the values before each `limit`."""
    ends, longest = begin.copy(), int((end - begin).max(initial=0))
    for start in range(0, ends.size, _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        for power in reversed(range(longest.bit_length())):
            further = ends[part] + (1 << power)
            right = before(value.take(further - 1, mode="clip"), limit[part])
            right &= further <= end[part]
            ends[part] += right.astype(np.int64) << power  # without branches
    return ends
