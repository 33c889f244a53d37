"""Rank-biased precision: the gain of a reader who may stop after each item."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from rankmeter._evidence.hits import FloatArray, Hits
from rankmeter._evidence.steps import column
from rankmeter.errors._checks import exact, refused
from rankmeter.metrics._formula import formula
from rankmeter.metrics._registry import Example, register
from rankmeter.metrics.discounts import Geometric


def grade_share(hits: Hits, max_gain: float | None) -> FloatArray:
    """Gains in units of the largest possible one; 1 each where it is None."""
    if max_gain is None:
        return np.ones_like(hits.gain)
    largest = max(hits.gain.max(initial=0.0), hits.best.gain.max(initial=0.0))
    if max_gain <= 0 or largest > max_gain:
        expected = f"positive and no less than any gain ({exact(largest)})"
        raise refused("max_gain", expected, max_gain, extent=float(largest))
    return hits.gain / max_gain


@register("Rank-biased precision", reached=False, synonyms=("rank_biased_precision",))
def rbp(
    hits: Hits,
    k: int | None = None,
    *,
    p: Annotated[float, Example(0.5, 0.95)] = 0.8,
    gain: Literal["binary", "linear"] = "binary",
    max_gain: Annotated[float | None, Example(3.0)] = None,
    normalize: bool = False,
) -> FloatArray:
    """Rank-biased precision: the gain per item of a reader who continues with probability p.

    Parameters
    ----------
    p : float
        Persistence, between 0 and 1: the chance of going from one item to the next.
    gain : {"binary", "linear"}
        Without `max_gain`: every hit counts as 1, or as its gain, and values can exceed 1.
    max_gain : float, optional
        Largest possible gain, which no gain may exceed: a gain g counts as g / max_gain.
    normalize : bool
        Whether to divide by the largest possible sum of weights: that of the first
        ``min(n_relevant, n_ranked, k)`` ranks.

    Notes
    -----
    (1 - p) Σ g p^(rank - 1). Items below the ranking can add up to `rbp_residual`: the true
    value is between rbp and their sum. Source: Moffat and Zobel, TOIS 2008.

    Examples
    --------
    Hits at ranks 1 and 3, p = 0.5: 0.5 · (1 + 0.25).

    >>> import rankmeter as rm
    >>> result = rm.evaluate({"u": ["a", "x", "b"]}, {"u": {"a", "b"}}, "rbp(p=0.5)")
    >>> result["rbp(p=0.5)"].mean
    0.625
    """
    plain = gain == "linear" and max_gain is None
    worth = hits.gain if plain else grade_share(hits, max_gain)
    weight = Geometric(p)
    column(worth, "worth", hits)
    if hits.tied:
        value = hits.sum(column(hits.weigh(weight, k), "weight", hits) * worth)
    else:
        key = (rbp, weight, plain, max_gain)
        value = hits.sum_top(k, key, lambda: column(weight(hits.rank), "weight", hits) * worth)
    if not normalize:
        return value
    depth = np.minimum(hits.n_relevant, hits.depth(k))
    return formula("sum / (1 - p**depth)", sum=value, p=p, depth=depth.astype(np.float64))


@register("Residual of rank-biased precision", increasing=False, reached=False)
def rbp_residual(
    hits: Hits,
    nonrelevant: Hits,
    k: int | None = None,
    *,
    p: Annotated[float, Example(0.5)] = 0.8,
    unjudged: Literal["nonrelevant", "unknown"] = "nonrelevant",
) -> FloatArray:
    """Residual of rank-biased precision: how much it could still gain from unseen items.

    Parameters
    ----------
    p : float
        Persistence, as in `rbp`.
    unjudged : {"nonrelevant", "unknown"}
        Whether ranked items without a judgment have no gain, or may have the full gain.

    Notes
    -----
    p^d after d ranked items, plus (1 - p) p^(rank - 1) for each unknown item. Source: Moffat and
    Zobel, TOIS 2008.

    Examples
    --------
    Three items ranked: 0.5³.

    >>> import rankmeter as rm
    >>> result = rm.evaluate({"u": ["a", "x", "b"]}, {"u": {"a", "b"}}, "rbp_residual(p=0.5)")
    >>> result["rbp_residual(p=0.5)"].mean
    0.125
    """
    weight = Geometric(p)
    if unjudged == "nonrelevant":
        return formula("p**depth", p=p, depth=hits.depth(k).astype(np.float64))
    first, second = (ranked.sum(ranked.weigh(weight, k)) for ranked in (hits, nonrelevant))
    return formula("1 - (relevant + nonrelevant)", relevant=first, nonrelevant=second)
