"""What can be taken out of the package: the core imports none of it, and the table is complete."""

from __future__ import annotations

import ast
import importlib
import os
import re
import subprocess
import sys

import pytest
from test_house import MODULES, PACKAGE, own_imports

from annexes import ANNEXES, ROOT, copy, take_out, with_dependents
from rankmeter._annexes import annex
from rankmeter.errors import MissingDependencyError

pytestmark = pytest.mark.once

ABOVE = {"", "__main__", "_cli", "baselines", "datasets", "splits"}
"""What is above the core, too, and may import annexes. The root only names what it imports."""


KEPT = {"_formats", "_large", "_scores"}
"""What the core asks for at the same door, though nobody takes it out."""


UNASKED = {"adapters", "trec_eval"}
"""The annexes above the core, for which it does not ask."""


EVERY = pytest.mark.annex("show", "report", "explain", "training", "trec_eval", "adapters")
"""What holds where nothing was taken out."""


def annex_of(module):
    """The annex that a module belongs to; None for all others."""
    for name, entry in ANNEXES.items():
        for folder in entry["folders"]:
            prefix = folder.removesuffix(".py").replace("/", ".")
            if f"{module}.".startswith(f"{prefix}."):
                return name
    return None


def annexes_imported(module):
    return {annex_of(other) for other in own_imports(MODULES[module])} - {None}


@pytest.mark.parametrize("module", MODULES)
def test_the_core_imports_no_annex(module):
    own = annex_of(module)
    if own is not None:
        assert annexes_imported(module) <= {own, *ANNEXES[own]["needs"]}
    elif module.split(".")[0] not in ABOVE - {"_cli"}:
        assert not annexes_imported(module)


def test_an_annex_needs_what_it_imports():
    used = {name: set() for name in ANNEXES}
    for module in MODULES:
        if (own := annex_of(module)) is not None:
            used[own] |= annexes_imported(module) - {own}
    assert used == {name: {*entry["needs"]} for name, entry in ANNEXES.items()}


def calls_of_annexes():
    """What modules ask of annexes: ``annex("_report.plots").plot_curve``."""
    for module, tree in MODULES.items():
        for node in ast.walk(tree):
            call = node.value if isinstance(node, ast.Attribute) else None
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "annex":
                yield module, call.args[0].value, node.attr


@EVERY
def test_what_is_asked_of_an_annex_exists():
    calls = [*calls_of_annexes()]
    asked = {annex_of(module) or module.split(".")[0] for _, module, _ in calls}
    assert asked == {*ANNEXES, *KEPT} - UNASKED
    for module, path, name in calls:
        assert annex_of(module) is None
        assert callable(getattr(importlib.import_module(f"rankmeter.{path}"), name))


@pytest.mark.parametrize("name", ANNEXES)
def test_what_belongs_to_an_annex_exists(name):
    for folder in ANNEXES[name]["folders"]:
        assert (PACKAGE / folder).exists()
    for test in ANNEXES[name]["tests"]:
        if test.startswith("tests/"):
            assert (ROOT / test).is_file()
        else:
            owner, _, function = test.rpartition(".")
            module, _, kind = owner.rpartition(".")
            assert ">>>" in vars(getattr(importlib.import_module(module), kind))[function].__doc__


@EVERY
def test_marks_name_annexes():
    for path in (ROOT / "tests").rglob("*.py"):
        for names in re.findall(r"mark\.annex\((.*?)\)", path.read_text("utf-8")):
            assert {*re.findall(r'"(\w+)"', names)} <= ANNEXES.keys(), path


@pytest.mark.annex("show")
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
    assert "this needs rankmeter._show, which was taken out of this installation" in ran.stdout
    assert not (tmp_path / "src" / "rankmeter" / "_report").exists()


@pytest.mark.annex("show")
def test_a_package_that_an_annex_needs_is_named_by_itself(monkeypatch):
    with pytest.raises(MissingDependencyError, match=r"needs rankmeter\._nothing, which was taken"):
        annex("_nothing.at_all")
    monkeypatch.delitem(sys.modules, "rankmeter._show.trace", raising=False)
    monkeypatch.setitem(sys.modules, "rankmeter._show.walk", None)
    with pytest.raises(ModuleNotFoundError, match=r"rankmeter\._show\.walk"):
        annex("_show.trace")
