"""One small data set, on which many tools have been run, and the numbers that they give.

Three users have lists, and a fourth only a history; e and f are in nobody's history.
"""

from __future__ import annotations

import numpy as np
import pytest

import rankmeter as rm

TRAIN = {"u1": ["a", "b"], "u2": ["a", "c"], "u3": ["a", "b", "d"], "u4": ["a"]}
LISTS = {"u1": ["c", "d", "e"], "u2": ["b", "d", "e"], "u3": ["c", "e"]}
TRUTH = {"u1": {"d"}, "u2": {"b", "e"}, "u3": {"f"}}
GENRES = {"a": ["x"], "b": ["x", "y"], "c": ["y"], "d": ["y", "z"], "e": ["z"], "f": ["x"]}
SIDE = {"train": TRAIN, "items": GENRES, "catalogue": list("abcdef")}

# metric → the values of u1, u2, u3; for one number of all lists, that number
VALUES = {
    # novelty
    "novelty@3": (2, 1.6666667, 2),  # RecTools
    "novelty(cold=skip)@3": (2, 1.5, 2),  # Evidently
    "novelty(base=users, denominator=k)@3": (1, 0.8333333, 0.6666667),  # RePlay
    "unseen@3": (1, 1, 1),
    # popularity
    "popularity@3": (0.6666667, 1, 0.5),  # RecTools
    "popularity(scale=share)@3": (0.0833333, 0.125, 0.0625),
    "popularity(scale=most, cold=skip)@3": (0.25, 0.375, 0.25),  # Evidently
    "popularity(cold=one)@3": (1, 1.3333333, 1),  # WarpRec
    "popularity(scale=rank)@3": (0.25, 0.375, 0.1875),  # LensKit
    # diversity
    "ild@3": (0.5285954792, 0.5976310729, 1),
    "ild(distance=jaccard)@3": (0.6666667, 0.7222222, 1),
    "ild(distance=hamming)@3": (1.3333333, 2, 2),  # RecTools
    "ild(distance=euclidean)@3": (1.1380711875, 1.3820881233, 1.4142135624),
    "ild(over=items)@3": (0.5285954792, 0.5976310729, 0.5),  # Evidently
    # all lists together
    "gini@3": 0.4583333,  # LensKit
    "gini(denominator=n-1)@3": 0.55,  # WarpRec
    "gini(denominator=n-1, inverse=true)@3": 0.45,  # Elliot
    "gini(denominator=n-1, items=shown)@3": 0.25,  # Evidently
    "entropy@3": 1.3208883431,
    "entropy(base=2)@3": 1.9056390622,
    "effective_items@3": 3.7467482980,
    "coverage@3": 0.6666667,
    "personalization@3": 0.3695294873,
    "personalization(similarity=overlap)@3": 0.4444444,
}


def test_the_table_of_all_tools():
    result = rm.evaluate(LISTS, TRUTH, list(VALUES), **SIDE)
    per_user = result.per_user.sort("user")
    for (text, wanted), label in zip(VALUES.items(), result, strict=True):
        if isinstance(wanted, tuple):
            np.testing.assert_allclose(per_user[label], wanted, rtol=1e-6, atol=1e-9, err_msg=text)
        mean = result[label].mean
        np.testing.assert_allclose(mean, np.mean(wanted), rtol=1e-6, err_msg=text)


@pytest.mark.parametrize(
    ("catalogue", "wanted"),
    [(["a", "b", "c", "d"], 0.75), (4, 1.0)],
    ids=["RePlay", "recommenders"],
)
def test_coverage_of_the_items_in_training(catalogue, wanted):
    result = rm.evaluate(LISTS, TRUTH, "coverage@3", catalogue=catalogue)
    assert result["coverage@3"].mean == wanted
