"""How the value of one user is computed: the list, what each item adds, the steps to the value.

The metric is computed once more for this user alone, by the same function, while its steps are
noted (`metrics._steps`); so what is shown is what was computed.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from rankmeter._choices import Alignment
from rankmeter._engine.block import Block, adjust_for_chance, call_metric, refuse_list_evidence
from rankmeter._engine.counted import CountedQueries, align_queries
from rankmeter._engine.scores import Averaged, UserValues
from rankmeter._evidence.hits import Hits
from rankmeter._evidence.lists import Features, Lists
from rankmeter._evidence.steps import Column, Formula, NotedStep, Sum, Value, note_steps
from rankmeter._rankings.align import Aligned
from rankmeter._rankings.queries import CountedRows
from rankmeter._results.walkthrough import Grid, Line, Place, Walk
from rankmeter.conventions._plan import MetricPlan
from rankmeter.errors._checks import counted, exact_text
from rankmeter.metrics import Exposure


class _ListLayout:
    """The list of one user in one alignment, as grids for the numbers of steps."""

    def __init__(self, block: Block, name: str, choices: Alignment) -> None:
        assert block.tables is not None
        self.block, self.name, self.choices = block, name, choices
        self.aligned: Aligned = block.align_system(name, choices, None, with_names=True)
        lists = self.aligned.lists
        assert lists is not None
        self.lists: Lists = lists
        self.items: list[Any] = block.tables.items.users.take(lists.item).to_list()
        judged = block.prepare_truth(choices).frame
        self.gains: dict[Any, float] = dict(judged.select("item", "gain").iter_rows())
        self.hits = self._list_indices_of_hits(self.aligned.hits, lists.relevant, lists.gain)
        self.ranks: list[float] = lists.rank.tolist()
        self.evidence = block.evidence
        gains = np.array([self.gains.get(item, math.nan) for item in self.items])
        self.others = self._list_indices_of_hits(self.aligned.nonrelevant, ~lists.relevant, gains)

    def _list_indices_of_hits(self, hits: Hits, mask: Any, gains: Any) -> list[int]:
        """List index of each hit, -1 if unknown.

        Of tied items with equal gains it does not matter which is which, so hits of one gain are in
        the order of the list.
        """
        indices = np.flatnonzero(mask & ~np.isnan(gains))
        places = _by_gain(zip(gains[indices].tolist(), indices.tolist(), strict=True))
        return [next(places.get(gain, _NONE), -1) for gain in hits.gain.tolist()]

    @cached_property
    def _tie_spans(self) -> list[tuple[int, int]]:
        """First and last rank of each item's tied group."""
        table, lists = self.block.systems[self.name], self.lists
        ranks = lists.rank.tolist()
        if not lists.tied or table.order == "list":
            return [(rank, rank) for rank in ranks]
        key_by_item = dict(table.frame.select("item", table.order).iter_rows())
        keys = [key_by_item.get(item, -math.inf) for item in self.items]
        if table.order == "score" and self.choices.score_type == "float32":
            keys = [float(np.float32(key)) for key in keys]
        ends: dict[float, list[int]] = {}
        for key, rank in zip(keys, ranks, strict=True):
            ends.setdefault(key, []).append(rank)
        return [(ends[key][0], ends[key][-1]) for key in keys]

    def ranking_grid(self) -> Grid:
        """Grid of the whole list and of the relevant items missing from the list."""
        places, order = [], []
        gains = self.lists.relevant.tolist(), self.lists.gain.tolist()
        rows = zip(self.items, self._tie_spans, *gains, strict=True)
        for item, (low, high), relevant, gain in rows:
            known = gain if relevant else self.gains.get(item, math.nan)
            places.append(Place(_rank_text(low, high), item, known, relevant))
            order.append((low + high) / 2)
        hits = self.aligned.hits
        for j, i in enumerate(self.hits):
            if i >= 0 and self.lists.tied:
                places[i].rank = _rank_text(*_rank_span(hits, j))
                order[i] = float(hits.rank[j])
        self.order = np.argsort(order, kind="stable").tolist()
        self.place_of = {i: n for n, i in enumerate(self.order)}
        ranked = set(self.items)
        lost = [(g, item) for item, g in self._relevant_items_and_gains() if item not in ranked]
        places = [places[i] for i in self.order]
        places += [Place("", item, g, relevant=True) for g, item in lost]
        return Grid(self._add_titles(places))

    def _add_titles(self, places: list[Place]) -> list[Place]:
        """Add the known titles of items to `places`, and return `places`."""
        items = None if self.block.tables is None else self.block.tables.side.items
        if items is not None and items.titles is not None:
            listed = pl.Series("item", [p.item for p in places], items.titles["item"].dtype)
            rows = items.titles.filter(pl.col("item").is_in(listed.implode()))
            titles = dict(rows.iter_rows())
            for place in places:
                place.title = titles.get(place.item) or ""
        return places

    def _relevant_items_and_gains(self) -> list[tuple[Any, float]]:
        """Pairs of relevant item and gain, largest gain first."""
        frame = self.block.prepare_truth(self.choices).frame
        frame = frame.filter(pl.Series(self.choices.is_relevant(frame["gain"].to_numpy())))
        frame = frame.sort("gain", descending=True, maintain_order=True)
        operator, threshold = self.choices.threshold
        less = threshold - (operator == ">=") if self.choices.gains == "above" else 0.0
        return [(item, g - less) for item, g in frame.select("item", "gain").iter_rows()]

    def ideal_grid(self, best: Hits) -> Grid:
        """Grid of a perfect ranking, of listed items alone if `best` lacks relevant items."""
        relevant = self._relevant_items_and_gains()
        if len(relevant) != best.rank.size:
            listed = set(self.items)
            relevant = [(item, gain) for item, gain in relevant if item in listed]
        items = _by_gain((gain, item) for item, gain in relevant)
        places = [
            Place(exact_text(rank), next(items.get(g, _NONE), None), g, relevant=True)
            for rank, g in zip(best.rank.tolist(), best.gain.tolist(), strict=True)
        ]
        return Grid(self._add_titles(places))

    def category_names(self, groups: Features) -> list[str]:
        """Names of the item groups if the groups are categories, else empty."""
        tables = self.block.tables
        intents = None if tables is None else self.block.evidence("intents", self.choices)
        if intents is not None and groups is intents.categories:
            return [*intents.names]
        items = None if tables is None else tables.side.items
        if tables is None or items is None or items.categories is None or tables.categories is None:
            return []
        if not np.array_equal(groups.matrix > 0, tables.categories.matrix > 0):
            return []
        return items.categories["category"].unique().sort().to_list()

    @property
    def facts(self) -> dict[str, bool]:
        """Special cases, with flags for the cases that apply to the user."""
        aligned = self.aligned
        return {
            "no ranking": not aligned.in_rankings[0],
            "an empty ranking": bool(aligned.in_rankings[0] and not aligned.hits.n_ranked[0]),
        }


class _CountLayout:
    """Judged items of one query with counted ranks; all other items are unknown."""

    evidence = staticmethod(refuse_list_evidence)

    def __init__(self, data: CountedQueries, choices: Alignment) -> None:
        self.aligned = align_queries(data.queries, choices)
        hits, nonrelevant = self.aligned.hits, self.aligned.nonrelevant
        n = hits.rank.size + nonrelevant.rank.size
        self.hits, self.others = [*range(hits.rank.size)], [*range(hits.rank.size, n)]
        self.ranks: list[float] = [*hits.rank.tolist(), *nonrelevant.rank.tolist()]
        self.tied: list[str] = []  # the ranks of unknown items in unresolved ties
        evidence = (hits, nonrelevant)
        ends = [_rank_span(ranked, j) for ranked in evidence for j in range(ranked.rank.size)]
        for low, high in dict.fromkeys((low, high) for low, high in ends if low < high):
            free = iter(range(int(low), int(high) + 1))
            for i in [i for i, end in enumerate(ends) if end == (low, high)]:
                self.ranks[i] = next(free)
            unknown_ranks = [*free]
            self.ranks += unknown_ranks
            self.tied += [_rank_text(low, high)] * len(unknown_ranks)
        self.facts = {f"{counted(int(hits.n_ranked[0]), 'candidate')}": data.queries.sized}
        column = data.queries.column
        self.item = None if column is None or column.size != 1 else int(column[0])

    def ranking_grid(self) -> Grid:
        """Grid of the judged items by rank, and of the relevant items without a rank."""
        hits, nonrelevant = self.aligned.hits, self.aligned.nonrelevant
        places = [
            Place(_rank_text(*_rank_span(judged, j)), self.item, gain, relevant=judged is hits)
            for judged in (hits, nonrelevant)
            for j, gain in enumerate(judged.gain.tolist())
        ]
        places += [Place(ranks, None) for ranks in self.tied]
        order = np.argsort(self.ranks, kind="stable").tolist()
        self.place_of = {i: n for n, i in enumerate(order)}
        lost = Counter(hits.best.gain.tolist()) - Counter(hits.gain.tolist())
        missing = [Place("", self.item, gain, relevant=True) for gain in lost.elements()]
        return Grid([*(places[i] for i in order), *missing])

    def ideal_grid(self, best: Hits) -> Grid:
        """Grid of a perfect ranking."""
        pairs = zip(best.rank.tolist(), best.gain.tolist(), strict=True)
        return Grid([Place(exact_text(rank), self.item, g, relevant=True) for rank, g in pairs])


def _rank_span(hits: Hits, j: int) -> tuple[float, float]:
    """The lowest and the highest possible rank of a hit."""
    if hits.unresolved_span is None:
        return float(hits.rank[j]), float(hits.rank[j])
    return float(hits.unresolved_span.low[j]), float(hits.unresolved_span.high[j])


_NONE: Iterator[Any] = iter(())


def _by_gain(pairs: Iterable[tuple[float, Any]]) -> dict[float, Iterator[Any]]:
    """What has each gain, in order; each is taken once."""
    found: dict[float, list[Any]] = {}
    for gain, value in pairs:
        found.setdefault(gain, []).append(value)
    return {gain: iter(values) for gain, values in found.items()}


def _rank_text(low: float, high: float) -> str:
    return exact_text(low) if low == high else f"{exact_text(low)}–{exact_text(high)}"


class _Walker:
    """Converter of the steps of a metric to grid columns and lines."""

    def __init__(self, layout: _ListLayout | _CountLayout) -> None:
        self.layout = layout
        self.ranking, self.ideal = layout.ranking_grid(), Grid([])
        self.categories = Grid([])
        self.lines: list[Line] = []
        self.by_rank = {r: i for i, r in reversed([*enumerate(layout.ranks)])}

    def put_steps(self, steps: Sequence[NotedStep], label: str) -> None:
        """Add all steps as grid columns or lines, and name the last line `label`."""
        for step in steps:
            if isinstance(step, Column | Sum):
                self._put_step(step)
            elif isinstance(step, Formula):
                self._add_line(Line(step.name, step.text, step.parts, step.value))
            else:
                self._add_value(step)
        if self.lines:
            self.lines[-1] = replace(self.lines[-1], name=label)

    def _add_line(self, line: Line) -> None:
        if line not in self.lines:
            self.lines.append(line)

    def _add_value(self, step: Value) -> None:
        """Name the last line after the step if the values agree; else add a line."""
        name = step.name + "_of_the_ideal" * self._is_ideal_ranking(step.evidence)
        last = self.lines[-1] if self.lines else None
        if last is None or not math.isclose(last.value, step.value, rel_tol=1e-12):
            self._add_line(Line(name, "", {}, step.value))
        elif not last.name:
            self.lines[-1] = replace(last, name=name, value=step.value)
        elif last.name != name:
            self._add_line(Line(name, last.name, {last.name: last.value}, step.value))

    def _is_ideal_ranking(self, evidence: Any) -> bool:
        return isinstance(evidence, Hits) and evidence.ideal is None

    def _put_step(self, step: Column | Sum) -> None:
        values = np.asarray(step.values, dtype=np.float64).ravel()
        if isinstance(step, Sum):
            self._add_line(Line("", "", {}, step.total))
        grid, rows = self._grid_of_step(step, values.size)
        rows = rows if len(rows) == values.size else [-1] * values.size  # rows of another kind
        pairs = [(i, v) for i, v in zip(rows, values.tolist(), strict=True) if i >= 0]
        grid.fill_column(step.name, pairs)
        if isinstance(step, Column):
            return
        total, running = 0.0, []
        for i, value in sorted(pairs):
            total += value
            running.append((i, total))
        grid.fill_column({"hit": "hits"}.get(step.name, "sum"), running)

    def _grid_of_step(self, step: Column | Sum, n: int) -> tuple[Grid, Sequence[int]]:
        """Grid for the evidence of a step, and the row index of each value in the grid."""
        layout, evidence = self.layout, step.evidence
        if isinstance(evidence, Features):
            return self._category_grid(n, evidence), range(n)
        if self._is_ideal_ranking(evidence):
            if not self.ideal.places:
                self.ideal = layout.ideal_grid(evidence)
            return self.ideal, range(n)
        if isinstance(evidence, Hits | Lists):
            return self.ranking, [layout.place_of.get(i, -1) for i in self._rows_of_values(step)]
        return self._category_grid(n), range(n)

    def _rows_of_values(self, step: Column | Sum) -> Sequence[int]:
        """List index of each value of a step, -1 if unknown."""
        layout, evidence = self.layout, step.evidence
        if step.ranks is None and isinstance(evidence, Hits):
            if evidence.offsets is layout.aligned.hits.offsets:
                return layout.hits
            if evidence.offsets is layout.aligned.nonrelevant.offsets:
                return layout.others
        ranks = evidence.rank if step.ranks is None else step.ranks
        if isinstance(evidence, Hits) and step.ranks is None:
            nonrelevant = layout.aligned.nonrelevant.rank.tolist()
            places = dict(zip(nonrelevant, layout.others, strict=True))
            return [places.get(rank, -1) for rank in ranks.tolist()]
        return [self.by_rank.get(rank, -1) for rank in np.asarray(ranks).tolist()]

    def _category_grid(self, n: int, features: Features | None = None) -> Grid:
        """Grid of the categories, or of numbered groups."""
        if not self.categories.places:
            layout = self.layout
            names = [f"{i + 1}" for i in range(n)]
            if features is not None and isinstance(layout, _ListLayout):
                categories = layout.category_names(features)
                names = categories if len(categories) == n else names
            self.categories = Grid([Place("", name) for name in names])
        return self.categories


def make_ranking_grid(block: Block | CountedQueries, name: str, choices: Alignment) -> Grid:
    """Grid of the list of a block's only user, with the relevant items missing from the list."""
    return _make_layout(block, name, choices).ranking_grid()


def _make_layout(
    block: Block | CountedQueries, name: str, choices: Alignment
) -> _ListLayout | _CountLayout:
    if isinstance(block, CountedQueries):
        return _CountLayout(block, choices)
    rows = block.systems[name].rows
    if isinstance(rows, CountedRows):
        return _CountLayout(CountedQueries(rows.count(choices.score_type == "float32")), choices)
    return _ListLayout(block, name, choices)


def walk_metrics(
    block: Block | CountedQueries,
    name: str,
    entries: Iterable[MetricPlan],
    scores: UserValues,
    row: int,
) -> Iterator[Walk]:
    """Trace the values of a block's only user; `row` is the user's row in `scores`.

    Raises
    ------
    UsageError
        If a metric refuses the data.
    """
    layouts: dict[Alignment, _ListLayout | _CountLayout] = {}
    for entry in entries:
        averaged = scores.averaged(entry)
        choices = entry.alignment
        if choices not in layouts:
            layouts[choices] = _make_layout(block, name, choices)
        yield _walk_metric(layouts[choices], entry, averaged, row)


def _walk_metric(
    layout: _ListLayout | _CountLayout, entry: MetricPlan, averaged: Averaged, row: int
) -> Walk:
    steps: list[NotedStep] = []
    aligned = layout.aligned
    with note_steps(steps):
        if entry.candidates is not None:
            values = adjust_for_chance(entry, aligned)[0].per_user(nothing=math.nan)
        else:
            values = call_metric(entry, aligned, entry.spec.function, layout.evidence)
    value = float(values[0])
    positions = np.flatnonzero(averaged.users == row)
    counted_value = float(averaged.values[positions[0]]) if positions.size else math.nan
    if isinstance(averaged.state, Exposure) and isinstance(layout, _ListLayout):
        steps, value = _state_steps(averaged.state, layout, positions), averaged.state.value()
    walker = _Walker(layout)
    walker.put_steps(steps, entry.label)
    rule = "users" if aligned.in_rankings[0] else "missing"
    if math.isnan(value):
        rule = "undefined"
    facts = {**layout.facts, "nothing is relevant": not aligned.hits.n_relevant[0]}
    return Walk(
        entry.label,
        entry.metric.k,
        value,
        counted_value,
        walker.ranking,
        walker.ideal,
        walker.categories,
        tuple(walker.lines),
        f"{rule}={getattr(entry.averaging, rule)}",
        tuple(name for name, holds in facts.items() if holds),
        entry.spec.whole,
    )


def _state_steps(state: Exposure, layout: _ListLayout, positions: Any) -> list[NotedStep]:
    """Steps to a number over all lists, and numbers of lists with each of the user's items.

    The number without the user comes first.
    """
    steps: list[NotedStep] = []
    if positions.size and state.n_users > 1:
        other_users = np.delete(np.arange(state.n_users), positions)
        steps.append(Value("without_this_user", state.take(other_users).value(), None))
    lists = state.take(positions).lists
    steps.append(Column("lists with it", state.shown()[lists.item], layout.lists, lists.rank))
    with note_steps(steps):
        state.value()
    return steps
