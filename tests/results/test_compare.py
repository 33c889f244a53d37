"""Comparisons: the worked fixture, which systems and users are compared, and the texts."""

from __future__ import annotations

import json
import math
import warnings

import numpy as np
import polars as pl
import pytest

import cases
import rankmeter as rm
from rankmeter._results.curves import best_cutoffs
from rankmeter.errors import ColumnError, DataError, RankmeterWarning, UsageError

# Reference page c.3: the values of twelve users under three systems.
VALUES = {
    "a": [0.30, 0.42, 0.11, 0.55, 0.63, 0.20, 0.48, 0.37, 0.72, 0.15, 0.44, 0.58],
    "b": [0.27, 0.35, 0.14, 0.50, 0.55, 0.20, 0.40, 0.39, 0.60, 0.12, 0.35, 0.49],
    "c": [0.25, 0.36, 0.10, 0.47, 0.50, 0.22, 0.41, 0.30, 0.61, 0.10, 0.36, 0.45],
}
# A ranking of one item whose gain is the wanted value: its cumulative gain is that value.
SYSTEMS = {name: {u: [name] for u in range(12)} for name in VALUES}
TRUTH = {u: [(name, values[u]) for name, values in VALUES.items()] for u in range(12)}


def pairs(**options):
    found = rm.compare(SYSTEMS, TRUTH, "cg", **options).differences
    return {d.a + d.b: d for d in found}


class TestFixture:
    def test_paired_t(self):
        d = pairs(test="t")["ab"]
        assert d.difference == pytest.approx(0.0491666667)
        assert d.statistic == pytest.approx(3.5803933590)
        assert d.p == pytest.approx(0.0043156822)
        assert (d.low, d.high) == pytest.approx((0.0189423050, 0.0793910283))
        assert d.d_z == pytest.approx(1.0335705348)
        assert (d.wins, d.ties, d.losses) == (9, 1, 2)

    def test_exact_randomization_is_the_default_here(self):
        d = pairs()["ab"]
        assert d.method == "randomization (exact)"
        assert d.p == pytest.approx(0.0087890625)

    def test_wilcoxon_comes_with_a_warning(self):
        with pytest.warns(RankmeterWarning):
            assert pairs(test="wilcoxon")["ab"].p == pytest.approx(0.009765625)

    @pytest.mark.parametrize(
        ("correction", "expected"),
        [
            ("none", [0.00431568, 0.000235249, 0.0684923]),
            ("holm", [0.00863136, 0.00070575, 0.06849233]),
        ],
    )
    def test_corrections(self, correction, expected):
        found = pairs(test="t", correction=correction)
        assert [d.p_adjusted for d in found.values()] == pytest.approx(expected, rel=1e-5)


class TestRefusals:
    def test_two_systems_of_one_name(self):
        with pytest.raises(UsageError, match="two systems are called '1'"):
            rm.compare({1: SYSTEMS["a"], "1": SYSTEMS["b"]}, TRUTH, "cg")

    def test_ids_that_suit_only_some_of_the_systems(self, tmp_path):
        """Text ids that are not numbers with native numbers, over a truth that could be either."""
        (tmp_path / "text.csv").write_text("user,item\n01,10\n2,11\n")
        (tmp_path / "truth.csv").write_text("user,item\n1,10\n2,11\n")
        numbers = {1: [10], 2: [11]}
        for systems in (
            {"a": numbers, "b": tmp_path / "text.csv"},
            {"b": tmp_path / "text.csv", "a": numbers},
        ):
            with pytest.raises(DataError, match="ids"):
                rm.compare(systems, tmp_path / "truth.csv", "rr")

    def test_an_empty_system_is_named(self):
        with pytest.raises(DataError, match=r"System .B.: .*nothing to evaluate"):
            rm.compare({"A": {1: ["a"]}, "B": {}}, {1: {"a"}}, "rr")

    def test_undefined_values_cannot_be_compared(self):
        with pytest.raises(UsageError, match="choose 'skip' or 'zero'"):
            rm.compare(SYSTEMS, TRUTH, "cg", undefined="nan")


def test_a_constant_difference_is_tested_by_randomization():
    """All users gain the same: t has no variation to compare with, but 30 of 30 is not chance."""
    users = range(30)
    systems = {"x": {u: ["a"] for u in users}, "y": {u: ["b", "a"] for u in users}}
    found = rm.compare(systems, {u: {"a"} for u in users}, "rr", test="t")["rr"][0]
    assert found.method.startswith("randomization")
    assert 0 < found.p < 1e-6
    assert found.significant


class TestWhoIsCompared:
    def test_all_pairs_without_a_baseline(self):
        assert list(pairs()) == ["ab", "ac", "bc"]

    def test_the_others_minus_the_baseline(self):
        found = pairs(baseline="b")
        assert list(found) == ["ab", "cb"]
        assert found["cb"].difference == pytest.approx(np.mean(VALUES["c"]) - np.mean(VALUES["b"]))

    def test_means_are_those_of_evaluate(self):
        rankings, truth = cases.batch(1)
        other, _ = cases.batch(2)
        both = rm.compare({"x": rankings, "y": other}, truth, "ndcg@5 ap")
        for name, ranked in (("x", rankings), ("y", other)):
            alone = rm.evaluate(ranked, truth, "ndcg@5 ap")
            for metric in ("ndcg@5", "ap"):
                assert both.estimates[metric, name] == alone[metric]
                assert both.summaries[name][metric] == alone[metric]

    def test_ids_of_all_systems_meet(self, tmp_path):
        path = tmp_path / "ranked.csv"
        path.write_text("user,item\n0,a\n1,b\n")
        found = rm.compare({"file": path, "dict": {0: ["b"], 1: ["b"]}}, {0: {"a"}, 1: {"b"}}, "rr")
        assert found.estimates["rr", "file"].mean == 1.0
        assert found.estimates["rr", "dict"].mean == 0.5


class TestUsers:
    systems = {"x": {1: ["a"], 2: ["a"], 3: ["z"]}, "y": {2: ["z"], 3: ["a"], 4: ["a"]}}
    truth = {u: {"a"} for u in (1, 2, 3, 4)}

    def test_a_missing_user_counts_by_the_plan(self):
        found = rm.compare(self.systems, self.truth, "rr")
        assert found["rr"][0].n == 4
        assert found.dropped["rr"] == 0

    def test_only_users_common_to_all_are_averaged_and_the_others_counted(self):
        found = rm.compare(self.systems, self.truth, "rr", missing="skip")
        assert found["rr"][0].n == 2
        assert found.dropped["rr"] == 2
        assert found.estimates["rr", "x"].n == 2
        assert "rr: 2 users not common to all systems" in repr(found)

    @pytest.mark.parametrize("test", ["t", "randomization"])
    def test_lists_and_charts_of_a_pair_show_the_users_of_its_test(self, test):
        systems = {**self.systems, "z": {u: ["b", "a"] for u in (1, 2)}}
        found = rm.compare(systems, self.truth, "rr", missing="skip", test=test, correction="none")
        for difference in found["rr"]:
            users, _, _ = found._paired("rr", difference.a, difference.b)
            assert len(users) == difference.n
            worst = found.worst(None, system=difference.a, against=difference.b)
            assert len(worst) == difference.n


class TestEdges:
    def test_identical_systems(self):
        same = rm.compare({"x": SYSTEMS["a"], "y": SYSTEMS["a"]}, TRUTH, "cg")["cg"][0]
        assert same.p == 1.0
        assert not same.significant
        assert same.better == ""
        assert "the same cg for every one of 12 users" in same.sentence()

    def test_one_user_cannot_be_tested(self):
        found = rm.compare({"x": {1: ["a"]}, "y": {1: ["b", "a"]}}, {1: {"a"}}, "rr")["rr"][0]
        assert math.isnan(found.p)
        assert "at least 2 users" in found.note
        assert "cannot be compared" in found.sentence()

    def test_few_users_come_with_a_note(self):
        found = rm.compare(
            {"x": {1: ["a"], 2: ["a"]}, "y": {1: ["b"], 2: ["a"]}}, {1: {"a"}, 2: {"a"}}, "rr"
        )
        assert "only 2 users" in repr(found)

    @pytest.mark.parametrize("test", ["t", "randomization"])
    def test_never_a_p_of_zero(self, test):
        users = range(500)
        better = {u: ["a"] for u in users}
        worse = {u: ["b", "c", "a"] if u % 2 else ["b", "a"] for u in users}
        truth = {u: {"a"} for u in users}
        found = rm.compare({"x": better, "y": worse}, truth, "rr", test=test)
        assert 0 < found["rr"][0].p < 0.001

    def test_lower_is_better_for_ranks(self):
        systems = {"x": {u: ["a", "b"] for u in range(30)}, "y": {u: ["b", "a"] for u in range(30)}}
        found = rm.compare(systems, {u: {"a"} for u in range(30)}, "mean_rank")["mean_rank"][0]
        assert found.better == "x"
        assert (found.wins, found.losses) == (30, 0)
        assert "x beats y" in found.sentence()

    def test_the_seed_decides(self):
        rankings, truth = cases.batch(1)
        other, _ = cases.batch(2)
        runs = [
            rm.compare({"x": rankings, "y": other}, truth, "ap", seed=seed)["ap"][0].p
            for seed in (1, 1, 2)
        ]
        assert runs[0] == runs[1] != runs[2]

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"baseline": "z"}, "`baseline` must be one of"),
            ({"test": "magic"}, "'wilcoxon'"),
            ({"correction": "magic"}, "'holm'"),
            ({"family": "mine"}, "'metric'"),
            ({"confidence": 5}, "both excluded"),
            ({"color": "red"}, "unknown option 'color'"),
            ({"metrics": "cg", "aggregate": "sum"}, "not averaged over users"),
        ],
    )
    def test_wrong_calls(self, arguments, message):
        with pytest.raises(UsageError, match=message):
            rm.compare(SYSTEMS, TRUTH, **{"metrics": "cg", **arguments})

    @pytest.mark.parametrize("systems", [{"x": {1: ["a"]}}, {}, [{1: ["a"]}]])
    def test_not_enough_systems(self, systems):
        with pytest.raises(UsageError):
            rm.compare(systems, {1: {"a"}}, "rr")


class TestPooled:
    """Numbers that are not means over users: their difference varies as by the jackknife."""

    one, judged = cases.batch(1, n_users=60)
    other, _ = cases.batch(2, n_users=60)
    truth = {u: {i for i, gain in own.items() if gain > 0} for u, own in judged.items()}
    truth = {u: own for u, own in truth.items() if own}
    systems = {"x": one, "y": other}
    metric = "recall(aggregate=micro)@5"

    def number(self, users, rankings, metric=metric, **given):
        """The number of some users alone."""
        own = [{u: each[u] for u in users} for each in (rankings, self.truth)]
        return rm.evaluate(*own, metric, **given)[metric].mean

    def test_a_pooled_share(self):
        users = list(self.truth)
        x, y = (self.number(users, each) for each in self.systems.values())
        (d,) = rm.compare(self.systems, self.truth, self.metric, test="t")[self.metric]
        assert (d.mean_a, d.mean_b) == pytest.approx((x, y))
        without = np.array(
            [
                np.subtract(*(self.number(left, each) for each in self.systems.values()))
                for left in ([u for u in users if u != one] for one in users)
            ]
        )
        n = len(users)
        se = math.sqrt((n - 1) / n * np.square(without - without.mean()).sum())
        assert d.statistic == pytest.approx((x - y) / se)
        assert not d.per_user
        assert math.isnan(d.d_z)

    def test_with_equal_denominators_it_is_the_mean(self):
        truth = {u: sorted(own)[:1] for u, own in self.truth.items()}
        found = rm.compare(self.systems, truth, [self.metric, "recall@5"])
        pooled, mean = (found[label][0] for label in found.to_dict()["metrics"])
        for name in ("difference", "low", "high", "p"):
            assert getattr(pooled, name) == pytest.approx(getattr(mean, name)), name

    def test_segments_and_clusters(self):
        labels = {u: f"{at % 2}" for at, u in enumerate(self.truth)}
        found = rm.compare(self.systems, self.truth, self.metric, segments=labels, clusters=labels)
        for part in "01":
            users = [u for u, label in labels.items() if label == part]
            d = next(d for d in found.differences if d.segment == part)
            assert d.mean_a == pytest.approx(self.number(users, self.one))
        assert "pooled share instead of the mean" in repr(found)

    @pytest.mark.parametrize(
        ("metric", "given"), [(metric, {}), ("coverage@5", {"catalogue": 1000})]
    )
    def test_training_runs(self, metric, given):
        labels = {u: f"{at % 2}" for at, u in enumerate(self.truth)}
        systems = {"x": [self.one, self.other], "y": [self.other]}
        found = rm.compare(systems, self.truth, metric, segments=labels, **given)
        for part in ("", "0", "1"):
            users = [u for u, label in labels.items() if label.startswith(part)]
            runs = [self.number(users, each, metric, **given) for each in systems["x"]]
            d = next(d for d in found.differences if d.segment == part)
            assert (d.mean_a, d.mean_b) == pytest.approx((np.mean(runs), runs[1]))
        whole = found.estimates[metric, "x"]
        assert found.summaries["x"][metric].mean == pytest.approx(whole.mean)
        assert 0 <= whole.low < whole.mean < whole.high <= 1
        last = found.curve(metric, 5).frame.filter(system="x", k=5)
        assert last["mean"].item() == pytest.approx(whole.mean)


class TestFamily:
    def test_of_each_metric_or_of_everything(self):
        rankings, truth = cases.batch(1)
        other, _ = cases.batch(2)
        systems = {"x": rankings, "y": other}
        alone = rm.compare(systems, truth, "ap rr", test="t")
        assert all(d.p_adjusted == d.p for d in alone.differences)
        together = rm.compare(systems, truth, "ap rr", test="t", family="all")
        low, high = sorted(d.p for d in together.differences)
        assert sorted(d.p_adjusted for d in together.differences) == pytest.approx(
            [min(2 * low, 1), max(high, min(2 * low, 1))]
        )


class TestSegments:
    labels = {u: "odd" if u % 2 else "even" for u in range(12)}

    def test_each_segment_is_compared_and_corrected_with_all(self):
        whole = pairs(test="t", baseline="b")
        found = rm.compare(SYSTEMS, TRUTH, "cg", test="t", baseline="b", segments=self.labels)
        assert [d.segment for d in found.differences] == ["", "", "even", "even", "odd", "odd"]
        even = next(d for d in found.differences if d.segment == "even")
        assert even.n == 6
        assert even.mean_a == pytest.approx(np.mean(VALUES["a"][::2]))
        assert found["cg"][0].p == whole["ab"].p
        assert found["cg"][0].p_adjusted >= whole["ab"].p_adjusted
        assert found.segment_estimates["odd", "cg", "c"].mean == pytest.approx(
            np.mean(VALUES["c"][1::2])
        )
        assert found.to_dict()["segments"]["odd"]["cg"]["c"]["n_users"] == 6

    def test_the_segments_of_one_result(self):
        result = rm.evaluate(SYSTEMS["a"], TRUTH, "cg")
        table = result.by_segment(self.labels)
        assert table["segment"].to_list() == ["even", "odd"]
        assert table["mean"].to_list() == pytest.approx(
            [np.mean(VALUES["a"][::2]), np.mean(VALUES["a"][1::2])]
        )
        frame = pl.DataFrame({"user": list(self.labels), "segment": list(self.labels.values())})
        assert result.by_segment(frame).equals(table)

    def test_users_without_a_label_are_in_a_row_without_a_segment(self):
        table = rm.evaluate(SYSTEMS["a"], TRUTH, "cg").by_segment({0: "x", 1: "x"})
        assert table["segment"].to_list() == ["x", None]
        assert table["n_users"].to_list() == [2, 10]
        assert table["mean"].to_list()[-1] == pytest.approx(np.mean(VALUES["a"][2:]))

    def test_labels_that_do_not_fit_are_counted_in_the_notes(self):
        labels = {0: "x", 1: "x", 2: "y", 99: "y"}
        found = rm.compare(SYSTEMS, TRUTH, "cg", segments=labels, clusters=labels)
        notes = found.table().notes
        assert "users without a segment: 9" in notes
        assert "segment labels of other users: 1" in notes
        assert "users without a cluster, each counted as one cluster: 9" in notes
        assert "cluster labels of other users: 1" in notes
        assert found.to_dict()["settings"]["segments_of_other_users"] == 1
        assert not any("labels" in note for note in rm.compare(SYSTEMS, TRUTH, "cg").table().notes)

    def test_by_history(self):
        train = {u: [f"i{n}" for n in range(u + 1)] for u in range(12)}
        active = rm.by_activity(train, bins=3)
        assert active.group_by("segment").len()["len"].to_list() == [4, 4, 4]
        popular = rm.by_popularity(
            train, {u: ["i0"] if u < 6 else ["i11"] for u in range(12)}, bins=2
        )
        assert sorted(popular["segment"].unique()) == [
            "popularity 1",
            "popularity 12",
        ]
        found = rm.compare(SYSTEMS, TRUTH, "cg", segments=active)
        assert len(found.differences) == 3 * 4

    def test_users_without_a_history_are_a_segment(self):
        train = {u: [f"i{n}" for n in range(u + 1)] for u in range(8)}
        active = rm.by_activity(train, bins=2)
        assert active["user"].to_list() == list(range(8))
        found = rm.compare(SYSTEMS, TRUTH, "cg", segments=active)
        cold = [d for d in found.differences if d.segment == "cold: 0 interactions"]
        assert [d.n for d in cold] == [4] * 3
        assert not any("without a segment" in note for note in found.table().notes)
        table = rm.evaluate(SYSTEMS["a"], TRUTH, "cg").by_segment(active)
        assert table["segment"].to_list()[-1] == "cold: 0 interactions"
        assert table["n_users"].sum() == 12
        assert table["mean"].to_list()[-1] == pytest.approx(np.mean(VALUES["a"][8:]))

    def test_users_of_another_history_are_not_cold(self):
        with pytest.raises(DataError, match="No user of the result is in any segment"):
            rm.evaluate(SYSTEMS["a"], TRUTH, "cg").by_segment(rm.by_activity({99: ["a"]}))
        with pytest.raises(DataError, match="String ids"):
            rm.evaluate(SYSTEMS["a"], TRUTH, "cg").by_segment(rm.by_activity({"1": ["a"]}))

    def test_cold_users_are_rows_if_users_are_named(self, tmp_path):
        train = {u: ["a"] * (u + 1) for u in range(1, 12)}
        found = rm.by_activity(train, bins=2, users=TRUTH)
        found.write_csv(tmp_path / "segments.csv")
        expected = rm.evaluate(SYSTEMS["a"], TRUTH, "cg").by_segment(found)
        assert "cold: 0 interactions" in expected["segment"]
        for derived in (found.sort("user"), found.to_pandas(), tmp_path / "segments.csv"):
            again = rm.evaluate(SYSTEMS["a"], TRUTH, "cg").by_segment(derived)
            assert again.equals(expected)

    @pytest.mark.parametrize(
        ("bins", "labels"),
        [
            ([4], ["1–3 interactions"] * 3 + ["4–5 interactions"] * 2),
            ([2.5, 50], ["1–2 interactions"] * 2 + ["3–5 interactions"] * 3),
            ({"new": 1, "old": 5},
             ["1–4 interactions (new)"] * 4 + ["5 interactions (old)"]),
            ({"few": 0, "none of these": 1, "all": 2},
             ["1 interaction (none of these)"] + ["2–5 interactions (all)"] * 4),
        ],
    )  # fmt: skip
    def test_segments_may_begin_where_they_are_wanted(self, bins, labels):
        train = {u: [f"i{n}" for n in range(u + 1)] for u in range(5)}
        assert rm.by_activity(train, bins=bins)["segment"].to_list() == labels

    @pytest.mark.parametrize(
        ("bins", "words"),
        [
            (1, "an integer ≥ 2, got 1"),
            ("4", "an integer ≥ 2, got '4'"),
            ([], r"numbers in ascending order, got \[\]"),
            ([5, 5], "numbers in ascending order"),
            (["5"], "must be a number, got '5'"),
            ({"new": 2, "old": 5}, "≤ 1 at first, the least value of a user, got 2"),
        ],
    )
    def test_bins_that_are_none_are_refused(self, bins, words):
        with pytest.raises(UsageError, match=words):
            rm.by_activity({1: ["a"], 2: ["a", "b"]}, bins=bins)

    @pytest.mark.parametrize(
        ("segments", "error"),
        [
            ({"nobody": "x"}, DataError),
            (pl.DataFrame({"user": [1, 1], "segment": ["x", "y"]}), DataError),
            (pl.DataFrame({"user": [1]}), ColumnError),
            (7, UsageError),
        ],
    )
    def test_wrong_segments(self, segments, error):
        with pytest.raises(error):
            rm.evaluate(SYSTEMS["a"], TRUTH, "cg").by_segment(segments)


class TestClusters:
    """Two users of each cluster are copies of each other, so they count as one."""

    clusters = {u: f"c{u // 2}" for u in range(12)}
    halves = {u: [(name, values[u // 2]) for name, values in VALUES.items()] for u in range(12)}

    def test_the_interval_is_that_of_the_clusters(self):
        doubled = rm.evaluate(SYSTEMS["a"], self.halves, "cg", clusters=self.clusters)
        once = rm.evaluate(
            {u: ["a"] for u in range(6)},
            {u: self.halves[2 * u] for u in range(6)},
            "cg",
        )
        assert doubled["cg"].interval == pytest.approx(once["cg"].interval)
        assert doubled["cg"].n == 12
        assert "6 clusters" in repr(doubled.details())
        assert doubled.to_dict()["users"]["clusters"] == 6
        alone = rm.evaluate(SYSTEMS["a"], self.halves, "cg")["cg"]
        assert alone.high - alone.low < doubled["cg"].high - doubled["cg"].low

    @pytest.mark.parametrize("test", ["t", "randomization"])
    def test_a_test_compares_clusters(self, test):
        doubled = rm.compare(SYSTEMS, self.halves, "cg", test=test, clusters=self.clusters)
        once = rm.compare(
            {name: {u: [name] for u in range(6)} for name in VALUES},
            {u: self.halves[2 * u] for u in range(6)},
            "cg",
            test=test,
        )
        for got, want in zip(doubled["cg"], once["cg"], strict=True):
            assert got.p == pytest.approx(want.p)
            assert got.difference == pytest.approx(want.difference)
            assert got.detectable == pytest.approx(want.detectable, nan_ok=True)
        assert doubled.settings["clusters"] == 6

    def test_users_without_a_cluster_are_their_own(self):
        found = rm.evaluate(SYSTEMS["a"], TRUTH, "cg", clusters={0: "x", 1: "x"})
        assert "11 clusters" in repr(found.details())


class TestCurves:
    def test_a_curve_is_the_metric_at_every_k(self):
        rankings, truth = cases.batch(1)
        found = rm.curve(rankings, truth, "precision@3", 8)
        alone = rm.evaluate(rankings, truth, "precision@1,2,3,4,5,6,7,8")
        assert found.frame["mean"].to_list() == [e.mean for e in alone.values()]
        assert found.frame["low"].to_list() == [e.low for e in alone.values()]

    def test_the_smallest_good_k_is_within_one_standard_error_of_the_best(self):
        rankings, truth = cases.batch(1)
        found = rm.curve(rankings, truth, "precision", 12)
        k, good = found.best_k()["rankings"], found.smallest_good_k()["rankings"]
        rows = {row["k"]: row for row in found.frame.iter_rows(named=True)}
        assert rows[k]["mean"] == max(row["mean"] for row in rows.values())
        values = {
            n: rm.evaluate(rankings, truth, f"precision@{n}").per_user[f"precision@{n}"].to_numpy()
            for n in range(1, k + 1)
        }

        def near(n):
            loss = values[k] - values[n]
            return loss.mean() <= loss.std(ddof=1) / np.sqrt(loss.size) + 1e-12

        assert near(good)
        assert not any(near(n) for n in range(1, good))

    def test_a_tolerance_is_a_loss_that_is_shown_to_be_smaller(self):
        rankings, truth = cases.batch(1)
        found = rm.curve(rankings, truth, "recall", 12)
        ks = [found.smallest_good_k(share)["rankings"] for share in (0.5, 0.2, 0.05, 0.001)]
        assert ks == sorted(ks)
        assert ks[0] < ks[-1]
        best = rm.evaluate(rankings, truth, f"recall@{found.best_k()['rankings']}")
        best = best.per_user[best.per_user.columns[1]].to_numpy()
        short = rm.evaluate(rankings, truth, f"recall@{ks[1]}").per_user[:, 1].to_numpy()
        kept = short - 0.8 * best
        assert kept.mean() / (kept.std(ddof=1) / np.sqrt(kept.size)) > 1.6
        with pytest.raises(UsageError):
            found.smallest_good_k(1.5)

    @staticmethod
    def first_hits(ranks, metric="hr", tolerance=0.05, longest=20):
        """The smallest good k of lists, of users with one hit each, at these ranks."""
        truth = {u: {"x"} for u in range(len(ranks))}
        lists = {u: [f"z{i}" for i in range(1, longest + 1)] for u in truth}
        for user, rank in enumerate(ranks):
            lists[user][rank - 1 : rank] = ["x"] if rank else []
        found = rm.curve(lists, truth, metric, longest).smallest_good_k(tolerance=tolerance)
        return found["rankings"]

    def test_few_users_without_a_loss_show_no_shorter_list(self):
        assert self.first_hits([1] * 6 + [0] * 4, tolerance=0.01) == 20
        assert self.first_hits([1] * 30 + [0] * 30) == 20
        assert self.first_hits([1] * 3000 + [0] * 3000) == 1

    def test_one_loser_does_not_show_a_small_loss(self):
        # With a true loss of 5 %, at most one of 60 hits is lost in 19 % of the samples.
        assert self.first_hits([20] + [1] * 59 + [0] * 60) == 20

    def test_a_best_list_that_is_not_shown_is_no_answer(self):
        ranks = [1] * 3 + [2] * 2 + [0] * 25
        assert self.first_hits(ranks, "precision") is None
        assert self.first_hits(ranks * 200, "precision") == 1

    @pytest.mark.parametrize("hits", [1, 3, 5, 8])
    @pytest.mark.parametrize("rank", [2, 11, 19, 20])
    def test_a_list_that_adds_nothing_in_the_sample_is_tested(self, hits, rank):
        """The best lists are equal: a loss between them is not seen, and not excluded."""
        assert self.first_hits([rank] * hits + [0] * (200 - hits), tolerance=0.03) == 20
        assert self.first_hits([rank] * hits + [0] * (200 - hits), "rr", tolerance=0.03) == 20

    def test_best_lists_that_differ_by_rounding_are_equal(self):
        values = np.tile([0.0, 0.5, 0.7, 0.7], (40, 1))
        values[:, 3] -= 1e-16 * np.arange(40)
        means = {k: float(x.mean()) for k, x in enumerate(values.T, 1)}
        assert means[4] < means[3]
        assert best_cutoffs(means, increasing=True) == [3, 4]
        assert best_cutoffs({k: -m for k, m in means.items()}, increasing=False) == [3, 4]
        assert best_cutoffs({1: math.nan, 2: 0.5, 3: 0.4}, increasing=True) == [2]
        assert best_cutoffs({1: math.nan, 2: math.nan}, increasing=True) == [1, 2]

    @pytest.mark.parametrize("n", [60, 200])
    def test_ranks_that_are_alike_need_the_whole_list(self, n):
        """Hits of 8 % of the users at ranks 1 to 12: each shorter list loses 8 % or more."""
        rng = np.random.default_rng(n)
        ranks = np.where(rng.random((30, n)) < 0.08, rng.integers(1, 13, (30, n)), 0)
        found = [self.first_hits(one, tolerance=0.03, longest=12) for one in ranks if one.any()]
        assert np.mean([k < 12 for k in found]) <= 0.06

    def test_wrong_answers_about_cutoffs_are_rare(self):
        """Hits at power-law ranks: lists of fewer than 17 items lose more than 5 %."""
        rng = np.random.default_rng(20)
        chance = np.arange(1, 21) ** -1.1
        chance *= 0.05 / chance.sum()
        ranks = rng.choice(21, size=(60, 60), p=np.append(1 - chance.sum(), chance))
        needed = int(np.argmax(chance.cumsum() >= 0.95 * chance.sum())) + 1
        wrong = [self.first_hits(one) < needed for one in ranks if one.any()]
        assert np.mean(wrong) <= 0.06

    @pytest.mark.parametrize(
        "how",
        [{"interval": "bca"}, {"clusters": TestClusters.clusters}],
    )
    def test_the_bands_are_made_as_intervals_are(self, how):
        ranked = SYSTEMS["a"]
        alone = rm.evaluate(ranked, TestClusters.halves, "cg@1,2", **how)
        curve = rm.curve(ranked, TestClusters.halves, "cg", 2, **how)
        both = rm.compare({"a": ranked, "b": ranked}, TestClusters.halves, "cg@2", **how)
        for frame in (curve.frame, both.curve("cg@2", 2).frame.head(2)):
            assert frame["low"].to_list() == [e.low for e in alone.values()]
            assert frame["high"].to_list() == [e.high for e in alone.values()]
        plain = rm.curve(ranked, TestClusters.halves, "cg", 2)
        assert plain.frame["low"].to_list() != curve.frame["low"].to_list()

    def test_of_every_system(self):
        found = rm.compare(SYSTEMS, TRUTH, "cg@5").curve("cg@5", 4)
        assert found.frame.shape == (12, 6)
        assert set(found.best_k()) == set(SYSTEMS)

    def test_lower_is_better(self):
        found = rm.curve([["x", "a"], ["a", "x"]], [{"a"}, {"a"}], "mean_rank(absent=next)", 2)
        assert found.best_k() == {"rankings": 1}

    @pytest.mark.parametrize(
        ("metric", "max_k", "message"),
        [
            ("precision", 0, "`max_k` must be an integer between 1 and 10000, got 0"),
            ("ndcg", 10**10, "`max_k` must be an integer between 1 and 10000, got 10000000000"),
            ("precision recall", 3, "exactly one metric"),
        ],
    )
    def test_wrong_calls(self, metric, max_k, message):
        with pytest.raises(UsageError, match=message):
            rm.curve([["a"]], [{"a"}], metric, max_k)
        if metric != "precision recall":
            with pytest.raises(UsageError, match=message):
                rm.compare(SYSTEMS, TRUTH, f"{metric}@5").curve(f"{metric}@5", max_k)

    def test_a_curve_that_is_not_asked_for_ends_at_the_limit(self, monkeypatch):
        """A huge cutoff of the plan means the whole list; there is no metric for each up to it."""
        monkeypatch.setattr("rankmeter._results.curves.MOST", 30)
        found = rm.compare(SYSTEMS, TRUTH, f"rr@{10**10}")
        assert found.curve(f"rr@{10**10}").frame["k"].max() == 30


class TestRenderings:
    found = rm.compare(SYSTEMS, TRUTH, "cg rr", baseline="b", segments=TestSegments.labels)

    def test_json_holds_everything(self):
        data = json.loads(self.found.to_json())
        assert data["systems"] == ["a", "b", "c"]
        assert data["baseline"] == "b"
        assert len(data["differences"]) == len(self.found.differences)
        assert data["settings"]["test"] == "auto"
        assert data["plan"]["metrics"]["cg"]["ties"] == "item"

    def test_tables(self):
        same = rm.compare({"x": SYSTEMS["a"], "y": SYSTEMS["a"]}, TRUTH, "cg")
        assert "no significant difference" in same.table().to_text()
        assert "0.4125 ▲" in rm.compare(SYSTEMS, TRUTH, "cg", baseline="b").table().to_text()
        title, _, head, rule = self.found.to_markdown().splitlines()[:4]
        assert title == f"**{self.found.headline().title}**"
        assert rule.startswith("|:--")
        assert rule.count("|") == head.count("|")
        assert r"\toprule" in self.found.to_latex()
        assert self.found.to_polars().height == len(self.found.differences)
        assert len(self.found.to_csv().splitlines()) == len(self.found.differences) + 1
        assert self.found.to_pandas().shape[0] == len(self.found.differences)
        assert "<table" in self.found._repr_html_()

    def test_per_user(self):
        assert self.found.per_user.height == 36
        assert self.found.per_user.columns == ["system", "user", "cg", "rr"]

    def test_a_sentence_each(self):
        assert len(self.found.sentences()) == len(self.found.differences)
        alone = rm.compare(SYSTEMS, TRUTH, "cg", baseline="b").sentences()
        assert "a beats b on cg by 0.0492 (+13.5%)" in alone[0]
        assert "The data do not decide between c and b" in alone[1]

    def test_letters_mark_all_pairs(self):
        text = rm.compare(SYSTEMS, TRUTH, "cg").table().to_text()
        assert "a a" in text
        assert "0.4125 bc" in text


def test_no_warning_without_reason():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pairs(test="t")


def test_an_error_in_the_data_of_a_system_names_the_system():
    with pytest.raises(DataError, match="System 'b': 1 of 1 scores"):
        rm.compare({"a": {1: {2: 0.5}}, "b": {1: {2: float("nan")}}}, {1: [2]}, "rr")
