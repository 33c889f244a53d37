"""The values that a comparison compares: one metric of several systems over the same users."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from rankmeter._choices import Setting
from rankmeter._engine import Averaged, Scores
from rankmeter._estimates.estimates import Estimate, crossed_estimate, estimate_of
from rankmeter._hits import BoolArray, FloatArray, IntArray
from rankmeter._plan import Plan
from rankmeter._statistics import crossed_variance
from rankmeter.metrics import Exposure

__all__ = ["Values", "mean_of_runs", "values_of", "with_runs"]


@dataclass(frozen=True, eq=False)
class Values:
    """Per-user values of one metric under every system, over `n_users` rows."""

    label: str
    increasing: bool
    scale: tuple[float, float]
    averaged: Sequence[Averaged]
    n_users: int
    runs: Sequence[FloatArray] = ()
    """Users × runs of each system, if any has several; `averaged` is then their mean."""

    @cached_property
    def table(self) -> FloatArray:
        """Users × systems; 0 where a user has no value."""
        found = np.zeros((self.n_users, len(self.averaged)))
        for column, one in enumerate(self.averaged):
            found[one.users, column] = one.values
        return found

    @cached_property
    def members(self) -> BoolArray:
        """Users × systems: which values are averaged."""
        found = np.zeros((self.n_users, len(self.averaged)), dtype=bool)
        for column, one in enumerate(self.averaged):
            found[one.users, column] = True
        return found

    @property
    def whole(self) -> bool:
        """Whether the metric is one number for the lists of all users."""
        return any(isinstance(one.state, Exposure) for one in self.averaged)

    def over(self, users: IntArray, columns: Sequence[int]) -> FloatArray:
        """Values of some users under some systems.

        A number for the lists of all users is that of these users, and so are its values.
        """
        if not self.whole:
            return self.table[users].take(columns, axis=1)
        some = np.zeros(self.n_users, dtype=bool)
        some[users] = True
        return np.stack([self.averaged[at].only(some).values for at in columns], axis=1)

    @property
    def dropped(self) -> int:
        """Users that are averaged for some systems but not for all."""
        return int((self.members.any(axis=1) & ~self.members.all(axis=1)).sum())

    def estimates(
        self, setting: Setting, mask: BoolArray, clusters: IntArray | None, *, common: bool
    ) -> list[Estimate]:
        """The mean of each system over the users of a mask: the common ones, or all of its own."""
        everyone = self.members.all(axis=1)
        if self.runs:
            return [
                self._of_runs(setting, one, runs, (everyone if common else own) & mask)
                for one, runs, own in zip(self.averaged, self.runs, self.members.T, strict=True)
            ]
        return [
            estimate_of(
                setting,
                self.label,
                self.scale,
                one.only((everyone if common else own) & mask),
                clusters,
            )
            for one, own in zip(self.averaged, self.members.T, strict=True)
        ]

    def _of_runs(
        self, setting: Setting, averaged: Averaged, runs: FloatArray, users: BoolArray
    ) -> Estimate:
        """The mean over users and runs."""
        found = estimate_of(setting, self.label, self.scale, averaged.only(users))
        if runs.shape[1] < 2 or found.n < 2:
            return found
        return crossed_estimate(setting, self.scale, found, crossed_variance(runs[users]))


def values_of(plan: Plan, scores: Mapping[str, Scores]) -> list[Values]:
    """The values of each metric of a plan, over the users that all scores share."""
    found = []
    for entry in plan.metrics:
        averaged = [one.averaged(entry) for one in scores.values()]
        n_users = next(iter(scores.values())).n_users
        scale = averaged[0].scale(entry)
        found.append(Values(entry.label, entry.spec.increasing, scale, averaged, n_users))
    return found


def mean_of_runs(runs: Sequence[Scores]) -> Scores:
    """The scores of one system, averaged over its training runs."""
    if len(runs) == 1:
        return runs[0]
    return replace(
        runs[0],
        matrix=np.mean([one.matrix for one in runs], axis=0),
        in_rankings=np.all([one.in_rankings for one in runs], axis=0),
        states={},
    )


def with_runs(
    values: Sequence[Values], plan: Plan, systems: Sequence[Sequence[Scores]]
) -> list[Values]:
    """Values together with those of the single runs: a user counts if every run has a value."""
    found = []
    for one, entry in zip(values, plan.metrics, strict=True):
        tables, averaged = [], []
        for runs in systems:
            known = [run.averaged(entry) for run in runs]
            table = np.full((one.n_users, len(runs)), np.nan)
            for column, each in enumerate(known):
                table[each.users, column] = each.values
            users = np.flatnonzero(~np.isnan(table).any(axis=1))
            missing, undefined = known[0].missing, known[0].undefined
            averaged.append(Averaged(table[users].mean(axis=1), users, undefined, missing))
            tables.append(table)
        found.append(replace(one, averaged=averaged, runs=tables))
    return found
