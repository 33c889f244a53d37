"""Every form of data has an example in the documentation."""

from __future__ import annotations

from pathlib import Path

import pytest

from pages import run_python
from rankmeter._reading import forms as _forms

pytestmark = pytest.mark.once


ROOT = Path(__file__).parents[2]


DOCS = ROOT / "docs"


@pytest.fixture
def reader(tmp_path, monkeypatch):
    """A writable folder with the examples, as a reader would use."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_accepted_form_of_data_has_an_example(reader, monkeypatch):
    seen = set()

    def watched(form):
        def read(data, side):
            seen.add(form.name)
            return form.read(data, side)

        return form._replace(reader=read)

    monkeypatch.setattr(_forms, "FORMS", tuple(map(watched, _forms.FORMS)))
    run_python(DOCS / "guide" / "data.md")
    others = {"irds:NAME of ir_datasets", "a Spark DataFrame"}  # which have tests of their own
    others |= {"an object of ranx, ir_datasets, sentence-transformers or ragas"}
    assert {form.name for form in _forms.FORMS} - others == seen
