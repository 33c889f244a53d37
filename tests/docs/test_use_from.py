"""The page "Use it from other libraries": every section runs with the library that it names."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.once

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "use-from.md"
FIRST, *SECTIONS = re.split(r"^## ", PAGE.read_text("utf-8"), flags=re.MULTILINE)
NEEDS = {
    "MLflow": ["mlflow", "sqlalchemy"],
    "PyTorch and Lightning": ["torch", "torchmetrics"],
    "Keras": ["torch", "keras"],
    "Hugging Face": ["transformers"],
    "scikit-learn": ["sklearn"],
    "ir_measures": ["ir_measures"],
    "PyTerrier": ["pyterrier"],
    "MTEB, BEIR and sentence-transformers": [],
    "ir_datasets": ["ir_datasets"],
}


def title_of(section):
    return section.partition("\n")[0]


def run(text, names):
    """Run the blocks of a text: the last line of each has its value in a comment."""
    count = 0
    for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        *lines, last = block.strip().splitlines()
        expression, _, said = last.partition("  # ")
        exec("\n".join(lines), names)
        assert eval(expression, names) == pytest.approx(ast.literal_eval(said)), last
        count += 1
    return count


def test_every_section_names_its_library():
    assert [title_of(section) for section in SECTIONS] == list(NEEDS)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.parametrize("section", [pytest.param(s, id=title_of(s)) for s in SECTIONS])
def test_the_lines_of_a_section_do_what_the_page_says(section, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KERAS_BACKEND", "torch")
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'runs.db'}")
    for package in NEEDS[title_of(section)]:
        pytest.importorskip(package)
    names = {}
    assert run(FIRST, names) == 1
    names["np"] = __import__("numpy")
    assert run(section, names) == (title_of(section) != "ir_datasets")
