"""What was shown: ranked lists of items, and what is known of the items and the users.

Items are codes: their places among all items of the data. Every table of items has one row for each
code, so that a metric looks up the items of all lists at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from rankmeter._evidence.hits import BoolArray, FloatArray, IntArray, Span, ratio
from rankmeter._evidence.steps import note_formula, note_sum

_OF_ITEMS = ("item", "rank", "gain", "relevant")
"""The arrays of `Lists` that have a value for each item."""


@dataclass(frozen=True, eq=False)
class Lists:
    """The ranked items of n_users users, best first.

    Parameters
    ----------
    offsets : int64 array of shape (n_users + 1,)
        Where the items of each user begin.
    item : int64 array of shape (n,)
        Codes.
    rank : int64 array of shape (n,)
        1-based, ascending within a user; with gaps if the ranks were given with gaps.
    gain : float64 array of shape (n,)
        0 for items that are not relevant.
    relevant : bool array of shape (n,)
    n_items : int
        The number of codes.
    tied : bool
        Whether the order of some items is not decided.
    group : int64 array of shape (n,), optional
        The tied group of each item, ascending, if the order is not decided and every group is
        whole: then a cutoff keeps all items of a group that begins above it.
    distinct : bool
        Whether it is certain that no list has an item twice.
    """

    offsets: IntArray
    item: IntArray
    rank: IntArray
    gain: FloatArray
    relevant: BoolArray
    n_items: int
    tied: bool = False
    distinct: bool = False
    group: IntArray | None = None

    @property
    def n_users(self) -> int:
        """Number of users, with and without items."""
        return self.offsets.size - 1

    @cached_property
    def lengths(self) -> IntArray:
        """The number of items of each user."""
        return np.diff(self.offsets)

    @cached_property
    def user(self) -> IntArray:
        """The user of each item."""
        return np.repeat(np.arange(self.n_users), self.lengths)

    def length(self, k: int | None) -> IntArray:
        """Number of ranks of each list: k, or the length of the list without a cutoff."""
        return self.lengths if k is None else np.full(self.n_users, k)

    def top(self, k: int | None) -> Lists:
        """The items at rank k or better; all items without k."""
        if k is None or not self.item.size or int(self.rank.max()) <= k:
            return self
        best = self.rank
        if self.group is not None:
            best = best[np.searchsorted(self.group, self.group)]
        return self.only(best <= k)

    @cached_property
    def span(self) -> Span:
        """First and last possible position of each item in its list, counted from 1."""
        begin, index = self.offsets[self.user], np.arange(self.item.size) + 1
        if self.group is None:
            return Span(index - begin, index - begin)
        low, high = (np.searchsorted(self.group, self.group, side) for side in ("left", "right"))
        return Span(low + 1 - begin, high - begin)

    def only(self, chosen: BoolArray) -> Lists:
        """Select items by mask or position; they keep their ranks."""
        n = np.bincount(self.user[chosen], minlength=self.n_users)
        return self._select_items(np.concatenate(([0], np.cumsum(n))), np.flatnonzero(chosen))

    def of(self, users: IntArray) -> Lists:
        """The lists of some users, in the order given."""
        offsets = np.concatenate(([0], np.cumsum(self.lengths[users])))
        return self._select_items(offsets, self.item_positions(users))

    def item_positions(self, users: IntArray) -> IntArray:
        """Positions of the items of some users in `item`."""
        lengths = self.lengths[users]
        begin = np.cumsum(lengths) - lengths
        positions: IntArray = np.repeat(self.offsets[users] - begin, lengths)
        return positions + np.arange(positions.size)

    def __add__(self, other: Lists) -> Lists:
        """Concatenate the users of both `Lists`."""
        offsets = np.concatenate([self.offsets, self.offsets[-1] + other.offsets[1:]])
        pairs = {name: (getattr(self, name), getattr(other, name)) for name in _OF_ITEMS}
        joined: dict[str, Any] = {name: np.concatenate(pair) for name, pair in pairs.items()}
        return replace(self, offsets=offsets, **joined)

    def _select_items(self, offsets: IntArray, positions: IntArray) -> Lists:
        selected = {name: getattr(self, name)[positions] for name in _OF_ITEMS}
        group = None if self.group is None else self.group[positions]
        return replace(self, offsets=offsets, group=group, **selected)

    def sum(self, values: npt.NDArray[Any]) -> FloatArray:
        """The sum over each user's items, given a value of each item in a list."""
        sums: FloatArray = np.bincount(self.user, values, minlength=self.n_users).astype(np.float64)
        return note_sum(sums, values, self)

    def mean(self, values: npt.NDArray[Any], weights: FloatArray | None = None) -> FloatArray:
        """The (weighted) mean over each user's items; NaN without items or with zero weights."""
        if weights is None:
            divisor, part = self.lengths.astype(np.float64), self.sum(values)
        else:
            divisor, part = self.sum(weights), self.sum(values * weights)
        means = ratio(part, divisor, nothing=np.nan)
        return note_formula(means, "sum / items", sum=part, items=divisor)

    def blocks(self, cells: int) -> Iterator[tuple[IntArray, IntArray, IntArray]]:
        """Yield users with equally long lists in chunks: (users, items, positions).

        Yields
        ------
        users : int64 array of shape (n,)
        item, positions : int64 arrays of shape (n, length)
            Items of these users, and their positions in `item` of the lists. At most about
            `cells` items.
        """
        lengths = self.lengths
        for length in np.flatnonzero(np.bincount(lengths[lengths > 0])).tolist():
            users = np.flatnonzero(lengths == length)
            size = max(1, cells // length)
            for start in range(0, users.size, size):
                chunk = users[start : start + size]
                positions = self.offsets[chunk][:, None] + np.arange(length)
                yield chunk, self.item[positions], positions


@dataclass(frozen=True, eq=False)
class Popularity:
    """Numbers of users and of interactions of each item in the training data.

    Parameters
    ----------
    users, interactions : int64 arrays of shape (n_items,)
        Users with the item, and rows with it; 0 for items that are not in the training data.
    n_users, n_interactions : int
        Of the training data.
    """

    users: IntArray
    interactions: IntArray
    n_users: int
    n_interactions: int

    @property
    def known(self) -> BoolArray:
        """A mask of the items in the training data."""
        return self.interactions > 0

    def counts(self, of: str) -> tuple[IntArray, int]:
        """Numbers of `users` or `interactions` per item, and in the whole training data."""
        if of == "users":
            return self.users, self.n_users
        return self.interactions, self.n_interactions


@dataclass(frozen=True, eq=False)
class Propensity:
    """Probability that each item was seen and could be judged.

    Parameters
    ----------
    value : float64 array of shape (n_items,)
        Above 0 and at most 1; NaN for items without one.
    """

    value: FloatArray

    @property
    def known(self) -> BoolArray:
        """A mask of the items that have a propensity."""
        return ~np.isnan(self.value)


@dataclass(frozen=True, eq=False)
class Profiles:
    """The items of each user in the training data.

    Parameters
    ----------
    offsets : int64 array of shape (n_users + 1,)
    item : int64 array of shape (n,)
        Codes, ascending within a user, each once.
    weight : float64 array of shape (n,)
        Rating, or 1.
    n_items : int
    """

    offsets: IntArray
    item: IntArray
    weight: FloatArray
    n_items: int

    @cached_property
    def lengths(self) -> IntArray:
        """The number of items of each user."""
        return np.diff(self.offsets)

    @cached_property
    def user(self) -> IntArray:
        """The user of each item."""
        return np.repeat(np.arange(self.lengths.size), self.lengths)

    def of(self, users: IntArray) -> Profiles:
        """The profiles of some users, in the order given; empty for users given as -1."""
        lengths = np.where(users >= 0, self.lengths.take(users, mode="clip"), 0)
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        positions = np.repeat(self.offsets[users] - offsets[:-1], lengths) + np.arange(offsets[-1])
        item, weight = self.item[positions], self.weight[positions]
        return replace(self, offsets=offsets, item=item, weight=weight)

    def holds(self, user: IntArray, item: IntArray) -> BoolArray:
        """Whether each item is in the profile of its user."""
        keys = self.user * self.n_items + self.item
        pairs = user * self.n_items + item
        positions = np.searchsorted(keys, pairs)
        return np.asarray(keys.take(positions, mode="clip") == pairs) if keys.size else pairs < 0


@dataclass(frozen=True, eq=False)
class Features:
    """A vector for each item.

    Parameters
    ----------
    matrix : array or SciPy sparse matrix of shape (n_items, n_features)
    known : bool array of shape (n_items,)
        Which items have features.
    gains : float64 array of shape (n_items, n_features), optional
        Of subtopics, which may differ for an item.
    """

    matrix: Any
    known: BoolArray
    gains: FloatArray | None = None

    @property
    def n_features(self) -> int:
        """The number of features."""
        return int(self.matrix.shape[1])

    def rows(self, item: IntArray) -> FloatArray:
        """Vectors of the items in an array of any shape; features are the last axis."""
        rows = self.matrix[item.ravel()]
        dense: FloatArray = rows.toarray() if hasattr(rows, "toarray") else rows
        return dense.reshape(*item.shape, self.n_features)

    @cached_property
    def flags(self) -> Features:
        """Features as flags: 1 where a number is not 0, else 0."""
        return replace(self, matrix=(self.matrix != 0).astype(np.float64))

    @cached_property
    def binary(self) -> bool:
        """Whether all numbers are 0 or 1."""
        numbers = self.matrix.data if hasattr(self.matrix, "toarray") else self.matrix
        return bool(((numbers == 0) | (numbers == 1)).all())

    @cached_property
    def squares(self) -> FloatArray:
        """The sum of the squares of each vector."""
        if hasattr(self.matrix, "toarray"):
            return np.asarray(self.matrix.multiply(self.matrix).sum(axis=1), dtype=float).ravel()
        squares: FloatArray = np.einsum("ij,ij->i", self.matrix, self.matrix)
        return squares

    @cached_property
    def unit(self) -> Features:
        """The vectors scaled to length 1; zero vectors stay zero."""
        size = np.sqrt(self.squares)
        scale = np.divide(1.0, size, out=np.zeros_like(size), where=size > 0)
        if hasattr(self.matrix, "toarray"):
            return replace(self, matrix=self.matrix.multiply(scale[:, None]).tocsr())
        return replace(self, matrix=self.matrix * scale[:, None])


@dataclass(frozen=True, eq=False)
class Intents:
    """The subtopics of relevant items, which differ between users.

    Parameters
    ----------
    pair : int64 array of shape (n,)
        User and code of each item that has some, as user * n_items + code, ascending.
    categories : Features
        The subtopics of each pair. The last row is that of all other items, which have none.
    names : list of str
        Of the subtopics of a single user.
    """

    pair: IntArray
    categories: Features
    names: list[str]

    def of(self, lists: Lists) -> Lists:
        """Replace each item of the lists by its row in the categories."""
        n = self.pair.size
        pair = lists.user * lists.n_items + lists.item
        rows = np.searchsorted(self.pair, pair)
        has_categories = np.append(self.pair, -1)[rows] == pair
        return replace(lists, item=np.where(has_categories, rows, n), n_items=n + 1, distinct=False)


@dataclass(frozen=True, eq=False)
class Similarity:
    """Pairwise similarities of items.

    Parameters
    ----------
    matrix : array or SciPy sparse matrix of shape (n_items, n)
    column : int64 array of shape (n_items,)
        The column of each item in the matrix; -1 for an item without similarities.
    """

    matrix: Any
    column: IntArray

    @property
    def known(self) -> BoolArray:
        """A mask of the items that have similarities."""
        return self.column >= 0

    def between(self, first: IntArray, second: IntArray) -> FloatArray:
        """The similarities of pairs of items, given two arrays of one shape; 0 if unknown."""
        column = self.column[second]
        has_both = self.known[first] & (column >= 0)
        similarities = np.zeros(first.shape)
        row, column = first[has_both], column[has_both]
        if hasattr(self.matrix, "indptr"):
            cells = row * self.matrix.shape[1] + column
            positions = np.searchsorted(self._cell_keys, cells)
            is_stored = self._cell_keys.take(positions, mode="clip") == cells
            stored = self.matrix.data.take(positions, mode="clip")
            similarities[has_both] = np.where(is_stored, stored, 0.0)
        else:
            similarities[has_both] = self.matrix[row, column]
        return similarities

    @cached_property
    def _cell_keys(self) -> IntArray:
        """Row and column of each stored number of a sparse matrix as one integer, ascending."""
        self.matrix.sort_indices()
        n_rows, n_columns = self.matrix.shape
        row = np.repeat(np.arange(n_rows), np.diff(self.matrix.indptr))
        cells: IntArray = row * n_columns + self.matrix.indices
        return cells


@dataclass(frozen=True, eq=False)
class Likeness:
    """Data for the similarity of items; a field is None if its data were not passed.

    Parameters
    ----------
    features : Features, optional
        A vector of each item.
    history : Profiles, optional
        The items of all users in the training data.
    given : Similarity, optional
    """

    features: Features | None = None
    history: Profiles | None = None
    given: Similarity | None = None

    @cached_property
    def shared_user_similarity(self) -> Similarity | None:
        """Similarities by shared users: n(a, b) / √(n(a) · n(b)); None without training data."""
        if self.history is None:
            return None
        from scipy.sparse import csr_array

        history = self.history
        shape = (history.lengths.size, history.n_items)
        users = csr_array((np.ones(history.item.size), history.item, history.offsets), shape=shape)
        n = np.bincount(history.item, minlength=history.n_items)
        scale = np.divide(1.0, np.sqrt(n), out=np.zeros(n.size), where=n > 0)
        users.data *= scale[history.item]
        return Similarity((users.T @ users).tocsr(), np.where(n > 0, np.arange(n.size), -1))


@dataclass(frozen=True, eq=False)
class Catalogue:
    """The items that could be shown.

    Parameters
    ----------
    size : int
    item : bool array of shape (n_items,), optional
        Which codes belong to it; None if only the size is known, and then all shown items do.
    """

    size: int
    item: BoolArray | None = None
