"""Odd Python objects and options: an error of rankmeter's own, or the value of the judge."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
import polars as pl

import rankmeter as rm
from fuzz import judge
from fuzz.harness import Failure
from fuzz.readers import compared, dataset, typed
from rankmeter.errors import RankmeterError

ODD: list[Callable[[], Any]] = [
    lambda: None, lambda: math.nan, lambda: math.inf, lambda: -math.inf, lambda: -0.0,
    lambda: 0, lambda: -1, lambda: 1, lambda: 7, lambda: "7", lambda: 7.0, lambda: 7.5,
    lambda: 2**31, lambda: 2**53, lambda: 2**53 + 1, lambda: 2**63, lambda: 2**64, lambda: 10**400,
    lambda: 1e300, lambda: 5e-324, lambda: True, lambda: False, lambda: "", lambda: " ",
    lambda: "a", lambda: "a\nb", lambda: "\x00", lambda: "é" * 500, lambda: "\ud800", lambda: b"a",
    lambda: bytearray(b"a"), lambda: Decimal("1.5"), lambda: Decimal("NaN"),
    lambda: Decimal("sNaN"),
    lambda: Fraction(1, 3), lambda: Fraction(10**400), lambda: 1j, lambda: dt.date(2020, 1, 1),
    lambda: dt.datetime(2020, 1, 1), lambda: dt.timedelta(1), lambda: np.int8(3),  # noqa: DTZ001
    lambda: np.uint64(2**64 - 1), lambda: np.float32(0.1), lambda: np.float16(2),
    lambda: np.str_("a"),
    lambda: np.datetime64("2020"), lambda: np.timedelta64(1, "D"), lambda: np.bool_(True),
    lambda: np.array([]), lambda: np.array([1, 2]), lambda: np.array("a"), list, lambda: [1],
    lambda: (), lambda: ("a", "b"), dict, lambda: {"a": 1}, lambda: set(), lambda: {1, 2},
    lambda: range(3), lambda: iter([1]), lambda: object(), lambda: int, lambda: len,
    lambda: slice(1), lambda: ..., lambda: NotImplemented, lambda: pl.Series([1, 2]),
    lambda: pl.DataFrame({"user": [1]}), lambda: pl.lit(1), lambda: ValueError("x"),
    lambda: _Broken(), lambda: _deep(50), lambda: "user", lambda: "ndcg@5", lambda: "none",
]  # fmt: skip
"""What nobody passes on purpose."""

PACKAGE = f"{Path(rm.__file__).parent}/"
METRICS = [
    "ndcg@5", "NDCG@5, map", "ndcg(gain=exp2)@3", "nope", "ndcg@0", "ndcg@-1", "ndcg@1e9", "ndcg@",
    "@5", "ndcg@5@5", "ndcg(", "ndcg(gain=)", "ndcg(gain=x)@5", "ndcg(x=1)", "", ",", "ndcg@1e400",
    "ndcg@" + "9" * 400, "rbp(p=2)", "rbp(p=nan)", "f_beta(beta=1e308)@3",
    "recall@" + " " * 50 + "x", "coverage@3", "ild@3", "novelty@3", "snips@3", "hole@3", "gini@3",
]  # fmt: skip
WORDS = {
    "relevant": [">0", ">=2", "any", 3, "> 1e400", ">=x", ">", "0x1", "purchase"],
    "gains": ["relevant", "positive", "all", "above", {1: 0.5, 3: 2}],
    "ties": ["item-descending", "input", "expected", "optimistic", "together", "nope"],
    "duplicates": ["best", "first", "each"],
    "judgements": ["max", "last", "sum"],
    "scope": ["ranked", "appended"],
    "pool": ["judged"],
    "exclude": ["self"],
    "history": ["new", "seen"],
    "collapse": ["before:#", "regex:(.)", "regex:(", "before:", "nope", {"a": "b"}, {"1": "1"}],
    "train": [{"1": ["a"]}, {"a": {"b": 1}}],
    "items": [{"1": [0.5, 1]}, {"a": ["x", "y"]}],
    "catalogue": [["1", "2", "a"], 7],
    "propensity": ["popularity", {"1": 0.5}, {"a": 0}],
    "baseline_lists": [{"1": ["a"]}],
    "retrieved": ["positive"],
    "score_type": ["float32"],
    "unjudged": ["bounds", "nope"],
    "depth": [1, 10**19, 0, "none"],
    "missing": ["skip", "raise"],
    "extra": ["zero", "raise"],
    "undefined": ["zero", "one", "nan", "raise"],
    "users": ["relevant", "hit"],
    "aggregate": ["geometric", "sum", "micro"],
    "bad_scores": ["drop", "worst"],
    "no_overlap": ["allow"],
    "n_items": [3, 10**12],
    "bugs": [True, 1],
    "confidence": [0.5, 0, 1, 2],
    "resamples": [1, 10],
    "seed": [1, 2**70],
    "like": ["trec_eval", "rectools", "nope"],
    "columns": [{"user": "user"}, {"user": "x"}, {"nope": "user"}, {"rankings": {}}, "user=x", 1],
    "clusters": [{"1": 1}, {"a": "x"}],
    "judged": ["random", "probability", "nope"],
    "judge": [{"1": ["a"]}, {str(n): {"1": 1, "a": 0} for n in range(9)}],
}


class _Broken:
    """Whatever it is asked, it fails."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)

    def __len__(self) -> int:
        return 3

    def __repr__(self) -> str:
        return "broken"


def _deep(depth: int) -> Any:
    found: Any = []
    for _ in range(depth):
        found = [found]
    return found


@dataclass(frozen=True)
class Case:
    """A call, made from a seed: how many cells are odd, and which arguments."""

    seed: int
    odd: int
    whole: str  # a side that is an odd object as a whole
    options: tuple[str, ...]
    metrics: tuple[str, ...]
    call: str

    @property
    def damaged(self) -> bool:
        """Whether anything is odd."""
        return bool(self.odd or self.whole or self.options)


class Api:
    """The fuzzer of the functions."""

    def make(self, draw: Random) -> Case:
        """A call of which nothing, some cells, a side or options are odd."""
        options = draw.sample([*WORDS], draw.choice([0, 0, 0, 1, 1, 2]))
        call = draw.choice(["evaluate"] * 6 + ["odd metrics", "compare", "curve", "explain"])
        metrics = tuple(draw.sample(judge.METRICS, 2))
        whole = draw.choice([*[""] * 18, "rankings", "truth"])
        odd = draw.choice([0, 0, 1, 1, 1, 2, 3])
        return Case(draw.getrandbits(60), odd, whole, tuple(options), metrics, call)

    def check(self, case: Case, stage: Callable[[int], None]) -> str:
        """Call, and compare with the judge where the options are the defaults."""
        sides, rows, options, metrics = built(case)
        if sides is None:
            return "not built: the frame itself refuses"
        try:
            result, why = called(case, sides, options, metrics), ""
        except RankmeterError as error:
            if len(str(error)) > 5000:
                raise Failure("a message without an end", str(error)[:200]) from error
            result, why = None, f"{type(error).__name__}: {error}"
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            seen = f"{str(error)[:200]} in {case.call} of {said(sides, options)}"
            raise Failure(f"foreign {type(error).__name__} {_where(error)}", seen) from error
        if case.call != "evaluate" or options:
            return f"{case.call} with options, {'refused' if result is None else 'accepted'}"
        try:
            if case.whole:
                raise judge.Refused("a side that is not data")
            read = {side: judge.gather(plain(rows[side], side), side) for side in rows}
            of_one_kind(rows)
        except judge.Refused as error:
            return compared(None, str(error), result, why, case)
        return compared(judge.values(read["rankings"], read["truth"]), "", result, why, case)

    def show(self, case: Case) -> bytes:
        """The call as text."""
        sides, _, options, metrics = built(case)
        return f"{case}\n{case.call}(\n{said(sides, options)},\n{metrics!r})\n".encode(
            errors="backslashreplace"
        )

    def suffix(self, case: Case) -> str:
        """The extension of the text."""
        return ".txt"

    def smaller(self, case: Case) -> Iterator[Case]:
        """The same call with less that is odd."""
        for name in case.options:
            yield replace(case, options=tuple(one for one in case.options if one != name))
        if case.odd:
            yield replace(case, odd=case.odd - 1)


def fuzzer(_: str) -> Api:
    """The fuzzer of the functions."""
    return Api()


# -- the call ---------------------------------------------------------------------------------


def built(case: Case) -> Any:
    """Both sides, their rows as the judge sees them, the options and the metrics."""
    draw = Random(case.seed)
    data = dataset(draw)
    users = {user: user for user in data["truth"]}
    items = {item: item for side in data.values() for one in side.values() for item in one}
    if draw.random() < 0.7:  # integers where all of them are
        users, items = typed(users), typed(items)
    rows = {
        side: [[users[u], items[i], n] for u, one in found.items() for i, n in one.items()]
        for side, found in data.items()
    }
    forms = {side: draw.choice([*FORMS]) for side in rows}
    for _ in range(case.odd):
        cells = draw.choice([*rows.values()])
        draw.choice(cells)[draw.randrange(3)] = draw.choice(ODD)()
    options = {}
    for name in case.options:
        own = Random(f"{case.seed} {name}")
        options[name] = (
            own.choice(WORDS[name])
            if own.random() < 0.6
            else own.choice([*ODD, lambda: _deep(2000)])()
        )
    metrics: Any = list(case.metrics)
    if case.call == "odd metrics":
        metrics = draw.choice(METRICS) if draw.random() < 0.5 else draw.choice(ODD)()
    try:
        sides = {}
        for side, cells in rows.items():
            sides[side], rows[side] = FORMS[forms[side]](cells, side)
    except BaseException as error:  # Polars panics on some cells, before rankmeter sees them
        if isinstance(error, KeyboardInterrupt):
            raise
        return None, rows, options, metrics
    if case.whole:
        sides[case.whole] = draw.choice(ODD)()
    return sides, rows, options, metrics


def called(case: Case, sides: Any, options: Any, metrics: Any) -> Any:
    """What the function gives."""
    rankings, truth = sides["rankings"], sides["truth"]
    if case.call == "compare":
        systems = {"one": rankings, "two": rankings}
        return rm.compare(systems, truth, metrics, **options)
    if case.call == "curve":
        return rm.curve(rankings, truth, "ndcg", 3, **options)
    if case.call == "explain":
        return rm.explain(rankings, truth, "ndcg@3", between=("rankmeter", "sklearn"), **options)
    return rm.evaluate(rankings, truth, metrics, **options)


def said(sides: Any, options: Any) -> str:
    """The arguments, as short as they can be read."""
    return f"{_short(sides)}, {_short(options)}"


def _short(value: Any) -> str:
    try:
        return repr(value)[:1500]
    except Exception as error:
        return f"no repr: {error!r}"[:100]


def _where(error: BaseException) -> str:
    """The place in rankmeter where a foreign exception passed last."""
    found, trace = "", error.__traceback__
    while trace:
        path = trace.tb_frame.f_code.co_filename
        if path.startswith(PACKAGE):
            found = f"in {path.removeprefix(PACKAGE)} {trace.tb_frame.f_code.co_name}"
        trace = trace.tb_next
    return found


# -- forms ------------------------------------------------------------------------------------


def _by_user(rows: Any, _: str) -> Any:
    found: dict[Any, Any] = {}
    for user, item, value in rows:
        found.setdefault(user, {})[item] = value
    return found, [(u, i, n) for u, items in found.items() for i, n in items.items()]


def _lists(rows: Any, side: str) -> Any:
    found: dict[Any, Any] = {}
    for user, item, _ in rows:
        found.setdefault(user, []).append(item)
    value = (lambda place: -place) if side == "rankings" else (lambda _: 1.0)
    return found, [(u, i, value(n)) for u, items in found.items() for n, i in enumerate(items)]


def _columns(rows: Any, side: str) -> dict[str, Any]:
    names = ("user", "item", "score" if side == "rankings" else "gain")
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


def _records(rows: Any, side: str) -> Any:
    columns = _columns(rows, side)
    return [dict(zip(columns, row, strict=True)) for row in rows], rows


def _pandas(rows: Any, side: str) -> Any:
    import pandas as pd

    frame = pd.DataFrame(_columns(rows, side))
    return frame, [*frame.itertuples(index=False, name=None)]


def _polars(rows: Any, side: str) -> Any:
    frame = pl.DataFrame(_columns(rows, side))
    return frame, frame.rows()


def _arrow(rows: Any, side: str) -> Any:
    import pyarrow as pa

    if any(isinstance(cell, np.datetime64) for row in rows for cell in row):
        raise TypeError("pyarrow 26 ends the process where a column has a date and another type")
    table = pa.table(_columns(rows, side))
    return table, list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def _hits(rows: Any, side: str) -> Any:
    name = "score" if side == "rankings" else "relevance"
    return _grouped(rows, lambda item, value: {"corpus_id": item, name: value}), _in_groups(rows)


def _tuples(rows: Any, side: str) -> Any:
    made = Scored if side == "rankings" else Judged
    return [made(*row) for row in rows], rows


def _documents(rows: Any, side: str) -> Any:
    found, read = _lists(rows, side)
    documents = {u: [Document(i) for i in items] for u, items in found.items()}
    return documents, read


def _nested(rows: Any, side: str) -> Any:
    items = _grouped(rows, lambda item, _: item)
    numbers = _grouped(rows, lambda _, value: value)
    names = ("qid", "docs", "scores" if side == "rankings" else "gains")
    columns = ([*items], [*items.values()], [*numbers.values()])
    return pl.DataFrame(dict(zip(names, columns, strict=True)), strict=False)


def _list_columns(rows: Any, side: str) -> Any:
    frame = _nested(rows, side)
    return frame, [(u, i, n) for u, *one in frame.rows() for i, n in zip(*one, strict=True)]


def _list_objects(rows: Any, side: str) -> Any:
    frame, read = _list_columns(rows, side)
    return frame.to_pandas(), read


def _grouped(rows: Any, made: Callable[[Any, Any], Any]) -> dict[Any, list[Any]]:
    found: dict[Any, Any] = {}
    for user, item, value in rows:
        found.setdefault(user, []).append(made(item, value))
    return found


def _in_groups(rows: Any) -> list[Any]:
    groups = _grouped(rows, lambda item, value: (item, value))
    return [(user, *one) for user, found in groups.items() for one in found]


class Scored(NamedTuple):
    """A row of a run, as retrieval libraries hold it."""

    query_id: Any
    doc_id: Any
    score: Any


class Judged(NamedTuple):
    """A row of relevance judgments, as retrieval libraries hold it."""

    query_id: Any
    doc_id: Any
    relevance: Any


class Document:
    """A document of a retrieval library, known by the path of its class."""

    def __init__(self, name: Any) -> None:
        self.id = name


Document.__module__ = "haystack.dataclasses.document"


def _lazy(rows: Any, side: str) -> Any:
    frame, cells = _polars(rows, side)
    return frame.lazy(), cells


FORMS: dict[str, Callable[[Any, str], Any]] = {
    "dict": _by_user,
    "lists": _lists,
    "columns": lambda rows, side: (_columns(rows, side), rows),
    "records": _records,
    "pandas": _pandas,
    "polars": _polars,
    "lazy": _lazy,
    "arrow": _arrow,
    "hits": _hits,
    "tuples": _tuples,
    "documents": _documents,
    "list columns": _list_columns,
    "list objects": _list_objects,
}


def plain(rows: Any, side: str) -> Iterator[Any]:
    """Rows with text for ids and floats for numbers."""
    for user, item, value in rows:
        try:
            yield _id(user), _id(item), judge.number(value, side)
        except ArithmeticError:
            raise judge.Refused("not a number") from None


def _id(value: Any) -> str:
    if isinstance(value, np.str_ | np.integer | np.floating):
        value = value.item()
    return judge.ident(value)


def of_one_kind(rows: Any) -> None:
    """Refuse ids that are text in one place and integers in another."""
    for at in (0, 1):
        if len({isinstance(row[at], str) for side in rows.values() for row in side}) > 1:
            raise judge.Refused("ids of two kinds")
