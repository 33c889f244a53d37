"""How many users does a comparison need? The inverse of the detectable difference."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from rankmeter import _statistics as st
from rankmeter._checks import integer, number, significance
from rankmeter._ingest import read_per_user
from rankmeter.errors import UsageError

__all__ = ["SampleSize", "sample_size"]

MOST = 10**12


@dataclass(frozen=True)
class SampleSize:
    """How many users find a difference.

    Attributes
    ----------
    n : int
        Users.
    difference, sd, power : float
    alpha : float
        Level of the family.
    comparisons : int
        Comparisons that share the level.
    """

    n: int
    difference: float
    sd: float
    power: float
    alpha: float
    comparisons: int

    def __int__(self) -> int:
        return self.n

    def __index__(self) -> int:
        return self.n

    def __str__(self) -> str:
        family = f" ({self.comparisons:,} comparisons)" if self.comparisons > 1 else ""
        return (
            f"{self.n:,} users find a difference of {self.difference:g} in {self.power:.0%} of "
            f"studies at the level {self.alpha:g}{family}, if differences between users have the "
            f"standard deviation {self.sd:.4g}."
        )

    def to_dict(self) -> dict[str, Any]:
        """The numbers as plain values."""
        return asdict(self)


def sample_size(
    pilot: object = None,
    *,
    difference: float,
    sd: float | None = None,
    power: float = 0.8,
    alpha: float = 0.05,
    systems: int = 2,
    baseline: bool = False,
) -> SampleSize:
    """How many users a comparison needs to find a difference: the inverse of ``detectable``.

    Parameters
    ----------
    pilot : object, optional
        A small study of two systems: per-user values in any form that `compare_values` takes, with
        one metric. Or the number `sd`.
    difference : float
        The smallest true difference of the means that the study should find.
    sd : float, optional
        In place of a pilot: standard deviation of the differences between the two systems over
        users: ``abs(d.difference / d.d_z)`` of a comparison.
    power : float
        Share of the studies that find the difference.
    alpha : float
        Level of the comparisons together.
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
        If neither or both of `pilot` and `sd` are given, or an option is out of its range.

    Notes
    -----
    By the power of the paired t test, which that of the randomization test approaches. A pilot
    of few users gives an uncertain sd: Sakai, Information Retrieval Journal 19 (2016).

    Examples
    --------
    With a difference of half a standard deviation 34 pairs are enough: Cohen, Statistical Power
    Analysis (1988).

    >>> import rankmeter as rm
    >>> rm.sample_size(sd=1, difference=0.5).n
    34
    """
    if (pilot is None) == (sd is None):
        raise UsageError("name a pilot or the standard deviation sd=, one of them")
    if isinstance(pilot, int | float) and not isinstance(pilot, bool):
        sd = float(pilot)
    elif pilot is not None:
        sd = _sd_of(pilot)
    spread = number("sd", sd, above=0)
    wanted = number("difference", difference, above=0)
    significance("alpha", alpha)
    number("power", power, above=alpha, below=1)
    integer("systems", systems, least=2)
    comparisons = systems - 1 if baseline else math.comb(systems, 2)
    level = alpha / comparisons

    def finds(n: int) -> bool:
        least = st.minimum_detectable_effect(n, sd=spread, power=power, alpha=level)
        return least <= wanted * (1 + 1e-9)

    high = 2
    while not finds(high):
        high *= 2
        if high > MOST:
            raise UsageError(f"`difference` is too small: more than {MOST:,} users are needed")
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if finds(middle) else (middle, high)
    return SampleSize(high, wanted, spread, float(power), float(alpha), comparisons)


def _sd_of(pilot: object) -> float:
    """Standard deviation of the differences of two systems over users."""
    frame = read_per_user(pilot).frame
    names = frame["system"].unique(maintain_order=True).to_list()
    if len(names) != 2 or frame["metric"].n_unique() != 1:
        raise UsageError(
            f"a pilot has two systems and one metric, got {len(names)} and "
            f"{frame['metric'].n_unique()}"
        )
    table = frame.pivot("system", index="user", values="value", aggregate_function="mean")
    table = table.drop_nulls()
    if table.height < 2:
        raise UsageError("a pilot needs at least 2 users with a value under both systems")
    found = float(np.std((table[names[0]] - table[names[1]]).to_numpy(), ddof=1))
    if not found:
        raise UsageError("all users of the pilot differ by the same amount: name sd=")
    return found
