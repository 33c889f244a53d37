"""The MovieLens ratings of the checkout, and synthetic ratings."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest

import rankmeter as rm
from rankmeter import datasets
from rankmeter.datasets import movielens, synthetic, synthetic_items
from rankmeter.errors import DataError, UsageError

pytestmark = pytest.mark.once

HEADER = "userId,movieId,rating,timestamp\n"


def test_movielens_is_what_grouplens_says():
    ratings = movielens()

    assert ratings.schema == {
        "user": pl.Int64,
        "item": pl.Int64,
        "rating": pl.Float64,
        "time": pl.Int64,
    }
    assert ratings.height == 100_836
    assert ratings["user"].n_unique() == 610
    assert ratings["item"].n_unique() == 9_724
    assert not ratings.select("user", "item").is_duplicated().any()
    assert ratings["user"].value_counts()["count"].min() == 20
    assert Counter(ratings["rating"]) == {
        0.5: 1370,
        1.0: 2811,
        1.5: 1791,
        2.0: 7551,
        2.5: 5550,
        3.0: 20047,
        3.5: 13136,
        4.0: 26818,
        4.5: 8551,
        5.0: 13211,
    }


def test_the_license_stands_beside_the_ratings():
    readme = datasets._CHECKOUT / datasets._FOLDER / "README.txt"

    assert "may redistribute the data set" in readme.read_text(encoding="utf-8")


def test_movielens_reads_a_file_or_its_folder(tmp_path):
    (tmp_path / "ratings.csv").write_text(HEADER + "1,2,3.5,4\n")

    for path in (tmp_path, tmp_path / "ratings.csv", str(tmp_path)):
        assert movielens(path).rows() == [(1, 2, 3.5, 4)]


def test_without_a_checkout_movielens_looks_in_the_current_directory(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets, "_CHECKOUT", tmp_path / "site-packages")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        DataError, match=r"site-packages.* or .*GroupLens.*README\.txt.*demo --ratings"
    ):
        movielens()

    folder = tmp_path / "examples" / "ml-latest-small"
    folder.mkdir(parents=True)
    (folder / "ratings.csv").write_text(HEADER + "1,2,3.5,4\n")
    assert movielens().rows() == [(1, 2, 3.5, 4)]


def test_a_path_without_ratings_is_named(tmp_path):
    with pytest.raises(DataError, match=r"nowhere\.csv"):
        movielens(tmp_path / "nowhere.csv")


def test_synthetic_ratings_have_the_shape_that_was_asked_for():
    ratings = synthetic(n_users=50, n_items=30, n_per_user=12, uneven=0)

    assert ratings.equals(ratings.sort("user", "time"))
    assert Counter(ratings["user"]) == dict.fromkeys(range(1, 51), 12)
    assert set(ratings["item"]) <= set(range(1, 31))
    assert not ratings.select("user", "item").is_duplicated().any()
    assert set(ratings["rating"]) <= {stars / 2 for stars in range(1, 11)}
    assert ratings["rating"].n_unique() > 5
    assert ratings["time"].min() >= 1_577_836_800


def test_users_are_unequally_active():
    ratings = synthetic(n_users=5000)
    n = ratings["user"].value_counts()["count"]
    assert n.mean() == pytest.approx(20, rel=0.03)
    assert n.min() == 5  # a quarter of the mean
    assert n.max() > 100
    assert n.median() == pytest.approx(20 * (0.25 + 0.75 * np.log(2)), rel=0.05)
    assert ratings.equals(ratings.sort("user", "time"))
    assert not ratings.select("user", "item").is_duplicated().any()
    few = synthetic(n_users=300, n_items=8, n_per_user=4, uneven=1)["user"].value_counts()["count"]
    assert (few.min(), few.max()) == (1, 8)


def test_items_are_named_and_have_their_tastes():
    ratings = synthetic(n_users=300, seed=3)
    items = synthetic_items(seed=3)
    assert items["title"].n_unique() == items.height == 2000
    assert set(ratings["item"]) <= set(items["item"])
    assert synthetic_items(n_items=3000)["title"].n_unique() == 3000
    liked = ratings.join(items, on="item").explode("category").group_by("user", "category").len()
    share = liked.group_by("user").agg(pl.col("len").max() / pl.col("len").sum())["len"]
    assert share.mean() > 0.5  # most items of a user have one taste
    assert synthetic_items(n_items=40, n_tastes=30)["category"].explode().n_unique() > 20
    with pytest.raises(UsageError, match="n_tastes"):
        synthetic_items(n_tastes=0)


def test_everyone_may_rate_everything():
    ratings = synthetic(n_users=3, n_items=5, n_per_user=5, uneven=0)

    assert sorted(ratings["item"]) == sorted([1, 2, 3, 4, 5] * 3)


def test_blocks_of_users_and_more_users_change_nothing(monkeypatch):
    ratings = synthetic(n_users=20, n_items=40, n_per_user=6)
    monkeypatch.setattr(datasets, "_CELLS", 100)

    assert synthetic(n_users=20, n_items=40, n_per_user=6).equals(ratings)
    assert synthetic(n_users=5, n_items=40, n_per_user=6).equals(
        ratings.filter(ratings["user"] <= 5)
    )


def test_popularity_follows_zipf():
    """With one draw each, the r-th item has the share (1 / r) / (1 + 1/2 + ... + 1/n)."""
    n_users, n_items = 20_000, 20
    ratings = synthetic(n_users=n_users, n_items=n_items, n_per_user=1, n_tastes=1, uneven=0)
    counts = np.sort(ratings["item"].value_counts()["count"].to_numpy())[::-1]
    share = 1 / np.arange(1, n_items + 1)
    expected = n_users * share / share.sum()

    assert ((counts - expected) ** 2 / expected).sum() < 19 + 4 * np.sqrt(2 * 19)


def test_exponent_zero_makes_all_items_alike():
    ratings = synthetic(n_users=20_000, n_items=10, n_per_user=1, exponent=0, n_tastes=1, uneven=0)
    counts = ratings["item"].value_counts()["count"].to_numpy()

    assert ((counts - 2000) ** 2 / 2000).sum() < 9 + 4 * np.sqrt(2 * 9)


def test_a_greater_exponent_makes_popularity_more_uneven():
    top = [
        synthetic(n_users=500, n_items=200, n_per_user=5, exponent=exponent)["item"]
        .value_counts()["count"]
        .max()
        for exponent in (0, 0.5, 1, 2)
    ]

    assert top == sorted(set(top))


def test_models_that_learn_beat_popularity_as_on_real_ratings():
    split = rm.splits.holdout(synthetic(), ratio=0.2)
    models = {
        name: getattr(rm.baselines, name)(split.train) for name in ("popularity", "item_knn", "svd")
    }
    compared = rm.compare(models, split.test, "ndcg@10", baseline="popularity", relevant=">=4")
    assert all(d.difference > 0 and d.p_adjusted < 0.01 for d in compared["ndcg@10"])


def test_synthetic_ratings_never_change():
    """Docs and benchmarks quote numbers computed on them."""
    assert synthetic(n_users=2, n_items=100, n_per_user=3, uneven=0).rows() == [
        (1, 48, 4.0, 1586832037),
        (1, 62, 5.0, 1586918691),
        (1, 13, 1.5, 1586975617),
        (2, 75, 4.5, 1594427180),
        (2, 53, 4.0, 1594443181),
        (2, 47, 3.0, 1594625878),
    ]
    assert synthetic(n_users=2, n_items=100, n_per_user=3, n_tastes=1, uneven=0).rows()[3:] == [
        (2, 75, 4.5, 1594427180),
        (2, 47, 3.5, 1594609877),
        (2, 1, 4.0, 1594652470),
    ]
    assert not synthetic(seed=1).equals(synthetic(seed=2))


@pytest.mark.parametrize(
    "options, message",
    [
        ({"n_users": 0}, "`n_users`.*got 0"),
        ({"n_items": 2.5}, "`n_items`.*2.5"),
        ({"n_per_user": -1}, "`n_per_user`.*-1"),
        ({"n_items": 5, "n_per_user": 6}, "`n_per_user` must be at most `n_items`, got 6 > 5"),
        ({"exponent": -1}, "`exponent`.*-1"),
        ({"exponent": float("nan")}, "`exponent`.*nan"),
        ({"uneven": 1.5}, "`uneven`.*1.5"),
        ({"exponent": "1"}, "`exponent`.*'1'"),
        ({"seed": None}, "`seed`.*None"),
    ],
)
def test_numbers_without_a_meaning_are_refused(options, message):
    with pytest.raises(UsageError, match=message):
        synthetic(**options)
