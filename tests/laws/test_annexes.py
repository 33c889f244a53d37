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

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(bool(missing_annexes()), reason="holds where nothing was taken out"),
]

UNASKED = {"across", "adapters", "command_line", "splits", "testing", "trec_eval"}
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


def test_what_was_taken_out_is_missed_by_name(tmp_path):
    copy(tmp_path)
    take_out(tmp_path, with_dependents("show"))
    code = "import rankmeter as rm; r = rm.evaluate({'u': ['a']}, {'u': {'a'}}, 'rr'); print(r)\n"
    code += "try:\n    r.show('u')\nexcept rm.errors.MissingDependencyError as error:\n"
    code += "    print(error)\nprint(rm.__all__)"
    ran = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(tmp_path / "src")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "this installation lacks the annex show, which was taken out of it" in ran.stdout
    assert "needs rankmeter._show: install rankmeter again" in ran.stdout
    assert not (tmp_path / "src" / "rankmeter" / "_report").exists()


def test_a_package_that_an_annex_needs_is_named_by_itself(monkeypatch):
    with pytest.raises(MissingDependencyError, match=r"needs rankmeter\._nothing: install"):
        annex("_nothing.at_all")
    monkeypatch.delitem(sys.modules, "rankmeter._show.trace", raising=False)
    monkeypatch.setitem(sys.modules, "rankmeter._show.walk", None)
    with pytest.raises(ModuleNotFoundError, match=r"rankmeter\._show\.walk"):
        annex("_show.trace")
