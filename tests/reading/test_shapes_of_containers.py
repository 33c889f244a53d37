"""The table of shapes: every example is read by its row, and means what the row says."""

from __future__ import annotations

import ast
import json

import pytest

from rankmeter._reading.read import read_rankings
from rankmeter._reading.shapes import LISTINGS, MAPPINGS

SHAPES = [(shape, table) for table in (MAPPINGS, LISTINGS) for shape in table]
NAMES = [shape.name for shape, _ in SHAPES]


@pytest.mark.parametrize(("shape", "table"), SHAPES, ids=NAMES)
def test_the_example_of_a_shape_is_read_by_its_row(shape, table):
    data = ast.literal_eval(shape.example)
    assert next(row for row in table if row.looks(data, "rankings")) is shape


@pytest.mark.parametrize(("shape", "table"), SHAPES, ids=NAMES)
def test_every_example_has_the_items_a_and_b_of_each_user(shape, table, tmp_path):
    data = ast.literal_eval(shape.example)
    path = tmp_path / "rankings.json"
    path.write_text(json.dumps(data))
    for given in (data, path):
        rows = read_rankings(given).frame.group_by("user", maintain_order=True).agg("item")
        assert {*map(tuple, rows["item"].to_list())} == {("a", "b")}
        assert rows.height == (1 if " one " in shape.name else 2)


def test_a_shape_is_named_once():
    assert len({*NAMES}) == len(NAMES)
