"""Student's t distribution without SciPy.

Every mean that rankmeter prints carries a t interval, so every run of the command would pay for
importing ``scipy.special``, which takes longer than all the rest of the start together. The
functions below need ``math`` only, take microseconds, and agree with SciPy to twelve digits.

They rest on one identity. With ``x = df / (df + t²)``, the tail and the centre of the distribution
are regularised incomplete beta functions, and the numerator above either continued fraction is
``t · density(t)``::

    P(T > t)     = t · density(t) / (2 · fraction(df/2, 1/2, x))
    P(0 < T < t) = t · density(t) / (2 · fraction(1/2, df/2, 1 - x))

``t · density(t) / P`` is also the slope of log P against log t, so Newton's method on that curve,
which is concave and therefore converges from anywhere, costs nothing beyond P itself.
"""

from __future__ import annotations

import math
from functools import lru_cache

from rankmeter._checks import number


def t_tail(t: float, df: float) -> float:
    """P(T > t) for ``df`` ≥ 1, with a relative error near 1e-14 however far out ``t`` lies.

    0.0 where the probability is below the smallest float.
    """
    if t == 0.0:
        return 0.5
    tail, _, _ = _split(abs(t), df)
    return tail if t > 0.0 else 1.0 - tail


@lru_cache(maxsize=256)
def t_quantile(p: float, df: float) -> float:
    """Value below which Student's t lies with probability ``p``, from 1e-100 to below 1.

    The relative error is below 1e-12 for ``p`` from 1e-10 to 1 - 1e-10 and ``df`` from 1 to 1e9.
    """
    number("p", p, least=1e-100, below=1)
    number("df", df, least=1)
    if p < 0.5:
        return -_solve(p, 0.5 - p, df)
    return _solve(1.0 - p, p - 0.5, df)


def _solve(tail: float, centre: float, df: float) -> float:
    """Find the t > 0 that splits the upper half into ``centre`` and ``tail``."""
    if centre == 0.0:
        return 0.0
    # Start almost right for the normal distribution, near 0 and far out.
    t = centre * math.sqrt(2.0 * math.pi)
    if centre >= tail:
        t = math.sqrt(-2.0 * math.log(2.0 * tail))
    step = 1.0
    while abs(step) > 1e-9:  # convergence is quadratic: the next step would be below 1e-16
        tail_now, centre_now, weight = _split(t, df)
        if centre < tail:  # solve for the smaller side, which keeps its digits
            step = math.log(centre / centre_now) * centre_now / weight
        else:
            step = math.log(tail_now / tail) * tail_now / weight
        t *= math.exp(step)
    return t


def _split(t: float, df: float) -> tuple[float, float, float]:
    """P(T > t), P(0 < T < t) and t · density(t) for t > 0."""
    a = 0.5 * df
    square = t * t
    weight = t * math.exp(_log_peak(a) - (a + 0.5) * math.log1p(square / df))
    x, y = df / (df + square), square / (df + square)
    if square * (a + 1.0) < 1.5 * df:  # where the fraction of the centre converges faster
        centre = 0.5 * weight / _fraction(0.5, a, y, x)
        return 0.5 - centre, centre, weight
    tail = 0.5 * weight / _fraction(a, 0.5, x, y)
    return tail, 0.5 - tail, weight


def _log_peak(a: float) -> float:
    """Log density of t at 0 with df = 2a: Γ(a + 1/2) / (Γ(a) √(2πa))."""
    if a < 50.0:
        return math.log(math.gamma(a + 0.5) / math.gamma(a)) - 0.5 * math.log(2.0 * math.pi * a)
    # The difference of two log-gammas would lose the digits that Stirling's series keeps.
    r = 1.0 / (a * a)
    series = (-1 / 8 + r * (1 / 192 - r / 640)) / a
    return series - 0.5 * math.log(2.0 * math.pi)


def _fraction(a: float, b: float, x: float, y: float) -> float:
    """F in I_x(a, b) = x^a y^b / (B(a, b) F), where y = 1 - x comes with all its digits.

    The form of Didonato and Morris (ACM TOMS 18, 1992), summed by Lentz's method: for large
    ``df`` the more common fraction (DLMF 8.17.22) subtracts numbers that agree in most digits.
    """
    value = c = (a * y - b * x + 1.0) * a / (a + 1.0)
    d = 0.0
    for n in range(1, 1000):
        e = a + 2 * n
        alpha = (a + n - 1) * (a + b + n - 1) * n * (b - n) * x * x / ((e - 1) * (e - 1))
        beta = n + n * (b - n) * x / (e - 1) + (a + n) * (a * y - b * x + 1 + n * (1 + y)) / (e + 1)
        d = 1.0 / (beta + alpha * d)
        c = beta + alpha / c
        value *= c * d
        if abs(c * d - 1.0) < 2e-16:
            break
    return value
