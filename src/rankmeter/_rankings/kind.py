"""Base class, plan and ground truth of rankings that are not lists of items."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

from rankmeter._choices import Input
from rankmeter._reading.table import Table
from rankmeter.conventions._plan import Plan, resolve_plan
from rankmeter.errors import ShownAsText, UsageError
from rankmeter.errors._calls import answer_calls_of
from rankmeter.errors._checks import QUERIES
from rankmeter.metrics import Metric


class RankingKind(ShownAsText, ABC):
    """Ranking that is not given as a list of items."""

    def __init_subclass__(cls) -> None:
        answer_calls_of(cls)

    data: ClassVar[Input] = "rankings"
    """Which choices can act on it."""

    @abstractmethod
    def _read(self, plan: Plan) -> Table:
        """Read the ranking in canonical form."""

    def _open(self, reading: Any, columns: Mapping[str, str] | None, plan: Plan) -> Table:
        """Read the ranking for an engine; refuse options for files and columns."""
        name = type(self).__name__
        if reading.engine in ("disk", "spark"):
            raise UsageError(
                f"engine={reading.engine!r} cannot read {name}, which is in memory", option="engine"
            )
        if columns and {"score", "rank"} & columns.keys():
            raise UsageError(f"columns= names columns, which {name} lacks")
        return self._read(plan)

    def _judged(self) -> Table | None:
        """Ground truth of the ranking, or None if the ranking has none of its own."""
        return None

    def _check_plan(self, plan: Plan) -> None:
        """Raise an error if a metric needs a number of candidates that the ranking lacks."""

    def _check_beside(self, others: Iterable[RankingKind]) -> None:
        """Raise an error if numbers of the others cannot be compared with those of the ranking."""


def resolve_plan_of_systems(
    metrics: str | Metric | Iterable[str | Metric],
    like: str | None,
    choices: Mapping[str, Any],
    systems: Iterable[object],
) -> Plan:
    """Resolve the plan for rankings; samples, ranks and grades cannot be mixed with other kinds.

    Raises
    ------
    UsageError
        If a choice cannot act on them, or a metric needs items, which they do not have.
    """
    kinds = [
        rankings
        for rankings in systems
        if isinstance(rankings, RankingKind) and rankings.data != "rankings"
    ]
    if not kinds:
        return resolve_plan(metrics, like=like, choices=choices)
    for rankings in kinds:
        rankings._check_beside(kinds)
    data, name = kinds[0].data, type(kinds[0]).__name__
    plan = resolve_plan_of_data(metrics, like, choices, data)
    for entry in plan.metrics:
        if entry.spec.of_lists or entry.spec.needs_hit_items:
            raise UsageError(f"{entry.label} needs the items that were ranked, which {name} lacks")
    return plan


def resolve_plan_of_data(
    metrics: str | Metric | Iterable[str | Metric],
    like: str | None,
    choices: Mapping[str, Any],
    data: Input,
    *,
    several: bool = False,
) -> Plan:
    """Resolve the plan, with the tie rule of scores unless a choice or a tool sets another one.

    It is ``realistic`` for one true item, which then has the mean of its ranks, and ``expected``
    where a query can have `several` of them.
    """
    options = dict(choices)
    native = like is None or (isinstance(like, str) and like == "rankmeter")
    if data != "grades" and native and options.get("ties") is None:
        options["ties"] = "expected" if several else "realistic"
    plan = resolve_plan(metrics, like=like, choices=options, data=data)
    return plan if data == "grades" else replace(plan, words=QUERIES)


def truth_of_systems(systems: Mapping[str, object], truth: object) -> object:
    """Return the ground truth of the rankings themselves, or else the given `truth`.

    Raises
    ------
    UsageError
        If both are there, or only some of the rankings have one.
    DataError
        If theirs differ.
    """
    tables = {
        name: table
        for name, rankings in systems.items()
        if isinstance(rankings, RankingKind) and (table := rankings._judged()) is not None
    }
    if not tables:
        return truth
    name, first = next(iter(tables.items()))
    if truth is not None:
        raise UsageError(f"{first.source} has its own ground truth: pass None as truth")
    if len(tables) < len(systems):
        other = next(other for other in systems if other not in tables)
        raise UsageError(
            f"{name} ({first.source}) has its own ground truth and {other} has none: they cannot "
            "be compared"
        )
    from rankmeter._rankings.own_truth import merge_same_truth

    return functools.reduce(merge_same_truth, tables.values())
