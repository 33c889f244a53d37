"""Items by user that stay in Python's own containers: a dictionary is an index already."""

from __future__ import annotations

import marshal
from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import compress, count
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from rankmeter._ingest._by_user import ByUser
from rankmeter._ingest._id_columns import IdType, Objects, few

try:
    from rankmeter._ingest import _dicts
except ImportError:  # not compiled; the same is done in Python
    _dicts = None  # type: ignore[assignment]

__all__ = ["Lists"]

_DICTS = frozenset({dict, OrderedDict, defaultdict})
_PLAIN = frozenset({list, set, frozenset})
_TEXT = frozenset({str, np.str_})  # whose hash is that of the text, unlike that of an enumeration
_WHOLE = frozenset({int, np.int64, np.int32})
_REAL = frozenset({float, np.float64, np.float32})
_EXACT = 2**53  # integers up to here have a float
_AT_ONCE = 4_000  # items that are looked at together, so that they stay in the cache of a core


@dataclass(frozen=True, eq=False, kw_only=True)
class Lists(ByUser):
    """One container for each user, none empty: items, in order for rankings, or item → number.

    All items are strings, or all are integers.
    """

    containers: list[Any]  # (n_users,)

    @classmethod
    def of(cls, users: Sequence[Any], containers: Sequence[Any]) -> Lists | None:
        """The lists, or None where any user, container or value needs a closer look."""
        kinds = set(map(type, containers))
        user_type = _type(list(users))
        if user_type is None or not (kinds <= _DICTS or kinds <= _PLAIN):
            return None
        lengths = np.fromiter(map(len, containers), np.int64, len(containers))
        full = [one for one in containers if one]
        offsets = np.concatenate(([0], np.cumsum(lengths[lengths > 0])))
        numbers = np.empty(offsets[-1]) if kinds <= _DICTS else None
        item_type = _compiled(full, numbers) or _read(full, offsets, numbers)
        if item_type is None:
            return None
        everyone = few(Objects([*users], user_type))
        return cls(
            users=everyone.where(lengths > 0),
            empty_users=everyone.where(lengths == 0),
            containers=full,
            offsets=offsets,
            numbers=numbers,
            item_type=item_type,
        )

    def only(self, chosen: npt.NDArray[np.int64]) -> Lists:
        """See `ByUser.only`."""
        kept = np.zeros(len(self.users), dtype=bool)
        kept[chosen] = True
        return replace(
            self,
            users=self.users.take(chosen),
            empty_users=self.users.take(chosen[:0]),
            containers=[*compress(self.containers, kept.tolist())],
            offsets=np.concatenate(([0], np.cumsum(self.lengths[chosen]))),
            numbers=None if self.numbers is None else self.numbers[np.repeat(kept, self.lengths)],
        )

    def items(self) -> Objects:
        """All items, by user."""
        return Objects(_joined(self.containers), self.item_type)

    def items_at(self, at: npt.NDArray[np.int64], place: npt.NDArray[np.int64]) -> Objects:
        """See `ByUser.items_at`."""
        found: list[Any] = []
        starts = np.flatnonzero(np.diff(at, prepend=-1))
        for number, places in zip(at[starts].tolist(), np.split(place, starts[1:]), strict=True):
            listed = [*self.containers[number]]
            found += [listed[one] for one in places.tolist()]
        return Objects(found, self.item_type)

    def sought(self, judged: pl.DataFrame | ByUser) -> Objects:
        """See `ByUser.sought`."""
        if isinstance(judged, Lists):
            return judged.items()
        ids = judged["item"] if isinstance(judged, pl.DataFrame) else judged.items().series()
        return Objects(ids.to_list(), self.item_type)

    def look_up(self, at: npt.NDArray[np.int64], items: Objects) -> npt.NDArray[np.float64]:
        """See `ByUser.look_up`."""
        if _dicts is not None:
            look_up = _dicts.find if self.numbers is None else _dicts.look_up
            look_up(self.containers, at, items.values, compiled := np.empty(at.size))
            return compiled
        found: list[float | None]
        if self.numbers is None:
            found = [*self._places(at.tolist(), items.values)]
        else:
            found = [*map(dict.get, map(self.containers.__getitem__, at.tolist()), items.values)]
        return np.array(found, dtype=np.float64)  # None is NaN

    def _places(self, at: list[int], items: Iterable[Any]) -> Iterator[float | None]:
        before, places = -1, dict[Any, int]()
        for number, item in zip(at, items, strict=True):
            if number != before:
                before, places = number, dict(zip(self.containers[number], count(), strict=False))
            yield places.get(item)


def _parts(offsets: npt.NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """First and last list of each part of them, which has about `_AT_ONCE` items or one list."""
    start, last = 0, len(offsets) - 1
    while start < last:
        stop = int(np.searchsorted(offsets, offsets[start] + _AT_ONCE))
        yield start, (start := min(max(stop, start + 1), last))


def _joined(containers: Iterable[Iterable[Any]]) -> list[Any]:
    """All elements, one container after the other; faster than a chain of them."""
    found: list[Any] = []
    for one in containers:
        found += one
    return found


def _type(ids: list[Any]) -> IdType | None:
    """String or Int64, if all of the ids are such and have the hash of the plain value; or None."""
    types = [*map(type, ids)]
    if types.count(str) == len(ids) or {*types} <= _TEXT:
        text = "".join(ids)
        return "String" if text.isascii() or _is_text(text) else None
    if {*types} <= _WHOLE and min(ids) >= -(2**63) and max(ids) < 2**63:
        return "Int64"
    return None


def _is_text(text: str) -> bool:
    """Whether no character is half of a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


_KINDS: tuple[IdType | None, ...] = (None, "String", "Int64")


def _compiled(full: list[Any], numbers: npt.NDArray[np.float64] | None) -> IdType | None:
    """The type of the items, if compiled code has read all of them, with their numbers."""
    if _dicts is None:
        return None
    return _KINDS[_dicts.kind(full) if numbers is None else _dicts.read(full, numbers)]


def _read(
    full: list[Any], offsets: npt.NDArray[np.int64], numbers: npt.NDArray[np.float64] | None
) -> IdType | None:
    """The type of the items, with their numbers; None where any needs a closer look."""
    item_type: IdType | None = None
    for start, stop in _parts(offsets):
        some = full[start:stop]
        found = _type(_joined(some))
        if found is None or item_type not in (None, found):
            return None
        item_type = found
        if numbers is None:
            if any(len(set(one)) < len(one) for one in some):
                return None
        elif not _write(some, numbers[offsets[start] : offsets[stop]]):
            return None
    return item_type


def _write(some: Sequence[Any], numbers: npt.NDArray[np.float64]) -> bool:
    """Write the numbers of some dicts into an array; False if any is not one that it holds."""
    values = _joined(one.values() for one in some)  # in the order of the keys, if they were moved
    found = _numbers(values)
    if found is not None:
        numbers[:] = found
    else:
        kinds = set(map(type, values))
        if not kinds <= _REAL | _WHOLE:
            return False
        if kinds & _WHOLE and not all(-_EXACT < one < _EXACT for one in values):
            return False
        numbers[:] = values
    return not np.isnan(numbers).any()


_WRITTEN = {b"g": np.dtype([("type", "S1"), ("value", "<f8")])}
_WRITTEN[b"i"] = np.dtype([("type", "S1"), ("value", "<i4")])


def _numbers(values: list[Any]) -> npt.NDArray[Any] | None:
    """The values as an array if each of them is a float, or each an integer of 32 bits.

    `marshal` writes the type in front of each value, which is the fastest way to see all of them.
    """
    try:
        written = memoryview(marshal.dumps(values, 2))[5:]
    except ValueError:
        return None
    for letter, dtype in _WRITTEN.items():
        if len(written) == len(values) * dtype.itemsize:
            found = np.frombuffer(written, dtype)
            return found["value"] if (found["type"] == letter).all() else None
    return None
