"""Queries with their judged items, counted: what scores, samples, ranks and lists become."""

from __future__ import annotations

import functools
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from rankmeter._counts import RankCounts
from rankmeter._hits import IntArray


@dataclass(frozen=True, eq=False)
class Queries:
    """Counts of all judged items of some queries, and what metrics need next to them.

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
    column: IntArray | None = None

    @property
    def n(self) -> int:
        """Number of queries."""
        return self.row.size

    @property
    def tied(self) -> int:
        """Number of found items that are tied with another candidate."""
        return int(np.count_nonzero(self.counts.equal[self.found]))

    def take(self, chosen: IntArray) -> Queries:
        """Select queries in this order; the facts stay those of all."""
        place = np.full(self.n, -1)
        place[chosen] = np.arange(chosen.size)
        user = place[self.counts.user]
        kept = np.flatnonzero(user >= 0)
        kept = kept[np.argsort(user[kept], kind="stable")]
        counts = self.counts.only(kept)
        counts = replace(counts, user=user[kept], n_ranked=counts.n_ranked[chosen])
        return replace(
            self,
            counts=counts,
            found=self.found[kept],
            positive=self.positive[kept],
            row=self.row[chosen],
            target=None if self.target is None else self.target[chosen],
            column=None if self.column is None else self.column[kept],
        )

    @classmethod
    def concat(cls, blocks: Sequence[Queries]) -> Queries:
        """The queries of all parts, one part after the other; rows are numbered on."""
        if len(blocks) == 1:
            return blocks[0]
        first = np.cumsum([0, *(part.n for part in blocks)])
        rows = np.cumsum([0, *(part.facts["rows"] for part in blocks)])
        is_ordered = all(part.counts.before is not None for part in blocks)
        counts = RankCounts(
            np.concatenate([p.counts.user + n for p, n in zip(blocks, first[:-1], strict=True)]),
            np.concatenate([part.counts.gain for part in blocks]),
            np.concatenate([part.counts.above for part in blocks]),
            np.concatenate([part.counts.equal for part in blocks]),
            np.concatenate([np.asarray(p.counts.before) for p in blocks]) if is_ordered else None,
            np.concatenate([part.counts.n_ranked for part in blocks]),
        )
        return cls(
            counts,
            np.concatenate([part.found for part in blocks]),
            np.concatenate([part.positive for part in blocks]),
            np.concatenate([p.row + n for p, n in zip(blocks, rows[:-1], strict=True)]),
            _join_columns([part.target for part in blocks]),
            functools.reduce(_add_facts, (part.facts for part in blocks)),
            next((part.half for part in blocks if part.half), ""),
            all(part.sized for part in blocks),
            _join_columns([part.column for part in blocks]),
        )


def _join_columns(columns: list[IntArray | None]) -> IntArray | None:
    """Numbers of all parts; None if one has none."""
    numbers = [part for part in columns if part is not None]
    return np.concatenate(numbers) if len(numbers) == len(columns) else None


def _add_facts(first: Mapping[str, int], second: Mapping[str, int]) -> dict[str, int]:
    """Facts of both; the number of columns is the largest."""
    names = dict.fromkeys([*first, *second])
    how = {"columns": max}
    return {n: how.get(n, operator.add)(first.get(n, 0), second.get(n, 0)) for n in names}
