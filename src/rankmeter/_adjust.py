"""Published means of ranks, adjusted for chance."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from rankmeter._checks import integer, number, refused
from rankmeter._hits import Hits
from rankmeter.metrics import read_metric
from rankmeter.metrics.chancewise import chance_of_hit, chance_of_rank, chance_of_reciprocal

__all__ = ["adjust"]


def adjust(
    results: Mapping[str, float], *, candidates: Any, n: int | None = None
) -> dict[str, float]:
    """Adjust published means of ranks for chance: all that is needed is the number of candidates.

    Parameters
    ----------
    results : mapping from metric to mean
        Names of the mean rank (``mr``), the mean reciprocal rank (``mrr``) and the hit rate
        (``hits@10``); ``hits@10`` is a share, not in percent.
    candidates : int or array
        Number of candidates of each query: the number of entities, or the exact numbers after
        filtering.
    n : int, optional
        Number of queries; with it, the standardised forms are added.

    Returns
    -------
    dict of str to float
        ``amr`` and ``amri`` of a mean rank, ``amrr`` of a reciprocal rank, ``adjusted_hits@10`` of
        a hit rate, and with `n` the standardised ``zmr``, ``zmrr``, ``zhits@10``.

    Raises
    ------
    UsageError
        If a metric cannot be adjusted, or a value is out of its range.

    Notes
    -----
    The adjusted metrics are affine in the mean, with coefficients that depend only on the numbers
    of candidates: see `amri`, `amrr`, `adjusted_hits`. Filtering leaves fewer candidates than
    entities, so that the number of entities gives an upper bound of the adjusted value.

    Examples
    --------
    ComplEx on FB15k-237, as in the table of LibKGE; 14,541 entities.

    >>> import rankmeter as rm
    >>> round(rm.adjust({"mrr": 0.348}, candidates=14541)["amrr"], 7)
    0.347544
    """
    sizes = [integer("candidates", one, least=1) for one in np.atleast_1d(candidates).tolist()]
    n_ranked = np.array(sizes, dtype=np.int64)
    every = np.ones(n_ranked.size)
    hits = Hits(np.arange(n_ranked.size + 1), every, every, every.astype(np.int64), n_ranked)
    times = None if n is None else integer("n", n, least=1)
    found: dict[str, float] = {}
    for name, mean in results.items():
        (metric,) = read_metric(str(name))
        if metric.name == "mean_rank":
            chance, best, label = chance_of_rank(hits), 1.0, "mr"
            value = number(str(name), mean, least=1)
            found["amr"] = value / float(chance[0].mean())
        elif metric.name == "rr" and metric.k is None:
            chance, best, label = chance_of_reciprocal(hits), 1.0, "mrr"
            value = number(str(name), mean, least=0, most=1)
        elif metric.name == "hit_rate" and metric.k is not None:
            chance, best, label = chance_of_hit(hits, metric.k), 1.0, f"hits@{metric.k}"
            value = number(str(name), mean, least=0, most=1)
        else:
            raise refused("results", "means of mr, mrr and hits@k", name)
        expected = float(chance[0].mean())
        adjusted = {"mr": "amri", "mrr": "amrr"}.get(label, f"adjusted_{label}")
        found[adjusted] = (value - expected) / (best - expected) if expected != best else 0.0
        if times is not None:
            spread = math.sqrt(float(chance[1].mean()) / times)
            sign = -1.0 if label == "mr" else 1.0
            found[f"z{label}"] = sign * (value - expected) / spread if spread else 0.0
    return found
