"""Read TREC files: fields separated by any run of ASCII white space, without a header."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import polars as pl

from rankmeter._formats.lines import Lines
from rankmeter._formats.text import Text, refuse_bare_carriage_returns
from rankmeter._reading.columns import VALUE, Columns, Side, names_for_role
from rankmeter._reading.numbers import count_rounded_values
from rankmeter._reading.orders import count_by_score
from rankmeter._reading.table import polars_errors
from rankmeter.errors import FileFormatError
from rankmeter.errors._checks import RETRIEVAL, brief

_RUN = "qid Q0 docid rank score tag"
_QRELS = "qid 0 docid rel"
_USUAL = {"rankings": _RUN, "truth": _QRELS}
_NEVER = "\x1f"
_SPACE = r"[ \t\r\x0b\x0c]"
_FIELD = r"[^ \t\r\x0b\x0c]+"
_RANK_OF_MORE = f"^{_SPACE}*(?:{_FIELD}{_SPACE}+){{3}}({_FIELD})(?:{_SPACE}+{_FIELD}){{3}}"


def read_run(file: Text, side: Side, *, ranked: bool = True, in_rows: bool = False) -> Columns:
    """Read a TREC run, ``qid Q0 docid rank score tag``, ordered by score as in trec_eval.

    Unless `ranked` is false, the ranks are compared with the scores, the lines of a query have one
    tag, and the rank in a line with more fields must be an integer: else the space is in the docid,
    and the score would be its rank. If `in_rows`, the result is never an index of lines, and has
    the ranks and tags, without a role.
    """
    used = "qid docid rank tag score" if ranked else "qid docid score"
    return _read_trec(file, side, _RUN, used, ranked=ranked, in_rows=in_rows)


def read_qrels(file: Text, side: Side) -> Columns:
    """Read judgments, ``qid 0 docid rel``; the second field is a subtopic if not 0 or Q0."""
    return _read_trec(file, side, _QRELS, "qid docid rel")


def detect_trec_format(file: Text, side: Side) -> Literal["run", "qrels"] | None:
    """Detect the format of a file by the fields of the first lines; None if not TREC.

    The second field of TREC files is Q0, or 0, or the number of a subtopic. The item in a table of
    ratings can be the same; such a table differs by its header, by a third field of numbers with
    second fields that are not 0, or by a time in place of the grade.
    """
    lines = [re.findall(_FIELD, line) for line in file.head.split("\n")[:50]]
    lines = [line for line in lines if len(line) >= 4]
    if not lines or (names_for_role("user", lines[0]) and names_for_role("item", lines[0])):
        return None
    marked = [line for line in lines if line[1].upper() == "Q0"]
    if not marked:
        marked = [line for line in lines if line[1] == "0"]
        if side == "truth" and all(map(_has_subtopic, lines)):
            marked = lines
        has_numbers = any(is_number(line[2]) for line in lines)
        if has_numbers and pl.Series([file.text]).str.contains(_NOT_ZERO)[0]:
            return None
    if any(len(line) >= 6 and is_number(line[3]) and is_number(line[4]) for line in marked):
        return "run"
    grades = [line[3] for line in marked if len(line) == 4 and is_number(line[3])]
    return "qrels" if any(abs(float(grade)) < _LEAST_TIME for grade in grades) else None


def holds_short_run(file: Text) -> bool:
    """Whether a file starts with the lines of a run of MS MARCO, ``qid pid rank`` or with scores.

    The ranks of each query ascend from 1 by 1, and some query has several.
    """
    lines = [re.findall(_FIELD, line) for line in file.head.split("\n")[:50]]
    lines = [line for line in lines if line]
    width = len(lines[0]) if lines else 0
    if width not in _SHORT or not all(len(line) == width for line in lines):
        return False
    expected, longest = {lines[0][0]: 1}, 0
    for query, _, rank, *score in lines:
        if rank != str(expected.get(query, 1)) or not all(map(is_number, score)):
            return False
        longest = max(longest, int(rank))
        expected[query] = int(rank) + 1
    return longest > 1


_SHORT = {3: "qid docid rank", 4: "qid docid rank score"}


def read_short_run(file: Text, side: Side) -> Columns:
    """Read a run of MS MARCO; the rank decides."""
    width = len(re.findall(_FIELD, file.head.lstrip().partition("\n")[0]))
    fields = _SHORT[width].split()
    refuse_bare_carriage_returns(file)
    rows, _ = _read_any_lines(file, fields, fields, exact=True)
    names = {"qid": "user", "docid": "item", "rank": "rank", "score": "value"}
    rows = rows.rename(names, strict=False)
    if width == max(_SHORT):
        rows = rows.with_columns(pl.col("rank").cast(pl.Float64, strict=False))
    return Columns.from_role_columns(
        rows.to_dict(), file.name, textual=True, words=RETRIEVAL, trimmed=file.is_ascii
    )


def _has_subtopic(line: Sequence[str]) -> bool:
    return len(line) == 4 and line[1].isdigit() and not is_number(line[2])


_NOT_ZERO = r"(?m)^[ \t\x0b\x0c]*[^\s]+[ \t\x0b\x0c]+(?:[^0\s]|0[^\s])"
_LEAST_TIME = 1e8  # in seconds since 1970


def is_number(text: str) -> bool:
    """Whether a text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _read_trec(
    file: Text, side: Side, form: str, used: str, *, ranked: bool = False, in_rows: bool = False
) -> Columns:
    """Read the columns of a run or of judgments; as an index of lines if without subtopics."""
    facts: dict[str, Any] = {"textual": True, "words": RETRIEVAL, "is_ordered": False}
    usual = form == _USUAL.get(side) and not in_rows
    value = used.rsplit(maxsplit=1)[-1]
    if usual and (lines := Lines.of(file, form.split(), ["qid", "docid", value])):
        counts = count_by_score(lines.orders) if ranked else Counter[str]()
        return Columns.from_lists(lines, file.name, trimmed=lines.trimmed, counts=counts, **facts)
    used = _QRELS if form == _QRELS else used
    rows, n_rounded = read_trec_fields(file, side, form, used, ranked=ranked)
    counts = Counter({f"rounded_{VALUE.get(side, 'value')}s": n_rounded})
    if "rank" in rows.columns:
        rows = rows.with_columns(pl.col("rank").cast(pl.Float64, strict=False))
        refuse_mixed_runs(file.name, rows["qid"], rows["tag"], file)
        rows = rows if in_rows else rows.drop("tag")
    roles = {"qid": "user", "0": "subtopic", "docid": "item", value: "value"}
    rows = rows.rename(roles, strict=False)
    return Columns.of(
        rows.to_dict(),
        file.name,
        roles={name: name for name in rows.columns if name in roles.values()},
        counts=counts,
        trimmed=file.is_ascii,
        **facts,
    )


def refuse_mixed_runs(
    name: str, queries: pl.Series, tags: pl.Series, file: Text | None = None
) -> None:
    """Refuse a query with lines of two tags, which are two runs; a `file` shows the first lines."""
    pairs = pl.DataFrame({"query": queries, "tag": tags}).unique(maintain_order=True)
    mixed = pairs.filter(pl.col("query").is_duplicated())
    if mixed.is_empty():
        return
    query = mixed["query"][0]
    both = mixed.filter(pl.col("query") == query)["tag"].to_list()
    named = [brief(tag) for tag in both[:2]]
    if file is not None:
        named = [
            f"{brief(tag)} (first in line {_first_line(file, query, tag)})" for tag in both[:2]
        ]
    more = f", and {len(both) - 2} more" if len(both) > 2 else ""
    raise FileFormatError(
        f"{name} has the lines of {len(both)} runs for query {brief(query)}: their tags are "
        f"{' and '.join(named)}{more}. Pass each run as a file of its own, or, if they are one "
        f"run, give its lines one tag."
    )


def _first_line(file: Text, query: str, tag: str) -> int:
    """Number of the first line of a query with a tag."""
    fields = (re.findall(_FIELD, line) for line in file.text.split("\n"))
    return next(
        number
        for number, line in enumerate(fields, 1)
        if len(line) > _TAG and line[0] == query and line[_TAG] == tag
    )


_TAG = 5


def read_trec_fields(
    file: Text, side: Side, form: str, used: str, *, exact: bool = False, ranked: bool = False
) -> tuple[pl.DataFrame, int]:
    """Read the fields `used` of lines of a `form`; return fields and number of rounded values.

    Fields are named in order, separated by spaces. The last of those used is a number, the others
    are texts. Lines may have more fields than the form unless they are to be `exact`, and if
    `ranked` if their rank is an integer; blank lines are skipped.
    """
    kind = detect_trec_format(file, side)
    swapped = (side, kind) in (("rankings", "qrels"), ("truth", "run"))
    fields, used_fields = form.split(), used.split()
    if not swapped and (rows := _read_plain_lines(file, fields, used_fields)) is not None:
        return rows, 0
    refuse_bare_carriage_returns(file)
    if swapped:
        actual = _QRELS if kind == "qrels" else _RUN
        wanted_form = _USUAL[side] if form == actual else form
        expected = "rankings are" if side == "rankings" else "ground truth is"
        raise FileFormatError(
            f"{file.name} has the lines of TREC {kind} ({actual}), where {expected} expected: "
            f"{wanted_form}. Are rankings and truth swapped?"
        )
    return _read_any_lines(file, fields, used_fields, exact=exact, ranked=ranked)


def _read_plain_lines(file: Text, fields: list[str], used: list[str]) -> pl.DataFrame | None:
    """Read the fields of a file with exactly one separator between fields on all lines, else None.

    In such a file no line lacks its last field, and the only white space is separators and line
    breaks. (Polars reads a missing field as a null, and may ignore further fields.)
    """
    separator = b"\t" if b"\t" in file.content[:_START] else b" "
    if not (file.is_ascii or file.encoding == "utf-8"):
        return None
    if (blanks := _count_blanks(file.content)) is None:
        return None
    value, last = used[-1], fields[-1]
    try:
        lines = pl.scan_csv(
            bytes(file.content),
            has_header=False,
            separator=separator.decode(),
            quote_char=None,
            schema={field: pl.Float64 if field == value else pl.String for field in fields},
        )
        rows = lines.select(*dict.fromkeys([*used, last])).collect()
    except polars_errors():
        return None
    ends = rows.height - (not file.content.endswith(b"\n"))
    if blanks != rows.height * (len(fields) - 1) + ends:
        return None
    if rows[value].null_count() or rows[last].null_count():
        return None
    # Which large integers are rounded is known from their digits only.
    large = rows[value].is_finite() & (rows[value].abs() >= 2**53)
    return None if large.any() else rows.select(used)


_START = 4096


def _count_blanks(content: bytes | bytearray) -> int | None:
    """Number of white-space and control bytes; None if two are adjacent."""
    codes, n = np.frombuffer(content, np.uint8), 0
    before = codes[:1] <= _BLANK  # at the start, it would make an empty field
    for start in range(0, codes.size, _AT_ONCE):
        blank = codes[start : start + _AT_ONCE] <= _BLANK
        if (before & blank[:1]).any() or (blank[1:] & blank[:-1]).any():
            return None
        before, n = blank[-1:], n + int(np.count_nonzero(blank))
    return n


_BLANK = 32
_AT_ONCE = 2**18  # bytes, so that a part stays in the cache


def _read_any_lines(
    file: Text, fields: list[str], used: list[str], *, exact: bool, ranked: bool = False
) -> tuple[pl.DataFrame, int]:
    """Read the fields of any file; raise the error of the first bad line."""
    if (position := file.text.find(_NEVER)) >= 0:
        raise FileFormatError(
            f"{file.name}, line {file.text.count(chr(10), 0, position) + 1}: the control character "
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
    if ranked:
        _refuse_split_docids(file.name, lines)
    # Only the fields that are used are captured; the rest must be there.
    pattern = f"{_SPACE}+".join(
        f"(?<_{field}>{_FIELD})" if field in used else _FIELD for field in fields
    )
    end = f"{_SPACE}*$" if exact else ""
    rows = lines.str.extract_groups(f"^{_SPACE}*{pattern}{end}").struct.unnest()
    rows = rows.rename(lambda name: name[1:])
    value = used[-1]
    numbers = rows[value].cast(pl.Float64, strict=False)
    if numbers.null_count():
        bad = (numbers.is_null() & lines.str.contains(_FIELD)).arg_true()
        if len(bad):
            number, line = int(bad[0]) + 1, lines[int(bad[0])]
            raise _bad_line_error(file.name, number, line, fields, value, exact=exact)
        rows, numbers = rows.filter(numbers.is_not_null()), numbers.drop_nulls()  # blank lines
    return rows.with_columns(numbers.alias(value)), count_rounded_values(rows[value], numbers)


def _refuse_split_docids(name: str, lines: pl.Series) -> None:
    """Refuse document ids with a space, which moves the rank to the position of the score."""
    rank = lines.str.extract(_RANK_OF_MORE)
    bad = (~rank.str.contains("^[0-9]+$")).fill_null(value=False).arg_true()
    if len(bad):
        first = int(bad[0])
        raise FileFormatError(
            f"{name}, line {first + 1}: more fields than {_RUN}, and the rank {brief(rank[first])} "
            f"is not an integer: {brief(lines[first])}. If the docid has a space, replace it in "
            f"the run and in the judgments."
        )


def _bad_line_error(
    name: str, number: int, line: str, fields: list[str], value: str, *, exact: bool
) -> FileFormatError:
    present = re.findall(_FIELD, line)
    if len(present) < len(fields) or (exact and len(present) > len(fields)):
        problem = f"{len(present)} fields where a line needs {len(fields)}"
    else:
        problem = f"the {value} {brief(present[fields.index(value)])} is not a number"
    hint = ""
    if number == 1 and len(present) in _SHORT and len(fields) == len(_RUN.split()):
        hint = (
            f" If the file is a run of MS MARCO, {_SHORT[len(present)]}, its ranks must be 1, 2, "
            f"3, … for each query."
        )
    return FileFormatError(
        f"{name}, line {number}: {problem} ({' '.join(fields)}): {brief(line)}. Correct or remove "
        f"the line.{hint}"
    )
