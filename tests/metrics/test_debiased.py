"""Debiased accuracy: items have propensities, which are given or made of the training data."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

import cases
import rankmeter as rm
from command_line import rankmeter
from rankmeter.errors import IdTypeError, RankmeterError, RankmeterWarning, UsageError

LISTS = {"ann": ["a", "b", "x"], "bob": ["c", "x"], "cat": ["x", "a"]}
TRUTH = {"ann": {"a", "b", "c"}, "bob": {"b", "c"}, "cat": {"z"}}
SEEN = {"a": 1.0, "b": 0.5, "c": 0.25, "x": 0.5}
STRATA = [f"stratum_recall(stratum={one})@3" for one in ("head", "middle", "tail")]
EVERY = ["snips@2", "ips@2", "snips(gamma=1.5)@2", "ips(gamma=1,cold=rarest)@3",
         "snips(discount=log2,clip=3)", *STRATA]  # fmt: skip


def means(metrics, lists=LISTS, truth=TRUTH, **given):
    return [one.mean for one in rm.evaluate(lists, truth, metrics, **given).values()]


# -- the definitions ---------------------------------------------------------------------------


def test_the_fixture_of_yang():
    """Items with 100, 10 and 1 users, of which the first two are found."""
    train = {f"u{n}": ["a", *"b" * (n < 10), *"c" * (n < 1)] for n in range(100)}
    lists, truth = {"u": ["a", "b", "x", "c"]}, {"u": {"a", "b", "c"}}
    metrics = [f"snips(gamma={gamma})@3" for gamma in (-1, 1.5, 2)]
    found = means(metrics, lists, truth, train=train)
    assert found == pytest.approx([0.6666667, 0.0560663, 0.0315922], abs=1e-7)


def test_values_by_hand():
    found = rm.evaluate(LISTS, TRUTH, ["snips@2", "ips@2", "ips(clip=2)@2"], propensity=SEEN)
    rows = found.per_user.sort("user").select("snips@2", "ips@2", "ips(clip=2)@2").rows()
    assert rows == [((1 + 2) / (1 + 2 + 4), 3.0, 3.0), (4 / (2 + 4), 4.0, 2.0)]
    assert found["snips@2"].undefined == 1
    assert found.counts["relevant_items_without_propensity"] == 1
    assert "relevant items without propensity: 1" in repr(found)
    rare = rm.evaluate(LISTS, TRUTH, "snips(cold=rarest)@2", propensity=SEEN)
    assert rare["snips(cold=rarest)@2"].n == 3


def test_pooled_it_is_the_recall_of_steck():
    """Σ over users of the weights found, over that of all weights: (1 / n) ** β."""
    train = {"u": ["a", "b"], "v": ["a", "b"], "w": ["a"], "x": ["a", "c"]}
    beta, n = 0.4, {"a": 4, "b": 2, "c": 1}
    weight = {item: n[item] ** -beta for item in n}
    wanted = (weight["a"] + weight["b"] + weight["c"]) / (
        sum(weight.values()) + weight["b"] + weight["c"]
    )
    metric = f"snips(gamma={2 * beta - 1},aggregate=micro)@2"
    assert means(metric, train=train) == [pytest.approx(wanted, rel=1e-12)]


def test_the_recall_of_all_items_is_the_weighted_mean_of_the_strata():
    rankings, truth, side = cases.with_side(5)
    pooled = [one.replace(")", ",aggregate=micro)") for one in STRATA]
    asked = [*pooled, "recall(aggregate=micro)@3"]
    *strata, whole = means(asked, rankings, truth, train=side.train)
    n = [sum(map(len, truth.values()))]
    result = rm.evaluate(rankings, truth, pooled, train=side.train).scores
    n = [result.states[label].whole.sum() for label in pooled]
    assert whole == pytest.approx(np.average(strata, weights=n), rel=1e-12)


# -- laws, to the bit --------------------------------------------------------------------------

PLAIN = {
    "snips@3": "recall@3",
    "snips": "recall",
    "snips(gamma=-1,cold=rarest)@3": "recall@3",
    "snips(aggregate=micro)@3": "recall(aggregate=micro)@3",
    "ips(discount=log2)@3": "dcg(gain=binary)@3",
    "ips(denominator=k)@3": "precision@3",
    "ips(denominator=relevant)@3": "recall@3",
}


@pytest.mark.parametrize(
    "ties", [*cases.ORDERED, "expected", "realistic", "optimistic", "together"]
)
def test_with_equal_propensities_it_is_the_plain_metric_to_the_bit(ties):
    rankings, truth, side = cases.with_side(1, ties=True)
    truth = cases.one_relevant(truth) if ties in cases.SHARED else truth
    items = {item for own in (*rankings.values(), *truth.values()) for item in own}
    given = {"propensity": dict.fromkeys(items, 1.0), "train": side.train}
    result = rm.evaluate(rankings, truth, [*PLAIN, *PLAIN.values()], ties=ties, **given)
    for debiased, name in PLAIN.items():
        one, other = (result.scores.values[result.plan[n].label] for n in (debiased, name))
        assert np.array_equal(one, other, equal_nan=True), (debiased, ties)
        assert result[debiased].interval == result[name].interval or "ips" in debiased


@pytest.mark.parametrize("ties", ["item", "expected"])
def test_rankings_in_pieces_have_the_same_bits(ties, tmp_path, monkeypatch):
    monkeypatch.setattr("rankmeter._engine.choose._LARGEST_PIECE", 200)
    rng = np.random.default_rng(1)
    rows = pl.DataFrame({"user": rng.integers(0, 60, 2000), "item": rng.integers(0, 90, 2000)})
    rows = rows.unique(maintain_order=True)
    rows = rows.with_columns(score=pl.Series(rng.integers(0, 9, rows.height)).cast(pl.Float64))
    rows.write_parquet(tmp_path / "r.parquet", row_group_size=100)
    truth = {user: [user, user + 1, (user * 7) % 95] for user in range(0, 70, 2)}
    given = {
        "train": {user: rng.integers(0, 70, 5).tolist() for user in range(40)},
        "propensity": (np.arange(80), rng.uniform(0.1, 1, 80)),
        "ties": ties,
    }
    metrics = [*EVERY, "coverage@3"] if ties == "item" else EVERY
    whole = rm.evaluate(rows, truth, metrics, catalogue=99, **given)
    parts = rm.evaluate(
        tmp_path / "r.parquet", truth, metrics, engine="disk", catalogue=99, **given
    )
    assert parts.plan.engine
    assert parts.per_user.equals(whole.per_user)
    assert dict(parts.counts) == dict(whole.counts)


# -- the effective sample size -----------------------------------------------------------------


def test_the_effective_sample_size_is_shown_and_a_small_one_warns():
    result = rm.evaluate(LISTS, TRUTH, ["snips@2", "ips@2"], propensity=SEEN)
    entry = result.plan["ips@2"]
    size, n = result.scores.effective_size(entry)
    assert (size, n) == (pytest.approx(13**2 / (1 + 4 + 16 + 4 + 16)), 5)
    assert "effective sample size" in repr(result.details())
    users = 50
    lists = {f"u{n}": ["a"] for n in range(users)}
    truth = {user: {"a"} for user in lists} | {"u0": {"b"}}
    with pytest.warns(RankmeterWarning, match="50 relevant items with these weights vary as much"):
        found = rm.evaluate(lists, truth, "ips@1", propensity={"a": 1.0, "b": 1e-4})
    assert "choose `clip`" in repr(found)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rm.evaluate(lists, truth, "ips(clip=3)@1", propensity={"a": 1.0, "b": 1e-4})
        rm.evaluate(lists, truth, "snips@1", propensity={"a": 1.0, "b": 1e-4})


# -- forms -------------------------------------------------------------------------------------

FRAME = pl.DataFrame({"item": [*SEEN], "p": [*SEEN.values()]})
FORMS = {
    "dict": SEEN,
    "frame": FRAME,
    "pandas": pd.DataFrame({"movie": [*SEEN], "chance": [*SEEN.values()]}).rename(
        columns={"movie": "item"}
    ),
    "pair": ([*SEEN], np.array([*SEEN.values()])),
    "pair of a series": (FRAME["item"], FRAME["p"]),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_propensities_gives_the_same(form):
    assert means(["snips@2"], propensity=FORMS[form]) == means(["snips@2"], propensity=SEEN)


def test_an_array_has_the_items_from_0_to_n():
    lists, truth = {1: [0, 1]}, {1: {0, 2}}
    assert means("snips@2", lists, truth, propensity=np.array([0.5, 0.5, 0.25])) == [2 / 6]


def test_files_and_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    FRAME.write_csv("p.csv")
    rows = [(u, i, r) for u, items in LISTS.items() for r, i in enumerate(items, 1)]
    pl.DataFrame(rows, schema=["user", "item", "rank"], orient="row").write_csv("r.csv")
    rows = [(u, i) for u, items in TRUTH.items() for i in sorted(items)]
    pl.DataFrame(rows, schema=["user", "item"], orient="row").write_csv("t.csv")
    done = rankmeter("evaluate", "r.csv", "t.csv", "-m", "snips@2", "--propensity", "p.csv",
                     "--json")  # fmt: skip
    found = json.loads(done.out)["metrics"]["snips@2"]["mean"]
    assert [found] == means("snips@2", propensity=SEEN)


def test_compare_and_explain_take_propensities():
    systems = {"a": LISTS, "b": {user: own[::-1] for user, own in LISTS.items()}}
    found = rm.compare(systems, TRUTH, "snips@1", propensity=SEEN)["snips@1"][0]
    assert found.mean_a == means("snips@1", propensity=SEEN)[0]
    target = means("snips(clip=2)@1", propensity=SEEN)[0]
    assert rm.explain(LISTS, TRUTH, "snips(clip=2)@1", target=target, propensity=SEEN).matches


@pytest.mark.parametrize(
    ("metric", "given", "message"),
    [
        ("snips@2", {}, "pass propensity=, or estimate them from train= with gamma"),
        ("snips(gamma=1)@2", {"propensity": SEEN}, "needs the training interactions: pass train="),
        ("stratum_recall(stratum=head)@2", {}, "needs the training interactions: pass train="),
        ("snips(gamma=-2)@2", {"train": LISTS}, "`gamma` must be a number between -1"),
        ("snips(clip=0.5)@2", {"propensity": SEEN}, "`clip` must be a number ≥ 1, got 0.5"),
        ("stratum_recall(stratum=head,head=0.9)@2", {"train": LISTS}, "must be at least head, 0.9"),
        ("snips@2", {"propensity": {"a": 0.0}}, "1 propensity of propensity= is not above 0"),
        ("snips@2", {"propensity": {"a": 1.5, "b": 2}}, "2 propensities .* 1.5 of 'a'"),
        ("snips@2", {"propensity": {"a": None}}, "must be a mapping from item to number"),
        ("snips@2", {"propensity": {}}, "must be a mapping from item to number"),
        ("snips@2", {"propensity": 0.5}, "must be a mapping from item to number, a pair"),
        ("snips@2", {"propensity": (["a", "a"], [0.5, 0.5])}, "several times"),
        ("snips@2", {"propensity": FRAME.with_columns(q=0.5)}, "has other columns"),
    ],
)
def test_what_is_missing_or_wrong_is_named(metric, given, message):
    with pytest.raises(RankmeterError, match=message):
        rm.evaluate(LISTS, TRUTH, metric, **given)


def test_ids_of_other_types_are_refused():
    with pytest.raises(IdTypeError, match="convert one of them"):
        means("snips@2", propensity={1: 0.5})


def test_scores_and_ranks_have_no_items():
    for metric in ("snips(gamma=1)@2", "stratum_recall(stratum=head)@2"):
        with pytest.raises(UsageError, match="which scores and ranks"):
            rm.evaluate_ranks([1, 2], metric)
