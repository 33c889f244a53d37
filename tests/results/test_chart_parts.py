"""Charts: the numbers that they draw."""

from __future__ import annotations

from typing import get_args

import numpy as np
import polars as pl
import pytest
from test_charts import FOUND, rows

import rankmeter as rm
from rankmeter._report.excerpts import (
    MAX_PAIRS,
    MAX_SYSTEMS,
    MAX_USERS,
    bin_differences,
    extreme_user_rows,
)
from rankmeter._results.comparison import ChartKind
from rankmeter._results.curves import first_metric_with_same_curve

pytestmark = pytest.mark.once


class TestComparison:
    @pytest.mark.parametrize("kind", [kind for kind in get_args(ChartKind) if kind != "tradeoff"])
    @pytest.mark.parametrize(
        ("extension", "start"), [("png", b"\x89PNG"), ("svg", b"<svg"), ("pdf", b"%PDF")]
    )
    def test_every_kind_saves_in_every_format(self, tmp_path, kind, extension, start):
        path = tmp_path / f"chart.{extension}"
        FOUND.plot(kind, metric="ndcg@10").save(path)
        assert path.read_bytes().startswith(start)

    def test_metrics_that_differ_only_in_k_share_a_curve(self):
        assert first_metric_with_same_curve(FOUND.plan) == {
            "ndcg@5": "ndcg@5",
            "ndcg@10": "ndcg@5",
            "rr": "rr",
        }

    def test_bins_count_every_user_once(self):
        for d in FOUND["ndcg@10"]:
            bins = bin_differences(*FOUND._paired(d.metric, d.a, d.b)[1:])
            below = [n for n, low in zip(bins.counts, bins.edges, strict=False) if low < 0]
            assert (sum(bins.counts) - sum(below), bins.equal, sum(below)) == (
                d.wins,
                d.ties,
                d.losses,
            )
            assert len(bins.edges) == len(bins.counts) + 1
            assert 0.0 in bins.edges

    def test_of_many_systems_the_best_are_shown_with_the_baseline(self):
        users = range(20)
        systems = {
            f"s{j}": {u: [*(f"n{i}" for i in range(j)), "a"] for u in users} for j in range(25)
        }
        found = rm.compare(systems, {u: {"a"} for u in users}, "rr", baseline="s20", test="t")
        shown = {row["system"] for row in rows(found.plot("curve"))}
        assert shown == {f"s{j}" for j in range(MAX_SYSTEMS - 1)} | {"s20"}
        pairs = [row for row in rows(found.plot("forest")) if "pair" in row]
        assert len(pairs) == MAX_PAIRS
        assert pairs[0]["pair"] == "s0"


class TestVerdict:
    def test_the_extremes_are_the_largest_differences_of_each_side(self):
        d = FOUND["rr"][0]
        found = extreme_user_rows(*FOUND._paired(d.metric, d.a, d.b), d)
        assert list(found) == [f"{name} is better for them" for name in (d.a, d.b)]
        for_a, for_b = found.values()
        table = FOUND.per_user.pivot("system", index="user", values="rr").drop_nulls()
        gaps = np.sort((table[d.a] - table[d.b]).to_numpy())
        assert len(for_a) == min(MAX_USERS, np.count_nonzero(gaps > 0))
        assert len(for_b) == min(MAX_USERS, np.count_nonzero(gaps < 0))
        for side, largest in ((for_a, gaps[::-1]), (for_b, gaps)):
            printed = [f"{gap:+.4f}".replace("-", "−") for gap in largest[: len(side)]]
            assert [difference for *_, difference in side] == printed
        user, x, *_ = for_a[0]
        assert f"{table.row(by_predicate=pl.col('user') == user, named=True)[d.a]:.4f}" == x
