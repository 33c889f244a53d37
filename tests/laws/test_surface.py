"""The public surface is written down once, and the promise about it is true."""

from __future__ import annotations

import importlib
import tomllib
from pathlib import Path

import pytest
import surface

import rankmeter as rm
from rankmeter._annexes import missing_annexes

if missing_annexes():
    pytest.skip("holds where nothing was taken out", allow_module_level=True)
from rankmeter._cli import _exits
from rankmeter.conventions import convention_names, load_convention

pytestmark = pytest.mark.once

PAGE = (Path(__file__).parents[2] / "docs" / "guide" / "stability.md").read_text("utf-8")


def test_the_surface_is_the_one_that_is_promised():
    promised, found = tomllib.loads(surface.FILE.read_text("utf-8")), surface.surface()
    message = "python tests/laws/surface.py; what is lost needs a deprecation"
    for key in {*promised, *found}:
        lost = {*promised.get(key, ())} - {*found.get(key, ())}
        new = {*found.get(key, ())} - {*promised.get(key, ())}
        assert not lost, f"{key} lost {sorted(lost)}: {message}"
        assert not new, f"{key} has the new {sorted(new)}: {message}"


def test_every_public_name_can_be_imported():
    for name in rm.__all__:
        assert not name.startswith("_")
        assert getattr(rm, name) is not None
    for module in ("metrics", "splits", "baselines", "datasets", "errors", "testing"):
        named = importlib.import_module(f"rankmeter.{module}")
        assert all(hasattr(named, public) for public in named.__all__)


def test_the_page_has_every_exit_code_and_every_convention_has_a_version():
    for line in (_exits.__doc__ or "").splitlines():
        if (code := line.strip().partition(" ")[0]).isdecimal() and int(code) < 5:
            assert f"| {code} |" in PAGE
    assert all(load_convention(name).version for name in convention_names() if name != "rankmeter")
    assert '"schema": 1' in rm.evaluate([["a"]], [{"a"}], "rr").to_json(indent=1)
