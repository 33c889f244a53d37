"""Scores, samples, ranks and gains in order, as rankings for all functions."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from rankmeter._choices import Input
from rankmeter._engine.counted import refuse_unknown_candidates
from rankmeter._evidence.hits import FloatArray, IntArray
from rankmeter._rankings.kind import RankingKind
from rankmeter._rankings.own_truth import NOT_COMPARABLE
from rankmeter._rankings.queries import CountedRows, Queries
from rankmeter._rankings.rank_counts import RankCounts
from rankmeter._reading.by_user import Ids, IdSeries, InFrame, count_distinct, to_series
from rankmeter._reading.ids import to_ids
from rankmeter._reading.table import Origin, OriginShape, Table, integers_from_text
from rankmeter._scores.array_files import is_path, read_array_file, row_values
from rankmeter._scores.arrays import asarray, to_numpy
from rankmeter._scores.known_ranks import LARGEST_RANK, count_samples, read_ranks
from rankmeter._scores.labels import align, read_labels, unless_positions
from rankmeter._scores.matrix import CandidateCells, MatrixRows, read_matrix
from rankmeter._scores.scores import CountRequest
from rankmeter.conventions import load_convention
from rankmeter.conventions._plan import Plan
from rankmeter.errors import DataError, DuplicateError, InvalidValueError, UsageError
from rankmeter.errors._checks import QUERIES, brief, counted, list_values, option_error


class Scores(RankingKind):
    """A matrix of scores, users × items, as a ranking for all functions that take rankings.

    The ground truth names users and items by their ids, as for any other ranking.

    Parameters
    ----------
    matrix : array, sparse matrix, frame, pair, list or function
        As `scores` of `rankmeter.evaluate_scores`: of a SciPy matrix the stored entries are the
        candidates, and the labels of a frame are users and items. Paths of ``.npy`` and ``.npz``
        files too. A score of -inf is not a candidate.
    users : array or list, optional
        The id of each row; without, the labels of a frame, or 0, 1, 2 …
    items : array or list, optional
        The id of each column; without, the labels of a frame, or 0, 1, 2 …
    exclude : mask, sparse matrix, pair or list, optional
        Cells that are not candidates, such as items that were seen in training, by row and column:
        as in `rankmeter.evaluate_scores`.
    candidates : array, list or sparse matrix, optional
        The only columns that are ranked, for all rows or for each, as in
        `rankmeter.evaluate_scores`.

    Raises
    ------
    DataError
        When they are read: if shapes do not fit, ids repeat, or a score is NaN and `bad_scores` is
        ``error``.

    Notes
    -----
    Scores are rankings like all others: ties are in the order of items unless `ties` says
    otherwise. A relevant item with a score of -inf stays relevant and is not ranked; such scores
    are counted, and those of +inf. `rankmeter.evaluate_scores` takes its targets by
    position, counts on the device of a tensor, and can make each true item a query.

    Examples
    --------
    The relevant item has the second highest score; without the best one it is first.

    >>> import rankmeter as rm
    >>> scores = rm.Scores([[0.9, 0.5, 0.1]], users=["ann"], items=["a", "b", "c"])
    >>> rm.evaluate(scores, {"ann": {"b"}}, "rr")["rr"].mean
    0.5
    >>> seen = rm.Scores([[0.9, 0.5, 0.1]], users=["ann"], items=["a", "b", "c"], exclude=[[0]])
    >>> rm.evaluate(seen, {"ann": {"b"}}, "rr")["rr"].mean
    1.0
    """

    def __init__(
        self,
        matrix: Any,
        *,
        users: Any = None,
        items: Any = None,
        exclude: Any = None,
        candidates: Any = None,
    ) -> None:
        self.matrix: Any = matrix
        self.users: Any = users
        self.items: Any = items
        self.exclude: Any = exclude
        self.candidates: Any = candidates

    def __repr__(self) -> str:
        shape = getattr(self.matrix, "shape", None)
        return f"Scores of {type(self.matrix).__name__}{f' {tuple(shape)}' if shape else ''}"

    def _read(self, plan: Plan) -> Table:
        """Read the cells that are candidates, by user."""
        read = read_labels(_load_if_path(self.matrix), "scores")
        matrix = read_matrix(read.values)
        counts: Counter[str] = Counter()
        given = [_load_if_path(ids) for ids in (self.users, self.items)]
        users = _check_distinct_ids(read.ids("user", given[0]), matrix.shape[0], counts)
        items = _check_distinct_ids(read.ids("item", given[1]), matrix.shape[1], counts, "item")
        named = replace(read, rows=unless_positions(users.to_list()), columns=items.to_list())
        exclude, candidates = (
            data if data is None else align(_load_if_path(data), name, named)
            for name, data in (("exclude", self.exclude), ("candidates", self.candidates))
        )
        cells = CandidateCells.of(matrix, exclude, candidates, counts)
        cells = cells.settled(plan.bad_scores, counts)
        everyone, full = IdSeries(users), cells.lengths > 0
        rows = MatrixRows(
            users=everyone.filter(full),
            empty_users=everyone.filter(~full),
            offsets=np.append(0, np.cumsum(cells.lengths[full])),
            numbers=cells.value,
            item_type=IdSeries(items).type,
            column_ids=IdSeries(items),
            of_column=cells.column,
        )
        counts["infinite_scores"] = int(np.count_nonzero(np.isinf(cells.value)))
        # Names of columns that are always text may mean integers; the users have a type.
        typed = users.dtype == pl.String and integers_from_text(users) is not None
        textual = read.textual and given[1] is None and not typed
        has_names = self.users is not None or unless_positions(users.to_list()) is not None
        shape: OriginShape = "" if has_names or len(users) == 1 else "rows"
        origin = Origin("Scores", textual, counts={"rows": len(rows), **+counts}, shape=shape)
        return Table(rows, "score", rows.empty_users, origin)


class _CountedQueries(RankingKind):
    """Queries with one true item each; the counts at this item are known, other items are not."""

    def __init__(self, queries: Queries, users: Any) -> None:
        self.queries: Queries = queries
        self._facts = Counter[str]()
        self.users: Ids = IdSeries(_check_distinct_ids(users, queries.n, self._facts))

    def __repr__(self) -> str:
        return f"{type(self).__name__} of {counted(self.queries.n, 'query', 'queries')}"

    def count(self, *, single: bool, tolerance: tuple[float, float]) -> Queries:  # noqa: ARG002
        """Queries counted with float32 scores if `single`, and with a tolerance for ties."""
        return self.queries

    def _read(self, plan: Plan) -> Table:
        """Read the queries as users whose only known item is 0."""
        n, tolerance = self.queries.n, load_convention(plan.tool).tolerance
        frame = self._frame_of_items(to_series(np.zeros(n), "score"))
        rows = CountedRows(frame, functools.partial(_count_again, self, tolerance))
        facts = {name: n for name, n in self.queries.facts.items() if name == "mean_ranks"}
        if self.data == "samples":
            facts["sampled_candidates"] = int(self.queries.counts.n_ranked.max(initial=1)) - 1
        counts = {"rows": n, **facts, **self._facts}
        origin = Origin(type(self).__name__, counts=counts, words=QUERIES)
        return Table(rows, "score", self.users.take(np.zeros(0, dtype=np.int64)), origin)

    def _judged(self) -> Table:
        """Judgments with item 0 of each query as relevant."""
        frame = self._frame_of_items(to_series(np.ones(self.queries.n), "gain"))
        return _create_judgments(frame, self.users.to_series().head(0), type(self).__name__)

    def _frame_of_items(self, numbers: pl.Series) -> pl.DataFrame:
        item = to_series(np.zeros(self.queries.n, dtype=np.int64), "item")
        return pl.DataFrame([self.users.to_series().alias("user"), item, numbers])

    def _check_plan(self, plan: Plan) -> None:
        if not self.queries.sized:
            refuse_unknown_candidates(plan, self.queries)


def _count_again(kind: _CountedQueries, tolerance: tuple[float, float], single: bool) -> Queries:
    return kind.count(single=single, tolerance=tolerance)


class Sampled(_CountedQueries):
    """Scores of true items and of sampled negatives, as a ranking with its ground truth.

    Each positive is the only relevant item of a query, and its negatives are all other candidates.
    Functions take it without a ground truth, and it is compared with others of the same queries.

    Parameters
    ----------
    positives : array of shape (n,)
        The score of the true item of each query.
    negatives : array of shape (n, m) or (m,)
        The scores of its negatives, or of one pool that all queries share.
    users : array or list, optional
        The id of each query; 0, 1, 2 … without.

    Raises
    ------
    DataError
        If shapes do not fit, ids repeat, or scores are not numbers.

    Notes
    -----
    Ties are ``realistic`` by default, as in `rankmeter.evaluate_scores` with `negatives`.

    Examples
    --------
    The first positive is below one of its three negatives, the second above all: ranks 2 and 1.

    >>> import rankmeter as rm
    >>> sampled = rm.Sampled([0.5, 0.9], [[0.7, 0.1, 0.2], [0.3, 0.8, 0.4]])
    >>> rm.evaluate(sampled, None, ["rr", "mr"])["mr"].mean
    1.5
    """

    data: ClassVar[Input] = "samples"

    def __init__(self, positives: Any, negatives: Any, *, users: Any = None) -> None:
        self.positives: Any = _load_if_path(positives)
        self.negatives: Any = _load_if_path(negatives)
        super().__init__(count_samples(self.positives, self.negatives, CountRequest()), users)

    def _check_beside(self, others: Iterable[RankingKind]) -> None:
        sizes = np.sort(self.queries.counts.n_ranked)
        for other in others:
            if not isinstance(other, _CountedQueries) or not other.queries.sized:
                what = f"{type(other).__name__} does not say among how many it was ranked"
                if isinstance(other, Ranks):
                    what += ", rm.Ranks(…, candidates=…)"
            elif np.array_equal(sizes, np.sort(other.queries.counts.n_ranked)):
                continue
            else:
                most = (int(n.max(initial=1)) for n in (sizes, other.queries.counts.n_ranked))
                what = "one was ranked among {:,} candidates and the other among {:,}".format(*most)
            raise UsageError(f"{NOT_COMPARABLE}: {what}")

    def count(self, *, single: bool, tolerance: tuple[float, float]) -> Queries:
        if not single and not any(tolerance):
            return self.queries
        request = CountRequest(single=single, tolerance=tolerance)
        return count_samples(self.positives, self.negatives, request)


class Ranks(_CountedQueries):
    """Ranks that another tool has computed, as a ranking with its ground truth.

    Each rank is that of the only relevant item of a query. Functions take it without a ground
    truth, and it is compared with others of the same queries.

    Parameters
    ----------
    ranks : array of shape (n,)
        1-based. A rank that ends in .5 is the mean of a tie of two.
    candidates : int or array of shape (n,), optional
        Number of candidates among which each item was ranked, for metrics that depend on it.
    upper : array of shape (n,), optional
        The last rank of each tie, of which `ranks` are the first.
    users : array or list, optional
        The id of each query; 0, 1, 2 … without.

    Raises
    ------
    DataError
        If a rank is below 1 or above the number of its candidates, lengths do not fit, or ids
        repeat.

    Examples
    --------
    The mean rank of the old system is (1 + 2 + 4 + 10) / 4. Two of its reciprocal ranks, 1/2 and
    1/4, become 1 and 1/2, so the mean of four grows by 0.75 / 4.

    >>> import rankmeter as rm
    >>> old, new = rm.Ranks([1, 2, 4, 10]), rm.Ranks([1, 1, 2, 10])
    >>> rm.evaluate(old, None, "mr")["mr"].mean
    4.25
    >>> rm.compare({"old": old, "new": new}, None, "rr", baseline="old")["rr"][0].difference
    0.1875
    """

    data: ClassVar[Input] = "ranks"

    def __init__(
        self, ranks: Any, *, candidates: Any = None, upper: Any = None, users: Any = None
    ) -> None:
        super().__init__(
            read_ranks(_load_if_path(ranks), _load_if_path(upper), _load_if_path(candidates)), users
        )


class Grades(RankingKind):
    """Gains of ranked items in their order, best rank first, as a ranking with its ground truth.

    Functions take it without a ground truth, and it is compared with others of the same users that
    have the same relevant items.

    Parameters
    ----------
    lists : list of lists of numbers
        For each user the gain of each item of the list; 0 for items that are not relevant. Or the
        gains of one user, ``[0, 0, 1]``; or a mapping from user to gains.
    n_relevant : int or list of int, optional
        How many relevant items each user has, also outside the list, where they have the gain 1.
        Without it those in the list are taken for all, with a warning.
    users : array or list, optional
        The id of each list; 0, 1, 2 … without.

    Raises
    ------
    DataError
        If a gain is not a finite number, ids repeat, or `n_relevant` is below the number of
        relevant items in the list.

    See Also
    --------
    Positions : where only the ranks of the relevant items are known.

    Notes
    -----
    Items have no ids, so list metrics do not apply.

    Examples
    --------
    The first relevant items are at ranks 3 and 1. The first user has two relevant items, of which
    one is in the list.

    >>> import rankmeter as rm
    >>> grades = rm.Grades([[0, 0, 1], [2, 3, 0]], n_relevant=[2, 2])
    >>> result = rm.evaluate(grades, None, ["rr", "recall@3"])
    >>> round(result["rr"].mean, 4), result["recall@3"].mean
    (0.6667, 0.75)
    """

    data: ClassVar[Input] = "grades"
    _judges_all: ClassVar[bool] = True
    """Whether items that are not relevant are judged."""

    def __init__(self, lists: Any, *, n_relevant: Any = None, users: Any = None) -> None:
        rows, users = _rows_by_user(
            "lists", "the gains of the items of each user, such as [[0, 0, 1]]", lists, users
        )
        gains = [_check_row_gains(row, gain) for row, gain in enumerate(rows)]
        self.lengths: IntArray = np.array([gain.size for gain in gains], dtype=np.int64)
        self.gains: FloatArray = np.concatenate([*gains, np.zeros(0)])
        self.users: pl.Series = _check_distinct_ids(users, self.lengths.size, Counter())
        self.row: IntArray = np.repeat(np.arange(self.lengths.size), self.lengths)
        self.listed: IntArray = np.bincount(self.row[self.gains > 0], minlength=self.lengths.size)
        self.is_complete: bool = n_relevant is not None
        self.n_relevant: IntArray = _check_n_relevant(n_relevant, self.listed)

    def __repr__(self) -> str:
        return f"{type(self).__name__} of {counted(self.lengths.size, 'list')}"

    def _read(self, plan: Plan) -> Table:  # noqa: ARG002
        """Read the lists as rows; items are named by their gains."""
        frame = pl.DataFrame(
            [self._users_of_rows(self.row), to_series(self._item_numbers(), "item")]
        )
        empty = IdSeries(self.users.filter(to_series(self.lengths == 0)))
        cautions = () if self.is_complete else (UNKNOWN,)
        origin = Origin(type(self).__name__, counts={"rows": self.row.size}, cautions=cautions)
        return Table(InFrame(frame), "list", empty, origin)

    def _judged(self) -> Table:
        """Judgments of the items in the lists, and of relevant items outside the lists."""
        absent = self.n_relevant - self.listed
        user = np.repeat(np.arange(absent.size), absent)
        nth = np.arange(user.size) - (np.cumsum(absent) - absent)[user] + self.listed[user]
        said = np.flatnonzero(self._judges_all | (self.gains > 0))
        row, item = np.append(self.row[said], user), np.append(self._item_numbers()[said], nth)
        gain = np.append(self.gains[said], np.ones(user.size))
        frame = pl.DataFrame(
            [self._users_of_rows(row), to_series(item, "item"), to_series(gain, "gain")]
        )
        without = np.bincount(row, minlength=self.lengths.size) == 0
        users = self.users.filter(to_series(without))
        return _create_judgments(frame, users, type(self).__name__)

    def _users_of_rows(self, row: IntArray) -> pl.Series:
        return self.users.gather(to_series(row)).alias("user")

    def _item_numbers(self) -> IntArray:
        """Number that names each item of the lists.

        Relevant ones are 0, 1, 2 … by falling gain, and the others -1, -2 … by rank: so two lists
        with the same relevant items have the same ground truth.
        """
        order = np.lexsort((np.arange(self.row.size), -self.gains, self.row))
        nth = np.empty(self.row.size, dtype=np.int64)
        nth[order] = np.arange(self.row.size) - (np.cumsum(self.lengths) - self.lengths)[self.row]
        return np.where(self.gains > 0, nth, self.listed[self.row] - nth - 1)


class Positions(Grades):
    """Ranks of all relevant items of each user, as a ranking with its ground truth.

    Functions take it without a ground truth, and it is compared with others of the same users that
    have as many relevant items.

    Parameters
    ----------
    positions : list of lists of int
        For each user the ranks of the relevant items in the list, 1-based and in any order. Or
        those of one user, ``[2, 5, 8]``; or a mapping from user to ranks.
    n_relevant : int or list of int, optional
        How many relevant items each user has, also outside the list. Without it as many as
        positions.
    users : array or list, optional
        The id of each user; 0, 1, 2 … without.

    Raises
    ------
    DataError
        If a position is not an integer of 1 or more, or is repeated; ids repeat; or
        `n_relevant` is below the number of positions.

    See Also
    --------
    Grades : the gains of whole lists.
    Ranks : one relevant item for each query.

    Notes
    -----
    How long the lists are is not known, so metrics that depend on it, such as precision without a
    cutoff or ``auc``, are an error. Items that are not relevant are not judged, as with sets of
    relevant items.

    Examples
    --------
    Two of three relevant items are in the top 5, the first one at rank 2.

    >>> import rankmeter as rm
    >>> result = rm.evaluate(rm.Positions([2, 5, 8]), metrics=["precision@5", "recall@5", "rr"])
    >>> [round(estimate.mean, 4) for estimate in result.values()]
    [0.4, 0.6667, 0.5]
    """

    _judges_all = False

    def __init__(self, positions: Any, *, n_relevant: Any = None, users: Any = None) -> None:
        rows, users = _rows_by_user(
            "positions", "the ranks of the relevant items of each user, such as [[2, 5, 8]]",
            positions, users,
        )  # fmt: skip
        ranks = [_check_positions(row, data) for row, data in enumerate(rows)]
        deepest = np.array([rank.max(initial=0) for rank in ranks], dtype=np.int64)
        if deepest.astype(np.float64).sum() > _LONGEST_LISTS:
            row = int(deepest.argmax())
            raise DataError(
                f"lists down to the positions, such as {deepest[row]:,} of list {row}, have more "
                f"than {_LONGEST_LISTS:,} items in all: leave out positions below your largest "
                "cutoff, and pass the number of all relevant items as n_relevant="
            )
        if n_relevant is None:
            n_relevant = np.array([rank.size for rank in ranks], dtype=np.int64)
        lists = [np.bincount(rank - 1) for rank in ranks]
        super().__init__(lists, n_relevant=n_relevant, users=users)

    def _check_plan(self, plan: Plan) -> None:
        refuse_unknown_candidates(plan, self._count())

    def _count(self) -> Queries:
        """Ranks of all relevant items, in lists whose lengths are not known."""
        ranked = np.flatnonzero(self.gains)
        absent = np.repeat(np.arange(self.lengths.size), self.n_relevant - self.listed)
        row = np.append(self.row[ranked], absent)
        above = ranked - (np.cumsum(self.lengths) - self.lengths)[self.row[ranked]]
        above = np.append(above, np.zeros(absent.size, dtype=np.int64))
        order, zeros = np.argsort(row, kind="stable"), np.zeros(row.size, dtype=np.int64)
        found = (np.arange(row.size) < ranked.size)[order]
        return Queries(
            RankCounts(row[order], np.ones(row.size), above[order], zeros, zeros, self.lengths),
            found,
            found,
            np.arange(self.lengths.size),
            facts={"rows": self.lengths.size},
            sized=False,
            remedy="the length of the list, which Positions do not say: write it with a cutoff, or "
            "pass whole lists, rm.Grades([[0, 1, 0, …]])",
        )


_LONGEST_LISTS = 100_000_000
"""The most items in lists that are known by positions."""


def _rows_by_user(name: str, expected: str, data: Any, users: Any) -> tuple[list[Any], Any]:
    """List the rows of users, and their ids: of a mapping, of rows, or of the row of one user."""
    if hasattr(data, "columns"):
        raise option_error(name, f"{expected}, without columns: frame.to_numpy()", data)
    if isinstance(data, Mapping):
        if users is not None:
            raise UsageError("a mapping names its users: leave `users` out", option="users")
        return [*data.values()], [*data]
    if isinstance(data, str) or not (rows := list_values(name, expected, data)):
        return ([data] if isinstance(data, str) else []), users
    if all(isinstance(row, Real) or getattr(row, "ndim", None) == 0 for row in rows):
        return [data if isinstance(data, set | frozenset) else rows], users
    if users is None and hasattr(data, "index") and hasattr(data, "to_numpy"):
        users = data.index.tolist()  # of a Series of pandas
    return rows, users


def _check_positions(row: int, data: Any) -> IntArray:
    """Check the positions of one user: distinct integers from 1."""
    values = sorted(data) if isinstance(data, set | frozenset) else data
    ranks = to_numpy(asarray(values, "positions"))
    whole = ranks.ndim == 1 and (not ranks.size or ranks.dtype.kind in "iuf")
    if not whole or not ((ranks >= 1) & (ranks <= LARGEST_RANK) & (ranks == np.floor(ranks))).all():
        hint = ""
        if whole and (ranks == 0).any():
            hint = ". If they count from 0, add 1; if they are 0 or 1 for each item: rm.Grades"
        elif ranks.dtype.kind == "b":
            hint = ". For each item whether it is relevant: rm.Grades"
        raise InvalidValueError(
            f"list {row} of Positions must be the ranks of the relevant items, integers of 1 or "
            f"more, such as [2, 5, 8]; got {brief(data)}{hint}"
        )
    distinct, times = np.unique(ranks, return_counts=True)
    if distinct.size < ranks.size:
        raise DuplicateError(
            f"position {distinct[times > 1][0]:g} is twice in list {row} of Positions: "
            f"{brief(data)}. Each relevant item has its own rank; if these are gains of items in "
            "their order: rm.Grades"
        )
    return ranks.astype(np.int64)  # type: ignore[no-any-return]


def _check_row_gains(row: int, data: Any) -> npt.NDArray[np.float64]:
    gains = to_numpy(asarray(data, "lists"))
    wrong = gains.ndim != 1 or gains.dtype.kind not in "iufb"
    if wrong or not (np.isfinite(gains) & (gains >= 0)).all():
        raise InvalidValueError(
            f"list {row} of Grades must be the gains of the ranked items in their order, numbers "
            f"of 0 or more, such as [0, 0, 1]; got {brief(data)}"
        )
    return gains.astype(np.float64)  # type: ignore[no-any-return]


def _check_n_relevant(data: Any, listed: IntArray) -> IntArray:
    """Check the number of relevant items of each user; by default the numbers in the lists."""
    if data is None:
        return listed
    numbers = to_numpy(asarray(data, "n_relevant"))
    if numbers.dtype.kind not in "iu" or numbers.shape not in ((), listed.shape):
        raise DataError(
            f"`n_relevant` must be an integer, or one for each of "
            f"{counted(listed.size, 'list')}, got {brief(data)}"
        )
    n_relevant: IntArray = np.broadcast_to(numbers.astype(np.int64), listed.shape)
    if (wrong := np.flatnonzero(n_relevant < listed)).size:
        first = wrong[0]
        raise DataError(
            f"`n_relevant` of list {first} is {n_relevant[first]}, but the list has "
            f"{counted(int(listed[first]), 'relevant item')}"
        )
    return n_relevant


UNKNOWN = (
    "relevant items outside the lists of Grades are unknown, so those in the lists are taken for "
    "all; pass n_relevant="
)


def _create_judgments(frame: pl.DataFrame, empty: pl.Series, source: str) -> Table:
    return Table(
        InFrame(frame), "list", IdSeries(empty), Origin(source, counts={"rows": frame.height})
    )


def _load_if_path(data: Any) -> Any:
    """Read an array if the data are a path; return other data unchanged."""
    return read_array_file(data) if is_path(data) else data


def _check_distinct_ids(data: Any, n: int, counts: Counter[str], role: str = "user") -> pl.Series:
    """Check that ids are distinct; by default the ids are the numbers from 0."""
    if data is None:
        return pl.Series(role, np.arange(n))
    column = row_values(_load_if_path(data), f"{role}s", n)
    checked = to_ids(column, role, f"{role}s=", counts)
    if count_distinct(checked) < len(checked):
        repeated = checked.filter(checked.is_duplicated())[0]
        raise DuplicateError(f"duplicate {role} {brief(repeated)} in {role}s=")
    return checked
