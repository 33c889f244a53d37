"""Random data through random doors with random options, against slow definitions.

A case is rows of rankings and of judgments, some options and some doors: forms of both sides, a
call and an engine. Its values are computed once, item by item, by `tests/reference.py`; what a door
gives must equal them for each user and in the mean. Nothing is damaged, so nothing may be refused.

Each input goes through one door. All doors are compared with the same definitions, so two doors
need no input in common; another input shows more than the same one again.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import shutil
import statistics
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import polars as pl

import cases
import rankmeter as rm
import reference
import reference_lists
from fuzz.api import _where
from fuzz.harness import Failure
from fuzz.judge import order
from fuzz.readers import ids, same
from rankmeter.errors import RankmeterError

COUNTED: dict[str, tuple[str, dict[str, Any]]] = {
    "precision": ("precision", {}),
    "precision(denominator=ranked)": ("precision", {"denominator": "ranked"}),
    "recall": ("recall", {}),
    "hr": ("hit_rate", {}),
    "rr": ("rr", {}),
    "ap": ("ap", {}),
    "ap(denominator=relevant)": ("ap", {"denominator": "relevant"}),
    "r_precision": ("r_precision", {}),
}
"""Metrics that count hits: the function of the definition, and its options."""
GRADED: dict[str, tuple[str, dict[str, Any]]] = {
    "ndcg": ("ndcg", {}),
    "ndcg(gain=exp2)": ("ndcg", {"gain": "exp2"}),
    "dcg": ("dcg", {}),
    "cg": ("cg", {}),
}
"""Metrics of gains."""
METRICS = COUNTED | GRADED
LISTS = ("list_length", "unseen", "novelty")
"""Metrics of lists, by `tests/reference_lists.py`; the relevant items are the training data."""
ORDERS = tuple(rule for rule in cases.ORDERED if not rule.startswith("native"))
"""Without the order of ids as they came, integers or text, which depends on the form."""
SPANS = ("expected", "optimistic", "pessimistic")
OPTIONS: dict[str, tuple[Any, ...]] = {
    "relevant": (">0", ">=2", ">1", 2, "any"),
    "ties": (*ORDERS, *SPANS),
    "depth": (1, 2, 3, 5),
    "pool": ("judged",),
    "exclude": ("self",),
    "scope": ("ranked", "appended"),
    "retrieved": ("positive",),
    "missing": ("skip",),
    "undefined": ("zero",),
    "aggregate": ("sum", "median"),
}
"""Options and their values, besides those that need certain rows."""
OF_MATRICES = {"relevant", "ties", "depth", "scope", "retrieved", "undefined", "aggregate"}
"""Options of functions of scores."""
Row = tuple[str, str, float]


@dataclass(frozen=True)
class Case:
    """Both sides as rows; scores that fall are a list. Users with nothing; options; doors."""

    rankings: tuple[Row, ...]
    truth: tuple[Row, ...]
    empty: tuple[tuple[str, ...], tuple[str, ...]]
    listed: bool
    whole: bool  # ids that are integers
    metrics: tuple[tuple[str, int | None], ...]
    options: tuple[tuple[str, Any], ...]
    doors: tuple[tuple[str, str, str, str], ...]  # rankings, truth, call, engine

    @property
    def labels(self) -> list[str]:
        """The metrics as they are asked for."""
        return [name if k is None else f"{name}@{k}" for name, k in self.metrics]


class Doors:
    """The fuzzer of doors and options."""

    def make(self, draw: Random) -> Case:
        """Rows, options that go together, and a door that can hold them."""
        names = ids(draw, draw.randint(2, 7))
        shared = draw.random() < 0.3  # users and items have the same ids
        users = draw.sample(names, min(len(names), draw.randint(1, 5))) if shared else ids(draw, 3)
        complete = draw.random() < 0.2  # users by number who have all items, as in a matrix
        if complete:
            users = [str(number) for number in range(draw.randint(1, 3))]
        listed, options = draw.random() < 0.35, {}
        for name, values in OPTIONS.items():
            fits = not complete or (name in OF_MATRICES and name != "scope")
            if fits and draw.random() < 0.22:
                options[name] = draw.choice(values)
        if listed:
            options.pop("retrieved", None)
        if options.get("scope"):
            options.pop("retrieved", None)
        spans = options.get("ties") in SPANS
        if options.get("ties") == "expected":  # it has no order, so nothing is below a depth
            options.pop("depth", None)
        repeated = not (spans or complete) and draw.random() < 0.2
        if repeated:
            options["duplicates"] = draw.choice(["best", "first"])
        rankings = _rankings(draw, users, names, listed=listed, repeated=repeated)
        if complete:
            rankings = tuple(
                (user, item, -float(place) if listed else draw.choice([2.0, 0.5, -1.0]))
                for user in users
                for place, item in enumerate(draw.sample(names, len(names)), 1)
            )
        truth = _truth(draw, users, names, every=options.get("relevant") == "any")
        if complete:  # each has something that is judged
            known = {user for user, *_ in truth}
            truth += tuple((user, names[0], 1.0) for user in users if user not in known)
        if not (listed or complete) and draw.random() < 0.1:
            options["bad_scores"] = draw.choice(["drop", "worst"])
            rankings = tuple(
                (user, item, draw.choice([score, math.nan])) for user, item, score in rankings
            )
        if not complete and draw.random() < 0.1:
            options["judgements"] = draw.choice(["max", "last", "sum"])
            again = draw.sample(truth, draw.randint(0, len(truth)))
            truth += tuple((user, item, gain + 1.0) for user, item, gain in again)
        kinds = [*(COUNTED if options.get("ties") in SPANS[1:] else METRICS)]
        if _has_lists(options, truth) and draw.random() < 0.3:
            kinds = [*LISTS]
        metrics = tuple((name, draw.choice([None, 1, 2, 3, 10])) for name in draw.sample(kinds, 2))
        whole = draw.random() < 0.6 and all(order(x)[0] == 0 for x in [*users, *names])
        empty = tuple(
            tuple(u for u in users if u not in {row[0] for row in rows} and draw.random() < 0.5)
            for rows in (rankings, truth)
        )
        case = Case(
            rankings, truth, empty, listed, whole, metrics, tuple(options.items()), ()  # type: ignore[arg-type]
        )  # fmt: skip
        return replace(case, doors=(_door(case, draw),))

    def check(self, case: Case, stage: Callable[[int], None]) -> str:
        """Measure through each door, and compare with the definitions."""
        if not all(possible(case, door) for door in case.doors):
            return "nothing to judge"
        wanted = {
            label: values_of(case, *metric)
            for label, metric in zip(case.labels, case.metrics, strict=True)
        }
        for door in case.doors:
            with tempfile.TemporaryDirectory(dir=_memory(), prefix="rankmeter-fuzz-") as home:
                try:
                    found = list(measured(case, door, Path(home)))
                except Failure:
                    raise
                except RankmeterError as error:
                    if "can be read in two ways" in str(error):
                        return "nothing to judge"  # keys that number the rows of a table, too
                    kind = f"{type(error).__name__} where nothing is wrong"
                    raise Failure(kind, f"{door}: {error}") from error
                except Exception as error:
                    kind = f"foreign {type(error).__name__} {_where(error)}"
                    raise Failure(kind, f"{door}: {error}") from error
            for label, mean, values in found:
                _compare(case, door, label, (mean, values), wanted)
        return "accepted, with the values of the definitions"

    def show(self, case: Case) -> bytes:
        """The case as text, from which it can be made again."""
        return f"{case}\n\n{script(case)}\n".encode()

    def suffix(self, case: Case) -> str:
        """The extension of the text."""
        return ".txt"

    def smaller(self, case: Case) -> Iterator[Case]:
        """The same with fewer doors, options, metrics, rows."""
        for name in ("doors", "metrics"):
            for one in getattr(case, name) if len(getattr(case, name)) > 1 else ():
                yield replace(case, **{name: (one,)})
        for one in case.options:
            if one[0] != "duplicates":
                yield replace(case, options=tuple(o for o in case.options if o != one))
        for name in ("rankings", "truth"):
            rows = getattr(case, name)
            for at in range(len(rows) if len(rows) > 1 else 0):
                rest = rows[:at] + rows[at + 1 :]
                if name == "rankings" and case.listed:
                    rest = _numbered(rest)
                yield replace(case, **{name: rest})
        if any(case.empty):
            yield replace(case, empty=((), ()))


def fuzzer(_: str) -> Doors:
    """The fuzzer of doors and options."""
    return Doors()


def _memory() -> str | None:
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


# -- the data ---------------------------------------------------------------------------------


def _rankings(
    draw: Random, users: list[str], names: list[str], *, listed: bool, repeated: bool
) -> tuple[Row, ...]:
    rows = []
    score = draw.choice(
        [lambda: float(draw.randint(-1, 2)), lambda: round(draw.uniform(-2, 2), 3), lambda: 1.0]
    )
    for user in users:
        if draw.random() < 0.15:
            continue
        chosen = draw.sample(names, draw.randint(1, min(len(names), 6)))
        if repeated:
            chosen += draw.choices(chosen, k=draw.randint(1, 2))
            draw.shuffle(chosen)
        rows += [
            (user, item, -float(place) if listed else score())
            for place, item in enumerate(chosen, 1)
        ]
    if not rows:
        rows = [(users[0], names[0], -1.0)]
    return tuple(rows)


def _numbered(rows: tuple[Row, ...]) -> tuple[Row, ...]:
    """Rows of lists, with places without gaps."""
    places: Counter[str] = Counter()
    found = []
    for user, item, _ in rows:
        places[user] += 1
        found.append((user, item, -float(places[user])))
    return tuple(found)


def _truth(draw: Random, users: list[str], names: list[str], *, every: bool) -> tuple[Row, ...]:
    binary = draw.random() < 0.4
    low = [] if every else draw.choice([[0.0], [0.0], [0.0, -1.0]])
    gains = [1.0] if binary else [*low, 1.0, 2.0, 3.0]
    return tuple(
        (user, item, draw.choice(gains))
        for user in users
        if draw.random() < 0.85
        for item in draw.sample(names, draw.randint(1, min(len(names), 4)))
    )


# -- the definition ---------------------------------------------------------------------------


def values_of(case: Case, name: str, k: int | None) -> dict[str, float]:
    """The value of each user who counts."""
    options = dict(case.options)
    if name in LISTS:
        return _of_lists(case, name, k, options)
    function, more = METRICS[name]
    found = {}
    for user in dict.fromkeys([*(row[0] for row in case.truth), *case.empty[1]]):
        rows = [row[1:] for row in case.rankings if row[0] == user]
        if not rows and user not in case.empty[0] and options.get("missing") == "skip":
            continue
        judged = judgments_of(user, case.truth, options.get("judgements", "last"))
        orders, gains = ranked_by(user, rows, judged, options, listed=case.listed)
        values = [reference.value(function, ranking, gains, k, **more) for ranking in orders]
        value = math.fsum(values) / len(values)
        if math.isnan(value):
            if options.get("undefined") != "zero":
                continue
            value = 0.0
        found[user] = value
    return found


def judgments_of(user: str, truth: tuple[Row, ...], rule: str) -> dict[str, float]:
    """The gains of the items of a user, those of repeated judgments by a rule."""
    found: dict[str, float] = {}
    for one, item, gain in truth:
        if one == user:
            before = found.get(item)
            rules = {"last": gain, "max": max(gain, before or gain), "sum": gain + (before or 0.0)}
            found[item] = gain if before is None else rules[rule]
    return found


def _of_lists(case: Case, name: str, k: int | None, options: dict[str, Any]) -> dict[str, float]:
    side, found = reference_lists.Side(train=_train(case.truth)), {}
    for user in dict.fromkeys([*(row[0] for row in case.rankings), *case.empty[0]]):
        rows = [row[1:] for row in case.rankings if row[0] == user]
        ((ranking,), _) = ranked_by(user, rows, {}, options, listed=case.listed)
        value = float(getattr(reference_lists, name)(ranking, side, user, k))
        if not math.isnan(value) or options.get("undefined") == "zero":
            found[user] = 0.0 if math.isnan(value) else value
    return found


def _train(truth: tuple[Row, ...]) -> dict[str, dict[str, float]]:
    """Training data: the items of a gain above 0."""
    found: dict[str, dict[str, float]] = {}
    for user, item, gain in truth:
        if gain > 0:
            found.setdefault(user, {})[item] = gain
    return found


def _has_lists(options: dict[str, Any], truth: tuple[Row, ...]) -> bool:
    """Whether the lists do not depend on what is judged, and there are training data."""
    simple = not options.keys() & {"scope", "pool", "retrieved", "duplicates", "judgements"}
    return simple and options.get("ties") not in SPANS and bool(_train(truth))


def ranked_by(
    user: str, rows: list[Any], judged: dict[str, float], options: dict[str, Any], *, listed: bool
) -> tuple[list[list[Any]], dict[str, float]]:
    """Every order of a ranking that ties allow, and the gains of the items that can be found."""
    relevant = options.get("relevant", ">0")
    least = {">0": 5e-324, ">=2": 2.0, ">1": 1.0 + 2**-52, 2: 2.0, "any": 0.0}[relevant]
    gains = {item: gain for item, gain in judged.items() if gain >= least}
    if options.get("bad_scores") == "drop":
        rows = [row for row in rows if not math.isnan(row[1])]
    rows = [(item, -math.inf if math.isnan(score) else score) for item, score in rows]
    if options.get("pool") == "judged":
        rows = [row for row in rows if judged.get(row[0], -1.0) >= 0.0]
    if options.get("exclude") == "self":
        rows = [row for row in rows if row[0] != user]
    ties = options.get("ties", "item")
    rows = [(*row, place) for place, row in enumerate(rows)]

    def key(row: Any) -> Any:
        return 0 if listed else _tie_key(ties, row[0], row[2], judged)

    rows = _sorted(rows, key, descending=ties.endswith("-descending") and not listed)
    seen: set[str] = set()
    items: list[Any] = []
    for number, (item, score, _) in enumerate(rows):
        if item in seen and options.get("duplicates") == "best":
            continue
        lost = item in seen or (options.get("retrieved") == "positive" and not score > 0)
        items.append((("lost", number) if lost else item, score))
        seen.add(item)
    scope = options.get("scope", "all")
    if scope == "ranked":  # the ideal ranking is not cut
        gains = {item: gain for item, gain in gains.items() if item in seen}
    items = items[: options.get("depth")]
    kept = {item for item, _ in items}
    if scope == "appended":
        left = options.get("exclude") == "self"
        pooled = options.get("pool") == "judged"
        absent = [i for i in judged if i not in kept and not (left and i == user)]
        missing = [(i, -math.inf) for i in absent if not pooled or judged[i] >= 0.0]
        first = {item: place for place, (item, _) in enumerate(missing)}
        items += _sorted(
            missing,
            lambda row: _tie_key(ties, row[0], first[row[0]], judged),
            descending=ties.endswith("-descending"),
        )
    if ties != "expected":
        return [[item for item, _ in items]], gains
    last = len(rows) if scope == "appended" else None  # appended items are not tied with the others
    groups = [
        [item for item, _ in one]
        for part in (items[:last], items[last:] if last is not None else [])
        for _, one in itertools.groupby(part, key=lambda row: row[1])
    ]
    orders = itertools.product(*(itertools.permutations(group) for group in groups))
    return [[item for group in one for item in group] for one in orders], gains


def _sorted(rows: list[Any], key: Callable[[Any], Any], *, descending: bool) -> list[Any]:
    """By falling score, and those tied by the key."""
    rows = sorted(rows, key=key, reverse=descending)
    return sorted(rows, key=lambda row: -row[1])


def _tie_key(ties: str, item: str, place: int, judged: dict[str, float]) -> Any:
    if ties in ("optimistic", "pessimistic"):  # by gain; what is not judged has the lowest
        gain = judged.get(item, -math.inf)
        return gain if ties == "pessimistic" else -gain, order(item)
    if ties.startswith("text"):
        return item.encode()
    return place if ties in cases.BY_ROW else order(item)


def _compare(case: Case, door: Any, label: str, found: Any, wanted: Any) -> None:
    values = wanted[label]
    mean, by_user = found
    if by_user is not None:
        defined = {user: x for user, x in by_user.items() if x is not None and not math.isnan(x)}
        for user in {*defined, *values}:
            one, other = defined.get(user, math.nan), values.get(user, math.nan)
            if not same(one, other):
                raise Failure("another value", f"{label} of {user!r}: {one}, not {other}; {door}")
    aggregate = dict(case.options).get("aggregate", "mean")
    of_all = [*values.values()]
    combine = {"sum": math.fsum, "median": statistics.median, "mean": statistics.fmean}[aggregate]
    expected = combine(of_all) if of_all else math.nan
    if not same(mean, expected):
        raise Failure("another mean", f"{label}: {mean}, not {expected}; {door}")


# -- forms ------------------------------------------------------------------------------------


def _typed(case: Case, rows: Any) -> list[Any]:
    if case.whole:
        return [(int(user), int(item), number) for user, item, number in rows]
    return list(rows)


def _by_user(case: Case, side: int) -> dict[Any, list[Any]]:
    """Items and numbers by user, those with nothing included."""
    make: Callable[[str], Any] = int if case.whole else str
    found: dict[Any, list[Any]] = {}
    for user, item, number in _typed(case, (case.rankings, case.truth)[side]):
        found.setdefault(user, []).append((item, number))
    return found | {make(user): [] for user in case.empty[side]}


def _frame(case: Case, side: int) -> pl.DataFrame:
    users, items, numbers = zip(*_typed(case, (case.rankings, case.truth)[side]), strict=True)
    columns: dict[str, Any] = {"user": users, "item": items}
    if side:
        columns["gain"] = numbers
    elif not case.listed:
        columns["score"] = numbers
    return pl.DataFrame(columns)


def _ranks(case: Case, side: int) -> pl.DataFrame:
    frame = pl.DataFrame(
        _typed(case, case.rankings), schema=["user", "item", "score"], orient="row"
    )
    return frame.select("user", "item", rank=(-pl.col("score")).cast(pl.Int64))


def _list_columns(case: Case, side: int) -> pl.DataFrame:
    found = _by_user(case, side)
    columns: dict[str, Any] = {
        "user": [*found],
        "items": [[item for item, _ in one] for one in found.values()],
    }
    if side or not case.listed:
        numbers = [[n for _, n in one] for one in found.values()]
        columns["gains" if side else "scores"] = numbers
    return pl.DataFrame(columns)


def _file(extension: str, frame_of: Callable[..., pl.DataFrame], write: Callable[..., Any]) -> Any:
    def to_file(case: Case, side: int, home: Path) -> str:
        path = home / f"{side}{extension}"
        write(frame_of(case, side), path)
        return str(path)

    return to_file


def write_trec(frame: pl.DataFrame, path: Path) -> None:
    """Write a run, or judgments if the frame has no scores."""
    if "score" in frame.columns:
        lines = [f"{u} Q0 {i} 1 {n!r} t" for u, i, n in frame.rows()]
    else:
        lines = [f"{u} 0 {i} {n!r}" for u, i, n in frame.rows()]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _dict(case: Case, side: int, _: Any = None) -> Any:
    return {user: dict(one) for user, one in _by_user(case, side).items()}


def _lists(case: Case, side: int, _: Any = None) -> Any:
    return {user: [item for item, _ in one] for user, one in _by_user(case, side).items()}


def _json(make: Callable[..., Any]) -> Any:
    def to_file(case: Case, side: int, home: Path) -> str:
        path = home / f"{side}.json"
        path.write_text(json.dumps(make(case, side)), encoding="utf-8")
        return str(path)

    return to_file


def _plain_lists(case: Case, side: int, _: Any) -> Any:
    found = _lists(case, side)
    return [found.get(user, []) for user in range(max(found) + 1)]


@dataclass(frozen=True)
class _Matrix:
    """A matrix of scores, whose cells that are not ranked are excluded."""

    users: list[Any]
    items: list[Any]
    scores: np.ndarray
    exclude: np.ndarray


def _matrix(case: Case) -> _Matrix:
    found = _dict(case, 0)
    judged = {item for one in _dict(case, 1).values() for item in one}
    items = sorted(
        {*judged, *(i for one in found.values() for i in one)}, key=lambda i: order(str(i))
    )
    cells = np.array([[one.get(item, np.nan) for item in items] for one in found.values()])
    return _Matrix([*found], items, np.nan_to_num(cells), np.isnan(cells))


def _scores(case: Case, side: int, _: Any) -> Any:
    found = _matrix(case)
    return rm.Scores(found.scores, users=found.users, items=found.items, exclude=found.exclude)


ROWS: dict[str, Callable[..., Any]] = {
    "polars": lambda case, side, _: _frame(case, side),
    "lazy": lambda case, side, _: _frame(case, side).lazy(),
    "pandas": lambda case, side, _: _frame(case, side).to_pandas(),
    "arrow": lambda case, side, _: _frame(case, side).to_arrow(),
    "records": lambda case, side, _: _frame(case, side).to_dicts(),
    "csv": _file(".csv", _frame, lambda frame, path: frame.write_csv(path)),
    "jsonl": _file(".jsonl", _frame, lambda frame, path: frame.write_ndjson(path)),
    "parquet": _file(".parquet", _frame, lambda frame, path: frame.write_parquet(path)),
}
"""A row for each item: they cannot hold a user with nothing."""
RANKED: dict[str, Callable[..., Any]] = {
    "ranks": lambda case, side, _: _ranks(case, side),
    "ranks in pandas": lambda case, side, _: _ranks(case, side).to_pandas(),
    "ranks in csv": _file(".csv", _ranks, lambda frame, path: frame.write_csv(path)),
    "ranks in parquet": _file(".parquet", _ranks, lambda frame, path: frame.write_parquet(path)),
}
TREC = _file(".txt", _frame, write_trec)
NESTED: dict[str, Callable[..., Any]] = {
    "list columns": lambda case, side, _: _list_columns(case, side),
    "list columns in pandas": lambda case, side, _: _list_columns(case, side).to_pandas(),
    "list columns in arrow": lambda case, side, _: _list_columns(case, side).to_arrow(),
    "list columns in parquet": _file(
        ".parquet", _list_columns, lambda frame, path: frame.write_parquet(path)
    ),
    "list columns in jsonl": _file(
        ".jsonl", _list_columns, lambda frame, path: frame.write_ndjson(path)
    ),
}
NUMBERED = {"dict": _dict, "json": _json(_dict)}
LISTED = {"lists": _lists, "json of lists": _json(_lists)}
FORMS: dict[str, Callable[..., Any]] = {
    **ROWS, **RANKED, **NESTED, **NUMBERED, **LISTED, "trec": TREC, "plain lists": _plain_lists,
    "Scores": _scores,
}  # fmt: skip
ON_DISK = {"csv", "parquet", "lazy", "polars", "trec", "ranks in csv", "ranks in parquet"}


def forms(case: Case, side: int) -> list[str]:
    """The forms that can hold a side of a case."""
    options = dict(case.options)
    rows = (case.rankings, case.truth)[side]
    ways = [*NESTED]
    # An empty list is not the same as no list: neither as a ranking nor as a ground truth.
    lists = case.metrics[0][0] in LISTS
    matters = (
        options.get("missing") == "skip" or lists
        if side == 0
        else options.get("undefined") == "zero"
    )
    if not (case.empty[side] and matters):
        ways += [*ROWS, *RANKED] if side == 0 and case.listed else [*ROWS]
        if side or not case.listed:
            ways.append("trec")
    listed = case.listed if side == 0 else all(number == 1.0 for *_, number in rows)
    repeated = "judgements" if side else "duplicates"
    # Integers 0 and 1 that repeat can be labels, which are refused.
    if listed and not (
        case.whole and repeated in options and {i for _, i, _ in rows} <= {"0", "1"}
    ):
        ways += LISTED
        if case.whole and all(int(user) >= 0 for user, *_ in rows) and not case.empty[side]:
            users = {int(user) for user, *_ in rows}
            ways += ["plain lists"] * (users == {*range(len(users))})
    if (side or not case.listed) and repeated not in options:
        ways += NUMBERED
        by_row = options.get("ties") in cases.BY_ROW
        ways += ["Scores"] * (side == 0 and not by_row and not case.empty[0])
    if side == 0 and "bad_scores" in options:
        ways = [way for way in ways if way not in ("json", "trec", "Scores")]
    return ways


# -- calls ------------------------------------------------------------------------------------


def _door(case: Case, draw: Random) -> tuple[str, str, str, str]:
    rankings, truth = draw.choice(forms(case, 0)), draw.choice(forms(case, 1))
    call = draw.choice(calls(case))
    if call == "command":
        rankings = truth = "csv"
    engine = "disk" if rankings in ON_DISK and draw.random() < 0.3 else "auto"
    return rankings, truth, call, engine


def calls(case: Case) -> list[str]:
    """The calls that can measure a case."""
    options = dict(case.options)
    found = ["evaluate"] * 12 + ["evaluator"] * 3
    if "aggregate" not in options:
        found += ["compare"] * 3
        found += ["curve"] * 3 * all(k is not None for _, k in case.metrics)
    lists = case.metrics[0][0] in LISTS
    if "csv" in forms(case, 0) and "csv" in forms(case, 1) and not lists:
        found += ["command"] * (len(case.rankings) % 4 == 0)
    users = {user for user, *_ in case.rankings}, {user for user, *_ in case.truth}
    if (
        options.keys() <= OF_MATRICES
        and not (case.listed or lists)
        and users[0] == users[1]
        and not any(case.empty)
        and options.get("ties", "item") not in cases.ORDERED[2:]
        and options.get("relevant") != "any"  # a label of 0 does not judge
        and {row[:2] for row in case.truth} <= {row[:2] for row in case.rankings}
        and "scope" not in options
    ):
        found += ["evaluate_scores", "accumulator"] * 9
    return found


def possible(case: Case, door: tuple[str, str, str, str]) -> bool:
    """Whether a door can hold a case that became smaller."""
    rankings, truth, call, _ = door
    if not (case.truth and case.rankings):
        return False
    if case.metrics[0][0] in LISTS and not _has_lists(dict(case.options), case.truth):
        return False
    return (
        rankings in forms(case, 0)
        and truth in forms(case, 1)
        and call in calls(case)
        and not (dict(case.options).get("ties") == "expected" and "depth" in dict(case.options))
    )


def measured(case: Case, door: tuple[str, str, str, str], home: Path) -> Iterator[Any]:
    """Each metric with its mean, and the values by user where the call has them."""
    with cases.parts_of(1 + len(case.rankings) // 4):
        return _measured(case, door, home)


def _measured(case: Case, door: tuple[str, str, str, str], home: Path) -> Iterator[Any]:
    rankings, truth, call, engine = door
    options = dict(case.options)
    if call in ("evaluate_scores", "accumulator"):
        return _of_summary(case, _by_position(case, call, {"ties": "item"} | options))
    given, judged = FORMS[rankings](case, 0, home), FORMS[truth](case, 1, home)
    options["no_overlap"] = "allow"
    if case.metrics[0][0] in LISTS:
        make: Callable[[str], Any] = int if case.whole else str
        train = _train(case.truth).items()
        options["train"] = {make(u): {make(i): n for i, n in one.items()} for u, one in train}
    if call == "command":
        return _by_command(case, given, judged, options)
    if call == "curve":
        found = []
        for name, k in case.metrics:
            curve = rm.curve(given, judged, name, int(k or 1), **options)
            found.append((f"{name}@{k}", curve.frame["mean"][-1], None))
        return iter(found)
    options["engine"] = engine
    if call == "compare":
        systems = {"x": given, "y": given}
        several = rm.compare(systems, judged, case.labels, n_permutations=9, **options)
        means = [
            (label, several.estimates[several._label(label), "y"].mean) for label in case.labels
        ]
        return iter([(label, mean, None) for label, mean in means])
    if call == "evaluator":
        return _of_summary(case, rm.Evaluator(judged, case.labels, **options).evaluate(given))
    return _of_summary(case, rm.evaluate(given, judged, case.labels, **options))


def _of_summary(case: Case, result: Any) -> Iterator[Any]:
    rows = result.values_by_user.rows(named=True)
    for label in case.labels:
        values = {str(row["user"]): row[label] for row in rows}
        yield label, result[label].mean, values


class _Renamed:
    """The result of a matrix, whose users are rows."""

    def __init__(self, result: Any, users: list[Any]) -> None:
        self.result = result
        names = [str(users[int(row)]) for row in result.values_by_user["user"]]
        self.values_by_user = result.values_by_user.with_columns(user=pl.Series(names))

    def __getitem__(self, label: str) -> Any:
        return self.result[label]


def _by_position(case: Case, call: str, options: dict[str, Any]) -> Any:
    found, judged = _matrix(case), _dict(case, 1)
    places = {item: place for place, item in enumerate(found.items)}
    target = np.zeros(found.scores.shape)
    for row, user in enumerate(found.users):
        for item, gain in judged[user].items():
            target[row, places[item]] = gain
    if call == "evaluate_scores":
        one = rm.evaluate_scores(
            found.scores, target, case.labels, exclude=found.exclude, **options
        )
        return _Renamed(one, found.users)
    batches = rm.accumulator(case.labels, **options)
    for part in (slice(0, 1), slice(1, None)):
        if found.users[part]:
            batches.update(
                scores=found.scores[part], target=target[part], exclude=found.exclude[part]
            )
    return _Renamed(batches.compute(), found.users)


def _by_command(case: Case, given: str, judged: str, options: dict[str, Any]) -> Iterator[Any]:
    from command_line import rankmeter

    given_options = [
        word
        for name, value in options.items()
        for word in (f"--{name.replace('_', '-')}", str(value))
    ]
    done = rankmeter(
        "evaluate", given, judged, *given_options, "-m", ",".join(case.labels), "--json"
    )
    if done.code:
        raise Failure("the command line ends with an error", done.err)
    means = done.json["metrics"]
    found = {label: means[label]["mean"] for label in case.labels}  # None is NaN in JSON
    return iter([(label, math.nan if x is None else x, None) for label, x in found.items()])


def script(case: Case) -> str:
    """The first door as a call, where its sides can be written down."""
    if not case.doors:
        return ""
    (rankings, truth, call, engine), options = case.doors[0], dict(case.options)
    home = Path(tempfile.mkdtemp(dir=_memory()))
    try:
        sides = [FORMS[form](case, side, home) for side, form in enumerate((rankings, truth))]
        shown = [
            one if not isinstance(one, str) else pl.read_parquet(one).to_dicts()
            if one.endswith(".parquet") else Path(one).read_text(encoding="utf-8")
            for one in sides
        ]  # fmt: skip
    except Exception as error:
        shown = [repr(error)]
    finally:
        shutil.rmtree(home)
    sides_text = "\n".join(map(str, shown))
    return f"{call}, engine={engine}, metrics={case.labels}, options={options}\n{sides_text}"
