"""Progress on a terminal, and none elsewhere."""

from __future__ import annotations

import subprocess
import sys

import pytest

from command_line import on_terminal

pytestmark = pytest.mark.once
pytest.importorskip("resource", reason="signals, pipes and limits of Unix")


WORK = """
import time
from rankmeter._cli import _terminal
_terminal._PATIENCE = {patience}
with _terminal.show_spinner("evaluating"):
    time.sleep({seconds})
_terminal.print_progress("done")
"""


def test_long_work_shows_on_a_terminal_that_it_goes_on():
    assert "evaluating" in on_terminal(WORK.format(patience=0.01, seconds=1))


def test_what_is_over_at_once_shows_no_progress():
    shown = on_terminal(WORK.format(patience=60, seconds=0))
    assert "evaluating" not in shown
    assert "done" in shown


def test_without_a_terminal_there_is_no_progress(workspace):
    code = WORK.format(patience=0, seconds=0.3)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"", b"")
