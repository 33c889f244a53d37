"""Made-up rankings and ground truth, and the ways in which `product` measures them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import cases
import rankmeter as rm

N_ITEMS = 8
FIRST_ID = 10  # so that all ids have two or more digits, in the same order as numbers and as text


@dataclass(frozen=True)
class World:
    """Scores and gains of users × items; NaN where an item is not ranked, or not judged."""

    scores: np.ndarray
    gains: np.ndarray
    place: np.ndarray  # (n_users, n_items) what orders the rows of a user
    listed: np.ndarray  # (n_users,) whether the rankings name the user
    asked: np.ndarray  # whether the ground truth does
    users: np.ndarray  # ids
    again: tuple[tuple[int, int, float], ...] = ()  # repeated items: row, column, score
    twice: tuple[tuple[int, int, float], ...] = ()  # repeated judgments
    name: Callable[[int], Any] = int  # what users and items are called

    @property
    def items(self) -> np.ndarray:
        return FIRST_ID + np.arange(self.scores.shape[1])

    def take(self, rows: np.ndarray, users: np.ndarray | None = None) -> World:
        """Some users, once or several times."""
        parts = (self.scores, self.gains, self.place, self.listed, self.asked)
        new = self.users[rows] if users is None else users
        return replace(self, **dict(zip(
            ("scores", "gains", "place", "listed", "asked"), (part[rows] for part in parts),
            strict=True)), users=new, again=(), twice=())  # fmt: skip

    def wider(self, n: int) -> World:
        """With more items, which are neither ranked nor judged."""
        nothing = np.full((len(self.users), n), np.nan)
        place = np.tile(100.0 + np.arange(n), (len(self.users), 1))
        return replace(
            self,
            scores=np.hstack([self.scores, nothing]),
            gains=np.hstack([self.gains, nothing]),
            place=np.hstack([self.place, place]),
        )

    def ranked_rows(self) -> list[tuple[Any, Any, float]]:
        """User, item and score in order of the rows."""
        order = np.argsort(self.place, axis=1)
        found = [
            (row, column, float(self.scores[row, column]))
            for row in range(len(self.users))
            if self.listed[row]
            for column in order[row]
            if not np.isnan(self.scores[row, column])
        ]
        return [self._named(*one) for one in (*found, *self.again)]

    def judged_rows(self) -> list[tuple[Any, Any, float]]:
        rows, columns = np.nonzero(~np.isnan(self.gains) & self.asked[:, None])
        found = zip(rows, columns, self.gains[rows, columns].tolist(), strict=True)
        return [self._named(*one) for one in (*found, *self.twice)]

    def _named(self, row: int, column: int, number: float) -> tuple[Any, Any, float]:
        return self.name(int(self.users[row])), self.name(FIRST_ID + int(column)), number

    def dicts(self) -> tuple[dict[Any, Any], dict[Any, Any]]:
        names = [self.name(int(user)) for user in self.users]
        rankings: dict[Any, Any] = {
            u: {} for u, there in zip(names, self.listed, strict=True) if there
        }
        truth: dict[Any, Any] = {u: {} for u, there in zip(names, self.asked, strict=True) if there}
        for user, item, score in self.ranked_rows():
            rankings[user][item] = score
        for user, item, gain in self.judged_rows():
            truth[user][item] = gain
        return rankings, truth

    def frames(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        kind = pl.Int64 if self.name is int else pl.String
        return tuple(
            pl.DataFrame(rows, {"user": kind, "item": kind, number: pl.Float64}, orient="row")
            for number, rows in (("score", self.ranked_rows()), ("gain", self.judged_rows()))
        )  # type: ignore[return-value]

    def without_empty(self) -> World:
        """Users with an empty list or empty truth are missing, as in a frame."""
        return replace(
            self,
            listed=self.listed & ~np.isnan(self.scores).all(axis=1),
            asked=self.asked & ~np.isnan(self.gains).all(axis=1),
        )

    def side(self) -> dict[str, Any]:
        """Training data, categories, a catalogue, lists of a baseline and propensities."""
        rng = np.random.default_rng(0)
        n_items, name = 40, self.name
        items = [name(FIRST_ID + i) for i in range(n_items)]
        chance = rng.random(n_items)
        seen = rng.random((256, n_items)) < chance
        kinds = rng.random((n_items, 3)) < 0.5
        every = {FIRST_ID + row: row for row in range(256) if row % 7}
        return {
            "train": {
                name(user): {items[i]: 1.0 + i % 4 for i in np.flatnonzero(seen[row])}
                for user, row in every.items()
            },
            "items": {
                items[i]: [n for n, there in zip("abc", kinds[i], strict=True) if there]
                for i in range(n_items) if i != 5
            },
            "catalogue": [*items, name(9_998)],
            "baseline_lists": {
                name(user): [items[i] for i in np.argsort(seen[row] * chance)[-3:]]
                for user, row in every.items()
            },
            "propensity": {items[i]: 0.05 + 0.9 * chance[i] for i in range(n_items) if i != 3},
        }  # fmt: skip


LEVELS_OF_GAINS = {
    "binary": [0.0, 1.0, 1.0, 1.0],
    "graded": [0.0, 1.0, 1.0, 2.0, 3.0],
    "negative": [-1.0, 0.0, 1.0, 2.0],
    "single": [0.0],  # and one item of gain 1
    "apart": [0.0, 1.0, 1.0, 2.0, 3.0],  # of tied items one at most is judged
}


def make(rng: np.random.Generator, n_users: int, data: str, *, few: bool = False) -> World:
    """Users with few levels of scores and mostly relevant items; a few are missing or empty."""
    shape = n_users, 5 if few else N_ITEMS
    n = shape[1]
    length = rng.integers(0, n + 1, n_users) if not few else rng.integers(1, 5, n_users)
    levels = rng.choice([1, 1, 2, 2, 3], n_users)
    scores = rng.integers(0, levels[:, None], shape) - rng.choice([0.0, 0.0, 1.0], (n_users, 1))
    scores = np.where(rng.random(shape).argsort(1).argsort(1) < length[:, None], scores, np.nan)
    gains = rng.choice(LEVELS_OF_GAINS[data], shape)
    gains = np.where(rng.random(shape) < rng.choice([0.0, 0.2, 0.6], (n_users, 1)), np.nan, gains)
    if data == "single":
        one = np.nan_to_num(scores, nan=-9.0) + 5.0 * rng.random(shape)
        gains[np.arange(n_users), one.argmax(axis=1)] = 1.0
    if data == "apart":
        tied = (scores[:, :, None] == scores[:, None, :]) & ~np.isnan(gains)[:, None, :]
        gains = np.where(np.tril(tied, -1).any(axis=2), np.nan, gains)
    listed, asked = rng.random(n_users) > 0.05, rng.random(n_users) > 0.05
    if few:
        listed[:] = asked[:] = True
    users = FIRST_ID + np.arange(n_users)
    return World(scores, gains, rng.random(shape), listed, asked, users)


def repeated(rng: np.random.Generator, world: World, *, items: bool, judgments: bool) -> World:
    """With some items ranked twice, and some judged twice."""
    world = world.without_empty()
    again, twice = [], []
    rows, columns = np.nonzero(~np.isnan(world.scores) & world.listed[:, None])
    for at in np.flatnonzero(rng.random(rows.size) < 0.25 * items):
        levels = world.scores[rows[at]]
        again.append(
            (int(rows[at]), int(columns[at]), float(rng.choice(levels[~np.isnan(levels)])))
        )
    rows, columns = np.nonzero(~np.isnan(world.gains) & world.asked[:, None])
    for at in np.flatnonzero(rng.random(rows.size) < 0.15 * judgments):
        twice.append((int(rows[at]), int(columns[at]), float(rng.choice([0.0, 1.0, 2.0]))))
    return replace(world, again=tuple(again), twice=tuple(twice))


# ---------------------------------------------------------------------------------------------
# Doors: the ways in, each with the worlds that it can express


def in_any_form(world: World) -> World:
    return world


def in_frames(world: World) -> World:
    return world.without_empty()


def in_columns(world: World) -> World:
    """The rows of each user are in the order of the columns."""
    return replace(
        world, place=np.tile(np.arange(world.place.shape[1]) * 1.0, (len(world.users), 1))
    )


def untied(world: World) -> World:
    """Each user has an order of the items; ties are resolved by the rows."""
    order = np.lexsort((world.place, -world.scores), axis=1)
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(order.shape[1])[None, :], axis=1)
    return replace(
        world, scores=np.where(np.isnan(world.scores), np.nan, -1.0 * rank), place=1.0 * rank,
        again=(),
    )  # fmt: skip


def in_matrix(world: World) -> World:
    """Only relevant items that are ranked are judged."""
    found = (world.gains > 0) & ~np.isnan(world.scores)
    world = replace(world, gains=np.where(found, world.gains, np.nan), again=(), twice=())
    rows = np.flatnonzero(world.listed & world.asked & found.any(axis=1))
    return world.take(rows)


def of_one_item(world: World) -> World:
    """One relevant item for each user, which is ranked; nothing else is judged."""
    world = in_matrix(world)
    best = np.nan_to_num(world.gains, nan=-1.0).argmax(axis=1)
    gains = np.full_like(world.gains, np.nan)
    gains[np.arange(best.size), best] = 1.0
    return replace(world, gains=gains)


def in_grades(world: World) -> World:
    """Lists without ties, in which every item is judged; missed relevant items gain 1."""
    world = untied(world.take(np.flatnonzero(world.listed & world.asked)))
    there = ~np.isnan(world.scores)
    ranked = np.where(there, np.maximum(np.nan_to_num(world.gains), 0.0), np.nan)
    missed = np.where(~there & (world.gains > 0), 1.0, np.nan)
    return replace(world, gains=np.where(there, ranked, missed), twice=())


def by_dict(world: World, forms: Sequence[str], choices: Mapping[str, Any], side: Any) -> Any:
    rankings, truth = world.frames() if world.again or world.twice else world.dicts()
    return rm.evaluate(rankings, truth, forms, **side, **choices)


def by_frame(world: World, forms: Sequence[str], choices: Mapping[str, Any], side: Any) -> Any:
    rankings, truth = world.frames()
    return rm.evaluate(rankings, truth, forms, **side, **choices)


def by_list(world: World, forms: Sequence[str], choices: Mapping[str, Any], side: Any) -> Any:
    rankings, truth = world.dicts()
    return rm.evaluate({u: [*own] for u, own in rankings.items()}, truth, forms, **side, **choices)


def by_disk(world: World, forms: Sequence[str], choices: Mapping[str, Any], side: Any) -> Any:
    with tempfile.TemporaryDirectory() as home:
        paths = [Path(home, name) for name in ("rankings.parquet", "truth.parquet")]
        for path, frame in zip(paths, world.frames(), strict=True):
            frame.write_parquet(path)
        with cases.parts_of(5):
            return rm.evaluate(*map(str, paths), forms, engine="disk", **side, **choices)


def by_scores(world: World, forms: Sequence[str], choices: Mapping[str, Any], side: Any) -> Any:
    rows = np.flatnonzero(world.listed)
    scores = rm.Scores(
        np.nan_to_num(world.scores[rows], nan=5.0),
        users=world.users[rows], items=world.items, exclude=np.isnan(world.scores[rows]),
    )  # fmt: skip
    _, truth = world.dicts()
    return rm.evaluate(scores, truth, forms, **side, **choices)


def matrices(world: World) -> tuple[np.ndarray, dict[str, Any]]:
    scores = np.nan_to_num(world.scores, nan=5.0)
    return scores, {
        "target": np.nan_to_num(world.gains), "exclude": np.isnan(world.scores),
        "users": world.users,
    }  # fmt: skip


def by_evaluate_scores(
    world: World, forms: Sequence[str], choices: Mapping[str, Any], side: Any
) -> Any:
    scores, more = matrices(world)
    return rm.evaluate_scores(scores, more.pop("target"), forms, **more, **choices)


def by_accumulator(keep: str) -> Callable[..., Any]:
    def by_batches(
        world: World, forms: Sequence[str], choices: Mapping[str, Any], side: Any
    ) -> Any:
        accumulator = rm.accumulator(forms, keep=keep, **choices)
        for rows in np.array_split(np.arange(len(world.users)), 3):
            scores, more = matrices(world.take(rows))
            accumulator.update(scores=scores, **more)
        return accumulator.compute()

    return by_batches


def by_evaluator(world: World, forms: Sequence[str], choices: Mapping[str, Any], side: Any) -> Any:
    rankings, truth = world.dicts()
    return rm.Evaluator(truth, forms, **side, **choices).evaluate(rankings)


def by_compare(world: World, forms: Sequence[str], choices: Mapping[str, Any], side: Any) -> Any:
    rankings, truth = world.dicts()
    other = {user: dict(reversed(own.items())) for user, own in rankings.items()}
    systems = {"A": rankings, "B": other}
    return rm.compare(systems, truth, forms, test="t", **side, **choices).summaries["A"]


def by_ranks(world: World, forms: Sequence[str], choices: Mapping[str, Any], side: Any) -> Any:
    own = world.scores[world.gains > 0][:, None]
    above, equal = (world.scores > own).sum(1), (world.scores == own).sum(1)
    n = (~np.isnan(world.scores)).sum(1)
    ranks = rm.Ranks(above + 1, upper=above + equal, candidates=n, users=world.users)
    return rm.evaluate(ranks, None, forms, **choices)


def by_samples(world: World, forms: Sequence[str], choices: Mapping[str, Any], side: Any) -> Any:
    rows = np.flatnonzero((~np.isnan(world.scores)).sum(1) > 0)
    own = world.scores[world.gains > 0][rows]
    # Places without an item rank below everything: they are negatives in both forms.
    others = np.where(world.gains > 0, np.nan, world.scores)[rows]
    others = np.where(np.isnan(others), -9.0, others)
    others = others[world.gains[rows] != 1.0].reshape(rows.size, -1)
    return rm.evaluate(rm.Sampled(own, others, users=world.users[rows]), None, forms, **choices)


def filled(world: World) -> World:
    """As `of_one_item`, with every item ranked, as in samples of one size."""
    world = of_one_item(world)
    return replace(world, scores=np.nan_to_num(world.scores, nan=-9.0))


def by_grades(world: World, forms: Sequence[str], choices: Mapping[str, Any], side: Any) -> Any:
    lists, n_relevant = [], []
    for scores, gains in zip(world.scores, world.gains, strict=True):
        order = [i for i in np.argsort(-np.nan_to_num(scores, nan=-1e9)) if scores[i] == scores[i]]
        lists.append(np.maximum(np.nan_to_num(gains[order]), 0.0).tolist())
        n_relevant.append(int((gains > 0).sum()))
    grades = rm.Grades(lists, n_relevant=n_relevant, users=world.users)
    return rm.evaluate(grades, None, forms, **choices)


@dataclass(frozen=True)
class Door:
    """A way in: how to call it, the worlds that it can express, and the kind of its input."""

    call: Callable[..., Any]
    project: Callable[[World], World] = in_any_form
    input: str = "rankings"
    of_lists: bool = True  # whether metrics of lists have a value
    repeats: bool = False  # whether an item can come twice
    demotes: bool = False  # whether a hit can be lost only by moving it down
    by_user: bool = True

    @property
    def of_scores(self) -> bool:
        """Whether it takes scores of all items instead of lists."""
        return self.call in (by_scores, by_evaluate_scores) or self.input == "batches"


DOORS = {
    "dict": Door(by_dict, repeats=True),
    "frame": Door(by_frame, in_frames, repeats=True),
    "lists": Door(by_list, untied),
    "Evaluator": Door(by_evaluator),
    "compare": Door(by_compare),
    "Scores": Door(by_scores, in_columns),
    "disk": Door(by_disk, in_frames, repeats=True),
    "evaluate_scores": Door(by_evaluate_scores, in_matrix, "scores", of_lists=False, demotes=True),
    "values": Door(by_accumulator("values"), in_matrix, "batches", of_lists=False, demotes=True),
    "moments": Door(by_accumulator("moments"), in_matrix, "batches", of_lists=False, demotes=True,
                    by_user=False),
    "Ranks": Door(by_ranks, of_one_item, "ranks", of_lists=False, demotes=True),
    "Sampled": Door(by_samples, filled, "samples", of_lists=False, demotes=True),
    "Grades": Door(by_grades, in_grades, "grades", of_lists=False, demotes=True),
}  # fmt: skip
"""All ways in by name. `moments` has no values by user."""
