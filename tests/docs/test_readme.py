"""The shell examples of the README run as written, in the order given."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.once

ROOT = Path(__file__).parents[2]
BLOCKS = re.findall(r"```sh\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
LINES = [line.split(" #")[0].strip() for block in BLOCKS for line in block.splitlines()]
COMMANDS = [line for line in LINES if line and not line.startswith("make ")]
README = (ROOT / "README.md").read_text("utf-8")


def test_the_readme_names_the_two_commands():
    assert [line for line in LINES if line.startswith("make ")] == ["make demo", "make test"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("readme")
    shutil.copytree(ROOT / "examples", place / "examples")
    return place


def run(command, folder):
    """Run a line of the README."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command,
        shell=True,
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stderr}"
    assert "Traceback" not in done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def outputs(folder):
    """What each command prints, in the order given."""
    return {command: run(command, folder) for command in COMMANDS}


def test_the_shell_examples_run(outputs):
    assert len(outputs) >= 7
    assert "ndcg@10" in outputs[COMMANDS[-1]]


def test_the_steps_shown_are_those_that_explain_prints(outputs):
    (command,) = [line for line in COMMANDS if line.startswith("rankmeter explain")]
    shown = re.search(r"```text\n(.*?)```", README, re.DOTALL)[1]
    assert outputs[command].startswith(shown.rstrip())


def test_the_numbers_shown_are_those_of_the_conventions(outputs, folder):
    rows = re.findall(r"^\| (\S+) ([\d.]+) \| .* \| ([\d.]+) \|$", README, re.MULTILINE)
    assert len(rows) == 5
    for tool, version, shown in rows:
        # The last digit of a mean is that of the machine's own sums.
        line = "rankmeter evaluate popular.csv liked.csv -m ndcg@10 --format csv --like "
        value = run(f"{line}{tool}=={version}", folder).splitlines()[1].split(",")[1]
        assert float(value) == pytest.approx(float(shown), rel=1e-14)
