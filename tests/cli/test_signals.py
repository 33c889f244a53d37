"""A signal while standard input is read ends the process and leaves no file."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from command_line import RECS

pytestmark = pytest.mark.once
pytest.importorskip("resource", reason="signals, pipes and limits of Unix")


ENDINGS = {signal.SIGINT: "\n", signal.SIGTERM: "", signal.SIGHUP: ""}


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("number, said", ENDINGS.items())
def test_a_signal_ends_the_process_quietly_and_leaves_nothing(workspace, number, said, named):
    """While it waits for the rest of standard input, of which it has a copy already."""
    Path("out.txt").write_text("old")
    folder = workspace.parent / "temporary"
    marker = workspace.parent / "waiting"
    usual = "signal.default_int_handler" if number == signal.SIGINT else "signal.SIG_DFL"
    code = f"""
import sys, shutil, pathlib, signal
signal.signal(signal.{number.name}, {usual})  # also where `nohup` ignores it
from rankmeter import _files
from rankmeter.__main__ import main
if {named}:
    _files._path_of_descriptor = lambda number: "/nowhere/at/all"
copy = shutil.copyfileobj
def copy_slowly(source, target):
    target.write(source.readline())
    pathlib.Path({str(marker)!r}).touch()
    copy(source, target)
shutil.copyfileobj = copy_slowly
main()
"""
    process = subprocess.Popen(
        [sys.executable, "-c", code, "evaluate", "-", "truth.csv", "--output", "out.txt"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    process.stdin.write(RECS)
    process.stdin.flush()
    until(marker.exists, process)
    assert bool(list(folder.iterdir())) == named
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (128 + number, "", said)
    assert list(folder.iterdir()) == []
    assert Path("out.txt").read_text() == "old"
    assert list(workspace.glob(".*")) == []


def until(condition, process):
    """Wait for something that a process does."""
    end = time.monotonic() + 60
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.01)
