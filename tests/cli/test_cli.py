"""The command line as a whole: commands, help, examples, lazy imports, completion, exit codes."""

from __future__ import annotations

import inspect
import os
import re
import shlex
import subprocess
import sys
import warnings
from pathlib import Path

import click
import pytest

import rankmeter as rm
from command_line import rankmeter, write_examples
from rankmeter._cli import COMPLETE, commands, main
from rankmeter._cli._command import as_typed
from rankmeter._cli._options import read_docstring
from rankmeter.errors import RankmeterWarning, UsageError
from rankmeter.splits import SPLITS

CONTEXT = click.Context(main, info_name="rankmeter")


def command_of(name):
    return main.get_command(CONTEXT, name)


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    """A folder with the files that the examples use."""
    write_examples(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


# -- help -------------------------------------------------------------------------------------


@pytest.mark.parametrize("args", [(), ("--help",), ("-h",)])
def test_help_lists_every_command(args):
    done = rankmeter(*args)
    assert done.code == 0
    for name, text in commands().items():
        assert re.search(rf"^  {name} +{re.escape(text)}$", done.out, re.MULTILINE)
    assert done.out.endswith("Example:\n  rankmeter demo\n")


@pytest.mark.parametrize("name", commands())
def test_help_of_a_command_tells_each_option_and_ends_with_an_example(name):
    command = command_of(name)
    done = rankmeter(name, "--help-all" if command.is_long else "--help")
    assert done.code == 0
    for option in command.params:
        if isinstance(option, click.Option) and not option.hidden:
            assert option.help, option.name
            assert option.opts[0] in done.out
    example = "".join(f"  {line}\n" for line in command.example.splitlines())
    assert done.out.endswith(f"Example:\n{example}")


@pytest.mark.parametrize("name", [name for name in commands() if name != "demo"])
def test_the_example_of_a_command_works(workspace, name):
    for line in command_of(name).example.splitlines():
        program, *args = shlex.split(line)
        done = rankmeter(*args)
        assert (program, done.code) == ("rankmeter", 0), done.err
        for output in re.findall(r"--(?:train|test|output) (\S+)", line):
            assert (workspace / output).stat().st_size > 0


def test_options_have_the_names_and_choices_of_the_signature():
    options = {option.name: option for option in command_of("evaluate").params}
    hints = inspect.signature(rm.evaluate).parameters
    keywords = {name for name, one in hints.items() if one.kind is one.KEYWORD_ONLY}
    assert keywords <= options.keys()
    assert list(options["missing"].type.choices) == ["zero", "skip", "raise"]
    assert (options["depth"].type, options["confidence"].type) == (click.INT, click.FLOAT)
    assert options["no_overlap"].opts == ["--no-overlap"]
    # The command has no default: options that are not given are not passed on.
    assert all(options[name].default is None for name in keywords)
    assert options["confidence"].help.endswith("Default: 0.95.")


@pytest.mark.parametrize("name", ["evaluate", "compare", "explain"])
def test_help_shows_first_what_most_need_and_last_what_few_need(name):
    shown = rankmeter(name, "--help-all").out
    headings = re.findall(r"(?m)^([A-Z][\w ]*):$", shown)
    assert headings[0] == "Most used"
    assert headings[-2:] == ["Rarely needed options", "Example"]
    most = shown.partition("Most used:")[2].partition("\n\n")[0]
    assert [n for n in re.findall(r"(?m)^  (?:-\w, )?--([\w-]+)", most) if n != "baseline"] == [
        "metric", "relevant", "like", "format", "output", "help", "help-all"
    ]  # fmt: skip


@pytest.mark.parametrize("name", [name for name in commands() if command_of(name).is_long])
def test_help_fits_a_screen_and_names_every_option(name):
    shown = rankmeter(name, "--help").out
    assert shown.count("\n") < 60
    for option in command_of(name).params:
        if isinstance(option, click.Option) and not option.hidden:
            assert option.opts[-1] in shown, option.name


def test_the_help_of_a_shared_option_names_the_methods_it_belongs_to():
    options = {option.name: option for option in command_of("split").params}
    assert options["at"].help.startswith("temporal: The moment")
    assert "leave-k-out: Interactions to hold out" in options["k"].help
    assert "k-fold: Number of folds" in options["k"].help
    for method, function in SPLITS.items():
        own = {
            n for n, p in inspect.signature(function).parameters.items() if p.kind is p.KEYWORD_ONLY
        }
        assert own <= options.keys(), method


def test_version_is_that_of_the_package():
    assert rankmeter("--version").out == f"rankmeter {rm.__version__}\n"


# -- laziness ---------------------------------------------------------------------------------


def loaded_by(*args):
    """The modules that a run of the command line imports, without those left for later."""
    code = (
        "import sys\n"
        "from rankmeter._cli import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit: pass\n"
        "loaded = [n for n, one in sys.modules.items() if type(one).__name__ != '_Later']\n"
        "print(*loaded, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *args], capture_output=True, text=True, check=True
    )
    return set(done.stderr.split())


@pytest.mark.parametrize("args", [["--help"], ["--version"], ["doctor"], ["completion", "bash"]])
def test_help_and_doctor_start_without_numpy_and_polars(args):
    assert not {"numpy", "polars", "rich", "scipy"} & loaded_by(*args)


@pytest.mark.once
def test_only_the_command_that_runs_is_imported():
    loaded = loaded_by("metrics", "ndcg")
    assert "rankmeter._cli.metrics" in loaded
    assert not {f"rankmeter._cli.{name}" for name in commands() if name != "metrics"} & loaded


@pytest.mark.once
def test_evaluate_does_not_import_what_it_does_not_need(workspace):
    loaded = loaded_by("evaluate", "recs.csv", "truth.csv")
    assert "rankmeter._cli.evaluate" in loaded
    assert not {"rich", "scipy", "pandas", "pyarrow", "duckdb"} & loaded


# -- completion -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words, position, expected",
    [
        ("rankmeter ev", 1, {"evaluate"}),
        ("rankmeter evaluate --sco", 2, {"--scope", "--score-type"}),
        ("rankmeter evaluate --missing s", 3, {"skip"}),
        ("rankmeter evaluate -m nd", 3, {"ndcg"}),
        ("rankmeter split r.csv --method leave-", 4, {"leave-one-out", "leave-k-out"}),
        ("rankmeter metrics mean_r", 2, {"mean_rank"}),
        ("rankmeter conventions rankm", 2, {"rankmeter"}),
        ("rankmeter evaluate --like rankm", 3, {"rankmeter"}),
    ],
)
def test_bash_completes(words, position, expected):
    environment = {
        **os.environ,
        COMPLETE: "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(position),
    }
    done = subprocess.run(
        [sys.executable, "-m", "rankmeter"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    found = {line.split(",")[1] for line in done.stdout.splitlines()}
    assert expected <= found
    assert all(one.startswith(words.split()[-1]) for one in found)


def test_a_file_is_completed_by_the_shell():
    environment = {
        **os.environ,
        COMPLETE: "bash_complete",
        "COMP_WORDS": "rankmeter evaluate r",
        "COMP_CWORD": "2",
    }
    done = subprocess.run(
        [sys.executable, "-m", "rankmeter"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("file,")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_and_how_to_enable_it(shell):
    done = rankmeter("completion", shell)
    assert done.code == 0
    assert f"{COMPLETE}={shell}_complete" in done.out
    assert "%" not in done.out  # the template is filled in
    *_, last = done.out.splitlines()
    assert last.startswith("# to enable it")
    assert f"rankmeter completion {shell}" in last


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
    monkeypatch.setattr("rankmeter._cli.import_module", lambda _: Explodes(error))
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

    monkeypatch.setattr("rankmeter._cli.import_module", lambda _: Warns)
    done = rankmeter("doctor")
    assert (done.code, done.out, done.err) == (0, "", "warning: look twice\n")


@pytest.mark.parametrize(
    "python, shell",
    [
        ("choose no_overlap='allow'", "choose --no-overlap allow"),
        ("pass n_items=", "pass --n-items"),
        ("accuracy(n_items=…)@10", "accuracy(n_items=…)@10"),
        ("`no_overlap` must be", "--no-overlap must be"),
        ("use columns={'user': ...}.", "use --columns user=NAME."),
        ("columns={'user': 'a b'} names", "--columns user=a b names"),
        ("columns={'user': 'a', 'item': 'a'} names", "--columns user=a,item=a names"),
        ("columns={'score': …} (1 first)", "--columns score=NAME (1 first)"),
        (
            "either `at` or `ratio`, not both: got '2' and 0.3",
            "either --at or --ratio, not both: got '2' and 0.3",
        ),
        ("leave_k_out(k=10, at='time', ratio=0)", "leave_k_out(k=10, at='time', ratio=0)"),
        ("use temporal(ratio=...), then", "use temporal(ratio=...), then"),
        ("unresolved ties (at='expected')", "unresolved ties (--at expected)"),
        ("choose form='csv' or `form`", "choose --format csv or --format"),
        ("at=2.csv, at=2/part.csv and x/at=2 differ", "at=2.csv, at=2/part.csv and x/at=2 differ"),
        ("max_n_items='3'", "max_n_items='3'"),
        ("other='x'", "other='x'"),
    ],
)
def test_messages_spell_options_as_they_are_typed(python, shell):
    names = ("no-overlap", "n-items", "columns", "at", "ratio", "between", "per-user")
    options = [click.Option([f"--{name}"]) for name in names]
    options.append(click.Option(["form", "-f", "--format"]))
    assert as_typed(python, options) == shell


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


def test_what_takes_more_arguments_is_a_parameter_of_its_own():
    def function():
        """Do it.

        Parameters
        ----------
        seed : int
            First.
        *args, **kwargs
            Others.
        """

    assert read_docstring(function).parameters == {
        "seed": "First.",
        "args": "Others.",
        "kwargs": "Others.",
    }


@pytest.mark.parametrize("name", commands())
def test_no_help_shows_how_docstrings_are_written(name):
    assert not re.search(r"\*\*|`|^-{3,}$", rankmeter(name, "--help").out, re.MULTILINE)
