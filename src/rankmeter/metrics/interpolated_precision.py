"""Interpolated precision: precision at levels of recall, as in trec_eval."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt

from rankmeter._evidence.hits import FloatArray, Hits
from rankmeter._evidence.steps import note_column
from rankmeter.errors._checks import check_number
from rankmeter.metrics._formula import formula
from rankmeter.metrics._registry import Example, register

Rounding = Literal["trec9", "up", "nearest"]


def _round_item_numbers(number: npt.NDArray[Any], rounding: Rounding = "trec9") -> FloatArray:
    """Round numbers of items to integers."""
    if rounding == "up":
        rounded = np.ceil(number * (1.0 - 1e-12))  # 0.1 · 30 is a little more than 3
    else:
        rounded = np.floor(number + (0.9 if rounding == "trec9" else 0.5))
    return rounded.astype(np.float64)


@register(
    "Interpolated precision",
    synonyms=("interpolated_precision", "iprec_at_recall"),
    at="recall",
    open_ties=False,
    shared=("together",),
)
def iprec(
    hits: Hits,
    *,
    recall: Annotated[float, Example(0.5, 0.0, 0.25, 0.3, 1.0)],
    rounding: Rounding = "trec9",
) -> FloatArray:
    """Interpolated precision: the highest precision at any rank that reaches the level of recall.

    Parameters
    ----------
    recall : float
        Level of recall, from 0 to 1.
    rounding : {"trec9", "up", "nearest"}
        How many hits the level needs if ``recall * n_relevant`` is not an integer:
        ``⌊recall * n_relevant + 0.9⌋``, the next larger integer, or the nearest.

    Notes
    -----
    A point of the classical precision-recall graph; 0 where the recall is never reached. ``up`` is
    the definition. ``trec9`` is the rule of trec_eval up to version 9, pytrec_eval and ranx; it
    differs from ``up`` where the fraction is below 0.1. ``nearest`` is trec_eval 10.

    Examples
    --------
    Hits at ranks 1 and 3, and one not found: recall 0.5 needs two hits, after which precision is
    2/3.

    >>> import rankmeter as rm
    >>> result = rm.evaluate({"u": ["a", "x", "b"]}, {"u": set("abc")}, "iprec@0.5")
    >>> round(result["iprec@0.5"].mean, 4)
    0.6667
    """
    check_number("recall", recall, least=0, most=1)
    needed = _round_item_numbers(recall * hits.n_relevant, rounding)
    precision = np.where(hits.nth >= needed[hits.user], hits.nth / hits.rank, 0.0)
    note_column(hits.nth, "hits so far", hits)
    note_column(precision, f"precision at recall {recall:g}", hits)
    best = np.zeros(hits.n_users)
    np.maximum.at(best, hits.user, precision)
    return formula("highest", highest=best, needed_hits=needed)


@register(
    "Eleven-point average",
    open_ties=False,
    synonyms=("11pt", "11pt_avg", "11_point"),
    shared=("together",),
)
def eleven_point(hits: Hits, *, rounding: Rounding = "trec9") -> FloatArray:
    """Eleven-point average: interpolated precision averaged over the recall levels 0, 0.1, …, 1.

    Parameters
    ----------
    rounding : {"trec9", "up", "nearest"}
        As in `iprec`.

    Notes
    -----
    An estimate of the area under the precision-recall graph, superseded by `ap`. Source: Salton and
    McGill 1983; ``11pt_avg`` of trec_eval.

    Examples
    --------
    One relevant item at rank 2: its precision holds for every level.

    >>> import rankmeter as rm
    >>> rm.evaluate({"u": ["x", "a"]}, {"u": {"a"}}, "eleven_point")["eleven_point"].mean
    0.5
    """
    levels = [iprec(hits, recall=i / 10, rounding=rounding) for i in range(10, -1, -1)]
    total = sum(levels[1:], levels[0])
    return formula("sum / 11", sum=total)


@register("Precision at a multiple of R", synonyms=("r_precision_multiple",), at="multiple")
def rprec_mult(
    hits: Hits, *, multiple: Annotated[float, Example(0.5, 0.0, 0.2, 1.0, 2.5)]
) -> FloatArray:
    """Precision at a multiple of R, the user's number of relevant items.

    Parameters
    ----------
    multiple : float
        How many times n_relevant the cutoff is; 1 is `r_precision`.

    Notes
    -----
    The cutoff is ⌊multiple · n_relevant + 0.9⌋, which rounds up for the usual multiples; at cutoff
    0 it is 0. A shorter ranking is not excused. Source: ``Rprec_mult`` of trec_eval.

    Examples
    --------
    Two relevant items: one of them in the top 2, both in the top 4.

    >>> import rankmeter as rm
    >>> result = rm.evaluate({"u": list("axby")}, {"u": set("ab")}, "rprec_mult@1,2")
    >>> [estimate.mean for estimate in result.values()]
    [0.5, 0.5]
    """
    check_number("multiple", multiple, least=0)
    cutoff = np.minimum(_round_item_numbers(multiple * hits.n_relevant), 2.0**62).astype(np.int64)
    return formula("hits / cutoff", hits=hits.count(cutoff), cutoff=cutoff)
