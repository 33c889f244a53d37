"""The page "Coming from other tools": its new code answers what the old code has answered."""

from __future__ import annotations

import doctest
import json
import re
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
PAGE = (HERE.parents[1] / "docs" / "guide" / "coming-from.md").read_text("utf-8")
SECTIONS = [f"## {part}" for part in PAGE.split("\n## ")[1:]]
FOUND = json.loads((HERE / "moving" / "found.json").read_text("utf-8"))
SCRIPTS = {file.stem: file.read_text("utf-8") for file in (HERE / "moving").glob("*.py")}


def test_every_script_is_recorded_and_on_the_page():
    assert SCRIPTS.keys() == FOUND.keys()
    assert len(SECTIONS) == len(SCRIPTS)


@pytest.mark.parametrize("tool", SCRIPTS)
def test_the_new_code_gives_the_numbers_of_the_old_code(tool):
    (section,) = [one for one in SECTIONS if SCRIPTS[tool] in one]
    assert FOUND[tool]["version"] in section
    # The examples of a page build on each other.
    names: dict[str, object] = {}
    for one in SECTIONS[: SECTIONS.index(section) + 1]:
        code = re.search(r"```python\n(.*?)```", one, re.DOTALL)[1]
        for example in doctest.DocTestParser().get_examples(code):
            exec(compile(example.source, tool, "single"), names)
    assert names["found"] == pytest.approx(FOUND[tool]["found"], abs=5.1e-5)
