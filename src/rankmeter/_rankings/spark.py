"""Rankings in Spark: the driver collects the judged rows, and Spark counts all others.

Ground truth and kept rows are broadcast, and what the tasks have counted is added up. So rankings
are not moved between tasks; only the search for repeated items moves a hash of each row.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, cast

import numpy as np
import polars as pl

from rankmeter._choices import Alignment, TieRule
from rankmeter._evidence.hits import FloatArray, IntArray
from rankmeter._rankings.codes import Codes
from rankmeter._rankings.counts import Candidates, count_at_marks, sort_key
from rankmeter._rankings.marks import Marks
from rankmeter._rankings.pairs import Groups, are_self_items
from rankmeter._rankings.rank_counts import RankCounts
from rankmeter._rankings.remainder import (
    Counts,
    Order,
    Remainder,
    changed_rankings_error,
    needs_self_and_repeats,
)
from rankmeter._reading.by_user import IdSeries, to_series
from rankmeter._reading.pieces import KeptRows
from rankmeter._reading.spark import InSpark, Query
from rankmeter._reading.table import Table
from rankmeter.errors import IdTypeError

_SMALLEST = 3  # ids that the error of two sides without a common one shows
_PAIR = ["user", "item"]
_PER_SENT = 100
"""Bytes of a row that is broadcast, in every executor."""
_BAD = ("no_item", "missing", "infinite", "rounded")  # the bits of the column ``bad``


def collect_judged_in_spark(
    table: Table,
    truth: Table,
    alignments: Sequence[Alignment],
    *,
    memory_limit: int,
    depth: int = 0,
) -> Table:
    """Collect the rows with judged items; Spark counts the other rows without moving them.

    Rows of repeated items, and of items with the id of their user, are collected, too, if an
    alignment needs them. The rows of each user down to rank `depth` are collected separately.
    Candidates are counted at once for scores of the type of the first alignment.
    """
    with_self, repeats = needs_self_and_repeats(alignments)
    rows = cast("InSpark", table.rows).query
    pairs = truth.frame.select(_PAIR).cast(rows.id_types, strict=False).drop_nulls().unique()
    row_counts = _query_by_parts(
        rows, pairs, "user", memory_limit, functools.partial(judged_rows_query, with_self=with_self)
    )
    judged_rows = row_counts.drop_nulls()  # equal ones are counted
    frame = judged_rows.select(*_PAIR, rows.order)
    frame = frame[np.repeat(np.arange(frame.height), judged_rows["rows"].to_numpy())]
    some_judged = frame.join(pairs, on=_PAIR, how="semi").height > 0
    if repeats and (extra := _collect_repeated_rows(rows)) is not None:
        extra = extra.join(pairs, on=_PAIR, how="anti").select(frame.columns)
        if with_self:
            extra = extra.filter(~to_series(are_self_items(extra["user"], extra["item"])))
        frame = pl.concat([frame, extra])
    if not some_judged:
        extra = _collect_example_rows(rows, pairs).select(frame.columns)
        frame = pl.concat([frame, extra.join(frame, on=_PAIR, how="anti")])
    frame = _cast_ids(frame.sort(pl.all()), table).with_columns(number=pl.int_range(pl.len()))
    kind = "float64" if rows.order == "rank" else alignments[0].score_type
    first = _tally_at_targets(rows, _create_targets(frame, rows.order, kind), kind, memory_limit)
    sums = {name: int(first.users[name].sum()) for name in ("rows", *_BAD)}
    if sums["rows"] != row_counts["rows"].sum():
        raise changed_rankings_error()
    sums["no_user"] = int(first.users.filter(pl.col("user").is_null())["rows"].sum())
    counts = rows.check_counts(sums)
    users = _cast_ids(first.users, table)["user"]
    tops = frame.clear()
    if depth:
        top_rows = rows.collect(top_rows_query(rows, depth, with_self=with_self))
        tops = _number_top_rows(_cast_ids(top_rows.select(*_PAIR, rows.order), table), frame)
    remainder = Clustered(
        rows, frame, kind, first, users, alignments=alignments, memory_limit=memory_limit,
        tops=(tops, depth),
    )  # fmt: skip
    engine = table.origin.engine
    if repeats:
        engine += ", and a hash of every row is moved to find repeated items"
    origin = replace(table.origin, counts=counts, engine=engine)
    empty_users = table.empty_users.to_series().cast(users.dtype)
    everyone = pl.concat([users, empty_users]).unique().sort() if len(empty_users) else users
    return Table(KeptRows(frame, remainder), table.order, IdSeries(everyone), origin)


def _number_top_rows(top_rows: pl.DataFrame, kept_rows: pl.DataFrame) -> pl.DataFrame:
    """Give each top row the number of the same kept row, or else a number after all of these."""
    tops = top_rows.join(kept_rows.select(*_PAIR, "number"), on=_PAIR, how="left")
    beyond_kept = kept_rows.height + pl.int_range(pl.len())
    return tops.with_columns(pl.col("number").fill_null(beyond_kept)).sort("number")


def _query_by_parts(
    rows: Query,
    small: pl.DataFrame,
    user: str,
    memory_limit: int,
    query: Callable[[Query, pl.DataFrame], Any],
) -> pl.DataFrame:
    """Run a query with a small table that is broadcast in parts of about `memory_limit` bytes.

    A part has the users of a range, so each of them is counted once, with all that it needs.
    """
    n = -(-small.height * _PER_SENT // memory_limit)
    small = small.sort(user) if n > 1 else small
    starts = small[user].gather([i * small.height // n for i in range(1, n)]).unique().sort()
    bounds = [None, *starts, None]
    results = []
    for low, high in itertools.pairwise(bounds):
        part = small
        conditions = []
        if low is not None:
            part = part.filter(pl.col(user) >= low)
            conditions.append(f"user >= {_sql_literal(low)}")
        if high is not None:
            part = part.filter(pl.col(user) < high)
            conditions.append(f"user < {_sql_literal(high)}")
        condition = " AND ".join(conditions)
        if condition and low is None:
            condition = f"(user IS NULL OR {condition})"  # missing users are counted, too
        results.append(rows.collect(query(rows.restrict_rows(condition), part)))
    return pl.concat(results)


def _sql_literal(user: object) -> str:
    """Format a user id as an SQL literal."""
    return f"string(X'{user.encode().hex()}')" if isinstance(user, str) else str(user)


def _cast_ids(frame: pl.DataFrame, table: Table) -> pl.DataFrame:
    """Cast the id columns of a frame to the id types of `table`; refuse ids outside these types."""
    types = {role: table.id_dtype(role) for role in _PAIR if role in frame.columns}
    try:
        return frame.cast(types)  # type: ignore[arg-type]
    except pl.exceptions.InvalidOperationError as error:
        raise IdTypeError(
            f"The ids cannot be compared: the truth has integers beyond 9223372036854775807 and "
            f"{table.source} has negative ones, and no 64-bit type holds both. Cast the ids of "
            f"both sides to strings."
        ) from error


# ---------------------------------------------------------------------------------------------
# Queries

_HASH = "xxhash64(user, item) AS hash"


_OWN = "string(user) = string(item)"


def judged_rows_query(rows: Query, pairs: pl.DataFrame, *, with_self: bool = False) -> Any:
    """Pass 1: query that counts equal rows with judged items, and all others as one null row."""
    sent = rows.broadcast_rows(pairs).selectExpr("user", "item", "true AS hit")
    condition = f"(hit OR {_OWN})" if with_self else "hit"
    condition = f"{condition} AND item IS NOT NULL AND {rows.usable_value_sql} IS NOT NULL"
    columns = {"user": "user", "item": "item", rows.order: rows.usable_value_sql}
    rows_or_nulls = rows.all_rows.join(sent, _PAIR, "left").selectExpr(
        *(f"CASE WHEN {condition} THEN {value} END AS {name}" for name, value in columns.items())
    )
    return rows.aggregate(rows_or_nulls, [*columns], "count(1) AS rows")


def repeated_hashes_query(rows: Query) -> Any:
    """Query of the hashes of user and item that occur more than once.

    Hashes are not counted before they are moved: nearly all differ, so this would save nothing.
    """
    hashes = rows.candidates.selectExpr(_HASH).repartition("hash")
    return rows.aggregate(hashes, ["hash"], "count(1) AS n").where("n > 1").select("hash")


def rows_between_marks_query(rows: Query, value: str, marks: Any) -> Any:
    """Pass 2: query of the number of rows between each mark and the previous mark of its user.

    Rows after the last mark, and rows of users without marks, are counted by user. All counts are
    also by the kinds of bad values in the rows.
    """
    bad = (
        "item IS NULL",
        f"{rows.order} IS NULL",
        f"coalesce(abs({rows.order}) = double('Infinity'), false)",
        "rounded = 1",
    )
    bits = " | ".join(f"shiftleft(int({condition}), {bit})" for bit, condition in enumerate(bad))
    all_rows = rows.all_rows.selectExpr(
        "user", f"{bits} AS bad", f"{rows.usable_value_sql} AS {rows.order}"
    )
    all_rows = all_rows.selectExpr("user", "bad", f"{value} AS value")
    is_between = "user = mark_user AND value <= mark AND (last IS NULL OR value > last)"
    joined = all_rows.join(marks, rows.join_condition(is_between), "left")
    joined = joined.selectExpr("*", "CASE WHEN place IS NULL THEN user END AS unplaced").drop(
        "user"
    )
    keys = ["place", "unplaced", "bad"]
    joined = rows.aggregate(joined, keys, "count(1) AS rows", "count_if(value = mark) AS tied")
    return joined.withColumnRenamed("unplaced", "user")


def preceding_rows_query(rows: Query, value: str, ties: TieRule, marks: Any) -> Any:
    """Query of the number of candidates tied with each mark that precede the mark by item."""
    text = dict(rows.candidates.dtypes)["item"] == "string"
    candidates = rows.candidates.selectExpr("user", "item", f"{value} AS value")
    marks = marks.selectExpr("place", "mark_user", "mark", f"{_tie_sort_key(ties, text)} AS key")
    before = f"{_tie_sort_key(ties, text)} {'>' if 'descending' in ties else '<'} key"
    tied = rows.join_condition(f"user = mark_user AND value = mark AND {before}")
    return rows.aggregate(candidates.join(marks, tied), ["place"], "count(1) AS n")


def top_rows_query(rows: Query, depth: int, *, with_self: bool = False) -> Any:
    """Query of the candidates that may have a rank up to `depth`; see `_Tops`."""
    if rows.order == "rank":
        return rows.candidates.where(f"rank <= {depth + with_self}")
    partition = "user"
    first = f"place <= {depth}"
    if with_self:
        partition += f", {_OWN}"
        first += f" OR {_OWN}"
    ranked = f"rank() OVER (PARTITION BY {partition} ORDER BY float(-score)) AS place"
    return rows.candidates.selectExpr("*", ranked).where(first).drop("place")


def _tie_sort_key(ties: TieRule, text: bool) -> str:
    """SQL sort key of tied items; consistent with `id_sort_keys`."""
    if ties.startswith("text") or (ties.startswith("native") and text):
        return "string(item)"
    if not text:
        return "item"
    number = "item RLIKE '^(0|-?[1-9][0-9]*)\\\\z'"
    negative = f"({number} AND item LIKE '-%')"
    length = "octet_length(item)"
    digits = f"CASE WHEN {negative} THEN -{length} WHEN {number} THEN {length} ELSE {2**31 - 1} END"
    turned = f"CASE WHEN {negative} THEN translate(item, '0123456789', '9876543210') ELSE item END"
    return f"struct({digits} AS digits, {turned} AS written)"


def _collect_repeated_rows(rows: Query) -> pl.DataFrame | None:
    """Collect the candidates whose user and item may be repeated, by their hash; None without."""
    hashes = rows.collect(repeated_hashes_query(rows))
    if hashes.is_empty():
        return None
    hashed = rows.candidates.selectExpr("*", _HASH)
    repeated = hashed.join(rows.broadcast_rows(hashes), "hash", "semi")
    return rows.collect(repeated.drop("hash"))


def _collect_example_rows(rows: Query, pairs: pl.DataFrame) -> pl.DataFrame:
    """Collect rows with the smallest users and items, and a judged row if one exists."""
    candidates = rows.candidates
    smallest = f"min(struct(user, item, {rows.order})) AS one"
    queries = [
        rows.aggregate(candidates, [role], smallest).orderBy(role).limit(_SMALLEST)
        for role in _PAIR
    ]
    common = candidates.join(
        rows.broadcast_rows(pairs.select("item").unique()), "item", "semi"
    ).limit(1)
    examples = [rows.collect(query.selectExpr("one.*")) for query in queries]
    examples.append(rows.collect(common).select(examples[0].columns))
    return pl.concat(examples).unique(_PAIR, maintain_order=True)


# ---------------------------------------------------------------------------------------------


class Clustered(Remainder):
    """Candidates other than the kept rows, counted by Spark.

    Spark counts all candidates, and the kept rows are subtracted.
    """

    def __init__(
        self,
        rows: Query,
        kept_rows: pl.DataFrame,
        kind: str,
        first: _Tally,
        users: pl.Series,
        **kwargs: Any,
    ) -> None:
        self.query, self._kind, self._first = rows, kind, first
        dropped = first.users["missing"] if rows.bad_scores == "drop" else 0
        n = (first.users["rows"] - dropped).to_numpy()
        has_rows = n > 0
        users, end = users.filter(to_series(has_rows)), kept_rows.height
        super().__init__(kept_rows, users, n[has_rows], order=rows.order, end=end, **kwargs)

    def distinct_items(self) -> pl.Series:
        items = self.query.collect(self.query.candidates.select("item").distinct())["item"]
        return items.cast(self.kept_rows.schema["item"])

    def last_ranks(self) -> pl.DataFrame:
        def last_ranks_query(rows: Query, kept_pairs: pl.DataFrame) -> Any:
            last_of_others = rows.candidates.join(rows.broadcast_rows(kept_pairs), _PAIR, "anti")
            return rows.aggregate(last_of_others, ["user"], "max(rank) AS rank")

        kept_pairs = _cast_uint64_to_int64(self.kept_rows.select(_PAIR).unique())
        last_of_others = _query_by_parts(
            self.query, kept_pairs, "user", self.memory_limit, last_ranks_query
        )
        return last_of_others.with_columns(pl.col("user").cast(self.users.dtype))

    def _count_in_orders(
        self,
        rows: pl.DataFrame,
        value: FloatArray | None,
        orders: list[Order],
    ) -> dict[Order, Counts]:
        """Count as in `Remainder`; one pass per score precision, one per rule that orders ties."""
        if self.order == "rank":  # which has no precision
            counts = self._count_at_precision(rows, value, "float64", {ties for _, ties in orders})
            return {(kind, ties): counts["float64", ties] for kind, ties in orders}
        counts = {}
        for kind in dict.fromkeys(kind for kind, _ in orders):
            rules = {ties for score_type, ties in orders if score_type == kind}
            counts |= self._count_at_precision(rows, value, kind, rules)
        return counts

    def _count_at_precision(
        self,
        rows: pl.DataFrame,
        value: FloatArray | None,
        kind: str,
        rules: Iterable[TieRule | None],
    ) -> dict[Order, Counts]:
        """Count at each row with scores of one precision."""
        tally = self._first
        targets = _create_targets(rows, self.order, kind, value)
        if value is not None or kind != self._kind:
            tally = _tally_at_targets(self.query, targets, kind, self.memory_limit)
            if not tally.users.equals(self._first.users):
                raise changed_rankings_error()
        above, equal = tally.above, tally.equal.copy()
        in_table = self._count_kept_rows(targets, kind, None)
        equal -= in_table.equal
        above = above - in_table.above
        _refuse_negative_counts(above, equal)
        counts: dict[Order, Counts] = {}
        for ties in rules:
            before = None
            if ties is not None and ties != "input":  # rows of Spark have no order
                before = self._count_preceding_ties(targets, equal, kind, ties)
            counts[kind, ties] = above, equal, before
        return counts

    def _count_preceding_ties(
        self, targets: _Targets, equal: IntArray, kind: str, ties: TieRule
    ) -> IntArray:
        """Count the candidates that are tied with each target and precede the target by `ties`."""
        before = np.zeros_like(equal)
        tied = np.flatnonzero(equal)
        if not tied.size:
            return before
        tied_rows = targets.only(tied)
        frame = pl.DataFrame(
            {"mark_user": tied_rows.user, "item": tied_rows.item, "mark": tied_rows.value}
        )
        marks, key = (
            frame.with_columns(place=pl.int_range(pl.len())),
            _sql_sort_key(self.order, kind),
        )
        row_counts = _query_by_parts(
            self.query, _cast_uint64_to_int64(marks), "mark_user", self.memory_limit,
            lambda rows, part: preceding_rows_query(rows, key, ties, rows.broadcast_rows(part)),
        )  # fmt: skip
        n = np.zeros(tied.size, dtype=np.int64)
        n[row_counts["place"].to_numpy()] = row_counts["n"].to_numpy()
        in_table = self._count_kept_rows(tied_rows, kind, ties).before
        n -= 0 if in_table is None else in_table
        _refuse_negative_counts(n, equal[tied] - n)
        before[tied] = n
        return before

    def _count_kept_rows(self, targets: _Targets, kind: str, ties: TieRule | None) -> RankCounts:
        """Count the rows of the table at the targets."""
        codes = Codes(targets.user.unique().sort())
        code = codes.find(self.kept_rows["user"])
        frame, code = self.kept_rows.filter(to_series(code >= 0)), code[code >= 0]
        candidates = Candidates.of(frame, code, Groups.of(code, codes.n), self.order, kind)
        # Rows outside of all others: each is counted as equal to itself, and before no equal one.
        row = np.full(len(targets.user), -1)
        gain = np.zeros(len(targets.user))
        marks = Marks(codes.encode(targets.user), gain, row, targets.value, IdSeries(targets.item))
        return count_at_marks(candidates, marks, ties or "expected")


class _Targets(NamedTuple):
    """Rows at which candidates are counted."""

    user: pl.Series
    value: FloatArray
    item: pl.Series

    def only(self, rows: IntArray) -> _Targets:
        user, item = (column.gather(to_series(rows)) for column in (self.user, self.item))
        return _Targets(user, self.value[rows], item)


class _Tally(NamedTuple):
    """Counts of all rows, by user and at the targets."""

    users: pl.DataFrame  # how many rows each user has, and of these the bad ones
    above: IntArray  # candidates above each target
    equal: IntArray


def _create_targets(
    rows: pl.DataFrame, order: str, kind: str, value: FloatArray | None = None
) -> _Targets:
    """Create targets from rows, with the sort keys of the rows or the given `value`."""
    if value is None:
        value = sort_key(rows[order].to_numpy(), order, kind)
    return _Targets(rows["user"], value + 0.0, rows["item"])  # -0.0 is 0.0


def _tally_at_targets(rows: Query, targets: _Targets, kind: str, memory_limit: int) -> _Tally:
    """Count all rows by user and at the targets."""
    values = pl.DataFrame({"user": targets.user, "value": targets.value})
    groups = values.unique().sort("user", "value").with_columns(place=pl.int_range(pl.len()))
    marks = _cast_uint64_to_int64(
        groups.select(
            "place", mark_user="user", mark="value", last=pl.col("value").shift().over("user")
        )
    )
    value = _sql_sort_key(rows.order, kind)
    row_counts = _query_by_parts(
        rows,
        marks,
        "mark_user",
        memory_limit,
        lambda part, sent: rows_between_marks_query(part, value, part.broadcast_rows(sent)),
    )
    n, tied = np.zeros((2, groups.height), dtype=np.int64)
    placed = row_counts.drop_nulls("place")
    np.add.at(n, placed["place"].to_numpy(), placed["rows"].to_numpy())
    np.add.at(tied, placed["place"].to_numpy(), placed["tied"].to_numpy())
    upto = np.cumsum(n)
    first = groups["user"].is_first_distinct().to_numpy()
    start = np.maximum.accumulate(np.where(first, upto - n, 0))
    groups = groups.with_columns(to_series(upto - start - tied, "above"), to_series(tied, "equal"))
    at_targets = values.join(groups, on=["user", "value"], how="left", maintain_order="left")
    row_counts = row_counts.join(marks.select("place", "mark_user"), on="place", how="left")
    row_counts = row_counts.select(
        pl.coalesce("user", "mark_user"),
        "rows",
        *(
            (pl.col("rows") * (pl.col("bad") // 2**bit % 2)).alias(name)
            for bit, name in enumerate(_BAD)
        ),
    )
    users = row_counts.group_by("user").agg(pl.col("rows", *_BAD).sum())
    return _Tally(
        users.sort("user"), at_targets["above"].to_numpy(), at_targets["equal"].to_numpy()
    )


def _sql_sort_key(order: str, kind: str) -> str:
    """SQL sort key of a row; smaller is better."""
    if order == "rank":
        return "rank"
    return "double(float(-score))" if kind == "float32" else "-score"


def _cast_uint64_to_int64(frame: pl.DataFrame) -> pl.DataFrame:
    """Cast unsigned integers to Int64, as Spark has no unsigned types."""
    return frame.cast({pl.UInt64: pl.Int64})


def _refuse_negative_counts(*counts: IntArray) -> None:
    if any((count < 0).any() for count in counts):
        raise changed_rankings_error()
