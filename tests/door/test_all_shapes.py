"""Every shape in every container, with all names, in all functions."""

from __future__ import annotations

import pytest

from door.shapes import Cell, cells, judge, pairwise

REST = sorted({*cells()} - {*pairwise()}, key=str)


@pytest.mark.parametrize("cell", REST, ids=str)
def test_a_shape_is_read_right_or_refused(cell: Cell, tmp_path):
    judge(cell, tmp_path)
