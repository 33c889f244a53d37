"""Preferences among documents, and how many of them a ranking fulfils.

A group is one judge with one need. It prefers a document to another if both are in a subgroup, the
first on a higher level, and wherever this follows: from a over b and b over c, that a is over c. A
preference is fulfilled if its document is retrieved, and the other later or not at all. Unjudged
documents do not matter, so documents are numbered by their place among the judged ones: first those
that are retrieved, in their order, then the others by name.

A measure counts all preferences, those between retrieved documents (``ret``), or those with at
least one of them (``imp``). It adds up the preferences of all groups (``simp``), averages over the
groups (``avgjg``) or over the pairs of documents (``pair``). ``avgjg_Rnonrel`` gives each group as
many nonrelevant documents (level 0) as it has relevant ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from rankmeter._cli._trec_eval._files import decode_name
from rankmeter._evidence.hits import BoolArray, FloatArray, IntArray
from rankmeter._reading.table import Table
from rankmeter.errors import DataError, DuplicateError

COUNTS = ("num_prefs_poss", "num_prefs_ful", "num_prefs_ful_ret")
"""Numbers of preferences, possible and fulfilled."""

_KINDS = ("simp", "pair", "avgjg", "avgjg_Rnonrel")
RATIOS = (
    *_KINDS,
    *(f"{kind}_ret" for kind in _KINDS),
    *(f"{kind}_imp" for kind in _KINDS if kind != "avgjg_Rnonrel"),
)
"""Shares of fulfilled preferences."""


class Preferences:
    """The preferences of each topic, and the judged documents among its first `depth` results.

    ``missing`` of shape (n_topics,) marks the topics without results, ``values`` has the value of
    each measure for every topic. Preferences that contradict each other are a DataError.
    """

    def __init__(self, judged: Table, run: Table, depth: int | None) -> None:
        levels = judged.frame
        if "subgroup" not in levels.columns:
            levels = levels.with_columns(subgroup=pl.lit("0"))
        results = run.frame.join(levels, on="user", how="semi")
        repeated = results.filter(pl.struct("user", "item").is_duplicated())
        if repeated.height:
            topic, item = map(decode_name, repeated.row(0)[:2])
            raise DuplicateError(f"{run.source}: document {item} occurs twice in topic {topic}")
        # For preferences, trec_eval breaks ties the other way around.
        ordered = results.sort("user", "score", "item", descending=[False, True, False])
        ranks = ordered.select("user", "item", rank=pl.int_range(pl.len()).over("user"))
        if depth is not None:
            ranks = ranks.filter(pl.col("rank") < depth)
        documents = levels.select("user", "item").unique().join(ranks, ["user", "item"], "left")
        documents = documents.sort("user", "rank", "item", nulls_last=True)
        documents = documents.with_columns(place=pl.int_range(pl.len()).over("user"))
        levels = levels.join(documents, on=["user", "item"]).sort("user", "group", "subgroup")
        topics = levels.partition_by("user", maintain_order=True)
        ids = pl.Series([topic["user"][0] for topic in topics])
        self.names = list(map(decode_name, ids))
        self.missing = ~ids.is_in(results["user"].unique().implode()).to_numpy()
        # One topic after the other: a matrix has a row for each judged document.
        rows = [dict(_topic_measures(topic, judged.source)) for topic in topics]
        names = (*COUNTS, *RATIOS)
        self.values = {name: np.array([topic[name] for topic in rows]) for name in names}


def _topic_measures(frame: pl.DataFrame, source: str) -> Iterator[tuple[str, float]]:
    """Yield every measure of one topic, and a few measures without a name in trec_eval."""
    topic = f"{source}: topic {decode_name(frame['user'][0])}"
    groups = [
        _PreferenceGroup.of(rows, topic)
        for rows in frame.partition_by("group", maintain_order=True)
    ]
    n = frame.filter(pl.col("rank").is_not_null())["place"].n_unique()
    retrieved = [int(np.searchsorted(group.position, n)) for group in groups]
    tally = np.zeros((frame["place"].n_unique(),) * 2, dtype=np.int64)
    for group in groups:
        tally[np.ix_(group.position, group.position)] += group.better
    for scope in ("", "_ret", "_imp"):
        counts = [
            _count_preferences(group.better, r, scope)
            for group, r in zip(groups, retrieved, strict=True)
        ]
        fulfilled, possible = map(sum, zip(*counts, strict=True))
        yield f"num_prefs_poss{scope}", possible
        yield f"num_prefs_ful{scope}", fulfilled
        yield f"simp{scope}", fulfilled / possible if possible else 0.0
        yield f"pair{scope}", _mean_over_pairs(tally, n, scope)
        yield f"avgjg{scope}", _average_share(counts)
        balanced = [
            group.count_balanced_preferences(r, scope)
            for group, r in zip(groups, retrieved, strict=True)
        ]
        # One group with nothing to fulfil makes the whole 0.
        fulfillable = all(possible for _, possible in balanced)
        yield f"avgjg_Rnonrel{scope}", _average_share(balanced) if fulfillable else 0.0


@dataclass(frozen=True)
class _PreferenceGroup:
    """Group of judgments; ``better[i, j]``: position[i] is preferred to position[j]."""

    position: IntArray
    level: FloatArray
    better: BoolArray
    single: bool  # all documents are in one subgroup

    @classmethod
    def of(cls, frame: pl.DataFrame, topic: str) -> _PreferenceGroup:
        """Read one group of documents with levels in subgroups."""
        position_of_row, level = frame["place"].to_numpy(), frame["gain"].to_numpy()
        location = f"{topic} group {decode_name(frame['group'][0])}"
        names = dict(zip(position_of_row.tolist(), map(decode_name, frame["item"]), strict=True))
        mixed = np.intersect1d(position_of_row[level == 0], position_of_row[level > 0])
        if mixed.size:
            raise DataError(
                f"{location}: document {names[int(mixed[0])]} has level 0 (not relevant) in one "
                "subgroup and a level above 0 in another"
            )
        position, row = np.unique(position_of_row, return_inverse=True)
        subgroup = frame["subgroup"].rle_id().to_numpy()
        single = bool(subgroup[-1] == 0)
        better = np.zeros((position.size, position.size), dtype=bool)
        for number in range(subgroup[-1] + 1):
            members = subgroup == number
            better[np.ix_(row[members], row[members])] |= level[members][:, None] > level[members]
        while not single:
            steps = better.astype(np.float32)
            closure = better | (steps @ steps > 0)
            if (closure == better).all():
                break
            better = closure
        contradictions = np.argwhere(np.triu(better & better.T, 1))
        if contradictions.size:
            a, b = (names[int(position[i])] for i in contradictions[0])
            raise DataError(
                f"{location}: document {a} is preferred to {b}, and {b} to {a}. Give judgments "
                "that contradict each other groups of their own"
            )
        levels = np.zeros(position.size)
        levels[row] = level
        return cls(position, levels, better, single)

    def count_balanced_preferences(self, r: int, scope: str) -> tuple[int, int]:
        """Count preferences with as many nonrelevant documents as relevant documents."""
        relevant = self.level > 0
        counted_documents = relevant[:r] if scope == "_ret" else relevant
        lacking = 2 * int(counted_documents.sum()) - counted_documents.size
        if lacking >= 0:
            # Those that lack come after all others: each of them is less than any relevant one.
            fulfilled, possible = _count_preferences(self.better, r, scope)
            extra = lacking * int(relevant[:r].sum()), lacking * int(relevant.sum())
            return fulfilled + extra[0], possible + extra[1]
        better = self.better.copy()
        if self.single:
            # trec_eval takes those that stay for less than all documents, themselves too.
            better[:, ~relevant] = True
        stay = (counted_documents if self.single else relevant).sum()
        better[:, ~relevant & (np.cumsum(~relevant) > stay)] = False
        return _count_preferences(better, r, scope)


def _count_preferences(better: BoolArray, r: int, scope: str) -> tuple[int, int]:
    """Fulfilled and possible preferences, where the first r documents are retrieved."""
    scoped = better[:r, :r] if scope == "_ret" else better
    ignored = scoped[r:, r:].sum() if scope == "_imp" else 0
    return int(np.triu(scoped, 1)[:r].sum()), int(scoped.sum() - ignored)


def _average_share(counts: Sequence[tuple[int, int]]) -> float:
    shares = [fulfilled / possible if possible else 0.0 for fulfilled, possible in counts]
    return _sum_in_order(shares) / len(shares)


def _mean_over_pairs(tally: IntArray, r: int, scope: str) -> float:
    """Mean over document pairs of the share of groups whose preference is fulfilled."""
    either = np.triu(tally + tally.T, 1)
    n = _count_preferences(either > 0, r, scope)[1]
    # The pairs of retrieved documents first, like trec_eval.
    blocks = [(either[:r, :r], tally[:r, :r])]
    if scope != "_ret":
        blocks.append((either[:r, r:], tally[:r, r:]))
    shares = np.concatenate([part[total > 0] / total[total > 0] for total, part in blocks])
    return _sum_in_order(shares) / n if n else 0.0


def _sum_in_order(shares: npt.ArrayLike) -> float:
    """Add shares in order, like trec_eval: the last digit may depend on the order."""
    return float(np.add.accumulate(np.append(0.0, shares))[-1])
