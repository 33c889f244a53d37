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
        (("evaluate-scores", "scores.npy", "ranks.csv"), 3, "expected a .npy, .npz or .json file"),
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


def test_means_of_groups_are_shown_in_every_format(files):
    words = ["evaluate-scores", "scores.npy", "targets.npy", "--groups", "sides.csv", "-m", "mrr"]
    scores, true, _ = files
    result = rm.evaluate_scores(scores, true, "mrr", groups={"side": ["h", "t"] * 10})
    rows = result.by_group("side").to_dicts()
    assert run(*words, "--json").json["groups"] == {"side": rows}
    table = run(*words).out
    assert table.startswith(f"{result._answer().title}\n\n{result._answer().table.columns[0]}")
    for one in rows:
        assert f"{one['segment']:<5}  mrr     {one['mean']:.4f}" in table
    for form in ("md", "latex"):
        assert f"{rows[0]['mean']:.4f}" in run(*words, "--format", form).out
    head, whole, *lines = run(*words, "--format", "csv").out.splitlines()
    assert head.startswith("group,segment,metric,mean")
    assert whole.startswith(",,mrr,")
    assert [line.split(",")[:2] for line in lines] == [
        ["side", "h"], ["side", "t"], ["side", "macro"],
    ]  # fmt: skip
    assert "macro  mrr" in run("evaluate-ranks", "ranks.csv", "-m", "mrr").out


def test_ids_clusters_and_last_ranks_in_files(files, tmp_path):
    scores, true, _ = files
    np.save("users.npy", np.arange(100, 120))
    np.save("clusters.npy", np.arange(20) // 4)
    given = ["evaluate-scores", "scores.npy", "targets.npy", "-m", "mrr", "--json"]
    ran = run(
        *given, "--users", "users.npy", "--clusters", "clusters.npy", "--tolerance", "0.1,0.2",
        "--per-user", "v.csv",
    )  # fmt: skip
    wanted = rm.evaluate_scores(
        scores, true, "mrr", clusters=np.arange(20) // 4, tolerance=(0.1, 0.2)
    )
    assert ran.json["metrics"]["mrr"]["low"] == wanted["mrr"].low
    assert (tmp_path / "v.csv").read_text("utf-8").splitlines()[1].startswith("100,")
    np.save("upper.npy", [2, 9, 2])
    ran = run("evaluate-ranks", "ranks.csv", "--upper", "upper.npy", "-m", "mr", "--json")
    assert ran.json["metrics"]["mr"]["mean"] == (1.5 + 6.5 + 2) / 3


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--candidates", "14,541"], (2, "--candidates must be an integer ≥ 1, or a .npy")),
        (["--candidates", "-5"], (2, "--candidates must be an integer ≥ 1, got -5")),
        (["--upper", "broken.npy"], (3, "broken.npy cannot be read as an array: it is damaged")),
    ],
)
def test_what_cannot_be_read_with_ranks_is_an_error(files, tmp_path, words, said):
    (tmp_path / "broken.npy").write_bytes(b"no array")
    done = run("evaluate-ranks", "ranks.csv", *words)
    assert done.code == said[0]
    assert said[1] in done.err


def test_no_file_of_the_input_is_overwritten(files):
    np.save("upper.npy", [2, 9, 2])
    words = ["evaluate-ranks", "ranks.csv", "--upper", "upper.npy", "--output", "upper.npy"]
    assert run(*words, "--json").code == 2
    assert np.load("upper.npy").tolist() == [2, 9, 2]
    wrong = run("evaluate-scores", "scores.npy", "targets.npy", "--tolerance", "0.1")
    assert "--tolerance must be two numbers, such as 1e-5,1e-4, got '0.1'" in wrong.err
