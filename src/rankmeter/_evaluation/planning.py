"""How many users does a comparison need? The inverse of the detectable difference."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from rankmeter._choices import level_of_tests, takes_aliases
from rankmeter._evaluation.values import values_of_results
from rankmeter._evidence.hits import FloatArray
from rankmeter._reading.per_user import read_per_user
from rankmeter._results.comparison import Comparison
from rankmeter._results.wording import level_text
from rankmeter._statistics.power import detectable_share_of_many, minimum_detectable_effect
from rankmeter.errors import ShownAsText, UsageError
from rankmeter.errors._checks import (
    check_flag,
    check_fraction,
    check_integer,
    check_number,
    counted,
)

MOST = 10**12


@dataclass(frozen=True)
class SampleSize(ShownAsText):
    """The number of users that a comparison needs to find a difference.

    Attributes
    ----------
    n : int
        Users.
    difference, sd, power : float
    confidence : float
        The level of the comparisons together; their alpha is 1 - confidence.
    comparisons : int
        Comparisons that share the level.
    differing : float or None
        For hits and misses, the share of users with a hit of one system alone; else None.
    assurance : float or None
    """

    n: int
    difference: float
    sd: float
    power: float
    confidence: float
    comparisons: int
    differing: float | None = None
    assurance: float | None = None

    def __index__(self) -> int:
        return self.n

    def __str__(self) -> str:
        family = f" ({self.comparisons:,} comparisons)" if self.comparisons > 1 else ""
        vary = f"per-user differences have a standard deviation of {self.sd:.4g}"
        if self.differing is not None:
            vary = f"{self.differing:.2%} of the users have a hit of one system alone"
        sure = f", the upper limit of {self.assurance:.0%} of the pilot" if self.assurance else ""
        return (
            f"{self.n:,} users are needed to detect a difference of {self.difference:g} with "
            f"{self.power:.0%} power at {level_text(self.confidence)} confidence{family}, if "
            f"{vary}{sure}."
        )

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """The numbers as plain values."""
        return {**asdict(self), "alpha": level_of_tests(self.confidence)}


@takes_aliases
def sample_size(
    pilot: object = None,
    *,
    difference: float,
    sd: float | None = None,
    differing: float | None = None,
    assurance: float | None = None,
    power: float = 0.8,
    confidence: float = 0.95,
    systems: int = 2,
    baseline: bool = False,
) -> SampleSize:
    """How many users a comparison needs to find a difference: the inverse of ``detectable``.

    Parameters
    ----------
    pilot : object, optional
        A small study of two systems with one metric: a comparison, or per-user values in any form
        that `compare_values` takes. Or the number `sd`.
    difference : float
        The smallest true difference of the means that the study should find.
    sd : float, optional
        In place of a pilot: standard deviation of the differences between the two systems over
        users: ``abs(d.difference / d.d_z)`` of a comparison. It grows with the difference of
        sparse metrics, so take it from systems that differ.
    differing : float, optional
        In place of a pilot, for hits and misses: the share of users with a hit of one system alone,
        ``(d.wins + d.losses) / d.n``, 1e-6 or more. A pilot of hits and misses has it.
    assurance : float, optional
        A small pilot gives an uncertain standard deviation, which is too small in half of all
        cases. With 0.8, its upper limit of 80 % is used, so that in 80 % of all cases the power is
        at least the one asked for.
    power : float
        Share of the studies that find the difference.
    confidence : float
        Level of the comparisons together: their alpha is 1 - confidence.
    systems : int
        Number of systems; with more than two the level is divided by the number of comparisons, so
        that the answer is a little larger than step-down maxT needs.
    baseline : bool
        Whether all others are compared with one system, or else all pairs.

    Returns
    -------
    SampleSize
        ``int(found)`` is the number of users.

    Raises
    ------
    UsageError
        If not exactly one of `pilot`, `sd` and `differing` is given, the pilot has not two systems
        and one metric, or an option is out of its range.

    Notes
    -----
    By the power of the paired t test, which that of the randomization test approaches. For hits and
    misses that is the binomial mid-p, whose power is summed. Pilots: Sakai, Information
    Retrieval Journal 19 (2016); their upper limit is ``sd √(df / χ²)``, for shares that of Clopper
    and Pearson.

    Examples
    --------
    With a difference of half a standard deviation 34 pairs are enough: Cohen, Statistical Power
    Analysis (1988).

    >>> import rankmeter as rm
    >>> rm.sample_size(sd=1, difference=0.5).n
    34
    """
    if sum(value is not None for value in (pilot, sd, differing)) != 1:
        raise UsageError(
            "name a pilot, the standard deviation sd=, or the share differing=, one of them"
        )
    if isinstance(pilot, int | float) and not isinstance(pilot, bool):
        sd, pilot = float(pilot), None
    smallest = check_number("difference", difference, above=0)
    alpha = level_of_tests(check_fraction("confidence", confidence))
    check_number("power", power, above=alpha, below=1)
    systems = check_integer("systems", systems, least=2)
    if assurance is not None:
        check_number("assurance", assurance, least=0.5, below=1)
        if pilot is None:
            raise UsageError("assurance= is about a pilot: pass one")
    step = 1.0
    if pilot is not None:
        sd, differing, step = _deviation_share_and_size(_pilot_differences(pilot), assurance)
    elif differing is not None:
        check_number("differing", differing, least=1e-6, most=1)
        sd = math.sqrt(differing)
    spread = check_number("sd", sd, above=0)
    comparisons = systems - 1 if check_flag("baseline", baseline) else math.comb(systems, 2)
    level = alpha / comparisons
    if differing is not None and smallest > step:
        raise UsageError(
            f"`difference` is at most {step:g} between hits and misses, got {smallest:g}"
        )

    def finds_difference(n: int) -> bool:
        if differing is None:
            least = minimum_detectable_effect(n, sd=spread, power=power, alpha=level)
        else:
            least = step * detectable_share_of_many(n, differing, power=power, alpha=level)
        return least <= smallest * (1 + 1e-9)

    n = _smallest_n_users(finds_difference)
    power, confidence = float(power), float(confidence)
    return SampleSize(n, smallest, spread, power, confidence, comparisons, differing, assurance)


def _smallest_n_users(finds_difference: Callable[[int], bool]) -> int:
    """The smallest number of users, 2 or more, with which a study finds the difference."""
    high = 2
    while not finds_difference(high):
        high *= 2
        if high > MOST:
            raise UsageError(f"`difference` is too small: more than {MOST:,} users are needed")
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if finds_difference(middle) else (middle, high)
    return high


def _pilot_differences(pilot: object) -> FloatArray:
    """Differences between the values of a pilot's two systems, by user."""
    if isinstance(pilot, Comparison):
        pilot = pilot.per_user
    frame = read_per_user(values_of_results(pilot)[0]).frame
    names = frame["system"].unique(maintain_order=True).to_list()
    if len(names) != 2 or frame["metric"].n_unique() != 1:
        raise UsageError(
            f"a pilot has two systems and one metric, got {counted(len(names), 'system')} and "
            f"{counted(frame['metric'].n_unique(), 'metric')}: compare two systems by one"
        )
    table = frame.pivot("system", index="user", values="value", aggregate_function="mean")
    table = table.drop_nulls()
    if table.height < 2:
        raise UsageError("a pilot needs at least 2 users with a value under both systems")
    differences: FloatArray = (table[names[0]] - table[names[1]]).to_numpy()
    if not np.ptp(differences):
        raise UsageError("all users of the pilot differ by the same amount: name sd=")
    return differences


def _deviation_share_and_size(
    differences: FloatArray, assurance: float | None
) -> tuple[float, float | None, float]:
    """Standard deviation, share for hits and misses (else None), and largest size of differences.

    With an assurance, the upper limits.
    """
    n, sd = differences.size, float(np.std(differences, ddof=1))
    sizes = np.unique(np.abs(differences).round(12))
    step = float(sizes[-1])
    hits = sizes.size == 1 or (sizes.size == 2 and sizes[0] == 0.0)
    changed = int(np.count_nonzero(differences))
    differing = changed / n if hits else None
    if assurance is not None:
        from scipy.stats import beta, chi2

        sd *= math.sqrt((n - 1) / float(chi2.ppf(1.0 - assurance, n - 1)))
        if differing is not None and changed < n:
            differing = float(beta.ppf(assurance, changed + 1, n - changed))
    return sd, differing, step
