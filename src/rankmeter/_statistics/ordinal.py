"""Tests that use only which system is better for a user, or the rank of the difference.

They are offered for comparison with published results, and warn: they do not test means.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np
import numpy.typing as npt

from rankmeter._caution import warn
from rankmeter._checks import choice
from rankmeter._statistics.effects import wins_ties_losses
from rankmeter._statistics.randomization import EXACT_LIMIT, exact_p
from rankmeter._statistics.results import TestResult, positive_p, too_few_users
from rankmeter._statistics.vectors import pair, paired_moments

CAUTIONS: Mapping[str, str] = {
    name.lower(): (
        f"the {name} test does not test the difference of means: where the means are equal it "
        f"rejects too often, and more often the more users there are, {share} % instead of 5 % for "
        "average precision over 100 topics (Urbano, Lima and Hanjalic, SIGIR 2019). Smucker, Allan "
        "and Carterette (CIKM 2007) advise against it, others find it good in simulations of its "
        "own question (Parapar et al., 2020); use 'randomization' or 't' for means"
    )
    for name, share in {"Wilcoxon": 9.7, "sign": 12.5}.items()
}
"""Cautions by method. Methods without a caution are not listed."""


def wilcoxon_test(
    a: npt.ArrayLike, b: npt.ArrayLike, *, zero_method: Literal["wilcox", "pratt"] = "wilcox"
) -> TestResult:
    """Wilcoxon's signed-rank test, with a warning; the statistic is the smaller sum of ranks.

    Differences of zero are dropped before the others are ranked ("wilcox") or after ("pratt"). Up
    to 30 differences other than zero, all choices of signs are counted, ties or not; beyond, p is
    SciPy's normal approximation.
    """
    from scipy import stats

    choice("zero_method", zero_method, ("wilcox", "pratt"))
    warn(CAUTIONS["wilcoxon"])
    a, b = pair(a, b)
    n, mean, _ = paired_moments(a, b)
    if n < 2:
        return too_few_users("Wilcoxon", n)
    differences = a - b
    if zero_method == "wilcox":
        differences = differences[differences != 0.0]
    ranks = np.sign(differences) * stats.rankdata(np.abs(differences))
    statistic = min(float(ranks[ranks > 0].sum()), -float(ranks[ranks < 0].sum()))
    exact = np.count_nonzero(ranks) <= EXACT_LIMIT
    if exact:
        p = exact_p(ranks, np.zeros_like(ranks))
    else:
        p = stats.wilcoxon(differences, zero_method=zero_method, method="approx").pvalue
    detail = {"exact": float(exact), "direction": float(np.sign(ranks.sum()))}
    return TestResult(f"Wilcoxon ({zero_method})", n, mean, statistic, positive_p(p), detail=detail)


def sign_test(a: npt.ArrayLike, b: npt.ArrayLike, *, min_difference: float = 0.0) -> TestResult:
    """Sign test, with a warning; the statistic is the number of users for whom A is better.

    Differences below ``min_difference`` are ties and count for neither side.
    """
    from scipy import stats

    warn(CAUTIONS["sign"])
    a, b = pair(a, b)
    n, mean, _ = paired_moments(a, b)
    if n < 2:
        return too_few_users("sign", n)
    wins, ties, losses = wins_ties_losses(a, b, min_difference=min_difference)
    p = float(stats.binomtest(wins, wins + losses).pvalue) if wins + losses else 1.0
    direction = float(np.sign(wins - losses))
    detail = {"wins": wins, "ties": ties, "losses": losses, "direction": direction}
    return TestResult("sign", n, mean, wins, positive_p(p), detail=detail)
