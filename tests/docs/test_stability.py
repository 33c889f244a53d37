"""The page of each public name says whether it is settled."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import rankmeter as rm

pytestmark = pytest.mark.once

EXTENSIONS = str(Path(__file__).parents[2] / "docs" / "_ext")


@pytest.fixture
def stability(monkeypatch):
    monkeypatch.syspath_prepend(EXTENSIONS)
    from rankmeter_docs import stability

    yield stability
    for name in [name for name in sys.modules if name.startswith("rankmeter_docs")]:
        monkeypatch.delitem(sys.modules, name)


def test_the_level_follows_the_summary(stability):
    for name, word in (
        ("evaluate", "Stable"),
        ("neighbours", "Not settled"),
        ("Summary", "Stable"),
    ):
        lines = ["What it does.", "", "Parameters"]
        stability.add_level(None, "", f"rankmeter.{name}", getattr(rm, name), None, lines)
        assert lines[:2] == ["What it does.", ""]
        assert lines[2].startswith(word)
        assert lines[-2:] == ["", "Parameters"]


def test_members_and_private_names_have_none(stability):
    lines = ["What it does."]
    stability.add_level(None, "method", "rankmeter.Summary.table", None, None, lines)
    assert lines == ["What it does."]


def test_what_is_not_settled_is_public(stability):
    assert {"rankmeter.audit", "rankmeter.diff"} <= stability.unsettled()
    for name in stability.unsettled():
        assert hasattr(rm, name.partition(".")[2])
