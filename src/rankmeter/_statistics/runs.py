"""Tests against a margin, and of systems with several training runs."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rankmeter._statistics.intervals import (
    FEW_CHANGES,
    NEAR,
    SampleMean,
    TestResult,
    clip_p_value,
    find_majority,
    largest_change,
    spread_of_mean,
    t_tail_probability,
    t_test_result,
    too_few_users_result,
    values_of_units,
)
from rankmeter._statistics.vectors import Floats, finite_pair, moments
from rankmeter.errors._checks import check_number

PSEUDO_CHANGES = 2.0
"""Units that are added to the variance; an interval, which has two sides, needs one."""


class Margins(NamedTuple):
    """One-sided p-values: that A is lower, and that it is higher, by the margin or more."""

    margin: float
    """The margin as a difference."""
    not_lower: float
    not_higher: float


def margin_tests(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    margin: float,
    *,
    relative: bool = False,
    span: float = math.inf,
    clusters: npt.ArrayLike | None = None,
) -> Margins:
    """Two one-sided t tests (Schuirmann, J. Pharmacokin. Biopharm. 15, 1987).

    Small ``not_lower``: A is not lower than B by ``margin`` or more; both small: they are
    equivalent. A ``relative`` margin is a share of the mean of B, which is as uncertain as that of
    A: the tests are those of ``a - (1 - margin) b`` and ``(1 + margin) b - a``. Tables with a
    column per training run have a variance of runs, too.

    Rare differences say little about their variance. So it is the larger of two, where c is the
    largest change (`largest_change`; if the ``span`` is infinite, it is the range of all values):

    * that of the differences, with two more users, who differ by c;
    * that of losses of c at the margin: those that the mean of all users needs besides the part of
      the majority, users with nearly equal differences.

    If few users differ by more than 5 % of c and none of them gains, p is at least the binomial
    probability of so few losers. With ``clusters`` all of this is about the sums of clusters, not
    about users. NaN for fewer than two users, and where all values are equal and the span is
    infinite.

    No test sees a loss that the sample does not contain: with a probability above 5 %, nobody of n
    users is among less than 3/n of all.
    """
    check_number("margin", margin, above=0)
    if np.ndim(a) == 1:
        a, b = finite_pair(a, b)
    a, b = np.asarray(a), np.asarray(b)
    if len(a) < 2:
        return Margins(margin, math.nan, math.nan)
    size = margin * abs(float(b.mean())) if relative else margin
    share, shift = (margin, 0.0) if relative else (0.0, margin)
    if math.isinf(span):
        span = float(max(a.max(), b.max()) - min(a.min(), b.min()))
    changes = values_of_units(_by_user(a) - _by_user(b), clusters)
    largest = largest_change(changes, span)
    _, part = find_majority(changes, largest)
    p = []
    for x, y, sign in ((a, (1.0 - share) * b, 1.0), ((1.0 + share) * b, a, -1.0)):
        if a.ndim == 1:
            error, runs = spread_of_mean(x - y, clusters), 0.0
        else:
            crossed = crossed_variance(x, y)
            error, runs = crossed._replace(runs=0.0).spread, crossed.runs
        error = error._replace(mean=error.mean + shift)
        p.append(_p_value_not_lower(error, sign * changes, largest, size + sign * part, runs))
    return Margins(size, *p)


def _by_user(values: Floats) -> Floats:
    """Values by user: the means over training runs if there are several."""
    return values if values.ndim == 1 else values.mean(axis=1)


def _p_value_not_lower(
    error: SampleMean, changes: Floats, largest: float, loss: float, runs: float
) -> float:
    """One-sided p-value of a mean above 0; at a mean of 0, few users lose the `loss` of all."""
    n = error.units
    if n < 2 or largest == 0.0:
        return math.nan
    loss = min(max(loss, 0.0), largest)
    losing = loss * (largest - loss) / (n - 1)
    steadied = error.with_pseudo_unit(largest, PSEUDO_CHANGES).se ** 2
    p = t_tail_probability(error.mean / math.sqrt(max(steadied, losing) + runs), error.df)
    losers = int(np.count_nonzero(changes < -NEAR * largest))
    if losers < FEW_CHANGES and not np.any(changes > NEAR * largest):
        p = max(p, _binomial_tail(losers, n, loss / largest))
    return clip_p_value(p)


def _binomial_tail(count: int, n: int, share: float) -> float:
    """Binomial probability of at most ``count`` successes in n trials."""
    return math.fsum(
        math.comb(n, i) * share**i * (1.0 - share) ** (n - i) for i in range(min(count, n) + 1)
    )


class Crossed(NamedTuple):
    """Variance of a mean over users × runs, by its sources, and its degrees of freedom."""

    mean: float
    users: float
    runs: float
    df: float
    n_users: int

    @property
    def se(self) -> float:
        """Standard error of the mean."""
        return math.sqrt(self.users + self.runs)

    @property
    def spread(self) -> SampleMean:
        """The same as a spread, for intervals."""
        return SampleMean(self.mean, self.se, self.n_users, self.df + 1.0)

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
    n, mean, sd = moments(_by_user(a) if b is None else _by_user(a) - _by_user(b))
    if n < 2:
        return Crossed(mean, math.nan, math.nan, math.nan, n)
    users = sd * sd / n
    runs, spread = 0.0, users * users / (n - 1)
    for table in [a] if b is None else [a, b]:
        r = table.shape[1]
        if r < 2:
            continue
        of_runs = float(table.mean(axis=0).var(ddof=1)) / r
        residual = table - table.mean(axis=0) - table.mean(axis=1, keepdims=True) + table.mean()
        interaction = float(np.square(residual).sum()) / ((n - 1) * (r - 1)) / (n * r)
        if of_runs > interaction:
            runs += of_runs - interaction
            spread += of_runs**2 / (r - 1) + interaction**2 / ((n - 1) * (r - 1))
    total = users + runs
    df = max(total * total / spread, 1.0) if spread else float(n - 1)
    return Crossed(mean, users, runs, df, n)


def crossed_test(a: Floats, b: Floats) -> TestResult:
    """Test whether systems of several training runs differ in the mean over users and runs."""
    method, crossed = "t over users × runs", crossed_variance(a, b)
    if math.isnan(crossed.users):
        return too_few_users_result(method, len(a))
    return t_test_result(method, crossed.mean, crossed.se, crossed.df, "nothing varies")
