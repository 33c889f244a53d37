"""Systems of several training runs: users and runs are crossed."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import rankmeter as rm
from rankmeter.errors import UsageError

pytestmark = pytest.mark.once


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
        rough = "fewer than 3 training runs: interval and test are rough"
        assert rough not in d.note
        assert both.differences[0].note == rough
        two = rm.compare({"A": runs[:2], "B": runs[2]}, self.truth, "rr", relevant=">0")
        assert two.differences[0].note == f"{said}; {rough}"
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
        done = rankmeter(*said, "--relevant", ">0", "--details")
        assert done.code == 0
        assert "2 training runs of A; 1 training run of B" in done.out
        assert "of the variance is between" in done.out
        done = rankmeter("compare-values", "A=v a1.csv,v a2.csv", "B=v b,1.csv", "--details")
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
