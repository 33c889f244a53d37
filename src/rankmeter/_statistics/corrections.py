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
    """Adjusted p-values: compare them with the level of the whole family.

    Parameters
    ----------
    p : array-like of float, any shape
        The p-values of one family. NaN is a test without an answer: it stays NaN and does not count
        towards the size of the family.
    method : {"holm", "bonferroni", "benjamini-hochberg"}
        Holm and Bonferroni bound the probability of any false claim in the family, and Holm never
        claims less; Benjamini and Hochberg bound the expected share of false claims among all.

    Returns
    -------
    ndarray of float64, of the shape of p
        Adjusted p-values, at most 1, in the order of ``p``.

    Raises
    ------
    UsageError
        If the method has no such name.
    InvalidValueError
        If a value is no probability.

    Notes
    -----
    Step-down (Holm, Scand. J. Stat. 6, 1979) and step-up (Benjamini and Hochberg, JRSS B 57, 1995)
    with the running maximum and minimum that keep the adjusted values in the order of the raw ones.

    Examples
    --------
    The smallest of three is multiplied by 3, the next by 2, the largest by 1:

    >>> adjust([0.04, 0.01, 0.03])
    array([0.06, 0.03, 0.06])
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
