"""Ranks of first hits, popularity of what is shown."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from rankmeter._engine.scores import UserValues
from rankmeter.conventions._plan import MetricPlan, Plan, resolve_plan
from rankmeter.errors import RankmeterError

RANKS = (1, 2, 3, 5, 10, 20, 50, 100)
"""The first hits are counted up to each of these ranks."""
POPULAR = (0.01, 0.05, 0.2, 0.5)
"""Items by their popularity: the most popular 1 % of them, 5 % and so on."""


@dataclass(frozen=True)
class Shares:
    """Shares of the parts of a whole, for each system.

    Attributes
    ----------
    classes : tuple of str
        What the parts are called.
    parts : mapping of str to sequence of float
        By system, the share of each part.
    """

    classes: tuple[str, ...]
    parts: Mapping[str, Sequence[float]]

    def percent_rows(self) -> list[tuple[str, ...]]:
        """The rows of a table: the system, and each share in percent."""
        return [(name, *(f"{y:.1%}" for y in shares)) for name, shares in self.parts.items()]

    def cumulative_shares(self) -> dict[str, list[float]]:
        """Cumulative shares of the parts, by system."""
        return {name: [*itertools.accumulate(shares)] for name, shares in self.parts.items()}


def first_hit_shares(
    plan: Plan, scored: Callable[[Plan], Mapping[str, UserValues]]
) -> Shares | None:
    """Shares of users by the rank of the first hit, for the first metric of hits.

    None without such a metric, or where the rankings cannot be read again.
    """
    entry = next((e for e in plan.metrics if e.spec.of_hits), None)
    if entry is None:
        return None
    means = _means_by_system(plan, scored, [f"hr@{k}" for k in RANKS], entry, averaging=True)
    if means is None:
        return None
    growing = (
        i for rates in means.values() for i in range(len(RANKS)) if _exceeds_previous(rates, i)
    )
    last = max(growing, default=0)
    ranks = RANKS[: last + 1]
    classes = [
        _rank_span_text(low + 1, high) for low, high in zip((0, *ranks), ranks, strict=False)
    ]
    shares = {}
    for name, rates in means.items():
        edges = [0.0, *rates[: last + 1], 1.0]
        shares[name] = [high - low for low, high in itertools.pairwise(edges)]
    return Shares((*classes, "none"), shares)


def popularity_shares(
    plan: Plan, scored: Callable[[Plan], Mapping[str, UserValues]]
) -> tuple[int, Shares] | None:
    """First cutoff of the plan, else 10, and popularity shares of the items within this cutoff.

    None where there are no training data.
    """
    k = next((entry.metric.k for entry in plan.metrics if entry.metric.k), 10)
    tails = [f"tail_share(head=items,size={size:g},cold=other)@{k}" for size in POPULAR]
    known_tail = f"tail_share(head=items,size={POPULAR[0]:g},cold=tail)@{k}"
    means = _means_by_system(plan, scored, [*tails, known_tail], plan.metrics[0], averaging=False)
    if means is None:
        return None
    edges = [f"{100 * size:g} %" for size in POPULAR]
    classes = [f"top {edges[0]}", *(f"to {edge}" for edge in edges[1:]), "others", "new"]
    shares = {}
    for name, (*tail, new) in means.items():
        unseen = new - tail[0]
        at_least = [1.0 - unseen, *tail, 0.0]
        shares[name] = [*(a - b for a, b in itertools.pairwise(at_least)), unseen]
    return k, Shares(tuple(classes), shares)


def _means_by_system(
    plan: Plan,
    scored: Callable[[Plan], Mapping[str, UserValues]],
    metrics: Sequence[str],
    like: MetricPlan,
    *,
    averaging: bool,
) -> dict[str, list[float]] | None:
    """Means of `metrics` by system, with the options of `like`; None if a mean is undefined."""
    choices = asdict(like.alignment) | (asdict(like.averaging) if averaging else {})
    other_plan = replace(
        plan, metrics=resolve_plan(metrics, choices={**choices, "aggregate": "mean"}).metrics
    )
    means = {}
    try:
        for name, scores in scored(other_plan).items():
            values = [scores.averaged(entry).values for entry in other_plan.metrics]
            means[name] = [float(column.mean()) if column.size else math.nan for column in values]
    except RankmeterError:
        return None
    return None if any(map(math.isnan, itertools.chain(*means.values()))) else means


def _exceeds_previous(means: Sequence[float], i: int) -> bool:
    return means[i] > (means[i - 1] if i else 0.0)


def _rank_span_text(low: int, high: int) -> str:
    return f"{low}" if low == high else f"{low}–{high}"
