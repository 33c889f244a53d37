"""Link prediction: filtered queries for both sides."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl

from rankmeter._checks import choice, counted, exact, several, shown
from rankmeter._hits import IntArray
from rankmeter._matrix._arrays import asarray, host
from rankmeter.errors import DataError, UsageError

Side = Literal["head", "tail"]
SIDES: tuple[Side, ...] = ("head", "tail")


@dataclass(frozen=True, eq=False, repr=False)
class LinkQueries:
    """Queries of link prediction, some for each side, to score and evaluate batch by batch.

    Attributes
    ----------
    frame : polars.DataFrame
        A row for each query: side, head, relation, tail, ``target`` (the entity to find), ``key``
        (the query without its target, such as ``tail:0/1``) and ``degree`` (in how many of the
        triples and filters the target occurs).
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
        return f"LinkQueries: {queries}, {counted(self.frame['relation'].n_unique(), 'relation')}"

    def __len__(self) -> int:
        return self.frame.height

    def __getitem__(self, rows: slice) -> LinkQueries:
        """The queries of a batch: consecutive rows."""
        if not isinstance(rows, slice):
            raise UsageError(f"pass a slice of rows, such as queries[0:100], got {shown(rows)}")
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
        degree = self.frame["degree"]
        edges = np.unique(np.quantile(degree, [0.25, 0.5, 0.75])) if len(degree) else np.zeros(0)
        part = np.searchsorted(edges, degree.to_numpy(), "left")
        bounds = ["1", *(exact(edge) for edge in edges)]
        names = [f"{place + 1}: up to {exact(edge)}" for place, edge in enumerate(edges)]
        names.append(f"{len(edges) + 1}: above {bounds[-1]}")
        return self.frame.select(
            "side",
            pl.col("relation").cast(pl.String),
            degree=pl.Series([names[i] for i in part.tolist()], dtype=pl.String),
        )


def link_queries(
    triples: Any, *, filters: Any = (), sides: Side | Iterable[Side] = SIDES
) -> LinkQueries:
    """Build filtered queries: which entity completes (head, relation, ?) and (?, relation, tail).

    Parameters
    ----------
    triples : array of shape (n, 3), or frame
        Heads, relations and tails as integers; the entities are columns of the scores. A frame may
        have the columns head, relation and tail in any order.
    filters : array, frame or iterable of them
        Further true triples, usually those of train and validation: their entities leave the
        candidates. The triples themselves are always among the filters.
    sides : {"head", "tail"} or iterable of them
        Which entity is to be found. All queries of a side follow each other.

    Returns
    -------
    LinkQueries
        Its ``target``, ``exclude``, ``groups`` and ``clusters`` are those of
        `rankmeter.evaluate_scores`.

    Raises
    ------
    DataError
        If triples are not three integers of 0 or more.
    UsageError
        If a side does not exist.

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
    """
    test = _triples(triples, "triples")
    others = [_triples(given_side, "filters") for given_side in _as_sets(filters)]
    true = np.unique(np.concatenate([test, *others]), axis=0)
    loops = true[:, 0] == true[:, 2]
    ends = np.concatenate([true[:, 0], true[~loops, 2]])
    every, times = np.unique(ends, return_counts=True)
    frames, rows, entities, first = [], [], [], 0
    which = several("sides", "head, tail or both", sides)
    for side in dict.fromkeys(choice("sides", given_side, SIDES) for given_side in which):
        target = 0 if side == "head" else 2
        other = 2 - target
        degree = times[np.searchsorted(every, test[:, target])]
        given = [test[:, 1], test[:, other]] if side == "head" else [test[:, other], test[:, 1]]
        key = pl.DataFrame(given, schema=["one", "two"])
        frames.append(
            pl.DataFrame(test, schema=["head", "relation", "tail"]).select(
                pl.lit(side).alias("side"),
                "head",
                "relation",
                "tail",
                target=pl.Series(test[:, target]),
                key=pl.lit(f"{side}:")
                + key["one"].cast(pl.String)
                + "/"
                + key["two"].cast(pl.String),
                degree=pl.Series(degree),
            )
        )
        row, entity = _answers(test, true, target, other)
        rows.append(row + first)
        entities.append(entity)
        first += len(test)
    if not frames:
        raise UsageError("sides must name head, tail or both", option="sides")
    answers = np.concatenate(rows), np.concatenate(entities)
    return LinkQueries(pl.concat(frames), answers)


def _answers(test: IntArray, true: IntArray, target: int, other: int) -> tuple[IntArray, IntArray]:
    """For each triple, the other entities that complete its query: rows and entities."""
    queries = pl.DataFrame({"a": test[:, other], "r": test[:, 1], "own": test[:, target]})
    answers = pl.DataFrame({"a": true[:, other], "r": true[:, 1], "entity": true[:, target]})
    pairs = queries.with_row_index("row").join(answers, on=["a", "r"])
    pairs = pairs.filter(pl.col("entity") != pl.col("own")).sort("row", "entity")
    return pairs["row"].to_numpy().astype(np.int64), pairs["entity"].to_numpy().astype(np.int64)


def _as_sets(filters: Any) -> list[Any]:
    """Sets of triples, of which there can be one alone."""
    if filters is None:
        return []
    if hasattr(filters, "columns") or getattr(filters, "ndim", 3) < 3:
        return [filters]
    sets = several("filters", "triples, or several sets of them", filters)
    triples = bool(sets) and all(len(entry) == 3 and np.ndim(entry[0]) == 0 for entry in sets)
    return [sets] if triples else sets


def _triples(data: Any, name: str) -> IntArray:
    if hasattr(data, "columns"):
        named = {str(column).lower(): column for column in data.columns}
        lacking = [role for role in ("head", "relation", "tail") if role not in named]
        if lacking:
            raise DataError(f"`{name}` has no column {lacking[0]}, only {', '.join(named)}")
        roles = ("head", "relation", "tail")
        array = np.column_stack([np.asarray(data[named[role]]) for role in roles])
    else:
        array = host(asarray(data, name))
    if array.size == 0:
        return np.zeros((0, 3), dtype=np.int64)
    if array.ndim != 2 or array.shape[1] != 3 or array.dtype.kind not in "iu":
        raise DataError(
            f"`{name}` must be integers of shape (n, 3): head, relation, tail; got an array of "
            f"shape {array.shape} and type {array.dtype}"
        )
    if array.min() < 0:
        row = int(np.flatnonzero((array < 0).any(axis=1))[0])
        raise DataError(f"`{name}` has a negative number in row {row}: {array[row].tolist()}")
    if array.max() >= 2**63:
        row = int(np.flatnonzero((array >= 2**63).any(axis=1))[0])
        raise DataError(
            f"`{name}` has a number of 2^63 or more in row {row}: {array[row].tolist()}. Number "
            "the entities and relations from 0"
        )
    return array.astype(np.int64)
