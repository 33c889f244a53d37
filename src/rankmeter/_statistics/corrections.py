"""p-values of a family of tests, adjusted for the size of the family."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from rankmeter._checks import choice
from rankmeter._statistics.vectors import Floats
from rankmeter.errors import InvalidValueError

__all__ = ["adjust"]


def adjust(
    p: npt.ArrayLike, method: Literal["holm", "bonferroni", "benjamini-hochberg"] = "holm"
) -> Floats:
    """Adjusted p-values, in the shape and order of ``p``: compare them with the family's level.

    Holm (Scand. J. Stat. 6, 1979) and Bonferroni bound the probability of any false claim in the
    family, and Holm never claims less; Benjamini and Hochberg (JRSS B 57, 1995) bound the expected
    share of false claims among all. A NaN is a test without a result: it stays NaN and does not
    count towards the size of the family. The running maximum and minimum keep the order of ``p``.
    """
    choice("method", method, ("holm", "bonferroni", "benjamini-hochberg"))
    values = np.array(p, dtype=np.float64)
    known = ~np.isnan(values)
    family = values[known]
    if np.any((family < 0.0) | (family > 1.0)):
        raise InvalidValueError(
            f"`p` must have values between 0 and 1, got {family.min()} to {family.max()}"
        )
    order = np.argsort(family, kind="stable")
    ranked, n = family[order], family.size
    if method == "bonferroni":
        ranked = ranked * n
    elif method == "holm":
        ranked = np.maximum.accumulate(ranked * np.arange(n, 0, -1))
    else:
        ranked = np.minimum.accumulate((ranked * (n / np.arange(1, n + 1)))[::-1])[::-1]
    family[order] = np.minimum(ranked, 1.0)
    values[known] = family
    return values
