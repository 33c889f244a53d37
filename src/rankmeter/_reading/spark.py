"""Rankings in a Spark DataFrame stay there: a query for their canonical form.

It has built-in expressions only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import polars as pl

from rankmeter._reading.by_user import IdSeries
from rankmeter._reading.columns import Columns, resolve_roles
from rankmeter._reading.forms import broadcast, collect_rows, expression, kind_in_spark, quoted
from rankmeter._reading.frames import describe_type, from_polars
from rankmeter._reading.numbers import rank_conflicts
from rankmeter._reading.pieces import InSpark
from rankmeter._reading.read import BadScores, rankings_of
from rankmeter._reading.table import Origin, Table, some
from rankmeter.errors import ColumnError, DataError, IdTypeError, InvalidValueError
from rankmeter.errors._checks import shown

_EXAMPLES = 1000  # rows
_SHORT = frozenset({"tinyint", "smallint", "int"})
_WHOLE = _SHORT | {"bigint"}
_EXACT = {"float": 2**24, "double": 2**53}  # up to where a type has every integer


class _Role(NamedTuple):
    """A column in canonical form."""

    sql: str  # null where the column has no id, or no number
    dtype: Any  # of Polars
    inexact: str = ""  # where it is null but the column has a value


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rankings as a query with the columns ``user``, ``item`` and ``score`` or ``rank``.

    Ids are of the type int, bigint or string, numbers double. Bad values are null; `checked` finds
    them.
    """

    data: Any  # the Spark DataFrame
    names: Mapping[str, str]  # role → name of the column
    roles: Mapping[str, _Role]
    order: Literal["score", "rank"]
    source: str
    bad_scores: BadScores
    against: int | None  # of the first scores, those against the ranks, if these are used instead
    inside: str = ""  # a condition on the columns of `all`
    counted: Callable[[int], dict[str, int]] | None = None  # if they were made of others

    @property
    def ids(self) -> pl.Schema:
        """See `Query`."""
        return pl.Schema({role: self.roles[role].dtype for role in ("user", "item")})

    @property
    def all(self) -> Any:
        """See `Query`."""
        columns = [f"{column.sql} AS {role}" for role, column in self.roles.items()]
        rows = self.data.selectExpr(*columns, f"{self._rounded} AS rounded")
        return rows.where(self.inside) if self.inside else rows

    @property
    def candidates(self) -> Any:
        """See `Query`."""
        kept = self.all.drop("rounded")
        if self.bad_scores == "worst":
            return kept.selectExpr("user", "item", f"{self.usable} AS {self.order}")
        return kept.where(f"{self.order} IS NOT NULL") if self.bad_scores == "drop" else kept

    @property
    def usable(self) -> str:
        """See `Query`."""
        if self.bad_scores == "worst" and self.order == "score":
            return "coalesce(score, double('-Infinity'))"
        return self.order

    @property
    def _rounded(self) -> str:
        """Whether a number is written as an integer that no float64 holds exactly."""
        name = quoted(self.names[self.order])
        if dict(self.data.dtypes)[self.names[self.order]] != "bigint":
            return "0"
        return f"int(NOT (try_cast(double({name}) AS bigint) <=> {name}))"

    def grouped(self, query: Any, by: Sequence[str], *sql: str) -> Any:
        """See `Query`."""
        return query.groupBy(*by).agg(*(expression(query, aggregate) for aggregate in sql))

    def condition(self, sql: str) -> Any:
        """See `Query`."""
        return expression(self.data, sql)

    def collect(self, query: Any) -> pl.DataFrame:
        """See `Query`."""
        return collect_rows(query, self.source)

    def send(self, rows: pl.DataFrame) -> Any:
        """See `Query`."""
        return broadcast(rows, self.data, self.source)

    def checked(self, counts: Mapping[str, int]) -> dict[str, int]:
        """See `Query`."""
        n = counts["rows"]
        if self.counted is not None:
            return self.counted(n - counts["missing"])
        if not n:
            raise DataError(f"{self.source} has no rows: there is nothing to evaluate.")
        for role in ("item", "user"):
            if nulls := counts[f"no_{role}"]:
                raise self._bad_ids(role, nulls, n)
        checked = {"rows": n, "infinite_scores": counts["infinite"]}
        for role in ("user", "item"):
            checked[f"float_{role}_ids"] = n if self.roles[role].inexact else 0
        if missing := counts["missing"]:
            if self.order == "rank":
                raise self._bad_ranks(missing, n)
            if self.bad_scores == "error":
                raise self._bad_scores(missing, n)
            checked["worst_scores" if self.bad_scores == "worst" else "dropped_scores"] = missing
        if self.order == "score":
            checked["rounded_scores"] = counts["rounded"]
        if self.against is not None:
            checked |= {"scores_beside_ranks": n, "scores_against_ranks": self.against}
        return {name: n for name, n in checked.items() if n}

    def within(self, sql: str) -> _Rows:
        """See `Query`."""
        return replace(self, inside=sql)

    def instead(self, rows: Any, counts: Callable[[int], dict[str, int]]) -> _Rows:
        """See `Query`."""
        kinds = dict(rows.dtypes)
        ids = {role: _id(role, kinds[role]) for role in ("user", "item")}
        roles = {role: column for role, column in ids.items() if column is not None}
        roles[self.order] = _Role(self.order, pl.Float64)
        names = {role: role for role in roles}
        return replace(self, data=rows, names=names, roles=roles, against=None, counted=counts)

    def _bad_ids(self, role: str, nulls: int, n: int) -> DataError:
        inexact = self.roles[role].inexact
        name = self.names[role]
        if inexact:
            values = self.data.where(inexact).selectExpr(f"string({quoted(name)}) AS value")
            of_values = self.grouped(values, [], "count(1) AS n", "min(value) AS value")
            broken, example = self.collect(of_values).row(0)
            if broken == nulls:
                return IdTypeError(
                    f"{broken} of {n} {role} ids of {self.source} are not integers that "
                    f"{dict(self.data.dtypes)[name]} and bigint hold exactly, for example "
                    f"{example}; ids are integers or strings. Is this the right column?"
                )
            nulls -= broken
        needed = "an item" if role == "item" else "a user"
        return InvalidValueError(
            f"{nulls} of {n} {role} ids of {self.source} are missing (null, None or NaN). Every "
            f"row needs {needed}: fill or drop these rows."
        )

    def _bad_ranks(self, bad: int, n: int) -> DataError:
        raw = self.data.selectExpr(f"{quoted(self.names['rank'])} AS raw", *self._as("rank"))
        example = self.collect(raw.where("rank IS NULL").selectExpr("string(raw)").limit(1)).item()
        hint = " Ranks start at 1: add 1 to ranks that start at 0." if example == "0" else ""
        return InvalidValueError(
            f"{bad} of {n} ranks of {self.source} are not integers from 1 to 2^53, for example "
            f"{example}.{hint} To order by the score instead, pass columns={{'score': ...}}."
        )

    def _bad_scores(self, missing: int, n: int) -> DataError:
        bad = self.all.where("score IS NULL").select("user", "item")
        first = self.collect(bad.orderBy("user", "item").limit(3)).rows()
        pairs = ", ".join(f"user {shown(user)} item {shown(item)}" for user, item in first)
        return InvalidValueError(
            f"{missing} of {n} scores of {self.source} are missing or NaN: {pairs}. Tools differ "
            f"in where they sort NaN, so it is refused; bad_scores='drop' leaves these rows out, "
            f"bad_scores='worst' ranks them last."
        )

    def _as(self, *roles: str) -> list[str]:
        return [f"{self.roles[role].sql} AS {role}" for role in roles]


def open_spark(
    data: Any, *, columns: Mapping[str, str] | None = None, bad_scores: BadScores = "error"
) -> Table:
    """Rankings in Spark, of which only a few rows are read; see `read_rankings`."""
    source = describe_type(data)
    read = Columns(data.columns, lambda _: {}, source)
    names = resolve_roles(read, "rankings", columns)
    if not names.keys() & {"score", "rank"}:
        raise ColumnError(
            f"{source} has no score and no rank, and the rows of Spark have no order. Its columns "
            f"are {some(data.columns, 12)}. Pick one: columns={{'score': ...}} (the highest comes "
            f"first) or columns={{'rank': ...}} (1 comes first)."
        )
    unused = names.pop("score", None) if "rank" in names else None
    order: Literal["score", "rank"] = "rank" if "rank" in names else "score"
    types = dict(data.dtypes)
    columns_of = {
        "user": _id(names["user"], types[names["user"]]),
        "item": _id(names["item"], types[names["item"]]),
        order: (_rank if order == "rank" else _number)(names[order], types[names[order]]),
    }
    roles = {role: column for role, column in columns_of.items() if column is not None}
    good = " AND ".join(f"{column.sql} IS NOT NULL" for column in roles.values()) or "true"
    fetched = [*names.values(), *([] if unused is None else [unused])]
    some_rows = data.where(good).select([quoted(name) for name in fetched])
    sample = collect_rows(some_rows.limit(_EXAMPLES), source)
    against = None
    if unused is not None:
        against = rank_conflicts(*(sample[name] for name in (names["user"], names["rank"], unused)))
    if sample.height or len(roles) < len(columns_of):
        # What is wrong with the type of a column is reported as for any other frame.
        examples = rankings_of(from_polars(sample, "rankings", source), names, bad_scores).frame
    else:
        examples = pl.DataFrame(schema={role: column.dtype for role, column in roles.items()})
    rows = _Rows(data, names, roles, order, source, bad_scores, against)
    empty = IdSeries(examples["user"].clear())
    kind = kind_in_spark(data, names)
    return Table(InSpark(examples, rows), rows.order, empty, Origin(source, kind=kind))


def _id(name: str, kind: str) -> _Role | None:
    """The ids of a column; None if values of this type cannot be ids."""
    column = quoted(name)
    if kind in _SHORT:
        return _Role(f"int({column})", pl.Int32)
    if kind in ("bigint", "void"):
        return _Role(f"bigint({column})", pl.Int64)
    if kind.startswith("string"):
        plain = column if kind == "string" else f"collate({column}, 'UTF8_BINARY')"
        return _Role(plain, pl.String)
    if kind in _EXACT:
        whole = f"({column} % 1 = 0 AND abs({column}) < {_EXACT[kind]})"
        inexact = f"NOT coalesce({whole}, false) AND NOT coalesce(isnan({column}), true)"
    elif kind.startswith("decimal"):
        # Not `% 1`, which costs more than all else that is done with a row.
        same = f"CAST(try_cast({column} AS bigint) AS {kind}) = {column}"
        whole = f"coalesce({same}, {column} IS NULL)"
        inexact = f"NOT coalesce({whole}, true)"
    else:
        return None
    return _Role(f"CASE WHEN {whole} THEN bigint({column}) END", pl.Int64, inexact)


def _number(name: str, kind: str) -> _Role | None:
    """The numbers of a column; None if it has none."""
    if kind in _WHOLE or kind in _EXACT or kind.startswith("decimal") or kind == "void":
        return _Role(f"nullif(double({quoted(name)}), double('NaN'))", pl.Float64)
    return None


def _rank(name: str, kind: str) -> _Role | None:
    """The ranks of a column."""
    number, column = _number(name, kind), quoted(name)
    if number is None or kind == "void":
        return number
    good = f"{column} >= 1 AND {column} <= {2**53} AND {column} % 1 = 0"
    return _Role(f"CASE WHEN {good} THEN double({column}) END", pl.Float64)
