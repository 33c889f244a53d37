"""Modules that are imported when they are first used."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import rankmeter

pytestmark = pytest.mark.once


SOURCES = Path(rankmeter.__file__).parent.parent


def python(code, *words, **more):
    return subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, check=False, **more
    )


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
        "    assert type(sys.modules['polars']).__name__ == '_LazyModule', name"
    )
    done = python(code)
    assert len(modules) > 70
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


@pytest.mark.skipif(sys.platform != "linux", reason="a call of glibc")
def test_freed_memory_stays_in_the_process():
    code = """
        import os, sys
        import numpy as np
        from rankmeter._cli._lazily import keep_freed_memory

        def held():
            return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGESIZE")

        keep_freed_memory()
        before = held()
        large = np.ones(2**24)
        del large
        sys.exit(held() - before < 2**26)
    """
    assert (
        subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=False).returncode == 0
    )
