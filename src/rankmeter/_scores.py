"""Per-user values of every metric of a plan: the only caller of metric functions."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from rankmeter._align import Aligned
from rankmeter._hits import FloatArray
from rankmeter._plan import Alignment, MetricPlan, Plan
from rankmeter.errors import DataError, UsageError
from rankmeter.metrics import Ratio

__all__ = ["Averaged", "Scores", "score"]

BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Averaged:
    """What one metric contributes to its mean.

    Attributes
    ----------
    values : float64 array of shape (n,)
        The values that are averaged, in order of the users.
    users : int64 array of shape (n,)
        Whose values they are: rows of `Scores.users`.
    undefined : int
        Users for whom the metric was undefined, whatever they then counted as.
    missing : int
        Users with truth but without a ranking, whatever they counted as.
    state : Ratio, optional
        The shares of a metric that is pooled; without it all values count alike.
    """

    values: FloatArray
    users: npt.NDArray[np.int64]
    undefined: int
    missing: int
    state: Ratio | None = None

    def only(self, chosen: BoolArray) -> Averaged:
        """The part of some users, given as a mask over all rows of `Scores.users`."""
        inside = chosen[self.users]
        return replace(
            self,
            values=self.values[inside],
            users=self.users[inside],
            state=None if self.state is None else self.state.take(np.flatnonzero(inside)),
        )


@dataclass(frozen=True, eq=False)
class Scores:
    """One value per user and metric, before any averaging. Scores of disjoint users merge.

    Attributes
    ----------
    users : polars.Series
        Ids, ascending.
    values : mapping of str to float64 array of shape (n_users,)
        By label of the metric; NaN where it is undefined.
    in_truth, in_rankings : bool arrays of shape (n_users,)
        Whether truth and rankings name the user.
    has_truth : bool array of shape (n_users,)
        Whether the truth judges any item of the user.
    has_relevant : mapping of str to bool array of shape (n_users,)
        By label: whether the truth holds anything relevant.
    n_ranked : mapping of str to int64 array of shape (n_users,)
        By label: how many items the ranking holds.
    states : mapping of str to Ratio
        By label, of the metrics that are pooled: the shares of all users.
    counts : mapping of str to int
        Facts about the data that add up over blocks.
    """

    users: pl.Series
    values: Mapping[str, FloatArray]
    in_truth: BoolArray
    in_rankings: BoolArray
    has_truth: BoolArray
    has_relevant: Mapping[str, BoolArray]
    n_ranked: Mapping[str, npt.NDArray[np.int64]]
    states: Mapping[str, Ratio]
    counts: Mapping[str, int]

    @classmethod
    def merge(cls, blocks: Iterable[Scores]) -> Scores:
        """Put blocks of users together.

        Parameters
        ----------
        blocks : iterable of Scores
            Of one plan, with no user in two of them.

        Raises
        ------
        DataError
            If a user is in two blocks.
        """
        parts = list(blocks)
        if len(parts) == 1:
            return parts[0]
        users = pl.concat([part.users for part in parts])
        order = users.arg_sort().to_numpy()
        users = users.sort()
        if users.n_unique() != len(users):
            raise DataError("a user is in two blocks: cut the data by user, not by row")

        def join(of: Callable[[Scores], npt.NDArray[Any]]) -> npt.NDArray[Any]:
            joined: npt.NDArray[Any] = np.concatenate([of(part) for part in parts])[order]
            return joined

        labels = list(parts[0].values)
        names = sorted({name for part in parts for name in part.counts})
        return cls(
            users,
            {label: join(lambda p, label=label: p.values[label]) for label in labels},  # type: ignore[misc]
            join(lambda p: p.in_truth),
            join(lambda p: p.in_rankings),
            join(lambda p: p.has_truth),
            {label: join(lambda p, label=label: p.has_relevant[label]) for label in labels},  # type: ignore[misc]
            {label: join(lambda p, label=label: p.n_ranked[label]) for label in labels},  # type: ignore[misc]
            {
                label: functools.reduce(operator.add, (p.states[label] for p in parts)).take(order)
                for label in parts[0].states
            },
            {name: sum(part.counts.get(name, 0) for part in parts) for name in names},
        )

    def averaged(self, entry: MetricPlan) -> Averaged:
        """Apply the averaging choices of one metric.

        Parameters
        ----------
        entry : MetricPlan
            One of the plan's metrics.

        Returns
        -------
        Averaged

        Raises
        ------
        DataError
            If a choice is ``raise`` and there is such a user.
        """
        choices = entry.averaging
        values = self.values[entry.label].copy()
        missing = self.in_truth & ~self.in_rankings
        extra = self.in_rankings & ~self.in_truth
        for name, mask, choice, what in (
            ("missing", missing, choices.missing, "in the truth have no ranking"),
            ("extra", extra, choices.extra, "in the rankings have no truth"),
        ):
            if choice == "raise" and mask.any():
                raise DataError(self._refusal(entry, name, mask, what))
        chosen = self.in_truth.copy()
        if choices.missing == "skip":
            chosen &= self.in_rankings
        if choices.empty_truth == "skip":
            chosen &= self.has_truth
        if choices.empty == "skip":
            chosen &= ~(self.in_rankings & (self.n_ranked[entry.label] == 0))
        if choices.extra == "zero":
            chosen |= extra
            values[extra] = 0.0
        if choices.users == "relevant":
            chosen &= self.has_relevant[entry.label]
        if choices.users == "hit":
            chosen &= values > 0
        undefined = chosen & np.isnan(values)
        if choices.undefined == "raise" and undefined.any():
            what = "have no defined value (nothing relevant in their truth, or nothing found)"
            raise DataError(self._refusal(entry, "undefined", undefined, what))
        if choices.undefined == "skip":
            chosen &= ~undefined
        else:
            values[undefined] = {"zero": 0.0, "one": 1.0, "nan": np.nan}[choices.undefined]
        rows = np.flatnonzero(chosen)
        state = self.states[entry.label].take(rows) if entry.label in self.states else None
        return Averaged(values[rows], rows, int(undefined.sum()), int(missing.sum()), state)

    def _refusal(self, entry: MetricPlan, name: str, mask: BoolArray, what: str) -> str:
        examples = ", ".join(repr(user) for user in self.users.filter(mask).head(3))
        return (
            f"{int(mask.sum())} users {what}, for example {examples}: {entry.label} was asked to "
            f"raise then ({name}='raise')"
        )


def score(plan: Plan, align: Callable[[Alignment], Aligned]) -> Scores:
    """Compute every metric of the plan for one block of users.

    Parameters
    ----------
    plan : Plan
    align : callable
        Gives the hits of the block for one alignment; called once for each distinct one.

    Returns
    -------
    Scores

    Raises
    ------
    UsageError, DataError
    """
    values: dict[str, FloatArray] = {}
    has_relevant: dict[str, BoolArray] = {}
    n_ranked: dict[str, npt.NDArray[np.int64]] = {}
    states: dict[str, Ratio] = {}
    counts: dict[str, int] = {}
    first: Aligned | None = None
    for alignment, entries in plan.alignments().items():
        aligned = align(alignment)
        first = first or aligned
        for name, count in aligned.counts.items():
            counts[name] = max(counts.get(name, 0), count)
        counts["users_without_relevant"] = max(
            counts.get("users_without_relevant", 0),
            int((aligned.in_truth & (aligned.hits.n_relevant == 0)).sum()),
        )
        for entry in entries:
            values[entry.label] = _evaluate(entry, aligned, entry.spec.function)
            if entry.averaging.aggregate == "micro" and entry.spec.state is not None:
                states[entry.label] = _evaluate(entry, aligned, entry.spec.state)
            has_relevant[entry.label] = aligned.hits.n_relevant > 0
            n_ranked[entry.label] = aligned.hits.n_ranked
    assert first is not None
    order = [entry.label for entry in plan.metrics]
    counts["users_in_truth"] = int(first.in_truth.sum())
    counts["users_in_rankings"] = int(first.in_rankings.sum())
    counts["users_in_both"] = int((first.in_truth & first.in_rankings).sum())
    return Scores(
        first.users,
        {label: values[label] for label in order},
        first.in_truth,
        first.in_rankings,
        first.has_truth,
        {label: has_relevant[label] for label in order},
        {label: n_ranked[label] for label in order},
        states,
        counts,
    )


def _evaluate(entry: MetricPlan, aligned: Aligned, what: Callable[..., Any]) -> Any:
    metric, spec = entry.metric, entry.spec
    evidence = [aligned.evidence[name] for name in spec.needs]
    try:
        return what(*evidence, *([metric.k] if spec.cutoff else []), **dict(metric.options))
    except UsageError as error:
        text = str(error).removeprefix(f"{metric.name} ")
        raise UsageError(f"{entry.label}: {text}") from None
