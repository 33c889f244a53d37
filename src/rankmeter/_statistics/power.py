"""How small a difference a comparison of a given size can detect."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from rankmeter._checks import fraction, number
from rankmeter._statistics.student import t_quantile

__all__ = ["minimum_detectable_effect"]


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
    fraction("alpha", alpha)
    number("power", power, above=alpha, below=1)
    number("sd", sd, least=0)
    if n < 2:
        return math.nan
    return sd * _noncentrality(n - 1, power, alpha) / math.sqrt(n)


@lru_cache(maxsize=256)
def _noncentrality(df: int, power: float, alpha: float) -> float:
    """Noncentrality at which a two-sided t test reaches ``power``, by bisection."""
    critical = -t_quantile(0.5 * alpha, df)
    spread = _relative_deviations(df)

    def reached(noncentrality: float) -> float:
        tails = (
            weight * math.erfc((critical * deviation + side) * math.sqrt(0.5))
            for deviation, weight in spread
            for side in (-noncentrality, noncentrality)
        )
        return 0.5 * math.fsum(tails)

    low, high = 0.0, critical
    while reached(high) < power:
        low, high = high, 2.0 * high
    while high - low > 1e-10 * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if reached(middle) >= power else (middle, high)
    return 0.5 * (low + high)


def _relative_deviations(df: int) -> list[tuple[float, float]]:
    """Sample standard deviations in units of the true one, and their probabilities.

    Taken at equal steps of the logarithm s, whose density ``exp(df (s - e^{2s} / 2))`` is smooth
    and falls off exponentially on both sides: there the sum over the steps converges exponentially.
    """
    width = 9.0 / math.sqrt(2.0 * df)
    logs = np.linspace(-width - 32.0 / df, width, 1001)
    density = np.exp(df * (logs - 0.5 * np.expm1(2.0 * logs)))
    return list(zip(np.exp(logs).tolist(), (density / density.sum()).tolist(), strict=True))
