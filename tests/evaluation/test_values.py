"""Values from elsewhere: published data sets, all forms, and what is refused."""

from __future__ import annotations

import math
from typing import get_args, get_type_hints

import numpy as np
import polars as pl
import pytest
from scipy import stats

import rankmeter as rm
from command_line import rankmeter
from rankmeter.errors import ColumnError, DataError, InvalidValueError, UsageError

pytestmark = pytest.mark.once

# Student (1908): extra hours of sleep of ten patients under two drugs; R's `sleep`.
SLEEP = {
    "1": [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0],
    "2": [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4],
}
# Darwin's maize: heights of crossed and self-fertilized plants, in eighths of an inch.
CROSSED = [188, 96, 168, 176, 153, 172, 177, 163, 146, 173, 186, 168, 177, 184, 96]
SELFED = [139, 163, 160, 160, 147, 149, 149, 122, 132, 144, 130, 144, 102, 124, 144]


def one(values, **options):
    (found,) = rm.compare_values(values, **options).differences
    return found


def test_students_sleep():
    found = one({name: SLEEP[name] for name in "12"}, test="t")
    assert found.statistic == pytest.approx(-4.0621, abs=5e-5)
    assert found.p == pytest.approx(0.002833, abs=5e-7)
    assert (found.low, found.high) == pytest.approx((-2.4599, -0.7001), abs=5e-5)


def test_darwins_maize():
    """Fisher, The Design of Experiments (1935): 863 of 32768 in each tail, both together here."""
    crossed, selfed = np.array(CROSSED) / 8, np.array(SELFED) / 8
    found = one({"crossed": crossed, "selfed": selfed})
    assert found.p == 1726 / 32768
    assert one({"crossed": crossed, "selfed": selfed}, test="t").p == pytest.approx(
        0.0497, abs=5e-5
    )


class TestForms:
    long = pl.DataFrame(
        {
            "system": ["A"] * 3 + ["B"] * 3,
            "user": ["u", "v", "w"] * 2,
            "value": [1.0, -2.0, 3.0, 0.5, 0.0, 1.0],
        }
    )

    def test_a_frame_a_file_and_mappings_are_the_same(self, tmp_path):
        self.long.write_csv(tmp_path / "long.csv")
        by_user = {
            name: dict(part.select("user", "value").rows())
            for (name,), part in self.long.group_by("system", maintain_order=True)
        }
        arrays = {name: np.array(list(values.values())) for name, values in by_user.items()}
        expected = one(self.long)
        for form in (
            tmp_path / "long.csv",
            by_user,
            arrays,
            self.long.to_pandas(),
            self.long.to_arrow(),
        ):
            found = one(form)
            assert (found.difference, found.p, found.wins) == (
                expected.difference,
                expected.p,
                expected.wins,
            )

    def test_metrics_clusters_and_seeds_have_columns(self):
        rng = np.random.default_rng(0)
        rows = [
            (s, u, m, seed, float(rng.random()))
            for s in "AB"
            for u in range(12)
            for m in ("f1", "loss")
            for seed in (1, 2)
        ]
        frame = pl.DataFrame(
            rows, schema=["system", "user", "metric", "seed", "value"], orient="row"
        )
        found = rm.compare_values(frame, lower_is_better="loss")
        assert [d.increasing for d in found.differences] == [True, False]
        assert found["f1"][0].method == "t over users × runs"
        assert "loss: lower is better" in found.table().notes
        once = frame.filter(pl.col("seed") == 1).drop("seed")
        clustered = once.with_columns(cluster=pl.col("user") // 2)
        assert rm.compare_values(clustered).settings["clusters"] == 6

    def test_runs_are_lists(self):
        rng = np.random.default_rng(1)
        found = one({"A": [rng.random(20) for _ in range(3)], "B": rng.random(20)})
        assert not math.isnan(found.share_of_runs)

    def test_what_per_user_writes(self, tmp_path):
        truth = {f"u{i}": {"a"} for i in range(30)}
        lists = {
            "old": {u: ["b", "a"] for u in truth},
            "new": {u: ["a"] if u[-1] in "123" else ["b", "a"] for u in truth},
        }
        direct = rm.compare(lists, truth, ["rr", "mean_rank"], baseline="old", relevant=">0")
        again = rm.compare_values(direct.per_user, baseline="old")
        for d, e in zip(direct.differences, again.differences, strict=True):
            assert (d.p, d.low, d.high, d.better) == (e.p, e.low, e.high, e.better)
        assert again.estimates["rr", "new"].interval == direct.estimates["rr", "new"].interval
        for name, one_list in lists.items():
            rm.evaluate(one_list, truth, "rr", relevant=">0").per_user.write_csv(
                tmp_path / f"{name}.csv"
            )
        files = [f"{name}={tmp_path / name}.csv" for name in lists]
        done = rankmeter("compare-values", *files, "--baseline", "old")
        assert done.code == 0, done.err
        assert "new beats old on rr by 30.0%" in done.out
        gate = ("--fail-if", "old shown worse than new on rr")
        assert rankmeter("compare-values", *files, *gate).code == 1

    def test_results_of_evaluations_have_their_users(self):
        rng = np.random.default_rng(0)
        ranks = {name: rng.integers(1, high, 500) for name, high in (("A", 20), ("B", 25))}
        results = {name: rm.evaluate_ranks(own, ["mrr", "mr"]) for name, own in ranks.items()}
        found = rm.compare_values(results)
        frames = {name: result.per_user for name, result in results.items()}
        assert found.to_dict() == rm.compare_values(frames).to_dict()
        assert [(d.metric, d.n, d.increasing) for d in found.differences] == [
            ("mrr", 500, True),
            ("mr", 500, False),
        ]
        runs = rm.compare_values({"A": [results["A"], results["B"]], "B": results["B"]})
        assert not math.isnan(runs["mrr"][0].share_of_runs)

    def test_results_keep_their_plan_clusters_and_kind(self):
        truth = {f"u{i}": {"a"} for i in range(30)}
        lists = {u: ["b", "a"] for u in truth}
        clusters = {u: int(u[1:]) // 3 for u in truth}
        frame = pl.DataFrame({"customer": [*truth], "item": "a"}).to_pandas()
        results = {
            "old": rm.evaluate(lists, truth, "mr", clusters=clusters),
            "new": rm.evaluate({u: ["a"] for u in truth}, truth, "mr", clusters=clusters),
        }
        found = rm.compare_values(results)
        assert found.settings["clusters"] == 10
        roles = {"columns": {"user": "customer"}}
        new = rm.evaluate(frame, truth, "mr", **roles)
        again = rm.compare_values({"new": new, "old": results["old"]})
        assert list(again.per_user.columns) == ["system", "customer", "metric", "seed", "value"]

    def test_a_tools_own_metric_keeps_its_direction(self):
        truth = {f"u{i}": {"a"} for i in range(9)}
        results = {
            name: rm.evaluate(dict.fromkeys(truth, own), truth, "rank", like="libkge")
            for name, own in {"A": ["a", "b"], "B": ["b", "a"]}.items()
        }
        assert not one(results).increasing

    def test_users_without_a_value_are_counted(self):
        found = rm.compare_values({"A": [1, 2, None, 4], "B": [2, 2, 2, math.nan]})
        assert found.settings["missing_values"] == 2
        assert found.differences[0].n == 2
        assert found.dropped == {"value": 2}

    def test_a_metric_may_have_another_name_in_each_file(self, tmp_path):
        for name, own in (("A", "MRR"), ("B", "mrr")):
            pl.DataFrame({"user": [1, 2], own: [1.0, 0.5]}).write_csv(tmp_path / name)
        files = {name: str(tmp_path / name) for name in "AB"}
        assert [found.metric for found in rm.compare_values(files).differences] == ["MRR"]
        assert [found.metric for found in rm.compare(files).differences] == ["MRR"]
        both = pl.DataFrame({"user": [1, 2], "mrr": [1.0, 0.5], "MRR": [0.0, 0.5]})
        found = rm.compare_values({"A": both, "B": both}).differences
        assert [each.metric for each in found] == ["mrr", "MRR"]

    def test_the_scale(self):
        values = {"A": np.zeros(20), "B": np.ones(20)}
        free = rm.compare_values(values).estimates["value", "A"]
        bounded = rm.compare_values(values, scale=(0, 1)).estimates["value", "A"]
        assert free.low == free.high == 0 < bounded.high


@pytest.mark.parametrize(
    ("values", "error", "words"),
    [
        ({"A": [1.0]}, UsageError, "2 to 100 systems"),
        ({}, DataError, "no values"),
        ({"A": ["x"], "B": [1]}, DataError, "must be numbers"),
        ({"A": [1, math.inf], "B": [1, 2]}, DataError, "infinite"),
        (pl.DataFrame({"user": [1], "value": [1.0]}), ColumnError, "column for the system"),
        (pl.DataFrame({"system": ["A"], "value": [1.0]}), ColumnError, "no column user"),
        (pl.DataFrame({"system": ["A"], "user": [1]}), ColumnError, "column of values"),
        (
            pl.DataFrame({"system": ["A", "A"], "user": [1, 1], "value": [1, 2]}),
            DataError,
            "repeat",
        ),
        ({"A": {1: 1.0}, "B": {"x": 1.0}}, DataError, "integers"),
        (
            pl.DataFrame(
                {"system": [*"AAB"], "user": [1, 1, 1], "metric": [*"xyx"], "value": [1, 2, 3]}
            ),
            UsageError,
            "A has y, and B has not",
        ),
        (7, DataError, "cannot be read"),
        (rm.evaluate_ranks([1, 2], "mrr"), UsageError, "a Summary is not a mapping from system"),
        (
            {"A": rm.compare({"a": [["x"]], "b": [["x"]]}, [["x"]], "rr"), "B": [1]},
            UsageError,
            "A are a Comparison, .* rm.evaluate_scores",
        ),
        (
            dict.fromkeys("AB", rm.evaluate_ranks([1, 2], "median_rank")),
            UsageError,
            "median_rank of A is not a mean of the values of users",
        ),
    ],
)
def test_what_is_refused(values, error, words):
    with pytest.raises(error, match=words):
        rm.compare_values(values)


@pytest.mark.parametrize(
    "values",
    [
        {"A": [1e308] * 5, "B": [-1e308] * 5},
        {"A": [[1e308] * 5] * 3, "B": [[0.0] * 5] * 3},
        {"A": [1.0, 2, 3], "B": [1.0, 2e100, 3]},
    ],
)
def test_values_whose_differences_overflow_are_refused(values):
    with pytest.raises(InvalidValueError, match=r"of . in value reach .* up to 1e\+100.* Scale"):
        rm.compare_values(values)


def test_gains_whose_differences_overflow_are_refused():
    lists = {"A": [["a", "b"]] * 6, "B": [["b", "a"]] * 6}
    truth = [[("a", 1e308), ("b", 9e307)]] * 6
    for metric in ("cg@1", "dcg@2", "cg@2"):
        with pytest.raises(InvalidValueError, match=f"of A in {metric} reach"):
            rm.compare(lists, truth, metric)
    assert rm.compare(lists, truth, "ndcg@2").differences[0].p == 2 / 64


TESTS = get_args(get_type_hints(rm.compare_values)["test"])


@pytest.mark.parametrize("test", [one for one in TESTS if one != "auto"])
def test_scaled_values_have_the_same_p(test):
    values = {name: np.sin(np.arange(1, 121) * step) for name, step in (("A", 1), ("B", 2))}
    options = {"test": test, "interval": "bca", "n_resamples": 99}
    plain = one(values, **options).p
    for scale in (1e100, 1e-120):
        scaled = {name: scale * own for name, own in values.items()}
        assert one(scaled, **options).p == pytest.approx(plain, rel=1e-6)


@pytest.mark.parametrize(
    "options",
    [{"baseline": "z"}, {"lower_is_better": "z"}, {"scale": (1, 0)}, {"columns": {"x": "y"}}],
)
def test_wrong_options(options):
    with pytest.raises(UsageError):
        rm.compare_values(SLEEP, **options)


def test_friedmans_data_need_no_correction_to_agree_with_scipy():
    """R's RoundingTimes: 22 players, three ways around first base (Hollander and Wolfe 1973)."""
    times = np.array([5.40, 5.50, 5.55, 5.85, 5.70, 5.75, 5.20, 5.60, 5.50, 5.55, 5.50, 5.40,
                      5.90, 5.85, 5.70, 5.45, 5.55, 5.60, 5.40, 5.40, 5.35, 5.45, 5.50, 5.35,
                      5.25, 5.15, 5.00, 5.85, 5.80, 5.70, 5.25, 5.20, 5.10, 5.65, 5.55, 5.45,
                      5.60, 5.35, 5.45, 5.05, 5.00, 4.95, 5.50, 5.50, 5.40, 5.45, 5.55, 5.50,
                      5.55, 5.55, 5.35, 5.45, 5.50, 5.55, 5.50, 5.45, 5.25, 5.65, 5.60, 5.40,
                      5.70, 5.65, 5.55, 6.30, 6.30, 6.25]).reshape(22, 3)  # fmt: skip
    assert stats.friedmanchisquare(*times.T).pvalue == pytest.approx(0.003805, abs=5e-7)
    names = ["Round Out", "Narrow Angle", "Wide Angle"]
    values = dict(zip(names, times.T, strict=True))
    found = rm.compare_values(values, lower_is_better=True, test="t", correction="none")
    for d in found.differences:
        expected = stats.ttest_rel(values[d.a], values[d.b]).pvalue
        assert d.p == pytest.approx(expected)
        assert d.better == "Wide Angle" or "Wide Angle" not in (d.a, d.b)
