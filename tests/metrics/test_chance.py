"""What random rankings reach: closed forms, published values, enumeration."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import rankmeter as rm
from rankmeter.errors import NotEnoughMemoryError, UsageError

pytestmark = pytest.mark.once


def random_means(n, relevant, metrics):
    truth = {"u": {f"i{j}" for j in range(relevant)}}
    found = rm.evaluate({"u": ["i0"]}, truth, metrics, n_items=n, relevant=">0")
    return found.random


@pytest.mark.parametrize(
    ("n", "m", "k", "expected"),
    [(8, 2, 8, 3403 / 7840), (10, 3, 4, 271 / 1080), (12, 5, 3, 745 / 2376), (9, 1, 5, 137 / 540)],
)
def test_average_precision_is_that_of_manzhos_and_others(n, m, k, expected):
    """arXiv 2511.02571, with the denominator min(n_relevant, k)."""
    assert random_means(n, m, f"ap@{k}")[f"ap@{k}"] == pytest.approx(expected)


def test_closed_forms_of_other_metrics():
    found = random_means(12, 4, ["precision@5", "recall@5", "hr@5", "rr@5", "dcg@5"])
    assert found["precision@5"] == pytest.approx(1 / 3)
    assert found["recall@5"] == pytest.approx(5 / 12)
    assert found["hr@5"] == pytest.approx(1 - math.comb(8, 5) / math.comb(12, 5))
    rr = sum(math.comb(12 - i, 3) / math.comb(12, 4) / i for i in range(1, 6))
    assert found["rr@5"] == pytest.approx(rr)
    assert found["dcg@5"] == pytest.approx(sum(1 / np.log2(i + 1) for i in range(1, 6)) / 3)


def test_graded_gains_by_enumeration():
    truth = {"u": {"a": 3, "b": 1}}
    values = [
        rm.evaluate({"u": list(order)}, truth, "ndcg@3", relevant=">0")["ndcg@3"].mean
        for order in itertools.permutations("abcd")
    ]
    found = rm.evaluate({"u": ["a"]}, truth, "ndcg@3", n_items=4, relevant=">0")
    assert found.random["ndcg@3"] == pytest.approx(np.mean(values))
    assert found.perfect["ndcg@3"] == 1.0


def test_the_mean_is_over_the_users_of_the_result():
    truth = {"u": {"a"}, "v": {"a", "b"}, "w": {"c"}}
    lists = {"u": ["a"], "v": ["b"]}
    every = rm.evaluate(lists, truth, "recall@1", n_items=4, relevant=">0")
    some = rm.evaluate(lists, truth, "recall@1", n_items=4, relevant=">0", missing="skip")
    assert every.random["recall@1"] == pytest.approx(1 / 4)
    assert every.perfect["recall@1"] == pytest.approx((1 + 0.5 + 1) / 3)
    assert some.perfect["recall@1"] == pytest.approx((1 + 0.5) / 2)


def test_it_is_in_the_notes_and_in_json():
    truth = {f"u{i}": {"a"} for i in range(5)}
    found = rm.evaluate({u: ["a"] for u in truth}, truth, "hr@10", n_items=1000, relevant=">0")
    assert "random: hr@10 0.0100 (1,000 candidates)" in found.table().notes
    assert found.to_dict()["metrics"]["hr@10"]["random"] == pytest.approx(0.01)
    plain = rm.evaluate({u: ["a"] for u in truth}, truth, "hr@10", relevant=">0")
    assert plain.random == {}
    assert "random" not in plain.to_dict()["metrics"]["hr@10"]


def test_adjusted_means():
    truth = {f"u{i}": {"a"} for i in range(4)}
    lists = {"u0": ["a"], "u1": ["a"], "u2": ["b"], "u3": ["b"]}
    found = rm.evaluate(lists, truth, ["hr@1", "mean_rank"], n_items=5, relevant=">0")
    e = found.adjusted("hr@1")
    assert e.mean == pytest.approx((0.5 - 0.2) / 0.8)
    assert e.low == pytest.approx((found["hr@1"].low - 0.2) / 0.8)
    with pytest.raises(UsageError, match="n_items"):
        rm.evaluate(lists, truth, "hr@1", relevant=">0").adjusted("hr@1")


RNG = np.random.default_rng(4)
TRUTH = {
    f"u{i}": {f"i{j}": int(RNG.integers(1, 4)) for j in RNG.choice(20, 1 + i % 5, replace=False)}
    for i in range(30)
}
LISTS = {user: [f"i{j}" for j in RNG.permutation(20)[:8]] for user in TRUTH}


class TestAdjusted:
    """``ndcg(adjusted)@10``: the way of each user from chance to perfection."""

    truth, lists = TRUTH, LISTS
    options = {"n_items": 20, "relevant": ">0"}

    @pytest.mark.parametrize("metric", ["ndcg", "ap", "rr", "recall", "dcg", "mean_rank"])
    def test_a_user_goes_from_chance_to_perfection(self, metric):
        k = "" if metric == "mean_rank" else "@5"
        wanted = [metric + k, f"{metric}(adjusted){k}"]
        found = rm.evaluate(self.lists, self.truth, wanted, **self.options).per_user
        user, plain, adjusted = found.drop_nulls().row(3)
        alone = {user: self.truth[user]}
        one = rm.evaluate(self.lists, alone, metric + k, extra="ignore", **self.options)
        random, best = one.random[metric + k], one.perfect[metric + k]
        assert adjusted == pytest.approx((plain - random) / (best - random))

    def test_perfect_rankings_reach_1_and_all_orders_together_0(self):
        truth = {"u": {"a": 3, "b": 1}}
        for metric in ("ndcg(adjusted)@2", "rr(adjusted)@2", "mean_rank(adjusted)"):
            values = [
                rm.evaluate({"u": list(order)}, truth, metric, n_items=4, relevant=">0")[
                    metric
                ].mean
                for order in itertools.permutations("abcd")
            ]
            assert np.mean(values) == pytest.approx(0, abs=1e-12)
            assert max(values) == values[0] == pytest.approx(1)

    def test_pooled_it_is_the_adjusted_mean(self):
        pooled = "ndcg(adjusted,aggregate=micro)@5"
        found = rm.evaluate(self.lists, self.truth, ["ndcg@5", pooled], **self.options)
        assert found[pooled].mean == pytest.approx(found.adjusted("ndcg@5").mean)

    def test_with_one_item_each_mean_and_interval_are_those_of_the_adjusted_mean(self):
        truth = {user: dict(list(gains.items())[:1]) for user, gains in self.truth.items()}
        found = rm.evaluate(self.lists, truth, ["hr@5", "hr(adjusted)@5"], **self.options)
        e, expected = found["hr(adjusted)@5"], found.adjusted("hr@5")
        assert (e.mean, *e.interval) == pytest.approx((expected.mean, *expected.interval))

    def test_a_user_for_whom_all_rankings_are_alike_is_undefined(self):
        truth = {"u": {"a"}, "v": {"a", "b"}}
        found = rm.evaluate(
            {"u": ["a"], "v": ["a"]}, truth, "rr(adjusted)", n_items=2, relevant=">0"
        )
        assert (found["rr(adjusted)"].mean, found["rr(adjusted)"].undefined) == (1.0, 1)

    def test_a_comparison_tests_it_and_names_chance(self):
        worse = {user: items[::-1] for user, items in self.lists.items()}
        systems = {"new": self.lists, "old": worse}
        found = rm.compare(systems, self.truth, ["recall@5", "recall(adjusted)@5"], **self.options)
        plain, adjusted = (found[metric][0] for metric in ("recall@5", "recall(adjusted)@5"))
        assert adjusted.increasing
        assert (adjusted.wins, adjusted.losses) == (plain.wins, plain.losses)
        assert found.random == {"recall@5": pytest.approx(0.25)}
        assert "random: recall@5 0.2500 (20 candidates)" in found.table().notes
        assert found.to_dict()["random"] == {"recall@5": pytest.approx(0.25)}
        curve = found.curve("recall(adjusted)@5", 5)
        last = curve.frame.filter(k=5, system="new")["mean"][0]
        assert last == pytest.approx(found.estimates["recall(adjusted)@5", "new"].mean)

    @pytest.mark.parametrize(
        ("metric", "options", "said"),
        [
            ("ndcg(adjusted)@10", {}, r"ndcg\(adjusted\)@10 needs the number .* pass n_items="),
            ("bpref(adjusted)", {"n_items": 9}, "bpref has no closed form for a random order"),
            ("ndcg(adjusted=maybe)@10", {}, "must be true or false, got 'maybe'"),
        ],
    )
    def test_what_cannot_be_adjusted_is_refused(self, metric, options, said):
        with pytest.raises(UsageError, match=said):
            rm.evaluate(self.lists, self.truth, metric, **options)

    def test_its_spellings(self):
        wanted = rm.NDCG(adjusted=True, gain="exp2") @ 10
        assert str(wanted) == "ndcg(adjusted,gain=exp2)@10"
        assert rm.metric("nDCG(gain=exp2, adjusted)@10") == wanted
        assert rm.metric("ndcg(adjusted=true,gain=exp2)@10") == wanted
        assert rm.metric("ndcg(adjusted=false)@10") == rm.NDCG @ 10

    def test_gates_and_values_of_the_command_line(self, tmp_path):
        from command_line import rankmeter

        for name, data in (("truth", self.truth), ("new", self.lists)):
            rows = "".join(f"{user},{item}\n" for user, items in data.items() for item in items)
            (tmp_path / f"{name}.csv").write_text("user,item\n" + rows)
        new, truth = str(tmp_path / "new.csv"), str(tmp_path / "truth.csv")
        metric = ("-m", "recall(adjusted)@5", "--relevant", ">0")
        gate = ("evaluate", new, truth, *metric, "--fail-if", "recall(adjusted)@5>-2")
        assert rankmeter(*gate, "--n-items", "20").code == 1
        assert "--n-items" in rankmeter(*gate).err
        values = str(tmp_path / "values.csv")
        both = (truth, f"A={new}", f"B={new}", *metric, "--n-items", "20")
        claim = "A not shown better than B on recall(adjusted)@5"
        assert rankmeter("compare", *both, "--fail-if", claim, "--per-user", values).code == 1
        assert rankmeter("compare-values", values).code == 0


def test_a_tie_of_too_many_places_is_an_error():
    with pytest.raises(NotEnoughMemoryError, match=r"1,000,000,000,000 places of tied items"):
        rm.evaluate({1: [2]}, {1: [2]}, "rr(adjusted)", n_items=10**12)


def test_the_old_name_of_the_perfect_means_gives_the_new_one():
    result = rm.evaluate({"u": ["a"]}, {"u": {"a"}}, "rr", n_items=3, relevant=">0")
    with pytest.raises(AttributeError, match="perfect rankings are called `perfect`"):
        _ = result.best
    assert result.perfect == {"rr": 1.0}
