"""What a run of the command line on tiny files imports, and how it ends."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import rankmeter

pytestmark = pytest.mark.once

UNUSED = {"numpy.ma", "html.parser", "scipy", "pandas", "pyarrow", "rich"}
"""Modules that take time to import, and that tiny files do not need."""
UNUSED |= {"fractions", "html", "importlib.resources.simple"}
UNUSED |= {
    f"rankmeter.{name}"
    for name in (
        *("_compare", "_systems", "_estimates.paired", "_estimates.settings"),
        *("_report.page", "_report.paper", "_results.comparison", "_results.explanation"),
    )
}

SOURCES = Path(rankmeter.__file__).parent.parent

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


def test_no_module_uses_polars_while_it_is_imported():
    modules = [
        ".".join(path.relative_to(SOURCES).with_suffix("").parts)
        for path in SOURCES.glob("rankmeter/**/*.py")
        if "import polars as pl" in path.read_text("utf-8")
    ]
    code = (
        "import importlib, sys\n"
        "from rankmeter._cli._lazily import import_later\n"
        "import_later('polars')\n"
        f"for name in {modules}:\n"
        "    importlib.import_module(name.removesuffix('.__init__'))\n"
        "    assert type(sys.modules['polars']).__name__ == '_Later', name"
    )
    done = python(code)
    assert len(modules) > 60
    assert (done.returncode, done.stderr) == (0, "")


LATER = """
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from rankmeter._cli._lazily import import_later
import_later("slow")
import slow
"""


@pytest.fixture
def later(tmp_path, monkeypatch):
    """What runs code next to a package that imports itself, and takes its time."""
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (tmp_path / "slow").mkdir()

    def run(package, code, part="name = __name__"):
        (tmp_path / "slow" / "__init__.py").write_text(package, "utf-8")
        (tmp_path / "slow" / "part.py").write_text(part, "utf-8")
        return python(f"{LATER}{code}")

    return run


def test_a_module_that_is_imported_later_is_the_same_for_all_threads(later):
    package = "import time, slow\nfrom slow import part\ntime.sleep(0.1)\nlast = 5"
    code = (
        "start = Barrier(8)\n"
        "def look(_):\n    start.wait()\n    return slow.last, slow.part.name\n"
        "with ThreadPoolExecutor(8) as pool: print(*pool.map(look, range(8)))\n"
        "print(type(slow).__name__, slow.part is sys.modules['slow'].part, hasattr(slow, 'no'))"
    )
    done = later(package, code)
    assert done.stdout.split("\n")[:2] == [
        " ".join(["(5, 'slow.part')"] * 8), "module True False"
    ]  # fmt: skip


@pytest.mark.parametrize("first", [0, 0.05])
def test_a_part_of_a_module_that_is_imported_later_imports_it(later, first):
    """Also while another thread imports it."""
    package = "import time\nlast = 5\ntime.sleep(0.1)\nfrom slow import part\nname = part.name"
    code = (
        "import faulthandler, importlib, time\n"
        "faulthandler.dump_traceback_later(20, exit=True)\n"
        "def look(wait):\n"
        "    time.sleep(wait)\n"
        "    return importlib.import_module('slow.part').name if wait else slow.name\n"
        f"waits = [0, {first}]\n"
        "print(importlib.import_module('slow.part').name) if not waits[1] else None\n"
        "with ThreadPoolExecutor(2) as pool: print(*pool.map(look, waits))"
    )
    part = "name = __name__" if first else "import slow\nslow.last\nname = __name__"
    done = later(package, code, part)
    assert done.stdout.split() == ["slow.part"] * (2 if first else 3), done.stderr


def test_a_module_that_cannot_be_imported_later_says_so_each_time(later):
    code = "for _ in range(2):\n    try: slow.last\n    except ImportError as error: print(error)"
    assert later("raise ImportError('broken')", code).stdout == "broken\nbroken\n"


def test_a_module_that_is_missing_is_not_imported_later():
    later = "from rankmeter._cli._lazily import import_later; import_later('no_such')"
    assert "No module named 'no_such'" in python(f"{later}; import no_such").stderr


def test_the_process_ends_as_every_other(folder):
    """What was registered for the exit is done, and objects are taken apart."""
    code = f"class Kept:\n def __del__(self): print('taken apart')\nkept = Kept()\n{SHOW}\n{RUN}"
    done = python(code, "evaluate", "tiny.csv", "truth.csv", "-m", "ndcg@10")
    assert done.stdout.startswith("metric")
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
