"""Queries whose counts are known already, as values and as rows of rankings."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from rankmeter._evidence.hits import BoolArray, IntArray
from rankmeter._rankings.ground_truth import Judged
from rankmeter._rankings.parallel import Join, concatenate, concatenate_fields
from rankmeter._rankings.rank_counts import RankCounts
from rankmeter._reading.by_user import InFrame


@dataclass(frozen=True, eq=False)
class Queries:
    """Counts at all judged items of some queries, with further data for metrics.

    Attributes
    ----------
    counts : RankCounts
        Of every judged item; where an item was not found its counts are 0. The order `before` is
        that of the columns.
    found : bool array of shape (n_judged,)
        Whether the ranking holds the item.
    positive : bool array of shape (n_judged,)
        Whether its score is above 0.
    row : int64 array of shape (n_queries,)
        The row of the input that each query comes from.
    target : int64 array of shape (n_queries,) or None
        The column of the only judged item of each query, if every item is a query of its own.
    facts : mapping of str to int
        Numbers of rows, columns, dropped cells and the like.
    half : str
        The type of the scores if it has few digits, such as ``float16``; otherwise empty.
    sized : bool
        Whether the number of candidates of every query is known.
    remedy : str
        What a metric depends on if it is not, and how to say it.
    column : int64 array of shape (n_judged,) or None
        The column of each judged item.
    """

    counts: RankCounts
    found: npt.NDArray[np.bool_]
    positive: npt.NDArray[np.bool_]
    row: IntArray
    target: IntArray | None = None
    facts: Mapping[str, int] = field(default_factory=dict)
    half: str = ""
    sized: bool = True
    remedy: str = "the number of candidates: pass candidates="
    column: IntArray | None = None

    @property
    def n(self) -> int:
        """Number of queries."""
        return self.row.size

    @property
    def n_tied(self) -> int:
        """Number of found items that are tied with another candidate."""
        return int(np.count_nonzero((self.counts.equal != 0) & self.found))

    def take(self, queries: IntArray) -> Queries:
        """Select queries by index, in this order; the facts still describe all queries."""
        new_index = np.full(self.n, -1)
        new_index[queries] = np.arange(queries.size)
        user = new_index[self.counts.user]
        rows = np.flatnonzero(user >= 0)
        rows = rows[np.argsort(user[rows], kind="stable")]
        counts = self.counts.only(rows)
        counts = replace(counts, user=user[rows], n_ranked=counts.n_ranked[queries])
        return replace(
            self,
            counts=counts,
            found=self.found[rows],
            positive=self.positive[rows],
            row=self.row[queries],
            target=None if self.target is None else self.target[queries],
            column=None if self.column is None else self.column[rows],
        )

    def after(self, n: int) -> Queries:
        """Select all queries but the first `n`; the facts still describe all queries."""
        if n == 0:
            return self
        judged = slice(int(np.searchsorted(self.counts.user, n)), None)
        counts = self.counts.only(judged)
        return replace(
            self,
            counts=replace(counts, user=counts.user - n, n_ranked=counts.n_ranked[n:]),
            found=self.found[judged],
            positive=self.positive[judged],
            row=self.row[n:],
            target=None if self.target is None else self.target[n:],
            column=None if self.column is None else self.column[judged],
        )

    def behind(self, n: int, n_rows: int) -> Queries:
        """The same queries where `n` others, of so many rows, come before them."""
        return replace(
            self, counts=replace(self.counts, user=self.counts.user + n), row=self.row + n_rows
        )

    @classmethod
    def concat(cls, blocks: Sequence[Queries], join: Join = concatenate) -> Queries:
        """Concatenate the queries of all blocks; rows are numbered consecutively across blocks."""
        if len(blocks) == 1:
            return blocks[0]
        first = itertools.accumulate(part.n for part in blocks)
        rows = itertools.accumulate(part.facts["rows"] for part in blocks)
        before = zip(blocks[1:], first, rows, strict=False)
        moved = [blocks[0], *(part.behind(*counted) for part, *counted in before)]
        all_counts = [part.counts for part in moved]
        names = (*RankCounts.arrays, "n_ranked")
        columns = concatenate_fields(moved, ("found", "positive", "row", "target", "column"), join)
        facts = {
            name: (max if name == "columns" else sum)(part.facts.get(name, 0) for part in blocks)
            for name in dict.fromkeys(name for part in blocks for name in part.facts)
        }
        return cls(
            **columns,
            counts=RankCounts(**concatenate_fields(all_counts, names, join)),
            facts=facts,
            half=next((part.half for part in blocks if part.half), ""),
            sized=all(part.sized for part in blocks),
        )


def _count_some(count: Callable[[bool], Queries], indices: IntArray, single: bool) -> Queries:
    return count(single).take(indices)


@dataclass(frozen=True, eq=False)
class CountedRows(InFrame):
    """Queries with counts at item 0, the only judged item; other items are not known."""

    is_index = True
    has_lists = False
    count: Callable[[bool], Queries]  # given whether scores are compared as float32

    def select_by_index(self, indices: IntArray) -> CountedRows:
        return replace(
            super().select_by_index(indices),
            count=functools.partial(_count_some, self.count, indices),
        )

    def counts_at(self, code: IntArray, judged: Judged) -> tuple[RankCounts, BoolArray]:
        """Return counts at the judged items and a mask of positive scores; `code` is by query.

        No rule about candidates can change these counts.
        """
        queries = self.count(judged.choices.score_type == "float32")
        query_of, n_ranked = np.full(judged.codes.n, -1), np.zeros(judged.codes.n, dtype=np.int64)
        query_of[code], n_ranked[code] = np.arange(code.size), queries.counts.n_ranked
        rows = np.flatnonzero((query_of[judged.code] >= 0) & (judged.items.to_integers() == 0))
        query = query_of[judged.code[rows]]
        counts = queries.counts.only(query)
        counts = replace(counts, user=judged.code[rows], gain=judged.gain[rows], n_ranked=n_ranked)
        return counts, queries.positive[query]
