"""The shell examples of the README run as they stand there, in the order given."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BLOCKS = re.findall(r"```sh\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
COMMANDS = [line for block in BLOCKS for line in block.splitlines() if line.startswith("rankmeter")]


def test_the_readme_names_the_two_commands():
    commands = [line.split("#")[0].strip() for block in BLOCKS for line in block.splitlines()]
    assert commands[:2] == ["make demo", "make test"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("readme")
    shutil.copytree(ROOT / "examples", place / "examples")
    return place


def test_the_shell_examples_run(folder):
    assert len(COMMANDS) >= 3
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for command in COMMANDS:
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
    assert "ndcg@10" in done.stdout
