"""Count in rankings without rows: judged items are looked up."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rankmeter._align.counts import Candidates, Targets, by_text, compared, count, holds, search
from rankmeter._align.placing import ORDERED
from rankmeter._choices import Alignment, TieRule
from rankmeter._counts import RankCounts
from rankmeter._hits import FloatArray, IntArray
from rankmeter._ingest import ByUser, Ids, Objects, places_of

__all__ = ["Sought", "count_listed"]


@dataclass(frozen=True, eq=False)
class Sought:
    """Judgments whose items are in the form of the rankings."""

    user: IntArray
    gain: FloatArray
    items: Ids

    def take(self, chosen: IntArray) -> Sought:
        """Some of the judgments."""
        if np.array_equal(chosen, np.arange(self.user.size)):
            return self
        return Sought(self.user[chosen], self.gain[chosen], self.items.take(chosen))


def count_listed(
    lists: ByUser, code: IntArray, judged: Sought, n_users: int, choices: Alignment
) -> tuple[RankCounts, FloatArray | None]:
    """Counts of the judged items in lists whose users have a `code`, and their scores if any."""
    place = np.full(n_users, -1)
    place[code] = np.arange(code.size)
    at = place[judged.user]
    order = np.argsort(at, kind="stable")
    order = order[np.searchsorted(at, 0, sorter=order) :]
    at, judged = at[order], judged.take(order)
    score = lists.look_up(at, judged.items)
    found = np.flatnonzero(~np.isnan(score))
    at, score, gain = at[found], score[found], judged.gain[found]
    n_ranked = np.zeros(n_users, dtype=np.int64)
    n_ranked[code] = lists.lengths
    if lists.numbers is None:
        above, equal = score.astype(np.int64), np.zeros(at.size, dtype=np.int64)
        return RankCounts(code[at], gain, above, equal, equal, n_ranked), None
    everything = _candidates(lists, compared(lists.numbers, choices.score_type))
    value = compared(score, choices.score_type)
    targets = Targets(at, gain, at, value, everything.item)  # their rows are not asked for
    counts = count(everything, targets, "optimistic")
    before = np.zeros(at.size, dtype=np.int64) if choices.ties in ORDERED else None
    tied = counts.equal > 0
    if before is not None and tied.any():
        items = judged.take(found[tied]).items
        before[tied] = _before(lists, everything.value, at[tied], value[tied], items, choices.ties)
    return replace(counts, user=code[at], n_ranked=n_ranked, before=before), score


def _candidates(lists: ByUser, value: FloatArray) -> Candidates:
    """All places in the lists, list after list; users and items are not fetched."""
    user, items = np.empty(0, dtype=np.int64), Objects([], lists.item_type)
    return Candidates(user, None, value, "score", items, None, lists.offsets, falling=True)


def _before(
    lists: ByUser,
    values: FloatArray,
    at: IntArray,
    value: FloatArray,
    items: Ids,
    ties: TieRule,
) -> IntArray:
    """How many items with its value precede each of some items, which are in the lists `at`."""
    order = np.lexsort((value, at))
    at_, value_ = at[order], value[order]
    new = np.append(True, (at_[1:] != at_[:-1]) | (value_[1:] != value_[:-1]))
    group = np.empty(at.size, dtype=np.int64)
    group[order] = np.cumsum(new) - 1
    at_, value_ = at_[new], value_[new]  # of the groups
    # All items of the groups.
    list_ = at_[np.append(True, at_[1:] != at_[:-1])]
    length = lists.lengths[list_]
    list_, place = np.repeat(list_, length), _ranges(length)
    found = values[lists.offsets[list_] + place]
    begin, end = np.searchsorted(at_, list_), np.searchsorted(at_, list_, side="right")
    mine = search(value_, found, begin, end, np.less)
    inside = holds(value_, found, mine, end)
    list_, place, mine = list_[inside], place[inside], mine[inside]
    # Their order, in which each item is looked up.
    text = by_text(ties, lists.item_type)
    key = places_of([items, lists.items_at(list_, place)], text=text)
    wanted, key = key[: at.size], key[at.size :]
    order = np.lexsort((key, mine))
    ends = np.append(0, np.cumsum(np.bincount(mine, minlength=value_.size)))
    begin, end = ends[group], ends[group + 1]
    nth = search(key[order], wanted, begin, end, np.less)
    if ties == "input":
        wanted, order = place[order][nth], np.lexsort((place, mine))
        nth = search(place[order], wanted, begin, end, np.less)
    return end - 1 - nth if "descending" in ties else nth - begin


def _ranges(length: IntArray) -> IntArray:
    """0, 1, … below each of some lengths."""
    total = np.cumsum(length)
    return np.arange(length.sum()) - np.repeat(total - length, length)
