"""Where the truth stands in the rankings: the last place that sees ids and scores."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from rankmeter._hits import FloatArray, Hits, IntArray
from rankmeter._ingest import Table
from rankmeter._pairs import best_of, common, unique_items, unique_judgements
from rankmeter._plan import Alignment
from rankmeter._ranks import find, group
from rankmeter.errors import NoOverlapError

__all__ = ["Aligned", "Judged", "align", "prepare", "universe"]

BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Aligned:
    """Hits together with whose hits they are.

    Attributes
    ----------
    users : polars.Series
        Ids of the users, ascending: all that the truth or the rankings name.
    hits : Hits
        Their hits, in the same order.
    nonrelevant : Hits
        The same of the items judged as not relevant.
    in_truth, in_rankings : bool arrays of shape (n_users,)
        Whether each side names the user (an empty list names its user).
    has_truth : bool array of shape (n_users,)
        Whether the truth judges any item of the user.
    counts : dict of str to int
        What was merged or resolved on the way.
    """

    users: pl.Series
    hits: Hits
    nonrelevant: Hits
    in_truth: BoolArray
    in_rankings: BoolArray
    has_truth: BoolArray
    counts: dict[str, int]

    @property
    def evidence(self) -> dict[str, Hits]:
        """What a metric may ask for, by name."""
        return {"hits": self.hits, "nonrelevant": self.nonrelevant}


@dataclass(frozen=True, eq=False)
class Judged:
    """The truth in one alignment, prepared once for any number of rankings.

    Attributes
    ----------
    table : Table
        The truth as it was read.
    choices : Alignment
    codes : _Codes
        The users that any of the rankings or the truth names.
    frame : polars.DataFrame
        One judgement per user and item: ``user``, ``item``, ``gain``, ``code``.
    relevant, others : Hits
        The perfect rankings of the relevant items and of the other judged ones.
    in_truth, has_truth : bool arrays of shape (n_users,)
    counts : dict of str to int
    """

    table: Table
    choices: Alignment
    codes: _Codes
    frame: pl.DataFrame
    relevant: Hits
    others: Hits
    in_truth: BoolArray
    has_truth: BoolArray
    counts: dict[str, int]


def prepare(truth: Table, users: pl.Series, choices: Alignment) -> Judged:
    """Prepare the truth for `align`.

    Parameters
    ----------
    truth : Table
    users : polars.Series
        All users that the truth or any of the rankings names, ascending: see `universe`.
    choices : Alignment

    Raises
    ------
    DuplicateError
        If judgements contradict each other and the choices refuse that.
    """
    counts: dict[str, int] = {}
    codes = _Codes(users)
    frame = unique_judgements(truth, choices, counts)
    code, gain = codes.of(frame["user"]), frame["gain"].to_numpy()
    wanted = _is_relevant(gain, choices)
    return Judged(
        truth,
        choices,
        codes,
        frame.with_columns(code=pl.Series(code)),
        _perfect(code[wanted], _worth(gain[wanted], choices), codes.n),
        _perfect(code[~wanted], gain[~wanted], codes.n),
        codes.mark(truth.frame["user"], truth.empty_users),
        codes.mark(truth.frame["user"]),
        counts,
    )


def align(
    rankings: Table, truth: Table | Judged, choices: Alignment, *, no_overlap: str = "error"
) -> Aligned:
    """Find the hits.

    Parameters
    ----------
    rankings : Table
    truth : Table or Judged
        With ids of the same types; `Judged` must have been prepared with the same choices.
    choices : Alignment
    no_overlap : {"error", "allow"}
        What to do if the two sides share no user, or no item.

    Returns
    -------
    Aligned

    Raises
    ------
    DuplicateError, InvalidValueError, NoOverlapError
    """
    if isinstance(truth, Table):
        truth = prepare(truth, universe(truth, rankings), choices)
    judged, codes, counts = truth.frame, truth.codes, dict(truth.counts)
    frame = unique_items(rankings, choices, counts)
    user = codes.of(rankings.frame["user"])
    in_rankings = codes.mark(rankings.empty_users)
    in_rankings[user] = True
    if no_overlap == "error":
        _check_users(rankings, truth.table, bool((truth.in_truth & in_rankings).any()))
    if choices.pool == "judged":
        known = judged.filter(pl.col("gain") >= 0)
        frame = frame.join(known, on=["user", "item"], how="semi")
    if choices.scope == "appended":
        frame = _append(frame, judged, rankings.order)
    if frame is not rankings.frame:
        user = codes.of(frame["user"])
    ranked = group(frame, user, codes.n, rankings.order, choices)
    n_ranked = np.diff(ranked.offsets)
    pairs = common(frame, judged)
    if choices.duplicates == "first":
        pairs = best_of(pairs, rankings.order)
    if pairs.is_empty() and no_overlap == "error":
        _check_items(frame, judged, rankings, truth.table)
    everything = hits = find(frame, pairs, ranked, choices, counts)
    if choices.retrieved == "positive" and rankings.order == "score":
        hits = find(frame, pairs.filter(pl.col("score") > 0), ranked, choices, counts)
    if choices.depth is not None:
        n_ranked = np.minimum(n_ranked, choices.depth)

    found = _is_relevant(hits.gain, choices)
    perfect, others = truth.relevant, truth.others
    if choices.scope != "all":
        user, gain = everything.user, everything.gain
        wanted = _is_relevant(gain, choices)
        perfect = _perfect(user[wanted], _worth(gain[wanted], choices), codes.n)
        others = _perfect(user[~wanted], gain[~wanted], codes.n)
    nonrelevant = _select(hits, ~found, others.n_relevant, n_ranked)
    result = _select(hits, found, perfect.n_relevant, n_ranked)
    result = replace(result, gain=_worth(result.gain, choices))
    return Aligned(
        codes.users,
        replace(result, ideal=perfect),
        replace(nonrelevant, ideal=others),
        truth.in_truth,
        in_rankings,
        truth.has_truth,
        counts,
    )


class _Codes:
    """Users as their place in the sorted universe."""

    def __init__(self, users: pl.Series) -> None:
        self.users = users
        self.n = len(users)
        self.table: IntArray | None = None
        if users.dtype.is_integer() and self.n:
            low, high = int(users[0]), int(users[-1])
            if _compact(low, high, self.n):
                self.low = low
                self.table = np.full(high - low + 1, -1, dtype=np.int64)
                self.table[users.to_numpy().astype(np.int64) - low] = np.arange(self.n)

    def of(self, series: pl.Series) -> IntArray:
        """Codes of ids that all belong to the universe."""
        if self.table is not None:
            codes: IntArray = self.table[series.to_numpy().astype(np.int64) - self.low]
            return codes
        index = pl.DataFrame({"user": self.users, "code": np.arange(self.n)})
        found = series.to_frame("user").join(index, on="user", how="left", maintain_order="left")
        return found["code"].to_numpy().astype(np.int64)

    def mark(self, *parts: pl.Series) -> BoolArray:
        """Which users occur in any of the parts."""
        present = np.zeros(self.n, dtype=bool)
        for part in parts:
            if len(part):
                present[self.of(part if self.table is not None else part.unique())] = True
        return present


def universe(truth: Table, *rankings: Table) -> pl.Series:
    """All users that the truth or any of the rankings names, ascending."""
    parts = [
        part for table in (truth, *rankings) for part in (table.frame["user"], table.empty_users)
    ]
    named = [part for part in parts if len(part)]
    if not named:
        return parts[0]
    dtype = named[0].dtype
    if dtype.is_integer():
        low, high = min(int(p.min()) for p in named), max(int(p.max()) for p in named)  # type: ignore[arg-type]
        if _compact(low, high, sum(map(len, named))):
            present = np.zeros(high - low + 1, dtype=bool)
            for part in named:
                present[part.to_numpy().astype(np.int64) - low] = True
            return pl.Series("user", np.flatnonzero(present) + low, dtype=dtype)
    return pl.concat([part.cast(dtype).unique() for part in named]).unique().sort()


def _compact(low: int, high: int, n: int) -> bool:
    """Whether integer ids lie so close together that a table needs no hashing."""
    return low > -(2**62) and high < 2**62 and high - low < 4 * n + 1_000_000


def _append(frame: pl.DataFrame, judged: pl.DataFrame, order: str) -> pl.DataFrame:
    """The ranking rows, and behind them the judged items that they lack, tied with each other."""
    absent = judged.join(frame, on=["user", "item"], how="anti", maintain_order="left")
    absent = absent.select("user", "item")
    if order == "score":
        absent = absent.with_columns(score=pl.lit(-np.inf))
    elif order == "rank":
        last = frame.group_by("user").agg(pl.col("rank").max() + 1)
        absent = absent.join(last, on="user", how="left", maintain_order="left")
        absent = absent.with_columns(pl.col("rank").fill_null(1))
    return pl.concat([frame, absent], how="diagonal_relaxed")


def _is_relevant(gain: FloatArray, choices: Alignment) -> BoolArray:
    operator, threshold = choices.threshold
    return gain >= threshold if operator == ">=" else gain > threshold


def _worth(gain: FloatArray, choices: Alignment) -> FloatArray:
    """What relevant items of these gains count."""
    if choices.gains != "above":
        return gain
    operator, threshold = choices.threshold
    return gain - threshold + (operator == ">=")


def _perfect(user: IntArray, gain: FloatArray, n_users: int) -> Hits:
    counts = np.bincount(user, minlength=n_users)
    offsets = np.concatenate(([0], np.cumsum(counts)))
    return Hits.perfect(offsets, gain[np.lexsort((-gain, user))])


def _select(hits: Hits, keep: BoolArray, n_relevant: IntArray, n_ranked: IntArray) -> Hits:
    """Some of the hits, with the facts about their users."""
    return replace(hits.where(keep), n_relevant=n_relevant, n_ranked=n_ranked)


def _check_users(rankings: Table, truth: Table, common: bool) -> None:
    if not common and not (rankings.frame.is_empty() and rankings.empty_users.is_empty()):
        raise NoOverlapError(_no_common("user", rankings.frame, truth.frame, rankings, truth))


def _check_items(frame: pl.DataFrame, judged: pl.DataFrame, rankings: Table, truth: Table) -> None:
    if frame.is_empty() or judged.is_empty():
        return
    if frame.join(judged, on="item", how="semi").is_empty():
        raise NoOverlapError(_no_common("item", frame, judged, rankings, truth))


def _no_common(
    column: str, frame: pl.DataFrame, judged: pl.DataFrame, rankings: Table, truth: Table
) -> str:
    def show(values: pl.Series) -> str:
        return f"{', '.join(map(repr, values.unique().sort().head(3).to_list()))} ({values.dtype})"

    return (
        f"rankings and truth have no {column} in common: {rankings.source} has "
        f"{show(frame[column])}, {truth.source} has {show(judged[column])}. Check that both use "
        f"the same ids and that the {column} columns are the right ones (columns=), or choose "
        "no_overlap='allow'"
    )
