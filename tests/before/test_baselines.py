"""Baselines against slow definitions, their laws, and the real ratings."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankmeter import baselines
from rankmeter.baselines import (
    BASELINES,
    damped_mean_rating,
    decayed_popularity,
    item_knn,
    mean_rating,
    popularity,
    random,
    recent_popularity,
    svd,
)
from rankmeter.datasets import movielens
from rankmeter.errors import ColumnError, DataError, IdTypeError, InvalidValueError, UsageError

DAY = 86_400
NAMES = list(BASELINES)


@st.composite
def logs(draw):
    """Small tables with repeated pairs, equal ratings and equal times."""
    rows = draw(
        st.lists(
            st.tuples(
                st.integers(-2, 4),
                st.integers(0, 6),
                st.sampled_from([0.5, 1.1, 3.3, 4.7]),
                st.integers(0, 4).map(lambda day: day * DAY),
            ),
            min_size=1,
            max_size=40,
        )
    )
    log = pl.DataFrame(rows, schema=["user", "item", "rating", "time"], orient="row")
    if draw(st.booleans()):
        log = log.with_columns(pl.format("u{}", "user").alias("user"), pl.col("item").cast(str))
    return log


# Score of each item, exactly as the definition says; times in days, `last` the last of them.
def _means(log, damping):
    ratings = defaultdict(list)
    for item, rating in log.select("item", "rating").rows():
        ratings[item].append(Fraction(rating))
    every = [rating for some in ratings.values() for rating in some]
    overall = sum(every) / len(every)
    return {
        item: (sum(some) + damping * overall) / (len(some) + damping)
        for item, some in ratings.items()
    }


def _recent(log, days):
    last = log["time"].max() / DAY
    times = log.select("item", pl.col("time") / DAY).rows()
    return Counter(item for item, day in times if day > last - days)


def _decayed(log, half_life):
    scores = defaultdict(Fraction)
    for item, time in log.select("item", "time").rows():
        age = Fraction(log["time"].max() - time, DAY) / half_life
        assert age.denominator == 1
        scores[item] += Fraction(1, 2 ** int(age))
    return scores


DEFINITIONS = {
    "popularity": ({}, lambda log: Counter(log["item"])),
    "recent-popularity": ({"days": 2}, lambda log: _recent(log, 2)),
    "decayed-popularity": ({"half_life": 1}, lambda log: _decayed(log, 1)),
    "mean-rating": ({}, lambda log: _means(log, 0)),
    "damped-mean-rating": ({"damping": 3}, lambda log: _means(log, 3)),
}


@pytest.mark.parametrize("exclude_seen", [True, False])
@pytest.mark.parametrize("name", DEFINITIONS)
@given(log=logs(), k=st.integers(1, 9))
def test_lists_are_what_the_definition_says(name, exclude_seen, log, k):
    options, define = DEFINITIONS[name]
    scores = define(log)
    made = BASELINES[name](log, k=k, exclude_seen=exclude_seen, **options)
    for user in set(log["user"]):
        seen = set(log.filter(pl.col("user") == user)["item"]) if exclude_seen else set()
        best = sorted((-score, item) for item, score in scores.items() if item not in seen)[:k]
        expected = [float(-score) for score, _ in best]
        of_user = made.filter(pl.col("user") == user)
        assert of_user["score"].to_list() == pytest.approx(expected, rel=1e-12)
        # Means that differ by a rounding error may swap ranks; counts and halves may not.
        assert [float(scores[item]) for item in of_user["item"]] == pytest.approx(expected)
        if "rating" not in name:
            assert of_user["item"].to_list() == [item for _, item in best]


@pytest.mark.parametrize("exclude_seen", [True, False])
@pytest.mark.parametrize("name", NAMES)
@given(log=logs(), k=st.integers(1, 9))
def test_every_list_is_well_formed(name, exclude_seen, log, k):
    made = BASELINES[name](log, k=k, exclude_seen=exclude_seen)

    assert made.columns == ["user", "item", "score", "rank"]
    assert made.schema["user"] == log.schema["user"]
    assert made.schema["item"] == log.schema["item"]
    assert made.equals(made.sort("user", "rank"))
    for (user,), part in made.group_by("user"):
        assert part["rank"].to_list() == list(range(1, part.height + 1))
        assert part["score"].is_sorted(descending=True)
        assert part["item"].is_unique().all()
        assert part.height <= k
        if exclude_seen:
            assert not set(part["item"]) & set(log.filter(pl.col("user") == user)["item"])
        if name == "random":
            unseen = log["item"].n_unique() - exclude_seen * (
                log.filter(pl.col("user") == user)["item"].n_unique()
            )
            assert part.height == min(k, unseen)
        else:
            by_score = part.sort(["score", "item"], descending=[True, False])
            assert part["item"].equals(by_score["item"])


@pytest.mark.once
@pytest.mark.parametrize("name", NAMES)
@given(log=logs(), shuffle=st.randoms(use_true_random=False))
def test_any_order_of_rows_gives_the_same_lists_to_the_last_bit(name, log, shuffle):
    order = list(range(log.height))
    shuffle.shuffle(order)
    before = log.clone()

    assert BASELINES[name](log).equals(BASELINES[name](log[order]))
    assert log.equals(before)


@pytest.mark.once
@pytest.mark.parametrize("name", NAMES)
@given(log=logs(), data=st.data())
def test_lists_do_not_depend_on_who_else_is_asked(name, log, data):
    known = sorted(set(log["user"]))
    asked = data.draw(st.lists(st.sampled_from(known), min_size=1))

    everyone = BASELINES[name](log, k=4)
    assert BASELINES[name](log, k=4, users=asked).equals(
        everyone.filter(pl.col("user").is_in(asked))
    )


@given(log=logs(), damping=st.floats(0, 100))
def test_a_damped_mean_lies_between_the_mean_and_the_overall_mean(log, damping):
    overall = log["rating"].mean()
    means, damped = (
        dict(made.select("item", "score").rows())
        for made in (
            mean_rating(log, exclude_seen=False, users=log["user"].head(1)),
            damped_mean_rating(log, damping=damping, exclude_seen=False, users=log["user"].head(1)),
        )
    )
    for item, mean in means.items():
        low, high = sorted((mean, overall))
        assert low - 1e-12 <= damped[item] <= high + 1e-12
    if damping == 0:
        assert damped == means


@given(log=logs())
def test_a_window_over_everything_and_no_decay_are_popularity(log):
    plain = popularity(log)

    assert recent_popularity(log, days=1000).equals(plain)
    slow = decayed_popularity(log, half_life=1e12)
    assert slow["score"].to_list() == pytest.approx(plain["score"].to_list())


# -- worked examples --------------------------------------------------------------------------

LOG = pl.DataFrame(
    [
        (1, "a", 5.0, 0),
        (1, "b", 3.0, 1),
        (2, "a", 4.0, 2),
        (2, "c", 5.0, 8),
        (3, "b", 3.0, 9),
        (3, "d", 1.0, 10),
    ],
    schema=["user", "item", "rating", "time"],
    orient="row",
).with_columns(pl.col("time") * DAY)


def listed(made):
    return made.select("item", "score").rows()


def test_popularity_counts_and_breaks_ties_by_item():
    assert listed(popularity(LOG, users=[9])) == [("a", 2), ("b", 2), ("c", 1), ("d", 1)]
    assert listed(popularity(LOG, users=[1])) == [("c", 1), ("d", 1)]
    assert listed(popularity(LOG, users=[1], exclude_seen=False, k=1)) == [("a", 2)]


def test_recent_popularity_leaves_out_the_start_of_the_window():
    assert listed(recent_popularity(LOG, days=2, users=[9])) == [("b", 1), ("d", 1)]
    assert listed(recent_popularity(LOG, days=2.5, users=[9])) == [("b", 1), ("c", 1), ("d", 1)]
    assert listed(recent_popularity(LOG, fraction=0.2, users=[9])) == [("b", 1), ("d", 1)]
    assert listed(recent_popularity(LOG, users=[9])) == [("d", 1)]


def test_decayed_popularity_halves():
    scores = dict(listed(decayed_popularity(LOG, half_life=2, users=[9])))

    assert scores == pytest.approx({"a": 2**-5 + 2**-4, "b": 2**-4.5 + 2**-0.5, "c": 2**-1, "d": 1})
    assert decayed_popularity(LOG).equals(decayed_popularity(LOG, half_life=1))


def test_all_at_the_same_time_is_recent_and_undecayed():
    log = LOG.with_columns(time=pl.lit(5))

    assert listed(recent_popularity(log, users=[9])) == listed(popularity(LOG, users=[9]))
    assert listed(decayed_popularity(log, users=[9])) == listed(popularity(LOG, users=[9]))


def test_mean_rating_and_its_damped_form():
    assert listed(mean_rating(LOG, users=[9])) == [("c", 5), ("a", 4.5), ("b", 3), ("d", 1)]
    # The overall mean is 21 / 6 = 3.5.
    assert listed(damped_mean_rating(LOG, damping=1, users=[9])) == [
        ("c", (5 + 3.5) / 2),
        ("a", (9 + 3.5) / 3),
        ("b", (6 + 3.5) / 3),
        ("d", (1 + 3.5) / 2),
    ]
    expected = (9 + 10 * 3.5) / 12
    assert dict(listed(damped_mean_rating(LOG, users=[9])))["a"] == pytest.approx(expected)


@pytest.mark.parametrize(
    "time",
    [
        (pl.col("time") * 1000).alias("time"),
        pl.from_epoch("time"),
        pl.from_epoch("time").dt.replace_time_zone("UTC"),
        pl.from_epoch("time").cast(pl.Date),
        (pl.col("time") / 1.0).alias("time"),
    ],
    ids=["milliseconds", "datetime", "zoned", "date", "float"],
)
def test_days_are_days_in_every_form_of_time(time):
    log = LOG.with_columns(pl.col("time") + 1_600_000_000 // DAY * DAY)
    other = log.with_columns(time)

    assert recent_popularity(other, days=2).equals(recent_popularity(log, days=2))
    assert decayed_popularity(other, half_life=2).equals(decayed_popularity(log, half_life=2))


def test_a_unit_overrides_the_guess():
    assert listed(recent_popularity(LOG, days=2 / 1000, unit="ms", users=[9])) == [
        ("b", 1),
        ("d", 1),
    ]
    assert decayed_popularity(LOG, half_life=2 / 1000, unit="ms").equals(
        decayed_popularity(LOG, half_life=2)
    )


def test_a_user_who_has_seen_everything_gets_nothing():
    log = pl.DataFrame({"user": [1, 1, 2], "item": [5, 6, 6]})

    assert popularity(log).rows() == [(2, 5, 1.0, 1)]
    assert random(log, users=[1]).is_empty()
    assert popularity(log, users=[1]).schema == popularity(log).schema


@pytest.mark.parametrize(
    "users",
    [
        [2, 1, 2],
        (1, 2),
        {1, 2},
        range(1, 3),
        np.array([2, 1]),
        pl.Series([1, 2, 1]),
        pl.Series([1, 2], dtype=pl.UInt8),
        pl.Series([2.0, 1.0]),
    ],
    ids=repr,
)
def test_users_come_in_any_form_and_each_gets_one_list(users):
    expected = popularity(LOG).filter(pl.col("user") <= 2)

    assert popularity(LOG, users=users).equals(expected)


def test_users_may_be_a_pandas_series():
    pandas = pytest.importorskip("pandas")
    log = LOG.with_columns(pl.format("u{}", "user").alias("user"))

    made = popularity(log, users=pandas.Series(["u2", "new"]))
    assert made["user"].unique().sort().to_list() == ["new", "u2"]


# -- random -----------------------------------------------------------------------------------


def test_random_lists_everything_once_and_scores_fall_in_equal_steps():
    made = random(LOG, users=[9])

    assert sorted(made["item"]) == ["a", "b", "c", "d"]
    assert made["score"].to_list() == [1, 0.75, 0.5, 0.25]


def test_every_item_is_as_likely_at_every_place():
    n_users, items = 24_000, list(range(6))
    log = pl.DataFrame({"user": 0, "item": items})
    made = random(log, users=np.arange(1, n_users + 1), seed=3)
    cells = Counter(made.select("item", "rank").rows())

    assert len(cells) == 36
    chi_square = sum((n - n_users / 6) ** 2 / (n_users / 6) for n in cells.values())
    assert chi_square < 25 + 4 * math.sqrt(2 * 25)


def test_seeds_and_users_make_different_orders():
    ratings = movielens()
    lists = [random(ratings, users=[user], seed=seed) for user in (-1, -2) for seed in (0, 1)]

    assert len({tuple(one["item"].to_list()) for one in lists}) == 4
    assert random(ratings, seed=5).equals(random(ratings, seed=5))


# -- real ratings -----------------------------------------------------------------------------


def test_popular_movies():
    """356 is Forrest Gump, 318 The Shawshank Redemption, 296 Pulp Fiction."""
    made = popularity(movielens(), users=[-1], k=3)

    assert made.rows() == [(-1, 356, 329.0, 1), (-1, 318, 317.0, 2), (-1, 296, 307.0, 3)]


@pytest.mark.once
@pytest.mark.parametrize("name", NAMES)
def test_everyone_gets_a_hundred_unseen_movies(name):
    ratings = movielens()
    made = BASELINES[name](ratings)

    assert made["user"].n_unique() == 610
    assert made.join(ratings, on=["user", "item"]).is_empty()
    full = made.group_by("user").len().filter(pl.col("len") == 100).height
    assert full == 610


def test_the_best_damped_mean_is_a_film_that_many_rate_well():
    ratings = movielens()

    assert damped_mean_rating(ratings, users=[-1], k=1)["item"].to_list() == [318]
    best = mean_rating(ratings, users=[-1], k=1)["item"][0]
    stars = ratings.filter(pl.col("item") == best)["rating"].to_list()
    assert set(stars) == {5.0}
    assert len(stars) < 5


# -- refusals ---------------------------------------------------------------------------------

REFUSALS = {
    "k": (lambda: popularity(LOG, k=0), UsageError, "`k` must be an integer ≥ 1, got 0"),
    "k of random": (lambda: random(LOG, k="10"), UsageError, "`k`.*'10'"),
    "days": (
        lambda: recent_popularity(LOG, days=0),
        UsageError,
        "`days` must be a number > 0, got 0",
    ),
    "days NaN": (lambda: recent_popularity(LOG, days=math.nan), UsageError, "`days`.*nan"),
    "fraction": (lambda: recent_popularity(LOG, fraction=1.5), UsageError, "`fraction`.*1.5"),
    "days and fraction": (
        lambda: recent_popularity(LOG, days=1, fraction=0.5),
        UsageError,
        "`days` or `fraction`, not both: got 1 and 0.5",
    ),
    "half-life": (lambda: decayed_popularity(LOG, half_life=-1), UsageError, "`half_life`.*-1"),
    "half-life text": (lambda: decayed_popularity(LOG, half_life="1"), UsageError, "'1'"),
    "unit": (lambda: decayed_popularity(LOG, unit="d"), UsageError, "`unit`.*'d'"),
    "damping": (lambda: damped_mean_rating(LOG, damping=-1), UsageError, "`damping`.*≥ 0"),
    "seed": (lambda: random(LOG, seed=0.5), UsageError, "`seed`.*0.5"),
    "no users": (lambda: popularity(LOG, users=[]), UsageError, "`users` is empty"),
    "other type of users": (
        lambda: popularity(LOG, users=["1"]),
        IdTypeError,
        "String ids such as '1', train has Int64 ids such as 1",
    ),
    "users are a string": (lambda: popularity(LOG, users="12"), UsageError, "got str '12'"),
    "users are a number": (lambda: popularity(LOG, users=1), UsageError, "got int 1"),
    "users are a matrix": (
        lambda: popularity(LOG, users=np.ones((2, 2))),
        UsageError,
        "got ndarray array",
    ),
    "exclude_seen": (
        lambda: popularity(LOG, exclude_seen="no"),
        UsageError,
        "`exclude_seen` must be True or False, got 'no'",
    ),
    "users of mixed types": (lambda: popularity(LOG, users=[1, "b"]), IdTypeError, "users="),
    "a user is missing": (lambda: popularity(LOG, users=[1, None]), InvalidValueError, "users="),
    "users beyond the type": (
        lambda: popularity(LOG, users=[2**63]),
        IdTypeError,
        "UInt64 ids such as 9223372036854775808",
    ),
    "no ratings": (
        lambda: mean_rating(LOG.drop("rating")),
        ColumnError,
        "mean_rating needs a rating column; besides user and item, the columns are time",
    ),
    "a rating is missing": (
        lambda: damped_mean_rating(LOG.with_columns(rating=pl.lit(None, dtype=pl.Float64))),
        InvalidValueError,
        "6 interactions; 6 are missing",
    ),
    "a rating is infinite": (
        lambda: mean_rating(LOG.with_columns(rating=pl.lit(math.inf))),
        InvalidValueError,
        "6 are missing or infinite",
    ),
    "no time": (
        lambda: recent_popularity(LOG.drop("time")),
        ColumnError,
        "recent_popularity needs a time column",
    ),
    "a time is missing": (
        lambda: decayed_popularity(LOG.with_columns(time=pl.lit(None, dtype=pl.Int64))),
        InvalidValueError,
        "6 of 6 are missing",
    ),
    "no interactions": (lambda: popularity({"u": []}), DataError, "no interactions"),
}


@pytest.mark.parametrize("call, error, message", REFUSALS.values(), ids=REFUSALS)
def test_what_has_no_meaning_is_refused_with_a_reason(call, error, message):
    with pytest.raises(error, match=message) as caught:
        call()
    assert caught.type is error


@pytest.mark.parametrize("form", ["polars", "lazy", "pandas", "arrow", "csv"])
def test_users_may_be_a_frame_with_a_column_for_them(form, tmp_path):
    asked = LOG.select("user").unique().sort("user").head(2)
    LOG.filter(pl.col("user").is_in(asked["user"].implode())).write_csv(tmp_path / "users.csv")
    forms = {
        "polars": lambda: asked,
        "lazy": asked.lazy,
        "pandas": asked.to_pandas,
        "arrow": asked.to_arrow,
        "csv": lambda: tmp_path / "users.csv",
    }
    expected = popularity(LOG, users=asked["user"].to_list())
    assert popularity(LOG, users=forms[form]()).equals(expected)


@pytest.mark.parametrize("option", ["k", "users", "exclude_seen", "days", "fraction"])
def test_a_message_shows_a_table_on_one_short_line(option):
    table = np.ones((50, 2)) if option == "users" else pl.Series(range(50))
    with pytest.raises(UsageError, match=r"(found|got) .*…") as caught:
        recent_popularity(LOG, **{option: table})
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 200


def test_columns_may_have_other_names():
    log = LOG.rename({"user": "who", "item": "what", "rating": "stars", "time": "when"})
    names = {"user": "who", "item": "what", "rating": "stars", "time": "when"}
    for baseline in BASELINES.values():
        assert baseline(log, columns=names).equals(baseline(LOG))


def test_the_registry_names_every_baseline():
    for name, baseline in BASELINES.items():
        assert baseline.__name__ == name.replace("-", "_")
        assert baseline.__name__ in baselines.__all__
    assert len(BASELINES) == len(baselines.__all__) - 1


# -- models ------------------------------------------------------------------------------------


def _similar(log, a, b):
    """The cosine of the users of two items."""
    users = [set(log.filter(pl.col("item") == item)["user"]) for item in (a, b)]
    return len(users[0] & users[1]) / math.sqrt(len(users[0]) * len(users[1]))


@given(log=logs())
def test_item_knn_adds_up_the_similarities_to_the_items_of_the_user(log):
    made = item_knn(log, k=9)
    for user, item, score, _ in made.rows():
        own = set(log.filter(pl.col("user") == user)["item"])
        assert score == pytest.approx(sum(_similar(log, item, one) for one in own), abs=1e-9)


@given(log=logs(), n=st.integers(1, 3))
def test_item_knn_takes_the_nearest_neighbours_of_each_item(log, n):
    items = sorted(set(log["item"]))
    for user, item, score, _ in item_knn(log, neighbours=n, k=9).rows():
        others = sorted((_similar(log, item, one) for one in items if one != item), reverse=True)
        bound = others[:n][-1] if others else 0.0
        own = set(log.filter(pl.col("user") == user)["item"])
        near = [s for one in own if (s := _similar(log, item, one)) >= bound - 1e-9]
        assert score == pytest.approx(sum(near), abs=1e-9)


def test_svd_approximates_the_matrix_as_numpy_does():
    log = movielens().filter((pl.col("user") <= 60) & (pl.col("item") < 900))
    users, items = sorted(set(log["user"])), sorted(set(log["item"]))
    seen = np.zeros((len(users), len(items)))
    for user, item in log.select("user", "item").rows():
        seen[users.index(user), items.index(item)] = 1.0
    u, s, v = np.linalg.svd(seen, full_matrices=False)
    close = (u[:, :5] * s[:5]) @ v[:5]
    for method in ("all at once", "Lanczos"):
        with pytest.MonkeyPatch.context() as patch:
            if method == "Lanczos":
                patch.setattr("rankmeter.baselines._recommend._DENSE", 0)
            made = svd(log, factors=5, k=20)
        for user, item, score, _ in made.rows():
            assert score == pytest.approx(close[users.index(user), items.index(item)], abs=1e-8)


@pytest.mark.parametrize("options", [{"neighbours": 0}, {"neighbours": 1.5}])
def test_models_refuse_what_is_not_a_number_of_neighbours_or_factors(options):
    log = pl.DataFrame({"user": [1], "item": [2]})
    with pytest.raises(UsageError, match="must be an integer ≥ 1"):
        item_knn(log, **options)
    with pytest.raises(UsageError, match="must be an integer ≥ 1"):
        svd(log, factors=options["neighbours"])


def test_users_whom_a_model_does_not_know_get_nothing():
    log = pl.DataFrame({"user": [1, 1, 2], "item": [10, 20, 10]})
    assert set(svd(log, users=[2, 7])["user"]) == {2}
    assert item_knn(log, users=[7]).height == 0
