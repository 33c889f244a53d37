"""The commands for scores and ranks."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.sparse

import rankmeter as rm
from command_line import rankmeter as run


@pytest.fixture
def files(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    scores, target = rng.random((20, 30)), rng.integers(0, 10, 20)
    known = np.zeros((20, 30), dtype=bool)
    known[:, 20:25] = True
    np.save(tmp_path / "scores.npy", scores)
    np.save(tmp_path / "targets.npy", target)
    scipy.sparse.save_npz(tmp_path / "known.npz", scipy.sparse.csr_matrix(known))
    row, col = known.nonzero()
    np.savez(tmp_path / "pairs.npz", row=row, col=col)
    (tmp_path / "targets.json").write_text(json.dumps([[int(t)] for t in target]), "utf-8")
    (tmp_path / "ranks.csv").write_text("user,rank,side\na,1,h\nb,4,t\nc,2,t\n", "utf-8")
    (tmp_path / "sides.csv").write_text("side\n" + "h\nt\n" * 10, "utf-8")
    monkeypatch.chdir(tmp_path)
    return scores, target, known


@pytest.mark.parametrize("target", ["targets.npy", "targets.json"])
@pytest.mark.parametrize("known", ["known.npz", "pairs.npz"])
def test_scores_and_targets_in_files(files, target, known):
    scores, true, mask = files
    ran = run("evaluate-scores", "scores.npy", target, "--exclude", known, "-m", "mrr", "--json")
    found = ran.json["metrics"]["mrr"]["mean"]
    assert found == rm.evaluate_scores(scores, true, "mrr", exclude=mask)["mrr"].mean


def test_positives_and_negatives_in_files(files, tmp_path):
    np.save(tmp_path / "positive.npy", np.array([0.5, 0.1]))
    np.save(tmp_path / "negatives.npy", np.array([0.6, 0.4]))
    ran = run(
        "evaluate-scores", "positive.npy", "--negatives", "negatives.npy", "-m", "mr", "--json"
    )
    assert ran.json["metrics"]["mr"]["mean"] == 2.5


def test_ranks_in_a_file(files, tmp_path):
    ran = run(
        "evaluate-ranks", "ranks.csv", "-m", "mrr", "-m", "amri", "--candidates", "9",
        "--per-user", "values.csv", "--json",
    )  # fmt: skip
    found = ran.json["metrics"]
    wanted = rm.evaluate_ranks([1, 4, 2], ["mrr", "amri"], candidates=9)
    assert {n: one["mean"] for n, one in found.items()} == {n: e.mean for n, e in wanted.items()}
    assert (tmp_path / "values.csv").read_text("utf-8").startswith("user,mrr,amri\na,1.0,")


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("evaluate-ranks", "ranks.csv", "-m", "amri"), 2, "pass --candidates"),
        (("evaluate-ranks", "missing.csv"), 3, "missing.csv"),
        (("evaluate-ranks", "sides.csv"), 3, "no column rank"),
        (("evaluate-scores", "scores.npy", "ranks.csv"), 3, "expected .npy, .npz or .json"),
        (("evaluate-scores", "scores.npy"), 2, "target is missing"),
        (("evaluate-scores", "scores.npy", "targets.npy", "--fail-if", "mrr<0.9"), 1, "tripped"),
        (("evaluate-scores", "scores.npy", "targets.npy", "-o", "scores.npy"), 2, "is an input"),
    ],
)
def test_what_is_refused(files, words, code, message):
    ran = run(*words)
    assert ran.code == code, ran.err
    assert message in ran.err


def test_groups_and_clusters_in_files(files):
    scores, true, _ = files
    result = rm.evaluate_scores("scores.npy", "targets.npy", "mrr", groups="sides.csv")
    assert result.by_group()["segment"].to_list() == ["h", "t", "macro"]
    assert result["mrr"].mean == rm.evaluate_scores(scores, true, "mrr")["mrr"].mean


def test_show_explains_a_query(files):
    ran = run("evaluate-ranks", "ranks.csv", "-m", "mrr", "--show", "b")
    assert "mrr = 1 / first hit = 1 / 4 = 0.2500" in ran.out
    ran = run("evaluate-scores", "scores.npy", "targets.npy", "-m", "mrr", "--show", "3")
    assert "30 candidates" in ran.out
    assert run("evaluate-ranks", "ranks.csv", "--show", "b", "--json").code == 2
