"""Rankings or relevance judgments in canonical form."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, Literal, TypeAlias

import polars as pl

from rankmeter._evidence.hits import FloatArray, IntArray
from rankmeter._reading.by_user import (
    AnyRows,
    Ids,
    IdSeries,
    IdType,
    InFrame,
    Objects,
    count_distinct,
)
from rankmeter.errors import (
    DataError,
    FileFormatError,
    IdTypeError,
    InvalidValueError,
    MissingDependencyError,
)
from rankmeter.errors._checks import USERS, Words, brief, counted, exact_text

Frame: TypeAlias = "pl.DataFrame"
"""A frame: one of pandas where the data came in one, which type checkers take as one of Polars."""


@dataclass(frozen=True)
class Kind:
    """Kind of frame: Polars, or pandas with the names and types of users and items in the input."""

    is_pandas: bool = False
    names: Mapping[str, Hashable] = field(default_factory=dict)  # role → label of the column
    types: Mapping[str, Any] = field(default_factory=dict)  # role → type of the column

    def convert_frame(self, frame: pl.DataFrame) -> Frame:
        """Convert a frame to this kind; any columns ``user`` and ``item`` get their input names.

        Ids keep their type if the input type cannot hold all of them. No column is renamed if
        a name is taken by another column.
        """
        if not self.is_pandas:
            return frame
        result: Any = to_pandas(frame)
        columns = set(frame.columns)
        for role in self.types.keys() & columns:
            result[role] = _cast_losslessly(result[role], self.types[role])
        names = {role: name for role, name in self.names.items() if role in columns}
        other_columns = columns - names.keys()
        renamed: pl.DataFrame = result
        return renamed if other_columns & set(names.values()) else result.rename(columns=names)


POLARS = Kind()
"""The kind of all that came neither from pandas nor from Spark."""


def to_pandas(frame: pl.DataFrame, needed_by: str = "a frame of") -> Any:
    """Convert a frame to pandas, without pyarrow.

    Raises
    ------
    MissingDependencyError
        If pandas is not installed.
    """
    try:
        import pandas as pd
    except ImportError:
        raise MissingDependencyError(
            f"{needed_by} pandas: pip install 'rankmeter[pandas]'"
        ) from None
    plain = (pl.Float64, pl.Int64)
    return pd.DataFrame(
        {ids.name: ids.to_numpy() if ids.dtype in plain else ids.to_list() for ids in frame}
    )


def _cast_losslessly(ids: Any, dtype: Any) -> Any:
    """Cast a pandas column to a type that holds all values; else return the column."""
    categories = getattr(dtype, "categories", None)
    if ids.dtype == dtype or not (categories is None or ids.isin(categories).all()):
        return ids
    try:
        typed = ids.astype(dtype)
    except (TypeError, ValueError, OverflowError, NotImplementedError):
        return ids
    return typed if typed.tolist() == ids.tolist() else ids


def polars_errors() -> tuple[type[Exception], type[BaseException], type[OSError]]:
    """Exception types of Polars for damaged data; a panic of Rust is not an `Exception`."""
    return pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError


@contextmanager
def translate_file_errors(path: Path | str) -> Iterator[None]:
    """Turn an operating system error for a file into an error that names the file."""
    try:
        yield
    except OSError as error:
        raise FileFormatError(f"{path} cannot be read: {error.strerror or error}.") from error


def short_message(error: object) -> str:
    """First line of another package's message, at most 200 characters."""
    line = str(error).strip().partition("\n")[0]
    return line if len(line) <= 200 else f"{line[:199]}…"


def format_few(values: Iterable[object], n: int = 3) -> str:
    """Format the first values as a comma-separated list."""
    first = [brief(value) for value in islice(iter(values), n + 1)]
    return ", ".join(first[:n]) + (", …" if len(first) > n else "")


def format_row_numbers(indices: Iterable[int], n: int = 3) -> str:
    """Format the first row numbers in words, counted from 1."""
    first = [str(index + 1) for index in islice(iter(indices), n + 1)]
    word = "row" if len(first) == 1 else "rows"
    return f"{word} {', '.join(first[:n])}{', …' if len(first) > n else ''} (the first row is 1)"


def refuse_values(
    wrong: pl.Series,
    noun: str,
    source: str,
    problem: str,
    remedy: str,
    *,
    values: pl.Series | None = None,
    error: type[DataError] = InvalidValueError,
) -> None:
    """Raise an error that counts and names the values where the mask `wrong` is true."""
    bad_rows = wrong.arg_true()
    if len(bad_rows):
        example = "" if values is None else f", for example {brief(values[int(bad_rows[0])])}"
        raise error(
            f"{len(bad_rows)} of {len(wrong)} {noun} of {source} are {problem}{example}, first at "
            f"{format_row_numbers(bad_rows)}. {remedy}"
        )


OriginShape: TypeAlias = Literal["flat", "pairs", "rows", "index", ""]
"""How users are named.

Not at all: one flat list or one flat ``{item: number}`` (pairs), which is user 0, or one list per
user (rows). By the index of a series; or, where it is empty, by a column or a key.
"""

_Type: TypeAlias = "pl.DataType | type[pl.DataType]"


@dataclass(frozen=True)
class Origin:
    """Origin of a table: the source, with counts and cautions from reading.

    Of `counts` only ``rows`` is always there, the others if they are not zero: ``float_user_ids``,
    ``float_item_ids`` (integers that came as floats), ``infinite_scores``, ``worst_scores``,
    ``dropped_scores``, ``rounded_scores``, ``rounded_gains`` (integers that no float64 holds
    exactly), ``scores_beside_ranks`` (not used, because the input also has ranks),
    ``scores_against_ranks`` (higher than the score at the next better rank of the user; in
    ``rows_compared_with_ranks`` rows if not in all), ``ranks_against_scores`` (the same where the
    score decides) and ``ranks_of_tied_scores`` (pairs of one score, with different ranks),
    ``assumed_gains`` (judgments without a gain, taken as 1), ``masked_cells`` (padding of arrays).
    """

    source: str = "rankings"  # for messages: "pandas DataFrame", "runs/bpr.csv"
    textual: bool = False  # ids were read from text, so that "7" and 7 may be the same id
    counts: dict[str, int] = field(default_factory=dict)  # rows read, dropped or converted
    shape: OriginShape = ""
    cautions: tuple[str, ...] = ()  # reasons to doubt that the data are what was meant
    trimmed: bool = False  # no id has white space at its ends
    engine: str = ""  # how the data are read if they are, or seem, too large for memory
    words: Words = USERS  # what the names of its columns call users and items
    kind: Kind = POLARS  # that of the frames that are returned
    index: frozenset[str] = frozenset()  # of a search engine, in which the documents are
    may_be_table: frozenset[str] = frozenset()  # the columns, if a table would look the same
    is_ordered: bool = False  # whether the items of a user have an order besides their scores
    whole_ranks: bool = False  # whether ranks are known to be 1, 2, 3 … for each user
    chosen: str = ""  # of a truth: the column and the word that say what is relevant
    collapsed: str = ""  # how items were grouped, if they were parts of others


@dataclass(frozen=True)
class Table:
    """Rankings or relevance judgments in canonical form.

    `frame` has ``user`` and ``item`` without nulls, of type Int64, UInt64 or String; rankings have
    ``score`` or ``rank`` (Float64) if that is what `order` names, judgments ``gain`` (Float64), and
    ``subtopic`` (String, with nulls) if they are judgments by subtopic.
    Rows keep the order of the input, which is the ranking if `order` is ``"list"``. `empty_users`,
    named without any item, are of the type of ``user``.

    `rows` are in a frame, or lists that only become one where it is needed. Rankings that do not
    fit into memory are in pieces or in Spark, and `rows` are examples with the types of all. Once
    the rows with judged items are found, these are the `rows`, with a ``number`` that says their
    place among all rows, and `empty_users` names the users of all.
    """

    rows: AnyRows
    order: Literal["score", "rank", "list"] = "score"
    empty_users: Ids = field(default_factory=lambda: Objects([], "Int64"))
    origin: Origin = field(default_factory=Origin)

    @cached_property
    def frame(self) -> pl.DataFrame:
        """Rows as a frame, one for each item of a user."""
        return self.rows.frame()

    def with_rows(self, frame: pl.DataFrame) -> Table:
        """Replace the rows by a frame in memory."""
        return replace(self, rows=InFrame(frame))

    @property
    def height(self) -> int:
        """Number of rows."""
        return len(self.rows)

    @cached_property
    def users(self) -> Ids:
        """Users of the rows, each at least once."""
        return self.rows.users

    @property
    def scores(self) -> FloatArray:
        """Scores of rankings whose order is ``"score"``."""
        return self.rows.column_numbers("score")

    @property
    def gains(self) -> FloatArray:
        """Gains of judgments."""
        return self.rows.column_numbers("gain")

    def id_type(self, role: str) -> IdType:
        """Name of the id type of a role."""
        return self.users.type if role == "user" else self.rows.item_type

    def id_dtype(self, role: str) -> pl.DataType:
        """Polars type of the ids of a role."""
        return _polars_type(self.id_type(role))

    def select_rows(self, indices: IntArray, empty: IntArray) -> Table:
        """Select rows and empty users by index; consecutive rows are not copied."""
        return replace(
            self, rows=self.rows.select_by_index(indices), empty_users=self.empty_users.take(empty)
        )

    def rows_of_user(self, user: object) -> Table:
        """Select the rows of one user."""
        return self._rows_where(lambda ids: ids == user)

    def rows_of_users(self, users: pl.Series) -> Table:
        """Select the rows of some users."""
        return self._rows_where(lambda ids: ids.is_in(users.implode()))

    def _rows_where(self, mask: Callable[[pl.Series], pl.Series]) -> Table:
        columns = (self.users, self.empty_users)
        return self.select_rows(*(mask(ids.to_series()).arg_true().to_numpy() for ids in columns))

    @property
    def has_subtopics(self) -> bool:
        """Whether the table has judgments by subtopic."""
        return self.rows.in_memory and not self.rows.is_index and "subtopic" in self.frame.columns

    @property
    def source(self) -> str:
        """Source of the data, for messages."""
        return self.origin.source

    @property
    def textual(self) -> bool:
        """Whether the ids were read from text."""
        return self.origin.textual

    def with_caution(self, caution: str) -> Table:
        """Add a caution, unless empty."""
        if not caution:
            return self
        return replace(self, origin=replace(self.origin, cautions=(*self.origin.cautions, caution)))

    @property
    def counts(self) -> dict[str, int]:
        """Counts of rows read, dropped or converted."""
        return self.origin.counts


def make_empty_truth(rankings: Table) -> Table:
    """Create an empty ground truth, for metrics that need no judgments."""
    types = rankings.id_dtype("user"), rankings.id_dtype("item"), pl.Float64()
    schema = dict(zip(("user", "item", "gain"), types, strict=True))
    users = Objects([], rankings.id_type("user"))
    return Table(InFrame(pl.DataFrame(schema=schema)), "list", users, Origin("no ground truth"))


def _polars_type(kind: IdType) -> pl.DataType:
    """Polars type with the name `kind`."""
    dtype: pl.DataType = getattr(pl, kind)()
    return dtype


def integers_from_text(text: pl.Series) -> pl.Series | None:
    """Convert text to integers; None if the text of any integer would change.

    So ``"7"`` is an integer, and ``"007"``, ``"+7"``, ``" 7"`` and ``"-0"`` are names.
    """
    return None if _mask_of_changed_texts(text, pl.Int64).any() else text.cast(pl.Int64)


def _mask_of_changed_texts(text: pl.Series, dtype: _Type) -> pl.Series:
    """Mask of the texts that differ from their integer converted back to text."""
    return text.cast(dtype, strict=False).cast(pl.String).ne_missing(text)


def unify_id_types(rankings: Table, truth: Table) -> tuple[Table, Table]:
    """Give both tables the same types of user and of item; neither input is changed.

    Text has no types, so ids that were read from text take the type of the other side where that
    loses nothing; other ids are never converted between integer and string.

    1. Both sides from text: the integers become strings.
    2. One side from text and of strings, the other of integers: the text is read as integers if
       every id of the column is an integer in its shortest form.
    3. One side from text and of integers, the other of strings: the integers become strings.
    4. Int64 and UInt64 meet as UInt64 if no id is negative.
    5. A side without any id takes the type of the other.

    Where none of these applies, `IdTypeError` is raised; `DataError` where one side is flat, so of
    one user, and the other side has other users. White space at the ends of an id is part of it;
    where an id read from text matches only without it, `InvalidValueError` is raised.
    """
    if len(truth.users) or len(truth.empty_users):  # which may be left out
        _refuse_flat_beside_users(rankings, truth)
        _refuse_positions_beside_others(rankings, truth)
    for role in ("user", "item"):
        kind = _common_id_type(role, rankings, truth)
        rankings, truth = _cast_ids(rankings, role, kind), _cast_ids(truth, role, kind)
        _refuse_stray_blanks(role, rankings, truth)
    return rankings, truth


def unify_all_id_types(
    truth: Table, systems: Mapping[str, Table]
) -> tuple[Table, dict[str, Table]]:
    """Give the truth and the rankings of every system the same types of user and of item.

    As `unify_id_types`; `IdTypeError` also if ids of one system cannot have the types that another
    one needs.
    """
    if len(systems) == 1:
        ((name, table),) = systems.items()
        table, truth = unify_id_types(table, truth)
        return truth, {name: table}
    for table in systems.values():
        truth = unify_id_types(table, truth)[1]
    met = {}
    for name, table in systems.items():
        met[name], unified = unify_id_types(table, truth)
        for role in ("user", "item"):
            now, needed = unified.id_type(role), truth.id_type(role)
            if now != needed:
                raise IdTypeError(
                    f"The {role} ids of {name} ({table.source}) are {now} and those of another "
                    f"system make them {needed}. Give all systems ids of one type."
                )
    return truth, met


def _refuse_flat_beside_users(rankings: Table, truth: Table) -> None:
    """Refuse flat items next to several users: the items would be read as those of user 0 alone."""
    sides = [("rankings", rankings), ("truth", truth)]
    for (flat, single), (other_side, many) in (sides, sides[::-1]):
        if single.origin.shape not in _FLAT or many.origin.shape in _FLAT:
            continue
        users = _all_ids(many, "user").unique(maintain_order=True)
        items = single.frame["item"]
        only = users.to_list() in ([0], ["0"])
        if only and not (single.origin.shape == "pairs" and items.to_list() == users.to_list()):
            continue
        raise DataError(
            f"The {flat} side ({single.source}) is a flat collection of "
            f"{counted(len(items), 'item')}, so it can only belong to one user, but the "
            f"{other_side} side ({many.source}) has {counted(len(users), 'user')}"
            f"{', a list for each' if many.origin.shape == 'rows' else f': {format_few(users)}'}. "
            f"{_both_meanings_hint(single, users[0], rows=many.origin.shape == 'rows')}"
        )


_FLAT = ("flat", "pairs")


def _refuse_positions_beside_others(rankings: Table, truth: Table) -> None:
    """Refuse lists by position next to other numbers of lists, or users other than 0, 1, 2."""
    sides = [("rankings", rankings), ("truth", truth)]
    if all(t.origin.shape == "rows" and t.rows.is_index for _, t in sides) and (
        len({len(t.users) + len(t.empty_users) for _, t in sides}) == 1
    ):
        return  # as many lists, which are those of the same positions
    for (side, table), (other_side, other) in (sides, sides[::-1]):
        if table.origin.shape != "rows" or other.origin.shape in _FLAT or not other.rows.in_memory:
            continue
        n = count_distinct(_all_ids(table, "user"))
        users = [*dict.fromkeys(_all_ids(other, "user").to_list())]
        if len(users) == n and (other.origin.shape == "rows" or _are_positions(users, other)):
            continue
        if other.origin.shape == "rows":
            problem = f"has {counted(len(users), 'list')}, so which list is missing is not known"
        else:
            problem = f"names {counted(len(users), 'user')}: {format_few(users)}"
        are_numbers = {*map(str, users)} <= {*map(str, range(n))}
        if table.source == "Scores":
            remedy = f"rm.Scores(matrix, users={f'range({n})' if are_numbers else 'ids'})"
        else:
            lists = "enumerate(lists)" if are_numbers else "zip(users, lists, strict=True)"
            remedy = f"dict({lists})"
        raise DataError(
            f"The {side} side ({table.source}) has no names of users, so its "
            f"{counted(n, 'list')} are those of users 0 to {n - 1}. The {other_side} side "
            f"({other.source}) {problem}. Name the users: {remedy}."
        )


def _are_positions(users: Sequence[object], table: Table) -> bool:
    """Whether different users are 0, 1, 2 …: by an index in this order, by others in any."""
    if table.origin.shape == "index" and not (
        table.users.to_series().is_sorted() and table.empty_users.to_series().is_sorted()
    ):
        return False
    texts = {*map(str, users)}
    return all(str(row) in texts for row in range(len(users)))


def _both_meanings_hint(flat: Table, user: object, *, rows: bool) -> str:
    """Build a hint with both possible meanings of a flat list or mapping."""
    frame = flat.frame.head(3)
    ellipsis = ", …" if len(flat.frame) > len(frame) else ""
    items = list(map(brief, frame["item"]))
    lists = ", ".join(f"[{item}]" for item in items)
    if flat.origin.shape == "pairs":
        numbers = frame.to_series(2).to_list()
        pairs = list(zip(items, map(exact_text, numbers), strict=True))
        mapping = ", ".join(f"{item}: {number}" for item, number in pairs)
        advice = f"If these are items with their numbers, name their user: {{{brief(user)}: "
        advice += f"{{{mapping}{ellipsis}}}}}"
        if not all(map(float.is_integer, numbers)):
            return f"{advice}."
        lists_by_user = ", ".join(f"{item}: [{number}]" for item, number in pairs)
        return f"If it is one item for each user, write {{{lists_by_user}{ellipsis}}}. {advice}."
    if rows:
        return (
            f"If each user has one item, write [{lists}{ellipsis}]; if all are of the first user, "
            f"write a list for each of the others too."
        )
    lists_by_user = f"{{{brief(user)}: [{items[0]}]{ellipsis}}}" if items else "{user: [item]}"
    return (
        f"If each user has one item, write {lists_by_user}; if all are of one user, name the user: "
        f"{{{brief(user)}: [{', '.join(items)}{ellipsis}]}}."
    )


def _common_id_type(role: str, rankings: Table, truth: Table) -> IdType:
    """Determine the type for the ids of both sides."""
    types = rankings.id_type(role), truth.id_type(role)
    if types[0] == types[1]:
        return types[0]
    ranked, judged = _all_ids(rankings, role), _all_ids(truth, role)
    if len(judged) == 0:
        return types[0]
    if len(ranked) == 0:
        return types[1]
    sides = [(ranked, rankings), (judged, truth)]
    if "String" not in types:
        for ids, table in sides:
            if isinstance(lowest := ids.min(), int) and lowest < 0:
                raise IdTypeError(
                    f"The {role} ids cannot be compared: one side has integers beyond "
                    f"9223372036854775807 and {table.source} has negative ones ({lowest}), and no "
                    f"64-bit type holds both. Cast the {role} ids of both sides to strings."
                )
        return "UInt64"
    (text, text_table), (numbers, number_table) = (
        sides if ranked.dtype == pl.String else sides[::-1]
    )
    if number_table.textual:
        return "String"
    if text_table.textual and not _mask_of_changed_texts(text, numbers.dtype).any():
        return number_table.id_type(role)
    raise _unmatchable_ids_error(role, rankings, ranked, truth, judged)


def _refuse_stray_blanks(role: str, rankings: Table, truth: Table) -> None:
    """Refuse ids that match the other side only without white space at the ends.

    Otherwise white space is part of an id. It is accidental only in ids that were read from text.
    """
    sides = ((rankings, truth), (truth, rankings))
    for table, other in sides:
        if table.origin.trimmed or not table.textual or table.id_type(role) != "String":
            continue
        ids = _all_ids(table, role)
        blank = ids.filter(ids.str.contains(r"^\s|\s$")).unique(maintain_order=True)
        if len(blank) == 0:
            continue
        other_ids = _all_ids(other, role)
        bare = other_ids.str.strip_chars()
        stray = blank.filter(
            ~blank.is_in(other_ids.implode()) & blank.str.strip_chars().is_in(bare.implode())
        )
        if len(stray):
            raise InvalidValueError(
                f"{counted(len(stray), f'{role} id')} of {table.source} would match those of "
                f"{other.source} only without the white space at their ends, for example "
                f"{format_few(stray)}. Remove the white space from the file."
            )


def _all_ids(table: Table, role: str) -> pl.Series:
    """All ids of a role: ids of the rows, then of the users without items."""
    if role == "item":
        return table.frame[role]
    columns = table.users.to_series(), table.empty_users.to_series()
    return pl.concat(columns) if len(table.empty_users) else columns[0]


def _cast_ids(table: Table, role: str, kind: IdType) -> Table:
    if role == "user" and table.empty_users.type != kind:
        empty = table.empty_users.to_series().cast(_polars_type(kind))
        table = replace(table, empty_users=IdSeries(empty))
    if table.id_type(role) != kind:
        table = replace(table, rows=table.rows.cast_ids(role, _polars_type(kind)))
    return table


def _unmatchable_ids_error(
    role: str, rankings: Table, ranked: pl.Series, truth: Table, judged: pl.Series
) -> IdTypeError:
    sides = (
        f"The rankings ({rankings.source}) have {_id_type_word(ranked)} {role} ids: "
        f"{format_few(ranked)}. The truth ({truth.source}) has {_id_type_word(judged)} {role} ids: "
        f"{format_few(judged)}."
    )
    for ids, other, table in ((ranked, judged, rankings), (judged, ranked, truth)):
        if table.textual and ids.dtype == pl.String:
            names = ids.filter(_mask_of_changed_texts(ids, other.dtype)).unique(maintain_order=True)
            sides += f" In {table.source} these are not written as integers: {format_few(names)}."
    return IdTypeError(
        f"The {role} ids of the two sides have different types and would never match. {sides} "
        f"Convert one side, for example with polars: frame.with_columns(pl.col({role!r})"
        f".cast(pl.String))."
    )


def _id_type_word(ids: pl.Series) -> str:
    return "string" if ids.dtype == pl.String else "integer"
