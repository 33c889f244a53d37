"""The judged topics, and every reading of their judgments that some measure needs."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from rankmeter._choices import Alignment, Averaging
from rankmeter._cli._trec_eval._files import decode_name
from rankmeter._engine.memory import Memory
from rankmeter._evidence.hits import FloatArray, Hits, IntArray
from rankmeter._formats.lines import Lines
from rankmeter._rankings.codes import Codes, distinct_ids
from rankmeter._reading.by_user import Ids, Objects, to_series
from rankmeter._reading.table import Table
from rankmeter.conventions._plan import MetricPlan, Plan
from rankmeter.errors import DuplicateError, UsageError
from rankmeter.metrics import Metric

Gains = Mapping[int, float]
"""The gains of grades whose gain is not the grade itself."""


class TopicReading:
    """Hits and metrics of all topics under one rule of relevance.

    In both tables, users are indices of topics in `names`.
    """

    def __init__(self, run: Table, truth: Table, relevant: str, names: Ids) -> None:
        self._data = Memory().open(truth, {"run": run}, keep=True)
        self._tables, self._names = (run, truth), names
        self._alignment = Alignment(relevant=relevant, ties="text-descending")

    @property
    def hits(self) -> Hits:
        """The hits of all topics."""
        (block,) = self._data.blocks
        return block().align_system("run", self._alignment).hits

    def __call__(self, metric: str, k: int | None = None, **options: Any) -> FloatArray:
        """One value per topic, 0 where the metric is undefined."""
        variant = Metric(metric, k)(**options)
        entry = MetricPlan(metric, variant, self._alignment, Averaging(undefined="zero"))
        plan = Plan(convention="trec_eval", metrics=(entry,), no_overlap="allow")
        try:
            return self._data.run(plan)["run"].averaged(entry).values
        except DuplicateError:  # the message is about names
            run, truth = (_with_topic_names(table, self._names) for table in self._tables)
            return Memory().open(truth, {"run": run}).run(plan)["run"].averaged(entry).values


@dataclass(frozen=True)
class TopicChoices:
    """The options of trec_eval that say which topics and documents count."""

    level: int = 1
    """``-l``: the smallest grade that is relevant; gains do not depend on it."""
    depth: int | None = None
    """``-M``: results per topic."""
    complete: bool = False
    """``-c``: judged topics without results count, mostly as 0."""
    judged_only: bool = False
    """``-J``: remove unjudged documents."""
    n_items: int = 0
    """``-N``: documents in the collection, for ``utility``."""

    def __post_init__(self) -> None:
        if self.level < 0:
            raise UsageError(f"the level of relevance must be an integer ≥ 0, got {self.level}")


class Topics:
    """The judged topics in order of their ids, with their results.

    ``missing`` of shape (n_topics,) marks those without results; ``n_above_zero`` counts the
    judgments above 0, whatever the level.
    """

    def __init__(self, qrels: Table, run: Table, choices: TopicChoices) -> None:
        self._names = distinct_ids([qrels.users])
        self.names: list[str] = list(map(decode_name, self._names.to_list()))
        grades = _with_topic_indices(qrels, self._names)
        self.n_above_zero = int((grades.gains > 0).sum())
        self.n_items = choices.n_items
        results = _with_topic_indices(run, self._names)
        absent = self._topics_absent_from(results)
        self.missing = np.zeros(len(self.names), dtype=bool)
        self.missing[absent.to_integers()] = True
        if choices.complete and len(absent):
            # In place of missing results, trec_eval takes one unjudged document.
            invented = {"item": pl.lit("ceci_nest_pas_un_docno"), "score": pl.lit(1.0)}
            invented_rows = pl.select(user=absent.to_series()).with_columns(**invented)
            results = results.with_rows(pl.concat([results.frame, invented_rows]))
        if choices.depth is not None:
            sort_keys = ["user", "score", "item"]
            ordered = results.frame.sort(sort_keys, descending=[False, True, True])
            first = ordered.group_by("user", maintain_order=True).head(choices.depth)
            results = results.with_rows(first)
        # A negative grade means that a document was pooled but not judged.
        self._judged = _select_rows(grades, grades.gains >= 0)
        self._pooled = self._judged if choices.judged_only else grades
        self._more = self._pooled.height > self._judged.height
        if choices.judged_only:
            judged = results.frame.join(self._judged.frame, on=["user", "item"], how="semi")
            results = results.with_rows(judged)
        self._run = results
        self._level = choices.level
        self._graded: dict[tuple[Any, ...], TopicReading] = {}

    @functools.cached_property
    def binary_reading(self) -> TopicReading:
        """Reading with binary relevance by the level."""
        return self._read_judgments(self._judged, f">={self._level}")

    @functools.cached_property
    def pooled_reading(self) -> TopicReading:
        """Reading with binary relevance by the level, with documents pooled but not judged."""
        return (
            self._read_judgments(self._pooled, f">={self._level}")
            if self._more
            else self.binary_reading
        )

    @functools.cached_property
    def judged_reading(self) -> TopicReading:
        """Reading with all judged documents as hits."""
        return self._read_judgments(self._judged, "any")

    @functools.cached_property
    def judged_or_pooled_reading(self) -> TopicReading:
        """Reading with all documents in the judgments as hits, judged or only pooled."""
        return self._read_judgments(self._pooled, "any") if self._more else self.judged_reading

    def graded_reading(self, gains: Gains, *, ideal: bool = False) -> TopicReading:
        """Reading with the gains of the grades, whatever the level; only gains > 0 with `ideal`."""
        negative = min(gains.values(), default=0.0) < 0 and not ideal
        key = (negative, *sorted(gains.items()))
        if key not in self._graded:
            judgments = _replace_gains(self._judged, _gains_of_judgments(self._judged, gains))
            self._graded[key] = self._read_judgments(judgments, "any" if negative else ">0")
        return self._graded[key]

    def scaled_reading(self, gains: Gains) -> TopicReading:
        """Reading with gains from 0 to 1, if necessary scaled by the range of a topic's grades."""
        maxima = self._judged.frame.select(pl.col("gain").max().over("user"))
        top = maxima.to_series().to_numpy()
        span = {grade: _gain_range(int(grade), gains) for grade in np.unique(top).tolist()}
        low, high = np.array([span[grade] for grade in top.tolist()]).reshape(-1, 2).T
        values = _gains_of_judgments(self._judged, gains)
        wide = (low < 0) | (high > 1)
        values[wide] = (values[wide] - low[wide]) / (high[wide] - low[wide])
        return self._read_judgments(_replace_gains(self._judged, values), ">0")

    def _read_judgments(self, judgments: Table, relevant: str) -> TopicReading:
        truth = replace(judgments, empty_users=self._topics_absent_from(judgments))
        return TopicReading(self._run, truth, relevant, self._names)

    def _topics_absent_from(self, table: Table) -> Ids:
        """Topics that are absent from a table."""
        absent = np.ones(len(self.names), dtype=bool)
        absent[table.users.to_integers()] = False
        return _topic_ids(np.flatnonzero(absent))


class JudgedGroups:
    """Judgments of several groups: each group of a topic is a topic of its own in `sets`.

    ``names`` and ``missing`` are those of the topics proper. The options are those of
    `report_lines`.
    """

    def __init__(self, qrels: Table, run: Table, choices: TopicChoices) -> None:
        grades = qrels.frame
        topics = grades["user"].unique().sort()
        # No name has a space in it.
        names = pl.concat_str("user", "group", separator=" ")
        results = run.frame.join(grades.select("user", "group").unique(), on="user")
        self.names: list[str] = list(map(decode_name, topics))
        self.sets = Topics(
            qrels.with_rows(grades.select(names, "item", "gain")),
            run.with_rows(results.select(names, "item", "score")),
            choices,
        )
        topic_index = {name: i for i, name in enumerate(self.names)}
        self._topic = np.array([topic_index[name.partition(" ")[0]] for name in self.sets.names])
        self.missing = self.average_by_topic(self.sets.missing) > 0

    def average_by_topic(self, values: npt.ArrayLike) -> FloatArray:
        """Mean of each topic over its groups, added in order."""
        return np.bincount(self._topic, values) / np.bincount(self._topic)


def _topic_ids(indices: IntArray) -> Ids:
    """Convert topic indices to ids."""
    return Objects(indices.tolist(), "Int64")


def _with_topic_indices(table: Table, names: Ids) -> Table:
    """Replace the users of a table by indices into `names`; rows of unknown users are dropped.

    The rows of a user mostly follow each other, so each such run of rows is looked up once.
    """
    rows = table.rows
    if isinstance(rows, Lines):
        index = Codes(names).find(rows.users)
        if (index < 0).any():
            rows, index = rows.select_by_index(np.flatnonzero(index >= 0)), index[index >= 0]
        return replace(table, rows=replace(rows, users=_topic_ids(index)))
    runs = table.frame["user"].rle().struct.unnest()
    index = np.repeat(Codes(names).find(runs["value"]), runs["len"].to_numpy())
    placed = table.with_rows(table.frame.with_columns(user=to_series(index)))
    return _select_rows(placed, index >= 0)


def _select_rows(table: Table, mask: npt.NDArray[np.bool_]) -> Table:
    """Select rows by mask."""
    if mask.all():
        return table
    if isinstance(table.rows, Lines):
        return replace(table, rows=table.rows.filter_items(mask))
    return table.with_rows(table.frame.filter(to_series(mask)))


def _replace_gains(judged: Table, gains: FloatArray) -> Table:
    """Replace the gains of judgments."""
    rows = judged.rows
    if isinstance(rows, Lines):
        return replace(judged, rows=replace(rows, numbers=gains))
    return judged.with_rows(judged.frame.with_columns(gain=to_series(gains)))


def _with_topic_names(table: Table, names: Ids) -> Table:
    """Replace the user indices of a table by names."""
    frame = table.frame.with_columns(user=names.to_series().gather(table.frame["user"]))
    empty_users = names.take(table.empty_users.to_integers())
    return replace(table.with_rows(frame), empty_users=empty_users)


def _gains_of_judgments(judged: Table, gains: Gains) -> FloatArray:
    grade = judged.gains
    values = grade.copy()
    for level, gain in gains.items():
        values[grade == level] = gain
    return values


def _gain_range(top: int, gains: Gains) -> tuple[float, float]:
    """Least and largest gain of the levels 0 … top, of all named grades, and of no judgment."""
    unnamed = [
        next((float(level) for level in levels if level not in gains), None)
        for levels in (range(top + 1), range(top, -1, -1))
    ]
    levels_and_gains = [*gains.values(), *(level for level in unnamed if level is not None)]
    return min(0.0, *levels_and_gains), max(levels_and_gains)
