"""The charts and the page of a data set, from what `Description.to_dict` has."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rankmeter._files import open_replacement
from rankmeter._report import charts
from rankmeter._report.page import draw_chart, render_template, require_packages

GALLERY = (
    ("activity", "Activity of the users", "interactions of a user", "users", "{:,}"),
    ("popularity", "Popularity of the items", "most popular items", "share of interactions",
     "{:.1%}"),
    ("most_popular", "Most popular items", "item", "interactions", "{:,}"),
    ("rating_counts", "Ratings", "rating", "interactions", "{:,}"),
    ("events", "Kinds of events", "event", "interactions", "{:,}"),
    ("by_month", "Interactions over time", "time", "interactions", "{:,}"),
    ("cold", "New in the last tenth of the time line", "what", "share of interactions", "{:.1%}"),
)  # fmt: skip
"""Each chart: its key in the description, its title, what the bars are, what they count, how."""


def bars_of(content: Mapping[str, Any], key: str) -> dict[str, float]:
    """The numbers of a chart, by what they are about; empty if the data have none."""
    found = content.get(key) or {}
    if key == "cold" and found:
        return {"by new users": found["users"], "of new items": found["items"]}
    return dict(found)


def draw(content: Mapping[str, Any]) -> dict[str, Any]:
    """The charts, by title."""
    return {
        title: charts.counts_chart(title, bars, one, count, form, in_time=key == "by_month")
        for key, title, one, count, form in GALLERY
        if (bars := bars_of(content, key))
    }


def plot(content: Mapping[str, Any]) -> Any:
    """All charts side by side."""
    charts.require_altair()
    return charts.place_side_by_side([*draw(content).values()])


def write(
    content: Mapping[str, Any], title: str, facts: Any, spread: Any, path: str | Path
) -> None:
    """Write the page: the headline, the charts, the facts and the table of distributions."""
    require_packages()
    sheets = {
        name: ([one, count], [(label, form.format(n)) for label, n in bars.items()])
        for key, name, one, count, form in GALLERY
        if (bars := bars_of(content, key))
    }
    text = render_template(
        "description",
        title=title,
        facts=facts,
        spread=spread,
        drawings=[draw_chart(chart) for chart in draw(content).values()],
        sheets=sheets,
    )
    with open_replacement(path) as file:
        file.write(text.encode())
