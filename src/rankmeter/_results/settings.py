"""What a comparison compares, and its choices."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from rankmeter._choices import MOST_RESAMPLES, Setting
from rankmeter._engine.scores import Averaged, UserValues
from rankmeter._evidence.hits import BoolArray, FloatArray, IntArray
from rankmeter._results.estimates import Estimate, crossed_estimate, estimate_on_scale
from rankmeter._statistics.runs import crossed_variance
from rankmeter.conventions._plan import Plan
from rankmeter.errors import UsageError
from rankmeter.errors._checks import (
    check_choice,
    check_integer,
    check_number,
    check_text,
    exact_text,
    option_error,
    unknown_word_error,
)
from rankmeter.metrics import Runs

Test = Literal["auto", "t", "randomization", "wilcoxon"]
Correction = Literal["maxt", "holm", "none"]
Family = Literal["metric", "all"]

MOST_SYSTEMS = 100


@dataclass(frozen=True, eq=False, kw_only=True)
class Settings:
    """Checked options of `rankmeter.compare`, by name; segments and clusters stay as given."""

    baseline: str | None
    test: Test
    correction: Correction
    family: Family
    n_resamples: int
    margin: Any = None
    segments: object = None
    clusters: object = None

    def __post_init__(self) -> None:
        check_choice("test", self.test, Test)
        check_choice("correction", self.correction, Correction)
        check_choice("family", self.family, Family)
        # As a plain number, which JSON can hold.
        resamples = check_integer("n_permutations", self.n_resamples, least=1, most=MOST_RESAMPLES)
        object.__setattr__(self, "n_resamples", resamples)
        _ = self.margins

    def check_systems(self, names: Sequence[str], *, runs: bool) -> None:
        """Refuse systems that these settings cannot compare; `runs`: a system has several runs."""
        clustered = self.clusters is not None
        if runs and (clustered or self.test not in ("auto", "t")):
            conflict = "clusters=" if clustered else f"test={self.test!r}"
            raise UsageError(
                "systems of several training runs are compared by t over users × runs, without "
                f"{conflict}"
            )
        if not 2 <= len(names) <= MOST_SYSTEMS:
            raise UsageError(f"compare 2 to {MOST_SYSTEMS} systems, got {len(names)}")
        for name in names:
            check_text("systems", str(name))
        if self.baseline is not None:
            check_choice("baseline", self.baseline, names)

    def check_margins(self, labels: Iterable[str]) -> None:
        """Refuse a margin of a metric that is not compared."""
        if isinstance(self.margins, dict):
            for label in self.margins.keys() - set(labels):
                raise unknown_word_error("metric in `margin`", label, labels)

    def margin_for_metric(self, label: str) -> tuple[float, bool] | None:
        """Margin of a metric, and whether the margin is a share of the other mean, or None."""
        return self.margins.get(label) if isinstance(self.margins, dict) else self.margins

    @functools.cached_property
    def margins(self) -> dict[str, tuple[float, bool]] | tuple[float, bool] | None:
        """Margins by metric, a single margin for all metrics, or None."""
        if isinstance(self.margin, Mapping):
            return {label: _parse_margin(value) for label, value in self.margin.items()}
        return None if self.margin is None else _parse_margin(self.margin)

    @property
    def margin_text(self) -> str | dict[str, str] | None:
        """Margin as text, ``0.005`` or ``1%``; a dictionary of texts if margins are by metric."""
        if isinstance(self.margins, dict):
            return {label: _margin_text(*margin) for label, margin in self.margins.items()}
        return None if self.margins is None else _margin_text(*self.margins)


def _margin_text(size: float, relative: bool) -> str:
    return f"{100 * size:g}%" if relative else exact_text(size)


def _parse_margin(value: Any) -> tuple[float, bool]:
    """Parse a margin, ``0.005`` or ``"1%"``: the size, and whether a share of the other mean."""
    if not isinstance(value, str):
        return check_number("margin", value, above=0), False
    text = value.strip()
    try:
        size = float(text.removesuffix("%"))
    except ValueError:
        size = 0.0
    size = size / 100 if text.endswith("%") else size
    if not 0 < size < float("inf"):
        raise option_error("margin", "a number > 0 or a share such as '1%'", value)
    return size, text.endswith("%")


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
    """Whether it is computed over all lists at once."""
    runs: Sequence[Sequence[Averaged]] = ()
    """Those of each system, if any has several; `averaged` is then their mean."""

    @property
    def span(self) -> float:
        """Largest possible difference of two values, or infinity."""
        return self.scale[1] - self.scale[0]

    def paired_values(self, a: int, b: int) -> tuple[IntArray, FloatArray, FloatArray]:
        """Rows of the users compared in systems a and b, with the values of each system."""
        x, y = self.averaged[a], self.averaged[b]
        rows, i, j = np.intersect1d(x.users, y.users, assume_unique=True, return_indices=True)
        compared = self.compared_mask[rows]
        return rows[compared], x.values[i[compared]], y.values[j[compared]]

    @cached_property
    def table(self) -> FloatArray:
        """Values of shape (n_users, n_systems), 0 where a user has no value."""
        table = np.zeros((self.n_users, len(self.averaged)))
        for column, averaged in enumerate(self.averaged):
            table[averaged.users, column] = averaged.values
        return table

    @cached_property
    def averaged_mask(self) -> BoolArray:
        """Mask of the averaged values, of shape (n_users, n_systems)."""
        members = np.zeros((self.n_users, len(self.averaged)), dtype=bool)
        for column, averaged in enumerate(self.averaged):
            members[averaged.users, column] = True
        return members

    def values_of_users(self, users: IntArray) -> FloatArray:
        """Values of users under every system; of a pooled metric, parts whose mean is the value."""
        return self._stack_parts(self.averaged, users) if self.pooled else self.table[users]

    def values_in_runs(self, users: IntArray, system: int) -> FloatArray:
        """Values of some users in the runs of a system."""
        return self._stack_parts(self.runs[system], users)

    def spread_of_runs(self, system: int) -> float:
        """Standard deviation of the means of a system's runs; NaN unless there are several."""
        if not self.runs or len(self.runs[system]) < 2:
            return math.nan
        users = np.flatnonzero(self.compared_mask)
        means = self.values_in_runs(users, system).mean(axis=0) if len(users) else np.nan
        return float(np.std(means, ddof=1)) if len(users) else math.nan

    def _stack_parts(self, systems: Sequence[Averaged], users: IntArray) -> FloatArray:
        return np.stack([averaged.only(users).parts for averaged in systems], axis=1)

    @property
    def compared_mask(self) -> BoolArray:
        """Mask of the compared users: those with a value under every system."""
        common: BoolArray = np.logical_and.reduce(self.averaged_mask, axis=1)
        return common

    @property
    def n_dropped_users(self) -> int:
        """Number of users averaged for some systems but not for all."""
        return int((self.averaged_mask.any(axis=1) & ~self.compared_mask).sum())

    def estimates(
        self, setting: Setting, users: IntArray, clusters: IntArray | None
    ) -> list[Estimate]:
        """Mean of each system over the common users among some users."""
        users = users[self.compared_mask[users]]
        if self.runs:
            return [
                self._estimate_of_runs(setting, system, users) for system in range(len(self.runs))
            ]
        return [
            estimate_on_scale(setting, self.label, self.scale, averaged.only(users), clusters)
            for averaged in self.averaged
        ]

    def _estimate_of_runs(self, setting: Setting, system: int, users: IntArray) -> Estimate:
        """Mean of one system over users and training runs."""
        averaged = self.averaged[system].only(users)
        mean = estimate_on_scale(setting, self.label, self.scale, averaged)
        if len(self.runs[system]) < 2 or mean.n < 2:
            return mean
        crossed = crossed_variance(self.values_in_runs(averaged.users, system))
        return crossed_estimate(setting, self.scale, mean, crossed, alone=averaged.has_user_values)


def values_by_metric(
    plan: Plan,
    systems: Sequence[Sequence[UserValues]],
    n_users: int,
    shared_rows: Callable[[UserValues], IntArray] | None = None,
) -> list[Values]:
    """The values of each metric of a plan, over `n_users` rows that all systems share.

    Each system has the scores of its runs; a user counts if every run has a value. `shared_rows`
    gives the shared row of each user of some scores, if it is not the same row.
    """
    several = any(len(runs) > 1 for runs in systems)
    values = []
    for entry in plan.metrics:
        runs = [
            [
                _map_to_shared_rows(scores.averaged(entry), scores, shared_rows)
                for scores in system_runs
            ]
            for system_runs in systems
        ]
        scale = runs[0][0].scale(entry)
        if several:
            runs = [_restrict_to_common_users(system_runs, n_users) for system_runs in runs]
        means = [_average_runs(system_runs) if several else system_runs[0] for system_runs in runs]
        spec = entry.spec
        values.append(
            Values(
                entry.label, spec.increasing, scale, means, n_users, entry.is_pooled, spec.whole,
                runs if several else (),
            )
        )  # fmt: skip
    return values


def _map_to_shared_rows(
    averaged: Averaged, scores: UserValues, shared_rows: Callable[[UserValues], IntArray] | None
) -> Averaged:
    """Map the users of averaged values to shared rows; unchanged if `shared_rows` is None."""
    if shared_rows is None:
        return averaged
    return replace(averaged, users=shared_rows(scores)[averaged.users])


def mean_of_runs(runs: Sequence[UserValues]) -> UserValues:
    """The scores of one system, averaged over its training runs."""
    if len(runs) == 1:
        return runs[0]
    return replace(
        runs[0],
        matrix=np.mean([run.matrix for run in runs], axis=0),
        in_rankings=np.all([run.in_rankings for run in runs], axis=0),
        states={label: Runs(tuple(run.states[label] for run in runs)) for label in runs[0].states},
    )


def _restrict_to_common_users(runs: Sequence[Averaged], n_users: int) -> list[Averaged]:
    """Restrict the runs of a system to the users with a value in every run."""
    n_runs = np.bincount(np.concatenate([run.users for run in runs]), minlength=n_users)
    return [run.only(np.flatnonzero(n_runs == len(runs))) for run in runs]


def _average_runs(runs: Sequence[Averaged]) -> Averaged:
    """Average the values of a system's runs over the same users."""
    states = tuple(run.state for run in runs if run.state is not None)
    values = np.mean([run.values for run in runs], axis=0)
    return replace(runs[0], values=values, state=Runs(states) if states else None)
