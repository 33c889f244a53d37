"""Systems of several training runs: users and runs are crossed."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import rankmeter as rm
from rankmeter._statistics import crossed_test, crossed_variance, paired_t_test
from rankmeter.errors import UsageError

pytestmark = pytest.mark.once


def table(rng, runs, *, seeds=0.0, users=100, mean=0.3):
    easy = rng.normal(mean, 0.2, (users, 1))
    return easy + rng.normal(0, seeds, runs) + rng.normal(0, 0.1, (users, runs))


def test_the_variance_is_that_of_users_and_of_runs_without_their_interaction():
    a = table(np.random.default_rng(0), 4, seeds=0.1)
    n, r = a.shape
    rows, columns = a.mean(axis=1), a.mean(axis=0)
    residual = a - rows[:, None] - columns + a.mean()
    both = (residual**2).sum() / ((n - 1) * (r - 1)) / (n * r)
    found = crossed_variance(a)
    assert found.users == pytest.approx(rows.var(ddof=1) / n)
    assert found.runs == pytest.approx(columns.var(ddof=1) / r - both)
    assert found.share_of_runs > 0.5
    assert found.df < 10


def test_single_runs_are_the_paired_t_test():
    rng = np.random.default_rng(1)
    a, b = table(rng, 1), table(rng, 1)
    one, other = crossed_test(a, b), paired_t_test(a[:, 0], b[:, 0])
    assert one.p == pytest.approx(other.p)
    assert one.interval == pytest.approx(other.interval)


@pytest.mark.parametrize("seeds", [0.0, 0.02])
def test_it_covers_where_one_kind_of_cluster_does_not(seeds):
    rng, covered, by_user = np.random.default_rng(2), 0, 0
    for _ in range(300):
        easy = rng.normal(0.3, 0.2, (60, 1))
        a, b = (
            easy + rng.normal(0, seeds, 5) + rng.normal(0, 0.08, (60, 1))
            + rng.normal(0, 0.1, (60, 5))
            for _ in range(2)
        )  # fmt: skip
        low, high = crossed_test(a, b).interval
        covered += low <= 0 <= high
        low, high = paired_t_test(a.mean(axis=1), b.mean(axis=1)).interval
        by_user += low <= 0 <= high
    assert covered / 300 >= 0.92
    if seeds:
        assert by_user < covered


class TestPublic:
    truth = {u: {"a"} for u in range(60)}

    def run(self, seed, share):
        rng = np.random.default_rng(seed)
        return {u: ["a"] if rng.random() < share else ["b", "a"] for u in self.truth}

    def test_a_list_of_runs_is_one_system(self):
        runs = [self.run(seed, 0.6) for seed in range(3)]
        found = rm.compare({"A": runs, "B": self.run(9, 0.2)}, self.truth, "rr", relevant=">0")
        (d,) = found.differences
        each = [rm.evaluate(one, self.truth, "rr", relevant=">0")["rr"].mean for one in runs]
        assert d.mean_a == pytest.approx(np.mean(each))
        assert found.estimates["rr", "A"].mean == pytest.approx(np.mean(each))
        assert d.method == "t over users × runs"
        assert 0 <= d.share_of_runs <= 1
        assert "of the variance is between" in d.sentence()
        assert found.settings["runs"] == {"A": 3, "B": 1}
        assert "3 training runs of A" in " ".join(found.table().notes)
        said = "B has one training run, whose training variance is not included"
        assert said in " ".join(found.table().notes)
        both = rm.compare({"A": runs, "B": runs[:2]}, self.truth, "rr", relevant=">0")
        assert "one training run" not in " ".join(both.table().notes)
        assert found.curve("rr", 2).frame.height == 4

    def test_runs_that_differ_need_more_runs(self):
        shares = (0.1, 0.9, 0.5, 0.2)
        runs = [self.run(seed, share) for seed, share in enumerate(shares)]
        found = rm.compare(
            {"A": runs, "B": [self.run(8, 0.5), self.run(9, 0.5)]}, self.truth, "rr", relevant=">0"
        )
        (d,) = found.differences
        assert d.share_of_runs > 0.5
        assert "add runs, not more users" in d.sentence()
        assert not math.isnan(d.detectable)

    def test_runs_from_files_and_with_a_margin(self, tmp_path):
        paths = []
        for seed in range(2):
            path = tmp_path / f"{seed}.csv"
            lists = self.run(seed, 0.5)
            rows = [f"{u},{item}\n" for u, items in lists.items() for item in items]
            path.write_text("user,item\n" + "".join(rows))
            paths.append(str(path))
        truth = {str(u): {"a"} for u in self.truth}
        other = {str(u): ["a"] for u in self.truth}
        found = rm.compare({"A": paths, "B": other}, truth, "rr", margin="90%", relevant=">0")
        assert found.differences[0].not_worse

    def test_runs_on_the_command_line(self, tmp_path, monkeypatch):
        from command_line import rankmeter

        monkeypatch.chdir(tmp_path)
        for name, seed in (("a1.csv", 1), ("a2.csv", 2), ("b,1.csv", 3)):
            lists = self.run(seed, 0.3 * seed)
            rows = "".join(f"{u},{item}\n" for u, items in lists.items() for item in items)
            Path(name).write_text("user,item\n" + rows)
            Path("v " + name).write_text("user,rr\n" + "".join(f"{u},{u % seed}\n" for u in lists))
        Path("truth.csv").write_text("user,item\n" + "".join(f"{u},a\n" for u in self.truth))
        said = ("compare", "truth.csv", "A=a1.csv,a2.csv", "B=b,1.csv", "-m", "rr")
        done = rankmeter(*said, "--relevant", ">0")
        assert done.code == 0
        assert "2 training runs of A, 1 training run of B" in done.out
        assert "of the variance is between" in done.out
        done = rankmeter("compare-values", "A=v a1.csv,v a2.csv", "B=v b,1.csv")
        assert "users × runs" in done.out
        assert "a2.csv is an input" in rankmeter(*said, "--output", "a2.csv").err
        assert "no.csv does not exist" in rankmeter(*said[:2], "A=no.csv,a1.csv", *said[3:]).err
        assert "write A=a1.csv,a2.csv" in rankmeter(*said[:2], "A=a1.csv", "A=a2.csv").err

    def test_lists_that_are_not_runs(self):
        positional = [["a"], ["b"]]
        found = rm.compare({"A": positional, "B": positional}, [{"a"}, {"b"}], "rr", relevant=">0")
        assert found.settings["runs"] is None

    @pytest.mark.parametrize("options", [{"clusters": {0: 1, 1: 1}}, {"test": "randomization"}])
    def test_what_does_not_know_runs(self, options):
        systems = {"A": [self.run(1, 0.5), self.run(2, 0.5)], "B": self.run(3, 0.5)}
        with pytest.raises(UsageError, match="several training runs"):
            rm.compare(systems, self.truth, "rr", **options)
