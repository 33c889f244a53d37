"""`make test` leaves files to `make test-rest`, and nothing is left to nobody."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

pytestmark = pytest.mark.once

ROOT = Path(__file__).parents[2]
CONFTEST = runpy.run_path(str(ROOT / "tests" / "conftest.py"), run_name="conftest_of_the_house")


@pytest.mark.parametrize("name", CONFTEST["LATER"])
def test_what_is_left_out_exists(name):
    path = ROOT / "tests" / name
    assert path.exists()
    assert CONFTEST["is_later"](path)


def test_what_proves_the_numbers_is_not_left_out():
    for room in ("metrics", "conformance", "statistics"):
        files = [*(ROOT / "tests" / room).glob("test_*.py")]
        assert files
        left_out = [file.name for file in files if CONFTEST["is_later"](file)]
        assert left_out == (["test_statsmodels.py"] if room == "statistics" else [])
    for name in ("contract", "laws", "invariants"):
        assert not CONFTEST["is_later"](ROOT / "tests" / "laws" / f"test_{name}.py")
    assert not CONFTEST["is_later"](ROOT / "README.md")


def test_everything_runs_in_ci():
    make = (ROOT / "Makefile").read_text("utf-8")
    targets = dict(re.findall(r"^([\w-]+): .*\n\t(.*)$", make, re.MULTILINE))
    assert "--quick" in targets["test"]
    assert "--rest" in targets["test-rest"]
    steps = re.findall(r"^make (.*)$", (ROOT / ".ci" / "run").read_text("utf-8"), re.MULTILINE)
    run = {target for step in steps for target in step.split()}
    for name in CONFTEST["ON_WHEEL"]:
        assert f"tests/{name}" in (ROOT / ".ci" / "pages").read_text("utf-8")
    assert {"test", "test-rest", "test-floor", "test-wheel", "sanitize", "build", "types"} <= run
