"""How small a difference a comparison of a given size can detect."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, lru_cache

import numpy as np

from rankmeter._statistics.intervals import t_quantile
from rankmeter.errors._checks import check_fraction, check_number

MOST_SUMMED = 100
"""Differing users up to which the power of a test of hits and misses is summed."""


@lru_cache(maxsize=1024)
def minimum_detectable_effect(
    n: int, *, sd: float = 1.0, power: float = 0.8, alpha: float = 0.05
) -> float:
    """Smallest true mean difference that the paired t test finds with the given power.

    In the unit of ``sd``, the standard deviation of the differences (1 makes it a d_z); NaN for
    fewer than two users. The test is two-sided and both tails count; divide ``alpha`` by the size
    of the family for a corrected one. The noncentral t distribution is integrated here, as a normal
    distribution over the distribution of the standard deviation, because SciPy's has NaN in the far
    tail.
    """
    check_fraction("alpha", alpha)
    check_number("power", power, above=alpha, below=1)
    check_number("sd", sd, least=0)
    if n < 2:
        return math.nan
    return sd * _required_noncentrality(n - 1, power, alpha) / math.sqrt(n)


@lru_cache(maxsize=1024)
def minimum_detectable_share(
    n: int, changed: float, *, power: float = 0.8, alpha: float = 0.05
) -> float:
    """Smallest true difference of two hit rates that the mid-p finds with the given power.

    Of n users, a share of ``changed / n`` is a hit for one system alone, or more if the difference
    is larger. The randomization test of hits and misses is binomial: its power is summed over the
    number of these users and over the hits of the better system. NaN if no difference is found
    often enough.
    """
    least = -math.log2(alpha)  # fewer users than this show nothing
    top = min(max(changed, 2.0 * least + 10.0), float(n))
    size = min(n, int(top + 8.0 * math.sqrt(top)) + 8) + 1
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1.0, n + 1)))])
    apart, better = np.ogrid[:size, :size]
    worse = np.maximum(apart - better, 0)
    possible = better <= apart
    ways = np.where(possible, logs[apart] - logs[better] - logs[worse], -np.inf)
    chance = np.exp(ways - apart * math.log(2.0))
    tail = np.cumsum(chance[:, ::-1], axis=1)[:, ::-1] - 0.5 * chance * (apart < n)
    p = 2.0 * np.take_along_axis(tail, np.maximum(better, worse), axis=1)
    rejects, number = possible & (p <= alpha), np.arange(size)
    choices = logs[n] - logs[number] - logs[n - number]

    def power_reached(difference: float) -> float:
        rate = max(changed / n, difference)
        odds = np.log(np.clip([rate, 1.0 - rate, 0.5 + 0.5 * difference / rate], 1e-300, 1.0))
        loss = math.log(max(0.5 - 0.5 * difference / rate, 1e-300))
        power_by_changes = np.exp(ways + better * odds[2] + worse * loss).sum(axis=1, where=rejects)
        return float(np.exp(choices + number * odds[0] + (n - number) * odds[1]) @ power_by_changes)

    if power_reached(top / n) < power:
        return math.nan
    return _bisect_power(power_reached, power, 0.0, top / n, 1e-4)[1]


def detectable_share_of_many(
    n: int, share: float, *, power: float = 0.8, alpha: float = 0.05
) -> float:
    """Smallest detectable share if a `share` of the n users differs, also for many such users.

    Where more than `MOST_SUMMED` users differ, by the t test.
    """
    if share * n <= MOST_SUMMED:
        return minimum_detectable_share(n, share * n, power=power, alpha=alpha)
    return minimum_detectable_effect(n, sd=math.sqrt(share), power=power, alpha=alpha)


@cache
def _required_noncentrality(df: int, power: float, alpha: float) -> float:
    """Noncentrality at which a two-sided t test reaches ``power``, by bisection."""
    critical = -t_quantile(0.5 * alpha, df)
    spread = _deviation_distribution(df)

    def power_reached(noncentrality: float) -> float:
        tails = (
            weight * math.erfc((critical * deviation + side) * math.sqrt(0.5))
            for deviation, weight in spread
            for side in (-noncentrality, noncentrality)
        )
        return 0.5 * math.fsum(tails)

    low, high = 0.0, critical
    while power_reached(high) < power:
        low, high = high, 2.0 * high
    return 0.5 * sum(_bisect_power(power_reached, power, low, high, 1e-10))


def _bisect_power(
    power_reached: Callable[[float], float], power: float, low: float, high: float, precision: float
) -> tuple[float, float]:
    """Narrow the bounds of the point where a power is reached, to a relative precision."""
    while high - low > precision * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if power_reached(middle) >= power else (middle, high)
    return low, high


def _deviation_distribution(df: int) -> list[tuple[float, float]]:
    """Sample standard deviations in units of the true deviation, and their probabilities.

    Taken at equal steps of the logarithm s, whose density ``exp(df (s - e^{2s} / 2))`` is smooth
    and falls off exponentially on both sides: there the sum over the steps converges exponentially.
    """
    width = 9.0 / math.sqrt(2.0 * df)
    logs = np.linspace(-width - 32.0 / df, width, 1001)
    density = np.exp(df * (logs - 0.5 * np.expm1(2.0 * logs)))
    return list(zip(np.exp(logs).tolist(), (density / density.sum()).tolist(), strict=True))
