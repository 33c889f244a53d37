"""Runs and judgments as trec_eval reads them: the format is known, whatever the file is called."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import polars as pl

from rankmeter._ingest import Origin, Table
from rankmeter._ingest._columns import Columns, Side
from rankmeter._ingest._files import read_content
from rankmeter._ingest._text import Text, read_qrels, read_run
from rankmeter.errors import DuplicateError, FileFormatError, InvalidValueError

__all__ = ["as_written", "read_judgments", "read_results"]

_COMMENT = re.compile(r"^[ \t]*#.*$", re.MULTILINE)
_SPACE = " \t\n\x0b\x0c"


def read_judgments(path: str) -> Table:
    """Read ``topic iteration document grade``: ``gain`` is the grade, an integer."""
    frame = _frame(_text(path), read_qrels, "truth", "gain")
    odd = frame.filter(pl.col("gain") != pl.col("gain").round())
    if odd.height:
        topic, document = map(as_written, odd.row(0)[:2])
        grade = odd["gain"][0]
        raise InvalidValueError(
            f"{path}: the grade {grade:g} of topic {topic} document {document} is not an integer; "
            "trec_eval would silently truncate it. Use rankmeter evaluate for such grades"
        )
    twice = frame.filter(pl.struct("user", "item").is_duplicated())
    if twice.height:
        topic, document = map(as_written, twice.row(0)[:2])
        raise DuplicateError(f"{path}: topic {topic} document {document} is judged twice")
    return Table(frame, "list", origin=Origin(path, textual=True))


def read_results(path: str) -> tuple[Table, str]:
    """Read ``topic Q0 document rank score run``, and the id of the run on the last line."""
    text = _text(path)
    frame = _frame(text, read_run, "rankings", "score")
    bad = frame.filter(pl.col("score").is_nan())
    if bad.height:
        topic, document = map(as_written, bad.row(0)[:2])
        raise InvalidValueError(
            f"{path}: the score of topic {topic} document {document} is NaN, which cannot be "
            "ordered. Remove the line or give it a number"
        )
    # −0.0 and 0.0 are equal scores, and only sort as such once they have the same bits.
    frame = frame.with_columns(pl.col("score") + 0.0)
    last = text.text.rstrip(_SPACE).rpartition("\n")[2]
    run_id = re.split(f"[{_SPACE}]+", last.lstrip(_SPACE))[5]
    return Table(frame, "score", origin=Origin(path, textual=True)), as_written(run_id)


def as_written(name: str) -> str:
    """A name of a file as text: UTF-8, and bytes that are not as surrogates, which encode again."""
    return name.encode("latin-1").decode("utf-8", "surrogateescape")


def _text(path: str) -> Text:
    """The content with a character for each byte: names match and sort by their bytes."""
    # A carriage return is white space in trec_eval, wherever it is.
    text = read_content(Path(path)).decode("latin-1").replace("\r", " ")
    if "#" in text:
        # The remaining empty line keeps the line numbers below.
        text = _COMMENT.sub("", text)
    if not text.strip():
        raise FileFormatError(f"{path} is empty")
    return Text(path, text)


def _frame(
    text: Text, read: Callable[[Text, Side], Columns], side: Side, value: str
) -> pl.DataFrame:
    return pl.DataFrame(read(text, side).fetch(("user", "item", "value"))).rename({"value": value})
