"""Delimited text, TREC files and lines."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import polars as pl

from rankmeter._ingest._columns import VALUE, Columns, Side, named
from rankmeter._ingest._messages import POLARS_ERRORS, reason, short
from rankmeter._ingest._numbers import rounded
from rankmeter.errors import FileFormatError

__all__ = [
    "Text",
    "looks_like_trec",
    "read_delimited",
    "read_lines",
    "read_qrels",
    "read_run",
    "trec_fields",
]


@dataclass(frozen=True)
class Text:
    """The decoded content of a file."""

    name: str
    text: str


# ---------------------------------------------------------------------------------------------
# CSV and TSV


def read_delimited(file: Text, side: Side, separator: str = ",") -> Columns:
    """A table with a header line; every value stays text until its meaning is known."""
    _refuse_returns(file, quoted=True)
    header = _header(file, separator)
    if len(header) == 1 and (other := next((c for c in "\t;|," if c in header[0]), None)):
        name = {"\t": ", or name it .tsv", ",": ", or name it .csv"}.get(other, "")
        raise FileFormatError(
            f"{file.name} has one column, {short(header[0])}: its fields seem to be separated by "
            f"{other!r}, not by {separator!r}. Write it with {separator!r}{name}, or pass the "
            f"frame that polars.read_csv(path, separator={other!r}) makes of it."
        )
    text = file.text.lstrip("\r\n")
    if "\n\n" in text or "\n\r\n" in text:  # Polars would read a blank line as a row of nulls
        # Text between quotation marks is kept.
        text = re.sub(r'("[^"]*(?:"|$))|(?:\r?\n)+(?=\r?\n|$)', r"\1", text)
    if _quotes_inside(text, separator):
        frame = _by_rows(file, separator, len(header))
    else:
        frame = _by_polars(file, text, separator, len(header))
    if '""' in text:  # quoted or not, nothing is a missing value
        frame = frame.with_columns(pl.all().replace("", None))
    if frame.width != len(header):
        raise _bad_header(file, "its quotation marks do not pair")
    # A short row leaves its last column empty, and a long one can end in a separator; only then is
    # it worth walking over the rows.
    ends = (f"{separator}\n" in text, f"{separator}\r" in text, text.endswith(separator))
    doubtful = frame.to_series(-1).null_count() or any(ends)
    if doubtful and (ragged := _ragged(file, separator, len(header))):
        raise ragged
    hint = ""
    if any(re.fullmatch(r"\s*-?\d+(\.\d+)?\s*", name) for name in header):
        hint = (
            f" The first line, {short(separator.join(header))}, looks like data: put a header line "
            f"such as {separator.join(['user', 'item', 'score'])!r} above it."
        )
    # By position: Polars renames a column whose name occurs twice.
    columns = dict(zip(header, frame.get_columns(), strict=True))
    found = Columns.of(columns, file.name, textual=True, untyped=True, hint=hint)
    return replace(found, names=header)


def _refuse_returns(file: Text, *, quoted: bool = False) -> None:
    r"""Refuse a ``\r`` that does not end a line: it would become part of a value.

    Where values may be quoted, it is allowed between quotation marks.
    """
    if file.text.count("\r") == file.text.count("\r\n"):
        return
    for found in re.finditer(r'"[^"]*(?:"|$)|\r(?!\n)' if quoted else r"\r(?!\n)", file.text):
        if found[0] == "\r":
            line = file.text.count("\n", 0, found.start()) + 1
            raise FileFormatError(
                f"{file.name}, line {line}: a carriage return (\\r) that does not end a line, "
                f"while other lines end in \\n. Write the file again with one kind of line end."
            )


def _lines(text: str) -> Iterator[str]:
    """The lines with their ends, one at a time, to avoid a second copy of a large text."""
    start = 0
    while start < len(text):
        end = text.find("\n", start) + 1 or len(text)
        yield text[start:end]
        start = end


def _header(file: Text, separator: str) -> list[str]:
    try:
        return next(csv.reader(_lines(file.text.lstrip("\r\n")), delimiter=separator))
    except csv.Error as error:
        raise _bad_header(file, str(error)) from error


def _bad_header(file: Text, reason: str) -> FileFormatError:
    header = file.text[:4096].lstrip().partition("\n")[0]
    return FileFormatError(
        f"{file.name} has a header line that cannot be read: {short(header)} ({reason}). Write "
        f"the names of the columns plainly."
    )


def _by_polars(file: Text, text: str, separator: str, width: int) -> pl.DataFrame:
    try:
        return pl.read_csv(text.encode(), separator=separator, infer_schema=False)
    except POLARS_ERRORS as error:
        raise _ragged(file, separator, width) or FileFormatError(
            f"{file.name} cannot be read as a table: {reason(error)}. Write it again as plain CSV."
        ) from error


def _quotes_inside(text: str, separator: str) -> bool:
    """Whether a quotation mark seems to be where Polars can join or drop rows.

    That is inside a field, after a quoted one, or without a second one.
    """
    if '"' not in text:
        return False
    if text.count('"') % 2:
        return True
    after = f'"(?:[^"]|"")*"[^"{separator}\\r\\n]'
    within = f'[^"{separator}\\r\\n]+"'
    # The search by Polars is linear in time, unlike that of re.
    return bool(pl.Series([text]).str.contains(f"(?m)(?:^|{separator})(?:{after}|{within})")[0])


def _by_rows(file: Text, separator: str, width: int) -> pl.DataFrame:
    """The table row by row: a quotation mark inside a field without quotation is text."""
    if ragged := _ragged(file, separator, width):
        raise ragged
    rows = (row for row in csv.reader(_lines(file.text), delimiter=separator, strict=True) if row)
    next(rows)
    schema = {str(place): pl.String for place in range(width)}
    frame = pl.DataFrame([*rows], schema=schema, orient="row")
    return frame.with_columns(pl.all().replace("", None))


def _ragged(file: Text, separator: str, width: int) -> FileFormatError | None:
    """Report the first row with too many or too few fields, or with broken quotation."""
    reader = csv.reader(_lines(file.text), delimiter=separator, strict=True)
    line = 0
    try:
        for row in reader:
            if row and len(row) != width:
                return FileFormatError(
                    f"{file.name}, line {reader.line_num}: {len(row)} fields where the header has "
                    f"{width}: {short(separator.join(row))}. Complete or remove the line, or put "
                    f"quotation marks around fields that contain {separator!r}."
                )
            line = reader.line_num
    except csv.Error as error:
        if "end of data" in str(error):
            return FileFormatError(
                f"{file.name}, line {line + 1}: a quotation mark is opened and never closed. "
                f"Close it, or double it if it belongs to the value."
            )
        what = "text follows a closing quotation mark" if "expected" in str(error) else str(error)
        return FileFormatError(
            f"{file.name}, line {reader.line_num}: {what}. Put quotation marks around the field, "
            f"and double those that belong to the value."
        )
    return None


def read_lines(file: Text, side: Side) -> Columns:
    """One user per line, perhaps below a title; blank lines are ignored."""
    _refuse_returns(file)
    lines = [line for line in map(str.strip, file.text.split("\n")) if line]
    users = pl.Series(lines[1:] if named("user", lines[:1]) else lines, dtype=pl.String)
    return Columns.by_role({"user": users}, file.name, textual=True, untyped=True)


# ---------------------------------------------------------------------------------------------
# TREC: fields separated by any run of ASCII white space, without a header

_RUN = "qid Q0 docid rank score tag"
_QRELS = "qid 0 docid rel"
_NEVER = "\x1f"
_SPACE = r"[ \t\r\x0b\x0c]"
_FIELD = r"[^ \t\r\x0b\x0c]+"


def read_run(file: Text, side: Side) -> Columns:
    """A TREC run: ``qid Q0 docid rank score tag``, ordered by score as trec_eval orders it."""
    return _read_trec(file, side, _RUN, "qid docid score")


def read_qrels(file: Text, side: Side) -> Columns:
    """TREC judgments: ``qid 0 docid rel``."""
    return _read_trec(file, side, _QRELS, "qid docid rel")


def looks_like_trec(text: str) -> Literal["run", "qrels"] | None:
    """The format of a text by the fields of its first lines.

    The second field of TREC files is not used: it is Q0, or 0. The item in a table of ratings can
    be the same; such a table differs by its header, by a third field of numbers with second fields
    that are not 0, or by a time in place of the grade.
    """
    lines = [re.findall(_FIELD, line) for line in text[:65536].split("\n")[:50]]
    lines = [line for line in lines if len(line) >= 4]
    if not lines or (named("user", lines[0]) and named("item", lines[0])):
        return None
    marked = [line for line in lines if line[1].upper() == "Q0"]
    if not marked:
        marked = [line for line in lines if line[1] == "0"]
        if any(_is_number(line[2]) for line in lines) and not _zero_throughout(text):
            return None
    if any(len(line) >= 6 and _is_number(line[3]) and _is_number(line[4]) for line in marked):
        return "run"
    grades = [line[3] for line in marked if len(line) == 4 and _is_number(line[3])]
    return "qrels" if any(abs(float(grade)) < _LEAST_TIME for grade in grades) else None


_NOT_ZERO = r"(?m)^[ \t\x0b\x0c]*[^\s]+[ \t\x0b\x0c]+(?:[^0\s]|0[^\s])"
_LEAST_TIME = 1e8  # in seconds since 1970


def _zero_throughout(text: str) -> bool:
    return not pl.Series([text]).str.contains(_NOT_ZERO)[0]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _read_trec(file: Text, side: Side, form: str, used: str) -> Columns:
    rows, numbers = trec_fields(file, side, form, used)
    user, item, value = rows.get_columns()
    columns = {"user": user, "item": item, "value": numbers}
    counts = Counter({f"rounded_{VALUE.get(side, 'value')}s": rounded(value, numbers)})
    return Columns.by_role(columns, file.name, textual=True, counts=counts)


def trec_fields(
    file: Text, side: Side, form: str, used: str, *, exact: bool = False
) -> tuple[pl.DataFrame, pl.Series]:
    """The fields `used` of the lines of a `form` as texts, and the last of them as numbers.

    Fields are named in order, separated by spaces. Lines may have more fields than the form unless
    they are to be `exact`; blank lines are skipped.
    """
    _refuse_returns(file)
    kind = looks_like_trec(file.text)
    if (side, kind) in (("rankings", "qrels"), ("truth", "run")):
        found = _QRELS if kind == "qrels" else _RUN
        raise FileFormatError(
            f"{file.name} has the lines of TREC {kind} ({found}), where {side} are expected: "
            f"{form}. Are rankings and truth swapped?"
        )
    fields, wanted = form.split(), used.split()
    if (at := file.text.find(_NEVER)) >= 0:
        raise FileFormatError(
            f"{file.name}, line {file.text.count(chr(10), 0, at) + 1}: the control character "
            f"{_NEVER!r} has no place in a TREC file. Remove it."
        )
    # Whole lines, blank ones among them, so that positions are the numbers of lines.
    lines = pl.read_csv(
        file.text.encode(),
        has_header=False,
        separator=_NEVER,
        quote_char=None,
        infer_schema=False,
        new_columns=["line"],
    )["line"]
    # Only the fields that are used are captured; the rest must be there.
    pattern = f"{_SPACE}+".join(
        f"(?<{field}>{_FIELD})" if field in wanted else _FIELD for field in fields
    )
    end = f"{_SPACE}*$" if exact else ""
    rows = lines.str.extract_groups(f"^{_SPACE}*{pattern}{end}").struct.unnest()
    numbers = rows[wanted[-1]].cast(pl.Float64, strict=False)
    if numbers.null_count():
        bad = (numbers.is_null() & lines.str.contains(_FIELD)).arg_true()
        if len(bad):
            number, line = int(bad[0]) + 1, lines[int(bad[0])]
            value = fields.index(wanted[-1])
            raise _bad_line(file.name, number, line, fields, value, exact=exact)
        rows, numbers = rows.filter(numbers.is_not_null()), numbers.drop_nulls()  # blank lines
    return rows, numbers


def _bad_line(
    name: str, number: int, line: str, fields: list[str], value: int, *, exact: bool
) -> FileFormatError:
    found = re.findall(_FIELD, line)
    if len(found) < len(fields) or (exact and len(found) > len(fields)):
        what = f"{len(found)} fields where a line needs {len(fields)}"
    else:
        what = f"the {fields[value]} {short(found[value])} is not a number"
    return FileFormatError(
        f"{name}, line {number}: {what} ({' '.join(fields)}): {short(line)}. Correct or remove the "
        f"line."
    )
