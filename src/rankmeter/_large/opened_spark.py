"""Rankings and ground truth in Spark, opened: what the driver reads of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Literal, cast

import numpy as np
import polars as pl

from rankmeter._large.opened import columns_without_values
from rankmeter._reading.by_user import IdSeries, InFrame
from rankmeter._reading.columns import is_named, resolve_roles
from rankmeter._reading.fillers import FILLERS
from rankmeter._reading.forms import read_columns
from rankmeter._reading.frames import describe_type, from_polars
from rankmeter._reading.ids import to_ids
from rankmeter._reading.numbers import refuse_parts_of_a_split
from rankmeter._reading.orders import (
    compare_orders,
)
from rankmeter._reading.read import (
    BadScores,
    judgments_from_columns,
    rankings_from_columns,
    read_truth,
)
from rankmeter._reading.spark import (
    InSpark,
    Query,
    TruthInSpark,
    canonical_column_by_role,
    collect_rows,
    quote_name,
    rows_of_lists,
    spark_frame_kind,
)
from rankmeter._reading.table import Origin, Table, format_few
from rankmeter.errors import ColumnError

_EXAMPLES = 1000  # rows
_LARGEST = 2**20  # rows of a part in Spark, unless memory is smaller
_PER_ROW = 250  # bytes of memory for a row that is measured there
_ASSUMED = {"user": "user", "item": "item", "gain": "gain"}
_LIKE_GRADE = "abs(gain) <= 100 AND 2 * gain % 1 = 0"


def open_spark(
    data: Any,
    memory: int,
    *,
    columns: Mapping[str, str] | None = None,
    bad_scores: BadScores = "error",
) -> Table:
    """Open rankings in Spark, which `memory` bytes for each task measure; see `read_rankings`.

    Their rows are counted and checked there, and only a few are read.
    """
    source = describe_type(data)
    data, columns, empty_users = rows_of_lists(data, columns)
    names = resolve_roles(columns_without_values(data.columns, source), "rankings", columns)
    if not names.keys() & {"score", "rank"}:
        raise ColumnError(
            f"{source} has no score and no rank, and the rows of Spark have no order. Its columns "
            f"are {format_few(data.columns, 12)}. Pick one: columns={{'score': ...}} (the highest "
            f"comes first) or columns={{'rank': ...}} (1 comes first)."
        )
    unused = names.pop("score", None) if "rank" in names else None
    order: Literal["score", "rank"] = "rank" if "rank" in names else "score"
    columns_of = canonical_column_by_role(data, names, order)
    roles = {role: column for role, column in columns_of.items() if column is not None}
    good = " AND ".join(f"{column.sql} IS NOT NULL" for column in roles.values()) or "true"
    fetched = [*names.values(), *([] if unused is None else [unused])]
    some_rows = data.where(good).select([quote_name(name) for name in fetched])
    sample = collect_rows(some_rows.limit(_EXAMPLES), source)
    conflicts = None
    if unused is not None:
        orders = compare_orders(*sample.select(names["user"], names["rank"], unused))
        conflicts = orders, sample.height
    if sample.height or len(roles) < len(columns_of):
        # What is wrong with the type of a column is reported as for any other frame.
        examples = rankings_from_columns(
            from_polars(sample, "rankings", source), names, bad_scores
        ).frame
    else:
        examples = pl.DataFrame(schema={role: column.dtype for role, column in roles.items()})
    query = Query(data, names, roles, order, source, bad_scores, conflicts)
    empty = IdSeries(
        examples["user"].clear()
        if empty_users is None
        else to_ids(empty_users, "user", source, Counter()).cast(examples["user"].dtype)
    )
    counts = query.count()
    n_rows = counts["rows"] - (counts["missing"] if bad_scores == "drop" else 0)
    size = max(min(_LARGEST, memory // _PER_ROW), 1)
    rows = InSpark(examples, query, n_rows, -(-n_rows // size))
    kind = spark_frame_kind(data, names)
    return Table(rows, order, empty, Origin(source, counts=query.check_counts(counts), kind=kind))


def open_truth_in_spark(
    data: Any, *, columns: Mapping[str, str] | None = None, relevant: str = ""
) -> Table:
    """Open judgments in Spark, and read only a few; see `read_truth`.

    Judgments with subtopics, words or lists are read whole, and so are those that are refused or
    doubtful, so that one reader says why.
    """
    read_all = partial(read_truth, data, columns=columns, relevant=relevant)
    read = read_columns(data, "truth", columns)
    names = resolve_roles(read, "truth", columns)
    named = is_named(columns, "gain")
    if not named:
        refuse_parts_of_a_split(read, names.values())
    assumed = "gain" not in names
    may_say = assumed and not named and relevant != "any" and len(read.names) > len(names)
    is_plain = names.keys() <= {"user", "item", "gain"} and names["item"] not in read.nested
    if relevant not in ("", "any") or may_say or not is_plain:
        return read_all()
    fetched = [quote_name(name) for name in names.values()]
    asked, numbers = data.select(fetched), names
    if assumed:
        ids = [f"{quote_name(name)} AS {role}" for role, name in names.items()]
        asked, numbers = data.selectExpr(*ids, "double(1) AS gain"), _ASSUMED
    columns_of = canonical_column_by_role(asked, numbers, "gain")
    roles = {role: column for role, column in columns_of.items() if column is not None}
    if len(roles) < len(columns_of) or dict(asked.dtypes)[numbers["gain"]].startswith("decimal"):
        return read_all()
    query = Query(asked, numbers, roles, "gain", read.source, "error", None)
    is_int = roles["item"].dtype != pl.String
    filler = FILLERS["Int64" if is_int else "String"]
    counts = query.count(
        f"count_if(item IN ({', '.join(map(repr, filler))})) AS fillers",
        f"count_if({'item NOT BETWEEN -99 AND 99' if is_int else 'true'}) AS not_labels",
        "min(gain) AS lowest",
        "max(gain) AS highest",
        f"collect_set(CASE WHEN {_LIKE_GRADE} THEN gain END) AS grades",
        f"max(CASE WHEN NOT ({_LIKE_GRADE}) THEN gain END) AS other",
    )
    bad = ("no_user", "no_item", "missing", "infinite", "rounded", "fillers")
    if any(counts[name] for name in bad) or not counts["rows" if not assumed else "not_labels"]:
        return read_all()
    sample = from_polars(collect_rows(data.select(fetched).limit(_EXAMPLES), read.source), "truth")
    table = judgments_from_columns(replace(read, fetch=sample.fetch), names)
    checked = query.check_counts(counts) | ({"assumed_gains": counts["rows"]} if assumed else {})
    gains = [counts["lowest"], counts["highest"], counts["other"], *counts["grades"]]
    known = np.array([gain for gain in gains if gain is not None])
    rows = TruthInSpark(table.frame, query, counts["rows"], known, read_all)
    origin = replace(table.origin, counts=checked)
    return replace(table, rows=cast("InFrame", rows), origin=origin)
