"""Items by user in Python containers, without a copy: a dictionary serves as an index."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import nsmallest
from itertools import chain, compress, count
from operator import itemgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from rankmeter import _native
from rankmeter._reading.by_user import CHANGED, ByUser, Ids, IdType, Objects, to_objects_if_few
from rankmeter.errors import DataError

_DICTS = frozenset({dict, OrderedDict, defaultdict})
_PLAIN = frozenset({list, set, frozenset})
_TEXT = frozenset({str, np.str_})  # whose hash is that of the text, unlike that of an enumeration
_WHOLE = frozenset({int, np.int64, np.int32})
_REAL = frozenset({float, np.float64, np.float32})
_EXACT = 2**53  # integers up to here have a float


@dataclass(frozen=True, eq=False, kw_only=True)
class PythonLists(ByUser):
    """One nonempty container for each user: items, in order for rankings, or item → number.

    All items are strings, or all are integers.
    """

    containers: list[Any]  # (n_users,)

    @classmethod
    def of(cls, users: Sequence[Any], containers: Sequence[Any]) -> PythonLists | None:
        """Create lists by user; None if a user, container or value needs a closer look."""
        kinds, native = set(map(type, containers)), _native.native
        user_type = _common_id_type(list(users))
        if user_type is None or not (kinds <= _DICTS or kinds <= _PLAIN):
            return None
        lengths = _container_lengths(containers)
        full = [container for container in containers if container]
        offsets = np.concatenate(([0], np.cumsum(lengths[lengths > 0])))
        numbers = np.empty(offsets[-1]) if kinds <= _DICTS else None
        try:
            item_type = None if native is None else _KINDS[native.read(numbers, full)]
            item_type = item_type or _read_containers(full, numbers)
        except (RuntimeError, ValueError) as error:  # of iterators, and of sums of lengths
            raise DataError(CHANGED) from error
        if item_type is None:
            return None
        everyone = to_objects_if_few(Objects([*users], user_type))
        return cls(
            users=everyone.filter(lengths > 0),
            empty_users=everyone.filter(lengths == 0),
            containers=full,
            offsets=offsets,
            numbers=numbers,
            item_type=item_type,
        )

    def _filter_subclass_fields(self, mask: npt.NDArray[np.bool_]) -> dict[str, Any]:
        return {"containers": [*compress(self.containers, mask[self.offsets[:-1]].tolist())]}

    def items(self) -> Objects:
        """All items, grouped by user."""
        return self._items

    @cached_property
    def _items(self) -> Objects:
        items = [*chain.from_iterable(self.containers)]
        if len(items) != len(self):
            raise DataError(CHANGED)
        return Objects(items, self.item_type)

    @cached_property
    def _lists(self) -> list[list[Any]]:
        return [items for items in self.containers if type(items) is list]

    @property
    def has_ends(self) -> bool:
        return bool(self._lists)

    def has_end(self, items: set[Any]) -> bool:
        return isinstance(self.containers[0], dict) or not all(
            items.isdisjoint(map(itemgetter(end), self._lists)) for end in (-1, 0)
        )

    def count_filled_lists(self, filler: Any, *, alone: bool) -> int:
        if isinstance(self.containers[0], dict):
            full = [items for items in self.containers if filler in items]
            lowest = all(items[filler] == min(items.values()) for items in full)
            if alone:
                lowest = lowest and all(_has_single_minimum(items.values()) for items in full)
            return len(full) if lowest and len(full) > 1 else 0
        items, is_text = self.items(), self.item_type == "String"
        known = np.array(items.values, dtype=object) if is_text else items.to_integers()
        at = np.flatnonzero(known == filler)  # once in a list
        user = np.searchsorted(self.offsets, at, side="right") - 1
        of_lists = np.array([type(self.containers[n]) is list for n in user.tolist()], dtype=bool)
        at, user = at[of_lists], user[of_lists]
        first, last = self.offsets[user], self.offsets[user + 1] - 1
        is_filler = np.all(first < last) and (np.all(at == last) or np.all(at == first))
        return at.size if is_filler else 0

    def has_item(self, item: Any) -> bool:
        return any(item in container for container in self.containers)

    def some_items(self, most: int) -> Iterable[Any]:
        return chain.from_iterable(self.containers[:: 1 + len(self) // most])

    @property
    def has_changed(self) -> bool:
        return not np.array_equal(_container_lengths(self.containers), self.lengths)

    def take_items(self, indices: npt.NDArray[np.int64]) -> Objects:
        result: list[Any] = []
        list_index = np.searchsorted(self.offsets, indices, side="right") - 1
        starts = np.flatnonzero(np.diff(list_index, prepend=-1))
        of_lists = np.split(indices - self.offsets[list_index], starts[1:])
        for number, indices_in_list in zip(list_index[starts].tolist(), of_lists, strict=True):
            items = [*self.containers[number]]
            result += [items[position] for position in indices_in_list.tolist()]
        return Objects(result, self.item_type)

    def to_lookup_keys(self, items: Ids) -> Objects:
        return items if isinstance(items, Objects) else Objects(items.to_list(), self.item_type)

    def look_up_scores(
        self, list_index: npt.NDArray[np.int64], items: Objects
    ) -> npt.NDArray[np.float64]:
        if _native.native is not None:
            compiled = np.empty(list_index.size)
            _native.native.find(list_index, compiled, self.containers, items.values)
            return compiled
        if self.numbers is None:
            return self.look_up_positions(list_index, items)
        containers = map(self.containers.__getitem__, list_index.tolist())
        return np.array([*map(dict.get, containers, items.values)], dtype=np.float64)  # None is NaN

    def look_up_positions(
        self, list_index: npt.NDArray[np.int64], items: Objects
    ) -> npt.NDArray[np.float64]:
        before, places, looked_up = -1, dict[Any, int](), list[float | None]()
        for number, item in zip(list_index.tolist(), items.values, strict=True):
            if number != before:
                before, places = number, dict(zip(self.containers[number], count(), strict=False))
            looked_up.append(places.get(item))
        return np.array(looked_up, dtype=np.float64)


def _has_single_minimum(scores: Iterable[float]) -> bool:
    lowest, *others = nsmallest(2, scores)
    return not others or lowest < others[0]


def _container_lengths(containers: Sequence[Any]) -> npt.NDArray[np.int64]:
    return np.fromiter(map(len, containers), np.int64, len(containers))


def _common_id_type(ids: list[Any]) -> IdType | None:
    """Return the type if all ids are plain String or Int64 ids, else None."""
    types = [*map(type, ids)]
    if types.count(str) == len(ids) or {*types} <= _TEXT:
        text = "".join(ids)
        return "String" if text.isascii() or _is_valid_unicode(text) else None
    if {*types} <= _WHOLE and min(ids) >= -(2**63) and max(ids) < 2**63:
        return "Int64"
    return None


def _is_valid_unicode(text: str) -> bool:
    """Whether the text is without lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


_KINDS: tuple[IdType | None, ...] = (None, "String", "Int64")


def _read_containers(full: list[Any], numbers: npt.NDArray[np.float64] | None) -> IdType | None:
    """Type of the items, after filling `numbers`; None if a value needs a closer look."""
    item_type = (
        _common_id_type([item for container in full for item in container]) if full else None
    )
    if item_type is None:
        return None
    if numbers is None:
        return item_type if all(len({*container}) == len(container) for container in full) else None
    values = [value for container in full for value in container.values()]
    kinds = set(map(type, values))
    if not kinds <= _REAL | _WHOLE:
        return None
    if kinds & _WHOLE and not all(-_EXACT < container < _EXACT for container in values):
        return None
    numbers[:] = values
    return None if np.isnan(numbers).any() else item_type
