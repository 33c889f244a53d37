"""All that is public with hostile arguments: a result, or an error of rankmeter's own.

What is called, and with which parameters, comes from the signatures of what ``rankmeter.__all__``
names. `STRATEGIES` has plausible values for each name of a parameter; a name without them is a
`LookupError`, so that a new function is covered or the fuzzer fails. Any argument may be damaged or
replaced by something that nobody passes on purpose, and none may be changed by the call.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import inspect
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse as sp

import rankmeter as rm
from fuzz.api import FORMS, METRICS, ODD, WORDS, _short, _where
from fuzz.harness import Failure
from fuzz.readers import dataset, typed
from rankmeter.errors import RankmeterError

MADE = {
    "Accumulator", "Across", "Audit", "Collapsed",
    "Comparison", "Curve", "Description", "Diff", "Estimate", "Explanation", "LinkQueries",
    "MeanCheck", "Metric", "Plan", "SampleSize", "Split", "Summary", "ValueComparison",
    "Walkthrough",
}  # fmt: skip
"""Classes whose instances rankmeter makes: only their methods are called."""
INTERNAL = {
    "count", "read", "refuse_bounds", "errors", "metrics", "testing", "movielens",
    "movielens_items", "beir", "mteb", "sentence_transformers",
}  # fmt: skip
"""Methods for other modules of rankmeter, modules for those who write metrics, downloads, and
evaluators with the signatures of other tools."""
CALLED = {"X", "estimator", "first", "matrix", "prediction", "scores", "to"}
"""Parameters that may be functions, whose errors are their own."""
OPERATORS = ("__add__", "__call__", "__getitem__", "__matmul__")


class Rude:
    """No comparison, no text, no truth."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("compared")

    def __repr__(self) -> str:
        raise RuntimeError("shown")

    __str__ = __repr__

    def __bool__(self) -> bool:
        raise RuntimeError("asked")


def _frame(*dtypes: Any) -> pl.DataFrame:
    """A frame without rows whose columns have types that nobody expects."""
    return pl.DataFrame(schema=dict(zip(("user", "item", "score"), dtypes, strict=False)))


ABSURD: list[Callable[[], Any]] = [
    *ODD, Rude, lambda: os.fsdecode(b"\xff\xfe"), lambda: "u\ud800",
    lambda: {"\ud800": ["\udfff"]}, lambda: sp.csr_matrix((0, 0)), lambda: sp.coo_array((3, 0)),
    lambda: sp.csr_matrix([[np.nan]]), lambda: sp.dok_array((2, 2)), lambda: np.empty((0, 0)),
    lambda: np.empty((2, 0, 3)), lambda: np.array([["a", None]], dtype=object),
    lambda: np.ma.masked_all((2, 2)), lambda: np.zeros(2, dtype=[("user", "i4"), ("item", "O")]),
    lambda: np.array(["nat"], "M8[s]"), lambda: np.full((2, 2), 1j), lambda: np.array(3),
    lambda: np.zeros((2, 2), dtype="V3"), lambda: memoryview(b"abc"), lambda: pl.DataFrame(),
    lambda: _frame(pl.Null, pl.Object),
    lambda: _frame(pl.Duration, pl.Struct({"a": pl.Int8}), pl.Binary),
    lambda: pl.Series(dtype=pl.Null),
    lambda: _frame(pl.List(pl.List(pl.Null)), pl.Array(pl.Int8, 0)),
    lambda: pl.LazyFrame({"a": [1]}), lambda: pl.DataFrame({"user": [object()], "item": [b"\xff"]}),
    pd.DataFrame, pd.Series, lambda: pd.DataFrame([[1, 2]], columns=["user", "user"]),
    lambda: pd.DataFrame({0: [1], None: [2]}),
    lambda: pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("user", "item")])),
    lambda: pd.DataFrame({"user": pd.interval_range(0, 1), "item": pd.period_range("1", "1")}),
    lambda: pd.DataFrame({"user": pd.Categorical([1, 2]), "item": [1j, 2]}), lambda: pd.NA,
    lambda: pd.Series([1, "a", None], index=pd.MultiIndex.from_tuples([(1, 2)] * 3)),
    lambda: pd.NaT, lambda: [[]], lambda: [[], [1]], lambda: [[1], [2, 3]], lambda: [None],
    lambda: {None: None}, lambda: {"users": [1]}, lambda: [("a", 1, 2, 3)], lambda: [{"item": 0}],
    lambda: {1: {2: "x"}}, lambda: {1: {}, 2: []}, lambda: [float("nan")], lambda: {(): ()},
    lambda: (1, 2, 3), lambda: -7, lambda: 10**5000, lambda: "x" * 10**5, lambda: rm.NDCG,
    lambda: lambda: 1, lambda: Path("no/such"),
]  # fmt: skip
"""What nobody passes on purpose."""


# -- plausible values of each parameter, by its name ------------------------------------------


@dataclass(frozen=True)
class World:
    """Users and items that all arguments of a call share."""

    draw: Random
    users: Any
    items: Any
    data: Any

    @classmethod
    def of(cls, seed: int) -> World:
        """The world of a seed."""
        draw = Random(seed)
        data = dataset(draw)
        users = sorted({u for side in data.values() for u in side})
        items = sorted({i for side in data.values() for found in side.values() for i in found})
        if draw.random() < 0.5:
            return cls(draw, typed({u: u for u in users}), typed({i: i for i in items}), data)
        return cls(draw, {u: u for u in users}, {i: i for i in items}, data)

    def rows(self, side: str) -> list[list[Any]]:
        """Rows of users, items and numbers."""
        return [
            [self.users[u], self.items[i], n]
            for u, one in self.data[side].items()
            for i, n in one.items()
        ]

    def side(self, side: str) -> Any:
        """Rankings, truth or interactions in some form, of which a cell may be odd."""
        rows = self.rows(side)
        if self.draw.random() < 0.15:
            self.draw.choice(rows)[self.draw.randrange(3)] = self.draw.choice(ABSURD)()
        return FORMS[self.draw.choice([*FORMS])](rows, side)[0]

    def labels(self, ids: str, values: Any) -> Any:
        """A value for each user or item, in some form."""
        found = {one: self.draw.choice(values) for one in getattr(self, ids).values()}
        forms: list[Callable[[], Any]] = [
            lambda: found,
            lambda: pd.Series(found),
            lambda: [*found.items()],
            lambda: pl.DataFrame({ids[:-1]: [*found], "segment": [*found.values()]}, strict=False),
        ]
        return self.draw.choice(forms)()

    def scores(self, *shape: int) -> Any:
        """Scores, some of which are odd, as an array of some library."""
        found = np.array([self.draw.choice(SCORES) for _ in range(int(np.prod(shape)))])
        more: list[Any] = [np.ndarray.tolist, sp.csr_matrix, pd.DataFrame]
        makes = [np.asarray] * 4 + more
        return self.draw.choice(makes)(found.reshape(shape).astype(self.draw.choice(["f8", "f4"])))


SCORES = [*[0.1, 0.25, 0.5, 0.7, 1.0, 2.0] * 6, np.nan, np.inf, -np.inf, 0.0, -1.0]
N, M = 3, 4  # queries and candidates of the functions of scores
LABELS = ["a", "b", "", None, 1, 2.5, "\ud800", "all", True]


def _path(world: World) -> Any:
    return world.draw.choice(
        [
            "out.html",
            Path("out.html"),
            "out.result",
            "no/such/out.html",
            "",
            ".",
            "\ud800.html",
            None,
        ]
    )


def _targets(world: World) -> Any:
    ones = [world.draw.randrange(M) for _ in range(N)]
    sets, gains = [{one} for one in ones], [{one: 2.0} for one in ones]
    mask = np.eye(N, M, dtype=bool)
    forms = [ones, np.array(ones), sets, gains, mask, sp.csr_matrix(np.eye(N, M)), [[]] * N]
    return world.draw.choice([*forms, [[one] for one in ones], np.full((N, 2), -1)])


def _state(world: World) -> Any:
    """A state of an accumulator, of which something may be damaged."""
    found = dict(_accumulator(world).state())
    about = json.loads(bytes(found["about"]))
    for _ in range(world.draw.choice([0, 1, 1, 2])):
        holder, key = about, world.draw.choice([*about])
        while isinstance(holder[key], dict) and holder[key] and world.draw.random() < 0.8:
            holder, key = holder[key], world.draw.choice([*holder[key]])
        holder[key] = world.draw.choice(
            [None, -1, 1.5, "x", [], {}, 10**30, True, [1, "a", 2], {"a": 1}]
        )
        found["about"] = np.frombuffer(json.dumps(about).encode(), np.uint8)
    if world.draw.random() < 0.3:
        name = world.draw.choice([*found])
        found[name] = world.draw.choice(
            [found[name][:-1], found[name].astype(object), found[name] * 0, None]
        )
    return found


def _accumulator(world: World) -> Any:
    keep = world.draw.choice(["values", "moments"])
    made = rm.accumulator(["mrr", "ndcg@2"], keep=keep)
    for _ in range(world.draw.randrange(3)):
        made.update(scores=np.eye(N, M), target=[0, 1, 2])
    return made


def _bytes(world: World) -> Any:
    found = bytearray(_accumulator(world).to_bytes())
    for _ in range(world.draw.choice([0, 1, 5])):
        found[world.draw.randrange(len(found))] = world.draw.randrange(256)
    return bytes(found[: world.draw.choice([len(found), len(found) // 2])])


def _values(world: World) -> Any:
    of_one = {u: world.draw.choice([0.0, 0.5, 1.0, None, 2.0]) for u in world.users.values()}
    rows = [(s, u, "mrr", v) for s in "ab" for u, v in of_one.items()]
    frame = pl.DataFrame(
        rows, schema=["system", "user", "metric", "value"], orient="row", strict=False
    )
    return world.draw.choice(
        [
            {"x": of_one, "y": dict.fromkeys(of_one, 0.5)},
            {"x": [0.1, 0.2, 0.3], "y": [0.2, 0.2, 0.1]},
            frame,
            frame.to_pandas(),
            pd.pivot_table(frame.to_pandas(), "value", ["user", "metric"], "system").reset_index(),
            {"x": _summary(world), "y": _summary(world)},
        ]
    )


def _options(world: World) -> dict[str, Any]:
    names = world.draw.sample([*WORDS], world.draw.choice([0, 1, 2]))
    return {
        name: world.draw.choice([*WORDS[name], *(one() for one in world.draw.sample(ABSURD, 2))])
        for name in names
    }


def _dated(world: World) -> Any:
    rows = [(u, i, 3.0, t) for t, (u, i, _) in enumerate(world.rows("truth"))]
    frame = pl.DataFrame(rows, schema=["user", "item", "rating", "time"], orient="row")
    dates = frame.with_columns(time=pl.from_epoch("time"))
    return world.draw.choice(
        [frame, frame.to_pandas(), dates, frame.drop("time"), world.side("truth")]
    )


def _of(side: str) -> Callable[[World], Any]:
    return lambda world: world.side(side)


def _labels(ids: str, values: Any = LABELS) -> Callable[[World], Any]:
    return lambda world: world.labels(ids, values)


def _some(*values: Any) -> Callable[[World], Any]:
    return lambda world: world.draw.choice(values)


def _systems(world: World) -> Any:
    return {
        name: world.side("rankings")
        for name in world.draw.choice(["xy", "xyz", ["", "\ud800"], [1, 2]])
    }


def _cells(world: World) -> Any:
    return world.scores(N, M)


def _summary(world: World) -> Any:
    users = [*world.users.values()]
    items = [*world.items.values()]
    truth = {u: {world.draw.choice(items): world.draw.choice([1, 2])} for u in users}
    ranked = {u: world.draw.sample(items, len(items)) for u in users}
    more = world.draw.choice([{}, {"aggregate": "geometric"}, {"undefined": "zero"}])
    return rm.evaluate(ranked, truth, ["mrr", "ndcg@2"], **more)


def _comparison(world: World) -> Any:
    more = world.draw.choice(
        [{}, {"segments": dict.fromkeys(world.users.values(), "s")}, {"baseline": "x"}]
    )
    return rm.compare({"x": _summary(world), "y": _summary(world)}, n_resamples=50, **more)


def _explanation(world: World) -> Any:
    ranked, truth = world.rows("rankings"), world.rows("truth")
    sides = [{u: {i: n} for u, i, n in rows} for rows in (ranked, truth)]
    return rm.explain(
        *sides,
        "ndcg@3",
        **world.draw.choice([{"between": ("rankmeter", "sklearn")}, {"target": 0.5}]),
    )


def _curve(world: World) -> Any:
    users, items = [*world.users.values()], [*world.items.values()]
    return rm.curve(dict.fromkeys(users, items), dict.fromkeys(users, items[:1]), "ndcg", 3)


def _evaluator(world: World) -> Any:
    users, items = [*world.users.values()], [*world.items.values()]
    return rm.Evaluator({u: [world.draw.choice(items)] for u in users}, ["mrr", "ndcg@2"])


def _triples(world: World) -> Any:
    found = [[world.draw.randrange(4) for _ in range(3)] for _ in range(world.draw.randrange(1, 5))]
    roles = ["head", "relation", "tail"]
    named = [["abcde"[h], "r", "abcde"[t]] for h, _, t in found]
    return world.draw.choice(
        [
            *(found, np.array(found), pd.DataFrame(found), pl.DataFrame(found, orient="row")),
            *(named, np.array(named), pd.DataFrame(named, columns=roles)),
        ]
    )


def _log(world: World) -> Any:
    return {u: [*world.items.values()] for u in world.users.values()}


def _across(world: World) -> Any:
    return rm.across({name: _comparison(world) for name in "abc"}, same_users=False)


INSTANCES: dict[str, Callable[[World], Any]] = {
    "Across": _across,
    "Audit": lambda world: rm.audit(_log(world), {u: ["other"] for u in world.users.values()}),
    "Collapsed": lambda _: rm.collapse({1: ["a#1", "b#1"]}, "before:#"),
    "Accumulator": _accumulator,
    "Comparison": _comparison,
    "Curve": _curve,
    "Description": lambda world: rm.describe(_log(world)),
    "Diff": lambda world: rm.diff({1: ["a", "b"]}, {1: ["b", "c"], 2: ["a"]}),
    "Estimate": lambda world: _summary(world)["mrr"],
    "Evaluator": _evaluator,
    "Explanation": _explanation,
    "Grades": lambda world: rm.Grades([[1, 0], [0, 1]]),
    "LinkQueries": lambda world: rm.link_queries([(0, 0, 1), (0, 0, 2)]),
    "Metric": lambda world: world.draw.choice([rm.NDCG, rm.RBP, rm.Recall @ 2]),
    "Plan": lambda world: _summary(world).plan,
    "Positions": lambda world: rm.Positions([[2, 5], [1]]),
    "Ranks": lambda world: rm.Ranks([1, 2.5]),
    "MeanCheck": lambda world: rm.check_mean(0.5, n=3, metric="hr@2"),
    "SampleSize": lambda world: rm.sample_size(difference=0.1, sd=0.3),
    "Sampled": lambda world: rm.Sampled([0.5, 0.1], [[0.2], [0.3]]),
    "Scores": lambda world: rm.Scores(np.eye(3)),
    "Split": lambda world: rm.splits.leave_one_out(_log(world), by="random"),
    "Summary": _summary,
    "ValueComparison": lambda world: rm.compare_values(
        {"x": [0.1, 0.2, 0.3], "y": [0.2, 0.2, 0.1]}, n_resamples=50
    ),
    "Walkthrough": lambda world: _summary(world).show(next(iter(world.users.values()))),
    "compute_metrics()": lambda world: rm.compute_metrics(),
    "group_metric()": lambda world: rm.group_metric("ndcg"),
    "scorer()": lambda world: rm.scorer("mrr"),
}
"""What the methods of a class, and functions that are returned, are called on."""


class _Tracker:
    """An object that takes scalars, as TensorBoard's writer."""

    def add_scalar(self, name: str, value: float, step: int | None = None) -> None:
        """Take one."""
        float(value)


class _Estimator:
    """An estimator of scikit-learn, whose scores are what it predicts for."""

    classes_ = np.arange(M)

    def predict(self, X: Any) -> Any:
        """The scores."""
        return X


NUMBERS = _some(0.05, 0.5, 0.95, 1, 0, 2, -1, 100, 1e-9, 0.2)
COUNTS = _some(1, 2, 3, 10, 0, -1)
FLAGS = _some(True, False)
TEXTS = _some("", "a", "x", "y", "\ud800", "a\nb", "mrr", "<b>")
CELLS = _cells
STRATEGIES: dict[str, Callable[[World], Any]] = {
    **{name: _some(*values, None) for name, values in WORDS.items()},
    **dict.fromkeys(["rankings", "baseline_lists", "old", "new"], _of("rankings")),
    **dict.fromkeys(["truth", "train", "judge"], _of("truth")), **dict.fromkeys(
    ["metrics", "metric", "text"], _some(*METRICS, "mrr", "ndcg@2", rm.NDCG, ["mrr", "recall@2"])),
    **dict.fromkeys(["assurance", "confidence", "difference", "differing", "exponent",
    "fraction", "p", "half_life", "margin", "mean", "uneven", "power", "ratio", "sd",
    "damping", "days", "default"],
    NUMBERS), **dict.fromkeys(["depth", "digits", "factors", "indent", "k", "max_k", "memory",
    "min_history", "n", "n_items", "n_per_user", "n_permutations", "n_tastes", "n_users",
    "neighbours", "resamples", "seed", "step"], COUNTS),
    **dict.fromkeys(["bugs", "exclude_seen", "intervals", "per_user", "target_ids",
    "same_users", "interactive", "relative"], FLAGS), "differences": _some(None, ()),
    "targets": _some("all", "first", "last", "random"), "validation": _some(None, 0.5, 1),
    "history": _some("new", "seen", "all"),
    "rule": _some("before:#", "regex:(.)", {"a": "b"}, "x", 1, None),
    **dict.fromkeys(
    ["baseline", "system", "against", "caption", "label", "name", "prefix", "run_id", "key"], TEXTS,
    ), **dict.fromkeys(["segments", "clusters", "groups"], lambda world: world.draw.choice(
    [_labels("users"), _labels("users", ["s", "t"]), lambda _: ["a", "", None][:N]])(world)),
    **dict.fromkeys(["group", "qid", "labels", "weight"],
    _some([2, 1], [0, 0, 1], np.ones(N), None, "a", pd.Series(["b", "b", "a"]))), "X": CELLS,
    "prediction": lambda world: (_cells(world), _targets(world)), "y": _targets, "target": _targets,
    "batch": lambda world: (_cells(world), _targets(world))[: world.draw.randrange(3)],
    "at": _some(0.5, 1, "2020-01-01", dt.date(1970, 1, 1), dt.datetime(1970, 1, 2, tzinfo=dt.UTC)),
    "between": _some(("rankmeter", "sklearn"), ("trec_eval", "nope"), ["ranx", "ranx"], ("ranx",)),
    "bins": _some(2, 3, [1, 2], {"low": 0, "high": 2}, [2, 1], [np.nan], {"\ud800": 1}),
    "by": _some("time", "random", "rating"),
    "candidates": _some(M, [M] * N, np.full(N, 3), [[0, 1]] * N, [[1], [1, 2]]),
    "cold_items": _some("keep", "drop"), "cold_users": _some("keep", "drop"),
    "correction": _some("maxt", "holm", "none", "bonferroni"),
    "data": lambda world: world.draw.choice([_dated, _bytes])(world),
    "each": _some("query", "user", "row"), "empty": _some("skip", "zero"),
    "empty_truth": _some("skip", "zero", "raise"), "engine": _some("auto", "memory", "disk"),
    "entities": _some(
    None, [*"abcde"], [*range(5)], pd.Series([*"abcde"]), {"a": 0, "b": 9}, ["a", "a"]),
    "estimator": lambda _: _Estimator(), "exclude": lambda world: world.draw.choice(
    [*WORDS["exclude"], [[0]] * N, np.zeros((N, M), bool), sp.csr_matrix((N, M)), [[9]]]),
    **dict.fromkeys(["exact", "found"], _some(
    [[1, 2], [0, 1]], [[2, -1], [1, 5]], np.array([[0.1, 0.2], [0.3, np.nan]]), [[]], None)),
    "ids": _some(None, [[1, 2], [0, 1]], [[1]]), "form": _some("text", "latex", "bibtex"),
    "queries": _some(None, {"a": "text"}, {"nobody": "text"}, 1),
    "family": _some("metric", "all", "none"),
    "filters": lambda world: world.draw.choice([(), _triples(world), [_triples(world)] * 2]),
    "first": CELLS, "second": _targets, "interval": _some("wilson", "t", "bca"),
    "items": lambda world: world.draw.choice(
    [_labels("items", [[0.5, 1], [1, 0]]), _labels("items"), lambda _: [[0, 1]] * N])(world),
    "keep": _some("values", "moments", "nothing"), "kind": _some("means", "distribution", "forest"),
    "lists": _some([[1, 0], [0, 1]], np.eye(3), [[2], [0, 1]]),
    "lower_is_better": _some(True, False, "mrr", ["mrr"]), "matrix": CELLS, "scores": CELLS,
    "n_relevant": _some(1, [1, 2], [0, 0]), "options": _options,
    "negatives": lambda world: world.scores(N, 2), "positive": lambda world: world.scores(N),
    "positives": lambda world: world.scores(N), "other": lambda world: _accumulator(world),
    "over": _some("users", "rows", "interactions"), "path": _path,
    "pilot": lambda world: world.draw.choice([_summary, _comparison])(world), "ranks": _some(
    [1, 2, 3], np.array([1.5, 2]), [0], [[1, 2], [3, 4]], [np.inf], pd.Series([1, 2])),
    "results": _some({"mrr": 0.3}, {"hits@3": 0.9, "mr": 2}, {"gmr": 1.5}, {"mrr": 7}, {"nope": 1}),
    "positions": _some([[2, 5], [1]], [1, 3], [[0]], [[]], [[1, 1]], [[1.5], [2]], [(1,), None]),
    "qrels": _some(pd.DataFrame({"qid": ["a"], "docno": ["x"], "label": [1]}), pd.DataFrame(), 1),
    "topics": _some(pd.DataFrame({"qid": ["a"]}), pd.DataFrame({"qid": [0.5]}), None, {"qid": 1}),
    "rows": _some(0, [0], slice(2), np.array([1]), [5]),
    "scale": _some((0, 1), (1, 0), [0.0, 2.0], (0,)),
    "sides": _some("head", ("tail",), ["head", "tail"], [], "x"), "state": _state,
    "systems": _systems, "test": _some("auto", "t", "permutation", "sign"),
    "to": lambda _: _Tracker(), "tolerance": _some(0.01, (1e-3, 1e-6), (0, 0), (1,), -1),
    "triples": _triples, "unit": _some("s", "ms", "us", "ns"),
    "upper": _some([1, 2, 3], [5, 5], [0]),
    "user": lambda world: world.draw.choice([*world.users.values(), "nobody", "\ud800"]),
    "users": lambda world: world.draw.choice(
    [[*world.users.values()], [*world.users.values()][:N], *WORDS["users"], _log(world)]),
    "values": _values,
}  # fmt: skip
"""Plausible values of every parameter of that name."""
LONG = {"n_permutations", "resamples", "n_users", "n_items", "n_per_user", "max_k"}
"""Counts of which millions are legal and take their time."""


# -- what is called ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Target:
    """Something public: what it is an attribute of, and its parameters, or None if it is read."""

    owner: Callable[[World], Any]
    name: str
    parameters: tuple[inspect.Parameter, ...] | None


@cache
def targets() -> dict[str, Target]:
    """All that is called, by name; a `LookupError` where values of a parameter are not known."""
    found = {
        name: Target(maker, "__call__", _parameters(maker(World.of(0))))
        for name, maker in INSTANCES.items()
        if name.endswith("()")
    }
    homes: list[tuple[str, ModuleType]] = [("", rm)]
    for prefix, home in homes:
        for name in {*home.__all__} - INTERNAL:
            thing, label = getattr(home, name), prefix + name
            if isinstance(thing, ModuleType):
                homes.append((f"{name}.", thing))
            elif inspect.isclass(thing):
                found |= _of_class(name, thing)
            elif callable(thing) and not isinstance(thing, rm.Metric):
                found[label] = Target(lambda _, home=home: home, name, _parameters(thing))
    named = {p.name for target in found.values() for p in target.parameters or ()}
    if odd := named ^ {*STRATEGIES}:
        raise LookupError(f"parameters without a strategy, or strategies without: {sorted(odd)}")
    return dict(sorted(found.items()))


def _of_class(label: str, kind: type) -> dict[str, Target]:
    """What is public in a class, and the class itself if others than rankmeter make instances."""
    maker = INSTANCES.get(label)
    if maker is None:
        raise LookupError(f"{label} is a public class without an instance in INSTANCES")
    found = {} if label in MADE else {label: Target(lambda _: rm, label, _parameters(kind))}
    for name in dir(kind):
        if name in INTERNAL or (name.startswith("_") and name not in OPERATORS):
            continue
        static, method = inspect.getattr_static(kind, name), getattr(kind, name, None)
        if isinstance(static, property):
            found[f"{label}.{name}"] = Target(maker, name, None)
        elif callable(method):
            bound = not isinstance(static, classmethod | staticmethod)
            parameters = _parameters(method)[int(bound) :]
            found[f"{label}.{name}"] = Target(maker, name, parameters)
    return found


def _parameters(thing: Any) -> tuple[inspect.Parameter, ...]:
    return tuple(inspect.signature(thing).parameters.values())


# -- the fuzzer -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A call, made from a seed: the optional arguments that it has, and those that are odd."""

    seed: int
    target: str
    optional: tuple[str, ...]
    odd: tuple[str, ...]


class Calls:
    """The fuzzer of all that is public."""

    def __init__(self) -> None:
        self.failed: dict[Case, str] = {}

    def make(self, draw: Random) -> Case:
        """A call with some of its parameters, of which none, one or two are odd."""
        names, weights = [*targets()], [1 + len(t.parameters or ()) for t in targets().values()]
        (name,) = draw.choices(names, weights)
        parameters = targets()[name].parameters or ()
        share = draw.choice([0, 0.1, 0.3])
        optional = [p.name for p in parameters if not _is_needed(p) and draw.random() < share]
        given = [p.name for p in parameters if _is_needed(p) or p.name in optional]
        odd = draw.sample(given, min(len(given), draw.choice([0, 0, 1, 1, 1, 2])))
        return Case(draw.getrandbits(60), name, tuple(optional), tuple(odd))

    def check(self, case: Case, stage: Callable[[int], None]) -> str:
        """Call; any error but one of rankmeter's own is a failure, and so is a changed argument."""
        stage(2)  # what another library makes of the arguments is not looked at
        try:
            arguments = built(case)
            before = {name: fingerprint(value) for name, value in arguments.items()}
        except KeyboardInterrupt:
            raise
        except BaseException:
            return "not built"
        stage(0)
        try:
            outcome = self.outcome(case, arguments)
            for name, value in arguments.items():
                if fingerprint(value) != before[name]:
                    raise Failure(f"{case.target} changes {name}")
        except Failure:
            self.failed[case] = _short(arguments)
            raise
        return f"{outcome}{' with odd arguments' if case.odd else ''}"

    def outcome(self, case: Case, arguments: dict[str, Any]) -> str:
        """What the call comes to, in a folder of its own."""
        place = tempfile.TemporaryDirectory(prefix="rankmeter-fuzz-")
        with place as home, contextlib.chdir(home):
            try:
                called(case, arguments)
            except RankmeterError as error:
                if len(str(error)) > 5000:
                    raise Failure("a message without an end", str(error)[:200]) from error
                return "refused"
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                if isinstance(error, OSError) and "path" in arguments:
                    return "a path that cannot be written"
                kind = f"foreign {type(error).__name__} {_where(error) or 'in ' + case.target}"
                raise Failure(
                    kind, f"{_text(error)} in {case.target}({_short(arguments)})"
                ) from error
        return "accepted"

    def show(self, case: Case) -> bytes:
        """The call as text, with the arguments if it failed: to build them may end the process."""
        arguments = self.failed.get(case, "")
        return f"{case}\n{case.target}({arguments})\n".encode(errors="backslashreplace")

    def suffix(self, case: Case) -> str:
        """The extension of the text."""
        return ".txt"

    def smaller(self, case: Case) -> Iterator[Case]:
        """The same call with fewer odd or optional arguments."""
        for name in case.odd:
            yield replace(case, odd=tuple(one for one in case.odd if one != name))
        for name in case.optional:
            fewer = tuple(one for one in case.optional if one != name)
            yield replace(case, optional=fewer, odd=tuple(one for one in case.odd if one != name))


def fuzzer(_: str) -> Calls:
    """The fuzzer of all that is public."""
    return Calls()


def built(case: Case) -> dict[str, Any]:
    """The arguments by name; each is drawn on its own, so that a call without it has the others."""
    parameters = targets()[case.target].parameters or ()
    found = {}
    for p in parameters:
        if _is_needed(p) or p.name in case.optional:
            world = World.of(case.seed)
            world = replace(world, draw=Random(f"{case.seed} {p.name}"))
            found[p.name] = STRATEGIES[p.name](world)
            if p.name in case.odd and p.kind is not p.VAR_KEYWORD:
                odd = _permitted(p.name, world.draw.choice(ABSURD)())
                found[p.name] = (odd, *found[p.name][1:]) if p.kind is p.VAR_POSITIONAL else odd
    return found


def _permitted(name: str, value: Any) -> Any:
    """An odd value, or another one where it would be right and take long, or fail by itself."""
    long = name in LONG and isinstance(value, int) and 1000 < value < 10**9
    return None if long or (name in CALLED and callable(value)) else value


def called(case: Case, arguments: dict[str, Any]) -> None:
    """Call, and look at all that comes back."""
    target = targets()[case.target]
    thing = getattr(target.owner(World.of(case.seed)), target.name)
    if target.parameters is not None:
        args, named = [], {}
        for p in target.parameters:
            if p.name not in arguments:
                continue
            if p.kind is p.VAR_KEYWORD:
                named |= arguments[p.name]
            elif p.kind is p.VAR_POSITIONAL:
                args += arguments[p.name]
            elif p.kind is p.POSITIONAL_ONLY:
                args.append(arguments[p.name])
            else:
                named[p.name] = arguments[p.name]
        thing = thing(*args, **named)
    if isinstance(thing, Iterator):
        thing = [*thing]
    repr(thing)
    str(thing)


def _is_needed(p: inspect.Parameter) -> bool:
    return p.default is p.empty and p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)


def _text(error: BaseException) -> str:
    try:
        return str(error)[:200]
    except Exception:
        return "no text"


def fingerprint(value: Any) -> Any:
    """Something that differs if a value was changed."""
    if isinstance(value, dict):
        return [(fingerprint(key), fingerprint(one)) for key, one in value.items()]
    if isinstance(value, list | tuple):
        return [fingerprint(one) for one in value[:1000]]
    if isinstance(value, np.ndarray):
        return (
            value.dtype,
            value.shape,
            _short(value.tolist()) if value.dtype == object else value.tobytes(),
        )
    if sp.issparse(value):
        return type(value), value.shape, _short(value.tocoo().coords), _short(value.tocoo().data)
    if isinstance(value, pd.DataFrame | pd.Series):
        return _short(value.to_dict()), _short(value.index), _short(value.dtypes)
    return _short(value) if not isinstance(value, Iterator) else None
