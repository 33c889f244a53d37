"""Anything a person may hold rankings or truth in → one canonical Polars frame."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import polars as pl

__all__ = ["Table"]


@dataclass(frozen=True)
class Table:
    """Rankings or judgements in canonical form.

    Attributes
    ----------
    frame : polars.DataFrame
        Columns ``user`` and ``item`` without nulls, of an integer or string type; for rankings
        ``score`` (Float64) if `order` is ``"score"`` or ``rank`` (Float64) if it is ``"rank"``;
        for judgements ``gain`` (Float64). Rows stand in the order of the input.
    order : {"score", "rank", "list"}
        What orders the items of a user: the score (descending), the rank (ascending), or the
        order of the rows.
    empty_users : polars.Series
        Users that the input names without any item (an empty list), of the type of ``user``.
    source : str
        What the data came from, for messages: ``"pandas DataFrame"``, ``"runs/bpr.csv"``.
    textual : bool
        Whether the ids were read from text, so that ``"7"`` and ``7`` may be the same id.
    counts : dict of str to int
        What was read, dropped or merged.
    """

    frame: pl.DataFrame
    order: Literal["score", "rank", "list"] = "score"
    empty_users: pl.Series = field(default_factory=lambda: pl.Series("user", [], pl.Int64))
    source: str = "rankings"
    textual: bool = False
    counts: dict[str, int] = field(default_factory=dict)
