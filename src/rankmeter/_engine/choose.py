"""Which engine reads and measures rankings: all in memory, or in pieces from disk."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any, Literal, TypeAlias, get_args

from rankmeter._annexes import annex, is_missing
from rankmeter._files import is_small_file
from rankmeter._rankings.codes import THREADS
from rankmeter._rankings.kind import RankingKind
from rankmeter._reading.forms import can_be_large
from rankmeter._reading.frames import is_spark
from rankmeter._reading.memory import available_memory, format_bytes, limit_text_memory
from rankmeter._reading.read import read_rankings, read_truth
from rankmeter._reading.table import Table
from rankmeter.conventions._plan import Plan
from rankmeter.errors import NotEnoughMemoryError, UsageError
from rankmeter.errors._checks import check_choice, option_error

EngineName: TypeAlias = Literal["auto", "memory", "disk", "spark"]

_UNITS = {"": 1, "b": 1, "k": 1000, "m": 1000**2, "g": 1000**3, "t": 1000**4,
          "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}  # fmt: skip
_USUAL = 2**31
"""Bytes that the engine ``disk`` uses at most, unless it may use more."""
_LEAST = 2**26
_MOST = 2.0**60
_SHARE = 0.8  # of the free memory
_LARGEST_PIECE = 2**21  # rows
_PER_ROW = 250  # bytes for a row of each piece that is worked on


@dataclass(frozen=True)
class Reading:
    """The engine and its memory limit, which decide how rankings are read.

    Attributes
    ----------
    engine : {"auto", "memory", "disk", "spark"}
    memory : int or None
        Bytes that may be used; None is what is free.
    """

    engine: EngineName = "auto"
    memory: int | None = None

    def read_rankings(self, data: object, columns: Mapping[str, str] | None, plan: Plan) -> Table:
        """Read rankings into memory, in pieces from disk, or with Spark."""
        if isinstance(data, RankingKind):
            return data._open(self, columns, plan)
        data = self.open_for_engine(data)
        if self.engine in ("auto", "spark") and is_spark(data):
            table: Table = annex("_large.opened_spark").open_spark(
                data, self.disk_memory_limit, columns=columns, bad_scores=plan.bad_scores
            )
            description = "spark: parts of users are measured in the cluster"
            return replace(table, origin=replace(table.origin, engine=description))
        if self.engine == "spark":
            raise UsageError(
                f"engine='spark' cannot read {type(data).__name__}: pass a Spark DataFrame, or the "
                f"path of Parquet files.",
                option="engine",
            )
        is_small = is_missing("_large") or not can_be_large(data)  # or has no other way
        if self.memory is None and isinstance(data, str | PathLike):
            is_small |= is_small_file(data)
        if self.engine == "memory" or (self.engine == "auto" and is_small):
            return read_rankings(data, columns=columns, bad_scores=plan.bad_scores)
        memory_limit = self.memory or _SHARE * (available_memory() or float("inf"))
        estimate = annex("_large.opened").estimate_memory
        if self.engine == "auto" and estimate(data, memory_limit) <= memory_limit:
            with (
                suppress(NotEnoughMemoryError),
                limit_text_memory(memory_limit),
            ):  # else it is read in pieces
                return read_rankings(data, columns=columns, bad_scores=plan.bad_scores)
        rows = min(self.disk_memory_limit // 2 // (THREADS + 1) // _PER_ROW, _LARGEST_PIECE)
        in_pieces: Table | None = annex("_large.opened").open_rankings(
            data, rows=rows, columns=columns, bad_scores=plan.bad_scores
        )
        if in_pieces is not None:
            limit = format_bytes(self.disk_memory_limit)
            description = f"disk: rankings are measured in parts of users, {limit} of memory"
            if in_pieces.rows.in_memory:
                is_file = isinstance(data, str | PathLike)
                why = "cannot be read in pieces" if is_file else "is in memory already"
                description = f"memory: {in_pieces.source} {why}"
            return replace(in_pieces, origin=replace(in_pieces.origin, engine=description))
        name = data if isinstance(data, str | PathLike) else type(data).__name__
        why = (
            "in pieces: it is one value, or has lists of items. Write it as Parquet or CSV, with a"
        )
        if self.engine == "disk":
            raise UsageError(
                f"engine='disk' cannot read {name} {why} row for each item, or choose "
                f"engine='memory'.",
                option="engine",
            )
        if self.memory is not None:
            raise NotEnoughMemoryError(
                f"{name} takes more than memory={format_bytes(self.memory)}, and cannot be read "
                f"{why} row for each item, or allow more `memory`."
            )
        table = read_rankings(data, columns=columns, bad_scores=plan.bad_scores)
        description = f"memory: {table.source} cannot be read in pieces"
        return replace(table, origin=replace(table.origin, engine=description))

    def read_truth(
        self, truth: object, columns: Mapping[str, str] | None, relevant: str, stays: bool = False
    ) -> Table:
        """Read the ground truth; return a `Table` unchanged. `relevant` is as in `read_truth`.

        What is in Spark `stays` there, as far as it can.
        """
        if isinstance(truth, Table):
            return truth
        data, read = self.open_for_engine(truth), read_truth
        if stays and is_spark(data):
            read = annex("_large.opened_spark").open_truth_in_spark
        return read(data, columns=columns, relevant=relevant)

    def open_for_engine(self, data: object) -> object:
        """Open data of the engine ``spark`` as a Spark DataFrame; return other data unchanged."""
        if self.engine != "spark":
            return data
        from rankmeter._reading.spark import open_in_spark

        return open_in_spark(data)

    @staticmethod
    def describe_engines(tables: Iterable[Table]) -> str:
        """A note on how rankings were read; empty if they are in memory."""
        return "; ".join(dict.fromkeys(t.origin.engine for t in tables if t.origin.engine))

    @property
    def disk_memory_limit(self) -> int:
        """Memory limit of the engine ``disk``, in bytes."""
        free = available_memory()
        return self.memory or min(_USUAL, int(_SHARE * (free or _USUAL)))


def parse_engine(engine: Any, memory: Any) -> Reading:
    """Check the options ``engine`` and ``memory``, and return the `Reading`."""
    engine_name: EngineName = check_choice("engine", engine, get_args(EngineName))  # type: ignore[assignment]
    limit = _parse_bytes(memory)
    if engine_name == "memory" and limit is not None:
        raise UsageError(
            "`memory` has no effect with engine='memory': choose 'auto' or 'disk'", option="memory"
        )
    return Reading(engine_name, limit)


def _parse_bytes(memory: Any) -> int | None:
    """Convert a size such as ``"2GiB"`` to a number of bytes; None without a limit."""
    if memory is None:
        return None
    n: float | None = None
    if isinstance(memory, int) and not isinstance(memory, bool):
        n = memory
    elif isinstance(memory, str):
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?i?)b?\s*", memory.lower())
        if match and match[2] in _UNITS:
            n = float(match[1]) * _UNITS[match[2]]
    if n is None or n <= 0:
        raise option_error("memory", "a number of bytes such as '2GiB' or '500MB'", memory)
    if n >= _MOST:
        raise option_error("memory", f"at most {format_bytes(_MOST)}", memory)
    if n < _LEAST:
        raise option_error("memory", f"at least {format_bytes(_LEAST)}", memory)
    return int(n)
