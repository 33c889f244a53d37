"""Runs and judgments as trec_eval reads them: the format is known, whatever the file is called."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import polars as pl

from rankmeter._formats.files import open_large_text, read_content, start_if_large
from rankmeter._formats.lines import Lines
from rankmeter._formats.text import Text
from rankmeter._formats.trec import read_run, read_trec_fields
from rankmeter._reading.by_user import InFrame
from rankmeter._reading.columns import Columns
from rankmeter._reading.table import Origin, Table
from rankmeter.errors import DuplicateError, FileFormatError, InvalidValueError
from rankmeter.errors._checks import exact_text

_COMMENT = re.compile(rb"^[ \t]*#.*$", re.MULTILINE)
_SPACE = b" \t\n\x0b\x0c"

FORMS = {
    "qrels": "topic iteration document grade",
    "qrels_jg": "topic group document grade",
    "prefs": "topic group subgroup document level",
    "qrels_prefs": "topic group document level",
}
"""The fields of a line, by the format of the judgments."""


def read_judgments(path: str, form: str = "qrels") -> Table:
    """Read judgments of a format: ``gain`` is the grade, an integer, or the level.

    The groups and subgroups of a format are columns of their own.
    """
    used = FORMS[form].replace("iteration ", "")
    text, origin = _read_bytes_as_text(path), Origin(path, textual=True)
    lines = Lines.of(text, FORMS[form].split(), used.split()) if form == "qrels" else None
    if lines is not None and (lines.numbers == np.round(lines.numbers)).all():
        return Table(lines.as_judgments(), "list", origin=origin)
    frame, _ = read_trec_fields(text, "truth", FORMS[form], used, exact=True)
    *keys, grade_column = frame.columns
    frame = frame.rename({grade_column: "gain"})
    gain = pl.col("gain")
    if grade_column == "grade":
        fits = gain == gain.round()
        fault = (
            "not an integer, and trec_eval would silently cut it to one. Use rankmeter evaluate "
            "for such grades"
        )
    else:
        fits, fault = gain >= 0, "not a finite number ≥ 0, as a level of preference must be"
    bad = frame.filter(~(fits & gain.is_finite()))
    if bad.height:
        value = bad["gain"][0]
        judged = _first_judged_text(bad, keys)
        raise InvalidValueError(
            f"{path}: the {grade_column} {exact_text(value)} of {judged} is {fault}"
        )
    repeated = frame.filter(pl.struct(keys).is_duplicated())
    if repeated.height:
        raise DuplicateError(f"{path}: {_first_judged_text(repeated, keys)} is judged twice")
    frame = frame.rename({"topic": "user", "document": "item"})
    return Table(InFrame(frame), "list", origin=origin)


def read_results(path: str) -> tuple[Table, str]:
    """Read ``topic Q0 document rank score run``, and the id of the run on the last line."""
    text = _read_bytes_as_text(path)
    columns = read_run(text, "rankings", ranked=False)
    # −0.0 and 0.0 are equal scores, and only sort as such once they have the same bits.
    rows: InFrame | Lines
    if isinstance(columns.lists, Lines):
        rows = columns.lists
        rows.numbers[rows.numbers == 0] = 0.0
    else:
        rows = InFrame(_rows_of_run(columns, path).with_columns(pl.col("score") + 0.0))
    run_id = _last_nonblank_line(text).split()[5].decode("utf-8", "surrogateescape")
    return Table(rows, "score", origin=Origin(path, textual=True)), run_id


def _rows_of_run(columns: Columns, path: str) -> pl.DataFrame:
    """Rows of a run; a score of NaN raises an error."""
    frame = pl.DataFrame(columns.fetch(("user", "item", "value"))).rename({"value": "score"})
    bad = frame.filter(pl.col("score").is_nan())
    if bad.height:
        topic, document = map(decode_name, bad.row(0)[:2])
        raise InvalidValueError(
            f"{path}: the score of topic {topic} document {document} is NaN, which cannot be "
            "ordered. Remove the line or give it a number"
        )
    return frame


def _last_nonblank_line(text: Text) -> bytes:
    """The last line that is not blank."""
    n = 2**16
    with text.open_pieces() as piece:
        while True:
            end = bytes(piece(max(text.size - n, 0), text.size)).strip(_SPACE)
            *before, line = end.split(b"\n")
            if before or n >= text.size:
                return line
            n *= 4


def decode_name(name: str) -> str:
    """Decode a name as UTF-8, with surrogates for invalid bytes, so that names encode again."""
    return name.encode("latin-1").decode("utf-8", "surrogateescape")


def _read_bytes_as_text(path: str) -> Text:
    """Read a file with a character for each byte: names match and sort by bytes."""
    file = Path(path)

    def read_text_content() -> bytes | bytearray:
        data = _remove_comments(read_content(file))
        if Text(path, data, "latin-1").is_blank:
            raise FileFormatError(f"{path} is empty")
        return data

    start = _remove_comments(start_if_large(file))
    if start.strip():
        return open_large_text(path, start, read_text_content, "latin-1")
    return Text(path, read_text_content(), "latin-1")


def _remove_comments(content: bytes | bytearray) -> bytes | bytearray:
    """Remove comments and replace carriage returns by spaces, as trec_eval does."""
    if b"\r" in content:  # white space in trec_eval, wherever it is
        content = content.replace(b"\r", b" ")
    if b"#" in content:  # the remaining empty line keeps the line numbers below
        content = _COMMENT.sub(b"", content)
    return content


def _first_judged_text(frame: pl.DataFrame, keys: list[str]) -> str:
    """Format the topic and document of the first row, such as ``topic 1 document a``."""
    return " ".join(f"{key} {decode_name(frame[key][0])}" for key in keys)
