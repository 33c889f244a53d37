"""Ranks and gains of the relevant items: what a metric of hits receives.

`Hits` holds, for a block of users, the ranks and gains of their relevant items, without ids and
scores. A tie that a rule has resolved is an ordinary rank. An unresolved tie (the rule
``expected``) is a `Span` of ranks, over which `Hits.within` and `Hits.weigh` take exact
expectations.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from rankmeter._evidence.steps import is_noting, note_column, note_sum
from rankmeter.errors import UsageError

DEEP = 65_535
"""Cutoffs from here on share no work."""

BoolArray: TypeAlias = npt.NDArray[np.bool_]

FloatArray: TypeAlias = npt.NDArray[np.float64]
"""One float per user, per hit or per rank."""

IntArray: TypeAlias = npt.NDArray[np.int64]
"""One integer per user or per hit."""


_LONG_TABLE = 2**24
"""The rank beyond which the weights of all ranks are not tabulated."""
_LONG_SPAN = 2**28
"""The number of ranks over which a weight is averaged within seconds."""
_BLOCK = 2**20


def ratio(part: FloatArray, whole: npt.ArrayLike, *, nothing: float = 0.0) -> FloatArray:
    """``part / whole``, and `nothing` where the whole is 0.

    Parameters
    ----------
    part : float64 array
    whole : array_like
        Of a shape that broadcasts to the shape of `part`; 0 or more.
    nothing : float
        Value of 0 / 0.
    """
    below = np.asarray(whole, dtype=np.float64)
    result: FloatArray = np.full(part.shape, nothing)
    np.divide(part, below, out=result, where=below > 0)
    return result


@dataclass(frozen=True, eq=False)
class Span:
    """Ranges of possible ranks in unresolved ties; all ranks of a range are equally likely.

    Attributes
    ----------
    low, high : int64 arrays of shape (n_hits,)
        First and last rank of the tied group of each hit; equal where the rank is certain.
    """

    low: IntArray
    high: IntArray

    def __getitem__(self, rows: IntArray | BoolArray) -> Span:
        """Select the spans of some hits."""
        return Span(self.low[rows], self.high[rows])


@dataclass(frozen=True, eq=False)
class TiedGroups:
    """Tied groups with at least one hit, one row per group."""

    user: IntArray  # (n_groups,) index of the user
    above: IntArray  # items ranked strictly above the group
    size: IntArray  # items in the group, hits and misses
    hits: IntArray  # hits in the group
    before: IntArray  # hits of the same user above the group
    start: IntArray  # (n_groups + 1,) where each group begins among the hits

    def count_in_top(self, k: int | None) -> IntArray:
        """The number of items of each group with ranks in the top k."""
        return self.size if k is None else np.clip(k - self.above, 0, self.size)


@dataclass(frozen=True, eq=False)
class Hits:
    """The hits of a block of users, as flat arrays ordered by user and rank.

    Attributes
    ----------
    offsets : int64 array of shape (n_users + 1,)
        The hits of user ``i`` are ``offsets[i]:offsets[i + 1]``.
    rank : float64 array of shape (n_hits,)
        1-based rank. In an unresolved tie it is the mean of the span. Under the tie rule
        ``realistic`` that mean is the rank itself, which can end in .5, and tied hits share it.
    gain : float64 array of shape (n_hits,)
        What each hit is worth.
    n_relevant : int64 array of shape (n_users,)
        Relevant items in the truth, found or not.
    n_ranked : int64 array of shape (n_users,)
        Items in the ranking.
    span : Span, optional
        The possible ranks in unresolved ties; without it every rank is certain.
    ideal : Hits, optional
        The perfect ranking of the same truth.
    item : int64 array of shape (n_hits,), optional
        The code of the item of each hit, for metrics that ask for facts about items.
    together : bool
        Whether hits of equal rank are found at once (tie rule ``together``): `nth` then gives each
        of them the last of their places, and otherwise the mean of their places.
    """

    offsets: IntArray
    rank: FloatArray
    gain: FloatArray
    n_relevant: IntArray
    n_ranked: IntArray
    span: Span | None = None
    ideal: Hits | None = None
    together: bool = False
    item: IntArray | None = None

    @classmethod
    def perfect(cls, offsets: IntArray, gain: FloatArray) -> Hits:
        """The ranking that holds exactly the given gains, largest first.

        Parameters
        ----------
        offsets : int64 array of shape (n_users + 1,)
        gain : float64 array of shape (offsets[-1],)
            Gains in any order within a user.
        """
        counts = np.diff(offsets)
        if counts.max(initial=0) <= 1:
            return cls(offsets, np.ones(gain.size), gain, counts, counts)
        user = np.repeat(np.arange(counts.size), counts)
        if np.any((user[1:] == user[:-1]) & (gain[1:] > gain[:-1])):
            gain = gain[np.lexsort((-gain, user))]
        rank = (np.arange(gain.size) - offsets[user] + 1).astype(np.float64)
        return cls(offsets, rank, gain, counts, counts)

    @property
    def n_users(self) -> int:
        """Number of users."""
        return self.n_relevant.size

    @cached_property
    def user(self) -> IntArray:
        """Index of the user of each hit."""
        return np.repeat(np.arange(self.n_users), np.diff(self.offsets))

    @cached_property
    def _sorted_by_rank(self) -> tuple[IntArray, IntArray, npt.NDArray[np.uint16]]:
        """Indices, users and ranks (small integers) of the hits, sorted by rank.

        Hits of one user stay in their order, so that a sum over them has the same bits. Numbers of
        16 bits are sorted in linear time.
        """
        rank = np.minimum(np.ceil(self.rank), DEEP).astype(np.uint16)
        order = np.argsort(rank, kind="stable")
        return order, self.user[order], rank[order]

    @cached_property
    def _values_by_name(self) -> dict[Hashable, FloatArray]:
        """Cache of hit values in order of rank, by name."""
        return {}

    @property
    def best(self) -> Hits:
        """The perfect ranking: `ideal`, or ``self`` if `ideal` is None."""
        return self if self.ideal is None else self.ideal

    @property
    def without_losses(self) -> Hits:
        """These hits without those of negative gain, whose ranks stay free.

        Of a perfect ranking: the one that gains most, as the items of negative gain are its last.
        """
        loses = self.gain < 0
        return self.where(~loses) if loses.any() else self

    @cached_property
    def unresolved_span(self) -> Span | None:
        """The spans if a tie is unresolved, else None."""
        span = self.span
        return span if span is not None and np.any(span.low != span.high) else None

    @property
    def tied(self) -> bool:
        """Whether any tie is unresolved."""
        return self.unresolved_span is not None

    def settle(self, worth: FloatArray) -> Hits:
        """The hits in certain ranks where a tied group has no misses and all are worth the same.

        The order of such a group does not matter. In certain ranks the sums over it are rounded
        like those of the ideal ranking, so that the value of a perfect ranking is never above 1.

        Parameters
        ----------
        worth : float64 array of shape (n_hits,)
            All that a metric knows of the hits besides their ranks.
        """
        if self.unresolved_span is None:
            return self
        groups, first = self.groups, self.groups.start[:-1]
        is_even = np.minimum.reduceat(worth, first) == np.maximum.reduceat(worth, first)
        is_settled = is_even & (groups.hits == groups.size) & (groups.size > 1)
        if not is_settled.any():
            return self
        of_hits = np.repeat(is_settled, groups.hits)
        certain = np.repeat(groups.above + 1 - first, groups.hits) + np.arange(self.rank.size)
        span = self.unresolved_span
        low, high = (np.where(of_hits, certain, end) for end in (span.low, span.high))
        return replace(self, rank=np.where(of_hits, certain, self.rank), span=Span(low, high))

    @property
    def even(self) -> Hits:
        """The hits for a metric that knows only their ranks, as `settle` gives them."""
        return self.settle(np.ones(self.rank.size))

    def depth(self, k: int | None) -> IntArray:
        """Number of items in each user's top k: ``min(n_ranked, k)``."""
        return self.n_ranked if k is None else np.minimum(self.n_ranked, k)

    def length(self, k: int | None) -> IntArray:
        """Number of ranks of each user's list: k, or the length of the list without a cutoff."""
        return self.n_ranked if k is None else np.full(self.n_users, k)

    def only(self, users: slice | IntArray) -> Hits:
        """The hits of some users, in the order given.

        Parameters
        ----------
        users : slice or int64 array
            Indices of users.
        """
        rows = np.arange(self.n_users)[users]
        count = np.diff(self.offsets)[rows]
        offsets = np.concatenate(([0], np.cumsum(count)))
        positions = np.arange(offsets[-1]) + np.repeat(self.offsets[rows] - offsets[:-1], count)
        return replace(
            self._select_hits(positions, offsets),
            n_relevant=self.n_relevant[rows],
            n_ranked=self.n_ranked[rows],
            ideal=None if self.ideal is None else self.ideal.only(rows),
        )

    def where(self, keep: BoolArray) -> Hits:
        """Select hits by mask; the counts of the users do not change.

        Parameters
        ----------
        keep : bool array of shape (n_hits,)
        """
        return self._select_hits(keep, np.concatenate(([0], np.cumsum(keep)))[self.offsets])

    def _select_hits(self, rows: IntArray | BoolArray, offsets: IntArray) -> Hits:
        return replace(
            self,
            offsets=offsets,
            rank=self.rank[rows],
            gain=self.gain[rows],
            span=None if self.span is None else self.span[rows],
            item=None if self.item is None else self.item[rows],
        )

    @cached_property
    def nth(self) -> FloatArray:
        """Number of each hit within its user: 1, 2, …; hits of equal rank share a number."""
        position = np.arange(self.rank.size) - self.offsets[self.user] + 1
        nth = position.astype(np.float64)
        is_equal = (self.rank[1:] == self.rank[:-1]) & (self.user[1:] == self.user[:-1])
        if is_equal.any():
            run = np.concatenate(([0], np.cumsum(~is_equal)))
            size = np.bincount(run)
            mean = np.bincount(run, nth) / size
            nth = (mean + (size - 1) / 2 if self.together else mean)[run].astype(np.float64)
        return nth

    @cached_property
    def first(self) -> FloatArray:
        """Rank of each user's first hit, infinite without a hit."""
        first = np.full(self.n_users, np.inf)
        has_hit = self.offsets[:-1] < self.offsets[1:]
        first[has_hit] = self.rank[self.offsets[:-1][has_hit]]
        return first

    @cached_property
    def groups(self) -> TiedGroups:
        """The tied groups; a hit with a certain rank is a group of size 1."""
        certain = self.rank.astype(np.int64)
        span = Span(certain, certain) if self.span is None else self.span
        low, high = span.low, span.high
        new = np.ones(low.size, dtype=bool)
        new[1:] = (low[1:] != low[:-1]) | (self.user[1:] != self.user[:-1]) | (high[1:] == low[1:])
        start = np.append(np.flatnonzero(new), low.size)
        head = start[:-1]
        user = self.user[head]
        above = low[head] - 1
        return TiedGroups(
            user=user,
            above=above,
            size=high[head] - above,
            hits=np.diff(start),
            before=head - self.offsets[user],
            start=start,
        )

    def sum(
        self,
        values: FloatArray,
        user: IntArray | None = None,
        rank: FloatArray | IntArray | None = None,
        *,
        name: str = "term",
    ) -> FloatArray:
        """Sum values over each user's hits, or over groups or ranks with `user` and first `rank`.

        Summed in order of rank, so that a value never depends on the other users of the block.
        """
        users = self.user if user is None else user
        total = np.bincount(users, weights=values, minlength=self.n_users)
        sums: FloatArray = total.astype(np.float64, copy=False)  # counting no hits gives integers
        return note_sum(sums, values, self, rank, name)

    def sum_top(
        self, k: int | None, name: Hashable, values: Callable[[], FloatArray]
    ) -> FloatArray:
        """Σ of values over each user's hits in the top k, where every rank is certain.

        `values` gives the values of all hits. They are kept under their name, so that a further
        cutoff only adds up the hits above it: other values need another name.
        """
        if k is None or k >= DEEP or is_noting():
            terms = values()
            return self.sum(terms if k is None else np.where(self.rank <= k, terms, 0.0))
        order, user, rank = self._sorted_by_rank
        if name not in self._values_by_name:
            self._values_by_name[name] = values()[order]
        top = slice(rank.searchsorted(np.uint16(k), "right"))
        return self.sum(self._values_by_name[name][top], user[top])

    def count(self, k: int | IntArray | None) -> FloatArray:
        """Number of each user's hits in the top k; in unresolved ties, expected.

        `k` is one cutoff, one per user, or None for the whole ranking.
        """
        if self.tied or isinstance(k, np.ndarray) or (k is not None and k >= DEEP) or is_noting():
            return self.sum(self.even.within(k), name="hit")
        if k is None:
            return np.diff(self.offsets).astype(np.float64)
        _, user, rank = self._sorted_by_rank
        top = slice(rank.searchsorted(np.uint16(k), "right"))
        return np.bincount(user[top], minlength=self.n_users).astype(np.float64)

    def within(self, k: float | IntArray | None) -> FloatArray:
        """Membership of each hit in the top k, 1 or 0; in an unresolved tie, the probability.

        `k` is one cutoff, one per user, or None for the whole ranking.
        """
        if k is None:
            return np.ones(self.rank.size)
        limit = k[self.user] if isinstance(k, np.ndarray) else k
        if self.unresolved_span is None:
            return (self.rank <= limit).astype(np.float64)
        low, high = self.unresolved_span.low, self.unresolved_span.high
        return note_column(
            np.clip((limit - low + 1) / (high - low + 1), 0.0, 1.0), "in top k", self
        )

    def weigh(self, weight: Callable[[FloatArray], FloatArray], k: int | None) -> FloatArray:
        """``weight(rank)`` of each hit in the top k, 0 below; in unresolved ties, expected.

        Every item of a tied group is equally likely at each of the group's ranks, so the
        expectation of a weight is its mean over the span.
        """
        plain = weight(self.rank)
        if k is not None:
            plain = np.where(self.rank <= k, plain, 0.0)
        if self.unresolved_span is None:
            return plain
        low, high = self.unresolved_span.low, self.unresolved_span.high
        is_long = high > _LONG_TABLE
        if is_long.any():
            is_far, plain = is_long & (low < high), plain.copy()
            plain[is_far] = _mean_weights(weight, low[is_far], high[is_far], k)
            low, high = np.where(is_long, 1, low), np.where(is_long, 1, high)
        table = weight(np.arange(1.0, high.max() + 1.0))
        if k is not None:
            table[k:] = 0.0
        total = np.concatenate(([0.0], np.cumsum(table)))
        return np.where(low == high, plain, (total[high] - total[low - 1]) / (high - low + 1))


def _mean_weights(
    weight: Callable[[FloatArray], FloatArray], low: IntArray, high: IntArray, k: int | None
) -> FloatArray:
    """The mean of a weight over each span."""

    def mean_over_span(first: int, last: int) -> float:
        end = min(last, last if k is None else k) + 1
        if end - first > _LONG_SPAN:
            raise UsageError(
                f"the expectation over {end - first:,} ranks of tied items would take too long; "
                f"choose a cutoff or n_items of at most {_LONG_SPAN:,}"
            )
        starts = range(first, end, _BLOCK)
        blocks = (np.arange(s, min(s + _BLOCK, end), dtype=np.float64) for s in starts)
        return math.fsum(weight(ranks).sum() for ranks in blocks) / (last - first + 1)

    spans = list(zip(low.tolist(), high.tolist(), strict=True))
    means = {span: mean_over_span(*span) for span in set(spans)}
    return np.array([means[span] for span in spans])


def count_hits_above(hits: Hits, user: IntArray, rank: FloatArray) -> IntArray:
    """The number of hits above a rank, for users by index, which may repeat; shape (n,)."""
    # Hits are in order of user and rank, encoded as one number with the user as integer part.
    width = max(hits.rank.max(initial=0.0), rank.max(initial=0.0)) + 1.0
    positions = np.searchsorted(hits.user * width + hits.rank, user * width + rank)
    number: IntArray = positions - hits.offsets[user]
    return number
