"""Runs `first_calls.py`, which is a program since its Spark needs a process."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).with_name("first_calls.py")
SPARK = shutil.which("java") and importlib.util.find_spec("pyspark")


def test_few_first_calls_are_lost():
    command = [sys.executable, PROGRAM, *(["--spark"] if SPARK else [])]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    print(done.stdout)  # noqa: T201 - shown if the test fails
    _, calls, _, lost = done.stdout.splitlines()[-1].split()
    assert int(calls) == 97
    assert int(lost) <= 10, done.stdout
