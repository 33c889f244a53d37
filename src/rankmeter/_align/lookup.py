"""Count in rankings that are Python's own containers: judged items are looked up."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from rankmeter._align.counts import Candidates, Targets, count
from rankmeter._align.pairs import Pairs
from rankmeter._align.placing import ORDERED
from rankmeter._choices import Alignment, TieRule
from rankmeter._counts import RankCounts
from rankmeter._hits import FloatArray, IntArray
from rankmeter._ingest import Lists

__all__ = ["count_listed"]


def count_listed(
    lists: Lists, code: IntArray, judged: pl.DataFrame, n_users: int, choices: Alignment
) -> tuple[RankCounts, FloatArray | None]:
    """Counts of the judged items in lists whose users have a `code`, and their scores if any."""
    place = np.full(n_users, -1)
    place[code] = np.arange(code.size)
    judged = judged.with_columns(at=pl.Series(place[judged["code"].to_numpy()]))
    judged = judged.filter(pl.col("at") >= 0).sort("at", maintain_order=True)
    score = lists.look_up(judged["at"].to_numpy(), judged["item"])
    found = ~np.isnan(score)
    judged, score = judged.filter(pl.Series(found)), score[found]
    at, gain = judged["at"].to_numpy(), judged["gain"].to_numpy()
    n_ranked = np.zeros(n_users, dtype=np.int64)
    n_ranked[code] = np.diff(lists.offsets)
    if lists.scores is None:
        above, equal = score.astype(np.int64), np.zeros(at.size, dtype=np.int64)
        return RankCounts(code[at], gain, above, equal, equal, n_ranked), None
    everything = _candidates(lists, _key(lists.scores, choices))
    value = _key(score, choices)
    targets = Targets(at, gain, at, value, everything.item)  # their rows are not asked for
    counts = count(everything, targets, "optimistic")
    before = np.zeros(at.size, dtype=np.int64) if choices.ties in ORDERED else None
    tied = counts.equal > 0
    if before is not None and tied.any():
        before[tied] = _before(
            lists, everything, judged.filter(pl.Series(tied)), value[tied], choices.ties
        )
    return replace(counts, user=code[at], n_ranked=n_ranked, before=before), score


def _key(score: FloatArray, choices: Alignment) -> FloatArray:
    """Sort key of scores: smaller is better."""
    if choices.score_type == "float32":
        return (-score).astype(np.float32).astype(np.float64)
    return -score


def _candidates(lists: Lists, value: FloatArray) -> Candidates:
    """All places in the lists, whose user is the number of a list; items are not fetched."""
    user = np.repeat(np.arange(len(lists.users)), np.diff(lists.offsets))
    items = pl.Series("item", [], dtype=lists.dtype)
    return Candidates(user, None, value, "score", items, np.arange(user.size), lists.offsets)


def _before(
    lists: Lists, everything: Candidates, judged: pl.DataFrame, value: FloatArray, ties: TieRule
) -> IntArray:
    """How many candidates of its tied group precede each tied item, given the groups as rows."""
    rows = pl.DataFrame({"at": everything.user, "value": everything.value}).with_row_index("row")
    runs = judged.select("at", value=pl.Series(value)).unique()
    rows = rows.filter(pl.col("at").is_in(runs["at"].unique().implode()))
    rows = rows.join(runs, on=["at", "value"], how="semi").sort("row")
    at, n = rows["at"].to_numpy(), len(lists.users)
    items = lists.items(at, rows["row"].to_numpy() - lists.offsets[at])
    pairs = Pairs.of(at, items, n, judged.select("item", code="at"))
    group = rows.select(item=items, score=-pl.col("value"))
    candidates = Candidates.of(group, at, n, "score", "float64", grouped=pairs.grouped)
    targets = candidates.targets(pairs.row, judged["gain"].to_numpy()[pairs.judgment])
    before = np.asarray(count(candidates, targets, ties).before)
    return before[np.argsort(pairs.judgment)]
