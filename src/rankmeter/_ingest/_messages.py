"""Phrases that the messages of the ingest layer share."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from pathlib import Path

import polars as pl

from rankmeter._checks import shown
from rankmeter.errors import DataError, FileFormatError, InvalidValueError


def polars_errors() -> tuple[type[Exception], type[BaseException], type[OSError]]:
    """The errors of Polars for damaged data; a panic of Rust is not an `Exception`."""
    return pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError


def unreadable(path: Path | str, error: OSError) -> FileFormatError:
    """The error of a file that the system refuses."""
    return FileFormatError(f"{path} cannot be read: {error.strerror or error}.")


def reason(error: object) -> str:
    """The first line of another package's message, at most 200 characters."""
    line = str(error).strip().partition("\n")[0]
    return line if len(line) <= 200 else f"{line[:199]}…"


def some(values: Iterable[object], n: int = 3) -> str:
    """The first values, as a list in words."""
    first = [shown(value) for value in islice(iter(values), n + 1)]
    return ", ".join(first[:n]) + (", …" if len(first) > n else "")


def rows(indices: Iterable[int], n: int = 3) -> str:
    """The first few row numbers in words, counted from 1."""
    first = [str(index + 1) for index in islice(iter(indices), n + 1)]
    word = "row" if len(first) == 1 else "rows"
    return f"{word} {', '.join(first[:n])}{', …' if len(first) > n else ''} (the first row is 1)"


def refuse(
    wrong: pl.Series,
    what: str,
    source: str,
    problem: str,
    remedy: str,
    *,
    values: pl.Series | None = None,
    error: type[DataError] = InvalidValueError,
) -> None:
    """Refuse values where a mask is true: how many of what, an example, where, and what to do."""
    where = wrong.arg_true()
    if len(where):
        example = "" if values is None else f", for example {shown(values[int(where[0])])}"
        raise error(
            f"{len(where)} of {len(wrong)} {what} of {source} are {problem}{example}, first at "
            f"{rows(where)}. {remedy}"
        )
