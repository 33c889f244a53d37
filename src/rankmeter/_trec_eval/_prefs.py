"""Preferences among documents, and how many of them a ranking fulfils.

A group is one judge with one need. It prefers a document to another if both are in a subgroup, the
first on a higher level, and wherever this follows: from a over b and b over c, that a is over c. A
preference is fulfilled if its document is retrieved, and the other later or not at all. Nothing else
matters in the ranking, so that documents are numbered by their place among the judged ones: those
that are retrieved in their order, then the others in that of their names.

A measure counts all preferences, those between retrieved documents (``ret``), or those with at
least one of them (``imp``). It adds up the preferences of all groups (``simp``), averages over the
groups (``avgjg``) or over the pairs of documents (``pair``). ``avgjg_Rnonrel`` gives each group as
many nonrelevant documents (level 0) as it has relevant ones.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from rankmeter._hits import BoolArray, FloatArray, IntArray
from rankmeter._ingest import Table
from rankmeter._trec_eval._files import as_written
from rankmeter.errors import DataError, DuplicateError

__all__ = ["COUNTS", "RATIOS", "Preferences"]

COUNTS = ("num_prefs_poss", "num_prefs_ful", "num_prefs_ful_ret")
"""Numbers of preferences, possible and fulfilled."""

_KINDS = ("simp", "pair", "avgjg", "avgjg_Rnonrel")
RATIOS = (
    *_KINDS,
    *(f"{kind}_ret" for kind in _KINDS),
    *(f"{kind}_imp" for kind in _KINDS if kind != "avgjg_Rnonrel"),
)
"""Shares of fulfilled preferences."""

Matrix: TypeAlias = npt.NDArray[np.bool_] | npt.NDArray[np.int64]


class Preferences:
    """The preferences of each topic, and the judged documents among its first `depth` results.

    ``missing`` of shape (n_topics,) marks the topics without results. Preferences that contradict
    each other are a DataError.
    """

    def __init__(self, judged: Table, run: Table, depth: int | None) -> None:
        levels = judged.frame
        if "subgroup" not in levels.columns:
            levels = levels.with_columns(subgroup=pl.lit("0"))
        results = run.frame.join(levels, on="user", how="semi")
        twice = results.filter(pl.struct("user", "item").is_duplicated())
        if twice.height:
            topic, item = map(as_written, twice.row(0)[:2])
            raise DuplicateError(f"{run.source}: document {item} occurs twice in topic {topic}")
        # Other than for its other measures, equal scores are in the order of the documents.
        ordered = results.sort("user", "score", "item", descending=[False, True, False])
        ranks = ordered.select("user", "item", rank=pl.int_range(pl.len()).over("user"))
        if depth is not None:
            ranks = ranks.filter(pl.col("rank") < depth)
        documents = levels.select("user", "item").unique().join(ranks, ["user", "item"], "left")
        documents = documents.sort("user", "rank", "item", nulls_last=True)
        documents = documents.with_columns(place=pl.int_range(pl.len()).over("user"))
        levels = levels.join(documents, on=["user", "item"]).sort("user", "group", "subgroup")
        topics = levels.partition_by("user", maintain_order=True)
        self.names = [as_written(topic["user"][0]) for topic in topics]
        self.missing = ~np.isin([topic["user"][0] for topic in topics], results["user"].to_list())
        self._topics = [_Topic.of(topic, judged.source) for topic in topics]

    @functools.cached_property
    def values(self) -> dict[str, FloatArray]:
        """The value of each measure for every topic."""
        every = [dict(topic.values()) for topic in self._topics]
        return {name: np.array([one[name] for one in every]) for name in (*COUNTS, *RATIOS)}


@dataclass(frozen=True)
class _Group:
    """``better[i, j]``: the document at place[i] is preferred to the one at place[j]."""

    place: IntArray
    level: FloatArray
    better: BoolArray
    one: bool  # all documents are in one subgroup

    @classmethod
    def of(cls, frame: pl.DataFrame, where: str) -> _Group:
        """Read one group, whose documents have levels in subgroups."""
        place, row = np.unique(frame["place"].to_numpy(), return_inverse=True)
        level = frame["gain"].to_numpy()
        names = dict(zip(frame["place"].to_list(), frame["item"].to_list(), strict=True))
        nothing, something = np.zeros((2, place.size), dtype=bool)
        nothing[row[level == 0]] = True
        something[row[level > 0]] = True
        if (nothing & something).any():
            item = as_written(names[int(place[nothing & something][0])])
            raise DataError(
                f"{where}: document {item} has level 0 in a subgroup, and not in another"
            )
        better = np.zeros((place.size, place.size), dtype=bool)
        subgroups = frame["subgroup"].rle_id().to_numpy()
        for subgroup in range(subgroups[-1] + 1):
            here = subgroups == subgroup
            better[np.ix_(row[here], row[here])] |= level[here][:, None] > level[here]
        one = bool(subgroups[-1] == 0)
        while not one:
            steps = better.astype(np.float32)
            more = better | (steps @ steps > 0)
            if (more == better).all():
                break
            better = more
        if (better & better.T).any():
            i, j = np.argwhere(better & better.T & ~np.eye(place.size, dtype=bool))[0]
            a, b = (as_written(names[int(place[one])]) for one in (i, j))
            raise DataError(
                f"{where}: document {a} is preferred to {b}, and {b} to {a}. Give judgments that "
                "contradict each other groups of their own"
            )
        every = np.zeros(place.size)
        every[row] = level
        return cls(place, every, better, one)

    def counts(self, r: int, scope: str) -> tuple[int, int]:
        """Fulfilled and possible preferences, where r documents are retrieved."""
        return _counts(self.better, r, scope)

    def balanced(self, r: int, scope: str) -> tuple[int, int]:
        """The same with as many nonrelevant documents as relevant ones."""
        relevant = self.level > 0
        seen = relevant[:r] if scope == "_ret" else relevant
        lacking = 2 * int(seen.sum()) - seen.size
        if lacking >= 0:
            # The documents that lack come after all others: each is less than any relevant one.
            fulfilled, possible = self.counts(r, scope)
            more = int(relevant[:r].sum()), int(relevant.sum())
            return fulfilled + lacking * more[0], possible + lacking * more[1]
        better = self.better.copy()
        if self.one:
            # trec_eval takes the nonrelevant documents that stay for less than all, themselves too.
            better[:, ~relevant] = True
        stay = (seen if self.one else relevant).sum()
        better[:, ~relevant & (np.cumsum(~relevant) > stay)] = False
        return _counts(better, r, scope)


@dataclass(frozen=True)
class _Topic:
    groups: Sequence[_Group]
    n_documents: int
    n_retrieved: int

    @classmethod
    def of(cls, frame: pl.DataFrame, source: str) -> _Topic:
        """Read the groups of one topic."""
        topic = as_written(frame["user"][0])
        groups = [
            _Group.of(one, f"{source}: topic {topic} group {as_written(one['group'][0])}")
            for one in frame.partition_by("group", maintain_order=True)
        ]
        retrieved = frame.filter(pl.col("rank").is_not_null())["place"].n_unique()
        return cls(groups, frame["place"].n_unique(), retrieved)

    def values(self) -> Iterator[tuple[str, float]]:
        """Every measure of the topic."""
        n = self.n_retrieved
        retrieved = [int(np.searchsorted(group.place, n)) for group in self.groups]
        pairs = list(zip(self.groups, retrieved, strict=True))
        tally = np.zeros((self.n_documents, self.n_documents), dtype=np.int64)
        for group in self.groups:
            tally[np.ix_(group.place, group.place)] += group.better
        for scope in ("", "_ret", "_imp"):
            counts = [group.counts(r, scope) for group, r in pairs]
            fulfilled, possible = map(sum, zip(*counts, strict=True))
            if scope == "":
                yield "num_prefs_poss", possible
            if scope != "_imp":
                yield f"num_prefs_ful{scope}", fulfilled
                # One group without anything to fulfil makes the whole 0.
                balanced = [group.balanced(r, scope) for group, r in pairs]
                known = all(possible for _, possible in balanced)
                yield f"avgjg_Rnonrel{scope}", _average(balanced) if known else 0.0
            yield f"simp{scope}", fulfilled / possible if possible else 0.0
            yield f"avgjg{scope}", _average(counts)
            yield f"pair{scope}", _by_pair(tally, n, scope)


def _counts(better: Matrix, r: int, scope: str) -> tuple[int, int]:
    inside = better[:r, :r] if scope == "_ret" else better
    beyond = inside[r:, r:].sum() if scope == "_imp" else 0
    return int(np.triu(inside, 1)[:r].sum()), int(inside.sum() - beyond)


def _average(counts: Sequence[tuple[int, int]]) -> float:
    shares = [fulfilled / possible if possible else 0.0 for fulfilled, possible in counts]
    return _total(shares) / len(shares)


def _total(shares: npt.ArrayLike) -> float:
    """The sum, added up one after the other like trec_eval: the last digit may depend on it."""
    return float(np.add.accumulate(np.append(0.0, shares))[-1])


def _by_pair(tally: Matrix, r: int, scope: str) -> float:
    """Average over pairs: which share of the groups that prefer one of the two is fulfilled."""
    either = np.triu(tally + tally.T, 1)
    n = _counts(either > 0, r, scope)[1]
    # The pairs of retrieved documents first, like trec_eval.
    blocks = [(either[:r, :r], tally[:r, :r])]
    if scope != "_ret":
        blocks.append((either[:r, r:], tally[:r, r:]))
    shares = np.concatenate([part[whole > 0] / whole[whole > 0] for whole, part in blocks])
    return _total(shares) / n if n else 0.0
