"""One evaluation: its values, its means, its notes and its tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from rankmeter._checks import integer, text
from rankmeter._engine import Scores, Source
from rankmeter._estimates.estimates import Estimate
from rankmeter._estimates.notes import (
    UNUSED_LABELS,
    Facts,
    alike,
    chance_notes,
    cluster_notes,
    clustered,
    facts_of,
    notes_of,
    unused_labels,
)
from rankmeter._estimates.parts import part_frame, part_means
from rankmeter._estimates.wording import level, number
from rankmeter._forks import refuse_dead_threads
from rankmeter._hits import IntArray
from rankmeter._ingest import POLARS, Kind
from rankmeter._plan import Plan
from rankmeter._report.table import Table
from rankmeter._results.result import Logged, decimals, drawn_notes, plain_mean
from rankmeter._words import in_its_words, in_words


@dataclass(frozen=True, eq=False, repr=False)
class Evaluated(Logged):
    """Means of all metrics of a plan, and the values behind them.

    The attributes are those of `Summary`.
    """

    plan: Plan
    scores: Scores
    counts: Mapping[str, int]
    estimates: Mapping[str, Estimate]
    clusters: IntArray | None = None
    cautions: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    groups: pl.DataFrame | None = None
    random: Mapping[str, float] = field(default_factory=dict)
    perfect: Mapping[str, float] = field(default_factory=dict)
    source: Source | None = None
    kind: Kind = POLARS

    @property
    def confidence(self) -> float:
        """Level of the intervals."""
        return self.plan.confidence

    @cached_property
    def values_by_user(self) -> pl.DataFrame:
        """`per_user` in Polars, with the column ``user``."""
        return next(self.pieces_by_user(max(len(self.scores.users), 1)))

    def pieces_by_user(self, size: int) -> Iterator[pl.DataFrame]:
        """The rows of `values_by_user`, those of so many users of the scores at a time."""
        refuse_dead_threads()
        size = integer("size", size, least=1)
        users = self.scores.users
        columns = {}
        used = np.zeros(len(users), dtype=bool)
        for entry in self.plan.metrics:
            averaged = self.scores.averaged(entry)
            column = np.full(len(users), np.nan)
            column[averaged.users] = averaged.values
            used[averaged.users] = True
            columns[entry.label] = column
        for start in range(0, max(len(users), 1), size):
            part = slice(start, start + size)
            values = {label: column[part] for label, column in columns.items()}
            frame = pl.DataFrame({"user": users[part], **values})
            yield frame.filter(pl.Series(used[part])).fill_nan(None)

    def group_rows(self, name: str) -> pl.DataFrame:
        """The means within one way to group users, and their macro averages."""
        if self.groups is None:
            return part_frame({})
        labels = self.groups[name]
        return part_frame(part_means(self.plan, self.scores, labels, self.clusters, macro=True))

    def _content(self) -> dict[str, Any]:
        return {
            "metrics": {
                label: plain_mean(e)
                | {"undefined": e.undefined}
                | ({"random": self.random[label]} if label in self.random else {})
                for label, e in self.estimates.items()
            },
            "users": self.counts,
            **({"groups": self._plain_groups()} if self.groups is not None else {}),
            "cautions": list(self.cautions),
            "notes": list(self.notes),
            "plan": self.plan.to_dict(),
        }

    def _plain_groups(self) -> dict[str, Any]:
        """By way to group users, the rows of `by_group`."""
        names = [] if self.groups is None else self.groups.columns
        return {name: self.group_rows(name).fill_nan(None).to_dicts() for name in names}

    def to_polars(self) -> pl.DataFrame:
        """One row per metric: metric, mean, low, high, std, n_users, undefined, missing."""
        frame = pl.DataFrame([vars(e) for e in self.estimates.values()])
        return frame.rename({"label": "metric", "n": "n_users"})

    @in_its_words
    def table(self) -> Table:
        """The result as a table that can be rendered: text, Markdown, LaTeX, HTML."""
        return self._printed()

    @in_its_words
    def to_latex(self, *, digits: int = 4, caption: str = "", label: str = "") -> str:
        """The means with their intervals in LaTeX, with the rules of the booktabs package.

        Parameters
        ----------
        digits : int
            After the point, from 0 to 15.
        caption, label : str
            Of a ``table`` around the ``tabular``; LaTeX, so they are not escaped.
        """
        return self._printed(digits).to_latex(text("caption", caption), text("label", label))

    @in_its_words
    def to_markdown(self, *, digits: int = 4) -> str:
        """The table in Markdown, with `digits` after the point."""
        return self._printed(digits).to_markdown()

    def _printed(self, digits: int = 4) -> Table:
        digits = decimals(digits)
        undefined = any(e.undefined for e in self.estimates.values())
        columns = ["metric", "mean", f"{level(self.confidence)} interval", in_words("users")]
        rows = [
            [
                e.label,
                *mean_cells(e.mean, e.low, e.high, e.n, digits),
                *([f"{e.undefined:,}"] if undefined else []),
            ]
            for e in self.estimates.values()
        ]
        return Table([*columns, *(["undefined"] if undefined else [])], rows, self.notes)

    def facts(self) -> Facts:
        """Notes that are needed to read the means."""
        return facts_of(self.plan, self.scores, self.read)

    @property
    def read(self) -> dict[str, int]:
        """The counts of the data as they were read, before any score."""
        others = {"clusters", "effective_clusters", *UNUSED_LABELS, *self.scores.counts}
        return {name: count for name, count in self.counts.items() if name not in others}

    def _clustered(self) -> dict[str, dict[str, int]]:
        """By metric, the numbers of clusters of the users that it averages."""
        if self.clusters is None:
            return {}
        return {
            entry.label: clustered(self.clusters[self.scores.averaged(entry).users])
            for entry in self.plan.metrics
        }

    @property
    @in_its_words
    def notes(self) -> tuple[str, ...]:
        """The facts, how intervals were made, and which values are not means."""
        notes = notes_of(self.plan, {"": {**self.facts(), **alike(self.estimates.values())}})
        notes += chance_notes(self.random, self.plan)
        notes += [*unused_labels(self.counts), *cluster_notes(self._clustered(), "intervals")]
        notes += drawn_notes(self.plan)
        return (*self.cautions, *notes, *self.remarks)

    def _plan_text(self) -> str:
        return self.plan.describe()

    def _logged(self) -> Iterable[tuple[tuple[str, ...], Mapping[str, float]]]:
        return (((label,), e.numbers()) for label, e in self.estimates.items())


def mean_cells(mean: float, low: float, high: float, n: int, digits: int = 4) -> list[str]:
    """A mean, its interval and its number of users as text."""
    return [number(mean, digits), f"[{number(low, digits)}, {number(high, digits)}]", f"{n:,}"]
