"""Published means of ranks, adjusted for chance."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import numpy as np

from rankmeter._checks import integer, number, refused
from rankmeter._hits import FloatArray, Hits, IntArray
from rankmeter._matrix._arrays import asarray
from rankmeter.errors import UsageError
from rankmeter.metrics import Metric, read_metric
from rankmeter.metrics.link_prediction import chance_of_hit, chance_of_rank, chance_of_reciprocal


def adjust(
    results: Mapping[str, float], *, candidates: Any, n: int | None = None
) -> dict[str, float]:
    """Adjust published means of ranks for chance: all that is needed is the number of candidates.

    Parameters
    ----------
    results : mapping from metric to mean
        Names of the mean rank (``mr``), the geometric mean rank (``gmr``), the mean reciprocal
        rank (``mrr``) and the hit rate (``hits@10``); ``hits@10`` is a share, not in percent.
    candidates : int or array
        Number of candidates of each query: the number of entities, or the exact numbers after
        filtering.
    n : int, optional
        Number of queries; with it, the standardised forms are added. The chance of a geometric
        mean depends on it; without it, there is a query for each of several candidates.

    Returns
    -------
    dict of str to float
        ``amr`` and ``amri`` of a mean rank, ``agmri`` of a geometric one, ``amrr`` of a reciprocal
        rank, ``adjusted_hits@10`` of a hit rate, and with `n` the standardised ``zmr``, ``zgmr``,
        ``zmrr``, ``zhits@10``. NaN where every order of the candidates has the same value.

    Raises
    ------
    UsageError
        If a metric cannot be adjusted, or a value is out of its range: no ranks among so many
        candidates have such a mean, rounded or not.

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
    if not isinstance(results, Mapping):
        raise refused("results", "a mapping from metric to mean, such as {'mrr': 0.3}", results)
    sizes = [
        integer("candidates", size, least=1)
        for size in np.atleast_1d(asarray(candidates, "candidates")).tolist()
    ]
    if not sizes:
        raise refused("candidates", "an integer, or one for each query", candidates)
    n_ranked = np.array(sizes, dtype=np.int64)
    every = np.ones(n_ranked.size)
    hits = Hits(np.arange(n_ranked.size + 1), every, every, every.astype(np.int64), n_ranked)
    times = None if n is None else integer("n", n, least=1)
    result: dict[str, float] = {}
    named: dict[Metric, str] = {}
    for name, mean in results.items():
        (metric,) = read_metric(str(name))
        if (twice := named.setdefault(metric, str(name))) != str(name):
            raise UsageError(f"{twice} and {name} are the same metric: name it once")
        if metric.name == "gmr":
            value = number(str(name), mean, least=1)
            _refuse_mean(str(name), value, most=math.exp(float(np.log(n_ranked).mean())))
            result |= _adjust_geometric(value, n_ranked, times, several=np.ndim(candidates) > 0)
            continue
        if metric.name == "mean_rank":
            chance, best, label = chance_of_rank(hits), 1.0, "mr"
            value = number(str(name), mean, least=1)
            _refuse_mean(str(name), value, most=float(n_ranked.mean()))
            result["amr"] = value / float(chance[0].mean())
        elif metric.name == "rr" and metric.k is None:
            chance, best, label = chance_of_reciprocal(hits), 1.0, "mrr"
            value = number(str(name), mean, least=0, most=1)
            _refuse_mean(str(name), value, least=float((1.0 / n_ranked).mean()))
        elif metric.name == "hit_rate" and metric.k is not None:
            chance, best, label = chance_of_hit(hits, metric.k), 1.0, f"hits@{metric.k}"
            value = number(str(name), mean, least=0, most=1)
            _refuse_mean(str(name), value, least=float((n_ranked <= metric.k).mean()))
        else:
            raise refused("results", "means of mr, gmr, mrr and hits@k", name)
        expected = float(chance[0].mean())
        adjusted = {"mr": "amri", "mrr": "amrr"}.get(label, f"adjusted_{label}")
        result[adjusted] = (value - expected) / (best - expected) if expected != best else math.nan
        if times is not None:
            spread = math.sqrt(float(chance[1].mean()) / times)
            sign = -1.0 if label == "mr" else 1.0
            result[f"z{label}"] = sign * (value - expected) / spread if spread else math.nan
    return result


def _refuse_mean(name: str, value: float, *, least: float = 0.0, most: float = math.inf) -> None:
    """Refuse a mean that no ranks among the candidates have, even if it was rounded."""
    decimals = -int(Decimal(repr(value)).normalize().as_tuple().exponent)
    rounding = max(0.5 * 10.0 ** -max(decimals, int(most == math.inf)), 1e-6 * value)
    if value > most + rounding:
        bound = f"≤ {most:.6g}, the most for ranks among these candidates"
    elif value < least - rounding:
        bound = f"≥ {least:.6g}, the least for ranks among these candidates"
    else:
        return
    raise refused(name, bound, value, hint="; check `candidates`")


def _adjust_geometric(
    value: float, n_ranked: IntArray, n: int | None, *, several: bool
) -> dict[str, float]:
    """A geometric mean rank, adjusted; ranks of a random order are independent.

    E[M] is the product of E[r^(1/n)] over the queries, and E[M²] that of E[r^(2/n)].
    """
    if n is None and not several:
        raise UsageError("gmr needs the number of queries: pass n=", option="n")
    queries = n_ranked.size if n is None else n
    weight = queries / n_ranked.size  # how many queries have each number of candidates
    mean, square = (
        math.exp(weight * float(np.log(_mean_power(n_ranked, power / queries)).sum()))
        for power in (1, 2)
    )
    result = {"agmri": (mean - value) / (mean - 1.0) if mean > 1.0 else math.nan}
    if n is not None:
        spread = math.sqrt(max(square - mean**2, 0.0))
        result["zgmr"] = (mean - value) / spread if spread else math.nan
    return result


def _mean_power(n: IntArray, power: float) -> FloatArray:
    """Mean of r^power for r = 1 … n; beyond a table by the Euler–Maclaurin formula."""
    limit = 1 << 20
    table = np.cumsum(np.arange(1.0, min(int(n.max()), limit) + 1.0) ** power)
    total: FloatArray = table[np.minimum(n, limit) - 1]

    def tail(x: FloatArray) -> FloatArray:
        return x ** (power + 1) / (power + 1) + x**power / 2 + power * x ** (power - 1) / 12

    far, ends = n > limit, np.array([float(limit)])
    total[far] += tail(n[far].astype(np.float64)) - tail(ends)
    return total / n
