"""A question: ground truth, metrics and conventions, and side data, asked of any rankings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

from rankmeter._caution import warn
from rankmeter._checks import refused, shown
from rankmeter._engine import Reading, check_candidates
from rankmeter._ingest import (
    Table,
    is_records,
    label_caution,
    no_judgments,
    swap_caution,
    threshold_caution,
    unify_all,
)
from rankmeter._matrix._kind import Kind, plan_of, truth_of
from rankmeter._plan import Plan
from rankmeter._results.result import Result
from rankmeter._side._given import Given, Side, read_side
from rankmeter._words import USERS, Words
from rankmeter.errors import DataError, UsageError
from rankmeter.metrics import Metric


@dataclass(frozen=True, eq=False)
class Question:
    """Ground truth in any form, metrics, and side data, for rankings that come later."""

    truth: object
    metrics: str | Metric | Iterable[str | Metric]
    like: str | None
    choices: Mapping[str, Any]
    given: Given
    columns: Mapping[str, Any] | None = None
    how: Reading = Reading()  # noqa: RUF009 - it never changes
    clusters: object = None

    def __post_init__(self) -> None:
        if isinstance(self.metrics, Iterator):  # a plan is made of them more than once
            object.__setattr__(self, "metrics", [*self.metrics])

    def bound(self) -> Question:
        """Read ground truth and side data now, so that they are read once for all rankings."""
        self.given.read()
        if self.truth is None:
            return self
        columns = _columns_by_side(self.columns)["truth"]
        return replace(self, truth=self.how.read_truth(self.truth, columns))

    def plan(self, systems: Iterable[object] = ()) -> Plan:
        """The metrics with the value of every choice, for some rankings."""
        return plan_of(self.metrics, self.like, self.choices, systems)

    def read(self, systems: Mapping[str, object]) -> tuple[Plan, Table, dict[str, Table], Side]:
        """The plan with notes, ground truth, rankings and side data, with ids of the same types.

        Reasons to doubt that they are what was meant become warnings, and `cautions` of the tables.

        Parameters
        ----------
        systems : mapping of str to object
            Rankings by name, each in any form that `evaluate` takes. The truth may be left out if
            one system holds records of both.

        Raises
        ------
        UsageError
            If ground truth is missing, or two systems have one name.
        DataError
            If the data cannot be read with certainty, or lack what an option asks for.
        """
        self._refuse(systems)
        plan, how, truth = self.plan(systems.values()), self.how, truth_of(systems, self.truth)
        check_candidates(plan, systems.values())
        by_side = _columns_by_side(self.columns)
        if truth is None and not plan.needs_no_truth:
            truth = next(iter(systems.values()), None)
            if len(systems) != 1 or not is_records(truth):
                raise UsageError(
                    "truth is missing: pass the judged items as the second argument, or records of "
                    "the form {'predict_list': […], 'ground_truth': {…}} as the only argument"
                )
        tables = self._rankings(systems, by_side["rankings"], plan)
        if truth is None:
            judged = no_judgments(next(iter(tables.values())))
        else:
            judged = how.read_truth(truth, by_side["truth"])
        judged, tables = unify_all(judged.doubted(label_caution(judged)), tables)
        if plan.assumes_relevance:
            judged = judged.doubted(threshold_caution(judged))
        tables = {name: how.load_judged(t, judged, plan) for name, t in tables.items()}
        tables = {name: t.doubted(swap_caution(t, judged)) for name, t in tables.items()}
        for table in (judged, *tables.values()):
            warn(*table.cautions)
        side = read_side(self.given, next(iter(tables.values())), plan.n_items)
        words = vocabulary_of(judged, tables)
        engine = how.describe(tables.values())
        return replace(plan, engine=engine, side=side.notes, words=words), judged, tables, side

    def _refuse(self, systems: Mapping[str, object]) -> None:
        """Refuse results, and what cannot act on rankings that have no items."""
        given = {"columns": self.columns, **self.given.arguments()}
        for rankings in systems.values():
            if isinstance(rankings, Result):
                raise UsageError(
                    f"{type(rankings).__name__} is a result, not rankings: pass the rankings, or "
                    "compare results with rm.compare({'A': result_a, 'B': result_b})"
                )
            if isinstance(rankings, Kind) and rankings.data != "rankings":
                name = next((name for name, value in given.items() if value is not None), None)
                if name is not None:
                    raise UsageError(
                        f"`{name}` cannot act on {type(rankings).__name__}, which has no items: "
                        "leave it out",
                        option=name,
                    )

    def _rankings(
        self, systems: Mapping[str, object], columns: Mapping[str, str] | None, plan: Plan
    ) -> dict[str, Table]:
        collapsing = self.given.collapsing
        tables: dict[str, Table] = {}
        for name, rankings in systems.items():
            if str(name) in tables:
                raise UsageError(f"two systems are called {str(name)!r}")
            try:
                table = self.how.read(rankings, columns, plan)
                tables[str(name)] = table if collapsing is None else collapsing(table)
            except DataError as error:
                if len(systems) == 1:
                    raise
                raise type(error)(f"System {str(name)!r}: {error}") from None
        return tables


def vocabulary_of(judged: Table, systems: Mapping[str, Table]) -> Words:
    """The words of the ground truth, or of rankings, if they differ from those of the house."""
    words = (table.origin.words for table in (judged, *systems.values()))
    return next((w for w in words if w != USERS), USERS)


def _columns_by_side(columns: Mapping[str, Any] | None) -> dict[str, Mapping[str, str] | None]:
    """The roles that each side has, from one mapping for both or one for each."""
    if columns is None:
        return {"rankings": None, "truth": None}
    if not isinstance(columns, Mapping) or not all(isinstance(role, str) for role in columns):
        raise refused("columns", "a mapping from role to column name", columns)
    if any(isinstance(value, Mapping) for value in columns.values()):
        unknown = set(columns) - {"rankings", "truth"}
        if unknown:
            raise UsageError(
                f"columns= takes one mapping each for rankings and truth, got "
                f"{shown(sorted(unknown))}"
            )
        return {"rankings": columns.get("rankings"), "truth": columns.get("truth")}
    roles = {"user", "item", "score", "rank", "gain"}
    unknown = set(columns) - roles
    if unknown:
        raise UsageError(f"the roles in columns= are {sorted(roles)}, not {shown(sorted(unknown))}")
    truth = {role: columns[role] for role in ("user", "item", "gain") if role in columns}
    ranks = {role: columns[role] for role in ("user", "item", "score", "rank") if role in columns}
    return {"rankings": ranks, "truth": truth}


def holds_systems(data: object) -> bool:
    """Whether this is a mapping from name to rankings, so not ground truth."""
    return isinstance(data, Mapping) and len(data) > 0 and all(map(holds_lists, data.values()))


def holds_lists(data: object) -> bool:
    """Whether this is data of several users, and not the judged items of one."""
    if isinstance(data, Mapping | list):
        inner = data.values() if isinstance(data, Mapping) else data
        return any(isinstance(value, Mapping | list | set | frozenset) for value in inner)
    return isinstance(data, PathLike | Kind) or hasattr(data, "columns")
