"""What type checkers know of the package: the generated file, and of the names of tools."""

from __future__ import annotations

import pytest
import typed

from rankmeter.conventions import load_convention

pytestmark = pytest.mark.once


def test_the_file_for_type_checkers_is_up_to_date():
    assert typed.FILE.read_text("utf-8") == typed.content(), "run make llms"


def test_each_name_of_a_convention_is_one():
    for name in typed.likes():
        assert load_convention(name).version or name == "rankmeter"
