"""Runs and judgments as trec_eval reads them: the format is known, whatever the file is called."""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Callable
from pathlib import Path

import polars as pl

from rankmeter._ingest import Origin, Table
from rankmeter._ingest._columns import Columns, Side
from rankmeter._ingest._text import Text, read_qrels, read_run
from rankmeter.errors import DuplicateError, FileFormatError, InvalidValueError

__all__ = ["read_judgments", "read_results"]

_COMMENT = re.compile(r"^[ \t]*#.*$", re.MULTILINE)


def read_judgments(path: str) -> Table:
    """Read ``topic iteration document grade``: ``gain`` is the grade, a whole number."""
    frame = _frame(_text(path), read_qrels, "truth", "gain")
    odd = frame.filter(pl.col("gain") != pl.col("gain").round())
    if odd.height:
        topic, document, grade = odd.row(0)
        raise InvalidValueError(
            f"{path}: the grade {grade:g} of topic {topic} document {document} is no whole number, "
            "which trec_eval would cut to one in silence. Use rankmeter evaluate for such grades"
        )
    twice = frame.filter(pl.struct("user", "item").is_duplicated())
    if twice.height:
        topic, document, _ = twice.row(0)
        raise DuplicateError(f"{path}: topic {topic} document {document} is judged twice")
    return Table(frame, "list", origin=Origin(path, textual=True))


def read_results(path: str) -> tuple[Table, str]:
    """Read ``topic Q0 document rank score run``, and the id of the run on the last line."""
    text = _text(path)
    frame = _frame(text, read_run, "rankings", "score")
    bad = frame.filter(pl.col("score").is_nan())
    if bad.height:
        topic, document, _ = bad.row(0)
        raise InvalidValueError(
            f"{path}: the score of topic {topic} document {document} is NaN, which has no place "
            "in an order. Remove the line or give it a number"
        )
    # −0.0 and 0.0 are equal scores, and sort as such once they are the same.
    frame = frame.with_columns(pl.col("score") + 0.0)
    last = text.text.rstrip().rpartition("\n")[2]
    return Table(frame, "score", origin=Origin(path, textual=True)), last.split()[5]


def _text(path: str) -> Text:
    content = Path(path).read_bytes()
    try:
        if content[:2] == b"\x1f\x8b":
            content = gzip.decompress(content)
        text = content.decode("utf-8")
    except (EOFError, zlib.error, gzip.BadGzipFile, UnicodeDecodeError) as error:
        raise FileFormatError(f"{path} is not text in UTF-8, gzipped or not: {error}") from error
    if "#" in text:
        # The empty line that is left keeps the numbers of the lines below.
        text = _COMMENT.sub("", text)
    if not text.strip():
        raise FileFormatError(f"{path} is empty")
    return Text(path, text)


def _frame(
    text: Text, read: Callable[[Text, Side], Columns], side: Side, value: str
) -> pl.DataFrame:
    return pl.DataFrame(read(text, side).fetch(("user", "item", "value"))).rename({"value": value})
