"""Ranges of metrics that depend on options and choices, for ``register(bounds=...)``."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from rankmeter._choices import Alignment
from rankmeter.metrics._registry import Bounds

ANY = (-math.inf, math.inf)
"""The range of every number."""

UP = (0.0, math.inf)
"""The range of every number that is not negative."""

SHARE = (0.0, 1.0)
"""The range of a share."""

UP_TO_ONE = (-math.inf, 1.0)
"""The range of a share of what can be gained, where losses count, too."""


def vary(
    usual: tuple[float, float] = SHARE,
    *,
    repeated: tuple[float, float] | None = None,
    negative: tuple[float, float] | None = None,
) -> Bounds:
    """Range that is wider under two kinds of choices.

    Parameters
    ----------
    usual : tuple of float
        The range without them.
    repeated : tuple of float, optional
        The range where a repeated item counts each time (``duplicates="each"``), if it is wider: a
        number of hits divided by a number of relevant items has no limit then.
    negative : tuple of float, optional
        The range where items of negative gain can be relevant (``gains="all"``,
        ``relevant="any"``, ``relevant=">=-1"``), if it is wider.
    """

    def bounds(_: Mapping[str, Any], choices: Alignment) -> tuple[float, float]:
        ranges = [usual]
        if repeated is not None and choices.duplicates == "each":
            ranges.append(repeated)
        if negative is not None and choices.permits_negative_gains:
            ranges.append(negative)
        return min(low for low, _ in ranges), max(high for _, high in ranges)

    return bounds


def weighted_by_relevance(options: Mapping[str, Any], choices: Alignment) -> tuple[float, float]:
    """The range of a number that is not negative, with a weight by relevance for each item."""
    return SIGNED(options, choices) if options["relevance"] in ("graded", "exp2") else UP


COUNTS_REPEATS = vary(repeated=UP)
"""A share of the relevant items: without a limit if a repeated item counts each time."""

SIGNED = vary(UP, negative=ANY)
"""A sum of gains."""

SIGNED_SHARE = vary(negative=UP_TO_ONE)
"""A weighted mean of gains of at most 1."""

SIGNED_SHARE_OF_IDEAL = vary(repeated=UP, negative=UP_TO_ONE)
"""A sum of gains as a share of an ideal one."""
