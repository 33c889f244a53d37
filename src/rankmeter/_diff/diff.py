"""What changed between two rankings of the same users: lists, places, items. No ground truth."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from rankmeter._choices import Setting, check_choice
from rankmeter._engine.choose import Reading
from rankmeter._engine.scores import Averaged
from rankmeter._evaluation.evaluate import evaluate
from rankmeter._evidence.hits import FloatArray, IntArray
from rankmeter._rankings.kind import RankingKind, resolve_plan_of_systems
from rankmeter._reading.doubts import refuse_two_readings
from rankmeter._reading.table import Table, make_empty_truth, unify_all_id_types
from rankmeter._results.answer import Answer
from rankmeter._results.estimates import Estimate, estimate_on_scale
from rankmeter._results.evaluated import mean_cells
from rankmeter._results.result import Logged, Result, mean_as_dict
from rankmeter._results.tables import TextTable
from rankmeter._results.wording import level_text, number_text
from rankmeter.errors import DuplicateError, RankmeterWarning, UnknownMetricError, UsageError
from rankmeter.errors._calls import answers_calls
from rankmeter.errors._checks import (
    Words,
    brief,
    check_fraction,
    check_integer,
    count_items,
    count_users,
    counted,
    no_rows_error,
    use_words,
    use_words_of_result,
    words_in_use,
)

SCALES = {"overlap": (0.0, 1.0), "rbo": (0.0, 1.0), "tau_ap": (-1.0, 1.0), "moved": (0.0, math.inf)}
"""The metrics of two lists, with the lowest and the highest value."""
SHOWN = 10
_PAIRS = 2**22  # compared at a time


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Diff(Logged):
    """Two rankings of the same users, list by list.

    Attributes
    ----------
    k : int or None
        The lists are compared down to this rank.
    p : float
        Persistence of rank-biased overlap.
    confidence : float
    users, equal : int
        Users with a list in both, and those whose lists are equal: the same items at the same
        ranks.
    only_old, only_new : int
        Users of one side alone.
    entered, left : int
        Items that are in the new list of a user and not in the old one, over all users, and vice
        versa.
    estimates : mapping of str to Estimate
        ``overlap``, ``rbo``, ``tau_ap`` and ``moved``, how many ranks common items moved: means
        over users.
    per_user : polars.DataFrame
        A row per user: user, equal, entered, left, overlap, rbo, tau_ap, moved.
    entered_items, left_items : polars.DataFrame
        The items that entered or left most lists, and how many: item, lists.
    """

    k: int | None
    p: float
    confidence: float
    users: int
    equal: int
    only_old: int
    only_new: int
    entered: int
    left: int
    estimates: Mapping[str, Estimate]
    per_user: pl.DataFrame
    entered_items: pl.DataFrame
    left_items: pl.DataFrame
    tied: int
    said: Words
    _shown: Mapping[str, list[dict[str, Any]]]  # rows of the tables, which print in forked children

    @property
    def _words(self) -> Words:
        """The vocabulary of the rankings."""
        return self.said

    def __getitem__(self, metric: str) -> Estimate:
        """The mean of ``overlap``, ``rbo``, ``tau_ap`` or ``moved``."""
        if not isinstance(metric, str) or metric not in self.estimates:
            raise UnknownMetricError(
                f"{brief(metric)} was not computed: two lists have {', '.join(SCALES)}",
                allowed=(*SCALES,),
            )
        return self.estimates[metric]

    def most_changed(self) -> pl.DataFrame:
        """The ten users whose lists changed most, by rank-biased overlap: rows of `per_user`."""
        return _most_changed(self.per_user)

    @use_words_of_result
    def headline(self) -> str:
        """How many lists are equal, and how similar they are."""
        rbo = self.estimates["rbo"].mean
        similar = "" if math.isnan(rbo) else f"; rbo is {number_text(rbo)}"
        return f"{self.equal:,} of {counted(self.users, 'list')} are equal{similar}"

    @use_words_of_result
    def table(self) -> TextTable:
        """The means of the metrics with their intervals."""
        e = self.estimates.values()
        undefined = any(one.undefined for one in e)
        interval = f"{level_text(self.confidence)} interval"
        columns = ["metric", "mean", interval, words_in_use().users]
        rows = [
            [one.label, *mean_cells(one.mean, one.low, one.high, one.n)]
            + ([f"{one.undefined:,}"] if undefined else [])
            for one in e
        ]
        return TextTable([*columns, *(["undefined"] if undefined else [])], rows)

    @use_words_of_result
    def users_table(self) -> TextTable:
        """The users whose lists changed most."""
        names = ("rbo", "overlap", "tau_ap", "moved")
        rows = [
            [str(row["user"]), *(_cell(row[name]) for name in names), str(row["entered"]),
             str(row["left"])]
            for row in self._shown["users"]
        ]  # fmt: skip
        return TextTable([words_in_use().user, *names, "entered", "left"], rows)

    @use_words_of_result
    def items_table(self) -> TextTable:
        """The items that entered or left most lists."""
        rows = [
            [str(row["item"]), what, f"{row['lists']:,}"]
            for what in ("entered", "left")
            for row in self._shown[what]
        ]
        return TextTable([words_in_use().item, "change", "lists"], rows, left=2)

    @property
    @use_words_of_result
    def notes(self) -> tuple[str, ...]:
        """Notes on the ranks that are compared, and on what is left out."""
        depth = "whole lists" if self.k is None else f"ranks 1 to {self.k:,}"
        said = [
            "overlap, rbo and tau_ap are 1 for equal lists; moved is a number of ranks",
            f"{depth}; {count_items(self.entered)} entered and {self.left:,} left, over all lists",
        ]
        for n, side in ((self.only_old, "old"), (self.only_new, "new")):
            if n:
                said.append(f"{count_users(n)} in the {side} rankings alone: left out")
        if self.tied:
            said.append(
                f"{counted(self.tied, 'list')} with equal scores: overlap, rbo and tau_ap count "
                f"all orders of tied {words_in_use().items}; ranks are in the order of their ids"
            )
        return tuple(said)

    def _answer(self) -> Answer:
        """The headline, the tables and the notes in the order in which all skins draw them."""
        tables = [self.users_table(), self.items_table()]
        shown = [table for table in tables if table.rows]
        return Answer(self.headline(), self.table(), self.notes, shown)

    def _tables(self) -> list[TextTable]:
        return [self.table(), self.users_table(), self.items_table()]

    def to_polars(self) -> pl.DataFrame:
        """One row per metric: metric, mean, low, high, std, n_users, undefined, missing."""
        frame = pl.DataFrame([vars(e) for e in self.estimates.values()])
        return frame.rename({"label": "metric", "n": "n_users"})

    def _dict_content(self) -> dict[str, Any]:
        names = (
            "k",
            "p",
            "confidence",
            "users",
            "equal",
            "only_old",
            "only_new",
            "entered",
            "left",
        )
        return {
            **{name: getattr(self, name) for name in names},
            "similarity": {
                name: mean_as_dict(e) | {"undefined": e.undefined}
                for name, e in self.estimates.items()
            },
            "most_changed": self._shown["users"],
            "entered_items": self._shown["entered"],
            "left_items": self._shown["left"],
            "notes": list(self.notes),
        }

    def conventions(self) -> list[str]:
        """The depth of the comparison and its options, for a paper."""
        where = f"lists down to rank {self.k}" if self.k else "whole lists"
        return [f"{where}; rbo with persistence {self.p:g}"]

    def _citation(self) -> str:
        from rankmeter._results.citation import sentence_on_means

        means = self.estimates
        return sentence_on_means([*means], means.values(), self.confidence, self.conventions())

    def _numbers_to_log(self) -> Iterable[tuple[tuple[str, ...], Mapping[str, float]]]:
        return (((name,), e.numbers()) for name, e in self.estimates.items())


def _cell(value: float | None) -> str:
    return "–" if value is None else number_text(value)


@answers_calls
def diff(
    old: object,
    new: object,
    *,
    k: int | None = None,
    p: float = 0.9,
    confidence: float = 0.95,
    columns: Mapping[str, Any] | None = None,
) -> Diff:
    """Compare two rankings of the same users, without ground truth.

    Parameters
    ----------
    old, new : object
        Rankings with items, in any form that `rankmeter.evaluate` takes and that fits into memory.
    k : int, optional
        Compare the first k ranks; default: whole lists.
    p : float
        Persistence of rank-biased overlap, between 0 and 1: the weight of rank d falls as p^d.
    confidence : float
        Level of the intervals.
    columns : mapping, optional
        As in `rankmeter.evaluate`, for both rankings.

    Returns
    -------
    Diff
        ``found["rbo"].mean``, ``found.equal``, ``found.most_changed()``, ``found.per_user``.

    Raises
    ------
    UsageError
        If rankings have no items.
    DataError
        If a ranking is empty or has an item twice, or the two have no user in common.

    Notes
    -----
    *overlap*: the share of the new list that is in the old one. *rbo*: rank-biased overlap,
    extrapolated: Webber, Moffat and Zobel, A similarity measure for indefinite rankings, ACM TOIS
    28, 2010; with ties RBO^a of Corsi and Urbano, SIGIR 2024. *tau_ap*: the AP correlation of the
    common items, for each item of the new list the share of those above it that are above it in the
    old list, too, from -1 to 1: Yilmaz, Aslam and Robertson, SIGIR 2008. With ties they are means
    over all orders of tied items, τ_ap,a of Urbano and Marrero, ICTIR 2017. *moved*: by how many
    ranks common items moved.

    Examples
    --------
    Two of three items changed places: of the pairs of items that follow each other in the new list,
    only "a", which was above "c", is in the old order: τ_ap = 2 · (0 + 2/2) / 2 − 1.

    >>> import rankmeter as rm
    >>> found = rm.diff({"ann": ["a", "b", "c"]}, {"ann": ["b", "a", "c"]})
    >>> found.equal, found["overlap"].mean, found["tau_ap"].mean, round(found["moved"].mean, 4)
    (0, 1.0, 0.0, 0.6667)
    """
    k = None if k is None else check_integer("k", k, least=1)
    p = check_fraction("p", p)
    setting = Setting(confidence=check_choice("confidence", confidence))
    before, after = _read(old, new, columns)
    words = after.origin.words
    with use_words(words):
        return _compare(before, after, k, p, setting, words)


def _read(old: object, new: object, columns: Mapping[str, Any] | None) -> tuple[Table, Table]:
    """Read both rankings, with ids of the same types."""
    tables = {}
    for name, data in (("old", old), ("new", new)):
        if isinstance(data, Result) or (isinstance(data, RankingKind) and data.data != "rankings"):
            raise UsageError(f"{name} is {type(data).__name__}, which has no lists of items")
        plan = resolve_plan_of_systems("hr@10", None, {}, [data])
        table = Reading(engine="memory").read_rankings(data, columns, plan)
        refuse_two_readings(table, make_empty_truth(table))
        if not table.height:
            raise no_rows_error(name)
        repeated = table.frame.filter(table.frame.select("user", "item").is_duplicated())
        if repeated.height:
            user, item = repeated.select("user", "item").row(0)
            raise DuplicateError(
                f"{name} has an item twice in one list, such as user {brief(user)} item "
                f"{brief(item)}: keep one of them"
            )
        tables[name] = table
    before, others = unify_all_id_types(tables["old"], {"new": tables["new"]})
    return before, others["new"]


def _compare(
    old: Table, new: Table, k: int | None, p: float, setting: Setting, words: Words
) -> Diff:
    users = [_users(table) for table in (old, new)]
    common = users[0].filter(users[0].is_in(users[1].implode())).sort()
    if not len(common):
        raise no_rows_error("the rankings", "have no user in common")
    ranked = [_ranked(table, common, k) for table in (old, new)]
    both = ranked[1].join(ranked[0], on=["user", "item"], how="full", coalesce=True, suffix="_old")
    change = pl.col("rank") - pl.col("rank_old")
    is_new, is_gone = pl.col("rank_old").is_null(), pl.col("rank").is_null()
    counts = both.group_by("user").agg(
        entered=is_new.sum(), left=is_gone.sum(), moved=change.abs().mean()
    )
    tau = _tau_ap_by_user(both.filter(~is_new & ~is_gone))
    per_user = common.to_frame("user")
    for frame in (counts, _overlaps(old, new, common, k, p), tau):
        per_user = per_user.join(frame, on="user", how="left", maintain_order="left")
    nothing = pl.col("entered", "left").fill_null(0)
    per_user = per_user.with_columns(nothing).with_columns(
        equal=(pl.col("entered") + pl.col("left") == 0) & (pl.col("moved").fill_null(0.0) == 0)
    ).select("user", "equal", "entered", "left", *SCALES)  # fmt: skip
    estimates = {
        name: _estimate(setting, name if k is None else f"{name}@{k}", scale, per_user[name])
        for name, scale in SCALES.items()
    }
    entered, left = _most(both.filter(is_new)), _most(both.filter(is_gone))
    shown = {"users": _most_changed(per_user), "entered": entered, "left": left}
    return Diff(
        k=k, p=p, confidence=setting.confidence, users=len(common),
        equal=int(per_user["equal"].sum()), only_old=len(users[0]) - len(common),
        only_new=len(users[1]) - len(common), entered=int(per_user["entered"].sum()),
        left=int(per_user["left"].sum()), estimates=estimates, per_user=per_user,
        entered_items=entered, left_items=left, tied=_count_tied(ranked), said=words,
        _shown={name: frame.to_dicts() for name, frame in shown.items()},
    )  # fmt: skip


def _most_changed(per_user: pl.DataFrame) -> pl.DataFrame:
    changed = per_user.filter(~pl.col("equal"))
    by = [pl.col("rbo").fill_null(0.0), pl.col("overlap").fill_null(0.0), pl.col("user")]
    return changed.sort(by).head(SHOWN)


def _users(table: Table) -> pl.Series:
    named = [table.frame["user"], table.empty_users.to_series().cast(table.frame["user"].dtype)]
    return pl.concat([series.alias("user") for series in named]).unique()


def _ranked(table: Table, users: pl.Series, k: int | None) -> pl.DataFrame:
    """The ranks of the first items: ``rank``, and ``first``, equal where items are tied."""
    frame = table.frame.filter(pl.col("user").is_in(users.implode()))
    rank = pl.int_range(1, pl.len() + 1).over("user")
    if table.order == "list":
        frame = frame.with_columns(rank=rank).with_columns(first="rank")
    else:
        down = table.order == "score"
        frame = frame.sort("user", table.order, "item", descending=[False, down, False])
        first = pl.col(table.order).rank("min", descending=down).over("user").cast(pl.Int64)
        frame = frame.with_columns(first=first).with_columns(rank=rank)
    frame = frame.select("user", "item", "rank", "first")
    return frame if k is None else frame.filter(pl.col("rank") <= k)


def _count_tied(ranked: Iterable[pl.DataFrame]) -> int:
    """The number of lists in which items are tied."""
    pairs = [f.filter(f.select("user", "first").is_duplicated())["user"].unique() for f in ranked]
    return sum(map(len, pairs))


def _most(rows: pl.DataFrame) -> pl.DataFrame:
    lists = rows.group_by("item").agg(lists=pl.len().cast(pl.Int64))
    return lists.sort(["lists", "item"], descending=[True, False]).head(SHOWN)


def _overlaps(old: Table, new: Table, users: pl.Series, k: int | None, p: float) -> pl.DataFrame:
    """``overlap`` and ``rbo`` of each user whose lists both have items."""
    first, second = (t.frame.filter(pl.col("user").is_in(users.implode())) for t in (new, old))
    both = first.filter(pl.col("user").is_in(second["user"].unique().implode()))
    if not both.height:
        return pl.DataFrame(schema={"user": users.dtype, "overlap": pl.Float64, "rbo": pl.Float64})
    cut = "" if k is None else f", baseline_k={k}"
    names = [
        f"unexpectedness({how}, inverse=true{cut}){'' if k is None else f'@{k}'}"
        for how in ("overlap=share", f"overlap=rbo_ext, p={p!r}")
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankmeterWarning)
        result = evaluate(both, None, names, baseline_lists=second, ties="expected")
    values = result.values_by_user
    return values.rename(dict(zip(values.columns, ("user", "overlap", "rbo"), strict=True)))


def _estimate(
    setting: Setting, label: str, scale: tuple[float, float], values: pl.Series
) -> Estimate:
    numbers = values.cast(pl.Float64).fill_null(math.nan).to_numpy()
    defined = np.flatnonzero(~np.isnan(numbers))
    averaged = Averaged(numbers[defined], defined, len(numbers) - len(defined), 0)
    return estimate_on_scale(setting, label, scale, averaged)


def _tau_ap_by_user(common: pl.DataFrame) -> pl.DataFrame:
    """``tau_ap`` of each user with two common items or more."""
    rows = common.sort("user", "rank")
    sizes = rows.group_by("user", maintain_order=True).agg(n=pl.len())
    n = sizes["n"].to_numpy().astype(np.int64)
    new, old = (rows[name].to_numpy().astype(np.int64) for name in ("first", "first_old"))
    starts, values = np.cumsum(n) - n, np.full(len(n), np.nan)
    for size in np.unique(n[n > 1]):
        users = np.flatnonzero(n == size)
        for some in np.array_split(users, max(1, len(users) * size * size // _PAIRS)):
            at = starts[some, None] + np.arange(size)
            values[some] = tau_ap(new[at], old[at])
    return pl.DataFrame({"user": sizes["user"], "tau_ap": values}, nan_to_null=True)


def tau_ap(new: IntArray, old: IntArray) -> FloatArray:
    """The AP correlation of two orders of the same items, the mean over orders of tied ones.

    Parameters
    ----------
    new, old : arrays of shape (n_lists, n_items)
        Ranks; equal ones are tied. The new list decides which items weigh most.

    Returns
    -------
    float64 array of shape (n_lists,)
    """
    n = new.shape[1]
    order = old[:, None, :] - old[:, :, None]  # of the other item minus this one
    agrees = np.where(order == 0, 0.5, order < 0)
    above = new[:, None, :] < new[:, :, None]
    tied = (new[:, None, :] == new[:, :, None]) & ~np.eye(n, dtype=bool)
    n_above, n_tied = above.sum(axis=2), tied.sum(axis=2)
    sure, unsure = (agrees * above).sum(axis=2), (agrees * tied).sum(axis=2)
    # At place s of its tie group an item has n_above + s others above it, s of them tied ones.
    inverse = np.concatenate([[0.0, 0.0], np.cumsum(1.0 / np.arange(1, max(n, 2)))])
    places = n_tied + 1
    sums = inverse[n_above + places] - inverse[np.maximum(n_above, 1)]
    first = (n_above == 0).astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(n_tied > 0, unsure / n_tied, 0.0)
    n_terms = places - first
    terms = (sure - share * n_above) * sums + share * n_terms
    values: FloatArray = 2.0 / (n - 1) * (terms / places).sum(axis=1) - 1.0
    return values
