"""One data set in all forms, row orders, blocks and threads: the same bits and counts."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import polars as pl

import cases
import rankmeter as rm
from fuzz import judge
from fuzz.doors import write_trec
from fuzz.harness import TESTS, Failure
from fuzz.readers import dataset
from rankmeter import _engine
from rankmeter._engine.memory import Memory
from rankmeter.errors import RankmeterError

TIES = [rule for rule in cases.RULES if rule not in cases.ORDERED[2:]]
"""Without those by text or by the order of rows, which the forms of a case do not share."""
METRICS = [*judge.METRICS, "hr@1", "map@2"]


@dataclass(frozen=True)
class Case:
    """Rows of both sides, and the choice that all forms are measured by."""

    data: dict[str, dict[str, dict[str, float]]]
    ties: str
    seed: int


class Invariance:
    """The fuzzer of the ways to say the same."""

    def make(self, draw: Random) -> Case:
        """A small data set, a tie rule and a seed for the orders of rows."""
        return Case(dataset(draw), draw.choice(TIES), draw.getrandbits(60))

    def check(self, case: Case, stage: Callable[[int], None]) -> str:
        """Measure every form with some number of blocks, and compare the bits."""
        draw = Random(case.seed)
        expected = measured(case.data["rankings"], case.data["truth"], case.ties)
        with tempfile.TemporaryDirectory(prefix="rankmeter-fuzz-") as home:
            for name, write in FORMS.items():
                blocks = draw.choice([1, 2, 7, 10_000])
                sides = [write(case.data[side], side, draw, Path(home)) for side in SIDES]
                before, _engine.ENGINE = _engine.ENGINE, Memory(blocks)
                try:
                    found = measured(*sides, case.ties)
                finally:
                    _engine.ENGINE = before
                if found != expected:
                    seen = f"{name}, {blocks} blocks, ties={case.ties}: {found} against {expected}"
                    raise Failure(f"another result from {name}", seen)
        return f"the same from all forms: {'values' if isinstance(expected, dict) else expected}"

    def show(self, case: Case) -> bytes:
        """The data set and the tie rule."""
        return f"{case.ties} {case.seed}\n{json.dumps(case.data, indent=1)}\n".encode()

    def suffix(self, case: Case) -> str:
        """The extension of the text."""
        return ".txt"

    def smaller(self, case: Case) -> Iterator[Case]:
        """The same without a user or an item of a user."""
        for side in SIDES:
            for user, items in case.data[side].items():
                rest = {u: found for u, found in case.data[side].items() if u != user}
                yield Case(case.data | {side: rest}, case.ties, case.seed)
                for item in items:
                    fewer = {i: number for i, number in items.items() if i != item}
                    yield Case(
                        case.data | {side: case.data[side] | {user: fewer}}, case.ties, case.seed
                    )


SIDES = ("rankings", "truth")


def fuzzer(_: str) -> Invariance:
    """The fuzzer of the ways to say the same."""
    return Invariance()


def measured(rankings: Any, truth: Any, ties: str) -> Any:
    """Every value and mean by its bits, with the counts; or the kind of the error."""
    try:
        result = rm.evaluate(rankings, truth, METRICS, ties=ties)
    except RankmeterError as error:
        return type(error).__name__
    rows = {
        str(row.pop("user")): {name: value if value is None else value.hex() for name, value in
                               row.items()}
        for row in result.values_by_user.iter_rows(named=True)
    }  # fmt: skip
    metrics = result.to_dict()["metrics"].items()
    of_all = {n: [repr(e["mean"]), e["n_users"], e["undefined"]] for n, e in metrics}
    return {"users": dict(sorted(rows.items())), "all": of_all}


# -- forms ------------------------------------------------------------------------------------


def _shuffled(data: Any, draw: Random) -> list[tuple[Any, Any, float]]:
    rows = [(user, item, n) for user, items in data.items() for item, n in items.items()]
    draw.shuffle(rows)
    return rows


def _frame(data: Any, side: str, draw: Random) -> pl.DataFrame:
    users, items, numbers = zip(*_shuffled(data, draw), strict=True)
    columns = {"user": users, "item": items, "score" if side == "rankings" else "gain": numbers}
    return pl.DataFrame(columns)


def _file(extension: str, write: Callable[[pl.DataFrame, Path], None]) -> Callable[..., str]:
    def to_file(data: Any, side: str, draw: Random, home: Path) -> str:
        path = home / f"{side}{extension}"
        write(_frame(data, side, draw), path)
        return str(path)

    return to_file


def _dict(data: Any, side: str, draw: Random, _: Path) -> Any:
    found: dict[Any, dict[Any, float]] = {}
    for user, item, number in _shuffled(data, draw):
        found.setdefault(user, {})[item] = number
    return found


def _json(data: Any, side: str, draw: Random, home: Path) -> str:
    path = home / f"{side}.json"
    path.write_text(json.dumps(_dict(data, side, draw, home)), encoding="utf-8")
    return str(path)


FORMS: dict[str, Callable[..., Any]] = {
    "dict": _dict,
    "polars": lambda data, side, draw, _: _frame(data, side, draw),
    "lazy": lambda data, side, draw, _: _frame(data, side, draw).lazy(),
    "pandas": lambda data, side, draw, _: _frame(data, side, draw).to_pandas(),
    "arrow": lambda data, side, draw, _: _frame(data, side, draw).to_arrow(),
    "rows": lambda data, side, draw, _: _frame(data, side, draw).to_dicts(),
    "csv": _file(".csv", lambda frame, path: frame.write_csv(path)),
    "tsv": _file(".tsv", lambda frame, path: frame.write_csv(path, separator="\t")),
    "jsonl": _file(".jsonl", lambda frame, path: frame.write_ndjson(path)),
    "parquet": _file(".parquet", lambda frame, path: frame.write_parquet(path)),
    "json": _json,
    "trec": _file(".txt", write_trec),
}


# -- threads ----------------------------------------------------------------------------------


def digest(seed: int, n: int) -> str:
    """One number for the results of many data sets, larger than those of the forms."""
    found = hashlib.sha256()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(n):
            draw = Random(f"{seed} {number}")
            sets = [dataset(draw) for _ in range(20)]
            sides = [
                {f"{u}-{k}": items for k, one in enumerate(sets) for u, items in one[side].items()}
                for side in SIDES
            ]
            found.update(json.dumps(measured(*sides, draw.choice(TIES))).encode())
    return found.hexdigest()


def digests(seed: int, n: int, threads: tuple[int, ...] = (1, 2, 3, 8)) -> dict[int, str]:
    """The digest by the number of threads that Polars may use."""
    code = f"from fuzz.invariance import digest; print(digest({seed}, {n}))"
    found = {}
    for number in threads:
        paths = [str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])]
        more = {"POLARS_MAX_THREADS": str(number), "PYTHONPATH": os.pathsep.join(paths)}
        done = subprocess.run(
            [sys.executable, "-c", code], env=os.environ | more, capture_output=True, text=True,
            check=True,
        )  # fmt: skip
        found[number] = done.stdout.strip()
    return found
