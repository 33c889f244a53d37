"""How far would a difference vary with other users and other training runs? Both are crossed."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rankmeter._statistics.intervals import UNKNOWN, Interval
from rankmeter._statistics.margins import PSEUDO_CHANGES, Margins
from rankmeter._statistics.results import TestResult, positive_p, too_few_users
from rankmeter._statistics.spread import pseudo_change
from rankmeter._statistics.student import t_quantile, t_tail
from rankmeter._statistics.vectors import Floats, moments


class Crossed(NamedTuple):
    """Variance of a mean over users × runs, by its sources, and its degrees of freedom."""

    mean: float
    users: float
    runs: float
    df: float

    @property
    def se(self) -> float:
        """Standard error of the mean."""
        return math.sqrt(self.users + self.runs)

    @property
    def share_of_runs(self) -> float:
        """Share of the variance that more runs would reduce, and more users would not."""
        total = self.users + self.runs
        return self.runs / total if total else math.nan


def crossed_variance(a: Floats, b: Floats | None = None) -> Crossed:
    """Variance of the mean of a, or of a - b: tables with a row per user and a column per run.

    Every run has the same users, and every system runs of its own. Two-way variance (Cameron,
    Gelbach and Miller, JBES 29, 2011): that of users plus that of runs, minus the interaction that
    both contain. Degrees of freedom by Satterthwaite (Biometrics 2, 1946). A system with one run
    adds no variance of runs.
    """
    systems = [a] if b is None else [a, b]
    by_user = a.mean(axis=1) if b is None else a.mean(axis=1) - b.mean(axis=1)
    n, mean, sd = moments(by_user)
    if n < 2:
        return Crossed(mean, math.nan, math.nan, math.nan)
    users = sd * sd / n
    runs, spread = 0.0, users * users / (n - 1)
    for table in systems:
        r = table.shape[1]
        if r < 2:
            continue
        of_runs = float(table.mean(axis=0).var(ddof=1)) / r
        residual = table - table.mean(axis=0) - table.mean(axis=1, keepdims=True) + table.mean()
        both = float(np.square(residual).sum()) / ((n - 1) * (r - 1)) / (n * r)
        if of_runs > both:
            runs += of_runs - both
            spread += of_runs**2 / (r - 1) + both**2 / ((n - 1) * (r - 1))
    total = users + runs
    df = max(total * total / spread, 1.0) if spread else float(n - 1)
    return Crossed(mean, users, runs, df)


def crossed_interval(crossed: Crossed, confidence: float) -> Interval:
    """Student's t interval of the mean of users × runs."""
    if math.isnan(crossed.users):
        return UNKNOWN
    half = t_quantile(0.5 + 0.5 * confidence, crossed.df) * crossed.se
    return Interval(crossed.mean - half, crossed.mean + half)


def crossed_test(
    a: Floats, b: Floats, *, confidence: float = 0.95, change: float = 0.0
) -> TestResult:
    """Test whether systems of several training runs differ in the mean over users and runs.

    A `change` is added to the variance of users in the interval, as `Spread.steadied` does.
    """
    method = "t over users × runs"
    crossed = crossed_variance(a, b)
    if math.isnan(crossed.users):
        return too_few_users(method, len(a))
    steadied = crossed._replace(users=crossed.users + change * change / (len(a) * (len(a) - 1)))
    interval = crossed_interval(steadied, confidence)
    detail = {"df": crossed.df, "share_of_runs": crossed.share_of_runs}
    if crossed.se == 0.0:
        equal = crossed.mean == 0.0
        p = 1.0 if equal else math.nan
        note = "" if equal else "nothing varies: t has no variation to compare it with"
        return TestResult(method, len(a), crossed.mean, math.nan, p, interval, note, detail)
    t = crossed.mean / crossed.se
    p = positive_p(2.0 * t_tail(abs(t), crossed.df))
    return TestResult(method, len(a), crossed.mean, t, p, interval, detail=detail)


def crossed_margin_tests(
    a: Floats, b: Floats, margin: float, *, relative: bool = False, span: float = math.inf
) -> Margins:
    """`margin_tests` of systems of several training runs."""
    size = margin * abs(float(b.mean())) if relative else margin
    share, shift = (margin, 0.0) if relative else (0.0, margin)
    changes = a.mean(axis=1) - b.mean(axis=1)
    if math.isinf(span):
        span = float(max(a.max(), b.max()) - min(a.min(), b.min()))
    change, n = pseudo_change(changes, span), changes.size
    extra = PSEUDO_CHANGES * change * change / (n * (n - 1)) if n > 1 else math.nan
    lower, higher = crossed_variance(a, (1.0 - share) * b), crossed_variance((1.0 + share) * b, a)
    return Margins(size, *(_p_above(crossed, shift, extra) for crossed in (lower, higher)))


def _p_above(crossed: Crossed, shift: float, extra: float) -> float:
    """The one-sided p of a mean above ``-shift``; `extra` is added to its variance."""
    se = math.sqrt(crossed.users + crossed.runs + extra)
    if math.isnan(se) or se == 0.0:
        return math.nan
    return positive_p(t_tail((crossed.mean + shift) / se, crossed.df))
