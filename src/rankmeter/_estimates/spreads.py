"""How the values of the users of one evaluation are spread, in numbers and in words."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import polars as pl

from rankmeter._checks import counted
from rankmeter._estimates.estimates import Estimate
from rankmeter._estimates.verdicts import Headline
from rankmeter._estimates.wording import level, number
from rankmeter._hits import FloatArray
from rankmeter._words import in_words


@dataclass(frozen=True)
class Spread:
    """Quantiles of the values of the users, and the number of users with the worst value.

    Attributes
    ----------
    n, at_worst : int
        Users, and those with the worst value that anyone has.
    worst : float
    quartiles : tuple of float
        A quarter, half and three quarters of the users have at most these values.
    """

    n: int
    at_worst: int
    worst: float
    quartiles: tuple[float, ...]


def spread_of(values: FloatArray, *, increasing: bool) -> Spread:
    """Quantiles of values; NaN without any."""
    if not values.size:
        return Spread(0, 0, math.nan, (math.nan,) * 3)
    worst = float(values.min() if increasing else values.max())
    quartiles = tuple(np.quantile(values, [0.25, 0.5, 0.75]).tolist())
    return Spread(values.size, int(np.count_nonzero(values == worst)), worst, quartiles)


def worst_and_best_users(
    users: pl.Series, values: FloatArray, *, increasing: bool, top: int = 5
) -> tuple[list[tuple[str, float]], list[tuple[str, float]]]:
    """The users with the worst values and those with the best, who differ from the worst.

    Equal values are in the order of the users; at most `top` of each.
    """
    good = values if increasing else -values
    worst = np.argsort(good, kind="stable")[:top]
    best = np.argsort(-good, kind="stable")[:top]
    best = best[good[best] > good.min(initial=np.inf)]
    worst = worst[~np.isin(worst, best)]
    named = [[(str(users[i]), float(values[i])) for i in rows.tolist()] for rows in (worst, best)]
    return named[0], named[1]


def headline_of(
    e: Estimate, spread: Spread | None, confidence: float, random: float | None
) -> Headline:
    """The mean in one line, and how sure it is and how the values are spread in sentences."""
    if math.isnan(e.mean):
        return Headline(f"{e.label} has no mean", (in_words("No user has a value."),))
    sentences = []
    if not math.isnan(e.low):
        shown = level(confidence)
        sentences.append(f"The {shown} interval is from {number(e.low)} to {number(e.high)}.")
    if spread is not None and spread.n > 1:
        _, half, high = spread.quartiles
        sentences.append(
            f"{counted(spread.at_worst, 'user')} of {spread.n:,} "
            f"{'has' if spread.at_worst == 1 else 'have'} the worst value, {number(spread.worst)}. "
            f"Half of the {in_words('users')} have at most {number(half)}, "
            f"three quarters at most {number(high)}."
        )
    if random is not None:
        sentences.append(f"Random rankings of all candidates reach {number(random)}.")
    over = in_words("the lists of all users") if spread is None else counted(e.n, "user")
    return Headline(f"{e.label} is {number(e.mean)} over {over}", tuple(sentences))
