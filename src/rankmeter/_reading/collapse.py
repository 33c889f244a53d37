"""Collapse items that are parts of others, such as chunks of documents, to the best part."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from rankmeter._files import is_existing_path
from rankmeter._reading.columns import Columns
from rankmeter._reading.forms import has_accepted_form, read_columns
from rankmeter._reading.ids import to_ids
from rankmeter._reading.keyed import find_column, read_keyed
from rankmeter._reading.table import Table, format_few
from rankmeter.errors import ColumnError, DataError, DuplicateError, UsageError
from rankmeter.errors._checks import brief, counted, option_error

_PARTS = ("chunk", "chunkid", "item", "itemid", "part", "passage", "passageid", "pid")
_WHOLES = ("doc", "docid", "docno", "document", "documentid", "parent", "parentid")


@dataclass(frozen=True, eq=False)
class Collapse:
    """Mapping from items to wholes: a rule on the text of an id, or a table of item and whole."""

    note: str
    rule: tuple[str, str] | None = None  # its kind and its text
    table: pl.DataFrame | None = None

    def __call__(self, rankings: Table) -> Table:
        """Replace the items of rankings by whole items, each at the rank of its best part.

        Rows that are not in memory are collapsed where they are read.
        """
        if before := rankings.origin.collapsed:
            raise UsageError(
                f"{rankings.source} is collapsed already: {before}. Write one rule, or a mapping "
                "from part to whole.",
                option="collapse",
            )
        rankings = replace(rankings, origin=replace(rankings.origin, collapsed=self.note))
        dtype = rankings.id_dtype("item")
        collapsing = Collapsing(self, rankings.order, dtype, rankings.source, rankings.textual)
        renamed = collapsing.rename(rankings.frame)
        if not rankings.rows.in_memory:
            rows: Any = rankings.rows
            examples = renamed.drop("part")
            return replace(rankings, rows=replace(rows, rows=examples, collapsing=collapsing))
        rows = collapsing.keep_best_parts(renamed)
        counts = Counter(rankings.counts) + Counter(collapsed_items=renamed.height - rows.height)
        origin = replace(rankings.origin, counts=dict(counts))
        return replace(rankings.with_rows(rows), origin=origin)


@dataclass(frozen=True, eq=False)
class Collapsing:
    """What is done with the rows of rankings, which may be some of their users."""

    collapse: Collapse
    order: str
    dtype: pl.DataType  # of the parts
    source: str
    textual: bool

    def rename(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Rename items to whole items, with the original items in the column ``part``."""
        part = frame["item"].cast(self.dtype)
        whole = self.wholes(part)
        if lost := whole.null_count():
            raise missing_parts_error(part.filter(whole.is_null()), lost, self.source)
        return frame.with_columns(part=part, item=whole)

    def wholes(self, part: pl.Series) -> pl.Series:
        """The whole item of each part; null if it is not known."""
        if self.collapse.rule is not None:
            if part.dtype != pl.String:
                raise DataError(
                    f"collapse= is a rule for text, and the items of {self.source} are "
                    f"integers, for example {brief(part[0])}. Pass a mapping from part to whole."
                )
            rule = _parse_rule(*self.collapse.rule)
            return part.to_frame("item").select(rule.alias("item"))["item"]
        table = self._cast_parts_to_type_of(part)
        return part.to_frame("item").join(table, on="item", how="left", maintain_order="left")[
            "whole"
        ]

    def _cast_parts_to_type_of(self, item: pl.Series) -> pl.DataFrame:
        """Cast the parts in the table to the type of the items of the rankings."""
        table = self.collapse.table
        assert table is not None
        if table["item"].dtype == item.dtype:
            return table
        if not self.textual and pl.String in (table["item"].dtype, item.dtype):
            raise DataError(
                f"collapse= has {_id_type_name(table['item'])} parts, and {self.source} has "
                f"{_id_type_name(item)} items, so they would never match. Convert one of the two."
            )
        return table.with_columns(pl.col("item").cast(item.dtype, strict=False)).drop_nulls()

    def keep_best_parts(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Keep the best part of each whole item, ordered by row; close gaps in given ranks."""
        order = self.order
        if (repeated := rows.select("user", "part").is_duplicated()).any():
            user, part = rows.filter(repeated).select("user", "part").row(0)
            raise DuplicateError(
                f"{self.source} repeats parts of items, for example user {brief(user)} item "
                f"{brief(part)}. Remove them: which of their places counts is not certain."
            )
        rows = rows.drop("part").with_row_index("place")
        if order != "list":
            rows = rows.sort(order, descending=order == "score", maintain_order=True)
        rows = rows.unique(["user", "item"], keep="first", maintain_order=True).sort("place")
        if order == "rank":
            rows = rows.with_columns(pl.col("rank").rank("min").over("user").cast(pl.Float64))
        return rows.drop("place")


def _id_type_name(column: pl.Series) -> str:
    return "text" if column.dtype == pl.String else "integer"


def missing_parts_error(parts: pl.Series, lost: int, source: str) -> DataError:
    """The error of parts without a whole, in `lost` rows; it knows them, so that errors add up."""
    unknown = parts.unique(maintain_order=True)
    error = DataError(
        f"collapse= lacks {counted(len(unknown), 'item')} of {source} in {counted(lost, 'row')}: "
        f"{format_few(unknown)}. Add them; an item that is not a part is its own whole."
    )
    vars(error)["missing_parts"] = unknown, lost
    return error


def read_collapse(data: object) -> Collapse:
    """Parse a rule, ``before:TEXT`` or ``regex:PATTERN`` with one group, or read a table of parts.

    Signs alone, such as ``#``, are a rule: the text before them.
    """
    if isinstance(data, str) and re.fullmatch(r"[#:_|@~+-]+", data):
        data = f"before:{data}"
    if isinstance(data, str) and (rule := re.fullmatch(r"(before|regex):(.+)", data, re.DOTALL)):
        _parse_rule(*rule.groups())
        criterion = f"the text before {rule[2]!r}" if rule[1] == "before" else data
        return Collapse(
            f"chunks are grouped by {criterion}; the best chunk counts",
            (rule[1], rule[2]),
        )
    table, source = _read_part_table(data)
    if (repeated := table["item"].is_duplicated()).any():
        raise DataError(
            f"{brief(table.filter(repeated)['item'][0])} of {source} is part of two items."
        )
    return Collapse(f"chunks are grouped by {source}; the best chunk counts", table=table)


def _read_part_table(data: object) -> tuple[pl.DataFrame, str]:
    """Read the table of items and their wholes; return the table and its source."""
    if isinstance(data, Mapping):
        read = Columns.of({"part": [*data], "document": [*data.values()]}, "a mapping")
    elif has_accepted_form(data) and not (isinstance(data, list | tuple) or _is_word(data)):
        read = read_columns(data, "items")
    else:
        expected = "'before:TEXT', 'regex:PATTERN', or a mapping, frame or file from part to whole"
        raise option_error("collapse", expected, data)
    roles = {}
    for role, names in (("part", _PARTS), ("whole", _WHOLES)):
        roles[role] = find_column(read, f"{role} of collapse=", names)
        if not roles[role]:
            raise ColumnError(
                f"{read.source} has 0 columns for the {role} of collapse=; it needs one of "
                f"{format_few(names, 4)}. Its columns are {format_few(read.names, 12)}."
            )
    rows = read_keyed(read, {"item": roles["part"], "whole": roles["whole"]})
    whole_ids = to_ids(rows.columns["whole"], "item", rows.source, untyped=rows.untyped)
    table = pl.DataFrame([rows.keys, whole_ids.alias("whole")])
    return table.unique(maintain_order=True), rows.source


def _is_word(data: object) -> bool:
    """Whether text names no file: it has no ending, and no file has this name."""
    return isinstance(data, str) and not (Path(data).suffix or is_existing_path(data))


def _parse_rule(kind: str, text: str) -> pl.Expr:
    item = pl.col("item")
    if kind == "before":
        return item.str.splitn(text, 2).struct[0]
    try:
        groups = re.compile(text).groups
    except re.error as error:
        raise option_error("collapse", f"a regular expression ({error})", text) from None
    if groups != 1:
        raise option_error("collapse", "a regular expression with one group, the whole item", text)
    return pl.coalesce(item.str.extract(text, 1), item)
