"""The shapes of data that people have, each with the function that makes it from small data."""

from __future__ import annotations

import ast
import json
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import rankmeter as rm
from command_line import rankmeter
from door.containers import FILES, FRAMES, MAPPINGS, RECORDS
from door.judge import Answer, as_matrix, ask, ask_command, naive, refused, right, right_or_refused

DEPTH = 6
COUNT = 12


class Data:
    """Small random lists of users, best first, and their relevant items."""

    def __init__(self, ids: str, seed: int = 0) -> None:
        rng = random.Random(seed)
        text = ids == "text"
        self.users = [f"u{n}" if text else n for n in range(COUNT)]
        items = [f"i{n}" if text else n + 100 for n in range(30)]
        self.lists = {u: rng.sample(items, DEPTH) for u in self.users}
        self.truth = {u: rng.sample(items, 3) for u in self.users}
        for n, u in enumerate(self.users[::3]):
            self.truth[u][n % 3] = self.lists[u][n % DEPTH]
            self.truth[u] = [*dict.fromkeys(self.truth[u])]
        self.expected = naive(self.lists, self.truth)
        self.rng = rng

    def score(self, place: int) -> float:
        """Of an item at this place: the best has the largest."""
        return 9.75 - place

    def rows(self, names: tuple[str, str], *more: str) -> Rows:
        """Rows of the rankings, with further columns."""
        facts = {"score": self.score, "rank": int, "title": lambda place: f"film {place % 2}"}
        return [
            {names[0]: u, names[1]: item} | {name: facts[name](place) for name in more}
            for u, items in self.lists.items()
            for place, item in enumerate(items, 1)
        ]

    def judged(self, names: tuple[str, str], **more: Callable[[int], Any]) -> Rows:
        """Rows of the truth."""
        return [
            {names[0]: u, names[1]: item} | {name: draw(n) for name, draw in more.items()}
            for u, items in self.truth.items()
            for n, item in enumerate(items)
        ]

    def labels(self) -> tuple[np.ndarray, np.ndarray]:
        """Scores and labels of all items, by the places of users and items; and sets the number."""
        scores = np.array([self.rng.sample(range(90), 7) for _ in self.users]) / 10
        true = [self.rng.randrange(7) for _ in self.users]
        labels = np.zeros(scores.shape, int)
        labels[range(len(true)), true] = 1
        lists = [np.argsort(-row).tolist() for row in scores]
        self.expected = naive(lists, [[item] for item in true])
        return scores, labels


Rows = list[dict[str, Any]]
Sides = tuple[Any, Any]


@dataclass(frozen=True)
class Shape:
    """How data can look, and which numbers are certain."""

    looks: str
    make: Callable[..., Sides]  # from Data, and from two names if the shape has names
    kinds: tuple[str, ...]
    sure: frozenset[str] = field(default_factory=frozenset)  # kinds that must give the number
    ids: tuple[str, ...] = ("integers", "text")
    named: bool = False
    doors: str = "rankings"  # which functions take it


FLAT = (*RECORDS, *FRAMES, "to_dict", "to_dict-index", "to_dict-list", "to_dict-split")
TABLES = frozenset({*RECORDS, *FRAMES})
LISTED = TABLES - {"csv", "tsv"}
NESTED = tuple(kind for kind in FLAT if kind not in ("csv", "tsv"))
NAMES = {"known": ("user_id", "item_id"), "unknown": ("source", "target")}
LISTS = {"known": ("user_id", "items"), "unknown": ("who", "what")}


def of_lists(data: Data, names: tuple[str, str], scores: str = "") -> Sides:
    """A row of each user."""
    more = {scores: [data.score(n) for n in range(1, DEPTH + 1)]} if scores else {}
    rows = [{names[0]: u, names[1]: items} | more for u, items in data.lists.items()]
    return rows, [{names[0]: u, names[1]: items} for u, items in data.truth.items()]


def table(looks: str, *more: str, **judged: Callable[[int], Any]) -> Shape:
    """A row of each user and item."""

    def make(data: Data, names: tuple[str, str]) -> Sides:
        return data.rows(names, *more), data.judged(names, **judged)

    sure = TABLES | {"spark"} if more else TABLES  # rows of Spark have no order
    return Shape(looks, make, FLAT, sure, named=True)


def arrays(data: Data) -> tuple[np.ndarray, list[list[Any]]]:
    return np.array([*data.lists.values()]), [*data.truth.values()]


def scored(data: Data) -> dict[Any, dict[Any, float]]:
    return {
        u: {item: data.score(place) for place, item in enumerate(items, 1)}
        for u, items in data.lists.items()
    }


def run_of(data: Data, line: str) -> str:
    return "".join(
        line.format(u=u, i=item, r=place, s=data.score(place)) + "\n"
        for u, items in data.lists.items()
        for place, item in enumerate(items, 1)
    )


def qrels_of(data: Data) -> str:
    return "".join(f"{u} 0 {item} 1\n" for u, items in data.truth.items() for item in items)


def matrix(change: Callable[[np.ndarray, np.ndarray], Sides]) -> Callable[[Data], Sides]:
    return lambda data: change(*data.labels())


def places(data: Data) -> list[list[int]]:
    """The ranks of the relevant items that were shown, and sets the number of their users."""
    found = [
        [place for place, item in enumerate(items, 1) if item in data.truth[u]]
        for u, items in data.lists.items()
    ]
    found = [row for row in found if row]
    data.expected = sum(1 / row[0] for row in found) / len(found)
    return found


def gains(data: Data) -> list[list[int]]:
    found = [
        [int(item in data.truth[u]) for item in items]
        for u, items in data.lists.items()
        if set(items) & set(data.truth[u])
    ]
    data.expected = sum(1 / (row.index(1) + 1) for row in found) / len(found)
    return found


def flat(values: list[list[int]], data: Data) -> list[int]:
    row = values[1]
    data.expected = 1 / (row.index(1) + 1 if len(row) == DEPTH else row[0])
    return row


def groups(data: Data) -> Sides:
    scores, labels = data.labels()
    sizes = [scores.shape[1]] * len(scores)
    return rm.grouped(scores.ravel(), labels.ravel(), sizes)


OBJECT = ("object", "json")
SHAPES: dict[str, Shape] = {
    "rows": table("a row of each user and item, best first"),
    "rows with scores": table("… and a score", "score"),
    "rows with ranks": table("… and a rank", "rank"),
    "rows with both": table("… and both, which agree", "score", "rank"),
    "rows with titles": table("… and words about the items", "score", "title"),
    "rows with gains": table("… and a gain in the truth", "score", gain=lambda n: n % 2 + 1),
    "rows with a time": table("… and a time", "score", timestamp=lambda n: 1_700_000_000 + n),
    "rows of lists": Shape("a list in the row of each user", of_lists, NESTED, LISTED, named=True),
    "rows of lists and scores": Shape(
        "two lists in the row of each user",
        lambda data, names: of_lists(data, names, "scores"),
        NESTED,
        LISTED,
        named=True,
    ),
    "lists by user": Shape(
        "{user: [item, …]}", lambda data: (data.lists, data.truth), OBJECT, frozenset({"object"})
    ),
    "scores by user": Shape(
        "{user: {item: score}}",
        lambda data: (scored(data), {u: dict.fromkeys(t, 1) for u, t in data.truth.items()}),
        OBJECT,
        frozenset({"object"}),
    ),
    "text by user in JSON": Shape(
        "{user: {item: score}}",
        lambda d: (scored(d), d.truth),
        OBJECT,
        frozenset(OBJECT),
        ("text",),
    ),
    "pairs by user": Shape(
        "{user: [(item, score), …]}",
        lambda data: ({u: [*s.items()] for u, s in scored(data).items()}, data.truth),
        OBJECT,
        frozenset({"object"}),
        ("text",),
    ),
    "lists by row": Shape(
        "[[item, …], …]",
        lambda data: ([*data.lists.values()], [*data.truth.values()]),
        OBJECT,
        frozenset({"object"}),
    ),
    "sets of the truth": Shape(
        "[{item, …}, …]",
        lambda data: ([*data.lists.values()], [set(t) for t in data.truth.values()]),
        ("object",),
        frozenset({"object"}),
    ),
    "scores by row": Shape(
        "[{item: score}, …]",
        lambda data: ([*scored(data).values()], [*data.truth.values()]),
        ("object",),
    ),
    "array": Shape("ids of shape users x k", arrays, ("object",), frozenset({"object"})),
    "series of lists": Shape(
        "a Series of lists by user",
        lambda data: (pd.Series(data.lists), pd.Series(data.truth)),
        ("object",),
        frozenset({"object"}),
    ),
    "ids and scores": Shape(
        "(ids, scores) of shape users x k",
        lambda d: ((arrays(d)[0], np.tile(9.5 - np.arange(DEPTH), (COUNT, 1))), arrays(d)[1]),
        ("object",),
        frozenset({"object"}),
        ("integers",),
    ),
    "one list": Shape(
        "[item, …] of one user",
        lambda data: one_user(data),  # noqa: PLW0108 - it is defined below
        OBJECT,
        frozenset({"object"}),
    ),
    "run and qrels": Shape(
        "TREC files",
        lambda data: (run_of(data, "{u} Q0 {i} {r} {s} tag"), qrels_of(data)),
        ("run",),
        frozenset({"run"}),
    ),
    "run of MS MARCO": Shape(
        "query, passage, rank",
        lambda data: (run_of(data, "{u}\t{i}\t{r}"), qrels_of(data)),
        ("run", "tsv text"),
        frozenset({"run"}),
    ),
    "run of MS MARCO with scores": Shape(
        "query, passage, rank, score",
        lambda data: (run_of(data, "{u}\t{i}\t{r}\t{s}"), qrels_of(data)),
        ("run", "tsv text"),
        frozenset({"run"}),
    ),
    "Grades": Shape(
        "gains in order", lambda d: (rm.Grades(gains(d)), None), ("object",), frozenset({"object"})
    ),
    "flat Grades": Shape(
        "gains of one list",
        lambda data: (rm.Grades(flat(gains(data), data)), None),
        ("object",),
        frozenset({"object"}),
    ),
    "Positions": Shape(
        "ranks of the relevant items of each user",
        lambda data: (rm.Positions(places(data)), None),
        ("object",),
        frozenset({"object"}),
    ),
    "Scores": Shape(
        "a matrix of scores",
        matrix(lambda s, y: (rm.Scores(s), [np.flatnonzero(row).tolist() for row in y])),
        ("object",),
        frozenset({"object"}),
        ("rows",),
    ),
    "pivot": Shape(
        "a matrix of scores with names",
        matrix(lambda s, y: (rm.Scores(named(s)), true_names(y))),
        ("object",),
        frozenset(),
        ("rows",),
    ),
    "sparse matrix": Shape(
        "stored scores",
        matrix(lambda s, y: (scipy.sparse.csr_matrix(s + 0.05), scipy.sparse.csr_matrix(y))),
        ("object",),
        frozenset({"object"}),
        ("rows",),
    ),
    "grouped": Shape("rows in groups", groups, ("object",), frozenset({"object"}), ("rows",)),
}


def one_user(data: Data) -> Sides:
    user = data.users[3]
    data.expected = naive([data.lists[user]], [data.truth[user]])
    return data.lists[user], data.truth[user]


def named(scores: np.ndarray) -> pd.DataFrame:
    columns = [f"i{n}" for n in range(scores.shape[1])]
    return pd.DataFrame(scores, [f"u{n}" for n in range(len(scores))], columns)


def true_names(labels: np.ndarray) -> dict[str, list[str]]:
    return {f"u{n}": [f"i{k}" for k in np.flatnonzero(row)] for n, row in enumerate(labels)}


def target(change: Callable[[np.ndarray], Any], *, sure: bool = True) -> Shape:
    """Scores of all items with the true ones in some form."""
    kinds = ("array", "float32", "list", "frame", "matrix")
    certain = frozenset({"array", "float32", "list"}) if sure else frozenset[str]()
    make = matrix(lambda scores, labels: (scores, change(labels)))
    return Shape("scores and the true items", make, kinds, certain, ("rows",), doors="scores")


SHAPES |= {
    "target: ids": target(lambda y: y.argmax(1)),
    "target: list of ids": target(lambda y: y.argmax(1).tolist()),
    "target: lists": target(lambda y: [[int(row.argmax())] for row in y]),
    "target: padded ids": target(lambda y: np.stack([y.argmax(1), np.full(len(y), -1)], axis=1)),
    "target: mask": target(lambda y: y.astype(bool)),
    "target: labels": target(lambda y: y),
    "target: floats": target(lambda y: y.astype(float)),
    "target: sparse": target(scipy.sparse.csr_matrix),
    "target: matrix of numpy": target(as_matrix),
    "target: list of labels": target(lambda y: y.tolist(), sure=False),
    "target: frame": target(named, sure=False),
}

# --- Functions ------------------------------------------------------------------------------------


def of_curve(rankings: Any, truth: Any, **options: Any) -> float:
    return float(rm.curve(rankings, truth, "rr", 10, **options).frame["mean"].to_list()[-1])


def of_explain(rankings: Any, truth: Any, **options: Any) -> float:
    tools = ("rankmeter", "pytrec_eval")
    return float(rm.explain(rankings, truth, "rr", between=tools, **options).start)


def of_accumulator(scores: Any, truth: Any) -> rm.Summary:
    accumulator = rm.accumulator("rr")
    accumulator.update(scores=scores[:5], target=truth[:5])
    accumulator.update(scores=scores[5:], target=truth[5:])
    return accumulator.compute()


def by_position(scores: Any, truth: Any) -> rm.Summary:
    accumulator = rm.accumulator("rr")
    accumulator.update(scores, truth)
    return accumulator.compute()


CALLS: dict[str, dict[str, Callable[..., Any]]] = {
    "rankings": {
        "evaluate": lambda r, t, **o: rm.evaluate(r, t, "rr", **o),
        "compare": lambda r, t, **o: rm.compare({"a": r, "b": r}, t, "rr", **o),
        "Evaluator": lambda r, t, **o: rm.Evaluator(t, "rr", **o).evaluate(r),
        "curve": of_curve,
        "explain": of_explain,
    },
    "scores": {
        "evaluate_scores": lambda s, t: rm.evaluate_scores(s, t, "rr"),
        "accumulator": of_accumulator,
        "accumulator by position": by_position,
    },
}
COMMANDS = ("command evaluate", "command compare", "gate")
ON_FILES = frozenset({*FILES, "run", "tsv text"})


def command(function: str, rankings: Any, truth: Any, expected: float, columns: Any) -> Answer:
    more = ["-m", "rr"]
    if columns:
        more += ["--columns", ",".join(f"{role}={name}" for role, name in columns.items())]
    if function == "command compare":
        return ask_command("compare", truth, f"a={rankings}", f"b={rankings}", *more)
    if function == "command evaluate":
        return ask_command("evaluate", rankings, truth, *more)
    done = rankmeter("evaluate", rankings, truth, *more, "--fail-if", f"rr<{expected + 1e-6}")
    above = rankmeter("evaluate", rankings, truth, *more, "--fail-if", f"rr>{expected + 1e-6}")
    assert done.code != 0, "the gate passed on another number"
    return Answer(expected, None) if (done.code, above.code) == (1, 0) else Answer(None, done.err)


# --- Containers -----------------------------------------------------------------------------------

AS_SCORES: dict[str, Callable[[np.ndarray], Any]] = {
    "array": np.asarray,
    "float32": np.float32,
    "list": np.ndarray.tolist,
    "frame": named,
    "matrix": as_matrix,
}


def text_file(suffix: str) -> Callable[[Any, Path], Path]:
    def make(text: Any, path: Path) -> Path:
        file = path.with_name(f"{path.name}.{suffix}")
        file.write_text(text if isinstance(text, str) else json.dumps(text), "utf-8")
        return file

    return make


HOLD: dict[str, Callable[[Any, Path], Any]] = {
    **RECORDS,
    **FRAMES,
    **MAPPINGS,
    "object": lambda data, _: data,
    "run": text_file("run"),
    "tsv text": text_file("tsv"),
}


# --- Cells ----------------------------------------------------------------------------------------

MODES = ("known", "unknown", "right", "wrong")


@dataclass(frozen=True)
class Cell:
    """A shape, in a container, with names, given to a function."""

    shape: str
    function: str
    kind: str
    names: str

    def __str__(self) -> str:
        return f"{self.shape}-{self.function}-{self.kind}-{self.names}".replace(" ", "_")


def cells() -> Iterator[Cell]:
    """Every combination that makes sense."""
    for name, shape in SHAPES.items():
        for kind in shape.kinds:
            functions = [*CALLS[shape.doors], *(COMMANDS if kind in ON_FILES else ())]
            for function in functions:
                for names in MODES if shape.named else ("known",):
                    yield Cell(name, function, kind, names)


def pairwise() -> list[Cell]:
    """Cells in which every two values that can meet do so at least once."""
    left = {pair for cell in cells() for pair in pairs_of(cell)}
    kept = []
    for cell in random.Random(1).sample([*cells()], len([*cells()])):
        if new := left & pairs_of(cell):
            kept.append(cell)
            left -= new
    return sorted(kept, key=str)


def pairs_of(cell: Cell) -> set[tuple[str, str]]:
    values = (cell.shape, f"f:{cell.function}", f"k:{cell.kind}", f"n:{cell.names}")
    return set(combinations(values, 2))


def judge(cell: Cell, folder: Path) -> None:
    """The number of the naive reference, or an error whose remedy does not mislead."""
    shape = SHAPES[cell.shape]
    data = Data(shape.ids[len(f"{cell.function}{cell.kind}") % len(shape.ids)])
    columns = None
    if shape.named:
        spelled = LISTS if "lists" in cell.shape else NAMES
        names = spelled["known" if cell.names == "known" else "unknown"]
        sides = shape.make(data, names)
        columns = {
            "right": dict(zip(("user", "item"), names, strict=True)),
            "wrong": {"user": "nosuch", "item": names[1]},
        }.get(cell.names)
    else:
        sides = shape.make(data)
    if shape.doors == "scores":
        scores = AS_SCORES[cell.kind](sides[0])
        answer = ask(CALLS["scores"][cell.function], scores, sides[1])
    else:
        hold = HOLD[cell.kind]
        rankings, truth = (
            side if side is None else hold(side, folder / name)
            for side, name in zip(sides, ("rankings", "truth"), strict=True)
        )
        if cell.kind in ("run", "tsv text"):
            truth = truth.rename(truth.with_suffix(".qrels"))
        answer = asked(cell, rankings, truth, data.expected, columns)
        if answer.error and cell.names in ("known", "unknown"):
            follow(cell, rankings, truth, data.expected, answer.error)
    if cell.names == "wrong":
        refused(answer)
    elif cell.kind in shape.sure and cell.names in ("known", "right"):
        right(answer, data.expected)
    else:
        right_or_refused(answer, data.expected)


def asked(cell: Cell, rankings: Any, truth: Any, expected: float, columns: Any) -> Answer:
    if cell.function in COMMANDS:
        return command(cell.function, rankings, truth, expected, columns)
    options = {"columns": columns} if columns else {}
    return ask(CALLS["rankings"][cell.function], rankings, truth, **options)


def follow(cell: Cell, rankings: Any, truth: Any, expected: float, error: str) -> None:
    """Do what the error says, if it spells out a mapping of columns."""
    for said in re.findall(r"columns=(\{[^{}]*\})", error):
        try:
            columns = ast.literal_eval(said)
        except (ValueError, SyntaxError):
            continue
        if all(isinstance(name, str) for name in columns.values()):
            answer = asked(cell, rankings, truth, expected, columns)
            assert answer.error or answer.value == pytest.approx(expected), f"{said} misleads"
