"""The values that a comparison compares: one metric of several systems over the same users."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from rankmeter._choices import Setting
from rankmeter._engine import Averaged, Scores
from rankmeter._estimates.estimates import Estimate, crossed_estimate, estimate_of
from rankmeter._hits import BoolArray, FloatArray, IntArray
from rankmeter._plan import Plan
from rankmeter._statistics import crossed_variance
from rankmeter.metrics import Runs


@dataclass(frozen=True, eq=False)
class Values:
    """Per-user values of one metric under every system, over `n_users` rows."""

    label: str
    increasing: bool
    scale: tuple[float, float]
    averaged: Sequence[Averaged]
    n_users: int
    pooled: bool = False
    """Whether the number is not a mean over users: they are pooled, or their lists are."""
    whole: bool = False
    """Whether it is one number for the lists of all users."""
    runs: Sequence[Sequence[Averaged]] = ()
    """Those of each system, if any has several; `averaged` is then their mean."""

    def paired(self, a: int, b: int) -> tuple[IntArray, FloatArray, FloatArray]:
        """The rows that two systems are both averaged for, with the values of the two."""
        x, y = self.averaged[a], self.averaged[b]
        rows, i, j = np.intersect1d(x.users, y.users, assume_unique=True, return_indices=True)
        return rows, x.values[i], y.values[j]

    @cached_property
    def table(self) -> FloatArray:
        """Users × systems; 0 where a user has no value."""
        table = np.zeros((self.n_users, len(self.averaged)))
        for column, averaged in enumerate(self.averaged):
            table[averaged.users, column] = averaged.values
        return table

    @cached_property
    def members(self) -> BoolArray:
        """Users × systems: which values are averaged."""
        members = np.zeros((self.n_users, len(self.averaged)), dtype=bool)
        for column, averaged in enumerate(self.averaged):
            members[averaged.users, column] = True
        return members

    def over(self, users: IntArray, columns: Sequence[int]) -> FloatArray:
        """Values of some users under some systems, with the numbers of these users as means."""
        if not self.pooled:
            return self.table[users].take(columns, axis=1)
        return self._parts([self.averaged[at] for at in columns], users)

    def of_runs(self, users: IntArray, system: int) -> FloatArray:
        """Values of some users in the runs of a system."""
        return self._parts(self.runs[system], users)

    def _parts(self, systems: Sequence[Averaged], users: IntArray) -> FloatArray:
        return np.stack([averaged.only(users).parts for averaged in systems], axis=1)

    def compared(self, common: str) -> BoolArray:
        """A mask of the users that are compared: those of all systems, or of any two."""
        n: IntArray = self.members.sum(axis=1)
        return n >= (len(self.averaged) if common == "all" else 2)

    @property
    def dropped(self) -> int:
        """Users that are averaged for some systems but not for all."""
        return int((self.members.any(axis=1) & ~self.members.all(axis=1)).sum())

    def estimates(
        self, setting: Setting, users: IntArray, clusters: IntArray | None, *, common: bool
    ) -> list[Estimate]:
        """The mean of each system over some users: the common ones, or all of its own."""
        if common:
            users = users[self.members[users].all(axis=1)]
        if self.runs:
            return [
                self._estimate_of_runs(setting, system, users) for system in range(len(self.runs))
            ]
        return [
            estimate_of(setting, self.label, self.scale, averaged.only(users), clusters)
            for averaged in self.averaged
        ]

    def _estimate_of_runs(self, setting: Setting, system: int, users: IntArray) -> Estimate:
        """The mean over users and runs."""
        averaged = self.averaged[system].only(users)
        mean = estimate_of(setting, self.label, self.scale, averaged)
        if len(self.runs[system]) < 2 or mean.n < 2:
            return mean
        crossed = crossed_variance(self.of_runs(averaged.users, system))
        return crossed_estimate(setting, self.scale, mean, crossed, alone=averaged.alone)


def values_of(
    plan: Plan,
    systems: Sequence[Sequence[Scores]],
    n_users: int,
    places: Callable[[Scores], IntArray] | None = None,
) -> list[Values]:
    """The values of each metric of a plan, over `n_users` rows that all systems share.

    Each system has the scores of its runs; a user counts if every run has a value. `places` gives
    the shared row of each user of some scores, if it is not the same row.
    """
    several = any(len(runs) > 1 for runs in systems)
    values = []
    for entry in plan.metrics:
        runs = [[_at_shared_rows(scores.averaged(entry), scores, places) for scores in each]
                for each in systems]  # fmt: skip
        scale = runs[0][0].scale(entry)
        if several:
            runs = [_common_users(each, n_users) for each in runs]
        means = [_mean_of_runs(each) if several else each[0] for each in runs]
        spec = entry.spec
        values.append(
            Values(
                entry.label, spec.increasing, scale, means, n_users, entry.pooled, spec.whole,
                runs if several else (),
            )
        )  # fmt: skip
    return values


def _at_shared_rows(
    averaged: Averaged, scores: Scores, places: Callable[[Scores], IntArray] | None
) -> Averaged:
    """Averaged values whose users are shared rows."""
    return averaged if places is None else replace(averaged, users=places(scores)[averaged.users])


def mean_of_runs(runs: Sequence[Scores]) -> Scores:
    """The scores of one system, averaged over its training runs."""
    if len(runs) == 1:
        return runs[0]
    return replace(
        runs[0],
        matrix=np.mean([run.matrix for run in runs], axis=0),
        in_rankings=np.all([run.in_rankings for run in runs], axis=0),
        states={label: Runs(tuple(run.states[label] for run in runs)) for label in runs[0].states},
    )


def _common_users(runs: Sequence[Averaged], n_users: int) -> list[Averaged]:
    """The runs of a system over the users who have a value in all of them."""
    n_runs = np.bincount(np.concatenate([run.users for run in runs]), minlength=n_users)
    return [run.only(np.flatnonzero(n_runs == len(runs))) for run in runs]


def _mean_of_runs(runs: Sequence[Averaged]) -> Averaged:
    """The mean of the runs of a system."""
    states = tuple(run.state for run in runs if run.state is not None)
    values = np.mean([run.values for run in runs], axis=0)
    return replace(runs[0], values=values, state=Runs(states) if states else None)
