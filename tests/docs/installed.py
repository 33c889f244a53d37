"""Pages as a reader runs them: with an installed rankmeter, in an empty folder (see `.ci/pages`).

Without the MovieLens ratings a page may stop where it reads them, if it says how to get them.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import rankmeter as rm
from pages import run_commands, run_python
from rankmeter.errors import DataError

ROOT = Path(__file__).parents[2]
WRITTEN = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
DATA = ROOT / "examples"
"""Where the ratings are in the second run."""


def named(pattern):
    pages = (page for page in WRITTEN if pattern in page.read_text("utf-8"))
    return [pytest.param(page, id=page.relative_to(ROOT).as_posix()) for page in pages]


@pytest.fixture(autouse=True)
def empty(tmp_path, monkeypatch):
    """An empty folder, with the ratings if the reader has got them."""
    if DATA.is_dir():
        (tmp_path / "examples").symlink_to(DATA)
    monkeypatch.chdir(tmp_path)


def says_how_to_get_the_ratings(page):
    return "grouplens.org" in page.read_text("utf-8") or "#the-ratings" in page.read_text("utf-8")


@pytest.mark.parametrize("page", named(">>>"))
def test_python_of_a_page(page):
    count, told = run_python(page)
    assert count > 0
    if not DATA.is_dir() and "found no MovieLens ratings" in told:
        assert says_how_to_get_the_ratings(page)
        first = re.search(
            r"^Failed example:\n(.*?)^(?:Expected|Exception)", told, re.MULTILINE | re.DOTALL
        )
        assert "movielens" in first[1], told
    else:
        assert not told, told


@pytest.mark.parametrize("page", named("$ rankmeter"))
def test_commands_of_a_page(page):
    for command, done, expected in run_commands(page):
        if done.returncode and not DATA.is_dir() and "examples/ml-latest-small" in command:
            assert says_how_to_get_the_ratings(page)
            return
        assert done.returncode == 0, f"{command}: {done.stderr}"
        assert done.stdout.split() == expected.split(), command


def test_without_the_ratings_the_error_says_how_to_get_them():
    if not DATA.is_dir():
        with pytest.raises(DataError, match=r"grouplens\.org") as error:
            rm.datasets.movielens()
        assert "rankmeter.datasets.synthetic()" in str(error.value)
