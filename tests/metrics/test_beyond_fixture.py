"""One small data set, on which many tools have been run, and the numbers that they give.

Three users have lists, and a fourth only a history; e and f are in nobody's history.
"""

from __future__ import annotations

import numpy as np
import pytest

import rankmeter as rm
from rankmeter.errors import UsageError

pytestmark = pytest.mark.once

TRAIN = {"u1": ["a", "b"], "u2": ["a", "c"], "u3": ["a", "b", "d"], "u4": ["a"]}
LISTS = {"u1": ["c", "d", "e"], "u2": ["b", "d", "e"], "u3": ["c", "e"]}
TRUTH = {"u1": {"d"}, "u2": {"b", "e"}, "u3": {"f"}}
GENRES = {"a": ["x"], "b": ["x", "y"], "c": ["y"], "d": ["y", "z"], "e": ["z"], "f": ["x"]}
SIDE = {"train": TRAIN, "items": GENRES, "catalogue": list("abcdef")}

# metric → the values of u1, u2, u3; for an aggregate metric, one number
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
    # the long tail
    "tail_share(cold=other)@3": (1 / 3, 1 / 3, 0),  # Elliot
    "tail_share(head=over, cold=other, denominator=k)@3": (1 / 3, 1 / 3, 0),  # WarpRec
    "tail_share@3": (2 / 3, 2 / 3, 0.5),
    "tail_share(head=least, cold=other)@3": (1 / 3, 0, 0.5),  # RecBole
    "tail_share(head=count, size=1, cold=other)@3": (2 / 3, 1 / 3, 0.5),
    "tail_count(cold=other)@3": (1, 1, 0),  # Elliot
    "tail_count@3": (2, 2, 1),
    "popularity_lift@3": (-0.7777778, -0.6, -0.7857143),
    # diversity
    "ild@3": (0.5285954792, 0.5976310729, 1),
    "ild(distance=jaccard)@3": (0.6666667, 0.7222222, 1),
    "ild(distance=hamming)@3": (1.3333333, 2, 2),  # RecTools
    "ild(distance=euclidean)@3": (1.1380711875, 1.3820881233, 1.4142135624),
    "ild(over=items)@3": (0.5285954792, 0.5976310729, 0.5),  # Evidently
    "ild(distance=users, unknown=zero)@3": (1, 0.7642977396, 1),  # recommenders
    "eild@3": (0.5042201937, 0.5944727496, 1),
    # categories
    "categorical_diversity@3": (2 / 3, 1, 2 / 3),  # RePlay
    "category_entropy(smoothing=1e-6)@3": (1.0000073197, 1.4591481812, 1.0000106871),  # LensKit
    "category_entropy(discount=geometric, smoothing=1e-6)@3": (
        0.9915982893,
        1.509436406,
        0.9952640551,
    ),
    "subtopic_recall@3": (1, 1, 0),  # WarpRec
    "subtopic_recall(denominator=all)@3": (2 / 3, 1, 0),  # Elliot
    # novelty by rank, of relevant items
    "epc@3": (0.2220614332, 0.469278726, 0),  # Elliot
    "epc(relevance=none)@3": (0.8086598408, 0.6913401592, 0.8467132018),
    "efd@3": (0.8882457329, 1.6424755411, 0),  # Elliot
    "efd(relevance=none)@3": (3, 2.530721274, 3),
    # against the history
    "serendipity(distance=users)@3": (0.1321488698, 0.5488155365, 0),  # recommenders
    "serendipity(form=rank)@3": (0.0555556, 0.2777778, 0),  # RecTools
    "calibration@3": (3.2818439798, 0.739643614, 1.9865558073),
    "calibration(discount=log2)@3": (3.2293881178, 0.5048298261, 1.9615656721),
    "calibration(divergence=js, base=2)@3": (0.6556390622, 0.3250112108, 0.3250112108),
    "calibration(divergence=hellinger)@3": (0.8040190355, 0.5505239095, 0.5505239095),
    "list_length@3": (3, 3, 2),
    "sufficiency@3": (1, 1, 0),  # RecTools
    "sufficiency(partial=true)@3": (1, 1, 2 / 3),
    "repetition@3": (0, 0, 0),
    # all lists together
    "gini@3": 0.4583333,  # LensKit
    "gini(denominator=n-1)@3": 0.55,  # WarpRec
    "gini(denominator=n-1, inverse=true)@3": 0.45,  # Elliot
    "gini(denominator=n-1, items=shown)@3": 0.25,  # Evidently
    "exposure_gini@3": 0.4330474148,  # LensKit
    "entropy@3": 1.3208883431,
    "entropy(per=item)@3": 0.3302220858,  # RecBole
    "entropy(base=2, weights=lists)@3": 1.8836256942,  # Elliot
    "entropy(base=2)@3": 1.9056390622,
    "effective_items@3": 3.7467482980,
    "coverage@3": 0.6666667,
    "coverage(items=training)@3": 0.75,  # RePlay
    "coverage(items=training, outside=count)@3": 1.0,  # recommenders
    "rsp(groups=popularity)@3": 0.0,  # Elliot
    "reo(groups=popularity)@3": 0.0,
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
    truth = {**TRUTH, "u3": {"e"}}  # a size must hold what is judged, too
    result = rm.evaluate(LISTS, truth, "coverage@3", catalogue=catalogue)
    assert result["coverage@3"].mean == wanted


def test_pooled_values():
    wanted = {
        "novelty(of=interactions, cold=zero, aggregate=micro)@3": 1.75,  # recommenders
        "popularity_lift(aggregate=micro)@3": -0.7234042553,
    }
    result = rm.evaluate(LISTS, TRUTH, list(wanted), **SIDE)
    for label, value in zip(result, wanted.values(), strict=True):
        assert result[label].mean == pytest.approx(value), label


def test_epc_and_efd_of_ranksys():
    """Popularity a 4, b 2, c 1 of four users; b and c are relevant."""
    train = {"u": ["a", "b"], "v": ["a", "b"], "w": ["a", "c"], "x": ["a"]}
    wanted = {
        "epc(discount=none, relevance=none)": 0.4166667,
        "epc(relevance=none)": 0.3240205,
        "epc": 0.3240205,
        "efd(discount=none, relevance=none)": 1.8073549,
        "efd(relevance=none)": 1.5727156,
        "efd": 1.1938410,
    }
    result = rm.evaluate({"x": ["a", "b", "c"]}, {"x": {"b", "c"}}, list(wanted), train=train)
    for label, value in zip(result, wanted.values(), strict=True):
        assert result[label].mean == pytest.approx(value, abs=1e-7), label


def test_calibration_of_steck():
    """The user has 7 films of one genre and 3 of another, and is shown one of the first."""
    genres = {f"i{n}": ["x" if n < 7 else "y"] for n in range(10)}
    side = {"train": {"u": list(genres)}, "items": genres}
    result = rm.evaluate(
        {"u": ["i0"]},
        {"u": {"i0"}},
        ["calibration", "calibration(base=2)", "calibration(divergence=js, base=2)"],
        **side,
    )
    found = [value.mean for value in result.values()]
    assert found == pytest.approx([1.133981751353524, 1.63598984913631, 0.16919485510105411])
    same = rm.evaluate({"u": list(genres)}, {"u": {"i0"}}, "calibration", **side)
    assert same["calibration"].mean == 0


def test_topics_of_ndeval():
    """Topic a has A, b has B and D, c has C; E is not judged."""
    topics = {"A": ["a"], "B": ["b"], "C": ["c"], "D": ["b"]}
    run = {"q": {"A": 9.3, "D": 8.4, "E": 8.1, "B": 7.6}}
    wanted = {
        "err_ia@5": 0.3933,
        "err_ia@20": 0.3907,
        "err_ia(ideal=greedy)@20": 0.8297,
        "err_ia(ideal=none)@20": 0.270833,
        "alpha_ndcg(ideal=bound)@5": 0.4052,
        "alpha_ndcg(ideal=bound)@20": 0.3997,
        "alpha_ndcg@20": 0.7868,
        "nrbp@20": 0.3906,
        "nrbp(ideal=greedy)@20": 0.8620,
        "map_ia": 0.5,
        "p_ia@5": 0.2,
        "subtopic_recall@20": 0.6666,
    }
    result = rm.evaluate(run, {"q": set("ABCD")}, list(wanted), items=topics)
    for label, value in zip(result, wanted.values(), strict=True):
        assert result[label].mean == pytest.approx(value, abs=1e-4), label


def test_overlap_with_a_baseline():
    """By depth, 0 of 1, 2 of 2 and 2 of 3 are common."""
    lists, other = {"u": ["a", "b", "c"]}, {"u": ["b", "a", "d"]}
    wanted = {
        "unexpectedness(inverse=true)@3": 2 / 3,  # RecTools
        "unexpectedness(inverse=true, baseline_k=1)@3": 1 / 3,
        "unexpectedness(denominator=k)@4": 1 - 2 / 4,  # RePlay
        "unexpectedness(overlap=rbo, p=0.5, inverse=true)@3": (0 + 1 / 2 + 1 / 4 * 2 / 3) / 1.75,
        # 2/3 · p³ + (1 - p) / p · (p² · 2/2 + p³ · 2/3)
        "unexpectedness(overlap=rbo_ext, p=0.5, inverse=true)@3": 2 / 3 / 8 + 1 / 4 + 2 / 3 / 8,
        "least_item_promoted@1": 0,
        "least_item_promoted@2": 0,
    }
    result = rm.evaluate(lists, {"u": {"a"}}, list(wanted), baseline_lists=other)
    for label, value in zip(result, wanted.values(), strict=True):
        assert result[label].mean == pytest.approx(value), label


def test_a_similarity_that_is_given_is_used_as_it_is():
    items = sorted(GENRES)
    vectors = np.array([[g in GENRES[i] for g in "xyz"] for i in items], dtype=float)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    order = [3, 0, 5, 1, 4, 2]
    given = (np.array(items)[order], (vectors @ vectors.T)[np.ix_(order, order)])
    for text in ("ild(%s)@3", "eild(%s)@3", "epd(%s)@3"):
        same = rm.evaluate(LISTS, TRUTH, text % "distance=cosine", **SIDE)
        mine = rm.evaluate(LISTS, TRUTH, text % "distance=given", train=TRAIN, items=given)
        (one,), (other,) = same.values(), mine.values()
        assert one.mean == pytest.approx(other.mean), text


@pytest.mark.parametrize(
    ("metric", "side", "wanted"),
    [
        ("ild@3", {}, "ild@3: needs features of the items: pass items="),
        ("ild(distance=users)@3", {}, "needs the training interactions: pass train="),
        ("eild(distance=given)@3", {"items": GENRES}, "a pair .ids, square matrix.: pass items="),
        ("epc@3", {}, "epc@3: needs the training interactions: pass train="),
        ("epd@3", {"items": GENRES}, "needs the training interactions: pass train="),
    ],
)
def test_what_is_missing_is_asked_for_by_name(metric, side, wanted):
    with pytest.raises(UsageError, match=wanted):
        rm.evaluate(LISTS, TRUTH, metric, **side)
