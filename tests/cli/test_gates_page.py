"""The workflows of the page about gates: their commands do what the page says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

pytestmark = pytest.mark.once

PAGE = (Path(__file__).parents[2] / "docs/guide/gates.md").read_text("utf-8")
BLOCKS = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture(scope="module")
def workflows():
    yaml = pytest.importorskip("yaml", reason="the group docs is not installed")
    return list(map(yaml.safe_load, BLOCKS))


@pytest.fixture
def folder(tmp_path):
    """Production finds what half of the users like."""
    users = list(range(1000))
    pl.DataFrame({"user": users, "item": "a"}).write_parquet(tmp_path / "truth.parquet")
    found = pl.DataFrame({"user": users, "item": ["a" if u % 2 else "b" for u in users], "rank": 1})
    found.write_parquet(tmp_path / "prod.parquet")
    return tmp_path


def run(command, folder):
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    names = {**os.environ, "PATH": path, "GITHUB_STEP_SUMMARY": "summary.md"}
    return subprocess.run(
        ["bash", "-ec", command], cwd=folder, env=names, capture_output=True, text=True, check=False
    )


def test_github_fails_for_a_worse_system_with_summary_and_report(workflows, folder):
    steps = workflows[0]["jobs"]["gate"]["steps"]
    (command,) = [step["run"] for step in steps if "rankmeter compare" in step.get("run", "")]
    pl.read_parquet(folder / "prod.parquet").with_columns(
        item=pl.when(pl.col("user") < 100).then(pl.lit("b")).otherwise("item")
    ).write_parquet(folder / "new.parquet")
    done = run(command, folder)
    assert done.returncode == 1, done.stderr
    assert "| system | rank | ndcg@10 |" in (folder / "summary.md").read_text("utf-8")
    assert (folder / "report.html").is_file()


def test_gitlab_passes_for_an_equal_system(workflows, folder):
    (command,) = [one for one in workflows[1]["ranking-quality"]["script"] if "compare" in one]
    pl.read_parquet(folder / "prod.parquet").with_columns(
        item=pl.when(pl.col("user").is_in([4])).then(pl.lit("a")).otherwise("item")
    ).write_parquet(folder / "new.parquet")
    done = run(command, folder)
    assert done.returncode == 0, done.stderr
    assert (folder / "report.html").is_file()
