"""How the numbers of one user are computed."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import polars as pl

from rankmeter._engine.memory import Source
from rankmeter._engine.scores import Scores
from rankmeter._engine.walk import Grid, Place, Walk, make_ranking_grid, walk_metrics
from rankmeter._results.notes import Facts, notes_on_means
from rankmeter._results.result import Result
from rankmeter._results.tables import Table, escape_markdown
from rankmeter._results.walks import Heading, has_parentheses, walkthrough_parts
from rankmeter.conventions._plan import MetricPlan, Plan
from rankmeter.errors import DataError, UsageError, spell_out_hidden_characters, to_one_line
from rankmeter.errors._checks import (
    USERS,
    Words,
    brief,
    list_values,
    reword,
    suggest_words,
    use_words_of_result,
)
from rankmeter.metrics import Metric

TOP, MOST = 10, 20
"""How many items of a list are shown: the first ones, and with further relevant ones."""


@dataclass(frozen=True, eq=False, repr=False)
class Walkthrough(Result):
    """How the values of some metrics are computed for one user.

    Attributes
    ----------
    user : object
    walks : tuple of pairs of str and Walk
        The name of the system, which is empty if there is only one, and for each metric its
        ``value``, what counts in the mean (``counted``), the ``ranking`` with the numbers of its
        items, the ``ideal`` ranking, and the ``lines`` that lead to the value.
    notes : tuple of str
        The choices behind the values.
    words : Words
        What users and items are called.
    """

    user: Any
    walks: tuple[tuple[str, Walk], ...]
    notes: tuple[str, ...] = ()
    words: Words = USERS

    @use_words_of_result
    def parts(self) -> list[str | Table]:
        """Headings, tables and lines, in reading order."""
        whose = f"{reword('user')} {to_one_line(str(self.user))}"
        blocks = [
            part
            for system, walk in self.walks
            for part in walkthrough_parts(walk, f"{system}, {whose}" if system else whose)
        ]
        explained = any(map(has_parentheses, blocks))
        notes = [*self.notes, *["in parentheses: judged, not relevant"] * explained]
        return [part for part in (*blocks, " · ".join(notes)) if part]

    def table(self) -> Table:
        """The list of the first metric, with the numbers of its items."""
        return self._tables()[0]

    def to_polars(self) -> pl.DataFrame:
        """A row for each item of the ranking, by system and metric, with its numbers."""
        rows = [
            {"system": system, "metric": walk.label, **row, "item": str(row["item"])}
            for system, walk in self.walks
            for row in _item_rows(walk.ranking)
        ]
        return pl.DataFrame(rows, infer_schema_length=None)

    def _tables(self) -> list[Table]:
        return [part for part in self.parts() if isinstance(part, Table)]

    def _dict_content(self) -> dict[str, Any]:
        content: dict[str, Any] = {}
        for system, walk in self.walks:
            numbers = {
                "value": walk.value,
                "counts_as": walk.counted,
                "rule": walk.rule,
                "ranking": _item_rows(walk.ranking),
                "ideal": _item_rows(walk.ideal),
                "categories": _item_rows(walk.categories),
                "steps": [vars(line) for line in walk.lines if line.name],
            }
            (content.setdefault(system, {}) if system else content)[walk.label] = numbers
        key = "systems" if any(system for system, _ in self.walks) else "metrics"
        return {"user": self.user, key: content, "notes": list(self.notes)}

    def __repr__(self) -> str:
        lines = []
        for part in self.parts():
            if isinstance(part, Table):
                lines += [part.to_text(), ""]
            else:
                lines += [*([""] if lines and isinstance(part, Heading) else []), to_one_line(part)]
        return "\n".join(lines)

    def to_markdown(self) -> str:
        """All tables and lines in Markdown."""
        return "\n\n".join(
            part.to_markdown()
            if isinstance(part, Table)
            else "### " * isinstance(part, Heading) + escape_markdown(part)
            for part in self.parts()
        )

    def _repr_html_(self) -> str:
        return "".join(
            part.to_html() if isinstance(part, Table) else _html_paragraph(part)
            for part in self.parts()
        )


def _html_paragraph(text: str) -> str:
    import html

    escaped = html.escape(spell_out_hidden_characters(text))
    return f"<p><b>{escaped}</b></p>" if isinstance(text, Heading) else f"<p>{escaped}</p>"


def _item_rows(grid: Grid) -> list[dict[str, Any]]:
    return [
        {
            "rank": p.rank,
            "item": p.item,
            **({"title": p.title} if p.title else {}),
            "gain": p.gain,
            "relevant": p.relevant,
            **p.numbers,
        }
        for p in grid.places
    ]


def select_metrics(plan: Plan, metrics: str | Iterable[str] | None) -> list[MetricPlan]:
    """Metrics of a plan by any of their names; None selects all metrics."""
    if metrics is None:
        return list(plan.metrics)
    single = isinstance(metrics, Metric)
    names = [str(metrics)] if single else list_values("metrics", "metrics", metrics)
    return [plan[name] for name in names]


def plan_notes(plan: Plan, facts: Facts) -> tuple[str, ...]:
    """Notes on the convention, the threshold and the rule for ties."""
    ties = dict.fromkeys(entry.alignment.ties for entry in plan.metrics)
    return (
        *notes_on_means(plan, {"": {"relevant": facts["relevant"]}}),
        f"ties {', '.join(ties)}",
    )


def trace_user(
    source: Source | None, scores: Scores, user: object, entries: Iterable[MetricPlan]
) -> list[Walk]:
    """Trace the values of some metrics for one user.

    Raises
    ------
    UsageError
        If the result has no such user, or was not made of rankings in memory.
    DataError
        If rankings or ground truth have changed since.
    """
    if source is None:
        raise UsageError(
            "show() needs the ranks of each user, which neither keep='moments' nor the mean of "
            "several training runs has: accumulate with keep='values', or evaluate one run"
        )
    row = _find_user_row(scores.users, user)
    user = scores.users[row]
    block = source.open().select_user(user, source.system)
    walks = []
    for walk in walk_metrics(block, source.system, entries, scores, row):
        value = scores.values[walk.label][row]
        if not (walk.whole or walk.value == value or math.isnan(walk.value + value)):
            raise DataError(
                f"rankings or ground truth have changed: {walk.label} of {reword('user')} "
                f"{brief(user)} was {value:.6g} and is now {walk.value:.6g}: evaluate again"
            )
        walks.append(walk)
    return walks


def top_of_list(source: Source, scores: Scores, user: str, entry: MetricPlan) -> list[Place]:
    """The first items of a user's list, and the relevant items that are missing or further down."""
    block = source.open().select_user(
        scores.users[_find_user_row(scores.users, user)], source.system
    )
    places = make_ranking_grid(block, source.system, entry.alignment).places
    return [p for i, p in enumerate(places) if i < TOP or p.relevant][:MOST]


def _find_user_row(users: pl.Series, user: object) -> int:
    """Row index of a user; the id may also be given as text."""
    try:
        text = str(user).encode().decode()
    except Exception:  # noqa: BLE001 - half of a surrogate pair, or what a foreign class raises
        text = brief(user)
    matches = (users.cast(pl.String) == text).arg_true()
    if len(matches):
        return int(matches[0])
    ids = [str(user_id) for user_id in users.head(10_000)]
    hint = suggest_words(text, ids) or f"; for example {', '.join(map(brief, users.head(3)))}"
    raise UsageError(
        f"the result has no {reword('user')} {brief(user)}{hint}", option="user", got=user
    )
