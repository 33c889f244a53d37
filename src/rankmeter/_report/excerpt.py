"""What of a comparison is shown where not everything can be: leaders, pairs, bins, extremes.

Nothing here grows with the number of users or, beyond its limits, with that of the systems.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rankmeter._hits import FloatArray

if TYPE_CHECKING:
    from rankmeter._comparison import Comparison, Difference

__all__ = [
    "MAX_PAIRS",
    "MAX_SYSTEMS",
    "Histogram",
    "Verdict",
    "extremes",
    "histogram",
    "histogram_of",
    "pairs_shown",
    "ranked_systems",
    "systems_shown",
    "verdict",
]

MAX_SYSTEMS = 10
"""Systems in one chart: as many as there are colours that can be told apart."""
MAX_PAIRS = 20
"""Differences in one forest plot."""
BINS = 20  # on each side of 0


@dataclass(frozen=True)
class Verdict:
    """Which system is best on a metric, and over whom.

    Attributes
    ----------
    metric, best : str
    difference : Difference or None
        Of the best and the system it is to be held against, in this order: the baseline, or
        without one the runner-up; against a baseline that is itself the best, the runner-up. None
        if there is no mean at all.
    beaten, others : int
        How many of the systems that the best is compared with are significantly worse.
    """

    metric: str
    best: str
    difference: Difference | None
    beaten: int
    others: int


def ranked_systems(comparison: Comparison, metric: str) -> list[str]:
    """All systems, the best mean first; those without a mean last."""
    sign = 1 if comparison.plan[metric].spec.increasing else -1
    means = {name: comparison.estimates[metric, name].mean for name in comparison.systems}

    def key(name: str) -> tuple[bool, float]:
        return math.isnan(means[name]), -sign * means[name]

    return sorted(comparison.systems, key=key)


def systems_shown(comparison: Comparison) -> tuple[str, ...]:
    """The systems that charts show, in their own order: the best ones on the first metric."""
    first = comparison.plan.metrics[0].label
    chosen = [comparison.baseline] if comparison.baseline else []
    chosen += [name for name in ranked_systems(comparison, first) if name not in chosen]
    return tuple(name for name in comparison.systems if name in chosen[:MAX_SYSTEMS])


def verdict(comparison: Comparison, metric: str) -> Verdict:
    """Find the best system and the difference that its lead rests on."""
    order = ranked_systems(comparison, metric)
    best = order[0]
    mine = [_seen_from(best, d) for d in comparison[metric] if best in (d.a, d.b)]
    against = comparison.baseline if comparison.baseline not in ("", best) else ""
    rank = {name: place for place, name in enumerate(order)}
    chosen = [d for d in mine if d.b == against] or sorted(mine, key=lambda d: rank[d.b])
    beaten = sum(d.significant and d.better == best for d in mine)
    return Verdict(metric, best, chosen[0] if chosen else None, beaten, len(mine))


def _seen_from(name: str, d: Difference) -> Difference:
    """The same difference with `name` as its first system."""
    if d.a == name:
        return d
    gain = d.mean_b / d.mean_a - 1 if d.mean_a else math.nan
    return replace(
        d,
        a=d.b,
        b=d.a,
        mean_a=d.mean_b,
        mean_b=d.mean_a,
        difference=-d.difference,
        low=-d.high,
        high=-d.low,
        statistic=-d.statistic,
        d_z=-d.d_z,
        hedges_g=-d.hedges_g,
        superiority=1 - d.superiority,
        gain=gain,
        gain_low=math.nan,
        gain_high=math.nan,
        wins=d.losses,
        losses=d.wins,
    )


def pairs_shown(comparison: Comparison, metric: str, limit: int = MAX_PAIRS) -> list[Difference]:
    """The differences that a chart shows, from the largest to the smallest.

    Beyond `limit`, those of the best system come first, then the largest.
    """
    best = ranked_systems(comparison, metric)[0]
    found = [d for d in comparison[metric] if not math.isnan(d.difference)]
    found.sort(key=lambda d: (best not in (d.a, d.b), -abs(d.difference)))
    return sorted(found[:limit], key=lambda d: -d.difference)


def _paired(comparison: Comparison, d: Difference) -> tuple[Any, FloatArray, FloatArray]:
    """Ids and values of the users that both systems of a difference are averaged for."""
    entry = comparison.plan[d.metric]
    scores = {name: comparison.summaries[name].scores for name in (d.a, d.b)}
    a, b = (scores[name].averaged(entry) for name in (d.a, d.b))
    users, i, j = np.intersect1d(a.users, b.users, assume_unique=True, return_indices=True)
    return scores[d.a].users[users], a.values[i], b.values[j]


@dataclass(frozen=True)
class Histogram:
    """How many users have differences of which size; equal users are counted apart.

    Attributes
    ----------
    edges : list of float
        One more than there are counts; 0 is among them.
    counts : list of int
    equal : int
        Users for whom both systems have the same value.
    """

    edges: list[float]
    counts: list[int]
    equal: int


def histogram(comparison: Comparison, d: Difference) -> Histogram:
    """The per-user differences behind a mean difference, as bins."""
    _, x, y = _paired(comparison, d)
    differences = (x - y)[x != y]
    reach = float(np.abs(differences).max(initial=0.0)) or 1.0
    edges = np.linspace(-reach, reach, 2 * BINS + 1)
    edges[BINS] = 0.0
    # A value on an edge belongs to the bin that is farther from 0.
    counts = [
        np.histogram(np.abs(differences[side]), edges[BINS:])[0]
        for side in (differences < 0, differences > 0)
    ]
    both = np.concatenate([counts[0][::-1], counts[1]])
    return Histogram(edges.tolist(), both.tolist(), int(x.size - differences.size))


def histogram_of(values: FloatArray) -> tuple[list[int], list[float]]:
    """Values as counts and the edges of their bins."""
    counts, edges = np.histogram(values, BINS)
    return counts.tolist(), edges.tolist()


def extremes(
    comparison: Comparison, d: Difference, top: int = 5
) -> tuple[list[tuple[str, float, float]], list[tuple[str, float, float]]]:
    """The users with the largest differences: for the first system, and for the second.

    Returns
    -------
    two lists of (user, value of a, value of b)
        Largest difference first; of equal ones, users in order of their ids. Only users whose
        values differ, and better means better where less is more, too.
    """
    users, x, y = _paired(comparison, d)
    gains = (x - y) if d.increasing else (y - x)
    found = []
    for signed in (gains, -gains):
        order = np.argsort(-signed, kind="stable")[:top]
        chosen = order[signed[order] > 0]
        found.append([(str(users[int(i)]), float(x[i]), float(y[i])) for i in chosen])
    return found[0], found[1]
