"""Queries of link prediction, and published ranks adjusted for chance."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence, Sized
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from decimal import Decimal
from numbers import Integral
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from rankmeter._evidence.hits import FloatArray, Hits, IntArray
from rankmeter._reading.by_user import count_distinct
from rankmeter._reading.table import translate_file_errors
from rankmeter._scores.array_files import is_array_file, is_path, read_array_file
from rankmeter._scores.arrays import asarray, shape_and_type, to_numpy
from rankmeter.errors import DataError, FileFormatError, ShownAsText, UsageError
from rankmeter.errors._calls import answers_calls
from rankmeter.errors._checks import (
    brief,
    check_choice,
    check_integer,
    check_number,
    counted,
    exact_text,
    list_values,
    option_error,
)
from rankmeter.metrics import Metric, read_metric
from rankmeter.metrics.link_prediction import chance_of_hit, chance_of_rank, chance_of_reciprocal


@answers_calls
def adjust(
    results: Mapping[str, float], *, candidates: Any, n: int | None = None
) -> dict[str, float]:
    """Adjust published means of ranks for chance: all that is needed is the number of candidates.

    Parameters
    ----------
    results : mapping from metric to mean
        Names of the mean rank (``mr``), the geometric mean rank (``gmr``), the mean reciprocal
        rank (``mrr``) and the hit rate (``hits@10``); ``hits@10`` is a share, not in percent.
    candidates : int or array
        Number of candidates of each query: the number of entities, or the exact numbers after
        filtering.
    n : int, optional
        Number of queries; with it, the standardized forms are added. The chance of a geometric
        mean depends on it; without it, there is a query for each of several candidates.

    Returns
    -------
    dict of str to float
        ``amr`` and ``amri`` of a mean rank, ``agmri`` of a geometric one, ``amrr`` of a reciprocal
        rank, ``adjusted_hits@10`` of a hit rate, and with `n` the standardized ``zmr``, ``zgmr``,
        ``zmrr``, ``zhits@10``. NaN where every order of the candidates has the same value.

    Raises
    ------
    UsageError
        If a metric cannot be adjusted, or a value is out of its range: no ranks among so many
        candidates have this mean, rounded or not.

    Notes
    -----
    The adjusted metrics are affine in the mean, with coefficients that depend only on the numbers
    of candidates: see `amri`, `amrr`, `adjusted_hits`. Filtering leaves fewer candidates than
    entities, so that the number of entities gives an upper bound of the adjusted value.

    Examples
    --------
    ComplEx on FB15k-237, as in the table of LibKGE; 14,541 entities.

    >>> import rankmeter as rm
    >>> round(rm.adjust({"mrr": 0.348}, candidates=14541)["amrr"], 7)
    0.347544
    """
    if not isinstance(results, Mapping):
        raise option_error(
            "results", "a mapping from metric to mean, such as {'mrr': 0.3}", results
        )
    n_ranked = _read_candidate_numbers(candidates)
    ones = np.ones(n_ranked.size)
    hits = Hits(np.arange(n_ranked.size + 1), ones, ones, ones.astype(np.int64), n_ranked)
    times = None if n is None else check_integer("n", n, least=1)
    result: dict[str, float] = {}
    names: dict[Metric, str] = {}
    for name, mean in results.items():
        (metric,) = read_metric(str(name))
        if (earlier := names.setdefault(metric, str(name))) != str(name):
            raise UsageError(f"{earlier} and {name} are the same metric: pass one of them")
        if metric.name == "gmr":
            value = check_number(str(name), mean, least=1)
            _refuse_impossible_mean(str(name), value, high=math.exp(float(np.log(n_ranked).mean())))
            result |= _adjust_geometric_mean_rank(
                value, n_ranked, times, several=np.ndim(candidates) > 0
            )
            continue
        if metric.name == "mean_rank":
            chance, label = chance_of_rank(hits), "mr"
            value = check_number(str(name), mean, least=1)
            _refuse_impossible_mean(str(name), value, high=float(n_ranked.mean()))
            result["amr"] = value / float(chance[0].mean())
        elif metric.name == "rr" and metric.k is None:
            chance, label = chance_of_reciprocal(hits), "mrr"
            value = check_number(str(name), mean, least=0, most=1)
            _refuse_impossible_mean(str(name), value, low=float((1.0 / n_ranked).mean()))
        elif metric.name == "hit_rate" and metric.k is not None:
            chance, label = chance_of_hit(hits, metric.k), f"hits@{metric.k}"
            value = check_number(str(name), mean, least=0, most=1)
            _refuse_impossible_mean(str(name), value, low=float((n_ranked <= metric.k).mean()))
        else:
            raise option_error("results", "means of mr, gmr, mrr and hits@k", name)
        expected = float(chance[0].mean())
        adjusted = {"mr": "amri", "mrr": "amrr"}.get(label, f"adjusted_{label}")
        result[adjusted] = (value - expected) / (1.0 - expected) if expected != 1.0 else math.nan
        if times is not None:
            spread = math.sqrt(float(chance[1].mean()) / times)
            sign = -1.0 if label == "mr" else 1.0
            result[f"z{label}"] = sign * (value - expected) / spread if spread else math.nan
    return result


def _refuse_impossible_mean(
    name: str, value: float, *, low: float = 0.0, high: float = math.inf
) -> None:
    """Refuse a mean, exact or rounded, that no ranks among the candidates have."""
    decimals = -int(Decimal(repr(value)).normalize().as_tuple().exponent)
    rounding = max(0.5 * 10.0 ** -max(decimals, int(high == math.inf)), 1e-6 * value)
    if value > high + rounding:
        bound = f"≤ {high:.6g}, the most for ranks among these candidates"
    elif value < low - rounding:
        bound = f"≥ {low:.6g}, the least for ranks among these candidates"
    else:
        return
    raise option_error(name, bound, value, hint="; check `candidates`")


def _read_candidate_numbers(candidates: Any) -> IntArray:
    """Number of candidates of each query, or one number for all queries."""
    sizes = np.atleast_1d(asarray(candidates, "candidates")).tolist()
    if not sizes:
        raise option_error("candidates", "an integer, or one for each query", candidates)
    return np.array([check_integer("candidates", size, least=1) for size in sizes], dtype=np.int64)


def _adjust_geometric_mean_rank(
    value: float, n_ranked: IntArray, n: int | None, *, several: bool
) -> dict[str, float]:
    """Adjust a geometric mean rank for chance; ranks of a random order are independent.

    E[M] is the product of E[r^(1/n)] over the queries, and E[M²] that of E[r^(2/n)].
    """
    if n is None and not several:
        raise UsageError("gmr needs the number of queries: pass n=", option="n")
    queries = n_ranked.size if n is None else n
    weight = queries / n_ranked.size  # how many queries have each number of candidates
    mean, square = (
        math.exp(weight * float(np.log(_mean_of_powers(n_ranked, power / queries)).sum()))
        for power in (1, 2)
    )
    result = {"agmri": (mean - value) / (mean - 1.0) if mean > 1.0 else math.nan}
    if n is not None:
        spread = math.sqrt(max(square - mean**2, 0.0))
        result["zgmr"] = (mean - value) / spread if spread else math.nan
    return result


def _mean_of_powers(n: IntArray, power: float) -> FloatArray:
    """Mean of r^power for r = 1 … n; beyond a table by the Euler–Maclaurin formula."""
    limit = 1 << 20
    table = np.cumsum(np.arange(1.0, min(int(n.max()), limit) + 1.0) ** power)
    total: FloatArray = table[np.minimum(n, limit) - 1]

    def euler_maclaurin_mean(x: FloatArray) -> FloatArray:
        return x ** (power + 1) / (power + 1) + x**power / 2 + power * x ** (power - 1) / 12

    is_large, ends = n > limit, np.array([float(limit)])
    total[is_large] += euler_maclaurin_mean(n[is_large].astype(np.float64)) - euler_maclaurin_mean(
        ends
    )
    return total / n


Side = Literal["head", "tail"]
SIDES: tuple[Side, ...] = ("head", "tail")


@dataclass(frozen=True, eq=False, repr=False)
class LinkQueries(ShownAsText):
    """Queries of link prediction, some for each side, to score and evaluate batch by batch.

    Attributes
    ----------
    frame : polars.DataFrame
        A row for each query: side, head, relation, tail, ``target`` (the entity to find, as a
        column of the scores), ``key`` (the query without its target, in numbers, such as
        ``tail:0/1``) and ``degree`` (in how many of the triples and filters the target occurs).
    known : tuple of int64 arrays
        The other true entities: rows of queries, and entities.

    Examples
    --------
    Entity 0 is linked to 1 and 2: when 1 is to be found, 2 is left out.

    >>> import rankmeter as rm
    >>> queries = rm.link_queries([(0, 0, 1)], filters=[[(0, 0, 2)]], sides=["tail"])
    >>> queries.frame["target"].to_list(), [known.tolist() for known in queries.known]
    ([1], [[0], [2]])
    """

    frame: pl.DataFrame
    known: tuple[IntArray, IntArray]

    def __repr__(self) -> str:
        queries = counted(len(self), "query", "queries")
        relations = counted(count_distinct(self.frame["relation"]), "relation")
        return f"LinkQueries: {queries}, {relations}"

    def __len__(self) -> int:
        return self.frame.height

    def __getitem__(self, rows: slice) -> LinkQueries:
        """The queries of a batch: consecutive rows."""
        if not isinstance(rows, slice):
            raise UsageError(f"pass a slice of rows, such as queries[0:100], got {brief(rows)}")
        start, stop, step = rows.indices(len(self))
        if step != 1:
            raise UsageError(f"a batch of queries must be consecutive rows, got step {step}")
        first, last = np.searchsorted(self.known[0], [start, max(start, stop)])
        answers = self.known[0][first:last] - start, self.known[1][first:last]
        return LinkQueries(self.frame.slice(start, max(stop - start, 0)), answers)

    @property
    def target(self) -> IntArray:
        """The entity to find, for each query."""
        return self.frame["target"].to_numpy()

    @property
    def exclude(self) -> tuple[IntArray, IntArray]:
        """The argument ``exclude`` of `rankmeter.evaluate_scores`."""
        return self.known

    @property
    def clusters(self) -> pl.Series:
        """The argument ``clusters``: the queries without their targets."""
        return self.frame["key"]

    @property
    def groups(self) -> pl.DataFrame:
        """The argument ``groups``: side and relation, and the degree of the target in fourths.

        Means by relation weigh all its triples alike; the rows ``macro`` weigh relations alike.
        """
        degrees = self.frame["degree"]
        edges = np.unique(np.quantile(degrees, [0.25, 0.5, 0.75])) if len(degrees) else np.zeros(0)
        part = np.searchsorted(edges, degrees.to_numpy(), "left")
        names = [f"{i + 1}: up to {exact_text(edge)}" for i, edge in enumerate(edges)]
        names.append(f"{len(edges) + 1}: above {exact_text(edges[-1]) if len(edges) else 1}")
        degree = pl.Series([names[i] for i in part.tolist()], dtype=pl.String)
        return self.frame.select("side", pl.col("relation").cast(pl.String), degree=degree)


@answers_calls
def link_queries(
    triples: Any,
    filters: Any = (),
    *,
    sides: Side | Iterable[Side] = SIDES,
    entities: Any = None,
) -> LinkQueries:
    """Build filtered queries: which entity completes (head, relation, ?) and (?, relation, tail).

    Parameters
    ----------
    triples : array of shape (n, 3), list of triples, frame or path
        Heads, relations and tails, as integers or names; entities that are integers are columns of
        the scores. A frame may have the columns head, relation and tail in any order. A file has
        three columns that are separated by tabs, with or without these names in the first line.
    filters : array, frame, path, set of triples or iterable of them
        Further true triples, usually those of train and validation: their entities leave the
        candidates. The triples themselves are always among the filters.
    sides : {"head", "tail"} or iterable of them
        Which entity is to be found. All queries of a side follow each other.
    entities : list, array, Series or mapping, optional
        The name of the entity in each column of the scores, or the column of each name; needed for
        entities with names.

    Returns
    -------
    LinkQueries
        Its ``target``, ``exclude``, ``groups`` and ``clusters`` are those of
        `rankmeter.evaluate_scores`.

    Raises
    ------
    DataError
        If triples are not three integers of 0 or more, or names; or entities are not in `entities`.
    UsageError
        If a side does not exist, or entities have names and `entities` is missing.

    Notes
    -----
    ``clusters`` make intervals honest: the triples of one query are not independent. Repeated
    triples are repeated queries.

    Examples
    --------
    >>> import numpy as np
    >>> import rankmeter as rm
    >>> queries = rm.link_queries([(0, 0, 1), (0, 0, 2)])
    >>> queries.frame.select("side", "target", "key").rows()  # doctest: +NORMALIZE_WHITESPACE
    [('head', 0, 'head:0/1'), ('head', 0, 'head:0/2'), ('tail', 1, 'tail:0/0'),
     ('tail', 2, 'tail:0/0')]
    >>> scores = np.array([[3, 2, 1], [3, 2, 1], [9, 1, 5], [9, 1, 5]])
    >>> result = rm.evaluate_scores(scores, queries.target, "mrr",
    ...     exclude=queries.exclude, groups=queries.groups)
    >>> result.by_group("side")["segment", "mean"].rows()
    [('head', 1.0), ('tail', 0.5), ('macro', 0.75)]

    Names need the entities in the order of the columns of the scores:

    >>> names = rm.link_queries([("paris", "capital_of", "france")], entities=["france", "paris"])
    >>> names.target.tolist()
    [1, 0]
    """
    read = [_read_triples(triples, "triples")]
    read += [_read_triples(part, "filters") for part in _triple_sets(filters)]
    test, *filter_sets = _number_triples(read, entities)
    written = pl.DataFrame(
        {role: _to_series(read[0][:, place]) for place, role in enumerate(_ROLES)}
    )
    true = np.unique(np.concatenate([test, *filter_sets]), axis=0)
    loops = true[:, 0] == true[:, 2]
    ends = np.concatenate([true[:, 0], true[~loops, 2]])
    all_entities, times = np.unique(ends, return_counts=True)
    frames, rows, entities, first = [], [], [], 0
    which = list_values("sides", "head, tail or both", sides)
    for side in dict.fromkeys(check_choice("sides", given_side, SIDES) for given_side in which):
        target = 0 if side == "head" else 2
        other = 2 - target
        degree = times[np.searchsorted(all_entities, test[:, target])]
        query = ("relation", "tail") if side == "head" else ("head", "relation")
        numbers = pl.DataFrame(test, schema=_ROLES)
        key = numbers.select(pl.format(f"{side}:{{}}/{{}}", *query).alias("key"))
        frame = written.with_columns(side=pl.lit(side), target=numbers[side], key=key["key"])
        names = ["side", "head", "relation", "tail", "target", "key"]
        frames.append(frame.select(names, degree=pl.Series(degree)))
        row, entity = _other_answers(test, true, target, other)
        rows.append(row + first)
        entities.append(entity)
        first += len(test)
    if not frames:
        raise UsageError("sides must name head, tail or both", option="sides")
    answers = np.concatenate(rows), np.concatenate(entities)
    return LinkQueries(pl.concat(frames), answers)


def _other_answers(
    test: IntArray, true: IntArray, target: int, other: int
) -> tuple[IntArray, IntArray]:
    """Rows and entities of the other answers to the query of each triple."""
    queries = pl.DataFrame({"a": test[:, other], "r": test[:, 1], "own": test[:, target]})
    answers = pl.DataFrame({"a": true[:, other], "r": true[:, 1], "entity": true[:, target]})
    pairs = queries.with_row_index("row").join(answers, on=["a", "r"])
    pairs = pairs.filter(pl.col("entity") != pl.col("own")).sort("row", "entity")
    return pairs["row"].to_numpy().astype(np.int64), pairs["entity"].to_numpy().astype(np.int64)


_ROLES = ("head", "relation", "tail")


def _triple_sets(filters: Any) -> list[Any]:
    """Convert one or several sets of triples to a list of sets."""
    if filters is None:
        return []
    if is_path(filters) or hasattr(filters, "columns") or getattr(filters, "ndim", 3) < 3:
        return [filters]
    sets = list_values("filters", "triples, or several sets of them", filters)
    return [sets] if sets and all(map(_is_triple, sets)) else sets


def _is_triple(data: Any) -> bool:
    """Whether the data are three numbers or names, and not a set of three triples or files."""
    if is_path(data) or hasattr(data, "columns") or not isinstance(data, Sized) or len(data) != 3:
        return False
    first = next(iter(data))  # type: ignore[call-overload]
    return not isinstance(first, PathLike) and not np.ndim(first)


def _read_triples(data: Any, name: str) -> npt.NDArray[Any]:
    """Read triples as an array of integers, or of objects, integers and names, by column."""
    if is_path(data):
        data = read_array_file(data) if is_array_file(data) else _read_triple_file(Path(data))
    if hasattr(data, "columns"):
        columns = {str(column).lower(): column for column in data.columns}
        lacking = [role for role in _ROLES if role not in columns]
        if lacking:
            raise DataError(f"`{name}` has no column {lacking[0]}, only {', '.join(columns)}")
        parts = [np.asarray(data[columns[role]]) for role in _ROLES]
        named = any(part.dtype.kind not in "iu" for part in parts)
        array = np.column_stack([part.astype(object) if named else part for part in parts])
    else:
        rows = [*data] if isinstance(data, AbstractSet) else data
        if isinstance(rows, list | tuple) and any(_has_names(row) for row in rows):
            wrong = next((n for n, row in enumerate(rows) if not _is_triple(row)), None)
            if wrong is not None:
                raise DataError(
                    f"`{name}` must be triples, (head, relation, tail); row {wrong} is "
                    f"{brief(rows[wrong])}"
                )
            array = np.array([tuple(row) for row in rows], dtype=object)
        else:
            array = to_numpy(asarray(rows, name))
    if array.size == 0:
        return np.zeros((0, 3), dtype=np.int64)
    if array.ndim != 2 or array.shape[1] != 3 or array.dtype.kind not in "iuUOT":
        raise DataError(
            f"`{name}` must be integers of shape (n, 3): head, relation, tail, or their names; got "
            f"{shape_and_type(array)}"
        )
    if array.dtype.kind not in "iu":
        array = array.astype(object)
        for place, role in enumerate(_ROLES):
            kinds = [_kind_of(value) for value in array[:, place].tolist()]
            if not kinds[0] or len({*kinds}) > 1:
                row = next((n for n, kind in enumerate(kinds) if kind != kinds[0]), 0)
                raise DataError(
                    f"`{name}` must have integers or names as {role}, all of one kind; row {row} "
                    f"is {brief(tuple(array[row].tolist()))}"
                )
    return array


def _kind_of(value: object) -> str:
    """Kind of an id of an entity or relation: an integer or a name; empty for other values."""
    if isinstance(value, str):
        return "name"
    return "integer" if isinstance(value, Integral) and not isinstance(value, bool) else ""


def _has_names(row: object) -> bool:
    return isinstance(row, list | tuple) and any(isinstance(value, str) for value in row)


def _read_triple_file(path: Path) -> pl.DataFrame:
    """Read three columns that are separated by tabs; integers if all of a column are."""
    try:
        with translate_file_errors(path):
            lines = path.read_text(encoding="utf-8-sig").splitlines()
    except ValueError as error:  # not UTF-8, or no name of a file
        raise FileFormatError(f"{brief(str(path))} cannot be read: {brief(str(error))}") from error
    rows = [line.split("\t") for line in lines if line]
    for number, row in enumerate(rows, 1):
        if len(row) != 3:
            raise FileFormatError(
                f"{path} must have three columns separated by tabs, head, relation and tail; line "
                f"{number} has {len(row)}: {brief(lines[number - 1])}"
            )
    roles: Sequence[str] = _ROLES
    if rows and sorted(field.strip().lower() for field in rows[0]) == sorted(_ROLES):
        roles = [field.strip().lower() for field in rows.pop(0)]
    columns = {role: [row[place] for row in rows] for place, role in enumerate(roles)}
    ends = [*columns["head"], *columns["tail"]]
    numbered = {"relation": all(map(_is_number, columns["relation"]))}
    numbered["head"] = numbered["tail"] = all(map(_is_number, ends))
    return pl.DataFrame(
        {role: [int(v) for v in vs] if numbered[role] else vs for role, vs in columns.items()}
    )


def _is_number(text: str) -> bool:
    """Whether a text is an integer as it is usually written, and not a name such as 007."""
    return text.isascii() and text.isdigit() and (text == "0" or text[0] != "0") and len(text) < 19


def _number_triples(read: Sequence[npt.NDArray[Any]], entities: Any) -> list[IntArray]:
    """Number the entities by the columns of the scores, and relations that have names."""
    columns = None if entities is None else _read_entities(entities)
    relations: dict[Any, int] = {}
    kinds: dict[bool, str] = {}
    numbered = []
    for nth, array in enumerate(read):
        name = "filters" if nth else "triples"
        _refuse_numbers_out_of_range(array, name)
        numbers = np.zeros(array.shape, dtype=np.int64)
        for place, role in enumerate(_ROLES) if len(array) else ():
            values: Any = array[:, place]
            kind = _kind_of(values[0])
            if kinds.setdefault(role == "relation", kind) != kind:
                other = "integers" if kind == "name" else "names"
                raise DataError(
                    f"`{name}` has {brief(values[:1].tolist()[0])} as {role}, and other triples "
                    f"have {other} there: write all alike"
                )
            if role != "relation" and columns is not None:
                values = _columns_of(values.tolist(), columns, name)
            elif kind == "name" and role == "relation":
                values = [relations.setdefault(value, len(relations)) for value in values.tolist()]
            elif kind == "name":
                raise UsageError(
                    f"`{name}` has the entity {brief(values[0])}: for entities with names pass "
                    "entities=, their names in the order of the columns of the scores, or "
                    "{name: column}",
                    option="entities",
                )
            numbers[:, place] = values
        numbered.append(numbers)
    return numbered


def _columns_of(values: Sequence[Any], columns: Mapping[Any, int], name: str) -> list[int]:
    unknown = [value for value in dict.fromkeys(values) if value not in columns]
    if unknown:
        raise DataError(
            f"{counted(len(unknown), 'entity', 'entities')} of `{name}` not in entities=, for "
            f"example {brief(unknown[0])}; entities= has {brief([*columns][:3])}"
        )
    return [columns[value] for value in values]


def _read_entities(data: Any) -> dict[Any, int]:
    """Column of each entity, from a mapping or from the entities in the order of the columns."""
    expected = "the distinct names of the entities in the order of the columns, or {name: column}"
    if isinstance(data, Mapping):
        columns = {
            key: check_integer(f"the column of {brief(key)} in entities", column, least=0)
            for key, column in data.items()
        }
    else:
        as_list = getattr(data, "tolist", None) or getattr(data, "to_list", None)
        names = as_list() if callable(as_list) else data
        if not isinstance(names, list | tuple):
            raise option_error("entities", expected, data)
        columns = {key: place for place, key in enumerate(names) if _kind_of(key)}
        if len(columns) < len(names):
            raise option_error("entities", expected, data)
    if len({*columns.values()}) < len(columns):
        raise option_error("entities", expected, data)
    return columns


def _to_series(values: npt.NDArray[Any]) -> pl.Series:
    """Values of a column, integers or names, as a series."""
    if values.dtype.kind in "iu":
        return pl.Series(values.astype(np.int64))
    written = values.tolist()
    return pl.Series(written, dtype=pl.String if isinstance(written[0], str) else pl.Int64)


def _refuse_numbers_out_of_range(array: npt.NDArray[Any], name: str) -> None:
    numbers = [place for place in range(3) if len(array) and _kind_of(array[0, place]) == "integer"]
    part = array[:, numbers]
    if part.size and part.min() < 0:
        row = int(np.flatnonzero((part < 0).any(axis=1))[0])
        raise DataError(f"`{name}` has a negative number in row {row}: {array[row].tolist()}")
    if part.size and part.max() >= 2**63:
        row = int(np.flatnonzero((part >= 2**63).any(axis=1))[0])
        raise DataError(
            f"`{name}` has a number of 2^63 or more in row {row}: {array[row].tolist()}. Number "
            "the entities and relations from 0"
        )
