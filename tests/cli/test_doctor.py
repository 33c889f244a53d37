"""``rankmeter doctor`` names every package and its purpose."""

from __future__ import annotations

import importlib.metadata
import sys

import numpy as np
import polars as pl
import pytest

import rankmeter as rm
from command_line import rankmeter
from rankmeter._cli import doctor

pytestmark = pytest.mark.once


def test_doctor_tells_the_versions_that_run():
    found = rankmeter("doctor", "--json").json
    assert found["schema"] == 1
    assert found["machine"]["rankmeter"] == rm.__version__
    assert found["machine"]["Python"].startswith(f"{sys.version_info.major}.")
    assert found["machine"]["cores"] >= 1
    packages = found["packages"]
    for module in (np, pl):
        assert packages[module.__name__] == {
            "core": True,
            "version": module.__version__,
            "purpose": doctor.PURPOSES[module.__name__],
            "install": f"pip install {module.__name__}",
        }


def test_doctor_knows_every_package_of_the_metadata_and_what_it_is_for():
    packages = rankmeter("doctor", "--json").json["packages"]
    required = {one.split()[0] for one in map(name_of, importlib.metadata.requires("rankmeter"))}
    assert required <= packages.keys()
    assert {name for name, facts in packages.items() if facts["core"]} <= required
    assert packages.keys() <= doctor.PURPOSES.keys()
    for facts in packages.values():
        assert facts["purpose"] != "more"


def name_of(requirement):
    return requirement.translate(str.maketrans("<>=;!~[", "       "))
