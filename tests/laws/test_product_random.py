"""Random cells of `product`, with all own options: what `python -m product` searches for hours."""

from __future__ import annotations

import numpy as np
import pytest
from exceptions_to_laws import EXCEPTIONS
from product import LAWS, random_cell, trial
from test_product import is_needed, names_of, summed_up

pytestmark = pytest.mark.once

CELLS = 12


@pytest.mark.parametrize("name", LAWS)
def test_the_law_holds_in_random_cells(name):
    rng, broken, checked = np.random.default_rng(len(name)), [], 0
    cells = (cell for cell in iter(lambda: random_cell(rng), None) if cell.law == name)
    for number in range(CELLS):
        one = trial(next(cells), number, 100)
        checked += one.checked
        broken += [violation for violation in one.found if not violation.is_excepted]
    assert not broken, summed_up(broken)
    assert checked > 10_000


@pytest.mark.parametrize("exception", EXCEPTIONS, ids=lambda one: f"{one.metrics}: {one.reason}")
def test_exceptions_are_needed(exception):
    assert is_needed(exception, names_of(exception), 300), "nothing breaks a law there: remove it"


PAIRS = [
    pytest.param(exception, name, id=f"{name}: {exception.reason}")
    for exception in EXCEPTIONS
    for name in exception.metrics.split()
    if exception.metrics != "*"
]


@pytest.mark.parametrize(("exception", "name"), PAIRS)
def test_each_metric_needs_its_exception(exception, name):
    assert is_needed(exception, (name,), 300), f"{name} breaks no law there: leave it out"
