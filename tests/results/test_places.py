"""Places of systems in a page."""

from __future__ import annotations

import pytest
from test_paper import TRUTH, lists

import rankmeter as rm
from pages import page_of
from rankmeter._report import comparison_page

pytestmark = pytest.mark.once


def test_equal_means_are_best_together_in_every_rendering():
    """The page, the notebook and Markdown; the terminal draws the styles of the table."""
    pytest.importorskip("altair")
    pytest.importorskip("vl_convert")
    systems = {"one": lists(1), "two": lists(1), "three": lists(2), "four": lists(3)}
    segments = {u: "even" if u % 2 == 0 else "odd" for u in TRUTH}
    found = rm.compare(systems, TRUTH, "rr", baseline="four", segments=segments)
    best = [row for (row, _), styles in found.table().styles.items() if "best" in styles]
    assert best == [0, 1]
    assert found._repr_html_().count("<b>1.0000</b> ▲") == 2
    assert "<u>0.5000</u> ▲" in found._repr_html_()
    assert found.to_markdown().count("**1.0000** ▲") == 2
    content = comparison_page.page_content(found)
    places = [cell.rank for _, _, cell in content["means"]]
    assert places == [1, 1, 2, 0]
    assert [rank for _, rank, _ in content["means"]] == ["1–2", "1–2", "3", "4"]
    for _, _, *cells in content["segments"]["rr"]:
        assert [cell.rank for cell in cells] == places
    assert "one, two have the best rr in both segments." in content["headline"].sentences[-1]
    assert '<p class="best">one, two</p>' in page_of(found)
