"""How much the lists of all users together show each item: a state, and the numbers made of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from rankmeter._hits import FloatArray, IntArray
from rankmeter._lists import Lists

__all__ = ["Exposure", "Statistic", "of_counts"]


@dataclass(frozen=True)
class Statistic:
    """A number made of the lists of some users.

    Attributes
    ----------
    value : callable
        From an exposure to the number.
    influence : callable
        From an exposure and its number to a value per user: their mean is the number, and their
        variance over the number of users that of the number, to first order.
    """

    value: Callable[[Exposure], float]
    influence: Callable[[Exposure, float], FloatArray]


@dataclass(frozen=True, eq=False)
class Exposure:
    """The items that were shown to each user, with weights, and a number made of all of them.

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
    def n_users(self) -> int:
        """Number of users, with and without items."""
        return self.lists.n_users

    def counts(self) -> FloatArray:
        """How much each item is shown, of shape (n_items,)."""
        found = np.bincount(self.lists.item, self.weight, minlength=self.lists.n_items)
        return found.astype(np.float64)

    def __add__(self, other: Exposure) -> Exposure:
        """The users of both, those of `self` first."""
        weight = np.concatenate([self.weight, other.weight])
        return replace(self, lists=self.lists + other.lists, weight=weight)

    def take(self, rows: IntArray) -> Exposure:
        """The lists of some users, in the order given."""
        weight = self.weight[self.lists.places(rows)]
        return replace(self, lists=self.lists.of(rows), weight=weight)

    def per_user(self) -> FloatArray:
        """The number of items that each user was shown; the lists of one user have no number."""
        return self.lists.lengths.astype(np.float64)

    def value(self) -> float:
        """The number for all users together; NaN if nothing is shown."""
        return self.statistic.value(self) if self.lists.item.size else np.nan

    def influence(self, _: FloatArray | None = None) -> FloatArray:
        """Values with `value` as their plain mean and, to first order, its spread."""
        value = self.value()
        if np.isnan(value):
            return np.full(self.n_users, np.nan)
        return self.statistic.influence(self, value)


def of_counts(
    value: Callable[[FloatArray], float], slope: Callable[[FloatArray], FloatArray]
) -> Statistic:
    """A number made of how much each item is shown.

    Parameters
    ----------
    value : callable
        From the counts of all items to the number.
    slope : callable
        Its derivative by each count. The influence of a user is the sum over the items of the user
        (the infinitesimal jackknife: Efron, The Jackknife, the Bootstrap and Other Resampling
        Plans, 1982, ch. 6).
    """

    def influence(exposure: Exposure, number: float) -> FloatArray:
        slopes = slope(exposure.counts())
        own = exposure.lists.sum(exposure.weight * slopes[exposure.lists.item])
        values: FloatArray = number + own.size * (own - own.mean())
        return values

    return Statistic(lambda exposure: value(exposure.counts()), influence)
