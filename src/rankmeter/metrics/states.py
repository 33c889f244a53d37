"""Alternatives to one number per user as the return value: values that add up over users.

Shares of users can be pooled (`Ratio`); an aggregate metric is computed over all lists at once
(`Exposure`).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, ParamSpec, Protocol, Self

import numpy as np

from rankmeter._evidence.hits import FloatArray, IntArray, ratio
from rankmeter._evidence.lists import Lists
from rankmeter._evidence.steps import note_formula

P = ParamSpec("P")


class State(Protocol):
    """A mergeable summary of users: the states of disjoint users add up."""

    @property
    def alone(self) -> bool:
        """Whether a single user has a number, too."""
        ...

    def __add__(self, other: Self, /) -> Self: ...

    def take(self, rows: IntArray) -> Self:
        """The state of some users, in the order given."""
        ...

    def per_user(self) -> FloatArray:
        """The number for each user alone."""
        ...

    def value(self) -> float:
        """The number for all users together."""
        ...

    def influence(self, values: FloatArray | None = None) -> FloatArray:
        """Values of the users; their plain mean is `value`, and has its standard error."""
        ...


@dataclass(frozen=True, eq=False)
class Ratio:
    """A share of each user, which can be pooled: Σ part / Σ whole.

    Parameters
    ----------
    part : float64 array of shape (n_users,)
    whole : array of shape (n_users,)
        0 or more.
    names : pair of str, optional
        What the two are, for those who want to see how the number is computed.

    Examples
    --------
    >>> import numpy as np
    >>> shares = Ratio(np.array([1.0]), np.array([2])) + Ratio(np.array([2.0]), np.array([8]))
    >>> shares.per_user(), shares.value()
    (array([0.5 , 0.25]), 0.3)
    """

    part: FloatArray
    whole: FloatArray | IntArray
    names: tuple[str, str] | None = ("part", "whole")

    alone: ClassVar[bool] = True  # a user alone has a share

    def __add__(self, other: Self) -> Self:
        """Concatenate the users of both states."""
        joined: dict[str, Any] = {
            name: np.concatenate([values, getattr(other, name)])
            for name, values in self.arrays().items()
        }
        return replace(self, **joined)

    def take(self, rows: IntArray) -> Self:
        """The shares of some users, in the order given."""
        return replace(self, **{name: values[rows] for name, values in self.arrays().items()})

    def arrays(self) -> dict[str, Any]:
        """The values of each user, by name."""
        return {name: values for name, values in vars(self).items() if name != "names"}

    def per_user(self, nothing: float = 0.0) -> FloatArray:
        """``part / whole`` of each user, and `nothing` where the whole is 0."""
        values = ratio(self.part, self.whole, nothing=nothing)
        return self._note_division(values, "{} / {}")

    def _note_division(self, value: FloatArray, text: str) -> FloatArray:
        if self.names is not None:
            terms = dict(zip(self.names, (self.part, self.whole), strict=True))
            note_formula(value, text.format(*self.names), **terms)
        return value

    def value(self) -> float:
        """Σ part / Σ whole; NaN if Σ whole is 0."""
        denominator = float(self.whole.sum())
        return float(self.part.sum()) / denominator if denominator else np.nan

    def influence(self, values: FloatArray | None = None) -> FloatArray:
        """Jackknife pseudovalues: their mean is the pooled share, and has its standard error.

        With few users it is not too small, unlike the usual linearization of a ratio of two means:
        Cochran, Sampling Techniques, 3rd ed., ch. 6.

        Parameters
        ----------
        values : float64 array of shape (n_users,), optional
            The values of the users, if they are not `per_user`.

        Returns
        -------
        float64 array of shape (n_users,)
            NaN if Σ whole is 0.
        """
        values = self.per_user(0.0) if values is None else values
        weights = self.whole.astype(np.float64)
        total = float(weights.sum())
        if total == 0:
            return np.full(values.size, np.nan)
        mean = float(np.sort(weights * values).sum()) / total  # the same for any order of users
        lost = ratio(weights * (values - mean), total - weights)  # without the user
        pseudovalues: FloatArray = mean + (values.size - 1) * (lost - np.sort(lost).mean())
        return pseudovalues


class Defined(Ratio):
    """A share of each user, undefined where the whole is 0.

    Examples
    --------
    >>> import numpy as np
    >>> shares = Defined(np.array([1.0, 0.0]), np.array([2, 0]))
    >>> shares.per_user(), shares.value()
    (array([0.5, nan]), 0.5)
    """

    def per_user(self, nothing: float = np.nan) -> FloatArray:
        """``part / whole`` of each user, and `nothing` where the whole is 0."""
        return super().per_user(nothing)


@dataclass(frozen=True, eq=False)
class Weighted(Defined):
    """The share of each user's items, by weight, undefined where the whole is 0.

    Parameters
    ----------
    part, whole : float64 arrays of shape (n_users,)
    total, squares : float64 arrays of shape (n_users,)
        The sum of the weights of the user's items, and of their squares.

    Examples
    --------
    >>> import numpy as np
    >>> one = np.ones(2)
    >>> Weighted(one, 4 * one, total=4 * one, squares=10 * one).effective(pooled=True)
    3.2
    """

    total: FloatArray = field(kw_only=True)
    squares: FloatArray = field(kw_only=True)

    def effective(self, *, pooled: bool) -> float:
        """Kish's effective number of items: (Σ w)² / Σ w².

        The weights are those that items have in the mean over users, or in the pooled share.
        """
        scale = np.ones(self.part.size) if pooled else ratio(np.ones(self.part.size), self.whole)
        total = float(np.sort(scale * self.total).sum())
        squares = float(np.sort(scale**2 * self.squares).sum())
        return total**2 / squares if squares else 0.0


class Standardized(Ratio):
    """Sums of deviations over the root of the sum of their variances: Σ part / √(Σ whole).

    Examples
    --------
    >>> import numpy as np
    >>> Standardized(np.array([3.0, 1.0]), np.array([3.0, 1.0])).value()
    2.0
    """

    def per_user(self, nothing: float = 0.0) -> FloatArray:
        """``part / √whole`` of each user, and `nothing` where the whole is 0."""
        values = ratio(self.part, np.sqrt(self.whole), nothing=nothing)
        return self._note_division(values, "{} / sqrt({})")

    def value(self) -> float:
        """Σ part / √(Σ whole); NaN if Σ whole is 0."""
        denominator = float(np.sort(self.whole).sum())
        return float(np.sort(self.part).sum()) / denominator**0.5 if denominator else np.nan

    def influence(self, _: FloatArray | None = None) -> FloatArray:
        """Values whose plain mean is `value`, and has its standard error to first order."""
        n, value = self.part.size, self.value()
        total = float(np.sort(self.whole).sum())
        if not n or total == 0:
            return np.full(n, np.nan)
        mean = float(np.sort(self.part).sum()) / n
        step = (self.part - mean) / total**0.5 - value / 2 * (self.whole - total / n) / total
        result: FloatArray = value + n * step
        return result


@dataclass(frozen=True, eq=False)
class Runs:
    """States of the same users in several training runs of a system; the number is their mean.

    Parameters
    ----------
    states : tuple of State
    """

    states: tuple[State, ...]

    @property
    def alone(self) -> bool:
        """Whether a single user has a number in every run."""
        return all(state.alone for state in self.states)

    def __add__(self, other: Self) -> Self:
        """Concatenate the users of both states."""
        pairs = zip(self.states, other.states, strict=True)
        return replace(self, states=tuple(state + another for state, another in pairs))

    def take(self, rows: IntArray) -> Self:
        """The states of some users, in the order given."""
        return replace(self, states=tuple(state.take(rows) for state in self.states))

    def per_user(self) -> FloatArray:
        """The mean number of each user."""
        return _mean_over_runs([state.per_user() for state in self.states])

    def value(self) -> float:
        """The mean of the numbers of the runs."""
        return float(np.mean([state.value() for state in self.states]))

    def influence(self, _: FloatArray | None = None) -> FloatArray:
        """The mean of each user's values over the runs."""
        return _mean_over_runs([state.influence() for state in self.states])


def _mean_over_runs(values: list[FloatArray]) -> FloatArray:
    means: FloatArray = np.mean(values, axis=0)
    return means


# ---------------------------------------------------------------------------------------------
# How much all lists together show each item, and the metrics computed from it


def _full_share(_: object) -> float:
    return 1.0


@dataclass(frozen=True)
class Statistic:
    """A number computed from the lists of some users.

    Functions that make statistics of functions inside them are decorated with `made_again`.

    Attributes
    ----------
    value : callable
        From an exposure to the number.
    value_without_each_user : callable
        From an exposure to the number without each of its users.
    share : callable, optional
        From an exposure to the share of the jackknife's variance that is real: by default all.
    make : callable, optional
        Makes the statistic again; pickles hold this in place of functions inside functions.
    """

    value: Callable[[Exposure], float]
    value_without_each_user: Callable[[Exposure], FloatArray]
    share: Callable[[Exposure], float] = _full_share
    make: Callable[[], Statistic] | None = None

    def __reduce__(self) -> str | tuple[Any, ...]:
        return super().__reduce__() if self.make is None else (self.make, ())


def made_again(make: Callable[P, Statistic]) -> Callable[P, Statistic]:
    """Let copies and pickles of the statistics that a function makes hold its arguments."""

    @functools.wraps(make)
    def make_and_remember(*args: P.args, **kwargs: P.kwargs) -> Statistic:
        again = functools.partial(make_and_remember, *args, **kwargs)
        return replace(make(*args, **kwargs), make=again)

    return make_and_remember


@dataclass(frozen=True, eq=False)
class Exposure:
    """The items in each list, with weights, and a number computed from all lists.

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

    alone: ClassVar[bool] = False  # the lists of one user have no number

    @property
    def n_users(self) -> int:
        """Number of users, with and without items."""
        return self.lists.n_users

    def counts(self) -> FloatArray:
        """The exposure of each item, of shape (n_items,)."""
        return np.bincount(self.lists.item, self.weight, self.lists.n_items).astype(np.float64)

    def shown(self) -> FloatArray:
        """The number of times that each item is shown, of shape (n_items,)."""
        return np.bincount(self.lists.item, minlength=self.lists.n_items).astype(np.float64)

    def __add__(self, other: Exposure) -> Exposure:
        """Concatenate the users of both states."""
        weight = np.concatenate([self.weight, other.weight])
        return replace(self, lists=self.lists + other.lists, weight=weight)

    def take(self, rows: IntArray) -> Exposure:
        """The lists of some users, in the order given."""
        if rows.size == self.n_users and np.array_equal(rows, np.arange(rows.size)):
            return self
        weight = self.weight[self.lists.item_positions(rows)]
        return replace(self, lists=self.lists.of(rows), weight=weight)

    def per_user(self) -> FloatArray:
        """The number of items shown to each user; the lists of one user have no number."""
        return self.lists.lengths.astype(np.float64)

    def value(self) -> float:
        """The number for all users together; NaN if nothing is shown."""
        return self.statistic.value(self) if self.lists.item.size else np.nan

    def influence(self, _: FloatArray | None = None) -> FloatArray:
        """Jackknife pseudovalues: their mean is `value`, and has its standard error.

        Efron and Stein, The jackknife estimate of variance, Annals of Statistics 1981: on average
        it is not too small. A statistic can know which share of the variance is real.
        """
        value, n = self.value(), self.n_users
        if np.isnan(value) or n < 2:
            return np.full(n, value)
        without = self.statistic.value_without_each_user(self)
        without = np.where(np.isnan(without), value, without)  # too few lists are left
        times = (n - 1) * math.sqrt(self.statistic.share(self))
        values: FloatArray = value + times * (without.mean() - without)
        return values


def statistic_of_counts(
    value: Callable[[FloatArray], float],
    loss: Callable[[FloatArray], FloatArray],
    share: Callable[[FloatArray], float] = _full_share,
) -> Statistic:
    """Statistic of item counts, with a loss for each item of a removed list.

    Parameters
    ----------
    value : callable
        From how often each item is shown to the number.
    loss : callable
        What the number loses if an item is in one list less, by item; the losses add up.
    share : callable, optional
        From how often each item is shown to the share of the jackknife's variance that is real.
    """

    def value_without_each_user(exposure: Exposure) -> FloatArray:
        counts = exposure.counts()
        return value(counts) - exposure.lists.sum(loss(counts)[exposure.lists.item])

    return Statistic(
        lambda e: value(e.counts()), value_without_each_user, lambda e: share(e.counts())
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
        """Concatenate the users of both states."""
        if not isinstance(other, Grouped):
            return NotImplemented
        part = np.concatenate([self.part, other.part])
        whole = np.concatenate([self.whole, other.whole])
        return replace(super().__add__(other), part=part, whole=whole)  # type: ignore[return-value,call-arg]

    def take(self, rows: IntArray) -> Grouped:
        """The lists of some users, in the order given."""
        return replace(super().take(rows), part=self.part[rows], whole=self.whole[rows])  # type: ignore[return-value,call-arg]


def statistic_of_groups(number: Callable[[FloatArray, FloatArray], FloatArray]) -> Statistic:
    """Statistic computed from the sums of groups over all users.

    Parameters
    ----------
    number : callable
        From part and whole of the groups, of shape (…, n_groups), to a number, of shape (…).
    """

    def value(exposure: Exposure) -> float:
        assert isinstance(exposure, Grouped)
        return float(number(exposure.part.sum(axis=0), exposure.whole.sum(axis=0)))

    def value_without_each_user(exposure: Exposure) -> FloatArray:
        assert isinstance(exposure, Grouped)
        part, reference = exposure.part, exposure.whole
        return number(part.sum(axis=0) - part, reference.sum(axis=0) - reference)

    return Statistic(value, value_without_each_user)


def scale_above_chance(
    value: FloatArray, random: FloatArray, best: FloatArray | float, *, increasing: bool = True
) -> Ratio:
    """Scale a value from 0 (its value for a random order) to 1 (its best value), as a `Ratio`."""
    sign = 1.0 if increasing else -1.0
    names = "better_than_chance", "perfect_than_chance"
    return Ratio(sign * (value - random), sign * (best - random), names)
