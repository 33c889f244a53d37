"""The command line as a whole: commands, help, examples, lazy imports, completion, exit codes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import click
import pytest

import rankmeter as rm
from command_line import loaded_by, rankmeter, write_examples
from rankmeter.errors import RankmeterWarning, UsageError


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    """A folder with the files that the examples use."""
    write_examples(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


# -- help -------------------------------------------------------------------------------------


HELPED = ["evaluate", "compare", "explain"]


@pytest.mark.parametrize("name", HELPED)
def test_help_shows_first_what_most_need_and_last_what_few_need(name):
    shown = rankmeter(name, "--help-all").out
    headings = re.findall(r"(?m)^([A-Z][\w ]*):$", shown)
    assert headings[0] == "Most used"
    assert headings[-2:] == ["Rarely needed options", "Example"]
    most = shown.partition("Most used:")[2].partition("\n\n")[0]
    assert [n for n in re.findall(r"(?m)^  (?:-\w, )?--([\w-]+)", most) if n != "baseline"] == [
        "metric", "relevant", "like", "format", "output", "help", "help-all"
    ]  # fmt: skip


def test_version_is_that_of_the_package():
    assert rankmeter("--version").out == f"rankmeter {rm.__version__}\n"


# -- laziness ---------------------------------------------------------------------------------


@pytest.mark.parametrize("args", [["--help"], ["--version"], ["doctor"], ["completion", "bash"]])
def test_help_and_doctor_start_without_numpy_and_polars(args):
    assert not {"numpy", "polars", "rich", "scipy"} & loaded_by(*args)


@pytest.mark.once
def test_evaluate_does_not_import_what_it_does_not_need(workspace):
    loaded = loaded_by("evaluate", "recs.csv", "truth.csv")
    assert "rankmeter._cli.evaluate" in loaded
    assert not {"rich", "scipy", "pandas", "pyarrow", "duckdb"} & loaded


# -- completion -------------------------------------------------------------------------------


# -- what happens to errors -------------------------------------------------------------------


class Explodes:
    """Stands for a command module; running it raises."""

    def __init__(self, error):
        self.error = error

    @property
    def command(self):
        def run():
            raise self.error

        return click.Command("doctor", callback=run)


def failing(monkeypatch, error):
    monkeypatch.setattr("rankmeter._cli.annex", lambda _: Explodes(error))
    return rankmeter("doctor")


class Panic(BaseException):
    """Like a panic of a Rust library, which is not an Exception."""


@pytest.mark.parametrize("error", [ZeroDivisionError("by zero\nmore"), Panic("by zero")])
def test_an_internal_error_has_no_traceback(monkeypatch, error):
    monkeypatch.delenv("RANKMETER_TRACEBACK", raising=False)
    done = failing(monkeypatch, error)
    assert (done.code, done.out) == (70, "")
    assert done.err.startswith(f"error: internal error, {type(error).__name__}: by zero\n")
    assert "RANKMETER_TRACEBACK=1" in done.err
    assert "Traceback" not in done.err


def test_an_internal_error_shows_its_traceback_when_asked(monkeypatch):
    monkeypatch.setenv("RANKMETER_TRACEBACK", "1")
    done = failing(monkeypatch, ZeroDivisionError("by zero"))
    assert done.code == 70
    assert done.err.startswith("Traceback")


@pytest.mark.parametrize(
    "error, code, says",
    [
        (KeyboardInterrupt(), 130, "\n"),
        (PermissionError(13, "Permission denied", "x.csv"), 3, "error: x.csv: Permission denied\n"),
        (OSError("no number"), 3, "error: no number\n"),
        (OSError(18, "cross-device", "a", None, "b"), 3, "error: a → b: cross-device\n"),
        (BrokenPipeError(32, "broken"), 141, ""),
        (
            ModuleNotFoundError("No module named 'numpy'", name="numpy"),
            4,
            "error: the package numpy is not installed: see rankmeter doctor\n",
        ),
        (rm.errors.MissingDependencyError("install x"), 4, "error: install x\n"),
        (rm.errors.DataError("bad"), 3, "error: bad\n"),
        (rm.errors.UsageError("wrong"), 2, "error: wrong\n"),
    ],
)
def test_an_error_becomes_a_message_and_an_exit_code(monkeypatch, error, code, says):
    done = failing(monkeypatch, error)
    assert (done.code, done.out, done.err) == (code, "", says)


def test_a_warning_of_ours_is_one_line_on_stderr(monkeypatch):
    class Warns:
        command = click.Command(
            "doctor", callback=lambda: warnings.warn("look twice", RankmeterWarning, stacklevel=1)
        )

    monkeypatch.setattr("rankmeter._cli.annex", lambda _: Warns)
    done = rankmeter("doctor")
    assert (done.code, done.out, done.err) == (0, "", "warning: look twice\n")


def test_nothing_but_the_message_of_an_error_changes(monkeypatch, workspace):
    def refuse(*args, **kwargs):
        raise UsageError("choose ties='item'")

    monkeypatch.setattr("rankmeter._cli.evaluate.evaluate", refuse)
    done = rankmeter("evaluate", "recs.csv", "truth.csv")
    assert (done.code, done.err) == (2, "error: choose --ties item\n")


def test_color_is_for_terminals_that_want_it(workspace):
    """Under a pseudo-terminal the error is red, and with NO_COLOR it is not."""
    pytest.importorskip("pty")
    code = "import pty, sys; pty.spawn([sys.executable, '-m', 'rankmeter', 'metrics', 'nope'])"

    def on_terminal(no_color):
        return subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "NO_COLOR": no_color},
            capture_output=True,
            stdin=subprocess.DEVNULL,
            check=True,
        ).stdout

    assert b"\x1b[31m" in on_terminal("")
    assert b"error: unknown metric 'nope'" in on_terminal("1")
    assert b"\x1b" not in on_terminal("1")


def test_main_is_what_python_m_runs():
    done = subprocess.run(
        [sys.executable, "-m", "rankmeter", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"rankmeter {rm.__version__}\n"
    assert Path(rm.__file__).with_name("__main__.py").exists()


# -- docstrings -------------------------------------------------------------------------------
