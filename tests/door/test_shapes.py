"""A pairwise sample of shapes, functions, containers and names; `test_all_shapes` has the rest."""

from __future__ import annotations

import pytest

from door.shapes import Cell, cells, judge, pairs_of, pairwise

SAMPLE = pairwise()


@pytest.mark.parametrize("cell", SAMPLE, ids=str)
def test_a_shape_is_read_right_or_refused(cell: Cell, tmp_path):
    judge(cell, tmp_path)


def test_the_sample_has_every_pair():
    every = {pair for cell in cells() for pair in pairs_of(cell)}
    assert {pair for cell in SAMPLE for pair in pairs_of(cell)} == every
