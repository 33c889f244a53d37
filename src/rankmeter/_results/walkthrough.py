"""How the numbers of one user are computed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from rankmeter._annexes import annex
from rankmeter._results.result import Result
from rankmeter._results.tables import TextTable, escape_markdown
from rankmeter.errors import spell_out_hidden_characters, to_one_line
from rankmeter.errors._checks import USERS, Words, use_words_of_result


@dataclass(slots=True)
class Place:
    """An item of a list with its gain and the numbers computed for it by a metric.

    Attributes
    ----------
    rank : str
        ``"3"``; ``"3–5"`` in an unresolved tie; empty for an item that is not ranked.
    item : object
    gain : float
        NaN for an item without a judgment.
    relevant : bool
    title : str
        Empty if it is not known.
    numbers : dict of str to float
        By the name of the column.
    """

    rank: str
    item: Any
    gain: float = math.nan
    relevant: bool = False
    title: str = ""
    numbers: dict[str, float] = field(default_factory=dict)


@dataclass
class Grid:
    """A table with one `Place` per row and named columns."""

    places: list[Place]
    columns: list[str] = field(default_factory=list)

    def fill_column(self, name: str, numbers: Iterable[tuple[int, float]]) -> None:
        """Fill a column; append a number to the name if the name has other values."""
        values, base, number = dict(numbers), name, 1
        if not values and name in self.columns:
            return
        while name in self.columns:
            if all(p.numbers.get(name) == values.get(i) for i, p in enumerate(self.places)):
                return
            number += 1
            name = f"{base} ({number})"
        self.columns.append(name)
        for i, value in values.items():
            self.places[i].numbers[name] = value


@dataclass(frozen=True)
class Line:
    """A step to the value: ``name = text = value``, where the text names the parts.

    The text is an expression of Python; it is empty for the sum of a column.
    """

    name: str
    text: str
    parts: Mapping[str, float]
    value: float


@dataclass(frozen=True)
class Walk:
    """The list of one user, and the steps from it to the value of a metric.

    Attributes
    ----------
    label : str
    k : int or None
    value : float
        NaN where the metric is undefined.
    counted : float
        What counts in the mean: NaN if nothing does.
    ranking : Grid
    ideal : Grid
        The perfect ranking, if the metric uses it.
    categories : Grid
        Numbers by category, if the metric uses them.
    lines : tuple of Line
    rule : str
        What decides whether the value counts in the mean: ``"missing=zero"``.
    facts : tuple of str
        What is special about the user.
    whole : bool
        Whether the value is computed over all lists at once.
    """

    label: str
    k: int | None
    value: float
    counted: float
    ranking: Grid
    ideal: Grid
    categories: Grid
    lines: tuple[Line, ...]
    rule: str
    facts: tuple[str, ...]
    whole: bool


class Heading(str):
    """A line above the tables of a metric."""

    __slots__ = ()


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
    _words: Words = USERS

    @use_words_of_result
    def parts(self) -> list[str | TextTable]:
        """Headings, tables and lines, in reading order."""
        parts: list[str | TextTable] = annex("_show.tables").lay_out(self)
        return parts

    def table(self) -> TextTable:
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

    def _tables(self) -> list[TextTable]:
        return [part for part in self.parts() if isinstance(part, TextTable)]

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
            if isinstance(part, TextTable):
                lines += [part.to_text(), ""]
            else:
                lines += [*([""] if lines and isinstance(part, Heading) else []), to_one_line(part)]
        return "\n".join(lines)

    def to_markdown(self) -> str:
        """All tables and lines in Markdown."""
        return "\n\n".join(
            part.to_markdown()
            if isinstance(part, TextTable)
            else "### " * isinstance(part, Heading) + escape_markdown(part)
            for part in self.parts()
        )

    def _repr_html_(self) -> str:
        return "".join(
            part.to_html() if isinstance(part, TextTable) else _html_paragraph(part)
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
