"""What parts of users say of all rows, where no reader sees these together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from rankmeter._reading.table import Table
from rankmeter.errors import DataError

Doubt = Callable[[Table, Table], str]


class PartAnswer(NamedTuple):
    """What each doubt says of a part, and how many rows of the rankings it has."""

    texts: Sequence[str]
    n_rows: int


def answer_of(
    doubts: Sequence[Doubt], rankings: Table, truth: Table, n_judged: int
) -> PartAnswer | None:
    """Ask about a part; None without rows, or without any of the `n_judged` judgments."""
    if not rankings.height or (n_judged and not truth.height):
        return None
    return PartAnswer([doubt(rankings, truth) for doubt in doubts], rankings.height)


def agree(answers: Iterable[PartAnswer], n_rows: int) -> list[str]:
    """What doubts say of the first part, of `n_rows` in all; empty unless all other parts agree.

    So where there is no reason to doubt, one part is read.

    Raises
    ------
    DataError
        If the parts agree on the first doubt, which says what is an error.
    """
    said: list[str] = []
    for texts, height in answers:
        looked_at = "" if height == n_rows else f" (numbers of {height:,} of {n_rows:,} rows)"
        first = said or [text and text + looked_at for text in texts]
        said = [before if now else "" for before, now in zip(first, texts, strict=True)]
        if not any(said):
            return []
    if said and said[0]:
        raise DataError(said[0])
    return said
