"""A folder with the examples, for commands that run as processes."""

from __future__ import annotations

from importlib import import_module

import pytest


@pytest.fixture(scope="session", autouse=True)
def command_line():
    """Ask for it here: what only starts processes is skipped, too, where it was taken out."""
    import_module("rankmeter._cli")


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    from command_line import write_examples

    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    write_examples(home)
    monkeypatch.chdir(home)
    return home
