"""How much all lists together show each item: a state, and the metrics computed from it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from rankmeter._evidence.hits import FloatArray, IntArray
from rankmeter._evidence.lists import Lists


def _all(_: object) -> float:
    return 1.0


@dataclass(frozen=True)
class Statistic:
    """A number computed from the lists of some users.

    Attributes
    ----------
    value : callable
        From an exposure to the number.
    without : callable
        From an exposure to the number without each of its users.
    share : callable, optional
        From an exposure to the share of the jackknife's variance that is real: by default all.
    """

    value: Callable[[Exposure], float]
    without: Callable[[Exposure], FloatArray]
    share: Callable[[Exposure], float] = _all


@dataclass(frozen=True, eq=False)
class Exposure:
    """The items in each list, with weights, and a number computed from all of them.

    Parameters
    ----------
    lists : Lists
    weight : float64 array of shape (n,)
        Of each item in each list, such as 1, or a weight of its rank.
    statistic : Statistic
    """

    lists: Lists
    weight: FloatArray
    statistic: Statistic

    @property
    def alone(self) -> bool:
        """The lists of one user have no number."""
        return False

    @property
    def n_users(self) -> int:
        """Number of users, with and without items."""
        return self.lists.n_users

    def counts(self) -> FloatArray:
        """How much each item is shown, of shape (n_items,)."""
        totals = np.bincount(self.lists.item, self.weight, minlength=self.lists.n_items)
        return totals.astype(np.float64)

    def shown(self) -> FloatArray:
        """How often each item is shown, of shape (n_items,)."""
        totals = np.bincount(self.lists.item, minlength=self.lists.n_items)
        return totals.astype(np.float64)

    def __add__(self, other: Exposure) -> Exposure:
        """The users of both, those of `self` first."""
        weight = np.concatenate([self.weight, other.weight])
        return replace(self, lists=self.lists + other.lists, weight=weight)

    def take(self, rows: IntArray) -> Exposure:
        """The lists of some users, in the order given."""
        if rows.size == self.n_users and np.array_equal(rows, np.arange(rows.size)):
            return self
        weight = self.weight[self.lists.places(rows)]
        return replace(self, lists=self.lists.of(rows), weight=weight)

    def per_user(self) -> FloatArray:
        """The number of items that each user was shown; the lists of one user have no number."""
        return self.lists.lengths.astype(np.float64)

    def value(self) -> float:
        """The number for all users together; NaN if nothing is shown."""
        return self.statistic.value(self) if self.lists.item.size else np.nan

    def influence(self, _: FloatArray | None = None) -> FloatArray:
        """Values with `value` as their plain mean, whose spread is that of the jackknife.

        Efron and Stein, The jackknife estimate of variance, Annals of Statistics 1981: on average
        it is not too small. A statistic can know which share of the variance is real.
        """
        value, n = self.value(), self.n_users
        if np.isnan(value) or n < 2:
            return np.full(n, value)
        without = self.statistic.without(self)
        without = np.where(np.isnan(without), value, without)  # too few lists are left
        times = (n - 1) * math.sqrt(self.statistic.share(self))
        values: FloatArray = value + times * (without.mean() - without)
        return values


def of_counts(
    value: Callable[[FloatArray], float],
    loss: Callable[[FloatArray], FloatArray],
    share: Callable[[FloatArray], float] = _all,
) -> Statistic:
    """A number that loses a part with each item that one list less shows.

    Parameters
    ----------
    value : callable
        From how often each item is shown to the number.
    loss : callable
        What the number loses if an item is in one list less, by item; the losses add up.
    share : callable, optional
        From how often each item is shown to the share of the jackknife's variance that is real.
    """

    def without(exposure: Exposure) -> FloatArray:
        counts = exposure.counts()
        return value(counts) - exposure.lists.sum(loss(counts)[exposure.lists.item])

    return Statistic(
        lambda exposure: value(exposure.counts()),
        without,
        lambda exposure: share(exposure.counts()),
    )


@dataclass(frozen=True, eq=False)
class Grouped(Exposure):
    """Lists with two numbers of each user for each group of items, which add up over users.

    Parameters
    ----------
    part, whole : float64 arrays of shape (n_users, n_groups)
        Integers, such as the items that are shown, and those that could be.
    """

    part: FloatArray
    whole: FloatArray

    def __add__(self, other: Exposure) -> Grouped:
        """The users of both, those of `self` first."""
        if not isinstance(other, Grouped):
            return NotImplemented
        part, whole = np.concatenate([self.part, other.part]), [self.whole, other.whole]
        return replace(super().__add__(other), part=part, whole=np.concatenate(whole))  # type: ignore[return-value,call-arg]

    def take(self, rows: IntArray) -> Grouped:
        """The lists of some users, in the order given."""
        return replace(super().take(rows), part=self.part[rows], whole=self.whole[rows])  # type: ignore[return-value,call-arg]


def of_groups(number: Callable[[FloatArray, FloatArray], FloatArray]) -> Statistic:
    """A number of the sums over all users.

    Parameters
    ----------
    number : callable
        From part and whole of the groups, of shape (…, n_groups), to a number, of shape (…).
    """

    def value(exposure: Exposure) -> float:
        assert isinstance(exposure, Grouped)
        return float(number(exposure.part.sum(axis=0), exposure.whole.sum(axis=0)))

    def without(exposure: Exposure) -> FloatArray:
        assert isinstance(exposure, Grouped)
        return number(
            exposure.part.sum(axis=0) - exposure.part, exposure.whole.sum(axis=0) - exposure.whole
        )

    return Statistic(value, without)
