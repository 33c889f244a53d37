"""Turn the columns of a reader into checked canonical frames."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from rankmeter._choices import RELEVANT_FORMS
from rankmeter._reading.by_user import AnyRows, ByUser, Ids, IdSeries, InFrame
from rankmeter._reading.cells import describe_lists
from rankmeter._reading.columns import (
    FACTS_OR_RUNS,
    SYNONYMS,
    Column,
    Columns,
    Side,
    frame_kind,
    holds_lists,
    is_named,
    is_trec_run,
    names_of_runs,
    normalize_name,
    resolve_roles,
    result_kind,
    vocabulary_of,
)
from rankmeter._reading.doubts import hint_to_pass_ids, refuse_labels
from rankmeter._reading.fillers import refuse_fillers
from rankmeter._reading.forms import read_columns
from rankmeter._reading.ids import to_ids
from rankmeter._reading.numbers import (
    check_gains,
    check_ranks,
    count_words,
    find_time,
    missing_scores_error,
    refuse_parts_of_a_split,
    refuse_unused_numbers,
    to_numbers,
    to_typed_series,
)
from rankmeter._reading.orders import (
    NO_PAIRS,
    compare_orders,
    compare_with_sizes,
    count_by_rank,
    count_by_score,
)
from rankmeter._reading.table import (
    POLARS,
    Frame,
    Kind,
    Origin,
    Table,
    format_few,
    format_row_numbers,
)
from rankmeter.errors import ColumnError, UsageError
from rankmeter.errors._checks import brief, check_choice, no_rows_error

BadScores = Literal["error", "drop", "worst"]


def read_rankings(
    data: object, *, columns: Mapping[str, str] | None = None, bad_scores: BadScores = "error"
) -> Table:
    """Read rankings of any accepted form (see `FORMS`); `columns` is role → name.

    `bad_scores` says how to treat a missing or NaN score: raise an error, drop the row, or rank it
    behind all others of the user (score -inf).

    1. If the data has both ranks and scores, the ranks decide: they are the final order of the tool
       that wrote them. Scores in another order are counted. ``columns={"score": ...}`` decides
       otherwise. In TREC runs the score decides, as in trec_eval, and the ranks are counted.
    2. Infinite scores are allowed and counted.
    3. A user all of whose rows were dropped keeps an empty ranking.
    4. Without score and rank the order of the rows is the ranking, unless another column holds
       numbers: that may be the score under another name, and is an error.
    """
    check_choice("bad_scores", bad_scores, ("error", "drop", "worst"))
    read = read_columns(data, "rankings", columns)
    roles = resolve_roles(read, "rankings", columns)
    settled = is_named(columns, "score", as_none=True)
    if read.lists is None and not roles.keys() & {"score", "rank"} and not settled:
        refuse_unused_numbers(read, "rankings", roles.values())
    lists = read.lists
    table = (
        rankings_from_columns(read, roles, bad_scores)
        if lists is None
        else _rankings_from_lists(read, lists)
    )
    _refuse_several_lists(read, roles, table)
    refuse_fillers(table, "rankings")
    kind = result_kind(read, roles)
    return table if kind is POLARS else replace(table, origin=replace(table.origin, kind=kind))


def rankings_from_columns(read: Columns, roles: Mapping[str, str], bad_scores: BadScores) -> Table:
    """Check the columns that have a role, like `read_rankings`."""
    unused = find_second_order(read, roles)
    extra = [] if unused is None else [unused]
    roles = {role: name for role, name in roles.items() if role != "score" or "rank" not in roles}
    frame, empty, counts = _check_columns(read, roles, "rankings", extra)
    if "rank" in roles:
        check_ranks(frame["rank"], read.source, rounded=counts["rounded_ranks"])
        rows, orders = InFrame(frame if unused is None else frame.drop(unused)), NO_PAIRS
        if unused is not None:
            orders = compare_orders(rows.users, frame["rank"], frame[unused])
            counts.update(count_by_rank(orders, frame.height))
        if not orders.whole:
            _refuse_several_lists_by_rank(read, roles, rows)
        table = _make_table(rows, "rank", empty, read, counts)
        return replace(table, origin=replace(table.origin, whole_ranks=orders.whole))
    if unused is not None:
        counts += count_by_score(compare_orders(frame["user"], frame[unused], frame["score"]))
        frame = frame.drop(unused)
    if "score" in frame.columns:
        frame, empty = _resolve_missing_scores(frame, empty, bad_scores, read.source, counts)
        return _make_table(InFrame(frame), "score", empty, read, counts)
    return _make_table(InFrame(frame), "list", empty, read, counts)


def _refuse_several_lists(read: Columns, roles: Mapping[str, str], table: Table) -> None:
    """Refuse a table with a column of runs, of which a user has several.

    Ranks that are 1, 2, 3 … for every user are those of one list.
    """
    names = names_of_runs(read, roles)
    if names and table.order == "rank" and _are_of_one_list(table.frame):
        return
    for name in names:
        columns = read.fetch([roles["user"], name, roles["item"]])
        named = zip(("user", "part", "item"), columns.values(), strict=True)
        rows = pl.DataFrame([_hashable(column).alias(role) for role, column in named])
        if rows["part"].n_unique() > 1:
            refuse_lists_apart([rows], name, read.source)


def _refuse_several_lists_by_rank(read: Columns, roles: Mapping[str, str], rows: InFrame) -> None:
    """Refuse ranks that begin several times for a user, if a further column tells these apart."""
    others = [
        name
        for name in read.names
        if name not in roles.values() and normalize_name(name) not in SYNONYMS["score"]
    ]
    if read.roles is not None or not others or not rows:
        return
    frame = rows.frame()
    if not compare_with_sizes(rows.users, frame["rank"])[0]:
        return
    last, n = pl.col("rank").max(), pl.len().alias("n")
    for name in others:
        part = _hashable(read.fetch([name])[name]).alias("part")
        if len(part) != frame.height:
            return
        parts = frame.with_columns(part).group_by("user", "part").agg(last, n)
        if parts["user"].is_duplicated().any() and (parts["rank"] == parts["n"]).all():
            refuse_lists_apart([frame.with_columns(part)], name, read.source)


def _are_of_one_list(frame: pl.DataFrame) -> bool:
    lists = frame.group_by("user").agg(pl.col("rank").max(), pl.col("rank").n_unique().alias("n"))
    return lists["n"].sum() == frame.height and bool((lists["rank"] == lists["n"]).all())


def _hashable(column: Column) -> pl.Series:
    """Column as it is, or as text if it holds Python objects or lists."""
    if isinstance(column, pl.Series) and not column.dtype.is_nested():
        return column
    return pl.Series(map(str, column), dtype=pl.String)


def refuse_lists_apart(pieces: Iterable[pl.DataFrame], name: str, source: str) -> None:
    """Refuse users that have rows of several parts, unless these are facts about items.

    The `pieces` have the columns user, part and item, and are looked at one after the other.
    """
    n_rows, of_user, of_item = 0, pl.DataFrame(), pl.DataFrame()
    for rows in pieces:
        n_rows += rows.height
        of_user = pl.concat([of_user, rows.select("user", "part")], how="diagonal").unique()
        of_item = pl.concat([of_item, rows.select("item", "part")], how="diagonal").unique()
    is_fact = of_item.height < n_rows and not of_item["item"].is_duplicated().any()
    if is_fact and normalize_name(name) in FACTS_OR_RUNS:
        return
    several = of_user.filter(pl.col("user").is_duplicated())
    if not several.height:
        return
    user = several["user"].min()
    found = several.filter(pl.col("user") == user)["part"].sort()
    raise ColumnError(
        f"{source} has several lists of one user, which the column {name!r} tells apart: user "
        f"{brief(user)} has {format_few(found)}. Evaluate one at a time, for example the rows "
        f"whose {name!r} is {brief(found[0])}; or compare them: rm.compare({{name: rows, …}}, "
        f"truth). If it is a fact about the items, drop the column."
    )


def find_second_order(read: Columns, roles: Mapping[str, str]) -> str | None:
    """Find the column that says the order once more: scores with ranks, or ranks in TREC runs."""
    if "rank" in roles:
        return roles.get("score")
    is_run = read.roles is not None or is_trec_run(roles)
    return "rank" if is_run and "score" in roles and "rank" in read.names else None


def read_truth(
    data: object, *, columns: Mapping[str, str] | None = None, relevant: str = ""
) -> Table:
    """Read relevance judgments of any accepted form; `columns` is role → name.

    A judgment without a gain has the gain 1; these are counted as ``assumed_gains``. Where there is
    no gain but another column that may say what is relevant, such as numbers or kinds of events, it
    is an error, unless `columns` says that no column is the gain (None), or `relevant` is ``any``.
    If `relevant` is a word, that of the gain's column or of the only column that has it, its rows
    have the gain 1 and all others 0; an item is relevant if any of its rows is.
    """
    read = read_columns(data, "truth", columns)
    roles = resolve_roles(read, "truth", columns)
    if relevant not in ("", "any"):
        table = _judgments_by_word(read, roles, relevant)
    elif read.lists is not None and not is_named(columns, "gain"):
        table = _judgments_from_lists(read, read.lists)
    else:
        if not is_named(columns, "gain"):
            refuse_parts_of_a_split(read, roles.values())
            if "gain" not in roles and relevant != "any":
                certain = [name for role, name in roles.items() if role != "subtopic"]
                refuse_unused_numbers(read, "truth", certain)
        table = judgments_from_columns(read, roles)
    refuse_fillers(table, "ground truth")
    return table


def judgments_from_columns(read: Columns, roles: Mapping[str, str]) -> Table:
    """Check the columns that have a role, like `read_truth`."""
    frame, empty, counts = _check_columns(read, roles, "truth")
    if "gain" in frame.columns:
        check_gains(frame["gain"].to_numpy(), read.source)
    else:
        frame = frame.with_columns(gain=pl.lit(1.0))
        counts["assumed_gains"] = frame.height
    return _make_table(InFrame(frame), "list", empty, read, counts)


def _judgments_by_word(read: Columns, roles: Mapping[str, str], word: str) -> Table:
    """Create judgments whose gain is 1 where a column has a word and 0 elsewhere."""
    by_role = {role: name for role, name in roles.items() if role not in ("gain", "subtopic")}
    names = [roles["gain"]] if "gain" in roles else [*read.names] if read.roles is None else []
    names = [name for name in dict.fromkeys(names) if name not in by_role.values()]
    columns = read.fetch([*by_role.values(), *names])
    words = {name: counts for name in names if (counts := count_words(columns[name]))}
    having = [name for name in words if word in words[name]]
    if len(having) != 1:
        seen = "; ".join(f"{brief(name)} has {format_few(words[name])}" for name in words)
        found = (
            f"it is in {format_few(having)}: name one, columns={{'gain': {brief(having[0])}}}"
            if having
            else f"no row has it{f': {seen}' if seen else ', as there is no column of words'}"
        )
        raise UsageError(
            f"{RELEVANT_FORMS}, or a word of the ground truth ({read.source}), got {brief(word)}; "
            f"{found}",
            option="relevant",
        )
    gains = [int(value == word) for value in columns[having[0]]]
    column = pl.Series(gains, dtype=pl.Int64)
    chosen = {**columns, having[0]: column.cast(pl.String) if read.untyped else column}
    read = replace(read, fetch=lambda names: {name: chosen[name] for name in names})
    frame, empty, counts = _check_columns(read, {**by_role, "gain": having[0]}, "truth")
    frame = frame.group_by("user", "item", maintain_order=True).agg(pl.col("gain").max())
    table = _make_table(InFrame(frame), "list", empty, read, counts)
    return replace(table, origin=replace(table.origin, chosen=f"{having[0]} {word}"))


@dataclass(frozen=True, eq=False)
class Interactions:
    """Interactions (`frame`, as from `read_interactions`), and their column names in the input.

    `roles` is role → name of the column, and `names` all columns in the order of the input, where
    it has its own names. `kind` is that of frames made of them, and `pandas` the frame of pandas
    that has the same rows.
    """

    frame: pl.DataFrame
    roles: Mapping[str, str]
    names: Sequence[str]
    source: str = "interactions"
    textual: bool = False
    kind: Kind = POLARS
    pandas: Any = None

    @classmethod
    def read(cls, data: object, *, columns: Mapping[str, str] | None = None) -> Interactions:
        """Read any form, like `read_interactions`; return an `Interactions` unchanged."""
        if isinstance(data, cls):
            return data
        table = read_columns(data, "interactions", columns)
        roles = resolve_roles(table, "interactions", columns)
        extra = [name for name in table.names if name not in roles.values()]
        unsaid = "time" not in roles and not is_named(columns, "time")
        if unsaid and (time := find_time(table, extra)) is not None:
            roles["time"] = time
            extra.remove(time)
        names = Counter([*roles, *extra])
        if repeated := [name for name, n in names.items() if n > 1]:
            raise ColumnError(
                f"{table.source} would have two columns called {brief(repeated[0])}: "
                f"{format_few(table.names, 12)}, of which {format_few(roles.items(), 4)} are named "
                f"after their roles. Rename one of the two."
            )
        frame, _, _ = _check_columns(table, roles, "interactions", extra)
        renamed, order = (roles, table.names) if table.roles is None else ({}, frame.columns)
        nested = table.roles is not None or roles["item"] in table.nested
        pandas = None if nested else table.pandas
        kind = frame_kind(table, roles)
        return cls(frame, renamed, order, table.source, table.textual, kind, pandas)

    def to_input_kind(self, part: pl.DataFrame, indices: npt.NDArray[np.intp]) -> Frame:
        """Return the rows `part`, at `indices` of the frame, in the frame type of the input."""
        return self.kind.convert_frame(part) if self.pandas is None else self.pandas.take(indices)

    def restore_input_columns(self, part: pl.DataFrame) -> pl.DataFrame:
        """Rename and order the columns of the rows `part` as in the input."""
        return part.rename(dict(self.roles)).select(self.names)


def read_interactions(data: object, *, columns: Mapping[str, str] | None = None) -> pl.DataFrame:
    """Read interactions: ``user``, ``item`` and, if present, ``rating`` (Float64) and ``time``.

    The only column of dates is the time, unless its name says that it is of the user or the item.
    Every other column follows unchanged, in the order of the input. Rows keep their order. Takes
    any form that `read_truth` takes, and `Interactions`.
    """
    return Interactions.read(data, columns=columns).frame


def _check_columns(
    read: Columns, roles: Mapping[str, str], side: Side, extra: Sequence[str] = ()
) -> tuple[pl.DataFrame, Ids, Counter[str]]:
    """Check the columns; return a frame by role or name, users without rows, and counts.

    All columns are fetched at once, because a query may order its rows differently each time.
    """
    roles, columns = dict(roles), read.fetch([*roles.values(), *extra])
    name = roles["item"]
    if read.roles is None and (name in read.nested or holds_lists(columns[name])):
        from rankmeter._reading.values import flatten_list_columns

        roles.pop("subtopic", None)
        read, columns, roles = flatten_list_columns(read, columns, roles, side)
    elif read.roles is None and (
        lists := describe_lists(name, columns[name], columns[roles["user"]])
    ):
        raise ColumnError(f"{read.source} has lists of items. {lists}")
    counts = Counter(read.counts)
    source, untyped, textual = read.source, read.untyped, read.textual
    listed = read.roles is not None and roles.keys() == {"user", "item"}
    todo = hint_to_pass_ids(side) if listed else ""
    column = columns[roles["item"]]
    items = to_ids(column, "item", source, counts, untyped=untyped, otherwise=todo)
    # Typed together, so that no user with an empty list can be of another type than the rest.
    everyone = read.append_empty_users(columns[roles["user"]])
    users = to_ids(everyone, "user", source, counts, untyped=untyped)
    if len(users) == 0:
        raise no_rows_error(source)
    if listed and side != "interactions":
        refuse_labels(users.slice(0, len(items)), items, side, source)
    counts["rows"] = len(items)
    values: list[pl.Series] = []
    for role in roles.keys() - {"user", "item", "time", "subtopic"}:
        column = columns[roles[role]]
        values += [to_numbers(column, role, source, counts, untyped=untyped, textual=textual)]
    if "subtopic" in roles:
        values += _subtopics_from_column(columns[roles["subtopic"]], untyped=untyped)
    for name in (["time"] if "time" in roles else []) + list(extra):
        values += [to_typed_series(columns[roles.get(name, name)], name, untyped=untyped)]
    frame = pl.DataFrame([users.slice(0, len(items)), items, *values])
    return frame, IdSeries(users.slice(len(items))), counts


def _subtopics_from_column(column: Column, *, untyped: bool) -> list[pl.Series]:
    """Convert subtopics to text; [] if the column has other types or a single value."""
    values = to_typed_series(column, "subtopic", untyped=untyped)
    if values.dtype.is_integer() or values.dtype in (pl.String, pl.Categorical, pl.Enum):
        return [values.cast(pl.String)] if values.n_unique() > 1 else []
    return []


def _judgments_from_lists(read: Columns, lists: ByUser) -> Table:
    """Create a table of judgments from checked lists; only the gains need a check."""
    counts = Counter({**read.counts, "rows": len(lists)})
    if lists.numbers is None:
        counts["assumed_gains"] = len(lists)
    else:
        check_gains(lists.numbers, read.source)
    return _make_table(lists.as_judgments(), "list", lists.empty_users, read, counts)


def _rankings_from_lists(read: Columns, lists: ByUser) -> Table:
    """Create a table of rankings from checked lists."""
    counts = Counter({**read.counts, "rows": len(lists)})
    if lists.numbers is not None:
        counts["infinite_scores"] = int(np.isinf(lists.numbers).sum())
    return _make_table(lists, lists.order, lists.empty_users, read, counts)


def _make_table(
    rows: AnyRows,
    order: Literal["score", "rank", "list"],
    empty_users: Ids,
    read: Columns,
    counts: Counter[str],
) -> Table:
    nonzero_counts = {"rows": counts["rows"], **+counts}
    words = vocabulary_of(read)
    origin = Origin(
        read.source,
        read.textual,
        nonzero_counts,
        read.shape,
        trimmed=read.trimmed,
        words=words,
        index=read.index,
        may_be_table=read.may_be_table,
        is_ordered=read.is_ordered and (read.roles is not None or bool(read.nested)),
    )
    return Table(rows, order, empty_users, origin)


def _resolve_missing_scores(
    frame: pl.DataFrame, empty: Ids, bad_scores: BadScores, source: str, counts: Counter[str]
) -> tuple[pl.DataFrame, Ids]:
    """Resolve missing scores and count infinite scores; users without rows are added to `empty`."""
    scores = frame["score"]
    counts["infinite_scores"] = int(scores.is_infinite().sum())
    missing = scores.null_count()
    if missing == 0:
        return frame, empty
    bad = frame.filter(scores.is_null())
    if bad_scores == "error":
        location = f"; first at {format_row_numbers(scores.is_null().arg_true())}"
        raise missing_scores_error(missing, frame.height, source, bad.head(3).rows(), location)
    if bad_scores == "worst":
        counts["worst_scores"] = missing
        return frame.with_columns(pl.col("score").fill_null(float("-inf"))), empty
    counts["dropped_scores"] = missing
    ranked = frame.filter(scores.is_not_null())
    emptied = bad.join(ranked, on="user", how="anti")["user"].unique(maintain_order=True)
    return ranked, IdSeries(pl.concat([empty.to_series(), emptied]))
