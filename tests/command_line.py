"""Runs the command line in tests, and writes the files that its examples use."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import click
import numpy as np
from click.testing import CliRunner

RATINGS = """user,item,rating,time
ann,a,5,100
ann,b,3,200
ann,c,4,300
ann,d,2,400
bob,a,4,150
bob,c,5,250
bob,e,1,350
cat,b,3,120
cat,d,5,220
cat,a,4,320
dan,c,2,130
dan,e,4,230
dan,b,5,330
eve,a,3,400
eve,f,4,400
"""
RECS = """user,item,score
ann,x,5
ann,a,4
ann,b,3
ann,c,3
bob,c,9
bob,y,8
bob,a,7
eve,a,2
fay,b,1
"""
TRUTH = """user,item,gain
ann,a,1
ann,b,3
ann,c,2
bob,a,2
cat,b,1
eve,a,0
"""


QRELS = "ann 0 a 1\nann 0 b 3\nbob 0 a 2\n"
RUN = "ann Q0 x 1 5 tag\nann Q0 a 2 4 tag\nbob Q0 a 1 9 tag\n"


@dataclass(frozen=True)
class Ended:
    """The result of a command line run."""

    code: int
    out: str
    err: str
    raw: bytes
    """Standard output as it was written."""

    @property
    def json(self):
        return json.loads(self.out)


def rankmeter(*args, stdin=None):
    """Run a command line in this process."""
    from rankmeter._cli import main

    # Before click 8.2 the two streams are separated only on request.
    apart = {"mix_stderr": False} if "mix_stderr" in signature(CliRunner).parameters else {}
    done = CliRunner(**apart).invoke(main, [str(arg) for arg in args], input=stdin)
    if not isinstance(done.exception, SystemExit | None):
        raise done.exception
    return Ended(done.exit_code, done.stdout, done.stderr, done.stdout_bytes)


def running(run):
    """Run a command line whose command calls this function."""
    command = click.Command("doctor", callback=run)
    module = SimpleNamespace(command=command)
    with mock.patch("rankmeter._cli.annex", return_value=module):
        return rankmeter("doctor")


def code_of(error):
    """The exit code of a command that raises this error."""

    def fail():
        raise error

    return running(fail).code


def on_terminal(code):
    """The output of a program whose streams are a terminal."""
    spawn = "import pty, sys; pty.spawn([sys.executable, '-c', sys.argv[1]])"
    done = subprocess.run(
        [sys.executable, "-c", spawn, code],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
        timeout=60,
    )
    return done.stdout.decode()


def loaded_by(*args):
    """The modules that a run of the command line imports, without those left for later."""
    code = (
        "import sys\n"
        "from rankmeter._cli import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit: pass\n"
        "loaded = [n for n, one in sys.modules.items() if type(one).__name__ != '_LazyModule']\n"
        "print(*loaded, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *args], capture_output=True, text=True, check=True
    )
    return set(done.stderr.split())


def means(*args, stdin=None):
    """The means that a command line with --json prints."""
    done = rankmeter(*args, "--json", stdin=stdin)
    assert done.code == 0, done.err
    return {name: found["mean"] for name, found in done.json["metrics"].items()}


def write_examples(folder: Path):
    """Write the files that the examples in the help texts use."""
    files = {
        "ratings.csv": RATINGS,
        "train.csv": RATINGS,
        "recs.csv": RECS,
        "old.csv": RECS,
        "new.csv": RECS.replace("ann,b,3", "ann,b,8"),
        "truth.csv": TRUTH,
        "qrels.txt": QRELS,
        "run.txt": RUN,
        "values.csv": "system,user,value\nold,1,0.5\nold,2,1\nnew,1,0.8\nnew,2,1\n",
        "ranks.csv": "rank\n1\n4\n",
    }
    for name, text in files.items():
        (folder / name).write_text(text)
    np.save(folder / "scores.npy", np.array([[0.9, 0.5, 0.1], [0.2, 0.8, 0.8]]))
    np.save(folder / "targets.npy", np.array([1, 2]))
    np.savez(folder / "known.npz", row=np.array([0]), col=np.array([0]))
