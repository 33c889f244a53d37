"""Spark as several processes: the results of rankings in memory, also if one of them is killed."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from test_spark import pytestmark as of_spark

TESTS = Path(__file__).parents[1]
LONGEST = 900  # seconds; it takes a tenth of that

pytestmark = [
    *of_spark,
    pytest.mark.once,
    pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc"),
]


def of_session(number):
    """The processes of a session of the system."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if os.getsid(int(path.name)) == number:
                found.append(int(path.name))
    return found


@pytest.fixture(scope="module")
def found():
    """What a driver with two executors has found; all of them have ended."""
    paths = os.pathsep.join([str(TESTS), *sys.path])
    driver = subprocess.Popen(
        [sys.executable, str(TESTS / "on_cluster.py")],
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYTHONPATH": paths},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        said, complaints = driver.communicate(timeout=LONGEST)
        left = of_session(driver.pid)
        for _ in range(300):  # executors end when they miss the driver
            if not left:
                break
            time.sleep(0.1)
            left = of_session(driver.pid)
    finally:
        for number in of_session(driver.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
    assert driver.returncode == 0, complaints[-3000:]
    return {**json.loads(said.splitlines()[-1]), "left": left}


def test_the_rules_have_the_scores_of_rankings_in_memory(found):
    assert found["equal"] == 6
    assert found["left"] == []


def test_executors_without_the_package_are_an_error_that_says_how_to_put_it_there(found):
    assert "The executors of Spark cannot import rankmeter" in found["without the package"]
    assert "spark.archives" in found["without the package"]


def test_an_executor_that_is_killed_changes_nothing(found):
    expected = {"while it worked": True, "processes": 2, "survived": 1, "equal": True}
    assert found["executor"] == expected
