"""Count in rankings without rows: judged items are looked up."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from rankmeter._align.counts import Candidates, Targets, count
from rankmeter._align.pairs import Pairs
from rankmeter._align.placing import ORDERED
from rankmeter._choices import Alignment, TieRule
from rankmeter._counts import RankCounts
from rankmeter._hits import FloatArray, IntArray
from rankmeter._ingest import ByUser, Ids, Objects, series

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
    everything = _candidates(lists, _compared(lists.numbers, choices))
    value = _compared(score, choices)
    targets = Targets(at, gain, at, value, everything.item)  # their rows are not asked for
    counts = count(everything, targets, "optimistic")
    before = np.zeros(at.size, dtype=np.int64) if choices.ties in ORDERED else None
    tied = counts.equal > 0
    if before is not None and tied.any():
        some = judged.take(found[tied])
        columns = {"at": at[tied], "gain": some.gain, "value": value[tied]}
        rows = pl.DataFrame([series(one, name) for name, one in columns.items()])
        rows = rows.with_columns(item=some.items.series())
        before[tied] = _before(lists, everything, rows, choices.ties)
    return replace(counts, user=code[at], n_ranked=n_ranked, before=before), score


def _compared(score: FloatArray, choices: Alignment) -> FloatArray:
    """Scores in the precision in which they are compared."""
    narrow = choices.score_type == "float32"
    return score.astype(np.float32).astype(np.float64) if narrow else score


def _candidates(lists: ByUser, value: FloatArray) -> Candidates:
    """All places in the lists, list after list; users and items are not fetched."""
    user, items = np.empty(0, dtype=np.int64), Objects([], lists.item_type)
    return Candidates(user, None, value, "score", items, None, lists.offsets, falling=True)


def _before(lists: ByUser, everything: Candidates, judged: pl.DataFrame, ties: TieRule) -> IntArray:
    """How many candidates of its tied group precede each tied item, given the groups as rows."""
    at = np.repeat(np.arange(len(lists.users)), lists.lengths)
    rows = pl.DataFrame([series(at, "at"), series(everything.value, "value")])
    rows = rows.with_row_index("row")
    runs = judged.select("at", "value").unique()
    rows = rows.filter(pl.col("at").is_in(runs["at"].unique().implode()))
    rows = rows.join(runs, on=["at", "value"], how="semi").sort("row")
    at, n = rows["at"].to_numpy(), len(lists.users)
    items = lists.items_at(at, rows["row"].to_numpy() - lists.offsets[at])
    pairs = Pairs.of(at, items, n, judged.select("item", code="at"))
    group = rows.select(item=items, score="value")
    candidates = Candidates.of(group, at, n, "score", "float64", groups=pairs.groups)
    targets = candidates.targets(pairs.row, judged["gain"].to_numpy()[pairs.judgment])
    before = np.asarray(count(candidates, targets, ties).before)
    return before[np.argsort(pairs.judgment)]
