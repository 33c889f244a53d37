"""Ranks, then where the truth stands in the rankings: the last place that sees ids and scores.

A rank is a count: one plus the number of items scored higher. So lists are never ordered as
wholes: the scores of each user are sorted as bare numbers, and each hit is looked up among them.
Items of equal score leave a span of ranks; the tie rule turns spans into ranks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from rankmeter._hits import FloatArray, Hits, IntArray
from rankmeter._ingest import Table
from rankmeter._plan import Alignment
from rankmeter.errors import DuplicateError, InvalidValueError, NoOverlapError

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
    in_truth, in_rankings : bool arrays of shape (n_users,)
        Whether each side names the user (an empty list names its user).
    has_truth : bool array of shape (n_users,)
        Whether the truth judges any item of the user.
    counts : dict of str to int
        What was merged or resolved on the way.
    """

    users: pl.Series
    hits: Hits
    in_truth: BoolArray
    in_rankings: BoolArray
    has_truth: BoolArray
    counts: dict[str, int]


@dataclass(frozen=True, eq=False)
class _Ranked:
    """The ranking rows, grouped by user without being moved."""

    user: IntArray  # code of the user of each row
    value: FloatArray | None  # what orders: smaller is better; None for the order of the rows
    given: bool  # whether `value` is itself the rank
    order: IntArray  # rows, grouped by user, in their original order within a user
    offsets: IntArray  # where each user's rows begin in `order`


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
    frame = _unique_judgements(truth, choices, counts)
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
    frame = _unique_items(rankings, choices, counts)
    in_rankings = codes.mark(rankings.frame["user"], rankings.empty_users)
    if no_overlap == "error":
        _check_users(rankings, truth.table, bool((truth.in_truth & in_rankings).any()))
    if choices.pool == "judged":
        known = judged.filter(pl.col("gain") >= 0)
        frame = frame.join(known, on=["user", "item"], how="semi")
    if choices.scope == "appended":
        frame = _append(frame, judged, rankings.order)
    ranked = _group(frame, codes, rankings.order, choices)
    n_ranked = np.diff(ranked.offsets)
    pairs = frame.with_row_index("row").join(judged, on=["user", "item"], how="inner")
    if choices.duplicates == "first":
        pairs = _best(pairs, rankings.order)
    if pairs.is_empty() and no_overlap == "error":
        _check_items(frame, judged, rankings, truth.table)
    everything = hits = _hits(frame, pairs, ranked, choices, counts)
    if choices.retrieved == "positive" and rankings.order == "score":
        hits = _hits(frame, pairs.filter(pl.col("score") > 0), ranked, choices, counts)
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
        replace(result, ideal=perfect, judged=replace(nonrelevant, ideal=others)),
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
            # Integer ids that lie close together need no hashing, only a table.
            if low > -(2**62) and high < 2**62 and high - low < 4 * self.n + 1_000_000:
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
    dtype = named[0].dtype if named else parts[0].dtype
    return pl.concat([p.cast(dtype).unique() for p in named] or parts[:1]).unique().sort()


def _has_duplicates(frame: pl.DataFrame) -> bool:
    """Whether any (user, item) stands twice.

    Equal pairs have equal hashes, so only if two hashes meet need the pairs be compared.
    """
    keys = frame.select(pl.col("user").hash(1) + pl.col("item").hash(2)).to_series().to_numpy()
    keys = np.sort(keys)
    if not np.any(keys[1:] == keys[:-1]):
        return False
    return bool(frame.select(pl.struct("user", "item").is_duplicated().any()).item())


def _unique_items(rankings: Table, choices: Alignment, counts: dict[str, int]) -> pl.DataFrame:
    """The ranking rows, each item once per user unless every one is to count."""
    frame = rankings.frame
    if frame.is_empty() or not _has_duplicates(frame):
        return frame
    twice = frame.filter(pl.struct("user", "item").is_duplicated())
    extra = twice.height - twice.select("user", "item").n_unique()
    if choices.duplicates == "error":
        examples = twice.select("user", "item").unique().sort("user", "item").head(3)
        shown = "; ".join(f"user {u!r} item {i!r}" for u, i in examples.iter_rows())
        raise DuplicateError(
            f"{extra} repeated items in the rankings ({rankings.source}), for example {shown}. "
            "Remove them, or choose duplicates='best' (keep the best rank) or 'each' (count every "
            "one). If a filler id marks empty places, drop those rows"
        )
    if choices.duplicates == "each":
        counts["duplicate_items_counted"] = extra
        return frame
    counts["duplicate_items_dropped"] = extra
    if choices.duplicates == "first":
        return frame
    return _best(frame.with_row_index("row"), rankings.order).drop("row")


def _best(numbered: pl.DataFrame, by: str) -> pl.DataFrame:
    """Of the rows of one user and item the one that ranks best, in the order of the rows."""
    if by != "list":
        numbered = numbered.sort(by, descending=by == "score", maintain_order=True)
    return numbered.unique(["user", "item"], keep="first", maintain_order=True).sort("row")


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


def _unique_judgements(truth: Table, choices: Alignment, counts: dict[str, int]) -> pl.DataFrame:
    """One judgement per user and item."""
    frame = truth.frame.select("user", "item", "gain")
    if frame.is_empty() or not _has_duplicates(frame):
        return frame
    pairs = frame.group_by("user", "item", maintain_order=True)
    merged = pairs.agg(pl.len(), pl.col("gain").n_unique().alias("values"), _merge(choices))
    clash = merged.filter(pl.col("values") > 1)
    if choices.judgements == "error" and clash.height:
        shown = "; ".join(
            f"user {u!r} item {i!r}" for u, i in clash.select("user", "item").head(3).iter_rows()
        )
        raise DuplicateError(
            f"{clash.height} items have contradicting judgements ({truth.source}), for example "
            f"{shown}. Keep one of each, or choose judgements='max', 'last' or 'sum'"
        )
    counts["duplicate_judgements_merged"] = frame.height - merged.height
    return merged.select("user", "item", "gain")


def _merge(choices: Alignment) -> pl.Expr:
    gain = pl.col("gain")
    return {"max": gain.max(), "sum": gain.sum()}.get(choices.judgements, gain.last())


def _group(frame: pl.DataFrame, code: _Codes, by: str, choices: Alignment) -> _Ranked:
    user = code.of(frame["user"])
    value: FloatArray | None = None
    if by == "score":
        value = -frame["score"].to_numpy()
        if choices.score_type == "float32":
            value = value.astype(np.float32).astype(np.float64)
    elif by == "rank":
        value = frame["rank"].to_numpy().astype(np.float64)
        whole = np.floor(value) == value
        if not whole.all():
            raise InvalidValueError(
                f"ranks are whole numbers from 1 up, found {value[~whole][0]}; if more is better, "
                "pass the column as score: columns={'score': …}"
            )
    offsets = np.concatenate(([0], np.cumsum(np.bincount(user, minlength=code.n))))
    return _Ranked(user, value, by == "rank", _by_user(user), offsets)


def _by_user(user: IntArray) -> IntArray:
    """Row numbers grouped by user, in their original order within a user."""
    rows = np.arange(user.size)
    if np.all(user[1:] >= user[:-1]):
        return rows
    if user.size >= 2**32:
        return np.argsort(user, kind="stable")
    # Sorting packed numbers by value is several times faster than a stable argsort.
    packed = (user.astype(np.uint64) << np.uint64(32)) | rows.astype(np.uint64)
    packed.sort()
    return (packed & np.uint64(0xFFFFFFFF)).astype(np.int64)


def _hits(
    frame: pl.DataFrame,
    pairs: pl.DataFrame,
    ranked: _Ranked,
    choices: Alignment,
    counts: dict[str, int],
) -> Hits:
    """All judged items that the rankings contain, ordered by user and rank."""
    row = pairs["row"].to_numpy().astype(np.int64)
    user, gain = pairs["code"].to_numpy(), pairs["gain"].to_numpy()
    low, high = _spans(row, user, ranked)
    tied = high > low
    counts["tied_hits"] = int(tied.sum())
    counts["users_with_tied_hits"] = int(np.unique(user[tied]).size)
    rank = low.astype(np.float64)
    if tied.any():
        rule = choices.ties
        if rule in ("item", "item-descending", "input"):
            rank[tied] += _places(frame, row[tied], ranked, rule)
            low = high = rank.astype(np.int64)
        elif rule in ("optimistic", "pessimistic"):
            rank, low, high = _bounds(user, gain, low, high, best=rule == "optimistic")
        elif rule == "rounded":
            rank = low + (high - low + 1) // 2.0
            low = high = rank.astype(np.int64)
        else:
            rank = (low + high) / 2.0
            if rule == "realistic":
                low = high = low + (high - low) // 2
    order = np.lexsort((-gain, rank, user))
    if choices.depth is not None:
        order = order[rank[order] <= choices.depth]
    n = ranked.offsets.size - 1
    return Hits(
        np.concatenate(([0], np.cumsum(np.bincount(user[order], minlength=n)))),
        rank[order],
        gain[order],
        np.zeros(n, dtype=np.int64),
        np.zeros(n, dtype=np.int64),
        low[order],
        high[order],
    )


def _spans(row: IntArray, user: IntArray, ranked: _Ranked) -> tuple[IntArray, IntArray]:
    """First and last rank that each hit could have, given its score and those of its user."""
    if ranked.value is None:
        place = np.empty(ranked.order.size, dtype=np.int64)
        place[ranked.order] = np.arange(ranked.order.size)
        rank = place[row] - ranked.offsets[user] + 1
        return rank, rank
    # Only the lists of users with hits need sorting.
    length = np.diff(ranked.offsets)
    has = np.zeros(length.size, dtype=bool)
    has[user] = True
    kept = ranked.order if has.all() else ranked.order[np.repeat(has, length)]
    offsets = np.concatenate(([0], np.cumsum(np.where(has, length, 0))))
    value = _sort_within(ranked.value[kept], offsets)
    wanted = ranked.value[row]
    begin, end = offsets[user], offsets[user + 1]
    above = _search(value, wanted, begin, end, after=False) - begin
    upto = _search(value, wanted, begin, end, after=True) - begin
    if ranked.given:
        first = wanted.astype(np.int64)
        return first, first + (upto - above) - 1
    return above + 1, upto


def _sort_within(value: FloatArray, offsets: IntArray) -> FloatArray:
    """Sort each segment. Segments of like length are the rows of one padded matrix."""
    length = np.diff(offsets)
    if length.size and length.min() == length.max():
        return np.sort(value.reshape(length.size, -1), axis=1).ravel()
    result = np.empty_like(value)
    width = np.zeros(length.size, dtype=np.int64)
    some = length > 0
    width[some] = 1 << np.ceil(np.log2(length[some])).astype(np.int64)
    for size in np.unique(width[some]).tolist():
        segments = np.flatnonzero(width == size)
        inside = np.arange(size) < length[segments][:, None]
        place = (offsets[segments][:, None] + np.arange(size))[inside]
        padded = np.full(inside.shape, np.inf)
        padded[inside] = value[place]
        padded.sort(axis=1)
        result[place] = padded[inside]
    return result


def _search(
    value: FloatArray, wanted: FloatArray, begin: IntArray, end: IntArray, *, after: bool
) -> IntArray:
    """Binary search of each wanted number in its own sorted segment, all at once."""
    low, high = begin.copy(), end.copy()
    for _ in range(int((end - begin).max(initial=0)).bit_length()):
        open_ = low < high
        middle = (low + high) // 2
        probe = value[np.minimum(middle, value.size - 1)]
        right = open_ & ((probe <= wanted) if after else (probe < wanted))
        low = np.where(right, middle + 1, low)
        high = np.where(open_ & ~right, middle, high)
    return low


def _places(frame: pl.DataFrame, row: IntArray, ranked: _Ranked, rule: str) -> IntArray:
    """How many of its tied items stand before each tied hit, by item or by order of the rows."""
    assert ranked.value is not None
    # −0.0 and 0.0 are equal scores with different bits: adding 0.0 makes them one.
    bits = (ranked.value + 0.0).view(np.int64)
    table = pl.DataFrame(
        {"user": ranked.user, "bits": bits, "item": frame["item"]}
    ).with_row_index()
    runs = table[row].select("user", "bits").unique()
    members = table.join(runs, on=["user", "bits"], how="semi")
    by = "index" if rule == "input" else "item"
    members = members.sort(
        ["user", "bits", by, "index"], descending=[False, False, rule == "item-descending", False]
    )
    start = np.ones(members.height, dtype=bool)
    run_user, run_bits = members["user"].to_numpy(), members["bits"].to_numpy()
    start[1:] = (run_user[1:] != run_user[:-1]) | (run_bits[1:] != run_bits[:-1])
    first = np.maximum.accumulate(np.where(start, np.arange(start.size), 0))
    place = np.zeros(frame.height, dtype=np.int64)
    place[members["index"].to_numpy()] = np.arange(start.size) - first
    return place[row]


def _bounds(
    user: IntArray, gain: FloatArray, low: IntArray, high: IntArray, *, best: bool
) -> tuple[FloatArray, IntArray, IntArray]:
    """The best order of each tied run (large gains, small gains, misses), or the worst."""
    order = np.lexsort((-gain if best else gain, low, user))
    new = np.ones(order.size, dtype=bool)
    new[1:] = (user[order][1:] != user[order][:-1]) | (low[order][1:] != low[order][:-1])
    head = np.maximum.accumulate(np.where(new, np.arange(order.size), 0))
    nth = np.arange(order.size) - head
    run = np.cumsum(new) - 1
    hits = np.bincount(run)[run]
    rank = np.empty_like(low)
    rank[order] = low[order] + nth if best else high[order] - hits + 1 + nth
    return rank.astype(np.float64), rank, rank


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
    assert hits.rank_low is not None
    assert hits.rank_high is not None
    offsets = np.concatenate(([0], np.cumsum(keep)))[hits.offsets]
    return Hits(
        offsets,
        hits.rank[keep],
        hits.gain[keep],
        n_relevant,
        n_ranked,
        hits.rank_low[keep],
        hits.rank_high[keep],
    )


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
