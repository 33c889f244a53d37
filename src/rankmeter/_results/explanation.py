"""The result of an explanation: steps between two conventions, or settings that give a number."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from rankmeter._results.estimates import Estimate
from rankmeter._results.result import Result
from rankmeter._results.tables import TextTable
from rankmeter._results.wording import change_text, number_text
from rankmeter.errors._checks import words_in_use


@dataclass(frozen=True)
class Step:
    """One option changed on the way from the first convention to the second.

    Attributes
    ----------
    switch : str
        Name of the option.
    before, after : object
        Its value in the first and in the second convention.
    value : float
        The mean with this option and all earlier ones changed.
    change : float
        By how much this option changed the mean.
    share : float
        `change` as a share of the whole difference; NaN without a difference.

    The change is NaN where the mean is undefined before or after the step.
    """

    switch: str
    before: Any
    after: Any
    value: float
    change: float
    share: float


@dataclass(frozen=True)
class UserChange:
    """A user whose value differs between the two conventions.

    Attributes
    ----------
    user : object
    before, after : float or None
        Values under the first and the second convention; None where the user is not averaged.
    items : tuple of str
        The top of the user's ranking; relevant items carry their gain: ``"b (3)"``.
    n_relevant : int
        Relevant items in the user's truth.
    """

    user: Any
    before: float | None
    after: float | None
    items: tuple[str, ...]
    n_relevant: int


@dataclass(frozen=True)
class Match:
    """Settings that give the target.

    Attributes
    ----------
    convention : str
        The convention to start from.
    switches : mapping of str to object
        The options to change in it; empty if the convention itself gives the number.
    value : float
        The resulting mean.
    """

    convention: str
    switches: Mapping[str, Any]
    value: float

    def __str__(self) -> str:
        settings = ", ".join(f"{name}={value}" for name, value in self.switches.items())
        return f"{self.convention}" + (f" with {settings}" if settings else "")


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(Result):
    """Where a number comes from: steps between two conventions, or settings that match a number.

    Attributes
    ----------
    metric : str
    first, second : str
        Names of the conventions; `second` is empty with a target.
    start, end : Estimate
        The result under each of the two; `end` is `start` with a target.
    steps : tuple of Step
    users : tuple of UserChange
        Those whose value changes most.
    target : str
        The target as it was given; empty without one.
    matches : tuple of Match
        Settings that give the target, simplest first.
    tried : int
        How many different settings were computed.
    nearest : tuple of Match
        If nothing matches: the settings whose values are nearest to the target, nearest first.
    searched : str
        The searched settings, in words.
    notes : tuple of str
        Notes on the means and the conventions, as below an evaluation.
    cautions : tuple of str
        Reasons to doubt that the data are what was meant.
    """

    metric: str
    first: str
    second: str
    start: Estimate
    end: Estimate
    steps: tuple[Step, ...] = ()
    users: tuple[UserChange, ...] = ()
    target: str = ""
    matches: tuple[Match, ...] = ()
    tried: int = 0
    nearest: tuple[Match, ...] = ()
    searched: str = ""
    notes: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()

    def _dict_content(self) -> dict[str, Any]:
        remarks = {"notes": list(self.notes), "cautions": list(self.cautions)}
        if self.target:
            return {
                "metric": self.metric,
                "target": self.target,
                "tried": self.tried,
                "searched": self.searched,
                "matches": [vars(match) for match in self.matches],
                "nearest": [vars(match) for match in self.nearest],
                **remarks,
            }
        return {
            "metric": self.metric,
            "between": [self.first, self.second],
            "values": [self.start.mean, self.end.mean],
            "steps": [vars(step) for step in self.steps],
            "users": [vars(user) for user in self.users],
            **remarks,
        }

    def to_polars(self) -> pl.DataFrame:
        """A row for each step, or for each match or nearest setting: its value and options."""
        if self.target:
            settings = [(m.convention, str(m), m.value) for m in self.matches or self.nearest]
            return pl.DataFrame(settings, schema=["convention", "setting", "value"], orient="row")
        rows = [vars(s) | {"before": str(s.before), "after": str(s.after)} for s in self.steps]
        words = dict.fromkeys(("switch", "before", "after"), pl.String)
        numbers = dict.fromkeys(("value", "change", "share"), pl.Float64)
        return pl.DataFrame(rows, schema={**words, **numbers})

    def table(self) -> TextTable:
        """The steps, or the matches, as a table."""
        if self.target:
            tools: dict[tuple[str, str], list[str]] = {}  # those with equal values share a line
            for match in self.matches or self.nearest:
                options = str(match).removeprefix(match.convention)
                tools.setdefault((options, f"{match.value:.10g}"), []).append(match.convention)
            rows = [(", ".join(names) + options, v) for (options, v), names in tools.items()]
            first = "setting" if self.matches else "nearest setting"
            remarks = (self.verdict(), *self.notes, *self.cautions)
            return TextTable((first, self.metric), tuple(rows), remarks)
        still = [step for step in self.steps if step not in self._changing_steps()]
        steps = [
            (
                f"{step.switch}: {step.before} → {step.after}",
                number_text(step.value),
                change_text(step.change),
                "" if math.isnan(step.share) else f"{step.share:.0%}",
            )
            for step in self._changing_steps()
        ]
        start, end = (
            (f"as {name}", number_text(e.mean), "", "")
            for name, e in ((self.first, self.start), (self.second, self.end))
        )
        columns = ("one option at a time", self.metric, "change", "of total")
        quiet = ", ".join(f"{step.switch} ({step.before} → {step.after})" for step in still)
        notes = [self.verdict(), *([f"without effect here: {quiet}"] if still else [])]
        return TextTable(columns, (start, *steps, end), (*notes, *self.notes, *self.cautions))

    def _changing_steps(self) -> list[Step]:
        """Steps that changed the mean, including changes from a number to NaN or back."""
        before = [self.start.mean, *(step.value for step in self.steps)]
        return [
            step
            for step, value in zip(self.steps, before, strict=False)
            if step.change != 0 and not (math.isnan(value) and math.isnan(step.value))
        ]

    def user_table(self) -> TextTable:
        """The users whose value changes most, with the top of their lists."""
        rows = tuple(
            (
                str(u.user),
                number_text(u.before),
                number_text(u.after),
                str(u.n_relevant),
                " ".join(u.items),
            )
            for u in self.users
        )
        return TextTable(
            (words_in_use().user, self.first, self.second, "relevant", "ranking (gain)"), rows
        )

    def verdict(self) -> str:
        """The explanation in one sentence."""
        if self.target:
            if not self.matches:
                return (
                    f"no match for {self.target} among {self.tried:,} settings (searched: "
                    f"{self.searched}); the nearest are listed. Another threshold (relevant), "
                    "another convention to start from (like) or another split may give it"
                )
            if len(self.matches) == 1:
                return f"{self.matches[0]} gives {self.target}"
            return (
                f"{len(self.matches):,} of {self.tried:,} settings give {self.target}, so the "
                "number alone does not show which was used; the simplest come first"
            )
        if not self.steps:
            return f"{self.first} and {self.second} have the same options for {self.metric}"
        moved = self._changing_steps()
        if not moved:
            return f"{len(self.steps)} options differ; none affects this result"
        differ = (
            f"{self.first} and {self.second} differ in {len(self.steps)} options; "
            f"{len(moved)} {'affects' if len(moved) == 1 else 'affect'} this result"
        )
        numbers = [step for step in moved if not math.isnan(step.change)]
        causes = ", ".join(
            f"{step.switch} ({step.before} → {step.after})" for step in moved if step not in numbers
        )
        if causes:
            differ += f"; whether there is a mean at all depends on {causes}"
        if not numbers:
            return differ
        main = max(numbers, key=lambda step: abs(step.change))
        return f"{differ}, chiefly {main.switch} ({main.before} → {main.after}): {main.change:+.4f}"

    def footnote(self) -> str:
        """The explanation as prose that can be pasted below a table of a paper."""
        if self.target:
            settings = "; ".join(str(m) for m in self.matches[:3]) or "nothing known"
            return f"{self.metric} = {self.target} is obtained by: {settings}."
        steps = "; ".join(
            f"{s.switch} {s.before} → {s.after} ({change_text(s.change)})"
            for s in self._changing_steps()
        )
        return (
            f"{self.metric} on the same rankings: {number_text(self.start.mean)} by the convention "
            f"of {self.first}, {number_text(self.end.mean)} by that of {self.second}. The "
            f"difference comes from: {steps or 'nothing'} (options changed cumulatively, in this "
            "order)."
        )

    def _tables(self) -> list[TextTable]:
        return [self.table(), self.user_table()] if self.users else [self.table()]

    def _repr_html_(self) -> str:
        return super()._repr_html_() + f"<p>{html.escape(self.footnote())}</p>"
