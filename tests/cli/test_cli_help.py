"""Help and completion of the command line: complete, short and true."""

from __future__ import annotations

import inspect
import os
import re
import shlex
import subprocess
import sys

import click
import pytest

import rankmeter as rm
from command_line import loaded_by, rankmeter, write_examples
from rankmeter._cli import COMPLETE, command_summaries, main
from rankmeter._cli._command import spell_options_as_typed
from rankmeter._cli._options import read_docstring
from rankmeter.splits import SPLITS

pytestmark = pytest.mark.once

CONTEXT = click.Context(main, info_name="rankmeter")


def command_of(name):
    return main.get_command(CONTEXT, name)


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    """A folder with the files that the examples use."""
    write_examples(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("args", [(), ("--help",), ("-h",)])
def test_help_lists_every_command(args):
    done = rankmeter(*args)
    assert done.code == 0
    for name, text in command_summaries().items():
        assert re.search(rf"^  {name} +{re.escape(text)}$", done.out, re.MULTILINE)
    assert done.out.endswith("Example:\n  rankmeter demo\n")


@pytest.mark.parametrize("name", command_summaries())
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


@pytest.mark.parametrize("name", [name for name in command_summaries() if name != "demo"])
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


@pytest.mark.parametrize("name", [name for name in command_summaries() if command_of(name).is_long])
def test_help_fits_a_screen_and_names_every_option(name):
    shown = rankmeter(name, "--help").out
    assert shown.count("\n") < 60
    for option in command_of(name).params:
        if isinstance(option, click.Option) and not option.hidden:
            assert option.opts[0] in shown, option.name


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


@pytest.mark.once
def test_only_the_command_that_runs_is_imported():
    loaded = loaded_by("metrics", "ndcg")
    assert "rankmeter._cli.metrics" in loaded
    assert (
        not {f"rankmeter._cli.{name}" for name in command_summaries() if name != "metrics"} & loaded
    )


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
    assert spell_options_as_typed(python, options) == shell


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


@pytest.mark.parametrize("name", command_summaries())
def test_no_help_shows_how_docstrings_are_written(name):
    assert not re.search(r"\*\*|`|^-{3,}$", rankmeter(name, "--help").out, re.MULTILINE)
