"""``rankmeter doctor`` names every package and its purpose."""

from __future__ import annotations

import importlib.metadata
import re
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
            "purpose": doctor.PACKAGES[module.__name__][0],
            "install": f"pip install {module.__name__}",
        }


def test_doctor_knows_every_package_of_the_metadata_and_how_to_install_it():
    packages = rankmeter("doctor", "--json").json["packages"]
    for requirement in importlib.metadata.requires("rankmeter"):
        name = re.match(r"[\w.-]+", requirement)[0].lower()
        extra = re.search(r"extra == ['\"]([\w-]+)", requirement)
        assert packages[name]["core"] == (extra is None), requirement
        if extra and name != "pyarrow":  # two extras bring it
            assert packages[name]["install"] == f"pip install 'rankmeter[{extra[1]}]'"
    assert packages["duckdb"]["install"] == "pip install duckdb"
