"""The same rows in every container: objects in memory and files."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import make_dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa

Rows = list[dict[str, Any]]
Make = Callable[[Rows, Path], Any]


def written(suffix: str, write: Callable[[Rows, Path], Any]) -> Make:
    """A file of these rows; the path has no suffix yet."""

    def make(rows: Rows, path: Path) -> Path:
        file = path.with_name(f"{path.name}.{suffix}")
        write(rows, file)
        return file

    return make


def as_json(change: Callable[[Rows], Any]) -> Make:
    return written("json", lambda rows, file: file.write_text(json.dumps(change(rows)), "utf-8"))


def oriented(orient: str) -> Make:
    return lambda rows, _: pd.DataFrame(rows).to_dict(orient)


def oriented_json(orient: str) -> Make:
    return written("json", lambda rows, file: pd.DataFrame(rows).to_json(file, orient=orient))


def objects(rows: Rows, _: Path) -> Any:
    row = make_dataclass("Row", list(rows[0]))
    return [row(**values) for values in rows]


def lines(rows: Rows) -> str:
    return "".join(f"{json.dumps(row)}\n" for row in rows)


RECORDS: dict[str, Make] = {
    "records": lambda rows, _: rows,
    "json": as_json(lambda rows: rows),
    "jsonl": written("jsonl", lambda rows, file: file.write_text(lines(rows), "utf-8")),
}
"""Objects with equal keys."""

FRAMES: dict[str, Make] = {
    "pandas": lambda rows, _: pd.DataFrame(rows),
    "polars": lambda rows, _: pl.DataFrame(rows),
    "lazy": lambda rows, _: pl.LazyFrame(rows),
    "arrow": lambda rows, _: pa.Table.from_pylist(rows),
    "csv": written("csv", lambda rows, file: pl.DataFrame(rows).write_csv(file)),
    "tsv": written("tsv", lambda rows, file: pl.DataFrame(rows).write_csv(file, separator="\t")),
    "parquet": written("parquet", lambda rows, file: pl.DataFrame(rows).write_parquet(file)),
}
"""Columns with names."""

MAPPINGS: dict[str, Make] = {
    "to_dict": oriented("dict"),
    "to_dict-list": oriented("list"),
    "to_dict-series": oriented("series"),
    "to_dict-split": oriented("split"),
    "to_dict-tight": oriented("tight"),
    "to_dict-index": oriented("index"),
    "to_json-columns": oriented_json("columns"),
    "to_json-index": oriented_json("index"),
    "to_json-split": oriented_json("split"),
    "to_json-values": oriented_json("values"),
    "to_json-table": oriented_json("table"),
}
"""What pandas makes of a frame, other than records."""

FILES = {name: {**RECORDS, **FRAMES}[name] for name in ("json", "jsonl", "csv", "tsv", "parquet")}
