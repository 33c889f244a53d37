"""What a run of the command line on tiny files imports, and how it ends."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.once

UNUSED = {"numpy.ma", "html.parser", "scipy", "pandas", "pyarrow", "rich"}
"""Modules that take time to import, and that tiny files do not need."""
UNUSED |= {"fractions", "html", "importlib.resources.simple"}
UNUSED |= {
    f"rankmeter.{name}"
    for name in (
        *("_evaluation.by_user", "_evaluation.compare", "_results.paired", "_results.settings"),
        *("_report.page", "_report.charts", "_results.comparison", "_results.explanation"),
    )
}

SHOW = "import atexit, sys; atexit.register(lambda: print(*sys.modules, file=sys.stderr))"
RUN = "from rankmeter.__main__ import main; main()"

FILES = {
    "tiny.run": "1 Q0 a 1 3 r\n1 Q0 b 2 2 r\n2 Q0 a 1 3 r\n2 Q0 c 2 3 r\n3 Q0 a 1 3 r\n",
    "untied.run": "1 Q0 a 1 3 r\n1 Q0 b 2 2 r\n2 Q0 a 1 3 r\n2 Q0 c 2 2 r\n",
    "tied.run": "1 Q0 a 1 3 r\n1 Q0 b 2 2 r\n2 Q0 a 1 3 r\n2 Q0 c 2 3 r\n",
    "tiny.qrels": "1 0 b 1\n1 0 c 2\n2 0 c 1\n",
    "tiny.csv": "user,item,score\nann,a,2\nann,b,1\nbob,c,3\n",
    "truth.csv": "user,item\nann,b\nbob,d\n",
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def python(code, *words, **more):
    return subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, check=False, **more
    )


@pytest.mark.parametrize(
    "words",
    [
        ("evaluate", "tiny.run", "tiny.qrels"),
        ("evaluate", "tiny.csv", "truth.csv"),
        ("evaluate", "tiny.run", "tiny.qrels", "-m", "ndcg@10", "--json"),
        ("trec_eval", "tiny.qrels", "tiny.run", "-m", "ndcg_cut.10"),
    ],
)
def test_tiny_files_are_evaluated_with_few_imports(folder, words):
    done = python(f"{SHOW}\n{RUN}", *words)
    loaded = set(done.stderr.split())
    assert done.returncode == 0
    assert done.stdout
    needed = set(python(f"{SHOW}; import numpy, polars").stderr.split())
    assert (loaded - needed) & UNUSED == set()
    assert sum(name.startswith("rankmeter") for name in loaded) <= 180


@pytest.mark.parametrize(
    "words",
    [
        ("evaluate", "tiny.run", "tiny.qrels"),
        ("evaluate", "tiny.run", "tiny.qrels", "-m", "ndcg@10,map,rr", "--ties", "text", "--json"),
        ("trec_eval", "tiny.qrels", "untied.run", "-q", "-c"),
        ("trec_eval", "tiny.qrels", "tied.run"),
    ],
)
def test_trec_files_are_evaluated_without_polars(folder, words):
    done = python(f"{SHOW}\n{RUN}", *words)
    loaded = set(done.stderr.split())
    assert done.returncode == 0
    assert "polars" in loaded  # to be imported later
    assert not {name for name in loaded if name.startswith("polars.")}


def test_the_process_ends_as_every_other(folder):
    """What was registered for the exit is done, and objects are taken apart."""
    code = f"class Kept:\n def __del__(self): print('taken apart')\nkept = Kept()\n{SHOW}\n{RUN}"
    done = python(code, "evaluate", "tiny.csv", "truth.csv", "-m", "ndcg@10")
    assert done.stdout.startswith("ndcg@10 is ")
    assert "rankmeter._cli.evaluate" in done.stderr
    assert done.stdout.endswith("taken apart\n")


@pytest.mark.parametrize(
    "words, code",
    [
        (("--version",), 0),
        (("evaluate", "tiny.csv"), 2),
        (("evaluate", "none.csv", "truth.csv"), 3),
        (("evaluate", "tiny.csv", "truth.csv", "--fail-if", "ndcg@10<2"), 1),
    ],
)
def test_the_exit_code_survives(folder, words, code):
    assert python(RUN, *words).returncode == code


def test_a_profiler_gets_its_results(folder):
    profiled = [sys.executable, "-m", "cProfile", "-m", "rankmeter", "--version"]
    done = subprocess.run(profiled, capture_output=True, text=True, check=False, env=os.environ)
    assert "function calls" in done.stdout
