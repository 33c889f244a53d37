"""Intervals of bounded metrics in results, gates and curves."""

from __future__ import annotations

import numpy as np
import pytest

import rankmeter as rm

pytestmark = pytest.mark.once


class TestPublic:
    @pytest.mark.parametrize("aggregate", ["geometric", "sum", "micro"])
    def test_other_aggregates_stay_on_their_scale(self, aggregate):
        lists = {"u0": ["a"], "u1": ["a"], "u2": []}
        truth = {user: {"a"} for user in lists}
        metric = "recall@5" if aggregate == "micro" else "rr"
        found = rm.evaluate(lists, truth, metric, aggregate=aggregate)[metric]
        assert 0 <= found.low < found.mean < found.high <= (3 if aggregate == "sum" else 1)

    def test_a_gate_does_not_pass_on_an_interval_without_width(self, tmp_path):
        from command_line import rankmeter

        (tmp_path / "lists.csv").write_text("user,item\nu,a\nv,a\n")
        (tmp_path / "truth.csv").write_text("user,item\nu,a\nv,a\n")
        files = [str(tmp_path / "lists.csv"), str(tmp_path / "truth.csv")]
        gate = ("evaluate", *files, "-m", "hr@1", "--relevant", ">0", "--fail-if", "hr@1.low<0.99")
        assert rankmeter(*gate).code == 1
        done = rankmeter(*gate, "--interval", "bca")
        assert done.code == 1
        assert "does not exist" in done.err

    def test_clusters_reach_gains_effect_sizes_and_curves(self):
        rng = np.random.default_rng(2)
        truth = {f"{c}/{i}": {"a", "b"} for c in range(12) for i in range(10)}
        clusters = {user: user.split("/")[0] for user in truth}
        good = {c: rng.random() < 0.6 for c in set(clusters.values())}
        new = {u: ["a", "b"] if good[c] else ["a"] for u, c in clusters.items()}
        old = {user: ["a"] for user in truth}
        options = {"baseline": "old", "relevant": ">0"}
        by_user, by_cluster = (
            rm.compare({"new": new, "old": old}, truth, "recall@2", clusters=given, **options)
            for given in (None, clusters)
        )
        u, c = by_user["recall@2"][0], by_cluster["recall@2"][0]
        assert c.high - c.low > 2 * (u.high - u.low)
        assert c.gain_high - c.gain_low > 2 * (u.gain_high - u.gain_low)
        shares = np.array([0.5 * good[one] for one in good])
        assert c.d_z == pytest.approx(shares.mean() / shares.std(ddof=1))
        se = [found.curve("recall@2", 2).frame["se"][1] for found in (by_user, by_cluster)]
        assert se[1] > 2 * se[0]
