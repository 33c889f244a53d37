"""A difference is the same comparison from both of its systems, and says all of its numbers."""

from __future__ import annotations

import inspect
import math
import re
from dataclasses import fields
from typing import Annotated

import numpy as np
import pytest

import rankmeter as rm
from rankmeter._results.differences import (
    Difference,
    OwnColumn,
    declared,
    difference_schema,
    difference_seen_from,
)

pytestmark = pytest.mark.once

RNG = np.random.default_rng(3)
TRUTH = {user: {user % 7, (user + 3) % 7} for user in range(40)}
SYSTEMS = {name: {user: [*map(int, RNG.permutation(9))] for user in TRUTH} for name in "xy"}
SYSTEMS["y"] |= {user: sorted(SYSTEMS["y"][user]) for user in range(30)}


@pytest.mark.parametrize(
    "options",
    [
        {"margin": 0.1},
        {"test": "t", "margin": 0.1, "clusters": {user: user % 13 for user in TRUTH}},
        {"segments": {user: user % 2 for user in TRUTH}},
    ],
)
def test_every_number_is_that_of_the_comparison_the_other_way_round(options):
    """A number that belongs to one of the systems needs a `Mirror` in `Difference`."""
    metrics = ["ndcg@5", "mean_rank"]
    one = rm.compare(SYSTEMS, TRUTH, metrics, baseline="y", **options)
    other = rm.compare(SYSTEMS, TRUTH, metrics, baseline="x", **options)
    for d, turned in zip(one.differences, other.differences, strict=True):
        assert (d.a, turned.a) == ("x", "y")
        seen = difference_seen_from(turned, "x")
        assert math.isnan(seen.gain_low)
        assert math.isnan(seen.gain_high)
        for field in fields(Difference):
            if field.name in ("gain_low", "gain_high"):
                continue
            wanted, found = getattr(d, field.name), getattr(seen, field.name)
            if isinstance(wanted, float):
                wanted = pytest.approx(wanted, rel=1e-9, abs=1e-12, nan_ok=True)
            assert found == wanted, field.name


def test_the_docstring_and_the_schema_have_every_number():
    attributes = inspect.getdoc(Difference).partition("Attributes\n")[2]
    said = re.findall(r"^(\w[\w, ]*) : ", attributes, re.MULTILINE)
    names = {name for line in said for name in line.split(", ")}
    assert names == {field.name for field in fields(Difference)}
    (d, *_) = rm.compare(SYSTEMS, TRUTH, "ndcg@5").differences
    assert {*difference_schema()["properties"]} == {*d.to_dict(), "sentence"}


def test_a_column_is_declared_with_its_number(monkeypatch):
    column = OwnColumn("found", "{:.1f}".format)
    monkeypatch.setitem(Difference.__annotations__, "detectable", Annotated[float, column])
    declared.cache_clear()
    table = rm.compare(SYSTEMS, TRUTH, "ndcg@5").difference_table()
    declared.cache_clear()
    assert table.columns[-2:] == ("d_z", "found")
    assert table.spare == ("found", "d_z", "adjusted p")
    assert re.fullmatch(r"0\.\d", table.rows[0][-1])
