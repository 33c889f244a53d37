"""The judged topics, and every reading of their judgements that some measure needs."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from rankmeter._choices import Alignment, Averaging
from rankmeter._engine import Memory
from rankmeter._hits import FloatArray, Hits
from rankmeter._ingest import Origin, Table
from rankmeter._plan import MetricPlan, Plan
from rankmeter.metrics import Metric

__all__ = ["Gains", "Reading", "Topics"]

Gains = Mapping[int, float]
"""What a grade is worth, where that is not the grade itself."""


class Reading:
    """The hits of all topics under one reading of the judgements, and the metrics of them.

    Parameters
    ----------
    run, truth : Table
    relevant : str
        As in `Alignment`.
    """

    def __init__(self, run: Table, truth: Table, relevant: str) -> None:
        self._data = Memory().open(truth, {"run": run}, keep=True)
        self._alignment = Alignment(relevant=relevant, ties="item-descending")

    @property
    def hits(self) -> Hits:
        """The hits of all topics."""
        (block,) = self._data.blocks
        return block.aligned("run", self._alignment).hits

    def __call__(self, metric: str, k: int | None = None, **options: Any) -> FloatArray:
        """One value per topic, 0 where the metric is undefined."""
        chosen = Metric(metric, k)(**options)
        entry = MetricPlan(metric, chosen, self._alignment, Averaging(undefined="zero"))
        plan = Plan(convention="trec_eval", metrics=(entry,), no_overlap="allow")
        return self._data.run(plan)["run"].averaged(entry).values


class Topics:
    """The judged topics in order of their ids, with their results.

    Parameters
    ----------
    qrels, run : Table
    level : int
        Smallest grade that is relevant.
    depth : int, optional
        Rank below which results are cut off.
    complete : bool
        Whether topics without results count too.
    judged_only : bool
        Whether documents without judgement are removed from the results.
    n_items : int
        Documents in the collection.

    Attributes
    ----------
    names : list of str
    missing : bool array of shape (n_topics,)
        Whether a topic has no results.
    n_above_zero : int
        Judgements above 0, whatever the level.
    """

    def __init__(
        self,
        qrels: Table,
        run: Table,
        *,
        level: int = 1,
        depth: int | None = None,
        complete: bool = False,
        judged_only: bool = False,
        n_items: int = 0,
    ) -> None:
        grades = qrels.frame
        self.names: list[str] = grades["user"].unique().sort().to_list()
        self.n_above_zero = int((grades["gain"] > 0).sum())
        self.n_items = n_items
        results = run.frame.join(grades, on="user", how="semi")
        with_results = set(results["user"].unique().to_list())
        self.missing = np.array([name not in with_results for name in self.names])
        if complete:
            results = pl.concat([results, _placeholders(self.names, self.missing)])
        if depth is not None:
            ordered = results.sort("user", "score", "item", descending=[False, True, True])
            results = ordered.group_by("user", maintain_order=True).head(depth)
        # A negative grade says that a document was to be judged and was not.
        self._judged = grades.filter(pl.col("gain") >= 0)
        self._pooled = self._judged if judged_only else grades
        if judged_only:
            results = results.join(self._judged, on=["user", "item"], how="semi")
        self._run = Table(results, "score", origin=Origin(run.source, textual=True))
        self._source = qrels.source
        self._level = level
        self._graded: dict[tuple[Any, ...], Reading] = {}

    @functools.cached_property
    def binary(self) -> Reading:
        """Relevant or not, by the level."""
        return self._reading(self._judged, f">={self._level}")

    @functools.cached_property
    def pooled(self) -> Reading:
        """The same, with the documents that were to be judged and were not."""
        if self._pooled.height == self._judged.height:
            return self.binary
        return self._reading(self._pooled, f">={self._level}")

    @functools.cached_property
    def judged(self) -> Reading:
        """Whatever has been judged."""
        return self._reading(self._judged, "any")

    @functools.cached_property
    def named(self) -> Reading:
        """Whatever the judgements name, judged or not."""
        if self._pooled.height == self._judged.height:
            return self.judged
        return self._reading(self._pooled, "any")

    def graded(self, gains: Gains, *, ideal: bool = False) -> Reading:
        """What the grades are worth, whatever the level; in the `ideal` nothing is negative."""
        negative = min(gains.values(), default=0.0) < 0 and not ideal
        key = (negative, *sorted(gains.items()))
        if key not in self._graded:
            worth = self._judged.with_columns(gain=pl.Series(_worth(self._judged, gains)))
            self._graded[key] = self._reading(worth, "any" if negative else ">0")
        return self._graded[key]

    def scaled(self, gains: Gains) -> Reading:
        """What the grades are worth, from 0 to 1: if need be by the range of a topic's grades."""
        top = self._judged.select(pl.col("gain").max().over("user")).to_series().to_numpy()
        span = {one: _range(int(one), gains) for one in np.unique(top).tolist()}
        low, high = np.array([span[one] for one in top.tolist()]).reshape(-1, 2).T
        worth = _worth(self._judged, gains)
        beyond = (low < 0) | (high > 1)
        worth[beyond] = (worth[beyond] - low[beyond]) / (high[beyond] - low[beyond])
        return self._reading(self._judged.with_columns(gain=pl.Series(worth)), ">0")

    def _reading(self, judgements: pl.DataFrame, relevant: str) -> Reading:
        judged = set(judgements["user"].unique().to_list())
        others = pl.Series("user", [n for n in self.names if n not in judged], pl.String)
        truth = Table(judgements, "list", others, Origin(self._source, textual=True))
        return Reading(self._run, truth, relevant)


def _placeholders(names: list[str], missing: npt.NDArray[np.bool_]) -> pl.DataFrame:
    """What trec_eval takes for the results of a topic without any: one document nobody judged."""
    users = [name for name, absent in zip(names, missing.tolist(), strict=True) if absent]
    columns = {"user": users, "item": ["ceci_nest_pas_un_docno"] * len(users)}
    schema = {"user": pl.String, "item": pl.String, "score": pl.Float64}
    return pl.DataFrame({**columns, "score": [1.0] * len(users)}, schema=schema)


def _worth(judged: pl.DataFrame, gains: Gains) -> FloatArray:
    grade = judged["gain"].to_numpy()
    worth = grade.astype(np.float64)
    for level, gain in gains.items():
        worth[grade == level] = gain
    return worth


def _range(top: int, gains: Gains) -> tuple[float, float]:
    """Least and largest worth of the levels 0 … top, of all that are named, and of no judgement."""
    unnamed = [
        next((float(level) for level in levels if level not in gains), None)
        for levels in (range(top + 1), range(top, -1, -1))
    ]
    every = [*gains.values(), *(level for level in unnamed if level is not None)]
    return min(0.0, *every), max(every)
