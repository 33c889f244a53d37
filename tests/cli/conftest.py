"""A folder with the examples, for commands that run as processes."""

from __future__ import annotations

import pytest


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
