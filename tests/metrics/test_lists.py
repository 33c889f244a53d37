"""List metrics: lists, side data, aggregate metrics."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array

import cases
import rankmeter as rm
from command_line import rankmeter
from rankmeter.errors import (
    DataError,
    IdTypeError,
    RankmeterError,
    RankmeterWarning,
    UsageError,
)

TRAIN = {"u1": ["a", "b"], "u2": ["a", "c"], "u3": ["a", "b", "d"], "u4": ["a"]}
LISTS = {"u1": ["c", "d", "e"], "u2": ["b", "d", "e"], "u3": ["c", "e"]}
TRUTH = {"u1": {"d"}, "u2": {"b", "e"}, "u3": {"f"}}
GENRES = {"a": ["x"], "b": ["x", "y"], "c": ["y"], "d": ["y", "z"], "e": ["z"], "f": ["x"]}
VECTORS = {"a": [1, 0, 0], "b": [1, 1, 0], "c": [0, 1, 0], "d": [0, 1, 1], "e": [0, 0, 1]}
SIDE = {"train": TRAIN, "items": GENRES, "catalogue": list("abcdef")}
EVERY = ["ild@3", "novelty@3", "popularity@2", "unseen", "coverage@3", "gini@3", "entropy@3",
         "effective_items@2", "personalization@3", "user_coverage(least=3)@3",
         "rsp@3", "bias_disparity(groups=popularity)@3"]  # fmt: skip


def means(lists=LISTS, metrics=EVERY, truth=TRUTH, **side):
    return {label: e.mean for label, e in rm.evaluate(lists, truth, metrics, **side).items()}


def same(a, b):
    assert a.keys() == b.keys()
    np.testing.assert_allclose([*a.values()], [*b.values()], rtol=1e-12)


# -- engines -----------------------------------------------------------------------------------


def test_the_interval_of_the_coverage_holds_the_expected_number():
    rng = np.random.default_rng(8)
    popular = -0.9 * np.log(np.arange(1, 401))
    users = np.argsort(-(popular + rng.gumbel(size=(3_000, 400))), axis=1)[:, :5]
    found = []
    for _ in range(150):
        lists = users[rng.integers(0, len(users), 120)].tolist()
        result = rm.evaluate(dict(enumerate(lists)), None, "coverage", catalogue=range(400))
        found.append(result["coverage"])
    expected = np.mean([e.mean for e in found])
    covers = np.mean([e.low <= expected <= e.high for e in found])
    spread = np.std([e.mean for e in found])
    width = np.mean([e.high - e.low for e in found])
    assert 0.92 <= covers <= 0.985
    assert width < 1.2 * 2 * 1.98 * spread  # that of the plain jackknife is 1.3 times as wide


# -- forms -------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["scores", "ranks", "frame", "pandas", "lists of integers"])
def test_every_form_of_rankings_gives_the_same_lists(form):
    wanted = means(**SIDE)
    rows = [(u, i, r) for u, items in LISTS.items() for r, i in enumerate(items, 1)]
    frame = pl.DataFrame(rows[::-1], schema=["user", "item", "rank"], orient="row")
    forms = {
        "scores": {u: {i: -float(r) for r, i in enumerate(items)} for u, items in LISTS.items()},
        "ranks": frame,
        "frame": frame.select("user", "item", score=1 / pl.col("rank")),
        "pandas": pd.DataFrame(rows, columns=["user", "item", "rank"]),
    }
    if form in forms:
        same(means(forms[form], **SIDE), wanted)
        return
    code = {item: number for number, item in enumerate("abcdef")}

    def coded(data):
        return {int(user[1]): [code[item] for item in items] for user, items in data.items()}

    side = {
        "train": coded(TRAIN),
        "items": {code[item]: names for item, names in GENRES.items()},
        "catalogue": range(6),
    }
    truth = {user: set(items) for user, items in coded(TRUTH).items()}
    same(means(coded(LISTS), truth=truth, **side), wanted)


def long_genres():
    rows = [(item, name) for item, names in GENRES.items() for name in names]
    return pl.DataFrame(rows, schema=["item", "genre"], orient="row")


MATRIX = np.array([*VECTORS.values()], dtype=float)
ITEMS = {
    "dict of lists": GENRES,
    "dict of sets": {item: set(names) for item, names in GENRES.items()},
    "a row for each pair": long_genres(),
    "a column of lists": pl.DataFrame({"item": [*GENRES], "category": [*GENRES.values()]}),
    "joined by |": pl.DataFrame({"item": [*GENRES], "g": ["|".join(g) for g in GENRES.values()]}),
    "dict of vectors": VECTORS,
    "columns of numbers": pl.DataFrame({"item": [*VECTORS], "x": MATRIX[:, 0], "y": MATRIX[:, 1],
                                        "z": MATRIX[:, 2]}),
    "columns of flags": pd.DataFrame(MATRIX > 0, columns=[*"xyz"]).assign(item=[*VECTORS]),
    "a column of vectors": pl.DataFrame({"item": [*VECTORS], "vector": [*VECTORS.values()]}),
    "a column of arrays": pl.DataFrame(
        {"item": [*VECTORS], "vector": pl.Series([*VECTORS.values()], dtype=pl.Array(pl.Int64, 3))}
    ),
    "ids and a matrix": ([*VECTORS], MATRIX),
    "ids and a sparse matrix": (pl.Series([*VECTORS]), csr_array(MATRIX)),
}  # fmt: skip


@pytest.mark.parametrize("form", ITEMS)
@pytest.mark.parametrize("distance", ["cosine", "jaccard", "hamming", "euclidean"])
def test_every_form_of_items_gives_the_same_diversity(form, distance):
    metric = f"ild(distance={distance})@3"
    same(means(metrics=metric, items=ITEMS[form]), means(metrics=metric, items=GENRES))


def test_a_matrix_alone_has_the_items_from_0_to_n():
    lists, truth = {1: [2, 3, 4], 2: [1, 3, 4], 3: [2, 4]}, {1: {3}}
    found = means(lists, ["ild@3"], truth, items=MATRIX)
    same(found, means(metrics=["ild@3"], items=VECTORS))


@pytest.mark.parametrize(
    "catalogue",
    [set("abcdef"), tuple("abcdef"), np.array([*"abcdef"]), pl.Series([*"abcdef"]), GENRES, 6,
     long_genres()],
)  # fmt: skip
def test_every_form_of_the_catalogue_gives_the_same_coverage(catalogue):
    metrics = ["coverage@3", "gini@3"]
    same(means(metrics=metrics, catalogue=catalogue), means(metrics=metrics, **SIDE))


def test_files_of_side_data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [(user, item) for user, items in TRAIN.items() for item in items]
    pl.DataFrame(rows, schema=["user", "item"], orient="row").write_csv("train.csv")
    ITEMS["joined by |"].write_csv("items.csv")
    recs = [(u, i, r) for u, items in LISTS.items() for r, i in enumerate(items, 1)]
    pl.DataFrame(recs, schema=["user", "item", "rank"], orient="row").write_csv("recs.csv")
    side = {"train": "train.csv", "items": "items.csv", "catalogue": "items.csv"}
    same(means("recs.csv", **side), means(**SIDE))
    words = [word for name, path in side.items() for word in (f"--{name}", path)]
    asked = [word for metric in EVERY for word in ("-m", metric)]
    done = rankmeter("evaluate", "recs.csv", *asked, *words, "--json")
    found = {label: one["mean"] for label, one in json.loads(done.out)["metrics"].items()}
    same(found, means(**SIDE))
    assert rankmeter("evaluate", "recs.csv", "-m", "rr", *words, "--output", "train.csv").code == 2


# -- users, ties, counts -----------------------------------------------------------------------


def test_without_ground_truth_only_metrics_of_lists_have_values():
    found = rm.evaluate(LISTS, None, EVERY, **SIDE)
    same({label: e.mean for label, e in found.items()}, means(**SIDE))
    for metric in ("rr", "epc@3", "item_gap@3", "eild(relevance=graded)@3"):
        with pytest.raises(UsageError, match="truth is missing"):
            rm.evaluate(LISTS, None, [*EVERY, metric], **SIDE)
    assert means(LISTS, ["epc(relevance=none)@3"], None, **SIDE)["epc(relevance=none)@3"] > 0


def test_users_in_the_rankings_are_averaged():
    lists, truth = {**LISTS, "u8": ["a"], "u9": []}, {**TRUTH, "u7": {"a"}}
    found = rm.evaluate(lists, truth, ["novelty@3", "user_coverage@3", "rr"], train=TRAIN)
    assert (found["novelty@3"].n, found["novelty@3"].undefined) == (4, 1)
    assert (found["user_coverage@3"].n, found["user_coverage@3"].mean) == (5, 0.8)
    every = rm.evaluate(lists, truth, "user_coverage@3", users="all")["user_coverage@3"]
    assert (every.n, every.mean) == (4, 0.75)


def test_given_ranks_keep_their_gaps():
    ranks = pl.DataFrame({"user": ["u"] * 3, "item": ["a", "b", "c"], "rank": [1, 4, 5]})
    with pytest.warns(RankmeterWarning, match="have gaps: user 'u' has 3 items and the rank 5"):
        found = means(ranks, ["coverage@3", "coverage@4"], None, catalogue=4)
    assert [*found.values()] == [0.25, 0.5]


def test_tied_items_are_listed_by_the_tie_rule():
    lists = {"u": {"b": 1.0, "a": 1.0, "c": 2.0}}
    side = {"train": {"v": ["a"], "w": ["a", "b"]}}
    for ties, value in (("item", 1.0), ("item-descending", 0.5), ("input", 0.5)):
        found = means(lists, ["popularity(cold=zero,of=users)@2"], None, ties=ties, **side)
        assert [*found.values()] == [value]
    for ties in ("expected", "realistic", "optimistic"):
        with pytest.raises(UsageError, match="without tied items"):
            means(lists, ["popularity@2"], None, ties=ties, **side)


def test_what_metrics_treat_in_a_special_way_is_counted():
    lists = {**LISTS, "u1": ["a", "zzz", "e"]}
    counts = rm.evaluate(lists, TRUTH, ["novelty@3"], **SIDE).counts
    wanted = {"though_seen": 1, "without_training_data": 4, "without_features": 1}
    assert {n: counts[f"items_listed_{n}"] for n in wanted} == wanted
    assert counts["items_listed_outside_the_catalogue"] == 1
    assert "items listed though seen: 1" in repr(rm.evaluate(lists, TRUTH, ["unseen@3"], **SIDE))


def test_items_at_the_border_of_the_head_are_counted():
    # c and d occur once each, and only their order puts c into the head and d into the tail.
    metrics = ["tail_share@3", "stratum_recall(stratum=tail)@3", "novelty@3"]
    found = rm.evaluate(LISTS, TRUTH, metrics, **SIDE)
    assert found.counts["items_listed_at_the_border_of_the_head"] == 4
    assert found.counts["relevant_items_at_the_border_of_the_head"] == 1
    assert "items listed at the border of the head: 4" in repr(found)
    for metric, n in (("rsp(groups=popularity)", 4), ("tail_count(head=count,size=1)", 0)):
        counts = rm.evaluate(LISTS, TRUTH, f"{metric}@3", **SIDE).counts
        assert counts["items_listed_at_the_border_of_the_head"] == n
    assert (
        "items_listed_at_the_border_of_the_head"
        not in rm.evaluate(LISTS, TRUTH, "novelty@3", **SIDE).counts
    )


def test_how_side_data_were_read_is_a_note(tmp_path):
    movies = pl.DataFrame({"item": ["a", "b"], "genres": ["x|y", "x"], "year": [1999, 2001]})
    movies.write_csv(tmp_path / "movies.csv")
    side = {"items": tmp_path / "movies.csv"}
    said = "categories are in 'genres', split at |; not used: 'year'"
    assert said in repr(rm.evaluate(LISTS, TRUTH, "ild@3", **side))
    assert said in repr(rm.compare({"x": LISTS, "y": LISTS}, TRUTH, "ild@3", **side))
    assert said in repr(
        rm.explain(LISTS, TRUTH, "ild@3", between=("rankmeter", "evidently"), **side)
    )


def test_explain_takes_side_data():
    (skipped,) = means(metrics="novelty(cold=skip)@3", **SIDE).values()
    found = rm.explain(LISTS, TRUTH, "novelty@3", target=skipped, **SIDE)
    assert any(match.switches.get("cold") == "skip" for match in found.matches)


def test_repeated_items_are_refused_as_everywhere():
    with pytest.raises(RankmeterError, match="repeated item"):
        means({"u": ["a", "a"]}, ["coverage@2"], None, catalogue=3)
    found = means({"u": ["a", "a", "b"]}, ["coverage"], None, catalogue=4, duplicates="each")
    assert [*found.values()] == [0.5]


def test_two_lists_have_a_personalization_and_one_has_none():
    found = means({"u": ["a", "b"], "v": ["a", "c"]}, ["personalization@2"], None)
    assert [*found.values()] == [pytest.approx(0.5)]
    assert np.isnan([*means({"u": ["a", "b"]}, ["personalization@2"], None).values()]).all()


# -- comparison --------------------------------------------------------------------------------


def test_differences_of_numbers_of_all_lists_are_those_of_the_numbers():
    rankings, truth, side = cases.with_side(3)
    other, _, _ = cases.with_side(4)
    half = {user: str(number // 2 % 2) for number, user in enumerate(rankings)}
    metrics = ["coverage@3", "gini@3", "personalization@3", "bias_disparity@3"]
    given = {"catalogue": side.catalogue, "items": side.categories, "train": side.train}
    found = rm.compare({"a": rankings, "b": other}, truth, metrics, segments=half, **given)
    for d in found.differences:
        users = [u for u in rankings if d.segment in ("", half[u]) and rankings[u] and other[u]]
        parts = [{u: r[u] for u in users} for r in (rankings, other)]
        a, b = (means(part, [d.metric], None, **given) for part in parts)
        assert (d.mean_a, d.mean_b) == pytest.approx((a[d.metric], b[d.metric]), rel=1e-12)
        assert d.difference == pytest.approx(d.mean_a - d.mean_b, rel=1e-12)
        assert d.low <= d.difference <= d.high


def test_users_without_a_number_of_all_lists_are_not_compared():
    lists = {"a": LISTS, "b": {user: own[::-1] for user, own in LISTS.items()}}
    train, segments = {"u1": TRAIN["u1"], "u2": TRAIN["u2"]}, {"u1": "x", "u2": "x", "u3": "y"}
    found = rm.compare(
        lists, TRUTH, "bias_disparity@2", segments=segments, train=train, items=GENRES
    )
    whole, seen, cold = found.differences
    assert (whole.n, seen.n, cold.n) == (3, 2, 0)
    assert np.isnan([cold.difference, cold.p]).all()


# -- errors ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metric", "side", "message"),
    [
        ("ild@3", {}, "ild@3: needs features of the items: pass items="),
        ("novelty@3", {}, "needs the training interactions: pass train="),
        ("coverage@3", {}, "needs the items that could be shown, or their number: pass catalogue="),
        ("coverage@3", {"catalogue": 0}, "`catalogue` must be an integer ≥ 1, got 0"),
        ("coverage@3", {"catalogue": []}, "catalogue= has no items"),
        ("coverage@3", {"catalogue": np.zeros((2, 2))}, "one dimension, got 2"),
        ("coverage@3", {"catalogue": 9, "aggregate": "median"}, "computed over all lists at once"),
        ("ild@3", {"items": {}}, "items= is empty"),
        ("ild@3", {"items": 7}, "items= must be a mapping from item"),
        ("ild@3", {"items": {"a": [1.0], "b": [1.0, 2.0]}}, "different lengths"),
        ("ild@3", {"items": {"a": 3, "b": 4}}, "must have a category, a list"),
        ("ild@3", {"items": {"a": np.array(3), "b": [4]}}, "must have a category, a list"),
        ("ild@3", {"items": {"a": {"x": 0.5}, "b": {"y": 1}}}, "pass a frame with a column for"),
        ("ild@3", {"items": {"a": [np.nan], "b": [1.0]}}, "missing or infinite"),
        ("ild@3", {"items": (["a", "b"], np.eye(3))}, "each id needs a row"),
        ("ild@3", {"items": (["a", "a"], np.eye(2))}, "several times"),
        ("ild@3", {"items": pl.DataFrame({"item": ["a"]})}, "no column with categories"),
        ("ild@3", {"items": pl.DataFrame({"x": ["a"], "y": ["b"]})}, "no column for the item"),
        ("ild@3", {"items": pl.DataFrame({"item": ["a"], "p": ["b"], "q": ["c"]})}, "several"),
    ],
)
def test_what_is_missing_or_wrong_is_named(metric, side, message):
    with pytest.raises(RankmeterError, match=message.replace("(", r"\(")):
        rm.evaluate(LISTS, TRUTH, metric, **side)


def test_ids_of_other_types_are_refused():
    for side in ({"train": {1: [2]}}, {"catalogue": [1, 2]}, {"items": {1: ["x"], 2: ["y"]}}):
        with pytest.raises(IdTypeError, match="convert one of them"):
            rm.evaluate(LISTS, TRUTH, "coverage@3", **{"catalogue": 9, **side})


@pytest.mark.parametrize(
    "side",
    [
        {"train": {"1": ["2"]}},
        {"items": {"1": ["x"], "2": ["y"]}},
        {"catalogue": ["1", "2"]},
        {"baseline_lists": {"1": ["2"]}},
    ],
    ids=lambda side: next(iter(side)),
)
@pytest.mark.parametrize("textual", [False, True])
def test_side_data_next_to_rankings_without_a_row_have_ids_of_the_truth(side, textual, tmp_path):
    judged = tmp_path / "judged.qrels"
    judged.write_text("1 0 1 1\n")
    scores = [{"user": 1, "item": 2, "score": np.nan}]

    def length(truth, **side):
        found = rm.evaluate(
            scores, truth, "list_length@3", bad_scores="drop", no_overlap="allow", **side
        )
        return found["list_length@3"].mean

    if textual:  # text without types: they are those of the side data
        assert length(str(judged), train={"1": ["2"]}) == 0.0
        assert length(str(judged), train={1: [2]}) == 0.0
        assert length(str(judged), **side) == 0.0
    else:
        with pytest.raises(IdTypeError, match="convert one of them"):
            length({1: [1]}, **side)


def test_scores_and_ranks_have_no_lists():
    with pytest.raises(UsageError, match="needs lists of items"):
        rm.evaluate_ranks([1, 2], "entropy@3")
    with pytest.raises(UsageError, match="needs lists of items"):
        rm.evaluate_scores(np.eye(3), [0, 1, 2], "coverage@3", candidates=[0, 1, 2])
    with pytest.raises(DataError):
        rm.evaluate(LISTS, None, "novelty@3", train={})


# -- disk --------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["score", "rank", "list"])
@pytest.mark.parametrize("ties", ["item", "input", "item-descending"])
def test_rankings_in_pieces_have_the_lists_of_those_in_memory(order, ties, tmp_path, monkeypatch):
    monkeypatch.setattr("rankmeter._engine.choose._LARGEST_PIECE", 200)
    rng = np.random.default_rng(1)
    rows = pl.DataFrame({"user": rng.integers(0, 60, 3000), "item": rng.integers(0, 90, 3000)})
    rows = rows.unique(maintain_order=True)
    if order == "score":
        rows = rows.with_columns(score=pl.Series(rng.integers(0, 9, rows.height)) + 2.0**25)
    elif order == "rank":
        rows = rows.with_columns(rank=pl.int_range(1, pl.len() + 1).over("user"))
    rows.write_parquet(tmp_path / "r.parquet", row_group_size=100)
    side = {
        "train": {user: rng.integers(0, 70, 5).tolist() for user in range(40)},
        "items": {item: ["x", "y", "z"][: item % 4] for item in range(80)},
        "catalogue": range(85),
    }
    metrics = ["rr", "coverage", *(one if "@" in one else f"{one}@3" for one in EVERY)]
    truth = {user: [user, user + 1] for user in range(0, 70, 2)}
    whole = rm.evaluate(rows, truth, metrics, ties=ties, **side)
    parts = rm.evaluate(tmp_path / "r.parquet", truth, metrics, ties=ties, engine="disk", **side)
    assert parts.plan.engine
    assert parts.per_user.equals(whole.per_user)
    assert {k: e.mean for k, e in parts.items()} == {k: e.mean for k, e in whole.items()}
    again = pl.concat([rows.head(50), rows])
    again.write_parquet(tmp_path / "r.parquet", row_group_size=100)
    best = {"duplicates": "best", "ties": ties, **side}
    whole = rm.evaluate(again, truth, metrics, **best)
    parts = rm.evaluate(tmp_path / "r.parquet", truth, metrics, engine="disk", **best)
    assert parts.per_user.equals(whole.per_user)


def test_no_user_wins_where_the_metric_is_one_number_for_all_lists():
    lists = {user: [f"i{(user + n) % 40}" for n in range(3)] for user in range(40)}
    alike = {user: ["i0", "i1", "i2"] for user in range(40)}
    found = rm.compare({"a": lists, "b": alike}, {0: {"i0"}}, ["coverage@3"], catalogue=50)
    (d,) = found["coverage@3"]
    assert (d.difference, d.significant, d.per_user) == (pytest.approx(37 / 50), True, False)
    assert (d.wins, d.ties, d.losses) == (0, 0, 0)
    assert np.isnan(d.d_z)
    assert "over 40 users together" in d.sentence()
    assert "per user" not in " ".join(found.headline().sentences)
    same_lists = rm.compare({"a": lists, "b": lists}, {0: {"i0"}}, ["coverage@3"], catalogue=50)
    assert same_lists["coverage@3"][0].sentence() == "a and b have the same coverage@3."


def test_one_value_for_each_group():
    """The bias disparity is the mean size of those of the groups, which `show` names."""
    given = {"train": TRAIN, "items": GENRES}
    names = sorted({name for own in GENRES.values() for name in own})
    asked = [f"group_bias(group={at})@3" for at in range(1, len(names) + 1)]
    each = list(means(LISTS, asked, None, **given).values())
    whole = means(LISTS, ["bias_disparity@3"], None, **given)["bias_disparity@3"]
    assert np.mean(np.abs(each)) == pytest.approx(whole)
    assert min(each) < 0
    result = rm.evaluate(LISTS, None, "bias_disparity@3", **given)
    shown = str(result.show(next(iter(LISTS))))
    assert all(f"{name} " in shown and f"{bias:.4f}" in shown for name, bias in zip(names, each))  # noqa: B905
    with pytest.raises(UsageError, match="`group` must be an integer between 1 and 3"):
        means(LISTS, ["group_bias(group=9)@3"], None, **given)


def test_groups_by_popularity_have_no_names_of_categories():
    two = {"a": "x", "b": "x", "c": "y", "d": "y", "e": "y", "f": "y"}
    given = {"train": TRAIN, "items": two}
    result = rm.evaluate(LISTS, None, "rsp(groups=popularity)@3", **given)
    shown = str(result.show(next(iter(LISTS))))
    assert "\n1 " in shown
    assert "\nx " not in shown
    named = str(rm.evaluate(LISTS, None, "rsp@3", **given).show(next(iter(LISTS))))
    assert "\nx " in named


TRAIN_OF_CATALOGUE = {"x": ["a", "b"], "y": ["c", "d"]}


@pytest.mark.parametrize("metric", ["coverage@1", "gini@1", "exposure_gini@2"])
def test_the_catalogue_is_the_items_of_train(metric):
    lists, truth = {"x": ["c", "z"], "y": ["a", "b"]}, {"x": {"c"}, "y": {"b"}}
    found = rm.evaluate(lists, truth, metric, train=TRAIN_OF_CATALOGUE)
    want = rm.evaluate(lists, truth, metric, train=TRAIN_OF_CATALOGUE, catalogue=list("abcd"))
    assert found[metric].mean == want[metric].mean
    assert "catalogue: the 4 items of the training data" in str(found)
    assert "catalogue: the" not in str(want)
    both = rm.compare({"A": lists, "B": lists}, truth, ["rr", metric], train=TRAIN_OF_CATALOGUE)
    assert "catalogue: the 4 items of the training data" in str(both)


def test_the_catalogue_of_train_is_not_read_where_no_metric_uses_it():
    lists, truth = {"x": ["c", "z"]}, {"x": {"c"}}
    for metric in ("novelty@2", "coverage(items=training)@2", "rr"):
        found = rm.evaluate(lists, truth, metric, train=TRAIN_OF_CATALOGUE)
        assert "catalogue: the" not in str(found)
    sized = rm.evaluate(lists, truth, "coverage@2", train=TRAIN_OF_CATALOGUE, catalogue=10)
    assert sized["coverage@2"].mean == 0.2
