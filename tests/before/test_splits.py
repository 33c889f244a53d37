"""Splits: worked examples, laws on generated tables, and the real ratings."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from datetime import UTC, date, datetime

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankmeter.datasets import movielens
from rankmeter.errors import ColumnError, DataError, InvalidValueError, UsageError
from rankmeter.splits import (
    SPLITS,
    Split,
    holdout,
    k_fold,
    leave_k_out,
    leave_one_out,
    temporal,
)

LOG = pl.DataFrame(
    [
        ("a", 1, 10),
        ("a", 2, 20),
        ("a", 3, 30),
        ("a", 4, 40),
        ("b", 1, 15),
        ("b", 5, 35),
        ("c", 2, 25),
    ],
    schema=["user", "item", "time"],
    orient="row",
)


@st.composite
def logs(draw):
    """Small tables with repeated pairs, repeated rows, ties in time and awkward column names."""
    rows = draw(
        st.lists(
            st.tuples(
                st.integers(-2, 4), st.integers(0, 5), st.integers(0, 3), st.sampled_from("xyz")
            ),
            min_size=1,
            max_size=40,
        )
    )
    log = pl.DataFrame(rows, schema=["user", "item", "time", "test"], orient="row")
    log = log.with_columns(place=pl.col("time") * 0.5, draw=pl.col("test").cast(pl.Categorical))
    if draw(st.booleans()):
        log = log.with_columns(pl.format("u{}", "user").alias("user"), pl.col("item").cast(str))
    return log


METHODS = {
    "leave-one-out": leave_one_out,
    "leave-one-out, random ties": lambda log: leave_one_out(log, ties="random", seed=7),
    "leave-two-out at random": lambda log: leave_k_out(log, k=2, by="random", min_history=0),
    "holdout": lambda log: holdout(log, ratio=0.4),
    "holdout by time": lambda log: holdout(log, ratio=0.4, by="time", min_history=2),
    "holdout overall": lambda log: holdout(log, ratio=0.4, per_user=False),
    "temporal by ratio": lambda log: temporal(log, ratio=0.3),
    "temporal at": lambda log: temporal(log, at=2),
    "3 folds of users": lambda log: k_fold(log, k=3),
    "3 folds of interactions": lambda log: k_fold(log, k=3, over="interactions", seed=5),
}
COLD = {
    "leave-one-out": lambda log: leave_one_out(log, cold_items="drop"),
    "holdout": lambda log: holdout(log, ratio=0.4, cold_items="drop"),
    "temporal": lambda log: temporal(log, at=2, cold_items="drop", cold_users="drop"),
    "folds": lambda log: k_fold(log, k=2, over="interactions", cold_items="drop"),
}


def splits(method, log):
    """The splits of a method, none if the table is too small for it."""
    try:
        made = method(log)
    except DataError:
        return ()
    return (made,) if isinstance(made, Split) else made


def rows(*frames):
    return Counter(row for frame in frames for row in frame.rows())


# -- laws -------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
@given(log=logs())
def test_every_row_is_in_exactly_one_part(method, log):
    for split in splits(method, log):
        assert rows(split.train, split.test) == rows(log)
        assert split.train.schema == split.test.schema == log.schema


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
@given(log=logs(), shuffle=st.randoms(use_true_random=False))
def test_any_order_of_rows_gives_the_same_split(method, log, shuffle):
    order = list(range(log.height))
    shuffle.shuffle(order)
    straight, shuffled = splits(method, log), splits(method, log[order])
    assert len(straight) == len(shuffled)
    for one, other in zip(straight, shuffled, strict=True):
        assert rows(one.train) == rows(other.train)
        assert rows(one.test) == rows(other.test)
        assert (one.method, one.counts) == (other.method, other.counts)


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
@given(log=logs())
def test_rows_keep_their_order_and_the_input_its_content(method, log):
    log = log.with_row_index("number")
    before = log.clone()
    for split in splits(method, log):
        assert split.train["number"].is_sorted()
        assert split.test["number"].is_sorted()
    assert log.equals(before)


@pytest.mark.parametrize("method", [*METHODS.values(), *COLD.values()], ids=[*METHODS, *COLD])
@given(log=logs())
def test_counts_count(method, log):
    for split in splits(method, log):
        counts = split.counts
        for name, part in (("train", split.train), ("test", split.test)):
            assert counts[f"{name}_interactions"] == part.height
            assert counts[f"{name}_users"] == part["user"].n_unique()
            assert counts[f"{name}_items"] == part["item"].n_unique()
        gone = counts["dropped_interactions"]
        assert counts["train_interactions"] + counts["test_interactions"] + gone == log.height
        assert (counts["interactions"], counts["users"]) == (log.height, log["user"].n_unique())
        lost = rows(log) - rows(split.train) - rows(split.test)
        held = [*split.test.rows(), *lost.elements()]
        users, items = set(split.train["user"]), set(split.train["item"])
        assert counts["cold_item_interactions"] == sum(row[1] not in items for row in held)
        pairs = set(split.train.select("user", "item").rows())
        assert counts["seen_in_train"] == sum(row[:2] in pairs for row in held)
        assert counts["cold_user_interactions"] == sum(row[0] not in users for row in held)


@pytest.mark.parametrize("method", COLD.values(), ids=COLD)
@given(log=logs())
def test_dropping_leaves_no_cold_item_and_takes_nothing_else(method, log):
    for split in splits(method, log):
        users, items = set(split.train["user"]), set(split.train["item"])
        assert set(split.test["item"]) <= items
        lost = rows(log) - rows(split.train) - rows(split.test)
        assert all(row[1] not in items or row[0] not in users for row in lost)


@given(
    log=logs(),
    k=st.integers(1, 3),
    min_history=st.integers(0, 3),
    kind=st.sampled_from([("time", "item"), ("time", "random"), ("random", "item")]),
)
def test_leave_k_out_holds_out_k_of_each_user_who_has_enough(log, k, min_history, kind):
    by, ties = kind
    short = {user for user, n in Counter(log["user"]).items() if n < k + min_history}
    for split in splits(
        lambda log: leave_k_out(log, k=k, min_history=min_history, by=by, ties=ties), log
    ):
        held, kept = Counter(split.test["user"]), Counter(split.train["user"])
        assert set(held) == set(log["user"]) - short
        assert set(held.values()) == {k}
        assert all(kept[user] >= min_history for user in held)
        assert split.counts["short_users"] == len(short)


@given(log=logs(), k=st.integers(1, 3))
def test_by_time_the_last_in_time_then_item_are_held_out(log, k):
    histories = defaultdict(list)
    for user, item, time, *rest in log.rows():
        histories[user].append((time, item, *rest))
    expected, tied = Counter(), 0
    for user, history in histories.items():
        history.sort()
        if len(history) > k:
            expected.update((user, row[0], row[1]) for row in history[-k:])
            tied += history[-k][0] == history[-k - 1][0]
    for split in splits(lambda log: leave_k_out(log, k=k), log):
        assert Counter(split.test.select("user", "time", "item").rows()) == expected
        assert split.counts["tied_users"] == tied


@given(log=logs(), seed=st.integers(0, 3))
def test_random_ties_never_hold_out_an_earlier_interaction(log, seed):
    for split in splits(lambda log: leave_one_out(log, ties="random", seed=seed), log):
        last = dict(log.group_by("user").agg(pl.col("time").max()).rows())
        assert all(time == last[user] for user, time in split.test.select("user", "time").rows())


@given(
    log=logs(),
    ratio=st.floats(0.05, 0.95),
    min_history=st.integers(0, 3),
    by=st.sampled_from(["time", "random"]),
)
def test_holdout_rounds_half_up_and_leaves_min_history(log, ratio, min_history, by):
    sizes = Counter(log["user"])
    wanted = {
        user: max(min(math.floor(ratio * n + 0.5), n - min_history), 0) for user, n in sizes.items()
    }
    for split in splits(lambda log: holdout(log, ratio=ratio, by=by, min_history=min_history), log):
        held = Counter(split.test["user"])
        assert {user: held[user] for user in sizes} == wanted
        assert split.counts["short_users"] == sum(n == 0 for n in wanted.values())


@given(log=logs(), ratio=st.floats(0.05, 0.95), min_history=st.integers(0, 3))
def test_holdout_over_all_interactions_spares_users_who_would_keep_too_few(log, ratio, min_history):
    def hold_out(min_history):
        return splits(
            lambda log: holdout(log, ratio=ratio, per_user=False, min_history=min_history), log
        )

    for free in hold_out(0):
        assert free.test.height == math.floor(ratio * log.height + 0.5)
        kept = Counter(free.train["user"])
        short = {user for user in set(free.test["user"]) if kept[user] < min_history}
        for split in hold_out(min_history):
            assert rows(split.test) == rows(free.test.filter(~pl.col("user").is_in(list(short))))
            assert split.counts["short_users"] == len(short)


@given(log=logs(), ratio=st.floats(0.05, 0.95))
def test_temporal_puts_no_moment_on_both_sides(log, ratio):
    for split in splits(lambda log: temporal(log, ratio=ratio), log):
        assert split.train["time"].max() < split.test["time"].min()
        wanted = max(math.floor(ratio * log.height + 0.5), 1)
        later = split.test.filter(pl.col("time") > split.test["time"].min()).height
        assert later < wanted <= split.test.height


@given(log=logs(), k=st.integers(2, 4), seed=st.integers(0, 3))
def test_folds_of_interactions_are_even_per_user_and_over_all(log, k, seed):
    folds = splits(lambda log: k_fold(log, k=k, over="interactions", seed=seed), log)
    if folds:
        assert sum((rows(fold.test) for fold in folds), Counter()) == rows(log)
        sizes = [fold.test.height for fold in folds]
        assert max(sizes) - min(sizes) <= 1
        for user in set(log["user"]):
            of_user = [fold.test["user"].to_list().count(user) for fold in folds]
            assert max(of_user) - min(of_user) <= 1


@given(log=logs(), k=st.integers(2, 4), seed=st.integers(0, 3))
def test_folds_of_users_part_the_users_evenly(log, k, seed):
    folds = splits(lambda log: k_fold(log, k=k, seed=seed), log)
    if folds:
        users = [set(fold.test["user"]) for fold in folds]
        assert sorted(user for some in users for user in some) == sorted(set(log["user"]))
        assert max(map(len, users)) - min(map(len, users)) <= 1
        assert not any(set(fold.train["user"]) & set(fold.test["user"]) for fold in folds)


@given(log=logs(), seed=st.integers(0, 3))
def test_the_random_choice_for_a_user_does_not_depend_on_other_users(log, seed):
    def choose(log):
        return leave_one_out(log, by="random", seed=seed)

    for split in splits(choose, log):
        for user in set(split.test["user"]):
            alone = choose(log.filter(pl.col("user") == user))
            assert rows(alone.test) == rows(split.test.filter(pl.col("user") == user))


# -- worked examples --------------------------------------------------------------------------


def test_leave_one_out_takes_the_last_of_each_user_with_a_history():
    split = leave_one_out(LOG)

    assert split.test.rows() == [("a", 4, 40), ("b", 5, 35)]
    assert split.counts == {
        "interactions": 7,
        "users": 3,
        "train_interactions": 5,
        "train_users": 3,
        "train_items": 3,
        "test_interactions": 2,
        "test_users": 2,
        "test_items": 2,
        "short_users": 1,
        "tied_users": 0,
        "cold_item_interactions": 2,
        "cold_user_interactions": 0,
        "dropped_interactions": 0,
        "seen_in_train": 0,
        "older_than_train": 0,
    }


def test_an_item_that_only_the_test_has_is_cold_and_goes_if_asked():
    log = pl.DataFrame({"user": [1, 1, 2, 2], "item": [7, 8, 8, 9], "time": [1, 2, 1, 2]})
    split = leave_one_out(log, cold_items="drop")

    assert split.test.rows() == [(1, 8, 2)]
    assert split.train.rows() == [(1, 7, 1), (2, 8, 1)]
    assert split.counts["cold_item_interactions"] == split.counts["dropped_interactions"] == 1


def test_of_equal_times_the_greater_item_is_later():
    log = pl.DataFrame({"user": [1, 1, 1], "item": [9, 7, 8], "time": [5, 5, 5]})

    assert leave_one_out(log).test.rows() == [(1, 9, 5)]
    assert leave_one_out(log).counts["tied_users"] == 1
    chosen = {leave_one_out(log, ties="random", seed=seed).test["item"][0] for seed in range(30)}
    assert chosen == {7, 8, 9}


def test_each_interaction_is_as_likely_as_another_to_be_held_out():
    log = pl.DataFrame({"user": np.repeat(np.arange(6000), 3), "item": np.tile([1, 2, 3], 6000)})

    counts = Counter(leave_one_out(log, by="random").test["item"])
    assert all(abs(n - 2000) < 150 for n in counts.values())  # 4 standard deviations


def test_holdout_of_a_share_keeps_a_user_with_one_interaction_in_train():
    split = holdout(LOG, ratio=0.5, by="time")

    assert split.test.rows() == [("a", 3, 30), ("a", 4, 40), ("b", 5, 35)]
    assert split.counts["short_users"] == 1


@pytest.mark.parametrize(
    "at",
    [
        25,
        25.0,
        24.5,
        "25",
        "1970-01-01T00:00:25",
        "1970-01-01T09:00:25+09:00",
        datetime.fromisoformat("1970-01-01T00:00:25"),
        datetime(1970, 1, 1, 0, 0, 24, 500, UTC),
        np.int64(25),
    ],
)
def test_temporal_cuts_at_a_moment_however_it_is_told(at):
    split = temporal(LOG, at=at)

    assert sorted(split.test["time"]) == [25, 30, 35, 40]


DAYS = [datetime.fromisoformat(f"2018-01-0{day}") for day in (1, 2, 3)]


@pytest.mark.parametrize(
    "times",
    [
        pl.Series([date(2018, 1, day) for day in (1, 2, 3)]),
        pl.Series(DAYS, dtype=pl.Datetime("ns")),
        pl.Series(DAYS, dtype=pl.Datetime("ms")),
        pl.Series(DAYS).dt.replace_time_zone("Asia/Seoul"),
        pl.Series(["2018-01-01", "2018-01-02", "2018-01-03"]),
        pl.Series(["2018-01-01T00:00:00Z", "2018-01-02T00:00:00Z", "2018-01-03T00:00:00Z"]),
        pl.Series([1514764800 + 86400 * day for day in range(3)]),
        pl.Series([1514764800.0 + 86400 * day for day in range(3)]),
        pl.Series([str(1514764800 + 86400 * day) for day in range(3)]),
        pl.Series([1514764800_000 + 86400_000 * day for day in range(3)]),
        pl.Series([1514764800_000_000 + 86400_000_000 * day for day in range(3)]),
        pl.Series([1514764800_000_000_000 + 86400_000_000_000 * day for day in range(3)]),
    ],
    ids=lambda times: f"{times.dtype} {times[0]}",
)
def test_temporal_reads_every_form_of_time(times):
    log = pl.DataFrame({"user": [1, 2, 3], "item": [4, 5, 6], "time": times})
    split = temporal(log, at="2018-01-02")

    assert split.train["user"].to_list() == [1]
    assert times[1:].to_list() == split.test["time"].to_list()
    assert "cut at 2018-01-02 00:00:00" in split.method
    assert leave_one_out(log.with_columns(user=1)).test["item"].to_list() == [6]


def test_a_moment_without_a_zone_is_in_that_of_the_column():
    hours = pl.Series([datetime.fromisoformat(f"2018-01-01T{hour}") for hour in ("00", "12", "18")])
    log = pl.DataFrame({"user": 1, "item": [4, 5, 6], "time": hours})
    log = log.with_columns(pl.col("time").dt.replace_time_zone("Asia/Seoul"))

    assert temporal(log, at="2018-01-01T12:00").test["item"].to_list() == [5, 6]
    assert temporal(log, at="2018-01-01T03:00Z").test["item"].to_list() == [5, 6]
    assert "2018-01-01 12:00:00 Asia/Seoul" in temporal(log, at="2018-01-01T12:00").method


def test_a_unit_overrides_the_guess():
    log = pl.DataFrame({"user": [1, 2], "item": [1, 2], "time": [1000, 3000]})

    assert temporal(log, at="1970-01-01T00:00:02", unit="ms").test["user"].to_list() == [2]
    with pytest.raises(DataError, match="nothing in train"):
        temporal(log, at="1970-01-01T00:00:02")


def test_temporal_drops_cold_users_only_if_asked():
    log = pl.DataFrame({"user": [1, 2, 1, 2, 3], "item": 5, "time": [1, 2, 3, 4, 5]})
    split = temporal(log, at=3, cold_users="drop")

    assert split.test["user"].to_list() == [1, 2]
    assert split.counts["dropped_interactions"] == split.counts["cold_user_interactions"] == 1
    assert temporal(log, at=3).test["user"].to_list() == [1, 2, 3]


def test_a_split_prints_its_method_sizes_and_oddities():
    assert repr(temporal(LOG, at=25, cold_items="drop")) == (
        "Split by temporal(at=25, cold_users='keep', cold_items='drop'), cut at 25\n"
        "         interactions    users    items\n"
        "train               3        2        2\n"
        "test                1        1        1\n"
        "test interactions with an item that train does not contain: 3\n"
        "test interactions with a user that train does not contain: 1\n"
        "test interactions left out because of that: 3"
    )


def test_a_notebook_shows_what_is_printed_as_tables():
    shown = temporal(LOG, at="25", cold_items="drop")._repr_html_()
    assert "<strong>Split by temporal(at=&#x27;25&#x27;, " in shown
    assert "<tr><td></td><th>interactions</th><th>users</th><th>items</th></tr>" in shown
    assert "<tr><td>train</td><td>3</td><td>2</td><td>2</td></tr>" in shown
    assert "<tr><td>test interactions left out because of that</td><td>3</td></tr>" in shown
    assert (
        holdout(LOG.drop("time"), per_user=False, min_history=0)._repr_html_().count("<table>") == 1
    )


def test_a_repeat_of_what_the_user_has_in_train_is_counted_and_printed():
    plays = pl.DataFrame(
        {"user": [1, 1, 1, 2, 2], "item": [5, 5, 6, 6, 5], "time": [1, 3, 2, 1, 2]}
    )
    split = leave_one_out(plays)

    assert split.test.rows() == [(1, 5, 3), (2, 5, 2)]  # user 2 has 5 in the test only
    assert split.counts["seen_in_train"] == 1
    last = "test interactions that the user also has in train: 1"
    assert repr(split).splitlines()[-1] == last
    assert last.rpartition(":")[0] not in repr(leave_one_out(LOG))


def test_columns_may_have_other_names_and_the_data_any_form(tmp_path):
    file = tmp_path / "log.csv"
    log = LOG.rename({"user": "who", "item": "what", "time": "when"})
    log.write_csv(file)
    names = {"user": "who", "item": "what", "time": "when"}

    assert leave_one_out(file, columns=names).test.equals(leave_one_out(LOG).test)
    assert leave_one_out(log.lazy(), columns=names).test.equals(leave_one_out(LOG).test)


# -- chance is the same everywhere, always ----------------------------------------------------


def test_seeds_make_different_splits_and_the_same_seed_the_same():
    ratings = movielens()
    for method in (
        lambda seed: leave_one_out(ratings, by="random", seed=seed),
        lambda seed: holdout(ratings, seed=seed),
        lambda seed: holdout(ratings, per_user=False, seed=seed),
        lambda seed: k_fold(ratings, seed=seed)[0],
        lambda seed: k_fold(ratings, over="interactions", seed=seed)[0],
    ):
        assert method(0).test.equals(method(0).test)
        assert not method(0).test.equals(method(1).test)


# -- real ratings -----------------------------------------------------------------------------


def test_leave_one_out_on_movielens():
    ratings = movielens()
    split = leave_one_out(ratings)

    assert (split.train.height, split.test.height, split.test["user"].n_unique()) == (
        100_226,
        610,
        610,
    )
    tied = ratings.filter(pl.col("time") == pl.col("time").max().over("user"))
    assert (
        split.counts["tied_users"] == tied["user"].value_counts().filter(pl.col("count") > 1).height
    )
    joined = split.test.join(split.train, on=["user", "item"], how="inner")
    assert joined.is_empty()


def test_the_other_methods_on_movielens():
    ratings = movielens()

    assert temporal(ratings, ratio=0.2).test.height == 20_167
    assert holdout(ratings, per_user=False).test.height == 20_167
    expected = sum(math.floor(0.2 * n + 0.5) for n in Counter(ratings["user"]).values())
    assert holdout(ratings).test.height == expected
    assert [fold.counts["test_users"] for fold in k_fold(ratings)] == [122] * 5
    sizes = [fold.test.height for fold in k_fold(ratings, over="interactions")]
    assert sorted(sizes) == [20_167, 20_167, 20_167, 20_167, 20_168]


# -- refusals ---------------------------------------------------------------------------------

UNTIMED = LOG.drop("time")
SINGLE = pl.DataFrame({"user": [1, 2], "item": [1, 2], "time": [1, 2]})
REFUSALS = {
    "k below 1": (lambda: leave_k_out(LOG, k=0), UsageError, "`k` must be an integer ≥ 1, got 0"),
    "k not whole": (lambda: leave_k_out(LOG, k=1.5), UsageError, "`k`.*1.5"),
    "k a boolean": (lambda: leave_k_out(LOG, k=True), UsageError, "`k`.*True"),
    "by": (lambda: leave_one_out(LOG, by="date"), UsageError, "`by`.*'time', 'random'.*'date'"),
    "ties": (lambda: leave_one_out(LOG, ties="first"), UsageError, "`ties`.*'first'"),
    "min_history": (lambda: leave_one_out(LOG, min_history=-1), UsageError, "`min_history`.*-1"),
    "cold": (lambda: leave_one_out(LOG, cold_items="no"), UsageError, "`cold_items`.*'no'"),
    "seed": (lambda: leave_one_out(LOG, by="random", seed="x"), UsageError, "`seed`.*'x'"),
    "ratio 0": (lambda: holdout(LOG, ratio=0.0), UsageError, "`ratio`.*between 0 and 1.*0.0"),
    "ratio 1": (lambda: holdout(LOG, ratio=1), UsageError, "`ratio`.*got 1"),
    "ratio NaN": (lambda: temporal(LOG, ratio=math.nan), UsageError, "`ratio`.*nan"),
    "per_user": (
        lambda: holdout(LOG, per_user="no"),
        UsageError,
        "`per_user` must be True or False, got 'no'",
    ),
    "overall by time": (
        lambda: holdout(LOG, per_user=False, by="time"),
        UsageError,
        r"use temporal\(ratio=",
    ),
    "at and ratio": (
        lambda: temporal(LOG, at=1, ratio=0.2),
        UsageError,
        "`at` or `ratio`, not both: got 1 and 0.2",
    ),
    "at is nothing": (lambda: temporal(LOG, at="soon"), UsageError, "`at`.*ISO 8601.*'soon'"),
    "at is a list": (lambda: temporal(LOG, at=[1]), UsageError, r"`at`.*\[1\]"),
    "at NaN": (lambda: temporal(LOG, at=math.nan), UsageError, "`at`.*nan"),
    "at a number among dates": (
        lambda: temporal(SINGLE.with_columns(time=date(2018, 1, 1)), at=5),
        UsageError,
        "because the times are dates",
    ),
    "unit": (lambda: temporal(LOG, at=1, unit="h"), UsageError, "`unit`.*'h'"),
    "cold users": (lambda: temporal(LOG, cold_users="x"), UsageError, "`cold_users`.*'x'"),
    "one fold": (lambda: k_fold(LOG, k=1), UsageError, "`k`.*≥ 2"),
    "over": (lambda: k_fold(LOG, over="items"), UsageError, "`over`.*'items'"),
    "more folds than users": (lambda: k_fold(LOG, k=4), DataError, "4 folds.*4 users, got 3"),
    "more folds than rows": (
        lambda: k_fold(LOG, k=8, over="interactions"),
        DataError,
        "8 interactions, got 7",
    ),
    "no time": (lambda: leave_one_out(UNTIMED), ColumnError, "by='time' needs a time.*no other"),
    "a number of another name": (
        lambda: leave_one_out(UNTIMED.with_columns(bought=pl.lit(0))),
        ColumnError,
        r"the columns are bought: say which one with columns=\{'time': \.\.\.\}",
    ),
    "two times of other names": (
        lambda: leave_one_out(
            UNTIMED.with_columns(bought=pl.lit(0).cast(pl.Datetime), paid=pl.lit(date(2018, 1, 1)))
        ),
        ColumnError,
        r"the columns are bought, paid: say which one with columns=\{'time': \.\.\.\}",
    ),
    "no time to cut": (lambda: temporal(UNTIMED), ColumnError, "temporal needs a time column"),
    "missing time": (
        lambda: leave_one_out(SINGLE.with_columns(time=pl.Series([1, None]))),
        InvalidValueError,
        "1 of 2 are missing",
    ),
    "NaN time": (
        lambda: leave_one_out(SINGLE.with_columns(time=pl.Series([1.0, math.nan]))),
        InvalidValueError,
        "1 of 2 are missing",
    ),
    "time is not a time": (
        lambda: leave_one_out(SINGLE.with_columns(time=pl.Series(["noon", "31/01/2018"]))),
        InvalidValueError,
        "String such as 'noon'",
    ),
    "time has an impossible date": (
        lambda: leave_one_out(SINGLE.with_columns(time=pl.lit("2018-13-45"))),
        InvalidValueError,
        "String such as '2018-13-45'",
    ),
    "nothing to hold out": (
        lambda: leave_one_out(SINGLE),
        DataError,
        "nothing in test: the data have 2 interactions of 2 users, at most 1 per user",
    ),
    "nothing left": (lambda: leave_one_out(SINGLE, min_history=0), DataError, "nothing in train"),
    "cut before everything": (lambda: temporal(SINGLE, at=0), DataError, "nothing in train"),
    "cut after everything": (lambda: temporal(SINGLE, at=9), DataError, "nothing in test"),
    "all cold": (
        lambda: temporal(SINGLE, at=2, cold_items="drop"),
        DataError,
        "holds out 1 interaction, all with an item or a user that train does not contain",
    ),
    "no interactions": (
        lambda: leave_one_out({"u": []}, by="random"),
        DataError,
        "nothing in train: the data have 0 interactions",
    ),
    "no users to fold": (lambda: k_fold({"u": []}), DataError, "5 users, got 0"),
}


@pytest.mark.parametrize("call, error, message", REFUSALS.values(), ids=REFUSALS)
def test_what_has_no_meaning_is_refused_with_a_reason(call, error, message):
    with pytest.raises(error, match=message) as caught:
        call()
    assert caught.type is error


def test_the_only_column_of_moments_is_the_time():
    for moment in (pl.Datetime, pl.Date):
        timed = LOG.with_columns(pl.col("time").cast(moment))
        named = leave_one_out(timed)
        other = leave_one_out(timed.rename({"time": "bought"}))
        assert other.train.rows() == named.train.rows()
        assert other.test.rows() == named.test.rows()


OPTIONS = {holdout: ("ratio", "per_user", "by", "seed", "min_history"), temporal: ("at", "unit")}


@pytest.mark.parametrize(
    "method, option", [(m, one) for m, names in OPTIONS.items() for one in names]
)
def test_a_message_shows_a_series_on_one_short_line(method, option):
    with pytest.raises(UsageError, match="got shape: ") as caught:
        method(LOG, **{option: pl.Series(range(50))})
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 200


def test_the_registry_names_every_method():
    assert list(SPLITS) == ["leave-one-out", "leave-k-out", "holdout", "temporal", "k-fold"]
    for name, method in SPLITS.items():
        assert method.__name__ == name.replace("-", "_")


# -- a cut in time with targets and a validation part -----------------------------------------


CUT = pl.DataFrame(
    [
        (u, item, time)
        for u in "ab"
        for item, time in zip(range(1, 9), range(10, 90, 10), strict=True)
    ],
    schema=["user", "item", "time"],
    orient="row",
)


@pytest.mark.parametrize(
    ("targets", "items"), [("all", [6, 7, 8]), ("first", [6]), ("last", [8]), ("random", None)]
)
def test_targets_are_chosen_after_each_cut_and_the_others_are_in_no_part(targets, items):
    split = temporal(CUT, at=60, targets=targets, validation=0.4)

    assert split.train["time"].max() < split.validation["time"].min()
    assert split.validation["time"].max() < 60 <= split.test["time"].min()
    assert split.train["item"].unique().to_list() == [1, 2, 3]
    n_targets = 6 if targets == "all" else 2
    assert split.test.height == n_targets
    assert split.validation.height == (4 if targets == "all" else 2)
    if items is not None:
        assert sorted(split.test["item"].unique()) == items
    if targets != "all":
        assert split.counts["other_interactions"] == 16 - 6 - 4
        assert f"targets='{targets}'" in split.method
    assert split.counts["validation_users"] == 2


def test_targets_do_not_depend_on_the_order_of_rows_or_on_other_users():
    mixed = CUT.sample(fraction=1, shuffle=True, seed=3).with_columns(time=pl.col("time") // 20)
    for targets in ("first", "last", "random"):
        expected = temporal(CUT.with_columns(time=pl.col("time") // 20), at=2, targets=targets)
        found = temporal(mixed, at=2, targets=targets)
        assert rows(found.test.sort("user")) == rows(expected.test.sort("user"))
        alone = temporal(mixed.filter(user="a"), at=2, targets=targets)
        assert rows(alone.test) == rows(expected.test.filter(user="a"))


def test_a_validation_part_of_pandas_has_its_rows_and_no_cold_ones():
    given = CUT.to_pandas().assign(note="x")
    split = temporal(given, at=60, validation=0.4)
    assert [*split.validation.index] == [3, 4, 11, 12]
    late = pl.DataFrame({"user": ["a", "a"], "item": [98, 1], "time": [50, 60]})
    kept = temporal(pl.concat([CUT, late]), at=60, validation=0.4)
    assert kept.validation["item"].max() == 98
    assert kept.counts["dropped_validation_interactions"] == 0
    warm = temporal(pl.concat([CUT, late]), at=60, validation=0.4, cold_items="drop")
    assert warm.test["item"].to_list() == [1]
    assert warm.validation.height == 0
    assert warm.counts["dropped_validation_interactions"] == 5


def test_older_test_rows_are_counted_where_all_times_are_known():
    assert temporal(CUT, at=60).counts["older_than_train"] == 0
    assert (
        leave_one_out(CUT.with_columns(time=pl.col("time") + (pl.col("user") == "b") * 5)).counts[
            "older_than_train"
        ]
        == 0
    )
    late = CUT.with_columns(time=pl.col("time") + (pl.col("user") == "b") * 500)
    assert leave_one_out(late).counts["older_than_train"] == 1
    assert "older than some in train (see rankmeter.audit): 1" in repr(leave_one_out(late))
    gap = late.with_columns(time=pl.when(pl.col("item") > 1).then("time"))
    assert "older_than_train" not in holdout(gap).counts


def test_validation_and_targets_are_checked():
    with pytest.raises(UsageError, match=r"`targets`.*'some'"):
        temporal(CUT, targets="some")
    with pytest.raises(UsageError, match="`validation`"):
        temporal(CUT, validation=1.5)
    with pytest.raises(DataError, match="leaves nothing in train"):
        temporal(CUT, at=20, validation=0.9)
