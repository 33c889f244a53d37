"""Held-out data: the last or random interactions of each user, a cut in time, folds.

A method chooses rows for the test part; all others are train. The choice depends on the values in
the table and on the seed, never on the order of the rows: shuffle the table and the split is the
same. The draw for one user does not depend on the other users. Both parts keep the order of the
rows. Of a pandas frame they are its own rows; of other input they are in a Polars frame with every
column of the input (the roles under the names user, item, rating and time, and first).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankmeter._reading.read import Interactions
from rankmeter.errors import DataError, UsageError
from rankmeter.errors._calls import answers_calls
from rankmeter.errors._checks import (
    brief,
    check_choice,
    check_flag,
    check_fraction,
    check_integer,
    check_seed,
)
from rankmeter.splits._chance import draw_random_bits
from rankmeter.splits._clock import Clock, Unit, rounded_share
from rankmeter.splits._split import Split, split_rows

__all__ = ["SPLITS", "Split", "holdout", "k_fold", "leave_k_out", "leave_one_out", "temporal"]

By = Literal["time", "random"]
"""Whether the latest or random interactions are held out."""

Ties = Literal["item", "random"]
"""Which of several interactions at the same time is later: the greater item, or a random one."""

Cold = Literal["keep", "drop"]
"""What happens to test interactions with a cold user or item, which train does not contain."""

Targets = Literal["all", "first", "last", "random"]
"""Which interactions of a user after the cut are in the test part."""

Over = Literal["users", "interactions"]
"""What is dealt to folds."""


@answers_calls
def leave_one_out(
    data: Any,
    *,
    by: By = "time",
    ties: Ties = "item",
    seed: int = 0,
    min_history: int = 1,
    cold_items: Cold = "keep",
    columns: dict[str, str] | None = None,
) -> Split:
    """Hold out the last (or a random) interaction of each user: `leave_k_out` with one.

    Parameters
    ----------
    data, by, ties, seed, min_history, cold_items, columns
        As in `leave_k_out`.

    Returns
    -------
    Split
        As from `leave_k_out`, where the edge cases are described.

    Raises
    ------
    UsageError, ColumnError, DataError
        As from `leave_k_out`.

    Examples
    --------
    >>> ratings = pl.DataFrame(
    ...     {"user": [1, 1, 2, 2], "item": [10, 20, 10, 20], "time": [1, 2, 9, 8]}
    ... )
    >>> leave_one_out(ratings).test.rows()
    [(1, 20, 2), (2, 10, 9)]
    """
    return leave_k_out(
        data,
        by=by,
        ties=ties,
        seed=seed,
        min_history=min_history,
        cold_items=cold_items,
        columns=columns,
    )


@answers_calls
def leave_k_out(
    data: Any,
    *,
    k: int = 1,
    by: By = "time",
    ties: Ties = "item",
    seed: int = 0,
    min_history: int = 1,
    cold_items: Cold = "keep",
    columns: dict[str, str] | None = None,
) -> Split:
    """Hold out the last (or random) `k` interactions of each user.

    Parameters
    ----------
    data : table or path
        Interactions: user, item, and time if `by` is ``"time"``.
    k : int
        Interactions to hold out per user.
    by : {"time", "random"}
        Hold out the latest interactions, or random ones.
    ties : {"item", "random"}
        Which of several interactions at the same time counts as later: the one with the greater
        item, or a random one (drawn with `seed`).
    seed : int
        Seed of the random choices.
    min_history : int
        Interactions of a user that must remain in train. A user with fewer than
        ``k + min_history`` stays entirely in train.
    cold_items : {"keep", "drop"}
        Keep or drop test interactions with an item that train does not contain.
    columns : dict of str to str, optional
        Names of the columns: ``{"user": "uid", "time": "ts"}``.

    Returns
    -------
    Split
        With ``short_users`` (too few interactions) and, by time, ``tied_users`` (`ties` decided
        which interactions were held out).

    Raises
    ------
    UsageError
        An option is out of range.
    ColumnError
        `by` is ``"time"`` and there is no time.
    DataError
        Nothing is held out, or nothing is left in train.

    Notes
    -----
    A pair (user, item) that occurs several times is treated like different items, so a held-out
    item may also be in train, and baselines with ``exclude_seen`` never recommend it:
    ``seen_in_train`` counts these.

    Examples
    --------
    >>> ratings = pl.DataFrame(
    ...     {"user": [1, 1, 1, 2, 2], "item": [3, 4, 5, 3, 4], "time": [1, 2, 3, 1, 2]}
    ... )
    >>> split = leave_k_out(ratings, k=2)
    >>> split.test.rows()
    [(1, 4, 2), (1, 5, 3)]
    >>> split.counts["short_users"]
    1
    """
    method = _format_call("leave_k_out", locals())
    k = check_integer("k", k, least=1)
    _check_choices(by, ties, min_history, cold_items)
    read = Interactions.read(data, columns=columns)
    frame = read.frame
    test, counts = _choose_test_rows_per_user(
        frame, lambda history: np.where(history >= k + min_history, k, 0), by, ties, seed
    )
    return split_rows(read, test, method=method, cold_items=cold_items, counts=counts)


@answers_calls
def holdout(
    data: Any,
    *,
    ratio: float = 0.2,
    per_user: bool = True,
    by: By = "random",
    ties: Ties = "item",
    seed: int = 0,
    min_history: int = 1,
    cold_items: Cold = "keep",
    columns: dict[str, str] | None = None,
) -> Split:
    """Hold out a share of each user's interactions, or of all interactions.

    Parameters
    ----------
    data, ties, seed, min_history, cold_items, columns
        As in `leave_k_out`.
    ratio : float
        Share to hold out, between 0 and 1.
    per_user : bool
        Hold out this share of each user's interactions, or (False) of all interactions together.
    by : {"random", "time"}
        Hold out random interactions, or each user's latest.

    Returns
    -------
    Split
        With ``short_users`` (nothing could be held out) and, by time, ``tied_users``.

    Raises
    ------
    UsageError, ColumnError, DataError
        As from `leave_k_out`; `by` is ``"time"`` without `per_user` (that is `temporal`).

    Notes
    -----
    Of n interactions, ⌊ratio · n + 1/2⌋ are held out.

    1. Per user, at most n − `min_history` are.
    2. Over all interactions, users who would keep fewer than `min_history` stay entirely in train,
       and the test part is smaller by their interactions.

    Examples
    --------
    >>> ratings = pl.DataFrame(
    ...     {"user": ["a"] * 5 + ["b"], "item": [1, 2, 3, 4, 5, 1], "time": range(6)}
    ... )
    >>> split = holdout(ratings, ratio=0.3, by="time")  # 0.3 · 5 + 0.5 = 2 of "a", 0 of "b"
    >>> split.test["item"].to_list(), split.counts["short_users"]
    ([4, 5], 1)
    """
    method = _format_call("holdout", locals())
    check_fraction("ratio", ratio)
    check_flag("per_user", per_user)
    _check_choices(by, ties, min_history, cold_items)
    if by == "time" and not per_user:
        raise UsageError(
            "`per_user` must be True with by='time'; for one cut in time for all users use "
            "temporal(ratio=...), which keeps interactions of the same time together"
        )
    read = Interactions.read(data, columns=columns)
    frame = read.frame
    if per_user:

        def n_test(history: NDArray[np.int64]) -> NDArray[np.int64]:
            return np.minimum(rounded_share(ratio, history), history - min_history)

        test, counts = _choose_test_rows_per_user(frame, n_test, by, ties, seed)
    else:
        test, counts = _choose_test_rows_overall(frame, ratio, min_history, seed)
    return split_rows(read, test, method=method, cold_items=cold_items, counts=counts)


@answers_calls
def temporal(
    data: Any,
    *,
    at: float | str | date | datetime | None = None,
    ratio: float | None = None,
    unit: Unit | None = None,
    targets: Targets = "all",
    validation: float | None = None,
    seed: int = 0,
    cold_users: Cold = "keep",
    cold_items: Cold = "keep",
    columns: dict[str, str] | None = None,
) -> Split:
    """Cut at one moment: earlier interactions are train, the others are test.

    Parameters
    ----------
    data : table or path
        Interactions: user, item, time.
    at : number, str, date or datetime, optional
        The moment; interactions at exactly that moment are in test. A string is ISO 8601
        (``"2018-01-31"``, ``"2018-01-31T12:00+09:00"``) or a number. A moment without a time
        zone is in that of the column, or UTC.
    ratio : float, optional
        Instead of `at`: the share of the latest interactions to hold out; 0.2 if neither is given.
    unit : {"s", "ms", "us", "ns"}, optional
        Unit of times that are numbers, counted since 1970. Default: seconds or, if a time would be
        after the year 9999, the first of the others for which none is.
    targets : {"all", "first", "last", "random"}
        Which interactions of each user after the cut are in test: all, or one. The others are in
        no part and are counted. After ``"last"`` or ``"random"`` a model has not seen what the user
        did since the cut.
    validation : float, optional
        The share of the interactions before the cut, the latest of them, for `Split.validation`
        instead of train: cut and chosen as test is, so that options can be chosen without test.
    seed : int
        Seed of random targets.
    cold_users, cold_items : {"keep", "drop"}
        Keep or drop test interactions with a user or an item that train does not contain.
    columns : dict of str to str, optional
        Names of the columns.

    Returns
    -------
    Split
        Its ``method`` names the moment of the cut.

    Raises
    ------
    UsageError, ColumnError, DataError
        `at` and `ratio` are both given, or one is out of range; there is no time; all interactions
        would be on one side.

    Notes
    -----
    Of n interactions the latest ⌊ratio · n + 1/2⌋ are held out, and with them any others that
    happened at the same time as the first of these: no time is on both sides. Targets: Gusak,
    Volodkevich, Klenitskiy, Vasilev and Frolov, RecSys 2025. Of several first or last interactions
    at the same time the greater item is later.

    Examples
    --------
    >>> ratings = pl.DataFrame(
    ...     {"user": [1, 2, 1, 2], "item": [5, 5, 6, 7], "time": [10, 20, 30, 30]}
    ... )
    >>> temporal(ratings, ratio=0.25).test.rows()
    [(1, 6, 30), (2, 7, 30)]
    >>> temporal(ratings, at=20).method
    "temporal(at=20, cold_users='keep', cold_items='keep'), cut at 20"

    Of what is before the cut, the later half is for validation.

    >>> split = temporal(ratings, at=30, targets="first", validation=0.5)
    >>> [part.rows() for part in (split.train, split.validation, split.test)]
    [[(1, 5, 10)], [(2, 5, 20)], [(1, 6, 30), (2, 7, 30)]]
    """
    if at is not None and ratio is not None:
        raise UsageError(
            f"pass either `at` or `ratio`, not both: got {brief(at)} and {brief(ratio)}"
        )
    portion = check_fraction("ratio", 0.2 if ratio is None else ratio)
    check_choice("targets", targets, Targets)
    if validation is not None:
        check_fraction("validation", validation)
    check_seed(seed)
    check_choice("cold_users", cold_users, Cold)
    check_choice("cold_items", cold_items, Cold)
    read = Interactions.read(data, columns=columns)
    frame = read.frame
    clock = Clock.of(frame, needed_by="temporal", unit=unit)
    cut = clock.start_of_last_share(portion) if at is None else clock.to_tick(at)
    options: dict[str, Any] = {"ratio": portion} if at is None else {"at": at}
    options |= {"unit": unit, "targets": None if targets == "all" else targets}
    options |= {"validation": validation, "seed": seed if targets == "random" else None}
    options |= {"cold_users": cold_users, "cold_items": cold_items}
    method = f"{_format_call('temporal', options)}, cut at {clock.format_time(cut)}"
    before = np.asarray(clock.ticks < cut)
    test, between = ~before, None
    if validation is not None and before.any():
        earlier = replace(clock, ticks=clock.ticks[before]).start_of_last_share(validation)
        between = before & (clock.ticks >= earlier)
        before &= ~between
    counts = {}
    if targets != "all":
        after = len(before) - int(before.sum())
        test = _choose_targets(frame, test, clock, targets, seed)
        if between is not None:
            between = _choose_targets(frame, between, clock, targets, seed)
        kept = int(test.sum()) + (0 if between is None else int(between.sum()))
        counts = {"other_interactions": after - kept}
    return split_rows(
        read, test, method=method, cold_items=cold_items, cold_users=cold_users, counts=counts,
        in_validation=between, in_train=before,
    )  # fmt: skip


@answers_calls
def k_fold(
    data: Any,
    *,
    k: int = 5,
    over: Over = "users",
    seed: int = 0,
    cold_items: Cold = "keep",
    columns: dict[str, str] | None = None,
) -> tuple[Split, ...]:
    """Cut into `k` folds, each of which is the test part once.

    Parameters
    ----------
    data : table or path
        Interactions: user, item.
    k : int
        Number of folds, at least 2.
    over : {"users", "interactions"}
        ``"users"``: the test part has all interactions of the fold's users, train those of the
        others. Every test user is cold; for a model that needs some history of a user to
        recommend, split the test part again.
        ``"interactions"``: the interactions of each user are dealt to the folds, so that a
        user's numbers of interactions in any two folds differ by at most one.
    seed : int
        Of the random order in which users or interactions are dealt.
    cold_items, columns
        As in `leave_k_out`.

    Returns
    -------
    tuple of Split
        `k` splits. Without dropping, every interaction is in the test part of exactly one.

    Raises
    ------
    UsageError, DataError
        An option is out of range; there are fewer users (or interactions) than folds.

    Notes
    -----
    The folds' numbers of users (or of interactions) differ by at most one. With
    ``over="interactions"`` a user with a single interaction is cold in the fold that tests it.

    Examples
    --------
    >>> ratings = pl.DataFrame({"user": [1, 1, 2, 2, 3], "item": [5, 6, 5, 6, 5]})
    >>> folds = k_fold(ratings, k=3)
    >>> sorted(fold.test["user"].unique().to_list() for fold in folds)
    [[1], [2], [3]]
    """
    method = _format_call("k_fold", locals())
    k = check_integer("k", k, least=2)
    check_choice("over", over, Over)
    check_choice("cold_items", cold_items, Cold)
    read = Interactions.read(data, columns=columns)
    frame = read.frame
    user = frame.select("user", draw=pl.Series(draw_random_bits(seed, frame["user"])))
    if over == "users":
        dealt = user.unique().sort("draw", "user").with_row_index("position").drop("draw")
        joined = user.join(dealt, on="user", how="left", maintain_order="left")
        position = joined["position"].to_numpy()
        n = dealt.height
    else:
        chance = draw_random_bits(seed, frame["user"], frame["item"])
        position = np.argsort(_sorted_row_numbers(frame, user["draw"], user["user"], chance))
        n = frame.height
    if n < k:
        raise DataError(f"{k} folds need at least {k} {over}, got {n}: choose a smaller `k`")
    return tuple(
        split_rows(
            read, position % k == fold, method=f"{method}, fold {fold + 1}", cold_items=cold_items
        )
        for fold in range(k)
    )


SPLITS: dict[str, Callable[..., Split | tuple[Split, ...]]] = {
    "leave-one-out": leave_one_out,
    "leave-k-out": leave_k_out,
    "holdout": holdout,
    "temporal": temporal,
    "k-fold": k_fold,
}
"""The methods by the names that the command line uses."""


# -- choosing rows ----------------------------------------------------------------------------


def _choose_test_rows_per_user(
    frame: pl.DataFrame,
    how_many: Callable[[NDArray[np.int64]], NDArray[np.int64]],
    order_by: str,
    ties: str,
    seed: int,
) -> tuple[NDArray[np.bool_], dict[str, int]]:
    """Select the last rows of each user; `how_many` maps interaction counts to row counts."""
    keys, when = [], None
    if order_by == "time":
        when = Clock.of(frame, needed_by="by='time'").ticks
        keys.append(when)
    if order_by == "random" or ties == "random":
        keys.append(draw_random_bits(seed, frame["user"], frame["item"]))
    order = _sorted_row_numbers(frame, frame["user"], *keys)
    history = frame["user"].gather(order).rle().struct.field("len").to_numpy().astype(np.int64)
    n_test = np.maximum(how_many(history), 0)
    cut = np.cumsum(history) - n_test
    test = np.zeros(frame.height, dtype=np.bool_)
    test[order] = np.arange(frame.height) >= np.repeat(cut, history)
    counts = {"short_users": int((n_test == 0).sum())}
    if when is not None:
        first = cut[(n_test > 0) & (n_test < history)]
        counts["tied_users"] = int((when[order[first]] == when[order[first - 1]]).sum())
    return test, counts


def _choose_targets(
    frame: pl.DataFrame, rows: NDArray[np.bool_], clock: Clock, targets: str, seed: int
) -> NDArray[np.bool_]:
    """Choose one of some rows of each user."""
    part, numbers = frame.filter(pl.Series(rows)), np.flatnonzero(rows)
    key = (
        draw_random_bits(seed, part["user"], part["item"])
        if targets == "random"
        else clock.ticks[rows]
    )
    order = _sorted_row_numbers(part, part["user"], key)
    if targets == "last":
        order = order[::-1]
    first = part["user"].gather(order).is_first_distinct().to_numpy()
    chosen = np.zeros(frame.height, dtype=np.bool_)
    chosen[numbers[order[first]]] = True
    return chosen


def _choose_test_rows_overall(
    frame: pl.DataFrame, ratio: float, min_history: int, seed: int
) -> tuple[NDArray[np.bool_], dict[str, int]]:
    """Select random rows, except rows of users who would keep too few."""
    order = _sorted_row_numbers(
        frame, draw_random_bits(seed, frame["user"], frame["item"]), frame["user"]
    )
    test = np.zeros(frame.height, dtype=np.bool_)
    test[order[frame.height - int(rounded_share(ratio, frame.height)) :]] = True
    rows = frame.select("user", test=pl.Series(test))
    n_train = rows.select((~pl.col("test")).sum().over("user")).to_series().to_numpy()
    to_train = test & (n_train < min_history)
    return test & ~to_train, {"short_users": rows["user"].filter(pl.Series(to_train)).n_unique()}


def _sorted_row_numbers(frame: pl.DataFrame, *keys: pl.Series | NDArray[Any]) -> NDArray[np.int64]:
    """Row numbers in the order of `keys`, then of the item, then of all other columns.

    Repeated pairs of user and item need the other columns: without them the order of the rows in
    the table would decide. Rows that are equal in all columns are interchangeable.
    """
    sort_keys = [*(pl.Series(key) for key in keys), frame["item"]]
    if frame.select("user", "item").is_duplicated().any():
        sort_keys += [
            column.cast(pl.String) if column.dtype == pl.Categorical else column
            for column in frame
            if not column.dtype.is_nested() and column.dtype != pl.Object
        ]
    table = pl.DataFrame([key.alias(str(number)) for number, key in enumerate(sort_keys)])
    return table.select(pl.arg_sort_by(table.columns)).to_series().to_numpy().astype(np.int64)


def _check_choices(order_by: str, ties: str, min_history: int, cold_items: str) -> None:
    check_choice("by", order_by, By)
    check_choice("ties", ties, Ties)
    min_history = check_integer("min_history", min_history, least=0)
    check_choice("cold_items", cold_items, Cold)


def _format_call(name: str, arguments: dict[str, Any]) -> str:
    """Format the call as code; given ``locals()``, the call includes every option."""
    options = {key: arguments[key] for key in arguments.keys() - {"data", "columns"}}
    texts = (f"{key}={brief(options[key])}" for key in arguments if options.get(key) is not None)
    return f"{name}({', '.join(texts)})"
