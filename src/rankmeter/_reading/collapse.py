"""Collapse items that are parts of others, such as chunks of documents, to the best part."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from rankmeter._files import is_existing_path
from rankmeter._reading.columns import Columns
from rankmeter._reading.forms import has_accepted_form, read_columns
from rankmeter._reading.ids import to_ids
from rankmeter._reading.keyed import find_column, read_keyed
from rankmeter._reading.spark import InSpark, Query
from rankmeter._reading.table import Table, format_few
from rankmeter.errors import ColumnError, DataError, DuplicateError, UsageError
from rankmeter.errors._checks import brief, counted, option_error

_PARTS = ("chunk", "chunkid", "item", "itemid", "part", "passage", "passageid", "pid")
_WHOLES = ("doc", "docid", "docno", "document", "documentid", "parent", "parentid")


@dataclass(frozen=True, eq=False)
class Collapse:
    """Mapping from items to wholes: a rule on the text of an id, or a table of item and whole."""

    note: str
    rule: pl.Expr | None = None
    before: str | None = None  # the rule, if it is the text before this one
    table: pl.DataFrame | None = None

    def __call__(self, rankings: Table) -> Table:
        """Replace the items of rankings by whole items, each at the rank of its best part."""
        if before := rankings.origin.collapsed:
            raise UsageError(
                f"{rankings.source} is collapsed already: {before}. Write one rule, or a mapping "
                "from part to whole.",
                option="collapse",
            )
        rankings = replace(rankings, origin=replace(rankings.origin, collapsed=self.note))
        if isinstance(rankings.rows, InSpark):
            return _collapse_in_spark(rankings.rows, rankings, self)
        if not rankings.rows.in_memory:
            return _collapse_pieces(rankings.rows, rankings, self)
        frame = self.rename_to_wholes(rankings.frame, rankings)
        rows = keep_best_parts(frame, rankings.order, rankings.source)
        counts = Counter(rankings.counts) + Counter(collapsed_items=frame.height - rows.height)
        origin = replace(rankings.origin, counts=dict(counts))
        return replace(rankings.with_rows(rows), origin=origin)

    def rename_to_wholes(self, frame: pl.DataFrame, rankings: Table) -> pl.DataFrame:
        """Rename items to whole items, with the original items in the column ``part``."""
        frame = frame.with_columns(part="item")
        item = frame["item"]
        if self.rule is not None:
            if item.dtype != pl.String:
                raise DataError(
                    f"collapse= is a rule for text, and the items of {rankings.source} are "
                    f"integers, for example {brief(item[0])}. Pass a mapping from part to whole."
                )
            return frame.with_columns(self.rule.alias("item"))
        table = self.cast_parts_to_type_of(item, rankings)
        wholes = frame.join(table, on="item", how="left", maintain_order="left")
        if lost := wholes["whole"].null_count():
            unknown = wholes.filter(pl.col("whole").is_null())["item"].unique(maintain_order=True)
            raise _missing_parts_error(unknown, len(unknown), lost, rankings.source)
        return wholes.with_columns(item="whole").drop("whole")

    def cast_parts_to_type_of(self, item: pl.Series, rankings: Table) -> pl.DataFrame:
        """Cast the parts in the table to the type of the items of the rankings."""
        table = self.table
        assert table is not None
        if table["item"].dtype == item.dtype:
            return table
        if not rankings.textual and pl.String in (table["item"].dtype, item.dtype):
            raise DataError(
                f"collapse= has {_id_type_name(table['item'])} parts, and {rankings.source} has "
                f"{_id_type_name(item)} items, so they would never match. Convert one of the two."
            )
        return table.with_columns(pl.col("item").cast(item.dtype, strict=False)).drop_nulls()


def _id_type_name(column: pl.Series) -> str:
    return "text" if column.dtype == pl.String else "integer"


def _missing_parts_error(
    unknown: Sequence[object] | pl.Series, n: int, lost: int, source: str
) -> DataError:
    return DataError(
        f"collapse= lacks {counted(n, 'item')} of {source} in {counted(lost, 'row')}: "
        f"{format_few(unknown)}. Add them; an item that is not a part is its own whole."
    )


def _repeated_part_error(source: str, user: object, part: object) -> DuplicateError:
    return DuplicateError(
        f"{source} repeats parts of items, for example user {brief(user)} item {brief(part)}. "
        f"Remove them: which of their places counts is not certain."
    )


def keep_best_parts(rows: pl.DataFrame, order: str, source: str) -> pl.DataFrame:
    """Keep the best part of each whole item, ordered by row; close gaps in given ranks."""
    if (repeated := rows.select("user", "part").is_duplicated()).any():
        raise _repeated_part_error(source, *rows.filter(repeated).select("user", "part").row(0))
    rows = rows.drop("part").with_row_index("place")
    if order != "list":
        rows = rows.sort(order, descending=order == "score", maintain_order=True)
    rows = rows.unique(["user", "item"], keep="first", maintain_order=True).sort("place")
    if order == "rank":
        rows = rows.with_columns(pl.col("rank").rank("min").over("user").cast(pl.Float64))
    return rows.drop("place")


def _collapse_pieces(opened: Any, rankings: Table, collapse: Collapse) -> Table:
    """Collapse pieces later: items are renamed in each piece, and the best parts kept by user."""
    types = {role: rankings.id_dtype(role) for role in ("user", "item")}
    renamed = collapse.rename_to_wholes(opened.rows, rankings).drop("part")

    def rename(rows: pl.DataFrame) -> pl.DataFrame:
        return collapse.rename_to_wholes(rows.cast(types), rankings)  # type: ignore[arg-type]

    finish = partial(keep_best_parts, order=rankings.order, source=rankings.source)
    return replace(rankings, rows=replace(opened, rows=renamed, rename=rename, finish=finish))


def _collapse_in_spark(examples: InSpark, rankings: Table, collapse: Collapse) -> Table:
    """Collapse in Spark, grouped by user and whole item."""
    rows, renamed = examples.query, collapse.rename_to_wholes(examples.rows, rankings).drop("part")
    joined = _rename_to_wholes_in_spark(rankings, rows, collapse)
    sums = [
        "count(1) AS rows",
        "count_if(part IS NULL) AS no_item",
        "count_if(user IS NULL) AS no_user",
        f"count_if({rows.order} IS NULL) AS missing",
        f"count_if(abs({rows.order}) = double('Infinity')) AS infinite",
        "count_if(rounded = 1) AS rounded",
        "count_if(part IS NOT NULL AND item IS NULL) AS lost",
    ]
    totals = rows.collect(rows.aggregate(joined, [], *sums)).row(0, named=True)
    counts = rows.check_counts(totals)
    if totals["lost"]:
        unknown = rows.aggregate(joined.where("item IS NULL"), ["part"], "count(1) AS n")
        n = rows.collect(rows.aggregate(unknown, [], "count(1) AS n")).item()
        few = rows.collect(unknown.orderBy("part").limit(4))["part"]
        raise _missing_parts_error(few, n, totals["lost"], rankings.source)
    ranked = joined.where(f"{rows.usable_value_sql} IS NOT NULL")
    repeated = rows.aggregate(ranked, ["user", "part"], "count(1) AS n").where("n > 1")
    example = rows.collect(repeated.select("user", "part").orderBy("user", "part").limit(1))
    if example.height:
        raise _repeated_part_error(rankings.source, *example.row(0))
    n_parts = totals["rows"] - (totals["missing"] if rows.bad_scores == "drop" else 0)
    best_of = "max" if rows.order == "score" else "min"
    wholes = rows.aggregate(
        joined, ["user", "item"], f"{best_of}({rows.usable_value_sql}) AS {rows.order}"
    )
    if rows.order == "rank":
        closed = "double(rank() OVER (PARTITION BY user ORDER BY rank)) AS rank"
        wholes = wholes.selectExpr("user", "item", closed)

    def merge_counts(n: int) -> dict[str, int]:
        return dict(Counter(counts) + Counter(collapsed_items=n_parts - n))

    return replace(rankings, rows=InSpark(renamed, rows.replace_rows(wholes, merge_counts)))


def _rename_to_wholes_in_spark(rankings: Table, rows: Query, collapse: Collapse) -> Any:
    """Rename items in Spark to whole items, with the original items in the column ``part``."""
    frame = rows.all_rows.withColumnRenamed("item", "part")
    if collapse.before is not None:
        sign = f"string(X'{collapse.before.encode().hex()}')"
        return frame.selectExpr("*", f"substring_index(part, {sign}, 1) AS item")
    if collapse.rule is not None:  # patterns mean other things in Java: Polars names the items
        items = rows.collect(frame.where("part IS NOT NULL").select("part").distinct())
        table = items.rename({"part": "item"}).with_columns(whole=collapse.rule)
    else:
        table = collapse.cast_parts_to_type_of(rankings.frame["item"], rankings)
    try:
        table = table.cast({pl.selectors.integer(): pl.Int64}).rename(
            {"item": "part", "whole": "item"}
        )
    except pl.exceptions.InvalidOperationError:
        raise DataError(
            "collapse= has integers of 2^63 or more, which Spark does not have: make the parts and "
            "whole items strings, in the rankings and the ground truth, too"
        ) from None
    return frame.join(rows.broadcast_rows(table), "part", "left")


def read_collapse(data: object) -> Collapse:
    """Parse a rule, ``before:TEXT`` or ``regex:PATTERN`` with one group, or read a table of parts.

    Signs alone, such as ``#``, are a rule: the text before them.
    """
    if isinstance(data, str) and re.fullmatch(r"[#:_|@~+-]+", data):
        data = f"before:{data}"
    if isinstance(data, str) and (rule := re.fullmatch(r"(before|regex):(.+)", data, re.DOTALL)):
        criterion = f"the text before {rule[2]!r}" if rule[1] == "before" else data
        return Collapse(
            f"chunks are grouped by {criterion}; the best chunk counts",
            _parse_rule(*rule.groups()),
            before=rule[2] if rule[1] == "before" else None,
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
