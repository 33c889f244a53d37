"""All users at once, in memory."""

from __future__ import annotations

import functools

from rankmeter._align import align
from rankmeter._ingest import Table
from rankmeter._plan import Plan
from rankmeter._scores import Scores, score

__all__ = ["run"]


def run(rankings: Table, truth: Table, plan: Plan) -> Scores:
    """Evaluate two tables that fit into memory.

    Parameters
    ----------
    rankings, truth : Table
        With ids of the same types.
    plan : Plan

    Returns
    -------
    Scores
    """
    return score(plan, functools.partial(align, rankings, truth, no_overlap=plan.no_overlap))
