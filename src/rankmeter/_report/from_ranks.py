"""What a page shows of rankings that are read once more: curves, first hits, popularity, lists."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from rankmeter._engine.memory import Source
from rankmeter._engine.scores import UserValues
from rankmeter._report import charts
from rankmeter._report.shares import first_hit_shares, popularity_shares
from rankmeter._results.curves import (
    Curve,
    compute_curves,
    default_max_k,
    first_metric_with_same_curve,
)
from rankmeter._results.walkthrough import Place
from rankmeter._show.trace import top_of_list
from rankmeter.conventions._plan import MetricPlan, Plan
from rankmeter.errors import RankmeterError, UsageError


def curves_and_shares(
    plan: Plan,
    scored: Callable[[Plan], Mapping[str, UserValues]],
    labels: Sequence[str],
    systems: Sequence[str],
    clusters: object,
    read: Mapping[str, Mapping[str, int]],
) -> tuple[dict[str, Curve], dict[str, Any]]:
    """Curves by the first metric of each curve, and page content: hits, popularity, charts.

    `scored` gives the scores of every system under another plan, and charts have some of the
    `systems`. What cannot be computed is left out.
    """
    first_of = {
        label: first
        for label, first in first_metric_with_same_curve(plan).items()
        if label in labels
    }
    entries = [plan[first] for first in dict.fromkeys(first_of.values())]
    try:
        curves = (
            compute_curves(plan, entries, scored, default_max_k(plan), clusters, read)
            if entries
            else {}
        )
    except UsageError:  # results without ranks
        curves = {}
    hits, popular = first_hit_shares(plan, scored), popularity_shares(plan, scored)
    figures = {
        "curve": {
            label: charts.curve_chart(label, x.frame, systems) for label, x in curves.items()
        },
        "hits": {"": charts.first_hits_chart(hits, systems)} if hits else {},
        "popularity": {"": charts.popularity_chart(*popular, systems)} if popular else {},
    }
    return curves, {"hits": hits, "popularity": popular, "figures": figures}


def tops_of_lists(
    sources: Mapping[str, tuple[Source | None, UserValues]],
    entry: MetricPlan,
    groups: Mapping[str, Iterable[tuple[str, ...]]],
) -> dict[str, dict[str, list[Place]]]:
    """Tops of lists by user and system; empty if lists are unavailable or were read in pieces.

    The users are at the start of the rows of `groups`.
    """
    opened = {name: (source, scores) for name, (source, scores) in sources.items() if source}
    if len(opened) < len(sources) or not all(source.lists for source, _ in opened.values()):
        return {}
    try:
        return {
            user: {
                name: top_of_list(source, scores, user, entry)
                for name, (source, scores) in opened.items()
            }
            for rows in groups.values()
            for user, *_ in rows
        }
    except RankmeterError:
        return {}
