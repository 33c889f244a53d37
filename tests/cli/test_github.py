"""What a pull request shows, the composite action, and a week of nights with one regression."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import rankmeter as rm
from command_line import rankmeter

pytestmark = pytest.mark.once

ROOT = Path(__file__).parents[2]
USERS = range(2000)
TRUTH = {user: random.Random(user).sample(range(50), 3) for user in USERS}


@pytest.fixture(scope="module")
def action():
    yaml = pytest.importorskip("yaml", reason="the group docs is not installed")
    return yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))


@pytest.fixture(scope="module")
def nightly():
    yaml = pytest.importorskip("yaml", reason="the group docs is not installed")
    return yaml.safe_load((ROOT / "examples/nightly.yml").read_text("utf-8"))


def write(lists, path):
    rows = [(user, item, -n) for user, items in lists.items() for n, item in enumerate(items)]
    pl.DataFrame(rows, ["user", "item", "score"], orient="row").write_parquet(path)


def write_truth(path):
    rows = [(user, item) for user, items in TRUTH.items() for item in items]
    pl.DataFrame(rows, ["user", "item"], orient="row").write_parquet(path)


def first_night():
    """Half of the users find something at once."""
    draw, lists = random.Random(11), {}
    for user, liked in TRUTH.items():
        others = draw.sample([item for item in range(50) if item not in liked], 9)
        lists[user] = [liked[0], *others] if user % 2 else [*others[:3], liked[0], *others[3:]]
    return lists


def next_night(lists, night, lost=0):
    """Twenty users win, twenty lose as much, and `lost` users find nothing any more."""
    draw, new = random.Random(night), dict(lists)
    for place, target in ((0, 3), (3, 0)):
        found = [user for user in USERS if lists[user][place] == TRUTH[user][0]]
        for user in draw.sample(found, 20):
            new[user] = [item for item in lists[user] if item != TRUTH[user][0]]
            new[user].insert(target, TRUTH[user][0])
    for user in draw.sample(USERS, lost):
        new[user] = [item for item in new[user] if item not in TRUTH[user]]
    return new


# ---------------------------------------------------------------------------------------------
# The format


def test_a_summary_has_headline_table_gates_and_details(tmp_path):
    write_truth(tmp_path / "truth.parquet")
    lists = first_night()
    for name, data in (("prod", lists), ("new", next_night(lists, 1, lost=100))):
        write(data, tmp_path / f"{name}.parquet")
    systems = [f"{name}={tmp_path / name}.parquet" for name in ("prod", "new")]
    ran = rankmeter(
        "compare", tmp_path / "truth.parquet", *systems, "-m", "ndcg@10", "--baseline", "prod",
        "--fail-if", "new not shown within 1% of prod on ndcg@10",
        "--fail-if", "prod shown worse than new on ndcg@10", "--format", "github",
    )  # fmt: skip
    assert ran.code == 1
    title, table, *_ = ran.out.split("\n\n")
    assert title.startswith("**No system beats prod on ndcg@10**")
    assert table.startswith("| system | rank | ndcg@10 |")
    assert "| new not shown within 1% of prod on ndcg@10 | failed | cannot exclude" in ran.out
    assert "| prod shown worse than new on ndcg@10 | passed |" in ran.out
    assert ran.out.index("| gate |") < ran.out.index("<details><summary>details</summary>\n\n")
    assert ran.out.endswith("\n\n</details>\n")


def test_a_gate_on_a_number_is_in_the_summary(tmp_path):
    write_truth(tmp_path / "truth.parquet")
    write(first_night(), tmp_path / "new.parquet")
    call = ["evaluate", tmp_path / "new.parquet", tmp_path / "truth.parquet", "-m", "hr@10"]
    ran = rankmeter(*call, "--fail-if", "hr@10<0.2", "--format", "github")
    assert ran.code == 0
    assert "| hr@10&lt;0.2 | passed |" in ran.out or "| hr@10<0.2 | passed |" in ran.out
    assert "| gate |" not in rankmeter(*call, "--format", "github").out


def test_a_name_cannot_write_into_the_summary(tmp_path):
    write_truth(tmp_path / "truth.parquet")
    write(first_night(), tmp_path / "new.parquet")
    name = "</details><script>"
    systems = [f"{n}={tmp_path / 'new.parquet'}" for n in (name, "b")]
    gate = f"{name} shown worse than b on rr"
    call = ["compare", tmp_path / "truth.parquet", *systems, "-m", "rr", "--fail-if", gate]
    assert "<script>" not in rankmeter(*call, "--format", "github").out


# ---------------------------------------------------------------------------------------------
# The action and its nights


def run(command, folder, names):
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", command],
        cwd=folder,
        env={**os.environ, "PATH": path, "GITHUB_STEP_SUMMARY": "summary.md", **names},
        capture_output=True,
        text=True,
        check=False,
    )


def run_action(action, folder, given):
    """Run the steps of the action but the first one, which installs; return the exit code."""
    inputs = {name: one.get("default", "") for name, one in action["inputs"].items()} | given
    for step in action["runs"]["steps"][1:]:
        names = {
            name: inputs[value.removeprefix("${{ inputs.").removesuffix(" }}")]
            for name, value in step["env"].items()
        }
        done = run(step["run"], folder, names)
        if done.returncode:
            return done.returncode
    return 0


def test_no_input_is_pasted_into_a_script(action):
    for step in action["runs"]["steps"]:
        assert "${{" not in step["run"]
        assert step["shell"] == "bash"


def test_the_template_names_inputs_of_the_action(action, nightly):
    (step,) = [s for s in nightly["jobs"]["quality"]["steps"] if "/rankmeter@" in s.get("uses", "")]
    assert step["with"].keys() <= action["inputs"].keys()
    required = {name for name, one in action["inputs"].items() if one.get("required")}
    assert required <= step["with"].keys()


def test_a_week_of_nights_stops_at_the_regression(action, nightly, tmp_path):
    """On the fifth night 60 of 2,000 users find nothing; on the sixth it is repaired."""
    steps = nightly["jobs"]["quality"]["steps"]
    (given,) = [step["with"] for step in steps if "/rankmeter@" in step.get("uses", "")]
    (remember,) = [step["run"] for step in steps if step.get("run", "").startswith("mv")]
    write_truth(tmp_path / "truth.parquet")
    lists, passed = first_night(), []
    baseline = tmp_path / "baseline.result"
    for night in range(1, 8):
        tonight = next_night(lists, night, lost=60 if night == 5 else 0)
        write(tonight, tmp_path / "new.parquet")
        before = baseline.read_bytes() if night > 1 else b""
        code = run_action(action, tmp_path, given)
        passed.append(code == 0)
        if code == 0:
            assert run(remember, tmp_path, {}).returncode == 0
            lists = tonight
        else:
            assert code == 1, (tmp_path / "summary.md").read_text("utf-8")[-900:]
            assert baseline.read_bytes() == before
    assert passed == [True, True, True, True, False, True, True]
    summary = (tmp_path / "summary.md").read_text("utf-8")
    assert summary.count("No baseline yet") == 1
    assert summary.count("| failed | cannot exclude that new is worse than baseline") == 1
    assert summary.count("| passed |") == 5
    assert rm.load_result(baseline)["ndcg@10"].n == 2000


def test_another_ground_truth_stops_the_action(action, tmp_path):
    write_truth(tmp_path / "truth.parquet")
    write(first_night(), tmp_path / "new.parquet")
    given = {"rankings": "new.parquet", "truth": "truth.parquet", "baseline": "old.result"}
    assert run_action(action, tmp_path, given | {"output": "old.result"}) == 0
    frame = pl.read_parquet(tmp_path / "truth.parquet").with_columns(item=pl.col("item") + 1)
    frame.write_parquet(tmp_path / "truth.parquet")
    assert run_action(action, tmp_path, given) == 2
