"""What can be taken out of the package: the core imports none of it, and the table is complete."""

from __future__ import annotations

import ast
import importlib
import os
import subprocess
import sys

import pytest
from test_house import MODULES, PACKAGE, own_imports

from annexes import ANNEXES, copy, take_out, with_dependents
from rankmeter._annexes import annex, annex_of, missing_annexes
from rankmeter.errors import MissingDependencyError

pytestmark = pytest.mark.once
if missing_annexes():
    pytest.skip("holds where nothing was taken out", allow_module_level=True)

UNASKED = {
    "across", "adapters", "audit", "command_line", "diff", "published", "splits", "testing",
    "trec_eval",
}  # fmt: skip
"""The annexes above the core, for which it does not ask."""


def owners(module):
    """The annex of a module, and those whose folders it is in, too: `_cli/report.py`."""
    first = module.split(".")[0]
    return {annex_of(module), annex_of(first)} - {None}


def annexes_imported(module):
    """The annexes of what a module imports, other than its own."""
    return {annex_of(other) for other in own_imports(MODULES[module])} - {None} - owners(module)


@pytest.mark.parametrize("module", MODULES)
def test_the_core_imports_no_annex(module):
    if module and not owners(module):
        assert not annexes_imported(module)


def test_an_annex_needs_what_it_imports():
    used = {name: set() for name in ANNEXES}
    for module in MODULES:
        if (own := annex_of(module)) is not None:
            used[own] |= annexes_imported(module)
    assert used == {name: {*entry["needs"]} for name, entry in ANNEXES.items()}


def calls_of_annexes():
    """What modules ask of annexes: ``annex("_report.plots").plot_curve``."""
    for module, tree in MODULES.items():
        for node in ast.walk(tree):
            call = node.value if isinstance(node, ast.Attribute) else None
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "annex":
                yield module, getattr(call.args[0], "value", None), node.attr


def test_what_is_asked_of_an_annex_exists():
    calls = [call for call in calls_of_annexes() if call[1] is not None]
    assert {annex_of(module) for _, module, _ in calls} == {*ANNEXES} - UNASKED
    for module, path, name in calls:
        assert annex_of(module) is None
        assert callable(getattr(importlib.import_module(f"rankmeter.{path}"), name))


@pytest.mark.parametrize("name", ANNEXES)
def test_what_belongs_to_an_annex_exists(name):
    for folder in ANNEXES[name]["folders"]:
        assert (PACKAGE / folder).exists()


@pytest.fixture(scope="module")
def without_show(tmp_path_factory):
    root = tmp_path_factory.mktemp("without")
    copy(root)
    take_out(root, with_dependents("show"))
    return root


def run_python(root, *words):
    command = [sys.executable, *words]
    own = {**os.environ, "PYTHONPATH": str(root / "src")}
    return subprocess.run(command, cwd=root, env=own, capture_output=True, text=True, check=False)


def test_what_was_taken_out_is_missed_by_name(without_show):
    code = "import rankmeter as rm; r = rm.evaluate({'u': ['a']}, {'u': {'a'}}, 'rr'); print(r)\n"
    code += "try:\n    r.show('u')\nexcept rm.errors.MissingDependencyError as error:\n"
    code += "    print(error)\nprint(rm.__all__)"
    ran = run_python(without_show, "-c", code)
    assert "this installation lacks the annex show, which was taken out of it" in ran.stdout
    assert "needs rankmeter._show: install rankmeter again" in ran.stdout
    assert "'Walkthrough'" in ran.stdout
    assert "'across'" in ran.stdout
    typed = run_python(without_show, "-m", "rankmeter", "report", "a.csv")
    assert typed.returncode == 4
    assert "this installation lacks the annex report" in typed.stderr


TRIED = """
import subprocess, sys
import pytest
import rankmeter as rm

@pytest.fixture(scope="module")
def shown():
    return rm.evaluate([["a"]], [{"a"}]).show(0)

def test_that_asks(): rm.evaluate([["a"]], [{"a"}]).show(0)
def test_of_a_fixture(shown): pass
def test_of_a_fixture_that_failed(shown): pass
def test_of_an_error():
    with pytest.raises(ValueError, match="user"): rm.evaluate([["a"]], [{"a"}]).show(1)
def test_of_a_command(): subprocess.run([sys.executable, "-m", "rankmeter", "report"], check=True)
def run(*words, **more):
    return subprocess.run([sys.executable, *words], capture_output=True, **more)

def test_of_a_command_that_is_read(): run("-m", "rankmeter", "report", check=True)
def test_of_bytes():
    ran = run("-c", "import rankmeter._show.walk")
    assert ran.returncode == 0, ran.stderr
def test_of_a_program():
    ran = run("-m", "rankmeter._report", text=True)
    assert ran.returncode == 0, ran.stderr
def test_that_fails(): assert rm.evaluate([["a"]], [{"a"}])["ndcg@10"].mean == 0
def test_that_passes(): pass
"""


def test_only_what_asks_for_a_missing_annex_is_skipped(without_show):
    (without_show / "tests" / "test_tried.py").write_text(TRIED, "utf-8")
    (without_show / "tests" / "test_never.py").write_text("import rankmeter._show.walk\n", "utf-8")
    files = ["tests/test_tried.py", "tests/test_never.py"]
    ran = run_python(without_show, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files)
    assert "1 failed, 1 passed, 9 skipped" in ran.stdout, ran.stdout
    assert "FAILED tests/test_tried.py::test_that_fails" in ran.stdout


def test_nothing_is_skipped_where_nothing_is_missing(pytestconfig):
    assert not missing_annexes()
    assert not pytestconfig.pluginmanager.has_plugin("lacking annexes")


def test_a_package_that_an_annex_needs_is_named_by_itself(monkeypatch):
    with pytest.raises(MissingDependencyError, match=r"needs rankmeter\._nothing: install"):
        annex("_nothing.at_all")
    monkeypatch.delitem(sys.modules, "rankmeter._show.trace", raising=False)
    monkeypatch.setitem(sys.modules, "rankmeter._show.walk", None)
    with pytest.raises(ModuleNotFoundError, match=r"rankmeter\._show\.walk"):
        annex("_show.trace")
