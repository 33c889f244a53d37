"""The values that a comparison compares: one metric of several systems over the same users."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rankmeter._choices import Setting
from rankmeter._engine import Averaged, Scores
from rankmeter._estimates.estimates import Estimate, estimate_of
from rankmeter._hits import BoolArray, FloatArray, IntArray
from rankmeter._plan import Plan

__all__ = ["Values", "values_of"]


@dataclass(frozen=True, eq=False)
class Values:
    """Per-user values of one metric under every system, over `n_users` rows."""

    label: str
    increasing: bool
    scale: tuple[float, float]
    averaged: Sequence[Averaged]
    n_users: int

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
    def dropped(self) -> int:
        """Users that are averaged for some systems but not for all."""
        return int((self.members.any(axis=1) & ~self.members.all(axis=1)).sum())

    def estimates(
        self, setting: Setting, mask: BoolArray, clusters: IntArray | None, *, common: bool
    ) -> list[Estimate]:
        """The mean of each system over the users of a mask: the common ones, or all of its own."""
        everyone = self.members.all(axis=1)
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


def values_of(plan: Plan, scores: Mapping[str, Scores]) -> list[Values]:
    """The values of each metric of a plan, over the users that all scores share."""
    found = []
    for entry in plan.metrics:
        averaged = [one.averaged(entry) for one in scores.values()]
        n_users = next(iter(scores.values())).n_users
        scale = entry.spec.low, entry.spec.high
        found.append(Values(entry.label, entry.spec.increasing, scale, averaged, n_users))
    return found
