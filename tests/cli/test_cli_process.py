"""The command line as a process: closed pipes, Ctrl-C, full disks, complete files."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from command_line import TRUTH, on_terminal, rankmeter

pytestmark = pytest.mark.once

COMMAND = [sys.executable, "-m", "rankmeter"]
BOTH = ["evaluate", "recs.csv", "truth.csv"]
START = "import runpy; runpy.run_module('rankmeter', run_name='__main__')"
resource = pytest.importorskip("resource", reason="signals, pipes and limits of Unix")


@pytest.fixture
def python_handlers():
    """Handle signals as a new process does; a Spark session of other tests takes SIGINT."""
    usual = dict.fromkeys(ENDINGS, signal.SIG_DFL) | {signal.SIGINT: signal.default_int_handler}
    before = {one: signal.signal(one, handler) for one, handler in usual.items()}
    yield
    for one, handler in before.items():
        signal.signal(one, handler)


def run(*args, **kwargs):
    return subprocess.run(
        [*COMMAND, *args], capture_output=True, text=True, check=False, timeout=60, **kwargs
    )


# -- exit codes -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "args, code",
    [
        (BOTH, 0),
        ([*BOTH, "--fail-if", "rr>0", "-m", "rr"], 1),
        ([*BOTH, "-m", "nope"], 2),
        (["evaluate", "nope.csv", "truth.csv"], 3),
    ],
)
def test_a_process_ends_with_the_code_of_what_happened(workspace, args, code):
    done = run(*args)
    assert done.returncode == code
    assert "Traceback" not in done.stderr
    assert bool(done.stdout) == (code in (0, 1))


def test_results_go_to_stdout_and_everything_else_to_stderr(workspace):
    done = run(*BOTH, "-m", "rr", "--json", "--fail-if", "rr>0")
    assert json.loads(done.stdout)["schema"] == 1
    assert done.stderr.startswith("gate ")


# -- pipes ------------------------------------------------------------------------------------


@pytest.mark.parametrize("args", [["metrics"], ["evaluate", "--help"], BOTH, ["--help"]])
def test_a_reader_that_has_gone_ends_the_process_quietly(workspace, args):
    read, write = os.pipe()
    os.close(read)
    try:
        done = subprocess.run(
            [*COMMAND, *args], stdout=write, stderr=subprocess.PIPE, check=False, timeout=60
        )
    finally:
        os.close(write)
    assert (done.returncode, done.stderr) == (141, b"")


def test_commands_can_be_joined_by_pipes(workspace):
    first = subprocess.Popen(
        [*COMMAND, "baseline", "train.csv", "--method", "popularity", "-o", "-"],
        stdout=subprocess.PIPE,
    )
    done = subprocess.run(
        [*COMMAND, "evaluate", "-", "truth.csv", "-m", "rr", "--json"],
        stdin=first.stdout,
        capture_output=True,
        check=True,
        timeout=60,
    )
    first.stdout.close()
    assert first.wait() == 0
    rankmeter("baseline", "train.csv", "--method", "popularity", "-o", "recs2.csv")
    again = rankmeter("evaluate", "recs2.csv", "truth.csv", "-m", "rr", "--json")
    assert json.loads(done.stdout)["metrics"] == again.json["metrics"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_disk_behind_stdout_is_told(workspace):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*COMMAND, *BOTH], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (done.returncode, done.stderr) == (
        3,
        "error: standard output: No space left on device\n",
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_device_is_named(workspace):
    done = rankmeter(*BOTH, "-o", "/dev/full")
    assert (done.code, done.err) == (3, "error: /dev/full: No space left on device\n")


def test_a_device_is_written_to_and_not_replaced(workspace):
    done = run(*BOTH, "--format", "csv", "--output", "/dev/stdout")
    assert done.returncode == 0
    assert done.stdout == rankmeter(*BOTH, "--format", "csv").out
    assert run(*BOTH, "--output", "/dev/null").returncode == 0
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_characters_that_the_terminal_lacks_do_not_stop_the_result(workspace):
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    done = run(*BOTH, "-m", "rr", env=environment, encoding="latin-1")
    assert done.returncode == 0
    assert done.stdout == rankmeter(*BOTH, "-m", "rr").out.replace("─", "?")


CLOSED = "standard output is closed: use --output, or > /dev/null"


@pytest.mark.parametrize(
    "args, closing, code, said",
    [
        (BOTH, ">&-", 3, CLOSED),
        (["--help"], ">&-", 3, CLOSED),
        (["metrics"], ">&-", 3, CLOSED),
        (["baseline", "train.csv", "--method=random", "--k=2", "-o", "-"], ">&-", 3, CLOSED),
        (["trec_eval", "qrels.txt", "run.txt"], ">&-", 3, CLOSED),
        ([*BOTH, "-o", "out.txt"], ">&- <&-", 0, ""),
        ([*BOTH, "-o", "out.txt"], ">&- 2>&-", 0, ""),
        ([*BOTH, "-m", "nope"], "2>&-", 2, ""),
        (["evaluate", "nope.csv", "truth.csv"], ">&- 2>&- <&-", 3, ""),
        (["evaluate", "-", "truth.csv"], "<&-", 3, "standard input is closed: name a file"),
    ],
)
def test_closed_streams_are_missed_only_where_they_are_needed(workspace, args, closing, code, said):
    line = f'"$@" {closing}'
    done = subprocess.run(
        ["sh", "-c", line, "sh", *COMMAND, *args], capture_output=True, text=True, check=False
    )
    assert done.returncode == code
    assert said in done.stderr
    assert done.stderr.count("\n") == bool(said)
    if "out.txt" in args:
        assert Path("out.txt").read_text() == rankmeter(*BOTH).out


# -- interruption -----------------------------------------------------------------------------


ENDINGS = {signal.SIGINT: "\n", signal.SIGTERM: "", signal.SIGHUP: ""}


@pytest.mark.parametrize("module", ["rankmeter._cli", "click.core", "numpy", "polars.lazyframe"])
def test_ctrl_c_is_quiet_while_modules_are_imported(workspace, module):
    code = f"""
import os, signal, sys
class Interrupting:
    def find_spec(self, name, *_):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupting())
{START}
"""
    done = subprocess.run(
        [sys.executable, "-c", code, *BOTH, "-o", "out.txt"], capture_output=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr.strip()) == (130, b"", b"")


@pytest.mark.parametrize("raised", [KeyboardInterrupt, KeyboardInterrupt("")])
def test_an_interruption_that_somebody_else_raises_is_one(workspace, monkeypatch, raised):
    """As Polars does."""

    def interrupt(*_, **__):
        raise raised

    monkeypatch.setattr("rankmeter._cli.evaluate.evaluate", interrupt)
    done = rankmeter(*BOTH)
    assert (done.code, done.err) == (130, "\n")


@pytest.mark.parametrize("number", ENDINGS)
def test_a_signal_ends_the_command_whatever_becomes_of_its_exception(
    workspace, monkeypatch, number, python_handlers
):
    """Python wraps what is raised while a class is made, as in an import."""

    class Named:
        def __set_name__(self, *_):
            os.kill(os.getpid(), number)

    monkeypatch.setattr(
        "rankmeter._cli.evaluate.evaluate", lambda *_, **__: type("Made", (), {"name": Named()})
    )
    assert rankmeter(*BOTH).code == 128 + number


def test_a_signal_that_is_ignored_stays_ignored(workspace):
    """As under nohup."""
    done = run(*BOTH, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    code = "import signal, sys; sys.exit(signal.getsignal(signal.SIGHUP) != signal.SIG_IGN)"
    run_and_ask = f"try:\n    {START}\nexcept SystemExit: pass\n{code}"
    asked = subprocess.run(
        [sys.executable, "-c", run_and_ask, *BOTH],
        capture_output=True,
        check=False,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
    )
    assert (done.returncode, asked.returncode) == (0, 0)


def test_the_command_line_in_a_notebook_leaves_the_handlers_as_they_were(workspace):
    def theirs(*_):
        raise AssertionError

    old = signal.signal(signal.SIGTERM, theirs)
    try:
        kept = [signal.getsignal(one) for one in ENDINGS]
        assert rankmeter(*BOTH).code == 0
        assert [signal.getsignal(one) for one in ENDINGS] == kept
    finally:
        signal.signal(signal.SIGTERM, old)


# -- whole files ------------------------------------------------------------------------------


def limit_file_size():
    """Let writing fail in the middle of a file, as on a full disk."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))


@pytest.mark.parametrize("name", ["u.csv", "u.csv.gz", "u.jsonl", "u.parquet"])
def test_a_disk_that_fills_up_leaves_the_old_file_and_no_other(workspace, name):
    truth = "user,item\n" + "".join(f"user number {i},item {i}\n" for i in range(500))
    Path("many.csv").write_text(truth)
    Path(name).write_text("old")
    before = sorted(path.name for path in workspace.iterdir())
    done = run("evaluate", "many.csv", "many.csv", "--per-user", name, preexec_fn=limit_file_size)
    assert done.returncode == 3
    assert done.stderr.startswith("error: ")
    assert name in done.stderr
    assert "Traceback" not in done.stderr
    assert Path(name).read_text() == "old"
    assert sorted(path.name for path in workspace.iterdir()) == before


def test_an_error_of_one_output_does_not_name_another(workspace):
    args = ["--method", "holdout", "--train", "train2.csv", "--test", "nowhere/test.csv"]
    done = rankmeter("split", "ratings.csv", *args)
    assert done.err == "error: nowhere: this folder does not exist\n"


def test_a_hard_link_to_an_input_is_no_output(workspace):
    os.link("recs.csv", "link.csv")
    Path("parts").mkdir()
    pl.read_csv("recs.csv").write_parquet("parts/1.parquet")
    os.link("parts/1.parquet", "link.parquet")
    before = Path("recs.csv").read_text()
    for rankings, link in (("recs.csv", "link.csv"), ("parts", "link.parquet")):
        done = rankmeter("evaluate", rankings, "truth.csv", "--per-user", link)
        assert (done.code, done.out) == (2, "")
        assert f"{link} is an input already" in done.err
    assert Path("link.csv").read_text() == before
    os.link("ratings.csv", "other.csv")  # linked, but to something else
    assert rankmeter("evaluate", "parts", "truth.csv", "--per-user", "other.csv").code == 0


def test_too_little_memory_is_no_bug(workspace, monkeypatch):
    def use_much(*_, **__):
        np.empty(2**57)

    monkeypatch.setattr("rankmeter._cli.evaluate.evaluate", use_much)
    done = rankmeter(*BOTH)
    assert done.code == 3
    assert done.err.startswith("error: there is not enough memory (Unable to allocate 1.00 EiB")


def test_a_folder_that_was_made_for_an_output_goes_with_it(workspace):
    args = ["split", "ratings.csv", "--method", "k-fold", "--output", "new/folder"]
    before = sorted(workspace.iterdir())
    limited = run(*args, preexec_fn=limit_file_size)
    assert limited.returncode == 3
    assert sorted(workspace.iterdir()) == before


def test_of_two_outputs_neither_is_written_if_one_cannot_be(workspace):
    Path("train2.csv").write_text("old")
    Path("folder").mkdir()
    args = ["--method", "holdout", "--train", "train2.csv", "--test", "nowhere/test.csv"]
    assert rankmeter("split", "ratings.csv", *args).code == 3
    assert Path("train2.csv").read_text() == "old"
    assert list(workspace.glob(".*")) == []


def test_a_new_file_has_the_usual_rights_and_an_old_one_keeps_its_own(workspace):
    old_mask = os.umask(0o027)
    try:
        assert rankmeter(*BOTH, "--output", "new.txt").code == 0
        Path("old.txt").touch()
        Path("old.txt").chmod(0o604)
        assert rankmeter(*BOTH, "--output", "old.txt").code == 0
    finally:
        os.umask(old_mask)
    assert stat.S_IMODE(Path("new.txt").stat().st_mode) == 0o640
    assert stat.S_IMODE(Path("old.txt").stat().st_mode) == 0o604
    assert Path("old.txt").read_text() == Path("new.txt").read_text() != ""


def test_a_link_is_written_through(workspace):
    Path("target.txt").write_text("old")
    Path("link.txt").symlink_to("target.txt")
    assert rankmeter(*BOTH, "--output", "link.txt").code == 0
    assert Path("link.txt").is_symlink()
    assert Path("target.txt").read_text() == rankmeter(*BOTH).out


def test_a_named_pipe_can_be_read(workspace):
    os.mkfifo("truth.fifo")
    process = subprocess.Popen(
        [*COMMAND, "evaluate", "recs.csv", "truth.fifo", "--json"],
        stdout=subprocess.PIPE,
        text=True,
    )
    Path("truth.fifo").write_text(TRUTH)
    out, _ = process.communicate(timeout=60)
    assert json.loads(out)["metrics"] == rankmeter(*BOTH, "--json").json["metrics"]


# -- terminals --------------------------------------------------------------------------------


def test_a_table_is_drawn_on_a_terminal_and_has_the_same_numbers(workspace):
    shown = on_terminal(f"import sys; sys.argv[1:] = {[*BOTH, '-m', 'rr']}; {START}")
    assert "\x1b[1m" in shown
    assert f"{rankmeter(*BOTH, '-m', 'rr', '--json').json['metrics']['rr']['mean']:.4f}" in shown
