"""What each capability costs: lines of code by room, counted again.

A room that grows is written anew by ``python tests/laws/code_lines.py``, with the reason in
`changelog.d` or in the message of the commit.
"""

from __future__ import annotations

import tomllib

import pytest
from code_lines import PRICE_LIST, lines_by_room

pytestmark = pytest.mark.once

PRICES = tomllib.loads(PRICE_LIST.read_text("utf-8"))["lines"]
LINES = lines_by_room()


@pytest.mark.parametrize("room", LINES)
def test_a_room_costs_what_the_price_list_says(room):
    """By 5 % and five lines it may grow unsaid."""
    assert LINES[room] <= 1.05 * PRICES[room] + 5
